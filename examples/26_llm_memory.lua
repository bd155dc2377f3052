-- Does the training of a 70B model fit 64 GPUs of 80 GB? Which splits fit, and what takes the
-- memory?
local berth = require "berth"

-- Shapes by hand; berth.llm.model "config.json" reads a published model.
local model = assert(berth.llm.model { layers = 80, hidden = 8192, heads = 64, kv_heads = 8,
  ffn = 28672, vocab = 128256 })
local cluster = assert(berth.llm.cluster "64xH100")
print(model)
print(cluster)

local PLANS = {
  { "data parallelism alone, ZeRO 3", { framework = "fsdp" } },
  { "the same, full recomputation", { framework = "fsdp", recompute = "full" } },
  { "tp 8, dp 8", { tp = 8 } },
  { "tp 8, pp 4, dp 2", { tp = 8, pp = 4 } },
  { "tp 4, pp 8, dp 2, gradients in BF16", { tp = 4, pp = 8, gradients = "bf16" } },
}
print()
for _, entry in ipairs(PLANS) do
  local opts = entry[2]
  opts.seq, opts.global_batch = 8192, 1024
  local r = assert(berth.llm.memory(model, cluster, opts))
  local s = r[r.worst]
  print(("%-36s %6.1f GB of %.1f: %s"):format(entry[1], s.total / 1e9, s.limit / 1e9,
    r.fits and "fits" or "does not fit"))
end

print()
print(berth.llm.memory(model, cluster, PLANS[4][2]))
