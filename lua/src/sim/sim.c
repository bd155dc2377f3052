/* Running the step simulator: once (simulate), for many placements on threads (simulate_batch), and
 * again and again without allocation (simulator).
 * The function that berth.simulator returns is a closure with two upvalues, the runner's box and
 * scratch for [ops] device ids. It may be called again from a hook of its own run: `busy` counts
 * calls, and only the outermost uses the scratch. */
#include "result.h"
#include "sim_options.h"

/* [-0, +1] where the option `bound` is a table, which stays at *known; else [-0, +0]. Its fields
 * are checked before the simulation, and read after it. */
static bool read_bound(lua_State *L, int t, const bl_where *w, int *known) {
  BL_WHERE(inner, "berth.simulate: bound");
  double best = 0;
  int yes = 1;
  *known = 0;
  if (!t) return true;
  lua_getfield(L, t, "bound");
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    bl_get_bool(L, t, w, "bound", &yes);
    return yes != 0;
  }
  *known = lua_gettop(L);
  bl_need(L, bl_get_quantity(L, *known, &inner, "best", BERTH_SECONDS, &best), &inner, "best");
  bl_need(L, bl_get_string(L, *known, &inner, "name"), &inner, "name");
  lua_pop(L, 1);
  return true;
}

/* berth.simulate(graph, topology, placement or devices, options) or (cost, placement, options):
 * result; nil, message, code. Running out of memory is a result. The placement is retained: a hook
 * may close it; the cost stays at 1, and lingers if it is closed. */
static int simulate(lua_State *L) {
  BL_WHERE(w, "berth.simulate");
  lua_settop(L, 4);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 3)) != BERTH_OK) return bl_failed(L, st);
  bl_cost_box *cost = bl_check(L, 1, &bl_cost_class, w.fn, "cost");
  int t = bl_option_table(L, 3, &w, bl_sim_tables);
  const int32_t *device = bl_to_devices(L, 2, cost->cost, &w, "placement");
  bl_placement_box *p = bl_test(L, 2, &bl_placement_class);
  berth_sim_options o = bl_sim_options(L, t, &w, cost->cost, p ? p->placement : NULL);
  int known;
  bool bound = read_bound(L, t, &w, &known);
  bl_result_box *box = bl_new_result(L, 1);
  berth_placement *held = p ? p->placement : NULL; /* a hook may close it */
  if (held) berth_placement_retain(held);
  bl_call call = bl_enter(L);
  st = bl_leave(&call, berth_simulate(cost->cost, device, &o, &box->result));
  berth_placement_release(held);
  if (st != BERTH_OK) return bl_failed(L, st);
  if (bound && (st = bl_result_bound(box, cost, &o)) != BERTH_OK) return bl_failed(L, st);
  if (known) bl_result_know(L, known, &w, box);
  bl_track(L);
  return 1;
}

/* ---- many ---- */

/* [-0, +0] Raises unless there is an array. */
static int32_t count_placements(lua_State *L, int i, const bl_where *w) {
  if (!lua_istable(L, i))
    bl_wrong(L, w, "placements", "expected an array of placements, got %s", bl_kind(L, i));
  return bl_to_length(L, i, w, "placements");
}

/* [-0, +1] Rows of devices of the k placements in the array at i, in scratch. Copied into one
 * matrix, as the core's threads read it while Lua's objects may change. */
static int32_t *read_rows(lua_State *L, int i, int32_t k, berth_cost *cost, const char *fn) {
  size_t n = (size_t)bl_ops(cost);
  int32_t *rows = bl_scratch(L, (size_t)k * n, sizeof *rows);
  int top = lua_gettop(L);
  for (int32_t row = 0; row < k; row++) {
    bl_where w = { fn, "placements", row + 1 };
    lua_rawgeti(L, i, row + 1);
    const int32_t *device = bl_to_devices(L, lua_gettop(L), cost, &w, "devices");
    for (size_t j = 0; j < n; j++) rows[(size_t)row * n + j] = device[j];
    lua_settop(L, top);
  }
  return rows;
}

/* [-0, +3] [placements]: makespans in s, peaks in bytes, ids of the ops at which memory ran out
 * (false: it held, since nil would make a hole). */
static int push_summaries(lua_State *L, int32_t k, const berth_sim_summary *s) {
  lua_createtable(L, k, 0);
  lua_createtable(L, k, 0);
  lua_createtable(L, k, 0);
  for (int32_t i = 0; i < k; i++) {
    lua_pushnumber(L, s[i].makespan);
    lua_rawseti(L, -4, i + 1);
    lua_pushnumber(L, s[i].peak);
    lua_rawseti(L, -3, i + 1);
    if (s[i].oom_op == BERTH_NONE) {
      lua_pushboolean(L, 0);
    } else {
      bl_push_id(L, s[i].oom_op);
    }
    lua_rawseti(L, -2, i + 1);
  }
  return 3;
}

/* berth.simulate_batch(graph, topology, placements, options) or (cost, placements, options): three
 * arrays; nil, message, code. 0 threads: one per core. Lua runs on the calling thread only. */
static int simulate_batch(lua_State *L) {
  BL_WHERE(w, "berth.simulate_batch");
  int32_t threads = 0;
  lua_settop(L, 4);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 3)) != BERTH_OK) return bl_failed(L, st);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  int t = bl_option_table(L, 3, &w, bl_batch_tables);
  int32_t k = count_placements(L, 2, &w);
  int32_t *rows = read_rows(L, 2, k, cost, w.fn);
  berth_sim_options o = bl_sim_options(L, t, &w, cost, NULL);
  bl_get_whole(L, t, &w, "threads", 0, 4096, &threads);
  berth_sim_summary *out = bl_scratch(L, (size_t)k, sizeof *out);
  bl_call call = bl_enter(L);
  st = bl_leave(&call, berth_sim_batch(cost, &o, k, rows, threads, out));
  if (st != BERTH_OK) return bl_failed(L, st);
  return push_summaries(L, k, out);
}

/* ---- again and again ---- */

typedef struct runner_box {
  berth_sim *sim;
  berth_cost *cost;
  bl_hooks *hooks;
  int busy; /* calls under way: the scratch belongs to the outermost */
} runner_box;

/* The simulator reads the cost until it is gone. */
static void release_runner(void *box) {
  runner_box *r = box;
  berth_sim_release(r->sim);
  berth_cost_release(r->cost);
}
static const bl_class runner_class = {
  .name = "simulator", .key = "berth.simulator", .release = release_runner
};

/* The function that berth.simulator gives: (placement or devices) -> makespan, peak, op. Upvalues:
 * the runner, scratch for device ids. Allocates nothing for an array of legal ids; all else goes
 * through bl_to_devices, which has the messages. */
static int run(lua_State *L) {
  BL_WHERE(w, "simulator");
  runner_box *r = lua_touserdata(L, lua_upvalueindex(1));
  int32_t *scratch = lua_touserdata(L, lua_upvalueindex(2));
  bl_placement_box *p = bl_test(L, 1, &bl_placement_class);
  berth_placement *held = p ? p->placement : NULL;
  const int32_t *device = NULL;
  if (lua_istable(L, 1) && r->busy == 0) device = bl_fill_devices(L, 1, r->cost, scratch);
  if (!device) device = bl_to_devices(L, 1, r->cost, &w, "placement");
  if (held) berth_placement_retain(held); /* a hook may close it */
  r->busy++;
  bl_call call = bl_enter_with(L, r->hooks);
  berth_sim_summary s;
  berth_status st = bl_leave(&call, berth_sim_run(r->sim, device, &s));
  r->busy--;
  berth_placement_release(held);
  if (st != BERTH_OK) return bl_failed(L, st);
  return bl_push_summary(L, &s);
}

int bl_push_summary(lua_State *L, const berth_sim_summary *s) {
  lua_pushnumber(L, s->makespan);
  lua_pushnumber(L, s->peak);
  if (s->oom_op == BERTH_NONE) return 2;
  bl_push_id(L, s->oom_op);
  return 3;
}

/* berth.simulator(graph, topology, options) or (cost, options): function placement -> makespan in
 * s, peak in bytes, op that ran out of memory or nothing; nil, message, code. */
static int simulator(lua_State *L) {
  BL_WHERE(w, "berth.simulator");
  lua_settop(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 2)) != BERTH_OK) return bl_failed(L, st);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  int t = bl_option_table(L, 2, &w, bl_run_tables);
  berth_sim_options o = bl_sim_options(L, t, &w, cost, NULL);
  bl_register(L, &runner_class);
  runner_box *r = bl_new(L, &runner_class, sizeof *r);
  if ((st = berth_sim_new(cost, &o, &r->sim)) != BERTH_OK) return bl_failed(L, st);
  berth_cost_retain(cost);
  r->cost = cost;
  r->hooks = bl_hooks_of(L);
  bl_keep(L, -1, "cost", 1);
  bl_scratch(L, (size_t)bl_ops(cost), sizeof(int32_t));
  bl_push_closure(L, run, 2);
  bl_track(L);
  return 1;
}

const luaL_Reg bl_sim_functions[] = { { "simulate", simulate },
                                      { "simulate_batch", simulate_batch },
                                      { "simulator", simulator },
                                      { NULL, NULL } };
