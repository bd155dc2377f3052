/* The time of a step: functions of (model, cluster, plan, options). */
#include "llm.h"

const bl_table bl_llm_estimate_tables[] = { berth_llm_estimate_option_table, NULL };

typedef struct question {
  berth_llm *m;
  berth_llm_cluster *c;
  berth_llm_plan plan;
  berth_llm_estimate_options o;
} question;

static berth_status read_question(lua_State *L, const bl_where *w, question *q) {
  q->m = bl_check_llm(L, 1, w);
  q->c = bl_check_llm_cluster(L, 2, w);
  lua_settop(L, 4);
  q->o = berth_llm_estimate_default();
  bl_take_options(L, 4, w, bl_llm_estimate_tables, &q->o);
  return bl_read_llm_plan(L, w, &q->plan);
}

static void push_factors(lua_State *L, const berth_llm_factors *f) {
  lua_createtable(L, 0, 6);
  bl_set_number(L, "products", f->products);
  bl_set_number(L, "attention", f->attention);
  bl_set_number(L, "elementwise", f->elementwise);
  bl_set_number(L, "launch", f->launch);
  bl_set_number(L, "inside", f->inside);
  bl_set_number(L, "across", f->across);
}

static void push_estimate(lua_State *L, const berth_llm_estimate *e) {
  lua_createtable(L, 0, 20);
  bl_set_number(L, "step", e->step);
  bl_set_number(L, "low", e->low);
  bl_set_number(L, "high", e->high);
  bl_set_number(L, "tokens_per_second", e->tokens);
  bl_set_number(L, "model_flop", e->model_flop);
  bl_set_number(L, "hardware_flop", e->hardware_flop);
  bl_set_number(L, "mfu", e->mfu);
  bl_set_number(L, "hfu", e->hfu);
  bl_set_id(L, "stage", e->stage);
  bl_set_number(L, "hidden", e->hidden);
  bl_set_bool(L, "fitted", e->fitted);
  bl_set_string(L, "rows", e->about.rows);
  bl_set_number(L, "error", e->about.error);
  bl_set_number(L, "worst", e->about.worst);
  push_factors(L, &e->factors);
  lua_setfield(L, -2, "factors");
  lua_createtable(L, 0, BERTH_LLM_TIME_KINDS);
  for (int k = 0; k < BERTH_LLM_TIME_KINDS; k++)
    bl_set_number(L, berth_llm_time_name((berth_llm_time)k), e->time[k]);
  lua_setfield(L, -2, "time");
}

/* llm_estimate(model, cluster, plan, options): table; nil, message, code */
static int estimate(lua_State *L) {
  BL_WHERE(w, "berth.llm.estimate");
  question q;
  berth_llm_estimate e;
  berth_status st = read_question(L, &w, &q);
  if (st == BERTH_OK) st = berth_llm_estimate_of(q.m, q.c, &q.plan, &q.o, &e);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  push_estimate(L, &e);
  return 1;
}

/* llm_graph(model, cluster, plan, options): graph, topology, placement; nil, message, code */
static int graph(lua_State *L) {
  BL_WHERE(w, "berth.llm.graph");
  question q;
  berth_status st = read_question(L, &w, &q);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_graph **g = bl_new_graph(L);
  berth_topology **t = bl_new_topology(L);
  bl_placement_box *p = bl_new_placement(L);
  st = berth_llm_graph(q.m, q.c, &q.plan, &q.o, g, t, &p->placement);
  return st == BERTH_OK ? 3 : bl_refused(L, w.fn, st);
}

const bl_table bl_llm_calibrate_tables[] = { berth_llm_calibrate_option_table, NULL };

/* The row { model, cluster, plan, seconds } at index i of the array at 1. The table at `kept` keeps
 * what its plan points to. */
static void read_row(lua_State *L, int i, int kept, const bl_where *w, berth_llm_measured *row) {
  lua_rawgeti(L, 1, i);
  int at = lua_gettop(L);
  for (int k = 1; k <= 4; k++) lua_rawgeti(L, at, k);
  row->model = bl_check_llm(L, at + 1, w);
  row->cluster = bl_check_llm_cluster(L, at + 2, w);
  row->seconds = lua_tonumber(L, at + 4);
  row->plan = berth_llm_plan_default();
  bl_take_options(L, at + 3, w, bl_llm_plan_tables, &row->plan);
  while (lua_gettop(L) > at + 4) lua_rawseti(L, kept, (int)lua_rawlen(L, kept) + 1);
  lua_settop(L, at - 1);
}

/* llm_calibrate(rows, options): table; nil, message, code */
static int calibrate(lua_State *L) {
  BL_WHERE(w, "berth.llm.calibrate");
  berth_llm_calibrate_options o = berth_llm_calibrate_default();
  berth_llm_calibration c;
  lua_settop(L, 2);
  bl_take_options(L, 2, &w, bl_llm_calibrate_tables, &o);
  int32_t n = (int32_t)lua_rawlen(L, 1);
  berth_llm_measured *rows = bl_scratch(L, (size_t)n, sizeof *rows);
  lua_newtable(L);
  int kept = lua_gettop(L);
  for (int32_t i = 0; i < n; i++) read_row(L, i + 1, kept, &w, &rows[i]);
  berth_status st = berth_llm_calibrate(n, rows, &o, &c);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  push_factors(L, &c.factors);
  bl_set_count(L, "rows", c.rows);
  bl_set_number(L, "before", c.before);
  bl_set_number(L, "error", c.error);
  bl_set_finite(L, "left_out", c.left_out);
  bl_set_number(L, "worst", c.worst);
  push_factors(L, &c.low);
  lua_setfield(L, -2, "low");
  push_factors(L, &c.high);
  lua_setfield(L, -2, "high");
  return 1;
}

/* llm_factors({ framework = name }): the shipped factors, with rows, error, worst */
static int factors(lua_State *L) {
  BL_WHERE(w, "berth.llm.factors");
  berth_llm_plan p = berth_llm_plan_default();
  berth_llm_provenance about;
  lua_settop(L, 1);
  bl_take_options(L, 1, &w, bl_llm_plan_tables, &p);
  berth_llm_factors f = berth_llm_factors_of(p.framework, &about);
  push_factors(L, &f);
  bl_set_string(L, "rows", about.rows);
  bl_set_number(L, "error", about.error);
  bl_set_number(L, "worst", about.worst);
  return 1;
}

const luaL_Reg bl_llm_estimate_functions[] = {
  { "llm_estimate", estimate }, { "llm_graph", graph }, { "llm_factors", factors },
  { "llm_calibrate", calibrate }, { NULL, NULL }
};
