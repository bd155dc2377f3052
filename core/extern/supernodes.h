/* Cholesky factors in dense blocks, given their pattern: left-looking, column-major. Own kernels in
 * plain C instead of a BLAS: the same bits on every machine, in any number of threads. */
#ifndef BERTH_SUPERNODES_H
#define BERTH_SUPERNODES_H

#include "base/pool_internal.h"

/** Block s has columns first[s]..first[s + 1]-1, rows row[row_at[s]]..row[row_at[s + 1]-1]
 *  ascending, its columns first, and its values from value_at[s]. Borrowed. */
typedef struct berth_i_blocks_pattern {
  int32_t n, blocks;
  const int32_t *first, *row_at, *value_at; /* [blocks + 1] */
  const int32_t *row;
} berth_i_blocks_pattern;

typedef struct berth_i_blocks berth_i_blocks;

berth_status berth_i_blocks_new(berth_ctx *ctx, const berth_i_blocks_pattern *pattern,
                                berth_i_blocks **out);
void berth_i_blocks_release(berth_i_blocks *b); /* NULL is fine */
/** @param at [n + 1], row, value  lower triangle by columns, within the pattern
 *  @return false if it is not positive definite */
bool berth_i_blocks_factor(berth_i_blocks *b, const int32_t *at, const int32_t *row,
                           const double *value);
void berth_i_blocks_solve(const berth_i_blocks *b, double *x /* [n] */);

#endif
