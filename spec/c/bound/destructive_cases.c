/* Destructive bounds by hand: each rule with a problem that needs it; interrupts; refused
 * memory. */
#include "place/place_search.h"
#include "refusals.h"
#include "bound/destructive/destructive_internal.h"

static berth_ctx *ctx;

static double destructive(const problem *p, unsigned rules) {
  berth_i_destruct_plan plan = { rules, 8, 3, 100000000, 64, true, 1e-4 };
  berth_i_destruct_result b = { NAN, NAN, 0 };
  berth_i_units u;
  made m = problem_make(ctx, p);
  CHECK_STATUS(berth_i_units_init(m.c, "bounds", BERTH_MEMORY_NONE, 1, &u, NULL), BERTH_OK);
  CHECK_STATUS(berth_i_destructive_bound(&u, NULL, &plan, &b), BERTH_OK);
  berth_i_units_release(&u);
  unmake(&m);
  return isnan(b.intervals) ? b.clusters : b.intervals;
}

enum {
  FORCE = BERTH_I_DESTRUCT_FORCE,
  SERIAL = FORCE | BERTH_I_DESTRUCT_SERIAL,
  LOADS = FORCE | BERTH_I_DESTRUCT_LOADS
};

static void check_raise(const problem *p, unsigned without, unsigned with, double low,
                        double high) {
  CHECK_NEAR(destructive(p, without), low, 3e-3 * low);
  CHECK_NEAR(destructive(p, with), high, 3e-3 * high);
}

static void no_edges(problem *p, int32_t n, int32_t devices, double time) {
  problem_clear(p, n, devices);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t d = 0; d < devices; d++) p->time[i][d] = time;
  }
}

static void rules(void) {
  TEST("transfers that take too long make a join and its producers one cluster, which runs "
       "serially");
  problem p;
  join_of(&p, 3, 4, 100);
  check_raise(&p, FORCE, SERIAL, 2, 4);
  CHECK_NEAR(destructive(&p, FORCE | BERTH_I_DESTRUCT_JOIN), 4, 1e-2);

  TEST("a join waits for the transfers of those that its device cannot run in time");
  join_of(&p, 6, 4, 3);
  check_raise(&p, FORCE, FORCE | BERTH_I_DESTRUCT_JOIN, 2, 5);

  TEST("loads: two devices have no room for three ops of one length at once");
  no_edges(&p, 3, 2, 2);
  check_raise(&p, FORCE, LOADS, 3, 4);

  TEST("clusters are items: three chains of two, glued by their transfers, on two devices");
  no_edges(&p, 6, 2, 1);
  p.bandwidth = 1;
  for (int32_t i = 0; i < 6; i += 2) problem_edge(&p, i, i + 1, 50);
  check_raise(&p, LOADS, LOADS | BERTH_I_DESTRUCT_DUAL, 3, 4);

  TEST("pins, groups and types make clusters without any transfer");
  no_edges(&p, 4, 2, 1);
  p.pin[0] = p.pin[1] = p.pin[2] = 1;
  check_raise(&p, FORCE, SERIAL, 2, 3);
  no_edges(&p, 4, 2, 1);
  p.group[0] = p.group[1] = p.group[2] = 0;
  p.time[0][0] = 5;
  p.time[1][1] = 4; /* 7 on the one, 6 on the other; the least times say 3 */
  check_raise(&p, FORCE, SERIAL, 2, 6);

  TEST("unlike devices: the loads of intervals at prices");
  no_edges(&p, 4, 2, 1);
  for (int32_t i = 0; i < 4; i++) p.time[i][1] = 3; /* three on the one, one on the other */
  check_raise(&p, LOADS, LOADS | BERTH_I_DESTRUCT_RATES, 2, 3);

  TEST("pinned apart: the transfer is sure");
  problem_clear(&p, 2, 2);
  p.bandwidth = 1;
  problem_edge(&p, 0, 1, 3);
  p.pin[0] = 0, p.pin[1] = 1;
  check_raise(&p, 0, FORCE, 2, 5);
}

static void packing(void) {
  static const double thirds[] = { 0.34, 0.34, 0.34, 0.34, 0.34 },
                      halves[] = { 0.5, 0.5, 0.5, 0.5 };
  static const double mixed[] = { 0.7, 0.7, 0.3, 0.3 };
  TEST("dual feasible functions");
  CHECK(berth_i_destruct_overfull(thirds, 5, 2) && !berth_i_destruct_overfull(thirds, 4, 2));
  CHECK(!berth_i_destruct_overfull(halves, 4, 2) && berth_i_destruct_overfull(halves, 3, 1));
  CHECK(!berth_i_destruct_overfull(mixed, 4, 2) && berth_i_destruct_overfull(mixed, 2, 1));
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

static void interrupts(void) {
  stopper stop = { 0, 0 };
  berth_hooks hooks = { .interrupt = stop_when_armed, .ud = &stop };
  TEST("an interrupt ends it");
  berth_ctx *other = must_ctx_new(&hooks);
  problem p;
  join_of(&p, 6, 4, 3);
  made m = problem_make(other, &p);
  stop.armed = 1;
  berth_bounds b;
  CHECK_STATUS(berth_bounds_compute(m.c, NULL, &b, NULL), BERTH_EINTERRUPT);
  CHECK(stop.asked > 0);
  RELEASE(m.c, m.g, m.t, other);
}

static void limits(void) {
  berth_i_destruct_plan plan = {
      BERTH_I_DESTRUCT_ALL & ~BERTH_I_DESTRUCT_DEEP, 8, 3, 0, 64, true, 1e-4};
  TEST("without work nothing is raised; beyond the number of ops nothing is said");
  problem p;
  join_of(&p, 6, 4, 3);
  made m = problem_make(ctx, &p);
  berth_i_units u;
  CHECK_STATUS(berth_i_units_init(m.c, "bounds", BERTH_MEMORY_NONE, 1, &u, NULL), BERTH_OK);
  berth_i_destruct_result b;
  CHECK_STATUS(berth_i_destructive_bound(&u, NULL, &plan, &b), BERTH_OK);
  CHECK_NEAR(b.clusters, 2, 1e-12);
  plan.ops = 6;
  CHECK_STATUS(berth_i_destructive_bound(&u, NULL, &plan, &b), BERTH_OK);
  CHECK(isnan(b.clusters) && isnan(b.intervals));
  berth_i_units_release(&u);
  unmake(&m);

  TEST("one op; one device");
  problem_clear(&p, 1, 1);
  CHECK_NEAR(destructive(&p, BERTH_I_DESTRUCT_ALL), 1, 0);
  join_of(&p, 3, 1, 7);
  CHECK_NEAR(destructive(&p, BERTH_I_DESTRUCT_ALL), 4, 1e-2);
}

/* Only the bound itself is under test: the rest has to be there. */
static berth_status refuse(berth_ctx *in) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *c = NULL;
  berth_link inside = { 100, 0 }, between = { 1, 0 };
  berth_device d = berth_device_default();
  d.memory = 30;
  berth_status st = graph_of_text(in, "1p4 1p4 1p4 1p4 1p4 0>4:3 1>4:3 2>4:3 3>4:3", &g);
  if (st == BERTH_OK) st = berth_topology_two_level(in, 2, 2, &d, &inside, &between, &t);
  if (st == BERTH_OK) st = berth_cost_new(g, t, NULL, &c);
  berth_bounds b;
  if (st == BERTH_OK) st = berth_bounds_compute(c, NULL, &b, NULL);
  RELEASE(c, t, g);
  return st;
}

int main(void) {
  berth_ctx_new(NULL, &ctx);
  rules();
  packing();
  interrupts();
  limits();
  berth_ctx_release(ctx);
  check_refusals(refuse);
  return check_done();
}
