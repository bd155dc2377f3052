/* The memory accountant: policies, copies, twins, peaks, running out. */
#include "sim_checker.h"
#include "refusals.h"

static berth_sim_options policy(berth_memory_policy memory) {
  berth_sim_options o = berth_sim_default(NULL);
  o.memory = memory;
  return o;
}
static void check_peak(berth_result *r, int32_t device, double bytes, double time) {
  CHECK_NEAR(berth_result_peak(r)[device], bytes, 0);
  CHECK_NEAR(berth_result_peak_time(r)[device], time, 0);
}
static void check_fits(const berth_result *r) {
  berth_oom oom;
  CHECK(berth_result_oom(r, &oom) == 0);
}
static void check_runs_out(const berth_result *r, int32_t op, int32_t device, double time,
                           double shortfall) {
  berth_oom oom = { 0, 0, 0, 0 };
  CHECK(berth_result_oom(r, &oom) == 1 && oom.op == op && oom.device == device);
  CHECK(oom.time == time && oom.shortfall == shortfall);
}

/* a (1 s, 100 B parameters) --10 B--> b (1 s, 5 B workspace) --20 B--> c (1 s), all on device 0 */
static const char straight[] = "1p100 1w5 1 0>1:10 1>2:20";

TEST("none, inference, parameters by a multiple") {
  int32_t device[] = { 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  setup s = setup_of(straight, 2, INFINITY);
  berth_result *r = run(&s, device, &o);
  check_peak(r, 0, 135, 1); /* b runs: 100 + 10 + 5 + 20 */
  check_peak(r, 1, 0, 0);
  const int32_t *ops;
  const double *bytes;
  CHECK(berth_result_peak_ops(r, 0, &ops, &bytes) == 2 && ops[0] == 0 && bytes[0] == 110
        && ops[1] == 1 && bytes[1] == 25);
  CHECK(berth_result_peak_ops(r, 1, &ops, &bytes) == 0
        && berth_result_peak_ops(r, 7, &ops, &bytes) == 0);
  o.param_multiple = 4;
  r = run(&s, device, &o);
  check_peak(r, 0, 435, 1);
  o = policy(BERTH_MEMORY_NONE);
  r = run(&s, device, &o);
  check_peak(r, 0, 0, 0);
  CHECK(berth_result_peak_ops(r, 0, &ops, &bytes) == 0);
}

/* The home copy goes with the end of the last send, the remote copy comes with its start and goes
 * after the last reader. */
TEST("remote copies are charged while they are there") {
  int32_t device[] = { 0, 1, 0, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  /* op 2 on 0 from 1 to 6, op 3 on 1 from 6 to 7, 0 -> 1 from 1 to 4 */
  setup s = setup_of("1 1 5w1 1w100 0>1:3 2>3:0", 2, INFINITY);
  berth_result *r = run(&s, device, &o);
  check_peak(r, 0, 4, 1);
  check_peak(r, 1, 100, 6); /* the copy is gone at 5 */
  o.memory = BERTH_MEMORY_TOTAL;
  r = run(&s, device, &o);
  check_peak(r, 1, 103, 6);
}

/* Forward f1 -> f2, backward b2 -> b1: f1's tensor is kept until b1 ends, though nothing says that
 * b1 reads it. */
TEST("twins keep tensors") {
  int32_t device[] = { 0, 0, 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  setup s = setup_of("1t3 1t2 1t1 1t0 1w1 0>1:10 1>2:20 2>3:40 3>4:0", 1, INFINITY);
  CHECK(berth_sim_default(s.g).memory == BERTH_MEMORY_TRAINING);
  berth_result *r = run(&s, device, &o);
  check_peak(r, 0, 60, 2); /* 20 + 40 */
  r = run(&s, device, NULL);
  check_peak(r, 0, 70, 2); /* f1's 10, too */
}

/* The twin rule on random mirrored graphs, any discipline, against intervals. */
TEST("twins in random graphs") {
  enum { OPS = 20 };
  berth_rng rng = seeded(8, 0);
  for (int round = 0; round < 48; round++) {
    setup s;
    berth_mirror_options m = berth_mirror_default();
    setup_random(&s, &rng, OPS, 0);
    m.activations = round % 2;
    berth_graph *forward = must_graph_builder_finish(s.b);
    s.g = must_graph_mirror(forward, &m);
    RELEASE(forward);
    s.t = must_mesh(3, INFINITY, 1, 0);
    s.cost = must_cost_new(s.g, s.t, NULL);
    int32_t device[2 * OPS];
    random_devices(&rng, OPS, 3, device);
    for (int32_t v = 0; v < OPS; v++)
      device[2 * OPS - 1 - v] = round % 3 ? device[v] : berth_rng_below(&rng, 3);
    berth_sim_options o = berth_sim_default(s.g);
    o.links = (berth_links)(round % 4);
    o.send = (berth_send)(round / 4 % 2);
    berth_result *r = run(&s, device, &o);
    judged j = judge(&s, &o, r);
    check_memory(&j);
  }
}

TEST("running out is a result") {
  int32_t device[] = { 0, 0, 0 }, apart[] = { 0, 1, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  setup s = setup_of(straight, 2, 130);
  berth_result *r = run(&s, device, &o);
  check_runs_out(r, 1, 0, 1, 5);
  CHECK_NEAR(berth_result_makespan(r), 3, 0); /* a result, not an error */
  berth_sim *sim = must_sim_new(s.cost, &o);
  berth_sim_summary sum = must_sim_run(sim, device);
  CHECK(sum.oom_op == 1 && sum.peak == 135);
  sum = must_sim_run(sim, apart);
  CHECK(sum.oom_op == BERTH_NONE && sum.peak == 110);
  RELEASE(sim);
  o.param_multiple = 2; /* parameters alone do not fit: at once */
  check_runs_out(run(&s, device, &o), 0, 0, 0, 70);
}

/* The arriving input goes over: named is its first reader. */
TEST("running out by an arriving input") {
  int32_t device[] = { 0, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_TOTAL);
  setup s = setup_of("1 1p8 0>1:10", 2, 16);
  check_runs_out(run(&s, device, &o), 1, 1, 1, 2);
}

/* Same instant: what goes makes room for what comes; ops of no length count all the same. */
TEST("order within an instant") {
  int32_t device[] = { 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  for (int order = 0; order < 2; order++) {
    o.order = (berth_event_order)order;
    setup s = setup_of("1w7 0w9 1w8", 1, INFINITY);
    check_peak(run(&s, device, &o), 0, 17, 1); /* 9 and 8: the op of no length counts at its
                                                  instant */
  }
}

/* P and Q on device 0, X (10 B workspace) and C on device 1, 1 s each; P's 10 B reach C when X
 * ends. In any order of ids. */
TEST("one instant on two devices, any numbering") {
  /* ids of P, X, Q, C */
  static const int32_t orders[][4] = {
    { 0, 1, 2, 3 }, { 1, 0, 2, 3 }, { 2, 1, 0, 3 }, { 1, 0, 3, 2 }
  };
  for (int k = 0; k < 32; k++) {
    const int32_t *id = orders[k % 4];
    berth_sim_options o = policy(k < 16 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE);
    berth_tensor t = { id[0], 1, 10, 0 };
    o.links = (berth_links)(k / 4 % 4);
    setup s = setup_started();
    for (int32_t i = 0; i < 4; i++) setup_heavy(&s, 1, 0, i == id[1] ? 10 : 0, BERTH_NONE);
    must_add_tensor(s.b, &t);
    setup_use(&s, 0, id[3]);
    setup_mesh(&s, 2, 15);
    int32_t device[4];
    device[id[0]] = device[id[2]] = 0;
    device[id[1]] = device[id[3]] = 1;
    berth_result *r = run(&s, device, &o);
    check_peak(r, 1, 10, 0);
    check_fits(r);
  }
}

/* A tensor that crosses in no time makes room for what starts at that instant, under any links,
 * dispatch and order. */
TEST("transfers and ops of no length") {
  for (int k = 0; k < 24; k++) {
    int32_t device[] = { 0, 0, 1 };
    berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
    o.links = (berth_links)(k % 4);
    if (k / 4 == 1) o.dispatch = BERTH_DISPATCH_BLEVEL;
    if (k / 4 == 2) o.dispatch = BERTH_DISPATCH_LIFO;
    if (k / 4 == 3) o.dispatch = BERTH_DISPATCH_BLEVEL, o.preempt = 1;
    if (k / 4 == 4) o.order = BERTH_ORDER_READY;
    if (k / 4 == 5) o.send = BERTH_SEND_PULL;
    setup s = setup_started();
    setup_add(&s, "1 1w10 0w3 0>1:0 0>2:10");
    s.g = must_graph_builder_finish(s.b);
    s.t = must_mesh(2, 15, INFINITY, 0);
    s.cost = must_cost_new(s.g, s.t, NULL);
    berth_result *r = run(&s, device, &o);
    check_peak(r, 0, 10, 0);
    check_peak(r, 1, 13, 1); /* copy and reader come and go at 1 */
    check_fits(r);
  }
}

/* What nobody reads goes with the end of its producer, under INFERENCE and TRAINING alike, unless a
 * twin keeps it. */
TEST("tensors that nobody reads") {
  static const double want[] = { 0, 27, 47, 67 }; /* by policy */
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    int32_t device[] = { 0, 0, 0, 0 };
    berth_sim_options o = policy((berth_memory_policy)memory);
    setup s = setup_of("1 1t3 1w7 1t1 0>:20 1>:20 2>:20 0>1:0 1>2:0 2>3:0", 1, INFINITY);
    check_peak(run(&s, device, &o), 0, want[memory], 2);
  }
}

/* Bytes that fill a device exactly fit, however they add up in binary. */
TEST("exact fits fit") {
  static const struct {
    double bytes[2], limit;
    int fits;
  } cases[] = {
    { { 0.1, 0.2 }, 0.3, 1 },        { { 0.1, 0.7 }, 0.8, 1 }, { { 1e17 / 3, 2e17 / 3 }, 1e17, 1 },
    { { 0.1, 0.2 }, 0.29999999, 0 }, { { 8e9, 1 }, 8e9, 0 },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    for (int params = 0; params < 2; params++) {
      int32_t device[] = { 0, 0 };
      berth_sim_options o = policy(BERTH_MEMORY_TOTAL);
      setup s = setup_started();
      for (int i = 0; i < 2; i++) {
        setup_heavy(&s, 1, params ? cases[k].bytes[i] : 0, 0, BERTH_NONE);
        if (!params) setup_tensor(&s, i, cases[k].bytes[i]);
      }
      setup_mesh(&s, 1, cases[k].limit);
      berth_result *r = run(&s, device, &o);
      berth_oom oom;
      CHECK(berth_result_oom(r, &oom) == !cases[k].fits);
    }
  }
}

/* Of one instant the op that brought most is named; of equals the lowest. */
TEST("the op that is named") {
  static const double workspace[][4] = { { 5, 20, 30, 10 }, { 30, 5, 30, 5 }, { 1, 1, 1, 1 } };
  static const int32_t want[] = { 2, 0, BERTH_NONE };
  for (int k = 0; k < 3; k++) {
    int32_t device[] = { 1, 1, 1, 1 };
    berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
    berth_oom oom = { BERTH_NONE, 1, 0, 0 };
    double sum = 0;
    setup s = setup_started();
    for (int i = 0; i < 4; i++) {
      setup_heavy(&s, 0, 0, workspace[k][i], BERTH_NONE);
      sum += workspace[k][i];
    }
    setup_mesh(&s, 2, 32);
    berth_result *r = run(&s, device, &o);
    CHECK(berth_result_oom(r, &oom) == (sum > 32));
    CHECK(oom.op == want[k] && oom.device == 1 && oom.time == 0);
    if (sum > 32) CHECK_NEAR(oom.shortfall, sum - 32, 0);
    check_peak(r, 1, sum, 0);
  }
}

/* Levels and the first overflow against intervals, many moments coinciding. */
TEST("first overflow in random graphs") {
  enum { OPS = 30 };
  static const double limits[] = { 6, 12, 20, 30, 45 };
  berth_rng rng = seeded(10, 0);
  for (int round = 0; round < 160; round++) {
    berth_sim_options o = policy(round % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE);
    o.links = (berth_links)(round / 2 % 4);
    o.dispatch = round % 3 ? BERTH_DISPATCH_FIFO : BERTH_DISPATCH_BLEVEL;
    if (round % 9 == 1) o.order = BERTH_ORDER_READY;
    if (round % 9 == 2) o.send = BERTH_SEND_PULL;
    judged j = judge_random(&rng, OPS, round % 4 != 0, limits[round % 5], &o);
    check_memory(&j);
    check_oom(&j, limits[round % 5]);
  }
}

/* READY order charges at simulated times, too. */
TEST("ready order") {
  enum { OPS = 30 };
  berth_rng rng = seeded(9, 0);
  for (int round = 0; round < 30; round++) {
    berth_sim_options o = policy(round % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE);
    o.order = BERTH_ORDER_READY;
    o.links = (berth_links)(round % 4);
    judged j = judge_random(&rng, OPS, 0, INFINITY, &o);
    check_precedence(&j);
    check_devices(&j);
    check_bounds(&j);
    check_critical(&j);
    check_memory(&j);
    check_slack(&j);
  }
}

static void check_levels(berth_result *r, int32_t device, int32_t n, const double *time,
                         const double *bytes) {
  const double *t, *b;
  if (!CHECK(berth_result_memory(r, device, &t, &b) == n)) return;
  for (int32_t k = 0; k < n; k++) CHECK(t[k] == time[k] && b[k] == bytes[k]);
}

/* a (1 s, 100 B) --10 B--> b (1 s, 5 B) --20 B--> c (1 s) on device 0, where an op of no length
 * holds 7 B at 0. */
TEST("what is held over time, by hand") {
  static const double none[] = { 0 }, times[] = { 0, 0, 0, 1, 2, 3 },
                      bytes[] = { 100, 117, 110, 135, 120, 100 };
  static const double total_times[] = { 0, 0, 0, 1, 2 }, total[] = { 100, 117, 110, 135, 130 };
  for (int k = 0; k < 4; k++) {
    int32_t device[] = { 0, 0, 0, 0 };
    berth_sim_options o = policy(k < 2 ? BERTH_MEMORY_INFERENCE : BERTH_MEMORY_TOTAL);
    o.order = (berth_event_order)(k % 2);
    setup s = setup_of("0w7 1p100 1w5 1 1>2:10 2>3:20", 2, INFINITY);
    berth_result *r = run(&s, device, &o);
    if (k < 2) check_levels(r, 0, 6, times, bytes);
    if (k >= 2) check_levels(r, 0, 5, total_times, total);
    check_levels(r, 1, 1, none, none);
    const double *t, *b;
    CHECK(berth_result_memory(r, 2, &t, &b) == 0 && !t && !b
          && berth_result_memory(r, -1, &t, &b) == 0);
    o.memory = BERTH_MEMORY_NONE;
    r = run(&s, device, &o);
    CHECK(berth_result_memory(r, 0, &t, &b) == 0 && !t && !b);
  }
}

/* Where intervals are not told by the times alone (split windows, but for TOTAL) the shape is
 * judged. */
TEST("what is held over time, in any discipline") {
  enum { OPS = 40 };
  berth_rng rng = seeded(12, 0);
  for (int round = 0; round < 192; round++) {
    berth_sim_options o = policy((berth_memory_policy)(1 + round % 3));
    o.links = (berth_links)(round / 3 % 4);
    o.param_multiple = 1 + round % 5 * 0.7;
    if (round % 5 == 1) o.order = BERTH_ORDER_READY;
    if (round % 5 == 2) o.send = BERTH_SEND_PULL;
    if (round % 5 == 3) o.dispatch = BERTH_DISPATCH_BLEVEL, o.preempt = 1;
    if (round % 5 == 4) o.noise = 0.3;
    if (round % 7 == 1) o.quantum = 0.1;
    if (round % 2 && (o.links == BERTH_LINKS_CHANNEL || o.links == BERTH_LINKS_DUPLEX))
      o.split_windows = 1;
    setup s;
    setup_random(&s, &rng, OPS, round % 3);
    setup_uneven(&s, 3);
    int32_t device[OPS];
    random_devices(&rng, OPS, 3, device);
    berth_result *r = run(&s, device, &o);
    judged j = judge(&s, &o, r);
    if (o.split_windows && o.memory != BERTH_MEMORY_TOTAL) {
      for (int32_t d = 0; d < 3; d++) check_timeline_shape(&j, d);
    } else {
      check_memory(&j);
    }
    SETUP_END(&s, r);
  }
}

/* Refused allocations, in a run long enough for the levels to grow. */
static berth_status run_long(void) {
  enum { OPS = 40 };
  berth_cost *cost = NULL;
  berth_result *r = NULL;
  int32_t device[OPS];
  char text[1000], *end = text;
  for (int32_t i = 0; i < OPS; i++) {
    device[i] = i % 2;
    end += sprintf(end, "%d ", i % 4);
    if (i > 1) end += sprintf(end, "%d>%d:%d ", i / 2, i, i);
  }
  berth_status st = cost_of_text(text, 2, INFINITY, 1, &cost);
  TRY(st, berth_simulate(cost, device, NULL, &r));
  if (r) {
    const double *time, *bytes;
    CHECK(berth_result_memory(r, 0, &time, &bytes) > 16); /* it has grown */
  }
  RELEASE(r, cost);
  return st;
}

TEST("a result reports its options") {
  int32_t device[] = { 0, 0, 0 }, sequence[] = { 0, 1, 2 };
  berth_sim_options o = policy(BERTH_MEMORY_TOTAL);
  setup s = setup_of(straight, 1, INFINITY);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = sequence;
  o.param_multiple = 3;
  o.seed = 9;
  berth_result *r = run(&s, device, &o);
  const berth_sim_options *told = berth_result_options(r);
  CHECK(told->memory == BERTH_MEMORY_TOTAL && told->param_multiple == 3 && told->seed == 9);
  CHECK(told->dispatch == BERTH_DISPATCH_PLANNED && !told->sequence && !told->rank);
  r = run(&s, device, NULL);
  CHECK(berth_result_options(r)->memory == BERTH_MEMORY_INFERENCE
        && berth_result_options(r)->param_multiple == 1);
}

TEST_REFUSALS(run_long)
