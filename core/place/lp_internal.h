/* The favourite-child LP: the reduced problem, and the two solvers that share it.
 * lp.c: front door, choice of method, answers. lp_reduce.c: problem from a cost, reductions, the way back. lp_entropic.c,
 * lp_interior.c: solvers. lp_check.c: certified upper and lower bound of any point. lp_round.c: matchings. */
#ifndef BERTH_LP_INTERNAL_H
#define BERTH_LP_INTERNAL_H

#include "place_internal.h"

/** Nodes are numbered in topological order. Edges are distinct pairs, sorted by (head, tail): in-edges of j are in_at[j]..in_at[j+1];
 *  out lists the edges of each tail, sorted. */
typedef struct berth_i_lp_problem {
  berth_ctx *ctx;
  int32_t n, m;
  double *p;                /* [n] s */
  int32_t *tail, *head;     /* [m] tail < head */
  double *c;                /* [m] s, > 0 or free edges with 0 */
  int32_t *in_at;           /* [n + 1] */
  int32_t *out_at, *out;    /* [n + 1], [m] edge ids */
  double floor;             /* longest path without any c, in the whole problem: nothing is below it */
} berth_i_lp_problem;

/** A point of both sides, and what is certified by it. */
typedef struct berth_i_lp_point {
  double *y;                /* [m] feasible: sums over out-edges and over in-edges at most 1. The best found */
  double *flow;             /* [m] unit flow from sources to sinks, that of the best lower bound */
  double *u, *v;            /* [n] potentials of out-sides and in-sides: u_i + v_j >= c f on every edge, >= 0 */
  double *start;            /* [n] smoothed arrival of paths (for a warm start); NULL: not there */
  double upper, lower;
  int32_t iterations;
} berth_i_lp_point;

berth_status berth_i_lp_point_init(berth_ctx *ctx, const berth_i_lp_problem *q, berth_i_lp_point *pt); /* y = flow = 0, upper INFINITY */
void berth_i_lp_point_release(const berth_i_lp_problem *q, berth_i_lp_point *pt);

/** Upper bound of any y >= 0: scales columns, then rows, to feasible sums, adds greedily where there is room, and takes the longest
 *  path. Keeps it in pt if it is lower.  @param y [m] is changed to the feasible one.  O(m) */
void berth_i_lp_upper(const berth_i_lp_problem *q, double *y, double *scratch /* [2n] */, berth_i_lp_point *pt);
/** Lower bound of a flow given by non-negative weights of edges: shares are normalised per node, swept from all sources (source shares in
 *  `from`, [n], NULL: kept), potentials are repaired from v. Keeps it in pt if it is higher. See lp_check.c.  O(m) */
void berth_i_lp_lower(const berth_i_lp_problem *q, const double *flow /* [m] conserved */, const double *node /* [n] */,
                      const double *v, double *scratch /* [2n] */, berth_i_lp_point *pt);

/** Both improve pt until its gap is at most `gap` or `iterations` (0: own limit) are done.
 *  @return BERTH_OK also if the gap was not reached */
berth_status berth_i_lp_entropic(const berth_i_lp_problem *q, double gap, int32_t iterations, berth_i_lp_point *pt);
/** @param warm pt holds an entropic point to start from
 *  BERTH_EUNSUPPORTED: the factor would be too large */
berth_status berth_i_lp_interior(const berth_i_lp_problem *q, double gap, int32_t iterations, bool warm, berth_i_lp_point *pt);
/** Floating-point operations of one factorisation; after a symbolic analysis only. */
berth_status berth_i_lp_interior_cost(const berth_i_lp_problem *q, double *flops);

/** A matching by through-length: edges by the longest path through them with full c, longest first.  @param child [ops of cost] */
berth_status berth_i_favourites_through(berth_cost *cost, int32_t *child);

#endif
