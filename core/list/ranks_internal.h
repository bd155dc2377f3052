/* Priorities that list placers share. */
#ifndef BERTH_RANKS_INTERNAL_H
#define BERTH_RANKS_INTERNAL_H

#include "engine_internal.h"

/** Longest path to a sink by mean op times, without transfers.  @param out [ops] */
berth_status berth_i_static_level(const berth_plan *p, double *out);
/** The same with mean transfers: HEFT's upward rank. */
berth_status berth_i_upward_rank(const berth_plan *p, berth_average how, double *out);
/** Mean op and transfer times. Also reports earlier refusals of the pool. */
berth_status berth_i_means(const berth_plan *p, berth_average how, berth_i_pool *pool, double **ops,
                           double **transfers);
/** What each collective takes if its members are spread over the devices in turn, s; 0 where these
 * do not reach one another. */
berth_status berth_i_spread_prices(const berth_plan *p, berth_i_pool *pool, double **out);

/** What m-etf and m-sct order candidates by, as a policy's `prepare`. */
berth_status (*berth_i_prepare_ties(const berth_place_options *opts))(void *ud, const berth_plan *p,
                                                                      double *priority);
/** Links, clock, memory and ties of the published variants. */
berth_status berth_i_set_baechi(berth_cost *cost, const berth_place_options *opts,
                                berth_i_setup *s);

#endif
