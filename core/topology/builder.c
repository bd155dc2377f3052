/* Collects a topology; everything is checked when it is added. Names must be unique, devices and
 * switches are numbered as nodes in the order of addition, links are appended. Finishing computes
 * all routes (routes.c). */
#include "base/utf8.h"
#include "topology_internal.h"
#include <stdio.h>

typedef struct node_entry {
  char *name;
  int32_t device;
} node_entry;

typedef struct device_entry {
  berth_device d; /* name NULL: the node has it */
  int32_t node;
} device_entry;

typedef struct arc_entry {
  int32_t from, to;
  berth_link link;
} arc_entry;

struct berth_topology_builder {
  berth_ctx *ctx;
  berth_i_pool contents;
  char *name;
  node_entry *nodes;
  device_entry *devices;
  arc_entry *links;
  berth_i_forced *forced;
  int32_t *pool; /* links of the forced routes */
  int32_t n_nodes, n_devices, n_links;
  size_t n_forced, n_pool;
  size_t cap_nodes, cap_devices, cap_links, cap_forced, cap_pool;
};

berth_device berth_device_default(void) {
  berth_device d = { NULL, "", 1, 0, INFINITY, 0, 0, 0 };
  return d;
}

berth_status berth_topology_builder_new(berth_ctx *ctx, berth_topology_builder **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_topology_builder *b = berth_i_zalloc(ctx, 1, sizeof *b);
  if (!b) return berth_i_nomem(ctx);
  b->ctx = ctx;
  b->contents = berth_i_pool_empty(ctx);
  berth_ctx_retain(ctx);
  *out = b;
  return BERTH_OK;
}

static void empty(berth_topology_builder *b) {
  berth_i_pool_free(&b->contents);
  *b = (berth_topology_builder){ .ctx = b->ctx, .contents = b->contents };
}

void berth_topology_builder_release(berth_topology_builder *b) {
  if (!b) return;
  berth_ctx *ctx = b->ctx;
  berth_i_pool_free(&b->contents);
  berth_i_free(ctx, b, 1, sizeof *b);
  berth_ctx_release(ctx);
}

berth_status berth_topology_builder_name(berth_topology_builder *b, const char *name) {
  if (!b) return BERTH_EINVAL;
  if (name && berth_i_utf8_error(name))
    return berth_i_fail(b->ctx, BERTH_EINVAL, "the topology's name is not UTF-8");
  char *copy;
  if ((copy = berth_i_pool_strdup(&b->contents, name ? name : ""))) b->name = copy;
  return berth_i_pool_status(&b->contents);
}

/* ---- nodes ---- */

static berth_status refuse(berth_topology_builder *b, const char *name, const char *what,
                           double value, const char *rule) {
  return berth_i_fail(b->ctx, BERTH_EINVAL, "device \"%s\": %s %g must be %s",
                      name, what, value, rule);
}

/* Comparisons are written so that NaN fails them. */
static berth_status check_device(berth_topology_builder *b, const berth_device *d,
                                 const char *name) {
  if (!(d->speed > 0) || isinf(d->speed))
    return refuse(b, name, "speed", d->speed, "positive and finite");
  if (!(d->flops >= 0)) return refuse(b, name, "flops", d->flops, "at least 0 (0: unknown)");
  if (!(d->memory >= 0)) return refuse(b, name, "memory", d->memory, "at least 0");
  if (!(d->memory_bandwidth >= 0))
    return refuse(b, name, "memory bandwidth", d->memory_bandwidth, "at least 0 (0: unknown)");
  if (!(d->overhead >= 0) || isinf(d->overhead))
    return refuse(b, name, "overhead", d->overhead, "at least 0 and finite");
  if (d->machine < 0) return refuse(b, name, "machine", d->machine, "at least 0");
  if (d->type && berth_i_utf8_error(d->type))
    return berth_i_fail(b->ctx, BERTH_EINVAL, "device %d: the type is not UTF-8",
                        (int)b->n_devices);
  return BERTH_OK;
}

static berth_status check_name(berth_topology_builder *b, const char *noun, int32_t number,
                               const char *name) {
  if (!name || !berth_i_utf8_error(name)) return BERTH_OK;
  return berth_i_fail(b->ctx, BERTH_EINVAL, "%s %d: the name is not UTF-8", noun, (int)number);
}

static const char *name_or(const char *given, const char *letters, int32_t number, char *buf,
                           size_t size) {
  if (given && *given) return given;
  snprintf(buf, size, "%s%d", letters, (int)number);
  return buf;
}

static berth_status push_node(berth_topology_builder *b, const char *name, int32_t device) {
  berth_status st = BERTH_I_POOL_GROW(&b->contents, b->nodes, b->cap_nodes, (size_t)b->n_nodes + 1);
  if (st != BERTH_OK) return st;
  char *copy;
  if (!(copy = berth_i_pool_strdup(&b->contents, name))) return berth_i_pool_status(&b->contents);
  b->nodes[b->n_nodes].name = copy;
  b->nodes[b->n_nodes++].device = device;
  return BERTH_OK;
}

berth_status berth_topology_builder_add_device(berth_topology_builder *b, const berth_device *d,
                                               int32_t *device, int32_t *node) {
  if (!b) return BERTH_EINVAL;
  if (!d)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "device %d: no description given", (int)b->n_devices);
  if (b->n_devices == BERTH_MOST_DEVICES)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "a topology has at most %d devices",
                        BERTH_MOST_DEVICES);
  char buf[32];
  const char *name = name_or(d->name, "d", b->n_devices, buf, sizeof buf);
  berth_status st;
  if ((st = check_name(b, "device", b->n_devices, name)) != BERTH_OK) return st;
  if ((st = check_device(b, d, name)) != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&b->contents, b->devices, b->cap_devices, (size_t)b->n_devices + 1);
  if (st != BERTH_OK) return st;
  char *type;
  if (!(type = berth_i_pool_strdup(&b->contents, d->type ? d->type : "")))
    return berth_i_pool_status(&b->contents);
  if ((st = push_node(b, name, b->n_devices)) != BERTH_OK) return st;
  b->devices[b->n_devices].d = *d;
  b->devices[b->n_devices].d.name = NULL;
  b->devices[b->n_devices].d.type = type;
  b->devices[b->n_devices].node = b->n_nodes - 1;
  if (device) *device = b->n_devices;
  if (node) *node = b->n_nodes - 1;
  b->n_devices++;
  return BERTH_OK;
}

berth_status berth_topology_builder_add_switch(berth_topology_builder *b, const char *name,
                                               int32_t *node) {
  if (!b) return BERTH_EINVAL;
  char buf[32];
  int32_t number = b->n_nodes - b->n_devices;
  berth_status st = check_name(b, "switch", number, name);
  if (st == BERTH_OK) st = push_node(b, name_or(name, "sw", number, buf, sizeof buf), BERTH_NONE);
  if (st == BERTH_OK && node) *node = b->n_nodes - 1;
  return st;
}

/* ---- links ---- */

berth_status berth_i_check_link(berth_ctx *ctx, const char *what, const berth_link *l) {
  if (!l) return berth_i_fail(ctx, BERTH_EINVAL, "%s: no bandwidth and latency given", what);
  if (!(l->bandwidth > 0))
    return berth_i_fail(
        ctx, BERTH_EINVAL,
        "%s: bandwidth %g B/s must be positive (leave the link out if there is none)", what,
        l->bandwidth);
  if (!(l->latency >= 0) || isinf(l->latency))
    return berth_i_fail(ctx, BERTH_EINVAL, "%s: latency %g s must be at least 0 and finite", what,
                        l->latency);
  return BERTH_OK;
}

static berth_status check_ends(berth_topology_builder *b, int32_t from, int32_t to,
                               const berth_link *l) {
  if (from < 0 || from >= b->n_nodes || to < 0 || to >= b->n_nodes)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "link %d from node %d to node %d: there are %d nodes",
                        (int)b->n_links, (int)from, (int)to, (int)b->n_nodes);
  if (from == to)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "link %d leads from \"%s\" to itself",
                        (int)b->n_links, b->nodes[from].name);
  char what[48];
  snprintf(what, sizeof what, "link %d", (int)b->n_links);
  return berth_i_check_link(b->ctx, what, l);
}

static void put_link(berth_topology_builder *b, int32_t from, int32_t to, const berth_link *l) {
  arc_entry *arc = &b->links[b->n_links++];
  arc->from = from;
  arc->to = to;
  arc->link = *l;
}

static berth_status add_links(berth_topology_builder *b, int32_t from, int32_t to,
                              const berth_link *l, int32_t n, int32_t *link) {
  berth_status st = check_ends(b, from, to, l);
  if (st != BERTH_OK) return st;
  if (b->n_links > BERTH_MOST_LINKS - n)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "a topology has at most %d directed links",
                        BERTH_MOST_LINKS);
  if (b->n_links > 0 && b->n_links % 4096 < n && (st = berth_i_interrupted(b->ctx)) != BERTH_OK)
    return st;
  st = BERTH_I_POOL_GROW(&b->contents, b->links, b->cap_links, (size_t)b->n_links + (size_t)n);
  if (st != BERTH_OK) return st;
  if (link) *link = b->n_links;
  put_link(b, from, to, l);
  if (n == 2) put_link(b, to, from, l);
  return BERTH_OK;
}

berth_status berth_topology_builder_add_link(berth_topology_builder *b, int32_t from, int32_t to,
                                             const berth_link *l, int32_t *link) {
  if (!b) return BERTH_EINVAL;
  return add_links(b, from, to, l, 1, link);
}

berth_status berth_topology_builder_add_duplex(berth_topology_builder *b, int32_t a, int32_t c,
                                               const berth_link *l, int32_t *link) {
  if (!b) return BERTH_EINVAL;
  return add_links(b, a, c, l, 2, link);
}

/* ---- given routes ---- */

static berth_status check_route(berth_topology_builder *b, int32_t src, int32_t dst, int32_t n,
                                const int32_t *links) {
  if (src < 0 || src >= b->n_devices || dst < 0 || dst >= b->n_devices || src == dst)
    return berth_i_fail(b->ctx, BERTH_EINVAL,
                        "route from device %d to device %d: must be two different ones of %d",
                        (int)src, (int)dst, (int)b->n_devices);
  if (n < 1)
    return berth_i_fail(b->ctx, BERTH_EINVAL,
                        "route from device %d to device %d: %d links, must be at least 1", (int)src,
                        (int)dst, (int)n);
  int32_t at = b->devices[src].node;
  for (int32_t i = 0; i < n; i++) {
    if (links[i] < 0 || links[i] >= b->n_links)
      return berth_i_fail(b->ctx, BERTH_EINVAL, "route from device %d to device %d: link %d of %d",
                          (int)src, (int)dst, (int)links[i], (int)b->n_links);
    if (b->links[links[i]].from != at)
      return berth_i_fail(
          b->ctx, BERTH_EINVAL,
          "route from device %d to device %d: link %d starts at \"%s\", not at \"%s\"", (int)src,
          (int)dst, (int)links[i], b->nodes[b->links[links[i]].from].name, b->nodes[at].name);
    at = b->links[links[i]].to;
  }
  if (at != b->devices[dst].node)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "route from device %d to device %d ends at \"%s\"",
                        (int)src, (int)dst, b->nodes[at].name);
  return BERTH_OK;
}

berth_status berth_topology_builder_set_route(berth_topology_builder *b, int32_t src, int32_t dst,
                                              int32_t n, const int32_t *links) {
  if (!b) return BERTH_EINVAL;
  berth_status st = check_route(b, src, dst, n, links);
  if (st != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&b->contents, b->pool, b->cap_pool, b->n_pool + (size_t)n);
  if (st != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&b->contents, b->forced, b->cap_forced, b->n_forced + 1);
  if (st != BERTH_OK) return st;
  memcpy(b->pool + b->n_pool, links, (size_t)n * sizeof *links);
  berth_i_forced *f = &b->forced[b->n_forced++];
  f->src = src;
  f->dst = dst;
  f->n = n;
  f->at = b->n_pool;
  b->n_pool += (size_t)n;
  return BERTH_OK;
}

/* ---- finish ---- */

static berth_status alloc_parts(berth_topology *t, const berth_topology_builder *b) {
  berth_i_pool *pool = &t->pool;
  size_t n = (size_t)b->n_devices, v = (size_t)b->n_nodes, m = (size_t)b->n_links;
  t->n_devices = b->n_devices;
  t->n_nodes = b->n_nodes;
  t->n_links = b->n_links;
  t->name = berth_i_pool_strdup(pool, b->name ? b->name : "");
  t->devices = berth_i_pool_alloc(pool, n, sizeof *t->devices);
  t->type = berth_i_pool_alloc(pool, n, sizeof *t->type);
  t->device_node = berth_i_pool_alloc(pool, n, sizeof *t->device_node);
  t->node_name = berth_i_pool_alloc(pool, v, sizeof *t->node_name);
  t->node_device = berth_i_pool_alloc(pool, v, sizeof *t->node_device);
  t->from = berth_i_pool_alloc(pool, m, sizeof *t->from);
  t->to = berth_i_pool_alloc(pool, m, sizeof *t->to);
  t->links = berth_i_pool_alloc(pool, m, sizeof *t->links);
  for (int32_t i = 0; t->node_name && i < b->n_nodes; i++)
    t->node_name[i] = berth_i_pool_strdup(pool, b->nodes[i].name);
  return berth_i_pool_status(pool);
}

static berth_status check_names(const berth_topology_builder *b) {
  berth_i_names seen = { 0 };
  berth_status st = BERTH_OK;
  int32_t id;
  for (int32_t i = 0; i < b->n_nodes && st == BERTH_OK; i++) {
    st = berth_i_names_add(b->ctx, &seen, b->nodes[i].name, &id);
    if (st == BERTH_OK && id < i)
      st = berth_i_fail(b->ctx, BERTH_EINVAL, "nodes %d and %d are both named \"%s\"", (int)id,
                        (int)i, b->nodes[i].name);
  }
  berth_i_names_release(b->ctx, &seen);
  return st;
}

static berth_status copy_devices(berth_topology *t, const berth_topology_builder *b) {
  berth_status st;
  for (int32_t i = 0; i < b->n_devices; i++) {
    if ((st = berth_i_names_add(t->ctx, &t->types, b->devices[i].d.type, &t->type[i])) != BERTH_OK)
      return st;
    t->devices[i] = b->devices[i].d;
    t->devices[i].name = t->node_name[b->devices[i].node];
    t->device_node[i] = b->devices[i].node;
  }
  for (int32_t i = 0; i < b->n_devices; i++) t->devices[i].type = t->types.text[t->type[i]];
  return BERTH_OK;
}

static void copy_links(berth_topology *t, const berth_topology_builder *b) {
  for (int32_t i = 0; i < b->n_links; i++) {
    t->from[i] = b->links[i].from;
    t->to[i] = b->links[i].to;
    t->links[i] = b->links[i].link;
  }
}

static berth_status fill(berth_topology *t, const berth_topology_builder *b) {
  berth_status st;
  if ((st = alloc_parts(t, b)) != BERTH_OK) return st;
  if ((st = copy_devices(t, b)) != BERTH_OK) return st;
  for (int32_t i = 0; i < b->n_nodes; i++) t->node_device[i] = b->nodes[i].device;
  copy_links(t, b);
  return berth_i_topology_route_all(t, b->forced, b->n_forced, b->pool);
}

berth_status berth_topology_builder_finish(berth_topology_builder *b, berth_topology **out) {
  if (!b || !out) return BERTH_EINVAL;
  if (b->n_devices == 0)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "a topology needs at least one device");
  berth_status st;
  if ((st = check_names(b)) != BERTH_OK) return st;
  berth_topology *t;
  if (!(t = berth_i_pool_object(b->ctx, sizeof *t))) return berth_i_nomem(b->ctx);
  t->ctx = b->ctx;
  t->refs = 1;
  berth_ctx_retain(t->ctx);
  if ((st = fill(t, b)) != BERTH_OK) {
    berth_topology_release(t);
    return st;
  }
  empty(b);
  *out = t;
  return BERTH_OK;
}
