/* Layout of a solved linear program of favourite children. */
#ifndef BERTH_LP_SOLUTION_INTERNAL_H
#define BERTH_LP_SOLUTION_INTERNAL_H

#include "pairs_internal.h"

struct berth_lp {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, n, m;
  int32_t *src, *dst;
  double *c, *y, *flow;
  double *through; /* [m] longest path through the pair with full c */
  berth_lp_summary summary;
};

/** @param before, after levels with full c  @param through [pairs] out */
void berth_i_lp_through(const berth_i_lp_pairs *a, const double *before, const double *after,
                        double *through);

#endif
