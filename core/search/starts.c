/* Starts made of units: dealt out in turn, and list-scheduled op by op. */
#include "base/sort_internal.h"
#include "search_internal.h"

static bool has_room(const berth_i_problem *p, const berth_i_clumps *b, int32_t block, int32_t d,
                     const double *held) {
  if (!b->may[(size_t)block * (size_t)p->n_devices + (size_t)d]) return false;
  return !p->bytes || held[d] + b->bytes[block] <= p->cost->t->devices[d].memory;
}

static void put_block(const berth_i_clumps *b, int32_t block, int32_t d, int32_t *device,
                      double *held) {
  for (int32_t i = b->at[block]; i < b->at[block + 1]; i++) device[b->ops[i]] = d;
  held[d] += b->bytes[block];
}

static void clear_held(const berth_i_problem *p, double *held) {
  for (int32_t d = 0; d < p->n_devices; d++) held[d] = 0;
}

/* In the order of the graph, or the largest first. */
static int32_t block_at(const berth_i_clumps *b, bool sorted, int32_t i) {
  return sorted ? b->by_bytes[i] : i;
}

static bool in_turn(const berth_i_problem *p, const berth_i_clumps *b, bool sorted, int32_t *device,
                    double *held) {
  int32_t next = 0;
  clear_held(p, held);
  for (int32_t k = 0; k < b->n; k++) {
    int32_t block = block_at(b, sorted, k);
    int32_t i;
    for (i = 0; i < p->n_devices && !has_room(p, b, block, (next + i) % p->n_devices, held); i++)
      continue;
    if (i == p->n_devices) return false;
    next = (next + i) % p->n_devices;
    put_block(b, block, next, device, held);
    next = (next + 1) % p->n_devices;
  }
  return true;
}

bool berth_i_start_in_turn(const berth_i_problem *p, const berth_i_clumps *b, int32_t *device,
                           double *held) {
  return in_turn(p, b, false, device, held) || (p->bytes && in_turn(p, b, true, device, held));
}

/* Each block on the device of its key, or the next one that has room. */
static int32_t by_key(const berth_i_problem *p, const berth_i_clumps *b, int32_t block, double key,
                      const double *held) {
  const uint8_t *may = &b->may[(size_t)block * (size_t)p->n_devices];
  int32_t d, all = 0;
  for (d = 0; d < p->n_devices; d++) all += may[d];
  int32_t left = (int32_t)(key * all);
  for (d = 0; d < p->n_devices && (!may[d] || left > 0); d++) left -= may[d];
  for (int32_t i = 0; i < p->n_devices; i++) {
    int32_t at = (d + i) % p->n_devices;
    if (has_room(p, b, block, at, held)) return at;
  }
  return BERTH_NONE;
}

static bool by_keys(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                    bool sorted, int32_t *device, double *held) {
  clear_held(p, held);
  for (int32_t k = 0; k < b->n; k++) {
    int32_t block = block_at(b, sorted, k), d = by_key(p, b, block, key[block], held);
    if (d == BERTH_NONE) return false;
    put_block(b, block, d, device, held);
  }
  return true;
}

bool berth_i_start_by_keys(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                           int32_t *device, double *held) {
  return by_keys(p, b, key, false, device, held)
         || (p->bytes && by_keys(p, b, key, true, device, held));
}

/* ---- list scheduling ---- */

typedef struct ranked {
  double level;
  int32_t place, op;
} ranked;

BERTH_I_SORT(sort_by_level, ranked, BERTH_I_DOWN(level) BERTH_I_UP(place))

typedef struct lister {
  const berth_i_problem *p;
  const berth_i_clumps *b;
  int32_t *device;
  double *held, *free_at, *reserved, *finish;
  ranked *rank;
} lister;

/* Of the collectives that op waits for, as if they took no time. */
static double members_end(const lister *l, int32_t op) {
  const berth_graph *g = l->p->cost->g;
  double end = 0;
  for (int32_t i = g->after_at[op]; i < g->after_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t j = 0; j < c->n_members; j++) end = fmax(end, l->finish[c->members[j]]);
  }
  return end;
}

static double ready_on(const lister *l, int32_t op, int32_t d) {
  const berth_graph *g = l->p->cost->g;
  double ready = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t];
    double at = l->finish[from] + berth_i_transfer_time(l->p->cost, t, l->device[from], d);
    if (at > ready) ready = at;
  }
  return g->after ? fmax(ready, members_end(l, op)) : ready;
}

static double start_on(const lister *l, int32_t op, int32_t d) {
  return fmax(ready_on(l, op, d), l->free_at[d]);
}

/* Where the op can start first, behind the work that waits for units that are there. */
static int32_t choose(const lister *l, int32_t op) {
  int32_t best = BERTH_NONE, block = l->b->of[op];
  double least = INFINITY;
  for (int32_t d = 0; d < l->p->n_devices; d++) {
    if (!has_room(l->p, l->b, block, d, l->held)) continue;
    double score =
        start_on(l, op, d) + l->reserved[d] + berth_i_op_time(l->p->cost, op, d) - l->p->comp[op];
    if (best != BERTH_NONE && !(score < least)) continue;
    least = score;
    best = d;
  }
  return best;
}

static bool fix_unit(lister *l, int32_t op) {
  int32_t block = l->b->of[op], d;
  if ((d = choose(l, op)) == BERTH_NONE) return false;
  put_block(l->b, block, d, l->device, l->held);
  for (int32_t i = l->b->at[block]; i < l->b->at[block + 1]; i++)
    l->reserved[d] += berth_i_op_time(l->p->cost, l->b->ops[i], d);
  return true;
}

static bool list_all(lister *l) {
  int32_t n = l->p->n;
  for (int32_t i = 0; i < n; i++) l->device[i] = BERTH_NONE;
  clear_held(l->p, l->held);
  for (int32_t i = 0; i < n; i++) {
    int32_t op = l->rank[i].op;
    if (l->device[op] == BERTH_NONE && !fix_unit(l, op)) return false;
    int32_t d = l->device[op];
    double time = berth_i_op_time(l->p->cost, op, d);
    l->finish[op] = l->free_at[d] = start_on(l, op, d) + time;
    l->reserved[d] -= time;
  }
  return true;
}

static berth_status rank_ops(lister *l) {
  const berth_i_problem *p = l->p;
  double *level = berth_i_alloc(p->ctx, (size_t)p->n, sizeof *level);
  berth_status st =
      level ? berth_b_level(p->cost->g, p->comp, p->comm, level) : berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->n && st == BERTH_OK; i++) {
    int32_t op = p->cost->g->topo[i];
    l->rank[i] = (ranked){ level[op], i, op };
  }
  if (st == BERTH_OK) sort_by_level(l->rank, (size_t)p->n);
  berth_i_free(p->ctx, level, (size_t)p->n, sizeof *level);
  return st;
}

berth_status berth_i_start_listed(const berth_i_problem *p, const berth_i_clumps *b,
                                  int32_t *device, double *held, bool *found) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  size_t n = (size_t)p->n, devices = (size_t)p->n_devices;
  lister l = { p, b, device, held, NULL, NULL, NULL, NULL };
  l.free_at = berth_i_pool_zalloc(&scratch, devices, sizeof *l.free_at);
  l.reserved = berth_i_pool_zalloc(&scratch, devices, sizeof *l.reserved);
  l.finish = berth_i_pool_alloc(&scratch, n, sizeof *l.finish);
  l.rank = berth_i_pool_alloc(&scratch, n, sizeof *l.rank);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = rank_ops(&l);
  if (st == BERTH_OK) *found = list_all(&l);
  berth_i_pool_free(&scratch);
  return st;
}
