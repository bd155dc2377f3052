/* The compiled graph of a strategy, as tables. */
#include "deploy.h"
#include "sim/sim_options.h"
#include <math.h>

static const char *const part_names[] = { "replica", "split", "concat", "sum", "bucket" };

static void push_placed(lua_State *L, const berth_compiled *c) {
  int32_t n = berth_graph_ops(berth_compiled_graph(c));
  bl_placement_box *box = bl_new_placement(L);
  if (berth_placement_new(bl_ctx(L), n, berth_compiled_device(c), NULL, "deploy", NAN,
                          &box->placement)
      != BERTH_OK)
    bl_error(L, "deploy:compile: %s", berth_errmsg(bl_ctx(L)));
  berth_cost_retain(box->cost = berth_compiled_cost(c));
}

/* The graph is in the field of the table on the top; the problem is at 1. */
static void push_cost(lua_State *L, const berth_compiled *c) {
  int table = lua_gettop(L);
  bl_cost_box *box = bl_new(L, &bl_cost_class, sizeof *box);
  berth_cost_retain(box->cost = berth_compiled_cost(c));
  box->hooks = bl_hooks_of(L);
  lua_getfield(L, table, "graph");
  bl_deploy_anchor(L, table + 1, "graph", lua_gettop(L));
  lua_pop(L, 1);
  lua_getfield(L, 1, "topology");
  bl_deploy_anchor(L, table + 1, "topology", lua_gettop(L));
  lua_pop(L, 1);
}

static void push_parts(lua_State *L, int32_t n, const uint8_t *part) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushstring(L, part_names[part[k]]);
    lua_rawseti(L, -2, k + 1);
  }
}

/* What berth.simulate(c.cost, c.placement, ...) takes; the rank is in the table on the top. */
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
  bl_push_ids(L, ops, berth_compiled_device(c));
  lua_setfield(L, -2, "devices");
  bl_push_ids(L, ops, berth_compiled_origin(c));
  lua_setfield(L, -2, "origin");
  push_parts(L, ops, berth_compiled_part(c));
  lua_setfield(L, -2, "part");
  bl_push_counts(L, ops, berth_compiled_samples(c));
  lua_setfield(L, -2, "samples");
  bl_push_ids(L, berth_graph_tensors(g), berth_compiled_source(c));
  lua_setfield(L, -2, "source");
  bl_push_numbers(L, ops, berth_compiled_rank(c));
  lua_setfield(L, -2, "rank");
  push_simulation(L, c);
  lua_setfield(L, -2, "simulation");
}

/* Owns a compiled graph while tables are filled. */
static void release_compiled(void *box) { berth_compiled_release(((bl_box *)box)->object); }
static const bl_class compiled_class = {
  .name = "compiled graph", .key = "berth.compiled", .release = release_compiled
};

/* compile(strategy): { graph, placement, cost, devices, origin, part, samples, source, rank,
 * simulation }; nil, message, code */
int bl_deploy_compile(lua_State *L) {
  static const bl_where w = { "deploy:compile", NULL, 0 };
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
