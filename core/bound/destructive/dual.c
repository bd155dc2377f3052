/* Dual feasible functions: what fits into bins of size 1 does so with rounded sizes, too, so that
 * their sum bounds the number of bins. Two families: Fekete, Schepers 2001 round to multiples of
 * 1 / k; Martello, Toth drop items below `least` and make those above 1 - least whole bins.
 * O(n^2). */
#include "destructive_internal.h"

bool berth_i_destruct_overfull(const double *x, int32_t n, int32_t bins) {
  for (int k = 1; k <= 12; k++) {
    double sum = 0; /* of x if (k + 1) x is an integer, else of floor((k + 1) x) / k */
    for (int32_t i = 0; i < n; i++) {
      double y = (k + 1) * x[i], near = nearbyint(y);
      sum += fabs(y - near) <= 1e-9 ? near / (k + 1) : floor(y) / k;
    }
    if (sum > bins + 1e-6) return true;
  }
  for (int32_t j = 0; j < n; j++) {
    double least = x[j], sum = 0;
    if (!(least > 0 && least <= 0.5)) continue;
    for (int32_t i = 0; i < n; i++) sum += x[i] > 1 - least + 1e-9 ? 1 : x[i] >= least ? x[i] : 0;
    if (sum > bins + 1e-6) return true;
  }
  return false;
}
