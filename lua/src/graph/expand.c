/* berth.expand: collectives of a placed graph as transfers. The expansion of the core is in a
 * hidden box while its arrays are copied into tables, so that a Lua error frees it. Devices are
 * copied to scratch and the graph is held in a box of its own: the interrupt hook may close
 * both. */
#include "base/binding.h"
#include <string.h>

const bl_table bl_expand_tables[] = { berth_expand_option_table, NULL };

/* Frees the expansion if pushing what it holds raises. */
static void release_expansion(void *box) {
  berth_expansion **x = box;
  berth_expansion_release(*x);
  *x = NULL;
}

static const bl_class expansion_class = {
  .name = "expansion", .key = "berth.expansion", .release = release_expansion
};

/* [-0, +1] Owns the expansion until the answer is pushed. */
static berth_expansion **new_expansion(lua_State *L) {
  bl_register(L, &expansion_class);
  berth_expansion **box = bl_new(L, &expansion_class, sizeof *box);
  *box = NULL;
  return box;
}

/* [-0, +1] Group of each device, by the links between them. */
static const int32_t *find_groups(lua_State *L, const bl_where *w, berth_topology *t) {
  int32_t *group = bl_scratch(L, (size_t)berth_topology_devices(t), sizeof *group);
  if (berth_device_groups(t, group) != BERTH_OK)
    bl_error(L, "%s: %s", w->fn, berth_errmsg(bl_ctx(L)));
  return group;
}

/* [-0, +n] Groups are those given, one per device, or found where the algorithm needs them. */
static void read_expand(lua_State *L, int at, const bl_where *w, berth_topology *t,
                        berth_expand_options *o) {
  int32_t devices = berth_topology_devices(t);
  *o = berth_expand_default();
  bl_read_options(L, at, w, berth_expand_option_table(), o);
  int32_t n;
  if (bl_get_array(L, at, w, "groups", &n)) {
    if (n != devices) bl_wrong(L, w, "groups", "%d groups for %d devices", (int)n, (int)devices);
    o->groups = bl_to_ids(L, lua_gettop(L), w, "groups", n, INT32_MAX, "group");
  } else if (o->algorithm == BERTH_EXPAND_HIERARCHICAL) {
    o->groups = find_groups(L, w, t);
  }
}

/* [-0, +3] graph, device by op, original collective by op (0: none). */
static int answer(lua_State *L, const berth_expansion *x) {
  berth_graph *g = berth_expansion_graph(x);
  berth_graph_retain(g);
  *bl_new_graph(L) = g;
  bl_track(L);
  bl_push_ids(L, berth_graph_ops(g), berth_expansion_device(x));
  bl_push_map(L, berth_graph_ops(g), berth_expansion_collective(x));
  return 3;
}

/* berth.expand(graph, topology, placement, options): graph, [new ops] devices, [new ops] id of the
 * collective that each came from, or false; nil, message, code. */
static int expand(lua_State *L) {
  BL_WHERE(w, "berth.expand");
  berth_graph *g = bl_check_graph(L, 1, w.fn, "graph");
  berth_topology *t = bl_check_topology(L, 2, w.fn, "topology");
  lua_settop(L, 4);
  int at = bl_option_table(L, 4, &w, bl_expand_tables);
  berth_expansion **x = new_expansion(L);
  size_t size = (size_t)berth_graph_ops(g) * sizeof(int32_t);
  int32_t *device = bl_scratch(L, size, 1); /* a copy: the interrupt hook may close the placement */
  memcpy(device,
         bl_to_placed(L, 3, &w, "placement", berth_graph_ops(g), berth_topology_devices(t)), size);
  berth_expand_options o;
  read_expand(L, at, &w, t, &o);
  berth_graph_retain(g); /* the interrupt hook may close it */
  *bl_new_graph(L) = g;
  bl_call call = bl_enter(L);
  berth_status st =
      bl_leave(&call, berth_graph_expand(g, berth_topology_devices(t), device, &o, x));
  return st != BERTH_OK ? bl_failed(L, st) : answer(L, *x);
}

const luaL_Reg bl_expand_functions[] = { { "expand", expand }, { NULL, NULL } };
