/* What strategies are worth: against the compiled graph simulated, by hand, by bounds on random
 * problems; refusals; allocation failure. */
#include "deploy_value_help.h"
#include "refusals.h"

/* ---- by hand ---- */

/* One layer of 4 ops of 8 s (the update takes 0.08 s) on devices at speed 1. */
TEST("one device takes all times, two take half") {
  const layer_row layer = { 8, 100, 40 };
  deploy_setting s = setting(2, 8, 4);
  berth_deploy *d = problem(1, &layer, &s);
  double bound = 0;
  const char *which = NULL;
  if (!d) return;
  int32_t one = find_action(d, 1, 1, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t both = find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN);
  CHECK(one != BERTH_NONE && both != BERTH_NONE);
  int32_t action[MOST_GROUPS];
  uniform(d, one, action);
  double peak[MOST_DEVICES];
  berth_deploy_value v = value_of(d, action, NULL, peak);
  CHECK_NEAR(v.seconds, 24.08, 1e-9);
  CHECK(v.over == 0 && v.worst == BERTH_NONE && v.shortfall == 0 && v.repeated == 0);
  CHECK_NEAR(peak[0], 0, 0);
  CHECK(v.peak == peak[1] && v.peak >= 140);
  CHECK_OK(berth_deploy_bound(d, &bound, &which));
  CHECK_NEAR(bound, 12.04, 1e-7); /* 24.08 / 2; the path: 2 x 8 / 2 + 0.08 */
  CHECK_TEXT(which, "work");
  double seconds[MOST_ACTIONS];
  CHECK_OK(berth_deploy_local(d, action, 0, seconds));
  CHECK(seconds[both] < seconds[one]);
  uniform(d, both, action);
  v = value_of(d, action, NULL, peak);
  CHECK(v.seconds >= bound && v.seconds < 12.081);
}

TEST("local costs by hand") {
  const layer_row layer = { 8, 100, 4e6 };
  deploy_setting s = setting(2, 8, 1);
  s.latency = 0;
  s.bandwidth = 1e6;
  berth_deploy *d;
  if (!(d = problem(1, &layer, &s))) return;
  CHECK(berth_deploy_groups(d) == 1);
  int32_t one = find_action(d, 1, 0, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t ps = find_action(d, 2, 0, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t both = find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN);
  int32_t action[MOST_GROUPS];
  uniform(d, one, action);
  double seconds[MOST_ACTIONS];
  CHECK_OK(berth_deploy_local(d, action, 0, seconds));
  CHECK_NEAR(seconds[one], 24.08, 1e-9);
  CHECK_NEAR(seconds[ps], 12.08 + 4 + 4, 1e-9); /* 4 MB to the server at 1 MB/s, and back */
  CHECK_NEAR(seconds[both], 12.08 + 4, 1e-9);   /* repeated: 4 s longer, and 2 x 50 B gathered,
                                                   instead of 4 s: no */
}

/* The second layer reads 2 MB of the first one, which reads 3 MB of it; 1 MB/s. */
TEST("local costs count what crosses to neighbours") {
  const layer_row layers[2] = { { 2, 2e6, 1 }, { 1, 3e6, 1 } };
  deploy_setting s = setting(2, 8, 3);
  s.latency = 0;
  s.bandwidth = 1e6;
  berth_deploy *d;
  if (!(d = problem(2, layers, &s))) return;
  int32_t here = find_action(d, 1, 0, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t there = find_action(d, 1, 1, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t both = find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN);
  CHECK(berth_deploy_groups(d) == 3);
  int32_t action[MOST_GROUPS];
  uniform(d, here, action);
  double seconds[MOST_ACTIONS];
  CHECK_OK(berth_deploy_local(d, action, 1, seconds));
  CHECK_NEAR(seconds[here], 3.01, 1e-6);
  CHECK_NEAR(seconds[there], 3.01 + 5, 1e-6);
  CHECK_NEAR(seconds[both], 1.51 + 2.5 + 1e-6, 1e-6); /* half of each crosses; 1 B by AllReduce */
  action[0] = both;
  CHECK_OK(berth_deploy_local(d, action, 1, seconds));
  CHECK_NEAR(seconds[both], 1.51 + 1e-6, 1e-6);
  CHECK_NEAR(seconds[there], 3.01 + 2.5, 1e-6);
}

/* ---- against the compiled graph ---- */

static void draw_strategy(berth_rng *r, const berth_deploy *d, int32_t *action) {
  const berth_action *list;
  const uint8_t *legal = berth_deploy_legal(d);
  int32_t n = berth_deploy_actions(d, &list);
  for (int32_t g = 0; g < berth_deploy_groups(d); g++) {
    do action[g] = (int32_t)berth_rng_below(r, (uint32_t)n);
    while (!legal[g * n + action[g]]);
  }
}

static void same_as_compiled(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                             const berth_deploy_value *v, const double *peak) {
  berth_compiled *c = NULL;
  berth_sim_options o = *berth_deploy_simulation(d);
  berth_status st = berth_deploy_compile(d, action, duplicate, &c);
  CHECK_OK(st);
  if (st != BERTH_OK) return;
  if (berth_deploy_given(d)->order == BERTH_DEPLOY_RANK)
    o.dispatch = BERTH_DISPATCH_STATIC, o.rank = berth_compiled_rank(c);
  berth_result *r = must_simulate(berth_compiled_cost(c), berth_compiled_device(c), &o);
  CHECK_NEAR(berth_result_makespan(r), v->seconds, 1e-9 * v->seconds);
  for (int32_t k = 0; k < berth_topology_devices(berth_cost_topology(berth_compiled_cost(c)));
       k++) {
    CHECK_NEAR(berth_result_peak(r)[k], peak[k], 0);
  }
  RELEASE(c);
}

/* Latest end less earliest start, and least wait, by brute force. */
static void check_feedback(berth_deploy *d, const int32_t *action, const uint8_t *duplicate) {
  double makespan[MOST_OPS], idle[MOST_OPS], whole[MOST_GROUPS], busy[MOST_DEVICES],
      peak[MOST_DEVICES];
  double link_busy[4 * MOST_DEVICES];
  berth_deploy_feedback f = { makespan, idle, whole, busy, peak, link_busy };
  berth_sim_options o = *berth_deploy_simulation(d);
  berth_deploy_value v;
  berth_compiled *c = NULL;
  int32_t n = berth_graph_ops(berth_cost_graph(berth_deploy_cost(d)));
  CHECK_OK(berth_deploy_simulate(d, action, duplicate, &f, &v));
  CHECK_OK(berth_deploy_compile(d, action, duplicate, &c));
  if (!c) return;
  if (berth_deploy_given(d)->order == BERTH_DEPLOY_RANK)
    o.dispatch = BERTH_DISPATCH_STATIC, o.rank = berth_compiled_rank(c);
  berth_result *r = must_simulate(berth_compiled_cost(c), berth_compiled_device(c), &o);
  double first[MOST_OPS], last[MOST_OPS];
  for (int32_t i = 0; i < n; i++) first[i] = INFINITY, last[i] = 0;
  for (int32_t i = 0; i < berth_graph_ops(berth_compiled_graph(c)); i++) {
    int32_t op = berth_compiled_origin(c)[i];
    first[op] = fmin(first[op], berth_result_start(r)[i]);
    last[op] = fmax(last[op], berth_result_finish(r)[i]);
  }
  for (int32_t i = 0; i < n; i++) {
    CHECK_NEAR(makespan[i], last[i] - first[i], 1e-9 * v.seconds);
    CHECK(idle[i] >= 0 && idle[i] <= v.seconds);
    CHECK(whole[berth_deploy_group(d)[i]] >= makespan[i]
          && whole[berth_deploy_group(d)[i]] <= v.seconds);
  }
  for (int32_t i = 0; i < berth_topology_devices(berth_cost_topology(berth_deploy_cost(d))); i++) {
    CHECK(busy[i] >= 0 && busy[i] <= 1 + 1e-12);
    CHECK_NEAR(busy[i] * v.seconds, berth_result_busy(r)[i], 1e-9 * v.seconds);
  }
  RELEASE(c);
}

enum { PROBLEMS = 60, STRATEGIES = 50 };

/* Thousands of strategies of random problems: none below the bound; all as compiled and simulated;
 * rules cover what they may. */
TEST("random strategies: as compiled and simulated, and none below the bound") {
  int32_t below = 0, n = 0, wrong = 0;
  double closest = 0;
  berth_rng r = seeded(5, 0);
  for (int32_t p = 0; p < PROBLEMS; p++) {
    layer_row layer[8];
    deploy_setting s = draw_setting(&r);
    int32_t layers = 1 + berth_rng_below(&r, 8);
    double bound = 0;
    draw_layers(&r, layers, layer);
    berth_deploy *d;
    if (!(d = problem(layers, layer, &s))) continue;
    CHECK_OK(berth_deploy_bound(d, &bound, NULL));
    int32_t action[MOST_GROUPS];
    double peak[MOST_DEVICES];
    uint8_t duplicate[MOST_OPS];
    for (int32_t k = 0; k < STRATEGIES; k++, n++) {
      draw_strategy(&r, d, action);
      CHECK_OK(berth_deploy_repeat(d, action, (berth_deploy_sfb)(k % 3), duplicate));
      berth_deploy_value v = value_of(d, action, duplicate, peak);
      below += !(v.seconds >= bound);
      closest = fmax(closest, bound / v.seconds);
      if (k < 3) same_as_compiled(d, action, duplicate, &v, peak);
      if (k == 3) check_feedback(d, action, duplicate);
    }
    wrong += !(bound > 0);
    RELEASE(d);
  }
  CHECK(below == 0 && wrong == 0);
  printf("# %d strategies, the closest to its bound at %.3f of its time\n", (int)n, closest);
}

/* ---- features ---- */

TEST("features by hand") {
  const layer_row layers[2] = { { 2, 2e6, 3e6 }, { 1, 4e6, 1e6 } };
  deploy_setting s = setting(3, 8, 3);
  float op[3 * 13], device[2 * 5], edge[6], link[4], place[3 * 2 * 5];
  berth_deploy_features f = { op, device, edge, link, place };
  s.bandwidth = 1e6;
  s.speed[2] = 2;
  s.memory[0] = s.memory[1] = 1e9;
  berth_deploy *d;
  if (!(d = problem(2, layers, &s))) return;
  berth_deploy_shape shape;
  CHECK_OK(berth_deploy_features_shape(d, &shape));
  CHECK(shape.groups == 3 && shape.device_groups == 2 && shape.edges == 3);
  int32_t action[MOST_GROUPS];
  uniform(d, find_action(d, 3, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), action);
  berth_deploy_value v;
  CHECK_OK(berth_deploy_features_of(d, action, NULL, 1, 1, BERTH_DEPLOY_SCALE_RAW, 1, &f, &v));
  double norm = hypot(op[0], op[13]);
  CHECK_NEAR(norm, 1, 1e-6);
  for (int32_t k = 0; k < 2; k++) {
    const float *row = op + 13 * k;
    CHECK(row[1] < row[0] && row[3] < row[2] && row[6] == 0 && row[7] == 1 && row[8] == 0);
    CHECK(row[9] > 0 && row[10] >= 0 && row[11] == (k == 0) && row[12] == (k == 1));
    CHECK_NEAR(place[10 * k], 2 * place[10 * k + 5], 1e-6); /* the third device is twice as fast */
    CHECK(place[10 * k + 4] == 1 && place[10 * k + 9] == 1);
  }
  CHECK(device[0] == 0.5f && device[5] == 0.25f && device[1] > 0 && device[6] == 0);
  CHECK(device[2] == 1 && device[3] > 0 && device[8] == 0 && device[4] > 0 && device[9] > 0);
  for (int32_t k = 0; k < 4; k++) CHECK(link[k] == 1);
  /* forward, and back; the input: the heaviest first, then numbered */
  CHECK(shape.from[0] == 0 && shape.to[0] == 1 && shape.from[1] == 1 && shape.to[1] == 0);
  CHECK(shape.from[2] == 2 && shape.to[2] == 0 && edge[2] == edge[0] && edge[1] == 2 * edge[0]);
  CHECK_ERROR(berth_deploy_features_of(d, action, NULL, 4, 0, BERTH_DEPLOY_SCALE_RAW, 0, &f, NULL),
              BERTH_EINVAL, "4 op groups decided: there are 3");
  CHECK_STATUS(berth_deploy_features_of(d, action, NULL, 0, 7, BERTH_DEPLOY_SCALE_LOG, 0, &f, NULL),
               BERTH_EINVAL);
  CHECK_OK(berth_deploy_features_of(d, action, NULL, 0, BERTH_NONE, BERTH_DEPLOY_SCALE_LOG, 0, &f,
           NULL));
  CHECK(op[9] == 0 && op[0] <= 1 && device[4] == 0 && link[0] == 1);
}

/* ---- refusals, allocation failure ---- */

TEST("what is refused") {
  const layer_row layer = { 1, 1, 1 };
  deploy_setting s = setting(2, 8, 1);
  berth_deploy *d = problem(1, &layer, &s);
  int32_t action[MOST_GROUPS] = { 0 };
  uint8_t duplicate[MOST_OPS] = { 0 };
  if (!d) return;
  double seconds[MOST_ACTIONS];
  CHECK_ERROR(berth_deploy_local(d, action, 1, seconds), BERTH_EINVAL, "op group 1: there are 1");
  CHECK_ERROR(berth_deploy_repeat(d, action, (berth_deploy_sfb)9, duplicate), BERTH_EINVAL,
              "there is no rule 9 for repeated ops");
  action[0] = 1000;
  berth_deploy_value v;
  CHECK_STATUS(berth_deploy_evaluate(d, action, NULL, NULL, &v), BERTH_EINVAL);
  CHECK_STATUS(berth_deploy_local(d, action, 0, seconds), BERTH_EINVAL);
  CHECK_STATUS(berth_deploy_repeat(d, action, BERTH_DEPLOY_SFB_CUT, duplicate), BERTH_EINVAL);
  s.given = true;
  s.sim = berth_sim_default(NULL);
  s.sim.noise = 0.1;
  if (!(d = problem(1, &layer, &s))) return;
  CHECK_STATUS(berth_deploy_bound(d, seconds, NULL), BERTH_EUNSUPPORTED);
}

static berth_status whole_job(const void *what) {
  (void)what;
  const layer_row layers[3] = { { 1e-3, 1e5, 1e6 }, { 2e-3, 2e5, 4e6 }, { 1e-3, 1e4, 1e7 } };
  deploy_setting s = setting(3, 9, 3);
  berth_graph *g = chain_of(3, layers);
  berth_deploy *d = NULL;
  berth_deploy_list *l = NULL;
  int32_t action[MOST_GROUPS] = { 0 };
  double makespan[MOST_OPS];
  float op[3 * 13];
  berth_deploy_feedback f = { makespan, NULL, NULL, NULL, NULL, NULL };
  berth_deploy_features features = { op, NULL, NULL, NULL, NULL };
  berth_status st = g ? problem_of(g, &s, &d) : BERTH_ENOMEM;
  int32_t a =
      st == BERTH_OK ? find_action(d, 3, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN) : BERTH_NONE;
  if (a != BERTH_NONE) uniform(d, a, action);
  uint8_t duplicate[MOST_OPS];
  TRY(st, berth_deploy_repeat(d, action, BERTH_DEPLOY_SFB_LOCAL, duplicate));
  TRY(st, berth_deploy_repeat(d, action, BERTH_DEPLOY_SFB_CUT, duplicate));
  berth_deploy_value v;
  TRY(st, berth_deploy_evaluate(d, action, duplicate, NULL, &v));
  TRY(st, berth_deploy_simulate(d, action, duplicate, &f, &v));
  TRY(st, berth_deploy_guard(d, action, duplicate, 4, &v));
  double seconds[MOST_ACTIONS];
  TRY(st, berth_deploy_local(d, action, 0, seconds));
  TRY(st, berth_deploy_bound(d, seconds, NULL));
  berth_deploy_shape shape;
  TRY(st, berth_deploy_features_shape(d, &shape));
  if (st == BERTH_OK)
    st =
        berth_deploy_features_of(d, action, NULL, 0, 0, BERTH_DEPLOY_SCALE_LOG, 1, &features, NULL);
  TRY(st, berth_deploy_baselines(d, &l));
  const int32_t device[MOST_OPS] = { 0 };
  int32_t placed[MOST_GROUPS];
  TRY(st, berth_deploy_from_placement(d, device, placed));
  TRY(st, berth_deploy_prove_infeasible(d, NULL));
  RELEASE(l, d, g);
  return st;
}

/* Whatever runs out of memory on the way, the answer is that. */
TEST("the guard of repeated ops reports what fails on the way") {
  const layer_row layers[3] = { { 1e-3, 1e5, 1e6 }, { 2e-3, 2e5, 4e6 }, { 1e-3, 1e4, 1e7 } };
  check_alloc_state x = { 0, 0, 0 };
  berth_hooks hooks = { check_alloc, &x, NULL, NULL, NULL, NULL };
  deploy_setting s = setting(3, 9, 3);
  int32_t action[MOST_GROUPS] = { 0 };
  berth_deploy_value v = { 0, 0, 0, BERTH_NONE, 0, 0, 0 };
  long n = 0;
  hooked(&hooks);
  berth_deploy *d;
  if (!(d = problem(3, layers, &s))) return;
  uniform(d, find_action(d, 3, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), action);
  uint8_t all[MOST_OPS];
  CHECK_OK(berth_deploy_repeat(d, action, BERTH_DEPLOY_SFB_LOCAL, all));
  CHECK_OK(berth_deploy_evaluate(d, action, all, NULL, &v));
  CHECK(v.repeated > 0);
  uint8_t duplicate[MOST_OPS];
  berth_status st;
  do {
    memcpy(duplicate, all, sizeof all);
    x.fail_at = x.calls + ++n;
    st = berth_deploy_guard(d, action, duplicate, 9, &v);
    CHECK_STATUS(st, x.calls < x.fail_at ? BERTH_OK : BERTH_ENOMEM);
  } while (x.calls >= x.fail_at && n < 5000);
  CHECK(n > 40);
  x.fail_at = 0;
  RELEASE(d);
  hooked(NULL);
  CHECK(x.held == 0);
}

TEST("every allocation refused in turn") { refuse_each(whole_job, NULL, 1, 200); }
TEST("every allocation refused from one on") { refuse_each(whole_job, NULL, -1, 200); }
