/* Type "gang": a gang scheduler and what has been under it. */
#include "cluster/cluster.h"
#include <math.h>
#include <stdio.h>

static void release(void *box) { berth_gang_release(((bl_gang_box *)box)->gang); }
static berth_gang *self(lua_State *L, const char *fn) {
  return ((bl_gang_box *)bl_self(L, &bl_gang_class, fn))->gang;
}

/* ---- rates in Lua ---- */

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

static berth_status call_rate(void *ud, int32_t job, int32_t n, const int32_t *machine,
                              const double *amount, double *rate) {
  rating *r = ud;
  lua_State *L = r->L;
  question q = { r, job, n, machine, amount };
  lua_pushcfunction(L, ask);
  lua_pushvalue(L, r->function);
  lua_pushlightuserdata(L, &q);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (lua_type(L, -1) != LUA_TNUMBER) {
    snprintf(r->fault, sizeof r->fault, "rate of job %d: expected a number, got %s", (int)job + 1,
             bl_kind(L, -1));
    return BERTH_ECALLBACK;
  }
  *rate = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return BERTH_OK;
}

/* ---- options ---- */

/* The array at 2. */
static int32_t *read_sizes(lua_State *L, const bl_where *w, int32_t n) {
  int32_t *size = bl_scratch(L, (size_t)n, sizeof *size);
  if (!lua_istable(L, 2)) bl_wrong(L, w, "sizes", "expected an array, got %s", bl_kind(L, 2));
  int32_t found = bl_to_length(L, 2, w, "sizes");
  if (found != n)
    bl_wrong(L, w, "sizes", "has %d entries, expected %d (one per job)", (int)found, (int)n);
  for (int32_t j = 0; j < n; j++) {
    bl_where item = { w->fn, "sizes", (int)j + 1 };
    lua_rawgeti(L, 2, j + 1);
    size[j] = (int32_t)bl_to_whole(L, -1, &item, NULL, 1, INT32_MAX);
    lua_pop(L, 1);
  }
  return size;
}

static uint8_t *read_flags(lua_State *L, int t, const bl_where *w, int32_t n) {
  int32_t found;
  if (!bl_get_array(L, t, w, "consolidate", &found)) return NULL;
  if (found != n)
    bl_wrong(L, w, "consolidate", "has %d entries, expected %d (one per job)", (int)found, (int)n);
  int at = lua_gettop(L);
  uint8_t *flag = bl_scratch(L, (size_t)n, sizeof *flag);
  for (int32_t j = 0; j < n; j++) {
    lua_rawgeti(L, at, j + 1);
    flag[j] = (uint8_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return flag;
}

/* The rule comes first: it says which options there are. */
static berth_gang_options read_options(lua_State *L, int t, const bl_where *w, int32_t n,
                                       rating *r) {
  const berth_option_table *common = berth_gang_option_table();
  berth_gang_options o = berth_gang_default(BERTH_GANG_FIFO);
  int rule = BERTH_GANG_FIFO;
  bl_get_choice(L, t, w, "rule", berth_option_find(common, "rule")->choices, &rule);
  const berth_gang_about *about = berth_gang_describe(rule);
  bl_table tables[] = { berth_gang_option_table, about->options, NULL };
  bl_check_options(L, t, w, tables);
  bl_read_options(L, t, w, common, &o);
  o.consolidate = read_flags(L, t, w, n);
  if (about->options) {
    const berth_option_table *table = about->options();
    void *own = bl_scratch(L, 1, table->size);
    table->defaults(own);
    bl_read_options(L, t, w, table, own);
    o.own = own;
  }
  if (bl_get_function(L, t, w, "rate")) {
    r->function = lua_gettop(L);
    o.rate = call_rate;
    o.ud = r;
  }
  return o;
}

/* ---- a run ---- */

/* The scheduler, made of the options at t, in a box on the stack. */
static bl_gang_box *make(lua_State *L, int t, const bl_where *w, int32_t n, rating *r) {
  const int32_t *size = read_sizes(L, w, n);
  berth_gang_options o = read_options(L, t, w, n, r);
  bl_gang_box *box = bl_new(L, &bl_gang_class, sizeof *box);
  berth_status st = berth_gang_new(bl_ctx(L), n, size, &o, &box->gang);
  if (st != BERTH_OK) {
    bl_refused(L, w->fn, st);
    box = NULL;
  }
  return box;
}

static int play(lua_State *L, const bl_where *w, berth_cluster *c, const bl_gang_box *box,
                const rating *r) {
  if (!box) return 3; /* nil, message, code */
  berth_scheduler s = berth_gang_scheduler(box->gang);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_cluster_run(c, &s));
  if (*r->fault) bl_error(L, "%s: %s", w->fn, r->fault);
  if (st != BERTH_OK) return bl_refused(L, w->fn, st);
  bl_track(L);
  return 1;
}

/* gang(cluster, sizes = [jobs], { rule, amounts, placement, consolidate = [jobs], rate =
 * function(job, machines, amounts), and what the rule has of its own }): the gang, after the
 * cluster has come to its end under it */
static int gang(lua_State *L) {
  static const bl_where w = { "berth.cluster.simulate", NULL, 0 };
  rating r = { L, 0, 0, "" };
  lua_settop(L, 3);
  luaL_checkstack(L, 50, w.fn);
  berth_cluster *c =
      ((bl_cluster_box *)bl_check(L, 1, &bl_cluster_class, w.fn, "cluster"))->cluster;
  if (!lua_istable(L, 3)) bl_wrong(L, &w, "options", "expected a table, got %s", bl_kind(L, 3));
  r.resources = berth_cluster_resources(c);
  bl_gang_box *box = make(L, 3, &w, berth_cluster_jobs(c), &r);
  return play(L, &w, c, box, &r);
}

/* gang_rules(): array of { name, text, source, reads, options }: these are of all rules, and its
 * own */
static int gang_rules(lua_State *L) {
  lua_newtable(L);
  const berth_gang_about *about;
  for (int k = 0; (about = berth_gang_describe(k)); k++) {
    const bl_table tables[] = { berth_gang_option_table, about->options, NULL };
    lua_newtable(L);
    bl_set_string(L, "name", about->choice.name);
    bl_set_string(L, "text", about->choice.text);
    bl_set_string(L, "source", about->source);
    bl_set_string(L, "reads", about->reads);
    bl_push_descriptors(L, tables);
    lua_setfield(L, -2, "options");
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* ---- what has been ---- */

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

/* bounds(cluster): of the mean job completion time (nil of no jobs), of the makespan; nil, message,
 * code */
static int bounds(lua_State *L) {
  berth_gang *g = self(L, "gang:bounds");
  berth_cluster *c =
      ((bl_cluster_box *)bl_check(L, 2, &bl_cluster_class, "gang:bounds", "cluster"))->cluster;
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

static const luaL_Reg methods[] = {
  { "runs", runs }, { "counts", counts }, { "bounds", bounds }, { NULL, NULL }
};
static const luaL_Reg meta[] = { { "__tostring", to_string }, { NULL, NULL } };
const bl_class bl_gang_class = {
  .name = "gang", .key = "berth.gang", .release = release, .methods = methods, .meta = meta
};

const luaL_Reg bl_gang_functions[] = { { "gang", gang },
                                       { "gang_rules", gang_rules },
                                       { NULL, NULL } };
