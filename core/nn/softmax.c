/* Softmax and its logarithm: of rows, with a mask, and of segments, column by column. The largest
 * number is subtracted first, so nothing overflows; what is masked or -INFINITY comes out 0 (or
 * -INFINITY) and has no gradient; a NaN makes the run NaN. With y the output and d its gradient:
 * dx = y (d - sum(y d)), of the logarithm dx = d - e^y sum(d). */
#include "vector_internal.h"

#include "layer_internal.h"

/* ---- one run of n numbers ---- */

static bool is_seen(const float *mask, int32_t j) { return !mask || mask[j] != 0; }

/* Nothing is above -INFINITY: all is masked, or there is a NaN, which has to come
 * through. */
static float nothing_or_nan(const float *x, const float *mask, int32_t n) {
  for (int32_t j = 0; j < n; j++) {
    if (is_seen(mask, j) && x[j] != x[j]) return x[j];
  }
  return -INFINITY;
}

/* The largest that is not masked; -INFINITY: none, and then all of the run is treated as masked. */
static float largest(const float *x, const float *mask, int32_t n) {
  float lane[BERTH_I_LANES], most = -INFINITY;
  int32_t whole = mask ? 0 : n - n % BERTH_I_LANES;
  for (int k = 0; k < BERTH_I_LANES; k++) lane[k] = -INFINITY;
  int32_t j;
  for (j = 0; j < whole; j += BERTH_I_LANES) {
    for (int k = 0; k < BERTH_I_LANES; k++) lane[k] = x[j + k] > lane[k] ? x[j + k] : lane[k];
  }
  for (; j < n; j++) most = is_seen(mask, j) && x[j] > most ? x[j] : most;
  for (int k = 0; k < BERTH_I_LANES; k++) most = lane[k] > most ? lane[k] : most;
  return most > -INFINITY ? most : nothing_or_nan(x, mask, n);
}

static void fill(float *out, int32_t n, float v) {
  for (int32_t j = 0; j < n; j++) out[j] = v;
}

/* out = e^(x - most), 0 where masked.  @return sum */
static float powers(const float *x, const float *mask, int32_t n, float most, float *out) {
  for (int32_t j = 0; j < n; j++) out[j] = berth_i_exp(x[j] - most);
  for (int32_t j = 0; mask && j < n; j++) out[j] = mask[j] == 0 ? 0 : out[j];
  return berth_i_sum(out, n);
}

void berth_i_softmax_run(const float *x, const float *mask, int32_t n, float *out) {
  float most = largest(x, mask, n);
  if (most == -INFINITY) {
    fill(out, n, 0);
    return;
  }
  float f = 1 / powers(x, mask, n, most, out);
  for (int32_t j = 0; j < n; j++) out[j] *= f;
}

/* x - most - log(sum): the logarithm is never taken of a rounded 0. */
static void log_run(const float *x, const float *mask, int32_t n, float *out) {
  float most = largest(x, mask, n);
  if (most == -INFINITY) {
    fill(out, n, -INFINITY);
    return;
  }
  float shift = logf(powers(x, mask, n, most, out));
  for (int32_t j = 0; j < n; j++) out[j] = x[j] - most - shift;
  for (int32_t j = 0; mask && j < n; j++) out[j] = mask[j] == 0 ? -INFINITY : out[j];
}

/* What came out 0 (or -INFINITY) gets no gradient, and its d, which may be anything, is not
 * read. */
static void soft_run_back(const float *y, const float *d, int32_t n, float *g) {
  float sum = 0;
  for (int32_t j = 0; j < n; j++) sum += y[j] == 0 ? 0 : y[j] * d[j];
  for (int32_t j = 0; j < n; j++) g[j] += y[j] == 0 ? 0 : y[j] * (d[j] - sum);
}

static void log_run_back(const float *y, const float *d, int32_t n, float *g) {
  float sum = 0;
  for (int32_t j = 0; j < n; j++) sum += y[j] == -INFINITY ? 0 : d[j];
  for (int32_t j = 0; j < n; j++) g[j] += y[j] == -INFINITY ? 0 : d[j] - berth_i_exp(y[j]) * sum;
}

static void run_back(bool log, const float *y, const float *d, int32_t n, float *g) {
  if (log) log_run_back(y, d, n, g);
  else soft_run_back(y, d, n, g);
}

/* ---- rows ---- */

static berth_status rows_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient(t, node->in[0], &st);
  const float *y = node->out->data;
  int64_t n = berth_i_rows(node->out), m = berth_i_last(node->out);
  for (int64_t i = 0; g && i < n; i++)
    run_back(node->k[0] != 0, y + i * m, d + i * m, (int32_t)m, g + i * m);
  return st;
}

/* The mask is one row for all, or of the array's shape. */
static berth_status rows(berth_tape *t, bool log, berth_array *a, const berth_array *mask,
                         berth_array **out) {
  const char *what = log ? "log_softmax" : "softmax";
  int32_t m = berth_i_last(a);
  int64_t n = berth_i_rows(a);
  bool one = mask && mask->rank == 1 && mask->shape[0] == m;
  berth_i_node node = { .backward = rows_back, .in = { a }, .k = { log } };
  if (mask && !one && !berth_i_same_shape(a, mask)) return berth_i_shapes(what, a, mask);
  berth_status st;
  if ((st = berth_i_array_like(a, &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < n; i++) {
    const float *seen = mask ? mask->data + (one ? 0 : i * m) : NULL;
    if (log) log_run(a->data + i * m, seen, m, node.out->data + i * m);
    else berth_i_softmax_run(a->data + i * m, seen, m, node.out->data + i * m);
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

berth_status berth_nn_softmax(berth_tape *t, berth_array *a, berth_array *mask, berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  return rows(t, false, a, mask, out);
}

berth_status berth_nn_log_softmax(berth_tape *t, berth_array *a, berth_array *mask,
                                  berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  return rows(t, true, a, mask, out);
}

/* ---- segments of n rows, m columns side by side ---- */

/* @param most, sum [m] scratch. A column of nothing but -INFINITY comes out 0, or -INFINITY. */
static void columns_forward(bool log, const float *x, int32_t n, int64_t m, float *restrict most,
                            float *restrict sum, float *out) {
  /* the largest of each column; of a NaN and a number, the NaN */
  for (int64_t j = 0; j < m; j++) most[j] = -INFINITY;
  for (int32_t i = 0; i < n; i++) {
    const float *row = x + i * m;
    for (int64_t j = 0; j < m; j++)
      most[j] = row[j] > most[j] || row[j] != row[j] ? row[j] : most[j];
  }
  for (int64_t j = 0; j < m; j++) {
    most[j] = most[j] == -INFINITY ? INFINITY : most[j]; /* e^(x - INFINITY) is 0 */
    sum[j] = 0;
  }
  /* powers and their sums */
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) {
      float e = berth_i_exp(x[i * m + j] - most[j]);
      sum[j] += e;
      out[i * m + j] = e;
    }
  }
  for (int64_t j = 0; j < m; j++) sum[j] = sum[j] == 0 ? 1 : sum[j];
  for (int32_t i = 0; !log && i < n; i++) {
    for (int64_t j = 0; j < m; j++) out[i * m + j] /= sum[j];
  }
  for (int64_t j = 0; log && j < m; j++) sum[j] = logf(sum[j]);
  for (int32_t i = 0; log && i < n; i++) {
    for (int64_t j = 0; j < m; j++) out[i * m + j] = x[i * m + j] - most[j] - sum[j];
  }
}

/* @param sum [m] scratch */
static void columns_back(bool log, const float *y, const float *d, int32_t n, int64_t m,
                         float *restrict sum, float *restrict g) {
  const float out_of_play = log ? -INFINITY : 0;
  for (int64_t j = 0; j < m; j++) sum[j] = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0, at = i * m; j < m; j++, at++)
      sum[j] += y[at] == out_of_play ? 0 : (log ? 1 : y[at]) * d[at];
  }
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0, at = i * m; j < m; j++, at++) {
      float v = log ? d[at] - berth_i_exp(y[at]) * sum[j] : y[at] * (d[at] - sum[j]);
      g[at] += y[at] == out_of_play ? 0 : v;
    }
  }
}

/* One column: a run of neighbouring numbers, which has the faster loops. */
static berth_status segments_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient(t, node->in[0], &st);
  const float *y = node->out->data;
  const int32_t *first = node->segments->first;
  int64_t m = berth_i_stride(node->out);
  bool log = node->k[0] != 0;
  if (!g) return st;
  float *sum;
  if (!(sum = berth_i_alloc(node->out->ctx, (size_t)m, sizeof *sum)))
    return berth_i_nomem(node->out->ctx);
  for (int32_t i = 0; i < node->segments->n; i++) {
    int64_t at = first[i] * m;
    int32_t n = first[i + 1] - first[i];
    if (m == 1) run_back(log, y + at, d + at, n, g + at);
    else columns_back(log, y + at, d + at, n, m, sum, g + at);
  }
  berth_i_free(node->out->ctx, sum, (size_t)m, sizeof *sum);
  return BERTH_OK;
}

static berth_status segments(berth_tape *t, bool log, berth_array *a, berth_segments *s,
                             berth_array **out) {
  const char *what = log ? "segment_log_softmax" : "segment_softmax";
  int64_t m = berth_i_stride(a);
  berth_i_node node = { .backward = segments_back, .in = { a }, .segments = s, .k = { log } };
  berth_status st = berth_i_check_segments(what, a, s);
  if (st != BERTH_OK) return st;
  float *scratch = berth_i_alloc(a->ctx, (size_t)(2 * m), sizeof *scratch);
  if (!scratch) return berth_i_nomem(a->ctx);
  st = berth_i_array_like(a, &node.out);
  for (int32_t i = 0; i < s->n && st == BERTH_OK; i++) {
    int32_t n = s->first[i + 1] - s->first[i];
    const float *x = a->data + s->first[i] * m;
    float *y = node.out->data + s->first[i] * m;
    if (m > 1) columns_forward(log, x, n, m, scratch, scratch + m, y);
    else if (log) log_run(x, NULL, n, y);
    else berth_i_softmax_run(x, NULL, n, y);
  }
  berth_i_free(a->ctx, scratch, (size_t)(2 * m), sizeof *scratch);
  return berth_i_finish_op(t, &node, st, out);
}

berth_status berth_nn_segment_softmax(berth_tape *t, berth_array *a, berth_segments *s,
                                      berth_array **out) {
  if (!a || !s || !out) return BERTH_EINVAL;
  return segments(t, false, a, s, out);
}

berth_status berth_nn_segment_log_softmax(berth_tape *t, berth_array *a, berth_segments *s,
                                          berth_array **out) {
  if (!a || !s || !out) return BERTH_EINVAL;
  return segments(t, true, a, s, out);
}
