/* The compiled graph of a strategy, as tables: graph, placement, cost, origin and samples of each
 * op, and options with which berth.simulate repeats the evaluation. The core's object is in a
 * hidden box while tables are made. */
#include "deploy.h"
#include "sim/sim_options.h"
#include <math.h>

static const char *const part_names[] = { "replica", "split", "concat", "sum", "bucket" };

/* [-0, +1] The placement keeps the cost of the compiled graph, so that it can be simulated alone.
 * An error here is raised: the strategy was legal, so it can only be memory. */
static void push_placed(lua_State *L, const berth_compiled *c) {
  int32_t n = berth_graph_ops(berth_compiled_graph(c));
  bl_placement_box *box = bl_new_placement(L);
  if (berth_placement_new(bl_ctx(L), n, berth_compiled_device(c), NULL, "deploy", NAN,
                          &box->placement)
      != BERTH_OK)
    bl_error(L, "deploy:compile: %s", berth_errmsg(bl_ctx(L)));
  berth_cost_retain(box->cost = berth_compiled_cost(c));
}

/* [-0, +1] A cost box made by hand: its cost was priced by the core, not from a table. The graph is
 * in the field of the table at the top, the problem at 1; both go into the anchor, as make_cost of
 * cost.c has it, so that cost.graph gives the same object each time. */
static void push_cost(lua_State *L, const berth_compiled *c) {
  int table = lua_gettop(L);
  bl_cost_box *box = bl_new(L, &bl_cost_class, sizeof *box);
  berth_cost_retain(box->cost = berth_compiled_cost(c));
  box->hooks = bl_hooks_of(L);
  lua_getfield(L, table, "graph");
  bl_keep(L, table + 1, "graph", lua_gettop(L));
  lua_pop(L, 1);
  lua_getfield(L, 1, "topology");
  bl_keep(L, table + 1, "topology", lua_gettop(L));
  lua_pop(L, 1);
}

/* [-0, +1] Options of berth.simulate(c.cost, c.placement, ...); the rank is in the table at the
 * top. With order "rank" the dispatch is static: ops start in the order of their ranks. */
static void push_simulation(lua_State *L, const berth_compiled *c) {
  const berth_deploy *d = berth_compiled_deploy(c);
  berth_sim_options o = *berth_deploy_simulation(d);
  bool ranked = berth_deploy_given(d)->order == BERTH_DEPLOY_RANK;
  if (ranked) o.dispatch = BERTH_DISPATCH_STATIC;
  bl_push_options(L, berth_sim_option_table(), &o);
  if (!ranked) return;
  lua_getfield(L, -2, "rank");
  lua_setfield(L, -2, "rank");
}

/* [-0, +1] Each object holds a reference of its own: the compiled step may be released first. */
static void push_compiled(lua_State *L, const berth_compiled *c) {
  const berth_graph *g = berth_compiled_graph(c);
  int32_t ops = berth_graph_ops(g);
  lua_createtable(L, 0, 9);
  berth_graph_retain(*bl_new_graph(L) = berth_compiled_graph(c));
  lua_setfield(L, -2, "graph");
  push_placed(L, c);
  lua_setfield(L, -2, "placement");
  push_cost(L, c);
  lua_setfield(L, -2, "cost");
  bl_set_ids(L, "devices", ops, berth_compiled_device(c));
  bl_set_ids(L, "origin", ops, berth_compiled_origin(c));
  bl_push_names(L, ops, berth_compiled_part(c), part_names);
  lua_setfield(L, -2, "part");
  bl_push_counts(L, ops, berth_compiled_samples(c));
  lua_setfield(L, -2, "samples");
  bl_set_ids(L, "source", berth_graph_tensors(g), berth_compiled_source(c));
  bl_set_numbers(L, "rank", ops, berth_compiled_rank(c));
  push_simulation(L, c);
  lua_setfield(L, -2, "simulation");
}

/* Owns a compiled graph while tables are filled. */
BL_RELEASE(release_compiled, berth_compiled_release)
static const bl_class compiled_class = {
  .name = "compiled graph", .key = "berth.compiled", .release = release_compiled
};

/* deploy:compile(strategy): { graph, placement, cost, devices, origin, part, samples, source, rank,
 * simulation }; nil, message, code. [ops of the compiled graph]: devices, origin (op of the
 * problem's graph), part, samples, rank; [its tensors]: source. The problem is checked again after
 * each step that runs Lua code, because a finaliser may close it. */
int bl_deploy_compile(lua_State *L) {
  BL_WHERE(w, "deploy:compile");
  bl_check_deploy(L, 1, w.fn, "self");
  lua_settop(L, 2);
  bl_register(L, &compiled_class);
  bl_box *box = bl_new(L, &compiled_class, sizeof *box);
  const int32_t *action;
  const uint8_t *duplicate;
  berth_status st =
      bl_read_strategy(L, 2, &w, bl_check_deploy(L, 1, w.fn, "self"), &action, &duplicate);
  if (st == BERTH_OK)
    st = berth_deploy_compile(bl_check_deploy(L, 1, w.fn, "self"), action, duplicate,
                              (berth_compiled **)&box->object);
  if (st == BERTH_OK) st = berth_compiled_check(box->object);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  push_compiled(L, box->object);
  bl_track(L);
  return 1;
}
