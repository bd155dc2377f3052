/* Bounds of one stage, between the files that bound a problem and all splits of its layers. */
#ifndef BERTH_SCHEDULE_BOUND_INTERNAL_H
#define BERTH_SCHEDULE_BOUND_INTERNAL_H

#include "schedule_internal.h"

/* Times along the way: since the start of F at chunk 0, and since the start of B at the last. */
typedef struct berth_i_ways {
  const berth_schedule_problem *p;
  double *forward, *backward; /* [n] start of F, of B of a micro-batch that never waits */
  double round;               /* from the start of F at chunk 0 to that of B at the last chunk */
} berth_i_ways;

/* Things that each take memory. */
typedef struct berth_i_thing {
  double work, memory, count;
} berth_i_thing;

/** The largest bound that follows from the chunks of one stage, and from the way to chunk 0 and
 *  back. Of other chunks only the numbers of chunk 0 are read.
 *  @param x [2 * chunks of a stage] scratch */
double berth_i_bound_of_stage(const berth_i_ways *w, int32_t s, berth_i_thing *x);

#endif
