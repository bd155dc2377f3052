/* Heads and tails of ops with the transfers that every schedule needs: no schedule starts an op
 * before its head, or ends sooner than its tail after the op. */
#ifndef BERTH_HEADS_TAILS_INTERNAL_H
#define BERTH_HEADS_TAILS_INTERNAL_H

#include "lp/pair_times_internal.h"
#include "ports_internal.h"

/** What collectives take at least: those whose members have one device each to run on, what they
 *  take there; others, and those that a function prices, nothing. @param seconds [collectives] out
 *  @return BERTH_OK, BERTH_ENOMEM */
berth_status berth_i_least_collective_times(const berth_i_units *u, double *seconds);

/** When the collectives that an op waits for end at least; dir 1, backwards: those that wait for
 * it.
 *  @param seconds [collectives] NULL: they take no time
 *  @param members_end [collectives] latest end of a member so far, of berth_i_record_member */
static inline double berth_i_collectives_end(const berth_graph *g, const double *seconds,
                                             const double *members_end, int dir, int32_t op) {
  const int32_t *at = dir ? g->wait_at : g->after_at, *list = dir ? g->wait : g->after;
  double end = 0;
  if (!seconds || !at) return 0;
  for (int32_t i = at[op]; i < at[op + 1]; i++)
    end = fmax(end, members_end[list[i]] + seconds[list[i]]);
  return end;
}
static inline void berth_i_record_member(const berth_graph *g, double *members_end, int dir,
                                         int32_t op, double end) {
  const int32_t *at = dir ? g->after_at : g->wait_at, *list = dir ? g->after : g->wait;
  for (int32_t i = at ? at[op] : 0; at && i < at[op + 1]; i++)
    members_end[list[i]] = fmax(members_end[list[i]], end);
}

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
