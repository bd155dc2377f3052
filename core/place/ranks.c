/* Priorities that list placers share: levels over mean op times. */
#include "ranks_internal.h"

static berth_status with_mean_ops(const berth_plan *p, double **ops) {
  *ops = berth_i_alloc(p->ctx, (size_t)p->n, sizeof **ops);
  if (!*ops) return berth_i_nomem(p->ctx);
  return berth_cost_mean_ops(p->cost, *ops);
}

berth_status berth_i_static_level(const berth_plan *p, double *out) {
  double *ops;
  berth_status st = with_mean_ops(p, &ops);
  if (st == BERTH_OK) st = berth_b_level(p->g, ops, NULL, out);
  berth_i_free(p->ctx, ops, (size_t)p->n, sizeof *ops);
  return st;
}

berth_status berth_i_means(const berth_plan *p, berth_average how, double **ops, double **transfers) {
  size_t tensors = (size_t)p->g->n_tensors;
  berth_status st;
  *transfers = NULL;
  if ((st = with_mean_ops(p, ops)) != BERTH_OK) return st;
  *transfers = berth_i_alloc(p->ctx, tensors, sizeof **transfers);
  if (!*transfers) return berth_i_nomem(p->ctx);
  return berth_cost_mean_transfers(p->cost, how, *transfers);
}

void berth_i_means_release(const berth_plan *p, double *ops, double *transfers) {
  berth_i_free(p->ctx, ops, (size_t)p->n, sizeof *ops);
  berth_i_free(p->ctx, transfers, (size_t)p->g->n_tensors, sizeof *transfers);
}

berth_status berth_i_upward_rank(const berth_plan *p, berth_average how, double *out) {
  double *ops, *transfers;
  berth_status st = berth_i_means(p, how, &ops, &transfers);
  if (st == BERTH_OK) st = berth_b_level(p->g, ops, transfers, out);
  berth_i_means_release(p, ops, transfers);
  return st;
}
