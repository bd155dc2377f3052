/* Kernels: products, means, softsigns. A repetition writes what is there already.
 *
 * Products are not left to CBLAS: devices multiply at the same time, and the sequential build of
 * OpenBLAS, which one thread each would use, gives wrong products then (its buffers
 * have no lock). This one has the same bytes everywhere, too. */
#include "exec_internal.h"

enum { COLUMNS = 16, MOST_SIDE = 128, TILE = 16384 };

static bool listed(const char *kind, const char *const *names) {
  for (; *names; names++) {
    if (strcmp(kind, *names) == 0) return true;
  }
  return false;
}

static berth_i_kernel_kind kind_of(const char *kind, int32_t n_in) {
  static const char *const products[] = { "einsummable", "conv2d",    "gemm",
                                          "linear",      "attention", NULL };
  static const char *const means[] = { "formation", "reduce", "add", "sum", "allreduce", NULL };
  if (strstr(kind, "matmul") || listed(kind, products)) return BERTH_I_KERNEL_PRODUCT;
  return n_in >= 3 || listed(kind, means) ? BERTH_I_KERNEL_MEAN : BERTH_I_KERNEL_SOFTSIGN;
}

/* Whole columns of tiles. */
static int32_t side_of(double flop) {
  double side = cbrt(flop / 16); /* eight products or so, to come close to the time */
  if (!(side >= COLUMNS)) return COLUMNS;
  return side < MOST_SIDE ? (int32_t)side / COLUMNS * COLUMNS : MOST_SIDE;
}

berth_i_kernel berth_i_kernel_of(const berth_graph *g, int32_t op, double seconds, double flops) {
  berth_i_kernel k = { BERTH_I_KERNEL_SOFTSIGN, 0, 0 };
  const char *kind =
      g->op_kind && g->op_kind[op] != BERTH_NONE ? g->kinds.text[g->op_kind[op]] : "";
  k.kind = kind_of(kind, g->in_at[op + 1] - g->in_at[op]);
  if (k.kind == BERTH_I_KERNEL_PRODUCT) k.side = side_of(seconds * flops);
  return k;
}

size_t berth_i_kernel_scratch(const berth_i_kernel *k) {
  return 3 * (size_t)k->side * (size_t)k->side;
}

double berth_i_kernel_amount(const berth_i_kernel *k, int32_t n_in, double seconds,
                             const berth_exec_options *o) {
  double n = k->side;
  if (k->kind == BERTH_I_KERNEL_PRODUCT) return seconds * o->flops / (2 * n * n * n);
  return seconds * o->stream / (n_in > 1 ? n_in : 1);
}

/* ---- reading inputs ---- */

/* to[i] += in[(first + i) mod length] */
static void add_cyclic(float *to, int64_t first, int64_t n, const float *in, int64_t length) {
  int64_t from = first % length;
  for (int64_t i = 0; i < n; from = 0) {
    int64_t piece = length - from < n - i ? length - from : n - i;
    for (int64_t j = 0; j < piece; j++) to[i + j] += in[from + j];
    i += piece;
  }
}

static void soften(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = x[i] / (1 + fabsf(x[i]));
}

/* ---- products ---- */

/* Every second input goes into a, the others into b; a single one into b backwards. */
static void fill_matrices(const berth_i_operands *x, int64_t n, float *a, float *b) {
  int64_t size = n * n;
  memset(a, 0, (size_t)size * sizeof *a);
  memset(b, 0, (size_t)size * sizeof *b);
  for (int64_t i = 0; i < x->n_in; i++)
    add_cyclic(i % 2 ? b : a, 0, size, x->in[i], x->in_length[i]);
  soften(a, size);
  if (x->n_in < 2) {
    for (int64_t i = 0; i < size; i++) b[i] = a[size - 1 - i];
  } else {
    soften(b, size);
  }
  for (int64_t i = 0; i < size; i++) a[i] /= (float)n;
}

/* Of two rows of a, n numbers each, with COLUMNS columns of b: the trip count lets compilers keep
 * the tile in vector registers. */
static void multiply_rows(int32_t n, const float *restrict a, const float *restrict b,
                          float *restrict c) {
  float upper[COLUMNS] = { 0 }, lower[COLUMNS] = { 0 };
  for (int32_t l = 0; l < n; l++) {
    float p = a[l], q = a[n + l];
    for (int32_t j = 0; j < COLUMNS; j++) upper[j] += p * b[j];
    for (int32_t j = 0; j < COLUMNS; j++) lower[j] += q * b[j];
    b += n;
  }
  memcpy(c, upper, sizeof upper);
  memcpy(c + n, lower, sizeof lower);
}

/* c = a b, all n x n; n a multiple of COLUMNS. */
static void multiply(int32_t n, const float *a, const float *b, float *c) {
  for (int32_t j = 0; j < n; j += COLUMNS) {
    for (int32_t i = 0; i < n; i += 2) multiply_rows(n, a + i * n, b + j, c + i * n + j);
  }
}

static void run_product(const berth_i_kernel *k, const berth_i_operands *x, double amount,
                        atomic_int *stop) {
  int64_t size = (int64_t)k->side * k->side;
  float *a = x->scratch, *b = a + size, *c = b + size;
  double done = 0;
  fill_matrices(x, k->side, a, b);
  do {
    multiply(k->side, a, b, c);
  } while (++done + 0.5 <= amount && !atomic_load_explicit(stop, memory_order_relaxed));
  memset(x->out[0], 0, (size_t)x->out_length[0] * sizeof **x->out);
  add_cyclic(x->out[0], 0, x->out_length[0], c, size);
}

/* ---- the others ---- */

static void run_tile(const berth_i_kernel *k, const berth_i_operands *x, int64_t first, int64_t n) {
  float *out = x->out[0] + first, share = 1.0f / (float)x->n_in;
  memset(out, 0, (size_t)n * sizeof *out);
  for (int32_t i = 0; i < x->n_in; i++) add_cyclic(out, first, n, x->in[i], x->in_length[i]);
  for (int64_t i = 0; i < n; i++) out[i] *= share;
  if (k->kind == BERTH_I_KERNEL_SOFTSIGN) soften(out, n);
}

/* Goes round its output until it has written as many elements. */
static void run_elements(const berth_i_kernel *k, const berth_i_operands *x, double amount,
                         atomic_int *stop) {
  int64_t length = x->out_length[0], at = 0;
  double left = amount > (double)length ? amount : (double)length;
  bool whole = false;
  while (left >= 1 && !(whole && atomic_load_explicit(stop, memory_order_relaxed))) {
    int64_t n = length - at < TILE ? length - at : TILE;
    if ((double)n > left) n = (int64_t)left;
    run_tile(k, x, at, n);
    left -= (double)n;
    at += n;
    whole = whole || at == length;
    if (at == length) at = 0;
  }
}

void berth_i_kernel_run(const berth_i_kernel *k, const berth_i_operands *x, double amount,
                        atomic_int *stop) {
  if (k->kind == BERTH_I_KERNEL_PRODUCT) {
    run_product(k, x, amount, stop);
  } else {
    run_elements(k, x, amount, stop);
  }
  for (int32_t i = 1; i < x->n_out; i++) {
    memset(x->out[i], 0, (size_t)x->out_length[i] * sizeof **x->out);
    add_cyclic(x->out[i], i, x->out_length[i], x->out[0], x->out_length[0]);
  }
}
