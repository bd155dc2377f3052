/* Nodes and edges with named attributes, as GraphML, DOT and GML have them, as a graph and its
 * placement. elements.c: which attributes are read, their values, and nodes; elements_edges.c:
 * edges, once all nodes are known; listed.c: for formats whose attributes are not declared in front
 * of the nodes.
 *
 * Order of calls: _key for all keys, _default, _begin, then nodes and edges in any order with their
 * values, _finish. */
#ifndef BERTH_ELEMENTS_INTERNAL_H
#define BERTH_ELEMENTS_INTERNAL_H

#include "io/formats_internal.h"

typedef enum berth_i_place {
  BERTH_I_IN_GRAPH,
  BERTH_I_IN_NODE,
  BERTH_I_IN_EDGE,
  BERTH_I_PLACES
} berth_i_place;

/* A growing text of a pool, zero-terminated. */
typedef struct berth_i_chars {
  char *at;
  size_t len, cap;
} berth_i_chars;
berth_status berth_i_chars_add(berth_i_pool *pool, berth_i_chars *c, const char *text, size_t len);
/** @param words NULL-terminated; compared exactly */
bool berth_i_is_one_of(const char *text, const char *const *words);

/* Columns: an attribute that is read in a place, or below 0: */
enum { BERTH_I_UNREAD = -1, BERTH_I_NOT_FOR = -2 /* the place must not have it */ };
typedef struct berth_i_key {
  const char *name;
  int32_t column[BERTH_I_PLACES];
  bool number; /* values are numbers in base units; otherwise they may have a unit */
} berth_i_key;

typedef struct berth_i_element_edge {
  int32_t from, to;      /* names of nodes */
  int32_t line;
  uint32_t flags;        /* BERTH_TENSOR_... */
  double bytes, resident_bytes;
  double tensor;         /* edges with the same number are one tensor; infinite: one of its own */
} berth_i_element_edge;

enum { BERTH_I_ELEMENT_TEXTS = 4 };

/* Values of the graph, current node or edge. */
typedef struct berth_i_element {
  berth_op op;
  berth_i_element_edge edge;
  int32_t count;  /* of a collective */
  double device;  /* NAN: none */
  const char *text[BERTH_I_ELEMENT_TEXTS];
} berth_i_element;

typedef struct berth_i_elements {
  berth_i_pool pool;
  const berth_i_source *src;
  berth_ctx *ctx;
  berth_graph_builder *b;
  int32_t line;          /* for messages */
  berth_i_names names;   /* ids of nodes, of nodes and ends of edges */
  int32_t *op_of;        /* [names.n] op, BERTH_NONE: not declared (yet), below:
                            BERTH_I_COLLECTIVE - its number */
  size_t op_of_cap;
  berth_i_element_edge *edges;
  size_t n_edges, edges_cap;
  berth_collective *collectives;
  size_t n_collectives, collectives_cap;
  berth_i_names types;   /* of devices, by "seconds:T" */
  bool named, begun;     /* names have a key; _begin was called */
  /* values that elements start from; those of the current ones; their texts */
  berth_i_element first[BERTH_I_PLACES], now[BERTH_I_PLACES];
  berth_i_chars first_text[BERTH_I_PLACES][BERTH_I_ELEMENT_TEXTS],
      now_text[BERTH_I_PLACES][BERTH_I_ELEMENT_TEXTS];
  double *first_seconds, *seconds; /* [types] */
  size_t first_seconds_cap;
  int32_t *seen;                   /* [columns] number of the element that had it last */
  int32_t n_elements, n_nodes;     /* nodes and edges; nodes */
  int32_t node_id, node_line;      /* of the current one */
  /* the placement */
  int32_t *device;                 /* [device_cap] of ops */
  size_t device_cap;
  int32_t n_placed, unplaced_line, unplaced_id;
  bool foreign_device;             /* "device" holds something else */
} berth_i_elements;

enum { BERTH_I_COLLECTIVE = BERTH_NONE - 1 };

/* elements.c */
berth_status berth_i_elements_open(const berth_i_source *src, berth_i_elements *e);
void berth_i_elements_release(berth_i_elements *e);
/** "name:line: what why (value)", BERTH_EPARSE */
berth_status berth_i_elements_fail(const berth_i_elements *e, const char *what, const char *why,
                                   const char *value);
/** Column of a key in a place.  @param key with name and number */
berth_status berth_i_elements_key(berth_i_elements *e, const berth_i_key *key, berth_i_place place,
                                  int32_t *column);
/** What elements start from. The text is changed. */
berth_status berth_i_elements_default(berth_i_elements *e, const berth_i_key *key,
                                      berth_i_chars *value);
/** All keys are known. May be called again. */
berth_status berth_i_elements_begin(berth_i_elements *e);
/** Did the current element of the place have the column already? Then it has. */
bool berth_i_elements_seen(berth_i_elements *e, berth_i_place place, int32_t column);
/** A value of the current element. The text is changed. */
berth_status berth_i_elements_value(berth_i_elements *e, const berth_i_key *key,
                                    berth_i_place place, berth_i_chars *value);
/** At e->line.  @param id number of its name */
berth_status berth_i_elements_open_node(berth_i_elements *e, int32_t id);
berth_status berth_i_elements_close_node(berth_i_elements *e);
void berth_i_elements_open_edge(berth_i_elements *e, int32_t from, int32_t to);
/** Edges, placement and graph.  @param out filled as far as it went */
berth_status berth_i_elements_finish(berth_i_elements *e, berth_bundle *out);

/* elements_edges.c */
/** Number of a node's name, which may be new. */
berth_status berth_i_elements_name(berth_i_elements *e, const char *id, int32_t *out);
berth_status berth_i_elements_close_edge(berth_i_elements *e);
/** @param c members and consumers follow from the edges */
berth_status berth_i_elements_add_collective(berth_i_elements *e, int32_t name,
                                             const berth_collective *c);
/** All nodes are known: adds tensors and collectives to the builder.
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EPARSE */
berth_status berth_i_elements_connect(berth_i_elements *e);

#endif
