/* Packing for feasibility alone, for placers whose own rule gets stuck: next fit with the units
 * first that have one device; first and worst fit by difficulty (fewest devices, then
 * largest); bin completion (complete.c); exact search for few units (tree.c); local search
 * from two starts (local_search.c). Work is counted; what comes closest is reported. */
#include "base/sort_internal.h"
#include "pack_internal.h"

enum { FEW_UNITS = 16 };               /* all cases are evaluated */
/* steps of bin completion a unit, and at most */
static const double COMPLETE_WORK = 1500, MOST_COMPLETE_WORK = 2e6;
/* Steps of local search a unit, and at most, from each of two starts; and where only the distance
 * to a packing is reported. */
static const double SEARCH_WORK = 2e4, MOST_SEARCH_WORK = 4e7, ACCOUNT_WORK = 500;

typedef enum fit_rule { FIRST_FIT, WORST_FIT, NEXT_FIT } fit_rule;

typedef struct rank {
  int32_t unit, choices; /* devices that types and pins leave it */
  double bytes;
} rank;

BERTH_I_SORT(sort_by_difficulty, rank, BERTH_I_UP(choices) BERTH_I_DOWN(bytes) BERTH_I_UP(unit))

BERTH_I_SORT(sort_forced_first, rank,
             BERTH_I_KEY(a->choices != 1, b->choices != 1) BERTH_I_UP(unit))

static bool first_fit(berth_i_packing *k, int32_t unit, int32_t from) {
  int32_t devices = k->cost->n_devices;
  for (int32_t i = 0; i < devices; i++) {
    if (berth_i_packing_try(k, unit, (from + i) % devices) == 0) return true;
  }
  return false;
}

static bool worst_fit(berth_i_packing *k, int32_t unit) {
  int32_t best = BERTH_NONE;
  double most = -INFINITY;
  for (int32_t d = 0; d < k->cost->n_devices; d++) {
    if (berth_i_packing_try(k, unit, d) != 0) continue;
    double left = berth_i_packing_left(k, d);
    berth_i_packing_pop(k);
    if (best != BERTH_NONE && !(left > most)) continue;
    most = left;
    best = d;
  }
  return best != BERTH_NONE && berth_i_packing_try(k, unit, best) == 0;
}

/* @return all units are packed */
static bool pack(berth_i_packing *k, const rank *order, fit_rule rule) {
  berth_i_packing_clear(k);
  for (int32_t i = 0; i < k->u->n; i++) {
    int32_t unit = order[i].unit, last = i > 0 ? k->packed[k->n_packed - 1].device : 0;
    bool fits = rule == WORST_FIT ? worst_fit(k, unit)
                                  : first_fit(k, unit, rule == NEXT_FIT ? last : 0);
    if (!fits) return false;
  }
  return true;
}

/* ---- exact ---- */

/* @param unfit no packing exists */
static berth_status search_exactly(berth_i_packing *k, const rank *order, bool *found,
                                   bool *unfit) {
  berth_ctx *ctx = k->cost->ctx;
  size_t n = (size_t)k->u->n;
  int64_t tries = 60000;
  int32_t *units = berth_i_alloc(ctx, n, sizeof *units);
  if (!units) return berth_i_nomem(ctx);
  for (size_t i = 0; i < n; i++) units[i] = order[i].unit;
  berth_status st = berth_i_packing_search(k, units, &tries, NULL, NULL, found);
  *unfit = st == BERTH_OK && !*found && tries > 0;
  berth_i_free(ctx, units, n, sizeof *units);
  return st;
}

/* ---- local search ---- */

/* Largest first, each where most memory is free, whether it fits or not. @param left [devices]
 * scratch */
static void spread(const berth_i_packing *k, const rank *order, int32_t *at, double *left) {
  memcpy(left, k->limit, (size_t)k->cost->n_devices * sizeof *left);
  for (int32_t i = 0; i < k->u->n; i++) {
    int32_t unit = order[i].unit, best = BERTH_NONE;
    for (int32_t d = 0; d < k->cost->n_devices; d++) {
      if (berth_i_unit_can_run(k->u, unit, d) && (best == BERTH_NONE || left[d] > left[best]))
        best = d;
    }
    at[unit] = best;
    left[best] -= k->u->permanent[unit];
  }
}

/* In topological order, each device up to its share: few tensors cross. */
static void slice(const berth_i_packing *k, int32_t *at, double *left) {
  const berth_i_units *u = k->u;
  double all = 0, limits = 0;
  int32_t now = 0;
  for (int32_t i = 0; i < u->n; i++) all += u->permanent[i];
  int32_t d;
  for (d = 0; d < k->cost->n_devices; d++) limits += fmin(k->limit[d], all);
  for (d = 0; d < k->cost->n_devices; d++)
    left[d] = limits > 0 ? all * (fmin(k->limit[d], all) / limits) : 0;
  for (int32_t i = 0; i < u->n; i++) {
    while (now + 1 < k->cost->n_devices && left[now] < u->permanent[i] / 2) now++;
    for (at[i] = now, d = 0; !berth_i_unit_can_run(u, i, at[i]); d++) at[i] = d;
    left[at[i]] -= u->permanent[i];
  }
}

/* @param at in: a beginning; out: what overflows least, if it is less than `least` */
static berth_status search_from(berth_i_packing *k, berth_i_assignment *s,
                                const int32_t *begin, double work, int32_t *at,
                                double *least, bool *found) {
  bool fits = false;
  berth_i_assignment_load(s, begin);
  berth_status st;
  if ((st = berth_i_assignment_local_search(s, work, &fits)) != BERTH_OK) return st;
  *found = fits && berth_i_packing_load(k, s->at);
  if (berth_i_assignment_overflow(s) < *least) memcpy(at, s->at, (size_t)s->n * sizeof *at);
  *least = fmin(*least, berth_i_assignment_overflow(s));
  return BERTH_OK;
}

/* From an even spread; from slices if copies count.
 * @param at [2 * units] the first half out: what overflows least; the second is scratch */
static berth_status search_locally(berth_i_packing *k, const rank *order, double work, int32_t *at,
                                   double *left, bool *found) {
  int32_t *begin = at + k->u->n;
  double least = INFINITY;
  berth_i_assignment s;
  berth_status st =
      berth_i_assignment_init(k->u, k->limit, k->u->permanent, k->u->temporary, k->copy_share, &s);
  if (st != BERTH_OK) return st;
  spread(k, order, begin, left);
  st = search_from(k, &s, begin, work, at, &least, found);
  if (st == BERTH_OK && !*found && k->copy_share > 0) {
    slice(k, begin, left);
    st = search_from(k, &s, begin, work, at, &least, found);
  }
  berth_i_pool_free(&s.pool);
  return st;
}

/* ---- all together ---- */

/* @param at [2 * units] @param unfit there is none; else, if none was found, at is what comes
 *        closest */
static berth_status search_packing(berth_i_packing *k, const rank *order, int32_t *at, double *left,
                                   bool *found, bool *unfit) {
  const berth_i_units *u = k->u;
  berth_i_verdict verdict; /* without copies, which only add to what must be packed */
  berth_status st =
      berth_i_pack_complete(u, k->limit, u->permanent, u->temporary,
                            fmin(MOST_COMPLETE_WORK, COMPLETE_WORK * u->n), at, &verdict);
  if (st != BERTH_OK) return st;
  *unfit = verdict == BERTH_I_UNFIT;
  *found = verdict == BERTH_I_FITS && berth_i_packing_load(k, at);
  if (*found) return BERTH_OK;
  if (u->n <= FEW_UNITS && !*unfit) st = search_exactly(k, order, found, unfit);
  double work = *unfit ? ACCOUNT_WORK : SEARCH_WORK;
  if (st == BERTH_OK && !*found)
    st = search_locally(k, order, fmin(MOST_SEARCH_WORK, work * u->n), at, left, found);
  return st;
}

/* Packs what comes closest, large units first, then the others where they fit.
 * @return the smallest unit that fits nowhere; BERTH_NONE: all are packed */
static int32_t leave_out(berth_i_packing *k, const rank *order, const int32_t *at) {
  int32_t out = BERTH_NONE;
  berth_i_packing_clear(k);
  for (int32_t i = 0; i < k->u->n; i++) berth_i_packing_try(k, order[i].unit, at[order[i].unit]);
  for (int32_t i = 0; i < k->u->n; i++) {
    int32_t unit = order[i].unit;
    bool packed = k->device[k->u->ops[k->u->at[unit]]] != BERTH_NONE;
    if (!packed && !first_fit(k, unit, 0)) out = unit;
  }
  return out;
}

/* With a share of copies between 0 and 1 packings are only proposals: no proof, and little
 * search. */
static berth_status find_feasible(berth_i_packing *k, rank *order, int32_t *at, double *left,
                                  const char *placer, const berth_place_options *opts,
                                  berth_obstacle *why) {
  bool found = false, unfit = false, proposal = k->u->share > 0 && k->u->share < 1;
  int32_t n = k->u->n, out;
  for (int32_t i = 0; i < n; i++) {
    order[i] = (rank){ i, 0, k->u->permanent[i] + k->u->temporary[i] };
    for (int32_t d = 0; d < k->cost->n_devices; d++)
      order[i].choices += berth_i_unit_can_run(k->u, i, d);
  }
  sort_forced_first(order, (size_t)n);
  if (pack(k, order, NEXT_FIT)) return BERTH_OK;
  sort_by_difficulty(order, (size_t)n);
  if (pack(k, order, FIRST_FIT) || pack(k, order, WORST_FIT)) return BERTH_OK;
  berth_status st = BERTH_OK;
  if (!proposal) /* a proof is found sooner than all packings are ruled out */
    st = berth_i_prove_infeasible(k->cost, placer, opts->memory, opts->param_multiple, why);
  if (st != BERTH_OK) return st;
  st = proposal ? search_locally(k, order, ACCOUNT_WORK * n, at, left, &found)
                : search_packing(k, order, at, left, &found, &unfit);
  if (st != BERTH_OK || found || (out = leave_out(k, order, at)) == BERTH_NONE) return st;
  return berth_i_packing_account(k, out, placer, unfit, opts, why);
}

berth_status berth_i_packing_find_feasible(berth_i_packing *k, const char *placer,
                                           const berth_place_options *opts, berth_obstacle *why) {
  berth_i_pool scratch = berth_i_pool_empty(k->cost->ctx);
  size_t n = (size_t)k->u->n, devices = (size_t)k->cost->n_devices;
  rank *order = berth_i_pool_alloc(&scratch, n, sizeof *order);
  int32_t *at = berth_i_pool_zalloc(&scratch, 2 * n, sizeof *at);
  double *left = berth_i_pool_alloc(&scratch, devices, sizeof *left);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK && n > 0) st = find_feasible(k, order, at, left, placer, opts, why);
  berth_i_pool_free(&scratch);
  return st;
}
