/* The placements that a search starts from. Structure: up to BERTH_I_STARTS placements of units,
 * best first, and one rival: the given start, or the best of the further ones.
 * Invariant: each is legal and has been evaluated; `trial` is scratch, swapped with what it
 * replaces. One call of the objective for each start. */
#include "search_internal.h"

static const double FAR = 1.25;

berth_status berth_i_starts_init(const berth_i_problem *p, berth_i_pool *pool, berth_i_starts *a) {
  size_t n = (size_t)p->n;
  a->rival_value = INFINITY;
  a->rival = berth_i_pool_zalloc(pool, n, sizeof *a->rival);
  a->trial = berth_i_pool_zalloc(pool, n, sizeof *a->trial);
  for (int32_t i = 0; i < BERTH_I_STARTS; i++)
    a->device[i] = berth_i_pool_zalloc(pool, n, sizeof *a->device[i]);
  return berth_i_pool_status(pool);
}

static void swap(int32_t **a, int32_t **b) {
  int32_t *kept = *a;
  *a = *b;
  *b = kept;
}

/* Inserts the trial in order of value; the last is dropped. Equal ones: the first stays first. */
static void insert(berth_i_starts *a, double value) {
  int32_t i = a->n;
  if (a->n == BERTH_I_STARTS && !(value < a->value[--i])) return;
  if (a->n < BERTH_I_STARTS) a->n++;
  swap(&a->device[i], &a->trial);
  a->value[i] = value;
  for (; i > 0 && value < a->value[i - 1]; i--) {
    swap(&a->device[i], &a->device[i - 1]);
    a->value[i] = a->value[i - 1];
    a->value[i - 1] = value;
  }
}

static void challenge(berth_i_starts *a, double value) {
  if (!(value < a->rival_value)) return;
  swap(&a->rival, &a->trial);
  a->rival_value = value;
}

static berth_status evaluate(berth_i_walk *w, berth_i_starts *a,
                          void (*keep)(berth_i_starts *a, double value)) {
  double value;
  berth_status st = berth_i_walk_evaluate(w, a->trial, INFINITY, &value);
  if (st == BERTH_OK && !isinf(value)) keep(a, value);
  return st;
}

/* Pins, types, groups and routes hold. */
static bool is_legal(berth_i_walk *w, const int32_t *device) {
  return berth_i_sim_execute(w->p->plan, w->state, device, w->p->plan->o.seed, false);
}

static void copy(const berth_i_problem *p, berth_i_starts *a, const int32_t *device) {
  if (p->n > 0) memcpy(a->trial, device, (size_t)p->n * sizeof *device);
}

static bool has_calls(const berth_i_walk *w) {
  return w->p->o->calls == 0 || w->calls < w->p->o->calls;
}

double berth_i_starts_value(const berth_i_starts *a) { return fmin(a->value[0], a->rival_value); }

bool berth_i_starts_near(const berth_i_starts *a, int32_t pick) {
  return a->value[pick] <= FAR * a->rival_value;
}

berth_status berth_i_starts_make(berth_i_walk *w, berth_i_starts *a, bool alone) {
  berth_i_problem *p = w->p;
  const berth_search_options *o = p->o;
  bool found = false, own = true;
  if (berth_i_interrupted(p->ctx) != BERTH_OK) return BERTH_EINTERRUPT;
  berth_status st = BERTH_OK;
  /* 1. The given start; an illegal one fails with the simulator's message. */
  if (o->start) {
    if (!is_legal(w, o->start)) return berth_i_fault_report(p->plan, &w->state->fault);
    copy(p, a, o->start);
    if ((st = evaluate(w, a, challenge)) != BERTH_OK) return st;
    own = !alone && !isinf(a->rival_value);
  }
  /* 2. The list-scheduled start, of units; where these do not fit, of single ops. */
  if (own && has_calls(w)) {
    st = berth_i_start_listed(p, &p->units, a->trial, w->held, &found);
    if (st == BERTH_OK && !found)
      st = berth_i_start_listed(p, &p->atoms, a->trial, w->held, &found);
    if (st == BERTH_OK && found) st = evaluate(w, a, insert);
    if (st != BERTH_OK) return st;
  }
  /* 3. The one distributed in turn, likewise. */
  if (own && has_calls(w)) {
    found = berth_i_start_dealt(p, &p->units, NULL, a->trial, w->held)
         || (a->n == 0 && berth_i_start_dealt(p, &p->atoms, NULL, a->trial, w->held));
    if (found && (st = evaluate(w, a, insert)) != BERTH_OK) return st;
  }
  /* 4. The further ones, as far as they are legal. */
  for (int32_t i = 0; !o->start && i < o->n_further && has_calls(w); i++) {
    const int32_t *device = &o->further[(size_t)i * (size_t)p->n];
    if (!is_legal(w, device)) continue;
    copy(p, a, device);
    if ((st = evaluate(w, a, challenge)) != BERTH_OK) return st;
  }
  /* 5. Without any of units, walks leave from the rival. */
  if (a->n == 0 && !isinf(a->rival_value)) {
    copy(p, a, a->rival);
    insert(a, a->rival_value);
  }
  if (a->n > 0) return BERTH_OK;
  return berth_i_fail(p->ctx, BERTH_EINFEASIBLE,
                      "search: %s is refused: it runs out of memory, some tensor has no route, or "
                      "the objective does not allow it",
                      o->start ? "the start" : "each start made of units");
}
