/* When a placer's own rule gets stuck: packing for feasibility alone. */
#include "packing_internal.h"
#include <stdlib.h>

typedef enum fit_rule { FIRST_FIT, BEST_FIT, WORST_FIT, NEXT_FIT } fit_rule;

typedef struct rank {
  int32_t unit, choices; /* devices that types and pins leave it */
  double bytes;
} rank;

static int by_difficulty(const void *pa, const void *pb) {
  const rank *a = pa, *b = pb;
  if (a->choices != b->choices) return a->choices < b->choices ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static int by_choices(const void *pa, const void *pb) {
  const rank *a = pa, *b = pb;
  bool fa = a->choices == 1, fb = b->choices == 1;
  if (fa != fb) return fa ? -1 : 1;
  return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void rank_units(const berth_i_packing *k, rank *order) {
  int32_t i, d;
  for (i = 0; i < k->u->n; i++) {
    order[i].unit = i;
    order[i].choices = 0;
    order[i].bytes = k->u->permanent[i] + k->u->temporary[i];
    for (d = 0; d < k->cost->n_devices; d++) order[i].choices += berth_i_unit_can_run(k->u, i, d);
  }
}

static bool first_fit(berth_i_packing *k, int32_t unit, int32_t from) {
  int32_t i, devices = k->cost->n_devices;
  for (i = 0; i < devices; i++) {
    if (berth_i_packing_try(k, unit, (from + i) % devices) == 0) return true;
  }
  return false;
}

static bool tightest_fit(berth_i_packing *k, int32_t unit, double sign) {
  int32_t d, best = BERTH_NONE;
  double least = INFINITY;
  for (d = 0; d < k->cost->n_devices; d++) {
    double left;
    if (berth_i_packing_try(k, unit, d) != 0) continue;
    left = sign * berth_i_packing_left(k, d);
    berth_i_packing_pop(k);
    if (best != BERTH_NONE && !(left < least)) continue;
    least = left;
    best = d;
  }
  return best != BERTH_NONE && berth_i_packing_try(k, unit, best) == 0;
}

static bool put(berth_i_packing *k, int32_t unit, fit_rule rule) {
  int32_t last = k->n_packed > 0 ? k->packed[k->n_packed - 1].device : 0;
  switch (rule) {
    case BEST_FIT: return tightest_fit(k, unit, 1);
    case WORST_FIT: return tightest_fit(k, unit, -1);
    case NEXT_FIT: return first_fit(k, unit, last);
    default: return first_fit(k, unit, 0);
  }
}

/* @return index in order of the unit that got stuck, n: none */
static int32_t pack(berth_i_packing *k, const rank *order, fit_rule rule) {
  int32_t i;
  berth_i_packing_clear(k);
  for (i = 0; i < k->u->n; i++) {
    if (!put(k, order[i].unit, rule)) break;
  }
  return i;
}

/* Depth first over units in the given order, devices by id; of empty devices that are alike only the first.
 * @param next [n] scratch  @param load [devices] scratch, zero */
static bool search(berth_i_packing *k, const rank *order, int32_t *next, int32_t *load, int64_t tries) {
  const berth_cost *c = k->cost;
  int32_t level = 0, d, e;
  berth_i_packing_clear(k);
  next[0] = 0;
  while (level < k->u->n) {
    int32_t unit = order[level].unit;
    for (d = next[level]; d < c->n_devices; d++) {
      for (e = 0; c->uniform && load[d] == 0 && e < d; e++) {
        if (load[e] == 0 && c->class_of[e] == c->class_of[d] && k->limit[e] == k->limit[d]) break;
      }
      if (c->uniform && load[d] == 0 && e < d && k->u->pin[unit] == BERTH_NONE) continue;
      if (tries-- == 0) return false;
      if (berth_i_packing_try(k, unit, d) == 0) break;
    }
    if (d < c->n_devices) {
      load[d]++;
      next[level++] = d + 1;
      if (level < k->u->n) next[level] = 0;
    } else {
      if (level-- == 0) return false;
      load[k->packed[k->n_packed - 1].device]--;
      berth_i_packing_pop(k);
    }
  }
  return true;
}

static berth_status search_packing(berth_i_packing *k, const rank *order, bool *found) {
  berth_ctx *ctx = k->cost->ctx;
  size_t n = (size_t)k->u->n, devices = (size_t)k->cost->n_devices;
  int32_t *next = berth_i_alloc(ctx, n, sizeof *next), *load = berth_i_zalloc(ctx, devices, sizeof *load);
  berth_status st = next && load ? BERTH_OK : berth_i_nomem(ctx);
  if (st == BERTH_OK) *found = search(k, order, next, load, 20000 + 4 * (int64_t)(n * devices));
  berth_i_free(ctx, next, n, sizeof *next);
  berth_i_free(ctx, load, devices, sizeof *load);
  return st;
}

static berth_status rescue(berth_i_packing *k, rank *order, const char *placer, const berth_place_options *opts,
                           berth_obstacle *why) {
  size_t n = (size_t)k->u->n;
  int32_t stuck;
  bool found = false;
  berth_status st;
  rank_units(k, order);
  qsort(order, n, sizeof *order, by_difficulty);
  if (pack(k, order, FIRST_FIT) == k->u->n || pack(k, order, BEST_FIT) == k->u->n || pack(k, order, WORST_FIT) == k->u->n) {
    return BERTH_OK;
  }
  if ((st = search_packing(k, order, &found)) != BERTH_OK || found) return st;
  qsort(order, n, sizeof *order, by_choices);
  if (pack(k, order, NEXT_FIT) == k->u->n) return BERTH_OK;
  qsort(order, n, sizeof *order, by_difficulty);
  stuck = pack(k, order, FIRST_FIT);
  return berth_i_packing_refuse(k, placer, order[stuck].unit, opts, why);
}

berth_status berth_i_packing_rescue(berth_i_packing *k, const char *placer, const berth_place_options *opts,
                                    berth_obstacle *why) {
  berth_ctx *ctx = k->cost->ctx;
  size_t n = (size_t)k->u->n;
  berth_status st;
  rank *order;
  if (n == 0) return BERTH_OK;
  order = berth_i_alloc(ctx, n, sizeof *order);
  if (!order) return berth_i_nomem(ctx);
  st = rescue(k, order, placer, opts, why);
  berth_i_free(ctx, order, n, sizeof *order);
  return st;
}
