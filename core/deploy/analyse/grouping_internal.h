/* Op groups of a deployment, and how one is distributed over devices; both by METIS. */
#ifndef BERTH_GROUPING_INTERNAL_H
#define BERTH_GROUPING_INTERNAL_H

#include "analyse_internal.h"

enum { BERTH_I_GROUP_TIMES = 4 }; /* at the whole batch, a half, a quarter, an eighth */

typedef struct berth_i_grouping {
  int32_t groups; /* at most, >= 1; 60 */
  bool top_k;     /* the costliest base groups as centres, each other with the nearest; else
                     METIS */
  uint64_t seed;
  const double *bytes; /* [ops] what memory holds of each; read if `limit` is finite */
  double limit;        /* most bytes of an op group of several base groups; INFINITY: none */
} berth_i_grouping;

/**
 * Base groups into op groups. METIS: the weight of a base group is 1 + the sum over its ops of
 * floor(sqrt(mean time in us)), that of an edge is what crosses, either way, in elements of 4
 * bytes, each tensor once per base group that reads it, one of 0 bytes as 1,000; a part has at most
 * 5 times its share. With at most `groups` base groups each is an op group. Top-k: the groups - 1
 * base groups of most time are centres, each other one joins the centre that is fewest edges away,
 * ties to the costlier; those that no centre reaches form the last one. Then a part above the limit
 * is cut into runs of base groups in the order of their lowest ops, each within the limit or of one
 * base group.
 *
 * @param seconds [BERTH_I_GROUP_TIMES * ops] mean times over devices, s: all ops at the whole
 *        batch, then at a half, and so on
 * @param group [ops] out: op group, numbered by falling time at the whole batch, ties by the lowest
 *        op
 * @param n out: how many; at most o->groups where there is no limit, less where METIS leaves parts
 *        empty
 * @return BERTH_OK, BERTH_EINVAL (groups < 1; a time is negative or not finite), BERTH_ENOMEM
 *
 * Source: TAG, grouping; top-k as in its scripts and in HeteroG (Yi et al., 2020).
 */
berth_status berth_i_deploy_group(const berth_analysis *a, const double *seconds,
                                  const berth_i_grouping *o, int32_t *group, int32_t *n);

typedef struct berth_i_dealing {
  int32_t parts;  /* devices, >= 1 */
  int32_t number; /* of the op group: part p becomes (p + number) mod parts, so that first parts
                     fall on all devices in turn */
  bool published; /* weight 1 + floor(parameter elements / 1e5), elements of 4 bytes; else time */
  uint64_t seed;
} berth_i_dealing;

/**
 * The ops of one op group over devices: METIS on single ops, edges as above, at most 1.5 times a
 * device's share. Colocation groups stay together.
 *
 * @param n ops  @param op [n] each once; of a colocation group all or none
 * @param seconds [all ops of the graph] s; not read if published
 * @param part [n] out: 0..parts-1 of each
 * @return BERTH_OK, BERTH_EINVAL (parts < 1, a negative number; a time is negative or not finite),
 *         BERTH_ENOMEM
 *
 * O(tensors and edges of the n ops, all ops of the graph once).
 */
berth_status berth_i_deploy_split(const berth_graph *g, int32_t n, const int32_t *op,
                                  const double *seconds, const berth_i_dealing *o, int32_t *part);

/* ---- inside: grouping_graph.c ---- */

/** Undirected graph of sets of ops, with edge weights in elements. */
typedef struct berth_i_set_graph {
  berth_i_pool pool;
  int32_t n;
  int32_t *at, *adjacent;  /* [n + 1], [at[n]] ascending */
  double *elements;        /* [at[n]] */
} berth_i_set_graph;

/** @param op [m] its ops; NULL: all, m = ops @param of [ops] set of each, 0..n-1; BERTH_NONE:
 *  outside.
 *  On failure, too, it is to be released. */
berth_status berth_i_set_graph_new(const berth_graph *g, int32_t m, const int32_t *op, int32_t n,
                                   const int32_t *of, berth_i_set_graph *out);
/** METIS with equal shares; fewer sets than parts: each has its own. @param weight [n] >= 0 @param
 * part [n] out */
berth_status berth_i_set_graph_cut(const berth_i_set_graph *s, const double *weight, int32_t parts,
                                   double slack, uint64_t seed, int32_t *part);

#endif
