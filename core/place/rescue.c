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

/* ---- search ---- */

typedef struct tree {
  berth_i_packing *k;
  const int32_t *order;
  int32_t *next; /* [n] device to try next, by level */
  int32_t *load; /* [devices] units on each */
  int64_t tries;
} tree;

/* An empty device that is like an earlier empty one. */
static bool is_repetition(const tree *t, int32_t unit, int32_t d) {
  const berth_cost *c = t->k->cost;
  int32_t e;
  if (!c->uniform || t->load[d] > 0 || t->k->u->pin[unit] != BERTH_NONE) return false;
  for (e = 0; e < d; e++) {
    if (t->load[e] == 0 && c->class_of[e] == c->class_of[d] && t->k->limit[e] == t->k->limit[d]) return true;
  }
  return false;
}

static bool descend(tree *t, int32_t level) {
  int32_t d, unit = t->order[level];
  for (d = t->next[level]; d < t->k->cost->n_devices && t->tries > 0; d++) {
    if (is_repetition(t, unit, d)) continue;
    t->tries--;
    if (berth_i_packing_try(t->k, unit, d) != 0) continue;
    t->load[d]++;
    t->next[level] = d + 1;
    return true;
  }
  return false;
}

static void ascend(tree *t) {
  t->load[t->k->packed[t->k->n_packed - 1].device]--;
  berth_i_packing_pop(t->k);
}

static berth_status search(tree *t, berth_i_accept_fn accept, void *ud, bool *found) {
  int32_t level = 0, n = t->k->u->n;
  *found = false;
  t->next[0] = 0;
  for (;;) {
    if (level == n) {
      berth_status st = BERTH_OK;
      *found = true;
      if (accept) st = accept(ud, t->k->device, found);
      if (st != BERTH_OK || *found) return st;
    } else if (descend(t, level)) {
      if (++level < n) t->next[level] = 0;
      continue;
    }
    if (level-- == 0 || t->tries <= 0) return BERTH_OK;
    ascend(t);
  }
}

berth_status berth_i_packing_search(berth_i_packing *k, const int32_t *order, int64_t tries, berth_i_accept_fn accept, void *ud,
                                    bool *found) {
  berth_ctx *ctx = k->cost->ctx;
  size_t n = (size_t)k->u->n + 1, devices = (size_t)k->cost->n_devices;
  tree t = { k, order, NULL, NULL, tries };
  berth_status st;
  t.next = berth_i_alloc(ctx, n, sizeof *t.next);
  t.load = berth_i_zalloc(ctx, devices, sizeof *t.load);
  berth_i_packing_clear(k);
  st = t.next && t.load ? search(&t, accept, ud, found) : berth_i_nomem(ctx);
  berth_i_free(ctx, t.next, n, sizeof *t.next);
  berth_i_free(ctx, t.load, devices, sizeof *t.load);
  return st;
}

static berth_status search_packing(berth_i_packing *k, const rank *order, bool *found) {
  berth_ctx *ctx = k->cost->ctx;
  size_t i, n = (size_t)k->u->n, devices = (size_t)k->cost->n_devices;
  int32_t *units = berth_i_alloc(ctx, n, sizeof *units);
  berth_status st;
  if (!units) return berth_i_nomem(ctx);
  for (i = 0; i < n; i++) units[i] = order[i].unit;
  st = berth_i_packing_search(k, units, 20000 + 4 * (int64_t)(n * devices), NULL, NULL, found);
  berth_i_free(ctx, units, n, sizeof *units);
  return st;
}

/* ---- all together ---- */

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
