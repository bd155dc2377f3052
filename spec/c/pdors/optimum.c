/* What is best for one who knows all: the integer program beside brute force, every run below it,
 * every certificate above it. */
#include "pdors_help.h"

/* ---- brute force: in every slot all that fits, for all jobs ---- */

enum { CELLS = 2 * PDORS_KINDS, OPTIONS = 400 };

typedef struct option {
  double speed, use[CELLS];
} option;

typedef struct brute {
  const small_problem *p;
  int32_t n[2];
  option option[2][OPTIONS];
  double free[PDORS_SLOTS][CELLS];
} brute;

/* Two machines. */
static double speed_of(const berth_ps_job *j, const int32_t *w, const int32_t *s) {
  int32_t workers = w[0] + w[1], servers = s[0] + s[1], both = w[0] + s[0] > 0 && w[1] + s[1] > 0;
  if (workers < 1 || workers > j->batch || servers < 1 || servers * j->ratio < workers - 1e-9)
    return 0;
  return workers / berth_ps_worker_slots(j, both ? j->across : j->inside);
}

static void add_option(brute *b, int32_t job, const int32_t *w, const int32_t *s) {
  const berth_ps_job *j = &b->p->job[job];
  option *o = &b->option[job][b->n[job]];
  for (int32_t k = 0; k < CELLS; k++) {
    o->use[k] = j->worker[k % 2] * w[k / 2] + j->server[k % 2] * s[k / 2];
    if (o->use[k] > b->p->capacity[k] + 1e-9) return;
  }
  o->speed = speed_of(j, w, s);
  if ((o->speed > 0 || w[0] + w[1] + s[0] + s[1] == 0) && b->n[job] < OPTIONS - 1) b->n[job]++;
}

static void all_options(brute *b, int32_t job) {
  int32_t most = b->p->job[job].batch + 1;
  for (int32_t k = 0; k < most * most * most * most; k++) {
    int32_t w[2] = { k % most, k / most % most },
            s[2] = { k / most / most % most, k / most / most / most };
    add_option(b, job, w, s);
  }
}

static double best_from(brute *b, int32_t slot, int32_t job, const double *left) {
  double best = 0;
  if (slot == b->p->slots) return 0;
  if (job == b->p->jobs) return best_from(b, slot + 1, 0, left);
  for (int32_t k = 0; k < b->n[job]; k++) {
    const option *o = &b->option[job][k];
    const berth_ps_job *j = &b->p->job[job];
    double after[2] = { left[0], left[1] }, worth = 0;
    if (o->speed > 0 && (slot < j->arrival || left[job] <= 0)) continue;
    int32_t c;
    for (c = 0; c < CELLS && o->use[c] <= b->free[slot][c] + 1e-9; c++) {}
    if (c < CELLS) continue;
    after[job] -= o->speed;
    if (left[job] > 0 && after[job] <= 1e-9 * j->samples)
      worth = berth_ps_utility(j, slot - j->arrival), after[job] = 0;
    for (c = 0; c < CELLS; c++) b->free[slot][c] -= o->use[c];
    best = fmax(best, worth + best_from(b, slot, job + 1, after));
    for (c = 0; c < CELLS; c++) b->free[slot][c] += o->use[c];
  }
  return best;
}

static double brute_force(const small_problem *p) {
  static brute b;
  b.p = p;
  double left[2];
  for (int32_t i = 0; i < p->jobs; i++) {
    left[i] = p->job[i].samples;
    b.n[i] = 0;
    all_options(&b, i);
  }
  for (int32_t t = 0; t < p->slots; t++)
    for (int32_t c = 0; c < CELLS; c++) b.free[t][c] = p->capacity[c];
  return best_from(&b, 0, 0, left);
}

TEST("the integer program finds what brute force finds") {
  int32_t above = 0;
  berth_rng rng = seeded(3, 1);
  int32_t k;
  for (k = 0; k < check_runs(15, 40); k++) {
    small_problem p = random_problem(&rng, 2, 2, 2);
    for (int32_t i = 0; i < 2; i++) {
      p.job[i].batch = 1 + berth_rng_below(&rng, 2);
      if (k % 8 == 7) p.job[i].across = 2 * p.job[i].inside; /* faster apart than together */
    }
    berth_ps *ps = make_problem(&p);
    berth_pdors_optimum best;
    double each[2];
    CHECK_OK(berth_pdors_offline(ps, 100000, &best, each));
    double found = brute_force(&p);
    CHECK(best.proved);
    CHECK_NEAR(best.utility, found, 1e-6 * (1 + found));
    CHECK_NEAR(each[0] + each[1], best.utility, 1e-6 * (1 + found));
    above += found > 0;
    RELEASE(ps);
  }
  CHECK(above > k / 2);
}

/* ---- runs ---- */

static double play(berth_ps *ps, berth_pdors_options o, berth_pdors_certificate *c) {
  berth_pdors *d = make_pdors(ps, o);
  berth_ps_policy policy = berth_pdors_policy(d);
  berth_ps_run *r = must_ps_run_new(ps);
  CHECK_OK(berth_ps_run_play(r, &policy));
  double utility;
  utility = berth_ps_run_report(r).utility;
  CHECK_OK(berth_pdors_certify(d, utility, 40, c));
  RELEASE(r, d);
  return utility;
}

TEST("run <= optimum <= certificate; the certificate of any run") {
  double sum = 0, sum_best = 0, sum_bound = 0;
  const int32_t n = check_runs(20, 30);
  int32_t proved = 0;
  berth_rng rng = seeded(5, 1);
  for (int32_t k = 0; k < n; k++) {
    small_problem p = random_problem(&rng, 3, 2, 3);
    berth_ps *ps = make_problem(&p);
    berth_pdors_optimum best;
    CHECK_OK(berth_pdors_offline(ps, check_runs(2000, 20000), &best, NULL));
    CHECK(best.utility <= best.bound * (1 + 1e-9) + 1e-9);
    proved += best.proved;
    for (int32_t m = 0; m < 4; m++) {
      berth_pdors_certificate c;
      berth_pdors_options o = some_options(4 * k + m);
      double utility = play(ps, o, &c);
      CHECK(utility <= best.bound * (1 + 1e-6) + 1e-6);
      CHECK(best.utility <= c.bound * (1 + 1e-6) + 1e-6);
      CHECK_NEAR(c.bound, c.prices + c.jobs, 1e-6 * (1 + c.bound));
      if (c.bound > 0) CHECK_NEAR(c.ratio, utility / c.bound, 1e-12);
      else CHECK(isnan(c.ratio) && c.possible == 0 && utility == 0);
      CHECK(isnan(c.worst_case) == (o.per_job || o.bounds == BERTH_PDORS_ONLINE)
            && !(c.worst_case <= 0));
      if (m > 0) continue;
      sum += utility;
      sum_best += best.utility;
      sum_bound += c.bound;
    }
    RELEASE(ps);
  }
  CHECK(proved >= n - 4);
  printf("# utility / optimum %.3f, optimum / certificate %.3f, %d of %d proved\n", sum / sum_best,
         sum_best / sum_bound, proved, n);
}

/* A worker on one machine and its server on the other do a sample in a slot at the bandwidth of the
 * rack, half of one across. */
TEST("the optimum counts on the bandwidth within a rack, and on slots from the arrival only") {
  static const double capacity[] = { 1, 1, 1, 1 };
  static const int32_t rack[] = { 0, 0 };
  berth_ps_job j = plain_job(0, 1, 1);
  berth_pdors_optimum best;
  for (int32_t racks = 0; racks < 2; racks++) {
    berth_ps_options o = berth_ps_default(2, 2, 1, capacity);
    o.rack = racks ? rack : NULL;
    j.rack = 4;
    CHECK_OK(berth_pdors_offline(must_ps_new(&o, 1, &j), 100, &best, NULL));
    CHECK(best.proved && best.utility == (racks ? 5 : 0));
  }
  berth_ps_options late = berth_ps_default(1, 2, 2000, (const double[]){ 2, 2 });
  j.arrival = 1999;
  CHECK_OK(berth_pdors_offline(must_ps_new(&late, 1, &j), 100, &best, NULL));
  CHECK(best.utility == 5);
}

/* ---- certificates ---- */

TEST("two jobs, room for one: the certificate is what the better one is worth") {
  small_problem p = { .jobs = 2, .machines = 1, .resources = 2, .slots = 1, .capacity = { 2, 2 } };
  p.job[0] = plain_job(0, 1, 1);
  p.job[1] = plain_job(0, 1, 1);
  p.job[1].importance = 30;
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = make_pdors(ps, published());
  berth_pdors_optimum best;
  CHECK_OK(berth_pdors_offline(ps, 100, &best, NULL));
  CHECK(best.proved);
  CHECK_NEAR(best.utility, 15, 1e-9);
  berth_pdors_certificate c;
  CHECK_OK(berth_pdors_certify(d, 15, 200, &c));
  CHECK(c.bound >= 15 && c.bound <= 15.2);
  CASE("without steps it stands on the prices as they are");
  CHECK_OK(berth_pdors_certify(d, 0, 0, &c));
  CHECK_NEAR(c.prices, 4 * berth_pdors_price(d, 0, 0, 0), 1e-9);
  CHECK_NEAR(c.jobs, 20 - 8 * berth_pdors_price(d, 0, 0, 0), 1e-7);
  CHECK_NEAR(c.ratio, 0, 0);
  CASE("wrong arguments");
  CHECK_ERROR(berth_pdors_certify(d, -1, 0, &c), BERTH_EINVAL,
              "pdors: a certificate of utility -1 in 0 steps: both at least 0");
  CHECK_STATUS(berth_pdors_offline(ps, -1, &best, NULL), BERTH_EINVAL);
}

/* More kinds of machines than there are prices for. */
TEST("a certificate of forty different machines") {
  enum { MANY = 40 };
  double capacity[2 * MANY] = { 0 };
  berth_ps_options po = berth_ps_default(MANY, 2, 2, capacity);
  berth_rng rng = seeded(9, 1);
  berth_ps_job job[3];
  for (int32_t k = 0; k < 3; k++) {
    for (int32_t i = 0; i < 2 * MANY; i++)
      capacity[i] = i < 2 * MANY - 6 ? 0.01 * (i % 7) : between(&rng, 1, 5);
    for (int32_t i = 0; i < 3; i++) job[i] = random_job(&rng, 0);
    berth_ps *ps = must_ps_new(&po, 3, job);
    berth_pdors_optimum best;
    CHECK_OK(berth_pdors_offline(ps, 2000, &best, NULL));
    berth_pdors_certificate c;
    play(ps, published(), &c);
    CHECK(best.utility <= c.bound * (1 + 1e-6));
  }
}
