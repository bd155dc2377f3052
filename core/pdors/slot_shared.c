/* One slot with shared links: the speed of a job is not proportional to its workers, and depends on
 * how many of its workers and servers are on each machine. So there is no linear program; offers
 * are listed instead: for numbers of workers and servers, on the cheapest machine that holds all,
 * and on several, filled one after the other with workers and their share of the servers, cheapest
 * machines first, or those with most room first (the fewer machines, the less is sent). Each has
 * its true speed (berth_ps_speed). An amount of work is answered by the cheapest offer that does
 * it: a binary search, as only offers remain that cost more if they do more.
 *
 * O(offers (classes resources + machines)) a state, log offers an amount. */
#include "base/sort_internal.h"
#include "slot_internal.h"

BERTH_I_SORT(sort_by_cost, berth_i_slot_offer,
             BERTH_I_UP(cost) BERTH_I_DOWN(speed) BERTH_I_UP(n) BERTH_I_UP(first))
BERTH_I_SORT(sort_places, berth_ps_place, BERTH_I_UP(machine))

/* ---- offers ---- */

static berth_status offer(berth_i_slot_solver *s, int32_t n, const berth_ps_place *place) {
  berth_i_slot_offer o = { .first = s->offer_places, .n = n };
  int32_t job = s->job_number;
  for (int32_t i = 0; i < n; i++)
    o.cost += berth_i_slot_cost(&s->class[s->class_of[place[i].machine]], place[i].workers,
                                place[i].servers);
  o.speed = berth_ps_speed(s->ps, job, n, place);
  if (!(o.speed > 0)) return BERTH_OK;
  berth_status st = BERTH_I_POOL_GROW(&s->pool, s->offer, s->offer_cap, (size_t)s->offers + 1);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(&s->pool, s->offer_place, s->offer_place_cap,
                           s->offer_places + (size_t)n);
  if (st != BERTH_OK) return st;
  memcpy(s->offer_place + s->offer_places, place, (size_t)n * sizeof *place);
  s->offer_places += (size_t)n;
  s->offer[s->offers++] = o;
  return BERTH_OK;
}

/* On the cheapest machine that holds all. */
static berth_status offer_inside(berth_i_slot_solver *s, int32_t workers, int32_t servers) {
  double least = INFINITY;
  berth_ps_place place = { 0, workers, servers };
  for (int32_t k = 0; k < s->classes; k++) {
    const berth_i_slot_class *c = &s->class[k];
    double cost = berth_i_slot_cost(c, workers, servers);
    if (!(cost < least) || !berth_i_slot_fits(s, c, workers, servers)) continue;
    least = cost;
    place.machine = s->member[c->first];
  }
  return least < INFINITY ? offer(s, 1, &place) : BERTH_OK;
}

/* Workers with their share of the servers, as many as fit; then servers, or workers, that are left,
 * where there is room. */
static berth_status offer_outside(berth_i_slot_solver *s, const berth_i_slot_priced *order,
                                  int32_t workers, int32_t servers) {
  int32_t left[2] = { workers, servers };
  berth_i_slot_draft_clear(s);
  for (int32_t pass = 0; pass < 3; pass++) {
    int32_t kind = pass - 1;
    for (int32_t k = 0; k < s->classes && (pass == 0 ? left[0] : left[kind]) > 0; k++) {
      const berth_i_slot_class *c = &s->class[order[k].class];
      for (int32_t i = c->first; i < c->first + c->count && (pass == 0 ? left[0] : left[kind]) > 0; i++) {
        int32_t h = s->member[i], more[2] = { 0, 0 };
        if (pass == 0) {
          for (int32_t w = c->most[0] < left[0] ? c->most[0] : left[0]; w > 0; w--) {
            int32_t p = (int32_t)ceil((double)w * servers / workers * (1 - 1e-12));
            if (p > left[1]) p = left[1];
            if (!berth_i_slot_fits(s, c, w, p) || isinf(c->price[0]) || (p > 0 && isinf(c->price[1]))) continue;
            more[0] = w;
            more[1] = p;
            break;
          }
        } else if (c->most[kind] > 0) {
          more[kind] = berth_i_slot_most_more(s, c, kind, s->draft.units[0][h],
                                              s->draft.units[1][h], left[kind]);
        }
        berth_i_slot_draft_put(s, h, more[0], more[1]);
        left[0] -= more[0];
        left[1] -= more[1];
        if (more[0] + more[1] == 0) break; /* nor on those alike */
      }
    }
  }
  if (left[0] + left[1] > 0) return BERTH_OK;
  int32_t n = 0;
  for (int32_t i = 0; i < s->draft.n; i++) {
    int32_t h = s->draft.touched[i];
    s->best[n++] = (berth_ps_place){ h, s->draft.units[0][h], s->draft.units[1][h] };
  }
  sort_places(s->best, (size_t)n);
  return n > 1 ? offer(s, n, s->best) : BERTH_OK;
}

/* ---- all of a state ---- */

/* Classes by the price of a worker with its share of a server; by the workers, with these, that one
 * machine holds. */
BERTH_I_SORT(sort_order, berth_i_slot_priced, BERTH_I_UP(price) BERTH_I_UP(class))

static void orders(berth_i_slot_solver *s) {
  for (int32_t k = 0; k < s->classes; k++) {
    const berth_i_slot_class *c = &s->class[k];
    double price = c->price[0] + c->price[1] / s->job->ratio;
    int32_t most = c->most[0];
    while (most > 0 && !berth_i_slot_fits(s, c, most, (int32_t)berth_i_pdors_servers(s->job, most)))
      most--;
    s->cheap[0][k] = (berth_i_slot_priced){ price, k };
    s->cheap[1][k] = (berth_i_slot_priced){ -most, k };
  }
  for (int32_t i = 0; i < 2; i++) sort_order(s->cheap[i], (size_t)s->classes);
}

static berth_status list_offers(berth_i_slot_solver *s) {
  const berth_ps_job *j = s->job;
  berth_status st = BERTH_OK;
  s->offers = 0;
  s->offer_places = 0;
  orders(s);
  for (int32_t w = 1; w <= j->batch && st == BERTH_OK; w += w < 16 ? 1 : w / 8) {
    int32_t least = (int32_t)berth_i_pdors_servers(j, w), most = w > least ? w : least, before = s->offers;
    for (int32_t p = least;; p = 2 * p < most ? 2 * p : most) {
      st = offer_inside(s, w, p);
      for (int32_t i = 0; i < 2 && st == BERTH_OK; i++) st = offer_outside(s, s->cheap[i], w, p);
      if (p == most || st != BERTH_OK) break;
    }
    if (s->offers == before) break; /* nor do more workers fit */
  }
  /* What costs more must do more. */
  sort_by_cost(s->offer, (size_t)s->offers);
  int32_t n = 0;
  for (int32_t i = 0; i < s->offers; i++)
    if (n == 0 || s->offer[i].speed > s->offer[n - 1].speed) s->offer[n++] = s->offer[i];
  s->offers = n;
  s->listed = true;
  return st;
}

berth_status berth_i_slot_shared(berth_i_slot_solver *s, double samples, berth_i_slot_answer *out) {
  berth_status st = s->listed ? BERTH_OK : list_offers(s);
  if (st != BERTH_OK) return st;
  int32_t low = 0, high = s->offers;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (s->offer[middle].speed >= samples * (1 - 1e-12)) high = middle;
    else low = middle + 1;
  }
  *out = (berth_i_slot_answer){ .feasible = low < s->offers, .cost = INFINITY, .place = out->place };
  if (!out->feasible) return BERTH_OK;
  const berth_i_slot_offer *o = &s->offer[low];
  out->cost = o->cost;
  out->inside = o->n == 1;
  out->n = o->n;
  memcpy(out->place, s->offer_place + o->first, (size_t)o->n * sizeof *out->place);
  return BERTH_OK;
}

berth_status berth_i_slot_fastest(berth_i_slot_solver *s, double *speed) {
  berth_status st = s->listed ? BERTH_OK : list_offers(s);
  if (st == BERTH_OK) *speed = s->offers > 0 ? s->offer[s->offers - 1].speed : 0;
  return st;
}
