/* Mirroring a forward graph into forward + backward. */
#include "graph_help.h"
#include "refusals.h"

/* a (1 s, 10 FLOP, 4 B of parameters) --8 B--> b (2 s), c (cannot run); b --3 B--> d; c has no
 * output */
static berth_graph *forward_graph(void) {
  const double one = 1, two = 2, never = BERTH_UNSUPPORTED;
  const berth_tensor t = { 0, 8, 16, BERTH_TENSOR_BATCH };
  berth_op op = berth_op_default();
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_name(b, "net"));
  op = (berth_op){ "a", "conv", &one, 10, 20, 4, 5, 2, BERTH_NONE, 1, BERTH_OP_SPLITTABLE, NULL };
  must_add_op(b, &op);
  add_plain_op(b, "b", two);
  add_plain_op(b, "c", never);
  op = berth_op_default();
  must_add_op(b, &op);
  must_add_tensor(b, &t);
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 1));
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 2));
  must_add_edge(b, 1, 3, 3);
  must_add_tensor(b, &(berth_tensor){ 3, 7, -1, 0 });
  return must_graph(b);
}

static void check_ids(int32_t n, const int32_t *got, int32_t n_want, const int32_t *want) {
  CHECK(n == n_want && (n == 0 || memcmp(got, want, (size_t)n * sizeof *got) == 0));
}
#define LIST(...) \
  (int32_t)(sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)), (const int32_t[]) { __VA_ARGS__ }

static void check_tensor(const berth_graph *g, int32_t k, int32_t producer, double bytes, int32_t n,
                         const int32_t *consumers) {
  berth_tensor t;
  const int32_t *ids;
  int32_t count = berth_graph_consumers(g, k, &ids);
  if (!CHECK_OK(berth_graph_tensor(g, k, &t))) return;
  CHECK(t.producer == producer && t.bytes == bytes);
  check_ids(count, ids, n, consumers);
}

static void check_ops(const berth_graph *m) {
  berth_op op = must_graph_op(m, 0);
  CHECK(op.twin == 7 && op.seconds[0] == 1 && op.flags == BERTH_OP_SPLITTABLE
        && op.param_bytes == 4);
  op = must_graph_op(m, 7);
  CHECK_TEXT(op.name, "a.backward");
  CHECK_TEXT(op.kind, "conv");
  CHECK(op.seconds[0] == 2 && op.flop == 20 && op.bytes == 40 && op.param_bytes == 0
        && op.workspace_bytes == 5);
  CHECK(op.twin == 0 && op.group == 2 && op.pin == 1
        && op.flags == (BERTH_OP_SPLITTABLE | BERTH_OP_BACKWARD));
  op = must_graph_op(m, 5);
  CHECK(op.seconds[0] == BERTH_UNSUPPORTED && op.group == BERTH_NONE && op.twin == 2);
  op = must_graph_op(m, 4);
  CHECK(!op.name && !op.seconds && op.flags == BERTH_OP_BACKWARD);
}

TEST("a mirrored graph, by hand") {
  berth_graph *g = forward_graph(), *m = NULL;
  int32_t origin[8];
  CHECK_OK(berth_graph_mirror(g, NULL, &m, origin));
  RELEASE(g);
  CHECK_TEXT(berth_graph_name(m), "net");
  CHECK(berth_graph_ops(m) == 8 && berth_graph_tensors(m) == 7);
  for (int32_t v = 0; v < 8; v++) CHECK(origin[v] == (v < 4 ? v : 7 - v));
  check_ops(m);
  check_tensor(m, 0, 0, 8, LIST(1, 2, 6, 5)); /* uses, then the backward ops of these uses */
  check_tensor(m, 1, 1, 3, LIST(3, 4));
  check_tensor(m, 2, 3, 7, LIST(4)); /* the sink's output goes to its twin */
  check_tensor(m, 3, 2, 0, LIST(5)); /* the sink without one is joined by a dependency */
  check_tensor(m, 4, 6, 8, LIST(7)); /* gradients, one for each use */
  check_tensor(m, 5, 5, 8, LIST(7));
  check_tensor(m, 6, 4, 3, LIST(6));
  RELEASE(m);
}

TEST("given times, one join, parameters, no activations") {
  berth_graph *g = forward_graph(), *m = NULL;
  const double seconds[] = { 5, 6, 7, 8 };
  berth_mirror_options o = berth_mirror_default();
  o.ratio = 0;
  o.seconds = seconds;
  o.join = BERTH_JOIN_LAST;
  o.activations = 0;
  o.params = 1;
  o.gradients = BERTH_GRADIENT_AS_OUTPUT;
  m = must_graph_mirror(g, &o);
  CHECK(berth_graph_tensors(m) == 6);
  check_tensor(m, 0, 0, 8, LIST(1, 2));
  check_tensor(m, 2, 3, 7, LIST(4)); /* the only join */
  check_tensor(m, 3, 6, 3, LIST(7)); /* as large as the output of b */
  check_tensor(m, 4, 5, 0, LIST(7)); /* c has none */
  check_tensor(m, 5, 4, 7, LIST(6));
  berth_op op = must_graph_op(m, 7);
  CHECK(op.seconds[0] == 5 && op.flop == 0 && op.param_bytes == 4);
  op = must_graph_op(m, 5);
  CHECK(op.seconds[0] == 7);
  o.seconds = NULL;
  m = must_graph_mirror(g, &o);
  op = must_graph_op(m, 5);
  CHECK(op.seconds[0] == BERTH_UNSUPPORTED); /* not 0 * inf */
}

TEST("times of several device types are scaled each") {
  const double profile[] = { 1, 3 };
  berth_op op = berth_op_default();
  berth_mirror_options o = berth_mirror_default();
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, (const char *const[]){ "cpu", "gpu" }));
  op.seconds = profile;
  must_add_op(b, &op);
  berth_graph *g = must_graph_builder_finish(b);
  berth_graph *m = must_graph_mirror(g, NULL);
  op = must_graph_op(m, 1);
  CHECK(op.seconds[0] == 2 && op.seconds[1] == 6);
  CHECK_TEXT(berth_graph_type(m, 1), "gpu");
  RELEASE(m);
  o.seconds = profile;
  CHECK_ERROR(berth_graph_mirror(g, &o, &m, NULL), BERTH_EINVAL,
              "mirror: backward times need a graph of one device type, this has 2");
}

TEST("the shape of a backward op is that of its kernels, from a ratio of 2 on") {
  berth_graph_builder *b = must_graph_builder_new();
  const berth_shape s = { .product = { .m = 2, .n = 3, .k = 5 } },
                    a = { .attention = { .seq = 8, .heads = 2, .head_size = 4 } };
  berth_op op = berth_op_default();
  op.flop = 60;
  op.shape = &s;
  must_add_op(b, &op);
  op.shape = &a;
  must_add_op(b, &op);
  berth_graph *g = must_graph(b);
  berth_graph *m = must_graph_mirror(g, NULL);
  CHECK(must_graph_op(m, 3).shape->product.gradients && must_graph_op(m, 3).shape->product.k == 5);
  CHECK(must_graph_op(m, 2).shape->attention.backward);
  CHECK(!must_graph_op(m, 2).shape->product.gradients);
  CHECK(!must_graph_op(m, 0).shape->product.gradients);
  berth_mirror_options o = berth_mirror_default();
  o.ratio = 1;
  m = must_graph_mirror(g, &o);
  CHECK(berth_graph_shapes(m) == 2);
}

/* x, with 100 B, --10 B--> y, z; y, a view without parameters, --7 B--> w; z, a product
 * [2, 4] x [4, 3] with 400 B, --6 B--> w. */
static berth_graph *forward_step(void) {
  berth_graph_builder *b = must_graph_builder_new();
  berth_shape shape = { .product = { .m = 2, .n = 3, .k = 4 } };
  berth_op op = berth_op_default();
  op.name = "x", op.flop = 50, op.bytes = 110, op.param_bytes = 100, op.group = 3;
  must_add_op(b, &op);
  op = berth_op_default();
  op.name = "y";
  must_add_op(b, &op);
  op = (berth_op){ .name = "z", .flop = 48, .bytes = 416, .param_bytes = 400, .shape = &shape,
                   .group = BERTH_NONE, .twin = BERTH_NONE, .pin = BERTH_NONE };
  must_add_op(b, &op);
  op = berth_op_default();
  op.name = "w", op.flop = 3, op.bytes = 14;
  must_add_op(b, &op);
  must_add_edge(b, 0, 1, 10);
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 2));
  must_add_edge(b, 1, 3, 7);
  must_add_edge(b, 2, 3, 6);
  must_add_tensor(b, &(berth_tensor){ 3, 1, -1, 0 });
  return must_graph(b);
}

static void check_op(const berth_graph *m, int32_t v, const char *name, double flop, double bytes,
                     double params, int32_t group, int32_t twin) {
  berth_op op = must_graph_op(m, v);
  CHECK_TEXT(op.name, name);
  CHECK(op.flop == flop && op.bytes == bytes && op.param_bytes == params);
  CHECK(op.group == group && op.twin == twin);
}

TEST("a training step, by hand") {
  berth_mirror_options o = berth_mirror_default();
  int32_t origin[16];
  berth_graph *g = forward_step(), *m = NULL;
  o.optimizer = BERTH_OPTIMIZER_ADAM;
  if (!CHECK_OK(berth_graph_mirror(g, &o, &m, origin))) return;
  CHECK(berth_graph_ops(m) == 11);
  check_op(m, 4, "w.backward", 6, 7 + 6 + 1 + 7 + 6, 0, BERTH_NONE, 3);
  check_op(m, 5, "z.backward_inputs", 48, 6 + 400 + 10, 0, 4, BERTH_NONE);
  check_op(m, 6, "z.backward", 48, 6 + 400 + 10, 0, BERTH_NONE, 2);
  check_op(m, 7, "y.backward", 0, 0, 0, BERTH_NONE, 1);
  check_op(m, 8, "x.backward", 50, 10 + 10 + 100, 0, 3, 0);
  check_op(m, 9, "z.update", 1200, 400 * 3 + 2 * 800, 800, 4, BERTH_NONE);
  check_op(m, 10, "x.update", 300, 100 * 3 + 2 * 200, 200, 3, BERTH_NONE);
  CHECK_TEXT(must_graph_op(m, 9).kind, "adam");
  CHECK(must_graph_op(m, 9).flags == BERTH_OP_UPDATE && must_graph_op(m, 2).group == 4);
  const berth_product *p = &must_graph_op(m, 5).shape->product,
                      *w = &must_graph_op(m, 6).shape->product;
  CHECK(p->m == 2 && p->n == 4 && p->k == 3 && w->m == 4 && w->n == 3 && w->k == 2);
  check_ids(11, origin, LIST(0, 1, 2, 3, 3, 2, 2, 1, 0, 2, 0));
  CHECK(berth_graph_tensors(m) == 4 + 4 + 2);
  check_tensor(m, 0, 0, 10, LIST(1, 2, 7, 6)); /* y's and z's backward ops save it */
  check_tensor(m, 3, 3, 1, LIST(4));
  check_tensor(m, 4, 7, 10, LIST(8));
  check_tensor(m, 5, 5, 10, LIST(8));
  check_tensor(m, 6, 4, 7, LIST(7));
  check_tensor(m, 7, 4, 6, LIST(5, 6));
  check_tensor(m, 8, 6, 400, LIST(9));
  check_tensor(m, 9, 8, 100, LIST(10));
  RELEASE(m);
}

TEST("a training step has no gradient where nothing is trained") {
  berth_mirror_options o = berth_mirror_default();
  berth_graph *m = NULL, *g = forward_graph(); /* a has parameters; b, c and d read from it */
  o.optimizer = BERTH_OPTIMIZER_SGD;
  m = must_graph_mirror(g, &o);
  CHECK(berth_graph_ops(m) == 9); /* four twins, one update */
  CHECK(must_graph_op(m, 8).param_bytes == 0 && must_graph_op(m, 8).pin == 1);
  CHECK(must_graph_op(m, 6).seconds[0] == 2); /* b: one gradient */
  berth_graph_builder *b = must_graph_builder_new();
  add_plain_op(b, "data", 1);
  berth_op op = berth_op_default();
  op.name = "layer", op.param_bytes = 8;
  must_add_op(b, &op);
  must_add_edge(b, 0, 1, 8);
  g = must_graph_builder_finish(b);
  m = must_graph_mirror(g, &o);
  CHECK(berth_graph_ops(m) == 4 && must_graph_op(m, 0).twin == BERTH_NONE);
  add_plain_op(b, "alone", 1);
  g = must_graph_builder_finish(b);
  berth_graph *none = NULL;
  CHECK_ERROR(berth_graph_mirror(g, &o, &none, NULL), BERTH_EINVAL,
              "mirror: nothing to train: no op has parameters that a gradient reaches");
}

TEST("what cannot be mirrored is refused") {
  berth_graph *g = forward_graph(), *m = NULL, *again = NULL;
  const double seconds[] = { 1, -1, 1, 1 };
  int32_t origin[16] = { 99 }, members[] = { 0 };
  berth_mirror_options o = berth_mirror_default();
  const berth_collective c = {
    .kind = BERTH_BARRIER, .count = 1, .n_members = 1, .members = members
  };
  o.ratio = -1;
  CHECK_STATUS(berth_graph_mirror(g, &o, &m, origin), BERTH_EINVAL);
  o.ratio = NAN;
  CHECK_STATUS(berth_graph_mirror(g, &o, &m, origin), BERTH_EINVAL);
  o.ratio = 2;
  o.join = 7;
  CHECK_STATUS(berth_graph_mirror(g, &o, &m, origin), BERTH_EINVAL);
  o.join = BERTH_JOIN_SINKS;
  o.gradients = 2;
  CHECK_STATUS(berth_graph_mirror(g, &o, &m, origin), BERTH_EINVAL);
  o.gradients = BERTH_GRADIENT_AS_INPUT;
  o.seconds = seconds;
  CHECK_ERROR(berth_graph_mirror(g, &o, &m, origin), BERTH_EINVAL,
              "mirror: op 1 \"b\": backward time -1 s is negative");
  CHECK(origin[0] == 99 && !m);
  m = must_graph_mirror(g, NULL);
  CHECK_ERROR(berth_graph_mirror(m, NULL, &again, NULL), BERTH_EINVAL,
              "mirror: op 0 \"a\" has a twin already");
  RELEASE(m);
  berth_graph_builder *b = must_graph_builder_new();
  berth_op op = berth_op_default();
  op.flags = BERTH_OP_BACKWARD;
  must_add_op(b, &op);
  g = must_graph_builder_finish(b);
  CHECK_ERROR(berth_graph_mirror(g, NULL, &m, NULL), BERTH_EINVAL,
              "mirror: op 0 is a backward op already");
  add_plain_op(b, NULL, 1);
  must_add_collective(b, &c);
  g = must_graph_builder_finish(b);
  CHECK_STATUS(berth_graph_mirror(g, NULL, &m, NULL), BERTH_EINVAL);
}

/* Twins reach one another exactly the other way round, and every backward op comes after its
 * forward op. */
static void check_reversal(const berth_graph *g, const berth_graph *m) {
  int32_t n = berth_graph_ops(g);
  int yes, back;
  for (int32_t u = 0; u < n; u++) {
    for (int32_t v = 0; v < n; v++) {
      CHECK_OK(berth_reachable(g, u, v, &yes));
      CHECK_OK(berth_reachable(m, 2 * n - 1 - v, 2 * n - 1 - u, &back));
      CHECK(yes == back);
    }
    CHECK_OK(berth_reachable(m, u, 2 * n - 1 - u, &yes));
    CHECK(yes);
  }
}

TEST("the backward pass is the forward pass reversed") {
  berth_rng rng = seeded(5, 0);
  for (int32_t k = 0; k < 200; k++) {
    berth_graph *m = NULL;
    berth_mirror_options o = berth_mirror_default();
    berth_graph_builder *b = must_graph_builder_new();
    flat f;
    random_graph(b, &rng, 0, &f);
    berth_graph *g = must_graph_builder_finish(b);
    o.activations = k % 2;
    if (berth_graph_collectives(g) == 0
        && CHECK_OK(berth_graph_mirror(g, &o, &m, NULL)))
      check_reversal(g, m);
    RELEASE(m, g, b);
  }
}

/* Of all that has parameters upstream, and of nothing else, there is a backward op behind it; each
 * op with parameters reaches its update. */
static void check_step(const berth_graph *g, const berth_graph *m, const int32_t *origin) {
  int32_t n = berth_graph_ops(g), updates = 0, weights = 0, yes;
  uint8_t mark[64];
  CHECK(n <= 64);
  for (int32_t v = 0; v < n; v++) {
    berth_op op = must_graph_op(m, v);
    bool trained = false;
    CHECK_OK(berth_reach(g, v, 0, mark));
    for (int32_t u = 0; u < n; u++) trained |= mark[u] && must_graph_op(g, u).param_bytes > 0;
    CHECK((op.twin != BERTH_NONE) == trained);
    weights += must_graph_op(g, v).param_bytes > 0;
    if (op.twin == BERTH_NONE) continue;
    CHECK_OK(berth_reachable(m, v, op.twin, &yes));
    CHECK(yes && origin[op.twin] == v);
  }
  for (int32_t k = n; k < berth_graph_ops(m); k++) {
    if (!(must_graph_op(m, k).flags & BERTH_OP_UPDATE)) continue;
    CHECK_OK(berth_reachable(m, origin[k], k, &yes));
    CHECK(yes);
    updates++;
  }
  CHECK(updates == weights);
}

/* The same graph; every third op, say, has parameters. */
static berth_graph *with_parameters(const berth_graph *g, berth_rng *rng) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t v = 0; v < berth_graph_ops(g); v++) {
    berth_op op = must_graph_op(g, v);
    op.param_bytes = berth_rng_below(rng, 3) == 0 ? 8 : 0;
    must_add_op(b, &op);
  }
  for (int32_t t = 0; t < berth_graph_tensors(g); t++) {
    berth_tensor x;
    const int32_t *to;
    int32_t n = berth_graph_consumers(g, t, &to);
    CHECK_OK(berth_graph_tensor(g, t, &x));
    must_add_tensor(b, &x);
    for (int32_t j = 0; j < n; j++) CHECK_OK(berth_graph_builder_add_consumer(b, t, to[j]));
  }
  return must_graph_builder_finish(b);
}

TEST("a training step trains what has parameters") {
  berth_rng rng = seeded(6, 0);
  int32_t steps = 0, origin[4 * 64];
  for (int32_t k = 0; k < 200; k++) {
    berth_graph *m = NULL;
    berth_mirror_options o = berth_mirror_default();
    berth_graph_builder *b = must_graph_builder_new();
    flat f;
    random_graph(b, &rng, 0, &f);
    berth_graph *g = must_graph_builder_finish(b);
    o.optimizer = BERTH_OPTIMIZER_SGD;
    if (berth_graph_collectives(g) == 0) {
      g = with_parameters(g, &rng);
      if (berth_graph_mirror(g, &o, &m, origin) == BERTH_OK) check_step(g, m, origin), steps++;
    }
    RELEASE(m);
  }
  CHECK(steps > 30);
}

/* Order, levels and the rest, with the n-th request refused. */
static berth_status use_all(const berth_graph *g) {
  double comp[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, x[8];
  berth_status st = BERTH_OK;
  TRY(st, berth_b_level(g, comp, NULL, x));
  TRY(st, berth_t_level(g, comp, NULL, x));
  TRY(st, berth_slack(g, comp, NULL, x));
  int32_t ids[8], n;
  TRY(st, berth_critical_path(g, comp, NULL, ids, &n, x));
  TRY(st, berth_depth(g, ids));
  uint8_t mark[8];
  TRY(st, berth_reach(g, 0, 1, mark));
  int yes;
  TRY(st, berth_reachable(g, 0, 1, &yes));
  TRY(st, berth_components(g, ids, &n));
  return st;
}

static berth_status one_collective(berth_graph **out) {
  const int32_t members[] = { 0, 1 }, consumers[] = { 2 };
  const berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 1, consumers };
  const berth_op op = berth_op_default();
  berth_graph_builder *b;
  berth_status st = berth_graph_builder_new(ctx, &b);
  if (st != BERTH_OK) return st;
  for (int k = 0; k < 3 && st == BERTH_OK; k++) st = berth_graph_builder_add_op(b, &op, NULL);
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  TRY(st, berth_graph_builder_finish(b, out));
  RELEASE(b);
  return st;
}

static berth_status mirror_all(void) {
  berth_graph *m = NULL, *c = NULL;
  int32_t origin[8] = { 99 };
  berth_graph *step = NULL;
  berth_mirror_options o = berth_mirror_default();
  let_pass();
  berth_graph *g = forward_graph();
  refuse_from_here();
  berth_status st = berth_graph_mirror(g, NULL, &m, origin);
  o.optimizer = BERTH_OPTIMIZER_MOMENTUM;
  TRY(st, berth_graph_mirror(g, &o, &step, NULL));
  TRY(st, one_collective(&c));
  TRY(st, use_all(c));
  TRY(st, use_all(m));
  CHECK(m || origin[0] == 99);
  RELEASE(m, c, g, step);
  return st;
}

TEST("every refused allocation is survived") { CHECK(refuse_bare(mirror_all, 1) > 30); }
