/* igraph, wrapped: layered layout (Sugiyama) and minimum cuts. igraph's error and warning handlers
 * and its attribute table belong to the process: all calls are made under one mutex, with berth's
 * handlers put in and the old ones put back. */
#include "igraph_internal.h"

#include <igraph.h>
#include <pthread.h>
#include <stdio.h>

/* igraph has one handler for the whole process and gives it no user data: its first message is
 * kept here, under the mutex. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first_reason[256];

typedef struct call_guard {
  igraph_error_handler_t *error;
  igraph_warning_handler_t *warning;
  const igraph_attribute_table_t *attributes;
} call_guard;

static void keep_reason(const char *reason, const char *file, int line, igraph_error_t code) {
  (void)file;
  (void)line;
  (void)code;
  if (!*first_reason && reason) snprintf(first_reason, sizeof first_reason, "%s", reason);
  IGRAPH_FINALLY_FREE();
}

static call_guard enter(void) {
  pthread_mutex_lock(&lock);
  *first_reason = 0;
  call_guard g;
  g.error = igraph_set_error_handler(keep_reason);
  g.warning = igraph_set_warning_handler(igraph_warning_handler_ignore);
  g.attributes = igraph_set_attribute_table(NULL);
  return g;
}

static void leave(const call_guard *g) {
  igraph_set_attribute_table(g->attributes);
  igraph_set_warning_handler(g->warning);
  igraph_set_error_handler(g->error);
  pthread_mutex_unlock(&lock);
}

static igraph_error_t make_graph(igraph_t *g, int32_t n, int32_t m, const int32_t *from,
                                 const int32_t *to) {
  igraph_vector_int_t edges;
  igraph_error_t code = igraph_vector_int_init(&edges, 2 * (igraph_integer_t)m);
  if (code) return code;
  for (int32_t k = 0; k < m; k++) {
    VECTOR(edges)[2 * (igraph_integer_t)k] = from[k];
    VECTOR(edges)[2 * (igraph_integer_t)k + 1] = to[k];
  }
  code = igraph_create(g, &edges, n, IGRAPH_DIRECTED);
  igraph_vector_int_destroy(&edges);
  return code;
}

/* ---- layout ---- */

enum { LAYOUT_SWEEPS = 100 };

static igraph_error_t sugiyama(const igraph_t *g, int32_t n, const int32_t *layer,
                               igraph_matrix_t *at) {
  igraph_vector_int_t layers;
  igraph_error_t code = igraph_vector_int_init(&layers, n);
  if (code) return code;
  for (int32_t k = 0; k < n; k++) VECTOR(layers)[k] = layer[k];
  code = igraph_layout_sugiyama(g, at, NULL, NULL, &layers, 1, 1, LAYOUT_SWEEPS, NULL);
  igraph_vector_int_destroy(&layers);
  return code;
}

static igraph_error_t layered(const igraph_t *g, int32_t n, const int32_t *layer, double *x,
                              double *y) {
  igraph_matrix_t at;
  igraph_error_t code = igraph_matrix_init(&at, 0, 0);
  if (code) return code;
  if (!(code = sugiyama(g, n, layer, &at))) {
    for (int32_t k = 0; k < n; k++) {
      x[k] = MATRIX(at, k, 0);
      y[k] = layer[k];
    }
  }
  igraph_matrix_destroy(&at);
  return code;
}

berth_status berth_i_layered(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from,
                             const int32_t *to, const int32_t *layer, double *x, double *y) {
  berth_status st = BERTH_OK;
  igraph_error_t code;
  igraph_t g;
  call_guard guard = enter();
  if (!(code = make_graph(&g, n, m, from, to))) {
    code = layered(&g, n, layer, x, y);
    igraph_destroy(&g);
  }
  if (code == IGRAPH_ENOMEM) st = berth_i_nomem(ctx);
  else if (code)
    st = berth_i_fail(ctx, BERTH_EINVAL, "layout: %s",
                      *first_reason ? first_reason : "igraph refuses");
  leave(&guard);
  return st;
}

/* ---- cuts ---- */

/* igraph's second part is what still reaches the target in the residual graph. */
static igraph_error_t cut_apart(const igraph_t *g, const igraph_vector_t *capacity, int32_t source,
                                int32_t target, uint8_t *side) {
  igraph_vector_int_t reached;
  igraph_error_t code = igraph_vector_int_init(&reached, 0);
  if (code) return code;
  igraph_real_t value;
  code = igraph_maxflow(g, &value, NULL, NULL, NULL, &reached, source, target, capacity, NULL);
  for (igraph_integer_t k = 0; !code && k < igraph_vector_int_size(&reached); k++)
    side[VECTOR(reached)[k]] = 1;
  igraph_vector_int_destroy(&reached);
  return code;
}

berth_status berth_i_min_cut(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from,
                             const int32_t *to, const double *capacity, int32_t source,
                             int32_t target, uint8_t *side) {
  berth_status st = BERTH_OK;
  call_guard guard = enter();
  memset(side, 0, (size_t)n);
  igraph_vector_t view;
  igraph_error_t code;
  igraph_t g;
  if (!(code = make_graph(&g, n, m, from, to))) {
    code = cut_apart(&g, igraph_vector_view(&view, capacity, m), source, target, side);
    igraph_destroy(&g);
  }
  if (code == IGRAPH_ENOMEM) st = berth_i_nomem(ctx);
  else if (code)
    st = berth_i_fail(ctx, BERTH_EINVAL, "no cut: %s",
                      *first_reason ? first_reason : "igraph refuses the network");
  leave(&guard);
  return st;
}
