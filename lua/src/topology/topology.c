/* Type "topology": from parts, and reading. Parts come in the order devices, switches, links,
 * routes, and refer to earlier ones by name or, for devices and links, by number; build.names maps
 * a name to its node.
 * As with graphs, checks that can name the place in the tables are made here, and the builder is in
 * a box. Each add_... reads entry i (from 1) and leaves the stack as it was. Finishing computes all
 * routes and may call hooks. */
#include "topology_names.h"
#include <math.h>
#include <string.h>

#define FN "berth.topology"

BL_WHERE(where, FN);

BL_RELEASE(release_topology, berth_topology_release)

berth_topology **bl_new_topology(lua_State *L) {
  return bl_new(L, &bl_topology_class, sizeof(berth_topology *));
}

berth_topology *bl_check_topology(lua_State *L, int i, const char *fn, const char *what) {
  return *(berth_topology **)bl_check(L, i, &bl_topology_class, fn, what);
}

BL_SELF(self, berth_topology, bl_topology_class)

/* ---- devices from tables ---- */

const char *const bl_device_fields[] = {
  "name",     "type",    "preset", "speed", "flops", "memory", "memory_bandwidth",
  "overhead", "machine", "id",     NULL
};

/* [-0, +n] The preset comes first; the other keys change it. `type` and the preset's strings stay
 * on the stack, where `d` points to. */
void bl_get_device(lua_State *L, int t, const bl_where *w, berth_device *d) {
  const char *preset = t ? bl_get_string(L, t, w, "preset") : NULL;
  if (preset && berth_device_preset(bl_ctx(L), preset, d) != BERTH_OK)
    bl_wrong(L, w, "preset", "%s", berth_errmsg(bl_ctx(L)));
  const char *type;
  if ((type = bl_get_string(L, t, w, "type"))) d->type = type;
  bl_get_positive(L, t, w, "speed", &d->speed);
  if (d->speed <= 0) bl_wrong(L, w, "speed", "must be above 0");
  bl_get_quantity(L, t, w, "flops", BERTH_FLOP_PER_SECOND, &d->flops);
  bl_get_quantity(L, t, w, "memory", BERTH_BYTES, &d->memory);
  bl_get_quantity(L, t, w, "memory_bandwidth", BERTH_BYTES_PER_SECOND, &d->memory_bandwidth);
  bl_get_quantity(L, t, w, "overhead", BERTH_SECONDS, &d->overhead);
}

/* [-0, +0] A link from two keys; what is not given is that of `otherwise`. 0 bytes/s is refused: a
 * link that carries nothing would give infinite times instead of another route. */
berth_link bl_get_link(lua_State *L, int t, const bl_where *w, const char *bandwidth,
                       const char *latency, berth_link otherwise) {
  berth_link l = otherwise;
  bl_get_quantity(L, t, w, bandwidth, BERTH_BYTES_PER_SECOND, &l.bandwidth);
  if (l.bandwidth <= 0)
    bl_wrong(L, w, bandwidth, "must be above 0: leave the link out if there is none");
  bl_get_quantity(L, t, w, latency, BERTH_SECONDS, &l.latency);
  if (isinf(l.latency)) bl_wrong(L, w, latency, "must be finite");
  return l;
}

/* ---- from parts ---- */

typedef struct build {
  lua_State *L;
  berth_topology_builder *b;
  int names;          /* stack index: name -> node */
  int32_t *node;      /* [n_devices] in scratch */
  int32_t n_devices, n_links;
} build;

BL_RELEASE(release_builder, berth_topology_builder_release)
static const bl_class builder_class = {
  .name = "topology builder", .key = "berth.topology_builder", .release = release_builder
};

/* Names are unique among devices and switches. */
static void remember(build *m, const bl_where *w, const char *name, int32_t node) {
  lua_State *L = m->L;
  lua_getfield(L, m->names, name);
  if (!lua_isnil(L, -1)) bl_wrong(L, w, NULL, "the name \"%s\" is taken", name);
  lua_pop(L, 1);
  lua_pushinteger(L, node);
  lua_setfield(L, m->names, name);
}

/* { name, preset, type, speed, flops, memory, ... }: without a name links refer to it as "d0",
 * "d1", ..., counted from 0. machine is from 1 in Lua. */
static void add_device(build *m, int devices, int32_t i) {
  lua_State *L = m->L;
  bl_where w = { FN, "devices", 0 };
  berth_device d = berth_device_default();
  int t = bl_to_entry(L, devices, &w, i - 1, bl_device_fields);
  bl_check_own_id(L, t, &w);
  bl_get_device(L, t, &w, &d);
  d.name = bl_get_string(L, t, &w, "name");
  if (bl_get_whole(L, t, &w, "machine", 1, INT32_MAX, &d.machine)) d.machine--;
  bl_must_build(m->L, &w, berth_topology_builder_add_device(m->b, &d, NULL, &m->node[i - 1]));
  remember(m, &w, d.name ? d.name : lua_pushfstring(L, "d%d", (int)i - 1), m->node[i - 1]);
  lua_settop(L, t - 1);
}

/* A name, which must be a string: a number would be converted in place and confuse ids with
 * names. */
static void add_switch(build *m, int switches, int32_t i) {
  lua_State *L = m->L;
  bl_where w = { FN, "switches", i };
  lua_rawgeti(L, switches, i);
  if (lua_type(L, -1) != LUA_TSTRING)
    bl_wrong(L, &w, NULL, "expected a name, got %s", bl_kind(L, -1));
  int32_t node;
  bl_must_build(m->L, &w,
                berth_topology_builder_add_switch(
                    m->b, bl_to_text(L, -1, &w, NULL), &node));
  remember(m, &w, lua_tostring(L, -1), node);
  lua_pop(L, 1);
}

/* [-0, +0] A node by name, or a device by 1-based id: entry `item` of the table at t. Nodes are
 * those of the core: devices and switches in one numbering. */
static int32_t node_at(build *m, int t, const bl_where *w, int item, const char *key) {
  lua_State *L = m->L;
  lua_rawgeti(L, t, item);
  int32_t node;
  if (lua_type(L, -1) != LUA_TSTRING) {
    node = m->node[bl_to_id(L, -1, w, key, m->n_devices, "device")];
  } else {
    lua_getfield(L, m->names, bl_to_text(L, -1, w, key));
    if (lua_isnil(L, -1))
      bl_wrong(L, w, key, "there is no device or switch named \"%s\"", lua_tostring(L, -2));
    node = (int32_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return node;
}

/* { a, b, bandwidth, latency, directed }: two links unless directed, a to b first. n_links counts
 * what the core numbers, so that routes may name links by id. */
static void add_link(build *m, int links, int32_t i) {
  static const char *const keys[] = { "bandwidth", "latency", "directed", NULL };
  lua_State *L = m->L;
  bl_where w = { FN, "links", 0 };
  int directed = 0;
  int t = bl_to_entry(L, links, &w, i - 1, NULL);
  bl_check_keys(L, t, &w, keys, true);
  if (lua_rawlen(L, t) != 2) bl_wrong(L, &w, NULL, "expected the two ends of the link");
  int32_t a = node_at(m, t, &w, 1, "from");
  int32_t c = node_at(m, t, &w, 2, "to");
  berth_link l = bl_get_link(L, t, &w, "bandwidth", "latency", bl_default_link);
  bl_get_bool(L, t, &w, "directed", &directed);
  bl_must_build(m->L, &w, directed ? berth_topology_builder_add_link(m->b, a, c, &l, NULL)
                       : berth_topology_builder_add_duplex(m->b, a, c, &l, NULL));
  m->n_links += directed ? 1 : 2;
  lua_settop(L, t - 1);
}

/* [-0, +0] The device, not the node, at entry `item`; O(devices). Raises for a switch. */
static int32_t device_at(build *m, int t, const bl_where *w, int item, const char *key) {
  int32_t node = node_at(m, t, w, item, key);
  for (int32_t k = 0; k < m->n_devices; k++)
    if (m->node[k] == node) return k;
  bl_wrong(m->L, w, key, "is a switch: routes lead from device to device");
  return BERTH_NONE;
}

/* { a, b, via = ids of links } */
static void add_route(build *m, int routes, int32_t i) {
  static const char *const keys[] = { "via", NULL };
  lua_State *L = m->L;
  bl_where w = { FN, "routes", 0 };
  int32_t n = 0;
  int t = bl_to_entry(L, routes, &w, i - 1, NULL);
  bl_check_keys(L, t, &w, keys, true);
  if (lua_rawlen(L, t) != 2) bl_wrong(L, &w, NULL, "expected the two devices of the route");
  int32_t src = device_at(m, t, &w, 1, "from");
  int32_t dst = device_at(m, t, &w, 2, "to");
  if (!bl_get_array(L, t, &w, "via", &n))
    bl_wrong(L, &w, "via", "is missing: an array of link ids");
  int32_t *links = bl_to_ids(L, -1, &w, "via", n, m->n_links, "link");
  bl_must_build(m->L, &w, berth_topology_builder_set_route(m->b, src, dst, n, links));
  lua_settop(L, t - 1);
}

/* [-0, +0] Calls add(build, list, i) for entries 1 to n of the key, if it is there. */
static void each(build *m, const char *key, void (*add)(build *m, int list, int32_t i)) {
  int32_t n;
  if (!bl_get_array(m->L, 1, &where, key, &n)) return;
  for (int32_t i = 1; i <= n; i++) add(m, lua_gettop(m->L), i);
  lua_pop(m->L, 1);
}

/* berth.topology { name, devices, switches, links, routes }: topology; nil, message, code. The
 * builder is in a box until it has finished, then released here: its memory need not wait for the
 * collector. The topology's box is made before the core is called, as always. */
static int topology_build(lua_State *L) {
  static const char *const keys[] = { "name", "devices", "switches", "links", "routes", NULL };
  build m = { 0 };
  bl_need_table(L, 1, &where, "spec");
  bl_check_keys(L, 1, &where, keys, false);
  lua_settop(L, 1);
  m.L = L;
  bl_register(L, &builder_class);
  bl_box *box = bl_new(L, &builder_class, sizeof *box);
  berth_status st;
  if ((st = berth_topology_builder_new(bl_ctx(L), &m.b)) != BERTH_OK) return bl_failed(L, st);
  box->object = m.b;
  lua_newtable(L);
  m.names = lua_gettop(L);
  bl_need(L, bl_get_array(L, 1, &where, "devices", &m.n_devices), &where, "devices");
  m.node = bl_scratch(L, (size_t)m.n_devices, sizeof *m.node);
  const char *name = bl_get_string(L, 1, &where, "name");
  if (name) bl_must_build(L, &where, berth_topology_builder_name(m.b, name));
  each(&m, "devices", add_device);
  each(&m, "switches", add_switch);
  each(&m, "links", add_link);
  each(&m, "routes", add_route);
  berth_topology **t = bl_new_topology(L);
  bl_call call = bl_enter(L);
  st = bl_leave(&call, berth_topology_builder_finish(m.b, t));
  box->object = NULL;
  berth_topology_builder_release(m.b);
  if (st != BERTH_OK) return bl_refused(L, FN, st);
  bl_track(L);
  return 1;
}

/* ---- reading ---- */

int32_t bl_to_device(lua_State *L, int i, const bl_where *w, const char *key,
                     const berth_topology *t) {
  int32_t n = berth_topology_devices(t);
  berth_device d, last;
  if (lua_type(L, i) != LUA_TSTRING) {
    double x = (double)lua_tonumber(L, i);
    bool outside = lua_type(L, i) == LUA_TNUMBER && x == floor(x) && !(x >= 1 && x <= n);
    if (outside && berth_topology_device(t, 0, &d) == BERTH_OK
        && berth_topology_device(t, n - 1, &last) == BERTH_OK)
      bl_wrong(L, w, key, "there is no device %.14g (ids are 1..%d: %s to %s)", x, (int)n, d.name,
               last.name);
    return bl_to_id(L, i, w, key, n, "device");
  }
  const char *name = bl_to_text(L, i, w, key), **names = bl_scratch(L, (size_t)n, sizeof *names);
  for (int32_t k = 0; k < n; k++) {
    names[k] = berth_topology_device(t, k, &d) == BERTH_OK ? d.name : "";
    if (strcmp(names[k], name) != 0) continue;
    lua_pop(L, 1);
    return k;
  }
  bl_wrong(L, w, key, "there is no device '%s' (legal: %s)", name,
           bl_push_legal(L, name, names, n, NULL));
  return BERTH_NONE;
}

/* [-0, +0] 0-based. */
static int32_t device_arg(lua_State *L, int i, const berth_topology *t, const bl_where *w,
                          const char *what) {
  return bl_to_device(L, i, w, what, t);
}

BL_GETTER(get_name, lua_pushstring, berth_topology_name(self(L, "topology.name")))
BL_GETTER(get_links, lua_pushinteger, berth_topology_links(self(L, "topology.n_links")))
BL_GETTER(get_nodes, lua_pushinteger, berth_topology_nodes(self(L, "topology.n_nodes")))
BL_GETTER(get_devices, lua_pushinteger, berth_topology_devices(self(L, "topology.n_devices")))

/* topology:device(id): { id, name, type, speed, flops, memory, memory_bandwidth, overhead, machine
 * }. type is set even if it is "", where bl_set_string would leave it out. Amounts may be
 * math.huge. */
static int device(lua_State *L) {
  BL_WHERE(w, "topology:device");
  const berth_topology *t = self(L, w.fn);
  int32_t id = device_arg(L, 2, t, &w, "device");
  berth_device d;
  berth_status st = berth_topology_device(t, id, &d);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 9);
  bl_set_id(L, "id", id);
  bl_set_string(L, "name", d.name);
  lua_pushstring(L, d.type ? d.type : "");
  lua_setfield(L, -2, "type");
  bl_set_number(L, "speed", d.speed);
  bl_set_number(L, "flops", d.flops);
  bl_set_number(L, "memory", d.memory);
  bl_set_number(L, "memory_bandwidth", d.memory_bandwidth);
  bl_set_number(L, "overhead", d.overhead);
  bl_set_id(L, "machine", d.machine);
  return 1;
}

/* Upvalues: the topology, the last id. The topology is checked at each step, since the body of the
 * loop may close it. Calls device() as a function with arguments of its own: that checks them
 * anew. */
static int next_device(lua_State *L) {
  berth_topology *t = bl_check_topology(L, lua_upvalueindex(1), "topology:devices", "self");
  lua_Integer id = lua_tointeger(L, lua_upvalueindex(2)) + 1;
  if (id > berth_topology_devices(t)) return 0;
  lua_pushinteger(L, id);
  lua_replace(L, lua_upvalueindex(2));
  lua_settop(L, 0);
  lua_pushcfunction(L, device);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushinteger(L, id);
  lua_call(L, 2, 1);
  return 1;
}

/* topology:rate(device, dtype): FLOP/s in that arithmetic, and the one that the preset has for it;
 * nil: the device's own flops. */
static int rate(lua_State *L) {
  BL_WHERE(w, "topology:rate");
  const berth_topology *t = self(L, w.fn);
  int32_t id = device_arg(L, 2, t, &w, "device");
  const char *dtype = lua_isnoneornil(L, 3) ? NULL : bl_to_text(L, 3, &w, "dtype"), *used;
  berth_device d;
  berth_status st = berth_topology_device(t, id, &d);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushnumber(L, berth_device_rate(&d, dtype, &used));
  lua_pushstring(L, used);
  return 2;
}

/* topology:devices(): iterator of tables as topology:device returns them. */
static int each_device(lua_State *L) {
  self(L, "topology:devices");
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  bl_push_closure(L, next_device, 2);
  return 1;
}

static const char *node_name(const berth_topology *t, int32_t node) {
  const char *name = "";
  berth_topology_node(t, node, &name, NULL);
  return name;
}

/* topology:link(id): { id, from, to, bandwidth, latency }, ends by name, bytes/s, s. */
static int link(lua_State *L) {
  BL_WHERE(w, "topology:link");
  const berth_topology *t = self(L, w.fn);
  int32_t from, to, id = bl_to_id(L, 2, &w, "link", berth_topology_links(t), "link");
  berth_link l;
  berth_status st = berth_topology_link(t, id, &from, &to, &l);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 5);
  bl_set_id(L, "id", id);
  bl_set_string(L, "from", node_name(t, from));
  bl_set_string(L, "to", node_name(t, to));
  bl_set_number(L, "bandwidth", l.bandwidth);
  bl_set_number(L, "latency", l.latency);
  return 1;
}

/* topology:node(k): { id, name, device }, device nil for a switch. */
static int node(lua_State *L) {
  BL_WHERE(w, "topology:node");
  const berth_topology *t = self(L, w.fn);
  int32_t dev, id = bl_to_id(L, 2, &w, "node", berth_topology_nodes(t), "node");
  const char *name;
  berth_status st = berth_topology_node(t, id, &name, &dev);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 3);
  bl_set_id(L, "id", id);
  bl_set_string(L, "name", name);
  bl_set_id(L, "device", dev);
  return 1;
}

/* [-0, +3] nil, message, code of the missing path: berth_topology_route sets no message. */
static int unreachable(lua_State *L, const berth_topology *t, int32_t a, int32_t b) {
  berth_link l;
  berth_status st = berth_topology_path(t, a, b, &l); /* sets the message */
  return bl_failed(L, st == BERTH_OK ? BERTH_EUNREACHABLE : st);
}

/* topology:route(a, b): ids of links in the order of the way; nil, message, code. */
static int route(lua_State *L) {
  BL_WHERE(w, "topology:route");
  const berth_topology *t = self(L, w.fn);
  int32_t a = device_arg(L, 2, t, &w, "from"), b = device_arg(L, 3, t, &w, "to");
  const int32_t *links;
  int32_t n = berth_topology_route(t, a, b, &links);
  if (n < 0) return unreachable(L, t, a, b);
  bl_push_ids(L, n, links);
  return 1;
}

/* topology:path(a, b): bandwidth of the narrowest link in bytes/s, sum of latencies in s; nil,
 * message, code. */
static int path(lua_State *L) {
  BL_WHERE(w, "topology:path");
  const berth_topology *t = self(L, w.fn);
  int32_t a = device_arg(L, 2, t, &w, "from"), b = device_arg(L, 3, t, &w, "to");
  berth_link l;
  berth_status st = berth_topology_path(t, a, b, &l);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushnumber(L, l.bandwidth);
  lua_pushnumber(L, l.latency);
  return 2;
}

BL_GETTER(length, lua_pushinteger, berth_topology_devices(self(L, "#topology")))

/* Least and most memory of the devices, if any is limited. */
static void add_memory(luaL_Buffer *b, const berth_topology *t) {
  int32_t n = berth_topology_devices(t);
  berth_device d;
  double least = INFINITY, most = 0;
  for (int32_t k = 0; k < n; k++) {
    if (berth_topology_device(t, k, &d) != BERTH_OK) return;
    if (d.memory < least) least = d.memory;
    if (d.memory > most) most = d.memory;
  }
  if (isinf(least)) return;
  luaL_addstring(b, ", memory ");
  bl_add_quantity(b, least, BERTH_BYTES);
  if (most == least) return;
  luaL_addstring(b, " to ");
  if (isinf(most)) {
    luaL_addstring(b, "unlimited");
  } else {
    bl_add_quantity(b, most, BERTH_BYTES);
  }
}

/* ", 25 GB/s", ", 10 GB/s to 25 GB/s" */
static void add_bandwidth(luaL_Buffer *b, const berth_topology *t) {
  double least = INFINITY, most = 0;
  for (int32_t k = 0; k < berth_topology_links(t); k++) {
    berth_link l;
    berth_topology_link(t, k, NULL, NULL, &l);
    least = fmin(least, l.bandwidth);
    most = fmax(most, l.bandwidth);
  }
  if (isinf(least)) return;
  luaL_addstring(b, " of ");
  bl_add_quantity(b, least, BERTH_BYTES_PER_SECOND);
  if (most == least) return;
  luaL_addstring(b, " to ");
  bl_add_quantity(b, most, BERTH_BYTES_PER_SECOND);
}

static int to_string(lua_State *L) {
  const berth_topology *t = self(L, "tostring");
  int32_t n = berth_topology_devices(t), nodes = berth_topology_nodes(t);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "topology");
  if (*berth_topology_name(t)) {
    luaL_addstring(&b, " \"");
    bl_add_name(&b, berth_topology_name(t));
    luaL_addchar(&b, '"');
  }
  bl_add_format(&b, ": %d device%s", (int)n, n == 1 ? "" : "s");
  if (nodes > n) bl_add_format(&b, ", %d switch%s", (int)(nodes - n), nodes - n == 1 ? "" : "es");
  bl_add_format(&b, ", %d links", (int)berth_topology_links(t));
  add_bandwidth(&b, t);
  add_memory(&b, t);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = { { "name", get_name },
                                   { "n_links", get_links },
                                   { "n_nodes", get_nodes },
                                   { "n_devices", get_devices },
                                   { NULL, NULL } };
static const luaL_Reg methods[] = { { "device", device },
                                    { "devices", each_device },
                                    { "rate", rate },
                                    { "link", link },
                                    { "node", node },
                                    { "route", route },
                                    { "path", path },
                                    { "save", bl_topology_save },
                                    { "to_string", bl_topology_to_string },
                                    { NULL, NULL } };

const bl_class bl_topology_class = {
  .name = "topology", .key = "berth.topology", .release = release_topology, .methods = methods,
  .fields = fields, .text = to_string, .length = length
};
const luaL_Reg bl_topology_functions[] = { { "topology", topology_build }, { NULL, NULL } };
