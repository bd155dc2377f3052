/* What the files of the clairvoyant bound share. */
#ifndef BERTH_CLAIRVOYANT_INTERNAL_H
#define BERTH_CLAIRVOYANT_INTERNAL_H

#include "base/pool_internal.h"
#include "extern/glpk_internal.h"
#include <berth/gang.h>

/** Moments are the different arrivals. A choice is in use from its job's moment up to, not at,
 * another one. */
typedef struct berth_i_spans {
  int32_t moments;
  int32_t *job;  /* [n] of each moment: its first job */
  int32_t *from; /* [n] of each job */
  int32_t *to;   /* [choices] above that of its job, at most moments */
} berth_i_spans;

/** Checks the jobs; arrays belong to the pool. @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 * O(choices log n) */
berth_status berth_i_spans_init(berth_i_pool *pool, const berth_clairvoyant_jobs *jobs,
                                berth_i_spans *out);

#endif
