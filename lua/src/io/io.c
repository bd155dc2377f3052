/* Files: loading, parsing, saving graphs, topologies, placements, timelines and JSON.
 * Text that the core writes and bundles that it reads are in hidden boxes until Lua has its strings
 * and objects, since making these may raise. Messages about files number lines and ids as the file
 * does: they are passed on unchanged. */
#include "base/binding.h"
#include "io/io.h"
#include <math.h>
#include <string.h>

/* Text that the core writes, and what a file held: in boxes, since Lua may raise in between. */
typedef struct text_box {
  berth_text *open;
  berth_text text;
} text_box;
static void release_text(void *box) { berth_text_release(&((text_box *)box)->text); }
static const bl_class text_class = {
  .name = "text", .key = "berth.text", .release = release_text
};

typedef struct bundle_box {
  berth_bundle *open;
  berth_bundle bundle;
} bundle_box;
static void release_bundle(void *box) { berth_bundle_release(&((bundle_box *)box)->bundle); }
static const bl_class bundle_class = {
  .name = "bundle", .key = "berth.bundle", .release = release_bundle
};

/* [-0, +1] A box, so that an error while the text is copied leaks nothing. */
static berth_text *new_text(lua_State *L) {
  bl_register(L, &text_class);
  text_box *box = bl_new(L, &text_class, sizeof *box);
  box->text.ctx = bl_ctx(L);
  box->open = &box->text;
  return box->open;
}

/* ---- writing ---- */

/* Numbers are refused, unlike by luaL_checkstring: a file called 1 is a mistake. */
static const char *path_arg(lua_State *L, int i, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  if (lua_type(L, i) != LUA_TSTRING)
    bl_wrong(L, &w, "path", "expected a file name, got %s", bl_kind(L, i));
  return bl_to_text(L, i, &w, "path");
}

/* [-0, +1] Writes the text if st is BERTH_OK: true; nil, message, code. The text is freed at once:
 * a trace may be larger than all that Lua holds. */
static int save_text(lua_State *L, const char *path, berth_text *text, berth_status st) {
  if (st == BERTH_OK) {
    bl_call call = bl_enter(L);
    st = bl_leave(&call, berth_save(bl_ctx(L), path, text));
  }
  berth_text_release(text);
  return bl_done(L, st);
}

/* [-0, +1] The text as a string, which may have zero bytes; nil, message, code. An error of memory
 * leaves the text to its box. */
static int push_text(lua_State *L, berth_text *text, berth_status st) {
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushlstring(L, text->data ? text->data : "", text->len);
  berth_text_release(text);
  return 1;
}

BL_OWN_OPTIONS(format_option, BL_OTHER("format", "name", "by the ending", "one that saves graphs"))
BL_OPTIONS(graph_to_string,
  BL_OTHER("placement", "placement or array", "none", "devices of the ops; not in format berth"))
const bl_table bl_graph_save_tables[] = { format_option, graph_to_string_options, NULL };

/* [-0, +n] Devices for the option `placement`, or NULL. A plain array may name any device: no
 * topology is known here. */
static const int32_t *placed(lua_State *L, int t, const berth_graph *g, const bl_where *w) {
  int32_t n = berth_graph_ops(g);
  if (!t) return NULL;
  lua_getfield(L, t, "placement");
  if (lua_isnil(L, -1)) return NULL;
  return bl_to_placed(L, -1, w, "placement", n, INT32_MAX);
}

/* Formats that graphs are saved in, in scratch. */
static const berth_choice **push_graph_formats(lua_State *L) {
  const berth_format *const *all = berth_formats();
  size_t n = 0;
  while (all[n]) n++;
  const berth_choice **out = bl_scratch(L, n + 1, sizeof *out), **last = out;
  for (; *all; all++) {
    if ((*all)->saves & BERTH_HOLDS_GRAPH) *last++ = &(*all)->choice;
  }
  *last = NULL;
  return out;
}

/* A placement needs a format that can show it.  @param path "-": format berth by default */
static berth_status write_graph(lua_State *L, berth_graph *g, const char *path, int t,
                                const bl_where *w, berth_text *text) {
  const berth_choice **formats = push_graph_formats(L);
  const int32_t *device = placed(L, t, g, w);
  const char *name;
  int k;
  berth_status st;
  if (!bl_get_choice(L, t, w, "format", formats, &k)) {
    st = berth_format_of_path(bl_ctx(L), path, BERTH_HOLDS_GRAPH, &name);
    if (st != BERTH_OK) return st;
    k = berth_choice_find(formats, name);
  }
  if (device && strcmp(formats[k]->name, "berth") == 0)
    bl_wrong(L, w, "placement", "requires another format, as \"dot\"; else use placement:save");
  return berth_write_placed(g, formats[k]->name, device, text);
}

/* graph:save(path, { format, placement }) */
int bl_graph_save(lua_State *L) {
  BL_WHERE(w, "graph:save");
  berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  const char *path = path_arg(L, 2, w.fn);
  lua_settop(L, 3);
  int t = bl_option_table(L, 3, &w, bl_graph_save_tables);
  berth_text *text = new_text(L);
  return save_text(L, path, text, write_graph(L, g, path, t, &w, text));
}

/* graph:to_string(format, { placement }) */
int bl_graph_to_string(lua_State *L) {
  static const bl_where w = { "graph:to_string", NULL, 0 };
  berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  lua_settop(L, 3);
  bl_option_table(L, 3, &w, bl_graph_to_string_tables);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, 2);
  lua_setfield(L, 4, "format");
  if (lua_istable(L, 3)) {
    lua_getfield(L, 3, "placement");
    lua_setfield(L, 4, "placement");
  }
  berth_text *text = new_text(L);
  return push_text(L, text, write_graph(L, g, "-", 4, &w, text));
}

/* Of parts that format berth alone can hold: fails for the ending of another one. A placement
 * without its graph is such a part, as a topology is. */
static berth_status check_ending(lua_State *L, const char *path) {
  const char *name;
  return berth_format_of_path(bl_ctx(L), path, BERTH_HOLDS_TOPOLOGY, &name);
}

int bl_topology_save(lua_State *L) {
  berth_topology *t = bl_check_topology(L, 1, "topology:save", "self");
  const char *path = path_arg(L, 2, "topology:save");
  berth_text *text = new_text(L);
  berth_status st = check_ending(L, path);
  return save_text(L, path, text, st == BERTH_OK ? berth_write_topology(t, text) : st);
}

int bl_topology_to_string(lua_State *L) {
  berth_topology *t = bl_check_topology(L, 1, "topology:to_string", "self");
  berth_text *text = new_text(L);
  return push_text(L, text, berth_write_topology(t, text));
}

/* With the names of graph and topology, where the placement has a cost. */
static berth_status write_placement(lua_State *L, const char *fn, berth_text *text) {
  bl_placement_box *p = bl_check(L, 1, &bl_placement_class, fn, "self");
  berth_graph *g = p->cost ? berth_cost_graph(p->cost) : NULL;
  berth_topology *t = p->cost ? berth_cost_topology(p->cost) : NULL;
  return berth_write_placement(p->placement, g, t, text);
}

int bl_placement_save(lua_State *L) {
  static const char fn[] = "placement:save";
  bl_check_placement(L, 1, fn, "self");
  const char *path = path_arg(L, 2, fn);
  berth_text *text = new_text(L);
  berth_status st = check_ending(L, path);
  return save_text(L, path, text, st == BERTH_OK ? write_placement(L, fn, text) : st);
}

int bl_placement_to_string(lua_State *L) {
  static const char fn[] = "placement:to_string";
  bl_check_placement(L, 1, fn, "self");
  berth_text *text = new_text(L);
  return push_text(L, text, write_placement(L, fn, text));
}

BL_SELF(result_self, berth_result, bl_result_class)

int bl_result_save_trace(lua_State *L) {
  berth_result *r = result_self(L, "result:save_trace");
  const char *path = path_arg(L, 2, "result:save_trace");
  berth_text *text = new_text(L);
  return save_text(L, path, text, berth_write_trace(r, text));
}

/* result:trace(): the Chrome trace as a string */
int bl_result_trace(lua_State *L) {
  berth_result *r = result_self(L, "result:trace");
  berth_text *text = new_text(L);
  return push_text(L, text, berth_write_trace(r, text));
}

BL_SELF(execution_self, const berth_execution, bl_execution_class)

/* execution:save_trace(path): true; nil, message, code */
int bl_execution_save_trace(lua_State *L) {
  const berth_execution *r = execution_self(L, "execution:save_trace");
  const char *path = path_arg(L, 2, "execution:save_trace");
  berth_text *text = new_text(L);
  return save_text(L, path, text, berth_write_execution_trace(r, text));
}

/* execution:trace(): the Chrome trace as a string */
int bl_execution_trace(lua_State *L) {
  const berth_execution *r = execution_self(L, "execution:trace");
  berth_text *text = new_text(L);
  return push_text(L, text, berth_write_execution_trace(r, text));
}

/* ---- reading ---- */

BL_OWN_OPTIONS(name_option, BL_OTHER("name", "string", "text", "stands for the file in messages"))
BL_OPTIONS(notes, BL_OTHER("notes", "table", "none",
  "an array that gets a sentence about what the file holds and was passed over"),
  BL_OTHER("facts", "table", "none", "a table that gets what was counted in a file of ONNX"))
const bl_table bl_load_tables[] = { berth_load_option_table, notes_options, NULL };
const bl_table bl_parse_tables[] = { berth_load_option_table, name_option, notes_options, NULL };

/* [-0, +n] { batch = 8 }: names and numbers, in scratch; the names stay in the table. In the order
 * of Lua's table, which no answer depends on. */
static void bind_option(lua_State *L, int t, const bl_where *w, berth_load_options *o) {
  int32_t n = 0;
  if (!t) return;
  lua_getfield(L, t, "bind");
  if (lua_isnil(L, -1)) return;
  int at = lua_gettop(L);
  if (!lua_istable(L, at)) bl_wrong(L, w, "bind", "expected a table, got %s", bl_kind(L, at));
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) n++;
  berth_binding *bind = bl_scratch(L, (size_t)n + 1, sizeof *bind);
  n = 0;
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      bl_wrong(L, w, "bind", "its keys are names, got %s", bl_kind(L, -2));
    bind[n].name = bl_to_string(L, -2, w, "bind");
    bind[n++].value = bl_to_whole(L, -1, w, "bind", 0, 281474976710656.0);
  }
  o->bind = bind;
  o->n_bind = n;
}

static berth_load_options load_options(lua_State *L, int i, const bl_where *w,
                                       const bl_table *tables) {
  const berth_option_table *table = berth_load_option_table();
  const berth_choice *const *formats = berth_option_find(table, "format")->choices;
  berth_load_options o = berth_load_default();
  int t = bl_option_table(L, i, w, tables);
  bl_read_options(L, t, w, table, &o);
  int k;
  if (bl_get_choice(L, t, w, "format", formats, &k)) o.format = formats[k]->name;
  bind_option(L, t, w, &o);
  bl_load_cost(L, t, w, &o);
  if (t) lua_getfield(L, t, "optimizer");
  if (t && !lua_isnil(L, -1) && !o.training)
    bl_wrong(L, w, "optimizer", "requires training = true");
  return o;
}

/* [-0, +0] What the file does not hold is nil in the answer; its empty box is collected. */
static void drop_unless(lua_State *L, bool held, int i) {
  if (held) return;
  lua_pushnil(L);
  lua_replace(L, i);
}

/* [-0, +6] graph, topology, placement, format, note, facts as JSON; nil for what the file does not
 * hold. All three boxes are made before the first object moves: from then on nothing raises with an
 * object in two places. */
static int push_bundle(lua_State *L, berth_bundle *b) {
  int bundle = lua_gettop(L);
  berth_graph **g = bl_new_graph(L);
  berth_topology **t = bl_new_topology(L);
  bl_placement_box *p = bl_new_placement(L);
  *g = b->graph;
  *t = b->topology;
  p->placement = b->placement;
  b->graph = NULL;
  b->topology = NULL;
  b->placement = NULL;
  drop_unless(L, p->placement != NULL, bundle + 3);
  drop_unless(L, *t != NULL, bundle + 2);
  drop_unless(L, *g != NULL, bundle + 1);
  lua_pushstring(L, b->format ? b->format : "");
  if (b->note[0]) lua_pushstring(L, b->note);
  else lua_pushnil(L);
  if (b->facts.data) lua_pushlstring(L, b->facts.data, b->facts.len);
  else lua_pushnil(L);
  berth_text_release(&b->facts);
  bl_track(L);
  return 6;
}

/* [-0, +1] Owns what was read until graph, topology and placement have boxes. */
static berth_bundle *new_bundle(lua_State *L) {
  bl_register(L, &bundle_class);
  bundle_box *box = bl_new(L, &bundle_class, sizeof *box);
  box->open = &box->bundle;
  return box->open;
}

/* nil, message, code. Also of a cycle the message speaks in the numbers of the file, so they are
 * not shifted. */
static int load_failed(lua_State *L, berth_status st) {
  if (st != BERTH_ECYCLE) return bl_failed(L, st);
  lua_pushnil(L);
  lua_pushstring(L, berth_errmsg(bl_ctx(L)));
  lua_pushstring(L, berth_status_name(st));
  return 3;
}

/* [-0, +0] Options that are given, and that the format does not read, are refused, also if they are
 * as by default. After loading, since the file says which format it is. */
static berth_status check_read(lua_State *L, int t, const berth_bundle *b) {
  const berth_option *o = berth_load_option_table()->options;
  berth_status st = BERTH_OK;
  for (; lua_istable(L, t) && o->key && st == BERTH_OK; o++) {
    lua_getfield(L, t, o->key);
    if (!lua_isnil(L, -1)) st = berth_format_check(bl_ctx(L), b->format, o->key);
    lua_pop(L, 1);
  }
  return st;
}

/* load(path, options, fn): graph, topology, placement, format, note, facts; nil, message,
 * code */
static int load(lua_State *L) {
  bl_where w = { luaL_optstring(L, 3, "berth.load"), NULL, 0 };
  const char *path = path_arg(L, 1, w.fn);
  lua_settop(L, 3);
  berth_load_options o = load_options(L, 2, &w, bl_load_tables);
  berth_bundle *b = new_bundle(L);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_load(bl_ctx(L), path, &o, b));
  if (st == BERTH_OK) st = check_read(L, 2, b);
  return st == BERTH_OK ? push_bundle(L, b) : load_failed(L, st);
}

/* parse(text, options): as load; the option `name` names the text in messages */
static int parse(lua_State *L) {
  bl_where w = { luaL_optstring(L, 3, "berth.parse"), NULL, 0 };
  if (lua_type(L, 1) != LUA_TSTRING)
    return bl_wrong(L, &w, "text", "expected a string, got %s", bl_kind(L, 1));
  lua_settop(L, 3);
  size_t len;
  const char *text = lua_tolstring(L, 1, &len);
  berth_load_options o = load_options(L, 2, &w, bl_parse_tables);
  const char *name = lua_istable(L, 2) ? bl_get_string(L, 2, &w, "name") : NULL;
  berth_bundle *b = new_bundle(L);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_parse(bl_ctx(L), name ? name : "text", text, len, &o, b));
  if (st == BERTH_OK) st = check_read(L, 2, b);
  return st == BERTH_OK ? push_bundle(L, b) : load_failed(L, st);
}

/* read(path, fn, { most_bytes }): the whole file as it is, unpacked if it is gzip; nil, message,
 * code */
static int read(lua_State *L) {
  bl_where w = { luaL_optstring(L, 2, "berth.read"), NULL, 0 };
  const char *path = path_arg(L, 1, w.fn);
  lua_settop(L, 3);
  berth_load_options o = berth_load_default();
  if (lua_istable(L, 3)) bl_read_options(L, 3, &w, berth_load_option_table(), &o);
  berth_text *text = new_text(L);
  bl_call call = bl_enter(L);
  return push_text(L, text, bl_leave(&call, berth_read(bl_ctx(L), path, o.most_bytes, text)));
}

/* write(path, text, fn): the whole file or nothing of it; true; nil, message, code. The text stays
 * on the stack while it is written. */
static int write(lua_State *L) {
  const char *path = path_arg(L, 1, luaL_optstring(L, 3, "berth.write"));
  size_t len;
  const char *data = luaL_checklstring(L, 2, &len);
  berth_text text = { .data = (char *)data, .len = len }; /* not changed, not freed */
  bl_call call = bl_enter(L);
  return bl_done(L, bl_leave(&call, berth_save(bl_ctx(L), path, &text)));
}

/* can_write(path): true; nil, message, code */
static int can_write(lua_State *L) {
  return bl_done(L, berth_can_save(bl_ctx(L), path_arg(L, 1, "berth.can_write")));
}

BL_RELEASE(release_json, berth_json_release)
static const bl_class json_class = {
  .name = "json", .key = "berth.json", .release = release_json
};

/* [-0, +1] Whole numbers below 2^53 are integers where Lua has these, so that ids print without
 * ".0". */
static void push_item(lua_State *L, const berth_json_item *x) {
  bool whole = fabs(x->number) < 9007199254740992.0 && x->number == floor(x->number);
  if (x->kind == BERTH_JSON_NULL) lua_pushnil(L);
  else if (x->kind == BERTH_JSON_BOOL) lua_pushboolean(L, x->number != 0);
  else if (x->kind == BERTH_JSON_STRING) lua_pushstring(L, x->string);
  else if (x->kind != BERTH_JSON_NUMBER) lua_newtable(L);
  else if (whole) lua_pushinteger(L, (lua_Integer)x->number);
  else lua_pushnumber(L, x->number);
}

/* json(text, name): its value, where null is nil; nil, message, code. Tables that are not finished
 * lie on the stack, one per level: an item of depth d goes to base + d + 1, and settop drops those
 * that are complete. The reader does not recurse. */
static int json(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  bl_register(L, &json_class);
  bl_box *box = bl_new(L, &json_class, sizeof *box);
  berth_status st = berth_json_open(bl_ctx(L), name, text, len, (berth_json **)&box->object);
  if (st != BERTH_OK) return bl_failed(L, st);
  berth_json_item x;
  for (int base = lua_gettop(L); berth_json_next(box->object, &x);) {
    lua_settop(L, base + x.depth);
    luaL_checkstack(L, 4, NULL);
    push_item(L, &x);
    if (x.depth == 0) continue;
    lua_pushvalue(L, -1);
    if (x.key) lua_setfield(L, base + x.depth, x.key);
    else lua_rawseti(L, base + x.depth, x.index + 1);
  }
  lua_settop(L, 4);
  berth_json_release(box->object);
  box->object = NULL;
  return 1;
}

/* Names of the bits in parts. */
static void push_parts(lua_State *L, const char *key, int parts) {
  static const char *const names[] = { "graph", "topology", "placement", "timeline" };
  int n = 0;
  if (!parts) return;
  lua_newtable(L);
  for (int k = 0; k < 4; k++) {
    if (!(parts >> k & 1)) continue;
    lua_pushstring(L, names[k]);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, key);
}

/* formats(): array of { name, text, loads, saves, endings, reads }; what a format has not is nil */
static int formats(lua_State *L) {
  int n = 0;
  lua_newtable(L);
  for (const berth_format *const *f = berth_formats(); *f; f++) {
    lua_newtable(L);
    bl_set_string(L, "name", (*f)->choice.name);
    bl_set_string(L, "text", (*f)->choice.text);
    push_parts(L, "loads", (*f)->loads);
    push_parts(L, "saves", (*f)->saves);
    bl_set_string(L, "endings", (*f)->endings);
    bl_set_string(L, "reads", (*f)->reads);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* format_of_path(path): the format that a graph is saved in; nil, message, code */
static int format_of_path(lua_State *L) {
  const char *path = path_arg(L, 1, "berth.format_of_path"), *name;
  berth_status st = berth_format_of_path(bl_ctx(L), path, BERTH_HOLDS_GRAPH, &name);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushstring(L, name);
  return 1;
}

/* ---- one file for all ---- */

/* [-0, +3] The parts { graph, topology, placement } at i; borrowed: the caller's values stay on the
 * stack. */
static berth_bundle parts_arg(lua_State *L, int i, const char *fn) {
  static const char *const keys[] = { "graph", "topology", "placement", NULL };
  bl_where w = { fn, NULL, 0 };
  berth_bundle b = { 0 };
  if (!lua_istable(L, i))
    bl_wrong(L, &w, "parts", "expected a table of graph, topology, placement; got %s",
             bl_kind(L, i));
  bl_check_keys(L, i, &w, keys, false);
  lua_getfield(L, i, "graph");
  lua_getfield(L, i, "topology");
  lua_getfield(L, i, "placement");
  if (!lua_isnil(L, -3)) b.graph = bl_check_graph(L, -3, fn, "graph");
  if (!lua_isnil(L, -2)) b.topology = bl_check_topology(L, -2, fn, "topology");
  if (!lua_isnil(L, -1)) b.placement = bl_check_placement(L, -1, fn, "placement");
  if (!b.graph && !b.topology && !b.placement) bl_wrong(L, &w, "parts", "there is nothing in it");
  return b;
}

/* save(path, { graph, topology, placement }) */
static int save(lua_State *L) {
  const char *path = path_arg(L, 1, "berth.save");
  berth_bundle b = parts_arg(L, 2, "berth.save");
  berth_text *text = new_text(L);
  berth_status st = check_ending(L, path);
  return save_text(L, path, text, st == BERTH_OK ? berth_write_bundle(&b, text) : st);
}

/* to_string { graph, topology, placement } */
static int to_string(lua_State *L) {
  berth_bundle b = parts_arg(L, 1, "berth.to_string");
  berth_text *text = new_text(L);
  return push_text(L, text, berth_write_bundle(&b, text));
}

const luaL_Reg bl_io_functions[] = { { "load", load },           { "parse", parse },
                                     { "formats", formats },     { "read", read },
                                     { "format_of_path", format_of_path },
                                     { "write", write },         { "can_write", can_write },
                                     { "json", json },           { "save", save },
                                     { "to_string", to_string }, { NULL, NULL } };
