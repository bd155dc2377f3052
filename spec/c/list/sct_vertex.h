/* The linear program of favourite children as it was published, by a simplex solver: min w; s_i +
 * p_i + c_ij x_ij <= s_j;
 * s_i + p_i <= w; of the out-edges of an op, and of its in-edges, all but one have x = 1. Its
 * answers are vertices. */
#ifndef BERTH_SCT_VERTEX_H
#define BERTH_SCT_VERTEX_H

#include <glpk.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct vertex_problem {
  int32_t n, m;             /* ops, edges */
  const double *p, *c;      /* [n], [m] */
  const int32_t *src, *dst; /* [m] */
} vertex_problem;

/* Columns: s_1..s_n, w, x_1..x_m. */
static void vertex_columns(glp_prob *lp, const vertex_problem *v) {
  glp_add_cols(lp, v->n + 1 + v->m);
  for (int k = 1; k <= v->n + 1; k++) glp_set_col_bnds(lp, k, GLP_LO, 0, 0);
  for (int e = 0; e < v->m; e++) glp_set_col_bnds(lp, v->n + 2 + e, GLP_DB, 0, 1);
  glp_set_obj_coef(lp, v->n + 1, 1);
}

static void vertex_times(glp_prob *lp, const vertex_problem *v, double unit) {
  for (int e = 0; e < v->m; e++) {
    int at[4] = { 0, v->src[e] + 1, v->dst[e] + 1, v->n + 2 + e }, row = glp_add_rows(lp, 1);
    double by[4] = { 0, 1, -1, v->c[e] / unit };
    glp_set_mat_row(lp, row, 3, at, by);
    glp_set_row_bnds(lp, row, GLP_UP, 0, -v->p[v->src[e]] / unit);
  }
  for (int i = 0; i < v->n; i++) {
    int at[3] = { 0, i + 1, v->n + 1 }, row = glp_add_rows(lp, 1);
    double by[3] = { 0, 1, -1 };
    glp_set_mat_row(lp, row, 2, at, by);
    glp_set_row_bnds(lp, row, GLP_UP, 0, -v->p[i] / unit);
  }
}

/* One favour for each end of edges: sum of x >= number - 1.  @param end src, dst */
static void vertex_favours(glp_prob *lp, const vertex_problem *v, const int32_t *end) {
  int *at = malloc(((size_t)v->m + 1) * sizeof *at);
  double *by = malloc(((size_t)v->m + 1) * sizeof *by);
  for (int i = 0; i < v->n; i++) {
    int k = 0;
    for (int e = 0; e < v->m; e++) {
      if (end[e] != i) continue;
      at[++k] = v->n + 2 + e;
      by[k] = 1;
    }
    if (k == 0) continue;
    int row = glp_add_rows(lp, 1);
    glp_set_mat_row(lp, row, k, at, by);
    glp_set_row_bnds(lp, row, GLP_LO, k - 1, 0);
  }
  free(at);
  free(by);
}

static void vertex_run(glp_prob *lp, int presolve) {
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.presolve = presolve;
  glp_simplex(lp, &how);
}

/* A vertex of the optimal face: that which the solver comes to, or with `weight` [m] the one that
 * is least by it.
 * @param x [m] out  @return the value; NAN: not solved */
static double sct_vertex(const vertex_problem *v, const double *weight, double *x) {
  glp_prob *lp = glp_create_prob();
  double unit = 0, value = NAN;
  glp_term_out(GLP_OFF);
  for (int i = 0; i < v->n; i++) unit = v->p[i] > unit ? v->p[i] : unit;
  vertex_columns(lp, v);
  vertex_times(lp, v, unit);
  vertex_favours(lp, v, v->src);
  vertex_favours(lp, v, v->dst);
  vertex_run(lp, 1);
  if (glp_get_status(lp) == GLP_OPT) {
    value = glp_get_obj_val(lp);
    if (weight) {
      glp_set_obj_coef(lp, v->n + 1, 0);
      glp_set_col_bnds(lp, v->n + 1, GLP_DB, 0, value * (1 + 1e-9));
      for (int e = 0; e < v->m; e++) glp_set_obj_coef(lp, v->n + 2 + e, weight[e]);
      vertex_run(lp, 0);
      if (glp_get_status(lp) != GLP_OPT) value = NAN;
    }
  }
  for (int e = 0; e < v->m; e++) x[e] = glp_get_col_prim(lp, v->n + 2 + e);
  glp_delete_prob(lp);
  return value * unit;
}

/* Published rounding: edges with x <= tau, in order; a later one takes over. @param child [n] out
 * @return how many */
static int32_t vertex_favourites(const vertex_problem *v, const double *x, double tau,
                                 int32_t *child) {
  int32_t *parent = malloc(((size_t)v->n + 1) * sizeof *parent), count = 0;
  for (int32_t i = 0; i < v->n; i++) child[i] = parent[i] = -1;
  for (int32_t e = 0; e < v->m; e++) {
    if (x[e] > tau + 1e-9) continue;
    if (parent[v->dst[e]] >= 0) child[parent[v->dst[e]]] = -1;
    child[v->src[e]] = v->dst[e];
    parent[v->dst[e]] = v->src[e];
  }
  for (int32_t i = 0; i < v->n; i++) count += child[i] >= 0;
  free(parent);
  return count;
}

#endif
