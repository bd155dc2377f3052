/* Type "tries": a placement, and its makespan when some of its ops are on other devices
 * (berth_sim_base, berth_sim_try, berth_sim_accept). The cost's box is in the anchor.
 * Calls may nest, one in the hook of another, and a hook may close the object: enter() counts calls
 * and keeps the pointers, leave() of the last call frees what was closed meanwhile. */
#include "sim_options.h"

typedef struct tries_box {
  berth_sim *sim; /* NULL: closed */
  berth_cost *cost;
  bl_hooks *hooks;
  int busy;       /* calls of the core under way, one in the hook of the other: they free what was
                     closed meanwhile */
} tries_box;

static void release_all(berth_sim *sim, berth_cost *cost) {
  berth_sim_release(sim);
  berth_cost_release(cost);
}

static void release_tries(void *p) {
  tries_box *box = p;
  if (box->busy == 0) release_all(box->sim, box->cost);
}

typedef struct tries_call {
  bl_call call;
  tries_box *box;
  berth_sim *sim;
  berth_cost *cost;
} tries_call;

/* Hooks may close the box while the simulator runs: `busy` delays the release. */
static tries_call enter(lua_State *L, tries_box *box) {
  tries_call c = { { NULL, NULL }, box, box->sim, box->cost };
  box->busy++;
  c.call = bl_enter_with(L, box->hooks);
  return c;
}

/* Releases what was closed meanwhile, once no call is left. */
static berth_status leave(const tries_call *c, berth_status st) {
  st = bl_leave(&c->call, st);
  if (--c->box->busy == 0 && !c->box->sim) release_all(c->sim, c->cost);
  return st;
}

static int push_summary(lua_State *L, berth_status st, const berth_sim_summary *s) {
  return st == BERTH_OK ? bl_push_summary(L, s) : bl_failed(L, st);
}

/* [-0, +n] The placement at i becomes what the next tries differ from. It is held, since a hook may
 * close its box. */
static berth_status set_base(lua_State *L, tries_box *box, int i, const bl_where *w,
                             berth_sim_summary *s) {
  bl_placement_box *p = bl_test(L, i, &bl_placement_class);
  const int32_t *device = bl_to_devices(L, i, box->cost, w, "placement");
  berth_placement *held = p ? p->placement : NULL; /* a hook may close it */
  if (held) berth_placement_retain(held);
  tries_call c = enter(L, box);
  berth_status st = leave(&c, berth_sim_base(c.sim, device, s));
  berth_placement_release(held);
  return st;
}

const bl_class bl_tries_class;

/* tries:base(placement): makespan, peak, op; nil, message, code. */
static int base(lua_State *L) {
  BL_WHERE(w, "tries:base");
  tries_box *box = bl_self(L, &bl_tries_class, w.fn);
  berth_sim_summary s;
  berth_status st = set_base(L, box, 2, &w, &s);
  return push_summary(L, st, &s);
}

/* [-0, +0] A table of moves has any keys: #t does not count them. */
static int32_t count_pairs(lua_State *L, int t) {
  int32_t n = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
  return n;
}

/* [-0, +1] { [op] = device, ... } at 2 in scratch: ops first, then devices, 0-based. In the order
 * of pairs, which must not matter: each op occurs once. */
static int32_t read_moves(lua_State *L, const tries_box *box, const bl_where *w, int32_t **out) {
  int32_t n = 0;
  if (!lua_istable(L, 2))
    bl_wrong(L, w, "moves", "expected a table of devices by op, got %s", bl_kind(L, 2));
  int32_t most = count_pairs(L, 2);
  int32_t *op;
  *out = op = bl_scratch(L, 2 * (size_t)most, sizeof *op);
  int top = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, 2) && n < most; lua_pop(L, 1)) {
    op[n] = bl_to_id(L, -2, w, "moves", bl_ops(box->cost), "op");
    op[most + n++] = bl_to_id(L, -1, w, "moves", bl_devices(box->cost), "device");
  }
  /* A finaliser may have run in bl_scratch. */
  if (n != most || lua_gettop(L) > top) bl_wrong(L, w, "moves", "changed while it was read");
  return n;
}

/* tries:try(moves, limit): makespan, peak, op; nil, message, code. Above limit (s) the simulation
 * may stop early. */
static int try_moves(lua_State *L) {
  BL_WHERE(w, "tries:try");
  tries_box *box = bl_self(L, &bl_tries_class, w.fn);
  double limit =
      lua_isnoneornil(L, 3) ? INFINITY : bl_to_quantity(L, 3, &w, "limit", BERTH_SECONDS);
  int32_t *op, n = read_moves(L, box, &w, &op);
  tries_call c = enter(L, box);
  berth_sim_summary s;
  berth_status st = leave(&c, berth_sim_try(c.sim, n, op, op + n, limit, &s));
  return push_summary(L, st, &s);
}

/* accept(): the last try becomes the base */
static int accept(lua_State *L) {
  tries_box *box = bl_self(L, &bl_tries_class, "tries:accept");
  berth_status st = berth_sim_accept(box->sim);
  return bl_done(L, st);
}

/* ended(): how many ends of ops were simulated in all */
static int ended(lua_State *L) {
  tries_box *box = bl_self(L, &bl_tries_class, "tries:ended");
  lua_pushnumber(L, (lua_Number)berth_sim_ended(box->sim));
  return 1;
}

static int to_string(lua_State *L) {
  const tries_box *box = bl_self(L, &bl_tries_class, "tostring");
  return bl_push_format(L, "tries: %d ops on %d devices, %.0f ends simulated",
                        (int)bl_ops(box->cost), (int)bl_devices(box->cost),
                        (double)berth_sim_ended(box->sim));
}

static const luaL_Reg methods[] = {
  { "base", base }, { "try", try_moves }, { "accept", accept }, { "ended", ended }, { NULL, NULL }
};
const bl_class bl_tries_class = {
  .name = "tries", .key = "berth.tries", .release = release_tries, .methods = methods,
  .text = to_string
};

/* berth.tries(graph, topology, placement, options) or (cost, placement, options): object, makespan,
 * peak, op; nil, message, code. */
static int tries(lua_State *L) {
  BL_WHERE(w, "berth.tries");
  lua_settop(L, 4);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 3)) != BERTH_OK) return bl_failed(L, st);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  int t = bl_option_table(L, 3, &w, bl_run_tables);
  berth_sim_options o = bl_sim_options(L, t, &w, cost, NULL);
  tries_box *box = bl_new(L, &bl_tries_class, sizeof *box);
  int at = lua_gettop(L);
  if ((st = berth_sim_new(cost, &o, &box->sim)) != BERTH_OK) return bl_failed(L, st);
  berth_cost_retain(cost);
  box->cost = cost;
  box->hooks = bl_hooks_of(L);
  bl_keep(L, at, "cost", 1);
  berth_sim_summary s;
  if ((st = set_base(L, box, 2, &w, &s)) != BERTH_OK) return bl_failed(L, st);
  lua_pushvalue(L, at);
  bl_track(L);
  return 1 + push_summary(L, st, &s);
}

const luaL_Reg bl_tries_functions[] = { { "tries", tries }, { NULL, NULL } };
