/* The learning library: what a tiny operation costs, and what a layer reaches, forward alone and with the way back.
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
  if (t && (berth_nn_reduce(t, BERTH_NN_SUM, at, BERTH_NONE, &loss) != BERTH_OK || berth_tape_backward(t, loss) != BERTH_OK)) exit(1);
  berth_array_release(loss);
  berth_array_release(at);
}

static void tiny(const char *name, berth_tape *t) {
  enum { LENGTH = 100, TIMES = 1000 };
  const int32_t shape[2] = { 20, 32 };
  berth_array *x = NULL, *w = parameter(name, 32, 32);
  double start;
  if (berth_array_new(ctx, 2, shape, &x) != BERTH_OK) exit(1);
  start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) chain(x, w, LENGTH, t);
  report(name, (cpu_seconds() - start) / (LENGTH * TIMES) * 1e9, "ns/op", "tanh layer, 20 x 32 by 32 x 32", cpu_seconds() - start);
  berth_array_release(x);
}

static void large(const char *name, berth_tape *t) {
  enum { ROWS = 1024, IN = 512, OUT = 64, TIMES = 50 };
  const int32_t shape[2] = { ROWS, IN };
  berth_array *x = NULL, *w = parameter(name, IN, OUT);
  double start, flop = 2.0 * ROWS * IN * OUT * (t ? 3 : 1) * TIMES;
  if (berth_array_new(ctx, 2, shape, &x) != BERTH_OK) exit(1);
  start = cpu_seconds();
  for (int i = 0; i < TIMES; i++) {
    berth_array *y = NULL, *loss = NULL;
    if (t && berth_tape_watch(t, x) != BERTH_OK) exit(1);
    if (berth_nn_linear(t, x, w, NULL, BERTH_NN_RELU, 0, &y) != BERTH_OK) exit(1);
    if (t && (berth_nn_reduce(t, BERTH_NN_SUM, y, BERTH_NONE, &loss) != BERTH_OK || berth_tape_backward(t, loss) != BERTH_OK)) exit(1);
    berth_array_release(y);
    berth_array_release(loss);
  }
  report(name, flop / (cpu_seconds() - start) / 1e9, "GFLOP/s", "layer 1024 x 512 by 512 x 64", cpu_seconds() - start);
  berth_array_release(x);
}

int main(void) {
  berth_tape *t = NULL;
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK || berth_params_new(ctx, &params) != BERTH_OK || berth_tape_new(ctx, &t) != BERTH_OK) return 1;
  berth_rng_init(&rng, 1, 0);
  tiny("nn.tiny", NULL);
  tiny("nn.tiny_and_back", t);
  large("nn.layer", NULL);
  large("nn.layer_and_back", t);
  berth_tape_release(t);
  berth_params_release(params);
  berth_ctx_release(ctx);
  return 0;
}
