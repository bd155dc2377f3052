/* Rules of resizable jobs and of GPU types without a cluster: Optimus, Pollux and its goodput,
 * Gavel (sources: berth/gang.h). Arrays are in scratch on the stack; speeds of jobs in a table, one
 * scratch each. */
#include "cluster/cluster.h"
#include <math.h>
#include <string.h>

/* [n], one per job */
static const double *numbers(lua_State *L, int t, const bl_where *w, const char *key, int32_t n) {
  lua_getfield(L, t, key);
  return bl_to_numbers(L, -1, w, key, n, "job");
}

/* ---- resizable jobs ---- */

/* { speeds = { ... }, left = 1, now = 0, change = 1 } at t */
static void read_job(lua_State *L, int t, const bl_where *item, berth_elastic_job *job) {
  *job = (berth_elastic_job){ 0, NULL, 1, 0, 1 };
  bl_get_number(L, t, item, "left", &job->left);
  bl_get_number(L, t, item, "change", &job->change);
  bl_get_whole(L, t, item, "now", 0, INT32_MAX, &job->now);
  lua_getfield(L, t, "speeds");
  job->most = bl_to_length(L, -1, item, "speeds");
  job->speed = bl_to_numbers(L, lua_gettop(L), item, "speeds", job->most, "number of GPUs");
}

/* Their speeds stay in a table on the stack. */
static berth_elastic_job *read_jobs(lua_State *L, int i, const bl_where *w, int32_t *n) {
  static const char *const keys[] = { "speeds", "left", "now", "change", NULL };
  *n = bl_to_length(L, i, w, "jobs");
  berth_elastic_job *jobs = bl_scratch(L, (size_t)*n, sizeof *jobs);
  lua_createtable(L, *n, 0);
  int kept = lua_gettop(L);
  for (int32_t k = 0; k < *n; k++) {
    bl_where item = { w->fn, "jobs", 0 };
    read_job(L, bl_to_entry(L, i, &item, k, keys), &item, &jobs[k]);
    lua_rawseti(L, kept, k + 1); /* the scratch */
    lua_settop(L, kept);
  }
  return jobs;
}

/* [-0, +1], or nil, message, code. */
static int push_counts(lua_State *L, const char *fn, berth_status st, int32_t n,
                       const int32_t *count) {
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  bl_push_counts(L, n, count);
  return 1;
}

/* optimus(jobs, gpus): GPUs of each */
static int optimus(lua_State *L) {
  BL_WHERE(w, "berth.cluster.optimus");
  lua_settop(L, 2);
  int32_t gpus = (int32_t)bl_to_whole(L, 2, &w, "gpus", 0, 1 << 24);
  int32_t n;
  berth_elastic_job *jobs = read_jobs(L, 1, &w, &n);
  int32_t *count = bl_scratch(L, (size_t)n, sizeof *count);
  return push_counts(L, w.fn, berth_elastic_optimus(bl_ctx(L), n, jobs, gpus, count), n, count);
}

BL_OPTIONS(pollux,
  BL_ROW("power", NUMBER, "-1", "of the mean of speedups that is the largest",
         .offset = offsetof(berth_gang_resize_options, power), .low = -INFINITY, .high = 1),
  BL_ROW("floor", NUMBER, "0.01", "speedup of a job without GPUs",
         .offset = offsetof(berth_gang_resize_options, floor), .above = 1))

/* pollux(jobs, gpus, { power, floor }): GPUs of each */
static int pollux(lua_State *L) {
  static const bl_where w = { "berth.cluster.pollux", NULL, 0 };
  berth_gang_resize_options o = berth_gang_resize_default();
  lua_settop(L, 3);
  int32_t gpus = (int32_t)bl_to_whole(L, 2, &w, "gpus", 0, 1 << 24);
  bl_take_options(L, 3, &w, bl_pollux_tables, &o);
  int32_t n;
  berth_elastic_job *jobs = read_jobs(L, 1, &w, &n);
  int32_t *count = bl_scratch(L, (size_t)n, sizeof *count);
  return push_counts(
      L, w.fn, berth_elastic_pollux(bl_ctx(L), n, jobs, gpus, o.power, o.floor, count), n, count);
}

/* ---- goodput ---- */

#define FIELD(name, default_, ...) \
  BL_ROW(#name, NUMBER, default_, __VA_ARGS__, .offset = offsetof(berth_goodput, name))
BL_OPTIONS(goodput,
  FIELD(grad, "0", "s of computing at any batch"),
  FIELD(grad_sample, "0", "s of computing for each sample of a GPU"),
  FIELD(sync_near, "0", "s of synchronising two GPUs of one machine"),
  FIELD(near_gpu, "0", "s more for each further one"),
  FIELD(sync_far, "0", "s of synchronising two GPUs of several machines"),
  FIELD(far_gpu, "0", "s more for each further one"),
  FIELD(overlap, "1", "gamma: computing and synchronising take (x^gamma + y^gamma)^(1/gamma)",
        .low = 1, .high = 10),
  FIELD(noise, "inf: efficiency is 1", "gradient noise scale, samples", .high = INFINITY),
  FIELD(batch, "none; must be given", "least batch, at which efficiency is 1", .above = 1),
  FIELD(most_batch, "inf", "largest batch", .high = INFINITY),
  FIELD(most_per_gpu, "inf", "largest batch of a GPU", .above = 1, .high = INFINITY))

/* goodput(model, gpus, machines = 1): samples per s, batch, seconds of an iteration, efficiency */
static int goodput(lua_State *L) {
  static const bl_where w = { "berth.cluster.goodput", NULL, 0 };
  berth_goodput g = {
    .overlap = 1, .noise = INFINITY, .most_batch = INFINITY, .most_per_gpu = INFINITY
  };
  lua_settop(L, 3);
  int t = bl_option_table(L, 1, &w, bl_goodput_tables);
  if (!t) bl_wrong(L, &w, "model", "expected a table, got nil");
  for (const berth_option *o = goodput_options()->options; o->key; o++)
    bl_get_number(L, t, &w, o->key, (double *)((char *)&g + o->offset)); /* the core checks them */
  int32_t gpus = (int32_t)bl_to_whole(L, 2, &w, "gpus", 1, 1 << 24);
  int32_t machines = lua_isnil(L, 3) ? 1 : (int32_t)bl_to_whole(L, 3, &w, "machines", 1, 1 << 24);
  double best, batch;
  berth_status st;
  if ((st = berth_goodput_best(bl_ctx(L), &g, gpus, machines, &batch, &best)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  lua_pushnumber(L, best);
  if (!(batch > 0)) return 1;
  lua_pushnumber(L, batch);
  lua_pushnumber(L, berth_goodput_time(&g, gpus, machines, batch / gpus));
  lua_pushnumber(L, berth_goodput_efficiency(&g, batch));
  return 4;
}

/* ---- Gavel ---- */

/* *n < 0: the array sets the length that the later ones must have. */
static const int32_t *whole_numbers(lua_State *L, int t, const bl_where *w, const char *key,
                                    int32_t *n, int32_t least) {
  int32_t found;
  if (!bl_get_array(L, t, w, key, &found)) return NULL;
  if (*n >= 0 && found != *n)
    bl_wrong(L, w, key, "has %d entries, expected %d", (int)found, (int)*n);
  *n = found;
  return bl_to_wholes(L, -1, w, key, found, least);
}

/* [-0, +2] Shares by job and type, and the objective they reach. */
static int push_shares(lua_State *L, const berth_gavel *p, const double *share, double objective) {
  bl_push_rows(L, p->n, p->types, share);
  lua_pushnumber(L, objective);
  return 2;
}

BL_OPTIONS(gavel,
  BL_OTHER("throughputs", "array", "none; must be given", "of each job, by type of GPU"),
  BL_OTHER("gpus", "array", "none; must be given", "how many of each type"),
  BL_OTHER("gangs", "array", "1", "GPUs of each job"),
  BL_OTHER("priorities", "array", "1", "weight of each job"),
  BL_OTHER("left", "array", "none", "work left of each job: for goals makespan and finish-time"),
  BL_OTHER("elapsed", "array", "none", "time since the arrival of each job: for finish-time"),
  BL_OTHER("alone", "array", "none", "what each job takes on a share of its own: for finish-time"),
  BL_OTHER("slack", "number", "0", "makespan: part of the least by which shares may be longer"))

/* gavel({ throughputs = [jobs][types], gpus = [types], gangs, priorities, left, elapsed, alone,
 * slack }, goal): shares, objective */
static int gavel(lua_State *L) {
  static const bl_where w = { "berth.cluster.gavel", NULL, 0 };
  berth_gavel p = { .n = -1, .types = -1 };
  int goal = BERTH_GAVEL_MAX_MIN;
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w.fn);
  int t = bl_option_table(L, 1, &w, bl_gavel_tables);
  if (!t) bl_wrong(L, &w, "problem", "expected a table, got nil");
  if (!lua_isnil(L, 2)) goal = bl_to_choice(L, 2, &w, "goal", berth_gavel_goals());
  if (!(p.gpus = whole_numbers(L, t, &w, "gpus", &p.types, 0)))
    bl_wrong(L, &w, "gpus", "is missing");
  bl_need(L, bl_get_array(L, t, &w, "throughputs", &p.n), &w, "throughputs");
  p.throughput = bl_to_rows(L, -1, &w, "throughputs", p.n, p.types, "type");
  p.gang = whole_numbers(L, t, &w, "gangs", &p.n, 1);
  if (bl_is_given(L, t, "priorities")) p.priority = numbers(L, t, &w, "priorities", p.n);
  if (goal == BERTH_GAVEL_MAKESPAN || goal == BERTH_GAVEL_FINISH_TIME)
    p.left = numbers(L, t, &w, "left", p.n);
  if (bl_get_number(L, t, &w, "slack", &p.slack) && !(p.slack >= 0 && p.slack <= 1))
    bl_wrong(L, &w, "slack", "expected a number from 0 to 1, got %g", p.slack);
  if (goal == BERTH_GAVEL_FINISH_TIME) {
    p.elapsed = numbers(L, t, &w, "elapsed", p.n);
    p.alone = numbers(L, t, &w, "alone", p.n);
  }
  double *share = bl_scratch(L, (size_t)p.n * (size_t)p.types, sizeof *share);
  bl_call call = bl_enter(L);
  double objective;
  berth_status st = bl_leave(&call, berth_gavel_allocate(bl_ctx(L), &p, (berth_gavel_goal)goal,
                                                         share, &objective));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  return push_shares(L, &p, share, objective);
}

const luaL_Reg bl_elastic_functions[] = { { "optimus", optimus },
                                          { "pollux", pollux },
                                          { "goodput", goodput },
                                          { "gavel", gavel },
                                          { NULL, NULL } };
