/* Parallel loops over independent jobs. Each call starts its own worker threads; workers take job
 * numbers from cursors under one lock. The calling thread is worker 0: it alone runs jobs that must
 * stay with the caller, and calls `watch`. */
#include "base_internal.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256, WATCH_NS = 5000000 };

typedef struct worker_pool {
  pthread_mutex_t lock;
  pthread_cond_t finished;
  const berth_i_jobs *jobs;
  int32_t n, done;
  int32_t next_own, next_other; /* cursors over the same jobs: the caller's own, the others */
  bool alone;                   /* there is one worker: jobs run in order, whosever they are */
} worker_pool;

typedef struct worker {
  worker_pool *pool;
  int32_t thread;
} worker;

static bool is_own(const worker_pool *p, int32_t job) { return p->jobs->own && p->jobs->own[job]; }

static int32_t next_of_kind(const worker_pool *p, int32_t *next, bool own) {
  while (*next < p->n && is_own(p, *next) != own) ++*next;
  return *next < p->n ? (*next)++ : -1;
}

static int32_t take(worker_pool *p, int32_t thread) {
  int32_t job = -1;
  pthread_mutex_lock(&p->lock);
  if (p->alone) {
    if (p->next_other < p->n) job = p->next_other++;
  } else {
    if (thread == 0) job = next_of_kind(p, &p->next_own, true);
    if (job < 0) job = next_of_kind(p, &p->next_other, false);
  }
  pthread_mutex_unlock(&p->lock);
  return job;
}

/* @return false: no job is left for this worker */
static bool run_one(worker_pool *p, int32_t thread) {
  int32_t job = take(p, thread);
  if (job < 0) return false;
  p->jobs->work(p->jobs->ud, thread, job);
  if (!p->jobs->watch) return true;
  pthread_mutex_lock(&p->lock);
  p->done++;
  pthread_cond_signal(&p->finished);
  pthread_mutex_unlock(&p->lock);
  return true;
}

static void *run_worker(void *ud) {
  const worker *w = ud;
  while (run_one(w->pool, w->thread)) continue;
  return NULL;
}

/* Waits until a job ends, WATCH_NS at most.  @return all jobs have ended */
static bool wait_for_job(worker_pool *p) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); /* a time limit of the wait, not a measurement */
  until.tv_nsec += WATCH_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&p->lock);
  if (p->done < p->n) pthread_cond_timedwait(&p->finished, &p->lock, &until);
  bool all = p->done == p->n;
  pthread_mutex_unlock(&p->lock);
  return all;
}

static void run_caller(worker_pool *p) {
  const berth_i_jobs *jobs = p->jobs;
  while (run_one(p, 0)) {
    if (jobs->watch) jobs->watch(jobs->ud);
  }
  for (bool all = !jobs->watch; !all;) {
    all = wait_for_job(p);
    jobs->watch(jobs->ud);
  }
}

int32_t berth_i_parallel_width(int32_t threads, int32_t n) {
  if (threads <= 0) threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > n) threads = n;
  if (threads > MAX_THREADS) threads = MAX_THREADS;
  return threads < 1 ? 1 : threads;
}

void berth_i_parallel_watched(int32_t threads, int32_t n, const berth_i_jobs *jobs) {
  worker_pool p = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, jobs, n, 0, 0, 0, false };
  int32_t width = berth_i_parallel_width(threads, n), started = 1;
  p.alone = width == 1;
  worker w[MAX_THREADS];
  for (int32_t i = 0; i < width; i++) w[i] = (worker){ &p, i };
  pthread_t id[MAX_THREADS];
  while (started < width && pthread_create(&id[started], NULL, run_worker, &w[started]) == 0)
    started++;
  run_caller(&p);
  for (int32_t i = 1; i < started; i++) pthread_join(id[i], NULL);
  pthread_cond_destroy(&p.finished);
  pthread_mutex_destroy(&p.lock);
}

void berth_i_parallel(int32_t threads, int32_t n, berth_i_work_fn work, void *ud) {
  berth_i_parallel_watched(threads, n, &(berth_i_jobs){ work, NULL, NULL, ud });
}
