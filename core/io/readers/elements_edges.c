/* Edges with attributes, once all nodes are known: tensors between ops, members and consumers of
 * collectives. Edges with the same number in column "tensor" are one tensor, found by sorting: O(m
 * log m). */
#include "base/sort_internal.h"
#include "elements_internal.h"

/* An edge may name a node that comes later: names are interned at the first mention. */
berth_status berth_i_elements_name(berth_i_elements *g, const char *id, int32_t *out) {
  int32_t known = g->names.n;
  berth_status st = BERTH_I_POOL_GROW(&g->pool, g->op_of, g->op_of_cap, (size_t)known + 1);
  if (st == BERTH_OK) st = berth_i_names_add(g->src->ctx, &g->names, id, out);
  if (st == BERTH_OK && *out == known) g->op_of[known] = BERTH_NONE;
  return st;
}

berth_status berth_i_elements_close_edge(berth_i_elements *g) {
  berth_status st = BERTH_I_POOL_GROW(&g->pool, g->edges, g->edges_cap, g->n_edges + 1);
  if (st == BERTH_OK) g->edges[g->n_edges++] = g->now[BERTH_I_IN_EDGE].edge;
  return st;
}

berth_status berth_i_elements_add_collective(berth_i_elements *g, int32_t name,
                                             const berth_collective *c) {
  berth_status st = BERTH_I_POOL_GROW(&g->pool, g->collectives,
                                      g->collectives_cap, g->n_collectives + 1);
  if (st != BERTH_OK) return st;
  g->op_of[name] = BERTH_I_COLLECTIVE - (int32_t)g->n_collectives;
  g->collectives[g->n_collectives++] = *c;
  return BERTH_OK;
}

static berth_status fail(const berth_i_elements *g, const berth_i_element_edge *e, const char *what,
                         const char *value) {
  return berth_i_fail(g->src->ctx, BERTH_EPARSE, "%s:%d: %s (%.40s)", g->src->name, (int)e->line,
                      what, value);
}

/* Names become ops or collectives. */
static berth_status resolve(berth_i_elements *g) {
  for (size_t k = 0; k < g->n_edges; k++) {
    berth_i_element_edge *e = &g->edges[k];
    int32_t from = g->op_of[e->from], to = g->op_of[e->to];
    /* the end that no node has declared */
    const char *missing = g->names.text[from == BERTH_NONE ? e->from : e->to];
    if (from == BERTH_NONE || to == BERTH_NONE)
      return fail(g, e, "edge leads to or from a node that is not there", missing);
    if (from < 0 && to < 0)
      return fail(g, e, "edge leads from a collective to a collective", g->names.text[e->to]);
    e->from = from;
    e->to = to;
  }
  return BERTH_OK;
}

/* ---- tensors ---- */

typedef struct shared_edge {
  double tensor;
  size_t edge;
} shared_edge;

BERTH_I_SORT(sort_shares, shared_edge, BERTH_I_UP(tensor) BERTH_I_UP(edge))

static bool same_tensor(const berth_i_element_edge *a, const berth_i_element_edge *b) {
  return a->from == b->from && a->bytes == b->bytes && a->resident_bytes == b->resident_bytes
         && a->flags == b->flags;
}

/* By tensor, then edge.  @param tensor [edges] out */
static berth_status add_tensors(berth_i_elements *g, const shared_edge *share,
                                size_t n, int32_t *tensor) {
  for (size_t k = 0; k < n; k++) {
    const berth_i_element_edge *e = &g->edges[share[k].edge];
    berth_tensor t = { e->from, e->bytes, e->resident_bytes, e->flags };
    bool shared = k > 0 && isfinite(e->tensor) && e->tensor == share[k - 1].tensor;
    char number[BERTH_I_NUMBER_SIZE];
    if (shared && !same_tensor(e, &g->edges[share[k - 1].edge])) {
      return fail(g, e, "tensor has edges that differ in source, size or flags",
                  berth_i_number_text(e->tensor, number));
    }
    berth_status st;
    if (shared) tensor[share[k].edge] = tensor[share[k - 1].edge];
    else if ((st = berth_graph_builder_add_tensor(g->b, &t, &tensor[share[k].edge])) != BERTH_OK)
      return st;
  }
  return BERTH_OK;
}

/* Consumers are added in the order of the edges: the order of an op's inputs. */
static berth_status connect_ops(berth_i_elements *g) {
  berth_i_pool scratch = berth_i_pool_empty(g->src->ctx);
  shared_edge *share = berth_i_pool_alloc(&scratch, g->n_edges, sizeof *share);
  int32_t *tensor = berth_i_pool_alloc(&scratch, g->n_edges, sizeof *tensor);
  size_t n = 0;
  berth_status st = berth_i_pool_status(&scratch);
  for (size_t k = 0; st == BERTH_OK && k < g->n_edges; k++) {
    if (g->edges[k].from >= 0 && g->edges[k].to >= 0)
      share[n++] = (shared_edge){g->edges[k].tensor, k};
  }
  sort_shares(share, n);
  if (st == BERTH_OK) st = add_tensors(g, share, n, tensor);
  for (size_t k = 0; st == BERTH_OK && k < g->n_edges; k++) {
    const berth_i_element_edge *e = &g->edges[k];
    if (e->from >= 0 && e->to >= 0) st = berth_graph_builder_add_consumer(g->b, tensor[k], e->to);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- collectives ---- */

/* The list that an edge belongs to: 2 c, members of the c-th collective, or 2 c + 1, its consumers;
 * -1: none. */
static int32_t list_of(const berth_i_element_edge *e, int32_t *op) {
  *op = e->to < 0 ? e->from : e->to;
  if (e->to < 0) return 2 * (BERTH_I_COLLECTIVE - e->to);
  return e->from < 0 ? 2 * (BERTH_I_COLLECTIVE - e->from) + 1 : -1;
}

/* Lists by counting. @param at [2 n + 2] zeros; then list k of ops is at[k] to at[k + 1] @param ops
 * [edges] out */
static void sort_lists(const berth_i_elements *g, int32_t *at, int32_t *ops) {
  size_t lists = 2 * g->n_collectives;
  int32_t op, list;
  for (size_t k = 0; k < g->n_edges; k++)
    if ((list = list_of(&g->edges[k], &op)) >= 0) at[list + 2]++;
  for (size_t k = 1; k <= lists; k++) at[k + 1] += at[k];
  for (size_t k = 0; k < g->n_edges; k++)
    if ((list = list_of(&g->edges[k], &op)) >= 0) ops[at[list + 1]++] = op;
}

/* Members and consumers are in the order of their edges. */
static berth_status connect_collectives(berth_i_elements *g) {
  berth_i_pool scratch = berth_i_pool_empty(g->src->ctx);
  int32_t *at = berth_i_pool_zalloc(&scratch, 2 * g->n_collectives + 2, sizeof *at);
  int32_t *ops = berth_i_pool_alloc(&scratch, g->n_edges, sizeof *ops);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) sort_lists(g, at, ops);
  for (size_t k = 0; st == BERTH_OK && k < g->n_collectives; k++) {
    berth_collective *c = &g->collectives[k];
    const int32_t *start = at + 2 * k;
    /* lists 2 k and 2 k + 1 follow each other */
    c->members = ops + start[0];
    c->n_members = start[1] - start[0];
    c->consumers = ops + start[1];
    c->n_consumers = start[2] - start[1];
    st = berth_graph_builder_add_collective(g->b, c, NULL);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* Names first: from then on `from` and `to` are ops, or below 0 collectives. */
berth_status berth_i_elements_connect(berth_i_elements *g) {
  berth_status st = resolve(g);
  if (st == BERTH_OK) st = connect_ops(g);
  return st == BERTH_OK ? connect_collectives(g) : st;
}
