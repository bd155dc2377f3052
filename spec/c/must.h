/* Objects for the tests: must_X calls berth_X, checks that it succeeds and returns what it made;
 * graphs, topologies and costs from text; RELEASE gives objects back. */
#ifndef BERTH_MUST_H
#define BERTH_MUST_H

#include "check.h"
#include <berth/berth.h>

#define MUST(type, name, parameters, call) \
  static inline type must_##name parameters { \
    type out; \
    memset(&out, 0, sizeof out); \
    CHECK_STATUS(call, BERTH_OK); \
    return out; \
  }

MUST(berth_ctx *, ctx_new, (const berth_hooks *h), berth_ctx_new(h, &out))
MUST(berth_graph_builder *, graph_builder_new, (berth_ctx *ctx),
     berth_graph_builder_new(ctx, &out))
MUST(berth_graph *, graph_builder_finish, (berth_graph_builder *b),
     berth_graph_builder_finish(b, &out))
MUST(berth_topology_builder *, topology_builder_new, (berth_ctx *ctx),
     berth_topology_builder_new(ctx, &out))
MUST(berth_topology *, topology_builder_finish, (berth_topology_builder *b),
     berth_topology_builder_finish(b, &out))
MUST(berth_topology *, topology_mesh,
     (berth_ctx *ctx, int32_t n, const berth_device *d, const berth_link *l),
     berth_topology_mesh(ctx, n, d, l, &out))
MUST(int32_t, topology_builder_add_switch, (berth_topology_builder *b, const char *name),
     berth_topology_builder_add_switch(b, name, &out))
MUST(berth_cost *, cost_new, (berth_graph *g, berth_topology *t, const berth_cost_model *m),
     berth_cost_new(g, t, m, &out))
MUST(berth_op, graph_op, (const berth_graph *g, int32_t op), berth_graph_op(g, op, &out))
MUST(berth_tensor, graph_tensor, (const berth_graph *g, int32_t tensor),
     berth_graph_tensor(g, tensor, &out))
MUST(berth_collective, graph_collective, (const berth_graph *g, int32_t collective),
     berth_graph_collective(g, collective, &out))
MUST(berth_device, topology_device, (const berth_topology *t, int32_t device),
     berth_topology_device(t, device, &out))
MUST(berth_link, topology_path, (const berth_topology *t, int32_t src, int32_t dst),
     berth_topology_path(t, src, dst, &out))
MUST(berth_result *, simulate,
     (berth_cost *c, const int32_t *device, const berth_sim_options *o),
     berth_simulate(c, device, o, &out))
MUST(berth_sim_options, sim_preset, (berth_ctx *ctx, const char *name),
     berth_sim_preset(ctx, name, &out))
MUST(berth_sim *, sim_new, (berth_cost *c, const berth_sim_options *o), berth_sim_new(c, o, &out))
MUST(berth_sim_summary, sim_run, (berth_sim *sim, const int32_t *device),
     berth_sim_run(sim, device, &out))
MUST(berth_executor *, executor_new, (berth_cost *c, const berth_exec_options *o),
     berth_executor_new(c, o, &out))
MUST(berth_lp *, lp_solve, (berth_cost *c, const berth_lp_options *o), berth_lp_solve(c, o, &out))
MUST(berth_ps *, ps_new,
     (berth_ctx *ctx, const berth_ps_options *o, int32_t n, const berth_ps_job *jobs),
     berth_ps_new(ctx, o, n, jobs, &out))
MUST(berth_ps_run *, ps_run_new, (berth_ps *p), berth_ps_run_new(p, &out))
MUST(berth_ps_record, ps_run_record, (const berth_ps_run *r, int32_t job),
     berth_ps_run_record(r, job, &out))
MUST(berth_decider *, decider_new,
     (berth_ctx *ctx, const berth_decisions *problem, const berth_decide_options *o),
     berth_decider_new(ctx, problem, o, &out))
MUST(berth_decider *, deploy_decider, (berth_deploy *d, const berth_deploy_search_options *o),
     berth_deploy_decider(d, o, &out))
MUST(berth_decide_report, decider_best, (const berth_decider *d, int32_t *assignment),
     berth_decider_best(d, assignment, &out))
MUST(berth_search_report, search,
     (berth_cost *c, const berth_search_options *o, int32_t *device),
     berth_search(c, o, device, &out))

MUST(berth_placement *, place,
     (berth_cost *c, const char *placer, const berth_place_options *o),
     berth_place(c, placer, o, &out, NULL))
MUST(berth_portfolio *, portfolio_run, (berth_cost *c, const berth_portfolio_options *o),
     berth_portfolio_run(c, o, &out, NULL))
MUST(berth_bounds, bounds_compute, (berth_cost *c, const berth_bounds_options *o),
     berth_bounds_compute(c, o, &out, NULL))
MUST(berth_deploy_list *, deploy_baselines, (berth_deploy *d), berth_deploy_baselines(d, &out))
MUST(berth_analysis *, analyse, (berth_graph *g, const berth_analysis_options *o),
     berth_analyse(g, o, &out))
MUST(berth_tape *, tape_new, (berth_ctx *ctx), berth_tape_new(ctx, &out))
MUST(berth_execution *, executor_run,
     (berth_executor *x, const int32_t *device, int32_t repeats),
     berth_executor_run(x, device, repeats, &out))
MUST(berth_pdors_plan, pdors_admit, (berth_pdors *d, int32_t job), berth_pdors_admit(d, job, &out))

/* The builder is released. */
static inline berth_graph *must_graph(berth_graph_builder *b) {
  berth_graph *g = must_graph_builder_finish(b);
  berth_graph_builder_release(b);
  return g;
}
static inline berth_topology *must_topology(berth_topology_builder *b) {
  berth_topology *t = must_topology_builder_finish(b);
  berth_topology_builder_release(b);
  return t;
}

/* RELEASE(a, b, ...): releases up to eight objects of any types, in this order. */
#define RELEASE_1(x) _Generic((x), \
    double *: free, int32_t *: free, uint8_t *: free, uint32_t *: free, char *: free, \
    berth_ctx *: berth_ctx_release, berth_cluster *: berth_cluster_release, \
    berth_cost *: berth_cost_release, berth_decider *: berth_decider_release, \
    berth_analysis *: berth_analysis_release, berth_deploy *: berth_deploy_release, \
    berth_compiled *: berth_compiled_release, berth_deploy_list *: berth_deploy_list_release, \
    berth_assign *: berth_assign_release, berth_episodes *: berth_episodes_release, \
    berth_executor *: berth_executor_release, berth_execution *: berth_execution_release, \
    berth_gang *: berth_gang_release, berth_clairvoyant *: berth_clairvoyant_release, \
    berth_graph_builder *: berth_graph_builder_release, berth_graph *: berth_graph_release, \
    berth_expansion *: berth_expansion_release, berth_bundle *: berth_bundle_release, \
    berth_text *: berth_text_release, berth_json *: berth_json_release, \
    berth_lp *: berth_lp_release, berth_array *: berth_array_release, \
    berth_index *: berth_index_release, berth_segments *: berth_segments_release, \
    berth_tape *: berth_tape_release, berth_params *: berth_params_release, \
    berth_adam *: berth_adam_release, berth_pacml *: berth_pacml_release, \
    berth_pacml_run *: berth_pacml_run_release, berth_pacml_ahead *: berth_pacml_ahead_release, \
    berth_pdors *: berth_pdors_release, berth_portfolio *: berth_portfolio_release, \
    berth_placement *: berth_placement_release, berth_ps *: berth_ps_release, \
    berth_ps_place *: free, berth_ps_job *: free, berth_ps_run *: berth_ps_run_release, \
    berth_ps_scheduler *: berth_ps_scheduler_release, berth_ramp *: berth_ramp_release, \
    berth_ramp_model *: berth_ramp_model_release, \
    berth_ramp_planner *: berth_ramp_planner_release, berth_result *: berth_result_release, \
    berth_sim *: berth_sim_release, berth_topology_builder *: berth_topology_builder_release, \
    berth_topology *: berth_topology_release)(x)
#define RELEASE_2(a, ...) (RELEASE_1(a), RELEASE_1(__VA_ARGS__))
#define RELEASE_3(a, ...) (RELEASE_1(a), RELEASE_2(__VA_ARGS__))
#define RELEASE_4(a, ...) (RELEASE_1(a), RELEASE_3(__VA_ARGS__))
#define RELEASE_5(a, ...) (RELEASE_1(a), RELEASE_4(__VA_ARGS__))
#define RELEASE_6(a, ...) (RELEASE_1(a), RELEASE_5(__VA_ARGS__))
#define RELEASE_7(a, ...) (RELEASE_1(a), RELEASE_6(__VA_ARGS__))
#define RELEASE_8(a, ...) (RELEASE_1(a), RELEASE_7(__VA_ARGS__))
#define RELEASE_PICK(a, b, c, d, e, f, g, h, which, ...) which
#define RELEASE(...) \
  RELEASE_PICK(__VA_ARGS__, RELEASE_8, RELEASE_7, RELEASE_6, RELEASE_5, RELEASE_4, RELEASE_3, \
               RELEASE_2, RELEASE_1, )(__VA_ARGS__)

static inline int done_with(berth_ctx *ctx) {
  berth_ctx_release(ctx);
  return check_done();
}
static inline berth_rng seeded(uint64_t seed, uint64_t stream) {
  berth_rng rng;
  berth_rng_init(&rng, seed, stream);
  return rng;
}

/* Graphs as text: a number is an op of so many seconds, then p parameter bytes, w workspace bytes,
 * g its group, @ its pin, t its twin; `0>1,2:8` is a tensor of 8 bytes from op 0 to ops 1 and 2. */
static inline berth_status add_text(berth_graph_builder *b, const char *text) {
  berth_status st = BERTH_OK;
  for (char *p = (char *)text; st == BERTH_OK && *p; p += strspn(p, " ")) {
    double first = strtod(p, &p);
    if (*p != '>') {
      berth_op op = berth_op_default();
      op.seconds = &first;
      while (*p && *p != ' ') {
        const char what = *p;
        double x = strtod(p + 1, &p);
        if (what == 'p') op.param_bytes = x;
        else if (what == 'w') op.workspace_bytes = x;
        else if (what == 'g') op.group = (int32_t)x;
        else if (what == '@') op.pin = (int32_t)x;
        else if (what == 't') op.twin = (int32_t)x;
        else return BERTH_EPARSE;
      }
      st = berth_graph_builder_add_op(b, &op, NULL);
    } else {
      int32_t use[8], n = 0, id = 0;
      if (p[1] == ':') p++; /* no consumers */
      while (*p != ':') use[n++] = (int32_t)strtol(p + 1, &p, 10);
      berth_tensor t = { (int32_t)first, strtod(p + 1, &p), -1, 0 };
      st = berth_graph_builder_add_tensor(b, &t, &id);
      for (int32_t i = 0; i < n && st == BERTH_OK; i++)
        st = berth_graph_builder_add_consumer(b, id, use[i]);
    }
  }
  return st;
}
static inline berth_status graph_of_text(berth_ctx *ctx, const char *text, berth_graph **g) {
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  if (st == BERTH_OK) st = add_text(b, text);
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, g);
  berth_graph_builder_release(b);
  return st;
}
static inline berth_status mesh_of(berth_ctx *ctx, int32_t n, double memory, double bandwidth,
                                   double latency, berth_topology **t) {
  berth_device d = berth_device_default();
  d.memory = memory;
  return berth_topology_mesh(ctx, n, &d, &(berth_link){ bandwidth, latency }, t);
}
MUST(berth_topology *, mesh,
     (berth_ctx *ctx, int32_t n, double memory, double bandwidth, double latency),
     mesh_of(ctx, n, memory, bandwidth, latency, &out))
/* On a mesh; the cost keeps graph and topology. */
static inline berth_status cost_of_text(berth_ctx *ctx, const char *text, int32_t devices,
                                        double memory, double bandwidth, berth_cost **cost) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_status st = graph_of_text(ctx, text, &g);
  if (st == BERTH_OK) st = mesh_of(ctx, devices, memory, bandwidth, 0, &t);
  if (st == BERTH_OK) st = berth_cost_new(g, t, NULL, cost);
  RELEASE(t, g);
  return st;
}
/* Text of a PipeDream profile, mirrored as PAC-ML does. */
static inline berth_status graph_of_profile(berth_ctx *ctx, const char *text, berth_graph **g) {
  berth_load_options o = berth_load_default();
  berth_bundle b = { NULL, NULL, NULL, NULL };
  o.mirror = BERTH_MIRROR_PACML;
  berth_status st = berth_parse(ctx, "profile", text, strlen(text), &o, &b);
  *g = b.graph;
  b.graph = NULL;
  berth_bundle_release(&b);
  return st;
}

/* Topologies as text: a number, alone or before `:type`, is a device of that speed, `s` a switch;
 * `0-1:8,2` joins two nodes both ways with 8 bytes/s and 2 s, `0>1:8` one way with no latency. */
static inline berth_status topology_of_text(berth_ctx *ctx, const char *text,
                                            berth_topology **t) {
  berth_topology_builder *b = NULL;
  berth_status st = berth_topology_builder_new(ctx, &b);
  for (char *p = (char *)text; st == BERTH_OK && *p; p += strspn(p, " ")) {
    if (*p == 's') {
      p++;
      st = berth_topology_builder_add_switch(b, NULL, NULL);
      continue;
    }
    double first = strtod(p, &p);
    if (*p != '-' && *p != '>') {
      char type[16] = "";
      berth_device d = berth_device_default();
      d.speed = first;
      if (*p == ':' && sscanf(p + 1, "%15[^ ]", type) == 1) d.type = type;
      p += strcspn(p, " ");
      st = berth_topology_builder_add_device(b, &d, NULL, NULL);
    } else {
      const char way = *p;
      int32_t to = (int32_t)strtol(p + 1, &p, 10);
      berth_link l = { strtod(p + 1, &p), 0 };
      if (*p == ',') l.latency = strtod(p + 1, &p);
      st = (way == '-' ? berth_topology_builder_add_duplex
                       : berth_topology_builder_add_link)(b, (int32_t)first, to, &l, NULL);
    }
  }
  if (st == BERTH_OK) st = berth_topology_builder_finish(b, t);
  berth_topology_builder_release(b);
  return st;
}
static inline berth_topology *must_topology_of_text(berth_ctx *ctx, const char *text) {
  berth_topology *t = NULL;
  CHECK_STATUS(topology_of_text(ctx, text, &t), BERTH_OK);
  return t;
}
static inline berth_graph *must_graph_of_text(berth_ctx *ctx, const char *text) {
  berth_graph *g = NULL;
  CHECK_STATUS(graph_of_text(ctx, text, &g), BERTH_OK);
  return g;
}
static inline berth_cost *must_cost_of_text(berth_ctx *ctx, const char *text, int32_t devices,
                                            double memory, double bandwidth) {
  berth_cost *cost = NULL;
  CHECK_STATUS(cost_of_text(ctx, text, devices, memory, bandwidth, &cost), BERTH_OK);
  return cost;
}

#endif
