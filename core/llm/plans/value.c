/* Values of plans: memory, closed form, event loop, objective. */
#include "plans_internal.h"

berth_status berth_i_llm_value_memory(const berth_i_llm_valuer *x, const berth_llm_plan *p,
                                      double *bytes, double *share) {
  berth_status st = berth_llm_memory_of(x->s->m, x->s->c, p, x->stage);
  *bytes = *share = 0;
  for (int32_t i = 0; i < p->pp && st == BERTH_OK; i++) {
    *bytes = fmax(*bytes, x->stage[i].total);
    *share = fmax(*share, x->stage[i].total / x->stage[i].limit);
  }
  return st;
}

berth_status berth_i_llm_value_closed(const berth_i_llm_valuer *x, const berth_llm_plan *filled,
                                      double *out) {
  berth_i_llm_step step;
  berth_status st = berth_i_llm_step_make(x->s->m, x->s->c, filled, &x->s->f, &step);
  if (st == BERTH_OK) st = berth_i_llm_closed(&step, out);
  berth_i_pool_free(&step.pool);
  return st;
}

berth_status berth_i_llm_value_events(const berth_i_llm_valuer *x, const berth_llm_plan *p,
                                      double *out) {
  berth_llm_estimate_options o = x->o->estimate;
  berth_llm_estimate e;
  o.form = BERTH_LLM_EVENTS;
  berth_status st = berth_llm_estimate_of(x->s->m, x->s->c, p, &o, &e);
  if (st == BERTH_OK) *out = e.step;
  return st;
}

berth_status berth_i_llm_value_of(const berth_i_llm_valuer *x, berth_llm_found *y) {
  bool small = x->o->objective == BERTH_LLM_SMALLEST;
  y->value = small ? y->memory : isnan(y->step) ? y->closed : y->step;
  if (!x->o->value) return BERTH_OK;
  berth_status st = x->o->value(x->o->ud, y, &y->value);
  if (st == BERTH_OK && !(y->value > -INFINITY))
    st = berth_i_fail(x->s->m->pool.ctx, BERTH_EINVAL, "the objective gave %s for tp %d, pp %d",
                      isnan(y->value) ? "NaN" : "-inf", (int)y->plan.tp, (int)y->plan.pp);
  return st;
}
