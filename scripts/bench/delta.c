/* Tries against runs: the cost of a simulation that resumes from a base. Ops whose ends are
 * simulated, and CPU time. usage: delta SHARED WORK [K] SHARED: folder with data/; WORK: folder
 * with layered-N.json and bert.json;
 * K: the Kth input only */
#include "layered.h"
#include <math.h>

typedef struct input {
  berth_ctx *ctx;
  berth_graph *g;
  berth_topology *t;
  berth_cost *cost;
  berth_sim_options o;
  int32_t n, devices, *device, *by_start;
  double makespan;
  char name[96];
} input;

typedef struct move {
  int32_t op, to;
} move;

static void finish_input(input *x, const berth_link *link, const char *preset) {
  berth_device device = berth_device_default();
  if (preset) must(x->ctx, berth_device_preset(x->ctx, preset, &device), preset);
  device.memory = 1e18; /* so that it counts, and never runs out */
  must(x->ctx, berth_topology_mesh(x->ctx, x->devices, &device, link, &x->t), "topology");
  must(x->ctx, berth_cost_new(x->g, x->t, NULL, &x->cost), "cost");
  x->n = berth_graph_ops(x->g);
  x->device = malloc(sizeof *x->device * (size_t)x->n);
  x->by_start = malloc(sizeof *x->by_start * (size_t)x->n);
  must(x->ctx, berth_sim_preset(x->ctx, "doppler", &x->o), "preset");
}

static const double *sort_key;

static int by_key(const void *a, const void *b) {
  double x = sort_key[*(const int32_t *)a], y = sort_key[*(const int32_t *)b];
  return x != y ? (x < y ? -1 : 1) : *(const int32_t *)a - *(const int32_t *)b;
}

/* The base: annealed for `calls`, or the list placer's answer. */
static void place_base(input *x, int64_t calls) {
  berth_placement *p = NULL;
  berth_place_options opts = berth_place_default(x->g);
  berth_search_options search = berth_search_default();
  berth_result *r = NULL;
  search.calls = calls;
  search.judge = &x->o;
  search.threads = 1;
  opts.search = &search;
  must(x->ctx, berth_place(x->cost, calls > 0 ? "anneal" : "heft", &opts, &p, NULL), "base");
  memcpy(x->device, berth_placement_device(p), sizeof *x->device * (size_t)x->n);
  must(x->ctx, berth_simulate(x->cost, x->device, &x->o, &r), "base");
  x->makespan = berth_result_makespan(r);
  sort_key = berth_result_start(r);
  for (int32_t i = 0; i < x->n; i++) x->by_start[i] = i;
  qsort(x->by_start, (size_t)x->n, sizeof *x->by_start, by_key);
  berth_result_release(r);
  berth_placement_release(p);
}

static void drop_input(input *x) {
  free(x->device);
  free(x->by_start);
  berth_cost_release(x->cost);
  berth_topology_release(x->t);
  berth_graph_release(x->g);
  berth_ctx_release(x->ctx);
}

/* ---- single moves of one base ---- */

static void draw_moves(const input *x, double from, double to, int32_t k, move *out) {
  berth_rng rng;
  berth_rng_init(&rng, 1, 0);
  for (int32_t i = 0; i < k; i++) {
    int32_t first = (int32_t)(from * x->n), span = (int32_t)((to - from) * x->n);
    out[i].op = x->by_start[first + berth_rng_below(&rng, span > 0 ? span : 1)];
    int32_t d = berth_rng_below(&rng, x->devices - 1);
    out[i].to = d + (d >= x->device[out[i].op]);
  }
}

typedef struct tally {
  double ended, seconds;
} tally;

static tally tries(const input *x, const move *m, int32_t k, double limit, double *sum) {
  berth_sim *sim = NULL;
  must(x->ctx, berth_sim_new(x->cost, &x->o, &sim), "simulator");
  berth_sim_summary s;
  must(x->ctx, berth_sim_base(sim, x->device, &s), "base");
  tally t;
  t.ended = (double)berth_sim_ended(sim);
  double from = cpu_seconds();
  for (int32_t i = 0; i < k; i++) {
    must(x->ctx, berth_sim_try(sim, 1, &m[i].op, &m[i].to, limit, &s), "try");
    *sum += s.makespan <= limit ? s.makespan : 1;
  }
  t.seconds = cpu_seconds() - from;
  t.ended = (double)berth_sim_ended(sim) - t.ended;
  berth_sim_release(sim);
  return t;
}

static tally runs(const input *x, const move *m, int32_t k, double limit, double *sum) {
  berth_sim *sim = NULL;
  must(x->ctx, berth_sim_new(x->cost, &x->o, &sim), "simulator");
  berth_sim_summary s;
  must(x->ctx, berth_sim_run_limited(sim, x->device, limit, &s), "run");
  tally t;
  t.ended = (double)berth_sim_ended(sim);
  double from = cpu_seconds();
  for (int32_t i = 0; i < k; i++) {
    int32_t before = x->device[m[i].op];
    x->device[m[i].op] = m[i].to;
    must(x->ctx, berth_sim_run_limited(sim, x->device, limit, &s), "run");
    *sum += s.makespan <= limit ? s.makespan : 1;
    x->device[m[i].op] = before;
  }
  t.seconds = cpu_seconds() - from;
  t.ended = (double)berth_sim_ended(sim) - t.ended;
  berth_sim_release(sim);
  return t;
}

static void compare(const input *x, const char *which, double from, double to, double over) {
  int32_t k = x->n < 1000 ? 2000 : x->n < 10000 ? 300 : x->n < 50000 ? 60 : 16;
  move *m = malloc(sizeof *m * (size_t)k);
  double limit = over < 0 ? INFINITY : x->makespan * (1 + over), a = 0, b = 0;
  draw_moves(x, from, to, k, m);
  tally delta = tries(x, m, k, limit, &a);
  tally full = runs(x, m, k, limit, &b);
  tally again = tries(x, m, k, limit, &a);
  if (again.seconds < delta.seconds) delta.seconds = again.seconds;
  again = runs(x, m, k, limit, &b);
  if (again.seconds < full.seconds) full.seconds = again.seconds;
  if (a != b) {
    fprintf(stderr, "bench: %s, %s: tries and runs differ\n", x->name, which);
    exit(1);
  }
  char label[160];
  snprintf(label, sizeof label, "delta, %s, %s%s", x->name, which, over < 0 ? "" : ", limit");
  char what[160];
  snprintf(what, sizeof what, "ends %.4f of %.0f; time %.4f of %.4g us", delta.ended / full.ended,
           full.ended / k, delta.seconds / full.seconds, 1e6 * full.seconds / k);
  report(label, full.seconds / delta.seconds, "times", what, 2 * (delta.seconds + full.seconds));
  free(m);
}

/* ---- other options: moves of any op ---- */

static void search_both(const input *x);

typedef struct variant {
  const char *name;
  berth_links links;
  berth_memory_policy memory;
} variant;

static const variant variants[] = {
  { "memory", BERTH_LINKS_FREE, BERTH_MEMORY_INFERENCE },
  { "duplex", BERTH_LINKS_DUPLEX, BERTH_MEMORY_NONE },
  { "duplex, memory", BERTH_LINKS_DUPLEX, BERTH_MEMORY_INFERENCE },
  { "fair", BERTH_LINKS_FAIR, BERTH_MEMORY_NONE },
};

static void place_base(input *x, int64_t calls);

static void all_variants(input *x, int64_t calls, int with_search) {
  berth_sim_options plain = x->o;
  size_t length = strlen(x->name);
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    x->o.links = variants[i].links;
    x->o.memory = variants[i].memory;
    snprintf(x->name + length, sizeof x->name - length, ", %s", variants[i].name);
    place_base(x, calls);
    compare(x, "random", 0, 1, -1);
    compare(x, "random", 0, 1, 0);
    if (with_search) search_both(x);
  }
  x->name[length] = 0;
  x->o = plain;
}

static void all_moves(input *x) {
  for (int limited = 0; limited < 2; limited++) {
    double over = limited ? 0 : -1;
    compare(x, "early", 0, 0.1, over);
    compare(x, "middle", 0.45, 0.55, over);
    compare(x, "late", 0.9, 1, over);
    compare(x, "random", 0, 1, over);
  }
}

/* ---- a whole search ---- */

static berth_status run_limited(void *ud, const int32_t *device, double limit, double *out) {
  berth_sim_summary s;
  berth_status st = berth_sim_run_limited(ud, device, limit, &s);
  *out = s.makespan;
  return st;
}

static int32_t chain_of(void *ud, int32_t *ops) { return berth_sim_chain(ud, ops); }

static double search_seconds(const input *x, const berth_objective *f, int64_t calls,
                             int32_t *device) {
  berth_search_options o = berth_search_default();
  double from = cpu_seconds();
  o.calls = calls;
  o.seed = 1;
  o.restarts = o.threads = 1;
  o.judge = &x->o;
  o.objective = f;
  must(x->ctx, berth_search(x->cost, &o, device, NULL), "search");
  return cpu_seconds() - from;
}

/* Annealing with tries, and the same with a run for each placement: the same answer. */
static void search_both(const input *x) {
  int64_t calls = x->n < 500 ? 10000 : 2000;
  int32_t *a = malloc(sizeof *a * (size_t)x->n), *b = malloc(sizeof *b * (size_t)x->n);
  double tries_took = INFINITY, runs_took = INFINITY;
  berth_objective f = { run_limited, chain_of, NULL };
  berth_sim *sim = NULL;
  must(x->ctx, berth_sim_new(x->cost, &x->o, &sim), "simulator");
  f.ud = sim;
  for (int i = 0; i < 3; i++) {
    tries_took = fmin(tries_took, search_seconds(x, NULL, calls, a));
    runs_took = fmin(runs_took, search_seconds(x, &f, calls, b));
  }
  if (memcmp(a, b, sizeof *a * (size_t)x->n) != 0) {
    fprintf(stderr, "bench: %s: the searches differ\n", x->name);
    exit(1);
  }
  char label[160];
  snprintf(label, sizeof label, "delta, %s, search", x->name);
  char what[160];
  snprintf(what, sizeof what, "anneal, %lld calls, seed 1; runs with a limit take %.4g s",
           (long long)calls, runs_took);
  report(label, runs_took / tries_took, "times", what, 3 * (tries_took + runs_took));
  berth_sim_release(sim);
  free(a);
  free(b);
}

/* ---- inputs ---- */

static void doppler(const char *shared, const char *file, int32_t devices) {
  input x = { 0 };
  berth_link link = { 1, 0 };
  must(NULL, berth_ctx_new(NULL, &x.ctx), "context");
  char path[4096];
  snprintf(path, sizeof path, "%s/data/doppler/%s.txt", shared, file);
  berth_bundle bundle;
  must(x.ctx, berth_load(x.ctx, path, NULL, &bundle), path);
  x.g = bundle.graph;
  x.devices = devices;
  finish_input(&x, &link, NULL);
  snprintf(x.name, sizeof x.name, "%s (%d ops), %d devices", file, (int)x.n, (int)devices);
  place_base(&x, 2000);
  all_moves(&x);
  search_both(&x);
  all_variants(&x, 2000, 1);
  drop_input(&x);
}

static void from_work(const char *work, const char *file, int32_t n, int32_t devices) {
  input x = { 0 };
  berth_link link = { 1e6 / 0.0001754, 134e-6 };
  must(NULL, berth_ctx_new(NULL, &x.ctx), "context");
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", work, file);
  x.g = read_layered(x.ctx, path, n);
  if (!x.g) {
    fprintf(stderr, "bench: no %s\n", path);
    exit(1);
  }
  x.devices = devices;
  finish_input(&x, &link, NULL);
  snprintf(x.name, sizeof x.name, "layered, %d ops, %d devices", (int)x.n, (int)devices);
  place_base(&x, n <= 2000 ? 2000 : 0);
  all_moves(&x);
  if (n <= 2000) search_both(&x);
  if (n <= 20000) all_variants(&x, n <= 2000 ? 1000 : 0, n <= 2000);
  drop_input(&x);
}

static void bert(const char *work) {
  input x = { 0 };
  berth_link link = { 25e9, 5e-6 };
  char path[4096];
  snprintf(path, sizeof path, "%s/bert.json", work);
  FILE *f;
  if (!(f = fopen(path, "r"))) {
    fprintf(stderr, "bench: no %s\n", path);
    exit(1);
  }
  fclose(f);
  must(NULL, berth_ctx_new(NULL, &x.ctx), "context");
  berth_bundle bundle;
  must(x.ctx, berth_load(x.ctx, path, NULL, &bundle), path);
  x.g = bundle.graph;
  x.devices = 4;
  finish_input(&x, &link, "V100");
  snprintf(x.name, sizeof x.name, "BERT (%d ops), 4 devices", (int)x.n);
  place_base(&x, 2000);
  all_moves(&x);
  search_both(&x);
  all_variants(&x, 1000, 1);
  drop_input(&x);
}

static void measure(int which, const char *shared, const char *work) {
  switch (which) {
  case 1: doppler(shared, "gdp_chain_mm_112nodes", 4); break;
  case 2: doppler(shared, "gdp_full_transformer_layer_261nodes", 4); break;
  case 3: doppler(shared, "8gpu_full_transformer", 8); break;
  case 4: bert(work); break;
  case 5: from_work(work, "layered-2000.json", 2000, 4); break;
  case 6: from_work(work, "layered-2000.json", 2000, 16); break;
  case 7: from_work(work, "layered-20000.json", 20000, 4); break;
  case 8: from_work(work, "layered-100000.json", 100000, 4); break;
  default: break;
  }
}

int main(int argc, char **argv) {
  int only = argc == 4 ? atoi(argv[3]) : 0;
  if (argc < 3 || argc > 4) return 2;
  for (int i = 1; i <= 8; i++) {
    if (only == 0 || i == only) measure(i, argv[1], argv[2]);
  }
  return 0;
}
