/* Base groups into op groups: by METIS on the graph of base groups, weighted by time; or breadth
 * first from the costliest ones (top-k). Op groups are numbered by their time, the heaviest first;
 * equal ones by their lowest op. Source: TAG's code. */
#include "grouping_internal.h"
#include "base/sort_internal.h"

/* The costliest base groups are centres; each other one is with the nearest, breadth first from all
 * of them at once; what none reaches is one part more. */
static berth_status top_k(const berth_i_set_graph *s, const double *total, int32_t groups,
                          int32_t *part) {
  size_t n = (size_t)s->n;
  berth_i_pool scratch = berth_i_pool_empty(s->pool.ctx);
  berth_i_keyed *order = berth_i_pool_alloc(&scratch, n, sizeof *order);
  int32_t *queue = berth_i_pool_alloc(&scratch, n, sizeof *queue);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    int32_t centres = groups - 1, head = 0, tail = 0;
    for (int32_t k = 0; k < s->n; k++) {
      order[k] = (berth_i_keyed){ total[k], k };
      part[k] = BERTH_NONE;
    }
    berth_i_sort_keyed_down(order, s->n);
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

/* Parts above the limit of bytes, in pieces; all are numbered anew, by their first base groups.
 * @param bytes [n] of base groups  @param at [n] scratch  @param held [n] scratch */
static void cut_parts(int32_t n, const double *bytes, double limit, int32_t *at, double *held,
                      int32_t *part) {
  int32_t parts = 0;
  for (int32_t k = 0; k < n; k++) at[k] = BERTH_NONE;
  for (int32_t k = 0; k < n; k++) {
    const int32_t p = part[k];
    if (at[p] == BERTH_NONE || held[p] + bytes[k] > limit) {
      at[p] = parts++;
      held[p] = 0;
    }
    held[p] += bytes[k];
    part[k] = at[p];
  }
}

berth_status berth_i_deploy_group(const berth_analysis *a, const double *seconds,
                                  const berth_i_grouping *o, int32_t *group, int32_t *n) {
  const berth_graph *g = a->g;
  const int32_t base = a->n_base;
  const size_t size = (size_t)base, ops = (size_t)g->n_ops;
  if (o->groups < 1)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%ld op groups: expected at least 1",
                        (long)o->groups);
  for (size_t k = 0; k < BERTH_I_GROUP_TIMES * ops; k++) {
    if (seconds[k] >= 0 && isfinite(seconds[k])) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "op %ld takes %g s", (long)(k % ops), seconds[k]);
  }
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  berth_i_set_graph graph = { .n = 0 };
  double *weight = berth_i_pool_alloc(&scratch, size, sizeof *weight),
         *total = berth_i_pool_zalloc(&scratch, size, sizeof *total), /* s, at the whole batch */
         *bytes = berth_i_pool_zalloc(&scratch, size, sizeof *bytes);
  int32_t *part = berth_i_pool_alloc(&scratch, size, sizeof *part),
          *rank = berth_i_pool_alloc(&scratch, size, sizeof *rank),
          *place = berth_i_pool_alloc(&scratch, size, sizeof *place);
  berth_i_keyed *sum = berth_i_pool_alloc(&scratch, size, sizeof *sum);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  /* 1. Weights of base groups: the root of the mean time over batch sizes, in us. */
  for (int32_t k = 0; k < base; k++) {
    weight[k] = 1;
    part[k] = base <= o->groups ? k : 0;
  }
  for (size_t v = 0; v < ops; v++) {
    double mean = 0;
    for (size_t k = 0; k < BERTH_I_GROUP_TIMES; k++) mean += seconds[k * ops + v];
    weight[a->base[v]] += floor(sqrt(mean / BERTH_I_GROUP_TIMES * 1e6));
    total[a->base[v]] += seconds[v];
  }
  /* 2. Parts. */
  if (base > o->groups && o->groups > 1) {
    if ((st = berth_i_set_graph_new(g, g->n_ops, NULL, base, a->base, &graph)) != BERTH_OK)
      goto done;
    st = o->top_k ? top_k(&graph, total, o->groups, part)
                  : berth_i_set_graph_cut(&graph, weight, o->groups, 5, o->seed, part);
    if (st != BERTH_OK) goto done;
  }
  if (isfinite(o->limit)) {
    for (size_t v = 0; v < ops; v++) bytes[a->base[v]] += o->bytes[v];
    cut_parts(base, bytes, o->limit, rank, weight, part);
  }
  /* 3. Numbers by time. Base groups are numbered by their lowest op: the first of a part shows
   * which part has the lowest; empty parts get no number. */
  *n = 0;
  for (int32_t k = 0; k < base; k++) rank[k] = BERTH_NONE;
  for (int32_t k = 0; k < base; k++) {
    int32_t *r = &rank[part[k]];
    if (*r == BERTH_NONE) {
      *r = (*n)++;
      sum[*r] = (berth_i_keyed){ 0, *r };
    }
    sum[*r].key += total[k];
  }
  berth_i_sort_keyed_down(sum, *n);
  for (int32_t k = 0; k < *n; k++) place[sum[k].id] = k;
  for (size_t v = 0; v < ops; v++) group[v] = place[rank[part[a->base[v]]]];
done:
  berth_i_pool_free(&graph.pool);
  berth_i_pool_free(&scratch);
  return st;
}
