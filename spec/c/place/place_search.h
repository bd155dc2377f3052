/* What tests of bounds and guarantees share. */
#ifndef BERTH_PLACE_SEARCH_H
#define BERTH_PLACE_SEARCH_H

#include "place_help.h"

static void join_of(problem *p, int32_t producers, int32_t devices, double transfer) {
  problem_clear(p, producers + 1, devices);
  p->bandwidth = 1;
  for (int32_t i = 0; i < producers; i++) problem_edge(p, i, producers, transfer);
}

static void add_edges(problem *p, berth_rng *rng, int most_bytes) {
  int32_t density = 1 + berth_rng_below(rng, 3);
  for (int32_t i = 1; i < p->ops; i++) {
    for (int32_t j = 0; j < i; j++) {
      if (berth_rng_below(rng, density + 1) == 0)
        problem_edge(p, j, i, 1 + berth_rng_below(rng, most_bytes));
      if (p->edges + 1 < MOST_EDGES && berth_rng_below(rng, 12) == 0)
        problem_edge(p, j, i, 1 + berth_rng_below(rng, most_bytes));
    }
  }
}

static berth_bounds thorough(const problem *p) {
  made m = problem_make(p);
  berth_bounds_options o = { BERTH_MEMORY_NONE, 1, true, 1e-6, BERTH_LINKS_FREE, 0 };
  berth_bounds b = must_bounds_compute(m.c, &o);
  unmake(&m);
  return b;
}

#endif
