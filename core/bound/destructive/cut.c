/* Cuts through thin links. Devices that are close to each other make up a part; transfers between
 * parts take long. Devices between which a transfer takes no time share a part, and a part does no
 * more than all its devices can.
 * Parts are those of single-linkage clustering: the shortest edges of a least spanning tree (Prim
 * 1957) join devices up to an edge that is longer by a large step. O(devices^2) and a bound for
 * each cut. */
#include "base/sort_internal.h"
#include "destructive_internal.h"

enum { MOST_DEVICES = 4096 };

typedef struct tree_edge {
  double length;
  int32_t a, b;
} tree_edge;

typedef struct tree {
  const berth_cost *cost;
  int32_t n, tensor;   /* devices; the tensor that distances are of */
  tree_edge *edge;     /* [n - 1] least spanning tree, shortest first */
  double *near;        /* [n] distance to the tree */
  int32_t *from;       /* [n] over which device; BERTH_NONE: it is in the tree */
  int32_t *part;       /* [n] */
} tree;

static double distance(const tree *t, int32_t a, int32_t b) {
  return fmin(berth_i_transfer_time(t->cost, t->tensor, a, b),
              berth_i_transfer_time(t->cost, t->tensor, b, a));
}

BERTH_I_SORT(sort_by_length, tree_edge, BERTH_I_UP(length) BERTH_I_UP(b))

static void span(tree *t) {
  for (int32_t d = 1; d < t->n; d++) t->near[d] = distance(t, 0, d), t->from[d] = 0;
  t->from[0] = BERTH_NONE;
  for (int32_t i = 0; i + 1 < t->n; i++) {
    int32_t best = BERTH_NONE;
    for (int32_t d = 1; d < t->n; d++) {
      if (t->from[d] != BERTH_NONE && (best == BERTH_NONE || t->near[d] < t->near[best])) best = d;
    }
    t->edge[i] = (tree_edge){ t->near[best], t->from[best], best };
    t->from[best] = BERTH_NONE;
    for (int32_t d = 1; d < t->n; d++) {
      double far = t->from[d] == BERTH_NONE ? 0 : distance(t, best, d);
      if (t->from[d] != BERTH_NONE && far < t->near[d]) t->near[d] = far, t->from[d] = best;
    }
  }
  sort_by_length(t->edge, (size_t)t->n - 1);
}

static void rename_part(tree *t, int32_t from, int32_t to) {
  for (int32_t d = 0; d < t->n; d++) {
    if (t->part[d] == from) t->part[d] = to;
  }
}

/* Parts that the first n edges of the tree join.  @return their number */
static int32_t join_parts(tree *t, int32_t n) {
  int32_t parts = 0;
  for (int32_t d = 0; d < t->n; d++) t->part[d] = d;
  for (int32_t i = 0; i < n; i++) {
    int32_t a = t->part[t->edge[i].a], b = t->part[t->edge[i].b];
    rename_part(t, a > b ? a : b, a > b ? b : a);
  }
  for (int32_t d = 0; d < t->n; d++) { /* the least member names a part */
    if (t->part[d] == d) rename_part(t, d, t->n + parts++);
  }
  for (int32_t d = 0; d < t->n; d++) t->part[d] -= t->n;
  return parts;
}

/* How much longer the n-th edge is than the one before it. */
static double step_at(const tree *t, int32_t n) {
  double low = t->edge[n - 1].length, high = t->edge[n].length;
  if (isinf(low) || !(high > low * 1.05)) return 0;
  return low > 0 && !isinf(high) ? high / low : INFINITY;
}

/* The largest step below `above`; of equal ones the last before `before`.
 * @return edges before it; 0: none */
static int32_t next_step(const tree *t, double above, int32_t before) {
  int32_t best = 0;
  double most = 0;
  for (int32_t i = 1; i + 1 < t->n; i++) {
    double step = step_at(t, i);
    bool taken = step > above || (step == above && i >= before);
    if (!taken && step > 0 && step >= most) most = step, best = i;
  }
  return best;
}

static int32_t largest_tensor(const berth_graph *g) {
  int32_t best = BERTH_NONE;
  for (int32_t i = 0; i < g->n_tensors; i++) {
    if (g->use_at[i] < g->use_at[i + 1]
        && (best == BERTH_NONE || g->tensor_bytes[i] > g->tensor_bytes[best]))
      best = i;
  }
  return best;
}

berth_status berth_i_destruct_cuts(const berth_i_units *u, const berth_i_destruct_scope *whole,
                                   const berth_i_destruct_plan *plan, int32_t most, double *out) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t n = (size_t)u->cost->n_devices;
  tree t = { .cost = u->cost, .n = u->cost->n_devices, .tensor = largest_tensor(u->cost->g) };
  *out = NAN;
  if (u->n_ops > plan->ops || n < 3 || n > MOST_DEVICES || t.tensor == BERTH_NONE) return BERTH_OK;
  t.edge = berth_i_pool_alloc(&scratch, n, sizeof *t.edge);
  t.near = berth_i_pool_alloc(&scratch, n, sizeof *t.near);
  t.from = berth_i_pool_alloc(&scratch, n, sizeof *t.from);
  t.part = berth_i_pool_alloc(&scratch, n, sizeof *t.part);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) span(&t);
  berth_i_destruct_plan each = *plan;
  double above = INFINITY;
  int32_t at = t.n;
  for (int32_t i = 0; i < most && st == BERTH_OK; i++) {
    berth_i_destruct_scope scope = *whole;
    berth_i_destruct_result found;
    if ((at = next_step(&t, above, at)) == 0) break;
    above = step_at(&t, at);
    scope.part = t.part;
    scope.parts = join_parts(&t, at);
    st = berth_i_destructive_bound(u, &scope, &each, &found);
    each.work /= 2;
    if (st == BERTH_OK)
      *out = fmax(*out, isnan(found.intervals) ? found.clusters : found.intervals);
  }
  berth_i_pool_free(&scratch);
  return st;
}
