/* Features of ops that do not change during an episode: time, b-level, t-level, communication in
 * and out, the paths that attain the levels; and the edges of the symmetrised graph for message
 * passing.
 * Layout: [ops][5]. O(ops + edges log). Source: Yao et al., "DOPPLER", 2026, sec. 4.1. */
#include "base/sort_internal.h"
#include "episodes_internal.h"

enum { COMP, B_LEVEL, T_LEVEL, IN, OUT };

/* Mean op times, and mean transfer times of all outputs of each op together. */
static berth_status price(berth_assign *a) {
  const berth_graph *g = a->cost->g;
  double *transfer = berth_i_alloc(a->ctx, (size_t)g->n_tensors, sizeof *transfer);
  if (!transfer) return berth_i_nomem(a->ctx);
  berth_status st;
  if ((st = berth_cost_mean_ops(a->cost, a->comp)) != BERTH_OK) goto done;
  if ((st = berth_cost_mean_transfers(a->cost, BERTH_AVERAGE_TEXTBOOK, transfer)) != BERTH_OK)
    goto done;
  for (int32_t t = 0; t < g->n_tensors; t++) a->comm[g->producer[t]] += transfer[t];
  if (a->n_devices == 1) memset(a->comm, 0, (size_t)a->n * sizeof *a->comm);
done:
  berth_i_free(a->ctx, transfer, (size_t)g->n_tensors, sizeof *transfer);
  return st;
}

/* level[v] = comp[v] + (comm[v] + the largest level among those at the other end), and which one
 * that is, the first of equals. Source: DOPPLER, 4.1. */
static void levels(const berth_assign *a, const berth_i_reads *r, bool up, int32_t column,
                   int32_t *next) {
  const int32_t *topo = a->cost->g->topo;
  for (int32_t i = 0; i < a->n; i++) {
    int32_t v = topo[up ? a->n - 1 - i : i];
    double most = 0, *level = a->feature + column;
    next[v] = BERTH_NONE;
    for (int32_t k = r->at[v]; k < r->at[v + 1]; k++) {
      double other = level[(size_t)r->op[k] * BERTH_I_FEATURES];
      if (next[v] != BERTH_NONE && other <= most) continue;
      next[v] = r->op[k];
      most = other;
    }
    level[(size_t)v * BERTH_I_FEATURES] =
        a->comp[v] + (next[v] == BERTH_NONE ? 0 : a->comm[v] + most);
  }
}

/* max over producers u of level[u] + comp[u] + comm[u]; the path goes where that is attained. */
static void textbook_t_levels(berth_assign *a) {
  for (int32_t i = 0; i < a->n; i++) {
    int32_t v = a->cost->g->topo[i];
    double most = 0, *level = a->feature + T_LEVEL;
    a->t_next[v] = BERTH_NONE;
    for (int32_t k = a->before.at[v]; k < a->before.at[v + 1]; k++) {
      int32_t u = a->before.op[k];
      double other = level[(size_t)u * BERTH_I_FEATURES] + a->comp[u] + a->comm[u];
      if (a->t_next[v] != BERTH_NONE && other <= most) continue;
      a->t_next[v] = u;
      most = other;
    }
    level[(size_t)v * BERTH_I_FEATURES] = most;
  }
}

berth_status berth_i_assign_features(berth_assign *a) {
  size_t n = (size_t)a->n;
  a->comp = berth_i_pool_alloc(&a->pool, n, sizeof *a->comp);
  a->comm = berth_i_pool_zalloc(&a->pool, n, sizeof *a->comm);
  a->feature = berth_i_pool_zalloc(&a->pool, n * BERTH_I_FEATURES, sizeof *a->feature);
  a->b_next = berth_i_pool_alloc(&a->pool, n, sizeof *a->b_next);
  a->t_next = berth_i_pool_alloc(&a->pool, n, sizeof *a->t_next);
  berth_status st;
  if ((st = berth_i_pool_status(&a->pool)) != BERTH_OK) return st;
  if ((st = price(a)) != BERTH_OK) return st;
  levels(a, &a->after, true, B_LEVEL, a->b_next);
  if (a->o.t_levels == BERTH_T_LEVELS_TEXTBOOK) textbook_t_levels(a);
  else levels(a, &a->before, false, T_LEVEL, a->t_next);
  for (int32_t v = 0; v < a->n; v++) {
    double *f = a->feature + (size_t)v * BERTH_I_FEATURES;
    f[COMP] = a->comp[v];
    for (int32_t k = a->before.at[v]; k < a->before.at[v + 1]; k++)
      f[IN] += a->comm[a->before.op[k]];
    f[OUT] = (a->after.at[v + 1] - a->after.at[v]) * a->comm[v];
  }
  return BERTH_OK;
}

/* ---- edges ---- */

typedef struct edge {
  int32_t src, dst;
  double seconds;
} edge;

BERTH_I_SORT(sort_by_ends, edge, BERTH_I_UP(dst) BERTH_I_UP(src))

berth_status berth_i_assign_edges(berth_assign *a) {
  size_t m = 2 * (size_t)a->before.n, i = 0;
  edge *e = berth_i_alloc(a->ctx, m, sizeof *e);
  a->n_edges = (int32_t)m;
  a->src = berth_i_pool_alloc(&a->pool, m, sizeof *a->src);
  a->dst = berth_i_pool_alloc(&a->pool, m, sizeof *a->dst);
  a->seconds = berth_i_pool_alloc(&a->pool, m, sizeof *a->seconds);
  if (!e || berth_i_pool_status(&a->pool) != BERTH_OK) {
    berth_i_free(a->ctx, e, m, sizeof *e);
    return berth_i_nomem(a->ctx);
  }
  for (int32_t v = 0; v < a->n; v++) {
    for (int32_t k = a->before.at[v]; k < a->before.at[v + 1]; k++) {
      int32_t u = a->before.op[k];
      e[i++] = (edge){ u, v, a->comm[u] };
      e[i++] = (edge){ v, u, a->comm[a->o.edge_costs == BERTH_EDGE_COSTS_CODE ? v : u] };
    }
  }
  sort_by_ends(e, m);
  for (i = 0; i < m; i++) {
    a->src[i] = e[i].src;
    a->dst[i] = e[i].dst;
    a->seconds[i] = e[i].seconds;
  }
  berth_i_free(a->ctx, e, m, sizeof *e);
  return BERTH_OK;
}
