/* Lists and order of a compiled graph, as the builder makes them, and the views that others get. */
#include "compile_internal.h"

/* ---- lists ---- */

static void sort_side(const berth_i_arena *a, bool waiting, int32_t *at, int32_t *list) {
  memset(at, 0, ((size_t)a->n_ops + 1) * sizeof *at);
  for (int32_t k = 0; k < a->n_collectives; k++) {
    const berth_collective *c = &a->collective[k];
    for (int32_t j = 0; j < (waiting ? c->n_consumers : c->n_members); j++)
      at[waiting ? c->consumers[j] : c->members[j]]++;
  }
  berth_i_counts_to_ends(at, a->n_ops);
  for (int32_t k = a->n_collectives - 1; k >= 0; k--) {
    const berth_collective *c = &a->collective[k];
    for (int32_t j = 0; j < (waiting ? c->n_consumers : c->n_members); j++)
      list[--at[waiting ? c->consumers[j] : c->members[j]]] = k;
  }
}

/* ---- order: Kahn's algorithm with the order itself as the queue ---- */

static int32_t take_sources(berth_i_arena *a) {
  int32_t tail = 0;
  for (int32_t v = 0; v < a->n_ops; v++) {
    a->left[v] = a->in_at[v + 1] - a->in_at[v] + a->after_at[v + 1] - a->after_at[v];
    if (a->left[v] == 0) a->topo[tail++] = v;
  }
  for (int32_t v = 0; v < a->n_collectives; v++) a->met[v] = a->collective[v].n_members;
  return tail;
}

static int32_t take(berth_i_arena *a, int32_t n, const int32_t *ops, int32_t tail) {
  for (int32_t j = 0; j < n; j++) {
    if (--a->left[ops[j]] == 0) a->topo[tail++] = ops[j];
  }
  return tail;
}

static int32_t take_readers(berth_i_arena *a, int32_t v, int32_t tail) {
  for (int32_t i = a->out_at[v]; i < a->out_at[v + 1]; i++) {
    int32_t t = a->out[i];
    tail = take(a, a->use_at[t + 1] - a->use_at[t], a->use + a->use_at[t], tail);
  }
  for (int32_t i = a->wait_at[v]; i < a->wait_at[v + 1]; i++) {
    const berth_collective *c = &a->collective[a->wait[i]];
    if (--a->met[a->wait[i]] == 0) tail = take(a, c->n_consumers, c->consumers, tail);
  }
  return tail;
}

static berth_status find_order(berth_i_arena *a) {
  int32_t tail = take_sources(a);
  for (int32_t head = 0; head < tail; head++) tail = take_readers(a, a->topo[head], tail);
  if (tail == a->n_ops) return BERTH_OK;
  return berth_i_fail(a->d->ctx, BERTH_ECYCLE,
                      "the compiled graph has a cycle: %ld of %ld ops are on it or behind it",
                      (long)(a->n_ops - tail), (long)a->n_ops);
}

static void view_graph(berth_i_arena *a, berth_graph *g) {
  bool meet = a->n_collectives > 0;
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
    .wait_at = meet ? a->wait_at : NULL,
    .wait = meet ? a->wait : NULL,
    .after_at = meet ? a->after_at : NULL,
    .after = meet ? a->after : NULL,
    .topo = a->topo,
  };
}

berth_status berth_i_arena_finish(berth_i_arena *a, berth_i_emission *e) {
  berth_status st = berth_i_arena_reserve_lists(a);
  if (st != BERTH_OK) return st;
  berth_i_sort_lists(a->n_ops, a->n_edges, a->edge_op, a->edge_tensor, a->in_at, a->in);
  berth_i_sort_lists(a->n_ops, a->n_tensors, a->producer, NULL, a->out_at, a->out);
  berth_i_sort_lists(a->n_tensors, a->n_edges, a->edge_tensor, a->edge_op, a->use_at, a->use);
  /* Place members. */
  const int32_t *next = a->coll_ops;
  for (int32_t k = 0; k < a->n_collectives; k++) {
    berth_collective *c = &a->collective[k];
    c->members = next;
    next += c->n_members;
    c->consumers = c->n_consumers > 0 ? next : NULL;
    next += c->n_consumers;
  }
  sort_side(a, false, a->wait_at, a->wait);
  sort_side(a, true, a->after_at, a->after);
  if ((st = find_order(a)) != BERTH_OK) return st;
  view_graph(a, &e->graph);
  /* Every op is pinned: one class of devices will do, whose prices are those on the op's own. */
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
