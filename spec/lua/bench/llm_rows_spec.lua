-- Readers of measured rows: shapes of the models and steps against the FLOP/s, counts of parameters
-- and numbers of GPUs that the same rows publish; and rows that the given half may lack.
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local bloom = require "llm.bloom"
local csv_files = require "support.csv_files"
local rows = require "llm.rows"
local shared = require "support.shared"

local DIR = shared.path "data/measured"

local function file_of(name)
  return shared.read("data/measured/" .. name) and assert(rows.read(DIR, name))
end

local function sum(left)
  local n = 0
  for _, count in pairs(left) do n = n + count end
  return n
end

local function median(values)
  table.sort(values)
  return values[math.floor((#values + 1) / 2)]
end

-- Micro-batches of a step.
local function micro_batches(p) return p.global_batch / (p.dp or 1) / p.micro_batch end

describe("measured rows", function()
  for _, reader in ipairs(rows.readers) do
    it(("of %s have legal plans; what is left out is counted"):format(reader.name), function()
      local file = file_of(reader.name)
      if not file then return pending("no " .. reader.name) end
      assert.equal(file.total, #file.rows + sum(file.left))
      assert.is_nil(file.left["cells that are no numbers"])
      for _, row in ipairs(file.rows) do
        local p = assert(berth.llm.fill(row.model, row.cluster, row.plan))
        assert.equal(0, micro_batches(p) % 1)
        assert.equal(reader.name, row.file)
        assert.is_truthy(row.measured or row.no_time)
        assert.is_truthy(row.measured or row.memory or row.group.oom)
      end
    end)
  end

  it("of Mosaic have the published count of parameters and model FLOP/s", function()
    local file = file_of "mosaic_fsdp.csv"
    if not file then return pending "no rows" end
    for _, row in ipairs(file.rows) do
      local m, p, g = row.model, row.plan, row.group
      local n = assert(berth.llm.model(m)).parameters
      assert.equal(g.parameters, n)
      assert.equal(p.global_batch, row.cluster.gpus * p.micro_batch * g.accumulation)
      local rate = p.global_batch * p.seq / row.measured / row.cluster.gpus
      local peak = g.gpu == "H100" and (p.dtype == "fp8" and 1978.9e12 or 989.4e12) or 312e12
      local mfu = rate * (6 * n + 12 * m.layers * m.hidden * p.seq) / peak
      assert.near(1, 100 * mfu / g.mfu, 2e-3)
      assert.near(p.recompute == "full" and 4 / 3 or 1, g.hfu / g.mfu, 2e-3)
    end
  end)

  it("of BLOOM's sweeps have the published FLOP/s", function()
    local file = file_of "bloom_sweeps.csv"
    if not file then return pending "no rows" end
    local old, new = {}, {}
    for _, row in ipairs(file.rows) do
      local g, p = row.group, row.plan
      if row.measured and g.tflops then
        local flop = bloom.flop(row.line, g.size, p.global_batch, row.model.layers,
          row.model.hidden)
        local ratio = flop / row.measured / row.cluster.gpus / 1e12 / g.tflops
        local list = row.line < 590 and old or new
        list[#list + 1] = ratio
        -- the old formula has the size as printed, not that of the layers
        assert.near(1, ratio, row.line < 590 and 0.025 or 1e-3)
      end
    end
    assert.near(1, median(new), 1e-4)
    assert.near(1, median(old), 2e-3)
  end)

  -- Model FLOP of a token forward and backward, causal attention, to the published rate.
  local function bridge_ratio(row)
    local m = assert(berth.llm.model(row.model))
    local heads = row.group.model == "DeepSeekV3" and 2 or 1 -- one predicts a second token
    local matrices = m.active + (heads - 2) * m.vocab * m.hidden
    local attention = 0
    for _, kind in ipairs(m.kinds) do
      attention = attention + kind.layers * kind.heads * (kind.head_dim + kind.value_dim)
    end
    local flop = 6 * matrices + 6 * attention * row.plan.seq / 2
    local rate = row.plan.global_batch * row.plan.seq / row.measured / row.cluster.gpus
    return row.group.tflops * 1e12 / (flop * rate)
  end

  it("of Megatron-Bridge have the published model FLOP/s, by model", function()
    local file = file_of "megatron_bridge.csv"
    if not file then return pending "no rows" end
    local by = {}
    for _, row in ipairs(file.rows) do
      local g = row.group
      local name = g.training == "lora" and "lora" or g.model
      by[name] = by[name] or {}
      table.insert(by[name], bridge_ratio(row))
    end
    for name, published in pairs { LLAMA3_8B = 1, LLAMA3_70B = 1, ["LLAMA3.1_405B"] = 1,
      Qwen3_30B_a3B = 0.997, Qwen3_235B_a22B = 0.997, DeepSeekV3 = 0.999, Kimi_K2 = 0.995,
      lora = 0.644 } do
      if by[name] then assert.near(published, median(by[name]), 2.5e-3) end
    end
  end)

  it("keep what a plan cannot say", function()
    local file = file_of "vtrain_multi_a100.csv"
    if not file then return pending "no rows" end
    local contended = 0
    for _, row in ipairs(file.rows) do
      if row.group.contended then contended = contended + 1 end
    end
    assert.equal(8, contended) -- 39.1 B, tp 2 and 4, dp of at least 16
  end)
end)

-- ---- forms of rows that the given half lacks ----------------------------------------------------

local function read(name, text)
  local file
  csv_files.with({ [name] = text }, function(dir) file = assert(rows.read(dir, name)) end)
  return file
end

describe("a reader", function()
  it("finds no file that is not there", function()
    assert.is_nil(rows.read("/nowhere", "mosaic_fsdp.csv"))
  end)

  it("takes cells in quotes", function()
    local file = read("megatron_bridge.csv",
      'precision,model,"a ""b"", c"\r\nFP8,"Nemotron_3, x",1\r\n\r\n')
    assert.same({ ["state-space layers"] = 1 }, file.left)
    assert.equal(1, file.total)
  end)

  it("makes two rows of a line of two precisions", function()
    local file = read("megatron_bridge.csv", "nemo_container,task,model,system,gpus,precision,gbs,"
      .. "mbs,seq,fsdp,tp,pp,cp,vp,ep,ga,tokens_per_s_per_gpu,model_tflops_per_gpu\n"
      .. "25.09,Pre-Training Performance,LLAMA3.1_405B,DGX-GB200,128,,64,1,8192,64 (0),2 (4),"
      .. "1 (8),1 (2),1 (8),1,1 (32),729 (578),1840 (1458)\n")
    local a, b = file.rows[1], file.rows[2]
    assert.equal(2, file.total)
    assert.same({ 2, 1, 64, 3 }, { a.plan.tp, a.plan.pp, a.plan.dp, a.plan.zero })
    assert.same({ 4, 8, 2, 8 }, { b.plan.tp, b.plan.pp, b.plan.dp, b.plan.vp })
    assert.is_nil(b.plan.zero)
    assert.same({ "FP8-CS", "FP8-MX" }, { a.group.precision, b.group.precision })
    assert.is_true(b.plan.embedding_as_layer) -- (126 + 2) / 64 chunks
    assert.near(64 * 8192 / 128 / 578, b.measured, 1e-9)
  end)

  it("follows the layouts of recipes", function()
    local columns = "nemo_container,task,model,system,gpus,precision,gbs,mbs,seq,fsdp,tp,pp,cp,vp,"
      .. "ep,ga,tokens_per_s_per_gpu,model_tflops_per_gpu\n"
    local file = read("megatron_bridge.csv", columns
      .. "26.06,Pre-Training Performance,LLAMA3_70B,DGX-H100,64,FP8,128,1,8192,0,4,8,1,5,n/a,,9,9\n"
      .. "26.06,Pre-Training Performance,LLAMA3_8B,DGX-H100,8,FP8,128,1,8192,0,1,1,1,n/a,,,9,9\n"
      .. "26.06,Pre-Training Performance,LLAMA3_70B,DGX-GB200,64,FP8,128,2,8192,64,1,1,1,"
      .. "n/a,,,9,9\n")
    local p = assert(berth.llm.fill(file.rows[1].model, file.rows[1].cluster, file.rows[1].plan))
    assert.same({ 2, 2, 3, 1 }, { p.stages[1], p.stages[35], p.stages[36], p.stages[40] })
    assert.same({ "full", 5 }, { file.rows[2].plan.recompute, file.rows[2].plan.recompute_layers })
    assert.equal(40, file.rows[3].group.offloaded_layers)
  end)

  -- Columns of BLOOM's sweeps.
  local BLOOM = "file,line,Size,DP,TP,PP,MBS,Mem,TFLOPs,GBS,Nodes,Sec/it,NHIDDEN,Layers,ZS,NHEADS\n"
  local PREQUEL = "chronicles-prequel.md,"

  it("corrects the lines of BLOOM's sweeps that contradict themselves", function()
    local file = read("bloom_sweeps.csv", BLOOM
      .. PREQUEL .. "648,187B,8,8,10,4,GB,135.92,2048,40,147.04,,,,\n"  -- 640 GPUs in 40 machines
      .. PREQUEL .. "669,181B,8,8,6,4,56GB,121.48,2048,48,132.71,,,,\n" -- seconds, TFLOP/s
      .. PREQUEL .. "634,196B,8,8,6,2,65GB,123.58,2048,48,141.41,,,,\n"
      .. PREQUEL .. "900,176B,,4,12,2,OOM,,2048,48,,,,,\n"
      .. PREQUEL .. "905,,4,4,12,2,,150.0,,24,,,,,\n"
      .. PREQUEL .. "455,,4,4,12,2,,150.0,,24,,,,,\n"
      .. PREQUEL .. "300,,4,4,12,2,,150.0,,24,,,,,\n"
      .. PREQUEL .. "868,182B,8,4,12,2,,,8,48,60,,,,\n"
      .. "gpt2.md,99,18B,1,,8,,,,,,,,,,\n" .. PREQUEL .. "x,182B,8,4,12,2,,,8,48,60,,,,\n")
    assert.same({ ["no plan given"] = 1, ["no shape known"] = 1, ["V100 cluster"] = 1,
      ["a batch below dp x micro-batch"] = 1, ["cells that are no numbers"] = 1 }, file.left)
    local r = file.rows
    assert.same({ 4, 320 }, { r[1].plan.dp, r[1].cluster.gpus })
    assert.equal(121.48, r[2].measured)
    assert.same({ 141.41, "memory doubtful: more than with twice its micro-batch" },
      { r[3].measured, r[3].no_memory })
    assert.same({ 8, "out of memory", "bf16" }, { r[4].plan.dp, r[4].no_time, r[4].group.era })
    assert.is_true(r[4].plan.embedding_as_layer) -- (106 + 2) / 12 stages
    assert.is_nil(r[5].measured) -- no size
  end)

  it("takes seconds from TFLOP/s where they are not given", function()
    local file = read("bloom_sweeps.csv", BLOOM
      .. PREQUEL .. "615,181B,8,8,6,1,38GB,115.31,,48,,,,,\n")
    assert.near(139.82, file.rows[1].measured, 0.02)
  end)

  it("takes the tables of two papers", function()
    local k = read("korthikanti2022_step_times_a100.csv", "model,mode,hidden,ffn,seq,heads,layers,"
      .. "gpus,tp,pp,dp,interleave,mbs,gbs,recompute,tp_comm,measured_step_s\n"
      .. "175B,x,12288,49152,2048,96,96,64,8,8,1,3,1,64,attn_only,rs_ag,13.5\n"
      .. "22B,y,6144,24576,2048,64,48,8,8,1,1,1,4,4,full,ar,1.4\n").rows
    assert.same({ "selective", "on", 3, 13.5 },
      { k[1].plan.recompute, k[1].plan.sequence_parallel, k[1].plan.vp, k[1].measured })
    assert.same({ "full", "off", 1 },
      { k[2].plan.recompute, k[2].plan.sequence_parallel, k[2].plan.vp })
    local n = read("narayanan_sc21_table1_a100.csv", "model,tp,pp,mbs,gbs,layers,hidden,heads,"
      .. "nodes_of_8,interleave,gpus,dp,vocab,seq,recompute,tflops_per_gpu\n"
      .. "g,8,1,4,512,30,3072,32,8,1,64,8,51200,2048,full uniform,138\n").rows
    local flop = 96 * 512 * 2048 * 30 * 3072 ^ 2
      * (1 + 2048 / (6 * 3072) + 51200 / (16 * 30 * 3072))
    assert.near(flop / (64 * 138e12), n[1].measured, 1e-9)
  end)

  it("takes degrees, schedules and asynchronous transfers from torchtitan's words", function()
    local file = read("torchtitan_h100.csv", "model,gpus,parallelism,"
      .. "seq (8192 where the page gives none: assumed),local_bs,gbs,recompute,precision,"
      .. "tokens_per_s_per_gpu,memory_GiB_max\n"
      .. "405B,512,fsdp8tp8pp8 Interleaved 1F1B,8192,32,256,full,fp8,128,80.1\n"
      .. "70B,256,fsdp32tp8+asyncTP,8192,16,,full,fp8,876,67.6\n"
      .. "70B,256,fsdp32tp8,8192,16,512,full,fp8,829,\n8B,8,fsdp8,8192,,,none,bf16,1,1\n")
    local a, b, c = file.rows[1].plan, file.rows[2].plan, file.rows[3].plan
    assert.same({ 8, 8, 8, 2, 4, 256 }, { a.dp, a.tp, a.pp, a.vp, a.micro_batch, a.global_batch })
    assert.same({ "on", "on" }, { a.overlap_tp, b.overlap_tp })
    assert.is_nil(c.overlap_tp)
    assert.same({ 512, 512 }, { b.global_batch, c.global_batch })
    assert.equal("no memory given", file.rows[3].no_memory)
    assert.is_nil(file.rows[3].memory)
    assert.same({ ["no batch given"] = 1 }, file.left)
  end)

  it("takes a row from each column of the figures of memory", function()
    local a = read("korthikanti2022_memory_fig1_GiB.csv",
      "model,params_and_optimizer_GiB,activations_none_GiB,activations_seqpar_selective_GiB\n"
      .. "22B,9.49,78,14\n").rows
    assert.same({ "states", "activations", "activations" }, { a[1].of, a[2].of, a[3].of })
    assert.near(9.49 * 2 ^ 30, a[1].memory, 1)
    local b = read("korthikanti2022_activation_memory_fig7_percent.csv",
      "model,none,seqpar,selective,seqpar_selective,full\n1000B,100,60,65,20,10\n").rows
    assert.equal(4, #b) -- none is the whole
    assert.same({ "selective", "on", 0.2 },
      { b[3].plan.recompute, b[3].plan.sequence_parallel, b[3].memory })
  end)
end)
