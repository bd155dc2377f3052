/* Bounds: hand-made cases, and against the best of all schedules of small random problems. */
#include "place/place_help.h"
#include "refusals.h"

static berth_bounds_options asked(berth_memory_policy memory, double param_multiple) {
  return (berth_bounds_options){ memory, param_multiple, false, 1e-3, BERTH_LINKS_FREE, 0 };
}

static berth_status bounds_of(const problem *p, berth_memory_policy memory, berth_bounds *b,
                              berth_obstacle *why) {
  made m = problem_make(p);
  berth_bounds_options o = asked(memory, 1);
  berth_status st = berth_bounds_compute(m.c, &o, b, why);
  unmake(&m);
  return st;
}

static void set_time(problem *p, int32_t op, double t0, double t1) {
  p->time[op][0] = t0;
  p->time[op][1] = t1;
}

TEST("a chain is bounded by its path, each op at its best device") {
  problem p = clear_problem(3, 2);
  set_time(&p, 0, 4, 3), set_time(&p, 1, 2, 5), set_time(&p, 2, 1, 1);
  problem_edges(&p, "0>1:0 1>2:0");
  berth_bounds b;
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.critical_path, 6, 1e-12);
  CHECK_NEAR(b.best, 6, 1e-12);
  CHECK_TEXT(b.name, "critical path");

  CASE("independent ops on equal devices: the sum shared, but two of three are on one");
  problem_clear(&p, 3, 2);
  set_time(&p, 0, 2, 2), set_time(&p, 1, 2, 2), set_time(&p, 2, 2, 2);
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.work, 4, 1e-12); /* 6 / 2 = 3 by the sum alone */
  CHECK_TEXT(b.name, "work");

  CASE("unrelated devices: the fractional assignment");
  /* 4 ops of (1, 3): device 0 takes 3/4 of the work: T = 3 = 1 x 3 = 3 x 1 */
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 4; i++) set_time(&p, i, 1, 3);
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_NONE, &b, NULL));
  CHECK_NEAR(b.work, 3, 1e-6);
  CHECK_NEAR(b.memory, 0, 0);

  CASE("ops that only one type can run");
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 3; i++) set_time(&p, i, 2, INFINITY);
  set_time(&p, 3, 1, 1);
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_NONE, &b, NULL));
  CHECK_NEAR(b.best, 6, 1e-6);

  CASE("a device with room for little gets little work");
  /* 4 ops of 1 s and 1 byte; device 1 holds one: the other runs 3 */
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 4; i++) p.param[i] = 1;
  p.memory[1] = 1;
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.work, 2, 1e-6);
  CHECK_NEAR(b.memory, 3, 1e-4);
  CHECK_TEXT(b.name, "memory");

  CASE("a group runs on one device, between its least head and tail");
  problem_clear(&p, 5, 4); /* 0 -> {1, 2, 3} -> 4, middle ones a group */
  for (int32_t i = 1; i < 4; i++)
    problem_edge(&p, 0, i, 0), problem_edge(&p, i, 4, 0), p.group[i] = 0;
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.best, 5, 1e-12);

  CASE("devices wait for a single source");
  problem_clear(&p, 7, 2); /* 0 (4 s) -> six of 1 s: 4 + 3 */
  set_time(&p, 0, 4, 4);
  for (int32_t i = 1; i < 7; i++) problem_edge(&p, 0, i, 0);
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.best, 7, 1e-12);

  CASE("pinned ops share their device");
  problem_clear(&p, 3, 3);
  for (int32_t i = 0; i < 3; i++) p.pin[i] = 1;
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, NULL));
  CHECK_NEAR(b.best, 3, 1e-12);
}

TEST("infeasible: an op larger than every device") {
  berth_bounds b = { 0 };
  berth_obstacle why = { 7, 7, 7 };
  b.best = -1;
  problem p = clear_problem(2, 2);
  p.param[1] = 10, p.memory[0] = 4, p.memory[1] = 7;
  CHECK_STATUS(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == 1 && why.device == 1 && why.missing == 3);
  CHECK(says("op 1"));
  CHECK_NEAR(b.best, -1, 0);
  CHECK_OK(bounds_of(&p, BERTH_MEMORY_NONE, &b, &why));

  CASE("infeasible: the total");
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 4; i++) p.param[i] = 3;
  p.memory[0] = 5, p.memory[1] = 6;
  CHECK_STATUS(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == BERTH_NONE && why.device == BERTH_NONE && why.missing == 1);

  CASE("infeasible: three of three in two devices of five");
  problem_clear(&p, 3, 2);
  for (int32_t i = 0; i < 3; i++) p.param[i] = 3;
  p.memory[0] = p.memory[1] = 5;
  CHECK_STATUS(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, &why), BERTH_EINFEASIBLE);
  CHECK(why.op >= 0 && why.missing == 1);

  CASE("infeasible: what only one type can run does not fit on it");
  problem_clear(&p, 3, 3);
  for (int32_t i = 0; i < 2; i++) p.param[i] = 3, p.time[i][1] = p.time[i][2] = INFINITY;
  p.memory[0] = p.memory[1] = p.memory[2] = 5;
  CHECK_STATUS(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == BERTH_NONE && why.device == 0 && why.missing == 1);

  CASE("infeasible: a group that no device can run as a whole, the odd one named");
  problem_clear(&p, 3, 2);
  p.group[1] = p.group[2] = 0, p.time[1][0] = p.time[2][1] = INFINITY;
  CHECK_STATUS(bounds_of(&p, BERTH_MEMORY_TOTAL, &b, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == 2 && strstr(berth_errmsg(ctx), "op 2") != NULL);

  CASE("wrong arguments");
  problem_clear(&p, 1, 1);
  made m = problem_make(&p);
  for (int i = 0; i < 7; i++) {
    berth_bounds_options wrong =
        asked(i == 0 ? (berth_memory_policy)9 : BERTH_MEMORY_TOTAL, i == 1   ? NAN
                                                                    : i == 2 ? -1
                                                                             : 1);
    if (i == 3) wrong.links = (berth_links)9;
    if (i > 3) wrong.gap = i == 4 ? NAN : i == 5 ? 1e-10 : INFINITY;
    b.best = -1;
    CHECK_STATUS(berth_bounds_compute(m.c, &wrong, &b, NULL), BERTH_EINVAL);
    CHECK_NEAR(b.best, -1, 0);
  }
}

typedef struct tally {
  int feasible, unfit, proved, tight;
  double gap;
} tally;

static void check_against_all(const problem *p, tally *sum) {
  berth_bounds b;
  double free_best = best_makespan(p, 0), best = best_makespan(p, 1);
  berth_status st = bounds_of(p, BERTH_MEMORY_TOTAL, &b, NULL);
  sum->unfit += isinf(best);
  if (st == BERTH_EINFEASIBLE) {
    CHECK(isinf(best));
    sum->proved++;
  } else if (CHECK_OK(st) && !isinf(best)) {
    CHECK(b.critical_path <= free_best * (1 + 1e-9));
    CHECK(b.work <= free_best * (1 + 1e-9));
    CHECK(b.memory <= best * (1 + 1e-9));
    CHECK(b.best >= b.critical_path && b.best >= b.work && b.best >= b.memory);
    sum->feasible++;
    sum->tight += b.best >= best * (1 - 1e-6);
    sum->gap += b.best > 0 ? best / b.best - 1 : 0;
  }
}

TEST("no schedule beats a bound, nothing that fits is called infeasible") {
  tally sum = { 0 };
  berth_rng rng = seeded(11, 0);
  for (int32_t i = 0; i < 1500; i++) {
    problem p;
    random_problem(&p, &rng);
    check_against_all(&p, &sum);
  }
  CHECK(sum.feasible > 700 && sum.unfit > 200);
  CHECK(sum.proved > 0.8 * sum.unfit);
  CHECK(sum.gap / sum.feasible < 0.1);
  printf("# %d feasible, bound reached by %d, mean gap %.4f; %d of %d infeasible ones proved\n",
         sum.feasible, sum.tight, sum.gap / sum.feasible, sum.proved, sum.unfit);
}

static berth_status refuse_bounds(void) {
  let_pass();
  problem p = clear_problem(5, 3);
  p.param[0] = 2, p.memory[0] = 3, p.group[1] = p.group[2] = 0, p.pin[3] = 1;
  problem_edges(&p, "0>1:0");
  made m = problem_make(&p);
  berth_bounds_options o = asked(BERTH_MEMORY_TOTAL, 1);
  o.thorough = 1;
  berth_bounds b;
  refuse_from_here();
  return berth_bounds_compute(m.c, &o, &b, NULL);
}

TEST("refused allocations: no leak, no crash") { CHECK(refuse_bare(refuse_bounds, 1) > 10); }

static berth_bounds with_effort(berth_cost *cost, double effort) {
  berth_bounds_options o = asked(BERTH_MEMORY_NONE, 1);
  o.effort = effort;
  return must_bounds_compute(cost, &o);
}

TEST("an effort affords a level, whose name is in the answer") {
  problem p = clear_problem(4, 2); /* a fork of two that join; no transfer pays: 1 + 2 + 2 + 1 */
  for (int32_t i = 0; i < 4; i++) set_time(&p, i, i % 3 ? 2 : 1, i % 3 ? 2 : 1);
  problem_edges(&p, "0>1:9 0>2:9 1>3:9 2>3:9");
  p.bandwidth = 1;
  made m = problem_make(&p);
  berth_bounds none = with_effort(m.c, 0), least = with_effort(m.c, 0.5),
               some = with_effort(m.c, 5), more = with_effort(m.c, 50),
               all = with_effort(m.c, 500);
  CHECK(!strcmp(none.level, "cheap") && !strcmp(least.level, "paths"));
  CHECK(!strcmp(some.level, "cheap") && !strcmp(more.level, "windows"));
  CHECK(!strcmp(all.level, "thorough"));
  CHECK(isnan(least.clusters) && isnan(some.transfers) && !isnan(more.transfers));
  CHECK_NEAR(least.best, 4, 1e-12);
  CHECK_NEAR(some.best, 6, 1e-3);
  CHECK_NEAR(all.best, 6, 1e-3);
  berth_bounds_options o = asked(BERTH_MEMORY_NONE, 1);
  o.thorough = 1, o.effort = 1;
  berth_bounds b;
  CHECK_SAYS(berth_bounds_compute(m.c, &o, &b, NULL), BERTH_EINVAL, "effort: excludes thorough");
  unmake(&m);
}
