/* Type "result": what the step simulator has recorded. Arrays become tables at the first access and
 * stay in the anchor of the box: get_NAME pushes anchor[NAME], or what build_NAME makes.
 * A box may hold a lower bound (NaN: none), which the core does not know: simulate() sets it from
 * the cost's box or from what the caller has proved. The cost is in the anchor under "cost". */
#include "result.h"
#include "sim_options.h"
#include <math.h>
#include <string.h>
#include <stdio.h>

BL_RELEASE(release_result, berth_result_release)

static bl_result_box *self_box(lua_State *L, const char *fn) {
  return bl_self(L, &bl_result_class, fn);
}
static berth_result *self(lua_State *L, const char *fn) { return self_box(L, fn)->result; }

/* Sizes of what was simulated. */
static int32_t n_ops(const berth_result *r) {
  return bl_ops(berth_result_cost(r));
}
static int32_t n_devices(const berth_result *r) {
  return bl_devices(berth_result_cost(r));
}
static int32_t n_links(const berth_result *r) {
  return berth_topology_links(berth_cost_topology(berth_result_cost(r)));
}

/* [-0, +1] Without a bound until one is set. The anchor keeps the cost's box for result.cost. */
bl_result_box *bl_new_result(lua_State *L, int cost) {
  bl_result_box *box = bl_new(L, &bl_result_class, sizeof *box);
  box->bound = NAN;
  bl_keep(L, -1, "cost", cost);
  return box;
}

/* Noise and quanta change the times that the bound is made of. A memory bound holds for placements
 * that fit. */
berth_status bl_result_bound(bl_result_box *box, bl_cost_box *cost, const berth_sim_options *o) {
  /* a hook may have closed the cost */
  if (o->noise > 0 || o->quantum > 0 || !cost->cost) return BERTH_OK;
  berth_oom oom;
  berth_bounds b;
  berth_status st =
      bl_bounds(cost, berth_result_oom(box->result, &oom) ? BERTH_MEMORY_NONE : o->memory,
                o->param_multiple, o->links, &b, NULL);
  if (st == BERTH_EINFEASIBLE)
    st = bl_bounds(cost, BERTH_MEMORY_NONE, o->param_multiple, o->links, &b, NULL);
  if (st != BERTH_OK) return st == BERTH_ENOMEM ? st : BERTH_OK;
  box->bound = b.best;
  box->bound_name = b.name;
  return BERTH_OK;
}

/* [-0, +0] A bound that the caller has proved, { best, name } at t, replaces a smaller one. The
 * name is copied: the table may be collected before the result. Where memory ran out no bound
 * holds. */
void bl_result_know(lua_State *L, int t, const bl_where *w, bl_result_box *box) {
  double best = 0;
  bl_get_quantity(L, t, w, "best", BERTH_SECONDS, &best);
  berth_oom oom;
  if (!(best > box->bound) || berth_result_oom(box->result, &oom)) return;
  snprintf(box->given_name, sizeof box->given_name, "%s", bl_get_string(L, t, w, "name"));
  lua_pop(L, 1);
  box->bound = best;
  box->bound_name = box->given_name;
}

/* ---- numbers ---- */

BL_GETTER(get_makespan, lua_pushnumber, berth_result_makespan(self(L, "result.makespan")))

/* Nothing where no bound was computed. */
static int get_bound(lua_State *L) {
  bl_result_box *box = self_box(L, "result.bound");
  if (isnan(box->bound)) return 0;
  lua_pushnumber(L, box->bound);
  return 1;
}

/* result.bound_name: which bound is the largest; nothing without one. */
static int get_bound_name(lua_State *L) {
  bl_result_box *box = self_box(L, "result.bound_name");
  if (!box->bound_name) return 0;
  lua_pushstring(L, box->bound_name);
  return 1;
}

/* makespan / bound - 1; NaN without a bound, 0 if both are 0 */
static double gap_of(const bl_result_box *box) {
  double makespan = berth_result_makespan(box->result);
  if (box->bound <= 0) return makespan > 0 ? NAN : 0;
  return makespan / box->bound - 1;
}

/* Nothing without a bound, and where it is 0. */
static int get_gap(lua_State *L) {
  double gap = gap_of(self_box(L, "result.gap"));
  if (isnan(gap)) return 0;
  lua_pushnumber(L, gap);
  return 1;
}

BL_GETTER(get_memory, lua_pushstring,
          berth_memory_choices()[berth_result_options(self(L, "result.memory"))->memory]->name)

/* result.options: a table with which berth.simulate repeats the run. */
static int get_options(lua_State *L) {
  bl_push_options(L, berth_sim_option_table(), berth_result_options(self(L, "result.options")));
  return 1;
}

static int get_cost(lua_State *L) {
  self(L, "result.cost");
  return bl_kept(L, "cost");
}

/* ---- arrays ---- */

/* get_NAME: what build_NAME pushes, made once. */
#define CACHED(NAME)                                                                              \
  static int get_##NAME(lua_State *L) {                                                           \
    self(L, "result." #NAME);                                                                     \
    return bl_cached(L, 1, #NAME, build_##NAME);                                                  \
  }
#define ARRAY(NAME, COUNT, GET)                                                                   \
  static void build_##NAME(lua_State *L) {                                                        \
    const berth_result *r = self(L, "result." #NAME);                                             \
    bl_push_numbers(L, COUNT(r), GET(r));                                                         \
  }                                                                                               \
  CACHED(NAME)

ARRAY(start, n_ops, berth_result_start)
ARRAY(finish, n_ops, berth_result_finish)
ARRAY(busy, n_devices, berth_result_busy)
ARRAY(peak_memory, n_devices, berth_result_peak)
ARRAY(peak_time, n_devices, berth_result_peak_time)

static void build_device(lua_State *L) {
  const berth_result *r = self(L, "result.device");
  bl_push_ids(L, n_ops(r), berth_result_device(r));
}

CACHED(device)

/* In the order in which they were recorded; times in s. */
void bl_push_transfers(lua_State *L, int32_t n, const berth_transfer *t) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 5);
    bl_set_id(L, "tensor", t[k].tensor);
    bl_set_id(L, "from", t[k].src);
    bl_set_id(L, "to", t[k].dst);
    bl_set_number(L, "start", t[k].start);
    bl_set_number(L, "finish", t[k].finish);
    lua_rawseti(L, -2, k + 1);
  }
}

static void build_transfers(lua_State *L) {
  const berth_transfer *t;
  int32_t n = berth_result_transfers(self(L, "result.transfers"), &t);
  bl_push_transfers(L, n, t);
}

CACHED(transfers)

/* [-0, +1] [links] { bytes, busy, peak_sharing }: bytes that went over it, seconds with a transfer,
 * most transfers at once. The core computes sharing at the first request, and may lack memory for
 * it. */
static void build_links(lua_State *L) {
  const berth_result *r = self(L, "result.links");
  const double *bytes = berth_result_link_bytes(r), *busy = berth_result_link_busy(r);
  const int32_t *sharing = berth_result_link_sharing(r);
  int32_t n = n_links(r);
  if (!sharing) luaL_error(L, "result.links: out of memory");
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 3);
    bl_set_number(L, "bytes", bytes[k]);
    bl_set_number(L, "busy", busy[k]);
    bl_set_count(L, "peak_sharing", sharing[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

CACHED(links)

/* [-0, +1] [collectives] { start, finish, seconds, bytes, last, algorithm, devices }: s, bytes, id
 * of the op that came last, ids of the members' devices. */
static void build_collectives(lua_State *L) {
  const berth_result *r = self(L, "result.collectives");
  const berth_collective_run *c;
  int32_t n = berth_result_collectives(r, &c);
  lua_createtable(L, n, 0);
  const int32_t *devices;
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 7);
    bl_set_number(L, "start", c[k].start);
    bl_set_number(L, "finish", c[k].finish);
    bl_set_number(L, "seconds", c[k].seconds);
    bl_set_number(L, "bytes", c[k].bytes);
    bl_set_id(L, "last", c[k].last);
    bl_set_string(L, "algorithm", berth_collective_algorithm_name(c[k].algorithm));
    int32_t members = berth_result_collective_devices(r, k, &devices);
    bl_set_ids(L, "devices", members, devices);
    lua_rawseti(L, -2, k + 1);
  }
}

CACHED(collectives)

/* [-0, +0] Of device d, or of the step if d is the number of devices. Computed at the first
 * request. */
static const berth_overlap *overlap_of(lua_State *L, const berth_result *r, int32_t d) {
  const berth_overlap *o = berth_result_overlap(r);
  if (!o) luaL_error(L, "result: out of memory");
  return &o[d];
}

static const berth_overlap *overlap_of_step(lua_State *L, const char *fn) {
  const berth_result *r = self(L, fn);
  return overlap_of(L, r, n_devices(r));
}

BL_GETTER(get_communication, lua_pushnumber,
          overlap_of_step(L, "result.communication")->communication)
BL_GETTER(get_exposed, lua_pushnumber, overlap_of_step(L, "result.exposed")->exposed)
BL_GETTER(get_overlapped, lua_pushnumber, overlap_of_step(L, "result.overlapped")->overlapped)

/* [-0, +1] By device: { communication, exposed, overlapped }, s. */
static void build_overlap(lua_State *L) {
  const berth_result *r = self(L, "result.overlap");
  int32_t n = n_devices(r);
  lua_createtable(L, n, 0);
  for (int32_t d = 0; d < n; d++) {
    const berth_overlap *o = overlap_of(L, r, d);
    lua_createtable(L, 0, 3);
    bl_set_number(L, "communication", o->communication);
    bl_set_number(L, "exposed", o->exposed);
    bl_set_number(L, "overlapped", o->overlapped);
    lua_rawseti(L, -2, d + 1);
  }
}

CACHED(overlap)

/* result.oom: the first op that memory ran out at, { op, device, time, shortfall }, s and bytes;
 * nothing: it held. */
static int get_oom(lua_State *L) {
  berth_oom oom;
  if (!berth_result_oom(self(L, "result.oom"), &oom)) return 0;
  lua_createtable(L, 0, 4);
  bl_set_id(L, "op", oom.op);
  bl_set_id(L, "device", oom.device);
  bl_set_number(L, "time", oom.time);
  bl_set_number(L, "shortfall", oom.shortfall);
  return 1;
}

/* ---- methods ---- */

/* result:peak_ops(device): array of { op, bytes } that are held when the device is at its peak. */
static int peak_ops(lua_State *L) {
  BL_WHERE(w, "result:peak_ops");
  const berth_result *r = self(L, w.fn);
  int32_t device = bl_to_id(L, 2, &w, "device", n_devices(r), "device");
  const int32_t *ops;
  const double *bytes;
  int32_t n = berth_result_peak_ops(r, device, &ops, &bytes);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 2);
    bl_set_id(L, "op", ops[k]);
    bl_set_number(L, "bytes", bytes[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* result:memory_timeline(device): array of times in s, array of bytes that are held from then
 * on. */
static int memory_timeline(lua_State *L) {
  BL_WHERE(w, "result:memory_timeline");
  const berth_result *r = self(L, w.fn);
  const double *time, *bytes;
  int32_t n =
      berth_result_memory(r, bl_to_id(L, 2, &w, "device", n_devices(r), "device"), &time, &bytes);
  bl_push_numbers(L, n, time);
  bl_push_numbers(L, n, bytes);
  return 2;
}

/* critical_path(): ids in order of time */
static int critical_path(lua_State *L) {
  const int32_t *ops;
  int32_t n = berth_result_critical(self(L, "result:critical_path"), &ops);
  bl_push_ids(L, n, ops);
  return 1;
}

/* slack(): [ops], how much later an op could end without changing the makespan, s */
static int slack(lua_State *L) {
  const berth_result *r = self(L, "result:slack");
  const double *x = berth_result_slack(r);
  if (!x) return bl_failed(L, BERTH_ENOMEM);
  bl_push_numbers(L, n_ops(r), x);
  return 1;
}

static const luaL_Reg fields[] = { { "makespan", get_makespan },
                                   { "bound", get_bound },
                                   { "bound_name", get_bound_name },
                                   { "gap", get_gap },
                                   { "device", get_device },
                                   { "start", get_start },
                                   { "finish", get_finish },
                                   { "busy", get_busy },
                                   { "peak_memory", get_peak_memory },
                                   { "peak_time", get_peak_time },
                                   { "transfers", get_transfers },
                                   { "links", get_links },
                                   { "oom", get_oom },
                                   { "memory", get_memory },
                                   { "cost", get_cost },
                                   { "options", get_options },
                                   { "collectives", get_collectives },
                                   { "communication", get_communication },
                                   { "exposed", get_exposed },
                                   { "overlapped", get_overlapped },
                                   { "overlap", get_overlap },
                                   { NULL, NULL } };

/* to_table(): every field but the cost, and the critical path, as plain tables */
static int to_table(lua_State *L) {
  self(L, "result:to_table");
  lua_settop(L, 1);
  lua_createtable(L, 0, 22);
  for (const luaL_Reg *p = fields; p->name; p++) {
    if (p->func == get_cost) continue;
    lua_pushcfunction(L, p->func);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_setfield(L, 2, p->name);
  }
  critical_path(L);
  lua_setfield(L, 2, "critical_path");
  return 1;
}

/* ---- one line ---- */

/* [-0, +0] Devices that have ops, also of no time, as the placement counts them. */
static int32_t count_used(lua_State *L, const berth_result *r) {
  const int32_t *device = berth_result_device(r);
  int32_t n_ops = berth_graph_ops(berth_cost_graph(berth_result_cost(r))), used = 0;
  char *seen = bl_scratch(L, (size_t)n_devices(r), 1);
  memset(seen, 0, (size_t)n_devices(r));
  for (int32_t k = 0; k < n_ops; k++) {
    used += !seen[device[k]];
    seen[device[k]] = 1;
  }
  lua_pop(L, 1);
  return used;
}

static void add_devices(luaL_Buffer *b, const berth_result *r, int32_t used) {
  int32_t n = n_devices(r);
  if (used < n && used > 0) {
    bl_add_format(b, " on %d of %d devices", (int)used, (int)n);
  } else {
    bl_add_format(b, " on %d device%s", (int)n, n == 1 ? "" : "s");
  }
}

/* A quantity; in a graph without units the number alone. */
static void add_amount(luaL_Buffer *b, const berth_result *r, double x, berth_unit unit) {
  char text[64];
  if (!berth_graph_unitless(berth_cost_graph(berth_result_cost(r)))) bl_add_quantity(b, x, unit);
  else luaL_addstring(b, berth_number_text(x, 6, text, sizeof text));
}

/* ", bound 3.1 ms (gap 4.2 %)"; a gap below 0 is rounding. */
static void add_bound(luaL_Buffer *b, const bl_result_box *box) {
  double gap = gap_of(box);
  if (isnan(box->bound)) return;
  luaL_addstring(b, ", bound ");
  add_amount(b, box->result, box->bound, BERTH_SECONDS);
  if (!isnan(gap))
    bl_add_format(b, gap < 1e4 ? " (gap %.1f %%)" : " (gap %.3g %%)", 100 * (gap > 0 ? gap : 0));
}

/* Every device has a name; ops may have one. */
static void add_device(luaL_Buffer *b, const berth_result *r, int32_t device) {
  berth_device d;
  if (berth_topology_device(berth_cost_topology(berth_result_cost(r)), device, &d) == BERTH_OK)
    bl_add_name(b, d.name);
}

static void add_op_name(luaL_Buffer *b, const berth_result *r, int32_t op) {
  berth_op o;
  if (berth_graph_op(berth_cost_graph(berth_result_cost(r)), op, &o) != BERTH_OK || !o.name
      || !*o.name)
    return;
  luaL_addstring(b, " \"");
  bl_add_name(b, o.name);
  luaL_addstring(b, "\"");
}

/* The device with the largest peak. */
static void add_peak(luaL_Buffer *b, const berth_result *r) {
  const double *peak = berth_result_peak(r);
  int32_t n = n_devices(r), top = 0;
  for (int32_t d = 1; d < n; d++)
    if (peak[d] > peak[top]) top = d;
  if (n == 0 || !(peak[top] > 0)) return;
  luaL_addstring(b, ", peak ");
  add_amount(b, r, peak[top], BERTH_BYTES);
  luaL_addstring(b, " on ");
  add_device(b, r, top);
}

static void add_oom(luaL_Buffer *b, const berth_result *r) {
  berth_oom oom;
  if (!berth_result_oom(r, &oom)) return;
  luaL_addstring(b, "; out of memory on ");
  add_device(b, r, oom.device);
  bl_add_format(b, " at op %d", (int)oom.op + 1);
  add_op_name(b, r, oom.op);
  luaL_addstring(b, ": ");
  add_amount(b, r, oom.shortfall, BERTH_BYTES);
  luaL_addstring(b, " missing");
}

static int to_string(lua_State *L) {
  const bl_result_box *box = self_box(L, "tostring");
  int32_t used = count_used(L, box->result);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "step time ");
  add_amount(&b, box->result, berth_result_makespan(box->result), BERTH_SECONDS);
  add_devices(&b, box->result, used);
  add_bound(&b, box);
  add_peak(&b, box->result);
  add_oom(&b, box->result);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = {
  { "peak_ops", peak_ops },           { "memory_timeline", memory_timeline },
  { "critical_path", critical_path }, { "slack", slack },
  { "to_table", to_table },           { "save_trace", bl_result_save_trace },
  { "trace", bl_result_trace },       { NULL, NULL }
};
const bl_class bl_result_class = {
  .name = "result", .key = "berth.result", .release = release_result, .methods = methods,
  .fields = fields, .text = to_string
};
