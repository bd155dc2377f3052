/* berth.topology.mesh and its kind: sizes as positional arguments, then one table with the fields
 * of a device, of the usual link, and of the generator.
 * Routes are computed while a topology is made, which may call hooks: begin() pushes the box and
 * notes the call, finish() leaves the call and returns the box. Strings of the prototype device
 * stay on the stack until then. */
#include "topology_names.h"

const berth_link bl_default_link = { 16e9, 0 };

#define QUANTITY(name, unit_, default_, ...) \
  BL_ROW(name, QUANTITY, default_, __VA_ARGS__, .unit = BERTH_##unit_)
/* A link's: `name` before the keys. */
#define LINK(name, bandwidth, latency, what) \
  QUANTITY(name "bandwidth", BYTES_PER_SECOND, bandwidth, "of " what, .above = 1, \
           .high = INFINITY), \
  QUANTITY(name "latency", SECONDS, latency, "of " what)

BL_OPTIONS(topology,
  LINK("", "16 GB/s", "0 s", "links"),
  BL_OTHER("preset", "name", "none", "data sheet of the devices: docs/devices.md"),
  BL_OTHER("type", "string", "that of the preset", "which profiles of ops hold"),
  BL_ROW("speed", NUMBER, "1", "profiled times are divided by it", .above = 1),
  QUANTITY("flops", FLOP_PER_SECOND, "that of the preset, or unknown", "peak", .high = INFINITY),
  QUANTITY("memory", BYTES, "that of the preset, or no limit", "of a device", .high = INFINITY),
  QUANTITY("memory_bandwidth", BYTES_PER_SECOND, "that of the preset, or unknown", "of a device",
           .high = INFINITY),
  QUANTITY("overhead", SECONDS, "that of the preset, or 0 s",
           "added to each op that has no profile", .high = INFINITY))

BL_OWN_OPTIONS(pcie_options,
  BL_ROW("fan_out", WHOLE, "4", "devices or switches below a switch", .low = 1, .high = 1 << 20),
  LINK("up_", "as below", "as below", "links to the switch above"))
const bl_table bl_pcie_tree_tables[] = { topology_options, pcie_options, NULL };

BL_OWN_OPTIONS(dgx1_options, LINK("pcie_", "16 GB/s", "0 s", "PCIe"))
const bl_table bl_dgx1_tables[] = { topology_options, dgx1_options, NULL };

BL_OWN_OPTIONS(two_level_options,
  LINK("between_", "as inside", "as inside", "links between machines"))
const bl_table bl_two_level_tables[] = { topology_options, two_level_options, NULL };

/* [-0, +n] Devices and the usual link, from the option table at i. @return the table's index or 0.
 * Strings of the device (type, preset) stay on the stack: `d` points to them. */
static int read_common(lua_State *L, int i, const bl_where *w, const bl_table *tables,
                       berth_device *d, berth_link *l) {
  int t = bl_option_table(L, i, w, tables);
  *d = berth_device_default();
  bl_get_device(L, t, w, d);
  *l = bl_get_link(L, t, w, "bandwidth", "latency", bl_default_link);
  return t;
}

/* [-0, +0] A number of devices or machines, 1 to 2^20; `what` names the argument in messages. */
static int32_t count_arg(lua_State *L, int i, const bl_where *w, const char *what) {
  if (lua_type(L, i) != LUA_TNUMBER)
    bl_wrong(L, w, what, "expected how many, a number as in %s(4), got %s", w->fn, bl_kind(L, i));
  return (int32_t)bl_to_whole(L, i, w, what, 1, 1 << 20);
}

/* [-0, +1] The box for the topology, and the call noted: to be evaluated as the last argument of
 * the core's function, so that nothing that may raise comes between begin() and finish(). */
static berth_topology **begin(lua_State *L, bl_call *call) {
  berth_topology **t = bl_new_topology(L);
  *call = bl_enter(L);
  return t;
}

/* [-0, +1] The box at the top; or nil, message, code. What is wrong with arguments is raised. */
static int finish(lua_State *L, const char *fn, const bl_call *call, berth_status st) {
  st = bl_leave(call, st);
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  bl_track(L);
  return 1;
}

typedef berth_status (*simple_fn)(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                  const berth_link *link, berth_topology **out);

/* fn(n, options): topology; nil, message, code. All links alike, all devices alike. */
static int simple(lua_State *L, const char *fn, const char *what, simple_fn make) {
  bl_where w = { fn, NULL, 0 };
  int32_t n = count_arg(L, 1, &w, what);
  lua_settop(L, 2);
  berth_device d;
  berth_link l;
  read_common(L, 2, &w, bl_topology_tables, &d, &l);
  bl_call call;
  return finish(L, fn, &call, make(bl_ctx(L), n, &d, &l, begin(L, &call)));
}

/* mesh(n), ring(n), star(n), fat_tree(k), each with options as the last argument: topology; nil,
 * message, code. */
static int mesh(lua_State *L) { return simple(L, "berth.topology.mesh", "n", berth_topology_mesh); }
static int ring(lua_State *L) { return simple(L, "berth.topology.ring", "n", berth_topology_ring); }
static int star(lua_State *L) { return simple(L, "berth.topology.star", "n", berth_topology_star); }
static int fat_tree(lua_State *L) {
  return simple(L, "berth.topology.fat_tree", "k", berth_topology_fat_tree);
}

/* pcie_tree(n, options): topology of n devices below a tree of switches with fan_out each. Links to
 * the switch above are as those below unless up_bandwidth or up_latency is given. */
static int pcie_tree(lua_State *L) {
  static const bl_where w = { "berth.topology.pcie_tree", NULL, 0 };
  int32_t n = count_arg(L, 1, &w, "n"), fan_out = 4;
  lua_settop(L, 2);
  berth_device d;
  berth_link down;
  int t = read_common(L, 2, &w, bl_pcie_tree_tables, &d, &down);
  bl_get_whole(L, t, &w, "fan_out", 1, 1 << 20, &fan_out);
  berth_link up = bl_get_link(L, t, &w, "up_bandwidth", "up_latency", down);
  bl_call call;
  return finish(L, w.fn, &call,
                berth_topology_pcie_tree(bl_ctx(L), n, fan_out, &d, &down, &up, begin(L, &call)));
}

/* dgx1(options): topology of eight devices with NVLink and PCIe; the usual link of the options is
 * the NVLink. */
static int dgx1(lua_State *L) {
  static const bl_where w = { "berth.topology.dgx1", NULL, 0 };
  lua_settop(L, 1);
  berth_device d;
  berth_link nvlink;
  int t = read_common(L, 1, &w, bl_dgx1_tables, &d, &nvlink);
  berth_link pcie = bl_get_link(L, t, &w, "pcie_bandwidth", "pcie_latency", bl_default_link);
  bl_call call;
  return finish(L, w.fn, &call,
                berth_topology_dgx1(bl_ctx(L), &d, &nvlink, &pcie, begin(L, &call)));
}

/* torus(dims, options): topology of dims[1] x dims[2] x ... devices, all links alike. */
static int torus(lua_State *L) {
  static const bl_where w = { "berth.topology.torus", NULL, 0 };
  int32_t n = bl_to_length(L, 1, &w, "dims");
  lua_settop(L, 2);
  int32_t *dims = bl_scratch(L, (size_t)n, sizeof *dims);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, 1, k + 1);
    dims[k] = count_arg(L, -1, &w, "dims");
    lua_pop(L, 1);
  }
  berth_device d;
  berth_link l;
  read_common(L, 2, &w, bl_topology_tables, &d, &l);
  bl_call call;
  return finish(L, w.fn, &call, berth_topology_torus(bl_ctx(L), n, dims, &d, &l, begin(L, &call)));
}

/* two_level(machines, per_machine, options): topology; links between machines are as inside unless
 * between_bandwidth or between_latency is given. */
static int two_level(lua_State *L) {
  static const bl_where w = { "berth.topology.two_level", NULL, 0 };
  int32_t machines = count_arg(L, 1, &w, "machines"),
          per_machine = count_arg(L, 2, &w, "per_machine");
  lua_settop(L, 3);
  berth_device d;
  berth_link inside;
  int t = read_common(L, 3, &w, bl_two_level_tables, &d, &inside);
  berth_link between = bl_get_link(L, t, &w, "between_bandwidth", "between_latency", inside);
  bl_call call;
  return finish(L, w.fn, &call,
                berth_topology_two_level(bl_ctx(L), machines, per_machine, &d, &inside, &between,
                                         begin(L, &call)));
}

/* ---- device groups ---- */

static const berth_choice *const group_links[] = {
  BL_CHOICE("tag", "A link for each pair of devices in a group, one for each pair of groups."),
  BL_CHOICE("heterog", "The same in groups; one link for all that goes between groups."),
  BL_CHOICE("nic", "Ports of each device, a network card of each machine."),
  BL_CHOICE("tree", "The same, and a link up and one down for each rack."), NULL
};

BL_OPTIONS(topology_groups,
  BL_OTHER("groups", "array", "none; must be given", "of equal devices: count, bandwidth (inside), "
           "machines, rack, and what a device has"),
  BL_OTHER("between", "bytes/s or array", "16 GB/s", "bandwidth between groups, or a row for each"),
  BL_ROW("links", CHOICE, "nic", "what transfers share", .choices = group_links,
         .offset = offsetof(berth_groups, links)),
  QUANTITY("latency", SECONDS, "12 us", "of every route", .high = INFINITY,
           .offset = offsetof(berth_groups, latency)))

/* [-0, +n] Group g (from 0) of the list; the entry stays on the stack with its strings, hence
 * checkstack. rack is from 1 in Lua, and 0 in C also where it is not given. */
static void read_group(lua_State *L, int list, int32_t g, int32_t n, berth_device_group *d) {
  static const char *const legal[] = { "preset",   "type",      "speed",
                                       "flops",    "memory",    "memory_bandwidth",
                                       "overhead", "count",     "machines",
                                       "rack",     "bandwidth", NULL };
  bl_where w = { "berth.topology.groups", "groups", g + 1 };
  luaL_checkstack(L, 8, NULL);
  lua_rawgeti(L, list, g + 1);
  int t = lua_gettop(L);
  bl_need_table(L, t, &w, NULL);
  bl_check_keys(L, t, &w, legal, false);
  *d = (berth_device_group){ berth_device_default(), 1, 1, 0, bl_default_link.bandwidth };
  bl_get_device(L, t, &w, &d->device);
  bl_get_whole(L, t, &w, "count", 1, 1 << 20, &d->count);
  bl_get_whole(L, t, &w, "machines", 1, d->count, &d->machines);
  if (bl_get_whole(L, t, &w, "rack", 1, n, &d->rack)) d->rack--;
  bl_get_quantity(L, t, &w, "bandwidth", BERTH_BYTES_PER_SECOND, &d->bandwidth);
}

/* [-0, +0] Bandwidths [n] from group g to all, of the table at the top, bytes/s. */
static void read_row(lua_State *L, int32_t g, int32_t n, double *out) {
  bl_where w = { "berth.topology.groups", "between", g + 1 };
  bl_need_table(L, -1, &w, NULL);
  if (bl_to_length(L, -1, &w, NULL) != n)
    bl_wrong(L, &w, NULL, "must have %d bandwidths, one for each group", (int)n);
  for (int32_t h = 0; h < n; h++) {
    lua_rawgeti(L, -1, h + 1);
    out[h] = bl_to_quantity(L, -1, &w, NULL, BERTH_BYTES_PER_SECOND);
    lua_pop(L, 1);
  }
}

/* [-0, +0] `between` into out [n * n], row-major: one bandwidth for all pairs, or a row for each
 * group. Each cell is checked with its row in the message. */
static void read_between(lua_State *L, int t, const bl_where *w, int32_t n, double *out) {
  double x = bl_default_link.bandwidth;
  lua_getfield(L, t, "between");
  if (lua_istable(L, -1)) {
    if (bl_to_length(L, -1, w, "between") != n)
      bl_wrong(L, w, "between", "must have %d rows, one for each group", (int)n);
    for (int32_t k = 0; k < n; k++) {
      lua_rawgeti(L, -1, k + 1);
      read_row(L, k, n, out + (size_t)k * (size_t)n);
      lua_pop(L, 1);
    }
  } else {
    if (!lua_isnil(L, -1)) x = bl_to_quantity(L, -1, w, "between", BERTH_BYTES_PER_SECOND);
    for (int32_t k = 0; k < n * n; k++) out[k] = x;
  }
  lua_pop(L, 1);
}

/* Racks count from 1 here; a rack that no link model reads is an error, not ignored. Rack 1 is the
 * default, and passes. */
static void check_racks(lua_State *L, const berth_groups *s) {
  bl_where w = { "berth.topology.groups", "groups", 0 };
  for (w.i = 1; w.i <= s->n && s->links != BERTH_GROUPS_TREE; w.i++)
    if (s->group[w.i - 1].rack > 0) bl_wrong(L, &w, "rack", "is for links = \"tree\"");
}

/* groups { groups, between, links, latency }: topology of groups of equal devices. At most 1024,
 * which bounds the matrix of bandwidths; the stack holds a few slots per group meanwhile. */
static int groups(lua_State *L) {
  static const bl_where w = { "berth.topology.groups", NULL, 0 };
  berth_groups spec = { 0, NULL, NULL, 12e-6, BERTH_GROUPS_NIC };
  lua_settop(L, 1);
  if (!bl_take_options(L, 1, &w, bl_topology_groups_tables, &spec)
      || !bl_get_array(L, 1, &w, "groups", &spec.n))
    bl_wrong(L, &w, "groups", "is missing");
  int list = lua_gettop(L);
  if (spec.n > 1024) bl_wrong(L, &w, "groups", "has %d entries: at most 1024", (int)spec.n);
  berth_device_group *group = bl_scratch(L, (size_t)spec.n, sizeof *group);
  double *between = bl_scratch(L, (size_t)spec.n * (size_t)spec.n, sizeof *between);
  for (int32_t g = 0; g < spec.n; g++) read_group(L, list, g, spec.n, &group[g]);
  read_between(L, 1, &w, spec.n, between);
  spec.group = group;
  spec.between = between;
  check_racks(L, &spec);
  bl_call call;
  return finish(L, w.fn, &call, berth_topology_groups(bl_ctx(L), &spec, begin(L, &call)));
}

/* device_presets(): array of names, for the option `preset`. */
static int device_presets(lua_State *L) {
  const char *const *names = berth_device_presets();
  lua_newtable(L);
  for (int k = 0; names[k]; k++) {
    lua_pushstring(L, names[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* device_sheet(name): table of the board's figures; nil: there is none of that name. */
static int device_sheet(lua_State *L) {
  BL_WHERE(w, "berth.device_sheet");
  const berth_data_sheet *s = berth_device_sheet(bl_to_string(L, 1, &w, "name"));
  if (!s) return 0;
  const struct { const char *key; double value; } numbers[] = {
    { "flops", s->flops }, { "memory", s->memory }, { "usable", s->usable },
    { "memory_bandwidth", s->memory_bandwidth }, { "fp64", s->fp64 }, { "fp32", s->fp32 },
    { "tf32", s->tf32 }, { "bf16", s->bf16 }, { "fp16", s->fp16 }, { "fp8", s->fp8 },
    { "fp4", s->fp4 }, { "link", s->link }, { "nic", s->nic }
  };
  lua_createtable(L, 0, 20);
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    bl_set_number(L, numbers[k].key, numbers[k].value);
  bl_set_count(L, "sms", s->sms);
  bl_set_count(L, "gpus", s->gpus);
  bl_set_count(L, "domain", s->domain);
  bl_set_count(L, "nics", s->nics);
  bl_set_string(L, "name", s->name);
  bl_set_string(L, "board", s->board);
  bl_set_string(L, "source", s->source);
  return 1;
}

const luaL_Reg bl_generator_functions[] = { { "topology_mesh", mesh },
                                            { "topology_ring", ring },
                                            { "topology_star", star },
                                            { "topology_pcie_tree", pcie_tree },
                                            { "topology_dgx1", dgx1 },
                                            { "topology_fat_tree", fat_tree },
                                            { "topology_torus", torus },
                                            { "topology_two_level", two_level },
                                            { "topology_groups", groups },
                                            { "device_presets", device_presets },
                                            { "device_sheet", device_sheet },
                                            { NULL, NULL } };
