-- How far is every placer from the best possible, and by which bound?
local berth = require "berth"

local g = berth.models.transformer { batch = 16, seq = 64, layers = 2 }
local t = berth.topology.mesh(4, { preset = "V100", bandwidth = "50 GB/s", latency = "5 us" })

print(berth.bounds(g, t))
print(berth.compare(g, t, nil, { links = "duplex", place = { seed = 1 } }))
