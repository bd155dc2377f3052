/* Choose PAIR by est (ETF) or by eft, in O(log) a candidate and device instead of a scan: each
 * device keeps heaps of the ops it could take. An op is waiting until its inputs can be there by
 * the time the device is free; then it is open, and all open ops have the same est, so that
 * priority (or op time) decides.
 *
 * Invariant: keys are never too large. Channels only get busier, which makes estimates grow, so an
 * entry is corrected when it reaches the top. The one exception, a tensor that is sent for another
 * op and saves this one a transfer, pushes the op again.
 *
 * By est on free links most devices are alike for an op: its inputs are there at one time,
 * `latest`. For all of them one entry in a shared list is enough, as the device that is free first
 * starts it no later than any other. Only where inputs are earlier, on the devices that hold them,
 * the op has entries of its own.
 *
 * Source: Hwang et al., "Scheduling precedence graphs in systems with interprocessor communication
 * times", 1989 (ETF). Departs from it: links and memory as the setup says. */
#include "engine_internal.h"

typedef struct device_list {
  berth_i_queue open;    /* est: (-priority, 0, op); eft: (op time, -priority, op) */
  berth_i_queue waiting; /* est: (ready, -priority, op); eft: (ready + op time, -priority, op), left
                            there when the op opens */
  berth_i_queue coming;  /* eft only: (ready, 0, op) */
  berth_i_queue blocked; /* cannot fit now: (bytes needed, 0, op) */
  berth_i_entry best;    /* (score, -priority, op); item BERTH_NONE: nothing to run here */
  bool known;
} device_list;

typedef struct selector {
  berth_plan *plan;
  device_list *lists;    /* [devices] */
  device_list shared;    /* open, waiting: (latest, -priority, op) */
  bool shares;
  double first_free;     /* the least time at which some device is open */
  berth_i_entry best;    /* the best pair of all; item BERTH_NONE: none */
  bool by_eft;
  bool frees;            /* memory may be freed */
  int32_t n_candidates;  /* not placed */
} selector;

/* ---- entries ---- */

static berth_status push_open(selector *h, device_list *k, int32_t d, int32_t op) {
  berth_plan *p = h->plan;
  if (!h->by_eft) return berth_i_queue_push(&p->pool, &k->open, -p->priority[op], 0, op);
  return berth_i_queue_push(&p->pool, &k->open, berth_i_plan_length(p, op, d), -p->priority[op],
                            op);
}

static berth_status push_waiting(selector *h, device_list *k, int32_t d, int32_t op,
                                 double ready) {
  berth_plan *p = h->plan;
  double key = h->by_eft ? ready + berth_i_plan_length(p, op, d) : ready;
  return berth_i_queue_push(&p->pool, &k->waiting, key, -p->priority[op], op);
}

/* An op whose inputs are not there when the device is free. */
static berth_status push_early(selector *h, device_list *k, int32_t d, int32_t op, double ready) {
  berth_status st = push_waiting(h, k, d, op, ready);
  if (st != BERTH_OK || !h->by_eft) return st;
  return berth_i_queue_push(&h->plan->pool, &k->coming, ready, 0, op);
}

static berth_status push(selector *h, int32_t d, int32_t op, double ready) {
  device_list *k = &h->lists[d];
  k->known = false;
  return ready > berth_i_plan_open_at(h->plan, d) ? push_early(h, k, d, op, ready)
                                                  : push_open(h, k, d, op);
}

static bool stale(const selector *h, int32_t d, int32_t op) {
  return h->plan->device[op] != BERTH_NONE || !berth_i_plan_may(h->plan, op, d);
}

static bool unplaced(const void *ud, int32_t op) {
  const berth_plan *p = ud;
  return p->device[op] == BERTH_NONE;
}

/* Entries of ops that were placed elsewhere must not pile up. */
static void compact(selector *h, berth_i_queue *q) {
  if (q->n > 64 + 4 * (size_t)h->n_candidates) berth_i_queue_filter(q, unplaced, h->plan);
}

static berth_status block(selector *h, device_list *k, int32_t op) {
  if (!h->frees) return BERTH_OK; /* what does not fit now never will */
  berth_i_plan_count_refusal(h->plan, op);
  return berth_i_queue_push(&h->plan->pool, &k->blocked, berth_i_store_least(h->plan, op), 0, op);
}

/* ---- the best of one device ---- */

/* Leaves an op that can start at the time of its entry at the top of `waiting`, or empties it. */
static berth_status check_waiting(selector *h, device_list *k, int32_t d, double open_at) {
  berth_plan *p = h->plan;
  bool exact = !h->by_eft && !berth_i_plan_contended(p);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->waiting.n > 0) {
    berth_i_entry e = k->waiting.at[0];
    bool drop = stale(h, d, e.item);
    double ready = drop || exact ? e.key : berth_i_ready_at(p, e.item, d);
    if (drop || (h->by_eft && ready <= open_at)) { /* the second: it is open by now */
      berth_i_queue_pop(&k->waiting);
      continue;
    }
    double key = h->by_eft ? ready + berth_i_plan_length(p, e.item, d) : ready;
    if (key <= e.key && berth_i_store_fits(p, e.item, d, ready)) break;
    berth_i_queue_pop(&k->waiting);
    st = key > e.key ? push_waiting(h, k, d, e.item, ready) : block(h, k, e.item);
  }
  return st;
}

static berth_status find_best(selector *h, int32_t d) {
  berth_plan *p = h->plan;
  device_list *k = &h->lists[d];
  berth_i_queue *arrivals = h->by_eft ? &k->coming : &k->waiting;
  double open_at = berth_i_plan_open_at(p, d);
  bool contended = berth_i_plan_contended(p);
  berth_status st = BERTH_OK;
  compact(h, &k->open);
  compact(h, &k->waiting);
  compact(h, &k->coming);
  /* 1. Open what has arrived by the time that the device is free. */
  while (st == BERTH_OK && arrivals->n > 0 && arrivals->at[0].key <= open_at) {
    int32_t op = berth_i_queue_pop(arrivals).item;
    if (stale(h, d, op)) continue;
    double ready = contended ? berth_i_ready_at(p, op, d) : 0;
    st = ready <= open_at ? push_open(h, k, d, op)
         : h->by_eft      ? berth_i_queue_push(&p->pool, &k->coming, ready, 0, op)
                          : push_waiting(h, k, d, op, ready);
  }
  /* 2. Leave an op that can start then at the top of `open`, or empty it. */
  while (st == BERTH_OK && k->open.n > 0) {
    int32_t op = k->open.at[0].item;
    if (!stale(h, d, op)) {
      double ready = contended ? berth_i_ready_at(p, op, d) : 0;
      if (ready <= open_at && berth_i_store_fits(p, op, d, open_at)) break;
      st = ready > open_at ? push_early(h, k, d, op, ready) : block(h, k, op);
    }
    berth_i_queue_pop(&k->open);
  }
  /* 3. The same for `waiting`; by est nothing there starts before the open ops. */
  if (st == BERTH_OK && (h->by_eft || k->open.n == 0)) st = check_waiting(h, k, d, open_at);
  if (st != BERTH_OK) return st;
  /* 4. The better one. */
  k->known = true;
  k->best.item = BERTH_NONE;
  if (k->waiting.n > 0) k->best = k->waiting.at[0];
  if (k->open.n > 0) {
    int32_t op = k->open.at[0].item;
    berth_i_entry e = { h->by_eft ? open_at + berth_i_plan_length(p, op, d) : open_at,
                        -p->priority[op], op };
    if (k->best.item == BERTH_NONE || berth_i_entry_before(&e, &k->best)) k->best = e;
  }
  return BERTH_OK;
}

/* ---- the shared list ---- */

/* It fits on some device that is free by then. */
static bool fits_by(selector *h, int32_t op, double start) {
  if (h->plan->setup->rule == BERTH_I_RULE_NONE) return true;
  for (int32_t d = 0; d < h->plan->devices; d++) {
    if (berth_i_plan_open_at(h->plan, d) <= start && berth_i_store_fits(h->plan, op, d, start))
      return true;
  }
  return false;
}

/* Leaves an op that can start at the time of its entry at the top, or empties the queue. One that
 * fits on none of the devices that are free first gets an entry on each device. */
static berth_status check_shared(selector *h, berth_i_queue *q, bool open) {
  berth_plan *p = h->plan;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0) {
    int32_t op = q->at[0].item;
    bool there = unplaced(p, op);
    if (there && fits_by(h, op, open ? h->first_free : q->at[0].key)) break;
    berth_i_queue_pop(q);
    if (!there) continue;
    berth_i_ready_row(p, op, p->ready);
    for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++) st = push(h, d, op, p->ready[d]);
  }
  return st;
}

static berth_status find_shared(selector *h) {
  device_list *k = &h->shared;
  berth_plan *p = h->plan;
  double first_free = berth_i_plan_open_at(p, 0);
  berth_status st = BERTH_OK;
  for (int32_t d = 1; d < p->devices; d++)
    first_free = fmin(first_free, berth_i_plan_open_at(p, d));
  if (k->known && first_free == h->first_free) return BERTH_OK;
  h->first_free = first_free;
  compact(h, &k->open);
  compact(h, &k->waiting);
  while (st == BERTH_OK && k->waiting.n > 0 && k->waiting.at[0].key <= first_free) {
    int32_t op = berth_i_queue_pop(&k->waiting).item;
    if (unplaced(p, op)) st = berth_i_queue_push(&p->pool, &k->open, -p->priority[op], 0, op);
  }
  if (st == BERTH_OK) st = check_shared(h, &k->open, true);
  if (st == BERTH_OK && k->open.n == 0) st = check_shared(h, &k->waiting, false);
  if (st != BERTH_OK) return st;
  k->known = true;
  k->best.item = BERTH_NONE;
  if (k->open.n > 0) k->best = (berth_i_entry){ first_free, k->open.at[0].key, k->open.at[0].item };
  else if (k->waiting.n > 0) k->best = k->waiting.at[0];
  return BERTH_OK;
}

/* ---- the best pair ---- */

static void keep_better(selector *h, const berth_i_entry *e) {
  if (e->item != BERTH_NONE && (h->best.item == BERTH_NONE || berth_i_entry_before(e, &h->best)))
    h->best = *e;
}

static berth_status best_pair(selector *h) {
  berth_status st = BERTH_OK;
  h->best.item = BERTH_NONE;
  /* first: it may push to the others */
  if (h->shares && (st = find_shared(h)) != BERTH_OK) return st;
  for (int32_t d = 0; d < h->plan->devices && st == BERTH_OK; d++) {
    if (!h->lists[d].known) st = find_best(h, d);
    keep_better(h, &h->lists[d].best);
  }
  if (h->shares) keep_better(h, &h->shared.best);
  return st;
}

/* Of the devices on which the best op starts (or ends) at the best time: the lowest, or the one
 * with most bytes of its inputs. */
static int32_t best_device(selector *h) {
  berth_plan *p = h->plan;
  int32_t op = h->best.item, best = BERTH_NONE;
  double most = 0;
  if (h->shares) berth_i_ready_row(p, op, p->ready);
  for (int32_t d = 0; d < p->devices; d++) {
    const berth_i_entry *e = &h->lists[d].best;
    if (h->shares) {
      double open_at = berth_i_plan_open_at(p, d);
      if ((p->ready[d] > open_at ? p->ready[d] : open_at) != h->best.key
          || !berth_i_plan_may(p, op, d) || !berth_i_store_fits(p, op, d, h->best.key))
        continue;
    } else if (e->item != op || e->key != h->best.key) {
      continue;
    }
    if (p->setup->tie != BERTH_I_TIE_INPUTS) return d;
    double bytes = berth_i_plan_input_bytes(p, op, d);
    if (best != BERTH_NONE && bytes <= most) continue;
    best = d;
    most = bytes;
  }
  return best;
}

/* ---- candidates ---- */

/* Free links, and nothing that may still bind it: its collectives may tie it to the devices that
 * the other members reach. @return the time at which the inputs are everywhere; INFINITY: not
 * shareable */
static double latest(const selector *h, int32_t op) {
  const berth_plan *p = h->plan;
  double most = 0;
  if (!h->shares || berth_i_group(p->g, op) != BERTH_NONE
      || (p->collectives.apart && p->g->wait_at[op + 1] > p->g->wait_at[op]))
    return INFINITY;
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_plan_may(p, op, d)) return INFINITY;
    most = fmax(most, p->ready[d]);
  }
  return most;
}

static berth_status admit(selector *h, int32_t op) {
  berth_plan *p = h->plan;
  berth_status st = berth_i_plan_select(p, op);
  if (st != BERTH_OK) return st;
  h->n_candidates++;
  berth_i_ready_row(p, op, p->ready);
  double everywhere = latest(h, op);
  if (!isinf(everywhere)) h->shared.known = false;
  if (everywhere <= h->first_free)
    return berth_i_queue_push(&p->pool, &h->shared.open, -p->priority[op], 0, op);
  if (!isinf(everywhere))
    st = berth_i_queue_push(&p->pool, &h->shared.waiting, everywhere, -p->priority[op], op);
  for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++) {
    if (p->ready[d] < everywhere && berth_i_plan_may(p, op, d)) st = push(h, d, op, p->ready[d]);
  }
  return st;
}

static berth_status admit_fresh(selector *h) {
  berth_status st = BERTH_OK;
  for (size_t i = 0; i < h->plan->n_fresh && st == BERTH_OK; i++) st = admit(h, h->plan->fresh[i]);
  h->plan->n_fresh = 0;
  return st;
}

/* Other candidates that read a tensor which has just been sent to d. */
static berth_status push_readers(selector *h, int32_t tensor, int32_t d) {
  berth_plan *p = h->plan;
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  for (int32_t i = g->use_at[tensor]; i < g->use_at[tensor + 1] && st == BERTH_OK; i++) {
    int32_t op = g->use[i];
    if (p->pending[op] > 0 || stale(h, d, op) || g->in_at[op + 1] - g->in_at[op] < 2) continue;
    double ready = berth_i_ready_at(p, op, d);
    if (!isinf(ready)) st = push(h, d, op, ready);
  }
  return st;
}

static berth_status retry_blocked(selector *h) {
  berth_plan *p = h->plan;
  berth_status st = BERTH_OK;
  p->store.released = false;
  for (int32_t d = 0; d < p->devices; d++) {
    berth_i_queue *q = &h->lists[d].blocked;
    while (st == BERTH_OK && q->n > 0
           && (!berth_i_store_full(p, d, q->at[0].key) || stale(h, d, q->at[0].item))) {
      int32_t op = berth_i_queue_pop(q).item;
      if (!stale(h, d, op)) st = push(h, d, op, berth_i_ready_at(p, op, d));
    }
  }
  return st;
}

/* ---- steps ---- */

static berth_status place_best(selector *h, int32_t device) {
  berth_plan *p = h->plan;
  int32_t op = h->best.item;
  h->n_candidates--;
  berth_status st;
  if ((st = berth_i_plan_put(p, op, device)) != BERTH_OK) return st;
  /* what one op that is placed changes for others, elsewhere too? */
  bool all = berth_i_plan_contended(p) || p->setup->clamp || p->setup->rule != BERTH_I_RULE_NONE
             || p->g->n_groups > 0 || p->collectives.apart;
  for (int32_t d = 0; d < p->devices; d++) {
    if (all || d == device || h->lists[d].best.item == op) h->lists[d].known = false;
  }
  if (all || h->shared.best.item == op) h->shared.known = false;
  st = admit_fresh(h);
  for (size_t i = 0; i < p->channels.n_sent && st == BERTH_OK; i++)
    st = push_readers(h, p->channels.sent[i], device);
  /* under PROFILE an op may also fit at a later start */
  if (st == BERTH_OK && (p->store.released || p->setup->rule == BERTH_I_RULE_PROFILE))
    st = retry_blocked(h);
  return st;
}

static void pass_time(selector *h, double now) {
  if (now <= h->plan->now) return;
  h->plan->now = now;
  if (!h->plan->setup->clamp) return;
  for (int32_t d = 0; d < h->plan->devices; d++) h->lists[d].known = false;
  h->shared.known = false;
}

static berth_status step(selector *h, berth_obstacle *why) {
  berth_plan *p = h->plan;
  berth_status st = best_pair(h);
  if (st != BERTH_OK) return st;
  if (p->retries_left < 0) return berth_i_plan_give_up(p, why);
  /* READY_FINISHED: an op that finishes no later than the next start comes first, it may release a
   * better one */
  if (p->running.n > 0 && (h->best.item == BERTH_NONE || p->running.at[0].key <= h->best.key)) {
    pass_time(h, p->running.at[0].key);
    return berth_i_plan_next_finish(p);
  }
  if (h->best.item == BERTH_NONE) return berth_i_plan_stuck(p, BERTH_NONE, why);
  int32_t device = best_device(h);
  if (berth_i_plan_finished(p)) pass_time(h, h->best.key);
  return place_best(h, device);
}

berth_status berth_i_choose_pair(berth_plan *p, berth_obstacle *why) {
  berth_i_rule rule = p->setup->rule;
  selector h = { .plan = p, .by_eft = p->setup->policy.score == NULL };
  h.frees = rule == BERTH_I_RULE_PROFILE || rule == BERTH_I_RULE_BAECHI_TF;
  h.shares = !h.by_eft && !berth_i_plan_contended(p) && !p->setup->forced && !h.frees;
  h.lists = berth_i_pool_zalloc(&p->pool, (size_t)p->devices, sizeof *h.lists);
  if (!h.lists) return berth_i_nomem(p->ctx);
  berth_status st;
  do {
    if ((st = berth_i_plan_tick(p)) != BERTH_OK || (st = admit_fresh(&h)) != BERTH_OK) break;
    if (p->placed == p->n) break;
    st = step(&h, why);
  } while (st == BERTH_OK);
  return st;
}
