/* Type "graph": reading. A graph does not change after it is made, so ops and tensors are pushed as
 * fresh tables and nothing is cached.
 * Iterators are closures with two upvalues, the graph's box and the next id; each call checks the
 * box again, as the loop body may close it. The object's pointer must not be kept across a call of
 * Lua. */
#include "graph_names.h"
#include <math.h>
#include <string.h>

const char *const bl_op_fields[] = { "name",   "kind",       "seconds",       "flop",
                                     "bytes",  "params",     "workspace",     "shape",
                                     "group",  "twin",       "pin",           "backward",
                                     "update", "splittable", "communication", "id",
                                     NULL };
const char *const bl_tensor_fields[] = { "from",  "to",       "bytes", "resident",
                                         "batch", "gradient", "id",    NULL };
const char *const bl_collective_fields[] = { "kind",  "bytes", "members", "consumers",
                                             "count", "id",    NULL };
const char *const bl_collective_kinds[] = { "allreduce",        "allgather", "reducescatter",
                                            "broadcast",        "alltoall",  "barrier",
                                            "parameter-server", NULL };

BL_RELEASE(release_graph, berth_graph_release)

berth_graph **bl_new_graph(lua_State *L) {
  return bl_new(L, &bl_graph_class, sizeof(berth_graph *));
}

berth_graph *bl_check_graph(lua_State *L, int i, const char *fn, const char *what) {
  return *(berth_graph **)bl_check(L, i, &bl_graph_class, fn, what);
}

BL_SELF(self, berth_graph, bl_graph_class)

static int32_t op_arg(lua_State *L, int i, const berth_graph *g, const char *fn, const char *what) {
  bl_where w = { fn, NULL, 0 };
  return bl_to_id(L, i, &w, what, berth_graph_ops(g), "op");
}

/* ---- fields ---- */

BL_GETTER(get_name, lua_pushstring, berth_graph_name(self(L, "graph.name")))
BL_GETTER(get_dtype, lua_pushstring, berth_graph_dtype(self(L, "graph.dtype")))
BL_GETTER(get_unitless, lua_pushboolean, berth_graph_unitless(self(L, "graph.unitless")))
BL_GETTER(get_tensors, lua_pushinteger, berth_graph_tensors(self(L, "graph.n_tensors")))
BL_GETTER(get_edges, lua_pushinteger, berth_graph_edges(self(L, "graph.n_edges")))
BL_GETTER(get_collectives, lua_pushinteger, berth_graph_collectives(self(L, "graph.n_collectives")))
BL_GETTER(get_ops, lua_pushinteger, berth_graph_ops(self(L, "graph.n_ops")))
BL_GETTER(get_shapes, lua_pushinteger, berth_graph_shapes(self(L, "graph.n_shapes")))
BL_GETTER(get_groups, lua_pushinteger, berth_graph_groups(self(L, "graph.n_groups")))

int bl_push_graph_note(lua_State *L, const berth_graph *g) {
  int32_t first, n = berth_graph_untimed(g, &first);
  berth_op op;
  if (n == 0 || berth_graph_op(g, first, &op) != BERTH_OK) return 0;
  bool named = op.name && *op.name;
  char name[101];
  if (named) berth_escape(op.name, 0, name, sizeof name);
  lua_pushfstring(L, "%d of %d ops %s neither times nor FLOP nor bytes, and no time is counted for "
                  "%s: op %d%s%s%s", (int)n, (int)berth_graph_ops(g), n == 1 ? "has" : "have",
                  n == 1 ? "it" : "them; the first", (int)first + 1, named ? " \"" : "",
                  named ? name : "", named ? "\"" : "");
  return 1;
}

/* graph.note: a sentence on ops without times, FLOP and bytes; nil: there are none. */
static int get_note(lua_State *L) { return bl_push_graph_note(L, self(L, "graph.note")); }

/* Names of device types, in the order of op times. */
static int get_types(lua_State *L) {
  const berth_graph *g = self(L, "graph.types");
  int32_t n = berth_graph_types(g);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushstring(L, berth_graph_type(g, k));
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* ---- ops and tensors ---- */

/* [-0, +1] nil: no profile; one number where the graph has one device type, or an array by type. */
static void push_seconds(lua_State *L, const berth_graph *g, const double *seconds) {
  if (!seconds) {
    lua_pushnil(L);
  } else if (berth_graph_types(g) == 1) {
    lua_pushnumber(L, seconds[0]);
  } else {
    bl_push_numbers(L, berth_graph_types(g), seconds);
  }
}

static void set_options(lua_State *L, const berth_option_table *table, const void *options) {
  for (const berth_option *o = table->options; o->key; o++) {
    const char *field = (const char *)options + o->offset;
    bool number = o->type == BERTH_OPTION_NUMBER;
    if (number ? *(const double *)field == 0 : !*(const int *)field) continue;
    if (number) bl_set_number(L, o->key, *(const double *)field);
    else bl_set_bool(L, o->key, true);
  }
}

/* [-0, +0] Field `shape` of the table at the top; zeros are left out. */
static void set_shape(lua_State *L, const berth_shape *s) {
  if (!s) return;
  lua_createtable(L, 0, 8);
  set_options(L, berth_product_option_table(), &s->product);
  set_options(L, berth_attention_option_table(), &s->attention);
  lua_setfield(L, -2, "shape");
}

const bl_table bl_shape_tables[] = { berth_product_option_table, berth_attention_option_table,
                                     NULL };

void bl_to_op_shape(lua_State *L, int i, const bl_where *w, berth_shape *out) {
  *out = (berth_shape){ .product = { .m = 0 } };
  bl_need_table(L, i, w, "shape");
  bl_check_options(L, i, w, bl_shape_tables);
  bl_read_options(L, i, w, berth_product_option_table(), &out->product);
  bl_read_options(L, i, w, berth_attention_option_table(), &out->attention);
}

/* [-0, +1] A new table, or nil, message, code. nil fields are left out; s, FLOP, bytes; ids of
 * group, twin and pin 1-based. */
static int push_op(lua_State *L, const berth_graph *g, int32_t id) {
  berth_op op;
  berth_status st = berth_graph_op(g, id, &op);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 17);
  bl_set_id(L, "id", id);
  bl_set_string(L, "name", op.name);
  bl_set_string(L, "kind", op.kind);
  push_seconds(L, g, op.seconds);
  lua_setfield(L, -2, "seconds");
  bl_set_number(L, "flop", op.flop);
  bl_set_number(L, "bytes", op.bytes);
  bl_set_number(L, "params", op.param_bytes);
  bl_set_number(L, "workspace", op.workspace_bytes);
  set_shape(L, op.shape);
  bl_set_id(L, "group", op.group);
  bl_set_id(L, "twin", op.twin);
  bl_set_id(L, "pin", op.pin);
  bl_set_bool(L, "backward", (op.flags & BERTH_OP_BACKWARD) != 0);
  bl_set_bool(L, "update", (op.flags & BERTH_OP_UPDATE) != 0);
  bl_set_bool(L, "splittable", (op.flags & BERTH_OP_SPLITTABLE) != 0);
  bl_set_bool(L, "communication", (op.flags & BERTH_OP_COMMUNICATION) != 0);
  return 1;
}

/* [-0, +1] As graph:tensor returns it; bytes and resident in bytes. */
static int push_tensor(lua_State *L, const berth_graph *g, int32_t id) {
  berth_tensor t;
  const int32_t *to;
  int32_t n = berth_graph_consumers(g, id, &to);
  berth_status st = berth_graph_tensor(g, id, &t);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 8);
  bl_set_id(L, "id", id);
  bl_set_id(L, "from", t.producer);
  bl_set_ids(L, "to", n, to);
  bl_set_number(L, "bytes", t.bytes);
  bl_set_number(L, "resident", t.resident_bytes);
  bl_set_bool(L, "batch", (t.flags & BERTH_TENSOR_BATCH) != 0);
  bl_set_bool(L, "gradient", (t.flags & BERTH_TENSOR_GRADIENT) != 0);
  return 1;
}

/* graph:op(id): { id, name, kind, seconds, flop, bytes, params, workspace, group, ... }, a copy. */
static int get_op(lua_State *L) {
  const berth_graph *g = self(L, "graph:op");
  return push_op(L, g, op_arg(L, 2, g, "graph:op", "op"));
}

/* graph:tensor(id): { id, from, to, bytes, resident, batch, gradient }; to: ids of its
 * consumers. */
static int get_tensor(lua_State *L) {
  BL_WHERE(w, "graph:tensor");
  const berth_graph *g = self(L, w.fn);
  return push_tensor(L, g, bl_to_id(L, 2, &w, "tensor", berth_graph_tensors(g), "tensor"));
}

/* graph:collective(id): { id, kind, bytes, count, members, consumers }; ids of ops. */
static int get_collective(lua_State *L) {
  BL_WHERE(w, "graph:collective");
  const berth_graph *g = self(L, w.fn);
  int32_t id = bl_to_id(L, 2, &w, "collective", berth_graph_collectives(g), "collective");
  berth_collective c;
  berth_status st = berth_graph_collective(g, id, &c);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 6);
  bl_set_id(L, "id", id);
  bl_set_string(L, "kind", bl_collective_kinds[c.kind]);
  bl_set_number(L, "bytes", c.bytes);
  bl_set_count(L, "count", c.count);
  bl_set_ids(L, "members", c.n_members, c.members);
  bl_set_ids(L, "consumers", c.n_consumers, c.consumers);
  return 1;
}

/* Iterators: upvalues are the graph and the next id. */

/* [-0, +0] Upvalue 2 of an iterator is the number of entries it has given, which is also the
 * 0-based id of the next one; BERTH_NONE at the end. */
static int next_id(lua_State *L, int32_t n) {
  int32_t id = (int32_t)lua_tointeger(L, lua_upvalueindex(2));
  if (id >= n) return BERTH_NONE;
  lua_pushinteger(L, id + 1);
  lua_replace(L, lua_upvalueindex(2));
  return id;
}

static berth_graph *iterated(lua_State *L, const char *fn) {
  return bl_check_graph(L, lua_upvalueindex(1), fn, "self");
}

static int next_op(lua_State *L) {
  const berth_graph *g = iterated(L, "graph:ops");
  int32_t id = next_id(L, berth_graph_ops(g));
  return id == BERTH_NONE ? 0 : push_op(L, g, id);
}

static int next_tensor(lua_State *L) {
  const berth_graph *g = iterated(L, "graph:tensors");
  int32_t id = next_id(L, berth_graph_tensors(g));
  return id == BERTH_NONE ? 0 : push_tensor(L, g, id);
}

/* graph:ops(), graph:tensors(): iterators of tables. Closures carry the mark of base/calls.c, so
 * that `close` in a finaliser sees that one runs. */
static int each(lua_State *L, const char *fn, lua_CFunction next) {
  self(L, fn);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  bl_push_closure(L, next, 2);
  return 1;
}

static int each_op(lua_State *L) { return each(L, "graph:ops", next_op); }
static int each_tensor(lua_State *L) { return each(L, "graph:tensors", next_tensor); }

/* ---- neighbours ---- */

/* berth_graph_inputs or berth_graph_outputs */
typedef int32_t (*tensors_fn)(const berth_graph *g, int32_t op, const int32_t **tensors);

/* graph:inputs(op), graph:outputs(op): ids of tensors. */
static int tensors_of(lua_State *L, const char *fn, tensors_fn get) {
  const berth_graph *g = self(L, fn);
  const int32_t *ids;
  int32_t n = get(g, op_arg(L, 2, g, fn, "op"), &ids);
  bl_push_ids(L, n, ids);
  return 1;
}

static int inputs(lua_State *L) { return tensors_of(L, "graph:inputs", berth_graph_inputs); }
static int outputs(lua_State *L) { return tensors_of(L, "graph:outputs", berth_graph_outputs); }

/* [-0, +0] Appends an id to the array at list unless the set at list + 1 has it: O(1), where a
 * search of the array would be quadratic. */
static void append_once(lua_State *L, int list, int32_t id) {
  lua_rawgeti(L, list + 1, id + 1);
  if (lua_isnil(L, -1)) {
    lua_pushboolean(L, 1);
    lua_rawseti(L, list + 1, id + 1);
    lua_pushinteger(L, id + 1);
    lua_rawseti(L, list, (int)lua_rawlen(L, list) + 1);
  }
  lua_pop(L, 1);
}

/* The tensors of the op at 2; leaves it, a list and a set on the stack, at 2, 3 and 4. */
static int32_t begin_neighbours(lua_State *L, const char *fn, tensors_fn get,
                                const int32_t **tensors) {
  const berth_graph *g = self(L, fn);
  int32_t n = get(g, op_arg(L, 2, g, fn, "op"), tensors);
  lua_settop(L, 2);
  lua_newtable(L);
  lua_newtable(L);
  return n;
}

/* graph:predecessors(op): ids, each once, in the order of its inputs. Stack: 1 self, 2 id, 3 the
 * answer, 4 the set of those that are in it. Making tables may run a finaliser that closes the
 * graph: it is checked at each step, and the method then raises. */
static int predecessors(lua_State *L) {
  static const char fn[] = "graph:predecessors";
  const int32_t *tensors;
  int32_t n = begin_neighbours(L, fn, berth_graph_inputs, &tensors);
  berth_tensor t;
  for (int32_t k = 0; k < n; k++)
    if (berth_graph_tensor(self(L, fn), tensors[k], &t) == BERTH_OK) append_once(L, 3, t.producer);
  lua_settop(L, 3);
  return 1;
}

/* Stack as in predecessors. */
static int successors(lua_State *L) {
  static const char fn[] = "graph:successors";
  const int32_t *tensors, *ops;
  int32_t n = begin_neighbours(L, fn, berth_graph_outputs, &tensors);
  for (int32_t k = 0; k < n; k++) {
    int32_t m = berth_graph_consumers(self(L, fn), tensors[k], &ops);
    for (int32_t j = 0; j < m; j++) append_once(L, 3, ops[j]);
  }
  lua_settop(L, 3);
  return 1;
}

/* graph:find(name): id; nil: there is none, or there are several. */
static int find(lua_State *L) {
  BL_WHERE(w, "graph:find");
  const berth_graph *g = self(L, w.fn);
  if (lua_type(L, 2) != LUA_TSTRING)
    return bl_wrong(L, &w, "name", "expected a string, got %s", bl_kind(L, 2));
  bl_push_id(L, berth_graph_find(g, lua_tostring(L, 2)));
  return 1;
}

/* ---- mirror ---- */

const bl_table bl_mirror_tables[] = { berth_mirror_option_table, NULL };

static void mirror_options(lua_State *L, const berth_graph *g, berth_mirror_options *o) {
  BL_WHERE(w, "graph:mirror");
  *o = berth_mirror_default();
  int t = bl_take_options(L, 2, &w, bl_mirror_tables, o);
  int32_t n;
  if (bl_get_array(L, t, &w, "seconds", &n))
    o->seconds = bl_to_numbers(L, -1, &w, "seconds", berth_graph_ops(g), "op");
}

/* graph:mirror(options): graph, array [new ops] of the op that each came from; nil, message, code.
 * The scratch is for four times the ops, the most that a mirror has. */
static int mirror(lua_State *L) {
  berth_graph *g = self(L, "graph:mirror");
  int32_t n = berth_graph_ops(g);
  lua_settop(L, 2);
  berth_mirror_options o;
  mirror_options(L, g, &o);
  int32_t *origin = bl_scratch(L, 4 * (size_t)n, sizeof *origin);
  berth_graph **out = bl_new_graph(L);
  berth_status st = berth_graph_mirror(g, &o, out, origin);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_track(L);
  bl_push_ids(L, berth_graph_ops(*out), origin);
  return 2;
}

/* ---- metatable ---- */

BL_GETTER(length, lua_pushinteger, berth_graph_ops(self(L, "#graph")))

static int to_string(lua_State *L) {
  const berth_graph *g = self(L, "tostring");
  const char *name = berth_graph_name(g);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "graph");
  if (*name) {
    luaL_addstring(&b, " \"");
    bl_add_name(&b, name);
    luaL_addchar(&b, '"');
  }
  bl_add_format(&b, ": %d ops, %d tensors, %d edges", (int)berth_graph_ops(g),
                (int)berth_graph_tensors(g), (int)berth_graph_edges(g));
  if (berth_graph_collectives(g) > 0)
    bl_add_format(&b, ", %d collectives", (int)berth_graph_collectives(g));
  if (berth_graph_types(g) > 1) bl_add_format(&b, ", %d device types", (int)berth_graph_types(g));
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = {
  { "name", get_name },         { "n_ops", get_ops },
  { "dtype", get_dtype },       { "unitless", get_unitless },
  { "n_tensors", get_tensors }, { "n_edges", get_edges }, { "note", get_note },
  { "n_groups", get_groups },   { "n_collectives", get_collectives },
  { "n_shapes", get_shapes },
  { "types", get_types },       { NULL, NULL }
};

static const luaL_Reg reading_methods[] = { { "op", get_op },
                                            { "tensor", get_tensor },
                                            { "collective", get_collective },
                                            { "ops", each_op },
                                            { "tensors", each_tensor },
                                            { "inputs", inputs },
                                            { "outputs", outputs },
                                            { "find", find },
                                            { "successors", successors },
                                            { "predecessors", predecessors },
                                            { "mirror", mirror },
                                            { "save", bl_graph_save },
                                            { "to_string", bl_graph_to_string },
                                            { "coplace", bl_graph_coplace },
                                            { "colocate", bl_graph_colocate },
                                            { "fuse", bl_graph_fuse },
                                            { "chains", bl_graph_chains },
                                            { "forward", bl_graph_forward },
                                            { NULL, NULL } };


const bl_class bl_graph_class = {
  .name = "graph", .key = "berth.graph", .release = release_graph, .methods = reading_methods,
  .more_methods = bl_level_methods, .fields = fields, .text = to_string, .length = length
};
const luaL_Reg bl_graph_functions[] = { { "graph", bl_graph_build }, { NULL, NULL } };
