/* Shared by the files of berth_exact: the best schedule so far with its bound, and the form of the
 * problem on identical devices without transfers. */
#ifndef BERTH_EXACT_INTERNAL_H
#define BERTH_EXACT_INTERNAL_H

#include "place/place_internal.h"
#include <berth/place.h>

enum { BERTH_I_EXACT_OPS = 64 };

/** The best schedule so far, and what is known of all. */
typedef struct berth_i_best {
  berth_i_pool pool;
  int32_t n;
  int32_t *device, *sequence;
  double *start, *finish;
  double makespan; /* INFINITY: none yet */
  double bound;
  double refused;  /* least makespan of a schedule that ran out of memory; INFINITY */
  double open;     /* least bound of what was not searched; INFINITY */
  bool interrupted, late;
  double deadline; /* by the clock; INFINITY: none */
  int64_t nodes;
  int32_t schedules;
} berth_i_best;

/** a is as long as b, or longer, but for rounding. */
static inline bool berth_i_reaches(double a, double b) { return a >= b * (1 - 1e-12); }

/** By the interrupt hook or the clock: what follows is skipped, and the answer kept. */
static inline bool berth_i_best_stopped(berth_ctx *ctx, berth_i_best *b) {
  if (!b->interrupted && berth_i_interrupted(ctx) != BERTH_OK) b->interrupted = true;
  if (!b->late && !isinf(b->deadline) && berth_i_ctx_clock(ctx) >= b->deadline) b->late = true;
  return b->interrupted || b->late;
}

/** Ops without transfers on m identical devices. Neighbours by op, each edge once per tensor that
 * makes it. */
typedef struct berth_i_equal {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t n, m, edges;
  const int32_t *topo;
  double *p, *head, *tail;              /* [n] time; before it may start; after it has ended */
  int32_t *at[2], *to[2];               /* [n + 1], [edges]: 0 successors, 1 predecessors */
  bool whole;                           /* all times are whole numbers: so is the optimum */
} berth_i_equal;

/** All devices are alike, nothing takes time to cross, no op is bound. */
bool berth_i_equal_is(const berth_cost *cost, const berth_place_options *o);
/** Its pool is to be freed also after a failure. */
berth_status berth_i_equal_init(const berth_cost *cost, berth_i_equal *e);
/** Heads, tails and a bound of the makespan at least as good as `bound`. */
berth_status berth_i_equal_bound(berth_i_equal *e, double *bound);
/** Up to `schedules` list schedules; stops at the bound. */
berth_status berth_i_equal_search(const berth_i_equal *e, uint64_t seed, int32_t schedules,
                                  berth_i_best *best);

/** Branch and bound; at most `nodes` partial schedules, up to BERTH_I_EXACT_OPS ops. */
berth_status berth_i_branch(berth_cost *cost, const berth_place_options *o, int64_t nodes,
                            bool whole, berth_i_best *best);

#endif
