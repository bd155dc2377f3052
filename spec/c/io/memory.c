/* The context's allocator refuses the 1st, 2nd, 3rd ... request of every reader and writer: an
 * error, no crash, no leak. */
#include "refusals.h"
#include "io_support.h"
#include <unistd.h>

static const char *const TEXTS[] = {
  "{\"berth\": 1, \"graph\": {\"name\": \"x\", \"types\": [\"cpu\"], \"ops\": [{\"name\": \"a\", "
  "\"kind\": \"k\", \"seconds\": 1, \"twin\": \"b\"}, {\"name\": \"b\", \"seconds\": null}, "
  "{\"inputs\": [1, 0]}], \"tensors\": [{\"from\": \"a\", \"to\": [1, 2]}, {\"from\": 1, \"to\": "
  "[2]}], \"collectives\": [{\"kind\": \"barrier\", \"members\": [0], \"consumers\": [\"b\"]}]}, "
  "\"topology\": {\"devices\": [{}, {\"name\": \"d\"}], \"switches\": [\"s\"], \"nodes\": "
  "[\"d0\", \"s\", \"d\"], \"links\": [{\"from\": \"d0\", \"to\": \"d\", \"bytes_per_second\": "
  "1}], \"routes\": [{\"from\": 0, \"to\": \"d\", \"links\": [0]}]}, \"placement\": {\"placer\": "
  "\"p\", \"device\": [0, \"d\", 1], \"sequence\": [0, \"b\", 2], \"start_seconds\": [0, 1, 2], "
  "\"finish_seconds\": [1, 2, 3], \"op_names\": [\"a\", \"b\", \"\"], \"device_names\": [\"d0\", "
  "\"d\"]}}",
  "{\"maxFPGAs\": 2, \"maxCPUs\": 1, \"maxSizePerFPGA\": 9, \"nodes\": [{\"id\": 1, "
  "\"fpgaLatency\": 1, \"colorClass\": 1}, {\"id\": 2, \"fpgaLatency\": 1, \"colorClass\": 1, "
  "\"isBackwardNode\": true}], \"edges\": [{\"sourceId\": 1, \"destId\": 2, \"cost\": 1}]}",
  "node1 -- A(1) -- forward_compute_time=1, backward_compute_time=1, activation_size=[1; 2], "
  "parameter_size=1\n"
  "node2 -- B -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
  "parameter_size=1\n\tnode1 -- node2\n",
  "4\n0,\n0,1,\n1,2,\n1,4,fill\n1,4\n1,4\n",
  "1\n0 0 0\n1 5 1 0\n2 0 1 1\n",
  "{\"name\": \"x\", \"tasks\": [{\"id\": \"a\", \"exec\": [1]}, {\"id\": \"b\", \"exec\": [2]}], "
  "\"edges\": [{\"src\": \"a\", \"dst\": \"b\", \"size\": 1}], \"nodes\": [{\"id\": \"n\"}], "
  "\"links\": []}",
  "{\"tasks\": [{\"id\": 0, \"cost\": 1}, {\"id\": 1, \"cost\": 1}], \"edges\": [{\"src\": 0, "
  "\"dst\": 1, \"size\": 1}]}",
  "{\"schemaVersion\": \"1.5\", \"workflow\": {\"specification\": {\"tasks\": [{\"id\": \"a\", "
  "\"outputFiles\": [\"f\"]}, {\"id\": \"b\", \"parents\": [\"a\"], \"inputFiles\": [\"f\"]}, "
  "{\"id\": \"c\", \"inputFiles\": [\"f\"]}], \"files\": [{\"id\": \"f\", \"sizeInBytes\": 8}]}, "
  "\"execution\": {\"tasks\": [{\"id\": \"a\", \"runtimeInSeconds\": 1}, {\"id\": \"b\", "
  "\"runtimeInSeconds\": 1}, {\"id\": \"c\", \"runtimeInSeconds\": 1}], \"machines\": "
  "[{\"nodeName\": \"m\", \"cpu\": {\"speedInMHz\": 9}}, {\"nodeName\": \"n\"}]}}}",
  "{\"directed\": true, \"nodes\": [{\"id\": \"a\", \"seconds\": \"1 ms\"}, {\"id\": 2}], "
  "\"graph\": {\"name\": \"g\"}, \"links\": [{\"source\": \"a\", \"target\": 2}]}",
  "{\"schemaVersion\": \"1.4\", \"workflow\": {\"tasks\": [{\"name\": \"a\", \"id\": \"ID1\", "
  "\"runtimeInSeconds\": 1, \"files\": [{\"link\": \"output\", \"path\": \"p/\", \"name\": \"f\", "
  "\"sizeInBytes\": 8}]}, {\"name\": \"b\", \"runtime\": 1, \"parents\": [\"ID1\"], \"files\": "
  "[{\"link\": \"input\", \"name\": \"p/f\", \"size\": 8}]}]}}",
  "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"s\" for=\"node\" "
  "attr.name=\"seconds\" attr.type=\"double\"><default>2</default></key><key id=\"n\" "
  "attr.name=\"name\"><default>x</default></key><key id=\"c\" for=\"node\" "
  "attr.name=\"collective\" attr.type=\"string\"/><key id=\"d\" for=\"node\" attr.name=\"device\" "
  "attr.type=\"int\"/><graph edgedefault=\"directed\"><node id=\"a\"><data "
  "key=\"s\">1</data><data key=\"d\">0</data></node><node id=\"b\"><data "
  "key=\"d\">1</data></node><node id=\"m\"><data key=\"c\">barrier</data></node><edge "
  "source=\"a\" target=\"b\"/><edge source=\"a\" target=\"m\"/><data "
  "key=\"n\">g</data></graph></graphml>",
  "strict digraph \"g\" { node [\"seconds:t\"=1, device=0]; a [label=x]; a -> {b c} [bytes=1] a "
  "-> b m [collective=barrier] a -> m }",
  "graph [ directed 1 name \"g\" node [ id 1 label \"a &amp; b\" seconds 1 ] node [ id 2 ] edge [ "
  "source 1 target 2 bytes 8 ] ]",
};

static berth_status read_text(const void *what) {
  berth_bundle b = { 0 };
  berth_status st = berth_parse(ctx, "x", what, strlen(what), NULL, &b);
  RELEASE(&b);
  return st;
}

static berth_status read_file(const void *what) {
  berth_bundle b = { 0 };
  berth_status st = berth_load(ctx, what, NULL, &b);
  RELEASE(&b);
  return st == BERTH_EPARSE ? BERTH_OK : st; /* the file is refused in the end */
}

static berth_status write_everything(const void *format) {
  const int32_t device[] = { 0, 1, 0, 1, 1 };
  berth_bundle b = { 0 };
  berth_text text = { 0 };
  berth_status st = full_graph(&b.graph);
  TRY(st, full_topology(&b.topology));
  TRY(st, berth_placement_new(ctx, 5, device, NULL, "by hand", 1.5, &b.placement));
  if (st == BERTH_OK)
    st =
        format ? berth_write_placed(b.graph, format, device, &text) : berth_write_bundle(&b, &text);
  RELEASE(&text, &b);
  return st;
}

static berth_status write_trace(const void *what) {
  const int32_t device[] = { 0, 1 };
  const berth_collective both = { BERTH_BARRIER, 0, 1, 2, device, 0, NULL };
  berth_graph_builder *b = NULL;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_result *r = NULL;
  berth_text text = { 0 };
  (void)what;
  berth_status st = berth_graph_builder_new(ctx, &b);
  TRY(st, add_text(b, "1 1 0>1:5"));
  TRY(st, berth_graph_builder_add_collective(b, &both, NULL));
  TRY(st, berth_graph_builder_finish(b, &g));
  TRY(st, mesh_of(2, INFINITY, 1, 0, &t));
  TRY(st, berth_cost_new(g, t, NULL, &cost));
  TRY(st, berth_simulate(cost, device, NULL, &r));
  TRY(st, berth_write_trace(r, &text));
  RELEASE(&text, r, cost, t, g, b);
  return st;
}

TEST("reading") {
  for (size_t k = 0; k < sizeof TEXTS / sizeof *TEXTS; k++) refuse_each(read_text, TEXTS[k], 1, 0);
}
TEST("reading a file, packed") { refuse_each(read_file, "spec/bad/gzip_cut.gz", 1, 0); }
TEST("reading a broken file") { refuse_each(read_file, "spec/bad/berth_negative.json", 1, 0); }
/* Both are written and packed, in place of a file, and the text of a thousand blocks is packed. */
static berth_status save_packed(const void *path) {
  static char text[200000];
  berth_text t = { .data = text, .len = sizeof text };
  uint32_t x = 1;
  for (size_t k = 0; k < sizeof text; k++) text[k] = (char)((x = x * 1664525u + 1013904223u) >> 24);
  berth_status st = berth_save(ctx, path, &t);
  TRY(st, berth_can_save(ctx, path));
  return st;
}
TEST("saving, packed") {
  char folder[] = "/tmp/berth-io-XXXXXX", path[64];
  CHECK(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/memory.gz", folder);
  refuse_each(save_packed, path, 1, 0);
  berth_text back = { 0 };
  CHECK_OK(berth_read(ctx, path, 0, &back));
  CHECK(back.len == 200000);
  RELEASE(&back);
  CHECK(remove(path) == 0 && rmdir(folder) == 0);
}
TEST("writing a bundle") { refuse_each(write_everything, NULL, 1, 0); }
TEST("writing GraphML") { refuse_each(write_everything, "graphml", 1, 0); }
TEST("writing DOT") { refuse_each(write_everything, "dot", 1, 0); }
TEST("writing a placed graph") { refuse_each(write_everything, "berth", 1, 0); }
TEST("writing a timeline") { refuse_each(write_trace, NULL, 1, 0); }
