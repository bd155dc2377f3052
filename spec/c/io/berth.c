/* The berth format: everything comes back, exactly; people may write it by hand. */
#include "must.h"
#include "io_support.h"

static int parse(const char *text, berth_bundle *out) {
  memset(out, 0, sizeof *out);
  berth_status st = berth_parse(ctx, "test", text, strlen(text), NULL, out);
  if (st != BERTH_OK) printf("# %s\n", berth_errmsg(ctx));
  return CHECK_OK(st);
}

/* @param blanks control characters of the names became blanks */
static void check_same_op(const berth_graph *a, const berth_graph *b, int32_t v, bool blanks) {
  const int32_t *in_a;
  int32_t n = berth_graph_inputs(a, v, &in_a);
  berth_op x = must_graph_op(a, v);
  berth_op y = must_graph_op(b, v);
  char name[64];
  snprintf(name, sizeof name, "%s", x.name ? x.name : "");
  for (char *c = name; blanks && *c; c++)
    if (*c == '\t' || *c == '\n') *c = ' ';
  CHECK_TEXT(y.name ? y.name : "", name);
  CHECK_TEXT(y.kind ? y.kind : "", x.kind ? x.kind : "");
  CHECK(!x.seconds == !y.seconds);
  if (x.seconds && y.seconds) CHECK(x.seconds[0] == y.seconds[0] && x.seconds[1] == y.seconds[1]);
  CHECK(x.flop == y.flop && x.bytes == y.bytes && x.param_bytes == y.param_bytes
        && x.workspace_bytes == y.workspace_bytes);
  CHECK(x.group == y.group && x.twin == y.twin && x.pin == y.pin && x.flags == y.flags);
  const int32_t *in_b;
  CHECK(berth_graph_inputs(b, v, &in_b) == n
        && (n == 0 || memcmp(in_a, in_b, (size_t)n * sizeof *in_a) == 0));
}

static void check_same_tensor(const berth_graph *a, const berth_graph *b, int32_t t) {
  const int32_t *ops_a;
  int32_t n = berth_graph_consumers(a, t, &ops_a);
  berth_tensor x = must_graph_tensor(a, t);
  berth_tensor y = must_graph_tensor(b, t);
  CHECK(x.producer == y.producer && x.bytes == y.bytes && x.resident_bytes == y.resident_bytes
        && x.flags == y.flags);
  const int32_t *ops_b;
  CHECK(berth_graph_consumers(b, t, &ops_b) == n
        && (n == 0 || memcmp(ops_a, ops_b, (size_t)n * sizeof *ops_a) == 0));
}

static void check_same_collective(const berth_graph *a, const berth_graph *b, int32_t k) {
  berth_collective x = must_graph_collective(a, k);
  berth_collective y = must_graph_collective(b, k);
  CHECK(x.kind == y.kind && x.bytes == y.bytes && x.count == y.count && x.n_members == y.n_members
        && x.n_consumers == y.n_consumers);
  CHECK(memcmp(x.members, y.members, (size_t)x.n_members * sizeof *x.members) == 0);
  CHECK(x.n_consumers == 0
        || memcmp(x.consumers, y.consumers, (size_t)x.n_consumers * sizeof *x.consumers) == 0);
}

static void check_same_graph(const berth_graph *a, const berth_graph *b, bool blanks) {
  CHECK_TEXT(berth_graph_name(b), berth_graph_name(a));
  CHECK(berth_graph_ops(a) == berth_graph_ops(b)
        && berth_graph_tensors(a) == berth_graph_tensors(b));
  CHECK(berth_graph_types(a) == berth_graph_types(b)
        && berth_graph_collectives(a) == berth_graph_collectives(b));
  for (int32_t k = 0; k < berth_graph_types(a); k++)
    CHECK_TEXT(berth_graph_type(b, k), berth_graph_type(a, k));
  for (int32_t k = 0; k < berth_graph_ops(a); k++) check_same_op(a, b, k, blanks);
  for (int32_t k = 0; k < berth_graph_tensors(a); k++) check_same_tensor(a, b, k);
  for (int32_t k = 0; k < berth_graph_collectives(a); k++) check_same_collective(a, b, k);
}

static void graph_round_trip(const char *format) {
  berth_graph *g = NULL;
  berth_text text = { 0 }, again = { 0 };
  berth_bundle b = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(berth_write_graph(g, format, &text));
  if (parse(text.data, &b)) {
    CHECK_TEXT(b.format, format);
    check_same_graph(g, b.graph, strcmp(format, "dot") == 0);
    CHECK_OK(berth_write_graph(b.graph, format, &again));
    CHECK(same_text(&text, &again));
  }
  RELEASE(&b, &text, &again, g);
}

TEST("a topology comes back: node order, one-way links, routes by hand") {
  berth_topology *t = NULL;
  berth_text text = { 0 }, again = { 0 };
  berth_bundle b = { 0 };
  CHECK_OK(full_topology(&t));
  CHECK_OK(berth_write_topology(t, &text));
  CHECK(strstr(text.data, "\"nodes\": [\"gpu0\", \"sw\", \"d1\"]") != NULL);
  const int32_t *links;
  berth_link l;
  berth_device d;
  const char *name;
  int32_t from, to, device;
  if (parse(text.data, &b)) {
    CHECK(berth_topology_nodes(b.topology) == 3 && berth_topology_links(b.topology) == 6);
    CHECK_OK(berth_topology_node(b.topology, 1, &name, &device));
    CHECK_TEXT(name, "sw");
    CHECK(device == BERTH_NONE);
    CHECK_OK(berth_topology_link(b.topology, 2, &from, &to, &l));
    CHECK(from == 1 && to == 2 && isinf(l.bandwidth) && l.latency == 0);
    CHECK_OK(berth_topology_link(b.topology, 1, &from, &to, &l));
    CHECK(from == 1 && to == 0 && l.bandwidth == 25e9 / 3 && l.latency == 5e-6);
    d = must_topology_device(b.topology, 0);
    CHECK(d.speed == 1.0 / 3 && d.flops == 15.7e12 && d.memory == 16e9
          && d.memory_bandwidth == 900e9 && d.overhead == 5e-6 && d.machine == 3);
    CHECK(berth_topology_route(b.topology, 0, 1, &links) == 2 && links[0] == 0 && links[1] == 2);
    CHECK(berth_topology_route(b.topology, 1, 0, &links) == 1 && links[0] == 5);
    CHECK_OK(berth_write_topology(b.topology, &again));
    CHECK(same_text(&text, &again));
  }
  RELEASE(&b, &text, &again, t);
}

TEST("a placement comes back, with names beside the ids") {
  const int32_t device[] = { 1, 1, 0, 0, 1 }, sequence[] = { 0, 1, 2, 3, 4 };
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_text text = { 0 }, again = { 0 }, whole = { 0 };
  berth_bundle b = { 0 }, all = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(full_topology(&t));
  berth_placement *p = must_placement_new(5, device, sequence, NULL, NAN);
  CHECK_OK(berth_write_placement(p, g, t, &text));
  CHECK(strstr(text.data, "\"device_names\": [\"gpu0\", \"d1\"]") != NULL);
  if (parse(text.data, &b)) {
    CHECK(!b.graph && !b.topology && berth_placement_ops(b.placement) == 5);
    CHECK(memcmp(berth_placement_device(b.placement), device, sizeof device) == 0);
    CHECK(memcmp(berth_placement_sequence(b.placement), sequence, sizeof sequence) == 0);
    CHECK(isnan(berth_placement_estimate(b.placement)) && !berth_placement_start(b.placement));
    CHECK_OK(berth_write_placement(b.placement, g, t, &again));
    CHECK(same_text(&text, &again));
  }
  all.graph = g;
  all.topology = t;
  all.placement = p;
  berth_placement_retain(p);
  CHECK_OK(berth_write_bundle(&all, &whole));
  RELEASE(&b);
  if (parse(whole.data, &b)) CHECK(b.graph && b.topology && b.placement);
  RELEASE(&b, &text, &again, &whole, &all);
}

/* A plan's times and estimate come back to the last bit. */
TEST("a plan comes back") {
  berth_bundle b = { 0 };
  berth_text text = { 0 };
  if (parse("{\"berth\": 1, \"placement\": {\"placer\": \"m-etf\", \"estimate_seconds\": "
            "0.30000000000000004, \"device\": [1, 0],\"sequence\": [1, 0], \"start_seconds\": [0, "
            "\"5 us\"], \"finish_seconds\": [1e-7, \"inf\"]}}",
            &b)) {
    CHECK_TEXT(berth_placement_placer(b.placement), "m-etf");
    CHECK(berth_placement_estimate(b.placement) == 0.1 + 0.2);
    CHECK_NEAR(berth_placement_start(b.placement)[1], 5e-6, 1e-20);
    CHECK(isinf(berth_placement_finish(b.placement)[1]));
    CHECK_OK(berth_write_placement(b.placement, NULL, NULL, &text));
    CHECK(strstr(text.data, "\"estimate_seconds\": 0.30000000000000004")
          && strstr(text.data, "\"inf\""));
  }
  RELEASE(&text, &b);
}

TEST("units, names and defaults in a file written by hand") {
  berth_bundle b;
  if (!parse("{\"berth\": 1,\n"
             "\"graph\": {\"types\": [\"cpu\", \"gpu\"], \"ops\": [\n"
             "  {\"name\": \"a\", \"seconds\": [\"2 ms\", \"unsupported\"], \"twin\": \"b\", "
             "\"pin\": \"gpu1\"},\n"
             "  {\"name\": \"b\", \"seconds\": [null, 1e-3], \"param_bytes\": \"16 MiB\"},\n"
             "  {\"flop\": \"2 GFLOP\", \"bytes\": \"8 kB\"}],\n"
             "  \"tensors\": [{\"from\": \"a\", \"to\": [2, \"b\"], \"bytes\": \"1 Gbit\"}],\n"
             "  \"collectives\": [{\"kind\": \"allreduce\", \"bytes\": 5, \"members\": [\"a\", "
             "1]}]},\n"
             "\"topology\": {\"devices\": [{\"memory_bytes\": \"inf\"}, {\"name\": \"gpu1\", "
             "\"flop_per_second\": \"312 TFLOP/s\"}],\n"
             "  \"switches\": [{\"name\": \"tor\"}, {}],\n"
             "  \"links\": [{\"from\": 0, \"to\": \"tor\", \"bytes_per_second\": \"25 GB/s\", "
             "\"duplex\": true},\n"
             "    {\"from\": \"tor\", \"to\": \"gpu1\", \"bytes_per_second\": \"25 Gbit/s\", "
             "\"latency_seconds\": \"5 us\", \"duplex\": true}]},\n"
             "\"placement\": {\"device\": [\"gpu1\", 1, 0], \"sequence\": [\"a\", \"b\", 2]}}",
             &b)) {
    return;
  }
  berth_op op = must_graph_op(b.graph, 0);
  CHECK(op.seconds[0] == 2e-3 && op.seconds[1] == BERTH_UNSUPPORTED && op.twin == 1 && op.pin == 1);
  op = must_graph_op(b.graph, 1);
  CHECK(op.param_bytes == 16.0 * 1024 * 1024 && op.twin == 0 && op.seconds[0] == BERTH_UNSUPPORTED);
  op = must_graph_op(b.graph, 2);
  CHECK(!op.seconds && op.flop == 2e9 && op.bytes == 8e3);
  berth_tensor t = must_graph_tensor(b.graph, 0);
  CHECK(t.bytes == 1e9 / 8 && t.resident_bytes == t.bytes);
  berth_device d = must_topology_device(b.topology, 1);
  CHECK(d.flops == 312e12 && berth_topology_nodes(b.topology) == 4);
  berth_link l = must_topology_path(b.topology, 0, 1);
  CHECK(l.bandwidth == 25e9 / 8);
  CHECK_NEAR(l.latency, 5e-6, 1e-20);
  CHECK(berth_placement_device(b.placement)[0] == 1);
  RELEASE(&b);
}

/* Every double is written so that it reads back as itself, in as few digits as that takes. */
TEST("random doubles come back to the last bit") {
  berth_rng rng = seeded(1, 0);
  for (int k = 0; k < 3000; k++) {
    berth_text text = { 0 };
    berth_bundle b = { 0 };
    berth_op op = berth_op_default();
    uint64_t bits = berth_rng_u64(&rng) & INT64_MAX;
    memcpy(&op.flop, &bits, sizeof bits);
    if (k == 0) op.flop = 5e-324;
    if (k == 1) op.flop = 1.7976931348623157e308;
    if (k == 2) op.flop = 9007199254740993.0;
    if (!isfinite(op.flop)) continue;
    berth_graph_builder *builder = must_graph_builder_new();
    must_add_op(builder, &op);
    berth_graph *g = must_graph_builder_finish(builder);
    CHECK_OK(berth_write_graph(g, "berth", &text));
    if (parse(text.data, &b)) {
      berth_op back = must_graph_op(b.graph, 0);
      CHECK(back.flop == op.flop);
    }
    RELEASE(&b, g, builder, &text);
  }
}

TEST("numbers are written short") {
  berth_bundle b;
  berth_text text = { 0 };
  if (!parse("{\"berth\": 1, \"graph\": {\"ops\": [{\"seconds\": 0.1, \"flop\": 3000000000, "
             "\"bytes\": 1e22}]}}",
             &b))
    return;
  CHECK_OK(berth_write_graph(b.graph, "berth", &text));
  CHECK(strstr(text.data, "\"seconds\": 0.1,") && strstr(text.data, "\"flop\": 3000000000,")
        && strstr(text.data, "\"bytes\": 1e+22}"));
  RELEASE(&text, &b);
}

TEST("what cannot be written is refused") {
  berth_text text = { 0 };
  berth_bundle b = { 0 };
  berth_graph *g = NULL;
  const int32_t bad[] = { 0, -1, 0, 0, 0 }, one[] = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_STATUS(berth_write_graph(g, "pipedream", &text), BERTH_EINVAL);
  CHECK_TEXT(
      berth_errmsg(ctx),
      "cannot write a graph as \"pipedream\": must be one of \"berth\", \"graphml\", \"dot\"");
  CHECK_STATUS(berth_write_graph(g, NULL, &text), BERTH_EINVAL);
  CHECK_STATUS(berth_write_placed(g, "dot", bad, &text), BERTH_EINVAL);
  berth_placement *p = must_placement_new(1, one, NULL, NULL, NAN);
  CHECK_ERROR(berth_write_placement(p, g, NULL, &text), BERTH_EINVAL,
              "placement of 1 ops, graph of 5");
  CHECK_STATUS(berth_write_bundle(&b, &text), BERTH_EINVAL);
  CHECK(text.len == 0);
  RELEASE(&text, g);
}

static const char *const shaped =
    "{\"berth\": 1, \"graph\": {\"ops\": [{\"flop\": 120, \"shape\": {\"m\": 2, \"n\": 3, "
    "\"k\": 5, \"gradients\": true}}, {\"flop\": 1, \"shape\": {\"seq\": 8, \"heads\": 2, "
    "\"head_size\": 4, \"full\": true}}]}}";

TEST("shapes come back from berth JSON; GraphML loses them") {
  berth_bundle b = { 0 }, back = { 0 }, bad = { 0 };
  if (!parse(shaped, &b)) return;
  CHECK(must_graph_op(b.graph, 0).shape->product.gradients);
  for (int k = 0; k < 2; k++) {
    berth_text text = { 0 };
    CHECK_OK(berth_write_graph(b.graph, k ? "graphml" : "berth", &text));
    if (parse(text.data, &back)) CHECK(berth_graph_shapes(back.graph) == (k ? 0 : 2));
    for (int32_t v = 0; v < 2 && !k; v++)
      CHECK(memcmp(must_graph_op(back.graph, v).shape, must_graph_op(b.graph, v).shape,
                   sizeof(berth_shape)) == 0);
    RELEASE(&text, &back);
  }
  const char *const text =
      "{\"berth\": 1, \"graph\": {\"ops\": [{\"flop\": 1, \"shape\": {\"mm\": 1}}]}}";
  CHECK_STATUS(berth_parse(ctx, "t", text, strlen(text), NULL, &bad), BERTH_EPARSE);
  CHECK(strstr(berth_errmsg(ctx), "is an unknown key"));
  RELEASE(&b);
}

TEST("a graph that uses every field comes back from berth JSON") { graph_round_trip("berth"); }
TEST("the same from GraphML") { graph_round_trip("graphml"); }
TEST("the same from DOT") { graph_round_trip("dot"); }
