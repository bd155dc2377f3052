/* Fits the constants of core/cost/kernels/ to measured kernels, states the errors, and writes
 * core/cost/kernels/constants.c. usage: llm_fit FOLDER DATE [OUT.c]; FOLDER: the tables, unpacked.
 * Each fit: Nelder-Mead over random blocks of at most 6 constants, from three starts, on the mean
 * of |estimate / measurement - 1|. Held out: fitted on one half of the shapes, tested on the other,
 * both ways. A constant that ends at a bound where its term vanishes is fixed there; at any other
 * bound the program fails. Deterministic. */
#include <berth/berth.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 20000, MOST_PARAMS = 20, BLOCK = 6, MOST_FIT = 4500 };

typedef struct sample {
  double x[5], seconds; /* gemm: m n k; attention: batch seq heads kv size; else: kind bytes gpus */
  int group;            /* class in reports and weights; -1: not used */
  int half;             /* of the shapes */
} sample;

typedef struct table {
  const char *name;
  int n;
  sample row[MOST_ROWS];
} table;

typedef struct param {
  const char *name;
  double *at;           /* into the kernels that are being fitted */
  double low, high;
  int off_low, off_high; /* the bound switches the term off: legal, then fixed */
  int fixed;
  double other;         /* of the second start; 0: that of the first */
} param;

typedef struct problem {
  table *t;
  berth_kernels *k;
  double (*seconds)(const berth_kernels *k, const double *x);
  const double *weight; /* of each group */
  int groups, n, skip;  /* skip: the half that is not fitted to; 2: none */
  int stride;
  param p[MOST_PARAMS];
} problem;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "llm_fit: %s: %s\n", what, why);
  exit(1);
}

/* ---- forms ---- */

static double of_gemm(const berth_kernels *k, const double *x) {
  return berth_kernel_gemm(k, x[0], x[1], x[2]);
}

static double of_attention(const berth_kernels *k, const double *x) {
  berth_attention a = { .batch = x[0], .seq = x[1], .heads = x[2], .kv_heads = x[3],
                        .head_size = x[4] };
  return berth_kernel_attention(k, &a);
}

static const berth_collective_kind kinds[4] = { BERTH_ALLREDUCE, BERTH_ALLGATHER,
                                                BERTH_REDUCESCATTER, BERTH_ALLTOALL };
static double of_collective(const berth_kernels *k, const double *x) {
  return berth_kernel_collective(k, kinds[(int)x[0]], x[1], (int32_t)x[2], 1, 0);
}

/* The shares of bandwidth across machines: x = pairs?, bytes, machines; seconds: the share. The
 * constants borrow collective[0] (rings) and [1] (pairs): low: share, start: s a machine. */
#define NETWORK 388e9 /* bytes/s: 8 NICs of 400 Gbit/s at 48.5 GB/s, for which the tables hold */
static double of_network(const berth_kernels *k, const double *x) {
  const berth_collective_constants *c = &k->collective[(int)x[0]];
  double start = c->start * (x[0] == 0 ? x[2] : 1);
  /* rings share all NICs; of an all-to-all each GPU has its own */
  return 1 / (1 / c->low + start * (x[0] == 0 ? NETWORK : NETWORK / 8) / x[1]);
}

/* ---- rows ---- */

static FILE *open_table(const char *folder, const char *name) {
  char path[4096], line[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "r");
  if (!f) fail(path, "cannot be opened");
  if (!fgets(line, sizeof line, f)) fail(path, "is empty");
  return f;
}

static sample *add(table *t) {
  if (t->n == MOST_ROWS) fail(t->name, "has too many rows");
  memset(&t->row[t->n], 0, sizeof *t->row);
  return &t->row[t->n++];
}

static int half_of(const double *x, int n) {
  uint64_t h = 88172645463325252u;
  for (int i = 0; i < n; i++) {
    h ^= (uint64_t)x[i] * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    h ^= h >> 32;
  }
  return (int)(h & 1);
}

/* Classes: 0 m >= 1024, 1 from 128, 2 below, 3 to 5 the same with n or k below 512. */
static void read_gemm(table *t, const char *folder, const char *file, const char *dtype) {
  char line[400], type[40];
  double x[3], ms;
  FILE *f = open_table(folder, file);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%39[^,],%lf,%lf,%lf,%lf", type, &x[0], &x[1], &x[2], &ms) != 5
        || strcmp(type, dtype) != 0)
      continue;
    sample *s = add(t);
    memcpy(s->x, x, sizeof x);
    s->seconds = ms * 1e-3;
    s->group = (x[0] >= 1024 ? 0 : x[0] >= 128 ? 1 : 2) + (x[1] < 512 || x[2] < 512 ? 3 : 0);
    s->half = half_of(x, 3);
  }
  fclose(f);
}

/* Two rows of one shape: the slower from 1,024 on, the faster below. Classes: 0 s >= 512, 1. */
static void read_attention(table *t, const char *folder, const char *file) {
  char line[400];
  double x[5], window, ms;
  FILE *f = open_table(folder, file);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%*[^,],%lf", &x[0], &x[1], &x[2], &x[3], &x[4],
               &window, &ms) != 7)
      continue;
    int i = 0;
    while (i < t->n && memcmp(t->row[i].x, x, sizeof x) != 0) i++;
    sample *s = i < t->n ? &t->row[i] : add(t);
    double before = s->seconds > 0 ? s->seconds : ms * 1e-3;
    s->seconds = x[1] >= 1024 ? fmax(before, ms * 1e-3) : fmin(before, ms * 1e-3);
    memcpy(s->x, x, sizeof x);
    s->group = x[1] >= 512 ? 0 : 1;
    s->half = half_of(x, 5);
  }
  fclose(f);
}

/* Sizes are elements of the whole buffer: half has 2 bytes. Halves: every second size. */
static void read_comm(table *t, const char *folder, const char *file) {
  static const char *const names[4] = { "all_reduce", "all_gather", "reduce_scatter", "alltoall" };
  char line[400], op[40], type[40];
  double gpus, size, ms;
  FILE *f = open_table(folder, file);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%*[^,],%*[^,],%*[^,],%39[^,],%*[^,],%39[^,],%lf,%lf,%lf", op, type, &gpus,
               &size, &ms) != 5)
      continue;
    for (int k = 0; k < 4; k++)
      if (strcmp(op, names[k]) == 0) {
        sample *s = add(t);
        s->x[0] = k;
        s->x[1] = size * (strcmp(type, "half") == 0 ? 2 : 1);
        s->x[2] = gpus;
        s->seconds = ms * 1e-3;
        s->group = k;
        s->half = ((int)floor(log2(size) + 0.5) + (int)gpus / 4) & 1;
      }
  }
  fclose(f);
}

static void read_ring(table *t, const char *folder) {
  char line[400];
  double gpus, bytes, ns;
  FILE *f = open_table(folder, "allreduce_a100_v100.csv");
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "a100,%lf,%lf,%lf", &gpus, &bytes, &ns) == 3) {
      sample *s = add(t);
      s->x[1] = bytes;
      s->x[2] = gpus;
      s->seconds = ns * 1e-9;
    }
  fclose(f);
}

/* Columns: size, one machine, then 2, 4, ... 128 machines; empty: not measured. */
static void read_network(table *t, const char *folder, const char *file, double pairs) {
  char line[400];
  FILE *f = open_table(folder, file);
  while (fgets(line, sizeof line, f)) {
    char *at = line;
    double bytes = strtod(at, &at), machines = 1;
    for (int column = 1; column <= 8 && *at == ','; column++, machines *= 2) {
      char *end;
      double share = strtod(++at, &end);
      if (end > at && column > 1) {
        sample *s = add(t);
        s->x[0] = pairs;
        s->x[1] = bytes;
        s->x[2] = machines;
        s->seconds = share;
        s->group = (int)pairs;
        s->half = ((int)floor(log2(bytes) + 0.5) + column) & 1;
      }
      at = end;
    }
  }
  fclose(f);
}

/* ---- the fit ---- */

static double outside(const param *p) {
  double x = *p->at, span = p->high - p->low;
  return x < p->low ? (p->low - x) / span : x > p->high ? (x - p->high) / span : 0;
}

static double loss(problem *q) {
  double sum[8] = { 0 }, count[8] = { 0 }, out = 0;
  for (int i = 0; i < q->n; i++) out += 10 * outside(&q->p[i]);
  if (out > 0) return 100 + out;
  for (int i = 0; i < q->t->n; i += q->stride) {
    const sample *s = &q->t->row[i];
    if (s->half == q->skip || q->weight[s->group] == 0) continue;
    sum[s->group] += fabs(q->seconds(q->k, s->x) / s->seconds - 1);
    count[s->group]++;
  }
  for (int i = 0; i < q->groups; i++)
    if (count[i] > 0) out += q->weight[i] * sum[i] / count[i];
  return out;
}

static double at(problem *q, const int32_t *which, int n, const double *base, const double *x) {
  for (int i = 0; i < n; i++) *q->p[which[i]].at = base[i] * x[i];
  return loss(q);
}

/* Nelder and Mead, 1965, with the usual coefficients 1, 2, 1/2, 1/2. */
static void simplex(problem *q, const int32_t *which, int n, double step, int steps) {
  double base[BLOCK], s[BLOCK + 1][BLOCK], v[BLOCK + 1], x[3][BLOCK];
  for (int i = 0; i < n; i++) base[i] = *q->p[which[i]].at;
  for (int i = 0; i <= n; i++) {
    for (int j = 0; j < n; j++) s[i][j] = i == j + 1 ? 1 + step : 1;
    v[i] = at(q, which, n, base, s[i]);
  }
  int best, worst, second;
  for (;;) {
    best = worst = 0;
    for (int i = 1; i <= n; i++) {
      if (v[i] < v[best]) best = i;
      if (v[i] > v[worst]) worst = i;
    }
    second = best;
    for (int i = 0; i <= n; i++)
      if (i != worst && v[i] > v[second]) second = i;
    if (steps-- == 0 || v[worst] - v[best] < 1e-7) break;
    for (int j = 0; j < n; j++) {
      double mean = 0;
      for (int i = 0; i <= n; i++)
        if (i != worst) mean += s[i][j] / n;
      x[0][j] = 2 * mean - s[worst][j];
      x[1][j] = 3 * mean - 2 * s[worst][j];
      x[2][j] = (mean + s[worst][j]) / 2;
    }
    double f = at(q, which, n, base, x[0]);
    int take = 0;
    if (f < v[best]) {
      double far = at(q, which, n, base, x[1]);
      if (far < f) take = 1, f = far;
    } else if (f >= v[second]) {
      take = 2;
      f = at(q, which, n, base, x[2]);
    }
    if (f < v[worst]) {
      memcpy(s[worst], x[take], sizeof s[worst]);
      v[worst] = f;
      continue;
    }
    for (int i = 0; i <= n; i++) {
      if (i == best) continue;
      for (int j = 0; j < n; j++) s[i][j] = (s[i][j] + s[best][j]) / 2;
      v[i] = at(q, which, n, base, s[i]);
    }
  }
  at(q, which, n, base, s[best]);
}

static void descend(problem *q, uint64_t seed, int rounds) {
  berth_rng rng;
  berth_rng_init(&rng, seed, 0);
  for (int round = 0; round < rounds; round++) {
    int32_t which[MOST_PARAMS], n = 0;
    for (int i = 0; i < q->n; i++)
      if (!q->p[i].fixed) which[n++] = i;
    berth_rng_shuffle(&rng, which, n);
    for (int from = 0; from < n; from += BLOCK)
      simplex(q, which + from, n - from < BLOCK ? n - from : BLOCK, round % 2 ? -0.08 : 0.12, 150);
  }
}

/* Is it within 0.2 % of its range of a bound? */
static int at_bound(const param *p, double bound) {
  return fabs(*p->at - bound) < 0.002 * (p->high - p->low);
}

/* Switches off what ended at a bound that does so, or is not missed. @return was there any? */
static int settle(problem *q) {
  int any = 0;
  for (int i = 0; i < q->n; i++) {
    param *p = &q->p[i];
    double old = *p->at, v = loss(q), allowed = at_bound(p, p->low) ? 2e-4 : 1e-5;
    if (p->fixed) continue;
    if (p->off_high && at_bound(p, p->high)) *p->at = p->high, p->fixed = any = 1;
    if (p->fixed || !p->off_low) continue;
    *p->at = p->low;
    p->fixed = loss(q) <= v + allowed;
    if (p->fixed) any = 1;
    else *p->at = old;
  }
  return any;
}

static const char *bounded(const problem *q) {
  for (int i = 0; i < q->n; i++)
    if (!q->p[i].fixed && (at_bound(&q->p[i], q->p[i].low) || at_bound(&q->p[i], q->p[i].high)))
      return q->p[i].name;
  return NULL;
}

static void fit(problem *q, int skip) {
  double start[MOST_PARAMS], best[MOST_PARAMS], least = INFINITY;
  int fixed[MOST_PARAMS];
  q->skip = skip;
  q->stride = 1 + q->t->n / MOST_FIT;
  for (int i = 0; i < q->n; i++) start[i] = *q->p[i].at;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    for (int i = 0; i < q->n; i++) {
      *q->p[i].at = seed == 2 && q->p[i].other > 0 ? q->p[i].other : start[i];
      q->p[i].fixed = 0;
    }
    descend(q, seed, 5);
    if (settle(q)) descend(q, seed + 10, 2);
    settle(q);
    double v = loss(q) + (bounded(q) ? 10 : 0);
    if (v >= least) continue;
    least = v;
    for (int i = 0; i < q->n; i++) best[i] = *q->p[i].at, fixed[i] = q->p[i].fixed;
  }
  for (int i = 0; i < q->n; i++) *q->p[i].at = best[i], q->p[i].fixed = fixed[i];
  if (skip == 2 && bounded(q)) fail(q->t->name, bounded(q));
}

/* ---- errors ---- */

/* Mean |estimate / measurement - 1|, %, of the groups from..to of a half (2: both). */
static double mape(const problem *q, const berth_kernels *k, int from, int to, int half, int *n) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < q->t->n; i++) {
    const sample *s = &q->t->row[i];
    if (s->group < from || s->group > to || (half < 2 && s->half != half)) continue;
    sum += fabs(q->seconds(k, s->x) / s->seconds - 1);
    count++;
  }
  if (n) *n = count;
  return count > 0 ? 100 * sum / count : 0;
}

typedef struct error {
  char name[64];
  int rows;
  double given, held;
} error;

static error errors[64];
static int n_errors;

/* Fits on each half, then on all; notes the errors of the classes (pairs from, to of groups). */
static void study(problem *q, int classes, const char *const *name, const int (*range)[2]) {
  berth_kernels before = *q->k;
  double held[8] = { 0 };
  for (int skip = 0; skip <= 2; skip++) {
    *q->k = before;
    fit(q, skip);
    for (int c = 0; c < classes && skip < 2; c++)
      held[c] += mape(q, q->k, range[c][0], range[c][1], skip, NULL) / 2;
  }
  for (int c = 0; c < classes; c++) {
    error *e = &errors[n_errors++];
    snprintf(e->name, sizeof e->name, "%s %s", q->t->name, name[c]);
    e->given = mape(q, q->k, range[c][0], range[c][1], 2, &e->rows);
    e->held = held[c];
    printf("%-34s rows %5d  in sample %5.2f %%  held out %5.2f %%\n", e->name, e->rows, e->given,
           e->held);
  }
  for (int i = 0; i < q->n; i++)
    printf("  %s %.4g%s", q->p[i].name, *q->p[i].at, q->p[i].fixed ? " (off)" : "");
  printf("\n");
  fflush(stdout);
}

/* ---- the three parts ---- */

static table tables[12];

static void put(problem *q, const char *name, double *at, double low, double high, int off_low,
                int off_high) {
  if (q->n == MOST_PARAMS) fail(name, "is one constant too many");
  q->p[q->n++] = (param){ name, at, low, high, off_low, off_high, 0, 0 };
}

static void fit_gemm(table *t, berth_kernels *k) {
  static const char *const tile[8] = { "256x128", "128x256", "128x128", "256x64",
                                       "64x256",  "128x64",  "64x128",  "64x64" };
  static const double weight[6] = { 1, 0.25, 0.1, 0.03, 0.03, 0.03 };
  static const char *const classes[] = { "m >= 1024", "128 <= m < 1024", "m < 128",
                                         "n or k < 512" };
  static const int range[][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 5 } };
  static const double start[8] = { 0.85, 0.85, 0.8, 0.77, 0.77, 0.72, 0.72, 0.65 };
  berth_gemm_constants *c = &k->gemm;
  int fp8 = k->element_bytes == 1;
  double launch = c->launch;
  problem q = { t, k, of_gemm, weight, 6, 0, 2, 1, { { 0 } } };
  *c = (berth_gemm_constants){ .k_start = 150, .bandwidth = 0.8, .launch = 3e-6, .partial = 0.6,
                               .droop = 0.015, .norm = 3.5, .split_traffic = 1,
                               .split_launch = 2e-6 };
  memcpy(c->efficiency, start, sizeof start);
  for (int i = 0; i < 8; i++) put(&q, tile[i], &c->efficiency[i], 0, 1, 1, 0);
  put(&q, "k_start", &c->k_start, 0, 1000, 0, 0);
  put(&q, "bandwidth", &c->bandwidth, 0.3, 1, 0, 0);
  put(&q, "partial", &c->partial, 0, 1, 1, 1);
  q.p[q.n - 1].other = 0.1;
  put(&q, "droop", &c->droop, 0, 0.2, 1, 0);
  put(&q, "norm", &c->norm, 1, 20, 0, 0);
  put(&q, "split_traffic", &c->split_traffic, 0, 10, 1, 0);
  put(&q, "split_launch", &c->split_launch, 0, 2e-5, 1, 0);
  if (fp8) {
    c->launch = launch; /* of the same GPU in 16 bits: the rest is the kernel that quantises */
    c->quantise = 6;
    c->quantise_launch = 9e-6;
    put(&q, "quantise", &c->quantise, 0, 30, 0, 0);
    put(&q, "quantise_launch", &c->quantise_launch, 0, 5e-5, 0, 0);
  } else {
    put(&q, "launch", &c->launch, 0, 5e-5, 0, 0);
  }
  k->quantise = fp8;
  study(&q, 4, classes, range);
  k->quantise = 0;
}

/* One fit a head size: the table is cut into parts. */
static void fit_attention(const table *all, berth_kernels *k, int row, double head_size) {
  static const double weight[2] = { 1, 0.2 };
  static const char *const classes[] = { "s >= 512", "s < 512" };
  static const int range[][2] = { { 0, 0 }, { 1, 1 } };
  static table part;
  static char name[64];
  part.n = 0;
  part.name = name;
  snprintf(name, sizeof name, "%s, head %g", all->name, head_size);
  for (int i = 0; i < all->n; i++)
    if (all->row[i].x[4] == head_size) part.row[part.n++] = all->row[i];
  berth_attention_constants *c = &k->attention[row];
  *c = (berth_attention_constants){ head_size, 0.58, 0.6, 2e-7, 12e-6, 2.5, 0.5 };
  problem q = { &part, k, of_attention, weight, 2, 0, 2, 1, { { 0 } } };
  put(&q, "efficiency", &c->efficiency, 0.1, 1, 0, 0);
  put(&q, "tail", &c->tail, 0, 3, 1, 0);
  put(&q, "block", &c->block, 0, 5e-6, 1, 0);
  put(&q, "launch", &c->launch, 0, 1e-4, 0, 0);
  put(&q, "traffic", &c->traffic, 0, 20, 0, 0);
  put(&q, "kv", &c->kv, 0, 3, 1, 0);
  study(&q, 2, classes, range);
}

static void fit_collectives(const table *all, berth_kernels *k) {
  static const char *const kind[4] = { "all-reduce", "all-gather", "reduce-scatter",
                                       "all-to-all" };
  static const double weight[4] = { 1, 1, 1, 1 };
  static const char *const classes[] = { "all sizes" };
  static const int range[][2] = { { 0, 3 } };
  static table part;
  static char name[64];
  for (int i = 0; i < 4; i++) {
    part.n = 0;
    part.name = name;
    snprintf(name, sizeof name, "%s %s", all->name, kind[i]);
    for (int r = 0; r < all->n; r++)
      if (all->row[r].group == i) part.row[part.n++] = all->row[r];
    berth_collective_constants *c = &k->collective[i];
    *c = (berth_collective_constants){ 6e-6, 0.8e-6, 0.025, 2e-6, 0.3, 0.1, 8e-6, 0.75, 0.1, 3 };
    problem q = { &part, k, of_collective, weight, 4, 0, 2, 1, { { 0 } } };
    put(&q, "start", &c->start, 0, 1e-4, 0, 0);
    put(&q, "step", &c->step, 0, 1e-5, 1, 0);
    put(&q, "low", &c->low, 0.001, 0.5, 0, 0);
    put(&q, "low128_start", &c->low128_start, 0, 1e-4, 1, 0);
    put(&q, "low128", &c->low128, 0.01, 1, 0, 0);
    put(&q, "low128_n", &c->low128_n, 0, 0.5, 1, 0);
    put(&q, "simple_start", &c->simple_start, 0, 1e-4, 1, 0);
    put(&q, "simple", &c->simple, 0.3, 1, 0, 0);
    put(&q, "simple_n", &c->simple_n, 0, 0.5, 1, 0);
    put(&q, "ramp", &c->ramp, 0, 50, 1, 0);
    study(&q, 1, classes, range);
  }
}

static void fit_network(table *t, berth_kernels *k) {
  static const double weight[2] = { 1, 1 };
  static const char *const classes[] = { "rings", "all-to-all" };
  static const int range[][2] = { { 0, 0 }, { 1, 1 } };
  problem q = { t, k, of_network, weight, 2, 0, 2, 1, { { 0 } } };
  for (int i = 0; i < 2; i++) {
    k->collective[i].low = 0.95;
    k->collective[i].start = 3e-5;
    put(&q, i ? "pairs share" : "ring share", &k->collective[i].low, 0.3, 1, 0, 0);
    put(&q, i ? "pairs start" : "ring start", &k->collective[i].start, 0, 1e-3, 0, 0);
  }
  study(&q, 2, classes, range);
}

/* What constants say that were not fitted to the rows. */
static void check(const char *what, table *t, const berth_kernels *k,
                  double (*seconds)(const berth_kernels *k, const double *x), int from, int to) {
  problem q = { t, NULL, seconds, NULL, 0, 0, 2, 1, { { 0 } } };
  int n;
  double e = mape(&q, k, from, to, 2, &n);
  printf("%-58s rows %5d  %6.2f %%\n", what, n, e);
}

/* ---- writing ---- */

static void write_gemm(FILE *f, const berth_gemm_constants *c) {
  fprintf(f, "    .gemm = { .efficiency = {");
  for (int i = 0; i < 8; i++) fprintf(f, "%s %.4g", i ? "," : "", c->efficiency[i]);
  fprintf(f, " },\n              .k_start = %.4g, .bandwidth = %.4g, .launch = %.4g,\n"
             "              .partial = %.4g, .droop = %.4g, .norm = %.4g,\n"
             "              .split_traffic = %.4g, .split_launch = %.4g,\n"
             "              .quantise = %.4g, .quantise_launch = %.4g },\n",
          c->k_start, c->bandwidth, c->launch, c->partial, c->droop, c->norm, c->split_traffic,
          c->split_launch, c->quantise, c->quantise_launch);
}

static void write_row(FILE *f, const double *x, int n, const char *end) {
  fprintf(f, "    {");
  for (int i = 0; i < n; i++) fprintf(f, "%s %.4g", i ? "," : "", x[i]);
  fprintf(f, " }%s\n", end);
}

/* Structs of doubles alone, in the order of their fields. */
static void write_kernels(FILE *f, const berth_kernels *k, const char *source) {
  fprintf(f, "  {\n    .gpu = \"%s\", .arithmetic = \"%s\", .constants = \"%s %s\", .fitted = 1,\n"
             "    .source =\n%s,\n"
             "    .flops = %.6g, .memory_bandwidth = %.6g, .sms = %g, .fabric = %.6g,\n"
             "    .element_bytes = %g, .attention_block = %g,\n",
          k->gpu, k->arithmetic, k->gpu, k->arithmetic, source, k->flops, k->memory_bandwidth,
          k->sms, k->fabric, k->element_bytes, k->attention_block);
  write_gemm(f, &k->gemm);
  fprintf(f, "    .attention = { /* head size, efficiency, tail, block, launch, traffic, kv */\n");
  for (int i = 0; i < BERTH_ATTENTION_SIZES && k->attention[i].head_size > 0; i++)
    write_row(f, &k->attention[i].head_size, 7, ",");
  fprintf(f, "    },\n    .collective = { "
             "/* all-reduce, all-gather, reduce-scatter, all-to-all */\n"
             "    /* start, step, low, low128_start, low128, low128_n, simple_start, simple,\n"
             "     * simple_n, ramp */\n");
  for (int i = 0; i < 4; i++) write_row(f, &k->collective[i].start, 10, ",");
  fprintf(f, "    },\n  },\n");
}

/* The errors whose names begin so, as lines of a C string without the first `cut` bytes. */
static void add_errors(char *text, size_t size, const char *prefix, size_t cut) {
  for (int i = 0; i < n_errors; i++) {
    const error *e = &errors[i];
    size_t used = strlen(text);
    if (strncmp(e->name, prefix, strlen(prefix)) == 0)
      snprintf(text + used, size - used,
               "        \"%s: %d rows, %.1f %% (held out %.1f %%)\\n\"\n", e->name + cut, e->rows,
               e->given, e->held);
  }
}

/* What is not fitted. */
static const char *derived(const berth_kernels *k) {
  if (k->element_bytes == 1) return "        \"attention: that of 16 bits\\n\"\n";
  if (strcmp(k->gpu, "A100") != 0) return "";
  return "        \"attention, head 64: not fitted, "
         "efficiency by the H100's ratio to head 128\\n\"\n";
}

static void write_all(const char *path, const char *date, const berth_kernels *k, int n,
                      const berth_collective_constants *net) {
  FILE *f = fopen(path, "w");
  if (!f) fail(path, "cannot be written");
  fprintf(f, "/* Fitted constants of kernels and collectives, by scripts/bench/llm_fit on %s; not\n"
             " * to be edited. Rows: every second shape of the tables of ai-dynamo/aiconfigurator\n"
             " * and the shares of bus bandwidth of aliyun/SimAI (Apache-2.0 both). Errors: mean\n"
             " * of |estimate / measurement - 1|; held out: fitted on one half of the shapes,\n"
             " * tested on the other, both ways. Fields: berth/cost.h. */\n"
             "#include \"kernels_internal.h\"\n\n"
             "const berth_kernels berth_i_fitted_kernels[] = {\n",
          date);
  for (int i = 0; i < n; i++) {
    char source[4000] = "", name[64];
    size_t cut = strlen(k[i].gpu) + 1;
    snprintf(name, sizeof name, "%s %s ", k[i].gpu, k[i].arithmetic);
    add_errors(source, sizeof source, name, strlen(name));
    snprintf(name, sizeof name, "%s attention", k[i].gpu);
    add_errors(source, sizeof source, name, cut);
    snprintf(name, sizeof name, "%s collectives", k[i].gpu);
    add_errors(source, sizeof source, name, cut);
    size_t used = strlen(source);
    snprintf(source + used, sizeof source - used,
             "%s        \"fitted %s by scripts/bench/llm_fit\"", derived(&k[i]), date);
    write_kernels(f, &k[i], source);
  }
  fprintf(f, "};\nconst int berth_i_n_fitted_kernels = %d;\n\n", n);
  for (int i = 0; i < n_errors; i++)
    if (strncmp(errors[i].name, "machines", 8) == 0)
      fprintf(f, "/* %s: %d rows, %.1f %% (held out %.1f %%) */\n", errors[i].name, errors[i].rows,
              errors[i].given, errors[i].held);
  fprintf(f, "const berth_i_network berth_i_fitted_network = { %.4g, %.4g, %.4g, %.4g };\n",
          net[0].low, net[0].start, net[1].low, net[1].start);
  fclose(f);
}

/* The kernels of a GPU with another's constants. */
static berth_kernels borrow(const berth_kernels *k, const berth_kernels *from) {
  berth_kernels out = *k;
  out.gemm = from->gemm;
  memcpy(out.attention, from->attention, sizeof out.attention);
  memcpy(out.collective, from->collective, sizeof out.collective);
  out.attention_block = from->attention_block;
  return out;
}

enum { A100, H100, FP8, ATT_A100, ATT_H100, COMM_A100, COMM_H100, RING, NET };

static void read_all(const char *folder) {
  static const char *const names[] = { "A100 bf16 products,", "H100 bf16 products,",
                                       "H100 fp8 products,", "A100 attention", "H100 attention",
                                       "A100 collectives,", "H100 collectives,",
                                       "A100 of another cluster", "machines," };
  for (int i = 0; i <= NET; i++) tables[i].name = names[i];
  read_gemm(&tables[A100], folder, "a100_sxm_gemm.csv", "bfloat16");
  read_gemm(&tables[H100], folder, "h100_sxm_gemm.csv", "bfloat16");
  read_gemm(&tables[FP8], folder, "h100_sxm_gemm.csv", "fp8");
  read_attention(&tables[ATT_A100], folder, "a100_sxm_attention.csv");
  read_attention(&tables[ATT_H100], folder, "h100_sxm_attention.csv");
  read_comm(&tables[COMM_A100], folder, "a100_sxm_comm.csv");
  read_comm(&tables[COMM_H100], folder, "h100_sxm_comm.csv");
  read_ring(&tables[RING], folder);
  read_network(&tables[NET], folder, "simai_busbw_ratio_nic.csv", 0);
  read_network(&tables[NET], folder, "simai_busbw_ratio_ata.csv", 1);
}

/* FP8 layers compute attention in 16 bits: shares of the doubled peak are half as large. A100 has
 * rows of head size 128 alone: 64 has the ratio of the H100. */
static void derive(berth_kernels *k) {
  const double *h64 = &k[1].attention[0].efficiency, *h128 = &k[1].attention[1].efficiency;
  k[0].attention[1] = k[0].attention[0];
  k[0].attention[0].head_size = 64;
  k[0].attention[0].efficiency *= *h64 / *h128;
  berth_gemm_constants products = k[2].gemm;
  k[2] = borrow(&k[2], &k[1]);
  k[2].gemm = products;
  for (int i = 0; i < BERTH_ATTENTION_SIZES; i++)
    k[2].attention[i].efficiency *= k[1].flops / k[2].flops;
}

static void check_unfitted(const berth_kernels *k) {
  berth_kernels as_a100 = borrow(&k[1], &k[0]), as_h100 = borrow(&k[0], &k[1]);
  check("H100 bf16 m >= 1024 by A100's constants", &tables[H100], &as_a100, of_gemm, 0, 0);
  check("H100 bf16 128 <= m < 1024 by A100's", &tables[H100], &as_a100, of_gemm, 1, 1);
  check("H100 attention s >= 512 by A100's", &tables[ATT_H100], &as_a100, of_attention, 0, 0);
  check("H100 collectives by A100's", &tables[COMM_H100], &as_a100, of_collective, 0, 3);
  check("A100 bf16 m >= 1024 by H100's constants", &tables[A100], &as_h100, of_gemm, 0, 0);
  check("A100 bf16 128 <= m < 1024 by H100's", &tables[A100], &as_h100, of_gemm, 1, 1);
  check("A100 attention s >= 512 by H100's", &tables[ATT_A100], &as_h100, of_attention, 0, 0);
  check("A100 collectives by H100's", &tables[COMM_A100], &as_h100, of_collective, 0, 3);
  check("A100 all-reduce of another cluster, 2 to 8 GPUs", &tables[RING], &k[0], of_collective, 0,
        0);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) fail("usage", "llm_fit FOLDER DATE [OUT.c]");
  read_all(argv[1]);
  berth_kernels k[3] = {
    { .gpu = "A100", .arithmetic = "bf16", .flops = 312e12, .memory_bandwidth = 2039e9,
      .sms = 108, .fabric = 300e9, .element_bytes = 2, .attention_block = 64 },
    { .gpu = "H100", .arithmetic = "bf16", .flops = 989.4e12, .memory_bandwidth = 3350e9,
      .sms = 132, .fabric = 450e9, .element_bytes = 2, .attention_block = 128 },
    { .gpu = "H100", .arithmetic = "fp8", .flops = 1978.9e12, .memory_bandwidth = 3350e9,
      .sms = 132, .fabric = 450e9, .element_bytes = 1, .attention_block = 128 }
  };
  berth_kernels net = { .gpu = "" };
  fit_gemm(&tables[A100], &k[0]);
  fit_gemm(&tables[H100], &k[1]);
  k[2].gemm.launch = k[1].gemm.launch;
  fit_gemm(&tables[FP8], &k[2]);
  fit_attention(&tables[ATT_A100], &k[0], 0, 128);
  static const double sizes[] = { 64, 128, 192, 256 };
  for (int i = 0; i < 4; i++) fit_attention(&tables[ATT_H100], &k[1], i, sizes[i]);
  check("H100 attention s >= 512, all head sizes", &tables[ATT_H100], &k[1], of_attention, 0, 0);
  fit_collectives(&tables[COMM_A100], &k[0]);
  fit_collectives(&tables[COMM_H100], &k[1]);
  check("A100 collectives", &tables[COMM_A100], &k[0], of_collective, 0, 3);
  check("H100 collectives", &tables[COMM_H100], &k[1], of_collective, 0, 3);
  fit_network(&tables[NET], &net);
  derive(k);
  check_unfitted(k);
  if (argc == 4) write_all(argv[3], argv[2], k, 3, net.collective);
  return 0;
}
