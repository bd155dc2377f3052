/* Rows by their ids: gathered, gathered and summed by segment, scattered, and one number picked per
 * row. An id of BERTH_NONE reads zeros and writes nothing. Gather and scatter are each other's
 * gradients. */
#include "vector_internal.h"

#include "layer_internal.h"

/* @param zero false: the numbers are not set */
static berth_status rows_like(const berth_array *a, int32_t rows, bool zero, berth_array **out) {
  int32_t shape[BERTH_NN_RANK];
  memcpy(shape, a->shape, sizeof shape);
  shape[0] = rows;
  return zero ? berth_array_new(a->ctx, a->rank, shape, out)
              : berth_i_array_raw(a->ctx, a->rank, shape, out);
}

/* to[index[i]] += from[i] */
static void send_rows(const berth_index *x, int64_t m, const float *from, float *to) {
  for (int64_t i = 0; i < x->n; i++) {
    if (x->ids[i] != BERTH_NONE) berth_i_add_to(to + x->ids[i] * m, from + i * m, m);
  }
}

static berth_status gather_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  if (g) send_rows(node->index, berth_i_stride(a), d, g);
  return st;
}

berth_status berth_nn_gather(berth_tape *t, berth_array *a, berth_index *index, berth_array **out) {
  if (!a || !index || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = gather_back, .in = { a }, .index = index };
  int64_t m = berth_i_stride(a);
  berth_status st;
  if ((st = berth_i_check_index("gather", "row", index, a->shape[0], true)) != BERTH_OK) return st;
  if ((st = rows_like(a, index->n, false, &node.out)) != BERTH_OK) return st;
  if (a->shape[0] == 0) m = node.out->shape[0] ? node.out->size / node.out->shape[0] : 0;
  for (int64_t i = 0; i < index->n; i++) {
    float *to = node.out->data + i * m;
    if (index->ids[i] == BERTH_NONE) memset(to, 0, (size_t)m * sizeof *to);
    else memcpy(to, a->data + index->ids[i] * m, (size_t)m * sizeof *to);
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- fetched and added up ---- */

static void add_scaled(float *restrict y, const float *restrict x, float f, int64_t m) {
  for (int64_t j = 0; j < m; j++) y[j] += f * x[j];
}

static berth_status gather_reduce_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const int32_t *first = node->segments->first, *ids = node->index->ids;
  int64_t m = berth_i_stride(node->in[0]);
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, node->in[0], &st);
  for (int64_t i = 0; g && i < node->segments->n; i++) {
    int32_t n = first[i + 1] - first[i];
    float f = node->k[0] == BERTH_NN_MEAN && n > 0 ? 1 / (float)n : 1;
    for (int64_t k = first[i]; k < first[i + 1]; k++) {
      if (ids[k] != BERTH_NONE) add_scaled(g + ids[k] * m, d + i * m, f, m);
    }
  }
  return st;
}

static void gather_reduce_rows(const berth_i_node *node, const berth_array *a, int64_t m) {
  const int32_t *first = node->segments->first, *ids = node->index->ids;
  for (int64_t i = 0; i < node->segments->n; i++) {
    float *to = node->out->data + i * m;
    int32_t n = first[i + 1] - first[i];
    memset(to, 0, (size_t)m * sizeof *to);
    for (int64_t k = first[i]; k < first[i + 1]; k++) {
      if (ids[k] != BERTH_NONE) berth_i_add_to(to, a->data + ids[k] * m, m);
    }
    for (int64_t j = 0; node->k[0] == BERTH_NN_MEAN && n > 0 && j < m; j++) to[j] /= (float)n;
  }
}

berth_status berth_nn_gather_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a,
                                    berth_index *index, berth_segments *s, berth_array **out) {
  if (!a || !index || !s || !out) return BERTH_EINVAL;
  berth_i_node node = {
    .backward = gather_reduce_back, .in = { a }, .index = index, .segments = s, .k = { (int32_t)f }
  };
  if (f != BERTH_NN_SUM && f != BERTH_NN_MEAN) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "gather reduce: no function %d: sums and means only",
                        (int)f);
  }
  if (index->n != s->first[s->n]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "gather reduce: %d ids in segments of %d rows",
                        (int)index->n, (int)s->first[s->n]);
  }
  berth_status st;
  if ((st = berth_i_check_index("gather reduce", "row", index, a->shape[0], true)) != BERTH_OK)
    return st;
  if ((st = rows_like(a, s->n, false, &node.out)) != BERTH_OK) return st;
  gather_reduce_rows(&node, a, a->shape[0] ? berth_i_stride(a) : s->n ? node.out->size / s->n : 0);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- sent and picked ---- */

static berth_status scatter_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  int64_t m = berth_i_stride(a);
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t i = 0; g && i < node->index->n; i++) {
    if (node->index->ids[i] != BERTH_NONE)
      berth_i_add_to(g + i * m, d + node->index->ids[i] * m, m);
  }
  return st;
}

berth_status berth_nn_scatter(berth_tape *t, berth_array *a, berth_index *index, int32_t rows,
                              berth_array **out) {
  if (!a || !index || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = scatter_back, .in = { a }, .index = index };
  if (rows < 0) return berth_i_fail(a->ctx, BERTH_EINVAL, "scatter: %d rows", (int)rows);
  if (index->n != a->shape[0]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "scatter: %d ids for %d rows", (int)index->n,
                        (int)a->shape[0]);
  }
  berth_status st;
  if ((st = berth_i_check_index("scatter", "row", index, rows, true)) != BERTH_OK) return st;
  if ((st = rows_like(a, rows, true, &node.out)) != BERTH_OK) return st;
  send_rows(index, berth_i_stride(a), a->data, node.out->data);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

static berth_status pick_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  for (int64_t i = 0; g && i < node->index->n; i++)
    g[i * a->shape[1] + node->index->ids[i]] += d[i];
  return st;
}

berth_status berth_nn_pick(berth_tape *t, berth_array *a, berth_index *index, berth_array **out) {
  if (!a || !index || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = pick_back, .in = { a }, .index = index };
  if (a->rank != 2 || index->n != a->shape[0]) {
    char text[BERTH_I_SHAPE_TEXT];
    return berth_i_fail(a->ctx, BERTH_EINVAL, "pick: %d ids from %s", (int)index->n,
                        berth_i_shape_text(a, text));
  }
  berth_status st;
  if ((st = berth_i_check_index("pick", "column", index, a->shape[1], false)) != BERTH_OK)
    return st;
  if ((st = berth_i_array_raw(a->ctx, 1, a->shape, &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < index->n; i++)
    node.out->data[i] = a->data[i * a->shape[1] + index->ids[i]];
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}
