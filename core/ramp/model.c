/* A training graph made ready to be cut: op costs, memory, edges between ops in both directions
 * (CSR), forward ops as given and in topological order, first come first served. Backward ops are
 * those flagged so, or the later of two twins; a twin holds what its forward op holds. O(ops +
 * edges), with short scans for repeated edges. */
#include "ramp_internal.h"

static void drop(berth_ramp_model *m) {
  berth_ramp *r = m->ramp;
  berth_i_pool_free(&m->pool);
  berth_ramp_release(r);
}

void berth_ramp_model_retain(berth_ramp_model *m) { m->refs++; }
void berth_ramp_model_release(berth_ramp_model *m) {
  if (m && --m->refs == 0) drop(m);
}

/* ---- what the graph must be ---- */

static const char *name_of(const berth_op *op) { return op->name ? op->name : ""; }

static berth_status check_graph(berth_ctx *ctx, const berth_graph *g) {
  if (berth_graph_collectives(g) > 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "ramp: the graph has collectives: cutting makes them");
  if (berth_graph_ops(g) == 0) return berth_i_fail(ctx, BERTH_EINVAL, "ramp: the graph is empty");
  if (berth_graph_types(g) > 1)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "ramp: op times for %d device types: servers are all alike",
                        (int)berth_graph_types(g));
  for (int32_t v = 0; v < berth_graph_ops(g); v++) {
    berth_op op;
    berth_graph_op(g, v, &op);
    if (op.twin == BERTH_NONE)
      return berth_i_fail(
          ctx, BERTH_EINVAL,
          "ramp: op %d \"%s\" has no twin: expected a backward op for each forward op", (int)v,
          name_of(&op));
    if (!op.seconds || !isfinite(op.seconds[0]))
      return berth_i_fail(ctx, BERTH_EINVAL, "ramp: op %d \"%s\" has no time", (int)v,
                          name_of(&op));
  }
  return BERTH_OK;
}

/* Edges op by op, in the order of the inputs of each op: each producer once, with all bytes that go
 * along. Cut along the batch if all of them have it. */
static int32_t edges_into(const berth_graph *g, int32_t v, bool batch, int32_t first,
                          berth_i_ramp_edge *edge) {
  const int32_t *tensors;
  int32_t n = berth_graph_inputs(g, v, &tensors), made = first;
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t;
    int32_t e = first;
    berth_graph_tensor(g, tensors[i], &t);
    while (e < made && edge[e].src != t.producer) e++;
    if (e == made) edge[made++] = (berth_i_ramp_edge){ t.producer, v, 0, batch };
    edge[e].bytes += t.bytes;
    edge[e].batch = edge[e].batch && (t.flags & BERTH_TENSOR_BATCH);
  }
  return made;
}

static int32_t edge_between(const berth_ramp_model *m, int32_t v, int32_t w) {
  int32_t e = m->in_start[w];
  while (m->edge[e].src != v) e++;
  return e;
}

/* In the order of the tensors and their consumers, each edge once. */
static int32_t list_outputs(const berth_ramp_model *m, const berth_graph *g, int32_t v,
                            int32_t first) {
  const int32_t *tensors, *ops;
  int32_t n = berth_graph_outputs(g, v, &tensors), made = first;
  for (int32_t i = 0; i < n; i++) {
    int32_t readers = berth_graph_consumers(g, tensors[i], &ops);
    for (int32_t k = 0; k < readers; k++) {
      int32_t e = edge_between(m, v, ops[k]), at = first;
      while (at < made && m->out[at] != e) at++;
      if (at == made) m->out[made++] = e;
    }
  }
  return made;
}

/* ---- columns ---- */

/* A forward op holds its parameters and what it makes, each tensor once, however many read it; its
 * twin holds the same. */
static double held(const berth_graph *g, int32_t v, const berth_op *op) {
  const int32_t *tensors;
  double bytes = op->param_bytes;
  int32_t n = berth_graph_outputs(g, v, &tensors);
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t;
    berth_graph_tensor(g, tensors[i], &t);
    bytes += t.resident_bytes;
  }
  return bytes;
}

/* Backward is what is flagged so; of two twins without flags, the later in topological order. */
static berth_status find_backward(berth_ramp_model *m, const berth_graph *g) {
  int32_t groups = 2 * m->n, *order = berth_i_alloc(m->ramp->ctx, (size_t)groups, sizeof *order);
  berth_status st = BERTH_OK;
  if (!order) return berth_i_nomem(m->ramp->ctx);
  st = berth_topo_order(g, order);
  for (int32_t i = 0; st == BERTH_OK && i < groups; i++) {
    berth_op op, twin;
    berth_graph_op(g, order[i], &op);
    berth_graph_op(g, op.twin, &twin);
    if ((op.flags & BERTH_OP_BACKWARD) == 0 && !m->backward[order[i]]) m->backward[op.twin] = 1;
    if ((op.flags & twin.flags & BERTH_OP_BACKWARD))
      st = berth_i_fail(m->ramp->ctx, BERTH_EINVAL,
                        "ramp: ops %d and %d are twins, and both are backward ops",
                        (int)(order[i] < op.twin ? order[i] : op.twin),
                        (int)(order[i] < op.twin ? op.twin : order[i]));
  }
  berth_i_free(m->ramp->ctx, order, (size_t)groups, sizeof *order);
  return st;
}

/* ---- orders ---- */

static berth_status take_order(berth_ramp_model *m, const int32_t *order) {
  berth_ctx *ctx = m->ramp->ctx;
  int32_t groups = 2 * m->n, k = 0;
  uint8_t *seen = berth_i_zalloc(ctx, (size_t)groups, sizeof *seen);
  berth_status st = BERTH_OK;
  if (!seen) return berth_i_nomem(ctx);
  for (int32_t v = 0; !order && v < groups; v++)
    if (!m->backward[v] && k < m->n) m->forward[k++] = v;
  for (int32_t i = 0; order && st == BERTH_OK && i < m->n; i++) {
    int32_t v = order[i];
    if (v < 0 || v >= groups || m->backward[v] || seen[v])
      st = berth_i_fail(ctx, BERTH_EINVAL, "ramp: order: op %d %s", (int)v,
                        v < 0 || v >= groups ? "does not exist"
                        : seen[v]            ? "is there twice"
                                             : "is not a forward op");
    else m->forward[k++] = v, seen[v] = 1;
  }
  berth_i_free(ctx, seen, (size_t)groups, sizeof *seen);
  return st;
}

/* Topological order of the forward ops, first come first served. */
static berth_status sort_forward(berth_ramp_model *m) {
  berth_ctx *ctx = m->ramp->ctx;
  int32_t *left = berth_i_zalloc(ctx, 2 * (size_t)m->n, sizeof *left), head = 0, tail = 0;
  if (!left) return berth_i_nomem(ctx);
  for (int32_t e = 0; e < m->n_edges; e++) left[m->edge[e].dst]++;
  for (int32_t i = 0; i < m->n; i++)
    if (left[m->forward[i]] == 0) m->kahn[tail++] = m->forward[i];
  for (; head < tail; head++) {
    int32_t v = m->kahn[head];
    for (int32_t i = m->out_start[v]; i < m->out_start[v + 1]; i++) {
      int32_t w = m->edge[m->out[i]].dst;
      if (--left[w] == 0 && !m->backward[w] && tail < m->n) m->kahn[tail++] = w;
    }
  }
  berth_i_free(ctx, left, 2 * (size_t)m->n, sizeof *left);
  return tail == m->n
             ? BERTH_OK
             : berth_i_fail(ctx, BERTH_EINVAL, "ramp: a forward op waits for a backward op");
}

static berth_status build(berth_ramp_model *m, const berth_graph *g, const int32_t *order,
                          const berth_i_ramp_edge *edge) {
  for (int32_t e = 0; e < m->n_edges; e++) m->edge[e] = edge[e];
  int32_t made = 0;
  for (int32_t e = 0; e < m->n_edges; e++) {
    m->in[e] = e; /* edges lie in the order of their consumers */
    m->in_start[m->edge[e].dst + 1]++;
  }
  for (int32_t v = 0; v < 2 * m->n; v++) m->in_start[v + 1] += m->in_start[v];
  for (int32_t v = 0; v < 2 * m->n; v++) m->out_start[v + 1] = made = list_outputs(m, g, v, made);
  double scale = m->ramp->o.time_scale;
  for (int32_t v = 0; v < 2 * m->n; v++) {
    berth_op op;
    berth_graph_op(g, v, &op);
    m->twin[v] = op.twin;
    m->cost[v] = op.seconds[0] * scale;
    m->memory[v] = held(g, v, &op);
    m->params[v] = op.param_bytes;
    if (isinf(m->cost[v]) || isinf(m->memory[v]))
      return berth_i_fail(m->ramp->ctx, BERTH_EINVAL,
                          "ramp: op %d takes %g s and %g bytes: too much to count", (int)v,
                          m->cost[v], m->memory[v]);
  }
  berth_status st;
  if ((st = find_backward(m, g)) != BERTH_OK) return st;
  for (int32_t e = 0; e < m->n_edges; e++)
    if (m->edge[e].batch)
      for (int32_t end = 0; end < 2; end++) {
        int32_t v = end ? m->edge[e].dst : m->edge[e].src;
        m->batch[v] = m->batch[m->twin[v]] = 1;
      }
  /* A backward op holds what its forward op does. */
  m->sequential = 0;
  for (int32_t v = 0; v < 2 * m->n; v++) {
    m->sequential += m->cost[v];
    if (!m->backward[v]) continue;
    m->memory[v] = m->memory[m->twin[v]];
    m->params[v] = m->params[m->twin[v]];
  }
  if ((st = take_order(m, order)) != BERTH_OK) return st;
  return sort_forward(m);
}

berth_status berth_ramp_model_new(berth_ramp *r, berth_graph *g, const int32_t *order, int batch,
                                  berth_ramp_model **out) {
  if (!r || !g || !out) return BERTH_EINVAL;
  if (batch && r->o.compat)
    return berth_i_fail(r->ctx, BERTH_EINVAL,
                        "ramp: the published cluster cuts no op along the batch");
  berth_i_ramp_edge *edge = NULL;
  berth_ramp_model *m = NULL;
  size_t cap = 0;
  int32_t n_edges = 0;
  berth_status st = check_graph(r->ctx, g);
  if (st != BERTH_OK) return st;
  /* A tensor read twice by an op is one edge: they are counted before the model has its arrays. */
  cap = (size_t)berth_graph_edges(g);
  if (!(edge = berth_i_alloc(r->ctx, cap, sizeof *edge))) return berth_i_nomem(r->ctx);
  for (int32_t v = 0; v < berth_graph_ops(g); v++)
    n_edges = edges_into(g, v, batch != 0, n_edges, edge);
  st = berth_i_nomem(r->ctx);
  if (!(m = berth_i_pool_object(r->ctx, sizeof *m))) goto done;
  m->ramp = r;
  m->refs = 1;
  m->n = berth_graph_ops(g) / 2;
  m->n_edges = n_edges;
  berth_ramp_retain(r);
  size_t n = (size_t)m->n;
  size_t edges = (size_t)n_edges;
  berth_i_pool *pool = &m->pool;
  m->twin = berth_i_pool_alloc(pool, 2 * n, sizeof *m->twin);
  m->forward = berth_i_pool_alloc(pool, n, sizeof *m->forward);
  m->kahn = berth_i_pool_alloc(pool, n, sizeof *m->kahn);
  m->cost = berth_i_pool_alloc(pool, 2 * n, sizeof *m->cost);
  m->memory = berth_i_pool_alloc(pool, 2 * n, sizeof *m->memory);
  m->params = berth_i_pool_alloc(pool, 2 * n, sizeof *m->params);
  m->backward = berth_i_pool_zalloc(pool, 2 * n, sizeof *m->backward);
  m->batch = berth_i_pool_zalloc(pool, 2 * n, sizeof *m->batch);
  m->edge = berth_i_pool_alloc(pool, edges, sizeof *m->edge);
  m->in_start = berth_i_pool_zalloc(pool, 2 * n + 1, sizeof *m->in_start);
  m->in = berth_i_pool_alloc(pool, edges, sizeof *m->in);
  m->out_start = berth_i_pool_zalloc(pool, 2 * n + 1, sizeof *m->out_start);
  m->out = berth_i_pool_alloc(pool, edges, sizeof *m->out);
  st = berth_i_pool_status(pool);
  if (st == BERTH_OK) st = build(m, g, order, edge);
  if (st == BERTH_OK) *out = m;
  else drop(m);
done:
  berth_i_free(r->ctx, edge, cap, sizeof *edge);
  return st;
}

double berth_ramp_sequential(const berth_ramp_model *m) { return m->sequential; }

double berth_ramp_model_memory(const berth_ramp_model *m) {
  double sum = 0;
  for (int32_t v = 0; v < 2 * m->n; v++) sum += m->memory[v];
  return sum;
}

double berth_ramp_model_bytes(const berth_ramp_model *m) {
  double sum = 0;
  for (int32_t e = 0; e < m->n_edges; e++) sum += m->edge[e].bytes;
  return sum;
}
