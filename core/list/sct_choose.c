/* Choose DEVICE with favourite children (m-SCT): every idle device offers what it would run now,
 * the best offer is taken, until there is none; then time passes.
 * A step evaluates O(devices) queues; only the published rule scans all candidates, and only while
 * no device that fits any op is busy.
 * Source: Jeon et al. 2020 (Baechi), m-SCT. */
#include "sct_internal.h"

typedef struct pick {
  berth_i_offer offer;
  int32_t device;
} pick;

/* Of two devices for one op: that which waits for it, then the one that holds more of its
 * inputs. */
static double affinity(const berth_i_sct *s, int32_t op, int32_t device) {
  const berth_plan *p = s->plan;
  int32_t last = p->last[device];
  if (p->setup->tie != BERTH_I_TIE_INPUTS) return 0;
  return last != BERTH_NONE && s->favourite[last] == op ? INFINITY
                                                        : berth_i_plan_input_bytes(p, op, device);
}

static bool better(const berth_i_sct *s, const pick *a, const pick *b) {
  const double *priority = s->plan->priority;
  int32_t x = a->offer.op, y = b->offer.op;
  if (y == BERTH_NONE) return true;
  if (a->offer.last != b->offer.last) return b->offer.last;
  if (x != y) return priority[x] != priority[y] ? priority[x] > priority[y] : x < y;
  return affinity(s, x, a->device) > affinity(s, x, b->device);
}

/* The best offer of all idle devices.  @param wake earliest time to evaluate one of them again */
static berth_status best_offer(berth_i_sct *s, pick *best, double *wake) {
  berth_plan *p = s->plan;
  const berth_i_offer nothing = { BERTH_NONE, false, INFINITY };
  best->offer.op = BERTH_NONE;
  *wake = INFINITY;
  pick c;
  berth_status st;
  for (c.device = 0; c.device < p->devices; c.device++) {
    if (p->free_at[c.device] > p->now) continue;
    c.offer = nothing;
    if ((st = s->offer(s, c.device, &c.offer)) != BERTH_OK) return st;
    *wake = fmin(*wake, c.offer.wake);
    if (c.offer.op != BERTH_NONE && better(s, &c, best)) *best = c;
  }
  return BERTH_OK;
}

static berth_status run(berth_i_sct *s, berth_obstacle *why) {
  berth_plan *p = s->plan;
  berth_status st;
  while ((st = berth_i_plan_tick(p)) == BERTH_OK) {
    /* 1. Ops that end now; those that become candidates enter the queues. */
    while (st == BERTH_OK && p->running.n > 0 && p->running.at[0].key <= p->now)
      st = berth_i_plan_next_finish(p);
    for (size_t i = 0; i < p->n_fresh && st == BERTH_OK; i++)
      st = berth_i_sct_admit(s, p->fresh[i]);
    p->n_fresh = 0;
    if (st != BERTH_OK || p->placed == p->n) break;
    if (p->retries_left < 0) return berth_i_plan_give_up(p, why);
    /* 2. The best offer of the idle devices is taken. */
    pick best;
    double wake;
    if ((st = best_offer(s, &best, &wake)) != BERTH_OK) break;
    if (best.offer.op != BERTH_NONE) {
      if ((st = berth_i_plan_put(p, best.offer.op, best.device)) != BERTH_OK) break;
      if ((st = berth_i_sct_after(s, best.offer.op)) != BERTH_OK) break;
      continue;
    }
    /* 3. Without one, time passes to the next finish or the next time at which an offer changes. */
    if (p->running.n > 0) wake = fmin(wake, p->running.at[0].key);
    if (isinf(wake)) return berth_i_plan_stuck(p, BERTH_NONE, why);
    p->now = wake;
  }
  return st;
}

static berth_status init(berth_i_sct *s, berth_plan *p) {
  size_t n = (size_t)p->n;
  s->plan = p;
  s->favourite = p->setup->favourite;
  s->offer = p->setup->published ? berth_i_sct_offer_published : berth_i_sct_offer;
  s->frees = p->setup->rule == BERTH_I_RULE_PROFILE || p->setup->rule == BERTH_I_RULE_BAECHI_TF;
  s->queues = berth_i_pool_zalloc(&p->pool, (size_t)p->devices, sizeof *s->queues);
  s->candidate = berth_i_pool_alloc(&p->pool, n, sizeof *s->candidate);
  s->position = berth_i_pool_alloc(&p->pool, n, sizeof *s->position);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->n; i++) s->position[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->devices; i++) s->queues[i].kept = BERTH_NONE;
  if (p->setup->published) berth_i_sct_measure_published(s);
  if (berth_i_plan_contended(p) || p->setup->published) return BERTH_OK;
  s->everywhere = berth_i_pool_alloc(&p->pool, n, sizeof *s->everywhere);
  return s->everywhere ? BERTH_OK : berth_i_nomem(p->ctx);
}

berth_status berth_i_choose_sct(berth_plan *p, berth_obstacle *why) {
  berth_i_sct s = { 0 };
  berth_status st = init(&s, p);
  if (st == BERTH_OK) st = run(&s, why);
  return st;
}
