/* What the files of berth.ramp and berth.pacml share. */
#ifndef BERTH_LUA_RAMP_H
#define BERTH_LUA_RAMP_H

#include "base/binding.h"

typedef struct bl_ramp_box {
  berth_ramp *ramp;
  berth_ramp_planner *planner; /* between calls; NULL: none yet, or at work */
} bl_ramp_box;

typedef struct bl_ramp_model_box {
  berth_ramp_model *model;
  berth_graph *graph;
  berth_ramp *ramp;
} bl_ramp_model_box;

extern const bl_class bl_ramp_class, bl_ramp_model_class;
extern const luaL_Reg bl_ramp_functions[];

/** Marks of servers at key `busy` of the table at t: [servers], in scratch that stays on the stack;
 * NULL: none given. */
const uint8_t *bl_get_busy(lua_State *L, int t, const bl_where *w, int32_t servers);

#endif
