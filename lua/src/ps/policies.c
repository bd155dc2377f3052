/* Type "ps_policy": the core's schedulers of workers and parameter servers that decide slot by
 * slot: FIFO, DRF, Dorm, Optimus (sources: berth/ps.h). Stack of ps_policy(): problem, name,
 * options, box. */
#include "ps.h"

BL_RELEASE(release, berth_ps_scheduler_release)
BL_SELF(self, berth_ps_scheduler, bl_ps_policy_class)

/* ---- making ---- */

typedef berth_status (*maker)(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out);

const bl_table bl_ps_fifo_tables[] = { berth_ps_fifo_option_table, NULL };
const bl_table bl_ps_dorm_tables[] = { berth_ps_dorm_option_table, NULL };
const bl_table bl_ps_optimus_tables[] = { berth_ps_optimus_option_table, NULL };

/* [-0, +n] Each reads its options, a table or nil at 3; what they need stays on the stack until the
 * core has copied it. */
static berth_status make_fifo(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out) {
  berth_ps_fifo_options o = berth_ps_fifo_default();
  bl_take_options(L, 3, w, bl_ps_fifo_tables, &o);
  return berth_ps_fifo_new(p, &o, out);
}

/* DRF has no options; any key is refused. */
static berth_status make_drf(lua_State *L, berth_ps *p, const bl_where *w,
                             berth_ps_scheduler **out) {
  static const bl_table none[] = { NULL };
  bl_option_table(L, 3, w, none);
  return berth_ps_drf_new(p, out);
}

static berth_status make_dorm(lua_State *L, berth_ps *p, const bl_where *w,
                              berth_ps_scheduler **out) {
  berth_ps_dorm_options o = berth_ps_dorm_default();
  bl_take_options(L, 3, w, bl_ps_dorm_tables, &o);
  return berth_ps_dorm_new(p, &o, out);
}

/* [-0, +3] fit = { { theta0 .. theta4 }, ... }, one row per job, in scratch; NULL: not given. */
static const berth_ps_speed_fit *read_fits(lua_State *L, int t, const bl_where *w, int32_t jobs) {
  if (!bl_get_sized(L, t, w, "fit", jobs, "job")) return NULL;
  const double *theta = bl_to_rows(L, -1, w, "fit", jobs, 5, "term");
  berth_ps_speed_fit *fit = bl_scratch(L, (size_t)jobs, sizeof *fit);
  for (int32_t j = 0; j < jobs; j++)
    for (int k = 0; k < 5; k++) fit[j].theta[k] = theta[5 * j + k];
  return fit;
}

/* `fit`: speed model of each job; without it the true one of the problem. */
static berth_status make_optimus(lua_State *L, berth_ps *p, const bl_where *w,
                                 berth_ps_scheduler **out) {
  berth_ps_optimus_options o = berth_ps_optimus_default();
  int t = bl_option_table(L, 3, w, bl_ps_optimus_tables);
  o.fit = read_fits(L, t, w, berth_ps_jobs(p));
  return berth_ps_optimus_new(p, &o, out);
}

/* ps_policy(problem, "fifo" | "drf" | "dorm" | "optimus", options): object; nil, message, code. The
 * name raises by luaL_checkoption: the Lua modules give it, not the user. */
static int ps_policy(lua_State *L) {
  static const char *const names[] = { "fifo", "drf", "dorm", "optimus", NULL };
  static const maker makers[] = { make_fifo, make_drf, make_dorm, make_optimus };
  BL_WHERE(w, "berth.pdors.simulate");
  berth_ps *p = bl_check_ps(L, 1, w.fn, "problem");
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

/* ps_speed_fit(batch, workers, servers, speed): { theta0 .. theta4 } from [n] measurements each;
 * nil, message, code. */
static int ps_speed_fit(lua_State *L) {
  BL_WHERE(w, "berth.pdors.fit_speed");
  int32_t batch = (int32_t)bl_to_whole(L, 1, &w, "batch", 1, INT32_MAX);
  lua_settop(L, 4);
  int32_t n = bl_to_length(L, 2, &w, "workers");
  const double *workers = bl_to_numbers(L, 2, &w, "workers", n, "measurement");
  const double *servers = bl_to_numbers(L, 3, &w, "servers", n, "measurement");
  const double *speed = bl_to_numbers(L, 4, &w, "speed", n, "measurement");
  berth_ps_speed_fit fit;
  berth_status st = berth_ps_speed_fit_to(bl_ctx(L), batch, n, workers, servers, speed, &fit);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_numbers(L, 5, fit.theta);
  return 1;
}

/* policy:counts(): { programs, proved, greedy, nodes } of dorm, zeros of others. */
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
const bl_class bl_ps_policy_class = {
  .name = "ps_policy", .key = "berth.ps_policy", .release = release, .methods = methods,
  .text = to_string
};

const luaL_Reg bl_ps_policy_functions[] = { { "ps_policy", ps_policy },
                                            { "ps_speed_fit", ps_speed_fit },
                                            { NULL, NULL } };
