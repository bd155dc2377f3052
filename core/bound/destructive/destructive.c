/* Heads and tails op by op, each the bound of what comes before (after) it; then the bound of the
 * whole. */
#include "destructive_internal.h"

const berth_i_destruct_plan berth_i_destruct_cheap = {
    BERTH_I_DESTRUCT_ALL, 0, 0, 1600000, 1000, false, 2e-5};
const berth_i_destruct_plan berth_i_destruct_cheap_cut = {
  BERTH_I_DESTRUCT_ALL, 0, 0, 400000, 1000, false, 2e-5
};
const berth_i_destruct_plan berth_i_destruct_cut = {
    BERTH_I_DESTRUCT_ALL, 20, 0, 60000000, 2000, true, 2e-5};
const berth_i_destruct_plan berth_i_destruct_thorough = {
  BERTH_I_DESTRUCT_ALL, 20, 0, 500000000, 2000, true, 2e-5
};

static int32_t most_edges(const berth_i_destruct_dag *g) {
  int32_t most = 0;
  for (int32_t dir = 0; dir < 2; dir++) {
    for (int32_t i = 0; i < g->n; i++) {
      int32_t n = g->at[dir][i + 1] - g->at[dir][i];
      if (n > most) most = n;
    }
  }
  return most;
}

typedef struct room {
  size_t ops, inputs, edges, classes, tensors, collectives;
} room;

static berth_status alloc_scratch(berth_i_destruct *b, const room *k) {
  b->path = berth_i_pool_alloc(&b->pool, k->ops * k->ops, sizeof *b->path);
  b->item = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->item);
  b->sorted = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->sorted);
  b->input = berth_i_pool_alloc(&b->pool, k->inputs, sizeof *b->input);
  b->real = berth_i_pool_alloc(&b->pool, 18 * k->ops, sizeof *b->real);
  b->scratch = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->scratch);
  b->list = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->list);
  b->mark = berth_i_pool_alloc(&b->pool, 3 * k->ops, sizeof *b->mark);
  b->frontier = berth_i_pool_alloc(&b->pool, k->edges, sizeof *b->frontier);
  b->stamp = berth_i_pool_zalloc(&b->pool, 2 * k->ops, sizeof *b->stamp);
  b->side = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->side);
  b->port = berth_i_pool_alloc(&b->pool, k->edges, sizeof *b->port);
  b->slot = berth_i_pool_zalloc(&b->pool, k->tensors, sizeof *b->slot);
  b->slot_epoch = berth_i_pool_zalloc(&b->pool, k->tensors, sizeof *b->slot_epoch);
  b->members_end = berth_i_pool_alloc(&b->pool, k->collectives, sizeof *b->members_end);
  return berth_i_pool_status(&b->pool);
}

static bool may_run(const berth_i_destruct *b, int32_t unit, int32_t device) {
  size_t kinds = b->kinds ? (size_t)b->kinds->n : 0;
  return berth_i_unit_can_run(b->u, unit, device)
      && (!b->kinds || !isinf(b->kinds->time[(size_t)unit * kinds + (size_t)b->kinds->of[device]]));
}

static berth_status fill_devices(berth_i_destruct *b, const room *k) {
  const berth_cost *c = b->u->cost;
  b->can = berth_i_pool_zalloc(&b->pool, k->ops, sizeof *b->can);
  b->class_of = berth_i_pool_zalloc(&b->pool, k->classes, sizeof *b->class_of);
  b->row = berth_i_pool_alloc(&b->pool, k->ops, sizeof *b->row);
  berth_status st;
  if ((st = berth_i_pool_status(&b->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < b->n; i++) b->row[b->op[i]] = i;
  for (int32_t d = 0; b->masks && d < c->n_devices; d++) {
    int32_t place = b->part ? b->part[d] : d;
    b->class_of[b->part ? 0 : c->class_of[d]] |= (uint64_t)1 << place;
    for (int32_t i = 0; i < b->n; i++) {
      if (may_run(b, b->u->of[b->op[i]], d)) b->can[i] |= (uint64_t)1 << place;
    }
  }
  return b->kinds ? berth_i_destruct_sizes(b) : BERTH_OK;
}

/* From each row, in topological order.  O(ops * edges) */
static void fill_paths(berth_i_destruct *b, const berth_i_destruct_dag *g) {
  for (int32_t x = 0; x < b->n; x++) {
    double *to = b->path + (size_t)x * (size_t)b->n;
    for (int32_t v = 0; v < b->n; v++) to[v] = -1;
    for (int32_t v = x + 1; v < b->n; v++) {
      for (int32_t i = g->at[0][v]; i < g->at[0][v + 1]; i++) {
        int32_t u = g->end[0][g->edge[0][i]];
        if (u == x) to[v] = fmax(to[v], 0);
        else if (u > x && to[u] >= 0) to[v] = fmax(to[v], to[u] + g->p[u]);
      }
    }
  }
}

/* ---- heads and tails ---- */

/* Collectives that the op waits for; backwards: that wait for it. */
static double after_collectives(const berth_i_destruct *b, int dir, int32_t v) {
  const berth_graph *g = b->u->cost->g;
  const int32_t *at = dir ? g->wait_at : g->after_at, *list = dir ? g->wait : g->after;
  double h = 0;
  for (int32_t i = at[b->op[v]]; i < at[b->op[v] + 1]; i++)
    h = fmax(h, b->members_end[list[i]] + b->price[list[i]]);
  return h;
}

static void record_member_end(berth_i_destruct *b, int dir, int32_t v, double done) {
  const berth_graph *g = b->u->cost->g;
  const int32_t *at = dir ? g->after_at : g->wait_at, *list = dir ? g->after : g->wait;
  for (int32_t i = at[b->op[v]]; i < at[b->op[v] + 1]; i++)
    b->members_end[list[i]] = fmax(b->members_end[list[i]], done);
}

static double simple_head(const berth_i_destruct *b,
                          const berth_i_destruct_dag *g, int dir, int32_t v) {
  double h = b->price ? fmax(g->h[dir][v], after_collectives(b, dir, v)) : g->h[dir][v];
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t u = g->end[dir][g->edge[dir][i]];
    h = fmax(h, g->h[dir][u] + g->p[u]);
  }
  return h;
}

static berth_status head_of(berth_i_destruct *b, berth_i_destruct_dag *g,
                            int dir, int32_t v, double step) {
  g->h[dir][v] = simple_head(b, g, dir, v);
  if ((b->rules & BERTH_I_DESTRUCT_DEEP) && b->deep_work < b->deep_most) {
    int64_t begun = b->work;
    g->h[dir][v] = berth_i_destruct_deep(b, g, dir, v, g->h[dir][v]);
    b->deep_work += b->work - begun;
  }
  if (g->at[dir][v + 1] - g->at[dir][v] < 2 || b->work >= b->most) return BERTH_OK;
  berth_i_destruct_dag part;
  berth_status st;
  if ((st = berth_i_destruct_dag_part(b, g, dir, v, &part)) != BERTH_OK) return st;
  g->h[dir][v] = berth_i_destruct_raise(b, &part, g->h[dir][v], step);
  berth_i_destruct_dag_release(b, &part);
  return b->st;
}

static berth_status all_heads(berth_i_destruct *b, berth_i_destruct_dag *g, int dir, double step) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < b->u->cost->g->n_collectives; i++) b->members_end[i] = 0;
  b->deep_most = b->deep_work + b->deep_share;
  for (int32_t i = 0; i < g->n && st == BERTH_OK; i++) {
    int32_t v = dir ? g->n - 1 - i : i;
    st = head_of(b, g, dir, v, step);
    if (b->price) record_member_end(b, dir, v, g->h[dir][v] + g->p[v]);
  }
  return st;
}

static double simple_bound(const berth_i_destruct *b, const berth_i_destruct_dag *g) {
  double low = 0, sum = 0;
  for (int32_t i = 0; i < g->n; i++) {
    low = fmax(low, g->h[0][i] + g->p[i] + g->h[1][i]);
    sum += g->p[i];
  }
  return fmax(low, sum / b->devices);
}

static berth_status both_heads(berth_i_destruct *b, berth_i_destruct_dag *g, double step) {
  berth_status st = all_heads(b, g, 0, step);
  return st == BERTH_OK ? all_heads(b, g, 1, step) : st;
}

/* Heads and tails, which may take two thirds of the work, then the whole from the bound that is
 * there. */
static berth_status stage(berth_i_destruct *b, berth_i_destruct_dag *g,
                          const berth_i_destruct_plan *plan, unsigned rules,
                          bool parts, double *low) {
  double step = plan->step * fmax(*low, simple_bound(b, g));
  berth_status st = BERTH_OK;
  int64_t begun = b->work;
  b->rules = rules & ~b->unused;
  b->port_most = b->port_work + plan->work / 4;
  b->nodes = plan->part_nodes;
  b->most = begun + plan->work / 3 * 2;
  if (parts) st = both_heads(b, g, step);
  if (st != BERTH_OK) return st;
  b->nodes = plan->nodes;
  b->most = begun + plan->work;
  *low = berth_i_destruct_raise(b, g, fmax(*low, simple_bound(b, g)), step);
  return b->st;
}

static berth_status both_stages(berth_i_destruct *b, berth_i_destruct_dag *g,
                                const berth_i_destruct_plan *plan,
                                berth_i_destruct_result *out) {
  unsigned no_loads = plan->rules & ~(unsigned)BERTH_I_DESTRUCT_LOADS;
  bool recurse = plan->rules & BERTH_I_DESTRUCT_RECURSE;
  double low = 0;
  b->most = 0; /* nothing but paths */
  b->deep_share = plan->work / 4;
  berth_status st;
  if ((st = both_heads(b, g, 0)) != BERTH_OK) return st;
  if ((st = stage(b, g, plan, no_loads, recurse, &low)) != BERTH_OK) return st;
  out->clusters = low;
  if (!(plan->rules & BERTH_I_DESTRUCT_LOADS)) return BERTH_OK;
  if ((st = stage(b, g, plan, plan->rules, recurse && plan->part_loads, &low)) != BERTH_OK)
    return st;
  out->intervals = low;
  return BERTH_OK;
}

/* Devices of a part at most. */
static int32_t width_of(const berth_i_destruct_scope *scope, int32_t devices) {
  int32_t most = 1;
  for (int32_t i = 0; i < scope->parts; i++) {
    int32_t n = 0;
    for (int32_t d = 0; d < devices; d++) n += scope->part[d] == i;
    if (n > most) most = n;
  }
  return most;
}

/* The rules of one machine do not hold for places that do more than one thing at once. */
static berth_status begin(berth_i_destruct *b, const berth_i_units *u,
                          const berth_i_destruct_scope *scope,
                          const berth_i_destruct_plan *plan, room *k) {
  bool parts = scope && scope->part;
  b->ctx = u->cost->ctx, b->u = u, b->op = u->cost->g->topo;
  b->n = u->n_ops, b->devices = u->cost->n_devices, b->classes = parts ? 1 : u->n_classes;
  b->part = parts ? scope->part : NULL;
  b->places = parts ? scope->parts : b->devices;
  b->width = parts ? width_of(scope, b->devices) : 1;
  b->masks = b->places <= 64;
  b->unused = b->width > 1 ? BERTH_I_DESTRUCT_EDGE_FINDING : 0;
  b->kinds = scope && plan->rules & BERTH_I_DESTRUCT_MEMORY ? scope->kinds : NULL;
  b->price = scope && u->cost->g->wait ? scope->price : NULL;
  berth_status st = berth_i_ports_init(u->cost, scope ? scope->links : BERTH_LINKS_FREE, b->part,
                                       b->places, &b->ports);
  if (!berth_i_ports_count(&b->ports)) b->unused |= BERTH_I_DESTRUCT_PORTS;
  b->rules = plan->rules & ~b->unused;
  k->ops = (size_t)b->n;
  k->classes = (size_t)b->classes;
  k->tensors = (size_t)u->cost->g->n_tensors;
  k->collectives = (size_t)u->cost->g->n_collectives;
  return st;
}

berth_status berth_i_destructive_bound(const berth_i_units *u, const berth_i_destruct_scope *scope,
                                const berth_i_destruct_plan *plan, berth_i_destruct_result *out) {
  berth_i_destruct b = { .pool = berth_i_pool_empty(u->cost->ctx) };
  berth_i_destruct_dag g = { 0 };
  room k = { 0 };
  out->clusters = out->intervals = NAN;
  if (u->n_ops > plan->ops) return BERTH_OK;
  berth_status st;
  if ((st = begin(&b, u, scope, plan, &k)) != BERTH_OK) goto done;
  if ((st = fill_devices(&b, &k)) != BERTH_OK) goto done;
  if ((st = berth_i_destruct_dag_whole(&b, &g)) != BERTH_OK) goto done;
  k.inputs = (size_t)most_edges(&g);
  k.edges = (size_t)g.m;
  if ((st = alloc_scratch(&b, &k)) != BERTH_OK) goto done;
  if ((st = berth_i_destruct_rates(&b)) != BERTH_OK) goto done;
  fill_paths(&b, &g);
  st = both_stages(&b, &g, plan, out);
  out->work = b.work;
done:
  berth_i_destruct_dag_release(&b, &g);
  berth_i_pool_free(&b.pool);
  return st;
}
