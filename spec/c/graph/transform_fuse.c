/* Fusion and chains: by hand, and on random graphs against matrices of paths. */
#include "refusals.h"
#include "transform_help.h"

static berth_ctx *ctx;

/* ---- by hand ---- */

typedef struct edge {
  int32_t src, dst;
  double bytes;
} edge;

/* n ops a, b, c, ... of 1, 2, 3, ... s in one group. */
static berth_graph *letters(int32_t n, int32_t n_edges, const edge *edges, int32_t group) {
  berth_graph_builder *b = must_graph_builder_new(ctx);
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
    CHECK_STATUS(berth_graph_builder_add_op(b, &op, NULL), BERTH_OK);
  }
  for (int32_t k = 0; k < n_edges; k++) {
    CHECK_STATUS(berth_graph_builder_connect(b, edges[k].src, edges[k].dst, edges[k].bytes, NULL),
                 BERTH_OK);
  }
  return must_graph(b);
}

static void fuses_a_diamond(void) {
  /* a -> b -> d, a -> c -> d, a -> d: never a and d before the rest; in the end one op */
  static const edge edges[] = { { 0, 3, 9 }, { 0, 1, 4 }, { 1, 3, 3 }, { 0, 2, 2 }, { 2, 3, 1 } };
  berth_graph *g = letters(4, 5, edges, 0), *f = NULL;
  TEST("a diamond with a short cut becomes one op, the short cut last");
  int32_t map[4];
  CHECK_STATUS(berth_graph_fuse(g, NULL, &f, map), BERTH_OK);
  CHECK(berth_graph_ops(f) == 1 && map[0] == 0 && map[3] == 0);
  berth_op op = must_graph_op(f, 0);
  CHECK_TEXT(op.name, "a..d (4)");
  CHECK_TEXT(op.kind, "k");
  CHECK_NEAR(op.seconds[0], 10, 0);
  CHECK_NEAR(op.param_bytes, 400, 0);
  CHECK_NEAR(op.workspace_bytes, 40, 0);
  const int32_t *out;
  int32_t n = berth_graph_outputs(f, 0, &out);
  berth_tensor t;
  CHECK(n == 1 && berth_graph_tensor(f, out[0], &t) == BERTH_OK);
  CHECK_NEAR(t.resident_bytes, 19, 0);
  CHECK_NEAR(t.bytes, 0, 0);
  RELEASE(f, g);
}

/* @param digits the fused op of each op */
static void check_fuse(const berth_graph *g, const berth_fuse_options *o, const char *digits) {
  berth_graph *f = NULL;
  int32_t map[16];
  char text[17] = "";
  CHECK_STATUS(berth_graph_fuse(g, o, &f, map), BERTH_OK);
  for (int32_t i = 0; i < berth_graph_ops(g); i++) text[i] = (char)('0' + map[i]);
  CHECK_TEXT(text, digits);
  berth_graph_release(f);
}

static void stops_at_limits(void) {
  static const edge edges[] = { { 0, 1, 1 }, { 1, 2, 8 }, { 2, 3, 2 } };
  berth_graph *g = letters(4, 3, edges, BERTH_NONE);
  berth_fuse_options o = berth_fuse_default();
  TEST("limits: heaviest tensors first");
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = 2;
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
  berth_graph_release(g);
}

static void cheap_leaves_what_exact_takes(void) {
  /* a -> b, a -> c, d -> b: a has two consumers, b two producers, but there is no other path */
  static const edge edges[] = { { 0, 1, 9 }, { 0, 2, 1 }, { 3, 1, 1 } };
  berth_graph *g = letters(4, 3, edges, BERTH_NONE);
  berth_fuse_options o = berth_fuse_default();
  TEST("the cheap check leaves pairs alone that the exact one takes");
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = 2;
  check_fuse(g, &o, "0012");
  o.check = BERTH_FUSE_CHEAP;
  check_fuse(g, &o, "0101");
  o.share.max_ops = INT32_MAX; /* a+c feeds b only, then */
  check_fuse(g, &o, "0000");
  berth_graph_release(g);
}

static void contracts_chains(void) {
  /* a -> b -> c -> d, b -> e: a+b, then c+d; e alone */
  static const edge edges[] = { { 0, 1, 1 }, { 1, 2, 1 }, { 2, 3, 1 }, { 1, 4, 1 } };
  berth_graph *g = letters(5, 4, edges, BERTH_NONE), *f = NULL;
  TEST("chains become one op");
  int32_t map[5];
  CHECK_STATUS(berth_graph_fuse_chains(g, NULL, &f, map), BERTH_OK);
  CHECK(map[0] == 0 && map[1] == 0 && map[2] == 1 && map[3] == 1 && map[4] == 2);
  berth_op op = must_graph_op(f, 0);
  CHECK_TEXT(op.name, "a+b");
  RELEASE(f, g);
}

/* f1 -> f2 and their backward twins b2 -> b1, joined: f2 -> b2. All in one group. */
static berth_graph *mirrored(void) {
  static const edge edges[] = { { 0, 1, 4 } };
  berth_graph *g = letters(2, 1, edges, 0), *m = NULL;
  CHECK_STATUS(berth_graph_mirror(g, NULL, &m, NULL), BERTH_OK);
  berth_graph_release(g);
  return m;
}

static void fuses_twins_side_by_side(void) {
  berth_graph *g = mirrored(), *f = NULL;
  berth_fuse_options o = berth_fuse_default();
  TEST("twins are fused side by side");
  o.share.max_ops = 2;
  int32_t map[4];
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  CHECK(berth_graph_ops(f) == 2 && map[0] == map[1] && map[2] == map[3]);
  berth_op op = must_graph_op(f, 0);
  CHECK(op.twin == 1);
  CHECK_TEXT(op.name, "a+b");
  berth_graph_op(f, 1, &op);
  CHECK(op.twin == 0 && op.flags == BERTH_OP_BACKWARD);
  berth_graph_release(f);
  o.share.max_ops = 3; /* the other way: three of the four cannot be, if twins are to stay */
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  CHECK(berth_graph_ops(f) == 2);
  berth_graph_release(f);
  o.split_twins = 1;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  berth_graph_op(f, 0, &op);
  CHECK(berth_graph_ops(f) == 2 && op.name != NULL);
  berth_graph_release(f);
  CHECK_STATUS(berth_graph_fuse(g, NULL, &f, map), BERTH_OK);
  CHECK(berth_graph_ops(f) == 1);
  berth_graph_op(f, 0, &op);
  CHECK(op.twin == BERTH_NONE && op.flags == 0);
  RELEASE(f, g);
}

static void keeps_ways_of_pricing_apart(void) {
  berth_graph *g = NULL, *f = NULL;
  berth_fuse_options o = berth_fuse_default();
  berth_op timed = berth_op_default(), rated = berth_op_default(), idle = berth_op_default();
  double seconds = 2;
  TEST("ops with times are not fused with such that have FLOP only; what takes no time goes with "
       "both");
  timed.seconds = &seconds;
  rated.flop = 8;
  berth_graph_builder *b = must_graph_builder_new(ctx);
  berth_graph_builder_add_op(b, &timed, NULL);
  berth_graph_builder_add_op(b, &rated, NULL);
  berth_graph_builder_add_op(b, &idle, NULL);
  berth_graph_builder_add_op(b, &rated, NULL);
  berth_graph_builder_connect(b, 0, 1, 5, NULL);
  berth_graph_builder_connect(b, 1, 2, 4, NULL);
  berth_graph_builder_connect(b, 2, 3, 3, NULL);
  CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_OK);
  o.scope = BERTH_FUSE_ALL;
  int32_t map[4];
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  CHECK(map[0] == 0 && map[1] == 1 && map[2] == 1 && map[3] == 1);
  berth_op op = must_graph_op(f, 1);
  CHECK(!op.seconds && op.flop == 16);
  berth_graph_release(f);
  o.share.max_seconds = 3;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx),
             "fuse: option max_seconds: op 1 has no times in the graph: give option seconds");
  RELEASE(g, b);
}

static void keeps_pins_and_types_apart(void) {
  static const char *const types[] = { "cpu", "gpu" };
  const double cpu_only[] = { 1, BERTH_UNSUPPORTED }, gpu_only[] = { BERTH_UNSUPPORTED, 1 },
               both[] = { 1, 1 };
  const double *const profile[] = { cpu_only, gpu_only, both, both };
  const int32_t device_type[] = { 1, 1 };
  berth_graph *g = NULL, *f = NULL;
  berth_fuse_options o = berth_fuse_default();
  TEST("no op that no type can run, none pinned to two devices");
  berth_graph_builder *b = must_graph_builder_new(ctx);
  berth_graph_builder_types(b, 2, types);
  for (int32_t k = 0; k < 4; k++) {
    berth_op op = berth_op_default();
    op.seconds = profile[k];
    op.pin = k >= 2 ? k - 2 : BERTH_NONE;
    berth_graph_builder_add_op(b, &op, NULL);
    if (k > 0) berth_graph_builder_connect(b, k - 1, k, 1, NULL);
  }
  CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_OK);
  o.scope = BERTH_FUSE_ALL;
  int32_t map[4];
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  CHECK(map[0] == 0 && map[1] == 1 && map[2] == 1 && map[3] == 2);
  berth_graph_release(f);
  o.share.n_devices = 2;
  o.share.device_type = device_type; /* no cpu: what only it runs stays alone */
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  CHECK(map[0] == 0 && map[1] == 1 && map[2] == 1 && map[3] == 2);
  o.share.n_devices = 1;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "fuse: op 3 is pinned to device 1, there are 1");
  RELEASE(f, g, b);
}

/* a (pin 0) -> b (group), c (pin 1) -> d (same group): one of them may join the group, or it would
 * be pinned to two devices. */
static void keeps_groups_together(void) {
  static const int32_t pin[] = { 0, BERTH_NONE, 1, BERTH_NONE };
  berth_graph *g = NULL, *f = NULL;
  berth_fuse_options o = berth_fuse_default();
  TEST("what joins an op of a group goes where all of the group can");
  berth_graph_builder *b = must_graph_builder_new(ctx);
  for (int32_t k = 0; k < 4; k++) {
    const double second = 1;
    berth_op op = berth_op_default();
    op.seconds = &second;
    op.pin = pin[k];
    op.group = k % 2 ? 5 : BERTH_NONE;
    berth_graph_builder_add_op(b, &op, NULL);
    if (k % 2) berth_graph_builder_connect(b, k - 1, k, k, NULL);
  }
  CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_OK);
  o.scope = BERTH_FUSE_ALL;
  int32_t map[4];
  if (CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK))
    CHECK(map[0] == 0 && map[1] == 1 && map[2] == 2 && map[3] == 2);
  berth_graph_release(f);
  f = NULL;
  if (CHECK_STATUS(berth_graph_fuse_chains(g, NULL, &f, map), BERTH_OK))
    CHECK(berth_graph_ops(f) == 3);
  RELEASE(f, g, b);
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
  if (!CHECK_STATUS(chains ? berth_graph_fuse_chains(g, o, &f, map)
                           : berth_graph_fuse(g, o, &f, map),
                    BERTH_OK)) {
    printf("# %s\n", berth_errmsg(ctx));
    free(map);
    return;
  }
  matrix m = new_matrix(f);
  CHECK(!is_cyclic(&m));
  check_numbering(map, ops, berth_graph_ops(f));
  check_sums(g, f, map);
  check_cuts(g, f, map, rng);
  if (o->inner == BERTH_INNER_KEEP) CHECK_NEAR(all_resident(f), all_resident(g), 1e-9);
  if (chains || o->check == BERTH_FUSE_CHEAP) check_cheap_complete(f, &m, o, chains);
  else check_complete(f, &m, o);
  free_matrix(&m);
  berth_graph_release(f);
  free(map);
}

static void random_fusions(void) {
  TEST("random graphs: no cycle, nothing lost, cuts the same, nothing left that may be contracted");
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
    berth_graph *g = random_transformable(ctx, &rng, &r);
    berth_fuse_options o = berth_fuse_default();
    o.scope = berth_rng_below(&rng, 2) ? BERTH_FUSE_ALL : BERTH_FUSE_GROUPS;
    o.inner = berth_rng_below(&rng, 2) ? BERTH_INNER_DROP : BERTH_INNER_KEEP;
    check_contraction(g, &o, 0, &rng);
    o.check = BERTH_FUSE_CHEAP;
    check_contraction(g, &o, 0, &rng);
    o.scope = BERTH_FUSE_ALL;
    check_contraction(g, &o, 1, &rng);
    berth_graph_release(g);
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

static void random_twins(void) {
  int32_t fused = 0;
  TEST("random graphs with twins: all twins of a fused op are in one fused op");
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
      g = random_transformable(ctx, &rng, &r);
    } else {
      forward = random_transformable(ctx, &rng, &plain);
      CHECK_STATUS(berth_graph_mirror(forward, NULL, &g, NULL), BERTH_OK);
      berth_graph_release(forward);
    }
    o.scope = BERTH_FUSE_ALL;
    o.share.max_ops = 2 + berth_rng_below(&rng, 6);
    int32_t map[64];
    CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
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

static void refuses_bad_options(void) {
  static const edge edges[] = { { 0, 1, 1 } };
  static const double times[] = { 1, -2 };
  berth_graph *g = letters(2, 1, edges, BERTH_NONE), *f = NULL;
  berth_fuse_options o = berth_fuse_default();
  TEST("bad options are named, and nothing is given");
  o.share.max_ops = 0;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, NULL), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "option max_ops is 0 (a finite number from 1)");
  o = berth_fuse_default();
  o.share.max_bytes = NAN;
  CHECK_STATUS(berth_graph_fuse_chains(g, &o, &f, NULL), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "option max_bytes is nan (a number from 0)");
  o = berth_fuse_default();
  o.share.param_multiple = INFINITY;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, NULL), BERTH_EINVAL);
  o = berth_fuse_default();
  o.share.seconds = times;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, NULL), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "fuse: option seconds: op 1 \"b\": -2 s is no time");
  o = berth_fuse_default();
  o.check = (berth_fuse_check)7;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, NULL), BERTH_EINVAL);
  CHECK(f == NULL);
  berth_graph_release(g);
}

static berth_status fuse_all(berth_ctx *other) {
  berth_graph_builder *b = NULL;
  berth_graph *g = NULL, *m = NULL, *f = NULL, *c = NULL;
  berth_fuse_options o = berth_fuse_default();
  berth_op op = berth_op_default();
  double seconds = 1;
  berth_status st = berth_graph_builder_new(other, &b);
  op.seconds = &seconds;
  op.name = "x";
  op.group = 5;
  for (int32_t k = 0; k < 6 && st == BERTH_OK; k++) {
    st = berth_graph_builder_add_op(b, &op, NULL);
    if (st == BERTH_OK && k > 0) st = berth_graph_builder_connect(b, k - 1, k, k, NULL);
    if (st == BERTH_OK && k > 1) st = berth_graph_builder_connect(b, k - 2, k, 9, NULL);
  }
  o.share.max_ops = 3;
  o.share.max_seconds = 100;
  o.share.max_bytes = 1e9;
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, &g);
  if (st == BERTH_OK) st = berth_graph_mirror(g, NULL, &m, NULL);
  int32_t map[12];
  if (st == BERTH_OK) st = berth_graph_fuse(m, &o, &f, map);
  if (st == BERTH_OK) st = berth_graph_fuse_chains(g, &o, &c, map);
  RELEASE(c, f, m, g, b);
  return st;
}

int main(void) {
  CHECK_STATUS(berth_ctx_new(NULL, &ctx), BERTH_OK);
  fuses_a_diamond();
  stops_at_limits();
  cheap_leaves_what_exact_takes();
  contracts_chains();
  fuses_twins_side_by_side();
  keeps_ways_of_pricing_apart();
  keeps_pins_and_types_apart();
  keeps_groups_together();
  random_fusions();
  random_twins();
  refuses_bad_options();
  berth_ctx_release(ctx);
  check_refusals(fuse_all);
  return check_done();
}
