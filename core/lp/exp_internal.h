/* exp and log from additions, multiplications and one division: the same bits on every machine,
 * unlike those of the C library. Errors below 1e-12, which no bound depends on: those of a
 * solution are sums over the graph. */
#ifndef BERTH_LP_EXP_INTERNAL_H
#define BERTH_LP_EXP_INTERNAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/** 0 below -700 and for NaN; at most exp(700). */
static inline double berth_i_lp_exp(double x) {
  if (!(x > -700)) return 0;
  if (x > 700) x = 700;
  /* rounds to nearest: the converted value is positive */
  int32_t k = (int32_t)(x * 1.4426950408889634 + 1024.5) - 1024;
  double r = x - k * 0.693147180369123816490 - k * 1.90821492927058770002e-10;
  double r2 = r * r;
  double r4 = r2 * r2;
  double low = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  double high = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040))
       + r4 * ((1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)));
  double y = low + r4 * high;
  uint64_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits += (uint64_t)(int64_t)k << 52;
  memcpy(&y, &bits, sizeof y);
  return y;
}

/** -INFINITY below the least normal number; x must not be infinite or not a number. */
static inline double berth_i_lp_log(double x) {
  if (!(x >= 2.2250738585072014e-308)) return -INFINITY;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int32_t k = (int32_t)(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  memcpy(&x, &bits, sizeof x);
  if (x > 1.4142135623730951) {
    x *= 0.5;
    k++;
  }
  double s = (x - 1) / (x + 1);
  double z = s * s;
  double sum = 1.0 / 17 + z * (1.0 / 19 + z * (1.0 / 21));
  sum = 1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15 + z * sum)));
  sum = 1 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * sum)));
  return k * 0.693147180559945309417 + 2 * s * sum;
}

#endif
