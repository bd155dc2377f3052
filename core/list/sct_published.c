/* The published rule of m-SCT. A device is awake once all producers of the favourite child have
 * finished, if none else could start that earlier: then it waits for it, unless some op could start
 * on every device at once, busy ones included. Else it takes the first op that can start now. Where
 * the published program picks an urgent op that cannot start on the device, and ends with an error,
 * the device takes what it would without that op. */
#include "sct_internal.h"

/* Published: the op's own memory, without what its group still requires. */
static bool fits_alone(const berth_i_sct *s, int32_t op, int32_t d) {
  const berth_plan *p = s->plan;
  if (p->setup->rule != BERTH_I_RULE_BAECHI_TF) return berth_i_store_fits(s->plan, op, d, p->now);
  berth_i_demand need = berth_i_op_demand(p->g, op, BERTH_MEMORY_TOTAL, p->setup->param_multiple);
  return berth_i_excess(p->store.held[d] + need.permanent + need.temporary, p->store.limit[d]) <= 0;
}

/* Earliest start; INFINITY: not there. */
static double est(const berth_i_sct *s, int32_t op, int32_t d) {
  berth_plan *p = s->plan;
  double open_at = berth_i_plan_open_at(p, d);
  if (!berth_i_plan_may(p, op, d) || !berth_i_store_fits(p, op, d, open_at)) return INFINITY;
  return fmax(berth_i_ready_at(p, op, d), open_at);
}

/* When it could start anywhere. */
static double urgent_time(const berth_i_sct *s, int32_t op) {
  double most = -1;
  for (int32_t d = 0; d < s->plan->devices; d++) {
    double at = est(s, op, d);
    if (!isinf(at)) most = fmax(most, at);
  }
  return most < 0 ? INFINITY : most;
}

/* While a busy device could hold any op, no op is urgent before that device is free. */
static bool nothing_urgent(const berth_i_sct *s) {
  const berth_plan *p = s->plan;
  for (int32_t d = 0; s->free_choice && d < p->devices; d++) {
    if (p->free_at[d] <= p->now) continue;
    if (p->setup->rule == BERTH_I_RULE_NONE) return true;
    if (berth_i_excess(fmax(p->store.held[d], p->store.temporary[d]) + s->largest,
                       p->store.limit[d])
        <= 0)
      return true;
  }
  return false;
}

/* @return BERTH_NONE: none, `at` INFINITY */
static int32_t most_urgent(const berth_i_sct *s, int32_t d, double *at) {
  const berth_plan *p = s->plan;
  int32_t best = BERTH_NONE;
  *at = INFINITY;
  if (nothing_urgent(s)) return best;
  for (int32_t i = 0; i < s->n; i++) {
    int32_t op = s->candidate[i];
    double time;
    if (!berth_i_plan_may(p, op, d) || !fits_alone(s, op, d) || (time = urgent_time(s, op)) > *at)
      continue;
    if (best != BERTH_NONE && time == *at && p->priority[op] < p->priority[best]) continue;
    best = op;
    *at = time;
  }
  return best;
}

/* @return the favourite that it would wait for; BERTH_NONE: the device is free */
static int32_t awaited(const berth_i_sct *s, int32_t d, double *here) {
  const berth_plan *p = s->plan;
  int32_t f = p->last[d] == BERTH_NONE ? BERTH_NONE : s->favourite[p->last[d]];
  if (f == BERTH_NONE || s->position[f] == BERTH_NONE
      || isinf(*here = est(s, f, d)))
    return BERTH_NONE;
  for (int32_t e = 0; e < p->devices; e++) {
    if (e != d && est(s, f, e) < *here) return BERTH_NONE;
  }
  return f;
}

berth_status berth_i_sct_offer_published(berth_i_sct *s, int32_t d, berth_i_offer *out) {
  berth_i_sct_queues *k = &s->queues[d];
  double now = s->plan->now, here = INFINITY, at;
  int32_t child = awaited(s, d, &here);
  /* 1. Not awake for a favourite: the first op that can start now. */
  if (child == BERTH_NONE) {
    berth_status st = berth_i_sct_update(s, d);
    if (st != BERTH_OK) return st;
    if (k->open.n > 0) out->op = k->open.at[0].item;
    if (k->waiting.n > 0) out->wake = k->waiting.at[0].key;
    return BERTH_OK;
  }
  /* 2. An urgent op if there is one, else the favourite once its inputs are there. */
  int32_t urgent = most_urgent(s, d, &at);
  if (urgent != BERTH_NONE && at <= now && est(s, urgent, d) <= now) {
    out->op = urgent;
  } else if (here <= now) {
    out->op = child;
  }
  out->wake = fmin(here, at > now ? at : INFINITY);
  return BERTH_OK;
}

/* ---- what never changes ---- */

static bool runs_anywhere(const berth_plan *p) {
  size_t n = (size_t)p->n * (size_t)p->cost->n_classes;
  if (p->g->pin || p->g->n_groups > 0 || p->setup->forced) return false;
  return !berth_i_any_infinite(p->cost->op, n);
}

void berth_i_sct_measure_published(berth_i_sct *s) {
  const berth_plan *p = s->plan;
  s->free_choice = runs_anywhere(p);
  for (int32_t i = 0; i < p->n; i++) {
    berth_i_demand need = berth_i_op_demand(p->g, i, BERTH_MEMORY_TOTAL, p->setup->param_multiple);
    s->largest = fmax(s->largest, need.permanent + need.temporary + berth_i_input_bytes(p->g, i));
  }
}
