-- Does the executed placement take the simulated time? Products in two branches, on threads with
-- copies as slow as the links.
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

-- Paced: ops sleep through most of their time. The exact times depend on the machine and its load,
-- so this prints statements that hold for any of them.
local ex = assert(berth.executor(g, t, { mode = "paced", scale = 1 }))
local sums
for _, x in ipairs(placements) do
  local r = assert(ex:run(x[2], { repeats = 3 }))
  local s = berth.simulate(g, t, x[2], ex.simulation)
  local least = math.max(s.busy[1], s.busy[2])
  sums = sums or table.concat(r.checksums)
  print(("%-14s simulated %s, %d transfers; executed: as many: %s, at least %s: %s, results as on one thread: %s"):format(x[1],
    berth.format(s.makespan, "seconds"), #s.transfers, #r.transfers == #s.transfers, berth.format(least, "seconds"),
    r.makespan >= least - 1e-6, not r.wrong and table.concat(r.checksums) == sums))
end

-- The simulator with op times as they were measured.
local g2 = assert(ex:calibrate { runs = 3, repeats = 3 })
local longer = 0
for i = 1, #g do longer = longer + (g2:op(i).seconds >= g:op(i).seconds - 1e-9 and 1 or 0) end
print(("calibrated: %d of %d ops take at least their time"):format(longer, #g))
ex:close()
