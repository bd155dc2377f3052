/* Layout of a topology. Routes are kept flat, and share storage: from one source, the route to a
 * device that lies on the route to another is the head of that longer route. So read them by
 * route_first and route_len (or berth_topology_route). */
#ifndef BERTH_TOPOLOGY_INTERNAL_H
#define BERTH_TOPOLOGY_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/topology.h>

struct berth_topology {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  char *name;
  int32_t n_devices, n_nodes, n_links;
  berth_device *devices;     /* [n_devices]; names point into node_name, types into types */
  berth_i_names types;       /* each device type once */
  int32_t *type;             /* [n_devices] index into types */
  char **node_name;          /* [n_nodes] */
  int32_t *node_device;      /* [n_nodes] device index, BERTH_NONE: switch */
  int32_t *device_node;      /* [n_devices] */
  int32_t *from, *to;        /* [n_links] nodes */
  berth_link *links;         /* [n_links] */
  int64_t *route_first;      /* [n_devices^2] into route */
  int32_t *route_len;        /* [n_devices^2] links; 0 on the diagonal, -1: unreachable */
  int32_t *route;            /* [n_route] links */
  size_t n_route;
  double *latency;           /* [n_devices^2] src-major; 0 on the diagonal, INFINITY: unreachable */
  double *bandwidth;         /* [n_devices^2] INFINITY on the diagonal and where unreachable
                                (see latency) */
  uint8_t *route_set;        /* [n_devices^2] 1: given by set_route */
};

/** One given route: n links from pool + at. */
typedef struct berth_i_forced {
  int32_t src, dst, n;
  size_t at;
} berth_i_forced;

/** Fills the route arrays and the tables of latency and bandwidth of t, which has all else; forced
 *  routes go last.
 *  O(devices x links) where few bandwidths differ. */
berth_status berth_i_topology_route_all(berth_topology *t, const berth_i_forced *forced,
                                        size_t n_forced, const int32_t *pool);
/** EINVAL with the values, unless bandwidth > 0 and 0 <= latency < infinity; `what` opens the
 * message. */
berth_status berth_i_check_link(berth_ctx *ctx, const char *what, const berth_link *l);

static inline size_t berth_i_pair(const berth_topology *t, int32_t src, int32_t dst) {
  return (size_t)src * (size_t)t->n_devices + (size_t)dst;
}

/** Streaming multiprocessors of a preset; 0: unknown, or no preset of that name. */
int32_t berth_i_device_sms(const char *type);
/** For messages: `device 3 "gpu3"` into buf[size]; returns buf. */
const char *berth_i_device_label(const berth_topology *t, int32_t device, char *buf, size_t size);

#endif
