/* The placers "anneal", "local" and "brkga": their options, and objectives in Lua. */
#include "search.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- objectives -------------------------------------------------------------------------- */

/* Called protected: (light userdata of the search, of the devices) -> value. */
static int ask(lua_State *L) {
  bl_search *s = lua_touserdata(L, 1);
  const int32_t *device = lua_touserdata(L, 2);
  bl_cost_box *cost = lua_touserdata(L, 4);
  bl_placement_box *box;
  lua_pushvalue(L, 3);
  box = bl_new_placement(L);
  if (berth_placement_new(bl_ctx(L), berth_graph_ops(berth_cost_graph(cost->cost)), device, NULL, NULL, NAN, &box->placement)
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
             lua_type(L, -1) != LUA_TNUMBER ? bl_kind(L, -1) : isnan(*out) ? "NaN" : "-inf", *out < 0 ? " above it" : "");
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

/* ---- options ------------------------------------------------------------------------------ */

static void read_judge(lua_State *L, int t, const berth_cost *cost, const bl_where *w, bl_search *s) {
  static const bl_where in_judge = { "berth.place: judge", NULL, 0 };
  int judge;
  lua_getfield(L, t, "judge");
  if (lua_isnil(L, -1)) return;
  judge = lua_gettop(L);
  if (!lua_istable(L, judge)) bl_wrong(L, w, "judge", "expected a table, got %s", bl_kind(L, judge));
  bl_check_keys(L, judge, &in_judge, bl_judge_keys, false);
  s->judge = bl_judge_options(L, judge, &in_judge, cost);
  s->o.judge = &s->judge;
}

static void read_budget(lua_State *L, int t, const bl_where *w, bl_search *s) {
  int32_t calls = 0;
  bool limited = bl_get_whole(L, t, w, "calls", 1, INT32_MAX, &calls);
  bool timed = bl_get_quantity(L, t, w, "seconds", BERTH_SECONDS, &s->o.seconds);
  if (limited) s->o.calls = calls;
  else if (timed) s->o.calls = 0;
  bl_get_whole(L, t, w, "restarts", 1, 1000, &s->o.restarts);
  bl_get_whole(L, t, w, "threads", 0, 4096, &s->o.threads);
  bl_get_bool(L, t, w, "steepest", &s->o.steepest);
}

static void read_generations(lua_State *L, int t, const bl_where *w, bl_search *s) {
  bl_get_whole(L, t, w, "population", 3, 100000, &s->o.population);
  bl_get_positive(L, t, w, "elite", &s->o.elite);
  bl_get_positive(L, t, w, "mutants", &s->o.mutants);
  bl_get_positive(L, t, w, "bias", &s->o.bias);
}

static bool searches(const char *placer) {
  return strcmp(placer, "anneal") == 0 || strcmp(placer, "local") == 0 || strcmp(placer, "brkga") == 0;
}

void bl_search_read(lua_State *L, int t, const bl_where *w, berth_cost *cost, const char *placer, bl_search *s) {
  s->o = berth_search_default();
  if (t && strcmp(placer, "exact") == 0) bl_get_quantity(L, t, w, "seconds", BERTH_SECONDS, &s->o.seconds);
  if (!t || !searches(placer)) return;
  luaL_checkstack(L, 20, w->fn);
  read_budget(L, t, w, s);
  read_generations(L, t, w, s);
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
