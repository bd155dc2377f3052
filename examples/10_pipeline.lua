-- Fewer, larger ops: how much placing time do they save, and how much step time do they cost?
local berth = require "berth"

local g = assert(berth.models.build("gnmt", { batch = 16, seq = 20 }))
local t = berth.topology.mesh(4, { preset = "V100", bandwidth = "16 GB/s", latency = "20 us" })

-- Transforms by name, with options. The placer follows them; its placement is simulated on the
-- original graph.
local up_to_1_ms = { "fuse", { scope = "all", max_seconds = "1 ms", cost = assert(berth.cost(g, t)) } }
local cases = {
  { "as it is" },
  { "co-placed", "coplace" },
  { "co-placed, fused", "coplace", "fuse" },
  { "the same, 8 ops at most", { "coplace", { max_ops = 8 } }, "fuse" },
  { "chains", "chains" },
  { "fused up to 1 ms", up_to_1_ms },
  { "forward ops only", "forward" },
  { "forward ops, co-placed", "forward", "coplace" },
}

-- The number of ops that are placed: transforms are also methods of graphs.
local function ops_left(case)
  local h = g
  for i = 2, #case do
    local name, options = case[i], nil
    if type(name) == "table" then name, options = name[1], name[2] end
    h = assert(h[name](h, options))
  end
  return #h
end

for _, case in ipairs(cases) do
  local stages = {}
  for i = 2, #case do stages[i - 1] = case[i] end
  stages[#case] = "m-etf"
  local p = assert(berth.place(g, t, berth.pipeline(stages), { links = "duplex" }))
  local r = assert(berth.simulate(g, t, p, { links = "duplex" }))
  print(string.format("%-24s %4.0f ops, step time %s, peak %s", case[1], ops_left(case), berth.format(r.makespan, "seconds"),
    berth.format(math.max(r.peak_memory[1], r.peak_memory[2], r.peak_memory[3], r.peak_memory[4]), "bytes")))
end
