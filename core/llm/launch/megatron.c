/* Flags of Megatron-LM (Megatron-Core 0.12 and later), from a text or a shell script. A flag that
 * is absent has Megatron's own default. */
#include "export_internal.h"
#include <stdio.h>

/* ---- flags ---- */

#define SWITCH(name, fact) { name, fact, BERTH_I_SWITCH, 0, 0, NULL, NULL }
#define UNSWITCH(name, fact) { name, fact, BERTH_I_UNSWITCH, 0, 0, NULL, NULL }
#define WHOLE(name, fact, low) { name, fact, BERTH_I_WHOLE, low, 0, NULL, NULL }
#define REAL(name, fact, low, high) { name, fact, BERTH_I_REAL, low, high, NULL, NULL }
#define WORD(name, fact, words) { name, fact, BERTH_I_WORD, 0, 0, words, NULL }
#define TEXT(name, fact) { name, fact, BERTH_I_TEXT, 0, 0, NULL, NULL }
#define OTHER(name, note) { name, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, note }
#define OTHER_SWITCH(name, note) { name, BERTH_I_NO_FACT, BERTH_I_SWITCH, 0, 0, NULL, note }
#define NOT_MODELLED "plans do not have it"
#define DECODERS_ONLY "models are decoders"

static const berth_i_setting flags[] = {
  /* parallelism */
  WHOLE("--tensor-model-parallel-size", F_TP, 1), WHOLE("--context-parallel-size", F_CP, 1),
  WHOLE("--pipeline-model-parallel-size", F_PP, 1), WHOLE("--expert-model-parallel-size", F_EP, 1),
  WHOLE("--expert-tensor-parallel-size", F_ETP, 1),
  WHOLE("--num-virtual-stages-per-pipeline-rank", F_VP, 1),
  WHOLE("--num-layers-per-virtual-pipeline-stage", F_CHUNK_LAYERS, 1),
  WHOLE("--decoder-first-pipeline-num-layers", F_FIRST_LAYERS, 0),
  WHOLE("--decoder-last-pipeline-num-layers", F_LAST_LAYERS, 0),
  SWITCH("--account-for-embedding-in-pipeline-split", F_COUNT_EMBEDDING),
  SWITCH("--account-for-loss-in-pipeline-split", F_COUNT_LOSS),
  TEXT("--pipeline-model-parallel-layout", F_LAYOUT), SWITCH("--sequence-parallel", F_SP),
  SWITCH("--use-distributed-optimizer", F_DISTRIBUTED), SWITCH("--use-megatron-fsdp", F_FSDP),
  SWITCH("--use-custom-fsdp", F_FSDP), SWITCH("--use-torch-fsdp2", F_FSDP2),
  SWITCH("--torch-fsdp2-no-reshard-after-forward", F_NO_RESHARD),
  WORD("--data-parallel-sharding-strategy", F_STRATEGY,
       "no_shard optim optim_grads optim_grads_params"),
  /* batch */
  WHOLE("--micro-batch-size", F_MICRO, 1), WHOLE("--global-batch-size", F_GLOBAL, 1),
  WHOLE("--seq-length", F_SEQ, 1),
  /* memory and time */
  WORD("--recompute-granularity", F_RECOMPUTE, "selective full"),
  SWITCH("--recompute-activations", F_RECOMPUTE_ALL),
  WORD("--recompute-method", F_RECOMPUTE_METHOD, "uniform block"),
  WHOLE("--recompute-num-layers", F_RECOMPUTE_LAYERS, 1),
  SWITCH("--overlap-grad-reduce", F_OVERLAP_GRAD),
  SWITCH("--overlap-param-gather", F_OVERLAP_GATHER), SWITCH("--tp-comm-overlap", F_OVERLAP_TP),
  UNSWITCH("--no-overlap-p2p-communication", F_OVERLAP_P2P),
  SWITCH("--bf16", F_BF16), SWITCH("--fp16", F_FP16), WORD("--fp8-format", F_FP8, "e4m3 hybrid"),
  SWITCH("--fp8-hybrid", F_FP8), SWITCH("--fp8-e4m3", F_FP8), /* its former names */
  WORD("--optimizer", F_OPTIMIZER, "adam sgd muon= dist_muon= lion="),
  SWITCH("--optimizer-cpu-offload", F_OFFLOAD),
  REAL("--optimizer-offload-fraction", F_OFFLOAD_SHARE, 0, 1),
  SWITCH("--grad-reduce-in-bf16", F_BF16_GRADIENTS),
  SWITCH("--accumulate-allreduce-grads-in-fp32", F_FP32_GRADIENTS),
  WORD("--main-grads-dtype", F_MAIN_GRADIENTS, "fp32 bf16"),
  SWITCH("--use-flash-attn", F_FLASH),
  WORD("--attention-backend", F_ATTENTION, "auto flash fused unfused local"),
  WORD("--transformer-impl", F_LOCAL_IMPL, "transformer_engine local inference_optimized"),
  REAL("--attention-dropout", F_DROP_ATTENTION, 0, 1),
  REAL("--hidden-dropout", F_DROP_HIDDEN, 0, 1),
  SWITCH("--cross-entropy-loss-fusion", F_FUSED_LOSS),
  WORD("--cross-entropy-fusion-impl", F_LOSS_IMPL, "native te linear"),
  /* the model */
  WHOLE("--num-layers", F_LAYERS, 1), WHOLE("--hidden-size", F_HIDDEN, 1),
  WHOLE("--ffn-hidden-size", F_FFN, 1), WHOLE("--num-attention-heads", F_HEADS, 1),
  SWITCH("--group-query-attention", F_GQA), WHOLE("--num-query-groups", F_GROUPS, 1),
  WHOLE("--kv-channels", F_HEAD_DIM, 1), WHOLE("--vocab-size", F_VOCAB, 1),
  WHOLE("--padded-vocab-size", F_PADDED_VOCAB, 1),
  WHOLE("--max-position-embeddings", F_POSITIONS, 1),
  WORD("--position-embedding-type", F_POSITION_TYPE, "learned_absolute rope mrope yarn relative "
       "none"),
  SWITCH("--use-rotary-position-embeddings", F_ROTARY), SWITCH("--swiglu", F_GATED),
  SWITCH("--untie-embeddings-and-output-weights", F_UNTIED),
  SWITCH("--disable-bias-linear", F_NO_BIAS), SWITCH("--add-qkv-bias", F_QKV_BIAS),
  SWITCH("--qk-layernorm", F_QK_NORM), WORD("--normalization", F_RMS_NORM, "LayerNorm RMSNorm"),
  WHOLE("--num-experts", F_EXPERTS, 1), WHOLE("--moe-router-topk", F_TOP, 1),
  WHOLE("--moe-ffn-hidden-size", F_EXPERT_FFN, 1),
  WHOLE("--moe-shared-expert-intermediate-size", F_SHARED_FFN, 1),
  TEXT("--moe-layer-freq", F_MOE_FREQUENCY),
  SWITCH("--moe-router-enable-expert-bias", F_ROUTER_BIAS),
  WHOLE("--mtp-num-layers", F_PREDICT, 0), SWITCH("--multi-latent-attention", F_MLA),
  WHOLE("--q-lora-rank", F_Q_RANK, 1), WHOLE("--kv-lora-rank", F_KV_RANK, 1),
  WHOLE("--qk-head-dim", F_QK_DIM, 1), WHOLE("--qk-pos-emb-head-dim", F_ROPE_DIM, 1),
  WHOLE("--v-head-dim", F_VALUE_DIM, 1),
  /* the launcher */
  WHOLE("--nproc_per_node", F_GPUS_PER_NODE, 1), WHOLE("--nproc-per-node", F_GPUS_PER_NODE, 1),
  WHOLE("--nnodes", F_NODES, 1),
  /* what changes a plan, and plans do not have */
  TEXT("--hybrid-override-pattern", F_OTHER_LAYERS),
  TEXT("--hybrid-layer-pattern", F_OTHER_LAYERS), SWITCH("--is-hybrid-model", F_OTHER_LAYERS),
  TEXT("--experimental-attention-variant", F_OTHER_LAYERS),
  OTHER("--spec", "a layer specification of its own is not read"),
  OTHER("--encoder-num-layers", DECODERS_ONLY), OTHER("--decoder-num-layers", DECODERS_ONLY),
  OTHER("--encoder-tensor-model-parallel-size", DECODERS_ONLY),
  OTHER("--encoder-pipeline-model-parallel-size", DECODERS_ONLY),
  OTHER("--window-size", "windows of attention are not read"),
  OTHER("--window-attn-skip-freq", "windows of attention are not read"),
  OTHER("--rampup-batch-size", "the full batch is taken"),
  { "--recompute-modules", BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, "core_attn",
    "selective recomputation is that of attention's scores" },
  OTHER_SWITCH("--distribute-saved-activations", NOT_MODELLED),
  OTHER_SWITCH("--moe-layer-recompute", NOT_MODELLED),
  OTHER("--moe-expert-capacity-factor", "all tokens reach their experts"),
  OTHER_SWITCH("--moe-pad-expert-input-to-capacity", NOT_MODELLED),
  OTHER_SWITCH("--moe-extended-tp", NOT_MODELLED),
  OTHER_SWITCH("--moe-shared-expert-gate", "the gate of shared experts is not read"),
  OTHER_SWITCH("--overlap-moe-expert-parallel-comm", NOT_MODELLED),
  OTHER_SWITCH("--delay-wgrad-compute", NOT_MODELLED),
  OTHER_SWITCH("--defer-embedding-wgrad-compute", NOT_MODELLED),
  OTHER_SWITCH("--cpu-offloading", "offloaded activations are in GPU memory here"),
  OTHER("--cpu-offloading-num-layers", "offloaded activations are in GPU memory here"),
  OTHER_SWITCH("--fine-grained-activation-offloading",
               "offloaded activations are in GPU memory here"),
  OTHER_SWITCH("--fp8-param-gather", "weights have 2 bytes here"),
  OTHER("--fp4-format", "arithmetic of FP4 is not modelled"),
  OTHER("--main-params-dtype", "FP32 weights of the optimiser are taken"),
  OTHER("--exp-avg-dtype", "FP32 states of the optimiser are taken"),
  OTHER("--exp-avg-sq-dtype", "FP32 states of the optimiser are taken"),
  OTHER("--num-distributed-optimizer-instances", "shards over all data parallelism are taken"),
  OTHER_SWITCH("--enable-full-sharding-in-hsdp", NOT_MODELLED),
  OTHER("--outer-dp-sharding-strategy", NOT_MODELLED),
  OTHER_SWITCH("--use-tp-pp-dp-mapping", "GPUs are numbered by tp, cp, dp, pp here"),
  OTHER("--microbatch-group-size-per-virtual-pipeline-stage", "groups of pp are taken"),
  OTHER("--hierarchical-context-parallel-sizes", NOT_MODELLED),
  OTHER_SWITCH("--overlap-p2p-communication-warmup-flush", NOT_MODELLED),
  OTHER_SWITCH("--overlap-param-gather-with-optimizer-step", NOT_MODELLED),
  { NULL, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, NULL }
};

/* Of files, data, logs, numerics and kernels: a plan is the same with and without. */
static const char harmless[] =
    "--data-path --data-args-path --data-cache-path --data-sharding --per-split-data-args-path "
    "--mock-data --split --dataloader-type --num-workers --num-dataset-builder-threads "
    "--no-mmap-bin-files --no-create-attention-mask-in-dataloader --reset-* --eod-mask-loss "
    "--tokenizer-* --tiktoken-* --vocab-file --merge-file --vocab-extra-ids --null-tokenizer-* "
    "--hf-tokenizer-* --make-vocab-size-divisible-by --legacy-tokenizer --train-* --valid-* "
    "--test-* --eval-* --full-validation --skip-train --exit-* --log-* --logging-level "
    "--tensorboard-* --wandb-* --timing-* --save* --load* --no-save-* --no-load-* --ckpt-* "
    "--dist-ckpt-* --async-save --use-dist-ckpt* --use-checkpoint-* --use-mp-args-* "
    "--auto-detect-ckpt-format --use-persistent-ckpt-worker --no-ckpt-* --pretrained-checkpoint "
    "--finetune --override-opt_param-scheduler --non-persistent-* --adlr-autoresume* --seed "
    "--data-parallel-random-init --init-method-* --use-cpu-initialization --te-rng-tracker "
    "--inference-rng-tracker --lr --lr-* --min-lr --decoupled-* --warmup --weight-decay* "
    "--start-weight-decay --end-weight-decay --clip-grad --adam-* --sgd-momentum --loss-scale* "
    "--initial-loss-scale --min-loss-scale --hysteresis --norm-epsilon --rotary-* --rope-* "
    "--use-rope-scaling --no-rope-* --mrope-section --apply-layernorm-1p --no-position-embedding "
    "--apply-query-key-layer-scaling --attention-softmax-in-fp32 --no-masked-softmax-fusion "
    "--no-bias-* --no-gradient-accumulation-fusion --no-persist-layer-norm --squared-relu "
    "--openai-gelu --use-mcore-models --use-legacy-models --enable-experimental "
    "--distributed-backend --distributed-timeout-* --local-rank --local_rank --lazy-mpu-init "
    "--master_addr --master_port --master-addr --master-port --node_rank --node-rank --rdzv* "
    "--rdzv-* --max_restarts --max-restarts --tee --redirects --standalone --no-python --role "
    "--log_dir --manual-gc* --no-check-for-nan-in-loss-and-grad --check-for-* --rerun-* "
    "--error-injection-* --deterministic-mode --disable-* --profile* --use-pytorch-profiler "
    "--record-memory-history --memory-snapshot-path --empty-unused-memory-level "
    "--enable-cuda-graph --external-cuda-graph --cuda-graph-* --fp8-recipe --fp8-margin "
    "--fp8-interval --fp8-amax-* "
    "--no-fp8-wgrad --first-last-layers-bf16 --num-layers-at-* --accumulate-* "
    "--use-precision-aware-optimizer --moe-router-* --moe-aux-loss-coeff --moe-z-loss-coeff "
    "--moe-input-jitter-eps --moe-grouped-gemm --moe-use-legacy-grouped-gemm "
    "--moe-token-dispatcher-type --moe-enable-deepep --moe-permute-fusion --moe-per-layer-logging "
    "--moe-shared-expert-overlap --moe-token-drop-policy --moe-deepep-num-sms --mtp-loss-* "
    "--ddp-* --no-align-* --gradient-reduce-div-fusion --no-gradient-reduce-div-fusion "
    "--use-nccl-ub --use-sharp --sharp-* --nccl-communicator-config-path --fsdp-double-buffer "
    "--suggested-communication-unit-size --init-model-with-meta-device --keep-fp8-transpose-cache "
    "--calculate-per-token-loss --no-scatter-gather-tensors-in-pipeline --tp-comm-* --cp-comm-type "
    "--no-barrier-with-level-1-timing --wgrad-deferral-limit --mscale* --original-max-position-* "
    "--beta-fast --beta-slow --query-in-block-prob --apply-residual-connection-post-layernorm "
    "--export-* --kitchen-* --inprocess-* --enable-ft-package --straggler-* --config-logger-dir "
    "--yaml-cfg --no-load-optim --retro-* --overlap-cpu-optimizer-* --use-torch-optimizer-* "
    "--pin-cpu-* --no-pin-cpu-*";

/* ---- reading ---- */

/* What a line #SBATCH says of GPUs. */
static const berth_i_setting slurm[] = {
  WHOLE("--nodes", F_NODES, 1), WHOLE("-N", F_NODES, 1),
  WHOLE("--gpus-per-node", F_GPUS_PER_NODE, 1),
  { NULL, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, NULL }
};

static bool is_flag(const char *word) { return strncmp(word, "--", 2) == 0 && word[2]; }

/* An unknown flag that may change the model's shapes. */
static bool speaks_of_shapes(const char *name) {
  static const char *const words[] = { "-dim", "-rank", "-experts", "-layers", "-heads", "hidden",
                                       "ffn", "vocab", "-groups", NULL };
  for (int i = 0; words[i]; i++)
    if (strstr(name, words[i])) return true;
  return false;
}

/* All values of the flag at i, of which v has the first. */
static const char *values(berth_llm_launch *l, const berth_i_words *w, const int32_t *command,
                          size_t i, const berth_i_value *v) {
  char text[120];
  int n = snprintf(text, sizeof text, "%s", v->text);
  bool joined = strchr(w->item[i].text, '=') != NULL;
  for (size_t k = i + (joined ? 1 : 2); n > 0 && (size_t)n < sizeof text && k < w->n
       && command[k] == command[i] && !is_flag(w->item[k].text); k++)
    n += snprintf(text + n, sizeof text - (size_t)n, " %s", w->item[k].text);
  return berth_i_launch_copy(l, text, strlen(text));
}

/* The flag and, behind '=' or as the next word, its value. */
static berth_status read_flag(berth_llm_launch *l, const berth_i_setting *table,
                              const berth_i_words *w, const int32_t *command, size_t i) {
  const berth_i_word *word = &w->item[i], *value = word;
  size_t n = strcspn(word->text, "=");
  bool joined = word->text[n] == '=';
  const char *name = berth_i_launch_copy(l, word->text, n);
  const berth_i_setting *row = berth_i_setting_find(table, name);
  if (!row) {
    if (table == flags && !berth_i_listed(harmless, name)) {
      berth_i_launch_strange(l, name);
      if (speaks_of_shapes(name)) l->odd = name;
    }
    return BERTH_OK;
  }
  bool alone = row->kind == BERTH_I_SWITCH || row->kind == BERTH_I_UNSWITCH;
  berth_i_value v = { BERTH_I_VALUE_ARGUMENT, joined ? word->text + n + 1 : "", 0 };
  if (alone && joined) return berth_i_launch_fail(l, word->line, name, v.text, "takes no value");
  if (!alone && !joined) {
    bool next = i + 1 < w->n && command[i + 1] == command[i] && !is_flag(w->item[i + 1].text);
    if (!next) return berth_i_launch_fail(l, word->line, name, "", "has no value");
    value = &w->item[i + 1];
    v.text = value->text;
  }
  if (!alone && value->unknown && row->fact) {
    berth_i_launch_note(l, "line %d: %s %s: the file does not say its value; left open",
                        (int)word->line, name, value->unknown);
    return BERTH_OK;
  }
  if (row->note && !alone) v.text = values(l, w, command, i, &v);
  return berth_i_setting_store(l, row, &v, word->line);
}

/* Flags of Megatron in the words of one command. */
static int32_t flags_in(const berth_i_shell *s, size_t from, size_t to) {
  int32_t n = 0;
  char name[64];
  for (size_t i = from; i < to; i++) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(s->words.item[i].text, "="),
             s->words.item[i].text);
    const berth_i_setting *row = is_flag(name) ? berth_i_setting_find(flags, name) : NULL;
    n += row && row->fact != F_NODES && row->fact != F_GPUS_PER_NODE;
  }
  return n;
}

/* The first command with flags is read; #SBATCH lines before it, too. */
static berth_status read(berth_llm_launch *l) {
  berth_i_shell s;
  berth_status st = berth_i_shell_read(l, &s);
  bool found = false;
  for (size_t i = 0, next; i < s.words.n && st == BERTH_OK; i = next) {
    for (next = i; next < s.words.n && s.command[next] == s.command[i];) next++;
    bool batch = strcmp(s.words.item[i].text, "#SBATCH") == 0;
    if (berth_i_listed("echo printf", s.words.item[i].text)) continue;
    if (!batch && !flags_in(&s, i, next)) continue;
    if (!batch && found) {
      berth_i_launch_note(l, "line %d: a further command with flags is left out",
                          (int)s.words.item[i].line);
      continue;
    }
    found |= !batch;
    for (size_t k = i; k < next && st == BERTH_OK; k++)
      if (is_flag(s.words.item[k].text) || batch)
        st = read_flag(l, batch ? slurm : flags, &s.words, s.command, k);
  }
  if (st == BERTH_OK && !found) l->settings = 0;
  return st;
}

/* ---- the model ---- */

/* "([0]*3+[1]*58)": whether each layer has experts.  @return false: it is of another form */
static bool read_layers(const char *p, uint8_t *moe, int32_t layers) {
  int32_t at = 0;
  for (p += strspn(p, "( '\""); *p == '['; p += strspn(p, "+ )'\"")) {
    int32_t digits[64], n = 0, times = 1;
    for (p++; (*p == '0' || *p == '1') && n < 64; p += strspn(p, ", ")) digits[n++] = *p++ - '0';
    if (*p++ != ']') return false;
    p += strspn(p, " ");
    if (*p == '*') {
      p += 1 + strspn(p + 1, " ");
      for (times = 0; *p >= '0' && *p <= '9' && times < 100000; p++)
        times = 10 * times + (*p - '0');
    }
    if (at + (int64_t)times * n > layers) return false;
    for (int32_t k = 0; k < times * n; k++) moe[at++] = (uint8_t)digits[k % n];
  }
  return *p == '\0' && at == layers;
}

/* Do the layers that have experts follow from these two shapes? */
static bool follows(const uint8_t *moe, int32_t layers, int32_t dense, int32_t every) {
  for (int32_t i = 0; i < layers; i++)
    if (moe[i] != (i >= dense && (i + 1) % every == 0)) return false;
  return true;
}

/* Fills dense_layers and moe_every: of a list, or of a number k, for layers 1, k + 1, ... */
static bool read_frequency(berth_llm_launch *l) {
  const char *p = l->fact[F_MOE_FREQUENCY].text;
  int32_t layers = l->shapes.layers, every = 0, dense = 0;
  if (p[strspn(p, "0123456789")] == '\0' && *p && strlen(p) < 6) {
    for (; *p; p++) every = 10 * every + (*p - '0');
    l->shapes.moe_every = every;
    if (every > 1)
      berth_i_launch_note(l, "line %d: --moe-layer-freq %d: layers %d, %d, ... have experts here, "
                          "not 1, %d, ...", (int)l->fact[F_MOE_FREQUENCY].line, (int)every,
                          (int)every, (int)(2 * every), (int)(every + 1));
    return every > 0 && layers % every == 0;
  }
  uint8_t *moe = berth_i_pool_zalloc(&l->pool, (size_t)layers + 1, 1);
  if (!moe || !read_layers(p, moe, layers)) return false;
  while (dense < layers && !moe[dense]) dense++;
  for (every = 1; every <= layers; every++) {
    l->shapes.dense_layers = every == 1 ? dense : 0;
    l->shapes.moe_every = every;
    if (dense < layers && follows(moe, layers, l->shapes.dense_layers, every)) return true;
    if (every > 1 && every > dense + 1) return false;
  }
  return false;
}

static void shape_attention(berth_llm_launch *l, berth_llm_shapes *s) {
  s->kv_heads = berth_i_fact_on(l, F_GQA) ? (int32_t)berth_i_fact_number(l, F_GROUPS, 1) : 0;
  if (!berth_i_fact_on(l, F_MLA)) {
    s->qk_norm = berth_i_fact_on(l, F_QK_NORM);
    return;
  }
  s->kv_heads = 0;
  s->kv_rank = (int32_t)berth_i_fact_number(l, F_KV_RANK, 32);
  s->q_rank = (int32_t)berth_i_fact_number(l, F_Q_RANK, 0);
  s->rope_dim = (int32_t)berth_i_fact_number(l, F_ROPE_DIM, 64);
  s->head_dim = (int32_t)berth_i_fact_number(l, F_QK_DIM, 128) + s->rope_dim;
  s->value_dim = (int32_t)berth_i_fact_number(l, F_VALUE_DIM, 128);
}

static void shape_mlp(const berth_llm_launch *l, berth_llm_shapes *s) {
  s->gated = berth_i_fact_on(l, F_GATED);
  if (!s->ffn) s->ffn = s->gated ? (int32_t)(4.0 * s->hidden * 2 / 3) / 64 * 64 : 4 * s->hidden;
  if (!s->experts) {
    s->top = s->expert_ffn = s->shared_ffn = 0;
    return;
  }
  if (!s->top) s->top = 2;
  if (!s->expert_ffn) s->expert_ffn = s->ffn;
  s->router_bias = berth_i_fact_on(l, F_ROUTER_BIAS);
  s->expert_bias = s->mlp_bias;
}

static void shape(berth_llm_launch *l) {
  static const struct { berth_i_fact_id fact; const char *reason; } needed[] = {
    { F_LAYERS, "--num-layers is not given" }, { F_HIDDEN, "--hidden-size is not given" },
    { F_HEADS, "--num-attention-heads is not given" }
  };
  berth_llm_shapes *s = &l->shapes;
  l->no_model = NULL;
  if (!s->vocab) s->vocab = (int32_t)berth_i_fact_number(l, F_PADDED_VOCAB, 0);
  if (!s->vocab) l->no_model = "--vocab-size is not given: the tokenizer has it";
  for (int i = 0; i < 3; i++)
    if (!l->fact[needed[i].fact].text) l->no_model = needed[i].reason;
  if (l->odd) {
    berth_i_launch_note(l, "no model: %s is not known, and may change its shapes", l->odd);
    l->no_model = "a flag that is not known may change its shapes";
  }
  if (l->fact[F_KV_RANK].text && !berth_i_fact_on(l, F_MLA))
    l->no_model = "--kv-lora-rank without --multi-latent-attention";
  if (l->fact[F_OTHER_LAYERS].text) l->no_model = "layers that are not attention with an MLP or "
                                                  "experts are not supported";
  s->tied = !berth_i_fact_on(l, F_UNTIED);
  bool bias = !berth_i_fact_on(l, F_NO_BIAS);
  s->qkv_bias = bias || berth_i_fact_on(l, F_QKV_BIAS);
  s->out_bias = s->mlp_bias = bias;
  s->norm_bias = !berth_i_fact_on(l, F_RMS_NORM);
  bool learned = berth_i_fact_number(l, F_POSITION_TYPE, 0) == 0 && !berth_i_fact_on(l, F_ROTARY);
  s->positions = learned ? (int32_t)berth_i_fact_number(l, F_POSITIONS, 0) : 0;
  shape_attention(l, s);
  shape_mlp(l, s);
  if (l->fact[F_MOE_FREQUENCY].text && s->experts && !read_frequency(l))
    l->no_model = "--moe-layer-freq: layers with experts neither begin behind dense ones nor come "
                  "at regular distances";
  if (berth_i_fact_on(l, F_PREDICT))
    berth_i_launch_note(l, "line %d: --mtp-num-layers: modules that predict further tokens are "
                        "left out", (int)l->fact[F_PREDICT].line);
}

/* ---- the plan ---- */

static void derive_zero(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  bool fsdp = berth_i_fact_on(l, F_FSDP) && berth_i_fact_given(l, F_STRATEGY);
  if (berth_i_fact_on(l, F_FSDP2)) berth_i_planned_set(p, "zero", 3, F_FSDP2);
  if (fsdp) berth_i_planned_set(p, "zero", l->fact[F_STRATEGY].number, F_STRATEGY);
  if (berth_i_fact_on(l, F_DISTRIBUTED)) berth_i_planned_set(p, "zero", 1, F_DISTRIBUTED);
  berth_i_planned_set(p, "zero", 0, BERTH_I_NO_FACT);
  bool keeps = berth_i_fact_on(l, F_NO_RESHARD);
  if (p->plan->zero == 3)
    berth_i_planned_switch(p, "reshard", !keeps, keeps ? F_NO_RESHARD : BERTH_I_NO_FACT);
}

static berth_status derive_recompute(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  if (berth_i_fact_on(l, F_RECOMPUTE_ALL))
    berth_i_planned_set(p, "recompute", BERTH_LLM_SELECTIVE, F_RECOMPUTE_ALL);
  berth_i_planned_set(p, "recompute", BERTH_LLM_RECOMPUTE_NONE, BERTH_I_NO_FACT);
  double n = berth_i_fact_number(l, F_RECOMPUTE_LAYERS, 0);
  if (p->plan->recompute != BERTH_LLM_FULL || n == 0) return BERTH_OK;
  if (!berth_i_fact_given(l, F_RECOMPUTE_METHOD))
    return berth_i_fact_fail(l, F_RECOMPUTE_LAYERS, "requires --recompute-method");
  if (l->fact[F_RECOMPUTE_METHOD].number == 1)
    berth_i_planned_set(p, "recompute_layers", n, F_RECOMPUTE_LAYERS);
  else if (n > 1)
    berth_i_launch_note(l, "line %d: --recompute-num-layers %.0f: layers store their input one by "
                        "one here", (int)l->fact[F_RECOMPUTE_LAYERS].line, n);
  return BERTH_OK;
}

static void derive_kernels(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  int backend = (int)berth_i_fact_number(l, F_ATTENTION, 0);
  bool local = berth_i_fact_number(l, F_LOCAL_IMPL, 0) == 1 && !berth_i_fact_on(l, F_FLASH);
  berth_i_fact_id why = berth_i_fact_given(l, F_ATTENTION) ? F_ATTENTION
                        : local ? F_LOCAL_IMPL : berth_i_fact_on(l, F_FLASH) ? F_FLASH
                                                                             : BERTH_I_NO_FACT;
  berth_i_planned_set(p, "flash", backend < 3 && !local, why);
  bool masks = berth_i_fact_number(l, F_DROP_HIDDEN, 0.1) > 0
               || (!p->plan->flash && berth_i_fact_number(l, F_DROP_ATTENTION, 0.1) > 0);
  berth_i_planned_set(p, "dropout", masks, berth_i_fact_given(l, F_DROP_HIDDEN) ? F_DROP_HIDDEN
                                                                                : BERTH_I_NO_FACT);
  bool fused = berth_i_fact_on(l, F_FUSED_LOSS) && berth_i_fact_number(l, F_LOSS_IMPL, 0) > 0;
  berth_i_planned_switch(p, "fused_loss", fused, fused ? F_LOSS_IMPL : BERTH_I_NO_FACT);
}

static berth_status derive_types(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  bool bf16 = berth_i_fact_on(l, F_BF16), fp16 = berth_i_fact_on(l, F_FP16);
  if (bf16 && fp16) return berth_i_fact_fail(l, F_FP16, "contradicts --bf16");
  if (berth_i_fact_given(l, F_FP8)) berth_i_planned_set(p, "dtype", BERTH_LLM_FP8, F_FP8);
  if (bf16) berth_i_planned_set(p, "dtype", BERTH_LLM_BF16, F_BF16);
  if (fp16) berth_i_planned_set(p, "dtype", BERTH_LLM_FP16, F_FP16);
  if (!bf16 && !fp16)
    berth_i_launch_note(l, "neither --bf16 nor --fp16: Megatron-LM computes in FP32 then, which "
                        "plans do not have");
  berth_i_fact_id half = berth_i_fact_on(l, F_BF16_GRADIENTS) ? F_BF16_GRADIENTS
                         : berth_i_fact_number(l, F_MAIN_GRADIENTS, 0) == 1 ? F_MAIN_GRADIENTS
                                                                            : BERTH_I_NO_FACT;
  if (half) berth_i_planned_set(p, "gradients", BERTH_LLM_GRADIENTS_BF16, half);
  bool small = fp16 && !berth_i_fact_on(l, F_FP32_GRADIENTS);
  berth_i_planned_set(p, "gradients", small ? BERTH_LLM_GRADIENTS_BF16 : BERTH_LLM_GRADIENTS_FP32,
                      BERTH_I_NO_FACT);
  if (berth_i_fact_on(l, F_OFFLOAD) && berth_i_fact_number(l, F_OFFLOAD_SHARE, 1) < 1)
    berth_i_launch_note(l, "line %d: --optimizer-offload-fraction: all states are offloaded here",
                        (int)l->fact[F_OFFLOAD_SHARE].line);
  return BERTH_OK;
}

static void derive_overlap(berth_i_planned *p) {
  static const struct { const char *key; berth_i_fact_id fact; } row[] = {
    { "overlap_grad", F_OVERLAP_GRAD }, { "overlap_gather", F_OVERLAP_GATHER },
    { "overlap_tp", F_OVERLAP_TP }
  };
  for (int i = 0; i < 3; i++) {
    bool on = berth_i_fact_on(p->l, row[i].fact);
    berth_i_planned_switch(p, row[i].key, on, on ? row[i].fact : BERTH_I_NO_FACT);
  }
  bool off = berth_i_fact_given(p->l, F_OVERLAP_P2P);
  berth_i_planned_switch(p, "overlap_p2p", p->plan->vp > 1 && !off,
                         off ? F_OVERLAP_P2P : BERTH_I_NO_FACT);
}

/* ---- the split of the layers ---- */

/* Is the number of layers known? Else what needs it is left open. */
static bool knows_layers(const berth_i_planned *p, berth_i_fact_id id) {
  if (p->layers > 0) return true;
  berth_i_launch_note(p->l, "line %d: %s: left open, since the number of layers is not known",
                      (int)p->l->fact[id].line, p->l->fact[id].name);
  return false;
}

static berth_status derive_layout(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  enum { MOST = 4096 };
  int32_t chunks, predict;
  char why[80];
  int32_t *count = berth_i_pool_alloc(&l->pool, MOST, sizeof *count);
  if (!count) return berth_i_pool_status(&l->pool);
  berth_status st = berth_i_layout_read(&l->pool, l->fact[F_LAYOUT].text, count, MOST, &chunks,
                                        &predict, why, sizeof why);
  if (st == BERTH_EINVAL) return berth_i_fact_fail(l, F_LAYOUT, "%s", why);
  if (st != BERTH_OK) return st;
  if (chunks % p->plan->pp)
    return berth_i_fact_fail(l, F_LAYOUT, "has %d chunks, no multiple of pp %d", (int)chunks,
                             (int)p->plan->pp);
  int64_t sum = 0;
  for (int32_t c = 0; c < chunks; c++) sum += count[c];
  if (p->layers && sum != p->layers)
    return berth_i_fact_fail(l, F_LAYOUT, "has %lld layers, the model %d", (long long)sum,
                             (int)p->layers);
  berth_i_planned_set(p, "vp", chunks / p->plan->pp, F_LAYOUT);
  berth_i_planned_stages(p, count, chunks, F_LAYOUT);
  return BERTH_OK;
}

/* Layers that embedding and loss count as. */
static int32_t extra_of(const berth_llm_launch *l) {
  return berth_i_fact_on(l, F_COUNT_EMBEDDING) + berth_i_fact_on(l, F_COUNT_LOSS);
}

static berth_status derive_chunks(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  if (!knows_layers(p, F_CHUNK_LAYERS)) return BERTH_OK;
  int32_t all = p->layers + extra_of(l), k = (int32_t)l->fact[F_CHUNK_LAYERS].number;
  if (all % p->plan->pp || all / p->plan->pp % k)
    return berth_i_fact_fail(l, F_CHUNK_LAYERS, "%d layers of pp %d stages are no chunks of %d",
                             (int)all, (int)p->plan->pp, (int)k);
  berth_i_planned_set(p, "vp", all / p->plan->pp / k, F_CHUNK_LAYERS);
  return BERTH_OK;
}

/* Layers of stage s of a pipeline whose first and last stage have their own number. */
static int32_t stage_layers(const berth_i_planned *p, int32_t s, int32_t first, int32_t last,
                            int32_t middle) {
  if (s == 0 && first >= 0) return first;
  return s == p->plan->pp - 1 && last >= 0 ? last : middle;
}

static berth_status derive_ends(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  int32_t first = (int32_t)berth_i_fact_number(l, F_FIRST_LAYERS, -1);
  int32_t last = (int32_t)berth_i_fact_number(l, F_LAST_LAYERS, -1);
  berth_i_fact_id id = first >= 0 ? F_FIRST_LAYERS : F_LAST_LAYERS;
  int32_t pp = p->plan->pp, vp = p->plan->vp ? p->plan->vp : 1;
  if (!knows_layers(p, id)) return BERTH_OK;
  int32_t ends = (first >= 0) + (last >= 0), rest = p->layers;
  if (first > 0) rest -= first;
  if (last > 0) rest -= last;
  int32_t between = pp - ends;
  if (between < 0 || rest < 0 || (between ? rest % between : rest))
    return berth_i_fact_fail(l, id, "the other %d of %d layers are not the same on each of %d "
                             "stages", (int)rest, (int)p->layers, (int)between);
  int32_t n = pp * vp, middle = between ? rest / between : 0;
  int32_t *count = berth_i_pool_alloc(&l->pool, (size_t)n, sizeof *count);
  if (!count) return berth_i_pool_status(&l->pool);
  for (int32_t c = 0; c < n; c++) {
    int32_t k = stage_layers(p, c % pp, first, last, middle);
    if (k % vp)
      return berth_i_fact_fail(l, id, "%d layers of stage %d are not the same in %d chunks", (int)k,
                               (int)(c % pp), (int)vp);
    count[c] = k / vp;
  }
  berth_i_planned_stages(p, count, n, id);
  return BERTH_OK;
}

/* Embedding or loss, but not both, is a layer of the even split. */
static berth_status derive_extra(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  bool head = berth_i_fact_on(l, F_COUNT_LOSS);
  berth_i_fact_id id = head ? F_COUNT_LOSS : F_COUNT_EMBEDDING;
  int32_t n = p->plan->pp * (p->plan->vp ? p->plan->vp : 1);
  if (extra_of(l) == 2) {
    berth_i_planned_set(p, "embedding_as_layer", 1, id);
    return BERTH_OK;
  }
  if (!knows_layers(p, id)) return BERTH_OK;
  if ((p->layers + 1) % n)
    return berth_i_fact_fail(l, id, "%d layers and one more are no multiple of %d chunks",
                             (int)p->layers, (int)n);
  int32_t *count = berth_i_pool_alloc(&l->pool, (size_t)n, sizeof *count);
  if (!count) return berth_i_pool_status(&l->pool);
  for (int32_t c = 0; c < n; c++) count[c] = (p->layers + 1) / n;
  count[head ? n - 1 : 0]--;
  berth_i_planned_stages(p, count, n, id);
  return BERTH_OK;
}

static berth_status derive_split(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  bool layout = berth_i_fact_given(l, F_LAYOUT), chunks = berth_i_fact_given(l, F_CHUNK_LAYERS);
  if (layout + chunks + berth_i_fact_given(l, F_VP) > 1)
    return berth_i_fact_fail(l, layout ? F_LAYOUT : F_CHUNK_LAYERS, "contradicts %s",
                             l->fact[l->fact[F_VP].text ? F_VP : F_CHUNK_LAYERS].name);
  if (p->plan->pp > 1 << 16 || p->plan->vp > 1000) return BERTH_OK; /* refused later */
  bool open = !berth_i_planned_has(p, "stages");
  if (layout) return open ? derive_layout(p) : BERTH_OK;
  berth_status st = chunks && !berth_i_planned_has(p, "vp") ? derive_chunks(p) : BERTH_OK;
  bool ends = berth_i_fact_given(l, F_FIRST_LAYERS) || berth_i_fact_given(l, F_LAST_LAYERS);
  if (st != BERTH_OK || !open || p->plan->pp == 1) return st;
  if (ends) return derive_ends(p);
  return extra_of(l) ? derive_extra(p) : BERTH_OK;
}

static void derive_batch(berth_i_planned *p) {
  int64_t model = (int64_t)p->plan->tp * p->plan->cp * p->plan->pp;
  if (berth_i_planned_has(p, "global_batch") || !p->gpus || p->gpus % model) return;
  int64_t dp = p->plan->dp ? p->plan->dp : p->gpus / model;
  if (dp * p->plan->micro_batch < 1000000000)
    berth_i_planned_set(p, "global_batch", (double)(dp * p->plan->micro_batch), BERTH_I_NO_FACT);
}

static berth_status derive(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  berth_i_planned_set(p, "framework", BERTH_LLM_MEGATRON, BERTH_I_NO_FACT);
  berth_status st = derive_split(p);
  if (st == BERTH_OK) st = derive_types(p);
  if (st == BERTH_OK) st = derive_recompute(p);
  if (st != BERTH_OK) return st;
  if (berth_i_fact_given(l, F_EXPERTS)) berth_i_planned_set(p, "etp", p->plan->tp, BERTH_I_NO_FACT);
  bool sp = berth_i_fact_on(l, F_SP) && p->plan->tp > 1;
  berth_i_planned_switch(p, "sequence_parallel", sp, sp ? F_SP : BERTH_I_NO_FACT);
  derive_zero(p);
  derive_kernels(p);
  derive_overlap(p);
  derive_batch(p);
  return BERTH_OK;
}

const berth_i_llm_format berth_i_llm_format_megatron = {
  .about = { "megatron", "Megatron-LM", "flags of Megatron-LM, as a text or in a shell script", 1,
             1 },
  .read = read, .shape = shape, .derive = derive, .write = berth_i_write_megatron
};
