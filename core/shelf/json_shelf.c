#include "json_shelf.h"

#include <cJSON.h>
#include <stdio.h>

enum { MAX_DEPTH = CJSON_NESTING_LIMIT + 1, MAX_QUOTE = 40 };

struct berth_i_json {
  berth_ctx *ctx;
  const char *name, *text;
  size_t len;
  cJSON *root;
};

static const cJSON *inside(const berth_i_json_value *v) { return (const cJSON *)(const void *)v; }
static const berth_i_json_value *outside(const cJSON *v) { return (const berth_i_json_value *)(const void *)v; }

/* ---- places in the text ------------------------------------------------------------------- */

static int line_of(const berth_i_json *doc, const char *at) {
  int line = 1;
  const char *p;
  for (p = doc->text; p < at; p++) line += *p == '\n';
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

/* Start of the index-th value, in the order in which values begin. The text has been accepted by cJSON. */
static const char *value_at(const berth_i_json *doc, int64_t index) {
  const char *p = doc->text, *end = doc->text + doc->len;
  while (p < end) {
    const char *next;
    if (is_space(*p) || strchr(",]}:", *p)) {
      p++;
      continue;
    }
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
  const cJSON *target;
  int64_t index; /* values that begin before it */
  int depth;     /* steps to it from the root */
  struct {
    const char *key;
    int64_t position;
  } step[MAX_DEPTH + 1];
} search;

static bool locate(search *s, const cJSON *item, int depth) {
  const cJSON *child;
  int64_t k = 0;
  if (item == s->target) {
    s->depth = depth;
    return true;
  }
  s->index++;
  for (child = item->child; child; child = child->next, k++) {
    s->step[depth].key = child->string;
    s->step[depth].position = k;
    if (depth < MAX_DEPTH && locate(s, child, depth + 1)) return true;
  }
  return false;
}

/* "graph.ops[17].seconds"; a path that does not fit is cut. */
static void path_text(const search *s, char *buf, size_t size) {
  size_t used = 0;
  int i;
  if (s->depth == 0) snprintf(buf, size, "the document");
  for (i = 0; i < s->depth && used < size; i++) {
    const char *key = s->step[i].key;
    int n = key ? snprintf(buf + used, size - used, "%s%s", i ? "." : "", key)
                : snprintf(buf + used, size - used, "[%lld]", (long long)s->step[i].position);
    if (n > 0) used += (size_t)n;
  }
}

/* The text of a scalar, cut at MAX_QUOTE. */
static void quote(const char *p, const char *end, char *buf) {
  size_t n = (size_t)((*p == '"' ? after_string(p, end) : after_scalar(p, end)) - p), i;
  bool cut = n > MAX_QUOTE;
  if (cut) n = MAX_QUOTE;
  for (i = 0; i < n; i++) buf[i] = (unsigned char)p[i] < 32 ? ' ' : p[i];
  memcpy(buf + n, cut ? "..." : "", cut ? 4 : 1);
}

berth_status berth_i_json_fail(const berth_i_json *doc, const berth_i_json_value *v, const char *reason, ...) {
  char path[160], why[400], text[MAX_QUOTE + 4] = "";
  search s;
  const char *at;
  bool joins = *reason == ':', scalar = !joins && berth_i_json_kind_of(v) < BERTH_I_JSON_ARRAY;
  va_list args;
  va_start(args, reason);
  vsnprintf(why, sizeof why, reason, args);
  va_end(args);
  s.target = inside(v);
  s.index = 0;
  s.depth = 0;
  locate(&s, doc->root, 0);
  path_text(&s, path, sizeof path);
  at = value_at(doc, s.index);
  if (scalar && at < doc->text + doc->len) quote(at, doc->text + doc->len, text);
  return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: %s%s%s%s%s%s", doc->name, line_of(doc, at), path, joins ? "" : " ", why,
                      scalar ? " (" : "", text, scalar ? ")" : "");
}

/* ---- parsing ------------------------------------------------------------------------------ */

static int depth_at(const berth_i_json *doc, const char *at) {
  const char *p;
  int depth = 0;
  for (p = doc->text; p < at; p++) {
    if (*p == '"') p = after_string(p, at) - 1;
    depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
  }
  return depth;
}

static berth_status syntax_error(const berth_i_json *doc, const char *at) {
  const char *end = doc->text + doc->len;
  char text[MAX_QUOTE + 4];
  at = after_space(at, end);
  if (at >= end) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: JSON ends too early", doc->name, line_of(doc, end));
  }
  if (depth_at(doc, at) >= CJSON_NESTING_LIMIT) {
    return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: JSON is nested deeper than %d", doc->name, line_of(doc, at),
                        CJSON_NESTING_LIMIT);
  }
  quote(at, end, text);
  if (!*text) snprintf(text, sizeof text, "%c", *at);
  return berth_i_fail(doc->ctx, BERTH_EPARSE, "%s:%d: not valid JSON here (%s)", doc->name, line_of(doc, at), text);
}

berth_status berth_i_json_parse(berth_ctx *ctx, const char *name, const char *text, size_t len, berth_i_json **out) {
  berth_i_json *doc = berth_i_zalloc(ctx, 1, sizeof *doc);
  const char *zero = memchr(text, 0, len), *at = text;
  berth_status st = BERTH_OK;
  if (!doc) return berth_i_nomem(ctx);
  doc->ctx = ctx;
  doc->name = name;
  doc->text = text;
  doc->len = len;
  if (zero) {
    st = berth_i_fail(ctx, BERTH_EPARSE, "%s:%d: zero byte in the text", name, line_of(doc, zero));
  } else if (!(doc->root = cJSON_ParseWithLengthOpts(text, len + 1, &at, 1))) {
    st = syntax_error(doc, at);
  }
  if (st != BERTH_OK) {
    berth_i_json_release(doc);
    return st;
  }
  *out = doc;
  return BERTH_OK;
}

void berth_i_json_release(berth_i_json *doc) {
  if (!doc) return;
  cJSON_Delete(doc->root);
  berth_i_free(doc->ctx, doc, 1, sizeof *doc);
}

/* ---- reading ------------------------------------------------------------------------------ */

berth_ctx *berth_i_json_ctx(const berth_i_json *doc) { return doc->ctx; }
const char *berth_i_json_name(const berth_i_json *doc) { return doc->name; }
const berth_i_json_value *berth_i_json_root(const berth_i_json *doc) { return outside(doc->root); }

berth_i_json_kind berth_i_json_kind_of(const berth_i_json_value *v) {
  switch (inside(v)->type & 0xff) {
    case cJSON_True:
    case cJSON_False: return BERTH_I_JSON_BOOL;
    case cJSON_Number: return BERTH_I_JSON_NUMBER;
    case cJSON_String: return BERTH_I_JSON_STRING;
    case cJSON_Array: return BERTH_I_JSON_ARRAY;
    case cJSON_Object: return BERTH_I_JSON_OBJECT;
    default: return BERTH_I_JSON_NULL;
  }
}

double berth_i_json_number(const berth_i_json_value *v) { return inside(v)->valuedouble; }
const char *berth_i_json_string(const berth_i_json_value *v) { return inside(v)->valuestring; }
bool berth_i_json_true(const berth_i_json_value *v) { return cJSON_IsTrue(inside(v)); }
const char *berth_i_json_key(const berth_i_json_value *v) { return inside(v)->string; }
const berth_i_json_value *berth_i_json_first(const berth_i_json_value *v) { return outside(inside(v)->child); }
const berth_i_json_value *berth_i_json_next(const berth_i_json_value *v) { return outside(inside(v)->next); }

int64_t berth_i_json_count(const berth_i_json_value *v) {
  int64_t n = 0;
  for (v = berth_i_json_first(v); v; v = berth_i_json_next(v)) n++;
  return n;
}

const berth_i_json_value *berth_i_json_get(const berth_i_json_value *object, const char *key) {
  const berth_i_json_value *v = berth_i_json_first(object);
  while (v && !(berth_i_json_key(v) && strcmp(berth_i_json_key(v), key) == 0)) v = berth_i_json_next(v);
  return v;
}
