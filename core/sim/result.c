/* One run with everything recorded: the trace is taken over from the state, converted to seconds,
 * and completed on demand (critical path, peak ops, slack). */
#include "base/sort_internal.h"
#include "result_internal.h"

/* ---- life ---- */

static size_t n_links(const berth_result *r) { return (size_t)r->plan->cost->t->n_links; }

static berth_status result_arrays(berth_result *r) {
  size_t n = (size_t)r->plan->n_ops, d = (size_t)r->plan->n_devices;
  r->device = berth_i_pool_alloc(&r->pool, n, sizeof *r->device);
  r->busy = berth_i_pool_zalloc(&r->pool, d, sizeof *r->busy);
  r->peak = berth_i_pool_zalloc(&r->pool, d, sizeof *r->peak);
  r->peak_time = berth_i_pool_zalloc(&r->pool, d, sizeof *r->peak_time);
  r->link_bytes = berth_i_pool_zalloc(&r->pool, n_links(r), sizeof *r->link_bytes);
  r->link_busy = berth_i_pool_zalloc(&r->pool, n_links(r), sizeof *r->link_busy);
  r->peak_at = berth_i_pool_zalloc(&r->pool, d + 1, sizeof *r->peak_at);
  r->peak_op = berth_i_pool_alloc(&r->pool, n, sizeof *r->peak_op);
  r->peak_bytes = berth_i_pool_alloc(&r->pool, n, sizeof *r->peak_bytes);
  r->critical = berth_i_pool_alloc(&r->pool, n, sizeof *r->critical);
  return berth_i_pool_status(&r->pool);
}

static void result_free(berth_result *r) {
  berth_i_sim_plan *plan = r->plan;
  berth_i_pool_free(&r->kept);
  berth_i_pool_free(&r->pool);
  berth_i_sim_plan_release(plan); /* last: it may hold the context */
}

void berth_result_retain(berth_result *r) { r->refs++; }

void berth_result_release(berth_result *r) {
  if (r && --r->refs == 0) result_free(r);
}

/* ---- filling ---- */

static void scale(double *x, int32_t n, double unit) {
  for (int32_t i = 0; unit != 1 && i < n; i++) x[i] *= unit;
}

static void fill_devices(berth_result *r, const berth_i_sim_state *s) {
  r->makespan = s->now * r->plan->unit;
  for (int32_t i = 0; i < r->plan->n_ops; i++) r->device[i] = s->ops[i].device;
  for (int32_t d = 0; d < r->plan->n_devices; d++) {
    r->busy[d] = s->dev[d].busy * r->plan->unit;
    if (!s->memory) continue;
    r->peak[d] = s->memory->peak[d];
    r->peak_time[d] = s->memory->peak_time[d] * r->plan->unit;
  }
  r->oom.op = r->oom.device = BERTH_NONE;
  if (!s->memory) return;
  r->oom = s->memory->oom;
  r->oom.time *= r->plan->unit;
}

static void scale_trace(berth_result *r) {
  berth_i_trace *t = r->trace;
  double unit = r->plan->unit;
  scale(t->start, r->plan->n_ops, unit);
  scale(t->finish, r->plan->n_ops, unit);
  if (t->stretch) scale(t->stretch, 2 * (t->n_log - t->n_sent - t->n_coll_logged), unit);
  if (t->window) scale(t->window, r->plan->n_edges, unit);
  for (int32_t i = 0; unit != 1 && i < t->n_sent; i++) {
    t->sent[i].start *= unit;
    t->sent[i].finish *= unit;
  }
}

/* By start, then as logged; nothing to do unless a transfer was decided ahead of its start. */
static berth_status sort_transfers(berth_result *r) {
  const berth_transfer *sent = r->trace->sent;
  int32_t n = r->trace->n_sent, k = 1;
  while (k < n && sent[k].start >= sent[k - 1].start) k++;
  if (k >= n) return BERTH_OK;
  berth_i_keyed *order = berth_i_alloc(r->ctx, (size_t)n, sizeof *order);
  if (!order) return berth_i_nomem(r->ctx);
  for (int32_t i = 0; i < n; i++) order[i] = (berth_i_keyed){ sent[i].start, i };
  berth_i_sort_keyed(order, n);
  r->by_start = berth_i_pool_alloc(&r->pool, (size_t)n, sizeof *r->by_start);
  for (int32_t i = 0; r->by_start && i < n; i++) r->by_start[i] = sent[order[i].id];
  berth_i_free(r->ctx, order, (size_t)n, sizeof *order);
  return berth_i_pool_status(&r->pool);
}

/* Bytes that the op holds on its device at that device's peak. */
static double held_at_peak(const berth_result *r, const berth_i_memory *m, int32_t op) {
  const berth_i_sim_plan *p = r->plan;
  const berth_graph *g = p->cost->g;
  uint32_t clock = m->peak_clock[r->device[op]];
  double bytes = berth_i_param(g, op) * p->o.param_multiple;
  if (m->op_born[op] <= clock) {
    if (clock < m->op_died[op]) bytes += berth_i_workspace(g, op);
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
      if (clock < m->home_died[g->out[i]]) bytes += berth_i_resident(g, g->out[i]);
    }
  }
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t e = p->in_edge[i];
    if (r->lead[e] == e && m->copy_born[e] <= clock && clock < m->copy_died[e])
      bytes += berth_i_resident(g, g->in[i]);
  }
  return bytes;
}

/* Counting sort by device. */
static void list_holders(berth_result *r, const double *held) {
  int32_t n = r->plan->n_ops, devices = r->plan->n_devices, *at = r->peak_at;
  for (int32_t i = 0; i < n; i++) {
    if (held[i] > 0) at[r->device[i] + 1]++;
  }
  for (int32_t d = 0; d < devices; d++) at[d + 1] += at[d];
  for (int32_t i = 0; i < n; i++) {
    if (!(held[i] > 0)) continue;
    r->peak_op[at[r->device[i]]] = i;
    r->peak_bytes[at[r->device[i]]++] = held[i];
  }
  for (int32_t d = devices; d > 0; d--) at[d] = at[d - 1]; /* each had moved to the begin of the
                                                              next */
  at[0] = 0;
}

/* What a collective holds counts as held by its member there with the lowest id. */
static void add_collectives(const berth_result *r, const berth_i_sim_state *s, double *held) {
  const berth_i_sim_plan *p = r->plan;
  const berth_i_memory *m = s->memory;
  for (int32_t k = 0; k < p->n_collectives; k++) {
    for (int32_t i = p->participant_at[k];
         i < p->participant_at[k] + s->coll.one[k].n_devices; i++) {
      uint32_t clock = m->peak_clock[s->coll.device[i]];
      if (m->op_born[p->n_ops + i] > clock || clock >= m->op_died[p->n_ops + i]) continue;
      held[berth_i_member_slot_op(p, s, i)] += berth_i_sim_collective_bytes(p, s, k);
    }
  }
}

static berth_status fill_peak(berth_result *r, const berth_i_sim_state *s) {
  const berth_i_memory *m = s->memory;
  int32_t n = r->plan->n_ops;
  if (!m) return BERTH_OK;
  double *held;
  if (!(held = berth_i_alloc(r->ctx, (size_t)n, sizeof *held))) return berth_i_nomem(r->ctx);
  for (int32_t i = 0; i < n; i++) held[i] = held_at_peak(r, m, i);
  add_collectives(r, s, held);
  list_holders(r, held);
  berth_i_free(r->ctx, held, (size_t)n, sizeof *held);
  return BERTH_OK;
}

/* A collective that ends after all ops: its last member. */
static int32_t last_collective(const berth_result *r, double end, int32_t op) {
  for (int32_t k = 0; k < r->plan->n_collectives; k++) {
    if (!(r->collectives[k].finish > end)) continue;
    end = r->collectives[k].finish;
    op = r->collectives[k].last;
  }
  return op;
}

static void fill_critical(berth_result *r) {
  const berth_i_trace *t = r->trace;
  int32_t op = BERTH_NONE, n = 0;
  for (int32_t i = 0; i < r->plan->n_ops; i++) {
    if (op == BERTH_NONE || t->finish[i] > t->finish[op]) op = i;
  }
  if (op != BERTH_NONE) op = last_collective(r, t->finish[op], op);
  for (; op != BERTH_NONE && n < r->plan->n_ops; op = t->cause[op]) r->critical[n++] = op;
  r->n_critical = n;
  for (int32_t i = 0; i < n / 2; i++) {
    int32_t swap = r->critical[i];
    r->critical[i] = r->critical[n - 1 - i];
    r->critical[n - 1 - i] = swap;
  }
}

static berth_status result_fill(berth_result *r, berth_i_sim_state *s) {
  r->kept = s->kept;
  s->kept = berth_i_pool_empty(r->ctx);
  r->trace = s->trace;
  r->lead = s->lead;
  r->collective_device = s->coll.device;
  if (s->memory) r->levels = s->memory->levels;
  berth_status st;
  if ((st = result_arrays(r)) != BERTH_OK) return st;
  fill_devices(r, s);
  scale_trace(r);
  if ((st = sort_transfers(r)) != BERTH_OK) return st;
  if ((st = fill_peak(r, s)) != BERTH_OK) return st;
  if ((st = berth_i_result_collectives(r, s)) != BERTH_OK) return st;
  if ((st = berth_i_result_links(r)) != BERTH_OK) return st;
  fill_critical(r);
  return BERTH_OK;
}

berth_status berth_simulate(berth_cost *cost, const int32_t *device, const berth_sim_options *opts,
                            berth_result **out) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_ctx *ctx = cost->ctx;
  berth_i_sim_state *s = NULL;
  berth_i_sim_plan *p = NULL;
  berth_result *r = NULL;
  berth_status st;
  if ((st = berth_i_sim_plan_new(cost, opts, true, &p)) != BERTH_OK) return st;
  if ((st = berth_i_sim_state_new(p, &s)) != BERTH_OK) goto done;
  if ((st = berth_i_sim_trace_new(p, s)) != BERTH_OK) goto done;
  if (!berth_i_sim_execute(p, s, device, p->o.seed, true)) {
    st = berth_i_fault_report(p, &s->fault);
    goto done;
  }
  if ((s->memory && s->memory->lost) || !(r = berth_i_pool_object(ctx, sizeof *r))) {
    st = berth_i_nomem(ctx);
    goto done;
  }
  r->ctx = ctx;
  r->refs = 1;
  r->plan = p;
  r->options = p->o;
  r->options.rank = NULL;
  r->options.sequence = NULL;
  if ((st = result_fill(r, s)) == BERTH_OK) *out = r;
done:
  berth_i_sim_state_release(p, s);
  if (st == BERTH_OK) return st;
  if (r) {
    result_free(r);
  } else {
    berth_i_sim_plan_release(p);
  }
  return st;
}

/* ---- reading ---- */

berth_cost *berth_result_cost(const berth_result *r) { return r->plan->cost; }
const berth_sim_options *berth_result_options(const berth_result *r) { return &r->options; }
double berth_result_makespan(const berth_result *r) { return r->makespan; }
const int32_t *berth_result_device(const berth_result *r) { return r->device; }
const double *berth_result_start(const berth_result *r) { return r->trace->start; }
const double *berth_result_finish(const berth_result *r) { return r->trace->finish; }
const double *berth_result_busy(const berth_result *r) { return r->busy; }
const double *berth_result_peak(const berth_result *r) { return r->peak; }
const double *berth_result_peak_time(const berth_result *r) { return r->peak_time; }
const double *berth_result_link_bytes(const berth_result *r) { return r->link_bytes; }
const double *berth_result_link_busy(const berth_result *r) { return r->link_busy; }

int berth_result_oom(const berth_result *r, berth_oom *out) {
  if (r->oom.op == BERTH_NONE) return 0;
  *out = r->oom;
  return 1;
}

int32_t berth_result_peak_ops(const berth_result *r, int32_t device, const int32_t **ops,
                              const double **bytes) {
  *ops = NULL;
  *bytes = NULL;
  if (device < 0 || device >= r->plan->n_devices) return 0;
  int32_t from = r->peak_at[device];
  *ops = r->peak_op + from;
  *bytes = r->peak_bytes + from;
  return r->peak_at[device + 1] - from;
}

int32_t berth_result_memory(const berth_result *r, int32_t device, const double **time,
                            const double **bytes) {
  *time = NULL;
  *bytes = NULL;
  if (!r->levels || device < 0 || device >= r->plan->n_devices) return 0;
  *time = r->levels[device].time;
  *bytes = r->levels[device].bytes;
  return (int32_t)r->levels[device].n;
}

int32_t berth_result_critical(const berth_result *r, const int32_t **ops) {
  *ops = r->critical;
  return r->n_critical;
}

const double *berth_result_slack(const berth_result *r) {
  berth_result *cached = (berth_result *)(uintptr_t)r; /* immutable but for this */
  size_t n = (size_t)r->plan->n_ops;
  if (r->slack || berth_i_sim_plan_inputs(r->plan) != BERTH_OK) return r->slack;
  double *slack;
  if (!(slack = berth_i_alloc(r->ctx, n, sizeof *slack))) {
    berth_i_nomem(r->ctx);
    return NULL;
  }
  if (berth_i_result_slack(r, slack) == BERTH_OK)
    cached->slack = berth_i_result_keep(cached, slack, n, sizeof *slack);
  berth_i_free(r->ctx, slack, n, sizeof *slack);
  return r->slack;
}
