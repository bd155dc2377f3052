/* Runs the members on a worker pool. The calling thread calls the hooks; the others read a flag and
 * the clock. Members that share the linear program run after the job that solves it. */
#include "portfolio_internal.h"

enum { SMALL = 20000 }; /* ops times members: below, threads cost more time than they save */

/* ---- hooks ---- */

static bool hook_says_stop(berth_i_run *r) {
  if (!r->hooks.interrupt || !r->hooks.interrupt(r->hooks.ud)) return false;
  atomic_store(&r->hook_stopped, true);
  atomic_store(&r->stopped, true);
  return true;
}

static int should_stop(void *ud) {
  berth_i_worker *w = ud;
  berth_i_run *r = w->run;
  if (atomic_load(&r->stopped)) return 1;
  if (w == r->worker && hook_says_stop(r)) return 1;
  if (w->untimed || isinf(r->deadline) || berth_i_portfolio_now(r) < r->deadline) return 0;
  w->timed_out = true;
  return 1;
}

static double same_clock(void *ud) { return berth_i_portfolio_now(((berth_i_worker *)ud)->run); }

/* While a member runs on the calling thread, its context calls the hooks of the run, which call the
 * caller's. */
static void put_hooks(berth_i_run *r) {
  berth_hooks h = { 0 };
  h.interrupt = should_stop;
  h.ud = r->worker;
  if (r->hooks.clock) h.clock = same_clock;
  berth_i_ctx_swap_hooks(r->cost->ctx, &h);
}

static void take_hooks_back(berth_i_run *r) { berth_i_ctx_swap_hooks(r->cost->ctx, &r->hooks); }

static void watch(void *ud) {
  berth_i_run *r = ud;
  int32_t done = atomic_load(&r->done);
  take_hooks_back(r);
  while (r->reported < done && !atomic_load(&r->stopped)) {
    berth_i_progress(r->cost->ctx, "portfolio", (double)++r->reported / r->p->n);
  }
  if (!atomic_load(&r->stopped) && r->reported < r->p->n) hook_says_stop(r);
  put_hooks(r);
}

/* ---- jobs ---- */

static bool needs_lp(const berth_i_run *r, int32_t member) {
  return r->p->entry[member].matching != BERTH_I_MATCHING_NONE;
}

static void add_job(berth_i_run *r, int32_t member) {
  /* a function of the caller's while it places */
  bool calls_back = r->cost->collective && r->cost->g->n_collectives > 0;
  r->caller_only[r->n_jobs] = member == BERTH_NONE || calls_back || r->p->entry[member].caller_only;
  r->job[r->n_jobs++] = member;
}

/* Those that wait for the linear program come last, behind it. */
static berth_status make_jobs(berth_i_run *r) {
  int32_t waiting = 0;
  r->job = berth_i_pool_alloc(&r->pool, (size_t)r->p->n + 1, sizeof *r->job);
  r->caller_only = berth_i_pool_alloc(&r->pool, (size_t)r->p->n + 1, sizeof *r->caller_only);
  berth_status st;
  if ((st = berth_i_pool_status(&r->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < r->p->n; i++) {
    if (needs_lp(r, i)) waiting++;
    else add_job(r, i);
  }
  if (waiting == 0) return BERTH_OK;
  add_job(r, BERTH_NONE);
  for (int32_t i = 0; i < r->p->n; i++) {
    if (needs_lp(r, i)) add_job(r, i);
  }
  for (int32_t k = 0; k < BERTH_I_MATCHINGS; k++)
    r->favourite[k] =
        berth_i_pool_alloc(&r->pool, (size_t)r->cost->g->n_ops, sizeof *r->favourite[k]);
  return berth_i_pool_status(&r->pool);
}

/* ---- workers ---- */

static int32_t count_threads(const berth_i_run *r) {
  int32_t others = 0, threads = r->o->threads;
  for (int32_t i = 0; i < r->n_jobs; i++) others += !r->caller_only[i];
  if (!berth_i_ctx_default_alloc(r->cost->ctx)) return 1;
  if (threads == 0 && (int64_t)r->cost->g->n_ops * r->n_jobs < SMALL) return 1;
  return berth_i_parallel_width(threads, others < r->n_jobs ? others + 1 : others);
}

/* Read-only data is shared; only the worker counts references to the copies. */
static void borrow(berth_i_worker *w, const berth_cost *cost) {
  w->g = *cost->g;
  w->t = *cost->t;
  w->own = *cost;
  w->g.ctx = w->t.ctx = w->own.ctx = w->ctx;
  w->g.refs = w->t.refs = w->own.refs = 1;
  w->own.g = &w->g;
  w->own.t = &w->t;
  w->cost = &w->own;
}

/* One for the calling thread; where memory for another one is refused, fewer are enough. */
static berth_status make_workers(berth_i_run *r) {
  int32_t n = count_threads(r);
  r->worker = berth_i_pool_zalloc(&r->pool, (size_t)n, sizeof *r->worker);
  if (!r->worker) return berth_i_nomem(r->cost->ctx);
  r->worker[0] = (berth_i_worker){ .run = r, .ctx = r->cost->ctx, .cost = r->cost };
  for (r->workers = 1; r->workers < n; r->workers++) {
    berth_i_worker *w = &r->worker[r->workers];
    w->run = r;
    if (berth_i_ctx_worker(r->cost->ctx, should_stop, w, &w->ctx) != BERTH_OK) break;
    borrow(w, r->cost);
  }
  return BERTH_OK;
}

/* Answers move to the caller's context first. */
static void free_workers(berth_i_run *r) {
  size_t peak = 0;
  for (int32_t i = 1; i < r->workers; i++) peak += berth_ctx_memory_peak(r->worker[i].ctx);
  berth_i_ctx_count_peak(r->cost->ctx, peak);
  for (int32_t i = 0; i < r->p->n; i++) {
    berth_placement *p = r->p->report[i].placement;
    if (p && p->ctx != r->cost->ctx) berth_i_placement_move(p, r->cost->ctx);
  }
  for (int32_t i = 0; i < r->workers; i++) {
    berth_sim_release(r->worker[i].sim);
    if (i > 0) berth_ctx_release(r->worker[i].ctx);
  }
}

/* ---- all together ---- */

/* The judge's options are wrong for all answers or for none. */
static berth_status check_judge(berth_i_run *r) {
  berth_sim_options o = r->judge;
  berth_sim *sim = NULL;
  r->own_sequence = o.dispatch == BERTH_DISPATCH_PLANNED && !o.sequence;
  if (r->own_sequence) o.sequence = r->cost->g->topo;
  berth_status st = berth_sim_new(r->cost, &o, &sim);
  if (st == BERTH_EINVAL) berth_i_prefix_error(r->cost->ctx, "portfolio: judge: ");
  if (st == BERTH_OK && !r->own_sequence) r->worker[0].sim = sim;
  else berth_sim_release(sim);
  return st;
}

static void do_job(void *ud, int32_t thread, int32_t job) {
  berth_i_run *r = ud;
  if (r->job[job] == BERTH_NONE) berth_i_portfolio_solve(&r->worker[thread]);
  else berth_i_portfolio_try(&r->worker[thread], r->job[job]);
}

berth_status berth_i_portfolio_execute(berth_i_run *r) {
  berth_ctx *ctx = r->cost->ctx;
  berth_hooks none = { 0 };
  double seconds = r->o->seconds;
  r->hooks = berth_i_ctx_swap_hooks(ctx, &none);
  take_hooks_back(r);
  berth_status st;
  if ((st = make_jobs(r)) != BERTH_OK) goto done;
  if ((st = make_workers(r)) != BERTH_OK) goto done;
  if ((st = check_judge(r)) != BERTH_OK) goto done;
  r->deadline = seconds > 0 && !isinf(seconds) ? berth_i_portfolio_now(r) + seconds : INFINITY;
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->solved, NULL);
  put_hooks(r);
  berth_i_jobs jobs = { do_job, r->caller_only, watch, r };
  if (!hook_says_stop(r)) berth_i_parallel_watched(r->workers, r->n_jobs, &jobs);
  take_hooks_back(r);
  pthread_cond_destroy(&r->solved);
  pthread_mutex_destroy(&r->lock);
  bool failed = false, refused = false;
  for (int32_t i = 0; i < r->p->n; i++) {
    failed |= r->p->report[i].status == BERTH_ECALLBACK;
    refused |= r->p->report[i].status == BERTH_ENOMEM;
  }
  if (failed) st = BERTH_ECALLBACK;
  else if (refused) st = berth_i_nomem(ctx);
  else if (atomic_load(&r->hook_stopped)) st = berth_i_fail(ctx, BERTH_EINTERRUPT, "interrupted");
done:
  free_workers(r);
  berth_i_pool_free(&r->pool);
  return st;
}
