/* Type "array": operations element by element, reductions and shapes, recorded by the current tape.
 * Every method: the result's box first, then arguments, then the core fills the box (see nn.h for
 * why in this order). */
#include "nn.h"

static bl_array_box *self(lua_State *L, const char *fn) { return bl_check_array(L, 1, fn, "self"); }

/* ---- functions of one array ---- */

static int apply(lua_State *L, const char *fn, berth_nn_unary f) {
  bl_array_box *out = bl_result(L, 1), *a = self(L, fn);
  return bl_give(L, out, berth_nn_apply(a->nn->tape, f, 0, a->array, &out->array));
}

/* With a number at 2. */
static int apply_with(lua_State *L, const char *fn, berth_nn_unary f, const char *key,
                      double otherwise) {
  const bl_where w = { fn, NULL, 0 };
  bl_array_box *out = bl_result(L, 2), *a = self(L, fn);
  double p = bl_opt_number(L, 2, &w, key, otherwise);
  return bl_give(L, out, berth_nn_apply(a->nn->tape, f, p, a->array, &out->array));
}

static int scaled(lua_State *L, bl_array_box *out, bl_array_box *a, double factor, double offset) {
  return bl_give(L, out, berth_nn_scale(a->nn->tape, a->array, factor, offset, &out->array));
}

/* relu, sigmoid and so on (): an array of the same shape */
static int relu(lua_State *L) { return apply(L, "array:relu", BERTH_NN_RELU); }
static int sigmoid(lua_State *L) { return apply(L, "array:sigmoid", BERTH_NN_SIGMOID); }
static int tanh_of(lua_State *L) { return apply(L, "array:tanh", BERTH_NN_TANH); }
static int exp_of(lua_State *L) { return apply(L, "array:exp", BERTH_NN_EXP); }
static int sqrt_of(lua_State *L) { return apply(L, "array:sqrt", BERTH_NN_SQRT); }
static int square(lua_State *L) { return apply(L, "array:square", BERTH_NN_SQUARE); }
static int abs_of(lua_State *L) { return apply(L, "array:abs", BERTH_NN_ABS); }
static int softplus(lua_State *L) { return apply(L, "array:softplus", BERTH_NN_SOFTPLUS); }
static int gelu(lua_State *L) { return apply(L, "array:gelu", BERTH_NN_GELU); }

/* leaky_relu(slope): x, or slope x below 0 */
static int leaky_relu(lua_State *L) {
  return apply_with(L, "array:leaky_relu", BERTH_NN_LEAKY_RELU, "slope", 0.01);
}
/* log(floor): the logarithm of max(x, floor) */
static int log_of(lua_State *L) {
  return apply_with(L, "array:log", BERTH_NN_LOG, "floor", 0);
}
/* scale(factor, offset): a factor + offset */
static int scale(lua_State *L) {
  BL_WHERE(w, "array:scale");
  bl_array_box *out = bl_result(L, 3), *a = self(L, w.fn);
  return scaled(L, out, a, bl_to_number(L, 2, &w, "factor"), bl_opt_number(L, 3, &w, "offset", 0));
}

/* ---- of two ---- */

static int apply2(lua_State *L, bl_array_box *out, bl_array_box *a, bl_array_box *b,
                  berth_nn_binary f) {
  return bl_give(L, out, berth_nn_apply2(a->nn->tape, f, a->array, b->array, &out->array));
}

/* Shapes are matched from the last axis, an axis of 1 is repeated; so are those of + - * /. */
static int extreme(lua_State *L, const char *fn, berth_nn_binary f) {
  bl_array_box *out = bl_result(L, 2), *a = self(L, fn);
  return apply2(L, out, a, bl_check_array(L, 2, fn, "other"), f);
}

static int maximum(lua_State *L) { return extreme(L, "array:maximum", BERTH_NN_MAX); }
static int minimum(lua_State *L) { return extreme(L, "array:minimum", BERTH_NN_MIN); }

static bool is_number(lua_State *L, int i) { return lua_type(L, i) == LUA_TNUMBER; }
static bl_array_box *left(lua_State *L, const char *fn) {
  return bl_check_array(L, 1, fn, "left side");
}
static bl_array_box *right(lua_State *L, const char *fn) {
  return bl_check_array(L, 2, fn, "right side");
}

/* Where one side is a number, this is a scale: no array is made of it. */
static int add(lua_State *L) {
  static const char fn[] = "array + array";
  bl_array_box *out = bl_result(L, 2);
  if (is_number(L, 2)) return scaled(L, out, left(L, fn), 1, (double)lua_tonumber(L, 2));
  if (is_number(L, 1)) return scaled(L, out, right(L, fn), 1, (double)lua_tonumber(L, 1));
  return apply2(L, out, left(L, fn), right(L, fn), BERTH_NN_ADD);
}

static int subtract(lua_State *L) {
  static const char fn[] = "array - array";
  bl_array_box *out = bl_result(L, 2);
  if (is_number(L, 2)) return scaled(L, out, left(L, fn), 1, -(double)lua_tonumber(L, 2));
  if (is_number(L, 1)) return scaled(L, out, right(L, fn), -1, (double)lua_tonumber(L, 1));
  return apply2(L, out, left(L, fn), right(L, fn), BERTH_NN_SUB);
}

static int multiply(lua_State *L) {
  static const char fn[] = "array * array";
  bl_array_box *out = bl_result(L, 2);
  if (is_number(L, 2)) return scaled(L, out, left(L, fn), (double)lua_tonumber(L, 2), 0);
  if (is_number(L, 1)) return scaled(L, out, right(L, fn), (double)lua_tonumber(L, 1), 0);
  return apply2(L, out, left(L, fn), right(L, fn), BERTH_NN_MUL);
}

/* A number below is a scale; a number above is an array of one element that is broadcast. */
static int divide(lua_State *L) {
  static const char fn[] = "array / array";
  bl_array_box *out = bl_result(L, 2);
  if (is_number(L, 2)) return scaled(L, out, left(L, fn), 1 / (double)lua_tonumber(L, 2), 0);
  if (is_number(L, 1)) {
    static const int32_t one[] = { 1 };
    bl_array_box *a = bl_push_zeros(L, 1, one);
    a->data[0] = (float)lua_tonumber(L, 1);
    lua_insert(L, -2);
    return apply2(L, out, a, right(L, fn), BERTH_NN_DIV);
  }
  return apply2(L, out, left(L, fn), right(L, fn), BERTH_NN_DIV);
}

static int negate(lua_State *L) {
  bl_array_box *out = bl_result(L, 1);
  return scaled(L, out, left(L, "-array"), -1, 0);
}

/* ---- reductions ---- */

static int reduce(lua_State *L, const char *fn, berth_nn_reduction f) {
  const bl_where w = { fn, NULL, 0 };
  bl_array_box *out = bl_result(L, 2), *a = self(L, fn);
  int32_t axis = lua_isnil(L, 2) ? BERTH_NONE : bl_to_axis(L, 2, &w, a->array);
  return bl_give(L, out, berth_nn_reduce(a->nn->tape, f, a->array, axis, &out->array));
}

static int sum(lua_State *L) { return reduce(L, "array:sum", BERTH_NN_SUM); }
static int mean(lua_State *L) { return reduce(L, "array:mean", BERTH_NN_MEAN); }
static int max(lua_State *L) { return reduce(L, "array:max", BERTH_NN_LARGEST); }
/* ---- shapes ---- */

static int reshape(lua_State *L) {
  BL_WHERE(w, "array:reshape");
  bl_array_box *out = bl_result(L, 2), *a = self(L, w.fn);
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(L, 2, &w, "shape", true, shape);
  return bl_give(L, out, berth_nn_reshape(a->nn->tape, a->array, rank, shape, &out->array));
}

/* transpose(): the last two axes exchanged */
static int transpose(lua_State *L) {
  bl_array_box *out = bl_result(L, 1), *a = self(L, "array:transpose");
  return bl_give(L, out, berth_nn_transpose(a->nn->tape, a->array, &out->array));
}

/* a:slice(axis, from, to): both included */
static int slice(lua_State *L) {
  BL_WHERE(w, "array:slice");
  bl_array_box *out = bl_result(L, 4), *a = self(L, w.fn);
  int32_t axis = bl_to_axis(L, 2, &w, a->array), n = berth_array_shape(a->array)[axis];
  int32_t from = (int32_t)bl_to_whole(L, 3, &w, "from", 1, (double)n + 1);
  int32_t to = lua_isnil(L, 4) ? n : (int32_t)bl_to_whole(L, 4, &w, "to", from - 1, n);
  return bl_give(L, out, berth_nn_slice(a->nn->tape, a->array, axis, from - 1, to, &out->array));
}

const luaL_Reg bl_nn_element_methods[] = { { "relu", relu },
                                           { "leaky_relu", leaky_relu },
                                           { "sigmoid", sigmoid },
                                           { "tanh", tanh_of },
                                           { "exp", exp_of },
                                           { "log", log_of },
                                           { "sqrt", sqrt_of },
                                           { "square", square },
                                           { "abs", abs_of },
                                           { "softplus", softplus },
                                           { "gelu", gelu },
                                           { "scale", scale },
                                           { "maximum", maximum },
                                           { "minimum", minimum },
                                           { "sum", sum },
                                           { "mean", mean },
                                           { "max", max },
                                           { "reshape", reshape },
                                           { "transpose", transpose },
                                           { "slice", slice },
                                           { NULL, NULL } };
const luaL_Reg bl_nn_arithmetic[] = { { "__add", add },      { "__sub", subtract },
                                      { "__mul", multiply }, { "__div", divide },
                                      { "__unm", negate },   { NULL, NULL } };
