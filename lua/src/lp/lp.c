/* berth.favourites: the linear program of favourite children (berth/lp.h), solved to a gap, and its
 * rounding. The solution is in a hidden box while it is copied into tables. */
#include "base/binding.h"
#include <math.h>

BL_OWN_OPTIONS(tau_option, BL_ROW("tau", NUMBER, "0: a maximal matching",
                                  "an edge with x = 1 - y of at most tau is a favourite",
                                  .high = 1))
const bl_table bl_favourites_tables[] = { berth_lp_option_table, tau_option, bl_cost_option, NULL };

/* Holds a solution while its copy is made: never seen by anyone. */
BL_RELEASE(release_lp, berth_lp_release)
static const bl_class lp_class = {
  .name = "solution", .key = "berth.favourites", .release = release_lp
};

/* [-0, +1] Times in s; gap = (upper - lower) / lower. */
static void push_summary(lua_State *L, const berth_lp_summary *s) {
  lua_createtable(L, 0, 16);
  bl_set_number(L, "upper", s->upper);
  bl_set_number(L, "lower", s->lower);
  bl_set_number(L, "gap", s->gap);
  bl_set_bool(L, "reached", s->reached);
  bl_set_number(L, "rho", s->rho);
  bl_set_count(L, "entropic", s->entropic);
  bl_set_count(L, "interior", s->interior);
  bl_set_count(L, "ops", s->ops);
  bl_set_count(L, "edges", s->edges);
}

/* [-0, +0] Sets [edges] arrays of the table at the top: from, to (ids of ops), c (s), y, flow. */
static void push_edges(lua_State *L, const berth_lp *lp) {
  const int32_t *src, *dst;
  const double *c, *y, *flow;
  int32_t m = berth_lp_edges(lp, &src, &dst, &c, &y, &flow);
  bl_set_ids(L, "from", m, src);
  bl_set_ids(L, "to", m, dst);
  bl_set_numbers(L, "c", m, c);
  bl_set_numbers(L, "y", m, y);
  bl_set_numbers(L, "flow", m, flow);
}

/* [-0, +0] Runs the hooks of this state meanwhile, which may close the cost's box: the cost is
 * held. */
static berth_status solve(lua_State *L, berth_cost *cost, const berth_lp_options *o,
                          berth_lp **lp) {
  berth_cost_retain(cost); /* a hook may close it */
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_lp_solve(cost, o, lp));
  berth_cost_release(cost);
  return st;
}

/* berth.favourites(graph, topology, options) or (cost, options): { upper, lower, gap, ..., child },
 * child [ops]: id of the favourite, or false; nil, message, code. The box owns the solution also
 * where a hook has raised after it was found. */
static int favourites(lua_State *L) {
  BL_WHERE(w, "berth.favourites");
  berth_lp_options o = berth_lp_default();
  double tau = 0;
  berth_lp *lp = NULL;
  lua_settop(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 2)) != BERTH_OK) return bl_failed(L, st);
  int t = bl_option_table(L, 2, &w, bl_favourites_tables);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  bl_read_options(L, t, &w, berth_lp_option_table(), &o);
  bl_read_options(L, t, &w, tau_option(), &tau);
  int32_t n = bl_ops(cost);
  int32_t *child = bl_scratch(L, (size_t)n, sizeof *child);
  bl_register(L, &lp_class);
  bl_box *box = bl_new(L, &lp_class, sizeof *box);
  st = solve(L, cost, &o, &lp);
  box->object = lp;
  if (st == BERTH_OK) st = berth_lp_favourites(lp, tau, child);
  if (st != BERTH_OK) return bl_failed(L, st);
  push_summary(L, berth_lp_get(lp));
  push_edges(L, lp);
  bl_push_map(L, n, child);
  lua_setfield(L, -2, "child");
  berth_lp_release(lp);
  box->object = NULL;
  return 1;
}

const luaL_Reg bl_lp_functions[] = { { "favourites", favourites }, { NULL, NULL } };
