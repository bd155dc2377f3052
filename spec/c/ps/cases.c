/* Workers and servers: numbers that can be checked by hand. */
#include "ps_checker.h"

/* 60 samples; a worker needs 0.25 slots for one on one machine: 0.125 + 2 * 1 * 2 / (b * 4), b = 8;
 * across, b = 2: 0.625; rack, 4: 0.375. */
static berth_ps_job plain(int32_t arrival) {
  berth_ps_job j = { 0 };
  j.arrival = arrival;
  j.epochs = 3;
  j.samples = 20;
  j.batch = 4;
  j.tau = 0.125;
  j.bytes = 1;
  j.ratio = 2;
  j.inside = 8;
  j.across = 2;
  j.worker[0] = 1;
  j.worker[1] = j.server[1] = 0.5;
  j.importance = 10;
  j.urgency = 0.5;
  j.target = 4;
  return j;
}

static const double capacity[] = { 4, 4, 4, 4, 4, 4 };

static berth_ps *problem(int32_t slots, int32_t n, const berth_ps_job *jobs) {
  berth_ps_options o = berth_ps_default(3, 2, slots, capacity);
  return must_ps_new(&o, n, jobs);
}

/* ---- speed ---- */

static double speed(berth_ps *p, int32_t n, berth_ps_place a, berth_ps_place b) {
  berth_ps_place at[2] = { a, b };
  return berth_ps_speed(p, 0, n, at);
}

static const berth_ps_place none = { 0, 0, 0 };
#define AT(m, w, s) ((berth_ps_place){ m, w, s })

TEST("speed: by whether all is on one machine") {
  berth_ps_job j = plain(0);
  berth_ps *p = problem(9, 1, &j);
  CHECK_NEAR(berth_ps_worker_slots(&j, 8), 0.25, 1e-15);
  CHECK_NEAR(speed(p, 1, AT(1, 4, 2), none), 16, 1e-12);
  CHECK_NEAR(speed(p, 1, AT(1, 2, 1), none), 8, 1e-12);
  CHECK_NEAR(speed(p, 1, AT(1, 2, 2), none), 8, 1e-12);
  CHECK_NEAR(speed(p, 2, AT(1, 2, 1), AT(2, 2, 1)), 4 / 0.625, 1e-12);
  CHECK_NEAR(speed(p, 2, AT(1, 4, 0), AT(2, 0, 2)), 4 / 0.625, 1e-12);
  CASE("speed: nothing without workers, or servers, or enough of them; workers above the batch do "
       "nothing");
  CHECK(speed(p, 0, none, none) == 0 && speed(p, 1, AT(0, 2, 0), none) == 0
        && speed(p, 1, AT(0, 0, 3), none) == 0);
  CHECK(speed(p, 1, AT(0, 3, 1), none) == 0 && speed(p, 2, AT(0, 4, 1), AT(1, 0, 1)) > 0);
  CHECK_NEAR(speed(p, 1, AT(1, 9, 2), none), 16, 1e-12);
  CHECK(berth_ps_speed(p, 7, 0, NULL) == 0 && berth_ps_job_at(p, 1) == NULL
        && berth_ps_job_at(p, -1) == NULL);
}

TEST("speed: between two machines of a rack") {
  berth_ps_job j = plain(0);
  berth_ps_options o = berth_ps_default(3, 2, 9, capacity);
  int32_t rack[] = { 5, 5, 6 };
  o.rack = rack;
  j.rack = 4;
  berth_ps *p = must_ps_new(&o, 1, &j);
  CHECK_NEAR(speed(p, 2, AT(0, 2, 1), AT(1, 1, 1)), 3 / 0.375, 1e-12);
  CHECK_NEAR(speed(p, 2, AT(0, 2, 1), AT(2, 1, 1)), 3 / 0.625, 1e-12);
  CHECK_NEAR(speed(p, 1, AT(0, 3, 2), none), 12, 1e-12);
  j.rack = 0;
  p = must_ps_new(&o, 1, &j);
  CHECK_NEAR(speed(p, 2, AT(0, 2, 1), AT(1, 1, 1)), 3 / 0.625, 1e-12);
}

/* An iteration: 0.125 * 4 / workers + 2 * 1 / (servers b). */
TEST("speed: shared links") {
  berth_ps_job j = plain(0);
  berth_ps_options o = berth_ps_default(3, 2, 9, capacity);
  o.comm = BERTH_PS_SHARED;
  berth_ps *p = must_ps_new(&o, 1, &j);
  CHECK_NEAR(speed(p, 1, AT(0, 4, 2), none), 4 / (0.125 + 0.125), 1e-12);
  CHECK_NEAR(speed(p, 1, AT(0, 4, 4), none), 4 / (0.125 + 0.0625), 1e-12);
  /* 3 workers here, 1 worker and 2 servers there: a server's link carries 3 flows, a worker's 2: b
   * = 2 / 3 */
  CHECK_NEAR(speed(p, 2, AT(0, 3, 0), AT(1, 1, 2)), 4 / (0.125 + 1.5), 1e-12);
  /* half and half: each carries 2 to 4 workers' halves: 2 workers away of each server, 1 server
   * away of each worker: b = 1 */
  CHECK_NEAR(speed(p, 2, AT(0, 2, 1), AT(1, 2, 1)), 4 / (0.125 + 1), 1e-12);
  /* apart, a slow bandwidth inside does not count: a server's link carries 4 flows, b = 0.5 */
  j.inside = 0.25;
  p = must_ps_new(&o, 1, &j);
  CHECK_NEAR(speed(p, 2, AT(0, 4, 0), AT(1, 0, 2)), 4 / (0.125 + 2), 1e-12);
}

TEST("utility: half at the target, never above importance, 0 far behind it") {
  berth_ps_job j = plain(0);
  CHECK_NEAR(berth_ps_utility(&j, 4), 5, 1e-15);
  CHECK_NEAR(berth_ps_utility(&j, 6), 10 / (1 + exp(1)), 1e-15);
  j.urgency = 0;
  CHECK(berth_ps_utility(&j, 1e9) == 5);
  j.urgency = 6;
  CHECK(berth_ps_utility(&j, 1e9) == 0 && berth_ps_utility(&j, 0) < 10);
}

/* ---- runs ---- */

/* What one job has in each slot. */
typedef struct slot_script {
  int n;
  struct { int32_t slot, job; berth_ps_place at; } line[16];
  char told[256];
  berth_status wanted;
} slot_script;

static void tell(slot_script *s, const char *what, int32_t a, int32_t b) {
  char text[32];
  snprintf(text, sizeof text, "%s%d@%d ", what, (int)a, (int)b);
  strncat(s->told, text, sizeof s->told - strlen(s->told) - 1);
}
static berth_status on_arrival(void *ud, berth_ps_run *r, int32_t job) {
  tell(ud, "a", job, berth_ps_run_slot(r));
  return BERTH_OK;
}
static berth_status on_finish(void *ud, berth_ps_run *r, int32_t job) {
  tell(ud, "f", job, berth_ps_run_slot(r));
  return BERTH_OK;
}
static berth_status on_slot(void *ud, berth_ps_run *r, int32_t slot) {
  slot_script *s = ud;
  tell(s, "s", slot, slot);
  for (int i = 0; i < s->n; i++)
    if (s->line[i].slot == slot)
      CHECK_STATUS(berth_ps_assign(r, s->line[i].job, 1, &s->line[i].at), s->wanted);
  return BERTH_OK;
}

static berth_ps_run *play(berth_ps *p, slot_script *s) {
  berth_ps_policy policy = { on_arrival, on_finish, on_slot, s };
  berth_ps_run *r = must_ps_run_new(p);
  CHECK_OK(berth_ps_run_play(r, &policy));
  return r;
}

TEST("in a slot: ends, arrivals, `slot`; a job ends inside a slot and is worth what that slot "
     "is worth") {
  berth_ps_job j[] = { plain(0), plain(1), plain(3) };
  berth_ps *p = problem(6, 3, j);
  slot_script s = { 5,
               { { 0, 0, AT(0, 4, 2) },
                 { 1, 0, AT(0, 4, 2) },
                 { 2, 0, AT(0, 4, 2) },
                 { 3, 0, AT(0, 4, 2) },
                 { 5, 1, AT(1, 2, 1) } },
               "",
               BERTH_OK };
  berth_ps_run *r = play(p, &s);
  CHECK_TEXT(s.told, "a0@0 s0@0 a1@1 s1@1 s2@2 a2@3 s3@3 f0@4 s4@4 s5@5 ");
  berth_ps_record x = must_ps_run_record(r, 0);
  CHECK(x.state == BERTH_JOB_DONE && x.first == 0 && x.done == 3 && x.slots == 4 && x.inside == 4
        && x.moves == 0 && x.left == 0);
  CHECK_NEAR(x.end, 3.75, 1e-12); /* 16 a slot: 60 */
  CHECK_NEAR(x.utility, 10 / (1 + exp(-0.5)), 1e-12);
  CHECK_NEAR(x.worker_slots, 16, 0);
  x = must_ps_run_record(r, 1);
  CHECK(x.state == BERTH_JOB_RUNNING && x.first == 5 && x.done == BERTH_NONE && isnan(x.end)
        && x.utility == 0);
  CHECK_NEAR(x.left, 52, 1e-12);
  x = must_ps_run_record(r, 2);
  CHECK(x.state == BERTH_JOB_WAITING && x.first == BERTH_NONE && x.left == 60);
  ps_judge(r, 1);
  CASE("report: means and shares");
  CHECK(berth_ps_run_report(r).done == 1 && berth_ps_run_report(r).unfinished == 2
        && berth_ps_run_report(r).inside == 1);
  CHECK_NEAR(berth_ps_run_report(r).training_mean, (3.75 + 6 + 6) / 3, 1e-12);
  CHECK_NEAR(berth_ps_run_report(r).training_median, 6, 1e-12);
  CHECK_NEAR(berth_ps_run_report(r).used[0], 18.0 / 72, 1e-12);
  CHECK_NEAR(berth_ps_run_report(r).used[1], 13.5 / 72, 1e-12);
  CHECK_ERROR(berth_ps_run_play(r, &(berth_ps_policy){ 0 }), BERTH_EINVAL,
              "ps: play: the run is over");
}

TEST("what is done just as the last slot ends is done in it") {
  berth_ps_job j = plain(1);
  slot_script s = {
    3, { { 1, 0, AT(0, 4, 2) }, { 2, 0, AT(2, 4, 2) }, { 3, 0, AT(2, 4, 2) } }, "", BERTH_OK
  };
  j.samples = 16;
  berth_ps *p = problem(4, 1, &j);
  berth_ps_run *r = play(p, &s);
  CHECK_TEXT(s.told, "s0@0 a0@1 s1@1 s2@2 s3@3 f0@4 ");
  berth_ps_record x = must_ps_run_record(r, 0);
  CHECK(x.state == BERTH_JOB_DONE && x.done == 3 && x.moves == 1);
  CHECK_NEAR(x.end, 4, 1e-9);
  CHECK_NEAR(x.utility, berth_ps_utility(&j, 2), 0);
}

TEST("moving costs time; a pause does not") {
  berth_ps_job j = plain(0);
  slot_script s = { 7,
               { { 0, 0, AT(0, 4, 2) },
                 { 2, 0, AT(0, 4, 2) },
                 { 3, 0, AT(1, 4, 2) },
                 { 4, 0, AT(1, 4, 2) },
                 { 5, 0, AT(1, 4, 2) },
                 { 6, 0, AT(1, 4, 2) },
                 { 7, 0, AT(1, 4, 2) } },
               "",
               BERTH_OK };
  j.moving = 1.25; /* 16 + 16 by slot 3, which is lost; 12 in slot 4, 16 in slot 5: done */
  berth_ps *p = problem(9, 1, &j);
  berth_ps_run *r = play(p, &s);
  berth_ps_record x = must_ps_run_record(r, 0);
  CHECK(x.moves == 1 && x.done == 5 && x.slots == 5);
  CHECK_NEAR(x.end, 6, 1e-9);
  ps_judge(r, 1);
}

TEST("assignments that cannot be are refused, with the place") {
  berth_ps_job j[] = { plain(0), plain(0), plain(5) };
  berth_ps *p = problem(6, 3, j);
  berth_ps_place at = AT(0, 1, 1);
  slot_script s = { 1, { { 0, 0, AT(1, 5, 1) } }, "", BERTH_EINFEASIBLE };
  berth_ps_run *r = must_ps_run_new(p);
  CHECK_ERROR(berth_ps_assign(r, 0, 1, &at), BERTH_EINVAL, "ps: assign: job 0: only in `slot`");
  CHECK_ERROR(berth_ps_refuse(r, 0, 1), BERTH_EINVAL, "ps: refuse: job 0 has not arrived");
  r = play(p, &s);
  CHECK_TEXT(berth_errmsg(ctx),
             "ps: slot 0: job 0 needs 5 of resource 0 on machine 1, where 4 of 4 is left");
  s = (slot_script){ 1, { { 0, 2, AT(1, 1, 1) } }, "", BERTH_EINVAL };
  r = play(p, &s);
  CHECK_TEXT(berth_errmsg(ctx), "ps: assign: job 2 has not arrived");
  s = (slot_script){ 1, { { 0, 0, AT(3, 1, 1) } }, "", BERTH_EINVAL };
  r = play(p, &s);
  CHECK_TEXT(berth_errmsg(ctx), "ps: job 0: machine 3 does not exist: there are 3");
  s = (slot_script){ 1, { { 0, 0, AT(1, 0, 0) } }, "", BERTH_EINVAL };
  r = play(p, &s);
  CHECK_TEXT(berth_errmsg(ctx), "ps: job 0: machine 1: expected workers or servers, got 0 and 0");
  CHECK(berth_ps_run_log(r, 0, NULL, NULL, NULL) == 0);
}

/* On three machines; then again, on the last of them alone, which the other job has all but
 * filled. */
static berth_status twice(void *ud, berth_ps_run *r, int32_t slot) {
  const berth_ps_place first[] = { { 0, 1, 0 }, { 1, 1, 0 }, { 2, 2, 1 } }, other = { 2, 2, 1 },
                       again[] = { { 2, 1, 1 } }, too_many[] = { { 2, 3, 1 } };
  const double *room = berth_ps_run_free(r);
  (void)ud;
  if (slot > 0) return BERTH_OK;
  CHECK_OK(berth_ps_assign(r, 0, 3, first));
  CHECK_OK(berth_ps_assign(r, 1, 1, &other));
  CHECK(room[0] == 3 && room[4] == 0 && room[5] == 1);
  CHECK_STATUS(berth_ps_assign(r, 0, 1, too_many), BERTH_EINFEASIBLE);
  CHECK_TEXT(berth_errmsg(berth_ps_ctx(berth_ps_run_problem(r))),
             "ps: slot 0: job 0 needs 3 of resource 0 on machine 2, where 2 of 4 is left");
  CHECK(room[0] == 3 && room[4] == 0 && room[5] == 1);
  CHECK_OK(berth_ps_assign(r, 0, 1, again));
  CHECK(room[0] == 4 && room[2] == 4 && room[4] == 1);
  return berth_ps_assign(r, 1, 0, NULL);
}

TEST("a later assignment takes the place of the earlier one; none takes it away") {
  berth_ps_job j[] = { plain(0), plain(0) };
  berth_ps *p = problem(3, 2, j);
  berth_ps_policy policy = { NULL, NULL, twice, NULL };
  berth_ps_run *r = must_ps_run_new(p);
  CHECK_OK(berth_ps_run_play(r, &policy));
  int32_t slot[2], job[2];
  berth_ps_place at[2];
  CHECK(berth_ps_run_log(r, 2, slot, job, at) == 1 && slot[0] == 0 && job[0] == 0
        && at[0].machine == 2 && at[0].workers == 1);
}

static berth_status refuse_it(void *ud, berth_ps_run *r, int32_t job) {
  on_arrival(ud, r, job);
  return berth_ps_refuse(r, job, 1);
}

TEST("a slot in which all that arrive are refused is asked for, and is the last if nobody is to "
     "come") {
  berth_ps_job j[] = { plain(0), plain(2), plain(2) };
  slot_script s = { 0, { { 0, 0, AT(0, 1, 1) } }, "", BERTH_OK };
  berth_ps_policy policy = { refuse_it, on_finish, on_slot, &s };
  berth_ps *p = problem(6, 3, j);
  berth_ps_run *r = must_ps_run_new(p);
  CHECK_OK(berth_ps_run_play(r, &policy));
  CHECK_TEXT(s.told, "a0@0 s0@0 s1@1 a1@2 a2@2 s2@2 ");
}

static int stops(void *ud) { return ++*(int *)ud % 3 == 0; }

TEST("an interrupted run can be played on; one without jobs is over at once") {
  int asked = 0, stopped = 0;
  berth_hooks h = { .interrupt = stops, .ud = &asked };
  berth_ps_job j = plain(0);
  slot_script s = {
    4,
    { { 0, 0, AT(0, 4, 2) }, { 1, 0, AT(0, 4, 2) }, { 2, 0, AT(0, 4, 2) }, { 3, 0, AT(0, 4, 2) } },
    "",
    BERTH_OK
  };
  berth_ps_policy policy = { on_arrival, on_finish, on_slot, &s };
  hooked(&h);
  berth_ps *p = problem(6, 1, &j);
  berth_ps_run *r = must_ps_run_new(p);
  berth_status st;
  while ((st = berth_ps_run_play(r, &policy)) == BERTH_EINTERRUPT) stopped++;
  CHECK(st == BERTH_OK && stopped > 1);
  CHECK_TEXT(s.told, "a0@0 s0@0 s1@1 s2@2 s3@3 f0@4 ");
  p = problem(6, 0, NULL);
  asked = 0;
  r = play(p, &s);
  CHECK(berth_ps_run_report(r).utility == 0 && isnan(berth_ps_run_report(r).training_median)
        && berth_ps_run_active(r, 0, NULL) == 0);
  hooked(NULL);
}

/* ---- the door ---- */

static void refused(const berth_ps_options *o, berth_ps_job j, const char *text) {
  berth_ps *p = NULL;
  CHECK_STATUS(berth_ps_new(ctx, o, 1, &j, &p), BERTH_EINVAL);
  CHECK(p == NULL);
  CHECK_TEXT(berth_errmsg(ctx), text);
}

TEST("problems: each wrong number is reported with its place, value and what was expected") {
  berth_ps_options good = berth_ps_default(3, 2, 9, capacity);
  berth_ps_job j = plain(0), two[] = { plain(2), plain(1) };
  double bad[] = { 4, 4, 4, NAN, 4, 4 };
  berth_ps *p = NULL;
  berth_ps_options o;
  o = good, o.resources = 9;
  refused(&o, j, "option resources is 9 (1 to 8)");
  o = good, o.slots = 0;
  refused(&o, j, "option slots is 0 (1 to 2147483646)");
  o = good, o.capacity = bad;
  refused(&o, j,
          "ps: capacity of machine 1, resource 1: expected a finite number not below 0, got nan");
  o = good, o.slot_seconds = INFINITY;
  refused(&o, j, "option slot_seconds is inf (a finite number above 0)");
  j.tau = 0;
  refused(&good, j, "ps: job 0: tau: expected a finite number above 0, got 0");
  j = plain(9);
  refused(&good, j, "ps: job 0: arrival: expected a slot from 0 to 8, got 9");
  j = plain(0), j.server[1] = -1;
  refused(&good, j,
          "ps: job 0: resource 1 of a server: expected a finite number not below 0, got -1");
  j = plain(0), j.rack = NAN;
  refused(&good, j, "ps: job 0: rack: expected a number not below 0, got nan");
  j = plain(0), j.across = 0;
  refused(&good, j, "ps: job 0: across: expected a number above 0, got 0");
  CHECK_ERROR(berth_ps_new(ctx, &good, 2, two, &p), BERTH_EINVAL,
              "ps: job 1 arrives in slot 1, before job 0 (2): sort jobs by arrival");
  j = plain(0), j.inside = INFINITY, j.rack = INFINITY, j.bytes = 0;
  p = must_ps_new(&good, 1, &j);
  RELEASE(p);
}
