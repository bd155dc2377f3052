/* Last ready, first run. */
#include "dispatch_internal.h"

static double key(const double *prepared, int32_t op, double time, double place) {
  (void)prepared, (void)op, (void)time;
  return -place;
}

const berth_i_dispatch berth_i_dispatch_lifo = {
  .choice = { "lifo", "The op that became ready last." },
  .kind = BERTH_I_DISPATCH_KEYED,
  .key = key,
};
