/* Type "pacml planner": a network that scores the states that decisions lead to, and rollouts on it
 * (berth/pacml.h). Weights are one flat array. Random numbers come from the caller's rng box, which
 * advances. */
#include "pacml.h"

BL_RELEASE(release_ahead, berth_pacml_ahead_release)
/* The planner's box: `models` says how many models its traces may name. */
static bl_pacml_ahead_box *self(lua_State *L, const char *fn) {
  return bl_self(L, &bl_pacml_ahead_class, fn);
}

/* [-0, +n] A time, or { least, most }, s. A missing gap raises, as nil is no quantity. */
static void read_gap(lua_State *L, int t, const bl_where *w, berth_pacml_process *p) {
  lua_getfield(L, t, "gap");
  if (lua_istable(L, -1)) {
    int at = lua_gettop(L);
    lua_rawgeti(L, at, 1);
    p->gap_least = bl_to_quantity(L, -1, w, "gap", BERTH_SECONDS);
    lua_rawgeti(L, at, 2);
    p->gap_most = bl_to_quantity(L, -1, w, "gap", BERTH_SECONDS);
  } else {
    p->gap_least = p->gap_most = bl_to_quantity(L, -1, w, "gap", BERTH_SECONDS);
  }
}

/* [-0, +2] Numbers [n] in scratch, above the array; *n -1: sets it. NULL is never returned. */
static const double *read_column(lua_State *L, int t, const bl_where *w, const char *key,
                                 int32_t *n) {
  int32_t found;
  if (!bl_get_array(L, t, w, key, &found)) bl_wrong(L, w, key, "expected an array, got nil");
  if (*n >= 0 && found != *n)
    bl_wrong(L, w, key, "has %d numbers, expected %d", (int)found, (int)*n);
  *n = found;
  return bl_to_numbers(L, lua_gettop(L), w, key, found, "beta");
}

typedef struct design {
  int32_t hidden, blocks;
  double discount;
} design;

BL_OPTIONS(pacml_planner,
  BL_ROW("hidden", WHOLE, "16", "units of the hidden layer of the value", .low = 1, .high = 1024),
  BL_ROW("blocks", WHOLE, "3", "blocks of servers that are compared", .low = 1, .high = 8,
         .offset = offsetof(design, blocks)),
  BL_OTHER("discount", "number", "0.97", "of the value, from 0 to 1"),
  BL_OTHER("gap", "seconds or array", "none; must be given",
           "time between arrivals, or { least, most }"),
  BL_OTHER("beta", "array", "none; must be given", "shares of its time that a job may take"),
  BL_OTHER("mass", "array", "none; must be given", "probability of each"))

/* pacml_planner(env, { hidden, blocks, discount, gap, beta, mass }): planner; nil, message, code.
 * The core copies beta and mass; `models` is what traces of its methods are checked against. */
static int planner(lua_State *L) {
  static const bl_where w = { "berth.pacml.planner", NULL, 0 };
  bl_pacml_box *env = bl_check(L, 1, &bl_pacml_class, w.fn, "env");
  berth_pacml_process p = { .n = -1 };
  design d = { 16, 3, 0.97 };
  lua_settop(L, 2);
  int t = bl_take_options(L, 2, &w, bl_pacml_planner_tables, &d);
  if (t == 0) bl_wrong(L, &w, "options", "expected a table");
  bl_get_number(L, t, &w, "discount", &d.discount);
  read_gap(L, t, &w, &p);
  p.beta = read_column(L, t, &w, "beta", &p.n);
  p.mass = read_column(L, t, &w, "mass", &p.n);
  bl_pacml_ahead_box *box = bl_new(L, &bl_pacml_ahead_class, sizeof *box);
  box->models = env->models;
  berth_status st =
      berth_pacml_ahead_new(env->pacml, d.hidden, d.blocks, d.discount, &p, &box->ahead);
  return st == BERTH_OK ? 1 : bl_refused(L, w.fn, st);
}

BL_GETTER(inputs, lua_pushinteger, berth_pacml_ahead_inputs(self(L, "pacml planner.inputs")->ahead))
BL_GETTER(weights, lua_pushinteger,
          berth_pacml_ahead_weights(self(L, "pacml planner.weights")->ahead))

/* pacml planner:set(weights): itself, with [weights] numbers in the order of get(). */
static int set(lua_State *L) {
  BL_WHERE(w, "pacml planner:set");
  berth_pacml_ahead *a = self(L, w.fn)->ahead;
  berth_status st = berth_pacml_ahead_set(a, bl_to_numbers(L, 2, &w, "weights",
                                                           berth_pacml_ahead_weights(a), "weight"));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_settop(L, 1);
  return 1;
}

/* pacml planner:draw(rng, n): trace { model, beta, arrival } of n jobs; the generator advances. */
static int draw(lua_State *L) {
  BL_WHERE(w, "pacml planner:draw");
  berth_pacml_ahead *a = self(L, w.fn)->ahead;
  bl_box *rng = bl_check(L, 2, &bl_rng_class, w.fn, "rng");
  int32_t n = (int32_t)bl_to_whole(L, 3, &w, "jobs", 0, 1e8);
  berth_pacml_job *jobs = bl_scratch(L, (size_t)n, sizeof *jobs);
  berth_pacml_ahead_draw(a, rng->object, n, jobs);
  bl_push_trace(L, n, jobs);
  return 1;
}

/* pacml planner:simulate(trace): how many jobs the network turns away; nil, message, code. The
 * weights stay as they are. */
static int simulate(lua_State *L) {
  BL_WHERE(w, "pacml planner:simulate");
  bl_pacml_ahead_box *box = self(L, w.fn);
  int32_t n, blocked = 0;
  const berth_pacml_job *jobs = bl_to_trace(L, 2, &w, box->models, &n);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_pacml_ahead_play(box->ahead, n, jobs, &blocked));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushinteger(L, blocked);
  return 1;
}

const bl_table bl_pacml_learn_tables[] = { berth_pacml_learn_option_table, NULL };
const bl_table bl_pacml_ahead_tables[] = { berth_pacml_ahead_option_table, NULL };

/* pacml planner:learn(rng, { jobs, rate, explore, trace }): share of the jobs that were turned away
 * on the way; nil, message, code. Weights change in place, so nothing is returned of them. */
static int learn(lua_State *L) {
  BL_WHERE(w, "pacml planner:learn");
  bl_pacml_ahead_box *box = self(L, w.fn);
  bl_box *rng = bl_check(L, 2, &bl_rng_class, w.fn, "rng");
  berth_pacml_learn_options o = berth_pacml_learn_default();
  double blocked = 0;
  lua_settop(L, 3);
  bl_take_options(L, 3, &w, bl_pacml_learn_tables, &o);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_pacml_ahead_learn(box->ahead, &o, rng->object, &blocked));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, blocked);
  return 1;
}

/* pacml planner:get(): [weights] numbers, a copy. */
static int get(lua_State *L) {
  const berth_pacml_ahead *a = self(L, "pacml planner:get")->ahead;
  int32_t n = berth_pacml_ahead_weights(a);
  double *w = bl_scratch(L, (size_t)n, sizeof *w);
  berth_pacml_ahead_get(a, w);
  bl_push_numbers(L, n, w);
  return 1;
}

/* pacml planner:decide(run, { futures, depth, seed, reject, rules, horizon }): decision, block: ids
 * of servers, nil: the first that fits; nil, message, code. The caller decides: the run goes on
 * only with run:decide. */
static int decide(lua_State *L) {
  BL_WHERE(w, "pacml planner:decide");
  bl_pacml_ahead_box *box = self(L, w.fn);
  bl_pacml_run_box *run = bl_check(L, 2, &bl_pacml_run_class, w.fn, "run");
  berth_pacml_ahead_options o = berth_pacml_ahead_default();
  int32_t decision = 0, n = 0;
  lua_settop(L, 3);
  bl_take_options(L, 3, &w, bl_pacml_ahead_tables, &o);
  int32_t *block = bl_scratch(L, (size_t)run->servers, sizeof *block);
  bl_call call = bl_enter(L);
  berth_status st =
      bl_leave(&call, berth_pacml_ahead_decide(box->ahead, run->run, &o, &decision, &n, block));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushinteger(L, decision);
  if (n == 0) lua_pushnil(L);
  else bl_push_ids(L, n, block);
  return 2;
}

static int to_string(lua_State *L) {
  const berth_pacml_ahead *a = self(L, "tostring")->ahead;
  lua_pushfstring(L, "pacml planner: %d weights", (int)berth_pacml_ahead_weights(a));
  return 1;
}

/* Raises with the new name of the method `play`. */
static int moved(lua_State *L) {
  return bl_error(L, "planner:play: the name is planner:simulate now");
}

static const luaL_Reg methods[] = { { "set", set },           { "draw", draw },
                                    { "get", get },           { "play", moved },
                                    { "simulate", simulate }, { "learn", learn },
                                    { "decide", decide },     { NULL, NULL } };
static const luaL_Reg fields[] = { { "inputs", inputs }, { "weights", weights }, { NULL, NULL } };
const bl_class bl_pacml_ahead_class = {
  .name = "pacml planner", .key = "berth.pacml_planner", .release = release_ahead,
  .methods = methods, .fields = fields, .text = to_string
};

const luaL_Reg bl_pacml_ahead_functions[] = { { "pacml_planner", planner }, { NULL, NULL } };
