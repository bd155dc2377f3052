/* Lists and order of a compiled graph, as the builder makes them (counting sorts, Kahn's order),
 * and the views that others get: a graph and a cost over the arena's arrays, without a copy. O(ops
 * + edges). */
#include "compile_internal.h"

static void view_graph(berth_i_arena *a, berth_graph *g) {
  bool any = a->n_collectives > 0;
  *g = (berth_graph){
    .ctx = a->d->ctx,
    .refs = 1,
    .n_ops = a->n_ops,
    .n_tensors = a->n_tensors,
    .n_edges = a->n_edges,
    .n_collectives = a->n_collectives,
    .n_types = 1,
    .types = a->type,
    .seconds = a->seconds,
    .param_bytes = a->param,
    .workspace_bytes = a->workspace,
    .twin = a->twin,
    .pin = a->device,
    .flags = a->flags,
    .producer = a->producer,
    .tensor_bytes = a->bytes,
    .resident = a->resident,
    .tensor_flags = a->tensor_flags,
    .in_at = a->in_at,
    .in = a->in,
    .out_at = a->out_at,
    .out = a->out,
    .use_at = a->use_at,
    .use = a->use,
    .collectives = a->collective,
    .coll_ops = a->coll_ops,
    .n_coll_ops = (size_t)a->n_coll_ops,
    .wait_at = any ? a->wait_at : NULL,
    .wait = any ? a->wait : NULL,
    .after_at = any ? a->after_at : NULL,
    .after = any ? a->after : NULL,
    .topo = a->topo,
  };
}

berth_status berth_i_arena_finish(berth_i_arena *a, berth_i_emission *e) {
  berth_status st = berth_i_arena_reserve_lists(a);
  if (st != BERTH_OK) return st;
  berth_i_sort_lists(a->n_ops, a->n_edges, a->edge_op, a->edge_tensor, a->in_at, a->in);
  berth_i_sort_lists(a->n_ops, a->n_tensors, a->producer, NULL, a->out_at, a->out);
  berth_i_sort_lists(a->n_tensors, a->n_edges, a->edge_tensor, a->edge_op, a->use_at, a->use);
  view_graph(a, &e->graph);
  berth_i_view_collectives(&e->graph);
  berth_i_count_side(&e->graph, false, a->wait_at);
  berth_i_list_side(&e->graph, false, a->wait_at, a->wait);
  berth_i_count_side(&e->graph, true, a->after_at);
  berth_i_list_side(&e->graph, true, a->after_at, a->after);
  int32_t taken = berth_i_take_order(&e->graph, a->left, a->untaken, a->topo);
  if (taken < a->n_ops)
    return berth_i_fail(a->d->ctx, BERTH_ECYCLE,
                        "the compiled graph has a cycle: %ld of %ld ops are on it or behind it",
                        (long)(a->n_ops - taken), (long)a->n_ops);
  /* Every op is pinned: one class of devices is enough, whose prices are those on the op's own. */
  e->cost = *a->d->cost;
  e->cost.refs = 1;
  e->cost.g = &e->graph;
  e->cost.n_classes = 1;
  e->cost.class_of = a->class_of;
  e->cost.class_device = a->class_device;
  e->cost.class_size = a->class_size;
  e->cost.op = a->seconds;
  e->cost.op_factor = 1;
  e->cost.uniform = NULL;
  e->cost.unproved = false;
  e->device = a->device;
  e->origin = a->origin;
  e->part = a->part;
  e->samples = a->samples;
  e->rank = a->rank;
  e->source = a->source;
  return BERTH_OK;
}
