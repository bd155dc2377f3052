/* What the files of the binding of io share. */
#ifndef BL_IO_H
#define BL_IO_H

#include "base/binding.h"

/** [-0, +n] The function under `cost` in the options at t (0: none), which stays on the stack. */
void bl_load_cost(lua_State *L, int t, const bl_where *w, berth_load_options *o);

#endif
