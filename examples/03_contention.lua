-- Does it matter how transfers share the links when placements are compared?
local berth = require "berth"

-- Placed as if transfers did not contend; then run with more and more contention.
local g = berth.models.transformer { batch = 32 }
local t = berth.topology.star(4, { preset = "V100", bandwidth = "16 GB/s", latency = "5 us" })
local names = { "single", "blevel", "cpop", "heft", "metis" }

local placements = {}
for i, name in ipairs(names) do placements[i] = assert(berth.place(g, t, name)) end

for _, links in ipairs { "free", "pair", "duplex", "channel" } do
  local rows = {}
  for i, name in ipairs(names) do
    rows[i] = { name = name, time = assert(berth.simulate(g, t, placements[i], { links = links })).makespan }
  end
  table.sort(rows, function(a, b) return a.time < b.time end)
  local line = {}
  for i, row in ipairs(rows) do line[i] = string.format("%s %s", row.name, berth.format(row.time, "seconds")) end
  print(string.format("%-8s %s", links, table.concat(line, " < ")))
end
