/* Meta-ops: the logical operators of a program whose ops were split into blocks, found again from
 * the graph alone. */
#include "graph/graph_internal.h"

typedef struct runs {
  const berth_graph *g;
  const double *comp;
  const int32_t *depth;
  double tolerance;
} runs;

static bool same_kind(const berth_graph *g, int32_t a, int32_t b) {
  return !g->op_kind || g->op_kind[a] == g->op_kind[b];
}

static int32_t inputs(const berth_graph *g, int32_t op) { return g->in_at[op + 1] - g->in_at[op]; }

/* Infinite times are alike. */
static bool same_time(const runs *r, int32_t a, int32_t b) {
  double x = r->comp[a], y = r->comp[b];
  return x == y || fabs(x - y) <= r->tolerance * fmax(x, y);
}

static bool alike(const runs *r, int32_t first, int32_t op) {
  return r->depth[first] == r->depth[op] && inputs(r->g, first) == inputs(r->g, op)
         && same_kind(r->g, first, op) && same_time(r, first, op);
}

static int32_t number_runs(const runs *r, int32_t *set) {
  int32_t first = 0, n = 0;
  for (int32_t i = 0; i < r->g->n_ops; i++) {
    if (i > 0 && !alike(r, first, i)) n++, first = i;
    set[i] = n;
  }
  return r->g->n_ops > 0 ? n + 1 : 0;
}

static berth_status check_runs(const berth_graph *g, const double *comp, double tolerance) {
  if (!(tolerance >= 0 && tolerance < 1)) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "meta-ops: tolerance %g is not in 0..1", tolerance);
  }
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (!(comp[i] >= 0))
      return berth_i_fail(g->ctx, BERTH_EINVAL, "meta-ops: time %g s of op %d", comp[i], (int)i);
  }
  return BERTH_OK;
}

berth_status berth_meta_ops(const berth_graph *g, const double *comp, double tolerance,
                            int32_t *set, int32_t *n) {
  runs r = { g, comp, NULL, tolerance };
  berth_status st = check_runs(g, comp, tolerance);
  if (st != BERTH_OK) return st;
  int32_t *depth;
  if (!(depth = berth_i_alloc(g->ctx, (size_t)g->n_ops, sizeof *depth)))
    return berth_i_nomem(g->ctx);
  if ((st = berth_depth(g, depth)) != BERTH_OK) goto done;
  r.depth = depth;
  int32_t count = number_runs(&r, set);
  if (n) *n = count;
done:
  berth_i_free(g->ctx, depth, (size_t)g->n_ops, sizeof *depth);
  return st;
}
