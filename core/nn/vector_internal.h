/* Loops over numbers: what lets the compiler vectorise them, and an exponential that it can.
 * Include before all else.
 *
 * GCC at -O2 leaves loops of unknown length scalar. No value changes: the options only give up
 * errno and floating-point traps. */
#ifndef BERTH_NN_VECTOR_INTERNAL_H
#define BERTH_NN_VECTOR_INTERNAL_H

#if defined(__GNUC__) && !defined(__clang__)
# pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif

#include <math.h>
#include <stdint.h>
#include <string.h>

/**
 * e^x to 2 units in the last place; 0 below -86.5 (no denormals), INFINITY above 88.72, NaN stays.
 * No branch, no table, no libm: same bytes on every processor.
 *
 * x = n ln 2 + r. Adding 1.5 * 2^23 rounds to n, which is then in the low bits. Source:
 * Moshier, Cephes, expf.
 */
static inline float berth_i_exp(float x) {
  const float magic = 0x1.8p23f, low = -86.5f, high = 88.72f;
  float c = x < low    ? low
            : x > high ? high
                       : x,
        shifted = c * 1.44269504088896341f + magic, n = shifted - magic;
  float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  uint32_t base = 0x4B400000u;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - base + 126) << 23; /* 2^(n - 1): n may be 128 */
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  y = y * scale * 2;
  return x < low ? 0 : x > high ? INFINITY : y;
}

static inline float berth_i_sigmoid(float x) { return 1 / (1 + berth_i_exp(-x)); }

/** To 3 units in the last place. Source: Moshier, Cephes, tanhf. */
static inline float berth_i_tanh(float x) {
  float s = x * x, a = fabsf(x), y = -5.70498872745e-3f;
  y = y * s + 2.06390887954e-2f;
  y = y * s - 5.37397155531e-2f;
  y = y * s + 1.33314422036e-1f;
  y = y * s - 3.33332819422e-1f;
  y = y * s * x + x;
  float far = 1 - 2 / (berth_i_exp(2 * a) + 1);
  far = x < 0 ? -far : far;
  return a < 0.625f ? y : x != x ? x : far;
}

enum { BERTH_I_LANES = 8 };

/** Sums in eight lanes: vectorises, and is more exact than one after the other. */
static inline float berth_i_sum(const float *x, int64_t n) {
  float lane[BERTH_I_LANES] = { 0 }, rest = 0;
  int64_t i, whole = n - n % BERTH_I_LANES;
  for (i = 0; i < whole; i += BERTH_I_LANES) {
    for (int k = 0; k < BERTH_I_LANES; k++) lane[k] += x[i + k];
  }
  for (; i < n; i++) rest += x[i];
  return (((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])))
         + rest;
}
static inline float berth_i_dot(const float *x, const float *y, int64_t n) {
  float lane[BERTH_I_LANES] = { 0 }, rest = 0;
  int64_t i, whole = n - n % BERTH_I_LANES;
  for (i = 0; i < whole; i += BERTH_I_LANES) {
    for (int k = 0; k < BERTH_I_LANES; k++) lane[k] += x[i + k] * y[i + k];
  }
  for (; i < n; i++) rest += x[i] * y[i];
  return (((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])))
         + rest;
}

/** Sum of (x - from)^power, power 1 or 2, in double. */
static inline double berth_i_moment(const float *x, int64_t n, double from, int power) {
  double lane[BERTH_I_LANES] = { 0 }, sum = 0;
  int64_t i, whole = n - n % BERTH_I_LANES;
  for (i = 0; i < whole; i += BERTH_I_LANES) {
    for (int k = 0; k < BERTH_I_LANES; k++) {
      double v = x[i + k] - from;
      lane[k] += power == 1 ? v : v * v;
    }
  }
  for (; i < n; i++) sum += power == 1 ? x[i] - from : (x[i] - from) * (x[i] - from);
  for (int k = 0; k < BERTH_I_LANES; k++) sum += lane[k];
  return sum;
}

#endif
