/* Fitted constants of kernels and collectives, by scripts/bench/llm_fit on 2026-11-30; not
 * to be edited. Rows: every second shape of the tables of ai-dynamo/aiconfigurator
 * and the shares of bus bandwidth of aliyun/SimAI (Apache-2.0 both). Errors: mean
 * of |estimate / measurement - 1|; held out: fitted on one half of the shapes,
 * tested on the other, both ways. Fields: berth/cost.h. */
#include "kernels_internal.h"

const berth_kernels berth_i_fitted_kernels[] = {
  {
    .gpu = "A100", .arithmetic = "bf16", .constants = "A100 bf16", .fitted = 1,
    .source =
        "products, m >= 1024: 558 rows, 3.6 % (held out 3.9 %)\n"
        "products, 128 <= m < 1024: 1008 rows, 7.7 % (held out 7.5 %)\n"
        "products, m < 128: 1421 rows, 8.5 % (held out 8.2 %)\n"
        "products, n or k < 512: 1610 rows, 14.9 % (held out 15.5 %)\n"
        "attention, head 128 s >= 512: 1405 rows, 1.9 % (held out 1.9 %)\n"
        "attention, head 128 s < 512: 1019 rows, 5.9 % (held out 5.9 %)\n"
        "collectives, all-reduce all sizes: 126 rows, 4.6 % (held out 4.9 %)\n"
        "collectives, all-gather all sizes: 126 rows, 4.6 % (held out 4.7 %)\n"
        "collectives, reduce-scatter all sizes: 126 rows, 4.6 % (held out 4.8 %)\n"
        "collectives, all-to-all all sizes: 126 rows, 4.3 % (held out 4.8 %)\n"
        "attention, head 64: not fitted, efficiency by the H100's ratio to head 128\n"
        "fitted 2026-11-30 by scripts/bench/llm_fit",
    .flops = 3.12e+14, .memory_bandwidth = 2.039e+12, .sms = 108, .fabric = 3e+11,
    .element_bytes = 2, .attention_block = 64,
    .gemm = { .efficiency = { 0, 0.95, 0, 0, 0.7246, 0, 0, 0.6634 },
              .k_start = 191.3, .bandwidth = 0.7466, .launch = 2.664e-06,
              .partial = 0.06745, .droop = 0.02003, .norm = 4.316,
              .split_traffic = 0.2954, .split_launch = 1.843e-06,
              .quantise = 0, .quantise_launch = 0 },
    .attention = { /* head size, efficiency, tail, block, launch, traffic, kv */
    { 64, 0.4995, 0.9506, 1.167e-07, 1.153e-05, 3.127, 0.4981 },
    { 128, 0.541, 0.9506, 1.167e-07, 1.153e-05, 3.127, 0.4981 },
    },
    .collective = { /* all-reduce, all-gather, reduce-scatter, all-to-all */
    /* start, step, low, low128_start, low128, low128_n, simple_start, simple,
     * simple_n, ramp */
    { 7.779e-06, 1.042e-06, 0.03644, 2.598e-06, 0.3525, 0.3593, 1.08e-05, 0.7641, 0.04095, 5.415 },
    { 7.956e-06, 9.512e-07, 0.01783, 3.657e-06, 0.3162, 0.2802, 8.981e-06, 0.6607, 0.1443, 4.934 },
    { 8.009e-06, 8.998e-07, 0.01858, 2.02e-06, 0.2684, 0.3017, 1.282e-05, 0.7001, 0.09046, 4.106 },
    { 9.246e-06, 1.387e-06, 0.01499, 1.504e-06, 0.224, 0.2529, 6.413e-06, 0.6613, 0.09939, 3.558 },
    },
  },
  {
    .gpu = "H100", .arithmetic = "bf16", .constants = "H100 bf16", .fitted = 1,
    .source =
        "products, m >= 1024: 4992 rows, 4.5 % (held out 4.5 %)\n"
        "products, 128 <= m < 1024: 2289 rows, 6.8 % (held out 6.8 %)\n"
        "products, m < 128: 4702 rows, 5.6 % (held out 5.7 %)\n"
        "products, n or k < 512: 5923 rows, 9.5 % (held out 9.5 %)\n"
        "attention, head 64 s >= 512: 1519 rows, 3.7 % (held out 3.7 %)\n"
        "attention, head 64 s < 512: 1319 rows, 12.0 % (held out 12.0 %)\n"
        "attention, head 128 s >= 512: 1664 rows, 3.6 % (held out 3.7 %)\n"
        "attention, head 128 s < 512: 1408 rows, 6.3 % (held out 6.3 %)\n"
        "attention, head 192 s >= 512: 197 rows, 4.4 % (held out 4.5 %)\n"
        "attention, head 192 s < 512: 158 rows, 4.3 % (held out 4.3 %)\n"
        "attention, head 256 s >= 512: 1450 rows, 5.5 % (held out 5.6 %)\n"
        "attention, head 256 s < 512: 1353 rows, 5.5 % (held out 5.6 %)\n"
        "collectives, all-reduce all sizes: 252 rows, 4.3 % (held out 4.7 %)\n"
        "collectives, all-gather all sizes: 252 rows, 3.9 % (held out 4.0 %)\n"
        "collectives, reduce-scatter all sizes: 252 rows, 3.8 % (held out 4.2 %)\n"
        "collectives, all-to-all all sizes: 252 rows, 7.2 % (held out 7.3 %)\n"
        "fitted 2026-11-30 by scripts/bench/llm_fit",
    .flops = 9.894e+14, .memory_bandwidth = 3.35e+12, .sms = 132, .fabric = 4.5e+11,
    .element_bytes = 2, .attention_block = 128,
    .gemm = { .efficiency = { 0, 0.8399, 0, 0, 0, 0, 0.8334, 0.6398 },
              .k_start = 146.1, .bandwidth = 0.8137, .launch = 2.472e-06,
              .partial = 0.8434, .droop = 0.01474, .norm = 3.807,
              .split_traffic = 1.202, .split_launch = 1.979e-06,
              .quantise = 0, .quantise_launch = 0 },
    .attention = { /* head size, efficiency, tail, block, launch, traffic, kv */
    { 64, 0.5918, 0.5761, 1.961e-07, 1.517e-05, 4.474, 0.3123 },
    { 128, 0.6411, 0.5324, 1.548e-07, 1.154e-05, 2.767, 0.577 },
    { 192, 0.7026, 0.5226, 4.71e-07, 1.292e-05, 2.708, 0.1167 },
    { 256, 0.6346, 0.5, 1.568e-07, 1.206e-05, 2.067, 0.7561 },
    },
    .collective = { /* all-reduce, all-gather, reduce-scatter, all-to-all */
    /* start, step, low, low128_start, low128, low128_n, simple_start, simple,
     * simple_n, ramp */
    { 4.847e-06, 7.791e-07, 0.04149, 1.117e-06, 0.3542, 0.1185, 2.907e-06, 0.8348, 0.1137, 3.521 },
    { 4.619e-06, 8.278e-07, 0.02355, 8.044e-07, 0.3029, 0.234, 7.332e-06, 0.7181, 0.1469, 2.757 },
    { 4.964e-06, 7.78e-07, 0.0417, 5.123e-07, 0.3643, 0.2849, 3.987e-06, 0.6898, 0.1966, 2.542 },
    { 6.121e-06, 3.329e-07, 0.03125, 5.513e-06, 0.5365, 0.1034, 6.793e-06, 0.7359, 0.02777, 2.646 },
    },
  },
  {
    .gpu = "H100", .arithmetic = "fp8", .constants = "H100 fp8", .fitted = 1,
    .source =
        "products, m >= 1024: 5108 rows, 4.4 % (held out 4.5 %)\n"
        "products, 128 <= m < 1024: 2297 rows, 3.8 % (held out 3.9 %)\n"
        "products, m < 128: 4604 rows, 2.9 % (held out 2.9 %)\n"
        "products, n or k < 512: 5929 rows, 5.8 % (held out 5.8 %)\n"
        "attention, head 64 s >= 512: 1519 rows, 3.7 % (held out 3.7 %)\n"
        "attention, head 64 s < 512: 1319 rows, 12.0 % (held out 12.0 %)\n"
        "attention, head 128 s >= 512: 1664 rows, 3.6 % (held out 3.7 %)\n"
        "attention, head 128 s < 512: 1408 rows, 6.3 % (held out 6.3 %)\n"
        "attention, head 192 s >= 512: 197 rows, 4.4 % (held out 4.5 %)\n"
        "attention, head 192 s < 512: 158 rows, 4.3 % (held out 4.3 %)\n"
        "attention, head 256 s >= 512: 1450 rows, 5.5 % (held out 5.6 %)\n"
        "attention, head 256 s < 512: 1353 rows, 5.5 % (held out 5.6 %)\n"
        "collectives, all-reduce all sizes: 252 rows, 4.3 % (held out 4.7 %)\n"
        "collectives, all-gather all sizes: 252 rows, 3.9 % (held out 4.0 %)\n"
        "collectives, reduce-scatter all sizes: 252 rows, 3.8 % (held out 4.2 %)\n"
        "collectives, all-to-all all sizes: 252 rows, 7.2 % (held out 7.3 %)\n"
        "attention: that of 16 bits\n"
        "fitted 2026-11-30 by scripts/bench/llm_fit",
    .flops = 1.9789e+15, .memory_bandwidth = 3.35e+12, .sms = 132, .fabric = 4.5e+11,
    .element_bytes = 1, .attention_block = 128,
    .gemm = { .efficiency = { 0, 0, 0, 0, 0, 0, 0.7949, 0.7588 },
              .k_start = 290.6, .bandwidth = 0.7956, .launch = 2.472e-06,
              .partial = 1, .droop = 0.007595, .norm = 4.731,
              .split_traffic = 0, .split_launch = 2.818e-06,
              .quantise = 6.42, .quantise_launch = 9.568e-06 },
    .attention = { /* head size, efficiency, tail, block, launch, traffic, kv */
    { 64, 0.2959, 0.5761, 1.961e-07, 1.517e-05, 4.474, 0.3123 },
    { 128, 0.3205, 0.5324, 1.548e-07, 1.154e-05, 2.767, 0.577 },
    { 192, 0.3513, 0.5226, 4.71e-07, 1.292e-05, 2.708, 0.1167 },
    { 256, 0.3173, 0.5, 1.568e-07, 1.206e-05, 2.067, 0.7561 },
    },
    .collective = { /* all-reduce, all-gather, reduce-scatter, all-to-all */
    /* start, step, low, low128_start, low128, low128_n, simple_start, simple,
     * simple_n, ramp */
    { 4.847e-06, 7.791e-07, 0.04149, 1.117e-06, 0.3542, 0.1185, 2.907e-06, 0.8348, 0.1137, 3.521 },
    { 4.619e-06, 8.278e-07, 0.02355, 8.044e-07, 0.3029, 0.234, 7.332e-06, 0.7181, 0.1469, 2.757 },
    { 4.964e-06, 7.78e-07, 0.0417, 5.123e-07, 0.3643, 0.2849, 3.987e-06, 0.6898, 0.1966, 2.542 },
    { 6.121e-06, 3.329e-07, 0.03125, 5.513e-06, 0.5365, 0.1034, 6.793e-06, 0.7359, 0.02777, 2.646 },
    },
  },
};
const int berth_i_n_fitted_kernels = 3;

/* machines, rings: 77 rows, 7.8 % (held out 8.5 %) */
/* machines, all-to-all: 44 rows, 6.9 % (held out 7.5 %) */
const berth_i_network berth_i_fitted_network = { 0.9706, 4.034e-05, 0.9006, 0.0002644 };
