/* Option tables in Lua by the descriptors of the core: keys, values, and what `core.options` says
 * of them. */
#include "binding.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- keys ---- */

static const berth_option *find(const bl_table *tables, const char *key) {
  const berth_option *o = NULL;
  for (; *tables && !o; tables++) o = berth_option_find((*tables)(), key);
  return o && o->text ? o : NULL;
}

/* What lists the options of a function: help of the part behind "berth." */
static const char *help_of(const char *fn, char *buf, size_t size) {
  if (strncmp(fn, "berth.", 6) != 0) return NULL;
  snprintf(buf, size, "berth.help(\"%s\")", fn + 6);
  return buf;
}

const char *bl_push_legal(lua_State *L, const char *word, const char *const *names, int32_t n,
                          const char *all) {
  size_t need = berth_names_text(word, names, n, all, NULL, 0) + 1;
  char *buf = bl_scratch(L, need, 1);
  berth_names_text(word, names, n, all, buf, need);
  lua_pushstring(L, buf);
  return lua_tostring(L, -1);
}

/* The keys in the order of the tables, on the stack. */
static const char *push_legal(lua_State *L, const bl_where *w, const char *word,
                              const bl_table *tables) {
  const char *names[200];
  char all[100];
  int32_t n = 0;
  for (; *tables; tables++) {
    for (const berth_option *o = (*tables)()->options; o->key; o++)
      if (o->text && n < 200) names[n++] = o->key;
  }
  return bl_push_legal(L, word, names, n, help_of(w->fn, all, sizeof all));
}

/* The option that had this key once. */
static const berth_option *find_former(const bl_table *tables, const char *key) {
  for (; *tables; tables++) {
    for (const berth_option *o = (*tables)()->options; o->key; o++) {
      if (o->was && strcmp(o->was, key) == 0) return o;
    }
  }
  return NULL;
}

/* Of several unknown keys the least is named, whatever order the table has. */
void bl_check_options(lua_State *L, int t, const bl_where *w, const bl_table *tables) {
  const char *wrong = NULL;
  lua_pushnil(L);
  while (lua_next(L, t)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      bl_wrong(L, w, "options", "a %s is not a legal key", luaL_typename(L, -1));
    const char *key = lua_tostring(L, -1); /* anchored by the table */
    if (!find(tables, key) && (!wrong || strcmp(key, wrong) < 0)) wrong = key;
  }
  if (!wrong) return;
  const berth_option *now = find_former(tables, wrong);
  if (now) bl_error(L, "%s: option '%s' is now '%s'", w->fn, wrong, now->key);
  if (w->list)
    bl_error(L, "%s: %s[%d]: unknown field '%s' (legal: %s)", w->fn, w->list, w->i, wrong,
             push_legal(L, w, wrong, tables));
  bl_error(L, "%s: unknown option '%s' (legal: %s)", w->fn, wrong,
           push_legal(L, w, wrong, tables));
}

int bl_option_table(lua_State *L, int i, const bl_where *w, const bl_table *tables) {
  if (lua_isnoneornil(L, i)) return 0;
  bl_need_table(L, i, w, "options");
  bl_check_options(L, i, w, tables);
  return i;
}

/* ---- values ---- */

/* key NULL: of an entry of an array, which w says. */
static double in_range(lua_State *L, const bl_where *w, const char *key, const berth_option *o,
                       double x) {
  const char *from = o->above ? "above" : "from";
  if ((isfinite(x) || isinf(o->high)) && x >= o->low && !(o->above && x <= o->low)
      && !(o->high > 0 && x > o->high))
    return x;
  if (isinf(o->low))
    bl_wrong(L, w, key, "expected a finite number of at most %.14g, got %.14g", o->high, x);
  if (o->high > 0 && !isinf(o->high))
    bl_wrong(L, w, key, "%.14g is out of range %s%.14g to %.14g", x, o->above ? "above " : "",
             o->low, o->high);
  bl_wrong(L, w, key, "expected a %snumber %s %.14g, got %.14g", o->high > 0 ? "" : "finite ", from,
           o->low, x);
  return x;
}

static double read_whole(lua_State *L, const bl_where *w, const berth_option *o, double most) {
  return bl_to_whole(L, -1, w, o->key, o->low, o->high > 0 ? o->high : most);
}

/* The names of the choices, on the stack. */
static const char *push_choices(lua_State *L, const char *word,
                                const berth_choice *const *choices) {
  const char *names[64];
  int32_t n = 0;
  while (n < 64 && choices[n]) names[n] = choices[n]->name, n++;
  return bl_push_legal(L, word, names, n, NULL);
}

const berth_choice *const *bl_choices(const berth_option_table *table, const char *key) {
  return berth_option_find(table, key)->choices;
}

const char *bl_choice_name(const berth_option_table *table, const char *key, int value) {
  const berth_option *o = berth_option_find(table, key);
  return o->choices[value - o->first]->name;
}

/* Index of a named choice; the message lists the names. */
int bl_to_choice(lua_State *L, int i, const bl_where *w, const char *key,
                 const berth_choice *const *choices) {
  const char *s = lua_type(L, i) == LUA_TSTRING ? bl_to_text(L, i, w, key) : NULL;
  int k = s ? berth_choice_find(choices, s) : -1;
  if (!s) {
    s = bl_kind(L, i);
    return bl_wrong(L, w, key, "expected one of: %s; got %s", push_choices(L, NULL, choices), s);
  }
  return k >= 0 ? k : bl_wrong(L, w, key, "'%s' is none of: %s", s, push_choices(L, s, choices));
}

bool bl_get_choice(lua_State *L, int t, const bl_where *w, const char *key,
                   const berth_choice *const *choices, int *out) {
  if (!t) return false;
  lua_getfield(L, t, key);
  bool given = !lua_isnil(L, -1);
  if (given) *out = bl_to_choice(L, -1, w, key, choices);
  lua_pop(L, 1);
  return given;
}

/* The value on the top into the field. */
static void read_field(lua_State *L, const bl_where *w, const berth_option *o, void *field) {
  switch (o->type) {
  case BERTH_OPTION_FLAG:
    if (!lua_isboolean(L, -1))
      bl_wrong(L, w, o->key, "expected true or false, got %s", bl_kind(L, -1));
    *(int *)field = lua_toboolean(L, -1);
    break;
  case BERTH_OPTION_CHOICE:
    *(int *)field = o->first + bl_to_choice(L, -1, w, o->key, o->choices);
    break;
  case BERTH_OPTION_WHOLE: *(int32_t *)field = (int32_t)read_whole(L, w, o, INT32_MAX); break;
  case BERTH_OPTION_LONG: *(int64_t *)field = (int64_t)read_whole(L, w, o, BL_MOST_WHOLE); break;
  case BERTH_OPTION_SEED:
    *(uint64_t *)field = (uint64_t)bl_to_whole(L, -1, w, o->key, 0, BL_MOST_WHOLE);
    break;
  case BERTH_OPTION_NUMBER:
    *(double *)field = in_range(L, w, o->key, o, bl_to_number(L, -1, w, o->key));
    break;
  case BERTH_OPTION_QUANTITY:
    *(double *)field = in_range(L, w, o->key, o, bl_to_quantity(L, -1, w, o->key, o->unit));
    break;
  default: break;
  }
}

/* The array on the top; it stays on the stack, and the numbers in scratch above it. */
static void read_list(lua_State *L, const bl_where *w, const berth_option *o, char *options) {
  int at = lua_gettop(L);
  int32_t n = bl_to_length(L, at, w, o->key);
  *(int32_t *)(options + o->count) = n;
  if (o->type == BERTH_OPTION_NUMBERS) {
    const double *x = *(const double **)(options + o->offset) =
        bl_to_numbers(L, at, w, o->key, n, NULL);
    for (int32_t k = 0; k < n; k++)
      in_range(L, &(bl_where){ w->fn, o->key, (int)k + 1 }, NULL, o, x[k]);
    return;
  }
  int32_t *whole;
  *(const int32_t **)(options + o->offset) = whole = bl_scratch(L, (size_t)n, sizeof *whole);
  for (int32_t k = 0; k < n; k++) {
    bl_where item = { w->fn, o->key, (int)k + 1 };
    lua_rawgeti(L, at, k + 1);
    whole[k] = (int32_t)bl_to_whole(L, -1, &item, NULL, o->low, o->high > 0 ? o->high : INT32_MAX);
    lua_pop(L, 1);
  }
}

/* Reads what the table of descriptors has with a text; keys of type OTHER are read by the
 * caller. Lists stay on the stack, which anchors what the options point to. */
void bl_read_options(lua_State *L, int t, const bl_where *w, const berth_option_table *table,
                     void *options) {
  for (const berth_option *o = table->options; t && o->key; o++) {
    if (!o->text || o->type == BERTH_OPTION_OTHER) continue;
    lua_getfield(L, t, o->key);
    if (o->type >= BERTH_OPTION_NUMBERS && !lua_isnil(L, -1)) {
      read_list(L, w, o, options);
      continue;
    }
    if (!lua_isnil(L, -1)) read_field(L, w, o, (char *)options + o->offset);
    lua_pop(L, 1);
  }
}

int bl_take_options(lua_State *L, int i, const bl_where *w, const bl_table *tables,
                    void *options) {
  int t = bl_option_table(L, i, w, tables);
  bl_read_options(L, t, w, tables[0](), options);
  return t;
}

/* [-0, +1] The value of an option as Lua has it. */
static void push_field(lua_State *L, const berth_option *o, const void *field) {
  switch (o->type) {
  case BERTH_OPTION_FLAG: lua_pushboolean(L, *(const int *)field); break;
  case BERTH_OPTION_CHOICE:
    lua_pushstring(L, o->choices[*(const int *)field - o->first]->name);
    break;
  case BERTH_OPTION_WHOLE: lua_pushinteger(L, *(const int32_t *)field); break;
  case BERTH_OPTION_LONG: lua_pushinteger(L, (lua_Integer)*(const int64_t *)field); break;
  case BERTH_OPTION_SEED: lua_pushinteger(L, (lua_Integer)*(const uint64_t *)field); break;
  default: lua_pushnumber(L, *(const double *)field); break;
  }
}

void bl_push_options(lua_State *L, const berth_option_table *table, const void *options) {
  lua_newtable(L);
  for (const berth_option *o = table->options; o->key; o++) {
    if (!o->text || o->type >= BERTH_OPTION_NUMBERS) continue;
    push_field(L, o, (const char *)options + o->offset);
    lua_setfield(L, -2, o->key);
  }
}

/* ---- what core.options says ---- */

/* [-0, +1] Array of { name, text }. */
static void push_choice_list(lua_State *L, const berth_choice *const *choices) {
  lua_newtable(L);
  for (int k = 0; choices[k]; k++) {
    lua_newtable(L);
    bl_set_string(L, "name", choices[k]->name);
    bl_set_string(L, "text", choices[k]->text);
    lua_rawseti(L, -2, k + 1);
  }
}

/* The word that messages and help use for the type. */
static const char *type_name(const berth_option *o) {
  static const char *const units[] = { "seconds", "bytes", "bytes/s", "flop", "flop/s" };
  switch (o->type) {
  case BERTH_OPTION_FLAG: return "flag";
  case BERTH_OPTION_CHOICE: return "choice";
  case BERTH_OPTION_WHOLE: case BERTH_OPTION_LONG: case BERTH_OPTION_SEED: return "whole";
  case BERTH_OPTION_NUMBER: return "number";
  case BERTH_OPTION_QUANTITY: return units[o->unit];
  default: return o->takes ? o->takes : "numbers";
  }
}

/* [-0, +1] A row of options.described: key, type, text, default, was, low, high, above, choices. */
static void push_option(lua_State *L, const berth_option_table *table, const berth_option *o) {
  lua_newtable(L);
  bl_set_string(L, "key", o->key);
  bl_set_string(L, "type", type_name(o));
  bl_set_string(L, "text", o->text);
  char text[64];
  bl_set_string(L, "default", berth_option_default(table, o, text, sizeof text));
  bl_set_string(L, "was", o->was);
  if (o->low != 0) bl_set_number(L, "low", o->low);
  if (o->high != 0) bl_set_number(L, "high", o->high);
  if (o->above) bl_set_bool(L, "above", 1);
  if (!o->choices) return;
  push_choice_list(L, o->choices);
  lua_setfield(L, -2, "choices");
}

/* options(function): array of { key, type, default, text, low, high, above, choices }; nil: it has
 * no descriptors */
int bl_push_descriptors(lua_State *L, const bl_table *tables) {
  int n = 0;
  lua_newtable(L);
  for (; *tables; tables++) {
    const berth_option_table *table = (*tables)();
    for (const berth_option *o = table->options; o->key; o++) {
      if (!o->text) continue;
      push_option(L, table, o);
      lua_rawseti(L, -2, ++n);
    }
  }
  return 1;
}
