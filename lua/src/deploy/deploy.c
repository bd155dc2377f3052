/* Type "deploy": a problem of deployment: op groups, device sets, actions. Made in problem.c;
 * compiled in compiled.c; values in values.c; searched in search.c.
 * The anchor holds the cost's box and the name of the physics; the analysis is made at the first
 * access. */
#include "deploy.h"
#include "analyse.h"
#include <string.h>

const char *const bl_deploy_option_names[] = { "ps", "allreduce", "split", "duplicate", NULL };
const char *const bl_deploy_share_names[] = { "even", "speed", NULL };

BL_RELEASE(release_deploy, berth_deploy_release)

/* [-0, +0] The pointer is borrowed from the box: valid until the calling function returns. Raises
 * "fn: what: expected a deploy, got ..." or "... is closed". */
berth_deploy *bl_check_deploy(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_deploy_box *)bl_check(L, i, &bl_deploy_class, fn, what))->deploy;
}

BL_SELF(self, berth_deploy, bl_deploy_class)

/* Ops of the graph as given, before replicas and splits are compiled into it. */
static int32_t ops_of(const berth_deploy *d) {
  return bl_ops(berth_deploy_cost(d));
}
static int32_t devices_of(const berth_deploy *d) {
  return bl_devices(berth_deploy_cost(d));
}

/* ---- strategies ---- */

/* [-0, +2] An action for each op group, 0-based, in scratch at the top; the Lua array is below it.
 * Raises unless `action` has as many ids as there are op groups. Whether an action is legal for its
 * group is left to the core. */
static const int32_t *read_actions(lua_State *L, int i, const bl_where *w, const berth_deploy *d) {
  int32_t groups = berth_deploy_groups(d);
  if (!bl_get_sized(L, i, w, "action", groups, "op group"))
    bl_wrong(L, w, "action", "is missing: an action for each op group");
  return bl_to_ids(L, -1, w, "action", groups, berth_deploy_actions(d, NULL), "action");
}

/* [-0, +0] where there is no `duplicate`: NULL. [-0, +3] the array, its ids and the marks [ops]: a
 * list in Lua, one byte per op in the core. An op that is listed twice is marked once. */
static const uint8_t *read_marks(lua_State *L, int i, const bl_where *w, const berth_deploy *d) {
  int32_t n;
  if (!bl_get_array(L, i, w, "duplicate", &n)) return NULL;
  const int32_t *ids = bl_to_ids(L, lua_gettop(L), w, "duplicate", n, ops_of(d), "op");
  uint8_t *marks = bl_scratch(L, (size_t)ops_of(d), 1);
  memset(marks, 0, (size_t)ops_of(d));
  for (int32_t k = 0; k < n; k++) marks[ids[k]] = 1;
  return marks;
}

/* [-0, +n] For methods that take the ops that are repeated as they are listed and apply no rule:
 * `sfb` is not read. */
void bl_to_strategy(lua_State *L, int i, const bl_where *w, const berth_deploy *d,
                    const int32_t **action, const uint8_t **duplicate) {
  bl_need_table(L, i, w, "strategy");
  *action = read_actions(L, i, w, d);
  *duplicate = read_marks(L, i, w, d);
}

/* [-0, +n] Ops that are repeated: as listed in `duplicate`, which has precedence, or by the rule of
 * `sfb`; NULL: none. Only the rule calls the core, so only it can return another status than
 * BERTH_OK. */
berth_status bl_read_repeated(lua_State *L, int i, const bl_where *w, berth_deploy *d,
                              const int32_t *action, const uint8_t **duplicate) {
  int rule = BERTH_DEPLOY_SFB_NONE;
  *duplicate = read_marks(L, i, w, d);
  if (*duplicate || !bl_get_choice(L, i, w, "sfb", berth_deploy_sfb_choices(), &rule)
      || rule == BERTH_DEPLOY_SFB_NONE)
    return BERTH_OK;
  uint8_t *marks;
  *duplicate = marks = bl_scratch(L, (size_t)ops_of(d), 1);
  return berth_deploy_repeat(d, action, (berth_deploy_sfb)rule, marks);
}

/* [-0, +n] The actions are read before the rule, which depends on them. What is wrong in the table
 * raises; what the rule's evaluation fails with is returned, for the caller's bl_refused. */
berth_status bl_read_strategy(lua_State *L, int i, const bl_where *w, berth_deploy *d,
                              const int32_t **action, const uint8_t **duplicate) {
  bl_need_table(L, i, w, "strategy");
  *action = read_actions(L, i, w, d);
  return bl_read_repeated(L, i, w, d, *action, duplicate);
}

/* ---- choices ---- */

/* deploy:groups(): array of { ops, seconds, reduces }, the heaviest group first. ops: ids of ops,
 * rising; seconds: of the full batch, mean over devices; reduces: replicas have gradients to sum.
 * O(groups x ops): the core keeps the group of each op, not the ops of each group. */
static int groups(lua_State *L) {
  const berth_deploy *d = self(L, "deploy:groups");
  const int32_t *group = berth_deploy_group(d);
  int32_t n = berth_deploy_groups(d);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    int32_t count = 0;
    lua_createtable(L, 0, 3);
    bl_set_number(L, "seconds", berth_deploy_group_seconds(d)[k]);
    bl_set_bool(L, "reduces", berth_deploy_reduces(d, k));
    lua_newtable(L);
    for (int32_t op = 0; op < ops_of(d); op++) {
      if (group[op] != k) continue;
      bl_push_id(L, op);
      lua_rawseti(L, -2, ++count);
    }
    lua_setfield(L, -2, "ops");
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* deploy:group_of(): [ops] op group of each op, an id of deploy:groups(). */
static int group_of(lua_State *L) {
  const berth_deploy *d = self(L, "deploy:group_of");
  bl_push_ids(L, ops_of(d), berth_deploy_group(d));
  return 1;
}

/* deploy:sets(): array of arrays of device ids. Position = id of the device set, as in `set` of an
 * action. */
static int sets(lua_State *L) {
  const berth_deploy *d = self(L, "deploy:sets");
  int32_t n = berth_deploy_sets(d);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    const int32_t *device;
    int32_t size = berth_deploy_set(d, k, &device);
    bl_push_ids(L, size, device);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* deploy:device_groups(): [devices] group of each device, numbered by their lowest device; how many
 * groups there are. */
static int device_groups(lua_State *L) {
  const berth_deploy *d = self(L, "deploy:device_groups");
  bl_push_ids(L, devices_of(d), berth_deploy_device_group(d));
  lua_pushinteger(L, berth_deploy_device_groups(d));
  return 2;
}

/* [-0, +1] Samples of each device of the set, in the set's order, which add up to the batch. The
 * scratch that the core fills goes again. */
static void push_samples(lua_State *L, const berth_deploy *d, int32_t set,
                         berth_deploy_shares shares) {
  int32_t n = berth_deploy_set(d, set, NULL), *x = bl_scratch(L, (size_t)n, sizeof *x);
  berth_deploy_samples(d, set, shares, x);
  bl_push_counts(L, n, x);
  lua_remove(L, -2);
}

/* deploy:actions(): array of { set, option, shares, samples }; position = id of the action.
 * samples: [devices of the set], only for "ps" and "allreduce": the other options do not share the
 * batch. */
static int actions(lua_State *L) {
  const berth_deploy *d = self(L, "deploy:actions");
  const berth_action *a;
  int32_t n = berth_deploy_actions(d, &a);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 4);
    bl_set_id(L, "set", a[k].set);
    bl_set_string(L, "option", bl_deploy_option_names[a[k].option]);
    bl_set_string(L, "shares", bl_deploy_share_names[a[k].shares]);
    if (a[k].option == BERTH_DEPLOY_PS || a[k].option == BERTH_DEPLOY_ALLREDUCE) {
      push_samples(L, d, a[k].set, a[k].shares);
      lua_setfield(L, -2, "samples");
    }
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* deploy:legal(group): ids of the actions that the op group may have, rising. The core has a matrix
 * [groups x actions] of marks; one row of it is read. */
static int legal(lua_State *L) {
  BL_WHERE(w, "deploy:legal");
  const berth_deploy *d = self(L, w.fn);
  int32_t n = berth_deploy_actions(d, NULL),
          group = bl_to_id(L, 2, &w, "group", berth_deploy_groups(d), "op group");
  bl_push_marked(L, n, berth_deploy_legal(d) + (size_t)group * (size_t)n);
  return 1;
}

/* Arguments 2 and 3: device set, and shares ("even" by default). */
static int32_t set_at(lua_State *L, const bl_where *w, const berth_deploy *d,
                      berth_deploy_shares *shares) {
  int32_t set = bl_to_id(L, 2, w, "set", berth_deploy_sets(d), "device set");
  int k = BERTH_SHARES_EVEN;
  if (!lua_isnoneornil(L, 3)) k = bl_to_enum(L, 3, w, "shares", bl_deploy_share_names);
  *shares = (berth_deploy_shares)k;
  return set;
}

/* deploy:samples(set, shares): [devices of the set] samples of each, which add up to the batch. */
static int samples(lua_State *L) {
  BL_WHERE(w, "deploy:samples");
  const berth_deploy *d = self(L, w.fn);
  berth_deploy_shares shares;
  int32_t set = set_at(L, &w, d, &shares);
  push_samples(L, d, set, shares);
  return 1;
}

/* deploy:owners(set, shares): [batch] id of the device that handles each sample. */
static int owners(lua_State *L) {
  BL_WHERE(w, "deploy:owners");
  const berth_deploy *d = self(L, w.fn);
  berth_deploy_shares shares;
  int32_t set = set_at(L, &w, d, &shares), n = berth_deploy_given(d)->batch,
          *x = bl_scratch(L, (size_t)n, sizeof *x);
  berth_deploy_owners(d, set, shares, x);
  bl_push_ids(L, n, x);
  return 1;
}

/* deploy:op(op, device, samples): s of the op at that many samples; math.huge: it cannot run there.
 * Ids that are out of range raise here, where the core would return NaN. */
static int op_seconds(lua_State *L) {
  BL_WHERE(w, "deploy:op");
  const berth_deploy *d = self(L, w.fn);
  int32_t op = bl_to_id(L, 2, &w, "op", ops_of(d), "op"),
          device = bl_to_id(L, 3, &w, "device", devices_of(d), "device");
  int32_t n = (int32_t)bl_to_whole(L, 4, &w, "samples", 0, INT32_MAX);
  lua_pushnumber(L, berth_deploy_op(d, op, device, n));
  return 1;
}

/* ---- fields ---- */

/* The box that the problem was made with or that was made for it: the anchor keeps it, so that each
 * access gives the same object. */
static int get_cost(lua_State *L) {
  self(L, "deploy.cost");
  return bl_kept(L, "cost");
}

static int get_physics(lua_State *L) {
  self(L, "deploy.physics");
  return bl_kept(L, "physics");
}

/* Read through the cost's box, which makes a new box of the graph if the first one has been
 * closed. */
static int get_graph(lua_State *L) {
  get_cost(L);
  lua_getfield(L, -1, "graph");
  return 1;
}

static int get_topology(lua_State *L) {
  get_cost(L);
  lua_getfield(L, -1, "topology");
  return 1;
}

/* [-0, +1] The analysis outlives the problem: the box has a reference. */
static void build_analysis(lua_State *L) {
  berth_analysis *a = (berth_analysis *)berth_deploy_analysis(self(L, "deploy.analysis"));
  bl_box *box = bl_new(L, &bl_analysis_class, sizeof *box);
  berth_analysis_retain(box->object = a);
}

static int get_analysis(lua_State *L) {
  self(L, "deploy.analysis");
  return bl_cached(L, 1, "analysis", build_analysis);
}

BL_GETTER(get_batch, lua_pushinteger, berth_deploy_given(self(L, "deploy.batch"))->batch)

/* The anchor has the name of the physics; get_physics leaves it at the top, below the text. */
static int to_string(lua_State *L) {
  const berth_deploy *d = self(L, "tostring");
  get_physics(L);
  lua_pushfstring(
      L,
      "deploy: %d op groups of %d ops, batch %d, on %d devices (%d sets, %d actions), %s physics",
      (int)berth_deploy_groups(d), (int)ops_of(d), (int)berth_deploy_given(d)->batch,
      (int)devices_of(d), (int)berth_deploy_sets(d), (int)berth_deploy_actions(d, NULL),
      lua_tostring(L, -1));
  return 1;
}

static const luaL_Reg fields[] = {
  { "cost", get_cost },   { "graph", get_graph },     { "topology", get_topology },
  { "batch", get_batch }, { "physics", get_physics }, { "analysis", get_analysis },
  { NULL, NULL }
};
static const luaL_Reg methods[] = { { "groups", groups },
                                    { "group_of", group_of },
                                    { "sets", sets },
                                    { "device_groups", device_groups },
                                    { "actions", actions },
                                    { "legal", legal },
                                    { "samples", samples },
                                    { "owners", owners },
                                    { "op", op_seconds },
                                    { "compile", bl_deploy_compile },
                                    { "positions", bl_deploy_positions },
                                    { "search", bl_deploy_search },
                                    { "tree", bl_deploy_tree },
                                    { NULL, NULL } };
const bl_class bl_deploy_class = {
  .name = "deploy", .key = "berth.deploy", .release = release_deploy, .methods = methods,
  .more_methods = bl_deploy_value_methods, .fields = fields, .text = to_string
};

