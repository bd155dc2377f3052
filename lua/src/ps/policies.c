/* Type "ps_policy": the core's schedulers of workers and parameter servers that decide slot by
 * slot. */
#include "ps.h"

static void release(void *box) { berth_ps_scheduler_release(((bl_ps_policy_box *)box)->scheduler); }
static berth_ps_scheduler *self(lua_State *L, const char *fn) {
  return ((bl_ps_policy_box *)bl_self(L, &bl_ps_policy_class, fn))->scheduler;
}

/* ---- making ---- */

typedef berth_status (*maker)(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out);

const bl_table bl_ps_fifo_tables[] = { berth_ps_fifo_option_table, NULL };
const bl_table bl_ps_dorm_tables[] = { berth_ps_dorm_option_table, NULL };
const bl_table bl_ps_optimus_tables[] = { berth_ps_optimus_option_table, NULL };

/* Each reads its options, a table or nil at 3. */
static berth_status make_fifo(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out) {
  berth_ps_fifo_options o = berth_ps_fifo_default();
  bl_read_options(L, bl_option_table(L, 3, w, bl_ps_fifo_tables), w, berth_ps_fifo_option_table(),
                  &o);
  return berth_ps_fifo_new(p, &o, out);
}

static berth_status make_drf(lua_State *L, berth_ps *p, const bl_where *w,
                             berth_ps_scheduler **out) {
  static const bl_table none[] = { NULL };
  bl_option_table(L, 3, w, none);
  return berth_ps_drf_new(p, out);
}

static berth_status make_dorm(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out) {
  berth_ps_dorm_options o = berth_ps_dorm_default();
  bl_read_options(L, bl_option_table(L, 3, w, bl_ps_dorm_tables), w, berth_ps_dorm_option_table(),
                  &o);
  return berth_ps_dorm_new(p, &o, out);
}

/* fit = { { theta0 .. theta4 }, ... }, one per job */
static const berth_ps_speed_fit *read_fits(lua_State *L, int t, const bl_where *w, int32_t jobs) {
  int32_t n;
  if (!bl_get_array(L, t, w, "fit", &n)) return NULL;
  if (n != jobs)
    bl_wrong(L, w, "fit", "has %d entries, expected %d (one per job)", (int)n, (int)jobs);
  int at = lua_gettop(L);
  berth_ps_speed_fit *fit = bl_scratch(L, (size_t)n, sizeof *fit);
  for (int32_t j = 0; j < n; j++) {
    bl_where item = { w->fn, "fit", (int)j + 1 };
    int top = lua_gettop(L);
    lua_rawgeti(L, at, j + 1);
    if (!lua_istable(L, top + 1))
      bl_wrong(L, &item, NULL, "expected an array, got %s", bl_kind(L, top + 1));
    const double *theta = bl_to_numbers(L, top + 1, &item, NULL, 5, "term");
    for (int k = 0; k < 5; k++) fit[j].theta[k] = theta[k];
    lua_settop(L, top);
  }
  return fit;
}

static berth_status make_optimus(lua_State *L, berth_ps *p, const bl_where *w,
                                 berth_ps_scheduler **out) {
  berth_ps_optimus_options o = berth_ps_optimus_default();
  int t = bl_option_table(L, 3, w, bl_ps_optimus_tables);
  o.fit = read_fits(L, t, w, berth_ps_jobs(p));
  return berth_ps_optimus_new(p, &o, out);
}

/* ps_policy(problem, "fifo" | "drf" | "dorm" | "optimus", options): object */
static int ps_policy(lua_State *L) {
  static const char *const names[] = { "fifo", "drf", "dorm", "optimus", NULL };
  static const maker makers[] = { make_fifo, make_drf, make_dorm, make_optimus };
  static const bl_where w = { "berth.pdors.simulate", NULL, 0 };
  berth_ps *p = ((bl_ps_box *)bl_check(L, 1, &bl_ps_class, w.fn, "problem"))->ps;
  int k = luaL_checkoption(L, 2, NULL, names);
  berth_ps_scheduler *made = NULL;
  lua_settop(L, 3);
  luaL_checkstack(L, 40, w.fn);
  bl_ps_policy_box *box = bl_new(L, &bl_ps_policy_class, sizeof *box);
  berth_status st = makers[k](L, p, &w, &made);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  box->scheduler = made;
  lua_settop(L, 4);
  bl_track(L);
  return 1;
}

/* ps_speed_fit(batch, workers, servers, speed): { theta0 .. theta4 } */
static int ps_speed_fit(lua_State *L) {
  static const bl_where w = { "berth.pdors.fit_speed", NULL, 0 };
  int32_t batch = (int32_t)bl_to_whole(L, 1, &w, "batch", 1, INT32_MAX);
  static const char *const keys[] = { "workers", "servers", "speed" };
  lua_settop(L, 4);
  for (int k = 0; k < 3; k++)
    if (!lua_istable(L, k + 2))
      bl_wrong(L, &w, keys[k], "expected an array, got %s", bl_kind(L, k + 2));
  int32_t n = bl_to_length(L, 2, &w, "workers");
  const double *workers;
  workers = bl_to_numbers(L, 2, &w, "workers", n, "measurement");
  const double *servers;
  servers = bl_to_numbers(L, 3, &w, "servers", n, "measurement");
  const double *speed;
  speed = bl_to_numbers(L, 4, &w, "speed", n, "measurement");
  berth_ps_speed_fit fit;
  berth_status st = berth_ps_speed_fit_to(bl_ctx(L), batch, n, workers, servers, speed, &fit);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_numbers(L, 5, fit.theta);
  return 1;
}

/* counts(): of dorm { programs, proved, greedy, nodes }, zeros of others */
static int counts(lua_State *L) {
  berth_ps_dorm_counts c = berth_ps_dorm_counted(self(L, "policy:counts"));
  lua_createtable(L, 0, 4);
  bl_set_count(L, "programs", (double)c.programs);
  bl_set_count(L, "proved", (double)c.proved);
  bl_set_count(L, "greedy", (double)c.greedy);
  bl_set_count(L, "nodes", (double)c.nodes);
  return 1;
}

static int to_string(lua_State *L) {
  self(L, "tostring");
  lua_pushliteral(L, "policy of workers and parameter servers");
  return 1;
}

static const luaL_Reg methods[] = { { "counts", counts }, { NULL, NULL } };
static const luaL_Reg meta[] = { { "__tostring", to_string }, { NULL, NULL } };
const bl_class bl_ps_policy_class = {
  .name = "ps_policy", .key = "berth.ps_policy", .release = release, .methods = methods,
  .meta = meta
};

const luaL_Reg bl_ps_policy_functions[] = { { "ps_policy", ps_policy },
                                            { "ps_speed_fit", ps_speed_fit },
                                            { NULL, NULL } };
