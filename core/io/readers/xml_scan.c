/* A look at the tags of GraphML, for what igraph does not tell. */
#include "xml_scan.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool begins(const char *p, const char *stop, const char *with) {
  size_t n = strlen(with);
  return (size_t)(stop - p) >= n && memcmp(p, with, n) == 0;
}

/* Behind the next `mark`. */
static const char *behind(const char *p, const char *stop, const char *mark) {
  while (p < stop && !begins(p, stop, mark)) p++;
  return p < stop ? p + strlen(mark) : stop;
}

static const char *tag_end(const char *p, const char *stop) {
  char quote = 0;
  for (; p < stop && (quote || *p != '>'); p++) {
    if (quote && *p == quote) quote = 0;
    else if (!quote && (*p == '"' || *p == '\'')) quote = *p;
  }
  return p;
}

static void read_tag(const char *p, const char *stop, berth_i_tag *tag) {
  const char *end = tag_end(p, stop), *q;
  tag->name = p;
  for (q = p; q < end && !is_space(*q) && *q != '/'; q++)
    if (*q == ':') tag->name = q + 1;
  tag->name_len = (size_t)(q - tag->name);
  tag->at = q;
  tag->end = end;
  tag->after = end < stop ? end + 1 : stop;
}

bool berth_i_next_tag(const char **p, const char *stop, berth_i_tag *tag) {
  while (*p < stop) {
    const char *at = *p;
    if (*at != '<') *p = at + 1;
    else if (begins(at, stop, "<!--")) *p = behind(at + 4, stop, "-->");
    else if (begins(at, stop, "<![CDATA[")) *p = behind(at, stop, "]]>");
    else if (begins(at, stop, "<?")) *p = behind(at, stop, "?>");
    else if (begins(at, stop, "<!") || begins(at, stop, "</")) *p = behind(at, stop, ">");
    else {
      read_tag(at + 1, stop, tag);
      *p = tag->after;
      return true;
    }
  }
  return false;
}

bool berth_i_tag_is(const berth_i_tag *tag, const char *name) {
  return tag->name_len == strlen(name) && memcmp(tag->name, name, tag->name_len) == 0;
}

bool berth_i_tag_attribute(const berth_i_tag *tag, const char *name, const char **value, size_t *len) {
  const char *p = tag->at, *end = tag->end;
  while (p < end) {
    const char *key, *from;
    size_t n;
    char quote;
    while (p < end && (is_space(*p) || *p == '/')) p++;
    for (key = p; p < end && *p != '=' && !is_space(*p); p++) {}
    n = (size_t)(p - key);
    while (p < end && *p != '"' && *p != '\'') p++;
    if (p == end) return false;
    quote = *p;
    for (from = ++p; p < end && *p != quote; p++) {}
    *value = from;
    *len = (size_t)(p - from);
    if (p < end) p++;
    if (n == strlen(name) && memcmp(key, name, n) == 0) return true;
  }
  return false;
}

/* ---- ids ---------------------------------------------------------------------------------- */

int32_t berth_i_line_in(const berth_i_source *src, const char *at) {
  int32_t line = 1;
  const char *p;
  for (p = src->text; p < at; p++) line += *p == '\n';
  return line;
}

static berth_status fail(const berth_i_source *src, const char *at, const char *what, const char *value) {
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: %s (%.40s)", src->name, (int)berth_i_line_in(src, at), what, value);
}

typedef struct Ids {
  const berth_i_source *src;
  berth_i_names names;
  char *buf; /* zero-terminated copy of one id */
  size_t cap;
} Ids;

static berth_status copy_id(Ids *x, const berth_i_tag *tag, const char *key) {
  const char *value = "";
  size_t len = 0;
  void *buf = x->buf;
  berth_status st;
  if (!berth_i_tag_attribute(tag, key, &value, &len)) {
    char text[24];
    snprintf(text, sizeof text, "%.*s", (int)(tag->name_len < 20 ? tag->name_len : 20), tag->name);
    return berth_i_fail(x->src->ctx, BERTH_EPARSE, "%s:%d: <%s> has no \"%s\"", x->src->name,
                        (int)berth_i_line_in(x->src, tag->name), text, key);
  }
  st = berth_i_grow(x->src->ctx, &buf, &x->cap, len + 1, 1);
  x->buf = buf;
  if (st != BERTH_OK) return st;
  memcpy(x->buf, value, len);
  x->buf[len] = 0;
  return BERTH_OK;
}

static berth_status collect(Ids *x) {
  const char *p = x->src->text, *stop = p + x->src->len;
  berth_i_tag tag;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && berth_i_next_tag(&p, stop, &tag)) {
    int32_t id, expected = x->names.n;
    if (!berth_i_tag_is(&tag, "node")) continue;
    if ((st = copy_id(x, &tag, "id")) != BERTH_OK) return st;
    st = berth_i_names_add(x->src->ctx, &x->names, x->buf, &id);
    if (st == BERTH_OK && id != expected) st = fail(x->src, tag.name, "node id is given twice", x->buf);
  }
  return st;
}

static berth_status check_end(Ids *x, const berth_i_tag *tag, const char *key) {
  berth_status st = copy_id(x, tag, key);
  if (st != BERTH_OK) return st;
  if (x->names.n > 0 && berth_i_names_find(&x->names, x->buf) != BERTH_NONE) return BERTH_OK;
  return fail(x->src, tag->name, "edge leads to or from a node that is not there", x->buf);
}

static berth_status check_edges(Ids *x) {
  const char *p = x->src->text, *stop = p + x->src->len;
  berth_i_tag tag;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && berth_i_next_tag(&p, stop, &tag)) {
    if (!berth_i_tag_is(&tag, "edge")) continue;
    if ((st = check_end(x, &tag, "source")) == BERTH_OK) st = check_end(x, &tag, "target");
  }
  return st;
}

berth_status berth_i_check_graphml_ids(const berth_i_source *src) {
  Ids x = { .src = src };
  berth_status st = collect(&x);
  if (st == BERTH_OK) st = check_edges(&x);
  berth_i_names_release(src->ctx, &x.names);
  berth_i_free(src->ctx, x.buf, x.cap, 1);
  return st;
}

/* ---- lines -------------------------------------------------------------------------------- */

int32_t berth_i_graphml_edge_line(const berth_i_source *src, int32_t k) {
  const char *p = src->text, *stop = p + src->len;
  berth_i_tag tag;
  while (berth_i_next_tag(&p, stop, &tag))
    if (berth_i_tag_is(&tag, "edge") && k-- == 0) return berth_i_line_in(src, tag.name);
  return 1;
}

static bool has_value(const berth_i_tag *tag, const char *key, const char *wanted) {
  const char *value;
  size_t len;
  return berth_i_tag_attribute(tag, key, &value, &len) && strlen(wanted) == len && memcmp(value, wanted, len) == 0;
}

int32_t berth_i_graphml_node_line(const berth_i_source *src, const char *id) {
  const char *p = src->text, *stop = p + src->len;
  berth_i_tag tag;
  while (berth_i_next_tag(&p, stop, &tag))
    if (berth_i_tag_is(&tag, "node") && has_value(&tag, "id", id)) return berth_i_line_in(src, tag.name);
  return 1;
}

/* Is that <key> the one of this <data>, and a number? */
static bool declares_number(const berth_i_source *src, const char *id, size_t id_len) {
  static const char *const types[] = { "int", "long", "float", "double" };
  const char *p = src->text, *stop = p + src->len, *value;
  size_t len, k;
  berth_i_tag tag;
  while (berth_i_next_tag(&p, stop, &tag)) {
    if (!berth_i_tag_is(&tag, "key") || !berth_i_tag_attribute(&tag, "id", &value, &len)) continue;
    if (len != id_len || memcmp(value, id, len) != 0) continue;
    for (k = 0; k < sizeof types / sizeof *types; k++)
      if (has_value(&tag, "attr.type", types[k])) return true;
    return false;
  }
  return false;
}

static bool is_number(const char *text) {
  char *end;
  double x = strtod(text, &end);
  return end != text && *end == 0 && !(isinf(x) && (*text == '-' || (*text >= '0' && *text <= '9')));
}

int32_t berth_i_graphml_bad_number(const berth_i_source *src, char *buf, size_t size) {
  const char *p = src->text, *stop = p + src->len, *key, *from, *to;
  size_t len;
  berth_i_tag tag;
  while (berth_i_next_tag(&p, stop, &tag)) {
    if (!berth_i_tag_is(&tag, "data") || !berth_i_tag_attribute(&tag, "key", &key, &len)) continue;
    for (from = tag.after; from < stop && is_space(*from); from++) {}
    for (to = from; to < stop && *to != '<'; to++) {}
    while (to > from && is_space(to[-1])) to--;
    snprintf(buf, size, "%.*s", (int)(to - from < 60 ? to - from : 60), from);
    if (!is_number(buf) && declares_number(src, key, len)) return berth_i_line_in(src, tag.name);
  }
  return 0;
}
