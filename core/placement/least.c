/* The least bytes that units take of a device's memory, whatever the order of ops: the basis of
 * proofs (pack/unfit.c) and bounds. Invariant: no legal run holds less at its peak. O(ops +
 * edges). */
#include "prices_internal.h"

/* Each tensor that comes from outside once.  @param stamp [tensors] unit that has counted it */
static double outside_inputs(const berth_i_units *u, int32_t unit, int32_t *stamp) {
  const berth_graph *g = u->cost->g;
  double sum = 0;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    int32_t op = u->ops[i];
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
      int32_t t = g->in[k];
      if (stamp[t] == unit || u->of[g->producer[t]] == unit) continue;
      stamp[t] = unit;
      sum += berth_i_resident(g, t);
    }
  }
  return sum;
}

static void count_unit(const berth_i_units *u, int32_t unit, berth_memory_policy memory,
                       int32_t *stamp, berth_i_least *l) {
  const berth_graph *g = u->cost->g;
  bool total = memory == BERTH_MEMORY_TOTAL;
  double held = 0, param = 0, moment = 0, workspace = INFINITY;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    int32_t op = u->ops[i];
    /* what an op of no length reads may be freed in the very instant in which the op runs */
    bool reads = total || !berth_i_may_be_instant(u->cost, op);
    param += berth_i_param(g, op) * u->param_multiple;
    if (total) held += berth_i_output_bytes(g, op);
    moment = fmax(moment, berth_i_workspace(g, op) + berth_i_output_bytes(g, op)
                              + (reads ? berth_i_input_bytes(g, op) : 0));
    workspace = fmin(workspace, berth_i_workspace(g, op));
  }
  l->param[unit] = param;
  l->held[unit] = param + held;
  l->moment[unit] = moment;
  l->need[unit] = param + fmax(held, moment);
  if (!total) return;
  /* when the last of its ops runs, all that the unit ever had is there */
  l->need[unit] = fmax(l->need[unit], param + held + outside_inputs(u, unit, stamp) + workspace);
}

berth_status berth_i_least_init(const berth_i_units *u, berth_memory_policy memory,
                                berth_i_pool *pool, berth_i_least *l) {
  berth_ctx *ctx = u->cost->ctx;
  size_t tensors = (size_t)u->cost->g->n_tensors;
  l->held = berth_i_pool_zalloc(pool, (size_t)u->n, sizeof *l->held);
  l->param = berth_i_pool_zalloc(pool, (size_t)u->n, sizeof *l->param);
  l->moment = berth_i_pool_zalloc(pool, (size_t)u->n, sizeof *l->moment);
  l->need = berth_i_pool_zalloc(pool, (size_t)u->n, sizeof *l->need);
  berth_status st = berth_i_pool_status(pool);
  if (st != BERTH_OK || memory == BERTH_MEMORY_NONE) return st;
  int32_t *stamp;
  if (!(stamp = berth_i_alloc(ctx, tensors, sizeof *stamp))) return berth_i_nomem(ctx);
  for (int32_t i = 0; i < u->cost->g->n_tensors; i++) stamp[i] = BERTH_NONE;
  for (int32_t i = 0; i < u->n; i++) count_unit(u, i, memory, stamp, l);
  berth_i_free(ctx, stamp, tensors, sizeof *stamp);
  return BERTH_OK;
}
