/* Products, and operations of several arrays: matmul, linear, GRU, attention, losses (shapes:
 * berth/nn.h). */
#include "nn.h"
#include <stdio.h>
#include <string.h>

static bl_array_box *self(lua_State *L, const char *fn) { return bl_check_array(L, 1, fn, "self"); }
static berth_array *array_of(const bl_array_box *box) { return box ? box->array : NULL; }

/* ---- methods ---- */

BL_OPTIONS(matmul,
  BL_ROW("transpose_a", FLAG, "false", "reads the first array transposed"),
  BL_ROW("transpose_b", FLAG, "false", "reads the other array transposed", .offset = sizeof(int)))

/* a:matmul(b, { transpose_a, transpose_b }): [.., n, k] by [.., k, m] gives [.., n, m]. */
static int matmul(lua_State *L) {
  static const bl_where w = { "array:matmul", NULL, 0 };
  bl_array_box *out = bl_result(L, 3);
  int transpose[2] = { 0, 0 };
  bl_take_options(L, 3, &w, bl_matmul_tables, transpose);
  bl_array_box *a = self(L, w.fn);
  bl_array_box *b = bl_check_array(L, 2, w.fn, "other");
  return bl_give(L, out,
                 berth_nn_matmul(a->nn->tape, a->array, transpose[0], b->array, transpose[1],
                                 &out->array));
}

static const char *const activation_names[] = { "none",    "relu", "leaky_relu",
                                                "sigmoid", "tanh", NULL };

/* [-0, +0] nil: none. */
static berth_nn_unary to_activation(lua_State *L, int i, const bl_where *w) {
  static const berth_nn_unary functions[] = { BERTH_NN_IDENTITY, BERTH_NN_RELU, BERTH_NN_LEAKY_RELU,
                                              BERTH_NN_SIGMOID, BERTH_NN_TANH };
  if (lua_isnoneornil(L, i)) return BERTH_NN_IDENTITY;
  return functions[bl_to_enum(L, i, w, "activation", activation_names)];
}

/* x:linear(w, b or nil, activation, slope = 0.01): activation(x w + b) in one operation, so that a
 * tape records one, not three. */
static int linear(lua_State *L) {
  BL_WHERE(w, "array:linear");
  bl_array_box *out = bl_result(L, 5), *x = self(L, w.fn),
               *weights = bl_check_array(L, 2, w.fn, "weights");
  bl_array_box *bias = bl_opt_array(L, 3, w.fn, "bias");
  berth_nn_unary f = to_activation(L, 4, &w);
  double slope = bl_opt_number(L, 5, &w, "slope", 0.01);
  return bl_give(L, out,
                 berth_nn_linear(x->nn->tape, x->array, weights->array, array_of(bias), f, slope,
                                 &out->array));
}

/* x:grouped_matmul(segments, w): the rows of segment i by matrix i of w. Segments first: a table
 * there is converted, which allocates. */
static int grouped_matmul(lua_State *L) {
  BL_WHERE(w, "array:grouped_matmul");
  bl_array_box *out = bl_result(L, 3);
  berth_segments *s = bl_to_segments(L, 2, &w, "segments");
  bl_array_box *x = self(L, w.fn), *weights = bl_check_array(L, 3, w.fn, "weights");
  return bl_give(L, out,
                 berth_nn_grouped_matmul(x->nn->tape, x->array, s, weights->array, &out->array));
}

/* ---- functions ---- */

/* [-0, +0] The array at the top, the k-th (from 0) of a list. The name is made for an error
 * only. */
static berth_array *list_item(lua_State *L, const bl_where *w, int32_t k) {
  const bl_array_box *a = bl_test(L, -1, &bl_array_class);
  if (a && a->array) return a->array;
  char name[32];
  snprintf(name, sizeof name, "arrays[%d]", (int)k + 1);
  return bl_check_array(L, -1, w->fn, name)->array;
}

/* [-0, +1] Room for the arrays of the table at 1, in scratch: made before they are read, since it
 * allocates. */
static berth_array **room_for_arrays(lua_State *L, const bl_where *w, int32_t *n) {
  if (!lua_istable(L, 1))
    bl_wrong(L, w, "arrays", "expected a table of arrays, got %s", bl_kind(L, 1));
  if ((*n = bl_to_length(L, 1, w, "arrays")) == 0) bl_wrong(L, w, "arrays", "is empty");
  return bl_scratch(L, (size_t)*n, sizeof(berth_array *));
}

/* The table keeps them. */
static void read_arrays(lua_State *L, const bl_where *w, int32_t n, berth_array **list) {
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, 1, k + 1);
    list[k] = list_item(L, w, k);
    lua_pop(L, 1);
  }
}

/* concat({ a, b, ... }, axis = 1): array. The list is read last, when nothing allocates any more;
 * the table keeps the arrays. */
static int concat(lua_State *L) {
  BL_WHERE(w, "berth.nn.concat");
  lua_settop(L, 2);
  int32_t n;
  berth_array **list = room_for_arrays(L, &w, &n);
  bl_array_box *out = bl_new_array(L);
  read_arrays(L, &w, n, list);
  int32_t axis = lua_isnil(L, 2) ? 0 : bl_to_axis(L, 2, &w, list[0]);
  return bl_give(L, out, berth_nn_concat(out->nn->tape, n, list, axis, &out->array));
}

/* gru(x, h, wx, wh, bx, bh) */
static int gru(lua_State *L) {
  static const char fn[] = "berth.nn.gru";
  static const char *const what[] = { "x", "h", "wx", "wh", "bx", "bh" };
  bl_array_box *out = bl_result(L, 6), *a[6];
  for (int k = 0; k < 6; k++) a[k] = bl_check_array(L, k + 1, fn, what[k]);
  return bl_give(L, out,
                 berth_nn_gru(out->nn->tape, a[0]->array, a[1]->array, a[2]->array, a[3]->array,
                              a[4]->array, a[5]->array, &out->array));
}

/* attention(q, k, v, heads, mask or nil) */
static int attention(lua_State *L) {
  BL_WHERE(w, "berth.nn.attention");
  bl_array_box *out = bl_result(L, 5), *q = bl_check_array(L, 1, w.fn, "q"),
               *k = bl_check_array(L, 2, w.fn, "k");
  bl_array_box *v = bl_check_array(L, 3, w.fn, "v"), *mask = bl_opt_array(L, 5, w.fn, "mask");
  int32_t heads = lua_isnil(L, 4) ? 1 : (int32_t)bl_to_whole(L, 4, &w, "heads", 1, INT32_MAX);
  return bl_give(L, out,
                 berth_nn_attention(out->nn->tape, q->array, k->array, v->array, heads,
                                    array_of(mask), &out->array));
}

/* mse(a, b): [1], mean of squares; huber(a, b, delta = 1): [1]; cross_entropy(scores [n, m], index
 * [n]): [1]. */
static int mse(lua_State *L) {
  static const char fn[] = "berth.nn.mse";
  bl_array_box *out = bl_result(L, 2), *a = bl_check_array(L, 1, fn, "a"),
               *b = bl_check_array(L, 2, fn, "b");
  return bl_give(L, out, berth_nn_mse(out->nn->tape, a->array, b->array, &out->array));
}

static int huber(lua_State *L) {
  BL_WHERE(w, "berth.nn.huber");
  bl_array_box *out = bl_result(L, 3), *a = bl_check_array(L, 1, w.fn, "a"),
               *b = bl_check_array(L, 2, w.fn, "b");
  double delta = bl_opt_number(L, 3, &w, "delta", 1);
  return bl_give(L, out, berth_nn_huber(out->nn->tape, a->array, b->array, delta, &out->array));
}

static int cross_entropy(lua_State *L) {
  BL_WHERE(w, "berth.nn.cross_entropy");
  bl_array_box *out = bl_result(L, 2);
  berth_index *x = bl_to_index(L, 2, &w, "index");
  bl_array_box *a = bl_check_array(L, 1, w.fn, "scores");
  return bl_give(L, out, berth_nn_cross_entropy(out->nn->tape, a->array, x, &out->array));
}

const luaL_Reg bl_nn_product_methods[] = {
  { "matmul", matmul }, { "linear", linear }, { "grouped_matmul", grouped_matmul }, { NULL, NULL }
};
const luaL_Reg bl_nn_op_functions[] = {
  { "nn_concat", concat }, { "nn_gru", gru },     { "nn_attention", attention },
  { "nn_mse", mse },       { "nn_huber", huber }, { "nn_cross_entropy", cross_entropy },
  { NULL, NULL }
};
