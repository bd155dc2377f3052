/* The value of a split: loads, memory, latency.
 * Loads: op times, and each tensor with an edge that leaves or enters an accelerator once (`mark`
 * has the tensor charged last). Latency: jobs are accelerators, each in one go, and ops on CPUs;
 * Kahn's algorithm runs them as soon as all their inputs are there; a circle of jobs leaves some
 * over, and then there is no latency. O(ops + edges). */
#include "split_internal.h"

typedef struct valuer {
  const berth_cost *c;
  const berth_i_sorts *sorts;
  const int32_t *device;
  double *load, *bytes; /* [devices] */
  int32_t *mark;        /* [devices] tensor charged last */
  double *ready;        /* [devices + ops] s; by job: when its last input is there, then its end */
  int32_t *inputs;      /* [devices + ops] inputs still to come, by job: accelerators, then ops on
                           CPUs */
  int32_t *queue;       /* [devices + ops] */
} valuer;

static void sum_loads(valuer *v, berth_split_value *out) {
  const berth_graph *g = v->c->g;
  for (int32_t d = 0; d < v->c->n_devices; d++) {
    v->load[d] = v->bytes[d] = 0;
    v->mark[d] = BERTH_NONE;
  }
  for (int32_t op = 0; op < g->n_ops; op++) {
    v->load[v->device[op]] += berth_i_op_time(v->c, op, v->device[op]);
    v->bytes[v->device[op]] += berth_i_param(g, op);
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t home = v->device[g->producer[t]];
    double price = berth_i_host_time(v->c, t);
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      int32_t ends[2] = { v->device[g->use[e]], home };
      for (int i = 0; ends[0] != home && i < 2; i++) {
        if (v->sorts->is_cpu[ends[i]] || v->mark[ends[i]] == t) continue;
        v->mark[ends[i]] = t;
        v->load[ends[i]] += price;
      }
    }
  }
  out->over = BERTH_NONE;
  for (int32_t d = 0; d < v->c->n_devices; d++) {
    double over = v->sorts->is_cpu[d] ? 0 : v->bytes[d] - v->sorts->memory * (1 + 1e-12);
    if (v->load[d] > v->load[out->busiest]) out->busiest = d;
    if (over <= out->missing) continue;
    out->missing = over;
    out->over = d;
  }
  out->max_load = v->load[out->busiest];
}

/* ---- latency ---- */

/* Jobs: an accelerator as a whole, or an op on a CPU. */
static int32_t job_of(const valuer *v, int32_t op) {
  int32_t d = v->device[op];
  return v->sorts->is_cpu[d] ? v->c->n_devices + op : d;
}

static int32_t send(valuer *v, int32_t op, int32_t from, int32_t n) {
  const berth_graph *g = v->c->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      int32_t j = job_of(v, g->use[e]);
      if (j == from) continue;
      v->ready[j] = fmax(v->ready[j], v->ready[from]);
      if (--v->inputs[j] == 0) v->queue[n++] = j;
    }
  }
  return n;
}

/* at, ops: the ops of each accelerator. */
static double run_jobs(valuer *v, const int32_t *at, const int32_t *ops) {
  const berth_graph *g = v->c->g;
  int32_t devices = v->c->n_devices, n = 0, jobs = 0;
  double latency = 0;
  for (int32_t j = 0; j < devices + g->n_ops; j++) v->inputs[j] = 0, v->ready[j] = 0;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t from = job_of(v, g->producer[t]);
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      int32_t j = job_of(v, g->use[e]);
      v->inputs[j] += j != from;
    }
  }
  for (int32_t j = 0; j < devices + g->n_ops; j++) {
    if (j < devices ? v->sorts->is_cpu[j] : !v->sorts->is_cpu[v->device[j - devices]]) continue;
    jobs++;
    if (v->inputs[j] == 0) v->queue[n++] = j;
  }
  for (int32_t head = 0; head < n; head++) {
    int32_t j = v->queue[head], op = j - devices;
    v->ready[j] += op < 0 ? v->load[j] : berth_i_op_time(v->c, op, v->device[op]);
    latency = fmax(latency, v->ready[j]);
    if (op >= 0) n = send(v, op, j, n);
    for (int32_t i = op < 0 ? at[j] : 0; op < 0 && i < at[j + 1]; i++) n = send(v, ops[i], j, n);
  }
  return n == jobs ? latency : (double)INFINITY;
}

berth_status berth_i_split_value(const berth_cost *cost, const berth_i_sorts *sorts,
                                 const int32_t *device, double *loads, berth_split_value *out) {
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  size_t d = (size_t)cost->n_devices, n = (size_t)cost->g->n_ops;
  double *times = berth_i_pool_alloc(&scratch, 3 * d + n, sizeof *times);
  int32_t *ids = berth_i_pool_alloc(&scratch, 3 * d + 3 * n, sizeof *ids), *at = NULL, *ops = NULL;
  berth_split_value found = { 0 };
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  valuer v = {cost, sorts,         device,  times,          times + d,
              ids,  times + 2 * d, ids + d, ids + 2 * d + n};
  int32_t *all = ids + 3 * d + 2 * n;
  sum_loads(&v, &found);
  for (int32_t op = 0; op < cost->g->n_ops; op++) all[op] = op;
  st = berth_i_csr(&scratch, cost->n_devices, cost->g->n_ops, device, all, &at, &ops);
  if (st != BERTH_OK) goto done;
  found.latency = run_jobs(&v, at, ops);
  if (loads) memcpy(loads, v.load, d * sizeof *loads);
  *out = found;
done:
  berth_i_pool_free(&scratch);
  return st;
}
