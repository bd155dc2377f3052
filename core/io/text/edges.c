/* Edge lists of the foreign formats: repeated edges, tensors from edges, and the merge of two
 * orders (consumers of tensors, inputs of ops) into one. All by counting sort or one sort: O(edges
 * log edges). */
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

/* Items by key, order kept: those of key k are list[at[k]..at[k + 1]]. */
typedef struct index {
  int32_t *at, *list;
} index;

/* Counting sort. Counts go to at[key + 2], so that after the sums at[key + 1] is the begin of the
 * key and becomes its end while the list is filled. */
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

/* Keys for index_make. */
static int32_t source_of(const void *ud, size_t i) {
  return ((const berth_i_edges *)ud)->at[i].src;
}

/* seen[dst] is the last source, plus 1, with an edge to dst. The first in the file is reported, not
 * the first by source. */
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

berth_status berth_i_edges_once(const berth_i_json *doc, const berth_i_edges *e, int32_t n_ops) {
  const berth_i_edge *twice = NULL;
  berth_status st = berth_i_edges_repeated(berth_i_json_ctx(doc), e, n_ops, &twice);
  return st == BERTH_OK && twice ? berth_i_json_fail(doc, twice->origin, "is given twice") : st;
}

/* The op on the cycle is parsed out of the message of the builder, which has no lines. */
berth_status berth_i_edges_blame(const berth_i_source *src, const berth_i_edges *e,
                                 berth_status st) {
  const char *op = strstr(berth_errmsg(src->ctx), ": op ");
  long on_cycle = op ? strtol(op + 5, NULL, 10) : BERTH_NONE;
  int32_t line = 1;
  if (st != BERTH_ECYCLE) return berth_i_blame_file(src->ctx, src->name, st);
  /* the first edge into the op */
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

/* Sorted by producer and size, edges that share a tensor are neighbours, the earliest first. */
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

/* Consumers are added in edge order, so that the inputs of every op are in the order of its
 * edges. */
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

static int32_t consumer_of(const void *ud, size_t i) { return ((const int32_t *)ud)[i]; }

/* A topological sort (Kahn's algorithm) of the pairs: each has at most two direct predecessors, the
 * pair before it in its tensor's consumers and the pair before it in its op's inputs. */
berth_status berth_i_merge_order(berth_ctx *ctx, int32_t n_ops, int32_t n_tensors,
                                 const int32_t *use_at, const int32_t *use, const int32_t *in_at,
                                 const int32_t *in, int32_t *order, bool *ok) {
  size_t n = (size_t)use_at[n_tensors];
  index by_op = { 0 };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *pair_of = berth_i_pool_alloc(&scratch, (size_t)n_tensors, sizeof *pair_of);
  int32_t *tensor = berth_i_pool_alloc(&scratch, n, sizeof *tensor);     /* of each pair */
  int32_t *next = berth_i_pool_alloc(&scratch, n, sizeof *next);         /* in its op's inputs */
  uint8_t *blockers = berth_i_pool_alloc(&scratch, n, sizeof *blockers); /* predecessors left */
  berth_status st = index_make(&scratch, (size_t)n_ops, n, consumer_of, use, &by_op);
  if (st != BERTH_OK) goto done;

  /* predecessors along the consumers of each tensor */
  for (int32_t t = 0; t < n_tensors; t++) {
    for (int32_t e = use_at[t]; e < use_at[t + 1]; e++) {
      tensor[e] = t;
      blockers[e] = e > use_at[t];
    }
  }
  /* predecessors along the inputs of each op; pair_of[t] is valid for the inputs of v only */
  for (int32_t v = 0; v < n_ops; v++) {
    int32_t last = BERTH_NONE;
    for (int32_t k = by_op.at[v]; k < by_op.at[v + 1]; k++)
      pair_of[tensor[by_op.list[k]]] = by_op.list[k];
    for (int32_t k = in_at[v]; k < in_at[v + 1]; k++) {
      int32_t e = pair_of[in[k]];
      next[e] = BERTH_NONE;
      if (last != BERTH_NONE) {
        next[last] = e;
        blockers[e]++;
      }
      last = e;
    }
  }
  /* order[] is the queue: pairs without predecessors left, first in, first out */
  int32_t head = 0, tail = 0;
  for (int32_t e = 0; e < (int32_t)n; e++)
    if (blockers[e] == 0) order[tail++] = e;
  while (head < tail) {
    int32_t e = order[head++];
    if (next[e] != BERTH_NONE && --blockers[next[e]] == 0) order[tail++] = next[e];
    if (e + 1 < use_at[tensor[e] + 1] && --blockers[e + 1] == 0) order[tail++] = e + 1;
  }
  *ok = tail == (int32_t)n; /* else there is a cycle: the lists contradict each other */
done:
  berth_i_pool_free(&scratch);
  return st;
}
