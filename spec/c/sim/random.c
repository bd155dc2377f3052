/* Random graphs under every discipline, judged by their times. */
#include "sim_checker.h"

enum { OPS = 40 };

static berth_sim_options options(int32_t links, int32_t dispatch, int32_t send,
                                 const double *rank) {
  berth_sim_options o = berth_sim_default(NULL);
  o.links = (berth_links)links;
  o.dispatch = (berth_dispatch)dispatch;
  o.send = (berth_send)send;
  o.rank = rank;
  return o;
}

/* ties: times coincide all the time; then what rests on the order within an instant is not
 * judged. */
static void one_run(setup *s, berth_sim_options *o, const int32_t *device, int ties) {
  berth_result *r = run(s, device, o);
  judged j = judge(s, o, r);
  j.tied = ties;
  check_precedence(&j);
  check_devices(&j);
  check_channels(&j);
  check_collectives(&j);
  check_bounds(&j);
  check_critical(&j);
  check_memory(&j);
  if (!ties) {
    check_work_conserving(&j);
    check_dispatch(&j);
    if (o->send == BERTH_SEND_PUSH) check_slack(&j);
  }
  berth_sim *sim = must_sim_new(s->cost, o);
  berth_sim_summary sum = must_sim_run(sim, device);
  CHECK(sum.makespan == berth_result_makespan(r)); /* recording changes nothing */
  o->memory = BERTH_MEMORY_NONE; /* nor does accounting */
  sim = must_sim_new(s->cost, o);
  sum = must_sim_run(sim, device);
  CHECK(sum.makespan == berth_result_makespan(r));
}

enum { RESERVED = BERTH_LINKS_FAIR }; /* its place in the rounds: links ROUTE with reservations */

static void set_links(berth_sim_options *o, int32_t links) {
  o->links = links == RESERVED ? BERTH_LINKS_ROUTE : (berth_links)links;
  o->reserve = links == RESERVED;
}

/* collectives: 1: collectives on links, 2: in a queue. */
static void many_runs(int ties, int even, int collectives) {
  static const int32_t dispatches[] = { BERTH_DISPATCH_FIFO,   BERTH_DISPATCH_LIGHT_FIRST,
                                        BERTH_DISPATCH_LIFO,   BERTH_DISPATCH_STATIC,
                                        BERTH_DISPATCH_RANDOM, BERTH_DISPATCH_BLEVEL,
                                        BERTH_DISPATCH_LIGHT_CLASS };
  berth_rng rng = seeded(11, (uint64_t)(4 * collectives + 2 * ties + even));
  for (int32_t links = BERTH_LINKS_FREE; links <= RESERVED; links++) {
    for (int32_t k = 0; k < 7; k++) {
      for (int32_t round = 0; round < check_runs(2, 6); round++) {
        setup s;
        int32_t n = 1 + berth_rng_below(&rng, OPS), devices = 3 + berth_rng_below(&rng, 3);
        setup_random(&s, &rng, n, ties);
        if (collectives) setup_collectives(&s, &rng, n, 1 + n / 8, ties);
        if (even) setup_mesh(&s, devices, INFINITY);
        else setup_uneven(&s, devices);
        int32_t device[OPS];
        random_devices(&rng, n, devices, device);
        double rank[OPS];
        for (int32_t i = 0; i < n; i++) rank[i] = berth_rng_uniform(&rng);
        berth_sim_options o = options(0, dispatches[k], round % 2, rank);
        set_links(&o, links);
        o.collectives = collectives == 2 ? BERTH_COLLECTIVES_QUEUE : BERTH_COLLECTIVES_LINKS;
        if (k == 0 && round == 2 && links != BERTH_LINKS_ROUTE) o.order = BERTH_ORDER_TASK;
        o.memory = round % 4 < 2 ? BERTH_MEMORY_INFERENCE : BERTH_MEMORY_TOTAL;
        o.param_multiple = 2;
        one_run(&s, &o, device, ties || dispatches[k] == BERTH_DISPATCH_RANDOM);
        setup_end(&s);
      }
    }
  }
}

TEST("one device: exactly the sum") {
  berth_rng rng = seeded(3, 0);
  for (int32_t round = 0; round < 20; round++) {
    setup s;
    int32_t device[OPS] = { 0 };
    double sum = 0;
    berth_sim_options o = options(round % 4, 0, round % 2, NULL);
    setup_random(&s, &rng, OPS, 1);
    setup_mesh(&s, 3, INFINITY);
    for (int32_t i = 0; i < OPS; i++) sum += berth_cost_op(s.cost, i, 0);
    berth_result *r = must_simulate(s.cost, device, &o);
    /* multiples of 1/4: exact */
    CHECK(berth_result_makespan(r) == sum && berth_result_busy(r)[0] == sum);
  }
}

/* Names of devices do not matter, with equal devices and FIFO. */
TEST("names of devices do not matter") {
  berth_rng rng = seeded(4, 0);
  for (int32_t round = 0; round < 20; round++) {
    setup s;
    int32_t name[4] = { 0, 1, 2, 3 };
    berth_sim_options o = options(round % 4, 0, 0, NULL);
    setup_random(&s, &rng, OPS, 0);
    setup_mesh(&s, 4, INFINITY);
    int32_t device[OPS];
    random_devices(&rng, OPS, 4, device);
    berth_rng_shuffle(&rng, name, 4);
    int32_t other[OPS];
    for (int32_t i = 0; i < OPS; i++) other[i] = name[device[i]];
    berth_sim *sim = must_sim_new(s.cost, &o);
    berth_sim_summary a = must_sim_run(sim, device);
    berth_sim_summary b = must_sim_run(sim, other);
    CHECK_NEAR(a.makespan, b.makespan, 1e-9);
    CHECK_NEAR(a.peak, b.peak, 1e-6);
  }
}

/* Many slots, long pending lists: the tournament and the overflow heaps give what the short ways
 * give. */
TEST("many devices, many arrivals under way") {
  enum { WIDE = 3000 };
  int32_t *device = malloc(2 * WIDE * sizeof *device);
  double last = 0;
  berth_sim_options o = options(BERTH_LINKS_FREE, 0, 0, NULL);
  berth_rng rng = seeded(5, 0);
  setup s = setup_started();
  for (int32_t i = 0; i < WIDE; i++) setup_op(&s, 0); /* all at once, arrivals in random order */
  for (int32_t i = 0; i < WIDE; i++) setup_op(&s, 0.001);
  double ready[WIDE];
  for (int32_t i = 0; i < WIDE; i++) {
    setup_edge(&s, i, WIDE + i, ready[i] = 1000 * berth_rng_uniform(&rng));
    device[i] = 1 + i % 39;
    device[WIDE + i] = 0;
  }
  setup_mesh(&s, 40, INFINITY);
  berth_result *r = must_simulate(s.cost, device, &o);
  for (int32_t i = 0; i < WIDE; i++) { /* FIFO: an op starts after all that are ready before it */
    double start = berth_result_start(r)[WIDE + i];
    CHECK(start >= ready[i]);
    last = fmax(last, ready[i]);
    for (int32_t k = i - 1; k >= 0 && k > i - 20; k--)
      CHECK((ready[k] < ready[i]) == (berth_result_start(r)[WIDE + k] < start));
  }
  CHECK(berth_result_makespan(r) >= last + 0.001);
  SETUP_END(&s, r);
  free(device);
}

TEST("real times, equal devices") { many_runs(0, 1, 0); }
TEST("real times, unequal devices and links") { many_runs(0, 0, 0); }
TEST("coinciding times, free ops and tensors, equal devices") { many_runs(1, 1, 0); }
TEST("coinciding times, unequal devices") { many_runs(1, 0, 0); }
TEST("collectives: real times") { many_runs(0, 1, 1); }
TEST("collectives: real times, unequal devices and links") { many_runs(0, 0, 1); }
TEST("collectives: coinciding times") { many_runs(1, 1, 1); }
TEST("collectives: coinciding times, unequal devices") { many_runs(1, 0, 1); }
TEST("queue of collectives: real times") { many_runs(0, 1, 2); }
TEST("queue of collectives: real times, unequal devices and links") { many_runs(0, 0, 2); }
TEST("queue of collectives: coinciding times") { many_runs(1, 1, 2); }
TEST("queue of collectives: coinciding times, unequal devices") { many_runs(1, 0, 2); }
