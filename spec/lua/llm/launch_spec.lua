-- Launch files as plans: what a shell script says without being run, which option each setting is,
-- what follows from several, and what is refused.
local berth = require "berth"
local core = require "berth.core"

local function read(text, format, name)
  return assert(core.llm_launch(name or "launch", text, format))
end

local function refused(text, words, name)
  local l, message, code = core.llm_launch(name or "launch", text)
  assert.is_nil(l)
  assert.equal("parse", code)
  assert.equal(words, message)
end

local function contains(list, words)
  for _, text in ipairs(list) do
    if text:find(words, 1, true) then return true end
  end
  error(("no note has %q: %s"):format(words, table.concat(list, "; ")))
end

-- Options of `want` as the plan has them.
local function has(want, plan)
  local got = {}
  for key in pairs(want) do got[key] = plan[key] end
  assert.same(want, got)
end

local LLAMA = [[
--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --swiglu
--group-query-attention --num-query-groups 8 --normalization RMSNorm --disable-bias-linear
--position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 128256 --bf16
]]

describe("flags of Megatron-LM", function()
  it("are the options of a plan, with the line of each", function()
    local l = read(LLAMA .. [[
--tensor-model-parallel-size 8
--pipeline-model-parallel-size=4
--context-parallel-size 2 --sequence-parallel
--micro-batch-size 2 --global-batch-size 512 --seq-length 8192
--use-distributed-optimizer --overlap-grad-reduce
--recompute-granularity selective --attention-dropout 0 --hidden-dropout 0.0
]])
    local p, from = l:plan(nil, 128)
    has({ tp = 8, pp = 4, cp = 2, micro_batch = 2, global_batch = 512, seq = 8192, zero = 1,
      sequence_parallel = "on", overlap_grad = "on", overlap_gather = "off",
      recompute = "selective", dropout = false, dtype = "bf16", framework = "megatron",
      gradients = "fp32", flash = true }, p)
    assert.is_nil(p.dp)
    assert.equal("--pipeline-model-parallel-size, line 5", from.pp)
    assert.equal("default of Megatron-LM", from.overlap_gather)
    assert.same({}, l.notes)
    assert.equal("launch: megatron, 25 settings read, 0 notes", tostring(l))
  end)

  it("say the model's shapes", function()
    local m = assert(read(LLAMA):model())
    local same = berth.llm.model { layers = 80, hidden = 8192, heads = 64, kv_heads = 8,
      ffn = 28672, vocab = 128256 }
    assert.equal(same.parameters, m.parameters)
    local gpt = assert(read [[--num-layers 2 --hidden-size 64 --num-attention-heads 4
      --vocab-size 100 --max-position-embeddings 32 --bf16]]:model())
    -- 100 + 32 rows, norms with shift, 4 h² + 8 h² and their biases a layer, a final norm; tied
    local layer = 12 * 64 ^ 2 + (4 + 4 + 1) * 64 + 2 * 2 * 64
    assert.equal(132 * 64 + 2 * layer + 2 * 64, gpt.parameters)
  end)

  it("of experts and latent attention say them, too", function()
    local m = assert(read [[--num-layers 6 --hidden-size 64 --num-attention-heads 4 --swiglu
      --vocab-size 100 --disable-bias-linear --normalization RMSNorm --num-experts 8
      --moe-router-topk 3 --moe-ffn-hidden-size 32 --ffn-hidden-size 128 --bf16
      --moe-shared-expert-intermediate-size 48 --moe-layer-freq "([0]*1+[1]*5)"
      --multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 --qk-head-dim 8
      --qk-pos-emb-head-dim 4 --v-head-dim 10 --use-rotary-position-embeddings]]:model())
    local dense, moe = m.kinds[1], m.kinds[2]
    has({ layers = 1, ffn = 128, experts = 0, head_dim = 12, value_dim = 10, q_rank = 24,
      kv_rank = 16, rope_dim = 4 }, dense)
    has({ layers = 5, ffn = 0, experts = 8, top = 3, expert_ffn = 32, shared_ffn = 48 }, moe)
  end)

  it("without all shapes are a plan alone", function()
    local l = read "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --bf16"
    assert.equal("--vocab-size is not given: the tokenizer has it", l.no_model)
    assert.equal(64, l.shapes.hidden)
    local m, message, code = l:model()
    assert.is_nil(m)
    assert.equal("unsupported", code)
    assert.equal("launch: --vocab-size is not given: the tokenizer has it", message)
    contains(read(LLAMA .. "--num-experts 4 --moe-layer-freq 2").notes,
      "line 4: --moe-layer-freq 2: layers 2, 4, ... have experts here, not 1, 3, ...")
    assert.matches("neither begin behind dense ones", read(LLAMA
      .. "--num-experts 4 --moe-layer-freq [1]*4+[0]*76").no_model)
    assert.matches("are not supported", read(LLAMA .. "--hybrid-override-pattern M-M*").no_model)
    assert.matches("without %-%-multi%-latent", read(LLAMA .. "--kv-lora-rank 8").no_model)
    local odd = read(LLAMA .. "--extra-vocab-size 8")
    assert.matches("may change its shapes", odd.no_model)
    contains(odd.notes, "no model: --extra-vocab-size is not known, and may change its shapes")
  end)

  it("absent ones have Megatron's defaults", function()
    local l = read "--micro-batch-size 2 --fp16 --tensor-model-parallel-size 2 --num-experts 4"
    has({ zero = 0, sequence_parallel = "off", dropout = true, gradients = "bf16", etp = 2,
      global_batch = 16, recompute = "none", overlap_p2p = "off", fused_loss = "off" },
      (l:plan(nil, 16)))
    has({ sequence_parallel = "off" }, (read "--sequence-parallel --bf16":plan()))
    assert.is_nil(l:plan().global_batch)
  end)

  it("split layers as Megatron does", function()
    local function stages(flags, pp)
      return (read(LLAMA .. ("--pipeline-model-parallel-size %d "):format(pp) .. flags):plan())
    end
    has({ vp = 5 }, stages("--num-layers-per-virtual-pipeline-stage 4", 4))
    has({ stages = { 18, 22, 22, 18 } }, stages(
      "--decoder-first-pipeline-num-layers 18 --decoder-last-pipeline-num-layers 18", 4))
    has({ vp = 2, stages = { 10, 14, 14, 10, 14, 14, 2, 2 } }, stages(
      "--pipeline-model-parallel-layout Et*10|t*14|(t*14|t*10|)t*14|t*14|t*2|t*2L", 4))
    has({ stages = { 20, 27, 27, 6 } }, stages("--decoder-first-pipeline-num-layers 20 "
      .. "--decoder-last-pipeline-num-layers 6", 4))
    has({ embedding_as_layer = true }, stages("--account-for-embedding-in-pipeline-split "
      .. "--account-for-loss-in-pipeline-split", 2))
    has({ stages = { 27, 27, 26 } }, stages("--account-for-loss-in-pipeline-split", 3))
    has({ stages = { 26, 27, 27 } }, stages("--account-for-embedding-in-pipeline-split", 3))
  end)

  it("that contradict one another are refused, with both", function()
    local function wrong(flags, words)
      local plan, message, code = read(LLAMA .. "--pipeline-model-parallel-size 4 " .. flags):plan()
      assert.is_nil(plan)
      assert.equal("parse", code)
      assert.equal(words, message)
    end
    wrong("--pipeline-model-parallel-layout Et*40|t*39|L|",
      "launch:4: --pipeline-model-parallel-layout Et*40|t*39|L|: ends with no L, or has several")
    wrong("--pipeline-model-parallel-layout Et*40|t*40|L",
      "launch:4: --pipeline-model-parallel-layout Et*40|t*40|L: has 3 chunks, no multiple of pp 4")
    wrong("--pipeline-model-parallel-layout Et*40|t*39||L",
      "launch:4: --pipeline-model-parallel-layout Et*40|t*39||L: has 79 layers, the model 80")
    wrong("--pipeline-model-parallel-layout E(t|tL",
      "launch:4: --pipeline-model-parallel-layout E(t|tL: character 2: '(' without ')'")
    wrong("--num-layers-per-virtual-pipeline-stage 3", "launch:4: "
      .. "--num-layers-per-virtual-pipeline-stage 3: 80 layers of pp 4 stages are no chunks of 3")
    wrong("--decoder-first-pipeline-num-layers 21", "launch:4: "
      .. "--decoder-first-pipeline-num-layers 21: the other 59 of 80 layers are not the same on "
      .. "each of 3 stages")
    wrong("--fp16", "launch:4: --fp16: contradicts --bf16")
    wrong("--recompute-granularity full --recompute-num-layers 2",
      "launch:4: --recompute-num-layers 2: requires --recompute-method")
  end)

  it("that are wrong are refused with file, line, flag and value", function()
    refused("--bf16\n--num-layers 24x", "launch:2: --num-layers 24x: is not a whole number")
    refused("--tensor-model-parallel-size 0",
      "launch:1: --tensor-model-parallel-size 0: is not from 1 to 1048576")
    refused("--recompute-granularity most",
      "launch:1: --recompute-granularity most: is none of: selective, full")
    refused("--seq-length --bf16", "launch:1: --seq-length: has no value")
    refused("--bf16=1", "launch:1: --bf16 1: takes no value")
    refused("--hidden-dropout x", "launch:1: --hidden-dropout x: is not a number")
    refused("--lr 3", "launch: has no setting of Megatron-LM that a plan has")
    refused("mixed_precision: bf16", "a.yaml: has no setting of Megatron-LM that a plan has; YAML "
      .. "is not read: accelerate takes JSON, too", "a.yaml")
    refused("a\1", "launch:1: character 1 is not of a text")
  end)

  it("that plans do not have, and unknown ones, are notes", function()
    local l = read(LLAMA .. "--fp8-param-gather --recompute-modules core_attn mlp --new-flag 3 "
      .. "--lr 0.1 --data-path a b --recompute-modules core_attn")
    assert.equal(3, #l.notes)
    contains(l.notes, "line 4: --fp8-param-gather: weights have 2 bytes here")
    contains(l.notes, "--recompute-modules core_attn mlp: selective recomputation is that of")
    contains(l.notes, "not known, and passed over: --new-flag")
    local fp32 = read "--micro-batch-size 1"
    fp32:plan()
    contains(fp32.notes, "computes in FP32")
  end)
end)

describe("a shell script", function()
  local function flags(text) return read(text):plan() end

  it("is read through variables, arrays, quotes and continued lines", function()
    local l = read [==[
#!/bin/bash
TP=2; export PP="4"
NODES=${SLURM_NNODES:-8}
SEQ=$((1024*(2+2)))          # arithmetic
ARGS="
    --seq-length $SEQ \
    --bf16"
MORE=(
    --tensor-model-parallel-size $TP   # a comment (with a bracket)
    --pipeline-model-parallel-size "${PP}"
    '--micro-batch-size'  3
)
ARGS+=" --global-batch-size $(( NODES * 24 ))"
EMPTY=()
torchrun --nproc_per_node 8 --nnodes=$NODES pretrain_gpt.py ${ARGS} \
    "${MORE[@]}" "${EMPTY[@]}" --data-path $DATA 2>&1 | tee "log $(date)"
]==]
    local p, from = l:plan()
    has({ tp = 2, pp = 4, seq = 4096, micro_batch = 3, global_batch = 192, dtype = "bf16" }, p)
    assert.equal(64, l.gpus)
    assert.equal("--seq-length, line 6", from.seq)
    assert.equal("--tensor-model-parallel-size, line 9", from.tp)
    assert.equal("--micro-batch-size, line 11", from.micro_batch)
    assert.equal("--global-batch-size, line 13", from.global_batch)
    assert.same({}, l.notes)
  end)

  it("takes the branch that the file decides", function()
    local text = [==[
T=%s
if [ "$T" = "a" ]; then
  A="--tensor-model-parallel-size 2"
elif [[ $T == b && -z "$UNSET" ]]; then
  A="--tensor-model-parallel-size 4"
else
  A="--tensor-model-parallel-size 8"
fi
if [ -z "$SEQ" ] || [ 3 -gt 5 ]; then SEQ=128; fi
run $A --seq-length $SEQ --bf16
]==]
    assert.equal(2, flags(text:format "a").tp)
    assert.equal(4, flags(text:format "b").tp)
    assert.equal(8, flags(text:format "c").tp)
    assert.equal(128, flags(text:format "c").seq)
  end)

  it("leaves open what it does not say, with a note", function()
    local l = read [==[
A="--seq-length $SEQ --micro-batch-size 2"
if grep -q x y; then A+=" --fp16"; fi
for i in 1 2; do A+=" --fp8-format hybrid"; done
run $A --tensor-model-parallel-size $(nproc) --bf16
run --micro-batch-size 4
]==]
    local p = l:plan()
    has({ micro_batch = 2, dtype = "bf16" }, p)
    assert.is_nil(p.seq)
    assert.is_nil(p.tp)
    contains(l.notes, "line 1: --seq-length $SEQ: the file does not say its value; left open")
    contains(l.notes, "line 4: --tensor-model-parallel-size $(nproc): the file does not say")
    contains(l.notes, "line 2: flags within a condition that the file does not decide")
    contains(l.notes, "line 3: flags within a loop or case are left out")
    contains(l.notes, "line 5: a further command with flags is left out")
  end)

  it("computes as the shell does", function()
    local function seq(text) return flags("run --bf16 --seq-length " .. text).seq end
    assert.equal(14, seq "$((2 + 3 * 4))")
    assert.equal(4, seq "$(( (9 - 1) / 2 % 5 ))")
    assert.equal(7, seq "$((3 > 2 && 2 != 2 ? 5 : 7))")
    assert.equal(1, seq "$((-(-4) <= 4 || 0))")
    assert.is_nil(seq "$((1 / 0))")
    assert.is_nil(seq "$((A + 1))")
  end)

  it("prints commands before it runs them", function()
    local l = read [==[
A="--seq-length 64 --bf16"
CMD="torchrun x.py $A"
echo $CMD
eval $CMD | tee log
]==]
    assert.equal(64, l:plan().seq)
    assert.same({}, l.notes)
  end)

  it("keeps quotes, comments and here-documents apart", function()
    local p = flags [==[
# --seq-length 1
cat > hosts <<EOF
--seq-length 2
EOF
echo '# no comment' "--no $A \" flag"
x=a#b; run $x --seq-length 3 --bf16 # --seq-length 4
]==]
    assert.equal(3, p.seq)
  end)

  it("reads the nodes of Slurm", function()
    assert.equal(24, read "#SBATCH --nodes=3 --gpus-per-node 8\nsrun x --bf16 --seq-length 1".gpus)
  end)

  it("is refused where it does not end", function()
    refused('A="--bf16\n', "launch:1: a quote or bracket is not closed")
    refused("A=(--bf16\n", "launch:2: an array has no ')'")
  end)
end)

describe("torchtitan's TOML", function()
  local TOML = [==[
[model]
name = "llama3"        # a comment
flavor = '70B'
converters = [
  "float8", # among others
]
[training]
local_batch_size = 16
seq_len = 8_192
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 0x8
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 10
[activation_checkpoint]
mode = "full"
[metrics]
log_freq = 10
]==]

  it("is a plan, with the split of the layers", function()
    local l = read(TOML)
    assert.equal("torchtitan", l.format)
    local p, from = l:plan(nil, 64, 78)
    has({ tp = 8, pp = 4, vp = 2, schedule = "interleaved", micro_batch = 1, global_batch = 32,
      seq = 8192, zero = 3, recompute = "full", dtype = "fp8", overlap_tp = "off",
      framework = "torchtitan", stages = { 9, 10, 10, 10, 10, 10, 10, 9 } }, p)
    assert.equal("training.local_batch_size, line 8", from.global_batch)
    assert.equal("llama3", l.model_name)
    assert.equal("70B", l.flavor)
    contains(l.notes, "model llama3, flavor 70B: its config.json has the shapes")
    has({ dp = 6, zero = 0 }, (read([[
[parallelism]
data_parallel_replicate_degree = 6
data_parallel_shard_degree = 1]]):plan()))
  end)

  it("may name the modules of each chunk", function()
    local p = read([==[
[parallelism]
pipeline_parallel_degree = 2
module_fqns_per_model_part = [["tok_embeddings", "layers.0"],
  ['layers.1', 'layers.2', "norm", "output"]]]==]):plan(nil, 4, 3)
    has({ vp = 1, stages = { 1, 2 } }, p)
  end)

  it("that is wrong is refused with file, line, key and value", function()
    local function wrong(text, words) refused("[parallelism]\n" .. text, "launch:2: " .. words) end
    wrong('tensor_parallel_degree = "two"',
      "parallelism.tensor_parallel_degree two: is not a whole number")
    wrong("tensor_parallel_degree = 2.5",
      "parallelism.tensor_parallel_degree 2.5: is not a whole number")
    wrong('fsdp_reshard_after_forward = "at times"',
      "parallelism.fsdp_reshard_after_forward at times: is none of: default, always, never")
    wrong("enable_async_tensor_parallel = 1",
      "parallelism.enable_async_tensor_parallel 1: is neither true nor false")
    wrong("tensor_parallel_degree", "a key has no '='")
    wrong('tensor_parallel_degree = "8', "a string is not closed")
    wrong("tensor_parallel_degree = 8 9", "text behind a value or a table's name")
    wrong("tensor_parallel_degree = [8", "an array or table is not closed")
    refused("[training]\nseq_len = 1\nseq_len = 2", "launch:3: training.seq_len 2: is given twice")
  end)

  it("of schedules and keys that plans do not have is a note", function()
    local l = read '[parallelism]\npipeline_parallel_schedule = "LoopedBFS"\nother = 1'
    contains(l.notes, "pipeline_parallel_schedule LoopedBFS: plans do not have it; left open")
    contains(l.notes, "not known, and passed over: parallelism.other")
    assert.is_nil(l:plan().schedule)
    assert.is_nil(read '[parallelism]\npipeline_parallel_schedule = "GPipe"':plan().schedule)
  end)
end)

describe("DeepSpeed's JSON", function()
  local JSON = [[{ "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
    "train_batch_size": "auto", "bf16": { "enabled": true },
    "zero_optimization": { "stage": 2, "offload_optimizer": { "device": "cpu" } },
    "optimizer": { "type": "AdamW", "params": { "lr": "auto" } } }]]

  it("is a plan; the batch follows from the GPUs", function()
    local l = read(JSON)
    has({ micro_batch = 2, global_batch = 64, dtype = "bf16", zero = 2, offload = true,
      optimizer = "adam", framework = "deepspeed", overlap_grad = "off" }, (l:plan(nil, 8)))
    contains(l.notes, "left open, since \"auto\" leaves them to the integration: train_batch_size")
    assert.is_nil(l:plan().global_batch)
    contains(l.notes, "the global batch is left open: it follows from the number of GPUs")
    has({ micro_batch = 4 }, (read [[{ "train_batch_size": 64, "gradient_accumulation_steps": 2 }]]
      :plan(nil, 8)))
  end)

  it("that is wrong is refused", function()
    refused('{ "zero_optimization": {\n "stage": 4 } }',
      "launch:2: zero_optimization.stage 4: is not from 0 to 3")
    local l = read [[{ "train_batch_size": 60, "gradient_accumulation_steps": 4,
      "train_micro_batch_size_per_gpu": 2 }]]
    local p, message = l:plan(nil, 8)
    assert.is_nil(p)
    assert.equal("launch:1: train_batch_size 60: is not micro-batch 2 x accumulation 4 x dp 8",
      message)
  end)
end)

describe("a launch file", function()
  it("of accelerate with FSDP is a plan, too", function()
    has({ framework = "fsdp", zero = 3, reshard = "off", recompute = "full", dtype = "bf16" },
      (read [[{ "distributed_type": "FSDP", "mixed_precision": "bf16", "fsdp_config":
        { "fsdp_reshard_after_forward": false, "fsdp_activation_checkpointing": true } }]]:plan()))
    has({ zero = 2 }, (read [[{ "fsdp_config": { "fsdp_sharding_strategy": "SHARD_GRAD_OP" } }]]
      :plan()))
  end)

  it("may have a byte order mark, and line ends of Windows", function()
    for text, format in pairs { ["--bf16\n--seq-length 64"] = "megatron",
        ["run --bf16 \\\n --seq-length \\\n64 \n"] = "megatron",
        ["[training]\n# x\nseq_len = 64\n[optimizer]\nname = 'Adam'\n"] = "torchtitan",
        ["{\n\"bf16\": { \"enabled\": true } }"] = "deepspeed" } do
      local l = read("\239\187\191" .. text:gsub("\n", "\r\n"))
      assert.equal(format, l.format)
      has({ dtype = "bf16" }, (l:plan()))
    end
  end)

  it("is beaten by options that are given", function()
    local l = read(LLAMA .. "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 "
      .. "--decoder-first-pipeline-num-layers 18 --decoder-last-pipeline-num-layers 18")
    has({ tp = 2, pp = 2, stages = { 40, 40 }, zero = 3 },
      (l:plan { tp = 2, pp = 2, stages = { 40, 40 }, zero = 3 }))
    has({ tp = 8, pp = 4, stages = { 18, 22, 22, 18 } }, (l:plan()))
  end)

  it("is read from a path, in a format by its contents or by name", function()
    local path = os.tmpname()
    local f = assert(io.open(path, "w"))
    f:write("--bf16 --micro-batch-size 2\n")
    f:close()
    assert.equal("megatron", assert(berth.llm.launch(path)).format)
    local l, _, code = berth.llm.launch(path, { format = "deepspeed" })
    assert.is_nil(l)
    assert.equal("parse", code)
    os.remove(path)
    assert.is_nil((berth.llm.launch(path)))
    assert.error_matches(function() berth.llm.launch(path, { format = "slurm" }) end, "slurm", 1,
      true)
  end)
end)
