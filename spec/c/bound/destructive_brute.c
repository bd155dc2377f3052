/* Destructive bounds against the best of all schedules of small random problems: all rules, each
 * alone, and heads and tails of small parts. */
#include "destructive_help.h"

static void check_below(const problem *p, double best, unsigned rules, int32_t window, int round) {
  berth_i_destruct_result b = destructive_in(p, rules, window);
  CHECK(b.clusters <= best * (1 + 1e-9));
  CHECK(!(b.intervals > best * (1 + 1e-9)) && !(b.intervals < b.clusters));
  if (!check_bad) return;
  printf("# round %d, rules %u, window %d: clusters %.9g, intervals %.9g, best %.9g\n", round,
         rules, window, b.clusters, b.intervals, best);
}

static void restrict_ops(problem *p, berth_rng *rng) {
  for (int32_t k = 0; k < p->ops; k++) {
    if (berth_rng_below(rng, 6) == 0) p->group[k] = 0;
    else if (berth_rng_below(rng, 7) == 0) p->pin[k] = berth_rng_below(rng, p->devices);
  }
  for (int32_t k = 0; k < p->ops; k++) {
    for (int32_t d = 0; d < p->devices; d++) {
      if ((p->group[k] == 0 || p->pin[k] == d) && isinf(p->time[k][d])) p->time[k][d] = 9;
    }
  }
}

/* Joins of joins, forks of forks: few kinds of op, transfers as long as some of them. */
static void random_shape(problem *p, berth_rng *rng, int shape) {
  int32_t n = p->ops;
  if (shape == 0) add_edges(p, rng, 1 + berth_rng_below(rng, 20));
  for (int32_t i = 1; shape > 0 && i < n; i++) {
    int32_t other = berth_rng_below(rng, i);
    double bytes = 1 + berth_rng_below(rng, 12);
    if (shape == 1) problem_edge(p, other, i, bytes);
    else problem_edge(p, n - 1 - i, n - 1 - other, bytes);
  }
  for (int32_t i = 0; shape > 0 && berth_rng_below(rng, 2) && i < n; i++) {
    for (int32_t d = 0; d < p->devices; d++) p->time[i][d] = i % 3 ? 4 : 2;
  }
}

static void random_case(problem *p, berth_rng *rng, int round) {
  problem_clear(p, 2 + berth_rng_below(rng, 6), 1 + berth_rng_below(rng, 3));
  random_times(p, rng, round % 3);
  p->bandwidth = 1 + berth_rng_below(rng, 4);
  p->latency = berth_rng_below(rng, 3);
  random_shape(p, rng, round / 3 % 3);
  if (round % 4 == 0) restrict_ops(p, rng);
}

TEST("no schedule beats them: joins, forks, uneven devices, pins, groups; each rule alone") {
  static const unsigned rules[] = {
      BERTH_I_DESTRUCT_ALL,
      BERTH_I_DESTRUCT_FORCE,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_JOIN,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_SERIAL,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_SERIAL |
          BERTH_I_DESTRUCT_EDGE_FINDING,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_LOADS,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_LOADS | BERTH_I_DESTRUCT_GROUPS,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_LOADS | BERTH_I_DESTRUCT_DUAL,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_LOADS | BERTH_I_DESTRUCT_ENERGY,
      BERTH_I_DESTRUCT_ALL & ~BERTH_I_DESTRUCT_RECURSE,
      BERTH_I_DESTRUCT_DEEP,
      BERTH_I_DESTRUCT_ALL & ~BERTH_I_DESTRUCT_DEEP,
      BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_LOADS | BERTH_I_DESTRUCT_RATES};
  enum { N = 1600, SETS = sizeof rules / sizeof *rules };
  int tight = 0, used = 0;
  double gap = 0;
  berth_rng rng = seeded(404, 0);
  for (int i = 0; i < N && !check_bad; i++) {
    problem p;
    random_case(&p, &rng, i);
    double best = optimum(&p, 0);
    check_below(&p, best, BERTH_I_DESTRUCT_ALL, 0, i);
    check_below(&p, best, BERTH_I_DESTRUCT_ALL, 1 + i % 4, i);
    check_below(&p, best, rules[i % SETS], 0, i);
    berth_i_destruct_result b = destructive(&p, BERTH_I_DESTRUCT_ALL);
    if (!(largest(&b) > 0)) continue;
    used++;
    tight += largest(&b) >= best * (1 - 1e-3);
    gap += best / largest(&b) - 1;
  }
  printf("# %d problems: closed %d, mean gap %.4f\n", used, tight, gap / used);
  CHECK(tight > used / 2);
}
