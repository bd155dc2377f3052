/* GLPK, wrapped: its types and constants stay in glpk_shelf.c. The primal simplex method.
 *
 * GLPK keeps an environment per thread, aborts on errors inside it unless a hook jumps out, and after such a jump its environment
 * must be thrown away, with all problems of that thread. So each program is solved on a thread of its own, whose environment dies
 * with it: the caller's is neither used nor changed, and nothing is printed. It allocates by malloc, outside the context's
 * allocator. */
#ifndef BERTH_GLPK_SHELF_H
#define BERTH_GLPK_SHELF_H

#include "../base/base_internal.h"

/** Maximise the sum of cost x where 0 <= x <= most, and each row's sum is at most its bound, or equal to it. */
typedef struct berth_i_glpk_program {
  int32_t rows, columns;
  const double *bound;   /* [rows] */
  const uint8_t *equal;  /* [rows] 1: equal to the bound */
  const double *cost;    /* [columns] */
  const double *most;    /* [columns] INFINITY: none */
  const int32_t *at;     /* [columns + 1] */
  const int32_t *row;    /* [at[columns]] */
  const double *value;   /* [at[columns]] */
  int32_t megabytes;     /* that GLPK may use; 0: no limit */
} berth_i_glpk_program;

/**
 * x = 0 must be feasible.
 *
 * @param x     [columns] out
 * @param dual  [rows] out: increase of the optimum per unit of the bound
 * @return BERTH_OK; BERTH_ENOMEM; BERTH_EINTERRUPT; BERTH_EUNSUPPORTED (it gave up; no thread)
 */
berth_status berth_i_glpk_maximise(berth_ctx *ctx, const berth_i_glpk_program *p, double *x, double *dual, int32_t *iterations);

#endif
