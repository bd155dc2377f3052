/* Sums along paths of a forest (path_sum), and running sums of what steps put into bins
 * (running_sum). Both are linear, so backward is the same sum in the other direction. O(rows m) and
 * O(steps bins m). */
#include "vector_internal.h"

#include "layer_internal.h"

/* ---- path sums ---- */

/* Kahn's algorithm: every row before the one it leads to. @param order [n] @param before [n]
 * scratch: rows that lead there and are not ordered yet. @return rows ordered; fewer: a cycle */
static int32_t order_rows(const int32_t *next, int32_t n, int32_t *order, int32_t *before) {
  int32_t v, tail = 0;
  for (v = 0; v < n; v++) before[v] = 0;
  for (v = 0; v < n; v++) {
    if (next[v] != BERTH_NONE) before[next[v]]++;
  }
  for (v = 0; v < n; v++) {
    if (before[v] == 0) order[tail++] = v;
  }
  for (int32_t head = 0; head < tail; head++) {
    v = next[order[head]];
    if (v != BERTH_NONE && --before[v] == 0) order[tail++] = v;
  }
  return tail;
}

/* Kept by the node, for backward. */
static berth_status path_order(berth_ctx *ctx, const berth_index *next, berth_index **out) {
  size_t n = (size_t)next->n;
  int32_t *order = berth_i_alloc(ctx, 2 * n, sizeof *order);
  if (!order) return berth_i_nomem(ctx);
  int32_t ordered = order_rows(next->ids, next->n, order, order + n);
  berth_status st;
  if (ordered == next->n) st = berth_index_new(ctx, next->n, order, out);
  else
    st = berth_i_fail(ctx, BERTH_ECYCLE, "path_sum: %d of %d rows are on a cycle",
                      next->n - ordered, next->n);
  berth_i_free(ctx, order, 2 * n, sizeof *order);
  return st;
}

/* Backwards: the gradient of a row is passed on to the next. */
static berth_status path_sum_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_status st = BERTH_OK;
  berth_ctx *ctx = node->out->ctx;
  const int32_t *next = node->index->ids, *order = node->index2->ids;
  size_t size = (size_t)node->out->size;
  int64_t m = berth_i_stride(node->out);
  float *g = berth_i_gradient(t, node->in[0], &st);
  if (!g) return st;
  float *sum;
  if (!(sum = berth_i_alloc(ctx, size, sizeof *sum))) return berth_i_nomem(ctx);
  memcpy(sum, d, size * sizeof *sum);
  for (int32_t i = 0; i < node->index->n; i++) {
    int32_t v = order[i];
    if (next[v] != BERTH_NONE) berth_i_add_to(sum + next[v] * m, sum + v * m, m);
  }
  berth_i_add_to(g, sum, (int64_t)size);
  berth_i_free(ctx, sum, size, sizeof *sum);
  return BERTH_OK;
}

/* out[v] = in[v] + out[next[v]]: from the roots on, the order backwards. */
static void path_sum(const berth_i_node *node) {
  const int32_t *next = node->index->ids, *order = node->index2->ids;
  int64_t m = berth_i_stride(node->out);
  float *y = node->out->data;
  memcpy(y, node->in[0]->data, (size_t)node->out->size * sizeof *y);
  for (int32_t i = node->index->n - 1; i >= 0; i--) {
    int32_t v = order[i];
    if (next[v] != BERTH_NONE) berth_i_add_to(y + v * m, y + next[v] * m, m);
  }
}

berth_status berth_nn_path_sum(berth_tape *t, berth_array *a, berth_index *next,
                               berth_array **out) {
  if (!a || !next || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = path_sum_back, .in = { a }, .index = next };
  berth_status st = berth_i_check_index("path_sum", "row", next, a->shape[0], true);
  if (st != BERTH_OK) return st;
  if (next->n != a->shape[0]) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "path_sum: %d rows, but %d ids of the next",
                        a->shape[0], next->n);
  }
  st = path_order(a->ctx, next, &node.index2);
  if (st == BERTH_OK) st = berth_i_array_like(a, &node.out);
  if (st == BERTH_OK && a->size > 0) path_sum(&node);
  st = berth_i_finish_op(t, &node, st, out);
  berth_index_release(node.index2);
  return st;
}

/* ---- running sums
 * --------------------------------------------------------------------------------- * k[0]: bins. A
 * step with BERTH_NONE for its row or its bin puts nothing. */

/* Backwards: a row put at step i is in its bin at all later steps of the segment; `later` is the
 * sum of their d. */
static berth_status running_sum_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_status st = BERTH_OK;
  berth_ctx *ctx = node->out->ctx;
  const int32_t *row = node->index->ids, *bin = node->index2->ids, *first = node->segments->first;
  int64_t m = node->out->shape[2], block = node->k[0] * m;
  float *g = berth_i_gradient(t, node->in[0], &st);
  if (!g) return st;
  float *later;
  if (!(later = berth_i_alloc(ctx, (size_t)block, sizeof *later))) return berth_i_nomem(ctx);
  for (int32_t e = 0; e < node->segments->n; e++) {
    memset(later, 0, (size_t)block * sizeof *later);
    for (int32_t i = first[e + 1] - 1; i >= first[e]; i--) {
      if (row[i] != BERTH_NONE && bin[i] != BERTH_NONE)
        berth_i_add_to(g + row[i] * m, later + bin[i] * m, m);
      berth_i_add_to(later, d + i * block, block);
    }
  }
  berth_i_free(ctx, later, (size_t)block, sizeof *later);
  return BERTH_OK;
}

/* out [steps, bins, m]: the state before each step, each copied from the one before. The last
 * step's own row is in no output. */
static void running_sum(const berth_i_node *node) {
  const int32_t *row = node->index->ids, *bin = node->index2->ids, *first = node->segments->first;
  const float *x = node->in[0]->data;
  int64_t m = node->out->shape[2], block = node->k[0] * m;
  for (int32_t e = 0; e < node->segments->n; e++) {
    float *y = node->out->data + first[e] * block;
    if (first[e] < first[e + 1]) memset(y, 0, (size_t)block * sizeof *y);
    for (int32_t i = first[e]; i + 1 < first[e + 1]; i++, y += block) {
      memcpy(y + block, y, (size_t)block * sizeof *y);
      if (row[i] != BERTH_NONE && bin[i] != BERTH_NONE)
        berth_i_add_to(y + block + bin[i] * m, x + row[i] * m, m);
    }
  }
}

static berth_status check_steps(const berth_array *a, const berth_segments *s,
                                const berth_index *row, const berth_index *bin, int32_t bins) {
  int32_t n = berth_segments_rows(s);
  char text[BERTH_I_SHAPE_TEXT];
  if (a->rank != 2) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "running_sum: %s has not two axes",
                        berth_i_shape_text(a, text));
  }
  if (row->n != n || bin->n != n) {
    return berth_i_fail(a->ctx, BERTH_EINVAL,
                        "running_sum: %d steps, but %d rows and %d bins for them", n, row->n,
                        bin->n);
  }
  if (bins < 0) return berth_i_fail(a->ctx, BERTH_EINVAL, "running_sum: %d bins", bins);
  berth_status st;
  if ((st = berth_i_check_index("running_sum", "row", row, a->shape[0], true)) != BERTH_OK)
    return st;
  return berth_i_check_index("running_sum", "bin", bin, bins, true);
}

berth_status berth_nn_running_sum(berth_tape *t, berth_array *a, berth_segments *s,
                                  berth_index *row, berth_index *bin, int32_t bins,
                                  berth_array **out) {
  if (!a || !s || !row || !bin || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = running_sum_back,
                        .in = { a },
                        .index = row,
                        .index2 = bin,
                        .segments = s,
                        .k = { bins } };
  berth_status st = check_steps(a, s, row, bin, bins);
  int32_t shape[3] = { berth_segments_rows(s), bins, a->rank == 2 ? a->shape[1] : 0 };
  if (st == BERTH_OK) st = berth_i_array_raw(a->ctx, 3, shape, &node.out);
  if (st == BERTH_OK && node.out->size > 0) running_sum(&node);
  return berth_i_finish_op(t, &node, st, out);
}
