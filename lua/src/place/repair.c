/* berth.repair: a placement changed as little as makes it keep memory, groups, pins and types.
 * Stack: cost, placement or devices, options, scratch, box of the answer. */
#include "base/binding.h"

const bl_table bl_repair_tables[] = { berth_repair_option_table, bl_cost_option, NULL };

/* repair(cost, placement or devices, options): placement; nil, message, code, obstacle */
static int repair(lua_State *L) {
  BL_WHERE(w, "berth.repair");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 3);
  berth_place_options o = berth_place_default(berth_cost_graph(cost));
  bl_take_options(L, 3, &w, bl_repair_tables, &o);
  const int32_t *device = bl_to_devices(L, 2, cost, &w, "placement");
  bl_placement_box *box = bl_new_placed(L, cost);
  int at = lua_gettop(L);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_place_repair(cost, device, &o, &box->placement, &why));
  return bl_give_placed(L, at, w.fn, st, &why);
}

const luaL_Reg bl_repair_functions[] = { { "repair", repair }, { NULL, NULL } };
