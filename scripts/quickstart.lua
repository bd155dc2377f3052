-- The main job on real models: where should BERT-large and a 7B LLaMA train, on 4 and on 8 devices?
-- Writes build/quickstart-trace.json (opens in Perfetto) and build/quickstart.graphml.
local berth = require "berth"

-- A100 with 80 GB and NVLink through switches (300 GB/s each way); half precision on tensor cores runs at 312 TFLOP/s.
local A100 = { preset = "A100", flops = "312 TFLOP/s", bandwidth = "300 GB/s", latency = "3 us" }

local JOBS = {
  { title = "BERT-large, training: batch 16 of 512 tokens, bf16, adam",
    line = [[g = berth.models.bert { size = "large", batch = 16, seq = 512, head = "pretraining", dtype = 2 }]],
    make = function() return berth.models.bert { size = "large", batch = 16, seq = 512, head = "pretraining", dtype = 2 } end },
  { title = "LLaMA-7B, training: batch 1 of 2048 tokens, bf16, adam, fused attention",
    line = [[g = berth.models.llama { size = "7b", attention = "fused" }]],
    make = function() return berth.models.llama { size = "7b", attention = "fused" } end },
}
local MEMORY = "training"

local function bytes(x) return berth.format(x, "bytes") end
local function seconds(x) return berth.format(x, "seconds") end

-- All placers except the random ones.
local function placers()
  local names = {}
  for _, name in ipairs(berth.placers()) do
    if name ~= "random" and name ~= "policy" then names[#names + 1] = name end
  end
  return names
end

local function compare(g, t)
  return assert(berth.compare(g, t, placers(), { links = "duplex", place = { memory = MEMORY }, simulate = { memory = MEMORY } }))
end

local function describe(g, about)
  print(g)
  print(string.format("%.1f M parameters, %.1f TFLOP in a step; weights %s, activations %s", about.parameters / 1e6,
    about.flop / 1e12, bytes(about.parameter_bytes), bytes(about.activation_bytes)))
end

local function best_of(rows)
  local best = rows.best[1]
  if best.error or best.oom then return nil end
  return best
end

local function verdict(rows)
  local best = best_of(rows)
  if not best then
    print("nothing fits: " .. (rows.best[1].error or "memory runs out"))
    return
  end
  print(string.format("best: %s, %s, at most %.1f %% above the best possible; placed in %s", best.name, seconds(best.makespan),
    100 * math.max(best.gap, 0), seconds(best.seconds)))
end

local function keep(g, t, rows)
  local best = best_of(rows)
  if not best then return end
  local r = assert(berth.simulate(g, t, best.placement, { links = "duplex", memory = MEMORY }))
  assert(r:save_trace("build/quickstart-trace.json"))
  assert(g:save("build/quickstart.graphml", { format = "graphml", placement = best.placement }))
end

local function run(job)
  print("\n== " .. job.title)
  local g, about = assert(job.make())
  describe(g, about)
  for _, n in ipairs { 4, 8 } do
    local t = assert(berth.topology.mesh(n, A100))
    local rows = compare(g, t)
    print("\n-- " .. tostring(t))
    print(rows:to_string { seconds = true })
    verdict(rows)
    keep(g, t, rows)
  end
end

for _, job in ipairs(JOBS) do run(job) end

print [[

written: build/quickstart-trace.json (open it in ui.perfetto.dev) and build/quickstart.graphml, of the last row
The same by hand: scripts/berth repl, then]]
for _, job in ipairs(JOBS) do print("  " .. job.line) end
print [[
  t = berth.topology.mesh(8, { preset = "A100", flops = "312 TFLOP/s", bandwidth = "300 GB/s", latency = "3 us" })
  p = berth.place(g, t, "m-etf", { links = "duplex", memory = "training" })
  r = berth.simulate(g, t, p, { links = "duplex", memory = "training" })
  print(r)
  r:save_trace("build/step.json")]]
