/* The linear program of favourite children: options, choice of method, and the solution for all
 * pairs. Steps: distinct pairs (pairs.c), a smaller equivalent program (reduce.c), one of two
 * solvers or both in turn (entropic.c, interior.c), and y and flow of the pairs that the reduction
 * decided. Invariant: upper and lower are certified on the whole graph, whatever a solver returns.
 * Source: Hanen, Munier 1995; Jeon et al., Baechi, 2020; the matching form and its dual are derived
 * in berth/lp.h. */
#include "solution_internal.h"

/* Where the methods cross, as measured on layered graphs of 1,000 to 100,000 ops and on graphs of
 * neural networks. */
enum {
  COLD_NODES = 10000,       /* from here on entropic steps are the cheaper start, and a factor is
                               worth it only behind them */
  FIRST_ITERATIONS = 150    /* entropic, before the interior point takes over */
};
#define COLD_FLOPS 1e7      /* for one factorisation: it takes about as long as the entropic steps
                               that it replaces */
#define CROWDED 1.6         /* edges a node: from here on entropic steps reach an easy gap before a
                               factorisation is analysed */
#define EASY_GAP 0.01
#define LEAST_GAP 1e-9

berth_lp_options berth_lp_default(void) {
  berth_lp_options o = { BERTH_LP_MEAN, BERTH_LP_AUTO, EASY_GAP, 0 };
  return o;
}

static void set_defaults(void *out) { *(berth_lp_options *)out = berth_lp_default(); }

static const berth_choice *const times[] = {
  BERTH_I_CHOICE("mean", "Means over the devices and over the pairs of devices."),
  BERTH_I_CHOICE("least", "The least over the devices, and over the pairs of devices."),
  NULL
};
static const berth_choice *const methods[] = {
  BERTH_I_CHOICE("auto", "By the size of the program."),
  BERTH_I_CHOICE("entropic", "Entropic steps alone."),
  BERTH_I_CHOICE("interior", "The interior point alone."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_lp_options, name, kind)

const berth_option_table *berth_lp_option_table(void) {
  static const berth_option options[] = {
    { FIELD(times, CHOICE), .choices = times, .text = "op and transfer times of the program" },
    { FIELD(method, CHOICE), .choices = methods, .text = "how it is solved" },
    { FIELD(gap, NUMBER), .low = LEAST_GAP, .text = "relative gap to which it is solved" },
    { FIELD(iterations, WHOLE), .fallback = "the method's own",
      .text = "iterations of each method at most" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("lp", options, berth_lp_options, set_defaults);
}

/* ---- choice of method ---- */

typedef struct solver {
  const berth_i_lp_problem *q;
  const berth_lp_options *o;
  berth_i_lp_point *pt;
  berth_lp_summary *sum;
} solver;

static bool done(const solver *s) { return berth_i_lp_gap(s->pt) <= s->o->gap; }

static berth_status entropic(const solver *s, double gap, int32_t iterations) {
  berth_status st = berth_i_lp_entropic(s->q, gap, iterations, s->pt);
  s->sum->entropic += s->pt->iterations;
  return st;
}

/* @param unable out: the factor would be too large; then nothing was done */
static berth_status interior(const solver *s, bool warm, bool *unable) {
  berth_status st = berth_i_lp_interior(s->q, s->o->gap, s->o->iterations, warm, s->pt);
  *unable = st == BERTH_EUNSUPPORTED;
  if (*unable) return BERTH_OK;
  s->sum->interior += s->pt->iterations;
  return st;
}

/* @param flops out: INFINITY: no factor */
static berth_status price_interior(const solver *s, double *flops) {
  berth_status st = berth_i_lp_interior_cost(s->q, flops);
  if (st != BERTH_EUNSUPPORTED) return st;
  *flops = INFINITY;
  return BERTH_OK;
}

static berth_status solve_entropic(const solver *s) {
  return entropic(s, s->o->gap, s->o->iterations);
}

/* To an easy gap, then an interior point from there; where there is no factor or it does not get
 * there, more of the same.
 * @param first iterations of the first part; 0: the method's own limit */
static berth_status solve_in_turn(const solver *s, double easy, int32_t first) {
  berth_status st =
      entropic(s, fmax(s->o->gap, easy), s->o->iterations > 0 ? s->o->iterations : first);
  if (st != BERTH_OK || done(s)) return st;
  bool unable;
  st = interior(s, true, &unable);
  if (st != BERTH_OK || done(s) || s->o->iterations > 0 || (first == 0 && s->o->gap >= easy))
    return st;
  return solve_entropic(s);
}

/* Cold where that works, else from where a few entropic steps lead. */
static berth_status solve_interior(const solver *s) {
  double from = fmax(EASY_GAP, 4 * s->o->gap);
  if (s->q->n > COLD_NODES) return solve_in_turn(s, from, 0);
  bool unable;
  berth_status st = interior(s, false, &unable);
  if (st != BERTH_OK || done(s) || (s->o->iterations > 0 && !unable)) return st;
  return unable ? solve_entropic(s) : solve_in_turn(s, from, 0);
}

static berth_status solve_auto(const solver *s) {
  bool easy = s->o->gap >= EASY_GAP && s->q->m > CROWDED * s->q->n;
  if (easy || s->q->n > COLD_NODES) return solve_in_turn(s, EASY_GAP, FIRST_ITERATIONS);
  double flops;
  berth_status st;
  if ((st = price_interior(s, &flops)) != BERTH_OK) return st;
  return flops <= COLD_FLOPS ? solve_interior(s) : solve_in_turn(s, EASY_GAP, FIRST_ITERATIONS);
}

static berth_status solve(const solver *s) {
  if (s->q->m == 0) {
    s->pt->upper = s->pt->lower;
    return BERTH_OK;
  }
  if (s->o->method == BERTH_LP_ENTROPIC) return solve_entropic(s);
  return s->o->method == BERTH_LP_INTERIOR ? solve_interior(s) : solve_auto(s);
}

/* ---- back to all pairs ---- */

/* What flows through a node: on one side all of it runs on edges, unless a path starts or ends
 * there. @param node [nodes] out */
static void node_flows(const berth_i_lp_problem *q, const double *flow, double *node) {
  for (int32_t i = 0; i < q->n; i++) {
    double in = 0, out = 0;
    for (int32_t k = q->in_at[i]; k < q->in_at[i + 1]; k++) in += flow[k];
    for (int32_t k = q->out_at[i]; k < q->out_at[i + 1]; k++) out += flow[q->out[k]];
    node[i] = fmax(in, out);
  }
}

/* @param node [nodes] */
static void map_back(const berth_i_lp_pairs *a, const berth_i_lp_reduced *r,
                     const berth_i_lp_point *pt, const double *node, berth_lp *lp) {
  for (int32_t e = 0; e < a->m; e++) {
    int32_t edge = r->edge[e], at = r->node[a->src[e]];
    lp->y[e] = r->fate[e] == BERTH_I_LP_EDGE ? pt->y[edge]
                                             : r->fate[e] != BERTH_I_LP_DROPPED && a->c[e] > 0;
    lp->flow[e] = edge != BERTH_NONE                                    ? pt->flow[edge]
                  : r->fate[e] == BERTH_I_LP_MERGED && at != BERTH_NONE ? node[at]
                                                                        : 0;
  }
}

/* The flow that proves the floor: all along one longest path without c. @param after levels without
 * c */
static void flow_on_longest(const berth_i_lp_pairs *a, const double *after, double *flow) {
  int32_t op = 0;
  for (int32_t k = 0; k < a->m; k++) flow[k] = 0;
  for (int32_t i = 1; i < a->n; i++) {
    if (after[i] > after[op]) op = i;
  }
  while (a->out_at[op] < a->out_at[op + 1]) {
    int32_t best = a->out_at[op];
    for (int32_t k = best + 1; k < a->out_at[op + 1]; k++) {
      if (after[a->dst[k]] > after[a->dst[best]]) best = k;
    }
    flow[best] = 1;
    op = a->dst[best];
  }
}

/* The longest path under y in the whole graph, independent of the solvers. @param left [m]
 * scratch */
static double whole_upper(const berth_i_lp_pairs *a, const berth_lp *lp, double *left,
                          double *before, double *after) {
  for (int32_t e = 0; e < a->m; e++) left[e] = a->c[e] * (1 - lp->y[e]);
  return berth_i_lp_pair_levels(a, left, NULL, before, after);
}

static double largest_c_to_least_p(const berth_i_lp_pairs *a) {
  double c = 0, p = INFINITY;
  for (int32_t i = 0; i < a->m; i++) c = fmax(c, a->c[i]);
  for (int32_t i = 0; i < a->n; i++) p = fmin(p, a->p[i]);
  if (c == 0) return 0;
  return p > 0 ? c / p : INFINITY;
}

static void fill(const berth_i_lp_pairs *a, berth_i_lp_reduced *r, const berth_i_lp_point *pt,
                 const double *node, double gap, berth_lp *lp) {
  berth_lp_summary *s = &lp->summary;
  size_t bytes = (size_t)a->m * sizeof(int32_t);
  map_back(a, r, pt, node, lp);
  if (!(pt->lower > r->q.floor)) {
    berth_i_lp_pair_levels(a, NULL, NULL, r->before, r->after);
    flow_on_longest(a, r->after, lp->flow);
  }
  s->upper = whole_upper(a, lp, lp->through, r->before, r->after);
  s->lower = fmin(pt->lower, s->upper);
  s->gap = s->lower > 0 ? (s->upper - s->lower) / s->lower : 0;
  s->reached = s->lower > 0 ? s->gap <= gap : s->upper == 0;
  s->ops = r->q.n;
  s->edges = r->q.m;
  s->rho = largest_c_to_least_p(a);
  berth_i_lp_pair_levels(a, a->c, NULL, r->before, r->after);
  berth_i_lp_through(a, r->before, r->after, lp->through);
  if (bytes == 0) return;
  memcpy(lp->src, a->src, bytes);
  memcpy(lp->dst, a->dst, bytes);
  memcpy(lp->c, a->c, (size_t)a->m * sizeof *lp->c);
}

/* ---- object ---- */

void berth_lp_retain(berth_lp *lp) { lp->refs++; }

void berth_lp_release(berth_lp *lp) {
  if (!lp || --lp->refs > 0) return;
  berth_ctx *ctx;
  ctx = lp->ctx;
  berth_i_pool_free(&lp->pool);
  berth_ctx_release(ctx);
}

static berth_status make(const berth_i_lp_pairs *a, berth_lp **out) {
  size_t m = (size_t)a->m;
  berth_lp *lp = berth_i_pool_object(a->ctx, sizeof *lp);
  if (!lp) return berth_i_nomem(a->ctx);
  *out = lp;
  lp->ctx = a->ctx;
  lp->refs = 1;
  lp->n = a->n;
  lp->m = a->m;
  berth_ctx_retain(a->ctx);
  lp->src = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->src);
  lp->dst = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->dst);
  lp->c = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->c);
  lp->y = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->y);
  lp->flow = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->flow);
  lp->through = berth_i_pool_alloc(&lp->pool, m, sizeof *lp->through);
  return berth_i_pool_status(&lp->pool);
}

static berth_status solve_pairs(const berth_i_lp_pairs *a, const berth_lp_options *o,
                                berth_lp *lp) {
  berth_i_lp_reduced r;
  double *node = NULL;
  berth_status st = berth_i_lp_reduce(a, &r);
  if (st != BERTH_OK) return st;
  berth_i_lp_point pt;
  st = berth_i_lp_point_init(a->ctx, &r.q, &pt);
  if (st == BERTH_OK && !(node = berth_i_pool_alloc(&pt.pool, (size_t)r.q.n, sizeof *node)))
    st = berth_i_nomem(a->ctx);
  if (st == BERTH_OK) st = solve(&(solver){ &r.q, o, &pt, &lp->summary });
  if (st == BERTH_OK) {
    node_flows(&r.q, pt.flow, node);
    fill(a, &r, &pt, node, o->gap, lp);
  }
  berth_i_pool_free(&pt.pool);
  berth_i_pool_free(&r.pool);
  return st;
}

berth_status berth_lp_solve(berth_cost *cost, const berth_lp_options *opts, berth_lp **out) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_lp_options o = opts ? *opts : berth_lp_default();
  berth_i_lp_pairs a;
  berth_lp *lp = NULL;
  berth_status st = berth_options_check(cost->ctx, berth_lp_option_table(), &o);
  if (st == BERTH_OK) st = berth_i_lp_pairs_init(cost, o.times, &a);
  if (st != BERTH_OK) return st;
  st = make(&a, &lp);
  if (st == BERTH_OK) st = solve_pairs(&a, &o, lp);
  berth_i_pool_free(&a.pool);
  if (st == BERTH_OK) *out = lp;
  else berth_lp_release(lp);
  return st;
}

const berth_lp_summary *berth_lp_get(const berth_lp *lp) { return &lp->summary; }

int32_t berth_lp_edges(const berth_lp *lp, const int32_t **src, const int32_t **dst,
                       const double **c, const double **y, const double **flow) {
  if (src) *src = lp->src;
  if (dst) *dst = lp->dst;
  if (c) *c = lp->c;
  if (y) *y = lp->y;
  if (flow) *flow = lp->flow;
  return lp->m;
}
