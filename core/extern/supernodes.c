/* Cholesky factors in dense blocks: a supernodal, left-looking factorisation of a symmetric
 * positive definite matrix with a known pattern.
 *
 * A block is a run of columns with one pattern below the diagonal, stored dense, column-major.
 * Invariant: when block s is factored, every earlier block with rows among its columns has
 * subtracted its product; which ones those are is kept in linked lists, each block being in the
 * list of the block that holds its next rows. Within a block: panels of 16 columns. Flops: those of
 * the factor. Numbers do not depend on a BLAS, so they are the same everywhere. */
#include "supernodes.h"

enum { PANEL = 16 };

struct berth_i_blocks {
  berth_i_pool pool;
  berth_i_blocks_pattern p;
  double *value;
  double *update;        /* what a block takes from one before */
  int32_t *of;           /* [n] block of a column */
  int32_t *local;        /* [n] row within the present block */
  int32_t *head, *next;  /* [blocks] lists: blocks whose next rows are columns of this one */
  int32_t *done;         /* [blocks] rows used up */
};

static int32_t width(const berth_i_blocks *b, int32_t s) {
  return b->p.first[s + 1] - b->p.first[s];
}
static int32_t height(const berth_i_blocks *b, int32_t s) {
  return b->p.row_at[s + 1] - b->p.row_at[s];
}

/* ---- life ---- */

/* Largest product of a block's rows with those of them that lie in one other block; panels need
 * room too. */
static size_t update_room(const berth_i_blocks *b) {
  size_t most = 1;
  int32_t i;
  for (int32_t s = 0; s < b->p.blocks; s++) {
    const int32_t *row = b->p.row + b->p.row_at[s];
    int32_t rows = height(b, s);
    size_t need = (size_t)rows * PANEL;
    if (need > most) most = need;
    for (int32_t k = width(b, s); k < rows; k = i) {
      for (i = k; i < rows && b->of[row[i]] == b->of[row[k]]; i++) continue;
      need = (size_t)(rows - k) * (size_t)(i - k);
      if (need > most) most = need;
    }
  }
  return most;
}

static berth_status make_room(berth_i_blocks *b) {
  size_t n = (size_t)b->p.n, blocks = (size_t)b->p.blocks;
  b->of = berth_i_pool_alloc(&b->pool, n, sizeof *b->of);
  b->local = berth_i_pool_alloc(&b->pool, n, sizeof *b->local);
  b->head = berth_i_pool_alloc(&b->pool, blocks, sizeof *b->head);
  b->next = berth_i_pool_alloc(&b->pool, blocks, sizeof *b->next);
  b->done = berth_i_pool_alloc(&b->pool, blocks, sizeof *b->done);
  berth_status st;
  if ((st = berth_i_pool_status(&b->pool)) != BERTH_OK) return st;
  for (int32_t s = 0; s < b->p.blocks; s++)
    for (int32_t j = b->p.first[s]; j < b->p.first[s + 1]; j++) b->of[j] = s;
  b->value = berth_i_pool_alloc(&b->pool, (size_t)b->p.value_at[blocks], sizeof *b->value);
  b->update = berth_i_pool_alloc(&b->pool, update_room(b), sizeof *b->update);
  return berth_i_pool_status(&b->pool);
}

berth_status berth_i_blocks_new(berth_ctx *ctx, const berth_i_blocks_pattern *pattern,
                                berth_i_blocks **out) {
  berth_i_blocks *b = berth_i_pool_object(ctx, sizeof *b);
  if (!b) return berth_i_nomem(ctx);
  b->p = *pattern;
  berth_status st;
  if ((st = make_room(b)) == BERTH_OK) *out = b;
  else berth_i_blocks_release(b);
  return st;
}

void berth_i_blocks_release(berth_i_blocks *b) {
  if (b) berth_i_pool_free(&b->pool);
}

/* ---- products ---- */

/* c (4 x 2, column-major, columns m apart) = a (4 x k) b' (k x 2), columns of a and b ld apart. A
 * shape that compilers keep in registers. */
static void tile(const double *a, const double *b, size_t ld, int32_t k, double *c, size_t m) {
  double c00 = 0, c10 = 0, c20 = 0, c30 = 0, c01 = 0, c11 = 0, c21 = 0, c31 = 0;
  for (; k > 0; k--, a += ld, b += ld) {
    double b0 = b[0], b1 = b[1];
    c00 += a[0] * b0;
    c10 += a[1] * b0;
    c20 += a[2] * b0;
    c30 += a[3] * b0;
    c01 += a[0] * b1;
    c11 += a[1] * b1;
    c21 += a[2] * b1;
    c31 += a[3] * b1;
  }
  c[0] = c00;
  c[1] = c10;
  c[2] = c20;
  c[3] = c30;
  c[m] = c01;
  c[m + 1] = c11;
  c[m + 2] = c21;
  c[m + 3] = c31;
}

static double dot(const double *a, const double *b, size_t ld, int32_t k) {
  double sum = 0;
  for (; k > 0; k--, a += ld, b += ld) sum += *a * *b;
  return sum;
}

/* c (m x n, m >= n) = a (m x k) times the transpose of its first n rows; above the diagonal only
 * what tiles bring along. */
static void multiply(const double *a, size_t ld, int32_t m, int32_t n, int32_t k, double *c) {
  int32_t i, j;
  for (j = 0; j + 2 <= n; j += 2) {
    for (i = j; i + 4 <= m; i += 4)
      tile(a + i, a + j, ld, k, c + (size_t)j * (size_t)m + i, (size_t)m);
    for (; i < m; i++) {
      c[(size_t)j * (size_t)m + (size_t)i] = dot(a + i, a + j, ld, k);
      c[(size_t)(j + 1) * (size_t)m + (size_t)i] = dot(a + i, a + j + 1, ld, k);
    }
  }
  for (; j < n; j++)
    for (i = j; i < m; i++) c[(size_t)j * (size_t)m + (size_t)i] = dot(a + i, a + j, ld, k);
}

/* ---- one block ---- */

/* x has `rows` rows; columns from..until-1 are final but for one another. */
static bool finish_panel(double *x, size_t rows, int32_t from, int32_t until) {
  for (int32_t j = from; j < until; j++) {
    double *column = x + (size_t)j * rows;
    for (int32_t l = from; l < j; l++) {
      const double *left = x + (size_t)l * rows;
      double factor = left[j];
      for (size_t i = (size_t)j; i < rows; i++) column[i] -= left[i] * factor;
    }
    if (!(column[j] > 0)) return false;
    double pivot = sqrt(column[j]);
    column[j] = pivot;
    for (size_t i = (size_t)j + 1; i < rows; i++) column[i] /= pivot;
  }
  return true;
}

static bool factor_block(berth_i_blocks *b, int32_t s) {
  double *x = b->value + b->p.value_at[s];
  int32_t rows = height(b, s), columns = width(b, s), until;
  for (int32_t from = 0; from < columns; from = until) {
    int32_t m = rows - from;
    until = from + PANEL < columns ? from + PANEL : columns;
    int32_t n = until - from;
    if (from > 0) multiply(x + from, (size_t)rows, m, n, from, b->update);
    for (int32_t j = 0; from > 0 && j < n; j++) {
      double *column = x + (size_t)(from + j) * (size_t)rows + from;
      const double *u = b->update + (size_t)j * (size_t)m;
      for (int32_t i = j; i < m; i++) column[i] -= u[i];
    }
    if (!finish_panel(x, (size_t)rows, from, until)) return false;
  }
  return true;
}

static void load(berth_i_blocks *b, int32_t s, const int32_t *at, const int32_t *row,
                 const double *value) {
  const int32_t *rows = b->p.row + b->p.row_at[s];
  int32_t n = height(b, s);
  double *x = b->value + b->p.value_at[s];
  memset(x, 0, (size_t)n * (size_t)width(b, s) * sizeof *x);
  for (int32_t i = 0; i < n; i++) b->local[rows[i]] = i;
  for (int32_t j = b->p.first[s]; j < b->p.first[s + 1]; j++, x += n)
    for (int32_t i = at[j]; i < at[j + 1]; i++) x[b->local[row[i]]] = value[i];
}

static void hand_on(berth_i_blocks *b, int32_t d) {
  if (b->done[d] >= height(b, d)) return;
  int32_t heir = b->of[b->p.row[b->p.row_at[d] + b->done[d]]];
  b->next[d] = b->head[heir];
  b->head[heir] = d;
}

/* Subtracts from block s what block d has for it. */
static void take(berth_i_blocks *b, int32_t s, int32_t d) {
  const int32_t *row = b->p.row + b->p.row_at[d] + b->done[d];
  int32_t rows = height(b, d), m = rows - b->done[d], n = 0;
  double *x = b->value + b->p.value_at[s];
  while (n < m && row[n] < b->p.first[s + 1]) n++;
  multiply(b->value + b->p.value_at[d] + b->done[d], (size_t)rows, m, n, width(b, d), b->update);
  for (int32_t j = 0; j < n; j++) {
    double *column = x + (size_t)(row[j] - b->p.first[s]) * (size_t)height(b, s);
    const double *u = b->update + (size_t)j * (size_t)m;
    for (int32_t i = j; i < m; i++) column[b->local[row[i]]] -= u[i];
  }
  b->done[d] += n;
}

bool berth_i_blocks_factor(berth_i_blocks *b, const int32_t *at, const int32_t *row,
                           const double *value) {
  for (int32_t s = 0; s < b->p.blocks; s++) b->head[s] = BERTH_NONE;
  int32_t after;
  for (int32_t s = 0; s < b->p.blocks; s++) {
    load(b, s, at, row, value);
    for (int32_t d = b->head[s]; d != BERTH_NONE; d = after) {
      after = b->next[d];
      take(b, s, d);
      hand_on(b, d);
    }
    if (!factor_block(b, s)) return false;
    b->done[s] = width(b, s);
    hand_on(b, s);
  }
  return true;
}

/* ---- solution ---- */

void berth_i_blocks_solve(const berth_i_blocks *b, double *x) {
  for (int32_t s = 0; s < b->p.blocks; s++) {
    const int32_t *row = b->p.row + b->p.row_at[s];
    const double *l = b->value + b->p.value_at[s];
    int32_t rows = height(b, s);
    for (int32_t j = 0; j < width(b, s); j++, l += rows) {
      double y = x[row[j]] /= l[j];
      for (int32_t i = j + 1; i < rows; i++) x[row[i]] -= l[i] * y;
    }
  }
  for (int32_t s = b->p.blocks - 1; s >= 0; s--) {
    const int32_t *row = b->p.row + b->p.row_at[s];
    int32_t rows = height(b, s);
    for (int32_t j = width(b, s) - 1; j >= 0; j--) {
      const double *l = b->value + b->p.value_at[s] + (size_t)j * (size_t)rows;
      double sum = x[row[j]];
      for (int32_t i = j + 1; i < rows; i++) sum -= l[i] * x[row[i]];
      x[row[j]] = sum / l[j];
    }
  }
}
