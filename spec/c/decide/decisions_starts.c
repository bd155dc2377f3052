/* Searching decisions: what stands for an action where it is illegal, and starts whose values are
 * known. */
#include "refusals.h"

enum { MOST = 12, ACTIONS = 5, KEPT = 4000 };

/* Notes what is asked. */
typedef struct sum_problem {
  berth_decisions p;
  double alone[MOST][ACTIONS];
  uint8_t legal[MOST * ACTIONS];
  int32_t instead[ACTIONS], start[8 * MOST], row[KEPT][MOST], calls, released, wrong;
  double told[8], excess[8], wall;
} sum_problem;

static double sum_of(const sum_problem *x, const int32_t *a) {
  double sum = 1;
  for (int32_t i = 0; i < x->p.n; i++)
    sum += x->alone[i][a[i]] * (i > 0 && a[i] == a[i - 1] ? 0.7 : 1);
  return sum;
}

static berth_status value(void *ud, int32_t k, const int32_t *assignment, double *out,
                          double *excess) {
  sum_problem *x = ud;
  for (int32_t j = 0; j < k; j++) {
    const int32_t *a = assignment + (size_t)j * (size_t)x->p.n;
    for (int32_t i = 0; i < x->p.n; i++) x->wrong += !x->legal[i * ACTIONS + a[i]];
    if (x->calls < KEPT) memcpy(x->row[x->calls++], a, (size_t)x->p.n * sizeof *a);
    out[j] = sum_of(x, a);
    if (out[j] > x->wall) excess[j] = out[j] - x->wall;
  }
  return BERTH_OK;
}

static void released(void *ud) { ((sum_problem *)ud)->released++; }

/* Action 0 is legal everywhere; what stands for another has a smaller number. */
static void make(sum_problem *x, uint64_t seed, int32_t n) {
  memset(x, 0, sizeof *x);
  berth_rng r = seeded(seed, 31);
  for (int32_t i = 0; i < n; i++)
    for (int32_t a = 0; a < ACTIONS; a++) {
      x->alone[i][a] = 4 * berth_rng_uniform(&r);
      x->legal[i * ACTIONS + a] = a == 0 || berth_rng_below(&r, 2) == 0;
    }
  for (int32_t a = 0; a < ACTIONS; a++)
    x->instead[a] = a > 0 && berth_rng_below(&r, 3) > 0 ? berth_rng_below(&r, a) : BERTH_NONE;
  x->wall = INFINITY;
  x->p.n = n;
  x->p.n_actions = ACTIONS;
  x->p.legal = x->legal;
  x->p.instead = x->instead;
  x->p.start = x->start; /* action 0 */
  x->p.n_starts = 1;
  x->p.value = value;
  x->p.release = released;
  x->p.ud = x;
}

static int32_t stand_in(const sum_problem *x, int32_t decision, int32_t a) {
  while (a != BERTH_NONE && !x->legal[decision * ACTIONS + a])
    a = x->p.instead ? x->instead[a] : BERTH_NONE;
  return a;
}

static const berth_decide_method methods[] = { BERTH_DECIDE_MCTS, BERTH_DECIDE_TREE,
                                               BERTH_DECIDE_ANNEAL, BERTH_DECIDE_REFINE };
enum { N_METHODS = sizeof methods / sizeof *methods };

static berth_status run(sum_problem *x, const berth_decide_options *o, int32_t *a,
                        berth_decide_report *r) {
  x->calls = x->wrong = x->released = 0;
  return berth_decide(ctx, &x->p, o, a, r);
}

static bool was_asked(const sum_problem *x, const int32_t *a) {
  for (int32_t k = 0; k < x->calls; k++)
    if (memcmp(x->row[k], a, (size_t)x->p.n * sizeof *a) == 0) return true;
  return false;
}

/* ---- instead ---- */

static void check_uniform(sum_problem *x, berth_decide_method method) {
  berth_decide_options o = berth_decide_default(0);
  o.method = method;
  o.uniform_part = 1;
  o.calls = ACTIONS + 1;
  int32_t a[MOST];
  CHECK_OK(run(x, &o, a, NULL));
  CHECK(x->wrong == 0);
  for (int32_t k = 0; k < ACTIONS; k++) {
    for (int32_t i = 0; i < x->p.n; i++) {
      const int32_t same = stand_in(x, i, k);
      a[i] = same == BERTH_NONE ? x->start[i] : same;
    }
    CHECK(was_asked(x, a));
  }
}

TEST("an action for all decisions: what stands for it where it is illegal, else the start") {
  static sum_problem x;
  for (uint64_t seed = 0; seed < 40; seed++)
    for (int m = 0; m < N_METHODS; m++) {
      make(&x, seed, MOST);
      if (seed % 4 == 3) x.p.instead = NULL;
      check_uniform(&x, methods[m]);
    }
}

/* The others of a leaf are the nearest decided one's or the first one's action, or what stands for
 * it; else the start's. */
static int32_t filled(const sum_problem *x, const berth_leaf *leaf, int32_t i) {
  double least = INFINITY;
  int32_t action = x->start[i];
  for (int32_t j = 0; j < leaf->decided; j++) {
    const int32_t same = stand_in(x, i, leaf->assignment[j]);
    if (same == BERTH_NONE || (x->p.fill == BERTH_FILL_FIRST ? j > 0 : !(i - j < least))) continue;
    least = i - j;
    action = same;
  }
  return action;
}

static berth_status watch(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  sum_problem *x = ud;
  for (int32_t j = 0; j < k; j++) {
    for (int32_t i = leaf[j].decided; i < x->p.n; i++)
      x->wrong += leaf[j].assignment[i] != filled(x, &leaf[j], i);
    for (int32_t a = 0; a < ACTIONS; a++) p[j * ACTIONS + a] = 1;
  }
  return BERTH_OK;
}

static berth_status in_range(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  sum_problem *x = ud;
  for (int32_t j = 0; j < k; j++) {
    x->wrong += leaf[j].decision < 0 || leaf[j].decision >= x->p.n || leaf[j].decided > x->p.n;
    for (int32_t a = 0; a < ACTIONS; a++) p[j * ACTIONS + a] = 1 + a;
  }
  return BERTH_OK;
}

TEST("the prior is asked about each decision, and about no other, whatever the batch") {
  static sum_problem x;
  for (int32_t batch = 1; batch <= MOST + 1; batch++) {
    berth_decide_options o = berth_decide_default(0);
    make(&x, 3, MOST);
    x.p.prior = in_range;
    o.method = BERTH_DECIDE_MCTS;
    o.batch = batch;
    o.informed_part = 0.5;
    o.calls = 60;
    int32_t a[MOST];
    CHECK_OK(run(&x, &o, a, NULL));
    CHECK(x.wrong == 0 && x.calls > 20);
  }
}

TEST("decisions that are not made copy what stands for the action") {
  static sum_problem x;
  for (uint64_t seed = 0; seed < 40; seed++) {
    berth_decide_options o = berth_decide_default(0);
    make(&x, seed, MOST);
    if (seed % 4 == 3) x.p.instead = NULL;
    x.p.fill = seed % 2 ? BERTH_FILL_FIRST : BERTH_FILL_NEAREST;
    x.p.prior = watch;
    o.method = BERTH_DECIDE_TREE;
    o.uniform = 0;
    o.calls = 200;
    int32_t a[MOST];
    CHECK_OK(run(&x, &o, a, NULL));
    CHECK(x.wrong == 0 && x.calls > 20);
  }
}

/* All 1, all but 2 where that is legal and else 0, and all the rest, which is no way from the one
 * to the other. */
static berth_status ravine(void *ud, int32_t k, const int32_t *assignment, double *out,
                           double *excess) {
  sum_problem *x = ud;
  (void)excess;
  for (int32_t j = 0; j < k; j++) {
    int32_t ones = 0, others = 0;
    for (int32_t i = 0; i < x->p.n; i++) {
      const int32_t a = assignment[j * x->p.n + i];
      ones += a == 1;
      others += a == (i % 2 ? 0 : 2);
    }
    out[j] = others == x->p.n ? 1 : ones == x->p.n ? 2 : 50;
  }
  return BERTH_OK;
}

TEST("segments change as a whole") {
  static sum_problem x;
  for (int m = 2; m < N_METHODS; m++)
    for (int with = 0; with < 2; with++) {
      berth_decide_options o = berth_decide_default(0);
      make(&x, 1, 10);
      x.p.value = ravine;
      x.p.instead = with ? x.instead : NULL;
      for (int32_t i = 0; i < ACTIONS; i++) x.instead[i] = i == 2 ? 0 : BERTH_NONE;
      for (int32_t i = 0; i < 10; i++) {
        const uint8_t legal[ACTIONS] = { 1, 1, i % 2 == 0, 0, 0 };
        memcpy(&x.legal[i * ACTIONS], legal, ACTIONS);
        x.start[i] = 1;
      }
      o.method = methods[m];
      o.uniform = 0;
      o.calls = 500;
      berth_decide_report r;
      int32_t a[MOST];
      CHECK_OK(run(&x, &o, a, &r));
      CHECK(r.value == (with ? 1 : 2));
    }
}

TEST("nothing for any is as no table") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++) {
    berth_decide_options o = berth_decide_default(0);
    o.method = methods[m];
    o.calls = 150;
    berth_decide_report r[2];
    int32_t a[2][MOST];
    for (int k = 0; k < 2; k++) {
      make(&x, 6, MOST);
      for (int32_t i = 0; i < ACTIONS; i++) x.instead[i] = BERTH_NONE;
      x.p.instead = k ? x.instead : NULL;
      CHECK_OK(run(&x, &o, a[k], &r[k]));
    }
    CHECK(memcmp(a[0], a[1], sizeof a[0]) == 0 && r[0].repeats == r[1].repeats
          && r[0].value == r[1].value);
  }
}

/* ---- starts ---- */

/* Four starts: all 0, and each of 1, 2, 3 where legal. */
static void make_starts(sum_problem *x, uint64_t seed, int32_t n) {
  make(x, seed, n);
  for (int32_t s = 0; s < 4; s++)
    for (int32_t i = 0; i < n; i++) x->start[s * n + i] = x->legal[i * ACTIONS + s] ? s : 0;
  for (int32_t s = 0; s < 4; s++) x->told[s] = sum_of(x, x->start + s * n);
  x->p.n_starts = 4;
  x->p.start_value = x->told;
  x->p.start_excess = x->excess;
}

static double least_told(const sum_problem *x) {
  double least = INFINITY;
  for (int32_t s = 0; s < 4; s++) least = fmin(least, x->told[s]);
  return least;
}

static void check_trace(const sum_problem *x, const berth_decider *d,
                        const berth_decide_report *r) {
  const int64_t *at;
  const double *v;
  const int32_t n = berth_decider_trace(d, &at, &v);
  CHECK(n > 0 && at[0] == 0 && v[0] == x->told[0] && v[n - 1] == r->value
        && at[n - 1] <= r->evaluations);
  for (int32_t i = 1; i < n; i++) CHECK(at[i] >= at[i - 1] && v[i] < v[i - 1]);
}

TEST("known starts are neither asked nor counted, and stand in the trace before anything") {
  static sum_problem x;
  for (uint64_t seed = 0; seed < 20; seed++)
    for (int m = 0; m < N_METHODS; m++)
      for (int32_t batch = 1; batch <= 6; batch += 5) {
        berth_decide_options o = berth_decide_default(0);
        const int64_t budget = seed % 2 ? 1 : 60;
        make_starts(&x, seed, MOST);
        o.method = methods[m];
        o.batch = batch;
        berth_decider *d = must_decider_new(&x.p, &o);
        CHECK_OK(berth_decider_search(d, budget, 0));
        berth_decide_report r = must_decider_best(d, NULL);
        CHECK(r.evaluations == budget && x.calls == budget && x.wrong == 0);
        CHECK(r.start == least_told(&x) && r.value <= r.start);
        for (int32_t s = 0; s < 4; s++) CHECK(!was_asked(&x, x.start + s * MOST));
        check_trace(&x, d, &r);
      }
}

TEST("those that are NaN are asked, whatever the batch, and no others") {
  static sum_problem x;
  for (int32_t mask = 0; mask < 16; mask++)
    for (int32_t batch = 1; batch <= 3; batch++) {
      berth_decide_options o = berth_decide_default(0);
      int32_t unknown = 0;
      make_starts(&x, 3, MOST);
      double least = least_told(&x);
      for (int32_t s = 0; s < 4; s++)
        if (mask >> s & 1) {
          x.told[s] = NAN;
          unknown++;
        }
      o.batch = batch;
      o.uniform = 0;
      o.calls = unknown > 0 ? unknown : 1;
      berth_decide_report r;
      int32_t a[MOST];
      CHECK_OK(run(&x, &o, a, &r));
      CHECK(r.start == least && r.evaluations == o.calls && x.calls == o.calls);
      for (int32_t s = 0; s < 4; s++) CHECK(was_asked(&x, x.start + s * MOST) == (mask >> s & 1));
    }
}

TEST("given values are used, also when the tables are gone") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++) {
    berth_decide_options o = berth_decide_default(0);
    make_starts(&x, 5, MOST);
    int32_t best[MOST];
    memcpy(best, x.start + 2 * MOST, sizeof best);
    x.told[2] = 0.5; /* below all that there is */
    x.p.start_excess = NULL;
    o.method = methods[m];
    berth_decider *d = must_decider_new(&x.p, &o);
    memset(x.start, 0, sizeof x.start);
    memset(x.instead, 0, sizeof x.instead);
    memset(x.told, 0, sizeof x.told);
    CHECK_OK(berth_decider_search(d, 100, 0));
    int32_t a[MOST];
    berth_decide_report r = must_decider_best(d, a);
    CHECK(r.value == 0.5 && r.start == 0.5 && memcmp(a, best, sizeof a) == 0);
    RELEASE(d);
    CHECK(x.released == 1);
  }
}

TEST("known starts that are not allowed: the least excess, then less value") {
  static sum_problem x;
  berth_decide_options o = berth_decide_default(0);
  berth_decide_report r;
  int32_t a[MOST];
  for (int m = 0; m < N_METHODS; m++) {
    make_starts(&x, 7, MOST);
    x.wall = 0; /* nothing is allowed, and what is valued exceeds by more than 1 */
    for (int32_t s = 0; s < 4; s++) x.excess[s] = s == 0 ? 0.7 : 0.5;
    x.told[3] = 0.25;
    x.told[1] = INFINITY;
    o.method = methods[m];
    o.calls = 40;
    CHECK_STATUS(run(&x, &o, a, &r), BERTH_EINFEASIBLE);
    CHECK(r.excess == 0.5 && r.value == 0.25 && isinf(r.start) && r.evaluations == 40);
    CHECK(memcmp(a, x.start + 3 * MOST, sizeof a) == 0);
    x.told[1] = 3;
    x.excess[1] = 0; /* the one that is allowed */
    CHECK_OK(run(&x, &o, a, &r));
    CHECK(r.value == 3 && r.start == 3 && memcmp(a, x.start + MOST, sizeof a) == 0);
    x.told[1] = INFINITY; /* not allowed, without an excess */
    x.told[0] = x.told[2] = x.told[3] = INFINITY;
    memset(x.excess, 0, sizeof x.excess);
    CHECK_STATUS(run(&x, &o, a, &r), BERTH_EINFEASIBLE);
    CHECK(isfinite(r.excess) && isinf(r.start));
  }
}

/* The first and the last are the same, and only the last is told. */
TEST("given values count before any evaluation: also of a start given before, and where "
     "evaluations end early") {
  static sum_problem x;
  for (int32_t batch = 1; batch <= 3; batch++)
    for (int m = 0; m < N_METHODS; m++) {
      berth_decide_options o = berth_decide_default(0);
      make_starts(&x, 1, MOST);
      memcpy(x.start + 3 * MOST, x.start, MOST * sizeof *x.start);
      x.told[0] = x.told[1] = x.told[2] = NAN;
      x.told[3] = 0.25; /* below all that there is */
      o.method = methods[m];
      o.batch = batch;
      o.calls = 1;
      berth_decide_report r;
      int32_t a[MOST];
      CHECK_OK(run(&x, &o, a, &r));
      CHECK(r.value == 0.25 && r.start == 0.25 && r.evaluations == 1
            && memcmp(a, x.start, sizeof a) == 0);
      CHECK(!was_asked(&x, x.start));
    }
}

TEST("where all is known nothing is asked") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++) {
    berth_decide_options o = berth_decide_default(0);
    make_starts(&x, 2, 2);
    memset(x.legal, 0, sizeof x.legal);
    for (int32_t s = 0; s < 4; s++) {
      x.start[2 * s] = s / 2;
      x.start[2 * s + 1] = s % 2;
      x.legal[s / 2 * ACTIONS + s % 2] = 1;
      x.told[s] = 4 - s;
    }
    o.method = methods[m];
    berth_decide_report r;
    int32_t a[MOST];
    CHECK_OK(run(&x, &o, a, &r));
    CHECK(x.calls == 0 && r.evaluations == 0 && r.value == 1 && a[0] == 1 && a[1] == 1);
  }
}

static int stop(void *ud) {
  (void)ud;
  return 1;
}

TEST("interrupted before anything is valued: the best that is known") {
  static sum_problem x;
  berth_hooks h = { NULL, NULL, NULL, stop, NULL, NULL };
  hooked(&h);
  make_starts(&x, 9, MOST);
  berth_decide_report r;
  int32_t a[MOST];
  CHECK_OK(run(&x, NULL, a, &r));
  CHECK(r.interrupted && x.calls == 0 && r.value == least_told(&x) && sum_of(&x, a) == r.value);
  hooked(NULL);
}

/* ---- refusals ---- */

static void wrong(sum_problem *x, const char *text) {
  x->released = 0;
  berth_decider *d;
  CHECK_SAYS(berth_decider_new(ctx, &x->p, NULL, &d), BERTH_EINVAL, text);
  CHECK(x->released == 1 && x->calls == 0);
}

static void wrong_instead(int32_t a, int32_t b, int32_t c, const char *text) {
  static sum_problem x;
  make(&x, 1, MOST);
  memset(x.legal, 1, sizeof x.legal); /* wrong even where nothing is illegal */
  for (int32_t i = 0; i < ACTIONS; i++) x.instead[i] = BERTH_NONE;
  x.instead[1] = a;
  x.instead[2] = b;
  x.instead[4] = c;
  wrong(&x, text);
}

static void wrong_start(double told, double excess) {
  static sum_problem x;
  make_starts(&x, 1, MOST);
  x.told[2] = told;
  x.excess[2] = excess;
  wrong(&x, "a start has value");
}

TEST("wrong input is reported") {
  wrong_instead(1, -1, -1, "instead of action 1: in circles");
  wrong_instead(2, 1, -1, "in circles");
  wrong_instead(2, 4, 1, "in circles");
  wrong_instead(-1, ACTIONS, -1, "instead of action 2: there is no action 5");
  wrong_instead(-1, -1, -2, "instead of action 4: there is no action -2");
  wrong_instead(-1, -1, INT32_MAX, "there is no action 2147483647");
  wrong_start(-INFINITY, 0);
  wrong_start(1, -1);
  wrong_start(1, NAN);
}

static berth_status work(void) {
  static sum_problem x;
  berth_decide_options o = berth_decide_default(0);
  make_starts(&x, 4, 6);
  x.told[1] = NAN;
  o.calls = 60;
  o.batch = 3;
  int32_t a[MOST];
  berth_status st = run(&x, &o, a, NULL);
  CHECK(x.released == 1);
  return st;
}

TEST_REFUSALS(work)
