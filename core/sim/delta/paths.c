/* How long it takes at least from the start of an op to the end of all on given devices, transfers
 * included; whoever shares the links, they take no less. What a move changes is found backwards
 * from it, and put back after the trial. */
#include "checkpoints_internal.h"
#include "rewind_internal.h"

berth_status berth_i_paths_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_paths *x) {
  size_t n = (size_t)p->n_ops;
  x->tail = berth_i_pool_alloc(pool, n, sizeof *x->tail);
  x->rank = berth_i_pool_alloc(pool, n, sizeof *x->rank);
  x->op = berth_i_pool_alloc(pool, n, sizeof *x->op);
  x->before = berth_i_pool_alloc(pool, n, sizeof *x->before);
  x->flagged = berth_i_pool_zalloc(pool, n, 1);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->n_ops; i++) x->rank[p->cost->g->topo[i]] = i;
  return BERTH_OK;
}

static void all_tails(const berth_i_sim_plan *p, berth_i_paths *x, const berth_i_sim_state *s,
                      const int32_t *device) {
  const int32_t *topo = p->cost->g->topo;
  for (int32_t i = p->n_ops - 1; i >= 0; i--)
    x->tail[topo[i]] = berth_i_placed_tail(p, x->tail, s, device, topo[i]);
  x->known = true;
}

const double *berth_i_paths_move(const berth_i_sim_plan *p, berth_i_paths *x,
                                 const berth_i_sim_state *s, const int32_t *base,
                                 const berth_i_moves *m) {
  if (!x->known) all_tails(p, x, s, base);
  x->n = berth_i_tails_change(p, s, m, x->rank, x->flagged, x->tail, x->op, x->before);
  return x->tail;
}

void berth_i_paths_back(berth_i_paths *x) {
  while (x->n > 0) {
    x->n--;
    x->tail[x->op[x->n]] = x->before[x->n];
  }
}

void berth_i_paths_keep(const berth_i_sim_plan *p, berth_i_paths *x, const berth_i_sim_state *s,
                        const berth_i_moves *m) {
  if (x->known)
    berth_i_tails_change(p, s, m, x->rank, x->flagged, x->tail, NULL, NULL);
  x->n = 0;
}
