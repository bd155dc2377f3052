/* Reading a topology. */
#include "topology_internal.h"
#include <stdio.h>

void berth_topology_retain(berth_topology *t) { t->refs++; }

static void free_nodes(berth_topology *t) {
  int32_t i;
  if (t->node_name)
    for (i = 0; i < t->n_nodes; i++) berth_i_strfree(t->ctx, t->node_name[i]);
  berth_i_free(t->ctx, t->node_name, (size_t)t->n_nodes, sizeof *t->node_name);
  berth_i_free(t->ctx, t->node_device, (size_t)t->n_nodes, sizeof *t->node_device);
}

static void free_devices(berth_topology *t) {
  size_t n = (size_t)t->n_devices;
  berth_i_free(t->ctx, t->devices, n, sizeof *t->devices);
  berth_i_free(t->ctx, t->type, n, sizeof *t->type);
  berth_i_free(t->ctx, t->device_node, n, sizeof *t->device_node);
  berth_i_names_release(t->ctx, &t->types);
}

static void free_links(berth_topology *t) {
  size_t n = (size_t)t->n_links;
  berth_i_free(t->ctx, t->from, n, sizeof *t->from);
  berth_i_free(t->ctx, t->to, n, sizeof *t->to);
  berth_i_free(t->ctx, t->links, n, sizeof *t->links);
}

static void free_routes(berth_topology *t) {
  size_t pairs = (size_t)t->n_devices * (size_t)t->n_devices;
  berth_i_free(t->ctx, t->route_first, pairs, sizeof *t->route_first);
  berth_i_free(t->ctx, t->route_len, pairs, sizeof *t->route_len);
  berth_i_free(t->ctx, t->latency, pairs, sizeof *t->latency);
  berth_i_free(t->ctx, t->bandwidth, pairs, sizeof *t->bandwidth);
  berth_i_free(t->ctx, t->route_set, pairs, sizeof *t->route_set);
  berth_i_free(t->ctx, t->route, t->n_route, sizeof *t->route);
}

void berth_topology_release(berth_topology *t) {
  berth_ctx *ctx;
  if (!t || --t->refs > 0) return;
  ctx = t->ctx;
  free_nodes(t);
  free_devices(t);
  free_links(t);
  free_routes(t);
  berth_i_strfree(ctx, t->name);
  berth_i_free(ctx, t, 1, sizeof *t);
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
  if (device < 0 || device >= t->n_devices) return out_of_range(t, "device", device, t->n_devices);
  *out = t->devices[device];
  return BERTH_OK;
}

berth_status berth_topology_node(const berth_topology *t, int32_t node, const char **name, int32_t *device) {
  if (node < 0 || node >= t->n_nodes) return out_of_range(t, "node", node, t->n_nodes);
  if (name) *name = t->node_name[node];
  if (device) *device = t->node_device[node];
  return BERTH_OK;
}

berth_status berth_topology_link(const berth_topology *t, int32_t link, int32_t *from, int32_t *to, berth_link *out) {
  if (link < 0 || link >= t->n_links) return out_of_range(t, "link", link, t->n_links);
  if (from) *from = t->from[link];
  if (to) *to = t->to[link];
  if (out) *out = t->links[link];
  return BERTH_OK;
}

static bool is_device(const berth_topology *t, int32_t d) { return d >= 0 && d < t->n_devices; }

int32_t berth_topology_route(const berth_topology *t, int32_t src, int32_t dst, const int32_t **links) {
  size_t pair;
  if (links) *links = NULL;
  if (!is_device(t, src) || !is_device(t, dst)) return -1;
  pair = berth_i_pair(t, src, dst);
  if (links && t->route_len[pair] > 0) *links = t->route + t->route_first[pair];
  return t->route_len[pair];
}

berth_status berth_topology_path(const berth_topology *t, int32_t src, int32_t dst, berth_link *out) {
  char a[96], b[96];
  size_t pair;
  if (!is_device(t, src)) return out_of_range(t, "device", src, t->n_devices);
  if (!is_device(t, dst)) return out_of_range(t, "device", dst, t->n_devices);
  pair = berth_i_pair(t, src, dst);
  if (t->route_len[pair] < 0)
    return berth_i_fail(t->ctx, BERTH_EUNREACHABLE, "no route from %s to %s", berth_i_device_label(t, src, a, sizeof a),
                        berth_i_device_label(t, dst, b, sizeof b));
  out->latency = t->latency[pair];
  out->bandwidth = t->bandwidth[pair];
  return BERTH_OK;
}

const char *berth_i_device_label(const berth_topology *t, int32_t device, char *buf, size_t size) {
  if (is_device(t, device))
    snprintf(buf, size, "device %d \"%s\"", (int)device, t->devices[device].name);
  else
    snprintf(buf, size, "device %d", (int)device);
  return buf;
}
