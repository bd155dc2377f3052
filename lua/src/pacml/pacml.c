/* Types "pacml" (models that jobs are of) and "pacml run" (a sequence of jobs, decided one after
 * another). Traces are tables of three columns, [jobs] each: model, beta, arrival in s.
 * A run holds a reference to its models, so that they may be closed, and the trace in its anchor.
 * NaN in the core is nil in Lua: of a job that is not there, or was not placed. */
#include "pacml.h"
#include "cluster/cluster.h"
#include <math.h>
#include <string.h>

/* ---- traces ---- */

/* [-0, +0] Number k of the array at t. */
static double number_at(lua_State *L, int t, int32_t k, const bl_where *w, const char *key) {
  lua_rawgeti(L, t, k);
  double x = bl_to_number(L, -1, w, key);
  lua_pop(L, 1);
  return x;
}

/* [-0, +1] Stack index of the column t[key], which has *n entries; *n -1: this is the first column,
 * which sets it. A missing column raises: nil is no array. */
static int column(lua_State *L, int t, const bl_where *w, const char *key, int32_t *n) {
  lua_getfield(L, t, key);
  int32_t found = bl_to_length(L, lua_gettop(L), w, key);
  if (*n >= 0 && found != *n)
    bl_wrong(L, w, key, "has %d entries, expected %d (one per job)", (int)found, (int)*n);
  *n = found;
  return lua_gettop(L);
}

/* [-0, +4] Three columns of the same length, model (id), beta, arrival (s), and above them the jobs
 * in scratch, model 0-based. Values are only read as numbers here; the core checks their ranges. */
berth_pacml_job *bl_to_trace(lua_State *L, int i, const bl_where *w, int32_t models, int32_t *n) {
  bl_need_table(L, i, w, "trace");
  *n = -1;
  int model = column(L, i, w, "model", n);
  int beta = column(L, i, w, "beta", n);
  int arrival = column(L, i, w, "arrival", n);
  berth_pacml_job *jobs = bl_scratch(L, (size_t)*n, sizeof *jobs);
  for (int32_t j = 0; j < *n; j++) {
    lua_rawgeti(L, model, j + 1);
    jobs[j].model = bl_to_id(L, -1, w, "model", models, "model");
    lua_pop(L, 1);
    jobs[j].beta = number_at(L, beta, j + 1, w, "beta");
    jobs[j].arrival = number_at(L, arrival, j + 1, w, "arrival");
  }
  return jobs;
}

/* [-0, +1] The inverse of bl_to_trace: { model, beta, arrival }, model 1-based. */
void bl_push_trace(lua_State *L, int32_t n, const berth_pacml_job *jobs) {
  lua_createtable(L, 0, 3);
  int t = lua_gettop(L);
  for (int which = 0; which < 3; which++) {
    lua_createtable(L, n, 0);
    for (int32_t j = 0; j < n; j++) {
      if (which == 0) bl_push_id(L, jobs[j].model);
      else lua_pushnumber(L, which == 1 ? jobs[j].beta : jobs[j].arrival);
      lua_rawseti(L, -2, j + 1);
    }
    lua_setfield(L, t, which == 0 ? "model" : which == 1 ? "beta" : "arrival");
  }
}

/* ---- models ---- */

BL_RELEASE(release_pacml, berth_pacml_release)
static bl_pacml_box *self(lua_State *L, const char *fn) { return bl_self(L, &bl_pacml_class, fn); }

/* [-0, +1] Those at 1 in scratch. The table at 1 keeps their boxes; the core takes references. All
 * models must be of one ramp: the first one's is returned, and the core refuses the others. */
static berth_ramp_model **read_models(lua_State *L, const bl_where *w, int32_t *n,
                                      berth_ramp **ramp) {
  if (lua_isnil(L, 1)) bl_wrong(L, w, "models", "expected an array of ramp models, got nil");
  if ((*n = bl_to_length(L, 1, w, "models")) == 0) bl_wrong(L, w, "models", "is empty");
  berth_ramp_model **models = bl_scratch(L, (size_t)*n, sizeof *models);
  for (int32_t i = 0; i < *n; i++) {
    lua_rawgeti(L, 1, i + 1);
    bl_ramp_model_box *box = bl_check(L, -1, &bl_ramp_model_class, w->fn, "models");
    models[i] = box->model;
    if (i == 0) *ramp = box->ramp;
    lua_pop(L, 1);
  }
  return models;
}

/* pacml(models, steps, most): object; nil, message, code. steps: of training that a job takes;
 * most: greatest number of pieces that a decision may ask for. */
static int pacml(lua_State *L) {
  static const bl_where w = { "berth.pacml.env", NULL, 0 };
  berth_ramp *ramp = NULL;
  lua_settop(L, 3);
  int32_t steps = (int32_t)bl_to_whole(L, 2, &w, "steps", 1, INT32_MAX);
  int32_t most = (int32_t)bl_to_whole(L, 3, &w, "most", 1, 1024);
  int32_t n;
  berth_ramp_model **models = read_models(L, &w, &n, &ramp);
  bl_pacml_box *box = bl_new(L, &bl_pacml_class, sizeof *box);
  box->models = n;
  berth_status st = berth_pacml_new(ramp, n, models, steps, most, &box->pacml);
  return st == BERTH_OK ? 1 : bl_refused(L, w.fn, st);
}

BL_GETTER(most_of, lua_pushinteger, berth_pacml_most(self(L, "pacml.most")->pacml))

/* pacml.sequential: [models] s of a job on one server. */
static int sequential_of(lua_State *L) {
  const bl_pacml_box *box = self(L, "pacml.sequential");
  lua_createtable(L, box->models, 0);
  for (int32_t i = 0; i < box->models; i++) {
    lua_pushnumber(L, berth_pacml_sequential(box->pacml, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

BL_GETTER(models_of, lua_pushinteger, self(L, "#")->models)

/* Numbers are cast to int, since lua_pushfstring knows no int32_t. */
static int to_string(lua_State *L) {
  const bl_pacml_box *box = self(L, "tostring");
  lua_pushfstring(L, "pacml: %d models, at most %d pieces", (int)box->models,
                  (int)berth_pacml_most(box->pacml));
  return 1;
}

/* ---- runs ---- */

/* A run holds its environment: the box of that may be collected first, as a collector finalises in
 * any order. */
static void release_run(void *box) {
  bl_pacml_run_box *b = box;
  berth_pacml_run_release(b->run);
  berth_pacml_release(b->pacml);
}

static bl_pacml_run_box *self_run(lua_State *L, const char *fn) {
  return bl_self(L, &bl_pacml_run_class, fn);
}

/* pacml:run(trace): run; nil, message, code. The core copies the jobs; the anchor keeps the
 * caller's table. */
static int run(lua_State *L) {
  BL_WHERE(w, "pacml:run");
  bl_pacml_box *env = self(L, w.fn);
  lua_settop(L, 2);
  int32_t n;
  berth_pacml_job *jobs = bl_to_trace(L, 2, &w, env->models, &n);
  bl_pacml_run_box *box = bl_new(L, &bl_pacml_run_class, sizeof *box);
  int at = lua_gettop(L);
  berth_status st;
  if ((st = berth_pacml_run_new(env->pacml, n, jobs, &box->run)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  berth_pacml_retain(box->pacml = env->pacml);
  box->n = n;
  box->models = env->models;
  box->servers = berth_cluster_machines(berth_pacml_run_cluster(box->run));
  compat_getanchor(L, at);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "trace");
  lua_pushvalue(L, at);
  return 1;
}

/* Of the job that is to be decided; NaN and BERTH_NONE: none is left. The fields below make nil of
 * them, so that a script can read them after the last decision. */
static berth_job job_of(const bl_pacml_run_box *b) {
  berth_job job = { NAN, NAN, NAN, BERTH_NONE };
  if (berth_pacml_run_job(b->run) != BERTH_NONE)
    berth_cluster_job(berth_pacml_run_cluster(b->run), berth_pacml_run_job(b->run), &job);
  return job;
}

BL_GETTER(done, lua_pushboolean,
          berth_pacml_run_job(self_run(L, "pacml run.done")->run) == BERTH_NONE)
/* run.job: id of the job to be decided; nil: none is left. */
static int job(lua_State *L) {
  bl_push_id(L, berth_pacml_run_job(self_run(L, "pacml run.job")->run));
  return 1;
}
/* run.model: id of its model: the cluster keeps it as the job's kind. */
static int model(lua_State *L) {
  bl_push_id(L, job_of(self_run(L, "pacml run.model")).kind);
  return 1;
}
/* run.beta: share of its sequential time that it may take. The cluster keeps the product, work
 * times beta, as the job's deadline. */
static int beta(lua_State *L) {
  berth_job j = job_of(self_run(L, "pacml run.beta"));
  return bl_push_or_nil(L, j.work > 0 ? j.deadline / j.work : NAN);
}
BL_GETTER(now, lua_pushnumber,
          berth_cluster_now(berth_pacml_run_cluster(self_run(L, "pacml run.now")->run)))
/* run.deadline: s that it may take from its arrival on. */
static int deadline(lua_State *L) {
  return bl_push_or_nil(L, job_of(self_run(L, "pacml run.deadline")).deadline);
}
/* run.sequential: s that it takes on one server. */
static int sequential(lua_State *L) {
  return bl_push_or_nil(L, job_of(self_run(L, "pacml run.sequential")).work);
}
BL_GETTER(servers, lua_pushinteger, self_run(L, "pacml run.servers")->servers)
/* run.free: servers without a job; the run marks the others. */
static int n_free(lua_State *L) {
  const bl_pacml_run_box *b = self_run(L, "pacml run.free");
  const uint8_t *marks = berth_pacml_run_busy(b->run);
  int32_t n = 0;
  for (int32_t s = 0; s < b->servers; s++) n += !marks[s];
  lua_pushinteger(L, n);
  return 1;
}
BL_GETTER(running, lua_pushinteger,
          berth_cluster_running(
              berth_pacml_run_cluster(self_run(L, "pacml run.running")->run), 0,
              NULL))

/* [-0, +1] Array of 0 and 1, not of booleans: networks take numbers. */
static void push_marks(lua_State *L, int32_t n, const uint8_t *marks) {
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_pushinteger(L, marks[i] != 0);
    lua_rawseti(L, -2, i + 1);
  }
}

/* pacml run:busy(): [servers] 1: has a job, 0: is free. */
static int busy(lua_State *L) {
  const bl_pacml_run_box *b = self_run(L, "pacml run:busy");
  push_marks(L, b->servers, berth_pacml_run_busy(b->run));
  return 1;
}

/* pacml run:free_at(): [servers] when each will be free, s. */
static int free_at(lua_State *L) {
  const bl_pacml_run_box *b = self_run(L, "pacml run:free_at");
  bl_push_numbers(L, b->servers, berth_pacml_run_free_at(b->run));
  return 1;
}

/* pacml run:finishing(): times at which running jobs end, in order, s; how many servers each has.
 * At most one job per server, which bounds the scratch. */
static int finishing(lua_State *L) {
  const bl_pacml_run_box *b = self_run(L, "pacml run:finishing");
  const berth_cluster *c = berth_pacml_run_cluster(b->run);
  int32_t *jobs = bl_scratch(L, (size_t)b->servers, sizeof *jobs),
          n = berth_cluster_running(c, b->servers, jobs);
  lua_createtable(L, n, 0);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_pushnumber(L, berth_cluster_end_of(c, jobs[i]));
    lua_rawseti(L, -3, i + 1);
    lua_pushinteger(L, berth_cluster_places(c, jobs[i], 0, NULL, NULL));
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

/* ---- decisions ---- */

/* [-0, +0] 1 for "exact", 0 for "paper", which is the default; else raises. */
static int to_mask(lua_State *L) {
  BL_WHERE(w, "pacml run:mask");
  const char *name = lua_isnoneornil(L, 2) ? "paper" : bl_to_text(L, 2, &w, "which");
  if (strcmp(name, "exact") == 0) return 1;
  if (strcmp(name, "paper") != 0)
    bl_wrong(L, &w, "which", "expected \"paper\" or \"exact\", got \"%s\"", name);
  return 0;
}

/* pacml run:mask("paper" | "exact"): array of 0 and 1, at decision + 1: decision 0, to refuse, is
 * at position 1. "exact" leaves only those of the paper's that would be accepted. */
static int mask(lua_State *L) {
  bl_pacml_run_box *b = self_run(L, "pacml run:mask");
  int which = to_mask(L);
  int32_t n = berth_pacml_most(b->pacml) + 1;
  uint8_t *marks = bl_scratch(L, (size_t)n, sizeof *marks);
  berth_status st =
      which == 0 ? berth_pacml_mask(b->run, marks) : berth_pacml_accepted(b->run, marks);
  if (st != BERTH_OK) return bl_refused(L, "pacml run:mask", st);
  push_marks(L, n, marks);
  return 1;
}

/* [-0, +0] The decision at 2: a number of pieces, no id, so that it is not shifted. 0 refuses the
 * job. */
static int32_t to_decision(lua_State *L, const bl_pacml_run_box *b, const bl_where *w) {
  return (int32_t)bl_to_whole(L, 2, w, "decision", 0, berth_pacml_most(b->pacml));
}

/* [-0, +1] or [-0, +0] The block at 3, 0-based, in scratch; n 0: none, the first that fits. An
 * empty array raises: it would mean the same as nil without saying so. */
static const int32_t *to_block(lua_State *L, const bl_pacml_run_box *b, const bl_where *w,
                               int32_t *n) {
  *n = 0;
  if (lua_isnoneornil(L, 3)) return NULL;
  *n = bl_to_length(L, 3, w, "block");
  if (*n == 0) bl_wrong(L, w, "block", "is empty");
  return bl_to_ids(L, 3, w, "block", *n, b->servers, "server");
}

/* pacml run:look(decision, block): completion time in s, ids of servers, cause; nil, cause if the
 * job cannot be placed or the decision is 0. The run stays as it is. */
static int look(lua_State *L) {
  BL_WHERE(w, "pacml run:look");
  bl_pacml_run_box *b = self_run(L, w.fn);
  int32_t n, d = to_decision(L, b, &w);
  const int32_t *block = to_block(L, b, &w, &n);
  int32_t *list = bl_scratch(L, (size_t)b->servers, sizeof *list);
  berth_pacml_outcome o;
  berth_status st = berth_pacml_look_on(b->run, d, n, block, &o, list);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  if (isnan(o.jct)) {
    lua_pushnil(L);
    lua_pushstring(L, berth_pacml_cause_name(o.cause));
    return 2;
  }
  lua_pushnumber(L, o.jct);
  bl_push_ids(L, o.n_servers, list);
  lua_pushstring(L, berth_pacml_cause_name(o.cause));
  return 3;
}

/* pacml run:decide(decision, block): whether the job was accepted; cause. A job that is not
 * accepted is no failure: nil, message, code comes of what the core cannot do. Goes on to the next
 * arrival, except within run:play, which does that itself. */
static int decide(lua_State *L) {
  BL_WHERE(w, "pacml run:decide");
  bl_pacml_run_box *b = self_run(L, w.fn);
  int32_t n, d = to_decision(L, b, &w);
  const int32_t *block = to_block(L, b, &w, &n);
  berth_pacml_outcome o;
  berth_status st = berth_pacml_decide_on(b->run, d, n, block, &o);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushboolean(L, o.cause == BERTH_PACML_ACCEPTED);
  lua_pushstring(L, berth_pacml_cause_name(o.cause));
  return 2;
}

/* What the core calls from within play(): passes the event on to the functions of cluster.h. */
static berth_status on_arrival(void *ud, berth_pacml_run *r, int32_t number) {
  (void)r;
  return bl_call_event(ud, BERTH_CLUSTER_ARRIVAL, number);
}
static berth_status on_end(void *ud, berth_pacml_run *r, int32_t number) {
  (void)r;
  return bl_call_event(ud, BERTH_CLUSTER_END_OF_JOB, number);
}

/* pacml run:play { arrival = f(job), finish = f(job) }: true. The functions stay on the stack until
 * the core has returned. An error of theirs is raised again by bl_failed; a run that they close
 * lingers until play returns. */
static int play(lua_State *L) {
  static const char *const names[] = { "arrival", "finish", NULL };
  static const bl_where w = { "pacml run:play", NULL, 0 };
  berth_pacml_run *r = self_run(L, w.fn)->run;
  bl_events e;
  berth_pacml_decider decider = { on_arrival, on_end, &e };
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w.fn);
  if (!lua_istable(L, 2))
    bl_wrong(L, &w, "decider", "expected a table of functions, got %s", bl_kind(L, 2));
  e = bl_read_events(L, 2, &w, names);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_pacml_run_play(r, &decider));
  return st == BERTH_OK ? bl_done(L, st) : bl_refused(L, w.fn, st);
}

/* pacml run:result(job): { decision, cause, jct, pieces, servers, channels }; jct in s, counts. Of
 * a job that was not placed only the first two. */
static int result(lua_State *L) {
  BL_WHERE(w, "pacml run:result");
  bl_pacml_run_box *b = self_run(L, w.fn);
  int32_t d;
  berth_pacml_outcome o;
  berth_status st = berth_pacml_result(b->run, bl_to_id(L, 2, &w, "job", b->n, "job"), &d, &o);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 6);
  bl_set_count(L, "decision", d);
  bl_set_string(L, "cause", berth_pacml_cause_name(o.cause));
  if (isnan(o.jct)) return 1;
  bl_set_number(L, "jct", o.jct);
  bl_set_count(L, "pieces", o.pieces);
  bl_set_count(L, "servers", o.n_servers);
  bl_set_count(L, "channels", o.channels);
  return 1;
}

/* How many jobs came to which end. */
static void push_counts(lua_State *L, const berth_pacml_report *o) {
  bl_set_count(L, "arrived", o->arrived);
  bl_set_count(L, "completed", o->completed);
  bl_set_count(L, "blocked", o->blocked);
  bl_set_count(L, "rejected", o->rejected);
  bl_set_count(L, "unplaced", o->unplaced);
  bl_set_count(L, "late", o->late);
  bl_set_count(L, "unfinished", o->unfinished);
}

/* Means over jobs, and rates over the time of the run. */
static void push_means(lua_State *L, const berth_pacml_report *o) {
  const struct { const char *key; double x;
  } list[] = { { "blocking_rate", o->blocking_rate },
               { "acceptance_rate", o->acceptance_rate },
               { "time", o->time },
               { "jct", o->jct },
               { "speedup", o->speedup },
               { "pieces", o->pieces },
               { "servers", o->servers },
               { "channels", o->channels },
               { "compute_fraction", o->compute_fraction },
               { "communication_fraction", o->communication_fraction },
               { "jobs_running", o->jobs_running },
               { "mounted_fraction", o->mounted_fraction },
               { "mounted_utilisation", o->mounted_utilisation },
               { "utilisation", o->utilisation },
               { "published_utilisation", o->published_utilisation },
               { "load_rate", o->load_rate },
               { "throughput", o->throughput },
               { "cluster_throughput", o->cluster_throughput },
               { "compute_throughput", o->compute_throughput },
               { "dep_throughput", o->dep_throughput },
               { "flow_throughput", o->flow_throughput } };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) bl_set_number(L, list[i].key, list[i].x);
}

BL_OPTIONS(pacml_report, BL_ROW("horizon", QUANTITY, "when all is done",
                                "time at which jobs that run count as blocked in compat",
                                .unit = BERTH_SECONDS, .high = INFINITY))

/* pacml run:report { horizon }: table of counts, means and rates (berth/pacml.h). Numbers that are
 * not defined are set as NaN, so that every field is there. */
static int report(lua_State *L) {
  static const bl_where w = { "pacml run:report", NULL, 0 };
  bl_pacml_run_box *b = self_run(L, w.fn);
  double horizon = INFINITY;
  lua_settop(L, 2);
  bl_take_options(L, 2, &w, bl_pacml_report_tables, &horizon);
  berth_pacml_report o;
  berth_status st;
  if ((st = berth_pacml_run_report(b->run, horizon, &o)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 24);
  push_counts(L, &o);
  push_means(L, &o);
  return 1;
}

BL_GETTER(run_jobs, lua_pushinteger, self_run(L, "#")->n)

/* 1-based, as run.job has it. */
static int run_to_string(lua_State *L) {
  const bl_pacml_run_box *b = self_run(L, "tostring");
  int32_t at = berth_pacml_run_job(b->run);
  if (at == BERTH_NONE) lua_pushfstring(L, "pacml run: %d jobs, all decided", (int)b->n);
  else lua_pushfstring(L, "pacml run: job %d of %d is to be decided", (int)at + 1, (int)b->n);
  return 1;
}

static const luaL_Reg methods[] = { { "run", run }, { NULL, NULL } };
static const luaL_Reg fields[] = { { "most", most_of },
                                   { "sequential", sequential_of },
                                   { NULL, NULL } };
const bl_class bl_pacml_class = {
  .name = "pacml", .key = "berth.pacml", .release = release_pacml, .methods = methods,
  .fields = fields, .text = to_string, .length = models_of
};

static const luaL_Reg run_methods[] = { { "busy", busy },           { "free_at", free_at },
                                        { "finishing", finishing }, { "mask", mask },
                                        { "look", look },           { "decide", decide },
                                        { "result", result },       { "report", report },
                                        { "play", play },           { NULL, NULL } };
static const luaL_Reg run_fields[] = { { "done", done },
                                       { "job", job },
                                       { "model", model },
                                       { "beta", beta },
                                       { "now", now },
                                       { "deadline", deadline },
                                       { "sequential", sequential },
                                       { "servers", servers },
                                       { "free", n_free },
                                       { "running", running },
                                       { NULL, NULL } };
const bl_class bl_pacml_run_class = {
  .name = "pacml run", .key = "berth.pacml_run", .release = release_run, .methods = run_methods,
  .fields = run_fields, .text = run_to_string, .length = run_jobs
};

const luaL_Reg bl_pacml_functions[] = { { "pacml", pacml }, { NULL, NULL } };
