/* CHOLMOD, wrapped: sparse Cholesky of symmetric matrices with one pattern and changing values.
 * Analysed once (fill-reducing order, elimination tree); each factorisation then reuses the
 * pattern. With large supernodes the factor is computed in dense blocks by supernodes.c, else by
 * CHOLMOD's column code. */
#include "cholmod_internal.h"
#include "supernodes.h"
#include <suitesparse/cholmod.h>

/* The matrix is kept in the order of elimination: CHOLMOD would permute it anew for every
 * factorisation. The upper triangle for CHOLMOD's column code, the lower one for dense blocks. */
struct berth_i_cholesky {
  berth_i_pool pool;
  berth_ctx *ctx;
  cholmod_common common;
  cholmod_factor *factor;
  cholmod_dense *x, *y, *e; /* solution and work space, kept from call to call */
  int32_t n, entries;
  int32_t *order;           /* [n] old number of each new one */
  berth_i_blocks *blocks;   /* NULL: column code */
  int32_t *at, *row;        /* [n + 1], [entries] triangle by columns, permuted */
  int32_t *place;           /* [entries] new place of each old entry */
  double *value, *rhs;      /* [entries], [n] permuted */
  berth_i_cholesky_cost cost;
};

/* CHOLMOD does not check its input. */
static bool is_pattern(int32_t n, const int32_t *at, const int32_t *row) {
  if (n < 1 || at[0] != 0) return false;
  for (int32_t j = 0; j < n; j++) {
    bool diagonal = false;
    if (at[j + 1] < at[j]) return false;
    for (int32_t i = at[j]; i < at[j + 1]; i++) {
      if (row[i] < 0 || row[i] > j) return false;
      diagonal |= row[i] == j;
    }
    if (!diagonal) return false;
  }
  return true;
}

/* After a call of CHOLMOD. A matrix that is not definite is no failure. */
static berth_status outcome(berth_i_cholesky *k) {
  int status = k->common.status;
  k->common.status = CHOLMOD_OK;
  if (status >= CHOLMOD_OK) return BERTH_OK;
  if (status == CHOLMOD_OUT_OF_MEMORY) return berth_i_nomem(k->ctx);
  if (status == CHOLMOD_TOO_LARGE)
    return berth_i_fail(k->ctx, BERTH_EUNSUPPORTED, "Cholesky factorisation: too large a factor");
  return berth_i_fail(k->ctx, BERTH_EINVAL, "Cholesky factorisation: CHOLMOD refused with code %d",
                      status);
}

/* ---- order ---- */

/* Flops per entry of the factor from which dense blocks beat column code: measured. */
#define DENSE 40

static void set_options(cholmod_common *c) {
  c->print = 0;
  c->nmethods = 1;
  c->supernodal_switch = DENSE;
  c->quick_return_if_not_posdef = 1;
  c->final_ll = 1; /* without square roots a matrix that is not definite would pass */
}

/* CHOLMOD does not write into what it gets as a matrix. */
static cholmod_sparse as_matrix(int32_t n, const int32_t *at, const int32_t *row, double *value) {
  cholmod_sparse a = {
    .nrow = (size_t)n, .ncol = (size_t)n, .nzmax = (size_t)at[n], .stype = 1, .packed = 1
  };
  a.p = (void *)at;
  a.i = (void *)row;
  a.x = value;
  a.itype = CHOLMOD_INT;
  a.xtype = value ? CHOLMOD_REAL : CHOLMOD_PATTERN;
  a.dtype = CHOLMOD_DOUBLE;
  return a;
}

static berth_status analyse(berth_i_cholesky *k, const int32_t *at, const int32_t *row,
                            int ordering) {
  cholmod_sparse a = as_matrix(k->n, at, row, NULL);
  k->common.method[0].ordering = ordering;
  k->common.postorder = ordering != CHOLMOD_NATURAL;
  cholmod_free_factor(&k->factor, &k->common);
  k->factor = cholmod_analyze(&a, &k->common);
  berth_status st = outcome(k);
  return st == BERTH_OK && !k->factor ? berth_i_nomem(k->ctx) : st;
}

/* Column of an entry that joins a and b. */
static int32_t column_of(const berth_i_cholesky *k, int32_t a, int32_t b) {
  return (a > b) == !k->factor->is_super ? a : b;
}

/* @param rank, next [n] scratch */
static void permute(berth_i_cholesky *k, const int32_t *at, const int32_t *row, int32_t *rank,
                    int32_t *next) {
  for (int32_t j = 0; j < k->n; j++) rank[k->order[j]] = j;
  for (int32_t j = 0; j < k->n; j++)
    for (int32_t i = at[j]; i < at[j + 1]; i++) k->at[column_of(k, rank[j], rank[row[i]]) + 1]++;
  for (int32_t j = 0; j < k->n; j++) {
    k->at[j + 1] += k->at[j];
    next[j] = k->at[j];
  }
  for (int32_t j = 0; j < k->n; j++)
    for (int32_t i = at[j]; i < at[j + 1]; i++) {
      int32_t a = rank[j], b = rank[row[i]], column = column_of(k, a, b),
              new_place = next[column]++;
      k->place[i] = new_place;
      k->row[new_place] = a + b - column;
    }
}

static berth_status reorder(berth_i_cholesky *k, const int32_t *at, const int32_t *row) {
  berth_i_pool scratch = berth_i_pool_empty(k->ctx);
  size_t n = (size_t)k->n;
  int32_t *rank = berth_i_pool_alloc(&scratch, n, sizeof *rank),
          *next = berth_i_pool_alloc(&scratch, n, sizeof *next);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    memcpy(k->order, k->factor->Perm, n * sizeof *k->order);
    permute(k, at, row, rank, next);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* Column code requires its pattern in its own order. */
static berth_status use_natural_order(berth_i_cholesky *k) {
  return k->factor->is_super ? BERTH_OK : analyse(k, k->at, k->row, CHOLMOD_NATURAL);
}

/* ---- life ---- */

static berth_status make_room(berth_i_cholesky *k) {
  size_t n = (size_t)k->n, entries = (size_t)k->entries;
  k->order = berth_i_pool_alloc(&k->pool, n, sizeof *k->order);
  k->at = berth_i_pool_zalloc(&k->pool, n + 1, sizeof *k->at);
  k->row = berth_i_pool_alloc(&k->pool, entries, sizeof *k->row);
  k->place = berth_i_pool_alloc(&k->pool, entries, sizeof *k->place);
  k->value = berth_i_pool_alloc(&k->pool, entries, sizeof *k->value);
  k->rhs = berth_i_pool_alloc(&k->pool, n, sizeof *k->rhs);
  return berth_i_pool_status(&k->pool);
}

berth_status berth_i_cholesky_new(berth_ctx *ctx, int32_t n, const int32_t *at, const int32_t *row,
                                  berth_i_cholesky **out) {
  if (!is_pattern(n, at, row)) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "Cholesky factorisation: not the pattern of an upper triangle");
  }
  berth_i_cholesky *k;
  if (!(k = berth_i_pool_object(ctx, sizeof *k))) return berth_i_nomem(ctx);
  k->ctx = ctx;
  k->n = n;
  k->entries = at[n];
  cholmod_start(&k->common);
  set_options(&k->common);
  berth_status st;
  if ((st = make_room(k)) != BERTH_OK || (st = analyse(k, at, row, CHOLMOD_AMD)) != BERTH_OK
      || (st = reorder(k, at, row)) != BERTH_OK || (st = use_natural_order(k)) != BERTH_OK) {
    berth_i_cholesky_release(k);
    return st;
  }
  k->cost.flops = k->common.fl;
  k->cost.bytes = k->factor->is_super ? (double)k->factor->xsize * sizeof(double)
                                      : k->common.lnz * (sizeof(double) + sizeof(int));
  *out = k;
  return BERTH_OK;
}

void berth_i_cholesky_release(berth_i_cholesky *k) {
  if (!k) return;
  berth_i_blocks_release(k->blocks);
  cholmod_free_factor(&k->factor, &k->common);
  cholmod_free_dense(&k->x, &k->common);
  cholmod_free_dense(&k->y, &k->common);
  cholmod_free_dense(&k->e, &k->common);
  cholmod_finish(&k->common);
  berth_i_pool_free(&k->pool);
}

berth_i_cholesky_cost berth_i_cholesky_price(const berth_i_cholesky *k) { return k->cost; }

/* ---- use ---- */

static berth_status factor_blocks(berth_i_cholesky *k, bool *definite) {
  const cholmod_factor *l = k->factor;
  berth_i_blocks_pattern p = { k->n, (int32_t)l->nsuper, l->super, l->pi, l->px, l->s };
  berth_status st = k->blocks ? BERTH_OK : berth_i_blocks_new(k->ctx, &p, &k->blocks);
  if (st == BERTH_OK) *definite = berth_i_blocks_factor(k->blocks, k->at, k->row, k->value);
  return st;
}

static berth_status factor_columns(berth_i_cholesky *k, bool *definite) {
  cholmod_sparse a = as_matrix(k->n, k->at, k->row, k->value);
  cholmod_factorize(&a, k->factor, &k->common);
  berth_status st = outcome(k);
  if (st == BERTH_OK) *definite = k->factor->minor == k->factor->n;
  return st;
}

berth_status berth_i_cholesky_factor(berth_i_cholesky *k, const double *value, bool *definite) {
  for (int32_t i = 0; i < k->entries; i++) k->value[k->place[i]] = value[i];
  return k->factor->is_super ? factor_blocks(k, definite) : factor_columns(k, definite);
}

/* In place. */
static berth_status solve_columns(berth_i_cholesky *k) {
  size_t n = (size_t)k->n;
  cholmod_dense b = { .nrow = n,
                      .ncol = 1,
                      .nzmax = n,
                      .d = n,
                      .x = k->rhs,
                      .xtype = CHOLMOD_REAL,
                      .dtype = CHOLMOD_DOUBLE };
  cholmod_solve2(CHOLMOD_A, k->factor, &b, NULL, &k->x, NULL, &k->y, &k->e, &k->common);
  berth_status st;
  if ((st = outcome(k)) == BERTH_OK) memcpy(k->rhs, k->x->x, n * sizeof *k->rhs);
  return st;
}

berth_status berth_i_cholesky_solve(berth_i_cholesky *k, double *x) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k->n; i++) k->rhs[i] = x[k->order[i]];
  if (k->blocks) berth_i_blocks_solve(k->blocks, k->rhs);
  else if ((st = solve_columns(k)) != BERTH_OK) return st;
  for (int32_t i = 0; i < k->n; i++) x[k->order[i]] = k->rhs[i];
  return BERTH_OK;
}
