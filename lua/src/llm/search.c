/* The plan search: a function of (model, cluster, plan, options, factors, functions).
 * Functions are called under lua_pcall. What one gives that is no number is described in `fault`,
 * which is raised when the core has returned; its own error stays on the top until then. */
#include "llm.h"
#include <math.h>
#include <stdio.h>

const bl_table bl_llm_search_tables[] = { berth_llm_search_option_table, NULL };
static const bl_table factor_tables[] = { berth_llm_estimate_option_table, NULL };

static void push_roles(lua_State *L, int32_t roles) {
  static const char *const names[] = { "best", "split", "no_pp", "no_tp", "zero_3", "front" };
  lua_createtable(L, 0, 6);
  for (int k = 0; k < 6; k++)
    if (roles & 1 << k) bl_set_bool(L, names[k], 1);
}

static void push_found(lua_State *L, const berth_llm_found *x) {
  lua_createtable(L, 0, 6);
  bl_push_llm_plan(L, &x->plan);
  lua_setfield(L, -2, "plan");
  bl_set_number(L, "closed", x->closed);
  bl_set_finite(L, "step", x->step);
  bl_set_number(L, "memory", x->memory);
}

/* ---- functions ---- */

typedef struct functions {
  lua_State *L;
  int objective, prior; /* stack indices; 0: none */
  char fault[80];
} functions;

typedef struct request {
  int function;
  const berth_llm_found *found; /* of an objective */
  const berth_llm_plan *plan;   /* of a prior */
} request;

/* Protected: (function, light userdata of the request) -> what it gives. */
static int call_body(lua_State *L) {
  const request *q = lua_touserdata(L, 2);
  lua_settop(L, 1);
  if (q->found) push_found(L, q->found);
  else bl_push_llm_plan(L, q->plan);
  lua_call(L, 1, 1);
  return 1;
}

/* [-0, +0], or the error at the top. nil: `absent`. */
static berth_status call(functions *f, const request *q, const char *what, double absent,
                         double *out) {
  lua_State *L = f->L;
  lua_pushcfunction(L, call_body);
  lua_pushvalue(L, q->function);
  lua_pushlightuserdata(L, (void *)(uintptr_t)q);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  int type = lua_type(L, -1);
  if (type != LUA_TNUMBER && type != LUA_TNIL) {
    snprintf(f->fault, sizeof f->fault, "%s gave %s, expected a number or nil", what,
             bl_kind(L, -1));
    return BERTH_ECALLBACK;
  }
  *out = type == LUA_TNIL ? absent : (double)lua_tonumber(L, -1);
  lua_pop(L, 1);
  return BERTH_OK;
}

static berth_status call_objective(void *ud, const berth_llm_found *x, double *out) {
  functions *f = ud;
  request q = { .function = f->objective, .found = x };
  return call(f, &q, "the objective", INFINITY, out);
}

static berth_status call_prior(void *ud, const berth_llm_plan *p, double *out) {
  functions *f = ud;
  request q = { .function = f->prior, .plan = p };
  return call(f, &q, "the prior", 0, out);
}

/* [-0, +n] Those of the table at 6. */
static void read_functions(lua_State *L, const bl_where *w, functions *f,
                           berth_llm_search_options *o) {
  f->L = L;
  o->ud = f;
  if (lua_isnoneornil(L, 6)) return;
  if (bl_get_function(L, 6, w, "objective")) {
    f->objective = lua_gettop(L);
    o->value = call_objective;
  }
  if (bl_get_function(L, 6, w, "prior")) {
    f->prior = lua_gettop(L);
    o->prior = call_prior;
  }
}

static int refused(lua_State *L, const functions *f, const char *fn, berth_status st) {
  if (*f->fault) return bl_error(L, "%s: %s", fn, f->fault);
  return st == BERTH_ECALLBACK ? lua_error(L) : bl_refused(L, fn, st);
}

/* ---- the answer ---- */

static void push_answer(lua_State *L, const berth_llm_found *x) {
  push_found(L, x);
  push_roles(L, x->roles);
  lua_setfield(L, -2, "roles");
  bl_set_finite(L, "value", x->value);
}

static void push_about(lua_State *L, const berth_llm_search_about *a) {
  lua_createtable(L, 0, 11);
  bl_set_count(L, "refused", (double)a->refused);
  bl_set_count(L, "excluded", (double)a->excluded);
  bl_set_count(L, "unfit", (double)a->unfit);
  bl_set_count(L, "bounded", (double)a->bounded);
  bl_set_count(L, "valued", (double)a->valued);
  bl_set_count(L, "failed", (double)a->failed);
  bl_set_count(L, "left", (double)a->left);
  bl_set_number(L, "bound", a->bound);
  bl_set_finite(L, "closed", a->best);
  bl_set_bool(L, "fits", a->fits);
}

/* Holds the answer while it is copied into a table. */
BL_RELEASE(release, berth_llm_search_release)
const bl_class bl_llm_search_class = { .name = "llm search", .key = "berth.llm_search",
                                       .release = release };

static berth_status run(lua_State *L, berth_llm *m, berth_llm_cluster *c,
                        const berth_llm_search_options *o, berth_llm_search **out) {
  berth_llm_retain(m); /* a hook may close their boxes */
  berth_llm_cluster_retain(c);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_llm_search_run(m, c, o, out));
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  return st;
}

/* llm_search(model, cluster, plan, options, factors, functions): table; nil, message, code */
static int search(lua_State *L) {
  BL_WHERE(w, "berth.llm.plan");
  berth_llm_search_options o = berth_llm_search_default();
  berth_llm *m = bl_check_llm(L, 1, &w);
  berth_llm_cluster *c = bl_check_llm_cluster(L, 2, &w);
  functions f = { 0 };
  lua_settop(L, 6);
  bl_take_options(L, 3, &w, bl_llm_plan_tables, &o.plan);
  bl_take_options(L, 4, &w, bl_llm_search_tables, &o);
  bl_take_options(L, 5, &w, factor_tables, &o.estimate);
  read_functions(L, &w, &f, &o);
  luaL_checkstack(L, 10, w.fn);
  bl_box *box = bl_new(L, &bl_llm_search_class, sizeof *box);
  berth_status st = run(L, m, c, &o, (berth_llm_search **)&box->object);
  if (st != BERTH_OK) return refused(L, &f, w.fn, st);
  const berth_llm_search_about *a = berth_llm_search_about_of(box->object);
  const berth_llm_found *x = berth_llm_search_plans(box->object);
  push_about(L, a);
  lua_createtable(L, a->n, 0);
  for (int32_t i = 0; i < a->n; i++) {
    push_answer(L, &x[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "plans");
  return 1;
}

const luaL_Reg bl_llm_search_functions[] = { { "llm_search", search }, { NULL, NULL } };
