/* What the files of Dorm share. */
#ifndef BERTH_PS_DORM_INTERNAL_H
#define BERTH_PS_DORM_INTERNAL_H

#include "base/heap_internal.h"
#include "policies_internal.h"

/** A job of the slot, when bundles are shared out. */
typedef struct berth_i_dorm_job {
  int32_t job;
  berth_i_ps_bundle bundle;
  double demand[BERTH_PS_RESOURCES]; /* of a bundle */
  double share, use;                 /* of a bundle: largest share, sum of shares */
  int32_t most;                      /* bundles; 0: of something there is none */
  int32_t before, fair, chosen;      /* bundles: had, by DRF on the cluster's sums, gets */
  bool runs;
} berth_i_dorm_job;

typedef struct berth_i_dorm {
  berth_ps_scheduler base;
  berth_ps_dorm_options o;
  berth_ps_dorm_counts counts;
  berth_i_heap queue;        /* of a progressive filling, then of candidates */
  berth_i_dorm_job *list;    /* [jobs], n of which are there */
  int32_t n, running;
  int32_t *bundles;          /* [jobs] that were placed last */
  int32_t *cell;             /* [most_cells] bundles by job there and machine: before, then
                                chosen */
  bool by_machine;           /* cells are meant */
} berth_i_dorm;

/** Sum of distances from the DRF shares that is allowed. */
static inline double berth_i_dorm_unfairness(const berth_i_dorm *d) {
  return d->o.theta_f * 2 * d->base.ps->o.resources;
}
/** Running jobs that may get more or less. */
static inline int32_t berth_i_dorm_adjustable(const berth_i_dorm *d) {
  return (int32_t)floor(d->o.theta_a * d->running + 1e-9);
}

/** Sets `chosen`, and cells. `*solved`: there was an answer. */
berth_status berth_i_dorm_program(berth_i_dorm *d, bool *solved);

#endif
