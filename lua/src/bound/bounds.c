/* Lower bounds of the makespan, and the guarantees of placers. The cheap bounds of a cost are kept
 * in its box, keyed by memory, multiple and links: simulating again and again prices them once.
 * Others are computed anew. Each bound and its source: berth/bound.h. */
#include "base/binding.h"
#include <math.h>

/* The cheap bounds depend on graph, topology and these three only: they are computed once per
 * box, since each simulation prints its gap to them. */
berth_status bl_bounds(bl_cost_box *box, berth_memory_policy memory, double multiple,
                       berth_links links, berth_bounds *out, berth_obstacle *why) {
  berth_bounds_options o = berth_bounds_default(NULL);
  if (!box->has_bounds || box->bounds_memory != memory || box->bounds_multiple != multiple
      || box->bounds_links != links) {
    box->has_bounds = false;
    o.memory = memory;
    o.param_multiple = multiple;
    o.links = links;
    berth_status st;
    if ((st = berth_bounds_compute(box->cost, &o, &box->bounds, why)) != BERTH_OK) return st;
    box->has_bounds = true;
    box->bounds_memory = memory;
    box->bounds_multiple = multiple;
    box->bounds_links = links;
  }
  *out = box->bounds;
  return BERTH_OK;
}

/* ---- options ---- */

typedef struct bounds_call {
  berth_bounds_options bounds;
  berth_guarantee_options proved;
} bounds_call;

BL_OWN_OPTIONS(own_options,
  BL_OTHER("makespan", "result or seconds", "none", "to be compared with the bounds"),
  BL_OTHER("place", "table", "none", "the placer's links, tau and gap, for the guarantees"))
const bl_table bl_bounds_tables[] = {
  berth_bounds_option_table, own_options, bl_cost_option, NULL
};

/* [-0, +0] The options that the placer is given: place = { links, tau, gap }. A bl_where of its own
 * makes messages name the inner table. */
static void read_placer(lua_State *L, int t, const bl_where *w, berth_guarantee_options *o) {
  BL_WHERE(inner, "berth.bounds: place");
  static const bl_table tables[] = { berth_guarantee_option_table, NULL };
  if (!t) return;
  lua_getfield(L, t, "place");
  if (!lua_isnil(L, -1)) {
    bl_need_table(L, -1, w, "place");
    bl_read_options(L, bl_option_table(L, lua_gettop(L), &inner, tables), &inner, tables[0](), o);
  }
  lua_pop(L, 1);
}

/* [-0, +n] The proofs hold for the memory that the bounds assume: memory and multiple are copied.
 * makespan may be a result or a number; the Lua module turns a result into its seconds. */
static void read_call(lua_State *L, int t, const bl_where *w,
                       const berth_graph *g, bounds_call *a) {
  a->bounds = berth_bounds_default(g);
  a->proved = berth_guarantee_default(g);
  bl_read_options(L, t, w, berth_bounds_option_table(), &a->bounds);
  if (a->bounds.thorough && a->bounds.effort > 0) bl_wrong(L, w, "effort", "excludes thorough");
  if (!a->bounds.thorough && !(a->bounds.effort > 0) && bl_is_given(L, t, "gap"))
    bl_wrong(L, w, "gap", "requires thorough or effort");
  bl_get_quantity(L, t, w, "makespan", BERTH_SECONDS, &a->proved.makespan);
  if (isinf(a->proved.makespan)) bl_wrong(L, w, "makespan", "is infinite");
  read_placer(L, t, w, &a->proved);
  a->proved.memory = a->bounds.memory;
  a->proved.param_multiple = a->bounds.param_multiple;
}

/* [-0, +0] Cheap bounds are taken from the box, others are computed. @param cost that of the
 * box, retained by the caller, for a hook may close the box meanwhile */
static berth_status compute(bl_cost_box *box, berth_cost *cost, bounds_call *a, berth_bounds *b,
                            berth_guarantees *k, berth_obstacle *why) {
  berth_status st;
  if (!a->bounds.thorough && !(a->bounds.effort > 0)) {
    st = bl_bounds(box, a->bounds.memory, a->bounds.param_multiple, a->bounds.links, b, why);
  } else {
    st = berth_bounds_compute(cost, &a->bounds, b, why);
  }
  if (st != BERTH_OK) return st;
  a->proved.best = b->best;
  return berth_guarantees_compute(cost, &a->proved, k);
}

/* ---- answers ---- */

/* [-0, +1] Without ratio or limit where there is none. */
static void push_guarantee(lua_State *L, const berth_guarantee *k) {
  lua_createtable(L, 0, 6);
  bl_set_string(L, "name", k->name);
  bl_set_string(L, "placers", k->placers);
  bl_set_finite(L, "ratio", k->ratio);
  bl_set_finite(L, "limit", k->limit);
  bl_set_bool(L, "valid", k->valid);
  bl_set_string(L, "why", k->why);
}

/* [-0, +1] All that are known, also those that do not hold here. */
static void push_guarantees(lua_State *L, const berth_guarantees *k) {
  lua_createtable(L, BERTH_GUARANTEES, 0);
  for (int i = 0; i < BERTH_GUARANTEES; i++) {
    push_guarantee(L, &k->of[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* [-0, +1] Times in s; a bound that was not computed is left out. */
static void push_answer(lua_State *L, const berth_bounds *b, const berth_guarantees *k) {
  lua_createtable(L, 0, 16);
  bl_set_number(L, "critical_path", b->critical_path);
  bl_set_finite(L, "transfers", b->transfers);
  bl_set_finite(L, "lp", b->lp);
  bl_set_number(L, "work", b->work);
  bl_set_number(L, "memory", b->memory);
  bl_set_finite(L, "clusters", b->clusters);
  bl_set_finite(L, "intervals", b->intervals);
  bl_set_finite(L, "link_cut", b->link_cut);
  bl_set_number(L, "best", b->best);
  bl_set_string(L, "name", b->name);
  bl_set_string(L, "level", b->level);
  bl_set_number(L, "rho", k->rho);
  bl_set_number(L, "path_rho", k->path_rho);
  bl_set_count(L, "closed", k->closed);
  if (!isnan(k->achieved)) bl_set_number(L, "achieved", k->achieved);
  push_guarantees(L, k);
  lua_setfield(L, -2, "guarantees");
}

/* berth.bounds(graph, topology, options) or (cost, options): { critical_path, work, best, name,
 * ..., guarantees }, s; nil, message, code, obstacle. An infeasible problem has no bound. */
int bl_bounds_table(lua_State *L) {
  BL_WHERE(w, "berth.bounds");
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 2)) != BERTH_OK) return bl_failed(L, st);
  int t = bl_option_table(L, 2, &w, bl_bounds_tables);
  bl_cost_box *box = bl_check(L, 1, &bl_cost_class, w.fn, "cost");
  bounds_call a;
  read_call(L, t, &w, berth_cost_graph(box->cost), &a);
  berth_cost *cost = box->cost;
  berth_cost_retain(cost);
  bl_call call = bl_enter(L);
  berth_bounds b;
  berth_guarantees k;
  st = bl_leave(&call, compute(box, cost, &a, &b, &k, &why));
  berth_cost_release(cost);
  if (st != BERTH_OK) return bl_failed(L, st) + bl_push_obstacle(L, st, &why);
  push_answer(L, &b, &k);
  return 1;
}
