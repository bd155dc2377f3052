/* Times of a layer, the embedding and the head on one GPU: kernels of their true shapes under the
 * plan, collectives of tensor, context and expert parallelism, and the framework's factors. */
#include "step_internal.h"

enum { HALF = 2, SINGLE = 4, MOST_PRODUCTS = 24,
       EXPERT_LAUNCHES = 5 }; /* a layer with experts launches so many times the kernels */

void berth_i_llm_spend(berth_i_llm_spent *a, const berth_i_llm_spent *b, double n) {
  for (int k = 0; k < BERTH_LLM_TIME_KINDS; k++) a->of[k] += n * b->of[k];
  a->hidden += n * b->hidden;
}

double berth_i_llm_sum(const berth_i_llm_spent *x) {
  double sum = 0;
  for (int k = 0; k < BERTH_LLM_TIME_KINDS; k++) sum += x->of[k];
  return sum;
}

/* ---- prices of a GPU ---- */

static berth_status kernels_of(berth_ctx *ctx, const berth_llm_gpus *g, const char *dtype,
                               berth_kernels *out) {
  berth_device d = berth_device_default();
  berth_status st = BERTH_OK;
  if (g->sheet) {
    st = berth_device_preset(ctx, g->sheet->name, &d);
  } else {
    d.flops = g->flops;
    d.memory_bandwidth = g->memory_bandwidth;
  }
  if (st == BERTH_OK) st = berth_kernels_of(ctx, &d, dtype, out);
  if (st == BERTH_OK && !isinf(g->link)) out->fabric = g->link;
  return st;
}

/* BF16 and FP16 have one rate, but for GPUs that have no BF16: these train in FP16. */
static const char *half_of(const berth_llm_gpus *g) {
  return g->sheet && !(g->sheet->bf16 > 0) ? "fp16" : "bf16";
}

berth_status berth_i_llm_prices_of(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p,
                                   const berth_llm_gpus *g, const berth_llm_factors *f,
                                   berth_i_llm_prices *out) {
  bool fp8 = p->dtype == BERTH_LLM_FP8;
  *out = (berth_i_llm_prices){ .m = m, .p = p, .f = f, .g = g, .tokens = berth_i_llm_tokens(p),
                               .sequence = p->sequence_parallel == BERTH_LLM_ON ? 1.0 / p->tp
                                                                                : 1 };
  berth_status st = kernels_of(ctx, g, half_of(g), &out->wide);
  out->narrow = out->wide;
  return st == BERTH_OK && fp8 ? kernels_of(ctx, g, "fp8", &out->narrow) : st;
}

/* ---- communication ---- */

/* GPUs that fast links join, or else those of a machine; the bytes/s that leave all of them. */
static int32_t island(const berth_llm_gpus *g, double *out) {
  int32_t inside = g->domain > g->per_machine ? g->domain : g->per_machine;
  if (inside > g->count) inside = g->count;
  *out = g->nic * inside / g->per_machine;
  return inside;
}

double berth_i_llm_collective(const berth_i_llm_prices *x, berth_collective_kind kind,
                              double bytes, int32_t n, int64_t stride) {
  double nic;
  int32_t inside = island(x->g, &nic);
  int64_t each = inside / stride;
  if (n <= 1 || bytes <= 0) return 0;
  if (each < 1) each = 1;
  if (each > n) each = n;
  int32_t machines = (int32_t)((n + each - 1) / each);
  /* GPUs of an island that are in other groups send at the same time */
  double t = berth_kernel_collective(&x->wide, kind, bytes, n, machines,
                                     nic * (double)each / inside);
  /* kernels of their own bring tokens to experts, at the network's rate */
  return t * (machines == 1 ? x->f->inside : kind == BERTH_ALLTOALL ? 1 : x->f->across);
}

double berth_i_llm_p2p(const berth_i_llm_prices *x, double bytes, bool across) {
  double nic;
  int32_t inside = island(x->g, &nic);
  return across ? x->f->across * berth_kernel_p2p(&x->wide, bytes, nic / inside)
                : x->f->inside * berth_kernel_p2p(&x->wide, bytes, 0);
}

/* Part of t is hidden beside computation. */
static void expose(berth_i_llm_spent *s, berth_llm_time kind, double t, double share) {
  s->of[kind] += share * t;
  s->hidden += (1 - share) * t;
}

/* DeepSpeed's all-reduces wait for the processor: by BLOOM's sweeps half a layer's launches with 8
 * GPUs. */
static double waits(const berth_i_llm_prices *x) {
  int32_t tp = x->p->tp;
  return x->p->framework == BERTH_LLM_DEEPSPEED && tp > 1 ? 0.5 * x->f->launch * tp / 8 : 0;
}

/* What is not hidden of transfers beside the products that need them, by framework. */
static double shown(const berth_i_llm_prices *x) {
  return x->p->framework == BERTH_LLM_TORCHTITAN ? 0.85 : BERTH_I_LLM_EXPOSED_TP;
}

/* The transfers before and after `blocks` pairs of products that tensor parallelism splits. A
 * backward pass gathers inputs once more for the gradient of the weights, beside the gradient of
 * the inputs (Korthikanti et al. 2022, sec. 4.2.2). */
static void add_tp(const berth_i_llm_prices *x, berth_i_llm_spent *s, double blocks,
                   bool backward) {
  double bytes = HALF * x->tokens * x->m->about.hidden, t, again = 0;
  int32_t tp = x->p->tp;
  if (x->p->sequence_parallel == BERTH_LLM_ON) {
    again = backward ? berth_i_llm_collective(x, BERTH_ALLGATHER, bytes, tp, 1) : 0;
    t = berth_i_llm_collective(x, BERTH_ALLGATHER, bytes, tp, 1)
        + berth_i_llm_collective(x, BERTH_REDUCESCATTER, bytes, tp, 1);
  } else {
    t = berth_i_llm_collective(x, BERTH_ALLREDUCE, bytes, tp, 1) + waits(x);
  }
  expose(s, BERTH_LLM_TIME_TP, blocks * t, x->p->overlap_tp == BERTH_LLM_ON ? shown(x) : 1);
  expose(s, BERTH_LLM_TIME_TP, blocks * again, BERTH_I_LLM_EXPOSED);
}

/* ---- matrix products ---- */

/* [m, k] times [k, n], `copies` of it as one grouped kernel. */
typedef struct product {
  double m, k, n, copies;
  bool frozen;
} product;

static double grouped(const berth_kernels *g, double m, double n, double k, double copies) {
  const berth_shape s = { .product = { .m = m, .n = n, .k = k, .copies = copies } };
  return berth_kernel_shape(g, &s, 0);
}

static double share_of(const berth_i_llm_prices *x, const berth_llm_kind *k,
                       const berth_llm_weight *w) {
  if (w->shard == BERTH_LLM_WHOLE) return 1;
  if (w->part == BERTH_LLM_EXPERTS) return 1.0 / x->p->etp;
  return 1.0 / (w->shard == BERTH_LLM_KV && k->kv_heads < x->p->tp ? k->kv_heads : x->p->tp);
}

/* Products of a layer; those of the same inputs are one kernel. */
static int products_of(const berth_i_llm_prices *x, const berth_llm_kind *k,
                       product out[MOST_PRODUCTS]) {
  const berth_llm_plan *p = x->p;
  int n = 0;
  const berth_llm_weight *last = NULL;
  for (int32_t i = 0; i < k->n_weights && n < MOST_PRODUCTS; i++) {
    const berth_llm_weight *w = &k->weights[i];
    if (w->rows == 1 || w->columns == 0) continue;
    bool expert = w->part == BERTH_LLM_EXPERTS, row = w->shard == BERTH_LLM_ROW;
    double share = share_of(x, k, w);
    product one = { .m = x->tokens, .k = w->rows * (row ? share : 1),
                    .n = w->columns * (row ? 1 : share), .copies = 1,
                    .frozen = p->training == BERTH_LLM_LORA };
    if (expert) {
      one.copies = (double)k->experts / p->ep;
      one.m = x->tokens * k->top * p->etp / p->tp / one.copies;
    } else if (w->shard == BERTH_LLM_WHOLE) {
      one.m *= x->sequence;
    }
    bool same = last && !row && last->shard != BERTH_LLM_ROW && last->part == w->part
                && last->rows == w->rows
                && (last->shard == BERTH_LLM_WHOLE) == (w->shard == BERTH_LLM_WHOLE);
    if (same) out[n - 1].n += one.n;
    else out[n++] = one;
    last = w;
  }
  return n;
}

/* The adapters of a frozen matrix: two narrow products. */
static double adapters(const berth_i_llm_prices *x, const product *a, bool weight) {
  double r = x->p->lora_rank;
  if (!a->frozen) return 0;
  return weight ? berth_kernel_gemm(&x->wide, a->k, r, a->m)
                      + berth_kernel_gemm(&x->wide, r, a->n, a->m)
                : berth_kernel_gemm(&x->wide, a->m, r, a->k)
                      + berth_kernel_gemm(&x->wide, a->m, a->n, r);
}

static void add_products(const berth_i_llm_prices *x, const berth_llm_kind *k,
                         berth_i_llm_passes *out) {
  product a[MOST_PRODUCTS];
  const berth_kernels *g = &x->narrow;
  double factor = x->f->products;
  int n = products_of(x, k, a);
  for (int i = 0; i < n; i++) {
    const product *b = &a[i];
    out->forward.of[0] += factor * (grouped(g, b->m, b->n, b->k, b->copies)
                                    + adapters(x, b, false));
    out->input.of[0] += factor * (grouped(g, b->m, b->k, b->n, b->copies)
                                  + adapters(x, b, false));
    out->weight.of[0] += factor * (b->frozen ? adapters(x, b, true)
                                             : berth_kernel_gemm(g, b->copies * b->k, b->n, b->m));
  }
}

/* ---- attention ---- */

/* FlashAttention 2 on GPUs whose constants are of the later kernels of their generation: 1.5 to 2
 * times as long by the authors of the later ones (Shah et al., "FlashAttention-3", 2024); 2.2 by
 * the measured steps of MPT models. */
static double older_kernels(const berth_i_llm_prices *x) {
  bool newer = x->wide.attention_block > 64;
  return newer && berth_i_llm_is_fsdp(x->p) ? 2.2 : 1;
}

static double flash(const berth_i_llm_prices *x, const berth_llm_kind *k, bool backward) {
  const berth_llm_plan *p = x->p;
  double keys = k->kv_rank ? k->heads : k->kv_heads;
  berth_attention a = {
    .batch = p->micro_batch, .seq = p->seq, .heads = (double)k->heads / p->tp,
    .kv_heads = fmax(1, keys / p->tp), .head_size = k->head_dim, .value_size = k->value_dim,
    .window = k->index_top ? k->index_top : k->window, .backward = backward
  };
  return x->f->attention * older_kernels(x) * berth_kernel_attention(&x->wide, &a) / p->cp;
}

/* Batched, products of large heads are as fast for all sizes that are multiples of 8. */
static double score_product(const berth_i_llm_prices *x, double rows, double s, double size) {
  double usual = size > 128 && fmod(size, 8) == 0 ? 128 : size;
  return size / usual * berth_kernel_gemm(&x->wide, rows, s, usual);
}

/* Scores as matrices: two products, and passes over the scores for scaling, mask, softmax and
 * dropout, as fused kernels make them. */
static void add_scores(const berth_i_llm_prices *x, const berth_llm_kind *k, bool backward,
                       berth_i_llm_spent *out) {
  const berth_llm_plan *p = x->p;
  double rows = (double)p->micro_batch * k->heads / p->tp * p->seq / p->cp, s = p->seq,
         passes = backward ? 6.5 : 4.5;
  double t = score_product(x, rows, s, k->head_dim) + score_product(x, rows, s, k->value_dim);
  out->of[BERTH_LLM_TIME_ATTENTION] += (backward ? 2 : 1) * x->f->attention * t;
  out->of[BERTH_LLM_TIME_ELEMENTWISE]
      += x->f->elementwise * berth_kernel_elementwise(&x->wide, HALF * rows * s * passes);
}

static void add_attention(const berth_i_llm_prices *x, const berth_llm_kind *k, bool backward,
                          berth_i_llm_spent *out) {
  if (x->p->flash) out->of[BERTH_LLM_TIME_ATTENTION] += flash(x, k, backward);
  else add_scores(x, k, backward, out);
}

/* Keys and values of all context-parallel GPUs, beside the attention of those that are there; a
 * backward pass gathers them once more and reduces their gradients. */
static void add_cp(const berth_i_llm_prices *x, const berth_llm_kind *k, bool backward,
                   berth_i_llm_spent *out) {
  const berth_llm_plan *p = x->p;
  double keys = k->kv_rank ? k->heads : k->kv_heads,
         bytes = HALF * (double)p->micro_batch * p->seq * fmax(1, keys / p->tp)
                 * (k->head_dim + k->value_dim);
  double t = berth_i_llm_collective(x, BERTH_ALLGATHER, bytes, p->cp, p->tp);
  if (backward) t += berth_i_llm_collective(x, BERTH_REDUCESCATTER, bytes, p->cp, p->tp);
  double beside = p->flash ? flash(x, k, backward) : 0, hidden = fmin(t, beside);
  out->of[BERTH_LLM_TIME_CP] += t - (1 - BERTH_I_LLM_EXPOSED) * hidden;
  out->hidden += (1 - BERTH_I_LLM_EXPOSED) * hidden;
}

/* ---- element-wise work and experts ---- */

/* Bytes that norms, residuals, positions and activations read and write. */
static double touched(const berth_i_llm_prices *x, const berth_llm_kind *k) {
  const berth_llm_plan *p = x->p;
  double h = x->m->about.hidden, wide = k->gated ? 3 : 2, keys = k->kv_rank ? k->heads
                                                                            : k->kv_heads;
  double by_token = h * (2 * k->norms + 6 + (p->dropout ? 4 : 0)),
         split = 2 * (k->heads + keys) * (double)k->head_dim
                 + wide * ((double)k->ffn + k->shared_ffn);
  if (k->experts) split += k->top * (wide * k->expert_ffn + 4 * h); /* to the experts' order */
  return HALF * x->tokens * (by_token * x->sequence + split / p->tp);
}

/* A token goes once to each other island that has experts of it: share of `top` times to any. */
static double to_islands(const berth_i_llm_prices *x, double top) {
  const berth_llm_plan *p = x->p;
  double nic, inside = island(x->g, &nic), n = ceil((double)p->ep * p->etp / inside);
  return n > 1 ? (n - 1) / top * (1 - pow(1 - 1 / n, top)) : 1;
}

/* To the experts and back. */
static void add_ep(const berth_i_llm_prices *x, const berth_llm_kind *k, berth_i_llm_spent *out) {
  const berth_llm_plan *p = x->p;
  if (!k->experts) return;
  double bytes = HALF * x->tokens / p->tp * k->top * to_islands(x, k->top) * x->m->about.hidden,
         t = 2 * berth_i_llm_collective(x, BERTH_ALLTOALL, bytes, p->ep, p->etp);
  if (p->etp > 1)
    t += berth_i_llm_collective(x, BERTH_ALLGATHER, bytes * p->etp, p->etp, 1)
         + berth_i_llm_collective(x, BERTH_REDUCESCATTER, bytes * p->etp, p->etp, 1);
  out->of[BERTH_LLM_TIME_EP] += t;
}

/* The blocks whose products tensor parallelism splits. */
static double blocks_of(const berth_llm_kind *k) {
  return k->ffn || k->shared_ffn ? 2 : 1;
}

/* ---- passes ---- */

/* Kernels are launched one after another: a pass takes no less than `least`. */
static void floor_at(berth_i_llm_spent *s, double least) {
  double t = berth_i_llm_sum(s);
  if (t <= 0 || least <= 0) return;
  double r = fmin(t, least) / fmax(t, least), r3 = r * r * r;
  s->of[BERTH_LLM_TIME_LAUNCH] += fmax(t, least) * pow(1 + r3 * r3, 1.0 / 6) - t;
}

static void add_again(const berth_i_llm_prices *x, const berth_llm_kind *k, bool all,
                      const berth_i_llm_spent *forward, berth_i_llm_spent *out) {
  if (all) {
    berth_i_llm_spend(out, forward, 1);
    return;
  }
  if (x->p->recompute != BERTH_LLM_SELECTIVE) return;
  if (x->p->framework == BERTH_LLM_TORCHTITAN) /* every second product, and what is between */
    out->of[BERTH_LLM_TIME_PRODUCTS] += 0.5 * forward->of[BERTH_LLM_TIME_PRODUCTS];
  else
    add_attention(x, k, false, out);
}

void berth_i_llm_price_layer(const berth_i_llm_prices *x, int32_t kind, bool again,
                             berth_i_llm_passes *out) {
  const berth_llm_kind *k = &x->m->kind[kind];
  double light = x->f->elementwise * berth_kernel_elementwise(&x->wide, touched(x, k)),
         launch = x->f->launch * (k->experts ? EXPERT_LAUNCHES : 1);
  *out = (berth_i_llm_passes){ .forward = { .hidden = 0 } };
  add_products(x, k, out);
  out->forward.of[BERTH_LLM_TIME_ELEMENTWISE] += light;
  out->input.of[BERTH_LLM_TIME_ELEMENTWISE] += 2 * light;
  add_attention(x, k, false, &out->forward);
  add_attention(x, k, true, &out->input);
  add_cp(x, k, false, &out->forward);
  add_cp(x, k, true, &out->input);
  add_tp(x, &out->forward, blocks_of(k), false);
  add_tp(x, &out->input, blocks_of(k), true);
  add_ep(x, k, &out->forward);
  add_ep(x, k, &out->input);
  floor_at(&out->forward, launch);
  floor_at(&out->input, launch);
  floor_at(&out->weight, launch);
  add_again(x, k, again, &out->forward, &out->input);
}

/* ---- outside the layers ---- */

void berth_i_llm_price_embedding(const berth_i_llm_prices *x, berth_i_llm_passes *out) {
  double bytes = HALF * x->tokens * x->m->about.hidden,
         t = x->f->elementwise * berth_kernel_elementwise(&x->wide, 2 * bytes);
  *out = (berth_i_llm_passes){ .forward = { .hidden = 0 } };
  out->forward.of[BERTH_LLM_TIME_ELEMENTWISE] = out->weight.of[BERTH_LLM_TIME_ELEMENTWISE] = t;
  add_tp(x, &out->forward, 0.5, false);
}

void berth_i_llm_price_head(const berth_i_llm_prices *x, berth_i_llm_passes *out) {
  const berth_llm_plan *p = x->p;
  double h = x->m->about.hidden, v = berth_i_llm_padded_vocab(x->m, p) / p->tp, t = x->tokens,
         f = x->f->products;
  /* forward: maximum, exponentials and their sum; backward: the gradient */
  double pass = p->fused_loss == BERTH_LLM_ON ? HALF : SINGLE,
         light = x->f->elementwise * berth_kernel_elementwise(&x->wide, 3 * pass * t * v);
  *out = (berth_i_llm_passes){ .forward = { .hidden = 0 } };
  out->forward.of[BERTH_LLM_TIME_PRODUCTS] = f * berth_kernel_gemm(&x->wide, t, v, h);
  out->input.of[BERTH_LLM_TIME_PRODUCTS] = f * berth_kernel_gemm(&x->wide, t, h, v);
  if (p->training != BERTH_LLM_LORA)
    out->weight.of[BERTH_LLM_TIME_PRODUCTS] = f * berth_kernel_gemm(&x->wide, h, v, t);
  out->forward.of[BERTH_LLM_TIME_ELEMENTWISE] = out->input.of[BERTH_LLM_TIME_ELEMENTWISE] = light;
  add_tp(x, &out->forward, 0.5, false);
  add_tp(x, &out->input, 0.5, true);
}

/* ---- FLOP ---- */

/* Scores of a sequence, as published formulas count them: every query with every key, or with
 * those in the window. Two products. */
static double score_flop(const berth_llm_plan *p, const berth_llm_kind *k) {
  double keys = k->window && k->window < p->seq ? k->window : p->seq;
  return 2.0 * p->seq * keys * k->heads * (k->head_dim + k->value_dim);
}

/* Forward FLOP of one sequence in a layer. */
static double layer_flop(const berth_llm_plan *p, const berth_llm_kind *k) {
  double n = 0;
  for (int32_t i = 0; i < k->n_weights; i++) {
    const berth_llm_weight *w = &k->weights[i];
    if (w->rows > 1)
      n += (double)w->rows * w->columns * (w->part == BERTH_LLM_EXPERTS ? k->top : 1);
  }
  return 2 * n * p->seq + score_flop(p, k);
}

/* Frozen weights have no gradient. */
void berth_i_llm_flop(const berth_llm *m, const berth_llm_plan *p, double *model,
                      double *again) {
  double passes = p->training == BERTH_LLM_LORA ? 2 : 3, n = p->micro_batch;
  *model = *again = 0;
  for (int32_t k = 0; k < m->about.kinds; k++) {
    const berth_llm_kind *x = &m->kind[k];
    double one = layer_flop(p, x);
    *model += passes * n * x->layers * one;
    if (p->recompute == BERTH_LLM_FULL) *again += n * x->layers * one;
    if (p->recompute == BERTH_LLM_SELECTIVE) *again += n * x->layers * score_flop(p, x);
  }
  *model += passes * n * 2.0 * m->about.hidden * m->about.vocab * p->seq;
}
