/* Searching strategies of deployment: op groups as decisions, step times as values. */
#ifndef BERTH_DEPLOY_SEARCH_H
#define BERTH_DEPLOY_SEARCH_H

#include <berth/decisions.h>
#include <berth/deploy_value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_deploy_prior {
  BERTH_DEPLOY_PRIOR_LOCAL,   /* by berth_deploy_local: exp(-(t - least) / (temperature * least)) */
  BERTH_DEPLOY_PRIOR_UNIFORM,
  BERTH_DEPLOY_PRIOR_OWN      /* function `own`, such as a trained network */
} berth_deploy_prior;

typedef struct berth_deploy_search_options {
  berth_deploy_prior prior;
  double temperature;        /* of LOCAL, above 0; default 0.3 */
  berth_deploy_sfb sfb;      /* the rule for ops that replicas repeat; default LOCAL */
  int choose;                /* 1 (default): with LOCAL each op group chooses whether its ops are repeated, see below; 0, and with
                                CUT: all that the rule says, or none, whichever is better, for the whole strategy */
  berth_fill fill;           /* NEAREST (default), FIRST or START */
  int steps;                 /* 1: the tree chooses device group by device group, then option and shares; 0: whole actions; default
                                -1: in steps above six device groups */
  int32_t n_starts;
  const int32_t *start;      /* [n_starts * op groups] assignments of the search. None, and no baselines: all devices, AllReduce,
                                even shares, or what is nearest to it among the actions, where that is illegal, the first legal
                                action; if it does not fit, the same with SPLIT, too; then the chain of berth_deploy_baselines.
                                (To see whether they fit is not counted.) */
  int baselines;             /* 1: begins with berth_deploy_baselines, too, whose values are known and not counted; where a rule
                                holds for whole strategies, with the first and the two best of them, valued again; default 0 */
  berth_status (*own)(void *ud, int32_t k, const berth_leaf *leaf, double *p); /* as `prior` of berth_decisions, but of strategies:
                                assignments and weights are of the problem's actions; where an op group may repeat ops, half of
                                the weight is for that */
  void *ud;
  berth_decide_options decide;
} berth_deploy_search_options;
/** @param published 1: as TAG's code: tree alone, uniform prior, fill FIRST, no repeated ops */
berth_deploy_search_options berth_deploy_search_default(int published);

/**
 * A search on the strategies of d: decisions are the op groups, heaviest first. What runs out of memory is not allowed, and exceeds
 * by the sum over devices of peak / memory - 1; what has no route is not allowed. Near are op groups whose forward ops
 * (else backward ones, mirrored) are near in topological order; seams are where few bytes of the batch cross. The rest is that of
 * berth_decider;
 * what an assignment means is told by berth_deploy_strategy. An evaluation is one strategy and one simulation; without `choose` two
 * where the rule repeats something.
 *
 * With `choose` the search has more actions than the problem: behind these, in their order, each AllReduce on several devices once
 * more, now with the ops of the op group repeated by the rule LOCAL; legal where that repeats any.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 */
berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts, berth_decider **out);

/**
 * Where op groups are in the model, as searches see it: the mean place of their forward ops in topological order, else of what they
 * have of backward ops, mirrored, else of variables, else of updates.
 * @param position [op groups] out  @return BERTH_OK, BERTH_ENOMEM
 */
berth_status berth_deploy_positions(const berth_deploy *d, double *position);

/** Actions of a search with these options: at least those of the problem. */
int32_t berth_deploy_search_actions(const berth_deploy *d, const berth_deploy_search_options *opts);
/**
 * The strategy that an assignment of the search stands for.
 * @param assignment [op groups]  @param action [op groups] out  @param duplicate [ops] out: ops that are repeated
 * @return BERTH_OK, BERTH_EINVAL (illegal), BERTH_ENOMEM; where a rule holds for whole strategies as berth_deploy_evaluate_rule,
 *         which it takes
 */
berth_status berth_deploy_strategy(berth_deploy *d, const berth_deploy_search_options *opts, const int32_t *assignment,
                                   int32_t *action, uint8_t *duplicate);
/**
 * The assignment that is nearest to a strategy: where an action is illegal, what stands for it; an op group with a repeated op
 * repeats all that the rule says, if the search has a choice.
 * @param duplicate [ops]; NULL: none  @param out [op groups]  @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 */
berth_status berth_deploy_assignment(berth_deploy *d, const berth_deploy_search_options *opts, const int32_t *action,
                                     const uint8_t *duplicate, int32_t *out);

#ifdef __cplusplus
}
#endif
#endif
