/* What the files of berth.assignment share: arrays, indices and segments from plain C arrays,
 * pushed on the stack. */
#ifndef BERTH_LUA_ASSIGN_H
#define BERTH_LUA_ASSIGN_H

#include "nn/nn.h"

typedef struct bl_assignment_box {
  berth_assign *assign;
} bl_assignment_box;

extern const bl_class bl_assignment_class, bl_episodes_class;
extern const luaL_Reg bl_assignment_functions[];

/** assignment:episodes(n) */
int bl_episodes_new(lua_State *L);

/** An array from as many doubles, on the stack. */
void bl_push_array_of(lua_State *L, int32_t rank, const int32_t *shape, const double *x);
/** One of 0 and 1 for each. */
void bl_push_marks(lua_State *L, int32_t rank, const int32_t *shape, const uint8_t *marks);
void bl_push_index(lua_State *L, int32_t n, const int32_t *ids);
void bl_push_segments(lua_State *L, int32_t n, const int32_t *lengths);
/** Segments from where they begin, [n + 1]; may push and pop scratch. */
void bl_push_segments_from(lua_State *L, int32_t n, const int32_t *first);

#endif
