/* The policy seam: what a user's policy is asked, what it may answer, and how its failures come
 * out. */
#include "place_engine_help.h"

/* A fork of three ops from one, joined in a fifth: 0 -> 1, 2, 3 -> 4; every tensor takes 1 s
 * between devices. */
static instance fork_join(int32_t devices) {
  instance x = { NULL, NULL, NULL };
  x.g = must_graph_of_text("1p10 2p10 3p10 4p10 1p10 0>1:1 0>2:1 0>3:1 1>4:1 2>4:1 3>4:1");
  x.t = must_mesh(devices, INFINITY, 1, 0);
  x.cost = must_cost_new(x.g, x.t, NULL);
  return x;
}

static berth_status place(const instance *x, const berth_policy *policy, berth_placement **p) {
  berth_place_options o = berth_place_default(NULL);
  o.policy = policy;
  *p = NULL;
  return berth_place(x->cost, "policy", &o, p, NULL);
}

/* ---- what it is asked ---- */

typedef struct record {
  int prepared, selected, scored;
  double est[2], eft[2], now, memory;
  int32_t last;
} record;

static berth_status note_prepare(void *ud, const berth_plan *p, double *priority) {
  record *r = ud;
  r->prepared++;
  CHECK(priority[0] == 0 && priority[4] == 0);
  CHECK(berth_plan_device_of(p, 0) == BERTH_NONE && isnan(berth_plan_start(p, 0)));
  for (int i = 0; i < 5; i++) priority[i] = i;
  return BERTH_OK;
}
static berth_status note_select(void *ud, const berth_plan *p, int32_t op, double *priority) {
  record *r = ud;
  (void)p;
  r->selected++;
  CHECK(*priority == op);
  if (op == 1) *priority = 100; /* before 3 and 2 */
  return BERTH_OK;
}
static berth_status note_score(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake) {
  record *r = ud;
  r->scored++;
  CHECK(score[0] == eft[0] && isinf(*wake));
  if (op == 1) CHECK(r->scored == 2);
  if (op != 3) return BERTH_OK;
  memcpy(r->est, est, sizeof r->est);
  memcpy(r->eft, eft, sizeof r->eft);
  r->now = berth_plan_now(p);
  r->memory = berth_plan_memory(p, 0);
  r->last = berth_plan_last(p, 0);
  return BERTH_OK;
}

TEST("one call per op, with estimates for all devices") {
  instance x = fork_join(2);
  record r = { 0 };
  berth_policy policy = { .name = "recorder",
                          .prepare = note_prepare,
                          .select = note_select,
                          .score = note_score,
                          .ud = &r };
  berth_placement *p;
  CHECK_OK(place(&x, &policy, &p));
  CHECK(r.prepared == 1 && r.selected == 5 && r.scored == 5);
  /* 0 runs 0..1 and 1 runs 1..3 on device 0: op 3 could start at 3 there, at 1 + 1 on the other */
  CHECK_NEAR(r.est[0], 3, 0);
  CHECK_NEAR(r.est[1], 2, 0);
  CHECK_NEAR(r.eft[0], 7, 0);
  CHECK_NEAR(r.eft[1], 6, 0);
  CHECK(r.now == 0 && r.last == 1);
  CHECK_TEXT(berth_placement_placer(p), "recorder");
  CHECK_NEAR(berth_placement_estimate(p), 8, 0); /* 2 runs 3..6 on 0; 4 waits for 3's tensor or, at
                                                    7, for 2's: 7..8 */
  RELEASE(p, x.cost, x.t, x.g);
}

static berth_status check_seconds(void *ud, const berth_plan *p, int32_t op, const double *est,
                                  const double *eft, double *score, double *wake) {
  (void)ud, (void)score, (void)wake;
  CHECK_NEAR(eft[0] - est[0], berth_cost_op(berth_plan_cost(p), op, 0), 1e-12);
  if (op > 0) CHECK_NEAR(est[0], berth_plan_finish(p, op - 1), 1e-12);
  return BERTH_OK;
}

TEST("with a quantum the policy still sees seconds") {
  instance x = fork_join(1);
  berth_policy policy = { .name = "seconds", .score = check_seconds };
  berth_place_options o = berth_place_default(NULL);
  o.policy = &policy;
  o.quantum = 0.5;
  berth_placement *p = must_place(x.cost, "policy", &o);
  CHECK_NEAR(berth_placement_estimate(p), 11, 0);
  RELEASE(x.cost, x.t, x.g);
}

/* ---- waiting ---- */

static berth_status wait_for_five(void *ud, const berth_plan *p, int32_t op, const double *est,
                                  const double *eft, double *score, double *wake) {
  (void)ud, (void)eft;
  if (op != 2 || berth_plan_now(p) >= 5) return BERTH_OK;
  CHECK(est[0] >= berth_plan_now(p));
  score[0] = score[1] = INFINITY;
  *wake = 5;
  return BERTH_OK;
}

static void waits(berth_choose choose) {
  instance x = fork_join(2);
  berth_policy policy = {
    .name = "five", .ready = BERTH_READY_FINISHED, .choose = choose, .score = wait_for_five
  };
  berth_placement *p;
  if (CHECK_OK(place(&x, &policy, &p))) {
    CHECK_NEAR(berth_placement_start(p)[2], choose == BERTH_CHOOSE_OP ? 6 : 5, 1);
    CHECK(berth_placement_start(p)[2] >= 5 && berth_placement_start(p)[4] >= 8);
  }
  RELEASE(p, x.cost, x.t, x.g);
}

/* Device first: device 0 keeps to op 2, which becomes ready later, though op 1 is there. */
static berth_status keep_zero_for_two(void *ud, const berth_plan *p, int32_t op, const double *est,
                                      const double *eft, double *score, double *wake) {
  (void)ud, (void)eft, (void)wake;
  score[0] = op == 2 || op == 0 || berth_plan_device_of(p, 2) != BERTH_NONE ? est[0] : INFINITY;
  score[1] = op == 0 ? INFINITY : est[1];
  return BERTH_OK;
}

TEST("device first: a device may wait for a better op") {
  instance x = fork_join(2);
  berth_policy policy = { .name = "keep",
                          .ready = BERTH_READY_FINISHED,
                          .choose = BERTH_CHOOSE_DEVICE,
                          .score = keep_zero_for_two };
  berth_placement *p;
  CHECK_OK(place(&x, &policy, &p));
  CHECK(berth_placement_device(p)[0] == 0 && berth_placement_device(p)[2] == 0);
  CHECK_NEAR(berth_placement_start(p)[2], 1, 0);
  CHECK(berth_placement_device(p)[1] == 1); /* at 2, before 3 by its id */
  CHECK_NEAR(berth_placement_start(p)[1], 2, 0);
  RELEASE(p, x.cost, x.t, x.g);
}

/* ---- refusals and failures ---- */

static berth_status never(void *ud, const berth_plan *p, int32_t op, const double *est,
                          const double *eft, double *score, double *wake) {
  (void)ud, (void)p, (void)est, (void)eft, (void)wake;
  if (op == 3) score[0] = score[1] = INFINITY;
  return BERTH_OK;
}
static berth_status later(void *ud, const berth_plan *p, int32_t op, const double *est,
                          const double *eft, double *score, double *wake) {
  (void)ud, (void)est, (void)eft, (void)op;
  score[0] = score[1] = INFINITY;
  *wake = berth_plan_now(p) + 1;
  return BERTH_OK;
}
static berth_status not_a_number(void *ud, const berth_plan *p, int32_t op, const double *est,
                                 const double *eft, double *score, double *wake) {
  (void)ud, (void)p, (void)op, (void)est, (void)eft, (void)wake;
  score[1] = NAN;
  return BERTH_OK;
}
static berth_status fails(void *ud, const berth_plan *p, int32_t op, const double *est,
                          const double *eft, double *score, double *wake) {
  (void)ud, (void)p, (void)est, (void)eft, (void)score, (void)wake;
  return op == 2 ? BERTH_EIO : BERTH_OK;
}
static berth_status bad_priority(void *ud, const berth_plan *p, double *priority) {
  (void)ud, (void)p;
  priority[3] = NAN;
  return BERTH_OK;
}
static berth_status bad_select(void *ud, const berth_plan *p, int32_t op, double *priority) {
  (void)ud, (void)p;
  if (op == 4) *priority = NAN;
  return BERTH_OK;
}

TEST("refusals, endless waiting, numbers that are none, failures") {
  instance x = fork_join(2);
  berth_placement *p;
  for (int ready = BERTH_READY_ASSIGNED; ready <= BERTH_READY_FINISHED; ready++) {
    for (int choose = BERTH_CHOOSE_OP; choose <= BERTH_CHOOSE_DEVICE; choose++) {
      berth_policy policy = { .name = "stubborn",
                              .ready = (berth_ready)ready,
                              .choose = (berth_choose)choose,
                              .score = never };
      CHECK_STATUS(place(&x, &policy, &p), BERTH_EINFEASIBLE);
      CHECK(strstr(berth_errmsg(ctx), "stubborn") && strstr(berth_errmsg(ctx), "op 3"));
      policy.score = later;
      CHECK_STATUS(place(&x, &policy, &p), BERTH_EINFEASIBLE);
      policy.score = not_a_number;
      CHECK_SAYS(place(&x, &policy, &p), BERTH_ECALLBACK, "score of op 0");
      policy.score = fails;
      CHECK_STATUS(place(&x, &policy, &p), BERTH_EIO);
      policy.score = NULL;
      policy.prepare = bad_priority;
      CHECK_SAYS(place(&x, &policy, &p), BERTH_ECALLBACK, "priority of op 3");
      policy.prepare = NULL;
      policy.select = bad_select;
      CHECK_STATUS(place(&x, &policy, &p), BERTH_ECALLBACK);
      CHECK(p == NULL);
    }
  }
  release_instance(&x);
}

/* ---- any setting makes a schedule ---- */

static berth_status spread(void *ud, const berth_plan *p, int32_t op, const double *est,
                           const double *eft, double *score, double *wake) {
  int32_t devices = *(const int32_t *)ud;
  (void)wake, (void)est;
  for (int32_t d = 0; d < devices; d++)
    score[d] = eft[d] + 0.1 * ((op + d) % devices) + 0.01 * berth_plan_free_at(p, d);
  return BERTH_OK;
}

static void all_settings(int what) {
  int32_t devices;
  berth_policy policy = { .name = "spread", .ud = &devices };
  berth_place_options o = berth_place_default(NULL);
  berth_rng rng = seeded(3, (uint64_t)what);
  o.policy = &policy;
  instance x;
  for (int i = 0; i < 400 && !check_bad; i++) {
    berth_placement *p = NULL;
    devices = 1 + berth_rng_below(&rng, 4);
    if (!random_instance(&rng, what, 1 + berth_rng_below(&rng, 30), devices, &x)) continue;
    policy.ready = (berth_ready)(i % 2);
    policy.fit = (berth_fit)(i / 2 % 2);
    policy.choose = (berth_choose)(i / 4 % 3);
    policy.score = i / 12 % 2 ? spread : NULL;
    o.links = (berth_links)(i / 24 % 4);
    o.memory = (berth_memory_policy)(i / 96 % 4);
    if (berth_place(x.cost, "policy", &o, &p, NULL) == BERTH_OK && !check_plan(&x, p, &o, 0))
      printf("# round %d\n", i);
    RELEASE(p, x.cost, x.t, x.g);
  }
}

TEST("not now: an op wakes at the requested time, choose op") { waits(BERTH_CHOOSE_OP); }
TEST("not now: an op wakes at the requested time, choose pair") { waits(BERTH_CHOOSE_PAIR); }
TEST("not now: an op wakes at the requested time, choose device") { waits(BERTH_CHOOSE_DEVICE); }
TEST("every setting makes a schedule") {
  all_settings(0);
  all_settings(WITH_ALL & ~WITH_MEMORY);
}
TEST("... within memory") { all_settings(WITH_ALL); }
