/* Layout of a priced graph; inline look-ups for the hot loops: op time by class of device, transfer
 * time by pair. */
#ifndef BERTH_COST_INTERNAL_H
#define BERTH_COST_INTERNAL_H

#include "graph/graph_internal.h"
#include "topology/topology_internal.h"
#include <berth/cost.h>

struct berth_cost {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_graph *g;
  berth_topology *t;
  int32_t n_devices, n_classes; /* devices of one class price every op alike */
  int32_t *class_of;            /* [n_devices] */
  double *op;                   /* [n_ops * n_classes] s; BERTH_UNSUPPORTED. Pins are not in here:
                                   see berth_i_can_run */
  double *uniform;              /* [n_tensors] s between any two devices, if all pairs are alike;
                                   else NULL */
  double *table;                /* [n_tensors * n_devices^2] s from model->transfer; else NULL */
  double transfer_factor;
  int free_control;
  double op_factor;
  /* NULL: built-in */
  berth_status (*collective)(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                             double *seconds);
  void *ud;
  berth_collective_algorithm algorithm;
  double lines[4];              /* LINES */
  double lines_bandwidth;       /* 0: lines hold whatever the bandwidth */
  double collective_bandwidth;  /* factor */
  bool whole_us;
  berth_kernels *kernels;       /* [n_classes] form KERNELS, NCCL; else NULL */
  berth_cost_form form;
  int32_t *device_group;        /* [n_devices] HIERARCHICAL, AUTO, NCCL; else NULL */
  int32_t *class_device;        /* [n_classes] lowest device of each */
  int32_t *class_size;          /* [n_classes] devices in each */
  bool unproved;                /* no proof was found that memory cannot do, under the policy and
                                   the multiple: not sought again */
  int unproved_memory;
  bool in_range;                /* berth_i_cost_check_range has found so */
  double unproved_multiple;
};

/* ---- collectives: on n >= 2 different devices, in the order of their first members ---- */

typedef struct berth_i_collective_price {
  double seconds;
  double latency;  /* of these, before the first byte of the last step; 0: unknown */
  berth_collective_algorithm algorithm;
  int32_t src, dst; /* BERTH_NONE, or a pair without a route: then the rest means nothing */
} berth_i_collective_price;

/** By the built-in ways. Allocates nothing: safe from several threads. O(n^2), O(n) if all pairs
 * of devices are alike. */
berth_i_collective_price berth_i_collective_built_in(const berth_cost *c, int32_t collective,
                                                     int32_t n, const int32_t *devices);
/** The same of a collective that is not in the graph. */
berth_i_collective_price berth_i_collective_of(const berth_cost *c, berth_collective_kind kind,
                                               double bytes, int32_t n, const int32_t *devices);
/** By the model's function, which gets the device of every member. On the calling thread only. */
berth_status berth_i_collective_function(const berth_cost *c, int32_t collective, int32_t n,
                                         const int32_t *devices, double *seconds);
berth_status berth_i_collective_unreachable(const berth_cost *c, int32_t collective, int32_t src,
                                            int32_t dst);

/** What goes over the wires: each call names an ordered pair of different devices, and the bytes
 *  that cross between them in all. A pair may come up more than once. LINES and FUNCTION: as RING
 *  would. */
typedef void (*berth_i_flow_fn)(void *ud, int32_t src, int32_t dst, double bytes);
void berth_i_collective_flows(const berth_cost *c, int32_t collective,
                              berth_collective_algorithm algorithm, int32_t n,
                              const int32_t *devices, berth_i_flow_fn flow, void *ud);
/** Calls at most, whatever the algorithm is. */
size_t berth_i_collective_most_flows(berth_collective_kind kind, int32_t n);

/** Fast groups of devices.  @param group [n_devices] out, the lowest device of each */
berth_status berth_i_device_groups(berth_ctx *ctx, const berth_topology *t, int32_t *group);

/** What is left of a time when it is cut off to whole microseconds; rounding is no reason to lose
 * one. */
static inline double berth_i_whole_us(double seconds) {
  double us = seconds * 1e6, near = nearbyint(us);
  if (!(us < 9007199254740992.0)) return seconds;
  return (fabs(us - near) <= 1e-12 * near ? near : trunc(us)) / 1e6;
}
/** Seconds of bytes over a route, factor included. */
static inline double berth_i_route_seconds(const berth_cost *c, double latency, double bandwidth,
                                           double bytes) {
  double crossing = c->whole_us ? trunc(bytes * 1e6 / bandwidth) / 1e6 : bytes / bandwidth;
  return (latency + crossing) * c->transfer_factor;
}

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
static inline double berth_i_transfer_time(const berth_cost *c, int32_t tensor, int32_t src,
                                           int32_t dst) {
  if (src == dst) return 0;
  if (c->uniform) return c->uniform[tensor];
  size_t pair = berth_i_pair(c->t, src, dst);
  if (c->table)
    return c->table[(size_t)tensor * (size_t)c->n_devices * (size_t)c->n_devices + pair];
  double bytes = c->g->tensor_bytes[tensor];
  if (bytes == 0 && c->free_control) return isinf(c->t->latency[pair]) ? INFINITY : 0;
  return berth_i_route_seconds(c, c->t->latency[pair], c->t->bandwidth[pair], bytes);
}

/** Before placers run: can no sum of times or sizes of the graph overflow? O(ops x classes of
 *  devices + tensors + links).
 *  @return BERTH_OK; BERTH_EUNSUPPORTED ("times are too large: ...") */
berth_status berth_i_cost_check_range(berth_cost *c);

/* averages.c, collective.c; NULL-terminated */
extern const berth_choice *const berth_i_average_choices[], *const berth_i_collective_algorithms[];

/** s of an op without a profile that do not depend on its size. */
static inline double berth_i_op_start(const berth_cost *c, int32_t device) {
  const berth_device *d = &c->t->devices[device];
  if (c->form != BERTH_FORM_KERNELS) return d->overhead * c->op_factor;
  return c->kernels[c->class_of[device]].gemm.launch / d->speed * c->op_factor;
}
/** The constants of the device's type were fitted to it in that arithmetic. */
bool berth_i_kernels_fitted(const berth_device *d, const char *dtype);

#endif
