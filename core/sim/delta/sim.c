/* The reusable simulator with a base: berth_sim_base runs it, berth_sim_try evaluates moves against
 * it, berth_sim_accept makes the last trial the base. */
#include "delta_internal.h"

static berth_status need_delta(berth_sim *sim) {
  if (sim->delta) return BERTH_OK;
  berth_status st;
  if (!sim->fast && (st = berth_i_delta_plans(sim->plan, &sim->fast)) != BERTH_OK) return st;
  return berth_i_delta_new(sim->plan, sim->fast, sim->state, &sim->delta);
}

static berth_sim_summary summary_of(const berth_sim *sim, const berth_i_verdict *v) {
  berth_sim_summary s;
  s.makespan = v->makespan * sim->plan->unit;
  s.peak = v->peak;
  s.oom_op = v->oom_op;
  return s;
}

berth_status berth_sim_base(berth_sim *sim, const int32_t *device, berth_sim_summary *out) {
  if (!sim) return BERTH_EINVAL;
  berth_status st = berth_i_sim_idle(sim);
  if (st != BERTH_OK || (st = berth_i_interrupted(sim->plan->ctx)) != BERTH_OK
      || (st = need_delta(sim)) != BERTH_OK)
    return st;
  sim->last_is_delta = sim->running = true;
  berth_i_verdict v;
  bool ran = berth_i_delta_base(sim->delta, device, &v);
  sim->running = false;
  if (!ran) return berth_i_fault_report(sim->plan, &sim->state->fault);
  *out = summary_of(sim, &v);
  return BERTH_OK;
}

static berth_status check_try(const berth_sim *sim, int32_t n, const int32_t *op, double limit) {
  berth_ctx *ctx = sim->plan->ctx;
  berth_status st = berth_i_interrupted(ctx); /* first: the hook may use the simulator */
  if (st != BERTH_OK) return st;
  if (!sim->delta || !sim->delta->has_base)
    return berth_i_fail(ctx, BERTH_EINVAL, "there is no base to try changes of");
  if (!(limit >= 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "limit: %g is not a time from 0 on", limit);
  if (n < 0) return berth_i_fail(ctx, BERTH_EINVAL, "%d moves", (int)n);
  for (int32_t i = 0; i < n; i++) {
    if (op[i] >= 0 && op[i] < sim->plan->n_ops) continue;
    return berth_i_fail(ctx, BERTH_EINVAL, "move %d: there is no op %d: there are %d", (int)i,
                        (int)op[i], (int)sim->plan->n_ops);
  }
  return BERTH_OK;
}

berth_status berth_sim_try(berth_sim *sim, int32_t n, const int32_t *op, const int32_t *device,
                           double limit, berth_sim_summary *out) {
  if (!sim) return BERTH_EINVAL;
  berth_status st = berth_i_sim_idle(sim);
  if (st != BERTH_OK) return st;
  st = check_try(sim, n, op, limit);
  if (sim->delta) berth_i_delta_begin(sim->delta); /* what is refused is not to be taken for the
                                                      trial before it */
  if (st != BERTH_OK) return st;
  sim->last_is_delta = sim->running = true;
  for (int32_t i = 0; i < n; i++) berth_i_delta_move(sim->delta, op[i], device[i]);
  berth_i_verdict v;
  bool ran = berth_i_delta_try(sim->delta, limit / sim->plan->unit, &v);
  sim->running = false;
  if (!ran) return berth_i_fault_report(sim->plan, &sim->state->fault);
  *out = summary_of(sim, &v);
  return BERTH_OK;
}

berth_status berth_sim_accept(berth_sim *sim) {
  if (!sim) return BERTH_EINVAL;
  berth_ctx *ctx = sim->plan->ctx;
  berth_status st = berth_i_sim_idle(sim);
  if (st != BERTH_OK) return st;
  if (!sim->delta || !sim->delta->has_trial) {
    return berth_i_fail(
        ctx, BERTH_EINVAL,
        "there is no try to accept: none since the last base or acceptance, or it was refused");
  }
  sim->running = true;
  berth_i_delta_accept(sim->delta);
  sim->running = false;
  return BERTH_OK;
}
