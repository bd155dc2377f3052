/* Dorm's program: bundles of each job, on each machine or on the cluster's sums.
 *
 *   most sum_k use_k x_k   where x_k = sum_q x_kq   (q: machines, or one for all)
 *   fits      sum_k demand_k x_kq <= capacity_q                         each resource
 *   numbers   1 or 0 <= x_k <= most_k                                   1: it runs
 *   fairness  |share_k x_k - fair_k| <= l_k, sum l <= theta_f 2 R
 *   adjusting |x_kq - before_kq| <= most_k r_k, sum r <= theta_a running, r whole, for those that
 *   run */
#include "extern/glpk_internal.h"
#include "dorm_internal.h"

typedef struct program {
  berth_i_pool pool;
  berth_i_dorm *d;
  berth_ctx *ctx;
  int32_t n, groups, resources;
  berth_i_glpk_mip mip; /* of the arrays below */
  size_t entries, most_entries;
  int32_t numbers, fairness, adjusting; /* first rows */
  double *cost, *most, *bound, *value, *x;
  uint8_t *whole, *sense;
  int32_t *at, *row;
} program;

static berth_status init(program *p, berth_i_dorm *d) {
  int32_t n = d->n, groups = d->by_machine ? d->base.ps->o.machines : 1,
          resources = d->base.ps->o.resources;
  *p = (program){ .pool = berth_i_pool_empty(d->base.ctx), .d = d, .ctx = d->base.ctx, .n = n,
                  .groups = groups, .resources = resources };
  p->mip.columns = n * groups + 2 * n;
  p->numbers = groups * resources;
  p->fairness = p->numbers + 2 * n;
  p->adjusting = p->fairness + 2 * n + 1;
  p->mip.rows = p->adjusting + 2 * n * groups + 1;
  p->most_entries = (size_t)n * (size_t)groups * (size_t)(resources + 6)
            + (size_t)n * (size_t)(3 + 2 * groups + 1);
  size_t columns = (size_t)p->mip.columns, rows = (size_t)p->mip.rows;
  p->mip.cost = p->cost = berth_i_pool_zalloc(&p->pool, columns, sizeof *p->cost);
  p->mip.most = p->most = berth_i_pool_alloc(&p->pool, columns, sizeof *p->most);
  p->x = berth_i_pool_alloc(&p->pool, columns, sizeof *p->x);
  p->mip.whole = p->whole = berth_i_pool_zalloc(&p->pool, columns, sizeof *p->whole);
  p->mip.at = p->at = berth_i_pool_alloc(&p->pool, columns + 1, sizeof *p->at);
  p->mip.bound = p->bound = berth_i_pool_zalloc(&p->pool, rows, sizeof *p->bound);
  p->mip.sense = p->sense = berth_i_pool_zalloc(&p->pool, rows, sizeof *p->sense);
  p->mip.row = p->row = berth_i_pool_alloc(&p->pool, p->most_entries, sizeof *p->row);
  p->mip.value = p->value = berth_i_pool_alloc(&p->pool, p->most_entries, sizeof *p->value);
  return berth_i_pool_status(&p->pool);
}

/* ---- rows ---- */

static int32_t before(const program *p, int32_t k, int32_t q) {
  return p->d->by_machine ? p->d->cell[(size_t)k * (size_t)p->groups + (size_t)q]
                          : p->d->list[k].before;
}

static void row(program *p, int32_t i, berth_i_glpk_row sense, double bound) {
  p->sense[i] = (uint8_t)sense;
  p->bound[i] = bound;
}

static double capacity(const program *p, int32_t q, int32_t r) {
  return p->d->by_machine ? p->d->base.ps->capacity[(size_t)q * (size_t)p->resources + (size_t)r]
                          : p->d->base.total[r];
}

/* ---- columns ---- */

static void entry(program *p, int32_t i, double value) {
  p->row[p->entries] = i;
  p->value[p->entries++] = value;
}

static void column(program *p, int32_t c, double most, bool whole) {
  p->most[c] = most;
  p->whole[c] = whole;
  p->at[c] = (int32_t)p->entries;
}

static void all_columns(program *p) {
  for (int32_t k = 0; k < p->n; k++)
    for (int32_t q = 0; q < p->groups; q++) {
      /* Bundles x_kq. */
      const berth_i_dorm_job *j = &p->d->list[k];
      double share = j->most > 0 ? j->share : 0;
      int32_t c = k * p->groups + q, i = p->adjusting + 2 * c;
      column(p, c, j->most, true);
      p->cost[c] = j->most > 0 ? j->use : 0;
      for (int32_t r = 0; r < p->resources; r++)
        if (j->demand[r] > 0)
          entry(p, q * p->resources + r,
                capacity(p, q, r) > 0 ? j->demand[r] / capacity(p, q, r) : 1);
      entry(p, p->numbers + 2 * k, 1);
      entry(p, p->numbers + 2 * k + 1, 1);
      entry(p, p->fairness + 2 * k, share);
      entry(p, p->fairness + 2 * k + 1, share);
      entry(p, i, 1);
      entry(p, i + 1, 1);
    }
  for (int32_t k = 0; k < p->n; k++) {
    /* Distances from fair shares. */
    column(p, p->n * p->groups + k, INFINITY, false);
    entry(p, p->fairness + 2 * k, -1);
    entry(p, p->fairness + 2 * k + 1, 1);
    entry(p, p->adjusting - 1, 1);
  }
  for (int32_t k = 0; k < p->n; k++) {
    /* Whether a running job is adjusted. */
    const berth_i_dorm_job *j = &p->d->list[k];
    column(p, p->n * p->groups + p->n + k, j->runs ? 1 : 0, true);
    for (int32_t q = 0; q < p->groups; q++) {
      entry(p, p->adjusting + 2 * (k * p->groups + q), -j->most);
      entry(p, p->adjusting + 2 * (k * p->groups + q) + 1, j->most);
    }
    entry(p, p->mip.rows - 1, 1);
  }
  p->at[p->mip.columns] = (int32_t)p->entries;
}

/* ---- solving ---- */

static berth_status solve(program *p, bool *solved) {
  p->mip.nodes = p->d->o.nodes;
  berth_i_glpk_answer a = { .x = p->x };
  berth_status st = berth_i_glpk_solve(p->ctx, &p->mip, &a);
  if (st == BERTH_EUNSUPPORTED) return BERTH_OK; /* no answer within its limits */
  if (st != BERTH_OK) return st;
  *solved = a.feasible;
  p->d->counts.proved += a.feasible && a.proved;
  p->d->counts.nodes += a.nodes;
  if (a.feasible) {
    for (int32_t k = 0; k < p->n; k++) {
      p->d->list[k].chosen = 0;
      for (int32_t q = 0; q < p->groups; q++) {
        int32_t n = (int32_t)(p->x[k * p->groups + q] + 0.5);
        p->d->list[k].chosen += n;
        if (p->d->by_machine) p->d->cell[(size_t)k * (size_t)p->groups + (size_t)q] = n;
      }
    }
  }
  return BERTH_OK;
}

berth_status berth_i_dorm_program(berth_i_dorm *d, bool *solved) {
  program p;
  berth_status st = init(&p, d);
  *solved = false;
  d->counts.programs++;
  if (st == BERTH_OK) {
    for (int32_t q = 0; q < p.groups; q++)
      for (int32_t r = 0; r < p.resources; r++)
        row(&p, q * p.resources + r, BERTH_I_AT_MOST, capacity(&p, q, r) > 0 ? 1 : 0);
    for (int32_t k = 0; k < p.n; k++) {
      const berth_i_dorm_job *j = &p.d->list[k];
      row(&p, p.numbers + 2 * k, BERTH_I_AT_MOST, j->most);
      row(&p, p.numbers + 2 * k + 1, BERTH_I_AT_LEAST, j->runs ? 1 : 0);
      row(&p, p.fairness + 2 * k, BERTH_I_AT_MOST, j->most > 0 ? j->fair * j->share : 0);
      row(&p, p.fairness + 2 * k + 1, BERTH_I_AT_LEAST, j->most > 0 ? j->fair * j->share : 0);
      for (int32_t q = 0; q < p.groups; q++) {
        int32_t i = p.adjusting + 2 * (k * p.groups + q);
        row(&p, i, BERTH_I_AT_MOST, j->runs ? before(&p, k, q) : j->most);
        row(&p, i + 1, BERTH_I_AT_LEAST, j->runs ? before(&p, k, q) : 0);
      }
    }
    row(&p, p.adjusting - 1, BERTH_I_AT_MOST, berth_i_dorm_unfairness(p.d));
    row(&p, p.mip.rows - 1, BERTH_I_AT_MOST, berth_i_dorm_adjustable(p.d));
    all_columns(&p);
    st = solve(&p, solved);
  }
  berth_i_pool_free(&p.pool);
  return st;
}
