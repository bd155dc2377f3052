/* Type "deploy", for the files that add to it: strategies from tables, methods by file. */
#ifndef BERTH_LUA_DEPLOY_H
#define BERTH_LUA_DEPLOY_H

#include "base/binding.h"
#include <berth/deploy.h>

typedef struct bl_deploy_box {
  berth_deploy *deploy; /* NULL: closed */
} bl_deploy_box;

extern const bl_class bl_deploy_class;
extern const luaL_Reg bl_deploy_functions[], bl_deploy_value_methods[];

/* Of deploy_search.c: deploy:search, deploy:tree. */
int bl_deploy_positions(lua_State *L);
int bl_deploy_search(lua_State *L);
int bl_deploy_tree(lua_State *L);

berth_deploy *bl_check_deploy(lua_State *L, int i, const char *fn, const char *what);
/** A strategy { action = { ... }, duplicate = { op ids } or nil } at i; both stay in scratch on the
 * stack.
 *  @param action through it: [op groups]  @param duplicate through it: [ops], NULL: none given */
void bl_to_strategy(lua_State *L, int i, const bl_where *w, const berth_deploy *d,
                    const int32_t **action, const uint8_t **duplicate);
/** `duplicate` of the table at i, or what its rule `sfb` says. @param duplicate out: [ops], NULL:
 * none */
berth_status bl_read_repeated(lua_State *L, int i, const bl_where *w, berth_deploy *d,
                              const int32_t *action, const uint8_t **duplicate);
/** A strategy with repeated ops as bl_read_repeated has them. */
berth_status bl_read_strategy(lua_State *L, int i, const bl_where *w, berth_deploy *d,
                              const int32_t **action, const uint8_t **duplicate);
/** compile(strategy) */
int bl_deploy_compile(lua_State *L);
extern const char *const bl_deploy_option_names[], *const bl_deploy_share_names[];

#endif
