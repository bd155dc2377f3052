/* The "dnn-partitioning" data set: profiled graphs with accelerators and CPUs. Times are ms, sizes
 * bytes (docs/formats.md, "dnn-partitioning").
 *
 * Two passes over the nodes: ops are added in the second, with twins that the first has found. The
 * cost of an edge is a transfer time; it becomes bytes at file_bandwidth, which all links have, so
 * that a transfer takes that time at any rate. */
#include "io/formats_internal.h"

#include <stdio.h>

enum { MAX_DEVICES = 256 }; /* of each sort: all are joined pair by pair */

enum { F_FPGAS, F_MEMORY, F_NODES, F_EDGES, F_CPUS, N_TOP }; /* all but the last are needed */
static const char *const TOP[] = { "maxFPGAs", "maxSizePerFPGA", "nodes", "edges", "maxCPUs" };
enum { N_ID, N_NAME, N_FPGA, N_CPU, N_SIZE, N_SUPPORTED, N_BACKWARD, N_CLASS, N_NODE };
static const char *const NODE[] = {
  "id",        "name", "fpgaLatency", "cpuLatency", "size", "supportedOnFpga", "isBackwardNode",
  "colorClass"
};

typedef struct reader {
  berth_i_pool pool;
  const berth_i_json *doc;
  berth_ctx *ctx;
  const berth_load_options *opts;
  berth_i_value top[N_TOP];
  int32_t n_nodes;
  berth_i_names ids, classes;
  int32_t *group;     /* [n_nodes] */
  bool *backward;     /* [n_nodes] */
  int32_t *twin;      /* [n_nodes] */
  berth_i_edges edges;
  berth_graph_builder *b;
} reader;

static void release(reader *r) {
  berth_i_names_release(r->ctx, &r->ids);
  berth_i_names_release(r->ctx, &r->classes);
  berth_i_edges_release(r->ctx, &r->edges);
  berth_i_pool_free(&r->pool);
  berth_graph_builder_release(r->b);
}

/* ---- topology ---- */

/* Accelerators have the file's memory limit, CPUs none. */
static berth_status add_devices(berth_topology_builder *b, int32_t n, const char *type,
                                double memory) {
  berth_device d = berth_device_default();
  berth_status st = BERTH_OK;
  d.type = type;
  d.memory = memory;
  char name[32];
  d.name = name;
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    snprintf(name, sizeof name, "%s%d", type, (int)k);
    st = berth_topology_builder_add_device(b, &d, NULL, NULL);
  }
  return st;
}

/* The data set has one transfer time for any pair of devices: a complete graph. */
static berth_status join_all(berth_topology_builder *b, int32_t n, const berth_link *link) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = i + 1; k < n && st == BERTH_OK; k++)
      st = berth_topology_builder_add_duplex(b, i, k, link, NULL);
  return st;
}

static berth_status read_topology(reader *r, berth_topology **out) {
  berth_link link = { r->opts->file_bandwidth, 0 };
  berth_topology_builder *b = NULL;
  int32_t accelerators = 0, cpus = 0;
  double memory = 0;
  berth_status st;
  if ((st = berth_i_get_int(r->doc, r->top[F_FPGAS], r->opts->cpus ? 0 : 1, MAX_DEVICES,
                            &accelerators))
      != BERTH_OK)
    return st;
  if ((st = berth_i_get_int(r->doc, r->top[F_CPUS], 0, MAX_DEVICES, &cpus)) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(r->doc, r->top[F_MEMORY], &memory)) != BERTH_OK) return st;
  if (!r->opts->cpus) cpus = 0;
  if ((st = berth_topology_builder_new(r->ctx, &b)) != BERTH_OK) return st;
  if ((st = add_devices(b, accelerators, "accelerator", memory)) != BERTH_OK) goto done;
  if ((st = add_devices(b, cpus, "cpu", INFINITY)) != BERTH_OK) goto done;
  if ((st = join_all(b, accelerators + cpus, &link)) != BERTH_OK) goto done;
  st = berth_topology_builder_finish(b, out);
done:
  berth_topology_builder_release(b);
  return st;
}

/* ---- nodes ---- */

/* null is "no class", as in the Python scripts that wrote the files. */
static berth_status read_class(reader *r, berth_i_value v, int32_t node) {
  const char *text = "";
  if (!v || berth_i_json_kind_of(v) == BERTH_I_JSON_NULL) return BERTH_OK;
  char buf[32];
  berth_status st;
  if ((st = berth_i_id_text(r->doc, v, buf, sizeof buf, &text)) != BERTH_OK) return st;
  return berth_i_names_add(r->ctx, &r->classes, text, &r->group[node]);
}

static berth_status read_milliseconds(reader *r, berth_i_value node,
                                      berth_i_value v, const char *key,
                                      double *seconds) {
  double ms = 0;
  berth_status st = berth_i_need(r->doc, node, v, key);
  if (st == BERTH_OK) st = berth_i_get_amount(r->doc, v, &ms);
  *seconds = ms * 1e-3;
  return st;
}

/* seconds[1] is read only with `cpus`, or to check it when it is there. */
static berth_status read_times(reader *r, berth_i_value node, berth_i_value *f, double seconds[2]) {
  bool supported = true;
  berth_status st = read_milliseconds(r, node, f[N_FPGA], "fpgaLatency", &seconds[0]);
  if (st == BERTH_OK && (r->opts->cpus || f[N_CPU]))
    st = read_milliseconds(r, node, f[N_CPU], "cpuLatency", &seconds[1]);
  if (st == BERTH_OK) st = berth_i_get_bool(r->doc, f[N_SUPPORTED], &supported);
  if (!supported) seconds[0] = BERTH_UNSUPPORTED;
  return st;
}

/* What must be known of all nodes before the first op is added. */
static berth_status scan_node(void *ud, berth_i_value v, int32_t node) {
  reader *r = ud;
  static const char *const keys[] = { "id", "isBackwardNode", "colorClass" };
  berth_i_value f[3];
  berth_status st = berth_i_fields(r->doc, v, keys, 3, 1, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_add_id(r->doc, f[0], "node", &r->ids)) != BERTH_OK) return st;
  if ((st = berth_i_get_bool(r->doc, f[1], &r->backward[node])) != BERTH_OK) return st;
  return read_class(r, f[2], node);
}

static berth_status add_node(void *ud, berth_i_value v, int32_t node) {
  reader *r = ud;
  berth_op op = berth_op_default();
  double seconds[2] = { 0, 0 };
  berth_i_value f[N_NODE];
  berth_status st = berth_i_fields(r->doc, v, NODE, N_NODE, 0, false, f);
  if (st != BERTH_OK || (st = read_times(r, v, f, seconds)) != BERTH_OK) return st;
  op.name = r->ids.text[node];
  if ((st = berth_i_get_text(r->doc, f[N_NAME], &op.name)) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(r->doc, f[N_SIZE], &op.param_bytes)) != BERTH_OK) return st;
  op.seconds = seconds;
  op.group = r->group[node];
  op.twin = r->twin[node];
  op.flags = r->backward[node] ? BERTH_OP_BACKWARD : 0;
  return berth_i_blame(r->doc, v, berth_graph_builder_add_op(r->b, &op, NULL));
}

/* Per class: its only forward and its only backward node, BERTH_NONE without one, MANY with more.
 * Twins are unambiguous only in a class of one of each. */
enum { MANY = -2 };
static void note(int32_t *only, int32_t node) { *only = *only == BERTH_NONE ? node : MANY; }

/* only[2 c]: forward, only[2 c + 1]: backward node of class c. */
static berth_status find_twins(reader *r) {
  size_t n = 2 * (size_t)r->classes.n;
  int32_t *only = berth_i_alloc(r->ctx, n, sizeof *only);
  if (!only) return berth_i_nomem(r->ctx);
  for (size_t i = 0; i < n; i++) only[i] = BERTH_NONE;
  for (int32_t k = 0; k < r->n_nodes; k++)
    if (r->group[k] != BERTH_NONE) note(&only[2 * r->group[k] + r->backward[k]], k);
  /* i: forward, i + 1: backward */
  for (size_t i = 0; i < n; i += 2) {
    if (only[i] < 0 || only[i + 1] < 0) continue;
    r->twin[only[i]] = only[i + 1];
    r->twin[only[i + 1]] = only[i];
  }
  berth_i_free(r->ctx, only, n, sizeof *only);
  return BERTH_OK;
}

static berth_status make_room(reader *r) {
  size_t n = (size_t)r->n_nodes;
  r->group = berth_i_pool_alloc(&r->pool, n, sizeof *r->group);
  r->twin = berth_i_pool_alloc(&r->pool, n, sizeof *r->twin);
  r->backward = berth_i_pool_zalloc(&r->pool, n, sizeof *r->backward);
  berth_status st;
  if ((st = berth_i_pool_status(&r->pool)) != BERTH_OK) return st;
  for (size_t i = 0; i < n; i++) r->group[i] = r->twin[i] = BERTH_NONE;
  return BERTH_OK;
}

static berth_status read_nodes(reader *r) {
  static const char *const types[] = { "accelerator", "cpu" };
  berth_i_value first;
  int32_t n = 0;
  berth_status st = berth_i_get_array(r->doc, r->top[F_NODES], &first, &n);
  if (st != BERTH_OK) return st;
  r->n_nodes = n;
  if ((st = make_room(r)) != BERTH_OK) return st;
  if ((st = berth_graph_builder_types(r->b, r->opts->cpus ? 2 : 1, types)) != BERTH_OK) return st;
  st = berth_i_each(r->doc, r->top[F_NODES], scan_node, r);
  if (st == BERTH_OK) st = find_twins(r);
  return st == BERTH_OK ? berth_i_each(r->doc, r->top[F_NODES], add_node, r) : st;
}

/* ---- edges ---- */

/* Kept, not added: edges of one source and size become one tensor. */
static berth_status read_edge(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "sourceId", "destId", "cost" };
  reader *r = ud;
  berth_i_edge edge = { 0, 0, 0, 0, v };
  double seconds = 0;
  berth_i_value f[3];
  (void)i;
  berth_status st = berth_i_fields(r->doc, v, keys, 3, 3, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_find_id(r->doc, f[0], "node", &r->ids, &edge.src)) != BERTH_OK) return st;
  if ((st = berth_i_find_id(r->doc, f[1], "node", &r->ids, &edge.dst)) != BERTH_OK) return st;
  if ((st = read_milliseconds(r, v, f[2], "cost", &seconds)) != BERTH_OK) return st;
  edge.bytes = seconds * r->opts->file_bandwidth;
  if (isinf(edge.bytes))
    return berth_i_json_fail(r->doc, f[2], "is too large at %g B/s", r->opts->file_bandwidth);
  return berth_i_edges_add(r->ctx, &r->edges, edge);
}

static berth_status read_edges(reader *r) {
  berth_status st = berth_i_each(r->doc, r->top[F_EDGES], read_edge, r);
  if (st == BERTH_OK) st = berth_i_edges_once(r->doc, &r->edges, r->n_nodes);
  return st == BERTH_OK ? berth_i_edges_build(r->ctx, &r->edges, r->n_nodes, 0, r->b) : st;
}

static berth_status read_dnn(const berth_i_source *src, const berth_i_json *doc,
                             berth_bundle *out) {
  reader r = {
    .pool = berth_i_pool_empty(src->ctx), .doc = doc, .ctx = src->ctx, .opts = &src->opts
  };
  berth_status st =
      berth_i_fields(doc, berth_i_json_root(doc), TOP, N_TOP, N_TOP - 1, false, r.top);
  if (st == BERTH_OK) st = read_topology(&r, &out->topology);
  if (st == BERTH_OK) st = berth_graph_builder_new(src->ctx, &r.b);
  if (st == BERTH_OK) st = read_nodes(&r);
  if (st == BERTH_OK) st = read_edges(&r);
  if (st == BERTH_OK)
    st = berth_i_blame(doc, r.top[F_EDGES], berth_graph_builder_finish(r.b, &out->graph));
  release(&r);
  return st == BERTH_EINVAL ? berth_i_blame_file(src->ctx, src->name, st) : st;
}

static berth_i_match match_dnn(berth_i_value root) {
  return berth_i_match_if(berth_i_json_get(root, "maxFPGAs") != NULL, BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_dnn = {
  .about = { .choice = { "dnn-partitioning", "Inputs of the data set of that name." },
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_TOPOLOGY, .reads = "file_bandwidth cpus" },
  .match_json = match_dnn, .read_json = read_dnn
};
