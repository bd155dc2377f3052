/* The placers "anneal", "local" and "brkga": their options, and objectives in Lua. */
#include "search.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- objectives ---- */

/* Called protected: (light userdata of the search, of the devices) -> value. */
static int ask(lua_State *L) {
  bl_search *s = lua_touserdata(L, 1);
  const int32_t *device = lua_touserdata(L, 2);
  bl_cost_box *cost = lua_touserdata(L, 4);
  lua_pushvalue(L, 3);
  bl_placement_box *box = bl_new_placement(L);
  if (berth_placement_new(bl_ctx(L), berth_graph_ops(berth_cost_graph(cost->cost)), device, NULL,
                          NULL, NAN, &box->placement)
      != BERTH_OK) {
    lua_pushstring(L, berth_errmsg(bl_ctx(L)));
    return lua_error(L);
  }
  berth_cost_retain(box->cost = cost->cost);
  lua_call(L, 1, 1);
  (void)s;
  return 1;
}

static berth_status call_objective(void *ud, const int32_t *device, double limit, double *out) {
  bl_search *s = ud;
  lua_State *L = s->L;
  (void)limit;
  lua_pushcfunction(L, ask);
  lua_pushlightuserdata(L, s);
  lua_pushlightuserdata(L, (void *)(uintptr_t)device);
  lua_pushvalue(L, s->function);
  lua_pushvalue(L, s->cost);
  if (lua_pcall(L, 4, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  *out = lua_type(L, -1) == LUA_TNUMBER ? (double)lua_tonumber(L, -1) : NAN;
  if (!(*out > -INFINITY)) {
    snprintf(s->fault, sizeof s->fault, "the objective gave %s, expected a number%s",
             lua_type(L, -1) != LUA_TNUMBER ? bl_kind(L, -1)
             : isnan(*out)                  ? "NaN"
                                            : "-inf",
             *out < 0 ? " above it" : "");
    return BERTH_ECALLBACK;
  }
  lua_pop(L, 1);
  return BERTH_OK;
}

static void read_objective(lua_State *L, int t, const bl_where *w, bl_search *s) {
  if (!bl_get_function(L, t, w, "objective")) return;
  s->L = L;
  s->function = lua_gettop(L);
  s->cost = 1;
  s->objective.value = call_objective;
  s->objective.ud = s;
  s->o.objective = &s->objective;
}

/* ---- options ---- */

static void read_judge(lua_State *L, int t, const berth_cost *cost, const bl_where *w,
                       bl_search *s) {
  static const bl_where in_judge = { "berth.place: judge", NULL, 0 };
  lua_getfield(L, t, "judge");
  if (lua_isnil(L, -1)) return;
  int judge = lua_gettop(L);
  if (!lua_istable(L, judge))
    bl_wrong(L, w, "judge", "expected a table, got %s", bl_kind(L, judge));
  bl_check_options(L, judge, &in_judge, bl_judge_tables);
  s->judge = bl_judge_options(L, judge, &in_judge, cost);
  s->o.judge = &s->judge;
}

void bl_search_read(lua_State *L, int t, const bl_where *w, berth_cost *cost, const char *placer,
                    bl_search *s) {
  bool searches = berth_placer_reads(berth_placer_find(placer), "calls");
  s->o = berth_search_default();
  if (t) bl_read_options(L, t, w, berth_search_option_table(), &s->o);
  if (!t || !searches) return;
  luaL_checkstack(L, 20, w->fn);
  lua_getfield(L, t, "calls");
  bool limited = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (!limited && s->o.seconds > 0) s->o.calls = 0;
  read_judge(L, t, cost, w, s);
  read_objective(L, t, w, s);
  lua_getfield(L, t, "start");
  if (!lua_isnil(L, -1)) s->o.start = bl_to_devices(L, lua_gettop(L), cost, w, "start");
}

void bl_search_done(const bl_search *s, const char *fn, berth_status st) {
  if (*s->fault) bl_error(s->L, "%s: objective: %s", fn, s->fault);
  if (s->L && st == BERTH_ECALLBACK) lua_error(s->L);
}

int bl_search_interrupted(lua_State *L, const bl_search *s) {
  if (!s->report.interrupted) return 0;
  bl_raise_failure(L);
  lua_pushfstring(L, "interrupted: the best of %d calls", (int)s->report.calls);
  lua_pushliteral(L, "interrupted");
  return 2;
}
