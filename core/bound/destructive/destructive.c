/* Destructive bounds of the whole graph: a makespan is disproved (search.c), the bound is the
 * largest one. Heads and tails come first, op by op, each the bound of the part of the graph before
 * (after) it: they are the windows that all rules work on. Parts are small first, and searched:
 * what delays a join is mostly near it, and a search of a few ops is cheap and complete.
 * Work is counted, so that the answer depends on nothing else. O(ops edges) and plan->work.
 * Source: Klein, Scholl, "Computing lower bounds by destructive improvement", 1999; the rules are
 * named in their files. */
#include "bound/heads_tails_internal.h"
#include "destructive_internal.h"

const berth_i_destruct_plan berth_i_destruct_cheap = {
  BERTH_I_DESTRUCT_ALL, 0, 20, 8000000, 2000, false, 2e-5, 32
};
const berth_i_destruct_plan berth_i_destruct_cheap_cut = {
  BERTH_I_DESTRUCT_ALL, 0, 0, 800000, 2000, false, 2e-5, 16
};
const berth_i_destruct_plan berth_i_destruct_windows = {
  BERTH_I_DESTRUCT_ALL, 20, 100, 60000000, 4000, false, 2e-5, 64
};
const berth_i_destruct_plan berth_i_destruct_thorough = {
  BERTH_I_DESTRUCT_ALL, 20, 100, 160000000, 4000, true, 2e-5, 0
};
const berth_i_destruct_plan berth_i_destruct_cut = {
  BERTH_I_DESTRUCT_ALL, 20, 100, 20000000, 4000, true, 2e-5, 0
};

/* ---- set up ---- */

static bool may_run(const berth_i_destruct *b, int32_t unit, int32_t device) {
  size_t kinds = b->kinds ? (size_t)b->kinds->n : 0;
  return berth_i_unit_can_run(b->u, unit, device)
      && (!b->kinds || !isinf(b->kinds->time[(size_t)unit * kinds + (size_t)b->kinds->of[device]]));
}

/* Scope, rules, and which places each op can use. The rules of one machine do not hold for places
 * that do more than one thing at once. */
static berth_status begin(berth_i_destruct *b, const berth_i_units *u,
                          const berth_i_destruct_scope *scope, const berth_i_destruct_plan *plan) {
  static const berth_i_destruct_scope devices = { .links = BERTH_LINKS_FREE };
  const berth_cost *c = u->cost;
  if (!scope) scope = &devices;
  b->ctx = c->ctx, b->u = u, b->op = c->g->topo, b->n = u->n_ops, b->devices = c->n_devices;
  b->part = scope->part;
  b->classes = b->part ? 1 : u->n_classes;
  b->places = b->part ? scope->parts : b->devices;
  b->masks = b->places <= 64;
  b->width = 1;
  for (int32_t i = 0; b->part && i < b->places; i++) {
    int32_t n = 0;
    for (int32_t d = 0; d < b->devices; d++) n += b->part[d] == i;
    if (n > b->width) b->width = n;
  }
  b->kinds = plan->rules & BERTH_I_DESTRUCT_MEMORY ? scope->kinds : NULL;
  b->price = c->g->wait ? scope->price : NULL;
  berth_status st = berth_i_ports_init(c, scope->links, b->part, b->places, &b->ports);
  b->unused = b->width > 1 ? BERTH_I_DESTRUCT_EDGE_FINDING : 0;
  if (!berth_i_ports_count(&b->ports)) b->unused |= BERTH_I_DESTRUCT_PORTS;
  b->rules = plan->rules & ~b->unused;
  b->can = berth_i_pool_zalloc(&b->pool, (size_t)b->n, sizeof *b->can);
  b->class_of = berth_i_pool_zalloc(&b->pool, (size_t)b->classes, sizeof *b->class_of);
  b->row = berth_i_pool_alloc(&b->pool, (size_t)b->n, sizeof *b->row);
  if (st == BERTH_OK) st = berth_i_pool_status(&b->pool);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < b->n; i++) b->row[b->op[i]] = i;
  for (int32_t d = 0; b->masks && d < b->devices; d++) {
    int32_t place = b->part ? b->part[d] : d;
    b->class_of[b->part ? 0 : c->class_of[d]] |= (uint64_t)1 << place;
    for (int32_t i = 0; i < b->n; i++) {
      if (may_run(b, u->of[b->op[i]], d)) b->can[i] |= (uint64_t)1 << place;
    }
  }
  return b->kinds ? berth_i_destruct_sizes(b) : BERTH_OK;
}

static berth_status alloc_scratch(berth_i_destruct *b, const berth_i_destruct_dag *g) {
  const berth_graph *whole = b->u->cost->g;
  size_t ops = (size_t)b->n, edges = (size_t)g->m, inputs = 0;
  for (int32_t i = 0; i < 2 * g->n; i++) {
    const int32_t *at = g->at[i / g->n] + i % g->n;
    if ((size_t)(at[1] - at[0]) > inputs) inputs = (size_t)(at[1] - at[0]);
  }
  b->path = berth_i_pool_alloc(&b->pool, ops * ops, sizeof *b->path);
  b->item = berth_i_pool_alloc(&b->pool, ops, sizeof *b->item);
  b->sorted = berth_i_pool_alloc(&b->pool, ops, sizeof *b->sorted);
  b->spare = berth_i_pool_alloc(&b->pool, ops, sizeof *b->spare);
  b->input = berth_i_pool_alloc(&b->pool, inputs, sizeof *b->input);
  b->real = berth_i_pool_alloc(&b->pool, 21 * ops, sizeof *b->real);
  b->scratch = berth_i_pool_alloc(&b->pool, ops, sizeof *b->scratch);
  b->list = berth_i_pool_alloc(&b->pool, ops, sizeof *b->list);
  b->mark = berth_i_pool_alloc(&b->pool, 4 * ops, sizeof *b->mark);
  b->frontier = berth_i_pool_alloc(&b->pool, edges, sizeof *b->frontier);
  b->stamp = berth_i_pool_zalloc(&b->pool, 2 * ops, sizeof *b->stamp);
  b->by_head = berth_i_pool_alloc(&b->pool, ops, sizeof *b->by_head);
  b->side = berth_i_pool_alloc(&b->pool, ops, sizeof *b->side);
  b->port = berth_i_pool_alloc(&b->pool, edges, sizeof *b->port);
  b->slot = berth_i_pool_zalloc(&b->pool, (size_t)whole->n_tensors, sizeof *b->slot);
  b->slot_epoch = berth_i_pool_zalloc(&b->pool, (size_t)whole->n_tensors, sizeof *b->slot_epoch);
  b->members_end =
      berth_i_pool_alloc(&b->pool, (size_t)whole->n_collectives, sizeof *b->members_end);
  return berth_i_pool_status(&b->pool);
}

double berth_i_destruct_path_steps(int32_t ops, int32_t edges) {
  return ((double)edges + ops) * ops / 8;
}

/* From each row, in topological order.  O(ops * edges) */
static void fill_paths(berth_i_destruct *b, const berth_i_destruct_dag *g) {
  for (int32_t x = 0; x < b->n; x++) {
    double *to = b->path + (size_t)x * (size_t)b->n;
    for (int32_t v = 0; v < b->n; v++) to[v] = -1;
    for (int32_t v = x + 1; v < b->n; v++) {
      for (int32_t i = g->at[0][v]; i < g->at[0][v + 1]; i++) {
        int32_t u = g->end[0][g->edge[0][i]];
        if (u == x) to[v] = berth_i_max(to[v], 0);
        else if (u > x && to[u] >= 0) to[v] = berth_i_max(to[v], to[u] + g->p[u]);
      }
    }
  }
}

/* ---- heads and tails ---- */

/* Loads of intervals prove little where devices are idle most of the time, unless they are parts,
 * between which transfers take long. */
static bool is_dense(const berth_i_destruct *b, const berth_i_destruct_dag *part, double h) {
  double sum = 0;
  for (int32_t i = 0; i < part->n; i++) sum += part->p[i];
  return b->part || 2 * sum > b->devices * h;
}

/* The head of v (dir 1: its tail): the longest path, then what its device must run before it, then
 * the destructive bound of the part of the graph before it. */
static berth_status raise_head(berth_i_destruct *b, berth_i_destruct_dag *g, int dir, int32_t v,
                               double step) {
  double h = berth_i_max(g->h[dir][v], berth_i_collectives_end(b->u->cost->g, b->price,
                                                               b->members_end, dir, b->op[v]));
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t u = g->end[dir][g->edge[dir][i]];
    h = berth_i_max(h, g->h[dir][u] + g->p[u]);
  }
  g->h[dir][v] = h;
  if ((b->rules & BERTH_I_DESTRUCT_DEEP) && b->deep_work < b->deep_most) {
    int64_t begun = b->work;
    g->h[dir][v] = berth_i_destruct_deep(b, g, dir, v, h);
    b->deep_work += b->work - begun;
  }
  if (g->at[dir][v + 1] - g->at[dir][v] < 2 || b->work >= b->most) return BERTH_OK;
  berth_i_destruct_dag part;
  berth_status st;
  if ((st = berth_i_destruct_dag_part(b, g, dir, v, &part)) != BERTH_OK) return st;
  if (!(b->rules & BERTH_I_DESTRUCT_LOADS) || is_dense(b, &part, g->h[dir][v]))
    g->h[dir][v] = berth_i_destruct_raise(b, &part, g->h[dir][v], step);
  berth_i_destruct_dag_release(b, &part);
  return b->st;
}

/* Lists v among the ops whose heads are known. */
static void list_by_head(berth_i_destruct *b, const double *h, int32_t v) {
  int32_t i = b->listed++;
  for (; i > 0 && h[b->by_head[i - 1]] > h[v]; i--) b->by_head[i] = b->by_head[i - 1];
  b->by_head[i] = v;
}

/* Heads in topological order, then tails in the opposite one. */
static berth_status both_heads(berth_i_destruct *b, berth_i_destruct_dag *g, double step) {
  berth_status st = BERTH_OK;
  for (int dir = 0; dir < 2; dir++) {
    for (int32_t i = 0; i < b->u->cost->g->n_collectives; i++) b->members_end[i] = 0;
    b->deep_most = b->deep_work + b->deep_share;
    b->listed = 0;
    for (int32_t i = 0; i < g->n && st == BERTH_OK; i++) {
      int32_t v = dir ? g->n - 1 - i : i;
      st = raise_head(b, g, dir, v, step);
      list_by_head(b, g->h[dir], v);
      berth_i_record_member(b->u->cost->g, b->members_end, dir, b->op[v],
                            g->h[dir][v] + g->p[v]);
    }
  }
  return st;
}

static double simple_bound(const berth_i_destruct *b, const berth_i_destruct_dag *g) {
  double low = 0, sum = 0;
  for (int32_t i = 0; i < g->n; i++) {
    low = berth_i_max(low, g->h[0][i] + g->p[i] + g->h[1][i]);
    sum += g->p[i];
  }
  return berth_i_max(low, sum / b->devices);
}

/* ---- stages ---- */

/* No more than a share of what is left of the work. */
static void allow(berth_i_destruct *b, const berth_i_destruct_plan *plan, double share) {
  int64_t left = plan->work > b->work ? plan->work - b->work : 0;
  b->most = b->work + (int64_t)(share * (double)left);
}

/* The whole, from the bound that is there. */
static void raise_whole(berth_i_destruct *b, const berth_i_destruct_dag *g, unsigned rules,
                        int32_t nodes, double step, double *low) {
  b->rules = rules & ~b->unused;
  b->nodes = nodes;
  b->window = b->n;
  *low = berth_i_destruct_raise(b, g, berth_i_max(*low, simple_bound(b, g)), step);
}

typedef struct pass {
  int32_t window, nodes;
} pass;

/* Heads and tails from parts of so many ops: what a small part proves with a search, every larger
 * one starts from. */
static berth_status raise_parts(berth_i_destruct *b, berth_i_destruct_dag *g,
                                const berth_i_destruct_plan *plan, pass p, double step) {
  int32_t widest = plan->window > 0 && plan->window < b->n ? plan->window : b->n;
  int32_t nodes = p.nodes < plan->part_nodes ? p.nodes : plan->part_nodes;
  int32_t window = p.window < widest ? p.window : widest;
  if (b->window == window && b->nodes == nodes) return BERTH_OK; /* as before */
  b->rules = plan->rules & ~(unsigned)BERTH_I_DESTRUCT_LOADS & ~b->unused;
  b->window = window;
  b->nodes = nodes;
  allow(b, plan, 0.3);
  return both_heads(b, g, step);
}

/* Parts and the whole with loads, without a search; parts of rising size; the whole without and
 * with loads; parts with loads, and the whole again. */
static berth_status raise_all(berth_i_destruct *b, berth_i_destruct_dag *g,
                              const berth_i_destruct_plan *plan, berth_i_destruct_result *out) {
  static const pass passes[] = { { 32, 0 },   { 8, 20 },   { 16, 50 },
                                 { 32, 100 }, { 64, 100 }, { INT32_MAX, 0 } };
  enum { PASSES = sizeof passes / sizeof *passes, FIRST = 1 };
  double step = plan->step * simple_bound(b, g), low = 0, loads = 0;
  bool with_loads = plan->rules & BERTH_I_DESTRUCT_LOADS,
       recurse = plan->rules & BERTH_I_DESTRUCT_RECURSE;
  unsigned without = plan->rules & ~(unsigned)BERTH_I_DESTRUCT_LOADS;
  berth_status st = BERTH_OK;
  for (int i = 0; i < FIRST && recurse && st == BERTH_OK; i++)
    st = raise_parts(b, g, plan, passes[i], step);
  allow(b, plan, 0.4);
  if (with_loads && st == BERTH_OK) raise_whole(b, g, plan->rules, 0, step, &loads);
  for (int i = FIRST; i < PASSES && recurse && st == BERTH_OK; i++)
    st = raise_parts(b, g, plan, passes[i], step);
  if (st != BERTH_OK) return st;
  allow(b, plan, 0.5);
  raise_whole(b, g, without, plan->nodes, step, &low);
  out->clusters = low;
  if (!with_loads) return b->st;
  low = berth_i_max(low, loads);
  allow(b, plan, plan->part_loads ? 0.5 : 1);
  raise_whole(b, g, plan->rules, plan->nodes, step, &low);
  if (plan->part_loads && recurse && b->st == BERTH_OK) { /* the window is the whole now */
    b->nodes = plan->part_nodes < 5 ? plan->part_nodes : 5;
    allow(b, plan, 0.7);
    if ((st = both_heads(b, g, step)) != BERTH_OK) return st;
    allow(b, plan, 1);
    raise_whole(b, g, plan->rules, plan->nodes, step, &low);
  }
  out->intervals = low;
  return b->st;
}

berth_status berth_i_destructive_bound(const berth_i_units *u, const berth_i_destruct_scope *scope,
                                       const berth_i_destruct_plan *plan,
                                       berth_i_destruct_result *out) {
  berth_i_destruct b = { .pool = berth_i_pool_empty(u->cost->ctx) };
  berth_i_destruct_dag g = { 0 };
  out->clusters = out->intervals = NAN;
  if (u->n_ops > plan->ops) return BERTH_OK;
  berth_status st;
  if ((st = begin(&b, u, scope, plan)) != BERTH_OK) goto done;
  if ((st = berth_i_destruct_dag_whole(&b, &g)) != BERTH_OK) goto done;
  if ((st = alloc_scratch(&b, &g)) != BERTH_OK) goto done;
  if ((st = berth_i_destruct_rates(&b)) != BERTH_OK) goto done;
  fill_paths(&b, &g);
  b.work = (int64_t)berth_i_destruct_path_steps(g.n, g.m);
  b.deep_share = plan->work / 8;
  b.port_most = plan->work / 2;
  /* b.most is 0 here: nothing but paths */
  if ((st = both_heads(&b, &g, 0)) == BERTH_OK) st = raise_all(&b, &g, plan, out);
done:
  out->work = b.work;
  berth_i_destruct_dag_release(&b, &g);
  berth_i_pool_free(&b.pool);
  return st;
}
