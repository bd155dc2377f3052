/* What a run came to: section 7 of the specification, its sums over ticks of one step taken as what
 * they stand for. */
#include "pacml_internal.h"

typedef struct sums {
  double jct, speedup, pieces, servers, channels, compute, communication, computing_share;
  double running, held, computing;      /* s; server-seconds held; server-seconds at work */
  double bytes;                         /* worked off, of graphs as they came */
  double memory, dep_bytes, flow_bytes; /* as they were cut */
} sums;

static double end_of(const berth_pacml_run *r, int32_t job) {
  return r->jobs[job].arrival + r->past[job].outcome.jct;
}

/* The part of a job that is done by then, 0 to 1. */
static double part_done(const berth_pacml_run *r, int32_t job, double time) {
  double jct = r->past[job].outcome.jct, ran = time - r->jobs[job].arrival;
  if (ran <= 0) return 0;
  return ran >= jct || jct <= 0 ? 1 : ran / jct;
}

/* The part of the time for which a server that it holds computes. */
static double computing_share(const berth_pacml_run *r, int32_t job) {
  const berth_pacml_outcome *o = &r->past[job].outcome;
  double held = o->jct * o->n_servers;
  return held > 0 ? berth_pacml_sequential(r->env, r->jobs[job].model) / held : 0;
}

static void add_completed(const berth_pacml_run *r, int32_t job, sums *s) {
  const berth_i_pacml_past *p = &r->past[job];
  double step = p->ramp.step;
  s->jct += p->outcome.jct;
  s->speedup +=
      p->outcome.jct > 0 ? berth_pacml_sequential(r->env, r->jobs[job].model) / p->outcome.jct : 1;
  s->pieces += p->outcome.pieces;
  s->servers += p->outcome.n_servers;
  s->channels += p->outcome.channels;
  s->computing_share += computing_share(r, job);
  s->compute += step > 0 ? p->ramp.compute / step : 0;
  s->communication += step > 0 ? p->ramp.communication / step : 0;
}

static double last_end(const berth_pacml_run *r) {
  double last = r->n > 0 ? r->jobs[r->n - 1].arrival : 0;
  for (int32_t j = 0; j < r->n; j++)
    if (r->past[j].outcome.cause == BERTH_PACML_ACCEPTED) last = fmax(last, end_of(r, j));
  return last;
}

/* Published: bytes that arrive in the time to the next arrival, job by job. */
static double load_rate(const berth_pacml_run *r, double time) {
  double sum = 0;
  int32_t n = 0;
  for (int32_t j = 0; j + 1 < r->n && r->jobs[j + 1].arrival <= time; j++) {
    const berth_ramp_model *m = r->env->model[r->jobs[j].model];
    double gap = r->jobs[j + 1].arrival - r->jobs[j].arrival;
    if (!(gap > 0)) continue;
    sum += (berth_ramp_model_memory(m) + berth_ramp_model_bytes(m)) / gap;
    n++;
  }
  return n > 0 ? sum / n : 0;
}

static void count(const berth_pacml_run *r, double time, berth_pacml_report *o, sums *s) {
  double slack = r->env->ramp->o.compat ? 1e-7 : 1e-9 * time;
  for (int32_t j = 0; j < r->n && r->jobs[j].arrival <= time; j++) {
    berth_pacml_cause cause = r->past[j].outcome.cause;
    o->arrived++;
    o->rejected += cause == BERTH_PACML_REJECTED;
    o->unplaced += cause == BERTH_PACML_PLACEMENT;
    o->late += cause == BERTH_PACML_LATE;
    if (cause != BERTH_PACML_ACCEPTED) continue;
    const berth_i_pacml_past *p = &r->past[j];
    const berth_ramp_model *m = r->env->model[r->jobs[j].model];
    double part = part_done(r, j, time), ran = part * p->outcome.jct;
    s->running += ran;
    s->held += ran * p->outcome.n_servers;
    s->computing += part * berth_pacml_sequential(r->env, r->jobs[j].model);
    s->bytes += part * (berth_ramp_model_memory(m) + berth_ramp_model_bytes(m));
    s->memory += part * p->ramp.memory;
    s->dep_bytes += part * p->ramp.bytes;
    s->flow_bytes += part * p->ramp.flow_bytes;
    if (end_of(r, j) > time + slack) {
      o->unfinished++;
    } else {
      o->completed++;
      add_completed(r, j, s);
    }
  }
  o->blocked = o->rejected + o->unplaced + o->late + (r->env->ramp->o.compat ? o->unfinished : 0);
}

berth_status berth_pacml_run_report(const berth_pacml_run *r, double horizon,
                                    berth_pacml_report *out) {
  berth_ctx *ctx = r->env->ramp->ctx;
  berth_pacml_report o = { 0 };
  sums s = { 0 };
  if (!(horizon >= 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: horizon: expected a time not below 0, got %g",
                        horizon);
  if (r->job != BERTH_NONE)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: job %d is not decided about yet", (int)r->job);
  o.time = fmin(horizon, last_end(r));
  count(r, o.time, &o, &s);
  double n = o.completed > 0 ? o.completed : 1, time = o.time > 0 ? o.time : 1;
  o.blocking_rate = o.arrived > 0 ? (double)o.blocked / o.arrived : 0;
  o.acceptance_rate = o.arrived > 0 ? (double)o.completed / o.arrived : 0;
  o.jct = s.jct / n;
  o.speedup = s.speedup / n;
  o.pieces = s.pieces / n;
  o.servers = s.servers / n;
  o.channels = s.channels / n;
  o.compute_fraction = s.compute / n;
  o.communication_fraction = s.communication / n;
  o.jobs_running = s.running / time;
  o.mounted_fraction = s.held / time / r->env->ramp->servers;
  o.mounted_utilisation = s.held > 0 ? s.computing / s.held : 0;
  o.published_utilisation = s.computing_share / n / r->env->steps;
  o.utilisation = o.mounted_utilisation * o.mounted_fraction;
  o.throughput = s.bytes / time;
  o.compute_throughput = s.memory / time;
  o.dep_throughput = s.dep_bytes / time;
  o.flow_throughput = s.flow_bytes / time;
  o.cluster_throughput = o.compute_throughput + o.dep_throughput;
  o.load_rate = load_rate(r, o.time);
  *out = o;
  return BERTH_OK;
}
