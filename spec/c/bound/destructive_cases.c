/* Destructive bounds by hand: each rule with a problem that needs it; interrupts; refused
 * memory. */
#include "destructive_help.h"
#include "refusals.h"

static double raised(const problem *p, unsigned rules) {
  berth_i_destruct_result b = destructive(p, rules);
  return largest(&b);
}

enum {
  FORCE = BERTH_I_DESTRUCT_FORCE,
  SERIAL = FORCE | BERTH_I_DESTRUCT_SERIAL,
  LOADS = FORCE | BERTH_I_DESTRUCT_LOADS
};

static void check_raise(const problem *p, unsigned without, unsigned with, double low,
                        double high) {
  CHECK_NEAR(raised(p, without), low, 3e-3 * low);
  CHECK_NEAR(raised(p, with), high, 3e-3 * high);
}

static void no_edges(problem *p, int32_t n, int32_t devices, double time) {
  problem_clear(p, n, devices);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t d = 0; d < devices; d++) p->time[i][d] = time;
  }
}

TEST("transfers that take too long make a join and its producers one cluster, which runs "
     "serially") {
  problem p;
  join_of(&p, 3, 4, 100);
  check_raise(&p, FORCE, SERIAL, 2, 4);
  CHECK_NEAR(raised(&p, FORCE | BERTH_I_DESTRUCT_JOIN), 4, 1e-2);

  CASE("a join waits for the transfers of those that its device cannot run in time");
  join_of(&p, 6, 4, 3);
  check_raise(&p, FORCE, FORCE | BERTH_I_DESTRUCT_JOIN, 2, 5);

  CASE("loads: two devices have no room for three ops of one length at once");
  no_edges(&p, 3, 2, 2);
  check_raise(&p, FORCE, LOADS, 3, 4);

  CASE("clusters are items: three chains of two, glued by their transfers, on two devices");
  no_edges(&p, 6, 2, 1);
  p.bandwidth = 1;
  for (int32_t i = 0; i < 6; i += 2) problem_edge(&p, i, i + 1, 50);
  check_raise(&p, LOADS, LOADS | BERTH_I_DESTRUCT_DUAL, 3, 4);

  CASE("pins, groups and types make clusters without any transfer");
  no_edges(&p, 4, 2, 1);
  p.pin[0] = p.pin[1] = p.pin[2] = 1;
  check_raise(&p, FORCE, SERIAL, 2, 3);
  no_edges(&p, 4, 2, 1);
  p.group[0] = p.group[1] = p.group[2] = 0;
  p.time[0][0] = 5;
  p.time[1][1] = 4; /* 7 on the one, 6 on the other; the least times say 3 */
  check_raise(&p, FORCE, SERIAL, 2, 6);

  CASE("unlike devices: the loads of intervals at prices");
  no_edges(&p, 4, 2, 1);
  for (int32_t i = 0; i < 4; i++) p.time[i][1] = 3; /* three on the one, one on the other */
  check_raise(&p, LOADS, LOADS | BERTH_I_DESTRUCT_RATES, 2, 3);

  CASE("pinned apart: the transfer is sure");
  problem_clear(&p, 2, 2);
  p.bandwidth = 1;
  problem_edges(&p, "0>1:3");
  p.pin[0] = 0, p.pin[1] = 1;
  check_raise(&p, 0, FORCE, 2, 5);
}

TEST("dual feasible functions") {
  double thirds[] = { 0.34, 0.34, 0.34, 0.34, 0.34 },
                      halves[] = { 0.5, 0.5, 0.5, 0.5 };
  double mixed[] = { 0.7, 0.7, 0.3, 0.3 }, heavy[] = { 0.7, 0.7 };
  CHECK(berth_i_destruct_overfull(thirds, 5, 2) && !berth_i_destruct_overfull(thirds, 4, 2));
  CHECK(!berth_i_destruct_overfull(halves, 4, 2) && berth_i_destruct_overfull(halves, 3, 1));
  CHECK(!berth_i_destruct_overfull(mixed, 4, 2) && berth_i_destruct_overfull(heavy, 2, 1));
}

/* ---- order ---- */

typedef struct stopper {
  int armed, asked;
} stopper;

static int stop_when_armed(void *ud) {
  stopper *s = ud;
  s->asked += s->armed;
  return s->armed;
}

TEST("an interrupt ends it") {
  stopper stop = { 0, 0 };
  berth_hooks hooks = { .interrupt = stop_when_armed, .ud = &stop };
  hooked(&hooks);
  problem p;
  join_of(&p, 6, 4, 3);
  made m = problem_make(&p);
  stop.armed = 1;
  berth_bounds b;
  CHECK_STATUS(berth_bounds_compute(m.c, NULL, &b, NULL), BERTH_EINTERRUPT);
  CHECK(stop.asked > 0);
  hooked(NULL);
}

TEST("without work nothing is raised; beyond the number of ops nothing is said") {
  berth_i_destruct_plan plan = {
      BERTH_I_DESTRUCT_ALL & ~BERTH_I_DESTRUCT_DEEP, 8, 3, 0, 64, true, 1e-4, 0};
  problem p;
  join_of(&p, 6, 4, 3);
  made m = problem_make(&p);
  berth_i_units u;
  CHECK_OK(berth_i_units_init(m.c, "bounds", BERTH_MEMORY_NONE, 1, &u, NULL));
  berth_i_destruct_result b;
  CHECK_OK(berth_i_destructive_bound(&u, NULL, &plan, &b));
  CHECK_NEAR(b.clusters, 2, 1e-12);
  plan.ops = 6;
  CHECK_OK(berth_i_destructive_bound(&u, NULL, &plan, &b));
  CHECK(isnan(b.clusters) && isnan(b.intervals));
  berth_i_units_release(&u);

  CASE("one op; one device");
  problem_clear(&p, 1, 1);
  CHECK_NEAR(raised(&p, BERTH_I_DESTRUCT_ALL), 1, 0);
  join_of(&p, 3, 1, 7);
  CHECK_NEAR(raised(&p, BERTH_I_DESTRUCT_ALL), 4, 1e-2);
}

/* Only the bound itself is under test: the rest has to be there. */
static berth_status refuse(void) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *c = NULL;
  berth_link inside = { 100, 0 }, between = { 1, 0 };
  berth_device d = berth_device_default();
  d.memory = 30;
  berth_status st = graph_of_text("1p4 1p4 1p4 1p4 1p4 0>4:3 1>4:3 2>4:3 3>4:3", &g);
  TRY(st, berth_topology_two_level(ctx, 2, 2, &d, &inside, &between, &t));
  TRY(st, berth_cost_new(g, t, NULL, &c));
  berth_bounds b;
  TRY(st, berth_bounds_compute(c, NULL, &b, NULL));
  RELEASE(c, t, g);
  return st;
}

TEST_REFUSALS(refuse)
