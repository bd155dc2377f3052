/* A NaN in one place of an input: in which places of the output it must show. */
#include "nn_layer_help.h"

typedef berth_status (*run_fn)(berth_tape *t, berth_array *const *in, int k, berth_array **out);
enum { ROWS = 3, COLUMNS = 11 }; /* more than the lanes of vector loops, and a rest */

static const int32_t extents[2] = { ROWS, COLUMNS };
static berth_segments *two_rows_and_one;

static berth_status unary(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return berth_nn_apply(t, (berth_nn_unary)k, k == BERTH_NN_LEAKY_RELU ? 0.1 : 0, in[0], out);
}
static berth_status binary(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return berth_nn_apply2(t, (berth_nn_binary)k, in[0], in[1], out);
}
static berth_status reduced(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return berth_nn_reduce(t, (berth_nn_reduction)(k / 3), in[0], k % 3 - 1, out);
}
static berth_status by_segment(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return berth_nn_segment_reduce(t, (berth_nn_reduction)k, in[0], two_rows_and_one, out);
}
static berth_status soft(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return k ? berth_nn_log_softmax(t, in[0], NULL, out) : berth_nn_softmax(t, in[0], NULL, out);
}
static berth_status soft_segment(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return k ? berth_nn_segment_log_softmax(t, in[0], two_rows_and_one, out)
           : berth_nn_segment_softmax(t, in[0], two_rows_and_one, out);
}
static berth_status normal_rows(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return k ? berth_nn_layer_norm(t, in[0], NULL, NULL, 1e-5, out)
           : berth_nn_zscore(t, in[0], NULL, 1e-6, out);
}
static berth_status distance(berth_tape *t, berth_array *const *in, int k, berth_array **out) {
  return k ? berth_nn_huber(t, in[0], in[1], 0.5, out) : berth_nn_mse(t, in[0], in[1], out);
}

static int64_t count_nan(berth_array *a) {
  int64_t n = 0;
  for (int64_t i = 0; i < berth_array_size(a); i++) n += isnan(berth_array_data(a)[i]);
  return n;
}

/* NaN at each place of each input in turn: `expected` NaN come out, and at least one gradient tells
 * of it where d is 1. */
static void each_place(run_fn run, int k, int inputs, int64_t expected, const char *what) {
  for (int which = 0; which < inputs; which++) {
    for (int64_t at = 0; at < ROWS * COLUMNS; at++) {
      berth_array *in[2] = { array(2, extents), array(2, extents) }, *out = NULL, *loss = NULL;
      for (int i = 0; i < 2; i++) {
        for (int64_t j = 0; j < ROWS * COLUMNS; j++)
          berth_array_data(in[i])[j] = 0.5f + (float)(j * 5 % 7 + i);
      }
      berth_array_data(in[which])[at] = NAN;
      berth_tape *t = must_tape_new();
      CHECK_OK(berth_tape_watch(t, in[which]));
      CHECK_OK(run(t, in, k, &out));
      if (!CHECK(count_nan(out) == expected))
        printf("# %s %d: %d at %d\n", what, k, (int)count_nan(out), (int)at);
      loss = NN(reduce, t, BERTH_NN_SUM, out, BERTH_NONE);
      CHECK(isnan(berth_array_data(loss)[0]));
      CHECK_OK(berth_tape_backward(t, loss));
      for (int i = 0; i < 2; i++) RELEASE(in[i]);
      RELEASE(out, loss, t);
    }
  }
}

SETUP { two_rows_and_one = segments_of(2, (const int32_t[]){ 2, 1 }); }

TEST("functions of one number pass a NaN on") {
  for (int f = 0; f <= BERTH_NN_GELU; f++) each_place(unary, f, 1, 1, "unary");
  CASE("functions of two numbers pass it on from either side");
  for (int f = 0; f <= BERTH_NN_MIN; f++) each_place(binary, f, 2, 1, "binary");
  CASE("sums, means and maxima pass it on, along axes and of segments");
  for (int k = 0; k < 9; k++) each_place(reduced, k, 1, 1, "reduce");
  for (int f = 0; f < 3; f++) each_place(by_segment, f, 1, 1, "segment reduce");
  CASE("normalising passes it to the whole row or column");
  for (int k = 0; k < 2; k++) each_place(soft, k, 1, COLUMNS, "softmax");
  each_place(normal_rows, 0, 1, ROWS, "zscore");
  each_place(normal_rows, 1, 1, COLUMNS, "layer_norm");
  CASE("losses pass it on");
  for (int k = 0; k < 2; k++) each_place(distance, k, 2, 1, "distance");
}

TEST("a softmax of segments passes it to the column of the segment") {
  for (int k = 0; k < 2; k++) {
    for (int64_t at = 0; at < ROWS * COLUMNS; at++) {
      berth_array *a = array(2, extents), *out = NULL;
      berth_array_data(a)[at] = NAN;
      CHECK_OK(soft_segment(NULL, &a, k, &out));
      CHECK(count_nan(out) == (at < 2 * COLUMNS ? 2 : 1));
      RELEASE(out);
    }
  }
}

TEST("what a mask hides is not read") {
  berth_array *a = array(2, extents), *mask = array(2, extents);
  for (int64_t j = 0; j < ROWS * COLUMNS; j++) berth_array_data(mask)[j] = j != 5;
  berth_array_data(a)[5] = NAN;
  berth_array *out = NN(softmax, NULL, a, mask);
  CHECK(count_nan(out) == 0 && berth_array_data(out)[5] == 0);
  CHECK_NEAR(berth_array_data(out)[0], 1.0 / (COLUMNS - 1), 1e-6);
}

/* At a NaN the side that was taken has the gradient. */
TEST("the gradient goes to the NaN") {
  const int32_t one = 1;
  for (int f = BERTH_NN_MAX; f <= BERTH_NN_MIN; f++) {
    for (int which = 0; which < 2; which++) {
      berth_array *in[2] = { array(1, &one), array(1, &one) }, *out = NULL;
      berth_array_data(in[which])[0] = NAN;
      berth_tape *t = must_tape_new();
      for (int i = 0; i < 2; i++) CHECK_OK(berth_tape_watch(t, in[i]));
      CHECK_OK(binary(t, in, f, &out));
      CHECK_OK(berth_tape_backward(t, out));
      for (int i = 0; i < 2; i++)
        CHECK_NEAR(berth_array_data(berth_tape_gradient(t, in[i]))[0], i == which, 0);
      for (int i = 0; i < 2; i++) RELEASE(in[i]);
      RELEASE(out);
    }
  }
}

TEST("cross entropy and attention pass it on") {
  const int32_t ids[ROWS] = { 0, 1, 2 };
  berth_index *x = index_of(ROWS, ids);
  for (int64_t at = 0; at < ROWS * COLUMNS; at++) {
    berth_array *a = array(2, extents), *b = array(2, extents);
    berth_array_data(a)[at] = NAN;
    berth_array *out = NN(cross_entropy, NULL, a, x);
    CHECK(count_nan(out) == 1);
    out = NN(attention, NULL, a, b, b, 1, NULL);
    CHECK(count_nan(out) == COLUMNS);
    out = NN(attention, NULL, b, a, b, 1, NULL);
    CHECK(count_nan(out) == ROWS * COLUMNS);
  }
}
