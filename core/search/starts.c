/* Starts made of blocks (units or single ops): spread over the devices, and list-scheduled op by
 * op.
 * Invariant: `held` has the bytes of the blocks that are placed, at most each device's memory.
 * O(blocks x devices) spread, O((ops + edges) x devices) listed. */
#include "base/sort_internal.h"
#include "search_internal.h"

static bool fits(const berth_i_problem *p, const berth_i_clumps *b, int32_t block, int32_t d,
                 const double *held) {
  if (!b->may[(size_t)block * (size_t)p->n_devices + (size_t)d]) return false;
  return !p->bytes || held[d] + b->bytes[block] <= p->cost->t->devices[d].memory;
}

static void put_block(const berth_i_clumps *b, int32_t block, int32_t d, int32_t *device,
                      double *held) {
  for (int32_t i = b->at[block]; i < b->at[block + 1]; i++) device[b->ops[i]] = d;
  held[d] += b->bytes[block];
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

bool berth_i_start_dealt(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                         int32_t *device, double *held) {
  for (int sorted = 0; sorted < 1 + (p->bytes != NULL); sorted++) {
    /* 1. Blocks in the order of the graph; 2. where that fails, the largest first. */
    int32_t next = 0, left = 1;
    for (int32_t d = 0; d < p->n_devices; d++) held[d] = 0;
    for (int32_t k = 0; k < b->n && left > 0; k++) {
      /* on the device behind the last one's, or that of its key; if it does not fit, on the next
       * one that it fits on */
      int32_t block = sorted ? b->by_bytes[k] : k;
      int32_t d = key ? device_of_key(p, b, block, key[block]) : next;
      for (left = p->n_devices; left > 0 && !fits(p, b, block, d % p->n_devices, held); left--) d++;
      if (left > 0) put_block(b, block, d % p->n_devices, device, held);
      next = (d + 1) % p->n_devices;
    }
    if (left > 0) return true;
  }
  return false;
}

/* ---- list scheduling ---- */

typedef struct ranked {
  double level;
  int32_t place, op;
} ranked;

BERTH_I_SORT(sort_by_level, ranked, BERTH_I_DOWN(level) BERTH_I_UP(place))

typedef struct lister {
  const berth_i_problem *p;
  int32_t *device;                     /* [ops] BERTH_NONE: not placed */
  double *free_at, *reserved, *finish; /* [devices], [devices] s of work that is assigned but not
                                          listed, [ops] */
  ranked *rank;                        /* [ops] */
} lister;

/* From when the op's inputs are on d; collectives count as if they took no time. */
static double ready_on(const lister *l, int32_t op, int32_t d) {
  const berth_graph *g = l->p->cost->g;
  double ready = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t];
    double at = l->finish[from] + berth_i_transfer_time(l->p->cost, t, l->device[from], d);
    if (at > ready) ready = at;
  }
  for (int32_t i = g->after ? g->after_at[op] : 0; g->after && i < g->after_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t j = 0; j < c->n_members; j++) ready = fmax(ready, l->finish[c->members[j]]);
  }
  return ready;
}

/* Ops by falling b-level; the first op of a block decides where all of it goes.
 * @return false: some block fits nowhere */
static bool list_all(const lister *l, const berth_i_clumps *b, double *held) {
  const berth_i_problem *p = l->p;
  const berth_cost *c = p->cost;
  for (int32_t i = 0; i < p->n; i++) l->device[i] = BERTH_NONE;
  for (int32_t d = 0; d < p->n_devices; d++) held[d] = 0;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t op = l->rank[i].op, block = b->of[op], best = l->device[op];
    if (best == BERTH_NONE) {
      /* 1. Where the op can start first, behind the work of blocks that are assigned there. */
      double least = INFINITY;
      for (int32_t d = 0; d < p->n_devices; d++) {
        if (!fits(p, b, block, d, held)) continue;
        double score = fmax(ready_on(l, op, d), l->free_at[d]) + l->reserved[d]
                       + berth_i_op_time(c, op, d) - p->comp[op];
        if (best == BERTH_NONE || score < least) least = score, best = d;
      }
      if (best == BERTH_NONE) return false;
      /* 2. Its block goes there, too. */
      put_block(b, block, best, l->device, held);
      for (int32_t k = b->at[block]; k < b->at[block + 1]; k++)
        l->reserved[best] += berth_i_op_time(c, b->ops[k], best);
    }
    /* 3. The op runs behind what is listed there. */
    double time = berth_i_op_time(c, op, best);
    l->finish[op] = l->free_at[best] = fmax(ready_on(l, op, best), l->free_at[best]) + time;
    l->reserved[best] -= time;
  }
  return true;
}

berth_status berth_i_start_listed(const berth_i_problem *p, const berth_i_clumps *b,
                                  int32_t *device, double *held, bool *found) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  size_t n = (size_t)p->n, devices = (size_t)p->n_devices;
  lister l = { .p = p, .device = device };
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
    *found = list_all(&l, b, held);
  }
  berth_i_pool_free(&scratch);
  return st;
}
