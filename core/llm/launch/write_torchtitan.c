/* A plan as torchtitan's TOML. */
#include "export_internal.h"

enum { MOST_LESS = 16 }; /* layers that embedding or head may count as */

/* ---- the split of the layers ---- */

/* Is torchtitan's own split with these two numbers the wanted one? */
static bool splits_so(const berth_llm_exported *e, const int32_t *stages, int32_t first,
                      int32_t last) {
  int32_t n = e->p->pp * e->p->vp, all = e->m->about.layers + first + last;
  for (int32_t c = 0; c < n; c++) {
    int32_t k = all / n + (c < all % n) - (c == 0 ? first : 0) - (c == n - 1 ? last : 0);
    if (k != stages[c]) return false;
  }
  return true;
}

/* The names of Llama's modules, chunk by chunk. */
static void put_modules(berth_llm_exported *e, const int32_t *stages) {
  int32_t n = e->p->pp * e->p->vp, layer = 0;
  berth_i_put_note(e, "module_fqns_per_model_part has the names of Llama's modules: other models "
                   "have others");
  berth_i_put_text(e, "module_fqns_per_model_part = [\n");
  for (int32_t c = 0; c < n; c++) {
    const char *comma = "";
    berth_i_put_text(e, "  [");
    if (c == 0) berth_i_put_text(e, "\"tok_embeddings\"");
    if (c == 0) comma = ", ";
    for (int32_t k = 0; k < stages[c]; k++, comma = ", ")
      berth_i_put_text(e, "%s\"layers.%d\"", comma, (int)layer++);
    if (c == n - 1) berth_i_put_text(e, "%s\"norm\", \"output\"", comma);
    berth_i_put_text(e, "],\n");
  }
  berth_i_put_text(e, "]\n");
}

static void put_split(berth_llm_exported *e) {
  const int32_t *stages = berth_i_put_stages(e);
  int32_t n = e->p->pp * e->p->vp;
  if (!stages) return;
  for (int32_t first = 0; first <= MOST_LESS; first++)
    for (int32_t last = 0; last <= MOST_LESS; last++) {
      int32_t all = e->m->about.layers + first + last, each = (all + n - 1) / n;
      if (!splits_so(e, stages, first, last) || (all + each - 1) / each != n) continue;
      berth_i_put_text(e, "pipeline_parallel_first_stage_less_layers = %d\n"
                       "pipeline_parallel_last_stage_less_layers = %d\n", (int)first, (int)last);
      berth_i_put_text(e, "pipeline_parallel_layers_per_stage = %d\n", (int)each);
      return;
    }
  put_modules(e, stages);
}

/* ---- sections ---- */

static const char *schedule_of(const berth_llm_exported *e) {
  switch (e->p->schedule) {
  case BERTH_LLM_GPIPE: return "GPipe";
  case BERTH_LLM_1F1B: return "1F1B";
  case BERTH_LLM_INTERLEAVED: return "Interleaved1F1B";
  case BERTH_LLM_ZB_V: return "ZBVZeroBubble";
  case BERTH_LLM_DUALPIPE_V: return "DualPipeV";
  default: return NULL;
  }
}

static void put_parallelism(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  const char *schedule = schedule_of(e);
  bool whole = p->zero == 0;
  berth_i_put_text(e, "\n[parallelism]\ndata_parallel_replicate_degree = %d\n"
                   "data_parallel_shard_degree = %d\n", (int)(whole ? p->dp : 1),
                   (int)(whole ? 1 : p->dp));
  if (p->zero > 0) /* zero 2 is zero 3 that keeps gathered weights */
    berth_i_put_text(e, "fsdp_reshard_after_forward = \"%s\"\n",
                     p->zero == 3 && p->reshard == BERTH_LLM_ON ? "always" : "never");
  berth_i_put_text(e, "tensor_parallel_degree = %d\ncontext_parallel_degree = %d\n"
                   "pipeline_parallel_degree = %d\n", (int)p->tp, (int)p->cp, (int)p->pp);
  if (berth_i_llm_has_experts(e))
    berth_i_put_text(e, "expert_parallel_degree = %d\nexpert_tensor_parallel_degree = %d\n",
                     (int)p->ep, (int)p->etp);
  berth_i_put_text(e, "enable_async_tensor_parallel = %s\n",
                   p->overlap_tp == BERTH_LLM_ON && p->tp > 1 ? "true" : "false");
  if (p->pp == 1) return;
  if (!schedule)
    berth_i_refuse_export(e, "torchtitan has no schedule zb-h1; berth schedule zb-h1 --csv writes "
                          "a file for pipeline_parallel_schedule_csv");
  else
    berth_i_put_text(e, "pipeline_parallel_schedule = \"%s\"\n"
                     "pipeline_parallel_microbatch_size = %d\n", schedule, (int)p->micro_batch);
  put_split(e);
}

static void put_training(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  int64_t local = p->pp > 1 ? p->global_batch / p->dp : p->micro_batch;
  berth_i_put_text(e, "\n[training]\nlocal_batch_size = %lld\nglobal_batch_size = %d\n"
                   "seq_len = %d\nmixed_precision_param = \"bfloat16\"\nenable_cpu_offload = %s\n",
                   (long long)local, (int)p->global_batch, (int)p->seq,
                   p->offload ? "true" : "false");
  if (p->offload)
    berth_i_put_note(e, "enable_cpu_offload moves weights and gradients, too: the plan has them in "
                     "GPU memory");
}

static void put_rest(berth_llm_exported *e) {
  static const char *const modes[] = { "none", "selective", "full" };
  const berth_llm_plan *p = e->p;
  berth_i_put_text(e, "\n[activation_checkpoint]\nmode = \"%s\"\n", modes[p->recompute]);
  if (p->recompute == BERTH_LLM_SELECTIVE) berth_i_put_text(e, "selective_ac_option = \"op\"\n");
  berth_i_put_text(e, "\n[optimizer]\nname = \"AdamW\"\n");
  if (p->overlap_tp == BERTH_LLM_ON && p->tp > 1) {
    berth_i_put_text(e, "\n[compile]\nenable = true\n");
    berth_i_put_note(e, "enable_async_tensor_parallel requires compile");
  }
}

/* ---- what torchtitan does not have ---- */

static void check(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  if (p->zero == 1)
    berth_i_refuse_export(e, "torchtitan shards gradients with the optimiser states: zero 2 or 3, "
                          "not 1");
  if (p->zero > 0 && p->dp * p->cp == 1)
    berth_i_refuse_export(e, "torchtitan shards over dp and cp, which are 1: zero 0, not %d",
                          (int)p->zero);
  if (p->zero == 0 && p->cp > 1)
    berth_i_refuse_export(e, "torchtitan shards weights over context parallelism (zero 3), too");
  if (p->tp > 1 && p->sequence_parallel != BERTH_LLM_ON)
    berth_i_refuse_export(e, "torchtitan's tensor parallelism always has sequence_parallel");
  int32_t kv_heads = berth_i_llm_kv_heads(e->m);
  if (p->tp > kv_heads)
    berth_i_refuse_export(e, "torchtitan has tp up to the kv heads, %d: not %d", (int)kv_heads,
                          (int)p->tp);
  if (p->pp == 1 && p->vp > 1)
    berth_i_refuse_export(e, "torchtitan has several chunks (vp %d) with a pipeline alone",
                          (int)p->vp);
  int32_t m = berth_i_llm_micro_batches(p);
  if (p->vp == 1 && m < p->pp)
    berth_i_refuse_export(e, "PyTorch's 1f1b and gpipe have as many micro-batches as stages or "
                          "more: pp %d, not %d micro-batches", (int)p->pp, (int)m);
  if (p->dtype == BERTH_LLM_FP16) berth_i_refuse_export(e, "torchtitan has no dtype fp16");
  if (p->optimizer != BERTH_LLM_ADAM) berth_i_refuse_export(e, "torchtitan has no optimizer sgd");
  if (p->recompute_layers)
    berth_i_refuse_export(e, "torchtitan has no recompute_layers: it recomputes all layers in "
                          "full");
  if (p->etp > 1 && p->etp != p->tp)
    berth_i_refuse_export(e, "torchtitan has expert_tensor_parallel_degree 1 or tp, not %d",
                          (int)p->etp);
  berth_i_note_framework(e, "torchtitan");
  if (p->gradients == BERTH_LLM_GRADIENTS_BF16)
    berth_i_put_note(e, "gradients bf16: torchtitan reduces them in FP32");
  if (p->dropout) berth_i_put_note(e, "dropout: torchtitan's models have none");
  if (!p->flash) berth_i_put_note(e, "flash false: PyTorch chooses the kernel of attention");
}

void berth_i_write_torchtitan(berth_llm_exported *e) {
  e->comment = "# ";
  berth_i_put_head(e, "torchtitan");
  check(e);
  berth_i_put_note(e, "name and flavor under [model] are for you to set");
  if (e->p->dtype == BERTH_LLM_FP8) {
    berth_i_put_note(e, "newer versions name the converter \"quantize.linear.float8\"");
    berth_i_put_text(e, "\n[model]\nconverters = [\"float8\"]\n");
  }
  put_training(e);
  put_parallelism(e);
  put_rest(e);
}
