/* A run: one sequence of jobs on a cluster, which a decider decides about as they arrive; either it
 * is called for each arrival (play), or the caller decides job after job (decide).
 *
 * Invariants: `job` is the one to be decided about, BERTH_NONE while time passes; answer[d] is what
 * decision d comes to for it, computed once; a server is busy exactly while its owner runs. */
#include "pacml_internal.h"

void berth_pacml_run_release(berth_pacml_run *r) {
  if (!r) return;
  berth_pacml *p = r->env;
  berth_cluster_release(r->cluster);
  berth_i_pool_free(&r->pool);
  berth_pacml_release(p);
}

static berth_status make_cluster(berth_pacml_run *r, const berth_pacml_job *jobs) {
  berth_ctx *ctx = r->env->ramp->ctx;
  berth_cluster_options o = berth_cluster_default(r->env->ramp->servers);
  berth_job *list = berth_i_alloc(ctx, (size_t)r->n, sizeof *list);
  if (!list) return berth_i_nomem(ctx);
  for (int32_t j = 0; j < r->n; j++) {
    double sequential = berth_pacml_sequential(r->env, jobs[j].model);
    list[j] = (berth_job){ jobs[j].arrival, sequential, jobs[j].beta * sequential, jobs[j].model };
  }
  /* exact: what rounding can do to a job that ends just when another one arrives */
  double last = r->n > 0 ? jobs[r->n - 1].arrival : 0;
  o.slack = r->env->ramp->o.compat ? 1e-7 : last > 0 && isfinite(last) ? 1e-14 * last : 0;
  berth_status st = berth_cluster_new(ctx, &o, r->n, list, &r->cluster);
  berth_i_free(ctx, list, (size_t)r->n, sizeof *list);
  return st;
}

static berth_status get_arrays(berth_pacml_run *r) {
  const berth_pacml *p = r->env;
  size_t servers = (size_t)p->ramp->servers, decisions = (size_t)p->most + 1;
  r->jobs = berth_i_pool_alloc(&r->pool, (size_t)r->n, sizeof *r->jobs);
  r->past = berth_i_pool_alloc(&r->pool, (size_t)r->n, sizeof *r->past);
  r->busy = berth_i_pool_zalloc(&r->pool, servers, sizeof *r->busy);
  r->free_at = berth_i_pool_zalloc(&r->pool, servers, sizeof *r->free_at);
  r->owner = berth_i_pool_alloc(&r->pool, servers, sizeof *r->owner);
  r->answer = berth_i_pool_zalloc(&r->pool, decisions + 1, sizeof *r->answer);
  r->servers = berth_i_pool_alloc(&r->pool, (decisions + 1) * servers, sizeof *r->servers);
  r->first = berth_i_pool_zalloc(&r->pool, (size_t)p->n * decisions, sizeof *r->first);
  return berth_i_pool_status(&r->pool);
}

/* ---- time ---- */

static berth_status run_decider(berth_pacml_run *r) {
  const berth_pacml_decider *d = r->decider;
  int32_t job = r->job;
  berth_status st = d->arrival ? d->arrival(d->ud, r, job) : BERTH_OK;
  if (st != BERTH_OK || r->job == BERTH_NONE) return st;
  return berth_i_fail(r->env->ramp->ctx, BERTH_EINVAL,
                      "pacml: job %d: the decider did not decide about it", (int)job);
}

static berth_status on_arrival(void *ud, berth_cluster *c, int32_t job) {
  berth_pacml_run *r = ud;
  (void)c;
  memset(r->answer, 0, ((size_t)r->env->most + 2) * sizeof *r->answer);
  r->job = job;
  return r->decider ? run_decider(r) : BERTH_OK;
}

static berth_status on_end(void *ud, berth_cluster *c, int32_t job) {
  berth_pacml_run *r = ud;
  (void)c;
  for (int32_t s = 0; s < r->env->ramp->servers; s++)
    if (r->owner[s] == job) r->busy[s] = 0;
  return r->decider && r->decider->end ? r->decider->end(r->decider->ud, r, job) : BERTH_OK;
}

static berth_scheduler scheduler(berth_pacml_run *r) {
  return (berth_scheduler){ on_arrival, on_end, NULL, NULL, r };
}

/* On to the next arrival, or to the end. */
static berth_status move_on(berth_pacml_run *r) {
  berth_scheduler s = scheduler(r);
  berth_cluster_event e;
  berth_status st;
  do st = berth_cluster_step(r->cluster, &s, &e);
  while (st == BERTH_OK && r->job == BERTH_NONE && e.kind != BERTH_CLUSTER_OVER);
  return st;
}

berth_status berth_pacml_run_play(berth_pacml_run *r, const berth_pacml_decider *decider) {
  if (!r) return BERTH_EINVAL;
  berth_scheduler s = scheduler(r);
  berth_status st = BERTH_OK;
  if (r->decider)
    return berth_i_fail(r->env->ramp->ctx, BERTH_EINVAL, "pacml: play: the run is being played");
  r->decider = decider;
  if (r->job != BERTH_NONE) st = run_decider(r);
  if (st == BERTH_OK) st = berth_cluster_run(r->cluster, &s);
  r->decider = NULL;
  if (st != BERTH_OK && r->job == BERTH_NONE) move_on(r);
  return st;
}

berth_status berth_pacml_run_new(berth_pacml *p, int32_t n, const berth_pacml_job *jobs,
                                 berth_pacml_run **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_status st;
  for (int32_t j = 0; j < n; j++) {
    if (jobs[j].model < 0 || jobs[j].model >= p->n)
      return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                          "pacml: job %d: model %d does not exist: there are %d", (int)j,
                          (int)jobs[j].model + 1, (int)p->n);
    if (!(jobs[j].beta > 0) || isinf(jobs[j].beta))
      return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                          "pacml: job %d: beta: expected a finite number above 0, got %g", (int)j,
                          jobs[j].beta);
  }
  berth_pacml_run *r;
  if (!(r = berth_i_pool_object(p->ramp->ctx, sizeof *r))) return berth_i_nomem(p->ramp->ctx);
  r->env = p;
  r->n = n > 0 ? n : 0;
  r->job = BERTH_NONE;
  berth_pacml_retain(p);
  if ((st = get_arrays(r)) == BERTH_OK) st = make_cluster(r, jobs);
  if (st != BERTH_OK) {
    berth_pacml_run_release(r);
    return st;
  }
  for (int32_t j = 0; j < n; j++) {
    r->jobs[j] = jobs[j];
    r->past[j].decision = BERTH_NONE;
  }
  for (int32_t s = 0; s < p->ramp->servers; s++) r->owner[s] = BERTH_NONE;
  if ((st = move_on(r)) == BERTH_OK) *out = r;
  else berth_pacml_run_release(r);
  return st;
}

/* ---- decisions ---- */

static berth_status check_decision(const berth_pacml_run *r, int32_t d) {
  berth_ctx *ctx = r->env->ramp->ctx;
  if (r->job == BERTH_NONE)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: %s",
                        r->decider ? "no job is to be decided about at present"
                                   : "all jobs have been decided about");
  if (d >= 0 && d <= r->env->most && (d <= 1 || d % 2 == 0)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "pacml: decision: expected 0, 1 or an even number up to %d, got %d",
                      (int)r->env->most, (int)d);
}

/* Published: what was seen first of a model cut into so many pieces, by a decision, holds for the
 * whole run. */
static berth_ramp_outcome *first_of(berth_pacml_run *r, int32_t model, int32_t pieces) {
  return &r->first[(size_t)model * ((size_t)r->env->most + 1) + (size_t)pieces];
}

static int32_t *servers_of(const berth_pacml_run *r, int32_t slot) {
  return r->servers + (size_t)slot * (size_t)r->env->ramp->servers;
}

static berth_status plan(berth_pacml_run *r, int32_t d, int32_t n, const int32_t *block,
                         int32_t slot) {
  berth_i_pacml_answer *a = &r->answer[slot];
  const berth_pacml_job *job = &r->jobs[r->job];
  const bool compat = r->env->ramp->o.compat;
  int32_t model = job->model;
  berth_status st =
      berth_i_pacml_plan(r->env, model, d, r->busy, n, block, servers_of(r, slot), &a->ramp);
  if (st != BERTH_OK) return st;
  a->outcome.cause = BERTH_PACML_PLACEMENT;
  if (a->ramp.cause != BERTH_RAMP_PLACED) return BERTH_OK;
  const berth_ramp_outcome *first = first_of(r, model, a->ramp.pieces);
  if (compat && first->ticks > 0) {
    int32_t servers = a->ramp.n_servers, channels = a->ramp.channels;
    a->ramp = *first;
    a->ramp.n_servers = servers;
    a->ramp.channels = channels;
  }
  a->outcome = (berth_pacml_outcome){ BERTH_PACML_ACCEPTED, r->env->steps * a->ramp.step,
                                      a->ramp.pieces, a->ramp.n_servers, a->ramp.channels };
  double limit = job->beta * berth_pacml_sequential(r->env, model) * (compat ? 1 : 1 + 1e-9);
  if (a->outcome.jct > limit) a->outcome.cause = BERTH_PACML_LATE;
  return BERTH_OK;
}

/* Answers without a block of one's own are kept until the job is decided about.  @param slot out */
static berth_status find_answer(berth_pacml_run *r, int32_t d, int32_t n, const int32_t *block,
                        int32_t *slot) {
  berth_i_pacml_answer *a = &r->answer[*slot = n > 0 ? r->env->most + 1 : d];
  berth_status st = BERTH_OK;
  if (a->known && n == 0) return BERTH_OK;
  a->outcome = (berth_pacml_outcome){ BERTH_PACML_REJECTED, NAN, 0, 0, 0 };
  if (d > 0) st = plan(r, d, n, block, *slot);
  a->known = st == BERTH_OK;
  return st;
}

berth_status berth_pacml_look_on(berth_pacml_run *r, int32_t decision, int32_t n,
                                 const int32_t *block, berth_pacml_outcome *out, int32_t *servers) {
  if (!r) return BERTH_EINVAL;
  int32_t slot;
  berth_status st = check_decision(r, decision);
  if (st == BERTH_OK) st = find_answer(r, decision, n, block, &slot);
  if (st != BERTH_OK) return st;
  *out = r->answer[slot].outcome;
  if (servers) memcpy(servers, servers_of(r, slot), (size_t)out->n_servers * sizeof *servers);
  return BERTH_OK;
}

berth_status berth_pacml_look(berth_pacml_run *r, int32_t decision, berth_pacml_outcome *out,
                              int32_t *servers) {
  if (!r) return BERTH_EINVAL;
  return berth_pacml_look_on(r, decision, 0, NULL, out, servers);
}

/* A job's work is its sequential time; it is done at the rate of its speed-up. */
static berth_status accept(berth_pacml_run *r, int32_t slot) {
  const berth_pacml_outcome *o = &r->answer[slot].outcome;
  const int32_t *servers = servers_of(r, slot);
  double sequential = berth_pacml_sequential(r->env, r->jobs[r->job].model);
  double rate = o->jct > 0 && sequential > 0 ? sequential / o->jct : 1;
  berth_status st = berth_cluster_start(r->cluster, r->job, o->n_servers, servers, NULL, rate);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < o->n_servers; i++) {
    r->busy[servers[i]] = 1;
    r->free_at[servers[i]] = r->jobs[r->job].arrival + o->jct;
    r->owner[servers[i]] = r->job;
  }
  return BERTH_OK;
}

berth_status berth_pacml_decide_on(berth_pacml_run *r, int32_t decision, int32_t n,
                                   const int32_t *block, berth_pacml_outcome *out) {
  if (!r) return BERTH_EINVAL;
  int32_t slot;
  berth_status st = check_decision(r, decision);
  if (st == BERTH_OK) st = find_answer(r, decision, n, block, &slot);
  if (st != BERTH_OK) return st;
  const berth_i_pacml_answer *a = &r->answer[slot];
  st = a->outcome.cause == BERTH_PACML_ACCEPTED
           ? accept(r, slot)
           : berth_cluster_refuse(r->cluster, r->job, (int32_t)a->outcome.cause);
  if (st != BERTH_OK) return st;
  if (r->env->ramp->o.compat && !isnan(a->outcome.jct)) {
    berth_ramp_outcome *first = first_of(r, r->jobs[r->job].model, a->ramp.pieces);
    if (first->ticks == 0) *first = a->ramp;
  }
  r->past[r->job] = (berth_i_pacml_past){ decision, a->outcome, a->ramp };
  if (out) *out = a->outcome;
  r->job = BERTH_NONE;
  return r->decider ? BERTH_OK : move_on(r);
}

berth_status berth_pacml_decide(berth_pacml_run *r, int32_t decision, berth_pacml_outcome *out) {
  if (!r) return BERTH_EINVAL;
  return berth_pacml_decide_on(r, decision, 0, NULL, out);
}

/* ---- what is ---- */

const berth_cluster *berth_pacml_run_cluster(const berth_pacml_run *r) { return r->cluster; }
int32_t berth_pacml_run_job(const berth_pacml_run *r) { return r->job; }
const double *berth_pacml_run_free_at(const berth_pacml_run *r) { return r->free_at; }
const uint8_t *berth_pacml_run_busy(const berth_pacml_run *r) { return r->busy; }

berth_status berth_pacml_mask(const berth_pacml_run *r, uint8_t *mask) {
  if (!r) return BERTH_EINVAL;
  int32_t n_free = 0;
  berth_status st = check_decision(r, 0);
  if (st != BERTH_OK) return st;
  for (int32_t s = 0; s < r->env->ramp->servers; s++) n_free += !r->busy[s];
  for (int32_t d = 0; d <= r->env->most; d++) mask[d] = r->env->legal[d] && d <= n_free;
  return BERTH_OK;
}

berth_status berth_pacml_accepted(berth_pacml_run *r, uint8_t *mask) {
  if (!r) return BERTH_EINVAL;
  berth_status st = check_decision(r, 0);
  for (int32_t d = 0; st == BERTH_OK && d <= r->env->most; d++) {
    mask[d] = d == 0;
    if (d == 0 || !r->env->legal[d]) continue;
    int32_t slot;
    if ((st = find_answer(r, d, 0, NULL, &slot)) == BERTH_OK)
      mask[d] = r->answer[slot].outcome.cause == BERTH_PACML_ACCEPTED;
  }
  return st;
}

berth_status berth_pacml_result(const berth_pacml_run *r, int32_t job, int32_t *decision,
                                berth_pacml_outcome *out) {
  if (!r) return BERTH_EINVAL;
  berth_ctx *ctx = r->env->ramp->ctx;
  if (job < 0 || job >= r->n)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: job %d does not exist: there are %d", (int)job,
                        (int)r->n);
  if (r->past[job].decision == BERTH_NONE)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: job %d is not decided about yet", (int)job);
  *decision = r->past[job].decision;
  *out = r->past[job].outcome;
  return BERTH_OK;
}
