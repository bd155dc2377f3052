/* Limits of the list placers: what does not fit is named, what fits is found, interrupts and
 * refused memory come out in order. */
#include "place_engine_help.h"

static const char *const placers[] = { "m-etf", "m-sct",  "etf",    "heft",          "cpop",
                                       "peft",  "minmin", "blevel", "critical-path", NULL };

static void tell(const char *placer) {
  printf("# %s: %s\n", placer, berth_errmsg(ctx));
}

typedef struct row {
  double seconds, param, workspace;
  int32_t group, pin;
} row;

/* Ops without edges on devices of the given memory, all linked. */
static instance loose(const row *rows, int n, const double *memory, int devices) {
  berth_graph_builder *b;
  berth_link l = { 1, 0 };
  instance x = { NULL, NULL, NULL };
  berth_graph_builder_new(ctx, &b);
  for (int i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    op.seconds = &rows[i].seconds;
    op.param_bytes = rows[i].param;
    op.workspace_bytes = rows[i].workspace;
    op.group = rows[i].group;
    op.pin = rows[i].pin;
    berth_graph_builder_add_op(b, &op, NULL);
  }
  x.g = must_graph(b);
  berth_topology_builder *tb;
  berth_topology_builder_new(ctx, &tb);
  for (int i = 0; i < devices; i++) {
    berth_device d = berth_device_default();
    d.memory = memory[i];
    berth_topology_builder_add_device(tb, &d, NULL, NULL);
    for (int j = 0; j < i; j++) berth_topology_builder_add_duplex(tb, j, i, &l, NULL);
  }
  x.t = must_topology(tb);
  x.cost = must_cost_new(x.g, x.t, NULL);
  return x;
}

TEST("an op that fits nowhere: op, closest device, bytes") {
  static const row rows[] = { { 1, 5, 0, -1, -1 }, { 1, 30, 4, -1, -1 }, { 1, 5, 0, -1, -1 } };
  static const double memory[] = { 20, 32, 8 };
  instance x = loose(rows, 3, memory, 3);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    berth_obstacle why = { -9, -9, -9 };
    CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, &why), BERTH_EINFEASIBLE);
    CHECK(p == NULL && why.op == 1 && why.device == 1 && why.missing == 2);
    if (!CHECK(says("op 1")))
      printf("# %s: %s\n", placers[i], berth_errmsg(ctx));
  }
  release_instance(&x);
}

static void refuses(const instance *x, const char *placer, berth_obstacle want,
                    const char *reason) {
  static const berth_policy mine = { .name = "mine" };
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  berth_obstacle why = { -9, -9, -9 };
  o.policy = &mine;
  CHECK_STATUS(berth_place(x->cost, placer, &o, &p, &why), BERTH_EINFEASIBLE);
  CHECK(p == NULL && why.op == want.op && why.device == want.device
        && fabs(why.missing - want.missing) < 1e-9);
  char text[200];
  snprintf(text, sizeof text, "%s: %s", strcmp(placer, "policy") == 0 ? "mine" : placer, reason);
  CHECK_TEXT(berth_errmsg(ctx), text);
}

static const char *const all_but_single[] = { "m-etf",  "etf",    "heft",   "cpop",
                                              "peft",   "minmin", "blevel", "critical-path",
                                              "policy", "m-topo", "metis",  "round-robin",
                                              "random", NULL };

static void names_the_total(void) {
  static const row rows[] = {
    { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 1, -1, -1 }
  };
  static const double memory[] = { 5, 6 };
  instance x = loose(rows, 4, memory, 2);
  berth_obstacle total = { BERTH_NONE, BERTH_NONE, 2 }, alone = { BERTH_NONE, 1, 3 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(&x, all_but_single[i], total,
            "cannot fit: 13 B must be held by all 2 devices, with room for 11 B: 2 B are missing");
  }
  refuses(&x, "single", total,
          "cannot fit: 13 B must be held by all 2 devices, with room for 11 B: 2 B are missing");
  release_instance(&x);
  x = loose(rows, 3, memory, 2); /* three ops fit, but not on one device */
  refuses(
      &x, "single", alone,
      "no placement found: the graph does not fit: device \"d1\" comes closest, 3 B are missing");
  release_instance(&x);
}

static void names_the_pins(void) {
  static const row rows[] = { { 1, 3, 0, -1, 0 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, 0 } };
  static const double memory[] = { 5, 50 };
  instance x = loose(rows, 3, memory, 2);
  berth_obstacle want = { BERTH_NONE, 0, 1 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(&x, all_but_single[i], want,
            "cannot fit: 6 B must be held by device \"d0\", with room for 5 B: 1 B are missing");
  }
  release_instance(&x);
}

static void names_the_count(void) {
  static const row rows[] = { { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 } };
  static const double memory[] = { 5, 5 };
  instance x = loose(rows, 3, memory, 2);
  berth_obstacle want = { 2, 0, 1 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(&x, all_but_single[i], want,
            "cannot fit: 3 ops or groups need at least 3 B each, and all devices hold 2 such: op "
            "2 does not fit, device \"d0\" comes closest, 1 B are missing");
  }
  release_instance(&x);
}

/* Greedy placing by start puts the small ops on both devices first; then the large one fits
 * nowhere. */
TEST("where greedy placing gets stuck, packing finds a way") {
  static const row rows[] = { { 1, 5, 0, -1, -1 }, { 1, 5, 0, -1, -1 }, { 1, 10, 0, -1, -1 } };
  static const double memory[] = { 10, 10 };
  instance x = loose(rows, 3, memory, 2);
  berth_place_options o = berth_place_default(NULL);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_OK(berth_place(x.cost, placers[i], &o, &p, NULL)))
      tell(placers[i]);
    if (p) CHECK(check_plan(&x, p, &o, 0));
    RELEASE(p);
  }
  o.variant = "baechi-tf"; /* the published placer gives up here */
  {
    berth_placement *p = NULL;
    CHECK_STATUS(berth_place(x.cost, "m-etf", &o, &p, NULL), BERTH_EINFEASIBLE);
  }
  release_instance(&x);
}

/* Two groups: of the second, op 3 runs on device 1 only, so op 2 goes there, too. */
TEST("a group is placed where all of its ops can run, the second group, too") {
  static const row rows[] = {
    { 1, 0, 0, 0, -1 }, { 1, 0, 0, 0, -1 }, { 3, 0, 0, 1, -1 }, { 1, 0, 0, 1, 1 }
  };
  static const double memory[] = { 9, 9 };
  instance x = loose(rows, 4, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_OK(berth_place(x.cost, placers[i], NULL, &p, NULL))) continue;
    if (!CHECK(berth_placement_device(p)[2] == 1 && berth_placement_device(p)[3] == 1))
      tell(placers[i]);
    RELEASE(p);
  }
  release_instance(&x);
}

TEST("a group is placed where all of it fits") {
  /* device 0 has room for op 0 alone, not for its group */
  static const row rows[] = { { 1, 5, 0, 0, -1 }, { 1, 5, 0, 0, -1 }, { 1, 5, 3, 0, -1 } };
  static const double memory[] = { 17, 18 };
  instance x = loose(rows, 3, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_OK(berth_place(x.cost, placers[i], NULL, &p, NULL))) continue;
    for (int k = 0; k < 3; k++) CHECK(berth_placement_device(p)[k] == 1);
    RELEASE(p);
  }
  release_instance(&x);
}

TEST("pinned ops keep their room") {
  /* what is pinned to device 0 is counted there from the start */
  static const row rows[] = { { 1, 6, 0, -1, -1 }, { 1, 6, 0, -1, -1 }, { 1, 8, 0, -1, 0 } };
  static const double memory[] = { 10, 12 };
  instance x = loose(rows, 3, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_OK(berth_place(x.cost, placers[i], NULL, &p, NULL))) continue;
    CHECK(berth_placement_device(p)[0] == 1 && berth_placement_device(p)[1] == 1
          && berth_placement_device(p)[2] == 0);
    RELEASE(p);
  }
  release_instance(&x);
}

/* Two islands; the ends of a path are pinned to them, the middle can reach neither both. */
TEST("no route") {
  instance x = { must_graph_of_text("1@0 1@1 1 0>2:1 1>2:1"),
                 must_topology_of_text("1 1"), NULL };
  x.cost = must_cost_new(x.g, x.t, NULL);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_EUNREACHABLE))
      tell(placers[i]);
    RELEASE(p);
  }
  release_instance(&x);
}

TEST("variants refuse options that they would ignore") {
  static const row rows[] = { { 1, 0, 0, -1, -1 } };
  static const double memory[] = { 1 };
  instance x = loose(rows, 1, memory, 1);
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  o.variant = "baechi-tf";
  o.links = BERTH_LINKS_DUPLEX;
  CHECK_STATUS(berth_place(x.cost, "m-etf", &o, &p, NULL), BERTH_EINVAL);
  o.links = BERTH_LINKS_CHANNEL;
  p = must_place(x.cost, "m-etf", &o);
  RELEASE(p);
  p = NULL;
  o.variant = "code";
  CHECK_STATUS(berth_place(x.cost, "critical-path", &o, &p, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_place(x.cost, "heft", &o, &p, NULL), BERTH_EINVAL);
  CHECK(p == NULL);
  release_instance(&x);
}

/* ---- interrupts ---- */

static int stop(void *ud) { return ++*(int *)ud >= 2; }

TEST("interrupts") {
  int calls = -1000000; /* not while the problem is made */
  berth_hooks hooks = { .interrupt = stop, .ud = &calls };
  hooked(&hooks);
  berth_rng rng = seeded(1, 0);
  instance x;
  CHECK(random_instance(&rng, 0, 5000, 3, &x));
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    calls = 0;
    CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_EINTERRUPT);
    CHECK(calls == 2 && p == NULL);
  }
  RELEASE(x.cost, x.t, x.g);
  hooked(NULL);
}

/* ---- refused memory ---- */

static void refuse_all(check_alloc_state *s, const instance *x) {
  static const berth_policy pair = { .name = "pair",
                                     .choose = BERTH_CHOOSE_PAIR,
                                     .fit = BERTH_FIT_INSERTION };
  static const berth_policy device = { .name = "device",
                                       .choose = BERTH_CHOOSE_DEVICE,
                                       .ready = BERTH_READY_FINISHED };
  berth_place_options o = berth_place_default(NULL);
  for (int i = 0; i < 36; i++) {
    o.links = (berth_links)(i % 4);
    o.memory = (berth_memory_policy)(i / 4 % 4);
    refuse_placing(s, x, placers[i % 9], &o, 0);
    o.policy = i % 2 ? &pair : &device;
    refuse_placing(s, x, "policy", &o, 0);
    o.policy = NULL;
  }
  o.links = BERTH_LINKS_FREE;
  for (int i = 0; i < 4; i++) {
    o.variant = i % 2 ? "baechi-tf" : "baechi-pt";
    refuse_placing(s, x, i / 2 ? "m-sct" : "m-etf", &o, 0);
  }
  o.variant = "code";
  refuse_placing(s, x, "critical-path", &o, 0);
}

TEST("every allocation refused in turn") {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &s };
  hooked(&hooks);
  instance x;
  berth_rng rng;
  for (uint64_t seed = 0; seed < 3; seed++) {
    berth_rng_init(&rng, 2, seed);
    if (!random_instance(&rng, seed ? WITH_ALL : WITH_MEMORY | WITH_TWINS, check_runs(20, 60),
                         3, &x))
      continue;
    refuse_all(&s, &x);
    release_instance(&x);
  }
  hooked(NULL);
  CHECK(s.held == 0);
}

TEST("what no placement can hold is reported as a whole, not by the last op tried") {
  names_the_total();
  names_the_pins();
  names_the_count();
}
