/* Choose PAIR and DEVICE by any score: a table with one row of scores per candidate. A row is
 * scored again when its estimates change; with READY_FINISHED only for ops that some device could
 * start now, and again whenever time has passed. O(candidates x devices) a step. */
#include "engine_internal.h"

typedef struct table {
  berth_i_pool pool;
  berth_plan *plan;
  int32_t *op;       /* [cap] candidates, in no order */
  double *wake;      /* [cap] not before; -INFINITY: any time */
  double *scored_at; /* [cap] present time when last scored; NaN: never */
  double *rows;      /* [cap * 4 devices] ready, est, eft, score */
  int32_t n, cap;
} table;

typedef struct pick {
  int32_t row, device; /* row BERTH_NONE: nothing */
  double score;
} pick;

static double *values_of(const table *b, int32_t row) {
  return b->rows + 4 * (size_t)row * (size_t)b->plan->devices;
}

/* All four arrays or none: a new table takes over what the old one holds. */
static berth_status grow(table *b) {
  table big = *b;
  size_t n = (size_t)b->n, cap = b->cap < 16 ? 32 : 2 * (size_t)b->cap,
         width = 4 * (size_t)b->plan->devices;
  big.pool = berth_i_pool_empty(b->plan->ctx);
  big.cap = (int32_t)cap;
  big.op = berth_i_pool_alloc(&big.pool, cap, sizeof *big.op);
  big.wake = berth_i_pool_alloc(&big.pool, cap, sizeof *big.wake);
  big.scored_at = berth_i_pool_alloc(&big.pool, cap, sizeof *big.scored_at);
  big.rows = berth_i_pool_alloc(&big.pool, cap * width, sizeof *big.rows);
  berth_status st;
  if ((st = berth_i_pool_status(&big.pool)) != BERTH_OK) {
    berth_i_pool_free(&big.pool);
    return st;
  }
  if (n > 0) {
    memcpy(big.op, b->op, n * sizeof *b->op);
    memcpy(big.wake, b->wake, n * sizeof *b->wake);
    memcpy(big.scored_at, b->scored_at, n * sizeof *b->scored_at);
    memcpy(big.rows, b->rows, n * width * sizeof *b->rows);
  }
  berth_i_pool_free(&b->pool);
  *b = big;
  return BERTH_OK;
}

static berth_status add_row(table *b, int32_t op) {
  berth_status st = berth_i_plan_select(b->plan, op);
  if (st == BERTH_OK && b->n == b->cap) st = grow(b);
  if (st != BERTH_OK) return st;
  b->op[b->n] = op;
  b->wake[b->n] = -INFINITY;
  b->scored_at[b->n] = NAN;
  berth_i_ready_row(b->plan, op, values_of(b, b->n));
  b->n++;
  return BERTH_OK;
}

static void remove_row(table *b, int32_t row) {
  int32_t last = --b->n;
  if (row == last) return;
  b->op[row] = b->op[last];
  b->wake[row] = b->wake[last];
  b->scored_at[row] = b->scored_at[last];
  memcpy(values_of(b, row), values_of(b, last), 4 * (size_t)b->plan->devices * sizeof(double));
}

/* ---- scores ---- */

static bool startable(const berth_plan *p, const double *est) {
  if (!berth_i_plan_finished(p)) return true;
  for (int32_t d = 0; d < p->devices; d++) {
    if (est[d] <= p->now) return true;
  }
  return false;
}

static bool all_infinite(const double *x, int32_t n) {
  for (int32_t d = 0; d < n; d++) {
    if (x[d] != INFINITY) return false;
  }
  return true;
}

static berth_status refresh(table *b, int32_t row) {
  berth_plan *p = b->plan;
  size_t bytes = (size_t)p->devices * sizeof(double);
  double *ready = values_of(b, row), *est = ready + p->devices, *eft = est + p->devices,
         *score = eft + p->devices;
  if (berth_i_plan_contended(p)) berth_i_ready_row(p, b->op[row], ready);
  berth_i_plan_estimate(p, b->op[row], ready, p->est, p->eft);
  bool same = b->scored_at[row] == p->now && memcmp(est, p->est, bytes) == 0
              && memcmp(eft, p->eft, bytes) == 0;
  memcpy(est, p->est, bytes);
  memcpy(eft, p->eft, bytes);
  if (same) return BERTH_OK;
  if (b->wake[row] > p->now || !startable(p, est)) {
    b->scored_at[row] = NAN;
    for (int32_t d = 0; d < p->devices; d++) score[d] = INFINITY;
    return BERTH_OK;
  }
  double wake;
  berth_status st;
  if ((st = berth_i_plan_score(p, b->op[row], est, eft, score, &wake)) != BERTH_OK) return st;
  b->scored_at[row] = p->now;
  b->wake[row] =
      wake > p->now && !isinf(wake) && all_infinite(score, p->devices) ? wake : -INFINITY;
  return BERTH_OK;
}

static berth_status refresh_all(table *b) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < b->n && st == BERTH_OK; i++) st = refresh(b, i);
  return st;
}

/* ---- choosing ---- */

static bool better(const table *b, double score, int32_t row, const pick *than) {
  const double *priority = b->plan->priority;
  int32_t op = b->op[row];
  if (than->row == BERTH_NONE || score != than->score)
    return than->row == BERTH_NONE || score < than->score;
  int32_t other = b->op[than->row];
  if (priority[op] != priority[other]) return priority[op] > priority[other];
  return op < other;
}

static void consider(const table *b, int32_t row, int32_t d, pick *best) {
  const berth_plan *p = b->plan;
  const double *est = values_of(b, row) + p->devices, *score = est + 2 * (size_t)p->devices;
  if (score[d] == INFINITY || (berth_i_plan_finished(p) && est[d] > p->now)
      || !better(b, score[d], row, best))
    return;
  best->row = row;
  best->device = d;
  best->score = score[d];
}

static pick best_on(const table *b, int32_t d) {
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t i = 0; i < b->n; i++) consider(b, i, d, &best);
  return best;
}

static pick best_of_all(const table *b) {
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t i = 0; i < b->n; i++) {
    for (int32_t d = 0; d < b->plan->devices; d++) consider(b, i, d, &best);
  }
  return best;
}

static berth_status take(table *b, const pick *c) {
  int32_t op = b->op[c->row];
  remove_row(b, c->row);
  return berth_i_plan_put(b->plan, op, c->device);
}

/* Each idle device in turn. */
static berth_status devices_choose(table *b, bool *took) {
  for (int32_t d = 0; d < b->plan->devices; d++) {
    pick c = best_on(b, d);
    if (c.row == BERTH_NONE) continue;
    berth_status st;
    if ((st = take(b, &c)) != BERTH_OK || (st = refresh_all(b)) != BERTH_OK) return st;
    *took = true;
  }
  return BERTH_OK;
}

/* READY_ASSIGNED has no present time: the device that is free first and has a candidate. */
static berth_status first_device_chooses(table *b, bool *took) {
  const berth_plan *p = b->plan;
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t d = 0; d < p->devices; d++) {
    if (best.row != BERTH_NONE && p->free_at[d] >= p->free_at[best.device]) continue;
    pick c = best_on(b, d);
    if (c.row != BERTH_NONE) best = c;
  }
  if (best.row == BERTH_NONE) return BERTH_OK;
  *took = true;
  return take(b, &best);
}

static berth_status choose(table *b, bool *took) {
  const berth_policy *policy = &b->plan->setup->policy;
  *took = false;
  if (policy->choose == BERTH_CHOOSE_DEVICE) {
    return berth_i_plan_finished(b->plan) ? devices_choose(b, took) : first_device_chooses(b, took);
  }
  pick c = best_of_all(b);
  if (c.row == BERTH_NONE) return BERTH_OK;
  *took = true;
  return take(b, &c);
}

/* ---- time ---- */

static double next_time(const table *b) {
  const berth_plan *p = b->plan;
  double next = p->running.n > 0 ? p->running.at[0].key : INFINITY;
  for (int32_t i = 0; i < b->n; i++) {
    const double *est = values_of(b, i) + p->devices;
    if (b->wake[i] > p->now) next = fmin(next, b->wake[i]);
    for (int32_t d = 0; d < p->devices; d++) {
      if (est[d] > p->now) next = fmin(next, est[d]);
    }
  }
  return next;
}

berth_status berth_i_choose_score(berth_plan *p, berth_obstacle *why) {
  table b = { .plan = p };
  bool finished = berth_i_plan_finished(p);
  berth_status st;
  while ((st = berth_i_plan_tick(p)) == BERTH_OK) {
    /* 1. Ops that end now, and new candidates. */
    while (st == BERTH_OK && p->running.n > 0 && p->running.at[0].key <= p->now)
      st = berth_i_plan_next_finish(p);
    for (size_t i = 0; i < p->n_fresh && st == BERTH_OK; i++) st = add_row(&b, p->fresh[i]);
    p->n_fresh = 0;
    if (st != BERTH_OK || p->placed == p->n) break;
    /* 2. Scores whose estimates have changed; then the best pair. */
    bool took;
    if ((st = refresh_all(&b)) != BERTH_OK || (st = choose(&b, &took)) != BERTH_OK) break;
    if (took) continue;
    /* 3. No pair: READY_FINISHED passes time. */
    double next = finished ? next_time(&b) : INFINITY;
    if (isinf(next) || !berth_i_plan_may_advance(p)) {
      st = berth_i_plan_stuck(p, BERTH_NONE, why);
      break;
    }
    p->now = next;
  }
  berth_i_pool_free(&b.pool);
  return st;
}
