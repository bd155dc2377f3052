/* Ranks given by the user. */
#include "dispatch_internal.h"

static berth_status prepare(berth_cost *cost, const berth_sim_options *o, double *key) {
  memcpy(key, o->rank, (size_t)cost->g->n_ops * sizeof *key);
  return BERTH_OK;
}

static double key(const double *prepared, int32_t op, double time, double place) {
  (void)time, (void)place;
  return prepared[op];
}

const berth_i_dispatch berth_i_dispatch_static = {
  .choice = { "static", "The op of least `rank`." },
  .kind = BERTH_I_DISPATCH_KEYED,
  .needs = "rank",
  .prepare = prepare,
  .key = key,
};
