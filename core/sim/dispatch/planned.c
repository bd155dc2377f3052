/* The given order; a device waits for its next op. */
#include "dispatch_internal.h"

const berth_i_dispatch berth_i_dispatch_planned = {
  .choice = { "planned", "Exactly in the order of `sequence` (default: the placement's own); the "
                         "device waits for its next op." },
  .kind = BERTH_I_DISPATCH_PLANNED,
  .needs = "sequence",
};
