/* Units (colocation groups contracted, other ops alone) and a partial placement of them that stays within limits.
 * For the placers that put whole groups, and for the bounds. */
#ifndef BERTH_PACKING_INTERNAL_H
#define BERTH_PACKING_INTERNAL_H

#include "placement/placement_internal.h"

/** Numbered by their first op in topological order. */
typedef struct berth_i_units {
  berth_cost *cost;              /* borrowed */
  int32_t n, n_ops, n_classes;
  int32_t *of;                   /* [n_ops] */
  int32_t *at, *ops;             /* [n + 1], [n_ops]: members, in topological order */
  double *time;                  /* [n * n_classes] s, sum over members; BERTH_UNSUPPORTED if one of them cannot run there */
  int32_t *pin;                  /* [n] */
  double *permanent, *temporary; /* [n] bytes: sum, and the largest */
  berth_memory_policy memory;
  double param_multiple;
  double share;                  /* of the outputs (and, in a packing, copies) counts as permanent, the rest as temporary */
} berth_i_units;

/** The share is 1 under TOTAL, else 0: then a device that does not hold its sum and its largest cannot run its units at all.
 *  @return BERTH_OK; BERTH_EINFEASIBLE (a group whose members have no device in common); BERTH_ENOMEM */
berth_status berth_i_units_init(berth_cost *cost, const char *placer, berth_memory_policy memory, double param_multiple,
                                berth_i_units *u, berth_obstacle *why);
void berth_i_units_release(berth_i_units *u);
/** Counts the units anew; with share 1 what is packed holds in any order. */
void berth_i_units_size(berth_i_units *u, double share);

static inline double berth_i_unit_time(const berth_i_units *u, int32_t unit, int32_t device) {
  return u->time[(size_t)unit * (size_t)u->n_classes + (size_t)u->cost->class_of[device]];
}
/** Types and pins allow it. */
static inline bool berth_i_unit_can_run(const berth_i_units *u, int32_t unit, int32_t device) {
  return (u->pin[unit] == BERTH_NONE || u->pin[unit] == device) && !isinf(berth_i_unit_time(u, unit, device));
}
/** The member with the largest demand: the one to name in a message. */
int32_t berth_i_unit_largest(const berth_i_units *u, int32_t unit, berth_memory_policy memory, double param_multiple);

typedef struct berth_i_packed {
  int32_t unit, device;
  size_t copies;      /* height of the stack of copies below its own */
  double used, temporary;
} berth_i_packed;

typedef struct berth_i_copy {
  int32_t tensor, device;
  double used; /* of the device, before */
} berth_i_copy;

/** Permanent bytes add up, temporary ones take turns. The first consumer of a tensor on another device than its producer's leaves
 *  a copy there, of which the units' share stays for good. Undone in reverse order only. */
typedef struct berth_i_packing {
  berth_cost *cost;
  const berth_i_units *u;
  int32_t *device;             /* [n_ops] the caller's; BERTH_NONE: not placed */
  double *used, *temporary, *limit; /* [n_devices] bytes */
  double copy_share;           /* 0: copies are not charged */
  uint8_t *here;               /* bit per (device, tensor): a copy is there */
  berth_i_packed *packed;      /* [n units] stack */
  int32_t n_packed;
  berth_i_copy *copies;        /* [n_edges] stack */
  size_t n_copies, cap_copies, n_bits;
} berth_i_packing;

/** @param device [ops] is set to BERTH_NONE, then follows the packing */
berth_status berth_i_packing_init(const berth_i_units *u, berth_memory_policy memory, int32_t *device, berth_i_packing *k);
void berth_i_packing_release(berth_i_packing *k);
void berth_i_packing_clear(berth_i_packing *k);

/** Puts a unit on a device if that keeps all limits.
 *  @return 0: done; bytes missing; INFINITY: type or pin forbids it; NAN: a producer or consumer would be unreachable */
double berth_i_packing_try(berth_i_packing *k, int32_t unit, int32_t device);
/** Takes the last one back. */
void berth_i_packing_pop(berth_i_packing *k);
/** Puts all units at once.  @param at [units] device  @return false: some limit or route forbids it; then a part stands */
bool berth_i_packing_load(berth_i_packing *k, const int32_t *at);
/** Tries all packings, the units in the given order, devices by id, until one is accepted; of empty devices that are alike only
 *  the first. Ends after `tries` steps; what is left of them is positive if none was left out.
 *  @param order [n] units  @param accept NULL: the first one  @param found the packing is accepted, and stands */
typedef berth_status (*berth_i_accept_fn)(void *ud, const int32_t *device, bool *yes);
berth_status berth_i_packing_search(berth_i_packing *k, const int32_t *order, int64_t *tries, berth_i_accept_fn accept, void *ud,
                                    bool *found);
/** Bytes that the device would still take. */
static inline double berth_i_packing_left(const berth_i_packing *k, int32_t device) {
  return k->limit[device] - k->used[device] - k->temporary[device];
}

/** A unit fits nowhere: message, *why.  @return BERTH_EINFEASIBLE or BERTH_EUNREACHABLE */
berth_status berth_i_packing_refuse(berth_i_packing *k, const char *placer, int32_t unit, const berth_place_options *opts,
                                    berth_obstacle *why);
/** The same where some units are left out of what came closest: how full the devices are is told, too.
 *  @param unfit no packing exists */
berth_status berth_i_packing_account(berth_i_packing *k, int32_t left_out, const char *placer, bool unfit,
                                     const berth_place_options *opts, berth_obstacle *why);
/** Packs everything from the start: in topological order, then pinned and large units first, by first fit, best fit and worst
 *  fit; then by bin completion, local search and a search of limited length. Feasibility is all that it looks for.
 *  @return BERTH_OK; else what berth_i_packing_account says of what came closest */
berth_status berth_i_packing_rescue(berth_i_packing *k, const char *placer, const berth_place_options *opts, berth_obstacle *why);

/** Exchanges the devices of parts, where they have the same class and memory, until the transfers between parts take no less time
 *  in all. Nothing to do where all pairs of devices are alike, nor for prices from a user's table.
 *  @param part [units] part of each  @param device [parts] */
berth_status berth_i_map_parts(const berth_i_units *u, int32_t parts, const int32_t *part, int32_t *device);

/* ---- placers that only choose devices ---- */

/** First in, first out, under the same links, quantum and memory. */
berth_sim_options berth_i_fifo_options(const berth_cost *cost, const berth_place_options *opts);
/** Fills sequence, start, finish and estimate: the placement's devices run first in, first out (by ready time) under
 *  opts->links and opts->quantum.
 *  @param oom where memory runs out on the way, under opts->memory, its shortfall up to the peak; op BERTH_NONE: it holds
 *  @param live NULL, or the share of the outputs and copies on that device that are there at its peak; untouched if it holds */
berth_status berth_i_plan_fifo(berth_cost *cost, const berth_place_options *opts, berth_placement *p, berth_oom *oom,
                               double *live);

/** A placer's own rule.  @param device [ops] out  @return BERTH_OK; BERTH_EINFEASIBLE, BERTH_EUNREACHABLE: it found nothing */
typedef berth_status (*berth_i_fill_fn)(const berth_i_units *u, const berth_place_options *opts, int32_t *device,
                                        berth_obstacle *why);
/** By the rule, with a plan that keeps memory: as long as it does not, the rule is asked again with that share of the outputs
 *  counted for good that was there at once, or more; then units move away from where memory runs out, at last all packings are
 *  tried, up to a number.
 *  @param sizing by what the units are sized  */
berth_status berth_i_place_devices(berth_cost *cost, const char *placer, berth_memory_policy sizing,
                                   const berth_place_options *opts, berth_i_fill_fn fill, berth_placement **out,
                                   berth_obstacle *why);
/** Changes devices, one unit at a time, until first in, first out runs within memory, or no move helps.
 *  @param device [ops] in, out: as good as found  @param found memory holds */
berth_status berth_i_repair(const berth_i_units *u, const berth_place_options *opts, int32_t *device, bool *found);

#endif
