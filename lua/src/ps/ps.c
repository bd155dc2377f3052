/* Type "ps": training jobs of workers and parameter servers, and the cluster that they arrive at.
 * Demands are [resources], capacities [machines * resources], row by row. The table of number
 * fields serves reading and job() alike. */
#include "ps.h"
#include <math.h>

BL_RELEASE(release, berth_ps_release)
berth_ps *bl_check_ps(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_ps_box *)bl_check(L, i, &bl_ps_class, fn, what))->ps;
}
BL_SELF(self, berth_ps, bl_ps_class)

/* ---- reading ---- */

typedef struct number_field {
  const char *key;
  size_t offset;
  bool needed;
} number_field;

static const number_field fields_of_jobs[] = {
  { "epochs", offsetof(berth_ps_job, epochs), true },
  { "samples", offsetof(berth_ps_job, samples), true },
  { "tau", offsetof(berth_ps_job, tau), true },
  { "bytes", offsetof(berth_ps_job, bytes), true },
  { "ratio", offsetof(berth_ps_job, ratio), true },
  { "inside", offsetof(berth_ps_job, inside), true },
  { "across", offsetof(berth_ps_job, across), true },
  { "rack", offsetof(berth_ps_job, rack), false },
  { "importance", offsetof(berth_ps_job, importance), true },
  { "urgency", offsetof(berth_ps_job, urgency), true },
  { "target", offsetof(berth_ps_job, target), true },
  { "moving", offsetof(berth_ps_job, moving), false },
};

/* [-0, +2] Amounts of one worker or server by resource, copied to `out`: read_jobs drops the
 * scratch with each entry. */
static void read_demand(lua_State *L, int t, const bl_where *w, const char *key, int32_t resources,
                        double *out) {
  int32_t n;
  bl_need(L, bl_get_array(L, t, w, key, &n), w, key);
  const double *x = bl_to_numbers(L, lua_gettop(L), w, key, resources, "resource");
  for (int32_t r = 0; r < resources; r++) out[r] = x[r];
}

/* [-0, +n] The numbers of a job are read by their offsets, so that problem:job returns the same
 * fields. What is needed and missing raises with its key; the core checks the ranges. */
static void read_job(lua_State *L, int t, const bl_where *w, const berth_ps_options *o,
                     berth_ps_job *job) {
  *job = (berth_ps_job){ 0 };
  bl_need(L, bl_get_whole(L, t, w, "arrival", 0, INT32_MAX, &job->arrival), w, "arrival");
  bl_need(L, bl_get_whole(L, t, w, "batch", 1, INT32_MAX, &job->batch), w, "batch");
  for (size_t k = 0; k < sizeof fields_of_jobs / sizeof *fields_of_jobs; k++) {
    const number_field *f = &fields_of_jobs[k];
    bool given = bl_get_number(L, t, w, f->key, (double *)((char *)job + f->offset));
    bl_need(L, given || !f->needed, w, f->key);
  }
  read_demand(L, t, w, "worker", o->resources, job->worker);
  read_demand(L, t, w, "server", o->resources, job->server);
}

/* [-0, +1] The scratch stays at the top. */
static berth_ps_job *read_jobs(lua_State *L, int i, const bl_where *w, const berth_ps_options *o,
                               int32_t *n) {
  *n = bl_to_length(L, i, w, "jobs");
  berth_ps_job *jobs = bl_scratch(L, (size_t)*n, sizeof *jobs);
  for (int32_t j = 0; j < *n; j++) {
    bl_where item = { w->fn, "jobs", 0 };
    int t = bl_to_entry(L, i, &item, j, NULL);
    read_job(L, t, &item, o, &jobs[j]);
    lua_settop(L, t - 1);
  }
  return jobs;
}

/* [-0, +2] [machines] rack of each, from 1 in Lua, any whole numbers; NULL: no racks. */
static int32_t *read_racks(lua_State *L, int t, const bl_where *w, int32_t machines) {
  if (!bl_get_sized(L, t, w, "rack", machines, "machine")) return NULL;
  int32_t *rack = bl_to_wholes(L, -1, w, "rack", machines, 1);
  for (int32_t m = 0; m < machines; m++) rack[m]--;
  return rack;
}

const bl_table bl_ps_tables[] = { berth_ps_option_table, NULL };

/* [-0, +n] Sizes first: they say how many numbers `capacity`, machine-major, and `rack` must
 * have. */
static berth_ps_options read_options(lua_State *L, int i, const bl_where *w) {
  berth_ps_options o = berth_ps_default(0, 0, 0, NULL);
  int t = bl_take_options(L, i, w, bl_ps_tables, &o);
  bl_need(L, o.machines != 0, w, "machines");
  bl_need(L, o.resources != 0, w, "resources");
  bl_need(L, o.slots != 0, w, "slots");
  o.rack = read_racks(L, t, w, o.machines);
  int32_t n;
  bl_need(L, bl_get_array(L, t, w, "capacity", &n), w, "capacity");
  o.capacity = bl_to_numbers(L, lua_gettop(L), w, "capacity", o.machines * o.resources,
                             "machine and resource");
  return o;
}

/* ps(jobs, { machines, resources, slots, capacity = [machines * resources], rack = [machines],
 * slot_seconds, comm }): object */
static int ps(lua_State *L) {
  BL_WHERE(w, "berth.pdors.problem");
  lua_settop(L, 2);
  luaL_checkstack(L, 40, w.fn);
  bl_need_table(L, 2, &w, "cluster");
  berth_ps_options o = read_options(L, 2, &w);
  int32_t n;
  berth_ps_job *jobs = read_jobs(L, 1, &w, &o, &n);
  bl_ps_box *box = bl_new(L, &bl_ps_class, sizeof *box);
  berth_status st = berth_ps_new(bl_ctx(L), &o, n, jobs, &box->ps);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* ---- places ---- */

int32_t bl_to_ps_job(lua_State *L, int i, const bl_where *w, const berth_ps *p) {
  return bl_to_id(L, i, w, "job", berth_ps_jobs(p), "job");
}

/* [-0, +0] Entry k of a place: a number of workers or servers. */
static int32_t count_at(lua_State *L, int t, const bl_where *w, int k, const char *what) {
  lua_rawgeti(L, t, k);
  int32_t n = (int32_t)bl_to_whole(L, -1, w, what, 0, INT32_MAX);
  lua_pop(L, 1);
  return n;
}

/* [-0, +1] Array of { machine, workers, servers }. */
berth_ps_place *bl_to_places(lua_State *L, int i, const bl_where *w, const berth_ps *p,
                             int32_t *n) {
  int32_t machines = berth_ps_options_of(p)->machines;
  *n = bl_to_length(L, i, w, "places");
  berth_ps_place *out = bl_scratch(L, (size_t)*n, sizeof *out);
  for (int32_t k = 0; k < *n; k++) {
    bl_where item = { w->fn, "places", (int)k + 1 };
    int t = lua_gettop(L) + 1;
    lua_rawgeti(L, i, k + 1);
    if (!lua_istable(L, t))
      bl_wrong(L, &item, NULL, "expected { machine, workers, servers }, got %s", bl_kind(L, t));
    lua_rawgeti(L, t, 1);
    out[k].machine = bl_to_id(L, -1, &item, "machine", machines, "machine");
    lua_pop(L, 1);
    out[k].workers = count_at(L, t, &item, 2, "workers");
    out[k].servers = count_at(L, t, &item, 3, "servers");
    lua_settop(L, t - 1);
  }
  return out;
}

/* [-0, +1] The inverse of bl_to_places. */
void bl_push_places(lua_State *L, int32_t n, const berth_ps_place *place) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 3, 0);
    bl_push_id(L, place[k].machine);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, place[k].workers);
    lua_rawseti(L, -2, 2);
    lua_pushinteger(L, place[k].servers);
    lua_rawseti(L, -2, 3);
    lua_rawseti(L, -2, k + 1);
  }
}

void bl_push_amounts(lua_State *L, const berth_ps *p, const double *x) {
  const berth_ps_options *o = berth_ps_options_of(p);
  bl_push_rows(L, o->machines, o->resources, x);
}

/* ---- what is ---- */

/* problem:job(id): the fields that berth.pdors.problem read, so that it is a legal job again. */
static int job(lua_State *L) {
  BL_WHERE(w, "problem:job");
  const berth_ps *p = self(L, w.fn);
  const berth_ps_job *j = berth_ps_job_at(p, bl_to_ps_job(L, 2, &w, p));
  int32_t resources = berth_ps_options_of(p)->resources;
  lua_createtable(L, 0, 17);
  bl_set_count(L, "arrival", j->arrival);
  bl_set_count(L, "batch", j->batch);
  for (size_t k = 0; k < sizeof fields_of_jobs / sizeof *fields_of_jobs; k++)
    bl_set_number(L, fields_of_jobs[k].key,
                  *(const double *)((const char *)j + fields_of_jobs[k].offset));
  bl_set_numbers(L, "worker", resources, j->worker);
  bl_set_numbers(L, "server", resources, j->server);
  return 1;
}

/* problem:speed(job, places): samples per slot with these workers and servers. */
static int speed(lua_State *L) {
  BL_WHERE(w, "problem:speed");
  berth_ps *p = self(L, w.fn);
  int32_t id = bl_to_ps_job(L, 2, &w, p), n;
  const berth_ps_place *places = bl_to_places(L, 3, &w, p, &n);
  lua_pushnumber(L, berth_ps_speed(p, id, n, places));
  return 1;
}

/* problem:utility(job, slots): what the job is worth if it takes so many slots from arrival to
 * end. */
static int utility(lua_State *L) {
  BL_WHERE(w, "problem:utility");
  berth_ps *p = self(L, w.fn);
  lua_pushnumber(L, berth_ps_utility(berth_ps_job_at(p, bl_to_ps_job(L, 2, &w, p)),
                                     bl_to_number(L, 3, &w, "slots")));
  return 1;
}

/* worker_slots(job, bandwidth): of one sample */
static int worker_slots(lua_State *L) {
  BL_WHERE(w, "problem:worker_slots");
  berth_ps *p = self(L, w.fn);
  double bandwidth = bl_to_number(L, 3, &w, "bandwidth");
  if (!(bandwidth > 0)) bl_wrong(L, &w, "bandwidth", "expected a number above 0");
  lua_pushnumber(L,
                 berth_ps_worker_slots(berth_ps_job_at(p, bl_to_ps_job(L, 2, &w, p)), bandwidth));
  return 1;
}

/* problem:capacity(): [machines] arrays of [resources]. */
static int capacity(lua_State *L) {
  const berth_ps *p = self(L, "problem:capacity");
  bl_push_amounts(L, p, berth_ps_options_of(p)->capacity);
  return 1;
}

BL_GETTER(machines_of, lua_pushinteger, berth_ps_options_of(self(L, "problem.machines"))->machines)
BL_GETTER(resources_of, lua_pushinteger,
          berth_ps_options_of(self(L, "problem.resources"))->resources)
BL_GETTER(slots_of, lua_pushinteger, berth_ps_options_of(self(L, "problem.slots"))->slots)
BL_GETTER(slot_seconds_of, lua_pushnumber,
          berth_ps_options_of(self(L, "problem.slot_seconds"))->slot_seconds)
BL_GETTER(comm_of, lua_pushstring,
          bl_choice_name(berth_ps_option_table(), "comm",
                         berth_ps_options_of(self(L, "problem.comm"))->comm))
BL_GETTER(jobs_of, lua_pushinteger, berth_ps_jobs(self(L, "#")))

static int to_string(lua_State *L) {
  const berth_ps *p = self(L, "tostring");
  const berth_ps_options *o = berth_ps_options_of(p);
  lua_pushfstring(L, "problem: %d jobs, %d machines, %d slots", (int)berth_ps_jobs(p),
                  (int)o->machines, (int)o->slots);
  return 1;
}

static const luaL_Reg methods[] = { { "job", job },           { "speed", speed },
                                    { "utility", utility },   { "worker_slots", worker_slots },
                                    { "capacity", capacity }, { NULL, NULL } };
static const luaL_Reg fields[] = { { "machines", machines_of }, { "resources", resources_of },
                                   { "slots", slots_of },       { "slot_seconds", slot_seconds_of },
                                   { "comm", comm_of },         { NULL, NULL } };
const bl_class bl_ps_class = {
  .name = "problem", .key = "berth.problem", .release = release, .methods = methods,
  .fields = fields, .text = to_string, .length = jobs_of
};

const luaL_Reg bl_ps_functions[] = { { "ps", ps }, { NULL, NULL } };
