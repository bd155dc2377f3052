/* The learning library: the time of a tiny operation, and the rate of a layer, forward alone and
 * with the way back.
 * usage: nn */
#include "bench.h"

static berth_ctx *ctx;
static berth_params *params;
static berth_rng rng;

static berth_array *parameter(const char *name, int32_t n, int32_t m) {
  const int32_t shape[2] = { n, m };
  berth_array *a = NULL;
  if (berth_params_add(params, name, 2, shape, BERTH_NN_NORMAL, 0.1, &rng, &a) != BERTH_OK) exit(1);
  return a;
}

/* A chain of `length` layers of 20 x 32, on a tape or without. */
static void chain(berth_array *x, berth_array *w, int32_t length, berth_tape *t) {
  berth_array *at = x, *loss = NULL;
  berth_array_retain(at);
  for (int32_t i = 0; i < length; i++) {
    berth_array *next = NULL;
    if (berth_nn_linear(t, at, w, NULL, BERTH_NN_TANH, 0, &next) != BERTH_OK) exit(1);
    berth_array_release(at);
    at = next;
  }
  if (t
      && (berth_nn_reduce(t, BERTH_NN_SUM, at, BERTH_NONE, &loss) != BERTH_OK
          || berth_tape_backward(t, loss) != BERTH_OK))
    exit(1);
  berth_array_release(loss);
  berth_array_release(at);
}

static void tiny(const char *name, berth_tape *t) {
  enum { LENGTH = 100, TIMES = 1000 };
  const int32_t shape[2] = { 20, 32 };
  berth_array *x = NULL, *w = parameter(name, 32, 32);
  if (berth_array_new(ctx, 2, shape, &x) != BERTH_OK) exit(1);
  double start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) chain(x, w, LENGTH, t);
  report(name, (cpu_seconds() - start) / (LENGTH * TIMES) * 1e9, "ns/op",
         "tanh layer, 20 x 32 by 32 x 32", cpu_seconds() - start);
  berth_array_release(x);
}

static void large(const char *name, berth_tape *t) {
  enum { ROWS = 1024, IN = 512, OUT = 64, TIMES = 50 };
  const int32_t shape[2] = { ROWS, IN };
  berth_array *x = NULL, *w = parameter(name, IN, OUT);
  double flop = 2.0 * ROWS * IN * OUT * (t ? 3 : 1) * TIMES;
  if (berth_array_new(ctx, 2, shape, &x) != BERTH_OK) exit(1);
  double start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) {
    berth_array *y = NULL, *loss = NULL;
    if (t && berth_tape_watch(t, x) != BERTH_OK) exit(1);
    if (berth_nn_linear(t, x, w, NULL, BERTH_NN_RELU, 0, &y) != BERTH_OK) exit(1);
    if (t
        && (berth_nn_reduce(t, BERTH_NN_SUM, y, BERTH_NONE, &loss) != BERTH_OK
            || berth_tape_backward(t, loss) != BERTH_OK))
      exit(1);
    berth_array_release(y);
    berth_array_release(loss);
  }
  report(name, flop / (cpu_seconds() - start) / 1e9, "GFLOP/s", "layer 1024 x 512 by 512 x 64",
         cpu_seconds() - start);
  berth_array_release(x);
}

/* Rounds of relu(h w) + h over 20,000 rows: 5 MB an array, all given up after every update. */
static void rows(const char *name, berth_tape *t) {
  enum { ROWS = 20000, WIDTH = 64, ROUNDS = 4, TIMES = 20 };
  const int32_t shape[2] = { ROWS, WIDTH };
  berth_array *x = NULL, *w = parameter(name, WIDTH, WIDTH);
  if (berth_array_new(ctx, 2, shape, &x) != BERTH_OK) exit(1);
  double start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) {
    berth_array *h = x, *loss = NULL;
    berth_array_retain(h);
    for (int k = 0; k < ROUNDS; k++) {
      berth_array *y = NULL, *sum = NULL;
      must(ctx, berth_nn_linear(t, h, w, NULL, BERTH_NN_RELU, 0, &y), name);
      must(ctx, berth_nn_apply2(t, BERTH_NN_ADD, h, y, &sum), name);
      berth_array_release(y);
      berth_array_release(h);
      h = sum;
    }
    if (t) must(ctx, berth_nn_reduce(t, BERTH_NN_SUM, h, BERTH_NONE, &loss), name);
    if (t) must(ctx, berth_tape_backward(t, loss), name);
    berth_array_release(loss);
    berth_array_release(h);
  }
  report(name, (cpu_seconds() - start) / TIMES * 1e3, "ms",
         "4 residual layers, 20,000 x 64 by 64 x 64", cpu_seconds() - start);
  berth_array_release(x);
}

/* 32 episodes of 100 steps on 8 bins of 128 numbers: 13 MB out, as a learned placer does it once an
 * update. */
static void bins(const char *name, berth_tape *t) {
  enum { EPISODES = 32, STEPS = 100, BINS = 8, WIDTH = 128, TIMES = 20 };
  static int32_t row[EPISODES * STEPS], bin[EPISODES * STEPS], length[EPISODES];
  berth_array *a = parameter(name, EPISODES * STEPS, WIDTH);
  berth_segments *s = NULL;
  berth_index *rows_of = NULL, *bins_of = NULL;
  for (int i = 0; i < EPISODES; i++) length[i] = STEPS;
  for (int i = 0; i < EPISODES * STEPS; i++) {
    row[i] = i;
    bin[i] = i * 5 % BINS;
  }
  must(ctx, berth_segments_new(ctx, EPISODES, length, &s), name);
  must(ctx, berth_index_new(ctx, EPISODES * STEPS, row, &rows_of), name);
  must(ctx, berth_index_new(ctx, EPISODES * STEPS, bin, &bins_of), name);
  double start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) {
    berth_array *y = NULL, *loss = NULL;
    must(ctx, berth_nn_running_sum(t, a, s, rows_of, bins_of, BINS, &y), name);
    must(ctx, berth_nn_reduce(t, BERTH_NN_MEAN, y, BERTH_NONE, &loss), name);
    must(ctx, berth_tape_backward(t, loss), name);
    berth_array_release(loss);
    berth_array_release(y);
  }
  report(name, (cpu_seconds() - start) / TIMES * 1e3, "ms",
         "running sum, 32 x 100 steps, 8 bins of 128", cpu_seconds() - start);
  berth_index_release(bins_of);
  berth_index_release(rows_of);
  berth_segments_release(s);
}

int main(void) {
  berth_tape *t = NULL;
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK || berth_params_new(ctx, &params) != BERTH_OK
      || berth_tape_new(ctx, &t) != BERTH_OK)
    return 1;
  berth_rng_init(&rng, 1, 0);
  tiny("nn.tiny", NULL);
  tiny("nn.tiny_and_back", t);
  large("nn.layer", NULL);
  large("nn.layer_and_back", t);
  rows("nn.rows", NULL);
  rows("nn.rows_and_back", t);
  bins("nn.bins_and_back", t);
  berth_tape_release(t);
  berth_params_release(params);
  berth_ctx_release(ctx);
  return 0;
}
