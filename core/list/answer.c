/* The end of a plan: a placement, in the order of starts and in seconds; or the op that cannot be
 * placed, with the bytes that it lacks on the device that comes closest, or the rule that forbids
 * it.
 * O(ops log) for the order of starts, O(devices) for a refusal. */
#include "engine_internal.h"

/* ---- the answer ---- */

berth_status berth_i_plan_answer(berth_plan *p, berth_placement **out) {
  berth_status st = berth_i_order_by_start(p->answer);
  if (st != BERTH_OK) return st;
  p->answer->estimate = 0;
  for (int32_t i = 0; i < p->n; i++) {
    p->start[i] *= p->unit;
    p->finish[i] *= p->unit;
    p->answer->estimate = fmax(p->answer->estimate, p->finish[i]);
  }
  if ((st = berth_i_collectives_last(p, &p->answer->estimate)) != BERTH_OK) return st;
  if (p->setup->load_only) { /* positions in the load of a device are no times */
    p->answer->sequence = NULL;
    p->answer->start = p->answer->finish = NULL;
  }
  *out = p->answer;
  p->answer = NULL;
  return BERTH_OK;
}

/* ---- being stuck ---- */

static int32_t find_stuck(const berth_plan *p) {
  int32_t best = BERTH_NONE;
  for (int32_t op = 0; op < p->n; op++) {
    if (p->device[op] != BERTH_NONE || p->pending[op] > 0) continue;
    if (best == BERTH_NONE || p->priority[op] > p->priority[best]) best = op;
  }
  return best;
}

/* It is not memory that keeps op out. @param d a device that could run it; BERTH_NONE: none can be
 * reached */
static berth_status refused(berth_plan *p, int32_t op, int32_t d, berth_obstacle *why) {
  char label[160];
  berth_i_op_label(p->g, op, label, sizeof label);
  if (why) *why = (berth_obstacle){ op, BERTH_NONE, 0 };
  if (d == BERTH_NONE)
    return berth_i_fail(p->ctx, BERTH_EUNREACHABLE,
                        "%s: no device that can run %s has routes from the devices of its "
                        "producers", p->setup->placer, label);
  if (isinf(p->ready[d] + berth_i_plan_length(p, op, d)))
    return berth_i_fail(p->ctx, BERTH_EINFEASIBLE,
                        "%s: the end of %s is no finite number: its times are too large",
                        p->setup->placer, label);
  return berth_i_fail(p->ctx, BERTH_EINFEASIBLE,
                      "%s: the policy \"%s\" takes no device for %s, though some could run it",
                      p->setup->placer, p->setup->policy.name ? p->setup->policy.name : "", label);
}

berth_status berth_i_plan_stuck(berth_plan *p, int32_t op, berth_obstacle *why) {
  int32_t closest = BERTH_NONE;
  double least = INFINITY;
  bool cut = false;
  if (op == BERTH_NONE) op = find_stuck(p);
  berth_i_ready_row(p, op, p->ready);
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_plan_may(p, op, d)) continue;
    if (isinf(p->ready[d])) {
      cut = true;
      continue;
    }
    double missing = berth_i_store_missing(
        p, op, d, berth_i_plan_earliest(p, op, d, p->ready[d], berth_i_plan_length(p, op, d)));
    if (missing <= 0) return refused(p, op, d, why);
    if (!(missing < least)) continue;
    least = missing;
    closest = d;
  }
  if (closest == BERTH_NONE && cut) return refused(p, op, BERTH_NONE, why);
  return berth_i_infeasible(p->cost, p->setup->placer, op, closest,
                            closest == BERTH_NONE ? 0 : least, why);
}

void berth_i_plan_count_refusal(berth_plan *p, int32_t op) {
  if (--p->retries_left < 0 && p->last_refused == BERTH_NONE) p->last_refused = op;
}

berth_status berth_i_plan_give_up(berth_plan *p, berth_obstacle *why) {
  int32_t op = p->last_refused, closest = BERTH_NONE;
  double least = INFINITY;
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_plan_may(p, op, d)) continue;
    double missing = berth_i_store_missing(p, op, d, berth_i_plan_open_at(p, d));
    if (missing > 0 && missing < least) least = missing, closest = d;
  }
  if (closest == BERTH_NONE) return berth_i_plan_stuck(p, BERTH_NONE, why);
  return berth_i_infeasible(p->cost, p->setup->placer, op, closest, least, why);
}
