/* TAG's simulator: the examples of section 7, order TASK under limits, faults, accessors; refused
 * memory. */
#include "sim/after_internal.h"
#include "refusals.h"
#include "sim_help.h"

#define US 1e-6

static berth_sim_options tag(void) {
  return must_sim_preset("tag");
}

static void price(setup *s) {
  berth_cost_model m;
  memset(&m, 0, sizeof m);
  double lines[4];
  CHECK_OK(berth_tag_lines(ctx, 2810e6, lines));
  m.collective_algorithm = BERTH_COLLECTIVE_LINES;
  m.collective_lines = lines;
  m.lines_bandwidth = 2810e6;
  m.whole_us = 1;
  s->cost = must_cost_new(s->g, s->t, &m);
}

static void finish(setup *s, int32_t devices, double bandwidth) {
  s->g = must_graph_builder_finish(s->b);
  s->t = must_mesh(devices, INFINITY, bandwidth, 12 * US);
  price(s);
}

static void check_makespan(setup *s, const int32_t *device, double us) {
  berth_sim_options o = tag();
  berth_sim *sim = must_sim_new(s->cost, &o);
  berth_sim_summary sum = must_sim_run(sim, device);
  CHECK_NEAR(sum.makespan, us * US, 1e-15);
}

TEST("one tensor: 662 us") {
  static const int32_t device[] = { 0, 1, 1 };
  setup s = setup_started();
  setup_op(&s, 100 * US);
  setup_op(&s, 50 * US);
  setup_edge(&s, 0, 1, 4e6);
  finish(&s, 2, 8000e6);
  check_makespan(&s, device, 662);
  CASE("two tensors over one link: 1174 us");
  setup_begin(&s);
  setup_op(&s, 100 * US);
  for (int32_t i = 0; i < 2; i++) setup_op(&s, 50 * US);
  for (int32_t i = 1; i < 3; i++) setup_edge(&s, 0, i, 4e6);
  finish(&s, 2, 8000e6);
  check_makespan(&s, device, 1174);
  CASE("two replicas, 1 MiB: 626 us");
  setup_begin(&s);
  setup_op(&s, 100 * US);
  setup_op(&s, 130 * US);
  {
    berth_collective c = { BERTH_ALLREDUCE, 1048576, 1, 2, (const int32_t[]){ 0, 1 }, 0, NULL };
    must_add_collective(s.b, &c);
  }
  finish(&s, 2, 2810e6);
  check_makespan(&s, device, 626);
}

/* A free op takes no quantum here; elsewhere one at least. */
TEST("free ops take no time in order task") {
  static const int32_t device[] = { 0, 0 };
  setup s = setup_started();
  setup_add(&s, "0");
  setup_op(&s, 5 * US);
  setup_edge(&s, 0, 1, 1);
  finish(&s, 2, 1e9);
  check_makespan(&s, device, 5);
  berth_sim_options o = tag();
  o.order = BERTH_ORDER_EVENT;
  {
    berth_result *r = must_simulate(s.cost, device, &o);
    CHECK_NEAR(berth_result_makespan(r), 6 * US, 1e-15);
  }
}

/* Cut short: a bound above the limit and not above the makespan; else the makespan. */
TEST("limits") {
  enum { OPS = 40 };
  int cut = 0;
  berth_rng rng = seeded(8, 0);
  for (int32_t round = 0; round < 60; round++) {
    setup s;
    setup_random(&s, &rng, OPS, round % 2);
    if (round % 3) setup_collectives(&s, &rng, OPS, 4, round % 2);
    setup_mesh(&s, 4, INFINITY);
    int32_t device[OPS];
    random_devices(&rng, OPS, 4, device);
    berth_sim_options o = tag();
    o.quantum = round % 2 ? 0.125 : 0;
    o.noise = round % 5 == 4 ? 0.2 : 0;
    berth_sim *sim = must_sim_new(s.cost, &o);
    berth_sim_summary whole = must_sim_run(sim, device);
    berth_sim_summary sum;
    for (double part = 0.3; part < 1.3; part += 0.1) {
      double limit = part * whole.makespan;
      CHECK_OK(berth_sim_run_limited(sim, device, limit, &sum));
      if (limit >= whole.makespan) CHECK(sum.makespan == whole.makespan);
      if (sum.makespan > limit) CHECK(sum.makespan <= whole.makespan * (1 + 1e-9));
      cut += sum.makespan < whole.makespan;
    }
  }
  CHECK(cut > 50);
}

/* What a run leaves behind is what a result tells, after runs, bases and tries. */
static void check_after(const berth_sim *sim, setup *s, const berth_sim_options *o,
                        const int32_t *device, int32_t devices) {
  const double *peak = berth_i_sim_peaks(sim);
  berth_result *r = must_simulate(s->cost, device, o);
  CHECK((peak != NULL) == (o->memory != BERTH_MEMORY_NONE));
  double busy[8];
  berth_i_sim_busy(sim, busy);
  for (int32_t d = 0; d < devices; d++) {
    CHECK_NEAR(busy[d], berth_result_busy(r)[d], 1e-9);
    if (peak) CHECK_NEAR(peak[d], berth_result_peak(r)[d], 1e-9);
  }
}

TEST("peaks and busy times after runs, bases and tries") {
  enum { OPS = 30, DEVICES = 4 };
  berth_rng rng = seeded(9, 0);
  for (int32_t round = 0; round < 40; round++) {
    setup s;
    int32_t op = berth_rng_below(&rng, OPS);
    berth_sim_options o = berth_sim_default(NULL);
    setup_random(&s, &rng, OPS, 0);
    setup_mesh(&s, DEVICES, INFINITY);
    int32_t device[OPS];
    random_devices(&rng, OPS, DEVICES, device);
    if (round % 4 == 1) o = tag(), o.quantum = 0;
    if (round % 4 == 2)
      o.links = BERTH_LINKS_ROUTE, o.dispatch = BERTH_DISPATCH_LIGHT_FIRST, o.preempt = 1;
    if (round % 8 < 4) o.memory = BERTH_MEMORY_NONE;
    berth_sim *sim = must_sim_new(s.cost, &o);
    berth_sim_summary sum = must_sim_run(sim, device);
    check_after(sim, &s, &o, device, DEVICES);
    CHECK_OK(berth_sim_base(sim, device, &sum));
    check_after(sim, &s, &o, device, DEVICES);
    device[op] = (device[op] + 1) % DEVICES;
    CHECK_OK(berth_sim_try(sim, 1, &op, &device[op], INFINITY, &sum));
    check_after(sim, &s, &o, device, DEVICES);
  }
}

/* ---- faults ---- */

TEST("no way across, and too late to be counted") {
  setup s = setup_started();
  setup_add(&s, "1 1 0>1:4");
  setup_wires(&s, "1 1 1 0-1:1");
  berth_sim_options o = tag();
  check_refused(&s, (const int32_t[]){ 0, 2 }, &o, BERTH_EUNREACHABLE,
                "no route from device \"d0\"");
  o.order = BERTH_ORDER_EVENT;
  check_refused(&s, (const int32_t[]){ 0, 2 }, &o, BERTH_EUNREACHABLE,
                "no route from device \"d0\"");
  o = tag();
  o.quantum = 1e-16; /* 2^53 of them are 0.9 s */
  check_refused(&s, (const int32_t[]){ 0, 1 }, &o, BERTH_EINVAL, "op 0");
  o.quantum = 4e-16; /* 3.6 s: the tensor arrives later */
  check_refused(&s, (const int32_t[]){ 0, 1 }, &o, BERTH_EINVAL,
                "tensor 0 of op 0 would reach device \"d1\"");
  o.quantum = 2.1e-16; /* 1.9 s: the second op ends later */
  check_refused(&s, (const int32_t[]){ 0, 0 }, &o, BERTH_EINVAL, "op 1 would end");
}

/* ---- refused memory ---- */

static berth_status build_graph(berth_graph **g) {
  static const int32_t members[] = { 1, 2, 3 }, consumers[] = { 4, 5 };
  const berth_collective c = { BERTH_ALLREDUCE, 8, 1, 3, members, 2, consumers };
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  TRY(st, add_text(b, "1 1 1 1 1 1 0>1:2 0>2:2 0>3:2"));
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  TRY(st, berth_graph_builder_finish(b, g));
  RELEASE(b);
  return st;
}

static berth_status simulate(berth_cost *cost, const berth_sim_options *o) {
  static const int32_t device[] = { 0, 1, 2, 3, 2, 1 }, op = 3, to = 1;
  berth_result *r = NULL;
  berth_sim *sim = NULL;
  berth_status st = berth_simulate(cost, device, o, &r);
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  TRY(st, berth_sim_new(cost, o, &sim));
  berth_sim_summary sum;
  TRY(st, berth_sim_base(sim, device, &sum));
  if (st == BERTH_OK) CHECK(sum.makespan == berth_result_makespan(r));
  TRY(st, berth_sim_try(sim, 1, &op, &to, INFINITY, &sum));
  RELEASE(sim, r);
  return st;
}

static berth_status build_all(void) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_device d = berth_device_default();
  berth_link l = { 1, 0.25 };
  berth_status st = build_graph(&g);
  TRY(st, berth_topology_ring(ctx, 5, &d, &l, &t));
  TRY(st, berth_cost_new(g, t, NULL, &cost));
  berth_sim_options o;
  TRY(st, berth_sim_preset(ctx, "tag", &o));
  TRY(st, simulate(cost, &o));
  if (st == BERTH_OK) {
    o.order = BERTH_ORDER_EVENT;
    st = simulate(cost, &o);
  }
  RELEASE(cost, t, g);
  return st;
}

TEST_REFUSALS(build_all)
