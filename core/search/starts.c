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

/* The first device from d on that has room for the block, in turn; BERTH_NONE. */
static int32_t next_with_room(const berth_i_problem *p, const berth_i_clumps *b, int32_t block,
                              int32_t d, const double *held) {
  for (int32_t i = 0; i < p->n_devices; i++) {
    int32_t at = (d + i) % p->n_devices;
    if (has_room(p, b, block, at, held)) return at;
  }
  return BERTH_NONE;
}

/* Of the devices where the block may be the one that the key leads to. */
static int32_t device_of_key(const berth_i_problem *p, const berth_i_clumps *b, int32_t block,
                             double key) {
  const uint8_t *may = &b->may[(size_t)block * (size_t)p->n_devices];
  int32_t d, all = 0;
  for (d = 0; d < p->n_devices; d++) all += may[d];
  int32_t left = (int32_t)(key * all);
  for (d = 0; d < p->n_devices && (!may[d] || left > 0); d++) left -= may[d];
  return d;
}

/* Blocks in the order of the graph, where that finds no room the largest first: each on the device
 * behind the last one's, or on that of its key; if it does not fit there, on the next that fits. */
static bool deal_out(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                     int32_t *device, double *held) {
  for (int sorted = 0; sorted < 1 + (p->bytes != NULL); sorted++) {
    int32_t k, d = 0, next = 0;
    clear_held(p, held);
    for (k = 0; k < b->n; k++) {
      int32_t block = sorted ? b->by_bytes[k] : k;
      d = next_with_room(p, b, block, key ? device_of_key(p, b, block, key[block]) : next, held);
      if (d == BERTH_NONE) break;
      put_block(b, block, d, device, held);
      next = (d + 1) % p->n_devices;
    }
    if (k == b->n) return true;
  }
  return false;
}

bool berth_i_start_in_turn(const berth_i_problem *p, const berth_i_clumps *b, int32_t *device,
                           double *held) {
  return deal_out(p, b, NULL, device, held);
}

bool berth_i_start_by_keys(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                           int32_t *device, double *held) {
  return deal_out(p, b, key, device, held);
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

/* Where the op can start first, behind the work of units that are assigned there. */
static int32_t choose(const lister *l, int32_t op) {
  int32_t best = BERTH_NONE, block = l->b->of[op];
  double least = INFINITY;
  for (int32_t d = 0; d < l->p->n_devices; d++) {
    if (!has_room(l->p, l->b, block, d, l->held)) continue;
    double score = fmax(ready_on(l, op, d), l->free_at[d]) + l->reserved[d]
                   + berth_i_op_time(l->p->cost, op, d) - l->p->comp[op];
    if (best != BERTH_NONE && !(score < least)) continue;
    least = score;
    best = d;
  }
  return best;
}

/* Ops by falling b-level; the first op of a unit decides where all of it goes. */
static bool list_all(lister *l) {
  const berth_i_problem *p = l->p;
  int32_t d;
  for (int32_t i = 0; i < p->n; i++) l->device[i] = BERTH_NONE;
  clear_held(p, l->held);
  for (int32_t i = 0; i < p->n; i++) {
    int32_t op = l->rank[i].op, block = l->b->of[op];
    if ((d = l->device[op]) == BERTH_NONE) {
      if ((d = choose(l, op)) == BERTH_NONE) return false;
      put_block(l->b, block, d, l->device, l->held);
      for (int32_t k = l->b->at[block]; k < l->b->at[block + 1]; k++)
        l->reserved[d] += berth_i_op_time(p->cost, l->b->ops[k], d);
    }
    double time = berth_i_op_time(p->cost, op, d);
    l->finish[op] = l->free_at[d] = fmax(ready_on(l, op, d), l->free_at[d]) + time;
    l->reserved[d] -= time;
  }
  return true;
}

berth_status berth_i_start_listed(const berth_i_problem *p, const berth_i_clumps *b,
                                  int32_t *device, double *held, bool *found) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  size_t n = (size_t)p->n, devices = (size_t)p->n_devices;
  lister l = { .p = p, .b = b, .device = device, .held = held };
  l.free_at = berth_i_pool_zalloc(&scratch, devices, sizeof *l.free_at);
  l.reserved = berth_i_pool_zalloc(&scratch, devices, sizeof *l.reserved);
  l.finish = berth_i_pool_alloc(&scratch, n, sizeof *l.finish);
  l.rank = berth_i_pool_alloc(&scratch, n, sizeof *l.rank);
  double *level = berth_i_pool_alloc(&scratch, n, sizeof *level);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_b_level(p->cost->g, p->comp, p->comm, level);
  for (int32_t i = 0; i < p->n && st == BERTH_OK; i++) {
    int32_t op = p->cost->g->topo[i];
    l.rank[i] = (ranked){ level[op], i, op };
  }
  if (st == BERTH_OK) {
    sort_by_level(l.rank, n);
    *found = list_all(&l);
  }
  berth_i_pool_free(&scratch);
  return st;
}
