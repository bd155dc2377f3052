/* Interior-point solver of the favourite-child LP: Mehrotra's predictor-corrector on the
 * formulation of interior_internal.h, with Gondzio's centrality correctors.
 * Invariant: all true pairs are positive; each iterate is certified by sums over the graph
 * (check.c), so that nothing depends on the accuracy of the factor. One factorisation and two to
 * five solutions an iteration.
 * Sources: S. Mehrotra, "On the implementation of a primal-dual interior point method", 1992;
 * J. Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming",
 * 1996. */
#include "interior_internal.h"

#define MOST_FLOPS 5e9
#define MOST_BYTES 1e9
enum { MOST_ITERATIONS = 200, MOST_STALLED = 10, CORRECTORS = 3 };
#define TO_THE_BOUNDARY 0.98
#define ROUNDING 1e-17 /* a gap of the scaled problem below it is none */
/* Of centrality correctors: steps aimed at beyond the present, steps that need none, gain that
 * justifies the next. */
#define LONGER 0.3
#define ENOUGH 0.9
#define WORTH 0.03

typedef struct solver {
  berth_i_pool pool;
  const berth_i_lp_problem *q;
  berth_i_lp_point *pt;
  berth_i_lp_model a;
  berth_i_lp_system s;
  int32_t pairs, true_pairs;
  double *primal, *dual, *ratio;            /* [pairs] */
  double *d_primal, *d_dual, *target;       /* [pairs] direction; products aimed at */
  double *e_primal, *e_dual;                /* [pairs] the direction before */
  double *goal;                             /* [pairs] target / primal */
  double *x;                                /* [unknowns] */
  double *y, *weight;                       /* [m] of the problem */
  double *v, *ends;                         /* [n] */
  double *scratch;                          /* [m + 3 n] */
} solver;

/* One block: fifteen would take a third more page faults. */
static berth_status make_room(solver *s) {
  size_t n = (size_t)s->q->n, m = (size_t)s->q->m, pairs = (size_t)berth_i_lp_pairs(&s->a),
         unknowns = (size_t)s->s.n;
  double **of_pairs[] = { &s->primal, &s->dual,     &s->ratio,  &s->d_primal, &s->d_dual,
                          &s->target, &s->e_primal, &s->e_dual, &s->goal };
  double *rest = berth_i_pool_zalloc(&s->pool, 9 * pairs + unknowns + 3 * m + 5 * n, sizeof *rest);
  if (!rest) return berth_i_nomem(s->q->ctx);
  s->pairs = (int32_t)pairs;
  s->true_pairs = berth_i_lp_true_pairs(&s->a);
  for (int i = 0; i < 9; i++, rest += pairs) *of_pairs[i] = rest;
  s->x = rest;
  s->y = s->x + unknowns;
  s->weight = s->y + m;
  s->v = s->weight + m;
  s->ends = s->v + n;
  s->scratch = s->ends + n;
  return BERTH_OK;
}

/* What an iterate proves: both bounds, kept if they are better. */
static void certify(solver *s) {
  const berth_i_lp_model *a = &s->a;
  const double *y = s->primal + a->arcs + a->rows, *alpha = s->dual + a->arcs;
  int32_t n = s->q->n;
  for (int32_t e = 0; e < s->q->m; e++) s->y[e] = a->fixed[e], s->weight[e] = 0;
  for (int32_t v = 0; v < a->matchable; v++) s->y[a->edge[a->arc[v]]] = y[v];
  berth_i_lp_upper(s->q, s->y, s->scratch, s->pt);
  for (int32_t i = 0; i < n; i++) s->ends[i] = s->v[i] = 0;
  for (int32_t k = 0; k < a->arcs; k++) {
    if (k < a->edges) s->weight[a->edge[k]] = s->dual[k];
    else if (a->to[k] == n) s->ends[a->from[k]] = s->dual[k];
  }
  for (int32_t r = 0; r < a->rows; r++) {
    if (a->side[r] >= n) s->v[a->side[r] - n] = alpha[r] * a->scale;
  }
  berth_i_lp_lower(s->q, s->weight, s->ends, s->v, s->scratch, s->pt);
}

/* ---- one iteration ---- */

typedef struct steps {
  double primal, dual;
} steps;

static double mean_product(const solver *s, steps t) {
  double sum = 0;
  for (int32_t k = 0; k < s->true_pairs; k++)
    sum += (s->primal[k] + t.primal * s->d_primal[k]) * (s->dual[k] + t.dual * s->d_dual[k]);
  return sum / s->true_pairs;
}

/* The longest steps, at most 1, that keep all pairs >= 0. */
static steps longest_steps(const solver *s) {
  steps t = { 1, 1 };
  for (int32_t k = 0; k < s->true_pairs; k++) {
    if (s->primal[k] + t.primal * s->d_primal[k] < 0) t.primal = -s->primal[k] / s->d_primal[k];
    if (s->dual[k] + t.dual * s->d_dual[k] < 0) t.dual = -s->dual[k] / s->d_dual[k];
  }
  return t;
}

/* Towards products equal to target. Duals need not be feasible: the equations lead to those that
 * are. */
static berth_status find_direction(solver *s) {
  for (int32_t k = 0; k < s->true_pairs; k++) s->goal[k] = s->target[k] / s->primal[k];
  berth_i_lp_backward(&s->a, s->goal, s->s.rhs);
  s->s.rhs[s->q->n] -= 1;
  berth_status st;
  if ((st = berth_i_lp_system_solve(&s->s, s->x)) != BERTH_OK) return st;
  berth_i_lp_forward(&s->a, s->x, s->d_primal);
  for (int32_t k = 0; k < s->true_pairs; k++)
    s->d_dual[k] = s->goal[k] - s->dual[k] - s->ratio[k] * s->d_primal[k];
  return BERTH_OK;
}

static void swap(double **a, double **b) {
  double *kept = *a;
  *a = *b;
  *b = kept;
}

/* Gondzio's correctors: products after steps somewhat longer than the present ones are brought
 * near to aim, with the same factor, as long as each lengthens the steps. */
static berth_status centre(solver *s, double aim, steps *now) {
  for (int32_t i = 0; i < CORRECTORS && fmin(now->primal, now->dual) < ENOUGH; i++) {
    double p = fmin(1, now->primal + LONGER), d = fmin(1, now->dual + LONGER), low = 0.1 * aim,
           high = 10 * aim;
    for (int32_t k = 0; k < s->true_pairs; k++) {
      double product = (s->primal[k] + p * s->d_primal[k]) * (s->dual[k] + d * s->d_dual[k]);
      if (product < low) s->target[k] += low - product;
      else if (product > high) s->target[k] += fmax(high - product, -high);
    }
    swap(&s->d_primal, &s->e_primal), swap(&s->d_dual, &s->e_dual);
    berth_status st;
    if ((st = find_direction(s)) != BERTH_OK) return st;
    steps then = longest_steps(s);
    if (then.primal + then.dual < now->primal + now->dual + WORTH) {
      swap(&s->d_primal, &s->e_primal), swap(&s->d_dual, &s->e_dual);
      break;
    }
    *now = then;
  }
  return BERTH_OK;
}

/* @param moved  out: false if there is no way on */
static berth_status iterate(solver *s, bool *moved) {
  double mu = mean_product(s, (steps){ 0, 0 });
  *moved = false;
  if (!(mu * s->true_pairs > ROUNDING) || isinf(mu)) return BERTH_OK;
  berth_status st;
  for (int32_t k = 0; k < s->true_pairs; k++) s->ratio[k] = s->dual[k] / s->primal[k];
  if ((st = berth_i_lp_system_factor(&s->s, s->ratio, moved)) != BERTH_OK || !*moved) return st;
  /* predictor: towards products of 0 */
  memset(s->target, 0, (size_t)s->pairs * sizeof *s->target);
  if ((st = find_direction(s)) != BERTH_OK) return st;
  /* corrector: what the predictor leaves of mu, cubed, is aimed at, less its second-order term */
  double ratio = fmin(mean_product(s, longest_steps(s)) / mu, 1), aim = ratio * ratio * ratio * mu;
  for (int32_t k = 0; k < s->true_pairs; k++) s->target[k] = aim - s->d_primal[k] * s->d_dual[k];
  if ((st = find_direction(s)) != BERTH_OK) return st;
  /* centrality correctors, then the step */
  steps step = longest_steps(s);
  if ((st = centre(s, aim, &step)) != BERTH_OK) return st;
  for (int32_t k = 0; k < s->pairs; k++)
    s->primal[k] += TO_THE_BOUNDARY * step.primal * s->d_primal[k];
  for (int32_t k = 0; k < s->true_pairs; k++)
    s->dual[k] += TO_THE_BOUNDARY * step.dual * s->d_dual[k];
  *moved = fmax(step.primal, step.dual) > 1e-6;
  return BERTH_OK;
}

/* ---- the whole ---- */

static berth_status run(solver *s, double gap, int32_t iterations) {
  double best = INFINITY;
  int32_t since = 0;
  bool moved = true;
  certify(s);
  berth_status st;
  while (moved && s->pt->iterations < iterations && since < MOST_STALLED
         && berth_i_lp_gap(s->pt) > gap) {
    if ((st = berth_i_interrupted(s->q->ctx)) != BERTH_OK) return st;
    if ((st = iterate(s, &moved)) != BERTH_OK) return st;
    certify(s);
    s->pt->iterations++;
    since = berth_i_lp_gap(s->pt) < 0.99 * best ? 0 : since + 1;
    best = fmin(best, berth_i_lp_gap(s->pt));
  }
  return BERTH_OK;
}

static berth_status open_solver(const berth_i_lp_problem *q, solver *s) {
  *s = (solver){ .pool = berth_i_pool_empty(q->ctx), .q = q };
  berth_status st = berth_i_lp_model_init(q, &s->pool, &s->a);
  return st == BERTH_OK ? berth_i_lp_system_init(&s->a, &s->s) : st;
}

static void close_solver(solver *s) {
  berth_i_cholesky_release(s->s.factor);
  berth_i_pool_free(&s->pool);
}

berth_status berth_i_lp_interior(const berth_i_lp_problem *q, double gap, int32_t iterations,
                                 bool warm, berth_i_lp_point *pt) {
  pt->iterations = 0;
  if (q->n == 0) {
    pt->upper = pt->lower = q->floor;
    return BERTH_OK;
  }
  solver s;
  berth_status st;
  if ((st = open_solver(q, &s)) != BERTH_OK) goto done;
  berth_i_cholesky_cost cost = berth_i_cholesky_price(s.s.factor);
  if (!(cost.flops <= MOST_FLOPS && cost.bytes <= MOST_BYTES)) {
    st = berth_i_fail(q->ctx, BERTH_EUNSUPPORTED,
                      "favourite-child LP: a factor of %.3g bytes and %.3g operations is above "
                      "the limits, %.3g and %.3g",
                      cost.bytes, cost.flops, MOST_BYTES, MOST_FLOPS);
    goto done;
  }
  if ((st = make_room(&s)) != BERTH_OK) goto done;
  s.pt = pt;
  if (warm) berth_i_lp_warm_start(&s.a, pt, s.x, s.primal, s.dual);
  else berth_i_lp_cold_start(&s.a, s.x, s.primal, s.dual);
  st = run(&s, gap, iterations > 0 ? iterations : MOST_ITERATIONS);
done:
  close_solver(&s);
  return st;
}

berth_status berth_i_lp_interior_cost(const berth_i_lp_problem *q, double *flops) {
  if (q->n == 0) {
    *flops = 0;
    return BERTH_OK;
  }
  solver s;
  berth_status st;
  if ((st = open_solver(q, &s)) == BERTH_OK) *flops = berth_i_cholesky_price(s.s.factor).flops;
  close_solver(&s);
  return st;
}
