-- Four devices, each with the memory that a single one needs, or with less: which placers find a
-- placement, which run out of memory, and how long is the step? (tf): the rules of the published
-- code, which count less memory than the simulator.
local berth = require "berth"

local placers = { "m-topo (tf)", "m-etf (tf)", "m-sct (tf)", "m-topo", "m-etf", "m-sct", "single", "portfolio" }
local links, memory, multiple = "duplex", "training", 3 -- parameters, their gradients and momentum

local function on(g, t, p, dispatch)
  return berth.simulate(g, t, p,
    { links = links, memory = memory, param_multiple = multiple, dispatch = dispatch, bound = false })
end

local function needed(g, device)
  local t = berth.topology.mesh(1, device)
  return on(g, t, assert(berth.place(g, t, "single", { memory = memory, param_multiple = multiple }))).peak_memory[1]
end

local function place(g, t, placer)
  local name = placer:match("^%S+")
  local own = { memory = memory, param_multiple = multiple }
  if name ~= placer then own.variant = "baechi-tf" else own.links = links end
  if name == "portfolio" then own.calls = 100 end
  return berth.place(g, t, name, own)
end

-- First in, first out; if that runs out of memory, in the planned order.
local function outcome(g, t, placer)
  local p, message, code = place(g, t, placer)
  if not p then return assert(code == "infeasible" and "refuses", message) end
  local r = on(g, t, p)
  if r.oom and p:sequence() then r = on(g, t, p, "planned") end
  return r.oom and "runs out" or berth.format(r.makespan, "seconds")
end

local g = assert(berth.models.inception_v3 { batch = 32, granularity = "layer" })
local device = { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" }
local need = needed(g, device)
local fractions = { 1.0, 0.7, 0.4, 0.3 }

print(("%s, %d ops: a single device needs %s"):format(g.name, #g, berth.format(need, "bytes")))
local head = ("%-12s"):format("share of it")
for _, fraction in ipairs(fractions) do head = head .. ("%10.2f"):format(fraction) end
print(head)
for _, placer in ipairs(placers) do
  local line = ("%-12s"):format(placer)
  for _, fraction in ipairs(fractions) do
    device.memory = need * fraction
    line = line .. ("%10s"):format(outcome(g, berth.topology.mesh(4, device), placer))
  end
  print(line)
end
