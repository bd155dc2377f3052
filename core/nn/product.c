/* Matrix products: CBLAS but for extents of 0, which it refuses. k = 0: the product is zero. */
#include "extern/cblas_internal.h"
#include "nn_internal.h"

void berth_i_gemm(int ta, int tb, int32_t m, int32_t n, int32_t k, const float *a, const float *b,
                  float beta, float *c) {
  if (m == 0 || n == 0) return;
  if (k > 0) berth_i_sgemm(ta, tb, m, n, k, a, b, beta, c);
  else if (beta == 0) memset(c, 0, (size_t)m * (size_t)n * sizeof *c);
}
