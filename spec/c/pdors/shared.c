/* Shared links: plans keep what they promise, and the bound holds for any places. */
#include "pdors_help.h"

/* Each of three machines holds a worker and a server, all in one slot: an iteration of 3 samples
 * takes 2 + 1/2, 3/4 + 1 or 1/2 + 4/3 slots on one, two or three machines, as a link is shared by
 * the servers, or workers, at the others. */
static berth_ps *three_machines(double samples) {
  static const double capacity[6] = { 2, 2, 2, 2, 2, 2 };
  berth_ps_job j = plain_job(0, samples, 3);
  j.across = 3;
  j.inside = 12;
  j.urgency = 5;
  j.target = 0.5;
  berth_ps_options o = berth_ps_default(3, 2, 4, capacity);
  o.comm = BERTH_PS_SHARED;
  return must_ps_new(&o, 1, &j);
}

static berth_pdors_plan planned(berth_ps *ps, berth_pdors_options o) {
  berth_pdors_plan plan;
  CHECK_OK(berth_pdors_decide(make_pdors(ps, o), 0, &plan));
  CHECK(plan.admitted);
  return plan;
}

TEST("by hand: two machines are faster than three") {
  berth_ps_place at[3] = { { 0, 1, 1 }, { 1, 1, 1 }, { 2, 1, 1 } };
  berth_ps *ps = three_machines(1.7);
  CHECK_NEAR(berth_ps_speed(ps, 0, 1, at), 3 / 2.0, 1e-12);
  CHECK_NEAR(berth_ps_speed(ps, 0, 2, at), 3 / 1.75, 1e-12);
  CHECK_NEAR(berth_ps_speed(ps, 0, 3, at), 3 / (0.5 + 4 / 3.0), 1e-12);
  CASE("1.7 samples: two machines, one slot");
  berth_pdors_plan plan = planned(ps, berth_pdors_default());
  CHECK(plan.n == 2 && plan.done == 0);
  CASE("1.75 samples: one slot is not enough for any places");
  plan = planned(three_machines(1.75), berth_pdors_default());
  CHECK(plan.done == 1);
  CASE("by equation 1, which final plans follow, three machines would be enough for 2.5");
  plan = planned(three_machines(2.5), published());
  CHECK(plan.n == 3 && plan.done == 0);
}

/* ---- plans ---- */

TEST("the places of a plan do its work") {
  berth_rng rng = seeded(31, 1);
  int32_t admitted = 0;
  for (int32_t k = 0; k < check_runs(10, 60); k++) {
    static big_problem p;
    fill(&p, &rng);
    for (int32_t i = 0; i < RUN_JOBS; i++) p.job[i].rack = k % 2 ? 2 * p.job[i].across : 0;
    berth_ps_options o = berth_ps_default(RUN_MACHINES, RUN_KINDS, RUN_SLOTS, p.capacity);
    o.comm = BERTH_PS_SHARED;
    if (k % 2) o.rack = p.rack;
    berth_ps *ps = must_ps_new(&o, RUN_JOBS, p.job);
    berth_pdors *d = make_pdors(ps, berth_pdors_default());
    for (int32_t i = 0; i < RUN_JOBS; i++) {
      berth_pdors_plan plan = must_pdors_admit(d, i);
      if (!plan.admitted) continue;
      double done = 0;
      size_t end;
      for (size_t at = 0; at < plan.n; at = end) {
        for (end = at; end < plan.n && plan.slot[end] == plan.slot[at]; end++) {}
        done += berth_ps_speed(ps, i, (int32_t)(end - at), plan.place + at);
      }
      CHECK(done >= p.job[i].epochs * p.job[i].samples * (1 - 1e-9));
      CHECK(plan.payoff <= plan.bound * (1 + 1e-9));
      admitted++;
    }
    RELEASE(d, ps);
  }
  printf("# %d admitted\n", admitted);
  CHECK(admitted > 20);
}

/* ---- the bound ---- */

enum { PAIRS = 3, HOSTS = 5, LASTING = 6 };

/* Places of a job by chance: few or many machines, servers with workers or not. */
static int32_t draw_places(berth_rng *rng, berth_ps_place *place) {
  int32_t n = 0, spread = 1 + berth_rng_below(rng, HOSTS);
  for (int32_t h = 0; h < HOSTS; h++) {
    if (berth_rng_below(rng, HOSTS) >= spread) continue;
    int32_t workers = berth_rng_below(rng, 4), servers = berth_rng_below(rng, 5);
    if (workers + servers > 0) place[n++] = (berth_ps_place){ h, workers, servers };
  }
  return n;
}

/* Jobs on any places that fill the machines exactly, each with so much work that it is done at the
 * end of a slot, and worth much less if it were done later: the bound must allow for all. */
static int32_t filled(berth_rng *rng, double *of_bound) {
  static berth_ps_place place[PAIRS][HOSTS];
  berth_ps_job job[PAIRS];
  double capacity[2 * HOSTS] = { 0 };
  int32_t n[PAIRS], rack[HOSTS] = { 0, 0, 1, 1, 1 }, jobs = 0, slots[PAIRS];
  for (int32_t i = 0; i < PAIRS; i++) {
    berth_ps_job *j = &job[jobs];
    *j = random_job(rng, 0);
    j->batch = 1 + berth_rng_below(rng, 16);
    j->bytes = between(rng, 0.1, 4) * j->batch;
    j->across = between(rng, 1, 8);
    j->inside = j->across * between(rng, 0.5, 10);
    j->rack = berth_rng_below(rng, 2) ? j->across * between(rng, 0.5, 4) : 0;
    j->ratio = 0.5 + berth_rng_below(rng, 4);
    j->urgency = 5;
    n[jobs] = draw_places(rng, place[jobs]);
    for (int32_t k = 0; k < n[jobs]; k++)
      for (int32_t r = 0; r < 2; r++)
        capacity[2 * place[jobs][k].machine + r] += place[jobs][k].workers * j->worker[r]
                                                    + place[jobs][k].servers * j->server[r];
    jobs++;
  }
  berth_ps_options o = berth_ps_default(HOSTS, 2, LASTING, capacity);
  o.comm = BERTH_PS_SHARED;
  o.rack = rack;
  berth_ps *ps = must_ps_new(&o, jobs, job);
  double utility = 0;
  for (int32_t i = 0; i < jobs; i++) {
    double speed = berth_ps_speed(ps, i, n[i], place[i]);
    slots[i] = 1 + berth_rng_below(rng, LASTING);
    job[i].epochs = 1;
    job[i].samples = speed > 0 ? speed * slots[i] : 1e9;
    job[i].target = slots[i] - 0.5; /* in the last slot of its own, slots[i] - 1, it is in time */
    if (speed > 0) utility += berth_ps_utility(&job[i], slots[i] - 1);
  }
  RELEASE(ps);
  ps = must_ps_new(&o, jobs, job);
  berth_pdors *d = make_pdors(ps, berth_pdors_default());
  berth_pdors_certificate c;
  CHECK_OK(berth_pdors_certify(d, utility, 40, &c));
  CHECK(utility <= c.bound);
  *of_bound += c.bound > 0 ? utility / c.bound : 1;
  RELEASE(d, ps);
  return utility > 0;
}

TEST("no places, not even those that fill the cluster, are worth more than the bound") {
  berth_rng rng = seeded(37, 1);
  const int32_t n = check_runs(300, 3000);
  int32_t some = 0;
  double sum = 0;
  for (int32_t k = 0; k < n; k++) some += filled(&rng, &sum);
  printf("# %d of %d with any work, mean utility / bound %.3f\n", some, n, sum / n);
  CHECK(some > n / 2);
}
