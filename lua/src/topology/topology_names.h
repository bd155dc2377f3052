/* What building from parts and the generators share: fields of devices, devices and links from
 * tables. */
#ifndef BERTH_LUA_TOPOLOGY_NAMES_H
#define BERTH_LUA_TOPOLOGY_NAMES_H

#include "base/binding.h"

extern const berth_link bl_default_link; /* 16 GB/s, no latency */
extern const char *const bl_device_fields[];

/** All device fields but name and machine, over what d has; its strings stay on the stack. */
void bl_get_device(lua_State *L, int t, const bl_where *w, berth_device *d);
berth_link bl_get_link(lua_State *L, int t, const bl_where *w, const char *bandwidth,
                       const char *latency, berth_link otherwise);

#endif
