/* Layout of a topology. Routes are kept flat: device pair -> list of links. */
#ifndef BERTH_TOPOLOGY_INTERNAL_H
#define BERTH_TOPOLOGY_INTERNAL_H

#include "../base/base_internal.h"
#include <berth/topology.h>

struct berth_topology {
  berth_ctx *ctx;
  int32_t refs;
  char *name;
  int32_t n_devices, n_nodes, n_links;
  berth_device *devices;     /* [n_devices]; names and types owned */
  char **node_name;          /* [n_nodes] */
  int32_t *node_device;      /* [n_nodes] device index, BERTH_NONE: switch */
  int32_t *device_node;      /* [n_devices] */
  int32_t *from, *to;        /* [n_links] nodes */
  berth_link *links;         /* [n_links] */
  int64_t *route_at;         /* [n_devices^2 + 1] into route */
  int32_t *route;            /* links */
  double *latency;           /* [n_devices^2] src-major; 0 on the diagonal, INFINITY: unreachable */
  double *bandwidth;         /* [n_devices^2] INFINITY on the diagonal and where unreachable (latency tells) */
  uint8_t *route_set;        /* [n_devices^2] 1: given by set_route */
};

static inline size_t berth_i_pair(const berth_topology *t, int32_t src, int32_t dst) {
  return (size_t)src * (size_t)t->n_devices + (size_t)dst;
}

/** For messages: `device 3 "gpu3"` into buf[size]; returns buf. */
const char *berth_i_device_label(const berth_topology *t, int32_t device, char *buf, size_t size);

#endif
