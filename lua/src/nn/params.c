/* Type "parameters": named arrays that are trained and saved. p.name is an array of the parameters:
 * its box is made once and kept in the anchor under the name, beside which fields and methods are
 * looked up; names of these are refused. */
#include "nn.h"
#include <math.h>
#include <string.h>

BL_RELEASE(release_params, berth_params_release)

static bl_params_box *self(lua_State *L, const char *fn) {
  return bl_self(L, &bl_parameters_class, fn);
}

BL_OPTIONS(parameters, BL_ROW("seed", SEED, "1", "of the random start of arrays"))

/* parameters{ seed }: object */
static int params_new(lua_State *L) {
  static const bl_where w = { "berth.nn.parameters", NULL, 0 };
  uint64_t seed = 1;
  bl_take_options(L, 1, &w, bl_parameters_tables, &seed);
  bl_params_box *box = bl_new(L, &bl_parameters_class, sizeof *box);
  berth_rng_init(&box->rng, seed, 0);
  bl_must(L, berth_params_new(bl_ctx(L), &box->params));
  return 1;
}

/* ---- adding and finding ---- */

typedef struct start {
  berth_nn_init init;
  double value; /* where none is given; NaN: one must be */
} start;

static const char *const start_names[] = { "zeros",  "constant", "uniform",    "normal",
                                           "xavier", "he",       "orthogonal", NULL };
static const start starts[] = {
  { BERTH_NN_ZEROS, 0 },    { BERTH_NN_CONSTANT, NAN }, { BERTH_NN_UNIFORM, NAN },
  { BERTH_NN_NORMAL, NAN }, { BERTH_NN_XAVIER, 1 },     { BERTH_NN_HE, 1 },
  { BERTH_NN_ORTHOGONAL, 1 }
};

static const start *find_start(lua_State *L, int i, const bl_where *w) {
  return &starts[bl_to_enum(L, i, w, "init", start_names)];
}

/* [-0, +0] "name", or { "name", value }, at i. A value that has no default must be given. */
static const start *to_start(lua_State *L, int i, const bl_where *w, double *value) {
  const start *s;
  if (!lua_istable(L, i)) {
    s = find_start(L, i, w);
    *value = s->value;
  } else {
    lua_rawgeti(L, i, 1);
    s = find_start(L, lua_gettop(L), w);
    lua_rawgeti(L, i, 2);
    *value = bl_opt_number(L, lua_gettop(L), w, "init[2]", s->value);
    lua_pop(L, 2);
  }
  if (isnan(*value)) {
    const char *name = start_names[s - starts];
    bl_wrong(L, w, "init", "'%s' needs a number: { \"%s\", number }", name, name);
  }
  return s;
}

/* [-0, +n] Array i, called as the string at 2 says, as one box, at the top: made once and kept in
 * the anchor, so that p.name gives the same object each time. The box holds a reference: it stays
 * valid when the parameters are closed. */
static int push_kept(lua_State *L, const char *fn, int32_t i) {
  compat_getanchor(L, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  if (!lua_isnil(L, -1)) return 1;
  lua_pop(L, 1);
  bl_array_box *out = bl_new_array(L);
  berth_array_retain(out->array = berth_params_array(self(L, fn)->params, i));
  bl_give(L, out, BERTH_OK);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, -4);
  return 1;
}

/* A name that a field or method has could not be read. */
static void check_free(lua_State *L, const bl_where *w, const char *name) {
  const luaL_Reg *const lists[] = { bl_parameters_class.methods, bl_parameters_class.fields };
  for (size_t k = 0; k < 2; k++) {
    for (const luaL_Reg *r = lists[k]; r->name; r++)
      if (strcmp(r->name, name) == 0)
        bl_wrong(L, w, "name", "'%s' is a method or field of parameters", name);
  }
  if (strcmp(name, "close") == 0)
    bl_wrong(L, w, "name", "'close' is a method or field of parameters");
}

/* parameters:add(name, shape, init): array. "zeros" by default. Random starts advance the generator
 * of the parameters, so that the order of calls matters, not what runs between. */
static int add(lua_State *L) {
  BL_WHERE(w, "parameters:add");
  bl_params_box *box = self(L, w.fn);
  double value = 0;
  berth_nn_init init = BERTH_NN_ZEROS;
  const char *name = bl_to_string(L, 2, &w, "name");
  check_free(L, &w, name);
  int32_t shape[BERTH_NN_RANK];
  int32_t rank = bl_to_shape(L, 3, &w, "shape", false, shape);
  if (!lua_isnoneornil(L, 4)) init = to_start(L, 4, &w, &value)->init;
  berth_array *a;
  bl_must(L, berth_params_add(box->params, name, rank, shape, init, value, &box->rng, &a));
  return push_kept(L, w.fn, berth_params_count(box->params) - 1);
}

/* __index: a parameter of that name, else what index_box of base/box.c has under it (upvalue 1). */
static int find(lua_State *L) {
  const bl_params_box *box = bl_test(L, 1, &bl_parameters_class);
  if (box && box->params && lua_type(L, 2) == LUA_TSTRING) {
    int32_t i = berth_params_find(box->params, lua_tostring(L, 2));
    if (i != BERTH_NONE) return push_kept(L, "parameters", i);
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* [-0, +0] Wraps the __index that bl_register has set: after the classes are registered. */
void bl_params_register(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&bl_parameters_class);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_getfield(L, -1, "__index");
  bl_push_closure(L, find, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

/* names(): array, in the order of add() */
static int names(lua_State *L) {
  /* a finaliser may close the other one */
  bl_params_box *own = bl_new(L, &bl_parameters_class, sizeof *own);
  berth_params_retain(own->params = self(L, "parameters:names")->params);
  int32_t n = berth_params_count(own->params);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_pushstring(L, berth_params_name(own->params, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- gradients and flat views ---- */

/* [-0, +1] The gradient itself, not a copy: it changes with the next step. */
static int gradient(lua_State *L) {
  BL_WHERE(w, "parameters:gradient");
  bl_array_box *out = bl_result(L, 2);
  const bl_params_box *box = self(L, w.fn);
  int32_t i = BERTH_NONE;
  if (lua_type(L, 2) != LUA_TSTRING)
    bl_wrong(L, &w, "name", "expected a string, got %s", bl_kind(L, 2));
  if ((i = berth_params_find(box->params, lua_tostring(L, 2))) == BERTH_NONE)
    bl_wrong(L, &w, "name", "there is no parameter '%s'", lua_tostring(L, 2));
  berth_array_retain(out->array = berth_params_gradient(box->params, i));
  return bl_give(L, out, BERTH_OK);
}

static int zero_gradients(lua_State *L) {
  berth_params_zero_gradients(self(L, "parameters:zero_gradients")->params);
  return 0;
}

/* clip(norm): scales all gradients down to that norm; gives the norm before */
static int clip(lua_State *L) {
  BL_WHERE(w, "parameters:clip");
  bl_params_box *box = self(L, w.fn);
  double norm = 0;
  bl_must(L, berth_params_clip(box->params, bl_to_number(L, 2, &w, "norm"), &norm));
  lua_pushnumber(L, norm);
  return 1;
}

/* [-0, +0] 0: values, 1: gradients. */
static int to_half(lua_State *L, const bl_where *w) {
  static const char *const halves[] = { "values", "gradients", NULL };
  return bl_to_enum(L, 2, w, "which", halves);
}

/* parameters:flat("values" | "gradients"): array [size], a copy, in the order of add(). */
static int flat(lua_State *L) {
  BL_WHERE(w, "parameters:flat");
  bl_array_box *out = bl_result(L, 2);
  const bl_params_box *box = self(L, w.fn);
  int gradients = to_half(L, &w);
  int64_t size = berth_params_size(box->params);
  if (size > INT32_MAX) bl_wrong(L, &w, "self", "has too many numbers");
  int32_t shape[1];
  shape[0] = (int32_t)size;
  berth_status st = berth_array_new(out->nn->ctx, 1, shape, &out->array);
  if (st == BERTH_OK) berth_params_get(box->params, gradients, berth_array_data(out->array));
  return bl_give(L, out, st);
}

/* parameters:set_flat("values" | "gradients", array): nothing; the inverse. */
static int set_flat(lua_State *L) {
  BL_WHERE(w, "parameters:set_flat");
  bl_params_box *box = self(L, w.fn);
  int gradients = to_half(L, &w);
  const bl_array_box *a = bl_check_array(L, 3, w.fn, "array");
  if (a->size != berth_params_size(box->params))
    bl_wrong(L, &w, "array", "has %.0f numbers, expected %.0f", (double)a->size,
             (double)berth_params_size(box->params));
  berth_params_set(box->params, gradients, a->data);
  return 0;
}

BL_GETTER(length, lua_pushinteger, berth_params_count(self(L, "#parameters")->params))
BL_GETTER(size, lua_pushinteger, (lua_Integer)berth_params_size(self(L, "parameters.size")->params))

/* Three digits from 10,000 on. */
static void add_count(luaL_Buffer *b, double n) {
  if (n < 1e4) {
    bl_add_format(b, "%.0f", n);
  } else if (n < 1e6) {
    bl_add_format(b, "%.3g k", n / 1e3);
  } else {
    bl_add_format(b, "%.3g M", n / 1e6);
  }
}

static int params_string(lua_State *L) {
  const bl_params_box *box = self(L, "tostring");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "parameters: %d arrays, ", (int)berth_params_count(box->params));
  add_count(&b, (double)berth_params_size(box->params));
  luaL_addstring(&b, " numbers");
  luaL_pushresult(&b);
  return 1;
}

/* ---- tables ---- */

static const luaL_Reg params_methods[] = { { "add", add },
                                           { "names", names },
                                           { "gradient", gradient },
                                           { "zero_gradients", zero_gradients },
                                           { "clip", clip },
                                           { "flat", flat },
                                           { "set_flat", set_flat },
                                           { "save", bl_params_save },
                                           { "load", bl_params_load },
                                           { NULL, NULL } };
static const luaL_Reg params_fields[] = { { "size", size }, { NULL, NULL } };
const bl_class bl_parameters_class = {
  .name = "parameters", .key = "berth.parameters", .release = release_params,
  .methods = params_methods, .fields = params_fields, .text = params_string, .length = length
};

const luaL_Reg bl_nn_params_functions[] = { { "nn_parameters", params_new }, { NULL, NULL } };
