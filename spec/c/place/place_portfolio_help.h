/* Layered random problems for the tests of the portfolio. */
#ifndef BERTH_PLACE_PORTFOLIO_HELP_H
#define BERTH_PLACE_PORTFOLIO_HELP_H

#include "must.h"

typedef struct instance {
  berth_graph *g;
  berth_topology *t;
  berth_cost *c;
} instance;

static berth_graph *layered(int32_t n, int32_t width, uint64_t seed) {
  berth_rng rng = seeded(seed, 0);
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    berth_tensor tensor = { i, 1 + berth_rng_below(&rng, 100), -1, 0 };
    double seconds = 1 + berth_rng_below(&rng, 20);
    op.seconds = &seconds;
    op.param_bytes = berth_rng_below(&rng, 50);
    op.workspace_bytes = berth_rng_below(&rng, 20);
    must_add_op(b, &op);
    must_add_tensor(b, &tensor);
    for (int k = 0; k < 2 && i >= width; k++) {
      int32_t from = (i / width - 1) * width + berth_rng_below(&rng, width / 2) + k * (width / 2);
      CHECK_OK(berth_graph_builder_add_consumer(b, from, i));
    }
  }
  return must_graph(b);
}

static instance make(int32_t n, int32_t devices, double memory, uint64_t seed) {
  instance m = { layered(n, 8, seed), NULL, NULL };
  m.t = must_mesh(devices, memory, 10, 0.5);
  m.c = must_cost_new(m.g, m.t, NULL);
  return m;
}

static void drop(instance *m) {
  RELEASE(m->c, m->g, m->t);
}

static int same_placement(const berth_placement *a, const berth_placement *b) {
  size_t n = (size_t)berth_placement_ops(a);
  return memcmp(berth_placement_device(a), berth_placement_device(b), n * sizeof(int32_t)) == 0
      && berth_placement_estimate(a) == berth_placement_estimate(b);
}

#endif
