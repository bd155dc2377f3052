/* CHOLMOD, wrapped: its types and constants stay in cholmod.c. Cholesky factors of sparse symmetric
 * positive definite matrices that share one pattern.
 *
 * CHOLMOD 3 keeps its state in an object of the caller's: contexts in several threads share
 * nothing.
 * It prints nothing here. It allocates by malloc, outside the context's allocator: its hooks for
 * that (SuiteSparse_config) belong to the whole process and are left alone. Its orderings, analyses
 * and column code are used, never its code on top of the BLAS: a BLAS picks its kernels, and with
 * them the last bits, by processor; and a serial OpenBLAS, as distributed, gives wrong numbers when
 * two threads are in it. Dense factors are computed by supernodes.c. */
#ifndef BERTH_CHOLMOD_INTERNAL_H
#define BERTH_CHOLMOD_INTERNAL_H

#include "base/base_internal.h"

typedef struct berth_i_cholesky berth_i_cholesky;

typedef struct berth_i_cholesky_cost {
  double flops; /* of one factorisation */
  double bytes; /* of the factor */
} berth_i_cholesky_cost;

/**
 * Orders (approximate minimum degree) and analyses; no values yet.
 *
 * @param n     order of the matrix, at least 1
 * @param at [n + 1] offsets of columns; row [at[n]]: upper triangle with the whole diagonal, 0 <=
 *              row <= column, in any order, no duplicates
 * @return BERTH_OK, BERTH_ENOMEM, BERTH_EINVAL (not such a pattern), BERTH_EUNSUPPORTED (beyond
 *         CHOLMOD's integers)
 */
berth_status berth_i_cholesky_new(berth_ctx *ctx, int32_t n, const int32_t *at, const int32_t *row,
                                  berth_i_cholesky **out);
void berth_i_cholesky_release(berth_i_cholesky *k); /* NULL is fine */
berth_i_cholesky_cost berth_i_cholesky_price(const berth_i_cholesky *k);

/** @param value     [at[n]] in the order of the pattern
 *  @param definite out: whether the matrix is positive definite as far as arithmetic sees; if not,
 *         there is no factor */
berth_status berth_i_cholesky_factor(berth_i_cholesky *k, const double *value, bool *definite);

/** Solves with the present factor.  @param x [n] right-hand side, replaced by the solution */
berth_status berth_i_cholesky_solve(berth_i_cholesky *k, double *x);

#endif
