/* The start of the interior-point solver: a strictly positive point near the central path, from
 * nothing (cold) or from an entropic point (warm). Structure: the solver's vectors of unknowns,
 * slacks and duals, cut into parts by `start`. Invariant: every slack and dual is above 0, and sums
 * of rows leave slack at each level of their tree. O(n + m). */
#include "exp_internal.h"
#include "interior_internal.h"

/* A row's sum at the start. */
#define FILLED 0.7
/* Of the cold start, in lengths of arcs: what smoothing adds to the longest path is about a third
 * of it. */
#define TEMPERATURE 0.3

typedef struct start {
  const berth_i_lp_model *a;
  double *s, *y;        /* [n + 1], [vars] unknowns */
  double *r, *w;        /* slacks */
  double *f, *alpha, *z;
} start;

static start open_start(const berth_i_lp_model *a, double *x, double *primal, double *dual) {
  start t = { a,
              x,
              x + a->q->n + 1,
              primal,
              primal + a->arcs,
              dual,
              dual + a->arcs,
              dual + a->arcs + a->rows };
  return t;
}

/* Rows of one side, its groups and the rows above them, are adjacent. @return the first row
 * behind them */
static int32_t side_end(const berth_i_lp_model *a, int32_t r) {
  int32_t side = a->side[r];
  while (r < a->rows && a->side[r] == side) r++;
  return r;
}

/* ---- y ---- */

static void spread_evenly(const start *t) {
  const berth_i_lp_model *a = t->a;
  int32_t v;
  for (v = 0; v < a->matchable; v++) t->y[v] = 1;
  int32_t until;
  for (int32_t r = 0; r < a->rows; r = until) {
    int32_t members = 0;
    until = side_end(a, r);
    for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++)
      members += a->row_var[i] < a->matchable;
    for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++) {
      v = a->row_var[i];
      if (v < a->matchable) t->y[v] = fmin(t->y[v], FILLED / members);
    }
  }
}

/* The ratio of a stand-in to its group's sum: the slack of a side is divided evenly, as factors,
 * among the levels of its groups and the row at the top. */
static double slack_per_level(const start *t, int32_t r, int32_t until) {
  const berth_i_lp_model *a = t->a;
  double sum = 0;
  int32_t members = 0;
  for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++) {
    if (a->row_var[i] >= a->matchable) continue;
    sum += t->y[a->row_var[i]];
    members++;
  }
  return fmin(1.5, berth_i_lp_exp(-berth_i_lp_log(sum) / (berth_i_lp_levels(members) + 1)));
}

/* Groups come before the rows above them. */
static void set_stand_ins(const start *t) {
  const berth_i_lp_model *a = t->a;
  int32_t until;
  for (int32_t r = 0; r < a->rows; r = until) {
    until = side_end(a, r);
    if (until == r + 1) continue;
    double factor = slack_per_level(t, r, until);
    for (; r < until - 1; r++) {
      double sum = 0;
      for (int32_t i = a->row_at[r]; i < a->row_at[r + 1] - 1; i++) sum += t->y[a->row_var[i]];
      t->y[a->stand_in[r]] = sum * factor;
    }
  }
}

/* ---- s ---- */

static double arc_length(const start *t, int32_t k) {
  const berth_i_lp_model *a = t->a;
  return a->length[k] + (a->var[k] == BERTH_NONE ? 0 : a->c[k] * (1 - t->y[a->var[k]]));
}

static double arrival(const start *t, int32_t k) { return t->s[t->a->from[k]] + arc_length(t, k); }

/* Arcs into sources come behind the edges but are needed first. */
static void start_sources(const start *t, double margin) {
  const berth_i_lp_model *a = t->a;
  for (int32_t k = a->edges; k < a->arcs && a->from[k] == BERTH_NONE; k++) t->s[a->to[k]] = margin;
}

/* Smoothed arrivals: s_j = tau log sum exp(arrival / tau) + margin; the largest arrival if tau is
 * 0. */
static void sweep_arrivals(const start *t, double tau, double margin) {
  const berth_i_lp_model *a = t->a;
  start_sources(t, margin);
  int32_t until;
  for (int32_t k = 0; k < a->arcs; k = until) {
    double most = 0, sum = 0;
    for (until = k; until < a->arcs && a->to[until] == a->to[k]; until++) {
      if (a->from[until] != BERTH_NONE) most = fmax(most, arrival(t, until));
    }
    if (a->from[k] == BERTH_NONE) continue;
    for (int32_t i = k; tau > 0 && i < until; i++)
      sum += berth_i_lp_exp((arrival(t, i) - most) / tau);
    t->s[a->to[k]] = most + (sum > 1 ? tau * berth_i_lp_log(sum) : 0) + margin;
  }
}

/* Most arcs on a path: at least 2.  s is used for it. */
static double depth(const start *t) {
  const berth_i_lp_model *a = t->a;
  memset(t->s, 0, (size_t)(a->q->n + 1) * sizeof *t->s);
  for (int32_t k = 0; k < a->arcs; k++) {
    if (a->from[k] == BERTH_NONE) continue;
    t->s[a->to[k]] = fmax(t->s[a->to[k]], t->s[a->from[k]] + 1);
  }
  return t->s[a->q->n] + 1;
}

static double longest_path(const start *t) {
  sweep_arrivals(t, 0, 0);
  return t->s[t->a->q->n];
}

static void set_slacks(const start *t) {
  const berth_i_lp_model *a = t->a;
  berth_i_lp_forward(a, t->s, t->r);
  for (int32_t k = 0; k < a->arcs; k++) t->r[k] -= a->length[k] + a->c[k];
  for (int32_t r = 0; r < a->rows; r++) t->w[r] += a->bound[r];
}

/* ---- flow ---- */

/* Unit flow that leaves by the sink and comes to every node along its arcs in proportion to their
 * weights (in f).
 * @param node [n + 1] scratch */
static void sweep_flow(const start *t, double *node) {
  const berth_i_lp_model *a = t->a;
  memset(node, 0, (size_t)(a->q->n + 1) * sizeof *node);
  node[a->q->n] = 1;
  int32_t from;
  for (int32_t k = a->arcs - 1; k >= 0; k = from) {
    double sum = 0;
    for (from = k; from >= 0 && a->to[from] == a->to[k]; from--) sum += t->f[from];
    double share = sum > 0 ? node[a->to[k]] / sum : 0;
    for (int32_t i = k; i > from; i--) {
      t->f[i] *= share;
      if (a->from[i] != BERTH_NONE) node[a->from[i]] += t->f[i];
    }
  }
  for (int32_t k = a->edges; k < a->arcs && a->from[k] == BERTH_NONE; k++) t->f[k] = node[a->to[k]];
}

/* ---- alpha, z ---- */

static void keep_above(double *x, const double *slack, double mu, int32_t n) {
  for (int32_t k = 0; k < n; k++) x[k] = fmax(x[k], mu / slack[k]);
}

/* z from alpha and f; where it is low, alpha of a side is raised, one and the same for all rows of
 * it. */
static void set_prices(const start *t, double mu) {
  const berth_i_lp_model *a = t->a;
  int32_t v;
  for (v = 0; v < a->matchable; v++) t->z[v] = -a->c[a->arc[v]] * t->f[a->arc[v]];
  for (int32_t r = 0; r < a->rows; r++) {
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++) {
      if (a->row_var[i] < a->matchable) t->z[a->row_var[i]] += t->alpha[r];
    }
  }
  int32_t until;
  for (int32_t r = 0; r < a->rows; r = until) {
    double low = 0;
    until = side_end(a, r);
    for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++) {
      v = a->row_var[i];
      if (v < a->matchable) low = fmax(low, 0.5 * mu / t->y[v] - t->z[v]);
    }
    for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++) {
      if (a->row_var[i] < a->matchable) t->z[a->row_var[i]] += low;
    }
    for (int32_t i = r; i < until; i++) t->alpha[i] += low;
  }
  for (v = a->matchable; v < a->vars; v++) t->z[v] = 0;
}

/* ---- cold ---- */

/* Half of the largest c f on a side. */
static void halve_gains(const start *t) {
  const berth_i_lp_model *a = t->a;
  int32_t until;
  for (int32_t r = 0; r < a->rows; r = until) {
    double most = 0;
    until = side_end(a, r);
    for (int32_t i = a->row_at[r]; i < a->row_at[until]; i++) {
      int32_t v = a->row_var[i];
      if (v < a->matchable) most = fmax(most, a->c[a->arc[v]] * t->f[a->arc[v]]);
    }
    for (int32_t i = r; i < until; i++) t->alpha[i] = most / 2;
  }
}

static void share_by_arrival(const start *t, double tau) {
  const berth_i_lp_model *a = t->a;
  for (int32_t k = 0; k < a->arcs; k++)
    t->f[k] = a->from[k] == BERTH_NONE ? 1 : berth_i_lp_exp(-t->r[k] / tau);
}

static double mean_product(const double *a, const double *b, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += a[i] * b[i];
  return n > 0 ? sum / n : 0;
}

/* Arrivals smoothed at a temperature, and the flow that belongs to them: its products with the
 * slacks are near each other however deep the graph is. */
void berth_i_lp_cold_start(const berth_i_lp_model *a, double *x, double *primal, double *dual) {
  start t = open_start(a, x, primal, dual);
  double hops = depth(&t);
  spread_evenly(&t);
  set_stand_ins(&t);
  double tau = TEMPERATURE * longest_path(&t) / hops;
  if (!(tau > 0)) tau = 1e-3;
  sweep_arrivals(&t, tau, 0.5 * tau);
  set_slacks(&t);
  share_by_arrival(&t, tau);
  sweep_flow(&t, x);
  double mu = mean_product(t.f, t.r, a->arcs);
  keep_above(t.f, t.r, 0.5 * mu, a->arcs);
  halve_gains(&t);
  keep_above(t.alpha, t.w, mu, a->rows);
  set_prices(&t, mu);
}

/* ---- warm ---- */

static void take_y(const start *t, const berth_i_lp_point *pt) {
  const berth_i_lp_model *a = t->a;
  for (int32_t v = 0; v < a->matchable; v++)
    t->y[v] = 0.1 * t->y[v] + 0.9 * pt->y[a->edge[a->arc[v]]];
}

/* What a node without out-edges receives goes on to the sink.  @param node [n + 1] scratch */
static void take_flow(const start *t, const berth_i_lp_point *pt, double *node) {
  const berth_i_lp_model *a = t->a;
  memset(node, 0, (size_t)(a->q->n + 1) * sizeof *node);
  int32_t k;
  for (k = 0; k < a->edges; k++) {
    t->f[k] = pt->flow[a->edge[k]];
    node[a->to[k]] += t->f[k];
  }
  for (; k < a->arcs; k++) t->f[k] = a->from[k] == BERTH_NONE ? 0 : node[a->from[k]];
}

static void take_prices(const start *t, const berth_i_lp_point *pt, double mu) {
  const berth_i_lp_model *a = t->a;
  int32_t n = a->q->n;
  for (int32_t r = 0; r < a->rows; r++) {
    double price = a->side[r] < n ? pt->u[a->side[r]] : pt->v[a->side[r] - n];
    t->alpha[r] = price / a->scale + mu / t->w[r];
  }
}

void berth_i_lp_warm_start(const berth_i_lp_model *a, const berth_i_lp_point *pt, double *x,
                     double *primal, double *dual) {
  start t = open_start(a, x, primal, dual);
  double gap = fmax(pt->upper - pt->lower, 1e-9 * pt->upper) / a->scale, hops = depth(&t);
  double margin = gap / hops, mu = gap / berth_i_lp_true_pairs(a);
  spread_evenly(&t);
  take_y(&t, pt);
  set_stand_ins(&t);
  sweep_arrivals(&t, margin, margin);
  set_slacks(&t);
  take_flow(&t, pt, x);
  for (int32_t k = 0; k < a->arcs; k++) t.f[k] += mu / t.r[k];
  sweep_flow(&t, x);
  keep_above(t.f, t.r, 0.5 * mu, a->arcs);
  take_prices(&t, pt, mu);
  set_prices(&t, mu);
}
