-- Llama 3.1 by torchtitan on H100 with 96 GB of HBM2e, 500 W, 8 a machine.
local torchtitan = { name = "torchtitan_h100.csv" }

local MODELS = {
  ["8B"] = { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 128256 },
  ["70B"] = { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn = 28672, vocab = 128256 },
  ["405B"] = { layers = 126, hidden = 16384, heads = 128, kv_heads = 8, ffn = 53248,
    vocab = 128256 },
}
local SEQ = "seq (8192 where the page gives none: assumed)"

local function degree(text, key) return tonumber(text:match(key .. "(%d+)")) or 1 end

-- As many micro-batches as stages: the framework's default. Asynchronous tensor parallelism where
-- it is named, and with pipelines.
local function plan_of(r, text)
  local batch, pp = tonumber(r.local_bs), degree(text, "pp")
  local dp, chunks = degree(text, "fsdp"), text:find "[Ii]nterleaved" and 2 or 1
  local tp = degree(text, "tp")
  local async = tp > 1 and (pp > 1 or text:lower():find "async") and "on" or nil
  return { tp = tp, overlap_tp = async, cp = degree(text, "cp"), pp = pp, dp = dp, vp = chunks,
    seq = tonumber(r[SEQ] or r.seq), micro_batch = math.max(1, math.floor(batch / pp)),
    global_batch = tonumber(r.gbs) or batch * dp, recompute = r.recompute, dtype = r.precision,
    framework = "torchtitan" }
end

function torchtitan.read(r)
  local text, model = r.parallelism, MODELS[r.model]
  if not model then return nil, "model " .. r.model end
  if not tonumber(r.local_bs) then return nil, "no batch given" end
  local p, gpus = plan_of(r, text), tonumber(r.gpus)
  local rate, gib = tonumber(r.tokens_per_s_per_gpu), tonumber(r.memory_GiB_max)
  local compiled = text:find("compile", 1, true) ~= nil
  return { model = model, cluster = { gpu = "H100-96GB", gpus = gpus }, plan = p,
    measured = rate and p.global_batch * p.seq / (gpus * rate), no_time = "no time given",
    memory = gib and gib * 2 ^ 30, no_memory = "no memory given",
    group = { gpu = "H100-96GB", model = r.model, text = text,
      -- the tables of several degrees compile without saying so
      compile = compiled or p.tp * p.pp * p.cp > 1 or p.dtype == "fp8" } }
end

return torchtitan
