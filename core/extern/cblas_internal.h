/* CBLAS behind one function: single-precision products of dense row-major matrices. */
#ifndef BERTH_CBLAS_INTERNAL_H
#define BERTH_CBLAS_INTERNAL_H

#include <stdint.h>

/** c [m x n] = a b + beta c; a [m x k] (transposed: [k x m]), b [k x n] (transposed: [n x k]). No
 * extent may be 0. */
void berth_i_sgemm(int ta, int tb, int32_t m, int32_t n, int32_t k, const float *a,
                         const float *b, float beta, float *c);

#endif
