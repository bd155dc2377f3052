/* Collectives in a run: requested when the last member has ended, over when their time is. What
 * they hold meanwhile is a matter of the links. */
#include "sim/sim_internal.h"

static void request_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  if (s->coll.one[k].n_devices > 1) {
    berth_i_links_collective(p, s, k);
  } else {
    berth_i_sim_collective_start(p, s, k, s->now);
  }
}

void berth_i_sim_collectives_leave(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    berth_i_sim_collective *x = &s->coll.one[g->wait[i]];
    x->last = op;
    if (--x->missing == 0) request_collective(p, s, g->wait[i]);
  }
}

int32_t berth_i_sim_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t k = berth_i_sim_collective_next(p, s);
  berth_i_sim_collective *x = &s->coll.one[k];
  if (x->flows > 0) {
    x->late = 1;
    return BERTH_NONE;
  }
  x->end = s->now;
  if (x->n_devices > 1) {
    berth_i_links_collective_end(p, s, k);
    if (s->memory) berth_i_memory_collective_end(p, s, k);
  }
  return k;
}
