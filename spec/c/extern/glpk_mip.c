/* GLPK's programs of whole numbers, against all of them; linear ones, by duality. */
#include "extern/glpk_internal.h"
#include "must.h"

enum { ROWS = 3, COLUMNS = 4, MOST = 3 };

typedef struct sample {
  double bound[ROWS], cost[COLUMNS], least[COLUMNS], most[COLUMNS], value[ROWS * COLUMNS];
  uint8_t sense[ROWS], whole[COLUMNS];
  int32_t at[COLUMNS + 1], row[ROWS * COLUMNS];
  berth_i_glpk_mip p;
} sample;

/* Small whole numbers; `slack` below 1 makes many infeasible. */
static void draw(sample *s, berth_rng *rng) {
  for (int32_t i = 0; i < ROWS; i++) {
    s->sense[i] = (uint8_t)(berth_rng_below(rng, 8) == 0 ? BERTH_I_EQUAL
                            : berth_rng_below(rng, 2)    ? BERTH_I_AT_LEAST
                                                         : BERTH_I_AT_MOST);
    s->bound[i] = berth_rng_below(rng, 16) - 3 + (s->sense[i] == BERTH_I_EQUAL ? 0 : 0.5);
  }
  for (int32_t j = 0; j < COLUMNS; j++) {
    s->cost[j] = berth_rng_below(rng, 13) - 6;
    s->least[j] = -berth_rng_below(rng, 3) - (berth_rng_below(rng, 2) ? 0.5 : 0);
    s->most[j] = berth_rng_below(rng, MOST + 1);
    s->whole[j] = 1;
    s->at[j] = j * ROWS;
    for (int32_t i = 0; i < ROWS; i++) {
      s->row[j * ROWS + i] = i;
      s->value[j * ROWS + i] = berth_rng_below(rng, 9) - 3;
    }
  }
  s->at[COLUMNS] = COLUMNS * ROWS;
  s->p = (berth_i_glpk_mip){ berth_rng_below(rng, 2) == 1,
                             ROWS,
                             COLUMNS,
                             s->sense,
                             s->bound,
                             s->cost,
                             s->least,
                             s->most,
                             s->whole,
                             s->at,
                             s->row,
                             s->value,
                             0,
                             0, false };
}

static int holds(const sample *s, const double *x) {
  for (int32_t j = 0; j < COLUMNS; j++)
    if (x[j] < s->least[j] - 1e-7 || x[j] > s->most[j] + 1e-7) return 0;
  for (int32_t i = 0; i < ROWS; i++) {
    double sum = 0;
    for (int32_t j = 0; j < COLUMNS; j++) sum += s->value[j * ROWS + i] * x[j];
    if (s->sense[i] != BERTH_I_AT_LEAST && sum > s->bound[i] + 1e-6) return 0;
    if (s->sense[i] != BERTH_I_AT_MOST && sum < s->bound[i] - 1e-6) return 0;
  }
  return 1;
}

static double worth(const sample *s, const double *x) {
  double sum = 0;
  for (int32_t j = 0; j < COLUMNS; j++) sum += s->cost[j] * x[j];
  return sum;
}

/* NAN: none is feasible. */
static double best_of_all(const sample *s) {
  double best = NAN, sign = s->p.minimise ? -1 : 1;
  int32_t n = 1;
  for (int32_t j = 0; j < COLUMNS; j++) n *= MOST + 4;
  double x[COLUMNS];
  for (int32_t code = 0; code < n; code++) {
    int32_t rest = code;
    for (int32_t j = 0; j < COLUMNS; j++, rest /= MOST + 4) x[j] = rest % (MOST + 4) - 3;
    if (holds(s, x) && !(sign * worth(s, x) <= sign * best)) best = worth(s, x);
  }
  return best;
}

TEST("programs of whole numbers have the best of all answers") {
  const int32_t n = check_runs(100, 300);
  int32_t feasible = 0;
  berth_rng rng = seeded(7, 1);
  sample s;
  double x[COLUMNS], relaxed[COLUMNS];
  for (int32_t i = 0; i < n; i++) {
    berth_i_glpk_answer a = { .x = x }, l = { .x = relaxed };
    draw(&s, &rng);
    double best = best_of_all(&s);
    double sign = s.p.minimise ? -1 : 1;
    CHECK_OK(berth_i_glpk_solve(ctx, &s.p, &a));
    CHECK(a.proved && a.feasible == !isnan(best));
    if (!a.feasible) {
      CHECK(isnan(a.value) && a.bound == (s.p.minimise ? INFINITY : -INFINITY));
      continue;
    }
    feasible++;
    CHECK_NEAR(a.value, best, 1e-9);
    CHECK_NEAR(a.bound, best, 1e-6);
    CHECK(holds(&s, x));
    s.p.whole = NULL;
    CHECK_OK(berth_i_glpk_solve(ctx, &s.p, &l));
    CHECK(l.feasible && l.proved && holds(&s, relaxed) && sign * l.value >= sign * best - 1e-7);
  }
  CHECK(feasible > n / 3 && feasible < n - n / 30);
}

/* Market split: two equal halves cannot be had, and it takes many nodes to see that; a shortfall is
 * dear. */
TEST("a limit on nodes leaves a bound") {
  enum { N = 30 };
  double cost[N + 1] = { 0 }, least[N + 1] = { 0 }, most[N + 1], value[3 * (N + 1)], bound[3],
                  x[N + 1];
  uint8_t sense[3] = { BERTH_I_AT_LEAST, BERTH_I_AT_LEAST, BERTH_I_AT_LEAST }, whole[N + 1];
  int32_t at[N + 2], row[3 * (N + 1)];
  berth_i_glpk_answer a = { .x = x };
  berth_i_glpk_mip p = { true, 3,     N + 1, sense, bound, cost, least,
                         most, whole, at,    row,   value, 20,   0, false };
  berth_rng rng = seeded(3, 0);
  for (int32_t i = 0; i < 3; i++) bound[i] = 0;
  for (int32_t j = 0; j <= N; j++) {
    at[j] = 3 * j;
    whole[j] = j < N;
    most[j] = j < N ? 1 : INFINITY;
    for (int32_t i = 0; i < 3; i++) {
      row[3 * j + i] = i;
      value[3 * j + i] = j < N ? berth_rng_below(&rng, 100) : 1;
      if (j < N) bound[i] += floor(value[3 * j + i] * 0.47);
    }
    if (j < N)
      cost[j] = value[3 * j] + value[3 * j + 1] + value[3 * j + 2] + berth_rng_below(&rng, 9);
  }
  cost[N] = 1000;
  at[N + 1] = 3 * (N + 1);
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  CHECK(!a.proved && a.nodes > 20 && a.nodes < 40 && a.bound > 0);
  CHECK(!a.feasible || a.bound <= a.value);
  p.nodes = 0;
  {
    double limited = a.bound;
    CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
    CHECK(a.proved && a.feasible && limited <= a.value * (1 + 1e-9));
  }
}

/* max 3x + 2y, x + y <= 4, x + 3y <= 9, x <= 3: (3, 1), duals 2 and 0. */
TEST("linear programs: value, duals, infeasible, unbounded, empty") {
  double bound[2] = { 4, 9 }, cost[2] = { 3, 2 }, most[2] = { 3, INFINITY },
         value[4] = { 1, 1, 1, 3 }, x[2], dual[2];
  uint8_t sense[2] = { BERTH_I_AT_MOST, BERTH_I_AT_MOST };
  int32_t at[3] = { 0, 2, 4 }, row[4] = { 0, 1, 0, 1 };
  berth_i_glpk_mip p = { false, 2,    2,  sense, bound, cost, NULL,
                         most,  NULL, at, row,   value, 0,    0, false };
  berth_i_glpk_answer a = { .x = x, .dual = dual };
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  CHECK_NEAR(a.value, 11, 1e-9);
  CHECK_NEAR(x[0], 3, 1e-9);
  CHECK_NEAR(dual[0], 2, 1e-9);
  CHECK_NEAR(dual[1], 0, 1e-9);
  bound[0] = -1;
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  CHECK(!a.feasible && a.proved);
  p.rows = 0;
  at[1] = at[2] = 0;
  CHECK_ERROR(berth_i_glpk_solve(ctx, &p, &a), BERTH_EINVAL,
              "nothing bounds the optimum of this program");
  most[1] = 3;
  p.whole = sense;
  sense[0] = sense[1] = 1;
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  CHECK_NEAR(a.value, 15, 1e-9);
  p.columns = 0;
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  CHECK(a.feasible && a.value == 0);
}

static int stop(void *ud) { return ++*(int *)ud > 2; }

/* Whole numbers that no two halves of equal sum: it would take for ever. */
TEST("branch and bound stops when asked") {
  enum { N = 60 };
  double bound[1], cost[N], most[N], value[N], x[N];
  uint8_t sense[1] = { BERTH_I_EQUAL }, whole[N];
  int32_t at[N + 1], row[N], asked = 0;
  berth_hooks hooks = { NULL, NULL, NULL, stop, NULL, &asked };
  berth_i_glpk_mip p = { false, 1,     N,  sense, bound, cost, NULL,
                         most,  whole, at, row,   value, 0,    0, false };
  berth_i_glpk_answer a = { .x = x };
  for (int32_t j = 0; j < N; j++) {
    cost[j] = 1 + j % 3;
    value[j] = 2 * (100 + 17 * j % 61);
    most[j] = whole[j] = 1;
    at[j] = j;
    row[j] = 0;
  }
  at[N] = N;
  bound[0] = 7001;
  hooked(&hooks);
  CHECK_ERROR(berth_i_glpk_solve(ctx, &p, &a), BERTH_EINTERRUPT, "interrupted");
  hooked(NULL);
}
