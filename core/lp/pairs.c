/* Distinct pairs of producer and consumer, with mean or least times. Structure: CSR by producer
 * (out_at), and an index of pairs by consumer (in_at, in).
 * Invariant: with least times no pair counts more than holds in every schedule (cap_by_relatives),
 * so the program's value is a lower bound. O(ops + edges). */
#include "pair_times_internal.h"
#include "pairs_internal.h"

static void alloc_pairs(berth_i_lp_pairs *a) {
  size_t n = (size_t)a->n;
  a->p = berth_i_pool_alloc(&a->pool, n, sizeof *a->p);
  a->c = berth_i_pool_alloc(&a->pool, a->cap, sizeof *a->c);
  a->src = berth_i_pool_alloc(&a->pool, a->cap, sizeof *a->src);
  a->dst = berth_i_pool_alloc(&a->pool, a->cap, sizeof *a->dst);
  a->out_at = berth_i_pool_alloc(&a->pool, n + 1, sizeof *a->out_at);
  a->in_at = berth_i_pool_zalloc(&a->pool, n + 1, sizeof *a->in_at);
  a->in = berth_i_pool_alloc(&a->pool, a->cap, sizeof *a->in);
}

/* ---- pairs ---- */

/* A collective orders its members before its consumers, no more. One with more pairs than that is
 * left out, which leaves every bound a bound. */
enum { MOST_COLLECTIVE_PAIRS = 4096 };

static size_t collective_pairs(const berth_collective *c) {
  size_t n = (size_t)c->n_members * (size_t)c->n_consumers;
  return n <= MOST_COLLECTIVE_PAIRS ? n : 0;
}

/* @param sum what several tensors from one op to another take: their sum; else the longest
 * @param at [n] scratch: pair of the present producer with each op, if it is not below the
 *        producer's first pair */
static void collect(berth_i_lp_pairs *a, const double *transfer, bool sum, int32_t *at) {
  const berth_graph *g = a->g;
  a->m = 0;
  for (int32_t i = 0; i < a->n; i++) at[i] = BERTH_NONE;
  for (int32_t op = 0; op < a->n; op++) {
    int32_t first = a->out_at[op] = a->m;
    /* 1. Tensors. */
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
      int32_t t = g->out[i];
      for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
        int32_t to = g->use[k], e = at[to];
        if (e >= first) {
          a->c[e] = sum ? a->c[e] + transfer[t] : fmax(a->c[e], transfer[t]);
          continue;
        }
        at[to] = a->m;
        a->src[a->m] = op;
        a->dst[a->m] = to;
        a->c[a->m++] = transfer[t];
      }
    }
    /* 2. Collectives: pairs that cost nothing. */
    for (int32_t i = g->wait ? g->wait_at[op] : 0; g->wait && i < g->wait_at[op + 1]; i++) {
      const berth_collective *c = &g->collectives[g->wait[i]];
      for (int32_t k = 0; collective_pairs(c) > 0 && k < c->n_consumers; k++) {
        int32_t to = c->consumers[k];
        if (at[to] >= first) continue;
        at[to] = a->m;
        a->src[a->m] = op;
        a->dst[a->m] = to;
        a->c[a->m++] = 0;
      }
    }
  }
  a->out_at[a->n] = a->m;
}

/* @param at [n] scratch */
static void index_consumers(berth_i_lp_pairs *a, int32_t *at) {
  for (int32_t i = 0; i < a->m; i++) a->in_at[a->dst[i] + 1]++;
  for (int32_t i = 0; i < a->n; i++) a->in_at[i + 1] += a->in_at[i];
  for (int32_t i = 0; i < a->n; i++) at[i] = a->in_at[i];
  for (int32_t i = 0; i < a->m; i++) a->in[at[a->dst[i]]++] = i;
}

/* ---- least times ---- */

/* Infinite where no two devices reach one another: then nothing crosses, and 0 is low enough. */
static berth_status least_transfers(const berth_cost *cost, double *out) {
  berth_i_pair_times times;
  berth_status st = berth_i_pair_times_init(cost, NULL, false, &times);
  if (st != BERTH_OK) return st;
  for (int32_t t = 0; t < cost->g->n_tensors; t++) {
    double least = berth_i_pair_time(&times, t);
    out[t] = isinf(least) ? 0 : least;
  }
  berth_i_pool_free(&times.pool);
  return BERTH_OK;
}

typedef struct two_least {
  double first, second;
  int32_t at; /* pair of the first */
} two_least;

static void two_least_add(two_least *l, double x, int32_t pair) {
  if (x < l->first) {
    l->second = l->first;
    l->first = x;
    l->at = pair;
  } else if (x < l->second) {
    l->second = x;
  }
}
static double least_of_others(const two_least *l, int32_t pair) {
  return l->at == pair ? l->second : l->first;
}

/* No pair counts more than the least op time of another child of its producer, or of another parent
 * of its consumer: no two children that start sooner than that after their parent can share its
 * device, nor can two such parents. */
static void cap_by_relatives(berth_i_lp_pairs *a) {
  for (int32_t i = 0; i < a->n; i++) {
    two_least kids = { INFINITY, INFINITY, BERTH_NONE }, parents = kids;
    for (int32_t k = a->out_at[i]; k < a->out_at[i + 1]; k++)
      two_least_add(&kids, a->p[a->dst[k]], k);
    for (int32_t k = a->out_at[i]; k < a->out_at[i + 1]; k++)
      a->c[k] = fmin(a->c[k], least_of_others(&kids, k));
    for (int32_t k = a->in_at[i]; k < a->in_at[i + 1]; k++)
      two_least_add(&parents, a->p[a->src[a->in[k]]], a->in[k]);
    for (int32_t k = a->in_at[i]; k < a->in_at[i + 1]; k++)
      a->c[a->in[k]] = fmin(a->c[a->in[k]], least_of_others(&parents, a->in[k]));
  }
}

/* ---- all together ---- */

static berth_status transfers(const berth_cost *cost, berth_lp_times times, double *out) {
  if (cost->n_devices > 1)
    return times == BERTH_LP_MEAN ? berth_cost_mean_transfers(cost, BERTH_AVERAGE_TEXTBOOK, out)
                                  : least_transfers(cost, out);
  for (int32_t t = 0; t < cost->g->n_tensors; t++) out[t] = 0;
  return BERTH_OK;
}

static berth_status fill_pairs(const berth_cost *cost, berth_lp_times times, double *transfer,
                               int32_t *at, berth_i_lp_pairs *a) {
  berth_status st = transfers(cost, times, transfer);
  if (st != BERTH_OK) return st;
  collect(a, transfer, times == BERTH_LP_MEAN, at);
  index_consumers(a, at);
  st = times == BERTH_LP_MEAN ? berth_cost_mean_ops(cost, a->p) : berth_cost_min_ops(cost, a->p);
  if (times == BERTH_LP_LEAST) cap_by_relatives(a);
  return st;
}

berth_status berth_i_lp_pairs_init(berth_cost *cost, berth_lp_times times, berth_i_lp_pairs *a) {
  berth_ctx *ctx = cost->ctx;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  double *transfer = berth_i_pool_alloc(&scratch, (size_t)cost->g->n_tensors, sizeof *transfer);
  int32_t *at = berth_i_pool_alloc(&scratch, (size_t)cost->g->n_ops, sizeof *at);
  berth_status st = berth_i_pool_status(&scratch);
  *a = (berth_i_lp_pairs){
    .pool = berth_i_pool_empty(ctx), .ctx = ctx, .g = cost->g, .n = cost->g->n_ops
  };
  a->cap = (size_t)cost->g->n_edges;
  for (int32_t k = 0; k < cost->g->n_collectives; k++)
    a->cap += collective_pairs(&cost->g->collectives[k]);
  alloc_pairs(a);
  if (st == BERTH_OK) st = berth_i_pool_status(&a->pool);
  if (st == BERTH_OK) st = fill_pairs(cost, times, transfer, at, a);
  if (st != BERTH_OK) berth_i_pool_free(&a->pool);
  berth_i_pool_free(&scratch);
  return st;
}
