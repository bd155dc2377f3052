/* Graphviz's DOT in (docs/formats.md, "dot"): directed graphs. Nodes are ops in the order of their
 * first mention, edges are tensors.
 *
 * A lexer of one token ahead, and a recursive descent over the grammar of the language. Defaults
 * are the ends of the lists of values that elements start with (listed_internal.h): a subgraph
 * saves the two lists and restores them. `members` is a stack of the nodes mentioned in the open
 * subgraphs: an end of an edge is a part of it, and stays there for the subgraph around it. */
#include "listed_internal.h"

#include <stdio.h>

enum { DEEPEST = 100 };                /* open subgraphs */
static const size_t MOST_JOINED = 1u << 22; /* edges between subgraphs */

typedef enum dot_token { END, ID, ARROW, LINE, OTHER } dot_token;

typedef struct dot_span {
  size_t from, to; /* of members */
} dot_span;

typedef struct reader {
  berth_i_listed l;
  berth_i_lines in;      /* what follows the token, up to the end of the file; its line */
  dot_token token;
  int32_t line;          /* of the token */
  char other;            /* of OTHER */
  bool plain, html;      /* the ID is a word or number; is in <> */
  berth_i_chars word;    /* of the ID */
  berth_i_chars name, text;
  int32_t nodes_from, edges_from; /* lists of defaults */
  int32_t depth;
  int32_t *members, *stamp;       /* [names.n] of stamp: the last end of an edge it was in */
  dot_span *ends;                 /* of the open chains of edges */
  size_t n_members, members_cap, stamp_cap, n_ends, ends_cap, joined;
  int32_t n_stamps;
  berth_i_names subgraphs;
  int32_t again;                  /* the last subgraph had this name before; BERTH_NONE */
} reader;

/* ---- tokens ---- */

static berth_status fail(const reader *r, const char *what, const char *value) {
  return berth_i_fail(r->l.e.ctx, BERTH_EPARSE, "%s:%d: %s (%.60s)", r->in.src->name, (int)r->line,
                      what, value);
}

/* The token is none of what the grammar has here. */
static berth_status unexpected(const reader *r, const char *wanted) {
  const char *is = r->token == ID ? r->word.at : r->token == ARROW ? "->" : "--";
  char other[2] = { r->other, 0 }, what[80];
  if (r->token == OTHER) is = other;
  if (r->token == END) is = "end of the file";
  snprintf(what, sizeof what, "%s is expected", wanted);
  return fail(r, what, is);
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 128;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Up to the text, or to the end. */
static void skip_to(berth_i_lines *in, const char *text) {
  size_t n = strlen(text);
  while (in->at < in->end && strncmp(in->at, text, n) != 0) in->line += *in->at++ == '\n';
}

/* Blanks and comments; a line that begins with # is one of the C preprocessor. */
static void skip_blanks(berth_i_lines *in) {
  for (;;) {
    const char *at = in->at;
    bool begins = at == in->src->text || at[-1] == '\n';
    if (at == in->end) return;
    if ((begins && *at == '#') || strncmp(at, "//", 2) == 0) skip_to(in, "\n");
    else if (strncmp(at, "/*", 2) == 0) {
      in->at += 2;
      skip_to(in, "*/");
      in->at += in->at < in->end ? 2 : 0;
    } else if (strchr(" \t\r\n\f\v", *at)) {
      in->line += *at == '\n';
      in->at++;
    } else return;
  }
}

static berth_status add_to_word(reader *r, const char *from, const char *to) {
  return berth_i_chars_add(&r->l.e.pool, &r->word, from, (size_t)(to - from));
}

/* Behind the first quote. \" is a quote; a backslash at the end of a line joins it to the next; all
 * others stay, for the attribute to interpret. */
static berth_status read_quoted(reader *r) {
  berth_i_lines *in = &r->in;
  berth_status st = BERTH_OK;
  const char *from = in->at;
  for (; in->at < in->end && *in->at != '"' && st == BERTH_OK; in->at++) {
    if (*in->at == '\\' && in->at + 1 < in->end) {
      size_t line = in->at[1] == '\n' ? 1 : strncmp(in->at + 1, "\r\n", 2) == 0 ? 2 : 0;
      if (line > 0 || in->at[1] == '"') {
        st = add_to_word(r, from, in->at);
        from = in->at + 1 + line;
      }
      in->at += line > 1 ? 2 : 1;
    }
    in->line += *in->at == '\n';
  }
  if (st == BERTH_OK) st = add_to_word(r, from, in->at);
  if (st == BERTH_OK && in->at == in->end) return fail(r, "text has no end", "\"");
  in->at++;
  return st;
}

/* Strings may be joined by +. */
static berth_status read_strings(reader *r) {
  berth_status st;
  for (;;) {
    if ((st = read_quoted(r)) != BERTH_OK) return st;
    berth_i_lines behind = r->in;
    skip_blanks(&behind);
    if (behind.at == behind.end || *behind.at != '+') return BERTH_OK;
    behind.at++;
    skip_blanks(&behind);
    if (behind.at == behind.end || *behind.at != '"')
      return fail(r, "text in quotes is expected behind it", "+");
    behind.at++;
    r->in = behind;
  }
}

static berth_status read_html(reader *r) {
  const char *from = r->in.at;
  int64_t open = 1;
  for (; r->in.at < r->in.end; r->in.at++) {
    r->in.line += *r->in.at == '\n';
    open += (*r->in.at == '<') - (*r->in.at == '>');
    if (open == 0) break;
  }
  if (r->in.at == r->in.end) return fail(r, "text has no end", "<");
  r->html = true;
  r->in.at++;
  return add_to_word(r, from, r->in.at - 1);
}

/* A number has no exponent and no unit: those need quotes. */
static berth_status read_word(reader *r) {
  const char *from = r->in.at, *at = from + (*from == '-');
  bool number = !is_letter(*at);
  int dots = 0;
  while (at < r->in.end && (is_digit(*at) || (number ? *at == '.' && dots++ == 0 : is_letter(*at))))
    at++;
  bool ends = !number || at == r->in.end || !(is_letter(*at) || *at == '.');
  while (!ends && at < r->in.end
         && (is_letter(*at) || is_digit(*at) || *at == '.' || (*at == '-' && (at[-1] | 32) == 'e')))
    at++;
  r->in.at = at;
  r->plain = true;
  berth_status st = add_to_word(r, from, at);
  return st == BERTH_OK && !ends ? fail(r, "this value needs quotes", r->word.at) : st;
}

static berth_status next(reader *r) {
  berth_i_lines *in = &r->in;
  skip_blanks(in);
  r->line = in->line;
  r->plain = r->html = false;
  r->word.len = 0;
  r->token = in->at == in->end ? END : OTHER;
  if (r->token == END) return BERTH_OK;
  char c = *in->at, behind = in->at + 1 < in->end ? in->at[1] : 0;
  if (c == '-' && (behind == '>' || behind == '-')) {
    r->token = behind == '>' ? ARROW : LINE;
    in->at += 2;
    return BERTH_OK;
  }
  bool number = is_digit(c) || (c == '.' && is_digit(behind))
                || (c == '-' && (is_digit(behind) || behind == '.'));
  if (number || is_letter(c)) {
    r->token = ID;
    return read_word(r);
  }
  r->other = c;
  in->at++;
  if (c != '"' && c != '<') return BERTH_OK;
  r->token = ID;
  return c == '"' ? read_strings(r) : read_html(r);
}

static bool is_other(const reader *r, char c) { return r->token == OTHER && r->other == c; }

static bool is_keyword(const reader *r, const char *word) {
  const char *at = r->word.at;
  if (r->token != ID || !r->plain) return false;
  for (; *at && *word; at++, word++)
    if ((*at | 32) != *word) return false;
  return *at == *word;
}

static bool is_any_keyword(const reader *r) {
  static const char *const words[] = { "graph", "digraph", "node", "edge", "subgraph", "strict",
                                       NULL };
  for (int k = 0; words[k]; k++)
    if (is_keyword(r, words[k])) return true;
  return false;
}

static berth_status take(reader *r, char c) {
  char wanted[2] = { c, 0 };
  return is_other(r, c) ? next(r) : unexpected(r, wanted);
}

/* Keeps the ID in `to`. */
static berth_status take_id(reader *r, const char *what, berth_i_chars *to) {
  if (r->token != ID || is_any_keyword(r)) return unexpected(r, what);
  to->len = 0;
  berth_status st = berth_i_chars_add(&r->l.e.pool, to, r->word.at, r->word.len);
  return st == BERTH_OK ? next(r) : st;
}

/* ---- attributes ---- */

/* In place: two backslashes are one. */
static void unescape(char *text) {
  char *to = text;
  for (; *text; text++) {
    if (*text == '\\' && text[1] == '\\') text++;
    *to++ = *text;
  }
  *to = 0;
}

/* Length of the end of a line of a label, 0: there is none. */
static size_t line_end(const char *at) {
  if (*at == '\n') return 1;
  return *at == '\\' && at[1] && strchr("nlr", at[1]) ? 2 : 0;
}

/* In place: the first line of a label that is not blank. */
static char *first_line(char *text) {
  size_t n;
  while (*text == ' ' || line_end(text) > 0) text += *text == ' ' ? 1 : line_end(text);
  char *end = text;
  while (*end && line_end(end) == 0) end += *end == '\\' && end[1] ? 2 : 1;
  for (n = (size_t)(end - text); n > 0 && text[n - 1] == ' ';) n--;
  text[n] = 0;
  return text;
}

/* Graphviz has attributes "group" and "pin" of its own. A label with \N has the node's id, and one
 * of HTML no name. */
static berth_status add_value(reader *r, berth_i_place place, bool html, int32_t line,
                              int32_t *list) {
  static const char *const names[][2] = { { "colocation", "group" }, { "pinned", "pin" },
                                          { "group", NULL }, { "pin", NULL } };
  const char *name = r->name.at;
  char *text = r->text.at;
  unescape(r->name.at);
  for (int k = 0; k < 4 && name == r->name.at; k++)
    if (strcmp(r->name.at, names[k][0]) == 0) name = names[k][1];
  if (!name) return BERTH_OK;
  bool label = strcmp(name, "label") == 0;
  if (label && (html || strstr(text, "\\N"))) return BERTH_OK;
  if (label) text = first_line(text);
  unescape(text);
  return berth_i_listed_value_add(&r->l, place, name, text, line, list);
}

/* Lists in brackets, any number of them; an attribute without a value is true. */
static berth_status read_attributes(reader *r, berth_i_place place, int32_t *list) {
  berth_status st;
  while (is_other(r, '[')) {
    if ((st = next(r)) != BERTH_OK) return st;
    while (!is_other(r, ']')) {
      int32_t line = r->line;
      bool html = false;
      if ((st = take_id(r, "an attribute", &r->name)) != BERTH_OK) return st;
      r->text.len = 0;
      if ((st = berth_i_chars_add(&r->l.e.pool, &r->text, "true", 4)) != BERTH_OK) return st;
      if (is_other(r, '=')) {
        if ((st = next(r)) != BERTH_OK) return st;
        html = r->html;
        if ((st = take_id(r, "a value", &r->text)) != BERTH_OK) return st;
      }
      if (place != BERTH_I_IN_GRAPH && (st = add_value(r, place, html, line, list)) != BERTH_OK)
        return st;
      if ((is_other(r, ',') || is_other(r, ';')) && (st = next(r)) != BERTH_OK) return st;
    }
    if ((st = next(r)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* ---- nodes and edges ---- */

/* A node begins with the defaults of its first mention. */
static berth_status mention(reader *r, const char *name, int32_t line, int32_t *node) {
  int32_t known = r->l.e.names.n;
  berth_i_pool *pool = &r->l.e.pool;
  berth_status st = berth_i_elements_name(&r->l.e, name, node);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(pool, r->stamp, r->stamp_cap, (size_t)known + 1);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(pool, r->members, r->members_cap, r->n_members + 1);
  if (st != BERTH_OK) return st;
  r->members[r->n_members++] = *node;
  if (*node < known) return BERTH_OK;
  r->stamp[known] = 0;
  return berth_i_listed_node_add(&r->l, (berth_i_listed_node){ known, line, r->nodes_from });
}

/* A name, which is kept in r->name, and a port, which is passed over. */
static berth_status read_node(reader *r, int32_t *node) {
  int32_t line = r->line;
  berth_status st = take_id(r, "a node", &r->name);
  if (st == BERTH_OK) st = mention(r, r->name.at, line, node);
  while (st == BERTH_OK && is_other(r, ':')) {
    if ((st = next(r)) == BERTH_OK) st = take_id(r, "a port", &r->text);
  }
  return st;
}

static berth_status read_statements(reader *r);

/* The same name again would add to the first subgraph, also as the end of an edge. */
static berth_status read_subgraph(reader *r) {
  int32_t nodes_from = r->nodes_from, edges_from = r->edges_from, known = r->subgraphs.n, id = 0;
  berth_status st = BERTH_OK;
  bool old = false;
  if (++r->depth > DEEPEST) return fail(r, "subgraphs are too deep", "100 levels");
  if (is_keyword(r, "subgraph") && (st = next(r)) == BERTH_OK && r->token == ID) {
    if ((st = take_id(r, "a name", &r->name)) != BERTH_OK) return st;
    if ((st = berth_i_names_add(r->l.e.ctx, &r->subgraphs, r->name.at, &id)) != BERTH_OK) return st;
    old = id < known;
    if (!is_other(r, '{')) return fail(r, "subgraph is not read without its nodes", r->name.at);
  }
  if (st == BERTH_OK) st = take(r, '{');
  if (st == BERTH_OK) st = read_statements(r);
  if (st == BERTH_OK) st = take(r, '}');
  r->nodes_from = nodes_from;
  r->edges_from = edges_from;
  r->depth--;
  r->again = old ? id : BERTH_NONE;
  return st;
}

static bool begins_subgraph(const reader *r) {
  return is_other(r, '{') || is_keyword(r, "subgraph");
}

/* Each node once. */
static void drop_repeated(reader *r, dot_span *span) {
  size_t n = span->from;
  r->n_stamps++;
  for (size_t k = span->from; k < span->to; k++) {
    int32_t node = r->members[k];
    if (r->stamp[node] == r->n_stamps) continue;
    r->stamp[node] = r->n_stamps;
    r->members[n++] = node;
  }
  r->n_members = span->to = n;
}

/* An end of an edge: the nodes on top of the stack.  @param node out, if it is one */
static berth_status read_end(reader *r, int32_t *node) {
  dot_span span = { r->n_members, 0 };
  bool subgraph = begins_subgraph(r);
  berth_status st = subgraph ? read_subgraph(r) : read_node(r, node);
  if (st != BERTH_OK) return st;
  span.to = r->n_members;
  if (subgraph) drop_repeated(r, &span);
  if ((st = BERTH_I_POOL_GROW(&r->l.e.pool, r->ends, r->ends_cap, r->n_ends + 1)) != BERTH_OK)
    return st;
  r->ends[r->n_ends++] = span;
  if (r->token == LINE) return fail(r, "edge is undirected", "--");
  if (subgraph && r->again != BERTH_NONE && (r->token == ARROW || r->n_ends > 1))
    return fail(r, "subgraph at an edge is given in parts", r->subgraphs.text[r->again]);
  return BERTH_OK;
}

static berth_status join(reader *r, dot_span from, dot_span to, int32_t line, int32_t values) {
  size_t n = (from.to - from.from) * (to.to - to.from);
  if (n > 1) r->joined += n;
  if (n > MOST_JOINED || r->joined > MOST_JOINED)
    return fail(r, "subgraphs have more edges between them than are read", "4194304");
  berth_status st = BERTH_OK;
  for (size_t a = from.from; a < from.to; a++)
    for (size_t b = to.from; b < to.to && st == BERTH_OK; b++)
      st = berth_i_listed_edge_add(&r->l, (berth_i_listed_edge){
          r->members[a], r->members[b], line, values, r->edges_from, BERTH_NONE });
  return st;
}

/* Attributes behind a chain are those of all its edges; behind a single node its own. */
static berth_status read_chain(reader *r) {
  size_t first = r->n_ends;
  int32_t node = BERTH_NONE, line = r->line, values = r->edges_from;
  berth_status st = read_end(r, &node);
  bool single = r->token != ARROW;
  while (st == BERTH_OK && r->token == ARROW) {
    int32_t other;
    if ((st = next(r)) == BERTH_OK) st = read_end(r, &other);
  }
  if (st != BERTH_OK) return st;
  if (!single) st = read_attributes(r, BERTH_I_IN_EDGE, &values);
  else if (node != BERTH_NONE) /* nodes are numbered as their names are */
    st = read_attributes(r, BERTH_I_IN_NODE, &r->l.nodes[node].values);
  for (size_t k = first; k + 1 < r->n_ends && st == BERTH_OK; k++)
    st = join(r, r->ends[k], r->ends[k + 1], line, values);
  r->n_ends = first;
  if (r->depth == 0) r->n_members = 0;
  return st;
}

/* ---- statements ---- */

/* name = value, of a graph or subgraph. */
static bool is_assignment(const reader *r) {
  berth_i_lines behind = r->in;
  skip_blanks(&behind);
  return r->token == ID && behind.at < behind.end && *behind.at == '=';
}

static berth_status read_assignment(reader *r) {
  berth_status st = next(r);
  if (st == BERTH_OK) st = take(r, '=');
  return st == BERTH_OK ? take_id(r, "a value", &r->text) : st;
}

static berth_status read_defaults(reader *r, berth_i_place place, int32_t *list) {
  berth_status st = next(r);
  if (st == BERTH_OK && !is_other(r, '[')) st = unexpected(r, "[");
  return st == BERTH_OK ? read_attributes(r, place, list) : st;
}

static berth_status read_statement(reader *r) {
  int32_t unread = BERTH_NONE;
  if (is_assignment(r)) return read_assignment(r);
  if (is_keyword(r, "graph")) return read_defaults(r, BERTH_I_IN_GRAPH, &unread);
  if (is_keyword(r, "node")) return read_defaults(r, BERTH_I_IN_NODE, &r->nodes_from);
  if (is_keyword(r, "edge")) return read_defaults(r, BERTH_I_IN_EDGE, &r->edges_from);
  return read_chain(r);
}

static berth_status read_statements(reader *r) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; st == BERTH_OK && r->token != END && !is_other(r, '}'); k++) {
    if (k % 1024 == 0 && (st = berth_i_interrupted(r->l.e.ctx)) != BERTH_OK) return st;
    st = is_other(r, ';') ? next(r) : read_statement(r);
  }
  return st;
}

/* ---- the whole ---- */

static berth_status read_head(reader *r, bool *strict) {
  berth_status st;
  if ((st = next(r)) != BERTH_OK) return st;
  *strict = is_keyword(r, "strict");
  if (*strict && (st = next(r)) != BERTH_OK) return st;
  if (is_keyword(r, "graph")) return fail(r, "graph is undirected: digraph is read", "graph");
  if (!is_keyword(r, "digraph")) return unexpected(r, "digraph");
  if ((st = next(r)) != BERTH_OK || r->token != ID) return st;
  if ((st = take_id(r, "a name", &r->name)) != BERTH_OK) return st;
  unescape(r->name.at);
  return berth_i_listed_graph_name(&r->l, r->name.at);
}

static berth_status read_graph(reader *r, berth_bundle *out) {
  bool strict = false;
  berth_status st = read_head(r, &strict);
  if (st == BERTH_OK) st = take(r, '{');
  if (st == BERTH_OK) st = read_statements(r);
  if (st == BERTH_OK) st = take(r, '}');
  if (st == BERTH_OK && r->token != END) st = unexpected(r, "end of the file");
  if (st == BERTH_OK && strict) st = berth_i_listed_merge_edges(&r->l);
  return st == BERTH_OK ? berth_i_listed_finish(&r->l, out) : st;
}

static berth_status read_dot(const berth_i_source *src, berth_bundle *out) {
  reader r = { .nodes_from = BERTH_NONE, .edges_from = BERTH_NONE, .again = BERTH_NONE };
  r.in = (berth_i_lines){ .src = src, .at = src->text, .end = src->text + src->len, .line = 1 };
  berth_status st = berth_i_listed_open(src, &r.l);
  if (st == BERTH_OK) st = read_graph(&r, out);
  berth_i_names_release(src->ctx, &r.subgraphs);
  berth_i_listed_release(&r.l);
  return berth_i_blame_file(src->ctx, src->name, st);
}

/* Is the word next? Then it is passed over. */
static bool skip_word(berth_i_lines *in, const char *word) {
  const char *at = in->at;
  skip_blanks(in);
  for (at = in->at; *word && at < in->end && (*at | 32) == *word; word++) at++;
  if (*word || (at < in->end && (is_letter(*at) || is_digit(*at)))) return false;
  in->at = at;
  return true;
}

/* "strict", then "digraph" or "graph", which GML has, too, with a bracket. */
static berth_i_match match_dot(berth_i_lines first) {
  first.end = first.src->text + first.src->len;
  skip_word(&first, "strict");
  bool graph = skip_word(&first, "graph"), yes = graph || skip_word(&first, "digraph");
  skip_blanks(&first);
  yes = yes && first.at < first.end && *first.at != '[';
  return berth_i_match_if(yes && berth_i_has(first.at, first.end, "{"), BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_dot = {
  .about = { .choice = { "dot", "Graphs of Graphviz, and pictures by it." }, .endings = "dot gv",
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT,
             .saves = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT },
  .match_text = match_dot, .read_text = read_dot, .write = berth_i_write_dot
};
