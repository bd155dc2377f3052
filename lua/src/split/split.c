/* berth.split, berth.split_measure: max load and latency of splits (berth/split.h). The loads of an
 * answer are measured anew from its placement, so that both functions return the same fields. */
#include "base/binding.h"
#include <math.h>

const bl_table bl_split_tables[] = { berth_split_option_table, bl_cost_option, NULL };
const bl_table bl_split_measure_tables[] = {
  berth_split_measure_option_table, bl_cost_option, NULL
};

/* [-0, +1] contiguous is true by default, which latency does not read: only a given one is an
 * error. `cpu` is a string of the caller's table, which stays on the stack at least as long as the
 * call. */
static void read_options(lua_State *L, int t, const bl_where *w, berth_split_options *o) {
  const char *cpu = bl_get_string(L, t, w, "cpu");
  if (cpu) o->cpu = cpu;
  bl_read_options(L, t, w, berth_split_option_table(), o);
  if (o->objective == BERTH_SPLIT_LATENCY && o->contiguous && bl_is_given(L, t, "contiguous"))
    bl_wrong(L, w, "contiguous", "true requires objective = \"max-load\"");
}

/* [-0, +0] Sets fields of the table at the top: loads [devices] in s, missing in bytes. max_load
 * and latency are left out where infinite; over and missing where memory suffices. */
static void set_value(lua_State *L, const berth_split_value *v, int32_t n, const double *loads) {
  bl_set_finite(L, "max_load", v->max_load);
  bl_set_finite(L, "latency", v->latency);
  bl_set_id(L, "busiest", v->busiest);
  bl_set_numbers(L, "loads", n, loads);
  if (v->over == BERTH_NONE) return;
  bl_set_id(L, "over", v->over);
  bl_set_number(L, "missing", v->missing);
}

/* Sets fields of the table at the top: what is proved, and how much was searched. */
static void set_report(lua_State *L, const berth_split_report *r) {
  bl_set_number(L, "bound", r->bound);
  bl_set_bool(L, "proven", r->proven);
  bl_set_bool(L, "contiguous", r->contiguous);
  bl_set_bool(L, "complete", r->complete);
  bl_set_finite(L, "contiguous_load", r->contiguous_load);
  bl_set_count(L, "units", r->units);
  bl_set_count(L, "ideals", r->ideals);
  bl_set_count(L, "visits", r->visits);
}

/* berth.split_measure(cost, placement or devices, options): { max_load, latency, busiest, loads,
 * over, missing }; nil, message, code. */
static int split_measure(lua_State *L) {
  BL_WHERE(w, "berth.split_measure");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  int32_t n = bl_devices(cost);
  berth_split_options o = berth_split_default();
  lua_settop(L, 3);
  int t = bl_option_table(L, 3, &w, bl_split_measure_tables);
  const char *cpu;
  if ((cpu = bl_get_string(L, t, &w, "cpu")) != NULL) o.cpu = cpu;
  const int32_t *device = bl_to_devices(L, 2, cost, &w, "placement");
  double *loads = bl_scratch(L, (size_t)n, sizeof *loads);
  berth_split_value v;
  berth_status st = berth_split_measure(cost, device, &o, loads, &v);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 6);
  set_value(L, &v, n, loads);
  return 1;
}

/* [-0, +1] or nil, message, code. The loads of the answer are measured anew from its placement: the
 * search does not keep them. */
static int push_answer(lua_State *L, berth_cost *cost, const berth_split_options *o, int placement,
                       const berth_split_report *r) {
  int32_t n = bl_devices(cost);
  const bl_placement_box *box = bl_test(L, placement, &bl_placement_class);
  double *loads = bl_scratch(L, (size_t)n, sizeof *loads);
  berth_split_value v;
  berth_status st = berth_split_measure(cost, berth_placement_device(box->placement), o, loads, &v);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 14);
  set_value(L, &v, n, loads);
  set_report(L, r);
  bl_set_string(L, "objective", bl_choice_name(berth_split_option_table(), "objective",
                                               o->objective));
  lua_pushvalue(L, placement);
  lua_setfield(L, -2, "placement");
  return 1;
}

/* berth.split(cost, options): { placement, objective, max_load, loads, bound, proven, ... }; nil,
 * message, code, obstacle. The placement's box holds a reference to the cost while hooks run. */
static int split(lua_State *L) {
  BL_WHERE(w, "berth.split");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  berth_split_options o = berth_split_default();
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 2);
  read_options(L, bl_option_table(L, 2, &w, bl_split_tables), &w, &o);
  bl_placement_box *box = bl_new_placed(L, cost);
  int at = lua_gettop(L);
  bl_call call = bl_enter(L);
  berth_split_report r;
  berth_status st = bl_leave(&call, berth_split_find(cost, &o, &box->placement, &r, &why));
  int n = bl_give_placed(L, at, w.fn, st, &why);
  return st == BERTH_OK ? push_answer(L, cost, &o, at, &r) : n;
}

const luaL_Reg bl_split_functions[] = { { "split", split },
                                        { "split_measure", split_measure },
                                        { NULL, NULL } };
