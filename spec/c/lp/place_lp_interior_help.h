/* Problems of the favourite-child LP for tests of the interior-point solver, and checks of its
 * certificates. */
#ifndef BERTH_PLACE_LP_INTERIOR_HELP_H
#define BERTH_PLACE_LP_INTERIOR_HELP_H

#include "lp/lp_internal.h"
#include "must.h"

/* ---- problems ---- */

typedef struct lp_edge {
  int32_t tail, head;
  double c;
} lp_edge;

static int by_head(const void *a, const void *b) {
  const lp_edge *x = a, *y = b;
  return x->head != y->head ? (x->head < y->head ? -1 : 1)
                            : (x->tail > y->tail) - (x->tail < y->tail);
}

static void free_problem(berth_i_lp_problem *q) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  berth_i_free(q->ctx, q->p, n, sizeof *q->p);
  berth_i_free(q->ctx, q->tail, m, sizeof *q->tail);
  berth_i_free(q->ctx, q->head, m, sizeof *q->head);
  berth_i_free(q->ctx, q->c, m, sizeof *q->c);
  berth_i_free(q->ctx, q->in_at, n + 1, sizeof *q->in_at);
  berth_i_free(q->ctx, q->out_at, n + 1, sizeof *q->out_at);
  berth_i_free(q->ctx, q->out, m, sizeof *q->out);
}

static double bare_length(const berth_i_lp_problem *q, double *end) {
  double most = 0;
  for (int32_t j = 0; j < q->n; j++) {
    end[j] = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) end[j] = fmax(end[j], end[q->tail[e]]);
    end[j] += q->p[j];
    most = fmax(most, end[j]);
  }
  return most;
}

static void fill(berth_i_lp_problem *q, const double *p, const lp_edge *edge, int32_t *next,
                 double *end) {
  for (int32_t i = 0; i < q->n; i++) q->p[i] = p[i];
  for (int32_t e = 0; e < q->m; e++) {
    q->tail[e] = edge[e].tail;
    q->head[e] = edge[e].head;
    q->c[e] = edge[e].c;
    q->in_at[q->head[e] + 1]++;
    q->out_at[q->tail[e] + 1]++;
  }
  for (int32_t i = 0; i < q->n; i++) {
    q->in_at[i + 1] += q->in_at[i];
    q->out_at[i + 1] += q->out_at[i];
    next[i] = q->out_at[i];
  }
  for (int32_t e = 0; e < q->m; e++) q->out[next[q->tail[e]]++] = e;
  q->floor = bare_length(q, end);
}

/* Edges are sorted in place; a pair that comes twice is not expected. */
static berth_status make_problem(int32_t n, const double *p, int32_t m, lp_edge *edge,
                                 berth_i_lp_problem *q) {
  int32_t *next = malloc(sizeof *next * (size_t)(n + 1));
  double *end = malloc(sizeof *end * (size_t)(n + 1));
  size_t nodes = (size_t)n, edges = (size_t)m;
  berth_status st = BERTH_ENOMEM;
  qsort(edge, edges, sizeof *edge, by_head);
  memset(q, 0, sizeof *q);
  q->ctx = ctx;
  q->n = n;
  q->m = m;
  if ((q->p = berth_i_alloc(ctx, nodes, sizeof *q->p))
      && (q->tail = berth_i_alloc(ctx, edges, sizeof *q->tail))
      && (q->head = berth_i_alloc(ctx, edges, sizeof *q->head))
      && (q->c = berth_i_alloc(ctx, edges, sizeof *q->c))
      && (q->in_at = berth_i_zalloc(ctx, nodes + 1, sizeof *q->in_at))
      && (q->out_at = berth_i_zalloc(ctx, nodes + 1, sizeof *q->out_at))
      && (q->out = berth_i_alloc(ctx, edges, sizeof *q->out)))
    st = BERTH_OK;
  if (st == BERTH_OK) fill(q, p, edge, next, end);
  RELEASE(next, end);
  return st;
}

typedef struct lp_draft {
  int32_t n, m;
  double p[2000];
  lp_edge edge[8000];
} lp_draft;

static void draft_edge(lp_draft *d, int32_t tail, int32_t head, double c) {
  d->edge[d->m++] = (lp_edge){ tail, head, c };
}

static double between(berth_rng *rng, double low, double high) {
  return low + (high - low) * berth_rng_uniform(rng);
}

typedef enum edge_taste { EVEN, HEAVY, COSTLY, GAPPY } edge_taste; /* of c and p */

static double draw_c(berth_rng *rng, edge_taste taste) {
  if (taste == HEAVY) return exp(1.5 * berth_rng_normal(rng));
  if (taste == COSTLY) return between(rng, 0, 100);
  if (taste == GAPPY && berth_rng_below(rng, 3) == 0) return 0;
  return between(rng, 0, 5);
}

static double draw_p(berth_rng *rng, edge_taste taste) {
  return taste == GAPPY && berth_rng_below(rng, 3) == 0 ? 0 : between(rng, 0, 10);
}

/* Every pair within `reach` is an edge with the given probability. */
static void draft_random(lp_draft *d, berth_rng *rng, int32_t n, int32_t reach, double share,
                         edge_taste taste) {
  *d = (lp_draft){ .n = n };
  for (int32_t j = 0; j < n; j++) {
    d->p[j] = draw_p(rng, taste);
    for (int32_t i = j > reach ? j - reach : 0; i < j; i++) {
      if (berth_rng_uniform(rng) < share) draft_edge(d, i, j, draw_c(rng, taste));
    }
  }
}

static void draft_layers(lp_draft *d, berth_rng *rng, int32_t layers, int32_t width,
                         int32_t parents, edge_taste taste) {
  *d = (lp_draft){ .n = layers * width };
  int32_t before[1000];
  for (int32_t v = 0; v < d->n; v++) {
    d->p[v] = draw_p(rng, taste);
    if (v < width) continue;
    for (int32_t k = 0; k < width; k++) before[k] = (v / width - 1) * width + k;
    berth_rng_shuffle(rng, before, width);
    for (int32_t k = 0; k < parents; k++) draft_edge(d, before[k], v, draw_c(rng, taste));
  }
}

static void draft_fork_join(lp_draft *d, berth_rng *rng, int32_t branches) {
  *d = (lp_draft){ .n = branches + 2 };
  for (int32_t k = 0; k < d->n; k++) d->p[k] = draw_p(rng, EVEN);
  for (int32_t k = 1; k <= branches; k++) {
    draft_edge(d, 0, k, draw_c(rng, EVEN));
    draft_edge(d, k, branches + 1, draw_c(rng, EVEN));
  }
}

/* ---- certificates ---- */

/* The upper bound from y alone. */
static void check_upper(const berth_i_lp_problem *q, const berth_i_lp_point *pt) {
  double *out = calloc((size_t)q->n + 1, sizeof *out), *in = calloc((size_t)q->n + 1, sizeof *in);
  double *end = calloc((size_t)q->n + 1, sizeof *end), most = 0;
  int32_t bad = 0;
  for (int32_t j = 0; j < q->n; j++) {
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++) {
      bad += !(pt->y[e] >= 0);
      out[q->tail[e]] += pt->y[e];
      in[j] += pt->y[e];
      end[j] = fmax(end[j], end[q->tail[e]] + q->c[e] * (1 - pt->y[e]));
    }
    end[j] += q->p[j];
    most = fmax(most, end[j]);
  }
  for (int32_t j = 0; j < q->n; j++) bad += !(out[j] <= 1 + 1e-12) + !(in[j] <= 1 + 1e-12);
  CHECK(bad == 0);
  CHECK_NEAR(pt->upper, most, 1e-12 * most);
  RELEASE(out, in, end);
}

static double longest_alone(const berth_i_lp_problem *q) {
  double most = 0;
  for (int32_t i = 0; i < q->n; i++) {
    if (q->in_at[i] == q->in_at[i + 1] && q->out_at[i] == q->out_at[i + 1])
      most = fmax(most, q->p[i]);
  }
  return most;
}

/* The lower bound from flow, u and v: what no path and no matching can gain on. A bound that is the
 * floor needs no flow; what the edges lack of a unit runs through ops without edges. */
static void check_lower(const berth_i_lp_problem *q, const berth_i_lp_point *pt) {
  double *balance = calloc((size_t)q->n + 1, sizeof *balance), length = 0, begun = 0,
         tol = 1e-12 * (pt->upper + 1e-300);
  int32_t bad = 0;
  for (int32_t e = 0; e < q->m; e++) {
    bad += !(pt->flow[e] >= 0)
           + !(pt->u[q->tail[e]] + pt->v[q->head[e]] >= q->c[e] * pt->flow[e] - tol);
    balance[q->tail[e]] += pt->flow[e];
    length += (q->c[e] + q->p[q->head[e]]) * pt->flow[e];
  }
  for (int32_t e = 0; e < q->m; e++) balance[q->head[e]] -= pt->flow[e];
  for (int32_t i = 0; i < q->n; i++) {
    begun += fmax(balance[i], 0);
    length += fmax(balance[i], 0) * q->p[i] - pt->u[i] - pt->v[i];
    bad += !(pt->u[i] >= 0) + !(pt->v[i] >= 0);
  }
  CHECK(bad == 0);
  if (pt->lower > q->floor * (1 + 1e-12)) {
    CHECK(begun <= 1 + 1e-12);
    CHECK(length + fmax(1 - begun, 0) * longest_alone(q) >= pt->lower - 1e-11 * pt->upper);
  }
  free(balance);
}

/* Solves to `gap` and checks what came out. */
static double solve(const berth_i_lp_problem *q, double gap) {
  berth_i_lp_point pt;
  CHECK_OK(berth_i_lp_point_init(q->ctx, q, &pt));
  CHECK_OK(berth_i_lp_interior(q, gap, 0, false, &pt));
  if (!CHECK(berth_i_lp_gap(&pt) <= gap)) {
    printf("# gap %g, %d iterations, n %d m %d\n", berth_i_lp_gap(&pt), (int)pt.iterations,
           (int)q->n, (int)q->m);
  }
  check_upper(q, &pt);
  check_lower(q, &pt);
  double upper;
  upper = pt.upper;
  berth_i_pool_free(&pt.pool);
  return upper;
}

static double value_of(lp_draft *d, double gap) {
  berth_i_lp_problem q;
  CHECK_OK(make_problem(d->n, d->p, d->m, d->edge, &q));
  double value = solve(&q, gap);
  free_problem(&q);
  return value;
}

#endif
