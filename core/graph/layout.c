/* Layered layout by igraph: the edges as pairs of ops, and refusal of graphs whose long edges would
 * need too many dummy nodes. */
#include "extern/igraph_internal.h"
#include "graph_internal.h"

#define MOST_PASSED 100000.0

typedef struct pairs {
  const int32_t *layer;
  int32_t *from, *to; /* NULL: they are counted only */
  int64_t n;
  double passed;      /* layers between the ends of all pairs */
} pairs;

static void add(pairs *p, int32_t from, int32_t to) {
  if (p->from) {
    p->from[p->n] = from;
    p->to[p->n] = to;
  }
  p->n++;
  p->passed += (double)p->layer[to] - p->layer[from];
}

static void add_tensors(const berth_graph *g, pairs *p) {
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) add(p, g->producer[t], g->use[j]);
  }
}

static void add_collectives(const berth_graph *g, pairs *p) {
  for (int32_t k = 0; k < g->n_collectives; k++) {
    const berth_collective *c = &g->collectives[k];
    for (int32_t i = 0; i < c->n_members && p->n <= MOST_PASSED; i++) {
      for (int32_t j = 0; j < c->n_consumers; j++) add(p, c->members[i], c->consumers[j]);
    }
  }
}

static void all_pairs(const berth_graph *g, pairs *p) {
  p->n = 0;
  p->passed = 0;
  add_tensors(g, p);
  add_collectives(g, p);
}

/* Collectives represent member x consumer pairs: they are walked directly. */
static berth_status check_pair(const berth_graph *g, const int32_t *layer, int32_t from,
                               int32_t to) {
  if (layer[from] < layer[to]) return BERTH_OK;
  return berth_i_fail(
      g->ctx, BERTH_EINVAL,
      "layout: layer %ld of op %ld is not above layer %ld of op %ld, which it waits for",
      (long)layer[to], (long)to, (long)layer[from], (long)from);
}

static berth_status check_collective(const berth_graph *g, const int32_t *layer,
                                     const berth_collective *c) {
  int32_t last = c->members[0];
  for (int32_t i = 1; i < c->n_members; i++) {
    if (layer[c->members[i]] > layer[last]) last = c->members[i];
  }
  berth_status st;
  for (int32_t i = 0; i < c->n_consumers; i++) {
    int32_t first = c->consumers[i];
    if ((st = check_pair(g, layer, last, first)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status check_layers(const berth_graph *g, const int32_t *layer) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < g->n_ops; k++) {
    if (layer[k] >= 0) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "layout: layer %ld of op %ld is negative",
                        (long)layer[k], (long)k);
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
      if ((st = check_pair(g, layer, g->producer[t], g->use[j])) != BERTH_OK) return st;
    }
  }
  for (int32_t k = 0; k < g->n_collectives && st == BERTH_OK; k++)
    st = check_collective(g, layer, &g->collectives[k]);
  return st;
}

static berth_status lay_out(const berth_graph *g, const int32_t *layer, double *x, double *y) {
  pairs p = { layer, NULL, NULL, 0, 0 };
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  all_pairs(g, &p);
  size_t n = (size_t)p.n;
  if (p.passed > MOST_PASSED || p.n > MOST_PASSED) {
    return berth_i_fail(g->ctx, BERTH_EUNSUPPORTED,
                        "layout: the edges pass %.0f layers, %.0f are the most that are drawn",
                        p.passed, MOST_PASSED);
  }
  p.from = berth_i_pool_alloc(&scratch, n, sizeof *p.from);
  p.to = berth_i_pool_alloc(&scratch, n, sizeof *p.to);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) {
    all_pairs(g, &p);
    st = berth_i_layered(g->ctx, g->n_ops, (int32_t)n, p.from, p.to, layer, x, y);
  }
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_graph_layout(const berth_graph *g, const int32_t *layer, double *x, double *y) {
  if (!g) return BERTH_EINVAL;
  size_t n = (size_t)g->n_ops;
  berth_status st;
  if (layer) return (st = check_layers(g, layer)) != BERTH_OK ? st : lay_out(g, layer, x, y);
  int32_t *depth;
  if (!(depth = berth_i_alloc(g->ctx, n, sizeof *depth))) return berth_i_nomem(g->ctx);
  if ((st = berth_depth(g, depth)) == BERTH_OK) st = lay_out(g, depth, x, y);
  berth_i_free(g->ctx, depth, n, sizeof *depth);
  return st;
}
