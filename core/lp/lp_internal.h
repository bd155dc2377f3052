/* The favourite-child LP: the reduced problem, and the two solvers that share it.
 * lp.c: options, choice of method, answers. pairs.c: pairs from a cost. reduce.c: reductions,
 * the way back.
 * entropic.c, interior.c: solvers. check.c: certified upper and lower bound of any point. round.c:
 * matchings. */
#ifndef BERTH_LP_INTERNAL_H
#define BERTH_LP_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include <berth/lp.h>

/** Nodes are numbered in topological order. Edges are distinct pairs, sorted by (head, tail):
 *  in-edges of j are in_at[j] and on; out lists the edges of each tail, sorted. */
typedef struct berth_i_lp_problem {
  berth_ctx *ctx;
  int32_t n, m;
  double *p;                /* [n] s */
  int32_t *tail, *head;     /* [m] tail < head */
  double *c;                /* [m] s, > 0 or free edges with 0 */
  int32_t *in_at;           /* [n + 1] */
  int32_t *out_at, *out;    /* [n + 1], [m] edge ids */
  double floor;             /* longest path without any c, in the whole problem: nothing is below
                               it */
} berth_i_lp_problem;

/** A point of both sides, and what is certified by it. */
typedef struct berth_i_lp_point {
  berth_i_pool pool;
  double *y;                /* [m] feasible: sums over out-edges and over in-edges at most 1. The
                               best found */
  double *flow;             /* [m] unit flow from sources to sinks, that of the best lower bound */
  double *u, *v;            /* [n] potentials of out-sides and in-sides: u_i + v_j >= c f on every
                               edge, >= 0 */
  double upper, lower;
  int32_t iterations;       /* of the solver that ran last */
} berth_i_lp_point;

/** y = flow = u = v = 0, upper INFINITY, lower the floor. Its pool is to be freed also after a
 * failure. */
berth_status berth_i_lp_point_init(berth_ctx *ctx, const berth_i_lp_problem *q,
                                   berth_i_lp_point *pt);
/** (upper - lower) / lower; 0 if both are 0. */
static inline double berth_i_lp_gap(const berth_i_lp_point *pt) {
  if (pt->lower > 0) return (pt->upper - pt->lower) / pt->lower;
  return pt->upper > 0 ? INFINITY : 0;
}

/** Upper bound of any y >= 0: scales columns, then rows, to feasible sums, adds greedily where
 *  there is room, and takes the longest path. Keeps it in pt if it is lower. @param y [m] is
 *  changed to the feasible one
 *  @return the bound, kept or not.  O(m) */
double berth_i_lp_upper(const berth_i_lp_problem *q, double *y, double *scratch /* [2n] */,
                        berth_i_lp_point *pt);
/** Lower bound of the unit flow that `weight` and `ends` describe, both >= 0 and of any scale: it
 *  ends in nodes in proportion to `ends` [n] (NULL or all 0: evenly in the nodes without out-edges)
 *  and is swept backwards from there; what a node has is shared among its in-edges in proportion to
 *  their `weight` [m] (all 0: it starts there). So it is conserved whatever is given: a solver
 *  passes its flow on edges and on arcs to the sink as they are. Potentials are repaired from `v`
 *  [n] (>= 0; NULL: 0) by alternating passes. Keeps flow, u and v in pt if the bound is higher than
 *  pt->lower.
 *  @param scratch [m + 3n]  @return the bound, kept or not.  O(m) */
double berth_i_lp_lower(const berth_i_lp_problem *q, const double *weight, const double *ends,
                        const double *v, double *scratch, berth_i_lp_point *pt);

/** Both improve pt until its gap is at most `gap` or `iterations` (0: own limit) are done.
 *  @return BERTH_OK also if the gap was not reached */
berth_status berth_i_lp_entropic(const berth_i_lp_problem *q, double gap, int32_t iterations,
                                 berth_i_lp_point *pt);
/** @param warm pt holds an entropic point to start from
 *  BERTH_EUNSUPPORTED: the factor would be too large */
berth_status berth_i_lp_interior(const berth_i_lp_problem *q, double gap, int32_t iterations,
                                 bool warm, berth_i_lp_point *pt);
/** Floating-point operations of one factorisation; after a symbolic analysis only. */
berth_status berth_i_lp_interior_cost(const berth_i_lp_problem *q, double *flops);

/** A matching by through-length: edges by the longest path through them with full c (mean times),
 * longest first.
 *  @param child [ops of cost]  @return as berth_lp_solve.  O(m log m) */
berth_status berth_i_favourites_through(berth_cost *cost, int32_t *child);

#endif
