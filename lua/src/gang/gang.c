/* Type "gang": a gang scheduler and its record of a run. gang() makes the scheduler, runs the
 * cluster under it to the end, and returns the box.
 * The function `rate` is called under lua_pcall; what it gives wrong goes to `fault`, which is
 * raised when the cluster has stopped. Options depend on the rule, which is therefore read first.
 * Stack: cluster, sizes, options, then scratch and the box. */
#include "cluster/cluster.h"
#include <math.h>
#include <stdio.h>

BL_RELEASE(release, berth_gang_release)
BL_SELF(self, berth_gang, bl_gang_class)

/* ---- rates in Lua ---- */

typedef struct rating {
  lua_State *L;
  int function;    /* stack index */
  int32_t resources;
  char fault[100];
} rating;

typedef struct rate_request {
  const rating *r;
  int32_t job, n;
  const int32_t *machine;
  const double *amount;
} rate_request;

/* [-0, +1] nil, amounts per machine, or a row of resources per machine. */
static void push_amounts(lua_State *L, const rate_request *q) {
  int32_t resources = q->r->resources;
  if (!q->amount) {
    lua_pushnil(L);
  } else if (resources == 1) {
    bl_push_numbers(L, q->n, q->amount);
  } else {
    bl_push_rows(L, q->n, resources, q->amount);
  }
}

/* Protected: (function, light userdata of the request) -> rate. Tables of arguments are made here,
 * where an error of memory is caught. */
static int rate_body(lua_State *L) {
  const rate_request *q = lua_touserdata(L, 2);
  lua_pushvalue(L, 1);
  bl_push_id(L, q->job);
  bl_push_ids(L, q->n, q->machine);
  push_amounts(L, q);
  lua_call(L, 3, 1);
  return 1;
}

/* rate(job, machines, amounts): work per s. [-0, +0], or the error at the top. What is no number is
 * described in `fault`: there is no way to raise it from here. */
static berth_status call_rate(void *ud, int32_t job, int32_t n, const int32_t *machine,
                              const double *amount, double *rate) {
  rating *r = ud;
  lua_State *L = r->L;
  rate_request q = { r, job, n, machine, amount };
  lua_pushcfunction(L, rate_body);
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

/* [-0, +n] Any value counts by its truth, nil as false. */
static uint8_t *read_flags(lua_State *L, int t, const bl_where *w, int32_t n) {
  if (!bl_get_sized(L, t, w, "consolidate", n, "job")) return NULL;
  int at = lua_gettop(L);
  uint8_t *flag = bl_scratch(L, (size_t)n, sizeof *flag);
  for (int32_t j = 0; j < n; j++) {
    lua_rawgeti(L, at, j + 1);
    flag[j] = (uint8_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return flag;
}

/* [-0, +n] The rule comes first: it says which options there are. Its own are in scratch of the
 * size that its table of options states. */
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

/* [-0, +n] The scheduler, made of the options at t, in a box at the top. NULL: nil, message, code
 * are there, for play() to return. */
static bl_gang_box *make(lua_State *L, int t, const bl_where *w, int32_t n, rating *r) {
  bl_need_length(L, 2, w, "sizes", n, "job");
  const int32_t *size = bl_to_wholes(L, 2, w, "sizes", n, 1);
  berth_gang_options o = read_options(L, t, w, n, r);
  bl_gang_box *box = bl_new(L, &bl_gang_class, sizeof *box);
  berth_status st = berth_gang_new(bl_ctx(L), n, size, &o, &box->gang);
  if (st != BERTH_OK) {
    bl_refused(L, w->fn, st);
    box = NULL;
  }
  return box;
}

/* Runs the cluster to its horizon: the fault of the rate function comes before the status. */
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
  BL_WHERE(w, "berth.cluster.simulate");
  rating r = { L, 0, 0, "" };
  lua_settop(L, 3);
  luaL_checkstack(L, 50, w.fn);
  berth_cluster *c = bl_check_cluster(L, 1, w.fn, "cluster");
  bl_need_table(L, 3, &w, "options");
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
  bl_set_ids(L, "machines", run->n, machine + run->first);
  if (amounts) {
    bl_push_counts(L, run->n, amount + run->first);
    lua_setfield(L, -2, "amounts");
  }
  bl_set_number(L, "start", run->start);
  if (!isnan(run->end)) bl_set_number(L, "finish", run->end);
}

/* gang:runs(amounts): array of { job, machines, start, finish } in order of starts, s. amounts:
 * true for gangs that are amounts, which adds the field. */
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

/* gang_bounds(cluster, sizes = [jobs], gpus): of the mean job completion time (nil of no jobs), of
 * the makespan, of the cluster after its run; nil, message, code */
static int gang_bounds(lua_State *L) {
  BL_WHERE(w, "gang_bounds");
  berth_cluster *c = bl_check_cluster(L, 1, w.fn, "cluster");
  int32_t n = berth_cluster_jobs(c);
  bl_need_length(L, 2, &w, "sizes", n, "job");
  double gpus = luaL_checknumber(L, 3);
  berth_gang_bound b;
  const int32_t *size = bl_to_wholes(L, 2, &w, "sizes", n, 1);
  berth_status st = berth_gang_bounds(bl_ctx(L), c, size, gpus, &b);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_or_nil(L, b.mean_jct);
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
  { "runs", runs }, { "counts", counts }, { NULL, NULL }
};
const bl_class bl_gang_class = {
  .name = "gang", .key = "berth.gang", .release = release, .methods = methods, .text = to_string
};

const luaL_Reg bl_gang_functions[] = { { "gang", gang },
                                       { "gang_bounds", gang_bounds },
                                       { "gang_rules", gang_rules },
                                       { NULL, NULL } };
