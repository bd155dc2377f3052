/* Gang schedulers: cases to check by hand, invariants at every event, error texts, refused
 * allocations. */
#include "refusals.h"

enum { MANY = 120, MOST = 6, TYPES = 2 };

static berth_cluster *pool(int32_t machines, const double *capacity, double slot, int32_t n,
                           const berth_job *jobs) {
  berth_cluster_options o = berth_cluster_default(machines);
  berth_cluster *c = NULL;
  o.capacity = capacity;
  o.slot = slot;
  return berth_cluster_new(ctx, &o, n, jobs, &c) == BERTH_OK ? c : NULL;
}

TEST("backfill") {
  /* on 4: 1 waits for all until 10; 2 ends at 8, and begins; 3 would end at 14, and must wait until
   * 1 is done */
  static const berth_job jobs[] = {
    { 0, 10, INFINITY, 0 }, { 1, 2, INFINITY, 0 }, { 2, 6, INFINITY, 0 }, { 3, 11, INFINITY, 0 }
  };
  static const int32_t size[] = { 2, 4, 1, 1 };
  static const double start[] = { 0, 10, 2, 12 }, four = 4;
  berth_gang_options o = berth_gang_default(BERTH_GANG_BACKFILL);
  berth_cluster *c = pool(1, &four, 0, 4, jobs);
  o.amounts = 1;
  berth_gang *g = must_gang_new(4, size, &o);
  berth_scheduler s = berth_gang_scheduler(g);
  CHECK_OK(berth_cluster_run(c, &s));
  int32_t n;
  const berth_gang_run *run = berth_gang_runs(g, &n);
  const int32_t *amount;
  const int32_t *machine = berth_gang_places(g, &amount);
  CHECK(n == 4);
  berth_gang_bound bound;
  CHECK_OK(berth_gang_bounds(ctx, c, size, 4, &bound));
  CHECK(berth_gang_bounds(ctx, c, size, 0, &bound) == BERTH_EINVAL);
  CHECK(berth_gang_bounds(ctx, NULL, size, 4, &bound) == BERTH_EINVAL);
  CHECK(bound.makespan == 14 && bound.mean_jct > 0 && bound.mean_jct < (10 + 11 + 6 + 20) / 4.0);
  for (int32_t i = 0; i < n; i++) {
    CHECK_NEAR(run[i].start, start[run[i].job], 1e-12);
    CHECK_NEAR(run[i].end, start[run[i].job] + jobs[run[i].job].work, 1e-12);
    CHECK(run[i].n == 1 && machine[run[i].first] == 0 && amount[run[i].first] == size[run[i].job]);
  }
  const berth_gang_count *count = berth_gang_counts(g, &n);
  CHECK(n > 3 && count[0].time == 0 && count[0].idle == 0 && count[0].waiting == 0
        && count[1].time == 1 && count[1].waiting == 1);
  CHECK(count[n - 1].time == 23 && count[n - 1].idle == 1);
  RELEASE(c);
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

TEST("a gang takes none of the other resources") {
  static const berth_job job = { 0, 10, INFINITY, 0 };
  static const double capacity[] = { 3, 5, 2, 5 };
  static const int32_t size = 4;
  berth_cluster_options k = berth_cluster_default(2);
  berth_gang_options o = berth_gang_default(BERTH_GANG_BACKFILL);
  berth_cluster *c = NULL;
  int asked = 0;
  k.capacity = capacity;
  k.resources = 2;
  CHECK_OK(berth_cluster_new(ctx, &k, 1, &job, &c));
  o.amounts = 1;
  o.rate = rate_of_first;
  o.ud = &asked;
  berth_gang *g = must_gang_new(1, &size, &o);
  berth_scheduler s = berth_gang_scheduler(g);
  CHECK_OK(berth_cluster_run(c, &s));
  CHECK(asked > 0);
  RELEASE(c);
}

/* ---- random runs ---- */

static void draw(uint64_t seed, berth_job *jobs, int32_t *size) {
  double now = 0;
  berth_rng rng = seeded(seed, 0);
  for (int32_t j = 0; j < MANY; j++) {
    now += berth_rng_below(&rng, 4) * berth_rng_uniform(&rng);
    jobs[j] = (berth_job){ now, 12 * berth_rng_uniform(&rng), INFINITY, 0 };
    size[j] = 1 + berth_rng_below(&rng, berth_rng_below(&rng, 6) == 0 ? 9 : 2);
  }
}

/* Speeds on 1 to MOST GPUs; throughputs on two types, none of some jobs on one of them. */
static double speed[MANY * MOST], throughput[MANY * TYPES];
static int32_t first[MANY + 1];

SETUP {
  berth_rng rng = seeded(9, 1);
  for (int32_t j = 0; j < MANY; j++) {
    double power = berth_rng_uniform(&rng);
    for (int32_t k = 0; k < MOST; k++) speed[j * MOST + k] = pow(k + 1, power);
    first[j + 1] = (j + 1) * MOST;
    throughput[j * TYPES] = 1 + berth_rng_uniform(&rng);
    throughput[j * TYPES + 1] = berth_rng_below(&rng, 5) == 0 ? 0 : berth_rng_uniform(&rng);
  }
}

/* What each rule has of its own, as a run at one of three placements has it. */
typedef union own {
  berth_gang_las_options las;
  berth_gang_gittins_options gittins;
  berth_gang_resize_options resize;
  berth_gang_gavel_options gavel;
} own_options;

static const void *fill(int rule, int placement, own_options *own) {
  static const double limits[] = { 2, 6, 20 };
  static const int32_t types[] = { 0, 0, 1 };
  if (rule == BERTH_GANG_LAS || rule == BERTH_GANG_LAS_2D) {
    own->las = (berth_gang_las_options){ 3, limits, 2, 0, 0 };
  } else if (rule == BERTH_GANG_GITTINS) {
    own->gittins = (berth_gang_gittins_options){ 0, NULL, 3 };
  } else if (rule == BERTH_GANG_OPTIMUS || rule == BERTH_GANG_POLLUX) {
    own->resize = berth_gang_resize_default();
    own->resize.n_first = MANY + 1;
    own->resize.n_speeds = MANY * MOST;
    own->resize.first = first;
    own->resize.speeds = speed;
    own->resize.restart = placement;
  } else if (rule == BERTH_GANG_GAVEL) {
    own->gavel = (berth_gang_gavel_options){
      TYPES,        3,
      MANY * TYPES, 0,
      types,        throughput,
      NULL,         placement == 2 ? BERTH_GAVEL_FINISH_TIME : BERTH_GAVEL_MAX_MIN,
      40,           placement == 1 ? 0 : 100,
      0,            0,
      NULL
    };
  } else {
    return NULL;
  }
  return own;
}

static berth_gang_options options(int rule, int placement, own_options *own) {
  berth_gang_options o = berth_gang_default((berth_gang_rule)rule);
  o.placement = (berth_gang_placement)placement;
  o.amounts = 1;
  o.own = fill(rule, placement, own);
  return o;
}

static berth_status whole_run(int rule, int placement, berth_cluster_summary *sum) {
  static const double capacity[] = { 4, 4, 3 };
  own_options mine;
  berth_gang_options o = options(rule, placement, &mine);
  berth_job jobs[MANY];
  int32_t size[MANY];
  berth_gang *g = NULL;
  berth_status st = BERTH_ENOMEM;
  draw(5, jobs, size);
  berth_cluster *c;
  bool resizes = rule == BERTH_GANG_OPTIMUS || rule == BERTH_GANG_POLLUX;
  if (!(c = pool(3, capacity, resizes && placement == 1 ? 2 : 0,
                 MANY, jobs)))
    return st;
  berth_gang_bound bound;
  if ((st = berth_gang_new(ctx, MANY, size, &o, &g)) == BERTH_OK) {
    berth_scheduler s = berth_gang_scheduler(g);
    st = berth_cluster_run(c, &s);
    *sum = berth_cluster_summarise(c);
    if (st == BERTH_OK) st = berth_gang_bounds(ctx, c, size, 11, &bound);
  }
  RELEASE(g, c);
  return st;
}

TEST("random jobs: all are done, by every rule, on every kind of places") {
  for (int rule = 0; berth_gang_describe(rule); rule++) {
    for (int placement = 0; placement < 3; placement++) {
      berth_cluster_summary sum = { 0 };
      CHECK_OK(whole_run(rule, placement, &sum));
      CHECK(sum.done + sum.refused == MANY && sum.waiting == 0);
    }
  }
}

static berth_status every_rule(void) {
  berth_cluster_summary sum;
  berth_status st = BERTH_OK;
  for (int rule = BERTH_GANG_BACKFILL; rule < BERTH_GANG_OPTIMUS && st == BERTH_OK; rule += 2)
    st = whole_run(rule, rule % 3, &sum);
  TRY(st, whole_run(BERTH_GANG_OPTIMUS, 1, &sum));
  return st;
}

/* ---- errors ---- */

static void refused(berth_status got, const char *text) {
  CHECK_ERROR(got, BERTH_EINVAL, text);
}

static const int32_t one[] = { 1 };

static void refused_own(berth_gang_rule rule, const void *own, const char *text) {
  berth_gang_options o = berth_gang_default(rule);
  berth_gang *g = NULL;
  o.own = own;
  refused(berth_gang_new(ctx, 1, one, &o, &g), text);
  CHECK(g == NULL);
}

TEST("mistakes are reported with the value") {
  static const int32_t none[] = { 0 };
  static const berth_job jobs[] = { { 0, 1, INFINITY, 0 }, { 0, 1, INFINITY, 0 } };
  berth_gang_options o = berth_gang_default(BERTH_GANG_LAS);
  berth_gang *g = NULL;
  berth_cluster *c = pool(1, NULL, 0, 2, jobs);
  refused(berth_gang_new(ctx, 1, none, &o, &g), "gang: job 0: size: expected at least 1, got 0");
  refused(berth_gang_new(ctx, -1, none, &o, &g), "gang: jobs: expected at least 0, got -1");
  o.placement = (berth_gang_placement)3;
  refused(berth_gang_new(ctx, 1, one, &o, &g), "option placement is 3 (0 to 2)");
  o = berth_gang_default((berth_gang_rule)99);
  CHECK_STATUS(berth_gang_new(ctx, 1, one, &o, &g), BERTH_EINVAL);
  CHECK(strncmp(berth_errmsg(ctx), "option rule is 99 (0 to ", 24) == 0);
  CHECK(g == NULL);
  o = berth_gang_default(BERTH_GANG_FIFO);
  g = must_gang_new(1, one, &o);
  berth_scheduler s = berth_gang_scheduler(g);
  refused(berth_cluster_run(c, &s), "gang: the cluster has 2 jobs, expected 1");
  RELEASE(g);
  berth_gang_release(NULL);
  RELEASE(c);
}

TEST("options of a rule out of range are reported") {
  static const double falling[] = { 7, 3 }, minus[] = { 1, -1 };
  static const int32_t two[] = { 0, 2 };
  berth_gang_las_options las = berth_gang_las_default();
  berth_gang_gittins_options gittins = berth_gang_gittins_default();
  berth_gang_resize_options resize = berth_gang_resize_default();
  berth_gang_gavel_options gavel = berth_gang_gavel_default();
  las.promote = 0;
  refused_own(BERTH_GANG_LAS, &las, "option promote is 0 (a number above 0)");
  las = berth_gang_las_default();
  las.tick = -1;
  refused_own(BERTH_GANG_LAS_2D, &las, "option tick is -1 (a finite number from 0)");
  las = (berth_gang_las_options){ .n_limits = 2, .limits = minus, .promote = 1 };
  refused_own(BERTH_GANG_LAS, &las, "option limits[1] is -1 (a finite number from 0)");
  las.limits = falling;
  refused_own(BERTH_GANG_LAS, &las, "option limits: expected ascending numbers, got 3 after 7");
  las.n_limits = -1;
  refused_own(BERTH_GANG_LAS, &las, "option limits: there are -1 numbers");
  gittins.quantum = 0;
  refused_own(BERTH_GANG_GITTINS, &gittins, "option quantum is 0 (a finite number above 0)");
  refused_own(BERTH_GANG_OPTIMUS, &resize,
              "option first: expected 2 numbers (one per job, and one more), got 0");
  resize.first = two;
  resize.n_first = 2;
  refused_own(BERTH_GANG_POLLUX, &resize, "option speeds: expected 2 numbers, got 0");
  resize.power = 2;
  refused_own(BERTH_GANG_POLLUX, &resize, "option power is 2 (a finite number of at most 1)");
  refused_own(BERTH_GANG_GAVEL, &gavel,
              "option throughputs: expected 1 numbers (one per job and type), got 0");
  gavel = (berth_gang_gavel_options){ 2,       2,    2,                   0, two,
                                      falling, NULL, BERTH_GAVEL_MAX_MIN, 1, 0, 0, 0, NULL };
  refused_own(BERTH_GANG_GAVEL, &gavel, "gang: machine 1: type: there is none 2, there are 2");
  gavel.goal = 5;
  refused_own(BERTH_GANG_GAVEL, &gavel, "option goal is 5 (0 to 4)");
  refused_own(BERTH_GANG_FIFO, &las, "gang: fifo has no options of its own");
}

static double finish_of_two(const void *own) {
  /* las: 1 has had its 3250 s when 2 comes; 2 runs first */
  static const berth_job jobs[] = { { 0, 5000, INFINITY, 0 }, { 4000, 100, INFINITY, 0 } };
  static const int32_t size[] = { 1, 1 };
  berth_gang_options o = berth_gang_default(BERTH_GANG_LAS);
  berth_cluster *c = pool(1, NULL, 0, 2, jobs);
  berth_job_record r = { 0 };
  o.own = own;
  berth_gang *g = must_gang_new(2, size, &o);
  berth_scheduler s = berth_gang_scheduler(g);
  CHECK_OK(berth_cluster_run(c, &s));
  berth_cluster_summary sum = berth_cluster_summarise(c);
  CHECK(sum.done == 2);
  CHECK_OK(berth_cluster_record(c, 1, &r));
  RELEASE(c, g);
  return r.end;
}

TEST("NULL for options of a rule stands for its defaults") {
  berth_gang_las_options las = berth_gang_las_default();
  CHECK(berth_gang_default(BERTH_GANG_LAS).own == NULL);
  CHECK(las.n_limits == 2 && las.limits[0] == 3250 && las.limits[1] == 7200 && isinf(las.promote)
        && las.tick == 0);
  CHECK(berth_gang_gittins_default().quantum == 3250 && !berth_gang_gittins_default().history);
  CHECK(berth_gang_resize_default().power == -1 && berth_gang_resize_default().floor == 0.01);
  CHECK(berth_gang_gavel_default().goal == BERTH_GAVEL_MAX_MIN
        && berth_gang_gavel_default().n_types == 1);
  CHECK_NEAR(finish_of_two(NULL), 4100, 1e-9);
  CHECK_NEAR(finish_of_two(&las), 4100, 1e-9);
  las.n_limits = 0; /* one queue: who runs goes on */
  CHECK_NEAR(finish_of_two(&las), 5100, 1e-9);
  refused_own(BERTH_GANG_OPTIMUS, NULL,
              "option first: expected 2 numbers (one per job, and one more), got 0");
}

/* Is every key among those of the common table or the rule's own? */
static void check_reads(const berth_gang_about *about) {
  char keys[200];
  size_t n = strlen(about->reads);
  CHECK(n < sizeof keys);
  memcpy(keys, about->reads, n + 1);
  for (char *key = strtok(keys, " "); key; key = strtok(NULL, " ")) {
    const berth_option_table *own = about->options ? about->options() : NULL;
    CHECK(berth_option_find(berth_gang_option_table(), key)
          || (own && berth_option_find(own, key)));
  }
}

TEST("each rule has one descriptor, and a name of its own") {
  int n = 0;
  for (const berth_gang_about *about; (about = berth_gang_describe(n)); n++) {
    CHECK(about->choice.name[0] && about->choice.text[0]);
    for (int k = 0; k < n; k++) {
      CHECK(about != berth_gang_describe(k)
            && strcmp(about->choice.name, berth_gang_describe(k)->choice.name) != 0);
    }
    check_reads(about);
  }
  CHECK(n > BERTH_GANG_GAVEL && !berth_gang_describe(-1));
  CHECK_TEXT(berth_gang_describe(BERTH_GANG_LAS_2D)->choice.name, "las-2d");
}

/* ---- asked alone ---- */

static berth_status ask_alone(void) {
  static const double left[] = { 5, 9, 2 }, elapsed[] = { 0, 3, 1 }, alone[] = { 2, 9, 1 };
  static const int32_t gpus[] = { 2, 3 };
  berth_gavel p = { 3, TYPES, throughput, NULL, NULL, gpus, left, elapsed, alone, 0 };
  berth_elastic_job jobs[3];
  for (int i = 0; i < 3; i++)
    jobs[i] = (berth_elastic_job){ MOST, speed + i * MOST, left[i], i, 0.9 };
  int32_t count[3];
  berth_status st = berth_elastic_optimus(ctx, 3, jobs, 10, count);
  for (int k = 0; k < 20 && st == BERTH_OK; k++)
    st = berth_elastic_pollux(ctx, 3, jobs, 10, -1, 0.01, count);
  double share[3 * TYPES], objective;
  return st == BERTH_OK ? berth_gavel_allocate(ctx, &p, BERTH_GAVEL_FINISH_TIME, share, &objective)
                        : st;
}

TEST_REFUSALS(every_rule)
TEST_REFUSALS(ask_alone)
