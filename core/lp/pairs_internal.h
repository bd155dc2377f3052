/* The linear program of favourite children before and after its reductions. */
#ifndef BERTH_LP_PAIRS_INTERNAL_H
#define BERTH_LP_PAIRS_INTERNAL_H

#include "lp_internal.h"

/** Pairs (producer, consumer) of a priced graph, each once: by producer, then in the order of its
 * tensors and their consumers. */
typedef struct berth_i_lp_pairs {
  berth_i_pool pool;
  berth_ctx *ctx;
  const berth_graph *g;
  int32_t n, m;
  double *p;           /* [n] s */
  double *c;           /* [cap] s */
  int32_t *src, *dst;  /* [cap] ops */
  int32_t *out_at;     /* [n + 1] pairs of a producer follow one another */
  int32_t *in_at, *in; /* [n + 1], [cap] pairs of a consumer */
  size_t cap;          /* most pairs */
} berth_i_lp_pairs;

/** @return BERTH_OK; BERTH_EUNSUPPORTED, BERTH_EUNREACHABLE, BERTH_ENOMEM; the pool is empty then.
 *         O(ops + edges) */
berth_status berth_i_lp_pairs_init(berth_cost *cost, berth_lp_times times, berth_i_lp_pairs *a);

/** How the reduction decided a pair. "y = 1" holds with c > 0; with c = 0 it is y = 0, so that
 * another pair may have it. */
enum {
  BERTH_I_LP_EDGE,    /* an edge of the reduced problem: its y is the pair's */
  BERTH_I_LP_FREE,    /* the same, but nothing competes with it: c = 0 there, y = 1 here */
  BERTH_I_LP_MERGED,  /* both ops are in one node: y = 1 */
  BERTH_I_LP_DROPPED, /* no path through it is longer than the floor, whatever y: y = 0 */
  BERTH_I_LP_SPARE    /* both free and dropped: y = 1 */
};

typedef struct berth_i_lp_reduced {
  berth_i_pool pool; /* of all arrays, those of q, too */
  berth_i_lp_problem q;
  int32_t *node;          /* [ops] BERTH_NONE: no path through the op is longer than the floor */
  int32_t *edge;          /* [pairs] BERTH_NONE: none */
  uint8_t *fate;          /* [pairs] */
  double *before, *after; /* [ops] longest path that ends with the op's start, that starts with it,
                             under what is left of c */
} berth_i_lp_reduced;

/** After a failure the pool is empty. */
berth_status berth_i_lp_reduce(const berth_i_lp_pairs *a, berth_i_lp_reduced *r);

/** Longest paths with lengths p + weight: before an op's start; from its start on.
 *  @param c [pairs]; NULL: 0 @param fate [pairs] NULL: none is left out @return the longest of
 *         all */
double berth_i_lp_pair_levels(const berth_i_lp_pairs *a, const double *c, const uint8_t *fate,
                              double *before, double *after);

#endif
