/* Random problems for the linear program of favourite children, checks of its answers that share no
 * code with it, GLPK as oracle. */
#ifndef BERTH_PLACE_LP_HELP_H
#define BERTH_PLACE_LP_HELP_H

#include "must.h"
#include <glpk.h>

enum { LP_OPS = 620, LP_PAIRS = 4000 };

/* Distinct pairs src < dst; c in s. */
typedef struct lp_case {
  int32_t n, m;
  double p[LP_OPS], c[LP_PAIRS];
  int32_t src[LP_PAIRS], dst[LP_PAIRS];
} lp_case;

static void lp_edge(lp_case *k, int32_t src, int32_t dst, double c) {
  k->src[k->m] = src;
  k->dst[k->m] = dst;
  k->c[k->m++] = c;
}

/* One device type, two devices, 1 B/s without latency: a tensor of c bytes takes c s. Every third
 * edge is two tensors. */
static berth_cost *lp_cost(const lp_case *k) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < k->n; i++) {
    berth_op op = berth_op_default();
    op.seconds = &k->p[i];
    must_add_op(b, &op);
  }
  for (int32_t i = 0; i < k->m; i++) {
    double part = i % 3 == 0 ? k->c[i] / 4 : 0;
    must_add_edge(b, k->src[i], k->dst[i], k->c[i] - part);
    if (part > 0)
      must_add_edge(b, k->src[i], k->dst[i], part);
  }
  berth_graph *g = must_graph_builder_finish(b);
  berth_topology *t = must_mesh(2, INFINITY, 1, 0);
  berth_cost *cost = must_cost_new(g, t, NULL);
  RELEASE(b, g, t);
  return cost;
}

/* ---- random problems ---- */

static double lp_random_c(berth_rng *rng, int kind, double scale) {
  double u = berth_rng_uniform(rng);
  if (kind == 1 && u < 0.2) return 0;                                           /* some are free */
  if (kind == 2) return scale * exp(berth_rng_normal(rng));                     /* heavy tail */
  if (kind == 3) return scale * (1 + berth_rng_below(rng, 4));                  /* many ties */
  return scale * (0.05 + u);
}

/* shape 0: layers, 1: any, 2: out-tree, 3: fork-joins; kind of c as above; zero op times now and
 * then. */
static void lp_random(lp_case *k, int32_t n, berth_rng *rng) {
  int shape = berth_rng_below(rng, 4), kind = berth_rng_below(rng, 4);
  int zeros = berth_rng_below(rng, 3) == 0;
  int32_t width = 2 + berth_rng_below(rng, 8);
  double scale = exp(1.2 * berth_rng_normal(rng));
  k->n = n;
  k->m = 0;
  for (int32_t i = 0; i < n; i++)
    k->p[i] = zeros && berth_rng_below(rng, 4) == 0 ? 0 : 0.2 + berth_rng_uniform(rng);
  int32_t j;
  for (int32_t i = 1; i < n; i++) {
    uint8_t used[LP_OPS] = { 0 };
    int32_t parents = shape == 2 ? 1 : 1 + berth_rng_below(rng, 3);
    if (shape == 3 && i % (width + 1) == 0) parents = width;
    for (int32_t tries = 0; tries < parents; tries++) {
      if (shape == 0) j = (i / width - 1) * width + berth_rng_below(rng, width);
      else if (shape == 2) j = (i - 1) / 2;
      else if (shape == 3) j = i % (width + 1) ? i - i % (width + 1) : i - 1 - tries;
      else j = i - 1 - berth_rng_below(rng, i < 12 ? i : 12);
      if (j < 0 || j >= i || used[j]) continue;
      used[j] = 1;
      lp_edge(k, j, i, lp_random_c(rng, kind, scale));
    }
  }
}

/* ---- oracles ---- */

static double lp_run_simplex(glp_prob *lp) {
  glp_smcp opts;
  glp_init_smcp(&opts);
  opts.msg_lev = GLP_MSG_OFF;
  opts.presolve = GLP_ON;
  CHECK(glp_simplex(lp, &opts) == 0);
  CHECK(glp_get_status(lp) == GLP_OPT);
  double value = glp_get_obj_val(lp);
  glp_delete_prob(lp);
  return value;
}

/* x = 1 - y: as Hanen and Munier write it, of the edges of an op all but one count; else: sums of y
 * are at most 1.
 * Columns: edges from 1, starts from m + 1, makespan last. */
static double lp_simplex(const lp_case *k, int x) {
  glp_prob *lp = glp_create_prob();
  int32_t row = 0, out[LP_OPS] = { 0 }, in[LP_OPS] = { 0 };
  int w = k->m + k->n + 1;
  glp_set_obj_dir(lp, GLP_MIN);
  glp_add_cols(lp, w);
  for (int32_t e = 1; e <= k->m; e++) glp_set_col_bnds(lp, e, GLP_DB, 0, 1);
  for (int32_t i = 1; i <= k->n + 1; i++) glp_set_col_bnds(lp, k->m + i, GLP_LO, 0, 0);
  glp_set_obj_coef(lp, w, 1);
  glp_add_rows(lp, k->m + 3 * k->n);
  for (int32_t e = 0; e < k->m; e++) { /* s_j - s_i - c x >= p, or s_j - s_i + c y >= p + c */
    int at[] = { 0, k->m + k->dst[e] + 1, k->m + k->src[e] + 1, e + 1 };
    double value[] = { 0, 1, -1, x ? -k->c[e] : k->c[e] };
    glp_set_mat_row(lp, ++row, 3, at, value);
    glp_set_row_bnds(lp, row, GLP_LO, k->p[k->src[e]] + (x ? 0 : k->c[e]), 0);
    out[k->src[e]]++;
    in[k->dst[e]]++;
  }
  for (int32_t i = 0; i < k->n; i++) {
    int at[] = { 0, w, k->m + i + 1 };
    double value[] = { 0, 1, -1 };
    glp_set_mat_row(lp, ++row, 2, at, value);
    glp_set_row_bnds(lp, row, GLP_LO, k->p[i], 0);
  }
  for (int32_t i = 0; i < 2 * k->n; i++) {
    int at[LP_PAIRS + 1], op = i / 2, n = 0;
    double value[LP_PAIRS + 1];
    for (int32_t e = 0; e < k->m; e++) {
      if ((i % 2 ? k->dst[e] : k->src[e]) != op) continue;
      at[++n] = e + 1;
      value[n] = 1;
    }
    glp_set_mat_row(lp, ++row, n, at, value);
    if (n == 0) glp_set_row_bnds(lp, row, GLP_FR, 0, 0);
    else glp_set_row_bnds(lp, row, x ? GLP_LO : GLP_UP, n - 1, 1);
  }
  return lp_run_simplex(lp);
}

/* Largest sum of weights of a matching. */
static double lp_matching(const lp_case *k, const double *weight) {
  glp_prob *lp = glp_create_prob();
  glp_set_obj_dir(lp, GLP_MAX);
  glp_add_cols(lp, k->m);
  glp_add_rows(lp, 2 * k->n);
  for (int32_t e = 0; e < k->m; e++) {
    int at[] = { 0, k->src[e] + 1, k->n + k->dst[e] + 1 };
    double one[] = { 0, 1, 1 };
    glp_set_mat_col(lp, e + 1, 2, at, one);
    glp_set_col_bnds(lp, e + 1, GLP_LO, 0, 0);
    glp_set_obj_coef(lp, e + 1, weight[e]);
  }
  for (int32_t i = 1; i <= 2 * k->n; i++) glp_set_row_bnds(lp, i, GLP_UP, 0, 1);
  return lp_run_simplex(lp);
}

/* ---- checks of an answer ---- */

/* The program's own pairs are those of the case, in the order of producers. */
typedef struct lp_answer {
  const berth_lp *lp;
  const int32_t *src, *dst;
  const double *c, *y, *flow;
  int32_t m;
} lp_answer;

static lp_answer lp_read(const berth_lp *lp) {
  lp_answer a = { lp, NULL, NULL, NULL, NULL, NULL, 0 };
  a.m = berth_lp_edges(lp, &a.src, &a.dst, &a.c, &a.y, &a.flow);
  return a;
}

static void lp_check_feasible(const lp_answer *a, int32_t n) {
  double out[LP_OPS] = { 0 }, in[LP_OPS] = { 0 };
  for (int32_t e = 0; e < a->m; e++) {
    CHECK(a->y[e] >= 0 && a->y[e] <= 1 + 1e-12);
    CHECK(a->flow[e] >= 0 && a->flow[e] <= 1 + 1e-12);
    out[a->src[e]] += a->y[e];
    in[a->dst[e]] += a->y[e];
  }
  for (int32_t i = 0; i < n; i++) CHECK(out[i] <= 1 + 1e-12 && in[i] <= 1 + 1e-12);
}

/* Longest path with what c leaves under y; ops are numbered along edges. */
static double lp_longest(const lp_answer *a, int32_t n, const double *p) {
  double end[LP_OPS], most = 0;
  for (int32_t i = 0; i < n; i++) {
    double start = 0;
    for (int32_t e = 0; e < a->m; e++) {
      if (a->dst[e] == i) start = fmax(start, end[a->src[e]] + a->c[e] * (1 - a->y[e]));
    }
    end[i] = start + p[i];
    most = fmax(most, end[i]);
  }
  return most;
}

/* What the flow proves: the best that a matching can take off its length. Ops where more leaves
 * than comes are its sources. */
static double lp_proved(const lp_answer *a, const lp_case *k) {
  double in[LP_OPS] = { 0 }, out[LP_OPS] = { 0 }, length = 0, begun = 0, most = 0;
  lp_case same = *k;
  double weight[LP_PAIRS];
  for (int32_t e = 0; e < a->m; e++) {
    in[a->dst[e]] += a->flow[e];
    out[a->src[e]] += a->flow[e];
    length += weight[e] = a->c[e] * a->flow[e];
    same.src[e] = a->src[e];
    same.dst[e] = a->dst[e];
  }
  for (int32_t i = 0; i < k->n; i++) {
    length += k->p[i] * fmax(in[i], out[i]);
    begun += fmax(0, out[i] - in[i]);
    most = fmax(most, k->p[i]);
  }
  CHECK(begun <= 1 + 1e-9);
  if (begun == 0) return most; /* all along one op */
  CHECK_NEAR(begun, 1, 1e-9);
  same.m = a->m;
  return length - lp_matching(&same, weight);
}

static void lp_check_children(const lp_answer *a, int32_t n, const int32_t *child) {
  uint8_t taken[LP_OPS] = { 0 };
  int32_t e;
  for (int32_t i = 0; i < n; i++) {
    if (child[i] == BERTH_NONE) continue;
    CHECK(child[i] >= 0 && child[i] < n && !taken[child[i]]++);
    for (e = 0; e < a->m && !(a->src[e] == i && a->dst[e] == child[i]); e++) {}
    CHECK(e < a->m);
  }
}

#endif
