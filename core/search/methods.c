/* Annealing (Kirkpatrick, Gelatt, Vecchi 1983; a geometric schedule over the used part of the
 * budget) and descents. Invariant: between moves nothing is to be undone, and the present placement
 * keeps pins, types, groups and memory. O(simulation) a move. */
#include "search_internal.h"

/* u is drawn before the move is evaluated, so that the simulation stops as soon as it is
 * refused. */
void berth_i_walk_anneal(berth_i_walk *w, const berth_i_clumps *b, double t_start, double t_end,
                         double single) {
  if (w->p->n == 0 || !(t_start > 0)) return;
  double done;
  while (berth_i_walk_continues(w, &done)) {
    double temperature = t_start * pow(t_end / t_start, done);
    double u = 1 - berth_rng_uniform(&w->rng); /* (0, 1] */
    berth_i_walk_move(w, b, single);
    berth_i_walk_try(w, w->cur - temperature * log(u));
  }
}

/* ---- descents ---- */

static double just_below(double x) { return nextafter(x, -INFINITY); }

static void shuffled(berth_i_walk *w, int32_t n) {
  for (int32_t i = 0; i < n; i++) w->order[i] = i;
  berth_rng_shuffle(&w->rng, w->order, n);
}

/* Blocks in random order, each on every device: what improves stays. @return something did */
static bool first_pass(berth_i_walk *w, const berth_i_clumps *b) {
  bool improved = false;
  shuffled(w, b->n);
  for (int32_t i = 0; i < b->n; i++) {
    for (int32_t d = 0; d < w->p->n_devices; d++) {
      if (!berth_i_walk_continues(w, NULL)) return false;
      w->failed = 0; /* a pass ends by itself */
      berth_i_walk_put_block(w, b, w->order[i], d);
      berth_i_walk_evict(w, b);
      improved |= berth_i_walk_try(w, just_below(w->cur));
    }
  }
  return improved;
}

/* The best of all; ties: the first. */
static bool steepest_pass(berth_i_walk *w, const berth_i_clumps *b) {
  double least = w->cur;
  int32_t block = BERTH_NONE, device = BERTH_NONE;
  for (int32_t i = 0; i < b->n; i++) {
    for (int32_t d = 0; d < w->p->n_devices && berth_i_walk_continues(w, NULL); d++) {
      w->failed = 0;
      berth_i_walk_put_block(w, b, i, d);
      double value = berth_i_walk_probe(w, just_below(least));
      if (isinf(value)) continue;
      least = value;
      block = i;
      device = d;
    }
  }
  if (block == BERTH_NONE) return false;
  for (int32_t i = b->at[block]; i < b->at[block + 1]; i++) berth_i_walk_put(w, b->ops[i], device);
  berth_i_walk_take(w, memcpy(w->order, w->device, (size_t)w->p->n * sizeof *w->order), least);
  return true;
}

static bool pass(berth_i_walk *w, const berth_i_clumps *b) {
  return w->p->o->steepest ? steepest_pass(w, b) : first_pass(w, b);
}

static void to_the_bottom(berth_i_walk *w) {
  do {
    while (pass(w, &w->p->units)) continue;
  } while (pass(w, &w->p->atoms) && berth_i_walk_continues(w, NULL));
}

/* Every unit on a random device; where memory forbids that, one after the other goes to a random
 * device if others can be moved off it.
 * @return it is allowed */
static bool scatter(berth_i_walk *w) {
  const berth_i_clumps *b = &w->p->units;
  for (int32_t i = 0; i < b->n; i++)
    berth_i_walk_put_block(w, b, i, berth_rng_below(&w->rng, w->p->n_devices));
  if (berth_i_walk_fits(w)) return berth_i_walk_try(w, INFINITY);
  berth_i_walk_undo(w);
  for (int32_t i = 0; i < b->n; i++) {
    int32_t before = w->n_undo, block = berth_rng_below(&w->rng, b->n);
    if (w->touched[b->ops[b->at[block]]]) continue;
    berth_i_walk_put_block(w, b, block, berth_rng_below(&w->rng, w->p->n_devices));
    berth_i_walk_evict(w, b);
    if (!berth_i_walk_fits(w)) berth_i_walk_undo_to(w, before);
  }
  return berth_i_walk_try(w, INFINITY);
}

/* The given start, or the first of units, is where the walk is. */
static void from_other_starts(berth_i_walk *w, const berth_i_starts *a) {
  for (int32_t i = w->p->o->start ? 0 : 1; i < a->n && berth_i_walk_continues(w, NULL); i++) {
    if (!berth_i_starts_near(a, i)) continue;
    berth_i_walk_take(w, a->device[i], a->value[i]);
    to_the_bottom(w);
  }
  if (w->p->o->start || isinf(a->rival_value) || !berth_i_walk_continues(w, NULL)) return;
  berth_i_walk_take(w, a->rival, a->rival_value);
  to_the_bottom(w);
}

void berth_i_walk_descend(berth_i_walk *w, const berth_i_starts *a) {
  if (w->p->n == 0) return;
  to_the_bottom(w);
  from_other_starts(w, a);
  while (berth_i_walk_continues(w, NULL)) {
    if (scatter(w)) to_the_bottom(w);
  }
}
