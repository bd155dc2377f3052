/* Searches for a packing of units into device memory: a complete assignment that may overflow, with
 * the local searches that reduce its overflow; exact search by bin completion; bounds of bin
 * packing. */
#ifndef BERTH_PACK_INTERNAL_H
#define BERTH_PACK_INTERNAL_H

#include "packing_internal.h"

/* ---- assignment: every unit has a device, and devices may hold too much ---- */

typedef struct berth_i_assignment {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_cost *cost;
  const berth_i_units *u;
  int32_t n, devices;
  const double *size, *temporary; /* [n] permanent bytes; bytes that take turns */
  double *base, *limit;           /* [devices] bytes that are there whatever moves */
  double *held;                   /* [devices] base, sizes, copies */
  int32_t *at;                    /* [n] device */
  int32_t *first, *next, *prev;   /* [devices], [n], [n] units of each device; BERTH_NONE: the
                                     end */
  int32_t *order, *rank, *top;    /* [n] by temporary, largest first; its inverse; [devices] rank of
                                     the largest there, n: none */
  double copy_share;              /* 0: copies are not charged */
  int32_t *reads;                 /* [tensors * devices] ops there that read it; NULL: not
                                     counted */
  int32_t *touched, *stamp, epoch, n_touched; /* [tensors] of the unit that moves */
  bool cut;                       /* some pair of devices has no route */
} berth_i_assignment;

/** After a failure the pool is empty.
 *  @param limit [devices] bytes, copied @param size, temporary [units] borrowed @param copy_share
 *         0: copies are not charged */
berth_status berth_i_assignment_init(const berth_i_units *u,
                                     const double *limit, const double *size,
                                     const double *temporary, double copy_share,
                                     berth_i_assignment *s);
/** Counts everything anew.  @param at [units] devices, all legal but for memory and routes */
void berth_i_assignment_load(berth_i_assignment *s, const int32_t *at);
void berth_i_assignment_move(berth_i_assignment *s, int32_t unit, int32_t device);
/** Type, pin and routes allow it. */
bool berth_i_assignment_may(const berth_i_assignment *s, int32_t unit, int32_t device);
/** Bytes over the limit; negative: free bytes. */
static inline double berth_i_assignment_over(const berth_i_assignment *s, int32_t device) {
  int32_t top = s->top[device];
  double temporary = top < s->n ? s->temporary[s->order[top]] : 0;
  return berth_i_excess(s->held[device] + temporary, s->limit[device]);
}
/** Bytes over all limits. */
double berth_i_assignment_overflow(const berth_i_assignment *s);

/** Moves what costs least, in seconds of transfers and of work on devices that have much, off
 *  devices that overflow to others that have room; then what a neighbour's move has made cheaper
 *  elsewhere. O((units + edges) x devices x log) */
berth_status berth_i_assignment_unload(berth_i_assignment *s);
/** The second half alone: units that would be cheaper elsewhere, memory kept. @param near [units]
 * 1: evaluate these */
berth_status berth_i_assignment_refine(berth_i_assignment *s, uint8_t *near);
/** Exchanges of up to three units for up to three, kicks between them, until nothing overflows or
 * `work` is spent.
 *  @param work steps, some 10 ns each @param fits nothing overflows; else s has the least
 *         overflow that was found */
berth_status berth_i_assignment_local_search(berth_i_assignment *s, double work, bool *fits);

/* ---- from anywhere to a packing ---- */

/** Devices in turn along the order of the ops, by number if that is topological, each up to its
 *  part of the bytes, twins together. It need not fit.
 *  @param part [devices] relative  @param at [units] out */
berth_status berth_i_pack_slices(const berth_i_units *u, const double *part, int32_t *at);

/** Loads the devices of the units, unplaced ones where there is most room; unloads overfull
 * devices, then local search.
 *  @param k cleared; holds the packing if there is one @param start [ops], BERTH_NONE: nowhere yet;
 *         not k->device
 *  @param at [units] out: the packing, or what comes closest  @param found k holds a packing */
berth_status berth_i_pack_near(berth_i_packing *k, const int32_t *start, int32_t *at, bool *found);

typedef enum berth_i_verdict { BERTH_I_UNKNOWN, BERTH_I_FITS, BERTH_I_UNFIT } berth_i_verdict;
/** Bin completion over units of equal kind, copies not charged: one device after another is filled
 *  to what the waste that is left allows.
 *  @param limit [devices]  @param size, temporary [units]  @param at [units] out if it fits
 *  @param verdict UNKNOWN: too many cases for so much work, in steps of some 10 ns */
berth_status berth_i_pack_complete(const berth_i_units *u, const double *limit, const double *size,
                                   const double *temporary, double work, int32_t *at,
                                   berth_i_verdict *verdict);
/** How many pieces of that size a device of the kind holds. */
static inline double berth_i_pieces_on(const berth_i_kinds *k, int32_t kind, double piece) {
  return floor(k->limit[kind] * (1 + 1e-12 + k->slack) / piece);
}
/** Bounds of bin packing on bytes that are held permanently.  @return as berth_i_prove_unfit */
berth_status berth_i_prove_bins(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                berth_obstacle *why);
/** By exhaustion, where there are few cases.  @return as berth_i_prove_unfit */
berth_status berth_i_prove_all_cases(const berth_i_units *u, const berth_i_kinds *k,
                                     const char *placer, berth_obstacle *why);

#endif
