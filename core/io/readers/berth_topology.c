/* The "topology" of a berth file: devices, switches, node order, links, routes (docs/formats.md,
 * "berth").
 *
 * "Parts" are devices, then switches, in the order of the file; nodes are the same in the order of
 * their node numbers, which "nodes" may change. References in links are to nodes, in routes to
 * devices and links. */
#include "io/json/berth_ref.h"

#include <stdio.h>

enum { P_NAME, P_DEVICES, P_SWITCHES, P_NODES, P_LINKS, P_ROUTES, N_P };
static const char *const TOPOLOGY[] = { "name", "devices", "switches", "nodes", "links", "routes" };
enum { D_NAME, D_TYPE, D_SPEED, D_FLOPS, D_MEMORY, D_RATE, D_OVERHEAD, D_MACHINE, N_D };
static const char *const DEVICE[] = { "name",
                                      "type",
                                      "speed",
                                      "flop_per_second",
                                      "memory_bytes",
                                      "memory_bytes_per_second",
                                      "overhead_seconds",
                                      "machine" };
enum { L_FROM, L_TO, L_RATE, L_LATENCY, L_DUPLEX, N_L };
static const char *const LINK[] = { "from", "to", "bytes_per_second", "latency_seconds", "duplex" };
enum { R_FROM, R_TO, R_LINKS, N_R };
static const char *const ROUTE[] = { "from", "to", "links" };

typedef struct reader {
  berth_i_pool pool;
  const berth_i_json *doc;
  berth_ctx *ctx;
  berth_i_value p[N_P];
  berth_topology_builder *b;
  berth_i_value *parts;        /* [n_devices + n_switches] devices, then switches */
  const char **names;  /* the same; "d0", "sw0", ... where none is given */
  int32_t n_devices, n_switches;
  int32_t *node_part;  /* [parts] which part each node is */
  char (*made)[24];    /* room for made-up names */
  berth_i_lookup by_name, nodes, devices, links;
  const char **node_names;
} reader;

static size_t parts_of(const reader *r) { return (size_t)r->n_devices + (size_t)r->n_switches; }

static void release(reader *r) {
  berth_i_lookup_release(r->ctx, &r->by_name);
  berth_i_lookup_release(r->ctx, &r->nodes);
  berth_i_lookup_release(r->ctx, &r->devices);
  berth_i_pool_free(&r->pool);
  berth_topology_builder_release(r->b);
}

/* ---- devices and switches ---- */

static berth_status read_device(reader *r, int32_t part) {
  static const berth_i_quantity amounts[] = {
    { D_FLOPS, BERTH_FLOP_PER_SECOND, true, offsetof(berth_device, flops) },
    { D_MEMORY, BERTH_BYTES, true, offsetof(berth_device, memory) },
    { D_RATE, BERTH_BYTES_PER_SECOND, true, offsetof(berth_device, memory_bandwidth) },
    { D_OVERHEAD, BERTH_SECONDS, false, offsetof(berth_device, overhead) }
  };
  berth_device d = berth_device_default();
  berth_i_value f[N_D], v = r->parts[part];
  berth_status st = berth_i_fields(r->doc, v, DEVICE, N_D, 0, true, f);
  if (st != BERTH_OK || (st = berth_i_get_text(r->doc, f[D_TYPE], &d.type)) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(r->doc, f[D_SPEED], &d.speed)) != BERTH_OK) return st;
  if ((st = berth_i_get_quantities(r->doc, f, amounts, 4, &d)) != BERTH_OK) return st;
  if ((st = berth_i_get_int(r->doc, f[D_MACHINE], 0, INT32_MAX - 1, &d.machine)) != BERTH_OK)
    return st;
  d.name = r->names[part];
  return berth_i_blame(r->doc, v, berth_topology_builder_add_device(r->b, &d, NULL, NULL));
}

/* A switch is a name or an object with one. Unnamed parts get "d0", "sw0", ..., in arrays of their
 * own. */
static berth_status name_part(reader *r, berth_i_value v, int32_t part) {
  bool is_device = part < r->n_devices;
  const char *name = "";
  berth_status st = BERTH_OK;
  berth_i_value given = v;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_STRING || is_device) {
    static const char *const keys[] = { "name" };
    if ((st = berth_i_fields(r->doc, v, keys, 1, 0, !is_device, &given)) != BERTH_OK) return st;
  }
  if ((st = berth_i_get_text(r->doc, given, &name)) != BERTH_OK) return st;
  if (!*name) {
    snprintf(r->made[part], sizeof *r->made, is_device ? "d%d" : "sw%d",
             (int)(is_device ? part : part - r->n_devices));
    name = r->made[part];
  }
  r->parts[part] = v;
  r->names[part] = name;
  return BERTH_OK;
}

/* made[] holds "sw" and up to ten digits. */
static berth_status make_room(reader *r) {
  size_t n = parts_of(r);
  r->parts = berth_i_pool_alloc(&r->pool, n, sizeof *r->parts);
  r->names = berth_i_pool_alloc(&r->pool, n, sizeof *r->names);
  r->node_part = berth_i_pool_alloc(&r->pool, n, sizeof *r->node_part);
  r->made = berth_i_pool_alloc(&r->pool, n, sizeof *r->made);
  r->node_names = berth_i_pool_alloc(&r->pool, n, sizeof *r->node_names);
  return berth_i_pool_status(&r->pool);
}

/* Names first: "nodes" and links refer to all of them, and they are needed to add devices in node
 * order. */
static berth_status list_parts(reader *r) {
  berth_i_value device;
  int32_t part = 0;
  berth_status st;
  int32_t devices = 0, switches = 0;
  if ((st = berth_i_get_array(r->doc, r->p[P_DEVICES], &device, &devices)) != BERTH_OK) return st;
  berth_i_value sw;
  if ((st = berth_i_get_array(r->doc, r->p[P_SWITCHES], &sw, &switches)) != BERTH_OK) return st;
  if (switches >= INT32_MAX - devices)
    return berth_i_json_fail(r->doc, r->p[P_SWITCHES], "has too many members");
  r->n_devices = devices;
  r->n_switches = switches;
  if ((st = make_room(r)) != BERTH_OK) return st;
  for (; device && st == BERTH_OK; device = berth_i_json_next(device))
    st = name_part(r, device, part++);
  for (; sw && st == BERTH_OK; sw = berth_i_json_next(sw)) st = name_part(r, sw, part++);
  return st;
}

/* "nodes" lists all devices and switches by name, in the order of their node numbers; devices must
 * keep their own order. */
static berth_status order_nodes(reader *r) {
  size_t n = parts_of(r);
  int32_t part = 0, devices = 0;
  for (int32_t k = 0; k < (int32_t)n; k++) r->node_part[k] = k;
  if (!r->p[P_NODES]) return BERTH_OK;
  berth_i_value v;
  int32_t count;
  berth_status st;
  if ((st = berth_i_get_array(r->doc, r->p[P_NODES], &v, &count)) != BERTH_OK) return st;
  if ((size_t)count != n)
    return berth_i_json_fail(r->doc, r->p[P_NODES], "is of length %d, for %zu devices and switches",
                             (int)count, n);
  /* parts[] of a switch is set to NULL when it is placed, and devices are counted: so both "twice"
   * and "missing" are found without an array of marks. */
  for (int32_t k = 0; k < count; k++, v = berth_i_json_next(v)) {
    if ((st = berth_i_get_ref(r->doc, v, &r->by_name, &part)) != BERTH_OK) return st;
    if (r->parts[part] == NULL) return berth_i_json_fail(r->doc, v, "comes twice");
    if (part < r->n_devices && part != devices++)
      return berth_i_json_fail(r->doc, v, "is a device out of order");
    r->node_part[k] = part;
    if (part >= r->n_devices) r->parts[part] = NULL; /* switches are not needed again */
  }
  return BERTH_OK;
}

/* Devices are read here and not before, as the builder numbers nodes in order. */
static berth_status add_nodes(reader *r) {
  int32_t n = (int32_t)parts_of(r);
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    int32_t part = r->node_part[k];
    r->node_names[k] = r->names[part];
    st = part < r->n_devices ? read_device(r, part)
                             : berth_topology_builder_add_switch(r->b, r->names[part], NULL);
  }
  return st;
}

/* ---- links and routes ---- */

/* A duplex link counts as two, of which the way back has the next position. */
static berth_status read_link(void *ud, berth_i_value v, int32_t i) {
  reader *r = ud;
  berth_link link = { 0, 0 };
  int32_t from = 0, to = 0;
  bool duplex = false;
  berth_i_value f[N_L];
  (void)i;
  berth_status st = berth_i_fields(r->doc, v, LINK, N_L, 3, true, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_get_ref(r->doc, f[L_FROM], &r->nodes, &from)) != BERTH_OK) return st;
  if ((st = berth_i_get_ref(r->doc, f[L_TO], &r->nodes, &to)) != BERTH_OK) return st;
  if ((st = berth_i_get_quantity(r->doc, f[L_RATE], BERTH_BYTES_PER_SECOND, true, &link.bandwidth))
      != BERTH_OK)
    return st;
  if (link.bandwidth == 0)
    return berth_i_json_fail(r->doc, f[L_RATE],
                             "is not positive: leave the link out if there is none");
  if ((st = berth_i_get_quantity(r->doc, f[L_LATENCY], BERTH_SECONDS, false, &link.latency))
      != BERTH_OK)
    return st;
  if ((st = berth_i_get_flag(r->doc, f[L_DUPLEX], &duplex)) != BERTH_OK) return st;
  r->links.n += duplex ? 2 : 1;
  return berth_i_blame(r->doc, v,
                       (duplex ? berth_topology_builder_add_duplex
                               : berth_topology_builder_add_link)(r->b, from, to, &link, NULL));
}

/* Checked by the builder: the links must lead from one device to the other. */
static berth_status read_route(void *ud, berth_i_value v, int32_t i) {
  reader *r = ud;
  int32_t from = 0, to = 0, n = 0, *links = NULL;
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  berth_i_value f[N_R];
  (void)i;
  berth_status st = berth_i_fields(r->doc, v, ROUTE, N_R, N_R, true, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_get_ref(r->doc, f[R_FROM], &r->devices, &from)) != BERTH_OK) return st;
  if ((st = berth_i_get_ref(r->doc, f[R_TO], &r->devices, &to)) != BERTH_OK) return st;
  if ((st = berth_i_get_refs(r->doc, f[R_LINKS], &r->links, &scratch, &links, &n)) == BERTH_OK)
    st = berth_i_blame(r->doc, v, berth_topology_builder_set_route(r->b, from, to, n, links));
  berth_i_pool_free(&scratch);
  return st;
}

/* by_name: parts; nodes: the same things in node order. Both refer to arrays that are filled
 * later. */
static void prepare_lookups(reader *r) {
  int32_t n = (int32_t)parts_of(r);
  r->by_name = (berth_i_lookup){.what = "device or switch",
                                .n = n,
                                .name = berth_i_listed_name,
                                .ud = r->names};
  r->nodes = (berth_i_lookup){
    .what = "device or switch", .n = n, .name = berth_i_listed_name, .ud = r->node_names
  };
  r->devices = (berth_i_lookup){.what = "device",
                                .n = r->n_devices,
                                .name = berth_i_listed_name,
                                .ud = r->names};
  r->links = (berth_i_lookup){ .what = "link" };
}

static berth_status read_name(reader *r) {
  const char *name = "";
  berth_status st = berth_i_get_text(r->doc, r->p[P_NAME], &name);
  return st == BERTH_OK ? berth_topology_builder_name(r->b, name) : st;
}

berth_status berth_i_read_berth_topology(const berth_i_json *doc, berth_i_value v,
                                         berth_topology **out) {
  reader r = { .pool = berth_i_pool_empty(berth_i_json_ctx(doc)),
               .doc = doc,
               .ctx = berth_i_json_ctx(doc) };
  berth_status st = berth_i_fields(doc, v, TOPOLOGY, N_P, 0, true, r.p);
  if (st != BERTH_OK || (st = berth_topology_builder_new(r.ctx, &r.b)) != BERTH_OK) return st;
  if ((st = read_name(&r)) != BERTH_OK || (st = list_parts(&r)) != BERTH_OK) goto done;
  prepare_lookups(&r);
  if ((st = order_nodes(&r)) != BERTH_OK || (st = add_nodes(&r)) != BERTH_OK) goto done;
  if ((st = berth_i_each(doc, r.p[P_LINKS], read_link, &r)) != BERTH_OK) goto done;
  if ((st = berth_i_each(doc, r.p[P_ROUTES], read_route, &r)) != BERTH_OK) goto done;
  st = berth_i_blame(doc, v, berth_topology_builder_finish(r.b, out));
done:
  release(&r);
  return st;
}
