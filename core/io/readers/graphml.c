/* GraphML in, in one pass of expat: nodes are ops, edges are tensors; attributes as docs/formats.md
 * lists them.
 *
 * A stack of states, at most six deep, is the open elements; a table of rules lists which element
 * may open in which state. <key> declares columns, each bound to an attribute of xml_element or to
 * the seconds on a device type. Invariant: when the first node, edge or data begins, all keys are
 * known. An op is added when its <node> ends. Edges are kept in graphml_edges.c until all nodes are
 * known. */
#include "extern/expat_internal.h"
#include "graphml_internal.h"
#include "io/formats_internal.h"

#include <stdio.h>

/* ---- attributes that are read ---- */

typedef enum xml_place { IN_GRAPH, IN_NODE, IN_EDGE, N_PLACES } xml_place;
enum { NAME, LABEL, KIND, COLLECTIVE, N_TEXTS };

/* Values of the graph, current node or edge: defaults, then those of its <data>. */
typedef struct xml_element {
  berth_op op;
  berth_i_graphml_edge edge;
  int32_t count;  /* of a collective */
  double device;  /* NAN: none */
  const char *text[N_TEXTS];
} xml_element;

typedef enum key_type { QUANTITY, NUMBER, WHOLE, DEVICE, FLAG, TEXT } key_type;

typedef struct attribute {
  xml_place place;
  const char *name;
  key_type type;
  size_t offset;
  uint32_t detail; /* unit of a QUANTITY, bit of a FLAG, number of a TEXT */
} attribute;

#define AT(field) offsetof(xml_element, field)
static const attribute attributes[] = {
  { IN_GRAPH, "name", TEXT, 0, NAME },
  { IN_NODE, "name", TEXT, 0, NAME },
  { IN_NODE, "label", TEXT, 0, LABEL },
  { IN_NODE, "kind", TEXT, 0, KIND },
  { IN_NODE, "collective", TEXT, 0, COLLECTIVE },
  { IN_NODE, "flop", QUANTITY, AT(op.flop), BERTH_FLOP },
  { IN_NODE, "bytes", QUANTITY, AT(op.bytes), BERTH_BYTES },
  { IN_NODE, "param_bytes", QUANTITY, AT(op.param_bytes), BERTH_BYTES },
  { IN_NODE, "workspace_bytes", QUANTITY, AT(op.workspace_bytes), BERTH_BYTES },
  { IN_NODE, "group", WHOLE, AT(op.group), 0 },
  { IN_NODE, "twin", WHOLE, AT(op.twin), 0 },
  { IN_NODE, "pin", WHOLE, AT(op.pin), 0 },
  { IN_NODE, "count", WHOLE, AT(count), 0 },
  { IN_NODE, "device", DEVICE, AT(device), 0 },
  { IN_NODE, "backward", FLAG, AT(op.flags), BERTH_OP_BACKWARD },
  { IN_NODE, "update", FLAG, AT(op.flags), BERTH_OP_UPDATE },
  { IN_NODE, "splittable", FLAG, AT(op.flags), BERTH_OP_SPLITTABLE },
  { IN_NODE, "communication", FLAG, AT(op.flags), BERTH_OP_COMMUNICATION },
  { IN_EDGE, "bytes", QUANTITY, AT(edge.bytes), BERTH_BYTES },
  { IN_EDGE, "resident_bytes", QUANTITY, AT(edge.resident_bytes), BERTH_BYTES },
  { IN_EDGE, "tensor", NUMBER, AT(edge.tensor), 0 },
  { IN_EDGE, "batch", FLAG, AT(edge.flags), BERTH_TENSOR_BATCH },
  { IN_EDGE, "gradient", FLAG, AT(edge.flags), BERTH_TENSOR_GRADIENT },
};
#undef AT
enum { N_ATTRIBUTES = sizeof attributes / sizeof *attributes };
static const attribute seconds_attribute = { IN_NODE, "seconds", QUANTITY, 0, BERTH_SECONDS };

/* A column is one of the attributes, or N_ATTRIBUTES + a device type: seconds on it. */
enum { UNREAD = -1, NOT_FOR = -2 };

typedef struct graphml_key {
  char *name;               /* of the attribute */
  int32_t column[N_PLACES]; /* UNREAD; NOT_FOR: it must not be there */
  bool number;              /* its values are declared as numbers */
  double seconds;           /* default of a column of seconds; NAN: none */
} graphml_key;

typedef struct text_buffer {
  char *at;
  size_t len, cap;
} text_buffer;

/* Which element is open; DATA and DEFAULT: of a key that is read, UNREAD_DATA: of another. */
typedef enum reader_state {
  TOP,
  GRAPHML,
  KEY,
  DEFAULT,
  GRAPH,
  NODE,
  EDGE,
  DATA,
  UNREAD_DATA
} reader_state;
static const char *const state_names[] = { "the document", "<graphml>", "<key>",
                                           "<default>",    "<graph>",   "<node>",
                                           "<edge>",       "<data>",    "<data>" };
enum { MOST_STATES = 6 };

typedef struct reader {
  const berth_i_source *src;
  berth_ctx *ctx;
  berth_i_graphml g;
  reader_state state[MOST_STATES];
  int32_t depth;
  int64_t skipped;   /* open elements that are passed over */
  int32_t line;      /* of the current tag */
  text_buffer value; /* of the <data> or current <default> */
  berth_i_names key_ids, types;
  graphml_key *keys;                  /* [key_ids.n] */
  size_t keys_cap;
  graphml_key *key;                   /* current */
  bool named, begun;          /* names have a key; data, nodes or edges have begun */
  xml_element first[N_PLACES], now[N_PLACES]; /* defaults; values */
  text_buffer first_text[N_PLACES][N_TEXTS], now_text[N_PLACES][N_TEXTS];
  double *seconds;                       /* [2 types] values, then defaults */
  int32_t *seen;                         /* [columns] number of the element that had data last */
  int32_t n_elements, n_nodes, n_graphs; /* nodes and edges; nodes; graphs */
  int32_t node_id, node_line;            /* current */
  bool undirected;
  /* the placement */
  int32_t *device;            /* [device_cap] of ops */
  size_t device_cap;
  int32_t n_placed, unplaced_line, unplaced_id;
  bool foreign_device;        /* "device" holds something else */
} reader;

static berth_status fail(const reader *r, const char *what, const char *why, const char *value) {
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: %s %s (%.60s)", r->src->name, (int)r->line,
                      what, why, value);
}

/* Replaces the contents; the buffer is kept for the next element. */
static berth_status set_text(reader *r, text_buffer *t, const char *text, size_t len) {
  berth_status st = berth_i_pool_grow(&r->g.pool, (void **)&t->at, &t->cap, len + 1, 1);
  if (st != BERTH_OK) return st;
  memcpy(t->at, text, len);
  t->at[len] = 0;
  t->len = len;
  return BERTH_OK;
}

/* ---- values ---- */

/* Exact words: Python writes True, R TRUE, Java true. */
static bool is_one_of(const char *text, const char *const *words) {
  while (*words && strcmp(text, *words) != 0) words++;
  return *words != NULL;
}

static berth_status parse_quantity(const reader *r, const char *text, berth_unit unit,
                                   double *out) {
  bool bare;
  berth_status st = berth_i_quantity_or_number(r->ctx, text, unit, &bare, out);
  if (st != BERTH_EINVAL) return st;
  char message[256];
  snprintf(message, sizeof message, "%s", berth_errmsg(r->ctx));
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: %s: %s", r->src->name, (int)r->line,
                      r->key->name, message);
}

/* Python's and R's writers spell infinities out; only times may be infinite (unsupported). */
static berth_status read_number(const reader *r, const char *text, const attribute *a,
                                double *out) {
  static const char *const infinities[] = { "Infinity", "INF", "inf", "infinity", NULL };
  berth_status st = BERTH_OK;
  if (a->type == QUANTITY && is_one_of(text, infinities)) {
    if (a != &seconds_attribute) return fail(r, r->key->name, "is infinite", text);
    *out = INFINITY;
    return BERTH_OK;
  }
  if (a->type == QUANTITY && !r->key->number)
    st = parse_quantity(r, text, (berth_unit)a->detail, out);
  else if (!berth_i_decimal(text, out) || isinf(*out))
    st = fail(r, r->key->name, "is not a number", text);
  return st == BERTH_OK && *out < 0 && a->type != DEVICE
             ? fail(r, r->key->name, "is negative", text)
             : st;
}

/* Writers of other tools print ids as 3.0: any decimal without a fraction is accepted. */
static berth_status read_whole(const reader *r, const char *text, const attribute *a,
                               int32_t *out) {
  double x;
  if (!berth_i_decimal(text, &x) || x != floor(x))
    return fail(r, r->key->name, "is not a whole number", text);
  berth_status st;
  if ((st = read_number(r, text, a, &x)) != BERTH_OK) return st;
  if (x >= INT32_MAX) return fail(r, r->key->name, "is beyond 32 bits", text);
  *out = (int32_t)x;
  return BERTH_OK;
}

static berth_status read_flag(const reader *r, const char *text, uint32_t bit, uint32_t *flags) {
  static const char *const yes[] = { "true", "True", "TRUE", NULL }, *const no[] = {
    "false", "False", "FALSE", NULL
  };
  double x = 0;
  if (is_one_of(text, yes)) x = 1;
  else if (!is_one_of(text, no) && !(berth_i_decimal(text, &x) && (x == 0 || x == 1))) {
    return fail(r, r->key->name, "is neither true nor false", text);
  }
  *flags = x != 0 ? *flags | bit : *flags & ~bit;
  return BERTH_OK;
}

/* Sets a value of an element from r->value. Blanks around numbers and flags are dropped, and blank
 * ones are "not given"; texts stay as they are. */
static berth_status read_value(reader *r, int32_t column, xml_element *e, text_buffer *texts,
                               double *seconds) {
  const attribute *a = column < N_ATTRIBUTES ? &attributes[column] : &seconds_attribute;
  void *at = (char *)e + a->offset;
  char *text = r->value.at, *end = text + r->value.len;
  berth_status st;
  if (a->type == TEXT) {
    st = set_text(r, &texts[a->detail], text, r->value.len);
    if (st == BERTH_OK) e->text[a->detail] = texts[a->detail].at;
    return st;
  }
  /* strchr also finds the terminating zero: hence text < end */
  while (strchr(" \t\r\n", *text) && text < end) text++;
  while (end > text && strchr(" \t\r\n", end[-1])) *--end = 0;
  if (!*text) return BERTH_OK;
  if (a->type == FLAG) return read_flag(r, text, a->detail, at);
  if (a->type == WHOLE) return read_whole(r, text, a, at);
  double x;
  if ((st = read_number(r, text, a, &x)) == BERTH_OK)
    *(a == &seconds_attribute ? seconds : (double *)at) = x;
  return st;
}

/* ---- keys ---- */

/* list: name, value, name, value, ..., NULL, as expat gives it. */
static const char *attribute_of(const char *const *list, const char *name) {
  while (*list && strcmp(*list, name) != 0) list += 2;
  return *list ? list[1] : NULL;
}

static berth_status need(const reader *r, const char *element, const char *const *list,
                         const char *name, const char **out) {
  if ((*out = attribute_of(list, name))) return BERTH_OK;
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: <%s> has no \"%s\"", r->src->name, (int)r->line,
                      element, name);
}

/* Column of a key in a place. A column of seconds adds its device type: types are numbered by their
 * first key. */
static berth_status find_column(reader *r, const graphml_key *key,
                                xml_place place, int32_t *column) {
  size_t n = strlen(seconds_attribute.name);
  const char *rest = key->name + n;
  *column = UNREAD;
  int32_t type;
  if (place == IN_NODE && strncmp(key->name, seconds_attribute.name, n) == 0
      && (!*rest || *rest == ':')) {
    berth_status st;
    if ((st = berth_i_names_add(r->ctx, &r->types, *rest ? rest + 1 : "", &type)) != BERTH_OK)
      return st;
    *column = N_ATTRIBUTES + type;
  }
  for (int32_t k = 0; k < N_ATTRIBUTES; k++) {
    const attribute *a = &attributes[k];
    if (a->place == place && strcmp(a->name, key->name) == 0 && (a->type != DEVICE || key->number))
      *column = k;
  }
  return BERTH_OK;
}

/* Without "for" a key is for all places; without attr.name its id is the name, as some writers
 * leave it out. A key that is for other elements must not be used here (NOT_FOR). */
static berth_status fill_key(reader *r, graphml_key *key, const char *const *list) {
  /* attr.type decides whether a value is in base units (a number) or has a unit (a string) */
  static const char *const numbers[] = { "int", "long", "float", "double", NULL };
  static const char *const places[] = { "graph", "node", "edge" };
  const char *of = attribute_of(list, "for"), *name = attribute_of(list, "attr.name"),
             *type = attribute_of(list, "attr.type");
  berth_status st = BERTH_OK;
  key->name = berth_i_pool_strdup(&r->g.pool, name ? name : attribute_of(list, "id"));
  if ((st = berth_i_pool_status(&r->g.pool)) != BERTH_OK) return st;
  key->number = type && is_one_of(type, numbers);
  for (int k = 0; k < N_PLACES && st == BERTH_OK; k++) {
    key->column[k] = NOT_FOR;
    if (!of || strcmp(of, "all") == 0 || strcmp(of, places[k]) == 0)
      st = find_column(r, key, (xml_place)k, &key->column[k]);
  }
  if (strcmp(key->name, "name") == 0 && key->column[IN_NODE] != NOT_FOR) r->named = true;
  return st;
}

static berth_status open_key(reader *r, const char *const *list) {
  const char *id;
  berth_status st = need(r, "key", list, "id", &id);
  if (st != BERTH_OK) return st;
  if (r->begun) return fail(r, "key", "follows nodes, edges or data", id);
  if (berth_i_names_find(&r->key_ids, id) != BERTH_NONE)
    return fail(r, "key", "is declared twice", id);
  st = BERTH_I_POOL_GROW(&r->g.pool, r->keys, r->keys_cap, (size_t)r->key_ids.n + 1);
  if (st != BERTH_OK) return st;
  r->keys[r->key_ids.n] = (graphml_key){ .seconds = NAN };
  int32_t k;
  if ((st = berth_i_names_add(r->ctx, &r->key_ids, id, &k)) != BERTH_OK) return st;
  r->key = &r->keys[k];
  return fill_key(r, r->key, list);
}

/* In any place at all. */
static bool is_read(const graphml_key *key) {
  return key->column[IN_GRAPH] >= 0 || key->column[IN_NODE] >= 0 || key->column[IN_EDGE] >= 0;
}

/* A default of a column that is not read is passed over. */
static berth_status open_default(reader *r, const char *const *list) {
  (void)list;
  if (!is_read(r->key)) r->state[r->depth] = UNREAD_DATA;
  return set_text(r, &r->value, "", 0);
}

/* The default is checked and converted once, in every place that the key is for. */
static berth_status close_default(reader *r) {
  berth_status st = BERTH_OK;
  for (int k = 0; k < N_PLACES && st == BERTH_OK; k++) {
    if (r->key->column[k] < 0) continue;
    st = read_value(r, r->key->column[k], &r->first[k], r->first_text[k], &r->key->seconds);
  }
  return st;
}

/* All keys are known. */
static berth_status begin(reader *r) {
  size_t n = (size_t)r->types.n;
  if (r->begun) return BERTH_OK;
  r->begun = true;
  r->now[IN_GRAPH] = r->first[IN_GRAPH];
  r->seen = berth_i_pool_zalloc(&r->g.pool, N_ATTRIBUTES + n, sizeof *r->seen);
  /* values of the present node, then defaults */
  r->seconds = berth_i_pool_alloc(&r->g.pool, 2 * n, sizeof *r->seconds);
  berth_status st;
  if ((st = berth_i_pool_status(&r->g.pool)) != BERTH_OK) return st;
  for (size_t k = n; k < 2 * n; k++) r->seconds[k] = NAN;
  for (int32_t k = 0; k < r->key_ids.n; k++) {
    int32_t type = r->keys[k].column[IN_NODE] - N_ATTRIBUTES;
    if (type >= 0 && !isnan(r->keys[k].seconds)) r->seconds[n + (size_t)type] = r->keys[k].seconds;
  }
  return n ? berth_graph_builder_types(r->g.b, r->types.n, (const char *const *)r->types.text)
           : BERTH_OK;
}

/* ---- data ---- */

/* Of the element in which <data> is. */
static xml_place place_of(reader_state s) {
  return s == NODE ? IN_NODE : s == EDGE ? IN_EDGE : IN_GRAPH;
}

/* `seen` refuses the same key twice in one element: nodes and edges are numbered from 1 by
 * n_elements; columns of the graph, which is one element, always have 1. */
static berth_status open_data(reader *r, const char *const *list) {
  reader_state in = r->state[r->depth - 1];
  const char *id;
  int32_t element = in == GRAPH ? 1 : r->n_elements;
  berth_status st = need(r, "data", list, "key", &id);
  if (st != BERTH_OK || (st = begin(r)) != BERTH_OK) return st;
  int32_t k;
  if ((k = berth_i_names_find(&r->key_ids, id)) == BERTH_NONE)
    return fail(r, "data", "has a key that is not declared", id);
  r->key = &r->keys[k];
  int32_t column = r->key->column[place_of(in)];
  if (column == NOT_FOR)
    return fail(r, state_names[in], "has data of a key for other elements", id);
  if (column == UNREAD) r->state[r->depth] = UNREAD_DATA;
  else if (r->seen[column] == element) return fail(r, r->key->name, "is given twice", id);
  else r->seen[column] = element;
  return set_text(r, &r->value, "", 0);
}

static berth_status close_data(reader *r) {
  xml_place place = place_of(r->state[r->depth]);
  int32_t column = r->key->column[place];
  double *seconds = column < N_ATTRIBUTES ? NULL : &r->seconds[column - N_ATTRIBUTES];
  return read_value(r, column, &r->now[place], r->now_text[place], seconds);
}

/* ---- nodes ---- */

static berth_status open_node(reader *r, const char *const *list) {
  const char *id;
  berth_status st = need(r, "node", list, "id", &id);
  if (st != BERTH_OK || (st = begin(r)) != BERTH_OK) return st;
  if ((st = berth_i_graphml_name(&r->g, id, &r->node_id)) != BERTH_OK) return st;
  if (r->g.op_of[r->node_id] != BERTH_NONE) return fail(r, "node id", "is given twice", id);
  r->node_line = r->line;
  r->n_elements++;
  r->now[IN_NODE] = r->first[IN_NODE];
  /* every node starts from the defaults */
  memcpy(r->seconds, r->seconds + r->types.n, (size_t)r->types.n * sizeof *r->seconds);
  return BERTH_OK;
}

/* Without names, the labels or ids are names, unless the ids are but n0, n1, ... */
static const char *name_of(const reader *r) {
  const xml_element *e = &r->now[IN_NODE];
  const char *id = r->g.names.text[r->node_id];
  if (r->named) return e->text[NAME];
  char usual[24];
  snprintf(usual, sizeof usual, "n%d", (int)r->n_nodes);
  return strcmp(id, usual) == 0 ? e->text[LABEL] : id;
}

static berth_status add_collective(reader *r) {
  const xml_element *e = &r->now[IN_NODE];
  berth_collective c = { .bytes = e->op.bytes, .count = e->count };
  int k = 0;
  while (berth_i_collective_names[k]
         && strcmp(berth_i_collective_names[k], e->text[COLLECTIVE]) != 0)
    k++;
  if (!berth_i_collective_names[k])
    return fail(r, "collective", "is of no known kind", e->text[COLLECTIVE]);
  c.kind = (berth_collective_kind)k;
  return berth_i_graphml_add_collective(&r->g, r->node_id, &c);
}

/* A column "device" of whole numbers is a placement; with other values it is an attribute of
 * another tool, and ignored. */
static berth_status place_op(reader *r, int32_t op) {
  double x = r->now[IN_NODE].device;
  berth_status st = BERTH_I_POOL_GROW(&r->g.pool, r->device, r->device_cap, (size_t)op + 1);
  if (st != BERTH_OK) return st;
  if (isnan(x) && r->unplaced_line == 0) {
    r->unplaced_line = r->line;
    r->unplaced_id = r->node_id;
  }
  if (isnan(x)) return BERTH_OK;
  r->n_placed++;
  if (x < 0 || x >= INT32_MAX || x != floor(x)) r->foreign_device = true;
  else r->device[op] = (int32_t)x;
  return BERTH_OK;
}

/* An op has times for all types or for none. */
static berth_status close_node(reader *r) {
  xml_element *e = &r->now[IN_NODE];
  int32_t given = 0, *op = &r->g.op_of[r->node_id];
  r->line = r->node_line;
  char number[24];
  berth_status st;
  if (*e->text[COLLECTIVE]) st = add_collective(r);
  else {
    for (int32_t k = 0; k < r->types.n; k++) given += !isnan(r->seconds[k]);
    snprintf(number, sizeof number, "%d", (int)given);
    if (given > 0 && given < r->types.n)
      return fail(r, "seconds", "is given for some device types, but not for all", number);
    e->op.name = name_of(r);
    e->op.kind = e->text[KIND];
    if (given > 0) e->op.seconds = r->seconds;
    if ((st = berth_graph_builder_add_op(r->g.b, &e->op, op)) == BERTH_OK) st = place_op(r, *op);
  }
  r->n_nodes++;
  return st;
}

/* Devices of some ops only are an error: a partial placement has no meaning. */
static berth_status read_placement(reader *r, berth_placement **out) {
  if (r->foreign_device || r->n_placed == 0) return BERTH_OK;
  r->line = r->unplaced_line;
  if (r->line > 0)
    return fail(r, "node", "has no device, but others have", r->g.names.text[r->unplaced_id]);
  return berth_placement_new(r->ctx, r->n_placed, r->device, NULL, NULL, NAN, out);
}

/* ---- graph and edges ---- */

/* Nested graphs and files of several graphs are refused. */
static berth_status open_graph(reader *r, const char *const *list) {
  if (r->n_graphs++ > 0)
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: a second <graph>", r->src->name,
                        (int)r->line);
  const char *direction;
  berth_status st;
  if ((st = need(r, "graph", list, "edgedefault", &direction)) != BERTH_OK) return st;
  r->undirected = strcmp(direction, "undirected") == 0;
  if (r->undirected || strcmp(direction, "directed") == 0) return BERTH_OK;
  return fail(r, "edgedefault", "is neither directed nor undirected", direction);
}

/* An edge may override the graph's direction; undirected ones are refused. */
static berth_status open_edge(reader *r, const char *const *list) {
  static const char *const yes[] = { "true", "1", NULL };
  const char *directed = attribute_of(list, "directed");
  berth_i_graphml_edge *e = &r->now[IN_EDGE].edge;
  berth_status st = begin(r);
  if (st != BERTH_OK) return st;
  if (directed ? !is_one_of(directed, yes) : r->undirected) {
    return fail(r, "edge", "is undirected", directed ? directed : "edgedefault=\"undirected\"");
  }
  const char *from;
  if ((st = need(r, "edge", list, "source", &from)) != BERTH_OK) return st;
  const char *to;
  if ((st = need(r, "edge", list, "target", &to)) != BERTH_OK) return st;
  r->n_elements++;
  *e = r->first[IN_EDGE].edge;
  e->line = r->line;
  if ((st = berth_i_graphml_name(&r->g, from, &e->from)) != BERTH_OK) return st;
  return berth_i_graphml_name(&r->g, to, &e->to);
}

/* ---- elements ---- */

typedef struct rule {
  reader_state in;
  const char *name;
  reader_state to;
  berth_status (*open)(reader *r, const char *const *list);
} rule;

static const rule rules[] = {
  { TOP, "graphml", GRAPHML, NULL },      { GRAPHML, "key", KEY, open_key },
  { GRAPH, "key", KEY, open_key },        { KEY, "default", DEFAULT, open_default },
  { GRAPHML, "data", UNREAD_DATA, NULL }, { GRAPHML, "graph", GRAPH, open_graph },
  { GRAPH, "data", DATA, open_data },     { GRAPH, "node", NODE, open_node },
  { NODE, "data", DATA, open_data },      { GRAPH, "edge", EDGE, open_edge },
  { EDGE, "data", DATA, open_data },
};

/* Descriptions, ports, what other vocabularies put in, and all within values that are not read. */
static bool is_passed_over(const reader *r, reader_state in, const char *name) {
  if (r->skipped > 0 || in == UNREAD_DATA) return true;
  if (in == TOP || in == DATA || in == DEFAULT) return false;
  return strchr(name, '\n') || strcmp(name, "desc") == 0
         || (in == NODE && strcmp(name, "port") == 0);
}

static berth_status open_element(void *ud, const char *name, const char *const *list,
                                 int32_t line) {
  reader *r = ud;
  reader_state in = r->state[r->depth];
  if (is_passed_over(r, in, name)) {
    r->skipped++;
    return BERTH_OK;
  }
  r->line = line;
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
    if (rules[k].in != in || strcmp(rules[k].name, name) != 0) continue;
    r->state[++r->depth] = rules[k].to;
    return rules[k].open ? rules[k].open(r, list) : BERTH_OK;
  }
  if (strchr(name, '\n')) name = strchr(name, '\n') + 1;
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: <%.40s> is not read within %s", r->src->name,
                      (int)line, name, state_names[in]);
}

/* The state is popped before the handlers run: they see the enclosing element. */
static berth_status close_element(void *ud) {
  reader *r = ud;
  if (r->skipped > 0) {
    r->skipped--;
    return BERTH_OK;
  }
  switch (r->state[r->depth--]) {
  case DATA: return close_data(r);
  case DEFAULT: return close_default(r);
  case NODE: return close_node(r);
  case EDGE: return berth_i_graphml_add_edge(&r->g, &r->now[IN_EDGE].edge);
  default: return BERTH_OK;
  }
}

/* expat gives text in pieces: they are joined in `value` until the element ends. */
static berth_status add_text(void *ud, const char *text, size_t len) {
  reader *r = ud;
  text_buffer *v = &r->value;
  if (r->skipped > 0 || (r->state[r->depth] != DATA && r->state[r->depth] != DEFAULT))
    return BERTH_OK;
  berth_status st = berth_i_pool_grow(&r->g.pool, (void **)&v->at, &v->cap, v->len + len + 1, 1);
  if (st != BERTH_OK) return st;
  memcpy(v->at + v->len, text, len);
  v->len += len;
  v->at[v->len] = 0;
  return BERTH_OK;
}

/* ---- the whole ---- */

static void release(reader *r) {
  berth_i_names_release(r->ctx, &r->key_ids);
  berth_i_names_release(r->ctx, &r->types);
  berth_i_names_release(r->ctx, &r->g.names);
  berth_graph_builder_release(r->g.b);
  berth_i_pool_free(&r->g.pool);
}

/* All values start as "not given": resident_bytes -1 is "as bytes", tensor INFINITY "one of its
 * own". */
static berth_status read_elements(reader *r) {
  berth_i_xml_events events = { open_element, close_element, add_text, r };
  for (int k = 0; k < N_PLACES; k++) {
    r->first[k] = (xml_element){
      berth_op_default(), { .resident_bytes = -1, .tensor = INFINITY }, 1, NAN, { "", "", "", "" }
    };
    r->now[k] = r->first[k];
  }
  berth_status st;
  if ((st = berth_graph_builder_new(r->ctx, &r->g.b)) != BERTH_OK) return st;
  if ((st = berth_i_xml_read(r->ctx, r->src->name, r->src->text, r->src->len, &events)) != BERTH_OK)
    return st;
  if (r->n_graphs == 0)
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s: there is no <graph>", r->src->name);
  if ((st = begin(r)) != BERTH_OK) return st;
  return berth_graph_builder_name(r->g.b, r->now[IN_GRAPH].text[NAME]);
}

static berth_status read_graphml(const berth_i_source *src, berth_bundle *out) {
  reader r = { .src = src,
               .ctx = src->ctx,
               .g = { .pool = berth_i_pool_empty(src->ctx), .src = src } };
  berth_status st = read_elements(&r);
  if (st == BERTH_OK) st = berth_i_graphml_connect(&r.g);
  if (st == BERTH_OK) st = read_placement(&r, &out->placement);
  if (st == BERTH_OK) st = berth_graph_builder_finish(r.g.b, &out->graph);
  release(&r);
  return berth_i_blame_file(src->ctx, src->name, st);
}

/* In UTF-16 of either order there is a zero between two letters. */
static bool has_wide(const char *at, const char *end) {
  static const char word[] = "g\0r\0a\0p\0h\0m\0l";
  for (; (size_t)(end - at) >= sizeof word - 1; at++)
    if (memcmp(at, word, sizeof word - 1) == 0) return true;
  return false;
}

/* expat also reads UTF-16, which begins with a byte order mark. */
static berth_i_match match_graphml(berth_i_lines first) {
  const berth_i_source *src = first.src;
  const char *end = src->text + src->len;
  bool wide = src->len >= 2
              && (memcmp(src->text, "\xff\xfe", 2) == 0 || memcmp(src->text, "\xfe\xff", 2) == 0);
  bool yes =
      wide ? has_wide(src->text, end) : *first.at == '<' && berth_i_has(src->text, end, "graphml");
  return berth_i_match_if(yes, BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_graphml = {
  .about = { .choice = { "graphml", "XML of graphs, for other tools." }, .endings = "graphml",
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT,
             .saves = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT },
  .match_text = match_graphml, .read_text = read_graphml, .write = berth_i_write_graphml
};
