/* The options of the step simulator from a Lua table, for all functions that simulate: preset
 * first, then each option by its descriptor, then the arrays `rank` and `sequence`, which certain
 * dispatch rules require. */
#include "sim_options.h"

BL_OWN_OPTIONS(cost_option,
               BL_OTHER("cost", "table", "none", "options of berth.cost that price the graph"))
BL_OWN_OPTIONS(bound_option,
  BL_OTHER("bound", "boolean or table", "true", "false: no bound; { best =, name = }: also one "
                                                "proved elsewhere"))
BL_OWN_OPTIONS(threads_option, BL_ROW("threads", WHOLE, "one per core",
                                      "threads that share the work", .high = 4096))

const berth_option_table *bl_cost_option(void) { return cost_option(); }

const bl_table bl_sim_tables[] = { berth_sim_option_table, bl_cost_option, bound_option, NULL };
const bl_table bl_run_tables[] = { berth_sim_option_table, bl_cost_option, NULL };
const bl_table bl_judge_tables[] = { berth_sim_option_table, NULL };
const bl_table bl_batch_tables[] = { berth_sim_option_table, bl_cost_option, threads_option, NULL };

/* [-0, +n] Each dispatch reads one array; another one is an error, not ignored. */
static void read_arrays(lua_State *L, int t, const bl_where *w, int32_t n_ops,
                        berth_sim_options *o) {
  int32_t n;
  if (bl_get_array(L, t, w, "rank", &n)) {
    if (o->dispatch != BERTH_DISPATCH_STATIC)
      bl_wrong(L, w, "rank", "requires dispatch = \"static\"");
    o->rank = bl_to_numbers(L, -1, w, "rank", n_ops, "op");
  } else if (o->dispatch == BERTH_DISPATCH_STATIC) {
    bl_wrong(L, w, "rank", "is missing: dispatch = \"static\" needs it");
  }
  if (bl_get_array(L, t, w, "sequence", &n)) {
    if (o->dispatch != BERTH_DISPATCH_PLANNED)
      bl_wrong(L, w, "sequence", "requires dispatch = \"planned\"");
    o->sequence = bl_to_ids(L, -1, w, "sequence", n_ops, n_ops, "op");
  }
}

/* First, since the other options change it. */
static void read_preset(lua_State *L, int t, const bl_where *w, berth_sim_options *o) {
  const char *preset = bl_get_string(L, t, w, "preset");
  if (preset && berth_sim_preset(bl_ctx(L), preset, o) != BERTH_OK)
    bl_wrong(L, w, "preset", "%s", berth_errmsg(bl_ctx(L)));
}

berth_sim_options bl_judge_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost) {
  const berth_graph *g = berth_cost_graph(cost);
  berth_sim_options o = berth_sim_default(g);
  read_preset(L, t, w, &o);
  bl_read_options(L, t, w, berth_sim_option_table(), &o);
  read_arrays(L, t, w, berth_graph_ops(g), &o);
  return o;
}

/* [-0, +n] The table `judge` as options of the simulator; NULL: it is not given. */
const berth_sim_options *bl_get_judge(lua_State *L, int t, const bl_where *w,
                                      const bl_where *inner, const berth_cost *cost,
                                      berth_sim_options *out) {
  if (!bl_is_given(L, t, "judge")) return NULL;
  lua_getfield(L, t, "judge");
  int judge = lua_gettop(L);
  bl_need_table(L, judge, w, "judge");
  bl_check_options(L, judge, inner, bl_judge_tables);
  *out = bl_judge_options(L, judge, inner, cost);
  return out;
}

/* [-0, +n] A planned order comes from the options, or else from the placement. */
berth_sim_options bl_sim_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                                 const berth_placement *p) {
  berth_sim_options o = bl_judge_options(L, t, w, cost);
  if (o.dispatch == BERTH_DISPATCH_PLANNED && !o.sequence) {
    o.sequence = p ? berth_placement_sequence(p) : NULL;
    if (!o.sequence)
      bl_wrong(L, w, "sequence",
               "is missing: dispatch = \"planned\" needs it and the placement has none");
  }
  return o;
}
