/* FIFO and DRF on small problems that can be checked by hand; all schedulers of slots on random
 * ones, judged by ps_checker.h. */
#include "ps_help.h"
#include "refusals.h"

static berth_ps_scheduler *fifo(berth_ps *p, bool backfill, int32_t most) {
  berth_ps_fifo_options o = berth_ps_fifo_default();
  berth_ps_scheduler *s = NULL;
  o.backfill = backfill;
  o.most = most;
  berth_ps_fifo_new(p, &o, &s);
  return OWNED(s);
}
static berth_ps_scheduler *drf(berth_ps *p) {
  berth_ps_scheduler *s = NULL;
  berth_ps_drf_new(p, &s);
  return OWNED(s);
}
static berth_ps_scheduler *dorm(berth_ps *p, const berth_ps_dorm_options *o) {
  berth_ps_scheduler *s = NULL;
  berth_ps_dorm_options standard = berth_ps_dorm_default();
  berth_ps_dorm_new(p, o ? o : &standard, &s);
  return OWNED(s);
}
/* ---- FIFO ---- */

TEST("fifo: the head of the line blocks, unless others may go ahead; what never fits is refused") {
  /* one worker each; the second needs more than the cluster has beside the first, the fourth than
   * it has at all */
  berth_ps_job j[] = { ps_plain(0), ps_plain(0), ps_plain(0), ps_plain(1) };
  j[1].worker[0] = 2;
  j[1].samples = 8;
  j[2].samples = 4;
  j[3].worker[0] = 3;
  berth_ps *p = ps_problem(1, 20, 2, 2, 4, j);
  berth_ps_run *r = ps_judged_play(p, fifo(p, false, 1));
  CHECK(ps_record_of(r, 0).first == 0 && ps_record_of(r, 0).done == 11
        && ps_record_of(r, 1).first == 12 && ps_record_of(r, 1).done == 13);
  CHECK(ps_record_of(r, 2).first == 14 && ps_record_of(r, 2).done == 14);
  CHECK(ps_record_of(r, 3).state == BERTH_JOB_REFUSED && ps_record_of(r, 3).cause == 1);
  RELEASE(r);
  r = ps_judged_play(p, fifo(p, true, 1));
  CHECK(ps_record_of(r, 0).done == 11 && ps_record_of(r, 1).first == 12
        && ps_record_of(r, 2).first == 0 && ps_record_of(r, 2).done == 0);
  RELEASE(r);
}

TEST("fifo: workers, then servers, on machines in turn; the same ones to the end") {
  berth_ps_job j[] = { ps_plain(0), ps_plain(0) };
  j[0].ratio = j[1].ratio = 0.25; /* a worker and four servers, on three machines */
  j[0].samples = 8;
  berth_ps *p = ps_problem(3, 20, 4, 4, 2, j);
  berth_ps_run *r = ps_judged_play(p, fifo(p, false, 1));
  ps_log g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 1 && ps_had(&g, 0, 0, 0).servers == 1
        && ps_had(&g, 0, 0, 1).servers == 2 && ps_had(&g, 0, 0, 2).servers == 1);
  CHECK(ps_had(&g, 0, 1, 2).workers == 1 && ps_had(&g, 0, 1, 0).servers == 2
        && ps_had(&g, 0, 1, 1).servers == 1 && ps_had(&g, 0, 1, 2).servers == 1);
  CHECK(ps_record_of(r, 0).done == 1 && ps_record_of(r, 1).done == 11
        && ps_record_of(r, 1).moves == 0 && ps_record_of(r, 1).worker_slots == 12);
  ps_log_free(&g);
  RELEASE(r);
  CASE("fifo: numbers of workers are drawn up to the most, and up to the batch");
  for (int32_t seed = 0, seen = 0; seed < 60; seed++) {
    berth_ps_fifo_options o = { false, 3, (uint64_t)seed };
    berth_ps_scheduler *s = NULL;
    CHECK_OK(berth_ps_fifo_new(p, &o, &s));
    r = ps_judged_play(p, s);
    g = ps_log_of(r);
    seen |= 1 << ps_had(&g, 0, 0, BERTH_NONE).workers;
    ps_log_free(&g);
    RELEASE(r);
    if (seed == 59) CHECK(seen == 14);
  }
}

/* ---- DRF ---- */

/* The example of Ghodsi et al.: 9 CPUs, 18 GB; users' tasks <1, 4> and <3, 1>: 3 and 2 tasks. A
 * task: a worker, with a server for nothing. */
TEST("drf: the example of its authors") {
  berth_ps_job j[] = { ps_plain(0), ps_plain(0) };
  for (int i = 0; i < 2; i++) {
    j[i].ratio = 1;
    j[i].batch = 9;
    j[i].server[1] = 0;
    j[i].samples = 480;
  }
  j[0].worker[1] = 4;
  j[1].worker[0] = 3, j[1].worker[1] = 1;
  berth_ps *p = ps_problem(1, 2, 9, 18, 2, j);
  berth_ps_run *r = ps_judged_play(p, drf(p));
  ps_log g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 3 && ps_had(&g, 0, 1, 0).workers == 2);
  ps_log_free(&g);
  RELEASE(r);
}

TEST("drf: shared out anew when a job comes or ends") {
  /* 8 workers' room. Alone, the first has its batch, 6: done are 24 a slot; with the second from
   * slot 1, 4 each */
  berth_ps_job j[] = { ps_plain(0), ps_plain(1) };
  j[0].batch = j[1].batch = 6;
  berth_ps *p = ps_problem(2, 20, 4, 4, 2, j);
  berth_ps_run *r = ps_judged_play(p, drf(p));
  CHECK_NEAR(ps_record_of(r, 0).end, 2.5, 1e-9);  /* 24, 16, 8 of 16 */
  CHECK_NEAR(ps_record_of(r, 1).end, 1 + 2 + 16.0 / 24, 1e-9);
  CHECK(ps_record_of(r, 0).moves == 1);
  RELEASE(r);
}

/* Progressive filling by scanning: lowest share, first machine in turn. */
typedef struct naive_filling {
  double room[8][3];
  int32_t at[8][8][2], turn, n[8];
} naive_filling;

static int naive_unit(naive_filling *w, const berth_ps_options *o, const berth_ps_job *j, int job,
                      int server, naive_filling *undo) {
  (void)undo;
  for (int32_t i = 0; i < o->machines; i++) {
    int32_t m = (w->turn + i) % o->machines, fits = 1;
    const double *x = server ? j->server : j->worker;
    for (int32_t k = 0; k < o->resources; k++) fits = fits && x[k] <= w->room[m][k];
    if (!fits) continue;
    for (int32_t k = 0; k < o->resources; k++) w->room[m][k] -= x[k];
    w->at[job][m][server]++;
    w->turn = (m + 1) % o->machines;
    return 1;
  }
  return 0;
}

static int naive_bundle(naive_filling *w, const berth_ps_options *o, const berth_ps_job *j,
                        int job) {
  naive_filling saved = *w;
  int32_t workers = j->ratio >= 1 ? (int32_t)floor(j->ratio) : 1,
          servers = j->ratio >= 1 ? 1 : (int32_t)ceil(1 / j->ratio), ok = 1;
  if (w->n[job] >= j->batch) return 0;
  if (workers > j->batch - w->n[job]) workers = j->batch - w->n[job];
  for (int32_t i = 0; i < workers; i++) ok = ok && naive_unit(w, o, j, job, 0, NULL);
  for (int32_t i = 0; i < servers; i++) ok = ok && naive_unit(w, o, j, job, 1, NULL);
  if (!ok) *w = saved;
  else w->n[job] += workers;
  return ok;
}

static double naive_share(const naive_filling *w, const berth_ps *p, int job) {
  const berth_ps_options *o = berth_ps_options_of(p);
  const berth_ps_job *j = berth_ps_job_at(p, job);
  double most = 0;
  for (int32_t k = 0; k < o->resources; k++) {
    double all = 0, used = 0;
    for (int32_t m = 0; m < o->machines; m++) {
      all += o->capacity[m * o->resources + k];
      used += w->at[job][m][0] * j->worker[k] + w->at[job][m][1] * j->server[k];
    }
    most = fmax(most, used / all);
  }
  return most;
}

static void naive_drf(naive_filling *w, const berth_ps *p, const int *there) {
  const berth_ps_options *o = berth_ps_options_of(p);
  int out[8] = { 0 };
  memset(w, 0, sizeof *w);
  for (int32_t m = 0; m < o->machines; m++)
    for (int32_t k = 0; k < o->resources; k++) w->room[m][k] = o->capacity[m * o->resources + k];
  for (;;) {
    int job = -1;
    for (int i = 0; i < berth_ps_jobs(p); i++)
      if (there[i] && !out[i] && (job < 0 || naive_share(w, p, i) < naive_share(w, p, job) - 1e-12))
        job = i;
    if (job < 0) return;
    if (!naive_bundle(w, o, berth_ps_job_at(p, job), job)) out[job] = 1;
  }
}

static void drf_naive(uint64_t seed) {
  berth_rng g = seeded(seed, 0);
  berth_ps *p = ps_random_problem(&g, (ps_case){ 5, 3, 6, 6, 3, 14 });
  berth_ps_run *r = ps_judged_play(p, drf(p));
  ps_log log = ps_log_of(r);
  for (int32_t t = 0; t < 6; t++) {
    int there[8] = { 0 };
    for (int i = 0; i < 6; i++)
      there[i] = berth_ps_job_at(p, i)->arrival <= t
                 && !(ps_record_of(r, i).done != BERTH_NONE && ps_record_of(r, i).done < t);
    naive_filling w;
    naive_drf(&w, p, there);
    for (int i = 0; i < 6; i++)
      for (int m = 0; m < 5; m++) {
        berth_ps_place had = ps_had(&log, t, i, m);
        CHECK(had.workers == w.at[i][m][0] && had.servers == w.at[i][m][1]);
      }
  }
  ps_log_free(&log);
  RELEASE(r);
}

/* ---- all ---- */

static berth_ps_scheduler *make(berth_ps *p, int kind) {
  berth_ps_dorm_options greedy = berth_ps_dorm_default();
  greedy.most_jobs = 0;
  switch (kind) {
    case 0: return fifo(p, false, 6);
    case 1: return fifo(p, true, 30);
    case 2: return drf(p);
    case 3: return dorm(p, NULL);
    case 4: return dorm(p, &greedy);
    default: return ps_optimus(p, NULL);
  }
}

static void random_runs(int kind) {
  for (uint64_t seed = 0; seed < (kind == 3 ? 12 : 60); seed++) {
    double utility = 0;
    berth_rng g = seeded(seed, (uint64_t)kind);
    berth_ps *p = ps_random_problem(&g,
                                    (ps_case){ 1 + berth_rng_below(&g, 8),
                                               1 + berth_rng_below(&g, 3), 12, 10, 2, 16 });
    for (int again = 0; again < 2; again++) {
      berth_ps_run *r = ps_judged_play(p, make(p, kind));
      if (again) CHECK(berth_ps_run_report(r).utility == utility);
      utility = berth_ps_run_report(r).utility;
      RELEASE(r);
    }
    RELEASE(p);
  }
}

static berth_status all_kinds(void) {
  berth_status st = BERTH_OK;
  berth_rng g = seeded(3, 0);
  berth_ps *p;
  if (!(p = ps_random_problem(&g, (ps_case){ 3, 2, 5, 4, 4, 12 }))) return BERTH_ENOMEM;
  for (int kind = 0; st == BERTH_OK && kind < 6; kind++) {
    berth_ps_scheduler *s = make(p, kind);
    st = BERTH_ENOMEM;
    if (s) RELEASE(ps_play(p, s, &st));
  }
  RELEASE(p);
  return st;
}

TEST("schedulers: wrong options, and runs of other problems, are refused") {
  berth_ps_job j = ps_plain(0);
  berth_ps *p = ps_problem(1, 5, 2, 2, 1, &j), *q = ps_problem(1, 5, 2, 2, 1, &j);
  berth_ps_scheduler *s = NULL;
  berth_ps_dorm_options d = berth_ps_dorm_default();
  berth_ps_fifo_options f = berth_ps_fifo_default();
  f.most = 0;
  CHECK_ERROR(berth_ps_fifo_new(p, &f, &s), BERTH_EINVAL,
              "option most is 0 (a finite number from 1)");
  d.theta_a = 1.5;
  CHECK_ERROR(berth_ps_dorm_new(p, &d, &s), BERTH_EINVAL, "option theta_a is 1.5 (0 to 1)");
  CHECK(s == NULL);
  s = drf(p);
  berth_ps_policy policy = berth_ps_scheduler_policy(s);
  berth_ps_run *r = must_ps_run_new(q);
  CHECK_ERROR(berth_ps_run_play(r, &policy), BERTH_EINVAL,
              "ps: the scheduler was made for another problem than the run's");
  CHECK(berth_ps_dorm_counted(s).programs == 0);
  RELEASE(s);
}

TEST("drf: as a naive progressive filling, unit by unit") {
  for (uint64_t seed = 0; seed < 80; seed++) drf_naive(seed);
}

TEST("fifo: random problems") { random_runs(0); }
TEST("backfill: random problems") { random_runs(1); }
TEST("drf: random problems") { random_runs(2); }
TEST("dorm: random problems") { random_runs(3); }
TEST("greedy dorm: random problems") { random_runs(4); }
TEST("optimus: random problems") { random_runs(5); }
TEST_REFUSALS(all_kinds)
