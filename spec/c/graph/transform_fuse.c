/* Fusion and chains: by hand, and on random graphs against matrices of paths. */
#include "refusals.h"
#include "transform_help.h"

/* ---- by hand ---- */

/* n ops a, b, c, ... of 1, 2, 3, ... s in one group. */
static berth_graph *letters(int32_t n, int32_t group, const char *edges) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t k = 0; k < n; k++) {
    char name[2] = { (char)('a' + k), 0 };
    double seconds = k + 1;
    berth_op op = berth_op_default();
    op.name = name;
    op.kind = "k";
    op.seconds = &seconds;
    op.group = group;
    op.workspace_bytes = 10 * (k + 1);
    op.param_bytes = 100;
    must_add_op(b, &op);
  }
  must_text(b, edges);
  return must_graph(b);
}
static berth_fuse_options all(int32_t max_ops) {
  berth_fuse_options o = berth_fuse_default();
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = max_ops;
  return o;
}

/* @param digits the fused op of each op */
static void check_map(const berth_graph *g, const int32_t *map, const char *digits) {
  char text[17] = "";
  for (int32_t i = 0; i < berth_graph_ops(g); i++) text[i] = (char)('0' + map[i]);
  CHECK_TEXT(text, digits);
}
static berth_graph *check_fuse(const berth_graph *g, const berth_fuse_options *o,
                               const char *digits) {
  int32_t map[16];
  berth_graph *f = must_graph_fuse(g, o, map);
  check_map(g, map, digits);
  return f;
}
static berth_graph *check_chains(const berth_graph *g, const char *digits) {
  int32_t map[16];
  berth_graph *f = NULL;
  CHECK_OK(berth_graph_fuse_chains(g, NULL, &f, map));
  own_graph(&f);
  check_map(g, map, digits);
  return f;
}

TEST("a diamond with a short cut becomes one op, the short cut last") {
  /* a -> b -> d, a -> c -> d, a -> d: never a and d before the rest; in the end one op */
  berth_graph *f = check_fuse(letters(4, 0, "0>3:9 0>1:4 1>3:3 0>2:2 2>3:1"), NULL, "0000");
  berth_op op = must_graph_op(f, 0);
  CHECK_TEXT(op.name, "a..d (4)");
  CHECK_TEXT(op.kind, "k");
  CHECK(op.seconds[0] == 10 && op.param_bytes == 400 && op.workspace_bytes == 40);
  const int32_t *out;
  CHECK(berth_graph_outputs(f, 0, &out) == 1);
  berth_tensor t = must_graph_tensor(f, out[0]);
  CHECK(t.resident_bytes == 19 && t.bytes == 0);
}

TEST("limits: heaviest tensors first") {
  berth_graph *g = letters(4, BERTH_NONE, "0>1:1 1>2:8 2>3:2");
  berth_fuse_options o = all(2);
  check_fuse(g, &o, "0112");
  o.share.max_ops = 100;
  o.share.max_seconds = 7.5; /* b + c = 5, c + d = 7 alone, a + b + c = 6 */
  check_fuse(g, &o, "0001");
  o.share.max_seconds = INFINITY;
  o.share.param_multiple = 3;
  o.share.max_bytes = 3 * 200 + 8 + 2; /* b, c: 3 * 200 + 8 + 2 */
  check_fuse(g, &o, "0112");
  o.share.max_bytes -= 1;
  check_fuse(g, &o, "0011");
}

TEST("a fused op has the shape of its only op with FLOP or bytes") {
  berth_graph_builder *b = must_graph_builder_new();
  const berth_shape s = { .product = { .m = 2, .n = 3, .k = 5 } };
  for (int32_t k = 0; k < 4; k++) {
    berth_op op = berth_op_default();
    op.group = k / 2;
    op.flop = k % 2 ? 60 : 0;
    op.bytes = k == 2 ? 1 : 0;
    if (op.flop > 0) op.shape = &s;
    must_add_op(b, &op);
  }
  must_text(b, "0>1:1 2>3:1");
  berth_graph *f = check_fuse(must_graph(b), NULL, "0011");
  CHECK(must_graph_op(f, 0).shape->product.k == 5 && !must_graph_op(f, 1).shape);
}

TEST("the cheap check leaves pairs alone that the exact one takes") {
  /* a -> b, a -> c, d -> b: a has two consumers, b two producers, but there is no other path */
  berth_graph *g = letters(4, BERTH_NONE, "0>1:9 0>2:1 3>1:1");
  berth_fuse_options o = all(2);
  check_fuse(g, &o, "0012");
  o.check = BERTH_FUSE_CHEAP;
  check_fuse(g, &o, "0101");
  o.share.max_ops = INT32_MAX; /* a+c feeds b only, then */
  check_fuse(g, &o, "0000");
}

TEST("chains become one op") {
  /* a -> b -> c -> d, b -> e: a+b, then c+d; e alone */
  berth_graph *f = check_chains(letters(5, BERTH_NONE, "0>1:1 1>2:1 2>3:1 1>4:1"), "00112");
  CHECK_TEXT(must_graph_op(f, 0).name, "a+b");
}

/* f1 -> f2 and their backward twins b2 -> b1, joined: f2 -> b2. All in one group. */
TEST("twins are fused side by side") {
  berth_graph *g = must_graph_mirror(letters(2, 0, "0>1:4"), NULL);
  berth_fuse_options o = berth_fuse_default();
  o.share.max_ops = 2;
  berth_graph *f = check_fuse(g, &o, "0011");
  berth_op op = must_graph_op(f, 0);
  CHECK(op.twin == 1);
  CHECK_TEXT(op.name, "a+b");
  op = must_graph_op(f, 1);
  CHECK(op.twin == 0 && op.flags == BERTH_OP_BACKWARD);
  o.share.max_ops = 3; /* the other way: three of the four cannot be, if twins are to stay */
  check_fuse(g, &o, "0011");
  o.split_twins = 1;
  int32_t map[4];
  f = must_graph_fuse(g, &o, map);
  CHECK(berth_graph_ops(f) == 2 && must_graph_op(f, 0).name != NULL);
  op = must_graph_op(check_fuse(g, NULL, "0000"), 0);
  CHECK(op.twin == BERTH_NONE && op.flags == 0);
}

TEST("ops with times are not fused with such that have FLOP only; what takes no time goes with "
     "both") {
  berth_graph *g = must_graph_of_text("2 _f8 _ _f8 0>1:5 1>2:4 2>3:3"), *none = NULL;
  berth_fuse_options o = all(INT32_MAX);
  berth_op op = must_graph_op(check_fuse(g, &o, "0111"), 1);
  CHECK(!op.seconds && op.flop == 16);
  o.share.max_seconds = 3;
  CHECK_ERROR(berth_graph_fuse(g, &o, &none, NULL), BERTH_EINVAL,
              "fuse: option max_seconds: op 1 has no times in the graph: give option seconds");
}

TEST("no op that no type can run, none pinned to two devices") {
  const int32_t device_type[] = { 1, 1 };
  berth_graph *g = must_graph_of_text("#cpu #gpu 1,- -,1 1,1@0 1,1@1 0>1:1 1>2:1 2>3:1");
  berth_graph *none = NULL;
  berth_fuse_options o = all(INT32_MAX);
  check_fuse(g, &o, "0112");
  o.share.n_devices = 2;
  o.share.device_type = device_type; /* no cpu: what only it runs stays alone */
  check_fuse(g, &o, "0112");
  o.share.n_devices = 1;
  CHECK_ERROR(berth_graph_fuse(g, &o, &none, NULL), BERTH_EINVAL,
              "fuse: op 3 is pinned to device 1, there are 1");
}

/* a (pin 0) -> b (group), c (pin 1) -> d (same group): one of them may join the group, or it would
 * be pinned to two devices. */
TEST("what joins an op of a group goes where all of the group can") {
  berth_graph *g = must_graph_of_text("1@0 1g5 1@1 1g5 0>1:1 2>3:3");
  berth_fuse_options o = all(INT32_MAX);
  check_fuse(g, &o, "0122");
  CHECK(berth_graph_ops(check_chains(g, "0122")) == 3);
}

/* ---- on random graphs ---- */

static int may_share(const berth_graph *f, int32_t a, int32_t b, berth_fuse_scope scope) {
  berth_op x = must_graph_op(f, a);
  berth_op y = must_graph_op(f, b);
  if (scope == BERTH_FUSE_GROUPS && (x.group == BERTH_NONE || x.group != y.group)) return 0;
  if (x.group != BERTH_NONE && y.group != BERTH_NONE && x.group != y.group) return 0;
  if (berth_graph_types(f) == 1) return 1;
  /* FLOP let an op run where the graph names no type: those with and without are priced
   * differently */
  if ((x.flop > 0) != (y.flop > 0)) return 0;
  return (!isinf(x.seconds[0]) && !isinf(y.seconds[0]))
         || (!isinf(x.seconds[1]) && !isinf(y.seconds[1])) || (x.flop > 0 && y.flop > 0);
}

/* Nothing that could be contracted is left. */
static void check_complete(const berth_graph *f, const matrix *m, const berth_fuse_options *o) {
  int32_t left = 0;
  for (int32_t a = 0; a < m->ops; a++) {
    for (int32_t b = 0; b < m->ops; b++) {
      if (a != b && *cell(m, m->edge, a, b) && may_share(f, a, b, o->scope) && !has_detour(m, a, b))
        left++;
    }
  }
  CHECK(left == 0);
}

static int several(const matrix *m, int32_t x, int ahead, int32_t except) {
  for (int32_t k = 0; k < m->n; k++) {
    if (k != except && *(ahead ? cell(m, m->edge, x, k) : cell(m, m->edge, k, x))) return 1;
  }
  return 0;
}

static void check_cheap_complete(const berth_graph *f, const matrix *m, const berth_fuse_options *o,
                                 int chains) {
  int32_t left = 0;
  for (int32_t a = 0; a < m->ops; a++) {
    for (int32_t b = 0; b < m->ops; b++) {
      if (a == b || !*cell(m, m->edge, a, b) || !may_share(f, a, b, o->scope)) continue;
      if (chains) left += !several(m, a, 1, b) && !several(m, b, 0, a);
      else left += !several(m, a, 1, b) || !several(m, b, 0, a);
    }
  }
  CHECK(left == 0);
}

static void check_contraction(const berth_graph *g, const berth_fuse_options *o, int chains,
                              berth_rng *rng) {
  berth_graph *f = NULL;
  int32_t ops = berth_graph_ops(g), *map = must_have((size_t)ops, sizeof *map);
  CHECK_OK((chains ? berth_graph_fuse_chains : berth_graph_fuse)(g, o, &f, map));
  matrix m = new_matrix(f);
  CHECK(!is_cyclic(&m));
  check_numbering(map, ops, berth_graph_ops(f));
  check_sums(g, f, map);
  check_cuts(g, f, map, rng);
  if (o->inner == BERTH_INNER_KEEP) CHECK_NEAR(all_resident(f), all_resident(g), 1e-9);
  if (chains || o->check == BERTH_FUSE_CHEAP) check_cheap_complete(f, &m, o, chains);
  else check_complete(f, &m, o);
  free_matrix(&m);
  RELEASE(f);
  free(map);
}

TEST("random graphs: no cycle, nothing lost, cuts the same, nothing left that may be contracted") {
  berth_rng rng = seeded(5, 0);
  for (int32_t k = 0; k < 700; k++) { /* dense and small, then thin and wide: there an order that is
                                         not kept up to date makes cycles */
    recipe r = { .ops = 2 + berth_rng_below(&rng, k < 400 ? 40 : 90),
                 .groups = berth_rng_below(&rng, 4),
                 .types = 1 + k % 2,
                 .collectives = berth_rng_below(&rng, 3),
                 .reach = k < 400 ? 12 : 60 };
    r.density =
        k < 400 ? 0.02 + 0.3 * berth_rng_uniform(&rng) : 0.005 + 0.03 * berth_rng_uniform(&rng);
    berth_graph *g = random_transformable(&rng, &r);
    berth_fuse_options o = berth_fuse_default();
    o.scope = berth_rng_below(&rng, 2) ? BERTH_FUSE_ALL : BERTH_FUSE_GROUPS;
    o.inner = berth_rng_below(&rng, 2) ? BERTH_INNER_DROP : BERTH_INNER_KEEP;
    check_contraction(g, &o, 0, &rng);
    o.check = BERTH_FUSE_CHEAP;
    check_contraction(g, &o, 0, &rng);
    o.scope = BERTH_FUSE_ALL;
    check_contraction(g, &o, 1, &rng);
    RELEASE(g);
  }
}

/* Each twin's set has the twins of one set only. */
static void check_twins(const berth_graph *g, const berth_graph *f, const int32_t *map) {
  berth_op x, y;
  for (int32_t v = 0; v < berth_graph_ops(g); v++) {
    berth_graph_op(g, v, &x);
    if (x.twin == BERTH_NONE || map[x.twin] == map[v]) continue;
    berth_graph_op(f, map[v], &y);
    CHECK(y.twin == map[x.twin]);
  }
}

TEST("random graphs with twins: all twins of a fused op are in one fused op") {
  int32_t fused = 0;
  berth_rng rng = seeded(6, 0);
  for (int32_t k = 0; k < 200; k++) {
    recipe r = { .ops = 2 + berth_rng_below(&rng, 24), .groups = 2, .types = 1, .twins = 1,
                 .density = 0.02 + 0.2 * berth_rng_uniform(&rng), .reach = 12 };
    recipe plain = {
      .ops = 2 + berth_rng_below(&rng, 12), .groups = 2, .types = 1, .density = 0.3, .reach = 6
    };
    berth_graph *g, *f = NULL, *forward;
    berth_fuse_options o = berth_fuse_default();
    if (k % 2) {
      g = random_transformable(&rng, &r);
    } else {
      forward = random_transformable(&rng, &plain);
      g = must_graph_mirror(forward, NULL);
      RELEASE(forward);
    }
    o.scope = BERTH_FUSE_ALL;
    o.share.max_ops = 2 + berth_rng_below(&rng, 6);
    int32_t map[64];
    f = must_graph_fuse(g, &o, map);
    matrix m = new_matrix(f);
    CHECK(!is_cyclic(&m));
    check_twins(g, f, map);
    check_cuts(g, f, map, &rng);
    fused += berth_graph_ops(g) - berth_graph_ops(f);
    free_matrix(&m);
    RELEASE(f, g);
  }
  CHECK(fused > 400);
}

/* ---- bad input, refused allocations ---- */

TEST("bad options are named, and nothing is given") {
  static const double times[] = { 1, -2 };
  berth_graph *g = letters(2, BERTH_NONE, "0>1:1"), *f = NULL;
  berth_fuse_options o;
#define BAD(set, text) \
  o = berth_fuse_default(), set; \
  CHECK_SAYS(berth_graph_fuse(g, &o, &f, NULL), BERTH_EINVAL, text)
  BAD(o.share.max_ops = 0, "option max_ops is 0 (a finite number from 1)");
  BAD(o.share.max_bytes = NAN, "option max_bytes is nan (a number from 0)");
  CHECK_SAYS(berth_graph_fuse_chains(g, &o, &f, NULL), BERTH_EINVAL, "option max_bytes is nan");
  BAD(o.share.param_multiple = INFINITY, "param_multiple");
  BAD(o.share.seconds = times, "fuse: option seconds: op 1 \"b\": -2 s is no time");
  BAD(o.check = (berth_fuse_check)7, "check");
  CHECK(f == NULL);
}

static berth_status fuse_all(void) {
  berth_graph *g = NULL, *m = NULL, *f = NULL, *c = NULL;
  berth_fuse_options o = berth_fuse_default();
  berth_status st = graph_of_text("1g5 1g5 1g5 1g5 1g5 1g5 0>1:1 1>2:2 0>2:9 2>3:3 1>3:9 3>4:4 "
                                  "2>4:9 4>5:5 3>5:9", &g);
  o.share.max_ops = 3;
  o.share.max_seconds = 100;
  o.share.max_bytes = 1e9;
  TRY(st, berth_graph_mirror(g, NULL, &m, NULL));
  int32_t map[12];
  TRY(st, berth_graph_fuse(m, &o, &f, map));
  TRY(st, berth_graph_fuse_chains(g, &o, &c, map));
  RELEASE(c, f, m, g);
  return st;
}

TEST_REFUSALS(fuse_all)
