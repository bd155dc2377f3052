/* The list engine: from the setting of a placer to a placement. It chooses the loop: by op
 * (choose_op.c), by pair with heaps (choose_pair.c), by any score (choose_score.c), or with
 * favourite children (sct_choose.c). All four grow the same plan (list_plan.c). */
#include "engine_internal.h"

static berth_i_rule rule_of(berth_memory_policy memory) {
  switch (memory) {
    case BERTH_MEMORY_NONE: return BERTH_I_RULE_NONE;
    case BERTH_MEMORY_TOTAL: return BERTH_I_RULE_STRICT;
    default: return BERTH_I_RULE_PROFILE;
  }
}

/* The bandwidth of a shared route changes with every later transfer, so route and fair have no
 * estimate that stays valid while the plan grows: duplex channels replace them. */
static berth_links planned_links(berth_links links) {
  return links == BERTH_LINKS_ROUTE || links == BERTH_LINKS_FAIR ? BERTH_LINKS_DUPLEX : links;
}

berth_i_setup berth_i_setup_from(const char *placer, const berth_policy *policy,
                                 const berth_place_options *opts) {
  berth_i_setup s = { 0 };
  s.placer = placer;
  s.policy = *policy;
  s.links = planned_links(opts->links);
  s.clamp =
      policy->ready == BERTH_READY_FINISHED && policy->score && policy->score != berth_i_score_est;
  s.rule = rule_of(opts->memory);
  s.memory = opts->memory;
  s.param_multiple = opts->param_multiple;
  s.quantum = opts->quantum;
  s.seed = opts->seed;
  return s;
}

/* choose_pair.c has heaps for these two scores. */
static bool plain_pair(const berth_policy *p) {
  if (p->choose != BERTH_CHOOSE_PAIR || p->fit != BERTH_FIT_APPEND) return false;
  return p->score == berth_i_score_est || (p->score == NULL && p->ready == BERTH_READY_ASSIGNED);
}

static berth_status choose(berth_plan *p, berth_obstacle *why) {
  const berth_policy *policy = &p->setup->policy;
  if (p->setup->favourite) return berth_i_choose_sct(p, why);
  if (policy->choose == BERTH_CHOOSE_OP) return berth_i_choose_op(p, why);
  if (plain_pair(policy) && berth_i_first_communication(p->g) == BERTH_NONE)
    return berth_i_choose_pair(p, why);
  return berth_i_choose_score(p, why);
}

berth_status berth_i_engine_run(berth_cost *cost, const berth_i_setup *setup, berth_placement **out,
                                berth_obstacle *why) {
  berth_i_setup own = *setup;
  berth_plan *p = NULL;
  if (!berth_i_memory_counts(cost, own.memory)) own.rule = BERTH_I_RULE_NONE;
  berth_status st;
  if ((st = berth_i_plan_new(cost, &own, &p)) != BERTH_OK) return st;
  if ((st = berth_i_plan_prepare(p)) != BERTH_OK) goto done;
  if ((st = choose(p, why)) != BERTH_OK) goto done;
  st = berth_i_plan_answer(p, out);
done:
  if (st != BERTH_OK && own.partial && p->n > 0)
    memcpy(own.partial, p->device, (size_t)p->n * sizeof *own.partial);
  berth_i_plan_release(p);
  return st;
}
