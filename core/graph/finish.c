/* From builder to graph: twins and groups checked, consumer and input lists sorted both ways by
 * counting, topological order (Kahn's algorithm) or the cycle named. O(ops + edges + members of
 * collectives). */
#include "builder_internal.h"

#include <stdio.h>

enum { CYCLE_LABELS = 5, LABEL = 80 };

/* ---- the graph as a view of the columns ---- */

static berth_status fit_columns(berth_graph_builder *b) {
  for (int k = 0; k < BERTH_I_COLUMNS; k++) {
    const berth_i_column *c = &b->column[k];
    size_t rows = berth_i_builder_rows(b, k);
    if (c->data && c->cap != rows && !berth_i_builder_resize(b, k, rows))
      return berth_i_nomem(b->ctx);
  }
  return BERTH_OK;
}

/* The columns stay the builder's until the graph is whole. */
static void view_columns(const berth_graph_builder *b, berth_graph *g) {
  const berth_i_column *c = b->column;
  g->seconds = c[BERTH_I_SECONDS].data;
  g->flop = c[BERTH_I_FLOP].data;
  g->bytes = c[BERTH_I_BYTES].data;
  g->param_bytes = c[BERTH_I_PARAM].data;
  g->workspace_bytes = c[BERTH_I_WORKSPACE].data;
  g->shape = c[BERTH_I_SHAPE].data;
  g->group = c[BERTH_I_GROUP].data;
  g->twin = c[BERTH_I_TWIN].data;
  g->pin = c[BERTH_I_PIN].data;
  g->flags = c[BERTH_I_FLAGS].data;
  g->op_name = c[BERTH_I_NAME].data;
  g->op_kind = c[BERTH_I_KIND].data;
  g->producer = c[BERTH_I_PRODUCER].data;
  g->tensor_bytes = c[BERTH_I_TENSOR_BYTES].data;
  g->resident = c[BERTH_I_RESIDENT].data;
  g->tensor_flags = c[BERTH_I_TENSOR_FLAGS].data;
  g->collectives = c[BERTH_I_COLLECTIVES].data;
  g->coll_ops = c[BERTH_I_COLL_OPS].data;
}

void berth_i_view_collectives(berth_graph *g) {
  const int32_t *next = g->coll_ops;
  for (int32_t k = 0; k < g->n_collectives; k++) {
    berth_collective *c = &g->collectives[k];
    c->members = next;
    next += c->n_members;
    c->consumers = c->n_consumers > 0 ? next : NULL;
    next += c->n_consumers;
  }
}

static void view(const berth_graph_builder *b, berth_graph *g) {
  g->ctx = b->ctx;
  g->refs = 1;
  g->name = b->name;
  g->dtype = b->dtype;
  g->unitless = b->unitless;
  g->n_ops = b->n_ops;
  g->n_tensors = b->n_tensors;
  g->n_edges = b->n_edges;
  g->n_collectives = b->n_collectives;
  g->n_groups = b->n_groups;
  g->n_types = b->n_types;
  g->types = b->types;
  g->names = b->names;
  g->kinds = b->kinds;
  g->n_coll_ops = b->n_coll_ops;
  view_columns(b, g);
  berth_i_view_collectives(g);
}

/* ---- twins, groups, pins ---- */

static berth_status bad_twin(const berth_graph *g, int32_t v, int32_t w) {
  char one[LABEL];
  berth_i_op_label(g, v, one, sizeof one);
  if (w >= g->n_ops) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: twin op %ld does not exist (there are %ld ops)",
                        one, (long)w, (long)g->n_ops);
  }
  if (w == v) return berth_i_fail(g->ctx, BERTH_EINVAL, "%s is its own twin", one);
  char two[LABEL], three[LABEL];
  return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: its twin %s is the twin of %s", one,
                      berth_i_op_label(g, w, two, sizeof two),
                      berth_i_op_label(g, g->twin[w], three, sizeof three));
}

static berth_status check_twins(const berth_graph *g) {
  for (int32_t v = 0; g->twin && v < g->n_ops; v++) {
    int32_t w = g->twin[v];
    if (w == BERTH_NONE) continue;
    if (w >= g->n_ops || w == v || (g->twin[w] != BERTH_NONE && g->twin[w] != v))
      return bad_twin(g, v, w);
  }
  return BERTH_OK;
}

/* One side is enough: sets the other. Two ops that claim the same twin are found when the second
 * one is visited; nothing that could be added later would make that right, so what was set until
 * then may stay. */
static berth_status link_twins(berth_graph *g) {
  berth_status st = check_twins(g);
  if (st != BERTH_OK || !g->twin) return st;
  int32_t w;
  for (int32_t v = 0; v < g->n_ops; v++) {
    if ((w = g->twin[v]) == BERTH_NONE) continue;
    if (g->twin[w] != BERTH_NONE && g->twin[w] != v) return bad_twin(g, v, w);
    g->twin[w] = v;
  }
  return BERTH_OK;
}

static size_t table_size(size_t n) {
  size_t size = 16;
  while (size < 2 * n) size *= 2;
  return size;
}

/* Slot of op's group in an open-addressed table of ops, one per group: sparse group numbers cost
 * nothing. */
static size_t group_slot(const berth_graph *g, const int32_t *table, size_t size, int32_t op) {
  size_t i = ((size_t)g->group[op] * 2654435761u) & (size - 1);
  while (table[i] != BERTH_NONE && g->group[table[i]] != g->group[op]) i = (i + 1) & (size - 1);
  return i;
}

static berth_status bad_pins(const berth_graph *g, int32_t v, int32_t w) {
  char one[LABEL], two[LABEL];
  return berth_i_fail(g->ctx, BERTH_EINVAL,
                      "group %ld: %s is pinned to device %ld, %s to device %ld", (long)g->group[v],
                      berth_i_op_label(g, v, one, sizeof one), (long)g->pin[v],
                      berth_i_op_label(g, w, two, sizeof two), (long)g->pin[w]);
}

static bool pinned_in_group(const berth_graph *g, int32_t op) {
  return g->pin[op] != BERTH_NONE && g->group[op] != BERTH_NONE;
}

static berth_status check_pins(const berth_graph *g) {
  size_t n = 0;
  berth_status st = BERTH_OK;
  if (!g->group || !g->pin) return BERTH_OK;
  for (int32_t v = 0; v < g->n_ops; v++) n += pinned_in_group(g, v);
  size_t size = table_size(n);
  int32_t *table;
  if (!(table = berth_i_alloc(g->ctx, size, sizeof *table))) return berth_i_nomem(g->ctx);
  memset(table, 0xff, size * sizeof *table);
  for (int32_t v = 0; v < g->n_ops && st == BERTH_OK; v++) {
    if (!pinned_in_group(g, v)) continue;
    size_t i = group_slot(g, table, size, v);
    if (table[i] == BERTH_NONE) table[i] = v;
    if (g->pin[table[i]] != g->pin[v]) st = bad_pins(g, table[i], v);
  }
  berth_i_free(g->ctx, table, size, sizeof *table);
  return st;
}

/* ---- lists ---- */

/* Turns counts per key into ends; lists are then filled from the back, which leaves starts. @param
 * at [n_keys + 1] */
static void counts_to_ends(int32_t *at, int32_t n_keys) {
  int32_t sum = 0;
  for (int32_t k = 0; k < n_keys; k++) at[k] = sum += at[k];
  at[n_keys] = sum;
}

void berth_i_sort_lists(int32_t n_keys, int32_t n, const int32_t *key, const int32_t *value,
                        int32_t *at, int32_t *list) {
  memset(at, 0, ((size_t)n_keys + 1) * sizeof *at);
  for (int32_t i = 0; i < n; i++) at[key[i]]++;
  counts_to_ends(at, n_keys);
  for (int32_t i = n - 1; i >= 0; i--) list[--at[key[i]]] = value ? value[i] : i;
}

/* Edges are sorted by consumer, then those of each consumer by its inputs: an op reads a tensor
 * once, so the tensor identifies the edge. */
berth_status berth_i_input_edges(const berth_graph *g, const int32_t *edge_op,
                                 const int32_t *edge_tensor, int32_t *in_edge) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  int32_t *next = berth_i_pool_copy(&scratch, g->in_at, (size_t)g->n_ops, sizeof *next);
  int32_t *sorted = berth_i_pool_alloc(&scratch, (size_t)g->n_edges, sizeof *sorted);
  int32_t *edge_of = berth_i_pool_alloc(&scratch, (size_t)g->n_tensors, sizeof *edge_of);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t e = 0; e < g->n_edges; e++) sorted[next[edge_op[e]]++] = e;
  for (int32_t op = 0; op < g->n_ops; op++) {
    for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
      edge_of[edge_tensor[sorted[i]]] = sorted[i];
    for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) in_edge[i] = edge_of[g->in[i]];
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status build_lists(berth_graph *g, const int32_t *edge_tensor,
                                const int32_t *edge_op) {
  size_t ops = (size_t)g->n_ops, tensors = (size_t)g->n_tensors, edges = (size_t)g->n_edges;
  g->in_at = berth_i_pool_alloc(&g->pool, ops + 1, sizeof(int32_t));
  g->in = berth_i_pool_alloc(&g->pool, edges, sizeof(int32_t));
  g->out_at = berth_i_pool_alloc(&g->pool, ops + 1, sizeof(int32_t));
  g->out = berth_i_pool_alloc(&g->pool, tensors, sizeof(int32_t));
  g->use_at = berth_i_pool_alloc(&g->pool, tensors + 1, sizeof(int32_t));
  g->use = berth_i_pool_alloc(&g->pool, edges, sizeof(int32_t));
  g->topo = berth_i_pool_alloc(&g->pool, ops, sizeof(int32_t));
  berth_status st;
  if ((st = berth_i_pool_status(&g->pool)) != BERTH_OK) return st;
  berth_i_sort_lists(g->n_ops, g->n_edges, edge_op, edge_tensor, g->in_at, g->in);
  berth_i_sort_lists(g->n_ops, g->n_tensors, g->producer, NULL, g->out_at, g->out);
  berth_i_sort_lists(g->n_tensors, g->n_edges, edge_tensor, edge_op, g->use_at, g->use);
  return BERTH_OK;
}

/* Ops of one side of a collective. */
typedef struct side {
  int32_t n;
  const int32_t *ops;
} side;

static side side_of(const berth_graph *g, int32_t k, bool consumers) {
  const berth_collective *c = &g->collectives[k];
  return consumers ? (side){ c->n_consumers, c->consumers } : (side){ c->n_members, c->members };
}

void berth_i_count_side(const berth_graph *g, bool consumers, int32_t *at) {
  memset(at, 0, ((size_t)g->n_ops + 1) * sizeof *at);
  for (int32_t k = 0; k < g->n_collectives; k++) {
    side s = side_of(g, k, consumers);
    for (int32_t j = 0; j < s.n; j++) at[s.ops[j]]++;
  }
  counts_to_ends(at, g->n_ops);
}

void berth_i_list_side(const berth_graph *g, bool consumers, int32_t *at, int32_t *list) {
  for (int32_t k = g->n_collectives - 1; k >= 0; k--) {
    side s = side_of(g, k, consumers);
    for (int32_t j = 0; j < s.n; j++) list[--at[s.ops[j]]] = k;
  }
}

static berth_status build_side(berth_graph *g, bool consumers, int32_t **at, int32_t **list) {
  if (!(*at = berth_i_pool_alloc(&g->pool, (size_t)g->n_ops + 1, sizeof **at)))
    return berth_i_nomem(g->ctx);
  berth_i_count_side(g, consumers, *at);
  if (!(*list = berth_i_pool_alloc(&g->pool, (size_t)(*at)[g->n_ops], sizeof **list)))
    return berth_i_nomem(g->ctx);
  berth_i_list_side(g, consumers, *at, *list);
  return BERTH_OK;
}

static berth_status build_collective_lists(berth_graph *g) {
  if (g->n_collectives == 0) return BERTH_OK;
  berth_status st;
  if ((st = build_side(g, false, &g->wait_at, &g->wait)) != BERTH_OK) return st;
  return build_side(g, true, &g->after_at, &g->after);
}

/* ---- nothing twice ---- */

/* First op that is twice in the list, or BERTH_NONE; `last` has the stamp of the last list that
 * each op was in. */
static int32_t first_double(side s, int32_t stamp, int32_t *last) {
  for (int32_t j = 0; j < s.n; j++) {
    if (last[s.ops[j]] == stamp) return s.ops[j];
    last[s.ops[j]] = stamp;
  }
  return BERTH_NONE;
}

static berth_status check_consumers(const berth_graph *g, int32_t *last) {
  memset(last, 0xff, (size_t)g->n_ops * sizeof *last);
  char one[LABEL], two[LABEL];
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t twice =
        first_double((side){ g->use_at[t + 1] - g->use_at[t], g->use + g->use_at[t] }, t, last);
    if (twice == BERTH_NONE) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "tensor %ld of %s: consumer %s is given twice",
                        (long)t, berth_i_op_label(g, g->producer[t], one, sizeof one),
                        berth_i_op_label(g, twice, two, sizeof two));
  }
  return BERTH_OK;
}

static berth_status check_members(const berth_graph *g, int32_t *last) {
  memset(last, 0xff, (size_t)g->n_ops * sizeof *last);
  char label[LABEL];
  for (int32_t k = 0; k < g->n_collectives; k++) {
    for (int32_t s = 0; s < 2; s++) {
      int32_t twice = first_double(side_of(g, k, s == 1), 2 * k + s, last);
      if (twice == BERTH_NONE) continue;
      return berth_i_fail(g->ctx, BERTH_EINVAL, "collective %ld: %s %s is given twice", (long)k,
                          s ? "consumer" : "member",
                          berth_i_op_label(g, twice, label, sizeof label));
    }
  }
  return BERTH_OK;
}

/* ---- order ---- */

/* What Kahn's algorithm still waits for. */
typedef struct pending {
  int32_t *op;         /* [n_ops] inputs and collectives not taken yet */
  int32_t *collective; /* [n_collectives] members not taken yet */
} pending;

static int32_t take(int32_t n, const int32_t *ops, int32_t *left, int32_t *queue, int32_t tail) {
  for (int32_t j = 0; j < n; j++) {
    if (--left[ops[j]] == 0) queue[tail++] = ops[j];
  }
  return tail;
}

int32_t berth_i_take_order(const berth_graph *g, int32_t *left, int32_t *members, int32_t *order) {
  int32_t tail = 0;
  for (int32_t v = 0; v < g->n_ops; v++) {
    left[v] = g->in_at[v + 1] - g->in_at[v] + (g->after ? g->after_at[v + 1] - g->after_at[v] : 0);
    if (left[v] == 0) order[tail++] = v;
  }
  for (int32_t k = 0; k < g->n_collectives; k++) members[k] = g->collectives[k].n_members;
  for (int32_t head = 0; head < tail; head++) {
    int32_t u = order[head];
    for (int32_t i = g->out_at[u]; i < g->out_at[u + 1]; i++) {
      int32_t t = g->out[i];
      tail = take(g->use_at[t + 1] - g->use_at[t], g->use + g->use_at[t], left, order, tail);
    }
    for (int32_t i = g->wait ? g->wait_at[u] : 0; g->wait && i < g->wait_at[u + 1]; i++) {
      const berth_collective *c = &g->collectives[g->wait[i]];
      if (--members[g->wait[i]] == 0)
        tail = take(c->n_consumers, c->consumers, left, order, tail);
    }
  }
  return tail;
}

/* An op that v waits for and that was never taken: there is one for every op never taken. */
static int32_t untaken_predecessor(const berth_graph *g, const pending *p, int32_t v) {
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    int32_t u = g->producer[g->in[i]];
    if (p->op[u] != 0) return u;
  }
  for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t j = 0; p->collective[g->after[i]] > 0 && j < c->n_members; j++) {
      if (p->op[c->members[j]] != 0) return c->members[j];
    }
  }
  return BERTH_NONE;
}

/* Writes the ops of one cycle against their edges, from its lowest op back to before it; returns
 * their number. */
static int32_t find_cycle(const berth_graph *g, pending *p, int32_t *cycle) {
  int32_t v = 0, n = 0;
  while (p->op[v] == 0) v++;
  while (p->op[v] > 0) { /* a visited op is marked by its sign */
    p->op[v] = -p->op[v];
    v = untaken_predecessor(g, p, v);
  }
  int32_t lowest = v;
  for (int32_t u = untaken_predecessor(g, p, v); u != v; u = untaken_predecessor(g, p, u)) {
    if (u < lowest) lowest = u;
  }
  v = lowest;
  do {
    cycle[n++] = v;
    v = untaken_predecessor(g, p, v);
  } while (v != lowest);
  return n;
}

static berth_status report_cycle(const berth_graph *g, const int32_t *cycle, int32_t n) {
  char text[(CYCLE_LABELS + 1) * (LABEL + 8)], label[LABEL];
  int32_t shown = n < CYCLE_LABELS ? n : CYCLE_LABELS;
  size_t len = 0;
  for (int32_t j = 0; j < shown; j++) {
    berth_i_op_label(g, cycle[(n - j) % n], label, sizeof label);
    len += (size_t)snprintf(text + len, sizeof text - len, "%s -> ", label);
  }
  snprintf(text + len, sizeof text - len, "%s%s", n > shown ? "... -> " : "",
           berth_i_op_label(g, cycle[0], label, sizeof label));
  return berth_i_fail(g->ctx, BERTH_ECYCLE, "cycle of %ld op%s: %s", (long)n, n == 1 ? "" : "s",
                      text);
}

static berth_status order(berth_graph *g) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  pending p = { berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *p.op),
                berth_i_pool_alloc(&scratch, (size_t)g->n_collectives, sizeof *p.collective) };
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK && berth_i_take_order(g, p.op, p.collective, g->topo) < g->n_ops)
    st = report_cycle(g, g->topo, find_cycle(g, &p, g->topo));
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- finish ---- */

static berth_status name_default_type(berth_graph_builder *b) {
  const char *const none[] = { "" };
  return b->types ? BERTH_OK : berth_i_types_copy(&b->columns, 1, none, &b->types);
}

static berth_status derive(berth_graph *g, const berth_graph_builder *b) {
  berth_status st;
  if ((st = build_lists(g, b->column[BERTH_I_EDGE_TENSOR].data, b->column[BERTH_I_EDGE_OP].data))
      != BERTH_OK)
    return st;
  if ((st = build_collective_lists(g)) != BERTH_OK) return st;
  /* the order's array, not yet needed, holds the stamps */
  if ((st = check_consumers(g, g->topo)) != BERTH_OK) return st;
  if ((st = check_members(g, g->topo)) != BERTH_OK) return st;
  if ((st = check_pins(g)) != BERTH_OK) return st;
  return order(g);
}

static void give_columns(berth_graph_builder *b) {
  berth_i_pool_free(&b->edges);
  berth_ctx_retain(b->ctx);
  berth_i_builder_reset(b);
}

berth_status berth_graph_builder_finish(berth_graph_builder *b, berth_graph **out) {
  if (!b || !out) return BERTH_EINVAL;
  if (b->n_ops == 0) return berth_i_fail(b->ctx, BERTH_EINVAL, "graph has no ops");
  berth_status st;
  if ((st = fit_columns(b)) != BERTH_OK) return st;
  if ((st = name_default_type(b)) != BERTH_OK) return st;
  berth_graph *g;
  if (!(g = berth_i_pool_object(b->ctx, sizeof *g))) return berth_i_nomem(b->ctx);
  view(b, g);
  if ((st = derive(g, b)) != BERTH_OK) goto fail;
  if ((st = link_twins(g)) != BERTH_OK) goto fail;
  g->columns = b->columns;
  give_columns(b);
  *out = g;
  return BERTH_OK;
fail:
  berth_i_pool_free(&g->pool);
  return st;
}
