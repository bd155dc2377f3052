/* Recipe: a dispatch order; CONTRIBUTING.md says where it goes. This one runs the longest op
 * first. */
#include "dispatch_internal.h"

static double key(const double *prepared, int32_t op, double time, double place) {
  (void)prepared, (void)op, (void)place;
  return -time;
}

const berth_i_dispatch berth_i_dispatch_heavy_first = {
  .choice = { "heavy-first", "The longest op." },
  .kind = BERTH_I_DISPATCH_KEYED,
  .key = key,
};
