/* Foreign formats on cases small enough to check by hand; encodings, detection, options. */
#include "must.h"

#include <zlib.h>

static int parse(const char *text, const berth_load_options *opts, berth_bundle *out) {
  memset(out, 0, sizeof *out);
  berth_status st = berth_parse(ctx, "test", text, strlen(text), opts, out);
  if (st != BERTH_OK) printf("# %s\n", berth_errmsg(ctx));
  return CHECK_OK(st);
}

/* "name seconds,name seconds" and "producer>consumer,consumer:bytes producer>consumer:bytes" */
static void check_graph(const berth_graph *g, const char *want_ops, const char *want_tensors) {
  char ops[200] = "", tensors[200] = "", *p = ops, *q = tensors;
  for (int32_t v = 0; v < berth_graph_ops(g); v++) {
    berth_op op = must_graph_op(g, v);
    p += sprintf(p, "%s%s", v ? "," : "", op.name ? op.name : "");
    if (op.seconds) p += sprintf(p, " %.12g", op.seconds[0]);
  }
  for (int32_t t = 0; t < berth_graph_tensors(g); t++) {
    const int32_t *use;
    int32_t n = berth_graph_consumers(g, t, &use);
    q += sprintf(q, "%s%d>", t ? " " : "", (int)must_graph_tensor(g, t).producer);
    for (int32_t k = 0; k < n; k++) q += sprintf(q, "%s%d", k ? "," : "", (int)use[k]);
    q += sprintf(q, ":%.12g", must_graph_tensor(g, t).bytes);
  }
  CHECK_TEXT(ops, want_ops);
  CHECK_TEXT(tensors, want_tensors);
}

/* Nodes out of order, ids far apart, one source with two costs, a class of a forward and a backward
 * node, one unsupported. */
static const char DNN[] =
    "{\"maxFPGAs\": 2, \"maxCPUs\": 3, \"maxSizePerFPGA\": 1000.0, \"nodes\": [\n"
    "{\"id\": 70, \"name\": \"b\", \"supportedOnFpga\": 1, \"cpuLatency\": 20, \"fpgaLatency\": "
    "2, \"size\": 5, \"colorClass\": 9},\n"
    "{\"id\": -4, \"name\": \"a\", \"supportedOnFpga\": true, \"cpuLatency\": 10, "
    "\"fpgaLatency\": 1, \"size\": 7, \"colorClass\": null},\n"
    "{\"id\": 8, \"name\": \"b2\", \"supportedOnFpga\": 0, \"cpuLatency\": 30, \"fpgaLatency\": "
    "3, \"size\": 0, \"colorClass\": 9, \"isBackwardNode\": true}],\n"
    "\"edges\": [{\"sourceId\": -4, \"destId\": 70, \"cost\": 0.5}, {\"sourceId\": -4, "
    "\"destId\": 8, \"cost\": 0.25}, {\"sourceId\": 70, \"destId\": 8, \"cost\": 1}]}";

TEST("dnn-partitioning: times, costs, classes, twins, devices") {
  berth_load_options opts = berth_load_default();
  berth_bundle b;
  if (!parse(DNN, NULL, &b)) return;
  CHECK_TEXT(b.format, "dnn-partitioning");
  /* tensors by producer: of op 0 (id 70), then op 1 (id -4) with one per cost */
  check_graph(b.graph, "b 0.002,a 0.001,b2 inf", "0>2:16000000 1>0:8000000 1>2:4000000");
  CHECK_NEAR(must_graph_op(b.graph, 1).param_bytes, 7, 0);
  CHECK(must_graph_op(b.graph, 0).group == 0 && must_graph_op(b.graph, 1).group == BERTH_NONE
        && must_graph_op(b.graph, 2).group == 0);
  CHECK(must_graph_op(b.graph, 0).twin == 2 && must_graph_op(b.graph, 2).twin == 0);
  CHECK(must_graph_op(b.graph, 2).flags == BERTH_OP_BACKWARD
        && must_graph_op(b.graph, 0).flags == 0);
  CHECK_NEAR(must_graph_tensor(b.graph, 1).resident_bytes, 0, 0);
  CHECK(berth_topology_devices(b.topology) == 2 && berth_topology_links(b.topology) == 2);
  berth_device d = must_topology_device(b.topology, 1);
  CHECK_NEAR(d.memory, 1000, 0);
  RELEASE(&b);

  opts.cpus = 1;
  opts.file_bandwidth = 1e6;
  if (!parse(DNN, &opts, &b)) return;
  CHECK(berth_graph_types(b.graph) == 2 && berth_topology_devices(b.topology) == 5);
  CHECK_NEAR(must_graph_op(b.graph, 2).seconds[1], 30e-3, 1e-18);
  d = must_topology_device(b.topology, 4);
  CHECK_TEXT(d.type, "cpu");
  CHECK_TEXT(d.name, "cpu2");
  CHECK(isinf(d.memory));
  berth_link link = must_topology_path(b.topology, 0, 4);
  CHECK_NEAR(link.bandwidth, 1e6, 0);
  CHECK_NEAR(must_graph_tensor(b.graph, 1).bytes / link.bandwidth, 0.5e-3, 1e-18);
  RELEASE(&b);
}

/* Two forward nodes in reverse order, the last line without an end. */
static const char PIPEDREAM[] =
    "node2 -- Linear(in=4, out=(2, 3)) -- forward_compute_time=3.000, "
    "backward_compute_time=5.000, activation_size=64.0, parameter_size=100.000\n"
    "node1 -- Input0 -- forward_compute_time=1.000, backward_compute_time=0.500, "
    "activation_size=[8.0; 4.0; 4.0], parameter_size=0.000 -- stage_id=0\n"
    "\tnode1 -- node2";

TEST("pipedream: lists, order of lines, mirroring") {
  berth_load_options opts = berth_load_default();
  berth_bundle b;
  if (!parse(PIPEDREAM, NULL, &b)) return;
  /* node2's twin reads the output of node1, too */
  CHECK(berth_graph_ops(b.graph) == 4 && berth_graph_edges(b.graph) == 4);
  CHECK_NEAR(must_graph_op(b.graph, 2).param_bytes, 0, 0);
  RELEASE(&b);
  opts.mirror = BERTH_MIRROR_PACML;
  if (!parse(PIPEDREAM, &opts, &b)) return;
  CHECK_TEXT(b.format, "pipedream");
  check_graph(b.graph, "node1 0.001,node2 0.003,node2.backward 0.005,node1.backward 0.0005",
              "0>1:16 1>2:64 2>3:64");
  CHECK_TEXT(must_graph_op(b.graph, 0).kind, "Input0");
  CHECK_TEXT(must_graph_op(b.graph, 1).kind, "Linear");
  CHECK_NEAR(must_graph_op(b.graph, 2).param_bytes, 100, 0);
  CHECK(must_graph_op(b.graph, 2).twin == 1 && must_graph_op(b.graph, 3).twin == 0
        && must_graph_op(b.graph, 3).flags & BERTH_OP_BACKWARD);
  RELEASE(&b);
  opts.forward_only = 1;
  if (!parse(PIPEDREAM, &opts, &b)) return;
  CHECK(berth_graph_ops(b.graph) == 2 && berth_graph_edges(b.graph) == 1);
  RELEASE(&b);
}

TEST("doppler: inputs left out, consumers in edge order, kinds") {
  berth_bundle b;
  if (!parse("5\n0, 4, \n0, 0, 1,\n2, 1, 2,\n10,40,fill\n20,80,einsummable\n30,120,formation", NULL,
             &b))
    return;
  CHECK_TEXT(b.format, "doppler");
  CHECK(!b.topology);
  check_graph(b.graph, " 10, 20, 30", "0>2,1:40 1>2:80"); /* consumers in the order of the edges */
  CHECK_TEXT(must_graph_op(b.graph, 1).kind, "einsummable");
  RELEASE(&b);
  if (!parse("2\n\n0\n1\n1,4\n1,4\n", NULL, &b)) return;
  CHECK_TEXT(b.format, "doppler");
  CHECK_TEXT(must_graph_op(b.graph, 0).kind ? must_graph_op(b.graph, 0).kind : "", "");
  RELEASE(&b);
}

TEST("stg: dummies kept, comments passed over") {
  berth_bundle b;
  if (!parse("  2\n  0   0   0\n  1  5  1  0\n  2  7  1  0\n  3  0  2  1  2\n# Critical path 7\n",
             NULL, &b))
    return;
  CHECK_TEXT(b.format, "stg");
  CHECK(!b.topology);
  check_graph(b.graph, " 0, 5, 7, 0", "0>1,2:0 1>3:0 2>3:0");
  RELEASE(&b);
}

TEST("saga: speeds or times per node, links both ways") {
  berth_bundle b;
  if (!parse("{\"name\": \"x\", \"tasks\": [{\"id\": \"t1\", \"cost\": 4}, {\"id\": \"t2\", "
             "\"cost\": 6}],\"edges\": [{\"src\": \"t1\", \"dst\": \"t2\", \"size\": "
             "10}],\"nodes\": [{\"id\": \"p1\", \"speed\": 2}, {\"id\": \"p2\", \"speed\": 0.5}, "
             "{\"id\": \"p3\"}],\"links\": [{\"a\": \"p2\", \"b\": \"p1\", \"bandwidth\": 5}]}",
             NULL, &b)) {
    return;
  }
  CHECK_TEXT(b.format, "saga");
  CHECK_TEXT(berth_graph_name(b.graph), "x");
  check_graph(b.graph, "t1 4,t2 6", "0>1:10");
  berth_device d = must_topology_device(b.topology, 1);
  CHECK_NEAR(d.speed, 0.5, 0);
  CHECK_TEXT(d.name, "p2");
  berth_link link = must_topology_path(b.topology, 0, 1);
  CHECK_NEAR(link.bandwidth, 5, 0);
  CHECK_STATUS(berth_topology_path(b.topology, 0, 2, &link), BERTH_EUNREACHABLE);
  RELEASE(&b);
  if (!parse("{\"tasks\": [{\"id\": 1, \"exec\": [4, 5]}, {\"id\": 2, \"exec\": [6, 7]}], "
             "\"edges\": [],\"nodes\": [{\"id\": \"p1\"}, {\"id\": \"p2\"}], \"links\": []}",
             NULL, &b)) {
    return;
  }
  CHECK(berth_graph_types(b.graph) == 2);
  CHECK_TEXT(berth_graph_type(b.graph, 1), "p2");
  CHECK(must_graph_op(b.graph, 1).seconds[1] == 7);
  d = must_topology_device(b.topology, 1);
  CHECK_TEXT(d.type, "p2");
  RELEASE(&b);
}

TEST("wfcommons: names and sizes") {
  berth_bundle b;
  if (!parse("{\"tasks\": [{\"id\": 0, \"name\": \"split\", \"cost\": 1.5}, {\"id\": 1, \"cost\": "
             "2}],\"edges\": [{\"src\": 0, \"dst\": 1, \"size\": 9e9}]}",
             NULL, &b)) {
    return;
  }
  CHECK_TEXT(b.format, "wfcommons");
  check_graph(b.graph, "split 1.5,1 2", "0>1:9000000000");
  CHECK(!b.topology);
  RELEASE(&b);
}

static const char WFFORMAT[] =
    "{\"name\": \"w\", \"schemaVersion\": \"1.5\", \"workflow\": {\"specification\": {\"tasks\": "
    "[{\"id\": \"cut\", \"children\": [\"a\", \"b\"], \"outputFiles\": [\"x\", \"y\", "
    "\"x\"]},{\"id\": \"a\", \"name\": \"warp\", \"parents\": [\"cut\"], \"inputFiles\": [\"x\", "
    "\"x\"], \"outputFiles\": [\"z\"]},{\"id\": \"b\", \"name\": \"warp\", \"inputFiles\": "
    "[\"y\", \"x\", \"raw\"]},{\"id\": \"end\", \"inputFiles\": [\"z\", \"y\"], \"outputFiles\": "
    "[\"z\"]}],\"files\": [{\"id\": \"x\", \"sizeInBytes\": 400}, {\"id\": \"y\", "
    "\"sizeInBytes\": 600},{\"id\": \"raw\", \"sizeInBytes\": 9}, {\"id\": \"z\", "
    "\"sizeInBytes\": 40}]},\"execution\": {\"tasks\": [{\"id\": \"end\", \"runtimeInSeconds\": "
    "4, \"machines\": [\"slow\"]},{\"id\": \"cut\", \"runtimeInSeconds\": 2.5, \"memoryInBytes\": "
    "5000, \"machines\": [\"fast\", \"slow\"]},{\"id\": \"a\", \"runtimeInSeconds\": 3}, {\"id\": "
    "\"b\", \"runtimeInSeconds\": 1, \"machine\": \"fast\"}],\"machines\": [{\"nodeName\": "
    "\"slow\", \"memoryInBytes\": 64000, \"cpu\": {\"coreCount\": 4, \"speedInMHz\": "
    "2000}},{\"nodeName\": \"fast\", \"cpu\": {\"speedInMHz\": 3000}}, {\"nodeName\": "
    "\"untold\"}]}}}";

/* Edges by source, then by consumer; the file that is refused and the one that its reader writes
 * itself bring none. */
TEST("wfformat: edges from parents, children and files; times at the clock of the machine; "
     "machines") {
  berth_load_options opts = berth_load_default();
  opts.file_bandwidth = 1e8;
  berth_bundle b;
  if (!parse(WFFORMAT, &opts, &b)) return;
  CHECK_TEXT(b.format, "wfformat");
  CHECK_TEXT(berth_graph_name(b.graph), "w");
  /* "cut" and "b" ran where the clock is 1.5 times that of speed 1 */
  check_graph(b.graph, "cut 3.75,a 3,b 1.5,end 4", "0>1:400 0>2:1000 0>3:600 1>3:40");
  CHECK_NEAR(must_graph_op(b.graph, 0).workspace_bytes, 5000, 0);
  for (int32_t k = 0; k < 4; k++) CHECK(must_graph_tensor(b.graph, k).resident_bytes == 0);
  CHECK(berth_topology_devices(b.topology) == 3 && berth_topology_nodes(b.topology) == 4);
  berth_device d = must_topology_device(b.topology, 1);
  CHECK_TEXT(d.name, "fast");
  CHECK(d.speed == 1.5 && isinf(d.memory) && d.machine == 1);
  d = must_topology_device(b.topology, 2);
  CHECK(d.speed == 1);
  d = must_topology_device(b.topology, 0);
  CHECK_NEAR(d.memory, 64000, 0);
  berth_link link = must_topology_path(b.topology, 0, 2);
  CHECK(link.bandwidth == 1e8 && link.latency == 0);
  RELEASE(&b);
}

/* Up to 1.4: tasks refer to each other by name (or id), carry their files, and memory counts by the
 * thousand in 1.3. */
TEST("wfformat 1.3 and 1.4") {
  berth_bundle b;
  if (!parse("{\"schemaVersion\": \"1.3\", \"workflow\": {\"machines\": [{\"nodeName\": \"n\", "
             "\"memory\": 64, \"cpu\": {\"speed\": 2}}],\"tasks\": [{\"name\": \"split\", \"id\": "
             "\"ID1\", \"runtime\": 5, \"memory\": 3, \"machine\": \"n\",\"files\": [{\"link\": "
             "\"output\", \"path\": \"/tmp/\", \"name\": \"x\", \"size\": 7}]},{\"name\": "
             "\"count\", \"runtimeInSeconds\": 2, \"parents\": [\"split\"],\"files\": [{\"link\": "
             "\"input\", \"name\": \"/tmp/x\", \"size\": 8}, {\"link\": \"output\", \"name\": "
             "\"n\", \"sizeInBytes\": 1}]},{\"name\": \"show\", \"runtime\": 1, \"files\": "
             "[{\"link\": \"input\", \"name\": \"n\", \"size\": 1}]},{\"id\": \"end\", "
             "\"runtime\": 0, \"parents\": [\"ID1\"]}]}}",
             NULL, &b)) {
    return;
  }
  check_graph(b.graph, "split 5,count 2,show 1,end 0", "0>1:7 0>3:0 1>2:1");
  CHECK(must_graph_op(b.graph, 0).workspace_bytes == 3000);
  berth_device d = must_topology_device(b.topology, 0);
  CHECK(d.memory == 64000 && d.speed == 1 && berth_topology_nodes(b.topology) == 1);
  RELEASE(&b);
  if (!parse("{\"schemaVersion\": \"1.4\", \"workflow\": {\"tasks\": [{\"name\": \"a\", "
             "\"runtimeInSeconds\": 1}]}}",
             NULL, &b))
    return;
  CHECK(!b.topology && berth_graph_ops(b.graph) == 1);
  RELEASE(&b);
}

/* A file in a format of others, of which two ops and an edge are known. */
TEST("variants of the formats of others") {
  static const char links[] = "\"links\": [{\"a\": \"p\", \"b\": \"p\", \"bandwidth\": %s}, "
                              "{\"a\": \"p\", \"b\": \"q\", \"bandwidth\": 5}]}";
  static const struct { const char *text, *format, *ops, *edges, *note; } rows[] = {
    { "2 # tasks\n0 0 0\n1 3 1 0 # first\n# none\n2 4 1 1#\n3 0 1 2\n", "stg", " 0, 3, 4, 0",
      "0>1:0 1>2:0 2>3:0", "" },
    { "0\r\n0 0 0\r\n1 0 1 0\r\n\x1a", "stg", " 0, 0", "0>1:0", "" },
    { "\xef\xbb\xbf" "0\n0 0 0\n1 0 1 0\n\x1a\x1a\x1a", "stg", " 0, 0", "0>1:0", "" },
    { "node1 -- L(a -- b) -- forward_compute_time=1000, backward_compute_time=0, "
      "activation_size=4, parameter_size=8 -- stage_id=0\n"
      "node2 -- a -- forward_compute_time=2 -- c -- forward_compute_time=2000, "
      "backward_compute_time=0, activation_size=4, parameter_size=0\n\tnode1 -- node2\n",
      "pipedream", "node1 1,node2 2", "0>1:4 1>:4", "" },
    { "{\"workflow\": {\"jobs\": [{\"name\": \"a\", \"runtime\": 2, \"parents\": [], \"files\": "
      "[{\"link\": \"output\", \"name\": \"x\", \"size\": 3}]}, {\"name\": \"b\", \"runtime\": 1, "
      "\"parents\": [\"a\"], \"files\": [{\"link\": \"input\", \"name\": \"x\", \"size\": 3}]}]}, "
      "\"schemaVersion\": \"1.1\"}", "wfformat", "a 2,b 1", "0>1:3000", "" },
    { "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": 2, \"parents\": null, "
      "\"children\": null, \"files\": null, \"machine\": null, \"memory\": null}, {\"name\": "
      "\"b\", \"id\": null, \"runtime\": 1, \"parents\": [\"a\"]}], \"machines\": null}, "
      "\"schemaVersion\": \"1.4\"}", "wfformat", "a 2,b 1", "0>1:0", "" },
    { "{\"directed\": true, \"multigraph\": true, \"graph\": {\"name\": \"n\"}, \"nodes\": "
      "[{\"id\": 7, \"seconds\": 2, \"colour\": null}, {\"id\": \"b\", \"name\": \"c\", "
      "\"seconds\": \"3 ms\", \"backward\": true}], \"links\": [{\"source\": \"7\", "
      "\"target\": \"b\", \"key\": 0, "
      "\"bytes\": 4}, {\"source\": 7, \"target\": \"b\", \"key\": 1, \"bytes\": \"1 kB\"}]}",
      "node-link", "7 2,c 0.003", "0>1:4 0>1:1000", "" },
    { "{\"directed\": true, \"nodes\": [{\"id\": \"a\", \"seconds\": 1}, {\"id\": \"b\", "
      "\"seconds\": 1}], \"edges\": [{\"source\": \"a\", \"target\": \"b\"}]}", "node-link",
      "a 1,b 1", "0>1:0", "" },
  };
  berth_load_options opts = berth_load_default();
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    berth_bundle b;
    opts.forward_only = strcmp(rows[k].format, "pipedream") == 0;
    if (!parse(rows[k].text, &opts, &b)) continue;
    CHECK_TEXT(b.format, rows[k].format);
    check_graph(b.graph, rows[k].ops, rows[k].edges);
    CHECK_TEXT(b.note, rows[k].note);
    RELEASE(&b);
  }
  static const char *const speeds[] = { "1e9", "1e999", "null", "\"inf\"", "0" };
  for (size_t k = 0; k < sizeof speeds / sizeof *speeds; k++) {
    char text[500], end[200];
    berth_bundle b;
    snprintf(end, sizeof end, links, speeds[k]);
    snprintf(text, sizeof text, "{\"tasks\": [{\"id\": \"a\", \"cost\": 1}], \"edges\": [], "
             "\"nodes\": [{\"id\": \"p\"}, {\"id\": \"q\"}], %s", end);
    if (!parse(text, NULL, &b)) continue;
    CHECK(berth_topology_links(b.topology) == 2);
    CHECK_TEXT(b.note, "1 link of a node to itself is passed over");
    RELEASE(&b);
  }
}

/* What was read is written and read back, graph and topology, to the same text. */
TEST("wfformat through berth JSON") {
  berth_bundle b, again = { 0 };
  berth_text one = { 0 }, two = { 0 };
  if (!parse(WFFORMAT, NULL, &b)) return;
  CHECK_OK(berth_write_bundle(&b, &one));
  if (CHECK_OK(berth_parse(ctx, "again", one.data, one.len, NULL, &again))) {
    CHECK_OK(berth_write_bundle(&again, &two));
    CHECK_TEXT(again.format, "berth");
    CHECK_TEXT(two.data, one.data);
  }
  RELEASE(&one, &two, &again, &b);
}

TEST("graphml: units in texts, shared tensors, foreign attributes, comments") {
  berth_bundle b;
  if (!parse("<?xml version=\"1.0\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
             "<key id=\"d0\" for=\"node\" attr.name=\"seconds\" attr.type=\"string\"/><key "
             "id=\"d1\" for=\"edge\" attr.name=\"bytes\" attr.type=\"double\"/><key id=\"d2\" "
             "for=\"edge\" attr.name=\"tensor\" attr.type=\"int\"/><key id=\"d3\" for=\"node\" "
             "attr.name=\"colour\" attr.type=\"string\"/><graph edgedefault=\"directed\"><!-- "
             "<node id=\"a\"/> -->\n"
             "<node id=\"a\"><data key=\"d0\">5 ms</data><data key=\"d3\">red</data></node><node "
             "id=\"b&amp;c\"/><node id='d'/>\n"
             "<edge source=\"a\" target=\"d\"><data key=\"d1\">8</data><data "
             "key=\"d2\">4</data></edge>\n"
             "<edge source=\"a\" target=\"b&amp;c\"><data key=\"d1\">8</data><data "
             "key=\"d2\">4</data></edge>\n"
             "</graph></graphml>", NULL, &b)) {
    return;
  }
  CHECK_TEXT(b.format, "graphml");
  check_graph(b.graph, "a 0.005,b&c,d", "0>2,1:8");
  CHECK(!b.placement);
  RELEASE(&b);
}

/* GraphML as other tools write it: keys, then what is within a directed graph, and the ops and
 * tensors that follow. */
#define GRAPHML(keys, graph) \
  "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">" keys "<graph " \
  "edgedefault=\"directed\">" graph "</graph></graphml>"
#define SECONDS "<key id=\"s\" for=\"node\" attr.name=\"seconds\" attr.type=\"double\"/>"
#define BYTES "<key id=\"b\" for=\"edge\" attr.name=\"bytes\" attr.type=\"double\"/>"
#define AB "<node id=\"a\"/><node id=\"b\"/>"

static const struct Foreign {
  const char *what, *text, *ops, *tensors;
} FOREIGN[] = {
    { "edges before nodes", GRAPHML("", "<edge source=\"b\" target=\"a\"/>" AB), "a,b", "1>0:0" },
    { "directed edges of an undirected graph",
      "<graphml><graph edgedefault=\"undirected\">" AB "<edge source=\"a\" target=\"b\" "
      "directed=\"true\"/></graph></graphml>",
      "a,b", "0>1:0" },
    { "an undirected graph without edges",
      "<graphml><graph edgedefault=\"undirected\"><node "
      "id=\"a\"/></graph></graphml>",
      "a", "" },
    { "two keys of one name and different types", /* networkx */
      GRAPHML("<key id=\"l\" for=\"edge\" attr.name=\"bytes\" attr.type=\"long\"/>" BYTES,
              AB "<edge source=\"a\" target=\"b\"><data key=\"l\">1</data></edge><edge "
                 "source=\"a\" target=\"b\"><data key=\"b\">2.5</data></edge>"),
      "a,b", "0>1:1 0>1:2.5" },
    { "for=all and none",
      GRAPHML("<key id=\"s\" for=\"all\" attr.name=\"seconds\"/><key id=\"y\" "
              "attr.name=\"bytes\"/>",
              "<node id=\"a\"><data key=\"s\"> 2 </data></node><node "
              "id=\"b\"/><edge source=\"a\" target=\"b\"><data key=\"y\">7 "
              "kB</data></edge>"),
      "a 2,b", "0>1:7000" },
    { "keys in the graph", GRAPHML("", SECONDS "<node id=\"a\"><data key=\"s\">2</data></node>"),
      "a 2", "" },
    { "defaults",
      GRAPHML("<key id=\"s\" for=\"node\" attr.name=\"seconds\" "
              "attr.type=\"int\"><desc>time</desc><default>3</default></key><key id=\"k\" "
              "for=\"all\" attr.name=\"name\"><default>x</default></key><key id=\"b\" for=\"edge\" "
              "attr.name=\"bytes\"><default>4 B</default></key>",
              AB "<node id=\"c\"><data key=\"s\">5</data><data key=\"k\">c</data></node><edge "
                 "source=\"a\" target=\"c\"/><edge source=\"b\" target=\"c\"><data key=\"b\">8 "
                 "B</data></edge>"),
      "x 3,x 3,c 5", "0>2:4 1>2:8" },
    { "ports, descriptions and other vocabularies",
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
      "xmlns:y=\"http://www.yworks.com/xml/graphml\"><desc>d</desc>" SECONDS
      "<key id=\"d6\" for=\"node\" yfiles.type=\"nodegraphics\"/><data "
      "key=\"d7\"><y:Resources/></data><graph edgedefault=\"directed\"><desc>d</desc><node "
      "id=\"a\"><data key=\"d6\"><y:ShapeNode><y:Fill>9</y:Fill></y:ShapeNode></data><port "
      "name=\"p\"><data key=\"s\">9</data><port name=\"q\"/></port><data "
      "key=\"s\">2</data></node><y:node id=\"z\"/></graph><y:more/></graphml>",
      "a 2", "" },
    { "a prefix, another namespace of GraphML",
      "<g:graphml xmlns:g=\"http://graphml.graphdrawing.org/xmlns/graphml\"><g:graph "
      "edgedefault=\"directed\"><g:node id=\"a\"/></g:graph></g:graphml>",
      "a", "" },
    { "types and values that are not read",
      GRAPHML("<key id=\"t\" for=\"node\" attr.name=\"tags\" "
              "attr.type=\"string[]\"><default><i/></default></key><key id=\"n\" for=\"node\" "
              "attr.name=\"rank\" attr.type=\"int\"/>",
              "<node id=\"a\"><data key=\"t\">[]</data><data key=\"n\">first</data></node>"),
      "a", "" },
    { "labels where ids are n0, n1",
      GRAPHML("<key id=\"l\" for=\"node\" attr.name=\"label\" "
              "attr.type=\"string\"/>",
              "<node id=\"n0\"><data key=\"l\">conv</data></node><node "
              "id=\"b\"><data key=\"l\">fc</data></node>"),
      "conv,b", "" },
    { "CDATA, entities, references, comments in a value",
      GRAPHML("<key id=\"k\" for=\"node\" attr.name=\"name\"/>" SECONDS,
              "<node id=\"a\"><data key=\"k\">a&amp;<![CDATA[<b>&]]>&#233;<!-- <node> "
              "-->c</data><data key=\"s\">1<!-- -->2</data></node>"),
      "a&<b>&\xc3\xa9"
      "c 12",
      "" },
    { "ISO-8859-1",
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><graphml><graph "
      "edgedefault=\"directed\"><node id=\"\xe9\"/></graph></graphml>",
      "\xc3\xa9", "" },
    { "a list of attributes by DTD",
      "<!DOCTYPE graphml [<!ATTLIST graph edgedefault CDATA \"directed\">]><graphml><graph><node "
      "id=\"a\"/></graph></graphml>",
      "a", "" },
    { "an empty value",
      GRAPHML(SECONDS BYTES, "<node id=\"a\"><data key=\"s\"> </data></node><node id=\"b\"/><edge "
                             "source=\"a\" target=\"b\"><data key=\"b\"/></edge>"),
      "a,b", "0>1:0" },
  };

static void check_foreign(const struct Foreign *f, const char *text, size_t len) {
  berth_bundle b = { 0 };
  printf("# %s\n", f->what);
  if (!CHECK_OK(berth_parse(ctx, "test", text, len, NULL, &b))) return;
  check_graph(b.graph, f->ops, f->tensors);
  RELEASE(&b);
}

static void check_all_foreign(const struct Foreign *f, size_t n) {
  for (size_t k = 0; k < n; k++) check_foreign(&f[k], f[k].text, strlen(f[k].text));
}

TEST("graphml: of other tools") { check_all_foreign(FOREIGN, sizeof FOREIGN / sizeof *FOREIGN); }

static const struct Foreign DOT[] = {
  { "the smallest", "digraph{a}", "a", "" },
  { "chains, defaults before and after, order of mention",
    "digraph { b -> a -> c [bytes=\"2 kB\"]; node [seconds=2]; d edge [bytes=3] c -> d }",
    "b,a,c,d 2",
    "0>1:2000 1>2:2000 2>3:3" },
  { "defaults end with their subgraph, and are those of the first mention",
    "digraph { node [seconds=1] { node [seconds=\"2 s\"] edge [bytes=7]; a; b -> a } c; { node "
    "[seconds=9] c } c -> a }",
    "a 2,b 2,c 1", "1>0:7 2>0:0" },
  { "the last value counts, an empty one is none",
    "digraph { node [seconds=1] a [seconds=2, seconds=3] b [seconds=\"\"] a [kind=x][kind=y] }",
    "a 3,b", "" },
  { "edges to subgraphs, each node once, nested and in chains",
    "digraph { subgraph cluster_1 { a; {b a} } -> {c; c} -> d; e -> subgraph { f -> g } }",
    "a,b,c,d,e,f,g", "0>2:0 1>2:0 2>3:0 5>6:0 4>5:0 4>6:0" },
  { "strict: an edge once, with the last values, but the first defaults",
    "strict digraph { edge [bytes=1]; a -> b; edge [bytes=2]; a -> b; c -> b [bytes=5]; c -> b "
    "[bytes=6] c -> b }",
    "a,b,c", "0>1:1 2>1:6" },
  { "parallel edges", "digraph { a -> b [bytes=1] a -> b [bytes=2] }", "a,b", "0>1:1 0>1:2" },
  { "one tensor of several edges",
    "digraph { a -> {b c} [tensor=1, bytes=4] }", "a,b,c", "0>1,2:4" },
  { "keywords in any case, comments, ports, separators, assignments",
    "# 1 \"x.c\"\n// a -> z\n/* { \n */ Strict DiGraph \"g {\" { rankdir = LR; graph [color=1]; "
    "a:p:ne -> b:\"q\" [color=red;bytes=1,style=bold];; \"node\" -> b\n#x -> y\n}",
    "a,b,node", "0>1:1 2>1:0" },
  { "quoted, joined, continued, escaped, numbers, HTML",
    "digraph { \"a\" + /* */ \"b\" [name=\"x \\\"y\\\" \\\\n\"]; -.5 [name=\"l\\\nm\"]; <<i>h</i>> "
    "[name=h] }",
    "x \"y\" \\n,lm,h", "" },
  { "labels are the names where ids are numbers or n0, n1",
    "digraph { 17 [label=\"\\n  conv \\n(3, 4)\"]; n1 [label=\"fc\\l9\"]; x [label=y]; 8 "
    "[label=<<b>z</b>>]; 9 [label=\"\\N\"] }",
    "conv,fc,x,8,9", "" },
  { "attributes of Graphviz's own", "digraph { a [group=left, pin=true, device=\"/gpu:0\"] }",
    "a", "" },
};

static const struct Foreign GML[] = {
  { "the smallest", "graph[node[id 0]]", "0", "" },
  { "networkx",
    "graph [\n  directed 1\n  multigraph 1\n  name \"a &#38; b\"\n  node [\n    id 0\n    label "
    "\"conv &quot;1&#x22; &x;\"\n    seconds +INF\n    tags \"x\"\n    tags \"y\"\n    d [\n      "
    "seconds 1\n    ]\n  ]\n  node [\n    id 1\n    label \"5\"\n  ]\n  edge [\n    source 0\n    "
    "target 1\n    key 0\n    bytes 8.5E+0\n  ]\n]\n",
    "conv \"1\" &x; inf,5", "0>1:8.5" },
  { "edges before nodes, other keys, comments",
    "Creator \"yEd [ graph\"\nVersion 2.2\n# graph [ node [\ngraph\n[ edge [ target 7 source 5 "
    "bytes \"1 kB\" graphics [ Line [ point [ x 1 ] ] ] ] comment \"]\" directed 1 node [ name "
    "\"a\" id 5 ] node [ id 7 seconds \"2 ms\" ] ]",
    "a, 0.002", "0>1:1000" },
  { "an undirected graph without edges", "graph [ node [ id 3 ] ]", "3", "" },
};

TEST("dot: of other tools") { check_all_foreign(DOT, sizeof DOT / sizeof *DOT); }
TEST("gml: of other tools") { check_all_foreign(GML, sizeof GML / sizeof *GML); }

TEST("dot and gml: attributes of ops, device types, a placement") {
  berth_bundle a = { 0 }, b = { 0 };
  if (!parse("digraph \"net \\\"1\\\"\" { node [\"seconds:gpu\"=1] x [\"seconds:cpu\"=inf, "
             "param_bytes=\"1 KiB\", colocation=4, pinned=1, backward, device=1, twin=1]; y "
             "[\"seconds:cpu\"=\"5 ms\", flop=3, device=0] }", NULL, &a)
      || !parse("graph [ directed 1 name \"net &#34;1&quot;\" node [ id 1 name \"x\" seconds:gpu 1 "
                "seconds:cpu INF param_bytes 1024 group 4 pin 1 backward 1 device 1 twin 1 ] node "
                "[ id 2 name \"y\" seconds:gpu 1 seconds:cpu 5E-3 flop 3 device 0 ] ]", NULL, &b))
    return;
  berth_op x = must_graph_op(a.graph, 0), y = must_graph_op(a.graph, 1);
  CHECK_TEXT(berth_graph_type(a.graph, 1), "cpu");
  CHECK(isinf(x.seconds[1]) && y.seconds[1] == 5e-3 && y.seconds[0] == 1 && y.flop == 3);
  CHECK(x.param_bytes == 1024 && x.group == 4 && x.pin == 1 && x.twin == 1
        && x.flags == BERTH_OP_BACKWARD);
  CHECK(berth_placement_device(a.placement)[0] == 1);
  berth_text first = { 0 }, second = { 0 };
  CHECK_OK(berth_write_bundle(&a, &first));
  CHECK_OK(berth_write_bundle(&b, &second));
  CHECK_TEXT(first.data, second.data);
  RELEASE(&a, &b, &first, &second);
}

TEST("dot: more edges between subgraphs than are read") {
  size_t n = 3000, at = 9;
  char *text = malloc(2 * 8 * n + 64);
  strcpy(text, "digraph {");
  for (size_t side = 0; side < 2; side++) {
    at += (size_t)sprintf(text + at, "%s{", side ? "->" : "");
    for (size_t k = 0; k < n; k++) at += (size_t)sprintf(text + at, " x%d", (int)(k + side * n));
    at += (size_t)sprintf(text + at, "}");
  }
  strcpy(text + at, "}");
  berth_bundle b = { 0 };
  CHECK_ERROR(berth_parse(ctx, "x", text, at + 1, NULL, &b), BERTH_EPARSE,
              "x:1: subgraphs have more edges between them than are read (4194304)");
  free(text);
}

TEST("graphml: UTF-16") {
  static const struct Foreign f = { "UTF-16", NULL, "a 2", "" };
  static const char text[] = GRAPHML(SECONDS, "<node id=\"a\"><data key=\"s\">2</data></node>");
  char wide[2 * sizeof text];
  size_t n = 2 * sizeof text;
  for (int big = 0; big < 2; big++) {
    memset(wide, 0, sizeof wide);
    memcpy(wide, big ? "\xfe\xff" : "\xff\xfe", 2);
    for (size_t k = 0; k + 1 < sizeof text; k++) wide[2 + 2 * k + (size_t)big] = text[k];
    check_foreign(&f, wide, n);
  }
}

/* More than a chunk of expat's, and a value that lies in two. */
TEST("graphml: larger than what is parsed at once") {
  static const char head[] =
      "<graphml>" SECONDS "<graph edgedefault=\"directed\"><node id=\"a\"><data key=\"s\">1",
                    tail[] = "5</data></node></graph></graphml>";
  static const struct Foreign f = { "a large file", NULL, "a 15", "" };
  size_t gap = (3u << 20) + 11, n = 0;
  char *text = malloc(sizeof head + sizeof tail + gap + 8);
  memcpy(text, head, sizeof head - 1);
  n = sizeof head - 1;
  memcpy(text + n, "<!--", 4);
  memset(text + n + 4, ' ', gap);
  memcpy(text + n + gap, "-->", 3);
  memcpy(text + n + gap + 3, tail, sizeof tail - 1);
  check_foreign(&f, text, n + gap + 3 + sizeof tail - 1);
  free(text);
}

static int always(void *ud) {
  (void)ud;
  return 1;
}

TEST("graphml, dot, gml: interrupted") {
  static const char *const texts[] = { GRAPHML("", AB), "digraph { a }",
                                       "graph [ node [ id 1 ] ]" };
  hooked(&(berth_hooks){ .interrupt = always });
  for (int k = 0; k < 3; k++) {
    berth_bundle b = { 0 };
    CHECK_STATUS(berth_parse(ctx, "test", texts[k], strlen(texts[k]), NULL, &b), BERTH_EINTERRUPT);
    CHECK(!b.graph);
  }
}

/* ---- encodings and options ---- */

TEST("byte order marks, CR LF line ends and blank lines are accepted") {
  static const char *const texts[] = {
    "\xef\xbb\xbf{\"berth\": 1, \"graph\": {\"ops\": [{}]}}",
    "{\"berth\": 1,\r\n\"graph\":\r\n{\"ops\": [{}]}}\r\n",
    "\n\n  {\"berth\": 1, \"graph\": {\"ops\": [{}]}}  \n",
    "\xef\xbb\xbf"
    "1\r\n0 0 0\r\n1 5 1 0\r\n2 0 1 1\r\n",
    "3\r\n0,\r\n0,\r\n1,\r\n1,4\r\n1,4\r\n\r\n",
    "node1 -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
    "parameter_size=1\r\n",
    "\xef\xbb\xbf<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\r\n<graph "
    "edgedefault=\"directed\">\r\n<node id=\"a\"/>\r\n"
    "</graph>\r\n</graphml>\r\n",
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    berth_bundle b;
    if (parse(texts[k], NULL, &b)) CHECK(b.graph != NULL);
    RELEASE(&b);
  }
}

static size_t gzip(const char *text, char *out, size_t size) {
  z_stream z;
  memset(&z, 0, sizeof z);
  if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  z.next_in = (Bytef *)(size_t)text;
  z.avail_in = (uInt)strlen(text);
  z.next_out = (Bytef *)out;
  z.avail_out = (uInt)size;
  deflate(&z, Z_FINISH);
  deflateEnd(&z);
  return z.total_out;
}

TEST("gzip, several members") {
  char data[1024];
  berth_bundle b = { 0 };
  size_t first = gzip("1\n0 0 0\n1 5 1 0\n", data, sizeof data),
         second = gzip("2 0 1 1\n", data + first, sizeof data - first);
  /* two members, one after the other */
  CHECK_OK(berth_parse(ctx, "x.gz", data, first + second, NULL, &b));
  CHECK_TEXT(b.format, "stg");
  CHECK(berth_graph_ops(b.graph) == 3);
  RELEASE(&b);
}

static int after_two(void *ud) { return ++*(int *)ud > 2; }

TEST("no more than most_bytes is read, packed or not; the interrupt hook stops both") {
  static char plain[8 << 20], packed[1 << 16];
  memset(plain, ' ', sizeof plain - 1);
  size_t n = gzip(plain, packed, sizeof packed);
  berth_load_options opts = berth_load_default();
  CHECK(opts.most_bytes == 1e9);
  opts.most_bytes = 8e6;
  berth_bundle b = { 0 };
  berth_text text = { 0 };
  CHECK_ERROR(berth_parse(ctx, "x.gz", packed, n, &opts, &b), BERTH_EPARSE,
              "x.gz: unpacks to more than 8 MB (most_bytes)");
  opts.most_bytes = 10;
  CHECK_ERROR(berth_load(ctx, "spec/bad/binary.bin", &opts, &b), BERTH_EPARSE,
              "spec/bad/binary.bin: holds more than 10 B (most_bytes)");
  CHECK_ERROR(berth_read(ctx, "spec/bad/binary.bin", 10, &text), BERTH_EPARSE,
              "spec/bad/binary.bin: holds more than 10 B (most_bytes)");
  CHECK_STATUS(berth_read(ctx, "spec/bad/binary.bin", -1, &text), BERTH_EINVAL);
  CHECK_STATUS(berth_read(ctx, "spec/bad/binary.bin", NAN, &text), BERTH_EINVAL);
  CHECK_ERROR(berth_load(ctx, "spec", NULL, &b), BERTH_EIO,
              "spec: cannot be read: it is a directory, not a file");
  CHECK_ERROR(berth_load(ctx, "/dev/zero", NULL, &b), BERTH_EIO,
              "/dev/zero: cannot be read: it is a device, not a file");
  static char members[40000] = "{\"berth\": 1, \"graph\": {\"ops\": [{}";
  for (size_t k = strlen(members); k + 4 < sizeof members; k += 3) memcpy(members + k, ",{}", 3);
  hooked(&(berth_hooks){ .interrupt = always });
  CHECK_STATUS(berth_parse(ctx, "x", members, strlen(members), NULL, &b), BERTH_EINTERRUPT);
  int calls = 0;
  hooked(&(berth_hooks){ .interrupt = after_two, .ud = &calls });
  CHECK_STATUS(berth_parse(ctx, "x.gz", packed, n, NULL, &b), BERTH_EINTERRUPT);
  CHECK(calls == 3);
  hooked(&(berth_hooks){ .interrupt = always });
  CHECK_STATUS(berth_read(ctx, "spec/bad/binary.bin", 0, &text), BERTH_EINTERRUPT);
}

TEST("can_save: directories, what is there, what is not") {
  CHECK_OK(berth_can_save(ctx, "-"));
  CHECK_OK(berth_can_save(ctx, "spec/none.json"));
  CHECK_OK(berth_can_save(ctx, "Makefile"));
  CHECK_OK(berth_can_save(ctx, "/none.json"));
  CHECK_OK(berth_can_save(ctx, "/dev/full"));
  CHECK_ERROR(berth_can_save(ctx, "spec"), BERTH_EIO,
              "spec: cannot be written: it is a directory");
  CHECK_ERROR(berth_can_save(ctx, "none/x.json"), BERTH_EIO,
              "none/x.json: cannot be written: No such file or directory");
}

TEST("options") {
  berth_load_options opts = berth_load_default();
  berth_bundle b = { 0 };
  opts.format = "mlir";
  CHECK_STATUS(berth_parse(ctx, "x", "1", 1, &opts, &b), BERTH_EINVAL);
  CHECK(strstr(berth_errmsg(ctx), "\"mlir\"") && strstr(berth_errmsg(ctx), "\"wfcommons\""));
  opts = berth_load_default();
  opts.file_bandwidth = 0;
  CHECK_ERROR(berth_parse(ctx, "x", "1", 1, &opts, &b), BERTH_EINVAL,
              "option file_bandwidth is 0 (a finite number above 0)");
  opts.file_bandwidth = NAN;
  CHECK_STATUS(berth_parse(ctx, "x", "1", 1, &opts, &b), BERTH_EINVAL);
  opts = berth_load_default();
  opts.format = "doppler"; /* a forced format overrides what the contents look like */
  CHECK_STATUS(berth_parse(ctx, "x", "1\n0 0 0\n1 5 1 0\n2 0 1 1\n", 24, &opts, &b), BERTH_EPARSE);
  CHECK_ERROR(berth_load(ctx, "/nowhere/at/all", NULL, &b), BERTH_EIO,
              "/nowhere/at/all: cannot be opened: No such file or directory");
  CHECK_STATUS(berth_load(ctx, "spec", NULL, &b), BERTH_EIO);
  opts = berth_load_default();
  opts.mirror = 2;
  CHECK_STATUS(berth_parse(ctx, "x", "1", 1, &opts, &b), BERTH_EINVAL);
  opts = berth_load_default();
  opts.format = "chrome"; /* only written */
  CHECK_STATUS(berth_parse(ctx, "x", "1", 1, &opts, &b), BERTH_EINVAL);
}

/* ---- descriptors ---- */

static bool is_option(const char *keys, size_t n) {
  for (const berth_option *o = berth_load_option_table()->options; o->key; o++) {
    if (strlen(o->key) == n && memcmp(o->key, keys, n) == 0) return true;
  }
  return false;
}

TEST("descriptors: names differ, endings and options are known") {
  const berth_choice *const *readable =
      berth_option_find(berth_load_option_table(), "format")->choices;
  CHECK_TEXT(berth_formats()[0]->choice.name, "berth");
  for (const berth_format *const *f = berth_formats(); *f; f++) {
    const char *keys = (*f)->reads ? (*f)->reads : "";
    CHECK((*f)->loads || (*f)->saves);
    CHECK(((*f)->saves & BERTH_HOLDS_GRAPH) ? (*f)->endings != NULL : !(*f)->endings);
    CHECK((berth_choice_find(readable, (*f)->choice.name) >= 0) == ((*f)->loads != 0));
    for (; *keys; keys += strspn(keys, " ")) {
      size_t n = strcspn(keys, " ");
      CHECK(is_option(keys, n));
      keys += n;
    }
    for (const berth_format *const *other = berth_formats(); other != f; other++)
      CHECK(strcmp((*other)->choice.name, (*f)->choice.name) != 0);
  }
}

TEST("the format of a path is that of its ending") {
  static const struct { const char *path; int saves; const char *format; } rows[] = {
    { "a.json", BERTH_HOLDS_GRAPH, "berth" }, { "-", BERTH_HOLDS_GRAPH, "berth" },
    { "a/b.d/c", BERTH_HOLDS_GRAPH, "berth" }, { ".profile", BERTH_HOLDS_GRAPH, "berth" },
    { "a.GV", BERTH_HOLDS_GRAPH, "dot" }, { "a.dot.gz", BERTH_HOLDS_GRAPH, "dot" },
    { "a.graphml", BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT, "graphml" },
    { "a.cluster", BERTH_HOLDS_TOPOLOGY, "berth" }, { "a.gz", BERTH_HOLDS_TOPOLOGY, "berth" },
  };
  const char *format;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    CHECK_OK(berth_format_of_path(ctx, rows[k].path, rows[k].saves, &format));
    CHECK_TEXT(format, rows[k].format);
  }
  CHECK_ERROR(berth_format_of_path(ctx, "a.jso", BERTH_HOLDS_GRAPH, &format), BERTH_EINVAL,
              "a.jso: no format has the ending .jso: name the format, or use one of these endings "
              "(berth: json; graphml: graphml; dot: dot gv)");
  CHECK_ERROR(berth_format_of_path(ctx, "a.dot", BERTH_HOLDS_TOPOLOGY, &format), BERTH_EINVAL,
              "a.dot: format dot, of this ending, cannot hold it");
}

/* A mark of its own decides against members that others may have, too; two marks decide nothing. */
TEST("recognised by marks before shapes; not by two marks") {
  static const char two[] = "{\"berth\": 1, \"maxFPGAs\": 1}";
  berth_bundle b = { 0 };
  if (parse("{\"tasks\": [{\"id\": 1, \"cost\": 1}], \"edges\": [], \"workflow\": \"x\"}", NULL,
            &b))
    CHECK_TEXT(b.format, "wfcommons");
  RELEASE(&b);
  CHECK_ERROR(berth_parse(ctx, "x", two, sizeof two - 1, NULL, &b), BERTH_EPARSE,
              "x:1: may be \"berth\" or \"dnn-partitioning\": give its format");
}

/* In memory, so that the text of a format is enough. */
TEST("options that a format does not read are refused") {
  static const char saga[] =
      "{\"tasks\": [{\"id\": 1, \"cost\": 1}], \"edges\": [], \"workflow\": \"x\"}";
  berth_load_options o = berth_load_default();
  berth_bundle b = { 0 };
  o.cpus = 1;
  CHECK_ERROR(berth_parse(ctx, "x", saga, sizeof saga - 1, &o, &b), BERTH_EINVAL,
              "option cpus: the format wfcommons does not read it; read by: dnn-partitioning");
  CHECK(!b.graph);
  o.cpus = 0;
  o.file_bandwidth = 1e9;
  CHECK_ERROR(berth_parse(ctx, "x", saga, sizeof saga - 1, &o, &b), BERTH_EINVAL,
              "option file_bandwidth: the format wfcommons does not read it; read by: "
              "dnn-partitioning, wfformat");
  CHECK_OK(berth_format_check(ctx, "wfformat", "file_bandwidth"));
  CHECK_OK(berth_format_check(ctx, "wfformat", "file"));
  CHECK_OK(berth_format_check(ctx, "stg", "format"));
}
