/* berth.exact: the shortest makespan, or the best found and a bound on it. */
#include "base/binding.h"

const bl_table bl_exact_tables[] = { berth_exact_option_table, bl_cost_option, NULL };

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
  static const bl_where w = { "berth.exact", NULL, 0 };
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 2);
  berth_exact_options o = berth_exact_default(berth_cost_graph(cost));
  bl_read_options(L, bl_option_table(L, 2, &w, bl_exact_tables), &w, berth_exact_option_table(),
                  &o);
  bl_placement_box *box = bl_new_placement(L);
  int at = lua_gettop(L);
  berth_cost_retain(cost); /* a hook may close it; then it is the placement's */
  box->cost = cost;
  bl_call call = bl_enter(L);
  berth_exact_summary summary;
  berth_status st = bl_leave(&call, berth_exact(cost, &o, &box->placement, &summary, &why));
  if (st != BERTH_OK) {
    box->cost = NULL;
    berth_cost_release(cost);
    return bl_refused(L, w.fn, st) + bl_push_obstacle(L, st, &why);
  }
  lua_pushvalue(L, at);
  bl_track(L);
  push_summary(L, &summary);
  return 2;
}

const luaL_Reg bl_exact_functions[] = { { "exact", exact }, { NULL, NULL } };
