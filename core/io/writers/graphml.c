/* GraphML out: an edge per consumer; collectives are nodes of their own after the ops. GraphML has
 * its attributes ("keys") in front, so all cells are made first, column by column, and printed row
 * by row. Columns without values are left out. */
#include "io/io_internal.h"

typedef struct column_info {
  const char *name, *type; /* "string", "boolean", "int", "double" */
} column_info;

/* Columns of cells: a cell is an offset into one growing text, where it is XML, zero-terminated. */
typedef struct sheet {
  berth_i_out o;
  berth_text text;
  size_t *cell; /* [columns * rows] offsets into text */
  column_info *columns;
  int32_t n, rows;
} sheet;

static const size_t MISSING = (size_t)-1;

static void sheet_make(berth_i_pool *pool, int32_t rows, int32_t cap, sheet *s) {
  *s = (sheet){ .rows = rows };
  s->cell = berth_i_pool_alloc(pool, (size_t)rows * (size_t)cap, sizeof *s->cell);
  s->columns = berth_i_pool_alloc(pool, (size_t)cap, sizeof *s->columns);
}

/* A column of nothing but missing values. */
static int32_t add_column(sheet *s, const char *name, const char *type) {
  int32_t k = s->n++;
  s->columns[k] = (column_info){ name, type };
  for (int32_t i = 0; i < s->rows; i++) s->cell[(size_t)k * (size_t)s->rows + (size_t)i] = MISSING;
  return k;
}

/* What XML cannot hold becomes the picture of a control character, U+2400 on, or U+FFFD. Attributes
 * cannot hold line ends. What a terminal would carry out or reorder is a character reference. */
static void put_xml(berth_i_out *o, const char *s, bool attribute) {
  static const char special[] = "&<>\"'", *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;",
                                                                "&apos;" };
  while (*s) {
    size_t n = berth_i_utf8(s);
    bool control = n == 1 && (unsigned char)*s < 32 && (attribute || (*s != '\t' && *s != '\n'));
    bool nothing = n == 3 && memcmp(s, "\xef\xbf", 2) == 0 && (unsigned char)s[2] >= 0xbe;
    const char *found = strchr(special, *s);
    char escaped[8];
    bool hidden = (n > 1 || *s == 0x7f) && berth_i_escape_one(s, escaped);
    if (found) berth_i_put(o, entities[found - special]);
    else if (hidden) berth_i_putf(o, "&#x%s;", escaped + 2);
    else if (control) berth_i_putf(o, "\xe2\x90%c", 0x80 + *s);
    else if (n == 0 || nothing) berth_i_put(o, "\xef\xbf\xbd");
    else berth_i_put_n(o, s, n);
    s += n ? n : 1;
  }
}

static void set_text(sheet *s, int32_t column, int32_t row, const char *text) {
  if (!text || !*text) return;
  s->cell[(size_t)column * (size_t)s->rows + (size_t)row] = s->text.len;
  put_xml(&s->o, text, false);
  berth_i_put_n(&s->o, "", 1);
}

/* Infinity as Java and XML Schema spell it. */
static void set_number(sheet *s, int32_t column, int32_t row, double x) {
  char buf[BERTH_I_NUMBER_SIZE];
  set_text(s, column, row, isinf(x) ? "Infinity" : berth_i_number_text(x, buf));
}

/* ---- nodes ---- */

typedef struct writer {
  berth_graph *g;
  const int32_t *device;
  sheet nodes, edges;
  berth_text labels;   /* names of the columns of times */
  berth_i_edge_rows rows; /* of edges */
} writer;

enum { N_NODE_COLUMNS = 16, N_EDGE_COLUMNS = 5 };

/* Columns of ops; one that would be empty is left out. */
static void put_names(writer *w, bool kinds) {
  const berth_graph *g = w->g;
  if (kinds ? !g->op_kind : !g->op_name) return;
  int32_t k = add_column(&w->nodes, kinds ? "kind" : "name", "string");
  berth_op op;
  for (int32_t v = 0; v < g->n_ops && berth_graph_op(g, v, &op) == BERTH_OK; v++)
    set_text(&w->nodes, k, v, kinds ? op.kind : op.name);
}

static void put_amount(writer *w, const double *column, const char *name) {
  if (!column) return;
  int32_t k = add_column(&w->nodes, name, "double");
  for (int32_t v = 0; v < w->g->n_ops; v++)
    if (column[v] != 0) set_number(&w->nodes, k, v, column[v]);
}

/* BERTH_NONE is a missing cell. */
static void put_ids(writer *w, const int32_t *column, const char *name) {
  if (!column) return;
  int32_t k = add_column(&w->nodes, name, "int");
  for (int32_t v = 0; v < w->g->n_ops; v++)
    if (column[v] != BERTH_NONE) set_number(&w->nodes, k, v, column[v]);
}

/* false is written, too: readers of the file see a boolean of every op. */
static void put_flag(sheet *s, const uint8_t *column, int32_t n, unsigned bit, const char *name) {
  bool any = false;
  for (int32_t v = 0; column && v < n; v++) any = any || column[v] & bit;
  if (!any) return;
  int32_t k = add_column(s, name, "boolean");
  for (int32_t v = 0; v < n; v++) set_text(s, k, v, column[v] & bit ? "true" : "false");
}

/* "seconds:type", or "seconds" for the one type "". */
static berth_status label_times(writer *w, berth_ctx *ctx) {
  berth_i_out o = berth_i_out_open(ctx, &w->labels);
  for (int32_t k = 0; k < w->g->n_types; k++) {
    const char *type = berth_graph_type(w->g, k);
    berth_i_put(&o, w->g->n_types == 1 && !*type ? "seconds" : "seconds:");
    put_xml(&o, type, true);
    berth_i_put_n(&o, "", 1);
  }
  return berth_i_out_close(&o);
}

static void put_times(writer *w) {
  const berth_graph *g = w->g;
  const char *label = w->labels.data;
  bool plain = g->n_types == 1 && !*berth_graph_type(g, 0);
  if (!g->seconds && plain) return;
  for (int32_t type = 0; type < g->n_types; type++, label += strlen(label) + 1) {
    int32_t k = add_column(&w->nodes, label, "double");
    for (int32_t v = 0; g->seconds && v < g->n_ops; v++) {
      double s = g->seconds[(size_t)v * (size_t)g->n_types + (size_t)type];
      if (!isnan(s)) set_number(&w->nodes, k, v, s);
    }
  }
}

/* The placement: read back as one. */
static void put_device(writer *w) {
  if (!w->device) return;
  int32_t k = add_column(&w->nodes, "device", "int");
  for (int32_t v = 0; v < w->g->n_ops; v++) set_number(&w->nodes, k, v, w->device[v]);
}

static int32_t find_column(sheet *s, const char *name, const char *type) {
  for (int32_t k = 0; k < s->n; k++)
    if (strcmp(s->columns[k].name, name) == 0) return k;
  return add_column(s, name, type);
}

/* Collectives share the column "bytes" with the ops, which may not have one. */
static void put_collectives(writer *w) {
  const berth_graph *g = w->g;
  if (g->n_collectives == 0) return;
  int32_t kind = add_column(&w->nodes, "collective", "string");
  int32_t bytes = find_column(&w->nodes, "bytes", "double");
  int32_t count = add_column(&w->nodes, "count", "int");
  for (int32_t c = 0; c < g->n_collectives; c++) {
    const berth_collective *x = &g->collectives[c];
    set_text(&w->nodes, kind, g->n_ops + c, berth_i_collective_names[x->kind]);
    set_number(&w->nodes, bytes, g->n_ops + c, x->bytes);
    set_number(&w->nodes, count, g->n_ops + c, x->count);
  }
}

static void put_nodes(writer *w) {
  const berth_graph *g = w->g;
  put_names(w, false);
  put_names(w, true);
  put_times(w);
  put_amount(w, g->flop, "flop");
  put_amount(w, g->bytes, "bytes");
  put_amount(w, g->param_bytes, "param_bytes");
  put_amount(w, g->workspace_bytes, "workspace_bytes");
  put_ids(w, g->group, "group");
  put_ids(w, g->twin, "twin");
  put_ids(w, g->pin, "pin");
  put_flag(&w->nodes, g->flags, g->n_ops, BERTH_OP_BACKWARD, "backward");
  put_flag(&w->nodes, g->flags, g->n_ops, BERTH_OP_UPDATE, "update");
  put_flag(&w->nodes, g->flags, g->n_ops, BERTH_OP_SPLITTABLE, "splittable");
  put_flag(&w->nodes, g->flags, g->n_ops, BERTH_OP_COMMUNICATION, "communication");
  put_collectives(w);
  put_device(w);
}

/* ---- edges ---- */

static double size_of(const berth_graph *g, int32_t t) { return g->tensor_bytes[t]; }
static double number_of(const berth_graph *g, int32_t t) { return (void)g, t; }

static void put_edge_column(writer *w, const char *name, const char *type,
                            double (*amount)(const berth_graph *, int32_t)) {
  const int32_t *tensor = w->rows.tensor;
  int32_t k = add_column(&w->edges, name, type);
  for (int32_t e = 0; e < w->edges.rows; e++)
    if (tensor[e] != BERTH_NONE) set_number(&w->edges, k, e, amount(w->g, tensor[e]));
}

/* Made at the first edge that has the flag. */
static void put_edge_flag(writer *w, const char *name, unsigned bit) {
  const int32_t *tensor = w->rows.tensor;
  const uint8_t *flags = w->g->tensor_flags;
  int32_t k = BERTH_NONE;
  for (int32_t e = 0; flags && e < w->edges.rows; e++) {
    if (tensor[e] == BERTH_NONE || !(flags[tensor[e]] & bit)) continue;
    if (k == BERTH_NONE) k = add_column(&w->edges, name, "boolean");
    set_text(&w->edges, k, e, "true");
  }
}

static void put_edges(writer *w) {
  put_edge_column(w, "bytes", "double", size_of);
  put_edge_column(w, "tensor", "int", number_of);
  if (w->g->resident) put_edge_column(w, "resident_bytes", "double", berth_i_resident);
  put_edge_flag(w, "batch", BERTH_TENSOR_BATCH);
  put_edge_flag(w, "gradient", BERTH_TENSOR_GRADIENT);
}

/* ---- the whole ---- */

/* Both sheets fail only for memory; the first failure is kept by its handle. */
static berth_status fill(writer *w, berth_ctx *ctx) {
  berth_status st = label_times(w, ctx);
  if (st != BERTH_OK) return st;
  w->nodes.o = berth_i_out_open(ctx, &w->nodes.text);
  w->edges.o = berth_i_out_open(ctx, &w->edges.text);
  put_nodes(w);
  put_edges(w);
  st = berth_i_out_close(&w->nodes.o);
  return st == BERTH_OK ? berth_i_out_close(&w->edges.o) : st;
}

/* Ids of keys have a prefix, as names of nodes' and edges' columns may be the same. */
static void put_keys(berth_i_out *o, const sheet *s, const char *of, char prefix) {
  for (int32_t k = 0; k < s->n; k++) {
    const char *name = s->columns[k].name;
    berth_i_putf(o, "  <key id=\"%c_%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n", prefix,
                 name, of, name, s->columns[k].type);
  }
}

/* Names of columns may contain device types, so they are put as text, not as a format's
 * argument. */
static void put_data(berth_i_out *o, const sheet *s, char prefix, int32_t row) {
  for (int32_t k = 0; k < s->n; k++) {
    size_t cell = s->cell[(size_t)k * (size_t)s->rows + (size_t)row];
    if (cell == MISSING) continue;
    berth_i_putf(o, "      <data key=\"%c_", prefix);
    berth_i_put(o, s->columns[k].name);
    berth_i_put(o, "\">");
    berth_i_put(o, s->text.data + cell);
    berth_i_put(o, "</data>\n");
  }
}

/* Ids n0, n1, ... are op numbers; the reader takes them for names only if they differ from that. */
static berth_status print(const writer *w, berth_ctx *ctx, berth_text *out) {
  berth_i_out o = berth_i_out_open(ctx, out);
  const char *name = berth_graph_name(w->g);
  berth_i_put(&o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml "
                  "xmlns=\"http://graphml.graphdrawing.org/xmlns\"\n"
                  "         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n"
                  "         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns\n"
                  "         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n");
  if (*name)
    berth_i_put(&o,
                "  <key id=\"g_name\" for=\"graph\" attr.name=\"name\" attr.type=\"string\"/>\n");
  put_keys(&o, &w->nodes, "node", 'v');
  put_keys(&o, &w->edges, "edge", 'e');
  berth_i_put(&o, "  <graph id=\"G\" edgedefault=\"directed\">\n");
  if (*name) {
    berth_i_put(&o, "    <data key=\"g_name\">");
    put_xml(&o, name, false);
    berth_i_put(&o, "</data>\n");
  }
  for (int32_t k = 0; k < w->nodes.rows; k++) {
    berth_i_putf(&o, "    <node id=\"n%d\">\n", (int)k);
    put_data(&o, &w->nodes, 'v', k);
    berth_i_put(&o, "    </node>\n");
  }
  for (int32_t k = 0; k < w->edges.rows; k++) {
    berth_i_putf(&o, "    <edge source=\"n%d\" target=\"n%d\">\n", (int)w->rows.from[k],
                 (int)w->rows.to[k]);
    put_data(&o, &w->edges, 'e', k);
    berth_i_put(&o, "    </edge>\n");
  }
  berth_i_put(&o, "  </graph>\n</graphml>\n");
  return berth_i_out_close(&o);
}

berth_status berth_i_write_graphml(berth_graph *g, const int32_t *device, berth_text *out) {
  berth_ctx *ctx = g->ctx;
  writer w = { .g = g, .device = device };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_status st = berth_i_edge_rows_of(g, &scratch, &w.rows);
  if (st != BERTH_OK) goto done;
  sheet_make(&scratch, g->n_ops + g->n_collectives, N_NODE_COLUMNS + g->n_types, &w.nodes);
  sheet_make(&scratch, w.rows.n, N_EDGE_COLUMNS, &w.edges);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = fill(&w, ctx)) == BERTH_OK) st = print(&w, ctx, out);
done:
  berth_i_pool_free(&scratch);
  berth_text_release(&w.labels);
  berth_text_release(&w.nodes.text);
  berth_text_release(&w.edges.text);
  return st;
}
