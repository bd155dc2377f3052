/* A graph whose ops grow together, pair by pair, without a cycle.
 *
 * Nodes are ops, then collectives, which never grow. What is known of a node is stored at its root.
 * Adjacency is lists of pairs that are concatenated; pairs within a node, and repeated ones, are
 * unlinked where a list is walked. */
#ifndef BERTH_CONTRACT_INTERNAL_H
#define BERTH_CONTRACT_INTERNAL_H

#include "line_internal.h"
#include "transform_internal.h"

typedef enum berth_i_check {
  BERTH_I_CHECK_EXACT,
  BERTH_I_CHECK_CHEAP,
  BERTH_I_CHECK_CHAIN
} berth_i_check;

/* Lists by source, or by destination. */
typedef struct berth_i_adjacency {
  int32_t *head, *tail, *n; /* [nodes] pairs at its ends; how many, unlinked ones not counted */
  int32_t *next;            /* [pairs] */
  int32_t *end;             /* [pairs] node at the other side, brought up to its root as lists are
                               walked */
} berth_i_adjacency;

/* One side of a search: what was reached, in the order of reaching; expanded up to `done`. */
typedef struct berth_i_front {
  int32_t *list; /* [nodes] */
  int32_t n, done;
  int64_t scanned;
} berth_i_front;

typedef struct berth_i_placed {
  uint64_t label;
  int32_t node;
} berth_i_placed;

typedef struct berth_i_clusters {
  const berth_graph *g;
  berth_i_sharing *sharing;
  berth_i_pairs *pairs;
  int32_t n_nodes;
  berth_i_line line;         /* topological order of the roots */
  berth_i_adjacency out, in;
  int64_t *seen, pass;       /* [nodes] pass of the last list in which a node stood */
  int32_t *low, *high, *at;  /* [nodes] spanning tree of the original graph: stretch below a member,
                                place of a member */
  berth_i_front ahead, back; /* of the latest search; the one that was exhausted determines what
                                must move */
  int64_t *mark, searches;   /* [nodes] 2 * search, + 1 from behind */
  berth_i_placed *moving;    /* [nodes] scratch */
} berth_i_clusters;

/** @param pool of the arrays */
berth_status berth_i_clusters_init(const berth_graph *g, berth_i_sharing *sharing,
                                   berth_i_pairs *pairs, berth_i_pool *pool, berth_i_clusters *c);

static inline int32_t berth_i_cluster(const berth_i_clusters *c, int32_t node) {
  return node < c->g->n_ops ? berth_i_sharing_root(c->sharing, node) : node;
}
/** A node on another path from u to v than their edge, BERTH_NONE: there is none. u is before v,
 * and they have an edge. */
int32_t berth_i_cluster_detour(berth_i_clusters *c, int32_t u, int32_t v);
/** Does any path lead from a to b? */
bool berth_i_cluster_reaches(berth_i_clusters *c, int32_t a, int32_t b);
/** A node at the other side of the list of x that is neither x nor `except`; BERTH_NONE. */
int32_t berth_i_cluster_neighbour(berth_i_clusters *c, berth_i_adjacency *a, int32_t x,
                                  int32_t except);
bool berth_i_cluster_follows(berth_i_clusters *c, int32_t u, int32_t v);
/** Contracts u and v, right after a search that found no detour between them (`searched`), or where
 *  u has no other successor (`lone`), or v no other predecessor. @return the new root */
int32_t berth_i_cluster_join(berth_i_clusters *c, int32_t u, int32_t v, bool searched, bool lone);

/** Contracts what may be.  @param place [nodes] of the original topological order */
berth_status berth_i_contract(berth_i_clusters *c, const berth_fuse_options *o, berth_i_check check,
                              const int32_t *place);

#endif
