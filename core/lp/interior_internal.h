/* What the files of the interior-point solver share.
 *
 * Unknowns: s of the nodes and of one sink behind all nodes without out-edges, then y of the
 * matchable edges. Three families of constraints, each with a slack (primal) and a multiplier
 * (dual), lie one behind the other in every array of pairs:
 *   arcs  s_to - s_from - length - c (1 - y) >= 0    flow
 *   rows  bound - sum of y >= 0                      alpha
 *   y     y >= 0                                     z
 * A wide row is split into a tree: a node of it is a free variable ("stand-in", numbered behind the
 * y) that is at least the sum of its group and takes the group's place in the row above. So no
 * clique of the linear system is larger than an unsplit row. */
#ifndef BERTH_LP_INTERIOR_INTERNAL_H
#define BERTH_LP_INTERIOR_INTERNAL_H

#include "extern/cholmod_internal.h"
#include "lp_internal.h"

typedef struct berth_i_lp_model {
  const berth_i_lp_problem *q;
  berth_ctx *ctx;
  berth_i_pool *pool;   /* of the arrays */
  double scale;         /* s: all times of the model are divided by it */
  int32_t edges, arcs;  /* arcs: edges, then one into every source, then one from every node without
                           out-edges to the sink */
  int32_t *edge;        /* [edges] of the problem */
  int32_t *from, *to;   /* [arcs] from: BERTH_NONE for arcs into sources; to: n is the sink */
  double *length, *c;   /* [arcs] */
  int32_t *var;         /* [arcs] BERTH_NONE: no choice, c is 0 */
  int32_t matchable, vars, rows;
  int32_t *arc;         /* [matchable] */
  int32_t *row_at;      /* [rows + 1] */
  int32_t *row_var;     /* a stand-in comes last in the row of its own group, with coefficient -1 */
  double *bound;        /* [rows] 1; 0 for the row of a group */
  int32_t *side;        /* [rows] node, n + node: out-edges, in-edges of that node */
  int32_t *stand_in;    /* [rows] the one that stands for the row of a group; BERTH_NONE */
  uint8_t *fixed;       /* [m] of the problem: matched without loss */
  int32_t items;        /* room in row_var */
  int32_t row_room;
} berth_i_lp_model;

static inline int32_t berth_i_lp_unknowns(const berth_i_lp_model *a) {
  return a->q->n + 1 + a->vars;
}
static inline int32_t berth_i_lp_pairs(const berth_i_lp_model *a) {
  return a->arcs + a->rows + a->vars;
}
/** Stand-ins have no complementary pair: theirs are the last in the arrays, and skipped. */
static inline int32_t berth_i_lp_true_pairs(const berth_i_lp_model *a) {
  return a->arcs + a->rows + a->matchable;
}

berth_status berth_i_lp_model_init(const berth_i_lp_problem *q, berth_i_pool *pool,
                                   berth_i_lp_model *a);
/** Levels of groups below a row of d members; 0: it is not split. */
int32_t berth_i_lp_levels(int32_t d);

/** slack of pairs = offset + this of the unknowns. @param x [unknowns] @param out [pairs]
 * O(size) */
void berth_i_lp_forward(const berth_i_lp_model *a, const double *x, double *out);
/** Its transpose.  @param pairs [pairs]  @param out [unknowns] */
void berth_i_lp_backward(const berth_i_lp_model *a, const double *pairs, double *out);

/** The matrix backward(ratio x forward(.)), of fixed pattern, and its factor. */
typedef struct berth_i_lp_system {
  const berth_i_lp_model *a;
  int32_t n, entries;
  int32_t *at, *row;      /* [n + 1], [entries] columns of the upper triangle */
  int32_t *place;         /* [entries] from the order of assembly to that of the pattern */
  double *value;          /* [entries] */
  double *rhs, *rest;     /* [n] */
  double *pairs;          /* [pairs] */
  const double *ratio;    /* [pairs] of the last factorisation */
  berth_i_cholesky *factor;
} berth_i_lp_system;

/** Arrays belong to the pool of `a`; the factor is to be released also after a failure.
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EUNSUPPORTED (the pattern itself is beyond all limits) */
berth_status berth_i_lp_system_init(const berth_i_lp_model *a, berth_i_lp_system *s);
/** @param ratio [pairs] dual / primal, 0 for stand-ins; borrowed until the next call
 *  @param good  out: false if the matrix is singular beyond help */
berth_status berth_i_lp_system_factor(berth_i_lp_system *s, const double *ratio, bool *good);
/** Solves with refinement.  @param x [n] out; the right-hand side is s->rhs */
berth_status berth_i_lp_system_solve(berth_i_lp_system *s, double *x);

/** Strictly inner points. @param primal, dual [pairs] out  @param x [unknowns] scratch */
void berth_i_lp_cold_start(const berth_i_lp_model *a, double *x, double *primal, double *dual);
void berth_i_lp_warm_start(const berth_i_lp_model *a, const berth_i_lp_point *pt, double *x,
                     double *primal, double *dual);

#endif
