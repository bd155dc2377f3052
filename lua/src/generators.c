/* berth.topology.mesh and its kind. */
#include "topology_names.h"

const berth_link bl_default_link = { 16e9, 0 };

#define COMMON "bandwidth", "latency", "preset", "type", "speed", "flops", "memory", "memory_bandwidth", "overhead"

/* Devices and the usual link, from the option table at i; legal: all option names. @return the table's index or 0 */
static int read_common(lua_State *L, int i, const bl_where *w, const char *const *legal, berth_device *d, berth_link *l) {
  int t = bl_options(L, i, w, legal);
  *d = berth_device_default();
  bl_get_device(L, t, w, d);
  *l = bl_get_link(L, t, w, "bandwidth", "latency", bl_default_link);
  return t;
}

static int32_t count_arg(lua_State *L, int i, const bl_where *w, const char *what) {
  return (int32_t)bl_to_whole(L, i, w, what, 1, 1 << 20);
}

/* The place for the topology; the core is called at once. */
static berth_topology **begin(lua_State *L, bl_call *call) {
  berth_topology **t = bl_new_topology(L);
  *call = bl_enter(L);
  return t;
}

static int finish(lua_State *L, const char *fn, const bl_call *call, berth_status st) {
  st = bl_leave(call, st);
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  bl_track(L);
  return 1;
}

typedef berth_status (*simple_fn)(berth_ctx *ctx, int32_t n, const berth_device *proto, const berth_link *link,
                                  berth_topology **out);

/* fn(n, options) */
static int simple(lua_State *L, const char *fn, const char *what, simple_fn make) {
  static const char *const legal[] = { COMMON, NULL };
  bl_where w = { fn, NULL, 0 };
  berth_device d;
  berth_link l;
  int32_t n = count_arg(L, 1, &w, what);
  bl_call call;
  lua_settop(L, 2);
  read_common(L, 2, &w, legal, &d, &l);
  return finish(L, fn, &call, make(bl_ctx(L), n, &d, &l, begin(L, &call)));
}

static int mesh(lua_State *L) { return simple(L, "berth.topology.mesh", "n", berth_topology_mesh); }
static int ring(lua_State *L) { return simple(L, "berth.topology.ring", "n", berth_topology_ring); }
static int star(lua_State *L) { return simple(L, "berth.topology.star", "n", berth_topology_star); }
static int fat_tree(lua_State *L) { return simple(L, "berth.topology.fat_tree", "k", berth_topology_fat_tree); }

static int pcie_tree(lua_State *L) {
  static const char *const legal[] = { COMMON, "fan_out", "up_bandwidth", "up_latency", NULL };
  static const bl_where w = { "berth.topology.pcie_tree", NULL, 0 };
  berth_device d;
  berth_link down, up;
  int32_t n = count_arg(L, 1, &w, "n"), fan_out = 4;
  bl_call call;
  int t;
  lua_settop(L, 2);
  t = read_common(L, 2, &w, legal, &d, &down);
  bl_get_whole(L, t, &w, "fan_out", 1, 1 << 20, &fan_out);
  up = bl_get_link(L, t, &w, "up_bandwidth", "up_latency", down);
  return finish(L, w.fn, &call, berth_topology_pcie_tree(bl_ctx(L), n, fan_out, &d, &down, &up, begin(L, &call)));
}

static int dgx1(lua_State *L) {
  static const char *const legal[] = { COMMON, "pcie_bandwidth", "pcie_latency", NULL };
  static const bl_where w = { "berth.topology.dgx1", NULL, 0 };
  berth_device d;
  berth_link nvlink, pcie;
  bl_call call;
  int t;
  lua_settop(L, 1);
  t = read_common(L, 1, &w, legal, &d, &nvlink);
  pcie = bl_get_link(L, t, &w, "pcie_bandwidth", "pcie_latency", bl_default_link);
  return finish(L, w.fn, &call, berth_topology_dgx1(bl_ctx(L), &d, &nvlink, &pcie, begin(L, &call)));
}

static int torus(lua_State *L) {
  static const char *const legal[] = { COMMON, NULL };
  static const bl_where w = { "berth.topology.torus", NULL, 0 };
  berth_device d;
  berth_link l;
  int32_t k, *dims, n = bl_to_length(L, 1, &w, "dims");
  bl_call call;
  lua_settop(L, 2);
  dims = bl_scratch(L, (size_t)n, sizeof *dims);
  for (k = 0; k < n; k++) {
    lua_rawgeti(L, 1, k + 1);
    dims[k] = count_arg(L, -1, &w, "dims");
    lua_pop(L, 1);
  }
  read_common(L, 2, &w, legal, &d, &l);
  return finish(L, w.fn, &call, berth_topology_torus(bl_ctx(L), n, dims, &d, &l, begin(L, &call)));
}

static int two_level(lua_State *L) {
  static const char *const legal[] = { COMMON, "between_bandwidth", "between_latency", NULL };
  static const bl_where w = { "berth.topology.two_level", NULL, 0 };
  berth_device d;
  berth_link inside, between;
  int32_t machines = count_arg(L, 1, &w, "machines"), per_machine = count_arg(L, 2, &w, "per_machine");
  bl_call call;
  int t;
  lua_settop(L, 3);
  t = read_common(L, 3, &w, legal, &d, &inside);
  between = bl_get_link(L, t, &w, "between_bandwidth", "between_latency", inside);
  return finish(L, w.fn, &call,
                berth_topology_two_level(bl_ctx(L), machines, per_machine, &d, &inside, &between, begin(L, &call)));
}

static int device_presets(lua_State *L) {
  const char *const *names = berth_device_presets();
  int k;
  lua_newtable(L);
  for (k = 0; names[k]; k++) {
    lua_pushstring(L, names[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

const luaL_Reg bl_generator_functions[] = {
  { "topology_mesh", mesh },           { "topology_ring", ring },   { "topology_star", star },
  { "topology_pcie_tree", pcie_tree }, { "topology_dgx1", dgx1 },   { "topology_fat_tree", fat_tree },
  { "topology_torus", torus },         { "topology_two_level", two_level }, { "device_presets", device_presets }, { NULL, NULL }
};
