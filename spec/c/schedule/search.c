/* Search, exact search and bounds: against all words of tiny problems, and one another. */
#include "schedule_checker.h"

/* ---- every word of a stage, every combination of words ---- */

enum { WORDS = 4000, LONG = 12 };

typedef struct words {
  int n, length;
  char word[WORDS][LONG]; /* 'F', 'B', 'W' of one chunk */
} words;

static void extend(words *out, char *word, int at, int m, int f, int b, int w, int limit) {
  if (at == 3 * m) {
    memcpy(out->word[out->n++], word, (size_t)at);
    return;
  }
  int held = 2 * f - b - w;
  if (f < m && held + 2 <= limit) {
    word[at] = 'F';
    extend(out, word, at + 1, m, f + 1, b, w, limit);
  }
  if (b < f) {
    word[at] = 'B';
    extend(out, word, at + 1, m, f, b + 1, w, limit);
  }
  if (w < b) {
    word[at] = 'W';
    extend(out, word, at + 1, m, f, b, w + 1, limit);
  }
}

/* Earliest ends of two stages' words, by passes until nothing changes; INFINITY: deadlock. */
static double ends_of(const char *first, const char *second, int m, const double t[3], double lag,
                      int span) {
  double end[2][3][LONG], start[2] = { 0, 0 }, last[2] = { 0, 0 };
  for (int s = 0; s < 2; s++)
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < m; j++) end[s][k][j] = INFINITY;
  for (int pass = 0; pass < 6 * m; pass++)
    for (int s = 0; s < 2; s++) {
      const char *word = s ? second : first;
      int f = 0, b = 0, w = 0;
      double free_at = 0;
      for (int i = 0; i < 3 * m; i++) {
        int k = word[i] == 'F' ? 0 : word[i] == 'B' ? 1 : 2, j = k == 0 ? f++ : k == 1 ? b++ : w++;
        double arrival = k == 0 ? (s ? end[0][0][j] + lag : 0)
                         : k == 1 ? (s ? end[1][0][j] : end[1][1][j] + lag)
                                  : 0;
        double at = fmax(free_at, arrival);
        if (i == 0) start[s] = at;
        free_at = end[s][k][j] = at + t[k];
      }
      last[s] = free_at;
    }
  return span ? fmax(last[0] - start[0], last[1] - start[1]) : fmax(last[0], last[1]);
}

static double best_of_all(int m, int limit, const double t[3], double lag, int span) {
  static words w;
  char word[LONG];
  w.n = 0;
  extend(&w, word, 0, m, 0, 0, 0, limit);
  double best = INFINITY;
  for (int i = 0; i < w.n; i++)
    for (int k = 0; k < w.n; k++)
      best = fmin(best, ends_of(w.word[i], w.word[k], m, t, lag, span));
  return best;
}

static berth_schedule_problem *problem(int stages, int chunks, int m, int limit, const double t[3],
                                       double lag, int span) {
  berth_schedule_problem_options o = berth_schedule_problem_default();
  double two = chunks == 1 ? 2 : 1, most = limit;
  o.stages = stages;
  o.microbatches = m;
  o.chunks = chunks;
  o.map = BERTH_MAP_ZIGZAG;
  o.objective = span ? BERTH_SCHEDULE_SPAN : BERTH_SCHEDULE_MAKESPAN;
  o.forward = &t[0];
  o.backward = &t[1];
  o.weight = &t[2];
  o.p2p = &lag;
  o.activations = &two;
  o.memory = &most;
  o.n_forward = o.n_backward = o.n_weight = o.n_p2p = o.n_activations = o.n_memory = 1;
  o.freed = chunks == 1 ? 0.5 : 0;
  berth_schedule_problem *p = NULL;
  CHECK_OK(berth_schedule_problem_new(ctx, &o, &p));
  return p;
}

TEST("exact and search find the best of all words, which no bound passes") {
  berth_rng rng;
  berth_rng_init(&rng, 3, 0);
  int runs = check_runs(16, 60);
  for (int k = 0; k < runs; k++) {
    double t[3] = { 1 + berth_rng_below(&rng, 4), 1 + berth_rng_below(&rng, 4),
                    1 + berth_rng_below(&rng, 4) };
    double lag = berth_rng_below(&rng, 3);
    int m = 2 + k % 2, limit = 2 + berth_rng_below(&rng, 4), span = k % 4 / 2;
    double best = best_of_all(m, limit, t, lag, span);
    berth_schedule_problem *p = problem(2, 1, m, limit, t, lag, span);
    berth_schedule *s = NULL, *found = NULL;
    berth_schedule_report r, heuristic;
    berth_schedule_bounds b;
    CHECK_OK(berth_schedule_exact(p, NULL, &s, &r));
    CHECK_OK(berth_schedule_search(p, NULL, &found, &heuristic));
    CHECK_OK(berth_schedule_bound(p, &b));
    CHECK(r.proven && b.best <= best && b.best <= r.bound);
    CHECK_NEAR(r.step, best, 1e-9);
    CHECK_NEAR(heuristic.step, best, 1e-9);
    check_schedule(s, "exact");
    check_schedule(found, "search");
    berth_schedule_release(s);
    berth_schedule_release(found);
    berth_schedule_problem_release(p);
  }
}

TEST("bounds, exact and search of V's agree; same calls, same schedule") {
  berth_rng rng;
  berth_rng_init(&rng, 4, 0);
  for (int k = 0; k < 12; k++) {
    double t[3] = { 4 + berth_rng_below(&rng, 8), 4 + berth_rng_below(&rng, 8),
                    4 + berth_rng_below(&rng, 8) };
    int stages = 2 + k % 2;
    berth_schedule_problem *p = problem(stages, 2, 4, stages + 1 + k % 5, t, k % 3, k % 2);
    berth_schedule_search_options few = berth_schedule_search_default();
    berth_schedule *s = NULL, *a = NULL, *b = NULL;
    berth_schedule_report r, ra, rb;
    few.calls = 500;
    CHECK_OK(berth_schedule_exact(p, NULL, &s, &r));
    CHECK_OK(berth_schedule_search(p, &few, &a, &ra));
    CHECK_OK(berth_schedule_search(p, &few, &b, &rb));
    CHECK(r.proven && ra.step >= r.step && ra.bound <= r.step && ra.calls <= 500);
    CHECK(ra.step == rb.step && ra.calls == rb.calls);
    berth_schedule_action x[64], y[64];
    for (int i = 0; i < stages; i++) {
      int n = berth_schedule_actions(a, i, x);
      CHECK(n == berth_schedule_actions(b, i, y) && memcmp(x, y, (size_t)n * sizeof *x) == 0);
    }
    check_schedule(a, "search");
    check_schedule(s, "exact");
    berth_schedule_release(s);
    berth_schedule_release(a);
    berth_schedule_release(b);
    berth_schedule_problem_release(p);
  }
}

/* ---- slots ---- */

static double step_of(const berth_schedule *s) {
  berth_schedule_value v;
  CHECK_OK(berth_schedule_evaluate(s, &v, NULL, NULL, NULL));
  return v.outcome == BERTH_SCHEDULE_RUNS ? v.step : INFINITY;
}

static int slots_of(const berth_schedule *s, int stages) {
  static berth_schedule_action list[CHECKED_MOST];
  int n = 0;
  for (int i = 0; i < stages; i++) {
    int count = berth_schedule_actions(s, i, list);
    for (int k = 0; k < count; k++) n += list[k].overlapped;
  }
  return n;
}

TEST("where an overlap shortens slots the search has some, no bound is above, exact refuses") {
  int slots = 0;
  for (int k = 0; k < 8; k++) {
    berth_schedule_problem_options o = berth_schedule_problem_default();
    double limit = k < 4 ? 6 : INFINITY, lag = k % 3 / 4.0;
    o.stages = 4;
    o.microbatches = 12;
    o.chunks = 2;
    o.map = k % 2 ? BERTH_MAP_BIDIRECTIONAL : BERTH_MAP_ZIGZAG;
    o.overlap = k % 4 < 2 ? 0.75 : 0.9;
    o.memory = &limit;
    o.p2p = &lag;
    o.n_memory = o.n_p2p = 1;
    berth_schedule_problem *p = NULL;
    berth_schedule *s = NULL, *dual = NULL;
    berth_schedule_report r;
    berth_schedule_search_options few = berth_schedule_search_default();
    few.calls = 1000;
    CHECK_OK(berth_schedule_problem_new(ctx, &o, &p));
    CHECK_OK(berth_schedule_search(p, &few, &s, &r));
    CHECK_OK(berth_schedule_make(p, k % 2 ? "dualpipe" : "dualpipev", &dual));
    CHECK(r.step <= step_of(dual) && r.bound <= r.step);
    CHECK_NEAR(step_of(s), r.step, 1e-9 * r.step);
    slots += slots_of(s, 4);
    check_schedule(s, "slots");
    berth_schedule_release(dual);
    dual = NULL;
    CHECK_STATUS(berth_schedule_exact(p, NULL, &dual, NULL), BERTH_EUNSUPPORTED);
    berth_schedule_release(s);
    berth_schedule_problem_release(p);
  }
  CHECK(slots > 100);
}

TEST("what does not fit is refused, and too many actions") {
  const double t[] = { 1, 1, 1 };
  berth_schedule_problem *p = problem(8, 2, 24, 16, t, 0, 1);
  berth_schedule *s = NULL;
  CHECK_ERROR(berth_schedule_exact(p, NULL, &s, NULL), BERTH_EUNSUPPORTED,
              "schedule: exact search has at most 400 actions and 32 chunks a stage, given 1152 "
              "and 2");
  berth_schedule_problem_release(p);
  p = problem(2, 2, 2, 1, t, 0, 1); /* no room for a micro-batch's two chunks */
  CHECK_ERROR(berth_schedule_exact(p, NULL, &s, NULL), BERTH_EINFEASIBLE,
              "schedule: no schedule keeps the limits");
  CHECK_STATUS(berth_schedule_search(p, NULL, &s, NULL), BERTH_EINFEASIBLE);
  berth_schedule_problem_release(p);
}

/* ---- interrupts ---- */

/* Returns stop from the call on whose number is behind ud. */
static int stop(void *ud) {
  int *left = ud;
  return (*left)-- <= 0;
}

TEST("an interrupt ends searches with the best so far, and the report says so") {
  const double t[] = { 7, 8, 9 };
  int left = 20;
  hooked(&(berth_hooks){ .interrupt = stop, .ud = &left });
  berth_schedule_search_options endless = berth_schedule_search_default();
  endless.calls = INT64_MAX;
  berth_schedule_report r;
  berth_schedule *s = NULL;
  berth_schedule_problem *p = problem(4, 2, 8, 5, t, 1, 0);
  CHECK_OK(berth_schedule_search(p, &endless, &s, &r));
  CHECK(r.interrupted && !r.proven && r.calls > 0);
  check_schedule(s, "search");
  berth_schedule_release(s);
  left = 40; /* the first search of 2000 calls runs to its end, or not */
  CHECK_OK(berth_schedule_exact(p, &endless, &s, &r));
  CHECK(r.interrupted && !r.proven);
  check_schedule(s, "exact");
  berth_schedule_release(s);
  left = 0;
  s = NULL;
  CHECK_STATUS(berth_schedule_search(p, &endless, &s, NULL), BERTH_EINTERRUPT);
  CHECK(s == NULL);
  berth_schedule_problem_release(p);
  hooked(NULL);
}
