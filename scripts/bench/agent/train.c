/* Trains the weights of the shipped agent by an evolution strategy: antithetic perturbations of all
 * weights, the best of a few episodes on a batch of drawn graphs as value, ranks as utilities
 * (Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning",
 * 2017). The bases of all heads are perturbed together, as they are alike. The mean weights are
 * validated with 50 calls on graphs that are held out; the best of these are the result.
 * usage: train LIST SEED GENERATIONS OUT [WEIGHTS]: LIST as instances.lua writes it */
#include "bench.h"
#include "episodes/agent_internal.h"
#include <math.h>

enum { PAIRS = 16, BATCH = 24, CALLS = 12, ALL_CALLS = 50, HELD_OUT = 80, EVERY = 20 };
#define WORST 2.0        /* ratio to the portfolio where no episode keeps memory, in validation */
#define WORST_TRAIN 1.22 /* and at most in training: few instances would outweigh all others */
#define COMMON 0.8       /* share of the noise of a base that all heads have */
#define RATE 2.0         /* of the first step; a tenth in the end */
#define MOMENTUM 0.9
#define N BERTH_I_AGENT_WEIGHTS

typedef struct instance {
  berth_cost *cost;
  berth_i_agent agent;
  double reference; /* s */
  int32_t *device;
} instance;

static instance **all;
static int32_t n_all;

static int links_of(const char *name) {
  static const char *const names[] = { "free", "channel", "duplex", "pair", "route", "fair" };
  for (int i = 0; i < 6; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  fprintf(stderr, "train: no links %s\n", name);
  exit(1);
}

static void load(berth_ctx *ctx, const char *path) {
  static const float none[N];
  FILE *f = fopen(path, "r");
  char file[500], links[20];
  double seconds;
  if (!f) exit(1);
  while (fscanf(f, "%499s %19s %lf", file, links, &seconds) == 3) {
    berth_bundle b;
    all = realloc(all, (size_t)(n_all + 1) * sizeof *all);
    instance *x = all[n_all++] = calloc(1, sizeof *x);
    must(ctx, berth_load(ctx, file, NULL, &b), file);
    must(ctx, berth_cost_new(b.graph, b.topology, NULL, &x->cost), file);
    berth_place_options o = berth_place_default(b.graph);
    o.links = (berth_links)links_of(links);
    must(ctx, berth_i_agent_init(x->cost, &o, none, o.memory == BERTH_MEMORY_TOTAL, &x->agent, NULL),
         file);
    x->reference = seconds;
    x->device = malloc((size_t)x->agent.n * sizeof *x->device);
    berth_bundle_release(&b);
  }
  fclose(f);
}

/* Log of the ratio to the portfolio, at most that of worst. */
static double value_of(berth_ctx *ctx, instance *x, const float *w, int32_t calls, uint64_t seed,
                       double worst) {
  double value;
  x->agent.w = w;
  must(ctx, berth_i_agent_search(&x->agent, calls, seed, x->device, &value), "episode");
  return log(isinf(value) ? worst : fmin(worst, value / x->reference));
}

/* Geometric mean against the portfolio, with all calls. */
static double validate(berth_ctx *ctx, const float *w, int32_t from, int32_t to, int32_t calls) {
  double sum = 0;
  for (int32_t i = from; i < to; i++) sum += value_of(ctx, all[i], w, calls, 1, WORST);
  return exp(sum / (to - from));
}

/* Deviation of the noise. */
static double scale_of(int k) {
  if (k < BERTH_I_AT_OUTPUT) return 0.06;
  if (k < BERTH_I_AT_BASE) return 0.03;
  return 0.05;
}

static void begin(berth_rng *rng, double *mean) {
  for (int k = 0; k < N; k++) {
    mean[k] = 0;
    if (k < BERTH_I_AT_OUTPUT) mean[k] = 0.4 * berth_rng_normal(rng);
    if (k >= BERTH_I_AT_SPREAD) mean[k] = k < BERTH_I_AT_SPREAD + BERTH_I_TERMS ? 0.25 : 0.15;
  }
  /* earliest finish, and less of all transfers; longest path with transfers */
  static const double first[BERTH_I_FACTORS] = {
    2, 0.9, 0.2, 0.15, 0.2, -0.1, 0.05, 0.1, 0.15, -0.25, 0.05, 0.1, 0.1, 0, 0.7, 0.1, 0.35
  };
  for (int head = 0; head < BERTH_I_HEADS; head++) {
    double *base = mean + BERTH_I_AT_BASE + head * BERTH_I_FACTORS;
    const berth_i_agent_order order = (berth_i_agent_order)(head / BERTH_I_GRAINS);
    memcpy(base, first, sizeof first);
    if (order != BERTH_I_BY_START) continue;
    base[BERTH_I_TERMS] = 0.02; /* ties of earliest starts by the longest path */
    base[BERTH_I_TERMS + 2] = 1;
  }
}

static void utilities(const double *value, int n, double *u) {
  for (int i = 0; i < n; i++) {
    double below = 0;
    for (int j = 0; j < n; j++)
      below += (value[j] < value[i]) + 0.5 * (value[j] == value[i]);
    u[i] = (n / 2.0 - below) / n;
  }
}

/* Standard normal; the bases of one factor are correlated. */
static void draw(berth_rng *rng, double *noise) {
  double common[BERTH_I_FACTORS];
  for (int k = 0; k < BERTH_I_FACTORS; k++) common[k] = berth_rng_normal(rng);
  for (int k = 0; k < N; k++) {
    noise[k] = berth_rng_normal(rng);
    if (k < BERTH_I_AT_BASE || k >= BERTH_I_AT_SPREAD) continue;
    noise[k] = COMMON * common[(k - BERTH_I_AT_BASE) % BERTH_I_FACTORS]
               + sqrt(1 - COMMON * COMMON) * noise[k];
  }
}

static void write(const char *path, const float *w) {
  FILE *f = fopen(path, "w");
  if (!f) exit(1);
  for (int k = 0; k < N; k++) fprintf(f, "%.6g\n", (double)w[k]);
  if (fclose(f)) exit(1);
}

int main(int argc, char **argv) {
  static double mean[N], noise[PAIRS][N], m[N];
  static float w[N], best[N];
  if (argc < 5) return 2;
  berth_ctx *ctx;
  berth_rng rng;
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) return 1;
  uint64_t seed = strtoull(argv[2], NULL, 10);
  int64_t generations = strtoll(argv[3], NULL, 10);
  double least = INFINITY;
  load(ctx, argv[1]);
  berth_rng_init(&rng, seed, 0);
  begin(&rng, mean);
  if (argc > 5) {
    FILE *f = fopen(argv[5], "r");
    for (int k = 0; f && k < N; k++) {
      if (fscanf(f, "%lf", &mean[k]) != 1) return 1;
    }
    if (!f || fclose(f)) return 1;
  }
  int32_t train = n_all - HELD_OUT, pick[BATCH];
  for (int64_t gen = 0;; gen++) {
    double left = generations > gen ? 1 - (double)gen / (double)generations : 0;
    if (gen % EVERY == 0 || left == 0) {
      for (int k = 0; k < N; k++) w[k] = (float)mean[k];
      double x = validate(ctx, w, train, n_all, ALL_CALLS), one = validate(ctx, w, train, n_all, 1);
      if (x < least) {
        least = x;
        memcpy(best, w, sizeof best);
        write(argv[4], best);
      }
      printf("%lld\t%.0f s\t1 call %.4f\t%d calls %.4f\tbest %.4f\n", (long long)gen,
             cpu_seconds(), one, ALL_CALLS, x, least);
      fflush(stdout);
      if (left == 0) break;
    }
    /* 1. The batch, the same for all. */
    for (int i = 0; i < BATCH; i++) pick[i] = berth_rng_below(&rng, train);
    uint64_t episodes = berth_rng_u64(&rng);
    double value[2 * PAIRS], u[2 * PAIRS];
    for (int p = 0; p < PAIRS; p++) {
      draw(&rng, noise[p]);
      for (int sign = 0; sign < 2; sign++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
          w[k] = (float)(mean[k] + (sign ? -1 : 1) * scale_of(k) * noise[p][k]);
        for (int i = 0; i < BATCH; i++)
          sum += value_of(ctx, all[pick[i]], w, CALLS, episodes + (uint64_t)i, WORST_TRAIN);
        value[2 * p + sign] = sum;
      }
    }
    /* 2. A step along the estimated gradient, in units of the noise. */
    utilities(value, 2 * PAIRS, u);
    double rate = RATE * (0.1 + 0.9 * left);
    for (int k = 0; k < N; k++) {
      double g = 0;
      for (int p = 0; p < PAIRS; p++) g += (u[2 * p] - u[2 * p + 1]) * noise[p][k];
      m[k] = MOMENTUM * m[k] + (1 - MOMENTUM) * g / PAIRS;
      mean[k] += rate * scale_of(k) * m[k];
    }
  }
  return 0;
}
