/* OpenBLAS, if it is that, has two states of the process. The threaded build would start a thread
 * per core inside products that are mostly tiny: its number of threads is set to one. The serial
 * build hands out its scratch memory without a lock (seen in 0.3.21: two threads at once now and
 * then get wrong products): there, one product at a time. */
#include "cblas_internal.h"

#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>

#if defined(__GNUC__)
extern void openblas_set_num_threads(int n) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));
#endif

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static bool serial;

static void find_threads(void) {
#if defined(__GNUC__)
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  serial = openblas_get_parallel && openblas_get_parallel() == 0;
#endif
}

void berth_i_sgemm(int ta, int tb, int32_t m, int32_t n, int32_t k, const float *a,
                         const float *b, float beta, float *c) {
  pthread_once(&looked, find_threads);
  if (serial) pthread_mutex_lock(&one_at_a_time);
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n,
              k, 1, a, ta ? m : k, b, tb ? k : n, beta, c, n);
  if (serial) pthread_mutex_unlock(&one_at_a_time);
}
