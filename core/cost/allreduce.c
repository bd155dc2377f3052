/* TAG's model of AllReduce times: two lines in the size, fitted by its authors at 2810 MB/s, scaled
 * to another bandwidth. Source: TAG's published code. */
#include "base/base_internal.h"
#include <berth/cost.h>

berth_status berth_tag_lines(berth_ctx *ctx, double bandwidth, double *lines) {
  if (!ctx) return BERTH_EINVAL;
  static const double fitted[] = { 0.043420241077615454, 368.2013618677043, 0.27766802543921265,
                                   211.91926070037152 };
  if (!(bandwidth > 0) || isinf(bandwidth) || isinf(fitted[1] * (2810e6 / bandwidth)))
    return berth_i_fail(ctx, BERTH_EINVAL, "a bandwidth of %g B/s has no lines", bandwidth);
  for (int k = 0; k < 4; k++) lines[k] = fitted[k] * (2810e6 / bandwidth);
  return BERTH_OK;
}
