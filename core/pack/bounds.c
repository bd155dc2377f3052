/* Lower bounds of bin packing on the permanent bytes of devices, and exhaustion of few
 * cases: more proofs that nothing fits. Superadditive functions of sizes (pieces), dual feasible
 * functions where limits are equal, then bin completion (complete.c) and the tree of all packings.
 * O(MOST_PIECES x sizes), and counted work for exhaustion.
 * Source: Martello, Toth 1990; Carlier, Clautiaux, Moukrim 2007. */
#include "pack_internal.h"
#include "base/sort_internal.h"
#include <stdio.h>

enum { MOST_PIECES = 120, FEW_UNITS = 16, HALVINGS = 10 };
/* steps of bin completion a unit, and at most */
static const double CASES_WORK = 1500, MOST_CASES_WORK = 2e6;

/* ---- sizes ---- */

typedef struct sizes {
  berth_i_pool pool;
  double *at;      /* [n] different, largest first */
  int32_t *count;  /* [n] units of that size */
  int32_t n;
} sizes;

static berth_status sizes_init(berth_ctx *ctx, const double *bytes, int32_t units, sizes *s) {
  *s = (sizes){ .pool = berth_i_pool_empty(ctx) };
  s->at = berth_i_pool_copy(&s->pool, bytes, (size_t)units, sizeof *s->at);
  s->count = berth_i_pool_zalloc(&s->pool, (size_t)units, sizeof *s->count);
  berth_status st;
  if ((st = berth_i_pool_status(&s->pool)) != BERTH_OK) return st;
  berth_i_sort_numbers_down(s->at, units);
  for (int32_t i = 0; i < units && s->at[i] > 0; i++) {
    if (s->n > 0 && s->at[s->n - 1] == s->at[i]) {
      s->count[s->n - 1]++;
    } else {
      s->at[s->n] = s->at[i];
      s->count[s->n++] = 1;
    }
  }
  return BERTH_OK;
}

/* Of whole bytes only, else 0. */
static double common_divisor(const sizes *s) {
  double g = 0;
  for (int32_t i = 0; i < s->n; i++) {
    double a = g, b = s->at[i];
    if (b != floor(b) || b > 9007199254740992.0) return 0;
    while (b > 0) {
      double r = fmod(a, b);
      a = b;
      b = r;
    }
    g = a;
  }
  return g;
}

/* ---- functions that never add up to more than that of the whole ---- */

/* Carlier, Clautiaux and Moukrim's: twice floor(x / piece) below half the limit, and what that
 * leaves of the whole above. In units of which a device has `whole`. */
static double devices_by_complement(const sizes *s, double limit, double piece) {
  double whole = 2 * floor(limit / piece), sum = 0;
  for (int32_t i = 0; i < s->n; i++) {
    double x = s->at[i];
    if (2 * x < limit) sum += s->count[i] * 2 * floor(x / piece);
    else
      sum += s->count[i]
             * fmax(whole / 2, whole - 2 * floor((limit - x) / piece + 1e-12 * limit / piece));
  }
  return whole > 0 ? sum / whole : 0;
}

/* Martello and Toth's: beside a unit of more than limit - least nothing of `least` or more
 * fits. */
static double devices_by_threshold(const sizes *s, double limit, double least) {
  double sum = 0;
  for (int32_t i = 0; i < s->n && s->at[i] >= least; i++) {
    sum += s->count[i] * (s->at[i] > limit * (1 + 1e-12) - least ? limit : s->at[i]);
  }
  return sum / limit;
}

/* ---- messages ---- */

static berth_status say_pieces(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                               double piece, double need, double held, berth_obstacle *why) {
  double least = INFINITY;
  for (int32_t j = 0; j < k->n; j++)
    least = fmin(least, (berth_i_pieces_on(k, j, piece) + 1) * piece - k->limit[j]);
  berth_i_cannot_fit(u->cost, placer, BERTH_NONE, BERTH_NONE, least, why);
  char each[32], lacks[32];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: cannot fit: in pieces of %s, each op or group on one device, %.0f are "
                      "needed, and all %d devices hold %.0f: %s or more are missing",
                      placer, berth_quantity_format(piece, BERTH_BYTES, each, sizeof each), need,
                      (int)k->devices, held,
                      berth_quantity_format(least, BERTH_BYTES, lacks, sizeof lacks));
}

static berth_status say_devices(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                double needed, berth_obstacle *why) {
  double missing = (needed - k->devices) * k->limit[0];
  berth_i_cannot_fit(u->cost, placer, BERTH_NONE, BERTH_NONE, missing, why);
  char room[32];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: cannot fit: by a bound of bin packing %.0f devices of %s are needed, "
                      "and there are %d",
                      placer, ceil(needed - 1e-9),
                      berth_quantity_format(k->limit[0], BERTH_BYTES, room, sizeof room),
                      (int)k->devices);
}

/* ---- all of them ---- */

static bool alike(const berth_i_kinds *k) {
  for (int32_t j = 1; j < k->n; j++) {
    if (k->limit[j] != k->limit[0]) return false;
  }
  return !isinf(k->limit[0]);
}

/* In whole pieces of `piece`: floor is superadditive, so a device holds at least as many pieces as
 * its units sum to. For any limits. */
static berth_status prove_by_piece(const berth_i_units *u, const berth_i_kinds *k, const sizes *s,
                                   double piece, const char *placer, berth_obstacle *why) {
  double need = 0, held = 0;
  for (int32_t i = 0; i < s->n; i++) need += s->count[i] * floor(s->at[i] / piece);
  for (int32_t j = 0; j < k->n; j++) held += k->size[j] * berth_i_pieces_on(k, j, piece);
  return need > held && need < 9007199254740992.0 ? say_pieces(u, k, placer, piece, need, held, why)
                                                  : BERTH_OK;
}

/* Only where a device more than there are is needed, beyond all rounding. */
static berth_status prove_by_devices(const berth_i_units *u, const berth_i_kinds *k, const sizes *s,
                                     double piece, const char *placer, berth_obstacle *why) {
  double limit = k->limit[0] * (1 + 1e-12 + k->slack), needed = 0;
  if (2 * piece > limit) return BERTH_OK;
  needed = fmax(devices_by_complement(s, limit, piece), devices_by_threshold(s, limit, piece));
  return needed > k->devices * (1 + 1e-9) ? say_devices(u, k, placer, needed, why) : BERTH_OK;
}

berth_status berth_i_prove_bins(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                berth_obstacle *why) {
  sizes s;
  berth_status st = sizes_init(u->cost->ctx, k->least.held, u->n, &s);
  double g = st == BERTH_OK ? common_divisor(&s) : 0;
  bool equal = alike(k);
  if (g > 0) st = prove_by_piece(u, k, &s, g, placer, why);
  int32_t step = s.n / MOST_PIECES + 1;
  for (int32_t i = 0; i < s.n && st == BERTH_OK; i += step) {
    for (int32_t part = 1; part <= 3 && st == BERTH_OK; part++)
      st = prove_by_piece(u, k, &s, s.at[i] / part, placer, why);
    if (st == BERTH_OK && equal) st = prove_by_devices(u, k, &s, s.at[i], placer, why);
  }
  berth_i_pool_free(&s.pool);
  return st;
}

/* ---- exhaustion ---- */

static berth_status say_exhausted(const berth_i_units *u, const berth_i_kinds *k,
                                  const char *placer, double missing, berth_obstacle *why) {
  double all = 0, room = 0;
  for (int32_t i = 0; i < u->n; i++) all += k->least.held[i];
  for (int32_t i = 0; i < k->n; i++) room += k->limit[i] * k->size[i];
  berth_i_cannot_fit(u->cost, placer, BERTH_NONE, BERTH_NONE, missing, why);
  char bytes[32], has[32], lacks[32];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: cannot fit: all ways to share out %d ops or groups of %s in all among "
                      "%d devices of %s in all are ruled out, each would have some device run out "
                      "of memory, by %s or more", placer, (int)u->n,
                      berth_quantity_format(all, BERTH_BYTES, bytes, sizeof bytes), (int)k->devices,
                      berth_quantity_format(room, BERTH_BYTES, has, sizeof has),
                      berth_quantity_format(missing, BERTH_BYTES, lacks, sizeof lacks));
}

static void fill_limits(const berth_i_kinds *k, double more, double *limit) {
  for (int32_t d = 0; d < k->devices; d++) limit[d] = k->limit[k->of[d]] * (1 + k->slack) + more;
}

/* With copies: under TOTAL tensors that are read from another device stay, too. @param none [units]
 * zeros */
static berth_status search_with_copies(const berth_i_units *u, const berth_i_kinds *k, double *none,
                                       const double *limit, int32_t *device, int32_t *order,
                                       bool *unfit) {
  berth_i_units held = *u;
  int64_t tries = 60000;
  bool found = false;
  held.permanent = k->least.held;
  held.temporary = none;
  held.share = 1;
  berth_i_packing packing;
  berth_status st;
  if ((st = berth_i_packing_init(&held, u->memory, device, &packing)) != BERTH_OK) return st;
  memcpy(packing.limit, limit, (size_t)k->devices * sizeof *limit);
  for (int32_t i = 0; i < u->n; i++) order[i] = i;
  st = berth_i_packing_search(&packing, order, &tries, NULL, NULL, &found);
  *unfit = st == BERTH_OK && !found && tries > 0;
  berth_i_pool_free(&packing.pool);
  return st;
}

static double cases_work(const berth_i_units *u) {
  return fmin(MOST_CASES_WORK, CASES_WORK * u->n);
}

/* @param limit [devices]  @param none [units] zeros  @param at [units + ops] scratch */
static berth_status try_all(const berth_i_units *u, const berth_i_kinds *k, double work,
                            const double *limit, double *none, int32_t *at, bool *unfit) {
  berth_i_verdict verdict = BERTH_I_UNKNOWN;
  *unfit = false;
  berth_status st =
      berth_i_pack_complete(u, limit, k->least.param, k->least.moment, work, at, &verdict);
  if (st == BERTH_OK && verdict != BERTH_I_UNFIT && u->memory == BERTH_MEMORY_TOTAL) {
    st = berth_i_pack_complete(u, limit, k->least.held, none, work, at, &verdict);
    if (st == BERTH_OK && verdict != BERTH_I_UNFIT && u->n <= FEW_UNITS) {
      return search_with_copies(u, k, none, limit, at, at + u->n_ops, unfit);
    }
  }
  *unfit = verdict == BERTH_I_UNFIT;
  return st;
}

/* By how much every way runs over somewhere: the most bytes more on each device with which nothing
 * fits, found by halving. Where that stays unknown, rounding is all that is sure. @param missing
 * out:
 * above 0 */
static berth_status least_missing(const berth_i_units *u, const berth_i_kinds *k, double *limit,
                                  double *none, int32_t *at, double *missing) {
  double low = 0, high = 0;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k->n; i++) low = fmax(low, 1e-12 * k->limit[i]);
  for (int32_t i = 0; i < u->n; i++) high = fmax(high, k->least.need[i]);
  for (int32_t i = 0; i < HALVINGS && st == BERTH_OK && high > low; i++) {
    double middle = low + (high - low) / 2;
    bool unfit = false;
    fill_limits(k, middle, limit);
    st = try_all(u, k, cases_work(u) / 16, limit, none, at, &unfit);
    if (unfit) low = middle;
    else high = middle;
  }
  *missing = low;
  return st;
}

berth_status berth_i_prove_all_cases(const berth_i_units *u, const berth_i_kinds *k,
                                     const char *placer, berth_obstacle *why) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t n = (size_t)u->n, ops = (size_t)u->n_ops, devices = (size_t)k->devices;
  int32_t *at = berth_i_pool_alloc(&scratch, n + ops, sizeof *at);
  double *limit = berth_i_pool_alloc(&scratch, devices, sizeof *limit),
         *none = berth_i_pool_zalloc(&scratch, n, sizeof *none);
  double missing = 0;
  bool unfit = false;
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    fill_limits(k, 0, limit);
    st = try_all(u, k, cases_work(u), limit, none, at, &unfit);
  }
  if (st == BERTH_OK && unfit) st = least_missing(u, k, limit, none, at, &missing);
  if (st == BERTH_OK && unfit) st = say_exhausted(u, k, placer, missing, why);
  berth_i_pool_free(&scratch);
  return st;
}
