/* Choose PAIR by est or by eft, without looking at every candidate: each device keeps heaps of the ops it could take. An op waits until
 * its inputs can be there by the time the device is free; then it is open, and all open ops have the same est, so that priority
 * (or op time) decides. Keys are never too large: channels only get busier, which makes estimates grow, so an entry is corrected when
 * it reaches the top. The one exception, a tensor that lands for another op and spares this one a transfer, pushes the op anew. */
#include "engine_internal.h"

typedef struct desk {
  berth_i_queue open;    /* est: (-priority, 0, op); eft: (op time, -priority, op) */
  berth_i_queue waiting; /* est: (ready, -priority, op); eft: (ready + op time, -priority, op), left there when the op opens */
  berth_i_queue coming;  /* eft only: (ready, 0, op) */
  berth_i_queue parked;  /* no room at the moment, by bytes needed: (bytes, 0, op) */
  berth_i_entry best;    /* (score, -priority, op); item BERTH_NONE: nothing to run here */
  bool known;
} desk;

typedef struct hall {
  berth_plan *plan;
  desk *desks;
  bool by_eft;
  bool frees;            /* memory may come back */
  int32_t live;          /* candidates that are not placed */
} hall;

static berth_i_queue *arrivals(hall *h, desk *k) { return h->by_eft ? &k->coming : &k->waiting; }

/* ---- entries ---- */

static berth_status push_open(hall *h, desk *k, int32_t d, int32_t op) {
  berth_plan *p = h->plan;
  if (!h->by_eft) return berth_i_queue_push(p->ctx, &k->open, -p->priority[op], 0, op);
  return berth_i_queue_push(p->ctx, &k->open, berth_i_plan_length(p, op, d), -p->priority[op], op);
}

static berth_status push_waiting(hall *h, desk *k, int32_t d, int32_t op, double ready) {
  berth_plan *p = h->plan;
  double key = h->by_eft ? ready + berth_i_plan_length(p, op, d) : ready;
  return berth_i_queue_push(p->ctx, &k->waiting, key, -p->priority[op], op);
}

static berth_status push_coming(hall *h, desk *k, int32_t d, int32_t op, double ready) {
  return h->by_eft ? berth_i_queue_push(h->plan->ctx, &k->coming, ready, 0, op) : push_waiting(h, k, d, op, ready);
}

static berth_status push_early(hall *h, desk *k, int32_t d, int32_t op, double ready) {
  berth_status st = push_coming(h, k, d, op, ready);
  return st == BERTH_OK && h->by_eft ? push_waiting(h, k, d, op, ready) : st;
}

static berth_status push(hall *h, int32_t d, int32_t op, double ready) {
  desk *k = &h->desks[d];
  k->known = false;
  return ready > berth_i_plan_open_at(h->plan, d) ? push_early(h, k, d, op, ready) : push_open(h, k, d, op);
}

static bool dead(const hall *h, int32_t d, int32_t op) {
  return h->plan->device[op] != BERTH_NONE || !berth_i_plan_may(h->plan, op, d);
}

static bool unplaced(const void *ud, int32_t op) {
  const berth_plan *p = ud;
  return p->device[op] == BERTH_NONE;
}

/* Entries of ops that went elsewhere must not pile up. */
static void tidy(hall *h, berth_i_queue *q) {
  if (q->n > 64 + 4 * (size_t)h->live) berth_i_queue_filter(q, unplaced, h->plan);
}

/* ---- the best of one device ---- */

static berth_status park(hall *h, desk *k, int32_t op) {
  if (!h->frees) return BERTH_OK; /* what does not fit now never will */
  return berth_i_queue_push(h->plan->ctx, &k->parked, berth_i_store_least(h->plan, op), 0, op);
}

static bool fits(hall *h, int32_t d, int32_t op, double start) {
  return h->plan->setup->rule == BERTH_I_RULE_NONE || berth_i_store_missing(h->plan, op, d, start) <= 0;
}

/* Opens what has arrived by the time that the device is free. */
static berth_status settle(hall *h, desk *k, int32_t d) {
  berth_i_queue *q = arrivals(h, k);
  double open_at = berth_i_plan_open_at(h->plan, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0 && q->at[0].key <= open_at) {
    int32_t op = berth_i_queue_pop(q).item;
    double ready = 0;
    if (dead(h, d, op)) continue;
    if (berth_i_plan_contended(h->plan)) ready = berth_i_ready_at(h->plan, op, d);
    st = ready > open_at ? push_coming(h, k, d, op, ready) : push_open(h, k, d, op);
  }
  return st;
}

/* Leaves an op that can start as soon as the device is free at the top of open, or empties it. */
static berth_status check_open(hall *h, desk *k, int32_t d) {
  berth_plan *p = h->plan;
  double open_at = berth_i_plan_open_at(p, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->open.n > 0) {
    int32_t op = k->open.at[0].item;
    double ready = 0;
    if (!dead(h, d, op)) {
      if (berth_i_plan_contended(p)) ready = berth_i_ready_at(p, op, d);
      if (ready <= open_at && fits(h, d, op, open_at)) break;
      st = ready > open_at ? push_early(h, k, d, op, ready) : park(h, k, op);
    }
    berth_i_queue_pop(&k->open);
  }
  return st;
}

static berth_status recheck_waiting(hall *h, desk *k, int32_t d, int32_t op, double ready, double length, bool *stands) {
  berth_i_entry e = k->waiting.at[0];
  double key = h->by_eft ? ready + length : ready;
  *stands = key <= e.key && fits(h, d, op, ready);
  if (*stands) return BERTH_OK;
  berth_i_queue_pop(&k->waiting);
  return key > e.key ? push_waiting(h, k, d, op, ready) : park(h, k, op);
}

static berth_status check_waiting(hall *h, desk *k, int32_t d) {
  berth_plan *p = h->plan;
  double open_at = berth_i_plan_open_at(p, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->waiting.n > 0) {
    int32_t op = k->waiting.at[0].item;
    bool exact = !h->by_eft && !berth_i_plan_contended(p), stands = false;
    double ready = exact ? k->waiting.at[0].key : 0;
    if (dead(h, d, op)) {
      berth_i_queue_pop(&k->waiting);
      continue;
    }
    if (!exact) ready = berth_i_ready_at(p, op, d);
    if (h->by_eft && ready <= open_at) { /* opened meanwhile */
      berth_i_queue_pop(&k->waiting);
      continue;
    }
    st = recheck_waiting(h, k, d, op, ready, h->by_eft ? berth_i_plan_length(p, op, d) : 0, &stands);
    if (stands) break;
  }
  return st;
}

static void compare(hall *h, desk *k, int32_t d) {
  berth_plan *p = h->plan;
  k->known = true;
  k->best.item = BERTH_NONE;
  if (k->waiting.n > 0) k->best = k->waiting.at[0];
  if (k->open.n > 0) {
    berth_i_entry e = k->open.at[0];
    double open_at = berth_i_plan_open_at(p, d);
    e.second = -p->priority[e.item];
    e.key = h->by_eft ? open_at + berth_i_plan_length(p, e.item, d) : open_at;
    if (k->best.item == BERTH_NONE || berth_i_entry_before(&e, &k->best)) k->best = e;
  }
}

static berth_status find_best(hall *h, int32_t d) {
  desk *k = &h->desks[d];
  berth_status st;
  tidy(h, &k->open);
  tidy(h, &k->waiting);
  tidy(h, &k->coming);
  if ((st = settle(h, k, d)) != BERTH_OK) return st;
  if ((st = check_open(h, k, d)) != BERTH_OK) return st;
  if ((h->by_eft || k->open.n == 0) && (st = check_waiting(h, k, d)) != BERTH_OK) return st;
  compare(h, k, d);
  return BERTH_OK;
}

/* ---- among the devices ---- */

static double input_bytes_on(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  int32_t i;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (p->device[g->producer[g->in[i]]] == device) sum += g->tensor_bytes[g->in[i]];
  }
  return sum;
}

/* Devices whose best is the same op at the same score. */
static bool tie(const desk *a, const desk *b) { return a->best.item == b->best.item && a->best.key == b->best.key; }

static int32_t nearest_inputs(const hall *h, int32_t first) {
  const desk *k = h->desks;
  int32_t d, best = first;
  double most = -1;
  for (d = first; d < h->plan->devices; d++) {
    double bytes;
    if (!tie(&k[d], &k[first])) continue;
    bytes = input_bytes_on(h->plan, k[first].best.item, d);
    if (bytes <= most) continue;
    most = bytes;
    best = d;
  }
  return best;
}

/* @param device out: BERTH_NONE if no candidate fits anywhere */
static berth_status best_pair(hall *h, int32_t *device) {
  const desk *k = h->desks;
  int32_t d, best = BERTH_NONE;
  bool ties = false;
  for (d = 0; d < h->plan->devices; d++) {
    berth_status st = k[d].known ? BERTH_OK : find_best(h, d);
    if (st != BERTH_OK) return st;
    if (k[d].best.item == BERTH_NONE) continue;
    if (best == BERTH_NONE || berth_i_entry_before(&k[d].best, &k[best].best)) {
      best = d;
      ties = false;
    } else if (tie(&k[d], &k[best])) {
      ties = true;
    }
  }
  *device = ties && h->plan->setup->tie == BERTH_I_TIE_INPUTS ? nearest_inputs(h, best) : best;
  return BERTH_OK;
}

/* ---- what a decision changes ---- */

static berth_status admit(hall *h, int32_t op) {
  berth_plan *p = h->plan;
  int32_t d;
  berth_status st = berth_i_plan_select(p, op);
  if (st != BERTH_OK) return st;
  h->live++;
  berth_i_ready_row(p, op, p->ready);
  for (d = 0; d < p->devices && st == BERTH_OK; d++) {
    if (!isinf(p->ready[d]) && berth_i_plan_may(p, op, d)) st = push(h, d, op, p->ready[d]);
  }
  return st;
}

static berth_status admit_fresh(hall *h) {
  berth_status st = BERTH_OK;
  size_t i;
  for (i = 0; i < h->plan->n_fresh && st == BERTH_OK; i++) st = admit(h, h->plan->fresh[i]);
  h->plan->n_fresh = 0;
  return st;
}

/* Other candidates that read a tensor which has just been sent to d. */
static berth_status spare_transfers(hall *h, int32_t tensor, int32_t d) {
  berth_plan *p = h->plan;
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  int32_t i;
  for (i = g->use_at[tensor]; i < g->use_at[tensor + 1] && st == BERTH_OK; i++) {
    int32_t op = g->use[i];
    double ready;
    if (p->pending[op] > 0 || dead(h, d, op) || g->in_at[op + 1] - g->in_at[op] < 2) continue;
    ready = berth_i_ready_at(p, op, d);
    if (!isinf(ready)) st = push(h, d, op, ready);
  }
  return st;
}

static berth_status retry_parked(hall *h) {
  berth_plan *p = h->plan;
  berth_status st = BERTH_OK;
  int32_t d;
  p->store.released = false;
  for (d = 0; d < p->devices; d++) {
    berth_i_queue *q = &h->desks[d].parked;
    double left = berth_i_store_left(p, d);
    while (st == BERTH_OK && q->n > 0 && (q->at[0].key <= left || dead(h, d, q->at[0].item))) {
      int32_t op = berth_i_queue_pop(q).item;
      if (!dead(h, d, op)) st = push(h, d, op, berth_i_ready_at(p, op, d));
    }
  }
  return st;
}

static void forget(hall *h, int32_t op, int32_t device) {
  const berth_plan *p = h->plan;
  bool all = berth_i_plan_contended(p) || p->setup->clamp || p->setup->rule != BERTH_I_RULE_NONE || p->g->n_groups > 0;
  int32_t d;
  for (d = 0; d < p->devices; d++) {
    if (all || d == device || h->desks[d].best.item == op) h->desks[d].known = false;
  }
}

static berth_status decide(hall *h, int32_t d) {
  berth_plan *p = h->plan;
  int32_t op = h->desks[d].best.item;
  berth_status st;
  size_t i;
  h->live--;
  if ((st = berth_i_plan_put(p, op, d)) != BERTH_OK) return st;
  forget(h, op, d);
  st = admit_fresh(h);
  for (i = 0; i < p->wires.n_landed && st == BERTH_OK; i++) st = spare_transfers(h, p->wires.landed[i], d);
  /* under PROFILE also a later start may make room */
  if (st == BERTH_OK && (p->store.released || p->setup->rule == BERTH_I_RULE_PROFILE)) st = retry_parked(h);
  return st;
}

/* READY_FINISHED: an op that finishes no later than the next start comes first, it may release a better one. */
static bool finish_first(const hall *h, int32_t d) {
  const berth_plan *p = h->plan;
  return p->running.n > 0 && (d == BERTH_NONE || p->running.at[0].key <= h->desks[d].best.key);
}

static void pass_time(hall *h, double now) {
  int32_t d;
  if (now <= h->plan->now) return;
  h->plan->now = now;
  for (d = 0; h->plan->setup->clamp && d < h->plan->devices; d++) h->desks[d].known = false;
}

static berth_status step(hall *h, berth_obstacle *why) {
  berth_plan *p = h->plan;
  int32_t d;
  berth_status st = best_pair(h, &d);
  if (st != BERTH_OK) return st;
  if (finish_first(h, d)) {
    pass_time(h, p->running.at[0].key);
    return berth_i_plan_next_finish(p);
  }
  if (d == BERTH_NONE) return berth_i_plan_stuck(p, BERTH_NONE, why);
  if (berth_i_plan_finished(p)) pass_time(h, h->desks[d].best.key);
  return decide(h, d);
}

berth_status berth_i_choose_pair(berth_plan *p, berth_obstacle *why) {
  hall h = { 0 };
  size_t n = (size_t)p->devices;
  berth_status st;
  int32_t d;
  h.plan = p;
  h.by_eft = p->setup->policy.score == NULL;
  h.frees = p->setup->rule == BERTH_I_RULE_PROFILE || p->setup->rule == BERTH_I_RULE_BAECHI_TF;
  h.desks = berth_i_zalloc(p->ctx, n, sizeof *h.desks);
  if (!h.desks) return berth_i_nomem(p->ctx);
  do {
    if ((st = berth_i_plan_tick(p)) != BERTH_OK || (st = admit_fresh(&h)) != BERTH_OK) break;
    if (p->placed == p->n) break;
    st = step(&h, why);
  } while (st == BERTH_OK);
  for (d = 0; d < p->devices; d++) {
    berth_i_queue_release(p->ctx, &h.desks[d].open);
    berth_i_queue_release(p->ctx, &h.desks[d].waiting);
    berth_i_queue_release(p->ctx, &h.desks[d].coming);
    berth_i_queue_release(p->ctx, &h.desks[d].parked);
  }
  berth_i_free(p->ctx, h.desks, n, sizeof *h.desks);
  return st;
}
