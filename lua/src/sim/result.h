/* Results of the step simulator, for the files that make them. */
#ifndef BERTH_LUA_RESULT_H
#define BERTH_LUA_RESULT_H

#include "base/binding.h"

typedef struct bl_result_box {
  berth_result *result;
  double bound;           /* NaN: none */
  const char *bound_name; /* static, or given_name */
  char given_name[32];
} bl_result_box;

/** cost: stack index of the cost box, which the result keeps. */
bl_result_box *bl_new_result(lua_State *L, int cost);
/** Takes a bound that is known already: { best, name } at t, if it is larger and memory held. */
void bl_result_know(lua_State *L, int t, const bl_where *w, bl_result_box *box);
/** Adds the lower bound, if one holds for a run with these options. @return BERTH_OK,
 * BERTH_ENOMEM */
berth_status bl_result_bound(bl_result_box *box, bl_cost_box *cost, const berth_sim_options *o);

#endif
