/* Searches of type "deploy": d:search, d:tree. The tree is the type of decide.c whose decisions are
 * op groups: finish() turns the assignment into a strategy of the problem, refuse() reports the
 * device that lacks most memory.
 * Stack of make(): problem at 1, options at 2, the tree's box at 3. */
#include "decide/decide.h"
#include "deploy.h"
#include <berth/deploy.h>
#include <string.h>

/* ---- results ---- */

/* Ops of the problem's graph; decisions are op groups. */
static int32_t ops_of(const berth_deploy *d) {
  return bl_ops(berth_deploy_cost(d));
}

/* [-0, +2] The strategy of an assignment of the tree; both arrays are in scratch. With `choose` an
 * assignment holds choices of the search, which are not ids of actions; the core translates. */
static berth_status strategy_of(lua_State *L, const bl_tree_box *box, const int32_t *assignment,
                                int32_t **action, uint8_t **duplicate) {
  berth_deploy *d = box->object;
  berth_deploy_search_options o = berth_deploy_search_default(0);
  o.sfb = (berth_deploy_sfb)box->rule;
  o.choose = box->choose;
  *action = bl_scratch(L, (size_t)berth_deploy_groups(d), sizeof **action);
  *duplicate = bl_scratch(L, (size_t)ops_of(d), 1);
  return berth_deploy_strategy(d, &o, assignment, *action, *duplicate);
}

/* [-0, +0] { action, seconds, ... } at the top gets the actions of the problem, the ops that
 * replicas repeat, and the rule: "none" where they repeat nothing. Raises only what is our mistake
 * or memory. */
static void finish(lua_State *L, bl_tree_box *box, const int32_t *assignment) {
  berth_deploy *d = box->object;
  int32_t *action, t = lua_gettop(L);
  uint8_t *duplicate;
  if (strategy_of(L, box, assignment, &action, &duplicate) != BERTH_OK)
    bl_error(L, "%s: %s", box->fn, berth_errmsg(bl_ctx(L)));
  bl_push_ids(L, berth_deploy_groups(d), action);
  lua_setfield(L, t, "action");
  bl_push_marked(L, ops_of(d), duplicate);
  const bool repeats = lua_rawlen(L, -1) > 0;
  if (repeats) lua_setfield(L, t, "duplicate");
  lua_pushstring(L, berth_deploy_sfb_choices()[repeats ? box->rule : BERTH_DEPLOY_SFB_NONE]->name);
  lua_setfield(L, t, "sfb");
  lua_settop(L, t);
}

/* [-0, +4] nil, message, "infeasible", { device, missing }: the device, 1-based, that lacks most in
 * the best strategy found, missing in bytes. The strategy is evaluated anew, since the tree keeps
 * only its value. */
static int refuse(lua_State *L, bl_tree_box *box, const int32_t *assignment, int64_t evaluations) {
  int32_t *action;
  uint8_t *duplicate;
  berth_deploy_value v;
  berth_status st = strategy_of(L, box, assignment, &action, &duplicate);
  if (st == BERTH_OK) st = berth_deploy_evaluate(box->object, action, duplicate, NULL, &v);
  if (st != BERTH_OK) return bl_refused(L, box->fn, st);
  lua_pushnil(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  if (evaluations > 0) bl_add_format(&b, "none of %lld strategies fits", (long long)evaluations);
  else luaL_addstring(&b, "none of the strategies to begin with fits");
  berth_device d;
  luaL_addstring(&b, ": in the best of them device ");
  if (berth_topology_device(berth_cost_topology(berth_deploy_cost(box->object)), v.worst, &d)
      == BERTH_OK)
    bl_add_name(&b, d.name);
  luaL_addstring(&b, " needs ");
  bl_add_quantity(&b, v.shortfall, BERTH_BYTES);
  luaL_addstring(&b, " more");
  luaL_pushresult(&b);
  lua_pushliteral(L, "infeasible");
  lua_createtable(L, 0, 2);
  bl_set_id(L, "device", v.worst);
  bl_set_number(L, "missing", v.shortfall);
  return 4;
}

/* ---- options ---- */

/* [-0, +0] The strategy at the top: { action = { ... } }, or the array of actions itself, written
 * to out [op groups] as an assignment. What cannot be one (an action that no choice has) is a
 * status. */
static berth_status read_start(lua_State *L, const char *fn, berth_deploy *d,
                               const berth_deploy_search_options *o, int32_t k, int32_t *out) {
  const int32_t groups = berth_deploy_groups(d);
  const int at = lua_gettop(L);
  const bl_where w = { fn, "start", (int)k + 1 };
  if (!lua_istable(L, at)) bl_wrong(L, &w, NULL, "expected a strategy, got %s", bl_kind(L, at));
  lua_getfield(L, at, "action");
  if (lua_isnil(L, -1)) lua_pushvalue(L, at);
  bl_need_length(L, -1, &w, "action", groups, "op group");
  int32_t *ids = bl_to_ids(L, -1, &w, "action", groups, berth_deploy_actions(d, NULL), "action");
  const uint8_t *marks;
  berth_status st = bl_read_repeated(L, at, &w, d, ids, &marks);
  if (st == BERTH_OK) st = berth_deploy_assignment(d, o, ids, marks, out);
  lua_settop(L, at);
  return st;
}

/* [-0, +n] Strategies to begin with, [n x op groups] in scratch. Stops at the first that the core
 * refuses: its message is the last one set. */
static berth_status read_starts(lua_State *L, int t, const bl_where *w, berth_deploy *d,
                                berth_deploy_search_options *o) {
  const size_t groups = (size_t)berth_deploy_groups(d);
  int32_t n;
  berth_status st = BERTH_OK;
  if (!t || !bl_get_array(L, t, w, "start", &n) || n == 0) return BERTH_OK;
  int at = lua_gettop(L);
  int32_t *start = bl_scratch(L, (size_t)n * groups, sizeof *start);
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    lua_rawgeti(L, at, k + 1);
    st = read_start(L, w->fn, d, o, k, start + (size_t)k * groups);
    lua_pop(L, 1);
  }
  o->n_starts = n;
  o->start = start;
  return st;
}

/* [-0, +0] A function goes to the anchor of the tree's box, and the core gets the box as user data:
 * the tree calls it long after this call has returned. */
static void read_prior(lua_State *L, int at, int t, const bl_where *w,
                       berth_deploy_search_options *o) {
  int prior = (int)o->prior;
  lua_getfield(L, t, "prior");
  if (lua_isfunction(L, -1)) {
    bl_tree_function(L, at, t, w, "prior");
    o->prior = BERTH_DEPLOY_PRIOR_OWN;
    o->own = bl_call_prior;
    o->ud = lua_touserdata(L, at);
  } else {
    bl_get_choice(L, t, w, "prior", bl_choices(bl_decide_functions_option(), "prior"), &prior);
    o->prior = (berth_deploy_prior)prior;
  }
  lua_pop(L, 1);
}

/* [-0, +0] A preset of decide, not a method of the core. */
static bool is_published(lua_State *L, int t) {
  if (!t) return false;
  lua_getfield(L, t, "method");
  bool yes = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "published") == 0;
  lua_pop(L, 1);
  return yes;
}

const bl_table bl_deploy_search_tables[] = {
  berth_decide_option_table, bl_decide_functions_option, berth_deploy_search_option_table, NULL
};

/* [-0, +n] Defaults depend on whether the method is the published one, so that is read first. A
 * tree that is walked by hand has the actions of the problem: `choose` is for searches. */
static berth_deploy_search_options read_options(lua_State *L, int at, int t, const bl_where *w,
                                                bool by_hand) {
  berth_deploy_search_options o = berth_deploy_search_default(is_published(L, t));
  berth_decisions p = { 0 };
  if (by_hand) o.choose = 0;
  o.decide = bl_decide_options(L, t, w, &p);
  o.fill = p.fill;
  if (!t) return o;
  bl_read_options(L, t, w, berth_deploy_search_option_table(), &o);
  bl_get_bool(L, t, w, "steps", &o.steps);
  read_prior(L, at, t, w, &o);
  return o;
}

/* ---- methods ---- */

/* [-0, +1] A tree at the top, in place of the options at 2. @return 1, or 3: nil, message, code.
 * The problem is checked twice: making the box allocates, and a finaliser may close the problem. */
static int make(lua_State *L, const bl_where *w, bool by_hand) {
  bl_check_deploy(L, 1, w->fn, "self");
  lua_settop(L, 2);
  luaL_checkstack(L, 30, w->fn);
  int t = bl_option_table(L, 2, w, bl_deploy_search_tables);
  bl_tree_box *box = bl_new_tree(L, w->fn);
  berth_deploy *d = bl_check_deploy(L, 1, w->fn, "self");
  berth_deploy_search_options o = read_options(L, 3, t, w, by_hand);
  box->assignment = "action";
  box->value_name = "seconds";
  box->object = d;
  box->rule = (int)o.sfb;
  box->choose = o.choose;
  box->actions = berth_deploy_actions(d, NULL);
  box->finish = finish;
  box->refuse = refuse;
  box->calls = o.decide.calls;
  box->seconds = o.decide.seconds;
  berth_status st = read_starts(L, t, w, d, &o);
  bl_call call = bl_enter(L);
  st = bl_leave(&call, st == BERTH_OK ? berth_deploy_decider(d, &o, &box->decider) : st);
  if (st != BERTH_OK) return bl_refused(L, w->fn, st);
  lua_pushvalue(L, 3);
  bl_track(L);
  return 1;
}

/* deploy:positions(): [op groups] where each is in the model, from its forward ops' order. */
int bl_deploy_positions(lua_State *L) {
  static const char fn[] = "deploy:positions";
  const berth_deploy *d = bl_check_deploy(L, 1, fn, "self");
  double *position = bl_scratch(L, (size_t)berth_deploy_groups(d), sizeof *position);
  berth_status st = berth_deploy_positions(d, position);
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  bl_push_numbers(L, berth_deploy_groups(d), position);
  return 1;
}

/* deploy:tree(options): tree to be walked by hand; nil, message, code. */
int bl_deploy_tree(lua_State *L) {
  BL_WHERE(w, "deploy:tree");
  return make(L, &w, true);
}

/* deploy:search(options): { action, duplicate, sfb, seconds, ... }, the best strategy; nil,
 * message, code, { device, missing }. The tree is at 2 while it runs, which keeps it from the
 * collector. */
int bl_deploy_search(lua_State *L) {
  BL_WHERE(w, "deploy:search");
  if (make(L, &w, false) != 1) return 3;
  const bl_tree_box *box = lua_touserdata(L, -1);
  lua_replace(L, 2);
  lua_settop(L, 2);
  return bl_tree_search(L, 2, box->calls, box->seconds);
}
