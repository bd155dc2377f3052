/* Graphs with collectives through everything that places, searches, mends and bounds. */
#include "list/place_engine_help.h"
#include "refusals.h"

static const char *const placers[] = { "single", "round-robin",   "random",      "metis",
                                       "m-topo", "m-etf",         "m-sct",       "etf",
                                       "heft",   "cpop",          "peft",        "minmin",
                                       "blevel", "critical-path", "enumerative", "anneal",
                                       "local",  "brkga",         "agent",       "portfolio",
                                       NULL };

static double simulated(const instance *x, const int32_t *device, berth_memory_policy memory,
                        int32_t *oom_op) {
  berth_sim_options o = berth_sim_default(NULL);
  berth_result *r = NULL;
  berth_oom oom = { .op = BERTH_NONE };
  double makespan = NAN;
  o.memory = memory;
  if (!CHECK_OK(berth_simulate(x->cost, device, &o, &r))) return NAN;
  makespan = berth_result_makespan(r);
  berth_result_oom(r, &oom);
  if (oom_op) *oom_op = oom.op;
  RELEASE(r);
  return makespan;
}

static void check_bounds(const instance *x, double makespan, bool thorough) {
  berth_bounds_options o = berth_bounds_default(x->g);
  o.memory = BERTH_MEMORY_NONE;
  o.thorough = thorough;
  berth_bounds b = must_bounds_compute(x->cost, &o);
  if (!CHECK(b.best <= makespan * (1 + 1e-9)))
    printf("# %s: %.17g above %.17g\n", b.name, b.best, makespan);
}

static void place_all(const instance *x) {
  berth_place_options o = berth_place_default(x->g);
  berth_search_options search = berth_search_default();
  berth_sim_options judge = berth_sim_default(NULL);
  o.memory = BERTH_MEMORY_NONE;
  search.judge = &judge;
  search.calls = 60;
  for (int i = 0; placers[i]; i++) {
    berth_placement *p = NULL;
    o.search = i >= 15 && i < 18 ? &search : NULL;
    search.method = i == 16   ? BERTH_SEARCH_LOCAL
                    : i == 17 ? BERTH_SEARCH_BRKGA
                              : BERTH_SEARCH_ANNEAL;
    berth_status st = berth_place(x->cost, placers[i], &o, &p, NULL);
    if (st == BERTH_EINFEASIBLE && strcmp(placers[i], "single") == 0) continue; /* types and pins */
    if (!CHECK_OK(st)) {
      printf("# %s: %s\n", placers[i], berth_errmsg(ctx));
      continue;
    }
    double makespan = simulated(x, berth_placement_device(p), BERTH_MEMORY_NONE, NULL);
    check_bounds(x, makespan, false);
    check_bounds(x, makespan, true);
    RELEASE(p);
  }
}

TEST("all placers take collectives; no bound is above what the simulator finds") {
  static const int whats[] = { 0, WITH_TIES, WITH_TYPES | WITH_UNEVEN, WITH_PINS | WITH_GROUPS };
  berth_rng rng = seeded(21, 0);
  for (int i = 0; i < 4 && !check_bad; i++) {
    instance x;
    if (!random_instance(&rng, WITH_COLLECTIVES | whats[i % 4], 4 + berth_rng_below(&rng, 20),
                         2 + i % 3, &x))
      continue;
    place_all(&x);
    release_instance(&x);
  }
}

/* The best of all placements of few ops on two devices is no better than any bound. */
TEST("bounds are below the best of all placements") {
  berth_rng rng = seeded(22, 0);
  for (int i = 0; i < 10 && !check_bad; i++) {
    instance x;
    double best = INFINITY;
    int32_t n = 3 + berth_rng_below(&rng, 4);
    if (!random_instance(&rng, WITH_COLLECTIVES | (i % 2 ? WITH_TIES : 0), n, 2, &x)) continue;
    int32_t device[8];
    for (int code = 0; code < 1 << n; code++) {
      for (int v = 0; v < n; v++) device[v] = code >> v & 1;
      best = fmin(best, simulated(&x, device, BERTH_MEMORY_NONE, NULL));
    }
    check_bounds(&x, best, false);
    check_bounds(&x, best, true);
    release_instance(&x);
  }
}

TEST("repair and adjust take collectives, and answers keep memory") {
  int placed = 0;
  berth_rng rng = seeded(23, 0);
  for (int i = 0; i < 30 && !check_bad; i++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    int32_t n = 6 + berth_rng_below(&rng, 20), oom = BERTH_NONE;
    berth_placement *p = NULL, *q = NULL;
    if (!random_instance(&rng, WITH_COLLECTIVES | WITH_MEMORY | WITH_GROUPS, n, 3, &x))
      continue;
    int32_t device[32];
    for (int d = 0; d < n; d++) device[d] = berth_rng_below(&rng, 3);
    o.memory = BERTH_MEMORY_TOTAL;
    berth_status st = berth_place_repair(x.cost, device, &o, &p, NULL);
    CHECK(st == BERTH_OK || st == BERTH_EINFEASIBLE);
    berth_adjust_options a;
    if (st == BERTH_OK) {
      placed++;
      simulated(&x, berth_placement_device(p), BERTH_MEMORY_TOTAL, &oom);
      CHECK(oom == BERTH_NONE);
      a = berth_adjust_default(x.g);
      a.place.memory = BERTH_MEMORY_NONE;
      q = must_adjust(x.cost, berth_placement_device(p), &a);
    }
    RELEASE(q, p, x.cost, x.t, x.g);
  }
  CHECK(placed > 8);
}

/* ---- a case by hand ---- */

/* Two members of 1 s, an all-reduce of 8 B, two consumers of 2 s; on two devices, 4 B/s and 0.5 s
 * apart. */
static berth_status data_parallel(const berth_cost_model *model, instance *x) {
  static const int32_t members[] = { 0, 1 }, consumers[] = { 2, 3 };
  const berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 2, consumers };
  const berth_link link = { 4, 0.5 };
  berth_device device = berth_device_default();
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  memset(x, 0, sizeof *x);
  TRY(st, add_text(b, "1@0 1@1 2@0 2@1"));
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  TRY(st, berth_graph_builder_finish(b, &x->g));
  TRY(st, berth_topology_mesh(ctx, 2, &device, &link, &x->t));
  TRY(st, berth_cost_new(x->g, x->t, model, &x->cost));
  RELEASE(b);
  return st;
}

TEST("consumers start at 1 + 2 (0.5 + 4/4) s, however candidates become ready") {
  berth_placement *p = NULL;
  berth_place_options o = berth_place_default(NULL);
  instance x;
  CHECK_OK(data_parallel(NULL, &x));
  for (int i = 5; i < 14; i++) {
    p = must_place(x.cost, placers[i], &o);
    CHECK_NEAR(berth_placement_start(p)[2], 4, 1e-12);
    CHECK_NEAR(berth_placement_start(p)[3], 4, 1e-12);
    CHECK_NEAR(berth_placement_estimate(p), 6, 1e-12);
    RELEASE(p);
  }
  o.quantum = 0.75; /* ops of 1 and 3 quanta, the collective of 4 */
  p = must_place(x.cost, "etf", &o);
  CHECK_NEAR(berth_placement_start(p)[2], 5 * 0.75, 1e-12);
  RELEASE(p);
  CHECK_ERROR(berth_place(x.cost, "exact", NULL, &p, NULL), BERTH_EUNSUPPORTED,
              "exact: the graph has 1 collectives; search (anneal, local) takes them");
  release_instance(&x);
}

static berth_status ask(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                        double *seconds) {
  int *calls = ud;
  (void)collective, (void)n;
  ++*calls;
  *seconds = devices[0] == devices[1] ? 0 : 7;
  return *calls == -1 ? BERTH_ECALLBACK : BERTH_OK;
}

TEST("a function prices them, on the calling thread, and its failure comes back") {
  int calls = 0;
  const berth_cost_model model = { .collective = ask, .ud = &calls };
  berth_placement *p = NULL;
  berth_portfolio *all = NULL;
  instance x;
  CHECK_OK(data_parallel(&model, &x));
  berth_portfolio_options o = berth_portfolio_default(x.g);
  o.calls = 0;
  o.threads = 4;
  if (CHECK_OK(berth_portfolio_run(x.cost, &o, &all, NULL))) {
    CHECK_NEAR(berth_placement_estimate(berth_portfolio_best(all)), 1 + 7 + 2, 1e-12);
  }
  RELEASE(all);
  calls = -2;
  CHECK_STATUS(berth_place(x.cost, "etf", NULL, &p, NULL), BERTH_ECALLBACK);
  release_instance(&x);
}

TEST("members stay within reach of one another") {
  berth_placement *p = NULL;
  static const int32_t members[] = { 0, 1 };
  const berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 0, NULL };
  instance x;
  memset(&x, 0, sizeof x);
  berth_graph_builder *b = must_graph_builder_new();
  must_text(b, "1@2 1");
  must_add_collective(b, &c);
  x.g = must_graph(b);
  x.t = must_topology_of_text("1 1 1 1-2:4,0.5");
  x.cost = must_cost_new(x.g, x.t, NULL);
  for (int32_t i = 5; i < 14; i++) {
    if (!CHECK_OK(berth_place(x.cost, placers[i], NULL, &p, NULL))) {
      printf("# %s: %s\n", placers[i], berth_errmsg(ctx));
      continue;
    }
    CHECK(berth_placement_device(p)[1] != 0);
    RELEASE(p);
  }
  release_instance(&x);
}

static berth_status whole_job(void) {
  static const char *const each[] = { "peft", "cpop", "m-sct", NULL };
  instance x;
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  berth_status st = data_parallel(NULL, &x);
  o.averages = BERTH_AVERAGE_SAGA;
  for (int i = 0; each[i] && st == BERTH_OK; i++) {
    st = berth_place(x.cost, each[i], &o, &p, NULL);
    if (st != BERTH_OK) break;
    RELEASE(p);
    p = NULL;
  }
  release_instance(&x);
  return st;
}

TEST_REFUSALS(whole_job)
