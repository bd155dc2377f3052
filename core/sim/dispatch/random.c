/* Any ready op, with equal chance. */
#include "dispatch_internal.h"

const berth_i_dispatch berth_i_dispatch_random = {
  .choice = { "random", "Any, with equal chance (seed)." },
  .kind = BERTH_I_DISPATCH_RANDOM,
};
