/* Colocation by names, co-placement, forward ops: by hand, and on random graphs against plain
 * references. */
#include "refusals.h"
#include "transform_help.h"

static int32_t group_of(const berth_graph *g, int32_t op) {
  berth_op x;
  return berth_graph_op(g, op, &x) == BERTH_OK ? x.group : -9;
}

/* @param text the group of each op, - for none */
static void check_groups(const berth_graph *g, const char *text) {
  char got[17] = "";
  for (int32_t i = 0; i < berth_graph_ops(g); i++)
    got[i] = group_of(g, i) == BERTH_NONE ? '-' : (char)('0' + group_of(g, i));
  CHECK_TEXT(got, text);
}

/* ---- colocation ---- */

static berth_graph *colocated(const berth_graph *g, int32_t n, const int32_t *op,
                              const char *const *name, int32_t *same) {
  berth_graph *f = NULL;
  CHECK_OK(berth_graph_colocate(g, n, op, name, &f, same));
  own_graph(&f);
  return f;
}

TEST("names that appear together are one group, with those that are there") {
  static const int32_t op[] = { 0, 1, 1, 2, 5, 3 };
  static const char *const name[] = { "loc:/a", "loc:/a", "zz", "zz", "alone", "alone too" };
  int32_t same[6];
  berth_graph *g = must_graph_of_text("1 1 1g2000000000 1 1g2000000000 1 1g7");
  berth_graph *f = colocated(g, 6, op, name, same);
  check_groups(f, "000-0--");
  CHECK(berth_graph_groups(f) == 1);
  CHECK_TEXT(name[same[0]], "zz");
  CHECK_TEXT(name[same[3]], "zz");
  CHECK_TEXT(name[same[4]], "alone");
}

TEST("the shortest name stands for a group, then the lexically smallest") {
  static const int32_t op[] = { 0, 0, 0, 1 };
  static const char *const name[] = { "abc", "bb", "ba", "abc" };
  berth_graph *g = must_graph_of_text("1 1");
  int32_t same[4];
  colocated(g, 4, op, name, same);
  for (int32_t k = 0; k < 4; k++) CHECK_TEXT(name[same[k]], "ba");
  CHECK(berth_graph_groups(colocated(g, 0, NULL, NULL, NULL)) == 0);
}

TEST("names that bind ops to different devices, unknown ops, empty names are refused") {
  static const int32_t op[] = { 0, 1, 2 }, wrong[] = { 0, 3 };
  static const char *const name[] = { "x", "x", "x" }, *const empty[] = { "x", "" };
  berth_graph *g = must_graph_of_text("1@0 1 1@1"), *f = NULL;
  CHECK_ERROR(berth_graph_colocate(g, 3, op, name, &f, NULL), BERTH_EINVAL,
              "colocate: op 0 and op 2 must share a device, but one is bound to device 0, the "
              "other to device 1");
  CHECK_ERROR(berth_graph_colocate(g, 2, wrong, name, &f, NULL), BERTH_EINVAL,
              "colocate: pair 1: op 3 does not exist (there are 3)");
  CHECK_STATUS(berth_graph_colocate(g, 2, op, empty, &f, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_graph_colocate(g, -1, op, name, &f, NULL), BERTH_EINVAL);
  CHECK(f == NULL);
}

TEST("names that no type of device can keep together are refused") {
  static const char *const name[] = { "x", "x" };
  static const int32_t op[] = { 0, 1 };
  berth_graph *f = NULL;
  CHECK_SAYS(berth_graph_colocate(must_graph_of_text("#cpu #gpu 1,- -,1"), 2, op, name, &f, NULL),
             BERTH_EINFEASIBLE, "op 0 and op 1 must share a device, but no type");
}

/* ---- co-placement ---- */

static void check_coplace(const berth_graph *g, const berth_coplace_options *o, const char *groups,
                          int32_t want) {
  berth_graph *f = NULL;
  int32_t joined;
  CHECK_OK(berth_graph_coplace(g, o, &f, &joined));
  own_graph(&f);
  check_groups(f, groups);
  CHECK(joined == want);
}

/* a -9-> b -8-> c, d -7-> c, e -0-> c and e -0-> b: all but c and e have one consumer. */
TEST("ops with one consumer join it, most bytes first, within limits") {
  berth_graph *g =
      must_graph_of_text("1p10 2p10 3p10 4p10 5p10 0>1:5 0>1:4 1>2:8 3>2:7 4>2:0 4>1:6");
  berth_coplace_options o = berth_coplace_default();
  check_coplace(g, NULL, "0000-", 3);
  o.control = 0; /* e's edge of no bytes is not seen: it has one consumer */
  check_coplace(g, &o, "00000", 4);
  o = berth_coplace_default();
  o.share.max_ops = 2; /* a, b: 9 bytes; c, d: 7, since b is full */
  check_coplace(g, &o, "0011-", 2);
  o = berth_coplace_default();
  o.share.max_seconds = 4; /* a + b = 3; b + c = 5; d + c = 7 */
  check_coplace(g, &o, "00---", 1);
  o = berth_coplace_default();
  o.share.param_multiple = 2;
  o.share.max_bytes = 56; /* a + b: 40 + 9 + 8 is more; then b + c: 40 + 8; d has no room left */
  check_coplace(g, &o, "-00--", 1);
}

/* Plain reference: ops' sets as labels, joined to a fixpoint. */
static void label_sets(const berth_graph *g, int control, int32_t *label) {
  int32_t ops = berth_graph_ops(g), changed = 1;
  for (int32_t v = 0; v < ops; v++) {
    label[v] = v;
    for (int32_t k = 0; k < v; k++) {
      if (group_of(g, v) != BERTH_NONE && group_of(g, k) == group_of(g, v)) label[v] = label[k];
    }
  }
  const int32_t *out, *to;
  while (changed) {
    changed = 0;
    for (int32_t v = 0; v < ops; v++) {
      int32_t only = BERTH_NONE, several = 0;
      int32_t n = berth_graph_outputs(g, v, &out);
      for (int32_t i = 0; i < n; i++) {
        berth_tensor t = must_graph_tensor(g, out[i]);
        int32_t m = berth_graph_consumers(g, out[i], &to);
        for (int32_t j = 0; j < m && (control || t.bytes > 0); j++) {
          several |= only != BERTH_NONE && only != to[j];
          only = to[j];
        }
      }
      if (only == BERTH_NONE || several || label[v] == label[only]) continue;
      int32_t from = label[v], into = label[only];
      for (int32_t k = 0; k < ops; k++) label[k] = label[k] == from ? into : label[k];
      changed = 1;
    }
  }
}

TEST("random graphs: co-placement is the published fixpoint, all else as it was") {
  berth_rng rng = seeded(8, 0);
  int32_t label[40];
  for (int32_t k = 0; k < 150; k++) {
    recipe r = { .ops = 2 + berth_rng_below(&rng, 30),
                 .groups = berth_rng_below(&rng, 3),
                 .types = 1,
                 .density = 0.02 + 0.2 * berth_rng_uniform(&rng),
                 .reach = 10 };
    berth_graph *g = random_transformable(&rng, &r), *f = NULL;
    berth_coplace_options o = berth_coplace_default();
    o.control = k % 2;
    CHECK_OK(berth_graph_coplace(g, &o, &f, NULL));
    label_sets(g, o.control, label);
    for (int32_t a = 0; a < r.ops; a++) {
      for (int32_t b = 0; b < a; b++) {
        int together = group_of(f, a) != BERTH_NONE && group_of(f, a) == group_of(f, b);
        CHECK(together == (label[a] == label[b]));
      }
    }
    matrix m = new_matrix(g);
    matrix n = new_matrix(f);
    CHECK(memcmp(m.edge, n.edge, (size_t)m.n * (size_t)m.n) == 0
          && berth_graph_tensors(g) == berth_graph_tensors(f));
    for (int32_t a = 0; a < r.ops; a++) { /* inputs keep their order */
      const int32_t *x, *y;
      int32_t p = berth_graph_inputs(g, a, &x), q = berth_graph_inputs(f, a, &y);
      CHECK(p == q && (p == 0 || memcmp(x, y, (size_t)p * sizeof *x) == 0));
    }
    free_matrix(&m);
    free_matrix(&n);
    RELEASE(f, g);
  }
}

/* ---- forward ---- */

/* x -> f1 -> f2 -> b2 -> b1 (twins), updates u1 of f1 by b1 and u2 of f2 by b2, a summary that
 * reads u1, a learning rate. */
enum { X, F1, F2, B2, B1, U1, U2, SUM, RATE, N_OPS };

static berth_graph *training(int32_t pin_of_u2, int32_t group_of_u1_and_u2) {
  static const char *const name[] = { "x", "f1", "f2", "b2", "b1", "u1", "u2", "sum", "rate" };
  static const int32_t twin[] = { -1, B1, B2, F2, F1, -1, -1, -1, -1 };
  static const uint32_t flags[] = { 0, 0, 0, 1, 1, 2, 2, 0, 2 };
  static const double param[] = { 0, 100, 40, 0, 0, 200, 80, 0, 0 },
                      workspace[] = { 0, 5, 5, 0, 0, 0, 0, 0, 0 };
  double seconds = 1;
  berth_graph_builder *b = must_graph_builder_new();
  for (size_t k = 0; k < N_OPS; k++) {
    berth_op op = berth_op_default();
    op.name = name[k];
    op.seconds = &seconds;
    op.twin = twin[k];
    op.flags = flags[k];
    op.param_bytes = param[k];
    op.workspace_bytes = workspace[k];
    op.pin = k == U2 ? pin_of_u2 : BERTH_NONE;
    op.group = k == U1 || k == U2 ? group_of_u1_and_u2 : BERTH_NONE;
    must_add_op(b, &op);
  }
  must_text(b, "0>1:8 1>2:16 2>3:4 1>3:16 3>4:16 4>5:50 3>6:20 5>7:1 8>6:0");
  return must_graph(b);
}

TEST("forward ops, and where the others go") {
  static const int32_t expected[] = { 0, 1, 2, 2, 1, 1, 2, 1, 2 };
  berth_graph *g = training(BERTH_NONE, BERTH_NONE);
  berth_forward_options o = berth_forward_default();
  int32_t map[N_OPS];
  berth_graph *f = must_graph_forward(g, NULL, map);
  CHECK(berth_graph_ops(f) == 3 && memcmp(map, expected, sizeof map) == 0);
  CHECK(berth_graph_tensors(f) == 4 && berth_graph_edges(f) == 2);
  const int32_t *to;
  CHECK(berth_graph_consumers(f, 1, &to) == 1 && to[0] == 2);
  berth_op op = must_graph_op(f, 1);
  CHECK_TEXT(op.name, "f1");
  CHECK(op.twin == BERTH_NONE);
  CHECK_NEAR(op.param_bytes, 300, 0);
  CHECK_NEAR(op.workspace_bytes, 66, 0); /* b1: writes 50, reads 16 from b2 */
  op = must_graph_op(f, 2);
  CHECK_NEAR(op.param_bytes, 120, 0);
  CHECK_NEAR(op.workspace_bytes, 36, 0); /* b2: 16 + 20 */
  o.memory = BERTH_FORWARD_ONLY;
  o.memory_fraction = 0.5;
  f = must_graph_forward(g, &o, map);
  op = must_graph_op(f, 1);
  CHECK_NEAR(op.param_bytes, 200, 0);
  CHECK_NEAR(op.workspace_bytes, 10, 0);
}

TEST("an update goes with the op of most parameter bytes that it reads") {
  int32_t map[3];
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t k = 0; k < 3; k++) {
    berth_op op = berth_op_default();
    op.param_bytes = (double[]){ 8, 4, 0 }[k];
    op.flags = k == 2 ? BERTH_OP_UPDATE : 0;
    must_add_op(b, &op);
  }
  must_text(b, "0>2:1 1>2:9");
  must_graph_forward(must_graph(b), NULL, map);
  CHECK(map[2] == 0);
}

TEST("pins and groups of what is left out hold for what it goes with") {
  int32_t map[N_OPS];
  berth_graph *f = must_graph_forward(training(1, 4), NULL, map);
  berth_op one = must_graph_op(f, 1);
  berth_op two = must_graph_op(f, 2);
  CHECK(one.group == 0 && two.group == 0 && one.pin == 1 && two.pin == 1);
}

TEST("forward: bad options, nothing forward, collectives across") {
  berth_graph *g = training(BERTH_NONE, BERTH_NONE), *f = NULL;
  berth_forward_options o = berth_forward_default();
  berth_op op = berth_op_default();
  int32_t members[] = { 0, 1 };
  berth_collective c = { .kind = BERTH_ALLREDUCE, .count = 1, .n_members = 2, .members = members };
  o.memory_fraction = 0;
  CHECK_ERROR(berth_graph_forward(g, &o, &f, NULL), BERTH_EINVAL,
              "option memory_fraction is 0 (above 0 to 1)");
  o.memory_fraction = NAN;
  CHECK_STATUS(berth_graph_forward(g, &o, &f, NULL), BERTH_EINVAL);
  berth_graph_builder *b = must_graph_builder_new();
  op.flags = BERTH_OP_BACKWARD;
  berth_graph_builder_add_op(b, &op, NULL);
  g = must_graph_builder_finish(b);
  CHECK_ERROR(berth_graph_forward(g, NULL, &f, NULL), BERTH_EINVAL,
              "forward: no op is a forward op");
  berth_graph_builder_add_op(b, &op, NULL);
  op.flags = 0;
  berth_graph_builder_add_op(b, &op, NULL);
  berth_graph_builder_add_collective(b, &c, NULL);
  g = must_graph_builder_finish(b);
  CHECK_ERROR(berth_graph_forward(g, NULL, &f, NULL), BERTH_EINVAL,
              "forward: collective 0 has forward and other members: op 1, op 0");
}

TEST("the forward graph of a mirrored graph is the graph; twins go together") {
  berth_rng rng = seeded(9, 0);
  for (int32_t k = 0; k < 60; k++) {
    recipe r = { .ops = 2 + berth_rng_below(&rng, 20), .types = 1, .density = 0.2, .reach = 6 };
    berth_graph *g = random_transformable(&rng, &r), *m = NULL, *f = NULL;
    m = must_graph_mirror(g, NULL);
    int32_t map[64];
    f = must_graph_forward(m, NULL, map);
    CHECK(berth_graph_ops(f) == r.ops);
    for (int32_t v = 0; v < r.ops; v++) CHECK(map[v] == v && map[2 * r.ops - 1 - v] == v);
    matrix x = new_matrix(g);
    matrix y = new_matrix(f);
    CHECK(memcmp(x.edge, y.edge, (size_t)x.n * (size_t)x.n) == 0);
    CHECK(berth_graph_edges(f) == berth_graph_edges(g));
    free_matrix(&x);
    free_matrix(&y);
  }
}

static berth_status transform_all(void) {
  static const int32_t op[] = { 0, 1 };
  static const char *const name[] = { "x", "x" };
  berth_graph *g = NULL, *m = NULL, *f = NULL, *c = NULL, *l = NULL;
  berth_coplace_options o = berth_coplace_default();
  berth_status st = graph_of_text("1g3 1g3 1g3 1g3 0>1:1 1>2:2 2>3:3", &g);
  o.share.max_bytes = 1e6;
  o.share.max_seconds = 1e6;
  TRY(st, berth_graph_mirror(g, NULL, &m, NULL));
  int32_t same[2];
  TRY(st, berth_graph_colocate(m, 2, op, name, &l, same));
  TRY(st, berth_graph_coplace(m, &o, &c, NULL));
  int32_t map[8];
  TRY(st, berth_graph_forward(m, NULL, &f, map));
  RELEASE(l, c, f, m, g);
  return st;
}

TEST_REFUSALS(transform_all)
