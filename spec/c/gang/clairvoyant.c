/* The clairvoyant bound: hand-made cases, enumeration, the program as it is defined, proofs
 * recomputed. */
#include "refusals.h"
#include <glpk.h>

enum { JOBS = 40, CHOICES = 4 };

typedef struct instance {
  berth_clairvoyant_jobs jobs;
  double arrival[JOBS];
  int32_t first[JOBS + 1];
  berth_clairvoyant_choice choice[JOBS * CHOICES];
} instance;

static instance *empty(int32_t servers) {
  static instance k;
  memset(&k, 0, sizeof k);
  k.jobs = (berth_clairvoyant_jobs){ 0, k.arrival, k.first, k.choice, servers, 0 };
  return &k;
}

static void add_job(instance *k, double arrival) {
  k->arrival[k->jobs.n] = arrival;
  k->first[k->jobs.n + 1] = k->first[k->jobs.n];
  k->jobs.n++;
}

static void add_choice(instance *k, int32_t servers, double seconds) {
  k->choice[k->first[k->jobs.n]++] = (berth_clairvoyant_choice){ seconds, servers };
}

/* Few different times, so that arrivals and ends meet. */
static instance *random_instance(berth_rng *rng, int32_t n) {
  instance *k = empty(1 + berth_rng_below(rng, 8));
  double now = 0;
  for (int32_t i = 0; i < n; i++) {
    now += berth_rng_below(rng, 3);
    add_job(k, now);
    for (int32_t c = berth_rng_below(rng, CHOICES + 1); c > 0; c--)
      add_choice(k, 1 + berth_rng_below(rng, k->jobs.servers + 1), berth_rng_below(rng, 9));
  }
  return k;
}

static berth_clairvoyant *solve(const instance *k) {
  berth_clairvoyant *c = NULL;
  CHECK_OK(berth_clairvoyant_new(ctx, &k->jobs, &c));
  return OWNED(c);
}

/* By definition: in use at the arrival of job `at`. */
static int in_use(const instance *k, int32_t job, int32_t c, int32_t at) {
  double start = k->arrival[job], now = k->arrival[at];
  return start == now || (start < now && start + k->choice[c].seconds > now + k->jobs.slack);
}

/* ---- enumeration ---- */

/* The most whole jobs; taken[i]: a choice or -1. */
static int holds(const instance *k, const int32_t *taken, int32_t n) {
  for (int32_t at = 0; at < n; at++) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++)
      if (taken[i] >= 0 && in_use(k, i, taken[i], at)) sum += k->choice[taken[i]].servers;
    if (sum > k->jobs.servers) return 0;
  }
  return 1;
}

static int32_t most_jobs(const instance *k, int32_t *taken, int32_t i, int32_t so_far) {
  if (i == k->jobs.n) return so_far;
  taken[i] = -1;
  int32_t best = most_jobs(k, taken, i + 1, so_far);
  for (int32_t c = k->first[i]; c < k->first[i + 1]; c++) {
    taken[i] = c;
    if (!holds(k, taken, i + 1)) continue;
    int32_t found = most_jobs(k, taken, i + 1, so_far + 1);
    if (found > best) best = found;
  }
  return best;
}

/* ---- the program as it is defined ---- */

static double defined(const instance *k) {
  glp_prob *lp = glp_create_prob();
  int32_t n = k->jobs.n;
  glp_set_obj_dir(lp, GLP_MAX);
  glp_add_rows(lp, 2 * n);
  for (int32_t i = 1; i <= 2 * n; i++)
    glp_set_row_bnds(lp, i, GLP_UP, 0, i <= n ? 1 : k->jobs.servers);
  for (int32_t i = 0; i < n; i++)
    for (int32_t c = k->first[i]; c < k->first[i + 1]; c++) {
      int row[JOBS + 2], used = 1, j = glp_add_cols(lp, 1);
      row[1] = i + 1;
      double value[JOBS + 2];
      value[1] = 1;
      for (int32_t at = 0; at < n; at++) {
        if (!in_use(k, i, c, at)) continue;
        row[++used] = n + at + 1;
        value[used] = k->choice[c].servers;
      }
      glp_set_mat_col(lp, j, used, row, value);
      /* more servers than there are: never taken */
      if (k->choice[c].servers > k->jobs.servers) glp_set_col_bnds(lp, j, GLP_FX, 0, 0);
      else glp_set_col_bnds(lp, j, GLP_LO, 0, 0);
      glp_set_obj_coef(lp, j, 1);
    }
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  CHECK(glp_simplex(lp, &how) == 0);
  double optimum = glp_get_obj_val(lp);
  glp_delete_prob(lp);
  return optimum;
}

/* ---- proofs ---- */

static double proved(const instance *k, const double *price) {
  double sum = 0;
  for (int32_t at = 0; at < k->jobs.n; at++) sum += price[at] * k->jobs.servers;
  for (int32_t i = 0; i < k->jobs.n; i++) {
    double best = 0;
    for (int32_t c = k->first[i]; c < k->first[i + 1]; c++) {
      double worth = 1;
      if (k->choice[c].servers > k->jobs.servers) continue;
      for (int32_t at = 0; at < k->jobs.n; at++)
        worth -= in_use(k, i, c, at) ? price[at] * k->choice[c].servers : 0;
      if (worth > best) best = worth;
    }
    sum += best;
  }
  return sum;
}

static void check_shares(const instance *k, const berth_clairvoyant *s) {
  const double *share = berth_clairvoyant_share(s);
  double all = 0, sum;
  int32_t i, c;
  for (int32_t at = 0; at < k->jobs.n; at++) {
    for (i = 0, sum = 0; i < k->jobs.n; i++)
      for (c = k->first[i]; c < k->first[i + 1]; c++)
        sum += in_use(k, i, c, at) ? share[c] * k->choice[c].servers : 0;
    CHECK(sum <= k->jobs.servers * (1 + 1e-12));
    for (c = k->first[at], sum = 0; c < k->first[at + 1]; c++) {
      CHECK(share[c] >= 0 && (share[c] == 0 || k->choice[c].servers <= k->jobs.servers));
      sum += share[c];
    }
    CHECK(sum <= 1 + 1e-12);
    all += sum;
  }
  CHECK_NEAR(all, berth_clairvoyant_get(s)->value, 1e-9);
}

static void check_solution(const instance *k, const berth_clairvoyant *s) {
  const berth_clairvoyant_summary *a = berth_clairvoyant_get(s);
  const double *price = berth_clairvoyant_price(s);
  double optimum = defined(k), again = 0;
  CHECK_NEAR(a->bound, optimum, 1e-9 * (1 + optimum));
  CHECK_NEAR(a->value, optimum, 1e-9 * (1 + optimum));
  CHECK_NEAR(proved(k, price), a->bound, 1e-12 * (1 + a->bound));
  CHECK_OK(berth_clairvoyant_prove(ctx, &k->jobs, price, &again));
  CHECK(again == a->bound);
  for (int32_t i = 0; i < k->jobs.n; i++) {
    CHECK(price[i] >= 0);
    CHECK(i == 0 || k->arrival[i] > k->arrival[i - 1] || price[i] == 0);
  }
  check_shares(k, s);
}

/* Any prices prove a bound, no lower one than the optimum. */
static void check_any_prices(const instance *k, double optimum, berth_rng *rng) {
  double price[JOBS], bound = -1;
  for (int32_t i = 0; i < k->jobs.n; i++)
    price[i] = berth_rng_uniform(rng) < 0.5 ? 0 : 0.3 * berth_rng_uniform(rng);
  CHECK_OK(berth_clairvoyant_prove(ctx, &k->jobs, price, &bound));
  CHECK_NEAR(bound, proved(k, price), 1e-12 * (1 + bound));
  CHECK(bound >= optimum - 1e-9);
}

/* ---- refusals ---- */

static void refuse(const instance *k, const char *text) {
  berth_clairvoyant *s = NULL;
  CHECK_ERROR(berth_clairvoyant_new(ctx, &k->jobs, &s), BERTH_EINVAL, text);
  CHECK(s == NULL);
}

static instance *one_job(double arrival, int32_t servers, double seconds) {
  instance *k = empty(4);
  add_job(k, arrival);
  add_choice(k, servers, seconds);
  return k;
}

TEST("nonsense is refused") {
  instance *k = empty(0);
  double price[2] = { -1, 0 }, bound = 7;
  refuse(k, "0 servers: expected at least 1");
  refuse(one_job(-1, 1, 1), "job 0: arrival -1 s: expected a finite time of at least 0");
  refuse(one_job(0, 0, 1), "job 0, choice 0: 0 servers: expected at least 1");
  refuse(one_job(0, 1, -2), "job 0, choice 0: -2 s: a time must be at least 0");
  k = one_job(3, 1, 1);
  add_job(k, 2);
  refuse(k, "job 1 arrives at 2 s, before the job in front of it, 3 s");
  k = one_job(0, 1, 1);
  k->jobs.slack = -1;
  refuse(k, "slack -1 s: expected a finite time of at least 0");
  k = one_job(0, 1, 1);
  k->first[0] = 1;
  refuse(k, "the first choice is number 1, not 0");
  k = one_job(0, 1, 1);
  add_job(k, 2);
  k->first[2] = 0;
  refuse(k, "job 1: its choices end before they begin");
  CHECK_ERROR(berth_clairvoyant_prove(ctx, &one_job(0, 1, 1)->jobs, price, &bound), BERTH_EINVAL,
              "price 0 is -1: expected a finite number of at least 0");
  CHECK(bound == 7);
}

static berth_status solve_instance(const void *k) {
  berth_clairvoyant *c = NULL;
  berth_status st = berth_clairvoyant_new(ctx, &((const instance *)k)->jobs, &c);
  RELEASE(c);
  return st;
}

TEST("two servers, three jobs of one server for ever: two") {
  instance *k = empty(2);
  for (int32_t i = 0; i < 3; i++) {
    add_job(k, i);
    add_choice(k, 1, INFINITY);
  }
  berth_clairvoyant *s = solve(k);
  CHECK_NEAR(berth_clairvoyant_get(s)->bound, 2, 1e-12);
  CHECK(berth_clairvoyant_get(s)->jobs == 2);
  check_solution(k, s);
}

TEST("three servers, jobs of two: one and a half in the relaxation, one job") {
  instance *k = empty(3);
  for (int32_t i = 0; i < 2; i++) {
    add_job(k, 5);
    add_choice(k, 2, 1);
  }
  berth_clairvoyant *s = solve(k);
  CHECK_NEAR(berth_clairvoyant_get(s)->bound, 1.5, 1e-12);
  CHECK(berth_clairvoyant_get(s)->jobs == 1 && berth_clairvoyant_get(s)->moments == 1);
}

TEST("a job that ends at an arrival is gone by then, and so is one within the slack") {
  instance *k = empty(1);
  add_job(k, 0);
  add_choice(k, 1, 1 + 1e-8);
  add_job(k, 1);
  add_choice(k, 1, 1);
  berth_clairvoyant *s = solve(k);
  CHECK_NEAR(berth_clairvoyant_get(s)->bound, 1, 1e-12);
  k->jobs.slack = 1e-7;
  s = solve(k);
  CHECK_NEAR(berth_clairvoyant_get(s)->bound, 2, 1e-12);
}

TEST("choices that others make useless are left out") {
  instance *k = one_job(0, 2, 5);
  add_choice(k, 2, 6); /* as good: nobody comes in between */
  add_choice(k, 3, 5);
  add_choice(k, 9, 1); /* more than there are */
  berth_clairvoyant *s = solve(k);
  CHECK(berth_clairvoyant_get(s)->columns == 1 && berth_clairvoyant_share(s)[0] == 1);
}

TEST("no jobs, and jobs without choices") {
  instance *k = empty(3);
  berth_clairvoyant *s = solve(k);
  CHECK(berth_clairvoyant_get(s)->bound == 0 && berth_clairvoyant_get(s)->jobs == 0);
  add_job(k, 1);
  s = solve(k);
  CHECK(berth_clairvoyant_get(s)->bound == 0);
}

TEST("300 random instances of up to 7 jobs: no schedule found by enumeration beats the bound") {
  berth_rng rng = seeded(11, 0);
  int32_t taken[JOBS];
  for (int32_t i = 0; i < 300; i++) {
    instance *k = random_instance(&rng, berth_rng_below(&rng, 8));
    berth_clairvoyant *s = solve(k);
    CHECK(most_jobs(k, taken, 0, 0) <= berth_clairvoyant_get(s)->jobs);
    RELEASE(s);
  }
}

TEST("200 random instances of up to 40 jobs: the optimum of the program as defined, a proof and "
     "shares that hold") {
  berth_rng rng = seeded(11, 0);
  for (int32_t i = 0; i < 200; i++) {
    instance *k = random_instance(&rng, 1 + berth_rng_below(&rng, JOBS));
    berth_clairvoyant *s = solve(k);
    check_solution(k, s);
    check_any_prices(k, berth_clairvoyant_get(s)->value, &rng);
    RELEASE(s);
  }
}

TEST("each refused allocation is orderly, and leaks nothing") {
  berth_rng rng = seeded(11, 0);
  CHECK(refuse_each(solve_instance, random_instance(&rng, 20), 1, 0) > 15);
}
