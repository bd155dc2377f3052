/* Gang schedulers: cases to check by hand, invariants at every event, error texts, refused allocations. */
#include "refusals.h"

static berth_ctx *ctx;

enum { N_RULES = BERTH_GANG_GAVEL + 1, MANY = 120, MOST = 6, TYPES = 2 };

static berth_cluster *pool(berth_ctx *own, int32_t machines, const double *capacity, double slot, int32_t n,
                           const berth_job *jobs) {
  berth_cluster_options o = berth_cluster_defaults(machines);
  berth_cluster *c = NULL;
  o.capacity = capacity;
  o.slot = slot;
  return berth_cluster_new(own, &o, n, jobs, &c) == BERTH_OK ? c : NULL;
}

static void test_backfill(void) {
  /* on 4: 1 waits for all until 10; 2 ends at 8, and begins; 3 would end at 14, and must wait until 1 is done */
  static const berth_job jobs[] = { { 0, 10, INFINITY, 0 }, { 1, 2, INFINITY, 0 }, { 2, 6, INFINITY, 0 }, { 3, 11, INFINITY, 0 } };
  static const int32_t size[] = { 2, 4, 1, 1 };
  static const double start[] = { 0, 10, 2, 12 }, four = 4;
  berth_gang_options o = berth_gang_defaults(BERTH_GANG_BACKFILL);
  berth_cluster *c = pool(ctx, 1, &four, 0, 4, jobs);
  berth_gang *g = NULL;
  berth_scheduler s;
  const berth_gang_run *run;
  const berth_gang_count *count;
  berth_gang_bound bound;
  const int32_t *amount, *machine;
  int32_t n;
  TEST("backfill")
  o.amounts = 1;
  CHECK_STATUS(berth_gang_new(ctx, 4, size, &o, &g), BERTH_OK);
  s = berth_gang_scheduler(g);
  CHECK_STATUS(berth_cluster_run(c, &s), BERTH_OK);
  run = berth_gang_runs(g, &n);
  machine = berth_gang_places(g, &amount);
  CHECK(n == 4);
  CHECK_STATUS(berth_gang_bounds(g, c, &bound), BERTH_OK);
  CHECK(bound.makespan == 14 && bound.mean_jct > 0 && bound.mean_jct < (10 + 11 + 6 + 20) / 4.0);
  for (int32_t i = 0; i < n; i++) {
    CHECK_NEAR(run[i].start, start[run[i].job], 1e-12);
    CHECK_NEAR(run[i].end, start[run[i].job] + jobs[run[i].job].work, 1e-12);
    CHECK(run[i].n == 1 && machine[run[i].first] == 0 && amount[run[i].first] == size[run[i].job]);
  }
  count = berth_gang_counts(g, &n);
  CHECK(n > 3 && count[0].time == 0 && count[0].idle == 0 && count[0].waiting == 0 && count[1].time == 1 && count[1].waiting == 1);
  CHECK(count[n - 1].time == 23 && count[n - 1].idle == 1);
  berth_cluster_release(c);
  berth_gang_release(g);
}

/* The gang is an amount of the first of two resources. */
static berth_status rate_of_first(void *ud, int32_t job, int32_t n, const int32_t *machine,
                                  const double *amount, double *rate) {
  CHECK(n == 2 && machine[0] == 0 && machine[1] == 1);
  CHECK(amount[0] == 3 && amount[1] == 0 && amount[2] == 1 && amount[3] == 0);
  ++*(int *)ud;
  *rate = 1 + job;
  return BERTH_OK;
}

static void test_other_resources(void) {
  static const berth_job job = { 0, 10, INFINITY, 0 };
  static const double capacity[] = { 3, 5, 2, 5 };
  static const int32_t size = 4;
  berth_cluster_options k = berth_cluster_defaults(2);
  berth_gang_options o = berth_gang_defaults(BERTH_GANG_BACKFILL);
  berth_cluster *c = NULL;
  berth_gang *g = NULL;
  berth_scheduler s;
  int asked = 0;
  TEST("a gang takes none of the other resources")
  k.capacity = capacity;
  k.resources = 2;
  CHECK_STATUS(berth_cluster_new(ctx, &k, 1, &job, &c), BERTH_OK);
  o.amounts = 1;
  o.rate = rate_of_first;
  o.ud = &asked;
  CHECK_STATUS(berth_gang_new(ctx, 1, &size, &o, &g), BERTH_OK);
  s = berth_gang_scheduler(g);
  CHECK_STATUS(berth_cluster_run(c, &s), BERTH_OK);
  CHECK(asked > 0);
  berth_cluster_release(c);
  berth_gang_release(g);
}

/* ---- random runs -------------------------------------------------------------------------------------- */

static void draw(uint64_t seed, berth_job *jobs, int32_t *size) {
  berth_rng rng;
  double now = 0;
  berth_rng_init(&rng, seed, 0);
  for (int32_t j = 0; j < MANY; j++) {
    now += berth_rng_below(&rng, 4) * berth_rng_uniform(&rng);
    jobs[j] = (berth_job){ now, 12 * berth_rng_uniform(&rng), INFINITY, 0 };
    size[j] = 1 + berth_rng_below(&rng, berth_rng_below(&rng, 6) == 0 ? 9 : 2);
  }
}

/* Speeds on 1 to MOST GPUs; throughputs on two types, none of some jobs on one of them. */
static double speed[MANY * MOST], throughput[MANY * TYPES];
static int32_t first[MANY + 1];

static void draw_speeds(void) {
  berth_rng rng;
  berth_rng_init(&rng, 9, 1);
  for (int32_t j = 0; j < MANY; j++) {
    double power = berth_rng_uniform(&rng);
    for (int32_t k = 0; k < MOST; k++) speed[j * MOST + k] = pow(k + 1, power);
    first[j + 1] = (j + 1) * MOST;
    throughput[j * TYPES] = 1 + berth_rng_uniform(&rng);
    throughput[j * TYPES + 1] = berth_rng_below(&rng, 5) == 0 ? 0 : berth_rng_uniform(&rng);
  }
}

static berth_gang_options options(int rule, int placement) {
  static const double limit[] = { 2, 6, 20 };
  static const int32_t type[] = { 0, 0, 1 };
  berth_gang_options o = berth_gang_defaults((berth_gang_rule)rule);
  o.placement = (berth_gang_placement)placement;
  o.amounts = 1;
  o.limit = limit;
  o.n_limits = 3;
  o.promote = 2;
  o.quantum = 3;
  o.first = first;
  o.speed = speed;
  o.restart = placement;
  o.n_machines = 3;
  o.n_types = TYPES;
  o.type = type;
  o.throughput = throughput;
  o.goal = placement == 2 ? BERTH_GAVEL_FINISH_TIME : BERTH_GAVEL_MAX_MIN;
  return o;
}

static berth_status whole_run(berth_ctx *own, int rule, int placement, berth_cluster_summary *sum) {
  static const double capacity[] = { 4, 4, 3 };
  berth_gang_options o = options(rule, placement);
  berth_job jobs[MANY];
  int32_t size[MANY];
  berth_cluster *c;
  berth_gang *g = NULL;
  berth_gang_bound bound;
  berth_status st = BERTH_ENOMEM;
  draw(5, jobs, size);
  if (!(c = pool(own, 3, capacity,
                 rule == BERTH_GANG_GAVEL                       ? 40
                 : rule >= BERTH_GANG_OPTIMUS && placement == 1 ? 2
                                                                : 0,
                 MANY, jobs)))
    return st;
  if ((st = berth_gang_new(own, MANY, size, &o, &g)) == BERTH_OK) {
    berth_scheduler s = berth_gang_scheduler(g);
    st = berth_cluster_run(c, &s);
    *sum = berth_cluster_summarise(c);
    if (st == BERTH_OK && rule < BERTH_GANG_OPTIMUS) st = berth_gang_bounds(g, c, &bound);
  }
  berth_gang_release(g);
  berth_cluster_release(c);
  return st;
}

static void test_random(void) {
  TEST("random jobs: all are done, by every rule, on every kind of places")
  for (int rule = 0; rule < N_RULES; rule++) {
    for (int placement = 0; placement < 3; placement++) {
      berth_cluster_summary sum = { 0 };
      CHECK_STATUS(whole_run(ctx, rule, placement, &sum), BERTH_OK);
      CHECK(sum.done + sum.refused == MANY && sum.waiting == 0);
    }
  }
}

static berth_status every_rule(berth_ctx *own) {
  berth_cluster_summary sum;
  berth_status st = BERTH_OK;
  for (int rule = BERTH_GANG_BACKFILL; rule < BERTH_GANG_OPTIMUS && st == BERTH_OK; rule += 2)
    st = whole_run(own, rule, rule % 3, &sum);
  if (st == BERTH_OK) st = whole_run(own, BERTH_GANG_OPTIMUS, 1, &sum);
  return st;
}

/* ---- errors --------------------------------------------------------------------------------------------- */

static void refused(berth_status got, const char *text) {
  CHECK_STATUS(got, BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), text);
}

static void test_errors(void) {
  static const int32_t fine[] = { 1 }, none[] = { 0 };
  static const berth_job jobs[] = { { 0, 1, INFINITY, 0 }, { 0, 1, INFINITY, 0 } };
  berth_gang_options o = berth_gang_defaults(BERTH_GANG_LAS);
  berth_gang *g = NULL;
  berth_cluster *c = pool(ctx, 1, NULL, 0, 2, jobs);
  berth_scheduler s;
  TEST("mistakes are told, with the value")
  refused(berth_gang_new(ctx, 1, none, &o, &g), "gang: job 0: size: expected at least 1, got 0");
  refused(berth_gang_new(ctx, -1, none, &o, &g), "gang: jobs: expected at least 0, got -1");
  o.promote = 0;
  refused(berth_gang_new(ctx, 1, fine, &o, &g), "gang: promote: expected a number above 0, got 0");
  o = berth_gang_defaults(BERTH_GANG_LAS);
  o.tick = -1;
  refused(berth_gang_new(ctx, 1, fine, &o, &g), "gang: tick: expected a finite time not below 0, got -1");
  o = berth_gang_defaults(BERTH_GANG_GITTINS);
  o.quantum = 0;
  refused(berth_gang_new(ctx, 1, fine, &o, &g), "gang: quantum: expected a finite number above 0, got 0");
  o = berth_gang_defaults((berth_gang_rule)99);
  refused(berth_gang_new(ctx, 1, fine, &o, &g), "gang: no rule 99");
  CHECK(g == NULL);
  o = berth_gang_defaults(BERTH_GANG_FIFO);
  CHECK_STATUS(berth_gang_new(ctx, 1, fine, &o, &g), BERTH_OK);
  s = berth_gang_scheduler(g);
  refused(berth_cluster_run(c, &s), "gang: the cluster has 2 jobs, expected 1");
  berth_gang_release(g);
  berth_gang_release(NULL);
  berth_cluster_release(c);
}

/* ---- asked alone ------------------------------------------------------------------------------------------ */

static berth_status ask_alone(berth_ctx *own) {
  static const double left[] = { 5, 9, 2 }, elapsed[] = { 0, 3, 1 }, alone[] = { 2, 9, 1 };
  static const int32_t gpus[] = { 2, 3 };
  berth_gavel p = { 3, TYPES, throughput, NULL, NULL, gpus, left, elapsed, alone };
  berth_elastic_job jobs[3];
  int32_t count[3];
  double share[3 * TYPES], objective;
  berth_status st;
  for (int i = 0; i < 3; i++) jobs[i] = (berth_elastic_job){ MOST, speed + i * MOST, left[i], i, 0.9 };
  st = berth_elastic_optimus(own, 3, jobs, 10, count);
  for (int k = 0; k < 20 && st == BERTH_OK; k++) st = berth_elastic_pollux(own, 3, jobs, 10, -1, 0.01, count);
  return st == BERTH_OK ? berth_gavel_allocate(own, &p, BERTH_GAVEL_FINISH_TIME, share, &objective) : st;
}

int main(void) {
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) return 1;
  draw_speeds();
  test_backfill();
  test_other_resources();
  test_random();
  test_errors();
  check_refusals(every_rule);
  check_refusals(ask_alone);
  berth_ctx_release(ctx);
  return check_done();
}
