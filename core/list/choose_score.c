/* Choose PAIR and DEVICE by any score: the scores of all candidates are kept and asked for again
 * when estimates change; with READY_FINISHED only for ops that some device could start now, and
 * again whenever time has passed. O(candidates x devices) a step. */
#include "engine_internal.h"

typedef struct bench {
  berth_i_pool pool;
  berth_plan *plan;
  int32_t *op;       /* [cap] candidates, in no order */
  double *wake;      /* [cap] not before; -INFINITY: any time */
  double *asked;     /* [cap] present time when last scored; NaN: never */
  double *rows;      /* [cap * 4 devices] ready, est, eft, score */
  int32_t n, cap;
} bench;

typedef struct pick {
  int32_t seat, device; /* seat BERTH_NONE: nothing */
  double score;
} pick;

static double *row_of(const bench *b, int32_t seat) {
  return b->rows + 4 * (size_t)seat * (size_t)b->plan->devices;
}

/* All four arrays or none: a new bench takes over what the old one holds. */
static berth_status grow(bench *b) {
  bench big = *b;
  size_t n = (size_t)b->n, cap = b->cap < 16 ? 32 : 2 * (size_t)b->cap,
         width = 4 * (size_t)b->plan->devices;
  big.pool = berth_i_pool_empty(b->plan->ctx);
  big.cap = (int32_t)cap;
  big.op = berth_i_pool_alloc(&big.pool, cap, sizeof *big.op);
  big.wake = berth_i_pool_alloc(&big.pool, cap, sizeof *big.wake);
  big.asked = berth_i_pool_alloc(&big.pool, cap, sizeof *big.asked);
  big.rows = berth_i_pool_alloc(&big.pool, cap * width, sizeof *big.rows);
  berth_status st;
  if ((st = berth_i_pool_status(&big.pool)) != BERTH_OK) {
    berth_i_pool_free(&big.pool);
    return st;
  }
  if (n > 0) {
    memcpy(big.op, b->op, n * sizeof *b->op);
    memcpy(big.wake, b->wake, n * sizeof *b->wake);
    memcpy(big.asked, b->asked, n * sizeof *b->asked);
    memcpy(big.rows, b->rows, n * width * sizeof *b->rows);
  }
  berth_i_pool_free(&b->pool);
  *b = big;
  return BERTH_OK;
}

static berth_status seat_op(bench *b, int32_t op) {
  berth_status st = berth_i_plan_select(b->plan, op);
  if (st == BERTH_OK && b->n == b->cap) st = grow(b);
  if (st != BERTH_OK) return st;
  b->op[b->n] = op;
  b->wake[b->n] = -INFINITY;
  b->asked[b->n] = NAN;
  berth_i_ready_row(b->plan, op, row_of(b, b->n));
  b->n++;
  return BERTH_OK;
}

static void unseat(bench *b, int32_t seat) {
  int32_t last = --b->n;
  if (seat == last) return;
  b->op[seat] = b->op[last];
  b->wake[seat] = b->wake[last];
  b->asked[seat] = b->asked[last];
  memcpy(row_of(b, seat), row_of(b, last), 4 * (size_t)b->plan->devices * sizeof(double));
}

static berth_status seat_fresh(bench *b) {
  berth_plan *p = b->plan;
  berth_status st = BERTH_OK;
  for (size_t i = 0; i < p->n_fresh && st == BERTH_OK; i++) st = seat_op(b, p->fresh[i]);
  p->n_fresh = 0;
  return st;
}

/* ---- scores ---- */

static bool startable(const berth_plan *p, const double *est) {
  if (!berth_i_plan_finished(p)) return true;
  for (int32_t d = 0; d < p->devices; d++) {
    if (est[d] <= p->now) return true;
  }
  return false;
}

static void no_score(double *score, int32_t n) {
  for (int32_t d = 0; d < n; d++) score[d] = INFINITY;
}

static bool all_infinite(const double *x, int32_t n) {
  for (int32_t d = 0; d < n; d++) {
    if (x[d] != INFINITY) return false;
  }
  return true;
}

static berth_status refresh(bench *b, int32_t seat) {
  berth_plan *p = b->plan;
  size_t bytes = (size_t)p->devices * sizeof(double);
  double *ready = row_of(b, seat), *est = ready + p->devices, *eft = est + p->devices,
         *score = eft + p->devices;
  if (berth_i_plan_contended(p)) berth_i_ready_row(p, b->op[seat], ready);
  berth_i_plan_estimate(p, b->op[seat], ready, p->est, p->eft);
  bool same = b->asked[seat] == p->now && memcmp(est, p->est, bytes) == 0
              && memcmp(eft, p->eft, bytes) == 0;
  memcpy(est, p->est, bytes);
  memcpy(eft, p->eft, bytes);
  if (same) return BERTH_OK;
  if (b->wake[seat] > p->now || !startable(p, est)) {
    b->asked[seat] = NAN;
    no_score(score, p->devices);
    return BERTH_OK;
  }
  double wake;
  berth_status st;
  if ((st = berth_i_plan_score(p, b->op[seat], est, eft, score, &wake)) != BERTH_OK) return st;
  b->asked[seat] = p->now;
  b->wake[seat] =
      wake > p->now && !isinf(wake) && all_infinite(score, p->devices) ? wake : -INFINITY;
  return BERTH_OK;
}

static berth_status refresh_all(bench *b) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < b->n && st == BERTH_OK; i++) st = refresh(b, i);
  return st;
}

/* ---- choosing ---- */

static bool better(const bench *b, double score, int32_t seat, const pick *than) {
  const double *priority = b->plan->priority;
  int32_t op = b->op[seat];
  if (than->seat == BERTH_NONE || score != than->score)
    return than->seat == BERTH_NONE || score < than->score;
  int32_t other = b->op[than->seat];
  if (priority[op] != priority[other]) return priority[op] > priority[other];
  return op < other;
}

static void consider(const bench *b, int32_t seat, int32_t d, pick *best) {
  const berth_plan *p = b->plan;
  const double *est = row_of(b, seat) + p->devices, *score = est + 2 * (size_t)p->devices;
  if (score[d] == INFINITY || (berth_i_plan_finished(p) && est[d] > p->now)
      || !better(b, score[d], seat, best))
    return;
  best->seat = seat;
  best->device = d;
  best->score = score[d];
}

static pick best_on(const bench *b, int32_t d) {
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t i = 0; i < b->n; i++) consider(b, i, d, &best);
  return best;
}

static pick best_of_all(const bench *b) {
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t i = 0; i < b->n; i++) {
    for (int32_t d = 0; d < b->plan->devices; d++) consider(b, i, d, &best);
  }
  return best;
}

static berth_status take(bench *b, const pick *c) {
  int32_t op = b->op[c->seat];
  unseat(b, c->seat);
  return berth_i_plan_put(b->plan, op, c->device);
}

/* Each idle device in turn. */
static berth_status devices_choose(bench *b, bool *took) {
  for (int32_t d = 0; d < b->plan->devices; d++) {
    pick c = best_on(b, d);
    if (c.seat == BERTH_NONE) continue;
    berth_status st;
    if ((st = take(b, &c)) != BERTH_OK || (st = refresh_all(b)) != BERTH_OK) return st;
    *took = true;
  }
  return BERTH_OK;
}

/* READY_ASSIGNED knows no present: the device that gets free first and has something to take. */
static berth_status first_device_chooses(bench *b, bool *took) {
  const berth_plan *p = b->plan;
  pick best = { BERTH_NONE, BERTH_NONE, 0 };
  for (int32_t d = 0; d < p->devices; d++) {
    if (best.seat != BERTH_NONE && p->free_at[d] >= p->free_at[best.device]) continue;
    pick c = best_on(b, d);
    if (c.seat != BERTH_NONE) best = c;
  }
  if (best.seat == BERTH_NONE) return BERTH_OK;
  *took = true;
  return take(b, &best);
}

static berth_status choose(bench *b, bool *took) {
  const berth_policy *policy = &b->plan->setup->policy;
  *took = false;
  if (policy->choose == BERTH_CHOOSE_DEVICE) {
    return berth_i_plan_finished(b->plan) ? devices_choose(b, took) : first_device_chooses(b, took);
  }
  pick c = best_of_all(b);
  if (c.seat == BERTH_NONE) return BERTH_OK;
  *took = true;
  return take(b, &c);
}

/* ---- time ---- */

static double next_time(const bench *b) {
  const berth_plan *p = b->plan;
  double next = p->running.n > 0 ? p->running.at[0].key : INFINITY;
  for (int32_t i = 0; i < b->n; i++) {
    const double *est = row_of(b, i) + p->devices;
    if (b->wake[i] > p->now) next = fmin(next, b->wake[i]);
    for (int32_t d = 0; d < p->devices; d++) {
      if (est[d] > p->now) next = fmin(next, est[d]);
    }
  }
  return next;
}

static berth_status pass_time(bench *b, berth_obstacle *why) {
  double next = berth_i_plan_finished(b->plan) ? next_time(b) : INFINITY;
  if (isinf(next) || !berth_i_plan_patience(b->plan))
    return berth_i_plan_stuck(b->plan, BERTH_NONE, why);
  b->plan->now = next;
  return BERTH_OK;
}

static berth_status end_due(berth_plan *p) {
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && p->running.n > 0 && p->running.at[0].key <= p->now)
    st = berth_i_plan_next_finish(p);
  return st;
}

static berth_status step(bench *b, berth_obstacle *why) {
  berth_status st;
  if ((st = refresh_all(b)) != BERTH_OK) return st;
  bool took;
  if ((st = choose(b, &took)) != BERTH_OK || took) return st;
  return pass_time(b, why);
}

berth_status berth_i_choose_score(berth_plan *p, berth_obstacle *why) {
  bench b = { 0 };
  b.plan = p;
  berth_status st;
  do {
    if ((st = berth_i_plan_tick(p)) != BERTH_OK || (st = end_due(p)) != BERTH_OK
        || (st = seat_fresh(&b)) != BERTH_OK)
      break;
    if (p->placed == p->n) break;
    st = step(&b, why);
  } while (st == BERTH_OK);
  berth_i_pool_free(&b.pool);
  return st;
}
