/* Normalisation: of columns over rows (z-score), of rows over columns (layer norm). Both subtract
 * the mean and divide by the deviation; backward takes the part of the gradient out that would
 * change either. Two passes over the numbers each way. */
#include "vector_internal.h"

#include "layer_internal.h"

/* ---- z-score ---------------------------------------------------------------------------------- *
 * y = (a - mean) / (dev + e). With s = dev + e, over a column of n:
 *   da = (d - mean(d) - (y s / dev) mean(d y)) / s.
 * Kept of each column: 1 / s and s / dev; both 0 for a constant column, which gives y = 0 and no
 * gradient. Sums in double: a sum of equal floats is then exact, so that constant is found as
 * such. */

/* @param x, y [n, m] @param column [2 m] scratch @param inverse, ratio [m] */
static void zscore(const float *x, int32_t n, int64_t m, double epsilon, double *column,
                   float *restrict inverse, float *restrict ratio, float *restrict y) {
  double *restrict mean = column, *restrict dev = column + m;
  for (int64_t j = 0; j < 2 * m; j++) column[j] = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) mean[j] += x[i * m + j];
  }
  for (int64_t j = 0; j < m; j++) mean[j] /= n;
  /* a second pass for the deviations: a sum of squares minus a square would lose digits */
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) {
      double v = x[i * m + j] - mean[j];
      dev[j] += v * v;
    }
  }
  for (int64_t j = 0; j < m; j++) dev[j] = sqrt(dev[j] / n);
  for (int64_t j = 0; j < m; j++) {
    inverse[j] = (float)(dev[j] == 0 ? 0 : 1 / (dev[j] + epsilon));
    ratio[j] = (float)(dev[j] == 0 ? 0 : (dev[j] + epsilon) / dev[j]);
  }
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) y[i * m + j] = (float)(x[i * m + j] - mean[j]) * inverse[j];
  }
}

/* @param column [2 m] scratch: mean of d, and mean of d y by column */
static void zscore_back(const float *y, const float *d, int32_t n, int64_t m, double *column,
                        const float *restrict inverse, const float *restrict ratio,
                        float *restrict g) {
  double *restrict mean = column, *restrict along = column + m;
  for (int64_t j = 0; j < 2 * m; j++) column[j] = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0, at = i * m; j < m; j++, at++) {
      mean[j] += d[at];
      along[j] += (double)d[at] * y[at];
    }
  }
  for (int64_t j = 0; j < m; j++) {
    mean[j] /= n;
    along[j] *= ratio[j] / n;
  }
  for (int32_t i = 0; i < n; i++) {
    for (int64_t j = 0, at = i * m; j < m; j++, at++)
      g[at] += (float)(d[at] - mean[j] - y[at] * along[j]) * inverse[j];
  }
}

/* Segment i of s, or all rows. */
static int32_t segment(const berth_segments *s, const berth_array *a, int32_t i, int32_t *begin) {
  *begin = s ? s->first[i] : 0;
  return s ? s->first[i + 1] - *begin : a->shape[0];
}

/* Segments are independent of each other. */
static berth_status zscores_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const berth_array *y = node->out;
  const float *kept = node->kept[0]->data;
  int64_t m = berth_i_stride(y);
  int32_t count = node->segments ? node->segments->n : 1;
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient(t, node->in[0], &st);
  if (!g) return st;
  double *column;
  if (!(column = berth_i_alloc(y->ctx, (size_t)(2 * m), sizeof *column)))
    return berth_i_nomem(y->ctx);
  int32_t begin;
  for (int32_t i = 0; i < count; i++) {
    int32_t n = segment(node->segments, y, i, &begin);
    zscore_back(y->data + begin * m, d + begin * m, n, m, column, kept + 2 * m * i,
                kept + 2 * m * i + m, g + begin * m);
  }
  berth_i_free(y->ctx, column, (size_t)(2 * m), sizeof *column);
  return BERTH_OK;
}

/* Kept: [count, 2, m]. */
static berth_status keep_columns(const berth_array *a, const berth_segments *s, berth_array **out) {
  int64_t m = berth_i_stride(a);
  int32_t shape[3] = { s ? s->n : 1, 2, (int32_t)m };
  if (m > INT32_MAX)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "zscore: rows of %lld numbers are too long",
                        (long long)m);
  return berth_i_array_raw(a->ctx, 3, shape, out);
}

static berth_status zscores(const berth_array *a, const berth_segments *s, double epsilon,
                            berth_i_node *node) {
  int64_t m = berth_i_stride(a);
  int32_t count = s ? s->n : 1;
  float *kept = node->kept[0]->data;
  double *column = berth_i_alloc(a->ctx, (size_t)(2 * m), sizeof *column);
  if (!column) return berth_i_nomem(a->ctx);
  int32_t begin;
  for (int32_t i = 0; i < count; i++) {
    int32_t n = segment(s, a, i, &begin);
    zscore(a->data + begin * m, n, m, epsilon, column, kept + 2 * m * i, kept + 2 * m * i + m,
           node->out->data + begin * m);
  }
  berth_i_free(a->ctx, column, (size_t)(2 * m), sizeof *column);
  return BERTH_OK;
}

static berth_status check_epsilon(const berth_array *a, const char *what, double epsilon) {
  if (epsilon >= 0 && epsilon < INFINITY) return BERTH_OK;
  return berth_i_fail(a->ctx, BERTH_EINVAL, "%s: epsilon is %g, must be finite and not negative",
                      what, epsilon);
}

berth_status berth_nn_zscore(berth_tape *t, berth_array *a, berth_segments *s, double epsilon,
                             berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = zscores_back, .in = { a }, .segments = s };
  berth_status st = check_epsilon(a, "zscore", epsilon);
  if (st == BERTH_OK && s) st = berth_i_check_segments("zscore", a, s);
  if (st == BERTH_OK) st = keep_columns(a, s, &node.kept[0]);
  if (st == BERTH_OK) st = berth_i_array_like(a, &node.out);
  if (st == BERTH_OK) st = zscores(a, s, epsilon, &node);
  return berth_i_finish_op(t, &node, st, out);
}

/* ---- layer norm ---------------------------------------------------------------------------------
 * * x = (a - mean) / sqrt(variance + e), out = x gain + bias. Kept, if a gradient is wanted: x like
 * a, and 1 / sqrt(variance + e) [rows]. */

/* A constant row with epsilon 0 comes out 0. @return 1 / sqrt(variance + e) */
static float norm_row(const float *a, int32_t m, double epsilon, float *restrict x) {
  double mean = berth_i_moment(a, m, 0, 1) / m,
         variance = berth_i_moment(a, m, mean, 2) / m + epsilon;
  float inverse = variance > 0 ? (float)(1 / sqrt(variance)) : 0;
  for (int32_t j = 0; j < m; j++) x[j] = (float)(a[j] - mean) * inverse;
  return inverse;
}

/* g += (v - mean(v) - x mean(v x)) / sqrt(variance + e), where v = d gain. */
static void norm_row_back(const float *x, const float *d, const float *gain, int32_t m,
                          float inverse, float *g) {
  double mean = 0, along = 0;
  for (int32_t j = 0; j < m; j++) {
    double v = gain ? (double)d[j] * gain[j] : d[j];
    mean += v;
    along += v * x[j];
  }
  mean /= m;
  along /= m;
  for (int32_t j = 0; j < m; j++)
    g[j] += (float)((gain ? (double)d[j] * gain[j] : d[j]) - mean - x[j] * along) * inverse;
}

static berth_status layer_norm_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const float *x = node->kept[0]->data, *inverse = node->kept[1]->data,
              *gain = node->in[1] ? node->in[1]->data : NULL;
  int64_t n = berth_i_rows(node->out), m = berth_i_last(node->out);
  berth_status st = BERTH_OK;
  float *ga = berth_i_gradient_of(t, node->in[0], &st),
        *ggain = berth_i_gradient_of(t, node->in[1], &st);
  float *gbias = berth_i_gradient_of(t, node->in[2], &st);
  if (st != BERTH_OK) return st;
  for (int64_t i = 0; i < n; i++) {
    if (ga) norm_row_back(x + i * m, d + i * m, gain, (int32_t)m, inverse[i], ga + i * m);
    for (int64_t j = 0; ggain && j < m; j++) ggain[j] += d[i * m + j] * x[i * m + j];
  }
  if (gbias) berth_i_add_columns(gbias, d, n, (int32_t)m);
  return BERTH_OK;
}

static berth_status check_scale(const berth_array *a, const berth_array *b) {
  return !b || (b->rank == 1 && b->shape[0] == berth_i_last(a))
             ? BERTH_OK
             : berth_i_shapes("layer_norm", a, b);
}

static berth_status keep_norms(const berth_array *a, berth_i_node *node) {
  int64_t n = berth_i_rows(a);
  int32_t rows = (int32_t)n;
  if (n > INT32_MAX)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "layer_norm: %lld rows are too many", (long long)n);
  berth_status st;
  if ((st = berth_i_array_like(a, &node->kept[0])) != BERTH_OK) return st;
  return berth_i_array_raw(a->ctx, 1, &rows, &node->kept[1]);
}

/* Without gradients x is written over by out in place. */
static void layer_norm(const berth_i_node *node, double epsilon) {
  const berth_array *a = node->in[0];
  const float *gain = node->in[1] ? node->in[1]->data : NULL,
              *bias = node->in[2] ? node->in[2]->data : NULL;
  int64_t n = berth_i_rows(a), m = berth_i_last(a);
  for (int64_t i = 0; i < n; i++) {
    float *y = node->out->data + i * m, *x = node->kept[0] ? node->kept[0]->data + i * m : y;
    float inverse = norm_row(a->data + i * m, (int32_t)m, epsilon, x);
    if (node->kept[1]) node->kept[1]->data[i] = inverse;
    for (int64_t j = 0; j < m; j++) y[j] = x[j] * (gain ? gain[j] : 1) + (bias ? bias[j] : 0);
  }
}

berth_status berth_nn_layer_norm(berth_tape *t, berth_array *a, berth_array *gain,
                                 berth_array *bias, double epsilon, berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = layer_norm_back, .in = { a, gain, bias } };
  berth_status st = check_epsilon(a, "layer_norm", epsilon);
  if (st == BERTH_OK) st = check_scale(a, gain);
  if (st == BERTH_OK) st = check_scale(a, bias);
  if (st == BERTH_OK && berth_i_any_wanted(t, &node)) st = keep_norms(a, &node);
  if (st == BERTH_OK) st = berth_i_array_like(a, &node.out);
  if (st == BERTH_OK) layer_norm(&node, epsilon);
  return berth_i_finish_op(t, &node, st, out);
}
