-- How good is a user-defined placement rule, compared with the built-in ones?
local berth = require "berth"

local g = berth.models.inception_v3 { batch = 16 }
local t = berth.topology.mesh(4, { preset = "P100", bandwidth = "12 GB/s", latency = "10 us" })

-- Longest remaining path first; on the device where the op starts first, but stay with the producer when waiting is cheap.
local tolerance = 200e-6
local stay = {
  name = "stay",
  prepare = function(_, cost) return cost.graph:b_level { cost = cost } end,
  device = function(op, est, plan)
    local best = 1
    for d = 2, #est do if est[d] < est[best] then best = d end end
    local before = g:predecessors(op)[1]
    local home = before and plan:device_of(before)
    return home and est[home] <= est[best] + tolerance and home or best
  end,
}

print(berth.compare(g, t, { "single", "etf", "heft", stay }, { links = "duplex" }))
