/* Measures co-placement and fusion in CPU seconds of this process, the transform alone. Lines as in
 * bench.c.
 * usage: transforms WORK      WORK: folder with the generated inputs */
#include "layered.h"

enum { REPEATS = 3 };

typedef berth_status (*transform_fn)(const berth_graph *g, berth_graph **out);

static berth_status coplace(const berth_graph *g, berth_graph **out) {
  return berth_graph_coplace(g, NULL, out, NULL);
}

static berth_status fuse_groups(const berth_graph *g, berth_graph **out) {
  return berth_graph_fuse(g, NULL, out, NULL);
}

static berth_status fuse_all(const berth_graph *g, berth_graph **out) {
  berth_fuse_options o = berth_fuse_default();
  o.scope = BERTH_FUSE_ALL;
  return berth_graph_fuse(g, &o, out, NULL);
}

static berth_status fuse_small(const berth_graph *g, berth_graph **out) {
  berth_fuse_options o = berth_fuse_default();
  o.scope = BERTH_FUSE_ALL;
  o.share.max_ops = 16;
  return berth_graph_fuse(g, &o, out, NULL);
}

static berth_status chains(const berth_graph *g, berth_graph **out) {
  return berth_graph_fuse_chains(g, NULL, out, NULL);
}

static void measure(berth_ctx *ctx, const berth_graph *g, const char *what, transform_fn f,
                    const char *input) {
  double best = INFINITY;
  for (int k = 0; k < REPEATS; k++) {
    berth_graph *out;
    double start = cpu_seconds();
    must(ctx, f(g, &out), what);
    double taken = cpu_seconds() - start;
    best = taken < best ? taken : best;
    berth_graph_release(out);
  }
  char name[80];
  snprintf(name, sizeof name, "transform %s", what);
  report(name, best, "s", input, best);
}

static void measure_layered(const char *work, int32_t n) {
  char path[4096];
  snprintf(path, sizeof path, "%s/layered-%d.json", work, (int)n);
  char input[80];
  snprintf(input, sizeof input, "layered %d", (int)n);
  berth_ctx *ctx;
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) exit(1);
  berth_graph *g;
  if (!(g = read_layered(ctx, path, n))) {
    fprintf(stderr, "transforms: no %s\n", path);
    exit(1);
  }
  berth_graph *grouped;
  must(ctx, coplace(g, &grouped), "coplace");
  measure(ctx, g, "coplace", coplace, input);
  measure(ctx, grouped, "fuse after coplace", fuse_groups, input);
  measure(ctx, g, "fuse all", fuse_all, input);
  measure(ctx, g, "fuse to 16 ops", fuse_small, input);
  measure(ctx, g, "chains", chains, input);
  berth_graph_release(grouped);
  berth_graph_release(g);
  berth_ctx_release(ctx);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: transforms WORK\n");
    return 2;
  }
  measure_layered(argv[1], 20000);
  measure_layered(argv[1], 100000);
  return 0;
}
