/* Subgradient ascent on the prices of devices, for the price form of the work bound
 * (prices_internal.h). Structure: kinds of devices that are alike, with times and limits of units.
 * Invariant: any prices give a valid bound, so an unfinished ascent only gives a weaker one. The
 * function is concave and piecewise linear; one value costs O(units x kinds). */
#include "prices_internal.h"

/* ---- kinds ---- */

void berth_i_kinds_release(berth_i_kinds *k) { berth_i_pool_free(&k->pool); }

static berth_status fill_kinds(const berth_i_units *u, berth_memory_policy memory,
                               berth_i_kinds *k) {
  const berth_graph *g = u->cost->g;
  size_t devices = (size_t)k->devices;
  k->of = berth_i_pool_alloc(&k->pool, devices, sizeof *k->of);
  k->size = berth_i_pool_zalloc(&k->pool, devices, sizeof *k->size);
  k->sample = berth_i_pool_alloc(&k->pool, devices, sizeof *k->sample);
  k->limit = berth_i_pool_alloc(&k->pool, devices, sizeof *k->limit);
  uint8_t *pinned = berth_i_pool_zalloc(&k->pool, devices, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&k->pool)) != BERTH_OK) return st;
  /* 1. Kinds: same class, same limit; a device with a pinned unit is one of its own. */
  for (int32_t i = 0; i < u->n; i++) {
    if (u->pin[i] != BERTH_NONE) pinned[u->pin[i]] = 1;
  }
  for (int32_t d = 0; d < k->devices; d++) {
    double limit = memory == BERTH_MEMORY_NONE ? INFINITY : u->cost->t->devices[d].memory;
    int32_t i = pinned[d] ? k->n : 0;
    while (i < k->n
           && (pinned[k->sample[i]] || u->cost->class_of[k->sample[i]] != u->cost->class_of[d]
               || k->limit[i] != limit))
      i++;
    if (i == k->n) {
      k->sample[i] = d;
      k->limit[i] = limit;
      k->n++;
    }
    k->of[d] = i;
    k->size[i]++;
  }
  /* 2. What units take of them. The simulator adds and frees each thing once on each device, and
   * each step errs by half an ulp of the limit at most. */
  if ((st = berth_i_least_init(u, memory, &k->pool, &k->least)) != BERTH_OK) return st;
  k->slack = 1e-15 * ((double)g->n_ops + (double)g->n_tensors + (double)g->n_edges);
  k->time = berth_i_pool_alloc(&k->pool, (size_t)k->units * (size_t)k->n, sizeof *k->time);
  if (!k->time) return berth_i_nomem(k->ctx);
  for (int32_t i = 0; i < u->n; i++) {
    for (int32_t j = 0; j < k->n; j++) {
      bool can = berth_i_unit_can_run(u, i, k->sample[j])
                 && !berth_i_exceeds(k, k->least.need[i], k->limit[j]);
      k->time[(size_t)i * (size_t)k->n + (size_t)j] =
          can ? berth_i_unit_time(u, i, k->sample[j]) : INFINITY;
    }
  }
  return BERTH_OK;
}

berth_status berth_i_kinds_init(const berth_i_units *u, berth_memory_policy memory,
                                berth_i_kinds *k) {
  memset(k, 0, sizeof *k);
  k->ctx = u->cost->ctx;
  k->pool = berth_i_pool_empty(k->ctx);
  k->devices = u->cost->n_devices;
  k->units = u->n;
  berth_status st;
  if ((st = fill_kinds(u, memory, k)) != BERTH_OK) berth_i_kinds_release(k);
  return st;
}

/* Of memory, in multiples of the even-price work per byte of all units: where prices grow without
 * end, nothing fits. */
static const double HIGHEST = 1000;

/* ---- the function ---- */

/* Inner variables: x[0..n) masses of time, summing to 1, a device of kind j costs x[j] / size[j]
 * per second;
 * x[n..2n) memory prices in units of scale seconds per byte. */
typedef struct ascent {
  const berth_i_kinds *k;
  bool with_memory;
  double scale;
  double *x, *slope, *best, *trial; /* [2n] */
  double *course;                   /* [2n] direction of the last step */
  double *rate;                     /* [2n] prices per device */
  double value;                     /* at best */
} ascent;

static void set_rates(const ascent *a, const double *x) {
  int32_t n = a->k->n;
  for (int32_t j = 0; j < n; j++) {
    a->rate[j] = x[j] / a->k->size[j];
    a->rate[n + j] = x[n + j] * a->scale;
  }
}

static int32_t cheapest(const ascent *a, int32_t unit, double *price) {
  int32_t n = a->k->n, at = 0;
  const double *time = a->k->time + (size_t)unit * (size_t)n;
  *price = INFINITY;
  for (int32_t j = 0; j < n; j++) {
    if (isinf(time[j])) continue;
    double c = a->rate[j] * time[j] + a->rate[n + j] * a->k->least.held[unit];
    if (c < *price) *price = c, at = j;
  }
  return at;
}

/* Value and, unless NULL, a subgradient. Every unit has a kind that it can be on. The sums of bytes
 * nearly cancel at times: the most that rounding can add is subtracted. */
static double evaluate(const ascent *a, const double *x, double *slope) {
  int32_t n = a->k->n;
  double sum = 0, sold = 0;
  set_rates(a, x);
  if (slope) memset(slope, 0, 2 * (size_t)n * sizeof *slope);
  int32_t j;
  for (j = 0; j < n; j++) {
    if (a->rate[n + j] > 0) sold += a->rate[n + j] * a->k->size[j] * a->k->limit[j];
    if (slope && !isinf(a->k->limit[j])) slope[n + j] = -a->k->limit[j] * a->k->size[j] * a->scale;
  }
  for (int32_t i = 0; i < a->k->units; i++) {
    double price;
    j = cheapest(a, i, &price);
    sum += price;
    if (!slope) continue;
    slope[j] += a->k->time[(size_t)i * (size_t)n + (size_t)j] / a->k->size[j];
    slope[n + j] += a->k->least.held[i] * a->scale;
  }
  return sum - sold - 1e-12 * sold;
}

static void keep_if_better(ascent *a, const double *x, double value) {
  if (!(value > a->value)) return;
  a->value = value;
  memcpy(a->best, x, 2 * (size_t)a->k->n * sizeof *x);
}

/* ---- ascent ---- */

/* Onto masses >= 0 of sum 1: subtract the one number that makes it so. */
static void project(double *x, int32_t n) {
  double low = -INFINITY, high = -INFINITY, mid = 0;
  int32_t i;
  for (i = 0; i < n; i++) high = fmax(high, x[i]);
  low = high - 1;
  double sum;
  for (int32_t step = 0; step < 60; step++) {
    mid = (low + high) / 2;
    for (i = 0, sum = 0; i < n; i++) sum += fmax(x[i] - mid, 0);
    if (sum > 1) low = mid;
    else high = mid;
  }
  for (i = 0, sum = 0; i < n; i++) sum += x[i] = fmax(x[i] - mid, 0);
  for (i = 0; i < n; i++) x[i] = sum > 0 ? x[i] / sum : 1.0 / n;
}

/* Memory prices that are 0 and would fall do not count; nor do kinds without a limit. */
static double trim_slope(const ascent *a) {
  int32_t n = a->k->n;
  double mean = 0, norm = 0;
  for (int32_t j = 0; j < n; j++) mean += a->slope[j] / n;
  for (int32_t j = 0; j < n; j++) a->slope[j] -= mean;
  for (int32_t j = n; j < 2 * n; j++) {
    bool fixed = !a->with_memory || isinf(a->k->limit[j - n]) || (a->x[j] == 0 && a->slope[j] < 0)
              || (a->x[j] == HIGHEST && a->slope[j] > 0);
    if (fixed) a->slope[j] = 0;
  }
  for (int32_t j = 0; j < 2 * n; j++) norm += a->slope[j] * a->slope[j];
  return norm;
}

/* Polyak's step towards a target `ahead` of the best value, which is halved whenever it seems out
 * of reach; in the direction of Camerini, Fratta and Maffioli, 1975. */
static void climb(ascent *a) {
  int32_t n = a->k->n, idle = 0;
  double ahead = 0.5, before = a->value, work = (double)a->k->units * n;
  int32_t steps = (int32_t)fmin(600, fmax(60, 4e7 / fmax(work, 1)));
  for (int32_t i = 0; i < steps && ahead > 1e-7; i++) {
    /* 1. Value and subgradient. */
    double value = evaluate(a, a->x, a->slope), norm = trim_slope(a);
    keep_if_better(a, a->x, value);
    if (norm == 0) return; /* a maximum */
    /* 2. Direction: a subgradient that points back is bent along the last step, or steps would
     *    oscillate across a ridge. */
    double dot = 0, old = 0, sum = 0;
    for (int32_t j = 0; j < 2 * n; j++) {
      dot += a->slope[j] * a->course[j];
      old += a->course[j] * a->course[j];
    }
    double bend = dot < 0 ? -1.5 * dot / old : 0;
    for (int32_t j = 0; j < 2 * n; j++) {
      a->course[j] = a->slope[j] + bend * a->course[j];
      sum += a->course[j] * a->course[j];
    }
    if (sum > 0) norm = sum;
    else memcpy(a->course, a->slope, 2 * (size_t)n * sizeof *a->course);
    /* 3. The step, back onto legal prices. */
    double length = (a->value * (1 + ahead) - value) / norm;
    for (int32_t j = 0; j < 2 * n; j++) a->x[j] += length * a->course[j];
    project(a->x, n);
    for (int32_t j = n; j < 2 * n; j++) a->x[j] = fmin(fmax(a->x[j], 0), HIGHEST);
    /* 4. After 12 steps with little gain: a nearer target, from the best prices. */
    idle = a->value > before * (1 + ahead / 8) ? 0 : idle + 1;
    if (idle == 0) before = a->value;
    if (idle < 12) continue;
    ahead /= 2;
    idle = 0;
    before = a->value;
    memcpy(a->x, a->best, 2 * (size_t)n * sizeof *a->x);
    memset(a->course, 0, 2 * (size_t)n * sizeof *a->course);
  }
}

/* Moves mass between kinds i and j (j < 0: changes the memory price i) by t in [low, high]. */
static double shifted(ascent *a, int32_t i, int32_t j, double t) {
  memcpy(a->trial, a->best, 2 * (size_t)a->k->n * sizeof *a->trial);
  a->trial[i] = fmax(0, a->trial[i] + t);
  if (j >= 0) a->trial[j] = fmax(0, a->trial[j] - t);
  return evaluate(a, a->trial, NULL);
}

/* Golden section: exact up to rounding, since the function is concave along a line. */
static void search_line(ascent *a, int32_t i, int32_t j, double low, double high) {
  const double g = 0.6180339887498949;
  double l = high - g * (high - low), r = low + g * (high - low), fl = shifted(a, i, j, l),
         fr = shifted(a, i, j, r);
  for (int32_t step = 0; step < 40 && high > low; step++) {
    if (fl < fr) {
      low = l, l = r, fl = fr;
      fr = shifted(a, i, j, r = low + g * (high - low));
    } else {
      high = r, r = l, fr = fl;
      fl = shifted(a, i, j, l = high - g * (high - low));
    }
  }
  fl = shifted(a, i, j, (low + high) / 2);
  keep_if_better(a, a->trial, fl);
}

/* With two kinds and no memory this is the whole problem. */
static void polish(ascent *a) {
  int32_t n = a->k->n;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = i + 1; j < n; j++) search_line(a, i, j, -a->best[i], a->best[j]);
    if (!a->with_memory || isinf(a->k->limit[i])) continue;
    search_line(a, n + i, BERTH_NONE, -a->best[n + i], fmax(2 * a->best[n + i], 0.01));
  }
}

static void load_prices(ascent *a, const berth_i_prices *p) {
  double total = 0;
  int32_t n = a->k->n;
  for (int32_t i = 0; i < a->k->units; i++) total += a->k->least.held[i];
  for (int32_t j = 0; j < n; j++) a->x[j] = p->time[j] * a->k->size[j];
  project(a->x, n);
  a->scale = 1;
  a->value = -INFINITY;
  for (int32_t j = 0; j < n; j++) a->x[n + j] = 0;
  keep_if_better(a, a->x, evaluate(a, a->x, NULL));
  a->scale = total > 0 && a->value > 0 ? a->value / total : 1;
  if (!a->with_memory) return;
  for (int32_t j = 0; j < n; j++) a->x[n + j] = p->memory[j] / a->scale;
  keep_if_better(a, a->x, evaluate(a, a->x, NULL));
}

static void store_prices(ascent *a, berth_i_prices *p) {
  size_t bytes = (size_t)a->k->n * sizeof *p->time;
  set_rates(a, a->best);
  memcpy(p->time, a->rate, bytes);
  memcpy(p->memory, a->rate + a->k->n, bytes);
  p->value = a->value;
}

berth_status berth_i_prices_raise(berth_ctx *ctx, const berth_i_kinds *k, bool with_memory,
                                  berth_i_prices *p) {
  ascent a = { 0 };
  size_t n = (size_t)k->n;
  double *all = berth_i_zalloc(ctx, 12 * n, sizeof *all);
  if (!all) return berth_i_nomem(ctx);
  a.k = k;
  a.with_memory = with_memory;
  a.x = all;
  a.slope = all + 2 * n;
  a.best = all + 4 * n;
  a.trial = all + 6 * n;
  a.rate = all + 8 * n;
  a.course = all + 10 * n;
  load_prices(&a, p);
  if (a.value > 0 && (n > 1 || with_memory)) {
    climb(&a);
    if (n <= 4) polish(&a);
  }
  store_prices(&a, p);
  berth_i_free(ctx, all, 12 * n, sizeof *all);
  return BERTH_OK;
}
