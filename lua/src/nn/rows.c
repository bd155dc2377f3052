/* Type "array": operations on rows and segments of rows: gathering, sums, softmax, normalising,
 * paths. Indices and segments may be tables, which are replaced on the stack before arrays are
 * checked, since making them allocates. */
#include "nn.h"

static bl_array_box *self(lua_State *L, const char *fn) { return bl_check_array(L, 1, fn, "self"); }

/* ---- rows by index ---- */

typedef berth_status (*index_fn)(berth_tape *t, berth_array *a, berth_index *x, berth_array **out);

/* Methods of (index): [-0, +1]. A table at 2 is replaced by an index before self is checked, for
 * that allocates. */
static int with_index(lua_State *L, const char *fn, const char *key, index_fn f) {
  const bl_where w = { fn, NULL, 0 };
  bl_array_box *out = bl_result(L, 2);
  berth_index *x = bl_to_index(L, 2, &w, key);
  bl_array_box *a = self(L, fn);
  return bl_give(L, out, f(a->nn->tape, a->array, x, &out->array));
}

/* gather(index): rows a[index[i]]; 0: a row of zeros */
static int gather(lua_State *L) { return with_index(L, "array:gather", "index", berth_nn_gather); }
/* pick(index): a[i][index[i]] of a [n, m]: [n] */
static int pick(lua_State *L) { return with_index(L, "array:pick", "index", berth_nn_pick); }
/* path_sum(next): a[v] and all that follow it along next; 0 ends */
static int path_sum(lua_State *L) {
  return with_index(L, "array:path_sum", "next", berth_nn_path_sum);
}

/* gather_sum, gather_mean (index, segments): array, a row per segment. Both lists are converted
 * before the first is read: converting the second may run a finaliser that closes the first. */
static int gather_reduce(lua_State *L, const char *fn, berth_nn_reduction f) {
  const bl_where w = { fn, NULL, 0 };
  bl_array_box *out = bl_result(L, 3);
  bl_convert_index(L, 2, &w, "index");
  berth_segments *s = bl_to_segments(L, 3, &w, "segments");
  berth_index *x = bl_to_index(L, 2, &w, "index");
  bl_array_box *a = self(L, fn);
  return bl_give(L, out, berth_nn_gather_reduce(a->nn->tape, f, a->array, x, s, &out->array));
}

static int gather_sum(lua_State *L) { return gather_reduce(L, "array:gather_sum", BERTH_NN_SUM); }
static int gather_mean(lua_State *L) {
  return gather_reduce(L, "array:gather_mean", BERTH_NN_MEAN);
}
/* scatter(index, rows): row i is added to row index[i] of `rows`; 0: dropped */
static int scatter(lua_State *L) {
  BL_WHERE(w, "array:scatter");
  bl_array_box *out = bl_result(L, 3);
  berth_index *x = bl_to_index(L, 2, &w, "index");
  bl_array_box *a = self(L, w.fn);
  int32_t rows = (int32_t)bl_to_whole(L, 3, &w, "rows", 0, INT32_MAX);
  return bl_give(L, out, berth_nn_scatter(a->nn->tape, a->array, x, rows, &out->array));
}

/* running_sum(segments, row, bin, bins): [steps, bins, m], the contents of each bin before each
 * step */
static int running_sum(lua_State *L) {
  BL_WHERE(w, "array:running_sum");
  bl_array_box *out = bl_result(L, 5);
  int32_t bins = (int32_t)bl_to_whole(L, 5, &w, "bins", 0, INT32_MAX);
  bl_convert_segments(L, 2, &w, "segments");
  bl_convert_index(L, 3, &w, "row");
  berth_index *bin = bl_to_index(L, 4, &w, "bin");
  berth_segments *s = bl_to_segments(L, 2, &w, "segments");
  berth_index *row = bl_to_index(L, 3, &w, "row");
  bl_array_box *a = self(L, w.fn);
  return bl_give(L, out,
                 berth_nn_running_sum(a->nn->tape, a->array, s, row, bin, bins, &out->array));
}

/* ---- segments ---- */

typedef berth_status (*segment_fn)(berth_tape *t, berth_array *a, berth_segments *s,
                                   berth_array **out);

/* Methods of (segments): segments of all rows of the array. */
static int with_segments(lua_State *L, const char *fn, segment_fn f) {
  const bl_where w = { fn, NULL, 0 };
  bl_array_box *out = bl_result(L, 2);
  berth_segments *s = bl_to_segments(L, 2, &w, "segments");
  bl_array_box *a = self(L, fn);
  return bl_give(L, out, f(a->nn->tape, a->array, s, &out->array));
}

static berth_status segment_sum_of(berth_tape *t, berth_array *a, berth_segments *s,
                                   berth_array **out) {
  return berth_nn_segment_reduce(t, BERTH_NN_SUM, a, s, out);
}
static berth_status segment_mean_of(berth_tape *t, berth_array *a, berth_segments *s,
                                    berth_array **out) {
  return berth_nn_segment_reduce(t, BERTH_NN_MEAN, a, s, out);
}
static berth_status segment_max_of(berth_tape *t, berth_array *a, berth_segments *s,
                                   berth_array **out) {
  return berth_nn_segment_reduce(t, BERTH_NN_LARGEST, a, s, out);
}

/* segment_sum, mean, max (segments): [count, ...]; an empty segment: zeros */
static int segment_sum(lua_State *L) {
  return with_segments(L, "array:segment_sum", segment_sum_of);
}
static int segment_mean(lua_State *L) {
  return with_segments(L, "array:segment_mean", segment_mean_of);
}
static int segment_max(lua_State *L) {
  return with_segments(L, "array:segment_max", segment_max_of);
}
/* segment_repeat(segments): row i of [count, ...] for every row of segment i */
static int segment_repeat(lua_State *L) {
  return with_segments(L, "array:segment_repeat", berth_nn_segment_repeat);
}
/* segment_softmax(segments), segment_log_softmax(segments): over the rows of each segment, every
 * column by itself. */
static int segment_softmax(lua_State *L) {
  return with_segments(L, "array:segment_softmax", berth_nn_segment_softmax);
}
static int segment_log_softmax(lua_State *L) {
  return with_segments(L, "array:segment_log_softmax",
                       berth_nn_segment_log_softmax);
}
/* ---- softmax and normalising ---- */

static berth_array *array_of(const bl_array_box *box) { return box ? box->array : NULL; }

typedef berth_status (*masked_fn)(berth_tape *t, berth_array *a, berth_array *mask,
                                  berth_array **out);

/* softmax, log_softmax (mask): over the last axis; where the mask is 0 the probability is 0 */
static int masked(lua_State *L, const char *fn, masked_fn f) {
  bl_array_box *out = bl_result(L, 2), *a = self(L, fn), *mask = bl_opt_array(L, 2, fn, "mask");
  return bl_give(L, out, f(a->nn->tape, a->array, array_of(mask), &out->array));
}

static int softmax(lua_State *L) { return masked(L, "array:softmax", berth_nn_softmax); }
static int log_softmax(lua_State *L) {
  return masked(L, "array:log_softmax", berth_nn_log_softmax);
}

/* a:zscore(segments or nil, epsilon = 1e-6): every column (a - mean) / (deviation + epsilon), over
 * the rows of each segment or of all. */
static int zscore(lua_State *L) {
  BL_WHERE(w, "array:zscore");
  bl_array_box *out = bl_result(L, 3);
  berth_segments *s = lua_isnil(L, 2) ? NULL : bl_to_segments(L, 2, &w, "segments");
  double epsilon = bl_opt_number(L, 3, &w, "epsilon", 1e-6);
  bl_array_box *a = self(L, w.fn);
  return bl_give(L, out, berth_nn_zscore(a->nn->tape, a->array, s, epsilon, &out->array));
}

/* a:layer_norm(gain or nil, bias or nil, epsilon) */
static int layer_norm(lua_State *L) {
  BL_WHERE(w, "array:layer_norm");
  bl_array_box *out = bl_result(L, 4), *a = self(L, w.fn), *gain = bl_opt_array(L, 2, w.fn, "gain");
  bl_array_box *bias = bl_opt_array(L, 3, w.fn, "bias");
  double epsilon = bl_opt_number(L, 4, &w, "epsilon", 1e-5);
  return bl_give(L, out,
                 berth_nn_layer_norm(a->nn->tape, a->array, array_of(gain), array_of(bias), epsilon,
                                     &out->array));
}

const luaL_Reg bl_nn_row_methods[] = { { "gather", gather },
                                       { "gather_sum", gather_sum },
                                       { "gather_mean", gather_mean },
                                       { "scatter", scatter },
                                       { "pick", pick },
                                       { "path_sum", path_sum },
                                       { "running_sum", running_sum },
                                       { "segment_sum", segment_sum },
                                       { "segment_mean", segment_mean },
                                       { "segment_max", segment_max },
                                       { "segment_repeat", segment_repeat },
                                       { "segment_softmax", segment_softmax },
                                       { "segment_log_softmax", segment_log_softmax },
                                       { "softmax", softmax },
                                       { "log_softmax", log_softmax },
                                       { "zscore", zscore },
                                       { "layer_norm", layer_norm },
                                       { NULL, NULL } };
