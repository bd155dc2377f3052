/* Type "deploy": values of strategies, strategies to start from, numbers for graph networks. A
 * strategy is read into scratch that stays on the stack: an action per op group, and marks of the
 * ops that every replica repeats.
 * Seconds are of one training step, bytes of one device; an infeasible strategy has `over` devices
 * and a `shortfall`. */
#include "episodes/assign.h"
#include "deploy.h"
#include <berth/deploy.h>
#include <string.h>

BL_SELF(self, berth_deploy, bl_deploy_class)

static int32_t ops_of(const berth_deploy *d) {
  return bl_ops(berth_deploy_cost(d));
}
static int32_t devices_of(const berth_deploy *d) {
  return bl_devices(berth_deploy_cost(d));
}
static int32_t links_of(const berth_deploy *d) {
  return berth_topology_links(berth_cost_topology(berth_deploy_cost(d)));
}

/* ---- strategies ---- */

typedef struct strategy {
  const int32_t *action;
  const uint8_t *duplicate; /* NULL: none */
} strategy;

/* [-0, +n] Both arrays are in scratch, which stays on the stack. The status is of the rule `sfb`;
 * it is kept until the answer's scratch exists, so that each method has one place that reports. */
static berth_status read_strategy(lua_State *L, int i, const bl_where *w, berth_deploy *d,
                                  strategy *s) {
  return bl_read_strategy(L, i, w, d, &s->action, &s->duplicate);
}

/* ---- values ---- */

/* [-0, +0] Sets fields of the table at the top: seconds of a step; peak, shortfall in bytes; over,
 * repeated: counts; worst: id of a device, left out if all fit; excess: sum of shares of memory. */
static void set_value(lua_State *L, const berth_deploy_value *v) {
  bl_set_number(L, "seconds", v->seconds);
  bl_set_number(L, "peak", v->peak);
  bl_set_count(L, "over", v->over);
  bl_set_id(L, "worst", v->worst);
  bl_set_number(L, "shortfall", v->shortfall);
  bl_set_number(L, "excess", v->excess);
  bl_set_count(L, "repeated", v->repeated);
}

/* deploy:evaluate(strategy): { seconds, peak, over, worst, shortfall, excess, repeated, peaks },
 * peaks [devices] in bytes. Running out of memory is a value, not a failure. nil, message, code. */
static int evaluate(lua_State *L) {
  BL_WHERE(w, "deploy:evaluate");
  lua_settop(L, 2);
  berth_deploy *d = self(L, w.fn);
  strategy s;
  berth_status st = read_strategy(L, 2, &w, d, &s);
  double *peaks = bl_scratch(L, (size_t)devices_of(d), sizeof *peaks);
  berth_deploy_value v;
  if (st == BERTH_OK) st = berth_deploy_evaluate(d, s.action, s.duplicate, peaks, &v);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_newtable(L);
  set_value(L, &v);
  bl_set_numbers(L, "peaks", devices_of(d), peaks);
  return 1;
}

/* deploy:feedback(strategy): the same and makespan, idle_after [ops], group_makespan [op groups] in
 * s, busy [devices], link_busy [links] as shares of the step time. The scratch is made also where
 * the strategy was refused, so that one place below reports the failure. */
static int feedback(lua_State *L) {
  BL_WHERE(w, "deploy:feedback");
  lua_settop(L, 2);
  berth_deploy *d = self(L, w.fn);
  strategy s;
  berth_status st = read_strategy(L, 2, &w, d, &s);
  berth_deploy_feedback f;
  f.makespan = bl_scratch(L, (size_t)ops_of(d), sizeof *f.makespan);
  f.idle_after = bl_scratch(L, (size_t)ops_of(d), sizeof *f.idle_after);
  f.group_makespan = bl_scratch(L, (size_t)berth_deploy_groups(d), sizeof *f.group_makespan);
  f.busy = bl_scratch(L, (size_t)devices_of(d), sizeof *f.busy);
  f.peak = bl_scratch(L, (size_t)devices_of(d), sizeof *f.peak);
  f.link_busy = bl_scratch(L, (size_t)links_of(d), sizeof *f.link_busy);
  berth_deploy_value v;
  if (st == BERTH_OK) st = berth_deploy_simulate(d, s.action, s.duplicate, &f, &v);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_newtable(L);
  set_value(L, &v);
  bl_set_numbers(L, "makespan", ops_of(d), f.makespan);
  bl_set_numbers(L, "idle_after", ops_of(d), f.idle_after);
  bl_set_numbers(L, "group_makespan", berth_deploy_groups(d), f.group_makespan);
  bl_set_numbers(L, "busy", devices_of(d), f.busy);
  bl_set_numbers(L, "peaks", devices_of(d), f.peak);
  bl_set_numbers(L, "link_busy", links_of(d), f.link_busy);
  return 1;
}

/* deploy:local_costs(strategy, group): [actions] s that each action of the op group would cost, the
 * others as in the strategy; math.huge where it is illegal or cannot be held. */
static int local_costs(lua_State *L) {
  BL_WHERE(w, "deploy:local_costs");
  lua_settop(L, 3);
  berth_deploy *d = self(L, w.fn);
  int32_t group = bl_to_id(L, 3, &w, "group", berth_deploy_groups(d), "op group");
  strategy s;
  bl_to_strategy(L, 2, &w, d, &s.action, &s.duplicate);
  const berth_action *actions;
  int32_t n = berth_deploy_actions(d, &actions);
  double *seconds = bl_scratch(L, (size_t)n, sizeof *seconds);
  berth_status st;
  if ((st = berth_deploy_local(d, s.action, group, seconds)) != BERTH_OK)
    return bl_refused(L, w.fn, st);
  bl_push_numbers(L, n, seconds);
  return 1;
}

/* deploy:bound(): lower bound of the step time in s, "work" or "path"; nil, message, code. No
 * strategy is involved: it holds for all. */
static int bound(lua_State *L) {
  static const char fn[] = "deploy:bound";
  const char *which;
  double seconds;
  berth_status st = berth_deploy_bound(self(L, fn), &seconds, &which);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushnumber(L, seconds);
  lua_pushstring(L, which);
  return 2;
}

/* ---- repeated ops ---- */

/* deploy:repeated(strategy, rule): ids of the ops that the rule ("local" by default) has every
 * replica repeat, rising. Ops listed in the strategy's own `duplicate` are checked, but do not
 * matter. */
static int repeated(lua_State *L) {
  BL_WHERE(w, "deploy:repeated");
  int rule = BERTH_DEPLOY_SFB_LOCAL;
  lua_settop(L, 3);
  berth_deploy *d = self(L, w.fn);
  if (!lua_isnil(L, 3)) rule = bl_to_choice(L, 3, &w, "rule", berth_deploy_sfb_choices());
  strategy s;
  bl_to_strategy(L, 2, &w, d, &s.action, &s.duplicate);
  uint8_t *marks = bl_scratch(L, (size_t)ops_of(d), 1);
  berth_status st = berth_deploy_repeat(d, s.action, (berth_deploy_sfb)rule, marks);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_marked(L, ops_of(d), marks);
  return 1;
}

/* deploy:evaluations(): how many strategies were simulated so far, a number: 64 bits in the
 * core. */
BL_GETTER(evaluations, lua_pushnumber,
          (lua_Number)berth_deploy_evaluations(self(L, "deploy:evaluations")))

BL_OPTIONS(guard, BL_ROW("calls", WHOLE, "50", "strategies that are simulated at most", .low = 2,
                         .was = "evaluations"))

/* deploy:guard(strategy, { calls }): { action, duplicate }, value, how many calls it took. Marks
 * are copied, because the core changes them in place. A hook may close the problem: the box then
 * lingers until this function has returned, so `d` stays valid (see base/calls.c). */
static int guard(lua_State *L) {
  BL_WHERE(w, "deploy:guard");
  int32_t most = 50;
  lua_settop(L, 3);
  berth_deploy *d = self(L, w.fn);
  int64_t before = berth_deploy_evaluations(d);
  bl_take_options(L, 3, &w, bl_guard_tables, &most);
  strategy s;
  berth_status st = read_strategy(L, 2, &w, d, &s);
  uint8_t *marks = bl_scratch(L, (size_t)ops_of(d), 1);
  if (s.duplicate) memcpy(marks, s.duplicate, (size_t)ops_of(d));
  else memset(marks, 0, (size_t)ops_of(d));
  bl_call call = bl_enter(L);
  berth_deploy_value v;
  if (st == BERTH_OK) st = berth_deploy_guard(d, s.action, marks, most, &v);
  st = bl_leave(&call, st);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_newtable(L);
  bl_set_ids(L, "action", berth_deploy_groups(d), s.action);
  bl_push_marked(L, ops_of(d), marks);
  lua_setfield(L, -2, "duplicate");
  lua_newtable(L);
  set_value(L, &v);
  lua_pushnumber(L, (lua_Number)(berth_deploy_evaluations(d) - before));
  return 3;
}

/* ---- strategies to begin with ---- */

BL_RELEASE(release_list, berth_deploy_list_release)
static const bl_class list_class = {
  .name = "list of strategies", .key = "berth.deploy_list", .release = release_list
};

/* [-0, +1] { name, action, sfb } with the fields of its value. The rule is stored by its name, so
 * that the table is a strategy that deploy:evaluate takes as it is. */
static void push_baseline(lua_State *L, const berth_deploy *d, const berth_deploy_list *l,
                          int32_t k) {
  lua_newtable(L);
  bl_set_string(L, "name", berth_deploy_list_name(l, k));
  bl_set_ids(L, "action", berth_deploy_groups(d), berth_deploy_list_action(l, k));
  bl_set_string(L, "sfb", berth_deploy_sfb_choices()[berth_deploy_list_rule(l, k)]->name);
  set_value(L, berth_deploy_list_value(l, k));
}

/* deploy:baselines(): array of { name, action, sfb, seconds, peak, over, worst, shortfall, excess,
 * repeated }; nil, message, code. A hidden box owns the core's list while tables are made of it. */
static int baselines(lua_State *L) {
  static const char fn[] = "deploy:baselines";
  berth_deploy_list *l = NULL;
  lua_settop(L, 1);
  berth_deploy *d = self(L, fn);
  bl_register(L, &list_class);
  bl_box *box = bl_new(L, &list_class, sizeof *box);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_deploy_baselines(d, &l));
  box->object = l; /* also where a hook has raised */
  if (st != BERTH_OK) return bl_failed(L, st);
  int32_t n = berth_deploy_list_size(l);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    push_baseline(L, d, l, k);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* deploy:from_placement(placement or devices): { action }, each op group on the device of most of
 * its bytes; nil, message, "infeasible". */
static int from_placement(lua_State *L) {
  BL_WHERE(w, "deploy:from_placement");
  lua_settop(L, 2);
  berth_deploy *d = self(L, w.fn);
  const int32_t *device = bl_to_devices(L, 2, berth_deploy_cost(d), &w, "placement");
  int32_t *action = bl_scratch(L, (size_t)berth_deploy_groups(d), sizeof *action);
  berth_status st;
  if ((st = berth_deploy_from_placement(d, device, action)) != BERTH_OK) return bl_failed(L, st);
  lua_newtable(L);
  bl_set_ids(L, "action", berth_deploy_groups(d), action);
  return 1;
}

/* deploy:prove_infeasible(): the proof that no strategy fits and { op, device, missing }; nil:
 * there is none, and nothing is known; nil, message, code. */
static int prove_infeasible(lua_State *L) {
  static const char fn[] = "deploy:prove_infeasible";
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  berth_status st = berth_deploy_prove_infeasible(self(L, fn), &why);
  if (st == BERTH_OK) return 0;
  if (st != BERTH_EINFEASIBLE) return bl_failed(L, st);
  bl_push_message(L, st);
  return 1 + bl_push_obstacle(L, st, &why);
}

/* ---- for graph networks ---- */

/* [-0, +0] Sets an array of zeros [rows, columns] in the table at the top. Returns its data, which
 * the core fills: the table keeps the array alive, and no script has a reference to it yet. */
static float *set_array(lua_State *L, const char *key, int32_t rows, int32_t columns) {
  const int32_t shape[2] = { rows, columns };
  bl_array_box *box = bl_push_zeros(L, 2, shape);
  float *data = box->data;
  lua_setfield(L, -2, key);
  return data;
}

/* [-0, +0] Index [rows * columns] for the cells of a grid, row by row: the row of each, or the
 * column. Networks gather with it what belongs to both ends of a complete bipartite graph. */
static void set_grid(lua_State *L, const char *key, int32_t rows, int32_t columns, bool by_row) {
  int32_t *ids = bl_scratch(L, (size_t)rows * (size_t)columns, sizeof *ids);
  for (int32_t i = 0; i < rows; i++) {
    for (int32_t k = 0; k < columns; k++) ids[i * columns + k] = by_row ? i : k;
  }
  bl_push_index(L, rows * columns, ids);
  lua_remove(L, -2);
  lua_setfield(L, -2, key);
}

/* [-0, +0] 0-based, as the core has them; an index shows them 1-based to Lua. */
static void set_ids(lua_State *L, const char *key, int32_t n, const int32_t *ids) {
  bl_push_index(L, n, ids);
  lua_setfield(L, -2, key);
}

/* [-0, +0] The table at the top gets all arrays and indices of a problem of that shape; the struct
 * has pointers into them. g op groups, m device groups. */
static berth_deploy_features set_features(lua_State *L, const berth_deploy_shape *s) {
  int32_t g = s->groups, m = s->device_groups;
  berth_deploy_features f;
  f.op = set_array(L, "op", g, BERTH_DEPLOY_OP_FEATURES);
  f.device = set_array(L, "device", m, BERTH_DEPLOY_DEVICE_FEATURES);
  f.edge = set_array(L, "edge", s->edges, 1);
  f.link = set_array(L, "link", m * m, 1);
  f.place = set_array(L, "place", g * m, BERTH_DEPLOY_PLACE_FEATURES);
  set_ids(L, "edge_from", s->edges, s->from);
  set_ids(L, "edge_to", s->edges, s->to);
  set_grid(L, "link_from", m, m, true);
  set_grid(L, "link_to", m, m, false);
  set_grid(L, "place_op", g, m, true);
  set_grid(L, "place_device", g, m, false);
  bl_set_count(L, "groups", g);
  bl_set_count(L, "device_groups", m);
  bl_set_count(L, "edges", s->edges);
  return f;
}

/* [-0, +0] Op group of the option `deciding`, 0-based, or BERTH_NONE: it is no plain number, so
 * that descriptors cannot read it. */
static int32_t opt_group(lua_State *L, int t, const bl_where *w, const berth_deploy *d) {
  int32_t id = BERTH_NONE;
  if (t == 0) return id;
  lua_getfield(L, t, "deciding");
  if (!lua_isnil(L, -1))
    id = bl_to_id(L, lua_gettop(L), w, "deciding", berth_deploy_groups(d), "op group");
  lua_pop(L, 1);
  return id;
}

static const berth_choice *const scales[] = {
  BL_CHOICE("raw", "As published."), BL_CHOICE("log", "Logarithms."), NULL
};

BL_OPTIONS(features,
  BL_OTHER("deciding", "op group", "none", "the one that is being decided"),
  BL_OTHER("decided", "whole", "0", "how many op groups, the first ones, are decided"),
  BL_ROW("scale", CHOICE, "raw", "of the numbers", .choices = scales),
  BL_ROW("feedback", FLAG, "true", "simulates; false: what the simulation finds is 0",
         .offset = sizeof(int)))

/* deploy:features(strategy, { deciding, decided, scale, feedback }): arrays op [groups, features],
 * device [device groups, features], edge, link, place, indices of their ends, and with feedback the
 * fields of the value. nil, message, code. */
static int features(lua_State *L) {
  static const bl_where w = { "deploy:features", NULL, 0 };
  int32_t decided = 0;
  int given[2] = { BERTH_DEPLOY_SCALE_RAW, 1 }; /* scale, feedback */
  lua_settop(L, 3);
  berth_deploy *d = self(L, w.fn);
  int t = bl_take_options(L, 3, &w, bl_features_tables, given);
  bl_get_whole(L, t, &w, "decided", 0, berth_deploy_groups(d), &decided);
  int32_t deciding = opt_group(L, t, &w, d);
  berth_status st;
  strategy s;
  if ((st = read_strategy(L, 2, &w, d, &s)) != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_deploy_shape shape;
  if ((st = berth_deploy_features_shape(d, &shape)) != BERTH_OK) return bl_failed(L, st);
  lua_newtable(L);
  berth_deploy_features f = set_features(L, &shape);
  berth_deploy_value v;
  st = berth_deploy_features_of(d, s.action, s.duplicate, decided, deciding,
                                (berth_deploy_scale)given[0], given[1], &f, &v);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  if (given[1]) set_value(L, &v);
  return 1;
}

const luaL_Reg bl_deploy_value_methods[] = { { "evaluate", evaluate },
                                             { "feedback", feedback },
                                             { "local_costs", local_costs },
                                             { "bound", bound },
                                             { "evaluations", evaluations },
                                             { "repeated", repeated },
                                             { "guard", guard },
                                             { "baselines", baselines },
                                             { "from_placement", from_placement },
                                             { "prove_infeasible", prove_infeasible },
                                             { "features", features },
                                             { NULL, NULL } };
