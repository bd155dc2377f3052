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
  berth_deploy_sfb sfb;      /* which ops are repeated in every evaluation, where it is better than none; default LOCAL */
  berth_fill fill;           /* NEAREST (default), FIRST or START */
  int steps;                 /* 1: the tree chooses device group by device group, then option and shares; 0: whole actions; default
                                -1: in steps above six device groups */
  int32_t n_starts;
  const int32_t *start;      /* [n_starts * op groups]. None: all devices, AllReduce, even shares, or what is nearest to it among
                                the actions, where that is illegal, the first legal action; if it does not fit, the same with
                                SPLIT, too; then the chain of berth_deploy_baselines. (To see whether they fit is not counted.) */
  berth_status (*own)(void *ud, int32_t k, const berth_leaf *leaf, double *p); /* as `prior` of berth_decisions */
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
 * ops that the answer repeats: berth_deploy_evaluate_rule by the same rule. An evaluation is one strategy, so one simulation or two.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 */
berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts, berth_decider **out);

#ifdef __cplusplus
}
#endif
#endif
