/* Branch and bound over partial schedules: each op is appended to its device and starts no earlier
 * than the one that was placed before it. In the order of their starts every schedule arises in
 * this way; in other orders it is later than necessary, which is harmless, as a complete one is
 * moved forward in time again.
 *
 * Dominance: a partial schedule that is nowhere later than another of the same ops can be completed
 * as that one, nowhere later; so the first one seen hides the other (is_hidden). Bound: longest
 * path behind what is placed, and the work that is left, spread evenly. Children are visited by
 * bound.
 * O(ops x devices x (edges + ops)) a node; at most `nodes` nodes, POOL numbers of history.
 *
 * By our own rules. */
#include "base/sort_internal.h"
#include "sim/sim_internal.h"
#include "exact_internal.h"
#include "bound/heads_tails_internal.h"

enum { SLOTS = 1 << 17, POOL = 1 << 21 };

typedef struct seen { /* a partial schedule, by the set of its ops */
  uint64_t done;
  int32_t at, next; /* into pool; of the same slot, -1: none */
} seen;

typedef struct child {
  double bound, tail;
  int32_t op, device;
} child;

typedef struct branch {
  berth_i_pool arrays;
  berth_cost *cost;
  const berth_graph *g;
  const berth_place_options *o;
  berth_i_best *best;
  berth_i_units u;
  berth_i_any_order sums;
  int32_t n, devices, depth;
  int64_t left;
  bool whole, counts;
  uint64_t done;
  double now;                      /* start of the last op placed: none starts earlier from now
                                      on */
  uint64_t *before, *after;        /* [n] neighbours */
  double *least, *head, *tail;     /* [n] */
  double *start, *finish, *early;  /* [n]; earliest finish of what is not placed */
  int32_t *device, *order;         /* [n] */
  double *begin;                   /* [n] starts of a whole schedule */
  double *free_at, *held, *end;    /* [devices] permanent bytes; scratch */
  int32_t *used, *same;            /* [devices] ops on it; lowest device that is like it */
  int32_t *lowest, *place, *name;  /* [devices] scratch of rename_devices */
  int32_t *bound_to, *members;     /* [groups] device, ops placed */
  child *children;                 /* [(n + 1) * n * devices] by depth */
  double *row;                     /* [2 * devices + 3 * n + groups + 1] scratch */
  int32_t *slot;                   /* [SLOTS] into seen, -1 */
  seen *seen;
  size_t n_seen, cap_seen;
  double *pool;
  size_t n_pool, cap_pool;
} branch;

static bool placed(const branch *b, int32_t op) { return b->done >> op & 1; }

/* ---- exchangeable devices ---- */

static bool alike_to(const branch *b, int32_t tensor, int32_t d, int32_t e) {
  const berth_cost *c = b->cost;
  if (berth_i_transfer_time(c, tensor, d, e) != berth_i_transfer_time(c, tensor, e, d))
    return false;
  for (int32_t x = 0; x < b->devices; x++) {
    if (x == d || x == e) continue;
    if (berth_i_transfer_time(c, tensor, d, x) != berth_i_transfer_time(c, tensor, e, x))
      return false;
    if (berth_i_transfer_time(c, tensor, x, d) != berth_i_transfer_time(c, tensor, x, e))
      return false;
  }
  return true;
}

static bool exchangeable(const branch *b, int32_t d, int32_t e) {
  if (b->cost->class_of[d] != b->cost->class_of[e]) return false;
  if (b->cost->t->devices[d].memory != b->cost->t->devices[e].memory) return false;
  for (int32_t i = 0; i < b->n; i++) {
    int32_t pin = berth_i_pin(b->g, i);
    if (pin == d || pin == e) return false;
  }
  for (int32_t t = 0; t < b->g->n_tensors; t++) {
    if (!alike_to(b, t, d, e)) return false;
  }
  return true;
}

/* Of equal devices without ops only the lowest is used: the others are symmetric. */
static bool first_of_idle(const branch *b, int32_t d) {
  if (b->used[d] > 0) return true;
  for (int32_t e = 0; e < d; e++) {
    if (b->used[e] == 0 && b->same[e] == b->same[d]) return false;
  }
  return true;
}

/* ---- placing an op, and undoing it ---- */

static bool may(const branch *b, int32_t op, int32_t d) {
  int32_t group = berth_i_group(b->g, op);
  if (!berth_i_can_run(b->cost, op, d)) return false;
  if (group != BERTH_NONE && b->bound_to[group] != BERTH_NONE && b->bound_to[group] != d)
    return false;
  if (!berth_i_unit_can_run(&b->u, b->u.of[op], d)) return false;
  if (!b->counts) return true;
  return !(
      berth_i_excess(
          b->held[d] + berth_i_op_demand(b->g, op, b->o->memory, b->o->param_multiple).permanent,
          b->cost->t->devices[d].memory)
      > 0);
}

/* Earliest start of an op on d; for producers that are not placed, a lower bound. */
static double earliest(const branch *b, int32_t op, int32_t d) {
  double ready = fmax(b->free_at[d], b->now);
  for (int32_t k = b->g->in_at[op]; k < b->g->in_at[op + 1]; k++) {
    int32_t t = b->g->in[k], u = b->g->producer[t];
    ready =
        fmax(ready, placed(b, u) ? b->finish[u] + berth_i_transfer_time(b->cost, t, b->device[u], d)
                                 : b->early[u]);
  }
  return ready;
}

static void put(branch *b, int32_t op, int32_t d) {
  int32_t group = berth_i_group(b->g, op);
  b->start[op] = earliest(b, op, d);
  b->finish[op] = b->start[op] + berth_i_op_time(b->cost, op, d);
  b->device[op] = d;
  b->order[b->depth++] = op;
  b->done |= (uint64_t)1 << op;
  b->free_at[d] = b->finish[op];
  b->now = b->start[op];
  b->used[d]++;
  if (group != BERTH_NONE && b->members[group]++ == 0) b->bound_to[group] = d;
  if (b->counts)
    b->held[d] += berth_i_op_demand(b->g, op, b->o->memory, b->o->param_multiple).permanent;
}

/* @param free_at, held of its device before */
static void take_back(branch *b, double free_at, double held) {
  int32_t op = b->order[--b->depth], d = b->device[op], group = berth_i_group(b->g, op);
  b->now = b->depth > 0 ? b->start[b->order[b->depth - 1]] : 0;
  b->done &= ~((uint64_t)1 << op);
  b->free_at[d] = free_at;
  b->held[d] = held;
  b->used[d]--;
  if (group != BERTH_NONE && --b->members[group] == 0) b->bound_to[group] = BERTH_NONE;
}

/* ---- bound ---- */

static double least_end(const branch *b, int32_t op) {
  double least = INFINITY;
  for (int32_t d = 0; d < b->devices; d++) {
    if (may(b, op, d)) least = fmin(least, earliest(b, op, d) + berth_i_op_time(b->cost, op, d));
  }
  return fmax(least, b->head[op] + b->least[op]);
}

/* Longest path behind the placed ops, and the remaining work, spread evenly. */
static double bound_of(branch *b) {
  double most = 0, load = 0;
  for (int32_t d = 0; d < b->devices; d++) {
    most = fmax(most, b->free_at[d]);
    load += fmax(b->free_at[d], b->now);
  }
  for (int32_t i = 0; i < b->n; i++) {
    int32_t op = b->g->topo[i];
    if (placed(b, op)) {
      most = fmax(most, b->finish[op] + b->tail[op]);
      continue;
    }
    b->early[op] = least_end(b, op);
    most = fmax(most, b->early[op] + b->tail[op]);
    load += b->least[op];
  }
  most = fmax(most, load / b->devices);
  return b->whole ? ceil(most - 1e-9 * fmax(1, most)) : most;
}

/* ---- dominance ---- */

static bool live(const branch *b, int32_t op) { return placed(b, op) && (b->after[op] & ~b->done); }

/* Exchangeable devices by the lowest op with consumers to come that they hold, then by when they
 * are free: partial schedules that differ by their names become equal. place[i] is the i-th of that
 * order, name[d] the rank of d. */
static void rename_devices(const branch *b) {
  int32_t *lowest = b->lowest;
  for (int32_t i = 0; i < b->devices; i++) lowest[i] = b->n;
  for (int32_t i = b->n - 1; i >= 0; i--)
    if (live(b, i)) lowest[b->device[i]] = i;
  for (int32_t i = 0; i < b->devices; i++) {
    int32_t j;
    for (j = i; j > 0; j--) {
      int32_t x = b->place[j - 1];
      if (b->same[x] < b->same[i]) break;
      if (b->same[x] == b->same[i]
          && (lowest[x] < lowest[i] || (lowest[x] == lowest[i] && b->free_at[x] <= b->free_at[i])))
        break;
      b->place[j] = x;
    }
    b->place[j] = i;
  }
  for (int32_t i = 0; i < b->devices; i++) b->name[b->place[i]] = i;
}

/* What decides how a partial schedule can be completed: when devices are free, ops with consumers
 * to come, groups half placed.
 * @return length of `row`; the first `exact` of them must be equal, the others no later */
static int32_t describe(const branch *b, int32_t *exact) {
  int32_t k = 0;
  rename_devices(b);
  for (int32_t i = 0; i < b->n; i++) {
    if (live(b, i)) b->row[k++] = b->name[b->device[i]];
  }
  for (int32_t i = 0; i < b->g->n_groups; i++)
    b->row[k++] = b->bound_to[i] == BERTH_NONE ? BERTH_NONE : b->name[b->bound_to[i]];
  *exact = k;
  b->row[k++] = b->now;
  for (int32_t d = 0; d < b->devices; d++) b->row[k++] = fmax(b->free_at[b->place[d]], b->now);
  for (int32_t d = 0; d < b->devices && b->counts; d++) b->row[k++] = b->held[b->place[d]];
  for (int32_t i = 0; i < b->n; i++) {
    if (live(b, i)) b->row[k++] = b->finish[i];
  }
  return k;
}

static bool covers(const double *old, const double *row, int32_t exact, int32_t k) {
  int32_t i;
  for (i = 0; i < exact; i++) {
    if (old[i] != row[i]) return false;
  }
  for (; i < k; i++) {
    if (old[i] > row[i]) return false;
  }
  return true;
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* @param hidden out: another partial schedule of the same ops is nowhere worse. Else this one is
 *        kept, as long as the pool is not full */
static berth_status is_hidden(branch *b, bool *hidden) {
  int32_t exact, k = describe(b, &exact);
  uint64_t h = mixed(b->done);
  for (int32_t i = 0; i < exact; i++) h = mixed(h ^ (uint64_t)(int64_t)b->row[i]);
  h &= SLOTS - 1;
  *hidden = false;
  for (int32_t i = b->slot[h]; i >= 0; i = b->seen[i].next) {
    if (b->seen[i].done == b->done && covers(b->pool + b->seen[i].at, b->row, exact, k))
      *hidden = true;
    if (*hidden) return BERTH_OK;
  }
  if (b->n_pool + (size_t)k > POOL) return BERTH_OK;
  berth_status st = berth_i_pool_grow(&b->arrays, (void **)&b->seen, &b->cap_seen, b->n_seen + 1,
                                      sizeof *b->seen);
  if (st != BERTH_OK) return st;
  st = berth_i_pool_grow(&b->arrays, (void **)&b->pool, &b->cap_pool, b->n_pool + (size_t)k,
                         sizeof *b->pool);
  if (st != BERTH_OK) return st;
  if (k > 0) memcpy(b->pool + b->n_pool, b->row, (size_t)k * sizeof *b->row);
  b->seen[b->n_seen] = (seen){ b->done, (int32_t)b->n_pool, b->slot[h] };
  b->slot[h] = (int32_t)b->n_seen++;
  b->n_pool += (size_t)k;
  return BERTH_OK;
}

/* ---- complete schedules ---- */

/* By start. Stable: ops that start together keep the order in which they were placed, which no
 * device contradicts; but what takes no time comes first. n is at most 64. */
static void sort_order(const branch *b, int32_t *sequence) {
  for (int32_t i = 0; i < b->n; i++) {
    int32_t op = b->order[i], j;
    bool long_op = berth_i_op_time(b->cost, op, b->device[op]) > 0;
    for (j = i; j > 0; j--) {
      int32_t x = sequence[j - 1];
      if (b->begin[x] < b->begin[op]) break;
      if (b->begin[x] == b->begin[op]
          && (long_op || !(berth_i_op_time(b->cost, x, b->device[x]) > 0)))
        break;
      sequence[j] = x;
    }
    sequence[j] = op;
  }
}

/* Under TOTAL memory holds in any order. */
static berth_status memory_holds(branch *b, const int32_t *sequence, bool *holds) {
  berth_sim_options o = berth_i_fifo_options(b->cost, b->o);
  berth_result *r = NULL;
  *holds = true;
  if (!b->counts) return BERTH_OK;
  if (b->o->memory == BERTH_MEMORY_TOTAL) {
    *holds =
        berth_i_any_order_over(b->cost, b->o->param_multiple, b->device, &b->sums) == BERTH_NONE;
    return BERTH_OK;
  }
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.links = BERTH_LINKS_FREE;
  o.sequence = sequence;
  berth_status st;
  if ((st = berth_simulate(b->cost, b->device, &o, &r)) != BERTH_OK) return st;
  berth_oom oom;
  *holds = !berth_result_oom(r, &oom);
  berth_result_release(r);
  return BERTH_OK;
}

/* As early as the devices, each in its order, and the producers allow.  @return makespan */
static double move_forward(branch *b) {
  double most = 0;
  for (int32_t i = 0; i < b->devices; i++) b->end[i] = 0;
  for (int32_t i = 0; i < b->n; i++) {
    int32_t op = b->order[i], d = b->device[op];
    double ready = b->end[d];
    for (int32_t k = b->g->in_at[op]; k < b->g->in_at[op + 1]; k++) {
      int32_t t = b->g->in[k], u = b->g->producer[t];
      ready = fmax(ready, b->begin[u] + berth_i_op_time(b->cost, u, b->device[u])
                              + berth_i_transfer_time(b->cost, t, b->device[u], d));
    }
    b->begin[op] = ready;
    b->end[d] = ready + berth_i_op_time(b->cost, op, d);
    most = fmax(most, b->end[d]);
  }
  return most;
}

static berth_status complete(branch *b) {
  berth_i_best *x = b->best;
  int32_t sequence[BERTH_I_EXACT_OPS];
  size_t n = (size_t)b->n;
  double makespan = move_forward(b);
  sort_order(b, sequence);
  bool holds;
  berth_status st;
  if ((st = memory_holds(b, sequence, &holds)) != BERTH_OK) return st;
  if (!holds) {
    x->refused = fmin(x->refused, makespan);
    return BERTH_OK;
  }
  memcpy(x->sequence, sequence, n * sizeof *sequence);
  memcpy(x->device, b->device, n * sizeof *b->device);
  memcpy(x->start, b->begin, n * sizeof *b->begin);
  for (int32_t i = 0; i < b->n; i++)
    x->finish[i] = b->begin[i] + berth_i_op_time(b->cost, i, b->device[i]);
  x->makespan = makespan;
  return BERTH_OK;
}

/* ---- the search ---- */

BERTH_I_SORT(sort_by_promise, child,
             BERTH_I_UP(bound) BERTH_I_DOWN(tail) BERTH_I_UP(op) BERTH_I_UP(device))

static bool worth(const branch *b, double bound) {
  return !berth_i_reaches(bound, b->best->makespan);
}

/* early[] is that of the last bound; an op is placed only when all its producers are. */
static int32_t list_children(branch *b, child *list) {
  int32_t k = 0;
  for (int32_t op = 0; op < b->n; op++) {
    if (placed(b, op) || (b->before[op] & ~b->done)) continue;
    for (int32_t d = 0; d < b->devices; d++) {
      if (!may(b, op, d) || !first_of_idle(b, d)) continue;
      double free_at = b->free_at[d], held = b->held[d];
      put(b, op, d);
      list[k] = (child){ isinf(b->finish[op]) ? INFINITY : bound_of(b), b->tail[op], op, d };
      if (worth(b, list[k].bound)) k++;
      take_back(b, free_at, held);
      b->left--;
    }
  }
  sort_by_promise(list, (size_t)k);
  return k;
}

static berth_status descend(branch *b, double bound) {
  child *list = b->children + (size_t)b->depth * (size_t)b->n * (size_t)b->devices;
  if (b->depth == b->n) return complete(b);
  if (b->left <= 0 || (b->depth % 4 == 0 && berth_i_best_stopped(b->cost->ctx, b->best))) {
    b->best->open = fmin(b->best->open, bound);
    return BERTH_OK;
  }
  bool hidden;
  berth_status st;
  if ((st = is_hidden(b, &hidden)) != BERTH_OK || hidden) return st;
  int32_t k = list_children(b, list);
  for (int32_t i = 0; i < k && st == BERTH_OK && worth(b, list[i].bound); i++) {
    const child *c = &list[i];
    double free_at = b->free_at[c->device], held = b->held[c->device];
    put(b, c->op, c->device);
    st = descend(b, c->bound);
    take_back(b, free_at, held);
  }
  return st;
}

/* ---- preparing ---- */

static berth_status alloc_arrays(branch *b) {
  berth_i_pool *p = &b->arrays;
  size_t n = (size_t)b->n, m = (size_t)b->devices, g = (size_t)b->g->n_groups;
  b->before = berth_i_pool_zalloc(p, n, sizeof *b->before);
  b->after = berth_i_pool_zalloc(p, n, sizeof *b->after);
  b->least = berth_i_pool_zalloc(p, n, sizeof *b->least);
  b->head = berth_i_pool_zalloc(p, n, sizeof *b->head);
  b->tail = berth_i_pool_zalloc(p, n, sizeof *b->tail);
  b->start = berth_i_pool_zalloc(p, n, sizeof *b->start);
  b->finish = berth_i_pool_zalloc(p, n, sizeof *b->finish);
  b->early = berth_i_pool_zalloc(p, n, sizeof *b->early);
  b->begin = berth_i_pool_zalloc(p, n, sizeof *b->begin);
  b->device = berth_i_pool_zalloc(p, n, sizeof *b->device);
  b->order = berth_i_pool_zalloc(p, n, sizeof *b->order);
  b->free_at = berth_i_pool_zalloc(p, m, sizeof *b->free_at);
  b->held = berth_i_pool_zalloc(p, m, sizeof *b->held);
  b->end = berth_i_pool_zalloc(p, m, sizeof *b->end);
  b->used = berth_i_pool_zalloc(p, m, sizeof *b->used);
  b->same = berth_i_pool_zalloc(p, m, sizeof *b->same);
  b->lowest = berth_i_pool_zalloc(p, m, sizeof *b->lowest);
  b->place = berth_i_pool_zalloc(p, m, sizeof *b->place);
  b->name = berth_i_pool_zalloc(p, m, sizeof *b->name);
  b->bound_to = berth_i_pool_zalloc(p, g, sizeof *b->bound_to);
  b->members = berth_i_pool_zalloc(p, g, sizeof *b->members);
  b->children = berth_i_pool_alloc(p, (n + 1) * n * m, sizeof *b->children);
  b->row = berth_i_pool_alloc(p, 2 * m + 3 * n + g + 1, sizeof *b->row);
  b->slot = berth_i_pool_alloc(p, SLOTS, sizeof *b->slot);
  return berth_i_pool_status(p);
}

static berth_status prepare(branch *b) {
  const berth_graph *g = b->g;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      b->after[g->producer[t]] |= (uint64_t)1 << g->use[k];
      b->before[g->use[k]] |= (uint64_t)1 << g->producer[t];
    }
  }
  for (int32_t i = 0; i < SLOTS; i++) b->slot[i] = -1;
  for (int32_t i = 0; i < g->n_groups; i++) b->bound_to[i] = BERTH_NONE;
  /* exchangeable with the lowest of its kind, and so with each of them */
  for (int32_t d = 0; d < b->devices; d++) {
    int32_t e;
    for (e = 0; e < d && !(b->same[e] == e && exchangeable(b, e, d)); e++) {}
    b->same[d] = e;
  }
  for (int32_t i = 0; i < b->n; i++) {
    b->least[i] = INFINITY;
    for (int32_t d = 0; d < b->devices; d++) {
      if (may(b, i, d)) b->least[i] = fmin(b->least[i], berth_i_op_time(b->cost, i, d));
    }
    /* memory alone forbids it everywhere: the placers have reported that */
    if (isinf(b->least[i])) b->least[i] = 0;
  }
  return berth_i_heads_tails(&b->u, BERTH_LINKS_FREE, NULL, b->least, b->head, b->tail);
}

berth_status berth_i_branch(berth_cost *cost, const berth_place_options *o, int64_t nodes,
                            bool whole, berth_i_best *best) {
  branch b = { .arrays = berth_i_pool_empty(cost->ctx),
               .cost = cost,
               .g = cost->g,
               .o = o,
               .best = best,
               .n = cost->g->n_ops,
               .devices = cost->n_devices,
               .left = nodes,
               .whole = whole,
               .counts = berth_i_memory_counts(cost, o->memory) };
  if (b.n == 0 || b.n > BERTH_I_EXACT_OPS) return BERTH_OK;
  berth_status st;
  if ((st = berth_i_units_init(cost, "exact", o->memory, o->param_multiple, &b.u, NULL))
      != BERTH_OK)
    return st;
  if ((st = alloc_arrays(&b)) == BERTH_OK) st = berth_i_any_order_init(cost, &b.sums);
  if (st == BERTH_OK) st = prepare(&b);
  if (st == BERTH_OK) st = descend(&b, best->bound);
  best->nodes = nodes - b.left;
  berth_i_pool_free(&b.arrays);
  berth_i_any_order_release(cost, &b.sums);
  berth_i_units_release(&b.u);
  return st;
}
