/* GraphML in, in one pass of expat: nodes are ops, edges are tensors; attributes as docs/formats.md
 * lists them.
 *
 * A stack of states, at most six deep, is the open elements; a table of rules lists which element
 * may open in which state. <key> declares attributes. Invariant: when the first node, edge or data
 * begins, all keys are known. */
#include "elements_internal.h"
#include "extern/expat_internal.h"

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
  berth_i_elements e;
  reader_state state[MOST_STATES];
  int32_t depth;
  int64_t skipped;     /* open elements that are passed over */
  berth_i_chars value; /* of the <data> or current <default> */
  berth_i_names key_ids;
  berth_i_key *keys;   /* [key_ids.n] */
  size_t keys_cap;
  berth_i_key *key;    /* current */
  int32_t n_graphs;
  bool undirected;
} reader;

static berth_status fail(const reader *r, const char *what, const char *why, const char *value) {
  return berth_i_elements_fail(&r->e, what, why, value);
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
  return berth_i_fail(r->e.ctx, BERTH_EPARSE, "%s:%d: <%s> has no \"%s\"", r->e.src->name,
                      (int)r->e.line, element, name);
}

/* Without "for" a key is for all places; without attr.name its id is the name, as some writers
 * leave it out. A key that is for other elements must not be used here. */
static berth_status fill_key(reader *r, berth_i_key *key, const char *const *list) {
  /* attr.type decides whether a value is in base units (a number) or has a unit (a string) */
  static const char *const numbers[] = { "int", "long", "float", "double", NULL };
  static const char *const places[] = { "graph", "node", "edge" };
  const char *of = attribute_of(list, "for"), *name = attribute_of(list, "attr.name"),
             *type = attribute_of(list, "attr.type");
  berth_status st;
  key->name = berth_i_pool_strdup(&r->e.pool, name ? name : attribute_of(list, "id"));
  if ((st = berth_i_pool_status(&r->e.pool)) != BERTH_OK) return st;
  key->number = type && berth_i_is_one_of(type, numbers);
  for (int k = 0; k < BERTH_I_PLACES && st == BERTH_OK; k++) {
    key->column[k] = BERTH_I_NOT_FOR;
    if (!of || strcmp(of, "all") == 0 || strcmp(of, places[k]) == 0)
      st = berth_i_elements_key(&r->e, key, (berth_i_place)k, &key->column[k]);
  }
  return st;
}

static berth_status open_key(reader *r, const char *const *list) {
  const char *id;
  berth_status st = need(r, "key", list, "id", &id);
  if (st != BERTH_OK) return st;
  if (r->e.begun) return fail(r, "key", "follows nodes, edges or data", id);
  if (berth_i_names_find(&r->key_ids, id) != BERTH_NONE)
    return fail(r, "key", "is declared twice", id);
  st = BERTH_I_POOL_GROW(&r->e.pool, r->keys, r->keys_cap, (size_t)r->key_ids.n + 1);
  if (st != BERTH_OK) return st;
  r->keys[r->key_ids.n] = (berth_i_key){ 0 };
  int32_t k;
  if ((st = berth_i_names_add(r->e.ctx, &r->key_ids, id, &k)) != BERTH_OK) return st;
  r->key = &r->keys[k];
  return fill_key(r, r->key, list);
}

/* In any place at all. */
static bool is_read(const berth_i_key *key) {
  bool read = false;
  for (int k = 0; k < BERTH_I_PLACES; k++) read = read || key->column[k] >= 0;
  return read;
}

static berth_status clear_value(reader *r) {
  r->value.len = 0;
  return berth_i_chars_add(&r->e.pool, &r->value, "", 0);
}

/* A default of a column that is not read is passed over. */
static berth_status open_default(reader *r, const char *const *list) {
  (void)list;
  if (!is_read(r->key)) r->state[r->depth] = UNREAD_DATA;
  return clear_value(r);
}

/* ---- data ---- */

/* Of the element in which <data> is. */
static berth_i_place place_of(reader_state s) {
  return s == NODE ? BERTH_I_IN_NODE : s == EDGE ? BERTH_I_IN_EDGE : BERTH_I_IN_GRAPH;
}

static berth_status open_data(reader *r, const char *const *list) {
  reader_state in = r->state[r->depth - 1];
  const char *id;
  berth_status st = need(r, "data", list, "key", &id);
  if (st != BERTH_OK || (st = berth_i_elements_begin(&r->e)) != BERTH_OK) return st;
  int32_t k;
  if ((k = berth_i_names_find(&r->key_ids, id)) == BERTH_NONE)
    return fail(r, "data", "has a key that is not declared", id);
  r->key = &r->keys[k];
  int32_t column = r->key->column[place_of(in)];
  if (column == BERTH_I_NOT_FOR)
    return fail(r, state_names[in], "has data of a key for other elements", id);
  if (column == BERTH_I_UNREAD) r->state[r->depth] = UNREAD_DATA;
  else if (berth_i_elements_seen(&r->e, place_of(in), column))
    return fail(r, r->key->name, "is given twice", id);
  return clear_value(r);
}

/* ---- graph, nodes and edges ---- */

static berth_status open_node(reader *r, const char *const *list) {
  const char *id;
  int32_t name;
  berth_status st = need(r, "node", list, "id", &id);
  if (st != BERTH_OK || (st = berth_i_elements_begin(&r->e)) != BERTH_OK) return st;
  if ((st = berth_i_elements_name(&r->e, id, &name)) != BERTH_OK) return st;
  return berth_i_elements_open_node(&r->e, name);
}

/* Nested graphs and files of several graphs are refused. */
static berth_status open_graph(reader *r, const char *const *list) {
  if (r->n_graphs++ > 0)
    return berth_i_fail(r->e.ctx, BERTH_EPARSE, "%s:%d: a second <graph>", r->e.src->name,
                        (int)r->e.line);
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
  const char *directed = attribute_of(list, "directed"), *from, *to;
  int32_t ends[2];
  berth_status st = berth_i_elements_begin(&r->e);
  if (st != BERTH_OK) return st;
  if (directed ? !berth_i_is_one_of(directed, yes) : r->undirected) {
    return fail(r, "edge", "is undirected", directed ? directed : "edgedefault=\"undirected\"");
  }
  if ((st = need(r, "edge", list, "source", &from)) != BERTH_OK) return st;
  if ((st = need(r, "edge", list, "target", &to)) != BERTH_OK) return st;
  if ((st = berth_i_elements_name(&r->e, from, &ends[0])) != BERTH_OK) return st;
  if ((st = berth_i_elements_name(&r->e, to, &ends[1])) != BERTH_OK) return st;
  berth_i_elements_open_edge(&r->e, ends[0], ends[1]);
  return BERTH_OK;
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
  r->e.line = line;
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
    if (rules[k].in != in || strcmp(rules[k].name, name) != 0) continue;
    r->state[++r->depth] = rules[k].to;
    return rules[k].open ? rules[k].open(r, list) : BERTH_OK;
  }
  if (strchr(name, '\n')) name = strchr(name, '\n') + 1;
  return berth_i_fail(r->e.ctx, BERTH_EPARSE, "%s:%d: <%.40s> is not read within %s",
                      r->e.src->name, (int)line, name, state_names[in]);
}

/* The state is popped before the handlers run: they see the enclosing element. */
static berth_status close_element(void *ud) {
  reader *r = ud;
  if (r->skipped > 0) {
    r->skipped--;
    return BERTH_OK;
  }
  switch (r->state[r->depth--]) {
  case DATA:
    return berth_i_elements_value(&r->e, r->key, place_of(r->state[r->depth]), &r->value);
  case DEFAULT: return berth_i_elements_default(&r->e, r->key, &r->value);
  case NODE: return berth_i_elements_close_node(&r->e);
  case EDGE: return berth_i_elements_close_edge(&r->e);
  default: return BERTH_OK;
  }
}

/* expat gives text in pieces: they are joined in `value` until the element ends. */
static berth_status add_text(void *ud, const char *text, size_t len) {
  reader *r = ud;
  if (r->skipped > 0 || (r->state[r->depth] != DATA && r->state[r->depth] != DEFAULT))
    return BERTH_OK;
  return berth_i_chars_add(&r->e.pool, &r->value, text, len);
}

/* ---- the whole ---- */

static berth_status read_elements(reader *r, const berth_i_source *src, berth_bundle *out) {
  berth_i_xml_events events = { open_element, close_element, add_text, r };
  berth_status st = berth_i_elements_open(src, &r->e);
  if (st == BERTH_OK) st = berth_i_xml_read(src->ctx, src->name, src->text, src->len, &events);
  if (st == BERTH_OK && r->n_graphs == 0)
    return berth_i_fail(src->ctx, BERTH_EPARSE, "%s: there is no <graph>", src->name);
  return st == BERTH_OK ? berth_i_elements_finish(&r->e, out) : st;
}

static berth_status read_graphml(const berth_i_source *src, berth_bundle *out) {
  reader r = { .n_graphs = 0 };
  berth_status st = read_elements(&r, src, out);
  berth_i_names_release(src->ctx, &r.key_ids);
  berth_i_elements_release(&r.e);
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
