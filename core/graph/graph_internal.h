/* Layout of a graph: struct of arrays, CSR both ways. Columns that hold only their default are
 * NULL. */
#ifndef BERTH_GRAPH_INTERNAL_H
#define BERTH_GRAPH_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/graph.h>

struct berth_graph {
  berth_i_pool pool;    /* with the lists and the order */
  berth_i_pool columns; /* what the builder had, but for the names */
  berth_ctx *ctx;
  int32_t refs;
  char *name;
  const char *dtype; /* a literal; NULL: unknown */
  bool unitless;
  int32_t n_ops, n_tensors, n_edges, n_collectives, n_groups, n_types;
  char **types; /* [n_types] */

  /* ops */
  double *seconds;         /* [n_ops * n_types]; NaN: no profile, by roofline; NULL: none has one */
  double *flop, *bytes;    /* [n_ops]; NULL: all 0 */
  double *param_bytes;     /* [n_ops]; NULL: all 0 */
  double *workspace_bytes; /* [n_ops]; NULL: all 0 */
  berth_shape *shape;      /* [n_ops]; NULL: none has one */
  int32_t *group;          /* [n_ops]; NULL: all BERTH_NONE */
  int32_t *twin;           /* [n_ops]; NULL: all BERTH_NONE */
  int32_t *pin;            /* [n_ops]; NULL: all BERTH_NONE */
  uint8_t *flags;          /* [n_ops]; NULL: all 0 */
  int32_t *op_name;        /* [n_ops] index into names, BERTH_NONE; NULL: none named */
  int32_t *op_kind;        /* [n_ops] index into kinds, BERTH_NONE; NULL: none */
  berth_i_names names, kinds; /* names need not be unique: duplicates share an entry */

  /* tensors */
  int32_t *producer;       /* [n_tensors] */
  double *tensor_bytes;    /* [n_tensors] */
  double *resident;        /* [n_tensors]; NULL: same as tensor_bytes */
  uint8_t *tensor_flags;   /* [n_tensors]; NULL: all 0 */

  /* CSR; lists keep the order of adding */
  int32_t *in_at, *in;     /* [n_ops + 1], [n_edges]: tensors that the op reads */
  int32_t *out_at, *out;   /* [n_ops + 1], [n_tensors]: tensors that the op produces */
  int32_t *use_at, *use;   /* [n_tensors + 1], [n_edges]: ops that read the tensor */

  /* collectives */
  berth_collective *collectives;                /* [n_collectives]; members and consumers point into
                                                   coll_ops */
  int32_t *coll_ops;
  size_t n_coll_ops;
  int32_t *wait_at, *wait; /* [n_ops + 1]: collectives whose members the op is in; both NULL without
                              collectives */
  int32_t *after_at, *after; /* [n_ops + 1]: collectives that the op waits for */

  int32_t *topo;           /* [n_ops] the order of berth_topo_order */
};

/** Arithmetic and units as those of a graph. */
void berth_i_builder_describe(berth_graph_builder *b, const berth_graph *g);

static inline int32_t berth_i_group(const berth_graph *g, int32_t op) {
  return g->group ? g->group[op] : BERTH_NONE;
}
static inline int32_t berth_i_twin(const berth_graph *g, int32_t op) {
  return g->twin ? g->twin[op] : BERTH_NONE;
}
static inline int32_t berth_i_pin(const berth_graph *g, int32_t op) {
  return g->pin ? g->pin[op] : BERTH_NONE;
}
static inline double berth_i_param(const berth_graph *g, int32_t op) {
  return g->param_bytes ? g->param_bytes[op] : 0;
}
static inline double berth_i_workspace(const berth_graph *g, int32_t op) {
  return g->workspace_bytes ? g->workspace_bytes[op] : 0;
}
static inline double berth_i_resident(const berth_graph *g, int32_t t) {
  return g->resident ? g->resident[t] : g->tensor_bytes[t];
}

/** NULL: none */
static inline const berth_shape *berth_i_shape(const berth_graph *g, int32_t op) {
  const berth_shape *s = g->shape ? &g->shape[op] : NULL;
  return s && (s->product.m > 0 || s->attention.seq > 0) ? s : NULL;
}
/** What is wrong with a shape of an op with so many FLOP: buf, or NULL. */
const char *berth_i_shape_error(const berth_shape *s, double flop, char *buf, size_t size);

/** Stable counting sort of items 0..n-1: list[at[k]..at[k+1]) gets the values of the items with key
 * k (value NULL: their ids).
 *  @param at [n_keys + 1] out */
void berth_i_sort_lists(int32_t n_keys, int32_t n, const int32_t *key, const int32_t *value,
                        int32_t *at, int32_t *list);
/** Where the ops of each collective are in coll_ops: members, then consumers. */
void berth_i_view_collectives(berth_graph *g);
/** Collectives of each op that is a member (consumers: that waits for them), in two steps: ends of
 *  the lists, then the lists, which turns the ends into starts.  @param at [n_ops + 1] */
void berth_i_count_side(const berth_graph *g, bool consumers, int32_t *at);
void berth_i_list_side(const berth_graph *g, bool consumers, int32_t *at, int32_t *list);
/** Kahn's algorithm with the order itself as the queue. O(ops + edges + members and consumers)
 *  @param left [n_ops] inputs and collectives not taken; members [n_collectives] not taken; both
 *         out
 *  @return how many ops have a place in the order; fewer than there are: a cycle */
int32_t berth_i_take_order(const berth_graph *g, int32_t *left, int32_t *members, int32_t *order);

/** berth_b_level and berth_t_level with the times of collectives, terminal ones included.
 *  @param through [collectives] s; NULL: 0 */
berth_status berth_i_b_level(const berth_graph *g, const double *comp, const double *comm,
                             const double *through, double *out);
berth_status berth_i_t_level(const berth_graph *g, const double *comp, const double *comm,
                             const double *through, double *out);

/** For messages: `op 17 "conv1"` or `op 17` into buf[size], long names cut; returns buf. Needs size
 * >= 32. */
const char *berth_i_op_label(const berth_graph *g, int32_t op, char *buf, size_t size);

static inline uint32_t berth_i_flags(const berth_graph *g, int32_t op) {
  return g->flags ? g->flags[op] : 0;
}
/** It runs beside what its device computes. */
static inline bool berth_i_is_communication(const berth_graph *g, int32_t op) {
  return (berth_i_flags(g, op) & BERTH_OP_COMMUNICATION) != 0;
}
/** The first such op; BERTH_NONE. */
static inline int32_t berth_i_first_communication(const berth_graph *g) {
  for (int32_t i = 0; g->flags && i < g->n_ops; i++) {
    if (g->flags[i] & BERTH_OP_COMMUNICATION) return i;
  }
  return BERTH_NONE;
}

/** For edges that are numbered in any order: the edge of each input. O(ops + edges)
 *  @param edge_op, edge_tensor [n_edges] consumer and tensor of each  @param in_edge [n_edges] out,
 *         parallel to g->in */
berth_status berth_i_input_edges(const berth_graph *g, const int32_t *edge_op,
                                 const int32_t *edge_tensor, int32_t *in_edge);

#endif
