/* Graphviz out: ops as boxes, filled by device; collectives as hexagons; an edge per consumer. What
 * is for the eye (label, shape, style, fillcolor) is in front; the attributes behind it, which
 * Graphviz passes over, are those that the reader takes (readers/dot.c). */
#include "io/io_internal.h"

#include <stdio.h>

/* Within quotes. Control characters and bytes that are not UTF-8 become blanks: Graphviz refuses
 * the file else. */
static void put_quoted(berth_i_out *o, const char *s) {
  for (; *s; s++) {
    size_t n = berth_i_utf8(s);
    if (*s == '"' || *s == '\\') berth_i_put(o, "\\");
    if ((unsigned char)*s < 32 || n == 0) berth_i_put(o, " ");
    else berth_i_put_n(o, s, n);
    s += n ? n - 1 : 0;
  }
}

/* One time per device type, "-" where the op cannot run. */
static void put_time(berth_i_out *o, const double *seconds, int32_t n) {
  if (!seconds) return;
  berth_i_put(o, "\\n");
  char buf[32];
  for (int32_t k = 0; k < n; k++) {
    berth_i_put(o, k ? " / " : "");
    berth_i_put(o, isinf(seconds[k])
                       ? "-"
                       : berth_quantity_format(seconds[k], BERTH_SECONDS, buf, sizeof buf));
  }
}

/* Hues by steps of the golden section: neighbours differ, any number of devices works. */
static void put_colour(berth_i_out *o, int32_t device) {
  /* the value changes every 8 devices, as hues come close to each other again */
  double hue = fmod(0.6180339887498949 * device, 1), value = device / 8 % 2 ? 0.8 : 0.95;
  char a[BERTH_I_NUMBER_SIZE], b[BERTH_I_NUMBER_SIZE];
  berth_i_putf(o, ", fillcolor=\"%s 0.35 %s\"",
               berth_i_number_text(nearbyint(hue * 1000) / 1000, a), berth_i_number_text(value, b));
}

/* ---- attributes to be read back ---- */

static void put_text(berth_i_out *o, const char *name, const char *text) {
  berth_i_putf(o, ", %s=\"", name);
  put_quoted(o, text);
  berth_i_put(o, "\"");
}

/* In quotes, as DOT's numbers have no exponents. */
static void put_number(berth_i_out *o, const char *name, double x) {
  char buf[BERTH_I_NUMBER_SIZE];
  put_text(o, name, isinf(x) ? "inf" : berth_i_number_text(x, buf));
}

static void put_amount(berth_i_out *o, const char *name, double x) {
  if (x != 0) put_number(o, name, x);
}

static void put_id(berth_i_out *o, const char *name, int32_t id) {
  if (id != BERTH_NONE) put_number(o, name, id);
}

static void put_flag(berth_i_out *o, const char *name, uint32_t flag) {
  if (flag) berth_i_putf(o, ", %s=true", name);
}

/* Times that hold for all devices. */
static bool has_one_type(const berth_graph *g) {
  return g->n_types == 1 && !*berth_graph_type(g, 0);
}

static void put_seconds_name(berth_i_out *o, const berth_graph *g, int32_t type) {
  if (has_one_type(g)) {
    berth_i_put(o, ", seconds");
    return;
  }
  berth_i_put(o, ", \"seconds:");
  put_quoted(o, berth_graph_type(g, type));
  berth_i_put(o, "\"");
}

static void put_seconds(berth_i_out *o, const berth_graph *g, const double *seconds) {
  char buf[BERTH_I_NUMBER_SIZE];
  for (int32_t k = 0; seconds && k < g->n_types; k++) {
    put_seconds_name(o, g, k);
    berth_i_putf(o, "=\"%s\"", isinf(seconds[k]) ? "inf" : berth_i_number_text(seconds[k], buf));
  }
}

/* Group and pin are words of Graphviz's own: it would move the nodes. */
static void put_op_attributes(berth_i_out *o, const berth_graph *g, const berth_op *op) {
  if (op->name && *op->name) put_text(o, "name", op->name);
  if (op->kind && *op->kind) put_text(o, "kind", op->kind);
  put_seconds(o, g, op->seconds);
  put_amount(o, "flop", op->flop);
  put_amount(o, "bytes", op->bytes);
  put_amount(o, "param_bytes", op->param_bytes);
  put_amount(o, "workspace_bytes", op->workspace_bytes);
  put_id(o, "colocation", op->group);
  put_id(o, "twin", op->twin);
  put_id(o, "pinned", op->pin);
  put_flag(o, "backward", op->flags & BERTH_OP_BACKWARD);
  put_flag(o, "update", op->flags & BERTH_OP_UPDATE);
  put_flag(o, "splittable", op->flags & BERTH_OP_SPLITTABLE);
  put_flag(o, "communication", op->flags & BERTH_OP_COMMUNICATION);
}

/* ---- nodes and edges ---- */

static void put_op(berth_i_out *o, const berth_graph *g, int32_t v, const int32_t *device) {
  berth_op op;
  if (berth_graph_op(g, v, &op) != BERTH_OK) return;
  berth_i_putf(o, "  n%d [label=\"", (int)v);
  if (op.name && *op.name) put_quoted(o, op.name);
  else berth_i_putf(o, "op %d", (int)v);
  if (op.kind && *op.kind) {
    berth_i_put(o, "\\n");
    put_quoted(o, op.kind);
  }
  put_time(o, op.seconds, g->n_types);
  if (device) berth_i_putf(o, "\\ndevice %d", (int)device[v]);
  berth_i_put(o, "\"");
  if (op.flags & BERTH_OP_BACKWARD) berth_i_put(o, ", shape=box, style=\"filled,rounded\"");
  if (device) put_colour(o, device[v]);
  put_op_attributes(o, g, &op);
  if (device) put_number(o, "device", device[v]);
  berth_i_put(o, "];\n");
}

static void put_collective(berth_i_out *o, const berth_graph *g, int32_t k) {
  const berth_collective *c = &g->collectives[k];
  char buf[32];
  berth_i_putf(o, "  n%d [label=\"%s\\n%s\", shape=hexagon", (int)(g->n_ops + k),
               berth_i_collective_names[c->kind],
               berth_quantity_format(c->bytes, BERTH_BYTES, buf, sizeof buf));
  put_text(o, "collective", berth_i_collective_names[c->kind]);
  put_number(o, "bytes", c->bytes);
  put_number(o, "count", c->count);
  berth_i_put(o, "];\n");
}

/* Control dependencies (no bytes) are dashed. An edge without a tensor is one of a collective. */
static void put_edge(berth_i_out *o, berth_graph *g, const berth_i_edge_rows *rows, int32_t k) {
  int32_t t = rows->tensor[k];
  char buf[32];
  uint32_t flags = t != BERTH_NONE && g->tensor_flags ? g->tensor_flags[t] : 0;
  berth_i_putf(o, "  n%d -> n%d", (int)rows->from[k], (int)rows->to[k]);
  if (t == BERTH_NONE) {
    berth_i_put(o, ";\n");
    return;
  }
  double bytes = g->tensor_bytes[t];
  if (bytes == 0) berth_i_put(o, " [style=dashed");
  else
    berth_i_putf(o, " [label=\"%s\"",
                 berth_quantity_format(bytes, BERTH_BYTES, buf, sizeof buf));
  put_amount(o, "bytes", bytes);
  put_number(o, "tensor", t);
  if (g->resident) put_number(o, "resident_bytes", berth_i_resident(g, t));
  put_flag(o, "batch", flags & BERTH_TENSOR_BATCH);
  put_flag(o, "gradient", flags & BERTH_TENSOR_GRADIENT);
  berth_i_put(o, "];\n");
}

/* An empty name says that the label is none, and empty times in which order the types are. */
static void put_head(berth_i_out *o, const berth_graph *g) {
  berth_i_put(o, "digraph \"");
  put_quoted(o, berth_graph_name(g));
  berth_i_put(o, "\" {\n  node [shape=box, style=filled, fillcolor=white, name=\"\"");
  for (int32_t k = 0; k < g->n_types && !has_one_type(g); k++) {
    put_seconds_name(o, g, k);
    berth_i_put(o, "=\"\"");
  }
  berth_i_put(o, "];\n");
}

berth_status berth_i_write_dot(berth_graph *g, const int32_t *device, berth_text *out) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  berth_i_edge_rows rows;
  berth_status st = berth_i_edge_rows_of(g, &scratch, &rows);
  if (st == BERTH_OK) {
    berth_i_out o = berth_i_out_open(g->ctx, out);
    put_head(&o, g);
    for (int32_t k = 0; k < g->n_ops; k++) put_op(&o, g, k, device);
    for (int32_t k = 0; k < g->n_collectives; k++) put_collective(&o, g, k);
    for (int32_t k = 0; k < rows.n; k++) put_edge(&o, g, &rows, k);
    berth_i_put(&o, "}\n");
    st = berth_i_out_close(&o);
  }
  berth_i_pool_free(&scratch);
  return st;
}
