/* Dual feasible functions: what fits into bins of size 1 does so with rounded sizes, too: their sum
 * bounds the number of bins. */
#include "destructive_internal.h"

/* Fekete, Schepers: x if (k + 1) x is an integer, else floor((k + 1) x) / k. */
static double rounded(double x, int k) {
  double y = (k + 1) * x, near = nearbyint(y);
  return fabs(y - near) <= 1e-9 ? near / (k + 1) : floor(y) / k;
}

static bool exceeds_rounded(const double *x, int32_t n, int32_t bins, int k) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += rounded(x[i], k);
  return sum > bins + 1e-6;
}

/* Items below `least` dropped, those above 1 - least are whole bins. */
static bool exceeds_cut(const double *x, int32_t n, int32_t bins, double least) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += x[i] > 1 - least + 1e-9 ? 1 : x[i] >= least ? x[i] : 0;
  return sum > bins + 1e-6;
}

bool berth_i_destruct_overfull(const double *x, int32_t n, int32_t bins) {
  for (int k = 1; k <= 12; k++) {
    if (exceeds_rounded(x, n, bins, k)) return true;
  }
  for (int32_t i = 0; i < n; i++) {
    if (x[i] > 0 && x[i] <= 0.5 && exceeds_cut(x, n, bins, x[i])) return true;
  }
  return false;
}
