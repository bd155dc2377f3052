/* One plain C API for Lua 5.4, 5.3, 5.2 and the 5.1 headers, whose module loads in lua5.1 and
 * LuaJIT alike. */
#ifndef BERTH_LUA_COMPAT_H
#define BERTH_LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <stddef.h>

#if LUA_VERSION_NUM < 502

# define LUA_OK 0
# define lua_rawlen(L, i) lua_objlen(L, i)
# define lua_absindex(L, i) ((i) > 0 || (i) <= LUA_REGISTRYINDEX ? (i) : lua_gettop(L) + (i) + 1)
/* Not under its own name: LuaJIT's headers declare it, lua5.1's library does not have it. */
# define luaL_setfuncs compat_setfuncs

static inline void compat_setfuncs(lua_State *L, const luaL_Reg *l, int n_upvalues) {
  for (; l->name; l++) {
    int i;
    for (i = 0; i < n_upvalues; i++) lua_pushvalue(L, -n_upvalues);
    lua_pushcclosure(L, l->func, n_upvalues);
    lua_setfield(L, -(n_upvalues + 2), l->name);
  }
  lua_pop(L, n_upvalues);
}

#endif

/* f(ud) under protection; what it raises is left on the stack. Raises nothing itself. @return
 * LUA_OK or another */
#if LUA_VERSION_NUM < 502
# define compat_cpcall(L, f, ud) lua_cpcall(L, f, ud)
#else
static inline int compat_cpcall(lua_State *L, lua_CFunction f, void *ud) {
  lua_pushcfunction(L, f); /* a light one: no allocation */
  lua_pushlightuserdata(L, ud);
  return lua_pcall(L, 1, 0, 0);
}
#endif

/* Userdata without an anchor. 5.4 makes it with no user value; before, each userdata has the room
 * for one, or on the 5.1 ABI an environment, which is the global table and must not be changed. */
#if LUA_VERSION_NUM < 504
# define compat_newlight(L, n) lua_newuserdata(L, n)
#else
# define compat_newlight(L, n) lua_newuserdatauv(L, n, 0)
#endif

/* The anchor of a userdata: always a table of its own, see bl_new. The 5.1 ABI has an environment
 * in place of user values, which must be a table; 5.2 and 5.3 have one user value, 5.4 numbers
 * them. get: [-0, +1]; set: [-1, +0]. */
#if LUA_VERSION_NUM < 502
# define compat_getanchor(L, i) lua_getfenv(L, i)
# define compat_setanchor(L, i) lua_setfenv(L, i)
#elif LUA_VERSION_NUM < 504
# define compat_getanchor(L, i) lua_getuservalue(L, i)
# define compat_setanchor(L, i) lua_setuservalue(L, i)
#else
# define compat_getanchor(L, i) lua_getiuservalue(L, i, 1)
# define compat_setanchor(L, i) lua_setiuservalue(L, i, 1)
#endif

#endif
