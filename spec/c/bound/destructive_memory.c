/* Destructive bounds with memory: by hand, against the best of all schedules that fit, against all
 * simulations that fit. */
#include "bound/destructive/destructive_internal.h"
#include "place/place_search.h"

/* NaN: proved that nothing fits. */
static double destructive(const problem *p, berth_memory_policy memory, unsigned rules) {
  berth_i_destruct_plan plan = { rules, 8, 3, 100000000, 64, true, 1e-4, 0 };
  berth_i_destruct_result b = { NAN, NAN, 0 };
  berth_i_units u;
  made m = problem_make(p);
  CHECK_OK(berth_i_units_init(m.c, "bounds", memory, 1, &u, NULL));
  berth_i_kinds k;
  CHECK_OK(berth_i_kinds_init(&u, memory, &k));
  if (berth_i_prove_unfit(&u, &k, "bounds", NULL) == BERTH_OK) {
    berth_i_destruct_scope scope = { &k, NULL, 0, BERTH_LINKS_FREE, NULL };
    CHECK_OK(berth_i_destructive_bound(&u, &scope, &plan, &b));
  }
  berth_i_kinds_release(&k);
  berth_i_units_release(&u);
  unmake(&m);
  return isnan(b.intervals) ? b.clusters : b.intervals;
}

static void check_raise(const problem *p, unsigned with, double low, double high) {
  CHECK_NEAR(
      destructive(p, BERTH_MEMORY_INFERENCE,
                  BERTH_I_DESTRUCT_ALL & ~(unsigned)BERTH_I_DESTRUCT_MEMORY),
      low, 3e-3 * low);
  CHECK_NEAR(destructive(p, BERTH_MEMORY_INFERENCE, with), high, 3e-3 * high);
}

/* One op after another, a byte each, device memory for `room` of them; tensor i takes bytes[i]. */
static void chain(problem *p, int32_t n, int32_t devices, const double *bytes, double room) {
  problem_clear(p, n, devices);
  p->bandwidth = 1;
  for (int32_t i = 0; i < n; i++) p->param[i] = 1;
  for (int32_t i = 0; i + 1 < n; i++) problem_edge(p, i, i + 1, bytes[i]);
  for (int32_t d = 0; d < devices; d++) p->memory[d] = room;
}

TEST("half of a chain fits on a device: the one crossing is the cheapest that leaves three on "
     "each side") {
  static const double rising[] = { 9, 5, 7, 3, 8 };
  enum {
    FORCE = BERTH_I_DESTRUCT_FORCE | BERTH_I_DESTRUCT_SERIAL | BERTH_I_DESTRUCT_MEMORY,
    DEEP = FORCE | BERTH_I_DESTRUCT_DEEP
  };
  problem p;
  chain(&p, 6, 2, rising, 3);
  check_raise(&p, DEEP, 6, 6 + 7);
  CASE("a third of it: two crossings, after the second and the fourth")
  chain(&p, 6, 3, rising, 2);
  check_raise(&p, DEEP, 6, 6 + 5 + 3);
  CASE("two large ops do not share a device: their tensor crosses")
  chain(&p, 3, 3, rising, 10);
  p.param[0] = p.param[1] = 6;
  check_raise(&p, FORCE, 3, 3 + 9);
  CASE("glued pairs of two bytes are packed: three of them do not fit on two devices of three")
  chain(&p, 6, 2, rising, 3);
  p.edges = 0;
  for (int32_t i = 0; i < 6; i += 2) problem_edge(&p, i, i + 1, 50);
  check_raise(&p, FORCE, 4, 52);
  CASE("workspace counts: two ops of one byte with two to work in do not fit into three")
  chain(&p, 2, 2, rising, 3);
  p.workspace[1] = 2;
  check_raise(&p, FORCE, 2, 2 + 9);
}

/* ---- all schedules that fit ---- */

static void random_memory(problem *p, berth_rng *rng) {
  double total = 0, slack = 1 + 0.8 * berth_rng_uniform(rng);
  int uneven = berth_rng_below(rng, 3) == 0;
  for (int32_t i = 0; i < p->ops; i++) {
    total += p->param[i] = berth_rng_below(rng, 7);
    p->workspace[i] = berth_rng_below(rng, 4) ? 0 : berth_rng_below(rng, 4);
  }
  for (int32_t d = 0; d < p->devices; d++) {
    p->memory[d] = ceil(total / p->devices * slack * (uneven ? 0.5 + berth_rng_uniform(rng) : 1));
    if (berth_rng_below(rng, 12) == 0) p->memory[d] = INFINITY;
  }
}

static void restrict_ops(problem *p, berth_rng *rng) {
  for (int32_t i = 0; i < p->ops; i++) {
    if (berth_rng_below(rng, 5) == 0) p->group[i] = 0;
    else if (berth_rng_below(rng, 7) == 0) p->pin[i] = berth_rng_below(rng, p->devices);
    if (p->pin[i] != BERTH_NONE && isinf(p->time[i][p->pin[i]])) p->time[i][p->pin[i]] = 9;
    for (int32_t d = 0; d < p->devices; d++) {
      if (p->group[i] == 0 && isinf(p->time[i][d])) p->time[i][d] = 9;
    }
  }
}

static void random_case(problem *p, berth_rng *rng, int round) {
  problem_clear(p, 2 + berth_rng_below(rng, 6), 2 + berth_rng_below(rng, 2));
  random_times(p, rng, round % 3);
  p->bandwidth = 1 + berth_rng_below(rng, 4);
  p->latency = berth_rng_below(rng, 3);
  if (round % 2) add_edges(p, rng, 1 + berth_rng_below(rng, 20));
  for (int32_t i = 1; round % 2 == 0 && i < p->ops; i++) {
    problem_edge(p, i - 1 - berth_rng_below(rng, i < 3 ? i : 3), i, 1 + berth_rng_below(rng, 15));
  }
  random_memory(p, rng);
  if (round % 5 == 0) restrict_ops(p, rng);
}

TEST("no schedule that fits beats them: pins, groups, types, uneven memory") {
  int tight = 0, used = 0, unfit = 0, by_memory = 0;
  double gap = 0;
  berth_rng rng = seeded(405, 0);
  for (int i = 0; i < 1200 && !check_bad; i++) {
    problem p;
    random_case(&p, &rng, i);
    double best = optimum_within(&p);
    double bound = destructive(&p, BERTH_MEMORY_INFERENCE,
                        i % 3 ? BERTH_I_DESTRUCT_ALL : BERTH_I_DESTRUCT_ALL & ~(1u << i / 3 % 10));
    if (isinf(best) || isnan(bound)) {
      CHECK(isinf(best) || !isnan(bound));
      unfit++;
      continue;
    }
    CHECK(bound <= best * (1 + 1e-9));
    if (check_bad) printf("# round %d: bound %.9g, best %.9g\n", i, bound, best);
    if (!(bound > 0)) continue;
    used++;
    by_memory += bound > destructive(&p, BERTH_MEMORY_NONE, BERTH_I_DESTRUCT_ALL) * (1 + 1e-3);
    tight += bound >= best * (1 - 1e-3);
    gap += best / bound - 1;
  }
  printf("# %d problems, %d raised by memory, %d infeasible: closed %d, mean gap %.4f\n", used,
         by_memory, unfit, tight, gap / used);
  CHECK(by_memory > used / 5 && tight > used / 2);
}

/* ---- all simulations that fit ---- */

static bool next_placement(const problem *p, int32_t *device) {
  int32_t i = 0;
  while (i < p->ops && ++device[i] == p->devices) device[i++] = 0;
  return i < p->ops;
}

/* The least makespan of any placement under some of the simulator's rules, its memory kept. */
static double least_simulated(const problem *p, berth_memory_policy memory) {
  static const berth_dispatch rule[] = { BERTH_DISPATCH_FIFO, BERTH_DISPATCH_LIGHT_FIRST,
                                         BERTH_DISPATCH_LIFO };
  int32_t device[MOST_OPS] = { 0 };
  double best = INFINITY;
  made m = problem_make(p);
  berth_sim *sim[3];
  for (int k = 0; k < 3; k++) {
    berth_sim_options o = berth_sim_default(m.g);
    o.memory = memory;
    o.dispatch = rule[k];
    o.links = k == 2 ? BERTH_LINKS_DUPLEX : BERTH_LINKS_FREE;
    sim[k] = must_sim_new(m.c, &o);
  }
  do {
    for (int k = 0; k < 3; k++) {
      berth_sim_summary out;
      if (berth_sim_run(sim[k], device, &out) != BERTH_OK || out.oom_op != BERTH_NONE) continue;
      best = fmin(best, out.makespan);
    }
  } while (next_placement(p, device));
  for (int k = 0; k < 3; k++) RELEASE(sim[k]);
  unmake(&m);
  return best;
}

TEST("no simulation that fits beats them, outputs and copies counted") {
  int used = 0, tight = 0;
  berth_rng rng = seeded(406, 0);
  for (int i = 0; i < 120 && !check_bad; i++) {
    berth_memory_policy memory = i % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE;
    problem p;
    random_case(&p, &rng, i);
    p.resident = 1;
    for (int32_t d = 0; d < p.devices; d++) p.memory[d] += 2 + berth_rng_below(&rng, 30);
    double bound = destructive(&p, memory, BERTH_I_DESTRUCT_ALL);
    double best = least_simulated(&p, memory);
    if (isinf(best) || isnan(bound)) {
      CHECK(isinf(best) || !isnan(bound));
      continue;
    }
    CHECK(bound <= best * (1 + 1e-9));
    if (check_bad) printf("# round %d: bound %.9g, best %.9g\n", i, bound, best);
    used++;
    tight += bound >= best * (1 - 1e-3);
  }
  printf("# %d problems, %d closed\n", used, tight);
  CHECK(used > 30 && tight > used / 2);
}
