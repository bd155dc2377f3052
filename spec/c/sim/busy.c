/* A simulator called from within its own run: refused, and the run goes on. */
#include "sim_help.h"

typedef struct visitor {
  berth_sim *sim;
  int32_t inside, refused;
} visitor;

static void expect_busy(visitor *v, berth_status st) {
  v->refused +=
      st == BERTH_EINVAL
      && strstr(berth_errmsg(ctx), "simulator: busy: called from within its own run") != NULL;
}

static void call_all(visitor *v) {
  static const int32_t other[] = { 1, 1, 1 }, op = 1, device = 0;
  berth_sim_summary s;
  expect_busy(v, berth_sim_run(v->sim, other, &s));
  expect_busy(v, berth_sim_run_limited(v->sim, other, 1, &s));
  expect_busy(v, berth_sim_base(v->sim, other, &s));
  expect_busy(v, berth_sim_try(v->sim, 1, &op, &device, INFINITY, &s));
  expect_busy(v, berth_sim_accept(v->sim));
  int32_t chain[3];
  CHECK(berth_sim_chain(v->sim, chain) == 0);
  v->inside++;
}

static berth_status price(void *ud, int32_t collective, int32_t n, const int32_t *device,
                          double *seconds) {
  visitor *v = ud;
  (void)collective, (void)n, (void)device;
  if (v->sim) call_all(v);
  *seconds = 4;
  return BERTH_OK;
}

/* Ops 0 and 1 (1 s) coll for 4 s, then op 2 (1 s). */
static void build(setup *s, visitor *v) {
  static const int32_t members[] = { 0, 1 }, consumers[] = { 2 };
  const berth_collective c = { .kind = BERTH_ALLREDUCE,
                               .bytes = 8,
                               .count = 1,
                               .n_members = 2,
                               .members = members,
                               .n_consumers = 1,
                               .consumers = consumers };
  berth_cost_model m = { .op_factor = 1, .transfer_factor = 1 };
  const double second = 1;
  setup_begin(s);
  for (int32_t i = 0; i < 3; i++) {
    berth_op op = berth_op_default();
    op.seconds = &second;
    must_add_op(s->b, &op);
  }
  must_add_collective(s->b, &c);
  s->g = must_graph_builder_finish(s->b);
  s->t = must_mesh(2, INFINITY, 1, 0);
  m.ud = v;
  m.collective = price;
  s->cost = must_cost_new(s->g, s->t, &m);
}

static void check_quiet(const visitor *v, const berth_sim_summary *s, double makespan) {
  CHECK(v->inside > 0 && v->refused == 5 * v->inside);
  CHECK(s->makespan == makespan);
}

static void test_all(berth_links links) {
  static const int32_t device[] = { 0, 1, 0 }, op = 2, to = 1;
  visitor v = { NULL, 0, 0 };
  berth_sim_options o = berth_sim_default(NULL);
  berth_sim_summary s = { -1, -1, -1 };
  setup x;
  build(&x, &v);
  o.links = links;
  v.sim = must_sim_new(x.cost, &o);
  s = must_sim_run(v.sim, device);
  check_quiet(&v, &s, 6);
  CHECK_OK(berth_sim_run_limited(v.sim, device, 10, &s));
  check_quiet(&v, &s, 6);
  CHECK_OK(berth_sim_base(v.sim, device, &s));
  check_quiet(&v, &s, 6);
  CHECK_OK(berth_sim_try(v.sim, 1, &op, &to, INFINITY, &s));
  check_quiet(&v, &s, 6);
  CHECK_OK(berth_sim_accept(v.sim));
  s = must_sim_run(v.sim, device); /* it is free again */
  check_quiet(&v, &s, 6);
  RELEASE(v.sim);
  v.sim = NULL;
}

TEST("a simulator within its own run is busy") {
  test_all(BERTH_LINKS_FREE);
  test_all(BERTH_LINKS_FAIR);
}
