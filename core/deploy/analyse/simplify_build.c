/* The graph that has one op for each set of a simplification: work, bytes and parameters of its
 * members added up, times added by type, tensors within a set left out, each tensor read once.
 * O(ops + edges). */
#include "simplify_internal.h"
#include "cost/cost_internal.h"
#include "graph/transforms/transform_internal.h"

typedef struct building {
  const berth_i_simplifying *x;
  const berth_graph *g;
  berth_graph_builder *b;
  int32_t n_types, types_cap;
  const char **types;     /* [n_types] of the new graph */
  double *seconds;        /* [n_types] of the present op */
  int32_t *first, *next;  /* [ops] members of a head in topological order, the head left out */
  int32_t *number;        /* [ops] of heads */
  int32_t *tensor;        /* [tensors] new id; BERTH_NONE: gone */
  int32_t *stamp;         /* [tensors] head that reads it already */
} building;

/* ---- types ---- */

static int32_t find_type(int32_t n, const char *const *types, const char *name) {
  int32_t k;
  for (k = 0; k < n && strcmp(types[k], name) != 0; k++) {}
  return k < n ? k : BERTH_NONE;
}

/* With a cost: those of the devices; one only is also "" where the graph says so. */
static berth_status take_types(building *m) {
  const berth_topology *t = m->x->o->cost ? m->x->o->cost->t : NULL;
  bool unnamed = false;
  if (!t) {
    for (int32_t k = 0; k < m->g->n_types; k++) m->types[k] = m->g->types[k];
    m->n_types = m->g->n_types;
    return BERTH_OK;
  }
  for (int32_t d = 0; d < t->n_devices; d++) {
    unnamed |= !*t->devices[d].type;
    if (find_type(m->n_types, m->types, t->devices[d].type) == BERTH_NONE)
      m->types[m->n_types++] = t->devices[d].type;
  }
  if (m->n_types > 1 && unnamed)
    return berth_i_fail(m->g->ctx, BERTH_EUNSUPPORTED,
                        "some types of devices have a name and some have none");
  if (m->n_types == 1 && m->g->n_types == 1 && !*m->g->types[0]) m->types[0] = "";
  return BERTH_OK;
}

/* ---- times ---- */

/* By the cost, at speed 1, without pins: the longest on a device of the type. */
static double longest(const building *m, int32_t op, const char *type) {
  const berth_cost *c = m->x->o->cost;
  double most = 0;
  for (int32_t d = 0; d < c->n_devices; d++) {
    const berth_device *at = &c->t->devices[d];
    if (m->n_types > 1 && strcmp(at->type, type) != 0) continue;
    most = fmax(most, c->op[(size_t)op * (size_t)c->n_classes + (size_t)c->class_of[d]] * at->speed
                          / c->op_factor);
  }
  return most;
}

static double time_of(const building *m, int32_t op, int32_t type) {
  const berth_graph *g = m->g;
  int32_t k = g->n_types == 1 && !*g->types[0]
                  ? 0
                  : find_type(g->n_types, (const char *const *)g->types, m->types[type]);
  if (berth_i_profiled(g, op) && k != BERTH_NONE)
    return g->seconds[(size_t)op * (size_t)g->n_types + (size_t)k];
  return m->x->o->cost ? longest(m, op, m->types[type]) : 0;
}

/* NULL: it has none, as neither a profile nor, for what was joined, a cost gives them. */
static const double *add_times(const building *m, int32_t head) {
  bool any = berth_i_profiled(m->g, head) || (m->first[head] != BERTH_NONE && m->x->o->cost);
  for (int32_t v = m->first[head]; v != BERTH_NONE; v = m->next[v])
    any |= berth_i_profiled(m->g, v);
  for (int32_t k = 0; any && k < m->n_types; k++) {
    m->seconds[k] = time_of(m, head, k);
    for (int32_t v = m->first[head]; v != BERTH_NONE; v = m->next[v])
      m->seconds[k] += time_of(m, v, k);
  }
  return any ? m->seconds : NULL;
}

/* ---- ops ---- */

static void list_members(const building *m, int32_t *last) {
  const berth_graph *g = m->g;
  int32_t n = 0;
  for (int32_t k = 0; k < g->n_ops; k++) m->first[k] = m->next[k] = BERTH_NONE, last[k] = k;
  for (int32_t k = 0; k < g->n_ops; k++) {
    int32_t v = g->topo[k], head = m->x->into[v];
    if (head == BERTH_NONE || head == v) continue;
    if (last[head] == head) m->first[head] = v;
    else m->next[last[head]] = v;
    last[head] = v;
  }
  for (int32_t k = 0; k < g->n_ops; k++) m->number[k] = m->x->into[k] == k ? n++ : BERTH_NONE;
}

static berth_status add_op(const building *m, int32_t head) {
  berth_op op;
  berth_status st = berth_graph_op(m->g, head, &op);
  if (st != BERTH_OK) return st;
  for (int32_t v = m->first[head]; v != BERTH_NONE; v = m->next[v]) {
    const berth_graph *g = m->g;
    if (berth_i_has_rates(g, v)) op.shape = op.flop + op.bytes > 0 ? NULL : berth_i_shape(g, v);
    if (g->flop) op.flop += g->flop[v];
    if (g->bytes) op.bytes += g->bytes[v];
    op.param_bytes += berth_i_param(g, v);
    op.workspace_bytes = fmax(op.workspace_bytes, berth_i_workspace(g, v));
  }
  op.seconds = add_times(m, head);
  op.group = m->x->group[head];
  op.pin = m->x->pin[head];
  op.twin = op.twin == BERTH_NONE ? BERTH_NONE : m->number[op.twin];
  return berth_graph_builder_add_op(m->b, &op, NULL);
}

/* ---- tensors ---- */

/* All that an op makes is inner if its one reader has joined it; what was never read
 * stays. */
static bool is_gone(const building *m, int32_t t) {
  const berth_graph *g = m->g;
  int32_t u = g->producer[t], reader = m->x->sole[u];
  if (m->x->into[u] == BERTH_NONE || m->x->source[t] != t || !berth_i_stays(m->x, t)) return true;
  return reader >= 0 && m->x->into[reader] == m->x->into[u] && g->use_at[t] < g->use_at[t + 1];
}

static berth_status add_tensor(const building *m, int32_t t) {
  m->tensor[t] = m->stamp[t] = BERTH_NONE;
  if (is_gone(m, t)) return BERTH_OK;
  berth_tensor x;
  berth_status st;
  if ((st = berth_graph_tensor(m->g, t, &x)) != BERTH_OK) return st;
  x.producer = m->number[m->x->into[x.producer]];
  return berth_graph_builder_add_tensor(m->b, &x, &m->tensor[t]);
}

static berth_status add_inputs(const building *m, int32_t head, int32_t v) {
  const berth_graph *g = m->g;
  berth_status st = BERTH_OK;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1] && st == BERTH_OK; i++) {
    int32_t t = m->x->source[g->in[i]];
    if (!berth_i_stays(m->x, g->in[i]) || m->tensor[t] == BERTH_NONE || m->stamp[t] == head)
      continue;
    if (m->x->into[g->producer[t]] == head) continue;
    m->stamp[t] = head;
    st = berth_graph_builder_add_consumer(m->b, m->tensor[t], m->number[head]);
  }
  return st;
}

/* ---- the whole ---- */

static berth_status add_all(building *m, berth_graph **out) {
  const berth_graph *g = m->g;
  berth_status st = take_types(m);
  if (st == BERTH_OK) st = berth_graph_builder_types(m->b, m->n_types, m->types);
  if (st == BERTH_OK) st = berth_graph_builder_name(m->b, g->name);
  for (int32_t k = 0; k < g->n_ops && st == BERTH_OK; k++)
    if (m->number[k] != BERTH_NONE) st = add_op(m, k);
  for (int32_t k = 0; k < g->n_tensors && st == BERTH_OK; k++) st = add_tensor(m, k);
  for (int32_t k = 0; k < g->n_ops && st == BERTH_OK; k++) {
    if (m->number[k] == BERTH_NONE) continue;
    st = add_inputs(m, k, k);
    for (int32_t v = m->first[k]; v != BERTH_NONE && st == BERTH_OK; v = m->next[v])
      st = add_inputs(m, k, v);
  }
  return st == BERTH_OK ? berth_graph_builder_finish(m->b, out) : st;
}

berth_status berth_i_simplify_build(const berth_i_simplifying *x, berth_graph **out, int32_t *map) {
  const berth_graph *g = x->g;
  berth_ctx *ctx = g->ctx;
  size_t ops = (size_t)g->n_ops, tensors = (size_t)g->n_tensors;
  building m = { .x = x, .g = g, .types_cap = x->o->cost ? x->o->cost->n_devices : g->n_types };
  size_t types = (size_t)m.types_cap;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_status st = berth_graph_builder_new(ctx, &m.b);
  if (st != BERTH_OK) return st;
  berth_graph_builder_dtype(m.b, berth_graph_dtype(g)); /* is a legal one */
  berth_graph_builder_unitless(m.b, berth_graph_unitless(g));
  m.types = berth_i_pool_alloc(&scratch, types, sizeof *m.types);
  m.seconds = berth_i_pool_alloc(&scratch, types, sizeof *m.seconds);
  m.first = berth_i_pool_alloc(&scratch, ops, sizeof *m.first);
  m.next = berth_i_pool_alloc(&scratch, ops, sizeof *m.next);
  m.number = berth_i_pool_alloc(&scratch, ops, sizeof *m.number);
  m.tensor = berth_i_pool_alloc(&scratch, tensors, sizeof *m.tensor);
  m.stamp = berth_i_pool_alloc(&scratch, tensors > ops ? tensors : ops, sizeof *m.stamp);
  st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) list_members(&m, m.stamp);
  if (st == BERTH_OK) st = add_all(&m, out);
  if (st == BERTH_OK && map)
    for (int32_t v = 0; v < m.g->n_ops; v++)
      map[v] = m.x->into[v] == BERTH_NONE ? BERTH_NONE : m.number[m.x->into[v]];
  berth_i_pool_free(&scratch);
  berth_graph_builder_release(m.b);
  return st;
}
