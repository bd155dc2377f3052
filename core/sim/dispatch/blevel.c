/* Largest b-level first: mean op times, mean transfers. */
#include "dispatch_internal.h"

static berth_status prepare(berth_cost *cost, const berth_sim_options *o, double *key) {
  const berth_graph *g = cost->g;
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  double *comp = berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *comp);
  double *comm = berth_i_pool_alloc(&scratch, (size_t)g->n_tensors, sizeof *comm);
  berth_status st = berth_i_pool_status(&scratch);
  (void)o;
  if (st == BERTH_OK) st = berth_cost_mean_ops(cost, comp);
  if (st == BERTH_OK) st = berth_cost_mean_transfers(cost, BERTH_AVERAGE_TEXTBOOK, comm);
  if (st == BERTH_OK) st = berth_b_level(g, comp, comm, key);
  for (int32_t i = 0; st == BERTH_OK && i < g->n_ops; i++) key[i] = -key[i];
  berth_i_pool_free(&scratch);
  return st;
}

static double key(const double *prepared, int32_t op, double time, double place) {
  (void)time, (void)place;
  return prepared[op];
}

const berth_i_dispatch berth_i_dispatch_blevel = {
  .choice = { "blevel", "The op of longest remaining path, by mean times and mean transfers." },
  .kind = BERTH_I_DISPATCH_KEYED,
  .prepare = prepare,
  .key = key,
};
