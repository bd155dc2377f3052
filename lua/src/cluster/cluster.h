/* What the files of berth.cluster share: boxes, and events that call functions in Lua. */
#ifndef BERTH_LUA_CLUSTER_H
#define BERTH_LUA_CLUSTER_H

#include "base/binding.h"

typedef struct bl_cluster_box {
  berth_cluster *cluster;
} bl_cluster_box;

typedef struct bl_gang_box {
  berth_gang *gang;
} bl_gang_box;

extern const bl_class bl_cluster_class, bl_gang_class;
berth_cluster *bl_check_cluster(lua_State *L, int i, const char *fn, const char *what);
extern const luaL_Reg bl_cluster_functions[], bl_gang_functions[], bl_elastic_functions[];
extern const bl_table bl_cluster_tables[];

/** Functions in Lua by kind of event, on the stack of L; 0: none. */
typedef struct bl_events {
  lua_State *L;
  int function[4];
} bl_events;
/** Those in the table at t, which has no keys but the names (NULL-terminated); they stay on the
 * stack. */
bl_events bl_read_events(lua_State *L, int t, const bl_where *w, const char *const *names);
/** Calls one, if there is one.  @param job BERTH_NONE: of no job
 *  @return BERTH_OK; BERTH_ECALLBACK: it raised what is on the stack */
berth_status bl_call_event(const bl_events *e, berth_cluster_event_kind kind, int32_t job);
int bl_cluster_run(lua_State *L);

#endif
