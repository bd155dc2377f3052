/* One slot: from the linear program's answer to whole numbers. The published way rounds each number
 * up or down by chance until all rows hold; mostly they never do (a packing row that is full breaks
 * at any number that goes up), so the other way repairs. */
#include "slot_internal.h"

/* ---- the factor ---- */

/* Least ratio of a bound to a coefficient in a packing row. Kinds of which a machine has no room
 * for one are not variables. */
static double least_packing(const berth_i_slot_solver *s, const berth_i_slot_region *g) {
  double least = s->job->batch;
  for (int32_t k = g->from; k < g->from + g->n; k++) {
    const berth_i_slot_class *c = &s->class[k];
    for (int32_t kind = 0; kind < 2; kind++)
      for (int32_t r = 0; r < s->resources && (kind == 0 ? c->most_workers : c->most_servers) > 0;
           r++)
        if (s->takes[kind][r] > 0) least = fmin(least, c->left[r] / s->takes[kind][r]);
  }
  return least;
}

double berth_i_slot_factor(const berth_i_slot_solver *s, const berth_i_slot_region *g,
                           berth_i_slot_want want) {
  double rows = 1, covering = fmin(want.units[0], want.units[1]);
  if (s->o.gdelta == BERTH_GDELTA_GIVEN) return s->o.factor;
  if (s->o.favour == BERTH_PDORS_COVERING)
    return berth_gdelta(s->o.favour, s->o.gdelta, 2, s->o.delta, covering);
  for (int32_t k = g->from; k < g->from + g->n; k++)
    rows += (double)s->class[k].count * s->resources;
  return berth_gdelta(s->o.favour, s->o.gdelta, rows, s->o.delta, least_packing(s, g));
}

/* ---- one rounding ---- */

/* @param rng NULL: down */
static int32_t rounded(double x, berth_rng *rng) {
  double low = floor(x + 1e-9), part = x - low;
  bool up = rng && part > 1e-9 && berth_rng_uniform(rng) < part;
  return (int32_t)fmin(low + up, INT32_MAX / 4);
}

static void round_all(berth_i_slot_solver *s, double factor, berth_rng *rng) {
  berth_i_slot_draft_clear(s);
  for (int32_t i = 0; i < s->lp.shares; i++) {
    const berth_i_slot_share *x = &s->lp.share[i];
    int32_t workers = rounded(factor * x->workers, rng),
            servers = rounded(factor * x->servers, rng);
    berth_i_slot_draft_put(s, x->machine, workers, servers);
  }
  s->counts.roundings += rng != NULL;
}

/* ---- as published ---- */

static bool is_feasible(const berth_i_slot_solver *s, berth_i_slot_want want) {
  const berth_i_slot_draft *d = &s->draft;
  if (d->all[0] < want.units[0] || d->all[0] > s->job->batch) return false;
  if (d->all[1] < want.units[1]
      || (double)d->all[1] < ceil((double)d->all[0] / s->job->ratio * (1 - 1e-12)))
    return false;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    if (!berth_i_slot_fits(s, &s->class[s->class_of[h]], d -> units[0][h], d -> units[1][h]))
      return false;
  }
  return true;
}

void berth_i_slot_round_faithfully(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                   berth_i_slot_want want, berth_rng *rng) {
  double factor = berth_i_slot_factor(s, g, want);
  for (int32_t i = 0; i < s->o.tries; i++) {
    round_all(s, factor, rng);
    if (!is_feasible(s, want)) continue;
    berth_i_slot_keep(s, g);
    return;
  }
  s->counts.never_feasible++;
}

/* ---- repaired ---- */

static bool is_best(const berth_i_slot_solver *s) {
  return s->best_cost <= s->lp.bound * (1 + 1e-9);
}

static void repair_and_keep(berth_i_slot_solver *s, const berth_i_slot_region *g,
                            berth_i_slot_want want, int32_t first) {
  s->counts.repairs++;
  if (berth_i_slot_repair(s, g, want, first)) berth_i_slot_keep(s, g);
}

/* Half of the roundings scale by the factor, half do not. */
void berth_i_slot_round_and_repair(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                   berth_i_slot_want want, berth_rng *rng) {
  double factor = berth_i_slot_factor(s, g, want);
  /* From the answer rounded down, and from nothing. */
  for (int32_t i = 0; i < 4 && !is_best(s); i++) {
    if (i < 2) round_all(s, 1, NULL);
    else berth_i_slot_draft_clear(s);
    repair_and_keep(s, g, want, i % 2);
  }
  for (int32_t i = 0; i < s->o.tries && s->lp.shares > 0 && !is_best(s); i++) {
    round_all(s, i % 2 == 0 ? 1 : factor, rng);
    repair_and_keep(s, g, want, i / 2 % 2);
  }
}
