/* Trials: a base, what moves, and the quickest way to its times; memory only for what is not
 * refused by them. */
#include "rewind_internal.h"

/* ---- plans ---- */

static bool rewinds(const berth_sim_options *o) {
  return o->links == BERTH_LINKS_FREE && o->dispatch == BERTH_DISPATCH_FIFO
         && o->send == BERTH_SEND_PUSH && o->order == BERTH_ORDER_EVENT && o->noise == 0
         && !o->preempt;
}

berth_status berth_i_delta_plans(berth_i_sim_plan *p, berth_i_sim_plan **fast) {
  berth_sim_options o = p->o;
  berth_i_sim_plan *made = NULL, *timed = p;
  berth_status st = berth_i_sim_plan_tails(p);
  *fast = NULL;
  if (st != BERTH_OK || !rewinds(&o) || p->cost->g->n_collectives > 0 || p->n_async > 0) return st;
  o.memory = BERTH_MEMORY_NONE;
  if (p->o.memory != BERTH_MEMORY_NONE) {
    if ((st = berth_i_sim_plan_new(p->cost, &o, false, &made)) != BERTH_OK) return st;
    timed = made;
  }
  if ((st = berth_i_sim_plan_tails(timed)) == BERTH_OK) st = berth_i_sim_plan_inputs(timed);
  if (st == BERTH_OK) *fast = made;
  else berth_i_sim_plan_release(made);
  return st;
}

bool berth_i_delta_pays(const berth_i_sim_plan *p, const berth_i_sim_plan *fast) {
  return berth_i_rewind_goes(fast ? fast : p) || berth_i_checkpoints_go(p);
}

/* ---- life ---- */

static berth_status init_groups(berth_i_delta *d) {
  const berth_graph *g = d->plan->cost->g;
  size_t groups = (size_t)g->n_groups;
  if (!g->group) return BERTH_OK;
  d->group_size = berth_i_pool_zalloc(&d->pool, groups, sizeof *d->group_size);
  d->group_moved = berth_i_pool_zalloc(&d->pool, groups, sizeof *d->group_moved);
  d->group_first = berth_i_pool_alloc(&d->pool, groups, sizeof *d->group_first);
  berth_status st;
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (g->group[i] != BERTH_NONE && d->group_size[g->group[i]]++ == 0)
      d->group_first[g->group[i]] = i;
  }
  return BERTH_OK;
}

static bool needs_checkpoints(const berth_i_delta *d) {
  bool rewind_suffices = berth_i_rewind_goes(d->fast) && d->fast == d->plan;
  return !rewind_suffices && berth_i_checkpoints_go(d->plan);
}

static berth_status init(berth_i_delta *d) {
  size_t n = (size_t)d->plan->n_ops;
  d->device = berth_i_pool_alloc(&d->pool, n, sizeof *d->device);
  d->moved = berth_i_pool_alloc(&d->pool, n, sizeof *d->moved);
  d->before = berth_i_pool_alloc(&d->pool, n, sizeof *d->before);
  d->is_moved = berth_i_pool_zalloc(&d->pool, n, sizeof *d->is_moved);
  berth_status st;
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  if ((st = init_groups(d)) != BERTH_OK) return st;
  if (needs_checkpoints(d) && (st = berth_i_checkpoints_new(d->plan, &d->checkpoints)) != BERTH_OK)
    return st;
  if (!berth_i_rewind_goes(d->fast)) return BERTH_OK;
  if ((st = berth_i_sim_state_new(d->fast, &d->quick)) != BERTH_OK) return st;
  return berth_i_rewind_new(d->fast, &d->rewind);
}

berth_status berth_i_delta_new(const berth_i_sim_plan *p, const berth_i_sim_plan *fast,
                               berth_i_sim_state *state, berth_i_delta **out) {
  berth_i_delta *d = berth_i_pool_object(p->ctx, sizeof *d);
  if (!d) return berth_i_nomem(p->ctx);
  d->plan = p;
  d->fast = fast ? fast : p;
  d->state = state;
  berth_status st;
  if ((st = init(d)) == BERTH_OK) *out = d;
  else berth_i_delta_release(d);
  return st;
}

void berth_i_delta_release(berth_i_delta *d) {
  if (!d) return;
  if (d->rewind) berth_i_pool_free(&d->rewind->pool);
  berth_i_checkpoints_release(d->plan, d->checkpoints);
  berth_i_sim_state_release(d->fast, d->quick);
  berth_i_pool_free(&d->pool);
}

/* ---- verdicts ---- */

static void fill_verdict(berth_i_delta *d, const berth_i_sim_plan *p, const berth_i_sim_state *s,
                  berth_i_verdict *out) {
  out->cut = s->cut;
  out->makespan = s->cut ? s->limit : s->now;
  out->peak = 0;
  out->oom_op = BERTH_NONE;
  d->last_plan = s->cut ? NULL : p;
  d->last = s;
  if (s->cut || !s->memory) return;
  out->oom_op = s->memory->oom.op;
  for (int32_t i = 0; i < p->n_devices; i++) {
    if (s->memory->peak[i] > out->peak) out->peak = s->memory->peak[i];
  }
}

/* From the start, with all that is requested. */
static bool run_whole(berth_i_delta *d, double limit, berth_i_verdict *out) {
  const berth_i_sim_plan *p = d->plan;
  d->last_plan = NULL;
  if (!berth_i_sim_execute_limited(p, d->state, d->device, p->o.seed, false, limit)) return false;
  d->ended += d->state->done;
  fill_verdict(d, p, d->state, out);
  return true;
}

static berth_i_moves moves_of(const berth_i_delta *d, int32_t n) {
  berth_i_moves m;
  m.device = d->device;
  m.op = d->moved;
  m.before = d->before;
  m.n = n;
  return m;
}

/* From a checkpoint, with all that is requested. @return false: there is none, or the run stopped
 * short */
static bool resume(berth_i_delta *d, double allowing, berth_i_verdict *out) {
  berth_i_moves m = moves_of(d, d->n_moved);
  d->resumed = d->checkpoints && d->has_base &&
               berth_i_checkpoints_try(d->plan, d->checkpoints, d->state, &m, allowing, &d->ended);
  if (d->resumed) fill_verdict(d, d->plan, d->state, out);
  return d->resumed;
}

/* The times are known. */
static bool account(berth_i_delta *d, berth_i_verdict *out) {
  if (d->fast != d->plan && !d->quick->cut)
    return resume(d, INFINITY, out) || run_whole(d, INFINITY, out);
  fill_verdict(d, d->fast, d->quick, out);
  return true;
}

/* ---- the base ---- */

static bool log_base(berth_i_delta *d) {
  berth_i_moves m = moves_of(d, -1);
  if (!berth_i_sim_reset(d->fast, d->quick, d->device, d->fast->o.seed)) return false;
  if (!berth_i_rewind_base(d->fast, d->rewind, d->quick)) return false;
  d->ended += d->quick->done;
  berth_i_rewind_accept(d->fast, d->rewind, d->quick, &m);
  return true;
}

static bool resumable_base(berth_i_delta *d, berth_i_verdict *out) {
  if (!berth_i_checkpoints_base(d->plan, d->checkpoints, d->state, d->device, &d->ended))
    return false;
  fill_verdict(d, d->plan, d->state, out);
  return true;
}

bool berth_i_delta_base(berth_i_delta *d, const int32_t *device, berth_i_verdict *out) {
  if (d->plan->n_ops > 0) memcpy(d->device, device, (size_t)d->plan->n_ops * sizeof *device);
  d->n_moved = 0;
  d->has_base = d->has_trial = false;
  d->rewound = d->rewind && log_base(d);
  if (d->checkpoints) d->has_base = resumable_base(d, out);
  else if (d->rewound) d->has_base = account(d, out);
  if (!d->has_base) d->has_base = run_whole(d, INFINITY, out); /* or sets the fault */
  return d->has_base;
}

/* ---- trials ---- */

static void move_back(berth_i_delta *d) {
  while (d->n_moved > 0) {
    d->n_moved--;
    d->device[d->moved[d->n_moved]] = d->before[d->n_moved];
  }
  d->has_trial = false;
}

static void drop_unmoved(berth_i_delta *d) {
  int32_t kept = 0;
  for (int32_t i = 0; i < d->n_moved; i++) {
    d->is_moved[d->moved[i]] = 0;
    if (d->device[d->moved[i]] == d->before[i]) continue;
    d->moved[kept] = d->moved[i];
    d->before[kept++] = d->before[i];
  }
  d->n_moved = kept;
}

static bool may_run(const berth_i_delta *d, int32_t op) {
  const berth_i_sim_plan *p = d->fast;
  int32_t to = d->device[op];
  if (to < 0 || to >= p->n_devices) return false;
  if (p->cost->g->pin && p->cost->g->pin[op] != BERTH_NONE && p->cost->g->pin[op] != to)
    return false;
  return p->work[(size_t)op * (size_t)p->cost->n_classes + (size_t)p->cost->class_of[to]]
         <= p->horizon;
}

static int32_t *moved_of_group(berth_i_delta *d, int32_t i) {
  int32_t group = d->group_size ? d->plan->cost->g->group[d->moved[i]] : BERTH_NONE;
  return group == BERTH_NONE ? NULL : &d->group_moved[group];
}

/* All members of a group moved, to one device. */
static bool keeps_groups(berth_i_delta *d) {
  bool together = true;
  for (int32_t i = 0; i < d->n_moved; i++) {
    int32_t *moved = moved_of_group(d, i);
    if (moved) ++*moved;
  }
  for (int32_t i = 0; i < d->n_moved; i++) {
    const int32_t *moved = moved_of_group(d, i);
    if (!moved) continue;
    together &= *moved == d->group_size[moved - d->group_moved];
    together &= d->device[d->moved[i]] == d->device[d->group_first[moved - d->group_moved]];
  }
  for (int32_t i = 0; i < d->n_moved; i++) {
    int32_t *moved = moved_of_group(d, i);
    if (moved) *moved = 0;
  }
  return together;
}

static bool allowed(berth_i_delta *d) {
  for (int32_t i = 0; i < d->n_moved; i++) {
    if (!may_run(d, d->moved[i])) return false;
  }
  return keeps_groups(d);
}

/* Times refuse a trial; without a limit there is nothing to refuse, and memory is checked in any
 * case. */
static bool uses_times(const berth_i_delta *d, double limit) {
  return d->rewind && (!d->checkpoints || limit < INFINITY);
}

/* What is not allowed, and what stops short, is run from the start for the fault. */
static bool run_moved(berth_i_delta *d, double limit, berth_i_verdict *out) {
  double allowing = limit * (1 + BERTH_I_LIMIT_SLACK);
  berth_i_moves m = moves_of(d, d->n_moved);
  bool may = allowed(d);
  d->resumed = false;
  d->rewound = may && uses_times(d, limit)
               && berth_i_rewind_try(d->fast, d->rewind, d->quick, &m, allowing, &d->ended);
  if (d->rewound) return account(d, out);
  return (may && resume(d, allowing, out)) || run_whole(d, limit, out);
}

void berth_i_delta_begin(berth_i_delta *d) {
  move_back(d);
  d->last_plan = NULL;
}

void berth_i_delta_move(berth_i_delta *d, int32_t op, int32_t device) {
  if (!d->is_moved[op]) {
    d->is_moved[op] = 1;
    d->moved[d->n_moved] = op;
    d->before[d->n_moved++] = d->device[op];
  }
  d->device[op] = device;
}

bool berth_i_delta_try(berth_i_delta *d, double limit, berth_i_verdict *out) {
  drop_unmoved(d);
  if (!run_moved(d, limit, out)) {
    move_back(d);
    return false;
  }
  d->has_trial = !out->cut;
  return true;
}

void berth_i_delta_accept(berth_i_delta *d) {
  berth_i_moves m = moves_of(d, d->n_moved);
  if (d->rewind && d->rewound) berth_i_rewind_accept(d->fast, d->rewind, d->quick, &m);
  else if (d->rewind) d->has_base = log_base(d);
  if (d->checkpoints && d->resumed)
    berth_i_checkpoints_accept(d->plan, d->checkpoints, d->state, &m);
  else if (d->checkpoints)
    d->has_base &=
        berth_i_checkpoints_base(d->plan, d->checkpoints, d->state, d->device, &d->ended);
  d->n_moved = 0;
  d->has_trial = false;
}

int32_t berth_i_delta_chain(berth_i_delta *d, int32_t *ops) {
  if (!d->last_plan) return 0;
  if (d->last == d->quick) berth_i_rewind_restore(d->rewind, d->quick, d->device);
  return berth_i_sim_chain(d->last_plan, d->last, ops);
}
