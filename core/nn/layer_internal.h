/* What the files of layers share: the end of a forward function, gradients of inputs that may be
 * missing, x W + b forward and backward. */
#ifndef BERTH_NN_LAYER_INTERNAL_H
#define BERTH_NN_LAYER_INTERNAL_H

#include "nn_internal.h"

static inline bool berth_i_any_wanted(const berth_tape *t, const berth_i_node *node) {
  for (int i = 0; t && i < BERTH_I_NODE_ARRAYS; i++) {
    if (node->in[i] && berth_i_wanted(t, node->in[i])) return true;
  }
  return false;
}

/** The end of a forward function: records the node if a gradient is wanted, releases what it holds
 *  (kept arrays; the tape has its own references), returns node->out. @param st of the work so
 *  far; not OK: only releases */
static inline berth_status berth_i_finish_op(berth_tape *t,
                                             const berth_i_node *node,
                                             berth_status st,
                                             berth_array **out) {
  if (st == BERTH_OK && berth_i_any_wanted(t, node)) st = berth_i_record(t, node);
  for (int i = 0; i < BERTH_I_NODE_ARRAYS; i++) berth_array_release(node->kept[i]);
  if (st == BERTH_OK) *out = node->out;
  else berth_array_release(node->out);
  return st;
}

/** berth_i_gradient, with a NULL for an input that is not there, or once something failed. */
static inline float *berth_i_gradient_of(berth_tape *t, berth_array *a, berth_status *st) {
  return a && *st == BERTH_OK ? berth_i_gradient(t, a, st) : NULL;
}

/** Softmax of n numbers; mask NULL or [n]. x and out may be one. */
void berth_i_softmax_run(const float *x, const float *mask, int32_t n, float *out);

/** Rows in the sense of "all axes but the last". */
static inline int64_t berth_i_rows(const berth_array *a) {
  return berth_i_last(a) ? a->size / berth_i_last(a) : 0;
}

/** out[j] += sum over n rows of x [n, m]. */
static inline void berth_i_add_columns(float *restrict out, const float *restrict x, int64_t n,
                                       int32_t m) {
  for (int64_t i = 0; i < n; i++) {
    for (int32_t j = 0; j < m; j++) out[j] += x[i * m + j];
  }
}

/** y [rows, m] = x [rows, k] w [k, m] + b [m]; b NULL: without. */
static inline void berth_i_affine(const berth_array *x, const berth_array *w, const berth_array *b,
                                  int32_t rows, float *y) {
  int32_t m = w->shape[1];
  for (int64_t i = 0; b && i < rows; i++) memcpy(y + i * m, b->data, (size_t)m * sizeof *y);
  berth_i_gemm(0, 0, rows, m, w->shape[0], x->data, w->data, b ? 1 : 0, y);
}

/** Adds the gradients of x, w and b of that, given d, the gradient of y: dx = d w', dw = x' d, db =
 *  the sum of the rows of d. */
static inline berth_status berth_i_affine_back(berth_tape *t, berth_array *x, berth_array *w,
                                               berth_array *b, int32_t rows, const float *d) {
  int32_t k = w->shape[0], m = w->shape[1];
  berth_status st = BERTH_OK;
  float *gx = berth_i_gradient_of(t, x, &st), *gw = berth_i_gradient_of(t, w, &st),
        *gb = berth_i_gradient_of(t, b, &st);
  if (st != BERTH_OK) return st;
  if (gx) berth_i_gemm(0, 1, rows, k, m, d, w->data, 1, gx);
  if (gw) berth_i_gemm(1, 0, k, m, rows, x->data, d, 1, gw);
  if (gb) berth_i_add_columns(gb, d, rows, m);
  return BERTH_OK;
}

#endif
