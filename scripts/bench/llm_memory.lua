-- Memory by berth.llm against measured memory: BLOOM's sweeps and torchtitan's tables; and whether
-- what ran (vTrain, Mosaic) is said to fit, and what ran out of memory (BLOOM) is not.
-- usage: llm_memory.lua [DIR] [--rows]     DIR has the CSV files (default ../shared/data/measured);
--        --rows prints each row
-- How rows are read: docs/llm.md, "How good is it". What is left out is counted by reason.
local berth = require "berth"

local dir, show = "../shared/data/measured", false
for _, word in ipairs(arg) do
  if word == "--rows" then show = true else dir = word end
end

-- Rows of a CSV file without quotes, as tables of strings.
local function rows_of(name)
  local rows, names = {}, nil
  for line in assert(io.lines(dir .. "/" .. name)) do
    local cells = {}
    for cell in (line .. ","):gmatch "(.-)," do cells[#cells + 1] = cell end
    if names then
      local row = {}
      for i, key in ipairs(names) do row[key] = cells[i] end
      rows[#rows + 1] = row
    else
      names = cells
    end
  end
  return rows
end

-- ---- BLOOM --------------------------------------------------------------------------------------

-- Lines of the source from, to; width, layers (nil: by the size), heads.
local SHAPES = {
  { 385, 538, 14400, nil, 96 }, { 582, 582, 14400, 80, 96 }, { 583, 587, 13824, 80, 96 },
  { 600, 618, 14336, 72, 64 }, { 628, 636, 13824, 84, 64 }, { 644, 650, 13824, 80, 64 },
  { 652, 661, 14336, 6, 64 }, { 665, 672, 14336, 72, 64 }, { 682, 688, 12288, 96, 64 },
  { 691, 698, 13312, 84, 64 }, { 700, 705, 13824, 78, 64 }, { 707, 730, 14336, 72, 64 },
  { 732, 741, 13824, 78, 64 }, { 746, 752, 13312, 84, 64 }, { 755, 762, 12288, 96, 64 },
  { 769, 811, 14336, 72, 64 }, { 814, 819, 12288, 96, 64 }, { 826, 839, 13824, 78, 64 },
  { 841, 850, 14336, 72, 64 }, { 852, 859, 13312, 84, 64 }, { 863, 885, 13824, 78, 96 },
  { 887, 910, 12288, 106, 64 }, { 913, 921, 12288, 100, 64 }, { 924, 933, 13312, 82, 64 },
  { 935, 941, 13312, 94, 64 }, { 942, 951, 14336, 70, 64 }, { 953, 960, 14336, 82, 64 },
}
local BF16_FROM = 894 -- FP32 accumulation of gradients; embedding and head count as layers

local function shape_at(line)
  for _, s in ipairs(SHAPES) do
    if line >= s[1] and line <= s[2] then return s end
  end
  return nil
end

-- Memory in GB, or nil and why the row is left out.
local function bloom_measured(r)
  local line = tonumber(r.line)
  if not r.file:find "prequel" then return nil, "V100 cluster" end
  local gb = r.Mem and tonumber(r.Mem:match "^([%d.]+)GB$")
  if not gb then return nil, r.Mem == "OOM" and "out of memory" or "no memory given" end
  if not shape_at(line) then return nil, "no shape known" end
  if line == 634 then return nil, "memory doubtful: more than with twice its micro-batch" end
  if line >= 450 and line <= 457 then return nil, "no plan given" end
  return gb
end

-- The answer of berth.llm.memory for a row.
local function bloom_memory(r)
  local line, shape = tonumber(r.line), shape_at(tonumber(r.line))
  local dp, tp, pp = tonumber(r.DP), tonumber(r.TP), tonumber(r.PP)
  if line == 648 then dp = 4 elseif line >= 658 and line <= 660 then dp = 1 end
  local layers = tonumber(r.Layers) or shape[4]
  if not layers then
    local size = tonumber((r.Size:gsub("B$", "")))
    layers = math.floor((size - 0.7) / 2.488 / pp + 0.5) * pp
  end
  local late = line >= BF16_FROM
  local model = assert(berth.llm.model { layers = layers, hidden = shape[3],
    heads = tonumber(r.NHEADS) or shape[5], vocab = 250680, gated = false, tied = true,
    qkv_bias = true, out_bias = true, mlp_bias = true, norm_bias = true })
  local plan = { tp = tp, pp = pp, dp = dp, micro_batch = tonumber(r.MBS), seq = 2048,
    global_batch = tonumber(r.GBS) or 2048, recompute = "full", flash = false, dropout = true,
    framework = "deepspeed", zero = 1, gradients = late and "fp32" or "bf16",
    embedding_as_layer = late and (layers + 2) % pp == 0 }
  -- a batch that is no multiple goes down to one
  plan.global_batch = plan.global_batch - plan.global_batch % (dp * plan.micro_batch)
  return assert(berth.llm.memory(model, ("%dxA100-80GB"):format(dp * tp * pp), plan))
end

local function bloom(r)
  local measured, why = bloom_measured(r)
  if not measured then return nil, why end
  local m = bloom_memory(r)
  return math.max(m[1].total, m[#m].total), measured * 1e9, "line " .. r.line
end

-- ---- torchtitan ---------------------------------------------------------------------------------

local MODELS = {
  ["8B"] = { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 128256 },
  ["70B"] = { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn = 28672, vocab = 128256 },
  ["405B"] = { layers = 126, hidden = 16384, heads = 128, kv_heads = 8, ffn = 53248,
    vocab = 128256 },
}

local function degree(text, key) return tonumber(text:match(key .. "(%d+)")) or 1 end

local function torchtitan(r)
  local gib = tonumber(r.memory_GiB_max)
  if not gib then return nil, "no memory given" end
  local text, local_batch = r.parallelism, tonumber(r.local_bs)
  local pp, dp = degree(text, "pp"), degree(text, "fsdp")
  local seq = tonumber(r["seq (8192 where the page gives none: assumed)"])
  -- as many micro-batches as stages: the framework's default
  local vp = text:find "Interleaved" and 2 or 1
  local plan = { tp = degree(text, "tp"), cp = degree(text, "cp"), pp = pp, dp = dp, vp = vp,
    seq = seq, micro_batch = math.max(1, math.floor(local_batch / pp)),
    global_batch = local_batch * dp, recompute = r.recompute, framework = "torchtitan" }
  local model = assert(berth.llm.model(MODELS[r.model]))
  local m = assert(berth.llm.memory(model, r.gpus .. "xH100-96GB", plan))
  return m[m.worst].total, gib * 2 ^ 30, ("%s %s"):format(r.model, text)
end

-- ---- rows that ran ------------------------------------------------------------------------------

local function vtrain(r)
  local tp, pp = tonumber(r["tensor parallelism"]), tonumber(r["pipeline parallelism"])
  local dp = tonumber(r["data parallelism"])
  local model = assert(berth.llm.model { layers = tonumber(r["# layers"]),
    hidden = tonumber(r["hidden size"]), heads = tonumber(r["attention heads"]), vocab = 50257,
    gated = false, tied = true, qkv_bias = true, out_bias = true, mlp_bias = true,
    norm_bias = true, positions = 2048 })
  return assert(berth.llm.memory(model, ("%dxA100"):format(tp * pp * dp), { tp = tp, pp = pp,
    dp = dp, micro_batch = tonumber(r["micro batch"]), global_batch = tonumber(r["global batch"]),
    seq = 2048, recompute = "full", flash = false, dropout = true, framework = "deepspeed",
    dtype = "fp16" }))
end

-- Width, heads, layers.
local MPT = { ["125m"] = { 768, 12, 12 }, ["350m"] = { 1024, 16, 24 }, ["760m"] = { 1536, 12, 24 },
  ["1b"] = { 2048, 16, 24 }, ["3b"] = { 2560, 20, 32 }, ["7b"] = { 4096, 32, 32 },
  ["13b"] = { 5120, 40, 40 }, ["30b"] = { 7168, 56, 48 }, ["70b"] = { 8192, 64, 80 } }

local function mosaic(r)
  local s, seq = MPT[r.Model], tonumber(r["SeqLen (T)"])
  local model = assert(berth.llm.model { layers = s[3], hidden = s[1], heads = s[2], vocab = 50368,
    gated = false, tied = true, positions = seq })
  local gpu = r.GPU:find "40" and "A100-40GB" or r.GPU:find "a100" and "A100" or "H100"
  return assert(berth.llm.memory(model, r["# GPUs"] .. "x" .. gpu, { seq = seq,
    micro_batch = tonumber(r.MicroBatchSize), global_batch = tonumber(r.GlobalBatchSize),
    framework = "fsdp", zero = r["Sharding Strategy"] == "FULL_SHARD" and 3 or 2,
    recompute = r["Activation Checkpointing"] == "True" and "full" or "none" }))
end

-- How many of the rows are said to fit, and the largest share of a GPU's memory.
local function fitting(name, what, rows, value)
  local fit, most = 0, 0
  for _, r in ipairs(rows) do
    local m = value(r)
    fit = fit + (m.fits and 1 or 0)
    most = math.max(most, m[m.worst].total / m[m.worst].limit)
  end
  print(("%s rows that %s %d, said to fit %d, at most %.0f %% of the memory"):format(name, what,
    #rows, fit, 100 * most))
end

-- ---- report -------------------------------------------------------------------------------------

local function report(name, rows, value, select)
  local errors, sum, worst, bias, left = {}, 0, 0, 0, {}
  for _, r in ipairs(rows) do
    local got, measured, label = value(r)
    if not got then
      left[measured] = (left[measured] or 0) + 1
    elseif not select or select(r) then
      local e = got / measured - 1
      errors[#errors + 1] = math.abs(e)
      sum, bias, worst = sum + math.abs(e), bias + e, math.max(worst, math.abs(e))
      if show then
        print(("  %-34s %6.1f GB, measured %6.1f, %+5.1f %%"):format(label, got / 1e9,
          measured / 1e9, 100 * e))
      end
    end
  end
  table.sort(errors)
  local n = #errors
  print(("%s memory rows %d used %d mape %.1f p90 %.1f max %.1f bias %+.1f"):format(name, #rows, n,
    100 * sum / n, 100 * errors[math.ceil(0.9 * n)], 100 * worst, 100 * bias / n))
  local reasons = {}
  for reason in pairs(left) do reasons[#reasons + 1] = reason end
  table.sort(reasons)
  for _, reason in ipairs(reasons) do print(("  left out: %d, %s"):format(left[reason], reason)) end
end

report("bloom_sweeps.csv", rows_of "bloom_sweeps.csv", bloom)
local titan = rows_of "torchtitan_h100.csv"
report("torchtitan_h100.csv, 8B selective", titan, torchtitan, function(r)
  return r.model == "8B" and r.recompute == "selective"
end)
report("torchtitan_h100.csv, others", titan, torchtitan, function(r)
  return r.model ~= "8B" or r.recompute ~= "selective"
end)
local failed = {}
for _, r in ipairs(rows_of "bloom_sweeps.csv") do
  if r.file:find "prequel" and r.Mem == "OOM" then failed[#failed + 1] = r end
end
fitting("bloom_sweeps.csv", "ran out of memory", failed, bloom_memory)
fitting("vtrain_multi_a100.csv", "ran", rows_of "vtrain_multi_a100.csv", vtrain)
fitting("mosaic_fsdp.csv", "ran", rows_of "mosaic_fsdp.csv", mosaic)
