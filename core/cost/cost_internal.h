/* Layout of a priced graph; inline look-ups for the hot loops. */
#ifndef BERTH_COST_INTERNAL_H
#define BERTH_COST_INTERNAL_H

#include "../graph/graph_internal.h"
#include "../topology/topology_internal.h"
#include <berth/cost.h>

struct berth_cost {
  berth_ctx *ctx;
  int32_t refs;
  berth_graph *g;
  berth_topology *t;
  int32_t n_devices, n_classes; /* devices of one class price every op alike */
  int32_t *class_of;            /* [n_devices] */
  double *op;                   /* [n_ops * n_classes] s; BERTH_UNSUPPORTED. Pins are not in here: see berth_i_can_run */
  double *uniform;              /* [n_tensors] s between any two devices, if all pairs are alike; else NULL */
  double *table;                /* [n_tensors * n_devices^2] s from model->transfer; else NULL */
  double transfer_factor;
  int free_control;
  double op_factor;
  /* NULL: built-in */
  berth_status (*collective)(void *ud, int32_t collective, int32_t n, const int32_t *devices, double *seconds);
  void *ud;
  int32_t *class_device;        /* [n_classes] lowest device of each */
  int32_t *class_size;          /* [n_classes] devices in each */
  bool unproved;                /* no proof was found that memory cannot do, under the policy and the multiple: not sought again */
  int unproved_memory;
  double unproved_multiple;
};

/** Seconds on a device, pins ignored. */
static inline double berth_i_op_time(const berth_cost *c, int32_t op, int32_t device) {
  return c->op[(size_t)op * (size_t)c->n_classes + (size_t)c->class_of[device]];
}
/** Type and pin allow it. */
static inline bool berth_i_can_run(const berth_cost *c, int32_t op, int32_t device) {
  int32_t pin = berth_i_pin(c->g, op);
  return (pin == BERTH_NONE || pin == device) && !isinf(berth_i_op_time(c, op, device));
}
/** Seconds from src to dst; 0 if they are the same; INFINITY if unreachable. */
static inline double berth_i_transfer_time(const berth_cost *c, int32_t tensor, int32_t src, int32_t dst) {
  size_t pair;
  double bytes;
  if (src == dst) return 0;
  if (c->uniform) return c->uniform[tensor];
  pair = berth_i_pair(c->t, src, dst);
  if (c->table) return c->table[(size_t)tensor * (size_t)c->n_devices * (size_t)c->n_devices + pair];
  bytes = c->g->tensor_bytes[tensor];
  if (bytes == 0 && c->free_control) return 0;
  return (c->t->latency[pair] + bytes / c->t->bandwidth[pair]) * c->transfer_factor;
}

#endif
