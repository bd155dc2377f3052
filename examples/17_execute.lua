-- Does a placement run for real as the simulator says? Products in two branches, on threads with copies as slow as the links.
local berth = require "berth"

-- a splits into two branches of four products each, whose results are added up
local ops, edges = { { name = "a", kind = "fill", seconds = 1e-3 } }, {}
for branch = 1, 2 do
  for k = 1, 4 do
    ops[#ops + 1] = { name = ("product %d.%d"):format(branch, k), kind = "matmul", seconds = 4e-3 }
    edges[#edges + 1] = { k == 1 and 1 or #ops - 1, #ops, 1e6 }
  end
end
ops[#ops + 1] = { name = "sum", kind = "add", seconds = 1e-3 }
edges[#edges + 1], edges[#edges + 2] = { 5, #ops, 1e6 }, { 9, #ops, 1e6 }
local g = berth.graph { ops = ops, edges = edges }
local t = berth.topology.mesh(2, { bandwidth = "500 MB/s" })   -- 2 ms for a tensor

local placements = {
  { "one device", { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
  { "a branch each", { 1, 1, 1, 1, 1, 2, 2, 2, 2, 1 } },
  { "to and fro", { 1, 2, 1, 2, 1, 2, 1, 2, 1, 2 } },
}

-- Paced: ops sleep through most of their time, so that this holds on a busy machine, too; so does the least of several times.
local ex = assert(berth.executor(g, t, { mode = "paced", scale = 1 }))
local g2, t2 = assert(ex:calibrate { runs = 3, repeats = 3, quantile = 0 })
local simulated, measured, sums = {}, {}, nil
for i, x in ipairs(placements) do
  local r = assert(ex:run(x[2], { repeats = 7 }))
  table.sort(r.times)
  simulated[i], measured[i] = berth.simulate(g2, t2, x[2], ex.simulation).makespan, r.times[1]
  local floor = berth.simulate(g, t, x[2], ex.simulation).makespan
  sums = sums or table.concat(r.checksums)
  print(("%-14s %d transfers, at least %s: %s, results as on one thread: %s"):format(x[1], #r.transfers,
    berth.format(floor, "seconds"), r.makespan >= floor - 1e-6, not r.wrong and table.concat(r.checksums) == sums))
end
ex:close()

local function fastest(list)
  local best = 1
  for i = 2, #list do best = list[i] < list[best] and i or best end
  return placements[best][1]
end
print("fastest by the simulator: " .. fastest(simulated))
print("fastest as measured:      " .. fastest(measured))
