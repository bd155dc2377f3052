/* Sets of ops as an undirected graph, and its cut by METIS. */
#include "grouping_internal.h"
#include "extern/metis_internal.h"

#define INT_TOTAL (1 << 28) /* most that weights add up to: METIS multiplies it by the slack */

typedef struct edge {
  int32_t a, b;
  double elements;
} edge;

typedef struct edges {
  edge *list, *scratch_list; /* [cap] */
  size_t n, cap;
} edges;

/* A size that is not known counts for something. */
static double elements_of(double bytes) { return bytes > 0 ? bytes / 4 : 1000; }

/* A tensor is sent to a set once, however many of its ops read it.  @param stamp [n] */
static void add_tensor(const berth_graph *g, const int32_t *of, int32_t t, int32_t *stamp,
                       edges *e) {
  double elements = elements_of(g->tensor_bytes[t]);
  int32_t src = of[g->producer[t]];
  stamp[src] = t;
  for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) {
    int32_t dst = of[g->use[i]];
    if (dst == BERTH_NONE || stamp[dst] == t) continue;
    stamp[dst] = t;
    e->list[e->n++] = (edge){ src, dst, elements };
    e->list[e->n++] = (edge){ dst, src, elements };
  }
}

static void add_op(const berth_graph *g, const int32_t *of, int32_t op, int32_t *stamp, edges *e) {
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    add_tensor(g, of, g->out[i], stamp, e);
}

static size_t count_uses(const berth_graph *g, int32_t op) {
  size_t n = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    n += (size_t)(g->use_at[g->out[i] + 1] - g->use_at[g->out[i]]);
  return n;
}

/* Stable. @param count [keys + 1] scratch */
static void sort_by(const edge *from, edge *to, size_t n, int32_t keys, bool second,
                    int32_t *count) {
  memset(count, 0, ((size_t)keys + 1) * sizeof *count);
  for (size_t i = 0; i < n; i++) count[(second ? from[i].b : from[i].a) + 1]++;
  for (int32_t v = 0; v < keys; v++) count[v + 1] += count[v];
  for (size_t i = 0; i < n; i++) to[count[second ? from[i].b : from[i].a]++] = from[i];
}

/* Both mirrors of an edge add up in the order of the tensors: to the same sum. */
static void merge(edges *e) {
  size_t n = 0;
  for (size_t i = 0; i < e->n; i++) {
    edge *last = n > 0 ? &e->list[n - 1] : NULL;
    if (last && last->a == e->list[i].a && last->b == e->list[i].b)
      last->elements += e->list[i].elements;
    else e->list[n++] = e->list[i];
  }
  e->n = n;
}

static berth_status to_csr(const edges *e, berth_i_set_graph *s) {
  s->adjacent = berth_i_pool_alloc(&s->pool, e->n, sizeof *s->adjacent);
  s->elements = berth_i_pool_alloc(&s->pool, e->n, sizeof *s->elements);
  if (berth_i_pool_status(&s->pool) != BERTH_OK) return BERTH_ENOMEM;
  memset(s->at, 0, ((size_t)s->n + 1) * sizeof *s->at);
  for (size_t i = 0; i < e->n; i++) {
    s->at[e->list[i].a + 1]++;
    s->adjacent[i] = e->list[i].b;
    s->elements[i] = e->list[i].elements;
  }
  for (int32_t v = 0; v < s->n; v++) s->at[v + 1] += s->at[v];
  return BERTH_OK;
}

berth_status berth_i_set_graph_new(const berth_graph *g, int32_t m, const int32_t *op, int32_t n,
                                   const int32_t *of, berth_i_set_graph *out) {
  berth_ctx *ctx = g->ctx;
  edges e = { NULL, NULL, 0, 0 };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *stamp = berth_i_pool_alloc(&scratch, (size_t)n + 1, sizeof *stamp);
  *out = (berth_i_set_graph){ .pool = berth_i_pool_empty(ctx), .n = n };
  for (int32_t k = 0; k < m; k++) e.cap += 2 * count_uses(g, op ? op[k] : k);
  e.list = berth_i_pool_alloc(&scratch, e.cap, sizeof *e.list);
  e.scratch_list = berth_i_pool_alloc(&scratch, e.cap, sizeof *e.scratch_list);
  out->at = berth_i_pool_alloc(&out->pool, (size_t)n + 1, sizeof *out->at);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = berth_i_pool_status(&out->pool);
  if (st == BERTH_OK && e.cap > INT32_MAX)
    st = berth_i_fail(ctx, BERTH_EUNSUPPORTED, "more edges than METIS can number");
  if (st == BERTH_OK) {
    memset(stamp, 0xff, ((size_t)out->n + 1) * sizeof *stamp);
    for (int32_t k = 0; k < m; k++) add_op(g, of, op ? op[k] : k, stamp, &e);
    sort_by(e.list, e.scratch_list, e.n, out->n, true, stamp);
    sort_by(e.scratch_list, e.list, e.n, out->n, false, stamp);
    merge(&e);
    st = to_csr(&e, out);
  }
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
