/* Type "placement", and berth.place for one placer. A box holds the placement and the cost it was
 * made for (NULL for one from an array), which gives files their names.
 * While the core places, the cost has a second reference in the box at stack index 4: a policy or a
 * hook may close the cost's own box. After a failure that reference must be dropped by hand,
 * because a box without a placement counts as closed and is not released.
 * Stack of place(): cost, placer, options, box; then the policy's functions and what options
 * need. */
#include "search/search.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A placement that was found holds its cost, one from an array has none. */
static void release_placement(void *box) {
  bl_placement_box *p = box;
  berth_placement_release(p->placement);
  berth_cost_release(p->cost);
}

bl_placement_box *bl_new_placement(lua_State *L) {
  return bl_new(L, &bl_placement_class, sizeof(bl_placement_box));
}

bl_placement_box *bl_new_placed(lua_State *L, berth_cost *cost) {
  bl_placement_box *box = bl_new_placement(L);
  berth_cost_retain(box->cost = cost);
  return box;
}

/* [-0, +1], or nil, message, code, obstacle. The box at `at` gives back its cost on failure. */
int bl_give_placed(lua_State *L, int at, const char *fn, berth_status st,
                   const berth_obstacle *why) {
  if (st != BERTH_OK) {
    bl_placement_box *box = lua_touserdata(L, at);
    berth_cost_release(box->cost);
    box->cost = NULL;
    return bl_refused(L, fn, st) + bl_push_obstacle(L, st, why);
  }
  lua_pushvalue(L, at);
  bl_track(L);
  return 1;
}

/* [-0, +0] Borrowed: valid until the calling function returns, even if the box is closed
 * meanwhile. */
berth_placement *bl_check_placement(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_placement_box *)bl_check(L, i, &bl_placement_class, fn, what))->placement;
}

BL_SELF(self, berth_placement, bl_placement_class)

/* ---- from an array ---- */

BL_OPTIONS(placement,
  BL_OTHER("sequence", "array", "none", "ops in the order in which they are planned to start"),
  BL_OTHER("placer", "string", "none", "name of who made it"),
  BL_ROW("estimate", QUANTITY, "none", "makespan of the plan", .unit = BERTH_SECONDS,
         .high = INFINITY))

/* berth.placement(devices, { sequence, placer, estimate }): placement. Device ids are bounded by
 * INT32_MAX only, because no topology is involved yet. The core copies all arrays. */
static int placement_new(lua_State *L) {
  static const bl_where w = { "berth.placement", NULL, 0 };
  int32_t *sequence = NULL;
  double estimate = NAN;
  lua_settop(L, 2);
  int t = bl_take_options(L, 2, &w, bl_placement_tables, &estimate);
  int32_t n = bl_to_length(L, 1, &w, "devices");
  int32_t *device = bl_to_ids(L, 1, &w, "devices", n, INT32_MAX, "device");
  int32_t m;
  if (bl_get_array(L, t, &w, "sequence", &m))
    sequence = bl_to_ids(L, -1, &w, "sequence", n, n, "op");
  const char *placer = t ? bl_get_string(L, t, &w, "placer") : NULL;
  bl_placement_box *box = bl_new_placement(L);
  berth_status st =
      berth_placement_new(bl_ctx(L), n, device, sequence, placer, estimate, &box->placement);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* [-0, +1] or [-0, +0] Devices by op, 0-based: those of a placement, borrowed, or of an array, in
 * scratch. Device ids of a placement are not compared with m here: the core does that, where an
 * array raises with the position of the entry. */
const int32_t *bl_to_placed(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                            int32_t m) {
  berth_placement *p = NULL;
  if (bl_test(L, i, &bl_placement_class)) p = bl_check_placement(L, i, w->fn, key);
  else if (!lua_istable(L, i))
    bl_wrong(L, w, key, "expected a placement or an array of device ids, got %s%s", bl_kind(L, i),
             lua_isnoneornil(L, i) || lua_type(L, i) == LUA_TSTRING
                 ? ": berth.place(g, t) or berth.load_placement(\"FILE\") gives one" : "");
  int32_t got = p ? berth_placement_ops(p) : bl_to_length(L, i, w, key);
  if (got != n) bl_wrong(L, w, key, "places %d ops, but the graph has %d", (int)got, (int)n);
  return p ? berth_placement_device(p) : bl_to_ids(L, i, w, key, n, m, "device");
}

/* The sizes that bl_to_placed needs, from the cost. */
const int32_t *bl_to_devices(lua_State *L, int i, const berth_cost *cost, const bl_where *w,
                             const char *key) {
  return bl_to_placed(L, i, w, key, bl_ops(cost), bl_devices(cost));
}

/* [-0, +0] For calls in a loop: no scratch, no messages. NULL leaves one value on the stack; the
 * caller then goes through bl_to_devices, which says what is wrong. Reads raw entries only. */
const int32_t *bl_fill_devices(lua_State *L, int i, berth_cost *cost, int32_t *out) {
  int32_t n = bl_ops(cost), m = bl_devices(cost);
  if ((int32_t)lua_rawlen(L, i) != n) return NULL;
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    double x = (double)lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(x >= 1 && x <= m) || x != floor(x)) return NULL;
    out[k] = (int32_t)x - 1;
    lua_pop(L, 1);
  }
  return out;
}

/* ---- reading ---- */

/* placement[op]: device id; nil for any other key, as for a plain array. */
static int get_device(lua_State *L) {
  const berth_placement *p = self(L, "placement[op]");
  double x = (double)lua_tonumber(L, 2);
  if (!(x >= 1 && x <= berth_placement_ops(p)) || x != floor(x)) return 0;
  bl_push_id(L, berth_placement_device(p)[(int32_t)x - 1]);
  return 1;
}

/* placement.placer: its name; nothing for a placement from an array without one. */
static int get_placer(lua_State *L) {
  const char *name = berth_placement_placer(self(L, "placement.placer"));
  if (!*name) return 0;
  lua_pushstring(L, name);
  return 1;
}

/* The placer's own makespan, s; nil: it has none. */
static int get_estimate(lua_State *L) {
  double x = berth_placement_estimate(self(L, "placement.estimate"));
  if (isnan(x)) return 0;
  lua_pushnumber(L, x);
  return 1;
}

/* A lower bound that the placer has proved, s; nil: none. */
static int get_bound(lua_State *L) {
  double x = berth_placement_bound(self(L, "placement.bound"));
  if (isnan(x)) return 0;
  lua_pushnumber(L, x);
  return 1;
}

/* placement.links: the link model that its times are about. A list placer that was given "fair"
 * reports "duplex", which its planned times assume. */
static int get_links(lua_State *L) {
  int32_t links = berth_placement_links(self(L, "placement.links"));
  if (links == BERTH_NONE) return 0;
  lua_pushstring(L, berth_link_choices()[links]->name);
  return 1;
}

/* placement.note: that of its graph, unless a cost function gives its ops times; nil: none. */
static int get_note(lua_State *L) {
  const bl_placement_box *box = bl_check(L, 1, &bl_placement_class, "placement.note", "self");
  berth_graph *g = box->cost ? berth_cost_graph(box->cost) : NULL;
  int32_t first;
  if (!g || berth_graph_untimed(g, &first) == 0 || berth_cost_op(box->cost, first, 0) > 0) return 0;
  return bl_push_graph_note(L, g);
}

/* placement.hint: what the function of placement_hint returns, called at the first access; false is
 * kept for nil. */
static int get_hint(lua_State *L) {
  self(L, "placement.hint");
  bl_kept(L, "hint");
  if (lua_type(L, -1) == LUA_TFUNCTION) {
    lua_call(L, 0, 1);
    if (!lua_toboolean(L, -1)) lua_pushboolean(L, 0);
    bl_keep(L, 1, "hint", lua_gettop(L));
  }
  return lua_toboolean(L, -1);
}

/* placement_hint(placement, function): what placement.hint calls. */
static int set_hint(lua_State *L) {
  bl_check_placement(L, 1, "placement_hint", "placement");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  bl_keep(L, 1, "hint", 2);
  return 0;
}

/* [-0, +1] [ops] planned start, s; only called where there are times. */
static void build_start(lua_State *L) {
  const berth_placement *p = self(L, "placement.start");
  bl_push_numbers(L, berth_placement_ops(p), berth_placement_start(p));
}

/* [-0, +1] [ops] planned finish, s. */
static void build_finish(lua_State *L) {
  const berth_placement *p = self(L, "placement.finish");
  bl_push_numbers(L, berth_placement_ops(p), berth_placement_finish(p));
}

static int get_start(lua_State *L) {
  return berth_placement_start(self(L, "placement.start")) ? bl_cached(L, 1, "start", build_start)
                                                           : 0;
}

/* Nothing unless the placer planned times: tested first, since bl_cached would keep no nil and the
 * core has no array. */
static int get_finish(lua_State *L) {
  return berth_placement_finish(self(L, "placement.finish"))
             ? bl_cached(L, 1, "finish", build_finish)
             : 0;
}

/* placement:devices(): [ops] ids, a fresh table that the caller may change. */
static int devices(lua_State *L) {
  const berth_placement *p = self(L, "placement:devices");
  bl_push_ids(L, berth_placement_ops(p), berth_placement_device(p));
  return 1;
}

/* placement:sequence(): [ops] ids of ops in the order in which the placer planned them; nothing: it
 * has none. */
static int sequence(lua_State *L) {
  const berth_placement *p = self(L, "placement:sequence");
  if (!berth_placement_sequence(p)) return 0;
  bl_push_ids(L, berth_placement_ops(p), berth_placement_sequence(p));
  return 1;
}

BL_GETTER(length, lua_pushinteger, berth_placement_ops(self(L, "#placement")))

/* [-0, +0] Number of different devices; O(ops) time, O(used) memory. `top` skips runs of one device
 * without a look-up. */
static int count_used(lua_State *L, const berth_placement *p) {
  int32_t n = berth_placement_ops(p), top = 0;
  const int32_t *device = berth_placement_device(p);
  int used = 0;
  lua_newtable(L); /* ids can be anything here: a set, not a bitmap */
  for (int32_t k = 0; k < n; k++) {
    if (device[k] == top - 1) continue;
    top = device[k] + 1;
    lua_rawgeti(L, -1, top);
    if (lua_isnil(L, -1)) {
      used++;
      lua_pushboolean(L, 1);
      lua_rawseti(L, -3, top);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return used;
}

static int to_string(lua_State *L) {
  const berth_placement *p = self(L, "tostring");
  double estimate = berth_placement_estimate(p);
  int used = count_used(L, p);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "placement: %d ops on %d device%s", (int)berth_placement_ops(p), used,
                used == 1 ? "" : "s");
  if (!isnan(estimate)) {
    luaL_addstring(&b, ", estimate ");
    bl_add_quantity(&b, estimate, BERTH_SECONDS);
  }
  if (*berth_placement_placer(p)) bl_add_format(&b, " (%s)", berth_placement_placer(p));
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = { { "placer", get_placer },
                                   { "estimate", get_estimate },
                                   { "links", get_links },
                                   { "note", get_note },
                                   { "hint", get_hint },
                                   { "bound", get_bound },
                                   { "start", get_start },
                                   { "finish", get_finish },
                                   { NULL, NULL } };
static const luaL_Reg methods[] = { { "devices", devices },
                                    { "sequence", sequence },
                                    { "save", bl_placement_save },
                                    { "to_string", bl_placement_to_string },
                                    { NULL, NULL } };
const bl_class bl_placement_class = {
  .name = "placement", .key = "berth.placement", .release = release_placement, .methods = methods,
  .fields = fields, .text = to_string, .length = length, .item = get_device
};

/* ---- placing ---- */

int bl_push_obstacle(lua_State *L, berth_status st, const berth_obstacle *why) {
  if (st != BERTH_EINFEASIBLE) return 0;
  lua_createtable(L, 0, 3);
  bl_set_id(L, "op", why->op);
  bl_set_id(L, "device", why->device);
  bl_set_number(L, "missing", why->missing);
  return 1;
}

const bl_table bl_place_tables[] = { berth_place_option_table, bl_cost_option,
                                     berth_search_option_table, NULL };

/* "" is the form without a name. */
static void read_variant(lua_State *L, int t, const bl_where *w, const char *placer,
                         berth_place_options *o) {
  const char *wanted = t ? bl_get_string(L, t, w, "variant") : NULL;
  const berth_placer *p = berth_placer_find(placer);
  char legal[200] = "";
  if (!wanted) return;
  for (const berth_placer_variant *v = p ? p->variants : NULL; v && v->name; v++) {
    size_t n = strlen(legal);
    if (strcmp(v->name, wanted) == 0) o->variant = v->name;
    if (*v->name) snprintf(legal + n, sizeof legal - n, "%s%s", n ? ", " : "", v->name);
  }
  lua_pop(L, 1);
  if (o->variant && strcmp(o->variant, wanted) == 0) return;
  if (!*legal) bl_wrong(L, w, "variant", "%s has no variants (got '%s')", placer, wanted);
  bl_wrong(L, w, "variant", "%s has no variant '%s' (legal: %s)", placer, wanted, legal);
}

/* An array of the favourite child of each op; 0 or false: none. The one at the top of the stack. */
static const int32_t *read_favourite(lua_State *L, const bl_where *w, int32_t n) {
  if ((int32_t)lua_rawlen(L, -1) != n) {
    bl_wrong(L, w, "favourites", "has %d entries, expected %d (one per op)", (int)lua_rawlen(L, -1),
             (int)n);
  }
  int32_t *child = bl_scratch(L, (size_t)n, sizeof *child);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, -2, k + 1);
    child[k] = BERTH_NONE;
    if (lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) != 0
                                       : !lua_isboolean(L, -1) || lua_toboolean(L, -1)) {
      const char *name = lua_pushfstring(L, "favourites[%d]", (int)k + 1);
      child[k] = bl_to_id(L, -2, w, name, n, "op");
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  return child;
}

/* Leaves what it needs on the stack. */
static void read_favourites(lua_State *L, int t, const bl_where *w, int32_t n,
                            berth_place_options *o) {
  const berth_option *option = berth_option_find(berth_place_option_table(), "favourites");
  if (!t) return;
  lua_getfield(L, t, "favourites");
  if (lua_istable(L, -1)) {
    o->favourites = BERTH_FAVOURITES_GIVEN;
    o->favourite = read_favourite(L, w, n);
    return;
  }
  if (lua_isstring(L, -1)) {
    o->favourites = (berth_favourites)bl_to_choice(L, -1, w, "favourites", option->choices);
  } else if (!lua_isnil(L, -1)) {
    bl_wrong(L, w, "favourites", "expected lp, through, none or an array, got %s", bl_kind(L, -1));
  }
  lua_pop(L, 1);
}

/* [-0, +n] The variant sets defaults, which the other options change. */
void bl_place_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                      const char *placer, berth_place_options *o) {
  *o = berth_place_default(berth_cost_graph(cost));
  read_variant(L, t, w, placer, o);
  /* what the published placers count */
  if (strncmp(o->variant, "baechi", 6) == 0) o->memory = BERTH_MEMORY_TOTAL;
  bl_read_options(L, t, w, berth_place_option_table(), o);
  if (t) {
    lua_getfield(L, t, "device");
    if (!lua_isnil(L, -1))
      o->device = bl_to_device(L, -1, w, "device", berth_cost_topology(cost));
    lua_pop(L, 1);
  }
  read_favourites(L, t, w, bl_ops(cost), o);
}

/* The placer at i: its name, or "policy" and the policy read onto the stack. */
static const char *read_placer(lua_State *L, int i, const bl_where *w, bl_policy *policy) {
  if (lua_istable(L, i) || lua_isfunction(L, i)) {
    bl_policy_read(L, i, 1, w, policy);
    return "policy";
  }
  if (lua_type(L, i) != LUA_TSTRING)
    bl_wrong(L, w, "placer", "expected a name or a policy, got %s", bl_kind(L, i));
  const berth_placer *p = berth_placer_find(lua_tostring(L, i));
  if (p && strcmp(p->name, "policy") != 0) return p->name;
  bl_wrong(L, w, "placer", "\"%s\" is unknown; berth.placers() lists the names",
           lua_tostring(L, i));
  return NULL;
}

/* place(cost, placer, options): placement; nil, message, code, obstacle */
static int place(lua_State *L) {
  BL_WHERE(w, "berth.place");
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  bl_policy policy = { 0 };
  bl_search search = { 0 };
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  lua_settop(L, 3);
  int t = bl_option_table(L, 3, &w, bl_place_tables);
  bl_placement_box *box = bl_new_placement(L);
  const char *placer = read_placer(L, 2, &w, &policy);
  berth_place_options o;
  bl_place_options(L, t, &w, cost, placer, &o);
  o.policy = policy.L ? &policy.c : NULL;
  bl_search_read(L, t, &w, cost, placer, &search);
  o.search = &search.o;
  o.search_report = &search.report;
  berth_cost_retain(cost); /* a policy may close it; then it is the placement's */
  box->cost = cost;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_place(cost, placer, &o, &box->placement, &why));
  if (st != BERTH_OK) {
    box->cost = NULL;
    berth_cost_release(cost);
  }
  if (policy.L) bl_policy_done(&policy, w.fn, st);
  bl_search_done(&search, w.fn, st);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st) + bl_push_obstacle(L, st, &why);
  lua_pushvalue(L, 4);
  bl_track(L);
  return 1 + bl_search_interrupted(L, &search);
}

/* Forms of a placer; "" is the one without a name. */
static void push_variants(lua_State *L, const berth_placer_variant *v) {
  lua_newtable(L);
  for (int n = 1; v->name; v++, n++) {
    lua_newtable(L);
    lua_pushstring(L, v->name);
    lua_setfield(L, -2, "name");
    bl_set_string(L, "rule", v->rule);
    bl_set_string(L, "source", v->source);
    bl_set_string(L, "good", v->good);
    bl_set_string(L, "weak", v->weak);
    if (v->own_links) bl_set_bool(L, "own_links", 1);
    lua_rawseti(L, -2, n);
  }
}

/* placers(): array of { name, reads, variants }; the user's own policy has no name */
static int placers(lua_State *L) {
  int n = 0;
  lua_newtable(L);
  for (const berth_placer *const *p = berth_placers(); *p; p++) {
    if (strcmp((*p)->name, "policy") == 0) continue;
    lua_newtable(L);
    bl_set_string(L, "name", (*p)->name);
    bl_set_string(L, "reads", (*p)->reads);
    push_variants(L, (*p)->variants);
    lua_setfield(L, -2, "variants");
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

const luaL_Reg bl_place_functions[] = {
  { "placement", placement_new }, { "placement_hint", set_hint }, { "place", place },
  { "placers", placers }, { NULL, NULL }
};
