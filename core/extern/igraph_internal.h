/* Layered layout and minimum cuts through igraph. Its process-wide state (error, warning and
 * attribute handlers) is set and restored around each call, which holds one mutex; it allocates
 * with malloc. */
#ifndef BERTH_IGRAPH_INTERNAL_H
#define BERTH_IGRAPH_INTERNAL_H

#include "base/base_internal.h"

/** Places of the nodes of an acyclic graph in layers (Sugiyama's method): y is the layer, x orders
 *  the nodes of a layer so that few edges cross, at least 1 apart.
 *  @param layer [n] rises along every edge  @param x [n] out  @param y [n] out
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EINVAL (igraph refuses; says why) */
berth_status berth_i_layered(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from,
                             const int32_t *to, const int32_t *layer, double *x, double *y);

/** A minimum cut of a directed graph; of several, that with the fewest nodes on the target's side,
 * which all of them have.
 *  @param capacity [m] whole numbers at least 0; what flows out of the source is below 2^52
 *  @param side [n] out: 1 on the target's side
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EINVAL (igraph refuses; says why) */
berth_status berth_i_min_cut(berth_ctx *ctx, int32_t n, int32_t m, const int32_t *from,
                             const int32_t *to, const double *capacity, int32_t source,
                             int32_t target, uint8_t *side);

#endif
