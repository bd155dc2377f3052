/* JSON of DeepSpeed and of accelerate with FSDP. Members of objects are settings by their path;
 * "auto" leaves one to the Hugging Face integration. */
#include "extern/cjson_internal.h"
#include "export_internal.h"
#include <stdio.h>

#define WHOLE(name, fact, low, high) { name, fact, BERTH_I_WHOLE, low, high, NULL, NULL }
#define BOOL(name, fact) { name, fact, BERTH_I_BOOL, 0, 0, NULL, NULL }
#define WORD(name, fact, words) { name, fact, BERTH_I_WORD, 0, 0, words, NULL }
#define OTHER(name, note) { name, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, note }
#define NOT_MODELLED "plans do not have it"
#define NOT_READ "the model's code begins recomputation: say it with the option recompute"
#define END { NULL, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, NULL }

enum { MOST = 1 << 20, MOST_PATH = 200, DEEPEST = 6 };

/* ---- reading ---- */

typedef struct source {
  berth_llm_launch *l;
  const berth_i_json *doc;
  const berth_i_setting *table;
  const char *harmless;
  const char *automatic; /* names, with commas */
} source;

static berth_i_value value_of(berth_llm_launch *l, const berth_i_json_value *v) {
  char text[40];
  double x;
  switch (berth_i_json_kind_of(v)) {
  case BERTH_I_JSON_NUMBER:
    x = berth_i_json_number(v);
    berth_snprintf(text, sizeof text, "%.15g", x);
    return (berth_i_value){ BERTH_I_VALUE_NUMBER, berth_i_launch_copy(l, text, strlen(text)), x };
  case BERTH_I_JSON_BOOL:
    x = berth_i_json_true(v);
    return (berth_i_value){ BERTH_I_VALUE_BOOL, x ? "true" : "false", x };
  case BERTH_I_JSON_STRING:
    return (berth_i_value){ BERTH_I_VALUE_STRING,
                            berth_i_launch_copy(l, berth_i_json_string(v),
                                                strlen(berth_i_json_string(v))), 0 };
  default: return (berth_i_value){ BERTH_I_VALUE_OTHER, "[...]", 0 };
  }
}

static void add_automatic(source *s, const char *name) {
  size_t n = strlen(s->automatic) + strlen(name) + 3;
  char *text = n < 300 ? berth_i_pool_alloc(&s->l->pool, n, 1) : NULL;
  if (!text) return;
  snprintf(text, n, "%s%s%s", s->automatic, *s->automatic ? ", " : "", name);
  s->automatic = text;
}

static berth_status take(source *s, const char *path, const berth_i_json_value *v) {
  const berth_i_setting *row = berth_i_setting_find(s->table, path);
  berth_i_value x = value_of(s->l, v);
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_NULL) return BERTH_OK;
  if (!row) {
    if (!berth_i_listed(s->harmless, path)) berth_i_launch_strange(s->l, path);
    return BERTH_OK;
  }
  if (x.kind == BERTH_I_VALUE_STRING && strcmp(x.text, "auto") == 0) {
    add_automatic(s, row->name);
    return BERTH_OK;
  }
  int32_t line = berth_i_json_line(s->doc, v);
  if (row->fact && s->l->fact[row->fact].text && s->l->fact[row->fact].name == row->name)
    return berth_i_launch_fail(s->l, line, path, x.text, "is given twice");
  return berth_i_setting_store(s->l, row, &x, line);
}

static berth_status walk(source *s, const berth_i_json_value *object, const char *prefix,
                         int depth) {
  char path[MOST_PATH];
  berth_status st = BERTH_OK;
  for (const berth_i_json_value *v = berth_i_json_first(object); v && st == BERTH_OK;
       v = berth_i_json_next(v)) {
    snprintf(path, sizeof path, "%s%s%.80s", prefix, *prefix ? "." : "", berth_i_json_key(v));
    bool object_too = berth_i_json_kind_of(v) == BERTH_I_JSON_OBJECT && depth < DEEPEST;
    st = object_too ? walk(s, v, path, depth + 1) : take(s, path, v);
  }
  return st;
}

static berth_status read_json(berth_llm_launch *l, const berth_i_setting *table,
                              const char *harmless) {
  berth_i_json *doc = NULL;
  berth_status st = berth_i_json_parse(l->pool.ctx, l->name, l->text, l->len, &doc);
  if (st != BERTH_OK) return st;
  source s = { l, doc, table, harmless, "" };
  const berth_i_json_value *root = berth_i_json_root(doc);
  st = berth_i_json_kind_of(root) == BERTH_I_JSON_OBJECT
           ? walk(&s, root, "", 0) : berth_i_json_fail(doc, root, "is not an object");
  if (*s.automatic)
    berth_i_launch_note(l, "left open, since \"auto\" leaves them to the integration: %s",
                        s.automatic);
  berth_i_json_release(doc);
  return st;
}

static void set_flag(berth_i_planned *p, const char *key, berth_i_fact_id id, bool otherwise) {
  const berth_i_fact *f = &p->l->fact[id];
  berth_i_planned_switch(p, key, f->text ? f->number != 0 : otherwise,
                         f->text ? id : BERTH_I_NO_FACT);
}

/* ---- DeepSpeed ---- */

static const berth_i_setting deepspeed[] = {
  WHOLE("train_batch_size", F_GLOBAL, 1, 0), WHOLE("train_micro_batch_size_per_gpu", F_MICRO, 1, 0),
  WHOLE("gradient_accumulation_steps", F_ACCUMULATION, 1, 1e9),
  WHOLE("zero_optimization.stage", F_ZERO, 0, 3),
  WORD("zero_optimization.offload_optimizer.device", F_OFFLOAD_SHARE, "none cpu nvme"),
  BOOL("zero_optimization.cpu_offload", F_OFFLOAD),
  BOOL("zero_optimization.overlap_comm", F_OVERLAP_GRAD),
  OTHER("zero_optimization.offload_param.device", "weights are in GPU memory here"),
  OTHER("zero_optimization.zero_hpz_partition_size", "shards over all data parallelism are taken"),
  OTHER("zero_optimization.mics_shard_size", "shards over all data parallelism are taken"),
  OTHER("zero_optimization.zero_quantized_weights", NOT_MODELLED),
  OTHER("zero_optimization.zero_quantized_gradients", NOT_MODELLED),
  BOOL("bf16.enabled", F_BF16), BOOL("bfloat16.enabled", F_BF16), BOOL("fp16.enabled", F_FP16),
  WORD("data_types.grad_accum_dtype", F_GRADIENTS, "fp32 bf16 fp16=bf16"),
  WORD("optimizer.type", F_OPTIMIZER, "Adam=adam AdamW=adam FusedAdam=adam SGD=sgd *"),
  WHOLE("tensor_parallel.autotp_size", F_TP, 1, 0),
  OTHER("sequence_parallel_size", NOT_MODELLED),
  OTHER("activation_checkpointing.partition_activations", NOT_READ),
  OTHER("activation_checkpointing.cpu_checkpointing", NOT_READ),
  OTHER("activation_checkpointing.number_checkpoints", NOT_READ),
  OTHER("compression_training", NOT_MODELLED), END
};
static const char deepspeed_harmless[] =
    "gradient_clipping steps_per_print wall_clock_breakdown dump_state memory_breakdown "
    "prescale_gradients gradient_predivide_factor sparse_gradients communication_data_type "
    "seq_parallel_communication_data_type zero_allow_untested_optimizer "
    "zero_force_ds_cpu_optimizer disable_allgather optimizer.* scheduler.* fp16.* bf16.* "
    "bfloat16.* amp.* zero_optimization.* aio.* tensorboard.* wandb.* comet.* csv_monitor.* "
    "monitor_config.* flops_profiler.* autotuning.* comms_logger.* elasticity.* data_efficiency.* "
    "curriculum_learning.* checkpoint.* data_types.* compile.* timers.* nebula.* hybrid_engine.* "
    "activation_checkpointing.* tensor_parallel.* dataloader_drop_last use_data_before_expert_* "
    "graph_harvesting managed_gradient_accumulation";

static berth_status read_deepspeed(berth_llm_launch *l) {
  return read_json(l, deepspeed, deepspeed_harmless);
}

static void derive_types(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  if (berth_i_fact_on(l, F_BF16)) berth_i_planned_set(p, "dtype", BERTH_LLM_BF16, F_BF16);
  else if (berth_i_fact_on(l, F_FP16)) berth_i_planned_set(p, "dtype", BERTH_LLM_FP16, F_FP16);
  else if (l->fact[F_BF16].text || l->fact[F_FP16].text)
    berth_i_launch_note(l, "neither bf16 nor fp16 is on: plans do not have FP32");
}

/* train_batch_size = micro-batch x accumulation x dp, of which two give the third. */
static berth_status derive_batch(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  bool global = berth_i_planned_has(p, "global_batch");
  bool micro = berth_i_planned_has(p, "micro_batch");
  bool steps = berth_i_fact_given(l, F_ACCUMULATION);
  int64_t model = (int64_t)p->plan->tp * p->plan->cp * p->plan->pp;
  double dp = p->plan->dp ? p->plan->dp : p->gpus % model == 0 ? (double)(p->gpus / model) : 0;
  double a = berth_i_fact_number(l, F_ACCUMULATION, 1) * dp;
  if (!global && !micro) return BERTH_OK;
  if (dp == 0) {
    if (!(global && micro))
      berth_i_launch_note(l, "%s is left open: it follows from the number of GPUs",
                          global ? "the micro-batch" : "the global batch");
    return BERTH_OK;
  }
  berth_i_fact_id from = steps ? F_ACCUMULATION : BERTH_I_NO_FACT;
  if (global && micro) {
    bool file = l->fact[F_GLOBAL].text && l->fact[F_MICRO].text && steps
                && p->plan->global_batch == l->fact[F_GLOBAL].number
                && p->plan->micro_batch == l->fact[F_MICRO].number;
    if (!file || p->plan->global_batch == p->plan->micro_batch * a) return BERTH_OK;
    return berth_i_fact_fail(l, F_GLOBAL, "is not micro-batch %d x accumulation %.0f x dp %.0f",
                             (int)p->plan->micro_batch, a / dp, dp);
  }
  if (micro) {
    double all = p->plan->micro_batch * a;
    if (all <= 1e9) berth_i_planned_set(p, "global_batch", all, from);
    return BERTH_OK;
  }
  if (fmod(p->plan->global_batch, a) != 0)
    return l->fact[F_GLOBAL].text
               ? berth_i_fact_fail(l, F_GLOBAL, "is no multiple of accumulation %.0f x dp %.0f",
                                   a / dp, dp) : BERTH_OK;
  berth_i_planned_set(p, "micro_batch", p->plan->global_batch / a, from);
  return BERTH_OK;
}

static berth_status derive_deepspeed(berth_i_planned *p) {
  berth_i_planned_set(p, "framework", BERTH_LLM_DEEPSPEED, BERTH_I_NO_FACT);
  berth_i_planned_set(p, "zero", 0, BERTH_I_NO_FACT);
  set_flag(p, "offload", F_OFFLOAD_SHARE, false);
  set_flag(p, "overlap_grad", F_OVERLAP_GRAD, p->plan->zero == 3);
  derive_types(p);
  return derive_batch(p);
}

const berth_i_llm_format berth_i_llm_format_deepspeed = {
  .about = { "deepspeed", "DeepSpeed", "JSON of DeepSpeed", 1, 1 },
  .read = read_deepspeed, .derive = derive_deepspeed, .write = berth_i_write_deepspeed
};

/* ---- accelerate with FSDP ---- */

static const berth_i_setting fsdp[] = {
  WORD("distributed_type", F_DISTRIBUTED, "FSDP MULTI_GPU NO"),
  WORD("mixed_precision", F_DTYPE, "bf16 fp16 fp8 no="),
  WHOLE("num_processes", F_GPUS_PER_NODE, 1, MOST),
  BOOL("fsdp_config.fsdp_reshard_after_forward", F_FSDP2),
  WORD("fsdp_config.fsdp_sharding_strategy", F_STRATEGY,
       "NO_SHARD SHARD_GRAD_OP FULL_SHARD HYBRID_SHARD HYBRID_SHARD_ZERO2"),
  BOOL("fsdp_config.fsdp_activation_checkpointing", F_RECOMPUTE_ALL),
  BOOL("fsdp_config.fsdp_offload_params", F_OFFLOAD), END
};
static const char fsdp_harmless[] =
    "compute_environment debug downcast_bf16 enable_cpu_affinity machine_rank main_process_* "
    "main_training_function num_machines rdzv_backend same_network tpu_* use_cpu "
    "fsdp_config.fsdp_version fsdp_config.fsdp_auto_wrap_policy "
    "fsdp_config.fsdp_backward_prefetch* "
    "fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_forward_prefetch "
    "fsdp_config.fsdp_state_dict_type fsdp_config.fsdp_sync_module_states "
    "fsdp_config.fsdp_use_orig_params fsdp_config.fsdp_transformer_layer_cls_to_wrap "
    "fsdp_config.fsdp_min_num_params dynamo_config.* gpu_ids";

static berth_status read_fsdp(berth_llm_launch *l) { return read_json(l, fsdp, fsdp_harmless); }

static berth_status derive_fsdp(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  static const int zero[] = { 0, 2, 3, 3, 2 };
  bool on = berth_i_fact_number(l, F_DISTRIBUTED, 0) == 0;
  berth_i_planned_set(p, "framework", BERTH_LLM_FSDP, BERTH_I_NO_FACT);
  if (!on) berth_i_planned_set(p, "zero", 0, F_DISTRIBUTED);
  if (l->fact[F_STRATEGY].text) {
    int k = (int)l->fact[F_STRATEGY].number;
    berth_i_planned_set(p, "zero", zero[k], F_STRATEGY);
    if (k > 2)
      berth_i_launch_note(l, "line %d: fsdp_sharding_strategy %s: shards over all data parallelism "
                          "are taken", (int)l->fact[F_STRATEGY].line, l->fact[F_STRATEGY].text);
  }
  berth_i_planned_set(p, "zero", 3, BERTH_I_NO_FACT);
  if (l->fact[F_FSDP2].text && p->plan->zero == 3)
    berth_i_planned_switch(p, "reshard", l->fact[F_FSDP2].number != 0, F_FSDP2);
  bool full = berth_i_fact_on(l, F_RECOMPUTE_ALL);
  berth_i_planned_set(p, "recompute", full ? BERTH_LLM_FULL : BERTH_LLM_RECOMPUTE_NONE,
                      l->fact[F_RECOMPUTE_ALL].text ? F_RECOMPUTE_ALL : BERTH_I_NO_FACT);
  if (berth_i_fact_on(l, F_OFFLOAD))
    berth_i_launch_note(l, "line %d: fsdp_offload_params: weights are in GPU memory here",
                        (int)l->fact[F_OFFLOAD].line);
  return BERTH_OK;
}

const berth_i_llm_format berth_i_llm_format_fsdp = {
  .about = { "fsdp", "accelerate's FSDP", "JSON of accelerate for PyTorch's FSDP", 1, 1 },
  .read = read_fsdp, .derive = derive_fsdp, .write = berth_i_write_fsdp
};
