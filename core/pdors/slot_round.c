/* One slot: from the linear program's answer to whole numbers. The published way rounds each number
 * up or down by chance until all rows hold; mostly they never do (a packing row that is full breaks
 * at any number that goes up), so the other way repairs. */
#include "base/sort_internal.h"
#include "slot_internal.h"

static const berth_i_slot_class *class_of(const berth_i_slot_solver *s, int32_t machine) {
  return &s->class[s->class_of[machine]];
}

/* ---- a draft ---- */

void berth_i_slot_draft_clear(berth_i_slot_solver *s) {
  berth_i_slot_draft *d = &s->draft;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    d->units[0][h] = d->units[1][h] = d->is_touched[h] = 0;
  }
  d->n = d->all[0] = d->all[1] = 0;
}

/* Also fewer. */
static void add(berth_i_slot_solver *s, int32_t machine, int32_t kind, int32_t more) {
  berth_i_slot_draft *d = &s->draft;
  if (more == 0) return;
  if (!d->is_touched[machine]) {
    d->is_touched[machine] = 1;
    d->touched[d->n++] = machine;
  }
  d->units[kind][machine] += more;
  d->all[kind] += more;
}

void berth_i_slot_draft_put(berth_i_slot_solver *s, int32_t machine, int32_t workers,
                            int32_t servers) {
  add(s, machine, 0, workers);
  add(s, machine, 1, servers);
}

/* ---- repair ---- */

/* Machines that hold more than fits. The kind that goes is one of which there are too many in all,
 * else the dearer; of what there is too much of in all, no more than that. */
static void relieve(berth_i_slot_solver *s, berth_i_slot_want want) {
  const berth_i_slot_draft *d = &s->draft;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    const berth_i_slot_class *c = class_of(s, h);
    while (!berth_i_slot_fits(s, c, d->units[0][h], d->units[1][h])) {
      bool extra[2];
      for (int32_t kind = 0; kind < 2; kind++) extra[kind] = d->all[kind] > want.units[kind];
      int32_t kind = d->units[1][h] == 0      ? 0
                     : d->units[0][h] == 0    ? 1
                     : extra[0] != extra[1]   ? !extra[0]
                                              : c->price[0] < c->price[1];
      int32_t there = d->units[kind][h], other = d->units[1 - kind][h];
      int32_t less = there
                     - berth_i_slot_most_more(s, c, kind, kind == 0 ? 0 : other,
                                              kind == 0 ? other : 0, there - 1);
      int64_t surplus = d->all[kind] - want.units[kind];
      add(s, h, kind, -(surplus > 0 && surplus < less ? (int32_t)surplus : less));
    }
  }
}

/* Too many of a kind in all: the dearest go, of equal ones the last. */
static void trim(berth_i_slot_solver *s, int32_t kind, int32_t want) {
  const berth_i_slot_draft *d = &s->draft;
  while (d->all[kind] > want) {
    int32_t found = BERTH_NONE;
    for (int32_t i = 0; i < d->n; i++) {
      int32_t h = d->touched[i];
      if (d->units[kind][h] == 0) continue;
      double more = found == BERTH_NONE
                        ? 1
                        : class_of(s, h)->price[kind] - class_of(s, found)->price[kind];
      if (more > 0 || (more == 0 && h > found)) found = h;
    }
    int64_t surplus = d->all[kind] - want;
    int32_t there = d->units[kind][found];
    add(s, found, kind, -(surplus < there ? (int32_t)surplus : there));
  }
}

/* Too few: the cheapest first. */
static bool fill(berth_i_slot_solver *s, const berth_i_slot_region *g, int32_t kind, int32_t want) {
  const berth_i_slot_priced *list = s->cheap[kind] + g->list;
  const berth_i_slot_draft *d = &s->draft;
  for (int32_t k = 0; k < g->n && d->all[kind] < want && list[k].price < INFINITY; k++) {
    const berth_i_slot_class *c = &s->class[list[k].class];
    for (int32_t i = c->first; i < c->first + c->count && d->all[kind] < want; i++) {
      int32_t h = s->member[i];
      add(s, h, kind,
          berth_i_slot_most_more(s, c, kind, d->units[0][h], d->units[1][h],
                                 (int32_t)(want - d->all[kind])));
    }
  }
  return d->all[kind] >= want;
}

bool berth_i_slot_repair(berth_i_slot_solver *s, const berth_i_slot_region *g,
                         berth_i_slot_want want, int32_t first) {
  berth_i_slot_sort(s);
  relieve(s, want);
  for (int32_t kind = 0; kind < 2; kind++) trim(s, kind, want.units[kind]);
  return fill(s, g, first, want.units[first]) && fill(s, g, 1 - first, want.units[1 - first]);
}

/* ---- the cheapest ---- */

/* On several machines; and where that matters, in several racks. */
static bool is_spread(const berth_i_slot_solver *s, const berth_i_slot_region *g) {
  const berth_i_slot_draft *d = &s->draft;
  bool racks_slower = s->racks && g == s->region && s->rack_slots > g->slots, spread = false,
       racks = false;
  int32_t one = BERTH_NONE;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    if (d->units[0][h] + d->units[1][h] == 0) continue;
    if (one == BERTH_NONE) one = h;
    spread |= h != one;
    racks |= class_of(s, h)->rack != class_of(s, one)->rack;
  }
  return spread && (racks || !racks_slower);
}

BERTH_I_SORT(sort_by_machine, berth_ps_place, BERTH_I_UP(machine))

void berth_i_slot_keep(berth_i_slot_solver *s, const berth_i_slot_region *g) {
  const berth_i_slot_draft *d = &s->draft;
  double cost = 0;
  int32_t n = 0;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    cost += berth_i_slot_cost(class_of(s, h), d->units[0][h], d->units[1][h]);
  }
  if (!(cost < s->best_cost) || !is_spread(s, g)) return;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    if (d->units[0][h] + d->units[1][h] > 0)
      s->best[n++] = (berth_ps_place){ h, d->units[0][h], d->units[1][h] };
  }
  sort_by_machine(s->best, (size_t)n);
  s->best_n = n;
  s->best_cost = cost;
}

/* ---- the factor ---- */

/* Least ratio of a bound to a coefficient in a packing row. Kinds of which a machine cannot hold
 * for one are not variables. */
static double least_packing(const berth_i_slot_solver *s, const berth_i_slot_region *g) {
  double least = s->job->batch;
  for (int32_t k = g->from; k < g->from + g->n; k++) {
    const berth_i_slot_class *c = &s->class[k];
    for (int32_t kind = 0; kind < 2; kind++)
      for (int32_t r = 0; r < s->resources && c->most[kind] > 0; r++)
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
      || (double)d->all[1] < berth_i_pdors_servers(s->job, (double)d->all[0]))
    return false;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    if (!berth_i_slot_fits(s, class_of(s, h), d->units[0][h], d->units[1][h]))
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
