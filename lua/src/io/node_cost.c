/* Option cost of loading: a Lua function that prices the nodes whose kind has no rule. */
#include "io/io.h"
#include <stdio.h>

/* Called while the core reads, on the stack of the caller. */
typedef struct node_pricer {
  lua_State *L;
  int at; /* the function; behind it price_node */
} node_pricer;

static void push_shape(lua_State *L, const berth_node_value *v) {
  lua_createtable(L, v->rank, 0);
  for (int d = 0; d < v->rank; d++) {
    lua_pushinteger(L, (lua_Integer)v->dim[d]);
    lua_rawseti(L, -2, d + 1);
  }
}

/* [-0, +0] table[key] = { { name, dtype, shape }, ... }; false: left out. */
static void set_values(lua_State *L, const char *key, const berth_node_value *v, int32_t n) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    if (v[k].name) {
      lua_createtable(L, 0, 3);
      lua_pushstring(L, v[k].name);
      lua_setfield(L, -2, "name");
      lua_pushinteger(L, v[k].dtype);
      lua_setfield(L, -2, "dtype");
      if (v[k].rank >= 0) push_shape(L, &v[k]);
      else lua_pushnil(L);
      lua_setfield(L, -2, "shape");
    } else {
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, key);
}

static void push_attribute(lua_State *L, const berth_node_attribute *a) {
  if (a->type == BERTH_NODE_INT) lua_pushinteger(L, (lua_Integer)a->i);
  else if (a->type == BERTH_NODE_FLOAT) lua_pushnumber(L, a->f);
  else if (a->type == BERTH_NODE_STRING) lua_pushstring(L, a->s);
  else lua_createtable(L, a->n, 0);
  for (int32_t k = 0; lua_istable(L, -1) && k < a->n; k++) {
    if (a->type == BERTH_NODE_INTS) lua_pushinteger(L, (lua_Integer)a->ints[k]);
    else lua_pushnumber(L, a->floats[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

/* The call in Lua: function, node; leaves flop and bytes, or nil. Runs under lua_pcall. */
static int price_node(lua_State *L) {
  const berth_node *node = lua_touserdata(L, 2);
  berth_node_cost *out = lua_touserdata(L, 3);
  BL_WHERE(w, "cost");
  lua_pushvalue(L, 1);
  lua_createtable(L, 0, 6);
  const char *const texts[][2] = { { "name", node->name }, { "kind", node->kind },
                                   { "domain", node->domain } };
  for (size_t k = 0; k < 3; k++) {
    lua_pushstring(L, texts[k][1]);
    lua_setfield(L, -2, texts[k][0]);
  }
  set_values(L, "inputs", node->inputs, node->n_inputs);
  set_values(L, "outputs", node->outputs, node->n_outputs);
  lua_createtable(L, 0, node->n_attributes);
  for (int32_t k = 0; k < node->n_attributes; k++) {
    push_attribute(L, &node->attributes[k]);
    lua_setfield(L, -2, node->attributes[k].name);
  }
  lua_setfield(L, -2, "attributes");
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) return 0;
  if (!lua_istable(L, -1))
    return luaL_error(L, "gave %s, expected a table of flop and bytes", bl_kind(L, -1));
  static const char *const keys[] = { "flop", "bytes", NULL };
  bl_check_keys(L, lua_gettop(L), &w, keys, false);
  out->known = 1;
  lua_getfield(L, -1, "flop");
  if (!lua_isnil(L, -1)) out->flop = bl_to_number(L, -1, &w, "flop");
  lua_getfield(L, -2, "bytes");
  if (!lua_isnil(L, -1) && (out->bytes = bl_to_number(L, -1, &w, "bytes")) < 0)
    return luaL_error(L, "bytes is negative");
  return 0;
}

/* [-0, +0] Pushes what takes no memory only: frames of the core are below. */
static berth_status call_pricer(void *ud, const berth_node *node, berth_node_cost *out) {
  node_pricer *p = ud;
  lua_State *L = p->L;
  lua_pushvalue(L, p->at + 1);
  lua_pushvalue(L, p->at);
  lua_pushlightuserdata(L, (void *)node);
  lua_pushlightuserdata(L, out);
  if (lua_pcall(L, 3, 0, 0) == LUA_OK) return BERTH_OK;
  const char *why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
  snprintf(out->why, sizeof out->why, "%s", why);
  lua_pop(L, 1);
  return BERTH_EINVAL;
}

void bl_load_cost(lua_State *L, int t, const bl_where *w, berth_load_options *o) {
  if (!t) return;
  lua_getfield(L, t, "cost");
  if (lua_isnil(L, -1)) return;
  if (!lua_isfunction(L, -1)) bl_wrong(L, w, "cost", "expected a function, got %s", bl_kind(L, -1));
  int at = lua_gettop(L);
  lua_pushcfunction(L, price_node);
  node_pricer *p = bl_scratch(L, 1, sizeof *p);
  *p = (node_pricer){ L, at };
  luaL_checkstack(L, 8, NULL);
  o->cost = call_pricer;
  o->cost_ud = p;
}
