/* A plan as flags of Megatron-LM, and as overrides of Megatron-Bridge's configuration: the same
 * settings under two names. What one of them does not have is NULL there. */
#include "export_internal.h"

typedef struct writer {
  berth_llm_exported *e;
  bool bridge;
  const char *begin; /* of a line */
} writer;

static bool names(const writer *w, const char *flag, const char *field) {
  const char *name = w->bridge ? field : flag;
  if (name) berth_i_put_text(w->e, "%s%s%s", w->begin, w->bridge ? "" : "--", name);
  return name != NULL;
}

static void set_whole(const writer *w, const char *flag, const char *field, int64_t x) {
  if (names(w, flag, field))
    berth_i_put_text(w->e, "%c%lld\n", w->bridge ? '=' : ' ', (long long)x);
}

static void set_word(const writer *w, const char *flag, const char *field, const char *word) {
  if (names(w, flag, field)) berth_i_put_text(w->e, "%c%s\n", w->bridge ? '=' : ' ', word);
}

/* A flag that is there or not; overrides always say which. */
static void set_switch(const writer *w, const char *flag, const char *field, bool on) {
  if (!w->bridge && !on) return;
  if (names(w, flag, field))
    berth_i_put_text(w->e, "%s\n", !w->bridge ? "" : on ? "=true" : "=false");
}

/* ---- parallelism ---- */

static void put_layout(const writer *w, const int32_t *stages) {
  int32_t n = w->e->p->pp * w->e->p->vp;
  if (!names(w, "pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout")) return;
  berth_i_put_text(w->e, "%s\"E", w->bridge ? "=" : " ");
  for (int32_t c = 0; c < n; c++) {
    if (c) berth_i_put_text(w->e, "|");
    if (stages[c] > 1) berth_i_put_text(w->e, "t*%d", (int)stages[c]);
    if (stages[c] == 1) berth_i_put_text(w->e, "t");
  }
  berth_i_put_text(w->e, "L\"\n");
}

static void put_chunks(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  const int32_t *stages = berth_i_put_stages(w->e);
  if (!stages || p->pp == 1) return;
  bool even = berth_i_is_even(w->e, stages) || p->embedding_as_layer;
  set_switch(w, "account-for-embedding-in-pipeline-split",
             "model.account_for_embedding_in_pipeline_split", p->embedding_as_layer);
  set_switch(w, "account-for-loss-in-pipeline-split", "model.account_for_loss_in_pipeline_split",
             p->embedding_as_layer);
  if (!even) put_layout(w, stages);
  if (p->vp > 1 && (even || w->bridge)) /* a layout says how many chunks there are */
    set_whole(w, "num-virtual-stages-per-pipeline-rank",
              "model.virtual_pipeline_model_parallel_size", p->vp);
}

static void put_parallel(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  set_whole(w, "tensor-model-parallel-size", "model.tensor_model_parallel_size", p->tp);
  set_whole(w, "pipeline-model-parallel-size", "model.pipeline_model_parallel_size", p->pp);
  set_whole(w, "context-parallel-size", "model.context_parallel_size", p->cp);
  if (berth_i_llm_has_experts(w->e)) {
    set_whole(w, "expert-model-parallel-size", "model.expert_model_parallel_size", p->ep);
    set_whole(w, "expert-tensor-parallel-size", "model.expert_tensor_parallel_size", p->etp);
  }
  if (p->ep > 1) /* without it every GPU gathers the tokens of all */
    set_word(w, "moe-token-dispatcher-type", "model.moe_token_dispatcher_type", "alltoall");
  set_switch(w, "sequence-parallel", "model.sequence_parallel",
             p->sequence_parallel == BERTH_LLM_ON);
  put_chunks(w);
}

/* ---- data parallelism ---- */

static void put_zero(const writer *w) {
  static const char *const strategies[] = { "no_shard", "optim", "optim_grads",
                                            "optim_grads_params" };
  const berth_llm_plan *p = w->e->p;
  bool fsdp = p->zero > 1;
  set_switch(w, "use-distributed-optimizer", "ddp.use_distributed_optimizer", p->zero > 0);
  set_switch(w, NULL, "optimizer.use_distributed_optimizer", p->zero > 0);
  set_switch(w, "overlap-grad-reduce", "ddp.overlap_grad_reduce", p->overlap_grad == BERTH_LLM_ON);
  set_switch(w, "overlap-param-gather", "ddp.overlap_param_gather",
             p->overlap_gather == BERTH_LLM_ON && p->overlap_grad == BERTH_LLM_ON && p->zero > 0);
  if (p->overlap_gather == BERTH_LLM_ON && p->overlap_grad != BERTH_LLM_ON && p->zero > 0)
    berth_i_put_note(w->e, "overlap_gather requires overlap_grad in Megatron-Core: left out");
  if (!fsdp) return;
  set_switch(w, "use-megatron-fsdp", "ddp.use_megatron_fsdp", true);
  set_switch(w, NULL, "dist.use_megatron_fsdp", true);
  set_word(w, "data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy",
           strategies[p->zero]);
  set_word(w, "ckpt-format", "checkpoint.ckpt_format", "fsdp_dtensor");
  set_switch(w, "no-gradient-accumulation-fusion", NULL, true);
  if (p->zero == 3 && p->reshard == BERTH_LLM_OFF)
    berth_i_put_note(w->e, "reshard off: Megatron FSDP has no setting for it");
  if (p->pp > 1)
    berth_i_put_note(w->e, "zero %d with a pipeline: see whether your version of Megatron FSDP has "
                     "it", (int)p->zero);
}

/* ---- memory and arithmetic ---- */

static void put_recompute(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  if (p->recompute == BERTH_LLM_RECOMPUTE_NONE) return;
  bool full = p->recompute == BERTH_LLM_FULL;
  set_word(w, "recompute-granularity", "model.recompute_granularity", full ? "full" : "selective");
  if (!full) return;
  bool block = p->recompute_layers > 0;
  set_word(w, "recompute-method", "model.recompute_method", block ? "block" : "uniform");
  set_whole(w, "recompute-num-layers", "model.recompute_num_layers",
            block ? p->recompute_layers : 1);
}

static void put_bridge_types(const writer *w) {
  static const char *const recipes[] = { "bf16_mixed", "fp16_mixed",
                                         "bf16_with_fp8_current_scaling_mixed" };
  const berth_llm_plan *p = w->e->p;
  set_word(w, NULL, "mixed_precision", recipes[p->dtype]);
  if (p->dtype == BERTH_LLM_FP8)
    berth_i_put_note(w->e, "FP8 has further recipes: bf16_with_fp8_delayed_scaling_mixed, "
                     "bf16_with_mxfp8_mixed");
  if (p->gradients == BERTH_LLM_GRADIENTS_BF16)
    berth_i_put_note(w->e, "gradients bf16: set grad_reduce_in_fp32 = False in the precision "
                     "recipe");
}

static void put_types(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  bool half = p->gradients == BERTH_LLM_GRADIENTS_BF16, fp16 = p->dtype == BERTH_LLM_FP16;
  if (w->bridge) {
    put_bridge_types(w);
    return;
  }
  set_switch(w, fp16 ? "fp16" : "bf16", NULL, true);
  if (p->dtype == BERTH_LLM_FP8) set_word(w, "fp8-format", NULL, "hybrid");
  if (fp16) set_switch(w, "accumulate-allreduce-grads-in-fp32", NULL, !half);
  else set_switch(w, "grad-reduce-in-bf16", NULL, half);
}

static void put_optimizer(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  set_word(w, "optimizer", "optimizer.optimizer", p->optimizer == BERTH_LLM_ADAM ? "adam" : "sgd");
  if (!p->offload) return;
  set_switch(w, "optimizer-cpu-offload", "optimizer.optimizer_cpu_offload", true);
  set_switch(w, "use-precision-aware-optimizer", "optimizer.use_precision_aware_optimizer", true);
  if (p->zero == 0)
    berth_i_put_note(w->e, "offload: Megatron-Core requires the distributed optimizer (zero 1)");
}

static void put_kernels(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  const char *rate = p->dropout ? "0.1" : "0.0";
  set_word(w, "attention-backend", "model.attention_backend", p->flash ? "flash" : "unfused");
  set_word(w, "attention-dropout", "model.attention_dropout", rate);
  set_word(w, "hidden-dropout", "model.hidden_dropout", rate);
  bool fused = p->fused_loss == BERTH_LLM_ON;
  set_switch(w, "cross-entropy-loss-fusion", "model.cross_entropy_loss_fusion", fused);
  if (fused) set_word(w, "cross-entropy-fusion-impl", "model.cross_entropy_fusion_impl", "te");
  bool split = p->overlap_tp == BERTH_LLM_ON && p->tp > 1;
  if (split && p->sequence_parallel != BERTH_LLM_ON)
    berth_i_put_note(w->e, "overlap_tp requires sequence_parallel in Megatron-Core: left out");
  else if (split || w->bridge)
    set_switch(w, "tp-comm-overlap", "comm_overlap.tp_comm_overlap", split);
  if (p->pp > 1 && p->vp == 1 && p->overlap_p2p == BERTH_LLM_ON)
    berth_i_put_note(w->e, "overlap_p2p requires several chunks (vp) in Megatron-Core: left out");
  if (p->vp > 1 && p->overlap_p2p != BERTH_LLM_ON)
    set_switch(w, "no-overlap-p2p-communication", NULL, true);
  if (w->bridge && p->vp > 1 && p->overlap_p2p != BERTH_LLM_ON)
    berth_i_put_text(w->e, "%scomm_overlap.overlap_p2p_comm=false\n", w->begin);
}

/* ---- the model ---- */

static const berth_llm_weight *weight_of(const berth_llm_weight *list, int32_t n,
                                         const char *name) {
  for (int32_t i = 0; i < n; i++)
    if (strcmp(list[i].name, name) == 0) return &list[i];
  return NULL;
}

/* Why flags cannot say the layers; NULL: they can. `dense` gets the kind without experts, `moe`
 * that with experts. */
static const char *find_kinds(const berth_llm_exported *e, const berth_llm_kind **dense,
                              const berth_llm_kind **moe) {
  const berth_llm *m = e->m;
  *dense = *moe = NULL;
  for (int32_t k = 0; k < m->about.kinds; k++) {
    const berth_llm_kind *x = &m->kind[k];
    if (x->window) return "windows of attention";
    if (x->index_heads || x->index_top) return "an index of sparse attention";
    if (weight_of(x->weights, x->n_weights, "sinks")) return "sinks of attention";
    if (x->norms != 2) return "layers with other than two norms";
    const berth_llm_weight *norm = weight_of(x->weights, x->n_weights, "q_norm");
    if (norm && norm->columns != x->head_dim) return "a norm of the queries of all heads";
    if (x->experts && x->ffn) return "layers with experts and a dense MLP";
    const berth_llm_kind **slot = x->experts ? moe : dense;
    if (*slot) return "several kinds of layers";
    *slot = x;
  }
  const berth_llm_kind *a = *dense, *b = *moe;
  if (a && b && (a->heads != b->heads || a->kv_heads != b->kv_heads))
    return "several kinds of attention";
  return weight_of(m->about.weights, m->about.n_weights, "embedding_norm")
             ? "a norm behind the embedding" : NULL;
}

static void put_attention(const writer *w, const berth_llm_kind *k) {
  set_whole(w, "num-attention-heads", NULL, k->heads);
  if (k->kv_rank) {
    set_switch(w, "multi-latent-attention", NULL, true);
    if (k->q_rank) set_whole(w, "q-lora-rank", NULL, k->q_rank);
    set_whole(w, "kv-lora-rank", NULL, k->kv_rank);
    set_whole(w, "qk-head-dim", NULL, k->head_dim - k->rope_dim);
    set_whole(w, "qk-pos-emb-head-dim", NULL, k->rope_dim);
    set_whole(w, "v-head-dim", NULL, k->value_dim);
    set_switch(w, "qk-layernorm", NULL, true);
    return;
  }
  if (k->kv_heads != k->heads) {
    set_switch(w, "group-query-attention", NULL, true);
    set_whole(w, "num-query-groups", NULL, k->kv_heads);
  }
  set_whole(w, "kv-channels", NULL, k->head_dim);
  set_switch(w, "qk-layernorm", NULL, weight_of(k->weights, k->n_weights, "q_norm") != NULL);
}

/* "([0]*3+[1]*58)": which layers have experts. */
static void put_frequency(const writer *w, const berth_llm_kind *moe) {
  const berth_llm *m = w->e->m;
  if (moe->layers == m->about.layers) return;
  if (!names(w, "moe-layer-freq", NULL)) return;
  berth_i_put_text(w->e, " \"(");
  for (int32_t i = 0, n; i < m->about.layers; i += n) {
    for (n = 1; i + n < m->about.layers && m->layer[i + n] == m->layer[i];) n++;
    berth_i_put_text(w->e, "%s[%d]*%d", i ? "+" : "", m->kind[m->layer[i]].experts > 0, (int)n);
  }
  berth_i_put_text(w->e, ")\"\n");
}

static void put_experts(const writer *w, const berth_llm_kind *k) {
  if (!k) return;
  set_whole(w, "num-experts", NULL, k->experts);
  set_whole(w, "moe-router-topk", NULL, k->top);
  set_whole(w, "moe-ffn-hidden-size", NULL, k->expert_ffn);
  if (k->shared_ffn) set_whole(w, "moe-shared-expert-intermediate-size", NULL, k->shared_ffn);
  if (weight_of(k->weights, k->n_weights, "router_bias")) {
    set_switch(w, "moe-router-enable-expert-bias", NULL, true);
    set_word(w, "moe-router-score-function", NULL, "sigmoid"); /* the bias requires it */
  }
  if (weight_of(k->weights, k->n_weights, "shared_weight"))
    berth_i_put_note(w->e, "the shared experts have a gate, which has no flag here");
  put_frequency(w, k);
}

static void put_biases(const writer *w, const berth_llm_kind *k) {
  bool out = weight_of(k->weights, k->n_weights, "o_bias") != NULL;
  bool qkv = weight_of(k->weights, k->n_weights, "q_bias") != NULL;
  bool mlp = weight_of(k->weights, k->n_weights, "down_bias") != NULL;
  set_switch(w, "disable-bias-linear", NULL, !(out && mlp));
  set_switch(w, "add-qkv-bias", NULL, qkv && !(out && mlp));
  if (out != mlp)
    berth_i_put_note(w->e, "biases of the attention's output and of the MLP go together in "
                     "Megatron-LM");
}

static void put_model(const writer *w) {
  const berth_llm_about *a = &w->e->m->about;
  const berth_llm_kind *dense, *moe;
  const char *why = find_kinds(w->e, &dense, &moe);
  if (why) {
    berth_i_put_note(w->e, "the model's shapes are left out: Megatron-LM's flags do not have %s",
                     why);
    return;
  }
  const berth_llm_kind *k = dense ? dense : moe;
  const berth_llm_weight *norm = weight_of(a->weights, a->n_weights, "final_norm");
  const berth_llm_weight *positions = weight_of(a->weights, a->n_weights, "positions");
  set_whole(w, "num-layers", NULL, a->layers);
  set_whole(w, "hidden-size", NULL, a->hidden);
  set_whole(w, "ffn-hidden-size", NULL, dense ? dense->ffn : moe->expert_ffn);
  put_attention(w, k);
  set_switch(w, "swiglu", NULL, k->gated);
  put_biases(w, k);
  set_word(w, "normalization", NULL, norm && norm->copies > 1 ? "LayerNorm" : "RMSNorm");
  set_word(w, "position-embedding-type", NULL, positions ? "learned_absolute" : "rope");
  set_whole(w, "max-position-embeddings", NULL, positions ? positions->rows : w->e->p->seq);
  set_switch(w, "untie-embeddings-and-output-weights", NULL, !a->tied);
  set_whole(w, "vocab-size", NULL, a->vocab);
  put_experts(w, moe);
}

/* ---- both ---- */

void berth_i_check_megatron(berth_llm_exported *e, const char *title) {
  const berth_llm_plan *p = e->p;
  const char *name = berth_option_find(berth_llm_plan_option_table(), "schedule")
                         ->choices[p->schedule]->name;
  bool runs = p->schedule == BERTH_LLM_1F1B || p->schedule == BERTH_LLM_INTERLEAVED;
  if (p->pp > 1 && !runs)
    berth_i_refuse_export(e, "%s runs pipelines as 1f1b and interleaved, not as %s", title, name);
  if (p->pp == 1 && p->vp > 1)
    berth_i_refuse_export(e, "%s has several chunks (vp %d) with a pipeline alone", title,
                          (int)p->vp);
  berth_i_note_framework(e, "megatron");
  int32_t kv_heads = berth_i_llm_kv_heads(e->m);
  if (p->tp > kv_heads)
    berth_i_put_note(e, "tp %d is more than %d kv heads: Megatron-Core has that from 0.16 on",
                     (int)p->tp, (int)kv_heads);
  if (p->ep > 1 && p->tp > 1 && p->sequence_parallel != BERTH_LLM_ON)
    berth_i_refuse_export(e, "%s requires sequence_parallel for ep with tp", title);
  if (p->training == BERTH_LLM_FINETUNE)
    berth_i_put_note(e, "training finetune: load a checkpoint");
}

static void write_settings(const writer *w) {
  const berth_llm_plan *p = w->e->p;
  put_parallel(w);
  set_whole(w, "micro-batch-size", "train.micro_batch_size", p->micro_batch);
  set_whole(w, "global-batch-size", "train.global_batch_size", p->global_batch);
  set_whole(w, "seq-length", "model.seq_length", p->seq);
  set_whole(w, NULL, "dataset.sequence_length", p->seq);
  put_types(w);
  put_optimizer(w);
  put_zero(w);
  put_recompute(w);
  put_kernels(w);
}

void berth_i_write_flags(berth_llm_exported *e, const char *begin) {
  writer w = { e, false, begin };
  write_settings(&w);
  put_model(&w);
}

void berth_i_write_megatron(berth_llm_exported *e) {
  e->comment = "# ";
  berth_i_put_head(e, "Flags of Megatron-LM");
  berth_i_check_megatron(e, "Megatron-LM");
  berth_i_write_flags(e, "");
}

void berth_i_write_bridge(berth_llm_exported *e) {
  writer w = { e, true, "" };
  e->comment = "# ";
  berth_i_put_head(e, "Overrides of a Megatron-Bridge recipe of this model");
  berth_i_check_megatron(e, "Megatron-Bridge");
  write_settings(&w);
}

const berth_i_llm_format berth_i_llm_format_bridge = {
  .about = { "bridge", "Megatron-Bridge", "overrides of a Megatron-Bridge configuration", 0, 1 },
  .write = berth_i_write_bridge
};
