/* Type "cluster": jobs on machines, event by event. Jobs come as columns (arrival, work, deadline),
 * [jobs] each; amounts as numbers where there is one resource, else as an array per machine.
 * Decisions return true; what does not fit returns nil, message, code; other mistakes raise. */
#include "cluster.h"
#include <math.h>
#include <string.h>

BL_RELEASE(release, berth_cluster_release)
berth_cluster *bl_check_cluster(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_cluster_box *)bl_check(L, i, &bl_cluster_class, fn, what))->cluster;
}
BL_SELF(self, berth_cluster, bl_cluster_class)

/* ---- making one ---- */

/* [-0, +n] Column `key` of the jobs at t, into jobs by the offset of the field. The first column
 * (*n -1) makes the array, in scratch, with the defaults of the others. */
static void read_column(lua_State *L, int t, const bl_where *w, const char *key, int32_t *n,
                        size_t offset, berth_job **jobs) {
  static const berth_job plain = { 0, 0, INFINITY, 0 };
  lua_getfield(L, t, key);
  int at = lua_gettop(L);
  int32_t found = bl_to_length(L, at, w, key);
  if (*n < 0) {
    *jobs = bl_scratch(L, (size_t)found, sizeof **jobs);
    for (int32_t j = 0; j < found; j++) (*jobs)[j] = plain;
    *n = found;
  }
  if (found != *n)
    bl_wrong(L, w, key, "has %d entries, expected %d (one per job)", (int)found, (int)*n);
  for (int32_t j = 0; j < found; j++) {
    bl_where item = { w->fn, key, (int)j + 1 };
    lua_rawgeti(L, at, j + 1);
    double x = bl_to_number(L, -1, &item, NULL);
    memcpy((char *)(*jobs + j) + offset, &x, sizeof x);
    lua_pop(L, 1);
  }
}

/* [-0, +n] [jobs] from columns; *n: how many. deadline may be left out: none. */
static berth_job *read_jobs(lua_State *L, int t, const bl_where *w, int32_t *n) {
  berth_job *jobs = NULL;
  *n = -1;
  read_column(L, t, w, "arrival", n, offsetof(berth_job, arrival), &jobs);
  read_column(L, t, w, "work", n, offsetof(berth_job, work), &jobs);
  lua_getfield(L, t, "deadline");
  if (!lua_isnil(L, -1)) read_column(L, t, w, "deadline", n, offsetof(berth_job, deadline), &jobs);
  return jobs;
}

const bl_table bl_cluster_tables[] = { berth_cluster_option_table, NULL };

/* cluster({ arrival, work, deadline }, { machines, capacity = [machines * resources], horizon,
 * slot, slack }, resources): object */
static int cluster(lua_State *L) {
  BL_WHERE(w, "berth.cluster.new");
  berth_cluster_options o = berth_cluster_default(0);
  lua_settop(L, 3);
  int t;
  if (!(t = bl_option_table(L, 2, &w, bl_cluster_tables)))
    bl_wrong(L, &w, "options", "expected a table, got nil");
  bl_read_options(L, t, &w, berth_cluster_option_table(), &o);
  if (o.machines == 0) bl_wrong(L, &w, "machines", "is missing");
  if (!lua_isnil(L, 3)) o.resources = (int32_t)bl_to_whole(L, 3, &w, "resources", 1, 1024);
  int32_t cells;
  if (bl_get_array(L, t, &w, "capacity", &cells))
    o.capacity = bl_to_numbers(L, lua_gettop(L), &w, "capacity", o.machines * o.resources,
                               "machine and resource");
  int32_t n;
  berth_job *jobs = read_jobs(L, 1, &w, &n);
  bl_cluster_box *box = bl_new(L, &bl_cluster_class, sizeof *box);
  berth_status st = berth_cluster_new(bl_ctx(L), &o, n, jobs, &box->cluster);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* ---- events ---- */

/* cluster:next(): "finish" | "wake" | "slot" | "arrival" | "over", time in s, id of the job or nil.
 * Names are in the order of berth_cluster_event_kind. */
static int next(lua_State *L) {
  static const char *const names[] = { "finish", "wake", "slot", "arrival", "over" };
  berth_cluster *c = self(L, "cluster:next");
  berth_cluster_event e;
  berth_status st = berth_cluster_next(c, &e);
  if (st != BERTH_OK) return bl_refused(L, "cluster:next", st);
  lua_pushstring(L, names[e.kind]);
  lua_pushnumber(L, e.time);
  bl_push_id(L, e.job);
  return 3;
}

/* upcoming(): s; inf: nothing more */
BL_GETTER(upcoming, lua_pushnumber, berth_cluster_upcoming(self(L, "cluster:upcoming")))

/* ---- decisions ---- */

static int32_t to_job(lua_State *L, const berth_cluster *c, const bl_where *w) {
  return bl_to_id(L, 2, w, "job", berth_cluster_jobs(c), "job");
}

/* [-0, +n] Amounts at i, machine-major: an array per machine, or a number each if there is one
 * resource; a flat array of all is legal, too. NULL: all that the machines have. */
static const double *to_amounts(lua_State *L, int i, const berth_cluster *c, const bl_where *w,
                                int32_t n) {
  int32_t resources = berth_cluster_resources(c);
  if (lua_isnoneornil(L, i)) return NULL;
  int32_t found = bl_to_length(L, i, w, "amounts");
  lua_rawgeti(L, i, 1);
  if (!lua_istable(L, -1))
    return bl_to_numbers(L, i, w, "amounts", n * resources, "machine and resource");
  if (found != n) bl_wrong(L, w, "amounts", "expected %d entries (one per machine)", (int)n);
  return bl_to_rows(L, i, w, "amounts", n, resources, "resource");
}

/* true; what does not fit: nil, message, code; other mistakes are raised */
static int decided(lua_State *L, const char *fn, berth_status st) {
  return st == BERTH_OK ? bl_done(L, st) : bl_refused(L, fn, st);
}

BL_OPTIONS(cluster_start,
  BL_OTHER("amounts", "array", "all that the machines have", "held of each machine, by resource"),
  BL_ROW("rate", NUMBER, "1", "work that is done per s"))

/* start(job, machines, { amounts, rate = 1 }): true */
static int start(lua_State *L) {
  static const bl_where w = { "cluster:start", NULL, 0 };
  berth_cluster *c = self(L, w.fn);
  const double *amounts = NULL;
  double rate = 1;
  lua_settop(L, 4);
  int32_t job = to_job(L, c, &w);
  int32_t n = bl_to_length(L, 3, &w, "machines");
  const int32_t *machines =
      bl_to_ids(L, 3, &w, "machines", n, berth_cluster_machines(c), "machine");
  int t;
  if ((t = bl_option_table(L, 4, &w, bl_cluster_start_tables))) {
    bl_get_number(L, t, &w, "rate", &rate);
    lua_getfield(L, t, "amounts");
    amounts = to_amounts(L, lua_gettop(L), c, &w, n);
  }
  return decided(L, w.fn, berth_cluster_start(c, job, n, machines, amounts, rate));
}

/* cluster:set_rate(job, rate): true; work that is done per s from now on. */
static int set_rate(lua_State *L) {
  BL_WHERE(w, "cluster:set_rate");
  berth_cluster *c = self(L, w.fn);
  return decided(L, w.fn,
                 berth_cluster_set_rate(c, to_job(L, c, &w), bl_to_number(L, 3, &w, "rate")));
}

/* pause(job): it waits again, with the work that is left */
static int pause_job(lua_State *L) {
  BL_WHERE(w, "cluster:pause");
  berth_cluster *c = self(L, w.fn);
  return decided(L, w.fn, berth_cluster_pause(c, to_job(L, c, &w)));
}

/* cluster:refuse(job, cause = 0): true. The cause is a whole number of the scheduler's own, which
 * cluster:record returns. */
static int refuse(lua_State *L) {
  BL_WHERE(w, "cluster:refuse");
  berth_cluster *c = self(L, w.fn);
  double cause = bl_opt_whole(L, 3, &w, "cause", 0, INT32_MIN, INT32_MAX);
  return decided(L, w.fn, berth_cluster_refuse(c, to_job(L, c, &w), (int32_t)cause));
}

/* cluster:wake(time or nil): true. An event "wake" comes at that time, s; nil: none. */
static int wake(lua_State *L) {
  BL_WHERE(w, "cluster:wake");
  berth_cluster *c = self(L, w.fn);
  double time = lua_isnoneornil(L, 2) ? INFINITY : bl_to_number(L, 2, &w, "time");
  return decided(L, w.fn, berth_cluster_wake(c, time));
}

/* stop(): it is over now */
static int stop(lua_State *L) {
  berth_cluster_stop(self(L, "cluster:stop"));
  return 0;
}

/* ---- what is ---- */

/* cluster:job(id): { arrival, work, deadline }, s; deadline is left out where there is none. */
static int job(lua_State *L) {
  BL_WHERE(w, "cluster:job");
  berth_cluster *c = self(L, w.fn);
  berth_job j;
  berth_status st = berth_cluster_job(c, to_job(L, c, &w), &j);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 3);
  bl_set_number(L, "arrival", j.arrival);
  bl_set_number(L, "work", j.work);
  bl_set_finite(L, "deadline", j.deadline);
  return 1;
}

/* record(j): { state, start, finish, left, rate, held, ran, pauses, cause, ends } */
static int record(lua_State *L) {
  static const char *const states[] = { "coming", "waiting", "running", "done", "refused" };
  static const bl_where w = { "cluster:record", NULL, 0 };
  berth_cluster *c = self(L, w.fn);
  int32_t id = to_job(L, c, &w);
  berth_job_record r;
  berth_status st = berth_cluster_record(c, id, &r);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 10);
  bl_set_string(L, "state", states[r.state]);
  bl_set_finite(L, "start", r.start);
  bl_set_finite(L, "finish", r.end);
  bl_set_number(L, "left", r.left);
  bl_set_number(L, "rate", r.rate);
  bl_set_number(L, "held", r.held);
  bl_set_number(L, "ran", r.ran);
  bl_set_count(L, "pauses", r.pauses);
  if (r.state == BERTH_JOB_REFUSED) bl_set_count(L, "cause", r.cause);
  if (r.state == BERTH_JOB_RUNNING) bl_set_number(L, "ends", berth_cluster_end_of(c, id));
  return 1;
}

/* Of one resource: a number per machine; else an array per machine. */
static void push_cells(lua_State *L, const berth_cluster *c, int32_t n, const double *x) {
  int32_t resources = berth_cluster_resources(c);
  if (resources == 1) bl_push_numbers(L, n, x);
  else bl_push_rows(L, n, resources, x);
}

/* cluster:free(): amounts that are free now, [machines], or an array per machine of [resources]. */
static int free_amounts(lua_State *L) {
  berth_cluster *c = self(L, "cluster:free");
  push_cells(L, c, berth_cluster_machines(c), berth_cluster_free(c));
  return 1;
}

/* cluster:capacity(): the same of the empty cluster. */
static int capacity(lua_State *L) {
  berth_cluster *c = self(L, "cluster:capacity");
  push_cells(L, c, berth_cluster_machines(c), berth_cluster_capacity(c));
  return 1;
}

/* idle(most): machines without a job, the first `most`; how many there are in all */
static int idle(lua_State *L) {
  BL_WHERE(w, "cluster:idle");
  berth_cluster *c = self(L, w.fn);
  const int32_t *users = berth_cluster_users(c);
  int32_t n = berth_cluster_machines(c), found = 0;
  double most = bl_opt_whole(L, 2, &w, "most", n, 0, INT32_MAX);
  lua_createtable(L, most < n ? (int)most : n, 0);
  for (int32_t m = 0; m < n; m++) {
    if (users[m] > 0) continue;
    if (++found > most) continue;
    bl_push_id(L, m);
    lua_rawseti(L, -2, found);
  }
  lua_pushinteger(L, found);
  return 2;
}

/* waiting(most): jobs that wait, by arrival, the first `most` */
static int waiting(lua_State *L) {
  BL_WHERE(w, "cluster:waiting");
  berth_cluster *c = self(L, w.fn);
  int32_t n = berth_cluster_waiting(c, 0, NULL);
  double most = bl_opt_whole(L, 2, &w, "most", n, 0, INT32_MAX);
  int32_t some = most < n ? (int32_t)most : n;
  int32_t *jobs = bl_scratch(L, (size_t)some, sizeof *jobs);
  berth_cluster_waiting(c, some, jobs);
  bl_push_ids(L, some, jobs);
  return 1;
}

/* running(): jobs in order of their ends; these ends */
static int running(lua_State *L) {
  berth_cluster *c = self(L, "cluster:running");
  int32_t n = berth_cluster_running(c, 0, NULL), *jobs = bl_scratch(L, (size_t)n, sizeof *jobs);
  berth_cluster_running(c, n, jobs);
  bl_push_ids(L, n, jobs);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_pushnumber(L, berth_cluster_end_of(c, jobs[i]));
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

/* cluster:places(job): ids of its machines; amounts, in the form of cluster:free. The core is
 * called twice: for the number, then to fill. */
static int places(lua_State *L) {
  BL_WHERE(w, "cluster:places");
  berth_cluster *c = self(L, w.fn);
  int32_t id = to_job(L, c, &w), n = berth_cluster_places(c, id, 0, NULL, NULL),
          resources = berth_cluster_resources(c);
  int32_t *machines = bl_scratch(L, (size_t)n, sizeof *machines);
  double *amounts = bl_scratch(L, (size_t)n * (size_t)resources, sizeof *amounts);
  berth_cluster_places(c, id, n, machines, amounts);
  bl_push_ids(L, n, machines);
  push_cells(L, c, n, amounts);
  return 2;
}

/* summary(): { time, arrived, done, refused, running, waiting, ... } */
static int summary(lua_State *L) {
  berth_cluster_summary s = berth_cluster_summarise(self(L, "cluster:summary"));
  lua_createtable(L, 0, 9);
  bl_set_number(L, "time", s.time);
  bl_set_count(L, "arrived", s.arrived);
  bl_set_count(L, "done", s.done);
  bl_set_count(L, "refused", s.refused);
  bl_set_count(L, "running", s.running);
  bl_set_count(L, "waiting", s.waiting);
  bl_set_number(L, "running_seconds", s.running_seconds);
  bl_set_number(L, "machine_seconds", s.machine_seconds);
  bl_set_number(L, "share_seconds", s.share_seconds);
  return 1;
}

BL_GETTER(now, lua_pushnumber, berth_cluster_now(self(L, "cluster.now")))
BL_GETTER(machines_of, lua_pushinteger, berth_cluster_machines(self(L, "cluster.machines")))
BL_GETTER(slot_of, lua_pushnumber, berth_cluster_slot(self(L, "cluster.slot")))
BL_GETTER(n_waiting_of, lua_pushinteger,
          berth_cluster_waiting(self(L, "cluster.n_waiting"), 0, NULL))
BL_GETTER(resources_of, lua_pushinteger, berth_cluster_resources(self(L, "cluster.resources")))
BL_GETTER(jobs_of, lua_pushinteger, berth_cluster_jobs(self(L, "#")))

static int to_string(lua_State *L) {
  berth_cluster *c = self(L, "tostring");
  berth_cluster_summary s = berth_cluster_summarise(c);
  char time[40];
  berth_number_text(s.time, 14, time, sizeof time);
  lua_pushfstring(L, "cluster: %d machines, %d jobs at %s s: %d run, %d wait, %d done, %d refused",
                  (int)berth_cluster_machines(c), (int)berth_cluster_jobs(c), time,
                  (int)s.running, (int)s.waiting, (int)s.done, (int)s.refused);
  return 1;
}

static const luaL_Reg methods[] = { { "next", next },
                                    { "upcoming", upcoming },
                                    { "start", start },
                                    { "set_rate", set_rate },
                                    { "pause", pause_job },
                                    { "refuse", refuse },
                                    { "wake", wake },
                                    { "job", job },
                                    { "record", record },
                                    { "waiting", waiting },
                                    { "free", free_amounts },
                                    { "capacity", capacity },
                                    { "idle", idle },
                                    { "running", running },
                                    { "places", places },
                                    { "summary", summary },
                                    { "run", bl_cluster_run },
                                    { "stop", stop },
                                    { NULL, NULL } };
static const luaL_Reg fields[] = {
  { "now", now },      { "machines", machines_of },   { "resources", resources_of },
  { "slot", slot_of }, { "n_waiting", n_waiting_of }, { NULL, NULL }
};
const bl_class bl_cluster_class = {
  .name = "cluster", .key = "berth.cluster", .release = release, .methods = methods,
  .fields = fields, .text = to_string, .length = jobs_of
};

const luaL_Reg bl_cluster_functions[] = { { "cluster", cluster }, { NULL, NULL } };
