/* A compiled graph that stays. */
#ifndef BERTH_COMPILED_INTERNAL_H
#define BERTH_COMPILED_INTERNAL_H

#include "deploy/deploy_internal.h"

struct berth_compiled {
  berth_i_pool pool;
  int32_t refs;
  berth_deploy *d;
  berth_graph *g;
  berth_cost *cost;
  int32_t *device, *origin, *samples; /* [ops] */
  uint8_t *part;                      /* [ops] */
  double *rank;                       /* [ops] */
  int32_t *source;                    /* [tensors] */
};

#endif
