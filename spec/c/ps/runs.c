/* Random policies on random problems, judged by ps_checker.h; and what assignments refuse. */
#include "ps_checker.h"
#include "refusals.h"

enum { MACHINES = 5, RESOURCES = 3, SLOTS = 14, JOBS = 12 };

typedef struct random_policy {
  berth_rng rng;
  int working;           /* numbers of workers and servers that work */
  int32_t finished, asked;
} random_policy;

static double between(berth_rng *g, double a, double b) {
  return a + (b - a) * berth_rng_uniform(g);
}

static berth_ps_job random_job(berth_rng *g, int32_t arrival) {
  berth_ps_job j = { 0 };
  j.arrival = arrival;
  j.epochs = 1 + berth_rng_below(g, 5);
  j.samples = 1 + berth_rng_below(g, 400);
  j.batch = 1 + berth_rng_below(g, 9);
  j.tau = between(g, 0.005, 0.05);
  j.bytes = between(g, 0, 3);
  j.ratio = between(g, 0.4, 4);
  j.across = between(g, 10, 100);
  j.inside = j.across * between(g, 1, 20);
  j.rack = berth_rng_below(g, 2) ? j.across * 2 : 0;
  for (int k = 0; k < RESOURCES; k++) {
    j.worker[k] = floor(between(g, 0, 5)) / 10;
    j.server[k] = k == 0 ? 0 : floor(between(g, 0, 4)) / 10;
  }
  j.importance = between(g, 1, 100);
  j.urgency = between(g, 0, 4);
  j.target = between(g, 1, 8);
  j.moving = berth_rng_below(g, 3) ? 0 : between(g, 0, 1.7);
  return j;
}

static berth_ps *random_problem(berth_rng *g) {
  double capacity[MACHINES * RESOURCES] = { 0 };
  int32_t rack[MACHINES] = { 0, 0, 1, 1, 7 };
  berth_ps_options o = berth_ps_default(MACHINES, RESOURCES, SLOTS, capacity);
  berth_ps *p = NULL;
  for (int i = 0; i < MACHINES * RESOURCES; i++) capacity[i] = floor(between(g, 0, 30)) / 10;
  berth_ps_job jobs[JOBS];
  for (int i = 0; i < JOBS; i++) jobs[i] = random_job(g, i * (SLOTS - 2) / JOBS);
  if (berth_rng_below(g, 2)) o.rack = rack;
  if (berth_rng_below(g, 2)) o.comm = BERTH_PS_SHARED;
  o.slot_seconds = between(g, 0.1, 2000);
  berth_ps_new(ctx, &o, JOBS, jobs, &p);
  return OWNED(p);
}

static int32_t random_places(berth_rng *g, const berth_ps_job *j, int working, berth_ps_place *at) {
  int32_t n = 0, workers = 0;
  for (int32_t m = MACHINES - 1; m >= 0; m--) {
    berth_ps_place x = { m, berth_rng_below(g, 4), berth_rng_below(g, 3) };
    if (working && workers + x.workers > j->batch) x.workers = j->batch - workers;
    if (berth_rng_below(g, 2) || x.workers + x.servers == 0) continue;
    workers += x.workers;
    at[n++] = x;
  }
  return n;
}

static int works(const berth_ps *p, int32_t job, int32_t n, const berth_ps_place *at) {
  return berth_ps_speed(p, job, n, at) > 0;
}

static berth_status slot(void *ud, berth_ps_run *r, int32_t s) {
  random_policy *w = ud;
  int32_t jobs[JOBS], n = berth_ps_run_active(r, JOBS, jobs);
  CHECK(s == berth_ps_run_slot(r));
  w->asked++;
  berth_rng_shuffle(&w->rng, jobs, n);
  for (int32_t i = 0; i < n; i++) {
    berth_ps_place at[MACHINES];
    int32_t k = berth_rng_below(&w->rng, 2) ? berth_ps_run_places(r, jobs[i], MACHINES, at) : 0,
            tries = 1 + berth_rng_below(&w->rng, 8);
    while (tries-- > 0) {
      if (k == 0)
        k = random_places(&w->rng, berth_ps_job_at(berth_ps_run_problem(r), jobs[i]), w->working,
                          at);
      if (w->working && !works(berth_ps_run_problem(r), jobs[i], k, at)) k = 0;
      berth_status st = berth_ps_assign(r, jobs[i], k, at);
      if (st == BERTH_ENOMEM) return st;
      CHECK(st == BERTH_OK || st == BERTH_EINFEASIBLE);
      if (st == BERTH_OK && berth_rng_below(&w->rng, 4)) break;
      k = 0;
    }
    if (berth_rng_below(&w->rng, 60) == 0) CHECK_OK(berth_ps_refuse(r, jobs[i], 7));
  }
  return BERTH_OK;
}

static berth_status finish(void *ud, berth_ps_run *r, int32_t job) {
  ((random_policy *)ud)->finished++;
  berth_ps_record x = must_ps_run_record(r, job);
  CHECK(x.state == BERTH_JOB_DONE && x.done == berth_ps_run_slot(r) - 1);
  return BERTH_OK;
}

static berth_status arrival(void *ud, berth_ps_run *r, int32_t job) {
  random_policy *w = ud;
  CHECK(berth_ps_job_at(berth_ps_run_problem(r), job)->arrival == berth_ps_run_slot(r));
  return berth_rng_below(&w->rng, 20) ? BERTH_OK : berth_ps_refuse(r, job, 3);
}

static berth_status random_run(uint64_t seed) {
  random_policy w = { .working = (int)(seed & 1) };
  berth_ps_policy policy = { arrival, finish, slot, &w };
  berth_ps_run *r = NULL;
  berth_rng_init(&w.rng, seed, 0);
  berth_ps *p;
  if (!(p = random_problem(&w.rng))) return BERTH_ENOMEM;
  berth_status st = berth_ps_run_new(p, &r);
  RELEASE(p);
  TRY(st, berth_ps_run_play(r, &policy));
  if (st == BERTH_OK) {
    CHECK(w.finished == berth_ps_run_report(r).done);
    ps_judge(r, w.working);
  }
  RELEASE(r);
  return st;
}

static berth_status one_run(void) { return random_run(5); }

/* ---- sameness ---- */

/* The second time in reverse order, with everything assigned twice. */
typedef struct replay_policy {
  ps_log log;
  int twice;
} replay_policy;

static berth_status replay(void *ud, berth_ps_run *r, int32_t s) {
  replay_policy *w = ud;
  for (int pass = 0; pass <= w->twice; pass++)
    for (size_t e = w->log.n; e-- > 0;) {
      size_t from = e;
      if (w->log.slot[e] != s) continue;
      while (from > 0 && w->log.slot[from - 1] == s && w->log.job[from - 1] == w->log.job[e])
        from--;
      CHECK_OK(berth_ps_assign(r, w->log.job[e], (int32_t)(e - from + 1), w->log.place + from));
      e = from;
    }
  return BERTH_OK;
}

static void replays(uint64_t seed) {
  random_policy w = { .working = 0 };
  berth_ps_policy random = { NULL, NULL, slot, &w };
  berth_rng_init(&w.rng, seed, 1);
  berth_ps *p = random_problem(&w.rng);
  berth_ps_run *a = must_ps_run_new(p);
  berth_ps_run *b = must_ps_run_new(p);
  RELEASE(p);
  CHECK_OK(berth_ps_run_play(a, &random));
  replay_policy book = (replay_policy){ ps_log_of(a), 1 };
  berth_ps_policy again = (berth_ps_policy){ NULL, NULL, replay, &book };
  CHECK_OK(berth_ps_run_play(b, &again));
  for (int32_t j = 0; j < JOBS; j++) {
    berth_ps_record x;
    berth_ps_run_record(a, j, &x);
    berth_ps_record y;
    berth_ps_run_record(b, j, &y);
    if (x.state != BERTH_JOB_REFUSED)
      CHECK(x.state == y.state && x.left == y.left && x.done == y.done && x.moves == y.moves);
  }
  ps_log_free(&book.log);
}

TEST("random policies: capacity, work, ends and utility are as an independent replay of the log "
     "has them") {
  for (uint64_t seed = 0; seed < 300; seed++) CHECK_OK(random_run(seed));
}

TEST("what counts is what was assigned last, in any order") {
  for (uint64_t seed = 0; seed < 60; seed++) replays(seed);
}
TEST_REFUSALS(one_run)
