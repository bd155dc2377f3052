/* Sums, means and maxima along an axis, or over the rows of each segment; repetition of rows. An
 * array is seen as outer x run x inner, row-major; what is reduced is the run. O(size). */
#include "vector_internal.h"

#include "layer_internal.h"

enum { REDUCE_F, REDUCE_AXIS };

/* First of the largest among n numbers `step` apart; a NaN is larger than all. */
static int64_t largest_at(const float *x, int64_t n, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++) {
    float v = x[i * step], most = x[best * step];
    if (v > most || (v != v && most == most)) best = i;
  }
  return best;
}

/* out [inner] of a run of n rows; n 0: zeros. */
static void reduce_run(berth_nn_reduction f, const float *x, int64_t n, int64_t inner, float *out) {
  if (f == BERTH_NN_LARGEST && n > 0) {
    for (int64_t j = 0; j < inner; j++) out[j] = x[j + inner * largest_at(x + j, n, inner)];
    return;
  }
  memset(out, 0, (size_t)inner * sizeof *out);
  if (inner == 1) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    out[0] = (float)sum;
  } else {
    for (int64_t i = 0; i < n; i++) berth_i_add_to(out, x + i * inner, inner);
  }
  for (int64_t j = 0; f == BERTH_NN_MEAN && n > 0 && j < inner; j++) out[j] /= (float)n;
}

/* Of the largest, the first of equal ones gets all of the gradient. */
static void reduce_run_back(berth_nn_reduction f, const float *x, int64_t n, int64_t inner,
                            const float *d, float *g) {
  float factor = f == BERTH_NN_MEAN && n > 0 ? 1 / (float)n : 1;
  if (f == BERTH_NN_LARGEST) {
    for (int64_t j = 0; n > 0 && j < inner; j++) g[j + inner * largest_at(x + j, n, inner)] += d[j];
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < inner; j++) g[i * inner + j] += factor * d[j];
  }
}

/* ---- along an axis ---- */

typedef struct runs {
  int64_t outer, n, inner;
} runs;

static runs runs_of(const berth_array *a, int32_t axis) {
  runs r = { 1, a->size, 1 };
  if (axis == BERTH_NONE) return r;
  r.n = a->shape[axis];
  for (int32_t i = 0; i < axis; i++) r.outer *= a->shape[i];
  for (int32_t i = axis + 1; i < a->rank; i++) r.inner *= a->shape[i];
  return r;
}

static berth_status reduce_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  runs r = runs_of(a, node->k[REDUCE_AXIS]);
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t o = 0; g && o < r.outer; o++) {
    int64_t at = o * r.n * r.inner;
    reduce_run_back((berth_nn_reduction)node->k[REDUCE_F], a->data + at, r.n, r.inner,
                    d + o * r.inner, g + at);
  }
  return st;
}

/* A reduction to nothing has shape [1]. */
static int32_t shape_without(const berth_array *a, int32_t axis, int32_t *shape) {
  int32_t rank = 0;
  for (int32_t i = 0; axis != BERTH_NONE && i < a->rank; i++) {
    if (i != axis) shape[rank++] = a->shape[i];
  }
  if (rank == 0) shape[rank++] = 1;
  return rank;
}

berth_status berth_nn_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a, int32_t axis,
                             berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = reduce_back, .in = { a }, .k = { (int32_t)f, axis } };
  if ((unsigned)f > BERTH_NN_LARGEST)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "reduce: no function %d", (int)f);
  if (axis < BERTH_NONE || axis >= a->rank) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "reduce: there is no axis %d (axes are 0..%d)",
                        (int)axis, (int)a->rank - 1);
  }
  int32_t shape[BERTH_NN_RANK];
  int32_t rank = shape_without(a, axis, shape);
  berth_status st;
  if ((st = berth_i_array_raw(a->ctx, rank, shape, &node.out)) != BERTH_OK) return st;
  runs r = runs_of(a, axis);
  for (int64_t o = 0; o < r.outer; o++)
    reduce_run(f, a->data + o * r.n * r.inner, r.n, r.inner, node.out->data + o * r.inner);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- segments ---- */

static berth_status rows_of_segments(const berth_array *a, int32_t rows, berth_array **out) {
  int32_t shape[BERTH_NN_RANK];
  memcpy(shape, a->shape, sizeof shape);
  shape[0] = rows;
  return berth_i_array_raw(a->ctx, a->rank, shape, out);
}

/* Not size / rows: that has no value for an array of no rows, whose segments still have an
 * output. */
static int64_t row_size(const berth_array *a) {
  int64_t m = 1;
  for (int32_t i = 1; i < a->rank; i++) m *= a->shape[i];
  return m;
}

static berth_status segment_reduce_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  const int32_t *first = node->segments->first;
  int64_t m = row_size(a);
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t i = 0; g && i < node->segments->n; i++) {
    int64_t at = first[i] * m;
    reduce_run_back((berth_nn_reduction)node->k[REDUCE_F], a->data + at, first[i + 1] - first[i], m,
                    d + i * m, g + at);
  }
  return st;
}

berth_status berth_nn_segment_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a,
                                     berth_segments *s, berth_array **out) {
  if (!a || !s || !out) return BERTH_EINVAL;
  berth_i_node node = {
    .backward = segment_reduce_back, .in = { a }, .segments = s, .k = { (int32_t)f }
  };
  int64_t m = row_size(a);
  if ((unsigned)f > BERTH_NN_LARGEST)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "segment reduce: no function %d", (int)f);
  berth_status st;
  if ((st = berth_i_check_segments("segment reduce", a, s)) != BERTH_OK) return st;
  if ((st = rows_of_segments(a, s->n, &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < s->n; i++) {
    reduce_run(f, a->data + s->first[i] * m, s->first[i + 1] - s->first[i], m,
               node.out->data + i * m);
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* The gradient of a row is the sum over its repetitions. */
static berth_status segment_repeat_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  const int32_t *first = node->segments->first;
  int64_t m = row_size(a);
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t i = 0; g && i < node->segments->n; i++) {
    for (int64_t r = first[i]; r < first[i + 1]; r++) berth_i_add_to(g + i * m, d + r * m, m);
  }
  return st;
}

berth_status berth_nn_segment_repeat(berth_tape *t, berth_array *a, berth_segments *s,
                                     berth_array **out) {
  if (!a || !s || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = segment_repeat_back, .in = { a }, .segments = s };
  int64_t m = row_size(a);
  if (s->n != a->shape[0]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "segment repeat: %d segments for %d rows", (int)s->n,
                        (int)a->shape[0]);
  }
  berth_status st;
  if ((st = rows_of_segments(a, s->first[s->n], &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < s->n; i++) {
    for (int64_t r = s->first[i]; r < s->first[i + 1]; r++)
      memcpy(node.out->data + r * m, a->data + i * m, (size_t)m * sizeof(float));
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}
