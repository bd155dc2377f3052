/* Parallel loop over independent jobs: threads are started per call and take job numbers from one counter. */
#include "base_internal.h"
#include <pthread.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };

typedef struct Loop {
  pthread_mutex_t lock;
  int32_t next, n;
  berth_i_work_fn work;
  void *ud;
} Loop;

typedef struct Worker {
  Loop *loop;
  int32_t thread;
} Worker;

static int32_t take(Loop *loop) {
  int32_t job;
  pthread_mutex_lock(&loop->lock);
  job = loop->next < loop->n ? loop->next++ : -1;
  pthread_mutex_unlock(&loop->lock);
  return job;
}

static void *run(void *ud) {
  Worker *w = ud;
  int32_t job;
  while ((job = take(w->loop)) >= 0) w->loop->work(w->loop->ud, w->thread, job);
  return NULL;
}

int32_t berth_i_parallel_width(int32_t threads, int32_t n) {
  if (threads <= 0) threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > n) threads = n;
  if (threads > MAX_THREADS) threads = MAX_THREADS;
  return threads < 1 ? 1 : threads;
}

void berth_i_parallel(int32_t threads, int32_t n, berth_i_work_fn work, void *ud) {
  pthread_t id[MAX_THREADS];
  Worker worker[MAX_THREADS];
  Loop loop = { PTHREAD_MUTEX_INITIALIZER, 0, n, work, ud };
  int32_t width = berth_i_parallel_width(threads, n), started = 1;
  for (int32_t i = 0; i < width; i++) worker[i] = (Worker){ &loop, i };
  while (started < width && pthread_create(&id[started], NULL, run, &worker[started]) == 0) started++;
  run(&worker[0]);
  for (int32_t i = 1; i < started; i++) pthread_join(id[i], NULL);
  pthread_mutex_destroy(&loop.lock);
}
