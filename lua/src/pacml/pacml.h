/* What the files of berth.pacml share: boxes and traces. */
#ifndef BERTH_LUA_PACML_H
#define BERTH_LUA_PACML_H

#include "ramp/ramp.h"

typedef struct bl_pacml_box {
  berth_pacml *pacml;
  int32_t models;
} bl_pacml_box;

typedef struct bl_pacml_run_box {
  berth_pacml_run *run;
  berth_pacml *pacml; /* retained */
  int32_t n, servers, models;
} bl_pacml_run_box;

typedef struct bl_pacml_ahead_box {
  berth_pacml_ahead *ahead;
  int32_t models;
} bl_pacml_ahead_box;

extern const bl_class bl_pacml_class, bl_pacml_run_class, bl_pacml_ahead_class;
extern const luaL_Reg bl_pacml_functions[], bl_pacml_ahead_functions[];

/** The trace at i, { model =, beta =, arrival = }: jobs in scratch that stays on the stack. @param
 * n out */
berth_pacml_job *bl_to_trace(lua_State *L, int i, const bl_where *w, int32_t models, int32_t *n);
void bl_push_trace(lua_State *L, int32_t n, const berth_pacml_job *jobs);

#endif
