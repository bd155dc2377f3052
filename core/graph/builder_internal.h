/* The builder: one growing column per field; a column exists once it holds something other than its
 * blank value. */
#ifndef BERTH_BUILDER_INTERNAL_H
#define BERTH_BUILDER_INTERNAL_H

#include "graph_internal.h"

enum {
  BERTH_I_SECONDS, /* per op */
  BERTH_I_FLOP,
  BERTH_I_BYTES,
  BERTH_I_PARAM,
  BERTH_I_WORKSPACE,
  BERTH_I_SHAPE,
  BERTH_I_GROUP,
  BERTH_I_TWIN,
  BERTH_I_PIN,
  BERTH_I_FLAGS,
  BERTH_I_NAME,
  BERTH_I_KIND,
  BERTH_I_PRODUCER, /* per tensor */
  BERTH_I_TENSOR_BYTES,
  BERTH_I_RESIDENT,
  BERTH_I_TENSOR_FLAGS,
  BERTH_I_EDGE_TENSOR, /* per edge, in the order of adding */
  BERTH_I_EDGE_OP,
  BERTH_I_COLLECTIVES, /* members and consumers unset until _finish */
  BERTH_I_COLL_OPS,    /* of each collective: members, then consumers */
  BERTH_I_COLUMNS
};

typedef struct berth_i_column {
  void *data;
  size_t cap, hint; /* items */
  size_t width;     /* bytes per item */
  int blank;        /* byte that fills rows added before the column existed: 0, or 0xff for
                       BERTH_NONE and NaN */
} berth_i_column;

struct berth_graph_builder {
  berth_ctx *ctx;
  berth_i_pool columns; /* with name and types */
  berth_i_pool edges;   /* two columns that no graph keeps */
  char *name;
  const char *dtype; /* a literal; NULL: unknown */
  bool unitless;
  char **types; /* [n_types]; NULL: the one type "" */
  int32_t n_types, n_ops, n_tensors, n_edges, n_collectives, n_groups;
  size_t n_coll_ops;
  berth_i_names names, kinds;
  berth_i_column column[BERTH_I_COLUMNS];
};

/** Number of rows that a column has or would have. */
size_t berth_i_builder_rows(const berth_graph_builder *b, int column);
/** Another length of a column.  @return false: refused, the column stays */
bool berth_i_builder_resize(berth_graph_builder *b, int column, size_t cap);
/** Forgets everything without freeing it: the state of a new builder. */
void berth_i_builder_reset(berth_graph_builder *b);
/** @param n number of `names`, all copied */
berth_status berth_i_types_copy(berth_i_pool *pool, int32_t n, const char *const *names,
                                char ***out);
/** What berth_i_op_label writes, for a name given.  @param name NULL or "": none */
const char *berth_i_label(int32_t op, const char *name, char *buf, size_t size);

#endif
