/* First ready, first run: no key, the order of the pending list. */
#include "dispatch_internal.h"

const berth_i_dispatch berth_i_dispatch_fifo = {
  .choice = { "fifo", "The op that became ready first." },
  .kind = BERTH_I_DISPATCH_QUEUE,
};
