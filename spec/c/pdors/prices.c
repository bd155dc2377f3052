/* L, U and prices: computed by hand, in the three ways; what is committed and given back. */
#include "pdors_help.h"

/* Two machines of 4 and 4; one job: 4 samples, 2 workers. */
static small_problem hand(void) {
  small_problem p = {
    .jobs = 1, .machines = 2, .resources = 2, .slots = 8, .capacity = { 4, 4, 4, 4 }
  };
  p.job[0] = plain_job(0, 4, 2);
  p.job[0].urgency = 0.5;
  return p;
}

static double sigmoid(double urgency, double slots) {
  return 10 / (1 + exp(urgency * (slots - 5)));
}

TEST("prices of an empty cluster are L, and grow to U as L (U / L)^share") {
  small_problem p = hand();
  berth_ps *ps = make_problem(&p);
  berth_pdors_options o = published();
  berth_pdors *d = make_pdors(ps, o);
  /* U: done after ceil(4 * 1 / 2) slots at best, a unit takes 2 of each. L: ceil(4 * 2)
   * worker-slots, each 4 in all: 32; all capacity is 8 slots * 16; 1 / mu = 32 / 128; u(8) / (2 mu
   * 32). */
  double high = sigmoid(0.5, 2) / 2, low = sigmoid(0.5, 8) / (2 * 4 * 32);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), low, 1e-12 * low);
  CHECK_NEAR(berth_pdors_price(d, 1, 1, 7), low, 1e-12 * low);
  berth_pdors_plan plan = must_pdors_admit(d, 0);
  CHECK(plan.admitted && plan.n == 2 && plan.done == 1);
  CHECK(plan.place[0].machine == 0 && plan.place[0].workers == 2 && plan.place[0].servers == 2
        && plan.slot[0] == 0);
  CHECK_NEAR(plan.cost, 16 * low, 1e-12 * low);
  CHECK_NEAR(plan.utility, sigmoid(0.5, 1), 1e-12);
  CHECK_NEAR(berth_pdors_committed(d, 0)[0], 4, 0);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), high, 1e-12 * high);
  CHECK_NEAR(berth_pdors_price(d, 1, 0, 0), low, 1e-12 * low);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 2), low, 1e-12 * low);
  CASE("L and U can be asked for, and scaled");
  double got_low, got_high;
  CHECK_OK(berth_pdors_range(d, 1, 0, &got_low, &got_high));
  CHECK_NEAR(got_low, low, 1e-12 * low);
  CHECK_NEAR(got_high, high, 1e-12 * high);
  CHECK_STATUS(berth_pdors_range(d, 0, 2, &got_low, &got_high), BERTH_EINVAL);
  o.low_scale = 8;
  o.high_scale = 0.5;
  berth_pdors *scaled = make_pdors(ps, o);
  CHECK_OK(berth_pdors_range(scaled, 0, 0, &got_low, &got_high));
  CHECK_NEAR(got_low, 8 * low, 1e-12 * low);
  CHECK_NEAR(got_high, high / 2, 1e-12 * high);
  CASE("by job: worth per unit of all that it takes");
  /* At best 4 worker-slots, each with a server; at worst 8, each 4 of all. */
  o = published();
  o.per_job = true;
  scaled = make_pdors(ps, o);
  CHECK_OK(berth_pdors_range(scaled, 0, 0, &got_low, &got_high));
  CHECK_NEAR(got_low, sigmoid(0.5, 8) / 32, 1e-12);
  CHECK_NEAR(got_high, sigmoid(0.5, 2) / 8, 1e-12);
  CASE("there is no price outside the cluster");
  CHECK(isnan(berth_pdors_price(d, 2, 0, 0)) && isnan(berth_pdors_price(d, 0, -1, 0))
        && isnan(berth_pdors_price(d, 0, 0, 8)));
  CHECK(!berth_pdors_committed(d, 8));
  CASE("a job is decided about once");
  CHECK_ERROR(berth_pdors_admit(d, 0, &plan), BERTH_EINVAL, "pdors: job 0 was admitted before");
  CHECK_ERROR(berth_pdors_admit(d, 3, &plan), BERTH_EINVAL, "pdors: there is no job 3");
}

TEST("what nobody takes costs nothing, what a machine has none of is not to be had") {
  small_problem p = hand();
  berth_pdors_options o = published();
  p.job[0].worker[0] = p.job[0].server[0] = 0;
  p.capacity[3] = 0;
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = make_pdors(ps, o);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 0, 0);
  CHECK(berth_pdors_price(d, 0, 1, 0) > 0 && isinf(berth_pdors_price(d, 1, 1, 0)));
  CASE("late utilities count at least `floor`; U is at least e L");
  p = hand();
  p.job[0].urgency = 50;
  p.job[0].target = 0.5;
  ps = make_problem(&p);
  d = make_pdors(ps, o);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 10 * 1e-6 / 256, 1e-18);
  o.floor = 1;
  d = make_pdors(ps, o);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 10.0 / 256, 1e-12);
}

TEST("given bounds are the prices of an empty and of a full machine") {
  small_problem p = hand();
  berth_pdors_options o = published();
  p.jobs = 2;
  p.job[1] = p.job[0];
  p.job[1].importance = 1000;
  p.job[1].arrival = 3;
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = make_pdors(ps, o);
  double oracle = berth_pdors_price(d, 0, 0, 0);
  o.bounds = BERTH_PDORS_PRIOR;
  o.low = 1e-3;
  o.high[0] = 2;
  o.high[1] = 3;
  d = make_pdors(ps, o);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 1e-3, 1e-15);
  berth_pdors_plan plan = must_pdors_admit(d, 0);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 2, 1e-12);
  CHECK_NEAR(berth_pdors_price(d, 0, 1, 0), 3, 1e-12);
  CASE("learned bounds come from jobs seen, and reach those of all jobs but for `safety`");
  o.bounds = BERTH_PDORS_ONLINE;
  d = make_pdors(ps, o);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), 0, 0);
  CHECK_OK(berth_pdors_decide(d, 0, &plan));
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), sigmoid(0.5, 8) / 256 / 2, 1e-12);
  CHECK_OK(berth_pdors_decide(d, 1, &plan));
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), oracle / 2, 1e-12);
}

TEST("OASiS: two of three machines have workers, the last has servers; each pool has its prices") {
  small_problem p = hand();
  berth_pdors_options o = published();
  p.machines = 3;
  p.capacity[4] = p.capacity[5] = 8;
  o.algorithm = BERTH_OASIS;
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = make_pdors(ps, o);
  /* ceil(4 * 2) worker-slots, 2 each; the first pool has 8 * 16 in all, so has the other: L = u(8)
   * / (4 * 8 * 2) * 16 / 128 */
  double low = sigmoid(0.5, 8) / (4 * 128);
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), low, 1e-12 * low);
  CHECK_NEAR(berth_pdors_price(d, 2, 0, 0), low, 1e-12 * low);
  berth_pdors_plan plan = must_pdors_admit(d, 0);
  CHECK(plan.admitted && plan.n == 8 && plan.done == 3);
  CHECK(plan.place[0].machine == 0 && plan.place[0].workers == 2 && plan.place[0].servers == 0);
  CHECK(plan.place[1].machine == 2 && plan.place[1].workers == 0 && plan.place[1].servers == 2);
  CHECK_NEAR(plan.cost, 32 * low, 1e-9 * low);
  /* half of machine 0, a quarter of machine 2; U = u(ceil(4 * 2 / 2)) per 1 of each */
  CHECK_NEAR(berth_pdors_price(d, 0, 0, 0), low * pow(sigmoid(0.5, 4) / low, 0.5), 1e-12);
  CHECK_NEAR(berth_pdors_price(d, 2, 0, 0), low * pow(sigmoid(0.5, 4) / low, 0.25), 1e-12);
}

static void refuses(berth_ps *ps, berth_pdors_options o, const char *text) {
  berth_pdors *d = NULL;
  CHECK_ERROR(berth_pdors_new(ps, &o, &d), BERTH_EINVAL, text);
  CHECK(!d);
}

TEST("wrong options are refused, with their values") {
  small_problem p = hand();
  berth_pdors_options o = published();
  p.machines = 1;
  berth_ps *ps = make_problem(&p);
  o.delta = 1;
  refuses(ps, o, "option delta is 1 (below 1)");
  o = published();
  o.bounds = BERTH_PDORS_PRIOR;
  refuses(ps, o, "pdors: low is 0: above 0");
  o.low = 1;
  refuses(ps, o, "pdors: high of resource 0 is 0: above 0");
  o = published();
  o.quanta = 0;
  refuses(ps, o, "option quanta is 0 (a finite number from 1)");
  o = published();
  o.safety = NAN;
  refuses(ps, o, "option safety is nan (a finite number from 1)");
  o = published();
  o.algorithm = BERTH_OASIS;
  refuses(ps, o, "pdors: OASiS has machines for workers and others for servers: at least 2");
}
