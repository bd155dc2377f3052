/* What the search knows of op groups. */
#ifndef BERTH_DEPLOY_SEARCH_INTERNAL_H
#define BERTH_DEPLOY_SEARCH_INTERNAL_H

#include "values_internal.h"

/** Where the forward ops of each group are. @param position [groups] out */
berth_status berth_i_search_positions(const berth_deploy *d, double *position);
/** Bytes of the batch that cross a cut behind each group. @param rank [groups] scratch @param out [2 * groups] the first half */
void berth_i_search_seams(const berth_deploy *d, const double *position, int32_t *rank, double *out);
/** How much there is to change. @param weight [groups] out */
void berth_i_search_weights(const berth_deploy *d, double *weight);
/** Which actions are worth trying for all. @param everywhere [actions] out */
void berth_i_search_everywhere(const berth_deploy *d, uint8_t *everywhere);

#endif
