/* Favourite children: matchings on the pairs of producer and consumer, greedily by one of two
 * orders:
 * the program's y (then flow and path length), or path length alone. Invariant: each op has at most
 * one child and is that of at most one producer. With a threshold, at most 1 - y <= tau pass (the
 * rounding of Baechi, Jeon et al. 2020). O(m log m). */
#include "solution_internal.h"
#include "base/sort_internal.h"

/* An edge below this is not in the solution: interior points never reach 0. */
#define LEAST_Y 1e-6
/* Multiples of it are compared, so that ties do not fall to a solver's rounding. */
#define GRAIN 1e-8
/* A solver's rounding does not push an edge over the threshold. */
#define TAU_RESIDUE 1e-9

typedef struct ranked {
  double key[3]; /* larger goes first */
  int32_t pair;
} ranked;

BERTH_I_SORT(sort_by_rank, ranked,
             BERTH_I_DOWN(key[0]) BERTH_I_DOWN(key[1]) BERTH_I_DOWN(key[2]) BERTH_I_UP(pair))

/* @param taken [ops] scratch */
static void match_greedily(ranked *r, int32_t m, const int32_t *src, const int32_t *dst,
                           int32_t ops, uint8_t *taken, int32_t *child) {
  sort_by_rank(r, (size_t)m);
  for (int32_t i = 0; i < ops; i++) child[i] = BERTH_NONE;
  for (int32_t i = 0; i < m; i++) {
    int32_t from = src[r[i].pair], to = dst[r[i].pair];
    if (child[from] != BERTH_NONE || taken[to]) continue;
    child[from] = to;
    taken[to] = 1;
  }
}

/* Those that pass the threshold; with tau 0 all.  @return how many */
static int32_t rank(const berth_lp *lp, double tau, ranked *r) {
  int32_t n = 0;
  for (int32_t e = 0; e < lp->m; e++) {
    double y = lp->y[e] < LEAST_Y ? 0 : nearbyint(lp->y[e] / GRAIN);
    if (tau > 0 && 1 - lp->y[e] > tau + TAU_RESIDUE) continue;
    r[n].key[0] = y;
    r[n].key[1] = y > 0 ? lp->flow[e] * lp->c[e] : 0;
    r[n].key[2] = lp->through[e];
    r[n++].pair = e;
  }
  return n;
}

berth_status berth_lp_favourites(const berth_lp *lp, double tau, int32_t *child) {
  if (!lp) return BERTH_EINVAL;
  berth_i_pool scratch = berth_i_pool_empty(lp->ctx);
  if (!(tau >= 0 && tau <= 1))
    return berth_i_fail(lp->ctx, BERTH_EINVAL, "favourites: tau: %g is not in 0..1", tau);
  ranked *r = berth_i_pool_alloc(&scratch, (size_t)lp->m, sizeof *r);
  uint8_t *taken = berth_i_pool_zalloc(&scratch, (size_t)lp->n, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK)
    match_greedily(r, rank(lp, tau, r), lp->src, lp->dst, lp->n, taken, child);
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- by through-length ---- */

void berth_i_lp_through(const berth_i_lp_pairs *a, const double *before, const double *after,
                        double *through) {
  for (int32_t e = 0; e < a->m; e++)
    through[e] = before[a->src[e]] + a->p[a->src[e]] + a->c[e] + after[a->dst[e]];
}

/* @param level [2n + m] scratch */
static void match_through(const berth_i_lp_pairs *a, double *level, ranked *r, uint8_t *taken,
                          int32_t *child) {
  double *before = level, *after = level + a->n, *through = after + a->n;
  berth_i_lp_pair_levels(a, a->c, NULL, before, after);
  berth_i_lp_through(a, before, after, through);
  for (int32_t e = 0; e < a->m; e++) r[e] = (ranked){ { through[e], 0, 0 }, e };
  match_greedily(r, a->m, a->src, a->dst, a->n, taken, child);
}

berth_status berth_i_favourites_through(berth_cost *cost, int32_t *child) {
  berth_i_lp_pairs a;
  berth_status st = berth_i_lp_pairs_init(cost, BERTH_LP_MEAN, &a);
  size_t n = (size_t)cost->g->n_ops;
  if (st != BERTH_OK) return st;
  double *level = berth_i_pool_alloc(&a.pool, 2 * n + (size_t)a.m, sizeof *level);
  ranked *r = berth_i_pool_alloc(&a.pool, (size_t)a.m, sizeof *r);
  uint8_t *taken = berth_i_pool_zalloc(&a.pool, n, 1);
  if ((st = berth_i_pool_status(&a.pool)) == BERTH_OK) match_through(&a, level, r, taken, child);
  berth_i_pool_free(&a.pool);
  return st;
}
