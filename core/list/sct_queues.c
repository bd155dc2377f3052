/* The candidates of m-SCT: queues for each device, by the time at which their inputs arrive there.
 * Structure: four heaps a device (open, waiting, not_urgent, blocked; sct_internal.h).
 * Invariant: keys are never too large, since channels only get busier; an entry is corrected, or
 * dropped as stale, when it reaches the top. So an op may have several entries on one device; a
 * heap with more than four times as many entries as there are candidates is compacted.
 * O(log entries) amortised for each entry that is pushed. */
#include "sct_internal.h"

bool berth_i_sct_stale(const berth_i_sct *s, int32_t op, int32_t device) {
  return s->plan->device[op] != BERTH_NONE || !berth_i_plan_may(s->plan, op, device);
}

static bool unplaced(const void *ud, int32_t op) {
  const berth_plan *p = ud;
  return p->device[op] == BERTH_NONE;
}

static void compact(berth_i_sct *s, berth_i_queue *q) {
  if (q->n > 64 + 4 * (size_t)s->n) berth_i_queue_filter(q, unplaced, s->plan);
}

berth_status berth_i_sct_push(berth_i_sct *s, int32_t d, int32_t op, double ready) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  if (ready <= p->now)
    return berth_i_queue_push(&p->pool, &k->open, -p->priority[op], 0, op);
  return berth_i_queue_push(&p->pool, &k->waiting, ready, -p->priority[op], op);
}

/* ---- the top of the queues ---- */

static berth_status block(berth_i_sct *s, int32_t d, int32_t op) {
  if (!s->frees) return BERTH_OK; /* what does not fit now never will */
  berth_i_plan_count_refusal(s->plan, op);
  return berth_i_queue_push(&s->plan->pool, &s->queues[d].blocked,
                            berth_i_store_least(s->plan, op), 0, op);
}

berth_status berth_i_sct_check_open(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_queue *q = &s->queues[d].open;
  berth_status st = BERTH_OK;
  /* inputs may arrive later than estimated (channels), or may have arrived before now (the free
   * memory depends on the start) */
  bool exact = berth_i_plan_contended(p)
               || (p->setup->rule == BERTH_I_RULE_PROFILE && !p->setup->clamp);
  while (st == BERTH_OK && q->n > 0) {
    int32_t op = q->at[0].item;
    if (!berth_i_sct_stale(s, op, d)) {
      double ready = exact ? berth_i_ready_at(p, op, d) : 0, open_at = berth_i_plan_open_at(p, d);
      bool late = ready > p->now;
      if (!late && berth_i_store_fits(p, op, d, ready > open_at ? ready : open_at)) break;
      st = late ? berth_i_sct_push(s, d, op, ready) : block(s, d, op);
    }
    berth_i_queue_pop(q);
  }
  return st;
}

berth_status berth_i_sct_update(berth_i_sct *s, int32_t d) {
  berth_plan *p = s->plan;
  berth_i_sct_queues *k = &s->queues[d];
  berth_i_queue *q = &k->waiting;
  compact(s, &k->open);
  compact(s, q);
  /* 1. Ops whose inputs have arrived become open. */
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0 && q->at[0].key <= p->now) {
    int32_t op = berth_i_queue_pop(q).item;
    if (!berth_i_sct_stale(s, op, d)) st = berth_i_sct_push(s, d, op, p->now);
  }
  /* 2. The top of open can run now. */
  if (st == BERTH_OK) st = berth_i_sct_check_open(s, d);
  /* 3. The top of waiting can start at its key, and not before. */
  while (st == BERTH_OK && q->n > 0) {
    berth_i_entry e = q->at[0];
    if (!berth_i_sct_stale(s, e.item, d)) {
      double ready = berth_i_plan_contended(p) ? berth_i_ready_at(p, e.item, d) : e.key;
      if (ready <= e.key && berth_i_store_fits(p, e.item, d, e.key)) break;
      st = ready > e.key ? berth_i_sct_push(s, d, e.item, ready) : block(s, d, e.item);
    }
    berth_i_queue_pop(q);
  }
  return st;
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

berth_status berth_i_sct_after(berth_i_sct *s, int32_t op) {
  berth_plan *p = s->plan;
  const berth_graph *g = p->g;
  int32_t d = p->device[op];
  berth_status st = BERTH_OK;
  /* 1. The op leaves the candidates; the last one moves to its position. */
  int32_t position = s->position[op], moved = s->candidate[--s->n];
  s->candidate[position] = moved;
  s->position[moved] = position;
  s->position[op] = BERTH_NONE;
  /* 2. Each tensor that was sent for it may let other readers start earlier on its device. */
  for (size_t i = 0; i < p->channels.n_sent; i++) {
    int32_t t = p->channels.sent[i];
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1] && st == BERTH_OK; k++) {
      int32_t reader = g->use[k];
      if (s->position[reader] == BERTH_NONE || berth_i_sct_stale(s, reader, d)) continue;
      double ready = berth_i_ready_at(p, reader, d);
      if (!isinf(ready)) st = berth_i_sct_push(s, d, reader, ready);
    }
  }
  /* 3. Blocked ops are evaluated again once memory is freed; under PROFILE an op may also fit at a
   *    later start. */
  if (!p->store.released && p->setup->rule != BERTH_I_RULE_PROFILE) return st;
  p->store.released = false;
  for (int32_t e = 0; e < p->devices; e++) {
    berth_i_queue *q = &s->queues[e].blocked;
    while (st == BERTH_OK && q->n > 0
           && (!berth_i_store_full(p, e, q->at[0].key) || berth_i_sct_stale(s, q->at[0].item, e))) {
      int32_t back = berth_i_queue_pop(q).item;
      if (!berth_i_sct_stale(s, back, e))
        st = berth_i_sct_push(s, e, back, berth_i_ready_at(p, back, e));
    }
  }
  return st;
}
