/* What fusion does to memory, as the simulator counts it: the same under TOTAL, never less
 * otherwise. */
#include "transform_help.h"

enum { DEVICES = 3, MOST = 40 };

static berth_ctx *ctx;

static berth_topology *mesh(int32_t n) {
  return must_mesh(ctx, n, INFINITY, 10, 0.25);
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
  berth_cost_release(cost);
  return r;
}

/* Ops that take no time count their workspaces together: none here. */
static berth_graph *timed(berth_rng *rng, int twins) {
  recipe r = { .ops = 2 + berth_rng_below(rng, twins ? 14 : 28),
               .groups = 0,
               .types = 1,
               .density = 0.25,
               .reach = 8 };
  berth_graph *g = random_transformable(ctx, rng, &r), *scaled = NULL, *m = NULL;
  berth_graph_builder *b = must_graph_builder_new(ctx);
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
  berth_graph_release(g);
  if (!twins) return scaled;
  CHECK_STATUS(berth_graph_mirror(scaled, NULL, &m, NULL), BERTH_OK);
  berth_graph_release(scaled);
  return m;
}

static berth_graph *fused(berth_rng *rng, const berth_graph *g, berth_fuse_inner inner,
                          int32_t *map) {
  berth_fuse_options o = berth_fuse_default();
  berth_graph *f = NULL;
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = 2 + berth_rng_below(rng, 5);
  o.inner = inner;
  CHECK_STATUS(berth_graph_fuse(g, &o, &f, map), BERTH_OK);
  return f;
}

static void total_is_the_same(void) {
  int32_t less = 0;
  berth_topology *t = mesh(DEVICES);
  TEST("policy TOTAL counts the same before and after, on every device; without inner tensors it "
       "counts less");
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
    RELEASE(a, b, f, g);
  }
  CHECK(less > 10);
  berth_topology_release(t);
}

/* The ops of each fused op in a row, in topological order. */
static void expand(const berth_graph *g, const berth_graph *f, const int32_t *map,
                   int32_t *sequence) {
  int32_t order[MOST], n = 0;
  CHECK_STATUS(berth_topo_order(f, order), BERTH_OK);
  int32_t old[MOST];
  CHECK_STATUS(berth_topo_order(g, old), BERTH_OK);
  for (int32_t i = 0; i < berth_graph_ops(f); i++) {
    for (int32_t j = 0; j < berth_graph_ops(g); j++) {
      if (map[old[j]] == order[i]) sequence[n++] = old[j];
    }
  }
}

static void never_less_on_one_device(void) {
  static const berth_memory_policy policies[] = { BERTH_MEMORY_INFERENCE, BERTH_MEMORY_TRAINING,
                                                  BERTH_MEMORY_TOTAL };
  int32_t zero[MOST] = { 0 };
  berth_topology *t = mesh(1);
  TEST("on one device, ops of a fused op in a row: never less than the ops by themselves, at no "
       "instant");
  berth_rng rng = seeded(12, 0);
  int32_t map[MOST], sequence[MOST], order[MOST];
  for (int32_t k = 0; k < 60; k++) {
    berth_graph *g = timed(&rng, k % 2), *f = fused(&rng, g, BERTH_INNER_KEEP, map);
    expand(g, f, map, sequence);
    CHECK_STATUS(berth_topo_order(f, order), BERTH_OK);
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
      RELEASE(a, b);
    }
    RELEASE(f, g);
  }
  berth_topology_release(t);
}

int main(void) {
  CHECK_STATUS(berth_ctx_new(NULL, &ctx), BERTH_OK);
  total_is_the_same();
  never_less_on_one_device();
  return done_with(ctx);
}
