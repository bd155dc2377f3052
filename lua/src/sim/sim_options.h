/* Options of the step simulator, for the files that run it. */
#ifndef BERTH_LUA_SIM_OPTIONS_H
#define BERTH_LUA_SIM_OPTIONS_H

#include "base/binding.h"

extern const bl_table bl_sim_tables[], bl_run_tables[], bl_batch_tables[], bl_judge_tables[],
    bl_exec_tables[];

/** From the checked table at t (0: none); arrays stay in scratch on the stack.
 *  @param p gives `planned` its sequence; NULL: only the option does */
berth_sim_options bl_sim_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                                 const berth_placement *p);
/** The same for placements that are not there yet: `planned` may do without a sequence. */
berth_sim_options bl_judge_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost);
/** The table t[judge] of such options, read into out; inner: where its keys are.
 *  @return out; NULL: none given */
const berth_sim_options *bl_get_judge(lua_State *L, int t, const bl_where *w,
                                      const bl_where *inner, const berth_cost *cost,
                                      berth_sim_options *out);
#endif
