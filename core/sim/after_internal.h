/* What a simulator keeps after a run beside its summary, for other rooms: peaks and busy times. */
#ifndef BERTH_AFTER_INTERNAL_H
#define BERTH_AFTER_INTERNAL_H

#include <berth/sim.h>

/** Of the last run, base or trial that was not cut short. @return [devices] bytes, until the next
 *  one; NULL: memory is not accounted, or was not computed */
const double *berth_i_sim_peaks(const berth_sim *sim);
/** Of the last run, base or trial that was not cut short.  @param busy [devices] out: s computing
 *  O(ops) at most */
void berth_i_sim_busy(const berth_sim *sim, double *busy);

#endif
