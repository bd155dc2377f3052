/* Units: colocation groups contracted, other ops alone. For the placers that put whole groups, and
 * for the bounds. */
#ifndef BERTH_UNITS_INTERNAL_H
#define BERTH_UNITS_INTERNAL_H

#include "placement_internal.h"

/** Numbered by their first op in topological order. */
typedef struct berth_i_units {
  berth_i_pool pool;
  berth_cost *cost;              /* borrowed */
  int32_t n, n_ops, n_classes;
  int32_t *of;                   /* [n_ops] */
  int32_t *at, *ops;             /* [n + 1], [n_ops]: members, in topological order */
  double *time;                  /* [n * n_classes] s, sum over members; BERTH_UNSUPPORTED if one of
                                    them cannot run there */
  int32_t *pin;                  /* [n] */
  double *permanent, *temporary; /* [n] bytes: sum, and the largest */
  berth_memory_policy memory;
  double param_multiple;
  double share;                  /* of the outputs (and, in a packing, copies) counts as permanent,
                                    the rest as temporary */
} berth_i_units;

/** The share is 1 under TOTAL, else 0: then a device that does not hold its sum and its largest
 * cannot run its units at all.
 *  @return BERTH_OK; BERTH_EINFEASIBLE (a group whose members have no device in common);
 *          BERTH_ENOMEM */
berth_status berth_i_units_init(berth_cost *cost, const char *placer, berth_memory_policy memory,
                                double param_multiple, berth_i_units *u, berth_obstacle *why);
void berth_i_units_release(berth_i_units *u);
/** Counts the units anew; with share 1 a packing holds in any order. */
void berth_i_units_size(berth_i_units *u, double share);

static inline double berth_i_unit_time(const berth_i_units *u, int32_t unit, int32_t device) {
  return u->time[(size_t)unit * (size_t)u->n_classes + (size_t)u->cost->class_of[device]];
}
/** Types and pins allow it. */
static inline bool berth_i_unit_can_run(const berth_i_units *u, int32_t unit, int32_t device) {
  return (u->pin[unit] == BERTH_NONE || u->pin[unit] == device)
         && !isinf(berth_i_unit_time(u, unit, device));
}
/** The member with the largest demand: the one to name in a message. */
int32_t berth_i_unit_largest(const berth_i_units *u, int32_t unit, berth_memory_policy memory,
                             double param_multiple);

#endif
