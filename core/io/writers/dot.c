/* Graphviz: ops as boxes, filled by device; collectives as hexagons; an edge per consumer. Written
 * for the eye: not read back. */
#include "io/formats_internal.h"

#include <stdio.h>

/* Control characters and bytes that are not UTF-8 become blanks: Graphviz refuses the file else. */
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
  berth_i_put(o, "];\n");
}

/* Control dependencies (no bytes) are dashed. */
static void put_tensor(berth_i_out *o, const berth_graph *g, int32_t t) {
  char buf[32];
  for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
    berth_i_putf(o, "  n%d -> n%d", (int)g->producer[t], (int)g->use[e]);
    if (g->tensor_bytes[t] == 0) berth_i_put(o, " [style=dashed];\n");
    else
      berth_i_putf(o, " [label=\"%s\"];\n",
                   berth_quantity_format(g->tensor_bytes[t], BERTH_BYTES, buf, sizeof buf));
  }
}

static void put_collective(berth_i_out *o, const berth_graph *g, int32_t k) {
  const berth_collective *c = &g->collectives[k];
  char buf[32];
  berth_i_putf(o, "  c%d [label=\"%s\\n%s\", shape=hexagon];\n", (int)k,
               berth_i_collective_names[c->kind],
               berth_quantity_format(c->bytes, BERTH_BYTES, buf, sizeof buf));
  for (int32_t i = 0; i < c->n_members; i++)
    berth_i_putf(o, "  n%d -> c%d;\n", (int)c->members[i], (int)k);
  for (int32_t i = 0; i < c->n_consumers; i++)
    berth_i_putf(o, "  c%d -> n%d;\n", (int)k, (int)c->consumers[i]);
}

static berth_status write_dot(berth_graph *g, const int32_t *device, berth_text *out) {
  berth_i_out o = berth_i_out_open(g->ctx, out);
  berth_i_put(&o, "digraph \"");
  put_quoted(&o, berth_graph_name(g));
  berth_i_put(&o, "\" {\n  node [shape=box, style=filled, fillcolor=white];\n");
  for (int32_t k = 0; k < g->n_ops; k++) put_op(&o, g, k, device);
  for (int32_t k = 0; k < g->n_collectives; k++) put_collective(&o, g, k);
  for (int32_t k = 0; k < g->n_tensors; k++) put_tensor(&o, g, k);
  berth_i_put(&o, "}\n");
  return berth_i_out_close(&o);
}

const berth_i_format berth_i_format_dot = {
  .about = { .choice = { "dot", "Pictures by Graphviz." }, .endings = "dot gv",
             .saves = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT },
  .write = write_dot
};
