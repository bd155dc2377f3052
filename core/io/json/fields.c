/* Members of JSON objects and arrays, checked: kind, range, unit. Each function takes the value, or
 * NULL for an absent member, which keeps the default in *out. Failures name the value's line and
 * path. */
#include "io/io_internal.h"

#include <stdio.h>

/* Objects of one array mostly have their keys in one order: the search begins after the last hit,
 * so it is O(1) a key then, and O(n) else. */
static int find_key(const char *key, const char *const *keys, int n, int from) {
  for (int i = 0; i < n; i++) {
    int k = from + i < n ? from + i : from + i - n;
    if (strcmp(key, keys[k]) == 0) return k;
  }
  return -1;
}

/* With the known key that may be meant, else with all of them if they are few. */
static berth_status unknown_key(const berth_i_json *doc, berth_i_value v, const char *const *keys,
                                int n) {
  char legal[400];
  const char *meant = berth_name_nearest(berth_i_json_key(v), keys, n);
  if (meant) return berth_i_json_fail(doc, v, "is an unknown key; did you mean \"%s\"?", meant);
  berth_names_text(berth_i_json_key(v), keys, n, NULL, legal, sizeof legal);
  return berth_i_json_fail(doc, v, "is an unknown key (legal: %s)", legal);
}

berth_status berth_i_fields(const berth_i_json *doc, berth_i_value object,
                            const char *const *keys, int n, int needed,
                            bool strict, berth_i_value *found) {
  int k, from = 0;
  for (k = 0; k < n; k++) found[k] = NULL;
  if (berth_i_json_kind_of(object) != BERTH_I_JSON_OBJECT)
    return berth_i_json_fail(doc, object, "is not an object");
  for (berth_i_value v = berth_i_json_first(object); v; v = berth_i_json_next(v)) {
    k = find_key(berth_i_json_key(v), keys, n, from);
    if (k < 0 && strict) return unknown_key(doc, v, keys, n);
    if (k < 0) continue;
    if (found[k]) return berth_i_json_fail(doc, v, "is given twice");
    found[k] = v;
    from = k + 1 < n ? k + 1 : 0;
  }
  for (k = 0; k < n && !strict; k++)
    if (found[k] && berth_i_json_kind_of(found[k]) == BERTH_I_JSON_NULL) found[k] = NULL;
  berth_status st = BERTH_OK;
  for (k = 0; k < needed && st == BERTH_OK; k++) st = berth_i_need(doc, object, found[k], keys[k]);
  return st;
}

berth_status berth_i_need(const berth_i_json *doc, berth_i_value object,
                          berth_i_value v, const char *key) {
  return v ? BERTH_OK : berth_i_json_fail(doc, object, "has no \"%s\"", key);
}

berth_status berth_i_get_text(const berth_i_json *doc, berth_i_value v, const char **out) {
  if (!v) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_STRING)
    return berth_i_json_fail(doc, v, "is not a string");
  *out = berth_i_json_string(v);
  return BERTH_OK;
}

/* Foreign files write flags as numbers, too; berth files must not (berth_i_get_flag). */
berth_status berth_i_get_bool(const berth_i_json *doc, berth_i_value v, bool *out) {
  if (!v) return BERTH_OK;
  berth_i_json_kind kind = berth_i_json_kind_of(v);
  if (kind == BERTH_I_JSON_BOOL) {
    *out = berth_i_json_true(v);
  } else if (kind == BERTH_I_JSON_NUMBER
             && (berth_i_json_number(v) == 0 || berth_i_json_number(v) == 1)) {
    *out = berth_i_json_number(v) == 1;
  } else {
    return berth_i_json_fail(doc, v, "is neither true nor false");
  }
  return BERTH_OK;
}

berth_status berth_i_get_flag(const berth_i_json *doc, berth_i_value v, bool *out) {
  if (v && berth_i_json_kind_of(v) != BERTH_I_JSON_BOOL)
    return berth_i_json_fail(doc, v, "is neither true nor false");
  return berth_i_get_bool(doc, v, out);
}

berth_status berth_i_get_bits(const berth_i_json *doc, const berth_i_value *f,
                              const berth_i_bit *bits, int n, bool strict, uint32_t *out) {
  berth_status st = BERTH_OK;
  for (int k = 0; k < n && st == BERTH_OK; k++) {
    berth_i_value v = f[bits[k].field];
    bool on = false;
    st = strict ? berth_i_get_flag(doc, v, &on) : berth_i_get_bool(doc, v, &on);
    if (on) *out |= bits[k].bit;
  }
  return st;
}

/* The parser turns a number beyond doubles into an infinity. */
static berth_status check_number(const berth_i_json *doc, berth_i_value v) {
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_NUMBER)
    return berth_i_json_fail(doc, v, "is not a number");
  if (isinf(berth_i_json_number(v))) return berth_i_json_fail(doc, v, "is too large");
  return BERTH_OK;
}

/* min and max are within int32_t, so the cast is exact. */
berth_status berth_i_get_int(const berth_i_json *doc, berth_i_value v, int32_t min, int32_t max,
                             int32_t *out) {
  if (!v) return BERTH_OK;
  berth_status st;
  if ((st = check_number(doc, v)) != BERTH_OK) return st;
  double x = berth_i_json_number(v);
  if (x != floor(x)) return berth_i_json_fail(doc, v, "is not a whole number");
  if (x < min || x > max) return berth_i_json_fail(doc, v, "is not in %d..%d", (int)min, (int)max);
  *out = (int32_t)x;
  return BERTH_OK;
}

berth_status berth_i_get_amount(const berth_i_json *doc, berth_i_value v, double *out) {
  if (!v) return BERTH_OK;
  berth_status st;
  if ((st = check_number(doc, v)) != BERTH_OK) return st;
  if (berth_i_json_number(v) < 0) return berth_i_json_fail(doc, v, "is negative");
  *out = berth_i_json_number(v);
  return BERTH_OK;
}

/* A number is in the base unit; a string has a unit of its own. "inf" is possible as a string
 * only. */
berth_status berth_i_get_quantity(const berth_i_json *doc, berth_i_value v,
                                  berth_unit unit, bool infinite, double *out) {
  double x = 0;
  if (!v) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_STRING) return berth_i_get_amount(doc, v, out);
  berth_status st = berth_quantity_parse(berth_i_json_ctx(doc), berth_i_json_string(v), unit, &x);
  if (st != BERTH_OK) return berth_i_blame(doc, v, st);
  if (isinf(x) && !infinite) return berth_i_json_fail(doc, v, "is infinite");
  *out = x;
  return BERTH_OK;
}

berth_status berth_i_get_quantities(const berth_i_json *doc, berth_i_value *found,
                                    const berth_i_quantity *q, int n, void *target) {
  berth_status st = BERTH_OK;
  for (int k = 0; k < n && st == BERTH_OK; k++)
    st = berth_i_get_quantity(doc, found[q[k].field], q[k].unit, q[k].infinite,
                              (double *)(void *)((char *)target + q[k].offset));
  return st;
}

/* INT32_MAX members would leave no id for "one past the end". */
static berth_status get_option(const berth_i_json *doc, berth_i_value v, const berth_option *o,
                               char *options) {
  if (o->type == BERTH_OPTION_NUMBER)
    return berth_i_get_amount(doc, v, (double *)(options + o->offset));
  bool on = false;
  berth_status st = berth_i_get_flag(doc, v, &on);
  if (st == BERTH_OK && v) *(int *)(options + o->offset) = on;
  return st;
}

berth_status berth_i_get_options(const berth_i_json *doc, berth_i_value v, int n,
                                 const berth_option_table *const *tables, void *const *structs) {
  enum { MOST = 20 };
  const char *keys[MOST] = { NULL };
  berth_i_value found[MOST];
  int n_keys = 0, next = 0;
  for (int t = 0; t < n; t++)
    for (const berth_option *o = tables[t]->options; o->key && n_keys < MOST; o++)
      keys[n_keys++] = o->key;
  berth_status st = berth_i_fields(doc, v, keys, n_keys, 0, true, found);
  for (int t = 0; t < n; t++)
    for (const berth_option *o = tables[t]->options; o->key && st == BERTH_OK; o++)
      st = get_option(doc, found[next++], o, structs[t]);
  return st;
}

berth_status berth_i_get_array(const berth_i_json *doc, berth_i_value v,
                               berth_i_value *first, int32_t *n) {
  *first = NULL;
  *n = 0;
  if (!v) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_ARRAY)
    return berth_i_json_fail(doc, v, "is not an array");
  int64_t count;
  if ((count = berth_i_json_count(v)) >= INT32_MAX)
    return berth_i_json_fail(doc, v, "has too many members");
  *first = berth_i_json_first(v);
  *n = (int32_t)count;
  return BERTH_OK;
}

berth_status berth_i_get_texts(const berth_i_json *doc, berth_i_value v, berth_i_pool *pool,
                               const char ***out, int32_t *n) {
  berth_i_value text;
  int32_t count = 0;
  berth_status st = berth_i_get_array(doc, v, &text, &count);
  if (st != BERTH_OK || !v) return st;
  const char **list = berth_i_pool_alloc(pool, (size_t)count, sizeof *list);
  if (!list) return berth_i_pool_status(pool);
  for (int32_t k = 0; k < count && st == BERTH_OK; k++, text = berth_i_json_next(text))
    st = berth_i_get_text(doc, text, &list[k]);
  *out = list;
  *n = count;
  return st;
}

berth_status berth_i_each(const berth_i_json *doc, berth_i_value v,
                          berth_i_read_fn read, void *ud) {
  berth_i_value member;
  int32_t n;
  berth_status st = berth_i_get_array(doc, v, &member, &n);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++, member = berth_i_json_next(member))
    st = read(ud, member, i);
  return st;
}

/* Messages with these codes come from builders and parsers of values, without file and line. */
static bool lacks_place(berth_status st) { return st == BERTH_EINVAL || st == BERTH_ECYCLE; }

/* The message is copied first: berth_i_json_fail writes to the buffer that berth_errmsg returns. */
berth_status berth_i_blame(const berth_i_json *doc, berth_i_value v, berth_status st) {
  if (!lacks_place(st)) return st;
  char message[320];
  snprintf(message, sizeof message, "%s", berth_errmsg(berth_i_json_ctx(doc)));
  berth_i_json_fail(doc, v, ": %s", message);
  return st == BERTH_ECYCLE ? st : BERTH_EPARSE;
}

berth_status berth_i_blame_file(berth_ctx *ctx, const char *name, berth_status st) {
  if (!lacks_place(st)) return st;
  berth_i_prefix_error(ctx, "%s: ", name);
  return st == BERTH_ECYCLE ? st : BERTH_EPARSE;
}

/* ---- identifiers ---- */

/* Numbers become decimal text, so that 7 and "7" are the same id, as in the scripts that write such
 * files. */
berth_status berth_i_id_text(const berth_i_json *doc, berth_i_value v, char *buf, size_t size,
                             const char **out) {
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_STRING) {
    *out = berth_i_json_string(v);
    return BERTH_OK;
  }
  berth_status st;
  if ((st = check_number(doc, v)) != BERTH_OK) return st;
  double x = berth_i_json_number(v);
  if (x != floor(x)) return berth_i_json_fail(doc, v, "is not a whole number");
  if (fabs(x) > INT32_MAX) return berth_i_json_fail(doc, v, "is beyond 32 bits");
  snprintf(buf, size, "%ld", (long)x);
  *out = buf;
  return BERTH_OK;
}

/* A new id gets the number of ids before it; any other number means that it is known. */
berth_status berth_i_add_id(const berth_i_json *doc, berth_i_value v, const char *what,
                            berth_i_names *ids) {
  char buf[32];
  const char *text = "";
  int32_t expected = ids->n;
  berth_status st = berth_i_id_text(doc, v, buf, sizeof buf, &text);
  if (st != BERTH_OK) return st;
  int32_t id;
  if ((st = berth_i_names_add(berth_i_json_ctx(doc), ids, text, &id)) != BERTH_OK) return st;
  return id == expected ? BERTH_OK : berth_i_json_fail(doc, v, "is the id of a second %s", what);
}

berth_status berth_i_find_id(const berth_i_json *doc, berth_i_value v, const char *what,
                             const berth_i_names *ids, int32_t *out) {
  char buf[32];
  const char *text = "";
  berth_status st = berth_i_id_text(doc, v, buf, sizeof buf, &text);
  if (st != BERTH_OK) return st;
  int32_t id = ids->n ? berth_i_names_find(ids, text) : BERTH_NONE;
  if (id == BERTH_NONE) return berth_i_json_fail(doc, v, "is the id of no %s", what);
  *out = id;
  return BERTH_OK;
}
