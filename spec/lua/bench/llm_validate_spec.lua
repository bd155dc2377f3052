-- scripts/bench/llm_validate: its lines, what it counts, what it fits, its JSON.
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local csv_files = require "support.csv_files"
local errors = require "llm.errors"
local json = require "dkjson"
local memory = require "llm.memory"
local rows = require "llm.rows"
local shell = require "support.shell"
local steps = require "llm.steps"

describe("errors", function()
  -- +10, -20, 0 and +30 %
  local function part()
    local p = errors.part("x.csv", 6)
    for i, estimate in ipairs { 11, 8, 10, 13 } do errors.add(p, "row " .. i, estimate, 10) end
    errors.leave(p, "b", 1)
    errors.leave(p, "a")
    return p
  end

  it("are a mean, a percentile, a maximum and a bias", function()
    local s = errors.summary(part())
    assert.near(15, s.mape, 1e-9)
    assert.near(30, s.p90, 1e-9)
    assert.near(30, s.max, 1e-9)
    assert.near(5, s.bias, 1e-9)
  end)

  it("are a line, and one for each reason of what is left out", function()
    local p = part()
    assert.same({ "x.csv rows 6 used 4 mape 15.00 p90 30.00 max 30.00 bias +5.00",
      "  left out 1: a", "  left out 1: b" }, errors.lines(p))
    p.note = "how"
    assert.matches("bias %+5.00 %(how%)$", errors.lines(p)[1])
    assert.same({ "y rows 0 used 0 mape - p90 - max - bias -" }, errors.lines(errors.part("y", 0)))
  end)
end)

-- Columns and rows of vTrain: 8 GPUs, seconds of a step.
local VTRAIN = "Parameters (billion),# GPUs,global batch,micro batch,hidden size,attention heads,"
  .. "# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism,"
  .. "iteration time (ms)\n"
local function vtrain(size, mbs, ms)
  return ("%s,8,512,%d,3072,32,30,2048,8,1,1,%d\n"):format(size, mbs, ms)
end

describe("step times", function()
  local estimate, calibrate = berth.llm.estimate, berth.llm.calibrate
  after_each(function() berth.llm.estimate, berth.llm.calibrate = estimate, calibrate end)

  -- Twice a second for each sequence of a micro-batch, times the factor.
  local function pretend()
    berth.llm.estimate = function(_, _, plan, opts)
      if plan.micro_batch == 7 then error "no such plan" end
      return { step = 2 * plan.micro_batch * (opts.factors or 1) }
    end
    berth.llm.calibrate = function(list)
      local sum = 0
      for _, row in ipairs(list) do sum = sum + row.measured / 2 / row.plan.micro_batch end
      return sum / #list
    end
  end

  local function parts(text, how)
    local out
    csv_files.with({ ["vtrain_multi_a100.csv"] = text }, function(dir)
      how.seed = how.seed or 1
      out = steps.parts(assert(rows.read(dir, "vtrain_multi_a100.csv")), how)
    end)
    return out
  end

  it("are compared, and what has no estimate is counted", function()
    pretend()
    local all = parts(VTRAIN .. vtrain("3.6", 1, 2000) .. vtrain("3.6", 2, 2000)
      .. vtrain("3.6", 7, 1) .. vtrain("3.6", 64, 64000), {})
    assert.same({ 4, 3 }, { all[1].rows, #all[1].samples })
    assert.near(200 / 3, errors.summary(all[1]).mape, 1e-9) -- 0, 100 and 100 %
    local why, count = next(all[1].left)
    assert.matches("no such plan", why)
    assert.equal(1, count)
    assert.equal("vtrain_multi_a100.csv:uncontended", all[2].name)
    assert.same({ 3, 2 }, { all[2].rows, #all[2].samples }) -- 64 sequences thrash
  end)

  it("that are not above 0 are left out", function()
    pretend()
    local all = parts(VTRAIN .. vtrain("3.6", 1, 2000) .. vtrain("3.6", 1, 0)
      .. vtrain("3.6", 1, -5), {})
    assert.same({ 3, 1 }, { all[1].rows, #all[1].samples })
    assert.equal(2, all[1].left["a time that is not above 0"])
  end)

  it("are scaled by others of the same GPU, or of the same model and GPU", function()
    pretend()
    local text = VTRAIN .. vtrain("39.1", 1, 7000)
    for i = 1, 4 do text = text .. vtrain("3.6", i, 1000 * i) .. vtrain("18", i, 4000 * i) end
    local by_model = parts(text, { scale = "model" })[1]
    assert.same({ 9, 8, 1 },
      { by_model.rows, #by_model.samples, by_model.left["no other row to scale by"] })
    assert.near(0, errors.summary(by_model).mape, 1e-9)
    assert.equal("each by a factor from 2 other rows of its model and GPU, seed 1", by_model.note)
    local by_gpu = parts(text, { scale = "gpu", seed = 3 })[1]
    assert.equal(9, #by_gpu.samples)
    assert.is_true(errors.summary(by_gpu).mape > 0)
  end)

  it("are not scaled by rows that are known to be far off", function()
    pretend()
    local part = parts(VTRAIN .. vtrain("3.6", 1, 1000) .. vtrain("3.6", 2, 2000)
      .. vtrain("3.6", 64, 1e6), { scale = "gpu" })[2]
    assert.same({ 2, 2 }, { part.rows, #part.samples })
    assert.near(0, errors.summary(part).mape, 1e-9)
  end)

  it("are calibrated on at most half of a file's rows", function()
    pretend()
    local text = VTRAIN
    for i = 1, 5 do text = text .. vtrain("3.6", i, 3000 * i) end
    local part = parts(text, { calibrate = 12 })[1]
    assert.same({ 3, 2 }, { #part.samples, part.left["calibrated on"] })
    assert.near(0, errors.summary(part).mape, 1e-9)
    assert.equal("calibrated, seed 1", part.note)
  end)
end)

-- Heads, width, layers, tp, pp, chunks, micro-batch of a published GPT.
local H, A, L, T, P, V, B, S = 12288, 96, 96, 8, 8, 3, 1, 2048

describe("figures of memory", function()
  -- The paper's formulas, bytes.
  local sbh, scores = S * B * H, 5 * A * S / H
  local whole = sbh * (10 + 24 / T + scores / T)

  local function mape(name, text)
    local out
    csv_files.with({ [name] = text }, function(dir)
      out = errors.summary(memory.parts(assert(rows.read(dir, name)))[1]).mape
    end)
    return out
  end

  it("are exact where they are formulas", function()
    local layers, gib = L * (1 + (P - 1) / (P * V)), 2 ^ 30
    local text = ("model,params_and_optimizer_GiB,activations_none_GiB,"
      .. "activations_seqpar_selective_GiB\n175B,%.12f,%.12f,%.12f\n"):format(
      18 * 12 * L * H * H / T / P / gib, layers * whole / gib, layers * sbh / T * 34 / gib)
    assert.is_true(mape("korthikanti2022_memory_fig1_GiB.csv", text) < 1e-6)
  end)

  it("are shares of a layer with tensor parallelism", function()
    local function of(x) return 100 * x / whole end
    local text = ("model,none,seqpar,selective,seqpar_selective,full\n"
      .. "GPT-3 175B,100,%.12f,%.12f,%.12f,%.12f\n"):format(of(sbh / T * (34 + scores)),
      of(sbh * (10 + 24 / T)), of(sbh / T * 34), of(2 * sbh))
    assert.is_true(mape("korthikanti2022_activation_memory_fig7_percent.csv", text) < 1e-6)
  end)
end)

describe("its command", function()
  local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"

  local function run(words)
    local paths = ("LUA_PATH='%s' LUA_CPATH='%s' "):format(package.path, package.cpath)
    local out = shell.capture(("%s %s scripts/bench/llm_validate.lua %s 2>&1; echo exit $?"):format(
      paths, lua, words))
    return (out:gsub("exit %d+\n$", "")), tonumber(out:match "exit (%d+)\n$")
  end

  local function refused(words, message)
    local out, status = run(words)
    assert.equal(2, status)
    assert.is_truthy(out:find(message, 1, true), out)
  end

  local FILES = {
    ["bloom_sweeps.csv"] = "file,line,Size,DP,TP,PP,MBS,Mem,TFLOPs,GBS,Nodes,Sec/it,NHIDDEN,"
      .. "Layers,ZS,NHEADS\nprequel.md,615,181B,8,8,6,1,38GB,115.31,2048,48,139.82,,,,\n"
      .. "prequel.md,793,181B,48,8,1,1,OOM,,2016,48,,,,,\ngpt2.md,73,7.5B,1,,4,,,,,,,,,,\n"
      .. "prequel.md,616,181B,8,5,6,1,38GB,1,2048,30,139,,,,\n",
    ["kernels/h200_sxm_gemm.csv"] = "gemm_dtype,m,n,k,latency_ms\nbfloat16,2048,4096,4096,0.1\n"
      .. "fp8,128,4096,4096,0.01\nint8,128,4096,4096,0.01\nfp8,1,4096,256,0.01\n",
    ["kernels/a100_sxm_attention.csv"] = "batch,seq,heads,kv_heads,head_dim,window,attn_dtype,"
      .. "latency_ms\n4,2048,32,8,128,0,bfloat16,1\n4,2048,32,8,128,0,bfloat16,3\n"
      .. "4,256,32,8,128,0,fp8,3\n",
    ["kernels/h100_sxm_comm.csv"] = "framework,version,device,op_name,kernel_source,nccl_dtype,"
      .. "num_gpus,message_size,latency\nx,1,y,all_reduce,NCCL,half,8,1048576,0.03\n"
      .. "x,1,y,broadcast,NCCL,half,8,1048576,0.03\n",
    ["kernels/allreduce_a100_v100.csv"] = "gpu,n_gpus,bytes,allreduce_ns,busbw_GBps\n"
      .. "a100,2,1048576,44210,23.72\nv100,2,1048576,1,1\n",
    ["kernels/notes.csv"] = "a\n1\n",
    ["kernels/x9_sxm_gemm.csv"] = "gemm_dtype,m,n,k,latency_ms\nbfloat16,8,8,8,0.1\n",
    ["simai_busbw_ratio_ata.csv"] = "Size,1 Node(NVLinkx),2Node-16GPU(NIC ),Multi 16\n"
      .. "16777216,0.44,0.52,0.86\n33554432,0.51,,\n",
  }

  it("prints a line for each file and part, and says what it leaves out", function()
    csv_files.with(FILES, function(dir)
      local out, status = run(dir .. " --rows")
      assert.equal(0, status)
      local seen = {}
      for name, total, used in out:gmatch
        "(%S+[ memory]*) rows (%d+) used (%d+) mape %S+ p90 %S+ max %S+ bias %S+\n" do
        seen[name] = { tonumber(total), tonumber(used) }
      end
      assert.same({ 4, 1 }, seen["bloom_sweeps.csv"])
      assert.same({ 4, 1 }, seen["bloom_sweeps.csv memory"])
      local gemm = "kernels/h200_sxm_gemm.csv:"
      assert.same({ 1, 1 }, seen[gemm .. "bfloat16:m>=1024"])
      assert.same({ 1, 1 }, seen[gemm .. "fp8:128<=m<1024"])
      assert.same({ 1, 0 }, seen[gemm .. "int8:128<=m<1024"])
      assert.same({ 1, 1 }, seen[gemm .. "fp8:n-or-k<512"])
      assert.same({ 2, 1 }, seen["kernels/a100_sxm_attention.csv:s>=512"])
      assert.same({ 1, 0 }, seen["kernels/a100_sxm_attention.csv:s<512"])
      assert.same({ 2, 1 }, seen["kernels/h100_sxm_comm.csv"])
      assert.same({ 2, 1 }, seen["kernels/allreduce_a100_v100.csv"])
      assert.same({ 4, 1 }, seen["simai_busbw_ratio_ata.csv"])
      for _, text in ipairs { "  left out 1: V100 cluster\n", "  left out 1: out of memory\n",
        "  left out 1: arithmetic int8\n", "  left out 1: further rows of a shape\n",
        "  left out 1: broadcast of half\n", "mosaic_fsdp.csv passed over\n",
        "kernels/notes.csv (no known table) passed over\n", "kernels/x9_sxm_gemm.csv (",
        "heads 64 is no multiple of tp = 5\n", "bloom_sweeps.csv out-of-memory rows 1 fit 0 ",
        "GB, measured " } do
        assert.is_truthy(out:find(text, 1, true), text)
      end
    end)
  end)

  it("has the same as JSON, with the number of its schema", function()
    csv_files.with(FILES, function(dir)
      local out, status = run(dir .. " --json")
      assert.equal(0, status)
      local d = assert(json.decode(out))
      assert.equal(1, d.schema)
      assert.equal(berth.version, d.berth)
      local parts = 0
      for _, list in ipairs { d.step, d.memory, d.kernel } do
        for _, part in ipairs(list) do
          local left = 0
          for _, x in ipairs(part.left_out) do left = left + x.rows end
          assert.equal(part.rows, part.used + left, part.name)
          assert.equal(part.used > 0, type(part.mape_percent) == "number")
          parts = parts + 1
        end
      end
      assert.is_true(parts >= 11)
      assert.equal("vtrain_multi_a100.csv", d.passed_over[1])
    end)
  end)

  it("refuses what it cannot do", function()
    refused("", "which directory?")
    refused("/nowhere", "no file of measured rows")
    refused("/nowhere --scale board", "--scale: expected gpu or model, got 'board'")
    refused("/nowhere --calibrate 1.5", "--calibrate: expected a whole number from 1 on")
    refused("/nowhere --calibrate 5 --scale gpu", "only one of them")
    refused("/nowhere --fast", "unknown option --fast")
    refused("/nowhere /there", "there is a directory already")
  end)

  it("says how to call it", function()
    local out, status = run("--help")
    assert.equal(0, status)
    for _, option in ipairs { "calibrate", "scale", "seed", "form", "rows", "json" } do
      assert.is_truthy(out:find("\n  --" .. option .. " ", 1, true), option)
    end
  end)
end)
