/* berth_exact: cases by hand, against all schedules of small random problems, refused allocations,
 * options. */
#include "place_search.h"
#include "refusals.h"

static void exact_on(made m, const berth_exact_options *o, double makespan, int proved) {
  berth_placement *r = NULL;
  berth_exact_summary s;
  if (CHECK_OK(berth_exact(m.c, o, &r, &s, NULL))) {
    CHECK_NEAR(s.makespan, makespan, 1e-9);
    CHECK_NEAR(berth_placement_estimate(r), makespan, 1e-9);
    CHECK(s.bound <= s.makespan && s.proved == proved && !s.interrupted);
    CHECK_TEXT(berth_placement_placer(r), "exact");
    RELEASE(r);
  }
}

static void exact(const problem *p, const berth_exact_options *o, double makespan, int proved) {
  exact_on(problem_make(p), o, makespan, proved);
}

TEST("five ops of 3 3 2 2 2 s on two devices: 6 s, where longest first takes 7") {
  problem p = clear_problem(5, 2);
  for (int32_t i = 0; i < 5; i++) {
    for (int32_t d = 0; d < 2; d++) p.time[i][d] = i < 2 ? 3 : 2;
  }
  exact(&p, NULL, 6, 1);
  CASE("a transfer that takes longer than the op: both stay on one device");
  problem_clear(&p, 3, 2);
  p.bandwidth = 1;
  problem_edges(&p, "0>1:5 0>2:5");
  exact(&p, NULL, 3, 1);
}

/* On equal devices without transfers; a problem has devices of different types. */
static made equal(int32_t devices, const char *text) {
  return (made){ NULL, NULL, must_cost_of_text(text, devices, INFINITY, INFINITY) };
}

TEST("the interval bound: 0, 1, 2 and 5 all run in [2, 3] of 5 s, and there are three devices") {
  berth_exact_options o = berth_exact_default(NULL);
  o.nodes = 1;
  o.schedules = 0;
  made m = equal(3, "1 3 3 2 1 3 2 6>0:0 0>3:0 4>2:0 4>3:0 4>5:0");
  exact_on(m, &o, 6, 1);
  CASE("a list schedule from the sources, pushed back and forth, is enough");
  o.schedules = 3;
  exact_on(equal(2, "1 3 4 3 0>3:0"), &o, 6, 1);
  exact_on(equal(2, "3 3 4 2 2 4>2:0"), &o, 7, 1);
  exact_on(equal(2, "2 1 2 2 3 0>3:0 1>4:0"), &o, 5, 1);
  CASE("perturbed priorities find what levels do not");
  o.schedules = 500;
  exact_on(equal(2, "2 4 3 3 4 4>2:0 0>2:0"), &o, 8, 1);
}

/* Three seeds, three schedules of one length. */
TEST("the placer passes the seed on") {
  made m = equal(2, "4 3 4 4 3 1 4 3 7>5:0 1>5:0");
  for (uint64_t seed = 0; seed < 3; seed++) {
    berth_exact_options o = berth_exact_default(NULL);
    berth_place_options placer = berth_place_default(NULL);
    berth_placement *a = NULL, *b = NULL;
    o.place.seed = placer.seed = seed;
    CHECK_OK(berth_exact(m.c, &o, &a, NULL, NULL));
    b = must_place(m.c, "exact", &placer);
    CHECK(a && b
          && memcmp(berth_placement_start(a), berth_placement_start(b), 8 * sizeof(double)) == 0);
    RELEASE(a);
  }
}

/* The simulator gives the planned times back. */
static void check_replay(const made *m, const berth_placement *r) {
  berth_sim_options o = berth_sim_default(berth_cost_graph(m->c));
  berth_result *x = NULL;
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = berth_placement_sequence(r);
  o.memory = BERTH_MEMORY_TOTAL;
  if (!CHECK_OK(berth_simulate(m->c, berth_placement_device(r), &o, &x))) return;
  CHECK_NEAR(berth_result_makespan(x), berth_placement_estimate(r), 1e-9);
  berth_oom oom;
  CHECK(!berth_result_oom(x, &oom));
  RELEASE(x);
}

static double solve(const problem *p, int *proved) {
  made m = problem_make(p);
  berth_exact_options o = berth_exact_default(NULL);
  berth_placement *r = NULL;
  berth_exact_summary s = { 0 };
  berth_status st = berth_exact(m.c, &o, &r, &s, NULL);
  *proved = s.proved;
  if (st == BERTH_OK) check_replay(&m, r);
  else CHECK_STATUS(st, BERTH_EINFEASIBLE);
  RELEASE(r, m.c, m.g, m.t);
  return st == BERTH_OK ? s.makespan : INFINITY;
}

TEST("without transfers, with groups, pins and memory: the best of all schedules, and proved") {
  int count = 0;
  berth_rng rng = seeded(5, 0);
  int proved;
  for (int32_t i = 0; i < 400; i++) {
    problem p;
    random_problem(&p, &rng);
    double best = best_makespan(&p, 1);
    double got = solve(&p, &proved);
    if (isinf(best)) CHECK(isinf(got));
    if (isinf(best) || isinf(got)) continue;
    CHECK(got >= best * (1 - 1e-12));
    if (proved) CHECK_NEAR(got, best, 1e-9);
    count += proved;
  }
  CHECK(count > 200);
  CASE("with transfers: the same");
  for (int32_t i = 0; i < 400; i++) {
    problem p;
    search s = { .p = &p, .best = INFINITY };
    random_problem(&p, &rng);
    for (int32_t k = 0; k < MOST_DEVICES; k++) p.memory[k] = INFINITY;
    for (int32_t k = 0; k < p.edges; k++) p.bytes[k] = berth_rng_below(&rng, 8);
    p.bandwidth = 1;
    for (int32_t k = 0; k < MOST_OPS; k++) s.device[k] = BERTH_NONE;
    extend(&s, 0, 0);
    if (isinf(s.best)) continue;
    CHECK_NEAR(solve(&p, &proved), s.best, 1e-9);
    CHECK(proved);
  }
}

TEST("wrong options") {
  problem p;
  berth_placement *r = NULL;
  problem_clear(&p, 2, 2);
  made m = problem_make(&p);
  for (int i = 0; i < 7; i++) {
    berth_exact_options o = berth_exact_default(NULL);
    if (i == 0) o.nodes = -1;
    if (i == 1) o.schedules = -1;
    if (i == 2) o.seconds = -1;
    if (i == 3) o.seconds = NAN;
    if (i == 4) o.seconds = 1; /* this context has no clock */
    if (i == 5) o.place.links = BERTH_LINKS_DUPLEX;
    if (i == 6) o.place.quantum = 1;
    CHECK_STATUS(berth_exact(m.c, &o, &r, NULL, NULL), i < 4 ? BERTH_EINVAL : BERTH_EUNSUPPORTED);
    CHECK(r == NULL && strstr(berth_errmsg(ctx), "option ") != NULL);
  }
}

static berth_status build_all(void) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < 2 && st == BERTH_OK; i++) { /* branching, then list schedules first */
    berth_cost *c = NULL;
    berth_placement *r = NULL;
    st = cost_of_text("3 3 2 2 2 0>4:1", 2, INFINITY, i ? INFINITY : 1, &c);
    TRY(st, berth_exact(c, NULL, &r, NULL, NULL));
    RELEASE(r, c);
  }
  return st;
}

/* A clock that goes on by a second whenever it is asked. */
static double tick(void *ud) { return (*(double *)ud)++; }

/* Unlike devices: no bound is reached before the branching. */
TEST("out of time: the best until then, and its bound") {
  berth_exact_options o = berth_exact_default(NULL);
  berth_exact_summary s = { 0 };
  berth_placement *r = NULL;
  double now = 0;
  hooked(&(berth_hooks){ .clock = tick, .ud = &now });
  problem p = clear_problem(5, 2);
  for (int32_t i = 0; i < 5; i++) {
    p.time[i][0] = i < 2 ? 3 : 2;
    p.time[i][1] = p.time[i][0] + 0.25;
  }
  made m = problem_make(&p);
  o.seconds = 0.5;
  if (CHECK_OK(berth_exact(m.c, &o, &r, &s, NULL))) {
    CHECK(s.timed_out && !s.proved && !s.interrupted && s.bound <= s.makespan && s.nodes < 20);
    check_replay(&m, r);
    RELEASE(r);
  }
  r = NULL;
  o.seconds = 1e12;
  if (CHECK_OK(berth_exact(m.c, &o, &r, &s, NULL)))
    CHECK(s.proved && !s.timed_out && s.bound == s.makespan);
  RELEASE(r);
  hooked(NULL);
}

TEST_REFUSALS(build_all)
