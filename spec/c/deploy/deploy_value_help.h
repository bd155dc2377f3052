/* Training graphs and problems for the specs of deployment values. */
#ifndef DEPLOY_VALUE_HELP_H
#define DEPLOY_VALUE_HELP_H

#include "deploy_build.h"
#include <berth/deploy.h>

enum { MOST_OPS = 80, MOST_GROUPS = 8, MOST_ACTIONS = 400 };

/* ---- training graphs ---- */

typedef struct layer_row {
  double seconds, activation, weights; /* of the forward op, the backward ops take as long each;
                                          bytes at the full batch; bytes */
} layer_row;

enum { INPUT = 0 }; /* op 0; of layer l: 5 l + 1 variable, forward, gradient of the weights, of the
                       input, update */
enum { VARIABLE = 1, FORWARD, WEIGHTS, BACK, UPDATE, PER_LAYER = 5 };
static int32_t op_of(int32_t layer, int32_t what) { return PER_LAYER * layer + what; }

/* A chain of n layers. Op BACK of a layer makes the gradient of what its forward op read. */
static berth_graph *chain_of(int32_t n, const layer_row *layer) {
  graph_build own = { NULL, BERTH_OK, 0 }, *b = &own;
  if (berth_graph_builder_new(ctx, &own.b) != BERTH_OK) return NULL;
  add_op(b, "input", 0, 0, 0, BERTH_NONE);
  for (int32_t l = 0; l < n; l++) {
    add_op(b, "Variable", 0, layer[l].weights, 0, BERTH_NONE);
    add_op(b, "forward", layer[l].seconds, 0, 0, BERTH_NONE);
    add_op(b, "weights", layer[l].seconds, 0, BERTH_OP_BACKWARD, BERTH_NONE);
    add_op(b, "back", layer[l].seconds, 0, BERTH_OP_BACKWARD, BERTH_NONE);
    add_op(b, "update", layer[l].seconds / 100, 0, BERTH_OP_UPDATE, BERTH_NONE);
  }
  int32_t act[MOST_OPS];
  act[0] = add_tensor(b, INPUT, layer[0].activation, BERTH_TENSOR_BATCH);
  for (int32_t l = 0; l < n; l++) {
    int32_t w = add_tensor(b, op_of(l, VARIABLE), layer[l].weights, 0);
    act[l + 1] = add_tensor(b, op_of(l, FORWARD), layer[l].activation, BERTH_TENSOR_BATCH);
    reads(b, op_of(l, FORWARD), w);
    reads(b, op_of(l, BACK), w);
    reads(b, op_of(l, UPDATE), w);
    reads(b, op_of(l, FORWARD), act[l]);
    reads(b, op_of(l, WEIGHTS), act[l]);
  }
  int32_t grad = act[n];
  for (int32_t l = n - 1; l >= 0; l--) {
    int32_t d = add_tensor(b, op_of(l, WEIGHTS), layer[l].weights, BERTH_TENSOR_GRADIENT);
    reads(b, op_of(l, WEIGHTS), grad);
    reads(b, op_of(l, BACK), grad);
    reads(b, op_of(l, UPDATE), d);
    grad = add_tensor(b, op_of(l, BACK), layer[l].activation, BERTH_TENSOR_BATCH);
  }
  return finish(b);
}

/* ---- problems ---- */

typedef struct deploy_setting {
  int32_t batch, op_groups, devices;
  double speed[MOST_DEVICES], memory[MOST_DEVICES], bandwidth, latency;
  berth_deploy_options o; /* batch, op_groups and points are put in */
  berth_sim_options sim;
  bool given;             /* sim is */
  bool points;            /* the graph at half the batch takes `half` of the times */
  double half;
  berth_cost_model model;
} deploy_setting;

static deploy_setting setting(int32_t devices, int32_t batch, int32_t op_groups) {
  deploy_setting s;
  memset(&s, 0, sizeof s);
  s.batch = batch;
  s.op_groups = op_groups;
  s.devices = devices;
  s.bandwidth = 1e9;
  s.latency = 1e-6;
  for (int32_t k = 0; k < MOST_DEVICES; k++) {
    s.speed[k] = 1;
    s.memory[k] = INFINITY;
  }
  s.o = berth_deploy_default(BERTH_PHYSICAL);
  s.half = 1;
  return s;
}

static berth_topology *star(const deploy_setting *s) {
  berth_device d[MOST_DEVICES];
  for (int32_t k = 0; k < s->devices; k++) {
    d[k] = berth_device_default();
    d[k].speed = s->speed[k];
    d[k].memory = s->memory[k];
  }
  return star_of(s->devices, d, (berth_link){ s->bandwidth, s->latency });
}

static berth_status problem_of(berth_graph *g, const deploy_setting *s, berth_deploy **out) {
  berth_topology *t = star(s);
  berth_cost *cost = NULL, *point = NULL;
  berth_cost_model half = s->model;
  berth_deploy_options o = s->o;
  int32_t batch = s->batch / 2;
  berth_status st = t ? berth_cost_new(g, t, &s->model, &cost) : BERTH_ENOMEM;
  o.batch = s->batch;
  o.op_groups = s->op_groups;
  half.op_factor = s->half;
  if (st == BERTH_OK && s->points) {
    o.n_points = 1;
    o.point_batch = &batch;
    o.point_cost = &point;
    st = berth_cost_new(g, t, &half, &point);
  }
  TRY(st, berth_deploy_new(cost, s->given ? &s->sim : NULL, &o, out));
  RELEASE(point, cost, t);
  return st;
}

static berth_deploy *problem(int32_t n, const layer_row *layer, const deploy_setting *s) {
  berth_graph *g = chain_of(n, layer);
  berth_deploy *d = NULL;
  CHECK_OK(g ? problem_of(g, s, &d) : BERTH_ENOMEM);
  if (!d) printf("# %s\n", berth_errmsg(ctx));
  RELEASE(g);
  return OWNED(d);
}

static int32_t find_action(const berth_deploy *d, int32_t devices, int32_t first,
                           berth_deploy_option option, berth_deploy_shares shares) {
  const berth_action *a;
  const int32_t *list;
  int32_t n = berth_deploy_actions(d, &a);
  for (int32_t k = 0; k < n; k++) {
    if (berth_deploy_set(d, a[k].set, &list) == devices && list[0] == first && a[k].option == option
        && a[k].shares == shares)
      return k;
  }
  return BERTH_NONE;
}

static void uniform(const berth_deploy *d, int32_t action, int32_t *out) {
  for (int32_t g = 0; g < berth_deploy_groups(d); g++) out[g] = action;
}

static berth_deploy_value value_of(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   double *peak) {
  berth_deploy_value v = { 0, 0, 0, BERTH_NONE, 0, 0, 0 };
  berth_status st = berth_deploy_evaluate(d, action, duplicate, peak, &v);
  CHECK_OK(st);
  return v;
}

/* ---- at random ---- */

static double draw(berth_rng *r, double low, double high) {
  return low * pow(high / low, berth_rng_uniform(r));
}

static void draw_layers(berth_rng *r, int32_t n, layer_row *layer) {
  for (int32_t l = 0; l < n; l++)
    layer[l] = (layer_row){ draw(r, 1e-4, 1e-2), draw(r, 1e4, 1e7), draw(r, 1e4, 1e8) };
}

static deploy_setting draw_setting(berth_rng *r) {
  deploy_setting s =
      setting(2 + berth_rng_below(r, 4), 3 + berth_rng_below(r, 30), 1 + berth_rng_below(r, 6));
  for (int32_t k = 0; k < s.devices; k++) s.speed[k] = berth_rng_below(r, 2) ? 1 : 2.5;
  s.bandwidth = draw(r, 1e8, 1e11);
  s.o = berth_deploy_default(berth_rng_below(r, 4) == 0 ? BERTH_PUBLISHED : BERTH_PHYSICAL);
  s.o.duplicates = 1;
  s.o.uneven = 1;
  s.o.bucket = (berth_bucket)berth_rng_below(r, 3);
  s.o.bucket_bytes = 1e7;
  s.points = berth_rng_below(r, 3) == 0;
  s.half = draw(r, 0.3, 1.2);
  s.model.whole_us = berth_rng_below(r, 3) == 0;
  if ((s.given = berth_rng_below(r, 2))) {
    s.sim = berth_sim_default(NULL);
    s.sim.links = berth_rng_below(r, 2) ? BERTH_LINKS_ROUTE : BERTH_LINKS_FREE;
    s.sim.quantum = berth_rng_below(r, 2) ? 1e-6 : 0;
  }
  return s;
}

#endif
