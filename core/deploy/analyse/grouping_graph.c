/* Sets of ops as an undirected graph, and its cut by METIS. An edge has the elements of the
 * tensors between two sets, each tensor once for a pair; lists are sorted by two counting sorts,
 * so that sums are the same on both sides. O(edges), besides the cut. */
#include "grouping_internal.h"
#include "extern/metis_internal.h"

#define INT_TOTAL (1 << 28) /* most that weights add up to: METIS multiplies it by the slack */

typedef struct edge {
  int32_t a, b;
  double elements;
} edge;

/* Stable. @param count [keys + 1] scratch */
static void sort_by(const edge *from, edge *to, size_t n, int32_t keys, bool second,
                    int32_t *count) {
  memset(count, 0, ((size_t)keys + 1) * sizeof *count);
  for (size_t i = 0; i < n; i++) count[(second ? from[i].b : from[i].a) + 1]++;
  for (int32_t v = 0; v < keys; v++) count[v + 1] += count[v];
  for (size_t i = 0; i < n; i++) to[count[second ? from[i].b : from[i].a]++] = from[i];
}

berth_status berth_i_set_graph_new(const berth_graph *g, int32_t m, const int32_t *op, int32_t n,
                                   const int32_t *of, berth_i_set_graph *out) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  *out = (berth_i_set_graph){ .pool = berth_i_pool_empty(g->ctx), .n = n };
  /* 1. Both mirrors of each edge: a tensor is sent to a set once, however many of its ops read it.
   * A size that is not known counts for something. */
  size_t cap = 0, edges = 0, kept = 0;
  for (int32_t k = 0; k < m; k++) {
    int32_t v = op ? op[k] : k;
    for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++)
      cap += 2 * (size_t)(g->use_at[g->out[i] + 1] - g->use_at[g->out[i]]);
  }
  int32_t *stamp = berth_i_pool_alloc(&scratch, (size_t)n + 1, sizeof *stamp);
  edge *list = berth_i_pool_alloc(&scratch, cap, sizeof *list),
       *other = berth_i_pool_alloc(&scratch, cap, sizeof *other);
  out->at = berth_i_pool_zalloc(&out->pool, (size_t)n + 1, sizeof *out->at);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK
      || (st = berth_i_pool_status(&out->pool)) != BERTH_OK)
    goto done;
  if (cap > INT32_MAX) {
    st = berth_i_fail(g->ctx, BERTH_EUNSUPPORTED, "more edges than METIS can number");
    goto done;
  }
  memset(stamp, 0xff, ((size_t)n + 1) * sizeof *stamp);
  for (int32_t k = 0; k < m; k++) {
    int32_t v = op ? op[k] : k, src = of[v];
    for (int32_t j = g->out_at[v]; j < g->out_at[v + 1]; j++) {
      int32_t t = g->out[j];
      double elements = g->tensor_bytes[t] > 0 ? g->tensor_bytes[t] / 4 : 1000;
      stamp[src] = t;
      for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) {
        int32_t dst = of[g->use[i]];
        if (dst == BERTH_NONE || stamp[dst] == t) continue;
        stamp[dst] = t;
        list[edges++] = (edge){ src, dst, elements };
        list[edges++] = (edge){ dst, src, elements };
      }
    }
  }
  /* 2. Sorted by ends; edges of one pair become one. Both mirrors add up in the order of the
   * tensors: to the same sum. */
  sort_by(list, other, edges, n, true, stamp);
  sort_by(other, list, edges, n, false, stamp);
  for (size_t i = 0; i < edges; i++) {
    edge *last = kept > 0 ? &list[kept - 1] : NULL;
    if (last && last->a == list[i].a && last->b == list[i].b) last->elements += list[i].elements;
    else list[kept++] = list[i];
  }
  /* 3. Lists of neighbours. */
  out->adjacent = berth_i_pool_alloc(&out->pool, kept, sizeof *out->adjacent);
  out->elements = berth_i_pool_alloc(&out->pool, kept, sizeof *out->elements);
  if ((st = berth_i_pool_status(&out->pool)) != BERTH_OK) goto done;
  for (size_t i = 0; i < kept; i++) {
    out->at[list[i].a + 1]++;
    out->adjacent[i] = list[i].b;
    out->elements[i] = list[i].elements;
  }
  for (int32_t v = 0; v < n; v++) out->at[v + 1] += out->at[v];
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- cut ---- */

/* Whole numbers of which all add up to INT_TOTAL and n at most; smaller ones as they are. */
static void scale(const double *x, size_t n, int32_t least, int32_t *out) {
  double total = 0;
  for (size_t i = 0; i < n; i++) total += x[i];
  double factor = total > INT_TOTAL ? INT_TOTAL / total : 1;
  for (size_t i = 0; i < n; i++) {
    double w = nearbyint(x[i] * factor);
    out[i] = w < least ? least : (int32_t)w;
  }
}

static berth_status cut(const berth_i_set_graph *s, const double *weight, int32_t parts,
                        double slack, uint64_t seed, int32_t *part) {
  size_t n = (size_t)s->n, m = (size_t)s->at[s->n];
  berth_i_pool scratch = berth_i_pool_empty(s->pool.ctx);
  int32_t *edge_weight = berth_i_pool_alloc(&scratch, m, sizeof *edge_weight);
  int32_t *whole = berth_i_pool_alloc(&scratch, n, sizeof *whole);
  double *share = berth_i_pool_alloc(&scratch, (size_t)parts, sizeof *share);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    berth_i_partition p = { s->n,  1,     parts,  s->at, s->adjacent, edge_weight,
                            whole, share, &slack, seed,  true };
    scale(s->elements, m, 1, edge_weight);
    scale(weight, n, 0, whole);
    for (int32_t k = 0; k < parts; k++) share[k] = 1.0 / parts;
    st = berth_i_metis_partition(s->pool.ctx, &p, part);
  }
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_i_set_graph_cut(const berth_i_set_graph *s, const double *weight, int32_t parts,
                                   double slack, uint64_t seed, int32_t *part) {
  if (parts > 1 && s->n > parts) return cut(s, weight, parts, slack, seed, part);
  for (int32_t k = 0; k < s->n; k++) part[k] = parts > 1 ? k : 0;
  return BERTH_OK;
}
