/* Names of the fields in tables of graphs, for building and for reading, and the methods that other
 * files add to the type "graph". */
#ifndef BERTH_LUA_GRAPH_NAMES_H
#define BERTH_LUA_GRAPH_NAMES_H

#include "base/binding.h"

extern const char *const bl_op_fields[],
    *const bl_tensor_fields[], *const bl_collective_fields[], *const bl_collective_kinds[];

int bl_graph_build(lua_State *L);
/* transforms.c */
int bl_graph_coplace(lua_State *L);
int bl_graph_colocate(lua_State *L);
int bl_graph_fuse(lua_State *L);
int bl_graph_chains(lua_State *L);
int bl_graph_forward(lua_State *L);
/* layout.c */
int bl_graph_layout(lua_State *L);
/* graph_levels.c */
extern const luaL_Reg bl_level_methods[];

#endif
