/* The list engine: from a setting to a placement. */
#include "engine_internal.h"
#include "packing_internal.h"
#include <stdio.h>

static berth_i_rule rule_of(berth_memory_policy memory) {
  switch (memory) {
    case BERTH_MEMORY_NONE: return BERTH_I_RULE_NONE;
    case BERTH_MEMORY_TOTAL: return BERTH_I_RULE_STRICT;
    default: return BERTH_I_RULE_PROFILE;
  }
}

berth_i_setup berth_i_setup_from(const char *placer, const berth_policy *policy, const berth_place_options *opts) {
  berth_i_setup s = { 0 };
  s.placer = placer;
  s.policy = *policy;
  s.links = opts->links;
  s.clamp = policy->ready == BERTH_READY_FINISHED && policy->score && policy->score != berth_i_score_est;
  s.rule = rule_of(opts->memory);
  s.memory = opts->memory;
  s.param_multiple = opts->param_multiple;
  s.quantum = opts->quantum;
  s.seed = opts->seed;
  return s;
}

/* The heaps of choose_pair.c know these two. */
static bool plain_pair(const berth_policy *p) {
  if (p->choose != BERTH_CHOOSE_PAIR || p->fit != BERTH_FIT_APPEND) return false;
  return p->score == berth_i_score_est || (p->score == NULL && p->ready == BERTH_READY_ASSIGNED);
}

static berth_status choose(berth_plan *p, berth_obstacle *why) {
  const berth_policy *policy = &p->setup->policy;
  if (policy->choose == BERTH_CHOOSE_OP) return berth_i_choose_op(p, why);
  return plain_pair(policy) ? berth_i_choose_pair(p, why) : berth_i_choose_score(p, why);
}

berth_status berth_i_engine_run(berth_cost *cost, const berth_i_setup *setup, berth_placement **out, berth_obstacle *why) {
  berth_i_setup own = *setup;
  berth_plan *p = NULL;
  berth_status st;
  if (!berth_i_memory_counts(cost, own.memory)) own.rule = BERTH_I_RULE_NONE;
  if ((st = berth_i_plan_new(cost, &own, &p)) != BERTH_OK) return st;
  if ((st = berth_i_plan_prepare(p)) != BERTH_OK) goto done;
  if ((st = choose(p, why)) != BERTH_OK) goto done;
  st = berth_i_plan_answer(p, out);
done:
  berth_i_plan_release(p);
  return st;
}

/* ---- a second try for the built-in placers ---- */

static bool stuck(berth_status st) { return st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE; }

/* Devices that fit, found by packing alone; the placer's rule then orders the ops on them.  @param device [ops] scratch */
static berth_status place_packed(const berth_i_units *u, const berth_i_setup *setup, const berth_place_options *opts,
                                 int32_t *device, berth_placement **out, berth_obstacle *why) {
  berth_i_setup again = *setup;
  berth_i_packing packing;
  berth_status st = berth_i_packing_init(u, setup->memory, device, &packing);
  if (st != BERTH_OK) return st;
  st = berth_i_packing_rescue(&packing, setup->placer, opts, why);
  berth_i_packing_release(&packing);
  again.forced = device;
  return st == BERTH_OK ? berth_i_engine_run(u->cost, &again, out, why) : st;
}

/* First as loosely as may be, then so that any order holds. What stops the former is the better reason. */
static berth_status pack_twice(berth_i_units *u, const berth_i_setup *setup, const berth_place_options *opts, int32_t *device,
                               berth_placement **out, berth_obstacle *why) {
  berth_ctx *ctx = u->cost->ctx;
  char reason[512];
  berth_obstacle ignored;
  berth_status strict, st = place_packed(u, setup, opts, device, out, why);
  if (!stuck(st) || u->share == 1) return st;
  snprintf(reason, sizeof reason, "%s", berth_errmsg(ctx));
  berth_i_units_size(u, 1);
  strict = place_packed(u, setup, opts, device, out, &ignored);
  return stuck(strict) ? berth_i_fail(ctx, st, "%s", reason) : strict;
}

static berth_status place_again(berth_cost *cost, const berth_i_setup *setup, const berth_place_options *opts,
                                berth_placement **out, berth_obstacle *why) {
  berth_i_units u;
  size_t n = (size_t)cost->g->n_ops;
  int32_t *device = berth_i_alloc(cost->ctx, n, sizeof *device);
  berth_status st;
  if (!device) return berth_i_nomem(cost->ctx);
  if ((st = berth_i_units_init(cost, setup->placer, setup->memory, setup->param_multiple, &u, why)) == BERTH_OK) {
    st = pack_twice(&u, setup, opts, device, out, why);
    berth_i_units_release(&u);
  }
  berth_i_free(cost->ctx, device, n, sizeof *device);
  return st;
}

berth_status berth_i_list_place(berth_cost *cost, const berth_i_setup *setup, const berth_place_options *opts,
                                berth_placement **out, berth_obstacle *why) {
  berth_status st = berth_i_engine_run(cost, setup, out, why);
  if (!stuck(st) || setup->rule == BERTH_I_RULE_BAECHI_TF || setup->rule == BERTH_I_RULE_BAECHI_PT) return st;
  return place_again(cost, setup, opts, out, why);
}
