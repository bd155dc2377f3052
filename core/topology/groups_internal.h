/* What the two ways to wire device groups (explicit routes; ports) share: the cluster while it is
 * built. */
#ifndef BERTH_GROUPS_INTERNAL_H
#define BERTH_GROUPS_INTERNAL_H

#include "topology_internal.h"

/** A cluster of device groups while it is built. Devices are the nodes 0 .. n - 1. */
typedef struct berth_i_net {
  berth_ctx *ctx;
  berth_i_pool pool;
  berth_topology_builder *b;
  const berth_groups *spec;
  int32_t n, n_machines, n_racks;
  int32_t *first;   /* [groups + 1] first device of each */
  int32_t *group;   /* [n] of each device */
  int32_t *machine; /* [n] of each device, numbered on through the groups */
  int32_t *enter;   /* [n] first link on the way out of a device */
  int32_t *leave;   /* [n] last link on the way into a device */
} berth_i_net;

/** Ports of devices, network cards of machines, racks. */
berth_status berth_i_groups_ports(berth_i_net *t);
berth_status berth_i_groups_link(berth_i_net *t, int32_t from, int32_t to, double bandwidth,
                                 double latency, int32_t *link);
/** A switch named by letters and one number, or, if b is at least 0, two. */
berth_status berth_i_groups_switch(berth_i_net *t, const char *letters, int32_t a, int32_t b,
                                   int32_t *node);

static inline double berth_i_groups_between(const berth_groups *s, int32_t g, int32_t h) {
  return s->between[(size_t)g * (size_t)s->n + (size_t)h];
}
/** Is there a route from group g to h that leaves a machine? */
static inline bool berth_i_groups_meet(const berth_groups *s, int32_t g, int32_t h) {
  return g != h || s->group[g].machines > 1;
}

#endif
