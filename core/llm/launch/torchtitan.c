/* torchtitan's TOML. A key that is absent has torchtitan's own default. */
#include "export_internal.h"

#define WHOLE(name, fact, low, high) { name, fact, BERTH_I_WHOLE, low, high, NULL, NULL }
#define BOOL(name, fact) { name, fact, BERTH_I_BOOL, 0, 0, NULL, NULL }
#define WORD(name, fact, words) { name, fact, BERTH_I_WORD, 0, 0, words, NULL }
#define TEXT(name, fact) { name, fact, BERTH_I_TEXT, 0, 0, NULL, NULL }
#define OTHER(name, note) { name, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, note }
#define NOT_MODELLED "plans do not have it"

enum { MOST = 1 << 20 };
static const berth_i_setting keys[] = {
  TEXT("model.name", F_MODEL), TEXT("model.flavor", F_FLAVOR),
  TEXT("model.converters", F_CONVERTERS),
  WHOLE("training.local_batch_size", F_LOCAL_BATCH, 1, MOST),
  WHOLE("training.batch_size", F_LOCAL_BATCH, 1, MOST), /* its former name */
  WHOLE("training.global_batch_size", F_ACCUMULATION, -1, 1e9),
  WHOLE("training.seq_len", F_SEQ, 1, 0), BOOL("training.enable_cpu_offload", F_OFFLOAD),
  WORD("training.mixed_precision_param", F_BF16, "bfloat16 float32="),
  WHOLE("parallelism.data_parallel_replicate_degree", F_REPLICATE, 1, MOST),
  WHOLE("parallelism.data_parallel_shard_degree", F_SHARD, -1, MOST),
  WHOLE("parallelism.tensor_parallel_degree", F_TP, 1, 0),
  WHOLE("parallelism.context_parallel_degree", F_CP, 1, 0),
  WHOLE("parallelism.pipeline_parallel_degree", F_PP, 1, 0),
  WHOLE("parallelism.expert_parallel_degree", F_EP, 1, 0),
  WHOLE("parallelism.expert_tensor_parallel_degree", F_ETP, 1, 0),
  WORD("parallelism.fsdp_reshard_after_forward", F_RESHARD, "default=auto always=on never=off"),
  BOOL("parallelism.enable_async_tensor_parallel", F_OVERLAP_TP),
  WORD("parallelism.pipeline_parallel_schedule", F_SCHEDULE,
       "1F1B=1f1b GPipe=gpipe Interleaved1F1B=interleaved ZBVZeroBubble=zb-v DualPipeV=dualpipev "
       "LoopedBFS= InterleavedZeroBubble= PipelineScheduleSingle= PipelineScheduleMulti= "
       "_PipelineScheduleRuntime="),
  OTHER("parallelism.pipeline_parallel_schedule_csv", "berth schedule reads such a file"),
  WHOLE("parallelism.pipeline_parallel_microbatch_size", F_STAGE_BATCH, 1, MOST),
  WHOLE("parallelism.pipeline_parallel_layers_per_stage", F_CHUNK_LAYERS, 1, MOST),
  WHOLE("parallelism.pipeline_parallel_first_stage_less_layers", F_FIRST_LESS, 0, 1000),
  WHOLE("parallelism.pipeline_parallel_last_stage_less_layers", F_LAST_LESS, 0, 1000),
  TEXT("parallelism.module_fqns_per_model_part", F_LAYOUT),
  OTHER("parallelism.pipeline_parallel_split_points", "the even split is taken"),
  WORD("activation_checkpoint.mode", F_RECOMPUTE, "none selective full memory_budget="),
  TEXT("activation_checkpoint.selective_ac_option", F_EVERY),
  WORD("optimizer.name", F_OPTIMIZER, "Adam=adam AdamW=adam Muon="),
  OTHER("optimizer.early_step_in_backward", NOT_MODELLED),
  OTHER("fault_tolerance.enable", NOT_MODELLED),
  OTHER("parallelism.disable_loss_parallel", "logits are split by tp here"),
  { NULL, BERTH_I_NO_FACT, BERTH_I_TEXT, 0, 0, NULL, NULL }
};

static const char harmless[] =
    "job.* profiling.* metrics.* lr_scheduler.* checkpoint.* comm.* memory_estimation.* "
    "experimental.* validation.* fault_tolerance.* debug.* model.* training.dataset* "
    "training.dataloader* training.max_norm training.steps training.mixed_precision_reduce "
    "training.compile training.gc_* training.seed training.deterministic training.dtype "
    "training.debug_* optimizer.* compile.* float8.* mx.* quantize.* "
    "parallelism.enable_compiled_autograd parallelism.context_parallel_rotate_method "
    "parallelism.context_parallel_load_balancer "
    "parallelism.pipeline_parallel_expert_parallel_overlap "
    "activation_checkpoint.per_op_sac_* activation_checkpoint.early_stop "
    "activation_checkpoint.preserve_rng_state activation_checkpoint.determinism_check "
    "activation_checkpoint.debug";

static berth_status take(berth_llm_launch *l, const char *key, const berth_i_value *v,
                         int32_t line) {
  const berth_i_setting *row = berth_i_setting_find(keys, key);
  if (row && row->fact && l->fact[row->fact].text && l->fact[row->fact].name == row->name)
    return berth_i_launch_fail(l, line, key, v->text, "is given twice");
  if (row) return berth_i_setting_store(l, row, v, line);
  if (!berth_i_listed(harmless, key)) berth_i_launch_strange(l, key);
  return BERTH_OK;
}

static berth_status read(berth_llm_launch *l) {
  berth_status st = berth_i_toml_read(l, take);
  if (st == BERTH_OK && l->fact[F_MODEL].text)
    berth_i_launch_note(l, "model %s, flavor %s: its config.json has the shapes",
                        l->fact[F_MODEL].text, l->fact[F_FLAVOR].text ? l->fact[F_FLAVOR].text
                                                                      : "debugmodel");
  return st;
}

/* ---- the plan ---- */

static void derive_data(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  double replicate = berth_i_fact_number(l, F_REPLICATE, 1);
  double shard = berth_i_fact_number(l, F_SHARD, -1);
  berth_i_fact_id from = l->fact[F_SHARD].text ? F_SHARD : BERTH_I_NO_FACT;
  if (shard > 0 && replicate * shard <= MOST)
    berth_i_planned_set(p, "dp", replicate * shard, F_SHARD);
  bool whole = shard == 1 && p->plan->cp == 1;
  berth_i_planned_set(p, "zero", whole ? 0 : 3, from);
  if (replicate > 1 && !whole)
    berth_i_launch_note(l, "line %d: %s: weights are sharded over all data parallelism here",
                        (int)l->fact[F_REPLICATE].line, l->fact[F_REPLICATE].name);
}

/* local_batch_size sequences in each of dp; a pipeline cuts them into micro-batches. */
static berth_status derive_batch(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  bool stages = p->plan->pp > 1;
  double local = berth_i_fact_number(l, F_LOCAL_BATCH, 8);
  double micro = stages ? berth_i_fact_number(l, F_STAGE_BATCH, 1) : local;
  berth_i_fact_id from = stages ? F_STAGE_BATCH : F_LOCAL_BATCH;
  if (stages && fmod(local, micro) != 0)
    return berth_i_fact_fail(l, F_STAGE_BATCH, "does not divide the local batch of %.0f", local);
  berth_i_planned_set(p, "micro_batch", micro, l->fact[from].text ? from : BERTH_I_NO_FACT);
  double global = berth_i_fact_number(l, F_ACCUMULATION, -1);
  if (global == 0) return berth_i_fact_fail(l, F_ACCUMULATION, "is neither -1 nor above 0");
  if (global > 0) berth_i_planned_set(p, "global_batch", global, F_ACCUMULATION);
  int64_t model = (int64_t)p->plan->tp * p->plan->cp * p->plan->pp;
  double dp = p->plan->dp ? p->plan->dp : p->gpus % model == 0 ? (double)(p->gpus / model) : 0;
  if (dp > 0 && dp * local < 1e9)
    berth_i_planned_set(p, "global_batch", dp * local,
                        l->fact[F_LOCAL_BATCH].text ? F_LOCAL_BATCH : BERTH_I_NO_FACT);
  return BERTH_OK;
}

static void derive_recompute(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  berth_i_planned_set(p, "recompute", BERTH_LLM_SELECTIVE, BERTH_I_NO_FACT);
  const char *every = l->fact[F_EVERY].text;
  if (p->plan->recompute == BERTH_LLM_SELECTIVE && every && strcmp(every, "op") != 0)
    berth_i_launch_note(l, "line %d: selective_ac_option %s: every so many layers are recomputed "
                        "in full; selective here is \"op\"", (int)l->fact[F_EVERY].line, every);
}

/* float8 and its like among the converters. */
static void derive_type(berth_i_planned *p) {
  const berth_llm_launch *l = p->l;
  const char *list = l->fact[F_CONVERTERS].text;
  bool mx = list && strstr(list, "mx");
  if (list && (mx || strstr(list, "float8")))
    berth_i_planned_set(p, "dtype", BERTH_LLM_FP8, F_CONVERTERS);
  berth_i_planned_set(p, "dtype", BERTH_LLM_BF16, BERTH_I_NO_FACT);
}

/* "[['tok_embeddings', 'layers.0'], ['layers.1', 'norm', 'output']]": layers of each chunk.
 * @return how many chunks; 0: it is of another form */
static int32_t count_modules(const char *text, int32_t *count, int32_t most) {
  int32_t depth = 0, chunks = 0;
  for (const char *p = text; *p; p++) {
    if (*p == '[' && ++depth == 2) {
      if (chunks == most) return 0;
      count[chunks++] = 0;
    }
    if (*p == ']' && --depth < 0) return 0;
    if ((*p == '"' || *p == '\'') && depth == 2 && strncmp(p + 1, "layers.", 7) == 0)
      count[chunks - 1]++;
  }
  return depth == 0 ? chunks : 0;
}

static berth_status derive_modules(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  enum { MOST_CHUNKS = 4096 };
  int32_t *count = berth_i_pool_alloc(&l->pool, MOST_CHUNKS, sizeof *count);
  if (!count) return berth_i_pool_status(&l->pool);
  int32_t n = count_modules(l->fact[F_LAYOUT].text, count, MOST_CHUNKS);
  if (n == 0) return berth_i_fact_fail(l, F_LAYOUT, "is no list of lists of names of modules");
  if (n % p->plan->pp)
    return berth_i_fact_fail(l, F_LAYOUT, "has %d chunks, no multiple of pp %d", (int)n,
                             (int)p->plan->pp);
  int64_t sum = 0;
  for (int32_t c = 0; c < n; c++) sum += count[c];
  if (p->layers && sum != p->layers)
    return berth_i_fact_fail(l, F_LAYOUT, "has %lld modules \"layers.N\", the model %d layers",
                             (long long)sum, (int)p->layers);
  berth_i_planned_set(p, "vp", n / p->plan->pp, F_LAYOUT);
  berth_i_planned_stages(p, count, n, F_LAYOUT);
  return BERTH_OK;
}

/* The split of torchtitan: embedding and head count as so many layers, the first chunks have one
 * more where it is not even. */
static berth_status split(berth_i_planned *p, int32_t n) {
  const berth_llm_launch *l = p->l;
  int32_t first = (int32_t)berth_i_fact_number(l, F_FIRST_LESS, 1);
  int32_t last = (int32_t)berth_i_fact_number(l, F_LAST_LESS, 1);
  int32_t all = p->layers + first + last;
  int32_t *count = berth_i_pool_alloc(&p->l->pool, (size_t)n, sizeof *count);
  if (!count) return berth_i_pool_status(&p->l->pool);
  for (int32_t c = 0; c < n; c++) count[c] = all / n + (c < all % n);
  count[0] -= first;
  count[n - 1] -= last;
  if (count[0] < 0 || count[n - 1] < 0)
    return berth_i_fail(p->l->pool.ctx, BERTH_EPARSE, "%s: %d layers on %d chunks leave none for "
                        "the first or last", l->name, (int)p->layers, (int)n);
  berth_i_planned_stages(p, count, n, l->fact[F_FIRST_LESS].text ? F_FIRST_LESS
                                                                  : BERTH_I_NO_FACT);
  return BERTH_OK;
}

static berth_status derive_split(berth_i_planned *p) {
  berth_llm_launch *l = p->l;
  int32_t pp = p->plan->pp;
  if (pp == 1 || berth_i_planned_has(p, "stages")) return BERTH_OK;
  bool several = p->plan->schedule > BERTH_LLM_1F1B;
  if (berth_i_fact_given(l, F_LAYOUT)) return derive_modules(p);
  if (!p->layers) {
    berth_i_launch_note(l, "the split of the layers is left open, since their number is not known");
    return BERTH_OK;
  }
  double vp = several ? 2 : 1;
  berth_i_fact_id from = BERTH_I_NO_FACT;
  if (berth_i_fact_given(l, F_CHUNK_LAYERS)) {
    double all = p->layers + berth_i_fact_number(l, F_FIRST_LESS, 1)
                 + berth_i_fact_number(l, F_LAST_LESS, 1);
    vp = ceil(all / l->fact[F_CHUNK_LAYERS].number) / pp;
    from = F_CHUNK_LAYERS;
    if (vp != floor(vp) || vp < 1 || vp > 1000)
      return berth_i_fact_fail(l, from, "makes %.0f chunks, no multiple of pp %d", vp * pp,
                               (int)pp);
  }
  berth_i_planned_set(p, "vp", vp, from);
  int64_t n = (int64_t)pp * (p->plan->vp ? p->plan->vp : 1);
  return n <= MOST ? split(p, (int32_t)n) : BERTH_OK;
}

static berth_status derive(berth_i_planned *p) {
  berth_i_planned_set(p, "framework", BERTH_LLM_TORCHTITAN, BERTH_I_NO_FACT);
  berth_i_planned_set(p, "seq", 2048, BERTH_I_NO_FACT);
  if (p->plan->pp > 1) /* else files have one all the same */
    berth_i_planned_set(p, "schedule", berth_i_fact_number(p->l, F_SCHEDULE, BERTH_LLM_1F1B),
                        p->l->fact[F_SCHEDULE].text ? F_SCHEDULE : BERTH_I_NO_FACT);
  bool async = berth_i_fact_on(p->l, F_OVERLAP_TP);
  berth_i_planned_switch(p, "overlap_tp", async, async ? F_OVERLAP_TP : BERTH_I_NO_FACT);
  if (berth_i_fact_on(p->l, F_OFFLOAD))
    berth_i_launch_note(p->l, "line %d: enable_cpu_offload: weights and gradients are in GPU "
                        "memory here", (int)p->l->fact[F_OFFLOAD].line);
  derive_data(p);
  derive_recompute(p);
  derive_type(p);
  berth_status st = derive_batch(p);
  return st == BERTH_OK ? derive_split(p) : st;
}

const berth_i_llm_format berth_i_llm_format_torchtitan = {
  .about = { "torchtitan", "torchtitan", "TOML of torchtitan", 1, 1 },
  .read = read, .derive = derive, .write = berth_i_write_torchtitan
};
