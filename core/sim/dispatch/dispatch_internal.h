/* Dispatch orders: which of the ready ops an idle device runs next. One descriptor per file and
 * order; the list of them is BERTH_DISPATCHES in sim.h. To add one: spec/recipes/dispatch.c. */
#ifndef BERTH_DISPATCH_INTERNAL_H
#define BERTH_DISPATCH_INTERNAL_H

#include "cost/cost_internal.h"
#include <berth/sim.h>

/** How ready ops are kept. */
typedef enum berth_i_dispatch_kind {
  BERTH_I_DISPATCH_QUEUE,  /* in the order of becoming ready */
  BERTH_I_DISPATCH_KEYED,  /* least key first; ties: ready first */
  BERTH_I_DISPATCH_RANDOM, /* any */
  BERTH_I_DISPATCH_PLANNED /* not kept: each device runs its slice of `sequence` */
} berth_i_dispatch_kind;

typedef struct berth_i_dispatch {
  berth_choice choice;
  berth_i_dispatch_kind kind;
  const char *needs; /* option without which it cannot run; NULL: none */
  /** KEYED, or NULL: numbers that the graph and the options alone decide.  @param key [ops] out */
  berth_status (*prepare)(berth_cost *cost, const berth_sim_options *o, double *key);
  /** KEYED: the key of an op that has become ready. The noise is not known to it.
   *  @param prepared [ops]; NULL without prepare @param time of the op on its device @param place
   *         number in order of readiness */
  double (*key)(const double *prepared, int32_t op, double time, double place);
} berth_i_dispatch;

extern const berth_choice *const berth_i_dispatch_choices[]; /* NULL-terminated */
const berth_i_dispatch *berth_i_dispatch_of(berth_dispatch d);
/** Ready ops are kept by a key. */
static inline bool berth_i_compares(berth_dispatch d) {
  return berth_i_dispatch_of(d)->kind == BERTH_I_DISPATCH_KEYED;
}

#endif
