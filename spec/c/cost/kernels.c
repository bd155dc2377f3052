/* Kernel times by hand from the forms, with constants that are easy to compute with; what holds of
 * the fitted ones; the cost seam. */
#include "must.h"

/* 1e12 FLOP/s on two multiprocessors, 1e12 B/s of which half is reached, one tile of 64 x 64 at
 * half the peak; a norm so large that the larger time counts alone. */
static berth_kernels simple(void) {
  berth_kernels k = { .flops = 1e12, .memory_bandwidth = 1e12, .sms = 2, .fabric = 1e9,
                      .element_bytes = 2, .attention_block = 64 };
  k.gemm = (berth_gemm_constants){ .efficiency = { [7] = 0.5 }, .k_start = 64, .bandwidth = 0.5,
                                   .launch = 1e-6, .norm = 1000, .split_launch = 1 };
  k.attention[0] = (berth_attention_constants){ .head_size = 64, .efficiency = 0.5, .tail = 1,
                                                .launch = 1e-6, .traffic = 1, .kv = 1 };
  return k;
}

static berth_kernels fitted(const char *preset, const char *dtype) {
  berth_device d;
  berth_kernels k = { .gpu = NULL };
  CHECK_OK(berth_device_preset(ctx, preset, &d));
  CHECK_OK(berth_kernels_of(ctx, &d, dtype, &k));
  return k;
}

TEST("a product: waves of tiles, or memory, and a launch") {
  berth_kernels k = simple();
  /* 4 tiles on 2 multiprocessors: 2 waves of 2 * 64^2 (64 + 64) FLOP at 0.25e12 FLOP/s */
  double wave = 2.0 * 64 * 64 * 128 / 0.25e12;
  CHECK_NEAR(berth_kernel_gemm(&k, 128, 128, 64), 2 * wave + 1e-6, 1e-15);
  CHECK_NEAR(berth_kernel_gemm(&k, 129, 64, 64), 2 * wave + 1e-6, 1e-15); /* 3 tiles */
  k.gemm.partial = 1;
  CHECK_NEAR(berth_kernel_gemm(&k, 129, 64, 64), 1.5 * wave + 1e-6, 1e-15);
  CASE("k is split where that is faster");
  k.gemm.split_launch = 0;
  k.gemm.k_start = 0;
  /* one tile leaves one idle; two parts of k: half the steps */
  CHECK_NEAR(berth_kernel_gemm(&k, 64, 64, 6400), 2.0 * 64 * 64 * 3200 / 0.25e12 + 1e-6, 1e-15);
  CASE("memory");
  k.flops = 1e18;
  CHECK_NEAR(berth_kernel_gemm(&k, 64, 128, 256),
             2.0 * (64 * 256 + 256 * 128 + 64 * 128) / 0.5e12 + 1e-6, 1e-15);
  CHECK(berth_kernel_gemm(&k, 0, 128, 256) == 0 && isnan(berth_kernel_gemm(&k, -1, 8, 8)));
}

TEST("n or k that tensor cores dislike") {
  berth_kernels k = simple();
  double base = berth_kernel_gemm(&k, 64, 128, 128) - 1e-6;
  CHECK_NEAR(berth_kernel_gemm(&k, 64, 120, 128) - 1e-6, 1.25 * base, 1e-15);
  CHECK_NEAR(berth_kernel_gemm(&k, 64, 127, 128) - 1e-6, 3 * base, 1e-15);
  CHECK_NEAR(berth_kernel_gemm(&k, 63, 128, 128) - 1e-6, base, 1e-15);
}

TEST("attention: blocks below the diagonal, a window, all of them, backward") {
  berth_kernels k = simple();
  k.memory_bandwidth = 1e30;
  berth_attention a = { .batch = 2, .seq = 256, .heads = 2, .head_size = 64 };
  double one = 4.0 * 64 * 64 * 64 / 0.25e12; /* s a block */
  CHECK_NEAR(berth_kernel_attention(&k, &a), (10 * 4 / 2.0 + 4) * one + 1e-6, 1e-15);
  a.full = 1;
  CHECK_NEAR(berth_kernel_attention(&k, &a), (16 * 4 / 2.0 + 4) * one + 1e-6, 1e-15);
  a.backward = 1;
  CHECK_NEAR(berth_kernel_attention(&k, &a), 2.5 * (16 * 4 / 2.0 + 4) * one + 1e-6, 1e-15);
  a.full = a.backward = 0;
  a.window = 64; /* the block itself and the one before: 1 + 2 + 2 + 2 */
  CHECK_NEAR(berth_kernel_attention(&k, &a), (7 * 4 / 2.0 + 2) * one + 1e-6, 1e-15);
  CASE("memory: query, output, key and value");
  k.memory_bandwidth = 1e6;
  k.flops = 1e30;
  a.kv_heads = 1;
  CHECK_NEAR(berth_kernel_attention(&k, &a), 2.0 * (2 + 1) * 128 * 256 * 2 / 1e6 + 1e-6, 1e-9);
}

TEST("work without a shape: the product with n = k that moves these bytes") {
  berth_kernels k = simple();
  double m = 128, n = 512;
  CHECK_NEAR(berth_kernel_work(&k, "linear", 2 * m * n * n, 2 * (2 * m * n + n * n)),
             berth_kernel_gemm(&k, m, n, n), 1e-9);
  CHECK_NEAR(berth_kernel_work(&k, NULL, 3e6, 1e6), 1e6 / 0.5e12 + 1e-6, 1e-15); /* 3 a byte */
  CHECK_NEAR(berth_kernel_work(&k, "attention", 1e9, 1e6), 1e9 / 0.5e12 + 1e-6 + 1e-6, 1e-15);
  CHECK(berth_kernel_work(&k, NULL, 0, 0) == 0 && isnan(berth_kernel_work(&k, NULL, -1, 0)));
}

TEST("ops with a shape: copies in blocks of 128 rows, gradients, bytes of the op") {
  berth_kernels k = simple();
  berth_shape s = { .product = { .m = 64, .n = 128, .k = 256 } };
  CHECK(berth_kernel_shape(&k, &s, 0) == berth_kernel_gemm(&k, 64, 128, 256));
  s.product.copies = 3;
  CHECK(berth_kernel_shape(&k, &s, 0) == berth_kernel_gemm(&k, 3 * 128, 128, 256));
  s.product.copies = 1;
  s.product.gradients = 1;
  CHECK(berth_kernel_shape(&k, &s, 0)
        == berth_kernel_gemm(&k, 64, 256, 128) + berth_kernel_gemm(&k, 256, 128, 64));
  CASE("memory: what the op moves, where that is less");
  s.product.gradients = 0;
  k.flops = 1e18;
  CHECK_NEAR(berth_kernel_shape(&k, &s, 5e4), 5e4 / 0.5e12 + 1e-6, 1e-15);
  CHECK(berth_kernel_shape(&k, &s, 5e9) == berth_kernel_gemm(&k, 64, 128, 256));
  CASE("copies that all read other columns");
  s.product = (berth_product){ .m = 1, .n = 1024, .k = 1024, .copies = 100 };
  CHECK_NEAR(berth_kernel_shape(&k, &s, 0), 100.0 * 1024 * 1024 * 2 / 0.5e12 + 1e-6, 1e-15);
  CASE("attention");
  s = (berth_shape){ .attention = { .seq = 256, .heads = 2, .head_size = 64 } };
  CHECK(berth_kernel_shape(&k, &s, 1) == berth_kernel_attention(&k, &s.attention));
  s.attention.batch = 1;
  CHECK(berth_kernel_shape(&k, &s, 1) == berth_kernel_shape(&k, &s, 0));
  CHECK(isnan(berth_kernel_shape(&k, &(berth_shape){ .product = { .m = 0 } }, 0)));
}

TEST("collectives: steps and the fastest of three protocols") {
  berth_kernels k = simple();
  k.collective[0] = (berth_collective_constants){ .start = 1, .step = 0.5, .low = 0.5,
                                                  .low128_start = 8, .low128 = 0.8,
                                                  .simple_start = 100, .simple = 1 };
  /* 4 GPUs: 6 steps; each sends 2 * 3 / 4 of the bytes at 1e9 B/s */
  CHECK_NEAR(berth_kernel_collective(&k, BERTH_ALLREDUCE, 4e9, 4, 1, 0), 1 + 3 + 6 / 0.5, 1e-9);
  CHECK_NEAR(berth_kernel_collective(&k, BERTH_ALLREDUCE, 40e9, 4, 1, 0), 4 + 8 + 60 / 0.8, 1e-9);
  CHECK_NEAR(berth_kernel_collective(&k, BERTH_ALLREDUCE, 4e12, 4, 1, 0), 4 + 100 + 6000, 1e-6);
  CHECK(berth_kernel_collective(&k, BERTH_ALLREDUCE, 4e9, 1, 1, 0) == 0);
  CHECK(isnan(berth_kernel_collective(&k, BERTH_BROADCAST, 8, 4, 1, 0)));
  CHECK(isnan(berth_kernel_collective(&k, BERTH_ALLREDUCE, 8, 2, 3, 1)));
}

static double machines(const berth_kernels *k, double bytes, int32_t n) {
  return berth_kernel_collective(k, BERTH_ALLREDUCE, bytes, 8 * n, n, 400e9);
}

TEST("across machines: the slower of fabric and network, and a start-up by machines") {
  berth_kernels k = fitted("H100", NULL);
  double step = machines(&k, 1, 5) - machines(&k, 1, 4);
  /* a ring of N machines starts in N times the time of one, and twice for an all-reduce */
  CHECK(step > 1e-5 && step < 1e-3);
  CHECK_NEAR(machines(&k, 1, 105) - machines(&k, 1, 104), step, 0.02 * step);
  CHECK(berth_kernel_collective(&k, BERTH_ALLREDUCE, 1e9, 16, 2, 10e9)
        > 9 * berth_kernel_collective(&k, BERTH_ALLREDUCE, 1e9, 16, 2, 100e9));
}

TEST("fitted constants: their GPU, or the nearest one that was") {
  berth_kernels a100 = fitted("A100", NULL), h100 = fitted("H100", "fp8"),
                v100 = fitted("V100", "fp16");
  CHECK(a100.fitted && h100.fitted && !v100.fitted);
  CHECK_TEXT(a100.constants, "A100 bf16");
  CHECK_TEXT(h100.constants, "H100 fp8");
  CHECK_TEXT(v100.constants, "A100 bf16");
  CHECK(v100.sms == 80 && v100.flops == 125e12 && v100.memory_bandwidth == 900e9);
  CHECK(h100.flops == 1978.9e12 && h100.element_bytes == 1 && a100.element_bytes == 2);
  CASE("a device without a preset's name");
  berth_device d = berth_device_default();
  berth_kernels k;
  d.flops = 800e12;
  CHECK_STATUS(berth_kernels_of(ctx, &d, "bf16", &k), BERTH_EINVAL);
  d.memory_bandwidth = 3e12;
  CHECK_OK(berth_kernels_of(ctx, &d, "bf16", &k));
  CHECK_TEXT(k.constants, "H100 bf16");
  CHECK(!k.fitted && k.flops == 800e12 && *k.gpu == '\0');
}

TEST("no constant at a bound that is not a form of its own; shares are below 1") {
  static const char *const of[][2] = { { "A100", "bf16" }, { "H100", "bf16" }, { "H100", "fp8" } };
  for (int i = 0; i < 3; i++) {
    berth_kernels k = fitted(of[i][0], of[i][1]);
    for (int t = 0; t < 8; t++) CHECK(k.gemm.efficiency[t] >= 0 && k.gemm.efficiency[t] < 0.99);
    CHECK(k.gemm.bandwidth > 0.3 && k.gemm.bandwidth < 0.99 && k.gemm.launch > 1e-6);
    CHECK(k.gemm.k_start > 2 && k.gemm.k_start < 998 && k.gemm.norm < 19.9);
    for (int c = 0; c < 4; c++) {
      CHECK(k.collective[c].simple > 0.3 && k.collective[c].simple < 0.99);
      CHECK(k.collective[c].low128_n < 0.49 && k.collective[c].simple_n < 0.49);
    }
  }
}

/* More of a dimension by `factor` never takes clearly less time: choices of tiles may cost some. */
TEST("times grow with work") {
  berth_kernels k[2] = { fitted("A100", NULL), fitted("H100", NULL) };
  for (int g = 0; g < 2; g++) {
    double before[3] = { 0, 0, 0 };
    for (double x = 64; x <= 65536; x *= 2) {
      double t[3] = { berth_kernel_gemm(&k[g], x, 4096, 4096),
                      berth_kernel_gemm(&k[g], 2048, x, 4096),
                      berth_kernel_collective(&k[g], BERTH_ALLTOALL, x * 1024, 8, 1, 0) };
      for (int i = 0; i < 3; i++) CHECK(t[i] >= 0.999 * before[i]);
      memcpy(before, t, sizeof t);
    }
    double rate = 2 * pow(8192, 3) / berth_kernel_gemm(&k[g], 8192, 8192, 8192) / k[g].flops;
    CHECK(rate > 0.5 && rate < 0.95);
  }
}

/* ---- the seam ---- */

static const berth_shape *shape; /* of the op of op_time */

static double op_time(const berth_cost_model *m, const char *preset, const char *kind, double flop,
                      double bytes, const char *dtype) {
  berth_device d;
  berth_link l = { 300e9, 1e-6 };
  berth_topology *t;
  berth_cost *c;
  CHECK_OK(berth_device_preset(ctx, preset, &d));
  CHECK_OK(berth_topology_mesh(ctx, 2, &d, &l, &t));
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_dtype(b, dtype));
  berth_op op = berth_op_default();
  op.flop = flop;
  op.bytes = bytes;
  op.kind = kind;
  op.shape = shape;
  must_add_op(b, &op);
  berth_graph *g = must_graph(b);
  CHECK_OK(berth_cost_new(g, t, m, &c));
  double s = berth_cost_op(c, 0, 1);
  berth_cost_release(c);
  berth_topology_release(t);
  RELEASE(g);
  return s;
}

static berth_status own_op(void *ud, int32_t op, int32_t device, double *seconds) {
  (void)ud, (void)op;
  *seconds = device == 0 ? 7 : BERTH_COST_BUILT_IN;
  return BERTH_OK;
}

TEST("form kernels prices ops of a graph; without shapes the roofline is the default") {
  berth_cost_model m = { .form = BERTH_FORM_KERNELS };
  berth_kernels k = fitted("H100", "bf16");
  double flop = 2 * pow(4096, 3), bytes = 6 * pow(4096, 2);
  double by_kernels = berth_kernel_work(&k, "linear", flop, bytes);
  CHECK_NEAR(op_time(&m, "H100", "linear", flop, bytes, "bf16"), by_kernels, 1e-15);
  CHECK_NEAR(op_time(NULL, "H100", "linear", flop, bytes, "bf16"), flop / 989.4e12 + 5e-6, 1e-15);
  CHECK_NEAR(op_time(&m, "H100", "gelu", 8e6, 4e6, "bf16"), berth_kernel_elementwise(&k, 4e6),
             1e-15);
  CASE("with a shape kernels are the default, where constants were fitted");
  const berth_shape s = { .product = { .m = 4096, .n = 4096, .k = 4096 } };
  shape = &s;
  double gemm = berth_kernel_gemm(&k, 4096, 4096, 4096);
  CHECK(op_time(&m, "H100", "linear", flop, bytes, "bf16") == gemm);
  CHECK(op_time(NULL, "H100", "linear", flop, bytes, "bf16") == gemm);
  CHECK_NEAR(op_time(NULL, "H100", "linear", flop, bytes, "fp32"), flop / 494.7e12 + 5e-6, 1e-15);
  CHECK_NEAR(op_time(NULL, "V100", "linear", flop, bytes, "fp16"), flop / 125e12 + 5e-6, 1e-15);
  m.form = BERTH_FORM_ROOFLINE;
  CHECK_NEAR(op_time(&m, "H100", "linear", flop, bytes, "bf16"), flop / 989.4e12 + 5e-6, 1e-15);
  m.form = BERTH_FORM_KERNELS;
  shape = NULL;
  CASE("a function replaces the ops that it wants");
  m.op = own_op;
  CHECK_NEAR(op_time(&m, "H100", "linear", flop, bytes, "bf16"), by_kernels, 1e-15);
}

TEST("algorithm nccl: inside and across machines of a topology") {
  static const int32_t ids[] = { 0, 1, 2, 3 }, near_[] = { 0, 1 };
  berth_kernels k = fitted("A100", NULL);
  berth_device d;
  berth_link inside = { 200e9, 1e-6 }, between = { 20e9, 5e-6 };
  berth_topology *t;
  CHECK_OK(berth_device_preset(ctx, "A100", &d));
  CHECK_OK(berth_topology_two_level(ctx, 2, 2, &d, &inside, &between, &t));
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < 4; i++) must_text(b, "1");
  berth_collective all = { BERTH_ALLREDUCE, 1e9, 1, 4, ids, 0, NULL };
  berth_collective two = { BERTH_ALLGATHER, 1e6, 1, 2, near_, 0, NULL };
  must_add_collective(b, &all);
  must_add_collective(b, &two);
  berth_graph *g = must_graph(b);
  berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_NCCL };
  berth_cost *c;
  CHECK_OK(berth_cost_new(g, t, &m, &c));
  berth_collective_algorithm how;
  double s;
  k.fabric = 200e9;
  CHECK_OK(berth_cost_collective_by(c, 0, 4, ids, &s, &how));
  CHECK_NEAR(s, berth_kernel_collective(&k, BERTH_ALLREDUCE, 1e9, 4, 2, 20e9), 1e-12);
  CHECK_TEXT(berth_collective_algorithm_name(how), "nccl");
  CHECK_OK(berth_cost_collective(c, 1, 2, near_, &s)); /* each adds 1e6: 2e6 in all */
  CHECK_NEAR(s, berth_kernel_collective(&k, BERTH_ALLGATHER, 2e6, 2, 1, 0), 1e-12);
  berth_cost_release(c);
  berth_topology_release(t);
  RELEASE(g);
}
