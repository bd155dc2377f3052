/* Types "ramp" and "ramp model": jobs cut into pieces on an optical cluster (berth/ramp.h).
 * The planner keeps scratch between plans. While it works it is out of the box, so that a hook that
 * plans on the same cluster makes its own, and one that closes the cluster does not free it. A
 * model holds references to graph and cluster; their boxes are in its anchor, and new boxes are
 * made where those are closed. */
#include "ramp.h"
#include <string.h>

/* ---- clusters ---- */

/* The planner is made with the first plan, so it may be missing. */
static void release_ramp(void *box) {
  bl_ramp_box *b = box;
  berth_ramp_planner_release(b->planner);
  b->planner = NULL;
  berth_ramp_release(b->ramp);
}

static bl_ramp_box *self_box(lua_State *L, const char *fn) {
  return bl_self(L, &bl_ramp_class, fn);
}
static berth_ramp *self(lua_State *L, const char *fn) { return self_box(L, fn)->ramp; }

const bl_table bl_ramp_tables[] = { berth_ramp_option_table, NULL };

/* berth.ramp(options): object; nil, message, code. `compat` chooses the defaults of the other
 * options, so it is read first. */
static int ramp_new(lua_State *L) {
  BL_WHERE(w, "berth.ramp");
  int compat = 0;
  lua_settop(L, 1);
  int t = bl_option_table(L, 1, &w, bl_ramp_tables);
  bl_get_bool(L, t, &w, "compat", &compat);
  berth_ramp_options o = berth_ramp_default(compat);
  bl_read_options(L, t, &w, berth_ramp_option_table(), &o);
  bl_ramp_box *box = bl_new(L, &bl_ramp_class, sizeof *box);
  berth_status st = berth_ramp_new(bl_ctx(L), &o, &box->ramp);
  return st == BERTH_OK ? 1 : bl_refused(L, w.fn, st);
}

/* transfer(a, b, bytes): seconds */
static int transfer(lua_State *L) {
  BL_WHERE(w, "ramp:transfer");
  const berth_ramp *r = self(L, w.fn);
  int32_t src = bl_to_id(L, 2, &w, "from", berth_ramp_servers(r), "server");
  int32_t dst = bl_to_id(L, 3, &w, "to", berth_ramp_servers(r), "server");
  lua_pushnumber(L,
                 berth_ramp_transfer(r, src, dst, bl_to_quantity(L, 4, &w, "bytes", BERTH_BYTES)));
  return 1;
}

/* ramp:collective(servers, bytes): s; ids of at least one server. nil, message, code. */
static int collective(lua_State *L) {
  BL_WHERE(w, "ramp:collective");
  const berth_ramp *r = self(L, w.fn);
  int32_t n = bl_to_length(L, 2, &w, "servers");
  double bytes = bl_to_quantity(L, 3, &w, "bytes", BERTH_BYTES), seconds = 0;
  if (n == 0) bl_wrong(L, &w, "servers", "is empty: expected at least one end point");
  int32_t *server = bl_to_ids(L, 2, &w, "servers", n, berth_ramp_servers(r), "server");
  berth_status st = berth_ramp_collective(r, n, server, bytes, &seconds);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, seconds);
  return 1;
}

/* legal(pieces): boolean */
static int legal(lua_State *L) {
  BL_WHERE(w, "ramp:legal");
  const berth_ramp *r = self(L, w.fn);
  lua_pushboolean(L, berth_ramp_legal(r, (int32_t)bl_to_whole(L, 2, &w, "pieces", 1, INT32_MAX)));
  return 1;
}

/* ---- plans ---- */

/* [-0, +0] The mark at the top: true and 1: busy; false and 0: free. Numbers, since run:busy() of
 * berth.pacml returns them. */
static uint8_t to_mark(lua_State *L, const bl_where *w, const char *key, int32_t k) {
  if (lua_type(L, -1) == LUA_TBOOLEAN) return (uint8_t)lua_toboolean(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER)
    bl_wrong(L, w, key, "[%d]: expected true, false, 0 or 1, got %s", (int)k, bl_kind(L, -1));
  double x = (double)lua_tonumber(L, -1);
  if (x != 0 && x != 1) bl_wrong(L, w, key, "[%d]: expected 0 or 1, got %.14g", (int)k, x);
  return x == 1;
}

/* [-0, +n] Marks by server, or NULL if there are none. */
const uint8_t *bl_get_busy(lua_State *L, int t, const bl_where *w, int32_t servers) {
  if (!bl_get_sized(L, t, w, "busy", servers, "server")) return NULL;
  int at = lua_gettop(L);
  uint8_t *busy = bl_scratch(L, (size_t)servers, sizeof *busy);
  for (int32_t k = 0; k < servers; k++) {
    lua_rawgeti(L, at, k + 1);
    busy[k] = to_mark(L, w, "busy", k + 1);
    lua_pop(L, 1);
  }
  return busy;
}

/* Counts of pieces, dependencies and flows; times in s, memory and traffic in bytes. */
static void push_numbers_of(lua_State *L, const berth_ramp_outcome *o) {
  bl_set_count(L, "ops", o->ops);
  bl_set_count(L, "deps", (double)o->deps);
  bl_set_count(L, "flows", (double)o->flows);
  bl_set_count(L, "channels", o->channels);
  bl_set_count(L, "ticks", o->ticks);
  bl_set_number(L, "step", o->step);
  bl_set_number(L, "compute", o->compute);
  bl_set_number(L, "communication", o->communication);
  bl_set_number(L, "memory", o->memory);
  bl_set_number(L, "bytes", o->bytes);
  bl_set_number(L, "flow_bytes", o->flow_bytes);
}

/* [-0, +0] A field of self, NAN if it is no number: the user may have changed the table. */
static double number_of(lua_State *L, const char *key) {
  lua_getfield(L, 1, key);
  double x = lua_isnumber(L, -1) ? (double)lua_tonumber(L, -1) : NAN;
  lua_pop(L, 1);
  return x;
}

/* __tostring of a plan: of whatever is in the table now; `look = false` leaves no step. Raises for
 * nothing but a self that is no table. `servers` is at 2. */
static int plan_to_string(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  double pieces = number_of(L, "pieces");
  double step = number_of(L, "step");
  lua_getfield(L, 1, "servers");
  if (lua_isnil(L, -1)) {
    lua_pushfstring(L, "ramp plan: not placed: op %d in %d pieces", (int)number_of(L, "op"),
                    (int)pieces);
    return 1;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "ramp plan: %.0f pieces on %d servers", pieces, (int)lua_rawlen(L, 2));
  if (!isnan(step)) {
    luaL_addstring(&b, ", ");
    bl_add_quantity(&b, step, BERTH_SECONDS);
    luaL_addstring(&b, " a step");
  }
  luaL_pushresult(&b);
  return 1;
}

/* [-0, +0] A plan is a plain table that prints as a line: the metatable is in the registry by
 * name. */
static void name_plan(lua_State *L) {
  if (luaL_newmetatable(L, "berth.ramp_plan")) {
    lua_pushcfunction(L, plan_to_string);
    lua_setfield(L, -2, "__tostring");
  }
  lua_setmetatable(L, -2);
}

/* [-0, +1] A plan; `looked`: with its times, which are computed for the option `look` only. */
static void push_outcome(lua_State *L, const berth_ramp_outcome *o, const int32_t *servers,
                         bool looked) {
  bool placed = o->cause == BERTH_RAMP_PLACED;
  lua_createtable(L, 0, 14);
  name_plan(L);
  bl_set_bool(L, "placed", placed);
  bl_set_count(L, "pieces", o->pieces);
  if (!placed) {
    bl_set_id(L, "op", o->op);
    return;
  }
  bl_set_ids(L, "servers", o->n_servers, servers);
  if (looked) push_numbers_of(L, o);
  else bl_set_count(L, "ops", o->ops);
}

/* The arguments of a plan. */
typedef struct Wish {
  int32_t most, n_block;
  const uint8_t *busy;
  const int32_t *block; /* NULL: the first that fits */
  int look;
} Wish;

/* On the block that was given, or on the best one. */
static berth_status work(berth_ramp_planner *p, berth_ramp_model *m, const Wish *w,
                         int32_t *servers, berth_ramp_outcome *o) {
  if (!w->block) return berth_ramp_plan(p, m, w->most, w->busy, w->look, servers, o);
  return berth_ramp_plan_on(p, m, w->most, w->busy, w->n_block, w->block, w->look, servers, o);
}

/* [-0, +0] A hook may close the cluster or plan on it: the planner is out of the box while it
 * works. Afterwards it goes back, unless the box was closed or a hook has left another one there;
 * then it is freed. */
static berth_status plan_with(lua_State *L, bl_ramp_box *box, berth_ramp_model *m, const Wish *w,
                              int32_t *servers, berth_ramp_outcome *o) {
  berth_ramp_planner *p = box->planner;
  berth_status st = p ? BERTH_OK : berth_ramp_planner_new(box->ramp, &p);
  if (st != BERTH_OK) return st;
  box->planner = NULL;
  berth_ramp_model_retain(m);
  bl_call call = bl_enter(L);
  st = bl_leave(&call, work(p, m, w, servers, o));
  berth_ramp_model_release(m);
  if (box->ramp && !box->planner) box->planner = p;
  else berth_ramp_planner_release(p);
  return st;
}

/* [n_block] servers; stays on the stack */
static void read_block(lua_State *L, int t, const bl_where *w, int32_t servers, Wish *wish) {
  if (!bl_get_array(L, t, w, "block", &wish->n_block)) return;
  wish->block = bl_to_ids(L, -1, w, "block", wish->n_block, servers, "server");
}

BL_OPTIONS(ramp_plan,
  BL_OTHER("busy", "array", "none", "a mark for each server, true or 1: it is not free"),
  BL_OTHER("block", "array", "the first that fits", "servers for the ops with most pieces"),
  BL_ROW("look", FLAG, "true", "schedules and looks ahead; false: places only",
         .offset = offsetof(Wish, look)))

/* plan(model, most, { busy, block, look }): table */
static int plan(lua_State *L) {
  static const bl_where w = { "ramp:plan", NULL, 0 };
  bl_ramp_box *box = self_box(L, w.fn);
  bl_ramp_model_box *m = bl_check(L, 2, &bl_ramp_model_class, w.fn, "model");
  int32_t n = berth_ramp_servers(box->ramp);
  Wish wish = { (int32_t)bl_to_whole(L, 3, &w, "most", 1, INT32_MAX), 0, NULL, NULL, 1 };
  berth_ramp_outcome o = { 0 };
  lua_settop(L, 4);
  int t = bl_take_options(L, 4, &w, bl_ramp_plan_tables, &wish);
  wish.busy = bl_get_busy(L, t, &w, n);
  read_block(L, t, &w, n, &wish);
  int32_t *servers = bl_scratch(L, (size_t)n, sizeof *servers);
  berth_status st;
  if ((st = plan_with(L, box, m->model, &wish, servers, &o)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  push_outcome(L, &o, servers, wish.look);
  return 1;
}

/* ---- models ---- */

/* A model holds graph and ramp: their boxes may be collected first. */
static void release_model(void *box) {
  bl_ramp_model_box *b = box;
  berth_ramp_model_release(b->model);
  berth_graph_release(b->graph);
  berth_ramp_release(b->ramp);
}

/* [ops / 2] ids, in scratch that stays on the stack; NULL: none given */
static const int32_t *read_order(lua_State *L, int t, const bl_where *w, const berth_graph *g) {
  int32_t ops = berth_graph_ops(g);
  if (!bl_get_sized(L, t, w, "order", ops / 2, "forward op")) return NULL;
  return bl_to_ids(L, -1, w, "order", ops / 2, ops, "op");
}

/* [-0, +0] ramp:model(g:mirror { ... }): the second value of mirror, an array at 3, is no options.
 * It is known by a number at [1]. */
static void drop_origins(lua_State *L) {
  if (lua_type(L, 3) != LUA_TTABLE) return;
  lua_rawgeti(L, 3, 1);
  if (lua_type(L, -1) == LUA_TNUMBER) {
    lua_pushnil(L);
    lua_replace(L, 3);
  }
  lua_pop(L, 1);
}

BL_OPTIONS(ramp_model,
  BL_OTHER("order", "array", "by id", "forward ops as they are worked through"),
  BL_OTHER("batch", "flag", "true; compat false",
           "ops with tensors that have the batch are cut along it"))

/* ramp:model(graph, { order, batch }): object; nil, message, code. The box holds references to
 * graph and cluster, which the core's model reads; the anchor has their boxes, for the fields. */
static int model(lua_State *L) {
  static const bl_where w = { "ramp:model", NULL, 0 };
  berth_ramp *r = self(L, w.fn);
  berth_graph *g = bl_check_graph(L, 2, w.fn, "graph");
  lua_settop(L, 3);
  drop_origins(L);
  int t = bl_option_table(L, 3, &w, bl_ramp_model_tables);
  const int32_t *order = read_order(L, t, &w, g);
  int batch = !berth_ramp_options_of(r)->compat;
  bl_get_bool(L, t, &w, "batch", &batch);
  bl_ramp_model_box *box = bl_new(L, &bl_ramp_model_class, sizeof *box);
  int at = lua_gettop(L);
  berth_status st;
  if ((st = berth_ramp_model_new(r, g, order, batch, &box->model)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  berth_graph_retain(box->graph = g);
  berth_ramp_retain(box->ramp = r);
  compat_getanchor(L, at);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "ramp");
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "graph");
  lua_pushvalue(L, at);
  bl_track(L);
  return 1;
}

static bl_ramp_model_box *self_model(lua_State *L, const char *fn) {
  return bl_self(L, &bl_ramp_model_class, fn);
}

BL_GETTER(sequential, lua_pushnumber,
          berth_ramp_sequential(self_model(L, "ramp model.sequential")->model))
BL_GETTER(model_memory, lua_pushnumber,
          berth_ramp_model_memory(self_model(L, "ramp model.memory")->model))
BL_GETTER(model_bytes, lua_pushnumber,
          berth_ramp_model_bytes(self_model(L, "ramp model.bytes")->model))

/* [-0, +2] anchor and anchor[key] of the box at 1. @return it is an open object of that class */
static bool push_open(lua_State *L, const char *key, const bl_class *c) {
  compat_getanchor(L, 1);
  lua_getfield(L, -1, key);
  bl_box *box = bl_test(L, -1, c);
  return box && box->object;
}

/* Those that the model was made of, or, if they are closed, new boxes of the same. */
static int model_graph(lua_State *L) {
  bl_ramp_model_box *m = self_model(L, "ramp model.graph");
  if (push_open(L, "graph", &bl_graph_class)) return 1;
  berth_graph_retain(*bl_new_graph(L) = m->graph);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "graph");
  return 1;
}
/* [-0, +1] The same box as long as it is open. */
static int model_ramp(lua_State *L) {
  bl_ramp_model_box *m = self_model(L, "ramp model.ramp");
  if (push_open(L, "ramp", &bl_ramp_class)) return 1;
  berth_ramp_retain(((bl_ramp_box *)bl_new(L, &bl_ramp_class, sizeof(bl_ramp_box)))->ramp =
                        m->ramp);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "ramp");
  return 1;
}

static int model_to_string(lua_State *L) {
  bl_ramp_model_box *m = self_model(L, "tostring");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "ramp model: %d ops, ", (int)berth_graph_ops(m->graph));
  bl_add_quantity(&b, berth_ramp_sequential(m->model), BERTH_SECONDS);
  luaL_addstring(&b, " a step on one server, ");
  bl_add_quantity(&b, berth_ramp_model_memory(m->model), BERTH_BYTES);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg model_fields[] = { { "sequential", sequential }, { "memory", model_memory },
                                         { "bytes", model_bytes },     { "graph", model_graph },
                                         { "ramp", model_ramp },       { NULL, NULL } };
const bl_class bl_ramp_model_class = {
  .name = "ramp model", .key = "berth.ramp_model", .release = release_model,
  .fields = model_fields, .text = model_to_string
};

/* ---- what a cluster is ---- */

BL_GETTER(servers_of, lua_pushinteger, berth_ramp_servers(self(L, "ramp.servers")))
BL_GETTER(compat_of, lua_pushboolean, berth_ramp_options_of(self(L, "ramp.compat"))->compat)

/* The table that makes the same cluster again. */
static int options_of(lua_State *L) {
  const berth_ramp_options *o = berth_ramp_options_of(self(L, "ramp.options"));
  lua_createtable(L, 0, 13);
  bl_set_bool(L, "compat", o->compat);
  bl_set_count(L, "groups", o->groups);
  bl_set_count(L, "racks", o->racks);
  bl_set_count(L, "slots", o->slots);
  bl_set_number(L, "bandwidth", o->bandwidth);
  bl_set_number(L, "latency", o->latency);
  bl_set_number(L, "io_latency", o->io_latency);
  bl_set_number(L, "memory", o->memory);
  bl_set_number(L, "memory_rate", o->memory_rate);
  bl_set_number(L, "flops", o->flops);
  bl_set_number(L, "value_bytes", o->value_bytes);
  bl_set_number(L, "quantum", o->quantum);
  bl_set_number(L, "time_scale", o->time_scale);
  return 1;
}

static int to_string(lua_State *L) {
  const berth_ramp *r = self(L, "tostring");
  const berth_ramp_options *o = berth_ramp_options_of(r);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "ramp: %d servers (%d groups x %d racks x %d), ", (int)berth_ramp_servers(r),
                (int)o->groups, (int)o->racks, (int)o->slots);
  bl_add_quantity(&b, o->bandwidth, BERTH_BYTES_PER_SECOND);
  luaL_addstring(&b, " each, ");
  luaL_addstring(&b, o->compat ? "as published" : "exact");
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = { { "transfer", transfer }, { "collective", collective },
                                    { "legal", legal },       { "model", model },
                                    { "plan", plan },         { NULL, NULL } };
static const luaL_Reg fields[] = {
  { "servers", servers_of }, { "compat", compat_of }, { "options", options_of }, { NULL, NULL }
};
const bl_class bl_ramp_class = {
  .name = "ramp", .key = "berth.ramp", .release = release_ramp, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_ramp_functions[] = { { "ramp", ramp_new }, { NULL, NULL } };
