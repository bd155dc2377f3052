/* Policies as Lua functions, behind the same seam as the built-in ones; and what they see of the
 * plan.
 *
 * A function runs under lua_pcall on the stack of the caller of berth.place. If it fails, its error
 * value stays on the top and the core unwinds; then it is raised unchanged. Between, the core
 * touches no Lua. Nothing here may raise while the core runs: what is wrong with a result is
 * written to `fault`. est and eft are tables of fixed size, filled by rawseti: no allocation.
 */
#include "base/binding.h"
#include <math.h>
#include <stdio.h>

/* ---- plan ---- */

/* The box outlives the plan: a policy may keep it. Its object is set before each call and NULL
 * after placing, which gets a message of its own. */
static const berth_plan *self(lua_State *L, const char *fn) {
  bl_box *box = bl_test(L, 1, &bl_plan_class);
  if (box && !box->object) bl_error(L, "%s: the plan is only there while its policy runs", fn);
  return ((bl_box *)bl_self(L, &bl_plan_class, fn))->object;
}

static int32_t op_arg(lua_State *L, const berth_plan *p, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  return bl_to_id(L, 2, &w, "op", bl_ops(berth_plan_cost(p)), "op");
}

static int32_t device_arg(lua_State *L, const berth_plan *p, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  return bl_to_id(L, 2, &w, "device",
                  bl_devices(berth_plan_cost(p)), "device");
}

/* plan:device_of(op): id, or nil while it is not placed; plan:start(op), plan:finish(op) likewise,
 * s. */
static int device_of(lua_State *L) {
  const berth_plan *p = self(L, "plan:device_of");
  bl_push_id(L, berth_plan_device_of(p, op_arg(L, p, "plan:device_of")));
  return 1;
}

static int start(lua_State *L) {
  const berth_plan *p = self(L, "plan:start");
  return bl_push_or_nil(L, berth_plan_start(p, op_arg(L, p, "plan:start")));
}

static int finish(lua_State *L) {
  const berth_plan *p = self(L, "plan:finish");
  return bl_push_or_nil(L, berth_plan_finish(p, op_arg(L, p, "plan:finish")));
}

/* plan:free_at(device): s when its last op ends; plan:last(device): op or nil; plan:memory(device):
 * bytes held. */
static int free_at(lua_State *L) {
  const berth_plan *p = self(L, "plan:free_at");
  return bl_push_or_nil(L, berth_plan_free_at(p, device_arg(L, p, "plan:free_at")));
}

static int last(lua_State *L) {
  const berth_plan *p = self(L, "plan:last");
  bl_push_id(L, berth_plan_last(p, device_arg(L, p, "plan:last")));
  return 1;
}

static int memory(lua_State *L) {
  const berth_plan *p = self(L, "plan:memory");
  return bl_push_or_nil(L, berth_plan_memory(p, device_arg(L, p, "plan:memory")));
}

static int now(lua_State *L) { return bl_push_or_nil(L, berth_plan_now(self(L, "plan.now"))); }

static int get_cost(lua_State *L) {
  self(L, "plan.cost");
  return bl_kept(L, "cost");
}

static int to_string(lua_State *L) {
  const berth_plan *p = self(L, "tostring");
  char text[64];
  lua_pushfstring(L, "plan: now %s",
                  berth_quantity_format(berth_plan_now(p), BERTH_SECONDS, text, sizeof text));
  return 1;
}

/* The plan belongs to the core; the box only points to it. */
static void release_plan(void *box) { (void)box; }

static const luaL_Reg plan_fields[] = { { "now", now }, { "cost", get_cost }, { NULL, NULL } };
static const luaL_Reg plan_methods[] = {
  { "device_of", device_of }, { "start", start }, { "finish", finish }, { "free_at", free_at },
  { "memory", memory },       { "last", last },   { NULL, NULL }
};
const bl_class bl_plan_class = {
  .name = "plan", .key = "berth.plan", .release = release_plan, .methods = plan_methods,
  .fields = plan_fields, .text = to_string
};

/* ---- calls ---- */

/* What a function has given, for messages: "1.5", "NaN", "a string". */
static const char *given(lua_State *L, int i, char *buf, size_t size) {
  double x = (double)lua_tonumber(L, i);
  if (lua_type(L, i) != LUA_TNUMBER) {
    const char *kind = bl_kind(L, i);
    snprintf(buf, size, lua_isnil(L, i) ? "%s" : "a %s", kind);
  } else if (isnan(x)) {
    snprintf(buf, size, "NaN");
  } else {
    berth_snprintf(buf, size, "%.14g", x);
  }
  return buf;
}

/* [-0, +0] A number, not NaN, at i; else false, with `fault` set. Never raises: the core is
 * below. */
static bool to_priority(bl_policy *y, int i, const char *who, int32_t op, double *out) {
  *out = (double)lua_tonumber(y->L, i);
  if (lua_type(y->L, i) == LUA_TNUMBER && !isnan(*out)) return true;
  char got[40];
  snprintf(y->fault, sizeof y->fault, "%s gave %s as priority of op %d, expected a number", who,
           given(y->L, i, got, sizeof got), (int)op + 1);
  return false;
}

/* prepare(plan, cost): priorities [ops], or nil: as they are. Success leaves the stack as it was;
 * after a failure the rest stays, and the error value, if any, is at the top. Entries are read raw:
 * an __index could raise. */
static berth_status call_prepare(void *ud, const berth_plan *p, double *priority) {
  bl_policy *y = ud;
  lua_State *L = y->L;
  int top = lua_gettop(L);
  y->plan->object = (void *)p;
  lua_pushvalue(L, y->prepare);
  lua_pushvalue(L, y->plan_at);
  lua_pushvalue(L, y->cost);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (!lua_isnil(L, -1)) {
    if (!lua_istable(L, -1) || (int32_t)lua_rawlen(L, -1) != y->n_ops) {
      char got[40];
      if (lua_istable(L, -1)) {
        snprintf(got, sizeof got, "%.0f entries", (double)lua_rawlen(L, -1));
      } else {
        given(L, -1, got, sizeof got);
      }
      snprintf(y->fault, sizeof y->fault,
               "prepare gave %s, expected an array with the priority of each of %d ops", got,
               (int)y->n_ops);
      return BERTH_ECALLBACK;
    }
    for (int32_t k = 0; k < y->n_ops; k++) {
      lua_rawgeti(L, top + 1, k + 1);
      if (!to_priority(y, -1, "prepare", k, &priority[k])) return BERTH_ECALLBACK;
      lua_settop(L, top + 1);
    }
  }
  lua_settop(L, top);
  return BERTH_OK;
}

/* select(op, plan): priority, or nil: as it is. [-0, +0], or the error at the top. */
static berth_status call_select(void *ud, const berth_plan *p, int32_t op, double *priority) {
  bl_policy *y = ud;
  lua_State *L = y->L;
  y->plan->object = (void *)p;
  lua_pushvalue(L, y->select);
  lua_pushinteger(L, op + 1);
  lua_pushvalue(L, y->plan_at);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (!lua_isnil(L, -1) && !to_priority(y, -1, "select", op, priority)) return BERTH_ECALLBACK;
  lua_pop(L, 1);
  return BERTH_OK;
}

/* [-0, +0] Tables of arguments are made once and filled for each call: no garbage per decision. A
 * policy that keeps one sees it change. */
static void fill(lua_State *L, int table, int32_t n, const double *x) {
  for (int32_t d = 0; d < n; d++) {
    lua_pushnumber(L, x[d]);
    lua_rawseti(L, table, d + 1);
  }
}

/* No device takes the op: INFINITY is the score of "not here". */
static void forbid_all(bl_policy *y, double *score) {
  for (int32_t d = 0; d < y->n_devices; d++) score[d] = INFINITY;
}

/* [-0, +0] (nil, time): when to call again, s. All devices are forbidden until then. */
static berth_status take_wake(bl_policy *y, int32_t op, double *score, double *wake) {
  lua_State *L = y->L;
  double t = (double)lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || !(t >= 0) || isinf(t)) {
    char got[40];
    snprintf(y->fault, sizeof y->fault,
             "%s gave nil and %s for op %d, expected a finite time (s) to wake at",
             y->scores ? "score" : "device", given(L, -1, got, sizeof got), (int)op + 1);
    return BERTH_ECALLBACK;
  }
  if (y->c.ready != BERTH_READY_FINISHED) {
    snprintf(y->fault, sizeof y->fault, "op %d: only a policy with ready = \"finished\" may wait",
             (int)op + 1);
    return BERTH_ECALLBACK;
  }
  forbid_all(y, score);
  *wake = t;
  return BERTH_OK;
}

/* [-0, +0] The answer of device(): all others are forbidden, so that the core picks it. */
static berth_status take_device(bl_policy *y, int32_t op, const double *est, const double *eft,
                                double *score) {
  lua_State *L = y->L;
  double x = (double)lua_tonumber(L, -2);
  if (lua_type(L, -2) != LUA_TNUMBER || !(x >= 1 && x <= y->n_devices) || x != floor(x)) {
    char got[40];
    snprintf(y->fault, sizeof y->fault,
             "device gave %s for op %d, expected a device id (1..%d) or nil",
             given(L, -2, got, sizeof got), (int)op + 1, (int)y->n_devices);
    return BERTH_ECALLBACK;
  }
  int32_t d = (int32_t)x - 1;
  if (isinf(est[d])) {
    snprintf(y->fault, sizeof y->fault,
             "device gave %d for op %d, which cannot run there (est is math.huge)", (int)d + 1,
             (int)op + 1);
    return BERTH_ECALLBACK;
  }
  forbid_all(y, score);
  score[d] = eft[d];
  return BERTH_OK;
}

/* [-0, +0] score(...): a number for each device; math.huge: not this one. Reads raw entries, and on
 * a wrong one stops with it at the top, which call_pick drops. */
static berth_status take_scores(bl_policy *y, int32_t op, double *score) {
  lua_State *L = y->L;
  int table = lua_gettop(L) - 1;
  int32_t d;
  for (d = 0; d < y->n_devices && lua_istable(L, table); d++) {
    lua_rawgeti(L, table, d + 1);
    score[d] = (double)lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || isnan(score[d])) break;
    lua_pop(L, 1);
  }
  if (d == y->n_devices) return BERTH_OK;
  snprintf(y->fault, sizeof y->fault,
           "score gave no number for device %d of op %d (math.huge: not here)", (int)d + 1,
           (int)op + 1);
  return BERTH_ECALLBACK;
}

/* The hot path: one call per decision. est and eft are filled only if the function has parameters
 * for them. Two results are always taken: device or scores, and when to wake. */
static berth_status call_pick(void *ud, const berth_plan *p, int32_t op, const double *est,
                              const double *eft, double *score, double *wake) {
  bl_policy *y = ud;
  lua_State *L = y->L;
  int top = lua_gettop(L);
  berth_status st = BERTH_OK;
  y->plan->object = (void *)p;
  lua_pushvalue(L, y->pick);
  lua_pushinteger(L, op + 1);
  if (y->arguments > 1) {
    fill(L, y->est, y->n_devices, est);
    lua_pushvalue(L, y->est);
    lua_pushvalue(L, y->plan_at);
  }
  if (y->arguments > 3) {
    fill(L, y->eft, y->n_devices, eft);
    lua_pushvalue(L, y->eft);
  }
  if (lua_pcall(L, y->arguments == 2 ? 3 : y->arguments, 2, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (!lua_isnil(L, -2)) {
    st = y->scores ? take_scores(y, op, score) : take_device(y, op, est, eft, score);
  } else if (!lua_isnil(L, -1)) {
    st = take_wake(y, op, score, wake);
  }
  lua_settop(L, top);
  return st;
}

/* ---- reading ---- */

/* [-0, +0] How many of its parameters the function at the top uses; 4 if that is unknown (C
 * functions, functions with varargs). The 5.1 ABI has no nparams in lua_Debug: there LuaJIT's
 * debug.getinfo is called, and lua5.1, whose result lacks the field, gets 4. */
static int parameters(lua_State *L) {
  int n = 4;
  int top = lua_gettop(L);
#if LUA_VERSION_NUM >= 502
  lua_pushvalue(L, -1);
  lua_Debug ar;
  lua_getinfo(L, ">u", &ar);
  if (!ar.isvararg && lua_iscfunction(L, -1) == 0) n = ar.nparams;
#else /* in the library of LuaJIT, not of lua5.1 */
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "debug");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "getinfo");
  if (lua_isfunction(L, -1) && !lua_iscfunction(L, top)) {
    lua_pushvalue(L, top);
    lua_pushliteral(L, "u");
    if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_istable(L, -1)) {
      lua_getfield(L, -1, "isvararg");
      lua_getfield(L, -2, "nparams");
      if (!lua_toboolean(L, -2) && lua_isnumber(L, -1)) n = (int)lua_tointeger(L, -1);
    }
  }
#endif
  lua_settop(L, top);
  return n;
}

static const char *const policy_keys[] = { "name",   "ready",  "fit",    "choose", "prepare",
                                           "select", "device", "score",  "eft",    NULL };

/* [-0, +0] A policy with a metatable is an object and may have fields of its own. */
static void check_policy_keys(lua_State *L, int i, const bl_where *w) {
  if (lua_getmetatable(L, i)) {
    lua_pop(L, 1);
  } else {
    bl_check_keys(L, i, w, policy_keys, false);
  }
}

/* [-0, +0] Sets what is given; the rest keeps the core's default, 0 of each enum. */
static void read_settings(lua_State *L, int i, const bl_where *w, bl_policy *y) {
  static const char *const ready[] = { "assigned", "finished", NULL };
  static const char *const fit[] = { "append", "insertion", NULL };
  static const char *const choose[] = { "op", "pair", "device", NULL };
  int k;
  if (bl_get_enum(L, i, w, "ready", ready, &k)) y->c.ready = (berth_ready)k;
  if (bl_get_enum(L, i, w, "fit", fit, &k)) y->c.fit = (berth_fit)k;
  if (bl_get_enum(L, i, w, "choose", choose, &k)) y->c.choose = (berth_choose)k;
}

/* [-0, +0] The function at the top answers for devices. `eft` of the policy overrides what its
 * parameters say, for functions with varargs. 4: (op, est, plan, eft). */
static void set_pick(lua_State *L, int i, const bl_where *w, bl_policy *y, bool scores) {
  y->pick = lua_gettop(L);
  y->scores = scores;
  y->c.score = call_pick;
  y->arguments = parameters(L);
  int wants;
  if (lua_istable(L, i) && bl_get_bool(L, i, w, "eft", &wants)) y->arguments = wants ? 4 : 3;
  if (y->arguments > 4) y->arguments = 4;
  if (y->arguments < 1) y->arguments = 1;
}

/* [-0, +n] Functions stay on the stack, below the arguments of their calls, until the call of
 * the library ends. */
static void read_functions(lua_State *L, int i, const bl_where *w, bl_policy *y) {
  if (bl_get_function(L, i, w, "prepare")) {
    y->prepare = lua_gettop(L);
    y->c.prepare = call_prepare;
  }
  if (bl_get_function(L, i, w, "select")) {
    y->select = lua_gettop(L);
    y->c.select = call_select;
  }
  if (bl_get_function(L, i, w, "device")) set_pick(L, i, w, y, false);
  if (bl_get_function(L, i, w, "score")) {
    if (y->pick) bl_wrong(L, w, "score", "a policy has either device or score");
    set_pick(L, i, w, y, true);
  }
}

/* [-0, +3] est, eft and the plan's box, which all calls share. The box keeps the cost's. */
static void make_arguments(lua_State *L, bl_policy *y) {
  lua_createtable(L, y->n_devices, 0);
  y->est = lua_gettop(L);
  lua_createtable(L, y->n_devices, 0);
  y->eft = lua_gettop(L);
  y->plan = bl_new(L, &bl_plan_class, sizeof *y->plan);
  y->plan_at = lua_gettop(L);
  bl_keep(L, -1, "cost", y->cost);
}

/* [-0, +n] A bare function is the device() of an otherwise default policy. */
void bl_policy_read(lua_State *L, int i, int cost, const bl_where *w, bl_policy *y) {
  bl_where in_policy = { "berth.place: policy", NULL, 0 };
  berth_cost *c = bl_check_cost(L, cost, w->fn, "cost");
  y->L = L;
  y->cost = cost;
  y->c.name = "policy";
  y->c.ud = y;
  y->n_ops = bl_ops(c);
  y->n_devices = bl_devices(c);
  luaL_checkstack(L, 40, w->fn);
  if (lua_isfunction(L, i)) {
    lua_pushvalue(L, i);
    set_pick(L, i, &in_policy, y, false);
  } else {
    check_policy_keys(L, i, &in_policy);
    const char *name;
    if ((name = bl_get_string(L, i, &in_policy, "name"))) y->c.name = name;
    read_settings(L, i, &in_policy, y);
    read_functions(L, i, &in_policy, y);
  }
  make_arguments(L, y);
}

/* [-0, +0] or raises. The plan is forgotten before anything is raised: a policy may keep its box. A
 * fault has precedence over an error value. */
void bl_policy_done(bl_policy *y, const char *fn, berth_status st) {
  y->plan->object = NULL;
  if (*y->fault) bl_error(y->L, "%s: policy \"%s\": %s", fn, y->c.name, y->fault);
  if (st == BERTH_ECALLBACK) lua_error(y->L);
}
