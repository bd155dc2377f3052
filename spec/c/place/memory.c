/* Memory limits under every policy: what the placers promise is what the simulator finds. */
#include "list/place_engine_help.h"

/* of devices only */
static const char *const choosers[] = { "single", "round-robin", "random", "metis", "m-topo" };
static const char *const listers[] = { "m-etf", "etf",    "heft",   "cpop",
                                       "peft",  "minmin", "blevel", "critical-path" };
enum { CHOOSERS = 5, LISTERS = 8, PLACERS = 13 };

static const char *placer_name(int i) { return i < CHOOSERS ? choosers[i] : listers[i - CHOOSERS]; }

/* ---- hand-made ---- */

static instance of_text(const char *text, int devices, double memory) {
  instance x = { must_graph_of_text(text), must_mesh(devices, memory, 10, 0), NULL };
  x.cost = must_cost_new(x.g, x.t, NULL);
  return x;
}

static berth_status place(const instance *x, const char *placer, berth_memory_policy memory,
                          berth_placement **p, berth_obstacle *why) {
  berth_place_options o = berth_place_default(NULL);
  o.memory = memory;
  *p = NULL;
  return berth_place(x->cost, placer, &o, p, why);
}

static void says_for(const char *placer, const char *what) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s", placer, what);
  CHECK_TEXT(berth_errmsg(ctx), text);
}

/* 0 and 1 feed 2 with 10 B each. */
static const char two_inputs[] = "1 1 1 0>2:10 1>2:10";

TEST("inputs that must live at once: op, device, bytes") {
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    instance x = of_text(two_inputs, 1, 15);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      berth_obstacle why = { -9, -9, -9 };
      if (!CHECK_STATUS(place(&x, placer_name(i), (berth_memory_policy)memory, &p, &why),
                        BERTH_EINFEASIBLE))
        continue;
      CHECK(why.device == 0 && why.missing == 5);
      if (i > 0)
        says_for(placer_name(i),
             "cannot fit: op 2 does not fit: device \"d0\" comes closest, 5 B are missing");
    }
    release_instance(&x);
    x = of_text(two_inputs, 1, 20);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      CHECK_OK(place(&x, placer_name(i), (berth_memory_policy)memory, &p, NULL));
      RELEASE(p);
    }
    release_instance(&x);
  }
}

/* Four chains a -> b of 10 B; first in, first out all a run first. No op needs more than 10 B. */
TEST("where the order decides, devices are chosen so that it holds") {
  for (int devices = 1; devices <= 2; devices++) {
    instance x = of_text("1 1 1 1 1 1 1 1 0>4:10 1>5:10 2>6:10 3>7:10", devices, 25);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      berth_obstacle why = { -9, -9, -9 };
      berth_status st = place(&x, placer_name(i), BERTH_MEMORY_INFERENCE, &p, &why);
      if (i >= CHOOSERS || (devices == 2 && i > 0)) {
        CHECK_OK(st);
      } else {
        CHECK_STATUS(st, BERTH_EINFEASIBLE);
        CHECK(why.op == 2 && why.device == 0 && why.missing == 15);
        says_for(choosers[i],
             "no placement found: first in, first out, op 2 runs out of memory on device \"d0\": "
             "15 B are missing");
      }
      RELEASE(p);
    }
    release_instance(&x);
  }
}

/* Placers count the largest workspace on top of all outputs; run in this order, 8 B are enough. */
TEST("total: what holds in one order need not hold in any") {
  berth_bounds_options asked = berth_bounds_default(NULL);
  instance x = of_text("1w5 1 0>1:0 1>:8", 1, 10);
  must_bounds_compute(x.cost, &asked);
  for (int i = 0; i < PLACERS; i++) {
    berth_placement *p;
    berth_obstacle why = { -9, -9, -9 };
    CHECK_STATUS(place(&x, placer_name(i), BERTH_MEMORY_TOTAL, &p, &why), BERTH_EINFEASIBLE);
    CHECK(why.device == 0 && why.missing == 3);
    CHECK(says(": no placement found: "));
    CHECK_OK(place(&x, placer_name(i), BERTH_MEMORY_INFERENCE, &p, &why));
    RELEASE(p);
  }
  release_instance(&x);
}

/* 0.1 + 0.2 is a little more than 0.3. */
TEST("exact fits in spite of rounding") {
  instance x = of_text("1p0.1 1p0.2", 1, 0.3);
  berth_bounds_options asked = berth_bounds_default(NULL);
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      CHECK_OK(place(&x, placer_name(i), (berth_memory_policy)memory, &p, NULL));
      RELEASE(p);
    }
    asked.memory = (berth_memory_policy)memory;
    must_bounds_compute(x.cost, &asked);
  }
  release_instance(&x);
  x = of_text("1p0.1 1p0.2", 1, 0.3 - 1e-9);
  for (int i = 0; i < PLACERS; i++) {
    berth_placement *p;
    CHECK_STATUS(place(&x, placer_name(i), BERTH_MEMORY_TOTAL, &p, NULL), BERTH_EINFEASIBLE);
  }
  release_instance(&x);
}

/* ---- random ---- */

typedef struct tally {
  int placed, refused, proved;
} tally;

static void holds(const instance *x, const berth_placement *p, const berth_sim_options *so,
                  const char *what) {
  berth_result *r = NULL;
  if (!CHECK_OK(berth_simulate(x->cost, berth_placement_device(p), so, &r))) return;
  berth_oom oom;
  if (berth_result_oom(r, &oom)) {
    CHECK(!"memory holds");
    printf("# %s, %s: links %d, memory %d, dispatch %d: op %d on device %d is %g bytes short at %g "
           "s\n",
           berth_placement_placer(p), what, (int)so->links, (int)so->memory, (int)so->dispatch,
           (int)oom.op, (int)oom.device, oom.shortfall, oom.time);
  }
  RELEASE(r);
}

static berth_sim_options same(const berth_place_options *o) {
  berth_sim_options so = berth_sim_default(NULL);
  so.links = o->links;
  so.memory = o->memory;
  so.param_multiple = o->param_multiple;
  so.quantum = o->quantum;
  return so;
}

/* Under TOTAL: any dispatch, links and send. */
static void holds_anyhow(const instance *x, const berth_placement *p,
                         const berth_place_options *o) {
  static const berth_dispatch dispatches[] = { BERTH_DISPATCH_LIFO, BERTH_DISPATCH_LIGHT_FIRST,
                                               BERTH_DISPATCH_RANDOM };
  berth_sim_options so = same(o);
  for (int i = 0; i < 6; i++) {
    so.dispatch = dispatches[i % 3];
    so.send = i < 3 ? BERTH_SEND_PUSH : BERTH_SEND_PULL;
    so.links = (berth_links)((i + (int)o->links) % 4);
    holds(x, p, &so, "in any order");
  }
}

static void keeps_promise(const instance *x, const berth_placement *p, const berth_place_options *o,
                          int chooser) {
  berth_sim_options so = same(o);
  if (o->memory == BERTH_MEMORY_TOTAL) holds_anyhow(x, p, o);
  if (chooser) {
    holds(x, p, &so, "first in, first out");
    so.dispatch = BERTH_DISPATCH_PLANNED;
    so.sequence = berth_placement_sequence(p);
    holds(x, p, &so, "as planned");
  } else if (o->links == BERTH_LINKS_FREE) {
    so.dispatch = BERTH_DISPATCH_PLANNED;
    so.sequence = berth_placement_sequence(p);
    holds(x, p, &so, "as planned");
  }
}

static void try_placer(const instance *x, int i, const berth_place_options *o, tally *count) {
  berth_placement *p = NULL;
  berth_obstacle why = { -9, -9, -9 };
  berth_status st = berth_place(x->cost, placer_name(i), o, &p, &why);
  if (st == BERTH_EINFEASIBLE) {
    CHECK(p == NULL && why.op >= BERTH_NONE && why.device >= BERTH_NONE && why.missing >= 0);
    if (strstr(berth_errmsg(ctx), "cannot fit") || strstr(berth_errmsg(ctx), "missing"))
      CHECK(why.missing > 0);
    count->proved += strstr(berth_errmsg(ctx), "cannot fit") != NULL;
    count->refused++;
  } else if (st == BERTH_EUNREACHABLE) {
    count->refused++;
  } else if (CHECK_OK(st)) {
    count->placed++;
    keeps_promise(x, p, o, i < CHOOSERS);
  }
  RELEASE(p);
}

static int tight_instance(berth_rng *rng, int what, int32_t n, int32_t devices, instance *x) {
  x->g = random_ops(rng, what, n, devices);
  x->t = random_devices(rng, what, devices,
                        total_bytes(x->g) * (0.3 + 0.6 * berth_rng_uniform(rng)));
  if (berth_cost_new(x->g, x->t, NULL, &x->cost) == BERTH_OK) return 1;
  RELEASE(x->g, x->t);
  return 0;
}

static void many(int what, int rounds) {
  tally count[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
  berth_rng rng = seeded(41, (uint64_t)what);
  for (int round = 0; round < rounds && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    if (!tight_instance(&rng, what, 2 + berth_rng_below(&rng, 24),
                        1 + berth_rng_below(&rng, 4), &x))
      continue;
    o.param_multiple = 1 + 0.25 * berth_rng_below(&rng, 2);
    o.seed = berth_rng_u64(&rng);
    for (int i = round % 4; i < 12 && !check_bad; i += 4) { /* one discipline a round, every
                                                               policy */
      o.links = (berth_links)(i % 4);
      o.memory = (berth_memory_policy)(BERTH_MEMORY_INFERENCE + i / 4);
      o.quantum = (round + i) % 5 == 0 ? 0.3 : 0;
      for (int k = 0; k < PLACERS; k++) try_placer(&x, k, &o, &count[k >= CHOOSERS]);
    }
    if (check_bad) printf("# round %d\n", round);
    release_instance(&x);
  }
  for (int k = 0; k < 2; k++) {
    CHECK(count[k].placed > rounds && count[k].refused > rounds);
    printf("# %s: %d placed, %d refused, %d of them proved\n",
           k ? "list placers" : "device choosers", count[k].placed, count[k].refused,
           count[k].proved);
  }
}

/* ---- whether anything is missed ---- */

static int any_holds(const instance *x, const berth_place_options *o) {
  berth_sim_options so = same(o);
  int32_t n = berth_graph_ops(x->g), devices = berth_topology_devices(x->t), device[8] = { 0 };
  int found = 0;
  berth_sim *sim = must_sim_new(x->cost, &so);
  for (;;) {
    berth_sim_summary s;
    int32_t i = 0;
    if (berth_sim_run(sim, device, &s) == BERTH_OK && s.oom_op == BERTH_NONE) found = 1;
    while (i < n && ++device[i] == devices) device[i++] = 0;
    if (i == n || found) break;
  }
  RELEASE(sim);
  return found;
}

TEST("small problems: refused only if no placement holds") {
  int fit = 0, unfit = 0;
  berth_rng rng = seeded(42, 0);
  for (int round = 0; round < check_runs(100, 300) && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    int32_t n = 2 + berth_rng_below(&rng, 5), devices = 1 + berth_rng_below(&rng, 3);
    if (!tight_instance(&rng, WITH_MEMORY | WITH_TWINS | WITH_TYPES, n, devices, &x)) continue;
    o.memory = round % 2 ? BERTH_MEMORY_INFERENCE : BERTH_MEMORY_TRAINING;
    o.links = (berth_links)(round / 2 % 4);
    int found = any_holds(&x, &o);
    fit += found;
    unfit += !found;
    for (int i = 1; i < CHOOSERS; i++) {
      berth_placement *p = NULL;
      CHECK_STATUS(berth_place(x.cost, choosers[i], &o, &p, NULL),
                   found ? BERTH_OK : BERTH_EINFEASIBLE);
      RELEASE(p);
    }
    if (check_bad) printf("# round %d\n", round);
    release_instance(&x);
  }
  CHECK(fit > 50 && unfit > 20);
  printf("# %d fit, %d do not\n", fit, unfit);
}

/* ---- refused memory ---- */

TEST("allocations refused, once and from then on") {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &s };
  hooked(&hooks);
  berth_rng rng = seeded(43, 0);
  for (int round = 0; round < 3; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    if (!tight_instance(&rng, round ? WITH_ALL : WITH_MEMORY, 14, 3, &x)) continue;
    o.links = (berth_links)round;
    for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
      o.memory = (berth_memory_policy)memory;
      for (int i = 0; i < PLACERS && !check_bad; i++)
        refuse_placing(&s, &x, placer_name(i), &o, 12);
    }
    release_instance(&x);
  }
  hooked(NULL);
  CHECK(s.held == 0);
}

TEST("tight memory: what is placed does not run out") { many(WITH_MEMORY, check_runs(12, 28)); }

TEST("tight memory, twins, ties") {
  many(WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(12, 28));
}
TEST("tight memory, everything at once") { many(WITH_ALL, check_runs(12, 36)); }
