/* The best schedule of a job: dynamic programming forward over slots and quanta of work, for all
 * slots of completion at once (PD-ORS, algorithms 2 and 3).
 *
 * Slots with the same commitments are one class, and what an amount of work costs in a class is
 * asked once. It is asked at all only if it could be part of a schedule that is better than one at
 * hand: `ahead` has the most that can still be had from a slot on, by bounds on costs, which become
 * costs as they are known. So the answer is that of the full table. */
#include "pdors_internal.h"

enum { EXACT_WORK_MOST = 16384 };

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

/* Sums in another order differ by so much. */
static double tolerance(double x) { return 1e-12 * fabs(x); }

/* Most in a slot is a whole number of quanta. Finer than a worker's slot makes no difference. */
double berth_i_pdors_quantum(const berth_pdors *d, const berth_i_pdors_rates *r) {
  double full = r->work / r->most, fine = fmin(d->o.quanta / full, d->o.most_quanta);
  double workers = ceil(r->most * r->scale * r->inside * (1 - 1e-12));
  return d->o.exact_work ? 1 : r->most / fmin(fmax(1, floor(fine)), fmax(1, workers));
}

/* ---- what work costs in a slot ---- */

static berth_status begin(berth_pdors *d, int32_t class) {
  berth_i_pdors_search *s = &d->search;
  const berth_i_pdors_slot *at = berth_i_pdors_slot_at(d, s->slot_of[class]);
  berth_i_slot_state state = { at->price, at->left };
  if (s->begun == class) return BERTH_OK;
  s->begun = class;
  if (d->oasis) {
    berth_i_oasis_begin(d, s->job, &state);
    return BERTH_OK;
  }
  return berth_i_slot_begin(d->solver, s->job, &state);
}

/* One stream for each job, contents of a slot and amount: so an answer does not depend on which of
 * several equal slots was the first to be looked at, nor on what else was. */
uint64_t berth_i_pdors_stream(const berth_pdors *d, int32_t job, int32_t slot, int32_t v) {
  uint64_t x = d->slot[slot].hash;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u + (uint64_t)(uint32_t)job;
  x = (x ^ x >> 31) * 0x94d049bb133111ebu + (uint64_t)(uint32_t)v;
  return x ^ x >> 30;
}

static berth_status keep(berth_pdors *d, berth_i_pdors_known *k, const berth_i_slot_answer *a) {
  berth_i_pdors_search *s = &d->search;
  berth_status st = berth_i_pool_grow(&d->pool, (void **)&s->place, &s->place_cap,
                                      s->place_n + (size_t)a->n, sizeof *s->place);
  if (st != BERTH_OK) return st;
  *k = (berth_i_pdors_known){ true, a->inside, a->n, s->place_n };
  if (a->n > 0) memcpy(s->place + s->place_n, a->place, (size_t)a->n * sizeof *a->place);
  s->place_n += (size_t)a->n;
  return BERTH_OK;
}

static berth_status solve_once(berth_pdors *d, int32_t class, int32_t v) {
  if (!known_of(&d->search, class, v)->known) {
    berth_i_pdors_search *s = &d->search;
    berth_i_slot_answer a = { .place = s->answer };
    double samples = fmin(v * s->quantum, s->rates.work) * s->rates.scale;
    berth_status st = begin(d, class);
    if (st != BERTH_OK) return st;
    d->counts.slots_solved++;
    if (d->oasis) berth_i_oasis_solve(d, samples, &a);
    else if ((st = berth_i_slot_solve(d->solver, samples,
                                      berth_i_pdors_stream(d, s->job, s->slot_of[class], v), &a))
             != BERTH_OK)
      return st;
    if (!a.feasible) a.n = 0;
    if ((st = keep(d, known_of(s, class, v), &a)) != BERTH_OK) return st;
    *lower_of(s, class, v) = a.feasible ? a.cost : INFINITY;
    return BERTH_OK;
  }
  d->counts.slots_remembered++;
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

static int32_t best_amount(berth_i_pdors_search *s, int32_t i, int32_t left) {
  int32_t best = 0;
  for (int32_t v = 1; v <= s->most && v <= left; v++)
    if (payoff_of(s, i, left, v) > payoff_of(s, i, left, best)) best = v;
  return best;
}

/* The schedule that the bounds like best, looked at closely: what it really pays is a mark for
 * others. Bounds rise on the way.
 *  @param news whether anything was not known before */
static berth_status follow(berth_pdors *d, bool *news) {
  berth_i_pdors_search *s = &d->search;
  double spent = 0;
  int32_t left = s->quanta;
  *news = false;
  for (int32_t i = 0; i < s->n && left > 0; i++) {
    int32_t v = best_amount(s, i, left), class = s->class_of[i];
    if (v == 0) continue;
    *news |= !known_of(s, class, v)->known;
    berth_status st;
    if ((st = solve_once(d, class, v)) != BERTH_OK) return st;
    spent += *lower_of(s, class, v);
    if (isinf(spent)) return BERTH_OK;
    left -= v;
    if (left == 0) s->incumbent = fmax(s->incumbent, s->worth[i] - spent);
  }
  return BERTH_OK;
}

enum { ROUNDS = 4 };

static berth_status find_incumbent(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  berth_status st = BERTH_OK;
  bool news = true;
  look_ahead(s);
  for (int32_t round = 0; round < ROUNDS && news && st == BERTH_OK; round++) {
    if (!(ahead_of(s, 0)[s->quanta] > s->incumbent - tolerance(s->incumbent))) return BERTH_OK;
    st = follow(d, &news);
    look_ahead(s);
  }
  return st;
}

/* ---- forward ---- */

/* Some schedule that does v in slot i may be as good as the one at hand. */
static bool may_help(berth_i_pdors_search *s, int32_t i, int32_t v) {
  const double *before = behind_of(s, i);
  double mark = s->incumbent - tolerance(s->incumbent) - tolerance(s->worth[0]);
  if (isinf(*lower_of(s, s->class_of[i], v))) return false;
  for (int32_t done = 0; done + v <= s->quanta; done++)
    if (payoff_of(s, i, s->quanta - done, v) - before[done] >= mark) return true;
  return false;
}

static berth_status price_slot(berth_pdors *d, int32_t i) {
  berth_i_pdors_search *s = &d->search;
  int32_t class = s->class_of[i];
  berth_status st = berth_i_interrupted(d->ctx);
  for (int32_t v = 1; v <= s->most && st == BERTH_OK; v++)
    if (may_help(s, i, v)) st = solve_once(d, class, v);
  return st;
}

/* Nothing that is done later can be better. */
static bool is_over(berth_i_pdors_search *s, int32_t i) {
  const double *after = behind_of(s, i + 1);
  double mark = s->incumbent - tolerance(s->incumbent) - tolerance(s->worth[0]);
  for (int32_t done = 0; done < s->quanta; done++)
    if (ahead_of(s, i + 1)[s->quanta - done] - after[done] >= mark) return false;
  return true;
}

/* @param best slot of completion; BERTH_NONE */
static berth_status go_forward(berth_pdors *d, int32_t *best, double *payoff) {
  berth_i_pdors_search *s = &d->search;
  berth_status st = BERTH_OK;
  *best = BERTH_NONE;
  *payoff = -INFINITY;
  for (int32_t i = 0; i <= s->quanta; i++) behind_of(s, 0)[i] = i == 0 ? 0 : INFINITY;
  for (int32_t i = 0; i < s->n && st == BERTH_OK; i++) {
    if ((st = price_slot(d, i)) != BERTH_OK) break;
    /* What was not looked at cannot be part of the best. Equal costs: as much as can be in earlier
     * slots. */
    const double *before = behind_of(s, i);
    double *after = behind_of(s, i + 1);
    int16_t *chosen = s->chosen + (size_t)i * (size_t)(s->quanta + 1);
    int32_t class = s->class_of[i];
    for (int32_t done = 0; done <= s->quanta; done++) {
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
    double here = s->worth[i] - behind_of(s, i + 1)[s->quanta];
    if (here > *payoff) {
      *payoff = here;
      *best = i;
    }
    s->incumbent = fmax(s->incumbent, here);
    if (is_over(s, i)) break;
  }
  return st;
}

/* ---- the plan ---- */

static berth_status reserve_plan(berth_pdors *d, size_t n) {
  berth_i_pdors_search *s = &d->search;
  berth_status st =
      berth_i_pool_grow(&d->pool, (void **)&s->plan_slot, &s->plan_cap, n, sizeof *s->plan_slot);
  if (st != BERTH_OK) return st;
  return berth_i_pool_grow(&d->pool, (void **)&s->plan_place, &s->plan_place_cap, n,
                           sizeof *s->plan_place);
}

static int32_t chosen_at(const berth_i_pdors_search *s, int32_t i, int32_t done) {
  return s->chosen[(size_t)i * (size_t)(s->quanta + 1) + (size_t)done];
}

/* Backwards: the last place goes to the end of the room. */
static berth_status read_plan(berth_pdors *d, int32_t last, berth_pdors_plan *out) {
  berth_i_pdors_search *s = &d->search;
  int32_t i, done, v;
  size_t n = 0;
  for (i = last, done = s->quanta; done > 0; done -= v, i--)
    if ((v = chosen_at(s, i, done)) > 0) n += (size_t)known_of(s, s->class_of[i], v)->n;
  berth_status st;
  if ((st = reserve_plan(d, n)) != BERTH_OK) return st;
  size_t at;
  for (i = last, done = s->quanta, at = n; done > 0; done -= v, i--) {
    if ((v = chosen_at(s, i, done)) == 0) continue;
    const berth_i_pdors_known *k = known_of(s, s->class_of[i], v);
    at -= (size_t)k->n;
    for (int32_t p = 0; p < k->n; p++) {
      s->plan_slot[at + (size_t)p] = s->from + i;
      s->plan_place[at + (size_t)p] = s->place[k->place + (size_t)p];
    }
  }
  out->n = n;
  out->slot = s->plan_slot;
  out->place = s->plan_place;
  return BERTH_OK;
}

static void begin_search(berth_pdors *d, int32_t job, int32_t from) {
  berth_i_pdors_search *s = &d->search;
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  s->job = job;
  s->from = from;
  s->n = d->c.slots - from;
  s->begun = BERTH_NONE;
  s->place_n = 0;
  s->incumbent = 0;
  for (int32_t i = 0; i < s->n; i++) s->worth[i] = berth_ps_utility(j, from + i - j->arrival);
  s->quantum = berth_i_pdors_quantum(d, &s->rates);
  s->quanta = (int32_t)fmax(1, ceil(s->rates.work / s->quantum * (1 - 1e-12)));
  s->most = (int32_t)fmin(s->quanta, fmax(1, floor(s->rates.most / s->quantum * (1 + 1e-12))));
}

static berth_status search(berth_pdors *d, berth_pdors_plan *out) {
  berth_i_pdors_search *s = &d->search;
  berth_i_pdors_classify(d);
  berth_status st;
  if ((st = berth_i_pdors_reserve_by_class(d)) != BERTH_OK) return st;
  berth_i_pdors_lower(d);
  out->bound = berth_i_pdors_relaxed(d);
  if (!(out->bound > 0)) return BERTH_OK;
  if ((st = berth_i_pdors_reserve_by_quantum(d)) != BERTH_OK ||
      (st = find_incumbent(d)) != BERTH_OK)
    return st;
  int32_t last;
  double payoff;
  if ((st = go_forward(d, &last, &payoff)) != BERTH_OK || last == BERTH_NONE) return st;
  out->payoff = payoff;
  out->utility = s->worth[last];
  out->cost = behind_of(s, last + 1)[s->quanta];
  out->done = s->from + last;
  if ((st = read_plan(d, last, out)) != BERTH_OK) return st;
  if (s->rates.scale > 1)
    berth_i_pdors_trim(d, s->job, s->rates.work, s->from > berth_ps_job_at(d->ps, s->job)->arrival,
                       out);
  out->admitted = out->payoff > 0;
  return BERTH_OK;
}

berth_status berth_i_pdors_search_for(berth_pdors *d, int32_t job, int32_t from, double work,
                                      berth_pdors_plan *out) {
  berth_i_pdors_search *s = &d->search;
  *out = (berth_pdors_plan){
    .payoff = NAN, .utility = NAN, .cost = NAN, .bound = -INFINITY, .done = BERTH_NONE
  };
  berth_i_pdors_rates_of(d, job, &s->rates);
  s->rates.work = work;
  if (!berth_i_pdors_can_finish(d, &s->rates, from)) return BERTH_OK;
  if (d->o.exact_work && s->rates.work > EXACT_WORK_MOST)
    return berth_i_fail(d->ctx, BERTH_EUNSUPPORTED,
                        "pdors: job %d has %g samples, exact_work is for at most %d", job,
                        s->rates.work, EXACT_WORK_MOST);
  begin_search(d, job, from);
  return search(d, out);
}
