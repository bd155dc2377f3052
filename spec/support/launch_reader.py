"""An independent reader of launch files: prints what a file says as JSON, {setting: value}.

It reads lines FORMAT FILE FOLDER from standard input and prints a line for each: the settings, or a
text that says what is wrong with the file. It shares nothing with core/llm/launch: shlex and argparse with
the types of Megatron's documentation, tomllib, json, and bash itself for scripts. Settings that are
not listed here, or have another type, are wrong.
"""
import argparse
import json
import shlex
import subprocess
import sys
import tomllib


def megatron_parser():
    p = argparse.ArgumentParser(allow_abbrev=False)
    for name in """tensor-model-parallel-size pipeline-model-parallel-size context-parallel-size
            expert-model-parallel-size expert-tensor-parallel-size micro-batch-size
            global-batch-size seq-length num-virtual-stages-per-pipeline-rank recompute-num-layers
            num-layers hidden-size ffn-hidden-size num-attention-heads num-query-groups kv-channels
            max-position-embeddings vocab-size num-experts moe-router-topk moe-ffn-hidden-size
            moe-shared-expert-intermediate-size q-lora-rank kv-lora-rank qk-head-dim
            qk-pos-emb-head-dim v-head-dim""".split():
        p.add_argument("--" + name, type=int)
    for name in """sequence-parallel use-distributed-optimizer use-megatron-fsdp bf16 fp16
            overlap-grad-reduce overlap-param-gather tp-comm-overlap grad-reduce-in-bf16
            accumulate-allreduce-grads-in-fp32 optimizer-cpu-offload use-precision-aware-optimizer
            cross-entropy-loss-fusion no-overlap-p2p-communication group-query-attention swiglu
            disable-bias-linear add-qkv-bias qk-layernorm untie-embeddings-and-output-weights
            multi-latent-attention moe-router-enable-expert-bias no-gradient-accumulation-fusion
            account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split""".split():
        p.add_argument("--" + name, action="store_true", default=None)
    for name in "attention-dropout hidden-dropout".split():
        p.add_argument("--" + name, type=float)
    p.add_argument("--pipeline-model-parallel-layout", type=str)
    p.add_argument("--moe-layer-freq", type=str)
    for name, choices in {
        "data-parallel-sharding-strategy": "no_shard optim optim_grads optim_grads_params",
        "recompute-granularity": "full selective", "recompute-method": "uniform block",
        "fp8-format": "e4m3 hybrid", "optimizer": "adam sgd",
        "attention-backend": "flash fused unfused local auto",
        "cross-entropy-fusion-impl": "native te", "normalization": "LayerNorm RMSNorm",
        "position-embedding-type": "learned_absolute rope mrope relative none",
        "moe-token-dispatcher-type": "allgather alltoall flex",
        "moe-router-score-function": "softmax sigmoid",
        "ckpt-format": "torch torch_dist zarr torch_dcp fsdp_dtensor",
    }.items():
        p.add_argument("--" + name, choices=choices.split())
    return p


def megatron(words):
    said = vars(megatron_parser().parse_args(words))
    return {k.replace("_", "-"): v for k, v in said.items() if v is not None}


BRIDGE = {
    "model": dict(tensor_model_parallel_size=int, pipeline_model_parallel_size=int,
                  virtual_pipeline_model_parallel_size=int, context_parallel_size=int,
                  expert_model_parallel_size=int, expert_tensor_parallel_size=int,
                  sequence_parallel=bool, pipeline_model_parallel_layout=str, seq_length=int,
                  account_for_embedding_in_pipeline_split=bool,
                  account_for_loss_in_pipeline_split=bool, recompute_granularity=str,
                  recompute_method=str, recompute_num_layers=int, attention_backend=str,
                  attention_dropout=float, hidden_dropout=float, cross_entropy_loss_fusion=bool,
                  cross_entropy_fusion_impl=str, moe_token_dispatcher_type=str),
    "train": dict(micro_batch_size=int, global_batch_size=int),
    "dataset": dict(sequence_length=int),
    "optimizer": dict(optimizer=str, use_distributed_optimizer=bool, optimizer_cpu_offload=bool,
                      use_precision_aware_optimizer=bool),
    "ddp": dict(use_distributed_optimizer=bool, overlap_grad_reduce=bool,
                overlap_param_gather=bool, use_megatron_fsdp=bool,
                data_parallel_sharding_strategy=str),
    "dist": dict(use_megatron_fsdp=bool), "checkpoint": dict(ckpt_format=str),
    "comm_overlap": dict(tp_comm_overlap=bool, overlap_p2p_comm=bool),
}


def bridge(words):
    out = {}
    for word in words:
        key, value = word.split("=", 1)
        if key == "mixed_precision":
            out[key] = value
            continue
        group, field = key.split(".")
        kind = BRIDGE[group][field]
        out[key] = {"true": True, "false": False}[value] if kind is bool else kind(value)
    return out


TITAN = {
    "model": dict(converters=list),
    "training": dict(local_batch_size=int, global_batch_size=int, seq_len=int,
                     mixed_precision_param=str, enable_cpu_offload=bool),
    "parallelism": dict(data_parallel_replicate_degree=int, data_parallel_shard_degree=int,
                        fsdp_reshard_after_forward=str, tensor_parallel_degree=int,
                        context_parallel_degree=int, pipeline_parallel_degree=int,
                        expert_parallel_degree=int, expert_tensor_parallel_degree=int,
                        enable_async_tensor_parallel=bool, pipeline_parallel_schedule=str,
                        pipeline_parallel_microbatch_size=int,
                        pipeline_parallel_first_stage_less_layers=int,
                        pipeline_parallel_last_stage_less_layers=int,
                        pipeline_parallel_layers_per_stage=int,
                        module_fqns_per_model_part=list),
    "activation_checkpoint": dict(mode=str, selective_ac_option=str),
    "optimizer": dict(name=str), "compile": dict(enable=bool),
}


def torchtitan(text):
    out = {}
    for section, members in tomllib.loads(text).items():
        for key, value in members.items():
            if type(value) is not TITAN[section][key]:
                raise TypeError(f"{section}.{key}: {value!r}")
            out[f"{section}.{key}"] = value
    return out


DEEPSPEED = {
    "train_batch_size": int, "train_micro_batch_size_per_gpu": int,
    "gradient_accumulation_steps": int, "bf16": {"enabled": bool}, "fp16": {"enabled": bool},
    "data_types": {"grad_accum_dtype": str}, "tensor_parallel": {"autotp_size": int},
    "optimizer": {"type": str},
    "zero_optimization": {"stage": int, "overlap_comm": bool,
                          "offload_optimizer": {"device": str, "pin_memory": bool}},
}
FSDP = {
    "compute_environment": str, "distributed_type": str, "mixed_precision": str,
    "num_machines": int, "num_processes": int, "machine_rank": int,
    "main_training_function": str, "rdzv_backend": str, "same_network": bool, "use_cpu": bool,
    "fsdp_config": {"fsdp_version": int, "fsdp_auto_wrap_policy": str,
                    "fsdp_reshard_after_forward": bool, "fsdp_activation_checkpointing": bool,
                    "fsdp_offload_params": bool, "fsdp_cpu_ram_efficient_loading": bool,
                    "fsdp_state_dict_type": str},
}


def flat(value, schema, prefix=""):
    if not isinstance(schema, dict):
        if type(value) is not schema:
            raise TypeError(f"{prefix}: {value!r}")
        return {prefix: value}
    out = {}
    for key, member in value.items():
        out.update(flat(member, schema[key], f"{prefix}.{key}" if prefix else key))
    return out


# Commands of the cluster as functions, which bash calls instead: srun prints its arguments.
MOCKS = """
scontrol() { echo node0; }
srun() { printf '%s\\0' "$@"; }
SLURM_JOB_NODELIST=node[0-9] SLURM_JOB_ID=7
"""


def slurm(path, folder):
    """The files that the script writes, and the words of its command, as bash has them."""
    with open(path) as f:
        text = f.read()
    run = subprocess.run(["bash", "-c", MOCKS + text], capture_output=True, check=True,
                         cwd=folder)
    words = run.stdout.decode().split("\0")[:-1]
    batch = dict(line[len("#SBATCH --"):].split("=", 1)
                 for line in text.splitlines() if line.startswith("#SBATCH") and "=" in line)
    return {"words": words, "nodes": int(batch["nodes"]),
            "gpus-per-node": int(batch["gpus-per-node"])}


def said(form, path, folder):
    with open(path) as f:
        text = f.read()
    if form == "megatron":
        out = megatron(shlex.split(text, comments=True))
    elif form == "bridge":
        out = bridge(shlex.split(text, comments=True))
    elif form == "torchtitan":
        out = torchtitan(text)
    elif form in ("deepspeed", "fsdp"):
        out = flat(json.loads(text), DEEPSPEED if form == "deepspeed" else FSDP)
    else:
        out = slurm(path, folder)
        if "pretrain_gpt.py" in out["words"]:
            out["flags"] = megatron(out["words"][out["words"].index("pretrain_gpt.py") + 1:])
    return out


for line in sys.stdin:
    try:
        answer = said(*line.split())
    except (Exception, SystemExit) as error:
        answer = repr(error)
    print(json.dumps(answer), flush=True)
