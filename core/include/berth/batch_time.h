/* Op times at batch sizes between and beside the profiled ones. */
#ifndef BERTH_BATCH_TIME_H
#define BERTH_BATCH_TIME_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The straight line through the two profiled batch sizes around `batch`, or the nearest two beyond an end; at least 0.
 *
 * @param n        at least 2
 * @param batches  [n] rising  @param seconds [n]
 * @param whole_us 1: cut off to whole microseconds, as published
 * @return BERTH_OK, BERTH_EINVAL
 * O(n). Source: the published code of TAG (see allreduce.h).
 */
berth_status berth_batch_time(berth_ctx *ctx, int32_t n, const double *batches, const double *seconds, double batch, int whole_us,
                              double *out);

#ifdef __cplusplus
}
#endif
#endif
