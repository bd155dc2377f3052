/* The memory accountant: policies, copies, twins, peaks, running out. */
#include "sim_checker.h"

static berth_result *run(setup *s, const int32_t *device, const berth_sim_options *o) {
  berth_result *r = NULL;
  if (!CHECK_STATUS(berth_simulate(s->cost, device, o, &r), BERTH_OK)) {
    printf("# %s\n", berth_errmsg(s->ctx));
    exit(1);
  }
  return r;
}
static berth_sim_options policy(berth_memory_policy memory) {
  berth_sim_options o = berth_sim_default(NULL);
  o.memory = memory;
  return o;
}
static void check_peak(berth_result *r, int32_t device, double bytes, double time) {
  CHECK_NEAR(berth_result_peak(r)[device], bytes, 0);
  CHECK_NEAR(berth_result_peak_time(r)[device], time, 0);
}

/* a (1 s, 100 B parameters) --10 B--> b (1 s, 5 B workspace) --20 B--> c (1 s), all on device 0 */
static void straight(setup *s) {
  setup_begin(s);
  setup_heavy(s, 1, 100, 0, BERTH_NONE);
  setup_heavy(s, 1, 0, 5, BERTH_NONE);
  setup_heavy(s, 1, 0, 0, BERTH_NONE);
  setup_edge(s, 0, 1, 10);
  setup_edge(s, 1, 2, 20);
}
static void policies(void) {
  setup s;
  int32_t device[] = { 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  const int32_t *ops;
  const double *bytes;
  berth_result *r;
  straight(&s);
  setup_mesh(&s, 2, INFINITY);
  r = run(&s, device, &o);
  check_peak(r, 0, 135, 1); /* b runs: 100 + 10 + 5 + 20 */
  check_peak(r, 1, 0, 0);
  CHECK(berth_result_peak_ops(r, 0, &ops, &bytes) == 2 && ops[0] == 0 && bytes[0] == 110 && ops[1] == 1 && bytes[1] == 25);
  CHECK(berth_result_peak_ops(r, 1, &ops, &bytes) == 0 && berth_result_peak_ops(r, 7, &ops, &bytes) == 0);
  berth_result_release(r);
  o.param_multiple = 4;
  r = run(&s, device, &o);
  check_peak(r, 0, 435, 1);
  berth_result_release(r);
  o = policy(BERTH_MEMORY_NONE);
  r = run(&s, device, &o);
  check_peak(r, 0, 0, 0);
  CHECK(berth_result_peak_ops(r, 0, &ops, &bytes) == 0);
  berth_result_release(r);
  setup_end(&s);
}

/* The home copy goes with the end of the last send, the remote copy comes with its start and goes after the last reader. */
static void copies(void) {
  setup s;
  int32_t device[] = { 0, 1, 0, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  berth_result *r;
  setup_begin(&s);
  setup_heavy(&s, 1, 0, 0, BERTH_NONE);
  setup_heavy(&s, 1, 0, 0, BERTH_NONE);
  setup_heavy(&s, 5, 0, 1, BERTH_NONE);    /* 0: from 1 to 6 */
  setup_heavy(&s, 1, 0, 100, BERTH_NONE);  /* 1: from 6 to 7 */
  setup_edge(&s, 0, 1, 3);                 /* 0 -> 1: from 1 to 4 */
  setup_edge(&s, 2, 3, 0);
  setup_mesh(&s, 2, INFINITY);
  r = run(&s, device, &o);
  check_peak(r, 0, 4, 1);
  check_peak(r, 1, 100, 6); /* the copy is gone at 5 */
  berth_result_release(r);
  o.memory = BERTH_MEMORY_TOTAL;
  r = run(&s, device, &o);
  check_peak(r, 1, 103, 6);
  berth_result_release(r);
  setup_end(&s);
}

/* Forward f1 -> f2, backward b2 -> b1: f1's tensor is kept until b1 ends, though nothing says that b1 reads it. */
static void twins(void) {
  setup s;
  int32_t device[] = { 0, 0, 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  berth_result *r;
  setup_begin(&s);
  setup_heavy(&s, 1, 0, 0, 3);
  setup_heavy(&s, 1, 0, 0, 2);
  setup_heavy(&s, 1, 0, 0, 1);
  setup_heavy(&s, 1, 0, 0, 0);
  setup_heavy(&s, 1, 0, 1, BERTH_NONE);
  setup_edge(&s, 0, 1, 10);
  setup_edge(&s, 1, 2, 20);
  setup_edge(&s, 2, 3, 40);
  setup_edge(&s, 3, 4, 0);
  setup_mesh(&s, 1, INFINITY);
  CHECK(berth_sim_default(s.g).memory == BERTH_MEMORY_TRAINING);
  r = run(&s, device, &o);
  check_peak(r, 0, 60, 2); /* 20 + 40 */
  berth_result_release(r);
  r = run(&s, device, NULL);
  check_peak(r, 0, 70, 2); /* f1's 10, too */
  berth_result_release(r);
  setup_end(&s);
}

/* The twin rule on random mirrored graphs, any discipline, against intervals. */
static void random_twins(void) {
  enum { OPS = 20 };
  berth_rng rng;
  berth_rng_init(&rng, 8, 0);
  for (int round = 0; round < 48; round++) {
    setup s;
    int32_t device[2 * OPS];
    berth_graph *forward = NULL;
    berth_mirror_options m = berth_mirror_defaults();
    berth_sim_options o;
    berth_result *r;
    judged j;
    setup_random(&s, &rng, OPS, 0);
    m.activations = round % 2;
    CHECK_STATUS(berth_graph_builder_finish(s.b, &forward), BERTH_OK);
    CHECK_STATUS(berth_graph_mirror(forward, &m, &s.g, NULL), BERTH_OK);
    berth_graph_release(forward);
    berth_device d = berth_device_default();
    berth_link l = { 1, 0 };
    CHECK_STATUS(berth_topology_mesh(s.ctx, 3, &d, &l, &s.t), BERTH_OK);
    CHECK_STATUS(berth_cost_new(s.g, s.t, NULL, &s.cost), BERTH_OK);
    random_devices(&rng, OPS, 3, device);
    for (int32_t v = 0; v < OPS; v++) device[2 * OPS - 1 - v] = round % 3 ? device[v] : berth_rng_below(&rng, 3);
    o = berth_sim_default(s.g);
    o.links = (berth_links)(round % 4);
    o.send = (berth_send)(round / 4 % 2);
    r = run(&s, device, &o);
    j = judge(&s, &o, r);
    check_memory(&j);
    berth_result_release(r);
    setup_end(&s);
  }
}

static void running_out(void) {
  setup s;
  int32_t device[] = { 0, 0, 0 }, apart[] = { 0, 1, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  berth_oom oom = { 0, 0, 0, 0 };
  berth_sim_summary sum;
  berth_sim *sim = NULL;
  berth_result *r;
  straight(&s);
  setup_mesh(&s, 2, 130);
  r = run(&s, device, &o);
  CHECK(berth_result_oom(r, &oom) == 1);
  CHECK(oom.op == 1 && oom.device == 0 && oom.time == 1 && oom.shortfall == 5);
  CHECK_NEAR(berth_result_makespan(r), 3, 0); /* a result, not an error */
  berth_result_release(r);
  CHECK_STATUS(berth_sim_new(s.cost, &o, &sim), BERTH_OK);
  CHECK_STATUS(berth_sim_run(sim, device, &sum), BERTH_OK);
  CHECK(sum.oom_op == 1 && sum.peak == 135);
  CHECK_STATUS(berth_sim_run(sim, apart, &sum), BERTH_OK);
  CHECK(sum.oom_op == BERTH_NONE && sum.peak == 110);
  berth_sim_release(sim);
  o.param_multiple = 2; /* parameters alone do not fit: at once */
  r = run(&s, device, &o);
  CHECK(berth_result_oom(r, &oom) == 1 && oom.op == 0 && oom.time == 0 && oom.shortfall == 70);
  berth_result_release(r);
  setup_end(&s);
}

/* The arriving input goes over: named is its first reader. */
static void arriving(void) {
  setup s;
  int32_t device[] = { 0, 1 };
  berth_sim_options o = policy(BERTH_MEMORY_TOTAL);
  berth_oom oom = { 0, 0, 0, 0 };
  berth_result *r;
  setup_begin(&s);
  setup_heavy(&s, 1, 0, 0, BERTH_NONE);
  setup_heavy(&s, 1, 8, 0, BERTH_NONE);
  setup_edge(&s, 0, 1, 10);
  setup_mesh(&s, 2, 16);
  r = run(&s, device, &o);
  CHECK(berth_result_oom(r, &oom) == 1 && oom.op == 1 && oom.device == 1 && oom.time == 1 && oom.shortfall == 2);
  berth_result_release(r);
  setup_end(&s);
}

/* Same instant: what goes makes room for what comes; ops of no length count all the same. */
static void instants(void) {
  setup s;
  int32_t device[] = { 0, 0, 0 };
  berth_sim_options o = policy(BERTH_MEMORY_INFERENCE);
  for (int order = 0; order < 2; order++) {
    berth_result *r;
    o.order = (berth_event_order)order;
    setup_begin(&s);
    setup_heavy(&s, 1, 0, 7, BERTH_NONE);
    setup_heavy(&s, 0, 0, 9, BERTH_NONE);
    setup_heavy(&s, 1, 0, 8, BERTH_NONE);
    setup_mesh(&s, 1, INFINITY);
    r = run(&s, device, &o);
    check_peak(r, 0, 17, 1); /* 9 and 8: the op of no length counts at its instant */
    berth_result_release(r);
    setup_end(&s);
  }
}

/* READY order charges at simulated times, too. */
static void ready_order(void) {
  enum { OPS = 30 };
  berth_rng rng;
  berth_rng_init(&rng, 9, 0);
  for (int round = 0; round < 30; round++) {
    setup s;
    int32_t device[OPS];
    berth_sim_options o = policy(round % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE);
    berth_result *r;
    judged j;
    o.order = BERTH_ORDER_READY;
    o.links = (berth_links)(round % 4);
    setup_random(&s, &rng, OPS, 0);
    setup_mesh(&s, 3, INFINITY);
    random_devices(&rng, OPS, 3, device);
    r = run(&s, device, &o);
    j = judge(&s, &o, r);
    check_precedence(&j);
    check_devices(&j);
    check_bounds(&j);
    check_critical(&j);
    check_memory(&j);
    check_slack(&j);
    berth_result_release(r);
    setup_end(&s);
  }
}

int main(void) {
  TEST("none, inference, parameters by a multiple") policies();
  TEST("remote copies are charged while they are there") copies();
  TEST("twins keep tensors") twins();
  TEST("twins in random graphs") random_twins();
  TEST("running out is a result") running_out();
  TEST("running out by an arriving input") arriving();
  TEST("order within an instant") instants();
  TEST("ready order") ready_order();
  return check_done();
}
