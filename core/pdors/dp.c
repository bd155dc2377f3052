/* The best schedule of a job: dynamic programming forward over slots and quanta of work, for all
 * slots of completion at once (PD-ORS, algorithms 2 and 3).
 *
 * Slots with the same commitments are one class, and what an amount of work costs in a class is
 * computed once, and only if it could be part of a schedule that is better than the incumbent:
 * `ahead` has the most that can still be had from a slot on, by bounds on costs, which become costs
 * as they are computed. So the answer is that of the full table, in O(slots quanta most) besides
 * the amounts that are priced. */
#include "pdors_internal.h"

enum { EXACT_WORK_MOST = 16384 };

/* ---- arrays of a search: they stay from one job to the next, and grow ---- */

berth_status berth_i_pdors_search_init(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t slots = (size_t)d->c.slots, table = 1;
  while (table < 2 * slots) table *= 2;
  s->table_cap = table;
  s->class_of = berth_i_pool_alloc(&d->pool, slots, sizeof *s->class_of);
  s->slot_of = berth_i_pool_alloc(&d->pool, slots, sizeof *s->slot_of);
  s->worth = berth_i_pool_alloc(&d->pool, slots, sizeof *s->worth);
  s->hull = berth_i_pool_alloc(&d->pool, 2 * slots, sizeof *s->hull);
  s->heap = berth_i_pool_alloc(&d->pool, 2 * slots, sizeof *s->heap);
  s->table = berth_i_pool_alloc(&d->pool, table, sizeof *s->table);
  s->answer = berth_i_pool_alloc(&d->pool, (size_t)d->c.machines, sizeof *s->answer);
  return berth_i_pool_status(&d->pool);
}

static double *lower_of(berth_i_pdors_search *s, int32_t class, int32_t v) {
  return &s->lower[(size_t)class * (size_t)(s->most + 1) + (size_t)v];
}
static berth_i_pdors_known *known_of(berth_i_pdors_search *s, int32_t class, int32_t v) {
  return &s->known[(size_t)class * (size_t)(s->most + 1) + (size_t)v];
}
static double *ahead_of(berth_i_pdors_search *s, int32_t i) {
  return s->ahead + (size_t)i * (size_t)(s->quanta + 1);
}
static double *behind_of(berth_i_pdors_search *s, int32_t i) {
  return s->behind + (size_t)i * (size_t)(s->quanta + 1);
}
static int16_t *chosen_at(berth_i_pdors_search *s, int32_t i) {
  return s->chosen + (size_t)i * (size_t)(s->quanta + 1);
}

/* Sums in another order differ by so much. */
static double tolerance(double x) { return 1e-12 * fabs(x); }

/* Most in a slot is a whole number of quanta. Finer than a worker's slot makes no difference,
 * unless what a worker does depends on the places. */
double berth_i_pdors_quantum(const berth_pdors *d, const berth_i_pdors_rates *r) {
  double full = r->work / r->most, fine = fmin(d->o.quanta / full, d->o.most_quanta);
  double workers = d->shared ? INFINITY : ceil(r->most * r->scale * r->inside * (1 - 1e-12));
  return d->o.exact_work ? 1 : r->most / fmin(fmax(1, floor(fine)), fmax(1, workers));
}

/* ---- what work costs in a slot (algorithm 4: slot.c) ---- */

/* One stream for each job, contents of a slot and amount: so an answer depends neither on which of
 * several equal slots was the first to be priced, nor on what else was. */
uint64_t berth_i_pdors_stream(const berth_pdors *d, int32_t job, int32_t slot, int32_t v) {
  uint64_t x = d->slot[slot].hash;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u + (uint64_t)(uint32_t)job;
  x = (x ^ x >> 31) * 0x94d049bb133111ebu + (uint64_t)(uint32_t)v;
  return x ^ x >> 30;
}

/* The least cost of v quanta in a class, with its places. */
static berth_status price_work(berth_pdors *d, int32_t class, int32_t v) {
  berth_i_pdors_search *s = &d->search;
  berth_i_pdors_known *known = known_of(s, class, v);
  if (known->known) {
    d->counts.slots_remembered++;
    return BERTH_OK;
  }
  berth_status st = BERTH_OK;
  int32_t slot = s->slot_of[class];
  if (s->begun != class) {
    const berth_i_pdors_slot *at = berth_i_pdors_slot_at(d, slot);
    berth_i_slot_state state = { at->price, at->left };
    s->begun = class;
    if (d->oasis) berth_i_oasis_begin(d, s->job, &state);
    else if ((st = berth_i_slot_begin(d->solver, s->job, &state)) != BERTH_OK) return st;
  }
  berth_i_slot_answer a = { .place = s->answer };
  double samples = fmin(v * s->quantum, s->rates.work) * s->rates.scale;
  d->counts.slots_solved++;
  if (d->oasis) berth_i_oasis_solve(d, samples, &a);
  else
    st = berth_i_slot_solve(d->solver, samples, berth_i_pdors_stream(d, s->job, slot, v), &a);
  if (st != BERTH_OK) return st;
  size_t n = a.feasible ? (size_t)a.n : 0;
  if ((st = BERTH_I_POOL_GROW(&d->pool, s->place, s->place_cap, s->place_n + n)) != BERTH_OK)
    return st;
  *known = (berth_i_pdors_known){ true, a.inside, (int32_t)n, s->place_n };
  if (n > 0) memcpy(s->place + s->place_n, a.place, n * sizeof *a.place);
  s->place_n += n;
  *lower_of(s, class, v) = a.feasible ? a.cost : INFINITY;
  return BERTH_OK;
}

/* ---- bounds on what is ahead ---- */

/* Payoff of doing v in slot i, and what is left of `left` after it. */
static double payoff_of(berth_i_pdors_search *s, int32_t i, int32_t left, int32_t v) {
  double rest = v == left ? s->worth[i] : ahead_of(s, i + 1)[left - v];
  return rest - (v > 0 ? *lower_of(s, s->class_of[i], v) : 0);
}

static void look_ahead(berth_i_pdors_search *s) {
  for (int32_t left = 0; left <= s->quanta; left++) ahead_of(s, s->n)[left] = -INFINITY;
  for (int32_t i = s->n - 1; i >= 0; i--)
    for (int32_t left = 1; left <= s->quanta; left++) {
      double best = payoff_of(s, i, left, 0);
      for (int32_t v = 1; v <= s->most && v <= left; v++)
        best = fmax(best, payoff_of(s, i, left, v));
      ahead_of(s, i)[left] = best;
    }
}

enum { ROUNDS = 4 };

/* The schedule that is best by the bounds is priced: what it really pays is the incumbent. Bounds
 * rise on the way, so this is done again, until nothing is priced that was not before. */
static berth_status find_incumbent(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  bool news = true;
  look_ahead(s);
  for (int32_t round = 0; round < ROUNDS && news; round++) {
    if (!(ahead_of(s, 0)[s->quanta] > s->incumbent - tolerance(s->incumbent))) return BERTH_OK;
    double spent = 0;
    int32_t left = s->quanta;
    news = false;
    for (int32_t i = 0; i < s->n && left > 0 && spent < INFINITY; i++) {
      int32_t v = 0, class = s->class_of[i];
      for (int32_t k = 1; k <= s->most && k <= left; k++)
        if (payoff_of(s, i, left, k) > payoff_of(s, i, left, v)) v = k;
      if (v == 0) continue;
      news |= !known_of(s, class, v)->known;
      berth_status st = price_work(d, class, v);
      if (st != BERTH_OK) return st;
      spent += *lower_of(s, class, v);
      left -= v;
      if (left == 0) s->incumbent = fmax(s->incumbent, s->worth[i] - spent);
    }
    look_ahead(s);
  }
  return BERTH_OK;
}

/* ---- forward ---- */

/* Algorithm 3 for all slots of completion.  @param best slot of completion; BERTH_NONE */
static berth_status go_forward(berth_pdors *d, int32_t *best, double *payoff) {
  berth_i_pdors_search *s = &d->search;
  const int32_t all = s->quanta;
  *best = BERTH_NONE;
  *payoff = -INFINITY;
  for (int32_t i = 0; i <= all; i++) behind_of(s, 0)[i] = i == 0 ? 0 : INFINITY;
  for (int32_t i = 0; i < s->n; i++) {
    int32_t class = s->class_of[i];
    const double *before = behind_of(s, i);
    double *after = behind_of(s, i + 1);
    int16_t *chosen = chosen_at(s, i);
    double mark = s->incumbent - tolerance(s->incumbent) - tolerance(s->worth[0]);
    /* 1. The costs of this slot, of amounts by which some schedule may be as good as the
     * incumbent. */
    berth_status st = berth_i_interrupted(d->ctx);
    for (int32_t v = 1; v <= s->most && st == BERTH_OK; v++) {
      int32_t done = 0;
      if (isinf(*lower_of(s, class, v))) continue;
      while (done + v <= all
             && !(payoff_of(s, i, all - done, v) - before[done] >= mark))
        done++;
      if (done + v <= all) st = price_work(d, class, v);
    }
    if (st != BERTH_OK) return st;
    /* 2. The cheapest way to have so much done by the end of it. Equal costs: as much as can be in
     * earlier slots. */
    for (int32_t done = 0; done <= all; done++) {
      after[done] = before[done];
      chosen[done] = 0;
      for (int32_t v = 1; v <= s->most && v <= done; v++) {
        double cost =
            known_of(s, class, v)->known ? before[done - v] + *lower_of(s, class, v) : INFINITY;
        if (!(cost < after[done])) continue;
        after[done] = cost;
        chosen[done] = (int16_t)v;
      }
    }
    /* 3. Completion in this slot. */
    double here = s->worth[i] - after[all];
    if (here > *payoff) {
      *payoff = here;
      *best = i;
    }
    s->incumbent = fmax(s->incumbent, here);
    /* 4. The end, if nothing that is done later can be better. */
    mark = s->incumbent - tolerance(s->incumbent) - tolerance(s->worth[0]);
    int32_t done = 0;
    while (done < all && !(ahead_of(s, i + 1)[all - done] - after[done] >= mark))
      done++;
    if (done == all) break;
  }
  return BERTH_OK;
}

/* ---- the plan ---- */

/* Backwards: the last place is the last of the arrays. */
static berth_status read_plan(berth_pdors *d, int32_t last, berth_pdors_plan *out) {
  berth_i_pdors_search *s = &d->search;
  int32_t i, done, v;
  size_t n = 0;
  for (i = last, done = s->quanta; done > 0; done -= v, i--)
    if ((v = chosen_at(s, i)[done]) > 0) n += (size_t)known_of(s, s->class_of[i], v)->n;
  berth_status st = BERTH_I_POOL_GROW(&d->pool, s->plan_slot, s->plan_cap, n);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&d->pool, s->plan_place, s->plan_place_cap, n);
  if (st != BERTH_OK) return st;
  size_t at = n;
  for (i = last, done = s->quanta; done > 0; done -= v, i--) {
    if ((v = chosen_at(s, i)[done]) == 0) continue;
    const berth_i_pdors_known *k = known_of(s, s->class_of[i], v);
    at -= (size_t)k->n;
    for (size_t p = 0; p < (size_t)k->n; p++) {
      s->plan_slot[at + p] = s->from + i;
      s->plan_place[at + p] = s->place[k->place + p];
    }
  }
  out->n = n;
  out->slot = s->plan_slot;
  out->place = s->plan_place;
  return BERTH_OK;
}

static bool same(const berth_ps_place *a, size_t n, const berth_ps_place *b, size_t m) {
  for (size_t i = 0; i < n && n == m; i++)
    if (a[i].machine != b[i].machine || a[i].workers != b[i].workers
        || a[i].servers != b[i].servers)
      return false;
  return n == m;
}

static double cost_of(berth_pdors *d, const berth_ps_job *j, int32_t slot,
                      const berth_ps_place *p) {
  const double *price = berth_i_pdors_slot_at(d, slot)->price + (size_t)p->machine
                                                                    * (size_t)d->c.resources;
  double sum = 0;
  for (int32_t r = 0; r < d->c.resources; r++) {
    double amount = berth_i_pdors_demand(j, p, r);
    if (amount > 0) sum += amount * price[r];
  }
  return sum;
}

/* Where moves cost time, every slot is planned as if it began with one. Plays the plan with those
 * moves that it really has, and cuts it where it is done. What ran before the plan began was
 * somewhere else. O(places) */
static void trim(berth_pdors *d, int32_t job, double work, bool ran, berth_pdors_plan *plan) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  size_t end, last = 0, last_n = 0;
  double done = 0;
  for (size_t at = 0; at < plan->n; last = at, last_n = end - at, at = end) {
    for (end = at; end < plan->n && plan->slot[end] == plan->slot[at]; end++) {}
    bool moves = last_n == 0 ? ran : !same(plan->place + at, end - at, plan->place + last, last_n);
    done += berth_ps_speed(d->ps, job, (int32_t)(end - at), plan->place + at)
            * (moves ? 1 - j->moving : 1);
    if (done < work * (1 - 1e-9)) continue;
    if (end == plan->n) return;
    plan->n = end;
    plan->done = plan->slot[end - 1];
    plan->utility = berth_ps_utility(j, plan->done - j->arrival);
    plan->cost = 0;
    for (size_t i = 0; i < end; i++) plan->cost += cost_of(d, j, plan->slot[i], &plan->place[i]);
    plan->payoff = plan->utility - plan->cost;
    return;
  }
}

/* With shared links, what is sent depends on the places: of equation 1 only the computing is a
 * bound. The most in a slot is that of the best offer of an empty one. */
berth_status berth_i_pdors_planned_rates(berth_pdors *d, int32_t job, berth_i_pdors_rates *out) {
  berth_i_pdors_rates_of(d, job, out);
  if (!d->shared) return BERTH_OK;
  out->inside = out->outside = berth_ps_job_at(d->ps, job)->tau;
  double *fastest = &d->revision.fastest[job];
  if (isnan(*fastest)) {
    berth_i_slot_state state = { d->blank.price, d->blank.left };
    berth_status st = berth_i_slot_begin(d->solver, job, &state);
    if (st == BERTH_OK) st = berth_i_slot_fastest(d->solver, fastest);
    if (st != BERTH_OK) return st;
  }
  out->most = *fastest / out->scale;
  return BERTH_OK;
}

/* Algorithm 2. */
berth_status berth_i_pdors_search_for(berth_pdors *d, int32_t job, int32_t from, double work,
                                      berth_pdors_plan *out) {
  berth_i_pdors_search *s = &d->search;
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  *out = (berth_pdors_plan){
    .payoff = NAN, .utility = NAN, .cost = NAN, .bound = -INFINITY, .done = BERTH_NONE
  };
  berth_status st = berth_i_pdors_planned_rates(d, job, &s->rates);
  if (st != BERTH_OK) return st;
  s->rates.work = work;
  if (!berth_i_pdors_can_finish(d, &s->rates, from)) return BERTH_OK;
  if (d->o.exact_work && work > EXACT_WORK_MOST)
    return berth_i_fail(d->ctx, BERTH_EUNSUPPORTED,
                        "pdors: job %d has %g samples, exact_work is for at most %d", job, work,
                        EXACT_WORK_MOST);
  s->job = job;
  s->from = from;
  s->n = d->c.slots - from;
  s->begun = BERTH_NONE;
  s->place_n = 0;
  s->incumbent = 0;
  for (int32_t i = 0; i < s->n; i++) s->worth[i] = berth_ps_utility(j, from + i - j->arrival);
  s->quantum = berth_i_pdors_quantum(d, &s->rates);
  s->quanta = (int32_t)fmax(1, ceil(work / s->quantum * (1 - 1e-12)));
  s->most = (int32_t)fmin(s->quanta, fmax(1, floor(s->rates.most / s->quantum * (1 + 1e-12))));
  /* 1. Classes of slots; no cost is known yet. */
  berth_i_pdors_classify(d);
  size_t works = (size_t)s->classes * (size_t)(s->most + 1);
  st = BERTH_I_POOL_GROW(&d->pool, s->lower, s->works, works);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&d->pool, s->known, s->options, works);
  if (st != BERTH_OK) return st;
  memset(s->known, 0, works * sizeof *s->known);
  /* 2. Bounds: if no schedule pays by them, none is searched for. */
  berth_i_pdors_lower(d);
  out->bound = berth_i_pdors_relaxed(d);
  if (!(out->bound > 0)) return BERTH_OK;
  /* 3. The table. */
  int32_t last;
  double payoff;
  size_t cells = (size_t)(s->n + 1) * (size_t)(s->quanta + 1);
  if ((st = BERTH_I_POOL_GROW(&d->pool, s->ahead, s->ahead_cap, cells)) !=
          BERTH_OK ||
      (st = BERTH_I_POOL_GROW(&d->pool, s->behind, s->behind_cap, cells)) !=
          BERTH_OK ||
      (st = BERTH_I_POOL_GROW(&d->pool, s->chosen, s->chosen_cap, cells)) !=
          BERTH_OK ||
      (st = find_incumbent(d)) != BERTH_OK ||
      (st = go_forward(d, &last, &payoff)) != BERTH_OK || last == BERTH_NONE)
    return st;
  /* 4. The plan. */
  out->payoff = payoff;
  out->utility = s->worth[last];
  out->cost = behind_of(s, last + 1)[s->quanta];
  out->done = from + last;
  if ((st = read_plan(d, last, out)) != BERTH_OK) return st;
  if (s->rates.scale > 1) trim(d, job, work, from > j->arrival, out);
  out->admitted = out->payoff > 0;
  return BERTH_OK;
}
