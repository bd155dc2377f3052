/* Types "executor" and "execution": running placements on threads, and the times measured.
 * lua/berth/exec/init.lua builds on them.
 * A hook may close the executor or the placement during a run: `busy` counts calls and the last one
 * frees. Arrays of an execution are copied to scratch before tables are made of them, because
 * making a table may run a finaliser that closes the execution. The cost's box is in the anchor of
 * both. */
#include "sim/sim_options.h"
#include <stdio.h>
#include <string.h>

/* ---- executor ---- */

typedef struct executor_box {
  berth_executor *x; /* NULL: closed */
  berth_cost *cost;
  bl_hooks *hooks;
  int busy;          /* calls of the core under way: the last one frees what was closed meanwhile */
} executor_box;

static void release_all(berth_executor *x, berth_cost *cost) {
  berth_executor_release(x);
  berth_cost_release(cost);
}

/* Called when the box is closed or collected. While a run holds the executor, nothing is freed
 * here: run_held does it, and sees from box->x == NULL that the box was closed. */
static void release_executor(void *p) {
  executor_box *box = p;
  if (box->busy == 0) release_all(box->x, box->cost);
}

/* What allocates in Lua may collect garbage, and a finaliser may close any object: call it again
 * after that. */
static executor_box *self_executor(lua_State *L, const char *fn) {
  return bl_self(L, &bl_executor_class, fn);
}

/* Ops of the executor's graph. */
static int32_t ops_of(const executor_box *box) {
  return bl_ops(box->cost);
}

const bl_table bl_exec_tables[] = { berth_exec_option_table, bl_cost_option, NULL };

/* berth.executor(graph, topology, options) or (cost, options): executor; nil, message, code. The
 * cost is checked again after the box was made. The box's anchor keeps the cost's box, and
 * box->cost has a reference of its own: the finaliser may run after the cost's. */
static int executor(lua_State *L) {
  BL_WHERE(w, "berth.executor");
  berth_exec_options o = berth_exec_default();
  lua_settop(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 2)) != BERTH_OK) return bl_failed(L, st);
  bl_check_cost(L, 1, w.fn, "cost");
  bl_take_options(L, 2, &w, bl_exec_tables, &o);
  executor_box *box = bl_new(L, &bl_executor_class, sizeof *box);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  if ((st = berth_executor_new(cost, &o, &box->x)) != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_cost_retain(box->cost = cost);
  box->hooks = bl_hooks_of(L);
  bl_keep(L, -1, "cost", 1);
  bl_track(L);
  return 1;
}

/* [-0, +0] Runs the executor in the box, which a hook may close meanwhile, and the placement too:
 * both are held over the call, the executor by `busy`, the placement by a reference. All pointers
 * are copied before: closing sets the box's to NULL. */
static berth_status run_held(lua_State *L, executor_box *box, const int32_t *device,
                             int32_t repeats, berth_execution **out) {
  bl_placement_box *p = bl_test(L, 2, &bl_placement_class);
  berth_placement *held = p ? p->placement : NULL;
  berth_executor *x = box->x;
  berth_cost *cost = box->cost;
  if (held) berth_placement_retain(held);
  box->busy++;
  bl_call call = bl_enter_with(L, box->hooks);
  berth_status st = bl_leave(&call, berth_executor_run(x, device, repeats, out));
  if (--box->busy == 0 && !box->x) release_all(x, cost);
  berth_placement_release(held);
  return st;
}

BL_OPTIONS(exec_run, BL_ROW("repeats", WHOLE, "1", "runs; the one of median makespan is returned",
                            .low = 1, .high = 1e6))

/* executor:run(placement or devices, { repeats }): execution; nil, message, code. The new box gets
 * the cost's box from the executor's anchor. self_executor is called anew before each use: what is
 * between may run finalisers. */
static int run(lua_State *L) {
  static const bl_where w = { "executor:run", NULL, 0 };
  int32_t repeats = 1;
  self_executor(L, w.fn);
  lua_settop(L, 3);
  bl_execution_box *r = bl_new(L, &bl_execution_class, sizeof *r);
  compat_getanchor(L, -1);
  compat_getanchor(L, 1);
  lua_getfield(L, -1, "cost");
  lua_setfield(L, -3, "cost");
  lua_pop(L, 2);
  bl_take_options(L, 3, &w, bl_exec_run_tables, &repeats);
  const int32_t *device = bl_to_devices(L, 2, self_executor(L, w.fn)->cost, &w, "placement");
  berth_status st = run_held(L, self_executor(L, w.fn), device, repeats, &r->execution);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_settop(L, 4);
  bl_track(L);
  return 1;
}

/* executor:kernels(): [ops] number of the kernel of each op, from 1; how many kernels there are.
 * Ops with inputs and outputs of the same sizes share one. */
static int kernels(lua_State *L) {
  static const char *const fn = "executor:kernels";
  int32_t n = ops_of(self_executor(L, fn)), *number = bl_scratch(L, (size_t)n, sizeof *number);
  int32_t count = berth_executor_kernels(self_executor(L, fn)->x, number);
  bl_push_ids(L, n, number);
  lua_pushinteger(L, count);
  return 2;
}

BL_GETTER(get_scale, lua_pushnumber, berth_executor_scale(self_executor(L, "executor.scale")->x))
BL_GETTER(get_byte_scale, lua_pushnumber,
          berth_executor_byte_scale(self_executor(L, "executor.byte_scale")->x))
BL_GETTER(get_threads, lua_pushinteger,
          berth_executor_threads(self_executor(L, "executor.threads")->x))

/* The box of the cost that the executor was made with. */
static int executor_cost(lua_State *L) {
  self_executor(L, "executor.cost");
  return bl_kept(L, "cost");
}

static int executor_to_string(lua_State *L) {
  const executor_box *box = self_executor(L, "tostring");
  return bl_push_format(
      L, "executor: %d ops on %d devices, %d threads, scale %.3g",
      (int)ops_of(box), (int)bl_devices(box->cost),
      (int)berth_executor_threads(box->x), berth_executor_scale(box->x));
}

static const luaL_Reg executor_methods[] = { { "run", run },
                                             { "kernels", kernels },
                                             { NULL, NULL } };
static const luaL_Reg executor_fields[] = { { "scale", get_scale },
                                            { "byte_scale", get_byte_scale },
                                            { "threads", get_threads },
                                            { "cost", executor_cost },
                                            { NULL, NULL } };
const bl_class bl_executor_class = {
  .name = "executor", .key = "berth.executor", .release = release_executor,
  .methods = executor_methods, .fields = executor_fields, .text = executor_to_string
};

/* ---- execution ---- */

BL_RELEASE(release_execution, berth_execution_release)

BL_SELF(self, const berth_execution, bl_execution_class)

static int32_t n_ops(const berth_execution *r) {
  return bl_ops(berth_execution_cost(r));
}
static int32_t n_devices(const berth_execution *r) {
  return bl_devices(berth_execution_cost(r));
}

BL_GETTER(get_makespan, lua_pushnumber, berth_execution_makespan(self(L, "execution.makespan")))

/* Id of the first op whose result, or a copy of it, is not that of the run on one thread; nil:
 * none. */
static int get_wrong(lua_State *L) {
  bl_push_id(L, berth_execution_wrong(self(L, "execution.wrong")));
  return 1;
}

BL_GETTER(get_checked, lua_pushboolean,
          berth_execution_checksums(self(L, "execution.checked")) != NULL)

/* The executor's cost box, which run() has put into this anchor, too. */
static int get_cost(lua_State *L) {
  self(L, "execution.cost");
  return bl_kept(L, "cost");
}

/* An array of an execution.  @param n out */
typedef const void *(*part)(const berth_execution *r, int32_t *n);

#define PART(NAME, COUNT, GET)                                                                    \
  static const void *part_##NAME(const berth_execution *r, int32_t *n) {                          \
    *n = COUNT(r);                                                                                \
    return GET(r);                                                                                \
  }
PART(start, n_ops, berth_execution_start)
PART(finish, n_ops, berth_execution_finish)
PART(busy, n_devices, berth_execution_busy)
PART(device, n_ops, berth_execution_device)
PART(turns, n_ops, berth_execution_turns)

static const void *part_times(const berth_execution *r, int32_t *n) {
  return berth_execution_times(r, n);
}

static const void *part_transfers(const berth_execution *r, int32_t *n) {
  const berth_transfer *t;
  *n = berth_execution_transfers(r, &t);
  return t;
}

/* None where results are not checked. */
static const void *part_checksums(const berth_execution *r, int32_t *n) {
  const uint64_t *sums = berth_execution_checksums(r);
  *n = sums ? n_ops(r) : 0;
  return sums;
}

/* [-0, +1] A copy in scratch: a finaliser may close the execution while tables are made of it. The
 * part is fetched twice, because making the scratch may run one; self() raises if it was closed. */
static void *copied(lua_State *L, const char *fn, part of, size_t size, int32_t *n) {
  of(self(L, fn), n);
  void *copy = bl_scratch(L, (size_t)*n, size);
  const void *from = of(self(L, fn), n);
  if (*n > 0) memcpy(copy, from, (size_t)*n * size);
  return copy;
}

#define NUMBERS(NAME)                                                                             \
  static void build_##NAME(lua_State *L) {                                                        \
    int32_t n;                                                                                    \
    const double *x = copied(L, "execution." #NAME, part_##NAME, sizeof *x, &n);                  \
    bl_push_numbers(L, n, x);                                                                     \
    lua_remove(L, -2);                                                                            \
  }
NUMBERS(times)
NUMBERS(start)
NUMBERS(finish)
NUMBERS(busy)

/* [-0, +1] The scratch of copied() is below the answer and goes. */
static void build_device(lua_State *L) {
  int32_t n;
  const int32_t *device = copied(L, "execution.device", part_device, sizeof *device, &n);
  bl_push_ids(L, n, device);
  lua_remove(L, -2);
}

/* [-0, +1] Array of { tensor, from, to, start, finish }, times in s. */
static void build_transfers(lua_State *L) {
  int32_t n;
  const berth_transfer *t = copied(L, "execution.transfers", part_transfers, sizeof *t, &n);
  bl_push_transfers(L, n, t);
  lua_remove(L, -2);
}

/* [-0, +1] [ops] { ready, start, finish }: numbers of the turns in which each op became ready,
 * started and finished, 64 bits in the core. */
static void build_turns(lua_State *L) {
  int32_t n;
  const berth_exec_turns *x = copied(L, "execution.turns", part_turns, sizeof *x, &n);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 3);
    bl_set_count(L, "ready", (double)x[k].ready);
    bl_set_count(L, "start", (double)x[k].start);
    bl_set_count(L, "finish", (double)x[k].finish);
    lua_rawseti(L, -2, k + 1);
  }
  lua_remove(L, -2);
}

/* [-0, +1] [ops] 16 hexadecimal digits each, as strings: 64 bits do not fit a LuaJIT number. Two
 * halves of 32 bits, which an `unsigned long` holds on every platform. */
static void build_checksums(lua_State *L) {
  int32_t n;
  const uint64_t *sums = copied(L, "execution.checksums", part_checksums, sizeof *sums, &n);
  lua_createtable(L, n, 0);
  char text[20];
  for (int32_t k = 0; k < n; k++) {
    snprintf(text, sizeof text, "%08lx%08lx", (unsigned long)(sums[k] >> 32),
             (unsigned long)(sums[k] & 0xffffffffu));
    lua_pushstring(L, text);
    lua_rawseti(L, -2, k + 1);
  }
  lua_remove(L, -2);
}

#define ARRAY(NAME)                                                                               \
  static int get_##NAME(lua_State *L) {                                                           \
    self(L, "execution." #NAME);                                                                  \
    return bl_cached(L, 1, #NAME, build_##NAME);                                                  \
  }
ARRAY(times)
ARRAY(start)
ARRAY(finish)
ARRAY(busy)
ARRAY(device)
ARRAY(transfers)
ARRAY(turns)
ARRAY(checksums)

/* [-0, +1] One line. luaL_Buffer may leave pieces on the stack: between its calls nothing is read
 * by relative index. */
static int to_string(lua_State *L) {
  const berth_execution *r = self(L, "tostring");
  int32_t n, wrong = berth_execution_wrong(r);
  berth_execution_times(r, &n);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "execution: ");
  bl_add_quantity(&b, berth_execution_makespan(r), BERTH_SECONDS);
  bl_add_format(&b, " on %d devices", (int)n_devices(r));
  if (n > 1) bl_add_format(&b, ", median of %d", (int)n);
  if (wrong != BERTH_NONE) bl_add_format(&b, ", op %d is wrong", (int)wrong + 1);
  else
    luaL_addstring(&b,
                   berth_execution_checksums(r) ? ", results checked" : ", results not checked");
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = { { "makespan", get_makespan },
                                   { "times", get_times },
                                   { "start", get_start },
                                   { "finish", get_finish },
                                   { "busy", get_busy },
                                   { "device", get_device },
                                   { "transfers", get_transfers },
                                   { "turns", get_turns },
                                   { "checksums", get_checksums },
                                   { "wrong", get_wrong },
                                   { "checked", get_checked },
                                   { "cost", get_cost },
                                   { NULL, NULL } };
static const luaL_Reg methods[] = { { "save_trace", bl_execution_save_trace },
                                    { "trace", bl_execution_trace },
                                    { NULL, NULL } };
const bl_class bl_execution_class = {
  .name = "execution", .key = "berth.execution", .release = release_execution, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_exec_functions[] = { { "executor", executor }, { NULL, NULL } };
