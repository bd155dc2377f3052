/* Plans and memory: functions of (model, cluster, plan), the plan a table of options. */
#include "llm.h"

const bl_table bl_llm_plan_tables[] = { berth_llm_plan_option_table, NULL };

berth_status bl_read_llm_plan(lua_State *L, const bl_where *w, berth_llm_plan *p) {
  const berth_llm *m = bl_check_llm(L, 1, w);
  const berth_llm_cluster *c = bl_check_llm_cluster(L, 2, w);
  *p = berth_llm_plan_default();
  bl_take_options(L, 3, w, bl_llm_plan_tables, p);
  return berth_llm_plan_fill(m, c, p);
}

void bl_push_llm_plan(lua_State *L, const berth_llm_plan *p) {
  bl_push_options(L, berth_llm_plan_option_table(), p);
  if (!p->stages) return;
  bl_push_counts(L, p->n_stages, p->stages);
  lua_setfield(L, -2, "stages");
}

/* llm_fill(model, cluster, options): table of all options. */
static int fill(lua_State *L) {
  BL_WHERE(w, "berth.llm.fill");
  berth_llm_plan p;
  lua_settop(L, 3);
  berth_status st = bl_read_llm_plan(L, &w, &p);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_llm_plan(L, &p);
  return 1;
}

static void push_memory(lua_State *L, const berth_llm_memory *x) {
  lua_createtable(L, 0, 12);
  bl_set_count(L, "layers", x->layers);
  bl_set_number(L, "in_flight", x->in_flight);
  bl_set_number(L, "weights", x->weights);
  bl_set_number(L, "gradients", x->gradients);
  bl_set_number(L, "optimizer", x->optimizer);
  bl_set_number(L, "activations", x->activations);
  bl_set_number(L, "working", x->working);
  bl_set_number(L, "logits", x->logits);
  bl_set_number(L, "buffers", x->buffers);
  bl_set_number(L, "runtime", x->runtime);
  bl_set_number(L, "total", x->total);
  bl_set_number(L, "limit", x->limit);
}

/* llm_memory(model, cluster, options): array of tables, one for each stage. */
static int memory(lua_State *L) {
  BL_WHERE(w, "berth.llm.memory");
  berth_llm_plan p;
  lua_settop(L, 3);
  berth_status st = bl_read_llm_plan(L, &w, &p);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_llm_memory *x = bl_scratch(L, (size_t)p.pp, sizeof *x);
  st = berth_llm_memory_of(bl_check_llm(L, 1, &w), bl_check_llm_cluster(L, 2, &w), &p, x);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, p.pp, 0);
  for (int32_t s = 0; s < p.pp; s++) {
    push_memory(L, &x[s]);
    lua_rawseti(L, -2, s + 1);
  }
  return 1;
}

/* llm_layer_memory(model, cluster, options, kind): bytes stored, bytes of all activations. */
static int layer_memory(lua_State *L) {
  BL_WHERE(w, "berth.llm.layer_memory");
  berth_llm *m = bl_check_llm(L, 1, &w);
  int32_t kind = bl_to_id(L, 4, &w, "kind", berth_llm_about_of(m)->kinds, "kind");
  berth_llm_plan p;
  double stored, all;
  berth_status st = bl_read_llm_plan(L, &w, &p);
  if (st == BERTH_OK) st = berth_llm_layer_memory(m, &p, kind, &stored, &all);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, stored);
  lua_pushnumber(L, all);
  return 2;
}

const luaL_Reg bl_llm_plan_functions[] = {
  { "llm_fill", fill }, { "llm_memory", memory }, { "llm_layer_memory", layer_memory },
  { NULL, NULL }
};
