/* METIS, wrapped: its types and constants stay in metis.c.
 *
 * Process-wide state of METIS 5.1, handled here: it draws from the C library's rand(), so a call
 * saves that generator's state, seeds it, and puts the state back (a lock keeps two contexts apart;
 * another thread's rand() in the meantime would still disturb it); and while it runs it has
 * handlers on SIGABRT and SIGTERM. It allocates by malloc, outside the context's allocator. */
#ifndef BERTH_METIS_INTERNAL_H
#define BERTH_METIS_INTERNAL_H

#include "base/pool_internal.h"

/** An undirected graph in CSR: each edge in both directions, same weight; neighbours ascending; no
 * loops, no duplicates. */
typedef struct berth_i_partition {
  int32_t n, constraints, parts;
  const int32_t *at, *adjacent;  /* [n + 1], [at[n]] */
  const int32_t *edge_weight;    /* [at[n]] >= 1; their sum below 2^31 */
  const int32_t *weight;         /* [n * constraints] >= 0, vertex-major; the sum of each constraint
                                    below 2^31 */
  const double *share;           /* [parts * constraints] > 0, part-major; of each constraint
                                    summing to 1 */
  const double *slack;           /* [constraints] > 1: largest load over target load */
  uint64_t seed;
  bool shared;                   /* bisections of bisections share the slack; else each has all of
                                    it, and they add up */
} berth_i_partition;

/** Parts of least cut.  @param part [n] out
 *  @return BERTH_OK; BERTH_EINVAL (not such a graph; parts < 2 or more parts than vertices);
 *          BERTH_ENOMEM (also inside METIS) */
berth_status berth_i_metis_partition(berth_ctx *ctx, const berth_i_partition *p, int32_t *part);

#endif
