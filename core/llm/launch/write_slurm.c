/* A Slurm script that launches a plan with its framework. */
#include "export_internal.h"

static bool machines_of(berth_llm_exported *e, int32_t *nodes, int32_t *each) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(e->c, &g);
  *each = g->count < g->per_machine ? g->count : g->per_machine;
  *nodes = 0;
  for (int32_t k = 0; k < n; k++) {
    if (g[k].count % *each || (g[k].per_machine != *each && g[k].count > *each)) {
      berth_i_refuse_export(e, "machines have different numbers of GPUs: a job of one kind of node "
                            "cannot start them");
      return false;
    }
    *nodes += g[k].count / *each;
  }
  return true;
}

static void put_batch(berth_llm_exported *e, int32_t nodes, int32_t each) {
  const berth_llm_gpus *g;
  berth_i_put_text(e, "#!/bin/bash\n#SBATCH --job-name=training\n#SBATCH --nodes=%d\n"
                   "#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=%d\n#SBATCH --exclusive\n",
                   (int)nodes, (int)each);
  berth_i_put_head(e, "A launch script");
  if (berth_llm_cluster_groups(e->c, &g) > 1)
    berth_i_put_note(e, "the nodes are of several kinds: order them as the cluster is written");
}

static void put_torchrun(berth_llm_exported *e, int32_t nodes, int32_t each) {
  berth_i_put_text(e, "\nset -eu\nHEAD=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
                   "head -n 1)\n");
  berth_i_put_text(e, "srun torchrun --nnodes %d --nproc_per_node %d --rdzv_backend c10d "
                   "--rdzv_endpoint \"$HEAD:29500\" --rdzv_id \"$SLURM_JOB_ID\" \\\n", (int)nodes,
                   (int)each);
}

/* The file of a framework, written by the script into the job's folder. */
static void put_file(berth_llm_exported *e, const char *name, void (*write)(berth_llm_exported *)) {
  const char *comment = e->comment;
  berth_i_put_text(e, "\ncat > %s <<'END_OF_FILE'\n", name);
  e->comment = strstr(name, ".toml") ? "# " : NULL;
  int32_t before = e->n_notes;
  write(e);
  berth_i_put_text(e, "END_OF_FILE\n");
  for (int32_t i = before; i < e->n_notes && !e->comment; i++)
    berth_i_put_text(e, "# %s\n", e->note[i]);
  e->comment = comment;
}

/* Before Blackwell Megatron-LM asserts one connection for tp and cp; its FSDP is slow with one. */
static void write_megatron(berth_llm_exported *e, int32_t nodes, int32_t each) {
  const berth_llm_plan *p = e->p;
  berth_i_check_megatron(e, "Megatron-LM");
  berth_i_put_note(e, "data, tokenizer, rotary base, learning rate and checkpoints are for you to "
                   "add to ARGS");
  berth_i_put_text(e, "ARGS=(\n");
  berth_i_write_flags(e, "  ");
  berth_i_put_text(e, ")\n");
  if ((p->tp > 1 || p->cp > 1) && p->zero < 2)
    berth_i_put_text(e, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
  put_torchrun(e, nodes, each);
  berth_i_put_text(e, "  pretrain_gpt.py \"${ARGS[@]}\"\n");
}

static void write_deepspeed(berth_llm_exported *e, int32_t nodes, int32_t each) {
  put_file(e, "plan.json", berth_i_write_deepspeed);
  berth_i_put_note(e, "train.py stands for your training script");
  put_torchrun(e, nodes, each);
  berth_i_put_text(e, "  train.py --deepspeed plan.json\n");
}

static void write_torchtitan(berth_llm_exported *e, int32_t nodes, int32_t each) {
  put_file(e, "plan.toml", berth_i_write_torchtitan);
  put_torchrun(e, nodes, each);
  berth_i_put_text(e, "  -m torchtitan.train --job.config_file plan.toml\n");
}

/* accelerate starts the processes itself: one launcher on each node. */
static void write_fsdp(berth_llm_exported *e) {
  put_file(e, "plan.json", berth_i_write_fsdp);
  berth_i_put_note(e, "train.py stands for your training script");
  berth_i_put_text(e, "\nset -eu\nHEAD=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
                   "head -n 1)\nexport HEAD\nsrun bash -c 'accelerate launch "
                   "--config_file plan.json \\\n  --machine_rank \"$SLURM_NODEID\" "
                   "--main_process_ip \"$HEAD\" --main_process_port 29500 train.py'\n");
}

void berth_i_write_slurm(berth_llm_exported *e) {
  int32_t nodes, each;
  e->comment = "# ";
  if (!machines_of(e, &nodes, &each)) return;
  put_batch(e, nodes, each);
  switch (e->p->framework) {
  case BERTH_LLM_MEGATRON: case BERTH_LLM_MEGATRON_2022: write_megatron(e, nodes, each); break;
  case BERTH_LLM_DEEPSPEED: write_deepspeed(e, nodes, each); break;
  case BERTH_LLM_TORCHTITAN: write_torchtitan(e, nodes, each); break;
  case BERTH_LLM_FSDP: write_fsdp(e); break;
  }
}

const berth_i_llm_format berth_i_llm_format_slurm = {
  .about = { "slurm", "Slurm", "a Slurm script that launches the plan's framework", 0, 1 },
  .write = berth_i_write_slurm
};
