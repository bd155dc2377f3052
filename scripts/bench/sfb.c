/* Sufficient factor broadcasting on a chain of 500 layers: forward, two backward ops and a weight
 * gradient each. */
#include "bench.h"

enum { LAYERS = 500, OPS = 4 * LAYERS, RUNS = 20 };

static double seconds[OPS], bandwidth[OPS], bytes[2 * OPS], gradient_bytes[LAYERS];
static int32_t replicas[OPS], producer[2 * OPS], first[2 * OPS + 1], consumer[6 * OPS],
    gradient_op[LAYERS];

static void tensor(berth_sfb_problem *p, int32_t from, double size, int32_t a, int32_t b) {
  int32_t k = p->tensors++, e = first[k];
  producer[k] = from;
  bytes[k] = size;
  consumer[e++] = a;
  if (b >= 0) consumer[e++] = b;
  first[k + 1] = e;
}

/* Op 4l is forward, 4l + 1 an activation, 4l + 2 the gradient of its input, 4l + 3 that of its
 * weights. */
static berth_sfb_problem problem(berth_rng *rng) {
  berth_sfb_problem p = berth_sfb_default(BERTH_SFB_PER_DEVICE);
  for (int32_t i = 0; i < OPS; i++) {
    seconds[i] = 1e-5 + 1e-3 * berth_rng_uniform(rng);
    replicas[i] = 8;
    bandwidth[i] = 2810e6;
  }
  for (int32_t l = 0; l < LAYERS; l++) {
    double size = 1e4 + 4e6 * berth_rng_uniform(rng);
    tensor(&p, 4 * l, size, 4 * l + 1, 4 * l + 2);
    if (l + 1 < LAYERS) tensor(&p, 4 * l + 1, size, 4 * l + 4, 4 * l + 7);
    if (l > 0) tensor(&p, 4 * l + 2, size, 4 * l - 2, 4 * l - 1);
    gradient_op[l] = 4 * l + 3;
    gradient_bytes[l] = 1e5 + 2e7 * berth_rng_uniform(rng);
  }
  p.ops = OPS;
  p.gradients = LAYERS;
  p.seconds = seconds, p.bandwidth = bandwidth, p.replicas = replicas;
  p.producer = producer, p.bytes = bytes, p.first = first, p.consumer = consumer;
  p.gradient_op = gradient_op, p.gradient_bytes = gradient_bytes;
  return p;
}

int main(void) {
  static const char *const names[] = { "sfb per-device", "sfb compat" };
  static uint8_t duplicated[OPS];
  berth_ctx *ctx;
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) return 1;
  berth_rng rng;
  berth_rng_init(&rng, 1, 0);
  berth_sfb_problem p = problem(&rng);
  for (int cost = 0; cost < 2; cost++) {
    double start = cpu_seconds();
    p.cost = (berth_sfb_cost)cost;
    berth_sfb_value v;
    for (int run = 0; run < RUNS; run++)
      must(ctx, berth_sfb_choose(ctx, &p, duplicated, NULL, NULL, &v), "sfb");
    double used = cpu_seconds() - start;
    report(names[cost], 1e3 * used / RUNS, "ms", "2000 ops", used);
    fprintf(stderr, "%s: %d ops duplicated, %g s\n", names[cost], (int)v.duplicated, v.total);
  }
  berth_ctx_release(ctx);
  return 0;
}
