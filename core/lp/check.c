/* What a point of the linear program of favourite children proves: nothing here trusts the solver
 * that made it. */
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

/* Factors that bring sums down to 1. */
static void shrink(double *sum, int32_t n) {
  for (int32_t i = 0; i < n; i++) sum[i] = sum[i] > 1 ? 1 / sum[i] : 1;
}

/* A free edge gains nothing by y: it gives up its room. */
static void scale_columns(const berth_i_lp_problem *q, double *y) {
  for (int32_t j = 0; j < q->n; j++) {
    double sum = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      if (!(y[e] >= 0) || q->c[e] == 0) y[e] = 0;
      sum += y[e];
    }
    if (!(sum > 1)) continue;
    double factor = isinf(sum) ? 0 : 1 / sum;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) y[e] = factor > 0 ? y[e] * factor : 0;
  }
}

/* @param col, row [n] out: sums */
static void scale_rows(const berth_i_lp_problem *q, double *y, double *col, double *row) {
  memset(row, 0, (size_t)q->n * sizeof *row);
  for (int32_t e = 0; e < q->m; e++) row[q->tail[e]] += y[e];
  shrink(row, q->n);
  memset(col, 0, (size_t)q->n * sizeof *col);
  for (int32_t e = 0; e < q->m; e++) col[q->head[e]] += y[e] *= row[q->tail[e]];
  memset(row, 0, (size_t)q->n * sizeof *row);
  for (int32_t e = 0; e < q->m; e++) row[q->tail[e]] += y[e];
}

static void top_up(const berth_i_lp_problem *q, double *y, double *col, double *row) {
  for (int32_t e = 0; e < q->m; e++) {
    double room = fmin(1 - row[q->tail[e]], 1 - col[q->head[e]]);
    if (!(room > 0) || q->c[e] == 0) continue;
    y[e] += room;
    row[q->tail[e]] += room;
    col[q->head[e]] += room;
  }
}

/* Comparisons are such that what is not a number makes the bound infinite, not low. @param end [n]
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
  scale_columns(q, y);
  scale_rows(q, y, col, row);
  top_up(q, y, col, row);
  double upper = longest(q, y, col);
  if (upper < pt->upper) {
    pt->upper = upper;
    if (q->m > 0) memcpy(pt->y, y, (size_t)q->m * sizeof *y);
  }
  return upper;
}

/* ---- lower bound ---- */

/* @param node [n] out: flow that ends there */
static void spread_ends(const berth_i_lp_problem *q, const double *ends, double *node) {
  double sum = 0;
  int32_t i;
  for (i = 0; ends && i < q->n; i++) sum += node[i] = ends[i] > 0 ? ends[i] : 0;
  if (!(sum > 0) || isinf(sum)) {
    for (sum = 0, i = 0; i < q->n; i++) sum += node[i] = q->out_at[i] == q->out_at[i + 1];
  }
  for (i = 0; i < q->n; i++) node[i] /= sum;
}

static double weight_into(const berth_i_lp_problem *q, const double *weight, int32_t j) {
  double sum = 0;
  for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
    if (weight[e] > 0) sum += weight[e];
  }
  return isinf(sum) ? 0 : sum;
}

/* @param node [n] in: what ends there, out: what goes through  @param flow [m] out
 * @return sum of p and c along the flow */
static double sweep(const berth_i_lp_problem *q, const double *weight, double *node, double *flow) {
  double length = 0;
  for (int32_t j = q->n - 1; j >= 0; j--) {
    double sum = weight_into(q, weight, j), share = sum > 0 ? node[j] / sum : 0;
    length += node[j] * q->p[j];
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      flow[e] = weight[e] > 0 ? weight[e] * share : 0;
      node[q->tail[e]] += flow[e];
      length += q->c[e] * flow[e];
    }
  }
  return length;
}

static void raise_tails(const berth_i_lp_problem *q, const double *flow, const double *v,
                        double *u) {
  memset(u, 0, (size_t)q->n * sizeof *u);
  for (int32_t j = 0; j < q->n; j++)
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      double need = q->c[e] * flow[e] - v[j];
      if (need > u[q->tail[e]]) u[q->tail[e]] = need;
    }
}

static void raise_heads(const berth_i_lp_problem *q, const double *flow, const double *u,
                        double *v) {
  for (int32_t j = 0; j < q->n; j++) {
    double most = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      double need = q->c[e] * flow[e] - u[q->tail[e]];
      if (need > most) most = need;
    }
    v[j] = most;
  }
}

/* A matching gains at most this: every pass keeps u + v >= c f and makes neither larger. */
static double potentials(const berth_i_lp_problem *q, const double *flow, double *u, double *v) {
  double sum = 0;
  for (int32_t pass = 0; pass < 2; pass++) {
    raise_tails(q, flow, v, u);
    raise_heads(q, flow, u, v);
  }
  for (int32_t i = 0; i < q->n; i++) sum += u[i] + v[i];
  return sum;
}

double berth_i_lp_lower(const berth_i_lp_problem *q, const double *weight, const double *ends,
                        const double *from, double *scratch, berth_i_lp_point *pt) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  double *flow = scratch, *node = scratch + m, *u = node + n, *v = u + n;
  if (n == 0) return q->floor;
  spread_ends(q, ends, node);
  for (int32_t i = 0; i < q->n; i++) v[i] = from && from[i] > 0 ? from[i] : 0;
  double lower = sweep(q, weight, node, flow);
  lower -= potentials(q, flow, u, v);
  if (lower > pt->lower) {
    pt->lower = lower;
    if (m > 0) memcpy(pt->flow, flow, m * sizeof *flow);
    memcpy(pt->u, u, n * sizeof *u);
    memcpy(pt->v, v, n * sizeof *v);
  }
  return lower;
}
