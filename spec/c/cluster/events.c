/* The cluster's event loop: cases to check by hand, error texts, refused allocations. */
#include "refusals.h"

static berth_cluster *make(berth_cluster_options o, int32_t n, const berth_job *jobs) {
  berth_cluster *c = NULL;
  CHECK_OK(berth_cluster_new(ctx, &o, n, jobs, &c));
  return OWNED(c);
}

static void expect(berth_cluster *c, berth_cluster_event_kind kind, double time, int32_t job) {
  berth_cluster_event e;
  CHECK_OK(berth_cluster_next(c, &e));
  CHECK_NEAR(e.kind, kind, 0);
  CHECK_NEAR(e.time, time, 1e-12);
  CHECK_NEAR(e.job, job, 0);
  CHECK_NEAR(berth_cluster_now(c), time, 1e-12);
}

static void refused(berth_status got, berth_status want, const char *text) {
  CHECK_ERROR(got, want, text);
}

static berth_job_record record(const berth_cluster *c, int32_t job) {
  berth_job_record r = { 0 };
  CHECK_OK(berth_cluster_record(c, job, &r));
  return r;
}

/* Job 0 runs at 2 from 0, is at 1 from 1 s, pauses at 2 s with 3 left, goes on at 3 s at rate 3:
 * done at 4 s. */
TEST("rates, pauses, refusals, sums") {
  static const berth_job jobs[] = { { 0, 6, INFINITY, 0 }, { 1, 1, 5, 7 } };
  static const int32_t both[] = { 1, 0 };
  berth_cluster *c = make(berth_cluster_default(2), 2, jobs);
  int32_t places[2] = { -1, -1 };
  double amounts[2] = { 0, 0 };
  CHECK(berth_cluster_upcoming(c) == 0 && berth_cluster_slot(c) == 0);
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 0);
  CHECK_NEAR(berth_cluster_upcoming(c), 1, 0);
  CHECK_OK(berth_cluster_start(c, 0, 2, both, NULL, 2));
  CHECK_NEAR(berth_cluster_end_of(c, 0), 3, 0);
  CHECK_NEAR(berth_cluster_places(c, 0, 2, places, amounts), 2, 0);
  CHECK(places[0] == 1 && places[1] == 0 && amounts[0] == 1 && amounts[1] == 1);
  CHECK(berth_cluster_free(c)[0] == 0 && berth_cluster_users(c)[1] == 1
        && berth_cluster_capacity(c)[0] == 1);
  expect(c, BERTH_CLUSTER_ARRIVAL, 1, 1);
  CHECK_OK(berth_cluster_set_rate(c, 0, 1));
  CHECK_NEAR(record(c, 0).left, 4, 1e-15);
  CHECK_OK(berth_cluster_wake(c, 2));
  expect(c, BERTH_CLUSTER_WAKE, 2, BERTH_NONE);
  CHECK_OK(berth_cluster_pause(c, 0));
  CHECK_OK(berth_cluster_refuse(c, 1, 42));
  CHECK_OK(berth_cluster_wake(c, 3));
  expect(c, BERTH_CLUSTER_WAKE, 3, BERTH_NONE);
  CHECK_NEAR(record(c, 0).left, 3, 1e-15);
  CHECK_OK(berth_cluster_start(c, 0, 1, both, NULL, 3));
  CHECK_NEAR(berth_cluster_running(c, 2, places), 1, 0);
  CHECK(places[0] == 0);
  expect(c, BERTH_CLUSTER_END_OF_JOB, 4, 0);
  CHECK(isinf(berth_cluster_upcoming(c)) && record(c, 0).ran == 3);
  expect(c, BERTH_CLUSTER_OVER, 4, BERTH_NONE);
  expect(c, BERTH_CLUSTER_OVER, 4, BERTH_NONE);
  CHECK(record(c, 0).state == BERTH_JOB_DONE && record(c, 0).pauses == 1 && record(c, 0).held == 5
        && record(c, 0).start == 0);
  CHECK(record(c, 1).state == BERTH_JOB_REFUSED && record(c, 1).cause == 42 && record(c, 1).end == 2
        && isnan(record(c, 1).start));
  berth_job job;
  CHECK_OK(berth_cluster_job(c, 1, &job));
  CHECK(job.kind == 7 && job.deadline == 5);
  berth_cluster_summary s = berth_cluster_summarise(c);
  CHECK(s.arrived == 2 && s.done == 1 && s.refused == 1 && s.running == 0 && s.waiting == 0);
  CHECK(s.running_seconds == 3 && s.machine_seconds == 5 && s.share_seconds == 5 && s.time == 4);
}

static void expect_waiting(const berth_cluster *c, int32_t n, int32_t first, int32_t second) {
  int32_t jobs[2] = { BERTH_NONE, BERTH_NONE };
  CHECK_NEAR(berth_cluster_waiting(c, 2, jobs), n, 0);
  CHECK_NEAR(jobs[0], first, 0);
  CHECK_NEAR(jobs[1], second, 0);
}

TEST("jobs that wait, in order of arrival; one that is paused goes back to its place") {
  static const berth_job jobs[] = { { 0, 9, INFINITY, 0 },
                                    { 0, 9, INFINITY, 0 },
                                    { 0, 9, INFINITY, 0 } };
  static const int32_t machine[] = { 0, 1 };
  berth_cluster *c = make(berth_cluster_default(2), 3, jobs);
  expect_waiting(c, 0, BERTH_NONE, BERTH_NONE);
  for (int32_t j = 0; j < 3; j++) expect(c, BERTH_CLUSTER_ARRIVAL, 0, j);
  expect_waiting(c, 3, 0, 1);
  CHECK_OK(berth_cluster_start(c, 1, 1, machine, NULL, 1));
  expect_waiting(c, 2, 0, 2);
  CHECK_OK(berth_cluster_pause(c, 1));
  expect_waiting(c, 3, 0, 1);
  CHECK_OK(berth_cluster_refuse(c, 0, 0));
  expect_waiting(c, 2, 1, 2);
  CHECK_OK(berth_cluster_start(c, 2, 1, machine, NULL, 1));
  expect_waiting(c, 1, 1, BERTH_NONE);
  CHECK_OK(berth_cluster_start(c, 1, 1, machine + 1, NULL, 1));
  expect_waiting(c, 0, BERTH_NONE, BERTH_NONE);
  CHECK_OK(berth_cluster_pause(c, 2));
  CHECK_OK(berth_cluster_pause(c, 1));
  expect_waiting(c, 2, 1, 2);
}

TEST("at the same instant: ends by job, wakes, slots, arrivals by job") {
  static const berth_job jobs[] = {
    { 0, 4, INFINITY, 0 }, { 0, 4, INFINITY, 0 }, { 4, 1, INFINITY, 0 }, { 4, 0, INFINITY, 0 }
  };
  berth_cluster_options o = berth_cluster_default(2);
  static const int32_t first = 0, second = 1;
  o.slot = 4;
  berth_cluster *c = make(o, 4, jobs);
  expect(c, BERTH_CLUSTER_SLOT, 0, BERTH_NONE);
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 0);
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 1);
  CHECK_OK(berth_cluster_start(c, 1, 1, &first, NULL, 1));
  CHECK_OK(berth_cluster_start(c, 0, 1, &second, NULL, 1));
  CHECK_OK(berth_cluster_wake(c, 4));
  expect(c, BERTH_CLUSTER_END_OF_JOB, 4, 0);
  expect(c, BERTH_CLUSTER_END_OF_JOB, 4, 1);
  expect(c, BERTH_CLUSTER_WAKE, 4, BERTH_NONE);
  expect(c, BERTH_CLUSTER_SLOT, 4, BERTH_NONE);
  expect(c, BERTH_CLUSTER_ARRIVAL, 4, 2);
  expect(c, BERTH_CLUSTER_ARRIVAL, 4, 3);
  CHECK_OK(berth_cluster_refuse(c, 2, 0));
  CHECK_OK(berth_cluster_start(c, 3, 1, &first, NULL, 1));
  expect(c, BERTH_CLUSTER_END_OF_JOB, 4, 3); /* no work: at once */
  expect(c, BERTH_CLUSTER_OVER, 4, BERTH_NONE);
}

TEST("an end within the slack comes first; nothing happens at the horizon") {
  static const berth_job jobs[] = { { 0, 1.05, INFINITY, 0 }, { 1, 9, INFINITY, 0 } };
  berth_cluster_options o = berth_cluster_default(1);
  static const int32_t machine = 0;
  o.horizon = 5;
  o.slack = 0.1;
  berth_cluster *c = make(o, 2, jobs);
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 0);
  CHECK_OK(berth_cluster_start(c, 0, 1, &machine, NULL, 1));
  expect(c, BERTH_CLUSTER_END_OF_JOB, 1, 0);
  expect(c, BERTH_CLUSTER_ARRIVAL, 1, 1);
  CHECK_OK(berth_cluster_start(c, 1, 1, &machine, NULL, 2.25)); /* would end at 5 s */
  expect(c, BERTH_CLUSTER_OVER, 5, BERTH_NONE);
  CHECK_NEAR(record(c, 1).left, 0, 1e-12);
  CHECK_NEAR(record(c, 1).held, 4, 0);
  CHECK_OK(berth_cluster_pause(c, 1));
  refused(berth_cluster_start(c, 1, 1, &machine, NULL, 1), BERTH_EINVAL,
          "cluster: start: job 1: it is over");
}

/* What is refused changes nothing. */
TEST("decisions: errors") {
  static const berth_job jobs[] = { { 0, 1, INFINITY, 0 },
                                    { 0, 1, INFINITY, 0 },
                                    { 9, 1, INFINITY, 0 } };
  static const double capacity[] = { 8, 64, 4, 32 };
  static const int32_t both[] = { 0, 1 }, twice[] = { 1, 1 }, far[] = { 0, 2 };
  static const double some[] = { 3, 60, 1, 1 }, much[] = { 1, 1, 5, 1 }, bad[] = { 1, NAN, 1, 1 },
                      rest[] = { 5, 4.5, 0, 0 };
  berth_cluster_options o = berth_cluster_default(2);
  o.resources = 2;
  o.capacity = capacity;
  berth_cluster *c = make(o, 3, jobs);
  refused(berth_cluster_start(c, 0, 1, both, NULL, 1), BERTH_EINVAL,
          "cluster: start: job 0 has not arrived");
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 0);
  expect(c, BERTH_CLUSTER_ARRIVAL, 0, 1);
  refused(berth_cluster_start(c, 3, 1, both, NULL, 1), BERTH_EINVAL,
          "cluster: start: job 3 does not exist: there are 3");
  refused(berth_cluster_start(c, 0, 1, both, NULL, 0), BERTH_EINVAL,
          "cluster: job 0: rate: expected a finite number above 0, got 0");
  refused(berth_cluster_start(c, 0, 0, both, NULL, 1), BERTH_EINVAL,
          "cluster: start: job 0 on 0 machines: expected at least 1");
  refused(berth_cluster_start(c, 0, 2, far, NULL, 1), BERTH_EINVAL,
          "cluster: job 0: machine 2 does not exist: there are 2");
  refused(berth_cluster_start(c, 0, 2, both, much, 1), BERTH_EINFEASIBLE,
          "cluster: job 0 needs 5 of resource 0 on machine 1, where 4 is left");
  refused(berth_cluster_start(c, 0, 2, twice, some + 2, 1), BERTH_EINVAL,
          "cluster: job 0: machine 1 is named twice");
  refused(berth_cluster_start(c, 0, 2, both, bad, 1), BERTH_EINVAL,
          "cluster: job 0: amount of resource 1 on machine 0: expected a finite number not below "
          "0, got nan");
  CHECK(memcmp(berth_cluster_free(c), capacity, sizeof capacity) == 0);
  CHECK_OK(berth_cluster_start(c, 0, 2, both, some, 1));
  refused(berth_cluster_start(c, 1, 1, both, rest, 1), BERTH_EINFEASIBLE,
          "cluster: job 1 needs 4.5 of resource 1 on machine 0, where 4 is left");
  refused(berth_cluster_refuse(c, 0, 1), BERTH_EINVAL, "cluster: refuse: job 0 runs");
  refused(berth_cluster_pause(c, 1), BERTH_EINVAL, "cluster: pause: job 1 waits");
  refused(berth_cluster_set_rate(c, 1, 1), BERTH_EINVAL, "cluster: set_rate: job 1 waits");
  refused(berth_cluster_set_rate(c, 0, INFINITY), BERTH_EINVAL,
          "cluster: job 0: rate: expected a finite number above 0, got inf");
  expect(c, BERTH_CLUSTER_END_OF_JOB, 1, 0);
  CHECK(record(c, 0).held == 60.0 / 64 + 0.25);
  refused(berth_cluster_wake(c, 0.5), BERTH_EINVAL, "cluster: wake at 0.5 s: it is 1 s");
  refused(berth_cluster_pause(c, 0), BERTH_EINVAL, "cluster: pause: job 0 is done");
  CHECK_OK(berth_cluster_refuse(c, 1, 0));
  refused(berth_cluster_refuse(c, 1, 0), BERTH_EINVAL, "cluster: refuse: job 1 was refused");
  refused(berth_cluster_record(c, 3, &(berth_job_record){ 0 }), BERTH_EINVAL,
          "cluster: job 3 does not exist: there are 3");
  refused(berth_cluster_job(c, -1, &(berth_job){ 0 }), BERTH_EINVAL,
          "cluster: job -1 does not exist: there are 3");
  CHECK(isinf(berth_cluster_end_of(c, 1)) && isinf(berth_cluster_end_of(c, 7))
        && berth_cluster_places(c, 9, 0, NULL, NULL) == 0);
}

static void bad_options(berth_cluster_options o, const char *text) {
  berth_cluster *c = NULL;
  refused(berth_cluster_new(ctx, &o, 0, NULL, &c), BERTH_EINVAL, text);
  CHECK(!c);
}

static void bad_jobs(berth_job a, berth_job b, const char *text) {
  berth_job jobs[] = { a, b };
  berth_cluster_options o = berth_cluster_default(1);
  berth_cluster *c = NULL;
  refused(berth_cluster_new(ctx, &o, 2, jobs, &c), BERTH_EINVAL, text);
  CHECK(!c);
}

TEST("what clusters are not made of") {
  static const double capacity = -1;
  static const berth_job fine = { 1, 1, INFINITY, 0 };
  bad_options(berth_cluster_default(0), "option machines is 0 (1 to 1048576)");
  bad_options((berth_cluster_options){ 1, 0, NULL, 1, 0, 0 }, "option resources is 0 (1 to 1024)");
  bad_options((berth_cluster_options){ 1, 1, NULL, -1, 0, 0 },
              "option horizon is -1 (a number from 0)");
  bad_options((berth_cluster_options){ 1, 1, NULL, 1, -1, 0 },
              "option slot is -1 (a finite number from 0)");
  bad_options((berth_cluster_options){ 1, 1, NULL, 1, 0, INFINITY },
              "option slack is inf (a finite number from 0)");
  bad_options((berth_cluster_options){ 1, 1, &capacity, 1, 0, 0 },
              "cluster: capacity of machine 0, resource 0: expected a finite number not below 0, "
              "got -1");
  static const double endless = INFINITY;
  bad_options((berth_cluster_options){ 1, 1, &endless, 1, 0, 0 },
              "cluster: capacity of machine 0, resource 0: expected a finite number not below 0, "
              "got inf");
  berth_cluster *none = NULL;
  refused(berth_cluster_new(ctx, &(berth_cluster_options){ 1, 1, NULL, 1, 0, 0 }, -1, NULL, &none),
          BERTH_EINVAL, "cluster: jobs: expected at least 0, got -1");
  bad_jobs(fine, (berth_job){ 0, 1, 1, 0 },
           "cluster: job 1 arrives at 0 s, before job 0 (1 s): sort jobs by arrival");
  bad_jobs(fine, (berth_job){ INFINITY, 1, 1, 0 },
           "cluster: job 1: arrival: expected a finite time not below 0, got inf");
  bad_jobs(fine, (berth_job){ 1, -1, 1, 0 },
           "cluster: job 1: work: expected a finite number not below 0, got -1");
  bad_jobs(fine, (berth_job){ 1, 1, -1, 0 },
           "cluster: job 1: deadline: expected a time not below 0, got -1");
}

/* ---- schedulers: first in, first out ---- */

typedef struct fifo_state {
  int32_t next, arrived, asked;
  const int32_t *need;
  int32_t *list; /* [machines] */
} fifo_state;

static berth_status admit(fifo_state *f, berth_cluster *c) {
  const int32_t *users = berth_cluster_users(c);
  for (; f->next < f->arrived; f->next++) {
    int32_t n = 0;
    for (int32_t m = 0; m < berth_cluster_machines(c) && n < f->need[f->next]; m++)
      if (users[m] == 0) f->list[n++] = m;
    if (n < f->need[f->next]) return BERTH_OK;
    berth_status st;
    if ((st = berth_cluster_start(c, f->next, n, f->list, NULL, 1)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}
static berth_status on_arrival(void *ud, berth_cluster *c, int32_t job) {
  ((fifo_state *)ud)->arrived = job + 1;
  return admit(ud, c);
}
static berth_status on_end(void *ud, berth_cluster *c, int32_t job) {
  ((fifo_state *)ud)->asked += job >= 0;
  return admit(ud, c);
}

static berth_status whole_run(int32_t n, const berth_job *jobs, const int32_t *need,
                              berth_cluster_summary *out) {
  berth_cluster_options o = berth_cluster_default(64);
  double capacity[64];
  int32_t list[64];
  fifo_state f = { 0, 0, 0, need, list };
  berth_scheduler s = { on_arrival, on_end, NULL, NULL, &f };
  berth_cluster *c = NULL;
  for (int i = 0; i < 64; i++) capacity[i] = 8;
  o.capacity = capacity;
  berth_status st;
  if ((st = berth_cluster_new(ctx, &o, n, jobs, &c)) != BERTH_OK) return st;
  if ((st = berth_cluster_run(c, &s)) == BERTH_OK) *out = berth_cluster_summarise(c);
  RELEASE(c);
  return st;
}

/* ---- steps ---- */

static berth_status stop_at_two(void *ud, berth_cluster *c) {
  ++*(int *)ud;
  if (berth_cluster_now(c) == 2) berth_cluster_stop(c);
  return BERTH_OK;
}
static berth_status fail(void *ud, berth_cluster *c, int32_t job) {
  (void)ud, (void)c, (void)job;
  return BERTH_ECALLBACK;
}

TEST("a step is one event, which its function hears of; without a function it only happens") {
  static const berth_job jobs[] = { { 0, 9, INFINITY, 0 },
                                    { 0, 9, INFINITY, 0 },
                                    { 7, 1, INFINITY, 0 } };
  static const int32_t machine = 0;
  berth_cluster_options o = berth_cluster_default(1);
  int asked = 0;
  berth_scheduler s = { NULL, NULL, stop_at_two, NULL, &asked },
                  failing = { fail, NULL, NULL, NULL, NULL };
  o.slot = 1;
  o.horizon = 100;
  berth_cluster *c = make(o, 3, jobs);
  berth_cluster_event e;
  CHECK_OK(berth_cluster_step(c, &s, &e));
  CHECK(e.kind == BERTH_CLUSTER_SLOT && asked == 1);
  CHECK_OK(berth_cluster_step(c, &s, &e));
  CHECK(e.kind == BERTH_CLUSTER_ARRIVAL && e.job == 0 && asked == 1);
  CHECK_OK(berth_cluster_start(c, 0, 1, &machine, NULL, 1));
  CHECK_STATUS(berth_cluster_step(c, &failing, &e), BERTH_ECALLBACK);
  CHECK(e.kind == BERTH_CLUSTER_ARRIVAL && e.job == 1 && record(c, 1).state == BERTH_JOB_WAITING);
  CASE("a scheduler stops a run: it is over there and then, whatever the horizon")
  CHECK_OK(berth_cluster_run(c, &s));
  CHECK(asked == 3 && berth_cluster_now(c) == 2 && isinf(berth_cluster_upcoming(c))
        && record(c, 0).left == 7);
  CHECK_OK(berth_cluster_step(c, &s, &e));
  CHECK(e.kind == BERTH_CLUSTER_OVER && e.time == 2 && asked == 3);
  refused(berth_cluster_start(c, 1, 1, &machine, NULL, 1), BERTH_EINVAL,
          "cluster: start: job 1: it is over");
}

enum { MANY = 82000 };
static berth_job many[MANY];
static int32_t needs[MANY];

TEST("82,000 jobs on 64 machines, first in first out") {
  berth_cluster_summary s = { 0 };
  double now = 0, want = 0;
  berth_rng rng = seeded(3, 0);
  for (int j = 0; j < MANY; j++) {
    many[j] = (berth_job){ now += 0.8 * berth_rng_uniform(&rng), 10 * berth_rng_uniform(&rng),
                           INFINITY, 0 };
    needs[j] = 1 + (int32_t)berth_rng_below(&rng, 8);
    want += many[j].work * needs[j];
  }
  CHECK_OK(whole_run(MANY, many, needs, &s));
  CHECK(s.done == MANY && s.waiting == 0);
  CHECK_NEAR(s.machine_seconds, want, want * 1e-9);
  CHECK_NEAR(s.share_seconds, want, want * 1e-9);
}

static berth_status run_many(const void *what) {
  (void)what;
  berth_cluster_summary sum;
  return whole_run(200, many, needs, &sum);
}

TEST("allocations that fail") { refuse_each(run_many, NULL, 1, 0); }
