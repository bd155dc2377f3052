/* One placer: options, the run, on a coarser graph where required, and the reason of a refusal. */
#include "place_internal.h"

/* A placer reports the op that it could not place for lack of memory. If nothing can fit at all,
 * that is the better reason. */
static berth_status give_reason(berth_cost *cost, const berth_i_placer *p,
                                const berth_place_options *o, berth_obstacle *why) {
  const char *name =
      p == &berth_i_placer_policy && o->policy->name ? o->policy->name : p->about.name;
  /* which reports the graph as a whole */
  bool proved = why->op == BERTH_NONE && p != &berth_i_placer_single;
  if (proved || !(why->missing > 0)) return BERTH_EINFEASIBLE;
  berth_status st = berth_i_prove_infeasible(cost, name, o->memory, o->param_multiple, why);
  return st == BERTH_OK ? BERTH_EINFEASIBLE : st;
}

berth_status berth_i_placer_run(berth_cost *cost, const berth_i_placer *p,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why) {
  berth_place_options o = *opts;
  berth_obstacle own = { BERTH_NONE, BERTH_NONE, 0 };
  if (!o.variant) o.variant = "";
  berth_status st;
  if ((st = berth_i_placer_check(cost, p, &o)) != BERTH_OK) return st;
  st = berth_i_is_coarse(&o) ? berth_i_run_coarse(cost, p, &o, out, &own)
                             : p->run(cost, &o, out, &own);
  if (st == BERTH_EINFEASIBLE) st = give_reason(cost, p, &o, &own);
  if (st == BERTH_EINFEASIBLE && why) *why = own;
  return st;
}
