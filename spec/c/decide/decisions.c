/* Searching decisions: enumeration, budgets, repeats, starts, what is not allowed, choices in
 * steps, refusals. */
#include "refusals.h"

enum { MOST = 12, MOST_ACTIONS = 600, STATES = 4096 };

/* Sums of amounts per (decision, action) and per pair of neighbours' actions. */
typedef struct sum_problem {
  berth_decisions p;
  double alone[MOST][MOST_ACTIONS], pair[MOST][8];
  uint8_t legal[MOST * MOST_ACTIONS], seen[STATES];
  int32_t start[4 * MOST], calls, twice, illegal, released, most_at_once, fail_at;
  berth_status fault; /* of the call fail_at; 0: ECALLBACK */
  double wall; /* values above are not allowed */
  int endless; /* all values are INFINITY */
} sum_problem;

static double value_of(const sum_problem *x, const int32_t *a) {
  double sum = 1;
  for (int32_t i = 0; i < x->p.n; i++) {
    sum += x->alone[i][a[i]];
    if (i > 0) sum += x->pair[i][(a[i] * 3 + a[i - 1] * 5) % 8];
  }
  return sum;
}

static int32_t number_of(const sum_problem *x, const int32_t *a) {
  int64_t number = 0;
  for (int32_t i = 0; i < x->p.n; i++) number = number * x->p.n_actions + a[i];
  return number < STATES ? (int32_t)number : BERTH_NONE;
}

static berth_status value(void *ud, int32_t k, const int32_t *assignment, double *out,
                          double *excess) {
  sum_problem *x = ud;
  if (k > x->most_at_once) x->most_at_once = k;
  for (int32_t j = 0; j < k; j++) {
    const int32_t *a = assignment + (size_t)j * (size_t)x->p.n, number = number_of(x, a);
    for (int32_t i = 0; i < x->p.n; i++) x->illegal += !x->legal[i * x->p.n_actions + a[i]];
    if (number != BERTH_NONE) x->twice += x->seen[number]++ > 0;
    x->calls++;
    if (x->calls == x->fail_at) return x->fault ? x->fault : BERTH_ECALLBACK;
    out[j] = x->endless ? INFINITY : value_of(x, a);
    if (!x->endless && out[j] > x->wall) excess[j] = out[j] - x->wall;
  }
  return BERTH_OK;
}

/* What each action costs alone. */
static berth_status prior(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  const sum_problem *x = ud;
  for (int32_t j = 0; j < k; j++)
    for (int32_t a = 0; a < x->p.n_actions; a++)
      p[(size_t)j * (size_t)x->p.n_actions + (size_t)a] = exp(-x->alone[leaf[j].decision][a]);
  return BERTH_OK;
}

static void released(void *ud) { ((sum_problem *)ud)->released++; }

static void make(sum_problem *x, uint64_t seed, int32_t n, int32_t actions) {
  memset(x, 0, sizeof *x);
  berth_rng r = seeded(seed, 9);
  x->p.n = n;
  x->p.n_actions = actions;
  x->wall = INFINITY;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t a = 0; a < actions; a++) {
      x->alone[i][a] = 4 * berth_rng_uniform(&r);
      x->legal[i * actions + a] = a == i % actions || berth_rng_below(&r, 4) > 0;
    }
    for (int32_t k = 0; k < 8; k++) x->pair[i][k] = 2 * berth_rng_uniform(&r);
    x->start[i] = i % actions;
  }
  x->p.legal = x->legal;
  x->p.start = x->start;
  x->p.n_starts = 1;
  x->p.value = value;
  x->p.prior = prior;
  x->p.release = released;
  x->p.ud = x;
}

static double least(sum_problem *x) {
  int32_t a[MOST] = { 0 }, i = 0;
  double best = INFINITY;
  while (i >= 0) {
    int legal = 1;
    for (i = 0; i < x->p.n; i++) legal = legal && x->legal[i * x->p.n_actions + a[i]];
    if (legal && value_of(x, a) < best) best = value_of(x, a);
    for (i = x->p.n - 1; i >= 0 && ++a[i] == x->p.n_actions; i--) a[i] = 0;
  }
  return best;
}

static const berth_decide_method methods[] = { BERTH_DECIDE_MCTS, BERTH_DECIDE_TREE,
                                               BERTH_DECIDE_ANNEAL, BERTH_DECIDE_REFINE };
enum { N_METHODS = sizeof methods / sizeof *methods };

static berth_status run(sum_problem *x, berth_decide_options o, int32_t *a,
                        berth_decide_report *r) {
  x->calls = x->twice = x->illegal = x->most_at_once = 0;
  memset(x->seen, 0, sizeof x->seen);
  return berth_decide(ctx, &x->p, &o, a, r);
}

/* ---- tests ---- */

TEST("with evaluations enough the best of all is found, each valued once") {
  static sum_problem x;
  for (uint64_t seed = 0; seed < (uint64_t)check_runs(10, 30); seed++)
    for (int m = 0; m < N_METHODS; m++) {
      berth_decide_options o = berth_decide_default(0);
      make(&x, seed, 5, 4);
      o.method = methods[m];
      o.calls = 2000;
      o.exploration = 1;
      o.seed = seed;
      berth_decide_report r;
      int32_t a[MOST];
      CHECK_OK(run(&x, o, a, &r));
      CHECK(x.twice == 0 && x.illegal == 0 && r.evaluations == x.calls && x.released == 1);
      CHECK(value_of(&x, a) == r.value);
      CHECK(r.value == least(&x));
    }
}

static void check_trace(const berth_decider *d, const berth_decide_report *r) {
  const int64_t *at;
  const double *v;
  int32_t n = berth_decider_trace(d, &at, &v);
  CHECK(n > 0 && v[n - 1] == r->value && at[n - 1] <= r->evaluations);
  for (int32_t i = 1; i < n; i++) CHECK(at[i] > at[i - 1] && v[i] < v[i - 1]);
}

TEST("budgets are kept exactly; never worse than a start; the trace falls; legal only") {
  static sum_problem x;
  static const int64_t budgets[] = { 1, 2, 7, 50, 301 };
  for (int b = 0; b < 5; b++)
    for (int m = 0; m < N_METHODS; m++)
      for (int32_t batch = 1; batch <= 16; batch += 15) {
        berth_decide_options o = berth_decide_default(0);
        make(&x, (uint64_t)b, 10, 9);
        o.method = methods[m];
        o.batch = batch;
        berth_decider *d = must_decider_new(&x.p, &o);
        CHECK_OK(berth_decider_search(d, budgets[b], 0));
        berth_decide_report r = must_decider_best(d, NULL);
        CHECK(r.evaluations == budgets[b] && x.calls == budgets[b] && x.illegal == 0
              && x.most_at_once <= batch);
        CHECK(r.value <= r.start && r.start == value_of(&x, x.start));
        check_trace(d, &r);
        CHECK_OK(berth_decider_search(d, 10, 0));
        CHECK(x.calls == budgets[b] + 10);
        RELEASE(d);
        CHECK(x.released == 1);
      }
}

TEST("one seed, one answer; another seed, another way") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++) {
    berth_decide_options o = berth_decide_default(0);
    make(&x, 3, 10, 9);
    o.method = methods[m];
    o.calls = 200;
    berth_decide_report r[3];
    int32_t a[3][MOST];
    for (int k = 0; k < 3; k++) {
      o.seed = k == 2;
      CHECK_OK(run(&x, o, a[k], &r[k]));
    }
    CHECK(memcmp(a[0], a[1], 10 * sizeof a[0][0]) == 0 && r[0].repeats == r[1].repeats
          && r[0].playouts == r[1].playouts);
    /* in the tree chance breaks ties only */
    if (m != 1) CHECK(r[2].repeats != r[0].repeats || r[2].value != r[0].value);
  }
}

TEST("what is not allowed is no answer, but a way to one") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++) {
    berth_decide_options o = berth_decide_default(0);
    o.method = methods[m];
    make(&x, 5, 5, 4);
    x.endless = 1;
    berth_decide_report r;
    int32_t a[MOST];
    CHECK_STATUS(run(&x, o, a, &r), BERTH_EINFEASIBLE);
    CHECK(isinf(r.excess) && isinf(r.start) && strstr(berth_errmsg(ctx), "none of"));
    make(&x, 5, 5, 4);
    double best = least(&x);
    x.wall = best + 0.2;
    CHECK(value_of(&x, x.start) > x.wall);
    o.calls = 1500;
    CHECK_OK(run(&x, o, a, &r));
    CHECK(r.value <= x.wall && r.excess == 0 && isinf(r.start));
    make(&x, 5, 5, 4);
    x.wall = best - 0.2;
    CHECK_STATUS(run(&x, o, a, &r), BERTH_EINFEASIBLE);
    CHECK_NEAR(r.excess, 0.2, 1e-9);
  }
}

static int stop_at(void *ud) { return --*(int *)ud < 0; }

TEST("interrupted, the best so far stays; before anything, there is none") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++)
    for (int after = 0; after < 2; after++) {
      int left = after ? 60 : 0;
      berth_hooks h = { NULL, NULL, NULL, stop_at, NULL, &left };
      berth_decide_options o = berth_decide_default(0);
      berth_decide_report r = { 0, 0, 0, 0, 0, 0, 0 };
      hooked(&h);
      make(&x, 1, 10, 9);
      o.method = methods[m];
      int32_t a[MOST];
      CHECK_STATUS(run(&x, o, a, &r), after ? BERTH_OK : BERTH_EINTERRUPT);
      CHECK(r.interrupted == after
            && (!after || (x.calls > 0 && x.calls <= 60 && r.value == value_of(&x, a))));
      hooked(NULL);
    }
}

TEST("interrupted in the midst of a value, the best so far stays, and it can go on") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++)
    for (int32_t at = 1; at < 100; at += 7) {
      berth_decide_options o = berth_decide_default(0);
      make(&x, 1, 10, 9);
      x.fail_at = at;
      x.fault = BERTH_EINTERRUPT;
      o.method = methods[m];
      o.batch = 1 + at % 3;
      berth_decider *d = must_decider_new(&x.p, &o);
      CHECK_STATUS(berth_decider_search(d, 100, 0), at == 1 ? BERTH_EINTERRUPT : BERTH_OK);
      berth_decide_report r;
      if (at > 1) {
        r = must_decider_best(d, NULL);
        CHECK(r.interrupted && r.evaluations < at);
      }
      CHECK_OK(berth_decider_search(d, 100, 0));
      r = must_decider_best(d, NULL);
      CHECK(!r.interrupted && r.evaluations >= 100);
      RELEASE(d);
    }
}

TEST("a function that fails ends it with its status, and it can go on") {
  static sum_problem x;
  for (int32_t at = 1; at < 120; at += 7) {
    berth_decide_options o = berth_decide_default(0);
    make(&x, 2, 10, 9);
    x.fail_at = at;
    o.batch = 1 + at % 5;
    berth_decider *d = must_decider_new(&x.p, &o);
    CHECK_STATUS(berth_decider_search(d, 150, 0), BERTH_ECALLBACK);
    CHECK_OK(berth_decider_search(d, 150, 0));
    berth_decide_report r = must_decider_best(d, NULL);
    CHECK(r.evaluations >= 150 && r.evaluations < x.calls);
    RELEASE(d);
  }
}

static double seconds_now(void *ud) { return *(double *)ud += 0.25; }

TEST("a budget in seconds, by the context's clock") {
  static sum_problem x;
  double now = 0;
  berth_hooks h = { NULL, NULL, seconds_now, NULL, NULL, &now };
  berth_decide_options o = berth_decide_default(0);
  o.calls = 0;
  o.seconds = 20;
  make(&x, 1, 10, 9);
  berth_decide_report r;
  int32_t a[MOST];
  CHECK_STATUS(run(&x, o, a, &r), BERTH_EUNSUPPORTED);
  hooked(&h);
  for (int m = 0; m < N_METHODS; m++) {
    now = 0;
    make(&x, 1, 10, 9);
    o.method = methods[m];
    CHECK_OK(run(&x, o, a, &r));
    if (!CHECK(now >= 20 && now < 22 && r.evaluations > 10))
      printf("# method %d: %g s, %d evaluations\n", (int)methods[m], now, (int)r.evaluations);
  }
  o.seconds = 1e-9; /* over before it begins */
  CHECK_OK(run(&x, o, a, &r));
  CHECK(r.evaluations == 1 && r.value == value_of(&x, a));
  hooked(NULL);
}

TEST("any number of evaluations, all that there are") {
  static sum_problem x;
  for (int m = 0; m < N_METHODS; m++)
    for (int64_t less = 0; less < 2; less++) {
      berth_decide_options o = berth_decide_default(0);
      make(&x, 1, 3, 4);
      o.method = methods[m];
      o.uniform_part = o.informed_part = o.tree_part = 1;
      berth_decider *d = must_decider_new(&x.p, &o);
      CHECK_OK(berth_decider_search(d, 3, 0));
      CHECK_OK(berth_decider_search(d, INT64_MAX - less, 0));
      berth_decide_report r = must_decider_best(d, NULL);
      CHECK(r.evaluations == x.calls && r.evaluations <= 64 && r.evaluations > 16);
    }
}

static void wrong(const sum_problem *x, const berth_decide_options *o, const char *text) {
  berth_decider *d;
  CHECK_SAYS(berth_decider_new(ctx, &x->p, o, &d), BERTH_EINVAL, text);
}

TEST("wrong input is reported") {
  static sum_problem x;
  static const int32_t at[] = { 0, 1, 3, 4, 5 }, path[] = { 1, 1, 2, 2, 3 };
  berth_decide_options o = berth_decide_default(0);
  double position[5] = { 0, 1, NAN, 3, 4 };
  make(&x, 1, 5, 4);
  x.p.path_at = at;
  x.p.path = path;
  wrong(&x, &o, "begins with");
  make(&x, 1, 5, 4);
  x.p.position = position;
  wrong(&x, &o, "position of decision 2");
  make(&x, 1, 5, 4);
  memset(&x.legal[8], 0, 4);
  wrong(&x, &o, "decision 2 has no legal action");
  make(&x, 1, 5, 4);
  x.start[3] = 4;
  wrong(&x, &o, "decision 3 action 4");
  make(&x, 1, 5, 4);
  o.t_start = 1e-6;
  wrong(&x, &o, "t_start");
  o = berth_decide_default(0);
  o.batch = 0;
  wrong(&x, &o, "batch");
  CHECK(x.released == 2);
  berth_decider *d = must_decider_new(&x.p, NULL);
  CHECK_STATUS(berth_decider_search(d, 0, 0), BERTH_EINVAL);
  int32_t a[MOST];
  CHECK_STATUS(berth_decider_best(d, a, NULL), BERTH_EINVAL);
  int32_t decided;
  CHECK_OK(berth_decider_root(d, &decided, a));
  CHECK(decided == 0 && memcmp(a, x.start, 5 * sizeof *a) == 0);
  for (int32_t i = 0; i < 5; i++) CHECK_OK(berth_decider_advance(d, i % 4));
  CHECK_STATUS(berth_decider_advance(d, 0), BERTH_EINVAL);
  CHECK_OK(berth_decider_root(d, &decided, a));
  CHECK(decided == 5 && memcmp(a, x.start, 5 * sizeof *a) == 0);
}

/* ---- the tree ---- */

/* Each node's visits are its own and those of its kids; between decisions a node has one visit of
 * its own. */
static void check_node(const berth_decider *d, int32_t depth, int32_t *way) {
  berth_decide_node x;
  int64_t sum = 0;
  double priors = 0;
  CHECK_OK(berth_decider_node(d, depth, way, &x));
  if (x.visits == 0 || depth == berth_decider_decisions(d)) return;
  berth_decide_node kid;
  for (way[depth] = 0; way[depth] < berth_decider_actions(d); way[depth]++) {
    if (berth_decider_node(d, depth + 1, way, &kid) != BERTH_OK) continue;
    sum += kid.visits;
    priors += depth == 0 ? kid.prior : 0;
    check_node(d, depth + 1, way);
  }
  CHECK(sum == x.visits - 1);
  if (depth == 0) CHECK_NEAR(priors, 1, 1e-9);
}

TEST("visits add up, in steps too; the root goes on with what is known below") {
  static sum_problem x;
  static int32_t at[MOST_ACTIONS + 1], path[2 * MOST_ACTIONS];
  for (int steps = 0; steps < 2; steps++) {
    berth_decide_options o = berth_decide_default(1);
    int32_t second[2] = { 1, 2 };
    make(&x, 7, 4, 9);
    memset(x.legal, 1, 36);
    for (int32_t a = 0; a < 9; a++) {
      at[a + 1] = 2 * a + 2;
      path[2 * a] = a / 3;
      path[2 * a + 1] = a % 3;
    }
    if (steps) {
      x.p.path_at = at;
      x.p.path = path;
    }
    berth_decider *d = must_decider_new(&x.p, &o);
    CHECK_OK(berth_decider_run(d, 2000));
    berth_decide_node before;
    CHECK_OK(berth_decider_node(d, 0, NULL, &before));
    CHECK(before.visits == 2000);
    int32_t way[MOST];
    check_node(d, 0, way);
    CHECK_OK(berth_decider_node(d, 2, second, &before));
    CHECK_OK(berth_decider_advance(d, 1));
    berth_decide_node after;
    CHECK_OK(berth_decider_node(d, 1, second + 1, &after));
    CHECK(after.visits == before.visits && after.q == before.q);
    CHECK_OK(berth_decider_run(d, 2500));
    CHECK_OK(berth_decider_node(d, 0, NULL, &after));
    CHECK(after.visits == 2500);
  }
}

/* Sets of 8 groups of devices: a bit each; the right set and a number of bits wrong. */
static berth_status sets_value(void *ud, int32_t k, const int32_t *assignment, double *out,
                               double *excess) {
  const sum_problem *x = ud;
  (void)excess;
  for (int32_t j = 0; j < k; j++) {
    double sum = 1;
    for (int32_t i = 0; i < x->p.n; i++) {
      const int32_t a = assignment[j * x->p.n + i] + 1, want = (37 * (i / 4) + 11) % 255 + 1;
      for (int32_t bit = 0; bit < 8; bit++) sum += ((a ^ want) >> bit & 1) * (1 + 0.1 * bit);
    }
    out[j] = sum;
  }
  return BERTH_OK;
}

static double search_sets(sum_problem *x, bool steps, berth_decide_method method,
                          int64_t evaluations) {
  static int32_t at[256], path[8 * 255];
  berth_decide_options o = berth_decide_default(0);
  berth_decide_report r = { 0, 0, 0, 0, 0, 0, 0 };
  make(x, 1, MOST, 255);
  memset(x->legal, 1, sizeof x->legal);
  x->p.value = sets_value;
  x->p.prior = NULL;
  for (int32_t s = 0; s < 255; s++) {
    at[s + 1] = 8 * s + 8;
    for (int32_t bit = 0; bit < 8; bit++) path[8 * s + bit] = (s + 1) >> bit & 1;
  }
  x->p.fill = BERTH_FILL_START;
  x->p.path_at = steps ? at : NULL;
  x->p.path = steps ? path : NULL;
  o.method = method;
  o.calls = evaluations;
  o.several_part = 0;
  o.tree_part = 0.5;
  int32_t a[MOST];
  CHECK_OK(berth_decide(ctx, &x->p, &o, a, &r));
  return r.value;
}

TEST("255 sets of 8 device groups: at once or group by group, trees find more than walking") {
  static sum_problem x;
  double whole = search_sets(&x, false, BERTH_DECIDE_MCTS, 2000);
  double steps = search_sets(&x, true, BERTH_DECIDE_MCTS, 2000);
  double walk = search_sets(&x, true, BERTH_DECIDE_ANNEAL, 2000);
  printf("# whole sets %.2f, in steps %.2f; annealing %.2f\n", whole, steps, walk);
  CHECK(steps < walk && whole < walk);
}

/* ---- refusals ---- */

static berth_status work(void) {
  static sum_problem x;
  static const int32_t at[] = { 0, 2, 4, 5, 6 }, path[] = { 0, 0, 0, 1, 1, 2 };
  berth_decide_options o = berth_decide_default(0);
  make(&x, 4, 6, 4);
  x.p.path_at = at;
  x.p.path = path;
  o.calls = 120;
  o.batch = 4;
  int32_t a[MOST];
  berth_status st = berth_decide(ctx, &x.p, &o, a, NULL);
  CHECK(x.released == 1);
  return st;
}

TEST_REFUSALS(work)
