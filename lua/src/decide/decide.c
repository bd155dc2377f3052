/* Type "tree": a search on decisions that can be continued. The functions value, prior and fill are
 * in the anchor of the box.
 * enter() pushes them onto the stack of the running coroutine and notes their indices in the box;
 * leave() restores the indices of the outer call, for a function may search on the same tree. Then
 * leave() raises what a function did wrong (`fault`). A search of deployments is the same object
 * with hooks `finish` and `refuse`. */
#include "decide.h"
#include <math.h>
#include <string.h>

static int32_t decisions(const bl_tree_box *box) { return berth_decider_decisions(box->decider); }
static int32_t actions(const bl_tree_box *box) { return berth_decider_actions(box->decider); }

/* ---- boxes ---- */

BL_RELEASE(release_tree, berth_decider_release)

bl_tree_box *bl_new_tree(lua_State *L, const char *fn) {
  bl_tree_box *box = bl_new(L, &bl_tree_class, sizeof *box);
  box->hooks = bl_hooks_of(L);
  box->fn = fn;
  box->assignment = "assignment";
  box->value_name = "value";
  return box;
}

/* [-0, +0] The function stays in the anchor of the box, beyond this call. */
bool bl_tree_function(lua_State *L, int at, int t, const bl_where *w, const char *key) {
  if (!t) return false;
  compat_getanchor(L, at);
  if (!bl_get_function(L, t, w, key)) {
    lua_pop(L, 1);
    return false;
  }
  lua_setfield(L, -2, key);
  lua_pop(L, 1);
  return true;
}

berth_status bl_tree_make(lua_State *L, int at, const berth_decisions *p,
                          const berth_decide_options *o) {
  bl_tree_box *box = lua_touserdata(L, at);
  box->calls = o->calls;
  box->seconds = o->seconds;
  return berth_decider_new(bl_ctx(L), p, o, &box->decider);
}

/* ---- calls ---- */

typedef struct tree_call {
  bl_call call;
  bl_tree_box *box;
  lua_State *outer;
  int value, prior, fill;
} tree_call;

/* [-0, +1] Stack index of the function anchor[key], or 0. */
static int push_function(lua_State *L, int anchor, const char *key) {
  lua_getfield(L, anchor, key);
  return lua_isnil(L, -1) ? 0 : lua_gettop(L);
}

/* [-0, +4] The functions of the tree at `at` on the stack of the caller. One that runs already
 * refuses in the core; meanwhile the box has the indices of the inner call, and leave() gives back
 * the outer ones. */
static tree_call enter(lua_State *L, int at) {
  bl_tree_box *box = lua_touserdata(L, at);
  tree_call c = { { NULL, NULL }, box, box->L, box->value, box->prior, box->fill };
  compat_getanchor(L, at);
  int anchor = lua_gettop(L);
  box->value = push_function(L, anchor, "value");
  box->prior = push_function(L, anchor, "prior");
  box->fill = push_function(L, anchor, "fill");
  c.call = bl_enter_with(L, box->hooks);
  box->L = L;
  return c;
}

/* [-0, +0] or raises what a function did wrong. The text is copied and cleared first: the box may
 * be used again after the error. */
static berth_status leave(const tree_call *c, berth_status st) {
  bl_tree_box *box = c->box;
  lua_State *L = box->L;
  st = bl_leave(&c->call, st);
  box->L = c->outer;
  box->value = c->value;
  box->prior = c->prior;
  box->fill = c->fill;
  char text[sizeof box->fault];
  memcpy(text, box->fault, sizeof text);
  *box->fault = 0;
  if (*text) bl_error(L, "%s: %s", box->fn, text);
  return st;
}

/* ---- results ---- */

/* [-0, +1] Array of { evaluations, value }, one for each improvement. */
static void push_trace(lua_State *L, const bl_tree_box *box) {
  const int64_t *at;
  const double *value;
  const int32_t n = berth_decider_trace(box->decider, &at, &value);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    bl_set_count(L, "evaluations", (double)at[i]);
    bl_set_number(L, box->value_name, value[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* [-0, +n] The best as a table; what is not allowed: nil, message, code, and what `refuse` adds. */
static int push_best(lua_State *L, bl_tree_box *box) {
  int32_t *assignment = bl_scratch(L, (size_t)decisions(box), sizeof *assignment);
  berth_decide_report r;
  berth_status st = berth_decider_best(box->decider, assignment, &r);
  if (st == BERTH_EINFEASIBLE && box->refuse) return box->refuse(L, box, assignment, r.evaluations);
  if (st != BERTH_OK) return bl_refused(L, box->fn, st);
  lua_createtable(L, 0, 9);
  bl_set_ids(L, box->assignment, decisions(box), assignment);
  bl_set_number(L, box->value_name, r.value);
  if (!isinf(r.start)) bl_set_number(L, "start", r.start);
  bl_set_count(L, "evaluations", (double)r.evaluations);
  bl_set_count(L, "repeats", (double)r.repeats);
  bl_set_count(L, "playouts", (double)r.playouts);
  if (r.interrupted) bl_set_bool(L, "interrupted", 1);
  push_trace(L, box);
  lua_setfield(L, -2, "trace");
  if (box->finish) box->finish(L, box, assignment);
  return 1;
}

int bl_tree_search(lua_State *L, int at, int64_t calls, double seconds) {
  bl_tree_box *box = lua_touserdata(L, at);
  tree_call c = enter(L, at);
  berth_status st = leave(&c, berth_decider_search(box->decider, calls, seconds));
  if (st != BERTH_OK) return bl_refused(L, box->fn, st);
  bl_raise_failure(L);
  return push_best(L, box);
}

/* ---- methods ---- */

static bl_tree_box *self(lua_State *L, const char *fn) { return bl_self(L, &bl_tree_class, fn); }

typedef struct budget {
  int32_t calls;
  double seconds;
} budget;
BL_OPTIONS(tree_search,
  BL_ROW("calls", WHOLE, "that of the tree", "more assignments that are evaluated", .low = 1,
         .was = "evaluations"),
  BL_ROW("seconds", QUANTITY, "that of the tree", "more time", .offset = offsetof(budget, seconds),
         .unit = BERTH_SECONDS, .high = INFINITY))

/* tree:search { calls, seconds }: the best */
static int search(lua_State *L) {
  BL_WHERE(w, "tree:search");
  bl_tree_box *box = self(L, w.fn);
  budget more = { 0, 0 };
  int t = bl_take_options(L, 2, &w, bl_tree_search_tables, &more);
  if (bl_is_given(L, t, "calls") || bl_is_given(L, t, "seconds"))
    return bl_tree_search(L, 1, more.calls, more.seconds);
  return bl_tree_search(L, 1, box->calls, box->seconds);
}

/* tree:run(visits): true */
static int run(lua_State *L) {
  BL_WHERE(w, "tree:run");
  bl_tree_box *box = self(L, w.fn);
  const int64_t visits = (int64_t)bl_to_whole(L, 2, &w, "visits", 0, 2147483647.0);
  tree_call c = enter(L, 1);
  berth_status st = leave(&c, berth_decider_run(box->decider, visits));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_raise_failure(L);
  lua_pushboolean(L, 1);
  return 1;
}

/* tree:advance(action): true */
static int advance(lua_State *L) {
  BL_WHERE(w, "tree:advance");
  bl_tree_box *box = self(L, w.fn);
  const int32_t action = bl_to_id(L, 2, &w, "action", actions(box), "action");
  tree_call c = enter(L, 1);
  berth_status st = leave(&c, berth_decider_advance(box->decider, action));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushboolean(L, 1);
  return 1;
}

/* tree:root(): how many are decided, assignment [decisions]: what is not decided is filled, which
 * may call the function `fill`. */
static int root(lua_State *L) {
  static const char *const fn = "tree:root";
  bl_tree_box *box = self(L, fn);
  int32_t decided, *assignment = bl_scratch(L, (size_t)decisions(box), sizeof *assignment);
  tree_call c = enter(L, 1);
  berth_status st = leave(&c, berth_decider_root(box->decider, &decided, assignment));
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  lua_pushinteger(L, decided);
  bl_push_ids(L, decisions(box), assignment);
  return 2;
}

/* tree:visits(): [actions] visits of each action of the next decision, [actions] priors; illegal
 * ones 0. */
static int visits(lua_State *L) {
  bl_tree_box *box = self(L, "tree:visits");
  const int32_t n = actions(box);
  lua_createtable(L, n, 0);
  lua_createtable(L, n, 0);
  for (int32_t a = 0; a < n; a++) {
    berth_decide_node node = { 0, 0, 0 };
    if (berth_decider_node(box->decider, 1, &a, &node) != BERTH_OK) node.prior = 0;
    lua_pushinteger(L, (lua_Integer)node.visits);
    lua_rawseti(L, -3, a + 1);
    lua_pushnumber(L, node.prior);
    lua_rawseti(L, -2, a + 1);
  }
  return 2;
}

/* tree:node(actions): visits, q, prior of the node that these actions lead to from the root. */
static int node(lua_State *L) {
  BL_WHERE(w, "tree:node");
  bl_tree_box *box = self(L, w.fn);
  int32_t *way = NULL;
  lua_settop(L, 2);
  int32_t n = lua_isnil(L, 2) ? 0 : bl_to_length(L, 2, &w, "actions");
  if (n > 0) way = bl_to_ids(L, 2, &w, "actions", n, actions(box), "action");
  berth_decide_node x;
  berth_status st;
  if ((st = berth_decider_node(box->decider, n, way, &x)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  lua_pushnumber(L, (lua_Number)x.visits);
  lua_pushnumber(L, x.q);
  lua_pushnumber(L, x.prior);
  return 3;
}

/* best(): as search(), without searching */
static int best(lua_State *L) { return push_best(L, self(L, "tree:best")); }

static int to_string(lua_State *L) {
  const bl_tree_box *box = self(L, "tostring");
  berth_decide_report r;
  luaL_Buffer b;
  berth_status st = berth_decider_best(box->decider, NULL, &r);
  luaL_buffinit(L, &b);
  bl_add_format(&b, "tree: %d decisions among %d actions", (int)decisions(box), (int)actions(box));
  if (st == BERTH_OK)
    bl_add_format(&b, ", best %.6g after %lld evaluations", r.value, (long long)r.evaluations);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = { { "search", search },   { "run", run },
                                    { "advance", advance }, { "root", root },
                                    { "visits", visits },   { "node", node },
                                    { "best", best },       { NULL, NULL } };
const bl_class bl_tree_class = {.name = "tree",
                                .key = "berth.tree",
                                .release = release_tree,
                                .methods = methods,
                                .text = to_string};
