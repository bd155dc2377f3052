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

/* Members dealt out to the devices in turn, pins kept: no average, but a price that the collective can have. */
static berth_status spread_price(const berth_plan *p, int32_t k, int32_t *device, double *out) {
  const berth_collective *c = &p->g->collectives[k];
  berth_status st;
  int32_t i;
  for (i = 0; i < c->n_members; i++) {
    int32_t pin = berth_i_pin(p->g, c->members[i]);
    device[i] = pin != BERTH_NONE ? pin : i % p->devices;
  }
  st = berth_cost_collective(p->cost, k, c->n_members, device, out);
  if (st == BERTH_OK && !isinf(*out)) return BERTH_OK;
  *out = 0;
  return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
}

berth_status berth_i_spread_prices(const berth_plan *p, double **out) {
  size_t n = (size_t)p->g->n_collectives;
  berth_status st = BERTH_OK;
  int32_t k;
  *out = berth_i_alloc(p->ctx, n, sizeof **out);
  if (!*out) return berth_i_nomem(p->ctx);
  for (k = 0; k < p->g->n_collectives && st == BERTH_OK; k++) st = spread_price(p, k, p->meets.device, &(*out)[k]);
  return st;
}

void berth_i_spread_prices_release(const berth_plan *p, double *prices) {
  berth_i_free(p->ctx, prices, (size_t)p->g->n_collectives, sizeof *prices);
}

berth_status berth_i_upward_rank(const berth_plan *p, berth_average how, double *out) {
  double *ops, *transfers, *met = NULL;
  berth_status st = berth_i_means(p, how, &ops, &transfers);
  if (st == BERTH_OK) st = berth_i_spread_prices(p, &met);
  if (st == BERTH_OK) st = berth_i_b_level(p->g, ops, transfers, met, out);
  berth_i_spread_prices_release(p, met);
  berth_i_means_release(p, ops, transfers);
  return st;
}
