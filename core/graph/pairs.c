/* Pairs of nodes with an edge between them, each once: ops, and collectives as nodes of their own
 * behind them. */
#include "base/sort_internal.h"
#include "graph/transforms/transform_internal.h"

/* The latest pair of the current source with each destination; older ones are not of this
 * source. */
static void add_pair(berth_i_pairs *p, int32_t src, int32_t dst, double bytes, int32_t *latest) {
  int32_t e = latest[dst];
  if (e != BERTH_NONE && e >= p->at[src]) {
    p->bytes[e] += bytes;
    return;
  }
  latest[dst] = p->n;
  p->src[p->n] = src;
  p->dst[p->n] = dst;
  p->bytes[p->n++] = bytes;
}

static void add_op(const berth_graph *g, berth_i_pairs *p, int32_t op, int32_t *latest) {
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      add_pair(p, op, g->use[j], g->tensor_bytes[t], latest);
  }
  for (int32_t i = g->wait ? g->wait_at[op] : 0; g->wait && i < g->wait_at[op + 1]; i++) {
    add_pair(p, op, g->n_ops + g->wait[i], 0, latest);
  }
}

static void add_collective(const berth_graph *g, berth_i_pairs *p, int32_t k, int32_t *latest) {
  for (int32_t j = 0; j < g->collectives[k].n_consumers; j++)
    add_pair(p, g->n_ops + k, g->collectives[k].consumers[j], 0, latest);
}

static void list_pairs(const berth_graph *g, berth_i_pairs *p, int32_t *latest) {
  memset(latest, 0xff, (size_t)p->n_nodes * sizeof *latest);
  for (int32_t v = 0; v < p->n_nodes; v++) {
    p->at[v] = p->n;
    if (v < g->n_ops) add_op(g, p, v, latest);
    else add_collective(g, p, v - g->n_ops, latest);
  }
  p->at[p->n_nodes] = p->n;
}

berth_status berth_i_pairs_init(const berth_graph *g, berth_i_pool *pool, berth_i_pairs *p) {
  const size_t most = (size_t)g->n_edges + g->n_coll_ops,
               nodes = (size_t)g->n_ops + (size_t)g->n_collectives;
  *p = (berth_i_pairs){ .n_nodes = (int32_t)nodes };
  p->at = berth_i_pool_alloc(pool, nodes + 1, sizeof *p->at);
  p->src = berth_i_pool_alloc(pool, most, sizeof *p->src);
  p->dst = berth_i_pool_alloc(pool, most, sizeof *p->dst);
  p->bytes = berth_i_pool_alloc(pool, most, sizeof *p->bytes);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  int32_t *latest;
  if (!(latest = berth_i_alloc(g->ctx, nodes, sizeof *latest))) return berth_i_nomem(g->ctx);
  list_pairs(g, p, latest);
  berth_i_free(g->ctx, latest, nodes, sizeof *latest);
  return BERTH_OK;
}

/* ---- by weight ---- */

typedef struct heavy {
  double bytes;
  int32_t src, dst, pair;
} heavy;

BERTH_I_SORT(sort_by_weight, heavy, BERTH_I_DOWN(bytes) BERTH_I_UP(src) BERTH_I_UP(dst))

berth_status berth_i_pairs_by_weight(const berth_graph *g, const berth_i_pairs *p,
                                     const int32_t *place, int32_t *list) {
  heavy *all = berth_i_alloc(g->ctx, (size_t)p->n, sizeof *all);
  if (!all) return berth_i_nomem(g->ctx);
  for (int32_t e = 0; e < p->n; e++) {
    int32_t u = p->src[e], v = p->dst[e];
    all[e] = (heavy){ p->bytes[e], place ? place[u] : u, place ? place[v] : v, e };
  }
  sort_by_weight(all, (size_t)p->n);
  for (int32_t e = 0; e < p->n; e++) list[e] = all[e].pair;
  berth_i_free(g->ctx, all, (size_t)p->n, sizeof *all);
  return BERTH_OK;
}
