/* Type "analysis", for what is made from one. */
#ifndef BERTH_LUA_ANALYSE_H
#define BERTH_LUA_ANALYSE_H

#include "base/binding.h"

extern const bl_class bl_analysis_class;
extern const luaL_Reg bl_analyse_functions[];

berth_analysis *bl_check_analysis(lua_State *L, int i, const char *fn, const char *what);

#endif
