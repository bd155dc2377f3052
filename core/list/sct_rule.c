/* The rule of m-SCT in continuous time. From the end of an op on, its device is kept for the
 * favourite child, as soon as all producers of that are placed and as long as it can start there no
 * later than anywhere else. Until it starts nothing else runs there but what is urgent: ops whose
 * inputs are on every device by now, and for which no other idle device is left.
 * Invariant: no device is idle while an urgent op waits that fits on it; the guarantees
 * (bound/guarantee.c) rest on it.
 * O(devices + log candidates) an offer without contention.
 * Source: Hanen, Munier, "An approximation algorithm for scheduling dependent tasks on m processors
 * with small communication delays", 1995 (SCT); Jeon et al. 2020 (Baechi), m-SCT. */
#include "sct_internal.h"

enum { MOST_NOT_URGENT = 32 };

/* ---- the favourite that a device waits for ---- */

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
    if (berth_i_store_fits(s->plan, op, e, start)) return true;
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
  if (isinf(start) || !berth_i_store_fits(p, f, d, start) || earlier_elsewhere(s, f, d, *here))
    return BERTH_NONE;
  return f;
}

/* ---- urgent ops ---- */

/* Back to `open`: all, or what has become urgent. */
static berth_status bring_back(berth_i_sct *s, int32_t d, double until) {
  berth_i_queue *q = &s->queues[d].not_urgent;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0 && q->at[0].key <= until) {
    int32_t op = berth_i_queue_pop(q).item;
    if (!berth_i_sct_stale(s, op, d)) st = berth_i_sct_push(s, d, op, -INFINITY);
  }
  return st;
}

/* @param found an urgent op other than the favourite is at the top of open; the ops before it have
 *        moved to not_urgent */
static berth_status find_urgent(berth_i_sct *s, int32_t d, int32_t child, bool *found) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  berth_status st = bring_back(s, d, p->now);
  *found = false;
  if (st == BERTH_OK) st = berth_i_sct_check_open(s, d);
  /* without contention few ops have their inputs here but not yet everywhere; channels can make
   * that many */
  while (st == BERTH_OK && k->open.n > 0 && (s->everywhere || k->not_urgent.n < MOST_NOT_URGENT)) {
    int32_t op = k->open.at[0].item;
    double from = INFINITY;
    if (op != child && s->everywhere) {
      from = s->everywhere[op];
    } else if (op != child) {
      berth_i_ready_row(p, op, p->ready);
      from = berth_i_sct_latest(p, op);
    }
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

berth_status berth_i_sct_offer(berth_i_sct *s, int32_t d, berth_i_offer *out) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  /* 1. The favourite child that the device is kept for. With another one, or none, nothing is held
   *    back any more. */
  double here = 0;
  int32_t child = awaited(s, d, &here);
  berth_status st;
  if (child != k->kept && (st = bring_back(s, d, INFINITY)) != BERTH_OK) return st;
  k->kept = child;
  if ((st = berth_i_sct_update(s, d)) != BERTH_OK) return st;
  out->wake = next_of(&k->waiting);
  /* 2. A device that is not kept offers the first op that can run now. */
  if (child == BERTH_NONE) {
    if (k->open.n > 0) out->op = k->open.at[0].item;
    return BERTH_OK;
  }
  /* 3. A kept device offers an urgent op, unless the favourite can start now and has a higher
   *    priority; else the favourite, if it can start now. */
  bool urgent, now = s->position[child] != BERTH_NONE && here <= p->now;
  if ((st = find_urgent(s, d, child, &urgent)) != BERTH_OK) return st;
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
