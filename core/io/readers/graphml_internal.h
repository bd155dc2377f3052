/* What was read of a GraphML file so far: names of nodes, what each is, edges and collectives that
 * are not yet connected. Shared by the reader of elements (graphml.c) and of edges
 * (graphml_edges.c). */
#ifndef BERTH_GRAPHML_INTERNAL_H
#define BERTH_GRAPHML_INTERNAL_H

#include "io/io_internal.h"

typedef struct berth_i_graphml_edge {
  int32_t from, to;      /* names of nodes */
  int32_t line;
  uint32_t flags;        /* BERTH_TENSOR_... */
  double bytes, resident_bytes;
  double tensor;         /* edges with the same number are one tensor; infinite: one of its own */
} berth_i_graphml_edge;

typedef struct berth_i_graphml {
  berth_i_pool pool;
  const berth_i_source *src;
  berth_graph_builder *b;
  berth_i_names names;   /* ids of nodes, from <node> and <edge> */
  int32_t *op_of;        /* [names.n] op, BERTH_NONE: not declared (yet), below:
                            BERTH_I_GRAPHML_COLLECTIVE - its number */
  size_t op_of_cap;
  berth_i_graphml_edge *edges;
  size_t n_edges, edges_cap;
  berth_collective *collectives;
  size_t n_collectives, collectives_cap;
} berth_i_graphml;

enum { BERTH_I_GRAPHML_COLLECTIVE = BERTH_NONE - 1 };

/** Number of a node's name, which may be new. */
berth_status berth_i_graphml_name(berth_i_graphml *g, const char *id, int32_t *out);
berth_status berth_i_graphml_add_edge(berth_i_graphml *g, const berth_i_graphml_edge *edge);
/** @param c members and consumers follow from the edges */
berth_status berth_i_graphml_add_collective(berth_i_graphml *g, int32_t name,
                                            const berth_collective *c);
/** All nodes are known: adds tensors and collectives to the builder.
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EPARSE */
berth_status berth_i_graphml_connect(berth_i_graphml *g);

#endif
