/* Parallel loops over independent jobs: threads are started per call and take job numbers from one
 * counter. */
#include "base_internal.h"
#include <pthread.h>
#include <time.h>
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
  pthread_mutex_lock(&loop->lock);
  int32_t job = loop->next < loop->n ? loop->next++ : -1;
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
  Worker worker[MAX_THREADS];
  Loop loop = { PTHREAD_MUTEX_INITIALIZER, 0, n, work, ud };
  int32_t width = berth_i_parallel_width(threads, n), started = 1;
  for (int32_t i = 0; i < width; i++) worker[i] = (Worker){ &loop, i };
  pthread_t id[MAX_THREADS];
  while (started < width && pthread_create(&id[started], NULL, run, &worker[started]) == 0)
    started++;
  run(&worker[0]);
  for (int32_t i = 1; i < started; i++) pthread_join(id[i], NULL);
  pthread_mutex_destroy(&loop.lock);
}

/* ---- watched ---- */

enum { WATCH_NS = 5000000 };

typedef struct Crew {
  pthread_mutex_t lock;
  pthread_cond_t finished;
  const berth_i_crew *crew;
  int32_t n, done, next_home, next_other; /* cursors over the same jobs: those at home, the
                                             others */
  bool alone;
} Crew;

typedef struct Hand {
  Crew *crew;
  int32_t thread;
} Hand;

static bool at_home(const Crew *c, int32_t job) { return c->crew->home && c->crew->home[job]; }

static int32_t take_kind(const Crew *c, int32_t *next, bool home) {
  while (*next < c->n && at_home(c, *next) != home) ++*next;
  return *next < c->n ? (*next)++ : -1;
}

static int32_t take_for(Crew *c, int32_t thread) {
  int32_t job = -1;
  pthread_mutex_lock(&c->lock);
  if (c->alone) {
    if (c->next_other < c->n) job = c->next_other++;
  } else {
    if (thread == 0) job = take_kind(c, &c->next_home, true);
    if (job < 0) job = take_kind(c, &c->next_other, false);
  }
  pthread_mutex_unlock(&c->lock);
  return job;
}

static bool do_one(Crew *c, int32_t thread) {
  int32_t job = take_for(c, thread);
  if (job < 0) return false;
  c->crew->work(c->crew->ud, thread, job);
  pthread_mutex_lock(&c->lock);
  c->done++;
  pthread_cond_signal(&c->finished);
  pthread_mutex_unlock(&c->lock);
  return true;
}

static void *run_hand(void *ud) {
  const Hand *h = ud;
  while (do_one(h->crew, h->thread)) continue;
  return NULL;
}

/* @return all jobs are done */
static bool wait_a_little(Crew *c) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); /* only to wait by */
  until.tv_nsec += WATCH_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&c->lock);
  if (c->done < c->n) pthread_cond_timedwait(&c->finished, &c->lock, &until);
  bool all = c->done == c->n;
  pthread_mutex_unlock(&c->lock);
  return all;
}

static void look_after(Crew *c) {
  bool all = false;
  while (do_one(c, 0)) {
    if (c->crew->watch) c->crew->watch(c->crew->ud);
  }
  while (!all) {
    all = wait_a_little(c);
    if (c->crew->watch) c->crew->watch(c->crew->ud);
  }
}

void berth_i_parallel_watched(int32_t threads, int32_t n, const berth_i_crew *crew) {
  Hand hand[MAX_THREADS];
  Crew c = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, crew, n, 0, 0, 0, false };
  int32_t width = berth_i_parallel_width(threads, n), started = 1;
  for (int32_t i = 0; i < width; i++) hand[i] = (Hand){ &c, i };
  c.alone = width == 1;
  pthread_t id[MAX_THREADS];
  while (started < width && pthread_create(&id[started], NULL, run_hand, &hand[started]) == 0)
    started++;
  look_after(&c);
  for (int32_t i = 1; i < started; i++) pthread_join(id[i], NULL);
  pthread_cond_destroy(&c.finished);
  pthread_mutex_destroy(&c.lock);
}
