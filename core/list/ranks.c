/* Priorities that list placers share: levels over mean op and transfer times. O(ops x classes +
 * tensors). Source of the upward rank: Topcuoglu et al., "Performance-effective and low-complexity
 * task scheduling for heterogeneous computing", 2002, eq. 8. */
#include "ranks_internal.h"

berth_status berth_i_static_level(const berth_plan *p, double *out) {
  double *ops = berth_i_alloc(p->ctx, (size_t)p->n, sizeof *ops);
  berth_status st = ops ? berth_cost_mean_ops(p->cost, ops) : berth_i_nomem(p->ctx);
  if (st == BERTH_OK) st = berth_b_level(p->g, ops, NULL, out);
  berth_i_free(p->ctx, ops, (size_t)p->n, sizeof *ops);
  return st;
}

berth_status berth_i_means(const berth_plan *p, berth_average how, berth_i_pool *pool, double **ops,
                           double **transfers) {
  *ops = berth_i_pool_alloc(pool, (size_t)p->n, sizeof **ops);
  *transfers = berth_i_pool_alloc(pool, (size_t)p->g->n_tensors, sizeof **transfers);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  st = berth_cost_mean_ops(p->cost, *ops);
  return st == BERTH_OK ? berth_cost_mean_transfers(p->cost, how, *transfers) : st;
}

/* Members spread over the devices in turn, pins kept: no average, but a price that the collective
 * can have. */
static berth_status spread_price(const berth_plan *p, int32_t k, int32_t *device, double *out) {
  const berth_collective *c = &p->g->collectives[k];
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t pin = berth_i_pin(p->g, c->members[i]);
    device[i] = pin != BERTH_NONE ? pin : i % p->devices;
  }
  berth_status st = berth_cost_collective(p->cost, k, c->n_members, device, out);
  if (st == BERTH_OK && !isinf(*out)) return BERTH_OK;
  *out = 0;
  return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
}

berth_status berth_i_spread_prices(const berth_plan *p, berth_i_pool *pool, double **out) {
  size_t n = (size_t)p->g->n_collectives;
  berth_status st = BERTH_OK;
  *out = berth_i_pool_alloc(pool, n, sizeof **out);
  if (!*out) return berth_i_nomem(p->ctx);
  for (int32_t k = 0; k < p->g->n_collectives && st == BERTH_OK; k++)
    st = spread_price(p, k, p->collectives.device, &(*out)[k]);
  return st;
}

berth_status berth_i_upward_rank(const berth_plan *p, berth_average how, double *out) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  double *ops, *transfers, *collectives;
  berth_status st = berth_i_means(p, how, &scratch, &ops, &transfers);
  if (st == BERTH_OK) st = berth_i_spread_prices(p, &scratch, &collectives);
  if (st == BERTH_OK) st = berth_i_b_level(p->g, ops, transfers, collectives, out);
  berth_i_pool_free(&scratch);
  return st;
}
