/* Type "cost": a graph on a topology, priced; cost functions in Lua.
 * Anchor: graph, topology, model (the option table), collective (a function). op and transfer are
 * called while the cost is made, on the stack of the caller; their errors stay on the top until the
 * core has returned, wrong results go to `fault`. collective is called whenever the core needs a
 * price, perhaps from another coroutine: a weak table in the registry maps the box's address to the
 * box, whose anchor has the function. */
#include "base/binding.h"
#include <math.h>
#include <stdio.h>
#include <string.h>



static const char boxes_key = 0; /* its address is a registry key: address of a box that prices
                                    collectives -> the box, weakly */

BL_RELEASE(release_cost, berth_cost_release)

berth_cost *bl_check_cost(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_cost_box *)bl_check(L, i, &bl_cost_class, fn, what))->cost;
}

BL_SELF(self, berth_cost, bl_cost_class)

/* ---- cost functions in Lua ---- */

/* Called while the core makes the cost, on the stack of the caller. What is wrong with a result is
 * raised after the core has cleaned up (`fault`); an error in a function stays on the top of the
 * stack until then. */
typedef struct bl_model {
  lua_State *L;
  int op, transfer, collective; /* stack indices; 0: built-in */
  char fault[200];
} model;

/* [-1, +0] The result at the top; what is wrong with it goes to `fault`, not raised: frames of the
 * core are below. `call` names the call in the message. */
static berth_status take_seconds(model *m, const char *call, double *seconds) {
  lua_State *L = m->L;
  *seconds = (double)lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER) {
    snprintf(m->fault, sizeof m->fault, "%s gave %s, expected seconds", call, luaL_typename(L, -1));
  } else if (!(*seconds >= 0)) {
    berth_snprintf(m->fault, sizeof m->fault, "%s gave %g s", call, *seconds);
  }
  lua_pop(L, 1);
  return *m->fault ? BERTH_ECALLBACK : BERTH_OK;
}

/* NaN is none: the comparison is false. */
static bool is_time(lua_State *L) {
  return lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) >= 0;
}

/* op(op, device): s, or "built-in"; ids 1-based. [-0, +0], or [-0, +1] the error value, which
 * stays at the top until make_cost raises it. Runs on the stack of the coroutine that makes the
 * cost. */
static berth_status call_op(void *ud, int32_t op, int32_t device, double *seconds) {
  model *m = ((bl_cost_box *)ud)->making;
  char call[80] = "";
  lua_pushvalue(m->L, m->op);
  lua_pushinteger(m->L, op + 1);
  lua_pushinteger(m->L, device + 1);
  if (lua_pcall(m->L, 2, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (lua_type(m->L, -1) == LUA_TSTRING && strcmp(lua_tostring(m->L, -1), "built-in") == 0) {
    lua_pop(m->L, 1);
    *seconds = BERTH_COST_BUILT_IN;
    return BERTH_OK;
  }
  if (!is_time(m->L)) snprintf(call, sizeof call, "cost.op(%d, %d)", (int)op + 1, (int)device + 1);
  return take_seconds(m, call, seconds);
}

/* [-0, +0], or the error at the top. The call is named for a message only. */
static berth_status call_transfer(void *ud, int32_t tensor, int32_t src, int32_t dst,
                                  double *seconds) {
  model *m = ((bl_cost_box *)ud)->making;
  char call[80] = "";
  lua_pushvalue(m->L, m->transfer);
  lua_pushinteger(m->L, tensor + 1);
  lua_pushinteger(m->L, src + 1);
  lua_pushinteger(m->L, dst + 1);
  if (lua_pcall(m->L, 3, 1, 0) != LUA_OK) return BERTH_ECALLBACK;
  if (!is_time(m->L))
    snprintf(call, sizeof call, "cost.transfer(%d, %d, %d)", (int)tensor + 1, (int)src + 1,
             (int)dst + 1);
  return take_seconds(m, call, seconds);
}

/* The function for collectives is called later than the others, whenever the core needs a price: it
 * is in the anchor of the cost's box, which every caller holds. */

/* [-0, +1] The table of boxes by their address; values are weak. */
static void push_boxes(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&boxes_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushlightuserdata(L, (void *)&boxes_key);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Pushes the function; raises if the cost has been closed since. */
static void push_collective(lua_State *L, bl_cost_box *box) {
  push_boxes(L);
  lua_pushlightuserdata(L, box);
  lua_rawget(L, -2);
  if (bl_test(L, -1, &bl_cost_class)) {
    compat_getanchor(L, -1);
    lua_getfield(L, -1, "collective");
    if (lua_isfunction(L, -1)) return;
  }
  luaL_error(L, "cost.collective: the cost is closed");
}

typedef struct collective_call {
  bl_cost_box *box;
  int32_t id, n;
  const int32_t *devices;
  double seconds;
} collective_call;

/* Protected: (collective_call) as light userdata. May raise: compat_cpcall catches it, and
 * bl_failed raises it again once the core has returned. */
static int collective_body(lua_State *L) {
  collective_call *q = lua_touserdata(L, 1);
  push_collective(L, q->box);
  lua_pushinteger(L, q->id + 1);
  bl_push_ids(L, q->n, q->devices);
  lua_call(L, 2, 1);
  q->seconds = (double)lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER)
    return bl_error(L, "cost.collective(%d, devices) gave %s, expected seconds", (int)q->id + 1,
                    luaL_typename(L, -1));
  if (!(q->seconds >= 0))
    return bl_error(L, "cost.collective(%d, devices) gave %g s", (int)q->id + 1, q->seconds);
  return 0;
}

/* Called from whatever call of the library runs, perhaps in another coroutine: on its stack, which
 * bl_enter has noted in `running`. Leaves the error value there. */
static berth_status call_collective(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                                    double *seconds) {
  collective_call q = { ud, collective, n, devices, 0 };
  if (compat_cpcall(q.box->hooks->running, collective_body, &q) != LUA_OK) return BERTH_ECALLBACK;
  *seconds = q.seconds;
  return BERTH_OK;
}

/* [-0, +2] Slopes and offsets of LINES may be negative, so that bl_to_quantity does not do. */
static void get_lines(lua_State *L, int t, const bl_where *w, berth_cost_model *c) {
  int32_t n;
  if (!bl_get_array(L, t, w, "collective_lines", &n)) return;
  if (n != 4)
    bl_wrong(L, w, "collective_lines", "has %d entries, expected 4: us per KiB and us of two lines",
             (int)n);
  double *x = bl_scratch(L, 4, sizeof *x);
  for (int32_t k = 0; k < 4; k++) {
    lua_rawgeti(L, -2, k + 1);
    x[k] = bl_to_number(L, -1, w, "collective_lines");
    lua_pop(L, 1);
  }
  c->collective_lines = x;
}

/* [-0, +2] [devices] group of each, from 1 in Lua. */
static void get_groups(lua_State *L, int t, const bl_where *w, int32_t devices,
                       berth_cost_model *c) {
  if (bl_get_sized(L, t, w, "device_groups", devices, "device"))
    c->device_group = bl_to_ids(L, -1, w, "device_groups", devices, INT32_MAX, "group");
}

/* Arrays stay on the stack. */
static void read_arrays(lua_State *L, int t, const bl_where *w, int32_t devices,
                        berth_cost_model *c) {
  get_lines(L, t, w, c);
  get_groups(L, t, w, devices, c);
}

/* [-0, +n] Options at t (0: none) into c; functions stay on the stack and are found by index. c->ud
 * is set by the caller, who has the box. */
static void read_model(lua_State *L, int t, const bl_where *w, model *m, berth_cost_model *c) {
  memset(c, 0, sizeof *c);
  m->L = L;
  bl_read_options(L, t, w, berth_cost_option_table(), c);
  if (bl_get_function(L, t, w, "op")) {
    m->op = lua_gettop(L);
    c->op = call_op;
  }
  if (bl_get_function(L, t, w, "transfer")) {
    m->transfer = lua_gettop(L);
    c->transfer = call_transfer;
  }
  if (bl_get_function(L, t, w, "collective")) {
    m->collective = lua_gettop(L);
    c->collective = call_collective;
  }
}

/* ---- making ---- */

/* Lets the function at `collective` be found from the address of the box at self_at. */
static void keep_collective(lua_State *L, int self_at, int collective) {
  if (!collective) return;
  bl_keep(L, self_at, "collective", collective);
  push_boxes(L);
  lua_pushlightuserdata(L, lua_touserdata(L, self_at));
  lua_pushvalue(L, self_at);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* [-0, +1] Pushes a cost box, which stays closed on failure; graph and topology are at gi and ti,
 * options at t or 0. What functions raised is raised here, once the core has cleaned up. @return
 * status for bl_failed */
static berth_status make_cost(lua_State *L, const char *fn, int gi, int ti, int t) {
  bl_where w = { fn, NULL, 0 };
  berth_graph *g = bl_check_graph(L, gi, fn, "graph");
  berth_topology *topology = bl_check_topology(L, ti, fn, "topology");
  model m = { 0 };
  bl_cost_box *box = bl_new(L, &bl_cost_class, sizeof *box);
  int self_at = lua_gettop(L);
  luaL_checkstack(L, 20, fn);
  bl_keep(L, self_at, "graph", gi);
  bl_keep(L, self_at, "topology", ti);
  bl_keep(L, self_at, "model", t);
  berth_cost_model c;
  read_model(L, t, &w, &m, &c);
  read_arrays(L, t, &w, berth_topology_devices(topology), &c);
  keep_collective(L, self_at, m.collective);
  c.ud = box;
  berth_graph_retain(g); /* a function may close them */
  berth_topology_retain(topology);
  bl_call call = bl_enter(L);
  box->hooks = call.hooks;
  box->making = &m;
  berth_status st = bl_leave(&call, berth_cost_new(g, topology, &c, &box->cost));
  box->making = NULL;
  berth_graph_release(g);
  berth_topology_release(topology);
  if (*m.fault) bl_error(L, "%s: %s", fn, m.fault);
  if (st == BERTH_ECALLBACK) lua_error(L);
  lua_settop(L, self_at);
  if (st == BERTH_OK) bl_track(L);
  return st;
}

const bl_table bl_cost_tables[] = { berth_cost_option_table, NULL };

/* berth.cost(graph, topology, options): cost; nil, message, code. */
static int cost_new(lua_State *L) {
  BL_WHERE(w, "berth.cost");
  lua_settop(L, 3);
  berth_status st = make_cost(L, w.fn, 1, 2, bl_option_table(L, 3, &w, bl_cost_tables));
  return st == BERTH_OK ? 1 : bl_failed(L, st);
}

/* [-0, +1] The cost of (graph, topology) without options, kept in the graph's anchor for its last
 * topology: berth.simulate(graph, topology, ...) in a loop prices once. The graph's anchor refers
 * to the cost and the cost's to the graph: a cycle of tables, which the collector handles. On
 * LuaJIT, too, as environments are traversed. */
static berth_status plain_cost(lua_State *L, const char *fn) {
  int anchor = lua_gettop(L) + 1;
  compat_getanchor(L, 1);
  lua_getfield(L, anchor, "topology");
  lua_getfield(L, anchor, "cost");
  if (bl_test(L, -1, &bl_cost_class) && bl_is_open(L, -1) && lua_rawequal(L, -2, 2)) {
    lua_replace(L, anchor);
    lua_settop(L, anchor);
    return BERTH_OK;
  }
  lua_settop(L, anchor);
  berth_status st;
  if ((st = make_cost(L, fn, 1, 2, 0)) != BERTH_OK) return st;
  lua_pushvalue(L, 2);
  lua_setfield(L, anchor, "topology");
  lua_pushvalue(L, -1);
  lua_setfield(L, anchor, "cost");
  lua_remove(L, anchor);
  return BERTH_OK;
}

/* [-0, +1] The option `cost` of the table at i, or nil. What else is at i is checked later. */
static void push_model(lua_State *L, int i) {
  if (lua_istable(L, i)) {
    lua_getfield(L, i, "cost");
  } else {
    lua_pushnil(L);
  }
}

/* What is to be typed where a graph or a topology is something else. */
static const char *advice(lua_State *L, int i) {
  bool graph = i == 1;
  if (lua_isnil(L, i) || lua_isnone(L, i))
    return graph ? ": the call that loads or builds it failed, or was none; "
                   "assert(berth.load(...)) raises with the reason"
                 : ": a topology comes after the graph, as berth.topology.mesh(4, { preset = "
                   "\"V100\" })";
  if (lua_type(L, i) == LUA_TSTRING)
    return graph ? ": berth.load(\"FILE\") or berth.models.build(\"NAME\") gives one"
                 : ": berth.load_topology(\"FILE\") or berth.topology.mesh(4, { preset = "
                   "\"V100\" }) gives one";
  if (bl_test(L, i, graph ? &bl_topology_class : &bl_graph_class))
    return ": the graph comes first, then the topology";
  return "";
}

/* [-1, +0] with graph and topology, which one cost replaces; [-0, +0] with a cost. */
berth_status bl_cost_first(lua_State *L, const char *fn, int options) {
  bl_where w = { fn, NULL, 0 };
  int top = lua_gettop(L);
  if (bl_test(L, 1, &bl_cost_class)) {
    bl_check_cost(L, 1, fn, "cost");
    push_model(L, options);
    if (!lua_isnil(L, -1))
      bl_wrong(L, &w, "cost", "is given already, instead of graph and topology");
    lua_pop(L, 1);
    return BERTH_OK;
  }
  if (!bl_test(L, 1, &bl_graph_class))
    bl_wrong(L, &w, "graph", "expected a graph (or a cost), got %s%s", bl_kind(L, 1), advice(L, 1));
  bl_check_graph(L, 1, fn, "graph");
  if (!bl_test(L, 2, &bl_topology_class))
    bl_wrong(L, &w, "topology", "expected a topology, got %s%s", bl_kind(L, 2), advice(L, 2));
  bl_check_topology(L, 2, fn, "topology");
  push_model(L, options + 1);
  berth_status st;
  if (lua_isnil(L, -1)) {
    st = plain_cost(L, fn);
  } else {
    bl_need_table(L, -1, &w, "cost");
    bl_check_options(L, lua_gettop(L), &w, bl_cost_tables);
    st = make_cost(L, fn, 1, 2, lua_gettop(L));
  }
  if (st != BERTH_OK) return st;
  lua_replace(L, 1);
  lua_remove(L, 2);
  lua_settop(L, top - 1);
  return BERTH_OK;
}

/* priced(fn, graph, topology, model or nil): cost; nil, message, code. For the Lua modules. */
static int priced(lua_State *L) {
  const char *fn = luaL_checkstring(L, 1);
  lua_settop(L, 4);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 4);
  lua_setfield(L, -2, "cost");
  lua_replace(L, 4);
  lua_pushvalue(L, 1); /* the name stays alive, behind the arguments */
  lua_remove(L, 1);
  berth_status st = bl_cost_first(L, fn, 2);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_settop(L, 1);
  return 1;
}

/* ---- reading ---- */

/* cost.graph: the object that the cost was made from, or, if that is closed, a new box of the same
 * graph, which replaces it in the anchor. */
static int get_graph(lua_State *L) {
  berth_graph *g = berth_cost_graph(self(L, "cost.graph"));
  compat_getanchor(L, 1);
  lua_getfield(L, -1, "graph");
  if (bl_test(L, -1, &bl_graph_class) && bl_is_open(L, -1)) return 1;
  berth_graph_retain(*bl_new_graph(L) = g);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "graph");
  return 1;
}

/* [-0, +1] The same box as long as it is open, else a new one of the same topology. */
static int get_topology(lua_State *L) {
  berth_topology *t = berth_cost_topology(self(L, "cost.topology"));
  compat_getanchor(L, 1);
  lua_getfield(L, -1, "topology");
  if (bl_test(L, -1, &bl_topology_class) && bl_is_open(L, -1)) return 1;
  berth_topology_retain(*bl_new_topology(L) = t);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "topology");
  return 1;
}

/* The option table that the cost was made with, or nil. */
static int get_model(lua_State *L) {
  self(L, "cost.model");
  return bl_kept(L, "model");
}

static int32_t device_arg(lua_State *L, int i, const berth_cost *c, const bl_where *w,
                          const char *what) {
  return bl_to_device(L, i, w, what, berth_cost_topology(c));
}

/* cost:op(op, device): s; ids out of range raise here, before the core is called. */
static int cost_op(lua_State *L) {
  BL_WHERE(w, "cost:op");
  const berth_cost *c = self(L, w.fn);
  int32_t op = bl_to_id(L, 2, &w, "op", bl_ops(c), "op");
  lua_pushnumber(L, berth_cost_op(c, op, device_arg(L, 3, c, &w, "device")));
  return 1;
}

/* cost:transfer(tensor, from, to): s that the tensor takes from one device to the other. */
static int cost_transfer(lua_State *L) {
  BL_WHERE(w, "cost:transfer");
  const berth_cost *c = self(L, w.fn);
  int32_t tensor = bl_to_id(L, 2, &w, "tensor", berth_graph_tensors(berth_cost_graph(c)), "tensor");
  int32_t src = device_arg(L, 3, c, &w, "from"), dst = device_arg(L, 4, c, &w, "to");
  lua_pushnumber(L, berth_cost_transfer(c, tensor, src, dst));
  return 1;
}

/* cost:collective(k, devices): s with member i on devices[i], name of the algorithm; nil, message,
 * code. A function in Lua prices it if the cost has one, hence bl_enter and the reference. */
static int cost_collective(lua_State *L) {
  BL_WHERE(w, "cost:collective");
  berth_cost *c = self(L, w.fn);
  const berth_graph *g = berth_cost_graph(c);
  int32_t id = bl_to_id(L, 2, &w, "collective", berth_graph_collectives(g), "collective");
  berth_collective_algorithm how = BERTH_COLLECTIVE_RING;
  double seconds = 0;
  lua_settop(L, 3);
  int32_t n = bl_to_length(L, 3, &w, "devices");
  int32_t *devices =
      bl_to_ids(L, 3, &w, "devices", n, bl_devices(c), "device");
  berth_cost_retain(c); /* the function may close it */
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_cost_collective_by(c, id, n, devices, &seconds, &how));
  berth_cost_release(c);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, seconds);
  lua_pushstring(L, berth_collective_algorithm_name(how));
  return 2;
}

/* cost:mean_ops(), cost:min_ops(): [ops] over the devices, s. */
static int times_of_ops(lua_State *L, const char *fn,
                        berth_status (*get)(const berth_cost *c, double *out)) {
  const berth_cost *c = self(L, fn);
  int32_t n = bl_ops(c);
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  berth_status st = get(c, x);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_push_numbers(L, n, x);
  return 1;
}

static int mean_ops(lua_State *L) { return times_of_ops(L, "cost:mean_ops", berth_cost_mean_ops); }
static int min_ops(lua_State *L) { return times_of_ops(L, "cost:min_ops", berth_cost_min_ops); }

/* cost:mean_transfers(averages): [tensors] over pairs of devices, s; how: "textbook" by default. */
static int mean_transfers(lua_State *L) {
  BL_WHERE(w, "cost:mean_transfers");
  const berth_cost *c = self(L, w.fn);
  int32_t n = berth_graph_tensors(berth_cost_graph(c));
  int how = BERTH_AVERAGE_TEXTBOOK;
  if (!lua_isnoneornil(L, 2)) how = bl_to_choice(L, 2, &w, "averages", berth_average_choices());
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  berth_status st = berth_cost_mean_transfers(c, (berth_average)how, x);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_push_numbers(L, n, x);
  return 1;
}

BL_GETTER(rho, lua_pushnumber, berth_cost_rho(self(L, "cost:rho")))

/* [-0, +0] What an option at the top adds to the line: ", own op", ", op_factor 2", ",
 * free_control". A flag that is false adds nothing: "%.0s" prints no character of the key. */
static void describe_option(lua_State *L, const char *key, char *text, size_t size) {
  if (lua_isfunction(L, -1)) {
    snprintf(text, size, ", own %s", key);
  } else if (lua_type(L, -1) == LUA_TNUMBER) {
    berth_snprintf(text, size, ", %s %g", key, (double)lua_tonumber(L, -1));
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    snprintf(text, size, ", %s %s", key, lua_tostring(L, -1));
  } else {
    snprintf(text, size, lua_toboolean(L, -1) ? ", %s" : "%.0s", key);
  }
}

/* In the order of the descriptors, not of the table: pairs has none that both interpreters
 * share. */
static int to_string(lua_State *L) {
  const berth_cost *c = self(L, "tostring");
  int32_t devices = bl_devices(c);
  get_model(L);
  lua_pushfstring(L, "cost: %d ops on %d device%s", (int)bl_ops(c),
                  (int)devices, devices == 1 ? "" : "s");
  for (const berth_option *o = berth_cost_option_table()->options; o->key && lua_istable(L, -2);
       o++) {
    lua_getfield(L, -2, o->key);
    char text[64];
    describe_option(L, o->key, text, sizeof text);
    lua_pop(L, 1);
    lua_pushstring(L, text);
    lua_concat(L, 2);
  }
  return 1;
}

static const luaL_Reg fields[] = {
  { "graph", get_graph }, { "topology", get_topology }, { "model", get_model }, { NULL, NULL }
};
static const luaL_Reg methods[] = { { "op", cost_op },        { "transfer", cost_transfer },
                                    { "mean_ops", mean_ops }, { "mean_transfers", mean_transfers },
                                    { "min_ops", min_ops },   { "collective", cost_collective },
                                    { "rho", rho },           { NULL, NULL } };
const bl_class bl_cost_class = {
  .name = "cost", .key = "berth.cost", .release = release_cost, .methods = methods,
  .fields = fields, .text = to_string
};

/* cost_form(graph, topology): the name of the form that "auto" means for them. */
static int cost_form(lua_State *L) {
  static const char *const fn = "cost_form";
  berth_cost_form form = berth_cost_form_of(bl_check_graph(L, 1, fn, "graph"),
                                            bl_check_topology(L, 2, fn, "topology"));
  lua_pushstring(L, bl_choice_name(berth_cost_option_table(), "form", (int)form));
  return 1;
}

const luaL_Reg bl_cost_functions[] = {
  { "cost", cost_new },           { "cost_form", cost_form }, { "priced", priced },
  { "bounds", bl_bounds_table },  { NULL, NULL }
};
