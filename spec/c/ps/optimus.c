/* Optimus and its speed model: numbers that can be checked by hand, and naive choices, one by
 * one. */
#include "ps_help.h"

/* ---- Optimus ---- */

TEST("optimus: by what a worker takes off the time that is left") {
  /* 5 units of worker room. Left / (w (w + 1)) is what a worker takes off: 96 samples against 24.
   * 1, 1; then 2, 1 (48 / 4 > 12 / 4); 3, 1 (16 > 12); then 3, 2 (8 < 12) */
  berth_ps_job j[] = { ps_plain(0), ps_plain(0) };
  j[0].samples = 96;
  j[1].samples = 24;
  j[0].server[1] = j[1].server[1] = 0.5;
  berth_ps *p = ps_problem(1, 2, 5, 8, 2, j);
  berth_ps_run *r = ps_judged_play(p, ps_optimus(p, NULL));
  ps_log g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 3 && ps_had(&g, 0, 1, 0).workers == 2);
  ps_log_free(&g);
  RELEASE(r);
  CASE("optimus: on as few machines as can be, evenly");
  p = ps_problem(3, 2, 3, 8, 1, j); /* 4 workers, 2 servers: 2 and 1 on each of two machines */
  r = ps_judged_play(p, ps_optimus(p, NULL));
  g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 2 && ps_had(&g, 0, 0, 0).servers == 1
        && ps_had(&g, 0, 0, 1).workers == 2 && ps_had(&g, 0, 0, 1).servers == 1);
  ps_log_free(&g);
  RELEASE(r);
  CASE("optimus: 3 workers and a server on two machines that each have room for two of these");
  j[0].batch = 3;
  j[0].ratio = 3;
  j[0].server[0] = 1;
  p = ps_problem(3, 2, 2, 8, 1, j);
  r = ps_judged_play(p, ps_optimus(p, NULL));
  g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 2 && ps_had(&g, 0, 0, 0).servers == 0
        && ps_had(&g, 0, 0, 1).workers == 1 && ps_had(&g, 0, 0, 1).servers == 1);
  ps_log_free(&g);
  RELEASE(r);
  j[0] = ps_plain(0);
  p = ps_problem(3, 2, 3, 8, 1, j);
  CASE("optimus: with a model that says more workers are slower, no more; that servers help, as "
       "many as workers");
  berth_ps_speed_fit slower = { { 0.1, 0, 0, 10, 0 } }, served = { { 1, 0, 1, 0, 0 } };
  r = ps_judged_play(p, ps_optimus(p, &slower));
  CHECK(ps_record_of(r, 0).worker_slots == 2 && ps_record_of(r, 0).server_slots == 2);
  RELEASE(r);
  r = ps_judged_play(p, ps_optimus(p, &served)); /* 4 / w + w / s: 1, 1; 2, 1; 2, 2; 3, 2; 3, 3: 7 /
                                                    3, as 4, 3 */
  CHECK(ps_record_of(r, 0).worker_slots == 6 && ps_record_of(r, 0).server_slots == 6);
  RELEASE(r);
}

TEST("optimus: who has least left begins first") {
  berth_ps_job j[] = { ps_plain(0), ps_plain(0) };
  j[0].samples = 96;
  j[1].samples = 24;
  berth_ps *p = ps_problem(1, 1, 1, 8, 2, j); /* room for one worker */
  berth_ps_run *r = ps_judged_play(p, ps_optimus(p, NULL));
  ps_log g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 0, 0).workers == 0 && ps_had(&g, 0, 1, 0).workers == 1);
  ps_log_free(&g);
  RELEASE(r);
  CASE("optimus: who has the smallest share is placed first");
  j[0].batch = 2; /* 2 workers, and 1: together they do not fit on one of two machines */
  j[1].batch = 1;
  p = ps_problem(2, 1, 2, 8, 2, j);
  r = ps_judged_play(p, ps_optimus(p, NULL));
  g = ps_log_of(r);
  CHECK(ps_had(&g, 0, 1, 0).workers == 1 && ps_had(&g, 0, 0, 1).workers == 2);
  ps_log_free(&g);
  RELEASE(r);
}

TEST("speed fit: finds the terms that made the speeds; none below 0") {
  double theta[] = { 0.02, 0.003, 0.0007, 0, 0.0001 };
  int n = 0;
  double w[24], s[24], v[24];
  for (int a = 1; a <= 6; a++)
    for (int b = 1; b <= 4; b++, n++) {
      w[n] = a, s[n] = b;
      v[n] = 1 / (8.0 / a * theta[0] + theta[1] + theta[2] * a / b + theta[3] * a + theta[4] * b);
    }
  berth_ps_speed_fit f;
  CHECK_OK(berth_ps_speed_fit_to(ctx, 8, n, w, s, v, &f));
  for (int i = 0; i < 5; i++) CHECK_NEAR(f.theta[i], theta[i], 1e-12);
  /* would like -0.003 of workers */
  for (int i = 0; i < n; i++) v[i] = 1 / (0.01 + 0.02 / w[i] + 0.003 * (6 - w[i]));
  CHECK_OK(berth_ps_speed_fit_to(ctx, 8, n, w, s, v, &f));
  for (int i = 0; i < 5; i++) CHECK(f.theta[i] >= 0);
  CHECK(f.theta[3] == 0);
  CHECK_OK(berth_ps_speed_fit_to(ctx, 8, 1, w, s, v, &f));
  v[3] = 0;
  CHECK_ERROR(berth_ps_speed_fit_to(ctx, 8, n, w, s, v, &f), BERTH_EINVAL,
              "speed fit: speed of sample 3: expected a finite number above 0, got 0");
}

/* ---- choices by scanning all jobs ---- */

enum { JOBS = 5, SLOTS = 6 };

typedef struct naive_optimus {
  const berth_ps *p;
  double left[JOBS], room[3];
  int there[JOBS];
  int32_t w[JOBS], s[JOBS];
} naive_optimus;

static int32_t needed(const berth_ps_job *j, int32_t workers) {
  return (int32_t)fmax(1, ceil(workers / j->ratio - 1e-9));
}

/* one machine */
static double all_of(const naive_optimus *n, int32_t k) {
  return berth_ps_options_of(n->p)->capacity[k];
}

static double cost(const naive_optimus *n, int job, int32_t w, int32_t s) {
  const berth_ps_job *j = berth_ps_job_at(n->p, job);
  double most = 0;
  for (int k = 0; k < 3; k++)
    most = fmax(most, (w * j->worker[k] + s * j->server[k]) / all_of(n, k));
  return most;
}

static int fits_in(const naive_optimus *n, int job, int32_t w, int32_t s) {
  const berth_ps_job *j = berth_ps_job_at(n->p, job);
  for (int k = 0; k < 3; k++)
    if (w * j->worker[k] + s * j->server[k] > n->room[k] + 1e-9) return 0;
  return 1;
}

static void give(naive_optimus *n, int job, int32_t w, int32_t s) {
  const berth_ps_job *j = berth_ps_job_at(n->p, job);
  for (int k = 0; k < 3; k++) n->room[k] -= w * j->worker[k] + s * j->server[k];
  n->w[job] += w;
  n->s[job] += s;
}

/* Time on several machines is inversely proportional to workers, and servers add nothing: a worker
 * each time. */
static int one_more(naive_optimus *n, int *out) {
  int best = -1;
  double most = 0;
  for (int i = 0; i < JOBS; i++) {
    const berth_ps_job *j = berth_ps_job_at(n->p, i);
    int32_t s = needed(j, n->w[i] + 1) - n->s[i];
    double c = berth_ps_worker_slots(j, j->across);
    if (!n->there[i] || out[i] || n->w[i] == 0 || n->w[i] >= j->batch) continue;
    double gain = n->left[i] * c * (1.0 / n->w[i] - 1.0 / (n->w[i] + 1)) / cost(n, i, 1, s);
    if (gain > most) best = i, most = gain;
  }
  if (best < 0) return 0;
  if (fits_in(n, best, 1, needed(berth_ps_job_at(n->p, best), n->w[best] + 1) - n->s[best])) {
    give(n, best, 1, needed(berth_ps_job_at(n->p, best), n->w[best] + 1) - n->s[best]);
  } else {
    out[best] = 1;
  }
  return 1;
}

static void choose(naive_optimus *n) {
  int out[JOBS] = { 0 }, begun[JOBS] = { 0 };
  for (int k = 0; k < 3; k++) n->room[k] = all_of(n, k);
  memset(n->w, 0, sizeof n->w);
  memset(n->s, 0, sizeof n->s);
  for (int turn = 0; turn < JOBS; turn++) {
    int first = -1;
    for (int i = 0; i < JOBS; i++)
      if (n->there[i] && !begun[i] && (first < 0 || n->left[i] < n->left[first])) first = i;
    if (first < 0) break;
    begun[first] = 1;
    if (fits_in(n, first, 1, needed(berth_ps_job_at(n->p, first), 1)))
      give(n, first, 1, needed(berth_ps_job_at(n->p, first), 1));
  }
  while (one_more(n, out)) continue;
}

static void naive_case(uint64_t seed) {
  naive_optimus n = { 0 };
  berth_rng g = seeded(seed, 0);
  berth_ps *p;
  n.p = p = ps_random_problem(&g, (ps_case){ 1, 3, SLOTS, JOBS, 8, 40 });
  berth_ps_run *r = ps_judged_play(p, ps_optimus(p, NULL));
  ps_log log = ps_log_of(r);
  for (int i = 0; i < JOBS; i++)
    n.left[i] = berth_ps_job_at(p, i)->epochs * berth_ps_job_at(p, i)->samples;
  for (int32_t t = 0; t < SLOTS; t++) {
    for (int i = 0; i < JOBS; i++)
      n.there[i] =
          berth_ps_job_at(p, i)->arrival <= t && n.left[i] > 1e-9 * berth_ps_job_at(p, i)->samples;
    choose(&n);
    for (int i = 0; i < JOBS; i++) {
      berth_ps_place had = ps_had(&log, t, i, 0);
      CHECK(had.workers == n.w[i] && had.servers == n.s[i]);
      n.left[i] -= ps_naive_speed(berth_ps_options_of(p), berth_ps_job_at(p, i), 1, &had);
    }
  }
  ps_log_free(&log);
  RELEASE(r);
}

TEST("optimus: as choices made by looking at all jobs each time") {
  for (uint64_t seed = 0; seed < 100; seed++) naive_case(seed);
}
