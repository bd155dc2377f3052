/* Least and greatest transfer times over all pairs of devices. */
#ifndef BERTH_PAIR_TIMES_INTERNAL_H
#define BERTH_PAIR_TIMES_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"

/** Transfer times of tensors over the ordered pairs of different devices. Without a table of prices
 *  a time depends on latency, bandwidth and bytes alone: only the links are kept that are least
 *  (greatest) for some size. */
typedef struct berth_i_pair_times {
  berth_i_pool pool;
  const berth_cost *cost;
  const int32_t *part; /* [devices] only pairs of different parts count; NULL: all pairs */
  berth_link *links;   /* [n] */
  int32_t n;
  size_t cap;
  bool most;           /* the greatest, not the least */
} berth_i_pair_times;

/** After a failure the pool is empty.  @param part [devices] borrowed; NULL: each device is one
 *  O(devices^2 n) */
berth_status berth_i_pair_times_init(const berth_cost *cost, const int32_t *part, bool most,
                                     berth_i_pair_times *p);
/** Seconds, the least or the greatest of all reachable pairs. No such pair: INFINITY if least, 0 if
 *  greatest.  O(n); with a table O(devices^2) */
double berth_i_pair_time(const berth_i_pair_times *p, int32_t tensor);
/** The same of so many bytes; not with a table. */
double berth_i_pair_time_of(const berth_i_pair_times *p, double bytes);

#endif
