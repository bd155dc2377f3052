/* The table of fitted constants, constants.c, which scripts/bench/llm_fit writes. */
#ifndef BERTH_KERNELS_INTERNAL_H
#define BERTH_KERNELS_INTERNAL_H

#include <berth/cost.h>

extern const berth_kernels berth_i_fitted_kernels[];
extern const int berth_i_n_fitted_kernels;

/* Across machines: the network carries `share` of its bandwidth, and each machine adds `start`
 * seconds to a ring over all; an all-to-all starts in the time of one. */
typedef struct berth_i_network {
  double ring_share, ring_start, pairs_share, pairs_start;
} berth_i_network;
extern const berth_i_network berth_i_fitted_network;

#endif
