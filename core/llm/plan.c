/* Plans: options, defaults, and what must fit together. */
#include "llm_internal.h"

berth_llm_plan berth_llm_plan_default(void) {
  return (berth_llm_plan){ .tp = 1, .cp = 1, .pp = 1, .ep = 1, .etp = 1, .micro_batch = 1,
                           .seq = 4096, .zero = -1, .flash = 1, .lora_rank = 16, .runtime = -1 };
}

static void set_defaults(void *out) { *(berth_llm_plan *)out = berth_llm_plan_default(); }

static const berth_choice *const schedules[] = {
  BERTH_I_CHOICE("auto", "1f1b, or interleaved where a stage has several chunks."),
  BERTH_I_CHOICE("gpipe", "All forward passes, then all backward passes."),
  BERTH_I_CHOICE("1f1b", "A forward and a backward pass in turn."),
  BERTH_I_CHOICE("interleaved", "1f1b with several chunks a stage."),
  BERTH_I_CHOICE("zb-h1", "Zero bubble, with the memory of 1f1b."),
  BERTH_I_CHOICE("zb-v", "Zero bubble, two chunks a stage in a V."),
  BERTH_I_CHOICE("dualpipev", "DualPipe, two chunks a stage in a V."), NULL
};
static const berth_choice *const recomputes[] = {
  BERTH_I_CHOICE("none", "All activations are stored."),
  BERTH_I_CHOICE("selective", "Scores of attention are computed again; torchtitan: also every "
                 "second matrix product."),
  BERTH_I_CHOICE("full", "Layers store their input."), NULL
};
static const berth_choice *const dtypes[] = {
  BERTH_I_CHOICE("bf16", "Weights and activations of 2 bytes."),
  BERTH_I_CHOICE("fp16", "The same."),
  BERTH_I_CHOICE("fp8", "Matrix products in FP8; weights and stored activations of 2 bytes."), NULL
};
static const berth_choice *const optimizers[] = {
  BERTH_I_CHOICE("adam", "12 bytes of state a parameter, the FP32 weight among them."),
  BERTH_I_CHOICE("sgd", "With momentum: 8 bytes of state a parameter."), NULL
};
static const berth_choice *const gradient_types[] = {
  BERTH_I_CHOICE("auto", "fp32; with deepspeed bf16."),
  BERTH_I_CHOICE("fp32", "4 bytes."), BERTH_I_CHOICE("bf16", "2 bytes."), NULL
};
static const berth_choice *const trainings[] = {
  BERTH_I_CHOICE("pretrain", "All weights."), BERTH_I_CHOICE("finetune", "All weights."),
  BERTH_I_CHOICE("lora", "Two narrow matrices beside each frozen one."), NULL
};
static const berth_choice *const frameworks[] = {
  BERTH_I_CHOICE("megatron", "Megatron-LM, Megatron-Bridge."),
  BERTH_I_CHOICE("megatron-2022", "Megatron-LM of its first papers: nothing overlaps."),
  BERTH_I_CHOICE("deepspeed", "Megatron-DeepSpeed."),
  BERTH_I_CHOICE("fsdp", "PyTorch's FSDP: FP32 weights are sharded with the optimiser."),
  BERTH_I_CHOICE("torchtitan", "The same with pipelines."), NULL
};
static const berth_choice *const on_off[] = {
  BERTH_I_CHOICE("auto", "By the rest of the plan."), BERTH_I_CHOICE("off", "No."),
  BERTH_I_CHOICE("on", "Yes."), NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_plan, name, kind)
enum { MOST = 1 << 20 };

const berth_option_table *berth_llm_plan_option_table(void) {
  static const berth_option rows[] = {
    { FIELD(tp, WHOLE), .low = 1, .high = MOST, .text = "tensor parallelism" },
    { FIELD(cp, WHOLE), .low = 1, .high = MOST, .text = "context parallelism" },
    { FIELD(pp, WHOLE), .low = 1, .high = MOST, .text = "pipeline stages" },
    { FIELD(dp, WHOLE), .high = MOST, .fallback = "the GPUs that are left",
      .text = "data parallelism" },
    { FIELD(ep, WHOLE), .low = 1, .high = MOST, .text = "GPUs that share the experts of a layer" },
    { FIELD(etp, WHOLE), .low = 1, .high = MOST, .text = "tensor parallelism of an expert" },
    { FIELD(vp, WHOLE), .high = 1000, .fallback = "1; 2 for zb-v and dualpipev",
      .text = "model chunks of a stage" },
    { FIELD(schedule, CHOICE), .choices = schedules, .text = "order of the pipeline" },
    { FIELD(micro_batch, WHOLE), .low = 1, .high = MOST, .text = "sequences of a micro-batch" },
    { FIELD(global_batch, WHOLE), .high = 1e9,
      .fallback = "dp x micro_batch; x 4 pp with a pipeline", .text = "sequences of a step" },
    { FIELD(seq, WHOLE), .low = 1, .high = 1e9, .text = "tokens of a sequence" },
    { BERTH_I_OPTION_LIST(berth_llm_plan, stages, n_stages, WHOLES), .high = 1e6,
      .fallback = "even", .text = "layers of each chunk, in order of the pipeline" },
    { FIELD(embedding_as_layer, FLAG),
      .text = "the even split counts embedding and head as a layer each" },
    { FIELD(sequence_parallel, CHOICE), .choices = on_off,
      .text = "norms and residuals are split by tp, too; auto: with tp" },
    { FIELD(zero, WHOLE), .low = -1, .high = 3,
      .fallback = "1; 3 with fsdp and torchtitan; 0 without data parallelism",
      .text = "data parallelism shards 1: optimiser states, 2: also gradients, 3: also weights" },
    { FIELD(reshard, CHOICE), .choices = on_off,
      .text = "zero 3 drops gathered weights after the forward pass; auto: without a pipeline" },
    { FIELD(recompute, CHOICE), .choices = recomputes,
      .text = "activations that the backward pass computes again" },
    { FIELD(recompute_layers, WHOLE), .high = 1e6, .fallback = "all",
      .text = "recompute full: only so many layers of each chunk" },
    { FIELD(offload, FLAG), .text = "optimiser states are in the machine's memory" },
    { FIELD(flash, FLAG), .text = "attention never stores its scores" },
    { FIELD(dropout, FLAG), .text = "masks of dropout are stored" },
    { FIELD(fused_loss, CHOICE), .choices = on_off,
      .text = "one kernel computes the loss from BF16 logits; auto: with fsdp" },
    { FIELD(dtype, CHOICE), .choices = dtypes, .text = "arithmetic of matrix products" },
    { FIELD(optimizer, CHOICE), .choices = optimizers, .text = "what updates the weights" },
    { FIELD(gradients, CHOICE), .choices = gradient_types, .text = "type of stored gradients" },
    { FIELD(overlap_grad, CHOICE), .choices = on_off,
      .text = "reduction of gradients overlaps the backward pass; auto: but megatron-2022" },
    { FIELD(overlap_gather, CHOICE), .choices = on_off,
      .text = "gathering of weights overlaps the passes; auto: zero 3, megatron, fsdp, "
              "torchtitan" },
    { FIELD(overlap_tp, CHOICE), .choices = on_off,
      .text = "transfers of tensor parallelism overlap products; auto: megatron, with "
              "sequence_parallel" },
    { FIELD(overlap_p2p, CHOICE), .choices = on_off,
      .text = "transfers between stages overlap computation; auto: megatron, with several chunks" },
    { FIELD(training, CHOICE), .choices = trainings, .text = "which weights are trained" },
    { FIELD(lora_rank, WHOLE), .low = 1, .high = 1e6, .text = "lora: width of the adapters" },
    { FIELD(framework, CHOICE), .choices = frameworks, .text = "whose habits apply" },
    { FIELD(runtime, QUANTITY), .unit = BERTH_BYTES, .low = -1, .fallback = "by the framework",
      .text = "memory of runtime, NCCL and allocator" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.fill", rows, berth_llm_plan, set_defaults);
}

#define REFUSE(...) return berth_i_fail(ctx, BERTH_EINVAL, __VA_ARGS__)

/* a must be a multiple of b. */
static berth_status divides(berth_ctx *ctx, const char *a_name, int64_t a, const char *b_name,
                            int64_t b) {
  if (a % b == 0) return BERTH_OK;
  REFUSE("%s %lld is no multiple of %s = %lld", a_name, (long long)a, b_name, (long long)b);
}

/* ---- defaults ---- */

static berth_status fill_gpus(berth_ctx *ctx, int32_t gpus, berth_llm_plan *p) {
  int64_t rest = (int64_t)p->tp * p->cp * p->pp;
  if (!p->dp) {
    if (rest > gpus || gpus % rest)
      REFUSE("%d GPUs are no multiple of tp %d x cp %d x pp %d = %lld", (int)gpus, (int)p->tp,
             (int)p->cp, (int)p->pp, (long long)rest);
    p->dp = (int32_t)(gpus / rest);
  }
  if (rest * p->dp == gpus) return BERTH_OK;
  REFUSE("tp %d x cp %d x pp %d x dp %d = %lld GPUs, but there are %d", (int)p->tp, (int)p->cp,
         (int)p->pp, (int)p->dp, (long long)(rest * p->dp), (int)gpus);
}

/* Fitted on the memory columns of bloom_sweeps (deepspeed; megatron is taken to be alike) and
 * torchtitan_h100, the only free constants: docs/llm.md. */
static double runtime_of(const berth_llm_plan *p) {
  return berth_i_llm_is_fsdp(p) ? 3e9 : 5.5e9;
}

static void choose(berth_llm_choice *x, bool on) {
  if (*x == BERTH_LLM_AUTO) *x = on ? BERTH_LLM_ON : BERTH_LLM_OFF;
}

static void fill_overlaps(berth_llm_plan *p) {
  bool megatron = p->framework == BERTH_LLM_MEGATRON;
  choose(&p->overlap_grad, p->framework != BERTH_LLM_MEGATRON_2022);
  choose(&p->overlap_gather, megatron || p->zero == 3 || berth_i_llm_is_fsdp(p));
  choose(&p->overlap_tp, megatron && p->sequence_parallel == BERTH_LLM_ON);
  choose(&p->overlap_p2p, megatron && p->pp > 1 && p->vp > 1);
}

static void fill_rest(berth_llm_plan *p) {
  if (!p->vp) p->vp = berth_i_llm_is_v(p) ? 2 : 1;
  if (p->schedule == BERTH_LLM_SCHEDULE_AUTO)
    p->schedule = p->vp > 1 ? BERTH_LLM_INTERLEAVED : BERTH_LLM_1F1B;
  int64_t batch = (int64_t)p->dp * p->micro_batch * (p->pp > 1 ? 4 * p->pp : 1);
  if (!p->global_batch) p->global_batch = (int32_t)(batch < 1000000000 ? batch : 1000000000);
  if (!p->sequence_parallel)
    p->sequence_parallel = p->tp > 1 && p->framework != BERTH_LLM_DEEPSPEED
                             && p->framework != BERTH_LLM_MEGATRON_2022 ? BERTH_LLM_ON
                                                                            : BERTH_LLM_OFF;
  if (p->zero < 0) p->zero = p->dp * p->cp == 1 ? 0 : berth_i_llm_is_fsdp(p) ? 3 : 1;
  if (!p->reshard) p->reshard = p->pp > 1 ? BERTH_LLM_OFF : BERTH_LLM_ON;
  if (!p->fused_loss)
    p->fused_loss = p->framework == BERTH_LLM_FSDP ? BERTH_LLM_ON : BERTH_LLM_OFF;
  if (!p->gradients)
    p->gradients = p->framework == BERTH_LLM_DEEPSPEED ? BERTH_LLM_GRADIENTS_BF16
                                                       : BERTH_LLM_GRADIENTS_FP32;
  if (p->runtime < 0) p->runtime = runtime_of(p);
  fill_overlaps(p);
}

/* ---- checks ---- */

int32_t berth_i_llm_kv_heads(const berth_llm *m) {
  int32_t least = INT32_MAX;
  for (int32_t k = 0; k < m->about.kinds; k++)
    if (!m->kind[k].kv_rank && m->kind[k].kv_heads < least) least = m->kind[k].kv_heads;
  return least;
}

berth_status berth_i_llm_check_model(berth_ctx *ctx, const berth_llm *m,
                                     const berth_llm_plan *p) {
  berth_status st = BERTH_OK;
  const int64_t blocks = (int64_t)p->pp * p->vp;
  if (blocks > m->about.layers)
    REFUSE("pp %d x vp %d = %lld chunks, but the model has %d layers", (int)p->pp, (int)p->vp,
           (long long)blocks, (int)m->about.layers);
  for (int32_t k = 0; k < m->about.kinds && st == BERTH_OK; k++) {
    const berth_llm_kind *x = &m->kind[k];
    st = divides(ctx, "heads", x->heads, "tp", p->tp);
    if (st == BERTH_OK && !x->kv_rank && x->kv_heads % p->tp && p->tp % x->kv_heads)
      REFUSE("kv_heads %d and tp %d do not divide one another", (int)x->kv_heads, (int)p->tp);
    if (st == BERTH_OK) st = divides(ctx, "ffn", x->ffn, "tp", p->tp);
    if (st == BERTH_OK) st = divides(ctx, "experts", x->experts, "ep", p->ep);
    if (st == BERTH_OK) st = divides(ctx, "expert_ffn", x->expert_ffn, "etp", p->etp);
    if (st == BERTH_OK) st = divides(ctx, "shared_ffn", x->shared_ffn, "tp", p->tp);
  }
  bool experts = false;
  for (int32_t k = 0; k < m->about.kinds; k++) experts = experts || m->kind[k].experts > 0;
  if (st == BERTH_OK && !experts && p->ep * p->etp > 1)
    REFUSE("ep %d and etp %d, but the model has no experts", (int)p->ep, (int)p->etp);
  return st;
}

/* The layers of all chunks are those of the model. */
static berth_status check_stages(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p) {
  int64_t sum = 0;
  if (!p->stages) {
    if (!p->embedding_as_layer) return BERTH_OK;
    return divides(ctx, "layers + 2 =", (int64_t)m->about.layers + 2, "pp x vp",
                   (int64_t)p->pp * p->vp);
  }
  if (p->embedding_as_layer) REFUSE("embedding_as_layer is for the even split, not for stages");
  if (p->n_stages != p->pp * p->vp)
    REFUSE("stages has %d entries for pp %d x vp %d chunks", (int)p->n_stages, (int)p->pp,
           (int)p->vp);
  for (int32_t i = 0; i < p->n_stages; i++) sum += p->stages[i];
  if (sum != m->about.layers)
    REFUSE("stages has %lld layers, the model %d", (long long)sum, (int)m->about.layers);
  return BERTH_OK;
}

static berth_status check_batch(berth_ctx *ctx, const berth_llm_plan *p) {
  berth_status st = divides(ctx, "global_batch", p->global_batch, "dp x micro_batch",
                            (int64_t)p->dp * p->micro_batch);
  if (st != BERTH_OK) return st;
  int32_t m = p->global_batch / p->dp / p->micro_batch;
  if (p->schedule == BERTH_LLM_INTERLEAVED && p->pp > 1)
    st = divides(ctx, "schedule interleaved: micro-batches", m, "pp", p->pp);
  if (st == BERTH_OK && p->cp > 1)
    st = divides(ctx, "seq", p->seq, "2 x cp", 2 * (int64_t)p->cp);
  if (st == BERTH_OK && p->sequence_parallel == BERTH_LLM_ON)
    st = divides(ctx, "sequence_parallel: seq / cp", p->seq / p->cp, "tp", p->tp);
  return st;
}

static berth_status check_rest(berth_ctx *ctx, const berth_llm_cluster *c,
                               const berth_llm_plan *p) {
  if (berth_i_llm_is_v(p) && p->vp != 2)
    REFUSE("schedules zb-v and dualpipev have vp 2, not %d", (int)p->vp);
  if (p->vp > 1 && !berth_i_llm_is_v(p) && p->schedule != BERTH_LLM_INTERLEAVED)
    REFUSE("vp %d requires schedule interleaved", (int)p->vp);
  if (p->vp > 1 && p->pp == 1)
    REFUSE("vp %d: model chunks are those of a pipeline, and pp is 1", (int)p->vp);
  if (p->vp == 1 && p->schedule == BERTH_LLM_INTERLEAVED)
    REFUSE("schedule interleaved requires vp of 2 or more");
  if (p->sequence_parallel == BERTH_LLM_ON && p->tp == 1)
    REFUSE("sequence_parallel requires tp above 1");
  if (p->recompute_layers && p->recompute != BERTH_LLM_FULL)
    REFUSE("recompute_layers requires recompute full");
  if (p->framework == BERTH_LLM_DEEPSPEED && p->zero > 1 && p->pp > 1)
    REFUSE("DeepSpeed has no pipelines with zero %d; zero 0 and 1", (int)p->zero);
  if (p->reshard == BERTH_LLM_OFF && p->zero != 3 && p->pp == 1)
    REFUSE("reshard off requires zero 3");
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(c, &g);
  for (int32_t k = 0; k < n && p->dtype == BERTH_LLM_FP8; k++)
    if (g[k].sheet && g[k].sheet->fp8 <= 0) REFUSE("%s has no FP8 arithmetic", g[k].name);
  return divides(ctx, "tp x cp x dp =", (int64_t)p->tp * p->cp * p->dp, "ep x etp",
                 (int64_t)p->ep * p->etp);
}

berth_status berth_llm_plan_fill(const berth_llm *m, const berth_llm_cluster *c,
                                 berth_llm_plan *plan) {
  if (!m || !c || !plan) return BERTH_EINVAL;
  berth_ctx *ctx = m->pool.ctx;
  berth_llm_plan p = *plan;
  berth_status st = berth_options_check(ctx, berth_llm_plan_option_table(), &p);
  if (st == BERTH_OK) st = fill_gpus(ctx, berth_llm_cluster_size(c), &p);
  if (st != BERTH_OK) return st;
  fill_rest(&p);
  if ((st = check_rest(ctx, c, &p)) != BERTH_OK
      || (st = berth_i_llm_check_model(ctx, m, &p)) != BERTH_OK
      || (st = check_batch(ctx, &p)) != BERTH_OK || (st = check_stages(ctx, m, &p)) != BERTH_OK)
    return st;
  *plan = p;
  return BERTH_OK;
}
