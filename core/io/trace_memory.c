/* Memory over time, from what a result records. */
#include "trace_internal.h"

#include <stdlib.h>

typedef struct Run {
  berth_ctx *ctx;
  const berth_graph *g;
  const berth_result *r;
  int32_t n_devices, n_transfers;
  const int32_t *device;
  const double *start, *finish;
  const berth_transfer *transfer;
  int32_t *copy_at, *copy;  /* transfers of each tensor: [tensors + 1], [transfers] */
  double *home_end;         /* [tensors] when it goes from its producer's device; -INFINITY: never */
  double *copy_end;         /* [transfers] */
} Run;

void berth_i_changes_release(berth_ctx *ctx, berth_i_changes *c) { berth_i_free(ctx, c->at, c->cap, sizeof *c->at); }

static berth_status add(const Run *x, berth_i_changes *c, double time, int32_t device, double bytes) {
  berth_i_change change = { time, bytes, device, bytes > 0 };
  void *at = c->at;
  berth_status st;
  if (bytes == 0 || !isfinite(time)) return BERTH_OK;
  st = berth_i_grow(x->ctx, &at, &c->cap, c->n + 1, sizeof *c->at);
  c->at = at;
  if (st == BERTH_OK) c->at[c->n++] = change;
  return st;
}

static int compare_changes(const void *p, const void *q) {
  const berth_i_change *a = p, *b = q;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->charge != b->charge) return a->charge < b->charge ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* ---- how long tensors stay ---------------------------------------------------------------- */

static void later(double *t, double other) {
  if (other > *t) *t = other;
}

static void index_copies(Run *x) {
  int32_t k, t;
  for (k = 0; k < x->n_transfers; k++) x->copy_at[x->transfer[k].tensor + 1]++;
  for (t = 0; t < x->g->n_tensors; t++) x->copy_at[t + 1] += x->copy_at[t];
  for (k = x->n_transfers - 1; k >= 0; k--) x->copy[--x->copy_at[x->transfer[k].tensor + 1]] = k;
  for (t = 0; t < x->g->n_tensors; t++) x->copy_at[t] = x->copy_at[t + 1];
  x->copy_at[x->g->n_tensors] = x->n_transfers;
}

static double *end_of(Run *x, int32_t tensor, int32_t device) {
  int32_t k;
  if (x->device[x->g->producer[tensor]] == device) return &x->home_end[tensor];
  for (k = x->copy_at[tensor]; k < x->copy_at[tensor + 1]; k++)
    if (x->transfer[x->copy[k]].dst == device) return &x->copy_end[x->copy[k]];
  return NULL;
}

static void keep_inputs(Run *x, int32_t op, double until) {
  const berth_graph *g = x->g;
  int32_t i;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    double *end = end_of(x, g->in[i], x->device[op]);
    if (end) later(end, until);
  }
}

/* Forward ops keep what they read and made until their backward ops end. */
static void keep_for_twin(Run *x, int32_t op) {
  const berth_graph *g = x->g;
  int32_t twin = berth_i_twin(g, op), i;
  if (twin == BERTH_NONE || (g->flags && g->flags[op] & BERTH_OP_BACKWARD)) return;
  keep_inputs(x, op, x->finish[twin]);
  for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) later(&x->home_end[g->out[i]], x->finish[twin]);
}

static void find_ends(Run *x, berth_memory_policy policy) {
  int32_t k;
  for (k = 0; k < x->g->n_tensors; k++) x->home_end[k] = -INFINITY;
  for (k = 0; k < x->n_transfers; k++) x->copy_end[k] = -INFINITY;
  if (policy == BERTH_MEMORY_TOTAL) return;
  for (k = 0; k < x->n_transfers; k++) later(&x->home_end[x->transfer[k].tensor], x->transfer[k].finish);
  for (k = 0; k < x->g->n_ops; k++) {
    keep_inputs(x, k, x->finish[k]);
    if (policy == BERTH_MEMORY_TRAINING) keep_for_twin(x, k);
  }
}

/* ---- changes ------------------------------------------------------------------------------ */

static berth_status add_op(const Run *x, berth_i_changes *c, int32_t op) {
  const berth_graph *g = x->g;
  int32_t d = x->device[op], i;
  double bytes = berth_i_workspace(g, op);
  berth_status st = add(x, c, x->start[op], d, bytes);
  if (st == BERTH_OK) st = add(x, c, x->finish[op], d, -bytes);
  for (i = g->out_at[op]; i < g->out_at[op + 1] && st == BERTH_OK; i++) {
    int32_t t = g->out[i];
    if ((st = add(x, c, x->start[op], d, berth_i_resident(g, t))) != BERTH_OK) return st;
    st = add(x, c, x->home_end[t], d, -berth_i_resident(g, t));
  }
  return st;
}

/* All but the parameters. */
static berth_status add_all(Run *x, berth_memory_policy policy, berth_i_changes *c) {
  berth_status st = BERTH_OK;
  int32_t k;
  c->n = 0;
  find_ends(x, policy);
  for (k = 0; k < x->g->n_ops && st == BERTH_OK; k++) st = add_op(x, c, k);
  for (k = 0; k < x->n_transfers && st == BERTH_OK; k++) {
    const berth_transfer *t = &x->transfer[k];
    double bytes = berth_i_resident(x->g, t->tensor);
    if ((st = add(x, c, t->start, t->dst, bytes)) != BERTH_OK) return st;
    st = add(x, c, x->copy_end[k], t->dst, -bytes);
  }
  if (st == BERTH_OK && c->n > 0) qsort(c->at, c->n, sizeof *c->at, compare_changes);
  return st;
}

/* ---- which accounting it was -------------------------------------------------------------- */

static void find_peaks(const berth_i_changes *c, int32_t n_devices, double *peak) {
  double used = 0;
  size_t k;
  int32_t d;
  for (d = 0; d < n_devices; d++) peak[d] = 0;
  for (k = 0; k < c->n; k++) {
    if (k == 0 || c->at[k].device != c->at[k - 1].device) used = 0;
    used += c->at[k].bytes;
    later(&peak[c->at[k].device], used);
  }
}

static double misfit(const Run *x, const double *peak, const double *params, double multiple) {
  const double *told = berth_result_peak(x->r);
  double sum = 0;
  int32_t d;
  for (d = 0; d < x->n_devices; d++) sum += fabs(told[d] - peak[d] - multiple * params[d]);
  return sum;
}

/* Parameters lie there all the time, so they lift a peak by multiple x bytes. What comes and goes within one instant is not seen
 * here, so peaks may be found too low, never too high, and the least multiple is the nearest. */
static double find_multiple(const Run *x, const double *peak, const double *params) {
  const double *told = berth_result_peak(x->r);
  double least = INFINITY;
  int32_t d;
  for (d = 0; d < x->n_devices; d++)
    if (params[d] > 0) least = fmin(least, fmax(0, (told[d] - peak[d]) / params[d]));
  return isinf(least) ? 0 : least;
}

static berth_status choose(Run *x, double *peak, double *params, berth_i_changes *c) {
  static const berth_memory_policy policies[] = { BERTH_MEMORY_INFERENCE, BERTH_MEMORY_TRAINING, BERTH_MEMORY_TOTAL };
  berth_memory_policy best = BERTH_MEMORY_NONE;
  double least = INFINITY, best_multiple = 0;
  berth_status st;
  int32_t k;
  for (k = 0; k < x->g->n_ops; k++) params[x->device[k]] += berth_i_param(x->g, k);
  for (k = 0; k < 3; k++) {
    double multiple, off;
    if ((st = add_all(x, policies[k], c)) != BERTH_OK) return st;
    find_peaks(c, x->n_devices, peak);
    multiple = find_multiple(x, peak, params);
    off = misfit(x, peak, params, multiple);
    if (off >= least) continue;
    least = off;
    best = policies[k];
    best_multiple = multiple;
  }
  if ((st = add_all(x, best, c)) != BERTH_OK) return st;
  for (k = 0; k < x->n_devices && st == BERTH_OK; k++) st = add(x, c, 0, k, best_multiple * params[k]);
  if (st == BERTH_OK && c->n > 0) qsort(c->at, c->n, sizeof *c->at, compare_changes);
  return st;
}

static bool has_peaks(const Run *x) {
  const double *told = berth_result_peak(x->r);
  int32_t d = 0;
  while (d < x->n_devices && told[d] == 0) d++;
  return d < x->n_devices;
}

berth_status berth_i_memory_changes(const berth_result *r, berth_i_changes *out) {
  berth_cost *cost = berth_result_cost(r);
  Run x = { .ctx = cost->ctx, .g = cost->g, .r = r, .n_devices = cost->t->n_devices, .device = berth_result_device(r),
            .start = berth_result_start(r), .finish = berth_result_finish(r) };
  size_t n_tensors = (size_t)x.g->n_tensors, n_devices = (size_t)x.n_devices, n;
  double *peak = NULL, *params = NULL;
  berth_status st = BERTH_OK;
  x.n_transfers = berth_result_transfers(r, &x.transfer);
  n = (size_t)x.n_transfers;
  if (!has_peaks(&x)) return BERTH_OK;
  x.copy_at = berth_i_zalloc(x.ctx, n_tensors + 1, sizeof *x.copy_at);
  x.copy = berth_i_alloc(x.ctx, n, sizeof *x.copy);
  x.home_end = berth_i_alloc(x.ctx, n_tensors, sizeof *x.home_end);
  x.copy_end = berth_i_alloc(x.ctx, n, sizeof *x.copy_end);
  peak = berth_i_alloc(x.ctx, n_devices, sizeof *peak);
  params = berth_i_zalloc(x.ctx, n_devices, sizeof *params);
  if (!x.copy_at || !x.copy || !x.home_end || !x.copy_end || !peak || !params) {
    st = berth_i_nomem(x.ctx);
  } else {
    index_copies(&x);
    st = choose(&x, peak, params, out);
  }
  berth_i_free(x.ctx, x.copy_at, n_tensors + 1, sizeof *x.copy_at);
  berth_i_free(x.ctx, x.copy, n, sizeof *x.copy);
  berth_i_free(x.ctx, x.home_end, n_tensors, sizeof *x.home_end);
  berth_i_free(x.ctx, x.copy_end, n, sizeof *x.copy_end);
  berth_i_free(x.ctx, peak, n_devices, sizeof *peak);
  berth_i_free(x.ctx, params, n_devices, sizeof *params);
  return st;
}
