/* Measures the linear program of favourite children in CPU seconds of this process, the solve
 * alone. Lines as in bench.c. usage: lp WORK WORK: folder with the generated inputs */
#include "layered.h"

enum { REPEATS = 3 };

static berth_cost *layered_cost(berth_ctx *ctx, const char *work, int32_t n) {
  berth_device device = berth_device_default();
  berth_link link = { 1e6 / 0.0001754, 134e-6 };
  char path[4096];
  snprintf(path, sizeof path, "%s/layered-%d.json", work, (int)n);
  berth_graph *g;
  if (!(g = read_layered(ctx, path, n))) {
    fprintf(stderr, "lp: no %s\n", path);
    exit(1);
  }
  berth_topology *t;
  must(ctx, berth_topology_mesh(ctx, 4, &device, &link, &t), "topology");
  berth_cost *cost;
  must(ctx, berth_cost_new(g, t, NULL, &cost), "cost");
  berth_topology_release(t);
  berth_graph_release(g);
  return cost;
}

static void solve_layered(const char *work, int32_t n, const berth_lp_options *opts,
                          const char *label) {
  berth_ctx *ctx;
  berth_lp *lp = NULL;
  double best = INFINITY, total = 0;
  must(NULL, berth_ctx_new(NULL, &ctx), "context");
  berth_cost *cost = layered_cost(ctx, work, n);
  berth_ctx_memory_reset_peak(ctx);
  for (int i = 0; i < REPEATS; i++) {
    double from = cpu_seconds();
    berth_lp_release(lp);
    must(ctx, berth_lp_solve(cost, opts, &lp), "solve");
    from = cpu_seconds() - from;
    total += from;
    if (from < best) best = from;
  }
  const berth_lp_summary *s = berth_lp_get(lp);
  char name[128];
  snprintf(name, sizeof name, "favourites, %d ops, %s", (int)n, label);
  char input[256];
  snprintf(input, sizeof input,
           "gen_layered.py %d 20 1; value in [%.8g, %.8g] us; gap %.2g; %d + %d iterations", (int)n,
           1e6 * s->lower, 1e6 * s->upper, s->gap, (int)s->entropic, (int)s->interior);
  report(name, best, "CPU s", input, total);
  berth_lp_release(lp);
  berth_cost_release(cost);
  berth_ctx_release(ctx);
}

int main(int argc, char **argv) {
  static const int32_t sizes[] = { 1000, 5000, 20000, 100000 };
  berth_lp_options opts = berth_lp_default();
  if (argc != 2) return fprintf(stderr, "usage: lp WORK\n"), 2;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    opts.method = BERTH_LP_ENTROPIC;
    solve_layered(argv[1], sizes[i], &opts, "gap 1 %, entropic");
    opts.method = BERTH_LP_AUTO;
    solve_layered(argv[1], sizes[i], &opts, "gap 1 %");
  }
  opts.gap = 0.001;
  solve_layered(argv[1], 20000, &opts, "gap 0.1 %");
  return 0;
}
