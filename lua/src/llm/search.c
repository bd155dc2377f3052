/* The plan search: a function of (model, cluster, plan, options, factors). */
#include "llm.h"

const bl_table bl_llm_search_tables[] = { berth_llm_search_option_table, NULL };
static const bl_table factor_tables[] = { berth_llm_estimate_option_table, NULL };

static void push_roles(lua_State *L, int32_t roles) {
  static const char *const names[] = { "best", "split", "no_pp", "no_tp", "zero_3", "front" };
  lua_createtable(L, 0, 6);
  for (int k = 0; k < 6; k++)
    if (roles & 1 << k) bl_set_bool(L, names[k], 1);
}

static void push_found(lua_State *L, const berth_llm_found *x) {
  lua_createtable(L, 0, 5);
  bl_push_llm_plan(L, &x->plan);
  lua_setfield(L, -2, "plan");
  push_roles(L, x->roles);
  lua_setfield(L, -2, "roles");
  bl_set_number(L, "closed", x->closed);
  bl_set_finite(L, "step", x->step);
  bl_set_number(L, "memory", x->memory);
}

static void push_about(lua_State *L, const berth_llm_search_about *a) {
  lua_createtable(L, 0, 10);
  bl_set_number(L, "refused", (double)a->refused);
  bl_set_number(L, "unfit", (double)a->unfit);
  bl_set_number(L, "bounded", (double)a->bounded);
  bl_set_number(L, "valued", (double)a->valued);
  bl_set_number(L, "failed", (double)a->failed);
  bl_set_number(L, "left", (double)a->left);
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

/* llm_search(model, cluster, plan, options, factors): table; nil, message, code */
static int search(lua_State *L) {
  BL_WHERE(w, "berth.llm.plan");
  berth_llm_search_options o = berth_llm_search_default();
  berth_llm *m = bl_check_llm(L, 1, &w);
  berth_llm_cluster *c = bl_check_llm_cluster(L, 2, &w);
  lua_settop(L, 5);
  bl_take_options(L, 3, &w, bl_llm_plan_tables, &o.plan);
  bl_take_options(L, 4, &w, bl_llm_search_tables, &o);
  bl_take_options(L, 5, &w, factor_tables, &o.estimate);
  bl_box *box = bl_new(L, &bl_llm_search_class, sizeof *box);
  berth_status st = run(L, m, c, &o, (berth_llm_search **)&box->object);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  const berth_llm_search_about *a = berth_llm_search_about_of(box->object);
  const berth_llm_found *x = berth_llm_search_plans(box->object);
  push_about(L, a);
  lua_createtable(L, a->n, 0);
  for (int32_t i = 0; i < a->n; i++) {
    push_found(L, &x[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "plans");
  return 1;
}

const luaL_Reg bl_llm_search_functions[] = { { "llm_search", search }, { NULL, NULL } };
