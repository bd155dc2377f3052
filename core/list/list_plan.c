/* The plan: its life, its candidates, and how it grows by one op (berth_i_plan_put): transfers,
 * time on the device, memory, then the candidates that this releases. O(inputs + log ops) an op on
 * top of the chosen memory rule. */
#include "engine_internal.h"

/* ---- life ---- */

static berth_status alloc_plan(berth_plan *p) {
  size_t n = (size_t)p->n, d = (size_t)p->devices;
  p->priority = berth_i_pool_zalloc(&p->pool, n, sizeof *p->priority);
  p->pending = berth_i_pool_alloc(&p->pool, n, sizeof *p->pending);
  p->free_at = berth_i_pool_zalloc(&p->pool, d, sizeof *p->free_at);
  p->load = berth_i_pool_zalloc(&p->pool, d, sizeof *p->load);
  p->last = berth_i_pool_alloc(&p->pool, d, sizeof *p->last);
  p->ready = berth_i_pool_alloc(&p->pool, d, sizeof *p->ready);
  p->est = berth_i_pool_alloc(&p->pool, d, sizeof *p->est);
  p->eft = berth_i_pool_alloc(&p->pool, d, sizeof *p->eft);
  p->score = berth_i_pool_alloc(&p->pool, d, sizeof *p->score);
  p->shown = berth_i_pool_alloc(&p->pool, 2 * d, sizeof *p->shown);
  return berth_i_pool_status(&p->pool);
}

static berth_status init_slots(berth_plan *p) {
  berth_status st = BERTH_OK;
  if (p->setup->policy.fit != BERTH_FIT_INSERTION) return BERTH_OK;
  p->slots = berth_i_pool_zalloc(&p->pool, (size_t)p->devices, sizeof *p->slots);
  if (!p->slots) return berth_i_nomem(p->ctx);
  for (int32_t d = 0; d < p->devices && st == BERTH_OK; d++)
    st = berth_i_free_slots_init(&p->pool, &p->slots[d]);
  return st;
}

static berth_status fill_plan(berth_plan *p) {
  berth_status st;
  if ((st = berth_i_placement_make(p->ctx, p->n, p->setup->placer, true, &p->answer)) != BERTH_OK)
    return st;
  p->answer->links = (int32_t)p->setup->links;
  p->device = p->answer->device;
  p->start = p->answer->start;
  p->finish = p->answer->finish;
  if ((st = alloc_plan(p)) != BERTH_OK) return st;
  for (int32_t d = 0; d < p->devices; d++) p->last[d] = BERTH_NONE;
  if ((st = init_slots(p)) != BERTH_OK) return st;
  if ((st = berth_i_collectives_init(p)) != BERTH_OK) return st;
  if ((st = berth_i_arrivals_init(p)) != BERTH_OK) return st;
  return berth_i_store_init(p);
}

/* On given devices an op that cannot fit now mostly fits later. */
static double retry_budget(const berth_plan *p) {
  if (p->setup->forced) return 20000 + 8.0 * p->n;
  return p->setup->partial ? 2000 + 0.5 * p->n : INFINITY;
}

berth_status berth_i_plan_new(berth_cost *cost, const berth_i_setup *setup, berth_plan **out) {
  berth_plan *p = berth_i_pool_object(cost->ctx, sizeof *p);
  if (!p) return berth_i_nomem(cost->ctx);
  p->ctx = cost->ctx;
  p->cost = cost;
  p->g = cost->g;
  p->setup = setup;
  p->n = cost->g->n_ops;
  p->devices = cost->n_devices;
  p->unit = setup->quantum > 0 ? setup->quantum : 1;
  p->retries_left = retry_budget(p);
  p->last_refused = BERTH_NONE;
  berth_rng_init(&p->rng, setup->seed, setup->stream);
  berth_status st;
  if ((st = fill_plan(p)) != BERTH_OK) {
    berth_i_plan_release(p);
    return st;
  }
  *out = p;
  return BERTH_OK;
}

void berth_i_plan_release(berth_plan *p) {
  if (!p) return;
  berth_placement_release(p->answer);
  berth_i_pool_free(&p->pool);
}

/* ---- what a policy may read ---- */

berth_cost *berth_plan_cost(const berth_plan *p) { return p->cost; }

int32_t berth_plan_device_of(const berth_plan *p, int32_t op) {
  return op >= 0 && op < p->n ? p->device[op] : BERTH_NONE;
}
double berth_plan_start(const berth_plan *p, int32_t op) {
  return op >= 0 && op < p->n ? p->start[op] * p->unit : NAN;
}
double berth_plan_finish(const berth_plan *p, int32_t op) {
  return op >= 0 && op < p->n ? p->finish[op] * p->unit : NAN;
}
double berth_plan_free_at(const berth_plan *p, int32_t device) {
  return device >= 0 && device < p->devices ? p->free_at[device] * p->unit : NAN;
}
double berth_plan_memory(const berth_plan *p, int32_t device) {
  if (device < 0 || device >= p->devices) return NAN;
  if (p->setup->rule == BERTH_I_RULE_PROFILE) {
    return p->store.held[device] + berth_i_profile_last(&p->store.profile[device]);
  }
  return p->store.held[device];
}
double berth_plan_now(const berth_plan *p) { return p->now * p->unit; }
int32_t berth_plan_last(const berth_plan *p, int32_t device) {
  return device >= 0 && device < p->devices ? p->last[device] : BERTH_NONE;
}

/* ---- candidates ---- */

static berth_status push_fresh(berth_plan *p, int32_t op) {
  berth_status st = berth_i_pool_grow(&p->pool, (void **)&p->fresh, &p->cap_fresh, p->n_fresh + 1,
                                      sizeof *p->fresh);
  if (st == BERTH_OK) p->fresh[p->n_fresh++] = op;
  return st;
}

static berth_status release_each(berth_plan *p, int32_t n, const int32_t *ops) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    if (--p->pending[ops[i]] == 0) st = push_fresh(p, ops[i]);
  }
  return st;
}

static berth_status release_collectives(berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1] && st == BERTH_OK; i++) {
    const berth_collective *c = &g->collectives[g->wait[i]];
    bool over;
    st = berth_i_collectives_leave(p, op, g->wait[i], &over);
    if (st == BERTH_OK && over) st = release_each(p, c->n_consumers, c->consumers);
  }
  return st;
}

static berth_status release_consumers(berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1] && st == BERTH_OK; i++) {
    int32_t t = g->out[i];
    st = release_each(p, g->use_at[t + 1] - g->use_at[t], g->use + g->use_at[t]);
  }
  return st == BERTH_OK && g->wait ? release_collectives(p, op) : st;
}

static berth_status callback_failed(berth_plan *p, int32_t op, const char *what) {
  char label[160];
  return berth_i_fail(p->ctx, BERTH_ECALLBACK, "policy \"%s\": the %s of %s is not a number",
                      p->setup->policy.name ? p->setup->policy.name : p->setup->placer, what,
                      berth_i_op_label(p->g, op, label, sizeof label));
}

berth_status berth_i_plan_prepare(berth_plan *p) {
  const berth_policy *policy = &p->setup->policy;
  berth_status st = BERTH_OK;
  if (policy->prepare && (st = policy->prepare(policy->ud, p, p->priority)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->n; i++) {
    if (isnan(p->priority[i])) return callback_failed(p, i, "priority");
  }
  for (int32_t i = 0; i < p->n && st == BERTH_OK; i++) {
    p->pending[i] = p->g->in_at[i + 1] - p->g->in_at[i];
    if (p->g->after) p->pending[i] += p->g->after_at[i + 1] - p->g->after_at[i];
    if (p->pending[i] == 0) st = push_fresh(p, i);
  }
  return st;
}

berth_status berth_i_plan_select(berth_plan *p, int32_t op) {
  const berth_policy *policy = &p->setup->policy;
  if (!policy->select) return BERTH_OK;
  berth_status st;
  if ((st = policy->select(policy->ud, p, op, &p->priority[op])) != BERTH_OK) return st;
  return isnan(p->priority[op]) ? callback_failed(p, op, "priority") : BERTH_OK;
}

berth_status berth_i_plan_next_finish(berth_plan *p) {
  berth_i_entry e = berth_i_queue_pop(&p->running);
  if (e.key > p->now) p->now = e.key;
  return release_consumers(p, e.item);
}

/* ---- estimates and scores ---- */

double berth_i_plan_earliest(const berth_plan *p, int32_t op, int32_t device, double ready,
                         double length) {
  double from = p->setup->clamp && ready < p->now ? p->now : ready;
  if (berth_i_is_communication(p->g, op)) return from;
  if (p->slots) return berth_i_free_slots_find(&p->slots[device], from, length);
  double open = berth_i_plan_open_at(p, device);
  return from > open ? from : open;
}

void berth_i_plan_estimate(berth_plan *p, int32_t op, const double *ready, double *est,
                           double *eft) {
  for (int32_t d = 0; d < p->devices; d++) {
    est[d] = eft[d] = INFINITY;
    if (isinf(ready[d]) || !berth_i_plan_may(p, op, d)) continue;
    double length = berth_i_plan_length(p, op, d);
    est[d] = berth_i_plan_earliest(p, op, d, ready[d], length);
    eft[d] = est[d] + length;
    if (!berth_i_store_fits(p, op, d, est[d])) est[d] = eft[d] = INFINITY;
  }
}

berth_status berth_i_score_est(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake) {
  (void)ud, (void)op, (void)eft, (void)wake;
  memcpy(score, est, (size_t)p->devices * sizeof *score);
  return BERTH_OK;
}

static void scale(double *x, int32_t n, double by) {
  for (int32_t i = 0; i < n; i++) x[i] *= by;
}

static berth_status call_score(berth_plan *p, int32_t op, const double *est, const double *eft,
                        double *score, double *wake) {
  const berth_policy *policy = &p->setup->policy;
  size_t bytes = (size_t)p->devices * sizeof *score;
  double *shown_eft = p->shown + p->devices;
  if (p->unit == 1) return policy->score(policy->ud, p, op, est, eft, score, wake);
  memcpy(p->shown, est, bytes);
  memcpy(shown_eft, eft, bytes);
  scale(p->shown, 2 * p->devices, p->unit);
  scale(score, p->devices, p->unit);
  berth_status st = policy->score(policy->ud, p, op, p->shown, shown_eft, score, wake);
  *wake /= p->unit;
  return st;
}

berth_status berth_i_plan_score(berth_plan *p, int32_t op, const double *est, const double *eft,
                                double *score, double *wake) {
  *wake = INFINITY;
  memcpy(score, eft, (size_t)p->devices * sizeof *score);
  if (!p->setup->policy.score) return BERTH_OK;
  berth_status st;
  if ((st = call_score(p, op, est, eft, score, wake)) != BERTH_OK) return st;
  if (isnan(*wake)) return callback_failed(p, op, "time to wake");
  for (int32_t d = 0; d < p->devices; d++) {
    if (isnan(score[d])) return callback_failed(p, op, "score");
    if (isinf(est[d])) score[d] = INFINITY;
  }
  return BERTH_OK;
}

/* ---- growing ---- */

static void bind_group(berth_plan *p, int32_t op, int32_t device) {
  int32_t group = berth_i_group(p->g, op);
  if (group != BERTH_NONE) p->groups.bound[group] = device;
}

static berth_status occupy(berth_plan *p, int32_t op, int32_t device, double ready) {
  double length = berth_i_plan_length(p, op, device);
  double start =
      p->setup->load_only ? p->load[device] : berth_i_plan_earliest(p, op, device, ready, length);
  p->device[op] = device;
  p->start[op] = start;
  p->finish[op] = start + length;
  p->answer->sequence[p->placed++] = op;
  p->idle_steps = 0;
  if (berth_i_is_communication(p->g, op)) return BERTH_OK;
  p->load[device] += length;
  if (p->finish[op] > p->free_at[device]) p->free_at[device] = p->finish[op];
  p->last[device] = op;
  return p->slots ? berth_i_free_slots_take(&p->pool, &p->slots[device], start,
                                            start + length)
                  : BERTH_OK;
}

berth_status berth_i_plan_put(berth_plan *p, int32_t op, int32_t device) {
  double ready;
  berth_status st;
  if ((st = berth_i_fetch(p, op, device, &ready)) != BERTH_OK) return st;
  if ((st = occupy(p, op, device, ready)) != BERTH_OK) return st;
  if ((st = berth_i_store_charge(p, op)) != BERTH_OK) return st;
  bind_group(p, op, device);
  if (!berth_i_plan_finished(p)) return release_consumers(p, op);
  return berth_i_queue_push(&p->pool, &p->running, p->finish[op], p->placed, op);
}

/* A step that ends at a finish is no idle step: something may change. */
bool berth_i_plan_may_advance(berth_plan *p) {
  if (p->running.n > 0) return true;
  return p->idle_steps++ < 100000;
}

berth_status berth_i_plan_tick(berth_plan *p) {
  if (++p->ticks % 1024 != 0) return BERTH_OK;
  berth_i_progress(p->ctx, "placing", (double)p->placed / p->n);
  return berth_i_interrupted(p->ctx);
}
