/* berth.exact: the shortest makespan, or the best found and a bound on it. */
#include "base/binding.h"

static const char *const keys[] = { "memory", "param_multiple", "seed", "nodes", "schedules", "seconds", NULL };

static berth_exact_options read_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost) {
  berth_exact_options o = berth_exact_default(berth_cost_graph(cost));
  int32_t nodes = 0;
  int k;
  if (bl_get_choice(L, t, w, "memory", berth_memory_choices(), &k)) o.place.memory = (berth_memory_policy)k;
  bl_get_positive(L, t, w, "param_multiple", &o.place.param_multiple);
  bl_get_seed(L, t, w, "seed", &o.place.seed);
  if (bl_get_whole(L, t, w, "nodes", 1, INT32_MAX, &nodes)) o.nodes = nodes;
  bl_get_quantity(L, t, w, "seconds", BERTH_SECONDS, &o.seconds);
  bl_get_whole(L, t, w, "schedules", 0, INT32_MAX, &o.schedules);
  return o;
}

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
  berth_exact_summary summary;
  berth_exact_options o;
  bl_placement_box *box;
  bl_call call;
  berth_status st;
  int at;
  lua_settop(L, 2);
  o = read_options(L, bl_options(L, 2, &w, keys), &w, cost);
  box = bl_new_placement(L);
  at = lua_gettop(L);
  berth_cost_retain(cost); /* a hook may close it; then it is the placement's */
  box->cost = cost;
  call = bl_enter(L);
  st = bl_leave(&call, berth_exact(cost, &o, &box->placement, &summary, &why));
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
