/* Measures simulations of large placed graphs in CPU seconds of this process: without contention,
 * and on a mesh of links and on one bus, held as whole routes and shared fairly; and how the time
 * per task grows with their number. Lines as in bench.c. usage: contention */
#include "bench.h"

enum { HOSTS = 8, SEED = 4, WIDTH = 64, SMALL = 10000, MIDDLE = 100000, LARGE = 1000000 };

/* ---- the graphs of gen_dag.py N 8 4 64: the same draws in the same order ---- */

static double draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 9007199254740992.0;
}

static int32_t draw_below(uint64_t *state, int32_t n) { return (int32_t)(draw(state) * n); }

typedef struct dag {
  berth_ctx *ctx;
  berth_graph *g;
  double speed[HOSTS];
  int32_t n, edges, *host, *sequence;
} dag;

/* One to three producers among the last 2 * WIDTH ops, each once, in id order. */
static int32_t draw_producers(uint64_t *state, int32_t i, int32_t *out) {
  int32_t lo = i > 2 * WIDTH ? i - 2 * WIDTH : 0, draws = 1 + draw_below(state, 3), n = 0;
  while (draws-- > 0) {
    int32_t p = lo + draw_below(state, i - lo), k = n;
    while (k > 0 && out[k - 1] > p) k--;
    if (k > 0 && out[k - 1] == p) continue;
    memmove(out + k + 1, out + k, sizeof *out * (size_t)(n++ - k));
    out[k] = p;
  }
  return n;
}

static void add_op(dag *d, berth_graph_builder *b, uint64_t *state, int32_t i) {
  berth_op op = berth_op_default();
  d->host[i] = draw_below(state, HOSTS);
  double seconds = 0.001 + 0.009 * draw(state);
  op.seconds = &seconds;
  d->sequence[i] = i;
  int32_t id;
  must(d->ctx, berth_graph_builder_add_op(b, &op, &id), "op");
  if (i < WIDTH) return;
  int32_t from[3];
  int32_t n = draw_producers(state, i, from);
  for (int32_t k = 0; k < n; k++) {
    must(d->ctx, berth_graph_builder_connect(b, from[k], i, 1e4 + 1e6 * draw(state), NULL), "edge");
  }
  d->edges += n;
}

static dag make_dag(int32_t n) {
  uint64_t state = SEED * 2862933555777941757u + 3037000493u;
  dag d = { 0 };
  must(NULL, berth_ctx_new(NULL, &d.ctx), "context");
  berth_graph_builder *b;
  must(d.ctx, berth_graph_builder_new(d.ctx, &b), "builder");
  d.n = n;
  d.host = malloc(sizeof *d.host * (size_t)n);
  d.sequence = malloc(sizeof *d.sequence * (size_t)n);
  for (int32_t h = 0; h < HOSTS; h++) d.speed[h] = 1 + 0.5 * draw_below(&state, 4);
  for (int32_t i = 0; i < n; i++) add_op(&d, b, &state, i);
  must(d.ctx, berth_graph_builder_finish(b, &d.g), "graph");
  berth_graph_builder_release(b);
  return d;
}

static void drop_dag(dag *d) {
  free(d->host);
  free(d->sequence);
  berth_graph_release(d->g);
  berth_ctx_release(d->ctx);
}

/* ---- topologies ---- */

static const berth_link wire = { 1e9, 1e-4 };

/* A link for each ordered pair of hosts. */
static void connect_mesh(berth_ctx *ctx, berth_topology_builder *b) {
  for (int32_t i = 0; i < HOSTS; i++)
    for (int32_t k = i + 1; k < HOSTS; k++)
      must(ctx, berth_topology_builder_add_duplex(b, i, k, &wire, NULL), "link");
}

/* One link for all, both ways. */
static void connect_bus(berth_ctx *ctx, berth_topology_builder *b) {
  berth_link tap = { INFINITY, 0 };
  int32_t in;
  must(ctx, berth_topology_builder_add_switch(b, "in", &in), "switch");
  int32_t out;
  must(ctx, berth_topology_builder_add_switch(b, "out", &out), "switch");
  must(ctx, berth_topology_builder_add_link(b, in, out, &wire, NULL), "link");
  for (int32_t i = 0; i < HOSTS; i++) {
    must(ctx, berth_topology_builder_add_link(b, i, in, &tap, NULL), "link");
    must(ctx, berth_topology_builder_add_link(b, out, i, &tap, NULL), "link");
  }
}

static berth_topology *make_topology(const dag *d, int bus) {
  berth_topology_builder *b;
  must(d->ctx, berth_topology_builder_new(d->ctx, &b), "topology");
  for (int32_t h = 0; h < HOSTS; h++) {
    berth_device device = berth_device_default();
    device.speed = d->speed[h];
    must(d->ctx, berth_topology_builder_add_device(b, &device, NULL, NULL), "device");
  }
  (bus ? connect_bus : connect_mesh)(d->ctx, b);
  berth_topology *t;
  must(d->ctx, berth_topology_builder_finish(b, &t), "topology");
  berth_topology_builder_release(b);
  return t;
}

/* ---- measuring ---- */

static const struct {
  const char *name;
  berth_links links;
  int bus;
} cases[] = { { "no contention", BERTH_LINKS_FREE, 0 },
              { "route, mesh", BERTH_LINKS_ROUTE, 0 },
              { "route, bus", BERTH_LINKS_ROUTE, 1 },
              { "fair, mesh", BERTH_LINKS_FAIR, 0 },
              { "fair, bus", BERTH_LINKS_FAIR, 1 } };
enum { CASES = sizeof cases / sizeof *cases };

typedef struct figure {
  double best, total, makespan, bytes; /* CPU s of one run and of all; s; bytes per task: graph,
                                          price, simulator */
} figure;

static figure measure(const dag *d, int which, int repeats) {
  berth_topology *t = make_topology(d, cases[which].bus);
  berth_sim_options opts = berth_sim_default(d->g);
  figure f = { INFINITY, 0, 0, 0 };
  berth_cost *cost;
  must(d->ctx, berth_cost_new(d->g, t, NULL, &cost), "cost");
  opts.memory = BERTH_MEMORY_NONE;
  opts.dispatch = BERTH_DISPATCH_PLANNED;
  opts.sequence = d->sequence;
  opts.links = cases[which].links;
  berth_sim *sim;
  must(d->ctx, berth_sim_new(cost, &opts, &sim), "simulator");
  berth_sim_summary out;
  for (int i = 0; i < repeats; i++) {
    double from = cpu_seconds();
    must(d->ctx, berth_sim_run(sim, d->host, &out), "simulation");
    from = cpu_seconds() - from;
    f.total += from;
    if (from < f.best) f.best = from;
  }
  f.makespan = out.makespan;
  f.bytes = (double)berth_ctx_memory(d->ctx) / d->n;
  berth_sim_release(sim);
  berth_cost_release(cost);
  berth_topology_release(t);
  return f;
}

static void measure_all(int32_t n, int repeats, figure *out) {
  dag d = make_dag(n);
  char name[128], input[160];
  for (int k = 0; k < CASES; k++) {
    out[k] = measure(&d, k, repeats);
    snprintf(name, sizeof name, "simulation of %d tasks, %s", (int)n, cases[k].name);
    snprintf(input, sizeof input,
             "gen_dag.py %d 8 4 64: %d edges; makespan %.12g s; %.0f bytes a task", (int)n,
             (int)d.edges, out[k].makespan, out[k].bytes);
    report(name, out[k].best, "CPU s", input, out[k].total);
  }
  drop_dag(&d);
}

int main(void) {
  figure small[CASES];
  measure_all(SMALL, 20, small);
  figure middle[CASES];
  measure_all(MIDDLE, 5, middle);
  figure large[CASES];
  measure_all(LARGE, 2, large);
  for (int k = 0; k < CASES; k++) {
    char name[128];
    double ratio = large[k].best / small[k].best * SMALL / LARGE;
    snprintf(name, sizeof name, "time per task, 1,000,000 over 10,000 tasks, %s", cases[k].name);
    report(name, ratio, "times", "best of 2 / best of 20", large[k].total + small[k].total);
  }
  return 0;
}
