/* What the files of the search share: its actions, and the tables and starts of its problem. */
#ifndef BERTH_DEPLOY_SEARCH_INTERNAL_H
#define BERTH_DEPLOY_SEARCH_INTERNAL_H

#include "deploy/values_internal.h"
#include <berth/deploy.h>

/** What a search assigns to op groups: actions of the problem; then, if op groups choose whether
 *  their ops are repeated, each AllReduce on several devices once more, with the ops that the rule
 *  LOCAL repeats. */
typedef struct berth_i_space {
  berth_i_pool pool;
  bool chooses;
  int32_t n_actions;
  int32_t *of;       /* [n_actions] of the problem */
  int32_t *with;     /* [actions of the problem] the same with repeated ops; BERTH_NONE */
  int32_t *instead;  /* [n_actions] as in berth_decisions */
  uint8_t *legal;    /* [groups * n_actions] */
} berth_i_space;

berth_status berth_i_space_make(berth_deploy *d, const berth_deploy_search_options *o,
                                berth_i_space *x);
/** A strategy as far as its repeated ops are those of the rule: all that it repeats of an op group,
 * if it repeats any. */
void berth_i_space_encode(const berth_deploy *d, const berth_i_space *x, const int32_t *action,
                          const uint8_t *duplicate, int32_t *out);
/** @param duplicate [ops] out  @param any out: there is one */
berth_status berth_i_space_decode(berth_deploy *d, const berth_i_space *x,
                                  const int32_t *assignment, int32_t *action, uint8_t *duplicate,
                                  bool *any);

/** The actions of the search as sequences of choices: device group by device group, option, shares,
 * repeated ops.
 *  @param at [n_actions + 1] @param path [n_actions * (device groups + 5)] @param count [2 * device
 *         groups] scratch */
void berth_i_search_paths(const berth_deploy *d, const berth_i_space *x, int32_t *at, int32_t *path,
                          int32_t *count);

/** What a search takes for the excess: that some device lacks memory shows. */
static inline double berth_i_search_excess(const berth_deploy_value *v) {
  return v->over > 0 ? fmax(v->excess, 1e-9) : 0;
}

typedef struct berth_i_first {
  berth_i_pool pool;
  int32_t n;
  int32_t *assignment;     /* [n * groups] of the space */
  double *value, *excess;  /* [n] value: NaN: not known */
} berth_i_first;

/** Those given, and baselines; or, where there are none, data parallelism and what may replace
 * it. */
berth_status berth_i_search_starts(berth_deploy *d, const berth_deploy_search_options *o,
                                   const berth_i_space *x, berth_i_first *out);

/** Bytes of the batch that cross a cut behind each group. @param rank [groups] scratch @param out
 * [2 * groups] the first half */
void berth_i_search_seams(const berth_deploy *d, const double *position, int32_t *rank,
                          double *out);
/** How much there is to change. @param weight [groups] out */
void berth_i_search_weights(const berth_deploy *d, double *weight);
/** Which actions are worth trying for all. @param everywhere [actions] out */
void berth_i_search_everywhere(const berth_deploy *d, uint8_t *everywhere);

#endif
