/* Type "ps_run": a run of a policy on a problem of workers and parameter servers. A policy is an
 * object of the core, or functions by event, called under lua_pcall on the caller's stack; they
 * decide with assign() and refuse() on the same run. */
#include "cluster/cluster.h"
#include "ps.h"
#include <math.h>

BL_RELEASE(release, berth_ps_run_release)
BL_SELF(self, berth_ps_run, bl_ps_run_class)
static berth_ps *problem(const berth_ps_run *r) { return berth_ps_run_problem(r); }

/* ps_run(problem): object */
static int ps_run(lua_State *L) {
  berth_ps *p = bl_check_ps(L, 1, "berth.pdors.simulate", "problem");
  bl_ps_run_box *box = bl_new(L, &bl_ps_run_class, sizeof *box);
  berth_status st = berth_ps_run_new(p, &box->run);
  if (st != BERTH_OK) return bl_refused(L, "berth.pdors.simulate", st);
  bl_track(L);
  return 1;
}

/* ---- policies in Lua ---- */

/* Events of the core as those of cluster.h: `ud` has the functions, and the stack that they are
 * on. */
static berth_status call_arrival(void *ud, berth_ps_run *r, int32_t job) {
  (void)r;
  return bl_call_event(ud, BERTH_CLUSTER_ARRIVAL, job);
}
static berth_status call_finish(void *ud, berth_ps_run *r, int32_t job) {
  (void)r;
  return bl_call_event(ud, BERTH_CLUSTER_END_OF_JOB, job);
}
static berth_status call_slot(void *ud, berth_ps_run *r, int32_t slot) {
  (void)r, (void)slot;
  return bl_call_event(ud, BERTH_CLUSTER_SLOT, BERTH_NONE);
}

/* [-0, +n] One of the core's, or functions, which stay on the stack while the run is played. `e`
 * must last as long: the policy points to it. */
static berth_ps_policy to_policy(lua_State *L, int i, const bl_where *w, bl_events *e) {
  static const char *const names[] = { "arrival", "finish", "slot", NULL };
  if (bl_test(L, i, &bl_pdors_class))
    return berth_pdors_policy(
        ((bl_pdors_box *)bl_check(L, i, &bl_pdors_class, w->fn, "policy"))->pdors);
  if (bl_test(L, i, &bl_ps_policy_class))
    return berth_ps_scheduler_policy(
        ((bl_ps_policy_box *)bl_check(L, i, &bl_ps_policy_class, w->fn, "policy"))->scheduler);
  if (!lua_istable(L, i))
    bl_wrong(L, w, "policy", "expected a policy or a table of functions, got %s", bl_kind(L, i));
  *e = bl_read_events(L, i, w, names);
  return (berth_ps_policy){ call_arrival, call_finish, call_slot, e };
}

/* run:play({ arrival = f(job), finish = f(job), slot = f() } or a policy of the core): true; nil,
 * message, code. What a function raises is raised again when the core has returned. */
static int play(lua_State *L) {
  BL_WHERE(w, "run:play");
  berth_ps_run *r = self(L, w.fn);
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w.fn);
  bl_events e;
  berth_ps_policy policy = to_policy(L, 2, &w, &e);
  bl_call under_way = bl_enter(L);
  berth_status st = bl_leave(&under_way, berth_ps_run_play(r, &policy));
  return st == BERTH_OK ? bl_done(L, st) : bl_refused(L, w.fn, st);
}

/* ---- decisions ---- */

static int decided(lua_State *L, const char *fn, berth_status st) {
  return st == BERTH_OK ? bl_done(L, st) : bl_refused(L, fn, st);
}

/* assign(job, { { machine, workers, servers }, ... }): true; what does not fit: nil, message,
 * code */
static int assign(lua_State *L) {
  BL_WHERE(w, "run:assign");
  berth_ps_run *r = self(L, w.fn);
  int32_t id = bl_to_ps_job(L, 2, &w, problem(r)), n;
  const berth_ps_place *places = bl_to_places(L, 3, &w, problem(r), &n);
  return decided(L, w.fn, berth_ps_assign(r, id, n, places));
}

/* refuse(job, cause = 0) */
static int refuse(lua_State *L) {
  BL_WHERE(w, "run:refuse");
  berth_ps_run *r = self(L, w.fn);
  int32_t id = bl_to_ps_job(L, 2, &w, problem(r));
  double cause = bl_opt_whole(L, 3, &w, "cause", 0, INT32_MIN, INT32_MAX);
  return decided(L, w.fn, berth_ps_refuse(r, id, (int32_t)cause));
}

/* ---- what is ---- */

/* run:active(): ids of the jobs that arrived and are neither done nor refused. The first call of
 * the core counts them, for the scratch. */
static int active(lua_State *L) {
  berth_ps_run *r = self(L, "run:active");
  int32_t n = berth_ps_run_active(r, 0, NULL), *jobs = bl_scratch(L, (size_t)n, sizeof *jobs);
  berth_ps_run_active(r, n, jobs);
  bl_push_ids(L, n, jobs);
  return 1;
}

/* left(job): samples */
static int left(lua_State *L) {
  BL_WHERE(w, "run:left");
  berth_ps_run *r = self(L, w.fn);
  lua_pushnumber(L, berth_ps_run_left(r, bl_to_ps_job(L, 2, &w, problem(r))));
  return 1;
}

/* run:free(): amounts that are free in this slot, an array per machine. */
static int free_amounts(lua_State *L) {
  berth_ps_run *r = self(L, "run:free");
  bl_push_amounts(L, problem(r), berth_ps_run_free(r));
  return 1;
}

/* run:places(job): array of { machine, workers, servers } in the last slot in which it had any. */
static int places_of(lua_State *L) {
  BL_WHERE(w, "run:places");
  berth_ps_run *r = self(L, w.fn);
  int32_t id = bl_to_ps_job(L, 2, &w, problem(r)), n = berth_ps_run_places(r, id, 0, NULL);
  berth_ps_place *places = bl_scratch(L, (size_t)n, sizeof *places);
  berth_ps_run_places(r, id, n, places);
  bl_push_places(L, n, places);
  return 1;
}

/* record(job): { state, first, done, finish, left, utility, ... } */
static int record(lua_State *L) {
  static const char *const states[] = { "coming", "waiting", "running", "done", "refused" };
  static const bl_where w = { "run:record", NULL, 0 };
  berth_ps_run *r = self(L, w.fn);
  berth_ps_record x;
  berth_status st = berth_ps_run_record(r, bl_to_ps_job(L, 2, &w, problem(r)), &x);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 13);
  bl_set_string(L, "state", states[x.state]);
  if (x.state == BERTH_JOB_REFUSED) bl_set_count(L, "cause", x.cause);
  if (x.first != BERTH_NONE) bl_set_count(L, "first", x.first);
  if (x.done != BERTH_NONE) bl_set_count(L, "done", x.done);
  if (!isnan(x.end)) bl_set_number(L, "finish", x.end);
  bl_set_number(L, "left", x.left);
  bl_set_number(L, "utility", x.utility);
  bl_set_number(L, "worker_slots", x.worker_slots);
  bl_set_number(L, "server_slots", x.server_slots);
  bl_set_count(L, "slots", x.slots);
  bl_set_count(L, "inside", x.inside);
  bl_set_count(L, "moves", x.moves);
  return 1;
}

/* [-0, +0] Three columns of the table at the top, machine 1-based. */
static void set_places(lua_State *L, int32_t n, const berth_ps_place *place) {
  static const char *const keys[] = { "machine", "workers", "servers" };
  for (int k = 0; k < 3; k++) {
    lua_createtable(L, n, 0);
    for (int32_t i = 0; i < n; i++) {
      lua_pushinteger(L, k == 0   ? place[i].machine + 1
                         : k == 1 ? place[i].workers
                                  : place[i].servers);
      lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, keys[k]);
  }
}

/* log(): { slot, job, machine, workers, servers }, arrays in order of slots, jobs, machines */
static int log_of(lua_State *L) {
  berth_ps_run *r = self(L, "run:log");
  size_t n = berth_ps_run_log(r, 0, NULL, NULL, NULL);
  if (n > INT32_MAX / 2) return bl_error(L, "run:log: too long for a table");
  int32_t *slot = bl_scratch(L, n, sizeof *slot);
  int32_t *job = bl_scratch(L, n, sizeof *job);
  berth_ps_place *place = bl_scratch(L, n, sizeof *place);
  berth_ps_run_log(r, n, slot, job, place);
  lua_createtable(L, 0, 5);
  bl_push_counts(L, (int32_t)n, slot);
  lua_setfield(L, -2, "slot");
  bl_set_ids(L, "job", (int32_t)n, job);
  set_places(L, (int32_t)n, place);
  return 1;
}

/* report(): { utility, done, refused, unfinished, ... } */
static int report(lua_State *L) {
  berth_ps_run *r = self(L, "run:report");
  berth_ps_report x = berth_ps_run_report(r);
  lua_createtable(L, 0, 8);
  bl_set_number(L, "utility", x.utility);
  bl_set_count(L, "done", x.done);
  bl_set_count(L, "refused", x.refused);
  bl_set_count(L, "unfinished", x.unfinished);
  bl_set_number(L, "training_mean", x.training_mean);
  bl_set_number(L, "training_median", x.training_median);
  bl_set_number(L, "inside", x.inside);
  bl_set_numbers(L, "used", berth_ps_options_of(problem(r))->resources, x.used);
  return 1;
}

/* run.slot: slot to be decided, from 0 as in the options, nil at the end. */
static int slot_of(lua_State *L) {
  int32_t slot = berth_ps_run_slot(self(L, "run.slot"));
  if (slot == BERTH_NONE) lua_pushnil(L);
  else lua_pushinteger(L, slot);
  return 1;
}

static int to_string(lua_State *L) {
  berth_ps_run *r = self(L, "tostring");
  berth_ps_report x = berth_ps_run_report(r);
  return bl_push_format(L, "run: %d of %d jobs done, %d refused, utility %.6g", (int)x.done,
                (int)berth_ps_jobs(problem(r)), (int)x.refused, x.utility);
}

static const luaL_Reg methods[] = {
  { "play", play },  { "assign", assign },     { "refuse", refuse },    { "active", active },
  { "left", left },  { "free", free_amounts }, { "places", places_of }, { "record", record },
  { "log", log_of }, { "report", report },     { NULL, NULL }
};
static const luaL_Reg fields[] = { { "slot", slot_of }, { NULL, NULL } };
const bl_class bl_ps_run_class = {
  .name = "ps_run", .key = "berth.ps_run", .release = release, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_ps_run_functions[] = { { "ps_run", ps_run }, { NULL, NULL } };
