/* GLPK, wrapped: its types and constants stay in glpk.c. The primal simplex method; branch and
 * bound.
 *
 * GLPK keeps an environment per thread, aborts on errors inside it unless a hook jumps out, and
 * after such a jump its environment must be thrown away, with all problems of that thread. So each
 * program is solved on a thread of its own, whose environment dies with it: the caller's is neither
 * used nor changed, and nothing is printed. It allocates by malloc, outside the context's
 * allocator. */
#ifndef BERTH_GLPK_INTERNAL_H
#define BERTH_GLPK_INTERNAL_H

#include "base/base_internal.h"

/** Maximise the sum of cost x where 0 <= x <= most, and each row's sum is at most its bound, or
 * equal to it. */
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
berth_status berth_i_glpk_maximise(berth_ctx *ctx, const berth_i_glpk_program *p, double *x,
                                   double *dual, int32_t *iterations);

typedef enum berth_i_glpk_row { BERTH_I_AT_MOST, BERTH_I_EQUAL, BERTH_I_AT_LEAST } berth_i_glpk_row;

/** A linear program, some of whose columns may have to be whole. */
typedef struct berth_i_glpk_mip {
  bool minimise;
  int32_t rows, columns;
  const uint8_t *sense;   /* [rows] berth_i_glpk_row */
  const double *bound;    /* [rows] */
  const double *cost;     /* [columns] */
  const double *least;    /* [columns] -INFINITY: none; NULL: 0 for all */
  const double *most;     /* [columns] INFINITY: none; NULL: none for all */
  const uint8_t *whole;   /* [columns] 1: only whole numbers; NULL: a linear program */
  const int32_t *at;      /* [columns + 1] */
  const int32_t *row;     /* [at[columns]] each row once in a column */
  const double *value;    /* [at[columns]] */
  int32_t nodes;          /* of branch and bound; 0: no limit */
  int32_t megabytes;      /* that GLPK may use; 0: no limit */
  bool presolve;          /* GLPK's presolver first; linear programs without `dual` only */
} berth_i_glpk_mip;

typedef struct berth_i_glpk_answer {
  bool feasible;          /* x is set */
  bool proved;            /* x is the best, or none is feasible: within 1e-7 of the value */
  double value;           /* of x; NAN */
  double bound;           /* nothing feasible is better; that of the linear program at least.
                             +-INFINITY: nothing is feasible */
  int32_t nodes, iterations;
  double *x;              /* [columns] out; whole columns are whole */
  double *dual;           /* [rows] out, NULL: not wanted. Increase of the optimum per unit of the
                             bound; linear programs only */
} berth_i_glpk_answer;

/**
 * @param a  x, dual: room of the caller
 * @return BERTH_OK, also if nothing is feasible or no answer was found within `nodes`; BERTH_EINVAL
 *         (no bound to the optimum); BERTH_ENOMEM; BERTH_EINTERRUPT; BERTH_EUNSUPPORTED (it gave
 *         up; no thread)
 */
berth_status berth_i_glpk_solve(berth_ctx *ctx, const berth_i_glpk_mip *p, berth_i_glpk_answer *a);

#endif
