-- Where should the ops of ResNet-50 training run on four V100s, and how long does a step take?
local berth = require "berth"

local g, about = berth.models.resnet { depth = 50, batch = 32 }
local t = berth.topology.mesh(4, { preset = "V100", bandwidth = "50 GB/s", latency = "5 us" })
print(g)
print(t)
print(string.format("%.2f M parameters, %.1f GFLOP in a step, %s of activations", about.parameters / 1e6, about.flop / 1e9,
  berth.format(about.activation_bytes, "bytes")))

local p = assert(berth.place(g, t, "m-etf", { links = "duplex" }))
local r = assert(berth.simulate(g, t, p, { links = "duplex" }))
print(p)
print(r)
for d = 1, #t do
  print(string.format("%s: busy %4.1f %% of the step, peak %s", t:device(d).name, 100 * r.busy[d] / r.makespan,
    berth.format(r.peak_memory[d], "bytes")))
end

-- A network that is nearly a chain gains little from more devices: the chain itself is the bound.
local alone = assert(berth.simulate(g, t, assert(berth.place(g, t, "single")), { links = "duplex" }))
print(string.format("on one device: %s", berth.format(alone.makespan, "seconds")))
