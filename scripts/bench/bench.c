/* Measures the core in CPU seconds of this process. One line per figure: name, value, unit, input,
 * CPU seconds, tab-separated. usage: bench SHARED WORK PART SHARED: folder with data/ and
 * reference/; WORK: folder with the generated inputs; PART: simulate, place or portfolio */
#include "layered.h"

/* ---- layered random graphs ---- */

typedef struct layered {
  berth_ctx *ctx;
  berth_graph *g;
  berth_topology *t;
  berth_cost *cost;
} layered;

static layered make_layered(const char *work, int32_t n) {
  layered m;
  berth_device device = berth_device_default();
  berth_link link = { 1e6 / 0.0001754, 134e-6 };
  must(NULL, berth_ctx_new(NULL, &m.ctx), "context");
  char path[4096];
  snprintf(path, sizeof path, "%s/layered-%d.json", work, n);
  if (!(m.g = read_layered(m.ctx, path, n))) {
    fprintf(stderr, "bench: no %s\n", path);
    exit(1);
  }
  must(m.ctx, berth_topology_mesh(m.ctx, 4, &device, &link, &m.t), "topology");
  must(m.ctx, berth_cost_new(m.g, m.t, NULL, &m.cost), "cost");
  return m;
}

static void drop_layered(layered *m) {
  berth_cost_release(m->cost);
  berth_topology_release(m->t);
  berth_graph_release(m->g);
  berth_ctx_release(m->ctx);
}

static void place_layered(const char *work, int32_t n, const char *placer, berth_links links,
                          const char *label) {
  layered m = make_layered(work, n);
  berth_placement *p = NULL;
  berth_place_options opts = berth_place_default(NULL);
  double best = INFINITY, total = 0;
  int repeats = n > 100000 ? 1 : 5;
  opts.links = links;
  for (int i = 0; i < repeats; i++) {
    berth_placement_release(p);
    double from = cpu_seconds();
    must(m.ctx, berth_place(m.cost, placer, &opts, &p, NULL), placer);
    from = cpu_seconds() - from;
    total += from;
    if (from < best) best = from;
  }
  char input[256];
  snprintf(input, sizeof input,
           "gen_layered.py %d 20 1; 4 devices, 134 us + 0.0001754 us/B; planned %.6g s", n,
           berth_placement_estimate(p));
  report(label, best, "CPU s", input, total);
  char peak[256];
  snprintf(peak, sizeof peak, "%s, peak of graph, cost and engine", label);
  report(peak, (double)berth_ctx_memory_peak(m.ctx) / n, "bytes/op", input, total);
  berth_placement_release(p);
  drop_layered(&m);
}

/* All members, the linear program and the judge, on one thread. */
static void run_portfolio(const char *work, int32_t n, berth_links links, const char *label) {
  layered m = make_layered(work, n);
  berth_portfolio_options opts = berth_portfolio_default(m.g);
  berth_portfolio *p = NULL;
  double best = INFINITY, total = 0;
  opts.place.links = links;
  opts.threads = 1;
  for (int i = 0; i < (n > 20000 ? 1 : 3); i++) {
    berth_portfolio_release(p);
    double from = cpu_seconds();
    must(m.ctx, berth_portfolio_run(m.cost, &opts, &p, NULL), "portfolio");
    from = cpu_seconds() - from;
    total += from;
    if (from < best) best = from;
  }
  const berth_member_report *won = berth_portfolio_report(p, berth_portfolio_winner(p));
  char input[256];
  snprintf(
      input, sizeof input,
      "gen_layered.py %d 20 1; 4 devices, 134 us + 0.0001754 us/B; %d members, %s wins with %.6g s",
      n, (int)berth_portfolio_members(p), won->name, won->makespan);
  report(label, best, "CPU s", input, total);
  berth_portfolio_release(p);
  drop_layered(&m);
}

/* ---- simulations of the DOPPLER graphs ---- */

enum { PLACEMENTS = 64, DEVICES = 4 };

static double mean_simulation(const char *path, double *cpu) {
  berth_ctx *ctx;
  berth_device device = berth_device_default();
  berth_link link = { 1, 0 };
  int32_t rounds = 40;
  must(NULL, berth_ctx_new(NULL, &ctx), "context");
  berth_bundle bundle;
  must(ctx, berth_load(ctx, path, NULL, &bundle), path);
  berth_topology *t;
  must(ctx, berth_topology_mesh(ctx, DEVICES, &device, &link, &t), "topology");
  berth_cost *cost;
  must(ctx, berth_cost_new(bundle.graph, t, NULL, &cost), "cost");
  berth_sim_options opts;
  must(ctx, berth_sim_preset(ctx, "doppler", &opts), "preset");
  berth_sim *sim;
  must(ctx, berth_sim_new(cost, &opts, &sim), "simulator");
  int32_t n = berth_graph_ops(bundle.graph);
  int32_t *where = malloc(sizeof *where * PLACEMENTS * (size_t)n);
  berth_rng rng;
  berth_rng_init(&rng, 1, 0);
  for (int32_t i = 0; i < PLACEMENTS * n; i++) where[i] = berth_rng_below(&rng, DEVICES);
  berth_sim_summary out;
  for (int32_t k = 0; k < PLACEMENTS; k++)
    must(ctx, berth_sim_run(sim, where + k * n, &out), "warm-up");
  double from = cpu_seconds();
  for (int32_t r = 0; r < rounds; r++)
    for (int32_t k = 0; k < PLACEMENTS; k++)
      must(ctx, berth_sim_run(sim, where + k * n, &out), "simulation");
  from = cpu_seconds() - from;
  *cpu += from;
  free(where);
  berth_sim_release(sim);
  berth_cost_release(cost);
  berth_topology_release(t);
  berth_bundle_release(&bundle);
  berth_ctx_release(ctx);
  return from / rounds / PLACEMENTS;
}

static void simulate_doppler(const char *shared) {
  static const char *const files[] = {
    "gdp_chain_mm_112nodes",          "gdp_ffnn_192nodes",
    "gdp_transformer_block_215nodes", "gdp_full_transformer_layer_261nodes",
    "8gpu_transformer_block",         "8gpu_full_transformer"
  };
  double sum = 0, cpu = 0;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[4096];
    double one = 0;
    snprintf(path, sizeof path, "%s/data/doppler/%s.txt", shared, files[i]);
    double mean = mean_simulation(path, &one);
    char label[128];
    snprintf(label, sizeof label, "simulation, %s", files[i]);
    report(label, 1e6 * mean, "us", "preset doppler, 4 devices, 64 random placements, seed 1", one);
    sum += mean;
    cpu += one;
  }
  report("simulations a second, doppler graphs", 6 / sum, "1/s", "6 / sum of the six means", cpu);
}

static void place_all(const char *shared, const char *work) {
  (void)shared;
  place_layered(work, 20000, "m-etf", BERTH_LINKS_FREE, "m-ETF, 20,000 ops");
  place_layered(work, 20000, "m-etf", BERTH_LINKS_CHANNEL,
                "m-ETF planning half-duplex channels, 20,000 ops");
  place_layered(work, 20000, "heft", BERTH_LINKS_FREE, "HEFT, 20,000 ops");
  place_layered(work, 20000, "m-sct", BERTH_LINKS_FREE,
                "m-SCT, linear program included, 20,000 ops");
  place_layered(work, 1000000, "m-etf", BERTH_LINKS_FREE, "m-ETF, 1,000,000 ops");
}

static void run_portfolios(const char *shared, const char *work) {
  (void)shared;
  run_portfolio(work, 20000, BERTH_LINKS_FREE, "portfolio, 20,000 ops");
  run_portfolio(work, 20000, BERTH_LINKS_DUPLEX, "portfolio on duplex links, 20,000 ops");
  run_portfolio(work, 100000, BERTH_LINKS_FREE, "portfolio, 100,000 ops");
}

static void simulate(const char *shared, const char *work) {
  (void)work;
  simulate_doppler(shared);
}

static const struct {
  const char *name;
  void (*run)(const char *shared, const char *work);
} parts[] = { { "simulate", simulate }, { "place", place_all }, { "portfolio", run_portfolios } };

int main(int argc, char **argv) {
  if (argc == 4) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      if (strcmp(argv[3], parts[i].name) == 0) return parts[i].run(argv[1], argv[2]), 0;
    }
  }
  fprintf(stderr, "usage: bench SHARED WORK simulate|place|portfolio\n");
  return 2;
}
