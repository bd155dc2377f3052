/* Pairs of ops with tensors or a collective between them, each once, in edge order, those of
 * collectives last: producers of each op with the tensors of the pair, and consumers of each op.
 * CSR both ways. O(ops + edges + members x consumers of collectives). */
#include "episodes_internal.h"

static void alloc_reads(berth_i_pool *pool, berth_i_reads *r, size_t n_ops, size_t cap,
                        bool tensors) {
  r->at = berth_i_pool_zalloc(pool, n_ops + 1, sizeof *r->at);
  r->op = berth_i_pool_alloc(pool, cap, sizeof *r->op);
  if (!tensors) return;
  r->tensor_at = berth_i_pool_zalloc(pool, cap + 1, sizeof *r->tensor_at);
  r->tensor = berth_i_pool_alloc(pool, cap, sizeof *r->tensor);
}

/* The pair that ends the present list and has `op` at its other end, new or not. latest [ops]
 * remembers. */
static int32_t pair_with(berth_i_reads *r, int32_t at, int32_t op, int32_t *latest) {
  if (latest[op] >= r->at[at]) return latest[op];
  r->op[r->n] = op;
  return latest[op] = r->n++;
}

static void list_producers(const berth_graph *g, berth_i_reads *r, int32_t *latest, int32_t *pair) {
  for (int32_t v = 0; v < g->n_ops; v++) {
    r->at[v] = r->n;
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
      pair[i] = pair_with(r, v, g->producer[g->in[i]], latest);
      r->tensor_at[pair[i] + 1]++;
    }
    for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++) {
      const berth_collective *c = &g->collectives[g->after[i]];
      for (int32_t j = 0; j < c->n_members; j++) pair_with(r, v, c->members[j], latest);
    }
  }
  r->at[g->n_ops] = r->n;
  for (int32_t k = 0; k < r->n; k++) r->tensor_at[k + 1] += r->tensor_at[k];
  for (int32_t i = g->n_edges - 1; i >= 0; i--) r->tensor[--r->tensor_at[pair[i] + 1]] = g->in[i];
  /* each end has moved to its beginning */
  for (int32_t k = 0; k < r->n; k++) r->tensor_at[k] = r->tensor_at[k + 1];
  r->tensor_at[r->n] = g->n_edges;
}

static void list_consumers(const berth_graph *g, berth_i_reads *r, int32_t *latest) {
  for (int32_t v = 0; v < g->n_ops; v++) {
    r->at[v] = r->n;
    for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
      for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++)
        pair_with(r, v, g->use[j], latest);
    }
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++) {
      const berth_collective *c = &g->collectives[g->wait[i]];
      for (int32_t j = 0; j < c->n_consumers; j++) pair_with(r, v, c->consumers[j], latest);
    }
  }
  r->at[g->n_ops] = r->n;
}

berth_status berth_i_assign_pairs(berth_assign *a) {
  const berth_graph *g = a->cost->g;
  size_t n = (size_t)g->n_ops, m = (size_t)g->n_edges;
  berth_i_pool scratch = berth_i_pool_empty(a->ctx);
  int32_t *latest = berth_i_pool_alloc(&scratch, n, sizeof *latest),
          *pair = berth_i_pool_alloc(&scratch, m, sizeof *pair);
  berth_status st = berth_i_pool_status(&scratch);
  size_t most = m;
  for (int32_t k = 0; k < g->n_collectives; k++)
    most += (size_t)g->collectives[k].n_members * (size_t)g->collectives[k].n_consumers;
  if (most > INT32_MAX / 2) {
    berth_i_pool_free(&scratch);
    return berth_i_fail(a->ctx, BERTH_EUNSUPPORTED,
                        "assignment: tensors and collectives join %.0f pairs of ops, %d are too "
                        "many", (double)most, INT32_MAX / 2);
  }
  alloc_reads(&a->pool, &a->before, n, most, true);
  alloc_reads(&a->pool, &a->after, n, most, false);
  if (st == BERTH_OK) st = berth_i_pool_status(&a->pool);
  if (st == BERTH_OK) {
    memset(latest, 0xff, n * sizeof *latest);
    list_producers(g, &a->before, latest, pair);
    memset(latest, 0xff, n * sizeof *latest);
    list_consumers(g, &a->after, latest);
  }
  berth_i_pool_free(&scratch);
  return st;
}
