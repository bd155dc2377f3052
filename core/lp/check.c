/* What a point of the linear program of favourite children proves, by sums over the graph: nothing
 * here depends on the accuracy of the solver that made it. Upper bound: the longest path under a
 * feasible matching. Lower bound: the length of a unit flow, less what a matching can gain on it
 * (weak duality). O(n + m). */
#include "lp_internal.h"

berth_status berth_i_lp_point_init(berth_ctx *ctx, const berth_i_lp_problem *q,
                                   berth_i_lp_point *pt) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  *pt = (berth_i_lp_point){ .pool = berth_i_pool_empty(ctx), .upper = INFINITY, .lower = q->floor };
  pt->y = berth_i_pool_zalloc(&pt->pool, m, sizeof *pt->y);
  pt->flow = berth_i_pool_zalloc(&pt->pool, m, sizeof *pt->flow);
  pt->u = berth_i_pool_zalloc(&pt->pool, n, sizeof *pt->u);
  pt->v = berth_i_pool_zalloc(&pt->pool, n, sizeof *pt->v);
  return berth_i_pool_status(&pt->pool);
}

/* ---- upper bound ---- */

/* Comparisons are written so that NaN makes the bound infinite, not low. @param end [n]
 * scratch */
static double longest(const berth_i_lp_problem *q, const double *y, double *end) {
  double most = q->floor;
  for (int32_t j = 0; j < q->n; j++) {
    double start = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      double x = end[q->tail[e]] + q->c[e] * (1 - y[e]);
      if (!(x <= start)) start = x;
    }
    end[j] = start + q->p[j];
    if (!(end[j] <= most)) most = end[j];
  }
  return isnan(most) ? INFINITY : most;
}

double berth_i_lp_upper(const berth_i_lp_problem *q, double *y, double *scratch,
                        berth_i_lp_point *pt) {
  double *col = scratch, *row = scratch + q->n;
  memset(scratch, 0, 2 * (size_t)q->n * sizeof *scratch);
  /* columns to at most 1; a free edge gains nothing by y and leaves its part to others */
  for (int32_t j = 0; j < q->n; j++) {
    double sum = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      if (!(y[e] >= 0) || q->c[e] == 0) y[e] = 0;
      sum += y[e];
    }
    double factor = sum > 1 && !isinf(sum) ? 1 / sum : 0;
    for (int32_t e = q->in_at[j]; sum > 1 && e < q->in_at[j + 1]; e++)
      y[e] = factor > 0 ? y[e] * factor : 0;
  }
  /* rows to at most 1, and all sums anew */
  for (int32_t e = 0; e < q->m; e++) row[q->tail[e]] += y[e];
  for (int32_t i = 0; i < q->n; i++) row[i] = row[i] > 1 ? 1 / row[i] : 1;
  for (int32_t e = 0; e < q->m; e++) col[q->head[e]] += y[e] *= row[q->tail[e]];
  memset(row, 0, (size_t)q->n * sizeof *row);
  for (int32_t e = 0; e < q->m; e++) row[q->tail[e]] += y[e];
  /* greedily up to 1 on both sides */
  for (int32_t e = 0; e < q->m; e++) {
    double room = fmin(1 - row[q->tail[e]], 1 - col[q->head[e]]);
    if (!(room > 0) || q->c[e] == 0) continue;
    y[e] += room;
    row[q->tail[e]] += room;
    col[q->head[e]] += room;
  }
  double upper = longest(q, y, col);
  if (upper < pt->upper) {
    pt->upper = upper;
    if (q->m > 0) memcpy(pt->y, y, (size_t)q->m * sizeof *y);
  }
  return upper;
}

/* ---- lower bound ---- */

/* Where the unit flow ends; evenly in the nodes without out-edges if `ends` is NULL or 0. */
static void spread_ends(const berth_i_lp_problem *q, const double *ends, double *node) {
  double sum = 0;
  int32_t i;
  for (i = 0; ends && i < q->n; i++) sum += node[i] = ends[i] > 0 ? ends[i] : 0;
  if (!(sum > 0) || isinf(sum)) {
    for (sum = 0, i = 0; i < q->n; i++) sum += node[i] = q->out_at[i] == q->out_at[i + 1];
  }
  for (i = 0; i < q->n; i++) node[i] /= sum;
}

/* u + v >= c f on every edge: a matching gains at most their sum. Each pass raises one side to what
 * the other leaves; it keeps the constraint and makes neither side larger. */
static double potentials(const berth_i_lp_problem *q, const double *flow, double *u, double *v) {
  double sum = 0;
  for (int32_t pass = 0; pass < 2; pass++) {
    memset(u, 0, (size_t)q->n * sizeof *u);
    for (int32_t e = 0; e < q->m; e++) {
      double need = q->c[e] * flow[e] - v[q->head[e]];
      if (need > u[q->tail[e]]) u[q->tail[e]] = need;
    }
    memset(v, 0, (size_t)q->n * sizeof *v);
    for (int32_t e = 0; e < q->m; e++) {
      double need = q->c[e] * flow[e] - u[q->tail[e]];
      if (need > v[q->head[e]]) v[q->head[e]] = need;
    }
  }
  for (int32_t i = 0; i < q->n; i++) sum += u[i] + v[i];
  return sum;
}

double berth_i_lp_lower(const berth_i_lp_problem *q, const double *weight, const double *ends,
                        const double *from, double *scratch, berth_i_lp_point *pt) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  double *flow = scratch, *node = scratch + m, *u = node + n, *v = u + n, lower = 0;
  if (n == 0) return q->floor;
  spread_ends(q, ends, node);
  /* backwards: what a node has is shared among its in-edges; lower: p and c along the flow */
  for (int32_t j = q->n - 1; j >= 0; j--) {
    double sum = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      if (weight[e] > 0) sum += weight[e];
    }
    double share = sum > 0 && !isinf(sum) ? node[j] / sum : 0;
    lower += node[j] * q->p[j];
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      flow[e] = weight[e] > 0 ? weight[e] * share : 0;
      node[q->tail[e]] += flow[e];
      lower += q->c[e] * flow[e];
    }
  }
  for (int32_t i = 0; i < q->n; i++) v[i] = from && from[i] > 0 ? from[i] : 0;
  lower -= potentials(q, flow, u, v);
  if (lower > pt->lower) {
    pt->lower = lower;
    if (m > 0) memcpy(pt->flow, flow, m * sizeof *flow);
    memcpy(pt->u, u, n * sizeof *u);
    memcpy(pt->v, v, n * sizeof *v);
  }
  return lower;
}
