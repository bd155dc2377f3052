/* Reading a topology: sizes, devices, links, routes; counted references. All arrays are in one
 * pool. */
#include "topology_internal.h"
#include <stdio.h>

void berth_topology_retain(berth_topology *t) { t->refs++; }

void berth_topology_release(berth_topology *t) {
  if (!t || --t->refs > 0) return;
  berth_ctx *ctx = t->ctx;
  berth_i_names_release(ctx, &t->types);
  berth_i_pool_free(&t->pool);
  berth_ctx_release(ctx);
}

const char *berth_topology_name(const berth_topology *t) { return t->name; }
int32_t berth_topology_devices(const berth_topology *t) { return t->n_devices; }
int32_t berth_topology_nodes(const berth_topology *t) { return t->n_nodes; }
int32_t berth_topology_links(const berth_topology *t) { return t->n_links; }

static berth_status out_of_range(const berth_topology *t, const char *what, int32_t id, int32_t n) {
  return berth_i_fail(t->ctx, BERTH_EINVAL, "%s %d: the topology has %d", what, (int)id, (int)n);
}

berth_status berth_topology_device(const berth_topology *t, int32_t device, berth_device *out) {
  if (!t) return BERTH_EINVAL;
  if (device < 0 || device >= t->n_devices) return out_of_range(t, "device", device, t->n_devices);
  *out = t->devices[device];
  return BERTH_OK;
}

berth_status berth_topology_node(const berth_topology *t, int32_t node, const char **name,
                                 int32_t *device) {
  if (!t) return BERTH_EINVAL;
  if (node < 0 || node >= t->n_nodes) return out_of_range(t, "node", node, t->n_nodes);
  if (name) *name = t->node_name[node];
  if (device) *device = t->node_device[node];
  return BERTH_OK;
}

berth_status berth_topology_link(const berth_topology *t, int32_t link, int32_t *from, int32_t *to,
                                 berth_link *out) {
  if (!t) return BERTH_EINVAL;
  if (link < 0 || link >= t->n_links) return out_of_range(t, "link", link, t->n_links);
  if (from) *from = t->from[link];
  if (to) *to = t->to[link];
  if (out) *out = t->links[link];
  return BERTH_OK;
}

static bool is_device(const berth_topology *t, int32_t d) { return d >= 0 && d < t->n_devices; }

int32_t berth_topology_route(const berth_topology *t, int32_t src, int32_t dst,
                             const int32_t **links) {
  if (links) *links = NULL;
  if (!is_device(t, src) || !is_device(t, dst)) return -1;
  size_t pair = berth_i_pair(t, src, dst);
  if (links && t->route_len[pair] > 0) *links = t->route + t->route_first[pair];
  return t->route_len[pair];
}

berth_status berth_topology_path(const berth_topology *t, int32_t src, int32_t dst,
                                 berth_link *out) {
  if (!t) return BERTH_EINVAL;
  if (!is_device(t, src)) return out_of_range(t, "device", src, t->n_devices);
  if (!is_device(t, dst)) return out_of_range(t, "device", dst, t->n_devices);
  size_t pair = berth_i_pair(t, src, dst);
  char a[96], b[96];
  if (t->route_len[pair] < 0)
    return berth_i_fail(t->ctx, BERTH_EUNREACHABLE, "no route from %s to %s",
                        berth_i_device_label(t, src, a, sizeof a),
                        berth_i_device_label(t, dst, b, sizeof b));
  out->latency = t->latency[pair];
  out->bandwidth = t->bandwidth[pair];
  return BERTH_OK;
}

const char *berth_i_device_label(const berth_topology *t, int32_t device, char *buf, size_t size) {
  if (is_device(t, device))
    snprintf(buf, size, "device \"%s\"", t->devices[device].name);
  else
    snprintf(buf, size, "device %d", (int)device);
  return buf;
}
