/* What the files of berth.llm share. */
#ifndef BERTH_LUA_LLM_H
#define BERTH_LUA_LLM_H

#include "base/binding.h"

typedef struct bl_llm_box {
  berth_llm *llm;
} bl_llm_box;

typedef struct bl_llm_cluster_box {
  berth_llm_cluster *cluster;
} bl_llm_cluster_box;

extern const bl_table bl_llm_plan_tables[];
extern const bl_class bl_llm_class, bl_llm_cluster_class, bl_llm_search_class,
    bl_llm_launch_class;

berth_llm *bl_check_llm(lua_State *L, int i, const bl_where *w);
berth_llm_cluster *bl_check_llm_cluster(lua_State *L, int i, const bl_where *w);

/** [-0, +n] The plan at 3, filled for the model at 1 and the cluster at 2; stages are scratch on
 *  the stack. */
berth_status bl_read_llm_plan(lua_State *L, const bl_where *w, berth_llm_plan *p);

/** [-0, +1] All options of a filled plan. */
void bl_push_llm_plan(lua_State *L, const berth_llm_plan *p);

/** Pushes the box on the top, or nil, message, code. */
int bl_give_llm(lua_State *L, const char *fn, berth_status st);

#endif
