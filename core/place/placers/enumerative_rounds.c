/* The rule of the enumerative optimizer: a meta-op is spread over the devices in rounds, each an
 * assignment problem. And what all rules share: the price of moving inputs, and putting units.
 * O(units / devices) rounds of O(devices^3). Source: Yao et al., "DOPPLER", 2026. */
#include "enumerative_internal.h"

/* ---- prices ---- */

/* Consumers come before their producer only with colocation groups. */
double berth_i_spread_moves(const berth_i_spread *w, int32_t unit, int32_t device) {
  const berth_cost *c = w->u->cost;
  const berth_graph *g = c->g;
  double sum = 0;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    int32_t op = w->u->ops[i];
    double in = 0, out = 0;
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
      int32_t t = g->in[k], src = w->packing.device[g->producer[t]];
      if (src != BERTH_NONE && !berth_i_spread_is_copied(w, t, device))
        in += berth_i_transfer_time(c, t, src, device);
    }
    for (int32_t k = g->out_at[op]; k < g->out_at[op + 1]; k++) {
      int32_t t = g->out[k];
      for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
        int32_t dst = w->packing.device[g->use[j]];
        if (dst != BERTH_NONE) out += berth_i_transfer_time(c, t, device, dst);
      }
    }
    sum += in + out;
  }
  return sum;
}

static double least_time(const berth_i_units *u, int32_t unit) {
  double least = INFINITY;
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    if (berth_i_unit_can_run(u, unit, d)) least = fmin(least, berth_i_unit_time(u, unit, d));
  }
  return least;
}

/* Where devices are unlike, the time that a unit loses on a slow one counts like a transfer. */
static berth_i_price price_of(const berth_i_spread *w, int32_t unit, int32_t device, double least) {
  berth_i_price p = { 1, 0, 0 };
  if (!berth_i_unit_can_run(w->u, unit, device)) return p;
  double moves = berth_i_spread_moves(w, unit, device);
  if (isinf(moves)) return p;
  p.refused = 0;
  p.cost = moves + (berth_i_unit_time(w->u, unit, device) - least);
  p.tie = w->load[device];
  return p;
}

/* ---- putting units ---- */

bool berth_i_spread_put(berth_i_spread *w, int32_t unit, int32_t device) {
  const berth_graph *g = w->u->cost->g;
  if (berth_i_packing_try(&w->packing, unit, device) != 0) return false;
  w->load[device] += berth_i_unit_time(w->u, unit, device);
  w->share[device]++;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    int32_t op = w->u->ops[i];
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
      size_t bit = (size_t)device * (size_t)g->n_tensors + (size_t)g->in[k];
      w->copied[bit / 8] |= (uint8_t)(1u << (bit % 8));
    }
  }
  return true;
}

bool berth_i_spread_cheapest(berth_i_spread *w, int32_t unit) {
  double least = least_time(w->u, unit);
  berth_i_price best = { 1, 0, 0 };
  int32_t where = BERTH_NONE;
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    berth_i_price p = price_of(w, unit, d, least);
    if (p.refused > 0 || berth_i_packing_try(&w->packing, unit, d) != 0) continue;
    berth_i_packing_pop(&w->packing);
    if (where != BERTH_NONE && berth_i_price_compare(p, best) >= 0) continue;
    best = p;
    where = d;
  }
  return where != BERTH_NONE && berth_i_spread_put(w, unit, where);
}

/* ---- one meta-op in rounds ---- */

berth_status berth_i_spread_rounds(berth_i_spread *w) {
  int32_t devices = w->u->cost->n_devices, useful = 0;
  bool enumerate = strcmp(w->opts->variant, "enumerate") == 0;
  /* devices that can run some unit of the meta-op by type */
  for (int32_t d = 0; d < devices; d++) {
    int32_t i;
    for (i = 0; i < w->n_units && !berth_i_unit_can_run(w->u, w->unit[i], d); i++) {}
    useful += w->useful[d] = i < w->n_units;
  }
  for (int32_t round = 0; w->n_units > 0; round++) {
    /* 1. Columns: useful devices that have had no more than `round` units of the meta-op: each gets
     * its next one when all have had theirs. Rows: as many units. */
    int32_t columns = 0, left = 0, before = w->n_units;
    for (int32_t d = 0; d < devices; d++) {
      if (w->useful[d] && w->share[d] <= round) w->column[columns++] = d;
    }
    int32_t rows = columns < w->n_units ? columns : w->n_units;
    /* 2. The assignment of least price. */
    for (int32_t i = 0; i < rows; i++) {
      double least = least_time(w->u, w->unit[i]);
      for (int32_t j = 0; j < columns; j++)
        w->price[(size_t)i * (size_t)columns + (size_t)j] =
            price_of(w, w->unit[i], w->column[j], least);
    }
    berth_status st = BERTH_OK;
    if (enumerate && columns <= BERTH_I_MOST_PERMUTED)
      berth_i_assignment_enumerate(rows, columns, w->price, w->chosen);
    else st = berth_i_assignment(w->u->cost->ctx, rows, columns, w->price, w->chosen);
    if (st != BERTH_OK) return st;
    /* 3. Those that fit there leave the list. */
    for (int32_t i = 0; i < before; i++) {
      if (i < rows && berth_i_spread_put(w, w->unit[i], w->column[w->chosen[i]])) continue;
      w->unit[left++] = w->unit[i];
    }
    w->n_units = left;
    /* 4. Where memory, pins or types rule out an even spread, the first takes the cheapest device
     * that is left. */
    if (left < before || columns < useful) continue;
    if (!berth_i_spread_cheapest(w, w->unit[0])) return BERTH_EINFEASIBLE;
    w->n_units--;
    memmove(w->unit, w->unit + 1, (size_t)w->n_units * sizeof *w->unit);
  }
  return BERTH_OK;
}
