/* The same graph with other colocation groups, copied row by row; helpers for transforms that
 * copy. */
#include "transform_internal.h"

berth_status berth_i_builder_like(const berth_graph *g, berth_graph_builder **out) {
  berth_graph_builder *b;
  berth_status st = berth_graph_builder_new(g->ctx, &b);
  if (st != BERTH_OK) return st;
  st = berth_graph_builder_types(b, g->n_types, (const char *const *)g->types);
  if (st == BERTH_OK) st = berth_graph_builder_name(b, g->name);
  berth_i_builder_describe(b, g);
  if (st == BERTH_OK) {
    *out = b;
  } else {
    berth_graph_builder_release(b);
  }
  return st;
}

static berth_status add_ops(const berth_graph *g, const int32_t *group, berth_graph_builder *b) {
  berth_op op;
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < g->n_ops && st == BERTH_OK; v++) {
    if ((st = berth_graph_op(g, v, &op)) != BERTH_OK) return st;
    op.group = group[v];
    st = berth_graph_builder_add_op(b, &op, NULL);
  }
  return st;
}

static berth_status add_tensors(const berth_graph *g, berth_graph_builder *b) {
  berth_tensor x;
  berth_status st = BERTH_OK;
  for (int32_t t = 0; t < g->n_tensors && st == BERTH_OK; t++) {
    if ((st = berth_graph_tensor(g, t, &x)) == BERTH_OK)
      st = berth_graph_builder_add_tensor(b, &x, NULL);
  }
  return st;
}

/* By the tensor: so inputs come in the order of tensors, which need not be that of g. */
static berth_status add_consumers(const berth_graph *g, berth_graph_builder *b) {
  berth_status st = BERTH_OK;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = berth_graph_builder_add_consumer(b, t, g->use[j]);
  }
  return st;
}

berth_status berth_i_copy_tensors(const berth_graph *g, berth_graph_builder *b) {
  berth_status st = add_tensors(g, b);
  return st == BERTH_OK ? add_consumers(g, b) : st;
}

static berth_status add_collectives(const berth_graph *g, berth_graph_builder *b) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < g->n_collectives && st == BERTH_OK; k++) {
    st = berth_graph_builder_add_collective(b, &g->collectives[k], NULL);
  }
  return st;
}

static void restore_inputs(const berth_graph *g, berth_graph *same) {
  memcpy(same->in, g->in, (size_t)g->n_edges * sizeof *g->in);
}

berth_status berth_i_regroup(const berth_graph *g, const int32_t *group, berth_graph **out) {
  berth_graph_builder *b;
  berth_status st = berth_i_builder_like(g, &b);
  if (st != BERTH_OK) return st;
  st = berth_graph_builder_reserve(b, g->n_ops, g->n_tensors, g->n_edges);
  if (st == BERTH_OK) st = add_ops(g, group, b);
  if (st == BERTH_OK) st = berth_i_copy_tensors(g, b);
  if (st == BERTH_OK) st = add_collectives(g, b);
  if (st == BERTH_OK && (st = berth_graph_builder_finish(b, out)) == BERTH_OK)
    restore_inputs(g, *out);
  berth_graph_builder_release(b);
  return st;
}
