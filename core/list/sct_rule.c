/* Our rule of m-SCT. From the end of an op on, its device is kept for the favourite child, as soon
 * as all producers of that are placed and as long as it can start there no later than anywhere
 * else. Till it starts nothing else runs there but what is urgent: ops whose inputs are on every
 * device by now, and for which no other idle device is left. So no device is idle while an urgent
 * op waits that fits on it, which is what the guarantees rest on. */
#include "sct_internal.h"

enum { MOST_NOT_URGENT = 32 };

/* ---- is it worth waiting? ---- */

static bool all_producers_placed(const berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (p->device[g->producer[g->in[i]]] == BERTH_NONE) return false;
  }
  for (int32_t i = g->after ? g->after_at[op] : 0; g->after && i < g->after_at[op + 1]; i++) {
    if (p->collectives.left[g->after[i]] > 0) return false; /* its end is not known yet */
  }
  return true;
}

/* Could it start anywhere else before `here`? */
static bool earlier_elsewhere(const berth_i_sct *s, int32_t op, int32_t device, double here) {
  const berth_plan *p = s->plan;
  for (int32_t e = 0; e < p->devices; e++) {
    double start = fmax(p->ready[e], berth_i_plan_open_at(p, e));
    if (e == device || fmax(start, p->now) >= here || !berth_i_plan_may(p, op, e)) continue;
    if (berth_i_sct_fits(s, op, e, start)) return true;
  }
  return false;
}

/* @return the favourite that the device waits for, or can run now; BERTH_NONE: none. @param here
 *         when it starts */
static int32_t awaited(const berth_i_sct *s, int32_t d, double *here) {
  berth_plan *p = s->plan;
  int32_t last = p->last[d], f = last == BERTH_NONE ? BERTH_NONE : s->favourite[last];
  if (f == BERTH_NONE || berth_i_sct_stale(s, f, d) || !all_producers_placed(p, f))
    return BERTH_NONE;
  berth_i_ready_row(p, f, p->ready);
  double start = fmax(p->ready[d], berth_i_plan_open_at(p, d));
  *here = fmax(start, p->now);
  if (isinf(start) || !berth_i_sct_fits(s, f, d, start) || earlier_elsewhere(s, f, d, *here))
    return BERTH_NONE;
  return f;
}

/* ---- what is urgent ---- */

static double everywhere(const berth_i_sct *s, int32_t op) {
  berth_plan *p = s->plan;
  if (s->everywhere) return s->everywhere[op];
  berth_i_ready_row(p, op, p->ready);
  return berth_i_sct_latest(p, op);
}

/* Back to `open`: all, or what has become urgent. */
static berth_status bring_back(berth_i_sct *s, int32_t d, double until) {
  berth_i_sct_queues *k = &s->queues[d];
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->not_urgent.n > 0 && k->not_urgent.at[0].key <= until) {
    int32_t op = berth_i_queue_pop(&k->not_urgent).item;
    if (!berth_i_sct_stale(s, op, d)) st = berth_i_sct_push(s, d, op, -INFINITY);
  }
  return st;
}

/* Without contention few ops are here but not yet everywhere; channels can make that many. */
static bool may_search(const berth_i_sct *s, const berth_i_sct_queues *k) {
  return k->open.n > 0 && (s->everywhere || k->not_urgent.n < MOST_NOT_URGENT);
}

/* @param found an urgent op other than the favourite is at the top of open; what was before it has
 *        moved to not_urgent */
static berth_status find_urgent(berth_i_sct *s, int32_t d, int32_t child, bool *found) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  berth_status st = bring_back(s, d, p->now);
  *found = false;
  if (st == BERTH_OK) st = berth_i_sct_check_open(s, d);
  while (st == BERTH_OK && may_search(s, k)) {
    int32_t op = k->open.at[0].item;
    double from = op == child ? INFINITY : everywhere(s, op);
    *found = from <= p->now;
    if (*found) break;
    berth_i_queue_pop(&k->open);
    st = berth_i_queue_push(&p->pool, &k->not_urgent, from, -p->priority[op], op);
    if (st == BERTH_OK) st = berth_i_sct_check_open(s, d);
  }
  return st;
}

/* ---- the offer ---- */

static double next_of(const berth_i_queue *q) { return q->n > 0 ? q->at[0].key : INFINITY; }

static berth_status offer_kept(berth_i_sct *s, int32_t d, int32_t child, double here,
                             berth_i_offer *out) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  bool urgent, now = s->position[child] != BERTH_NONE && here <= p->now;
  berth_status st = find_urgent(s, d, child, &urgent);
  if (st != BERTH_OK) return st;
  if (urgent && !(now && p->priority[k->open.at[0].item] <= p->priority[child])) {
    out->op = k->open.at[0].item;
    out->last = true;
  } else if (now) {
    out->op = child;
  }
  out->wake = fmin(next_of(&k->waiting), next_of(&k->not_urgent));
  if (here > p->now) out->wake = fmin(out->wake, here);
  return BERTH_OK;
}

berth_status berth_i_sct_offer(berth_i_sct *s, int32_t d, berth_i_offer *out) {
  berth_i_sct_queues *k = &s->queues[d];
  double here = 0;
  int32_t child = awaited(s, d, &here);
  berth_status st;
  if (child != k->kept && (st = bring_back(s, d, INFINITY)) != BERTH_OK) return st;
  k->kept = child;
  if ((st = berth_i_sct_update(s, d)) != BERTH_OK) return st;
  if (child != BERTH_NONE) return offer_kept(s, d, child, here, out);
  if (k->open.n > 0) out->op = k->open.at[0].item;
  out->wake = next_of(&k->waiting);
  return BERTH_OK;
}
