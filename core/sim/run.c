/* Many runs: the reusable simulator, and batches of placements on threads. A batch gives each
 * thread a state of its own and reports the failure of the lowest row, so that the answer does not
 * depend on threads. */
#include "after_internal.h"
#include "sim/delta/delta_internal.h"
#include <stdatomic.h>

berth_status berth_sim_new(berth_cost *cost, const berth_sim_options *opts, berth_sim **out) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_ctx *ctx = cost->ctx;
  berth_sim *sim = berth_i_zalloc(ctx, 1, sizeof *sim);
  if (!sim) return berth_i_nomem(ctx);
  berth_status st;
  if ((st = berth_i_sim_plan_new(cost, opts, false, &sim->plan)) != BERTH_OK) goto fail;
  if ((st = berth_i_sim_state_new(sim->plan, &sim->state)) != BERTH_OK) goto fail;
  *out = sim;
  return BERTH_OK;
fail:
  berth_i_sim_plan_release(sim->plan);
  berth_i_free(ctx, sim, 1, sizeof *sim);
  return st;
}

void berth_sim_release(berth_sim *sim) {
  if (!sim) return;
  berth_i_sim_plan *plan = sim->plan;
  berth_i_delta_release(sim->delta);
  berth_i_sim_plan_release(sim->fast);
  berth_i_sim_state_release(plan, sim->state);
  berth_i_free(plan->ctx, sim, 1, sizeof *sim);
  berth_i_sim_plan_release(plan); /* last: it may hold the context */
}

static berth_sim_summary summarise(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  berth_sim_summary r;
  r.makespan = s->now * p->unit;
  r.peak = 0;
  r.oom_op = s->memory ? s->memory->oom.op : BERTH_NONE;
  for (int32_t d = 0; s->memory && d < p->n_devices; d++) {
    if (s->memory->peak[d] > r.peak) r.peak = s->memory->peak[d];
  }
  return r;
}

static void note_run(berth_sim *sim) {
  sim->last_is_delta = false;
  sim->ended += sim->state->done;
}

berth_status berth_i_sim_idle(const berth_sim *sim) {
  if (!sim->running) return BERTH_OK;
  return berth_i_fail(sim->plan->ctx, BERTH_EINVAL,
                      "simulator: busy: called from within its own run");
}

berth_status berth_sim_run(berth_sim *sim, const int32_t *device, berth_sim_summary *out) {
  if (!sim) return BERTH_EINVAL;
  const berth_i_sim_plan *p = sim->plan;
  berth_status st = berth_i_sim_idle(sim);
  if (st != BERTH_OK) return st;
  sim->running = true;
  bool ran = berth_i_sim_execute(p, sim->state, device, p->o.seed, true);
  sim->running = false;
  note_run(sim);
  if (!ran) return berth_i_fault_report(p, &sim->state->fault);
  *out = summarise(p, sim->state);
  return BERTH_OK;
}

/* A cut run gives a lower bound on its end. */
static berth_sim_summary summarise_limited(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  berth_sim_summary r = summarise(p, s);
  if (s->cut) r.makespan = s->limit * p->unit;
  return r;
}

berth_status berth_sim_run_limited(berth_sim *sim, const int32_t *device, double limit,
                                   berth_sim_summary *out) {
  if (!sim) return BERTH_EINVAL;
  berth_i_sim_plan *p = sim->plan;
  berth_status st = berth_i_sim_idle(sim);
  if (st != BERTH_OK) return st;
  if (!(limit >= 0))
    return berth_i_fail(p->ctx, BERTH_EINVAL, "limit: %g is not a time from 0 on", limit);
  if (limit < INFINITY && (st = berth_i_sim_plan_tails(p)) != BERTH_OK) return st;
  sim->running = true;
  bool ran = berth_i_sim_execute_limited(p, sim->state, device, p->o.seed, true, limit / p->unit);
  sim->running = false;
  note_run(sim);
  if (!ran) return berth_i_fault_report(p, &sim->state->fault);
  *out = summarise_limited(p, sim->state);
  return BERTH_OK;
}

int32_t berth_sim_chain(const berth_sim *sim, int32_t *ops) {
  if (sim->running) return 0;
  return sim->last_is_delta ? berth_i_delta_chain(sim->delta, ops)
                            : berth_i_sim_chain(sim->plan, sim->state, ops);
}

int64_t berth_sim_ended(const berth_sim *sim) {
  return sim->ended + (sim->delta ? sim->delta->ended : 0);
}

/* ---- for other rooms ---- */

static const berth_i_sim_state *last_state(const berth_sim *sim) {
  return sim->last_is_delta ? sim->delta->last : sim->state;
}

const double *berth_i_sim_peaks(const berth_sim *sim) {
  const berth_i_sim_state *s = last_state(sim);
  return s && s->memory ? s->memory->peak : NULL;
}

/* Plain runs, and those that were rewound, keep no busy times: but then every op runs once, for as
 * long as priced. */
static void add_up_work(const berth_sim *sim, double *busy) {
  const berth_i_sim_plan *p = sim->plan;
  int32_t d;
  for (d = 0; d < p->n_devices; d++) busy[d] = 0;
  for (int32_t i = 0; i < p->n_ops; i++) {
    d = sim->last_is_delta ? sim->delta->device[i] : sim->state->ops[i].device;
    busy[d] += p->work[(size_t)i * (size_t)p->cost->n_classes + (size_t)p->cost->class_of[d]];
  }
}

void berth_i_sim_busy(const berth_sim *sim, double *busy) {
  const berth_i_sim_plan *p = sim->plan;
  if (p->plain || last_state(sim) != sim->state) {
    add_up_work(sim, busy);
  } else {
    for (int32_t d = 0; d < p->n_devices; d++) busy[d] = sim->state->dev[d].busy;
  }
  for (int32_t d = 0; d < p->n_devices; d++) busy[d] *= p->unit;
}

/* ---- batches ---- */

typedef struct worker {
  berth_i_sim_state *state;
  int32_t failed_row; /* lowest of this thread; BERTH_NONE */
  berth_i_fault fault;
} worker;

typedef struct batch {
  const berth_i_sim_plan *plan;
  const int32_t *device;
  berth_sim_summary *out;
  worker *workers;
  int32_t n_workers, first, end; /* rows of this round */
  atomic_bool stopped;           /* by the interrupt hook, which only the calling thread calls */
} batch;

enum { ROWS_PER_JOB = 8, JOBS_PER_ROUND = 1024, CALLING_THREAD = 0 };

static int32_t jobs_for(int32_t rows) {
  int32_t jobs = rows / ROWS_PER_JOB + (rows % ROWS_PER_JOB > 0);
  return jobs < JOBS_PER_ROUND ? jobs : JOBS_PER_ROUND;
}

static void run_row(batch *b, worker *w, int32_t row, bool poll) {
  const berth_i_sim_plan *p = b->plan;
  if (berth_i_sim_execute(p, w->state, &b->device[(size_t)row * (size_t)p->n_ops],
                          p->o.seed + (uint64_t)row, poll)) {
    b->out[row] = summarise(p, w->state);
  } else if (w->state->fault.kind == BERTH_I_FAULT_INTERRUPT) {
    b->stopped = true;
  } else if (w->failed_row == BERTH_NONE || row < w->failed_row) {
    w->failed_row = row;
    w->fault = w->state->fault;
  }
}

static void run_rows(void *ud, int32_t thread, int32_t job) {
  batch *b = ud;
  int32_t row = b->first + job * ROWS_PER_JOB,
          end = b->end - row < ROWS_PER_JOB ? b->end : row + ROWS_PER_JOB;
  for (; row < end && !b->stopped; row++)
    run_row(b, &b->workers[thread], row, thread == CALLING_THREAD);
}

static berth_status batch_verdict(const batch *b) {
  const worker *lowest = NULL;
  if (b->stopped) return berth_i_fail(b->plan->ctx, BERTH_EINTERRUPT, "interrupted");
  for (int32_t i = 0; i < b->n_workers; i++) {
    const worker *w = &b->workers[i];
    if (w->failed_row != BERTH_NONE && (!lowest || w->failed_row < lowest->failed_row)) lowest = w;
  }
  if (!lowest) return BERTH_OK;
  berth_status st = berth_i_fault_report(b->plan, &lowest->fault);
  berth_i_prefix_error(b->plan->ctx, "placement %d: ", (int)lowest->failed_row);
  return st;
}

static berth_status batch_run(batch *b, int32_t k, int32_t threads) {
  berth_status st = BERTH_OK;
  for (b->first = 0; b->first < k && st == BERTH_OK; b->first = b->end) {
    int32_t jobs = jobs_for(k - b->first), rows = jobs * ROWS_PER_JOB;
    b->end = k - b->first < rows ? k : b->first + rows;
    if ((st = berth_i_interrupted(b->plan->ctx)) != BERTH_OK) break;
    berth_i_parallel(threads, jobs, run_rows, b);
    st = batch_verdict(b);
  }
  return st;
}

static berth_status batch_workers(batch *b) {
  for (int32_t i = 0; i < b->n_workers; i++) {
    berth_status st = berth_i_sim_state_new(b->plan, &b->workers[i].state);
    if (st != BERTH_OK) return st;
    b->workers[i].failed_row = BERTH_NONE;
  }
  return BERTH_OK;
}

berth_status berth_sim_batch(berth_cost *cost, const berth_sim_options *opts, int32_t k,
                             const int32_t *device, int32_t threads, berth_sim_summary *out) {
  if (!cost) return BERTH_EINVAL;
  berth_ctx *ctx = cost->ctx;
  berth_i_sim_plan *plan = NULL;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  batch b;
  memset(&b, 0, sizeof b);
  if (k < 0 || threads < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d placements on %d threads", (int)k, (int)threads);
  berth_status st;
  if ((st = berth_i_sim_plan_new(cost, opts, false, &plan)) != BERTH_OK) return st;
  b.plan = plan;
  b.device = device;
  /* the cost's function is called on the calling thread */
  if (cost->collective && plan->n_collectives > 0) threads = 1;
  b.n_workers = berth_i_parallel_width(threads, jobs_for(k));
  b.workers = berth_i_pool_zalloc(&scratch, (size_t)b.n_workers, sizeof *b.workers);
  b.out = berth_i_pool_alloc(&scratch, (size_t)k, sizeof *b.out);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = batch_workers(&b)) != BERTH_OK) goto done;
  if ((st = batch_run(&b, k, threads)) != BERTH_OK) goto done;
  memcpy(out, b.out, (size_t)k * sizeof *out);
done:
  for (int32_t i = 0; b.workers && i < b.n_workers; i++)
    berth_i_sim_state_release(plan, b.workers[i].state);
  berth_i_pool_free(&scratch);
  berth_i_sim_plan_release(plan);
  return st;
}
