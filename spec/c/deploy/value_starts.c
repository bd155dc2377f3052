/* Ops that replicas repeat, and strategies to begin with. */
#include "deploy_value_help.h"

/* ---- repeated ops ---- */

/* A 1024 x 1024 layer whose gradient takes 40 us, at a batch of 6 on 2 devices, saves 1.46 ms; one
 * with large activations and few weights nothing. */
TEST("gradients are repeated where it pays") {
  const layer_row thin = { 40e-6, 6 * 1024 * 4, 4 << 20 }, thick = { 40e-6, 4 << 20, 6 * 1024 * 4 };
  deploy_setting s = setting(2, 6, 1);
  s.bandwidth = 2.81e9;
  s.latency = 0;
  int32_t action[MOST_GROUPS];
  for (int32_t k = 0; k < 2; k++) {
    berth_deploy *d = problem(1, k ? &thick : &thin, &s);
    if (!d) continue;
    uniform(d, find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), action);
    for (berth_deploy_sfb rule = BERTH_DEPLOY_SFB_LOCAL; rule <= BERTH_DEPLOY_SFB_CUT; rule++) {
      uint8_t duplicate[MOST_OPS];
      int32_t sum = 0;
      CHECK_OK(berth_deploy_repeat(d, action, rule, duplicate));
      for (int32_t i = 0; i < 6; i++) sum += duplicate[i];
      CHECK(sum == (k ? 0 : 1) && duplicate[op_of(0, WEIGHTS)] == (k ? 0 : 1));
    }
  }
}

TEST("the guard keeps the better") {
  int32_t gained = 0;
  berth_rng r = seeded(9, 0);
  for (int32_t p = 0; p < 30; p++) {
    layer_row layer[6];
    deploy_setting s = draw_setting(&r);
    int32_t n = PER_LAYER * 6 + 1;
    draw_layers(&r, 6, layer);
    berth_deploy *d;
    if (!(d = problem(6, layer, &s))) continue;
    int32_t action[MOST_GROUPS];
    uniform(d, find_action(d, s.devices, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), action);
    uint8_t duplicate[MOST_OPS];
    for (int32_t i = 0; i < n; i++) duplicate[i] = i > 0 && (i - 1) % PER_LAYER == WEIGHTS - 1;
    uint8_t all[MOST_OPS];
    memcpy(all, duplicate, (size_t)n);
    berth_deploy_value none = value_of(d, action, NULL, NULL);
    berth_deploy_value every = value_of(d, action, all, NULL);
    berth_deploy_value kept;
    CHECK_OK(berth_deploy_guard(d, action, duplicate, 20, &kept));
    CHECK(kept.seconds <= none.seconds && kept.seconds <= every.seconds);
    CHECK(value_of(d, action, duplicate, NULL).seconds == kept.seconds);
    gained += kept.seconds < none.seconds;
    CHECK_ERROR(berth_deploy_guard(d, action, duplicate, 1, &kept), BERTH_EINVAL,
                "1 evaluations: it takes at least 2");
  }
  CHECK(gained > 0);
}

/* ---- strategies to begin with ---- */

static int32_t find_name(const berth_deploy_list *l, const char *name) {
  for (int32_t k = 0; k < berth_deploy_list_size(l); k++) {
    if (strcmp(berth_deploy_list_name(l, k), name) == 0) return k;
  }
  return BERTH_NONE;
}

/* Eight layers of 1 MB of weights, held as parameters and as what their op makes, on four devices
 * of some 6.5 MB. */
TEST("a chain fits where replicas do not") {
  static const char *const names[] = { "dp",     "dp-speed", "dp-ps", "model-parallel",
                                       "single", "heterog",  "chain", "uniform-1" };
  layer_row layer[8];
  deploy_setting s = setting(4, 8, 8);
  int32_t k;
  for (k = 0; k < 8; k++) layer[k] = (layer_row){ 1e-3, 1e4, 1e6 };
  for (k = 0; k < 4; k++) s.memory[k] = 6.5e6 + 1e5 * k;
  s.speed[1] = 2;
  berth_deploy *d;
  if (!(d = problem(8, layer, &s))) return;
  berth_deploy_list *l = must_deploy_baselines(d);
  for (k = 0; l && k < (int32_t)(sizeof names / sizeof *names); k++) {
    int32_t at = find_name(l, names[k]);
    CHECK(at != BERTH_NONE);
    if (at == BERTH_NONE) continue;
  }
  k = l ? find_name(l, "dp") : BERTH_NONE;
  if (k != BERTH_NONE) CHECK(berth_deploy_list_value(l, k)->over == 4);
  k = l ? find_name(l, "chain") : BERTH_NONE;
  if (k != BERTH_NONE) {
    berth_deploy_value v = value_of(d, berth_deploy_list_action(l, k), NULL, NULL);
    CHECK(v.over == 0 && v.shortfall == 0 && v.seconds == berth_deploy_list_value(l, k)->seconds);
  }
  CHECK(berth_deploy_list_name(l, -1) == NULL && berth_deploy_list_action(l, 1000) == NULL);
}

/* Layer 0 on device 1, the others on device 0, but for one op without bytes. */
TEST("the strategy of a placement") {
  enum { LAYERS = 3 };
  layer_row layer[LAYERS];
  deploy_setting s = setting(2, 8, LAYERS);
  for (int32_t k = 0; k < LAYERS; k++) layer[k] = (layer_row){ 1e-3 * (LAYERS - k), 1e4, 1e6 };
  berth_deploy *d;
  if (!(d = problem(LAYERS, layer, &s))) return;
  const int32_t *group = berth_deploy_group(d);
  int32_t device[1 + PER_LAYER * LAYERS] = { 0 }, action[LAYERS] = { -1, -1, -1 };
  for (int32_t op = 0; op < 1 + PER_LAYER * LAYERS; op++)
    device[op] = group[op] == group[op_of(0, VARIABLE)];
  device[op_of(1, UPDATE)] = 1;
  CHECK_OK(berth_deploy_from_placement(d, device, action));
  const berth_action *all;
  berth_deploy_actions(d, &all);
  for (int32_t g = 0; g < LAYERS; g++) {
    const int32_t *list;
    CHECK(berth_deploy_set(d, all[action[g]].set, &list) == 1);
    CHECK(list[0] == (g == group[op_of(0, VARIABLE)]));
  }
  device[0] = 2;
  CHECK_ERROR(berth_deploy_from_placement(d, device, action), BERTH_EINVAL,
              "op 0 is on device 2 (there are 2)");
  device[0] = 0;
  const int32_t at[] = { 0, 2 }, both[] = { 0, 1 };
  s.o.n_sets = 1;
  s.o.set_at = at;
  s.o.set_device = both;
  if (!(d = problem(LAYERS, layer, &s))) return;
  CHECK_ERROR(berth_deploy_from_placement(d, device, action), BERTH_EINFEASIBLE,
              "op group 0 has no action that puts it on device \"d1\" alone");
}

/* 2 layers of 1 MB, held four times as parameters: 4 MB each, 8 MB all. */
TEST("proofs that nothing fits") {
  static const struct {
    double memory[2];
    const char *text;
    double missing;
    int32_t op;
  } cases[] = { { { 9e6, 1e6 }, NULL, 0, 0 },
                { { 4e6, 4e6 }, NULL, 0, 0 },
                { { 4.5e6, 2.5e6 },
                  "nothing fits: all parameters need 8 MB, all devices have 7 MB: 1 MB are missing",
                  1e6, BERTH_NONE },
                { { 3e6, 3.5e6 },
                  "nothing fits: parameters of op 1 need 4 MB, no device that can run it has more "
                  "than 3.5 MB: 500 kB are missing",
                  0.5e6, 1 } };
  const layer_row layer[2] = { { 1e-3, 1e4, 1e6 }, { 1e-3, 1e4, 1e6 } };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    deploy_setting s = setting(2, 8, 2);
    memcpy(s.memory, cases[k].memory, sizeof cases[k].memory);
    s.given = true;
    s.sim = berth_sim_default(NULL);
    s.sim.memory = BERTH_MEMORY_TRAINING;
    s.sim.param_multiple = 4;
    berth_obstacle why = { 77, 77, 0 };
    berth_deploy *d;
    if (!(d = problem(2, layer, &s))) return;
    if (!cases[k].text) {
      CHECK_OK(berth_deploy_prove_infeasible(d, &why));
      CHECK(why.op == 77);
      continue;
    }
    CHECK_ERROR(berth_deploy_prove_infeasible(d, &why), BERTH_EINFEASIBLE, cases[k].text);
    CHECK(why.op == cases[k].op && why.missing == cases[k].missing);
    s.sim.memory = BERTH_MEMORY_NONE;
    if (!(d = problem(2, layer, &s))) return;
    CHECK_OK(berth_deploy_prove_infeasible(d, NULL));
  }
}

/* The second device takes 3e10 s for what the first does in 3 ms: more microseconds than can be
 * counted. */
TEST("what never ends is passed over") {
  const layer_row layer = { 1e-3, 100, 40 };
  deploy_setting s = setting(2, 8, 1);
  berth_deploy_search_options o = berth_deploy_search_default(0);
  berth_deploy_value v = { -1, 0, 0, BERTH_NONE, 0, 0, 0 };
  s.speed[1] = 1e-13;
  s.o.uneven = 0;
  s.given = true;
  s.sim = berth_sim_default(NULL);
  s.sim.quantum = 1e-6;
  berth_deploy *d;
  if (!(d = problem(1, &layer, &s))) return;
  int32_t one = find_action(d, 1, 0, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  int32_t both = find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN);
  int32_t action[MOST_GROUPS];
  uniform(d, both, action);
  CHECK_STATUS(berth_deploy_evaluate(d, action, NULL, NULL, &v), BERTH_EUNREACHABLE);
  CHECK(strstr(berth_errmsg(ctx), " would end later than 9007199254740992 quanta of 1e-06 s")
            != NULL
        && v.seconds == -1);
  uint8_t duplicate[MOST_OPS];
  CHECK_STATUS(berth_deploy_evaluate_rule(d, action, BERTH_DEPLOY_SFB_LOCAL, duplicate, NULL, &v),
               BERTH_EUNREACHABLE);
  uniform(d, one, action);
  CHECK_NEAR(value_of(d, action, NULL, NULL).seconds, 3.01e-3, 1e-5);
  berth_deploy_list *l = must_deploy_baselines(d);
  CHECK(berth_deploy_list_size(l) > 0);
  for (int32_t k = 0; k < berth_deploy_list_size(l); k++)
    CHECK(berth_deploy_list_action(l, k)[0] == one);
  for (o.baselines = 0; o.baselines < 2; o.baselines++) {
    berth_decider *search = must_deploy_decider(d, &o);
    if (!search) continue;
    CHECK_OK(berth_decider_search(search, 40, 0));
    berth_decide_report r = must_decider_best(search, action);
    CHECK_NEAR(r.value, 3.01e-3, 1e-5);
  }
}
