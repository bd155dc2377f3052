/* GraphML in and out; layered layout; minimum cuts. */
#include "igraph_internal.h"

#include <igraph.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* igraph knows one handler for the whole process and gives it no user data: what it said first is kept here, under the mutex. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first_reason[256];

typedef struct Guard {
  igraph_error_handler_t *error;
  igraph_warning_handler_t *warning;
  const igraph_attribute_table_t *attributes;
} Guard;

static void keep_reason(const char *reason, const char *file, int line, igraph_error_t code) {
  (void)file;
  (void)line;
  (void)code;
  if (!*first_reason && reason) snprintf(first_reason, sizeof first_reason, "%s", reason);
  IGRAPH_FINALLY_FREE();
}

static Guard enter(void) {
  Guard g;
  pthread_mutex_lock(&lock);
  *first_reason = 0;
  g.error = igraph_set_error_handler(keep_reason);
  g.warning = igraph_set_warning_handler(igraph_warning_handler_ignore);
  g.attributes = igraph_set_attribute_table(&igraph_cattribute_table);
  return g;
}

static void leave(const Guard *g) {
  igraph_set_attribute_table(g->attributes);
  igraph_set_warning_handler(g->warning);
  igraph_set_error_handler(g->error);
  pthread_mutex_unlock(&lock);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void columns_release(berth_ctx *ctx, berth_i_columns *c) {
  int32_t k, i;
  for (k = 0; k < c->n; k++) {
    berth_i_column *x = &c->at[k];
    for (i = 0; x->text && i < c->rows; i++) berth_i_strfree(ctx, x->text[i]);
    berth_i_free(ctx, x->text, (size_t)c->rows, sizeof *x->text);
    berth_i_free(ctx, x->number, (size_t)c->rows, sizeof *x->number);
    berth_i_strfree(ctx, x->name);
  }
  berth_i_free(ctx, c->at, (size_t)c->n, sizeof *c->at);
  c->at = NULL;
  c->n = 0;
}

void berth_i_table_release(berth_i_table *t) {
  if (!t->ctx) return;
  columns_release(t->ctx, &t->nodes);
  berth_i_free(t->ctx, t->from, (size_t)t->edges.rows, sizeof *t->from);
  berth_i_free(t->ctx, t->to, (size_t)t->edges.rows, sizeof *t->to);
  columns_release(t->ctx, &t->edges);
  berth_i_strfree(t->ctx, t->name);
  memset(t, 0, sizeof *t);
}

typedef struct Source {
  berth_ctx *ctx;
  const igraph_t *g;
  bool edges; /* which table */
} Source;

static double number_at(const Source *s, const char *name, igraph_attribute_type_t type, int32_t i) {
  if (type == IGRAPH_ATTRIBUTE_BOOLEAN) {
    return s->edges ? igraph_cattribute_EAB(s->g, name, i) : igraph_cattribute_VAB(s->g, name, i);
  }
  return s->edges ? igraph_cattribute_EAN(s->g, name, i) : igraph_cattribute_VAN(s->g, name, i);
}

static berth_status copy_numbers(const Source *s, const char *name, igraph_attribute_type_t type, int32_t rows,
                                 berth_i_column *out) {
  int32_t i;
  if (!(out->number = berth_i_alloc(s->ctx, (size_t)rows, sizeof *out->number))) return berth_i_nomem(s->ctx);
  for (i = 0; i < rows; i++) out->number[i] = number_at(s, name, type, i);
  return BERTH_OK;
}

/* A copy of text; what was an attribute of a tag comes from libxml2 with "&amp;" half decoded. */
static char *copy_text(berth_ctx *ctx, const char *text, bool attribute) {
  static const char half[] = "&#38;";
  char *copy = NULL, *at, *decoded;
  if (!text) text = "";
  if (!attribute || !strstr(text, half)) return berth_i_strdup(ctx, text);
  if (!(decoded = malloc(strlen(text) + 1))) return NULL;
  strcpy(decoded, text);
  for (at = decoded; (at = strstr(at, half)); at++) memmove(at + 1, at + strlen(half), strlen(at + strlen(half)) + 1);
  copy = berth_i_strdup(ctx, decoded);
  free(decoded);
  return copy;
}

static berth_status copy_texts(const Source *s, const char *name, int32_t rows, berth_i_column *out) {
  bool is_id = !s->edges && strcmp(name, "id") == 0;
  int32_t i;
  if (!(out->text = berth_i_zalloc(s->ctx, (size_t)rows, sizeof *out->text))) return berth_i_nomem(s->ctx);
  for (i = 0; i < rows; i++) {
    const char *text = s->edges ? igraph_cattribute_EAS(s->g, name, i) : igraph_cattribute_VAS(s->g, name, i);
    if (!(out->text[i] = copy_text(s->ctx, text, is_id))) return berth_i_nomem(s->ctx);
  }
  return BERTH_OK;
}

static berth_status copy_columns(const Source *s, const igraph_strvector_t *names, const igraph_vector_int_t *types,
                                 berth_i_columns *out) {
  int32_t n = (int32_t)igraph_strvector_size(names), k;
  berth_status st = BERTH_OK;
  if (!(out->at = berth_i_zalloc(s->ctx, (size_t)n, sizeof *out->at))) return berth_i_nomem(s->ctx);
  out->n = n;
  for (k = 0; k < n && st == BERTH_OK; k++) {
    igraph_attribute_type_t type = (igraph_attribute_type_t)VECTOR(*types)[k];
    const char *name = igraph_strvector_get(names, k);
    berth_i_column *column = &out->at[k];
    if (!(column->name = copy_text(s->ctx, name, true))) return berth_i_nomem(s->ctx);
    st = type == IGRAPH_ATTRIBUTE_STRING ? copy_texts(s, name, out->rows, column)
                                         : copy_numbers(s, name, type, out->rows, column);
  }
  return st;
}

static berth_status copy_edges(berth_ctx *ctx, const igraph_t *g, berth_i_table *out) {
  size_t m = (size_t)out->edges.rows;
  int32_t k;
  out->from = berth_i_alloc(ctx, m, sizeof *out->from);
  out->to = berth_i_alloc(ctx, m, sizeof *out->to);
  if (!out->from || !out->to) return berth_i_nomem(ctx);
  for (k = 0; k < out->edges.rows; k++) {
    out->from[k] = (int32_t)IGRAPH_FROM(g, k);
    out->to[k] = (int32_t)IGRAPH_TO(g, k);
  }
  return BERTH_OK;
}

static berth_status copy_name(berth_ctx *ctx, const igraph_t *g, const igraph_strvector_t *names,
                              const igraph_vector_int_t *types, berth_i_table *out) {
  const char *name = "";
  igraph_integer_t k;
  for (k = 0; k < igraph_strvector_size(names); k++) {
    bool text = VECTOR(*types)[k] == IGRAPH_ATTRIBUTE_STRING;
    if (text && strcmp(igraph_strvector_get(names, k), "name") == 0) name = igraph_cattribute_GAS(g, "name");
  }
  return (out->name = berth_i_strdup(ctx, name ? name : "")) ? BERTH_OK : berth_i_nomem(ctx);
}

typedef struct Names {
  igraph_strvector_t g, v, e;
  igraph_vector_int_t gt, vt, et;
} Names;

static void names_destroy(Names *n) {
  igraph_strvector_destroy(&n->g);
  igraph_strvector_destroy(&n->v);
  igraph_strvector_destroy(&n->e);
  igraph_vector_int_destroy(&n->gt);
  igraph_vector_int_destroy(&n->vt);
  igraph_vector_int_destroy(&n->et);
}

static bool names_init(Names *n) {
  memset(n, 0, sizeof *n);
  return !igraph_strvector_init(&n->g, 0) && !igraph_strvector_init(&n->v, 0) && !igraph_strvector_init(&n->e, 0) &&
         !igraph_vector_int_init(&n->gt, 0) && !igraph_vector_int_init(&n->vt, 0) && !igraph_vector_int_init(&n->et, 0);
}

static berth_status copy_graph(berth_ctx *ctx, const char *file, const igraph_t *g, berth_i_table *out) {
  Source nodes = { ctx, g, false }, edges = { ctx, g, true };
  Names n;
  berth_status st;
  if (igraph_vcount(g) >= INT32_MAX || igraph_ecount(g) >= INT32_MAX) {
    return berth_i_fail(ctx, BERTH_EPARSE, "%s: too many nodes or edges", file);
  }
  out->directed = igraph_is_directed(g);
  out->nodes.rows = (int32_t)igraph_vcount(g);
  out->edges.rows = (int32_t)igraph_ecount(g);
  if (!names_init(&n) || igraph_cattribute_list(g, &n.g, &n.gt, &n.v, &n.vt, &n.e, &n.et)) {
    st = berth_i_nomem(ctx);
  } else if ((st = copy_name(ctx, g, &n.g, &n.gt, out)) == BERTH_OK &&
             (st = copy_columns(&nodes, &n.v, &n.vt, &out->nodes)) == BERTH_OK &&
             (st = copy_columns(&edges, &n.e, &n.et, &out->edges)) == BERTH_OK) {
    st = copy_edges(ctx, g, out);
  }
  names_destroy(&n);
  return st;
}

/* libxml2's reasons begin with "Line 3: ". */
static berth_status refused(berth_ctx *ctx, const char *file, igraph_error_t code) {
  int line, used = 0;
  if (code == IGRAPH_ENOMEM) return berth_i_nomem(ctx);
  if (sscanf(first_reason, "Line %d: %n", &line, &used) == 1 && used > 0) {
    return berth_i_fail(ctx, BERTH_EPARSE, "%s:%d: %s", file, line, first_reason + used);
  }
  if (strncmp(first_reason, "Graph index", 11) == 0) return berth_i_fail(ctx, BERTH_EPARSE, "%s: there is no <graph>", file);
  return berth_i_fail(ctx, BERTH_EPARSE, "%s: %s", file, *first_reason ? first_reason : "GraphML cannot be read");
}

berth_status berth_i_graphml_read(berth_ctx *ctx, const char *name, const char *text, size_t len, berth_i_table *out) {
  FILE *f = fmemopen((void *)(uintptr_t)text, len, "rb");
  berth_i_table t = { .ctx = ctx };
  berth_status st;
  Guard guard;
  igraph_t g;
  igraph_error_t code;
  if (!f) return berth_i_nomem(ctx);
  guard = enter();
  if ((code = igraph_read_graph_graphml(&g, f, 0)) != IGRAPH_SUCCESS) {
    st = refused(ctx, name, code);
  } else {
    st = copy_graph(ctx, name, &g, &t);
    igraph_destroy(&g);
  }
  leave(&guard);
  fclose(f);
  if (st == BERTH_OK) *out = t;
  else berth_i_table_release(&t);
  return st;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* igraph prints numbers with 15 digits, so all columns go through it as strings, and the types are put right in its output:
 *   <key id="..." for="node" attr.name="seconds" attr.type="string"/>   gets its own type,
 *   <data key="..."></data>                                             goes: the value is missing.
 * A text cannot look like such a line: its '<' is escaped. */
typedef struct Filter {
  const berth_i_written *columns[2]; /* nodes, edges */
  int32_t n[2];
  int32_t next[2]; /* keys come in order of the columns */
  berth_status (*put)(void *ud, const char *text, size_t len);
  void *ud;
} Filter;

static const char KEY[] = "  <key id=\"", TYPE[] = "attr.type=\"string\"/>", DATA[] = "      <data key=\"";

static bool starts(const char *line, size_t len, const char *with) {
  return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static berth_status filter_key(Filter *f, const char *line, size_t len) {
  int which = strstr(line, "for=\"node\"") ? 0 : 1;
  size_t tail = strlen(TYPE) + 1;
  const char *type;
  char buf[48];
  berth_status st;
  if (strstr(line, "for=\"graph\"") || f->next[which] >= f->n[which]) return f->put(f->ud, line, len);
  type = f->columns[which][f->next[which]++].type;
  if (strcmp(type, "string") == 0 || len < tail) return f->put(f->ud, line, len);
  if ((st = f->put(f->ud, line, len - tail)) != BERTH_OK) return st;
  snprintf(buf, sizeof buf, "attr.type=\"%s\"/>\n", type);
  return f->put(f->ud, buf, strlen(buf));
}

static bool is_missing(const char *line, size_t len) {
  static const char empty[] = "\"></data>\n";
  size_t n = strlen(empty);
  return len > n && starts(line, len, DATA) && starts(line + len - n, n, empty);
}

static berth_status filter_line(Filter *f, const char *line, size_t len) {
  char key[512];
  if (is_missing(line, len)) return BERTH_OK;
  if (!starts(line, len, KEY) || len >= sizeof key) return f->put(f->ud, line, len);
  memcpy(key, line, len);
  key[len] = 0;
  return filter_key(f, key, len);
}

static berth_status filter_all(Filter *f, const char *text, size_t len) {
  const char *end = text + len;
  berth_status st = BERTH_OK;
  while (text < end && st == BERTH_OK) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t n = stop ? (size_t)(stop - text) + 1 : (size_t)(end - text);
    st = filter_line(f, text, n);
    text += n;
  }
  return st;
}

static igraph_error_t set_column(igraph_t *g, bool edges, const berth_i_written *c, int32_t rows) {
  igraph_strvector_t values;
  igraph_error_t code = igraph_strvector_init(&values, rows);
  int32_t i;
  if (code) return code;
  for (i = 0; i < rows && !code; i++) code = igraph_strvector_set(&values, i, c->text[i] ? c->text[i] : "");
  if (!code) code = (edges ? igraph_cattribute_EAS_setv : igraph_cattribute_VAS_setv)(g, c->name, &values);
  igraph_strvector_destroy(&values);
  return code;
}

static igraph_error_t make_graph(igraph_t *g, int32_t n, int32_t m, const int32_t *from, const int32_t *to) {
  igraph_vector_int_t edges;
  igraph_error_t code = igraph_vector_int_init(&edges, 2 * (igraph_integer_t)m);
  int32_t k;
  if (code) return code;
  for (k = 0; k < m; k++) {
    VECTOR(edges)[2 * (igraph_integer_t)k] = from[k];
    VECTOR(edges)[2 * (igraph_integer_t)k + 1] = to[k];
  }
  code = igraph_create(g, &edges, n, IGRAPH_DIRECTED);
  igraph_vector_int_destroy(&edges);
  return code;
}

static igraph_error_t fill_graph(igraph_t *g, const Filter *f, int32_t n, int32_t m, const char *name) {
  igraph_error_t code = *name ? igraph_cattribute_GAS_set(g, "name", name) : IGRAPH_SUCCESS;
  int32_t k;
  for (k = 0; k < f->n[0] && !code; k++) code = set_column(g, false, &f->columns[0][k], n);
  for (k = 0; k < f->n[1] && !code; k++) code = set_column(g, true, &f->columns[1][k], m);
  return code;
}

static igraph_error_t print_graph(const igraph_t *g, char **text, size_t *len) {
  FILE *f = open_memstream(text, len);
  igraph_error_t code;
  if (!f) return IGRAPH_ENOMEM;
  code = igraph_write_graph_graphml(g, f, 1);
  if (fclose(f) != 0 && !code) code = IGRAPH_ENOMEM;
  return code;
}

static berth_status write_failed(berth_ctx *ctx, igraph_error_t code) {
  if (code == IGRAPH_ENOMEM) return berth_i_nomem(ctx);
  return berth_i_fail(ctx, BERTH_EINVAL, "GraphML cannot be written: %s", *first_reason ? first_reason : "igraph refuses");
}

berth_status berth_i_graphml_write(berth_ctx *ctx, const char *graph_name, int32_t n_nodes, int32_t n_edges, const int32_t *from,
                                   const int32_t *to, int32_t n_node_columns, const berth_i_written *node_columns,
                                   int32_t n_edge_columns, const berth_i_written *edge_columns,
                                   berth_status (*put)(void *ud, const char *text, size_t len), void *ud) {
  Filter f = { { node_columns, edge_columns }, { n_node_columns, n_edge_columns }, { 0, 0 }, put, ud };
  size_t len = 0;
  char *text = NULL;
  berth_status st = BERTH_OK;
  igraph_error_t code;
  igraph_t g;
  Guard guard;
  guard = enter();
  if (!(code = make_graph(&g, n_nodes, n_edges, from, to))) {
    if (!(code = fill_graph(&g, &f, n_nodes, n_edges, graph_name))) code = print_graph(&g, &text, &len);
    igraph_destroy(&g);
  }
  if (code) st = write_failed(ctx, code);
  leave(&guard);
  if (st == BERTH_OK) st = filter_all(&f, text, len);
  free(text);
  return st;
}

/* ---- layout ------------------------------------------------------------------------------- */

enum { LAYOUT_SWEEPS = 100 };

static igraph_error_t sugiyama(const igraph_t *g, int32_t n, const int32_t *layer, igraph_matrix_t *at) {
  igraph_vector_int_t layers;
  igraph_error_t code = igraph_vector_int_init(&layers, n);
  int32_t k;
  if (code) return code;
  for (k = 0; k < n; k++) VECTOR(layers)[k] = layer[k];
  code = igraph_layout_sugiyama(g, at, NULL, NULL, &layers, 1, 1, LAYOUT_SWEEPS, NULL);
  igraph_vector_int_destroy(&layers);
  return code;
}

static igraph_error_t layered(const igraph_t *g, int32_t n, const int32_t *layer, double *x, double *y) {
  igraph_matrix_t at;
  igraph_error_t code = igraph_matrix_init(&at, 0, 0);
  int32_t k;
  if (code) return code;
  if (!(code = sugiyama(g, n, layer, &at))) {
    for (k = 0; k < n; k++) {
      x[k] = MATRIX(at, k, 0);
      y[k] = layer[k];
    }
  }
  igraph_matrix_destroy(&at);
  return code;
}

berth_status berth_i_layered(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from, const int32_t *to, const int32_t *layer,
                             double *x, double *y) {
  berth_status st = BERTH_OK;
  igraph_error_t code;
  igraph_t g;
  Guard guard = enter();
  if (!(code = make_graph(&g, n, m, from, to))) {
    code = layered(&g, n, layer, x, y);
    igraph_destroy(&g);
  }
  if (code == IGRAPH_ENOMEM) st = berth_i_nomem(ctx);
  else if (code) st = berth_i_fail(ctx, BERTH_EINVAL, "layout: %s", *first_reason ? first_reason : "igraph refuses");
  leave(&guard);
  return st;
}

/* ---- cuts --------------------------------------------------------------------------------- */

/* igraph's second part is what still reaches the target in the residual graph. */
static igraph_error_t cut_apart(const igraph_t *g, const igraph_vector_t *capacity, int32_t source, int32_t target, uint8_t *side) {
  igraph_vector_int_t reached;
  igraph_integer_t k;
  igraph_real_t value;
  igraph_error_t code = igraph_vector_int_init(&reached, 0);
  if (code) return code;
  code = igraph_maxflow(g, &value, NULL, NULL, NULL, &reached, source, target, capacity, NULL);
  for (k = 0; !code && k < igraph_vector_int_size(&reached); k++) side[VECTOR(reached)[k]] = 1;
  igraph_vector_int_destroy(&reached);
  return code;
}

berth_status berth_i_min_cut(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from, const int32_t *to, const double *capacity,
                             int32_t source, int32_t target, uint8_t *side) {
  berth_status st = BERTH_OK;
  igraph_vector_t view;
  igraph_error_t code;
  igraph_t g;
  Guard guard = enter();
  memset(side, 0, (size_t)n);
  if (!(code = make_graph(&g, n, m, from, to))) {
    code = cut_apart(&g, igraph_vector_view(&view, capacity, m), source, target, side);
    igraph_destroy(&g);
  }
  if (code == IGRAPH_ENOMEM) st = berth_i_nomem(ctx);
  else if (code) st = berth_i_fail(ctx, BERTH_EINVAL, "no cut: %s", *first_reason ? first_reason : "igraph refuses the network");
  leave(&guard);
  return st;
}
