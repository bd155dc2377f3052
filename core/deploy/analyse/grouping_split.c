/* The ops of one op group over devices (model parallelism), by METIS: units are ops, or colocation
 * groups of them, weighted by time, as published by parameters. Parts are turned by the group's
 * number, so that the groups do not all begin on the same device. */
#include "grouping_internal.h"

#define WHOLE 1e6 /* what times add up to as weights */

typedef struct dealing {
  const berth_graph *g;
  int32_t n, units;
  const int32_t *op;         /* [n] */
  int32_t *unit;             /* [ops] of each; BERTH_NONE: outside */
  double *weight;            /* [units] */
  int32_t *part;             /* [units] */
} dealing;

/* @param first [groups] scratch: unit of each colocation group */
static void find_units(dealing *x, int32_t *first) {
  const berth_graph *g = x->g;
  memset(x->unit, 0xff, (size_t)g->n_ops * sizeof *x->unit);
  memset(first, 0xff, (size_t)g->n_groups * sizeof *first);
  for (int32_t k = 0; k < x->n; k++) {
    int32_t group = berth_i_group(g, x->op[k]);
    if (group != BERTH_NONE && first[group] != BERTH_NONE) x->unit[x->op[k]] = first[group];
    else x->unit[x->op[k]] = x->units++;
    if (group != BERTH_NONE) first[group] = x->unit[x->op[k]];
  }
}

berth_status berth_i_deploy_split(const berth_graph *g, int32_t n, const int32_t *op,
                                  const double *seconds, const berth_i_dealing *o, int32_t *part) {
  berth_ctx *ctx = g->ctx;
  size_t ops = (size_t)g->n_ops, groups = (size_t)g->n_groups, size = (size_t)n;
  dealing x = { .g = g, .n = n, .op = op };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_status st;
  if (o->parts < 1 || o->number < 0)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%ld parts of op group %ld", (long)o->parts,
                        (long)o->number);
  for (int32_t k = 0; !o->published && k < n; k++) {
    if (seconds[op[k]] >= 0 && isfinite(seconds[op[k]])) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "op %ld takes %g s", (long)op[k], seconds[op[k]]);
  }
  int32_t *first = berth_i_pool_alloc(&scratch, groups, sizeof *first);
  x.unit = berth_i_pool_alloc(&scratch, ops, sizeof *x.unit);
  x.weight = berth_i_pool_zalloc(&scratch, size, sizeof *x.weight);
  x.part = berth_i_pool_alloc(&scratch, size, sizeof *x.part);
  st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) find_units(&x, first);
  if (st == BERTH_OK) {
    if (o->published) {
      for (int32_t k = 0; k < x.n; k++)
        x.weight[x.unit[x.op[k]]] += 1 + floor(berth_i_param(x.g, x.op[k]) / 4 / 1e5);
    } else {
      double total = 0;
      for (int32_t k = 0; k < x.n; k++) total += seconds[x.op[k]];
      for (int32_t k = 0; k < x.n; k++)
        x.weight[x.unit[x.op[k]]] += total > 0 ? seconds[x.op[k]] / total * WHOLE : 1;
    }
    berth_i_set_graph graph;
    st = berth_i_set_graph_new(x.g, x.n, x.op, x.units, x.unit, &graph);
    if (st == BERTH_OK)
      st = berth_i_set_graph_cut(&graph, x.weight, o->parts, 1.5, o->seed, x.part);
    berth_i_pool_free(&graph.pool);
  }
  for (int32_t k = 0; k < n && st == BERTH_OK; k++)
    part[k] = (int32_t)(((int64_t)x.part[x.unit[op[k]]] + o->number) % o->parts);
  berth_i_pool_free(&scratch);
  return st;
}
