/* Problems and options of searches on decisions, from Lua tables. Decisions, actions and starts are
 * numbered from 1 in Lua. Tables stay in scratch on the stack until the core has copied the
 * problem. */
#include "decide.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const berth_choice *const fills[] = {
  BL_CHOICE("nearest", "As the nearest decided one."),
  BL_CHOICE("first", "As the first decided one."),
  BL_CHOICE("start", "As in the best start."),
  NULL
};
static const berth_choice *const priors[] = {
  BL_CHOICE("local", "By the seconds of the op group alone."),
  BL_CHOICE("uniform", "All actions alike."),
  NULL
};
BL_OWN_OPTIONS(functions_option,
  BL_ROW("fill", OTHER, "nearest; method published: first", "what undecided ones are",
         .takes = "choice or function", .choices = fills),
  BL_ROW("prior", OTHER, "deployments: local, method published uniform; decisions: uniform",
         "how likely each action is good; the names are for deployments",
         .takes = "choice or function", .choices = priors))
const berth_option_table *bl_decide_functions_option(void) { return functions_option(); }

/* A name, or a function, whose call bl_call_fill makes. */
static void read_fill(lua_State *L, int t, const bl_where *w, bool published, berth_decisions *p) {
  int fill = published ? BERTH_FILL_FIRST : BERTH_FILL_NEAREST;
  bool own = false;
  if (t) {
    lua_getfield(L, t, "fill");
    own = lua_isfunction(L, -1);
    lua_pop(L, 1);
  }
  if (!own) bl_get_choice(L, t, w, "fill", fills, &fill);
  p->fill = own ? BERTH_FILL_OWN : (berth_fill)fill;
}

/* Method "published" is a preset, not a method of the core: it comes first, since it changes
 * defaults. */
berth_decide_options bl_decide_options(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  enum { PUBLISHED = BERTH_DECIDE_REFINE + 1 };
  const berth_option_table *table = berth_decide_option_table();
  int method = BERTH_DECIDE_MCTS;
  bl_get_choice(L, t, w, "method", bl_choices(table, "method"), &method);
  berth_decide_options o = berth_decide_default(method == PUBLISHED);
  if (bl_is_given(L, t, "seconds")) o.calls = 0;
  bl_read_options(L, t, w, table, &o);
  if (method == PUBLISHED) o.method = BERTH_DECIDE_TREE;
  read_fill(L, t, w, method == PUBLISHED, p);
  return o;
}

/* ---- problems in Lua ---- */

/* legal[decision]: array of actions */
static void read_legal(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  if (!bl_get_sized(L, t, w, "legal", p->n, "decision")) return;
  int at = lua_gettop(L);
  uint8_t *legal;
  p->legal = legal = bl_scratch(L, (size_t)p->n * (size_t)p->n_actions, 1);
  memset(legal, 0, (size_t)p->n * (size_t)p->n_actions);
  for (int32_t i = 0; i < p->n; i++) {
    char key[32];
    snprintf(key, sizeof key, "legal[%d]", (int)i + 1);
    lua_rawgeti(L, at, i + 1);
    if (!lua_istable(L, -1))
      bl_wrong(L, w, key, "expected an array of actions, got %s", bl_kind(L, -1));
    int32_t k = bl_to_length(L, -1, w, key);
    int32_t *ids = bl_to_ids(L, -1, w, key, k, p->n_actions, "action");
    while (k-- > 0) legal[(size_t)i * (size_t)p->n_actions + (size_t)ids[k]] = 1;
    lua_settop(L, at + 1);
  }
}

/* [-0, +n] Array of assignments, one after the other; scratch is anchored by the stack. */
static int32_t *read_starts(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  int32_t n;
  if (!bl_get_array(L, t, w, "starts", &n) || n == 0) return NULL;
  int at = lua_gettop(L);
  int32_t *start = bl_scratch(L, (size_t)n * (size_t)p->n, sizeof *start);
  for (int32_t i = 0; i < n; i++) {
    char key[32];
    snprintf(key, sizeof key, "starts[%d]", (int)i + 1);
    lua_rawgeti(L, at, i + 1);
    if (!lua_istable(L, -1)) bl_wrong(L, w, key, "expected an assignment, got %s", bl_kind(L, -1));
    int32_t *ids = bl_to_ids(L, -1, w, key, p->n, p->n_actions, "action");
    memcpy(start + (size_t)i * (size_t)p->n, ids, (size_t)p->n * sizeof *ids);
    lua_settop(L, at + 1);
  }
  p->n_starts = n;
  return start;
}

/* paths[action]: array of choices */
static void read_paths(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  int32_t n = p->n_actions;
  if (!bl_get_sized(L, t, w, "paths", n, "action")) return;
  int list = lua_gettop(L);
  int32_t *at;
  p->path_at = at = bl_scratch(L, (size_t)n + 1, sizeof *at);
  at[0] = 0;
  for (int32_t a = 0; a < n; a++) {
    lua_rawgeti(L, list, a + 1);
    if (!lua_istable(L, -1))
      bl_wrong(L, w, "paths", "[%d]: expected an array, got %s", (int)a + 1, bl_kind(L, -1));
    at[a + 1] = at[a] + bl_to_length(L, -1, w, "paths");
    lua_pop(L, 1);
  }
  int32_t *path;
  p->path = path = bl_scratch(L, (size_t)at[n], sizeof *path);
  for (int32_t a = 0; a < n; a++) {
    lua_rawgeti(L, list, a + 1);
    for (int32_t k = at[a]; k < at[a + 1]; k++) {
      lua_rawgeti(L, -1, k - at[a] + 1);
      path[k] = (int32_t)bl_to_whole(L, -1, w, "paths", 0, INT32_MAX);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

/* Marks by action. */
static void read_everywhere(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  int32_t n;
  if (!bl_get_array(L, t, w, "everywhere", &n)) return;
  int32_t *ids = bl_to_ids(L, -1, w, "everywhere", n, p->n_actions, "action");
  uint8_t *everywhere;
  p->everywhere = everywhere = bl_scratch(L, (size_t)p->n_actions, 1);
  memset(everywhere, 0, (size_t)p->n_actions);
  while (n-- > 0) everywhere[ids[n]] = 1;
}

/* The table t[key], which may lack entries, on the stack if there is one: all its keys are from 1
 * to n. */
static bool get_sparse(lua_State *L, int t, const bl_where *w, const char *key, int32_t n,
                       const char *noun) {
  lua_getfield(L, t, key);
  if (lua_isnil(L, -1)) return false;
  bl_need_table(L, -1, w, key);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TNUMBER)
      bl_wrong(L, w, key, "a key is a %s, expected the number of %s", bl_kind(L, -1), noun);
    double k = (double)lua_tonumber(L, -1);
    if (!(k >= 1 && k <= n) || k != floor(k))
      bl_wrong(L, w, key, "[%.14g] is for no %s (1 to %d)", k, noun, (int)n);
  }
  return true;
}

/* nil and false at the top are popped. */
static bool is_given(lua_State *L) {
  if (lua_toboolean(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* instead[action]: the action that replaces it where it is illegal */
static void read_instead(lua_State *L, int t, const bl_where *w, berth_decisions *p) {
  if (!get_sparse(L, t, w, "instead", p->n_actions, "action")) return;
  int at = lua_gettop(L);
  int32_t *instead;
  p->instead = instead = bl_scratch(L, (size_t)p->n_actions, sizeof *instead);
  for (int32_t a = 0; a < p->n_actions; a++) {
    instead[a] = BERTH_NONE;
    lua_rawgeti(L, at, a + 1);
    if (!is_given(L)) continue;
    char key[32];
    snprintf(key, sizeof key, "instead[%d]", (int)a + 1);
    instead[a] = bl_to_id(L, -1, w, key, p->n_actions, "action");
    lua_pop(L, 1);
  }
}

/* What is known of starts. @return NULL: of none */
static const double *read_known(lua_State *L, int t, const bl_where *w, const char *what,
                                double unknown, const berth_decisions *p) {
  if (!get_sparse(L, t, w, what, p->n_starts, "start")) return NULL;
  int at = lua_gettop(L);
  double *known = bl_scratch(L, (size_t)p->n_starts, sizeof *known);
  for (int32_t i = 0; i < p->n_starts; i++) {
    known[i] = unknown;
    lua_rawgeti(L, at, i + 1);
    if (!is_given(L)) continue;
    char key[32];
    snprintf(key, sizeof key, "%s[%d]", what, (int)i + 1);
    known[i] = bl_to_number(L, -1, w, key);
    lua_pop(L, 1);
  }
  return known;
}

/* [-0, +n] The arrays of the problem are scratch, which must stay until the decider has copied
 * them. */
static void read_problem(lua_State *L, int at, int t, const bl_where *w, berth_decisions *p) {
  if (!bl_get_whole(L, t, w, "decisions", 1, 1000000, &p->n))
    bl_wrong(L, w, "decisions", "expected a number, got nil");
  if (!bl_get_whole(L, t, w, "actions", 1, 1000000, &p->n_actions))
    bl_wrong(L, w, "actions", "expected a number, got nil");
  read_legal(L, t, w, p);
  int32_t n;
  if (bl_get_array(L, t, w, "position", &n))
    p->position = bl_to_numbers(L, lua_gettop(L), w, "position", p->n, "decision");
  read_instead(L, t, w, p);
  p->start = read_starts(L, t, w, p);
  p->start_value = read_known(L, t, w, "start_values", NAN, p);
  p->start_excess = read_known(L, t, w, "start_excess", 0, p);
  if (p->start_excess && !p->start_value) bl_wrong(L, w, "start_excess", "requires start_values");
  read_paths(L, t, w, p);
  if (bl_get_array(L, t, w, "weight", &n))
    p->weight = bl_to_numbers(L, lua_gettop(L), w, "weight", p->n, "decision");
  if (bl_get_array(L, t, w, "seam", &n))
    p->seam = bl_to_numbers(L, lua_gettop(L), w, "seam", p->n, "decision");
  read_everywhere(L, t, w, p);
  if (!bl_tree_function(L, at, t, w, "value"))
    bl_wrong(L, w, "value", "expected a function, got nil");
  p->value = bl_call_value;
  if (bl_tree_function(L, at, t, w, "prior")) p->prior = bl_call_prior;
  if (p->fill == BERTH_FILL_OWN && bl_tree_function(L, at, t, w, "fill"))
    p->own_fill = bl_call_fill;
  p->ud = lua_touserdata(L, at);
}

BL_OWN_OPTIONS(problem_option,
  BL_ROW("decisions", WHOLE, "none; must be given",
         "how many decisions, in the order in which they are made", .low = 1, .high = 1e6),
  BL_OTHER("actions", "whole or array", "none; must be given", "how many actions each has, or "
                                                               "their names"),
  BL_OTHER("value", "function", "none; must be given", "value of an assignment, and what it "
                                                       "exceeds"),
  BL_OTHER("legal", "array or function", "all", "actions of each decision that are legal"),
  BL_OTHER("position", "array", "their order", "where each decision is: near ones are alike"),
  BL_OTHER("seam", "array", "none", "what crosses a cut behind each decision in the order of "
                                    "positions"),
  BL_OTHER("weight", "array", "all alike", "how often each decision is picked to be changed"),
  BL_OTHER("instead", "table", "none", "which action replaces one where that is illegal"),
  BL_OTHER("starts", "array", "none", "assignments to be valued first"),
  BL_OTHER("start_values", "array", "none", "their values, where known"),
  BL_OTHER("start_excess", "array", "0", "requires start_values: what they exceed"),
  BL_OTHER("paths", "array", "none", "for each action the choices by which the tree comes to it"),
  BL_OTHER("everywhere", "array", "all", "actions that are evaluated for all decisions"))
const bl_table bl_decide_tables[] = {
  problem_option, berth_decide_option_table, bl_decide_functions_option, NULL
};

/* decision_tree(problem, fn): tree */
static int decision_tree(lua_State *L) {
  bl_where w = { "berth.decision_tree", NULL, 0 };
  berth_decisions p = { 0 };
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w.fn);
  if (lua_isstring(L, 2)) w.fn = "berth.decide";
  if (!lua_istable(L, 1)) bl_error(L, "%s: expected a table, got %s", w.fn, bl_kind(L, 1));
  int t = bl_option_table(L, 1, &w, bl_decide_tables);
  bl_new_tree(L, w.fn);
  berth_decide_options o = bl_decide_options(L, t, &w, &p);
  read_problem(L, 3, t, &w, &p);
  berth_status st;
  if ((st = bl_tree_make(L, 3, &p, &o)) != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushvalue(L, 3);
  bl_track(L);
  return 1;
}

/* decide(problem): the best, as a table; nil, message, code */
static int decide(lua_State *L) {
  lua_settop(L, 1);
  lua_pushliteral(L, "berth.decide");
  if (decision_tree(L) != 1) return 3;
  const bl_tree_box *box = lua_touserdata(L, -1);
  lua_replace(L, 1);
  lua_settop(L, 1);
  return bl_tree_search(L, 1, box->calls, box->seconds);
}

const luaL_Reg bl_decide_functions[] = { { "decide", decide },
                                         { "decision_tree", decision_tree },
                                         { NULL, NULL } };
