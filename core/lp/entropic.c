/* Favourite children by entropic primal-dual steps (entropic_step.c): temperatures that fall as the
 * gap does, certified checks, averages. Steps: begin; then CHECK_EVERY iterations and a check,
 * until the gap is reached, iterations are used up or the gap stalls. Invariant: pt has the best
 * certified bounds, whatever the iterate. O(n + m) an iteration. Constants are tuned on layered
 * graphs and on graphs of neural networks. */
#include "entropic_internal.h"

enum {
  ITERATIONS = 6000,    /* at most, if none are given */
  CHECK_EVERY = 10,     /* iterations */
  WARM_CHECKS = 10,     /* so many at first retune the temperatures */
  RETUNE_EVERY = 25,    /* checks, when nothing else happens: constant retuning makes limit
                           cycles */
  MOST_STALLED = 120        /* checks without a gap 2 % smaller */
};

#define FIRST_SMOOTHING 0.03  /* share of the value that entropy may cost */
#define WINDOW 1.5            /* averages go over so many times K iterations, K the number of steps
                                 that go the whole way */

typedef berth_i_lp_entropic_state entropic;

/* ---- temperatures ---- */

static double measure_gains(entropic *s) {
  const berth_i_lp_problem *q = s->q;
  double all = 0;
  memset(s->gain, 0, (size_t)s->n_parts * sizeof *s->gain);
  for (int32_t e = 0; e < q->m; e++) s->gain[s->part_in[q->head[e]]] += q->c[e] * s->flow[e];
  for (int32_t k = 0; k < s->n_parts; k++) all += s->gain[k];
  return all;
}

/* Entropy of the matchings of a part may cost its share of c f, evenly over its edges. */
static double heat_for(const entropic *s, int32_t part, double budget, double all) {
  double share = (s->gain[part] + 0.001 * all / s->n_parts) / (1.001 * all);
  return budget * share / (0.05 * fmax(1, s->edges[part]));
}

static double inverse_of(double log_inverse) {
  return fmin(berth_i_lp_exp(log_inverse), BERTH_I_LP_MOST_INVERSE);
}

static double limited(double factor) { return fmin(fmax(factor, 0.7), 1.3); }

/* Values in log space are in units of the temperature: they are rescaled, so that only the
 * smoothing changes. */
static void retune(entropic *s, double value, double entropy) {
  const berth_i_lp_problem *q = s->q;
  double budget = 0.5 * s->smoothing * value, all = measure_gains(s);
  double factor = limited(budget / (entropy + 0.1) / s->tau);
  s->tau *= factor;
  for (int32_t e = 0; e < q->m; e++) s->length[e] /= factor;
  if (!(all > 0)) return;
  for (int32_t k = 0; k < s->n_parts; k++) {
    factor = limited(heat_for(s, k, budget, all) / s->heat[k]);
    s->heat[k] *= factor;
    s->gain[k] = factor;
  }
  for (int32_t i = 0; i < q->n; i++) {
    double inverse_gain = 1 / s->gain[s->part_in[i]];
    s->col[i] *= inverse_gain;
    s->row[i] /= s->gain[s->part_out[i]];
    s->col_inverse[i] = inverse_of(s->col[i]);
    s->row_inverse[i] = inverse_of(s->row[i]);
    for (int32_t e = q->in_at[i]; e < q->in_at[i + 1]; e++) s->pull[e] *= inverse_gain;
  }
}

/* ---- checks ---- */

typedef struct watch {
  int32_t checks, marked;   /* checks done; at the last mark */
  double at_mark;           /* gap of the iterate then */
  int32_t improved;         /* check of the last real improvement */
  double gap;               /* then */
} watch;

static void certify_average(entropic *s, berth_i_lp_point *pt) {
  const berth_i_lp_problem *q = s->q;
  double each = 1.0 / s->averaged;
  for (int32_t e = 0; e < q->m; e++) s->trial[e] = s->sum_y[e] * each;
  berth_i_lp_upper(q, s->trial, s->scratch, pt);
  for (int32_t e = 0; e < q->m; e++) s->trial[e] = s->sum_flow[e] * each;
  for (int32_t i = 0; i < q->n; i++) s->sum[i] = s->sum_potential[i] * each;
  berth_i_lp_lower(q, s->trial, s->sum_ends, s->sum, s->scratch, pt);
}

/* @return gap of this iterate, not of the best */
static double certify(entropic *s, berth_i_lp_point *pt) {
  const berth_i_lp_problem *q = s->q;
  if (q->m > 0) memcpy(s->trial, s->y, (size_t)q->m * sizeof *s->trial);
  double upper = berth_i_lp_upper(q, s->trial, s->scratch, pt);
  for (int32_t j = 0; j < q->n; j++) s->sum[j] = s->col[j] * s->heat[s->part_in[j]];
  double lower = berth_i_lp_lower(q, s->share, s->ends, s->sum, s->scratch, pt);
  return (upper - lower) / fmax(lower, pt->lower);
}

/* @return true: go on */
static bool check(entropic *s, watch *w, double gap, double entropy, berth_i_lp_point *pt) {
  /* 1. Bounds of the iterate and of the average. */
  double current = certify(s, pt);
  certify_average(s, pt);
  if (s->averaged >= WINDOW * s->step) berth_i_lp_entropic_forget(s);
  /* 2. Ends when the gap is reached, or has not fallen by 2 % for long. */
  double best = berth_i_lp_gap(pt);
  w->checks++;
  if (best <= gap) return false;
  if (best < 0.98 * w->gap) {
    w->gap = best;
    w->improved = w->checks;
  }
  if (w->checks - w->improved > MOST_STALLED) return false;
  /* 3. Less smoothing when the gap has come down to it; shorter steps when it does not come
   * down. */
  bool lowered = current <= 1.3 * s->smoothing,
       marked = lowered || CHECK_EVERY * (w->checks - w->marked) >= 3 * s->step;
  if (lowered) s->smoothing *= 0.85;
  else if (marked && current > 0.9 * w->at_mark) s->bias *= 1.2;
  if (marked) {
    w->marked = w->checks;
    w->at_mark = current;
  }
  /* 4. Temperatures that fit the smoothing. */
  if (marked || w->checks <= WARM_CHECKS || w->checks % RETUNE_EVERY == 0)
    retune(s, (pt->upper + pt->lower) / 2, entropy);
  return true;
}

/* ---- the solver ---- */

/* Longest path by number of edges, or, with op times, by time with full c. @param sum [n]
 * scratch */
static double longest(entropic *s, bool timed) {
  const berth_i_lp_problem *q = s->q;
  double most = 0;
  for (int32_t j = 0; j < q->n; j++) {
    double x = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++)
      x = fmax(x, s->sum[q->tail[e]] + (timed ? q->c[e] : 1));
    s->sum[j] = x + (timed ? q->p[j] : 0);
    most = fmax(most, s->sum[j]);
  }
  return most;
}

static void begin(entropic *s) {
  const berth_i_lp_problem *q = s->q;
  double value = q->floor > 0 ? q->floor : longest(s, true);
  for (int32_t i = 0; i < q->n; i++) {
    if (q->out_at[i] == q->out_at[i + 1]) s->sink[s->n_sinks++] = i;
    s->row_inverse[i] = s->col_inverse[i] = s->row_fitted[i] = s->col_fitted[i] = 1;
  }
  s->step = 10;
  s->bias = 1;
  s->smoothing = FIRST_SMOOTHING;
  s->tau = s->smoothing * value / (0.7 * (longest(s, false) + 1));
  /* the first matching: y = 1 / (competitors on the more crowded side) */
  for (int32_t e = 0; e < q->m; e++) {
    int32_t i = q->tail[e], j = q->head[e];
    int32_t crowd = q->out_at[i + 1] - q->out_at[i], in = q->in_at[j + 1] - q->in_at[j];
    if (in > crowd) crowd = in;
    s->y[e] = s->last_y[e] = q->c[e] > 0 ? 1.0 / crowd : 0;
    s->pull[e] = s->log_y[e] = q->c[e] > 0 ? -berth_i_lp_log(crowd) : 0;
    s->length[e] = q->c[e] * (1 - s->y[e]) / s->tau;
  }
  /* the flow that answers it, and heats by that flow */
  berth_i_lp_entropic_flow(s);
  double budget = 0.5 * s->smoothing * value, all = measure_gains(s);
  for (int32_t k = 0; k < s->n_parts; k++) s->heat[k] = heat_for(s, k, budget, all > 0 ? all : 1);
}

static berth_status run(entropic *s, double gap, int32_t iterations, berth_i_lp_point *pt) {
  watch w = { 0, 0, INFINITY, 0, INFINITY };
  berth_status st = BERTH_OK;
  bool on = true;
  begin(s);
  for (pt->iterations = 0; on && pt->iterations < iterations && st == BERTH_OK;) {
    double entropy = berth_i_lp_entropic_step(s);
    pt->iterations++;
    if (pt->iterations % CHECK_EVERY != 0 && pt->iterations < iterations) continue;
    on = check(s, &w, gap, entropy, pt);
    berth_i_progress(s->q->ctx, "favourites", fmin(1, gap / fmax(berth_i_lp_gap(pt), 1e-300)));
    st = berth_i_interrupted(s->q->ctx);
  }
  return st;
}

berth_status berth_i_lp_entropic(const berth_i_lp_problem *q, double gap, int32_t iterations,
                                 berth_i_lp_point *pt) {
  if (q->m == 0) {
    pt->upper = pt->lower = q->floor;
    return BERTH_OK;
  }
  entropic s;
  berth_status st = berth_i_lp_entropic_init(q, &s);
  if (st == BERTH_OK) st = run(&s, gap, iterations > 0 ? iterations : ITERATIONS, pt);
  berth_i_pool_free(&s.pool);
  return st;
}
