/* Plans that are revised: cases to check by hand, runs by an independent judge and against the
 * bound. */
#include "pdors_help.h"
#include "ps/ps_checker.h"

static berth_ps_run *play(berth_ps *ps, berth_pdors *d) {
  berth_ps_policy policy = berth_pdors_policy(d);
  berth_ps_run *r = must_ps_run_new(ps);
  CHECK_OK(berth_ps_run_play(r, &policy));
  return r;
}

/* Room for one worker and its server, which do a sample in a slot. */
static small_problem narrow(int32_t jobs, int32_t slots) {
  small_problem p = {
    .jobs = jobs, .machines = 1, .resources = 2, .slots = slots, .capacity = { 2, 2 }
  };
  return p;
}

/* In which slots a job has places, as bits. */
static int slots_of(const berth_ps_run *r, int32_t job) {
  ps_log g = ps_log_of(r);
  int found = 0;
  for (size_t i = 0; i < g.n; i++)
    if (g.job[i] == job) found |= 1 << g.slot[i];
  ps_log_free(&g);
  return found;
}

TEST("a job that is worth more for its share interrupts one that runs, which goes on after it") {
  small_problem p = narrow(2, 6);
  p.job[0] = plain_job(0, 3, 1); /* three slots, worth 10 / 2 whenever it is done */
  p.job[1] = plain_job(1, 1, 1); /* one slot: 30 / (1 + e^-2.5) in slot 1, 30 / (1 + e^2.5) in 2 */
  p.job[1].importance = 30;
  p.job[1].urgency = 5;
  p.job[1].target = 0.5;
  berth_ps *ps = make_problem(&p);
  CASE("revised");
  berth_ps_run *r = play(ps, make_pdors(ps, berth_pdors_default()));
  CHECK(slots_of(r, 0) == 0x0d && slots_of(r, 1) == 0x02);
  CHECK_NEAR(berth_ps_run_report(r).utility, 5 + 30 / (1 + exp(-2.5)), 1e-9);
  CASE("final: it comes after it, too late");
  r = play(ps, make_pdors(ps, published()));
  CHECK(slots_of(r, 0) == 0x07 && slots_of(r, 1) == 0x08);
  CHECK_NEAR(berth_ps_run_report(r).utility, 5 + 30 / (1 + exp(7.5)), 1e-9);
}

TEST("a job that runs is not interrupted by one that is worth less for its share") {
  small_problem p = narrow(2, 6);
  p.job[0] = plain_job(0, 3, 1); /* after a slot, 5 for two slots: more than 4 for two */
  p.job[1] = plain_job(1, 2, 1);
  p.job[1].importance = 8;
  berth_ps *ps = make_problem(&p);
  berth_ps_run *r = play(ps, make_pdors(ps, berth_pdors_default()));
  CHECK(slots_of(r, 0) == 0x07 && slots_of(r, 1) == 0x18);
}

TEST("shares are weighted by load: of two resources the one that all take more of counts") {
  /* The third job takes the second resource for all its three slots; so the load is of that one,
   * and of the first two jobs the one that takes less of it goes first: 5 for a slot of 1 + 1 of
   * resource 0 and 0.5 + 0.5 of resource 1 against 5 for the reverse. */
  small_problem p = narrow(3, 5);
  for (int32_t i = 0; i < 3; i++) p.job[i] = plain_job(0, 1, 1);
  p.job[0].worker[0] = p.job[0].server[0] = 0.6;
  p.job[1].worker[1] = p.job[1].server[1] = 0.6;
  p.job[2].samples = 3;
  p.job[2].importance = 0.1;
  p.job[2].worker[0] = p.job[2].server[0] = 0.1;
  berth_ps *ps = make_problem(&p);
  berth_ps_run *r = play(ps, make_pdors(ps, berth_pdors_default()));
  CHECK(slots_of(r, 1) == 0x01 && slots_of(r, 0) == 0x02 && slots_of(r, 2) == 0x1c);
}

TEST("only jobs that cannot be done in time are refused, in the next revision") {
  small_problem p = narrow(4, 4);
  p.job[0] = plain_job(0, 5, 1); /* five slots of four */
  p.job[1] = plain_job(0, 2, 1); /* slots 0 and 1 */
  p.job[1].importance = 100;
  p.job[2] = plain_job(0, 3, 1); /* then three are not left any more */
  p.job[3] = plain_job(3, 1, 1);
  berth_ps *ps = make_problem(&p);
  berth_ps_run *r = play(ps, make_pdors(ps, berth_pdors_default()));
  berth_ps_record k = must_ps_run_record(r, 0);
  CHECK(k.state == BERTH_JOB_REFUSED && k.cause == 1);
  CHECK(must_ps_run_record(r, 1).done == 1);
  CHECK(must_ps_run_record(r, 3).done == 3);
  k = must_ps_run_record(r, 2);
  CHECK(k.state == BERTH_JOB_REFUSED && k.cause == 1 && slots_of(r, 2) == 0);
}

TEST("what is done before its plan ends, or is late, is planned again") {
  small_problem p = narrow(2, 8);
  p.job[0] = plain_job(0, 4, 1);
  p.job[0].importance = 100;
  p.job[1] = plain_job(0, 2, 1);
  berth_ps *ps = make_problem(&p);
  CASE("thought to be half as fast: two slots are free early");
  small_problem other = p;
  other.job[0].tau += 1; /* two slots for a sample: 8 for job 0 */
  other.slots = p.slots = 12;
  berth_ps *truth = make_problem(&p), *thought = make_problem(&other);
  berth_ps_run *r = play(truth, make_pdors(thought, berth_pdors_default()));
  CHECK(slots_of(r, 0) == 0x0f && slots_of(r, 1) == 0x30);
  CASE("thought to be twice as fast: it goes on");
  r = play(thought, make_pdors(truth, berth_pdors_default()));
  CHECK(slots_of(r, 0) == 0xff && slots_of(r, 1) == 0x300);
  RELEASE(ps);
}

/* ---- runs ---- */

static void runs(int32_t kinds, int racks, double moving, berth_ps_comm comm) {
  int32_t done = 0;
  double utility = 0, bounds = 0;
  berth_rng rng = seeded(19, (uint64_t)(racks + 2 * (moving > 0)));
  for (int32_t k = 0; k < kinds; k++) {
    static big_problem p;
    berth_pdors_options o = berth_pdors_default();
    o.mode = k % 3 == 2 ? BERTH_PDORS_EXACT : BERTH_PDORS_REPAIRED;
    o.nodes = 50;
    o.bounds = k % 4 == 1 ? BERTH_PDORS_ORACLE : BERTH_PDORS_AUTO;
    o.per_job = k % 4 == 3;
    fill(&p, &rng);
    for (int32_t i = 0; i < RUN_JOBS; i++) {
      p.job[i].moving = moving;
      p.job[i].rack = racks ? 2 * p.job[i].across : 0;
    }
    berth_ps_options po = berth_ps_default(RUN_MACHINES, RUN_KINDS, RUN_SLOTS, p.capacity);
    po.comm = comm;
    if (racks) po.rack = p.rack;
    berth_ps *ps = must_ps_new(&po, RUN_JOBS, p.job);
    berth_pdors *d = make_pdors(ps, o), *e = make_pdors(ps, o);
    berth_ps_run *r = play(ps, d), *again = play(ps, e);
    ps_judge(r, 1);
    CHECK(berth_ps_run_report(r).utility == berth_ps_run_report(again).utility);
    berth_pdors_certificate c;
    CHECK_OK(berth_pdors_certify(d, berth_ps_run_report(r).utility, 30, &c));
    CHECK(c.utility <= c.bound && isnan(c.worst_case));
    done += berth_ps_run_report(r).done;
    utility += c.utility;
    bounds += c.bound;
    RELEASE(r, again, d, e, ps);
  }
  printf("# %d of %d done, %.3f of the bound\n", done, kinds * RUN_JOBS, utility / bounds);
  CHECK(done > 4 * kinds);
}

TEST("within capacity, within the bound, the same twice: modes and bounds of prices") {
  runs(24, 0, 0, BERTH_PS_CASES);
}
TEST("the same with racks") { runs(8, 1, 0, BERTH_PS_CASES); }
TEST("the same where moves cost time") { runs(8, 0, 0.3, BERTH_PS_CASES); }
TEST("the same with shared links") { runs(12, 0, 0, BERTH_PS_SHARED); }
TEST("the same with shared links, racks, and moves that cost time") {
  runs(12, 1, 0.3, BERTH_PS_SHARED);
}

TEST("options that require final plans") {
  small_problem p = narrow(1, 2);
  p.machines = 2;
  p.capacity[2] = p.capacity[3] = 2;
  p.job[0] = plain_job(0, 1, 1);
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = NULL;
  berth_pdors_options o = berth_pdors_default();
  o.algorithm = BERTH_OASIS;
  CHECK_ERROR(berth_pdors_new(ps, &o, &d), BERTH_EINVAL,
              "pdors: algorithm oasis requires plans final");
  o = berth_pdors_default();
  o.reclaim = 0;
  CHECK_ERROR(berth_pdors_new(ps, &o, &d), BERTH_EINVAL,
              "pdors: reclaim false requires plans final: revised ones always do so");
  o.reclaim = 1;
  o.extend = 0;
  CHECK_ERROR(berth_pdors_new(ps, &o, &d), BERTH_EINVAL,
              "pdors: extend false requires plans final: revised ones always do so");
}
