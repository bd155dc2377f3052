/* GraphML out; layered layout; minimum cuts. */
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
