/* What the graph alone decides: time scale, sizes, kernels and their classes, edges, priorities.
 * Done once per executor. O((ops + edges) log ops). */
#include "base/sort_internal.h"
#include "exec_internal.h"

enum { LEAST_LENGTH = 16 };

/* ---- scales ---- */

static double sum(const double *x, int32_t n) {
  double s = 0;
  for (int32_t i = 0; i < n; i++) s += x[i];
  return s;
}

static berth_status plan_time_scale(berth_executor *x, const double *mean) {
  double work = sum(mean, x->g->n_ops);
  x->scale = x->o.scale > 0 ? x->o.scale : work > 0 ? x->o.seconds / work : 1;
  if (x->scale > 0 && !isinf(x->scale)) return BERTH_OK;
  return berth_i_fail(x->ctx, BERTH_EINVAL,
                      "seconds: %g for %g s of ops is a scale of %g: give a scale", x->o.seconds,
                      work, x->scale);
}

/* What exceeds memory is refused by the allocator, not by sizes that overflow. */
static double byte_scale(const berth_graph *g, double memory) {
  double room = fmin(memory, (double)(SIZE_MAX / 16)), bytes = sum(g->tensor_bytes, g->n_tensors),
         mean = 0;
  if (!isinf(bytes)) return bytes > room ? room / bytes : 1;
  for (int32_t t = 0; t < g->n_tensors; t++) mean += g->tensor_bytes[t] / g->n_tensors;
  return room / mean / g->n_tensors;
}

static void plan_lengths(berth_executor *x) {
  x->byte_scale = byte_scale(x->g, x->o.memory);
  for (int32_t t = 0; t < x->g->n_tensors; t++) {
    double n = floor(x->g->tensor_bytes[t] * x->byte_scale / sizeof(float));
    x->length[t] = n > LEAST_LENGTH ? (int64_t)n : LEAST_LENGTH;
  }
}

/* ---- edges ---- */

static berth_status plan_edges(berth_executor *x) {
  for (int32_t t = 0; t < x->g->n_tensors; t++)
    for (int32_t e = x->g->use_at[t]; e < x->g->use_at[t + 1]; e++) x->edge_tensor[e] = t;
  return berth_i_input_edges(x->g, x->g->use, x->edge_tensor, x->in_edge);
}

/* ---- kernels ---- */

typedef struct class {
  uint64_t hash;
  int32_t op;
} class;

BERTH_I_SORT(sort_classes, class, BERTH_I_UP(hash) BERTH_I_UP(op))

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}

static uint64_t bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static uint64_t class_of(const berth_executor *x, int32_t op) {
  const berth_graph *g = x->g;
  uint64_t h = mix((uint64_t)x->kernel[op].kind, (uint64_t)x->kernel[op].side);
  for (int32_t c = 0; c < x->cost->n_classes; c++)
    h = mix(h, bits(x->cost->op[(size_t)op * (size_t)x->cost->n_classes + (size_t)c]));
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
    h = mix(h, (uint64_t)x->length[g->in[i]]);
  h = mix(h, ~(uint64_t)0);
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    h = mix(h, (uint64_t)x->length[g->out[i]]);
  return h;
}

/* Classes are numbered by their first ops. list: [ops], sorted */
static void number_classes(berth_executor *x, const class *list) {
  int32_t first = 0;
  for (int32_t i = 0; i < x->g->n_ops; i++) {
    if (i > 0 && list[i].hash != list[i - 1].hash) first = i;
    x->kernel[list[i].op].number = list[first].op;
  }
  for (int32_t op = 0; op < x->g->n_ops; op++) {
    berth_i_kernel *k = &x->kernel[op];
    k->number = k->number == op ? x->n_kernels++ : x->kernel[k->number].number;
  }
}

static berth_status plan_kernels(berth_executor *x, const double *mean) {
  int32_t n = x->g->n_ops;
  class *list = berth_i_alloc(x->ctx, (size_t)n, sizeof *list);
  if (!list) return berth_i_nomem(x->ctx);
  for (int32_t op = 0; op < n; op++) {
    x->kernel[op] = berth_i_kernel_of(x->g, op, mean[op] * x->scale, x->o.flops);
    list[op] = (class){ class_of(x, op), op };
  }
  sort_classes(list, (size_t)n);
  number_classes(x, list);
  berth_i_free(x->ctx, list, (size_t)n, sizeof *list);
  return BERTH_OK;
}

static void plan_degrees(berth_executor *x) {
  const berth_graph *g = x->g;
  x->most_in = x->most_out = 1;
  for (int32_t op = 0; op < g->n_ops; op++) {
    int32_t in = g->in_at[op + 1] - g->in_at[op], out = g->out_at[op + 1] - g->out_at[op];
    if (in > x->most_in) x->most_in = in;
    if (out > x->most_out) x->most_out = out;
  }
}

static berth_status plan_keys(berth_executor *x) {
  const berth_i_dispatch *dispatch = berth_i_dispatch_of(x->o.dispatch);
  if (!dispatch->prepare) return BERTH_OK;
  if (!(x->key = berth_i_pool_alloc(&x->pool, (size_t)x->g->n_ops, sizeof *x->key)))
    return berth_i_nomem(x->ctx);
  return dispatch->prepare(x->cost, NULL, x->key);
}

berth_status berth_i_exec_plan(berth_executor *x) {
  size_t n = (size_t)x->g->n_ops;
  double *mean = berth_i_alloc(x->ctx, n, sizeof *mean);
  if (!mean) return berth_i_nomem(x->ctx);
  berth_status st;
  if ((st = berth_cost_mean_ops(x->cost, mean)) != BERTH_OK) goto done;
  if ((st = plan_time_scale(x, mean)) != BERTH_OK) goto done;
  plan_lengths(x);
  plan_degrees(x);
  if ((st = plan_edges(x)) != BERTH_OK) goto done;
  if ((st = plan_keys(x)) != BERTH_OK) goto done;
  st = plan_kernels(x, mean);
done:
  berth_i_free(x->ctx, mean, n, sizeof *mean);
  return st;
}
