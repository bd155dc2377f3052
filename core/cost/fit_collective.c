/* Fits models of AllReduce times to measurements: the ring, by least squares in two regressors
 * without intercept, and TAG's two lines. O(measurements). */
#include "cost_internal.h"

/* ---- the ring: two regressors, steps and bytes that a device sends, no intercept ---- */

typedef struct points {
  int32_t n;
  const double *bytes, *seconds;
  const int32_t *devices;
  int relative;
} points;

static double weight(const points *p, int32_t i) {
  return p->relative ? 1 / (p->seconds[i] * p->seconds[i]) : 1;
}
static double steps(const points *p, int32_t i) { return 2.0 * (p->devices[i] - 1); }
static double sent(const points *p, int32_t i) { return steps(p, i) / p->devices[i] * p->bytes[i]; }

static berth_status check_time(berth_ctx *ctx, int32_t i, double bytes, double seconds) {
  if (bytes >= 0 && !isinf(bytes) && seconds >= 0 && !isinf(seconds)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "measurement %d: %g B in %g s: both must be at least 0 and finite", (int)i,
                      bytes, seconds);
}

static berth_status check_points(berth_ctx *ctx, const points *p) {
  for (int32_t i = 0; i < p->n; i++) {
    berth_status st = check_time(ctx, i, p->bytes[i], p->seconds[i]);
    if (st != BERTH_OK) return st;
    if (p->devices[i] < 2)
      return berth_i_fail(ctx, BERTH_EINVAL, "measurement %d: %d devices: two at least", (int)i,
                          (int)p->devices[i]);
    if (p->relative && p->seconds[i] == 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "measurement %d: %g B in 0 s has no relative error",
                          (int)i, p->bytes[i]);
  }
  return BERTH_OK;
}

typedef struct sums {
  double kk, kb, bb, ky, by; /* weighted products of steps, bytes sent, seconds */
  double w, y, yy;
} sums;

static sums sum_up(const points *p) {
  sums s = { 0, 0, 0, 0, 0, 0, 0, 0 };
  for (int32_t i = 0; i < p->n; i++) {
    double w = weight(p, i), k = steps(p, i), b = sent(p, i), y = p->seconds[i];
    s.kk += w * k * k;
    s.kb += w * k * b;
    s.bb += w * b * b;
    s.ky += w * k * y;
    s.by += w * b * y;
    s.w += w;
    s.y += w * y;
    s.yy += w * y * y;
  }
  return s;
}

static double determination(const points *p, const sums *s, double latency, double per_byte) {
  double left = 0;
  for (int32_t i = 0; i < p->n; i++) {
    double e = p->seconds[i] - latency * steps(p, i) - per_byte * sent(p, i);
    left += weight(p, i) * e * e;
  }
  return 1 - left / (s->yy - s->y * s->y / s->w);
}

berth_status berth_fit_collective(berth_ctx *ctx, int32_t count, const double *bytes,
                                  const int32_t *devices, const double *seconds, int relative,
                                  berth_link *out, double *r2) {
  if (!ctx) return BERTH_EINVAL;
  points p = { count, bytes, seconds, devices, relative };
  berth_status st = check_points(ctx, &p);
  if (st != BERTH_OK) return st;
  sums s = sum_up(&p);
  double det = s.kk * s.bb - s.kb * s.kb;
  if (!(det > 1e-14 * s.kk * s.bb))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "a fit needs measurements that differ in size or in devices");
  double latency = (s.ky * s.bb - s.by * s.kb) / det;
  double per_byte = (s.by * s.kk - s.ky * s.kb) / det;
  if (per_byte > 0 && latency < 0) {
    latency = 0;
    per_byte = s.by / s.bb;
  }
  if (!(per_byte > 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "the fitted time does not grow with size: %g s per byte",
                        per_byte);
  double fit = determination(&p, &s, latency, per_byte);
  if (!isfinite(latency) || !isfinite(1 / per_byte) || 1 / per_byte == 0 || isnan(fit))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "the measurements are out of range: %g s + %g s per byte", latency,
                        per_byte);
  out->latency = latency;
  out->bandwidth = 1 / per_byte;
  if (r2) *r2 = fit;
  return BERTH_OK;
}

/* ---- two lines, robustly ---- */

#define KNEE 1.35 /* scales: errors beyond count linearly */
#define KIB 1024.0

enum { MOST_PASSES = 200 };

typedef struct branch {
  int32_t n;
  const double *bytes, *seconds;
  double above, below; /* sizes between */
} branch;

typedef struct line {
  double slope, offset, scale; /* us per KiB, us, us */
} line;

static bool inside(const branch *b, int32_t i) {
  return b->bytes[i] > b->above && b->bytes[i] < b->below;
}
static double kib(const branch *b, int32_t i) { return floor(b->bytes[i] / KIB); }
static double error(const branch *b, const line *l, int32_t i) {
  return b->seconds[i] * 1e6 - (l->slope * kib(b, i) + l->offset);
}

/* 1 up to the knee; beyond, such that the error counts linearly. */
static double weight_of(double e, double scale) {
  return fabs(e) > KNEE * scale ? KNEE * scale / fabs(e) : 1;
}

/* Huber's regression with the scale as a parameter of its own, by iteratively reweighted least
 * squares (Huber, "Robust statistics", 1981, ch. 7). The first pass has all weights 1. */
static berth_status fit_branch(berth_ctx *ctx, const branch *b, double *out) {
  line l = { 0, 0, INFINITY };
  for (int pass = 0; pass < MOST_PASSES; pass++) {
    line before = l;
    double sum = 0, x = 0, y = 0, xx = 0, xy = 0;
    /* weights by the line before; weighted means, then moments about them */
    for (int32_t i = 0; i < b->n; i++) {
      if (!inside(b, i)) continue;
      double w = weight_of(error(b, &l, i), l.scale);
      sum += w;
      x += (kib(b, i) - x) * (w / sum);
      y += (b->seconds[i] * 1e6 - y) * (w / sum);
    }
    for (int32_t i = 0; i < b->n; i++) {
      if (!inside(b, i)) continue;
      double w = weight_of(error(b, &l, i), l.scale), dx = kib(b, i) - x;
      xx += w * dx * dx;
      xy += w * dx * (b->seconds[i] * 1e6 - y);
    }
    if (!(xx > 0))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "the lines need measurements of two sizes at least between %g and %g B",
                          b->above, b->below);
    l.slope = xy / xx;
    l.offset = y - l.slope * x;
    /* the scale at which the loss is least for this line */
    double squares = 0, n = 0, beyond = 0;
    for (int32_t i = 0; i < b->n; i++) {
      double e = error(b, &l, i);
      if (!inside(b, i)) continue;
      n++;
      if (fabs(e) > KNEE * l.scale) beyond++;
      else squares += e * e;
    }
    if (n > beyond * KNEE * KNEE) l.scale = sqrt(squares / (n - beyond * KNEE * KNEE));
    if (l.slope == before.slope && l.offset == before.offset && l.scale == before.scale) break;
    if (!(l.scale > 1e-12 * (fabs(l.offset) + 1))) break; /* all on the line */
  }
  if (!isfinite(l.slope) || !isfinite(l.offset))
    return berth_i_fail(ctx, BERTH_EINVAL, "the measurements are out of range");
  out[0] = l.slope;
  out[1] = l.offset;
  return BERTH_OK;
}

berth_status berth_fit_lines(berth_ctx *ctx, int32_t n, const double *bytes, const double *seconds,
                             double *lines) {
  if (!ctx) return BERTH_EINVAL;
  branch small = { n, bytes, seconds, -1, 256 * KIB },
         large = { n, bytes, seconds, 1024 * KIB, INFINITY };
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) st = check_time(ctx, i, bytes[i], seconds[i]);
  double fitted[4];
  if (st != BERTH_OK || (st = fit_branch(ctx, &small, fitted)) != BERTH_OK) return st;
  if ((st = fit_branch(ctx, &large, fitted + 2)) != BERTH_OK) return st;
  memcpy(lines, fitted, sizeof fitted);
  return BERTH_OK;
}
