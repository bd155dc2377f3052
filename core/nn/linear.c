/* Products: matrices (berth_nn_matmul), layers f(x w + b) (berth_nn_linear), and one matrix per
 * segment of rows (berth_nn_grouped_matmul). All of them are calls of CBLAS on dense row-major
 * blocks; the gradients are products of the same kind with the other factor transposed. */
#include "vector_internal.h"

#include "layer_internal.h"

/* ---- matrix product ---- */

/* One product of many of the same size: out [m x n] = op(a) op(b); steps from one to the next. */
typedef struct product {
  int32_t m, n, k, count;
  int ta, tb;
  int64_t a_step, b_step, out_step;
} product;

/* @return false: the shapes do not match */
static bool plan(const berth_array *a, int ta, const berth_array *b, int tb, product *p) {
  const int32_t *x = a->shape + a->rank - 2, *y = b->shape + b->rank - 2;
  if (a->rank < 2 || a->rank > 3 || b->rank < 2 || b->rank > a->rank) return false;
  if (b->rank == 3 && a->shape[0] != b->shape[0]) return false;
  *p = (product){
    x[ta ? 1 : 0], y[tb ? 0 : 1], x[ta ? 0 : 1], a->rank == 3 ? a->shape[0] : 1, ta, tb, 0, 0, 0
  };
  if (p->k != y[tb ? 1 : 0]) return false;
  p->a_step = (int64_t)x[0] * x[1];
  p->b_step = b->rank == 3 ? (int64_t)y[0] * y[1] : 0;
  p->out_step = (int64_t)p->m * p->n;
  return true;
}

/* The gradient of op(a) is d op(b)'; if a was transposed, the product is transposed as a whole. */
static void back_to_a(const product *p, const float *d, const float *b, float *g) {
  if (p->ta) berth_i_gemm(p->tb, 1, p->k, p->m, p->n, b, d, 1, g);
  else berth_i_gemm(0, !p->tb, p->m, p->k, p->n, d, b, 1, g);
}
static void back_to_b(const product *p, const float *d, const float *a, float *g) {
  if (p->tb) berth_i_gemm(1, p->ta, p->n, p->k, p->m, d, a, 1, g);
  else berth_i_gemm(!p->ta, 0, p->k, p->n, p->m, a, d, 1, g);
}

static berth_status matmul_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0], *b = node->in[1];
  berth_status st = BERTH_OK;
  float *ga = berth_i_gradient_of(t, a, &st), *gb = berth_i_gradient_of(t, b, &st);
  product p;
  if (st != BERTH_OK || !plan(a, node->k[0], b, node->k[1], &p)) return st;
  for (int64_t i = 0; i < p.count; i++) {
    if (ga) back_to_a(&p, d + i * p.out_step, b->data + i * p.b_step, ga + i * p.a_step);
    if (gb) back_to_b(&p, d + i * p.out_step, a->data + i * p.a_step, gb + i * p.b_step);
  }
  return st;
}

berth_status berth_nn_matmul(berth_tape *t, berth_array *a, int transpose_a, berth_array *b,
                             int transpose_b, berth_array **out) {
  if (!a || !b || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = matmul_back,
                        .in = { a, b },
                        .k = { transpose_a != 0, transpose_b != 0 } };
  product p;
  if (!plan(a, node.k[0], b, node.k[1], &p)) return berth_i_shapes("matmul", a, b);
  int32_t shape[3];
  shape[0] = p.count;
  shape[1] = p.m;
  shape[2] = p.n;
  berth_status st = a->rank == 3 ? berth_i_array_raw(a->ctx, 3, shape, &node.out)
                                 : berth_i_array_raw(a->ctx, 2, shape + 1, &node.out);
  if (st != BERTH_OK) return st;
  for (int64_t i = 0; i < p.count; i++) {
    berth_i_gemm(p.ta, p.tb, p.m, p.n, p.k, a->data + i * p.a_step, b->data + i * p.b_step, 0,
                 node.out->data + i * p.out_step);
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- a layer ---- */

/* Those whose slope follows from the output, so that the input need not be kept. */
static bool layer_function(berth_nn_unary f) {
  return f == BERTH_NN_IDENTITY || f == BERTH_NN_RELU || f == BERTH_NN_LEAKY_RELU
         || f == BERTH_NN_SIGMOID || f == BERTH_NN_TANH;
}

/* The slope of each follows from its output: a leaky one keeps the sign of its input as long as p
 * is above 0. */
static berth_status linear_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *const *in = node->in, *y = node->out, *inner = NULL;
  berth_nn_unary f = (berth_nn_unary)node->k[0];
  berth_status st;
  if (f != BERTH_NN_IDENTITY) {
    if ((st = berth_array_new(y->ctx, y->rank, y->shape, &inner)) != BERTH_OK) return st;
    berth_i_map_back(f, (float)node->p[0], y->size, y->data, y->data, d, inner->data);
    d = inner->data;
  }
  st = berth_i_affine_back(t, in[0], in[1], in[2], (int32_t)berth_i_rows(y), d);
  berth_array_release(inner);
  return st;
}

/* CBLAS counts rows in an int. */
static berth_status check_rows(const berth_array *x) {
  double rows = 1;
  for (int32_t i = 0; i < x->rank - 1; i++) rows *= x->shape[i];
  if (rows <= INT32_MAX) return BERTH_OK;
  return berth_i_fail(x->ctx, BERTH_EINVAL, "linear: %.0f rows, at most %d", rows, INT32_MAX);
}

berth_status berth_nn_linear(berth_tape *t, berth_array *x, berth_array *w, berth_array *b,
                             berth_nn_unary f, double p, berth_array **out) {
  if (!x || !w || !out) return BERTH_EINVAL;
  berth_i_node node = {
    .backward = linear_back, .in = { x, w, b }, .k = { (int32_t)f }, .p = { p }
  };
  if (!layer_function(f) || (f == BERTH_NN_LEAKY_RELU && !(p > 0))) {
    return berth_i_fail(x->ctx, BERTH_EINVAL, "linear: function %d with slope %g is not for layers",
                        (int)f, p);
  }
  if (w->rank != 2 || berth_i_last(x) != w->shape[0]) return berth_i_shapes("linear", x, w);
  if (b && (b->rank != 1 || b->shape[0] != w->shape[1]))
    return berth_i_shapes("linear: weights and bias", w, b);
  berth_status st;
  if ((st = check_rows(x)) != BERTH_OK) return st;
  int32_t shape[BERTH_NN_RANK];
  memcpy(shape, x->shape, sizeof shape);
  shape[x->rank - 1] = w->shape[1];
  if ((st = berth_i_array_raw(x->ctx, x->rank, shape, &node.out)) != BERTH_OK) return st;
  berth_i_affine(x, w, b, (int32_t)berth_i_rows(node.out), node.out->data);
  if (f != BERTH_NN_IDENTITY)
    berth_i_map(f, (float)p, node.out->size, node.out->data, node.out->data);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- a matrix per segment ---- */

/* A segment's rows multiply the segment's matrix; its gradient gathers from these rows alone. */
static berth_status grouped_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *x = node->in[0], *w = node->in[1];
  int32_t k = w->shape[1], m = w->shape[2];
  const int32_t *first = node->segments->first;
  berth_status st = BERTH_OK;
  float *gx = berth_i_gradient_of(t, x, &st), *gw = berth_i_gradient_of(t, w, &st);
  for (int64_t i = 0; st == BERTH_OK && i < node->segments->n; i++) {
    int32_t n = first[i + 1] - first[i];
    const float *from = d + (int64_t)first[i] * m;
    if (gx) berth_i_gemm(0, 1, n, k, m, from, w->data + i * k * m, 1, gx + (int64_t)first[i] * k);
    if (gw) berth_i_gemm(1, 0, k, m, n, x->data + (int64_t)first[i] * k, from, 1, gw + i * k * m);
  }
  return st;
}

berth_status berth_nn_grouped_matmul(berth_tape *t, berth_array *x, berth_segments *s,
                                     berth_array *w, berth_array **out) {
  if (!x || !s || !w || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = grouped_back, .in = { x, w }, .segments = s };
  if (x->rank != 2 || w->rank != 3 || x->shape[1] != w->shape[1])
    return berth_i_shapes("grouped matmul", x, w);
  if (s->n != w->shape[0]) {
    return berth_i_fail(x->ctx, BERTH_EINVAL, "grouped matmul: %d segments and %d matrices",
                        (int)s->n, (int)w->shape[0]);
  }
  berth_status st;
  if ((st = berth_i_check_segments("grouped matmul", x, s)) != BERTH_OK) return st;
  int32_t shape[2];
  shape[0] = x->shape[0];
  shape[1] = w->shape[2];
  if ((st = berth_i_array_raw(x->ctx, 2, shape, &node.out)) != BERTH_OK) return st;
  for (int64_t i = 0; i < s->n; i++) {
    int32_t at = s->first[i];
    berth_i_gemm(0, 0, s->first[i + 1] - at, shape[1], x->shape[1],
                 x->data + (int64_t)at * x->shape[1], w->data + i * x->shape[1] * shape[1], 0,
                 node.out->data + (int64_t)at * shape[1]);
  }
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}
