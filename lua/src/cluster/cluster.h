/* What the files of berth.cluster share. */
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
extern const luaL_Reg bl_cluster_functions[], bl_gang_functions[], bl_elastic_functions[];
extern const bl_table bl_cluster_tables[];

#endif
