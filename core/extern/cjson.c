/* cJSON, wrapped: a document of nodes with line numbers and paths for messages, in one pool.
 *
 * The outer levels (the top object and the long arrays in it) are parsed here, and cJSON parses one
 * member at a time, so that its tree of 80 bytes and more a value exists for one member only.
 * Memory: 32 bytes a value and its strings. O(text). */
#include "cjson_internal.h"
#include "base/utf8.h"

#include <cJSON.h>
#include <stdio.h>

/* The outer levels are taken apart here and passed to cJSON piece by piece: an op, a tensor, a
 * number at a time. Its tree takes 80 bytes and more a value, so it exists for one piece only and
 * is copied to nodes of 32 bytes. */
enum { OWN_OBJECTS = 2, OWN_ARRAYS = 3 }; /* levels: {"graph": {"ops": [ and {"nodes": [ */
_Static_assert(CJSON_NESTING_LIMIT + 8 <= BERTH_I_JSON_DEEPEST, "values may lie deeper");
enum { MAX_QUOTE = 40, BLOCK_NODES = 2048, BLOCK_CHARS = 1 << 16 };
enum { MEMBERS_AT_ONCE = 4096 }; /* between two calls of the interrupt hook */

typedef struct node node;
struct node {
  const char *key;
  union {
    double number; /* of a bool: 0 or 1 */
    const char *string;
    node *child;
  } u;
  node *next;
  berth_i_json_kind kind;
};

typedef struct value_block value_block;
struct value_block {
  size_t size, used; /* bytes behind this head */
};

struct berth_i_json {
  berth_i_pool pool; /* of nodes and strings */
  berth_ctx *ctx;
  const char *name, *text;
  size_t len;
  node *root;
  berth_i_names keys;
  value_block *nodes, *chars;
  uint32_t n_members; /* of the outer levels, so far */
};

static const node *inside(const berth_i_json_value *v) { return (const node *)(const void *)v; }
static const berth_i_json_value *outside(const node *v) {
  return (const berth_i_json_value *)(const void *)v;
}
static bool is_container(const node *v) { return v->kind >= BERTH_I_JSON_ARRAY; }

/* ---- places in the text ---- */

static int line_of(const berth_i_json *doc, const char *at) {
  int line = 1;
  for (const char *p = doc->text; p < at; p++) line += *p == '\n';
  return line;
}

static bool is_space(char c) { return (unsigned char)c <= 32; }

static const char *after_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\' && p + 1 < end) p++;
  return p < end ? p + 1 : end;
}

static const char *after_scalar(const char *p, const char *end) {
  while (p < end && !is_space(*p) && !strchr(",]}:", *p)) p++;
  return p;
}

static const char *after_space(const char *p, const char *end) {
  while (p < end && is_space(*p)) p++;
  return p;
}

/* Start of the index-th value, in the order in which values begin. The text has been accepted by
 * cJSON. */
static const char *value_at(const berth_i_json *doc, int64_t index) {
  const char *p = doc->text, *end = doc->text + doc->len;
  while (p < end) {
    if (is_space(*p) || strchr(",]}:", *p)) {
      p++;
      continue;
    }
    const char *next;
    if (*p == '"') {
      next = after_string(p, end);
      if (after_space(next, end) < end && *after_space(next, end) == ':') { /* a key */
        p = next;
        continue;
      }
    } else {
      next = *p == '{' || *p == '[' ? p + 1 : after_scalar(p, end);
    }
    if (index-- == 0) return p;
    p = next;
  }
  return end;
}

typedef struct search {
  const node *target;
  int64_t index; /* values that begin before it */
  int depth;     /* steps to it from the root */
  struct {
    const char *key;
    int64_t position;
  } step[BERTH_I_JSON_DEEPEST + 1];
} search;

static bool locate(search *s, const node *item, int depth) {
  int64_t k = 0;
  if (item == s->target) {
    s->depth = depth;
    return true;
  }
  s->index++;
  const node *child;
  for (child = is_container(item) ? item->u.child : NULL; child; child = child->next, k++) {
    s->step[depth].key = child->key;
    s->step[depth].position = k;
    if (depth < BERTH_I_JSON_DEEPEST && locate(s, child, depth + 1)) return true;
  }
  return false;
}

int32_t berth_i_json_line(const berth_i_json *doc, const berth_i_json_value *v) {
  search s = { .target = inside(v), .index = 0 };
  locate(&s, doc->root, 0);
  return line_of(doc, value_at(doc, s.index));
}

/* "graph.ops[17].seconds"; a path that does not fit is cut. */
static void path_text(const search *s, char *buf, size_t size) {
  size_t used = 0;
  if (s->depth == 0) snprintf(buf, size, "the document");
  for (int i = 0; i < s->depth && used < size; i++) {
    const char *key = s->step[i].key;
    int n = key ? snprintf(buf + used, size - used, "%s%s", i ? "." : "", key)
                : snprintf(buf + used, size - used, "[%lld]", (long long)s->step[i].position);
    if (n > 0) used += (size_t)n;
  }
}

/* The text of a scalar, cut at MAX_QUOTE. */
static void quote(const char *p, const char *end, char *buf) {
  size_t n = (size_t)((*p == '"' ? after_string(p, end) : after_scalar(p, end)) - p);
  bool cut = n > MAX_QUOTE;
  if (cut) n = MAX_QUOTE;
  for (size_t i = 0; i < n; i++) buf[i] = (unsigned char)p[i] < 32 ? ' ' : p[i];
  memcpy(buf + n, cut ? "..." : "", cut ? 4 : 1);
}

berth_status berth_i_json_fail(const berth_i_json *doc, const berth_i_json_value *v,
                               const char *reason, ...) {
  char text[MAX_QUOTE + 4] = "";
  bool joins = *reason == ':', scalar = !joins && berth_i_json_kind_of(v) < BERTH_I_JSON_ARRAY;
  va_list args;
  va_start(args, reason);
  char why[400];
  berth_vsnprintf(why, sizeof why, reason, args);
  va_end(args);
  search s;
  s.target = inside(v);
  s.index = 0;
  s.depth = 0;
  locate(&s, doc->root, 0);
  char path[160];
  path_text(&s, path, sizeof path);
  const char *at = value_at(doc, s.index);
  if (scalar && at < doc->text + doc->len) quote(at, doc->text + doc->len, text);
  return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: %s%s%s%s%s%s", doc->name, line_of(doc, at),
                      path, joins ? "" : " ", why, scalar ? " (" : "", text, scalar ? ")" : "");
}

/* ---- parsing ---- */

static int depth_at(const berth_i_json *doc, const char *at) {
  int depth = 0;
  for (const char *p = doc->text; p < at; p++) {
    if (*p == '"') p = after_string(p, at) - 1;
    depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
  }
  return depth;
}

/* The comma before a list's end at `at`, or, where cJSON stops after an object, one character
 * before it; NULL: there is none. */
static const char *comma_before(const berth_i_json *doc, const char *at) {
  if (at > doc->text && at[-1] == '}') at--;
  if (*at != ']' && *at != '}') return NULL;
  for (at--; at > doc->text && is_space(*at); at--) continue;
  return at > doc->text && *at == ',' ? at : NULL;
}

static berth_status syntax_error(const berth_i_json *doc, const char *at) {
  const char *end = doc->text + doc->len, *comma = comma_before(doc, at);
  if (comma) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: a comma with nothing behind it", doc->name,
                        line_of(doc, comma));
  }
  at = after_space(at, end);
  if (at >= end) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: JSON ends too early", doc->name,
                        line_of(doc, end));
  }
  if (depth_at(doc, at) >= CJSON_NESTING_LIMIT) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: JSON is nested deeper than %d", doc->name,
                        line_of(doc, at), CJSON_NESTING_LIMIT);
  }
  char text[MAX_QUOTE + 4];
  quote(at, end, text);
  if (!*text) snprintf(text, sizeof text, "%c", *at);
  return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: not valid JSON here (%s)", doc->name,
                      line_of(doc, at), text);
}

static void *take(berth_i_pool *pool, value_block **last, size_t size, size_t block) {
  value_block *b = *last;
  if (!b || b->size - b->used < size) {
    size_t room = size > block ? size : block;
    if (!(b = berth_i_pool_alloc(pool, sizeof *b + room, 1))) return NULL;
    *b = (value_block){ room, 0 };
    *last = b;
  }
  b->used += size;
  return (char *)(b + 1) + b->used - size;
}

static berth_status new_node(berth_i_json *doc, berth_i_json_kind kind, node **out) {
  node *n = take(&doc->pool, &doc->nodes, sizeof *n, BLOCK_NODES * sizeof *n);
  if (!n) return berth_i_nomem(doc->ctx);
  memset(n, 0, sizeof *n);
  n->kind = kind;
  *out = n;
  return BERTH_OK;
}

static berth_status keep_string(berth_i_json *doc, const char *s, const char **out) {
  size_t n = strlen(s) + 1;
  char *copy = take(&doc->pool, &doc->chars, n, BLOCK_CHARS);
  if (!copy) return berth_i_nomem(doc->ctx);
  memcpy(copy, s, n);
  *out = copy;
  return BERTH_OK;
}

static berth_status keep_key(berth_i_json *doc, const char *key, const char **out) {
  int32_t id;
  berth_status st = berth_i_names_add(doc->ctx, &doc->keys, key, &id);
  if (st == BERTH_OK) *out = doc->keys.text[id];
  return st;
}

static berth_i_json_kind kind_of(const cJSON *item) {
  switch (item->type & 0xff) {
    case cJSON_True:
    case cJSON_False: return BERTH_I_JSON_BOOL;
    case cJSON_Number: return BERTH_I_JSON_NUMBER;
    case cJSON_String: return BERTH_I_JSON_STRING;
    case cJSON_Array: return BERTH_I_JSON_ARRAY;
    case cJSON_Object: return BERTH_I_JSON_OBJECT;
    default: return BERTH_I_JSON_NULL;
  }
}

/* Recursion is as deep as cJSON's. */
static berth_status copy_item(berth_i_json *doc, const cJSON *item, node **out) {
  berth_status st = new_node(doc, kind_of(item), out);
  node *n = *out, **last = &n->u.child;
  if (st == BERTH_OK && item->string) st = keep_key(doc, item->string, &n->key);
  if (st != BERTH_OK) return st;
  if (n->kind == BERTH_I_JSON_STRING) return keep_string(doc, item->valuestring, &n->u.string);
  if (n->kind == BERTH_I_JSON_NUMBER) n->u.number = item->valuedouble;
  if (n->kind == BERTH_I_JSON_BOOL) n->u.number = cJSON_IsTrue(item);
  const cJSON *child;
  for (child = is_container(n) ? item->child : NULL; child; child = child->next) {
    if ((st = copy_item(doc, child, last)) != BERTH_OK) return st;
    last = &(*last)->next;
  }
  return BERTH_OK;
}

/* One piece by cJSON; *p moves behind it. */
static berth_status parse_piece(berth_i_json *doc, const char **p, node **out) {
  const char *end = *p;
  cJSON *item = cJSON_ParseWithLengthOpts(*p, (size_t)(doc->text + doc->len - *p) + 1, &end, 0);
  berth_status st = item ? copy_item(doc, item, out) : syntax_error(doc, end);
  cJSON_Delete(item);
  *p = end;
  return st;
}

static berth_status parse_value(berth_i_json *doc, const char **p, int depth, node **out);

static const char *skip_space(const berth_i_json *doc, const char *p) {
  return after_space(p, doc->text + doc->len);
}

static berth_status parse_key(berth_i_json *doc, const char **p, const char **key) {
  *p = skip_space(doc, *p);
  if (**p != '"') return syntax_error(doc, *p);
  node *name;
  berth_status st;
  if ((st = parse_piece(doc, p, &name)) != BERTH_OK) return st;
  *p = skip_space(doc, *p);
  if (**p != ':') return syntax_error(doc, *p);
  ++*p;
  return keep_key(doc, name->u.string, key);
}

static berth_status parse_container(berth_i_json *doc, const char **p, int depth, bool object,
                                    node **out) {
  berth_status st = new_node(doc, object ? BERTH_I_JSON_OBJECT : BERTH_I_JSON_ARRAY, out);
  node **last = st == BERTH_OK ? &(*out)->u.child : NULL;
  char close = object ? '}' : ']';
  if (st != BERTH_OK) return st;
  *p = skip_space(doc, *p + 1);
  for (; **p != close; *p = skip_space(doc, *p)) {
    const char *key = NULL;
    if (++doc->n_members % MEMBERS_AT_ONCE == 0 && (st = berth_i_interrupted(doc->ctx)) != BERTH_OK)
      return st;
    if ((*out)->u.child) { /* not the first */
      if (**p != ',') return syntax_error(doc, *p);
      ++*p;
    }
    if (object && (st = parse_key(doc, p, &key)) != BERTH_OK) return st;
    if ((st = parse_value(doc, p, depth + 1, last)) != BERTH_OK) return st;
    (*last)->key = key;
    last = &(*last)->next;
  }
  ++*p;
  return BERTH_OK;
}

static berth_status parse_value(berth_i_json *doc, const char **p, int depth, node **out) {
  *p = skip_space(doc, *p);
  if (**p == '{' && depth < OWN_OBJECTS) return parse_container(doc, p, depth, true, out);
  if (**p == '[' && depth < OWN_ARRAYS) return parse_container(doc, p, depth, false, out);
  return parse_piece(doc, p, out);
}

/* What cJSON accepts and JSON does not: control characters, strings with zeros in them, numbers
 * such as 01 and 1. */
static const char *after_digits(const char *p) {
  while (*p >= '0' && *p <= '9') p++;
  return p;
}

/* NULL: not a number of JSON. */
static const char *after_number(const char *p) {
  if (*p == '-') p++;
  const char *from = p;
  p = after_digits(p);
  if (p == from || (*from == '0' && p > from + 1)) return NULL;
  if (*p == '.') {
    from = ++p;
    if ((p = after_digits(p)) == from) return NULL;
  }
  if (*p == 'e' || *p == 'E') {
    p++;
    if (*p == '+' || *p == '-') p++;
    from = p;
    if ((p = after_digits(p)) == from) return NULL;
  }
  return is_space(*p) || strchr(",]}:", *p) ? p : NULL;
}

static berth_status check_string(const berth_i_json *doc, const char **at) {
  const char *p = *at + 1, *end = doc->text + doc->len;
  for (; p < end && *p != '"'; p++) {
    if ((unsigned char)*p < 32) {
      return berth_i_fail(doc->ctx, BERTH_EPARSE,
                          "%s:%d: a string holds a control character (0x%02x)", doc->name,
                          line_of(doc, p), (unsigned char)*p);
    }
    if (*p != '\\' || p + 1 >= end) continue;
    p++;
    if (end - p >= 5 && memcmp(p, "u0000", 5) == 0) {
      return berth_i_fail(doc->ctx, BERTH_EPARSE,
                          "%s:%d: a string holds a zero character (\\u0000)", doc->name,
                          line_of(doc, p));
    }
  }
  *at = p < end ? p + 1 : end;
  return BERTH_OK;
}

static berth_status check_number(const berth_i_json *doc, const char **at) {
  const char *next = after_number(*at);
  char text[MAX_QUOTE + 4];
  if (!next) {
    quote(*at, doc->text + doc->len, text);
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: not a number of JSON (%s)", doc->name,
                        line_of(doc, *at), text);
  }
  *at = next;
  return BERTH_OK;
}

static berth_status check_characters(const berth_i_json *doc) {
  const char *p = doc->text, *end = p + doc->len;
  berth_status st = BERTH_OK;
  while (p < end && st == BERTH_OK) {
    if (*p == '"') {
      st = check_string(doc, &p);
    } else if (*p == '-' || (*p >= '0' && *p <= '9')) {
      st = check_number(doc, &p);
    } else if ((unsigned char)*p < 32 && *p != '\n' && *p != '\r' && *p != '\t') {
      st = berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: control character in the text (0x%02x)",
                        doc->name, line_of(doc, p), (unsigned char)*p);
    } else {
      p++;
    }
  }
  return st;
}

static berth_status parse_document(berth_i_json *doc) {
  const char *p = doc->text, *zero = memchr(doc->text, 0, doc->len);
  if (zero)
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: zero byte in the text", doc->name,
                        line_of(doc, zero));
  const char *odd;
  if ((odd = berth_i_utf8_error(doc->text))) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: not UTF-8 here (byte 0x%02x)", doc->name,
                        line_of(doc, odd), (unsigned char)*odd);
  }
  berth_status st;
  if ((st = check_characters(doc)) != BERTH_OK) return st;
  if ((st = parse_value(doc, &p, 0, &doc->root)) != BERTH_OK) return st;
  p = skip_space(doc, p);
  return p == doc->text + doc->len ? BERTH_OK : syntax_error(doc, p);
}

berth_status berth_i_json_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                                berth_i_json **out) {
  berth_i_json *doc = berth_i_pool_object(ctx, sizeof *doc);
  if (!doc) return berth_i_nomem(ctx);
  doc->ctx = ctx;
  doc->name = name;
  doc->text = text;
  doc->len = len;
  berth_status st;
  if ((st = parse_document(doc)) != BERTH_OK) {
    berth_i_json_release(doc);
    return st;
  }
  *out = doc;
  return BERTH_OK;
}

void berth_i_json_release(berth_i_json *doc) {
  if (!doc) return;
  berth_i_names_release(doc->ctx, &doc->keys);
  berth_i_pool_free(&doc->pool);
}

/* ---- reading ---- */

berth_ctx *berth_i_json_ctx(const berth_i_json *doc) { return doc->ctx; }
const berth_i_json_value *berth_i_json_root(const berth_i_json *doc) { return outside(doc->root); }

berth_i_json_kind berth_i_json_kind_of(const berth_i_json_value *v) { return inside(v)->kind; }
double berth_i_json_number(const berth_i_json_value *v) { return inside(v)->u.number; }
const char *berth_i_json_string(const berth_i_json_value *v) { return inside(v)->u.string; }
bool berth_i_json_true(const berth_i_json_value *v) { return inside(v)->u.number != 0; }
const char *berth_i_json_key(const berth_i_json_value *v) { return inside(v)->key; }
const berth_i_json_value *berth_i_json_first(const berth_i_json_value *v) {
  return is_container(inside(v)) ? outside(inside(v)->u.child) : NULL;
}
const berth_i_json_value *berth_i_json_next(const berth_i_json_value *v) {
  return outside(inside(v)->next);
}

int64_t berth_i_json_count(const berth_i_json_value *v) {
  int64_t n = 0;
  for (v = berth_i_json_first(v); v; v = berth_i_json_next(v)) n++;
  return n;
}

const berth_i_json_value *berth_i_json_get(const berth_i_json_value *object, const char *key) {
  const berth_i_json_value *v = berth_i_json_first(object);
  while (v && !(berth_i_json_key(v) && strcmp(berth_i_json_key(v), key) == 0))
    v = berth_i_json_next(v);
  return v;
}
