/* Runs of PD-ORS and OASiS: capacity by an independent judge, promises kept, what ends early given
 * back, the same twice. */
#include "pdors_help.h"
#include "ps/ps_checker.h"

static berth_ps *make_big(const big_problem *p, berth_ps_comm comm, int racks) {
  berth_ps_options o = berth_ps_default(RUN_MACHINES, RUN_KINDS, RUN_SLOTS, p->capacity);
  o.comm = comm;
  if (racks) o.rack = p->rack;
  return must_ps_new(&o, RUN_JOBS, p->job);
}

/* The policy with its plans noted. */
typedef struct noted {
  berth_ps_policy inner;
  berth_pdors *d;
  double promised;
  int32_t admitted, due[RUN_JOBS];
} noted;

static berth_status note_arrival(void *ud, berth_ps_run *r, int32_t job) {
  noted *n = ud;
  berth_pdors_plan plan;
  berth_status st = berth_pdors_decide(n->d, job, &plan);
  if (st != BERTH_OK) return st;
  n->due[job] = plan.admitted ? plan.done : BERTH_NONE;
  n->admitted += plan.admitted;
  if (plan.admitted) n->promised += plan.utility;
  if (plan.admitted) CHECK(plan.payoff > 0 && plan.payoff <= plan.bound * (1 + 1e-9));
  return n->inner.arrival(n->inner.ud, r, job);
}
static berth_status note_finish(void *ud, berth_ps_run *r, int32_t job) {
  noted *n = ud;
  return n->inner.finish(n->inner.ud, r, job);
}
static berth_status note_slot(void *ud, berth_ps_run *r, int32_t slot) {
  noted *n = ud;
  return n->inner.slot(n->inner.ud, r, slot);
}

static berth_ps_run *play(berth_ps *ps, berth_pdors_options o, noted *n) {
  berth_ps_policy policy = { note_arrival, note_finish, note_slot, n };
  memset(n, 0, sizeof *n);
  n->d = make_pdors(ps, o);
  n->inner = berth_pdors_policy(n->d);
  berth_ps_run *r = must_ps_run_new(ps);
  CHECK_OK(berth_ps_run_play(r, &policy));
  return r;
}

static void check_promises(const berth_ps_run *r, const noted *n) {
  for (int32_t i = 0; i < RUN_JOBS; i++) {
    berth_ps_record k = must_ps_run_record(r, i);
    CHECK(k.state == (n->due[i] == BERTH_NONE ? BERTH_JOB_REFUSED : BERTH_JOB_DONE));
    if (n->due[i] != BERTH_NONE) CHECK(k.done <= n->due[i]);
    if (n->due[i] == BERTH_NONE) CHECK(k.cause == 1 || k.cause == 2);
  }
  CHECK(berth_ps_run_report(r).utility >= n->promised * (1 - 1e-9));
}

static void check_committed(const big_problem *p, const berth_pdors *d) {
  for (int32_t t = 0; t < RUN_SLOTS; t++)
    for (int32_t k = 0; k < RUN_MACHINES * RUN_KINDS; k++)
      CHECK(berth_pdors_committed(d, t)[k] <= p->capacity[k] * (1 + 1e-9));
}

static int same_log(const berth_ps_run *a, const berth_ps_run *b) {
  ps_log x = ps_log_of(a), y = ps_log_of(b);
  int same = x.n == y.n && memcmp(x.slot, y.slot, x.n * sizeof *x.slot) == 0
             && memcmp(x.job, y.job, x.n * sizeof *x.job) == 0
             && memcmp(x.place, y.place, x.n * sizeof *x.place) == 0;
  ps_log_free(&x);
  ps_log_free(&y);
  return same;
}

static void runs(int32_t kinds, int racks, double moving, berth_ps_comm comm) {
  int32_t admitted = 0;
  berth_rng rng = seeded(17, (uint64_t)(racks + 2 * (moving > 0)));
  for (int32_t k = 0; k < kinds; k++) {
    static big_problem p;
    berth_pdors_options o = some_options(k);
    if (o.mode == BERTH_PDORS_EXACT) o.nodes = 50;
    fill(&p, &rng);
    for (int32_t i = 0; i < RUN_JOBS; i++) {
      p.job[i].moving = moving;
      p.job[i].rack = racks ? 2 * p.job[i].across : 0;
    }
    berth_ps *ps = make_big(&p, comm, racks);
    noted n;
    berth_ps_run *r = play(ps, o, &n);
    ps_judge(r, 1);
    if (comm == BERTH_PS_CASES) check_promises(r, &n);
    check_committed(&p, n.d);
    admitted += n.admitted;
    noted again;
    berth_ps_run *q = play(ps, o, &again);
    CHECK(same_log(r, q));
    RELEASE(q, r, again.d, n.d, ps);
  }
  printf("# %d of %d admitted\n", admitted, kinds * RUN_JOBS);
  CHECK(admitted > 4 * kinds);
}

/* Thought to be half as fast as it is: what takes four slots in the plan takes two. */
static void early_end(bool reclaim) {
  small_problem p = { .jobs = 2, .machines = 1, .resources = 2, .slots = 6, .capacity = { 8, 8 } };
  berth_pdors_options o = published();
  p.job[0] = plain_job(0, 4, 2);
  p.job[1] = plain_job(5, 1, 1);
  berth_ps *ps = make_problem(&p);
  p.job[0].tau += 1;
  berth_ps *thought = make_problem(&p);
  o.reclaim = reclaim;
  berth_pdors *d = make_pdors(thought, o);
  double before = berth_pdors_price(d, 0, 0, 4);
  berth_ps_policy policy = berth_pdors_policy(d);
  berth_ps_run *r = must_ps_run_new(ps);
  CHECK_OK(berth_ps_run_play(r, &policy));
  berth_ps_record k = must_ps_run_record(r, 0);
  CHECK(k.done == 1);
  for (int32_t t = 0; t < 4; t++) {
    bool kept = t <= k.done || !reclaim;
    CHECK_NEAR(berth_pdors_committed(d, t)[0], kept ? 4 : 0, 0);
    if (!kept) CHECK_NEAR(berth_pdors_price(d, 0, 0, t), before, 0);
  }
}

/* Planned with half the time that a sample takes. */
static int32_t done_when_slower(bool extend) {
  static big_problem p;
  berth_pdors_options o = published();
  berth_rng rng = seeded(23, 1);
  fill(&p, &rng);
  for (int32_t i = 0; i < RUN_JOBS; i++) p.job[i].urgency *= 0.1;
  berth_ps *thought = make_big(&p, BERTH_PS_CASES, 0);
  for (int32_t i = 0; i < RUN_JOBS; i++) p.job[i].tau *= 2;
  berth_ps *ps = make_big(&p, BERTH_PS_CASES, 0);
  o.extend = extend;
  berth_pdors *d = make_pdors(thought, o);
  berth_ps_policy policy = berth_pdors_policy(d);
  berth_ps_run *r = must_ps_run_new(ps);
  CHECK_OK(berth_ps_run_play(r, &policy));
  ps_judge(r, 1);
  int32_t done;
  done = berth_ps_run_report(r).done;
  RELEASE(r, d, ps, thought);
  return done;
}

/* Two samples in each slot, and no move: 5 take three slots, though six are planned at first. */
TEST("a plan where moves cost time ends when it is done without those that it does not have") {
  small_problem p = { .jobs = 1, .machines = 1, .resources = 2, .slots = 6, .capacity = { 4, 4 } };
  p.job[0] = plain_job(0, 5, 2);
  p.job[0].moving = 0.5;
  berth_ps *ps = make_problem(&p);
  berth_pdors *d = make_pdors(ps, published());
  berth_pdors_plan plan = must_pdors_admit(d, 0);
  CHECK(plan.admitted && plan.n == 3 && plan.done == 2);
  CHECK_NEAR(plan.cost, 3 * 8 * berth_pdors_price(d, 0, 0, 5), 1e-9 * plan.cost);
  CHECK_NEAR(berth_pdors_committed(d, 3)[0], 0, 0);
}

/* On an empty cluster all slots are equal: how many there are makes no difference. */
static int64_t solved_of(int32_t slots) {
  double capacity[8] = { 9, 9, 9, 9, 7, 7, 7, 7 };
  berth_ps_options po = berth_ps_default(4, 2, slots, capacity);
  berth_ps_job j = plain_job(0, 60, 12);
  berth_ps *ps = must_ps_new(&po, 1, &j);
  berth_pdors *d = make_pdors(ps, published());
  berth_pdors_plan plan;
  CHECK_OK(berth_pdors_decide(d, 0, &plan));
  CHECK(plan.admitted && plan.payoff <= plan.bound);
  int64_t n = berth_pdors_counted(d).slots_solved;
  RELEASE(d, ps);
  return n;
}

static int stop_after;
static int stop(void *ud) {
  (void)ud;
  return stop_after-- <= 0;
}

TEST("a decision and a certificate can be interrupted, and asked again") {
  static big_problem p;
  berth_hooks hooks = { .interrupt = stop };
  berth_ps_options po = berth_ps_default(RUN_MACHINES, RUN_KINDS, RUN_SLOTS, p.capacity);
  berth_pdors *d = NULL;
  berth_pdors_options o = published();
  berth_rng rng = seeded(1, 1);
  fill(&p, &rng);
  p.job[0] = plain_job(0, 4, 2);
  hooked(&hooks);
  berth_ps *ps = must_ps_new(&po, RUN_JOBS, p.job);
  stop_after = 1000000;
  CHECK_OK(berth_pdors_new(ps, &o, &d));
  stop_after = 0;
  berth_pdors_plan plan;
  CHECK_STATUS(berth_pdors_admit(d, 0, &plan), BERTH_EINTERRUPT);
  berth_pdors_certificate c;
  CHECK_STATUS(berth_pdors_certify(d, 0, 10, &c), BERTH_EINTERRUPT);
  stop_after = 1000000;
  plan = must_pdors_admit(d, 0);
  CHECK_OK(berth_pdors_certify(d, 0, 10, &c));
  CHECK(plan.admitted);
  RELEASE(d);
  hooked(NULL);
}

TEST("within capacity, done as planned or before, the same twice: all modes") {
  runs(42, 0, 0, BERTH_PS_CASES);
}
TEST("the same with racks") { runs(12, 1, 0, BERTH_PS_CASES); }
TEST("the same where moves cost time") { runs(12, 0, 0.3, BERTH_PS_CASES); }
TEST("shared links: within capacity") { runs(6, 1, 0, BERTH_PS_SHARED); }

TEST("what a job that ends early had committed is given back, to the last bit, unless `reclaim` "
     "is off") {
  early_end(true);
  early_end(false);
}

TEST("what is slower than thought is planned on, if `extend` is on") {
  CHECK(done_when_slower(true) > done_when_slower(false) + 2);
}

TEST("equal slots are looked at once") {
  CHECK(solved_of(20) <= 12 && solved_of(20) == solved_of(400));
}
