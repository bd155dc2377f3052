/* Dual feasible functions: what fits into bins of size 1 does so with rounded sizes, too, so that
 * their sum bounds the number of bins. Two families: Fekete, Schepers 2001 round to multiples of
 * 1 / k; Martello, Toth drop items below `least` and make those above 1 - least whole bins.
 * O(n log(n)). */
#include "base/sort_internal.h"
#include "destructive_internal.h"

bool berth_i_destruct_overfull(double *x, int32_t n, int32_t bins) {
  for (int k = 1; k <= 12; k++) {
    double sum = 0; /* of x if (k + 1) x is an integer, else of floor((k + 1) x) / k */
    for (int32_t i = 0; i < n; i++) {
      double y = (k + 1) * x[i];
      int near = (int)(y + 0.5);
      sum += fabs(y - near) <= 1e-9 ? near / (k + 1.0) : (int)y / (double)k;
    }
    if (sum > bins + 1e-6) return true;
  }
  /* by rising `least`: [first, above) count as they are, from `above` on as whole bins */
  double sum = 0;
  int32_t above = n;
  berth_i_sort_numbers(x, n);
  for (int32_t i = 0; i < n; i++) sum += x[i];
  for (int32_t first = 0; first < n && x[first] <= 0.5; first++) {
    while (above > first && x[above - 1] > 1 - x[first] + 1e-9) sum -= x[--above];
    if (x[first] > 0 && sum + (n - above) > bins + 1e-6) return true;
    sum -= x[first];
  }
  return false;
}
