-- Can an agent learn, in a few hundred episodes, to place a graph better than its teacher, the list
-- scheduler? Three products of blocks, each block needed in two places; two devices; transfers cost
-- as much as an op.
local berth = require "berth"

local ops, edges = {}, {}
for layer = 0, 2 do
  for k = 1, 4 do
    ops[#ops + 1] = { name = ("product%d.%d"):format(layer, k), seconds = 4 }
    if layer > 0 then
      local above = (layer - 1) * 4
      edges[#edges + 1] = { above + k, #ops, 3 }
      edges[#edges + 1] = { above + (k + 1) % 4 + 1, #ops, 3 }
    end
  end
end
local g = assert(berth.graph { name = "blocks", ops = ops, edges = edges })
local t = berth.topology.mesh(2, { bandwidth = 1 })
local judge = { preset = "doppler" }

local agent = berth.agents.doppler { hidden = 16, inner = 16, rounds = 2, seed = 1 }
local report = assert(agent:train({ { graph = g, topology = t, judge = judge } },
  { stages = { { stage = "I", episodes = 80 }, { stage = "II", episodes = 400 } } }))

local function time(p) return berth.format(assert(berth.simulate(g, t, p, judge)).makespan, "seconds") end
print(agent)
print(("%.0f episodes, %.0f simulator calls"):format(report.episodes, report.calls))
print("critical path: " .. time(assert(berth.place(g, t, "critical-path", { seed = 1 }))))
print("agent:         " .. time(assert(berth.place(g, t, agent))))
print("best seen:     " .. time(report.tasks[1].placement))
