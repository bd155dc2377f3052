/* berth.graph{...}: a graph from tables. Every check that can name the place in the tables is made
 * here, so that a message says "tensors[3].to"; the core checks the rest when it finishes the
 * graph.
 * Passes: the names of all ops into the table at build.names (name -> id, false where several ops
 * share it), since an op may refer to a later one; then ops, tensors, edges and collectives in
 * order.
 * Each add_... reads one entry, at stack index t, and leaves the stack as it was. Strings and
 * scratch are valid until then; the core copies them. The builder is in a box: an error in the
 * tables frees it with the box. */
#include "graph_names.h"
#include <math.h>
#include <string.h>

#define FN "berth.graph"

BL_WHERE(where, FN);

typedef struct build {
  lua_State *L;
  berth_graph_builder *b;
  int names;        /* stack index: name -> id, or false if several ops have it */
  int32_t n_types, n_ops;
  double *seconds;  /* [n_types] scratch */
} build;

BL_RELEASE(release_builder, berth_graph_builder_release)
static const bl_class builder_class = {
  .name = "graph builder", .key = "berth.graph_builder", .release = release_builder
};

/* [-0, +0] An op by id or by unique name at i, 0-based. The table of names has 1-based ids, and
 * false for a name that several ops share. */
static int32_t op_at(build *m, int i, const bl_where *w, const char *key) {
  lua_State *L = m->L;
  if (lua_type(L, i) != LUA_TSTRING) return bl_to_id(L, i, w, key, m->n_ops, "op");
  i = lua_absindex(L, i);
  bl_to_text(L, i, w, key);
  lua_pushvalue(L, i);
  lua_rawget(L, m->names);
  if (lua_isnil(L, -1)) bl_wrong(L, w, key, "there is no op named \"%s\"", lua_tostring(L, i));
  if (lua_isboolean(L, -1))
    bl_wrong(L, w, key, "several ops are named \"%s\": give the id", lua_tostring(L, i));
  int32_t id = (int32_t)lua_tointeger(L, -1) - 1;
  lua_pop(L, 1);
  return id;
}

/* An op in a field; BERTH_NONE: not given. */
static int32_t op_field(build *m, int t, const bl_where *w, const char *key) {
  int32_t id = BERTH_NONE;
  lua_getfield(m->L, t, key);
  if (!lua_isnil(m->L, -1)) id = op_at(m, -1, w, key);
  lua_pop(m->L, 1);
  return id;
}

/* An op by id or name, which must be there. */
static int32_t required_op(build *m, int t, const bl_where *w, const char *key) {
  int32_t id = op_field(m, t, w, key);
  if (id == BERTH_NONE) bl_wrong(m->L, w, key, "an op id or name is missing");
  return id;
}

/* [-0, +0] The bit, if the key is true; 0: false or not given. */
static uint32_t flag(lua_State *L, int t, const bl_where *w, const char *key, uint32_t bit) {
  int yes = 0;
  bl_get_bool(L, t, w, key, &yes);
  return yes ? bit : 0;
}

/* ---- ops ---- */

/* [-0, +0] Enters the name of op i (from 1). What is wrong with an entry is reported when it is
 * read: then the message has its place. */
static void name_op(build *m, int ops, int32_t i) {
  lua_State *L = m->L;
  lua_rawgeti(L, ops, i);
  if (lua_istable(L, -1)) lua_getfield(L, -1, "name");
  if (lua_type(L, -1) == LUA_TSTRING && lua_rawlen(L, -1) > 0) {
    lua_pushvalue(L, -1);
    lua_rawget(L, m->names);
    bool first = lua_isnil(L, -1);
    lua_pop(L, 1);
    if (first) lua_pushinteger(L, i);
    else lua_pushboolean(L, 0);
    lua_rawset(L, m->names);
  }
  lua_settop(L, ops);
}

/* [-0, +0] The table at the top has no entry 1, but others: { gpu = 3 } in place of an array. */
static bool has_names(lua_State *L) {
  if (!lua_istable(L, -1) || lua_rawlen(L, -1) > 0) return false;
  lua_pushnil(L);
  if (lua_next(L, -2) == 0) return false;
  lua_pop(L, 2);
  return true;
}

/* [-0, +1] [types] seconds: one number for all, or an array; NULL: no profile. The same scratch for
 * every op, since the core copies it before the next one. */
static const double *op_seconds(build *m, int t, const bl_where *w) {
  lua_State *L = m->L;
  lua_getfield(L, t, "seconds");
  if (lua_isnil(L, -1)) return NULL;
  if (!lua_istable(L, -1)) {
    double x = bl_to_quantity(L, -1, w, "seconds", BERTH_SECONDS);
    for (int32_t k = 0; k < m->n_types; k++) m->seconds[k] = x;
    return m->seconds;
  }
  if (has_names(L))
    bl_wrong(L, w, "seconds",
             "is an array, one entry per device type in the order of `types`, not a table by name");
  if (bl_to_length(L, -1, w, "seconds") != m->n_types)
    bl_wrong(L, w, "seconds", "has %d entries, expected %d (one per device type)",
             (int)lua_rawlen(L, -1), (int)m->n_types);
  for (int32_t k = 0; k < m->n_types; k++) {
    lua_rawgeti(L, -1, k + 1);
    const char *name = lua_pushfstring(L, "seconds[%d]", (int)k + 1);
    m->seconds[k] = bl_to_quantity(L, -2, w, name, BERTH_SECONDS);
    lua_pop(L, 2);
  }
  return m->seconds;
}

/* [-0, +1] NULL: it has none. */
static const berth_shape *op_shape(lua_State *L, int t, const bl_where *w, berth_shape *out) {
  lua_getfield(L, t, "shape");
  if (lua_isnil(L, -1)) return NULL;
  bl_to_op_shape(L, lua_gettop(L), w, out);
  return out;
}

/* Entry i of ops; positions are ids. */
static void add_op(build *m, int ops, int32_t i) {
  lua_State *L = m->L;
  bl_where w = { FN, "ops", 0 };
  berth_op op = berth_op_default();
  berth_shape shape;
  int t = bl_to_entry(L, ops, &w, i - 1, bl_op_fields);
  bl_check_own_id(L, t, &w);
  op.name = bl_get_string(L, t, &w, "name");
  op.kind = bl_get_string(L, t, &w, "kind");
  op.seconds = op_seconds(m, t, &w);
  bl_get_quantity(L, t, &w, "flop", BERTH_FLOP, &op.flop);
  bl_get_quantity(L, t, &w, "bytes", BERTH_BYTES, &op.bytes);
  bl_get_quantity(L, t, &w, "params", BERTH_BYTES, &op.param_bytes);
  bl_get_quantity(L, t, &w, "workspace", BERTH_BYTES, &op.workspace_bytes);
  op.shape = op_shape(L, t, &w, &shape);
  if (bl_get_whole(L, t, &w, "group", 1, INT32_MAX - 1, &op.group)) op.group--;
  if (bl_get_whole(L, t, &w, "pin", 1, INT32_MAX - 1, &op.pin)) op.pin--;
  op.twin = op_field(m, t, &w, "twin");
  op.flags = flag(L, t, &w, "backward", BERTH_OP_BACKWARD)
             | flag(L, t, &w, "update", BERTH_OP_UPDATE)
             | flag(L, t, &w, "splittable", BERTH_OP_SPLITTABLE)
             | flag(L, t, &w, "communication", BERTH_OP_COMMUNICATION);
  bl_must_build(m->L, &w, berth_graph_builder_add_op(m->b, &op, NULL));
  lua_settop(L, t - 1);
}

/* ---- tensors, edges, collectives ---- */

/* [-0, +n] The field `to`: one op, or an array of them; nil: none. */
static void add_consumers(build *m, int t, const bl_where *w, int32_t tensor) {
  lua_State *L = m->L;
  lua_getfield(L, t, "to");
  if (lua_isnil(L, -1)) return;
  if (!lua_istable(L, -1)) {
    bl_must_build(m->L, w, berth_graph_builder_add_consumer(m->b, tensor, op_at(m, -1, w, "to")));
    return;
  }
  int32_t n = bl_to_length(L, -1, w, "to");
  for (int32_t k = 1; k <= n; k++) {
    lua_rawgeti(L, -1, k);
    bl_must_build(m->L, w, berth_graph_builder_add_consumer(m->b, tensor, op_at(m, -1, w, "to")));
    lua_pop(L, 1);
  }
}

/* Entry i of tensors. */
static void add_tensor(build *m, int tensors, int32_t i) {
  lua_State *L = m->L;
  bl_where w = { FN, "tensors", 0 };
  berth_tensor x = { BERTH_NONE, 0, -1, 0 };
  int t = bl_to_entry(L, tensors, &w, i - 1, bl_tensor_fields);
  bl_check_own_id(L, t, &w);
  x.producer = required_op(m, t, &w, "from");
  bl_get_quantity(L, t, &w, "bytes", BERTH_BYTES, &x.bytes);
  bl_get_quantity(L, t, &w, "resident", BERTH_BYTES, &x.resident_bytes);
  x.flags = flag(L, t, &w, "batch", BERTH_TENSOR_BATCH)
            | flag(L, t, &w, "gradient", BERTH_TENSOR_GRADIENT);
  int32_t id;
  bl_must_build(m->L, &w, berth_graph_builder_add_tensor(m->b, &x, &id));
  add_consumers(m, t, &w, id);
  lua_settop(L, t - 1);
}

/* { from, to, bytes } */
static void add_edge(build *m, int edges, int32_t i) {
  static const char *const none[] = { NULL };
  lua_State *L = m->L;
  bl_where w = { FN, "edges", 0 };
  double bytes = 0;
  int t = bl_to_entry(L, edges, &w, i - 1, NULL);
  bl_check_keys(L, t, &w, none, true);
  if (lua_rawlen(L, t) < 2 || lua_rawlen(L, t) > 3)
    bl_wrong(L, &w, NULL, "expected { from, to, bytes }");
  lua_rawgeti(L, t, 1);
  lua_rawgeti(L, t, 2);
  lua_rawgeti(L, t, 3);
  int32_t from = op_at(m, t + 1, &w, "from");
  int32_t to = op_at(m, t + 2, &w, "to");
  if (!lua_isnil(L, t + 3)) bytes = bl_to_quantity(L, t + 3, &w, "bytes", BERTH_BYTES);
  bl_must_build(m->L, &w, berth_graph_builder_connect(m->b, from, to, bytes, NULL));
  lua_settop(L, t - 1);
}

/* [-0, +2] An array of ops in scratch, 0-based; both stay on the stack. NULL: not given. */
static const int32_t *op_list(build *m, int t, const bl_where *w, const char *key, int32_t *n) {
  lua_State *L = m->L;
  *n = 0;
  if (!bl_get_array(L, t, w, key, n)) return NULL;
  int32_t *ids = bl_scratch(L, (size_t)*n, sizeof *ids);
  for (int32_t k = 0; k < *n; k++) {
    lua_rawgeti(L, -2, k + 1);
    ids[k] = op_at(m, -1, w, key);
    lua_pop(L, 1);
  }
  return ids;
}

/* Entry i of collectives. */
static void add_collective(build *m, int collectives, int32_t i) {
  lua_State *L = m->L;
  bl_where w = { FN, "collectives", 0 };
  berth_collective c = { BERTH_ALLREDUCE, 0, 1, 0, NULL, 0, NULL };
  int kind = 0;
  int t = bl_to_entry(L, collectives, &w, i - 1, bl_collective_fields);
  bl_check_own_id(L, t, &w);
  bl_need(L, bl_get_enum(L, t, &w, "kind", bl_collective_kinds, &kind), &w, "kind");
  c.kind = (berth_collective_kind)kind;
  bl_get_quantity(L, t, &w, "bytes", BERTH_BYTES, &c.bytes);
  bl_get_whole(L, t, &w, "count", 1, INT32_MAX, &c.count);
  c.members = op_list(m, t, &w, "members", &c.n_members);
  if (c.n_members == 0) bl_wrong(L, &w, "members", "at least one op is needed");
  c.consumers = op_list(m, t, &w, "consumers", &c.n_consumers);
  bl_must_build(m->L, &w, berth_graph_builder_add_collective(m->b, &c, NULL));
  lua_settop(L, t - 1);
}

/* ---- the whole ---- */

/* [-0, +1] Leaves the scratch of `seconds`, which every op uses. */
static void set_types(build *m) {
  lua_State *L = m->L;
  m->n_types = 1;
  int32_t n;
  if (bl_get_array(L, 1, &where, "types", &n)) {
    int t = lua_gettop(L);
    if (n < 1) bl_wrong(L, &where, "types", "is empty");
    luaL_checkstack(L, n + 8, "types");
    const char **names = bl_scratch(L, (size_t)n, sizeof *names);
    for (int32_t k = 0; k < n; k++) {
      lua_rawgeti(L, t, k + 1);
      if (lua_type(L, -1) != LUA_TSTRING)
        bl_wrong(L, &where, "types", "entry %d is no string", (int)k + 1);
      names[k] = bl_to_text(L, -1, &where, "types");
    }
    bl_must_build(m->L, &where, berth_graph_builder_types(m->b, n, names));
    lua_settop(L, t - 1);
    m->n_types = n;
  }
  m->seconds = bl_scratch(L, (size_t)m->n_types, sizeof *m->seconds);
}

/* [-0, +0] Calls add(build, list, i) for entries 1 to n of the key, if it is there. */
static void each(build *m, const char *key, void (*add)(build *m, int list, int32_t i)) {
  int32_t n;
  if (!bl_get_array(m->L, 1, &where, key, &n)) return;
  for (int32_t i = 1; i <= n; i++) add(m, lua_gettop(m->L), i);
  lua_pop(m->L, 1);
}

/* Names first: an op may refer to one that comes later. */
static void add_ops(build *m) {
  lua_State *L = m->L;
  bl_need(L, bl_get_array(L, 1, &where, "ops", &m->n_ops), &where, "ops");
  int ops = lua_gettop(L);
  for (int32_t i = 1; i <= m->n_ops; i++) name_op(m, ops, i);
  bl_must_build(m->L, &where, berth_graph_builder_reserve(m->b, m->n_ops, m->n_ops, m->n_ops));
  for (int32_t i = 1; i <= m->n_ops; i++) add_op(m, ops, i);
  lua_pop(L, 1);
}

/* berth.graph { name, dtype, unitless, types, ops, tensors, edges, collectives }: graph; nil,
 * message, code. The builder is released here when it has finished: its memory need not wait for
 * the collector. */
int bl_graph_build(lua_State *L) {
  static const char *const keys[] = { "name",    "dtype", "unitless",    "types", "ops",
                                      "tensors", "edges", "collectives", NULL };
  build m = { 0 };
  bl_need_table(L, 1, &where, "spec");
  bl_check_keys(L, 1, &where, keys, false);
  lua_settop(L, 1);
  m.L = L;
  bl_register(L, &builder_class);
  bl_box *box = bl_new(L, &builder_class, sizeof *box);
  berth_status st;
  if ((st = berth_graph_builder_new(bl_ctx(L), &m.b)) != BERTH_OK) return bl_failed(L, st);
  box->object = m.b;
  lua_newtable(L);
  m.names = lua_gettop(L);
  const char *name = bl_get_string(L, 1, &where, "name");
  if (name) bl_must_build(L, &where, berth_graph_builder_name(m.b, name));
  const char *dtype = bl_get_string(L, 1, &where, "dtype");
  if (dtype && berth_graph_builder_dtype(m.b, dtype) != BERTH_OK)
    bl_wrong(L, &where, "dtype", "%s", berth_errmsg(bl_ctx(L)));
  int unitless = 0;
  if (bl_get_bool(L, 1, &where, "unitless", &unitless))
    berth_graph_builder_unitless(m.b, unitless);
  set_types(&m);
  add_ops(&m);
  each(&m, "tensors", add_tensor);
  each(&m, "edges", add_edge);
  each(&m, "collectives", add_collective);
  berth_graph **g = bl_new_graph(L);
  st = berth_graph_builder_finish(m.b, g);
  box->object = NULL;
  berth_graph_builder_release(m.b);
  if (st != BERTH_OK) return bl_refused(L, FN, st);
  bl_track(L);
  return 1;
}
