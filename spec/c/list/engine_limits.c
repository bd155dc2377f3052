/* Limits of the list placers: what does not fit is named, what fits is found, interrupts and
 * refused memory come out in order. */
#include "place_engine_help.h"

static const char *const placers[] = { "m-etf", "m-sct",  "etf",    "heft",          "cpop",
                                       "peft",  "minmin", "blevel", "critical-path", NULL };

static void tell(berth_ctx *ctx, const char *placer) {
  printf("# %s: %s\n", placer, berth_errmsg(ctx));
}

typedef struct row {
  double seconds, param, workspace;
  int32_t group, pin;
} row;

/* Ops without edges on devices of the given memory, all linked. */
static instance loose(berth_ctx *ctx, const row *rows, int n, const double *memory, int devices) {
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
  CHECK_STATUS(berth_cost_new(x.g, x.t, NULL, &x.cost), BERTH_OK);
  return x;
}

static void names_the_obstacle(berth_ctx *ctx) {
  static const row rows[] = { { 1, 5, 0, -1, -1 }, { 1, 30, 4, -1, -1 }, { 1, 5, 0, -1, -1 } };
  static const double memory[] = { 20, 32, 8 };
  instance x = loose(ctx, rows, 3, memory, 3);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    berth_obstacle why = { -9, -9, -9 };
    CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, &why), BERTH_EINFEASIBLE);
    CHECK(p == NULL && why.op == 1 && why.device == 1 && why.missing == 2);
    if (!CHECK(strstr(berth_errmsg(ctx), "op 1") != NULL))
      printf("# %s: %s\n", placers[i], berth_errmsg(ctx));
  }
  release_instance(&x);
}

static void refuses(berth_ctx *ctx, const instance *x, const char *placer, berth_obstacle want,
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

static void names_the_total(berth_ctx *ctx) {
  static const row rows[] = {
    { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 1, -1, -1 }
  };
  static const double memory[] = { 5, 6 };
  instance x = loose(ctx, rows, 4, memory, 2);
  berth_obstacle total = { BERTH_NONE, BERTH_NONE, 2 }, alone = { BERTH_NONE, 1, 3 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(ctx, &x, all_but_single[i], total,
            "cannot fit: 13 B must be held by all 2 devices, with room for 11 B: 2 B are missing");
  }
  refuses(ctx, &x, "single", total,
          "cannot fit: 13 B must be held by all 2 devices, with room for 11 B: 2 B are missing");
  release_instance(&x);
  x = loose(ctx, rows, 3, memory, 2); /* three ops fit, but not on one device */
  refuses(
      ctx, &x, "single", alone,
      "no placement found: the graph does not fit: device 1 \"d1\" comes closest, 3 B are missing");
  release_instance(&x);
}

static void names_the_pins(berth_ctx *ctx) {
  static const row rows[] = { { 1, 3, 0, -1, 0 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, 0 } };
  static const double memory[] = { 5, 50 };
  instance x = loose(ctx, rows, 3, memory, 2);
  berth_obstacle want = { BERTH_NONE, 0, 1 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(ctx, &x, all_but_single[i], want,
            "cannot fit: 6 B must be held by device 0 \"d0\", with room for 5 B: 1 B are missing");
  }
  release_instance(&x);
}

static void names_the_count(berth_ctx *ctx) {
  static const row rows[] = { { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 }, { 1, 3, 0, -1, -1 } };
  static const double memory[] = { 5, 5 };
  instance x = loose(ctx, rows, 3, memory, 2);
  berth_obstacle want = { 2, 0, 1 };
  for (int i = 0; all_but_single[i]; i++) {
    refuses(ctx, &x, all_but_single[i], want,
            "cannot fit: 3 ops or groups need at least 3 B each, and all devices hold 2 such: op "
            "2 does not fit, device 0 \"d0\" comes closest, 1 B are missing");
  }
  release_instance(&x);
}

/* Greedy placing by start puts the small ops on both devices first; then the large one fits
 * nowhere. */
static void finds_what_fits(berth_ctx *ctx) {
  static const row rows[] = { { 1, 5, 0, -1, -1 }, { 1, 5, 0, -1, -1 }, { 1, 10, 0, -1, -1 } };
  static const double memory[] = { 10, 10 };
  instance x = loose(ctx, rows, 3, memory, 2);
  berth_place_options o = berth_place_default(NULL);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], &o, &p, NULL), BERTH_OK))
      tell(ctx, placers[i]);
    if (p) CHECK(check_plan(&x, p, &o, 0));
    berth_placement_release(p);
  }
  o.variant = "baechi-tf"; /* the published placer gives up here */
  {
    berth_placement *p = NULL;
    CHECK_STATUS(berth_place(x.cost, "m-etf", &o, &p, NULL), BERTH_EINFEASIBLE);
  }
  release_instance(&x);
}

/* Two groups: of the second, op 3 runs on device 1 only, so op 2 goes there, too. */
static void groups_where_all_can_run(berth_ctx *ctx) {
  static const row rows[] = {
    { 1, 0, 0, 0, -1 }, { 1, 0, 0, 0, -1 }, { 3, 0, 0, 1, -1 }, { 1, 0, 0, 1, 1 }
  };
  static const double memory[] = { 9, 9 };
  instance x = loose(ctx, rows, 4, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_OK)) continue;
    if (!CHECK(berth_placement_device(p)[2] == 1 && berth_placement_device(p)[3] == 1))
      tell(ctx, placers[i]);
    berth_placement_release(p);
  }
  release_instance(&x);
}

static void groups_as_a_whole(berth_ctx *ctx) {
  /* device 0 has room for op 0 alone, not for its group */
  static const row rows[] = { { 1, 5, 0, 0, -1 }, { 1, 5, 0, 0, -1 }, { 1, 5, 3, 0, -1 } };
  static const double memory[] = { 17, 18 };
  instance x = loose(ctx, rows, 3, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_OK)) continue;
    for (int k = 0; k < 3; k++) CHECK(berth_placement_device(p)[k] == 1);
    berth_placement_release(p);
  }
  release_instance(&x);
}

static void room_for_pins(berth_ctx *ctx) {
  /* what is pinned to device 0 is counted there from the start */
  static const row rows[] = { { 1, 6, 0, -1, -1 }, { 1, 6, 0, -1, -1 }, { 1, 8, 0, -1, 0 } };
  static const double memory[] = { 10, 12 };
  instance x = loose(ctx, rows, 3, memory, 2);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_OK)) continue;
    CHECK(berth_placement_device(p)[0] == 1 && berth_placement_device(p)[1] == 1
          && berth_placement_device(p)[2] == 0);
    berth_placement_release(p);
  }
  release_instance(&x);
}

/* Two islands; the ends of a path are pinned to them, the middle can reach neither both. */
static void no_route(berth_ctx *ctx) {
  instance x = { must_graph_of_text(ctx, "1@0 1@1 1 0>2:1 1>2:1"),
                 must_topology_of_text(ctx, "1 1"), NULL };
  x.cost = must_cost_new(x.g, x.t, NULL);
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    if (!CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_EUNREACHABLE))
      tell(ctx, placers[i]);
    berth_placement_release(p);
  }
  release_instance(&x);
}

static void contradictions(berth_ctx *ctx) {
  static const row rows[] = { { 1, 0, 0, -1, -1 } };
  static const double memory[] = { 1 };
  instance x = loose(ctx, rows, 1, memory, 1);
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  o.variant = "baechi-tf";
  o.links = BERTH_LINKS_DUPLEX;
  CHECK_STATUS(berth_place(x.cost, "m-etf", &o, &p, NULL), BERTH_EINVAL);
  o.links = BERTH_LINKS_CHANNEL;
  CHECK_STATUS(berth_place(x.cost, "m-etf", &o, &p, NULL), BERTH_OK);
  berth_placement_release(p);
  p = NULL;
  o.variant = "code";
  CHECK_STATUS(berth_place(x.cost, "critical-path", &o, &p, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_place(x.cost, "heft", &o, &p, NULL), BERTH_EINVAL);
  CHECK(p == NULL);
  release_instance(&x);
}


/* ---- interrupts ---- */

static int stop(void *ud) { return ++*(int *)ud >= 2; }

static void interrupts(void) {
  int calls = -1000000; /* not while the problem is made */
  berth_hooks hooks = { .interrupt = stop, .ud = &calls };
  berth_ctx *ctx = must_ctx_new(&hooks);
  berth_rng rng = seeded(1, 0);
  instance x;
  CHECK(random_instance(ctx, &rng, 0, 5000, 3, &x));
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    calls = 0;
    CHECK_STATUS(berth_place(x.cost, placers[i], NULL, &p, NULL), BERTH_EINTERRUPT);
    CHECK(calls == 2 && p == NULL);
  }
  RELEASE(x.cost, x.t, x.g, ctx);
}

/* ---- refused memory ---- */

typedef struct trial {
  const char *placer, *variant;
  berth_links links;
  berth_memory_policy memory;
  const berth_policy *policy;
} trial;

static berth_status refuse_one(check_alloc_state *s, const instance *x, const char *placer,
                               const berth_place_options *o, long fail_at) {
  berth_placement *p = NULL;
  long held = s->held;
  s->calls = 0;
  s->fail_at = fail_at;
  berth_status st = berth_place(x->cost, placer, o, &p, NULL);
  s->fail_at = 0;
  CHECK((st == BERTH_OK) == (p != NULL));
  berth_placement_release(p);
  CHECK(s->held == held);
  return st;
}

/* The n-th request, then the n-th and all after it. */
static void refuse_each(check_alloc_state *s, const instance *x, const trial *t) {
  berth_place_options o = berth_place_default(NULL);
  berth_status st = BERTH_ENOMEM;
  o.variant = t->variant;
  o.links = t->links;
  o.memory = t->memory;
  o.policy = t->policy;
  for (long n = 1; st == BERTH_ENOMEM && n < 100000; n++) {
    st = refuse_one(s, x, t->placer, &o, n);
    CHECK_STATUS(refuse_one(s, x, t->placer, &o, -n), st);
  }
  CHECK(st == BERTH_OK || st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE);
  if (!check_bad) return;
  printf("# %s \"%s\", links %d, memory %d: status %d\n", t->placer, t->variant, (int)t->links,
         (int)t->memory, (int)st);
}

static void refuse_all(check_alloc_state *s, const instance *x) {
  static const berth_policy pair = { .name = "pair",
                                     .choose = BERTH_CHOOSE_PAIR,
                                     .fit = BERTH_FIT_INSERTION };
  static const berth_policy device = { .name = "device",
                                       .choose = BERTH_CHOOSE_DEVICE,
                                       .ready = BERTH_READY_FINISHED };
  trial t = { NULL, "", BERTH_LINKS_FREE, BERTH_MEMORY_TOTAL, NULL };
  for (int i = 0; i < 36; i++) {
    t.links = (berth_links)(i % 4);
    t.memory = (berth_memory_policy)(i / 4 % 4);
    t.placer = placers[i % 9];
    refuse_each(s, x, &t);
    t.placer = "policy";
    t.policy = i % 2 ? &pair : &device;
    refuse_each(s, x, &t);
  }
  t.links = BERTH_LINKS_FREE;
  for (int i = 0; i < 4; i++) {
    t.placer = i / 2 ? "m-sct" : "m-etf";
    t.variant = i % 2 ? "baechi-tf" : "baechi-pt";
    refuse_each(s, x, &t);
  }
  t.placer = "critical-path";
  t.variant = "code";
  refuse_each(s, x, &t);
}

static void refused_memory(void) {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &s };
  berth_ctx *ctx = must_ctx_new(&hooks);
  instance x;
  berth_rng rng;
  for (uint64_t seed = 0; seed < 3; seed++) {
    berth_rng_init(&rng, 2, seed);
    if (!random_instance(ctx, &rng, seed ? WITH_ALL : WITH_MEMORY | WITH_TWINS, check_runs(20, 60),
                         3, &x))
      continue;
    refuse_all(&s, &x);
    release_instance(&x);
  }
  berth_ctx_release(ctx);
  CHECK(s.held == 0);
}

int main(void) {
  berth_ctx *ctx = must_ctx_new(NULL);
  TEST("an op that fits nowhere: op, closest device, bytes") names_the_obstacle(ctx);
  TEST("what no placement can hold is told as a whole, not by the op that got stuck");
  names_the_total(ctx);
  names_the_pins(ctx);
  names_the_count(ctx);
  TEST("where greedy placing gets stuck, packing finds a way") finds_what_fits(ctx);
  TEST("a group is placed where all of it fits") groups_as_a_whole(ctx);
  TEST("a group is placed where all of its ops can run, the second group, too");
  groups_where_all_can_run(ctx);
  TEST("pinned ops keep their room") room_for_pins(ctx);
  TEST("no route") no_route(ctx);
  TEST("variants refuse options that they would ignore") contradictions(ctx);
  TEST("interrupts") interrupts();
  TEST("every allocation refused in turn") refused_memory();
  return done_with(ctx);
}
