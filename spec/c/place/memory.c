/* Memory limits under every policy: what the placers promise is what the simulator finds. */
#include "list/place_engine_help.h"

/* of devices only */
static const char *const choosers[] = { "single", "round-robin", "random", "metis", "m-topo" };
static const char *const listers[] = { "m-etf", "etf",    "heft",   "cpop",
                                       "peft",  "minmin", "blevel", "critical-path" };
enum { CHOOSERS = 5, LISTERS = 8, PLACERS = 13 };

static const char *placer_name(int i) { return i < CHOOSERS ? choosers[i] : listers[i - CHOOSERS]; }

/* ---- hand-made ---- */

static instance of_text(berth_ctx *ctx, const char *text, int devices, double memory) {
  instance x = { must_graph_of_text(ctx, text), must_mesh(ctx, devices, memory, 10, 0), NULL };
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

static void says(berth_ctx *ctx, const char *placer, const char *what) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s", placer, what);
  CHECK_TEXT(berth_errmsg(ctx), text);
}

/* 0 and 1 feed 2 with 10 B each. */
static const char two_inputs[] = "1 1 1 0>2:10 1>2:10";

static void inputs_live_at_once(berth_ctx *ctx) {
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    instance x = of_text(ctx, two_inputs, 1, 15);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      berth_obstacle why = { -9, -9, -9 };
      if (!CHECK_STATUS(place(&x, placer_name(i), (berth_memory_policy)memory, &p, &why),
                        BERTH_EINFEASIBLE))
        continue;
      CHECK(why.device == 0 && why.missing == 5);
      if (i > 0)
        says(ctx, placer_name(i),
             "cannot fit: op 2 does not fit: device 0 \"d0\" comes closest, 5 B are missing");
    }
    release_instance(&x);
    x = of_text(ctx, two_inputs, 1, 20);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      CHECK_STATUS(place(&x, placer_name(i), (berth_memory_policy)memory, &p, NULL), BERTH_OK);
      berth_placement_release(p);
    }
    release_instance(&x);
  }
}

/* Four chains a -> b of 10 B; first in, first out all a run first. No op needs more than 10 B. */
static void order_decides(berth_ctx *ctx) {
  for (int devices = 1; devices <= 2; devices++) {
    instance x = of_text(ctx, "1 1 1 1 1 1 1 1 0>4:10 1>5:10 2>6:10 3>7:10", devices, 25);
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      berth_obstacle why = { -9, -9, -9 };
      berth_status st = place(&x, placer_name(i), BERTH_MEMORY_INFERENCE, &p, &why);
      if (i >= CHOOSERS || (devices == 2 && i > 0)) {
        CHECK_STATUS(st, BERTH_OK);
      } else {
        CHECK_STATUS(st, BERTH_EINFEASIBLE);
        CHECK(why.op == 2 && why.device == 0 && why.missing == 15);
        says(ctx, choosers[i],
             "no placement found: first in, first out, op 2 runs out of memory on device 0 \"d0\": "
             "15 B are missing");
      }
      berth_placement_release(p);
    }
    release_instance(&x);
  }
}

/* Placers count the largest workspace on top of all outputs; run in this order, 8 B are enough. */
static void any_order_is_stricter(berth_ctx *ctx) {
  berth_bounds_options asked = berth_bounds_default(NULL);
  instance x = of_text(ctx, "1w5 1 0>1:0 1>:8", 1, 10);
  must_bounds_compute(x.cost, &asked);
  for (int i = 0; i < PLACERS; i++) {
    berth_placement *p;
    berth_obstacle why = { -9, -9, -9 };
    CHECK_STATUS(place(&x, placer_name(i), BERTH_MEMORY_TOTAL, &p, &why), BERTH_EINFEASIBLE);
    CHECK(why.device == 0 && why.missing == 3);
    CHECK(strstr(berth_errmsg(ctx), ": no placement found: ") != NULL);
    CHECK_STATUS(place(&x, placer_name(i), BERTH_MEMORY_INFERENCE, &p, &why), BERTH_OK);
    berth_placement_release(p);
  }
  release_instance(&x);
}

/* 0.1 + 0.2 is a little more than 0.3. */
static void fits_but_for_rounding(berth_ctx *ctx) {
  instance x = of_text(ctx, "1p0.1 1p0.2", 1, 0.3);
  berth_bounds_options asked = berth_bounds_default(NULL);
  berth_bounds bounds;
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    for (int i = 0; i < PLACERS; i++) {
      berth_placement *p;
      CHECK_STATUS(place(&x, placer_name(i), (berth_memory_policy)memory, &p, NULL), BERTH_OK);
      berth_placement_release(p);
    }
    asked.memory = (berth_memory_policy)memory;
    CHECK_STATUS(berth_bounds_compute(x.cost, &asked, &bounds, NULL), BERTH_OK);
  }
  release_instance(&x);
  x = of_text(ctx, "1p0.1 1p0.2", 1, 0.3 - 1e-9);
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
  if (!CHECK_STATUS(berth_simulate(x->cost, berth_placement_device(p), so, &r), BERTH_OK)) return;
  berth_oom oom;
  if (berth_result_oom(r, &oom)) {
    CHECK(!"memory holds");
    printf("# %s, %s: links %d, memory %d, dispatch %d: op %d on device %d is %g bytes short at %g "
           "s\n",
           berth_placement_placer(p), what, (int)so->links, (int)so->memory, (int)so->dispatch,
           (int)oom.op, (int)oom.device, oom.shortfall, oom.time);
  }
  berth_result_release(r);
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

static void try_placer(berth_ctx *ctx, const instance *x, int i, const berth_place_options *o,
                       tally *count) {
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
  } else if (CHECK_STATUS(st, BERTH_OK)) {
    count->placed++;
    keeps_promise(x, p, o, i < CHOOSERS);
  }
  berth_placement_release(p);
}

static int tight_instance(berth_ctx *ctx, berth_rng *rng, int what, int32_t n, int32_t devices,
                          instance *x) {
  x->g = random_ops(ctx, rng, what, n, devices);
  x->t = random_devices(ctx, rng, what, devices,
                        total_bytes(x->g) * (0.3 + 0.6 * berth_rng_uniform(rng)));
  if (berth_cost_new(x->g, x->t, NULL, &x->cost) == BERTH_OK) return 1;
  RELEASE(x->g, x->t);
  return 0;
}

static void many(berth_ctx *ctx, int what, int rounds) {
  tally count[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
  berth_rng rng = seeded(41, (uint64_t)what);
  for (int round = 0; round < rounds && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    if (!tight_instance(ctx, &rng, what, 2 + berth_rng_below(&rng, 24),
                        1 + berth_rng_below(&rng, 4), &x))
      continue;
    o.param_multiple = 1 + 0.25 * berth_rng_below(&rng, 2);
    o.seed = berth_rng_u64(&rng);
    for (int i = round % 4; i < 12 && !check_bad; i += 4) { /* one discipline a round, every
                                                               policy */
      o.links = (berth_links)(i % 4);
      o.memory = (berth_memory_policy)(BERTH_MEMORY_INFERENCE + i / 4);
      o.quantum = (round + i) % 5 == 0 ? 0.3 : 0;
      for (int k = 0; k < PLACERS; k++) try_placer(ctx, &x, k, &o, &count[k >= CHOOSERS]);
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
  berth_sim_release(sim);
  return found;
}

static void misses_nothing_small(berth_ctx *ctx) {
  int fit = 0, unfit = 0;
  berth_rng rng = seeded(42, 0);
  for (int round = 0; round < check_runs(100, 300) && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    int32_t n = 2 + berth_rng_below(&rng, 5), devices = 1 + berth_rng_below(&rng, 3);
    if (!tight_instance(ctx, &rng, WITH_MEMORY | WITH_TWINS | WITH_TYPES, n, devices, &x)) continue;
    o.memory = round % 2 ? BERTH_MEMORY_INFERENCE : BERTH_MEMORY_TRAINING;
    o.links = (berth_links)(round / 2 % 4);
    int found = any_holds(&x, &o);
    fit += found;
    unfit += !found;
    for (int i = 1; i < CHOOSERS; i++) {
      berth_placement *p = NULL;
      CHECK_STATUS(berth_place(x.cost, choosers[i], &o, &p, NULL),
                   found ? BERTH_OK : BERTH_EINFEASIBLE);
      berth_placement_release(p);
    }
    if (check_bad) printf("# round %d\n", round);
    release_instance(&x);
  }
  CHECK(fit > 50 && unfit > 20);
  printf("# %d fit, %d do not\n", fit, unfit);
}

/* ---- refused memory ---- */

static berth_status refuse_one(check_alloc_state *s, const instance *x, const char *placer,
                               const berth_place_options *o, long fail_at) {
  berth_placement *p = NULL;
  long held = s->held;
  s->calls = 0;
  s->fail_at = fail_at;
  berth_status st = berth_place(x->cost, placer, o, &p, NULL);
  s->fail_at = 0;
  berth_placement_release(p);
  CHECK(s->held == held);
  return st;
}

/* The n-th request, then the n-th and all after it: many, so not every one. */
static void refuse_each(check_alloc_state *s, const instance *x, const char *placer,
                        const berth_place_options *o) {
  berth_status st = BERTH_ENOMEM;
  for (long n = 1; st == BERTH_ENOMEM && !check_bad; n += 1 + n / 12) {
    st = refuse_one(s, x, placer, o, n);
    CHECK_STATUS(refuse_one(s, x, placer, o, -n), st);
  }
  CHECK(st == BERTH_OK || st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE);
  if (check_bad) printf("# %s, memory %d\n", placer, (int)o->memory);
}

static void refused_memory(void) {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &s };
  berth_ctx *ctx = must_ctx_new(&hooks);
  berth_rng rng = seeded(43, 0);
  for (int round = 0; round < 3; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    if (!tight_instance(ctx, &rng, round ? WITH_ALL : WITH_MEMORY, 14, 3, &x)) continue;
    o.links = (berth_links)round;
    for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
      o.memory = (berth_memory_policy)memory;
      for (int i = 0; i < PLACERS && !check_bad; i++) refuse_each(&s, &x, placer_name(i), &o);
    }
    release_instance(&x);
  }
  berth_ctx_release(ctx);
  CHECK(s.held == 0);
}

int main(void) {
  berth_ctx *ctx = must_ctx_new(NULL);
  TEST("inputs that must live at once: op, device, bytes") inputs_live_at_once(ctx);
  TEST("where the order decides, devices are chosen so that it holds") order_decides(ctx);
  TEST("total: what holds in one order need not hold in any") any_order_is_stricter(ctx);
  TEST("exact fits in spite of rounding") fits_but_for_rounding(ctx);
  TEST("tight memory: what is placed does not run out") many(ctx, WITH_MEMORY, check_runs(12, 28));
  TEST("tight memory, twins, ties");
  many(ctx, WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(12, 28));
  TEST("tight memory, everything at once") many(ctx, WITH_ALL, check_runs(12, 36));
  TEST("small problems: refused only if no placement holds") misses_nothing_small(ctx);
  TEST("allocations refused, once and from then on") refused_memory();
  return done_with(ctx);
}
