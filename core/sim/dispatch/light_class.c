/* Two classes: light ops first, each class in the order of becoming ready. An op is light if its
 * mean time is below all work / devices / 100. So short ops that much depends on
 * pass the long ones, but among the long ones the order stays that of the graph. */
#include "dispatch_internal.h"

static berth_status prepare(berth_cost *cost, const berth_sim_options *o, double *key) {
  const berth_graph *g = cost->g;
  (void)o;
  berth_status st = berth_cost_mean_ops(cost, key);
  double work = 0;
  for (int32_t i = 0; st == BERTH_OK && i < g->n_ops; i++) work += key[i];
  const double least = work / cost->n_devices / 100;
  for (int32_t i = 0; st == BERTH_OK && i < g->n_ops; i++) key[i] = key[i] < least ? 0 : 1;
  return st;
}

static double key(const double *prepared, int32_t op, double time, double place) {
  (void)time, (void)place;
  return prepared[op];
}

const berth_i_dispatch berth_i_dispatch_light_class = {
  .choice = { "light-class", "Ops below 1/100 of the mean work of a device, then the others; "
                             "each class first in, first out." },
  .kind = BERTH_I_DISPATCH_KEYED,
  .prepare = prepare,
  .key = key,
};
