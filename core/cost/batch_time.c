/* Op times at batch sizes between and beside the profiled ones: on the line through the two
 * profiled sizes around it, or through the outermost two. */
#include "base/base_internal.h"
#include <berth/cost.h>

static berth_status check(berth_ctx *ctx, int32_t n, const double *batches, const double *seconds,
                          double batch) {
  if (n < 2)
    return berth_i_fail(ctx, BERTH_EINVAL, "a line needs two profiled batch sizes, not %d", (int)n);
  if (!(batch >= 0) || isinf(batch))
    return berth_i_fail(ctx, BERTH_EINVAL, "a batch of %g makes no sense", batch);
  for (int32_t k = 0; k < n; k++) {
    if (!(batches[k] >= 0) || isinf(batches[k]) || (k > 0 && batches[k] <= batches[k - 1]))
      return berth_i_fail(ctx, BERTH_EINVAL, "batch size %d is %g: they must rise from at least 0",
                          (int)k, batches[k]);
    if (!(seconds[k] >= 0) || isinf(seconds[k]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "a batch of %g takes %g s: not a finite number of at least 0", batches[k],
                          seconds[k]);
  }
  return BERTH_OK;
}

berth_status berth_batch_time(berth_ctx *ctx, int32_t n, const double *batches,
                              const double *seconds, double batch, int whole_us, double *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = check(ctx, n, batches, seconds, batch);
  int32_t k = 1;
  if (st != BERTH_OK) return st;
  while (k < n - 1 && batches[k] < batch) k++;
  double width = batches[k] - batches[k - 1];
  double t = fmax(0, seconds[k] * ((batch - batches[k - 1]) / width)
                         + seconds[k - 1] * ((batches[k] - batch) / width));
  *out = whole_us ? floor(t * 1e6 + 1e-6) * 1e-6 : t; /* 30 us in seconds may be a little less */
  return BERTH_OK;
}
