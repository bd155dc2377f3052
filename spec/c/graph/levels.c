/* Orders, levels, paths and reach against enumeration of all paths, on small random graphs. */
#include "graph_help.h"

enum { GRAPHS = 400 };

typedef struct times {
  double comp[SMALL], comm[4 * SMALL];
} times;

static double comm_of(const times *x, int32_t tensor) {
  return tensor == BERTH_NONE ? 0 : x->comm[tensor];
}

/* Longest path by walking every path. */
static double onward(const flat *f, const times *x, int32_t v) {
  double best = 0;
  for (int32_t k = 0; k < f->n_edges; k++) {
    if (f->edge[k].src != v) continue;
    double way = comm_of(x, f->edge[k].tensor) + onward(f, x, f->edge[k].dst);
    if (way > best) best = way;
  }
  return x->comp[v] + best;
}

static double before(const flat *f, const times *x, int32_t v) {
  double best = 0;
  for (int32_t k = 0; k < f->n_edges; k++) {
    if (f->edge[k].dst != v) continue;
    double way =
        before(f, x, f->edge[k].src) + x->comp[f->edge[k].src] + comm_of(x, f->edge[k].tensor);
    if (way > best) best = way;
  }
  return best;
}

static int32_t deep(const flat *f, int32_t v) {
  int32_t best = 0, way;
  for (int32_t k = 0; k < f->n_edges; k++) {
    if (f->edge[k].dst == v && (way = deep(f, f->edge[k].src) + 1) > best) best = way;
  }
  return best;
}

/* Small integers: sums are exact in any order. */
static void random_times(berth_rng *rng, const flat *f, times *x) {
  for (int32_t i = 0; i < f->n_ops; i++) x->comp[i] = berth_rng_below(rng, 4);
  for (int32_t i = 0; i < f->n_tensors; i++) x->comm[i] = berth_rng_below(rng, 3);
}

static void check_levels(const berth_graph *g, const flat *f, const times *x) {
  double bl[SMALL], longest = 0;
  CHECK_OK(berth_b_level(g, x->comp, x->comm, bl));
  double tl[SMALL];
  CHECK_OK(berth_t_level(g, x->comp, x->comm, tl));
  double slack[SMALL];
  CHECK_OK(berth_slack(g, x->comp, x->comm, slack));
  int32_t depth[SMALL];
  CHECK_OK(berth_depth(g, depth));
  for (int32_t v = 0; v < f->n_ops; v++)
    longest = onward(f, x, v) > longest ? onward(f, x, v) : longest;
  for (int32_t v = 0; v < f->n_ops; v++) {
    CHECK_NEAR(bl[v], onward(f, x, v), 0);
    CHECK_NEAR(tl[v], before(f, x, v), 0);
    CHECK_NEAR(slack[v], longest - before(f, x, v) - onward(f, x, v), 0);
    CHECK(depth[v] == deep(f, v));
  }
}

static int has_edge_into(const flat *f, int32_t v) {
  for (int32_t k = 0; k < f->n_edges; k++) {
    if (f->edge[k].dst == v) return 1;
  }
  return 0;
}

/* The longest way on from v: greatest, then lowest id. */
static int32_t best_next(const flat *f, const times *x, int32_t v) {
  double best = -1;
  int32_t next = BERTH_NONE;
  for (int32_t k = 0; k < f->n_edges; k++) {
    if (f->edge[k].src != v) continue;
    double way = comm_of(x, f->edge[k].tensor) + onward(f, x, f->edge[k].dst);
    if (way > best || (way == best && f->edge[k].dst < next)) {
      best = way;
      next = f->edge[k].dst;
    }
  }
  return next;
}

static void check_path(const berth_graph *g, const flat *f, const times *x) {
  int32_t n, path[SMALL], first = BERTH_NONE;
  double length;
  CHECK_OK(berth_critical_path(g, x->comp, x->comm, path, &n, &length));
  int32_t v;
  for (v = 0; v < f->n_ops; v++) {
    if (!has_edge_into(f, v) && (first == BERTH_NONE || onward(f, x, v) > onward(f, x, first)))
      first = v;
  }
  CHECK_NEAR(length, onward(f, x, first), 0);
  int32_t i;
  for (v = first, i = 0; v != BERTH_NONE; v = best_next(f, x, v), i++) CHECK(i < n && path[i] == v);
  CHECK(i == n);
  CHECK_OK(berth_critical_path(g, x->comp, NULL, NULL, NULL, NULL));
}

/* Queue as an array, one edge at a time. Edges of a source: by tensor, then by collective, as they
 * were added. */
static void naive_order(const flat *f, int32_t *order) {
  int32_t left[SMALL] = { 0 }, n = 0;
  for (int32_t k = 0; k < f->n_edges; k++) left[f->edge[k].dst]++;
  for (int32_t v = 0; v < f->n_ops; v++) {
    if (left[v] == 0) order[n++] = v;
  }
  for (int32_t head = 0; head < n; head++) {
    for (int32_t k = 0; k < f->n_edges; k++) {
      if (f->edge[k].src == order[head] && --left[f->edge[k].dst] == 0) order[n++] = f->edge[k].dst;
    }
  }
}

static void check_order(const berth_graph *g, const flat *f) {
  int32_t order[SMALL];
  CHECK_OK(berth_topo_order(g, order));
  int32_t want[SMALL];
  naive_order(f, want);
  CHECK(memcmp(order, want, (size_t)f->n_ops * sizeof *order) == 0);
}

static void check_reach(const berth_graph *g, const flat *f) {
  uint8_t reach[SMALL][SMALL];
  closure(f, reach);
  uint8_t down[SMALL], up[SMALL];
  int yes;
  for (int32_t a = 0; a < f->n_ops; a++) {
    CHECK_OK(berth_reach(g, a, 1, down));
    CHECK_OK(berth_reach(g, a, 0, up));
    for (int32_t b = 0; b < f->n_ops; b++) {
      CHECK_OK(berth_reachable(g, a, b, &yes));
      CHECK(yes == (a == b || reach[a][b]));
      CHECK(down[b] == (a == b || reach[a][b]));
      CHECK(up[b] == (a == b || reach[b][a]));
    }
  }
}

/* Members of one collective are joined even without consumers: two-way edges between them. */
static void check_components(const berth_graph *g, const flat *f) {
  flat both = *f;
  int32_t count = 0;
  for (int32_t k = 0; k < f->n_edges; k++)
    flat_add(&both, f->edge[k].dst, f->edge[k].src, BERTH_NONE);
  berth_collective c;
  for (int32_t k = 0; k < berth_graph_collectives(g); k++) {
    c = must_graph_collective(g, k);
    for (int32_t j = 1; j < c.n_members; j++) {
      flat_add(&both, c.members[0], c.members[j], BERTH_NONE);
      flat_add(&both, c.members[j], c.members[0], BERTH_NONE);
    }
  }
  uint8_t reach[SMALL][SMALL];
  closure(&both, reach);
  int32_t n, component[SMALL];
  CHECK_OK(berth_components(g, component, &n));
  for (int32_t a = 0; a < f->n_ops; a++) {
    for (int32_t b = 0; b < f->n_ops; b++)
      CHECK((component[a] == component[b]) == (a == b || reach[a][b]));
    int32_t lowest;
    for (lowest = 0; lowest < a && component[lowest] != component[a]; lowest++) { }
    if (lowest == a) CHECK(component[a] == count++);
  }
  CHECK(n == count);
}

TEST("order, levels, path, reach and components equal enumeration") {
  berth_rng rng = seeded(7, 0);
  for (int32_t k = 0; k < GRAPHS; k++) {
    berth_graph_builder *b = must_graph_builder_new();
    flat f;
    random_graph(b, &rng, 0, &f);
    berth_graph *g;
    times x;
    if (CHECK_OK(berth_graph_builder_finish(b, &g))) {
      random_times(&rng, &f, &x);
      check_order(g, &f);
      check_levels(g, &f, &x);
      check_path(g, &f, &x);
      check_reach(g, &f);
      check_components(g, &f);
      RELEASE(g);
    }
    RELEASE(b);
  }
}

/* a (2) -> b (3) with transfer 4; a -> c (1) with transfer 0 */
static berth_graph *fork_graph(void) {
  berth_graph_builder *b = must_graph_builder_new();
  add_plain_op(b, "a", 2);
  add_plain_op(b, "b", 3);
  add_plain_op(b, "c", 1);
  must_text(b, "0>1:8 0>2:8");
  return must_graph(b);
}

TEST("levels, slack and path of a fork, by hand") {
  berth_graph *g = fork_graph();
  const double comp[] = { 2, 3, 1 }, comm[] = { 4, 0 };
  double x[3];
  CHECK_OK(berth_b_level(g, comp, comm, x));
  CHECK(x[0] == 9 && x[1] == 3 && x[2] == 1);
  CHECK_OK(berth_t_level(g, comp, comm, x));
  CHECK(x[0] == 0 && x[1] == 6 && x[2] == 2);
  CHECK_OK(berth_slack(g, comp, comm, x));
  CHECK(x[0] == 0 && x[1] == 0 && x[2] == 6);
  double length;
  int32_t path[3], n;
  CHECK_OK(berth_critical_path(g, comp, comm, path, &n, &length));
  CHECK(n == 2 && path[0] == 0 && path[1] == 1 && length == 9);
  CHECK_OK(berth_b_level(g, comp, NULL, x));
  CHECK(x[0] == 5);
}

TEST("wrong times and ids are refused with their values") {
  berth_graph *g = fork_graph();
  const double comp[] = { 2, -3, 1 }, nan_comm[] = { 4, NAN }, good[] = { 2, 3, 1 },
               inf[] = { 2, INFINITY, 1 };
  double x[3] = { 77, 77, 77 };
  int yes = 5;
  uint8_t mark[3] = { 9, 9, 9 };
  CHECK_ERROR(berth_b_level(g, comp, NULL, x), BERTH_EINVAL, "op 1 \"b\": time -3 s is negative");
  CHECK_ERROR(berth_t_level(g, good, nan_comm, x), BERTH_EINVAL,
              "op 0 \"a\": transfer time of its tensor 1 is not a number");
  CHECK(x[0] == 77);
  CHECK_STATUS(berth_reach(g, 3, 1, mark), BERTH_EINVAL);
  CHECK_STATUS(berth_reachable(g, 0, -1, &yes), BERTH_EINVAL);
  CHECK(mark[0] == 9 && yes == 5);
  CHECK_OK(berth_slack(g, inf, NULL, x));
  CHECK(x[0] == 0 && x[1] == 0 && isinf(x[2]));
}

/* Sums that differ in the last bit depending on their order must not leave slack on the longest
 * path. */
TEST("rounding leaves no slack on the longest path") {
  enum { CHAIN = 1000 };
  int32_t bad = 0;
  berth_graph_builder *b = must_graph_builder_new();
  double comp[CHAIN];
  for (int32_t v = 0; v < CHAIN; v++) {
    comp[v] = 0.1 + v % 7 * 0.3;
    add_plain_op(b, NULL, comp[v]);
    if (v > 0) must_add_edge(b, v - 1, v, 0);
  }
  berth_graph *g = must_graph_builder_finish(b);
  double slack[CHAIN];
  CHECK_OK(berth_slack(g, comp, NULL, slack));
  for (int32_t v = 0; v < CHAIN; v++) bad += slack[v] != 0;
  CHECK(bad == 0);
}

/* 100 000 members and as many consumers would be 10^10 edges. */
TEST("collectives are not spread into edges") {
  enum { SIDE = 100000 };
  int32_t *ids = malloc(2 * SIDE * sizeof *ids), *path = malloc(2 * SIDE * sizeof *path);
  double *comp = malloc(2 * SIDE * sizeof *comp), *out = malloc(2 * SIDE * sizeof *out);
  uint8_t *mark = malloc(2 * SIDE);
  berth_collective c = {
    .kind = BERTH_BARRIER, .count = 1, .n_members = SIDE, .n_consumers = SIDE
  };
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t v = 0; v < 2 * SIDE; v++) {
    berth_op op = berth_op_default();
    CHECK(berth_graph_builder_add_op(b, &op, NULL) == BERTH_OK);
    ids[v] = v;
    comp[v] = v == SIDE - 1 || v == SIDE + 5 ? 2 : 1;
  }
  c.members = ids;
  c.consumers = ids + SIDE;
  must_add_collective(b, &c);
  berth_graph *g = must_graph_builder_finish(b);
  CHECK_OK(berth_b_level(g, comp, NULL, out));
  CHECK(out[0] == 3 && out[SIDE - 1] == 4 && out[SIDE] == 1);
  CHECK_OK(berth_t_level(g, comp, NULL, out));
  CHECK(out[0] == 0 && out[SIDE] == 2);
  int32_t n;
  double length;
  CHECK_OK(berth_critical_path(g, comp, NULL, path, &n, &length));
  CHECK(n == 2 && path[0] == SIDE - 1 && path[1] == SIDE + 5 && length == 4);
  CHECK_OK(berth_reach(g, 3, 1, mark));
  CHECK(mark[3] == 1 && mark[4] == 0 && mark[2 * SIDE - 1] == 1);
  CHECK_OK(berth_components(g, path, &n));
  CHECK(n == 1);
  RELEASE(g, b);
  free(ids), free(path), free(comp), free(out), free(mark);
}
