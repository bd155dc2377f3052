/* Reading values and tables with messages that name the place; writing arrays.
 * bl_to_... read the value at a stack index and raise if it is of the wrong kind; bl_get_... read a
 * field and return false where it is nil. Arrays go to scratch userdata, pushed and left on the
 * stack: the caller may pop them when done, and the collector frees them after an error. bl_set_...
 * set a field of the table on the top; bl_push_... push. */
#include "binding.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "fn: list[i].key: ...", by what of these the place has. */
int bl_wrong(lua_State *L, const bl_where *w, const char *key, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[700];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char place[200];
  if (w->list && key) {
    snprintf(place, sizeof place, "%s[%d].%s", w->list, w->i, key);
  } else if (w->list) {
    snprintf(place, sizeof place, "%s[%d]", w->list, w->i);
  } else {
    snprintf(place, sizeof place, "%s", key ? key : "argument");
  }
  return bl_error(L, "%s: %s: %s", w->fn, place, text);
}

void bl_need_table(lua_State *L, int i, const bl_where *w, const char *key) {
  if (!lua_istable(L, i)) bl_wrong(L, w, key, "expected a table, got %s", bl_kind(L, i));
}

void bl_need(lua_State *L, bool given, const bl_where *w, const char *key) {
  if (!given) bl_wrong(L, w, key, "is missing");
}

/* ---- keys ---- */

static bool is_listed(const char *key, const char *const *names) {
  for (; *names; names++)
    if (strcmp(key, *names) == 0) return true;
  return false;
}

static int32_t count(const char *const *names) {
  int32_t n = 0;
  while (names[n]) n++;
  return n;
}

static int unknown_key(lua_State *L, const bl_where *w, const char *key, const char *const *names) {
  const char *legal = bl_push_legal(L, key, names, count(names), NULL);
  if (w->list)
    return bl_error(L, "%s: %s[%d]: unknown field '%s' (legal: %s)", w->fn, w->list, w->i, key,
                    legal);
  return bl_error(L, "%s: unknown option '%s' (legal: %s)", w->fn, key, legal);
}

/* Reports the least of several unknown keys: the order of the table must not matter. */
void bl_check_keys(lua_State *L, int t, const bl_where *w, const char *const *names, bool items) {
  const char *wrong = NULL;
  lua_pushnil(L);
  while (lua_next(L, t)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      const char *key = lua_tostring(L, -1); /* anchored by the table */
      if (!is_listed(key, names) && (!wrong || strcmp(key, wrong) < 0)) wrong = key;
    } else if (!items || lua_type(L, -1) != LUA_TNUMBER) {
      const char *kind = luaL_typename(L, -1);
      bl_wrong(L, w, w->list ? NULL : "options", "a %s is no legal key here (legal: %s)", kind,
               bl_push_legal(L, NULL, names, count(names), NULL));
    }
  }
  if (wrong) unknown_key(L, w, wrong, names);
}

/* ---- values ---- */

const char *bl_to_text(lua_State *L, int i, const bl_where *w, const char *key) {
  size_t n;
  const char *s = lua_tolstring(L, i, &n);
  if (!s) bl_wrong(L, w, key, "expected a string, got %s", bl_kind(L, i));
  if (strlen(s) != n) bl_wrong(L, w, key, "\"%s\": contains a zero byte", s);
  return s;
}

const char *bl_to_string(lua_State *L, int i, const bl_where *w, const char *key) {
  if (lua_type(L, i) != LUA_TSTRING)
    bl_wrong(L, w, key, "expected a string, got %s", bl_kind(L, i));
  return bl_to_text(L, i, w, key);
}

double bl_to_number(lua_State *L, int i, const bl_where *w, const char *key) {
  if (lua_type(L, i) != LUA_TNUMBER)
    bl_wrong(L, w, key, "expected a number, got %s", bl_kind(L, i));
  double x = (double)lua_tonumber(L, i);
  if (isnan(x)) bl_wrong(L, w, key, "is not a number (NaN)");
  return x;
}

/* A number in base units, or a string with a unit. */
double bl_to_quantity(lua_State *L, int i, const bl_where *w, const char *key, berth_unit unit) {
  static const char *const examples[] = { "\"5 us\"", "\"16 GB\"", "\"25 GB/s\"", "\"3 GFLOP\"",
                                          "\"15 TFLOP/s\"" };
  double x = 0;
  if (lua_type(L, i) == LUA_TNUMBER) {
    x = bl_to_number(L, i, w, key);
  } else if (lua_type(L, i) != LUA_TSTRING) {
    bl_wrong(L, w, key, "expected a number or a string such as %s, got %s", examples[unit],
             bl_kind(L, i));
  } else if (berth_quantity_parse(bl_ctx(L), bl_to_text(L, i, w, key), unit, &x) != BERTH_OK) {
    bl_wrong(L, w, key, "%s", berth_errmsg(bl_ctx(L)));
  }
  if (x < 0) bl_wrong(L, w, key, "%.14g is negative", x);
  return x;
}

double bl_to_whole(lua_State *L, int i, const bl_where *w, const char *key, double low,
                   double high) {
  double x = bl_to_number(L, i, w, key);
  if (x != floor(x)) bl_wrong(L, w, key, "expected a whole number, got %.14g", x);
  if (x < low || x > high) bl_wrong(L, w, key, "%.14g is out of range %.14g..%.14g", x, low, high);
  return x;
}

double bl_opt_whole(lua_State *L, int i, const bl_where *w, const char *key, double otherwise,
                    double low, double high) {
  return lua_isnoneornil(L, i) ? otherwise : bl_to_whole(L, i, w, key, low, high);
}

static const char *article(const char *noun) { return strchr("aeio", noun[0]) ? "an" : "a"; }

/* Ids count from 1 in Lua and from 0 in C. */
int32_t bl_to_id(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                 const char *noun) {
  if (lua_type(L, i) != LUA_TNUMBER)
    bl_wrong(L, w, key, "expected a number, the id of %s %s%s; got %s", article(noun), noun,
             strcmp(noun, "device") == 0 ? " (from 1: d0 has 1)" : "", bl_kind(L, i));
  double x = (double)lua_tonumber(L, i);
  if (x != floor(x)) bl_wrong(L, w, key, "%.14g is no %s id: ids are whole numbers", x, noun);
  if (!(x >= 1 && x <= n))
    bl_wrong(L, w, key, "there is no %s %.14g (ids are 1..%d)", noun, x, (int)n);
  return (int32_t)x - 1;
}

/* #t is any border of a table with holes: an entry beyond it would be ignored in silence. */
static void check_no_holes(lua_State *L, int i, const bl_where *w, const char *key, size_t n) {
  i = lua_absindex(L, i);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TNUMBER) {
      double k = (double)lua_tonumber(L, -1);
      if (!(k >= 1 && k <= (double)n))
        bl_wrong(L, w, key, "has an entry [%.14g], but none at [%.0f]", k, (double)n + 1);
    }
  }
}

int32_t bl_to_length(lua_State *L, int i, const bl_where *w, const char *key) {
  if (!lua_istable(L, i)) bl_wrong(L, w, key, "expected an array, got %s", bl_kind(L, i));
  size_t n = lua_rawlen(L, i);
  if (n > INT32_MAX - 1) bl_wrong(L, w, key, "has too many entries");
  check_no_holes(L, i, w, key, n);
  return (int32_t)n;
}

void *bl_scratch(lua_State *L, size_t n, size_t size) {
  if (n > ((size_t)-1 >> 1) / size) bl_error(L, "out of memory");
  return lua_newuserdata(L, n ? n * size : 1);
}

void bl_need_length(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                    const char *per) {
  int32_t got = bl_to_length(L, i, w, key);
  if (got != n && !per) bl_wrong(L, w, key, "has %d entries, expected %d", (int)got, (int)n);
  if (got != n)
    bl_wrong(L, w, key, "has %d entries, expected %d (one per %s)", (int)got, (int)n, per);
}

/* "key[k]" in a scratch string on the stack. */
static const char *item_name(lua_State *L, const char *key, int32_t k) {
  return lua_pushfstring(L, "%s[%d]", key, (int)k);
}

/* The name of an item is made for an error only: arrays are long. */
double *bl_to_numbers(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                      const char *per) {
  i = lua_absindex(L, i);
  bl_need_length(L, i, w, key, n, per);
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    x[k] = (double)lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || isnan(x[k])) {
      const char *name = item_name(L, key, k + 1);
      bl_to_number(L, -2, w, name);
    }
    lua_pop(L, 1);
  }
  return x;
}

/* As bl_to_numbers: the fast test first, bl_to_id for its message. */
int32_t *bl_to_ids(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                   int32_t n_things, const char *noun) {
  i = lua_absindex(L, i);
  bl_need_length(L, i, w, key, n, NULL);
  int32_t *ids = bl_scratch(L, (size_t)n, sizeof *ids);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    double x = (double)lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(x >= 1 && x <= n_things) || x != floor(x)) {
      const char *name = item_name(L, key, k + 1);
      bl_to_id(L, -2, w, name, n_things, noun);
    }
    ids[k] = (int32_t)x - 1;
    lua_pop(L, 1);
  }
  return ids;
}

/* [-0, +1] An array of whole numbers from `low`; the scratch stays at the top. */
int32_t *bl_to_wholes(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                      int32_t low) {
  i = lua_absindex(L, i);
  int32_t *x = bl_scratch(L, (size_t)n, sizeof *x);
  for (int32_t k = 0; k < n; k++) {
    bl_where item = { w->fn, key, (int)k + 1 };
    lua_rawgeti(L, i, k + 1);
    x[k] = (int32_t)bl_to_whole(L, -1, &item, NULL, low, INT32_MAX);
    lua_pop(L, 1);
  }
  return x;
}

/* [-0, +1] An array of arrays, row-major. */
double *bl_to_rows(lua_State *L, int i, const bl_where *w, const char *key, int32_t rows,
                   int32_t columns, const char *per) {
  i = lua_absindex(L, i);
  double *x = bl_scratch(L, (size_t)rows * (size_t)columns, sizeof *x);
  for (int32_t k = 0; k < rows; k++) {
    bl_where item = { w->fn, key, (int)k + 1 };
    lua_rawgeti(L, i, k + 1);
    if (!lua_istable(L, -1)) bl_wrong(L, &item, NULL, "expected an array, got %s", bl_kind(L, -1));
    memcpy(x + (size_t)k * (size_t)columns, bl_to_numbers(L, -1, &item, key, columns, per),
           (size_t)columns * sizeof *x);
    lua_pop(L, 2);
  }
  return x;
}

int bl_to_entry(lua_State *L, int list, bl_where *w, int32_t k, const char *const *keys) {
  lua_rawgeti(L, list, k + 1);
  w->i = (int)k + 1;
  bl_need_table(L, -1, w, NULL);
  if (keys) bl_check_keys(L, lua_gettop(L), w, keys, false);
  return lua_gettop(L);
}

void bl_check_own_id(lua_State *L, int t, const bl_where *w) {
  int32_t id;
  if (bl_get_whole(L, t, w, "id", 1, INT32_MAX, &id) && id != w->i)
    bl_wrong(L, w, "id", "is %d: ids are positions; leave it out or keep the order", (int)id);
}

/* ---- fields ---- */

/* Pushes t[key]; nil: pops it again and says false. */
static bool field(lua_State *L, int t, const char *key) {
  if (!t) return false;
  lua_getfield(L, t, key);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

bool bl_is_given(lua_State *L, int t, const char *key) {
  if (!field(L, t, key)) return false;
  lua_pop(L, 1);
  return true;
}

bool bl_get_quantity(lua_State *L, int t, const bl_where *w, const char *key, berth_unit unit,
                     double *out) {
  if (!field(L, t, key)) return false;
  *out = bl_to_quantity(L, -1, w, key, unit);
  lua_pop(L, 1);
  return true;
}

bool bl_get_positive(lua_State *L, int t, const bl_where *w, const char *key, double *out) {
  if (!field(L, t, key)) return false;
  double x = bl_to_number(L, -1, w, key);
  if (!(x >= 0) || isinf(x))
    bl_wrong(L, w, key, "expected a finite number not below 0, got %.14g", x);
  *out = x;
  lua_pop(L, 1);
  return true;
}

bool bl_get_number(lua_State *L, int t, const bl_where *w, const char *key, double *out) {
  if (!field(L, t, key)) return false;
  *out = bl_to_number(L, -1, w, key);
  lua_pop(L, 1);
  return true;
}

bool bl_get_bool(lua_State *L, int t, const bl_where *w, const char *key, int *out) {
  if (!field(L, t, key)) return false;
  if (!lua_isboolean(L, -1)) bl_wrong(L, w, key, "expected true or false, got %s", bl_kind(L, -1));
  *out = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return true;
}

bool bl_get_whole(lua_State *L, int t, const bl_where *w, const char *key, int32_t low,
                  int32_t high, int32_t *out) {
  if (!field(L, t, key)) return false;
  *out = (int32_t)bl_to_whole(L, -1, w, key, low, high);
  lua_pop(L, 1);
  return true;
}

/* Index in a list that ends with NULL. */
int bl_to_enum(lua_State *L, int i, const bl_where *w, const char *key, const char *const *names) {
  if (lua_type(L, i) != LUA_TSTRING) {
    const char *kind = bl_kind(L, i);
    return bl_wrong(L, w, key, "expected one of: %s; got %s",
                    bl_push_legal(L, NULL, names, count(names), NULL), kind);
  }
  const char *s = bl_to_text(L, i, w, key);
  for (int k = 0; names[k]; k++)
    if (strcmp(s, names[k]) == 0) return k;
  return bl_wrong(L, w, key, "'%s' is none of: %s", s,
                  bl_push_legal(L, s, names, count(names), NULL));
}

bool bl_get_enum(lua_State *L, int t, const bl_where *w, const char *key, const char *const *names,
                 int *out) {
  if (!field(L, t, key)) return false;
  *out = bl_to_enum(L, -1, w, key, names);
  lua_pop(L, 1);
  return true;
}

const char *bl_get_string(lua_State *L, int t, const bl_where *w, const char *key) {
  return field(L, t, key) ? bl_to_string(L, -1, w, key) : NULL;
}

bool bl_get_array(lua_State *L, int t, const bl_where *w, const char *key, int32_t *n) {
  if (!field(L, t, key)) return false;
  *n = bl_to_length(L, -1, w, key);
  return true;
}

bool bl_get_sized(lua_State *L, int t, const bl_where *w, const char *key, int32_t n,
                  const char *per) {
  if (!field(L, t, key)) return false;
  bl_need_length(L, -1, w, key, n, per);
  return true;
}

bool bl_get_function(lua_State *L, int t, const bl_where *w, const char *key) {
  if (!field(L, t, key)) return false;
  if (!lua_isfunction(L, -1)) bl_wrong(L, w, key, "expected a function, got %s", bl_kind(L, -1));
  return true;
}

/* ---- writing ---- */

void bl_push_numbers(lua_State *L, int32_t n, const double *x) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushnumber(L, x[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_ids(lua_State *L, int32_t n, const int32_t *ids) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushinteger(L, ids[k] + 1);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_id(lua_State *L, int32_t id) {
  if (id == BERTH_NONE) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, id + 1);
  }
}

void bl_push_counts(lua_State *L, int32_t n, const int32_t *x) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushinteger(L, x[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_map(lua_State *L, int32_t n, const int32_t *ids) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    if (ids[k] == BERTH_NONE) lua_pushboolean(L, 0);
    else lua_pushinteger(L, ids[k] + 1);
    lua_rawseti(L, -2, k + 1);
  }
}

/* [-0, +1] Ids of those that are marked, ascending. */
void bl_push_marked(lua_State *L, int32_t n, const uint8_t *marks) {
  int count = 0;
  lua_newtable(L);
  for (int32_t k = 0; k < n; k++) {
    if (!marks[k]) continue;
    lua_pushinteger(L, k + 1);
    lua_rawseti(L, -2, ++count);
  }
}

void bl_push_names(lua_State *L, int32_t n, const uint8_t *code, const char *const *names) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushstring(L, names[code[k]]);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_strings(lua_State *L, int32_t n, const char *const *s) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushstring(L, s[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_rows(lua_State *L, int32_t rows, int32_t columns, const double *x) {
  lua_createtable(L, rows, 0);
  for (int32_t k = 0; k < rows; k++) {
    bl_push_numbers(L, columns, x + (size_t)k * (size_t)columns);
    lua_rawseti(L, -2, k + 1);
  }
}

int bl_push_or_nil(lua_State *L, double x) {
  if (isnan(x)) lua_pushnil(L);
  else lua_pushnumber(L, x);
  return 1;
}

void bl_set_numbers(lua_State *L, const char *key, int32_t n, const double *x) {
  bl_push_numbers(L, n, x);
  lua_setfield(L, -2, key);
}

void bl_set_ids(lua_State *L, const char *key, int32_t n, const int32_t *ids) {
  bl_push_ids(L, n, ids);
  lua_setfield(L, -2, key);
}

void bl_set_finite(lua_State *L, const char *key, double x) {
  if (isfinite(x)) bl_set_number(L, key, x);
}

void bl_set_number(lua_State *L, const char *key, double x) {
  lua_pushnumber(L, x);
  lua_setfield(L, -2, key);
}

void bl_set_count(lua_State *L, const char *key, double n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, key);
}

void bl_set_id(lua_State *L, const char *key, int32_t id) {
  bl_push_id(L, id);
  lua_setfield(L, -2, key);
}

void bl_set_bool(lua_State *L, const char *key, int yes) {
  lua_pushboolean(L, yes);
  lua_setfield(L, -2, key);
}

void bl_set_string(lua_State *L, const char *key, const char *s) {
  if (!s || !*s) return;
  lua_pushstring(L, s);
  lua_setfield(L, -2, key);
}

/* [-0, +1] As snprintf: see bl_error. */
int bl_push_format(lua_State *L, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[300];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  lua_pushstring(L, text);
  return 1;
}

void bl_add_format(luaL_Buffer *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[300];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  luaL_addstring(b, text);
}

void bl_add_name(luaL_Buffer *b, const char *name) {
  char text[101];
  berth_escape(name, 0, text, sizeof text);
  luaL_addstring(b, text);
}

void bl_add_quantity(luaL_Buffer *b, double x, berth_unit unit) {
  char text[64];
  luaL_addstring(b, berth_quantity_format(x, unit, text, sizeof text));
}
