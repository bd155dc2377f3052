/* What a split is worth: loads, memory, latency. */
#include "split_internal.h"

/* ---- loads ---- */

typedef struct valuer {
  const berth_cost *c;
  const berth_i_sorts *sorts;
  const int32_t *device;
  double *load, *bytes; /* [devices] */
  int32_t *mark;        /* [devices] tensor charged last */
  double *ready;        /* [devices] s; when an accelerator's outputs are there */
  double *finish;       /* [ops] s, on CPUs */
  int32_t *waits;       /* [devices + ops] inputs still to come, by job: accelerators, then ops on
                           CPUs */
  int32_t *queue;       /* [devices + ops] */
} valuer;

static void charge(valuer *v, int32_t d, int32_t t, double price) {
  if (v->sorts->is_cpu[d] || v->mark[d] == t) return;
  v->mark[d] = t;
  v->load[d] += price;
}

static void charge_tensor(valuer *v, int32_t t) {
  const berth_graph *g = v->c->g;
  int32_t home = v->device[g->producer[t]];
  double price = berth_i_host_time(v->c, t);
  for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
    int32_t d = v->device[g->use[e]];
    if (d == home) continue;
    charge(v, d, t, price);
    charge(v, home, t, price);
  }
}

static void sum_loads(valuer *v) {
  for (int32_t d = 0; d < v->c->n_devices; d++) {
    v->load[d] = v->bytes[d] = 0;
    v->mark[d] = BERTH_NONE;
  }
  for (int32_t op = 0; op < v->c->g->n_ops; op++) {
    v->load[v->device[op]] += berth_i_op_time(v->c, op, v->device[op]);
    v->bytes[v->device[op]] += berth_i_param(v->c->g, op);
  }
  for (int32_t t = 0; t < v->c->g->n_tensors; t++) charge_tensor(v, t);
}

static void judge(const valuer *v, berth_split_value *out) {
  out->busiest = 0;
  out->over = BERTH_NONE;
  out->missing = 0;
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

static void count_waits(valuer *v) {
  const berth_graph *g = v->c->g;
  int32_t j;
  for (j = 0; j < v->c->n_devices + g->n_ops; j++) v->waits[j] = 0;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t from = job_of(v, g->producer[t]);
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      j = job_of(v, g->use[e]);
      if (j != from) v->waits[j]++;
    }
  }
}

/* Of a job: when its last input is there, then its end. */
static double *time_of(valuer *v, int32_t job) {
  return job < v->c->n_devices ? &v->ready[job] : &v->finish[job - v->c->n_devices];
}

static int32_t send(valuer *v, int32_t op, int32_t from, int32_t n) {
  const berth_graph *g = v->c->g;
  double at = *time_of(v, from);
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      int32_t j = job_of(v, g->use[e]);
      if (j == from) continue;
      *time_of(v, j) = fmax(*time_of(v, j), at);
      if (--v->waits[j] == 0) v->queue[n++] = j;
    }
  }
  return n;
}

/* at, ops: the ops of each accelerator. */
static double run_jobs(valuer *v, const int32_t *at, const int32_t *ops) {
  int32_t n_devices = v->c->n_devices, n_ops = v->c->g->n_ops, n = 0, jobs = 0;
  double latency = 0;
  count_waits(v);
  int32_t j;
  for (j = 0; j < n_devices + n_ops; j++) {
    bool there = j < n_devices ? !v->sorts->is_cpu[j] : v->sorts->is_cpu[v->device[j - n_devices]];
    *time_of(v, j) = 0;
    if (!there) continue;
    jobs++;
    if (v->waits[j] == 0) v->queue[n++] = j;
  }
  for (int32_t head = 0; head < n; head++) {
    j = v->queue[head];
    *time_of(v, j) +=
        j < n_devices ? v->load[j] : berth_i_op_time(v->c, j - n_devices, v->device[j - n_devices]);
    latency = fmax(latency, *time_of(v, j));
    if (j >= n_devices) n = send(v, j - n_devices, j, n);
    else
      for (int32_t i = at[j]; i < at[j + 1]; i++) n = send(v, ops[i], j, n);
  }
  return n == jobs ? latency : (double)INFINITY;
}

static berth_status find_latency(valuer *v, berth_i_pool *pool, double *latency) {
  int32_t n = v->c->g->n_ops, *at = NULL, *ops = NULL,
          *all = berth_i_pool_alloc(pool, (size_t)n, sizeof *all);
  if (!all) return berth_i_pool_status(pool);
  for (int32_t op = 0; op < n; op++) all[op] = op;
  berth_status st;
  if ((st = berth_i_csr(pool, v->c->n_devices, n, v->device, all, &at, &ops)) == BERTH_OK)
    *latency = run_jobs(v, at, ops);
  return st;
}

berth_status berth_i_split_value(const berth_cost *cost, const berth_i_sorts *sorts,
                                 const int32_t *device, double *loads, berth_split_value *out) {
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  size_t d = (size_t)cost->n_devices, n = (size_t)cost->g->n_ops;
  double *times = berth_i_pool_alloc(&scratch, 3 * d + n, sizeof *times);
  int32_t *ids = berth_i_pool_alloc(&scratch, 3 * d + 2 * n, sizeof *ids);
  valuer v = { .c = cost, .sorts = sorts, .device = device };
  berth_split_value found = { 0 };
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  v.load = times;
  v.bytes = times + d;
  v.ready = times + 2 * d;
  v.finish = times + 3 * d;
  v.mark = ids;
  v.waits = ids + d;
  v.queue = ids + 2 * d + n;
  sum_loads(&v);
  judge(&v, &found);
  if ((st = find_latency(&v, &scratch, &found.latency)) != BERTH_OK) goto done;
  if (loads) memcpy(loads, v.load, d * sizeof *loads);
  *out = found;
done:
  berth_i_pool_free(&scratch);
  return st;
}
