/* The results of a run: jobs by cause, and sums over completed jobs, over server-seconds and over
 * bytes. Published sums over the ticks of one step are taken for whole jobs. O(jobs). */
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
    const double jct = p->outcome.jct, gone = time - r->jobs[j].arrival,
                 sequential = berth_pacml_sequential(r->env, r->jobs[j].model);
    /* the part that is done by then, 0 to 1 */
    const double part = gone <= 0 ? 0 : gone >= jct || jct <= 0 ? 1 : gone / jct, ran = part * jct;
    s->running += ran;
    s->held += ran * p->outcome.n_servers;
    s->computing += part * sequential;
    s->bytes += part * (berth_ramp_model_memory(m) + berth_ramp_model_bytes(m));
    s->memory += part * p->ramp.memory;
    s->dep_bytes += part * p->ramp.bytes;
    s->flow_bytes += part * p->ramp.flow_bytes;
    if (end_of(r, j) > time + slack) {
      o->unfinished++;
    } else {
      const double step = p->ramp.step, held = jct * p->outcome.n_servers;
      o->completed++;
      s->jct += jct;
      s->speedup += jct > 0 ? sequential / jct : 1;
      s->pieces += p->outcome.pieces;
      s->servers += p->outcome.n_servers;
      s->channels += p->outcome.channels;
      s->computing_share += held > 0 ? sequential / held : 0; /* of the time of its servers */
      s->compute += step > 0 ? p->ramp.compute / step : 0;
      s->communication += step > 0 ? p->ramp.communication / step : 0;
    }
  }
  o->blocked = o->rejected + o->unplaced + o->late + (r->env->ramp->o.compat ? o->unfinished : 0);
}

berth_status berth_pacml_run_report(const berth_pacml_run *r, double horizon,
                                    berth_pacml_report *out) {
  if (!r) return BERTH_EINVAL;
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
