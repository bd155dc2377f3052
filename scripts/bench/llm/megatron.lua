-- Published tables of GPT by Megatron-LM on A100-80GB, 8 a machine: vTrain's validation,
-- Korthikanti et al. 2022 (step times), Narayanan et al. 2021 (table 1).
local megatron = {}

-- GPT with learned positions, biases, embedding and head one matrix.
local function gpt(layers, hidden, heads, vocab, seq)
  return { layers = layers, hidden = hidden, heads = heads, vocab = vocab, positions = seq,
    gated = false, tied = true, qkv_bias = true, out_bias = true, mlp_bias = true,
    norm_bias = true }
end

-- What all have in common: FP16, no flash attention, states not sharded. Gradients are reduced in
-- FP16. The framework overlaps nothing.
local function plan(p)
  p.framework, p.dtype, p.zero, p.gradients = "megatron-2022", "fp16", 0, "bf16"
  p.flash, p.dropout, p.sequence_parallel = false, true, "off"
  return p
end

-- ---- vTrain -------------------------------------------------------------------------------------

-- Rows of the 39.1 B model whose data parallelism shares the network, and micro-batches that fill
-- the memory, are far slower than their neighbours.
local function contended(size, p)
  return size == "39.1" and (p.tp == 2 or p.tp == 4) and p.dp >= 16 or p.micro_batch >= 64
end

local function vtrain(r)
  local n = {}
  for key, value in pairs(r) do n[key] = tonumber(value) end
  local p = plan { tp = n["tensor parallelism"], pp = n["pipeline parallelism"],
    dp = n["data parallelism"], micro_batch = n["micro batch"], global_batch = n["global batch"],
    seq = n["sequence length"], recompute = "full" }
  local size = r["Parameters (billion)"]
  local h, layers = n["hidden size"], n["# layers"]
  return {
    model = gpt(layers, h, n["attention heads"], 50257, p.seq),
    cluster = { gpu = "A100", gpus = p.tp * p.pp * p.dp, nics = 4 },
    plan = p, measured = n["iteration time (ms)"] * 1e-3,
    group = { gpu = "A100", model = size or ("h %d"):format(h),
      contended = size ~= nil and contended(size, p), layer = ("tp %d h %d micro_batch %d"):format(
        p.tp, h, p.micro_batch) },
  }
end

megatron.multi = { name = "vtrain_multi_a100.csv", read = vtrain }
megatron.single = { name = "vtrain_single_a100.csv", read = vtrain }

-- ---- published steps ----------------------------------------------------------------------------

local function shared_plan(r)
  return plan { tp = tonumber(r.tp), pp = tonumber(r.pp), dp = tonumber(r.dp),
    vp = math.max(1, tonumber(r.interleave) or 1), micro_batch = tonumber(r.mbs),
    global_batch = tonumber(r.gbs), seq = tonumber(r.seq), recompute = "full" }
end

local function korthikanti(r)
  local p = shared_plan(r)
  p.recompute = r.recompute == "attn_only" and "selective" or "full"
  p.gradients = "fp32" -- 18 bytes a parameter in the paper's figure 1
  p.sequence_parallel = r.tp_comm == "rs_ag" and "on" or "off"
  local model = gpt(tonumber(r.layers), tonumber(r.hidden), tonumber(r.heads), 51200, p.seq)
  model.ffn = tonumber(r.ffn)
  return { model = model, cluster = { gpu = "A100", gpus = tonumber(r.gpus) }, plan = p,
    measured = tonumber(r.measured_step_s),
    group = { gpu = "A100", model = r.model, mode = r.mode } }
end

megatron.korthikanti = { name = "korthikanti2022_step_times_a100.csv", read = korthikanti }

--- FLOP of a step with full recomputation as the papers count it.
function megatron.recomputed_flop(batch, s, layers, h, vocab)
  return 96 * batch * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))
end

local function narayanan(r)
  local p, gpus = shared_plan(r), tonumber(r.gpus)
  local layers, h, vocab = tonumber(r.layers), tonumber(r.hidden), tonumber(r.vocab)
  local flop = megatron.recomputed_flop(p.global_batch, p.seq, layers, h, vocab)
  return { model = gpt(layers, h, tonumber(r.heads), vocab, p.seq),
    cluster = { gpu = "A100", gpus = gpus }, plan = p,
    measured = flop / (gpus * tonumber(r.tflops_per_gpu) * 1e12),
    group = { gpu = "A100", model = r.model } }
end

megatron.narayanan = { name = "narayanan_sc21_table1_a100.csv", read = narayanan }

return megatron
