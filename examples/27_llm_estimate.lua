-- How long is a training step of a 70B model on 64 GPUs, by plan, and which term explains that the
-- measured one took longer?
local berth = require "berth"

local model = assert(berth.llm.model { layers = 80, hidden = 8192, heads = 64, kv_heads = 8,
  ffn = 28672, vocab = 128256 })
local cluster = assert(berth.llm.cluster "64xH100")

-- Factors of a cluster of one's own, as berth.llm.calibrate fits them to measured steps; without
-- them the framework's are taken.
local FACTORS = { products = 1.08, attention = 1.3, elementwise = 1.2, launch = 3e-4, inside = 1.1,
  across = 1.4, error = 0.06 }

local function estimate(plan)
  plan.seq, plan.global_batch = 8192, 128
  return assert(berth.llm.estimate(model, cluster, plan, FACTORS))
end

local PLANS = {
  { "tp 8, pp 4", { tp = 8, pp = 4 } },
  { "tp 8, pp 4, two chunks", { tp = 8, pp = 4, vp = 2 } },
  { "tp 8, pp 4, zb-h1", { tp = 8, pp = 4, schedule = "zb-h1" } },
  { "tp 4, pp 8", { tp = 4, pp = 8 } },
  { "tp 4, cp 2, pp 4", { tp = 4, cp = 2, pp = 4 } },
  { "FSDP, full recomputation", { framework = "fsdp", recompute = "full" } },
}
print(("%-26s %7s %8s %6s %8s %7s %7s"):format("plan", "step", "tokens/s", "MFU", "exposed",
  "bubble", "memory"))
for _, row in ipairs(PLANS) do
  local e = estimate(row[2])
  local s = e.memory[e.memory.worst]
  print(("%-26s %5.1f s %8.0f %4.1f %% %6.1f %% %5.1f %% %5.1f %%"):format(row[1], e.step,
    e.tokens_per_second, 100 * e.mfu, 100 * e.exposed / e.step, 100 * e.time.bubble / e.step,
    100 * s.total / s.limit))
end

local e = estimate(PLANS[1][2])
print()
print(e)
print()
print(berth.llm.explain(e, "19 s"))
