/* The module berth.core: its classes, its functions, and which functions take options by
 * descriptors. Loading makes the context, registers every class and returns the table of
 * functions. */
#include "base/binding.h"
#include "cluster/cluster.h"
#include "decide/decide.h"
#include "deploy/analyse.h"
#include "deploy/deploy.h"
#include "episodes/assign.h"
#include "llm/llm.h"
#include "nn/nn.h"
#include "pacml/pacml.h"
#include "ps/ps.h"
#include "ramp/ramp.h"
#include "sim/sim_options.h"
#include <string.h>

/* Kinds, metatables, help and the specs of the binding follow from this list. Boxes that Lua never
 * sees are registered where they are made. */
static const bl_class *const classes[] = {
  &bl_graph_class, &bl_topology_class, &bl_cost_class, &bl_placement_class, &bl_result_class,
  &bl_plan_class, &bl_rng_class, &bl_kernels_class,
  &bl_executor_class, &bl_execution_class, &bl_tries_class, &bl_assignment_class,
  &bl_episodes_class, &bl_ramp_class,
  &bl_ramp_model_class, &bl_pacml_class, &bl_pacml_run_class, &bl_pacml_ahead_class,
  &bl_cluster_class, &bl_gang_class,
  &bl_ps_class, &bl_ps_run_class, &bl_ps_policy_class, &bl_pdors_class, &bl_analysis_class,
  &bl_deploy_class, &bl_tree_class,
  &bl_array_class, &bl_index_class, &bl_segments_class, &bl_tape_class, &bl_parameters_class,
  &bl_adam_class, &bl_schedule_problem_class, &bl_schedule_class, &bl_llm_class,
  &bl_llm_cluster_class, &bl_llm_search_class, &bl_llm_launch_class, NULL
};

#define FUNCTIONS(X)                                                                              \
  X(context) X(terminal)                                                                          \
  X(box) X(units) X(graph) X(topology) X(generator) X(cost) X(kernels) X(fit) X(place) X(sim)     \
      X(io) X(hook)                                                                               \
      X(interrupt) X(portfolio) X(lp) X(transform) X(expand) X(repair) X(exact) X(split) X(tries) \
          X(exec) X(clairvoyant) X(sfb) X(analyse) X(deploy) X(nn_array) X(nn_list) X(nn_op)      \
              X(nn_tape) X(nn_params) X(nn_adam) X(assignment) X(ramp) X(pacml) X(pacml_ahead)    \
                  X(cluster) X(gang) X(elastic) X(ps) X(ps_run) X(ps_policy) X(pdors) X(decide) \
                      X(schedule) X(llm) X(llm_cluster) X(llm_plan) X(llm_estimate) \
                          X(llm_search) X(llm_launch) X(llm_export)
#define DECLARE(name) extern const luaL_Reg bl_##name##_functions[];
FUNCTIONS(DECLARE)
#define LIST(name) bl_##name##_functions,
static const luaL_Reg *const functions[] = { FUNCTIONS(LIST) NULL };

/* The functions of berth that take options by descriptors, as Lua names them, and bl_..._tables
 * of each. */
#define OPTIONS(X) \
  X("simulate", sim) X("simulate_batch", batch) X("place", place) X("cost", cost) \
  X("executor", exec) X("bounds", bounds) X("portfolio", portfolio) X("exact", exact) \
  X("adjust", adjust) X("repair", repair) X("split", split) X("split_measure", split_measure) \
  X("favourites", favourites) X("mirror", mirror) X("coplace", coplace) X("fuse", fuse) \
  X("chains", chains) X("forward", forward) X("expand", expand) X("decide", decide) \
  X("tree:search", tree_search) X("deploy.problem", deploy) X("deploy:search", deploy_search) \
  X("deploy:guard", guard) X("deploy.analyse", analysis) X("deploy.simplify", simplify) \
  X("deploy.sfb", sfb) X("assignment", assign) X("nn.adam", adam) X("ramp", ramp) \
  X("planner:learn", pacml_learn) X("planner:decide", pacml_ahead) X("pdors.problem", ps) \
  X("pdors.fifo", ps_fifo) X("pdors.dorm", ps_dorm) X("pdors.optimus", ps_optimus) \
  X("pdors.scheduler", pdors) X("load", load) X("parse", parse) X("cluster", cluster) \
  X("hooks", hook) X("executor:run", exec_run) X("ramp:plan", ramp_plan) \
  X("ramp:model", ramp_model) X("array:matmul", matmul) X("nn.parameters", parameters) \
  X("parameters:save", params_save) X("parameters:load", params_load) X("graph:layout", layout) \
  X("graph:colocate", colocate) X("graph:b_level", levels) X("graph:t_level", levels) \
  X("graph:slack", levels) X("graph:critical_path", levels) X("graph:meta_ops", meta_ops) \
  X("graph:save", graph_save) X("graph:to_string", graph_to_string) \
  X("deploy.batch_time", batch_time) X("deploy:features", features) \
  X("pacml_run:report", pacml_report) X("env:planner", pacml_planner) \
  X("placement", placement) X("cluster.pollux", pollux) X("cluster.goodput", goodput) \
  X("cluster.gavel", gavel) X("cluster:start", cluster_start) X("topology.mesh", topology) \
  X("topology.ring", topology) X("topology.star", topology) X("topology.fat_tree", topology) \
  X("topology.torus", topology) X("topology.pcie_tree", pcie_tree) X("topology.dgx1", dgx1) \
  X("topology.two_level", two_level) X("topology.groups", topology_groups) \
  X("episodes:choose", choose) X("pdors.gdelta", gdelta) X("fit_link", fit) \
  X("kernels", kernels) X("kernels:attention", kernels_attention) \
  X("kernels:shape", shape) \
  X("fit_collective", fit) X("schedule.problem", schedule_problem) \
  X("schedule.search", schedule_search) X("llm.model", llm_model) X("llm.cluster", llm_cluster) \
  X("llm.fill", llm_plan) X("llm.search", llm_search) X("llm.memory", llm_plan) \
  X("llm_launch:plan", llm_plan) \
  X("llm.estimate", llm_estimate) X("llm.graph", llm_estimate) \
  X("llm.calibrate", llm_calibrate)
#define DECLARE_TABLES(function, name) extern const bl_table bl_##name##_tables[];
OPTIONS(DECLARE_TABLES)
#define LIST_TABLES(function, name) { function, bl_##name##_tables },
static const struct {
  const char *function;
  const bl_table *tables;
} options[] = { OPTIONS(LIST_TABLES) };
enum { N_OPTIONS = sizeof options / sizeof *options };

/* options(function): array of descriptors; nil: it has none. options(): names of the functions that
 * have some */
static int options_of(lua_State *L) {
  const char *name = lua_tostring(L, 1);
  if (!name) lua_newtable(L);
  for (int k = 0; k < N_OPTIONS; k++) {
    if (name && strcmp(name, options[k].function) == 0)
      return bl_push_descriptors(L, options[k].tables);
    if (name) continue;
    lua_pushstring(L, options[k].function);
    lua_rawseti(L, -2, k + 1);
  }
  return name ? 0 : 1;
}

/* classes(): array of { name, key, methods, fields } */
static int list_classes(lua_State *L) {
  lua_newtable(L);
  for (int k = 0; classes[k]; k++) {
    bl_push_class(L, classes[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

static const luaL_Reg own[] = { { "options", options_of },
                                { "classes", list_classes },
                                { NULL, NULL } };

#if defined(_WIN32)
__declspec(dllexport)
#endif
int luaopen_berth_core(lua_State *L);

int luaopen_berth_core(lua_State *L) {
  bl_ctx(L);
  for (int k = 0; classes[k]; k++) bl_register(L, classes[k]);
  bl_params_register(L);
  lua_newtable(L);
  for (int k = 0; functions[k]; k++) bl_set_functions(L, functions[k]);
  bl_set_functions(L, own);
  lua_pushstring(L, berth_version());
  lua_setfield(L, -2, "version");
  return 1;
}
