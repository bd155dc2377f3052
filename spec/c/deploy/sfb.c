/* Sufficient factor broadcasting: the worked examples, the cut beside enumeration, refusals,
 * allocation failure. */
#include "refusals.h"

enum { OPS = 18, TENSORS = 30, EDGES = 90, GRADIENTS = 10 };

typedef struct sfb_case {
  berth_sfb_problem p;
  double seconds[OPS], bandwidth[OPS], bytes[TENSORS], gradient_bytes[GRADIENTS],
      gradient_seconds[GRADIENTS];
  int32_t replicas[OPS], producer[TENSORS], first[TENSORS + 1], consumer[EDGES],
      gradient_op[GRADIENTS];
  uint8_t barred[OPS];
} sfb_case;

static void point(sfb_case *c) {
  c->p.seconds = c->seconds;
  c->p.replicas = c->replicas;
  c->p.bandwidth = c->bandwidth;
  c->p.barred = c->barred;
  c->p.producer = c->producer;
  c->p.bytes = c->bytes;
  c->p.first = c->first;
  c->p.consumer = c->consumer;
  c->p.gradient_op = c->gradient_op;
  c->p.gradient_bytes = c->gradient_bytes;
  c->p.gradient_seconds = c->p.cost == BERTH_SFB_PER_DEVICE ? c->gradient_seconds : NULL;
}

static void add_tensor(sfb_case *c, int32_t producer, double bytes) {
  int32_t k = c->p.tensors++;
  c->producer[k] = producer;
  c->bytes[k] = bytes;
  c->first[k + 1] = c->first[k];
}

static void add_reader(sfb_case *c, int32_t op) { c->consumer[c->first[c->p.tensors]++] = op; }

/* ---- y = xW ---- */

/* Ops: 0 makes x, 1 makes the gradient of y, 2 the gradient of W from both. */
static sfb_case layer(berth_sfb_cost cost, double batch, int32_t devices) {
  sfb_case c;
  memset(&c, 0, sizeof c);
  c.p = berth_sfb_default(cost);
  c.p.ops = 3;
  for (int32_t i = 0; i < 3; i++) {
    c.replicas[i] = devices;
    c.bandwidth[i] = 2810e6;
    c.barred[i] = i < 2;
  }
  c.seconds[2] = 40e-6;
  for (int32_t i = 0; i < 2; i++) {
    add_tensor(&c, i, batch * 1024 * 4);
    add_reader(&c, 2);
  }
  c.p.gradients = 1;
  c.gradient_op[0] = 2;
  c.gradient_bytes[0] = 1024 * 1024 * 4;
  c.gradient_seconds[0] = NAN;
  return c;
}

static void check_layer(berth_sfb_cost cost, double batch, int32_t devices, double us) {
  sfb_case c = layer(cost, batch, devices);
  uint8_t all[3] = { 0, 0, 1 };
  point(&c);
  uint8_t gathered[2], removed[1];
  berth_sfb_value v;
  CHECK_OK(berth_sfb_measure(ctx, &c.p, all, gathered, removed, &v));
  CHECK_NEAR(v.total * 1e6, us, 0.05);
  CHECK(gathered[0] && gathered[1] && removed[0]);
  uint8_t x[3];
  berth_sfb_value chosen;
  CHECK_OK(berth_sfb_choose(ctx, &c.p, x, gathered, removed, &chosen));
  CHECK(x[2] == (us < 0) && !x[0] && !x[1]);
  CHECK(removed[0] == (us < 0) && gathered[0] == (us < 0));
  CHECK(chosen.total == (us < 0 ? v.total : 0));
}

/* ---- enumeration ---- */

/* Small whole amounts, so that ties are exact: M of 1, 2 or 4 and a B of 1. */
static sfb_case random_case(berth_rng *rng, berth_sfb_cost cost) {
  static const int32_t counts[] = { 1, 2, 4 };
  sfb_case c;
  memset(&c, 0, sizeof c);
  c.p = berth_sfb_default(cost);
  c.p.per_op = berth_rng_below(rng, 3);
  c.p.ops = 1 + berth_rng_below(rng, OPS);
  for (int32_t i = 0; i < c.p.ops; i++) {
    c.seconds[i] = berth_rng_below(rng, 20);
    c.replicas[i] = counts[berth_rng_below(rng, 3)];
    c.bandwidth[i] = 1;
    c.barred[i] = berth_rng_uniform(rng) < 0.15;
  }
  for (int32_t n = berth_rng_below(rng, TENSORS + 1); n > 0; n--) {
    add_tensor(&c, berth_rng_below(rng, c.p.ops), berth_rng_below(rng, 12));
    for (int32_t r = berth_rng_below(rng, 4); r > 0; r--)
      add_reader(&c, berth_rng_below(rng, c.p.ops));
  }
  c.p.gradients = berth_rng_below(rng, GRADIENTS + 1);
  for (int32_t k = 0; k < c.p.gradients; k++) {
    c.gradient_op[k] = berth_rng_below(rng, c.p.ops);
    c.gradient_bytes[k] = berth_rng_below(rng, 40);
    c.gradient_seconds[k] = berth_rng_uniform(rng) < 0.3 ? berth_rng_below(rng, 30) : NAN;
  }
  return c;
}

/* The program as printed, written down once more. */
static double naive(const sfb_case *c, uint32_t x) {
  int compat = c->p.cost == BERTH_SFB_COMPAT;
  double sum = 0;
  for (int32_t i = 0; i < c->p.ops; i++) {
    double m = c->replicas[i];
    if (x >> i & 1) sum += (compat ? m - 1 : (m - 1) / m) * c->seconds[i] + c->p.per_op;
  }
  for (int32_t k = 0; k < c->p.tensors; k++) {
    double m = c->replicas[c->producer[k]], readers = 0;
    for (int32_t e = c->first[k]; e < c->first[k + 1]; e++) readers += x >> c->consumer[e] & 1;
    if (x >> c->producer[k] & 1) continue;
    sum += compat ? readers * m * (m - 1) * c->bytes[k] : (readers > 0) * (m - 1) / m * c->bytes[k];
  }
  for (int32_t k = 0; k < c->p.gradients; k++) {
    double m = c->replicas[c->gradient_op[k]], t = 2 * (m - 1) / m * c->gradient_bytes[k];
    if (!compat && !isnan(c->gradient_seconds[k])) t = c->gradient_seconds[k];
    if (x >> c->gradient_op[k] & 1) sum -= t;
  }
  return sum;
}

static int count_ops(uint32_t x) {
  int n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}

/* The best set, of equals the one with the fewest ops. */
static uint32_t enumerate(const sfb_case *c, double *best) {
  uint32_t barred = 0, found = 0;
  for (int32_t i = 0; i < c->p.ops; i++) barred |= (uint32_t)(c->barred[i] != 0) << i;
  *best = 0;
  for (uint32_t x = 0; x < (uint32_t)1 << c->p.ops; x++) {
    double v = x & barred ? INFINITY : naive(c, x);
    if (v > *best || (v == *best && count_ops(x) >= count_ops(found))) continue;
    *best = v;
    found = x;
  }
  return found;
}

static int check_case(sfb_case *c) {
  double best;
  uint32_t want = enumerate(c, &best), got = 0;
  point(c);
  uint8_t x[OPS], gathered[TENSORS], removed[GRADIENTS];
  berth_sfb_value v;
  if (!CHECK_OK(berth_sfb_choose(ctx, &c->p, x, gathered, removed, &v))) return 0;
  for (int32_t i = 0; i < c->p.ops; i++) got |= (uint32_t)x[i] << i;
  berth_sfb_value again;
  CHECK_OK(berth_sfb_measure(ctx, &c->p, x, NULL, NULL, &again));
  CHECK(v.total == again.total && v.work == again.work && v.gather == again.gather
        && v.sync == again.sync);
  CHECK(v.duplicated == again.duplicated && v.gathered == again.gathered
        && v.removed == again.removed);
  return CHECK(got == want) && CHECK_NEAR(v.total, best, 1e-9);
}

static int check_cases(berth_sfb_cost cost, uint64_t seed) {
  int pays = 0;
  berth_rng rng = seeded(seed, 0);
  for (int k = 0; k < check_runs(100, 500); k++) {
    sfb_case c = random_case(&rng, cost);
    if (!check_case(&c)) printf("# case %d\n", k);
    double best;
    pays += enumerate(&c, &best) != 0;
  }
  return pays;
}

/* ---- refusals and memory ---- */

static void check_refusal(sfb_case c, const char *text) {
  uint8_t x[3] = { 9, 9, 9 };
  point(&c);
  berth_sfb_value v;
  CHECK_ERROR(berth_sfb_choose(ctx, &c.p, x, NULL, NULL, &v), BERTH_EINVAL, text);
  CHECK(x[0] == 9);
}

TEST("what makes no sense is refused") {
  sfb_case c = layer(BERTH_SFB_PER_DEVICE, 6, 2), bad = c;
  uint8_t x[3] = { 1, 0, 0 };
  bad.seconds[1] = NAN;
  check_refusal(bad, "op 1 takes nan s: not a finite number of at least 0");
  bad = c, bad.replicas[0] = 0;
  check_refusal(bad, "op 0 has 0 replicas");
  bad = c, bad.bandwidth[2] = 0;
  check_refusal(bad, "op 2 has a bandwidth of 0 B/s: not above 0");
  bad = c, bad.consumer[1] = 3;
  check_refusal(bad, "tensor 1: there is no op 3 among 3");
  bad = c, bad.bytes[0] = -1;
  check_refusal(bad, "tensor 0 has -1 B: not a finite number of at least 0");
  bad = c, bad.first[0] = 1;
  check_refusal(bad, "tensor 0: first does not rise from 0");
  bad = c, bad.gradient_op[0] = -1;
  check_refusal(bad, "gradient 0: there is no op -1 among 3");
  bad = c, bad.gradient_seconds[0] = INFINITY;
  check_refusal(bad, "gradient 0 takes inf s: not a finite number of at least 0");
  bad = c, bad.p.per_op = -1;
  check_refusal(bad, "per_op is -1 s: not a finite number of at least 0");
  bad = c, bad.bytes[1] = 1e308, bad.bandwidth[1] = 1e-10;
  check_refusal(bad, "the costs are out of range: tensor 1 costs inf s");
  point(&c);
  berth_sfb_value v;
  CHECK_ERROR(berth_sfb_measure(ctx, &c.p, x, NULL, NULL, &v), BERTH_EINVAL, "op 0 is barred");
}

static berth_status choose(const void *what) {
  (void)what;
  sfb_case c = layer(BERTH_SFB_PER_DEVICE, 6, 2);
  point(&c);
  uint8_t x[3];
  berth_sfb_value v;
  return berth_sfb_choose(ctx, &c.p, x, NULL, NULL, &v);
}

TEST("a layer of 1024 x 1024 at batch 6 on 2 devices") {
  check_layer(BERTH_SFB_COMPAT, 6, 2, -1416.7);
  check_layer(BERTH_SFB_PER_DEVICE, 6, 2, -1463.9);
}

TEST("the same at batch 96 on 16 devices") {
  check_layer(BERTH_SFB_COMPAT, 96, 16, 64970.9);
  check_layer(BERTH_SFB_PER_DEVICE, 96, 16, -2498.8);
}

TEST("no ops: nothing to choose") {
  berth_sfb_problem p = berth_sfb_default(BERTH_SFB_PER_DEVICE);
  berth_sfb_value v;
  uint8_t none[1];
  CHECK_OK(berth_sfb_choose(ctx, &p, none, NULL, NULL, &v));
  CHECK(v.total == 0 && v.duplicated == 0);
}

TEST("per-device: the cut is the enumeration's best set on random problems") {
  CHECK(check_cases(BERTH_SFB_PER_DEVICE, 1) > check_runs(50, 250));
}

TEST("compat: the cut is the enumeration's best set on random problems") {
  CHECK(check_cases(BERTH_SFB_COMPAT, 2) > check_runs(25, 125));
}
TEST("allocation failures leave nothing behind") { refuse_each(choose, NULL, 1, 0); }
