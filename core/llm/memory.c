/* Memory of a GPU by pipeline stage, in closed form.
 *
 * A stage has vp chunks of layers. Of each weight a GPU holds the share that tensor and expert
 * parallelism leave; of that, the shares that the ZeRO stage shards over data parallelism. Bytes a
 * parameter: weights 2, gradients 2 or 4, states 12 (Adam) or 8 (SGD); with FSDP the FP32 weights,
 * 4 of these bytes, are the sharded weights, and gathered ones are copies.
 *
 * Activations: the terms of Korthikanti et al. 2022, table 2, by what each op stores, so that 34
 * and 5 a s / h come out for their layer (heads of h / a, MLP of 4 h without gate, dropout), and
 * other layers have terms of their own. How many micro-batches are stored: at the first backward
 * pass of a chunk's device in steady state. */
#include "llm_internal.h"

enum { HALF = 2, SINGLE = 4 }; /* bytes of a number */

/* ---- weights ---- */

/* DeepSpeed accumulates FP32 gradients beside those of the backward pass. */
static double gradient_bytes(const berth_llm_plan *p) {
  if (p->gradients == BERTH_LLM_GRADIENTS_BF16) return HALF;
  return p->framework == BERTH_LLM_DEEPSPEED ? HALF + SINGLE : SINGLE;
}

/* With ZeRO, DeepSpeed keeps an FP32 copy of the gradients with the states that it shards. */
static double state_bytes(const berth_llm_plan *p) {
  double bytes = p->optimizer == BERTH_LLM_ADAM ? 3 * SINGLE : 2 * SINGLE;
  if (berth_i_llm_is_fsdp(p)) bytes -= SINGLE;
  if (p->framework == BERTH_LLM_DEEPSPEED && p->zero > 0) bytes += SINGLE;
  return bytes;
}

/* `zero`: from this stage on the bytes are shared by data parallelism. */
static double sharded(const berth_llm_plan *p, const berth_i_llm_parts *s, int zero, double dense,
                      double experts) {
  return p->zero >= zero ? dense / s->dp + experts / s->edp : dense + experts;
}

static void set_weights(berth_llm_memory *out, const berth_llm_plan *p, const berth_i_llm_held *x) {
  berth_i_llm_parts s = berth_i_llm_shares(p, 0);
  bool fsdp = berth_i_llm_is_fsdp(p);
  double weight = fsdp && p->training != BERTH_LLM_LORA ? SINGLE : HALF,
         grad = gradient_bytes(p), state = p->offload ? 0 : state_bytes(p);
  /* ZeRO 2 of FSDP shards the FP32 weights, and keeps the gathered ones until the step ends */
  out->weights = sharded(p, &s, fsdp ? 2 : 3, weight * x->dense, weight * x->experts);
  out->gradients = sharded(p, &s, 2, grad * x->trained, grad * x->trained_experts);
  out->optimizer = sharded(p, &s, 1, state * x->trained, state * x->trained_experts);
}

/* ---- activations of a layer, bytes of a token ---- */

/* Terms that sequence parallelism splits, terms that tensor parallelism always splits, and the
 * part of both that selective recomputation does not store. */
typedef struct terms {
  double sequence, tensor, scores;
} terms;

static void add_attention(terms *x, const berth_llm_plan *p, const berth_llm_kind *k, double h) {
  double q = (double)k->heads * k->head_dim, out = (double)k->heads * k->value_dim,
         keys = k->kv_rank ? k->heads : k->kv_heads;
  x->sequence += HALF * h + (p->dropout ? h : 0);
  x->tensor += HALF * (q + keys * (k->head_dim + k->value_dim)) + HALF * out;
  if (k->kv_rank) /* inputs of the norms and of the products behind them */
    x->sequence += HALF * (2.0 * k->q_rank + 2.0 * k->kv_rank + k->rope_dim);
  x->sequence += HALF * (double)k->index_heads * k->index_dim;
  if (p->flash) x->tensor += SINGLE * (double)k->heads; /* logarithms of sums */
  else x->scores += (p->dropout ? 5 : 2) * (double)k->heads * p->seq;
}

/* Inputs of the products and of the activation between them. */
static double mlp(const berth_llm_kind *k, double width) {
  return HALF * (k->gated ? 3 : 2) * width;
}

static void add_mlp(terms *x, const berth_llm_plan *p, const berth_llm_kind *k, double h) {
  double top = k->top;
  x->sequence += HALF * h + (p->dropout ? h : 0);
  x->tensor += mlp(k, k->ffn) + mlp(k, k->shared_ffn);
  if (!k->experts) return;
  x->sequence += 2 * SINGLE * (double)k->experts; /* logits and probabilities */
  /* a token goes to `top` experts and back; with etp their GPUs all have it */
  x->tensor += top * (2 * HALF * h * p->etp + mlp(k, k->expert_ffn));
}

static terms terms_of(const berth_llm *m, const berth_llm_plan *p, const berth_llm_kind *k) {
  double h = m->about.hidden;
  terms x = { HALF * h * k->norms, 0, 0 };
  add_attention(&x, p, k, h);
  add_mlp(&x, p, k, h);
  return x;
}

/* torchtitan's policy: the layer's input, the output of attention, and those of every second
 * product in order, q, v, gate and down of the usual layer. */
static double every_second(const berth_llm *m, const berth_llm_kind *k) {
  bool odd = true;
  double bytes = HALF * ((double)m->about.hidden + (double)k->heads * k->value_dim)
                 + SINGLE * (double)k->heads;
  for (int32_t i = 0; i < k->n_weights; i++) {
    const berth_llm_weight *w = &k->weights[i];
    if (w->rows == 1) continue;
    double uses = w->part == BERTH_LLM_EXPERTS ? k->top : 1;
    bytes += odd ? HALF * uses * w->columns : 0;
    odd = !odd;
  }
  return bytes;
}

static double sequence_share(const berth_llm_plan *p) {
  return p->sequence_parallel == BERTH_LLM_ON ? 1.0 / p->tp : 1;
}

/* Of one micro-batch on a GPU. Without flash, keys of other context-parallel GPUs are scored too,
 * which p->seq says. */
static double all_of(const berth_llm *m, const berth_llm_plan *p, const berth_llm_kind *k) {
  terms x = terms_of(m, p, k);
  return berth_i_llm_tokens(p) * (x.sequence * sequence_share(p) + (x.tensor + x.scores) / p->tp);
}

static double stored_of(const berth_llm *m, const berth_llm_plan *p, const berth_llm_kind *k,
                        bool recomputed) {
  terms x = terms_of(m, p, k);
  double t = berth_i_llm_tokens(p), sequence = sequence_share(p);
  if (recomputed) return t * HALF * m->about.hidden * sequence;
  if (p->recompute == BERTH_LLM_SELECTIVE && p->framework == BERTH_LLM_TORCHTITAN)
    return t * every_second(m, k) / p->tp;
  if (p->recompute == BERTH_LLM_SELECTIVE) x.scores = 0;
  return t * (x.sequence * sequence + (x.tensor + x.scores) / p->tp);
}

/* ---- the pipeline ---- */

/* Micro-batches whose activations chunk c of stage s holds when its first backward pass begins. */
static double in_flight(const berth_llm_plan *p, int32_t s, int32_t c) {
  int32_t m = berth_i_llm_micro_batches(p), pp = p->pp;
  switch (p->schedule) {
  case BERTH_LLM_GPIPE: return m;
  case BERTH_LLM_ZB_H1: { /* of s more, B is done, and W keeps half */
    double warm = fmin(m, pp - s);
    return warm + fmin(s, m - warm) / 2;
  }
  case BERTH_LLM_ZB_V: return fmin(m, pp); /* 2 pp chunks in all */
  case BERTH_LLM_DUALPIPE_V: return fmin(m, pp + (c == 0)); /* 2 pp + 1 */
  case BERTH_LLM_INTERLEAVED: {
    if (m == pp) return m; /* all forward passes come first */
    /* (v - 1) pp + 2 (pp - s - 1) + 1 forward passes, in turns of pp for each chunk */
    int32_t n = (p->vp - 1) * pp + 2 * (pp - s - 1) + 1, round = p->vp * pp,
            rest = n % round - c * pp;
    return fmin(m, (double)(n / round) * pp + fmax(0, fmin(rest, pp)));
  }
  default: return fmin(m, pp - s);
  }
}

/* What a chunk adds to its stage. */
static void add_chunk(const berth_llm *m, const berth_llm_plan *p, int32_t s, int32_t c,
                      int32_t from, int32_t n, const berth_i_llm_held *kinds, berth_i_llm_held *x,
                      berth_llm_memory *out) {
  double flight = in_flight(p, s, c), boundary = 0, gathered = 0;
  /* inputs of attention and MLP, which sequence parallelism gathers once more */
  if (p->sequence_parallel == BERTH_LLM_ON)
    gathered = 2 * berth_i_llm_tokens(p) * HALF * m->about.hidden;
  for (int32_t i = 0; i < n; i++) {
    const berth_llm_kind *k = &m->kind[m->layer[from + i]];
    bool again = p->recompute == BERTH_LLM_FULL
                 && (!p->recompute_layers || i < p->recompute_layers);
    double all = all_of(m, p, k), stored = stored_of(m, p, k, again);
    out->activations += flight * stored;
    out->working = fmax(out->working, 2 * all - stored + gathered);
    berth_i_llm_add_held(x, &kinds[m->layer[from + i]], 1);
  }
  out->layers += n;
  out->in_flight += flight * n;
  /* outputs to the next stage are kept until their gradient comes; Megatron frees them */
  if (!berth_i_llm_is_megatron(p) && p->pp > 1)
    boundary = berth_i_llm_tokens(p) * HALF * m->about.hidden * sequence_share(p);
  out->activations += flight * boundary;
}

/* ---- buffers and logits ---- */

/* Bytes a logit: BF16, and FP32 whose softmax and gradient are in place; PyTorch's own loss has
 * these apart, and the gradient in BF16; a fused loss has BF16 logits and their gradient alone.
 * torchtitan's pipeline keeps the outputs of all micro-batches. */
static double logits_of(const berth_llm *m, const berth_llm_plan *p, double flight) {
  bool own = berth_i_llm_is_fsdp(p);
  double each = p->fused_loss == BERTH_LLM_ON ? 2 * HALF : own ? 2 * HALF + 2 * SINGLE
                                                                : HALF + SINGLE,
         n = berth_i_llm_tokens(p) * berth_i_llm_padded_vocab(m, p) / p->tp;
  double kept = p->schedule == BERTH_LLM_GPIPE ? SINGLE * (flight - 1) : 0;
  if (p->framework == BERTH_LLM_TORCHTITAN && p->pp > 1)
    kept = HALF * (double)berth_i_llm_micro_batches(p);
  return n * (each + kept);
}

/* ZeRO 3: weights of two layers, gathered, and the gradient of one; embedding and head. Where the
 * weights stay gathered until the step ends, all of them, and gradients of several micro-batches
 * in FP32. ZeRO 2 of FSDP keeps the weights, and reduces gradients for each micro-batch. */
static double buffers_of(const berth_llm_plan *p, const berth_i_llm_held *stage,
                         const berth_i_llm_held *outside, const berth_i_llm_held *largest) {
  bool fsdp = berth_i_llm_is_fsdp(p), all = p->zero == 2 && fsdp;
  if (p->zero < 3 && !all) return 0;
  double layer = largest->dense + largest->experts, rest = outside->dense + outside->experts,
         weights = stage->dense + stage->experts,
         reduced = SINGLE * (largest->trained + largest->trained_experts);
  if (p->zero == 3 && p->reshard == BERTH_LLM_ON)
    return HALF * (2 * layer + rest) + reduced;
  if (p->zero == 3 && p->pp > 1 && berth_i_llm_micro_batches(p) > 1)
    reduced += SINGLE * (stage->trained + stage->trained_experts);
  return HALF * weights + reduced;
}

static double smallest(const berth_llm_cluster *c, const berth_llm_plan *p, int32_t s) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(c, &g), per = berth_llm_cluster_size(c) / p->pp, at = 0;
  double least = INFINITY;
  for (int32_t k = 0; k < n; at += g[k++].count)
    if (at < (s + 1) * per && at + g[k].count > s * per) least = fmin(least, g[k].memory);
  return least;
}

static void fill_stage(const berth_llm *m, const berth_llm_cluster *c, const berth_llm_plan *p,
                       int32_t s, const int32_t *at, const berth_i_llm_held *kinds,
                       berth_llm_memory *out) {
  berth_i_llm_held x = { 0, 0, 0, 0 }, largest = x;
  bool first = s == 0, last = false;
  double flight = 1;
  *out = (berth_llm_memory){ .runtime = p->runtime, .limit = smallest(c, p, s) };
  for (int32_t k = 0; k < p->vp; k++) {
    int32_t place = berth_i_llm_place(p, s, k), n = at[place + 1] - at[place];
    if (place == p->pp * p->vp - 1) last = true, flight = in_flight(p, s, k);
    add_chunk(m, p, s, k, at[place], n, kinds, &x, out);
  }
  for (int32_t k = 0; k < m->about.kinds; k++)
    if (kinds[k].dense + kinds[k].experts > largest.dense + largest.experts) largest = kinds[k];
  berth_i_llm_held outside = berth_i_llm_held_outside(m, p, first, last);
  berth_i_llm_add_held(&x, &outside, 1);
  set_weights(out, p, &x);
  out->buffers = buffers_of(p, &x, &outside, &largest);
  if (last) out->logits = logits_of(m, p, flight);
  out->total = out->weights + out->gradients + out->optimizer + out->activations + out->working
               + out->logits + out->buffers + out->runtime;
}

berth_status berth_llm_memory_of(const berth_llm *m, const berth_llm_cluster *c,
                                 const berth_llm_plan *plan, berth_llm_memory *out) {
  if (!m || !c || !plan || !out) return BERTH_EINVAL;
  berth_llm_plan p = *plan;
  berth_i_llm_held kinds[BERTH_I_LLM_KINDS];
  berth_status st = berth_llm_plan_fill(m, c, &p);
  if (st != BERTH_OK) return st;
  int32_t *at = berth_i_llm_starts(m->pool.ctx, m, &p);
  if (!at) return berth_i_nomem(m->pool.ctx);
  for (int32_t k = 0; k < m->about.kinds; k++) kinds[k] = berth_i_llm_held_by(&p, &m->kind[k]);
  for (int32_t s = 0; s < p.pp; s++) fill_stage(m, c, &p, s, at, kinds, &out[s]);
  berth_i_free(m->pool.ctx, at, (size_t)(p.pp * p.vp) + 1, sizeof *at);
  return BERTH_OK;
}

berth_status berth_llm_layer_memory(const berth_llm *m, const berth_llm_plan *plan, int32_t kind,
                                    double *stored, double *all) {
  if (!m || !plan) return BERTH_EINVAL;
  if (kind < 0 || kind >= m->about.kinds)
    return berth_i_fail(m->pool.ctx, BERTH_EINVAL, "no kind %d of %d", (int)kind,
                        (int)m->about.kinds);
  const berth_llm_kind *k = &m->kind[kind];
  if (stored) *stored = stored_of(m, plan, k, plan->recompute == BERTH_LLM_FULL);
  if (all) *all = all_of(m, plan, k);
  return BERTH_OK;
}
