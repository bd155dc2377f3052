/* networkx's node-link JSON (docs/formats.md, "node-link"): "nodes" are ops, "links" or "edges"
 * tensors, each edge one of its own. Attributes are those of GraphML; the others are not read. */
#include "io/formats_internal.h"

typedef struct reading {
  const berth_i_json *doc;
  berth_ctx *ctx;
  berth_i_names ids;
  berth_graph_builder *b;
} reading;

/* Attributes that GraphML has and this format not: an op would be another one without them. */
static berth_status refuse_unread(const reading *r, berth_i_value object,
                                  const char *const *unread) {
  for (berth_i_value v = berth_i_json_first(object); v; v = berth_i_json_next(v)) {
    const char *key = berth_i_json_key(v);
    bool bad = strncmp(key, "seconds:", 8) == 0;
    for (int k = 0; unread[k]; k++) bad = bad || strcmp(key, unread[k]) == 0;
    if (bad) return berth_i_json_fail(r->doc, v, "is read of GraphML only");
  }
  return BERTH_OK;
}

static berth_status add_node(void *ud, berth_i_value v, int32_t i) {
  enum {
    ID, NAME, KIND, SECONDS, FLOP, BYTES, PARAMS, WORKSPACE, GROUP, BACKWARD, UPDATE, SPLITTABLE,
    COMMUNICATION, N
  };
  static const char *const keys[] = { "id", "name", "kind", "seconds", "flop", "bytes",
                                      "param_bytes", "workspace_bytes", "group", "backward",
                                      "update", "splittable", "communication" };
  static const berth_i_quantity quantities[] = {
    { FLOP, BERTH_FLOP, false, offsetof(berth_op, flop) },
    { BYTES, BERTH_BYTES, false, offsetof(berth_op, bytes) },
    { PARAMS, BERTH_BYTES, false, offsetof(berth_op, param_bytes) },
    { WORKSPACE, BERTH_BYTES, false, offsetof(berth_op, workspace_bytes) }
  };
  static const char *const unread[] = { "twin", "pin", "device", "collective", NULL };
  static const berth_i_bit bits[] = { { BACKWARD, BERTH_OP_BACKWARD },
                                      { UPDATE, BERTH_OP_UPDATE },
                                      { SPLITTABLE, BERTH_OP_SPLITTABLE },
                                      { COMMUNICATION, BERTH_OP_COMMUNICATION } };
  reading *r = ud;
  berth_op op = berth_op_default();
  double seconds = 0;
  berth_i_value f[N];
  berth_status st = berth_i_fields(r->doc, v, keys, N, 1, false, f);
  if (st == BERTH_OK) st = refuse_unread(r, v, unread);
  if (st == BERTH_OK) st = berth_i_add_id(r->doc, f[ID], "node", &r->ids);
  if (st != BERTH_OK) return st;
  op.name = r->ids.text[i];
  if ((st = berth_i_get_text(r->doc, f[NAME], &op.name)) != BERTH_OK
      || (st = berth_i_get_text(r->doc, f[KIND], &op.kind)) != BERTH_OK
      || (st = berth_i_get_quantity(r->doc, f[SECONDS], BERTH_SECONDS, false, &seconds)) != BERTH_OK
      || (st = berth_i_get_quantities(r->doc, f, quantities, 4, &op)) != BERTH_OK
      || (st = berth_i_get_int(r->doc, f[GROUP], 0, INT32_MAX - 1, &op.group)) != BERTH_OK
      || (st = berth_i_get_bits(r->doc, f, bits, 4, false, &op.flags)) != BERTH_OK)
    return st;
  op.seconds = f[SECONDS] ? &seconds : NULL;
  return berth_i_blame(r->doc, v, berth_graph_builder_add_op(r->b, &op, NULL));
}

/* Parallel edges of a multigraph differ by "key", which is not read. */
static berth_status add_edge(void *ud, berth_i_value v, int32_t i) {
  enum { SOURCE, TARGET, BYTES, RESIDENT, BATCH, GRADIENT, N };
  static const char *const keys[] = { "source", "target", "bytes", "resident_bytes", "batch",
                                      "gradient" };
  static const berth_i_quantity amounts[] = {
    { BYTES, BERTH_BYTES, false, offsetof(berth_tensor, bytes) },
    { RESIDENT, BERTH_BYTES, false, offsetof(berth_tensor, resident_bytes) }
  };
  static const char *const unread[] = { "tensor", NULL };
  static const berth_i_bit bits[] = { { BATCH, BERTH_TENSOR_BATCH },
                                      { GRADIENT, BERTH_TENSOR_GRADIENT } };
  reading *r = ud;
  const berth_i_json *doc = r->doc;
  berth_tensor t = { 0, 0, -1, 0 };
  int32_t to = 0, tensor;
  berth_i_value f[N];
  (void)i;
  berth_status st = berth_i_fields(doc, v, keys, N, 2, false, f);
  if (st == BERTH_OK) st = refuse_unread(r, v, unread);
  if (st == BERTH_OK) st = berth_i_find_id(doc, f[SOURCE], "node", &r->ids, &t.producer);
  if (st == BERTH_OK) st = berth_i_find_id(doc, f[TARGET], "node", &r->ids, &to);
  if (st == BERTH_OK) st = berth_i_get_quantities(doc, f, amounts, 2, &t);
  if (st == BERTH_OK) st = berth_i_get_bits(doc, f, bits, 2, false, &t.flags);
  if (st != BERTH_OK) return st;
  if ((st = berth_graph_builder_add_tensor(r->b, &t, &tensor)) == BERTH_OK)
    st = berth_graph_builder_add_consumer(r->b, tensor, to);
  return berth_i_blame(doc, v, st);
}

static berth_status read_graph(reading *r, berth_graph **out) {
  enum { DIRECTED, NODES, LINKS, EDGES, GRAPH, ADJACENCY, N };
  static const char *const keys[] = { "directed", "nodes", "links",
                                      "edges",    "graph", "adjacency" };
  berth_i_value f[N], root = berth_i_json_root(r->doc);
  bool directed = false; /* edges: from networkx 3.4 on; links: before */
  const char *name = "";
  berth_status st;
  if ((st = berth_i_fields(r->doc, root, keys, N, 2, false, f)) != BERTH_OK
      || (st = berth_i_get_bool(r->doc, f[DIRECTED], &directed)) != BERTH_OK)
    return st;
  if (!directed) return berth_i_json_fail(r->doc, f[DIRECTED], ": edges must be directed");
  if (f[LINKS] && f[EDGES])
    return berth_i_json_fail(r->doc, f[EDGES], "is given beside \"links\"");
  if (f[ADJACENCY])
    return berth_i_json_fail(r->doc, f[ADJACENCY], "is not read: networkx.node_link_data is");
  if (!f[EDGES] && (st = berth_i_need(r->doc, root, f[LINKS], "links")) != BERTH_OK) return st;
  if (f[GRAPH] && berth_i_json_kind_of(f[GRAPH]) == BERTH_I_JSON_OBJECT
      && (st = berth_i_get_text(r->doc, berth_i_json_get(f[GRAPH], "name"), &name)) != BERTH_OK)
    return st;
  if ((st = berth_graph_builder_new(r->ctx, &r->b)) != BERTH_OK
      || (st = berth_graph_builder_name(r->b, name)) != BERTH_OK
      || (st = berth_i_each(r->doc, f[NODES], add_node, r)) != BERTH_OK
      || (st = berth_i_each(r->doc, f[LINKS] ? f[LINKS] : f[EDGES], add_edge, r)) != BERTH_OK)
    return st;
  return berth_i_blame(r->doc, f[LINKS] ? f[LINKS] : f[NODES],
                       berth_graph_builder_finish(r->b, out));
}

static berth_status read_node_link(const berth_i_source *src, const berth_i_json *doc,
                                   berth_bundle *out) {
  reading r = { .doc = doc, .ctx = src->ctx };
  berth_status st = read_graph(&r, &out->graph);
  berth_i_names_release(r.ctx, &r.ids);
  berth_graph_builder_release(r.b);
  return st == BERTH_EINVAL ? berth_i_blame_file(src->ctx, src->name, st) : st;
}

/* networkx's other forms of JSON have the two members, too. */
static berth_i_match match_node_link(berth_i_value root) {
  bool yes = berth_i_json_get(root, "directed") && berth_i_json_get(root, "nodes");
  return berth_i_match_if(yes, BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_node_link = {
  .about = { .choice = { "node-link", "JSON of networkx: nodes and links." },
             .loads = BERTH_HOLDS_GRAPH },
  .match_json = match_node_link, .read_json = read_node_link
};
