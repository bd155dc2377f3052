/* What the transforms share: sets of ops that are to share a device (attributes at the root), and
 * graphs made from them. */
#ifndef BERTH_TRANSFORM_INTERNAL_H
#define BERTH_TRANSFORM_INTERNAL_H

#include "graph/graph_internal.h"
#include <berth/graph.h>

/* ---- sets of ops: disjoint sets with what decides whether two may join ---- */

typedef enum berth_i_apart {
  BERTH_I_TOGETHER,
  BERTH_I_PINS,
  BERTH_I_TYPES,
  BERTH_I_LIMIT
} berth_i_apart;

/* Attributes are stored at the root. */
typedef struct berth_i_sharing {
  const berth_graph *g;
  const berth_share_options *o;
  int32_t words, run_words, columns;
  int32_t *parent;  /* [ops] */
  int32_t *size;    /* [ops] */
  int32_t *pin;     /* [ops] */
  uint64_t *can;    /* [ops * words] one bit per type, and one for types that the graph does not
                       name */
  uint64_t *runs;   /* [ops * run_words] one bit per device; NULL: types alone count */
  double *bytes;    /* [ops]; NULL: no limit */
  double *seconds;  /* [ops * columns] s; NULL: no limit */
} berth_i_sharing;

/** @param who in messages: "fuse"  @param pool of the arrays */
berth_status berth_i_sharing_init(const berth_graph *g, const char *who,
                                  const berth_share_options *o, berth_i_pool *pool,
                                  berth_i_sharing *s);
static inline int32_t berth_i_sharing_root(const berth_i_sharing *s, int32_t op) {
  int32_t *parent = s->parent;
  while (parent[op] != op) op = parent[op] = parent[parent[op]];
  return op;
}
/** Why two roots may not join. */
berth_i_apart berth_i_sharing_apart(const berth_i_sharing *s, int32_t a, int32_t b);
/** Do all these roots have a type in common, and no two different pins? */
bool berth_i_sharing_compatible(const berth_i_sharing *s, int32_t n, const int32_t *roots);
/** Joins two different roots, whatever the limits.  @return the root of both */
int32_t berth_i_sharing_join(berth_i_sharing *s, int32_t a, int32_t b);
/** Joins the colocation groups of the graph; with `strict` a group that no type of device can run
 *  is refused; limits do not count. @return BERTH_OK, BERTH_EINFEASIBLE, BERTH_ENOMEM */
berth_status berth_i_sharing_join_groups(berth_i_sharing *s, const char *who, bool strict);
/** Message for what berth_i_sharing_apart reports about two ops. @return BERTH_EINVAL (pins) or
 * BERTH_EINFEASIBLE */
berth_status berth_i_sharing_refuse(const berth_i_sharing *s, const char *who, int32_t a, int32_t b,
                                    berth_i_apart why);
/** Sets of two and more, numbered by their lowest op.  @param group [ops] out; BERTH_NONE: alone */
berth_status berth_i_sharing_groups(const berth_i_sharing *s, int32_t *group);

/* ---- pairs of ops with a tensor, or a collective, between them ---- */

/* Nodes: ops, then collectives. */
typedef struct berth_i_pairs {
  int32_t n, n_nodes;
  int32_t *at;        /* [n_nodes + 1] by source */
  int32_t *src, *dst; /* [n] each pair once, in the order of tensors and consumers */
  double *bytes;      /* [n] of all tensors between the two; 0 to and from collectives */
} berth_i_pairs;
/** @param pool of the arrays */
berth_status berth_i_pairs_init(const berth_graph *g, berth_i_pool *pool, berth_i_pairs *p);
/** Pairs by bytes, most first; ties by place[src], then place[dst]. @param place [nodes] NULL: ids
 * @param list [n] out */
berth_status berth_i_pairs_by_weight(const berth_graph *g, const berth_i_pairs *p,
                                     const int32_t *place, int32_t *list);

/* ---- new graphs ---- */

/** The same graph with other colocation groups.  @param group [ops] */
berth_status berth_i_regroup(const berth_graph *g, const int32_t *group, berth_graph **out);
/** A builder that has the name and the types of g. */
berth_status berth_i_builder_like(const berth_graph *g, berth_graph_builder **out);
/** Adds the tensors of g, with their consumers, to a builder that has its ops. */
berth_status berth_i_copy_tensors(const berth_graph *g, berth_graph_builder *b);
/** One op for each set.  @param map [ops] set of each op, 0..n-1, numbered by its lowest op */
berth_status berth_i_quotient(const berth_graph *g, int32_t n, const int32_t *map,
                              berth_fuse_inner inner, berth_graph **out);

static inline const double *berth_i_profile_of(const berth_graph *g, int32_t op) {
  const double *seconds = g->seconds ? g->seconds + (size_t)op * (size_t)g->n_types : NULL;
  return seconds && !isnan(*seconds) ? seconds : NULL;
}
static inline bool berth_i_has_rates(const berth_graph *g, int32_t op) {
  return (g->flop && g->flop[op] > 0) || (g->bytes && g->bytes[op] > 0);
}

#endif
