-- Sweeps before BLOOM: Megatron-DeepSpeed on A100-80GB, 8 a machine. Columns differ from table to
-- table of the source; an empty cell is not given.
local megatron = require "llm.megatron"

local bloom = { name = "bloom_sweeps.csv", vocab = 250680 }

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
local SMALL = { [389] = true, [427] = true }            -- 8 layers, 32 heads
local SWAPPED = { [669] = true, [670] = true }          -- seconds and TFLOP/s
local DP = { [648] = 4, [658] = 1, [659] = 1, [660] = 1 } -- what the number of machines leaves
local DOUBTFUL = { [634] = "memory doubtful: more than with twice its micro-batch" }
-- Far slower than the same plans with half or twice the micro-batch, or other heads.
local UNUSUAL = { [760] = true, [830] = true }
local NEW_FLOP_FROM = 590 -- TFLOP/s by the papers' formula; before, 8 FLOP a parameter and token
local TUNED_FROM = 764    -- PCIe and NUMA of the machines were improved
local BF16_FROM = 894     -- FP32 accumulation of gradients; embedding and head count as layers
local SEQ, MACHINE = 2048, 8

local function shape_at(line)
  for _, s in ipairs(SHAPES) do
    if line >= s[1] and line <= s[2] then return s end
  end
  return nil
end

-- Billions of parameters: "181B".
local function size_of(r) return tonumber((r.Size:match "^([%d.]+)B?$")) end

local function layers_of(r, line, pp)
  local given = tonumber(r.Layers) or SMALL[line] and 8 or shape_at(line)[4]
  if given or not size_of(r) then return given end
  return math.floor((size_of(r) - 0.7) / 2.488 / pp + 0.5) * pp
end

-- Data parallelism: as given, else what the machines leave.
local function dp_of(r, line, tp, pp)
  local nodes = tonumber(r.Nodes)
  local dp = DP[line] or tonumber(r.DP) or nodes and MACHINE * nodes / tp / pp
  return dp and dp % 1 == 0 and dp or nil
end

local function model_of(r, line, layers)
  return { layers = layers, hidden = tonumber(r.NHIDDEN) or shape_at(line)[3],
    heads = tonumber(r.NHEADS) or SMALL[line] and 32 or shape_at(line)[5], vocab = bloom.vocab,
    gated = false, tied = true, qkv_bias = true, out_bias = true, mlp_bias = true,
    norm_bias = true }
end

-- A batch that is no multiple of dp x micro_batch goes down to one.
local function plan_of(r, line, layers, degrees)
  local late, batch = line >= BF16_FROM, tonumber(r.GBS) or 2048
  local p = { tp = degrees.tp, pp = degrees.pp, dp = degrees.dp, micro_batch = degrees.mbs,
    seq = SEQ, recompute = "full", flash = false, dropout = true, framework = "deepspeed",
    zero = tonumber(r.ZS) or 1, dtype = late and "bf16" or "fp16",
    gradients = late and "fp32" or "bf16",
    embedding_as_layer = late and (layers + 2) % degrees.pp == 0,
    overlap_grad = "off" } -- behind the last micro-batch
  p.global_batch = batch - batch % (p.dp * p.micro_batch)
  return p
end

--- FLOP that the source's TFLOP/s of a line count for a step.
function bloom.flop(line, size, batch, layers, hidden)
  if line < NEW_FLOP_FROM then return 8 * size * 1e9 * SEQ * batch end
  return megatron.recomputed_flop(batch, SEQ, layers, hidden, 250880)
end

-- Seconds of a step: as given, else by the TFLOP/s.
local function seconds_of(r, line, model, gpus)
  local seconds, rate = tonumber((r["Sec/it"]:gsub("s$", ""))), tonumber(r.TFLOPs)
  if SWAPPED[line] then seconds, rate = rate, seconds end
  if seconds or not rate or not size_of(r) then return seconds end
  local flop = bloom.flop(line, size_of(r), tonumber(r.GBS) or 2048, model.layers, model.hidden)
  return flop / (rate * 1e12 * gpus)
end

local function memory_of(r, line)
  local gb = tonumber(r.Mem:match "^([%d.]+) ?GB$")
  if gb and not DOUBTFUL[line] then return gb * 1e9 end
  return nil, r.Mem == "OOM" and "out of memory" or DOUBTFUL[line] or "no memory given"
end

local function gpus_of(plan) return plan.tp * plan.pp * plan.dp end

function bloom.read(r)
  local line = tonumber(r.line)
  if not r.file:find("prequel", 1, true) then return nil, "V100 cluster" end
  if not shape_at(line) then return nil, "no shape known" end
  local tp, pp, mbs = tonumber(r.TP), tonumber(r.PP), tonumber(r.MBS)
  if not (tp and pp and mbs) or line >= 450 and line <= 457 then return nil, "no plan given" end
  local layers, dp = layers_of(r, line, pp), dp_of(r, line, tp, pp)
  if not (layers and dp) then return nil, "no plan given" end
  local model = model_of(r, line, layers)
  local plan = plan_of(r, line, layers, { tp = tp, pp = pp, dp = dp, mbs = mbs })
  if plan.global_batch == 0 then return nil, "a batch below dp x micro-batch" end
  local measured = seconds_of(r, line, model, gpus_of(plan))
  local memory, no_memory = memory_of(r, line)
  return { model = model, plan = plan, measured = measured, memory = memory,
    no_time = r.Mem == "OOM" and "out of memory" or "no time given", no_memory = no_memory,
    ends = true, -- memory is that of the first or the last stage
    cluster = { gpu = "A100", gpus = gpus_of(plan), per_machine = MACHINE, nics = 4,
      nic = "12.5 GB/s" },
    line = line,
    group = { gpu = "A100", model = ("%d x %d"):format(layers, model.hidden),
      oom = r.Mem == "OOM" or nil, unusual = UNUSUAL[line], tflops = tonumber(r.TFLOPs),
      size = size_of(r),
      era = line >= BF16_FROM and "bf16" or line >= TUNED_FROM and "tuned" or "first" } }
end

return bloom
