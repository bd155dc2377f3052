/* Elements whose attributes are not declared in front: nodes, edges and their values are listed
 * first, then go through elements_internal.h. Used by DOT and GML. */
#ifndef BERTH_LISTED_INTERNAL_H
#define BERTH_LISTED_INTERNAL_H

#include "elements_internal.h"

/* Values are singly linked, the last one first, and lists may share their ends: so an element
 * starts with a list of defaults for nothing. A list is the number of its first value. */
typedef struct berth_i_listed_value {
  const char *text;
  int32_t key, line, next; /* next: BERTH_NONE at the end */
} berth_i_listed_value;

typedef struct berth_i_listed_node {
  int32_t name, line, values;
} berth_i_listed_node;

typedef struct berth_i_listed_edge {
  int32_t from, to, line, values;
  int32_t defaults;  /* the end of values that is shared */
  int32_t same;      /* an earlier edge that this one adds its values to; BERTH_NONE */
} berth_i_listed_edge;

typedef struct berth_i_listed_keys {
  berth_i_names names;
  berth_i_key *at; /* [names.n] */
  size_t cap;
} berth_i_listed_keys;

typedef struct berth_i_listed {
  berth_i_elements e;
  bool once;         /* an attribute given twice is refused; false: the last one counts */
  berth_i_listed_keys keys[BERTH_I_PLACES];
  berth_i_listed_value *values;
  berth_i_listed_node *nodes;
  berth_i_listed_edge *edges;
  size_t n_values, values_cap, n_nodes, nodes_cap, n_edges, edges_cap;
  berth_i_chars scratch;
} berth_i_listed;

/** Refuses text that is not UTF-8 and zero bytes. */
berth_status berth_i_listed_open(const berth_i_source *src, berth_i_listed *l);
void berth_i_listed_release(berth_i_listed *l);
berth_status berth_i_listed_graph_name(berth_i_listed *l, const char *name);
/** In front of a list, if the attribute is read in the place. */
berth_status berth_i_listed_value_add(berth_i_listed *l, berth_i_place place, const char *name,
                                      const char *text, int32_t line, int32_t *list);
/** @param node name: by berth_i_elements_name */
berth_status berth_i_listed_node_add(berth_i_listed *l, berth_i_listed_node node);
berth_status berth_i_listed_edge_add(berth_i_listed *l, berth_i_listed_edge edge);
/** Edges of one source and target are one. O(m log m) */
berth_status berth_i_listed_merge_edges(berth_i_listed *l);
/** The graph of the lists, and its placement. */
berth_status berth_i_listed_finish(berth_i_listed *l, berth_bundle *out);

#endif
