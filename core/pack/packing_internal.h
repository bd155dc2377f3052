/* A partial placement of units that keeps all limits, for placers that put whole groups: put a
 * unit, take the last one back, search all packings, and the texts of refusals. */
#ifndef BERTH_PACKING_INTERNAL_H
#define BERTH_PACKING_INTERNAL_H

#include "base/pool_internal.h"
#include "placement/prices_internal.h"
#include <berth/list.h>

typedef struct berth_i_packed {
  int32_t unit, device;
  size_t copies;      /* height of the stack of copies below its own */
  double used, temporary;
} berth_i_packed;

typedef struct berth_i_copy {
  int32_t tensor, device;
  double used; /* of the device, before */
} berth_i_copy;

/** Permanent bytes add up, temporary ones take turns. The first consumer of a tensor on another
 *  device than its producer's leaves a copy there, of which the units' share is permanent. Undone
 *  in reverse order only. */
typedef struct berth_i_packing {
  berth_i_pool pool;
  berth_cost *cost;
  const berth_i_units *u;
  int32_t *device;                  /* [n_ops] the caller's; BERTH_NONE: not placed */
  double *used, *temporary, *limit; /* [n_devices] bytes */
  double copy_share;                /* 0: copies are not charged */
  uint8_t *here;                    /* bit per (device, tensor): a copy is there */
  berth_i_packed *packed;           /* [n units] stack */
  int32_t n_packed;
  berth_i_copy *copies;        /* [n_edges] stack */
  size_t n_copies;
} berth_i_packing;

/** After a failure the pool is empty. @param device [ops] is set to BERTH_NONE, then follows the
 * packing */
berth_status berth_i_packing_init(const berth_i_units *u, berth_memory_policy memory,
                                  int32_t *device, berth_i_packing *k);
void berth_i_packing_clear(berth_i_packing *k);

/** Puts a unit on a device if that keeps all limits.
 *  @return 0: done; bytes missing; INFINITY: type or pin forbids it; NAN: a producer or consumer
 *          would be unreachable */
double berth_i_packing_try(berth_i_packing *k, int32_t unit, int32_t device);
/** Takes the last one back. */
void berth_i_packing_pop(berth_i_packing *k);
/** Puts all units at once. @param at [units] device @return false: some limit or route forbids it;
 * then the units before that one are placed */
bool berth_i_packing_load(berth_i_packing *k, const int32_t *at);
/** Evaluates all packings, the units in the given order, devices by id, until one is accepted; of
 *  empty devices that are alike only the first. Ends after `tries` steps; what is left of them is
 *  positive if none was left out.
 *  @param order [n] units @param accept NULL: the first one @param found k holds an accepted
 *         packing */
typedef berth_status (*berth_i_accept_fn)(void *ud, const int32_t *device, bool *yes);
berth_status berth_i_packing_search(berth_i_packing *k, const int32_t *order, int64_t *tries,
                                    berth_i_accept_fn accept, void *ud, bool *found);
/** Bytes that the device would still take. */
static inline double berth_i_packing_left(const berth_i_packing *k, int32_t device) {
  return k->limit[device] - k->used[device] - k->temporary[device];
}

/** A unit fits nowhere: message, *why.  @return BERTH_EINFEASIBLE or BERTH_EUNREACHABLE */
berth_status berth_i_packing_refuse(berth_i_packing *k, const char *placer, int32_t unit,
                                    const berth_place_options *opts, berth_obstacle *why);
/** The same where some units are left out of what came closest: the message also says how full the
 * devices are.
 *  @param unfit no packing exists */
berth_status berth_i_packing_account(berth_i_packing *k, int32_t left_out, const char *placer,
                                     bool unfit, const berth_place_options *opts,
                                     berth_obstacle *why);
/** Packs everything from the start: in topological order, then pinned and large units first, by
 *  first fit and worst fit; then by bin completion, search of few cases and local search.
 *  Feasibility is the only goal.
 *  @return BERTH_OK; else as berth_i_packing_account, for the packing that came closest */
berth_status berth_i_packing_find_feasible(berth_i_packing *k, const char *placer,
                                    const berth_place_options *opts, berth_obstacle *why);

/** Changes devices, one unit at a time, until first in, first out runs within memory, or no move
 * helps.
 *  @param device [ops] in, out: as good as found  @param found memory holds */
berth_status berth_i_repair(const berth_i_units *u, const berth_place_options *opts,
                            int32_t *device, bool *found);

/** Memory alone shows that nothing fits, for any order of ops and any transfers. Never wrong; not
 * always found.
 *  @param placer name in the message
 *  @return BERTH_OK (nothing found, message untouched); BERTH_EINFEASIBLE with message and *why;
 *          BERTH_ENOMEM */
berth_status berth_i_prove_unfit(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                 berth_obstacle *why);

/** berth_i_prove_unfit from the start. A group that no device can run is proof enough, too. */
berth_status berth_i_prove_infeasible(berth_cost *cost, const char *placer,
                                      berth_memory_policy memory, double param_multiple,
                                      berth_obstacle *why);

#endif
