/* Favourite children for m-SCT: given, by path length, or from the linear program (lp/).
 * Invariant: an op has at most one favourite child, and is that of at most one producer. */
#include "list/sct_internal.h"
#include "lp/lp_internal.h"

/* ---- given ---- */

static bool reads(const berth_graph *g, int32_t op, int32_t from) {
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (g->producer[g->in[i]] == from) return true;
  }
  return false;
}

static berth_status refuse(const berth_cost *cost, int32_t op, int32_t child, const char *what) {
  char parent[160], favourite[160];
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "m-sct: option favourite: %s has %s, %s",
                      berth_i_op_label(cost->g, op, parent, sizeof parent),
                      berth_i_op_label(cost->g, child, favourite, sizeof favourite), what);
}

/* @param parent [ops] scratch: BERTH_NONE */
static berth_status check_given(const berth_cost *cost, const int32_t *child, int32_t *parent) {
  int32_t n = cost->g->n_ops;
  for (int32_t op = 0; op < n; op++) {
    int32_t c = child[op];
    if (c == BERTH_NONE) continue;
    if (c < 0 || c >= n) {
      return berth_i_fail(cost->ctx, BERTH_EINVAL,
                          "m-sct: option favourite: op %d has op %d, but there are %d", (int)op,
                          (int)c, (int)n);
    }
    if (!reads(cost->g, c, op)) return refuse(cost, op, c, "which is no consumer of it");
    if (parent[c] != BERTH_NONE) return refuse(cost, op, c, "which an op before it has, too");
    parent[c] = op;
  }
  return BERTH_OK;
}

/* ---- from the linear program ---- */

/* Published: x rounds down at tau, edge by edge. A later edge takes the parent's choice over, and
 * the child from the parent that `back` remembers; that may long have chosen another one, and loses
 * it. @param back [ops] scratch: BERTH_NONE */
static void round_published(const berth_lp *lp, double tau, int32_t *child, int32_t *back) {
  const int32_t *src, *dst;
  const double *y;
  int32_t n = berth_lp_edges(lp, &src, &dst, NULL, &y, NULL);
  for (int32_t i = 0; i < n; i++) {
    if (1 - y[i] - tau + 0.5 > 0.5) continue;
    if (back[dst[i]] != BERTH_NONE) child[back[dst[i]]] = BERTH_NONE;
    child[src[i]] = dst[i];
    back[dst[i]] = src[i];
  }
}

static double published_tau(const berth_place_options *opts) {
  if (opts->tau > 0) return opts->tau;
  return strcmp(opts->variant, "baechi-tf") == 0 ? 0.1 : 0.5;
}

static berth_status from_lp(berth_cost *cost, const berth_place_options *opts, int32_t *out,
                            int32_t *back) {
  berth_lp_options lo = berth_lp_default();
  berth_lp *lp = NULL;
  lo.gap = opts->gap;
  berth_status st;
  if ((st = berth_lp_solve(cost, &lo, &lp)) != BERTH_OK) return st;
  if (opts->variant[0]) {
    round_published(lp, published_tau(opts), out, back);
  } else {
    st = berth_lp_favourites(lp, opts->tau, out);
  }
  berth_lp_release(lp);
  return st;
}

/* ---- all together ---- */

static void clear(int32_t *child, int32_t n) {
  for (int32_t i = 0; i < n; i++) child[i] = BERTH_NONE;
}

static berth_status find(berth_cost *cost, const berth_place_options *opts, int32_t *out,
                         int32_t *scratch) {
  int32_t n = cost->g->n_ops;
  clear(out, n);
  clear(scratch, n);
  switch (opts->favourites) {
    case BERTH_FAVOURITES_NONE: return BERTH_OK;
    case BERTH_FAVOURITES_THROUGH: return berth_i_favourites_through(cost, out);
    case BERTH_FAVOURITES_LP: return from_lp(cost, opts, out, scratch);
    default: break;
  }
  berth_status st;
  if ((st = check_given(cost, opts->favourite, scratch)) != BERTH_OK || n == 0) return st;
  memcpy(out, opts->favourite, (size_t)n * sizeof *out);
  return BERTH_OK;
}

berth_status berth_i_sct_favourites(berth_cost *cost, const berth_place_options *opts,
                                    int32_t *out) {
  size_t n = (size_t)cost->g->n_ops;
  int32_t *scratch = berth_i_alloc(cost->ctx, n, sizeof *scratch);
  if (!scratch) return berth_i_nomem(cost->ctx);
  berth_status st = find(cost, opts, out, scratch);
  berth_i_free(cost->ctx, scratch, n, sizeof *scratch);
  return st;
}
