/* Meta-ops: the logical operators of a program whose ops were split into blocks, found again from
 * the graph alone: runs of consecutive ops of one depth and kind, with as many inputs and about the
 * same time as the first of the run. O(ops + edges). */
#include "graph/graph_internal.h"

static int32_t inputs(const berth_graph *g, int32_t op) { return g->in_at[op + 1] - g->in_at[op]; }

berth_status berth_meta_ops(const berth_graph *g, const double *comp, double tolerance,
                            int32_t *set, int32_t *n) {
  if (!g) return BERTH_EINVAL;
  if (!(tolerance >= 0 && tolerance < 1))
    return berth_i_fail(g->ctx, BERTH_EINVAL, "meta-ops: tolerance %g is not in 0..1", tolerance);
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (!(comp[i] >= 0))
      return berth_i_fail(g->ctx, BERTH_EINVAL, "meta-ops: time %g s of op %d", comp[i], (int)i);
  }
  int32_t *depth = berth_i_alloc(g->ctx, (size_t)g->n_ops, sizeof *depth);
  if (!depth) return berth_i_nomem(g->ctx);
  berth_status st = berth_depth(g, depth);
  int32_t first = 0, count = 0; /* of the present run; runs before it */
  for (int32_t i = 0; st == BERTH_OK && i < g->n_ops; i++) {
    bool kind = !g->op_kind || g->op_kind[first] == g->op_kind[i];
    double a = comp[first], b = comp[i];
    bool time = a == b || fabs(a - b) <= tolerance * fmax(a, b); /* a == b: both may be infinite */
    if (depth[first] != depth[i] || inputs(g, first) != inputs(g, i) || !kind || !time) {
      count++;
      first = i;
    }
    set[i] = count;
  }
  if (st == BERTH_OK && n) *n = g->n_ops > 0 ? count + 1 : 0;
  berth_i_free(g->ctx, depth, (size_t)g->n_ops, sizeof *depth);
  return st;
}
