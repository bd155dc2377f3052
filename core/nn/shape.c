/* Shapes: other extents over the same numbers (reshape), axes exchanged (transpose), arrays joined
 * and cut (concat, slice). All copy: an array owns its numbers, and arrays share none. O(size). */
#include "vector_internal.h"

#include "layer_internal.h"

static berth_status same_numbers_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  if (g) berth_i_add_to(g, d, a->size);
  return st;
}

/* Fills the extent that is BERTH_NONE; false: the numbers do not fit. */
static bool settle_extents(int64_t size, int32_t rank, int32_t *shape) {
  int32_t open = BERTH_NONE;
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] == BERTH_NONE && open == BERTH_NONE) open = i;
    else if (shape[i] < 0 || (shape[i] > 0 && n > INT64_MAX / shape[i])) return false;
    else n *= shape[i];
  }
  if (open == BERTH_NONE) return n == size;
  if (n == 0 || size % n != 0 || size / n > INT32_MAX) return false;
  shape[open] = (int32_t)(size / n);
  return true;
}

berth_status berth_nn_reshape(berth_tape *t, berth_array *a, int32_t rank, const int32_t *shape,
                              berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = same_numbers_back, .in = { a } };
  if (rank < 1 || rank > BERTH_NN_RANK)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "reshape: rank %d is not 1 to %d", (int)rank,
                        BERTH_NN_RANK);
  int32_t own[BERTH_NN_RANK];
  memcpy(own, shape, (size_t)rank * sizeof *own);
  char text[BERTH_I_SHAPE_TEXT];
  if (!settle_extents(a->size, rank, own)) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "reshape: the %.0f numbers of %s do not fit",
                        (double)a->size, berth_i_shape_text(a, text));
  }
  berth_status st;
  if ((st = berth_i_array_raw(a->ctx, rank, own, &node.out)) != BERTH_OK) return st;
  memcpy(node.out->data, a->data, (size_t)a->size * sizeof(float));
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- transposition ---- */

/* out [m x n] += or = a [n x m] exchanged, `count` matrices. */
static void exchange(const float *a, int64_t count, int32_t n, int32_t m, bool add, float *out) {
  for (int64_t c = 0; c < count; c++, a += (int64_t)n * m, out += (int64_t)n * m) {
    for (int32_t i = 0; i < n; i++) {
      for (int32_t j = 0; j < m; j++) {
        float *to = out + (int64_t)j * n + i;
        *to = a[(int64_t)i * m + j] + (add ? *to : 0);
      }
    }
  }
}

static int64_t matrices(const berth_array *a) {
  int64_t n = 1;
  for (int32_t i = 0; i < a->rank - 2; i++) n *= a->shape[i];
  return n;
}

static berth_status transpose_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  if (g) exchange(d, matrices(a), berth_i_last(a), a->shape[a->rank - 2], true, g);
  return st;
}

berth_status berth_nn_transpose(berth_tape *t, berth_array *a, berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = transpose_back, .in = { a } };
  if (a->rank < 2) return berth_i_fail(a->ctx, BERTH_EINVAL, "transpose: one axis is not two");
  int32_t shape[BERTH_NN_RANK];
  memcpy(shape, a->shape, sizeof shape);
  shape[a->rank - 1] = a->shape[a->rank - 2];
  shape[a->rank - 2] = berth_i_last(a);
  berth_status st;
  if ((st = berth_i_array_raw(a->ctx, a->rank, shape, &node.out)) != BERTH_OK) return st;
  exchange(a->data, matrices(a), a->shape[a->rank - 2], berth_i_last(a), false, node.out->data);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- joined and cut ---- */

/* Seen from an axis: `outer` times a run of numbers, from the axis inwards. */
static int64_t outer_of(const berth_array *a, int32_t axis) {
  int64_t n = 1;
  for (int32_t i = 0; i < axis; i++) n *= a->shape[i];
  return n;
}
static int64_t inner_of(const berth_array *a, int32_t axis) {
  int64_t n = 1;
  for (int32_t i = axis + 1; i < a->rank; i++) n *= a->shape[i];
  return n;
}

static berth_status check_axis(const char *what, const berth_array *a, int32_t axis) {
  if (axis >= 0 && axis < a->rank) return BERTH_OK;
  return berth_i_fail(a->ctx, BERTH_EINVAL, "%s: there is no axis %d (axes are 0..%d)", what,
                      (int)axis, (int)a->rank - 1);
}

/* Each input gets back its own part of every run. */
static berth_status concat_back(berth_tape *t, const berth_i_node *node, const float *d) {
  int32_t axis = node->k[0];
  int64_t outer = outer_of(node->out, axis), inner = inner_of(node->out, axis),
          row = node->out->shape[axis] * inner, at = 0;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < node->n_more; i++) {
    berth_array *a = node->more_in[i];
    int64_t run = a->shape[axis] * inner;
    float *g = berth_i_gradient_of(t, a, &st);
    for (int64_t o = 0; g && o < outer; o++) berth_i_add_to(g + o * run, d + o * row + at, run);
    at += run;
  }
  return st;
}

/* All extents but the one along the axis must agree. */
static berth_status concat_shape(int32_t n, berth_array *const *a, int32_t axis, int32_t *shape) {
  int64_t sum = 0;
  berth_status st;
  if ((st = check_axis("concat", a[0], axis)) != BERTH_OK) return st;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < a[0]->rank; k++) {
      if (a[i]->rank != a[0]->rank || (k != axis && a[i]->shape[k] != a[0]->shape[k]))
        return berth_i_shapes("concat", a[0], a[i]);
    }
    sum += a[i]->shape[axis];
  }
  if (sum > INT32_MAX) return berth_i_fail(a[0]->ctx, BERTH_EINVAL, "concat: too many rows");
  memcpy(shape, a[0]->shape, sizeof a[0]->shape);
  shape[axis] = (int32_t)sum;
  return BERTH_OK;
}

static void copy_parts(int32_t n, berth_array *const *a, int32_t axis, berth_array *out) {
  int64_t outer = outer_of(out, axis), inner = inner_of(out, axis), row = out->shape[axis] * inner,
          at = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t run = a[i]->shape[axis] * inner;
    for (int64_t o = 0; o < outer; o++)
      memcpy(out->data + o * row + at, a[i]->data + o * run, (size_t)run * sizeof(float));
    at += run;
  }
}

berth_status berth_nn_concat(berth_tape *t, int32_t n, berth_array *const *a, int32_t axis,
                             berth_array **out) {
  if (!out) return BERTH_EINVAL;
  berth_i_node node = {
    .backward = concat_back, .more_in = (berth_array **)a, .n_more = n, .k = { axis }
  };
  int32_t shape[BERTH_NN_RANK];
  bool wanted = false;
  berth_status st;
  if ((st = concat_shape(n, a, axis, shape)) != BERTH_OK) return st;
  if ((st = berth_i_array_raw(a[0]->ctx, a[0]->rank, shape, &node.out)) != BERTH_OK) return st;
  copy_parts(n, a, axis, node.out);
  for (int32_t i = 0; i < n; i++) wanted = wanted || berth_i_wanted(t, a[i]);
  if (wanted && (st = berth_i_record(t, &node)) != BERTH_OK) berth_array_release(node.out);
  else *out = node.out;
  return st;
}

static berth_status slice_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  int32_t axis = node->k[0];
  int64_t outer = outer_of(a, axis), inner = inner_of(a, axis),
          run = node->out->shape[axis] * inner, row = a->shape[axis] * inner;
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t o = 0; g && o < outer; o++)
    berth_i_add_to(g + o * row + node->k[1] * inner, d + o * run, run);
  return st;
}

berth_status berth_nn_slice(berth_tape *t, berth_array *a, int32_t axis, int32_t begin, int32_t end,
                            berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = slice_back, .in = { a }, .k = { axis, begin } };
  berth_status st;
  if ((st = check_axis("slice", a, axis)) != BERTH_OK) return st;
  if (begin < 0 || end < begin || end > a->shape[axis]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "slice: %d to %d of %d", (int)begin, (int)end,
                        (int)a->shape[axis]);
  }
  int32_t shape[BERTH_NN_RANK];
  memcpy(shape, a->shape, sizeof shape);
  shape[axis] = end - begin;
  if ((st = berth_i_array_raw(a->ctx, a->rank, shape, &node.out)) != BERTH_OK) return st;
  int64_t outer = outer_of(a, axis);
  int64_t inner = inner_of(a, axis);
  int64_t run = shape[axis] * inner;
  for (int64_t o = 0; o < outer; o++) {
    memcpy(node.out->data + o * run, a->data + (o * a->shape[axis] + begin) * inner,
           (size_t)run * sizeof(float));
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}
