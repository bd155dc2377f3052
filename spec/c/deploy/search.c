/* Searching strategies: against enumeration, memory, options, allocation failure. */
#include "refusals.h"

enum { LAYERS = 3, DEVICES = 3 };

/* A chain of ops over the batch, each with weights and the op that updates them. */
static berth_graph *chain(void) {
  berth_graph_builder *b = NULL;
  berth_graph *g = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  int32_t tensor = 0, forward[LAYERS];
  for (int32_t l = 0; l < LAYERS && st == BERTH_OK; l++) {
    const double seconds = 1e-3 * (l + 1);
    berth_op x = berth_op_default();
    berth_tensor t = { 0, 4e6 / (l + 1), -1, BERTH_TENSOR_BATCH };
    x.kind = l == 0 ? "input" : "layer";
    x.seconds = &seconds;
    x.param_bytes = 1e6 * l;
    st = berth_graph_builder_add_op(b, &x, &forward[l]);
    if (st == BERTH_OK && l > 0) st = berth_graph_builder_add_consumer(b, tensor, forward[l]);
    t.producer = forward[l];
    TRY(st, berth_graph_builder_add_tensor(b, &t, &tensor));
  }
  int32_t op;
  for (int32_t l = 1; l < LAYERS && st == BERTH_OK; l++) {
    const double seconds = 2e-4;
    berth_op x = berth_op_default();
    berth_tensor t = { forward[l], 1e6 * l, -1, BERTH_TENSOR_GRADIENT };
    x.kind = "update";
    x.seconds = &seconds;
    x.flags = BERTH_OP_UPDATE;
    st = berth_graph_builder_add_op(b, &x, &op);
    TRY(st, berth_graph_builder_add_tensor(b, &t, &tensor));
    TRY(st, berth_graph_builder_add_consumer(b, tensor, op));
  }
  TRY(st, berth_graph_builder_finish(b, &g));
  CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
  RELEASE(b);
  return g;
}

static berth_topology *star(double memory) {
  berth_topology_builder *b = NULL;
  berth_topology *t = NULL;
  berth_link link = { 2e9, 1e-5 };
  int32_t hub;
  berth_status st = berth_topology_builder_new(ctx, &b);
  TRY(st, berth_topology_builder_add_switch(b, "hub", &hub));
  int32_t node;
  for (int32_t k = 0; k < check_runs(2, DEVICES) && st == BERTH_OK; k++) {
    berth_device d = berth_device_default();
    d.speed = 1 + k;
    d.memory = memory;
    st = berth_topology_builder_add_device(b, &d, NULL, &node);
    TRY(st, berth_topology_builder_add_duplex(b, node, hub, &link, NULL));
  }
  if (st == BERTH_OK) berth_topology_builder_finish(b, &t);
  RELEASE(b);
  return OWNED(t);
}

static berth_status make(double memory, berth_deploy **out) {
  berth_graph *g = chain();
  berth_topology *t = star(memory);
  berth_cost *cost = NULL;
  berth_deploy_options o = berth_deploy_default(0);
  berth_status st = g && t ? berth_cost_new(g, t, NULL, &cost) : BERTH_ENOMEM;
  o.batch = 12;
  o.op_groups = LAYERS;
  TRY(st, berth_deploy_new(cost, NULL, &o, out));
  RELEASE(cost, t, g);
  return st;
}

static berth_deploy *problem(double memory) {
  berth_deploy *d = NULL;
  CHECK_OK(make(memory, &d));
  return OWNED(d);
}

/* Value of a strategy with ops repeated by the rule; INFINITY: it does not fit. */
static double value_of(berth_deploy *d, const int32_t *action, berth_deploy_sfb rule) {
  uint8_t duplicate[64];
  CHECK_OK(berth_deploy_repeat(d, action, rule, duplicate));
  berth_deploy_value v;
  CHECK_OK(berth_deploy_evaluate(d, action, duplicate, NULL, &v));
  return v.over > 0 ? INFINITY : v.seconds;
}

static double least(berth_deploy *d, berth_deploy_sfb rule, int64_t *count) {
  const int32_t n = berth_deploy_groups(d), actions = berth_deploy_actions(d, NULL);
  const uint8_t *legal = berth_deploy_legal(d);
  int32_t a[8] = { 0 }, i = 0;
  double best = INFINITY;
  for (*count = 0; i >= 0;) {
    int fits = 1;
    for (i = 0; i < n; i++) fits = fits && legal[i * actions + a[i]];
    if (fits) {
      best = fmin(best, value_of(d, a, rule));
      ++*count;
    }
    for (i = n - 1; i >= 0 && ++a[i] == actions; i--) a[i] = 0;
  }
  return best;
}

static void check_best(double memory) {
  static const berth_deploy_sfb sfb[] = { BERTH_DEPLOY_SFB_NONE, BERTH_DEPLOY_SFB_LOCAL };
  berth_deploy *d = problem(memory);
  for (int r = 0; r < 2; r++) {
    int64_t count;
    const double best = least(d, sfb[r], &count);
    CHECK(count > 100 && count < 100000);
    for (int steps = 0; steps < 2; steps++) {
      berth_deploy_search_options o = berth_deploy_search_default(0);
      o.sfb = sfb[r];
      o.steps = steps;
      berth_decider *s = must_deploy_decider(d, &o);
      CHECK_OK(berth_decider_search(s, 2 * count, 0));
      int32_t action[8];
      berth_decide_report report = must_decider_best(s, action);
      CHECK(report.evaluations <= count && report.value == value_of(d, action, sfb[r]));
      CHECK(report.value == best);
    }
  }
}

TEST("finds the best strategy of all, with and without memory limits, in steps or not") {
  check_best(INFINITY);
  check_best(9e6);
}

TEST("where nothing fits, the least shortfall is reported") {
  berth_deploy *d = problem(1000);
  berth_decider *s = must_deploy_decider(d, NULL);
  RELEASE(d); /* the search holds it */
  CHECK_OK(berth_decider_search(s, 100, 0));
  CHECK_STATUS(berth_decider_best(s, NULL, NULL), BERTH_EINFEASIBLE);
}

static void wrong(berth_deploy *d, const berth_deploy_search_options *o) {
  berth_decider *s;
  CHECK_STATUS(berth_deploy_decider(d, o, &s), BERTH_EINVAL);
}

TEST("wrong input is reported") {
  berth_deploy *d = problem(INFINITY);
  berth_deploy_search_options o = berth_deploy_search_default(0);
  int32_t start[8] = { 0 };
  o.temperature = 0;
  wrong(d, &o);
  o = berth_deploy_search_default(0);
  o.prior = BERTH_DEPLOY_PRIOR_OWN;
  wrong(d, &o);
  o = berth_deploy_search_default(0);
  o.fill = BERTH_FILL_OWN;
  wrong(d, &o);
  o = berth_deploy_search_default(0);
  start[1] = berth_deploy_actions(d, NULL);
  o.start = start;
  o.n_starts = 1;
  wrong(d, &o);
  o = berth_deploy_search_default(0);
  o.decide.batch = 0;
  wrong(d, &o);
}

static berth_status work(void) {
  berth_deploy_search_options o = berth_deploy_search_default(0);
  berth_deploy *d = NULL;
  berth_decider *s = NULL;
  berth_status st = make(INFINITY, &d);
  o.steps = 1;
  TRY(st, berth_deploy_decider(d, &o, &s));
  TRY(st, berth_decider_search(s, 30, 0));
  RELEASE(s, d);
  return st;
}

TEST_REFUSALS(work)
