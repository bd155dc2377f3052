-- anneal on the DOPPLER graphs, costs as in the files: mean and least makespan over seeds, calls per CPU second.
-- lua scripts/bench/search.lua FOLDER [CALLS [SEEDS]]   FOLDER: that of the graph files
local berth = require "berth"

local folder, calls, seeds = arg[1], tonumber(arg[2] or 2000), tonumber(arg[3] or 10)
if not folder then
  io.stderr:write("usage: search.lua FOLDER [CALLS [SEEDS]]\n")
  os.exit(2)
end

local names = { "gdp_chain_mm_112nodes", "gdp_ffnn_192nodes", "gdp_transformer_block_215nodes",
  "gdp_full_transformer_layer_261nodes",
  "8gpu_transformer_block", "8gpu_full_transformer" }

local function cell(graph, devices)
  local t = berth.topology.mesh(devices, { bandwidth = 1 })
  local sum, least, start = 0, math.huge, os.clock()
  for seed = 1, seeds do
    local p = assert(berth.place(graph, t, "anneal", { calls = calls, seed = seed, threads = 1, judge = { preset = "doppler" } }))
    sum, least = sum + p.estimate, math.min(least, p.estimate)
  end
  return sum / seeds, least, calls * seeds / (os.clock() - start)
end

for _, name in ipairs(names) do
  local graph = assert(berth.load(("%s/%s.txt"):format(folder, name)))
  for _, devices in ipairs { 4, 8 } do
    print(("%-40s D=%d  mean %.6g  least %.6g  %.0f calls/s"):format(name, devices, cell(graph, devices)))
  end
end
