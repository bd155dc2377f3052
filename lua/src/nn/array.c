/* Type "array": making, reading and writing. Recorded operations are in elements.c, products.c and
 * rows.c.
 * Arrays are made by the thousand and Lua does not see their memory: bl_give collects garbage when
 * the core holds twice what was left by the last collection. One bl_nn per Lua state, in the
 * registry, holds that threshold and the tape that records. */
#include "nn.h"

enum { FIRST_GARBAGE = 16 << 20 }; /* bytes */

static const char nn_key = 0; /* its address is a registry key */

static void release_nn(void *nn) { berth_ctx_release(((bl_nn *)nn)->ctx); }
static const bl_class nn_class = {
  .name = "learning", .key = "berth.learning", .release = release_nn, .light = true
};

/* [-0, +0] One per state, in the registry. It holds the context, which arrays outlive. */
static bl_nn *make_nn(lua_State *L) {
  bl_register(L, &nn_class);
  bl_nn *nn = bl_new_light(L, &nn_class, sizeof *nn);
  berth_ctx_retain(nn->ctx = bl_ctx(L));
  nn->threshold = FIRST_GARBAGE;
  lua_pushlightuserdata(L, (void *)&nn_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return nn;
}

bl_nn *bl_nn_of(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&nn_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  bl_nn *nn = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (nn && !nn->ctx) bl_error(L, "berth.nn: its Lua state is closing");
  return nn ? nn : make_nn(L);
}

static void release_array(void *p) {
  bl_array_box *box = p;
  berth_array_release(box->array);
  box->data = NULL;
  box->size = 0;
}

/* ---- boxes ---- */

bl_array_box *bl_new_array(lua_State *L) {
  bl_array_box *box = bl_new_light(L, &bl_array_class, sizeof *box);
  box->nn = bl_nn_of(L);
  return box;
}

/* [-n, +n+1] The arguments are at 1 to n afterwards, the result's box at n + 1. First of all,
 * because nothing may allocate between checking an argument and using it. */
bl_array_box *bl_result(lua_State *L, int n) {
  lua_settop(L, n);
  return bl_new_array(L);
}

/* [-0, +1] Made before the array at 1 is checked: with the reference the numbers stay even if a
 * finaliser closes the array while a table is filled. */
bl_array_box *bl_hold_array(lua_State *L, const char *fn) {
  bl_array_box *own = bl_new_array(L), *a = bl_check_array(L, 1, fn, "self");
  berth_array_retain(own->array = a->array);
  own->data = a->data;
  own->size = a->size;
  return own;
}

bl_array_box *bl_check_array(lua_State *L, int i, const char *fn, const char *what) {
  return bl_check(L, i, &bl_array_class, fn, what);
}

bl_array_box *bl_opt_array(lua_State *L, int i, const char *fn, const char *what) {
  return lua_isnoneornil(L, i) ? NULL : bl_check_array(L, i, fn, what);
}

/* [-0, +0] Operations have no result of the kind nil, message, code: every failure raises.
 * bl_failed raises for the first two, which carry an error value of the user's. */
void bl_must(lua_State *L, berth_status st) {
  if (st == BERTH_OK) return;
  if (st == BERTH_ECALLBACK || st == BERTH_EINTERRUPT) bl_failed(L, st);
  bl_push_message(L, st);
  bl_error(L, "%s", lua_tostring(L, -1));
}

/* The core's memory is not seen by Lua: its garbage is collected when as much has come as there
 * was, or as Lua itself holds. */
static void collect(lua_State *L, bl_nn *nn) {
  lua_gc(L, LUA_GCCOLLECT, 0);
  size_t held = berth_ctx_memory(nn->ctx);
  size_t own = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;
  if (own < FIRST_GARBAGE) own = FIRST_GARBAGE;
  nn->threshold = held + (held > own ? held : own);
}

/* [-0, +0] The box at the top is the result; raises for its failed operation. May collect garbage:
 * nothing that was checked before may be used behind it. */
int bl_give(lua_State *L, bl_array_box *box, berth_status st) {
  bl_must(L, st);
  box->data = berth_array_data(box->array);
  box->size = berth_array_size(box->array);
  if (berth_ctx_memory(box->nn->ctx) >= box->nn->threshold) collect(L, box->nn);
  return 1;
}

bl_array_box *bl_push_zeros(lua_State *L, int32_t rank, const int32_t *shape) {
  bl_array_box *box = bl_new_array(L);
  bl_give(L, box, berth_array_new(box->nn->ctx, rank, shape, &box->array));
  return box;
}

/* ---- arguments ---- */

/* [-0, +0] Rank of the shape at i, its extents into shape; rest: one extent may be -1, the caller
 * computes it. */
int32_t bl_to_shape(lua_State *L, int i, const bl_where *w, const char *key, bool rest,
                    int32_t shape[BERTH_NN_RANK]) {
  int32_t n = bl_to_length(L, i, w, key), open = 0;
  if (n < 1 || n > BERTH_NN_RANK)
    bl_wrong(L, w, key, "has %d extents, expected 1 to %d", (int)n, BERTH_NN_RANK);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    shape[k] = (int32_t)bl_to_whole(L, -1, w, key, rest ? -1 : 0, INT32_MAX);
    lua_pop(L, 1);
    if (shape[k] < 0 && open++) bl_wrong(L, w, key, "has -1 twice");
  }
  return n;
}

/* [-0, +0] Axes count from 1 in Lua. */
int32_t bl_to_axis(lua_State *L, int i, const bl_where *w, const berth_array *a) {
  return (int32_t)bl_to_whole(L, i, w, "axis", 1, berth_array_rank(a)) - 1;
}

double bl_opt_number(lua_State *L, int i, const bl_where *w, const char *key, double otherwise) {
  return lua_isnoneornil(L, i) ? otherwise : bl_to_number(L, i, w, key);
}

/* ---- making ---- */

/* zeros(shape): array of zeros. Unlike elsewhere in the binding, what fails is raised. */
static int zeros(lua_State *L) {
  BL_WHERE(w, "berth.nn.zeros");
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(L, 1, &w, "shape", false, shape);
  bl_push_zeros(L, rank, shape);
  return 1;
}

static void fill_with(bl_array_box *a, float x) {
  for (int64_t i = 0; i < a->size; i++) a->data[i] = x;
}

/* full(shape, value): array, every number the value as float32. */
static int full(lua_State *L) {
  BL_WHERE(w, "berth.nn.full");
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(L, 1, &w, "shape", false, shape);
  double x = bl_to_number(L, 2, &w, "value");
  fill_with(bl_push_zeros(L, rank, shape), (float)x);
  return 1;
}

/* Checked first, as the first argument, and again when nothing allocates any more. */
static berth_rng *check_rng(lua_State *L, const char *fn) {
  return ((bl_box *)bl_check(L, 1, &bl_rng_class, fn, "rng"))->object;
}

/* uniform(rng, shape, low = 0, high = 1): array; the generator advances, number by number in the
 * order of memory, so that the numbers are the same in both interpreters. */
static int uniform(lua_State *L) {
  BL_WHERE(w, "berth.nn.uniform");
  berth_rng *rng = check_rng(L, w.fn);
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(L, 2, &w, "shape", false, shape);
  double low = bl_opt_number(L, 3, &w, "low", 0), high = bl_opt_number(L, 4, &w, "high", 1);
  bl_array_box *a = bl_push_zeros(L, rank, shape);
  rng = check_rng(L, w.fn);
  for (int64_t i = 0; i < a->size; i++)
    a->data[i] = (float)(low + (high - low) * berth_rng_uniform(rng));
  return 1;
}

/* normal(rng, shape): array, mean 0, standard deviation 1. The generator is checked again: making
 * the array may collect garbage, and a finaliser may close it. */
static int normal(lua_State *L) {
  BL_WHERE(w, "berth.nn.normal");
  berth_rng *rng = check_rng(L, w.fn);
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(L, 2, &w, "shape", false, shape);
  bl_array_box *a = bl_push_zeros(L, rank, shape);
  rng = check_rng(L, w.fn);
  for (int64_t i = 0; i < a->size; i++) a->data[i] = (float)berth_rng_normal(rng);
  return 1;
}

/* ---- fields and meta ---- */

/* array.shape: [rank] extents, a fresh table at each access. */
static int get_shape(lua_State *L) {
  const bl_array_box *a = bl_hold_array(L, "array.shape");
  int32_t rank = berth_array_rank(a->array);
  lua_createtable(L, rank, 0);
  for (int32_t k = 0; k < rank; k++) {
    lua_pushinteger(L, berth_array_shape(a->array)[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

BL_GETTER(get_rank, lua_pushinteger,
          berth_array_rank(bl_check_array(L, 1, "array.rank", "self")->array))
BL_GETTER(get_size, lua_pushinteger, (lua_Integer)bl_check_array(L, 1, "array.size", "self")->size)
BL_GETTER(length, lua_pushinteger,
          berth_array_shape(bl_check_array(L, 1, "#array", "self")->array)[0])

/* "array 2 x 3: 1 2 3 ...": the first eight numbers, in the order of memory. */
static int to_string(lua_State *L) {
  enum { SHOWN = 8 };
  const bl_array_box *a = bl_check_array(L, 1, "tostring", "self");
  int32_t rank = berth_array_rank(a->array);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "array");
  for (int32_t k = 0; k < rank; k++)
    bl_add_format(&b, k ? " x %d" : " %d", (int)berth_array_shape(a->array)[k]);
  for (int32_t k = 0; k < a->size && k < SHOWN; k++)
    bl_add_format(&b, k ? " %.6g" : ": %.6g", (double)a->data[k]);
  if (a->size > SHOWN) luaL_addstring(&b, " ...");
  luaL_pushresult(&b);
  return 1;
}

const luaL_Reg bl_nn_array_functions[] = { { "nn_array", bl_nn_array }, { "nn_zeros", zeros },
                                           { "nn_full", full },         { "nn_uniform", uniform },
                                           { "nn_normal", normal },     { NULL, NULL } };
static const luaL_Reg fields[] = {
  { "shape", get_shape }, { "rank", get_rank }, { "size", get_size }, { NULL, NULL }
};
static const luaL_Reg *const further[] = { bl_nn_product_methods, bl_nn_row_methods, NULL };
const bl_class bl_array_class = {.name = "array",
                                 .key = "berth.array",
                                 .release = release_array,
                                 .methods = bl_nn_value_methods,
                                 .more_methods = bl_nn_element_methods,
                                 .fields = fields,
                                 .text = to_string,
                                 .length = length,
                                 .light = true,
                                 .meta = bl_nn_arithmetic,
                                 .further_methods = further};
