/* One slot with shared links (berth_ps_speed): speed is not proportional to workers, and depends on
 * how many workers and servers are on each machine, so there is no linear program. Instead offers
 * are listed, each with its true speed: numbers of workers and servers, on the cheapest machine
 * that holds all, and on several, one machine filled after the other with workers and their share
 * of the servers, in two orders: cheapest first, and most room first, as less is sent between fewer
 * machines. Numbers of servers go from the least by doubling: on one machine as many as fit (each
 * sends a part), on several no more than there are workers.
 *
 * Invariant: of the offers that stay, those that cost more do more. So an amount of work is
 * answered by a binary search. O(offers (classes resources + machines)) a state. */
#include "base/sort_internal.h"
#include "slot_internal.h"

BERTH_I_SORT(sort_offers, berth_i_slot_offer,
             BERTH_I_UP(cost) BERTH_I_DOWN(speed) BERTH_I_UP(n) BERTH_I_UP(first))
BERTH_I_SORT(sort_by_machine, berth_ps_place, BERTH_I_UP(machine))
BERTH_I_SORT(sort_order, berth_i_slot_priced, BERTH_I_UP(price) BERTH_I_UP(class))

static berth_status add(berth_i_slot_solver *s, int32_t n, const berth_ps_place *place) {
  berth_i_slot_offer o = { .first = s->offer_places, .n = n };
  for (int32_t i = 0; i < n; i++)
    o.cost += berth_i_slot_cost(&s->class[s->class_of[place[i].machine]], place[i].workers,
                                place[i].servers);
  o.speed = berth_ps_speed(s->ps, s->number, n, place);
  size_t places = s->offer_places + (size_t)n;
  berth_status st = BERTH_I_POOL_GROW(&s->pool, s->offer, s->offer_cap, (size_t)s->offers + 1);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(&s->pool, s->offer_place, s->offer_place_cap, places);
  if (st != BERTH_OK) return st;
  memcpy(s->offer_place + s->offer_places, place, (size_t)n * sizeof *place);
  s->offer_places = places;
  s->offer[s->offers++] = o;
  return BERTH_OK;
}

/* ---- one machine ---- */

/* The cheapest that holds all, of equal ones the first class. @param found out */
static berth_status offer_inside(berth_i_slot_solver *s, int32_t workers, int32_t servers,
                                 bool *found) {
  double least = INFINITY;
  berth_ps_place place = { 0, workers, servers };
  for (int32_t k = 0; k < s->classes; k++) {
    const berth_i_slot_class *c = &s->class[k];
    double cost = berth_i_slot_cost(c, workers, servers);
    if (!(cost < least) || !berth_i_slot_fits(s, c, workers, servers)) continue;
    least = cost;
    place.machine = s->member[c->first];
  }
  *found = least < INFINITY;
  return *found ? add(s, 1, &place) : BERTH_OK;
}

/* ---- several machines ---- */

/* What goes on a machine next: as many workers as fit with their share of the servers. */
static void bundle(const berth_i_slot_solver *s, const berth_i_slot_class *c, const int32_t left[2],
                   double share, int32_t more[2]) {
  for (int32_t w = c->most[0] < left[0] ? c->most[0] : left[0]; w > 0; w--) {
    double p = fmin(left[1], ceil(w * share * (1 - 1e-12)));
    if (isinf(berth_i_slot_cost(c, w, p)) || !berth_i_slot_fits(s, c, w, (int32_t)p)) continue;
    more[0] = w;
    more[1] = (int32_t)p;
    return;
  }
}

/* First workers with their share of the servers; then workers, then servers that are left, where
 * there is room. What nothing is put on is not tried again for those alike. */
static berth_status offer_outside(berth_i_slot_solver *s, const berth_i_slot_priced *order,
                                  int32_t workers, int32_t servers) {
  int32_t left[2] = { workers, servers }, n = 0;
  berth_i_slot_draft *d = &s->draft;
  berth_i_slot_draft_clear(s);
  for (int32_t pass = 0; pass < 3; pass++) {
    int32_t kind = pass == 2;
    for (int32_t k = 0; k < s->classes && left[kind] > 0; k++) {
      const berth_i_slot_class *c = &s->class[order[k].class];
      for (int32_t i = c->first; i < c->first + c->count && left[kind] > 0; i++) {
        int32_t h = s->member[i], more[2] = { 0, 0 };
        if (pass == 0) bundle(s, c, left, (double)servers / workers, more);
        else if (c->most[kind] > 0)
          more[kind] = berth_i_slot_most_more(s, c, kind, d->units[0][h], d->units[1][h],
                                              left[kind]);
        if (pass == 0 && more[0] == 0) break;
        berth_i_slot_draft_put(s, h, more[0], more[1]);
        for (int32_t u = 0; u < 2; u++) left[u] -= more[u];
      }
    }
  }
  if (left[0] + left[1] > 0) return BERTH_OK;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    s->best[n++] = (berth_ps_place){ h, d->units[0][h], d->units[1][h] };
  }
  sort_by_machine(s->best, (size_t)n);
  return n > 1 ? add(s, n, s->best) : BERTH_OK;
}

/* ---- all of a state ---- */

/* Classes by the price of a worker with its share of a server, and by the workers that one machine
 * holds with their servers. */
static void make_orders(berth_i_slot_solver *s) {
  for (int32_t k = 0; k < s->classes; k++) {
    const berth_i_slot_class *c = &s->class[k];
    int32_t most = c->most[0];
    while (most > 0
           && !berth_i_slot_fits(s, c, most, (int32_t)berth_i_pdors_servers(s->job, most)))
      most--;
    s->cheap[0][k] = (berth_i_slot_priced){ c->price[0] + c->price[1] / s->job->ratio, k };
    s->cheap[1][k] = (berth_i_slot_priced){ -most, k };
  }
  for (int32_t i = 0; i < 2; i++) sort_order(s->cheap[i], (size_t)s->classes);
}

/* Up to 16 workers every number, then steps of an eighth. */
static berth_status list_offers(berth_i_slot_solver *s) {
  berth_status st = BERTH_OK;
  s->offers = 0;
  s->offer_places = 0;
  make_orders(s);
  for (int32_t w = 1; w <= s->job->batch && st == BERTH_OK; w += w < 16 ? 1 : w / 8) {
    int32_t before = s->offers;
    bool inside = true;
    for (double p = berth_i_pdors_servers(s->job, w); st == BERTH_OK && p < INT32_MAX / 4; p *= 2) {
      bool outside = p < 2.0 * w || s->offers == before;
      if (inside) st = offer_inside(s, w, (int32_t)p, &inside);
      for (int32_t i = 0; i < 2 && outside && st == BERTH_OK; i++)
        st = offer_outside(s, s->cheap[i], w, (int32_t)p);
      if (!inside && (p >= w || s->offers == before)) break;
    }
    if (s->offers == before) break; /* nor do more workers fit */
  }
  sort_offers(s->offer, (size_t)s->offers);
  int32_t n = 0;
  for (int32_t i = 0; i < s->offers; i++)
    if (s->offer[i].speed > (n > 0 ? s->offer[n - 1].speed : 0)) s->offer[n++] = s->offer[i];
  s->offers = n;
  s->listed = st == BERTH_OK;
  return st;
}

berth_status berth_i_slot_shared(berth_i_slot_solver *s, double samples,
                                 berth_i_slot_answer *out) {
  berth_status st = s->listed ? BERTH_OK : list_offers(s);
  if (st != BERTH_OK) return st;
  int32_t low = 0, high = s->offers;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (s->offer[middle].speed >= samples * (1 - 1e-12)) high = middle;
    else low = middle + 1;
  }
  const berth_i_slot_offer *o = &s->offer[low];
  out->feasible = low < s->offers;
  out->cost = out->feasible ? o->cost : INFINITY;
  out->bound = 0;
  out->inside = out->feasible && o->n == 1;
  out->n = out->feasible ? o->n : 0;
  if (out->n > 0) memcpy(out->place, s->offer_place + o->first, (size_t)o->n * sizeof *out->place);
  return BERTH_OK;
}

berth_status berth_i_slot_fastest(berth_i_slot_solver *s, double *speed) {
  berth_status st = s->listed ? BERTH_OK : list_offers(s);
  if (st == BERTH_OK) *speed = s->offers > 0 ? s->offer[s->offers - 1].speed : 0;
  return st;
}
