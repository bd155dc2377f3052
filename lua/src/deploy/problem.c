/* berth.deploy.problem: the options, and the defaults that the physics add to them. Tables of the
 * caller are copied before defaults are added.
 * Stack of make(): cost at 1, options at 2, the box at 3; arrays and costs of points above it until
 * the core has copied them. Costs of points are made in a Lua call of their own, because
 * bl_cost_first takes its arguments from index 1. */
#include "deploy.h"
#include "analyse.h"
#include "sim/sim_options.h"
#include <string.h>

static const berth_choice *const physics_choices[] = {
  BL_CHOICE("physical", "What hardware does: collectives by the fastest algorithm, at the "
                        "bandwidth of the links."),
  BL_CHOICE("compat", "TAG's model of communication, and its simulator."),
  BL_CHOICE("published", "As TAG's code does it."),
  BL_CHOICE("calibrated", "As physical, but collectives as TAG measured them: rings at 1.9 times "
                          "the bandwidth of the links."),
  NULL
};
enum { CALIBRATED = 3 }; /* the rules and the simulation of PHYSICAL */
BL_OWN_OPTIONS(own_options,
  BL_ROW("physics", CHOICE, "physical",
         "which rules, prices and simulator hold; other options override them",
         .choices = physics_choices),
  BL_OTHER("cost", "table", "by physics", "options of berth.cost that price the graph"),
  BL_OTHER("sim", "table", "links route; by physics", "options of the simulation that evaluates a "
                                                      "strategy"))
const bl_table bl_deploy_tables[] = { berth_deploy_option_table, own_options, NULL };

/* ---- physics ---- */

/* [-0, +1] A copy of the table in that field, or an empty one: defaults are added to it, and the
 * caller's table must stay as it is. Shallow: values are only replaced, never changed. */
static void push_copy(lua_State *L, int t, const bl_where *w, const char *key) {
  lua_newtable(L);
  int copy = lua_gettop(L);
  lua_getfield(L, t, key);
  if (!lua_isnil(L, -1) && !lua_istable(L, -1))
    bl_wrong(L, w, key, "expected a table, got %s", bl_kind(L, -1));
  if (lua_istable(L, -1)) {
    for (lua_pushnil(L); lua_next(L, copy + 1) != 0;) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_settable(L, copy);
    }
  }
  lua_settop(L, copy);
}

/* [-1, +0] For the copy below the top: the value at the top becomes its field unless it has one. A
 * `false` counts as given. */
static void default_value(lua_State *L, const char *key) {
  lua_getfield(L, -2, key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_setfield(L, -2, key);
  } else {
    lua_pop(L, 2);
  }
}

/* TAG's fit of AllReduces, measured at 2810 MB/s. */
static void default_lines(lua_State *L) {
  double lines[4];
  berth_tag_lines(bl_ctx(L), 2810e6, lines);
  bl_push_numbers(L, 4, lines);
  default_value(L, "collective_lines");
  lua_pushnumber(L, 2810e6);
  default_value(L, "lines_bandwidth");
}

/* [-0, +0] Whether collectives are priced by fitted lines: the default, or by its name. */
static bool is_lines(lua_State *L) {
  lua_getfield(L, -1, "collective_algorithm");
  bool yes = lua_isnil(L, -1)
             || (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "lines") == 0);
  lua_pop(L, 1);
  return yes;
}

static bool is_physical(int physics) { return physics == BERTH_PHYSICAL || physics == CALIBRATED; }

/* Leaves the cost model: the fastest algorithm, the ring at 1.9 times the bandwidth of single
 * transfers, or TAG's lines in whole microseconds. */
static void push_model(lua_State *L, int t, const bl_where *w, int physics) {
  push_copy(L, t, w, "cost");
  if (physics == CALIBRATED) {
    lua_pushnumber(L, 1.9);
    default_value(L, "collective_bandwidth");
  }
  if (physics == BERTH_PHYSICAL) {
    lua_pushliteral(L, "auto");
    default_value(L, "collective_algorithm");
  }
  if (is_physical(physics)) return;
  if (is_lines(L)) default_lines(L);
  lua_pushliteral(L, "lines");
  default_value(L, "collective_algorithm");
  lua_pushboolean(L, 1);
  default_value(L, "whole_us");
}

BL_WHERE(sim_where, "berth.deploy.problem: sim");

/* Leaves the options of the simulator: links along routes, or TAG's own. */
static int push_sim(lua_State *L, int t, const bl_where *w, int physics) {
  push_copy(L, t, w, "sim");
  lua_pushstring(L, is_physical(physics) ? "route" : "tag");
  default_value(L, is_physical(physics) ? "links" : "preset");
  bl_check_options(L, lua_gettop(L), &sim_where, bl_judge_tables);
  return lua_gettop(L);
}

/* ---- making ---- */

/* [-0, +n] What descriptors describe. batch has no default, hence 0 for "not given". bucket_bytes
 * alone implies bucketing by bytes. */
static void read_numbers(lua_State *L, int t, const bl_where *w, berth_deploy_options *o) {
  bl_read_options(L, t, w, berth_deploy_option_table(), o);
  if (o->batch == 0) bl_wrong(L, w, "batch", "is missing: samples in a step");
  if (bl_is_given(L, t, "bucket_bytes")) o->bucket = BERTH_BUCKET_BYTES;
}

/* [-0, +2] or [-0, +0] [devices] group numbers of the user's, any whole numbers from 1; they need
 * not be consecutive, so INT32_MAX bounds them. */
static void read_device_groups(lua_State *L, int t, const bl_where *w, int32_t devices,
                               berth_deploy_options *o) {
  if (bl_get_sized(L, t, w, "device_groups", devices, "device"))
    o->device_group = bl_to_ids(L, -1, w, "device_groups", devices, INT32_MAX, "group");
}

/* [-0, +2] Set k (from 0) of the array at the top, and below it its name for messages. The name is
 * a Lua string so that it lives as long as it is on the stack. */
static const char *push_set(lua_State *L, const bl_where *w, int32_t k) {
  const char *name = lua_pushfstring(L, "sets[%d]", (int)k + 1);
  lua_rawgeti(L, -2, k + 1);
  if (!lua_istable(L, -1))
    bl_wrong(L, w, name, "expected an array of device ids, got %s", bl_kind(L, -1));
  return name;
}

/* [-0, +n] Sets in compressed rows: those of set k are device[at[k]] to device[at[k + 1] - 1]. Two
 * passes, because scratch cannot grow: lengths, then ids. The array of ids is put below the list,
 * so that each settop drops what a set has pushed, but not the array. */
static void read_sets(lua_State *L, int t, const bl_where *w, int32_t devices,
                      berth_deploy_options *o) {
  int32_t total = 0;
  if (!bl_get_array(L, t, w, "sets", &o->n_sets)) return;
  if (o->n_sets == 0) bl_wrong(L, w, "sets", "is empty");
  int32_t *at = bl_scratch(L, (size_t)o->n_sets + 1, sizeof *at);
  lua_getfield(L, t, "sets");
  int list = lua_gettop(L);
  for (int32_t k = at[0] = 0; k < o->n_sets; k++) {
    const char *name = push_set(L, w, k);
    at[k + 1] = total += bl_to_length(L, lua_gettop(L), w, name);
    lua_settop(L, list);
  }
  int32_t *device = bl_scratch(L, (size_t)total, sizeof *device);
  lua_insert(L, list);
  for (int32_t k = 0; k < o->n_sets; k++) {
    const char *name = push_set(L, w, k);
    int32_t n = at[k + 1] - at[k];
    memcpy(device + at[k], bl_to_ids(L, lua_gettop(L), w, name, n, devices, "device"),
           (size_t)n * sizeof *device);
    lua_settop(L, list + 1);
  }
  o->set_at = at;
  o->set_device = device;
}

static const char problem_fn[] = "berth.deploy.problem";

/* Called with lua_call, on a stack of its own: (graph, topology, { cost = model }): cost; or nil,
 * message, code. */
static int price_point(lua_State *L) {
  berth_status st = bl_cost_first(L, problem_fn, 2);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_settop(L, 1);
  return 1;
}

/* [-1, +1] The cost of the entry at the top, in place of the entry: its own, or its graph priced
 * with the topology and the model of the problem's cost. Raises with "points[i].graph: ..." where
 * the graph cannot be priced. The pointer is valid while the box stays on the stack. */
static berth_cost *cost_of_point(lua_State *L, const bl_where *item, int cost_at) {
  int entry = lua_gettop(L);
  lua_getfield(L, entry, "cost");
  if (lua_isnil(L, -1)) {
    lua_settop(L, entry);
    lua_pushcfunction(L, price_point);
    lua_getfield(L, entry, "graph");
    bl_check_graph(L, entry + 2, item->fn, lua_pushfstring(L, "points[%d].graph", item->i));
    lua_pop(L, 1);
    lua_getfield(L, cost_at, "topology");
    lua_newtable(L);
    lua_getfield(L, cost_at, "model");
    lua_setfield(L, -2, "cost");
    lua_call(L, 3, 2);
    if (lua_isnil(L, -2)) bl_wrong(L, item, "graph", "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  lua_replace(L, entry);
  berth_cost *cost = bl_check_cost(
      L, entry, item->fn, lua_pushfstring(L, "points[%d].cost", item->i));
  lua_settop(L, entry);
  return cost;
}

/* [-0, +n] Entries { batch, cost } or { batch, graph }. One stack slot per point stays: costs that
 * were priced here have no other owner until the core has taken its references. */
static void read_points(lua_State *L, int t, const bl_where *w, int cost_at,
                        berth_deploy_options *o) {
  static const char *const point_keys[] = { "batch", "cost", "graph", NULL };
  bl_where item = { w->fn, "points", 0 };
  if (!bl_get_array(L, t, w, "points", &o->n_points)) return;
  int32_t *batch;
  o->point_batch = batch = bl_scratch(L, (size_t)o->n_points, sizeof *batch);
  berth_cost **cost = bl_scratch(L, (size_t)o->n_points, sizeof *cost);
  o->point_cost = cost;
  lua_getfield(L, t, "points");
  int list = lua_gettop(L);
  luaL_checkstack(L, (int)o->n_points + 20, w->fn);
  for (int32_t k = 0; k < o->n_points; k++) {
    int at = bl_to_entry(L, list, &item, k, point_keys);
    bl_need(L, bl_get_whole(L, at, &item, "batch", 1, INT32_MAX, &batch[k]), &item, "batch");
    cost[k] = cost_of_point(L, &item, cost_at);
  }
}

/* [-0, +1] NULL: the core analyses the graph itself. The value stays on the stack, since an
 * `__index` of the options may have made it for this call. */
static const berth_analysis *read_analysis(lua_State *L, int t, const bl_where *w) {
  lua_getfield(L, t, "analysis");
  if (lua_isnil(L, -1)) return NULL;
  return bl_check_analysis(L, lua_gettop(L), w->fn, "analysis");
}

/* What the options say; arrays stay on the stack. The cost is at 1, the options at 2. */
static berth_deploy_options read_options(lua_State *L, int physics) {
  BL_WHERE(w, problem_fn);
  int32_t devices = bl_devices(bl_check_cost(L, 1, w.fn, "cost"));
  berth_deploy_options o =
      berth_deploy_default(is_physical(physics) ? BERTH_PHYSICAL : (berth_physics)physics);
  read_numbers(L, 2, &w, &o);
  read_device_groups(L, 2, &w, devices, &o);
  read_sets(L, 2, &w, devices, &o);
  read_points(L, 2, &w, 1, &o);
  o.analysis = read_analysis(L, 2, &w);
  return o;
}

/* [-0, +n] The dispatch follows from the option `order`: one of its own would contradict it. */
static berth_sim_options read_sim(lua_State *L, int physics) {
  BL_WHERE(w, problem_fn);
  berth_sim_options sim = bl_judge_options(L, push_sim(L, 2, &w, physics), &sim_where,
                                           bl_check_cost(L, 1, w.fn, "cost"));
  if (sim.dispatch != BERTH_DISPATCH_FIFO)
    bl_wrong(L, &sim_where, "dispatch", "is what `order` says");
  return sim;
}

/* The box comes first, so that it is collected whatever fails later. The cost is checked once more
 * just before the core gets it: reading options runs Lua code (`__index`, finalisers) that may
 * close it. [-0, +1], or nil, message, code. */
static int make(lua_State *L, int physics) {
  bl_deploy_box *box = bl_new(L, &bl_deploy_class, sizeof *box);
  int self_at = lua_gettop(L);
  luaL_checkstack(L, 40, problem_fn);
  bl_keep(L, self_at, "cost", 1);
  lua_pushstring(L, physics_choices[physics]->name);
  bl_keep(L, self_at, "physics", lua_gettop(L));
  berth_sim_options sim = read_sim(L, physics);
  berth_deploy_options o = read_options(L, physics);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_deploy_new(bl_check_cost(L, 1, problem_fn, "cost"), &sim,
                                                     &o, &box->deploy));
  if (st != BERTH_OK) return bl_refused(L, problem_fn, st);
  lua_settop(L, self_at);
  bl_track(L);
  return 1;
}

/* Makes (graph, topology, options) into (cost, options). The physics add their defaults to a copy
 * of `cost`, which goes to bl_cost_first in a table of its own at 3. Given a cost, the physics do
 * not change it: it has been priced already. */
static berth_status price(lua_State *L, const bl_where *w, int physics) {
  if (bl_test(L, 1, &bl_cost_class)) return bl_cost_first(L, w->fn, 2);
  lua_newtable(L);
  push_model(L, 3, w, physics);
  lua_setfield(L, -2, "cost");
  lua_insert(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w->fn, 2)) == BERTH_OK) lua_remove(L, 2);
  return st;
}

/* berth.deploy.problem(graph, topology, options) or (cost, options): deploy; nil, message, code.
 * Where options begin depends on the type of the first argument; further arguments are dropped. */
static int problem(lua_State *L) {
  BL_WHERE(w, problem_fn);
  int t = bl_test(L, 1, &bl_cost_class) ? 2 : 3, physics = 0;
  lua_settop(L, t);
  if (!bl_option_table(L, t, &w, bl_deploy_tables))
    bl_wrong(L, &w, "batch", "is missing: samples in a step");
  bl_get_choice(L, t, &w, "physics", physics_choices, &physics);
  berth_status st;
  if ((st = price(L, &w, physics)) != BERTH_OK) return bl_failed(L, st);
  return make(L, physics);
}

const luaL_Reg bl_deploy_functions[] = { { "deploy_problem", problem }, { NULL, NULL } };
