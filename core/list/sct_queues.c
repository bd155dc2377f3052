/* What could run where: queues of candidates for each device, by the time that their inputs are
 * there. An entry is corrected, or dropped as stale, when it reaches the top. */
#include "sct_internal.h"

bool berth_i_sct_stale(const berth_i_sct *s, int32_t op, int32_t device) {
  return s->plan->device[op] != BERTH_NONE || !berth_i_plan_may(s->plan, op, device);
}

bool berth_i_sct_fits(const berth_i_sct *s, int32_t op, int32_t device, double start) {
  return berth_i_store_fits(s->plan, op, device, start);
}

static bool unplaced(const void *ud, int32_t op) {
  const berth_plan *p = ud;
  return p->device[op] == BERTH_NONE;
}

/* Entries of ops that went elsewhere must not pile up. */
static void compact(berth_i_sct *s, berth_i_queue *q) {
  if (q->n > 64 + 4 * (size_t)s->n) berth_i_queue_filter(q, unplaced, s->plan);
}

static berth_status push_open(berth_i_sct *s, int32_t d, int32_t op) {
  return berth_i_queue_push(&s->plan->pool, &s->queues[d].open, -s->plan->priority[op], 0, op);
}

berth_status berth_i_sct_push(berth_i_sct *s, int32_t d, int32_t op, double ready) {
  berth_plan *p = s->plan;
  if (ready <= p->now) return push_open(s, d, op);
  return berth_i_queue_push(&p->pool, &s->queues[d].waiting, ready, -p->priority[op], op);
}

/* ---- the top of the queues ---- */

static berth_status block(berth_i_sct *s, int32_t d, int32_t op) {
  if (!s->frees) return BERTH_OK; /* what does not fit now never will */
  berth_i_plan_count_refusal(s->plan, op);
  return berth_i_queue_push(&s->plan->pool, &s->queues[d].blocked,
                            berth_i_store_least(s->plan, op), 0, op);
}

/* Its inputs may come later than estimated (channels), or may have come earlier than now (the free
 * memory depends on it). */
static bool needs_ready(const berth_plan *p) {
  return berth_i_plan_contended(p) || (p->setup->rule == BERTH_I_RULE_PROFILE && !p->setup->clamp);
}

static double start_at(const berth_plan *p, int32_t d, double ready) {
  double open_at = berth_i_plan_open_at(p, d);
  return ready > open_at ? ready : open_at;
}

berth_status berth_i_sct_check_open(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_queue *q = &s->queues[d].open;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0) {
    int32_t op = q->at[0].item;
    if (!berth_i_sct_stale(s, op, d)) {
      double ready = needs_ready(p) ? berth_i_ready_at(p, op, d) : 0;
      bool late = ready > p->now;
      if (!late && berth_i_sct_fits(s, op, d, start_at(p, d, ready))) break;
      st = late ? berth_i_sct_push(s, d, op, ready) : block(s, d, op);
    }
    berth_i_queue_pop(q);
  }
  return st;
}

/* What has arrived becomes open. */
static berth_status open_due(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_queue *q = &s->queues[d].waiting;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0 && q->at[0].key <= p->now) {
    int32_t op = berth_i_queue_pop(q).item;
    if (!berth_i_sct_stale(s, op, d)) st = push_open(s, d, op);
  }
  return st;
}

/* Leaves an op at the top that can start when its entry says, and not before. */
static berth_status check_waiting(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_queue *q = &s->queues[d].waiting;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0) {
    berth_i_entry e = q->at[0];
    if (!berth_i_sct_stale(s, e.item, d)) {
      double ready = berth_i_plan_contended(p) ? berth_i_ready_at(p, e.item, d) : e.key;
      if (ready <= e.key && berth_i_sct_fits(s, e.item, d, e.key)) break;
      st = ready > e.key ? berth_i_sct_push(s, d, e.item, ready) : block(s, d, e.item);
    }
    berth_i_queue_pop(q);
  }
  return st;
}

berth_status berth_i_sct_update(berth_i_sct *s, int32_t d) {
  berth_i_sct_queues *k = &s->queues[d];
  compact(s, &k->open);
  compact(s, &k->waiting);
  berth_status st;
  if ((st = open_due(s, d)) != BERTH_OK || (st = berth_i_sct_check_open(s, d)) != BERTH_OK)
    return st;
  return check_waiting(s, d);
}

/* ---- candidates ---- */

double berth_i_sct_latest(const berth_plan *p, int32_t op) {
  double most = 0;
  for (int32_t d = 0; d < p->devices; d++) {
    if (berth_i_plan_may(p, op, d)) most = fmax(most, p->ready[d]);
  }
  return most;
}

berth_status berth_i_sct_admit(berth_i_sct *s, int32_t op) {
  berth_plan *p = s->plan;
  berth_status st = berth_i_plan_select(p, op);
  if (st != BERTH_OK) return st;
  s->position[op] = s->n;
  s->candidate[s->n++] = op;
  berth_i_ready_row(p, op, p->ready);
  if (s->everywhere) s->everywhere[op] = berth_i_sct_latest(p, op);
  for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++) {
    if (!isinf(p->ready[d]) && berth_i_plan_may(p, op, d))
      st = berth_i_sct_push(s, d, op, p->ready[d]);
  }
  return st;
}

static void leave(berth_i_sct *s, int32_t op) {
  int32_t position = s->position[op], moved = s->candidate[--s->n];
  s->candidate[position] = moved;
  s->position[moved] = position;
  s->position[op] = BERTH_NONE;
}

/* Other candidates that read a tensor which has just been sent to d. */
static berth_status push_readers(berth_i_sct *s, int32_t tensor, int32_t d) {
  berth_plan *p = s->plan;
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  for (int32_t i = g->use_at[tensor]; i < g->use_at[tensor + 1] && st == BERTH_OK; i++) {
    int32_t op = g->use[i];
    if (s->position[op] == BERTH_NONE || berth_i_sct_stale(s, op, d)) continue;
    double ready = berth_i_ready_at(p, op, d);
    if (!isinf(ready)) st = berth_i_sct_push(s, d, op, ready);
  }
  return st;
}

static berth_status retry_blocked(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_queue *q = &s->queues[d].blocked;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0
         && (!berth_i_store_full(p, d, q->at[0].key) || berth_i_sct_stale(s, q->at[0].item, d))) {
    int32_t op = berth_i_queue_pop(q).item;
    if (!berth_i_sct_stale(s, op, d)) st = berth_i_sct_push(s, d, op, berth_i_ready_at(p, op, d));
  }
  return st;
}

berth_status berth_i_sct_after(berth_i_sct *s, int32_t op) {
  berth_plan *p = s->plan;
  berth_status st = BERTH_OK;
  leave(s, op);
  for (size_t i = 0; i < p->channels.n_sent && st == BERTH_OK; i++)
    st = push_readers(s, p->channels.sent[i], p->device[op]);
  /* under PROFILE an op may also fit at a later start */
  if (!p->store.released && p->setup->rule != BERTH_I_RULE_PROFILE) return st;
  p->store.released = false;
  for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++) st = retry_blocked(s, d);
  return st;
}

