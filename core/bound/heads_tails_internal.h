/* Heads and tails of ops with the transfers that no schedule can spare. */
#ifndef BERTH_HEADS_TAILS_INTERNAL_H
#define BERTH_HEADS_TAILS_INTERNAL_H

#include "ports_internal.h"

/** Transfer times of tensors over the ordered pairs of different devices. Without a table the
 *  tensors have few different prices a byte: only pairs that are least (greatest) for some size are
 *  kept. */
typedef struct berth_i_pair_times {
  berth_i_pool pool;
  const berth_cost *cost;
  const int32_t *part; /* [devices] only pairs of different parts; NULL: all */
  berth_link *links; /* [n] */
  int32_t n;
  size_t cap;
  bool most;         /* the greatest, not the least */
} berth_i_pair_times;

/** After a failure the pool is empty.  @param part [devices] borrowed; NULL: each device is one */
berth_status berth_i_pair_times_init(const berth_cost *cost, const int32_t *part, bool most,
                                     berth_i_pair_times *p);
/** Seconds, the least or the greatest of all reachable pairs. No such pair: INFINITY if least, 0 if
 * greatest. */
double berth_i_pair_time(const berth_i_pair_times *p, int32_t tensor);
/** The same of so many bytes; not with a table. */
double berth_i_pair_time_of(const berth_i_pair_times *p, double bytes);

/** What collectives take at least: those whose members have one device each to run on, what they
 *  take there; others, and those that a function prices, nothing. @param seconds [collectives] out
 *  @return BERTH_OK, BERTH_ENOMEM */
berth_status berth_i_least_collective_times(const berth_i_units *u, double *seconds);

/**
 * See "transfers" in bound.h.
 *
 * @param collective_time [collectives] s, of berth_i_least_collective_times; NULL: collectives take
 *        no time and delay nothing
 * @param least [ops] s, least op times
 * @param head  [ops] out: no schedule starts the op earlier
 * @param tail  [ops] out: none ends earlier than so long after the op
 * @return BERTH_OK, BERTH_ENOMEM. O(edges log(edges) + devices^2); with contention O(inputs^3) more
 *         for ops of up to 64 inputs
 */
berth_status berth_i_heads_tails(const berth_i_units *u, berth_links links,
                                 const double *collective_time, const double *least, double *head,
                                 double *tail);

#endif
