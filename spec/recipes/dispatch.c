/* Recipe: a dispatch order. To add one: copy this file to core/sim/dispatch/ under the name of
 * the order, change it, and add its line, X(HEAVY_FIRST, heavy_first) here, to the end of
 * BERTH_DISPATCHES in core/include/berth/sim.h. Its spec is like spec/c/sim/cases.c. The
 * simulator, the executor, the command line's --dispatch and help follow; scripts/docs-tables
 * adds it to docs/placers.md.
 *
 * This one runs the longest op first. */
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
