/* Workflows as "tasks" and "edges", and, for SAGA's instances, "nodes" and "links"
 * (docs/formats.md, "saga" and "wfcommons"). With "cost" there is one device type and nodes have
 * speeds; with "exec" every node is a type of its own. Units are taken as they are. */
#include "io/formats_internal.h"
#include <stdio.h>

typedef struct workflow {
  const berth_i_json *doc;
  berth_ctx *ctx;
  berth_i_value name, tasks, edges, nodes, links;
  berth_i_names task_ids, node_ids;
  double *seconds; /* [n_types] of the present task */
  int32_t n_types;
  bool exec;           /* times are given per node */
  berth_i_edges pairs; /* ends of the links, the lower one first */
  int32_t n_loops;     /* links of a node to itself */
  berth_i_edges data;  /* between tasks */
  berth_topology_builder *tb;
  berth_graph_builder *b;
} workflow;

static void release(workflow *w) {
  berth_i_names_release(w->ctx, &w->task_ids);
  berth_i_names_release(w->ctx, &w->node_ids);
  berth_i_edges_release(w->ctx, &w->pairs);
  berth_i_edges_release(w->ctx, &w->data);
  berth_i_free(w->ctx, w->seconds, (size_t)w->n_types, sizeof *w->seconds);
  berth_topology_builder_release(w->tb);
  berth_graph_builder_release(w->b);
}

static berth_status read_parts(workflow *w, bool with_nodes) {
  static const char *const keys[] = { "tasks", "edges", "nodes", "links", "name" };
  berth_i_value f[5], root = berth_i_json_root(w->doc);
  berth_status st = berth_i_fields(w->doc, root, keys, 5, with_nodes ? 4 : 2, false, f);
  if (st != BERTH_OK) return st;
  w->tasks = f[0];
  w->edges = f[1];
  w->nodes = with_nodes ? f[2] : NULL;
  w->links = with_nodes ? f[3] : NULL;
  w->name = f[4];
  return BERTH_OK;
}

static berth_status read_name(const workflow *w, const char **name) {
  *name = "";
  return berth_i_get_text(w->doc, w->name, name);
}

/* ---- nodes and links ---- */

static berth_status add_node(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "id", "speed" };
  workflow *w = ud;
  berth_device d = berth_device_default();
  berth_i_value f[2];
  berth_status st = berth_i_fields(w->doc, v, keys, 2, 1, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_add_id(w->doc, f[0], "node", &w->node_ids)) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(w->doc, f[1], &d.speed)) != BERTH_OK) return st;
  if (d.speed == 0) return berth_i_json_fail(w->doc, f[1], "is not positive");
  d.name = w->node_ids.text[i];
  d.type = w->exec ? d.name : "";
  return berth_i_blame(w->doc, v, berth_topology_builder_add_device(w->tb, &d, NULL, NULL));
}

static berth_status add_link(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "a", "b", "bandwidth" };
  workflow *w = ud;
  berth_link link = { 0, 0 };
  int32_t a = 0, b = 0;
  berth_i_value f[3];
  (void)i;
  berth_status st = berth_i_fields(w->doc, v, keys, 3, 2, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_find_id(w->doc, f[0], "node", &w->node_ids, &a)) != BERTH_OK) return st;
  if ((st = berth_i_find_id(w->doc, f[1], "node", &w->node_ids, &b)) != BERTH_OK) return st;
  if (a == b) { /* SAGA's networks have them, of infinite speed; here they are implied */
    w->n_loops++;
    return BERTH_OK;
  }
  if ((st = berth_i_need(w->doc, v, f[2], "bandwidth")) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(w->doc, f[2], &link.bandwidth)) != BERTH_OK) return st;
  if (link.bandwidth == 0)
    return berth_i_json_fail(w->doc, f[2], "is not positive: leave the link out if there is none");
  /* a link leads both ways, so a - b repeats b - a */
  berth_i_edge ends = { a < b ? a : b, a < b ? b : a, 0, 0, v };
  if ((st = berth_i_edges_add(w->ctx, &w->pairs, ends)) != BERTH_OK) return st;
  return berth_i_blame(w->doc, v, berth_topology_builder_add_duplex(w->tb, a, b, &link, NULL));
}

static berth_status read_topology(workflow *w, berth_topology **out) {
  const char *name = "";
  berth_status st = berth_topology_builder_new(w->ctx, &w->tb);
  if (st != BERTH_OK || (st = read_name(w, &name)) != BERTH_OK) return st;
  if ((st = berth_topology_builder_name(w->tb, name)) != BERTH_OK) return st;
  if ((st = berth_i_each(w->doc, w->nodes, add_node, w)) != BERTH_OK) return st;
  if ((st = berth_i_each(w->doc, w->links, add_link, w)) != BERTH_OK) return st;
  if ((st = berth_i_edges_once(w->doc, &w->pairs, w->node_ids.n)) != BERTH_OK) return st;
  return berth_i_blame(w->doc, w->nodes, berth_topology_builder_finish(w->tb, out));
}

/* ---- tasks and edges ---- */

static berth_status read_exec_time(void *ud, berth_i_value v, int32_t node) {
  workflow *w = ud;
  return berth_i_get_amount(w->doc, v, &w->seconds[node]);
}

/* A time for each node, in node order. */
static berth_status read_exec(workflow *w, berth_i_value v) {
  berth_i_value x;
  int32_t n;
  berth_status st = berth_i_get_array(w->doc, v, &x, &n);
  if (st != BERTH_OK) return st;
  if (n != w->n_types)
    return berth_i_json_fail(w->doc, v, "is of length %d, for %d nodes", (int)n, (int)w->n_types);
  return berth_i_each(w->doc, v, read_exec_time, w);
}

static berth_status add_task(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "id", "name", "cost", "exec" };
  workflow *w = ud;
  const char *times = w->exec ? "exec" : "cost";
  berth_op op = berth_op_default();
  berth_i_value f[4] = { NULL };
  berth_status st = berth_i_fields(w->doc, v, keys, w->nodes ? 4 : 3, 1, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_add_id(w->doc, f[0], "task", &w->task_ids)) != BERTH_OK) return st;
  op.name = w->task_ids.text[i];
  if ((st = berth_i_get_text(w->doc, f[1], &op.name)) != BERTH_OK) return st;
  if ((st = berth_i_need(w->doc, v, w->exec ? f[3] : f[2], times)) != BERTH_OK) return st;
  if (f[2] && f[3]) return berth_i_json_fail(w->doc, v, "has both \"cost\" and \"exec\"");
  st = w->exec ? read_exec(w, f[3]) : berth_i_get_amount(w->doc, f[2], w->seconds);
  op.seconds = w->seconds;
  return st == BERTH_OK ? berth_i_blame(w->doc, v, berth_graph_builder_add_op(w->b, &op, NULL))
                        : st;
}

static berth_status read_edge(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "src", "dst", "size" };
  workflow *w = ud;
  berth_i_edge edge = { 0, 0, 0, 0, v };
  berth_i_value f[3];
  (void)i;
  berth_status st = berth_i_fields(w->doc, v, keys, 3, 3, false, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_find_id(w->doc, f[0], "task", &w->task_ids, &edge.src)) != BERTH_OK) return st;
  if ((st = berth_i_find_id(w->doc, f[1], "task", &w->task_ids, &edge.dst)) != BERTH_OK) return st;
  if ((st = berth_i_get_amount(w->doc, f[2], &edge.bytes)) != BERTH_OK) return st;
  return berth_i_edges_add(w->ctx, &w->data, edge);
}

/* Every edge is a tensor of its own: its data are for its consumer alone. */
static berth_status read_edges(workflow *w) {
  const berth_i_edges *e = &w->data;
  berth_status st = berth_i_each(w->doc, w->edges, read_edge, w);
  if (st == BERTH_OK) st = berth_i_edges_once(w->doc, e, w->task_ids.n);
  for (size_t k = 0; k < e->n && st == BERTH_OK; k++)
    st = berth_graph_builder_connect(w->b, e->at[k].src, e->at[k].dst, e->at[k].bytes, NULL);
  return st;
}

/* The node ids are the names of the types, in node order. */
static berth_status prepare_types(workflow *w) {
  w->n_types = w->exec ? w->node_ids.n : 1;
  if (!(w->seconds = berth_i_alloc(w->ctx, (size_t)w->n_types, sizeof *w->seconds)))
    return berth_i_nomem(w->ctx);
  if (!w->exec) return BERTH_OK;
  return berth_graph_builder_types(w->b, w->n_types, (const char *const *)w->node_ids.text);
}

static berth_status read_graph(workflow *w, berth_graph **out) {
  const char *name = "";
  berth_status st = berth_graph_builder_new(w->ctx, &w->b);
  if (st != BERTH_OK) return st;
  berth_graph_builder_unitless(w->b, 1);
  if ((st = read_name(w, &name)) != BERTH_OK
      || (st = berth_graph_builder_name(w->b, name)) != BERTH_OK)
    return st;
  if ((st = prepare_types(w)) != BERTH_OK) return st;
  if ((st = berth_i_each(w->doc, w->tasks, add_task, w)) != BERTH_OK) return st;
  if ((st = read_edges(w)) != BERTH_OK) return st;
  return berth_i_blame(w->doc, w->edges, berth_graph_builder_finish(w->b, out));
}

/* The first task decides; a task of the other kind is refused by add_task. */
static bool has_exec(const workflow *w) {
  berth_i_value first = berth_i_json_first(w->tasks);
  return w->nodes && first && berth_i_json_get(first, "exec");
}

static berth_status read_workflow(const berth_i_source *src, const berth_i_json *doc,
                                  bool with_nodes, berth_bundle *out) {
  workflow w = { .doc = doc, .ctx = src->ctx };
  berth_status st = read_parts(&w, with_nodes);
  if (st == BERTH_OK) w.exec = has_exec(&w);
  if (st == BERTH_OK && with_nodes) st = read_topology(&w, &out->topology);
  if (st == BERTH_OK) st = read_graph(&w, &out->graph);
  if (w.n_loops > 0)
    snprintf(out->note, sizeof out->note, "%d %s passed over", (int)w.n_loops,
             w.n_loops == 1 ? "link of a node to itself is" : "links of nodes to themselves are");
  release(&w);
  return st == BERTH_EINVAL ? berth_i_blame_file(src->ctx, src->name, st) : st;
}

static berth_status read_saga(const berth_i_source *src, const berth_i_json *doc,
                              berth_bundle *out) {
  return read_workflow(src, doc, true, out);
}

static berth_status read_wfcommons(const berth_i_source *src, const berth_i_json *doc,
                                   berth_bundle *out) {
  return read_workflow(src, doc, false, out);
}

static bool has_devices(berth_i_value root) {
  return berth_i_json_get(root, "nodes") || berth_i_json_get(root, "links");
}

/* The two formats differ in "nodes" and "links" only, and neither has a mark of its own. */
static berth_i_match match_saga(berth_i_value root) {
  bool yes = berth_i_json_get(root, "tasks") && has_devices(root);
  return berth_i_match_if(yes, BERTH_I_MATCH_SHAPE);
}

static berth_i_match match_wfcommons(berth_i_value root) {
  bool yes = berth_i_json_get(root, "tasks") && !has_devices(root);
  return berth_i_match_if(yes, BERTH_I_MATCH_SHAPE);
}

const berth_i_format berth_i_format_saga = {
  .about = { .choice = { "saga", "Instances of SAGA: tasks on devices of different speeds." },
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_TOPOLOGY },
  .match_json = match_saga, .read_json = read_saga
};

const berth_i_format berth_i_format_wfcommons = {
  .about = { .choice = { "wfcommons", "Recorded workflows in a neutral form: tasks and edges." },
             .loads = BERTH_HOLDS_GRAPH },
  .match_json = match_wfcommons, .read_json = read_wfcommons
};
