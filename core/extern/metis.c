/* METIS, wrapped: multilevel k-way graph partitioning. The input is checked here, as METIS crashes
 * on bad input. METIS draws from rand(): calls are made under one mutex with a seeded state, and
 * the caller's state is put back, so that the same seed gives the same parts. Its memory is
 * allocated by malloc. */
#define _XOPEN_SOURCE 700 /* initstate, setstate */
#include "metis_internal.h"
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* ---- METIS does not check its input ---- */

static berth_status bad(berth_ctx *ctx, const char *what) {
  return berth_i_fail(ctx, BERTH_EINVAL, "partition: %s", what);
}

static berth_status check_offsets(berth_ctx *ctx, const berth_i_partition *p) {
  if (p->at[0] != 0) return bad(ctx, "offsets do not begin at 0");
  for (int32_t v = 0; v < p->n; v++) {
    if (p->at[v + 1] < p->at[v]) return bad(ctx, "offsets fall");
  }
  return BERTH_OK;
}

/* Taking vertices in order, and lists being sorted, the mirrors of an edge list come in order too:
 * one cursor per vertex.
 * @param next [n] scratch */
static berth_status check_edges(berth_ctx *ctx, const berth_i_partition *p, int32_t *next) {
  int64_t sum = 0;
  for (int32_t v = 0; v < p->n; v++) next[v] = p->at[v];
  for (int32_t v = 0; v < p->n; v++) {
    for (int32_t i = p->at[v]; i < p->at[v + 1]; i++) {
      int32_t w = p->adjacent[i];
      if (w < 0 || w >= p->n || w == v)
        return bad(ctx, "a neighbour is out of range or the vertex itself");
      if (p->edge_weight[i] < 1) return bad(ctx, "an edge weight is below 1");
      sum += p->edge_weight[i];
      int32_t j = next[w]++;
      if (j >= p->at[w + 1] || p->adjacent[j] != v || p->edge_weight[j] != p->edge_weight[i]) {
        return bad(ctx, "an edge leads one way only, or neighbours are not in order");
      }
    }
  }
  return sum <= INT32_MAX ? BERTH_OK : bad(ctx, "edge weights are too large");
}

static berth_status check_weights(berth_ctx *ctx, const berth_i_partition *p) {
  for (int32_t c = 0; c < p->constraints; c++) {
    int64_t sum = 0;
    for (int32_t v = 0; v < p->n; v++) {
      int32_t w = p->weight[(size_t)v * (size_t)p->constraints + (size_t)c];
      if (w < 0) return bad(ctx, "a vertex weight is negative");
      sum += w;
    }
    if (sum > INT32_MAX) return bad(ctx, "vertex weights are too large");
    if (!(p->slack[c] > 1)) return bad(ctx, "a slack is not above 1");
  }
  return BERTH_OK;
}

static berth_status check_shares(berth_ctx *ctx, const berth_i_partition *p) {
  for (int32_t i = 0; i < p->parts * p->constraints; i++) {
    if (!(p->share[i] > 0 && p->share[i] <= 1)) return bad(ctx, "a share is not in (0, 1]");
  }
  return BERTH_OK;
}

static berth_status check(berth_ctx *ctx, const berth_i_partition *p) {
  if (p->constraints < 1 || p->parts < 2 || p->parts > p->n)
    return bad(ctx, "2 to n parts, 1 constraint at least");
  berth_status st;
  if ((st = check_offsets(ctx, p)) != BERTH_OK) return st;
  int32_t *next;
  if (!(next = berth_i_alloc(ctx, (size_t)p->n, sizeof *next))) return berth_i_nomem(ctx);
  st = check_edges(ctx, p, next);
  berth_i_free(ctx, next, (size_t)p->n, sizeof *next);
  if (st != BERTH_OK) return st;
  if ((st = check_weights(ctx, p)) != BERTH_OK) return st;
  return check_shares(ctx, p);
}

/* ---- calls ---- */

typedef enum method { KWAY, BISECTION } method;

/* The graph, or what is left of it, in METIS's types. */
typedef struct piece {
  berth_i_pool pool;
  idx_t n, constraints, parts;
  idx_t *at, *adjacent, *edge_weight, *weight, *part; /* [n + 1], [m], [m], [n * constraints],
                                                         [n] */
  real_t *share, *slack;                              /* [parts * constraints], [constraints] */
} piece;

static berth_status piece_alloc(berth_ctx *ctx, int32_t n, size_t m, int32_t constraints,
                                int32_t parts, piece *g) {
  size_t k = (size_t)n, c = (size_t)constraints;
  *g = (piece){
    .pool = berth_i_pool_empty(ctx), .n = n, .constraints = constraints, .parts = parts
  };
  g->at = berth_i_pool_zalloc(&g->pool, k + 1, sizeof *g->at);
  g->adjacent = berth_i_pool_alloc(&g->pool, m, sizeof *g->adjacent);
  g->edge_weight = berth_i_pool_alloc(&g->pool, m, sizeof *g->edge_weight);
  g->weight = berth_i_pool_alloc(&g->pool, k * c, sizeof *g->weight);
  g->part = berth_i_pool_zalloc(&g->pool, k, sizeof *g->part);
  g->share = berth_i_pool_alloc(&g->pool, (size_t)parts * c, sizeof *g->share);
  g->slack = berth_i_pool_alloc(&g->pool, c, sizeof *g->slack);
  return berth_i_pool_status(&g->pool);
}

/* METIS passes its seed to srand, where 0 and 1 mean the same. */
static idx_t fold_seed(uint64_t seed) {
  berth_rng rng;
  berth_rng_init(&rng, seed, 0);
  return (idx_t)(2 + berth_rng_below(&rng, INT32_MAX - 2));
}

static int call(piece *g, uint64_t seed, method how) {
  idx_t cut = 0, options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = fold_seed(seed);
  options[METIS_OPTION_NUMBERING] = 0;
  if (how == BISECTION) {
    return METIS_PartGraphRecursive(&g->n, &g->constraints, g->at, g->adjacent, g->weight, NULL,
                                    g->edge_weight, &g->parts, g->share, g->slack, options, &cut,
                                    g->part);
  }
  return METIS_PartGraphKway(&g->n, &g->constraints, g->at, g->adjacent, g->weight, NULL,
                             g->edge_weight, &g->parts, g->share, g->slack, options, &cut, g->part);
}

static berth_status call_alone(berth_ctx *ctx, piece *g, uint64_t seed, method how) {
  char state[128], *before; /* 128: the size of the state that rand() starts with, so that srand
                               gives the usual numbers */
  pthread_mutex_lock(&one_at_a_time);
  before = initstate(1, state, sizeof state);
  int answer = call(g, seed, how);
  if (before) setstate(before);
  pthread_mutex_unlock(&one_at_a_time);
  if (answer == METIS_OK) return BERTH_OK;
  if (answer == METIS_ERROR_MEMORY) return berth_i_nomem(ctx);
  return berth_i_fail(ctx, BERTH_EINVAL, "partition: METIS refused with code %d", answer);
}

/* ---- k-way ---- */

static void copy_ids(const int32_t *from, idx_t *to, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (idx_t)from[i];
}

static void copy_reals(const double *from, real_t *to, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (real_t)from[i];
}

static berth_status by_kway(berth_ctx *ctx, const berth_i_partition *p, int32_t *part) {
  piece g;
  size_t n = (size_t)p->n, c = (size_t)p->constraints, m = (size_t)p->at[p->n];
  berth_status st = piece_alloc(ctx, p->n, m, p->constraints, p->parts, &g);
  if (st != BERTH_OK) goto done;
  copy_ids(p->at, g.at, n + 1);
  copy_ids(p->adjacent, g.adjacent, m);
  copy_ids(p->edge_weight, g.edge_weight, m);
  copy_ids(p->weight, g.weight, n * c);
  copy_reals(p->share, g.share, (size_t)p->parts * c);
  copy_reals(p->slack, g.slack, c);
  if ((st = call_alone(ctx, &g, p->seed, KWAY)) != BERTH_OK) goto done;
  for (int32_t v = 0; v < p->n; v++) part[v] = (int32_t)g.part[v];
done:
  berth_i_pool_free(&g.pool);
  return st;
}

/* ---- bisection of bisections ---- */

typedef struct halving {
  berth_ctx *ctx;
  const berth_i_partition *p;
  int32_t *part, *local;          /* [n]: answer; number in the present piece, BERTH_NONE */
  int32_t *order, *scratch_order; /* [n] vertices, those of one piece side by side */
} halving;

static double share_of(const berth_i_partition *p, int32_t low, int32_t high, int32_t constraint) {
  double sum = 0;
  for (; low < high; low++) sum += p->share[low * p->constraints + constraint];
  return sum;
}

static double slack_of(const berth_i_partition *p, int32_t constraint) {
  int32_t depth = 1;
  while (p->shared && depth < 31 && p->parts > 1 << depth) depth++;
  return pow(p->slack[constraint], 1.0 / depth);
}

static void fill_piece(halving *h, const int32_t *vertices, piece *g) {
  const berth_i_partition *p = h->p;
  idx_t k = 0, c = g->constraints;
  for (idx_t i = 0; i < g->n; i++) {
    int32_t v = vertices[i];
    for (int32_t j = p->at[v]; j < p->at[v + 1]; j++) {
      if (h->local[p->adjacent[j]] == BERTH_NONE) continue;
      g->adjacent[k] = h->local[p->adjacent[j]];
      g->edge_weight[k++] = p->edge_weight[j];
    }
    g->at[i + 1] = k;
    for (int32_t j = 0; j < c; j++)
      g->weight[i * c + j] = p->weight[(size_t)v * (size_t)c + (size_t)j];
  }
}

static size_t count_edges(const halving *h, const int32_t *vertices, int32_t n) {
  const berth_i_partition *p = h->p;
  size_t m = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = p->at[vertices[i]]; j < p->at[vertices[i] + 1]; j++)
      m += h->local[p->adjacent[j]] != BERTH_NONE;
  }
  return m;
}

/* Sides of n vertices: 0 for parts low..mid, 1 for mid..high.  @param side [n] out */
static berth_status halve(halving *h, const int32_t *vertices, int32_t n, int32_t low, int32_t mid,
                          int32_t high, int32_t *side) {
  for (int32_t i = 0; i < n; i++) h->local[vertices[i]] = i;
  piece g;
  berth_status st = piece_alloc(h->ctx, n, count_edges(h, vertices, n), h->p->constraints, 2, &g);
  if (st == BERTH_OK) {
    fill_piece(h, vertices, &g);
    for (int32_t c = 0; c < h->p->constraints; c++) {
      double left = share_of(h->p, low, mid, c), all = share_of(h->p, low, high, c);
      g.share[c] = (real_t)(left / all);
      g.share[h->p->constraints + c] = (real_t)(1 - left / all);
      g.slack[c] = (real_t)slack_of(h->p, c);
    }
    st = call_alone(h->ctx, &g, h->p->seed, BISECTION);
  }
  for (int32_t i = 0; i < n; i++) h->local[vertices[i]] = BERTH_NONE;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) side[i] = (int32_t)g.part[i];
  berth_i_pool_free(&g.pool);
  return st;
}

/* Stable: each side keeps the order of its vertices.  @return size of the left side */
static int32_t split_order(halving *h, int32_t from, int32_t n, const int32_t *side) {
  int32_t left = 0, right = 0, *v = h->order + from;
  for (int32_t i = 0; i < n; i++) left += side[i] == 0;
  for (int32_t i = 0; i < n; i++) {
    if (side[i] == 0) v[i - right] = v[i];
    else h->scratch_order[right++] = v[i];
  }
  memcpy(v + left, h->scratch_order, (size_t)right * sizeof *v);
  return left;
}

static int32_t largest_share(const berth_i_partition *p, int32_t low, int32_t high) {
  int32_t best = low;
  for (int32_t i = low + 1; i < high; i++) {
    if (p->share[i * p->constraints] > p->share[best * p->constraints]) best = i;
  }
  return best;
}

/* Depth log2(parts). METIS itself never sees an empty piece this way: it would print a
 * complaint. */
static berth_status by_halves(halving *h, int32_t from, int32_t n, int32_t low, int32_t high) {
  int32_t mid = low + (high - low) / 2;
  if (n <= 1 || high - low == 1) {
    for (int32_t i = 0; i < n; i++) h->part[h->order[from + i]] = largest_share(h->p, low, high);
    return BERTH_OK;
  }
  int32_t *side;
  if (!(side = berth_i_alloc(h->ctx, (size_t)n, sizeof *side))) return berth_i_nomem(h->ctx);
  berth_status st = halve(h, h->order + from, n, low, mid, high, side);
  int32_t left = st == BERTH_OK ? split_order(h, from, n, side) : 0;
  berth_i_free(h->ctx, side, (size_t)n, sizeof *side);
  if (st == BERTH_OK) st = by_halves(h, from, left, low, mid);
  if (st == BERTH_OK) st = by_halves(h, from + left, n - left, mid, high);
  return st;
}

static berth_status by_bisection(berth_ctx *ctx, const berth_i_partition *p, int32_t *part) {
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  size_t n = (size_t)p->n;
  halving h = { ctx, p, part, NULL, NULL, NULL };
  h.local = berth_i_pool_alloc(&scratch, n, sizeof *h.local);
  h.order = berth_i_pool_alloc(&scratch, n, sizeof *h.order);
  h.scratch_order = berth_i_pool_alloc(&scratch, n, sizeof *h.scratch_order);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) {
    for (int32_t i = 0; i < p->n; i++) h.local[i] = BERTH_NONE, h.order[i] = i;
    st = by_halves(&h, 0, p->n, 0, p->parts);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- which ---- */

/* METIS's k-way method starts from a coarse graph of some 30 vertices per part, none much heavier
 * than the others unless it was so before. With small parts, heavy or few vertices a part of that
 * start may stay empty: METIS prints a complaint then. */
static bool is_smooth(const berth_i_partition *p) {
  if (p->n < 64 * p->parts) return false;
  for (int32_t c = 0; c < p->constraints; c++) {
    double sum = 0, most = 0, least = 1;
    for (int32_t i = 0; i < p->parts; i++) least = fmin(least, p->share[i * p->constraints + c]);
    for (int32_t v = 0; v < p->n; v++) {
      double w = p->weight[(size_t)v * (size_t)p->constraints + (size_t)c];
      sum += w;
      most = fmax(most, w);
    }
    if (least < 0.25 / p->parts || most > least * sum / 4) return false;
  }
  return true;
}

berth_status berth_i_metis_partition(berth_ctx *ctx, const berth_i_partition *p, int32_t *part) {
  berth_status st = check(ctx, p);
  if (st != BERTH_OK) return st;
  return is_smooth(p) ? by_kway(ctx, p, part) : by_bisection(ctx, p, part);
}
