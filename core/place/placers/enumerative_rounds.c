/* The rule of the enumerative optimizer: a meta-op is spread over the devices in rounds, each an
 * assignment problem. And what all rules share: the price of moving inputs, and putting units. */
#include "enumerative_internal.h"

/* ---- prices ---- */

static double inputs_to(const berth_i_walk *w, int32_t op, int32_t device) {
  const berth_cost *c = w->u->cost;
  double sum = 0;
  for (int32_t i = c->g->in_at[op]; i < c->g->in_at[op + 1]; i++) {
    int32_t t = c->g->in[i], src = w->packing.device[c->g->producer[t]];
    if (src != BERTH_NONE && !berth_i_walk_is_copied(w, t, device))
      sum += berth_i_transfer_time(c, t, src, device);
  }
  return sum;
}

/* Consumers come before their producer only with colocation groups. */
static double outputs_from(const berth_i_walk *w, int32_t op, int32_t device) {
  const berth_cost *c = w->u->cost;
  double sum = 0;
  for (int32_t i = c->g->out_at[op]; i < c->g->out_at[op + 1]; i++) {
    int32_t t = c->g->out[i];
    for (int32_t j = c->g->use_at[t]; j < c->g->use_at[t + 1]; j++) {
      int32_t dst = w->packing.device[c->g->use[j]];
      if (dst != BERTH_NONE) sum += berth_i_transfer_time(c, t, device, dst);
    }
  }
  return sum;
}

double berth_i_walk_moves(const berth_i_walk *w, int32_t unit, int32_t device) {
  double sum = 0;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    sum += inputs_to(w, w->u->ops[i], device) + outputs_from(w, w->u->ops[i], device);
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
static berth_i_price price_of(const berth_i_walk *w, int32_t unit, int32_t device, double least) {
  berth_i_price p = { 1, 0, 0 };
  if (!berth_i_unit_can_run(w->u, unit, device)) return p;
  double moves = berth_i_walk_moves(w, unit, device);
  if (isinf(moves)) return p;
  p.refused = 0;
  p.cost = moves + (berth_i_unit_time(w->u, unit, device) - least);
  p.tie = w->load[device];
  return p;
}

/* ---- putting units ---- */

static void mark_copies(berth_i_walk *w, int32_t op, int32_t device) {
  const berth_graph *g = w->u->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    size_t bit = (size_t)device * (size_t)g->n_tensors + (size_t)g->in[i];
    w->copied[bit / 8] |= (uint8_t)(1u << (bit % 8));
  }
}

bool berth_i_walk_settle(berth_i_walk *w, int32_t unit, int32_t device) {
  if (berth_i_packing_try(&w->packing, unit, device) != 0) return false;
  w->load[device] += berth_i_unit_time(w->u, unit, device);
  w->share[device]++;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++)
    mark_copies(w, w->u->ops[i], device);
  return true;
}

static bool takes(berth_i_walk *w, int32_t unit, int32_t device) {
  if (berth_i_packing_try(&w->packing, unit, device) != 0) return false;
  berth_i_packing_pop(&w->packing);
  return true;
}

bool berth_i_walk_cheapest(berth_i_walk *w, int32_t unit) {
  double least = least_time(w->u, unit);
  berth_i_price best = { 1, 0, 0 };
  int32_t where = BERTH_NONE;
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    berth_i_price p = price_of(w, unit, d, least);
    if (p.refused > 0 || !takes(w, unit, d)) continue;
    if (where != BERTH_NONE && berth_i_price_compare(p, best) >= 0) continue;
    best = p;
    where = d;
  }
  return where != BERTH_NONE && berth_i_walk_settle(w, unit, where);
}

/* ---- one meta-op in rounds ---- */

/* Devices that can run some unit of the meta-op by type.  @return how many */
static int32_t find_useful(berth_i_walk *w) {
  int32_t n = 0;
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    int32_t i;
    for (i = 0; i < w->n_units && !berth_i_unit_can_run(w->u, w->unit[i], d); i++) {}
    n += w->useful[d] = i < w->n_units;
  }
  return n;
}

/* Useful devices that have had no more than `round` units of the meta-op: each gets its next one
 * when all have had theirs. */
static int32_t find_columns(berth_i_walk *w, int32_t round) {
  int32_t n = 0;
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    if (w->useful[d] && w->share[d] <= round) w->column[n++] = d;
  }
  return n;
}

static berth_status assign_round(berth_i_walk *w, int32_t rows, int32_t columns) {
  for (int32_t i = 0; i < rows; i++) {
    double least = least_time(w->u, w->unit[i]);
    for (int32_t j = 0; j < columns; j++)
      w->price[(size_t)i * (size_t)columns + (size_t)j] =
          price_of(w, w->unit[i], w->column[j], least);
  }
  if (strcmp(w->opts->variant, "enumerate") == 0 && columns <= BERTH_I_MOST_PERMUTED) {
    berth_i_assignment_enumerate(rows, columns, w->price, w->chosen);
    return BERTH_OK;
  }
  return berth_i_assignment(w->u->cost->ctx, rows, columns, w->price, w->chosen);
}

/* Those that found a place leave the list.  @return how many */
static int32_t settle_round(berth_i_walk *w, int32_t rows) {
  int32_t i, left = 0;
  for (i = 0; i < w->n_units; i++) {
    if (i < rows && berth_i_walk_settle(w, w->unit[i], w->column[w->chosen[i]])) continue;
    w->unit[left++] = w->unit[i];
  }
  i = w->n_units - left;
  w->n_units = left;
  return i;
}

/* Memory, pins or types stand against an even spread. */
static berth_status settle_first(berth_i_walk *w) {
  if (!berth_i_walk_cheapest(w, w->unit[0])) return BERTH_EINFEASIBLE;
  w->n_units--;
  memmove(w->unit, w->unit + 1, (size_t)w->n_units * sizeof *w->unit);
  return BERTH_OK;
}

berth_status berth_i_walk_rounds(berth_i_walk *w) {
  int32_t useful = find_useful(w);
  berth_status st = BERTH_OK;
  for (int32_t round = 0; w->n_units > 0 && st == BERTH_OK; round++) {
    int32_t columns = find_columns(w, round), rows = columns < w->n_units ? columns : w->n_units;
    if ((st = assign_round(w, rows, columns)) != BERTH_OK) return st;
    if (settle_round(w, rows) == 0 && columns == useful) st = settle_first(w);
  }
  return st;
}
