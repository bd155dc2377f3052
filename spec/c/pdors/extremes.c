/* Jobs and machines of extreme numbers: runs stay within capacity, below their certificates, and
 * end. */
#include "pdors_help.h"
#include "ps/ps_checker.h"

static berth_rng rng;

static double pick(const double *list, int32_t n) { return list[berth_rng_below(&rng, n)]; }
#define PICK(...)                       \
  pick((const double[]){ __VA_ARGS__ }, \
       (int32_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)))

static berth_ps_job extreme_job(int32_t arrival) {
  berth_ps_job j = { .arrival = arrival };
  j.epochs = PICK(1, 1e-6, 1e6, 50);
  j.samples = PICK(1, 1e-6, 1e5, 3.3);
  j.batch = (int32_t)PICK(1, 2, 7, 200, 1000);
  j.tau = PICK(1, 1e-3, 1e-9, 50, 1e-290);
  j.bytes = PICK(0, 1, 1e9);
  j.ratio = PICK(1, 2.5, 1e-3, 1e6, 0.3);
  j.inside = PICK(1, 1e9, INFINITY, 1e-3);
  j.across = PICK(1, 1e8, INFINITY, 1e-3);
  j.rack = PICK(0, 1, 1e5, INFINITY);
  for (int32_t r = 0; r < 2; r++) {
    j.worker[r] = PICK(0, 1, 1e-9, 2.2, 1e9);
    j.server[r] = PICK(0, 1, 1e-9, 0.7, 1e9);
  }
  j.importance = PICK(0, 1, 100, 1e-9);
  j.urgency = PICK(0, 1, 1e3, 0.1);
  j.target = PICK(0, 5, -3, 1e6);
  j.moving = PICK(0, 0, 0, 0.3, 1, 5);
  return j;
}

typedef struct extreme {
  berth_ps_job job[PDORS_JOBS];
  double capacity[2 * PDORS_MACHINES];
  int32_t rack[PDORS_MACHINES], jobs, machines, slots;
} extreme;

static void draw(extreme *e) {
  int32_t arrival = 0;
  *e = (extreme){ .jobs = 1 + berth_rng_below(&rng, PDORS_JOBS),
                  .machines = 1 + berth_rng_below(&rng, PDORS_MACHINES),
                  .slots = 1 + berth_rng_below(&rng, PDORS_SLOTS) };
  for (int32_t i = 0; i < 2 * e->machines; i++) e->capacity[i] = PICK(0, 1, 5, 1e9, 1e-9, 7.3);
  for (int32_t i = 0; i < e->machines; i++) e->rack[i] = berth_rng_below(&rng, 2);
  for (int32_t i = 0; i < e->jobs; i++) {
    arrival += berth_rng_below(&rng, 3);
    if (arrival >= e->slots) arrival = e->slots - 1;
    e->job[i] = extreme_job(arrival);
  }
}

static berth_pdors_options options(const extreme *e, int32_t k) {
  berth_pdors_options o = some_options(k);
  if (e->machines < 2) o.algorithm = BERTH_PDORS;
  o.floor = PICK(1e-6, 0, 1);
  o.nodes = 200;
  o.exact_work = k % 9 == 8;
  return o;
}

static int32_t played;

static void play(berth_ps *ps, berth_pdors_options o) {
  berth_pdors *d = make_pdors(ps, o);
  berth_ps_policy policy = berth_pdors_policy(d);
  berth_ps_run *r = must_ps_run_new(ps);
  berth_status st = berth_ps_run_play(r, &policy);
  CHECK(st == BERTH_OK || (st == BERTH_EUNSUPPORTED && o.exact_work));
  ps_judge(r, 0);
  berth_pdors_certificate c;
  CHECK_OK(berth_pdors_certify(d, berth_ps_run_report(r).utility, 10, &c));
  CHECK(c.utility <= c.bound * (1 + 1e-9) + 1e-12);
  played += berth_ps_run_report(r).done;
}

SETUP { berth_rng_init(&rng, 77, 0); }

TEST("extreme numbers") {
  for (int32_t k = 0; k < 400; k++) {
    extreme e;
    draw(&e);
    berth_ps_options po = berth_ps_default(e.machines, 2, e.slots, e.capacity);
    po.rack = k % 3 == 0 ? e.rack : NULL;
    po.comm = k % 5 == 4 ? BERTH_PS_SHARED : BERTH_PS_CASES;
    berth_ps *ps = must_ps_new(&po, e.jobs, e.job);
    play(ps, options(&e, k));
    RELEASE(ps);
  }
  printf("# %d jobs done\n", played);
  CHECK(played > 100);
}
