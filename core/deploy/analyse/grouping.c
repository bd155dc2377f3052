/* Base groups into op groups. */
#include "grouping_internal.h"
#include "base/sort_internal.h"

typedef struct grouping {
  const berth_analysis *a;
  const double *seconds;
  int32_t n;        /* base groups */
  double *weight;   /* [n] of METIS */
  double *total;    /* [n] time at the whole batch, s */
  int32_t *part;    /* [n] */
  berth_i_set_graph graph;
} grouping;

/* ---- weights ---- */

static double mean_of(const double *seconds, int32_t op, int32_t ops) {
  double sum = 0;
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES; k++)
    sum += seconds[(size_t)k * (size_t)ops + (size_t)op];
  return sum / BERTH_I_GROUP_TIMES;
}

/* ---- top-k ---- */

static berth_status top_k(const grouping *x, int32_t groups) {
  berth_ctx *ctx = x->a->g->ctx;
  size_t n = (size_t)x->n;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_i_keyed *order = berth_i_pool_alloc(&scratch, n, sizeof *order);
  int32_t *queue = berth_i_pool_alloc(&scratch, n, sizeof *queue);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    for (int32_t k = 0; k < x->n; k++) order[k] = (berth_i_keyed){ x->total[k], k };
    berth_i_sort_keyed_down(order, (int32_t)n);
    /* Breadth first from all centres at once. */
    const berth_i_set_graph *s = &x->graph;
    int32_t centres = groups - 1;
    int32_t *part = x->part;
    int32_t head = 0, tail = 0;
    for (int32_t k = 0; k < s->n; k++) part[k] = BERTH_NONE;
    for (int32_t k = 0; k < centres; k++) part[queue[tail++] = order[k].id] = k;
    while (head < tail) {
      int32_t v = queue[head++];
      for (int32_t i = s->at[v]; i < s->at[v + 1]; i++) {
        int32_t w = s->adjacent[i];
        if (part[w] != BERTH_NONE) continue;
        part[w] = part[v];
        queue[tail++] = w;
      }
    }
    for (int32_t k = 0; k < s->n; k++)
      if (part[k] == BERTH_NONE) part[k] = centres;
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- order ---- */

/* Base groups are numbered by their lowest op: the first of a part shows which part has the lowest.
 * @param sum [parts] @param rank [parts] out: place of each that is not empty @return how many are
 *        not */
static int32_t rank_parts(const grouping *x, int32_t parts, berth_i_keyed *sum, int32_t *rank) {
  int32_t n = 0;
  for (int32_t k = 0; k < parts; k++) rank[k] = BERTH_NONE;
  for (int32_t k = 0; k < x->n; k++) {
    int32_t p = x->part[k];
    if (rank[p] == BERTH_NONE) {
      rank[p] = n;
      sum[n] = (berth_i_keyed){ 0, n };
      n++;
    }
    sum[rank[p]].key += x->total[k];
  }
  return n;
}

static berth_status number(const grouping *x, int32_t parts, int32_t *group, int32_t *n) {
  berth_ctx *ctx = x->a->g->ctx;
  size_t size = (size_t)parts;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_i_keyed *sum = berth_i_pool_alloc(&scratch, size, sizeof *sum);
  int32_t *first = berth_i_pool_alloc(&scratch, size, sizeof *first),
          *place = berth_i_pool_alloc(&scratch, size, sizeof *place);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    *n = rank_parts(x, parts, sum, first);
    berth_i_sort_keyed_down(sum, *n);
    for (int32_t k = 0; k < *n; k++) place[sum[k].id] = k;
    for (int32_t k = 0; k < x->a->g->n_ops; k++) group[k] = place[first[x->part[x->a->base[k]]]];
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- the whole ---- */

static berth_status part_all(grouping *x, const berth_i_grouping *o) {
  const berth_graph *g = x->a->g;
  int32_t ops = x->a->g->n_ops;
  for (int32_t k = 0; k < x->n; k++) x->weight[k] = 1, x->total[k] = 0;
  for (int32_t v = 0; v < ops; v++) {
    x->weight[x->a->base[v]] += floor(sqrt(mean_of(x->seconds, v, ops) * 1e6));
    x->total[x->a->base[v]] += x->seconds[v];
  }
  for (int32_t k = 0; k < x->n; k++) x->part[k] = x->n <= o->groups ? k : 0;
  if (x->n <= o->groups || o->groups == 1) return BERTH_OK;
  berth_status st;
  if ((st = berth_i_set_graph_new(g, g->n_ops, NULL, x->n, x->a->base, &x->graph)) != BERTH_OK)
    return st;
  if (o->top_k) return top_k(x, o->groups);
  return berth_i_set_graph_cut(&x->graph, x->weight, o->groups, 5, o->seed, x->part);
}

berth_status berth_i_deploy_group(const berth_analysis *a, const double *seconds,
                                  const berth_i_grouping *o, int32_t *group, int32_t *n) {
  berth_ctx *ctx = a->g->ctx;
  size_t size = (size_t)a->n_base;
  grouping x = { .a = a, .seconds = seconds, .n = a->n_base };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_status st;
  size_t ops = (size_t)a->g->n_ops;
  if (o->groups < 1)
    return berth_i_fail(a->g->ctx, BERTH_EINVAL,
                        "%ld op groups: expected at least 1", (long)o->groups);
  for (size_t k = 0; k < BERTH_I_GROUP_TIMES * ops; k++) {
    if (seconds[k] >= 0 && isfinite(seconds[k])) continue;
    return berth_i_fail(a->g->ctx, BERTH_EINVAL, "op %ld takes %g s", (long)(k % ops), seconds[k]);
  }
  x.weight = berth_i_pool_alloc(&scratch, size, sizeof *x.weight);
  x.total = berth_i_pool_alloc(&scratch, size, sizeof *x.total);
  x.part = berth_i_pool_alloc(&scratch, size, sizeof *x.part);
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = part_all(&x, o);
  if (st == BERTH_OK) st = number(&x, x.n < o->groups ? x.n : o->groups, group, n);
  berth_i_pool_free(&x.graph.pool);
  berth_i_pool_free(&scratch);
  return st;
}
