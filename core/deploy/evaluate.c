/* Strategies: compiled into an emission that is kept with the problem, simulated, valued by step
 * time and memory. The emission's arena is reused, so an evaluation allocates nothing once it is
 * large enough; while a hook runs within one, another evaluation takes an arena of its own. */
#include "values_internal.h"
#include "sim/sim_internal.h"

static berth_sim_options options_of(const berth_deploy *d, const berth_i_emission *e) {
  berth_sim_options o = d->sim;
  if (d->o.order != BERTH_DEPLOY_RANK) return o;
  o.dispatch = BERTH_DISPATCH_STATIC;
  o.rank = e->rank;
  return o;
}

/* @param peak NULL: memory is not accounted for */
static void read_memory(const berth_deploy *d, const double *peak, berth_deploy_value *out) {
  out->over = 0;
  out->worst = BERTH_NONE;
  out->peak = out->shortfall = out->excess = 0;
  for (int32_t k = 0; peak && k < d->n_devices; k++) {
    const double memory = berth_i_memory_of(d, k), lacks = peak[k] - memory;
    out->peak = peak[k] > out->peak ? peak[k] : out->peak;
    if (!(lacks > 1e-12 * peak[k])) continue;
    out->over++;
    out->excess += memory > 0 ? lacks / memory : 1;
    if (lacks <= out->shortfall) continue;
    out->shortfall = lacks;
    out->worst = k;
  }
}

static bool is_late(berth_i_fault_kind kind) {
  return kind == BERTH_I_FAULT_LATE_OP || kind == BERTH_I_FAULT_LATE_TENSOR
         || kind == BERTH_I_FAULT_LATE_COLLECTIVE;
}

/* The cost is retained and released by the plan. A step that never ends, as far as can be counted,
 * is like a tensor without a route. */
static berth_status run(berth_deploy *d, const berth_i_emission *e, double *peak,
                        berth_deploy_value *out) {
  berth_sim_options o = options_of(d, e);
  berth_i_sim_plan *p = NULL;
  berth_i_sim_state *s = NULL;
  berth_status st;
  if ((st = berth_i_sim_plan_new((berth_cost *)(uintptr_t)&e->cost, &o, false, &p)) != BERTH_OK)
    return st;
  if ((st = berth_i_sim_state_new(p, &s)) != BERTH_OK) goto done;
  if (!berth_i_sim_execute(p, s, e->device, o.seed, true)) {
    st = berth_i_fault_report(p, &s->fault);
    if (is_late(s->fault.kind)) st = BERTH_EUNREACHABLE;
    goto done;
  }
  out->seconds = s->now * p->unit;
  read_memory(d, s->memory ? s->memory->peak : NULL, out);
  for (int32_t k = 0; peak && k < d->n_devices; k++) peak[k] = s->memory ? s->memory->peak[k] : 0;
done:
  berth_i_sim_state_release(p, s);
  berth_i_sim_plan_release(p);
  return st;
}

/* Kept with the problem, but while it is in use: hooks may evaluate, too. */
static berth_status take_emission(berth_deploy *d, berth_i_emission **out) {
  berth_i_values *v;
  berth_status st = berth_i_values_of(d, &v);
  if (st != BERTH_OK) return st;
  *out = v->emission;
  v->emission = NULL;
  return *out ? BERTH_OK : berth_i_emission_new(d, out);
}

static void give_emission(berth_deploy *d, berth_i_emission *e) {
  berth_i_values *v = d->values;
  if (v->emission) berth_i_emission_release(d, e);
  else v->emission = e;
}

static berth_status emit(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                         berth_i_emission **out) {
  berth_status st = take_emission(d, out);
  if (st != BERTH_OK || (st = berth_i_deploy_emit(d, action, duplicate, *out)) == BERTH_OK)
    return st;
  give_emission(d, *out);
  return st;
}

static berth_status finish(berth_deploy *d, berth_i_emission *e, const uint8_t *duplicate,
                           berth_status st, berth_deploy_value *value, berth_deploy_value *out) {
  give_emission(d, e);
  if (st != BERTH_OK) return st;
  d->values->evaluations++;
  int32_t sum = 0;
  for (int32_t i = 0; duplicate && i < d->n_ops; i++) sum += duplicate[i] != 0;
  value->repeated = sum;
  *out = *value;
  return BERTH_OK;
}

berth_status berth_deploy_evaluate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   double *peak, berth_deploy_value *out) {
  if (!d) return BERTH_EINVAL;
  berth_i_emission *e = NULL;
  berth_deploy_value value;
  berth_status st = emit(d, action, duplicate, &e);
  return st == BERTH_OK ? finish(d, e, duplicate, run(d, e, peak, &value), &value, out) : st;
}

int64_t berth_deploy_evaluations(const berth_deploy *d) {
  return d->values ? d->values->evaluations : 0;
}

bool berth_i_value_better(const berth_deploy_value *a, const berth_deploy_value *b) {
  if (a->shortfall != b->shortfall) return a->shortfall < b->shortfall;
  return a->seconds < b->seconds;
}

/* ---- what the simulation reports of each op ---- */

typedef struct reader {
  const berth_i_emission *e;
  const double *start, *finish;
  double *first, *last, *idle; /* [ops of the graph] */
} reader;

/* Time between the end of op k and the start of what reads it. */
static void note_lag(const reader *r, int32_t k, double start) {
  double *idle = &r->idle[r->e->origin[k]], lag = start - r->finish[k];
  if (lag < *idle) *idle = lag;
}

static double span(double first, double last) { return last > first ? last - first : 0; }

static berth_status read_times(berth_deploy *d, const berth_i_emission *e,
                               const berth_result *result, berth_deploy_feedback *f) {
  size_t n = (size_t)d->n_ops;
  double *scratch = berth_i_alloc(d->ctx, n, 3 * sizeof *scratch);
  if (!scratch) return berth_i_nomem(d->ctx);
  const berth_graph *g = &e->graph;
  reader r = { e, berth_result_start(result), berth_result_finish(result), scratch, scratch + n,
               scratch + 2 * n };
  for (size_t i = 0; i < n; i++) {
    r.first[i] = r.idle[i] = INFINITY;
    r.last[i] = -INFINITY;
  }
  /* 1. First start and last end of each op over its replicas. */
  for (int32_t k = 0; k < g->n_ops; k++) {
    int32_t op = e->origin[k];
    if (r.start[k] < r.first[op]) r.first[op] = r.start[k];
    if (r.finish[k] > r.last[op]) r.last[op] = r.finish[k];
  }
  /* 2. Lags of readers on the same device; elsewhere the transfer is what waits. */
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t from = g->producer[t];
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      int32_t to = g->use[k];
      if (e->device[to] == e->device[from] && e->origin[to] != e->origin[from])
        note_lag(&r, from, r.start[to]);
    }
  }
  const berth_transfer *sent;
  const berth_collective_run *runs;
  int32_t transfers = berth_result_transfers(result, &sent),
          collectives = berth_result_collectives(result, &runs);
  for (int32_t i = 0; i < transfers; i++)
    note_lag(&r, g->producer[sent[i].tensor], sent[i].start);
  for (int32_t i = 0; i < collectives; i++)
    for (int32_t k = 0; k < g->collectives[i].n_members; k++)
      note_lag(&r, g->collectives[i].members[k], runs[i].start);
  /* 3. What is requested. */
  for (int32_t i = 0; f->makespan && i < d->n_ops; i++)
    f->makespan[i] = span(r.first[i], r.last[i]);
  for (int32_t i = 0; f->idle_after && i < d->n_ops; i++)
    f->idle_after[i] = isinf(r.idle[i]) ? 0 : r.idle[i];
  for (int32_t i = 0; f->group_makespan && i < d->n_groups; i++) {
    double first = INFINITY, last = -INFINITY;
    for (int32_t k = d->group_at[i]; k < d->group_at[i + 1]; k++) {
      first = fmin(first, r.first[d->group_op[k]]);
      last = fmax(last, r.last[d->group_op[k]]);
    }
    f->group_makespan[i] = span(first, last);
  }
  berth_i_free(d->ctx, scratch, n, 3 * sizeof *scratch);
  return BERTH_OK;
}

static void shares_of(const double *busy, int32_t n, double of, double *out) {
  for (int32_t i = 0; out && i < n; i++) out[i] = of > 0 ? busy[i] / of : 0;
}

static berth_status simulate(berth_deploy *d, const berth_i_emission *e,
                             berth_deploy_feedback *f, berth_deploy_value *out) {
  const berth_sim_options o = options_of(d, e);
  berth_result *r = NULL;
  berth_status st = berth_simulate((berth_cost *)(uintptr_t)&e->cost, e->device, &o, &r);
  if (st != BERTH_OK) return st;
  bool accounted = berth_result_options(r)->memory != BERTH_MEMORY_NONE;
  const double *peak = accounted ? berth_result_peak(r) : NULL;
  out->seconds = berth_result_makespan(r);
  if (f->makespan || f->idle_after || f->group_makespan) st = read_times(d, e, r, f);
  if (st == BERTH_OK) {
    shares_of(berth_result_busy(r), d->n_devices, out->seconds, f->busy);
    shares_of(berth_result_link_busy(r), d->t->n_links, out->seconds, f->link_busy);
    for (int32_t k = 0; f->peak && k < d->n_devices; k++) f->peak[k] = accounted ? peak[k] : 0;
    read_memory(d, peak, out);
  }
  berth_result_release(r);
  return st;
}

berth_status berth_deploy_simulate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   berth_deploy_feedback *feedback, berth_deploy_value *out) {
  if (!d) return BERTH_EINVAL;
  berth_i_emission *e = NULL;
  berth_deploy_value value;
  berth_status st = emit(d, action, duplicate, &e);
  return st == BERTH_OK ? finish(d, e, duplicate, simulate(d, e, feedback, &value), &value, out)
                        : st;
}
