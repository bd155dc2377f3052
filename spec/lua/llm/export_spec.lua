-- Plans as launch files: read again by berth, and by an independent reader (Python's shlex,
-- argparse, tomllib and json, and bash for scripts); what frameworks do not have.
local berth = require "berth"
local core = require "berth.core"
local json = require "dkjson"
local pipeline_csv = require "support.pipeline_csv"
local shell = require "support.shell"

local llm = berth.llm
local COSTS = { F = 1, B = 1, W = 1 }

local dense = llm.model { layers = 24, hidden = 512, heads = 16, kv_heads = 8, ffn = 1536,
  vocab = 1000 }
local moe = llm.model { layers = 24, hidden = 512, heads = 16, kv_heads = 8, ffn = 1536,
  vocab = 1000, experts = 16, top = 2, expert_ffn = 256, shared_ffn = 128, dense_layers = 1,
  qk_norm = 1, tied = true }
local latent = llm.model { layers = 24, hidden = 512, heads = 16, head_dim = 48, value_dim = 32,
  kv_rank = 64, q_rank = 96, rope_dim = 16, ffn = 1536, vocab = 1000, experts = 8, top = 2,
  expert_ffn = 128, moe_every = 1, router_bias = true }
local gpt = llm.model { layers = 24, hidden = 512, heads = 16, ffn = 2048, vocab = 1000,
  gated = false, qkv_bias = true, out_bias = true, mlp_bias = true, norm_bias = true, tied = true,
  positions = 2048 }

local has_python = shell.capture "python3 -c 'import tomllib; print(1)' 2>&1" == "1\n"

local function try(name, test)
  if has_python then it(name, test)
  else pending(name .. ": no python3 with tomllib", function() end) end
end

-- An answer of the independent reader, which runs once for all.
local to, from
local function ask(line)
  if not to then
    local fifo = shell.path ".fifo"
    os.execute("mkfifo " .. fifo)
    to = io.popen("python3 spec/support/launch_reader.py > " .. fifo, "w")
    from = io.open(fifo)
  end
  to:write(line, "\n")
  to:flush()
  return from:read "*l"
end

-- What the independent reader says of an export.
local function said(e, format)
  local path, folder = shell.file("", e.text), shell.path ".d"
  if format == "slurm" then os.execute("mkdir " .. folder) end
  local text = ask(("%s %s %s"):format(format, path, folder))
  local out = json.decode(text)
  assert.is_table(out, text)
  if format == "slurm" then
    for _, name in ipairs { "plan.json", "plan.toml" } do
      local f = io.open(folder .. "/" .. name)
      if f then
        out.file = f:read "*a"
        f:close()
      end
    end
    os.execute("rm -r " .. folder)
  end
  return out
end

local function export(opts, format, model, cluster)
  return assert(llm.export(model or dense, cluster or "64xH100", opts, format))
end

local function refused(opts, format, words, model)
  local e, message, code = llm.export(model or dense, "64xH100", opts, format)
  assert.is_nil(e)
  assert.equal("unsupported", code)
  assert.equal(words, message)
end

-- The plan that berth reads in an export, with what such files do not have from `given`.
local function again(e, model, cluster, given)
  local l = assert(core.llm_launch("export", e.text))
  local c = llm.cluster(cluster)
  return (assert(l:plan(given, c.gpus, model.layers))), l
end

-- Two plans need the same memory and the same time.
local function same(model, cluster, p, q)
  assert(q)
  local a, b = llm.memory(model, cluster, p), llm.memory(model, cluster, q)
  for s = 1, #a do assert.same(a[s], b[s]) end
  assert.equal(llm.estimate(model, cluster, p, { form = "closed" }).step,
    llm.estimate(model, cluster, q, { form = "closed" }).step)
end

local function round_trip(opts, format, model, cluster, given)
  model, cluster = model or dense, cluster or "64xH100"
  local e = export(opts, format, model, cluster)
  same(model, cluster, opts, (again(e, model, cluster, given)))
  return e
end

local function with(opts, more)
  local out = {}
  for key, x in pairs(opts) do out[key] = x end
  for key, x in pairs(more) do out[key] = x end
  return out
end

describe("an export to Megatron-LM", function()
  teardown(function() shell.tidy() end)

  local plans = {
    { tp = 8, pp = 4, micro_batch = 2, global_batch = 64, seq = 2048, recompute = "selective" },
    { tp = 2, pp = 4, vp = 3, recompute = "full", zero = 0, sequence_parallel = "off" },
    { tp = 4, pp = 2, vp = 2, stages = { 5, 7, 7, 5 }, overlap_p2p = "off", cp = 2 },
    { pp = 8, stages = { 0, 3, 4, 4, 4, 4, 4, 1 }, recompute = "full", recompute_layers = 2 },
    { pp = 5, tp = 1, dp = 2 },
    { pp = 13, embedding_as_layer = true, dp = 1, zero = 0 },
    { tp = 8, dtype = "fp8", gradients = "bf16", fused_loss = "on", overlap_grad = "off",
      overlap_gather = "off" },
    { tp = 8, dtype = "fp16", optimizer = "sgd", dropout = true, flash = false, offload = true },
    { tp = 8, zero = 3 }, { tp = 8, zero = 2, dtype = "fp16", gradients = "bf16" },
  }
  local gpus = { [5] = "10xH100", [6] = "13xH100" }

  it("reads back as the same plan", function()
    for i, opts in ipairs(plans) do
      local cluster = gpus[i] or "64xH100"
      local e = round_trip(opts, "megatron", dense, cluster)
      local _, l = again(e, dense, cluster)
      assert.same({}, l.notes)
      assert.equal(dense.parameters, assert(l:model()).parameters)
    end
    round_trip({ tp = 2, pp = 2, ep = 8, etp = 2 }, "megatron", moe)
    round_trip({ tp = 2, pp = 2, ep = 8 }, "megatron", latent)
  end)

  it("has the model's shapes", function()
    local second = llm.model { layers = 24, hidden = 512, heads = 16, ffn = 2048, vocab = 1000,
      experts = 8, top = 2, expert_ffn = 64, moe_every = 2 }
    for _, m in ipairs { dense, moe, latent, gpt, second } do
      local _, l = again(export({ tp = 2 }, "megatron", m), m, "64xH100")
      local same_model = assert(l:model())
      assert.equal(m.parameters, same_model.parameters)
      assert.equal(m.active, same_model.active)
    end
    local function without(shapes, words)
      local m = llm.model(with({ layers = 24, hidden = 512, heads = 16, vocab = 1000 }, shapes))
      local e = export({}, "megatron", m)
      assert.same({ "the model's shapes are left out: Megatron-LM's flags do not have " .. words },
        e.notes)
      assert.is_nil(e.text:find "num%-layers")
    end
    without({ window = 64 }, "windows of attention")
    without({ qk_norm = 2 }, "a norm of the queries of all heads")
    without({ layer_norms = 4 }, "layers with other than two norms")
  end)

  it("sends tokens to experts by all-to-all, and routes as a bias requires", function()
    local function has(opts, flag)
      return export(opts, "megatron", latent).text:find(flag, 1, true)
    end
    assert.truthy(has({ ep = 8 }, "--moe-token-dispatcher-type alltoall\n"))
    assert.is_nil(has({ ep = 1 }, "--moe-token-dispatcher-type"))
    assert.truthy(has({}, "--moe-router-enable-expert-bias\n--moe-router-score-function sigmoid\n"))
  end)

  it("notes tp above the heads of keys and values, which torchtitan does not have", function()
    assert.same({ "tp 16 is more than 8 kv heads: Megatron-Core has that from 0.16 on" },
      export({ tp = 16 }, "megatron").notes)
    assert.same({}, export({ tp = 16 }, "megatron", latent).notes)
    refused({ tp = 16, framework = "torchtitan" }, "torchtitan",
      "torchtitan has tp up to the kv heads, 8: not 16")
  end)

  it("notes an overlap that Megatron-Core has for several chunks alone", function()
    local notes = export({ tp = 8, pp = 4, overlap_p2p = "on" }, "megatron").notes
    assert.same({ "overlap_p2p requires several chunks (vp) in Megatron-Core: left out" }, notes)
    assert.same({}, export({ tp = 8, pp = 4, vp = 2, overlap_p2p = "on" }, "megatron").notes)
  end)

  try("is flags of their documented types", function()
    for i, opts in ipairs(plans) do
      local cluster = gpus[i] or "64xH100"
      local p, x = llm.fill(dense, cluster, opts), said(export(opts, "megatron", dense, cluster),
        "megatron")
      assert.same({ p.tp, p.pp, p.cp, p.micro_batch, p.global_batch, p.seq, 24 },
        { x["tensor-model-parallel-size"], x["pipeline-model-parallel-size"],
          x["context-parallel-size"], x["micro-batch-size"], x["global-batch-size"],
          x["seq-length"], x["num-layers"] })
      assert.equal(p.sequence_parallel == "on" or nil, x["sequence-parallel"])
      assert.equal(p.zero > 0 or nil, x["use-distributed-optimizer"])
      assert.equal(p.recompute ~= "none" and p.recompute or nil, x["recompute-granularity"])
      assert.equal(p.dtype == "fp16" or nil, x.fp16)
      assert.equal(p.dtype == "fp8" and "hybrid" or nil, x["fp8-format"])
    end
    local x = said(export(plans[3], "megatron"), "megatron")
    assert.equal("Et*5|t*7|t*7|t*5L", x["pipeline-model-parallel-layout"])
    x = said(export(plans[4], "megatron"), "megatron")
    assert.equal("E|t*3|t*4|t*4|t*4|t*4|t*4|tL", x["pipeline-model-parallel-layout"])
    x = said(export({ tp = 2 }, "megatron", moe), "megatron")
    assert.equal("([0]*1+[1]*23)", x["moe-layer-freq"])
  end)

  try("to Megatron-Bridge are overrides of their documented types", function()
    for i, opts in ipairs(plans) do
      local cluster = gpus[i] or "64xH100"
      local p, x = llm.fill(dense, cluster, opts), said(export(opts, "bridge", dense, cluster),
        "bridge")
      assert.same({ p.tp, p.pp, p.cp, p.micro_batch, p.global_batch, p.seq, p.zero > 0 },
        { x["model.tensor_model_parallel_size"], x["model.pipeline_model_parallel_size"],
          x["model.context_parallel_size"], x["train.micro_batch_size"],
          x["train.global_batch_size"], x["model.seq_length"],
          x["ddp.use_distributed_optimizer"] })
      assert.equal(p.vp > 1 and p.vp or nil, x["model.virtual_pipeline_model_parallel_size"])
      assert.equal(p.dtype == "fp16" and "fp16_mixed" or p.dtype == "bf16" and "bf16_mixed"
        or "bf16_with_fp8_current_scaling_mixed", x.mixed_precision)
    end
  end)

  it("is refused for other schedules, and for adapters", function()
    refused({ pp = 4, schedule = "zb-v" }, "megatron",
      "Megatron-LM runs pipelines as 1f1b and interleaved, not as zb-v")
    refused({ pp = 4, schedule = "gpipe" }, "bridge",
      "Megatron-Bridge runs pipelines as 1f1b and interleaved, not as gpipe")
    refused({ tp = 2, ep = 2, sequence_parallel = "off" }, "megatron",
      "Megatron-LM requires sequence_parallel for ep with tp", moe)
    refused({ training = "lora" }, "megatron", "training lora: adapters are in the code of a "
      .. "fine-tuning library, not in files of Megatron-LM")
  end)
end)

describe("an export to torchtitan", function()
  teardown(function() shell.tidy() end)

  local titan = { framework = "torchtitan" }
  local plans = {
    with(titan, { tp = 8, recompute = "selective", seq = 8192 }),
    with(titan, { tp = 2, pp = 4, micro_batch = 2, recompute = "full", global_batch = 96 }),
    with(titan, { pp = 4, vp = 2, dtype = "fp8", reshard = "on" }),
    with(titan, { pp = 2, stages = { 11, 13 }, overlap_tp = "on", tp = 4 }),
    with(titan, { pp = 2, vp = 2, stages = { 2, 8, 3, 11 }, zero = 0 }),
    with(titan, { pp = 2, schedule = "zb-v", cp = 2 }),
    with(titan, { pp = 2, schedule = "gpipe", offload = true }),
    with(titan, { pp = 2, schedule = "dualpipev", global_batch = 256 }),
  }

  it("reads back as the same plan", function()
    for _, opts in ipairs(plans) do round_trip(opts, "torchtitan") end
    round_trip(with(titan, { ep = 8, tp = 2 }), "torchtitan", moe)
  end)

  try("is TOML of the documented types", function()
    for _, opts in ipairs(plans) do
      local p, x = llm.fill(dense, "64xH100", opts), said(export(opts, "torchtitan"), "torchtitan")
      assert.same({ p.tp, p.cp, p.pp, p.dp, p.global_batch, p.seq, p.recompute },
        { x["parallelism.tensor_parallel_degree"], x["parallelism.context_parallel_degree"],
          x["parallelism.pipeline_parallel_degree"],
          x["parallelism.data_parallel_shard_degree"]
            * x["parallelism.data_parallel_replicate_degree"], x["training.global_batch_size"],
          x["training.seq_len"], x["activation_checkpoint.mode"] })
      assert.equal(p.pp > 1 and p.global_batch / p.dp or p.micro_batch,
        x["training.local_batch_size"])
    end
    local x = said(export(plans[5], "torchtitan"), "torchtitan")
    local modules = x["parallelism.module_fqns_per_model_part"]
    assert.same({ 3, 8, 3, 13 }, { #modules[1], #modules[2], #modules[3], #modules[4] })
    assert.same({ "layers.10", "layers.11", "layers.12" }, modules[3])
  end)

  it("keeps gathered weights with zero 2", function()
    local text = assert(llm.export(dense, "8xH100", with(titan, { dp = 8, zero = 2 }),
      "torchtitan")).text
    assert.matches("\ndata_parallel_shard_degree = 8\nfsdp_reshard_after_forward = \"never\"\n",
      text)
  end)

  it("is refused for what torchtitan does not have", function()
    local function no(opts, words) refused(with(titan, opts), "torchtitan", words) end
    no({ zero = 1 }, "torchtitan shards gradients with the optimiser states: zero 2 or 3, not 1")
    no({ tp = 2, sequence_parallel = "off" },
      "torchtitan's tensor parallelism always has sequence_parallel")
    no({ pp = 4, global_batch = 32, micro_batch = 1, dp = 16 }, "PyTorch's 1f1b and gpipe have as "
      .. "many micro-batches as stages or more: pp 4, not 2 micro-batches")
    no({ pp = 2, schedule = "zb-h1" }, "torchtitan has no schedule zb-h1; berth schedule zb-h1 "
      .. "--csv writes a file for pipeline_parallel_schedule_csv")
    no({ dtype = "fp16" }, "torchtitan has no dtype fp16")
  end)
end)

describe("an export to DeepSpeed", function()
  teardown(function() shell.tidy() end)

  local zero = { framework = "deepspeed", seq = 2048 }
  local plans = {
    with(zero, { zero = 3, micro_batch = 2, global_batch = 512, recompute = "full" }),
    with(zero, { zero = 2, offload = true, dtype = "fp16", overlap_grad = "off" }),
    with(zero, { zero = 1, tp = 2, gradients = "fp32", optimizer = "sgd" }),
    with(zero, { zero = 0 }),
  }

  it("reads back as the same plan, with what JSON does not have", function()
    for _, opts in ipairs(plans) do
      round_trip(opts, "deepspeed", dense, "64xH100", { seq = 2048, recompute = opts.recompute })
    end
  end)

  try("is JSON of the documented types", function()
    for _, opts in ipairs(plans) do
      local p, x = llm.fill(dense, "64xH100", opts), said(export(opts, "deepspeed"), "deepspeed")
      assert.same({ p.zero, p.micro_batch, p.global_batch }, { x["zero_optimization.stage"],
        x["train_micro_batch_size_per_gpu"], x["train_batch_size"] })
      assert.equal(x["train_batch_size"], x["train_micro_batch_size_per_gpu"]
        * x["gradient_accumulation_steps"] * p.dp)
      assert.equal(p.offload and "cpu" or nil, x["zero_optimization.offload_optimizer.device"])
      assert.equal(p.dtype == "fp16" or nil, x["fp16.enabled"])
    end
  end)

  it("says what the model's code has to do, and refuses what there is not", function()
    local e = export(with(zero, { pp = 4, recompute = "full" }), "deepspeed")
    assert.same({ "pp 4: the model's code builds the pipeline (PipelineModule)",
      "recompute: the model's code begins it (gradient_checkpointing of Hugging Face's trainer)",
      "the sequence of 2048 tokens and the learning rate are the training script's" }, e.notes)
    refused(with(zero, { dtype = "fp8" }), "deepspeed", "DeepSpeed's JSON has no dtype fp8")
    refused(with(zero, { pp = 4, schedule = "gpipe" }), "deepspeed",
      "DeepSpeed runs pipelines as 1f1b, with a chunk a stage")
    refused(with(zero, { cp = 2 }), "deepspeed",
      "DeepSpeed's JSON has no context parallelism (cp 2)")
  end)
end)

describe("an export to FSDP", function()
  teardown(function() shell.tidy() end)

  local fsdp = { framework = "fsdp", micro_batch = 2, global_batch = 256, seq = 2048 }
  local plans = { fsdp, with(fsdp, { reshard = "off", recompute = "full" }),
    with(fsdp, { zero = 0 }), with(fsdp, { dtype = "fp8", offload = true }) }

  it("reads back as the same plan, with what JSON does not have", function()
    for _, opts in ipairs(plans) do
      round_trip(opts, "fsdp", dense, "64xH100", { seq = 2048, micro_batch = 2,
        global_batch = 256 })
    end
  end)

  try("is accelerate's JSON of the documented types", function()
    local x = said(export(plans[2], "fsdp"), "fsdp")
    assert.same({ "FSDP", 64, 8, "bf16", false, true }, { x.distributed_type, x.num_processes,
      x.num_machines, x.mixed_precision, x["fsdp_config.fsdp_reshard_after_forward"],
      x["fsdp_config.fsdp_activation_checkpointing"] })
    assert.equal("MULTI_GPU", said(export(plans[3], "fsdp"), "fsdp").distributed_type)
  end)

  it("is refused for other parallelism", function()
    refused(with(fsdp, { tp = 2 }), "fsdp", "FSDP alone has no tp 2: torchtitan has it")
    refused(with(fsdp, { recompute = "selective" }), "fsdp",
      "fsdp_activation_checkpointing is recompute full, of all layers")
  end)
end)

describe("an export to Slurm", function()
  teardown(function() shell.tidy() end)

  try("launches Megatron-LM, as bash has it", function()
    local opts = { tp = 8, pp = 4, stages = { 5, 7, 7, 5 } }
    local x = said(export(opts, "slurm"), "slurm")
    local alone = said(export(opts, "megatron"), "megatron")
    assert.same({ 8, 8 }, { x.nodes, x["gpus-per-node"] })
    assert.equal("torchrun --nnodes 8 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint "
      .. "node0:29500 --rdzv_id 7 pretrain_gpt.py", table.concat(x.words, " ", 1, 12))
    assert.same(alone, x.flags)
  end)

  try("writes the file of other frameworks", function()
    for framework, format in pairs { torchtitan = "torchtitan", deepspeed = "deepspeed",
        fsdp = "fsdp" } do
      local opts = { framework = framework }
      local x = said(export(opts, "slurm"), "slurm")
      assert.equal(export(opts, format).text, x.file)
    end
    local x = said(export({ framework = "torchtitan" }, "slurm"), "slurm")
    assert.equal("-m torchtitan.train --job.config_file plan.toml",
      table.concat(x.words, " ", #x.words - 3))
  end)

  it("reads back as the same plan, with its GPUs", function()
    local e = round_trip({ tp = 8, pp = 2, vp = 2, stages = { 5, 7, 7, 5 } }, "slurm")
    local _, l = again(e, dense, "64xH100")
    assert.equal(64, l.gpus)
    assert.equal(4, (select(2, again(export({ tp = 2 }, "slurm", dense, "4xH100"), dense,
      "4xH100"))).gpus)
  end)

  it("has one connection for tp and cp, but for Megatron's FSDP", function()
    local function one(opts)
      return export(opts, "slurm").text:find("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n", 1, true)
    end
    assert.truthy(one { tp = 2 })
    assert.truthy(one { cp = 2 })
    assert.is_nil(one { pp = 2 })
    assert.is_nil(one { tp = 2, zero = 3 })
  end)

  it("begins with the interpreter, and orders nodes of several kinds", function()
    local e = export({ dp = 16 }, "slurm", dense, "8xA100+8xH100")
    assert.matches("^#!/bin/bash\n#SBATCH", e.text)
    assert.same({ "the nodes are of several kinds: order them as the cluster is written",
      "data, tokenizer, rotary base, learning rate and checkpoints are for you to add to ARGS" },
      e.notes)
  end)

  it("is refused for machines of different sizes", function()
    local e, message = llm.export(dense, "8xA100+4xH100", { dp = 12 }, "slurm")
    assert.is_nil(e)
    assert.matches("different numbers of GPUs", message)
  end)
end)

describe("an export", function()
  it("of the pipeline is PyTorch's CSV", function()
    for _, opts in ipairs { { pp = 4 }, { pp = 4, vp = 2 }, { pp = 4, schedule = "zb-v" },
        { pp = 4, schedule = "zb-h1" }, { pp = 4, schedule = "gpipe" } } do
      local p = llm.fill(dense, "8xH100", opts)
      local checked = pipeline_csv.check(export(opts, "csv", dense, "8xH100").text, COSTS)
      assert.same({ 4, p.global_batch / p.dp / p.micro_batch },
        { checked.stages, checked.microbatches })
    end
  end)

  it("of a random plan reads back as the same, is refused, or has a note", function()
    local rng, counts = berth.rng(7), { same = 0, noted = 0, refused = 0 }
    local function pick(...) return (select(rng:below(select("#", ...)), ...)) end
    local function random_plan(framework)
      local alone = framework == "fsdp"
      return { framework = framework, tp = alone and 1 or pick(1, 2, 4), zero = pick(0, 1, 2, 3),
        pp = alone and 1 or pick(1, 2, 3, 4), vp = alone and 1 or pick(1, 1, 2), cp = pick(1, 1, 2),
        micro_batch = pick(1, 2), seq = 1024, recompute = pick("none", "selective", "full"),
        dtype = pick("bf16", "fp8", "fp16"), optimizer = pick("adam", "adam", "sgd"),
        gradients = pick("auto", "bf16", "fp32"), offload = pick(false, false, true),
        dropout = pick(false, true), flash = pick(true, true, false),
        fused_loss = pick("auto", "on"), overlap_grad = pick("on", "off"),
        overlap_gather = pick("on", "off"), overlap_tp = pick("auto", "off"),
        schedule = pick("auto", "auto", "gpipe", "zb-v"), reshard = pick("auto", "on") }
    end
    local kept = { deepspeed = { "seq" }, fsdp = { "seq", "micro_batch", "global_batch" } }
    for _ = 1, 1500 do
      local format = pick("megatron", "torchtitan", "deepspeed", "fsdp")
      local m, opts = pick(dense, latent), random_plan(format)
      local fine, p = pcall(llm.fill, m, "16xH100", opts)
      local e = fine and llm.export(m, "16xH100", opts, format)
      local usual = format == "megatron" and 0 or 1 -- what the files never have
      if fine and not e then counts.refused = counts.refused + 1
      elseif fine and #e.notes > usual then counts.noted = counts.noted + 1
      elseif fine then
        local given = {}
        for _, key in ipairs(kept[format] or {}) do given[key] = p[key] end
        for _, key in ipairs { "overlap_gather", "fused_loss", "gradients" } do
          if format ~= "megatron" then given[key] = p[key] end
        end
        for _, key in ipairs { "overlap_grad", "optimizer" } do
          if format ~= "megatron" and format ~= "deepspeed" then given[key] = p[key] end
        end
        same(m, "16xH100", opts, (again(e, m, "16xH100", given)))
        counts.same = counts.same + 1
      end
    end
    assert.is_true(counts.same > 50 and counts.noted > 50 and counts.refused > 200,
      ("%d %d %d"):format(counts.same, counts.noted, counts.refused))
  end)

  it("is written to a path", function()
    local path = shell.path ".txt"
    local e = export({ tp = 2 }, "megatron")
    assert.is_true(e:save(path))
    assert.equal(e.text, shell.take(path))
    assert.equal(e.text, tostring(e))
  end)

  it("takes a filled plan, and names the formats", function()
    assert.equal(export({ tp = 2 }, "megatron").text,
      export(llm.fill(dense, "64xH100", { tp = 2 }), "megatron").text)
    assert.error_matches(function() llm.export(dense, "64xH100", {}, "megatrom") end, "megatron", 1,
      true)
    local names = {}
    for i, f in ipairs(llm.formats()) do names[i] = f.name end
    assert.same({ "megatron", "bridge", "torchtitan", "deepspeed", "fsdp", "slurm", "csv" }, names)
  end)
end)
