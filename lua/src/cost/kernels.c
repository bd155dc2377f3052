/* Type "kernels": times of kernels and collectives on one GPU (berth/cost.h). The constants are in
 * the box; `open` points to them, NULL when closed. */
#include "base/binding.h"
#include <berth/cost.h>

typedef struct kernels_box {
  berth_kernels *open; /* &state */
  berth_kernels state;
} kernels_box;

static void release_kernels(void *box) { (void)box; }

BL_SELF(self, const berth_kernels, bl_kernels_class)

const bl_table bl_kernels_tables[] = { berth_kernels_option_table, NULL };
const bl_table bl_kernels_attention_tables[] = { berth_attention_option_table, NULL };

/* [-0, +0] The device of a preset's name, or, for "", of the options at t. */
static berth_status read_gpu(lua_State *L, const bl_where *w, int t, berth_device *d) {
  const char *name = bl_to_string(L, 1, w, "gpu");
  *d = berth_device_default();
  berth_status st = *name ? berth_device_preset(bl_ctx(L), name, d) : BERTH_OK;
  if (st != BERTH_OK || *name) return st;
  bl_get_quantity(L, t, w, "flops", BERTH_FLOP_PER_SECOND, &d->flops);
  bl_get_quantity(L, t, w, "memory_bandwidth", BERTH_BYTES_PER_SECOND, &d->memory_bandwidth);
  return BERTH_OK;
}

/* kernels(gpu, dtype, options): kernels. */
static int kernels_new(lua_State *L) {
  BL_WHERE(w, "berth.kernels");
  lua_settop(L, 3);
  int t = bl_option_table(L, 3, &w, bl_kernels_tables);
  const char *dtype = lua_isnil(L, 2) ? NULL : bl_to_string(L, 2, &w, "dtype");
  berth_device d;
  berth_kernels k;
  berth_status st = read_gpu(L, &w, t, &d);
  if (st == BERTH_OK) st = berth_kernels_of(bl_ctx(L), &d, dtype, &k);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_read_options(L, t, &w, berth_kernels_option_table(), &k);
  kernels_box *box = bl_new(L, &bl_kernels_class, sizeof *box);
  box->state = k;
  box->open = &box->state;
  return 1;
}

/* [-0, +1] Seconds, which are NaN for arguments that no check here refuses. */
static int push_seconds(lua_State *L, const bl_where *w, double s) {
  if (!(s >= 0)) return bl_wrong(L, w, "arguments", "have no time");
  lua_pushnumber(L, s);
  return 1;
}

/* kernels:gemm(m, n, k): s */
static int gemm(lua_State *L) {
  static const char *const names[] = { "m", "n", "k" };
  BL_WHERE(w, "kernels:gemm");
  const berth_kernels *k = self(L, w.fn);
  double x[3];
  for (int i = 0; i < 3; i++) x[i] = bl_to_whole(L, i + 2, &w, names[i], 0, BL_MOST_WHOLE);
  return push_seconds(L, &w, berth_kernel_gemm(k, x[0], x[1], x[2]));
}

/* kernels:attention { seq, heads, head_size, ... }: s */
static int attention(lua_State *L) {
  BL_WHERE(w, "kernels:attention");
  const berth_kernels *k = self(L, w.fn);
  berth_attention a = { .batch = 1 };
  bl_take_options(L, 2, &w, bl_kernels_attention_tables, &a);
  if (!(a.seq > 0)) bl_wrong(L, &w, "seq", "is missing");
  if (!(a.heads > 0)) bl_wrong(L, &w, "heads", "is missing");
  if (!(a.head_size > 0)) bl_wrong(L, &w, "head_size", "is missing");
  return push_seconds(L, &w, berth_kernel_attention(k, &a));
}

/* kernels:shape(shape, bytes): s; as a graph's op has it */
static int shape(lua_State *L) {
  BL_WHERE(w, "kernels:shape");
  const berth_kernels *k = self(L, w.fn);
  berth_shape s;
  bl_to_op_shape(L, 2, &w, &s);
  double bytes = lua_isnoneornil(L, 3) ? 0 : bl_to_quantity(L, 3, &w, "bytes", BERTH_BYTES);
  return push_seconds(L, &w, berth_kernel_shape(k, &s, bytes));
}

/* kernels:elementwise(bytes): s */
static int elementwise(lua_State *L) {
  BL_WHERE(w, "kernels:elementwise");
  const berth_kernels *k = self(L, w.fn);
  double bytes = bl_to_quantity(L, 2, &w, "bytes", BERTH_BYTES);
  return push_seconds(L, &w, berth_kernel_elementwise(k, bytes));
}

/* kernels:work(flop, bytes, kind): s */
static int work(lua_State *L) {
  BL_WHERE(w, "kernels:work");
  const berth_kernels *k = self(L, w.fn);
  double flop = bl_to_quantity(L, 2, &w, "flop", BERTH_FLOP);
  double bytes = bl_to_quantity(L, 3, &w, "bytes", BERTH_BYTES);
  const char *kind = lua_isnoneornil(L, 4) ? NULL : bl_to_string(L, 4, &w, "kind");
  return push_seconds(L, &w, berth_kernel_work(k, kind, flop, bytes));
}

/* kernels:collective(kind, bytes, gpus, machines, nic): s */
static int collective(lua_State *L) {
  static const char *const names[] = { "allreduce", "allgather", "reducescatter", "alltoall",
                                       NULL };
  static const berth_collective_kind kinds[] = { BERTH_ALLREDUCE, BERTH_ALLGATHER,
                                                 BERTH_REDUCESCATTER, BERTH_ALLTOALL };
  BL_WHERE(w, "kernels:collective");
  const berth_kernels *k = self(L, w.fn);
  int kind = bl_to_enum(L, 2, &w, "kind", names);
  double bytes = bl_to_quantity(L, 3, &w, "bytes", BERTH_BYTES), nic = 0;
  double n = bl_to_whole(L, 4, &w, "gpus", 1, INT32_MAX);
  double machines = bl_opt_whole(L, 5, &w, "machines", 1, 1, n);
  if (machines > 1) nic = bl_to_quantity(L, 6, &w, "nic", BERTH_BYTES_PER_SECOND);
  if (machines > 1 && nic == 0) bl_wrong(L, &w, "nic", "is 0 bytes/s");
  return push_seconds(L, &w, berth_kernel_collective(k, kinds[kind], bytes, (int32_t)n,
                                                     (int32_t)machines, nic));
}

/* kernels:p2p(bytes, nic): s; nic nil: inside the machine */
static int p2p(lua_State *L) {
  BL_WHERE(w, "kernels:p2p");
  const berth_kernels *k = self(L, w.fn);
  double bytes = bl_to_quantity(L, 2, &w, "bytes", BERTH_BYTES), nic = 0;
  if (!lua_isnoneornil(L, 3)) nic = bl_to_quantity(L, 3, &w, "nic", BERTH_BYTES_PER_SECOND);
  return push_seconds(L, &w, berth_kernel_p2p(k, bytes, nic));
}

/* ---- what they are ---- */

BL_GETTER(get_gpu, lua_pushstring, self(L, "kernels.gpu")->gpu)
BL_GETTER(get_arithmetic, lua_pushstring, self(L, "kernels.arithmetic")->arithmetic)
BL_GETTER(get_constants, lua_pushstring, self(L, "kernels.constants")->constants)
BL_GETTER(get_source, lua_pushstring, self(L, "kernels.source")->source)
BL_GETTER(get_fitted, lua_pushboolean, self(L, "kernels.fitted")->fitted)
BL_GETTER(get_flops, lua_pushnumber, self(L, "kernels.flops")->flops)
BL_GETTER(get_bandwidth, lua_pushnumber, self(L, "kernels.memory_bandwidth")->memory_bandwidth)
BL_GETTER(get_fabric, lua_pushnumber, self(L, "kernels.fabric")->fabric)
BL_GETTER(get_sms, lua_pushnumber, self(L, "kernels.sms")->sms)

static int to_string(lua_State *L) {
  const berth_kernels *k = self(L, "tostring");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "kernels: %s%s%s, peak ", k->gpu, *k->gpu ? " " : "", k->arithmetic);
  bl_add_quantity(&b, k->flops, BERTH_FLOP_PER_SECOND);
  bl_add_format(&b, k->fitted ? ", constants fitted to %s" : ", constants of %s, not fitted to it",
                k->constants);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = { { "gpu", get_gpu },
                                   { "arithmetic", get_arithmetic },
                                   { "constants", get_constants },
                                   { "source", get_source },
                                   { "fitted", get_fitted },
                                   { "flops", get_flops },
                                   { "memory_bandwidth", get_bandwidth },
                                   { "fabric", get_fabric },
                                   { "sms", get_sms },
                                   { NULL, NULL } };
static const luaL_Reg methods[] = { { "gemm", gemm },
                                    { "attention", attention },
                                    { "shape", shape },
                                    { "elementwise", elementwise },
                                    { "work", work },
                                    { "collective", collective },
                                    { "p2p", p2p },
                                    { NULL, NULL } };
const bl_class bl_kernels_class = {
  .name = "kernels", .key = "berth.kernels", .release = release_kernels, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_kernels_functions[] = { { "kernels", kernels_new }, { NULL, NULL } };
