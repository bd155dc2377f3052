/* Scaled dot-product attention in several heads: for each head
 *   P = softmax(q k' / sqrt(d)), out = P v
 * With D the gradient of out:
 *   dv = P' D, dP = D v', dS = P (dP - rowsum(P dP)) / sqrt(d), dq = dS k, dk = dS' q
 * The columns of a head are packed, so that each product is one call of CBLAS. O(n m (d + e)) a
 * head; P is kept, [batch, heads, n, m].
 *
 * Source: Vaswani et al., "Attention is all you need", 2017, sec. 3.2. */
#include "vector_internal.h"

#include "layer_internal.h"

/* k[0] of the node: heads. q [batch, n, heads d], k [batch, m, heads d], v [batch, m, heads e];
 * batch may be missing. */
typedef struct sizes {
  int32_t batch, heads, n, m, d, e; /* d, e: of one head */
  float scale;
} sizes;

/* One head's columns of q, k, v, of the output and its gradient, packed; s: scores. */
typedef struct pack {
  float *q, *k, *v, *o, *s, *dq, *dk, *dv;
  size_t size;
} pack;

static sizes sizes_of(const berth_i_node *node) {
  const berth_array *q = node->in[0], *k = node->in[1], *v = node->in[2];
  int32_t r = q->rank, heads = node->k[0];
  sizes z = {
    r == 3 ? q->shape[0] : 1, heads, q->shape[r - 2], k->shape[r - 2], berth_i_last(q) / heads, 0, 0
  };
  z.e = berth_i_last(v) / heads;
  z.scale = z.d > 0 ? (float)(1 / sqrt(z.d)) : 0;
  return z;
}

/* One block for all eight: it is freed by the pointer to the first. */
static berth_status pack_new(berth_ctx *ctx, const sizes *z, pack *p) {
  size_t nd = (size_t)z->n * (size_t)z->d, md = (size_t)z->m * (size_t)z->d,
         me = (size_t)z->m * (size_t)z->e;
  size_t ne = (size_t)z->n * (size_t)z->e;
  p->size = 2 * (nd + md + me) + ne + (size_t)z->n * (size_t)z->m;
  if (!(p->q = berth_i_alloc(ctx, p->size, sizeof *p->q))) return berth_i_nomem(ctx);
  p->dq = p->q + nd;
  p->k = p->dq + nd;
  p->dk = p->k + md;
  p->v = p->dk + md;
  p->dv = p->v + me;
  p->o = p->dv + me;
  p->s = p->o + ne;
  return BERTH_OK;
}

static void pack_free(berth_ctx *ctx, pack *p) { berth_i_free(ctx, p->q, p->size, sizeof *p->q); }

/* Columns of head h of matrix b of x [batch, n, heads * d]. */
static void take(const float *x, int32_t b, int32_t h, int32_t heads, int32_t n, int32_t d,
                 float *out) {
  int64_t width = (int64_t)heads * d;
  x += b * n * width + (int64_t)h * d;
  for (int64_t i = 0; i < n; i++) memcpy(out + i * d, x + i * width, (size_t)d * sizeof *out);
}

/* The reverse: writes the columns of head h. */
static void put(const float *in, int32_t b, int32_t h, int32_t heads, int32_t n, int32_t d,
                float *x) {
  int64_t width = (int64_t)heads * d;
  x += b * n * width + (int64_t)h * d;
  for (int64_t i = 0; i < n; i++) memcpy(x + i * width, in + i * d, (size_t)d * sizeof *in);
}

/* Adds to them: gradients sum up. */
static void put_more(const float *in, int32_t b, int32_t h, int32_t heads, int32_t n, int32_t d,
                     float *x) {
  int64_t width = (int64_t)heads * d;
  x += b * n * width + (int64_t)h * d;
  for (int64_t i = 0; i < n; i++) berth_i_add_to(x + i * width, in + i * d, d);
}

static void take_inputs(const berth_i_node *node, const sizes *z, int32_t b, int32_t h, pack *p) {
  take(node->in[0]->data, b, h, z->heads, z->n, z->d, p->q);
  take(node->in[1]->data, b, h, z->heads, z->m, z->d, p->k);
  take(node->in[2]->data, b, h, z->heads, z->m, z->e, p->v);
}

/* ---- forward ---- */

static berth_status forward(const berth_i_node *node, const berth_array *mask) {
  sizes z = sizes_of(node);
  int64_t nm = (int64_t)z.n * z.m;
  pack p;
  berth_status st = pack_new(node->out->ctx, &z, &p);
  if (st != BERTH_OK) return st;
  for (int32_t b = 0; b < z.batch; b++) {
    const float *seen = mask ? mask->data + (mask->rank == 3 ? b * nm : 0) : NULL;
    for (int32_t h = 0; h < z.heads; h++) {
      float *s = node->kept[0]->data + ((int64_t)b * z.heads + h) * nm;
      take_inputs(node, &z, b, h, &p);
      /* S = q k' / sqrt(d), P = softmax(S) of every row, in place */
      berth_i_gemm(0, 1, z.n, z.m, z.d, p.q, p.k, 0, s);
      for (int64_t i = 0; i < nm; i++) s[i] *= z.scale;
      for (int64_t at = 0; at < nm; at += z.m)
        berth_i_softmax_run(s + at, seen ? seen + at : NULL, z.m, s + at);
      /* out = P v */
      berth_i_gemm(0, 0, z.n, z.e, z.m, s, p.v, 0, p.o);
      put(p.o, b, h, z.heads, z.n, z.e, node->out->data);
    }
  }
  pack_free(node->out->ctx, &p);
  return BERTH_OK;
}

/* ---- backward ---- */

static berth_status attention_back(berth_tape *t, const berth_i_node *node, const float *d) {
  sizes z = sizes_of(node);
  int64_t nm = (int64_t)z.n * z.m;
  berth_status st = BERTH_OK;
  float *g[3]; /* gradients of q, k, v; NULL: not wanted */
  for (int i = 0; i < 3; i++) g[i] = berth_i_gradient_of(t, node->in[i], &st);
  pack p;
  if (st != BERTH_OK || (st = pack_new(node->out->ctx, &z, &p)) != BERTH_OK) return st;
  for (int32_t b = 0; b < z.batch; b++) {
    for (int32_t h = 0; h < z.heads; h++) {
      const float *s = node->kept[0]->data + ((int64_t)b * z.heads + h) * nm; /* P */
      take_inputs(node, &z, b, h, &p);
      take(d, b, h, z.heads, z.n, z.e, p.o); /* D */
      if (g[2]) { /* dv = P' D */
        berth_i_gemm(1, 0, z.m, z.e, z.n, s, p.o, 0, p.dv);
        put_more(p.dv, b, h, z.heads, z.m, z.e, g[2]);
      }
      if (!g[0] && !g[1]) continue;
      /* dP = D v', then dS = P (dP - rowsum(P dP)) / sqrt(d), in place */
      berth_i_gemm(0, 1, z.n, z.m, z.e, p.o, p.v, 0, p.s);
      for (int64_t at = 0; at < nm; at += z.m) {
        float sum = berth_i_dot(s + at, p.s + at, z.m);
        for (int64_t j = at; j < at + z.m; j++) p.s[j] = z.scale * s[j] * (p.s[j] - sum);
      }
      if (g[0]) { /* dq = dS k */
        berth_i_gemm(0, 0, z.n, z.d, z.m, p.s, p.k, 0, p.dq);
        put_more(p.dq, b, h, z.heads, z.n, z.d, g[0]);
      }
      if (g[1]) { /* dk = dS' q */
        berth_i_gemm(1, 0, z.m, z.d, z.n, p.s, p.q, 0, p.dk);
        put_more(p.dk, b, h, z.heads, z.m, z.d, g[1]);
      }
    }
  }
  pack_free(node->out->ctx, &p);
  return BERTH_OK;
}

/* ---- the operation ---- */

/* Rank 3 with equal batches, or rank 2 for all. */
static berth_status check_inputs(const berth_array *q, const berth_array *k, const berth_array *v) {
  int32_t r = q->rank;
  if (r != 2 && r != 3) return berth_i_shapes("attention, q and k", q, k);
  if (k->rank != r || k->shape[r - 1] != q->shape[r - 1]
      || (r == 3 && k->shape[0] != q->shape[0])) {
    return berth_i_shapes("attention, q and k", q, k);
  }
  if (v->rank != r || v->shape[r - 2] != k->shape[r - 2]
      || (r == 3 && v->shape[0] != q->shape[0])) {
    return berth_i_shapes("attention, k and v", k, v);
  }
  return BERTH_OK;
}

static berth_status check_heads(const berth_array *q, const berth_array *v, int32_t heads) {
  int32_t d = berth_i_last(q), e = berth_i_last(v);
  if (heads >= 1 && d % heads == 0 && e % heads == 0) return BERTH_OK;
  return berth_i_fail(q->ctx, BERTH_EINVAL, "attention: %d heads do not divide %d and %d columns",
                      heads, d, e);
}

/* The mask is [n, m] for all batches or [batch, n, m]; the same for all heads. */
static berth_status check_mask(const berth_array *q, const berth_array *k,
                               const berth_array *mask) {
  int32_t r = q->rank;
  if (!mask) return BERTH_OK;
  int32_t s = mask->rank;
  if ((s != 2 && s != r) || mask->shape[s - 2] != q->shape[r - 2]
      || mask->shape[s - 1] != k->shape[r - 2] || (s == 3 && mask->shape[0] != q->shape[0])) {
    return berth_i_shapes("attention, q and the mask", q, mask);
  }
  return BERTH_OK;
}

berth_status berth_nn_attention(berth_tape *t, berth_array *q, berth_array *k, berth_array *v,
                                int32_t heads, berth_array *mask, berth_array **out) {
  if (!q || !k || !v || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = attention_back, .in = { q, k, v }, .k = { heads } };
  int32_t r = q->rank, shape[BERTH_NN_RANK] = { 1, heads, 0, 0 };
  berth_status st;
  if ((st = check_inputs(q, k, v)) != BERTH_OK) return st;
  if ((st = check_heads(q, v, heads)) != BERTH_OK) return st;
  if ((st = check_mask(q, k, mask)) != BERTH_OK) return st;
  if (r == 3) shape[0] = q->shape[0];
  shape[2] = q->shape[r - 2];
  shape[3] = k->shape[r - 2];
  st = berth_i_array_raw(q->ctx, 4, shape, &node.kept[0]);
  memcpy(shape, q->shape, sizeof shape);
  shape[r - 1] = berth_i_last(v);
  if (st == BERTH_OK) st = berth_i_array_raw(q->ctx, r, shape, &node.out);
  if (st == BERTH_OK) st = forward(&node, mask);
  return berth_i_finish_op(t, &node, st, out);
}
