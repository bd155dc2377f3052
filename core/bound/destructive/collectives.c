/* What collectives take, wherever their members may still go. */
#include "bound/heads_tails_internal.h"

static int32_t most_members(const berth_graph *g) {
  int32_t most = 0;
  for (int32_t k = 0; k < g->n_collectives; k++) {
    if (g->collectives[k].n_members > most) most = g->collectives[k].n_members;
  }
  return most;
}

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

static bool is_listed(const int32_t *devices, int32_t n, int32_t d) {
  int32_t i;
  for (i = 0; i < n && devices[i] != d; i++) continue;
  return i < n;
}

/* @return different devices, in the order of their first members; 0: some member has a choice */
static int32_t list_devices(const berth_i_units *u, const berth_collective *c, int32_t *devices) {
  int32_t n = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t d = only_device(u, u->of[c->members[i]]);
    if (d == BERTH_NONE) return 0;
    if (!is_listed(devices, n, d)) devices[n++] = d;
  }
  return n;
}

static double least_of(const berth_i_units *u, int32_t k, int32_t *devices) {
  int32_t n = list_devices(u, &u->cost->g->collectives[k], devices);
  if (n < 2) return 0;
  berth_i_collective_price price = berth_i_collective_built_in(u->cost, k, n, devices);
  return price.src == BERTH_NONE ? price.seconds : 0; /* without a route there is no schedule at
                                                         all */
}

berth_status berth_i_least_collective_times(const berth_i_units *u, double *seconds) {
  const berth_graph *g = u->cost->g;
  size_t cap = (size_t)most_members(g);
  int32_t *devices = berth_i_alloc(u->cost->ctx, cap, sizeof *devices);
  if (!devices) return berth_i_nomem(u->cost->ctx);
  for (int32_t k = 0; k < g->n_collectives; k++)
    seconds[k] = u->cost->collective ? 0 : least_of(u, k, devices);
  berth_i_free(u->cost->ctx, devices, cap, sizeof *devices);
  return BERTH_OK;
}
