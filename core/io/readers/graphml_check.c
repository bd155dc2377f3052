/* What igraph lets pass in GraphML and berth does not; and numbers that igraph cannot read. */
#include "xml_scan.h"

#include <stdio.h>

enum { MAX_NAME = 64 };

typedef struct Scan {
  const berth_i_source *src;
  berth_i_names keys;
  int32_t *element;  /* [keys] number of the node or edge that had it last */
  size_t cap;
  char *buf;         /* zero-terminated copy of a key */
  size_t buf_cap;
  int32_t present;   /* number of the element in hand, from 1 */
} Scan;

static bool has_value(const berth_i_tag *tag, const char *key, const char *wanted) {
  const char *value;
  size_t len;
  return berth_i_tag_attribute(tag, key, &value, &len) && strlen(wanted) == len && memcmp(value, wanted, len) == 0;
}

static berth_status fail(const berth_i_source *src, const berth_i_tag *tag, const char *what, const char *value) {
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: %s (%.60s)", src->name, (int)berth_i_line_in(src, tag->name), what, value);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Columns of numbers that may be fractions. */
static bool is_amount(const char *name) {
  static const char *const names[] = { "seconds", "flop", "bytes", "param_bytes", "workspace_bytes", "resident_bytes", NULL };
  int k;
  for (k = 0; names[k]; k++)
    if (strcmp(name, names[k]) == 0) return true;
  return strncmp(name, "seconds:", 8) == 0;
}

static bool is_whole(const char *name) {
  static const char *const names[] = { "group", "twin", "pin", "device", "count", "tensor", NULL };
  int k;
  for (k = 0; names[k]; k++)
    if (strcmp(name, names[k]) == 0) return true;
  return false;
}

static void name_of_key(const berth_i_tag *key, char *name) {
  const char *value = "";
  size_t len = 0;
  berth_i_tag_attribute(key, "attr.name", &value, &len);
  snprintf(name, MAX_NAME, "%.*s", (int)(len < MAX_NAME ? len : MAX_NAME - 1), value);
}

/* Name of the column of this key, if berth reads numbers from it. */
static bool read_number_key(const berth_i_source *src, const char *id, char *name) {
  const char *p = src->text, *stop = p + src->len;
  berth_i_tag tag;
  while (berth_i_next_tag(&p, stop, &tag) && !berth_i_tag_is(&tag, "graph")) { /* keys come first */
    if (!berth_i_tag_is(&tag, "key") || !has_value(&tag, "id", id)) continue;
    name_of_key(&tag, name);
    return (is_amount(name) || is_whole(name)) && !has_value(&tag, "attr.type", "string");
  }
  return false;
}

static bool is_nan(const berth_i_tag *tag, const char *stop) {
  const char *p = tag->after;
  char word[8] = "";
  while (p < stop && strchr(" \t\r\n", *p)) p++;
  if (p < stop && (*p == '-' || *p == '+')) p++;
  if (stop - p < 3) return false;
  memcpy(word, p, 3);
  return strcmp(word, "NaN") == 0 || strcmp(word, "nan") == 0 || strcmp(word, "NAN") == 0;
}

/* ---- tags --------------------------------------------------------------------------------- */

static berth_status copy_value(Scan *s, const berth_i_tag *tag, const char *key) {
  const char *value = "";
  size_t len = 0;
  void *buf = s->buf;
  berth_status st;
  berth_i_tag_attribute(tag, key, &value, &len);
  st = berth_i_grow(s->src->ctx, &buf, &s->buf_cap, len + 1, 1);
  s->buf = buf;
  if (st != BERTH_OK) return st;
  memcpy(s->buf, value, len);
  s->buf[len] = 0;
  return BERTH_OK;
}

static berth_status refuse_nan(Scan *s, const berth_i_tag *tag) {
  char name[MAX_NAME], what[MAX_NAME + 20];
  if (!is_nan(tag, s->src->text + s->src->len) || !read_number_key(s->src, s->buf, name)) return BERTH_OK;
  snprintf(what, sizeof what, "%s is not a number", name);
  return fail(s->src, tag, what, "NaN");
}

static berth_status check_data(Scan *s, const berth_i_tag *tag) {
  void *element = s->element;
  int32_t id = 0, known = s->keys.n;
  berth_status st = copy_value(s, tag, "key");
  if (st != BERTH_OK || (st = berth_i_names_add(s->src->ctx, &s->keys, s->buf, &id)) != BERTH_OK) return st;
  st = berth_i_grow(s->src->ctx, &element, &s->cap, (size_t)s->keys.n, sizeof *s->element);
  s->element = element;
  if (st != BERTH_OK) return st;
  if (id < known && s->element[id] == s->present) return fail(s->src, tag, "data is given twice for one key", s->buf);
  s->element[id] = s->present;
  return refuse_nan(s, tag);
}

static berth_status check_direction(Scan *s, const berth_i_tag *tag) {
  if (berth_i_tag_is(tag, "graph") && has_value(tag, "edgedefault", "undirected")) {
    return berth_i_fail(s->src->ctx, BERTH_EPARSE, "%s:%d: the graph is undirected", s->src->name,
                        (int)berth_i_line_in(s->src, tag->name));
  }
  if (has_value(tag, "directed", "false") || has_value(tag, "directed", "0")) {
    return berth_i_fail(s->src->ctx, BERTH_EPARSE, "%s:%d: the edge is undirected", s->src->name,
                        (int)berth_i_line_in(s->src, tag->name));
  }
  return BERTH_OK;
}

static bool closes_element(const char *p, const char *stop) {
  for (; stop - p >= 6; p++)
    if (memcmp(p, "</node", 6) == 0 || memcmp(p, "</edge", 6) == 0) return true;
  return false;
}

static bool is_element(const berth_i_tag *tag) {
  return berth_i_tag_is(tag, "node") || berth_i_tag_is(tag, "edge") || berth_i_tag_is(tag, "graph");
}

static berth_status check_tags(Scan *s) {
  const char *p = s->src->text, *stop = p + s->src->len, *before = p;
  berth_i_tag tag;
  berth_status st = BERTH_OK;
  for (s->present = 1; st == BERTH_OK && berth_i_next_tag(&p, stop, &tag); before = tag.after) {
    bool element = is_element(&tag);
    if (element || closes_element(before, tag.name)) s->present++;
    if (element) st = check_direction(s, &tag);
    else if (berth_i_tag_is(&tag, "key")) st = copy_value(s, &tag, "id");
    else if (berth_i_tag_is(&tag, "default")) st = refuse_nan(s, &tag);
    else if (berth_i_tag_is(&tag, "data")) st = check_data(s, &tag);
    if (element && tag.end > tag.at && tag.end[-1] == '/') s->present++;
  }
  return st;
}

berth_status berth_i_check_graphml_data(const berth_i_source *src) {
  Scan s = { .src = src };
  berth_status st = check_tags(&s);
  berth_i_names_release(src->ctx, &s.keys);
  berth_i_free(src->ctx, s.element, s.cap, sizeof *s.element);
  berth_i_free(src->ctx, s.buf, s.buf_cap, 1);
  return st;
}

/* ---- numbers that igraph cannot read ------------------------------------------------------ */

/* igraph refuses what is too small for a normal double. As texts, which berth reads itself, they pass: both words have six
 * letters. */
bool berth_i_graphml_doubles_as_texts(const berth_i_source *src, char *copy) {
  const char *p = src->text, *stop = p + src->len, *value;
  char name[MAX_NAME];
  size_t len;
  berth_i_tag tag;
  bool any = false;
  while (berth_i_next_tag(&p, stop, &tag)) {
    if (!berth_i_tag_is(&tag, "key") || !has_value(&tag, "attr.type", "double")) continue;
    name_of_key(&tag, name);
    if (is_whole(name)) continue;
    berth_i_tag_attribute(&tag, "attr.type", &value, &len);
    memcpy(copy + (value - src->text), "string", len);
    any = true;
  }
  return any;
}
