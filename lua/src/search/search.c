/* The placers "anneal", "local" and "brkga": their options, and objectives in Lua.
 * An objective is called under lua_pcall with a fresh placement for each candidate. What is wrong
 * with a result is written to `fault` and raised when the core has returned; an error of the
 * function itself stays on the top of the stack until then. Functions, judge and start stay on the
 * stack during the search. */
#include "search.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- objectives ---- */

/* Called protected: (light userdata of the search, of the devices) -> value. */
static int objective_body(lua_State *L) {
  bl_search *s = lua_touserdata(L, 1);
  const int32_t *device = lua_touserdata(L, 2);
  bl_cost_box *cost = lua_touserdata(L, 4);
  lua_pushvalue(L, 3);
  bl_placement_box *box = bl_new_placement(L);
  if (berth_placement_new(bl_ctx(L), bl_ops(cost->cost), device, NULL,
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

/* [-0, +0], or the error at the top. math.huge is a legal value: the placement is not allowed. */
static berth_status call_objective(void *ud, const int32_t *device, double limit, double *out) {
  bl_search *s = ud;
  lua_State *L = s->L;
  (void)limit;
  lua_pushcfunction(L, objective_body);
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

/* [-0, +1] The function stays on the stack until the search ends. */
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

/* [-0, +n] Only for placers that search; a limit in seconds replaces the default number of
 * calls. */
void bl_search_read(lua_State *L, int t, const bl_where *w, berth_cost *cost, const char *placer,
                    bl_search *s) {
  BL_WHERE(in_judge, "berth.place: judge");
  const berth_placer *p = berth_placer_find(placer);
  bool searches = berth_placer_reads(p, "calls");
  s->o = berth_search_default();
  if (p->calls > 0) s->o.calls = p->calls;
  if (t) bl_read_options(L, t, w, berth_search_option_table(), &s->o);
  if (!t || !searches) return;
  luaL_checkstack(L, 20, w->fn);
  if (!bl_is_given(L, t, "calls") && s->o.seconds > 0) s->o.calls = 0;
  s->o.judge = bl_get_judge(L, t, w, &in_judge, cost, &s->judge);
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
