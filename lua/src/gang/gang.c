/* Type "gang": a gang scheduler and what has been under it. */
#include "cluster/cluster.h"
#include <math.h>
#include <stdio.h>

static void release(void *box) { berth_gang_release(((bl_gang_box *)box)->gang); }
static berth_gang *self(lua_State *L, const char *fn) { return ((bl_gang_box *)bl_self(L, &bl_gang_class, fn))->gang; }

/* ---- rates in Lua ----------------------------------------------------------------------------- */

typedef struct rating {
  lua_State *L;
  int function;    /* stack index */
  int32_t resources;
  char fault[100];
} rating;

typedef struct question {
  const rating *r;
  int32_t job, n;
  const int32_t *machine;
  const double *amount;
} question;

static void push_amounts(lua_State *L, const question *q) {
  int32_t resources = q->r->resources;
  if (!q->amount) {
    lua_pushnil(L);
  } else if (resources == 1) {
    bl_push_numbers(L, q->n, q->amount);
  } else {
    lua_createtable(L, q->n, 0);
    for (int32_t i = 0; i < q->n; i++) {
      bl_push_numbers(L, resources, q->amount + (size_t)i * (size_t)resources);
      lua_rawseti(L, -2, i + 1);
    }
  }
}

/* Called protected: (function, light userdata of the question) -> rate. */
static int ask(lua_State *L) {
  const question *q = lua_touserdata(L, 2);
  lua_pushvalue(L, 1);
  bl_push_id(L, q->job);
  bl_push_ids(L, q->n, q->machine);
  push_amounts(L, q);
  lua_call(L, 3, 1);
  return 1;
}

static berth_status call_rate(void *ud, int32_t job, int32_t n, const int32_t *machine, const double *amount, double *rate) {
  rating *r = ud;
  lua_State *L = r->L;
  question q = { r, job, n, machine, amount };
  lua_pushcfunction(L, ask);
  lua_pushvalue(L, r->function);
  lua_pushlightuserdata(L, &q);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (lua_type(L, -1) != LUA_TNUMBER) {
    snprintf(r->fault, sizeof r->fault, "rate of job %d: expected a number, got %s", (int)job + 1, bl_kind(L, -1));
    return BERTH_ECALLBACK;
  }
  *rate = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return BERTH_OK;
}

/* ---- options ------------------------------------------------------------------------------------ */

static const char *const rules[] = { "fifo", "fit-first", "backfill", "sjf", "srtf", "srtf-2d", "fewest", "las", "las-2d",
                                     "gittins", "optimus", "pollux", "gavel", NULL };
static const char *const placements[] = { "any", "consolidate", "spread", NULL };

static void read_number(lua_State *L, int t, const bl_where *w, const char *key, double *out) {
  lua_getfield(L, t, key);
  if (!lua_isnil(L, -1)) *out = bl_to_number(L, -1, w, key);
  lua_pop(L, 1);
}

static const double *numbers(lua_State *L, int t, const bl_where *w, const char *key, int32_t *n) {
  if (!bl_get_array(L, t, w, key, n)) return NULL;
  return bl_to_numbers(L, lua_gettop(L), w, key, *n, "number");
}

static int32_t *read_sizes(lua_State *L, int t, const bl_where *w, int32_t n) {
  int32_t found, *size = bl_scratch(L, (size_t)n, sizeof *size);
  int at;
  if (!bl_get_array(L, t, w, "sizes", &found)) bl_wrong(L, w, "sizes", "is missing");
  if (found != n) bl_wrong(L, w, "sizes", "has %d entries, expected %d (one per job)", (int)found, (int)n);
  at = lua_gettop(L);
  for (int32_t j = 0; j < n; j++) {
    bl_where item = { w->fn, "sizes", (int)j + 1 };
    lua_rawgeti(L, at, j + 1);
    size[j] = (int32_t)bl_to_whole(L, -1, &item, NULL, 1, INT32_MAX);
    lua_pop(L, 1);
  }
  return size;
}

static uint8_t *read_flags(lua_State *L, int t, const bl_where *w, int32_t n) {
  int32_t found;
  uint8_t *flag;
  int at;
  if (!bl_get_array(L, t, w, "consolidate", &found)) return NULL;
  if (found != n) bl_wrong(L, w, "consolidate", "has %d entries, expected %d (one per job)", (int)found, (int)n);
  at = lua_gettop(L);
  flag = bl_scratch(L, (size_t)n, sizeof *flag);
  for (int32_t j = 0; j < n; j++) {
    lua_rawgeti(L, at, j + 1);
    flag[j] = (uint8_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return flag;
}

/* speeds = { [jobs] = { work per s on 1, 2, ... GPUs } } */
static void read_speeds(lua_State *L, int t, const bl_where *w, int32_t n, berth_gang_options *o) {
  int32_t found, *first = bl_scratch(L, (size_t)n + 1, sizeof *first);
  double *speed;
  int at;
  if (!bl_get_array(L, t, w, "speeds", &found)) return;
  if (found != n) bl_wrong(L, w, "speeds", "has %d entries, expected %d (one per job)", (int)found, (int)n);
  at = lua_gettop(L);
  first[0] = 0;
  for (int32_t j = 0; j < n; j++) {
    bl_where item = { w->fn, "speeds", (int)j + 1 };
    lua_rawgeti(L, at, j + 1);
    if (!lua_istable(L, -1)) bl_wrong(L, &item, NULL, "expected an array, got %s", bl_kind(L, -1));
    first[j + 1] = first[j] + bl_to_length(L, -1, &item, "speeds");
    lua_pop(L, 1);
  }
  speed = bl_scratch(L, (size_t)first[n], sizeof *speed);
  for (int32_t j = 0; j < n; j++) {
    bl_where item = { w->fn, "speeds", (int)j + 1 };
    lua_rawgeti(L, at, j + 1);
    for (int32_t k = first[j]; k < first[j + 1]; k++) {
      lua_rawgeti(L, -1, k - first[j] + 1);
      speed[k] = bl_to_number(L, -1, &item, NULL);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  o->first = first;
  o->speed = speed;
}

/* types = [machines], n_types, throughputs = [jobs * n_types], priorities = [jobs], goal */
static void read_types(lua_State *L, int t, const bl_where *w, int32_t n, berth_gang_options *o) {
  if (!bl_get_whole(L, t, w, "n_types", 1, 1 << 16, &o->n_types)) return;
  if (!bl_get_array(L, t, w, "types", &o->n_machines)) bl_wrong(L, w, "types", "is missing");
  o->type = bl_to_ids(L, lua_gettop(L), w, "types", o->n_machines, o->n_types, "type");
  lua_getfield(L, t, "throughputs");
  o->throughput = bl_to_numbers(L, lua_gettop(L), w, "throughputs", n * o->n_types, "job and type");
  lua_getfield(L, t, "priorities");
  o->priority = bl_to_numbers(L, lua_gettop(L), w, "priorities", n, "job");
  bl_get_enum(L, t, w, "goal", bl_gavel_goals, &o->goal);
}

static berth_gang_options read_options(lua_State *L, int t, const bl_where *w, int32_t n, rating *r) {
  int rule = 0, placement = 0;
  const double *limit;
  berth_gang_options o;
  bl_get_enum(L, t, w, "rule", rules, &rule);
  o = berth_gang_defaults((berth_gang_rule)rule);
  bl_get_bool(L, t, w, "amounts", &o.amounts);
  bl_get_enum(L, t, w, "placement", placements, &placement);
  o.placement = (berth_gang_placement)placement;
  o.consolidate = read_flags(L, t, w, n);
  if ((limit = numbers(L, t, w, "limits", &o.n_limits))) o.limit = limit;
  bl_get_positive(L, t, w, "promote", &o.promote);
  bl_get_quantity(L, t, w, "tick", BERTH_SECONDS, &o.tick);
  bl_get_bool(L, t, w, "published", &o.published);
  o.history = numbers(L, t, w, "history", &o.n_history);
  bl_get_positive(L, t, w, "quantum", &o.quantum);
  read_speeds(L, t, w, n, &o);
  read_types(L, t, w, n, &o);
  bl_get_quantity(L, t, w, "restart", BERTH_SECONDS, &o.restart);
  read_number(L, t, w, "power", &o.power);
  read_number(L, t, w, "floor", &o.floor);
  if (bl_get_function(L, t, w, "rate")) {
    r->function = lua_gettop(L);
    o.rate = call_rate;
    o.ud = r;
  }
  return o;
}

/* ---- a run ---------------------------------------------------------------------------------------- */

/* The scheduler, made of the options at t, in a box on the stack. */
static bl_gang_box *make(lua_State *L, int t, const bl_where *w, int32_t n, rating *r) {
  const int32_t *size = read_sizes(L, t, w, n);
  berth_gang_options o = read_options(L, t, w, n, r);
  bl_gang_box *box = bl_new(L, &bl_gang_class, sizeof *box);
  berth_status st = berth_gang_new(bl_ctx(L), n, size, &o, &box->gang);
  if (st != BERTH_OK) {
    bl_refused(L, w->fn, st);
    box = NULL;
  }
  return box;
}

static int play(lua_State *L, const bl_where *w, berth_cluster *c, const bl_gang_box *box, const rating *r) {
  berth_scheduler s;
  berth_status st;
  bl_call call;
  if (!box) return 3; /* nil, message, code */
  s = berth_gang_scheduler(box->gang);
  call = bl_enter(L);
  st = bl_leave(&call, berth_cluster_run(c, &s));
  if (*r->fault) bl_error(L, "%s: %s", w->fn, r->fault);
  if (st != BERTH_OK) return bl_refused(L, w->fn, st);
  bl_track(L);
  return 1;
}

/* gang(cluster, { rule, sizes = [jobs], amounts, placement, consolidate = [jobs], limits, promote, tick, published, history,
 * quantum, speeds = [jobs][], restart, power, floor, n_types, types, throughputs, priorities, goal, rate = function(job, machines,
 * amounts) }): the gang, after the cluster has come to its end under it */
static int gang(lua_State *L) {
  static const char *const keys[] = { "rule", "sizes", "amounts", "placement", "consolidate", "limits", "promote", "tick",
                                      "published", "history", "quantum", "speeds", "restart", "power", "floor", "n_types", "types",
                                      "throughputs",
                                      "priorities", "goal", "rate", NULL };
  static const bl_where w = { "berth.cluster.simulate", NULL, 0 };
  rating r = { L, 0, 0, "" };
  berth_cluster *c;
  bl_gang_box *box;
  int t;
  lua_settop(L, 2);
  luaL_checkstack(L, 50, w.fn);
  c = ((bl_cluster_box *)bl_check(L, 1, &bl_cluster_class, w.fn, "cluster"))->cluster;
  if (!(t = bl_options(L, 2, &w, keys))) bl_wrong(L, &w, "options", "expected a table, got nil");
  r.resources = berth_cluster_resources(c);
  box = make(L, t, &w, berth_cluster_jobs(c), &r);
  return play(L, &w, c, box, &r);
}

/* ---- what has been --------------------------------------------------------------------------------- */

/* { job, machines, amounts, start, finish }; amounts of gangs that are amounts */
static void push_run(lua_State *L, const berth_gang *g, const berth_gang_run *run, int amounts) {
  const int32_t *amount, *machine = berth_gang_places(g, &amount);
  lua_createtable(L, 0, 5);
  bl_set_id(L, "job", run->job);
  bl_push_ids(L, run->n, machine + run->first);
  lua_setfield(L, -2, "machines");
  if (amounts) {
    lua_createtable(L, run->n, 0);
    for (int32_t i = 0; i < run->n; i++) {
      lua_pushinteger(L, amount[run->first + i]);
      lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "amounts");
  }
  bl_set_number(L, "start", run->start);
  if (!isnan(run->end)) bl_set_number(L, "finish", run->end);
}

/* runs(amounts): array in order of starts */
static int runs(lua_State *L) {
  berth_gang *g = self(L, "gang:runs");
  int amounts = lua_toboolean(L, 2);
  int32_t n;
  const berth_gang_run *run = berth_gang_runs(g, &n);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    push_run(L, g, &run[i], amounts);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* counts(amounts): array of { time, idle, waiting, and of gangs that are amounts left } */
static int counts(lua_State *L) {
  int32_t n;
  int amounts = lua_toboolean(L, 2);
  const berth_gang_count *count = berth_gang_counts(self(L, "gang:counts"), &n);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    bl_set_number(L, "time", count[i].time);
    bl_set_count(L, "idle", count[i].idle);
    if (amounts) bl_set_count(L, "left", count[i].left);
    bl_set_count(L, "waiting", count[i].waiting);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* bounds(cluster): of the mean job completion time (nil of no jobs), of the makespan; nil, message, code */
static int bounds(lua_State *L) {
  berth_gang *g = self(L, "gang:bounds");
  berth_cluster *c = ((bl_cluster_box *)bl_check(L, 2, &bl_cluster_class, "gang:bounds", "cluster"))->cluster;
  berth_gang_bound b;
  berth_status st = berth_gang_bounds(g, c, &b);
  if (st != BERTH_OK) return bl_refused(L, "gang:bounds", st);
  if (isnan(b.mean_jct)) lua_pushnil(L);
  else lua_pushnumber(L, b.mean_jct);
  lua_pushnumber(L, b.makespan);
  return 2;
}

static int to_string(lua_State *L) {
  int32_t n;
  berth_gang_runs(self(L, "tostring"), &n);
  lua_pushfstring(L, "gang: %d runs", (int)n);
  return 1;
}

static const luaL_Reg methods[] = { { "runs", runs }, { "counts", counts }, { "bounds", bounds }, { NULL, NULL } };
static const luaL_Reg meta[] = { { "__tostring", to_string }, { NULL, NULL } };
const bl_class bl_gang_class = {
  .name = "gang", .key = "berth.gang", .release = release, .methods = methods, .meta = meta
};

const luaL_Reg bl_gang_functions[] = { { "gang", gang }, { NULL, NULL } };
