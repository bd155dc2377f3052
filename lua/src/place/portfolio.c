/* berth.portfolio: several placers, some of them in Lua, judged by one simulation.
 * A member in Lua is a function (cost) -> placement, or nil, message, code, obstacle. It runs under
 * lua_pcall on the caller's stack while the core waits; an error stays on the top, the core
 * unwinds, and the error is raised unchanged. Its messages count ids from 1 already and must not be
 * shifted, those of the core count from 0: push_text and push_reason separate them.
 * The run is in a hidden box with a reference to the cost, since a member may close the cost and
 * pushing rows may raise. */
#include "sim/sim_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MEMBERS = 1000 };

/* ---- members in Lua ---- */

typedef struct lua_member {
  lua_State *L;
  int run, cost; /* stack indices: function (cost) -> placement, or nil, message, code, obstacle */
} lua_member;

/* The status of a code; BERTH_EINVAL: the code is unknown. */
static berth_status status_of(const char *code) {
  for (int st = BERTH_OK + 1; code && st <= BERTH_EINTERRUPT; st++) {
    if (strcmp(berth_status_name((berth_status)st), code) == 0) return (berth_status)st;
  }
  return BERTH_EINVAL;
}

/* Raw: the table comes from a placer in Lua, whose metamethods must not run here. */
static double number_at(lua_State *L, int t, const char *key) {
  lua_pushstring(L, key);
  lua_rawget(L, t);
  double x = (double)lua_tonumber(L, -1);
  lua_pop(L, 1);
  return x;
}

/* No op or device: 0 - 1 = BERTH_NONE. */
static void read_obstacle(lua_State *L, int t, berth_obstacle *why) {
  if (!lua_istable(L, t)) return;
  why->op = (int32_t)number_at(L, t, "op") - 1;
  why->device = (int32_t)number_at(L, t, "device") - 1;
  why->missing = number_at(L, t, "missing");
}

/* Its messages speak of ids from 1 already. */
static berth_status take_refusal(lua_State *L, int first, berth_obstacle *why, char *message,
                                 size_t size) {
  const char *text = lua_type(L, first + 1) == LUA_TSTRING ? lua_tostring(L, first + 1)
                                                           : "no placement and no reason";
  const char *code = lua_type(L, first + 2) == LUA_TSTRING ? lua_tostring(L, first + 2) : NULL;
  snprintf(message, size, "%s", text);
  read_obstacle(L, first + 3, why);
  return status_of(code);
}

/* An error stays on the top, as from a policy. */
static berth_status call_member(void *ud, berth_cost *cost, berth_placement **out,
                                berth_obstacle *why, char *message, size_t size) {
  const lua_member *m = ud;
  lua_State *L = m->L;
  int top = lua_gettop(L);
  berth_status st = BERTH_OK;
  (void)cost;
  lua_pushvalue(L, m->run);
  lua_pushvalue(L, m->cost);
  if (lua_pcall(L, 1, 4, 0) != LUA_OK) return BERTH_ECALLBACK;
  bl_placement_box *box = bl_test(L, top + 1, &bl_placement_class);
  if (box && bl_is_open(L, top + 1)) {
    berth_placement_retain(*out = box->placement);
  } else {
    st = take_refusal(L, top + 1, why, message, size);
  }
  lua_settop(L, top);
  return st;
}

/* `thorough` is read in Lua, `cost` where there is none yet. */
BL_OWN_OPTIONS(thorough_option, BL_ROW("thorough", FLAG, "false",
                                       "gaps against the thorough bounds; berth.portfolio alone"))
const bl_table bl_portfolio_tables[] = {
  berth_portfolio_option_table, thorough_option, bl_cost_option, NULL
};

/* ---- reading ---- */

typedef struct portfolio_call {
  berth_portfolio_options o;
  berth_sim_options judge;
  berth_member *member;
  lua_member *own;
} portfolio_call;

/* The core's name of a placer. */
static const char *known_placer(lua_State *L, const bl_where *w, const char *name) {
  const berth_placer *p = berth_placer_find(name);
  if (p && strcmp(name, "policy") != 0) return p->name;
  bl_wrong(L, w, "placer", "\"%s\" is unknown; berth.placers() lists the names", name ? name : "");
  return NULL;
}

/* Member i of the list, { name, placer, options } or { name, run }; it stays on the stack with what
 * it points to. */
static void read_member(lua_State *L, int list, int32_t i, const berth_cost *cost, berth_member *m,
                        lua_member *own) {
  static const char *const keys[] = { "name", "placer", "options", "run", NULL };
  bl_where w = { "berth.portfolio", "members", 0 };
  luaL_checkstack(L, 20, w.fn);
  int t = bl_to_entry(L, list, &w, i, keys);
  memset(m, 0, sizeof *m);
  m->name = bl_get_string(L, t, &w, "name");
  if (bl_get_function(L, t, &w, "run")) {
    own->L = L;
    own->run = lua_gettop(L);
    own->cost = 1;
    m->place = call_member;
    m->ud = own;
    return;
  }
  m->placer = known_placer(L, &w, bl_get_string(L, t, &w, "placer"));
  lua_getfield(L, t, "options");
  int options = lua_istable(L, -1) ? lua_gettop(L) : 0;
  if (options) bl_check_options(L, options, &w, bl_place_tables);
  bl_place_options(L, options, &w, cost, m->placer, &m->options);
}

/* [-0, +n] Members; own: the Lua function of each that has one, at a stack index. */
static void read_members(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                         portfolio_call *c) {
  int32_t n;
  if (!bl_get_array(L, t, w, "members", &n)) return;
  int list = lua_gettop(L);
  if (n < 1 || n > MOST_MEMBERS)
    bl_wrong(L, w, "members", "%d are not from 1 to %d", (int)n, (int)MOST_MEMBERS);
  c->member = bl_scratch(L, (size_t)n, sizeof *c->member);
  c->own = bl_scratch(L, (size_t)n, sizeof *c->own);
  for (int32_t i = 0; i < n; i++) read_member(L, list, i, cost, &c->member[i], &c->own[i]);
  c->o.members = c->member;
  c->o.n_members = n;
}

static void read_call(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                      portfolio_call *c) {
  BL_WHERE(in_judge, "berth.portfolio: judge");
  memset(c, 0, sizeof *c);
  c->o = berth_portfolio_default(berth_cost_graph(cost));
  bl_read_options(L, t, w, berth_portfolio_option_table(), &c->o);
  c->o.judge = bl_get_judge(L, t, w, &in_judge, cost, &c->judge);
  read_members(L, t, w, cost, c);
}

/* ---- answers ---- */

/* Sets a key in the table at the top; the placement holds the cost. */
static void set_placement(lua_State *L, const char *key, const berth_member_report *m,
                          berth_cost *cost) {
  bl_placement_box *box = bl_new_placement(L);
  berth_placement_retain(box->placement = m->placement);
  berth_cost_retain(box->cost = cost);
  lua_setfield(L, -2, key);
}

/* The member's answer that a search started from. */
static void push_start(lua_State *L, const berth_portfolio *p, const int32_t *start,
                       berth_cost *cost) {
  for (int32_t i = 0; i < berth_portfolio_members(p); i++) {
    const berth_member_report *m = berth_portfolio_report(p, i);
    if (m->placement && berth_placement_device(m->placement) == start)
      set_placement(L, "start", m, cost);
  }
}

/* What is a built-in member's own; with it, and what all were given, berth.place gives the same. */
static void push_options(lua_State *L, const berth_portfolio *p, const berth_member_report *m,
                         berth_cost *cost) {
  const berth_place_options *o = m->options;
  lua_newtable(L);
  if (o->search) {
    push_start(L, p, o->search->start, cost);
    if (o->search->calls > 0) bl_set_count(L, "calls", (size_t)o->search->calls);
    if (o->search->seconds > 0) bl_set_number(L, "seconds", o->search->seconds);
  }
  if (o->ties != BERTH_TIES_DEFAULT)
    bl_set_string(L, "ties", bl_choice_name(berth_place_option_table(), "ties", (int)o->ties));
  if (o->coarsen != BERTH_COARSEN_NONE)
    bl_set_string(L, "coarsen",
                  bl_choice_name(berth_place_option_table(), "coarsen", (int)o->coarsen));
  if (o->coarsen_ops > 0) bl_set_count(L, "coarsen_ops", o->coarsen_ops);
  if (o->transfer_weight != 1) bl_set_number(L, "transfer_weight", o->transfer_weight);
  if (strcmp(m->placer, "m-sct") != 0) return;
  bl_set_string(L, "favourites", o->favourites == BERTH_FAVOURITES_THROUGH ? "through" : "lp");
  if (o->tau > 0) bl_set_number(L, "tau", o->tau);
}

/* Messages of Lua placers count ids from 1 already. */
static void push_text(lua_State *L, const portfolio_call *c, int32_t i, const char *text) {
  if (c->member && i < c->o.n_members && c->member[i].place) {
    lua_pushstring(L, text);
  } else {
    bl_push_text(L, text);
  }
}

/* Sets error, code, why in the table at the top. */
static void set_refusal(lua_State *L, const portfolio_call *c, int32_t i,
                        const berth_member_report *m) {
  push_text(L, c, i, m->message);
  lua_setfield(L, -2, "error");
  bl_set_string(L, "code", berth_status_name(m->status));
  if (bl_push_obstacle(L, m->status, &m->why)) lua_setfield(L, -2, "why");
}

/* Fields of a member that has placed. */
static void set_answer(lua_State *L, const berth_member_report *m, berth_cost *cost) {
  bl_set_number(L, "makespan", m->makespan);
  set_placement(L, "placement", m, cost);
  if (!m->oom) return;
  lua_createtable(L, 0, 2);
  bl_set_id(L, "op", m->why.op);
  bl_set_id(L, "device", m->why.device);
  lua_setfield(L, -2, "oom");
  bl_set_number(L, "missing", m->why.missing);
}

/* [-0, +1] A member: its answer, or why it has none. Options: those of built-in members only. */
static void push_row(lua_State *L, const portfolio_call *c, const berth_portfolio *p, int32_t i,
                     berth_cost *cost) {
  const berth_member_report *m = berth_portfolio_report(p, i);
  lua_createtable(L, 0, 8);
  bl_set_string(L, "name", m->name);
  bl_set_string(L, "placer", m->placer);
  if (!c->member || i >= c->o.n_members) {
    push_options(L, p, m, cost);
    lua_setfield(L, -2, "options");
  }
  if (!isnan(m->seconds)) bl_set_number(L, "seconds", m->seconds);
  if (m->placement) {
    set_answer(L, m, cost);
  } else {
    set_refusal(L, c, i, m);
  }
}

/* As with a result: none where the times are not those that it is made of. */
static void set_bound(lua_State *L, bl_cost_box *box, const berth_sim_options *judge) {
  if (judge->noise > 0 || judge->quantum > 0 || !box->cost) return;
  berth_bounds b;
  if (bl_bounds(box, judge->memory, judge->param_multiple, judge->links, &b, NULL) != BERTH_OK)
    return;
  bl_set_number(L, "bound", b.best);
  bl_set_string(L, "bound_name", b.name);
}

/* [-0, +1] Rows in the order of the members, winner, bound. Without a judge the bound assumes
 * the options of placing. */
static void push_rows(lua_State *L, const portfolio_call *c, const berth_portfolio *p,
                      bl_cost_box *box, berth_cost *cost) {
  berth_sim_options judge = berth_sim_default(berth_cost_graph(cost));
  int32_t n = berth_portfolio_members(p);
  judge.links = c->o.place.links;
  judge.memory = c->o.place.memory;
  judge.param_multiple = c->o.place.param_multiple;
  judge.quantum = c->o.place.quantum;
  lua_createtable(L, n, 4);
  for (int32_t i = 0; i < n; i++) {
    push_row(L, c, p, i, cost);
    lua_rawseti(L, -2, i + 1);
  }
  if (berth_portfolio_best(p)) bl_set_id(L, "winner", berth_portfolio_winner(p));
  set_bound(L, box, c->o.judge ? c->o.judge : &judge);
}

/* Does the text have the member's words in it, behind its name? */
static bool quotes(const char *text, const berth_member_report *m) {
  static const char none[] = "no placement found: ";
  const char *tail = strstr(m->message, none);
  size_t n = strlen(m->name) + 2;
  tail = tail ? tail + strlen(none) : m->message;
  const char *at = *tail ? strstr(text, tail) : NULL;
  return at && (size_t)(at - text) >= n && strncmp(at - n, m->name, n - 2) == 0;
}

/* Words of a member in Lua are not of ids from 0. */
static void push_reason(lua_State *L, const portfolio_call *c, const berth_portfolio *p,
                        const char *text) {
  int32_t n = p && c->member ? c->o.n_members : 0;
  for (int32_t i = 0; i < n; i++) {
    if (c->member[i].place && quotes(text, berth_portfolio_report(p, i))) {
      lua_pushstring(L, text);
      return;
    }
  }
  bl_push_text(L, text);
}

/* ---- running ---- */

/* A box that lets go of the run whatever happens. */
typedef struct run_box {
  berth_cost *cost; /* NULL: it has let go */
  berth_portfolio *p;
} run_box;

static void release_run(void *box) {
  run_box *b = box;
  berth_portfolio_release(b->p);
  berth_cost_release(b->cost);
}
static const bl_class run_class = {
  .name = "portfolio run", .key = "berth.portfolio_run", .release = release_run
};

/* Before the call returns: results may be large, and the collector would free them late. */
static void close_run(run_box *box) {
  release_run(box);
  box->p = NULL;
  box->cost = NULL;
}

/* rows; or rows (nil: there are none), message, code, obstacle */
static int push_outcome(lua_State *L, const portfolio_call *c, const run_box *box,
                        bl_cost_box *cost, berth_status st, const berth_obstacle *why) {
  char text[1024];
  /* the bound may have a message of its own */
  snprintf(text, sizeof text, "%s", berth_errmsg(bl_ctx(L)));
  if (box->p) {
    push_rows(L, c, box->p, cost, box->cost);
    bl_set_bool(L, "interrupted", st == BERTH_EINTERRUPT);
  } else {
    lua_pushnil(L);
  }
  if (st == BERTH_OK) return 1;
  push_reason(L, c, box->p, text);
  lua_pushstring(L, berth_status_name(st));
  return 3 + bl_push_obstacle(L, st, why);
}

/* portfolio(cost, options): rows; rows or nil, message, code, obstacle */
static int portfolio(lua_State *L) {
  BL_WHERE(w, "berth.portfolio");
  bl_cost_box *cost = bl_check(L, 1, &bl_cost_class, w.fn, "cost");
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, &w, bl_portfolio_tables);
  bl_register(L, &run_class);
  run_box *box = bl_new(L, &run_class, sizeof *box);
  portfolio_call c;
  read_call(L, t, &w, cost->cost, &c);
  berth_cost_retain(box->cost = cost->cost); /* a member in Lua may close it */
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_portfolio_run(box->cost, &c.o, &box->p, &why));
  if (st == BERTH_ECALLBACK) {
    close_run(box);
    return lua_error(L);
  }
  if (st == BERTH_EINTERRUPT) bl_raise_failure(L);
  luaL_checkstack(L, 20, w.fn);
  int n = push_outcome(L, &c, box, cost, st, &why);
  close_run(box);
  bl_track(L);
  return n;
}

const luaL_Reg bl_portfolio_functions[] = { { "portfolio", portfolio }, { NULL, NULL } };
