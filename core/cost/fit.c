/* Fits latency and bandwidth to measured transfers: least squares of a line, about the means, of
 * absolute or of relative errors (weights 1 / seconds^2). A negative latency is replaced by 0, and
 * the line then goes through the origin. O(measurements). */
#include "cost_internal.h"

typedef struct sums {
  double w, mean_x, mean_y;  /* sum of weights; weighted means */
  double xx, xy, yy;         /* weighted, about the means */
} sums;

static double weight(double y, int relative) { return relative ? 1 / (y * y) : 1; }

static berth_status check_points(berth_ctx *ctx, int32_t n, const double *x, const double *y,
                                 int relative) {
  bool differ = false;
  for (int32_t i = 0; i < n; i++) {
    if (!(x[i] >= 0) || isinf(x[i]) || !(y[i] >= 0) || isinf(y[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "measurement %d: %g B in %g s: both must be at least 0 and finite",
                          (int)i, x[i], y[i]);
    if (relative && y[i] == 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "measurement %d: %g B in 0 s has no relative error",
                          (int)i, x[i]);
    differ = differ || x[i] != x[0];
  }
  if (!differ)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "a fit needs measurements of at least two different sizes");
  return BERTH_OK;
}

static sums sum_up(int32_t n, const double *x, const double *y, int relative) {
  sums s = { 0, 0, 0, 0, 0, 0 };
  for (int32_t i = 0; i < n; i++) {
    double w = weight(y[i], relative);
    s.w += w;
    s.mean_x += (x[i] - s.mean_x) * (w / s.w);
    s.mean_y += (y[i] - s.mean_y) * (w / s.w);
  }
  for (int32_t i = 0; i < n; i++) {
    double w = weight(y[i], relative), dx = x[i] - s.mean_x, dy = y[i] - s.mean_y;
    s.xx += w * dx * dx;
    s.xy += w * dx * dy;
    s.yy += w * dy * dy;
  }
  return s;
}

static double slope_through_origin(int32_t n, const double *x, const double *y, int relative) {
  double xx = 0, xy = 0;
  for (int32_t i = 0; i < n; i++) {
    double w = weight(y[i], relative);
    xx += w * x[i] * x[i];
    xy += w * x[i] * y[i];
  }
  return xy / xx;
}

static double determination(int32_t n, const double *x, const double *y, int relative, double a,
                            double b, const sums *s) {
  double left = 0;
  for (int32_t i = 0; i < n; i++) {
    double e = y[i] - (a + b * x[i]);
    left += weight(y[i], relative) * e * e;
  }
  return 1 - left / s->yy;
}

berth_status berth_fit_link(berth_ctx *ctx, int32_t n, const double *bytes, const double *seconds,
                            int relative, berth_link *out, double *r2) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = check_points(ctx, n, bytes, seconds, relative);
  if (st != BERTH_OK) return st;
  sums s = sum_up(n, bytes, seconds, relative);
  double b = s.xy / s.xx;
  double a = s.mean_y - b * s.mean_x;
  if (b > 0 && a < 0) {
    a = 0;
    b = slope_through_origin(n, bytes, seconds, relative);
  }
  if (!(b > 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "the fitted time does not grow with size: %g s per byte",
                        b);
  double fit = determination(n, bytes, seconds, relative, a, b, &s);
  if (!isfinite(a) || !isfinite(1 / b) || 1 / b == 0 || !isfinite(fit))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "the measurements are out of range: %g s + %g s per byte", a, b);
  out->latency = a;
  out->bandwidth = 1 / b;
  if (r2) *r2 = fit;
  return BERTH_OK;
}
