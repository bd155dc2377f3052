/* GML in (docs/formats.md, "gml"): lists of keys with values, which are numbers, texts or lists.
 * Nodes are ops, edges are tensors; lists within them are passed over. */
#include "listed_internal.h"

#include <stdio.h>

typedef enum gml_token { END, WORD, TEXT, OPEN, CLOSE } gml_token;

typedef struct reader {
  berth_i_listed l;
  berth_i_lines in;       /* what follows the token, up to the end of the file; its line */
  gml_token token;
  int32_t line;           /* of the token */
  const char *at, *end;   /* of a WORD or TEXT, as it is in the file */
  berth_i_chars key, text;
  int32_t n_graphs;
  bool directed;
} reader;

/* ---- tokens ---- */

/* A comment is a line that begins with #. Text is from quote to quote.  @return false: it has no
 * end */
static bool next_token(berth_i_lines *in, gml_token *token, const char **from, const char **to,
                       int32_t *line) {
  while (in->at < in->end && strchr(" \t\r\n#", *in->at)) {
    if (*in->at == '#')
      while (in->at + 1 < in->end && in->at[1] != '\n') in->at++;
    in->line += *in->at++ == '\n';
  }
  *line = in->line;
  *token = END;
  *from = *to = in->at;
  if (in->at == in->end) return true;
  bool text = *in->at == '"';
  *token = text ? TEXT : *in->at == '[' ? OPEN : *in->at == ']' ? CLOSE : WORD;
  in->at++;
  if (*token == OPEN || *token == CLOSE) return true;
  while (in->at < in->end && !strchr(text ? "\"" : " \t\r\n[]\"", *in->at))
    in->line += *in->at++ == '\n';
  *from += text;
  *to = in->at;
  if (!text) return true;
  if (in->at == in->end) return false;
  in->at++;
  return true;
}

static berth_status fail(const reader *r, const char *what, const char *value) {
  return berth_i_fail(r->l.e.ctx, BERTH_EPARSE, "%s:%d: %s (%.60s)", r->in.src->name, (int)r->line,
                      what, value);
}

static berth_status fail_at(reader *r, int32_t line, const char *what, const char *value) {
  r->line = line;
  return fail(r, what, value);
}

static berth_status next(reader *r) {
  if (!next_token(&r->in, &r->token, &r->at, &r->end, &r->line))
    return fail(r, "text has no end", "\"");
  return BERTH_OK;
}

static berth_status unexpected(const reader *r, const char *wanted) {
  static const char *const names[] = { "end of the file", NULL, NULL, "[", "]" };
  char what[40], is[48];
  snprintf(what, sizeof what, "%s is expected", wanted);
  snprintf(is, sizeof is, "%.*s", (int)(r->end - r->at < 40 ? r->end - r->at : 40), r->at);
  return fail(r, what, names[r->token] ? names[r->token] : is);
}

static bool is_name(gml_token token, const char *from) {
  return token == WORD && ((*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z'));
}

/* A key, kept in r->key; then the value is the token. */
static berth_status read_key(reader *r) {
  if (!is_name(r->token, r->at)) return unexpected(r, "a key");
  r->key.len = 0;
  berth_status st = berth_i_chars_add(&r->l.e.pool, &r->key, r->at, (size_t)(r->end - r->at));
  if (st == BERTH_OK) st = next(r);
  if (st == BERTH_OK && (r->token == END || r->token == CLOSE)) return unexpected(r, "a value");
  return st;
}

static bool is_key(const reader *r, const char *key) { return strcmp(r->key.at, key) == 0; }

/* Character of an entity, as UTF-8.  @return its length in the file; 0: it is none */
static size_t entity(const char *at, const char *end, char *out) {
  static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;" };
  for (int k = 0; k < 5; k++) {
    size_t n = strlen(names[k]);
    if ((size_t)(end - at) < n || memcmp(at, names[k], n) != 0) continue;
    out[0] = "&<>\"'"[k];
    out[1] = 0;
    return n;
  }
  bool hex = end - at > 2 && (at[2] | 32) == 'x';
  const char *digit = at + 2 + hex;
  uint32_t c = 0;
  if (end - at < 4 || at[1] != '#') return 0;
  for (; digit < end && *digit != ';' && c < 0x110000; digit++) {
    const char *found = strchr("0123456789abcdef", *digit | 32);
    if (!found || (!hex && *digit > '9')) return 0;
    c = c * (hex ? 16 : 10) + (uint32_t)(found - "0123456789abcdef");
  }
  if (digit == end || *digit != ';' || c == 0) return 0;
  size_t n = berth_i_utf8_put(c, out);
  out[n] = 0;
  return n > 0 ? (size_t)(digit + 1 - at) : 0;
}

/* The token in r->text, without the + of a number; then the next one. */
static berth_status read_scalar(reader *r) {
  berth_status st = BERTH_OK;
  const char *from = r->at + (r->token == WORD && *r->at == '+');
  char c[5];
  r->text.len = 0;
  for (const char *at = from; r->token == TEXT && at < r->end && st == BERTH_OK; at++) {
    size_t n = *at == '&' ? entity(at, r->end, c) : 0;
    if (n == 0) continue;
    st = berth_i_chars_add(&r->l.e.pool, &r->text, from, (size_t)(at - from));
    if (st == BERTH_OK) st = berth_i_chars_add(&r->l.e.pool, &r->text, c, strlen(c));
    from = at + n;
    at = from - 1;
  }
  if (st == BERTH_OK)
    st = berth_i_chars_add(&r->l.e.pool, &r->text, from, (size_t)(r->end - from));
  return st == BERTH_OK ? next(r) : st;
}

/* Passes over a value, which is the token; keys in it are not checked. */
static berth_status skip_value(reader *r) {
  int64_t open = 0;
  berth_status st;
  do {
    open += (r->token == OPEN) - (r->token == CLOSE);
    if (r->token == END) return unexpected(r, "]");
    if ((st = next(r)) != BERTH_OK) return st;
  } while (open > 0);
  return BERTH_OK;
}

/* ---- elements ---- */

typedef struct element {
  int32_t id, from, to, values; /* names */
} element;

static berth_status read_member(reader *r, berth_i_place place, element *e) {
  int32_t line = r->line, *name = NULL;
  berth_status st = read_key(r);
  if (st != BERTH_OK) return st;
  if (r->token == OPEN) return skip_value(r);
  if ((st = read_scalar(r)) != BERTH_OK) return st;
  if (place == BERTH_I_IN_NODE && is_key(r, "id")) name = &e->id;
  if (place == BERTH_I_IN_EDGE && is_key(r, "source")) name = &e->from;
  if (place == BERTH_I_IN_EDGE && is_key(r, "target")) name = &e->to;
  if (!name)
    return berth_i_listed_value_add(&r->l, place, r->key.at, r->text.at, line, &e->values);
  if (*name != BERTH_NONE) return fail_at(r, line, "key is given twice", r->key.at);
  return berth_i_elements_name(&r->l.e, r->text.at, name);
}

static berth_status read_element(reader *r, berth_i_place place) {
  element e = { BERTH_NONE, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  bool node = place == BERTH_I_IN_NODE;
  int32_t line = r->line;
  if (r->token != OPEN) return unexpected(r, "[");
  berth_status st = next(r);
  while (st == BERTH_OK && r->token != CLOSE) st = read_member(r, place, &e);
  if (st == BERTH_OK) st = next(r);
  if (st != BERTH_OK) return st;
  if (node && e.id == BERTH_NONE) return fail_at(r, line, "node has no id", "node");
  if (!node && e.from == BERTH_NONE) return fail_at(r, line, "edge has no source", "edge");
  if (!node && e.to == BERTH_NONE) return fail_at(r, line, "edge has no target", "edge");
  if (node) return berth_i_listed_node_add(&r->l, (berth_i_listed_node){ e.id, line, e.values });
  return berth_i_listed_edge_add(&r->l, (berth_i_listed_edge){
      e.from, e.to, line, e.values, BERTH_NONE, BERTH_NONE });
}

/* ---- the whole ---- */

/* A key of the graph; others than these are not read. */
static berth_status read_part(reader *r) {
  berth_status st = read_key(r);
  if (st != BERTH_OK) return st;
  if (is_key(r, "node")) return read_element(r, BERTH_I_IN_NODE);
  if (is_key(r, "edge")) return read_element(r, BERTH_I_IN_EDGE);
  if (r->token == OPEN) return skip_value(r);
  if ((st = read_scalar(r)) != BERTH_OK) return st;
  if (is_key(r, "directed")) r->directed = strcmp(r->text.at, "1") == 0;
  return is_key(r, "name") ? berth_i_listed_graph_name(&r->l, r->text.at) : BERTH_OK;
}

static berth_status read_graph(reader *r) {
  int32_t line = r->line;
  berth_status st;
  if (r->token != OPEN) return unexpected(r, "[");
  if (r->n_graphs++ > 0) return fail(r, "a second graph", "graph");
  if ((st = next(r)) != BERTH_OK) return st;
  for (int32_t k = 0; st == BERTH_OK && r->token != CLOSE; k++) {
    if (k % 1024 == 0 && (st = berth_i_interrupted(r->l.e.ctx)) != BERTH_OK) return st;
    st = read_part(r);
  }
  if (st == BERTH_OK) st = next(r);
  if (st != BERTH_OK || r->directed || r->l.n_edges == 0) return st;
  return fail_at(r, line, "graph is undirected, it has not this key", "directed 1");
}

static berth_status read_all(reader *r, berth_bundle *out) {
  berth_status st = next(r);
  while (st == BERTH_OK && r->token != END) {
    if ((st = read_key(r)) == BERTH_OK) st = is_key(r, "graph") ? read_graph(r) : skip_value(r);
  }
  if (st == BERTH_OK && r->n_graphs == 0) st = unexpected(r, "graph");
  return st == BERTH_OK ? berth_i_listed_finish(&r->l, out) : st;
}

static berth_status read_gml(const berth_i_source *src, berth_bundle *out) {
  reader r = { .n_graphs = 0 };
  r.in = (berth_i_lines){ .src = src, .at = src->text, .end = src->text + src->len, .line = 1 };
  berth_status st = berth_i_listed_open(src, &r.l);
  r.l.once = true;
  if (st == BERTH_OK) st = read_all(&r, out);
  berth_i_listed_release(&r.l);
  return berth_i_blame_file(src->ctx, src->name, st);
}

/* Keys with numbers or texts (Creator, Version, ...), then graph and a bracket. */
static berth_i_match match_gml(berth_i_lines first) {
  const char *from, *to;
  int32_t line;
  gml_token key = WORD, value = WORD;
  first.end = first.src->text + first.src->len;
  for (bool graph = false; value == WORD || value == TEXT;) {
    if (!next_token(&first, &key, &from, &to, &line)) return BERTH_I_MATCH_NONE;
    if (!is_name(key, from)) return BERTH_I_MATCH_NONE;
    graph = to - from == 5 && memcmp(from, "graph", 5) == 0;
    if (!next_token(&first, &value, &from, &to, &line)) return BERTH_I_MATCH_NONE;
    if (graph) return berth_i_match_if(value == OPEN, BERTH_I_MATCH_MARK);
  }
  return BERTH_I_MATCH_NONE;
}

const berth_i_format berth_i_format_gml = {
  .about = { .choice = { "gml", "Graphs of networkx, igraph, yEd and others." },
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT },
  .match_text = match_gml, .read_text = read_gml
};
