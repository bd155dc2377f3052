/* Boxes: userdata that hold core objects. Metatables, closing, computed fields.
 * Layout: the struct of the class, whose first field is the object or NULL, and one byte behind it
 * that marks a box closed while its object is in use. A metatable is found in the registry by the
 * class's address, and the class by the metatable. The anchor, a table of its own, keeps what the
 * box refers to; it is emptied when the box is released. */
#include "binding.h"
#include <stdio.h>
#include <string.h>

/* ---- class lookup ---- */

/* The registry has the metatable of a class under the class's address, which is faster to look up
 * than its name, and the class under the metatable. */
static void push_metatable(lua_State *L, const bl_class *c) {
  lua_pushlightuserdata(L, (void *)c);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* By the metatable, which a script cannot exchange. */
const char *bl_kind(lua_State *L, int i) {
  if (lua_isnone(L, i)) return "nil";
  if (lua_type(L, i) != LUA_TUSERDATA || !lua_getmetatable(L, i)) return luaL_typename(L, i);
  lua_rawget(L, LUA_REGISTRYINDEX);
  const bl_class *c = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return c ? c->name : "userdata";
}

void *bl_test(lua_State *L, int i, const bl_class *c) {
  void *box = lua_touserdata(L, i);
  if (!box || !lua_getmetatable(L, i)) return NULL;
  push_metatable(L, c);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? box : NULL;
}

/* The byte behind the box: closed, but not freed yet. */
static char *lingers(lua_State *L, int i) {
  return (char *)lua_touserdata(L, i) + lua_rawlen(L, i) - 1;
}

bool bl_is_open(lua_State *L, int i) {
  const bl_box *box = lua_touserdata(L, i);
  return box->object && !*lingers(L, i);
}

static const char *article(const char *noun) { return strchr("aei", noun[0]) ? "an" : "a"; }

/* The class is compared before the box is read: a foreign userdata may be shorter than one. */
void *bl_check(lua_State *L, int i, const bl_class *c, const char *fn, const char *what) {
  bl_box *box = bl_test(L, i, c);
  if (!box)
    bl_error(L, "%s: %s: expected %s %s, got %s", fn, what, article(c->name), c->name,
             bl_kind(L, i));
  bl_note_thread(L); /* may collect garbage */
  if (!bl_is_open(L, i)) bl_error(L, "%s: %s: the %s is closed", fn, what, c->name);
  return box;
}

/* The class of the metatable's functions is their first upvalue. */
static const bl_class *own_class(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* ---- life ---- */

/* [-0, +1] The box is zero before it gets its metatable, so that an error in between leaves a
 * box that owns nothing. The byte behind it is that of lingers(). Its anchor is a table of its
 * own. */
void *bl_new(lua_State *L, const bl_class *c, size_t size) {
  bl_box *box = lua_newuserdata(L, size + 1);
  memset(box, 0, size + 1);
  lua_newtable(L);
  compat_setanchor(L, -2);
  push_metatable(L, c);
  lua_setmetatable(L, -2);
  return box;
}

/* Lets go of everything that the box refers to. */
static void drop_anchor(lua_State *L, int i) {
  compat_getanchor(L, i);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, -4); /* clearing a field while traversing is allowed */
  }
  lua_pop(L, 1);
}

/* The collector takes only what no function can be using. */
static int collect_box(lua_State *L) {
  const bl_class *c = own_class(L);
  bl_box *box = bl_test(L, 1, c);
  if (!box || !box->object) return 0;
  c->release(box);
  box->object = NULL;
  drop_anchor(L, 1);
  return 0;
}

/* Within another function of the binding the box is marked closed, and the collector frees it. */
static int close_box(lua_State *L) {
  const bl_class *c = own_class(L);
  bl_box *box = bl_test(L, 1, c);
  if (!box)
    return bl_error(L, "%s:close: self: expected a %s, got %s", c->name, c->name, bl_kind(L, 1));
  if (!box->object) return 0;
  if (!bl_is_working(L)) return collect_box(L);
  *lingers(L, 1) = 1;
  return 0;
}

void *bl_new_light(lua_State *L, const bl_class *c, size_t size) {
  void *box = compat_newlight(L, size + 1);
  memset(box, 0, size + 1);
  push_metatable(L, c);
  lua_setmetatable(L, -2);
  return box;
}

/* On the 5.1 ABI the environment of a light box is the global table: not to be touched. */
static int close_light(lua_State *L) {
  const bl_class *c = own_class(L);
  bl_box *box = bl_test(L, 1, c);
  if (!box)
    return bl_error(L, "%s:close: self: expected a %s, got %s", c->name, c->name, bl_kind(L, 1));
  if (!box->object) return 0;
  c->release(box);
  box->object = NULL;
  return 0;
}

/* [-0, +1] build() pushes the value; it is made once and kept in the anchor, so that each read
 * of the field gives the same table. */
int bl_cached(lua_State *L, int i, const char *key, void (*build)(lua_State *L)) {
  int self = lua_absindex(L, i);
  compat_getanchor(L, self);
  lua_getfield(L, -1, key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    build(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, key);
  }
  lua_remove(L, -2);
  return 1;
}

void bl_keep(lua_State *L, int box, const char *key, int value) {
  if (value == 0) return;
  value = lua_absindex(L, value);
  compat_getanchor(L, box);
  lua_pushvalue(L, value);
  lua_setfield(L, -2, key);
  lua_pop(L, 1);
}

int bl_kept(lua_State *L, const char *key) {
  compat_getanchor(L, 1);
  lua_getfield(L, -1, key);
  return 1;
}

/* ---- metatable ---- */

static int32_t add_names(const char **names, int32_t n, const luaL_Reg *list) {
  for (; list && list->name && n < 100; list++) names[n++] = list->name;
  return n;
}

/* A misspelt name is an error, not nil. */
static int no_such_name(lua_State *L, const bl_class *c, const luaL_Reg *const *lists,
                        const char *name) {
  const char *names[100] = { "close" };
  int32_t n = add_names(names, add_names(names, 1, c->fields), c->methods);
  char all[60];
  n = add_names(names, n, c->more_methods);
  for (; lists && *lists; lists++) n = add_names(names, n, *lists);
  snprintf(all, sizeof all, "berth.help(\"%s\")", c->name);
  return bl_error(L, "%s has no '%.80s' (legal: %s)", c->name, name,
                  bl_push_legal(L, name, names, n, all));
}

/* upvalues: class, methods, fields, further lists of methods or NULL */
static int index_box(lua_State *L) {
  const bl_class *c = own_class(L);
  if (c->item && lua_type(L, 2) == LUA_TNUMBER) return c->item(L);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 1;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(3));
  if (lua_isnil(L, -1)) {
    if (lua_type(L, 2) != LUA_TSTRING) return 1;
    return no_such_name(L, c, lua_touserdata(L, lua_upvalueindex(4)), lua_tostring(L, 2));
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* upvalues: class, tostring of an open object or nil */
static int tostring_box(lua_State *L) {
  const bl_class *c = own_class(L);
  bl_box *box = bl_test(L, 1, c);
  if (!box) return bl_error(L, "tostring: expected a %s", c->name);
  if (!bl_is_open(L, 1)) {
    lua_pushfstring(L, "%s: closed", c->name);
  } else if (lua_isnil(L, lua_upvalueindex(2))) {
    lua_pushstring(L, c->name);
  } else {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
  }
  return 1;
}

static int newindex_box(lua_State *L) {
  const char *name = own_class(L)->name;
  return bl_error(L, "%s %s is read only: field '%s' cannot be set", article(name), name,
                  lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2));
}

static void push_class(lua_State *L, const bl_class *c) { lua_pushlightuserdata(L, (void *)c); }

static void set_closure(lua_State *L, const bl_class *c, const char *name, lua_CFunction f) {
  push_class(L, c);
  bl_push_closure(L, f, 1);
  lua_setfield(L, -2, name);
}

static void push_functions(lua_State *L, const luaL_Reg *functions) {
  lua_newtable(L);
  if (functions) bl_set_functions(L, functions);
}

/* Classes of hidden boxes are registered where they are first needed. */
static bool is_registered(lua_State *L, const bl_class *c) {
  push_metatable(L, c);
  bool yes = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return yes;
}

/* Pushes the metatable. */
static void push_new_metatable(lua_State *L, const bl_class *c, lua_CFunction close,
                               lua_CFunction collect) {
  lua_newtable(L);
  if (c->meta) bl_set_functions(L, c->meta);
  if (c->length) {
    bl_push_closure(L, c->length, 0);
    lua_setfield(L, -2, "__len");
  }
  set_closure(L, c, "__gc", collect);
  set_closure(L, c, "__close", close);
  set_closure(L, c, "__newindex", newindex_box);
  push_class(L, c);
  if (c->text) bl_push_closure(L, c->text, 0);
  else lua_pushnil(L);
  bl_push_closure(L, tostring_box, 2);
  lua_setfield(L, -2, "__tostring");
  lua_pushstring(L, c->key);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, c->key); /* getmetatable and setmetatable from Lua see only this */
  lua_setfield(L, -2, "__metatable");
}

/* Sets __index of the metatable on the top, with the methods of further lists, which must last. */
static void set_index(lua_State *L, const bl_class *c, lua_CFunction close,
                      const luaL_Reg *const *lists) {
  const luaL_Reg *const *list;
  push_class(L, c);
  push_functions(L, c->methods);
  if (c->more_methods) bl_set_functions(L, c->more_methods);
  for (list = lists; list && *list; list++) bl_set_functions(L, *list);
  set_closure(L, c, "close", close);
  push_functions(L, c->fields);
  lua_pushlightuserdata(L, (void *)lists);
  bl_push_closure(L, index_box, 4);
  lua_setfield(L, -2, "__index");
}

/* Pops the metatable. */
static void keep_metatable(lua_State *L, const bl_class *c) {
  lua_pushvalue(L, -1);
  push_class(L, c);
  lua_rawset(L, LUA_REGISTRYINDEX);
  push_class(L, c);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Does nothing if the class is registered already. */
void bl_register(lua_State *L, const bl_class *c) {
  lua_CFunction close = c->light ? close_light : close_box;
  if (is_registered(L, c)) return;
  push_new_metatable(L, c, close, c->light ? close_light : collect_box);
  set_index(L, c, close, c->further_methods);
  keep_metatable(L, c);
}

/* [-0, +1] An array of the names in all the lists. */
static void push_names(lua_State *L, const luaL_Reg *const *lists) {
  int n = 0;
  lua_newtable(L);
  for (; *lists; lists++) {
    for (const luaL_Reg *f = *lists; f->name; f++) {
      lua_pushstring(L, f->name);
      lua_rawseti(L, -2, ++n);
    }
  }
}

/* [-0, +1] { name, key, methods, fields }: what help and completion read. */
void bl_push_class(lua_State *L, const bl_class *c) {
  const luaL_Reg *none = (const luaL_Reg[]){ { NULL, NULL } };
  const luaL_Reg *methods[8] = { c->methods ? c->methods : none,
                                 c->more_methods ? c->more_methods : none };
  const luaL_Reg *fields[] = { c->fields ? c->fields : none, NULL };
  for (int k = 0; c->further_methods && c->further_methods[k] && k < 5; k++)
    methods[2 + k] = c->further_methods[k];
  lua_newtable(L);
  bl_set_string(L, "name", c->name);
  bl_set_string(L, "key", c->key);
  push_names(L, methods);
  lua_setfield(L, -2, "methods");
  push_names(L, fields);
  lua_setfield(L, -2, "fields");
}

/* ---- functions of the module ---- */

static int kind(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushstring(L, bl_kind(L, 1));
  return 1;
}

const luaL_Reg bl_box_functions[] = { { "kind", kind }, { NULL, NULL } };
