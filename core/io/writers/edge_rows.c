/* Edges as rows, for formats in which a tensor is an edge per consumer (GraphML, DOT). */
#include "io/io_internal.h"

static int32_t count_rows(const berth_graph *g) {
  int32_t n = g->n_edges;
  for (int32_t c = 0; c < g->n_collectives; c++)
    n += g->collectives[c].n_members + g->collectives[c].n_consumers;
  return n;
}

/* If the orders of inputs and consumers contradict each other: tensor by tensor. */
static berth_status list_tensors(berth_graph *g, berth_i_edge_rows *rows) {
  size_t n = (size_t)g->n_edges;
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  int32_t *order = berth_i_pool_alloc(&scratch, n, sizeof *order),
          *of = berth_i_pool_alloc(&scratch, n, sizeof *of);
  bool ok = false;
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK)
    st = berth_i_merge_order(g->ctx, g->n_ops, g->n_tensors, g->use_at, g->use, g->in_at, g->in,
                             order, &ok);
  for (int32_t t = 0; st == BERTH_OK && t < g->n_tensors; t++)
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) of[e] = t;
  for (int32_t row = 0; st == BERTH_OK && row < g->n_edges; row++) {
    int32_t pair = ok ? order[row] : row;
    rows->tensor[row] = of[pair];
    rows->from[row] = g->producer[of[pair]];
    rows->to[row] = g->use[pair];
  }
  berth_i_pool_free(&scratch);
  return st;
}

static void list_collectives(const berth_graph *g, berth_i_edge_rows *rows) {
  int32_t row = g->n_edges;
  for (int32_t c = 0; c < g->n_collectives; c++) {
    const berth_collective *x = &g->collectives[c];
    for (int32_t i = 0; i < x->n_members + x->n_consumers; i++, row++) {
      bool member = i < x->n_members;
      rows->tensor[row] = BERTH_NONE;
      rows->from[row] = member ? x->members[i] : g->n_ops + c;
      rows->to[row] = member ? g->n_ops + c : x->consumers[i - x->n_members];
    }
  }
}

berth_status berth_i_edge_rows_of(berth_graph *g, berth_i_pool *pool, berth_i_edge_rows *rows) {
  rows->n = count_rows(g);
  rows->tensor = berth_i_pool_alloc(pool, (size_t)rows->n, sizeof *rows->tensor);
  rows->from = berth_i_pool_alloc(pool, (size_t)rows->n, sizeof *rows->from);
  rows->to = berth_i_pool_alloc(pool, (size_t)rows->n, sizeof *rows->to);
  berth_status st = berth_i_pool_status(pool);
  if (st == BERTH_OK) st = list_tensors(g, rows);
  if (st == BERTH_OK) list_collectives(g, rows);
  return st;
}
