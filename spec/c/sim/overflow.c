/* Times that cannot be counted: an orderly error that names the op or the tensor, the same from
 * every way of running. */
#include "sim_help.h"

static int is_number(double x) { return x >= 0 && x < INFINITY; }

/* One way after the other; each says the same. @return status of berth_simulate */
static berth_status all_ways(setup *s, const int32_t *device, const berth_sim_options *o,
                             char *said, size_t size) {
  berth_result *r = NULL;
  berth_sim_summary sum = { -1, -1, -1 }, batch[2] = { { -1, -1, -1 }, { -1, -1, -1 } };
  berth_sim *sim = NULL;
  int32_t n = berth_graph_ops(s->g), *two = malloc(2 * ((size_t)n + 1) * sizeof *two);
  berth_status st = berth_simulate(s->cost, device, o, &r);
  snprintf(said, size, "%s", st == BERTH_OK ? "" : berth_errmsg(ctx));
  CHECK((st == BERTH_OK) == (r != NULL) && (st == BERTH_OK || said[0] != '\0'));
  if (r) CHECK(is_number(berth_result_makespan(r)));
  berth_status other = berth_sim_new(s->cost, o, &sim);
  if (other == BERTH_OK) other = berth_sim_run(sim, device, &sum);
  CHECK_STATUS(other, st);
  if (st == BERTH_OK) CHECK(sum.makespan == berth_result_makespan(r));
  else CHECK_TEXT(berth_errmsg(ctx), said), CHECK(sum.makespan == -1);
  RELEASE(sim);
  memcpy(two, device, (size_t)n * sizeof *two);
  memcpy(two + n, device, (size_t)n * sizeof *two);
  CHECK_STATUS(berth_sim_batch(s->cost, o, 2, two, 2, batch), st);
  if (st != BERTH_OK) CHECK(strstr(berth_errmsg(ctx), said) != NULL && batch[0].makespan == -1);
  RELEASE(r);
  free(two);
  return st;
}
static void refuse(setup *s, const int32_t *device, const berth_sim_options *o, berth_status want,
                   const char *what) {
  char said[512];
  CHECK_STATUS(all_ways(s, device, o, said, sizeof said), want);
  CHECK_TEXT(said, what);
}

/* Every way of simulating; memory NONE first: that is the bare loop. */
enum { WAYS = 14 };
static berth_sim_options way(int k) {
  static const int32_t sequence[] = { 0, 1, 2, 3 };
  static const double rank[] = { 3, 2, 1, 0 };
  berth_sim_options o = berth_sim_default(NULL);
  o.sequence = sequence;
  o.rank = rank;
  if (k % 2 == 0) o.memory = BERTH_MEMORY_NONE;
  o.links = k < 8 ? (berth_links)(k / 2) : BERTH_LINKS_FREE;
  if (k == 8) o.order = BERTH_ORDER_READY;
  if (k == 9) o.order = BERTH_ORDER_READY, o.links = BERTH_LINKS_CHANNEL, o.split_windows = 1;
  if (k == 10) o.dispatch = BERTH_DISPATCH_PLANNED;
  if (k == 11) o.dispatch = BERTH_DISPATCH_STATIC, o.preempt = 1;
  if (k == 12) o.send = BERTH_SEND_PULL;
  if (k == 13) o.send = BERTH_SEND_PULL, o.links = BERTH_LINKS_DUPLEX;
  return o;
}

static void named_op(setup *s, const char *name, double seconds) {
  berth_op op = berth_op_default();
  op.name = name;
  op.seconds = &seconds;
  must_add_op(s->b, &op);
}
/* n devices in a mesh, or with a slower link from the last to the first: times depend on the
 * pair. */
static void connect(setup *s, int32_t n, double bandwidth, int uneven) {
  berth_topology_builder *b = NULL;
  berth_device d = berth_device_default();
  s->g = must_graph_builder_finish(s->b);
  b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++)
    must_add_device(b, &d);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < n; k++) {
      berth_link l = { uneven && i == n - 1 ? bandwidth / 2 : bandwidth, 0 };
      if (i != k) CHECK_OK(berth_topology_builder_add_link(b, i, k, &l, NULL));
    }
  }
  s->t = must_topology(b);
  s->cost = must_cost_new(s->g, s->t, NULL);
}

/* Two ops in a row on one device. */
TEST("ops that end too late") {
  for (int k = 0; k < 2 * WAYS; k++) {
    int32_t device[] = { 1, 0, 0, 0 };
    berth_sim_options o = way(k % WAYS);
    setup s = setup_started();
    setup_add(&s, "1");
    named_op(&s, "embed", 1e308);
    setup_add(&s, "1");
    named_op(&s, "x", 1e308);
    if (k >= WAYS) setup_edge(&s, 1, 3, 8);
    connect(&s, 2, 1, k % 3 == 0);
    if (o.dispatch == BERTH_DISPATCH_STATIC && k < WAYS) {
      refuse(&s, device, &o, BERTH_EINVAL, "op 1 \"embed\" would end at inf s");
    } else {
      refuse(&s, device, &o, BERTH_EINVAL, "op 3 \"x\" would end at inf s");
    }
    setup_end(&s);
  }
}

/* A transfer that takes for ever is no missing route; nor is one that only ends too late. */
TEST("transfers that end too late") {
  static const double bytes[] = { 1e300, 1e298 }, seconds[] = { 1, 1e308 };
  for (int k = 0; k < 4 * WAYS; k++) {
    int32_t device[] = { 0, 0, 1, 0 };
    berth_sim_options o = way(k % WAYS);
    setup s = setup_started();
    named_op(&s, "wide", seconds[k % 2]);
    for (int i = 1; i < 4; i++) setup_op(&s, 1);
    setup_edge(&s, 0, 1, 1);
    setup_edge(&s, 0, 2, bytes[k % 2]);
    connect(&s, 2, 1e-10, k / 2 % 2);
    refuse(&s, device, &o, BERTH_EINVAL,
           "tensor 1 of op 0 \"wide\" would reach device \"d1\" at inf s");
    setup_end(&s);
  }
}

/* Of several inputs the one that comes too late is named: 1.7e308 s from 0 is in time, 1e308 s from
 * 1e308 is not. */
TEST("the late one of several inputs") {
  for (int k = 0; k < WAYS; k++) {
    int32_t device[] = { 0, 1, 2, 2 };
    berth_sim_options o = way(k);
    setup s = setup_started();
    setup_add(&s, "0 1e308 0 0 0>2:1.7e308 1>3:1e308");
    connect(&s, 3, 1, 0);
    refuse(&s, device, &o, BERTH_EINVAL, "tensor 1 of op 1 would reach device \"d2\" at inf s");
    setup_end(&s);
  }
}

/* No route is no route, whatever else is wrong; a price function's INFINITY is no route. */
static berth_status no_way(void *ud, int32_t tensor, int32_t src, int32_t dst, double *seconds) {
  (void)ud;
  (void)tensor;
  *seconds = src < dst ? INFINITY : 1;
  return BERTH_OK;
}
TEST("no route") {
  for (int k = 0; k < WAYS; k++) {
    int32_t device[] = { 0, 0, 1, 0 };
    berth_sim_options o = way(k);
    setup s = setup_started();
    for (int i = 0; i < 4; i++) setup_op(&s, i == 3 ? 1e308 : 1);
    setup_edge(&s, 0, 2, 1e300);
    connect(&s, 2, 1e-10, 0);
    RELEASE(s.cost);
    berth_cost_model m;
    memset(&m, 0, sizeof m);
    m.transfer = no_way;
    s.cost = must_cost_new(s.g, s.t, &m);
    refuse(&s, device, &o, BERTH_EUNREACHABLE,
           "no route from device \"d0\" to device \"d1\" for tensor 0 of op 0");
    setup_end(&s);
  }
}

TEST("too many quanta") {
  static const struct {
    double quantum, seconds, bytes;
    const char *said;
  } cases[] = {
    { 1e-320, 1, 1, "op 0 would end later than 9007199254740992 quanta of 9.99989e-321 s" },
    /* 9e15 each: exact, but not both */
    { 1e-10, 9e5, 1, "op 1 would end later than 9007199254740992 quanta of 1e-10 s" },
    { 1e-10, 1, 1e7,
      "tensor 1 of op 0 would reach device \"d1\" later than 9007199254740992 quanta of 1e-10 "
      "s" },
    { 1e308, 1, 1, "op 1 would end at inf s" },
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int k = 0; k < WAYS; k++) {
      int32_t device[] = { 0, 0, 1, 1 };
      berth_sim_options o = way(k);
      setup s = setup_started();
      for (int i = 0; i < 4; i++) setup_op(&s, cases[c].seconds);
      setup_edge(&s, 0, 1, 0);
      setup_edge(&s, 0, 2, cases[c].bytes);
      connect(&s, 2, 1, 0);
      o.quantum = cases[c].quantum;
      refuse(&s, device, &o, BERTH_EINVAL, cases[c].said);
      setup_end(&s);
    }
  }
}

TEST("too much noise") {
  int32_t device[] = { 0, 1, 0, 1 };
  setup s = setup_started();
  setup_add(&s, "1 1 1 1 0>1:1 1>2:1");
  connect(&s, 2, 1, 0);
  char said[512];
  for (int k = 0; k < WAYS; k++) {
    berth_sim_options o = way(k);
    o.noise = 1e4;
    refuse(&s, device, &o, BERTH_EINVAL, "option noise is 10000 (0 to 10)");
    o.noise = 10;
    for (o.seed = 0; o.seed < 50; o.seed++)
      CHECK_OK(all_ways(&s, device, &o, said, sizeof said));
  }
}

/* Times of any size under any options: a makespan, or an error that names what is late. */
TEST("times of any size, any options") {
  enum { OPS = 12 };
  int fine = 0, late = 0;
  berth_rng rng = seeded(12, 0);
  for (int round = 0; round < 600; round++) {
    berth_sim_options o = way(round % WAYS);
    setup s = setup_started();
    int32_t sequence[OPS];
    double rank[OPS];
    for (int32_t i = 0; i < OPS; i++) {
      setup_heavy(&s, pow(10, 308 * berth_rng_uniform(&rng)), 1, 1, BERTH_NONE);
      sequence[i] = i;
      rank[i] = berth_rng_uniform(&rng);
    }
    for (int32_t i = 1; i < OPS; i++)
      setup_edge(&s, berth_rng_below(&rng, i), i, pow(10, 306 * berth_rng_uniform(&rng)));
    connect(&s, 3, pow(10, 3 * berth_rng_uniform(&rng)), round % 2);
    int32_t device[OPS];
    random_devices(&rng, OPS, 3, device);
    o.sequence = sequence;
    o.rank = rank;
    if (round % 3 == 0) o.quantum = pow(10, 300 * berth_rng_uniform(&rng));
    if (round % 5 == 0) o.noise = 2;
    char said[512];
    berth_status st = all_ways(&s, device, &o, said, sizeof said);
    CHECK(st == BERTH_OK || (st == BERTH_EINVAL && strstr(said, " would ")));
    fine += st == BERTH_OK;
    late += st != BERTH_OK;
    setup_end(&s);
  }
  CHECK(fine > 100 && late > 100);
}
