/* Features, steps and marks of small graphs, by hand. */
#include "assign_help.h"

/* a (2 s) gives b (3 s) and c (1 s) 5 bytes, and c 1 byte more; b gives d (4 s) 2 bytes, c gives it
 * 7. 1 byte/s on 2 devices. */
static void diamond(setup *s) {
  setup_text(s, "2 3 1 4 0>1,2:5 0>2:1 1>3:2 2>3:7", 2, INFINITY);
}

TEST("features of ops, both kinds of t-levels") {
  static const double code[] = { 2, 20, 2, 0, 12, 3, 9, 7, 6, 2, 1, 12, 10, 6, 7, 4, 4, 14, 9, 0 };
  static const double textbook[] = {
    2, 20, 0, 0, 12, 3, 9, 8, 6, 2, 1, 12, 8, 6, 7, 4, 4, 16, 9, 0
  };
  static const int32_t b_next[] = { 2, 3, 3, BERTH_NONE }, t_next[] = { BERTH_NONE, 0, 0, 2 };
  for (int t = 0; t < 2; t++) {
    berth_assign_options o = berth_assign_default();
    o.t_levels = t ? BERTH_T_LEVELS_TEXTBOOK : BERTH_T_LEVELS_CODE;
    setup s;
    diamond(&s);
    episode_setup x = episodes_of(&s, &o, 1);
    check_doubles(berth_assign_op_features(x.a), t ? textbook : code, 20, "features");
    check_ids(berth_assign_b_next(x.a), b_next, 4, "b-paths");
    check_ids(berth_assign_t_next(x.a), t_next, 4, "t-paths");
    RELEASE(x.e, x.a);
  }
}

TEST("edges, both kinds of costs") {
  static const int32_t src[] = { 1, 2, 0, 3, 0, 3, 1, 2 }, dst[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
  static const double seconds[2][8] = { { 6, 6, 6, 2, 6, 7, 2, 7 }, { 2, 7, 6, 0, 6, 0, 2, 7 } };
  for (int t = 0; t < 2; t++) {
    berth_assign_options o = berth_assign_default();
    o.edge_costs = t ? BERTH_EDGE_COSTS_CODE : BERTH_EDGE_COSTS_PRODUCER;
    setup s;
    diamond(&s);
    episode_setup x = episodes_of(&s, &o, 1);
    const int32_t *from, *to;
    const double *c;
    if (CHECK(berth_assign_edges(x.a, &from, &to, &c) == 8)) {
      check_ids(from, src, 8, "sources");
      check_ids(to, dst, 8, "destinations");
      check_doubles(c, seconds[t], 8, "edges");
    }
    RELEASE(x.e, x.a);
  }
}

TEST("features of devices, both kinds of estimates") {
  static const double of_c[] = { 2, 2, 0, 2, 2, 0, 0, 0, 0, 7 };
  static const double of_b[2][10] = { { 2, 2, 0, 2, 2, 1, 0, 0, 0, 8 },
                                      { 2, 2, 0, 2, 2, 1, 0, 0, 0, 7 } };
  static const double of_d[2][10] = { { 5, 3, 2, 5, 15, 1, 1, 7, 8, 8 },
                                      { 5, 3, 2, 5, 8, 1, 1, 0, 1, 7 } };
  for (int t = 0; t < 2; t++) {
    berth_assign_options o = berth_assign_default();
    o.estimates = t ? BERTH_ESTIMATES_LOAD : BERTH_ESTIMATES_EXACT;
    setup s;
    diamond(&s);
    episode_setup x = episodes_of(&s, &o, 1);
    CHECK(berth_assign_steps(x.a) == 4 && berth_assign_device_features(x.a) == 5);
    check_candidates(x.e, 1, (const int32_t[]){ 0 });
    put(x.e, 0, 0);
    check_candidates(x.e, 2, (const int32_t[]){ 1, 2 });
    check_devices(x.e, 2, 10, of_c);
    put(x.e, 2, 1);
    check_devices(x.e, 1, 10, of_b[t]);
    put(x.e, 1, 0);
    check_devices(x.e, 3, 10, of_d[t]);
    put(x.e, 3, 1);
    check_candidates(x.e, 0, NULL);
    check_ids(berth_episodes_placement(x.e), (const int32_t[]){ 0, 0, 1, 1 }, 4, "placement");
    RELEASE(x.e, x.a);
  }
}

/* Both ways from 0 to 3 are equally long: op 2 is the first in the order of edges, both from 0 and
 * from 3. */
TEST("the first of equal paths") {
  setup s = setup_started();
  setup_add(&s, "1 1 1 1");
  int32_t t = setup_tensor(&s, 0, 1);
  setup_use(&s, t, 2);
  setup_use(&s, t, 1);
  setup_add(&s, "2>3:1 1>3:1");
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  check_ids(berth_assign_b_next(x.a), (const int32_t[]){ 2, 3, 3, BERTH_NONE }, 4, "b-paths");
  check_ids(berth_assign_t_next(x.a), (const int32_t[]){ BERTH_NONE, 0, 0, 2 }, 4, "t-paths");
  RELEASE(x.e, x.a);
}

/* op 1 (3 s, pinned to device 1) reads 4 bytes of op 0 (2 s): its time is reserved before it is
 * placed. */
TEST("pins") {
  static const double want[] = { 0, 0, 0, 0, 0, 3, 0, 0, 0, 3 };
  berth_op pinned = berth_op_default();
  double three = 3;
  int32_t op = 0;
  pinned.seconds = &three;
  pinned.pin = 1;
  setup s = setup_started();
  setup_add(&s, "2");
  must_add_op(s.b, &pinned);
  setup_add(&s, "0>1:4 1 1>2:1");
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  CHECK(berth_assign_steps(x.a) == 2);
  check_candidates(x.e, 1, (const int32_t[]){ 0 });
  check_devices(x.e, 0, 10, want);
  uint8_t may[2];
  CHECK_OK(berth_episodes_allowed(x.e, &op, may));
  CHECK(may[0] && may[1]);
  uint8_t best[2];
  CHECK_OK(berth_episodes_teacher_devices(x.e, &op, best));
  CHECK(best[0] && !best[1]);
  put(x.e, 0, 0);
  check_candidates(x.e, 1, (const int32_t[]){ 2 });
  check_devices(x.e, 2, 10, (const double[]){ 2, 0, 0, 0, 10, 3, 3, 6, 9, 9 });
  put(x.e, 2, 1);
  check_ids(berth_episodes_placement(x.e), (const int32_t[]){ 0, 1, 1 }, 3, "placement");
  RELEASE(x.e, x.a);
}

/* Everything is pinned: an episode without steps. */
TEST("an episode without decisions") {
  berth_op pinned = berth_op_default();
  double one = 1;
  int32_t op = 0, device = 0;
  pinned.seconds = &one;
  pinned.pin = 1;
  setup s = setup_started();
  for (int i = 0; i < 3; i++)
    must_add_op(s.b, &pinned);
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 2);
  CHECK(berth_assign_steps(x.a) == 0);
  check_ids(berth_episodes_placement(x.e), (const int32_t[]){ 1, 1, 1, 1, 1, 1 }, 6, "placement");
  CHECK_ERROR(berth_episodes_assign(x.e, &op, &device), BERTH_EINVAL,
              "episodes: all 0 steps are taken");
  berth_episode_log log;
  if (CHECK_OK(berth_episodes_log(x.e, &log)))
    CHECK(log.n_rows == 0 && log.first[0] == 0);
  RELEASE(x.e, x.a);
}

/* A chain of four: 0 and 2 are a colocation group, 1 and 3 have one unit. */
TEST("groups and units") {
  static const int32_t unit[] = { 4, INT32_MAX, 9, INT32_MAX };
  berth_assign_options o = berth_assign_default();
  double one = 1;
  o.unit = unit;
  setup s = setup_started();
  for (int32_t i = 0; i < 4; i++) {
    berth_op op = berth_op_default();
    op.seconds = &one;
    op.group = i % 2 ? BERTH_NONE : 0;
    must_add_op(s.b, &op);
    if (i > 0) setup_edge(&s, i - 1, i, 1);
  }
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, &o, 1);
  CHECK(berth_assign_steps(x.a) == 2);
  check_ids(berth_assign_units(x.a), (const int32_t[]){ 0, 1, 0, 1 }, 4, "units");
  put(x.e, 0, 1);
  /* op 1: device 1 has 2 s, of which op 2's second is reserved: 1 + 1 */
  check_devices(x.e, 1, 10, (const double[]){ 0, 0, 0, 0, 2, 2, 1, 0, 1, 2 });
  put(x.e, 1, 0);
  CHECK(berth_episodes_step(x.e) == 2);
  check_ids(berth_episodes_placement(x.e), (const int32_t[]){ 1, 0, 1, 0 }, 4, "placement");
  RELEASE(x.e, x.a);
}

TEST("units that cannot be") {
  static const int32_t together[] = { 3, 3 }, negative[] = { 0, -2 };
  berth_assign *a = NULL;
  berth_assign_options o = berth_assign_default();
  double one = 1;
  setup s = setup_started();
  for (int32_t i = 0; i < 2; i++) {
    berth_op op = berth_op_default();
    op.seconds = &one;
    op.pin = i;
    must_add_op(s.b, &op);
  }
  setup_mesh(&s, 2, INFINITY);
  o.unit = together;
  CHECK_ERROR(berth_assign_new(s.cost, &o, &a), BERTH_EINFEASIBLE,
              "assignment: no device can run all of the unit of op 0");
  o.unit = negative;
  CHECK_ERROR(berth_assign_new(s.cost, &o, &a), BERTH_EINVAL,
              "assignment: unit -2 of op 1 is negative");
  o = berth_assign_default();
  o.estimates = (berth_estimates)7;
  CHECK_ERROR(berth_assign_new(s.cost, &o, &a), BERTH_EINVAL, "option estimates is 7 (0 to 1)");
  CHECK(!a);
}

/* a (2 s) -> communication (4 s) -> b (1 s), and c (5 s) by itself: communication holds no
 * device. */
TEST("communication holds no device") {
  berth_op op = berth_op_default();
  double four = 4;
  op.seconds = &four;
  op.flags = BERTH_OP_COMMUNICATION;
  setup s = setup_started();
  setup_add(&s, "2");
  must_add_op(s.b, &op);
  setup_add(&s, "1 5 0>1:3 1>2:3");
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  put(x.e, 3, 0);
  put(x.e, 0, 1);
  /* on device 0 it begins when a's output is there, though the device is taken until 5 */
  check_devices(x.e, 1, 10, (const double[]){ 5, 0, 0, 0, 5, 2, 2, 0, 2, 2 });
  put(x.e, 1, 1);
  check_devices(x.e, 2, 10, (const double[]){ 5, 0, 0, 0, 9, 2, 4, 2, 6, 6 });
  RELEASE(x.e, x.a);
}

/* A device of speed 1, one of speed 2; op 1 (3 s) only runs on type "cpu", which is the slow
 * one. */
TEST("devices of different kinds") {
  static const char *const types[] = { "cpu", "gpu" };
  const double anywhere[] = { 4, 4 }, cpu_only[] = { 3, BERTH_UNSUPPORTED };
  int32_t one = 1;
  setup s = setup_started();
  CHECK_OK(berth_graph_builder_types(s.b, 2, types));
  for (int i = 0; i < 2; i++) {
    berth_op op = berth_op_default();
    op.seconds = i ? cpu_only : anywhere;
    must_add_op(s.b, &op);
  }
  setup_edge(&s, 0, 1, 1);
  setup_wires(&s, "1:cpu 2:gpu 0-1:1");
  episode_setup x = episodes_of(&s, NULL, 1);
  check_doubles(berth_assign_op_features(x.a), (const double[]){ 3, 7, 3, 0, 1, 3, 3, 6, 1, 0 }, 10,
                "features");
  put(x.e, 0, 1);
  check_devices(x.e, 1, 10, (const double[]){ 0, 0, 0, 0, 3, 2, 2, 0, 2, INFINITY });
  uint8_t may[2];
  CHECK_OK(berth_episodes_allowed(x.e, &one, may));
  CHECK(may[0] && !may[1]);
  CHECK_ERROR(berth_episodes_assign(x.e, &one, &one), BERTH_EINVAL,
              "episodes: op 1 cannot run on device 1");
  put(x.e, 1, 0);
  RELEASE(x.e, x.a);
}

/* 0 and 1 meet at both 2 and 3: what is known of 0 (2 s) counts twice for 1. */
TEST("partners") {
  berth_assign_options o = berth_assign_default();
  o.partners = 1;
  setup s = setup_started();
  setup_add(&s, "2 2 2 2");
  for (int i = 0; i < 4; i++) setup_edge(&s, i / 2, 2 + i % 2, 1);
  setup_mesh(&s, 2, INFINITY);
  episode_setup x = episodes_of(&s, &o, 1);
  CHECK(berth_assign_device_features(x.a) == 6);
  put(x.e, 0, 1);
  check_devices(x.e, 1, 12, (const double[]){ 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 4 });
  RELEASE(x.e, x.a);
}

/* 0 (1 s), 1 and 2 (5 s) by themselves: of largest b-level are 1 and 2, the first two candidates
 * are 0 and 1. */
TEST("the teacher") {
  int32_t op = 0;
  setup s = setup_of("1 5 5", 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  uint8_t best[3];
  CHECK_OK(berth_episodes_teacher_ops(x.e, BERTH_TEACHER_TEXTBOOK, best));
  CHECK(!best[0] && best[1] && best[2]);
  CHECK_OK(berth_episodes_teacher_ops(x.e, BERTH_TEACHER_CODE, best));
  CHECK(best[0] && best[1] && !best[2]);
  CHECK_OK(berth_episodes_teacher_devices(x.e, &op, best));
  CHECK(best[0] && best[1]);
  put(x.e, 1, 0);
  CHECK_OK(berth_episodes_teacher_devices(x.e, &op, best));
  CHECK(!best[0] && best[1]);
  RELEASE(x.e, x.a);
}

/* What the teacher says of one op does not disturb what was told of another. */
TEST("the log has the given values") {
  int32_t asked = 0, other = 1;
  setup s = setup_of("1 2", 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  berth_episode_log log;
  CHECK_ERROR(berth_episodes_log(x.e, &log), BERTH_EINVAL, "episodes: only 0 of 2 steps are taken");
  double told[10];
  uint8_t best[2];
  for (int round = 0; round < 2; round++) {
    berth_episodes_start(x.e, 1, 0);
    CHECK_OK(berth_episodes_devices(x.e, &asked, told));
    CHECK_OK(berth_episodes_teacher_devices(x.e, &other, best));
    put(x.e, asked, 0);
    if (round == 0) CHECK_OK(berth_episodes_devices(x.e, &other, told));
    put(x.e, other, 1);
    if (!CHECK_OK(berth_episodes_log(x.e, &log))) continue;
    check_ids(log.op, (const int32_t[]){ 0, 1 }, 2, "ops");
    check_ids(log.device, (const int32_t[]){ 0, 1 }, 2, "devices");
    check_ids(log.first, (const int32_t[]){ 0, 2, 3 }, 3, "first");
    check_ids(log.candidates, (const int32_t[]){ 0, 1, 1 }, 3, "candidates");
    check_ids(log.chosen, (const int32_t[]){ 0, 0 }, 2, "chosen");
    if (round == 0 && CHECK(log.devices)) check_doubles(log.devices + 10, told, 10, "told");
    if (round == 1) CHECK(!log.devices);
  }
  RELEASE(x.e, x.a);
}

TEST("choices") {
  static const int32_t first[] = { 0, 3 };
  const float score[] = { -INFINITY, 1, 1 };
  int32_t seen[3] = { 0 };
  setup s = setup_of("1", 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  int32_t at;
  for (int how = BERTH_CHOICE_SAMPLE; how <= BERTH_CHOICE_RANDOM_TIES; how++) {
    for (int i = 0; i < 1000; i++) {
      CHECK_OK(berth_episodes_choose(x.e, first, score, (berth_episodes_choice)how, 0.25, &at));
      seen[at]++;
    }
    /* the ruled-out one never; greedy the first, but for half of the quarter */
    CHECK(seen[0] == 0);
    if (how == BERTH_CHOICE_GREEDY) CHECK(seen[2] > 75 && seen[2] < 175);
    else CHECK(seen[2] > 400 && seen[2] < 600);
    memset(seen, 0, sizeof seen);
  }
  RELEASE(x.e, x.a);
}

TEST("choices refused") {
  static const int32_t first[] = { 0, 2 };
  const float none[] = { -INFINITY, -INFINITY }, nan[] = { 1, NAN }, infinite[] = { INFINITY, 0 },
              fine[] = { 0, 0 };
  int32_t at = 7;
  setup s = setup_of("1", 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  CHECK_ERROR(berth_episodes_choose(x.e, first, none, BERTH_CHOICE_SAMPLE, 0, &at), BERTH_EINVAL,
              "choose: segment 0 leaves nothing to choose from");
  CHECK_ERROR(berth_episodes_choose(x.e, first, nan, BERTH_CHOICE_SAMPLE, 0, &at), BERTH_EINVAL,
              "choose: a score of segment 0 is NaN");
  CHECK_ERROR(berth_episodes_choose(x.e, first, infinite, BERTH_CHOICE_SAMPLE, 0, &at),
              BERTH_EINVAL, "choose: a score of segment 0 is infinite");
  CHECK_ERROR(berth_episodes_choose(x.e, first, fine, BERTH_CHOICE_SAMPLE, 1.5, &at), BERTH_EINVAL,
              "choose: epsilon 1.5 is not from 0 to 1");
  CHECK_STATUS(berth_episodes_choose(x.e, first, fine, (berth_episodes_choice)9, 0, &at),
               BERTH_EINVAL);
  CHECK(at == 7);
  RELEASE(x.e, x.a);
}

TEST("steps refused") {
  setup s;
  berth_episodes *none = NULL;
  int32_t op = 3, device = 2, zero = 0;
  diamond(&s);
  episode_setup x = episodes_of(&s, NULL, 1);
  double told[10];
  CHECK_ERROR(berth_episodes_devices(x.e, &op, told), BERTH_EINVAL,
              "episodes: op 3 is no candidate of episode 0");
  CHECK_ERROR(berth_episodes_assign(x.e, &zero, &device), BERTH_EINVAL,
              "episodes: device 2 of episode 0 is not among devices 0..1");
  CHECK_STATUS(berth_episodes_new(x.a, 0, &none), BERTH_EINVAL);
  CHECK_STATUS(berth_episodes_new(x.a, INT32_MAX, &none), BERTH_EINVAL);
  CHECK(!none && berth_episodes_step(x.e) == 0);
  RELEASE(x.e, x.a);
}
