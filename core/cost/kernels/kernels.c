/* Times of kernels and of NCCL's collectives by closed forms; constants.c has what was fitted.
 * Matrix products: the library picks the fastest of 8 tiles, and splits k where tiles are fewer
 * than multiprocessors. Tiles run in waves; a wave that is not full wastes what is idle. A
 * collective takes the fastest of NCCL's protocols LL, LL128 and Simple. docs/kernels.md has all
 * forms. */
#include "cost/cost_internal.h"
#include "kernels_internal.h"

static const double tile_m[8] = { 256, 128, 128, 256, 64, 128, 64, 64 };
static const double tile_n[8] = { 128, 256, 128, 64, 256, 64, 128, 64 };

/* ---- matrix products ---- */

static double up(double x, double step) { return ceil(x / step); }

static double waves(double tiles, double sms, double partial) {
  double w = tiles / sms;
  return w < 1 ? 1 : (1 - partial) * ceil(w) + partial * w;
}

/* Seconds of `tiles` tiles of one kind for each of `split` parts of k. */
static double tiled(const berth_kernels *g, int tile, double tiles, double m, double n, double k,
                    double split) {
  const berth_gemm_constants *c = &g->gemm;
  double steps = 64 * up(k, 64 * split) + c->k_start;
  double rate = g->flops / g->sms * c->efficiency[tile];
  double t = waves(tiles * split, g->sms, c->partial);
  t *= 2 * tile_m[tile] * tile_n[tile] * steps / rate;
  if (split == 1) return t;
  double traffic = c->split_traffic * 8 * m * n * split;
  return t + traffic / (g->memory_bandwidth * c->bandwidth) + c->split_launch;
}

/* A split costs at least its tiles at the full rate: what is not below the best is left out. */
static double fastest(const berth_kernels *g, double m, double n, double k) {
  double best = INFINITY;
  for (int tile = 0; tile < 8; tile++) {
    double e = g->gemm.efficiency[tile];
    if (e <= 0) continue;
    double tiles = up(m, tile_m[tile]) * up(n, tile_n[tile]);
    double full = tiles * 2 * tile_m[tile] * tile_n[tile] / (g->flops * e);
    for (double split = 1; split <= 8; split *= 2)
      if (full * (k + split * g->gemm.k_start) < best)
        best = fmin(best, tiled(g, tile, tiles, m, n, k, split));
  }
  return best;
}

static bool multiple(double x, double of) { return x == of * floor(x / of); }

/* By hand: BLOOM's sweeps with hidden sizes and vocabularies that tensor cores dislike. */
static double misaligned(double n, double k) {
  if (!multiple(n, 8) || !multiple(k, 8)) return 3;
  return (n > 64 && !multiple(n, 64)) || (k > 64 && !multiple(k, 64)) ? 1.25 : 1;
}

/* @param bytes moved to and from memory: no more than operands and result */
static double product(const berth_kernels *g, double m, double n, double k, double slower,
                      double bytes) {
  const berth_gemm_constants *c = &g->gemm;
  double rate = g->memory_bandwidth * c->bandwidth, flop = 2 * m * n * k;
  if (!(flop > 0)) return flop == 0 ? 0 : (double)NAN;
  double compute = fastest(g, m, n, k) * slower;
  if (flop > 1e11) compute *= 1 + c->droop * log2(flop / 1e11);
  double out_bytes = fmax(2, g->element_bytes);
  double memory = fmin(bytes, g->element_bytes * (m * k + k * n) + out_bytes * m * n) / rate;
  double high = fmax(compute, memory), low = fmin(compute, memory);
  double t = high * pow(1 + pow(low / high, c->norm), 1 / c->norm) + c->launch;
  return g->quantise ? t + c->quantise * m * k / rate + c->quantise_launch : t;
}

double berth_kernel_gemm(const berth_kernels *g, double m, double n, double k) {
  return product(g, m, n, k, misaligned(n, k), INFINITY);
}

/* ---- flash attention ---- */

static const berth_attention_constants *attention_row(const berth_kernels *g, double head_size) {
  const berth_attention_constants *row = g->attention;
  for (int i = 0; i < BERTH_ATTENTION_SIZES && g->attention[i].head_size > 0; i++) {
    row = &g->attention[i];
    if (row->head_size >= head_size) break;
  }
  return row;
}

/* Blocks of keys for the last block of queries, and for all q of them. */
static void count_blocks(const berth_attention *a, double q, double block, double *row,
                         double *all) {
  double seen = a->window > 0 ? up(a->window, block) + 1 : q;
  if (a->full && a->window > 0) seen += seen - 1;
  *row = fmin(q, seen);
  *all = a->full ? q * *row : *row * (*row + 1) / 2 + (q - *row) * *row;
}

double berth_kernel_attention(const berth_kernels *g, const berth_attention *a) {
  const berth_attention_constants *c = attention_row(g, a->head_size);
  double value = a->value_size > 0 ? a->value_size : a->head_size;
  double kv_heads = a->kv_heads > 0 ? a->kv_heads : a->heads;
  double batch = a->batch > 0 ? a->batch : 1, block = g->attention_block, row, blocks;
  count_blocks(a, up(a->seq, block), block, &row, &blocks);
  double flop = 2 * block * block * (a->head_size + value);
  double one = flop / (g->flops / g->sms * c->efficiency) + c->block;
  double compute = fmax(blocks * batch * a->heads * one / g->sms + c->tail * row * one,
                        row * one);
  double elements = (a->heads + c->kv * kv_heads) * (a->head_size + value) * a->seq * batch;
  double t = compute + c->traffic * 2 * elements / g->memory_bandwidth;
  if (!(t >= 0)) return (double)NAN;
  return t > 0 ? t * (a->backward ? 2.5 : 1) + c->launch : 0;
}

/* ---- element-wise work, and work without a shape ---- */

double berth_kernel_elementwise(const berth_kernels *g, double bytes) {
  if (bytes == 0) return 0;
  return bytes / (g->memory_bandwidth * g->gemm.bandwidth) + g->gemm.launch;
}

/* The product with n = k: flop = 2 m n^2, bytes = e (2 m n + n^2). With r = m / n <= 1:
 * f(r) = r^2 / (2 r + 1)^3 = flop^2 e^3 / 4 bytes^3 rises up to f(1) = 1/27. Bisection. */
static double ratio(double f) {
  double low = 0, high = 1;
  if (f >= 1.0 / 27) return 1;
  for (int i = 0; i < 50; i++) {
    double r = (low + high) / 2;
    if (r * r / pow(2 * r + 1, 3) < f) low = r;
    else high = r;
  }
  return (low + high) / 2;
}

static double attention_work(const berth_kernels *g, double flop, double bytes) {
  const berth_attention_constants *c = attention_row(g, 128);
  return flop / (g->flops * c->efficiency) + c->traffic * bytes / g->memory_bandwidth + c->launch;
}

double berth_kernel_work(const berth_kernels *g, const char *kind, double flop, double bytes) {
  if (!(flop >= 0) || !(bytes >= 0)) return (double)NAN;
  if (flop < 4 * bytes || flop == 0) return berth_kernel_elementwise(g, bytes);
  if (kind && strcmp(kind, "attention") == 0) return attention_work(g, flop, bytes);
  double e = g->element_bytes, r = 1;
  if (bytes > 0) r = ratio(flop * flop * e * e * e / (4 * bytes * bytes * bytes));
  double side = cbrt(flop / (2 * r));
  double n = fmax(1, nearbyint(side)), m = fmax(1, nearbyint(r * side));
  return product(g, m, n, flop / (2 * m * n), 1, INFINITY);
}

/* ---- ops with a shape ---- */

/* Each copy has a last block of rows that is not full. */
static double batched(const berth_kernels *g, double m, double n, double k, double copies,
                      double bytes) {
  enum { BLOCK = 128 };
  if (copies <= 1) return product(g, m, n, k, misaligned(n, k), bytes);
  double t = product(g, copies * ceil(m / BLOCK) * BLOCK, n, k, misaligned(n, k), bytes);
  return fmax(t, berth_kernel_elementwise(g, fmin(bytes, copies * k * n * g->element_bytes)));
}

double berth_kernel_shape(const berth_kernels *g, const berth_shape *s, double bytes) {
  const berth_product *p = &s->product;
  if (!(bytes > 0)) bytes = INFINITY;
  if (s->attention.seq > 0) return berth_kernel_attention(g, &s->attention);
  if (!(p->m > 0)) return (double)NAN;
  if (!p->gradients) return batched(g, p->m, p->n, p->k, p->copies, bytes);
  return batched(g, p->m, p->k, p->n, p->copies, bytes)
         + batched(g, p->k, p->n, p->m, p->copies, bytes);
}

/* ---- collectives ---- */

/* Row of berth_kernels.collective, bytes that a GPU sends, messages one after another. */
static int traffic(berth_collective_kind kind, double bytes, double n, double *sent,
                   double *steps) {
  *sent = bytes * (n - 1) / n;
  *steps = n - 1;
  switch (kind) {
    case BERTH_ALLREDUCE: *sent *= 2, *steps *= 2; return 0;
    case BERTH_ALLGATHER: return 1;
    case BERTH_REDUCESCATTER: return 2;
    case BERTH_ALLTOALL: *steps = log2(n); return 3;
    default: return -1;
  }
}

/* `us`: what the bytes would take at the full rate of the fabric. Rates were measured on 2 to 8
 * GPUs; more have that of 8. */
static double protocols(const berth_collective_constants *c, double us, double n) {
  double g = log2(fmin(n, 8)) - 2;
  double low = us / c->low;
  double low128 = c->low128_start * 1e6 + us / (c->low128 * (1 + c->low128_n * g));
  double simple = c->simple_start * 1e6 + us / (c->simple * (1 + c->simple_n * g))
                  + c->ramp * sqrt(us);
  return 1e-6 * fmin(low, fmin(low128, simple));
}

double berth_kernel_collective(const berth_kernels *g, berth_collective_kind kind, double bytes,
                               int32_t n, int32_t machines, double nic) {
  double sent, steps;
  int k = traffic(kind, bytes, n, &sent, &steps);
  if (k < 0 || !(bytes >= 0) || n < 1 || machines < 1 || machines > n) return (double)NAN;
  if (n == 1 || bytes == 0) return 0;
  const berth_collective_constants *c = &g->collective[k];
  double each = (double)n / machines; /* GPUs a machine */
  double inside = protocols(c, sent / g->fabric * 1e6, fmax(each, 2));
  if (machines == 1) return c->start + c->step * steps + inside;
  const berth_i_network *w = &berth_i_fitted_network;
  bool pairs = kind == BERTH_ALLTOALL;
  double rounds = bytes > 0 ? sent / bytes : 0;
  double start = pairs ? w->pairs_start : w->ring_start * machines * rounds;
  /* all GPUs of a machine send their own, measured as if all of it left the machine; a ring's bytes
   * leave it once */
  double leaves = pairs ? sent * each : sent;
  double outside = leaves / (nic * (pairs ? w->pairs_share : w->ring_share));
  return c->start + start + (each > 1 ? fmax(inside, outside) : outside);
}

double berth_kernel_p2p(const berth_kernels *g, double bytes, double nic) {
  if (!(nic > 0)) return berth_kernel_collective(g, BERTH_ALLTOALL, 2 * bytes, 2, 1, 0);
  return bytes == 0 ? 0 : g->collective[3].start
                              + bytes / (nic * berth_i_fitted_network.pairs_share);
}

/* ---- options ---- */

#define KERNELS(name, kind) BERTH_I_OPTION(berth_kernels, name, kind)

const berth_option_table *berth_kernels_option_table(void) {
  static const berth_option options[] = {
    { KERNELS(flops, QUANTITY), .unit = BERTH_FLOP_PER_SECOND, .above = 1,
      .fallback = "that of the preset", .text = "peak" },
    { KERNELS(memory_bandwidth, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1,
      .fallback = "that of the preset", .text = "of the GPU's memory" },
    { KERNELS(fabric, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1,
      .fallback = "that of the GPU of the constants",
      .text = "what a GPU sends inside the machine" },
    { KERNELS(sms, NUMBER), .above = 1, .fallback = "that of the preset",
      .text = "streaming multiprocessors" },
    { KERNELS(quantise, FLAG), .text = "FP8: activations are made FP8 by a kernel of their own" },
    { .key = NULL }
  };
  static const berth_option_table table = { "kernels", options, sizeof(berth_kernels), NULL };
  return &table;
}

/* ---- constants of a device ---- */

static double peak_of(const berth_device *d, const char *dtype) {
  return berth_device_rate(d, dtype, NULL);
}

/* Rows of one GPU are neighbours in the table; its peak in 16 bits is that of the first. */
static const berth_kernels *nearest(const berth_device *d, const char *arithmetic) {
  const berth_kernels *best = NULL;
  bool fp8 = strcmp(arithmetic, "fp8") == 0;
  double peak = fp8 ? peak_of(d, "fp8") / 2 : peak_of(d, "bf16"), least = INFINITY;
  for (int i = 0; i < berth_i_n_fitted_kernels; i++) {
    const berth_kernels *f = &berth_i_fitted_kernels[i];
    if ((strcmp(f->arithmetic, "fp8") == 0) != fp8) continue;
    double far = fabs(log(peak / (fp8 ? f->flops / 2 : f->flops)));
    if (strcmp(f->gpu, d->type ? d->type : "") == 0) far = -1;
    if (far < least) {
      least = far;
      best = f;
    }
  }
  return best;
}

/* The name that lives as long as the program. */
static const char *preset_name(const char *type) {
  const char *const *name = berth_device_presets();
  while (*name && strcmp(*name, type) != 0) name++;
  return *name ? *name : "";
}

static const struct { const char *name; double bytes; } sizes[] = {
  { "fp8", 1 }, { "bf16", 2 }, { "fp16", 2 }, { "tf32", 4 }, { "fp32", 4 }, { "fp64", 8 }
};

static size_t index_of(const char *arithmetic) {
  size_t i = 0, n = sizeof sizes / sizeof *sizes;
  while (i < n && strcmp(sizes[i].name, arithmetic) != 0) i++;
  return i;
}

/* Rows are of 16 bits at most. */
static bool is_fitted(const berth_device *d, const char *used) {
  if (!used || sizes[index_of(used)].bytes > 2) return false;
  return strcmp(nearest(d, used)->gpu, d->type) == 0;
}

bool berth_i_kernels_fitted(const berth_device *d, const char *dtype) {
  const char *used = NULL;
  return berth_device_rate(d, dtype && *dtype ? dtype : "fp32", &used) > 0
         && d->memory_bandwidth > 0 && is_fitted(d, used);
}

berth_status berth_kernels_of(berth_ctx *ctx, const berth_device *d, const char *dtype,
                              berth_kernels *out) {
  if (!ctx) return BERTH_EINVAL;
  const char *asked = dtype && *dtype ? dtype : "bf16", *used;
  if (index_of(asked) == sizeof sizes / sizeof *sizes)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "kernels: dtype \"%s\" is none of fp8, bf16, fp16, tf32, fp32, fp64",
                        asked);
  double rate = berth_device_rate(d, asked, &used);
  if (!(rate > 0) || isinf(rate) || !(d->memory_bandwidth > 0) || isinf(d->memory_bandwidth))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "kernels of a device of type \"%s\": %g FLOP/s and %g B/s (0: unknown): "
                        "the device needs a preset, or flops and memory_bandwidth",
                        d->type ? d->type : "", rate, d->memory_bandwidth);
  const char *arithmetic = used ? used : sizes[index_of(asked)].name;
  const berth_kernels *f = nearest(d, arithmetic);
  double sms = berth_i_device_sms(d->type);
  *out = *f;
  out->gpu = used ? preset_name(d->type) : "";
  out->arithmetic = arithmetic;
  out->element_bytes = sizes[index_of(arithmetic)].bytes;
  out->fitted = is_fitted(d, used);
  out->flops = rate;
  out->memory_bandwidth = d->memory_bandwidth;
  if (sms > 0) out->sms = sms;
  return BERTH_OK;
}
