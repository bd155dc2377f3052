/* Entropic primal-dual steps. A zero-sum game: a unit flow f from sources to sinks takes the
 * longest way, a fractional matching y shortens the edges it is on: sum p f + sum c (1 - y) f. Both
 * sides answer softly, paths at temperature tau (exact by one sweep of log-sum-exp), matchings at a
 * temperature per part of the matching graph (by scaling rows and columns, Sinkhorn 1967); steps
 * are taken in log space with extrapolation, and are as long as the measured curvature allows.
 * O(n + m) a step. */
#include "entropic_internal.h"
#include "base/union_find_internal.h"

#define LEAST_STEP 3.0
#define MOST_STEP 1e5

typedef berth_i_lp_entropic_state entropic;

/* ---- parts of the matching graph ---- */

/* The out-side of tail i is i, the in-side of head j is n + j; the lowest side of a part with edges
 * is a tail. */
static berth_status find_parts(entropic *s) {
  const berth_i_lp_problem *q = s->q;
  size_t n2 = 2 * (size_t)q->n;
  int32_t *up = berth_i_alloc(q->ctx, n2, sizeof *up), *number = s->part_out;
  if (!up) return berth_i_nomem(q->ctx);
  berth_i_sets_init(up, 2 * q->n);
  for (int32_t e = 0; e < q->m; e++) {
    if (q->c[e] != 0) berth_i_sets_join(up, q->tail[e], q->n + q->head[e]);
  }
  for (int32_t i = 0; i < q->n; i++)
    number[i] = up[i] == i ? s->n_parts++ : number[berth_i_sets_root(up, i)];
  for (int32_t i = 0; i < q->n; i++) {
    int32_t top = berth_i_sets_root(up, q->n + i);
    s->part_in[i] = top < q->n ? number[top] : 0;
  }
  berth_i_free(q->ctx, up, n2, sizeof *up);
  s->heat = berth_i_pool_alloc(&s->pool, (size_t)s->n_parts, sizeof *s->heat);
  s->gain = berth_i_pool_alloc(&s->pool, (size_t)s->n_parts, sizeof *s->gain);
  s->edges = berth_i_pool_zalloc(&s->pool, (size_t)s->n_parts, sizeof *s->edges);
  berth_status st;
  if ((st = berth_i_pool_status(&s->pool)) != BERTH_OK) return st;
  for (int32_t e = 0; e < q->m; e++) s->edges[s->part_in[q->head[e]]] += q->c[e] > 0;
  return BERTH_OK;
}

berth_status berth_i_lp_entropic_init(const berth_i_lp_problem *q, entropic *s) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  *s = (entropic){ .q = q, .pool = berth_i_pool_empty(q->ctx) };
  double **nodes[] = { &s->arrival,      &s->depart,     &s->through,    &s->ends,
                       &s->row,          &s->col,        &s->sum,        &s->row_inverse,
                       &s->col_inverse,  &s->row_fitted, &s->col_fitted, &s->sum_ends,
                       &s->sum_potential };
  double **edges[] = { &s->length, &s->share, &s->log_share, &s->last_log_share, &s->flow,
                       &s->moved,  &s->pull,  &s->y,         &s->last_y,         &s->log_y,
                       &s->trial,  &s->sum_y, &s->sum_flow };
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
    *nodes[i] = berth_i_pool_zalloc(&s->pool, n, sizeof **nodes[i]);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    *edges[i] = berth_i_pool_zalloc(&s->pool, m, sizeof **edges[i]);
  s->scratch = berth_i_pool_alloc(&s->pool, m + 3 * n, sizeof *s->scratch);
  s->sink = berth_i_pool_alloc(&s->pool, n, sizeof *s->sink);
  s->part_in = berth_i_pool_alloc(&s->pool, n, sizeof *s->part_in);
  s->part_out = berth_i_pool_alloc(&s->pool, n, sizeof *s->part_out);
  berth_status st = berth_i_pool_status(&s->pool);
  return st == BERTH_OK ? find_parts(s) : st;
}

/* ---- paths ---- */

/* What arrives at j, and from where.  @return log weight of the paths that end before j */
static double arrive(entropic *s, int32_t from, int32_t to) {
  const berth_i_lp_problem *q = s->q;
  double most = -INFINITY, sum = 0;
  for (int32_t e = from; e < to; e++) {
    double x = s->depart[q->tail[e]] + s->length[e];
    s->log_share[e] = x;
    if (x > most) most = x;
  }
  if (to - from == 1) {
    s->share[from] = 1;
    s->log_share[from] = 0;
    return most;
  }
  for (int32_t e = from; e < to; e++) sum += s->share[e] = berth_i_lp_exp(s->log_share[e] - most);
  double arrival = most + berth_i_lp_log(sum);
  sum = 1 / sum;
  for (int32_t e = from; e < to; e++) {
    s->share[e] *= sum;
    s->log_share[e] -= arrival;
  }
  return arrival;
}

typedef struct moves {
  double entropy;  /* of the paths */
  double flow;     /* divergence of the flow's last step */
  double matching; /* ... of the matching's, times heat */
  double cross;    /* what both steps together change in the game's value */
} moves;

/* The flow that answers the present lengths: log-sum-exp forwards, shares of it backwards. */
static void answer_paths(entropic *s, moves *mv) {
  const berth_i_lp_problem *q = s->q;
  double inverse = 1 / s->tau, most = -INFINITY, sum = 0, *kept = s->log_share;
  s->log_share = s->last_log_share;
  s->last_log_share = kept;
  /* forwards: the weight of all paths to each node */
  for (int32_t j = 0; j < q->n; j++) {
    int32_t from = q->in_at[j], to = q->in_at[j + 1];
    s->arrival[j] = from < to ? arrive(s, from, to) : 0;
    s->depart[j] = s->arrival[j] + q->p[j] * inverse;
  }
  /* ends: the flow is shared among the sinks */
  for (int32_t k = 0; k < s->n_sinks; k++) most = fmax(most, s->depart[s->sink[k]]);
  for (int32_t k = 0; k < s->n_sinks; k++)
    sum += s->ends[s->sink[k]] = berth_i_lp_exp(s->depart[s->sink[k]] - most);
  for (int32_t k = 0; k < s->n_sinks; k++) {
    int32_t i = s->sink[k];
    s->ends[i] /= sum;
    mv->entropy -= s->ends[i] * (s->depart[i] - most - berth_i_lp_log(sum));
  }
  /* backwards: what a node has is shared among its in-edges */
  memcpy(s->through, s->ends, (size_t)q->n * sizeof *s->through);
  for (int32_t j = q->n - 1; j >= 0; j--) {
    double here = s->through[j];
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      double f = here * s->share[e];
      s->moved[e] = f - s->flow[e];
      s->flow[e] = f;
      s->through[q->tail[e]] += f;
      mv->entropy -= f * s->log_share[e];
      mv->flow += f * (s->log_share[e] - s->last_log_share[e]);
    }
  }
}

/* ---- matchings ---- */

/* Scales a row or a column of this sum to at most 1, by the smallest change. The inverse of the
 * factor is kept beside its log, so that a fit takes no exp. @param fitted what the present fit has
 * multiplied it with */
static double fit(double *inverse, double *fitted, double sum) {
  double factor;
  if (!(sum * *inverse > 1)) { /* fits without: the factor comes back to 1 */
    factor = *inverse;
    *inverse = 1;
  } else {
    factor = 1 / sum;
    *inverse *= sum;
  }
  *fitted *= factor;
  return factor;
}

/* Brings the column of j to at most 1. */
static void fit_column(entropic *s, int32_t j, double sum) {
  double factor = fit(&s->col_inverse[j], &s->col_fitted[j], sum);
  for (int32_t e = s->q->in_at[j]; e < s->q->in_at[j + 1]; e++) {
    s->y[e] *= factor;
    s->sum[s->q->tail[e]] += s->y[e];
  }
}

/* The same for all rows; leaves the factors in sum. */
static void fit_rows(entropic *s) {
  for (int32_t i = 0; i < s->q->n; i++)
    s->sum[i] = fit(&s->row_inverse[i], &s->row_fitted[i], s->sum[i]);
}

/* Back to logs. An inverse at its largest only shows that its side is crowded. */
static void keep_fit(double *log_inverse, double *inverse, double *fitted, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (inverse[i] == 1) log_inverse[i] = 0;
    else if (fitted[i] != 1) log_inverse[i] -= berth_i_lp_log(fitted[i]);
    if (inverse[i] > BERTH_I_LP_MOST_INVERSE) inverse[i] = BERTH_I_LP_MOST_INVERSE;
    fitted[i] = 1;
  }
}

/* The matching that answers the present flow: two rounds of scaling columns and rows. */
static void answer_matching(entropic *s, double rho, moves *mv) {
  const berth_i_lp_problem *q = s->q;
  double *kept = s->last_y;
  s->last_y = s->y;
  s->y = kept;
  /* round 1, from the pull of the flow */
  memset(s->sum, 0, (size_t)q->n * sizeof *s->sum);
  for (int32_t j = 0; j < q->n; j++) {
    double take = (1 - rho) / s->heat[s->part_in[j]], sum = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      s->pull[e] = rho * s->pull[e] + take * q->c[e] * s->flow[e];
      sum += s->y[e] =
          q->c[e] > 0 ? berth_i_lp_exp(s->pull[e] - s->row[q->tail[e]] - s->col[j]) : 0;
    }
    fit_column(s, j, sum);
  }
  fit_rows(s);
  /* round 2 */
  for (int32_t e = 0; e < q->m; e++) s->y[e] *= s->sum[q->tail[e]];
  memset(s->sum, 0, (size_t)q->n * sizeof *s->sum);
  for (int32_t j = 0; j < q->n; j++) {
    double sum = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) sum += s->y[e];
    fit_column(s, j, sum);
  }
  fit_rows(s);
  keep_fit(s->row, s->row_inverse, s->row_fitted, q->n);
  keep_fit(s->col, s->col_inverse, s->col_fitted, q->n);
  /* the last rows' factors, and what the step has changed */
  for (int32_t j = 0; j < q->n; j++) {
    double heat = s->heat[s->part_in[j]], part = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      double log_y = s->pull[e] - s->row[q->tail[e]] - s->col[j];
      s->y[e] *= s->sum[q->tail[e]];
      mv->cross += q->c[e] * (s->y[e] - s->last_y[e]) * s->moved[e];
      part += s->y[e] * (log_y - s->log_y[e]) - s->y[e] + s->last_y[e];
      s->log_y[e] = log_y;
    }
    mv->matching += heat * part;
  }
}

/* ---- one iteration ---- */

void berth_i_lp_entropic_forget(entropic *s) {
  size_t n = (size_t)s->q->n, m = (size_t)s->q->m;
  memset(s->sum_y, 0, m * sizeof *s->sum_y);
  memset(s->sum_flow, 0, m * sizeof *s->sum_flow);
  memset(s->sum_ends, 0, n * sizeof *s->sum_ends);
  memset(s->sum_potential, 0, n * sizeof *s->sum_potential);
  s->averaged = 0;
}

double berth_i_lp_entropic_flow(entropic *s) {
  moves mv = { 0, 0, 0, 0 };
  answer_paths(s, &mv);
  return mv.entropy;
}

double berth_i_lp_entropic_step(entropic *s) {
  const berth_i_lp_problem *q = s->q;
  double rho = 1 - 1 / s->step, take = (1 - rho) / s->tau;
  moves mv = { 0, 0, 0, 0 };
  /* lengths under the extrapolated matching, then both answers */
  for (int32_t e = 0; e < q->m; e++) {
    double ahead = s->y[e] + rho * (s->y[e] - s->last_y[e]);
    s->length[e] = rho * s->length[e] + take * q->c[e] * (1 - ahead);
  }
  answer_paths(s, &mv);
  answer_matching(s, rho, &mv);
  /* the next step is as long as the measured curvature allows */
  double divergence = s->tau * fabs(mv.flow) + fabs(mv.matching);
  if (divergence > 0) {
    double need = s->bias * fabs(mv.cross) / divergence;
    if (need > 0.95 * (s->step - 1)) s->step = fmin(1.3 * s->step, 1 + 1.05 * need);
    else if (need < 0.8 * (s->step - 1)) s->step *= 0.985;
    s->step = fmin(fmax(s->step, LEAST_STEP), MOST_STEP);
  }
  for (int32_t e = 0; e < q->m; e++) s->sum_y[e] += s->y[e], s->sum_flow[e] += s->flow[e];
  for (int32_t i = 0; i < q->n; i++) {
    s->sum_ends[i] += s->ends[i];
    s->sum_potential[i] += s->col[i] * s->heat[s->part_in[i]];
  }
  s->averaged++;
  return mv.entropy;
}
