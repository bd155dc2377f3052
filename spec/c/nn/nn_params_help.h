/* Parameters under test: small ones, with gradients. */
#ifndef BERTH_NN_PARAMS_HELP_H
#define BERTH_NN_PARAMS_HELP_H

#include "must.h"


static berth_params *new_params(void) {
  berth_params *p = must_params_new();
  return p;
}

static berth_array *add2(berth_params *p, const char *name, int32_t n, int32_t m,
                         berth_nn_init init, double v, uint64_t seed) {
  int32_t shape[2] = { n, m };
  berth_array *a = NULL;
  berth_rng rng = seeded(seed, 0);
  CHECK_OK(berth_params_add(p, name, 2, shape, init, v, &rng, &a));
  return a;
}

static void fill_gradients(berth_params *p, uint64_t seed) {
  berth_rng rng = seeded(seed, 1);
  for (int32_t i = 0; i < berth_params_count(p); i++) {
    berth_array *g = berth_params_gradient(p, i);
    for (int64_t k = 0; k < berth_array_size(g); k++)
      berth_array_data(g)[k] = (float)berth_rng_normal(&rng);
  }
}

#endif
