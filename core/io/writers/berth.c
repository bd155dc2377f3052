/* Writing berth files (docs/formats.md, "berth"): one op, tensor, device or link a line; what has
 * its default value is left out. Reading the text gives the same objects: numbers are the shortest
 * that read back, and orders of consumers and inputs are kept. */
#include "placement/placement_internal.h"
#include "io/io_internal.h"

#include <stdio.h>

/* Members of an object or array: puts the comma before all but the first. */
typedef struct members {
  berth_i_out *o;
  bool any;
} members;

static void next_member(members *m) {
  if (m->any) berth_i_put(m->o, ", ");
  m->any = true;
}

static void put_key(members *m, const char *key) {
  next_member(m);
  berth_i_putf(m->o, "\"%s\": ", key);
}

static void put_text(members *m, const char *key, const char *text) {
  if (!text || !*text) return;
  put_key(m, key);
  berth_i_put_string(m->o, text);
}

/* @param blank is left out */
static void put_amount(members *m, const char *key, double x, double blank) {
  if (x == blank) return;
  put_key(m, key);
  berth_i_put_number(m->o, x);
}

static void put_int(members *m, const char *key, int32_t x, int32_t blank) {
  if (x == blank) return;
  put_key(m, key);
  berth_i_putf(m->o, "%d", (int)x);
}

static void put_flag(members *m, const char *key, bool on) {
  if (!on) return;
  put_key(m, key);
  berth_i_put(m->o, "true");
}

static void put_ids(members *m, const char *key, int32_t n, const int32_t *ids) {
  put_key(m, key);
  berth_i_put(m->o, "[");
  for (int32_t k = 0; k < n; k++) berth_i_putf(m->o, k ? ", %d" : "%d", (int)ids[k]);
  berth_i_put(m->o, "]");
}

/* Written in full: times have no default. */
static void put_amounts(members *m, const char *key, int32_t n, const double *x) {
  put_key(m, key);
  berth_i_put(m->o, "[");
  for (int32_t k = 0; k < n; k++) {
    if (k) berth_i_put(m->o, ", ");
    berth_i_put_number(m->o, x[k]);
  }
  berth_i_put(m->o, "]");
}

/* A list of objects, one a line; `put` writes the members of each. */
static void put_list(berth_i_out *o, const char *key, int32_t n,
                     void (*put)(members *m, const void *ud, int32_t i), const void *ud) {
  if (n == 0) return;
  berth_i_putf(o, ",\n  \"%s\": [", key);
  for (int32_t i = 0; i < n; i++) {
    members m = { o, false };
    berth_i_put(o, i ? ",\n    {" : "\n    {");
    put(&m, ud, i);
    berth_i_put(o, "}");
  }
  berth_i_put(o, "]");
}

static void open_file(berth_i_out *o) { berth_i_put(o, "{\"berth\": 1"); }
static void close_file(berth_i_out *o) { berth_i_put(o, "}\n"); }

/* Parts follow the version: each begins with a comma. */
static void open_part(berth_i_out *o, const char *key, const char *name) {
  berth_i_putf(o, ",\n\"%s\": {\n  \"name\": ", key);
  berth_i_put_string(o, name);
}

/* ---- graph ---- */

/* Unsupported types are null. */
static void put_time(berth_i_out *o, double seconds) {
  if (isinf(seconds)) berth_i_put(o, "null");
  else berth_i_put_number(o, seconds);
}

static void put_seconds(members *m, const double *seconds, int32_t n) {
  if (!seconds) return;
  put_key(m, "seconds");
  if (n > 1) berth_i_put(m->o, "[");
  for (int32_t k = 0; k < n; k++) {
    if (k) berth_i_put(m->o, ", ");
    put_time(m->o, seconds[k]);
  }
  if (n > 1) berth_i_put(m->o, "]");
}

/* The order of an op's inputs is mostly that of the tensors, and not written then. */
static void put_inputs(members *m, const berth_graph *g, int32_t op) {
  const int32_t *in;
  int32_t n = berth_graph_inputs(g, op, &in), k = 1;
  while (k < n && in[k - 1] < in[k]) k++;
  if (k < n) put_ids(m, "inputs", n, in);
}

/* Numbers and flags of a struct, but for zeros. */
static void put_options(members *m, const berth_option_table *table, const void *options) {
  for (const berth_option *o = table->options; o->key; o++) {
    const char *field = (const char *)options + o->offset;
    if (o->type == BERTH_OPTION_NUMBER) put_amount(m, o->key, *(const double *)field, 0);
    else put_flag(m, o->key, *(const int *)field != 0);
  }
}

static void put_shape(members *m, const berth_shape *s) {
  if (!s) return;
  members inner = { m->o, false };
  put_key(m, "shape");
  berth_i_put(m->o, "{");
  put_options(&inner, berth_product_option_table(), &s->product);
  put_options(&inner, berth_attention_option_table(), &s->attention);
  berth_i_put(m->o, "}");
}

static void put_op(members *m, const void *graph, int32_t i) {
  const berth_graph *g = graph;
  berth_op op;
  if (berth_graph_op(g, i, &op) != BERTH_OK) return;
  put_text(m, "name", op.name);
  put_text(m, "kind", op.kind);
  put_seconds(m, op.seconds, g->n_types);
  put_amount(m, "flop", op.flop, 0);
  put_amount(m, "bytes", op.bytes, 0);
  put_amount(m, "param_bytes", op.param_bytes, 0);
  put_amount(m, "workspace_bytes", op.workspace_bytes, 0);
  put_shape(m, op.shape);
  put_int(m, "group", op.group, BERTH_NONE);
  put_int(m, "twin", op.twin, BERTH_NONE);
  put_int(m, "pin", op.pin, BERTH_NONE);
  put_flag(m, "backward", op.flags & BERTH_OP_BACKWARD);
  put_flag(m, "update", op.flags & BERTH_OP_UPDATE);
  put_flag(m, "splittable", op.flags & BERTH_OP_SPLITTABLE);
  put_flag(m, "communication", op.flags & BERTH_OP_COMMUNICATION);
  put_inputs(m, g, i);
}

static void put_tensor(members *m, const void *graph, int32_t i) {
  const int32_t *ops;
  int32_t n = berth_graph_consumers(graph, i, &ops);
  berth_tensor t;
  if (berth_graph_tensor(graph, i, &t) != BERTH_OK) return;
  put_int(m, "from", t.producer, BERTH_NONE);
  put_ids(m, "to", n, ops);
  put_amount(m, "bytes", t.bytes, -1);
  put_amount(m, "resident_bytes", t.resident_bytes, t.bytes);
  put_flag(m, "batch", t.flags & BERTH_TENSOR_BATCH);
  put_flag(m, "gradient", t.flags & BERTH_TENSOR_GRADIENT);
}

static void put_collective(members *m, const void *graph, int32_t i) {
  berth_collective c;
  if (berth_graph_collective(graph, i, &c) != BERTH_OK) return;
  put_text(m, "kind", berth_i_collective_names[c.kind]);
  put_amount(m, "bytes", c.bytes, -1);
  put_int(m, "count", c.count, 1);
  put_ids(m, "members", c.n_members, c.members);
  put_ids(m, "consumers", c.n_consumers, c.consumers);
}

static void put_types(berth_i_out *o, const berth_graph *g) {
  if (g->n_types == 1 && !*berth_graph_type(g, 0)) return;
  berth_i_put(o, ",\n  \"types\": [");
  for (int32_t k = 0; k < g->n_types; k++) {
    if (k) berth_i_put(o, ", ");
    berth_i_put_string(o, berth_graph_type(g, k));
  }
  berth_i_put(o, "]");
}

static void put_graph(berth_i_out *o, const berth_graph *g) {
  open_part(o, "graph", berth_graph_name(g));
  if (*berth_graph_dtype(g)) berth_i_putf(o, ",\n  \"dtype\": \"%s\"", berth_graph_dtype(g));
  if (berth_graph_unitless(g)) berth_i_put(o, ",\n  \"unitless\": true");
  put_types(o, g);
  put_list(o, "ops", g->n_ops, put_op, g);
  put_list(o, "tensors", g->n_tensors, put_tensor, g);
  put_list(o, "collectives", g->n_collectives, put_collective, g);
  berth_i_put(o, "}");
}

/* ---- topology ---- */

static void put_device(members *m, const void *topology, int32_t i) {
  const berth_device *d = &((const berth_topology *)topology)->devices[i];
  put_text(m, "name", d->name);
  put_text(m, "type", d->type);
  put_amount(m, "speed", d->speed, 1);
  put_amount(m, "flop_per_second", d->flops, 0);
  put_amount(m, "memory_bytes", d->memory, INFINITY);
  put_amount(m, "memory_bytes_per_second", d->memory_bandwidth, 0);
  put_amount(m, "overhead_seconds", d->overhead, 0);
  put_int(m, "machine", d->machine, 0);
}

/* Two neighbouring links that mirror each other are written as one duplex link. */
static bool is_way_back(const berth_topology *t, int32_t a, int32_t b) {
  return b < t->n_links && t->from[a] == t->to[b] && t->to[a] == t->from[b]
         && t->links[a].bandwidth == t->links[b].bandwidth
         && t->links[a].latency == t->links[b].latency;
}

/* A pair of mirrored links takes one line and two positions: `k++` passes over the second. */
static void put_links(berth_i_out *o, const berth_topology *t) {
  if (t->n_links == 0) return;
  berth_i_put(o, ",\n  \"links\": [");
  for (int32_t k = 0; k < t->n_links; k++) {
    members m = { o, false };
    bool duplex = is_way_back(t, k, k + 1);
    berth_i_put(o, k ? ",\n    {" : "\n    {");
    put_text(&m, "from", t->node_name[t->from[k]]);
    put_text(&m, "to", t->node_name[t->to[k]]);
    put_amount(&m, "bytes_per_second", t->links[k].bandwidth, -1);
    put_amount(&m, "latency_seconds", t->links[k].latency, 0);
    put_flag(&m, "duplex", duplex);
    berth_i_put(o, "}");
    if (duplex) k++;
  }
  berth_i_put(o, "]");
}

/* The order that the reader takes without "nodes". */
static bool switches_come_last(const berth_topology *t) {
  int32_t k = 0;
  while (k < t->n_devices && t->node_device[k] == k) k++;
  return k == t->n_devices;
}

/* Switches, and the order of all nodes where it is not the usual one. */
static void put_switches(berth_i_out *o, const berth_topology *t) {
  bool any = false;
  if (t->n_nodes == t->n_devices) return;
  berth_i_put(o, ",\n  \"switches\": [");
  for (int32_t k = 0; k < t->n_nodes; k++) {
    if (t->node_device[k] != BERTH_NONE) continue;
    if (any) berth_i_put(o, ", ");
    any = true;
    berth_i_put_string(o, t->node_name[k]);
  }
  berth_i_put(o, "]");
  if (switches_come_last(t)) return;
  for (int32_t k = 0; k < t->n_nodes; k++) {
    berth_i_put(o, k ? ", " : ",\n  \"nodes\": [");
    berth_i_put_string(o, t->node_name[k]);
  }
  berth_i_put(o, "]");
}

static void put_route(berth_i_out *o, const berth_topology *t, int32_t src, int32_t dst,
                      bool first) {
  const int32_t *links;
  int32_t n = berth_topology_route(t, src, dst, &links);
  members m = { o, false };
  berth_i_put(o, first ? ",\n  \"routes\": [\n    {" : ",\n    {");
  put_text(&m, "from", t->devices[src].name);
  put_text(&m, "to", t->devices[dst].name);
  put_ids(&m, "links", n, links);
  berth_i_put(o, "}");
}

/* Routes that were set by hand only: the others are computed. */
static void put_routes(berth_i_out *o, const berth_topology *t) {
  bool any = false;
  if (!t->route_set) return;
  for (int32_t src = 0; src < t->n_devices; src++) {
    for (int32_t dst = 0; dst < t->n_devices; dst++) {
      if (!t->route_set[berth_i_pair(t, src, dst)]) continue;
      put_route(o, t, src, dst, !any);
      any = true;
    }
  }
  if (any) berth_i_put(o, "]");
}

static void put_topology(berth_i_out *o, const berth_topology *t) {
  open_part(o, "topology", berth_topology_name(t));
  put_list(o, "devices", t->n_devices, put_device, t);
  put_switches(o, t);
  put_links(o, t);
  put_routes(o, t);
  berth_i_put(o, "}");
}

/* ---- placement ---- */

/* For readers of the file: ids are what counts. */
static void put_op_names(members *m, const berth_graph *g) {
  if (!g || !g->op_name) return;
  berth_i_put(m->o, ",\n  \"op_names\": [");
  berth_op op;
  for (int32_t k = 0; k < g->n_ops && berth_graph_op(g, k, &op) == BERTH_OK; k++) {
    if (k) berth_i_put(m->o, ", ");
    berth_i_put_string(m->o, op.name ? op.name : "");
  }
  berth_i_put(m->o, "]");
}

static void put_device_names(members *m, const berth_topology *t) {
  if (!t) return;
  berth_i_put(m->o, ",\n  \"device_names\": [");
  for (int32_t k = 0; k < t->n_devices; k++) {
    if (k) berth_i_put(m->o, ", ");
    berth_i_put_string(m->o, t->devices[k].name);
  }
  berth_i_put(m->o, "]");
}

/* estimate: NaN is "none", which no file needs to say. */
static void put_placement(berth_i_out *o, const berth_placement *p, const berth_graph *g,
                          const berth_topology *t) {
  members m = { o, false };
  berth_i_put(o, ",\n\"placement\": {\n  ");
  put_text(&m, "placer", p->placer);
  if (!isnan(p->estimate)) put_amount(&m, "estimate_seconds", p->estimate, -1);
  put_ids(&m, "device", p->n, p->device);
  if (p->sequence) put_ids(&m, "sequence", p->n, p->sequence);
  if (p->start && p->finish) {
    put_amounts(&m, "start_seconds", p->n, p->start);
    put_amounts(&m, "finish_seconds", p->n, p->finish);
  }
  put_op_names(&m, g);
  put_device_names(&m, t);
  berth_i_put(o, "}");
}

/* ---- files ---- */

/* Names beside the ids would be wrong otherwise. */
static berth_status check_fit(const berth_placement *p, const berth_graph *g,
                              const berth_topology *t) {
  if (g && p->n != g->n_ops)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "placement of %d ops, graph of %d", (int)p->n,
                        (int)g->n_ops);
  for (int32_t k = 0; t && k < p->n; k++) {
    if (p->device[k] < t->n_devices) continue;
    return berth_i_fail(p->ctx, BERTH_EINVAL, "placement: op %d is on device %d, topology has %d",
                        (int)k, (int)p->device[k], (int)t->n_devices);
  }
  return BERTH_OK;
}

static berth_status write_parts(berth_ctx *ctx, const berth_graph *g, const berth_topology *t,
                                const berth_placement *p, berth_text *out) {
  berth_i_out o = berth_i_out_open(ctx, out);
  open_file(&o);
  if (g) put_graph(&o, g);
  if (t) put_topology(&o, t);
  if (p) put_placement(&o, p, g, t);
  close_file(&o);
  return berth_i_out_close(&o);
}

/* An empty bundle has no context for its message, unless `out` has one. */
berth_status berth_write_bundle(const berth_bundle *b, berth_text *out) {
  berth_ctx *ctx = b->graph       ? b->graph->ctx
                   : b->topology  ? b->topology->ctx
                   : b->placement ? b->placement->ctx
                                  : out->ctx;
  berth_status st = b->placement ? check_fit(b->placement, b->graph, b->topology) : BERTH_OK;
  if (!b->graph && !b->topology && !b->placement)
    return ctx ? berth_i_fail(ctx, BERTH_EINVAL, "nothing to write") : BERTH_EINVAL;
  return st == BERTH_OK ? write_parts(ctx, b->graph, b->topology, b->placement, out) : st;
}

berth_status berth_write_topology(berth_topology *t, berth_text *out) {
  if (!t) return BERTH_EINVAL;
  return write_parts(t->ctx, NULL, t, NULL, out);
}

berth_status berth_write_placement(berth_placement *p, berth_graph *g, berth_topology *t,
                                   berth_text *out) {
  if (!p) return BERTH_EINVAL;
  berth_status st = check_fit(p, g, t);
  if (st != BERTH_OK) return st;
  berth_i_out o = berth_i_out_open(p->ctx, out);
  open_file(&o);
  put_placement(&o, p, g, t);
  close_file(&o);
  return berth_i_out_close(&o);
}

berth_status berth_i_write_berth(berth_graph *g, const int32_t *device, berth_text *out) {
  berth_placement *p = NULL;
  berth_status st =
      device ? berth_placement_new(g->ctx, g->n_ops, device, NULL, NULL, NAN, &p) : BERTH_OK;
  if (st == BERTH_OK) st = write_parts(g->ctx, g, NULL, p, out);
  berth_placement_release(p);
  return st;
}
