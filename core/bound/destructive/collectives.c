/* The least that each collective takes, wherever its members may still go: its price where every
 * member has only one device left, else 0. A user's price function is not called: then
 * all are 0. O(members x (devices + distinct devices)) a collective. */
#include "bound/heads_tails_internal.h"

/* The one device that can run the unit; BERTH_NONE: there are several. */
static int32_t only_device(const berth_i_units *u, int32_t unit) {
  int32_t found = u->pin[unit];
  if (found != BERTH_NONE) return found;
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    if (!berth_i_unit_can_run(u, unit, d)) continue;
    if (found != BERTH_NONE) return BERTH_NONE;
    found = d;
  }
  return found;
}

/* @param devices [members] scratch: different devices, in the order of their first members */
static double least_of(const berth_i_units *u, int32_t k, int32_t *devices) {
  const berth_collective *c = &u->cost->g->collectives[k];
  int32_t n = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t d = only_device(u, u->of[c->members[i]]), at = 0;
    if (d == BERTH_NONE) return 0;
    while (at < n && devices[at] != d) at++;
    if (at == n) devices[n++] = d;
  }
  if (n < 2) return 0;
  berth_i_collective_price price = berth_i_collective_built_in(u->cost, k, n, devices);
  return price.src == BERTH_NONE ? price.seconds : 0; /* without a route there is no schedule */
}

berth_status berth_i_least_collective_times(const berth_i_units *u, double *seconds) {
  const berth_graph *g = u->cost->g;
  size_t most = berth_i_most_members(g);
  int32_t *devices = berth_i_alloc(u->cost->ctx, most, sizeof *devices);
  if (!devices) return berth_i_nomem(u->cost->ctx);
  for (int32_t k = 0; k < g->n_collectives; k++)
    seconds[k] = u->cost->collective ? 0 : least_of(u, k, devices);
  berth_i_free(u->cost->ctx, devices, most, sizeof *devices);
  return BERTH_OK;
}
