/* Dorm's numbers of bundles against all that could be, on tiny problems; its limits; the greedy
 * one's. */
#include "ps_help.h"

enum { JOBS = 4, SLOTS = 6, MOST_MACHINES = 2 };

/* Bundles of each job on each machine. */
typedef struct bundle_numbers {
  int32_t at[JOBS][MOST_MACHINES];
} bundle_numbers;

typedef struct dorm_world {
  const berth_ps *p;
  const berth_ps_options *c;
  berth_ps_dorm_options o;
  int there[JOBS], runs[JOBS];
  bundle_numbers before, best;
  int32_t fair[JOBS];
  double value;       /* of the best; -1: nothing keeps within the limits */
} dorm_world;

static int32_t per_server(const berth_ps_job *j) {
  return j->ratio < 1 ? 1 : (int32_t)fmin(floor(j->ratio), j->batch);
}
static int32_t servers(const berth_ps_job *j) {
  return j->ratio < 1 ? (int32_t)ceil(1 / j->ratio) : 1;
}
static int32_t most(const berth_ps_job *j) {
  return (j->batch + per_server(j) - 1) / per_server(j);
}
static double of_bundle(const berth_ps_job *j, int32_t k) {
  return per_server(j) * j->worker[k] + servers(j) * j->server[k];
}
static int32_t total(const dorm_world *w, const bundle_numbers *n, int j) {
  int32_t sum = 0;
  for (int32_t m = 0; m < w->c->machines; m++) sum += n->at[j][m];
  return sum;
}
static double all_of(const dorm_world *w, int32_t k) {
  double sum = 0;
  for (int32_t m = 0; m < w->c->machines; m++) sum += w->c->capacity[m * w->c->resources + k];
  return sum;
}
static double dominant(const dorm_world *w, int j) {
  double x = 0;
  for (int32_t k = 0; k < w->c->resources; k++)
    x = fmax(x, of_bundle(berth_ps_job_at(w->p, j), k) / all_of(w, k));
  return x;
}

static double use(const dorm_world *w, const bundle_numbers *n) {
  double sum = 0;
  for (int j = 0; j < JOBS; j++)
    for (int32_t k = 0; k < w->c->resources; k++)
      sum += total(w, n, j) * of_bundle(berth_ps_job_at(w->p, j), k) / all_of(w, k);
  return sum;
}

static int fits(const dorm_world *w, const bundle_numbers *n) {
  for (int32_t m = 0; m < w->c->machines; m++)
    for (int32_t k = 0; k < w->c->resources; k++) {
      double sum = 0;
      for (int j = 0; j < JOBS; j++) sum += n->at[j][m] * of_bundle(berth_ps_job_at(w->p, j), k);
      if (sum > w->c->capacity[m * w->c->resources + k] + 1e-9) return 0;
    }
  return 1;
}

static double unfairness(const dorm_world *w, const bundle_numbers *n) {
  double sum = 0;
  for (int j = 0; j < JOBS; j++)
    if (w->there[j]) sum += abs(total(w, n, j) - w->fair[j]) * dominant(w, j);
  return sum;
}

static int adjusted(const dorm_world *w, const bundle_numbers *n) {
  int count = 0;
  for (int j = 0; j < JOBS; j++)
    count += w->runs[j] && memcmp(n->at[j], w->before.at[j], sizeof n->at[j]) != 0;
  return count;
}
static int may_adjust(const dorm_world *w) {
  int running = 0;
  for (int j = 0; j < JOBS; j++) running += w->runs[j];
  return (int)floor(w->o.theta_a * running + 1e-9);
}

static int is_allowed(const dorm_world *w, const bundle_numbers *n) {
  for (int j = 0; j < JOBS; j++) {
    int32_t x = total(w, n, j);
    if (x > (w->there[j] ? most(berth_ps_job_at(w->p, j)) : 0) || (w->runs[j] && x < 1)) return 0;
  }
  return fits(w, n) && unfairness(w, n) <= w->o.theta_f * 2 * w->c->resources + 1e-9
         && adjusted(w, n) <= may_adjust(w);
}

static void try_all(dorm_world *w, bundle_numbers *n, int i) {
  int j = i / w->c->machines, m = i % w->c->machines;
  if (j == JOBS) {
    if (is_allowed(w, n) && use(w, n) > w->value) w->value = use(w, n);
    return;
  }
  for (n->at[j][m] = 0; n->at[j][m] <= (w->there[j] ? most(berth_ps_job_at(w->p, j)) : 0);
       n->at[j][m]++)
    try_all(w, n, i + 1);
  n->at[j][m] = 0;
}

/* On the cluster's sums. */
static void fair_shares(dorm_world *w) {
  int out[JOBS] = { 0 };
  memset(w->fair, 0, sizeof w->fair);
  double room[4];
  for (int32_t k = 0; k < w->c->resources; k++) room[k] = all_of(w, k);
  for (;;) {
    int job = -1, fit = 1;
    for (int j = 0; j < JOBS; j++)
      if (w->there[j] && !out[j] && w->fair[j] < most(berth_ps_job_at(w->p, j))
          && (job < 0 || w->fair[j] * dominant(w, j) < w->fair[job] * dominant(w, job)))
        job = j;
    if (job < 0) return;
    for (int32_t k = 0; k < w->c->resources; k++)
      fit = fit && of_bundle(berth_ps_job_at(w->p, job), k) <= room[k] + 1e-9;
    if (!fit) out[job] = 1;
    else w->fair[job]++;
    for (int32_t k = 0; fit && k < w->c->resources; k++)
      room[k] -= of_bundle(berth_ps_job_at(w->p, job), k);
  }
}

static bundle_numbers numbers(const dorm_world *w, const ps_log *g, int32_t slot) {
  bundle_numbers n = { { { 0 } } };
  for (int j = 0; j < JOBS; j++)
    for (int32_t m = 0; m < w->c->machines; m++)
      n.at[j][m] = ps_had(g, slot, j, m).servers / servers(berth_ps_job_at(w->p, j));
  return n;
}

/* Only whole bundles stand on machines. */
static int is_whole(const dorm_world *w, const ps_log *g, int32_t slot) {
  bundle_numbers n = numbers(w, g, slot);
  for (int j = 0; j < JOBS; j++)
    for (int32_t m = 0; m < w->c->machines; m++) {
      berth_ps_place had = ps_had(g, slot, j, m);
      const berth_ps_job *job = berth_ps_job_at(w->p, j);
      if (had.servers != n.at[j][m] * servers(job) || had.workers != n.at[j][m] * per_server(job))
        return 0;
    }
  return 1;
}

/* @return whether something came or ended, and somebody is there */
static int look_at(dorm_world *w, const berth_ps_run *r, const ps_log *g, int32_t t) {
  int changed = 0, anybody = 0;
  for (int j = 0; j < JOBS; j++) {
    berth_ps_record x;
    berth_ps_run_record(r, j, &x);
    w->there[j] = berth_ps_job_at(w->p, j)->arrival <= t && (x.done == BERTH_NONE || x.done >= t);
    anybody = anybody || w->there[j];
    changed = changed || berth_ps_job_at(w->p, j)->arrival == t || x.done == t - 1;
    w->runs[j] = w->there[j] && t > 0 && ps_had(g, t - 1, j, BERTH_NONE).servers > 0;
  }
  if (t > 0) w->before = numbers(w, g, t - 1);
  else memset(&w->before, 0, sizeof w->before);
  for (int j = 0; j < JOBS; j++)
    if (!w->there[j]) memset(w->before.at[j], 0, sizeof w->before.at[j]);
  return changed && anybody;
}

static void judge_slot(dorm_world *w, const bundle_numbers *got, int32_t t, int *programs,
                       int *greedy) {
  bundle_numbers n = { { { 0 } } };
  fair_shares(w);
  w->value = -1;
  try_all(w, &n, 0);
  if (w->value < 0) ++*greedy;
  else ++*programs;
  CHECK(adjusted(w, got) <= may_adjust(w));
  if (w->value < 0) return;
  CHECK(is_allowed(w, got));
  if (!CHECK(fabs(use(w, got) - w->value) < 1e-6))
    printf("# slot %d: %g, best %g\n", (int)t, use(w, got), w->value);
}

/* What it adds keeps within the limit of fairness, or comes nearer to it. Bundles for which a
 * machine has no room are none of its doing. */
static void judge_greedy(dorm_world *w, const bundle_numbers *got) {
  double limit = w->o.theta_f * 2 * w->c->resources;
  CHECK(adjusted(w, got) <= may_adjust(w));
  fair_shares(w);
  if (w->c->machines == 1)
    CHECK(fits(w, got) && unfairness(w, got) <= fmax(limit, unfairness(w, &w->before)) + 1e-9);
}

/* The greedy one may break a bundle in two: from there on the programs have the cluster's sums.
 * @return whether it never did */
static int judge(berth_ps *p, const berth_ps_run *r, const berth_ps_dorm_options *o, int exact,
                 int *programs, int *greedy) {
  dorm_world w = { .p = p, .c = berth_ps_options_of(p), .o = *o };
  ps_log g = ps_log_of(r);
  int whole = 1;
  for (int32_t t = 0; whole && t < SLOTS; t++) {
    bundle_numbers got = numbers(&w, &g, t);
    if (!look_at(&w, r, &g, t)) CHECK(memcmp(&got, &w.before, sizeof got) == 0);
    else if (exact) judge_slot(&w, &got, t, programs, greedy);
    else judge_greedy(&w, &got);
    whole = is_whole(&w, &g, t);
  }
  ps_log_free(&g);
  return whole;
}

static berth_ps *small_problem(berth_rng *g) {
  double capacity[2 * MOST_MACHINES];
  int32_t machines = 1 + berth_rng_below(g, MOST_MACHINES);
  for (int i = 0; i < 2 * MOST_MACHINES; i++) capacity[i] = 5 + berth_rng_below(g, 10);
  berth_ps_job jobs[JOBS];
  for (int j = 0; j < JOBS; j++) {
    jobs[j] = ps_random_job(g, (j + 1) / 2, 2, 3);
    jobs[j].batch =
        (1 + berth_rng_below(g, 3)) * (jobs[j].ratio < 1 ? 1 : (int32_t)floor(jobs[j].ratio));
  }
  berth_ps_options o = berth_ps_default(machines, 2, SLOTS, capacity);
  return must_ps_new(&o, JOBS, jobs);
}

static void random_case(uint64_t seed, int exact, int *programs, int *greedy) {
  static const double theta_a[] = { 0, 0.5, 1 };
  berth_ps_dorm_options o = berth_ps_dorm_default();
  berth_ps_scheduler *s = NULL;
  int before[2] = { *programs, *greedy };
  berth_rng g = seeded(seed, 0);
  berth_ps *p = small_problem(&g);
  o.theta_f = ps_between(&g, 0.02, 0.4);
  o.theta_a = theta_a[berth_rng_below(&g, 3)];
  o.nodes = 100000;
  if (!exact) o.most_jobs = 0;
  CHECK_OK(berth_ps_dorm_new(p, &o, &s));
  berth_ps_policy policy = berth_ps_scheduler_policy(s);
  berth_ps_run *r = must_ps_run_new(p);
  CHECK_OK(berth_ps_run_play(r, &policy));
  int whole = judge(p, r, &o, exact, programs, greedy);
  ps_judge(r, 1);
  berth_ps_dorm_counts counts = berth_ps_dorm_counted(s);
  if (exact && whole
      && !CHECK(counts.proved == *programs - before[0] && counts.greedy == *greedy - before[1]))
    printf("# seed %d: %d proved, %d greedy; should be %d, %d\n", (int)seed, (int)counts.proved,
           (int)counts.greedy, *programs - before[0], *greedy - before[1]);
  if (!exact) CHECK(counts.programs == 0 && counts.greedy > 0);
  RELEASE(s);
}

TEST("dorm: no numbers of bundles within the limits use more of the cluster") {
  int programs = 0, greedy = 0;
  for (uint64_t seed = 0; seed < 40; seed++) random_case(seed, 1, &programs, &greedy);
  printf("# %d programs, %d without an answer\n", programs, greedy);
  CHECK(programs > 20 && greedy > 5);
}

TEST("dorm: the greedy one adjusts no more than it may, and is fair within the limit") {
  int programs = 0, greedy = 0;
  for (uint64_t seed = 0; seed < 100; seed++) random_case(seed, 0, &programs, &greedy);
}
