/* Objects for the tests: must_X calls berth_X, checks that it succeeds and returns what it made;
 * graphs, topologies and costs from text; RELEASE gives objects back. */
#ifndef BERTH_MUST_H
#define BERTH_MUST_H

#include "check.h"

/* Objects: what must_X makes belongs to the test, which releases it at its end, if RELEASE(a, b,
 * ...)
 * has not done so before; this takes up to eight objects of any types, in this order. */
#define OBJECTS(X) \
  X(adam) X(analysis) X(array) X(assign) X(bundle) X(clairvoyant) X(cluster) X(compiled) \
  X(cost) X(ctx) X(decider) X(deploy) X(deploy_list) X(episodes) X(execution) X(executor) \
  X(expansion) X(gang) X(graph) X(graph_builder) X(index) X(json) X(llm) X(llm_cluster) \
  X(lp) X(pacml) X(pacml_ahead) \
  X(pacml_run) X(params) X(pdors) X(placement) X(portfolio) X(ps) X(ps_run) X(ps_scheduler) \
  X(ramp) X(ramp_model) X(ramp_planner) X(result) X(segments) X(sim) X(tape) X(text) \
  X(topology) X(topology_builder)
#define RELEASER(type) \
  static inline void release_##type(berth_##type *x) { \
    check_disown(x); \
    berth_##type##_release(x); \
  } \
  static inline void give_back_##type(void *x) { berth_##type##_release(x); } \
  static inline void own_##type(void *at) { check_own(*(berth_##type **)at, give_back_##type); }
OBJECTS(RELEASER)
static inline void own_nothing(void *at) { (void)at; }

#define RELEASE_BY(type) berth_##type *: release_##type,
#define RELEASE_1(x) _Generic((x), OBJECTS(RELEASE_BY) \
    double *: free, int32_t *: free, uint8_t *: free, uint32_t *: free, char *: free, \
    berth_ps_place *: free, berth_ps_job *: free)(x)
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

#define OWN_BY(type) berth_##type **: own_##type,
/* x, which belongs to the test from here on if it is an object. */
#define OWNED(x) (_Generic(&(x), OBJECTS(OWN_BY) default: own_nothing)(&(x)), (x))
#define MUST_BY(type, name, parameters, call) \
  static inline type must_##name parameters { \
    type out; \
    memset(&out, 0, sizeof out); \
    CHECK_OK(call); \
    return OWNED(out); \
  }

#define MUST(type, name, parameters, ...) \
  MUST_BY(type, name, parameters, berth_##name(__VA_ARGS__))

MUST(berth_graph_builder *, graph_builder_new, (void), ctx, &out)
MUST_BY(int32_t, add_op, (berth_graph_builder *b, const berth_op *op),
     berth_graph_builder_add_op(b, op, &out))
MUST_BY(int32_t, add_tensor, (berth_graph_builder *b, const berth_tensor *t),
     berth_graph_builder_add_tensor(b, t, &out))
MUST_BY(int32_t, add_edge, (berth_graph_builder *b, int32_t from, int32_t to, double bytes),
     berth_graph_builder_connect(b, from, to, bytes, &out))
MUST_BY(int32_t, add_collective, (berth_graph_builder *b, const berth_collective *c),
     berth_graph_builder_add_collective(b, c, &out))
MUST_BY(int32_t, add_device, (berth_topology_builder *b, const berth_device *d),
     berth_topology_builder_add_device(b, d, NULL, &out))
MUST(berth_graph *, graph_builder_finish, (berth_graph_builder *b), b, &out)
MUST(berth_topology_builder *, topology_builder_new, (void), ctx, &out)
MUST(berth_topology *, topology_builder_finish, (berth_topology_builder *b), b, &out)
MUST(berth_topology *, topology_mesh, (int32_t n, const berth_device *d, const berth_link *l), ctx,
     n, d, l, &out)
MUST(int32_t, topology_builder_add_switch, (berth_topology_builder *b, const char *name), b, name,
     &out)
MUST(berth_cost *, cost_new, (berth_graph *g, berth_topology *t, const berth_cost_model *m), g, t,
     m, &out)
MUST(berth_op, graph_op, (const berth_graph *g, int32_t op), g, op, &out)
MUST(berth_tensor, graph_tensor, (const berth_graph *g, int32_t tensor), g, tensor, &out)
MUST(berth_collective, graph_collective, (const berth_graph *g, int32_t collective), g, collective,
     &out)
MUST(berth_device, topology_device, (const berth_topology *t, int32_t device), t, device, &out)
MUST(berth_link, topology_path, (const berth_topology *t, int32_t src, int32_t dst), t, src, dst,
     &out)
MUST(berth_result *, simulate, (berth_cost *c, const int32_t *device, const berth_sim_options *o),
     c, device, o, &out)
MUST(berth_sim_options, sim_preset, (const char *name), ctx, name, &out)
MUST(berth_sim *, sim_new, (berth_cost *c, const berth_sim_options *o), c, o, &out)
MUST(berth_sim_summary, sim_run, (berth_sim *sim, const int32_t *device), sim, device, &out)
MUST(berth_executor *, executor_new, (berth_cost *c, const berth_exec_options *o), c, o, &out)
MUST(berth_lp *, lp_solve, (berth_cost *c, const berth_lp_options *o), c, o, &out)
MUST(berth_ps *, ps_new, (const berth_ps_options *o, int32_t n, const berth_ps_job *jobs), ctx, o,
     n, jobs, &out)
MUST(berth_ps_run *, ps_run_new, (berth_ps *p), p, &out)
MUST(berth_ps_record, ps_run_record, (const berth_ps_run *r, int32_t job), r, job, &out)
MUST(berth_decider *, decider_new, (const berth_decisions *problem, const berth_decide_options *o),
     ctx, problem, o, &out)
MUST(berth_decider *, deploy_decider, (berth_deploy *d, const berth_deploy_search_options *o), d, o,
     &out)
MUST(berth_decide_report, decider_best, (const berth_decider *d, int32_t *assignment), d,
     assignment, &out)
MUST(berth_search_report, search, (berth_cost *c, const berth_search_options *o, int32_t *device),
     c, o, device, &out)

MUST(berth_placement *, place, (berth_cost *c, const char *placer, const berth_place_options *o), c,
     placer, o, &out, NULL)
MUST(berth_placement *, adjust, (berth_cost *c, const int32_t *device,
     const berth_adjust_options *o), c, device, o, &out, NULL)
MUST(berth_portfolio *, portfolio_run, (berth_cost *c, const berth_portfolio_options *o), c, o,
     &out, NULL)
MUST(berth_bounds, bounds_compute, (berth_cost *c, const berth_bounds_options *o), c, o, &out, NULL)
MUST(berth_deploy_list *, deploy_baselines, (berth_deploy *d), d, &out)
MUST(berth_graph *, graph_mirror, (const berth_graph *g, const berth_mirror_options *o), g, o, &out,
     NULL)
MUST(berth_graph *, graph_fuse, (const berth_graph *g, const berth_fuse_options *o, int32_t *map),
     g, o, &out, map)
MUST(berth_graph *, graph_forward, (const berth_graph *g, const berth_forward_options *o,
     int32_t *map), g, o, &out, map)
MUST(berth_expansion *, graph_expand, (const berth_graph *g, int32_t n, const int32_t *device,
     const berth_expand_options *o), g, n, device, o, &out)
MUST(berth_array *, array_new, (int32_t rank, const int32_t *shape), ctx, rank, shape, &out)
MUST(berth_params *, params_new, (void), ctx, &out)
MUST(berth_adam *, adam_new, (berth_params *p, const berth_adam_options *o), p, o, &out)
MUST(berth_gang *, gang_new, (int32_t n, const int32_t *size, const berth_gang_options *o), ctx, n,
     size, o, &out)
MUST(berth_pacml_run *, pacml_run_new, (berth_pacml *p, int32_t n, const berth_pacml_job *jobs), p,
     n, jobs, &out)
MUST(berth_placement *, placement_new, (int32_t n, const int32_t *device, const int32_t *sequence,
     const char *placer, double estimate), ctx, n, device, sequence, placer, estimate, &out)
MUST(berth_analysis *, analyse, (berth_graph *g, const berth_analysis_options *o), g, o, &out)
MUST(berth_tape *, tape_new, (void), ctx, &out)
MUST(berth_execution *, executor_run, (berth_executor *x, const int32_t *device, int32_t repeats),
     x, device, repeats, &out)
MUST(berth_pdors_plan, pdors_admit, (berth_pdors *d, int32_t job), d, job, &out)

/* The builder is released. */
static berth_graph *must_graph(berth_graph_builder *b) {
  berth_graph *g = must_graph_builder_finish(b);
  RELEASE(b);
  return g;
}
static berth_topology *must_topology(berth_topology_builder *b) {
  berth_topology *t = must_topology_builder_finish(b);
  RELEASE(b);
  return t;
}


static berth_rng seeded(uint64_t seed, uint64_t stream) {
  berth_rng rng;
  berth_rng_init(&rng, seed, stream);
  return rng;
}

/* Graphs as text: `#cpu #gpu` first are the types of devices; a number is an op of so many seconds,
 * `1,-` one that takes 1 s on the first type and cannot run on the second, `_` one without times;
 * then f FLOP, p parameter bytes, w workspace bytes, g its group, @ its pin, t its twin; `0>1,2:8`
 * is a tensor of 8 bytes from op 0 to ops 1 and 2. */
static berth_status add_text(berth_graph_builder *b, const char *text) {
  berth_status st = BERTH_OK;
  char name[4][16];
  const char *type[4];
  int32_t types = 0;
  char *p = (char *)text;
  for (; *p == '#'; p += strcspn(p, " "), p += strspn(p, " ")) {
    sscanf(p + 1, "%15[^ ]", name[types]);
    type[types] = name[types];
    types++;
  }
  if (types > 0) st = berth_graph_builder_types(b, types, type);
  for (; st == BERTH_OK && *p; p += strspn(p, " ")) {
    double seconds[4], first = strtod(p, &p);
    if (*p != '>') {
      berth_op op = berth_op_default();
      seconds[0] = *p == '-' ? BERTH_UNSUPPORTED : first;
      if (*p == '-') p++;
      for (int k = 1; *p == ','; k++) {
        seconds[k] = p[1] == '-' ? BERTH_UNSUPPORTED : strtod(p + 1, NULL);
        p += 1 + strcspn(p + 1, ", fpwg@t");
      }
      if (*p == '_') p++;
      else op.seconds = seconds;
      while (*p && *p != ' ') {
        const char what = *p;
        double x = strtod(p + 1, &p);
        if (what == 'f') op.flop = x;
        else if (what == 'p') op.param_bytes = x;
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
static void must_text(berth_graph_builder *b, const char *text) { CHECK_OK(add_text(b, text)); }
static berth_status graph_of_text(const char *text, berth_graph **g) {
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  TRY(st, add_text(b, text));
  TRY(st, berth_graph_builder_finish(b, g));
  RELEASE(b);
  return st;
}
static berth_status mesh_of(int32_t n, double memory, double bandwidth, double latency,
                            berth_topology **t) {
  berth_device d = berth_device_default();
  d.memory = memory;
  return berth_topology_mesh(ctx, n, &d, &(berth_link){ bandwidth, latency }, t);
}
MUST_BY(berth_topology *, mesh, (int32_t n, double memory, double bandwidth, double latency),
     mesh_of(n, memory, bandwidth, latency, &out))
/* On a mesh; the cost keeps graph and topology. */
static berth_status cost_of_text(const char *text, int32_t devices, double memory, double bandwidth,
                                 berth_cost **cost) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_status st = graph_of_text(text, &g);
  TRY(st, mesh_of(devices, memory, bandwidth, 0, &t));
  TRY(st, berth_cost_new(g, t, NULL, cost));
  RELEASE(t, g);
  return st;
}
/* Text of a PipeDream profile, mirrored as PAC-ML does. */
static berth_status graph_of_profile(const char *text, berth_graph **g) {
  berth_load_options o = berth_load_default();
  berth_bundle b = { 0 };
  o.mirror = BERTH_MIRROR_PACML;
  berth_status st = berth_parse(ctx, "profile", text, strlen(text), &o, &b);
  *g = b.graph;
  b.graph = NULL;
  RELEASE(&b);
  return st;
}

/* Topologies as text: a number, alone or before `:type`, is a device of that speed, `s` a switch;
 * `0-1:8,2` joins two nodes both ways with 8 bytes/s and 2 s, `0>1:8` one way with no latency. */
static berth_status topology_of_text(const char *text, berth_topology **t) {
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
  TRY(st, berth_topology_builder_finish(b, t));
  RELEASE(b);
  return st;
}
MUST_BY(berth_topology *, topology_of_text, (const char *text), topology_of_text(text, &out))
MUST_BY(berth_graph *, graph_of_text, (const char *text), graph_of_text(text, &out))
MUST_BY(berth_cost *, cost_of_text,
     (const char *text, int32_t devices, double memory, double bandwidth),
     cost_of_text(text, devices, memory, bandwidth, &out))

#endif
