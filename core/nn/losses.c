/* Losses, each one number: mean square and Huber's loss over all numbers, cross entropy over rows.
 * Sums are in double: the mean of many small terms keeps its digits. */
#include "vector_internal.h"

#include "layer_internal.h"

static berth_status one_number(const berth_array *a, berth_array **out) {
  const int32_t one = 1;
  return berth_i_array_raw(a->ctx, 1, &one, out);
}

/* ---- distances ---------------------------------------------------------------------------------
 * * p[0]: Huber's delta; INFINITY: the square (mse is twice the half of it). */

static double half_square_or_line(double x, double delta) {
  double a = fabs(x);
  return a <= delta ? x * x / 2 : delta * (a - delta / 2);
}

/* The slope of the square is the difference; of Huber's line, +-delta. */
static berth_status distance_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const berth_array *a = node->in[0], *b = node->in[1];
  float delta = (float)node->p[0], f = a->size ? (float)(node->p[1] * d[0] / (double)a->size) : 0;
  berth_status st = BERTH_OK;
  float *ga = berth_i_gradient_of(t, node->in[0], &st),
        *gb = berth_i_gradient_of(t, node->in[1], &st);
  if (st != BERTH_OK) return st;
  for (int64_t i = 0; i < a->size; i++) {
    float x = a->data[i] - b->data[i];
    x = f * (x > delta ? delta : x < -delta ? -delta : x);
    if (ga) ga[i] += x;
    if (gb) gb[i] -= x;
  }
  return BERTH_OK;
}

/* @param times of Huber's loss */
static berth_status distance(berth_tape *t, const char *what, berth_array *a, berth_array *b,
                             double delta, double times, berth_array **out) {
  berth_i_node node = { .backward = distance_back, .in = { a, b }, .p = { delta, times } };
  double sum = 0;
  if (!berth_i_same_shape(a, b)) return berth_i_shapes(what, a, b);
  berth_status st;
  if ((st = one_number(a, &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < a->size; i++)
    sum += half_square_or_line((double)a->data[i] - b->data[i], delta);
  node.out->data[0] = a->size ? (float)(times * sum / (double)a->size) : 0;
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

berth_status berth_nn_mse(berth_tape *t, berth_array *a, berth_array *b, berth_array **out) {
  if (!a || !b || !out) return BERTH_EINVAL;
  return distance(t, "mse", a, b, INFINITY, 2, out);
}

berth_status berth_nn_huber(berth_tape *t, berth_array *a, berth_array *b, double delta,
                            berth_array **out) {
  if (!a || !b || !out) return BERTH_EINVAL;
  if (!(delta > 0))
    return berth_i_fail(a->ctx, BERTH_EINVAL, "huber: delta is %g, must be above 0", delta);
  return distance(t, "huber", a, b, delta, 1, out);
}

/* ---- cross entropy ------------------------------------------------------------------------------
 * * Kept: e^(a - largest) of every row, and 1 over their sums. */

/* (softmax(a) - one at the id) / n, from the powers that are kept. */
static berth_status cross_entropy_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const berth_array *e = node->kept[0], *inverse = node->kept[1];
  int64_t n = e->shape[0], m = e->shape[1];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient(t, node->in[0], &st), f = n ? d[0] / (float)n : 0;
  for (int64_t i = 0; g && i < n; i++) {
    float scale = f * inverse->data[i];
    for (int64_t j = 0; j < m; j++) g[i * m + j] += scale * e->data[i * m + j];
    g[i * m + node->index->ids[i]] -= f;
  }
  return st;
}

static berth_status check_answers(const berth_array *a, const berth_index *index) {
  char text[BERTH_I_SHAPE_TEXT];
  if (a->rank != 2 || index->n != a->shape[0]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "cross_entropy: %s and %d ids do not match",
                        berth_i_shape_text(a, text), index->n);
  }
  return berth_i_check_index("cross_entropy", "column", index, a->shape[1], false);
}

berth_status berth_nn_cross_entropy(berth_tape *t, berth_array *a, berth_index *index,
                                    berth_array **out) {
  if (!a || !index || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = cross_entropy_back, .in = { a }, .index = index };
  double sum = 0;
  int64_t n = a->shape[0], m = berth_i_last(a);
  berth_status st = check_answers(a, index);
  if (st == BERTH_OK) st = berth_i_array_like(a, &node.kept[0]);
  if (st == BERTH_OK) st = berth_i_array_raw(a->ctx, 1, a->shape, &node.kept[1]);
  if (st == BERTH_OK) st = one_number(a, &node.out);
  for (int64_t i = 0; st == BERTH_OK && i < n; i++) {
    const float *x = a->data + i * m;
    float *restrict e = node.kept[0]->data + i * m, most = x[0];
    for (int64_t j = 1; j < m; j++) most = x[j] > most ? x[j] : most;
    for (int64_t j = 0; j < m; j++) e[j] = berth_i_exp(x[j] - most);
    float powers = berth_i_sum(e, m);
    node.kept[1]->data[i] = 1 / powers;
    sum += log((double)powers) - ((double)x[index->ids[i]] - most); /* -log softmax(x)[id] */
  }
  if (st == BERTH_OK) node.out->data[0] = n ? (float)(sum / (double)n) : 0;
  return berth_i_finish_op(t, &node, st, out);
}
