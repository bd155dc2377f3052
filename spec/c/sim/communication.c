/* Communication ops: beside what their devices compute, as soon as their inputs are there. */
#include "sim_checker.h"

static int32_t beside_op(setup *s, double seconds) {
  berth_op op = berth_op_default();
  int32_t id = -1;
  op.seconds = &seconds;
  op.workspace_bytes = 4;
  op.flags = BERTH_OP_COMMUNICATION;
  id = must_add_op(s->b, &op);
  return id;
}

/* a (1 s) sends 1 byte to c, a communication op of 2 s on the other device, which computes b from 0
 * to 10; d reads c there. */
static void by_hand(setup *s) {
  setup_begin(s);
  int32_t a = setup_op(s, 1);
  int32_t b = setup_op(s, 10);
  int32_t c = beside_op(s, 2);
  int32_t d = setup_op(s, 1);
  setup_edge(s, a, c, 1);
  setup_edge(s, c, d, 0);
  (void)b;
  setup_mesh(s, 2, INFINITY);
}

TEST("by hand, on all links") {
  static const int32_t device[] = { 0, 1, 1, 0 }, sequence[] = { 2, 1, 3, 0 };
  for (int32_t send = BERTH_SEND_PUSH; send <= BERTH_SEND_PULL; send++) {
    for (int32_t links = BERTH_LINKS_FREE; links <= BERTH_LINKS_FAIR; links++) {
      setup s;
      berth_sim_options o = berth_sim_default(NULL);
      by_hand(&s);
      o.links = (berth_links)links;
      o.send = (berth_send)send;
      o.memory = BERTH_MEMORY_INFERENCE;
      berth_result *r = run(&s, device, &o);
      CHECK(berth_result_start(r)[2] == 2 && berth_result_finish(r)[2] == 4
            && berth_result_start(r)[3] == 4);
      CHECK(berth_result_makespan(r) == 10 && berth_result_busy(r)[0] == 2
            && berth_result_busy(r)[1] == 10);
      CHECK(berth_result_slack(r)[0] == 5 && berth_result_slack(r)[2] == 5
            && berth_result_slack(r)[3] == 5);
      const int32_t *chain;
      CHECK(berth_result_slack(r)[1] == 0 && berth_result_critical(r, &chain) == 1
            && chain[0] == 1);
      CHECK(berth_result_overlap(r)[1].overlapped == 1 && berth_result_overlap(r)[1].exposed == 0);
      /* workspace and the byte that it reads */
      CHECK(berth_result_peak(r)[1] == 5 && berth_result_peak_time(r)[1] == 2);
      SETUP_END(&s, r);
    }
  }
  { /* their place in a sequence means nothing: here it would contradict the graph */
    setup s;
    berth_sim_options o = berth_sim_default(NULL);
    static const int32_t planned[] = { 2, 1, 0, 3 };
    by_hand(&s);
    o.dispatch = BERTH_DISPATCH_PLANNED;
    o.sequence = planned;
    berth_result *r = run(&s, device, &o);
    CHECK(berth_result_makespan(r) == 10 && berth_result_start(r)[2] == 2);
    RELEASE(r);
    o.sequence = sequence; /* d before a on device 0: d waits for a through c */
    CHECK_SAYS(berth_simulate(s.cost, device, &o, &r), BERTH_EINVAL, "deadlocks: op 3 is next");
  }
}

/* Any number at once; the chain and the limit go through them. */
TEST("several at once") {
  static const int32_t device[] = { 0, 0, 0, 0 };
  berth_sim_options o = berth_sim_default(NULL);
  setup s = setup_started();
  int32_t a = setup_op(&s, 1);
  for (int32_t i = 0; i < 3; i++) setup_edge(&s, a, beside_op(&s, 3 + i), 7);
  setup_mesh(&s, 2, INFINITY);
  berth_sim *sim = must_sim_new(s.cost, &o);
  berth_sim_summary sum = must_sim_run(sim, device);
  CHECK(sum.makespan == 6 && sum.peak == 33); /* three workspaces of 4, three tensors of 7 */
  int32_t chain[4];
  CHECK(berth_sim_chain(sim, chain) == 2 && chain[0] == 3 && chain[1] == 0);
  CHECK_OK(berth_sim_run_limited(sim, device, 5.5, &sum));
  CHECK(sum.makespan == 6);
  CHECK_OK(berth_sim_run_limited(sim, device, 6, &sum));
  CHECK(sum.makespan == 6);
  CHECK_OK(berth_sim_base(sim, device, &sum));
  CHECK_OK(berth_sim_try(sim, 1, (const int32_t[]){ 3 }, (const int32_t[]){ 1 }, INFINITY, &sum));
  CHECK(sum.makespan == 13);
}

/* ---- random graphs ---- */

enum { OPS = 24 };

static void random_graph(setup *s, berth_rng *rng, int32_t n) {
  setup_begin(s);
  for (int32_t i = 0; i < n; i++) {
    double seconds = 0.1 + berth_rng_uniform(rng);
    if (berth_rng_below(rng, 3) == 0) beside_op(s, seconds);
    else setup_heavy(s, seconds, berth_rng_uniform(rng), berth_rng_uniform(rng), BERTH_NONE);
    for (int32_t k = 0; k < 2 && i > 0; k++)
      setup_edge(s, berth_rng_below(rng, i), i, berth_rng_uniform(rng));
  }
}

static void judge_run(setup *s, const berth_sim_options *o, const int32_t *device) {
  berth_result *r = run(s, device, o);
  judged j = judge(s, o, r);
  check_precedence(&j);
  check_devices(&j);
  check_channels(&j);
  check_bounds(&j);
  check_critical(&j);
  check_memory(&j);
  check_work_conserving(&j);
  check_dispatch(&j);
  if (o->send == BERTH_SEND_PUSH) check_slack(&j);
  for (int32_t v = 0; v < j.n; v++) {
    if (beside(&j, v)) CHECK_NEAR(j.start[v], inputs_there(&j, v), EPS);
    CHECK(berth_result_slack(r)[v] >= 0
          && berth_result_slack(r)[v] <= berth_result_makespan(r) - j.finish[v] + EPS);
  }
}

TEST("random graphs, judged by their times") {
  berth_rng rng = seeded(21, 0);
  for (int32_t round = 0; round < 200; round++) {
    setup s;
    int32_t n = 1 + berth_rng_below(&rng, OPS), devices = 2 + berth_rng_below(&rng, 3);
    berth_sim_options o = berth_sim_default(NULL);
    static const berth_dispatch by[] = { BERTH_DISPATCH_FIFO, BERTH_DISPATCH_LIGHT_FIRST,
                                         BERTH_DISPATCH_STATIC };
    random_graph(&s, &rng, n);
    if (round % 2) setup_mesh(&s, devices, INFINITY);
    else setup_uneven(&s, devices + 1);
    int32_t device[OPS];
    double rank[OPS];
    for (int32_t i = 0; i < n; i++) {
      device[i] = berth_rng_below(&rng, devices);
      rank[i] = berth_rng_uniform(&rng);
    }
    o.links = (berth_links)(round % 5);
    o.dispatch = by[round / 5 % 3];
    o.send = (berth_send)(round / 15 % 2);
    o.rank = rank;
    judge_run(&s, &o, device);
    setup_end(&s);
  }
}

/* ---- bounds and placers ---- */

static double best_of_all(setup *s, int32_t n, int32_t devices) {
  berth_sim_options o = berth_sim_default(NULL);
  int32_t device[8] = { 0 };
  double best = INFINITY;
  berth_sim *sim = must_sim_new(s->cost, &o);
  berth_sim_summary sum;
  int32_t i;
  do {
    sum = must_sim_run(sim, device);
    best = fmin(best, sum.makespan);
    for (i = 0; i < n && ++device[i] == devices; i++) device[i] = 0;
  } while (i < n);
  RELEASE(sim);
  return best;
}

TEST("bounds hold") {
  int32_t paths = 0;
  berth_rng rng = seeded(22, 0);
  for (int32_t round = 0; round < 60; round++) {
    setup s;
    int32_t n = 3 + berth_rng_below(&rng, 5), devices = 2;
    random_graph(&s, &rng, n);
    setup_mesh(&s, devices, INFINITY);
    double best = best_of_all(&s, n, devices);
    berth_bounds_options o = berth_bounds_default(s.g);
    o.thorough = 1;
    berth_bounds b = must_bounds_compute(s.cost, &o);
    CHECK(b.best <= best * (1 + 1e-9) && b.best > 0);
    paths += b.best == b.critical_path;
  }
  CHECK(paths > 0 && paths < 60);
}

TEST("placers take them") {
  static const char *const placers[] = { "m-etf", "m-sct",  "etf",    "heft",
                                         "cpop",  "peft",   "minmin", "critical-path",
                                         "metis", "m-topo", "single", "anneal" };
  berth_rng rng = seeded(23, 0);
  for (int32_t round = 0; round < 10; round++) {
    setup s;
    random_graph(&s, &rng, OPS);
    setup_mesh(&s, 3, 60);
    for (size_t k = 0; k < sizeof placers / sizeof *placers; k++) {
      berth_place_options o = berth_place_default(s.g);
      berth_placement *p = NULL;
      berth_sim_options so = berth_sim_default(s.g);
      berth_status st = berth_place(s.cost, placers[k], &o, &p, NULL);
      if (!CHECK_OK(st)) continue;
      must_simulate(s.cost, berth_placement_device(p), &so);
      RELEASE(p);
    }
  }
}

/* HEFT on one device: the communication op does not keep b waiting, and its end is that of the
 * plan. */
TEST("estimates") {
  static const char *const placers[] = { "m-etf", "heft", "etf" };
  for (size_t k = 0; k < 3; k++) {
    setup s = setup_started();
    int32_t a = setup_op(&s, 1);
    int32_t c = beside_op(&s, 5);
    int32_t b = setup_op(&s, 4);
    setup_edge(&s, a, c, 0);
    setup_edge(&s, a, b, 100);
    setup_mesh(&s, 1, INFINITY);
    berth_placement *p = must_place(s.cost, placers[k], NULL);
    CHECK_NEAR(berth_placement_estimate(p), 6, 0);
  }
}

TEST("refusals") {
  static const int32_t device[] = { 0, 1, 1, 0 };
  setup s;
  berth_sim_options o = berth_sim_default(NULL);
  berth_result *r = NULL;
  berth_placement *p = NULL;
  by_hand(&s);
  o.order = BERTH_ORDER_READY;
  CHECK_STATUS(berth_simulate(s.cost, device, &o, &r), BERTH_EUNSUPPORTED);
  CHECK(strcmp(berth_errmsg(ctx),
               "order ready, of Baechi's simulator, does not support communication ops: op 2 is "
               "one")
        == 0);
  CHECK_STATUS(berth_place(s.cost, "exact", NULL, &p, NULL), BERTH_EUNSUPPORTED);
  CHECK(strcmp(berth_errmsg(ctx),
               "exact: op 2 is a communication op; search (anneal, local) takes them")
        == 0);
}
