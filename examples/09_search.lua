-- How much does a simple search on top of the simulator win over a constructive placer?
local berth = require "berth"

local g = berth.models.inception_v3 { batch = 8, granularity = "layer", training = false }
local t = berth.topology.mesh(3, { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" })
local c = assert(berth.cost(g, t))
local run = berth.simulator(c, { links = "duplex" })
local rng = berth.rng(1)

local start = assert(berth.place(c, "etf", { links = "duplex" }))
local devices, best = start:devices(), run(start)
print(string.format("etf:           %s", berth.format(best, "seconds")))

local calls = 3000
for _ = 1, calls do
  local op = rng:below(#g)
  local before = devices[op]
  devices[op] = rng:below(#t)
  local time = run(devices)
  if time <= best then best = time else devices[op] = before end
end
print(string.format("%d moves:    %s", calls, berth.format(best, "seconds")))
print(string.format("no faster than %s", berth.format(berth.bounds(c).best, "seconds")))
