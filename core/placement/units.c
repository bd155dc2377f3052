/* Colocation groups contracted to units, other ops alone. Units are numbered by their first op in
 * topological order, members likewise; times and pins are fixed, bytes depend on the share of the
 * outputs that counts as permanent (berth_i_units_size). O(ops x classes + ops x devices). */
#include "units_internal.h"

static berth_status alloc_units(berth_i_units *u) {
  size_t n = (size_t)u->n;
  u->at = berth_i_pool_zalloc(&u->pool, n + 1, sizeof *u->at);
  u->ops = berth_i_pool_alloc(&u->pool, (size_t)u->n_ops, sizeof *u->ops);
  u->time = berth_i_pool_zalloc(&u->pool, n * (size_t)u->n_classes, sizeof *u->time);
  u->pin = berth_i_pool_alloc(&u->pool, n, sizeof *u->pin);
  u->permanent = berth_i_pool_zalloc(&u->pool, n, sizeof *u->permanent);
  u->temporary = berth_i_pool_zalloc(&u->pool, n, sizeof *u->temporary);
  return berth_i_pool_status(&u->pool);
}

void berth_i_units_release(berth_i_units *u) { berth_i_pool_free(&u->pool); }

static berth_status number_units(berth_i_units *u) {
  const berth_graph *g = u->cost->g;
  size_t n_groups = (size_t)g->n_groups;
  int32_t i, *first = berth_i_alloc(u->cost->ctx, n_groups, sizeof *first); /* group -> unit */
  if (!first) return berth_i_nomem(u->cost->ctx);
  for (i = 0; i < g->n_groups; i++) first[i] = BERTH_NONE;
  for (i = 0; i < u->n_ops; i++) {
    int32_t op = g->topo[i], group = berth_i_group(g, op);
    if (group == BERTH_NONE) {
      u->of[op] = u->n++;
    } else {
      if (first[group] == BERTH_NONE) first[group] = u->n++;
      u->of[op] = first[group];
    }
  }
  berth_i_free(u->cost->ctx, first, n_groups, sizeof *first);
  return BERTH_OK;
}

/* What an op writes and, if it takes time, reads is there at least while it runs. */
static void add_bytes(berth_i_units *u, int32_t unit, int32_t op) {
  const berth_graph *g = u->cost->g;
  bool instant = berth_i_may_be_instant(u->cost, op);
  double out = berth_i_output_bytes(g, op), workspace = berth_i_workspace(g, op), passing = 0;
  double held = u->share * (out + (instant ? workspace : 0));
  if (u->share < 1) passing = (1 - u->share) * (out + (instant ? 0 : berth_i_input_bytes(g, op)));
  if (instant) workspace *= 1 - u->share;
  u->permanent[unit] += berth_i_param(g, op) * u->param_multiple + held;
  u->temporary[unit] = fmax(u->temporary[unit], workspace + passing);
}

void berth_i_units_size(berth_i_units *u, double share) {
  u->share = share;
  for (int32_t unit = 0; unit < u->n; unit++) {
    u->permanent[unit] = u->temporary[unit] = 0;
    if (u->memory == BERTH_MEMORY_NONE) continue;
    for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) add_bytes(u, unit, u->ops[i]);
  }
}

/* Of a group that no device can run, the first op that leaves its predecessors without one. */
static int32_t odd_one_out(const berth_i_units *u, int32_t unit) {
  int32_t j;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    bool some = false;
    for (int32_t d = 0; d < u->cost->n_devices && !some; d++) {
      for (j = u->at[unit], some = true; j <= i && some; j++)
        some = berth_i_can_run(u->cost, u->ops[j], d);
    }
    if (!some) return u->ops[i];
  }
  return u->ops[u->at[unit]]; /* not reached: the last member completes the group */
}

static berth_status check_runnable(const berth_i_units *u, const char *placer, int32_t unit,
                                   berth_obstacle *why) {
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    if (berth_i_unit_can_run(u, unit, d)) return BERTH_OK;
  }
  return berth_i_infeasible(u->cost, placer, odd_one_out(u, unit), BERTH_NONE, 0, why);
}

static berth_status fill_units(berth_i_units *u, const char *placer, berth_obstacle *why) {
  const berth_graph *g = u->cost->g;
  size_t k = (size_t)u->n_classes;
  berth_status st = BERTH_OK;
  /* at[] counts, then points at the ends, then is moved back to the beginnings by filling from the
   * last */
  for (int32_t i = 0; i < u->n_ops; i++) u->at[u->of[i]]++;
  for (int32_t i = 1; i <= u->n; i++) u->at[i] += u->at[i - 1];
  for (int32_t i = u->n_ops - 1; i >= 0; i--) u->ops[--u->at[u->of[g->topo[i]]]] = g->topo[i];
  for (int32_t unit = 0; unit < u->n && st == BERTH_OK; unit++) {
    u->pin[unit] = BERTH_NONE;
    for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
      /* communication ops take no time off their device, but may not run everywhere */
      bool beside = berth_i_is_communication(g, u->ops[i]);
      for (size_t c = 0; c < k; c++) {
        double time = u->cost->op[(size_t)u->ops[i] * k + c];
        u->time[(size_t)unit * k + c] += beside && !isinf(time) ? 0 : time;
      }
      /* the graph's builder refuses groups whose members are pinned apart */
      if (u->pin[unit] == BERTH_NONE) u->pin[unit] = berth_i_pin(g, u->ops[i]);
    }
    st = check_runnable(u, placer, unit, why);
  }
  berth_i_units_size(u, u->memory == BERTH_MEMORY_TOTAL ? 1 : 0);
  return st;
}

berth_status berth_i_units_init(berth_cost *cost, const char *placer, berth_memory_policy memory,
                                double param_multiple, berth_i_units *u, berth_obstacle *why) {
  memset(u, 0, sizeof *u);
  u->pool = berth_i_pool_empty(cost->ctx);
  u->cost = cost;
  u->n_ops = cost->g->n_ops;
  u->n_classes = cost->n_classes;
  u->memory = memory;
  u->param_multiple = param_multiple;
  u->of = berth_i_pool_alloc(&u->pool, (size_t)u->n_ops, sizeof *u->of);
  berth_status st = berth_i_pool_status(&u->pool);
  if (st == BERTH_OK) st = number_units(u);
  if (st == BERTH_OK) st = alloc_units(u);
  if (st == BERTH_OK) st = fill_units(u, placer, why);
  if (st != BERTH_OK) berth_i_units_release(u);
  return st;
}

int32_t berth_i_unit_largest(const berth_i_units *u, int32_t unit, berth_memory_policy memory,
                             double param_multiple) {
  int32_t best = BERTH_NONE;
  double most = -1;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    berth_i_demand d = berth_i_op_demand(u->cost->g, u->ops[i], memory, param_multiple);
    if (d.permanent + d.temporary <= most) continue;
    most = d.permanent + d.temporary;
    best = u->ops[i];
  }
  return best;
}
