/* berth.exact: the shortest makespan, or the best found and a bound on it. Branch and bound of the
 * core (berth/place.h); this file reads options and returns the placement with a summary. Stack:
 * cost, options, box of the placement. */
#include "base/binding.h"

const bl_table bl_exact_tables[] = { berth_exact_option_table, bl_cost_option, NULL };

/* [-0, +1] Times in s. */
static void push_summary(lua_State *L, const berth_exact_summary *s) {
  lua_createtable(L, 0, 7);
  bl_set_number(L, "makespan", s->makespan);
  bl_set_number(L, "bound", s->bound);
  bl_set_bool(L, "proved", s->proved);
  bl_set_bool(L, "interrupted", s->interrupted);
  bl_set_bool(L, "timed_out", s->timed_out);
  bl_set_count(L, "nodes", (double)s->nodes);
  bl_set_count(L, "schedules", s->schedules);
}

/* exact(cost, options): placement, summary; nil, message, code, obstacle */
static int exact(lua_State *L) {
  BL_WHERE(w, "berth.exact");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 2);
  berth_exact_options o = berth_exact_default(berth_cost_graph(cost));
  bl_take_options(L, 2, &w, bl_exact_tables, &o);
  bl_placement_box *box = bl_new_placed(L, cost);
  int at = lua_gettop(L);
  bl_call call = bl_enter(L);
  berth_exact_summary summary;
  berth_status st = bl_leave(&call, berth_exact(cost, &o, &box->placement, &summary, &why));
  int n = bl_give_placed(L, at, w.fn, st, &why);
  if (st != BERTH_OK) return n;
  push_summary(L, &summary);
  return 2;
}

const luaL_Reg bl_exact_functions[] = { { "exact", exact }, { NULL, NULL } };
