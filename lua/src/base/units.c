/* Quantities with units; random streams. The state of an rng is in its box: `open` points to it,
 * NULL when closed. */
#define _XOPEN_SOURCE 700 /* uselocale */
#include "binding.h"
#include <locale.h>
#include <string.h>
#ifdef __APPLE__
# include <xlocale.h>
#endif
#include <berth/io.h>
#include <math.h>
#include <stdio.h>

const char *const bl_unit_names[] = { "seconds", "bytes", "bytes/s", "flop", "flop/s", NULL };

static berth_unit check_unit(lua_State *L, int i, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  return (berth_unit)bl_to_enum(L, i, &w, "unit", bl_unit_names);
}

/* quantity(text or number, unit): number; nil, message, code */
static int quantity(lua_State *L) {
  BL_WHERE(w, "berth.quantity");
  berth_unit unit = check_unit(L, 2, w.fn);
  double x = 0;
  if (lua_type(L, 1) == LUA_TSTRING) {
    berth_status st = berth_quantity_parse(bl_ctx(L), bl_to_text(L, 1, &w, "quantity"), unit, &x);
    if (st != BERTH_OK) return bl_failed(L, st);
  } else {
    x = bl_to_quantity(L, 1, &w, "quantity", unit);
  }
  lua_pushnumber(L, x);
  return 1;
}

/* format(x, unit, bare): text with a unit; bare: the number alone, of six digits */
static int format(lua_State *L) {
  BL_WHERE(w, "berth.format");
  berth_unit unit = check_unit(L, 2, w.fn);
  if (lua_type(L, 1) != LUA_TNUMBER)
    return bl_wrong(L, &w, "value", "expected a number, got %s", bl_kind(L, 1));
  double x = (double)lua_tonumber(L, 1);
  char text[64];
  lua_pushstring(L, lua_toboolean(L, 3) ? berth_number_text(x, 6, text, sizeof text)
                                        : berth_quantity_format(x, unit, text, sizeof text));
  return 1;
}

/* [-0, +1] A piece without zeros, escaped. */
static void push_escaped(lua_State *L, const char *text, int lines) {
  size_t need = berth_escape(text, lines, NULL, 0);
  char *buf = bl_scratch(L, need + 1, 1);
  berth_escape(text, lines, buf, need + 1);
  lua_pushlstring(L, buf, need);
  lua_remove(L, -2);
}

/* escape(text, lines): the text for a terminal; lines: line ends and tabs stay. */
static int escape(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *end = text + len;
  int lines = lua_toboolean(L, 2);
  lua_settop(L, 1);
  if (strlen(text) == len && berth_escape(text, lines, NULL, 0) == len) return 1;
  push_escaped(L, text, lines);
  for (text += strlen(text); text < end; text += strlen(text)) {
    lua_pushliteral(L, "\\u0000");
    push_escaped(L, ++text, lines);
    lua_concat(L, 3);
  }
  return 1;
}

/* sprintf(format, ...): string.format(format, ...), with a point in numbers whatever the locale of
 * the program is; that of the thread is another for the call. */
static int sprintf_plain(lua_State *L) {
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "format");
  lua_replace(L, -2);
  lua_insert(L, 1);
  int n = lua_gettop(L) - 1;
  locale_t plain = (locale_t)0;
  if (strcmp(localeconv()->decimal_point, ".") != 0) plain = newlocale(LC_ALL_MASK, "C", plain);
  locale_t before = plain ? uselocale(plain) : plain;
  int code = lua_pcall(L, n, 1, 0);
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  return code == LUA_OK ? 1 : lua_error(L);
}

/* number_text(x, digits): the same on every interpreter; their own formats differ where halves are
 * rounded */
static int number_text(lua_State *L) {
  BL_WHERE(w, "number_text");
  int digits = bl_opt_whole(L, 2, &w, "digits", 0, 1, 17);
  if (lua_type(L, 1) != LUA_TNUMBER)
    return bl_wrong(L, &w, "x", "expected a number, got %s", bl_kind(L, 1));
  char text[48];
  lua_pushstring(L, berth_number_text((double)lua_tonumber(L, 1), digits, text, sizeof text));
  return 1;
}

/* ---- names ---- */

/* [-0, +1] The texts of the array at i, in scratch; what is no string is left out. */
static const char **texts_at(lua_State *L, int i, int32_t *n) {
  int32_t most = (int32_t)lua_rawlen(L, i);
  const char **names = bl_scratch(L, (size_t)most, sizeof *names);
  *n = 0;
  for (int32_t k = 1; k <= most; k++) {
    lua_rawgeti(L, i, k); /* anchored by the table */
    if (lua_type(L, -1) == LUA_TSTRING) names[(*n)++] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  return names;
}

/* names_text(word, names, all): berth_names_text() */
static int names_text(lua_State *L) {
  BL_WHERE(w, "names_text");
  int32_t n;
  bl_need_table(L, 2, &w, "names");
  lua_settop(L, 3);
  const char **names = texts_at(L, 2, &n);
  const char *word = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  bl_push_legal(L, word, names, n, lua_type(L, 3) == LUA_TSTRING ? lua_tostring(L, 3) : NULL);
  return 1;
}

/* name_nearest(word, names): the name, or nil; and its distance */
static int name_nearest(lua_State *L) {
  BL_WHERE(w, "name_nearest");
  int32_t n;
  bl_need_table(L, 2, &w, "names");
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING) return 0;
  const char **names = texts_at(L, 2, &n), *word = lua_tostring(L, 1);
  const char *found = berth_name_nearest(word, names, n);
  if (!found) return 0;
  lua_pushstring(L, found);
  lua_pushinteger(L, berth_name_distance(word, found));
  return 2;
}

/* ---- random streams ---- */

typedef struct rng_box {
  berth_rng *open; /* &state */
  berth_rng state;
  uint64_t seed, stream;
} rng_box;

static void release_rng(void *box) { (void)box; }

BL_SELF(check_rng, berth_rng, bl_rng_class)

static uint64_t optional_seed(lua_State *L, int i, const char *key) {
  BL_WHERE(w, "berth.rng");
  return bl_opt_whole(L, i, &w, key, 0, 0, 9007199254740992.0);
}

static int rng_new(lua_State *L) {
  uint64_t seed = optional_seed(L, 1, "seed"), stream = optional_seed(L, 2, "stream");
  rng_box *box = bl_new(L, &bl_rng_class, sizeof *box);
  berth_rng_init(&box->state, seed, stream);
  box->seed = seed;
  box->stream = stream;
  box->open = &box->state;
  return 1;
}

BL_GETTER(rng_uniform, lua_pushnumber, berth_rng_uniform(check_rng(L, "rng:uniform")))
BL_GETTER(rng_normal, lua_pushnumber, berth_rng_normal(check_rng(L, "rng:normal")))

static int rng_below(lua_State *L) {
  BL_WHERE(w, "rng:below");
  berth_rng *r = check_rng(L, w.fn);
  lua_pushinteger(L, berth_rng_below(r, (int32_t)bl_to_whole(L, 2, &w, "n", 1, INT32_MAX)) + 1);
  return 1;
}

/* shuffle(array): in place; gives the array */
static int rng_shuffle(lua_State *L) {
  BL_WHERE(w, "rng:shuffle");
  berth_rng *r = check_rng(L, w.fn);
  int32_t n = bl_to_length(L, 2, &w, "array");
  lua_settop(L, 2);
  int32_t *order = bl_scratch(L, (size_t)n, sizeof *order);
  for (int32_t k = 0; k < n; k++) order[k] = k + 1;
  berth_rng_shuffle(r, order, n);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, 2, order[k]);
    lua_rawseti(L, 4, k + 1);
  }
  for (int32_t k = 1; k <= n; k++) {
    lua_rawgeti(L, 4, k);
    lua_rawseti(L, 2, k);
  }
  lua_pushvalue(L, 2);
  return 1;
}

static int rng_tostring(lua_State *L) {
  const rng_box *box = bl_self(L, &bl_rng_class, "tostring");
  char text[80];
  snprintf(text, sizeof text, "rng: seed %.0f, stream %.0f", (double)box->seed,
           (double)box->stream);
  lua_pushstring(L, text);
  return 1;
}

static const luaL_Reg rng_methods[] = { { "uniform", rng_uniform },
                                        { "normal", rng_normal },
                                        { "below", rng_below },
                                        { "shuffle", rng_shuffle },
                                        { NULL, NULL } };
const bl_class bl_rng_class = {
  .name = "rng", .key = "berth.rng", .release = release_rng, .methods = rng_methods,
  .text = rng_tostring
};

const luaL_Reg bl_units_functions[] = { { "quantity", quantity },
                                        { "format", format },
                                        { "number_text", number_text },
                                        { "escape", escape },
                                        { "names_text", names_text },
                                        { "name_nearest", name_nearest },
                                        { "sprintf", sprintf_plain },
                                        { "rng", rng_new },
                                        { NULL, NULL } };
