/* A walk: one placement that changes move by move, its value, and the best it has visited.
 * Structure: changes are on a stack until they are kept or undone; with the built-in objective they
 * are evaluated by re-simulation from the present placement (sim/delta). Invariant: held has the
 * bytes of the present placement with its changes. A change is O(1), an evaluation one simulation
 * at most. */
#include "search_internal.h"

enum { MOST_FAILED = 2000 }; /* moves in a row without a call: there is nothing left to move */

/* ---- the built-in objective ---- */

static bool has_base(const berth_i_walk *w) { return w->delta && w->delta->has_base; }

/* The changes on the stack are all that differs from the base. */
static double simulated_moves(berth_i_walk *w, double limit) {
  const berth_i_sim_plan *plan = w->p->plan;
  berth_i_delta_begin(w->delta);
  for (int32_t i = 0; i < w->n_undo; i++)
    berth_i_delta_move(w->delta, w->undo_op[i], w->device[w->undo_op[i]]);
  berth_i_verdict v;
  if (!berth_i_delta_try(w->delta, limit / plan->unit, &v) || v.cut || v.oom_op != BERTH_NONE)
    return INFINITY;
  return v.makespan * plan->unit;
}

static berth_status simulated(void *ud, const int32_t *device, double limit, double *out) {
  berth_i_walk *w = ud;
  const berth_i_problem *p = w->p;
  const berth_i_sim_plan *plan = p->plan;
  berth_i_sim_state *s = w->state;
  *out = INFINITY;
  if (p->any_order
      && berth_i_any_order_over(p->cost, p->judge.param_multiple, device, &w->sums) != BERTH_NONE)
    return BERTH_OK;
  if (device == w->device && has_base(w)) {
    *out = simulated_moves(w, limit);
    return BERTH_OK;
  }
  if (!berth_i_sim_execute_limited(plan, s, device, plan->o.seed, false, limit / plan->unit))
    return BERTH_OK;
  if (s->cut || (s->memory && s->memory->oom.op != BERTH_NONE)) return BERTH_OK;
  *out = s->now * plan->unit;
  return BERTH_OK;
}

static int32_t simulated_chain(void *ud, int32_t *ops) {
  const berth_i_walk *w = ud;
  return has_base(w) ? berth_i_delta_chain(w->delta, ops)
                     : berth_i_sim_chain(w->p->plan, w->state, ops);
}

/* ---- set up ---- */

berth_status berth_i_walk_init(berth_i_search *s, berth_i_pool *pool, int32_t stream,
                               berth_i_walk *w) {
  berth_i_problem *p = s->p;
  size_t n = (size_t)p->n;
  *w = (berth_i_walk){ .s = s, .p = p, .cur = INFINITY, .best_value = INFINITY,
                       .to_time = INFINITY };
  w->f = p->o->objective ? *p->o->objective
                         : (berth_objective){ simulated, simulated_chain, w };
  berth_rng_init(&w->rng, p->o->seed, (uint64_t)stream);
  w->device = berth_i_pool_zalloc(pool, n, sizeof *w->device);
  w->best = berth_i_pool_zalloc(pool, n, sizeof *w->best);
  w->undo_op = berth_i_pool_alloc(pool, 2 * n, sizeof *w->undo_op);
  w->undo_device = berth_i_pool_alloc(pool, 2 * n, sizeof *w->undo_device);
  w->touched = berth_i_pool_zalloc(pool, n, sizeof *w->touched);
  w->chain = berth_i_pool_alloc(pool, n, sizeof *w->chain);
  w->order = berth_i_pool_alloc(pool, n, sizeof *w->order);
  w->held = berth_i_pool_zalloc(pool, (size_t)p->n_devices, sizeof *w->held);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  if (p->any_order && berth_i_any_order_init(p->cost, &w->sums) != BERTH_OK) return BERTH_ENOMEM;
  if ((st = berth_i_sim_state_new(p->plan, &w->state)) != BERTH_OK) return st;
  if (p->o->objective || p->o->no_limit || !berth_i_delta_pays(p->plan, p->fast)) return BERTH_OK;
  return berth_i_delta_new(p->plan, p->fast, w->state, &w->delta);
}

void berth_i_walk_release(berth_i_walk *w) {
  if (w->p->any_order) berth_i_any_order_release(w->p->cost, &w->sums);
  berth_i_delta_release(w->delta);
  berth_i_sim_state_release(w->p->plan, w->state);
}

/* ---- values ---- */

static bool crosses(const berth_i_problem *p, int32_t tensor, int32_t src, int32_t dst) {
  if (src == dst) return true;
  if (isinf(berth_i_transfer_time(p->cost, tensor, src, dst))) return false;
  return !berth_i_on_links(p->judge.links)
         || p->cost->t->route_len[berth_i_pair(p->cost->t, src, dst)] >= 0;
}

/* Collectives and what memory does take a simulation. */
static bool all_cross(const berth_i_problem *p, const int32_t *device) {
  const berth_graph *g = p->cost->g;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) {
      if (!crosses(p, t, device[g->producer[t]], device[g->use[i]])) return false;
    }
  }
  return true;
}

/* Placements that are refused before a user's objective is called. */
static bool cannot_run(berth_i_walk *w, const int32_t *device) {
  const berth_i_problem *p = w->p;
  if (!p->o->objective) return false;
  if (p->apart && !all_cross(p, device)) return true;
  if (!p->bytes && !(p->apart && p->cost->g->n_collectives > 0)) return false;
  double value;
  simulated(w, device, INFINITY, &value);
  return isinf(value);
}

berth_status berth_i_walk_evaluate(berth_i_walk *w, const int32_t *device,
                                   double limit, double *out) {
  berth_status st = BERTH_OK;
  *out = INFINITY;
  w->calls++;
  atomic_fetch_add_explicit(&w->s->calls, 1, memory_order_relaxed);
  if (cannot_run(w, device)) return BERTH_OK;
  st = w->f.value(w->f.ud, device, w->p->o->no_limit ? INFINITY : limit, out);
  if (st == BERTH_OK && isnan(*out))
    st = berth_i_fail(w->p->ctx, BERTH_EINVAL, "search: the objective gave no number");
  if (st == BERTH_OK && *out == -INFINITY)
    st = berth_i_fail(w->p->ctx, BERTH_EINVAL, "search: the objective gave -inf");
  return st;
}

static void remember_chain(berth_i_walk *w) {
  w->n_chain = w->f.chain ? w->f.chain(w->f.ud, w->chain) : 0;
}

static void keep_best(berth_i_walk *w) {
  if (!(w->cur < w->best_value)) return;
  w->best_value = w->cur;
  memcpy(w->best, w->device, (size_t)w->p->n * sizeof *w->best);
}

static void keep_moves(berth_i_walk *w) {
  while (w->n_undo > 0) w->touched[w->undo_op[--w->n_undo]] = 0;
}

void berth_i_walk_take(berth_i_walk *w, const int32_t *device, double value) {
  keep_moves(w);
  for (int32_t i = 0; i < w->p->n_devices; i++) w->held[i] = 0;
  for (int32_t i = 0; i < w->p->n; i++) {
    w->device[i] = device[i];
    if (w->p->bytes) w->held[device[i]] += w->p->bytes[i];
  }
  w->n_chain = 0;
  w->cur = value;
  keep_best(w);
  if (w->delta) w->delta->has_base = false;
}

/* ---- putting and undoing ---- */

static void set_device(berth_i_walk *w, int32_t op, int32_t device) {
  if (w->p->bytes) {
    w->held[w->device[op]] -= w->p->bytes[op];
    w->held[device] += w->p->bytes[op];
  }
  w->device[op] = device;
}

/* Only walks that move need a base; BRKGA does not. */
static void need_base(berth_i_walk *w) {
  berth_i_verdict unused;
  if (w->delta && !w->delta->has_base) berth_i_delta_base(w->delta, w->device, &unused);
}

/* The arrays hold two changes of each op: a move touches a block at most twice. */
void berth_i_walk_put(berth_i_walk *w, int32_t op, int32_t device) {
  if (w->device[op] == device) return;
  if (w->n_undo == 0) need_base(w);
  w->undo_op[w->n_undo] = op;
  w->undo_device[w->n_undo++] = w->device[op];
  w->touched[op] = 1;
  set_device(w, op, device);
}

void berth_i_walk_put_block(berth_i_walk *w, const berth_i_clumps *b, int32_t block,
                            int32_t device) {
  if (!berth_i_block_may(w, b, block, device)) return;
  for (int32_t i = b->at[block]; i < b->at[block + 1]; i++) berth_i_walk_put(w, b->ops[i], device);
}

void berth_i_walk_undo_to(berth_i_walk *w, int32_t n) {
  while (w->n_undo > n) {
    int32_t op = w->undo_op[--w->n_undo];
    set_device(w, op, w->undo_device[w->n_undo]);
    w->touched[op] = 0;
  }
}

void berth_i_walk_undo(berth_i_walk *w) { berth_i_walk_undo_to(w, 0); }

/* With a margin: sums that many changes were added to and subtracted from are not exact. */
bool berth_i_walk_fits(const berth_i_walk *w) {
  for (int32_t d = 0; w->p->bytes && d < w->p->n_devices; d++) {
    if (w->held[d] > w->p->cost->t->devices[d].memory * (1 + 1e-9)) return false;
  }
  return true;
}

/* @return the value, if it is allowed and at most limit; else INFINITY */
static double evaluate(berth_i_walk *w, double limit) {
  if (w->n_undo == 0 || !berth_i_walk_fits(w)) {
    w->failed++;
    return INFINITY;
  }
  w->failed = 0;
  double value;
  berth_status st;
  if ((st = berth_i_walk_evaluate(w, w->device, limit, &value)) != BERTH_OK) {
    w->status = st;
    atomic_store(&w->s->stopped, true);
    return INFINITY;
  }
  return value <= limit ? value : INFINITY;
}

bool berth_i_walk_try(berth_i_walk *w, double limit) {
  double value = evaluate(w, limit);
  if (isinf(value)) {
    berth_i_walk_undo(w);
    return false;
  }
  keep_moves(w);
  w->cur = value;
  if (has_base(w)) berth_i_delta_accept(w->delta);
  remember_chain(w);
  keep_best(w);
  return true;
}

double berth_i_walk_probe(berth_i_walk *w, double limit) {
  double value = evaluate(w, limit);
  berth_i_walk_undo(w);
  return value;
}

/* ---- budgets ---- */

static double part(double from, double at, double to) {
  return to > from ? (at - from) / (to - from) : 1;
}

bool berth_i_walk_continues(berth_i_walk *w, double *done) {
  double used = 0;
  if (w->home) berth_i_search_poll(w->s);
  if (atomic_load(&w->s->stopped) || w->failed > MOST_FAILED) return false;
  if (w->most_calls > 0)
    used = part((double)w->from_calls, (double)w->calls, (double)w->most_calls);
  double now = atomic_load_explicit(&w->s->elapsed, memory_order_relaxed);
  if (!isinf(w->to_time)) used = fmax(used, part(w->from_time, now, w->to_time));
  if (done) *done = used;
  return used < 1;
}
