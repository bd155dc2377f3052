/* Graphs and stars of devices for the tests of deployments. */
#ifndef BERTH_DEPLOY_BUILD_H
#define BERTH_DEPLOY_BUILD_H

#include "must.h"

enum { MOST_DEVICES = 6 };

/* After the first failure nothing more is added. */
typedef struct graph_build {
  berth_graph_builder *b;
  berth_status st;
  double workspace; /* of each op, bytes */
} graph_build;

static int32_t add_op(graph_build *x, const char *kind, double seconds, double params,
                      uint32_t flags, int32_t group) {
  berth_op op = berth_op_default();
  int32_t id = 0;
  op.kind = kind;
  op.seconds = &seconds;
  op.param_bytes = params;
  op.flags = flags;
  op.group = group;
  op.workspace_bytes = x->workspace;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_op(x->b, &op, &id);
  return id;
}

static int32_t add_tensor(graph_build *x, int32_t producer, double bytes, uint32_t flags) {
  berth_tensor t = { producer, bytes, -1, flags };
  int32_t id = 0;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_tensor(x->b, &t, &id);
  return id;
}

static void reads(graph_build *x, int32_t op, int32_t tensor) {
  if (x->st == BERTH_OK) x->st = berth_graph_builder_add_consumer(x->b, tensor, op);
}

/* NULL: out of memory */
static berth_graph *finish(graph_build *x) {
  berth_graph *g = NULL;
  if (x->st == BERTH_OK) x->st = berth_graph_builder_finish(x->b, &g);
  CHECK(x->st == BERTH_OK || x->st == BERTH_ENOMEM);
  RELEASE(x->b);
  return OWNED(g);
}

/* NULL: out of memory */
static berth_topology *star_of(int32_t n, const berth_device *device, berth_link link) {
  berth_topology_builder *b = NULL;
  berth_topology *t = NULL;
  if (berth_topology_builder_new(ctx, &b) != BERTH_OK) return NULL;
  int32_t hub;
  if (berth_topology_builder_add_switch(b, "hub", &hub) != BERTH_OK) goto done;
  int32_t node;
  for (int32_t k = 0; k < n; k++) {
    if (berth_topology_builder_add_device(b, &device[k], NULL, &node) != BERTH_OK) goto done;
    if (berth_topology_builder_add_duplex(b, node, hub, &link, NULL) != BERTH_OK) goto done;
  }
  if (berth_topology_builder_finish(b, &t) != BERTH_OK) t = NULL;
done:
  RELEASE(b);
  return OWNED(t);
}

#endif
