/* A plan as DeepSpeed's JSON, and as accelerate's JSON for FSDP. JSON has no comments: what the
 * file does not have is a note. */
#include "export_internal.h"

static const char *yes(bool on) { return on ? "true" : "false"; }

static void note_common(berth_llm_exported *e, const char *framework) {
  berth_i_note_framework(e, framework);
  if (e->p->dropout) berth_i_put_note(e, "dropout is the model's");
  if (!e->p->flash) berth_i_put_note(e, "flash false: the kernel of attention is the model's");
}

/* ---- DeepSpeed ---- */

static void check_deepspeed(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  if (p->dtype == BERTH_LLM_FP8) berth_i_refuse_export(e, "DeepSpeed's JSON has no dtype fp8");
  if (p->cp > 1) berth_i_refuse_export(e, "DeepSpeed's JSON has no context parallelism (cp %d)",
                                       (int)p->cp);
  if (p->vp > 1 || (p->pp > 1 && p->schedule != BERTH_LLM_1F1B))
    berth_i_refuse_export(e, "DeepSpeed runs pipelines as 1f1b, with a chunk a stage");
  note_common(e, "deepspeed");
  if (p->pp > 1)
    berth_i_put_note(e, "pp %d: the model's code builds the pipeline (PipelineModule)", (int)p->pp);
  if (p->pp > 1 && p->stages)
    berth_i_put_note(e, "stages: the model's code splits the layers");
  if (p->ep > 1) berth_i_put_note(e, "ep %d: the model's code sets ep_size of its MoE layers",
                                  (int)p->ep);
  if (p->recompute != BERTH_LLM_RECOMPUTE_NONE)
    berth_i_put_note(e, "recompute: the model's code begins it (gradient_checkpointing of Hugging "
                     "Face's trainer)");
  if (p->sequence_parallel == BERTH_LLM_ON)
    berth_i_put_note(e, "sequence_parallel: the model's code has it");
  berth_i_put_note(e, "the sequence of %d tokens and the learning rate are the training script's",
                   (int)p->seq);
}

void berth_i_write_deepspeed(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  check_deepspeed(e);
  berth_i_put_text(e, "{\n  \"train_batch_size\": %d,\n  \"train_micro_batch_size_per_gpu\": %d,\n"
                   "  \"gradient_accumulation_steps\": %d,\n", (int)p->global_batch,
                   (int)p->micro_batch, (int)berth_i_llm_micro_batches(p));
  berth_i_put_text(e, "  \"%s\": { \"enabled\": true },\n", p->dtype == BERTH_LLM_FP16 ? "fp16"
                                                                                       : "bf16");
  berth_i_put_text(e, "  \"data_types\": { \"grad_accum_dtype\": \"%s\" },\n",
                   p->gradients == BERTH_LLM_GRADIENTS_FP32 ? "fp32"
                   : p->dtype == BERTH_LLM_FP16             ? "fp16"
                                                            : "bf16");
  if (p->tp > 1)
    berth_i_put_text(e, "  \"tensor_parallel\": { \"autotp_size\": %d },\n", (int)p->tp);
  berth_i_put_text(e, "  \"optimizer\": { \"type\": \"%s\" },\n",
                   p->optimizer == BERTH_LLM_ADAM ? "AdamW" : "SGD");
  berth_i_put_text(e, "  \"zero_optimization\": {\n    \"stage\": %d,\n    \"overlap_comm\": %s",
                   (int)p->zero, yes(p->overlap_grad == BERTH_LLM_ON));
  if (p->offload)
    berth_i_put_text(e, ",\n    \"offload_optimizer\": { \"device\": \"cpu\", "
                     "\"pin_memory\": true }");
  berth_i_put_text(e, "\n  }\n}\n");
}

/* ---- FSDP ---- */

static void check_fsdp(berth_llm_exported *e) {
  const berth_llm_plan *p = e->p;
  static const struct { const char *key; size_t offset; } one[] = {
    { "tp", offsetof(berth_llm_plan, tp) }, { "cp", offsetof(berth_llm_plan, cp) },
    { "pp", offsetof(berth_llm_plan, pp) }, { "ep", offsetof(berth_llm_plan, ep) },
    { "etp", offsetof(berth_llm_plan, etp) }, { "vp", offsetof(berth_llm_plan, vp) }
  };
  for (int i = 0; i < 6; i++) {
    int32_t n = *(const int32_t *)((const char *)p + one[i].offset);
    if (n > 1) berth_i_refuse_export(e, "FSDP alone has no %s %d: torchtitan has it", one[i].key,
                                     (int)n);
  }
  if (p->zero == 1)
    berth_i_refuse_export(e, "FSDP shards gradients with the optimiser: zero 2 or 3, not 1");
  if (p->zero == 0 && p->offload)
    berth_i_refuse_export(e, "accelerate offloads with FSDP alone: zero 2 or 3, not 0");
  if (p->recompute == BERTH_LLM_SELECTIVE || p->recompute_layers)
    berth_i_refuse_export(e, "fsdp_activation_checkpointing is recompute full, of all layers");
  note_common(e, "fsdp");
  if (p->offload)
    berth_i_put_note(e, "fsdp_offload_params moves weights and gradients, too: the plan has them "
                     "in GPU memory");
  if (p->optimizer != BERTH_LLM_ADAM)
    berth_i_put_note(e, "the optimiser is the training script's");
  berth_i_put_note(e, "micro-batch %d, accumulation %d and sequence %d are the training script's",
                   (int)p->micro_batch, (int)berth_i_llm_micro_batches(p), (int)p->seq);
  if (p->fused_loss == BERTH_LLM_ON)
    berth_i_put_note(e, "fused_loss: the model's code has it (Liger kernels, for example)");
}

/* Zero 2 gathers weights once a step: they stay after the forward pass. */
void berth_i_write_fsdp(berth_llm_exported *e) {
  static const char *const types[] = { "bf16", "fp16", "fp8" };
  const berth_llm_plan *p = e->p;
  const berth_llm_gpus *g;
  berth_llm_cluster_groups(e->c, &g);
  check_fsdp(e);
  int32_t gpus = berth_llm_cluster_size(e->c);
  int32_t machines = (gpus + g->per_machine - 1) / g->per_machine;
  berth_i_put_text(e, "{\n  \"compute_environment\": \"LOCAL_MACHINE\",\n"
                   "  \"distributed_type\": \"%s\",\n  \"mixed_precision\": \"%s\",\n",
                   p->zero ? "FSDP" : "MULTI_GPU", types[p->dtype]);
  berth_i_put_text(e, "  \"num_machines\": %d,\n  \"num_processes\": %d,\n  \"machine_rank\": 0,\n"
                   "  \"main_training_function\": \"main\",\n  \"rdzv_backend\": \"static\",\n"
                   "  \"same_network\": true,\n  \"use_cpu\": false", (int)machines, (int)gpus);
  if (p->zero) {
    bool keeps = p->zero == 2 || p->reshard == BERTH_LLM_OFF;
    berth_i_put_text(e, ",\n  \"fsdp_config\": {\n    \"fsdp_version\": 2,\n"
                     "    \"fsdp_auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\",\n"
                     "    \"fsdp_reshard_after_forward\": %s,\n", yes(!keeps));
    berth_i_put_text(e, "    \"fsdp_activation_checkpointing\": %s,\n"
                     "    \"fsdp_offload_params\": %s,\n"
                     "    \"fsdp_cpu_ram_efficient_loading\": true,\n"
                     "    \"fsdp_state_dict_type\": \"SHARDED_STATE_DICT\"\n  }",
                     yes(p->recompute == BERTH_LLM_FULL), yes(p->offload));
  } else if (p->recompute != BERTH_LLM_RECOMPUTE_NONE)
    berth_i_put_note(e, "recompute: the model's code begins it");
  berth_i_put_text(e, "\n}\n");
}
