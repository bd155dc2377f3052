/* The one clock that the library reads by itself (berth/exec.h): monotonic, in seconds; waiting
 * until a time, which needs conditions on the same clock. */
#include "exec_internal.h"
#include <errno.h>
#include <time.h>
#if defined(__linux__)
# include <sys/prctl.h>
#endif

void berth_i_exec_sharpen_timers(void) {
#if defined(PR_SET_TIMERSLACK)
  prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul); /* ns; the usual 50 us are as long as small
                                                      transfers */
#endif
}

double berth_i_exec_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool berth_i_exec_wait_until(pthread_cond_t *wake, pthread_mutex_t *lock, double until) {
  double whole = floor(until);
  if (!(until < 1e9)) { /* some thirty years */
    pthread_cond_wait(wake, lock);
    return true;
  }
  struct timespec t;
  t.tv_sec = (time_t)whole;
  t.tv_nsec = (long)((until - whole) * 1e9);
  return pthread_cond_timedwait(wake, lock, &t) != ETIMEDOUT;
}

int berth_i_exec_cond_init(pthread_cond_t *c) {
  pthread_condattr_t attr;
  int failed = pthread_condattr_init(&attr);
  if (failed) return failed;
  failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  if (!failed) failed = pthread_cond_init(c, &attr);
  pthread_condattr_destroy(&attr);
  return failed;
}
