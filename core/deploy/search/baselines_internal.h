/* The list of baselines. */
#ifndef BERTH_BASELINES_INTERNAL_H
#define BERTH_BASELINES_INTERNAL_H

#include "deploy/deploy_internal.h"

typedef struct berth_i_named {
  char name[32];
  berth_deploy_sfb rule;
  int32_t *action; /* [n_groups] */
  berth_deploy_value value;
} berth_i_named;

/* Made once for a problem, which keeps it; each that was given out holds the problem. */
struct berth_deploy_list {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_deploy *d;
  berth_i_named *one;
  size_t n, cap;
  uint8_t *duplicate; /* [n_ops] scratch */
  berth_status st;    /* after a failure nothing more is added */
  bool passed_over;   /* something that cannot be simulated */
};

void berth_i_baselines_drop(berth_deploy_list *l);

#endif
