/* Transforms of graphs as methods, and the adjuster of placements. Each transform returns the new
 * graph and a map: the op of the new graph that each op of the old one is in.
 * The box of the new graph is at stack index 3 before options are read, since what options need
 * stays above it. The interrupt hook and functions of the caller may close the old graph: a second
 * box on the stack holds a reference during the call. */
#include "graph_names.h"
#include "sim/sim_options.h"
#include <string.h>

/* ---- what may share a device ---- */

BL_OWN_OPTIONS(of_devices,
  BL_OTHER("cost", "cost", "none", "a cost of the graph, for mean op times and the types of "
                                   "devices"),
  BL_OTHER("topology", "topology", "none", "devices whose types can run what is together"))
const bl_table bl_coplace_tables[] = {
  berth_share_option_table, berth_coplace_option_table, of_devices, NULL
};
const bl_table bl_fuse_tables[] = {
  berth_share_option_table, berth_fuse_option_table, of_devices, NULL
};
const bl_table bl_chains_tables[] = {
  berth_share_option_table, berth_chains_option_table, of_devices, NULL
};
const bl_table bl_forward_tables[] = { berth_forward_option_table, NULL };

/* A graph without device types fits every device. */
static int32_t type_of(const berth_graph *g, const char *type) {
  int32_t n = berth_graph_types(g);
  if (n == 1 && !*berth_graph_type(g, 0)) return 0;
  for (int32_t k = 0; k < n; k++)
    if (strcmp(berth_graph_type(g, k), type) == 0) return k;
  return BERTH_NONE;
}

/* [-0, +1] Type of each device as the graph numbers them; a type that it does not name has no
 * id. */
static void device_types(lua_State *L, const berth_graph *g, const berth_topology *t,
                         berth_share_options *o) {
  int32_t n = berth_topology_devices(t), *type = bl_scratch(L, (size_t)n, sizeof *type);
  berth_device device;
  for (int32_t d = 0; d < n; d++) {
    type[d] = BERTH_NONE;
    if (berth_topology_device(t, d, &device) == BERTH_OK)
      type[d] = type_of(g, device.type ? device.type : "");
  }
  o->n_devices = n;
  o->device_type = type;
}

/* [-0, +2] Mean times of the ops, s, and the types of the devices. */
static void cost_times(lua_State *L, const berth_graph *g, berth_cost *c, const bl_where *w,
                       berth_share_options *o) {
  if (berth_cost_graph(c) != g) bl_wrong(L, w, "cost", "is of another graph");
  double *seconds = bl_scratch(L, (size_t)berth_graph_ops(g), sizeof *seconds);
  if (berth_cost_mean_ops(c, seconds) != BERTH_OK)
    bl_error(L, "%s: %s", w->fn, berth_errmsg(bl_ctx(L)));
  o->seconds = seconds;
  device_types(L, g, berth_cost_topology(c), o);
}

/* Leaves what it needs on the stack. */
static void read_share(lua_State *L, int t, const bl_where *w, const berth_graph *g,
                       berth_share_options *o) {
  *o = berth_share_default();
  if (!t) return;
  lua_getfield(L, t, "topology");
  if (!lua_isnil(L, -1)) device_types(L, g, bl_check_topology(L, -1, w->fn, "topology"), o);
  lua_getfield(L, t, "cost");
  if (!lua_isnil(L, -1)) cost_times(L, g, bl_check_cost(L, -1, w->fn, "cost"), w, o);
  bl_read_options(L, t, w, berth_share_option_table(), o);
  int32_t n;
  if (bl_get_array(L, t, w, "seconds", &n))
    o->seconds = bl_to_numbers(L, -1, w, "seconds", berth_graph_ops(g), "op");
}

/* ---- answers ---- */

/* [-0, +1] The map of a transform that changed nothing. */
static void push_identity(lua_State *L, int32_t n) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushinteger(L, k + 1);
    lua_rawseti(L, -2, k + 1);
  }
}

/* The graph, which is at `at`, and the way back. */
static int answer(lua_State *L, int at, int32_t n, const int32_t *map) {
  lua_pushvalue(L, at);
  bl_track(L);
  if (map) bl_push_ids(L, n, map);
  else push_identity(L, n);
  return 2;
}

/* ---- groups ---- */

/* coplace(options): graph, map, number of edges followed */
int bl_graph_coplace(lua_State *L) {
  BL_WHERE(w, "graph:coplace");
  berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  berth_coplace_options o = berth_coplace_default();
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, &w, bl_coplace_tables);
  berth_graph **out = bl_new_graph(L);
  read_share(L, t, &w, g, &o.share);
  bl_read_options(L, t, &w, berth_coplace_option_table(), &o);
  berth_status st;
  int32_t joined;
  if ((st = berth_graph_coplace(g, &o, out, &joined)) != BERTH_OK) return bl_failed(L, st);
  answer(L, 3, berth_graph_ops(g), NULL);
  lua_pushinteger(L, joined);
  return 3;
}

/* Names of ops while they are gathered. They are anchored in the table at `anchor`, whose length is
 * their number. */
typedef struct naming {
  lua_State *L;
  const bl_where *w;
  int anchor, ops; /* stack indices: names, their ops */
  int32_t n;
} naming;

/* Names are kept in a table: a function may return a new string that nothing else holds. */
static void add_name(naming *m, int i, int32_t op) {
  if (lua_type(m->L, i) != LUA_TSTRING) {
    bl_wrong(m->L, m->w, "names", "op %d: expected a name or an array of them, got %s", (int)op + 1,
             bl_kind(m->L, i));
  }
  if (!*bl_to_text(m->L, i, m->w, "names"))
    bl_wrong(m->L, m->w, "names", "op %d: a name is empty", (int)op + 1);
  lua_pushvalue(m->L, i);
  lua_rawseti(m->L, m->anchor, ++m->n);
  lua_pushinteger(m->L, op);
  lua_rawseti(m->L, m->ops, m->n);
}

/* The value at the top: nil or false, a name, or an array of names. */
static void add_names(naming *m, int32_t op) {
  lua_State *L = m->L;
  if (lua_isnil(L, -1) || (lua_isboolean(L, -1) && !lua_toboolean(L, -1))) return;
  if (!lua_istable(L, -1)) {
    add_name(m, lua_gettop(L), op);
    return;
  }
  int32_t n = bl_to_length(L, -1, m->w, "names");
  for (int32_t k = 1; k <= n; k++) {
    lua_rawgeti(L, -1, k);
    add_name(m, lua_gettop(L), op);
    lua_pop(L, 1);
  }
}

/* Keys that are no op: ids and names are legal. */
static void check_name_keys(lua_State *L, int t, const bl_where *w, const berth_graph *g) {
  lua_pushnil(L);
  while (lua_next(L, t)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      if (berth_graph_find(g, lua_tostring(L, -1)) == BERTH_NONE)
        bl_wrong(L, w, "names", "there is no op \"%s\", or there are several", lua_tostring(L, -1));
    } else {
      bl_to_id(L, -1, w, "names", berth_graph_ops(g), "op");
    }
  }
}

/* By id, then by name, in the order of ops. */
static void table_names(naming *m, int t, const berth_graph *g) {
  lua_State *L = m->L;
  check_name_keys(L, t, m->w, g);
  berth_op x;
  for (int32_t op = 0; op < berth_graph_ops(g); op++) {
    lua_rawgeti(L, t, op + 1);
    add_names(m, op);
    lua_pop(L, 1);
    if (berth_graph_op(g, op, &x) != BERTH_OK || !x.name) continue;
    lua_getfield(L, t, x.name);
    add_names(m, op);
    lua_pop(L, 1);
  }
}

/* names(id) for each op, in their order. */
static void function_names(naming *m, int f, int32_t n) {
  for (int32_t op = 0; op < n; op++) {
    lua_pushvalue(m->L, f);
    lua_pushinteger(m->L, op + 1);
    lua_call(m->L, 1, 1);
    add_names(m, op);
    lua_pop(m->L, 1);
  }
}

/* [-0, +3] Two tables of equal length, names and ops, and the option itself. */
static void gather_names(naming *m, int t, const berth_graph *g) {
  lua_State *L = m->L;
  lua_newtable(L);
  m->anchor = lua_gettop(L);
  lua_newtable(L);
  m->ops = lua_gettop(L);
  if (t) lua_getfield(L, t, "names");
  else lua_pushnil(L);
  int at = lua_gettop(L);
  if (lua_isfunction(L, at)) function_names(m, at, berth_graph_ops(g));
  else if (lua_istable(L, at)) table_names(m, at, g);
  else bl_wrong(L, m->w, "names", "expected a table or a function, got %s", bl_kind(L, at));
}

/* The strings are alive as long as the table of names is on the stack. */
static void fill_pairs(naming *m, int32_t *op, const char **name) {
  for (int32_t k = 0; k < m->n; k++) {
    lua_rawgeti(m->L, m->ops, k + 1);
    op[k] = (int32_t)lua_tointeger(m->L, -1);
    lua_rawgeti(m->L, m->anchor, k + 1);
    name[k] = lua_tostring(m->L, -1);
    lua_pop(m->L, 2);
  }
}

/* Array: the name of each group; false for a group without one. */
static void push_group_names(lua_State *L, const berth_graph *g, int32_t n, const int32_t *op,
                             const char *const *name, const int32_t *same) {
  lua_createtable(L, berth_graph_groups(g), 0);
  for (int32_t k = 0; k < berth_graph_groups(g); k++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, k + 1);
  }
  berth_op x;
  for (int32_t k = 0; k < n; k++) {
    if (berth_graph_op(g, op[k], &x) != BERTH_OK || x.group == BERTH_NONE) continue;
    lua_pushstring(L, name[same[k]]);
    lua_rawseti(L, -2, x.group + 1);
  }
}

BL_OPTIONS(colocate,
  BL_OTHER("names", "table or function", "none; must be given",
           "by op id or name, or function of the id: a name, or an array of names"))

/* colocate(options): graph, map, names of groups */
int bl_graph_colocate(lua_State *L) {
  static const bl_where w = { "graph:colocate", NULL, 0 };
  berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  naming m = { L, &w, 0, 0, 0 };
  lua_settop(L, 2);
  berth_graph_retain(g); /* a function may close it: then it is the hold's */
  *bl_new_graph(L) = g;
  gather_names(&m, bl_option_table(L, 2, &w, bl_colocate_tables), g);
  int32_t *op = bl_scratch(L, (size_t)m.n, sizeof *op);
  const char **name = bl_scratch(L, (size_t)m.n, sizeof *name);
  int32_t *same = bl_scratch(L, (size_t)m.n, sizeof *same);
  fill_pairs(&m, op, name);
  berth_graph **out = bl_new_graph(L);
  int box = lua_gettop(L);
  berth_status st;
  if ((st = berth_graph_colocate(g, m.n, op, name, out, same)) != BERTH_OK) return bl_failed(L, st);
  answer(L, box, berth_graph_ops(g), NULL);
  push_group_names(L, *out, m.n, op, name, same);
  return 3;
}

/* ---- fusion ---- */

typedef berth_status (*fuse_fn)(const berth_graph *g, const berth_fuse_options *o,
                                berth_graph **out, int32_t *map);

static int fuse_with(lua_State *L, const bl_where *w, const bl_table *tables, fuse_fn f) {
  berth_graph *g = bl_check_graph(L, 1, w->fn, "self");
  int32_t n = berth_graph_ops(g);
  berth_fuse_options o = berth_fuse_default();
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, w, tables);
  berth_graph **out = bl_new_graph(L);
  int32_t *map = bl_scratch(L, (size_t)n, sizeof *map);
  read_share(L, t, w, g, &o.share);
  bl_read_options(L, t, w, tables[1](), &o);
  berth_graph_retain(g); /* the interrupt hook may close it, a topology and a cost are copied */
  *bl_new_graph(L) = g;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, f(g, &o, out, map));
  return st != BERTH_OK ? bl_failed(L, st) : answer(L, 3, n, map);
}

/* fuse(options): graph, map */
int bl_graph_fuse(lua_State *L) {
  BL_WHERE(w, "graph:fuse");
  return fuse_with(L, &w, bl_fuse_tables, berth_graph_fuse);
}

/* chains(options): graph, map */
int bl_graph_chains(lua_State *L) {
  BL_WHERE(w, "graph:chains");
  return fuse_with(L, &w, bl_chains_tables, berth_graph_fuse_chains);
}

/* ---- forward ops ---- */

/* forward(options): graph, map */
int bl_graph_forward(lua_State *L) {
  BL_WHERE(w, "graph:forward");
  berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  berth_forward_options o = berth_forward_default();
  int32_t n = berth_graph_ops(g);
  lua_settop(L, 2);
  bl_take_options(L, 2, &w, bl_forward_tables, &o);
  berth_graph **out = bl_new_graph(L);
  int32_t *map = bl_scratch(L, (size_t)n, sizeof *map);
  berth_status st;
  if ((st = berth_graph_forward(g, &o, out, map)) != BERTH_OK) return bl_failed(L, st);
  return answer(L, 3, n, map);
}

/* ---- adjusting a placement ---- */

const bl_table bl_adjust_tables[] = { berth_adjust_option_table, bl_cost_option, NULL };

/* adjust(cost, placement, options): placement; nil, message, code, obstacle */
static int adjust(lua_State *L) {
  BL_WHERE(w, "berth.adjust");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  berth_adjust_options o = berth_adjust_default(berth_cost_graph(cost));
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  size_t n = (size_t)bl_ops(cost);
  int32_t *device; /* a copy: the interrupt hook may close the placement */
  lua_settop(L, 3);
  int t = bl_option_table(L, 3, &w, bl_adjust_tables);
  bl_placement_box *box = bl_new_placement(L);
  device = bl_scratch(L, n, sizeof *device);
  memcpy(device, bl_to_devices(L, 2, cost, &w, "placement"), n * sizeof *device);
  bl_read_options(L, t, &w, berth_adjust_option_table(), &o);
  berth_cost_retain(cost); /* the interrupt hook may close it; then it is the placement's */
  box->cost = cost;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_adjust(cost, device, &o, &box->placement, &why));
  if (st != BERTH_OK) {
    box->cost = NULL;
    berth_cost_release(cost);
    return bl_failed(L, st) + bl_push_obstacle(L, st, &why);
  }
  lua_pushvalue(L, 4);
  bl_track(L);
  return 1;
}

/* default_memory(cost): the policy of placers and the simulator where none is given */
static int default_memory(lua_State *L) {
  berth_cost *cost = bl_check_cost(L, 1, "default_memory", "cost");
  lua_pushstring(L,
                 berth_memory_choices()[berth_place_default(berth_cost_graph(cost)).memory]->name);
  return 1;
}

const luaL_Reg bl_transform_functions[] = { { "adjust", adjust },
                                            { "default_memory", default_memory },
                                            { NULL, NULL } };
