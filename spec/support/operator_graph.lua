-- A training graph of the dnn-partitioning set as Baechi's published step times took it.
--
-- op time = max(1, trunc(1000 fpgaLatency)) us, transfer = round(1000 cost) us once per
-- destination, one tensor per producer, persistent = size, no other output, colour classes and
-- CPUs ignored. Returns graph and topology (a link of 1 byte/us). A name with a slash is a path
-- below the set's folder.
local berth = require "berth"
local shared = require "support.shared"

return function(name)
  local path = name:find("/") and name or "throughput-inputs/OperatorGraphs/" .. name
  local file = shared.json("data/msr-fiddle/" .. path .. ".json")
  local ops, tensors, position, made = {}, {}, {}, {}
  for i, node in ipairs(file.nodes) do
    position[node.id] = i
    ops[i] = { seconds = math.max(1, math.floor(1000 * node.fpgaLatency)) * 1e-6,
      params = node.size }
  end
  for _, edge in ipairs(file.edges) do
    local from = position[edge.sourceId]
    if not made[from] then
      made[from] = { from = from, to = {}, resident = 0,
        bytes = math.floor(1000 * edge.cost + 0.5) }
      tensors[#tensors + 1] = made[from]
    end
    table.insert(made[from].to, position[edge.destId])
  end
  return assert(berth.graph { ops = ops, tensors = tensors }),
    berth.topology.mesh(file.maxFPGAs, { bandwidth = 1e6, memory = file.maxSizePerFPGA })
end
