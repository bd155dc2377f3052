/* Whether a function of the binding is under way: what it works on may be closed meanwhile, but not
 * freed.
 *
 * Such a function allocates in Lua, that collects garbage, and a finaliser closes the object whose
 * pointer it has. So all functions carry a mark, their last upvalue, and `close` looks for it on
 * the stacks: of its own thread, of the main one, and of every coroutine that has had a box
 * checked. A pointer comes from bl_check, so none is missed; an error leaves nothing behind.
 */
#include "binding.h"

static const char mark = 0, threads_key = 0; /* addresses: an upvalue, a registry key */

void bl_push_closure(lua_State *L, lua_CFunction f, int n) {
  lua_pushlightuserdata(L, (void *)&mark);
  lua_pushcclosure(L, f, n + 1);
}

void bl_set_functions(lua_State *L, const luaL_Reg *list) {
  for (; list->name; list++) {
    bl_push_closure(L, list->func, 0);
    lua_setfield(L, -2, list->name);
  }
}

/* ---- threads ---- */

/* Pushes the table whose weak keys are coroutines. */
static void push_threads(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&threads_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushlightuserdata(L, (void *)&threads_key);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Adds the running thread to the weak table of those that have called the library. */
static void note_coroutine(lua_State *L) {
  luaL_checkstack(L, 6, "berth");
  push_threads(L);
  lua_pushthread(L);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pushthread(L);
    lua_pushboolean(L, 1);
    lua_rawset(L, -4);
  }
  lua_pop(L, 2);
}

void bl_note_thread(lua_State *L) {
  bool is_main = lua_pushthread(L);
  lua_pop(L, 1);
  if (!is_main) note_coroutine(L);
}

/* ---- stacks ---- */

/* Is the function on the top of L's stack marked? Pops it. */
static bool is_marked(lua_State *L) {
  bool yes = false;
  if (lua_iscfunction(L, -1))
    for (int k = 1; !yes && lua_getupvalue(L, -1, k); k++) {
      yes = lua_touserdata(L, -1) == (const void *)&mark;
      lua_pop(L, 1);
    }
  lua_pop(L, 1);
  return yes;
}

/* Is a marked function on the stack of `of`, from this level on? Quadratic in the depth, as Lua
 * counts levels from the top.
 * A coroutine that does not run cannot be within a C function; one that died of an error still
 * shows its stack. */
static bool is_within(lua_State *L, lua_State *of, int level) {
  if (lua_status(of) != LUA_OK || !lua_checkstack(of, 4)) return false;
  lua_Debug ar;
  for (; lua_getstack(of, level, &ar); level++) {
    lua_getinfo(of, "f", &ar);
    if (of != L) lua_xmove(of, L, 1);
    if (is_marked(L)) return true;
  }
  return false;
}

/* Whether any known thread but L is inside of a call: a coroutine may be resumed from a hook. */
static bool is_any_within(lua_State *L) {
  lua_State *main = bl_main_thread(L);
  bool yes = main != L && is_within(L, main, 0);
  push_threads(L);
  for (lua_pushnil(L); lua_next(L, -2) != 0;) {
    lua_State *of = lua_tothread(L, -2);
    if (of != L && of != main) yes = yes || is_within(L, of, 0);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return yes;
}

bool bl_is_working(lua_State *L) {
  luaL_checkstack(L, 8, "berth");
  return is_within(L, L, 1) || is_any_within(L);
}
