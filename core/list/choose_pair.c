/* Choose PAIR by est (ETF) or by eft, in O(log) a candidate and device instead of a scan: each
 * device keeps heaps of the ops it could take. An op is waiting until its inputs can be there by the
 * time the device is free; then it is open, and all open ops have the same est, so that priority (or
 * op time) decides.
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
  device_list *lists;           /* [devices] */
  device_list shared;           /* open, waiting: (latest, -priority, op) */
  bool shares;
  double first_free;     /* the least time at which some device is open */
  int32_t best_device;   /* and the best pair of all, whose op is in best.item, BERTH_NONE: none */
  berth_i_entry best;
  bool by_eft;
  bool frees;            /* memory may be freed */
  int32_t n_candidates;          /* candidates that are not placed */
} selector;

static berth_i_queue *arrivals(selector *h, device_list *k) { return h->by_eft ? &k->coming : &k->waiting; }

/* ---- entries ---- */

static berth_status push_open(selector *h, device_list *k, int32_t d, int32_t op) {
  berth_plan *p = h->plan;
  if (!h->by_eft) return berth_i_queue_push(&p->pool, &k->open, -p->priority[op], 0, op);
  return berth_i_queue_push(&p->pool, &k->open, berth_i_plan_length(p, op, d), -p->priority[op],
                            op);
}

static berth_status push_waiting(selector *h, device_list *k, int32_t d, int32_t op, double ready) {
  berth_plan *p = h->plan;
  double key = h->by_eft ? ready + berth_i_plan_length(p, op, d) : ready;
  return berth_i_queue_push(&p->pool, &k->waiting, key, -p->priority[op], op);
}

static berth_status push_coming(selector *h, device_list *k, int32_t d, int32_t op, double ready) {
  return h->by_eft ? berth_i_queue_push(&h->plan->pool, &k->coming, ready, 0, op)
                   : push_waiting(h, k, d, op, ready);
}

static berth_status push_early(selector *h, device_list *k, int32_t d, int32_t op, double ready) {
  berth_status st = push_coming(h, k, d, op, ready);
  return st == BERTH_OK && h->by_eft ? push_waiting(h, k, d, op, ready) : st;
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

/* Entries of ops that went elsewhere must not pile up. */
static void compact(selector *h, berth_i_queue *q) {
  if (q->n > 64 + 4 * (size_t)h->n_candidates) berth_i_queue_filter(q, unplaced, h->plan);
}

/* ---- the best of one device ---- */

static berth_status block(selector *h, device_list *k, int32_t op) {
  if (!h->frees) return BERTH_OK; /* what does not fit now never will */
  berth_i_plan_count_refusal(h->plan, op);
  return berth_i_queue_push(&h->plan->pool, &k->blocked, berth_i_store_least(h->plan, op), 0, op);
}

static bool fits(selector *h, int32_t d, int32_t op, double start) {
  return berth_i_store_fits(h->plan, op, d, start);
}

/* Opens what has arrived by the time that the device is free. */
static berth_status open_arrived(selector *h, device_list *k, int32_t d) {
  berth_i_queue *q = arrivals(h, k);
  double open_at = berth_i_plan_open_at(h->plan, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0 && q->at[0].key <= open_at) {
    int32_t op = berth_i_queue_pop(q).item;
    double ready = 0;
    if (stale(h, d, op)) continue;
    if (berth_i_plan_contended(h->plan)) ready = berth_i_ready_at(h->plan, op, d);
    st = ready > open_at ? push_coming(h, k, d, op, ready) : push_open(h, k, d, op);
  }
  return st;
}

/* Leaves an op that can start as soon as the device is free at the top of open, or empties it. */
static berth_status check_open(selector *h, device_list *k, int32_t d) {
  berth_plan *p = h->plan;
  double open_at = berth_i_plan_open_at(p, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->open.n > 0) {
    int32_t op = k->open.at[0].item;
    double ready = 0;
    if (!stale(h, d, op)) {
      if (berth_i_plan_contended(p)) ready = berth_i_ready_at(p, op, d);
      if (ready <= open_at && fits(h, d, op, open_at)) break;
      st = ready > open_at ? push_early(h, k, d, op, ready) : block(h, k, op);
    }
    berth_i_queue_pop(&k->open);
  }
  return st;
}

static berth_status recheck_waiting(selector *h, device_list *k, int32_t d, int32_t op, double ready,
                                    double length, bool *stands) {
  berth_i_entry e = k->waiting.at[0];
  double key = h->by_eft ? ready + length : ready;
  *stands = key <= e.key && fits(h, d, op, ready);
  if (*stands) return BERTH_OK;
  berth_i_queue_pop(&k->waiting);
  return key > e.key ? push_waiting(h, k, d, op, ready) : block(h, k, op);
}

static berth_status check_waiting(selector *h, device_list *k, int32_t d) {
  berth_plan *p = h->plan;
  double open_at = berth_i_plan_open_at(p, d);
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && k->waiting.n > 0) {
    int32_t op = k->waiting.at[0].item;
    bool exact = !h->by_eft && !berth_i_plan_contended(p), stands = false;
    double ready = exact ? k->waiting.at[0].key : 0;
    if (stale(h, d, op)) {
      berth_i_queue_pop(&k->waiting);
      continue;
    }
    if (!exact) ready = berth_i_ready_at(p, op, d);
    if (h->by_eft && ready <= open_at) { /* opened meanwhile */
      berth_i_queue_pop(&k->waiting);
      continue;
    }
    st =
        recheck_waiting(h, k, d, op, ready, h->by_eft ? berth_i_plan_length(p, op, d) : 0, &stands);
    if (stands) break;
  }
  return st;
}

static void compare(selector *h, device_list *k, int32_t d) {
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

static berth_status find_best(selector *h, int32_t d) {
  device_list *k = &h->lists[d];
  compact(h, &k->open);
  compact(h, &k->waiting);
  compact(h, &k->coming);
  berth_status st;
  if ((st = open_arrived(h, k, d)) != BERTH_OK) return st;
  if ((st = check_open(h, k, d)) != BERTH_OK) return st;
  if ((h->by_eft || k->open.n == 0) && (st = check_waiting(h, k, d)) != BERTH_OK) return st;
  compare(h, k, d);
  return BERTH_OK;
}

/* ---- the shared list ---- */

static double first_free(const berth_plan *p) {
  double least = berth_i_plan_open_at(p, 0);
  for (int32_t d = 1; d < p->devices; d++) least = fmin(least, berth_i_plan_open_at(p, d));
  return least;
}

static void open_arrived_shared(selector *h, berth_status *st) {
  device_list *k = &h->shared;
  while (*st == BERTH_OK && k->waiting.n > 0 && k->waiting.at[0].key <= h->first_free) {
    int32_t op = berth_i_queue_pop(&k->waiting).item;
    if (unplaced(h->plan, op))
      *st = berth_i_queue_push(&h->plan->pool, &k->open, -h->plan->priority[op], 0, op);
  }
}

/* It fits on some device that is free by then. */
static bool fits_by(selector *h, int32_t op, double start) {
  if (h->plan->setup->rule == BERTH_I_RULE_NONE) return true;
  for (int32_t d = 0; d < h->plan->devices; d++) {
    if (berth_i_plan_open_at(h->plan, d) <= start && fits(h, d, op, start)) return true;
  }
  return false;
}

/* It fits on none of the devices that are free first: from now on each device has its own entry. */
static berth_status unshare(selector *h, int32_t op) {
  berth_plan *p = h->plan;
  berth_status st = BERTH_OK;
  berth_i_ready_row(p, op, p->ready);
  for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++) st = push(h, d, op, p->ready[d]);
  return st;
}

/* Leaves an op that can start at the time its entry says at the top, or empties the queue. */
static berth_status check_shared(selector *h, berth_i_queue *q, bool open) {
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && q->n > 0) {
    int32_t op = q->at[0].item;
    bool there = unplaced(h->plan, op);
    if (there && fits_by(h, op, open ? h->first_free : q->at[0].key)) break;
    berth_i_queue_pop(q);
    if (there) st = unshare(h, op);
  }
  return st;
}

static berth_status find_shared(selector *h) {
  device_list *k = &h->shared;
  double now_free = first_free(h->plan);
  berth_status st = BERTH_OK;
  if (k->known && now_free == h->first_free) return BERTH_OK;
  h->first_free = now_free;
  compact(h, &k->open);
  compact(h, &k->waiting);
  open_arrived_shared(h, &st);
  if (st == BERTH_OK) st = check_shared(h, &k->open, true);
  if (st == BERTH_OK && k->open.n == 0) st = check_shared(h, &k->waiting, false);
  if (st != BERTH_OK) return st;
  k->known = true;
  k->best.item = BERTH_NONE;
  if (k->waiting.n > 0) k->best = k->waiting.at[0];
  if (k->open.n > 0) {
    k->best = k->open.at[0];
    k->best.second = k->best.key;
    k->best.key = h->first_free;
  }
  return BERTH_OK;
}

/* ---- among the devices ---- */

/* Of the devices on which the best op starts (or ends) at the same best time. */
static bool prefers(const selector *h, int32_t d, int32_t best, double *most) {
  if (h->plan->setup->tie != BERTH_I_TIE_INPUTS) return best == BERTH_NONE;
  double bytes = berth_i_plan_input_bytes(h->plan, h->best.item, d);
  if (best != BERTH_NONE && bytes <= *most) return false;
  *most = bytes;
  return true;
}

static bool ties(const selector *h, int32_t d) {
  const berth_i_entry *e = &h->lists[d].best;
  return e->item == h->best.item && e->key == h->best.key;
}

static void pick_list(selector *h) {
  double most = 0;
  h->best_device = BERTH_NONE;
  for (int32_t d = 0; d < h->plan->devices; d++) {
    if (ties(h, d) && prefers(h, d, h->best_device, &most)) h->best_device = d;
  }
}

static void pick_open_device(selector *h) {
  berth_plan *p = h->plan;
  int32_t op = h->best.item;
  double most = 0;
  h->best_device = BERTH_NONE;
  berth_i_ready_row(p, op, p->ready);
  for (int32_t d = 0; d < p->devices; d++) {
    double open_at = berth_i_plan_open_at(p, d);
    if ((p->ready[d] > open_at ? p->ready[d] : open_at) != h->best.key
        || !berth_i_plan_may(p, op, d))
      continue;
    if (fits(h, d, op, h->best.key) && prefers(h, d, h->best_device, &most)) h->best_device = d;
  }
}

static void offer(selector *h, const berth_i_entry *e) {
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
    offer(h, &h->lists[d].best);
  }
  if (h->shares) offer(h, &h->shared.best);
  if (st != BERTH_OK || h->best.item == BERTH_NONE) return st;
  if (h->shares) {
    pick_open_device(h);
  } else {
    pick_list(h);
  }
  return BERTH_OK;
}

/* ---- what a decision changes ---- */

/* Its collectives may yet tie it to the devices that the other members can reach. */
static bool may_be_tied(const berth_plan *p, int32_t op) {
  return p->collectives.apart && p->g->wait_at[op + 1] > p->g->wait_at[op];
}

/* Free links, and nothing that might still bind it. @return the time at which the inputs are
 * everywhere; INFINITY: not shareable */
static double latest(const selector *h, int32_t op) {
  const berth_plan *p = h->plan;
  double most = 0;
  if (!h->shares || berth_i_group(p->g, op) != BERTH_NONE || may_be_tied(p, op)) return INFINITY;
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_plan_may(p, op, d)) return INFINITY;
    most = fmax(most, p->ready[d]);
  }
  return most;
}

static berth_status share(selector *h, int32_t op, double everywhere) {
  berth_plan *p = h->plan;
  h->shared.known = false;
  if (everywhere <= h->first_free)
    return berth_i_queue_push(&p->pool, &h->shared.open, -p->priority[op], 0, op);
  return berth_i_queue_push(&p->pool, &h->shared.waiting, everywhere, -p->priority[op], op);
}

static berth_status admit(selector *h, int32_t op) {
  berth_plan *p = h->plan;
  berth_status st = berth_i_plan_select(p, op);
  if (st != BERTH_OK) return st;
  h->n_candidates++;
  berth_i_ready_row(p, op, p->ready);
  double everywhere = latest(h, op);
  if (!isinf(everywhere)) st = share(h, op, everywhere);
  if (everywhere <= h->first_free) return st;
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

/* One op that is put somewhere may change what another can start, elsewhere. */
static bool far_reaching(const berth_plan *p) {
  return berth_i_plan_contended(p) || p->setup->clamp || p->setup->rule != BERTH_I_RULE_NONE
         || p->g->n_groups > 0 || p->collectives.apart;
}

static void forget(selector *h, int32_t op, int32_t device) {
  const berth_plan *p = h->plan;
  bool all = far_reaching(p);
  for (int32_t d = 0; d < p->devices; d++) {
    if (all || d == device || h->lists[d].best.item == op) h->lists[d].known = false;
  }
  if (all || h->shared.best.item == op) h->shared.known = false;
}

static berth_status decide(selector *h) {
  berth_plan *p = h->plan;
  int32_t op = h->best.item, d = h->best_device;
  h->n_candidates--;
  berth_status st;
  if ((st = berth_i_plan_put(p, op, d)) != BERTH_OK) return st;
  forget(h, op, d);
  st = admit_fresh(h);
  for (size_t i = 0; i < p->channels.n_sent && st == BERTH_OK; i++)
    st = push_readers(h, p->channels.sent[i], d);
  /* under PROFILE an op may also fit at a later start */
  if (st == BERTH_OK && (p->store.released || p->setup->rule == BERTH_I_RULE_PROFILE))
    st = retry_blocked(h);
  return st;
}

/* READY_FINISHED: an op that finishes no later than the next start comes first, it may release a
 * better one. */
static bool finish_first(const selector *h) {
  const berth_plan *p = h->plan;
  return p->running.n > 0 && (h->best.item == BERTH_NONE || p->running.at[0].key <= h->best.key);
}

static void pass_time(selector *h, double now) {
  if (now <= h->plan->now) return;
  h->plan->now = now;
  for (int32_t d = 0; h->plan->setup->clamp && d < h->plan->devices; d++) h->lists[d].known = false;
  if (h->plan->setup->clamp) h->shared.known = false;
}

static berth_status step(selector *h, berth_obstacle *why) {
  berth_plan *p = h->plan;
  berth_status st = best_pair(h);
  if (st != BERTH_OK) return st;
  if (p->retries_left < 0) return berth_i_plan_give_up(p, why);
  if (finish_first(h)) {
    pass_time(h, p->running.at[0].key);
    return berth_i_plan_next_finish(p);
  }
  if (h->best.item == BERTH_NONE) return berth_i_plan_stuck(p, BERTH_NONE, why);
  if (berth_i_plan_finished(p)) pass_time(h, h->best.key);
  return decide(h);
}

static bool may_share(const berth_plan *p, bool by_eft) {
  berth_i_rule rule = p->setup->rule;
  if (by_eft || berth_i_plan_contended(p) || p->setup->forced) return false;
  return rule == BERTH_I_RULE_NONE || rule == BERTH_I_RULE_STRICT || rule == BERTH_I_RULE_BAECHI_PT;
}

berth_status berth_i_choose_pair(berth_plan *p, berth_obstacle *why) {
  selector h = { 0 };
  h.plan = p;
  h.by_eft = p->setup->policy.score == NULL;
  h.frees = p->setup->rule == BERTH_I_RULE_PROFILE || p->setup->rule == BERTH_I_RULE_BAECHI_TF;
  h.shares = may_share(p, h.by_eft);
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
