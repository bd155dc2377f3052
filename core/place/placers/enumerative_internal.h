/* Shared by the rules of the placer enumerative: the walk over meta-ops, and the device of each
 * unit so far. */
#ifndef BERTH_ENUMERATIVE_INTERNAL_H
#define BERTH_ENUMERATIVE_INTERNAL_H

#include "assignment_internal.h"
#include "place/place_internal.h"

typedef struct berth_i_spread {
  berth_i_pool pool;
  const berth_i_units *u;
  const berth_place_options *opts;
  berth_i_packing packing;
  int32_t n_sets, *set_at, *order; /* meta-ops by depth, then first op: set_at [n_sets + 1] into
                                      order [n_ops] */
  double *load;                    /* [devices] s, what each has been given */
  uint8_t *copied;                 /* bit per (device, tensor): a copy went there */
  int32_t *unit, n_units;          /* [n units] of the present meta-op those without a device, in
                                      order of ids */
  uint8_t *listed;                 /* [n units] */
  int32_t *share;                  /* [devices] units of the present meta-op */
  uint8_t *useful;                 /* [devices] it can run some of them */
  /* of one round */
  int32_t *column, *chosen;        /* [devices] each */
  berth_i_price *price;            /* [devices^2] */
  /* of the rules "blocks" and "greedy" */
  double *busy, *trial;            /* [devices] s of the operator, or of all; what it would be */
} berth_i_spread;

/** Seconds that the transfers of a unit's inputs to device would take (and, if consumers of it are
 *  there, of its outputs): what is there already, or has been sent there before, is free. INFINITY:
 *  no route. */
double berth_i_spread_moves(const berth_i_spread *w, int32_t unit, int32_t device);
/** Puts a unit there if types, pins, routes and memory allow it. */
bool berth_i_spread_put(berth_i_spread *w, int32_t unit, int32_t device);
/** Where a unit costs least, of the devices that take it.  @return false: none */
bool berth_i_spread_cheapest(berth_i_spread *w, int32_t unit);

/** @return BERTH_EINFEASIBLE: stuck, without a message */
typedef berth_status (*berth_i_spread_fn)(berth_i_spread *w);
/** One meta-op, unit[0 .. n_units - 1]: variants "" and "enumerate", "blocks", "greedy". */
berth_status berth_i_spread_rounds(berth_i_spread *w);
berth_status berth_i_spread_blocks(berth_i_spread *w);
berth_status berth_i_spread_greedy(berth_i_spread *w);

static inline bool berth_i_spread_is_copied(const berth_i_spread *w,
                                            int32_t tensor, int32_t device) {
  size_t bit = (size_t)device * (size_t)w->u->cost->g->n_tensors + (size_t)tensor;
  return (w->copied[bit / 8] >> (bit % 8) & 1) != 0;
}

#endif
