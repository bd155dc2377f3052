/* Running a placement: the calling thread lays out, starts, watches (interrupt hook, every 10 ms)
 * and records; repeated runs are ranked by makespan and the median is reported. */
#include "execution_internal.h"
#include "base/sort_internal.h"

static const double POLL_SECONDS = 0.01;
static const double MOST_SECONDS = 1e9; /* some thirty years */

static void share_ready_lists(berth_executor *x) {
  int32_t at = 0;
  for (int32_t d = 0; d < x->n_devices; d++) x->dev[d].n_ready = 0;
  for (int32_t op = 0; op < x->g->n_ops; op++) x->dev[x->device[op]].n_ready++;
  for (int32_t d = 0; d < x->n_devices; d++) {
    x->dev[d].ready = x->ready + at;
    at += x->dev[d].n_ready;
    x->dev[d].n_ready = 0;
    x->dev[d].op = BERTH_NONE;
  }
}

/* All threads are idle. */
static void reset(berth_executor *x, int32_t run) {
  for (int32_t op = 0; op < x->g->n_ops; op++) berth_i_exec_give(x, op, x->own[op]);
  share_ready_lists(x);
  memset(x->channel, 0, x->n_channels);
  memset(x->turns, 0, (size_t)x->g->n_ops * sizeof *x->turns);
  berth_rng_init(&x->rng, x->o.seed + (uint64_t)run, 0);
  x->n_copies = x->n_waiting = x->busy = 0;
  x->sequence = 0;
  x->left = x->g->n_ops;
  atomic_store(&x->stop, 0);
}

/* Under the lock: what has begun is finished. */
static void call_off(berth_executor *x) {
  atomic_store(&x->stop, 1);
  for (int32_t k = 0; k < x->n_started; k++) pthread_cond_signal(&x->thread[k].wake);
  while (x->busy > 0) pthread_cond_wait(&x->news, &x->lock);
}

/* The lock is open while hooks run. */
static berth_status poll_hooks(berth_executor *x) {
  double done = 1 - (double)x->left / (x->g->n_ops + x->n_copies);
  pthread_mutex_unlock(&x->lock);
  berth_status st;
  if ((st = berth_i_interrupted(x->ctx)) == BERTH_OK)
    berth_i_progress(x->ctx, "execute", done > 0 ? done : 0);
  pthread_mutex_lock(&x->lock);
  return st;
}

static berth_status run_once(berth_executor *x, int32_t run) {
  berth_status st = berth_i_interrupted(x->ctx);
  if (st != BERTH_OK) return st;
  reset(x, run);
  pthread_mutex_lock(&x->lock);
  x->origin = berth_i_exec_now();
  double next_poll = x->origin + POLL_SECONDS;
  berth_i_exec_begin(x);
  while (x->left > 0 && st == BERTH_OK) {
    if (berth_i_exec_wait_until(&x->news, &x->lock, next_poll) || x->left == 0) continue;
    st = poll_hooks(x);
    next_poll = berth_i_exec_now() + POLL_SECONDS;
  }
  if (st != BERTH_OK) call_off(x);
  pthread_mutex_unlock(&x->lock);
  return st;
}

/* ---- several runs ---- */

static int32_t median(berth_execution *const *all, int32_t n, berth_i_keyed *ranked) {
  for (int32_t i = 0; i < n; i++) ranked[i] = (berth_i_keyed){ all[i]->makespan, i };
  berth_i_sort_keyed(ranked, n);
  return ranked[(n - 1) / 2].id;
}

static int32_t first_wrong(berth_execution *const *all, int32_t n) {
  int32_t wrong = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    if (all[i]->wrong != BERTH_NONE && (wrong == BERTH_NONE || all[i]->wrong < wrong))
      wrong = all[i]->wrong;
  }
  return wrong;
}

/* Takes the median out of all. */
static berth_status pick(berth_execution **all, int32_t n, berth_i_keyed *ranked,
                         berth_execution **out) {
  int32_t best = median(all, n, ranked);
  berth_execution *r = all[best];
  if (!(r->times = berth_i_pool_alloc(&r->pool, (size_t)n, sizeof *r->times)))
    return berth_i_nomem(r->ctx);
  for (int32_t i = 0; i < n; i++) r->times[i] = all[i]->makespan;
  r->wrong = first_wrong(all, n);
  r->n_times = n;
  all[best] = NULL;
  *out = r;
  return BERTH_OK;
}

static berth_status run_all(berth_executor *x, int32_t n, berth_execution **out) {
  berth_i_pool scratch = berth_i_pool_empty(x->ctx);
  berth_execution **all = berth_i_pool_zalloc(&scratch, (size_t)n, sizeof *all);
  berth_i_keyed *ranked = berth_i_pool_alloc(&scratch, (size_t)n, sizeof *ranked);
  berth_status st = berth_i_pool_status(&scratch);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    if ((st = run_once(x, i)) == BERTH_OK) st = berth_i_execution_new(x, &all[i]);
  }
  if (st == BERTH_OK) st = pick(all, n, ranked, out);
  for (int32_t i = 0; all && i < n; i++) berth_execution_release(all[i]);
  berth_i_pool_free(&scratch);
  return st;
}

/* The simulated makespan is not below any op's or transfer's time. */
static berth_status check_placement(berth_executor *x, const int32_t *device) {
  berth_sim_summary s;
  berth_status st = berth_sim_run(x->simulator, device, &s);
  if (st != BERTH_OK || s.makespan * x->scale < MOST_SECONDS) return st;
  return berth_i_fail(x->ctx, BERTH_EINVAL, "the placement takes %g s, at scale %g: more than %g s",
                      s.makespan, x->scale, MOST_SECONDS);
}

static berth_status run_placement(berth_executor *x, const int32_t *device, int32_t repeats,
                                  berth_execution **out) {
  berth_status st = check_placement(x, device);
  if (st != BERTH_OK) return st;
  x->device = device;
  if (x->o.check && !x->expected) st = berth_i_exec_expect(x);
  if (st == BERTH_OK) st = berth_i_exec_layout(x);
  if (st == BERTH_OK) st = run_all(x, repeats, out);
  x->device = NULL;
  return st;
}

berth_status berth_executor_run(berth_executor *x, const int32_t *device, int32_t repeats,
                                berth_execution **out) {
  if (!x || !out) return BERTH_EINVAL;
  if (x->running)
    return berth_i_fail(x->ctx, BERTH_EINVAL, "executor: busy: called from within its own run");
  if (repeats < 1)
    return berth_i_fail(x->ctx, BERTH_EINVAL, "repeats: %d is not positive", (int)repeats);
  x->running = true;
  berth_status st = run_placement(x, device, repeats, out);
  x->running = false;
  return st;
}
