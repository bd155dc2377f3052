/* Gated recurrent unit, one step, in one operation:
 *   r = sigmoid(x Wr + h Ur), z = sigmoid(x Wz + h Uz), u = h Un + bn,
 *   c = tanh(x Wn + r u), out = c + z (h - c)
 * The three gates are columns of one matrix each for x and h, so a step is two products. All that
 * backward needs is kept, [rows, 4m]; nothing is computed twice.
 *
 * Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, with the
 * reset gate behind the product, as CUDNN has it. */
#include "vector_internal.h"

#include "layer_internal.h"

/* Inputs: x [rows, k], h [rows, m], wx [k, 3m], wh [m, 3m], biases [3m] or NULL. Kept of each row:
 * r, z, c and u. */
enum { IN_X, IN_H, IN_WX, IN_WH, IN_BX, IN_BH };

/* ---- forward ---- */

static berth_status gru_forward(berth_i_node *node) {
  const berth_array *h = node->in[IN_H];
  int32_t n = h->shape[0], m = h->shape[1], shape[2] = { n, 3 * m };
  berth_array *px = NULL, *ph = NULL;
  berth_status st;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &px)) != BERTH_OK) goto done;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &ph)) != BERTH_OK) goto done;
  berth_i_affine(node->in[IN_X], node->in[IN_WX], node->in[IN_BX], n, px->data);
  berth_i_affine(h, node->in[IN_WH], node->in[IN_BH], n, ph->data);
  for (int64_t i = 0; i < n; i++) {
    const float *x = px->data + i * 3 * m, *u_in = ph->data + i * 3 * m, *state = h->data + i * m;
    float *gate = node->kept[0]->data + i * 4 * m, *out = node->out->data + i * m;
    float *r = gate, *z = gate + m, *c = gate + 2 * m, *u = gate + 3 * m;
    /* r and z side by side; then the candidate c, which the paper calls h~; then the mix */
    for (int32_t j = 0; j < 2 * m; j++) gate[j] = berth_i_sigmoid(x[j] + u_in[j]);
    memcpy(u, u_in + 2 * m, (size_t)m * sizeof *u);
    for (int32_t j = 0; j < m; j++) c[j] = berth_i_tanh(x[2 * m + j] + r[j] * u[j]);
    for (int32_t j = 0; j < m; j++) out[j] = c[j] + z[j] * (state[j] - c[j]);
  }
done:
  berth_array_release(px);
  berth_array_release(ph);
  return st;
}

/* ---- backward ---- */

/* By the chain rule from d, the gradient of out, to dx and dh [n, 3m], the gradients of x W + b and
 * of h U + b; then through the two products. h also reaches out directly, through the mix. */
static berth_status gru_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *const *in = node->in, *h = in[IN_H];
  int32_t n = h->shape[0], m = h->shape[1], shape[2] = { n, 3 * m };
  berth_array *dx = NULL, *dh = NULL;
  berth_status st;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &dx)) != BERTH_OK) goto done;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &dh)) != BERTH_OK) goto done;
  float *g = berth_i_gradient_of(t, h, &st);
  if (st != BERTH_OK) goto done;
  for (int64_t i = 0; i < n; i++) {
    const float *gate = node->kept[0]->data + i * 4 * m, *state = h->data + i * m, *di = d + i * m;
    const float *r = gate, *z = gate + m, *c = gate + 2 * m, *u = gate + 3 * m;
    float *dxi = dx->data + i * 3 * m, *dhi = dh->data + i * 3 * m;
    for (int32_t j = 0; j < m; j++) {
      float dc = di[j] * (1 - z[j]) * (1 - c[j] * c[j]);
      dxi[j] = dc * u[j] * r[j] * (1 - r[j]);
      dxi[m + j] = di[j] * (state[j] - c[j]) * z[j] * (1 - z[j]);
      dxi[2 * m + j] = dc;
      dhi[2 * m + j] = dc * r[j];
    }
    memcpy(dhi, dxi, (size_t)(2 * m) * sizeof *dhi); /* r and z take the sum of both products */
    for (int32_t j = 0; g && j < m; j++) g[i * m + j] += di[j] * z[j];
  }
  if ((st = berth_i_affine_back(t, in[IN_X], in[IN_WX], in[IN_BX], n, dx->data)) != BERTH_OK)
    goto done;
  st = berth_i_affine_back(t, h, in[IN_WH], in[IN_BH], n, dh->data);
done:
  berth_array_release(dx);
  berth_array_release(dh);
  return st;
}

/* ---- the operation ---- */

static berth_status check_bias(const berth_array *w, const berth_array *b) {
  return !b || (b->rank == 1 && b->shape[0] == w->shape[1]) ? BERTH_OK
                                                            : berth_i_shapes("gru, bias", w, b);
}

/* 3m may be beyond int32_t. */
static berth_status check_weight(const char *what, const berth_array *x, const berth_array *w,
                                 int32_t m) {
  return w->rank == 2 && w->shape[0] == x->shape[1] && w->shape[1] == 3 * (int64_t)m
             ? BERTH_OK
             : berth_i_shapes(what, x, w);
}

static berth_status check_gru(const berth_i_node *node) {
  berth_array *const *in = node->in, *x = in[IN_X], *h = in[IN_H];
  if (x->rank != 2 || h->rank != 2 || x->shape[0] != h->shape[0])
    return berth_i_shapes("gru", x, h);
  berth_status st;
  if ((st = check_weight("gru, weights of the input", x, in[IN_WX], h->shape[1])) != BERTH_OK)
    return st;
  if ((st = check_weight("gru, weights of the state", h, in[IN_WH], h->shape[1])) != BERTH_OK)
    return st;
  if ((st = check_bias(in[IN_WX], in[IN_BX])) != BERTH_OK) return st;
  return check_bias(in[IN_WH], in[IN_BH]);
}

berth_status berth_nn_gru(berth_tape *t, berth_array *x, berth_array *h, berth_array *wx,
                          berth_array *wh, berth_array *bx, berth_array *bh, berth_array **out) {
  if (!x || !h || !wx || !wh || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = gru_back, .in = { x, h, wx, wh, bx, bh } };
  berth_status st = check_gru(&node);
  int32_t shape[2] = { h->shape[0], 0 };
  if (st == BERTH_OK && h->shape[1] > INT32_MAX / 4) {
    st = berth_i_fail(h->ctx, BERTH_EINVAL, "gru: a state of %d numbers is too long", h->shape[1]);
  }
  if (st == BERTH_OK) shape[1] = 4 * h->shape[1];
  if (st == BERTH_OK) st = berth_i_array_raw(h->ctx, 2, shape, &node.kept[0]);
  if (st == BERTH_OK) st = berth_i_array_like(h, &node.out);
  if (st == BERTH_OK) st = gru_forward(&node);
  return berth_i_finish_op(t, &node, st, out);
}
