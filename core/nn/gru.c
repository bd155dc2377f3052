/* Gated recurrent unit, one step, in one operation:
 *   r = sigmoid(x Wr + h Ur), z = sigmoid(x Wz + h Uz), u = h Un + bn,
 *   n = tanh(x Wn + r u), out = n + z (h - n).
 * The three gates are columns of one matrix each for x and h, so a step is two products. All that
 * backward needs is kept, nothing is computed twice.
 *
 * Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, with the
 * reset gate behind the product, as CUDNN has it. */
#include "vector_internal.h"

#include "layer_internal.h"

/* Kept of each row: r, z, n and u = h whn + bhn, [rows, 4m]. */
enum { IN_X, IN_H, IN_WX, IN_WH, IN_BX, IN_BH };

/* ---- forward ---- */

static void gates_row(const float *restrict x, const float *restrict h, int32_t m,
                      float *restrict gate) {
  float *r = gate, *n = gate + 2 * m, *u = gate + 3 * m;
  for (int32_t j = 0; j < 2 * m; j++) gate[j] = berth_i_sigmoid(x[j] + h[j]);
  memcpy(u, h + 2 * m, (size_t)m * sizeof *u);
  for (int32_t j = 0; j < m; j++) n[j] = berth_i_tanh(x[2 * m + j] + r[j] * u[j]);
}

static void mix_row(const float *restrict gate, const float *restrict h, int32_t m,
                    float *restrict out) {
  const float *z = gate + m, *n = gate + 2 * m;
  for (int32_t j = 0; j < m; j++) out[j] = n[j] + z[j] * (h[j] - n[j]);
}

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
    float *gate = node->kept[0]->data + i * 4 * m;
    gates_row(px->data + i * 3 * m, ph->data + i * 3 * m, m, gate);
    mix_row(gate, h->data + i * m, m, node->out->data + i * m);
  }
done:
  berth_array_release(px);
  berth_array_release(ph);
  return st;
}

/* ---- backward ---- */

/* Gradients of what goes into the gates, from x: dx [3m], and from h: dh [3m]. */
static void gates_row_back(const float *restrict gate, const float *restrict h,
                           const float *restrict d, int32_t m, float *restrict dx,
                           float *restrict dh) {
  const float *r = gate, *z = gate + m, *n = gate + 2 * m, *u = gate + 3 * m;
  for (int32_t j = 0; j < m; j++) {
    float dn = d[j] * (1 - z[j]) * (1 - n[j] * n[j]);
    dx[j] = dn * u[j] * r[j] * (1 - r[j]);
    dx[m + j] = d[j] * (h[j] - n[j]) * z[j] * (1 - z[j]);
    dx[2 * m + j] = dn;
    dh[2 * m + j] = dn * r[j];
  }
  memcpy(dh, dx, (size_t)(2 * m) * sizeof *dh);
}

static void add_passed_on(const berth_i_node *node, const float *restrict d, float *restrict g) {
  int64_t n = node->out->shape[0], m = node->out->shape[1];
  for (int64_t i = 0; i < n; i++) {
    const float *z = node->kept[0]->data + i * 4 * m + m;
    for (int64_t j = 0; j < m; j++) g[i * m + j] += d[i * m + j] * z[j];
  }
}

static berth_status gru_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *const *in = node->in, *h = in[IN_H];
  int32_t m = h->shape[1], shape[2] = { h->shape[0], 3 * m };
  berth_array *dx = NULL, *dh = NULL;
  berth_status st;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &dx)) != BERTH_OK) goto done;
  if ((st = berth_i_array_raw(h->ctx, 2, shape, &dh)) != BERTH_OK) goto done;
  for (int64_t i = 0; i < shape[0]; i++) {
    gates_row_back(node->kept[0]->data + i * 4 * m, h->data + i * m, d + i * m, m,
                   dx->data + i * 3 * m, dh->data + i * 3 * m);
  }
  float *g = berth_i_gradient_of(t, h, &st);
  if (st != BERTH_OK) goto done;
  if (g) add_passed_on(node, d, g);
  if ((st = berth_i_affine_back(t, in[IN_X], in[IN_WX], in[IN_BX], shape[0], dx->data)) != BERTH_OK)
    goto done;
  st = berth_i_affine_back(t, h, in[IN_WH], in[IN_BH], shape[0], dh->data);
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
