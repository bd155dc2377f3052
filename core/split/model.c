/* The contracted graph of a split: groups are units; circles of units are fused (strong.c); units
 * of no time with one neighbour join it. Then sums of the units, and nets: the units that read or
 * write a tensor, with its price. Invariant: units are numbered in topological order of the forward
 * graph after each step. O(ops + edges). */
#include "split_internal.h"

berth_status berth_i_csr(berth_i_pool *pool, int32_t n, int32_t m, const int32_t *key,
                         const int32_t *item, int32_t **at, int32_t **items) {
  int32_t *a = berth_i_pool_zalloc(pool, (size_t)n + 1, sizeof *a),
          *x = berth_i_pool_alloc(pool, (size_t)m, sizeof *x);
  berth_status st = berth_i_pool_status(pool);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < m; i++) a[key[i] + 1]++;
  for (int32_t i = 0; i < n; i++) a[i + 1] += a[i];
  for (int32_t i = 0; i < m; i++) x[a[key[i]]++] = item[i];
  for (int32_t i = n; i > 0; i--) a[i] = a[i - 1];
  a[0] = 0;
  *at = a;
  *items = x;
  return BERTH_OK;
}

/* ---- edges between units ---- */

/* Pairs of units, directed; `u`, `v` grow together. */
typedef struct pairs {
  int32_t *u, *v;
  size_t n, cap_u, cap_v;
} pairs;

static berth_status add_pair(berth_i_pool *pool, pairs *p, int32_t u, int32_t v) {
  berth_status st;
  if ((st = berth_i_pool_grow(pool, (void **)&p->u, &p->cap_u, p->n + 1, sizeof *p->u)) != BERTH_OK)
    return st;
  if ((st = berth_i_pool_grow(pool, (void **)&p->v, &p->cap_v, p->n + 1, sizeof *p->v)) != BERTH_OK)
    return st;
  p->u[p->n] = u;
  p->v[p->n++] = v;
  return BERTH_OK;
}

/* Each pair once, none to itself. O(n + m) */
static berth_status distinct(berth_ctx *ctx, int32_t n, pairs *p) {
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  int32_t *at = NULL, *items = NULL, *mark = berth_i_pool_alloc(&scratch, (size_t)n, sizeof *mark);
  berth_status st = berth_i_csr(&scratch, n, (int32_t)p->n, p->u, p->v, &at, &items);
  if (st != BERTH_OK) goto done;
  for (int32_t u = 0; u < n; u++) mark[u] = BERTH_NONE;
  p->n = 0;
  for (int32_t u = 0; u < n; u++) {
    for (int32_t i = at[u]; i < at[u + 1]; i++) {
      if (items[i] == u || mark[items[i]] == u) continue;
      mark[items[i]] = u;
      p->u[p->n] = u;
      p->v[p->n++] = items[i];
    }
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

typedef struct maker {
  berth_i_pool pool; /* of the edges */
  const berth_cost *cost;
  const berth_graph *g;
  berth_ctx *ctx;
  int32_t n;       /* units so far */
  int32_t *unit;   /* [ops] */
  pairs edges;
} maker;

static bool backward(const berth_graph *g, int32_t op) {
  return g->flags && (g->flags[op] & BERTH_OP_BACKWARD);
}

/* Groups are units, and so are ops without one. Forward edges as they are; backward edges between
 * units of which one has no forward op, turned round. */
static berth_status join_groups(maker *k) {
  const berth_graph *g = k->g;
  berth_i_pool scratch = berth_i_pool_empty(k->ctx);
  int32_t *first = berth_i_pool_alloc(&scratch, (size_t)g->n_groups, sizeof *first);
  uint8_t *forward = berth_i_pool_zalloc(&scratch, (size_t)g->n_ops, sizeof *forward);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t v = 0; v < g->n_groups; v++) first[v] = BERTH_NONE;
  for (int32_t v = 0; v < g->n_ops; v++) {
    int32_t group = berth_i_group(g, v);
    if (group == BERTH_NONE) k->unit[v] = k->n++;
    else if (first[group] == BERTH_NONE) k->unit[v] = first[group] = k->n++;
    else k->unit[v] = first[group];
    if (!backward(g, v)) forward[k->unit[v]] = 1;
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1] && st == BERTH_OK; e++) {
      int32_t p = g->producer[t], c = g->use[e], u = k->unit[p], v = k->unit[c];
      if (u == v || backward(g, p) != backward(g, c)) continue;
      if (!backward(g, p)) st = add_pair(&k->pool, &k->edges, u, v);
      else if (!forward[u] || !forward[v]) st = add_pair(&k->pool, &k->edges, v, u);
    }
  }
  if (st == BERTH_OK) st = distinct(k->ctx, k->n, &k->edges);
done:
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status renumber(maker *k, const int32_t *to, int32_t n) {
  for (int32_t v = 0; v < k->g->n_ops; v++) k->unit[v] = to[k->unit[v]];
  for (size_t i = 0; i < k->edges.n; i++) {
    k->edges.u[i] = to[k->edges.u[i]];
    k->edges.v[i] = to[k->edges.v[i]];
  }
  k->n = n;
  return distinct(k->ctx, n, &k->edges);
}

/* Strong components, numbered in topological order. */
static berth_status fuse_circles(maker *k) {
  berth_i_pool scratch = berth_i_pool_empty(k->ctx);
  int32_t *at = NULL, *succ = NULL, *to = berth_i_pool_alloc(&scratch, (size_t)k->n, sizeof *to),
          n = 0;
  berth_status st =
      berth_i_csr(&scratch, k->n, (int32_t)k->edges.n, k->edges.u, k->edges.v, &at, &succ);
  if (st == BERTH_OK) st = berth_i_strong(k->ctx, k->n, at, succ, to, &n);
  for (int32_t v = 0; v < k->n && st == BERTH_OK; v++) to[v] = n - 1 - to[v];
  if (st == BERTH_OK) st = renumber(k, to, n);
  berth_i_pool_free(&scratch);
  return st;
}

/* A unit that takes no time and has a single neighbour joins it, over and over: `queue` has all
 * that may join, each at most twice; to[v]: v, or what it joined. Then numbers without gaps, in the
 * old order, which stays topological for leaves that go. */
static berth_status merge_idle(maker *k, const berth_i_sorts *s) {
  pairs both = { 0 };
  berth_i_pool scratch = berth_i_pool_empty(k->ctx);
  int32_t n = k->n, count = 0, queued = 0, *at = NULL, *near = NULL;
  int32_t *to = berth_i_pool_alloc(&scratch, (size_t)n, sizeof *to);
  int32_t *degree = berth_i_pool_alloc(&scratch, (size_t)n, sizeof *degree);
  int32_t *queue = berth_i_pool_alloc(&scratch, 2 * (size_t)n, sizeof *queue);
  int32_t *number = berth_i_pool_alloc(&scratch, (size_t)n, sizeof *number);
  uint8_t *timed = berth_i_pool_zalloc(&scratch, (size_t)n, sizeof *timed);
  berth_status st = berth_i_pool_status(&scratch);
  for (size_t i = 0; i < k->edges.n && st == BERTH_OK; i++) {
    st = add_pair(&scratch, &both, k->edges.u[i], k->edges.v[i]);
    if (st == BERTH_OK) st = add_pair(&scratch, &both, k->edges.v[i], k->edges.u[i]);
  }
  if (st == BERTH_OK) st = berth_i_csr(&scratch, n, (int32_t)both.n, both.u, both.v, &at, &near);
  if (st != BERTH_OK) goto done;
  for (int32_t v = 0; v < k->g->n_ops; v++) {
    if (s->n_acc && berth_i_op_time(k->cost, v, s->acc[0]) > 0) timed[k->unit[v]] = 1;
    if (s->n_cpu && berth_i_op_time(k->cost, v, s->cpu[0]) > 0) timed[k->unit[v]] = 1;
  }
  for (int32_t v = 0; v < n; v++) {
    to[v] = v;
    degree[v] = at[v + 1] - at[v];
    if (!timed[v] && degree[v] == 1) queue[queued++] = v;
  }
  for (int32_t head = 0; head < queued; head++) {
    int32_t v = queue[head], i = at[v];
    if (degree[v] != 1 || to[v] != v) continue;
    while (to[near[i]] != near[i]) i++; /* the one neighbour that is left */
    to[v] = near[i];
    if (--degree[near[i]] == 1 && !timed[near[i]]) queue[queued++] = near[i];
  }
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t v = 0; v < n; v++) {
      int32_t w = v;
      while (to[w] != w) w = to[w];
      if (pass == 0 && w == v) number[v] = count++;
      if (pass == 1) number[v] = number[w];
    }
  }
  st = renumber(k, number, count);
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- sums and nets ---- */

static berth_status sum_units(berth_i_split_model *m) {
  const berth_cost *c = m->cost;
  m->acc = berth_i_pool_zalloc(&m->pool, (size_t)m->n, sizeof *m->acc);
  m->cpu = berth_i_pool_zalloc(&m->pool, (size_t)m->n, sizeof *m->cpu);
  m->bytes = berth_i_pool_zalloc(&m->pool, (size_t)m->n, sizeof *m->bytes);
  berth_status st;
  if ((st = berth_i_pool_status(&m->pool)) != BERTH_OK) return st;
  for (int32_t v = 0; v < m->n_ops; v++) {
    int32_t u = m->unit[v];
    m->acc[u] += m->sorts.n_acc ? berth_i_op_time(c, v, m->sorts.acc[0]) : (double)INFINITY;
    m->cpu[u] += m->sorts.n_cpu ? berth_i_op_time(c, v, m->sorts.cpu[0]) : (double)INFINITY;
    m->bytes[u] += berth_i_param(c->g, v);
  }
  return BERTH_OK;
}

static berth_status make_nets(berth_i_split_model *m) {
  berth_i_pool scratch = berth_i_pool_empty(m->cost->ctx);
  const berth_graph *g = m->cost->g;
  size_t most = (size_t)g->n_edges + (size_t)g->n_tensors;
  int32_t *mark = berth_i_pool_alloc(&scratch, (size_t)m->n, sizeof *mark);
  int32_t *owner = berth_i_pool_alloc(&scratch, most, sizeof *owner);
  int32_t *pins = berth_i_pool_alloc(&scratch, most, sizeof *pins);
  berth_status st = berth_i_pool_status(&scratch);
  m->price = berth_i_pool_alloc(&m->pool, (size_t)g->n_tensors, sizeof *m->price);
  if (st == BERTH_OK) st = berth_i_pool_status(&m->pool);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < m->n; i++) mark[i] = BERTH_NONE;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    double price = berth_i_host_time(m->cost, t);
    int32_t n = 0, *units = pins + m->n_pins; /* of the net, each once */
    for (int32_t e = g->use_at[t] - 1; price > 0 && e < g->use_at[t + 1]; e++) {
      int32_t u = m->unit[e < g->use_at[t] ? g->producer[t] : g->use[e]];
      if (mark[u] != t) units[n++] = u;
      mark[u] = t;
    }
    if (n < 2) continue;
    for (int32_t i = 0; i < n; i++) owner[m->n_pins++] = m->n_nets;
    m->price[m->n_nets++] = price;
  }
  if ((st = berth_i_csr(&m->pool, m->n_nets, m->n_pins, owner, pins, &m->net_at, &m->net))
      != BERTH_OK)
    goto done;
  st = berth_i_csr(&m->pool, m->n, m->n_pins, pins, owner, &m->of_at, &m->of);
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- all together ---- */

berth_status berth_i_split_model_make(const berth_cost *cost, const char *cpu,
                                      berth_i_split_model *m) {
  berth_ctx *ctx = cost->ctx;
  maker k = { .pool = berth_i_pool_empty(ctx), .cost = cost, .g = cost->g, .ctx = ctx };
  *m = (berth_i_split_model){ .pool = berth_i_pool_empty(ctx),
                              .cost = cost,
                              .n_ops = cost->g->n_ops };
  berth_status st;
  if ((st = berth_i_sorts_make(cost, cpu, &m->pool, &m->sorts)) != BERTH_OK) goto done;
  m->unit = k.unit = berth_i_pool_alloc(&m->pool, (size_t)m->n_ops, sizeof *m->unit);
  if ((st = berth_i_pool_status(&m->pool)) != BERTH_OK) goto done;
  if ((st = join_groups(&k)) != BERTH_OK) goto done;
  if ((st = fuse_circles(&k)) != BERTH_OK) goto done;
  if ((st = merge_idle(&k, &m->sorts)) != BERTH_OK) goto done;
  if ((st = fuse_circles(&k)) != BERTH_OK) goto done;
  m->n = k.n;
  m->n_edges = (int32_t)k.edges.n;
  st = berth_i_csr(&m->pool, k.n, m->n_edges, k.edges.u, k.edges.v, &m->succ_at, &m->succ);
  if (st == BERTH_OK)
    st = berth_i_csr(&m->pool, k.n, m->n_edges, k.edges.v, k.edges.u, &m->pred_at, &m->pred);
  if (st == BERTH_OK) st = sum_units(m);
  if (st == BERTH_OK) st = make_nets(m);
done:
  berth_i_pool_free(&k.pool);
  if (st != BERTH_OK) berth_i_pool_free(&m->pool);
  return st;
}
