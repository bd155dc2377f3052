/* What the files of berth.pdors share. Slots count from 0 in Lua, too: they are times. */
#ifndef BERTH_LUA_PS_H
#define BERTH_LUA_PS_H

#include "base/binding.h"

typedef struct bl_ps_box {
  berth_ps *ps;
} bl_ps_box;

typedef struct bl_ps_run_box {
  berth_ps_run *run;
} bl_ps_run_box;

typedef struct bl_pdors_box {
  berth_pdors *pdors;
  berth_ps *ps; /* retained */
} bl_pdors_box;

typedef struct bl_ps_policy_box {
  berth_ps_scheduler *scheduler;
} bl_ps_policy_box;

extern const bl_class bl_ps_class, bl_ps_run_class, bl_ps_policy_class, bl_pdors_class;
extern const luaL_Reg bl_ps_functions[], bl_ps_run_functions[], bl_ps_policy_functions[],
    bl_pdors_functions[];

berth_ps *bl_check_ps(lua_State *L, int i, const char *fn, const char *what);
/** A job of p, from 0. */
int32_t bl_to_ps_job(lua_State *L, int i, const bl_where *w, const berth_ps *p);
/** An array of { machine, workers, servers }, in scratch that stays on the stack. */
berth_ps_place *bl_to_places(lua_State *L, int i, const bl_where *w, const berth_ps *p, int32_t *n);
void bl_push_places(lua_State *L, int32_t n, const berth_ps_place *place);
/** [machines * resources]: an array per machine. */
void bl_push_amounts(lua_State *L, const berth_ps *p, const double *x);

#endif
