/* Small training graphs, devices and problems for the tests of compiled graphs. */
#ifndef BERTH_DEPLOY_HELP_H
#define BERTH_DEPLOY_HELP_H

#include "../../core/deploy/compiled_internal.h"
#include "refusals.h"

enum { MOST_LAYERS = 10, MOST_DEVICES = 6 };

/* ---- training graphs ------------------------------------------------------------------------------ */

typedef struct Build {
  berth_graph_builder *b;
  berth_status st;
  int32_t n;
} Build;

static inline int32_t add_op(Build *x, const char *kind, double seconds, double params, uint32_t flags, int32_t group) {
  berth_op op = berth_op_default();
  int32_t id = 0;
  op.kind = kind;
  op.seconds = &seconds;
  op.param_bytes = params;
  op.flags = flags;
  op.group = group;
  op.workspace_bytes = 16;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_op(x->b, &op, &id);
  x->n++;
  return id;
}

static inline int32_t add_tensor(Build *x, int32_t producer, double bytes, uint32_t flags) {
  berth_tensor t = { producer, bytes, -1, flags };
  int32_t id = 0;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_tensor(x->b, &t, &id);
  return id;
}

static inline void reads(Build *x, int32_t op, int32_t tensor) {
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_consumer(x->b, tensor, op);
}

static inline berth_graph *finish(Build *x) {
  berth_graph *g = NULL;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_finish(x->b, &g);
  CHECK(x->st == BERTH_OK || x->st == BERTH_ENOMEM);
  berth_graph_builder_release(x->b);
  return g;
}

/* ---- devices -------------------------------------------------------------------------------------- */

/* Device k is in machine k / 2; speeds 1 or those given; 1 B/s of memory bandwidth unless rate says otherwise. */
static inline berth_topology *devices(berth_ctx *ctx, int32_t n, const double *speed, double rate) {
  berth_topology_builder *b = NULL;
  berth_topology *t = NULL;
  berth_link link = { 10, 0.5 };
  int32_t k, hub, node;
  if (berth_topology_builder_new(ctx, &b) != BERTH_OK) return NULL;
  if (berth_topology_builder_add_switch(b, "hub", &hub) != BERTH_OK) goto done;
  for (k = 0; k < n; k++) {
    berth_device d = berth_device_default();
    d.speed = speed ? speed[k] : 1;
    d.machine = k / 2;
    d.memory_bandwidth = rate;
    if (berth_topology_builder_add_device(b, &d, NULL, &node) != BERTH_OK) goto done;
    if (berth_topology_builder_add_duplex(b, node, hub, &link, NULL) != BERTH_OK) goto done;
  }
  if (berth_topology_builder_finish(b, &t) != BERTH_OK) t = NULL;
done:
  berth_topology_builder_release(b);
  return t;
}

static inline berth_deploy *problem(berth_graph *g, berth_topology *t, const berth_deploy_options *o) {
  berth_cost *cost = NULL;
  berth_deploy *d = NULL;
  berth_status st = g && t ? berth_cost_new(g, t, NULL, &cost) : BERTH_ENOMEM;
  if (st == BERTH_OK) st = berth_deploy_new(cost, NULL, o, &d);
  if (st != BERTH_OK && st != BERTH_ENOMEM) printf("# %s\n", berth_errmsg(g->ctx));
  CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
  berth_cost_release(cost);
  berth_graph_release(g);
  berth_topology_release(t);
  return d;
}

#endif
