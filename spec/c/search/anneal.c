/* Annealing and local search: never worse than the start, legal, exact in its budget, the same for
 * any number of threads. */
#include "sim/sim_help.h"
#include "refusals.h"

enum { MOST = 64 };

static double value_of(const setup *s, const berth_sim_options *o, const int32_t *device) {
  berth_sim_summary sum = { 0, 0, 0 };
  berth_sim *sim = must_sim_new(s->cost, o);
  sum = must_sim_run(sim, device);
  RELEASE(sim);
  return sum.oom_op == BERTH_NONE ? sum.makespan : INFINITY;
}

static double brute(const setup *s, const berth_sim_options *o, int32_t n, int32_t devices) {
  int32_t device[MOST] = { 0 };
  double best = INFINITY;
  for (;;) {
    best = fmin(best, value_of(s, o, device));
    int32_t i;
    for (i = 0; i < n && ++device[i] == devices; i++) device[i] = 0;
    if (i == n) return best;
  }
}

static berth_search_report search(const setup *s, const berth_search_options *o, int32_t *device) {
  berth_search_report r = must_search(s->cost, o, device);
  return r;
}

TEST("tiny graphs: the optimum, mostly; never above the start; the budget to the call; the "
     "value is the simulator's") {
  int found = 0, cases = 0;
  berth_rng rng = seeded(1, 0);
  for (int k = 0; k < 24; k++) {
    setup s;
    berth_search_options o = berth_search_default();
    berth_sim_options judge = berth_sim_default(NULL);
    setup_random(&s, &rng, 7, k % 2);
    if (k % 3 == 0) setup_uneven(&s, 2);
    else setup_mesh(&s, 2, k % 3 == 1 ? INFINITY : 60);
    o.method = k % 4 < 2 ? BERTH_SEARCH_ANNEAL : BERTH_SEARCH_LOCAL;
    o.judge = &judge;
    o.calls = 300;
    o.steepest = k % 4 == 3;
    int32_t device[MOST];
    berth_search_report r = search(&s, &o, device);
    CHECK(r.value <= r.start);
    CHECK(r.calls == o.calls);
    CHECK(value_of(&s, &judge, device) == r.value);
    found += r.value <= brute(&s, &judge, 7, 2) * (1 + 1e-12);
    cases++;
  }
  printf("# optimum found in %d of %d\n", found, cases);
  CHECK(found >= cases - 6);
}

static int same(const setup *s, berth_search_options *a, berth_search_options *b) {
  int32_t x[MOST], y[MOST];
  berth_search_report p = search(s, a, x), q = search(s, b, y);
  return p.value == q.value && p.calls == q.calls
         && memcmp(x, y, (size_t)berth_graph_ops(s->g) * sizeof *x) == 0;
}

TEST("the same bytes for any number of threads, and with simulations that never stop early") {
  static const berth_links links[] = { BERTH_LINKS_FREE, BERTH_LINKS_DUPLEX, BERTH_LINKS_CHANNEL,
                                       BERTH_LINKS_PAIR };
  berth_rng rng = seeded(2, 0);
  for (int k = 0; k < 32; k++) {
    setup s;
    berth_search_options a = berth_search_default();
    berth_sim_options judge = berth_sim_default(NULL);
    setup_random(&s, &rng, 40, k % 2);
    if (k % 3 == 0) setup_uneven(&s, 3);
    else setup_mesh(&s, 3, k % 3 == 1 ? INFINITY : 400);
    judge.links = links[k % 4];
    judge.dispatch = k % 8 < 4 ? BERTH_DISPATCH_FIFO : BERTH_DISPATCH_LIGHT_FIRST;
    a.judge = &judge;
    a.calls = 600;
    a.restarts = 2 + k % 5;
    a.threads = 1;
    a.seed = (uint64_t)k;
    berth_search_options b;
    for (b = a; b.threads < 3; ) {
      b.threads++;
      CHECK(same(&s, &a, &b));
    }
    b.no_limit = 1;
    if (!CHECK(same(&s, &a, &b))) printf("# k %d\n", k);
  }
}

/* Counts what is asked; wants ops on high devices. */
typedef struct asked {
  int32_t n, calls;
} asked;

static berth_status prefer_high(void *ud, const int32_t *device, double limit, double *out) {
  asked *a = ud;
  (void)limit;
  a->calls++;
  *out = 0;
  for (int32_t i = 0; i < a->n; i++) *out += 3 - device[i];
  return a->calls == 1000 ? BERTH_ECALLBACK : BERTH_OK;
}

TEST("an objective of the user's is called as often as requested; its failure ends the search") {
  asked a = { 20, 0 };
  berth_objective f = { prefer_high, NULL, &a };
  berth_search_options o = berth_search_default();
  berth_rng rng = seeded(3, 0);
  setup s;
  setup_random(&s, &rng, 20, 1);
  setup_mesh(&s, 4, INFINITY);
  o.objective = &f;
  o.calls = 900;
  int32_t device[MOST];
  berth_search_report r = search(&s, &o, device);
  CHECK(a.calls == 900);
  CHECK_NEAR(r.value, 0, 0);
  CHECK_STATUS(berth_search(s.cost, &o, device, &r), BERTH_ECALLBACK);
}

TEST("bad options are named; a start that does not fit is refused") {
  int32_t device[2] = { 7, 7 }, start[2] = { 0, 5 };
  berth_search_options o = berth_search_default();
  setup s = setup_of("1 1p10", 2, 5);
  CHECK_STATUS(berth_search(s.cost, &o, device, NULL), BERTH_EINFEASIBLE);
  o.start = start;
  CHECK_STATUS(berth_search(s.cost, &o, device, NULL), BERTH_EINVAL);
  o = berth_search_default();
  o.calls = 0;
  CHECK_ERROR(berth_search(s.cost, &o, device, NULL), BERTH_EINVAL,
              "search: a budget is needed: calls or seconds");
  o.seconds = 1;
  CHECK_STATUS(berth_search(s.cost, &o, device, NULL), BERTH_EUNSUPPORTED);
  o.seconds = NAN;
  CHECK_STATUS(berth_search(s.cost, &o, device, NULL), BERTH_EINVAL);
  o = berth_search_default();
  o.t_end = 1;
  CHECK_STATUS(berth_search(s.cost, &o, device, NULL), BERTH_EINVAL);
  CHECK(device[0] == 7 && device[1] == 7);
}

static berth_status search_six(void) {
  let_pass();
  setup s = setup_of("1p1 2p1 3p1 4p1 5p1 6p1 0>1:1 1>2:1 2>3:1 3>4:1 4>5:1", 2, 100);
  berth_search_options o = berth_search_default();
  o.calls = 60;
  o.restarts = 2;
  int32_t device[MOST];
  refuse_from_here();
  return berth_search(s.cost, &o, device, NULL);
}

TEST("refused allocations: out of memory, nothing is kept") {
  CHECK(refuse_bare(search_six, 1) > 10);
}

TEST("DOPPLER graphs: 2,000 calls come within 5 % of the best known in each of 12 cells, within "
     "2 % in the mean") {
  static const char *const names[] = {
    "gdp_chain_mm_112nodes.txt",          "gdp_ffnn_192nodes.txt",
    "gdp_transformer_block_215nodes.txt", "gdp_full_transformer_layer_261nodes.txt",
    "8gpu_transformer_block.txt",         "8gpu_full_transformer.txt"
  };
  static const double best[] = { 1200.0710, 600.0705, 56.6982,  41.6641,  166.7188, 141.3888,
                                 122.6288,  97.2844,  231.3598, 166.7407, 230.8571, 166.7875 };
  const char *dir = check_shared();
  double sum = 0;
  if (!dir) {
    SKIP("no test data beside the project");
    return;
  }
  int32_t device[512];
  for (int i = 0; i < 12; i++) {
    setup s;
    doppler_graph *d = doppler_read(dir, names[i / 2]);
    berth_search_options o = berth_search_default();
    doppler_setup(&s, d, i % 2 ? 8 : 4, 1);
    berth_sim_options judge = must_sim_preset("doppler");
    o.judge = &judge;
    o.seed = 1;
    double above = search(&s, &o, device).value / 1e10 / best[i];
    CHECK(above < 1.05);
    sum += log(above);
    setup_end(&s);
    doppler_free(d);
  }
  printf("# %.2f %% above the best known\n", 100 * (exp(sum / 12) - 1));
  CHECK(exp(sum / 12) < 1.02);
}
