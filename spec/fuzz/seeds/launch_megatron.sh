#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=8
# Runs the "70B" model
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-"8"}
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
TP=${TP:-8}; PP=4
if [ -z "$SEQ" ]; then
  SEQ=8192
fi
CHECKPOINT_PATH=$1
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --master_addr $MASTER_ADDR   # comment (with parens)
)
GPT_MODEL_ARGS=(
    --num-layers 80
    --hidden-size 8192 --ffn-hidden-size 28672
    --num-attention-heads 64
    --group-query-attention --num-query-groups 8
    --seq-length $SEQ
    --max-position-embeddings 8192
    --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights --position-embedding-type rope
    --vocab-size 128256 --attention-dropout 0.0 --hidden-dropout 0.0
)
TRAINING_ARGS="
    --micro-batch-size 1 \
    --global-batch-size $((WORLD_SIZE * 16)) \
    --bf16 --train-iters 500 \
    --lr 6.0e-5 --fancy-flag 3 \
    --recompute-granularity selective \
    --recompute-modules core_attn mlp"
if [[ "$DTYPE" == "fp8" ]]; then
  TRAINING_ARGS+=" --fp8-format hybrid"
elif [[ $TP -gt 4 ]]; then
  TRAINING_ARGS+=" --sequence-parallel"
else
  TRAINING_ARGS+=" --fp16"
fi
for x in a b; do
  EXTRA="--fp8-format hybrid"
done
MODEL_PARALLEL_ARGS=(--tensor-model-parallel-size $TP
	--pipeline-model-parallel-size=$PP --pipeline-model-parallel-layout "Et*19|t*20|t*21|t*20L"
  --use-distributed-optimizer --overlap-grad-reduce)
mkdir -p "$(dirname "$CHECKPOINT_PATH")" && torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    $TRAINING_ARGS \
    "${MODEL_PARALLEL_ARGS[@]}" --data-path $DATA --timing-log-level 2 2>&1 | tee log
