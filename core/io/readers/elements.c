/* Elements of a graph with named attributes: which of them are read, the values of the current
 * element, and nodes, which are ops or collectives.
 *
 * A key binds a name to columns: a column is an attribute of berth_i_element, or the seconds on a
 * device type. Every element starts from the defaults. Invariant: when the first node or edge
 * begins, all keys are known. An op is added when its node is closed. */
#include "elements_internal.h"

#include <stdio.h>

/* ---- attributes that are read ---- */

enum { NAME, LABEL, KIND, COLLECTIVE };
typedef enum key_type { QUANTITY, NUMBER, WHOLE, DEVICE, FLAG, TEXT } key_type;

typedef struct attribute {
  berth_i_place place;
  const char *name;
  key_type type;
  size_t offset;
  uint32_t detail; /* unit of a QUANTITY, bit of a FLAG, number of a TEXT */
} attribute;

#define AT(field) offsetof(berth_i_element, field)
static const attribute attributes[] = {
  { BERTH_I_IN_GRAPH, "name", TEXT, 0, NAME },
  { BERTH_I_IN_NODE, "name", TEXT, 0, NAME },
  { BERTH_I_IN_NODE, "label", TEXT, 0, LABEL },
  { BERTH_I_IN_NODE, "kind", TEXT, 0, KIND },
  { BERTH_I_IN_NODE, "collective", TEXT, 0, COLLECTIVE },
  { BERTH_I_IN_NODE, "flop", QUANTITY, AT(op.flop), BERTH_FLOP },
  { BERTH_I_IN_NODE, "bytes", QUANTITY, AT(op.bytes), BERTH_BYTES },
  { BERTH_I_IN_NODE, "param_bytes", QUANTITY, AT(op.param_bytes), BERTH_BYTES },
  { BERTH_I_IN_NODE, "workspace_bytes", QUANTITY, AT(op.workspace_bytes), BERTH_BYTES },
  { BERTH_I_IN_NODE, "group", WHOLE, AT(op.group), 0 },
  { BERTH_I_IN_NODE, "twin", WHOLE, AT(op.twin), 0 },
  { BERTH_I_IN_NODE, "pin", WHOLE, AT(op.pin), 0 },
  { BERTH_I_IN_NODE, "count", WHOLE, AT(count), 0 },
  { BERTH_I_IN_NODE, "device", DEVICE, AT(device), 0 },
  { BERTH_I_IN_NODE, "backward", FLAG, AT(op.flags), BERTH_OP_BACKWARD },
  { BERTH_I_IN_NODE, "update", FLAG, AT(op.flags), BERTH_OP_UPDATE },
  { BERTH_I_IN_NODE, "splittable", FLAG, AT(op.flags), BERTH_OP_SPLITTABLE },
  { BERTH_I_IN_NODE, "communication", FLAG, AT(op.flags), BERTH_OP_COMMUNICATION },
  { BERTH_I_IN_EDGE, "bytes", QUANTITY, AT(edge.bytes), BERTH_BYTES },
  { BERTH_I_IN_EDGE, "resident_bytes", QUANTITY, AT(edge.resident_bytes), BERTH_BYTES },
  { BERTH_I_IN_EDGE, "tensor", NUMBER, AT(edge.tensor), 0 },
  { BERTH_I_IN_EDGE, "batch", FLAG, AT(edge.flags), BERTH_TENSOR_BATCH },
  { BERTH_I_IN_EDGE, "gradient", FLAG, AT(edge.flags), BERTH_TENSOR_GRADIENT },
};
#undef AT
enum { N_ATTRIBUTES = sizeof attributes / sizeof *attributes };
static const attribute seconds_attribute = { BERTH_I_IN_NODE, "seconds", QUANTITY, 0,
                                             BERTH_SECONDS };

berth_status berth_i_elements_fail(const berth_i_elements *e, const char *what, const char *why,
                                   const char *value) {
  return berth_i_fail(e->ctx, BERTH_EPARSE, "%s:%d: %s %s (%.60s)", e->src->name, (int)e->line,
                      what, why, value);
}

berth_status berth_i_chars_add(berth_i_pool *pool, berth_i_chars *c, const char *text, size_t len) {
  berth_status st = berth_i_pool_grow(pool, (void **)&c->at, &c->cap, c->len + len + 1, 1);
  if (st != BERTH_OK) return st;
  if (len > 0) memcpy(c->at + c->len, text, len);
  c->len += len;
  c->at[c->len] = 0;
  return BERTH_OK;
}

/* ---- values ---- */

bool berth_i_is_one_of(const char *text, const char *const *words) {
  while (*words && strcmp(text, *words) != 0) words++;
  return *words != NULL;
}

static berth_status parse_quantity(const berth_i_elements *e, const char *name, const char *text,
                                   berth_unit unit, double *out) {
  bool bare;
  berth_status st = berth_i_quantity_or_number(e->ctx, text, unit, &bare, out);
  if (st != BERTH_EINVAL) return st;
  char message[256];
  snprintf(message, sizeof message, "%s", berth_errmsg(e->ctx));
  return berth_i_fail(e->ctx, BERTH_EPARSE, "%s:%d: %s: %s", e->src->name, (int)e->line, name,
                      message);
}

/* Python's and R's writers spell infinities out; only times may be infinite (unsupported). */
static berth_status read_number(const berth_i_elements *e, const berth_i_key *key,
                                const char *text, const attribute *a, double *out) {
  static const char *const infinities[] = { "Infinity", "INF", "inf", "infinity", NULL };
  berth_status st = BERTH_OK;
  if (a->type == QUANTITY && berth_i_is_one_of(text, infinities)) {
    if (a != &seconds_attribute) return berth_i_elements_fail(e, key->name, "is infinite", text);
    *out = INFINITY;
    return BERTH_OK;
  }
  if (a->type == QUANTITY && !key->number)
    st = parse_quantity(e, key->name, text, (berth_unit)a->detail, out);
  else if (!berth_i_decimal(text, out) || isinf(*out))
    st = berth_i_elements_fail(e, key->name, "is not a number", text);
  return st == BERTH_OK && *out < 0 && a->type != DEVICE
             ? berth_i_elements_fail(e, key->name, "is negative", text)
             : st;
}

/* Writers of other tools print ids as 3.0: any decimal without a fraction is accepted. */
static berth_status read_whole(const berth_i_elements *e, const berth_i_key *key, const char *text,
                               const attribute *a, int32_t *out) {
  double x;
  if (!berth_i_decimal(text, &x) || x != floor(x))
    return berth_i_elements_fail(e, key->name, "is not a whole number", text);
  berth_status st;
  if ((st = read_number(e, key, text, a, &x)) != BERTH_OK) return st;
  if (x >= INT32_MAX) return berth_i_elements_fail(e, key->name, "is beyond 32 bits", text);
  *out = (int32_t)x;
  return BERTH_OK;
}

static berth_status read_flag(const berth_i_elements *e, const berth_i_key *key, const char *text,
                              uint32_t bit, uint32_t *flags) {
  /* Python writes True, R TRUE, Java true */
  static const char *const yes[] = { "true", "True", "TRUE", NULL }, *const no[] = {
    "false", "False", "FALSE", NULL
  };
  double x = 0;
  if (berth_i_is_one_of(text, yes)) x = 1;
  else if (!berth_i_is_one_of(text, no) && !(berth_i_decimal(text, &x) && (x == 0 || x == 1))) {
    return berth_i_elements_fail(e, key->name, "is neither true nor false", text);
  }
  *flags = x != 0 ? *flags | bit : *flags & ~bit;
  return BERTH_OK;
}

/* Sets a value of `to`. Blanks around numbers and flags are dropped, and blank ones are "not
 * given"; texts stay as they are. */
static berth_status read_value(berth_i_elements *e, const berth_i_key *key, berth_i_place place,
                               berth_i_chars *value, berth_i_element *to, berth_i_chars *texts,
                               double *seconds) {
  int32_t column = key->column[place];
  const attribute *a = column < N_ATTRIBUTES ? &attributes[column] : &seconds_attribute;
  void *at = (char *)to + a->offset;
  char *text = value->at, *end = text + value->len;
  berth_status st;
  if (a->type == TEXT) {
    texts[a->detail].len = 0;
    st = berth_i_chars_add(&e->pool, &texts[a->detail], text, value->len);
    if (st == BERTH_OK) to->text[a->detail] = texts[a->detail].at;
    return st;
  }
  /* strchr also finds the terminating zero: hence text < end */
  while (strchr(" \t\r\n", *text) && text < end) text++;
  while (end > text && strchr(" \t\r\n", end[-1])) *--end = 0;
  if (!*text) return BERTH_OK;
  if (a->type == FLAG) return read_flag(e, key, text, a->detail, at);
  if (a->type == WHOLE) return read_whole(e, key, text, a, at);
  double x;
  if ((st = read_number(e, key, text, a, &x)) == BERTH_OK)
    *(column < N_ATTRIBUTES ? (double *)at : &seconds[column - N_ATTRIBUTES]) = x;
  return st;
}

berth_status berth_i_elements_value(berth_i_elements *e, const berth_i_key *key,
                                    berth_i_place place, berth_i_chars *value) {
  return read_value(e, key, place, value, &e->now[place], e->now_text[place], e->seconds);
}

/* ---- keys ---- */

/* Types are numbered by their first key. */
static berth_status add_type(berth_i_elements *e, const char *name, int32_t *type) {
  int32_t known = e->types.n;
  berth_status st = berth_i_names_add(e->ctx, &e->types, name, type);
  if (st != BERTH_OK || *type < known) return st;
  st = BERTH_I_POOL_GROW(&e->pool, e->first_seconds, e->first_seconds_cap, (size_t)known + 1);
  if (st == BERTH_OK) e->first_seconds[known] = NAN;
  return st;
}

berth_status berth_i_elements_key(berth_i_elements *e, const berth_i_key *key, berth_i_place place,
                                  int32_t *column) {
  size_t n = strlen(seconds_attribute.name);
  *column = BERTH_I_UNREAD;
  if (place == BERTH_I_IN_NODE && strncmp(key->name, seconds_attribute.name, n) == 0
      && (!key->name[n] || key->name[n] == ':')) {
    int32_t type;
    berth_status st = add_type(e, key->name[n] ? key->name + n + 1 : "", &type);
    if (st != BERTH_OK) return st;
    *column = N_ATTRIBUTES + type;
  }
  for (int32_t k = 0; k < N_ATTRIBUTES; k++) {
    const attribute *a = &attributes[k];
    if (a->place == place && strcmp(a->name, key->name) == 0 && (a->type != DEVICE || key->number))
      *column = k;
  }
  if (place == BERTH_I_IN_NODE && strcmp(key->name, "name") == 0) e->named = true;
  return BERTH_OK;
}

/* Checked and converted once, in every place that the key is for. */
berth_status berth_i_elements_default(berth_i_elements *e, const berth_i_key *key,
                                      berth_i_chars *value) {
  berth_status st = BERTH_OK;
  for (int k = 0; k < BERTH_I_PLACES && st == BERTH_OK; k++) {
    if (key->column[k] < 0) continue;
    st = read_value(e, key, (berth_i_place)k, value, &e->first[k], e->first_text[k],
                    e->first_seconds);
  }
  return st;
}

berth_status berth_i_elements_begin(berth_i_elements *e) {
  int32_t n = e->types.n;
  if (e->begun) return BERTH_OK;
  e->begun = true;
  e->now[BERTH_I_IN_GRAPH] = e->first[BERTH_I_IN_GRAPH];
  e->seen = berth_i_pool_zalloc(&e->pool, N_ATTRIBUTES + (size_t)n, sizeof *e->seen);
  e->seconds = berth_i_pool_alloc(&e->pool, (size_t)n, sizeof *e->seconds);
  berth_status st = berth_i_pool_status(&e->pool);
  if (st != BERTH_OK || n == 0) return st;
  return berth_graph_builder_types(e->b, n, (const char *const *)e->types.text);
}

/* Nodes and edges are numbered from 1 by n_elements; columns of the graph, which is one element,
 * always have 1. */
bool berth_i_elements_seen(berth_i_elements *e, berth_i_place place, int32_t column) {
  int32_t element = place == BERTH_I_IN_GRAPH ? 1 : e->n_elements;
  bool seen = e->seen[column] == element;
  e->seen[column] = element;
  return seen;
}

/* ---- nodes ---- */

berth_status berth_i_elements_open_node(berth_i_elements *e, int32_t id) {
  if (e->op_of[id] != BERTH_NONE)
    return berth_i_elements_fail(e, "node id", "is given twice", e->names.text[id]);
  e->node_id = id;
  e->node_line = e->line;
  e->n_elements++;
  e->now[BERTH_I_IN_NODE] = e->first[BERTH_I_IN_NODE];
  if (e->types.n > 0)
    memcpy(e->seconds, e->first_seconds, (size_t)e->types.n * sizeof *e->seconds);
  return BERTH_OK;
}

/* Without names, the labels or ids are names, unless the ids are but n0, n1, ... or numbers. */
static const char *name_of(const berth_i_elements *e) {
  const berth_i_element *now = &e->now[BERTH_I_IN_NODE];
  const char *id = e->names.text[e->node_id];
  char usual[24];
  double number;
  if (e->named) return now->text[NAME];
  snprintf(usual, sizeof usual, "n%d", (int)e->n_nodes);
  if (strcmp(id, usual) == 0) return now->text[LABEL];
  return *now->text[LABEL] && berth_i_decimal(id, &number) ? now->text[LABEL] : id;
}

static berth_status add_collective(berth_i_elements *e) {
  const berth_i_element *now = &e->now[BERTH_I_IN_NODE];
  berth_collective c = { .bytes = now->op.bytes, .count = now->count };
  int k = 0;
  while (berth_i_collective_names[k]
         && strcmp(berth_i_collective_names[k], now->text[COLLECTIVE]) != 0)
    k++;
  if (!berth_i_collective_names[k])
    return berth_i_elements_fail(e, "collective", "is of no known kind", now->text[COLLECTIVE]);
  c.kind = (berth_collective_kind)k;
  return berth_i_elements_add_collective(e, e->node_id, &c);
}

/* A column "device" of whole numbers is a placement; with other values it is an attribute of
 * another tool, and ignored. */
static berth_status place_op(berth_i_elements *e, int32_t op) {
  double x = e->now[BERTH_I_IN_NODE].device;
  berth_status st = BERTH_I_POOL_GROW(&e->pool, e->device, e->device_cap, (size_t)op + 1);
  if (st != BERTH_OK) return st;
  if (isnan(x) && e->unplaced_line == 0) {
    e->unplaced_line = e->line;
    e->unplaced_id = e->node_id;
  }
  if (isnan(x)) return BERTH_OK;
  e->n_placed++;
  if (x < 0 || x >= INT32_MAX || x != floor(x)) e->foreign_device = true;
  else e->device[op] = (int32_t)x;
  return BERTH_OK;
}

/* An op has times for all types or for none. */
static berth_status add_op(berth_i_elements *e) {
  berth_i_element *now = &e->now[BERTH_I_IN_NODE];
  int32_t given = 0, *op = &e->op_of[e->node_id];
  for (int32_t k = 0; k < e->types.n; k++) given += !isnan(e->seconds[k]);
  char number[24];
  snprintf(number, sizeof number, "%d", (int)given);
  if (given > 0 && given < e->types.n)
    return berth_i_elements_fail(e, "seconds", "is given for some device types, but not for all",
                                 number);
  now->op.name = name_of(e);
  now->op.kind = now->text[KIND];
  if (given > 0) now->op.seconds = e->seconds;
  berth_status st = berth_graph_builder_add_op(e->b, &now->op, op);
  return st == BERTH_OK ? place_op(e, *op) : st;
}

berth_status berth_i_elements_close_node(berth_i_elements *e) {
  bool collective = *e->now[BERTH_I_IN_NODE].text[COLLECTIVE] != 0;
  e->line = e->node_line;
  berth_status st = collective ? add_collective(e) : add_op(e);
  e->n_nodes++;
  return st;
}

void berth_i_elements_open_edge(berth_i_elements *e, int32_t from, int32_t to) {
  berth_i_element_edge *edge = &e->now[BERTH_I_IN_EDGE].edge;
  e->n_elements++;
  *edge = e->first[BERTH_I_IN_EDGE].edge;
  edge->line = e->line;
  edge->from = from;
  edge->to = to;
}

/* ---- the whole ---- */

/* All values start as "not given": resident_bytes -1 is "as bytes", tensor INFINITY "one of its
 * own". */
berth_status berth_i_elements_open(const berth_i_source *src, berth_i_elements *e) {
  *e = (berth_i_elements){ .pool = berth_i_pool_empty(src->ctx), .src = src, .ctx = src->ctx };
  for (int k = 0; k < BERTH_I_PLACES; k++) {
    e->first[k] = (berth_i_element){
      berth_op_default(), { .resident_bytes = -1, .tensor = INFINITY }, 1, NAN, { "", "", "", "" }
    };
    e->now[k] = e->first[k];
  }
  return berth_graph_builder_new(e->ctx, &e->b);
}

/* Devices of some ops only are an error: a partial placement has no meaning. */
static berth_status read_placement(berth_i_elements *e, berth_placement **out) {
  if (e->foreign_device || e->n_placed == 0) return BERTH_OK;
  e->line = e->unplaced_line;
  if (e->line > 0)
    return berth_i_elements_fail(e, "node", "has no device, but others have",
                                 e->names.text[e->unplaced_id]);
  return berth_placement_new(e->ctx, e->n_placed, e->device, NULL, NULL, NAN, out);
}

berth_status berth_i_elements_finish(berth_i_elements *e, berth_bundle *out) {
  berth_status st;
  if ((st = berth_i_elements_begin(e)) != BERTH_OK) return st;
  st = berth_graph_builder_name(e->b, e->now[BERTH_I_IN_GRAPH].text[NAME]);
  if (st == BERTH_OK) st = berth_i_elements_connect(e);
  if (st == BERTH_OK) st = read_placement(e, &out->placement);
  if (st == BERTH_OK) st = berth_graph_builder_finish(e->b, &out->graph);
  return st;
}

void berth_i_elements_release(berth_i_elements *e) {
  berth_i_names_release(e->ctx, &e->types);
  berth_i_names_release(e->ctx, &e->names);
  berth_graph_builder_release(e->b);
  berth_i_pool_free(&e->pool);
}
