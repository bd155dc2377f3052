/* The linear program of favourite children: for each op, which consumer should share its device, as
 * a relaxation with a lower bound on the makespan and a feasible answer. An object holds both, with
 * counted references; arrays and the summary are borrowed from it. */
#ifndef BERTH_LP_H
#define BERTH_LP_H

#include <berth/cost.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the linear program of favourite children ------------------------------------------- *
 * Hanen and Munier's relaxation for unlimited devices, in the matching form: y is a fractional
 * matching on the pairs (producer, consumer), sum of y over the out-edges of an op <= 1, over its
 * in-edges <= 1; the value is the longest path with lengths p_i + c_ij (1 - y_ij). y_ij = 1: j is
 * the favourite child of i, runs right after it on its device. */

typedef enum berth_lp_method {
  BERTH_LP_AUTO,     /* by size and structure: interior point for small or tree-like ones, else
                        entropic, then interior if needed */
  BERTH_LP_ENTROPIC, /* entropic primal-dual steps; no factorisation; cheap to some 0.5 % */
  BERTH_LP_INTERIOR  /* Mehrotra's predictor-corrector on sparse Cholesky; to 1e-6 and below */
} berth_lp_method;

typedef enum berth_lp_times {
  BERTH_LP_MEAN, /* as published: mean op times over the devices that can run the op, sums of the
                    mean times of the tensors from i to j over ordered pairs of different devices
                    that reach each other */
  BERTH_LP_LEAST /* least op times, the largest of these tensors' least times, and never more than
                    the least op time of another child of i or another parent of j: then the value
                    is a lower bound on every makespan (below) */
} berth_lp_times;

typedef struct berth_lp_options {
  berth_lp_times times;   /* default MEAN */
  berth_lp_method method; /* default AUTO */
  double gap;             /* stop when (upper - lower) / lower is at most this; default 0.01; at
                             least 1e-9 */
  int32_t iterations;     /* at most so many of each method; 0 (default): the method's own limit */
} berth_lp_options;
berth_lp_options berth_lp_default(void);
const berth_option_table *berth_lp_option_table(void);

typedef struct berth_lp berth_lp; /* immutable */

typedef struct berth_lp_summary {
  double upper;           /* longest path under a feasible y, which is the one that is returned */
  double lower;           /* value of a feasible flow with potentials: nothing is below it. Both
                             certified by sums over the graph */
  double gap;             /* (upper - lower) / lower; 0 if lower is 0 */
  int reached;            /* 1: the requested gap */
  int32_t entropic, interior; /* iterations */
  int32_t ops, edges;     /* left after reductions: lone edges merged, edges dropped that no path
                             long enough goes through */
  double rho;             /* largest c / least p > 0, of all edges and ops; INFINITY if some p is 0
                             and some c is not */
} berth_lp_summary;

/**
 * @param opts NULL: defaults
 * @return BERTH_OK, also if the gap was not reached; BERTH_EINVAL (options); BERTH_ENOMEM;
 *         BERTH_EINTERRUPT
 *
 * A collective counts as an edge of no time from each member to each consumer, if there are at most
 * 4,096 such pairs; else it is left out.
 *
 * Deterministic. Entropic: O(edges) an iteration, 40 to 160 iterations to 1 % on layered graphs.
 * With BERTH_LP_LEAST `lower` is a lower bound for schedules without preemption or duplication on
 * any devices and links: call a child early if it starts less than c after its parent's end. It
 * then runs on the parent's device, and since c is at most the time of any sibling (other parent),
 * no two children of one op (parents of one op) are early with one another: y = 1 on early edges is
 * feasible and its longest path is no longer than the schedule.
 * Source: Jeon et al., Baechi, 2020; Hanen, Munier 1995; the matching form, its dual and the bound
 * are ours.
 */
berth_status berth_lp_solve(berth_cost *cost, const berth_lp_options *opts, berth_lp **out);
void berth_lp_retain(berth_lp *lp);
void berth_lp_release(berth_lp *lp);
const berth_lp_summary *berth_lp_get(const berth_lp *lp); /* lives as long as lp */
/** The pairs (producer, consumer), by producer, then in the order of its tensors and their
 *  consumers, then of its collectives and theirs, each pair once. Arrays [count], borrowed; each
 *  pointer may be NULL.
 *  @param c s @param y 0..1 @param flow of the dual: how critical the edge is, 0..1. @return
 *         count */
int32_t berth_lp_edges(const berth_lp *lp, const int32_t **src, const int32_t **dst,
                       const double **c, const double **y, const double **flow);
/**
 * A matching: at most one favourite child of each op, each of at most one parent.
 * y below 1e-6 counts as 0, and no difference below 1e-8.
 * @param tau > 0: the edges with 1 - y <= tau, the larger y first where two collide; 0: greedily by
 *        y, then by flow * c, until no edge with y > 0 can be added; then by the longest path
 *        through the edge with full c, until none at all can
 * @param child [ops] out: BERTH_NONE: none
 * @return BERTH_OK, BERTH_EINVAL (tau not in 0..1), BERTH_ENOMEM
 */
berth_status berth_lp_favourites(const berth_lp *lp, double tau, int32_t *child);

#ifdef __cplusplus
}
#endif
#endif
