-- What stops a model from fitting, and what would help?
local berth = require "berth"

local function try(memory, what, options)
  local g = assert(berth.models.build("llama-7b", options))
  local t = berth.topology.mesh(4, { preset = "A100", memory = memory, bandwidth = "300 GB/s", latency = "3 us" })
  local p, message, code, why = berth.place(g, t, "m-etf", { memory = "training" })
  if p then
    local r = assert(berth.simulate(g, t, p))
    local fate = r.oom and "runs out of memory" or "fits, step time " .. berth.format(r.makespan, "seconds")
    print(string.format("%-34s %s on each of 4: %s", what, memory, fate))
    return
  end
  print(string.format("%-34s %s on each of 4: %s", what, memory, code))
  print("  " .. message)
  print(string.format("  missing: %s", berth.format(why.missing, "bytes")))
end

-- Weights of 2 bytes and 12 bytes of optimiser state stay: 94 GB; gradients and activations are
-- temporary.
try("16 GB", "training with adam", { seq = 512 })
try("40 GB", "training with adam", { seq = 512 })
try("16 GB", "inference", { seq = 512, training = false })
