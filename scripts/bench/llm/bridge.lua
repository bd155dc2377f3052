-- Published throughput of Megatron-Bridge. A cell "A (B)" makes two rows of a line.
local bridge = { name = "megatron_bridge.csv" }

local function llama(layers, hidden, heads, ffn)
  return { layers = layers, hidden = hidden, heads = heads, kv_heads = 8, head_dim = 128,
    ffn = ffn, vocab = 128256 }
end

local function qwen(layers, hidden, heads, width)
  return { layers = layers, hidden = hidden, heads = heads, kv_heads = 4, head_dim = 128,
    qk_norm = 1, experts = 128, top = 8, expert_ffn = width, vocab = 151936 }
end

local function latent(model)
  model.q_rank, model.kv_rank, model.head_dim, model.rope_dim = 1536, 512, 192, 64
  model.value_dim, model.hidden, model.ffn, model.expert_ffn = 128, 7168, 18432, 2048
  model.shared_ffn, model.top = 2048, 8
  return model
end

local MODELS = {
  LLAMA3_8B = llama(32, 4096, 32, 14336),
  LLAMA3_70B = llama(80, 8192, 64, 28672),
  ["LLAMA3.1_405B"] = llama(126, 16384, 128, 53248),
  Qwen3_30B_a3B = qwen(48, 2048, 32, 768),
  Qwen3_235B_a22B = qwen(94, 4096, 64, 1536),
  ["GPT OSS 120B"] = { layers = 36, hidden = 2880, heads = 64, kv_heads = 8, head_dim = 64,
    window = 128, full_every = 2, sinks = true, experts = 128, top = 4, expert_ffn = 2880,
    vocab = 201088, qkv_bias = true, out_bias = true, router_bias = true, expert_bias = true },
  -- the last layer is the module that predicts a second token; its head is left out
  DeepSeekV3 = latent { layers = 62, heads = 128, dense_layers = 3, experts = 256,
    vocab = 129280 },
  Kimi_K2 = latent { layers = 61, heads = 64, dense_layers = 1, experts = 384, vocab = 163840 },
}
local FOREIGN = { { "^Nemotron", "state-space layers" }, { "^DeepSeekV4", "compressed attention" } }
local TRAINING = { ["Pre-Training"] = "pretrain", SFT = "finetune", LoRA = "lora" }

local function times(x, n)
  local out = {}
  for i = 1, n do out[i] = x end
  return out
end

local function joined(...)
  local out = {}
  for _, list in ipairs { ... } do
    for _, x in ipairs(list) do out[#out + 1] = x end
  end
  return out
end

-- Layouts of recipes that are no even split.
local LAYOUTS = { ["LLAMA3_70B pp 8 vp 5"] = joined(times(2, 35), { 3 }, times(2, 3), { 1 }) }
-- Layers whose activations the GPU does not keep: computed again, or in the machine's memory.
local RECOMPUTED = { ["LLAMA3_8B H100 fp8"] = 5 }
local OFFLOADED = { ["LLAMA3_70B GB200 FP8-CS"] = 40, ["LLAMA3_70B GB200 BF16"] = 20,
  ["LLAMA3_70B GB300 FP8-CS"] = 20, ["LLAMA3_70B GB300 BF16"] = 30, ["LLAMA3_70B B200 FP8-CS"] = 5,
  ["LLAMA3_70B B200 BF16"] = 5 }

-- ---- lines of two rows --------------------------------------------------------------------------

local NUMBERS = { "gpus", "gbs", "mbs", "seq", "fsdp", "tp", "pp", "cp", "vp", "ep", "ga",
  "tokens_per_s_per_gpu", "model_tflops_per_gpu", "precision" }

local function pair(cell) return cell:match "^%s*(.-)%s*%((.-)%)%s*$" end

--- The one or two rows of a line.
function bridge.expand(r)
  local first, second, two = {}, {}, false
  for key, cell in pairs(r) do first[key], second[key] = cell, cell end
  for _, key in ipairs(NUMBERS) do
    local a, b = pair(r[key] or "")
    if a then first[key], second[key], two = a, b, true end
  end
  if r.precision == "" then -- a table without that column
    first.precision, second.precision = "FP8-CS", r.system:find "H100" and "FP8-SC" or "FP8-MX"
  end
  return two and { first, second } or { first }
end

-- ---- one row ------------------------------------------------------------------------------------

-- FP8 is FP8-CS (current scaling), MXFP8 FP8-MX.
local PRECISION = { FP8 = "FP8-CS", MXFP8 = "FP8-MX" }
local DTYPE = { BF16 = "bf16", ["FP8-CS"] = "fp8", ["FP8-MX"] = "fp8", ["FP8-SC"] = "fp8",
  ["FP8-DS"] = "fp8" }

local function number(cell, otherwise) return tonumber(cell) or otherwise end

-- Chunks of unequal layers: a listed layout, or embedding and head count as a layer each where
-- that comes out even.
local function split(p, model, name)
  local chunks = p.pp * p.vp
  p.stages = LAYOUTS[("%s pp %d vp %d"):format(name, p.pp, p.vp)]
  p.embedding_as_layer = not p.stages and model.layers % chunks ~= 0
    and (model.layers + 2) % chunks == 0
end

local function plan_of(r, model, name, dtype)
  local gpus, tp, pp, cp = tonumber(r.gpus), number(r.tp, 1), number(r.pp, 1), number(r.cp, 1)
  local p = { tp = tp, pp = pp, cp = cp, dp = gpus / (tp * pp * cp), ep = number(r.ep, 1),
    vp = pp > 1 and number(r.vp, 1) or 1, micro_batch = tonumber(r.mbs),
    global_batch = tonumber(r.gbs), seq = tonumber(r.seq), dtype = dtype, framework = "megatron",
    gradients = "bf16", training = TRAINING[r.task:match "^%S+"],
    zero = number(r.fsdp, 0) > 0 and 3 or nil }
  split(p, model, name)
  return p
end

-- Rows that drop tokens, and a release with a known regression.
local function unusual(r, name, remark)
  return remark == "tokendrop" or name == "GPT OSS 120B" and r.nemo_container == "26.06.01"
end

-- "DGX-GB200" -> "GB200"
local function gpu_of(r) return (r.system:gsub("^DGX%-", "")) end

local function foreign(name)
  for _, x in ipairs(FOREIGN) do
    if name:find(x[1]) then return x[2] end
  end
  return "model " .. name
end

function bridge.read(r)
  local name, remark = r.model:gsub("%s*%(.*$", ""), r.model:match "%((.-)%)"
  local model, precision = MODELS[name], PRECISION[r.precision] or r.precision
  if not model then return nil, foreign(name) end
  if not DTYPE[precision] then return nil, "arithmetic " .. precision end
  if not tonumber(r.tokens_per_s_per_gpu) then return nil, "no throughput given" end
  local p, gpu = plan_of(r, model, name, DTYPE[precision]), gpu_of(r)
  local key = ("%s %s "):format(name, gpu)
  if p.training == "pretrain" and RECOMPUTED[key .. p.dtype] then
    p.recompute, p.recompute_layers = "full", RECOMPUTED[key .. p.dtype]
  end
  return { model = model, cluster = { gpu = gpu, gpus = tonumber(r.gpus) }, plan = p,
    measured = p.global_batch * p.seq / (tonumber(r.gpus) * tonumber(r.tokens_per_s_per_gpu)),
    group = { gpu = gpu, model = name, precision = precision, release = r.nemo_container,
      kind = model.experts and "moe" or "dense", training = p.training, remark = remark,
      unusual = unusual(r, name, remark),
      fsdp = number(r.fsdp, 0), tflops = tonumber(r.model_tflops_per_gpu),
      offloaded_layers = p.training == "pretrain" and OFFLOADED[key .. precision] or nil } }
end

return bridge
