/* Placing sets of ops, and with weighed transfers: what is carried over to the ops keeps what every
 * answer keeps. */
#include "refusals.h"
#include "place_help.h"

static const char *const takers[] = { "metis",  "m-topo", "m-etf",         "m-sct",
                                      "etf",    "heft",   "cpop",          "peft",
                                      "minmin", "blevel", "critical-path", NULL };

/* ---- made by hand ---- */

/* All devices alike; bytes are seconds. */
static void like(problem *q, int32_t ops, int32_t devices) {
  problem_clear(q, ops, devices);
  q->bandwidth = 1;
}

/* a > b, a > c: apart they take 1 + 1.5 + 4 with the transfer, together 9; seen twice as long, 1 +
 * 3 + 4 is less still; at 8 they stay. */
TEST("weighed transfers decide, true ones count") {
  static const double weight[] = { 1, 2, 8, 0.5 };
  problem q;
  like(&q, 3, 2);
  for (int32_t d = 0; d < 2; d++) q.time[1][d] = q.time[2][d] = 4;
  problem_edges(&q, "0>1:1.5 0>2:1.5");
  made m = problem_make(&q);
  for (int k = 0; k < 4; k++) {
    berth_place_options o = berth_place_default(m.g);
    o.transfer_weight = weight[k];
    berth_placement *p = must_place(m.c, "heft", &o);
    /* true times, whatever it saw */
    CHECK_NEAR(berth_placement_estimate(p), weight[k] == 8 ? 9 : 6.5, 0);
    CHECK_TEXT(berth_placement_placer(p), "heft");
    CHECK((berth_placement_device(p)[1] == berth_placement_device(p)[2]) == (weight[k] == 8));
  }
}

static berth_status costly_way(void *ud, int32_t tensor, int32_t src, int32_t dst,
                               double *seconds) {
  (void)ud, (void)src;
  *seconds = tensor == 2 ? (dst == 2 ? 0.5 : 50) : 1;
  return BERTH_OK;
}

/* 0 > 1 is a chain, 2 > 3 too; 3 reads what 1 makes. Of the priced tensors the third, from 1 to 3,
 * crosses to device 2 only. */
TEST("prices by a user's function follow their tensors into the coarse graph") {
  problem q;
  berth_cost_model model = { 0 };
  like(&q, 6, 3);
  for (int32_t i = 0; i < 6; i++) q.pin[i] = BERTH_NONE;
  problem_edges(&q, "0>1:1 2>3:1 1>4:1"); /* tensor 2 */
  problem_edges(&q, "3>4:1 4>5:1");
  q.pin[0] = 0;
  q.pin[2] = 1;
  /* the chain 4 > 5 runs on device 2 */
  for (int32_t d = 0; d < 2; d++) q.time[5][d] = BERTH_UNSUPPORTED;
  made m = problem_make(&q);
  model.transfer = costly_way;
  berth_cost *c = must_cost_new(m.g, m.t, &model);
  berth_place_options o = berth_place_default(m.g);
  o.coarsen = BERTH_COARSEN_CHAINS;
  berth_placement *p;
  for (int k = 0; takers[k]; k++) {
    p = must_place(c, takers[k], &o);
    const int32_t *device = berth_placement_device(p);
    CHECK(device[0] == 0 && device[1] == 0 && device[2] == 1 && device[3] == 1 && device[4] == 2
          && device[5] == 2);
    CHECK_NEAR(berth_placement_estimate(p), 5, 0); /* 2, then 1 of the transfer from 3, then 2 */
    RELEASE(p);
  }
}

static berth_status nowhere_together(void *ud, int32_t op, int32_t device, double *seconds) {
  (void)ud;
  *seconds = op % 2 == device ? 1 : BERTH_UNSUPPORTED;
  return BERTH_OK;
}

TEST("what the user's function lets run nowhere together stays apart") {
  problem q;
  berth_cost_model model = { 0 };
  like(&q, 2, 2);
  problem_edges(&q, "0>1:1");
  made m = problem_make(&q);
  model.op = nowhere_together;
  berth_cost *c = must_cost_new(m.g, m.t, &model);
  berth_place_options o = berth_place_default(m.g);
  o.coarsen = BERTH_COARSEN_FUSE;
  berth_placement *p = must_place(c, "heft", &o);
  CHECK(berth_placement_device(p)[0] == 0 && berth_placement_device(p)[1] == 1);
}

/* Sets larger than what is left anywhere do not make it infeasible. */
TEST("ops are packed where their sets do not fit") {
  problem q;
  like(&q, 4, 2);
  for (int32_t i = 0; i < 4; i++) q.param[i] = i < 2 ? 3 : 2;
  q.memory[0] = q.memory[1] = 5;
  problem_edges(&q, "0>1:0 1>2:0 2>3:0");
  made m = problem_make(&q);
  for (int how = BERTH_COARSEN_CHAINS; how <= BERTH_COARSEN_FUSE; how++) {
    berth_place_options o = berth_place_default(m.g);
    o.coarsen = (berth_coarsen)how;
    for (int k = 0; takers[k]; k++) {
      berth_placement *p = must_place(m.c, takers[k], &o);
      CHECK(p && berth_placement_device(p)[0] != berth_placement_device(p)[1]);
      RELEASE(p);
    }
  }
}

/* ---- at random ---- */

static void check_answer(const problem *q, const made *m, const berth_placement *p,
                         const berth_place_options *o) {
  const int32_t *device = berth_placement_device(p);
  berth_sim_options s = berth_sim_default(m->g);
  for (int32_t i = 0; i < q->ops; i++) {
    CHECK(!isinf(q->time[i][device[i]]) && (q->pin[i] == BERTH_NONE || q->pin[i] == device[i]));
    for (int32_t j = 0; j < i; j++)
      CHECK(q->group[i] == BERTH_NONE || q->group[i] != q->group[j] || device[i] == device[j]);
  }
  s.links = o->links;
  s.memory = o->memory;
  berth_result *r = must_simulate(m->c, device, &s);
  berth_oom oom;
  CHECK(!berth_result_oom(r, &oom));
  CHECK(berth_result_makespan(r) == berth_placement_estimate(p));
}

TEST("random problems: groups, pins, types, memory; the estimate is the simulator's") {
  static const double weight[] = { 0.5, 1, 3 };
  int answers = 0, refusals = 0;
  berth_rng rng = seeded(41, 0);
  for (int seed = 0; seed < 400; seed++) {
    problem q;
    berth_placement *p = NULL, *plain = NULL;
    const char *placer = takers[seed % 11];
    random_problem(&q, &rng);
    q.bandwidth = 1;
    for (int32_t e = 0; e < q.edges; e++) q.bytes[e] = berth_rng_below(&rng, 4);
    made m = problem_make(&q);
    berth_place_options o = berth_place_default(m.g);
    o.memory = seed % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE;
    o.links = (berth_links)(seed % 4);
    o.coarsen = (berth_coarsen)(seed % 4);
    o.coarsen_ops = o.coarsen == BERTH_COARSEN_NONE ? 0 : (int32_t)(seed % 3);
    o.transfer_weight = o.coarsen == BERTH_COARSEN_NONE && seed % 3 == 1 ? 2 : weight[seed % 3];
    berth_status st = berth_place(m.c, placer, &o, &p, NULL);
    o.coarsen = BERTH_COARSEN_NONE;
    o.coarsen_ops = 0;
    o.transfer_weight = 1;
    berth_status bare = berth_place(m.c, placer, &o, &plain, NULL);
    if (st != bare)
      printf("# %s, seed %d: %d, plain %d: %s\n", placer, seed, st, bare, berth_errmsg(ctx));
    CHECK(st == bare && (st == BERTH_OK || st == BERTH_EINFEASIBLE));
    answers += st == BERTH_OK;
    refusals += st == BERTH_EINFEASIBLE;
    if (st == BERTH_OK) check_answer(&q, &m, p, &o);
    RELEASE(p, plain, m.c, m.g, m.t);
  }
  if (!CHECK(answers > 200 && refusals > 20))
    printf("# %d answers, %d refusals\n", answers, refusals);
}

/* ---- refusals ---- */

#define REFUSED(change, placer, want) do { \
    berth_placement *p_ = NULL; \
    o = berth_place_default(m.g); \
    change; \
    CHECK_STATUS(berth_place(m.c, placer, &o, &p_, NULL), BERTH_EINVAL); \
    CHECK(p_ == NULL); \
    CHECK_TEXT(berth_errmsg(ctx), want); \
  } while (0)

TEST("wrong options are refused, by name and value") {
  static const int32_t child[] = { 1, BERTH_NONE };
  problem q;
  like(&q, 2, 2);
  problem_edges(&q, "0>1:1");
  made m = problem_make(&q);
  berth_place_options o;
  REFUSED(o.coarsen = (berth_coarsen)4, "heft", "option coarsen is 4 (0 to 3)");
  REFUSED(o.coarsen_ops = 3, "heft", "option coarsen_ops: 3 means nothing without coarsen");
  REFUSED(o.coarsen_ops = -1, "heft", "option coarsen_ops is -1 (a finite number from 0)");
  REFUSED(o.transfer_weight = 0, "heft", "option transfer_weight is 0 (a finite number above 0)");
  REFUSED(o.transfer_weight = NAN, "single",
          "option transfer_weight is nan (a finite number above 0)");
  REFUSED(o.transfer_weight = INFINITY, "heft",
          "option transfer_weight is inf (a finite number above 0)");
  REFUSED(o.transfer_weight = 2, "single", "option transfer_weight: means nothing to single");
  REFUSED(o.coarsen = BERTH_COARSEN_FUSE, "random", "option coarsen: means nothing to random");
  REFUSED((o.transfer_weight = 2, o.variant = "baechi-tf"), "m-sct",
          "option transfer_weight: variant \"baechi-tf\" of m-sct is as published");
  REFUSED((o.coarsen = BERTH_COARSEN_FUSE, o.favourites = BERTH_FAVOURITES_GIVEN,
           o.favourite = child),
          "m-sct", "option favourite: it is of ops, and coarsen makes sets of them");
  q.param[0] = q.param[1] = 2;
  q.memory[0] = q.memory[1] = 1;
  m = problem_make(&q);
  {
    berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
    berth_placement *p = NULL;
    o = berth_place_default(m.g);
    o.coarsen = BERTH_COARSEN_FUSE;
    CHECK_STATUS(berth_place(m.c, "etf", &o, &p, &why), BERTH_EINFEASIBLE);
    CHECK(strncmp(berth_errmsg(ctx), "etf: ", 5) == 0 && why.op == 0 && why.missing == 1);
    if (strncmp(berth_errmsg(ctx), "etf: ", 5) != 0) printf("# %s\n", berth_errmsg(ctx));
  }
}

static berth_status place_all(void) {
  berth_device device = berth_device_default();
  berth_link link = { 1, 0 };
  berth_bundle b = { 0 };
  berth_topology *t = NULL;
  berth_cost *c = NULL;
  static const char text[] =
      "5\n0,\n0, 0, 1, 2, \n1, 2, 3, 3, \n"
      "10,40,einsummable\n20,80,einsummable\n30,120,formation\n5,20,einsummable\n";
  berth_status st = berth_parse(ctx, "text", text, sizeof text - 1, NULL, &b);
  device.memory = 1e6;
  TRY(st, berth_topology_ring(ctx, 3, &device, &link, &t));
  TRY(st, berth_cost_new(b.graph, t, NULL, &c));
  for (int how = BERTH_COARSEN_NONE; how <= BERTH_COARSEN_FUSE && st == BERTH_OK; how++) {
    berth_place_options o = berth_place_default(b.graph);
    berth_placement *p = NULL;
    o.coarsen = (berth_coarsen)how;
    o.transfer_weight = 2;
    st = berth_place(c, "etf", &o, &p, NULL);
    RELEASE(p);
  }
  RELEASE(c, t, &b);
  return st;
}

TEST_REFUSALS(place_all)
