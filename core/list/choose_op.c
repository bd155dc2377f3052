/* Choose OP: the op of highest priority, then the best device for it. Structure: one heap of
 * candidates by priority, a heap of ops that the policy defers, by time, and a heap of ops that fit
 * nowhere now, by bytes. Invariant: every candidate that is not placed is in exactly one of them.
 * O(ops log + ops x devices) and the estimates; under TIE_DOPPLER O(candidates) an op. */
#include "engine_internal.h"
#include "base/sort_internal.h"

/* With random ties a candidate ranks by the rank of the latest op of its priority
 * that was taken, plus an exponential delay: the least rank is uniform among those of one priority,
 * however long each has waited (the exponential has no memory), and one heap is enough. */
typedef struct ready_list {
  berth_plan *plan;
  berth_i_queue queue;    /* (-priority, rank, op) */
  int32_t *list;          /* DOPPLER: in order of becoming candidates */
  size_t n_list, cap_list;
  int32_t *of;            /* [ops] RANDOM: number of its priority */
  double *base;           /* [ops] RANDOM: by number, rank of the latest op taken */
  berth_i_queue deferred; /* the policy takes no device now: (time to retry, -, op) */
  berth_i_queue blocked;  /* cannot fit now: (bytes needed, -, op) */
} ready_list;

static void number_priorities(ready_list *k, berth_i_keyed *r) {
  const berth_plan *p = k->plan;
  int32_t number = 0;
  for (int32_t i = 0; i < p->n; i++) {
    r[i].key = p->priority[i];
    r[i].id = i;
  }
  berth_i_sort_keyed(r, p->n);
  for (int32_t i = 0; i < p->n; i++) {
    if (i > 0 && r[i].key != r[i - 1].key) number++;
    k->of[r[i].id] = number;
  }
}

static berth_status init_ready_list(ready_list *k, berth_plan *p) {
  size_t n = (size_t)p->n;
  memset(k, 0, sizeof *k);
  k->plan = p;
  if (p->setup->tie != BERTH_I_TIE_RANDOM) return BERTH_OK;
  k->of = berth_i_pool_alloc(&p->pool, n, sizeof *k->of);
  k->base = berth_i_pool_zalloc(&p->pool, n, sizeof *k->base);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  berth_i_keyed *r;
  if (!(r = berth_i_alloc(p->ctx, n, sizeof *r))) return berth_i_nomem(p->ctx);
  number_priorities(k, r);
  berth_i_free(p->ctx, r, n, sizeof *r);
  return BERTH_OK;
}

static double draw_rank(ready_list *k, int32_t op) {
  if (!k->of) return 0;
  return k->base[k->of[op]] - log1p(-berth_rng_uniform(&k->plan->rng));
}

static berth_status insert(ready_list *k, int32_t op) {
  berth_plan *p = k->plan;
  if (p->setup->tie != BERTH_I_TIE_DOPPLER) {
    return berth_i_queue_push(&p->pool, &k->queue, -p->priority[op], draw_rank(k, op), op);
  }
  berth_status st =
      berth_i_pool_grow(&p->pool, (void **)&k->list, &k->cap_list, k->n_list + 1, sizeof *k->list);
  if (st == BERTH_OK) k->list[k->n_list++] = op;
  return st;
}

static berth_status insert_fresh(ready_list *k) {
  berth_plan *p = k->plan;
  berth_status st = BERTH_OK;
  for (size_t i = 0; i < p->n_fresh && st == BERTH_OK; i++) {
    st = berth_i_plan_select(p, p->fresh[i]);
    if (st == BERTH_OK) st = insert(k, p->fresh[i]);
  }
  p->n_fresh = 0;
  return st;
}

/* Published: the number of maxima is drawn from, but the candidate list is indexed.
 * O(candidates) */
static int32_t pick_listed(ready_list *k) {
  const double *priority = k->plan->priority;
  double most = -INFINITY;
  int32_t maxima = 0;
  size_t i;
  for (i = 0; i < k->n_list; i++) most = fmax(most, priority[k->list[i]]);
  for (i = 0; i < k->n_list; i++) maxima += priority[k->list[i]] == most;
  i = (size_t)berth_rng_below(&k->plan->rng, maxima);
  int32_t op = k->list[i];
  k->n_list--;
  memmove(k->list + i, k->list + i + 1, (k->n_list - i) * sizeof *k->list);
  return op;
}

static int32_t pick(ready_list *k) {
  if (k->n_list > 0) return pick_listed(k);
  berth_i_entry e = berth_i_queue_pop(&k->queue);
  if (k->of) k->base[k->of[e.item]] = e.second;
  return e.item;
}

/* @return BERTH_NONE: nowhere */
static int32_t best_device(berth_plan *p, const double *score) {
  bool draw = p->setup->tie == BERTH_I_TIE_RANDOM || p->setup->tie == BERTH_I_TIE_DOPPLER;
  int32_t best = BERTH_NONE, ties = 0;
  for (int32_t d = 0; d < p->devices; d++) {
    if (score[d] == INFINITY || (best != BERTH_NONE && score[d] > score[best])) continue;
    ties = best != BERTH_NONE && score[d] == score[best] ? ties + 1 : 1;
    if (ties == 1 || (draw && berth_rng_below(&p->rng, ties) == 0)) best = d;
  }
  return best;
}

static bool fits_nowhere(const berth_plan *p) {
  for (int32_t d = 0; d < p->devices; d++) {
    if (!isinf(p->est[d])) return false;
  }
  return true;
}

/* No device for it now. Where memory is freed it may fit later, and a policy may accept it
 * later. */
static berth_status defer(ready_list *k, int32_t op, double wake, berth_obstacle *why) {
  berth_plan *p = k->plan;
  berth_i_rule rule = p->setup->rule;
  bool frees = rule == BERTH_I_RULE_PROFILE || rule == BERTH_I_RULE_BAECHI_TF;
  if (fits_nowhere(p) ? !frees : !berth_i_plan_finished(p)) return berth_i_plan_stuck(p, op, why);
  if (!fits_nowhere(p))
    return berth_i_queue_push(&p->pool, &k->deferred, wake > p->now ? wake : INFINITY, 0, op);
  berth_i_plan_count_refusal(p, op);
  return berth_i_queue_push(&p->pool, &k->blocked, berth_i_store_least(p, op), 0, op);
}

static berth_status place_op(ready_list *k, int32_t op, berth_obstacle *why) {
  berth_plan *p = k->plan;
  berth_i_ready_row(p, op, p->ready);
  berth_i_plan_estimate(p, op, p->ready, p->est, p->eft);
  double wake;
  berth_status st;
  if ((st = berth_i_plan_score(p, op, p->est, p->eft, p->score, &wake)) != BERTH_OK) return st;
  int32_t device = best_device(p, p->score);
  return device != BERTH_NONE ? berth_i_plan_put(p, op, device) : defer(k, op, wake, why);
}

static bool any_idle(const berth_plan *p) {
  for (int32_t d = 0; d < p->devices; d++) {
    if (p->free_at[d] <= p->now) return true;
  }
  return false;
}

/* Deferred ops that are due enter the list; `all`: also those without a time. */
static berth_status wake_up(ready_list *k, bool all) {
  berth_i_queue *q = &k->deferred;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0
         && (q->at[0].key <= k->plan->now || (all && isinf(q->at[0].key)))) {
    st = insert(k, berth_i_queue_pop(q).item);
  }
  return st;
}

/* Blocked ops that may fit on some device. */
static berth_status retry_blocked(ready_list *k) {
  berth_plan *p = k->plan;
  berth_i_queue *q = &k->blocked;
  berth_status st = BERTH_OK;
  for (int32_t d = 0; d < p->devices; d++) {
    while (st == BERTH_OK && q->n > 0 && !berth_i_store_full(p, d, q->at[0].key))
      st = insert(k, berth_i_queue_pop(q).item);
  }
  return st;
}

/* To the next time at which something may change: an op finishes, or a deferred one is due. */
static berth_status pass_time(ready_list *k, berth_obstacle *why) {
  berth_plan *p = k->plan;
  size_t running = p->running.n;
  double finish = running > 0 ? p->running.at[0].key : INFINITY,
         wake = k->deferred.n > 0 ? k->deferred.at[0].key : INFINITY;
  berth_status st = BERTH_OK;
  if ((isinf(finish) && isinf(wake)) || !berth_i_plan_may_advance(p))
    return berth_i_plan_stuck(p, BERTH_NONE, why);
  p->now = fmax(p->now, fmin(finish, wake));
  while (st == BERTH_OK && p->running.n > 0 && p->running.at[0].key <= p->now)
    st = berth_i_plan_next_finish(p);
  bool finished = p->running.n < running;
  if (st == BERTH_OK) st = wake_up(k, finished);
  return st == BERTH_OK && finished ? retry_blocked(k) : st;
}

static berth_status run(ready_list *k, berth_obstacle *why) {
  berth_plan *p = k->plan;
  berth_status st;
  while ((st = berth_i_plan_tick(p)) == BERTH_OK) {
    /* 1. New candidates. */
    if ((st = insert_fresh(k)) != BERTH_OK || p->placed == p->n) break;
    if (p->retries_left < 0) return berth_i_plan_give_up(p, why);
    bool finished = berth_i_plan_finished(p);
    /* 2. READY_FINISHED: an op of no length ends at once. */
    if (finished && p->running.n > 0 && p->running.at[0].key <= p->now) {
      if ((st = berth_i_plan_next_finish(p)) != BERTH_OK) break;
      continue;
    }
    /* 3. READY_ASSIGNED: memory was freed since the last op. */
    if (!finished && p->store.released) {
      p->store.released = false;
      if ((st = wake_up(k, true)) != BERTH_OK || (st = retry_blocked(k)) != BERTH_OK) break;
    }
    /* 4. The op of highest priority goes to its best device; or nothing can start now. */
    bool any = k->queue.n > 0 || k->n_list > 0;
    if (any && (!finished || any_idle(p))) st = place_op(k, pick(k), why);
    else st = finished ? pass_time(k, why) : berth_i_plan_stuck(p, BERTH_NONE, why);
    if (st != BERTH_OK) break;
  }
  return st;
}

berth_status berth_i_choose_op(berth_plan *p, berth_obstacle *why) {
  ready_list k;
  berth_status st = init_ready_list(&k, p);
  if (st == BERTH_OK) st = run(&k, why);
  return st;
}
