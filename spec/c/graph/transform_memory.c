/* What fusion does to memory, as the simulator counts it: the same under TOTAL, never less
 * otherwise. */
#include "transform_help.h"

enum { DEVICES = 3, MOST = 40 };

static berth_topology *mesh(int32_t n) {
  return must_mesh(n, INFINITY, 10, 0.25);
}

static berth_result *simulate(berth_graph *g, berth_topology *t, const int32_t *device,
                              berth_memory_policy memory, const int32_t *sequence) {
  berth_sim_options o = berth_sim_default(g);
  o.memory = memory;
  o.param_multiple = 3;
  o.sequence = sequence;
  if (sequence) o.dispatch = BERTH_DISPATCH_PLANNED;
  berth_cost *cost = must_cost_new(g, t, NULL);
  berth_result *r = must_simulate(cost, device, &o);
  RELEASE(cost);
  return r;
}

/* Ops that take no time count their workspaces together: none here. */
static berth_graph *timed(berth_rng *rng, int twins) {
  recipe r = { .ops = 2 + berth_rng_below(rng, twins ? 14 : 28),
               .groups = 0,
               .types = 1,
               .density = 0.25,
               .reach = 8 };
  berth_graph *g = random_transformable(rng, &r), *scaled = NULL, *m = NULL;
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t v = 0; v < berth_graph_ops(g); v++) {
    berth_op op = must_graph_op(g, v);
    double seconds;
    seconds = op.seconds[0] + 1;
    op.seconds = &seconds;
    berth_graph_builder_add_op(b, &op, NULL);
  }
  const int32_t *to;
  for (int32_t v = 0; v < berth_graph_tensors(g); v++) {
    berth_tensor x = must_graph_tensor(g, v);
    berth_graph_builder_add_tensor(b, &x, NULL);
    int32_t n = berth_graph_consumers(g, v, &to);
    for (int32_t j = 0; j < n; j++) berth_graph_builder_add_consumer(b, v, to[j]);
  }
  scaled = must_graph(b);
  RELEASE(g);
  if (!twins) return scaled;
  m = must_graph_mirror(scaled, NULL);
  RELEASE(scaled);
  return m;
}

static berth_graph *fused(berth_rng *rng, const berth_graph *g, berth_fuse_inner inner,
                          int32_t *map) {
  berth_fuse_options o = berth_fuse_default();
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = 2 + berth_rng_below(rng, 5);
  o.inner = inner;
  berth_graph *f = must_graph_fuse(g, &o, map);
  return f;
}

TEST("policy TOTAL counts the same before and after, on every device; without inner tensors it "
     "counts less") {
  int32_t less = 0;
  berth_topology *t = mesh(DEVICES);
  berth_rng rng = seeded(11, 0);
  int32_t map[MOST], here[MOST], there[MOST];
  for (int32_t k = 0; k < 60; k++) {
    berth_graph *g = timed(&rng, k % 2);
    berth_fuse_inner inner = k % 3 ? BERTH_INNER_KEEP : BERTH_INNER_DROP;
    berth_graph *f = fused(&rng, g, inner, map);
    for (int32_t v = 0; v < berth_graph_ops(f); v++) there[v] = berth_rng_below(&rng, DEVICES);
    for (int32_t v = 0; v < berth_graph_ops(g); v++) here[v] = there[map[v]];
    berth_result *a = simulate(g, t, here, BERTH_MEMORY_TOTAL, NULL);
    berth_result *b = simulate(f, t, there, BERTH_MEMORY_TOTAL, NULL);
    for (int32_t d = 0; d < DEVICES; d++) { /* workspaces meet what is held at another time: in the
                                               end only what is held counts */
      const double *times, *old, *new;
      int32_t n = berth_result_memory(a, d, &times, &old),
              m = berth_result_memory(b, d, &times, &new);
      if (!CHECK(n > 0 && m > 0)) continue;
      double before = old[n - 1];
      double after = new[m - 1];
      if (inner == BERTH_INNER_KEEP) CHECK_NEAR(after, before, 1e-9);
      else CHECK(after <= before + 1e-9);
      less += after < before - 1e-9;
    }
  }
  CHECK(less > 10);
}

/* The ops of each fused op in a row, in topological order. */
static void expand(const berth_graph *g, const berth_graph *f, const int32_t *map,
                   int32_t *sequence) {
  int32_t order[MOST], n = 0;
  CHECK_OK(berth_topo_order(f, order));
  int32_t old[MOST];
  CHECK_OK(berth_topo_order(g, old));
  for (int32_t i = 0; i < berth_graph_ops(f); i++) {
    for (int32_t j = 0; j < berth_graph_ops(g); j++) {
      if (map[old[j]] == order[i]) sequence[n++] = old[j];
    }
  }
}

TEST("on one device, ops of a fused op in a row: never less than the ops by themselves, at no "
     "instant") {
  static const berth_memory_policy policies[] = { BERTH_MEMORY_INFERENCE, BERTH_MEMORY_TRAINING,
                                                  BERTH_MEMORY_TOTAL };
  int32_t zero[MOST] = { 0 };
  berth_topology *t = mesh(1);
  berth_rng rng = seeded(12, 0);
  int32_t map[MOST], sequence[MOST], order[MOST];
  for (int32_t k = 0; k < 60; k++) {
    berth_graph *g = timed(&rng, k % 2), *f = fused(&rng, g, BERTH_INNER_KEEP, map);
    expand(g, f, map, sequence);
    CHECK_OK(berth_topo_order(f, order));
    for (int32_t p = 0; p < 3; p++) {
      berth_result *a = simulate(g, t, zero, policies[p], sequence),
                   *b = simulate(f, t, zero, policies[p], order);
      const double *ta, *tb, *ya, *yb;
      int32_t na = berth_result_memory(a, 0, &ta, &ya), nb = berth_result_memory(b, 0, &tb, &yb);
      CHECK_NEAR(berth_result_makespan(a), berth_result_makespan(b), 1e-9);
      for (int32_t v = 0, i = 0; v < na; v++) { /* level of b from the latest change not after that
                                                   of a */
        while (i + 1 < nb && tb[i + 1] <= ta[v] + 1e-9) i++;
        CHECK(ya[v] <= yb[i] + 1e-9 || ta[v] >= berth_result_makespan(a) - 1e-9);
      }
    }
  }
}
