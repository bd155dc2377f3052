/* Building and reading graphs: contents, order of lists, refusals, cycles, memory. */
#include "graph/builder_internal.h"
#include "graph_help.h"

#include <time.h>

static berth_graph_builder *new_builder(void) {
  return must_graph_builder_new();
}

static berth_graph_builder *with_ops(int32_t n) {
  berth_graph_builder *b = new_builder();
  char name[2] = "a";
  for (; n > 0; n--, name[0]++) add_plain_op(b, name, 1);
  return b;
}

static int same_ids(const int32_t *got, int32_t n, const int32_t *want, int32_t n_want) {
  return n == n_want && (n == 0 || memcmp(got, want, (size_t)n * sizeof *got) == 0);
}
#define IDS(...) \
  (const int32_t[]){ __VA_ARGS__ }, (int32_t)(sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static void refused(berth_graph_builder *b, berth_status want, const char *message) {
  berth_graph *g = NULL;
  CHECK_STATUS(berth_graph_builder_finish(b, &g), want);
  CHECK(g == NULL);
  CHECK_TEXT(berth_errmsg(ctx), message);
  RELEASE(g, b);
}

/* Every field differs from its default somewhere, and not in the first row. */
static berth_status build_rich(berth_graph_builder *b) {
  static const char *const types[] = { "cpu", "gpu" };
  const double times[] = { 2, BERTH_UNSUPPORTED };
  const int32_t members[] = { 2, 0 }, consumers[] = { 3 };
  berth_op op = berth_op_default();
  berth_tensor t = { .producer = 0, .bytes = 8, .resident_bytes = -1 };
  berth_collective c = { BERTH_ALLGATHER, 64, 2, 2, members, 1, consumers };
  berth_status st = BERTH_OK;
  TRY(st, berth_graph_builder_name(b, "rich"));
  TRY(st, berth_graph_builder_types(b, 2, types));
  TRY(st, berth_graph_builder_add_op(b, &op, NULL));
  op = (berth_op){ "mul", "matmul", times, 1, 2, 3, 4, 5, 3, 6, BERTH_OP_SPLITTABLE, NULL };
  TRY(st, berth_graph_builder_add_op(b, &op, NULL));
  op = berth_op_default();
  op.name = "mul";
  TRY(st, berth_graph_builder_add_op(b, &op, NULL));
  op.name = "sum";
  op.kind = "matmul";
  TRY(st, berth_graph_builder_add_op(b, &op, NULL));
  TRY(st, berth_graph_builder_add_tensor(b, &t, NULL));
  t = (berth_tensor){ 1, 0, 16, BERTH_TENSOR_BATCH };
  TRY(st, berth_graph_builder_add_tensor(b, &t, NULL));
  t = (berth_tensor){ 0, 4, 4, 0 };
  TRY(st, berth_graph_builder_add_tensor(b, &t, NULL));
  TRY(st, berth_graph_builder_add_consumer(b, 2, 3));
  TRY(st, berth_graph_builder_add_consumer(b, 0, 3));
  TRY(st, berth_graph_builder_add_consumer(b, 1, 2));
  TRY(st, berth_graph_builder_add_consumer(b, 0, 1));
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  return st;
}

static void check_rich_ops(const berth_graph *g) {
  berth_op op = must_graph_op(g, 0);
  CHECK(!op.name && !op.kind && !op.seconds && op.flop == 0 && op.bytes == 0 && op.param_bytes == 0
        && op.workspace_bytes == 0);
  CHECK(op.group == BERTH_NONE && op.twin == BERTH_NONE && op.pin == BERTH_NONE && op.flags == 0);
  op = must_graph_op(g, 1);
  CHECK_TEXT(op.name, "mul");
  CHECK_TEXT(op.kind, "matmul");
  CHECK(op.seconds && op.seconds[0] == 2 && op.seconds[1] == BERTH_UNSUPPORTED);
  CHECK(op.flop == 1 && op.bytes == 2 && op.param_bytes == 3 && op.workspace_bytes == 4);
  CHECK(op.group == 5 && op.twin == 3 && op.pin == 6 && op.flags == BERTH_OP_SPLITTABLE);
  op = must_graph_op(g, 3);
  CHECK(op.twin == 1); /* set from the other side */
  CHECK(!op.seconds && op.group == BERTH_NONE);
}

static void check_rich_rest(const berth_graph *g) {
  berth_tensor t = must_graph_tensor(g, 0);
  CHECK(t.producer == 0 && t.bytes == 8 && t.resident_bytes == 8 && t.flags == 0);
  t = must_graph_tensor(g, 1);
  CHECK(t.producer == 1 && t.bytes == 0 && t.resident_bytes == 16 && t.flags == BERTH_TENSOR_BATCH);
  t = must_graph_tensor(g, 2);
  CHECK(t.bytes == 4 && t.resident_bytes == 4);
  const int32_t *ids;
  CHECK(berth_graph_consumers(g, 0, &ids) == 2 && ids[0] == 3 && ids[1] == 1);
  CHECK(berth_graph_inputs(g, 3, &ids) == 2 && ids[0] == 2 && ids[1] == 0);
  CHECK(berth_graph_outputs(g, 0, &ids) == 2 && ids[0] == 0 && ids[1] == 2);
  CHECK(berth_graph_inputs(g, 4, &ids) == 0 && !ids);
  CHECK(berth_graph_inputs(g, 0, NULL) == 0);
  berth_collective c = must_graph_collective(g, 0);
  CHECK(c.kind == BERTH_ALLGATHER && c.bytes == 64 && c.count == 2);
  CHECK(same_ids(c.members, c.n_members, IDS(2, 0))
        && same_ids(c.consumers, c.n_consumers, IDS(3)));
}

static void check_rich(const berth_graph *g) {
  CHECK_TEXT(berth_graph_name(g), "rich");
  CHECK(berth_graph_ops(g) == 4 && berth_graph_tensors(g) == 3 && berth_graph_edges(g) == 4);
  CHECK(berth_graph_collectives(g) == 1 && berth_graph_groups(g) == 6 && berth_graph_types(g) == 2);
  CHECK_TEXT(berth_graph_type(g, 1), "gpu");
  CHECK(berth_graph_find(g, "sum") == 3 && berth_graph_find(g, "mul") == BERTH_NONE
        && berth_graph_find(g, "x") == BERTH_NONE);
  check_rich_ops(g);
  check_rich_rest(g);
}

TEST("all fields come back; lists keep the order of adding") {
  berth_graph_builder *b = new_builder();
  CHECK_OK(build_rich(b));
  berth_graph *g = must_graph(b);
  check_rich(g);
  berth_op op;
  CHECK_ERROR(berth_graph_op(g, 4, &op), BERTH_EINVAL, "op 4 does not exist (there are 4)");
  berth_tensor t;
  CHECK_STATUS(berth_graph_tensor(g, -1, &t), BERTH_EINVAL);
  berth_collective c;
  CHECK_STATUS(berth_graph_collective(g, 1, &c), BERTH_EINVAL);
  berth_graph_retain(g);
  RELEASE(g);
  check_rich(g);
  RELEASE(g);
  berth_graph_release(NULL);
  berth_graph_builder_release(NULL);
}

/* The builder is empty after a success: back to one device type, ids from 0. */
TEST("the builder is empty after a graph, and an empty graph is refused") {
  berth_graph_builder *b = new_builder();
  berth_graph *one = NULL, *two = NULL;
  CHECK_OK(build_rich(b));
  one = must_graph_builder_finish(b);
  CHECK_ERROR(berth_graph_builder_finish(b, &two), BERTH_EINVAL, "graph has no ops");
  add_plain_op(b, "alone", 0);
  two = must_graph_builder_finish(b);
  CHECK(berth_graph_ops(two) == 1 && berth_graph_types(two) == 1 && berth_graph_edges(two) == 0);
  CHECK_TEXT(berth_graph_name(two), "");
  CHECK_TEXT(berth_graph_type(two, 0), "");
  check_rich(one);
  RELEASE(two);
}

static void refuse_op(berth_graph_builder *b, const berth_op *op, const char *text) {
  int32_t id = 42;
  CHECK_STATUS(berth_graph_builder_add_op(b, op, &id), BERTH_EINVAL);
  if (text) CHECK_TEXT(berth_errmsg(ctx), text);
  CHECK(id == 42);
}

TEST("wrong ops are refused with their values") {
  berth_graph_builder *b = with_ops(1);
  berth_op op;
  int32_t id;
#define BAD(field, text)                                                                \
  op = berth_op_default(), op.name = "conv1", op.field, refuse_op(b, &op, text)
  BAD(seconds = (double[]){ -3 }, "op 1 \"conv1\": time -3 s is negative");
  BAD(seconds = (double[]){ NAN }, "op 1 \"conv1\": time is not a number");
  BAD(flop = NAN, NULL);
  BAD(flop = INFINITY, NULL);
  BAD(param_bytes = -1, NULL);
  BAD(pin = -2, NULL);
  BAD(group = INT32_MAX, NULL);
  BAD(flags = 64, "op 1 \"conv1\": unknown flags 0x40");
#undef BAD
  op.flags = 0;
  id = must_add_op(b, &op);
  CHECK(id == 1);
  CHECK_STATUS(berth_graph_builder_types(b, 1, (const char *const[]){ "gpu" }), BERTH_EINVAL);
  b = new_builder();
  CHECK_STATUS(berth_graph_builder_types(b, 2, (const char *const[]){ "gpu", "gpu" }),
               BERTH_EINVAL);
  CHECK_STATUS(berth_graph_builder_types(b, 0, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_graph_builder_types(b, 2, (const char *const[]){ "gpu", "" }), BERTH_EINVAL);
}

static void refuse_shape(berth_graph_builder *b, double flop, berth_shape s, const char *text) {
  berth_op op = berth_op_default();
  op.shape = &s;
  op.flop = flop;
  refuse_op(b, &op, text);
}

TEST("a shape comes back; it is a product or attention, with FLOP for it") {
  berth_graph_builder *b = with_ops(1);
  const berth_shape s = { .product = { .m = 2, .n = 3, .k = 5, .copies = 7, .gradients = 1 } };
  berth_op op = berth_op_default();
  op.shape = &s;
  op.flop = 2 * 2 * 3 * 5 * 7 * 2;
  must_add_op(b, &op);
  const berth_shape attention = { .attention = { .seq = 8, .heads = 2, .head_size = 4 } };
  op.shape = &attention;
  op.flop = 1;
  must_add_op(b, &op);
  refuse_shape(b, 419, s, "op 3: 419 FLOP are fewer than the 840 of its shape");
  refuse_shape(b, 0, attention, "op 3: it has the shape of attention, but no FLOP");
  refuse_shape(b, 1e9, (berth_shape){ s.product, attention.attention }, NULL);
  refuse_shape(b, 1e9, (berth_shape){ .product = { .m = 1, .n = 1 } }, NULL);
  refuse_shape(b, 1e9, (berth_shape){ .product = { .m = NAN, .n = 1, .k = 1 } },
               "op 3: m of its shape is no finite number from 0");
  refuse_shape(b, 1e9, (berth_shape){ .attention = { .seq = 1, .heads = 1, .window = -1,
                                                     .head_size = 1 } }, NULL);
  berth_graph *g = must_graph(b);
  CHECK(!must_graph_op(g, 0).shape && berth_graph_shapes(g) == 2);
  CHECK(memcmp(must_graph_op(g, 1).shape, &s, sizeof s) == 0);
  CHECK(must_graph_op(g, 2).shape->attention.heads == 2);
}

TEST("wrong tensors and edges are refused") {
  static const berth_tensor bad[] = { { 2, 1, -1, 0 }, { 0, -1, -1, 0 }, { 0, 1, NAN, 0 } };
  berth_graph_builder *b = with_ops(2);
  int32_t id = 42;
  for (int k = 0; k < 3; k++) {
    CHECK_STATUS(berth_graph_builder_add_tensor(b, &bad[k], &id), BERTH_EINVAL);
    if (k == 0)
      CHECK_TEXT(berth_errmsg(ctx), "tensor 0: producer op 2 does not exist (there are 2 ops)");
  }
  CHECK_ERROR(berth_graph_builder_add_consumer(b, 0, 0), BERTH_EINVAL,
              "tensor 0 does not exist (there are 0 tensors)");
  CHECK_STATUS(berth_graph_builder_connect(b, 0, 2, 1, &id), BERTH_EINVAL);
  CHECK_STATUS(berth_graph_builder_connect(b, 0, 1, NAN, &id), BERTH_EINVAL);
  CHECK(id == 42);
  id = must_add_edge(b, 0, 1, 1);
  CHECK(id == 0); /* nothing of the refused ones stayed */
  CHECK_STATUS(berth_graph_builder_reserve(b, -1, 0, 0), BERTH_EINVAL);
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 1));
  refused(b, BERTH_EINVAL, "tensor 0 of op 0 \"a\": consumer op 1 \"b\" is given twice");
}

TEST("wrong collectives are refused") {
  berth_graph_builder *b = with_ops(3);
  const int32_t ids[] = { 0, 1, 7 }, twice[] = { 1, 0, 1 };
  const struct {
    berth_collective c;
    const char *message;
  } bad[] = {
    { { BERTH_BARRIER, 0, 1, 0, ids, 0, NULL }, NULL },
    { { BERTH_BARRIER, 0, 1, 3, ids, 0, NULL },
      "collective 0: member op 7 does not exist (there are 3 ops)" },
    { { BERTH_BARRIER, 0, 1, 2, ids, 1, NULL }, NULL },
    { { BERTH_BARRIER, 0, 0, 2, ids, 0, NULL }, NULL },
    { { (berth_collective_kind)7, 0, 1, 2, ids, 0, NULL }, NULL },
    { { BERTH_ALLTOALL, NAN, 1, 2, ids, 0, NULL }, NULL },
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    CHECK_STATUS(berth_graph_builder_add_collective(b, &bad[k].c, NULL), BERTH_EINVAL);
    if (bad[k].message) CHECK_TEXT(berth_errmsg(ctx), bad[k].message);
  }
  berth_collective c = { BERTH_ALLTOALL, 0, 1, 2, ids, 0, NULL };
  must_add_collective(b, &c);
  c.members = twice;
  c.n_members = 3;
  must_add_collective(b, &c);
  refused(b, BERTH_EINVAL, "collective 1: member op 1 \"b\" is given twice");
}

static void add_linked_op(berth_graph_builder *b, int32_t twin, int32_t group, int32_t pin) {
  berth_op op = berth_op_default();
  op.twin = twin;
  op.group = group;
  op.pin = pin;
  must_add_op(b, &op);
}

static berth_graph_builder *linked(const char *twins) {
  berth_graph_builder *b = new_builder();
  must_text(b, twins);
  return b;
}

TEST("twins point at each other") {
  berth_graph_builder *b = linked("1t2 1 1");
  berth_graph *g = must_graph(b);
  berth_op op = must_graph_op(g, 2);
  CHECK(op.twin == 0);
  RELEASE(g);
  refused(linked("1t3 1 1"), BERTH_EINVAL,
          "op 0: twin op 3 does not exist (there are 3 ops)");
  refused(linked("1 1t1 1"), BERTH_EINVAL, "op 1 is its own twin");
  refused(linked("1t1 1t2 1"), BERTH_EINVAL, "op 0: its twin op 1 is the twin of op 2");
  refused(linked("1t1 1 1t1"), BERTH_EINVAL, "op 2: its twin op 1 is the twin of op 0");
}

TEST("a group pinned to two devices is refused") {
  berth_graph_builder *b = new_builder();
  for (int32_t k = 0; k < 100; k++)
    add_linked_op(b, BERTH_NONE, 1000000 * (k % 50), k % 2 ? k % 50 : BERTH_NONE);
  add_linked_op(b, BERTH_NONE, BERTH_NONE, 3);
  add_linked_op(b, BERTH_NONE, 49000000, 7);
  refused(b, BERTH_EINVAL, "group 49000000: op 49 is pinned to device 49, op 101 to device 7");
}

TEST("cycles are named") {
  berth_graph_builder *b = with_ops(4);
  berth_graph *g = NULL;
  const int32_t members[] = { 0, 1 }, consumers[] = { 2 };
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 1, consumers };
  must_add_edge(b, 1, 1, 0);
  refused(b, BERTH_ECYCLE, "cycle of 1 op: op 1 \"b\" -> op 1 \"b\"");
  b = with_ops(4);
  must_text(b, "3>1:0 1>2:0 2>3:0 2>0:0");
  refused(b, BERTH_ECYCLE,
          "cycle of 3 ops: op 1 \"b\" -> op 2 \"c\" -> op 3 \"d\" -> op 1 \"b\"");
  b = with_ops(3);
  must_add_collective(b, &c);
  must_add_edge(b, 2, 1, 0);
  refused(b, BERTH_ECYCLE, "cycle of 2 ops: op 1 \"b\" -> op 2 \"c\" -> op 1 \"b\"");
  b = with_ops(8);
  for (int32_t v = 0; v < 8; v++)
    must_add_edge(b, v, (v + 1) % 8, 0);
  CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_ECYCLE);
  refused(b, BERTH_ECYCLE,
          "cycle of 8 ops: op 0 \"a\" -> op 1 \"b\" -> op 2 \"c\" -> op 3 \"d\" -> op 4 \"e\" -> "
          "... -> op 0 \"a\"");
}

/* Every step of a named cycle must be an edge. */
static void check_named_cycle(const flat *f, const char *text) {
  int32_t steps = 0;
  const char *at = strstr(text, ": op ");
  if (!CHECK(at != NULL)) return;
  int32_t from = (int32_t)strtol(at + 5, NULL, 10);
  int32_t to, k;
  for (at = strstr(at, " -> "); at; at = strstr(at + 4, " -> "), from = to) {
    if (strncmp(at, " -> op ", 7) != 0) return; /* a long one is cut */
    to = (int32_t)strtol(at + 7, NULL, 10);
    for (k = 0; k < f->n_edges && (f->edge[k].src != from || f->edge[k].dst != to); k++) { }
    CHECK(k < f->n_edges);
    steps++;
  }
  CHECK(steps > 0);
}

TEST("cycles of random graphs are found and named by their edges") {
  int32_t found = 0;
  berth_rng rng = seeded(11, 0);
  for (int32_t k = 0; k < 500; k++) {
    berth_graph_builder *b = new_builder();
    berth_graph *g = NULL;
    int cyclic = 0;
    flat f;
    random_graph(b, &rng, 1, &f);
    uint8_t reach[SMALL][SMALL];
    closure(&f, reach);
    for (int32_t v = 0; v < f.n_ops; v++) cyclic |= reach[v][v];
    berth_status st = berth_graph_builder_finish(b, &g);
    CHECK_STATUS(st, cyclic ? BERTH_ECYCLE : BERTH_OK);
    if (st == BERTH_ECYCLE) check_named_cycle(&f, berth_errmsg(ctx));
    found += cyclic;
    RELEASE(g, b);
  }
  CHECK(found > 50 && found < 450);
}

/* After a refusal all is still there: what was missing can be added. */
TEST("a refused builder keeps its contents") {
  berth_graph_builder *b = linked("1 1t3 1");
  berth_graph *g = NULL;
  must_add_edge(b, 0, 1, 8);
  CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_EINVAL);
  add_linked_op(b, BERTH_NONE, BERTH_NONE, BERTH_NONE);
  must_add_edge(b, 1, 3, 8);
  g = must_graph_builder_finish(b);
  CHECK(berth_graph_ops(g) == 4 && berth_graph_edges(g) == 2);
  berth_op op = must_graph_op(g, 3);
  CHECK(op.twin == 1);
  RELEASE(g);
}

/* The n-th request is refused, for every n; then it goes on with the same builder where it can. */
TEST("every refused allocation is survived") {
  check_alloc_state state = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &state };
  long n;
  int done = 0;
  berth_ctx_release(ctx);
  ctx = NULL;
  for (n = 1; !done; n++) {
    berth_graph_builder *b = NULL;
    berth_graph *g = NULL;
    state.calls = 0;
    state.fail_at = n;
    berth_status st;
    if ((st = berth_ctx_new(&hooks, &ctx)) == BERTH_OK
        && (st = berth_graph_builder_new(ctx, &b)) == BERTH_OK
        && (st = build_rich(b)) == BERTH_OK) {
      if ((st = berth_graph_builder_finish(b, &g)) == BERTH_ENOMEM)
        g = must_graph_builder_finish(b);
      if (g) check_rich(g);
    }
    done = state.calls < n;
    CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
    RELEASE(b, g, ctx);
    ctx = NULL;
    CHECK(state.held == 0);
  }
  hooked(NULL);
  CHECK(n > 20);
}

enum { MANY = 1000000 };

static berth_status add_many(berth_graph_builder *b, int32_t n, int named) {
  double seconds = 1e-3;
  char name[16] = "";
  berth_op op = berth_op_default();
  berth_tensor t = { .bytes = 100, .resident_bytes = -1 };
  berth_status st = BERTH_OK;
  op.seconds = &seconds;
  for (int32_t v = 0; v < n && st == BERTH_OK; v++) {
    if (named) snprintf(name, sizeof name, "op%d", v);
    op.name = named ? name : NULL;
    if ((st = berth_graph_builder_add_op(b, &op, NULL)) != BERTH_OK) break;
    t.producer = v;
    st = berth_graph_builder_add_tensor(b, &t, NULL);
  }
  for (int32_t v = 0; v + 1 < n && st == BERTH_OK; v++) {
    if ((st = berth_graph_builder_add_consumer(b, v, v + 1)) != BERTH_OK) break;
    if (v + 1000 < n) st = berth_graph_builder_add_consumer(b, v, v + 2 + (v * 7) % 990);
  }
  return st;
}

static void many(int named, double bytes_per_op) {
  berth_graph_builder *b = new_builder();
  clock_t start = clock();
  double *level = malloc(MANY * sizeof *level), *comp = malloc(MANY * sizeof *comp);
  berth_ctx_memory_reset_peak(ctx);
  CHECK_OK(add_many(b, MANY, named));
  berth_graph *g = must_graph_builder_finish(b);
  double peak = (double)berth_ctx_memory_peak(ctx) / MANY;
  printf("# %d ops, %d edges%s: %.3f s of processor time, peak %.1f B per op, then %.1f\n", MANY,
         (int)berth_graph_edges(g), named ? ", named" : "",
         (double)(clock() - start) / CLOCKS_PER_SEC, peak, (double)berth_ctx_memory(ctx) / MANY);
  CHECK(peak < bytes_per_op);
  for (int32_t v = 0; v < MANY; v++) comp[v] = 1;
  start = clock();
  CHECK_OK(berth_b_level(g, comp, NULL, level));
  printf("# b-levels: %.3f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
  CHECK(level[0] == MANY && level[MANY - 1] == 1);
  RELEASE(level, comp);
}

TEST("capacity hints need not come true") {
  berth_graph_builder *b = new_builder();
  CHECK_OK(berth_graph_builder_reserve(b, 10, 20, 30));
  add_plain_op(b, "a", 1);
  berth_graph *g = must_graph_builder_finish(b);
  CHECK(berth_graph_tensors(g) == 0 && berth_graph_outputs(g, 0, NULL) == 0);
}

/* Counts are set by hand: two thousand million ops do not fit everywhere. */
TEST("counts beyond 32 bits are refused") {
  berth_graph_builder *b = with_ops(2);
  const int32_t ids[] = { 0 };
  const berth_collective c = { .kind = BERTH_BARRIER, .count = 1, .n_members = 1, .members = ids };
  const berth_tensor t = { .producer = 0, .resident_bytes = -1 };
  const berth_op op = berth_op_default();
  b->n_ops = INT32_MAX - 1;
  CHECK_ERROR(berth_graph_builder_add_op(b, &op, NULL), BERTH_EINVAL,
              "too many ops: 2147483646 and 1 more");
  b->n_ops = 2;
  b->n_tensors = INT32_MAX - 1;
  CHECK_STATUS(berth_graph_builder_add_tensor(b, &t, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_graph_builder_connect(b, 0, 1, 0, NULL), BERTH_EINVAL);
  b->n_tensors = 0;
  b->n_edges = INT32_MAX - 1;
  CHECK_STATUS(berth_graph_builder_connect(b, 0, 1, 0, NULL), BERTH_EINVAL);
  b->n_edges = 0;
  b->n_coll_ops = INT32_MAX - 1;
  CHECK_STATUS(berth_graph_builder_add_collective(b, &c, NULL), BERTH_EINVAL);
  b->n_coll_ops = 0;
  must_graph_builder_finish(b);
}

static void *small_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  return nsize > 1000000 ? NULL : check_alloc(ud, ptr, osize, nsize);
}

TEST("hints that cannot be met do no harm") {
  check_alloc_state state = { 0, 0, 0 };
  const berth_hooks hooks = { .alloc = small_alloc, .alloc_ud = &state };
  hooked(&hooks);
  berth_graph_builder *b = with_ops(1);
  CHECK_STATUS(berth_graph_builder_reserve(b, INT32_MAX, INT32_MAX, INT32_MAX), BERTH_ENOMEM);
  add_linked_op(b, BERTH_NONE, 1, 1);
  must_add_edge(b, 0, 1, 5);
  berth_graph *g = must_graph_builder_finish(b);
  CHECK(berth_graph_ops(g) == 2 && berth_graph_edges(g) == 1);
  RELEASE(b, g);
  hooked(NULL);
  CHECK(state.held == 0);
}

/* Labels in messages stay whole: long names are cut, never within a character. */
TEST("long names are cut in messages") {
  berth_graph_builder *b = new_builder();
  char name[200] = "x";
  berth_op op = berth_op_default();
  for (int k = 1; k < 199; k += 2) memcpy(name + k, "\303\266", 2);
  op.name = name;
  op.flop = -1;
  CHECK_SAYS(berth_graph_builder_add_op(b, &op, NULL), BERTH_EINVAL,
             "\303\266...\": work -1 FLOP is negative");
  char label[64];
  berth_i_label(INT32_MAX, "a name that is as long as it may be, but not", label, 40);
  CHECK_TEXT(label, "op 2147483647 \"a name that is as lo...\"");
}

TEST("texts that are not UTF-8 are refused") {
  berth_op op = berth_op_default();
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_STATUS(berth_graph_builder_name(b, "\xff"), BERTH_EINVAL);
  CHECK_ERROR(berth_graph_builder_types(b, 1, (const char *[]){ "\xed\xa0\x80" }), BERTH_EINVAL,
              "device type 0: the name is not UTF-8");
  op.name = "caf\xe9";
  CHECK_ERROR(berth_graph_builder_add_op(b, &op, NULL), BERTH_EINVAL,
              "op 0: the name is not UTF-8: byte 0xe9 at 4");
  op.name = "caf\xc3\xa9";
  op.kind = "\x80";
  CHECK_STATUS(berth_graph_builder_add_op(b, &op, NULL), BERTH_EINVAL);
  op.kind = NULL;
  must_add_op(b, &op);
}

TEST("a million ops take little memory") { many(0, 130); }
TEST("a million named ops take little memory") { many(1, 200); }
