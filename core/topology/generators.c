/* The usual machines and networks: mesh, ring, star, PCIe tree, DGX-1, fat tree, torus, two levels.
 * Each is a sequence of calls of the builder, so that node and link ids follow from the loops; ids
 * are part of the interface, as ties between routes go to the lowest link id. */
#include "topology_internal.h"
#include <stdio.h>

typedef berth_topology_builder builder;

/* A builder with n copies of proto: nodes and devices 0..n-1. */
static berth_status begin(berth_ctx *ctx, int64_t n, const berth_device *proto, builder **out) {
  builder *b = NULL;
  if (!proto) return berth_i_fail(ctx, BERTH_EINVAL, "no description of the devices given");
  if (n < 1 || n > BERTH_MOST_DEVICES)
    return berth_i_fail(ctx, BERTH_EINVAL, "%lld devices: must be 1 to %d", (long long)n,
                        BERTH_MOST_DEVICES);
  berth_status st;
  if ((st = berth_topology_builder_new(ctx, &b)) != BERTH_OK) return st;
  berth_device d = *proto;
  d.name = NULL;
  for (int64_t i = 0; i < n && st == BERTH_OK; i++)
    st = berth_topology_builder_add_device(b, &d, NULL, NULL);
  if (st != BERTH_OK) {
    berth_topology_builder_release(b);
    return st;
  }
  *out = b;
  return BERTH_OK;
}

/* Takes the builder in any case. */
static berth_status end(builder *b, berth_status st, const char *name, berth_topology **out) {
  if (st == BERTH_OK) st = berth_topology_builder_name(b, name);
  if (st == BERTH_OK) st = berth_topology_builder_finish(b, out);
  berth_topology_builder_release(b);
  return st;
}

static berth_status add_switches(builder *b, int32_t n, const char *letters, int32_t *first) {
  char name[48];
  berth_status st = BERTH_OK;
  int32_t node;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    snprintf(name, sizeof name, "%s%d", letters, (int)i);
    st = berth_topology_builder_add_switch(b, name, &node);
    if (st == BERTH_OK && i == 0) *first = node;
  }
  return st;
}

static berth_status duplex(builder *b, int32_t a, int32_t c, const berth_link *l) {
  return berth_topology_builder_add_duplex(b, a, c, l, NULL);
}

/* ---- one level ---- */

berth_status berth_topology_mesh(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  builder *b;
  berth_status st = berth_i_check_link(ctx, "mesh", link);
  if (st == BERTH_OK && (int64_t)n * (n - 1) > BERTH_MOST_LINKS)
    st = berth_i_fail(ctx, BERTH_EINVAL, "mesh of %d devices: more than %d links", (int)n,
                      BERTH_MOST_LINKS);
  if (st != BERTH_OK || (st = begin(ctx, n, proto, &b)) != BERTH_OK) return st;
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = i + 1; j < n && st == BERTH_OK; j++) st = duplex(b, i, j, link);
  char name[48];
  snprintf(name, sizeof name, "mesh %d", (int)n);
  return end(b, st, name, out);
}

berth_status berth_topology_ring(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  builder *b;
  berth_status st = berth_i_check_link(ctx, "ring", link);
  if (st != BERTH_OK || (st = begin(ctx, n, proto, &b)) != BERTH_OK) return st;
  for (int32_t i = 0; i + 1 < n && st == BERTH_OK; i++) st = duplex(b, i, i + 1, link);
  if (n > 2 && st == BERTH_OK) st = duplex(b, n - 1, 0, link);
  char name[48];
  snprintf(name, sizeof name, "ring %d", (int)n);
  return end(b, st, name, out);
}

berth_status berth_topology_star(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  builder *b;
  int32_t hub = 0;
  berth_status st = berth_i_check_link(ctx, "star", link);
  if (st != BERTH_OK || (st = begin(ctx, n, proto, &b)) != BERTH_OK) return st;
  st = berth_topology_builder_add_switch(b, "switch", &hub);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) st = duplex(b, i, hub, link);
  char name[48];
  snprintf(name, sizeof name, "star %d", (int)n);
  return end(b, st, name, out);
}

/* ---- machines ---- */

static berth_status check_two(berth_ctx *ctx, const char *what_a, const berth_link *a,
                              const char *what_b, const berth_link *b) {
  berth_status st = berth_i_check_link(ctx, what_a, a);
  return st == BERTH_OK ? berth_i_check_link(ctx, what_b, b) : st;
}

berth_status berth_topology_pcie_tree(berth_ctx *ctx, int32_t n, int32_t fan_out,
                                      const berth_device *proto, const berth_link *down,
                                      const berth_link *up, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  int32_t root = 0, sw = 0;
  berth_status st = check_two(ctx, "pcie_tree: link below the switches", down,
                              "pcie_tree: link above the switches", up);
  if (st != BERTH_OK) return st;
  if (fan_out < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "pcie_tree: fan-out %d must be at least 1",
                        (int)fan_out);
  builder *b;
  if ((st = begin(ctx, n, proto, &b)) != BERTH_OK) return st;
  int32_t n_switches = (n - 1) / fan_out + 1;
  st = berth_topology_builder_add_switch(b, "root", &root);
  if (st == BERTH_OK) st = add_switches(b, n_switches, "pcie", &sw);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) st = duplex(b, i, sw + i / fan_out, down);
  for (int32_t i = 0; i < n_switches && st == BERTH_OK; i++) st = duplex(b, sw + i, root, up);
  char name[64];
  snprintf(name, sizeof name, "pcie tree %d, fan-out %d", (int)n, (int)fan_out);
  return end(b, st, name, out);
}

/* Six bricks leave each device. */
static const struct {
  int8_t a, b, bricks;
} cube_mesh[] = { { 0, 1, 1 }, { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 2 }, { 1, 2, 2 }, { 1, 3, 1 },
                  { 1, 5, 2 }, { 2, 3, 2 }, { 2, 6, 1 }, { 3, 7, 1 }, { 4, 5, 1 }, { 4, 6, 1 },
                  { 4, 7, 2 }, { 5, 6, 2 }, { 5, 7, 1 }, { 6, 7, 2 } };

static berth_status add_cube_mesh(builder *b, const berth_link *brick) {
  berth_status st = BERTH_OK;
  for (size_t i = 0; i < sizeof cube_mesh / sizeof *cube_mesh && st == BERTH_OK; i++) {
    berth_link l = *brick;
    l.bandwidth *= cube_mesh[i].bricks;
    st = duplex(b, cube_mesh[i].a, cube_mesh[i].b, &l);
  }
  return st;
}

static berth_status add_dgx1_pcie(builder *b, const berth_link *pcie) {
  int32_t sw = 0, cpu = 0;
  berth_status st = add_switches(b, 4, "pcie", &sw);
  if (st == BERTH_OK) st = add_switches(b, 2, "cpu", &cpu);
  for (int32_t i = 0; i < 8 && st == BERTH_OK; i++) st = duplex(b, i, sw + i / 2, pcie);
  for (int32_t i = 0; i < 4 && st == BERTH_OK; i++) st = duplex(b, sw + i, cpu + i / 2, pcie);
  return st == BERTH_OK ? duplex(b, cpu, cpu + 1, pcie) : st;
}

berth_status berth_topology_dgx1(berth_ctx *ctx, const berth_device *proto,
                                 const berth_link *nvlink, const berth_link *pcie,
                                 berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  builder *b;
  berth_status st = check_two(ctx, "dgx1: NVLink", nvlink, "dgx1: PCIe", pcie);
  if (st != BERTH_OK || (st = begin(ctx, 8, proto, &b)) != BERTH_OK) return st;
  st = add_cube_mesh(b, nvlink);
  if (st == BERTH_OK) st = add_dgx1_pcie(b, pcie);
  return end(b, st, "dgx1", out);
}

static berth_status add_machine_devices(builder *b, int32_t machines, int32_t per_machine,
                                        const berth_device *proto) {
  berth_device d = *proto;
  berth_status st = BERTH_OK;
  d.name = NULL;
  for (int32_t m = 0; m < machines; m++)
    for (int32_t i = 0; i < per_machine && st == BERTH_OK; i++) {
      d.machine = m;
      st = berth_topology_builder_add_device(b, &d, NULL, NULL);
    }
  return st;
}

berth_status berth_topology_two_level(berth_ctx *ctx, int32_t machines, int32_t per_machine,
                                      const berth_device *proto, const berth_link *inside,
                                      const berth_link *between, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  builder *b = NULL;
  int32_t hub = 0, sw = 0;
  berth_status st = check_two(ctx, "two_level: link inside a machine", inside,
                              "two_level: link between machines", between);
  if (st != BERTH_OK) return st;
  if (!proto) return berth_i_fail(ctx, BERTH_EINVAL, "no description of the devices given");
  if (machines < 1 || per_machine < 1 || machines > INT32_MAX / per_machine)
    return berth_i_fail(ctx, BERTH_EINVAL, "two_level: %d machines of %d devices", (int)machines,
                        (int)per_machine);
  if ((st = berth_topology_builder_new(ctx, &b)) != BERTH_OK) return st;
  int32_t n = machines * per_machine;
  st = add_machine_devices(b, machines, per_machine, proto);
  if (st == BERTH_OK) st = berth_topology_builder_add_switch(b, "network", &hub);
  if (st == BERTH_OK) st = add_switches(b, machines, "machine", &sw);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) st = duplex(b, i, sw + i / per_machine, inside);
  for (int32_t i = 0; i < machines && st == BERTH_OK; i++) st = duplex(b, sw + i, hub, between);
  char name[64];
  snprintf(name, sizeof name, "%d machines of %d", (int)machines, (int)per_machine);
  return end(b, st, name, out);
}

/* ---- networks ---- */

/* As ties go to the lowest link id, the order in which up-links are added decides which one a
 * switch uses: edge switch e goes up through aggregation switch e, and that one, in pod p, to its
 * core switch p modulo k / 2, so that edges do not cross. */
static berth_status add_pod(builder *b, int32_t p, int32_t h, int32_t edge, int32_t agg,
                            int32_t core, const berth_link *link) {
  berth_status st = BERTH_OK;
  for (int32_t e = 0; e < h; e++)
    for (int32_t j = 0; j < h && st == BERTH_OK; j++)
      st = duplex(b, (p * h + e) * h + j, edge + p * h + e, link);
  for (int32_t e = 0; e < h; e++)
    for (int32_t j = 0; j < h && st == BERTH_OK; j++)
      st = duplex(b, edge + p * h + e, agg + p * h + (e + j) % h, link);
  for (int32_t e = 0; e < h; e++)
    for (int32_t j = 0; j < h && st == BERTH_OK; j++)
      st = duplex(b, agg + p * h + e, core + e * h + (p + j) % h, link);
  return st;
}

berth_status berth_topology_fat_tree(berth_ctx *ctx, int32_t k, const berth_device *proto,
                                     const berth_link *link, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  int32_t h = k / 2, edge = 0, agg = 0, core = 0;
  berth_status st = berth_i_check_link(ctx, "fat_tree", link);
  if (st != BERTH_OK) return st;
  if (k < 2 || k % 2 || k > 2048)
    return berth_i_fail(ctx, BERTH_EINVAL, "fat_tree: k = %d must be even, 2 to 2048", (int)k);
  builder *b;
  if ((st = begin(ctx, (int64_t)k * h * h, proto, &b)) != BERTH_OK) return st;
  st = add_switches(b, k * h, "edge", &edge);
  if (st == BERTH_OK) st = add_switches(b, k * h, "agg", &agg);
  if (st == BERTH_OK) st = add_switches(b, h * h, "core", &core);
  for (int32_t p = 0; p < k && st == BERTH_OK; p++) st = add_pod(b, p, h, edge, agg, core, link);
  char name[48];
  snprintf(name, sizeof name, "fat tree %d", (int)k);
  return end(b, st, name, out);
}

static berth_status torus_size(berth_ctx *ctx, int32_t n_dims, const int32_t *dims, int64_t *n) {
  if (n_dims < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "torus: %d dimensions, must be at least 1", (int)n_dims);
  *n = 1;
  for (int32_t i = 0; i < n_dims; i++) {
    if (dims[i] < 1)
      return berth_i_fail(ctx, BERTH_EINVAL, "torus: dimension %d is %d, must be at least 1",
                          (int)i, (int)dims[i]);
    *n *= dims[i];
    if (*n > BERTH_MOST_DEVICES)
      return berth_i_fail(ctx, BERTH_EINVAL, "torus: more than %d devices", BERTH_MOST_DEVICES);
  }
  return BERTH_OK;
}

/* One step up in a dimension, whose neighbours lie `stride` apart; a size of 2 has one link, not
 * two, and of 1 none. */
static berth_status add_torus_steps(builder *b, int32_t n, int32_t size, int32_t stride,
                                    const berth_link *link) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    int32_t x = i / stride % size;
    if (x + 1 < size) {
      st = duplex(b, i, i + stride, link);
    } else if (size > 2) {
      st = duplex(b, i, i - x * stride, link);
    }
  }
  return st;
}

static void torus_name(char *buf, size_t size, int32_t n_dims, const int32_t *dims) {
  size_t len = (size_t)snprintf(buf, size, "torus");
  for (int32_t i = 0; i < n_dims && len < size; i++)
    len += (size_t)snprintf(buf + len, size - len, "%s%d", i ? "x" : " ", (int)dims[i]);
}

berth_status berth_topology_torus(berth_ctx *ctx, int32_t n_dims, const int32_t *dims,
                                  const berth_device *proto, const berth_link *link,
                                  berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  int64_t n = 0;
  int32_t stride = 1;
  berth_status st = berth_i_check_link(ctx, "torus", link);
  if (st != BERTH_OK || (st = torus_size(ctx, n_dims, dims, &n)) != BERTH_OK) return st;
  builder *b;
  if ((st = begin(ctx, n, proto, &b)) != BERTH_OK) return st;
  for (int32_t i = n_dims - 1; i >= 0 && st == BERTH_OK; i--) {
    st = add_torus_steps(b, (int32_t)n, dims[i], stride, link);
    stride *= dims[i];
  }
  char name[96];
  torus_name(name, sizeof name, n_dims, dims);
  return end(b, st, name, out);
}
