/* The destructive bound of a small problem whose memory does not count, by given rules, with parts
 * of so many ops at most (0: all). */
#ifndef BERTH_DESTRUCTIVE_HELP_H
#define BERTH_DESTRUCTIVE_HELP_H

#include "bound/destructive/destructive_internal.h"
#include "place/place_search.h"

static berth_i_destruct_result destructive_in(const problem *p, unsigned rules, int32_t window) {
  berth_i_destruct_plan plan = { rules, 8, 3, 100000000, 64, true, 1e-4, window };
  berth_i_destruct_result b = { NAN, NAN, 0 };
  berth_i_units u;
  made m = problem_make(p);
  CHECK_OK(berth_i_units_init(m.c, "bounds", BERTH_MEMORY_NONE, 1, &u, NULL));
  CHECK_OK(berth_i_destructive_bound(&u, NULL, &plan, &b));
  berth_i_units_release(&u);
  unmake(&m);
  return b;
}

static berth_i_destruct_result destructive(const problem *p, unsigned rules) {
  return destructive_in(p, rules, 0);
}

static double largest(const berth_i_destruct_result *b) {
  return isnan(b->intervals) ? b->clusters : b->intervals;
}

#endif
