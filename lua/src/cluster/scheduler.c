/* Schedulers in Lua, of all kinds of clusters: functions by event. They are called under lua_pcall
 * on the stack of the caller; an error unwinds the core first and is raised then, unchanged. */
#include "cluster.h"

/* [-0, +n] by_kind is in the order of berth_cluster_event_kind. L and stack indices make calls from
 * nested runs independent of each other. */
bl_events bl_read_events(lua_State *L, int t, const bl_where *w, const char *const *names) {
  static const char *const by_kind[] = { "finish", "wake", "slot", "arrival" };
  bl_events e = { L, { 0 } };
  bl_check_keys(L, t, w, names, false);
  for (int k = 0; k < 4; k++)
    if (bl_get_function(L, t, w, by_kind[k])) e.function[k] = lua_gettop(L);
  return e;
}

/* [-0, +0], or [-0, +1] the error value, which bl_failed raises after the core has cleaned up.
 * Results of the function are dropped. */
berth_status bl_call_event(const bl_events *e, berth_cluster_event_kind kind, int32_t job) {
  if (e->function[kind] == 0) return BERTH_OK;
  lua_pushvalue(e->L, e->function[kind]);
  bl_push_id(e->L, job);
  return lua_pcall(e->L, 1, 0, 0) == LUA_OK ? BERTH_OK : BERTH_ECALLBACK;
}

static berth_status on_arrival(void *ud, berth_cluster *c, int32_t job) {
  (void)c;
  return bl_call_event(ud, BERTH_CLUSTER_ARRIVAL, job);
}
static berth_status on_end(void *ud, berth_cluster *c, int32_t job) {
  (void)c;
  return bl_call_event(ud, BERTH_CLUSTER_END_OF_JOB, job);
}
static berth_status on_slot(void *ud, berth_cluster *c) {
  (void)c;
  return bl_call_event(ud, BERTH_CLUSTER_SLOT, BERTH_NONE);
}
static berth_status on_wake(void *ud, berth_cluster *c) {
  (void)c;
  return bl_call_event(ud, BERTH_CLUSTER_WAKE, BERTH_NONE);
}

/* cluster:run { arrival = f(job), finish = f(job), slot = f(), wake = f() }: true */
int bl_cluster_run(lua_State *L) {
  static const char *const names[] = { "arrival", "finish", "slot", "wake", NULL };
  static const bl_where w = { "cluster:run", NULL, 0 };
  berth_cluster *c = bl_check_cluster(L, 1, w.fn, "self");
  bl_events e;
  berth_scheduler s = { on_arrival, on_end, on_slot, on_wake, &e };
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w.fn);
  if (!lua_istable(L, 2))
    bl_wrong(L, &w, "scheduler", "expected a table of functions, got %s", bl_kind(L, 2));
  e = bl_read_events(L, 2, &w, names);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_cluster_run(c, &s));
  return st == BERTH_OK ? bl_done(L, st) : bl_refused(L, w.fn, st);
}
