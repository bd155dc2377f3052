/* Edge lists into tensors; orders of edges. */
#include "base/sort_internal.h"
#include "io/io_internal.h"

#include <stdlib.h>

berth_status berth_i_edges_add(berth_ctx *ctx, berth_i_edges *e, berth_i_edge edge) {
  berth_status st = berth_i_grow(ctx, (void **)&e->at, &e->cap, e->n + 1, sizeof *e->at);
  if (st == BERTH_OK) e->at[e->n++] = edge;
  return st;
}

void berth_i_edges_release(berth_ctx *ctx, berth_i_edges *e) {
  berth_i_free(ctx, e->at, e->cap, sizeof *e->at);
}

/* Edges by source, order kept: at[s]..at[s + 1] into list. */
typedef struct index {
  int32_t *at, *list;
} index;

static berth_status index_make(berth_i_pool *pool, size_t n_keys, size_t n,
                               int32_t (*key)(const void *ud, size_t i), const void *ud, index *x) {
  x->at = berth_i_pool_zalloc(pool, n_keys + 2, sizeof *x->at);
  x->list = berth_i_pool_alloc(pool, n, sizeof *x->list);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  for (size_t i = 0; i < n; i++) x->at[key(ud, i) + 2]++;
  for (size_t i = 1; i < n_keys; i++) x->at[i + 1] += x->at[i];
  for (size_t i = 0; i < n; i++) x->list[x->at[key(ud, i) + 1]++] = (int32_t)i;
  return BERTH_OK;
}

static int32_t source_of(const void *ud, size_t i) {
  return ((const berth_i_edges *)ud)->at[i].src;
}

berth_status berth_i_edges_repeated(berth_ctx *ctx, const berth_i_edges *e, int32_t n_ops,
                                    const berth_i_edge **out) {
  index by = { 0 };
  const berth_i_edge *first = NULL;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *seen = berth_i_pool_zalloc(&scratch, (size_t)n_ops, sizeof *seen);
  berth_status st = index_make(&scratch, (size_t)n_ops, e->n, source_of, e, &by);
  if (st != BERTH_OK) goto done;
  for (int32_t s = 0; s < n_ops; s++) {
    for (int32_t k = by.at[s]; k < by.at[s + 1]; k++) {
      const berth_i_edge *edge = &e->at[by.list[k]];
      if (seen[edge->dst] == s + 1 && (!first || edge < first)) first = edge;
      seen[edge->dst] = s + 1;
    }
  }
  *out = first;
done:
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_i_edges_blame(const berth_i_source *src, const berth_i_edges *e,
                                 berth_status st) {
  const char *op = strstr(berth_errmsg(src->ctx), ": op ");
  long on_cycle = op ? strtol(op + 5, NULL, 10) : BERTH_NONE;
  int32_t line = 1;
  if (st != BERTH_ECYCLE) return berth_i_blame_file(src->ctx, src->name, st);
  size_t k;
  for (k = 0; k < e->n && e->at[k].dst != on_cycle; k++) {}
  if (k < e->n) line = e->at[k].line;
  berth_i_prefix_error(src->ctx, "%s:%d: ", src->name, (int)line);
  return st;
}

/* For every edge the first one of the same producer and size: they share a tensor. */
typedef struct relation {
  int32_t src, edge;
  double bytes;
} relation;

BERTH_I_SORT(sort_kin, relation, BERTH_I_UP(src) BERTH_I_UP(bytes) BERTH_I_UP(edge))

static berth_status find_leaders(berth_ctx *ctx, const berth_i_edges *e, int32_t *leader) {
  relation *kin = berth_i_alloc(ctx, e->n, sizeof *kin);
  if (!kin) return berth_i_nomem(ctx);
  for (size_t i = 0; i < e->n; i++) kin[i] = (relation){ e->at[i].src, (int32_t)i, e->at[i].bytes };
  sort_kin(kin, e->n);
  for (size_t i = 0; i < e->n; i++) {
    bool same = i > 0 && kin[i].src == kin[i - 1].src && kin[i].bytes == kin[i - 1].bytes;
    leader[kin[i].edge] = same ? leader[kin[i - 1].edge] : kin[i].edge;
  }
  berth_i_free(ctx, kin, e->n, sizeof *kin);
  return BERTH_OK;
}

/* Replaces leaders by tensors. `by` lists the edges producer by producer; a leader comes before its
 * followers. */
static berth_status make_tensors(const berth_i_edges *e, const index *by, double resident,
                                 berth_graph_builder *b, int32_t *tensor) {
  berth_status st;
  for (size_t i = 0; i < e->n; i++) {
    int32_t k = by->list[i], lead = tensor[k];
    berth_tensor t = { e->at[k].src, e->at[k].bytes, resident, 0 };
    if (lead != k) tensor[k] = tensor[lead];
    else if ((st = berth_graph_builder_add_tensor(b, &t, &tensor[k])) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

berth_status berth_i_edges_build(berth_ctx *ctx, const berth_i_edges *e, int32_t n_ops,
                                 double resident, berth_graph_builder *b) {
  index by = { 0 };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *tensor = berth_i_pool_alloc(&scratch, e->n, sizeof *tensor);
  berth_status st = index_make(&scratch, (size_t)n_ops, e->n, source_of, e, &by);
  if (st == BERTH_OK) st = find_leaders(ctx, e, tensor);
  if (st == BERTH_OK) st = make_tensors(e, &by, resident, b, tensor);
  for (size_t i = 0; i < e->n && st == BERTH_OK; i++)
    st = berth_graph_builder_add_consumer(b, tensor[i], e->at[i].dst);
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- merging two orders ---- */

typedef struct merge {
  const int32_t *use_at, *use, *in_at, *in;
  int32_t n_ops, n_tensors;
  int32_t *tensor;   /* [edges] of each pair */
  int32_t *next;     /* [edges] next pair in the inputs of its op, -1: none */
  uint8_t *blockers; /* [edges] 0..2 pairs that come directly before it */
} merge;

static int32_t consumer_of(const void *ud, size_t i) { return ((const int32_t *)ud)[i]; }

static void number_pairs(merge *m) {
  for (int32_t t = 0; t < m->n_tensors; t++) {
    for (int32_t e = m->use_at[t]; e < m->use_at[t + 1]; e++) {
      m->tensor[e] = t;
      m->blockers[e] = e > m->use_at[t];
    }
  }
}

/* Chains the pairs of every op in the order of its inputs. pair_of is scratch over tensors. */
static void chain_inputs(merge *m, const index *by_op, int32_t *pair_of) {
  for (int32_t v = 0; v < m->n_ops; v++) {
    int32_t last = -1;
    for (int32_t k = by_op->at[v]; k < by_op->at[v + 1]; k++)
      pair_of[m->tensor[by_op->list[k]]] = by_op->list[k];
    for (int32_t k = m->in_at[v]; k < m->in_at[v + 1]; k++) {
      int32_t e = pair_of[m->in[k]];
      m->next[e] = -1;
      if (last >= 0) {
        m->next[last] = e;
        m->blockers[e]++;
      }
      last = e;
    }
  }
}

static int32_t take_pairs(merge *m, int32_t n, int32_t *order) {
  int32_t head = 0, tail = 0, e;
  for (e = 0; e < n; e++)
    if (m->blockers[e] == 0) order[tail++] = e;
  while (head < tail) {
    e = order[head++];
    if (m->next[e] >= 0 && --m->blockers[m->next[e]] == 0) order[tail++] = m->next[e];
    if (e + 1 < m->use_at[m->tensor[e] + 1] && --m->blockers[e + 1] == 0) order[tail++] = e + 1;
  }
  return tail;
}

berth_status berth_i_merge_order(berth_ctx *ctx, int32_t n_ops, int32_t n_tensors,
                                 const int32_t *use_at, const int32_t *use, const int32_t *in_at,
                                 const int32_t *in, int32_t *order, bool *ok) {
  size_t n = (size_t)use_at[n_tensors];
  merge m = { use_at, use, in_at, in, n_ops, n_tensors, NULL, NULL, NULL };
  index by_op = { 0 };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *pair_of = berth_i_pool_alloc(&scratch, (size_t)n_tensors, sizeof *pair_of);
  m.tensor = berth_i_pool_alloc(&scratch, n, sizeof *m.tensor);
  m.next = berth_i_pool_alloc(&scratch, n, sizeof *m.next);
  m.blockers = berth_i_pool_alloc(&scratch, n, sizeof *m.blockers);
  berth_status st;
  if ((st = index_make(&scratch, (size_t)n_ops, n, consumer_of, use, &by_op)) != BERTH_OK)
    goto done;
  number_pairs(&m);
  chain_inputs(&m, &by_op, pair_of);
  *ok = take_pairs(&m, (int32_t)n, order) == (int32_t)n;
done:
  berth_i_pool_free(&scratch);
  return st;
}
