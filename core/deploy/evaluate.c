/* Strategies: compiled into an emission that is kept with the problem, simulated, valued by step
 * time and memory. */
#include "values_internal.h"
#include "sim/sim_internal.h"

static berth_sim_options options_of(const berth_deploy *d, const berth_i_emission *e) {
  berth_sim_options o = d->sim;
  if (d->o.order != BERTH_DEPLOY_RANK) return o;
  o.dispatch = BERTH_DISPATCH_STATIC;
  o.rank = e->rank;
  return o;
}

static void note_memory(const berth_deploy *d, int32_t device, double peak,
                        berth_deploy_value *out) {
  double lacks = peak - berth_i_memory_of(d, device);
  out->peak = peak > out->peak ? peak : out->peak;
  if (!(lacks > 1e-12 * peak)) return;
  out->over++;
  out->excess += berth_i_memory_of(d, device) > 0 ? lacks / berth_i_memory_of(d, device) : 1;
  if (lacks > out->shortfall) {
    out->shortfall = lacks;
    out->worst = device;
  }
}

static void read_memory(const berth_deploy *d, const double *peak, berth_deploy_value *out) {
  out->over = 0;
  out->worst = BERTH_NONE;
  out->peak = out->shortfall = out->excess = 0;
  for (int32_t k = 0; peak && k < d->n_devices; k++) note_memory(d, k, peak[k], out);
}

static bool is_late(berth_i_fault_kind kind) {
  return kind == BERTH_I_FAULT_LATE_OP || kind == BERTH_I_FAULT_LATE_TENSOR
         || kind == BERTH_I_FAULT_LATE_COLLECTIVE;
}

/* The cost is retained and released by the plan. What never ends, as far as can be counted, is like
 * what nobody reaches. */
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

static void note_lag(const reader *r, int32_t k, double start) {
  double *idle = &r->idle[r->e->origin[k]], wait = start - r->finish[k];
  if (wait < *idle) *idle = wait;
}

static void read_traffic(const reader *r, const berth_result *result) {
  const berth_transfer *sent;
  const berth_collective_run *met;
  int32_t n = berth_result_transfers(result, &sent), m = berth_result_collectives(result, &met);
  for (int32_t i = 0; i < n; i++) note_lag(r, r->e->graph.producer[sent[i].tensor], sent[i].start);
  for (int32_t i = 0; i < m; i++) {
    const berth_collective *c = &r->e->graph.collectives[i];
    for (int32_t k = 0; k < c->n_members; k++) note_lag(r, c->members[k], met[i].start);
  }
}

static double span(double first, double last) { return last > first ? last - first : 0; }

static double group_span(const berth_deploy *d, const reader *r, int32_t group) {
  double first = INFINITY, last = -INFINITY;
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++) {
    first = fmin(first, r->first[d->group_op[i]]);
    last = fmax(last, r->last[d->group_op[i]]);
  }
  return span(first, last);
}

static berth_status read_times(berth_deploy *d, const berth_i_emission *e,
                               const berth_result *result, berth_deploy_feedback *f) {
  size_t n = (size_t)d->n_ops;
  double *scratch = berth_i_alloc(d->ctx, n, 3 * sizeof *scratch);
  reader r = { e, berth_result_start(result), berth_result_finish(result), NULL, NULL, NULL };
  if (!scratch) return berth_i_nomem(d->ctx);
  r.first = scratch;
  r.last = scratch + n;
  r.idle = scratch + 2 * n;
  for (size_t i = 0; i < n; i++) {
    r.first[i] = r.idle[i] = INFINITY;
    r.last[i] = -INFINITY;
  }
  /* First start and last end of each op over its replicas. */
  for (int32_t k = 0; k < r.e->graph.n_ops; k++) {
    int32_t op = r.e->origin[k];
    if (r.start[k] < r.first[op]) r.first[op] = r.start[k];
    if (r.finish[k] > r.last[op]) r.last[op] = r.finish[k];
  }
  /* Readers on the same device; elsewhere the transfer is what waits. */
  const berth_graph *g = &r.e->graph;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t from = g->producer[t];
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      int32_t to = g->use[k];
      if (r.e->device[to] != r.e->device[from] || r.e->origin[to] == r.e->origin[from])
        continue;
      note_lag(&r, from, r.start[to]);
    }
  }
  read_traffic(&r, result);
  for (int32_t i = 0; f->makespan && i < d->n_ops; i++)
    f->makespan[i] = span(r.first[i], r.last[i]);
  for (int32_t i = 0; f->idle_after && i < d->n_ops; i++)
    f->idle_after[i] = isinf(r.idle[i]) ? 0 : r.idle[i];
  for (int32_t i = 0; f->group_makespan && i < d->n_groups; i++)
    f->group_makespan[i] = group_span(d, &r, i);
  berth_i_free(d->ctx, scratch, n, 3 * sizeof *scratch);
  return BERTH_OK;
}

static void shares_of(const double *busy, int32_t n, double of, double *out) {
  for (int32_t i = 0; out && i < n; i++) out[i] = of > 0 ? busy[i] / of : 0;
}

static berth_status read_result(berth_deploy *d, const berth_i_emission *e, const berth_result *r,
                                berth_deploy_feedback *f, berth_deploy_value *out) {
  const double *peak = berth_result_peak(r);
  bool accounted = berth_result_options(r)->memory != BERTH_MEMORY_NONE;
  double seconds = berth_result_makespan(r);
  bool timed = f->makespan || f->idle_after || f->group_makespan;
  berth_status st = timed ? read_times(d, e, r, f) : BERTH_OK;
  if (st != BERTH_OK) return st;
  shares_of(berth_result_busy(r), d->n_devices, seconds, f->busy);
  shares_of(berth_result_link_busy(r), d->t->n_links, seconds, f->link_busy);
  for (int32_t k = 0; f->peak && k < d->n_devices; k++) f->peak[k] = accounted ? peak[k] : 0;
  out->seconds = seconds;
  read_memory(d, accounted ? peak : NULL, out);
  return BERTH_OK;
}

static berth_status simulate(berth_deploy *d, const berth_i_emission *e,
                             berth_deploy_feedback *feedback, berth_deploy_value *out) {
  const berth_sim_options o = options_of(d, e);
  berth_result *r = NULL;
  berth_status st = berth_simulate((berth_cost *)(uintptr_t)&e->cost, e->device, &o, &r);
  if (st != BERTH_OK) return st;
  st = read_result(d, e, r, feedback, out);
  berth_result_release(r);
  return st;
}

berth_status berth_deploy_simulate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   berth_deploy_feedback *feedback, berth_deploy_value *out) {
  berth_i_emission *e = NULL;
  berth_deploy_value value;
  berth_status st = emit(d, action, duplicate, &e);
  return st == BERTH_OK ? finish(d, e, duplicate, simulate(d, e, feedback, &value), &value, out)
                        : st;
}
