-- Small graphs and topologies that the answers are about.
local berth = require "berth"

local graphs = {}

--- A random graph of n ops with parameters, workspace, fan-out, and a colocation group now and then.
function graphs.random(seed, n, opts)
  opts = opts or {}
  local rng, ops, tensors = berth.rng(seed), {}, {}
  for i = 1, n do
    ops[i] = { name = "op" .. i, kind = rng:uniform() < 0.5 and "matmul" or "add", seconds = rng:below(1000) / 100,
      params = rng:below(50), workspace = rng:below(20), group = opts.groups and rng:below(6) == 1 and rng:below(3) or nil }
  end
  for i = 1, n - 1 do
    local to, seen = {}, {}
    for _ = 1, rng:below(3) do
      local j = i + rng:below(math.min(n - i, opts.reach or n))
      if not seen[j] then to[#to + 1], seen[j] = j, true end
    end
    table.sort(to)
    tensors[i] = { from = i, to = to, bytes = rng:below(900) }
  end
  return assert(berth.graph { name = "random" .. seed, ops = ops, tensors = tensors })
end

--- Layers on two devices whose gradients are summed by collectives.
function graphs.reduced(kinds)
  local ops, edges, collectives = {}, {}, {}
  for k, kind in ipairs(kinds) do
    local first = #ops
    for d = 1, 3 do
      ops[first + d] = { name = ("l%d.%d"):format(k, d), seconds = 0.5 * k + 0.1 * d, pin = d }
      if k > 1 then edges[#edges + 1] = { first - 3 + d, first + d, 100 * d } end
    end
    ops[first + 4] = { name = "update" .. k, seconds = 0.3 }
    collectives[k] = { kind = kind, bytes = 600 * k, members = { first + 1, first + 2, first + 3 }, consumers = { first + 4 } }
  end
  return assert(berth.graph { name = "reduced", ops = ops, edges = edges, collectives = collectives })
end

--- Two chains of layers joined at the end, with a backward pass.
function graphs.training(layers)
  local ops, edges = {}, {}
  for k = 1, layers do
    ops[k] = { name = "layer" .. k, seconds = 1e-3 * (1 + k % 3), params = 1e6 * k }
    if k > 2 then edges[#edges + 1] = { k - 2, k, 2e5 * (1 + k % 4) } end
  end
  edges[#edges + 1] = { layers - 1, layers, 3e5 }
  local forward = assert(berth.graph { name = "training", ops = ops, edges = edges })
  return (assert(forward:mirror { ratio = 2, gradients = "output" }))
end

graphs.mesh = berth.topology.mesh(3, { bandwidth = 100, latency = 0.5, memory = 5000 })
graphs.mixed = berth.topology {
  name = "mixed",
  devices = { { type = "cpu", speed = 0.5, memory = 9000 }, { type = "gpu", memory = 4500 }, { type = "gpu",
    speed = 2, memory = 3500 },
    { type = "gpu", speed = 1.5, memory = 4000, machine = 2 } },
  switches = { "s", "r" },
  links = { { "d0", "s", bandwidth = 80, latency = 1 }, { "d1", "s", bandwidth = 150 }, { "d2", "s", bandwidth = 150 },
    { "s", "r", bandwidth = 60, latency = 0.2 }, { "r", "d3", bandwidth = 200 } },
}
graphs.v100 = berth.topology.mesh(3, { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" })

--- { name, graph, topology } for most placers.
graphs.cases = {
  { "loose", graphs.random(1, 24), graphs.mesh },
  { "groups", graphs.random(2, 30, { groups = true, reach = 8 }), graphs.mixed },
  { "twins", graphs.training(9), berth.topology.two_level(2, 2, { bandwidth = "1 GB/s", between_bandwidth = "300 MB/s",
    latency = "20 us", memory = "1 GB" }) },
  { "zoo", (assert(berth.models.build("gnmt", { batch = 8, seq = 4, granularity = "layer" }))), graphs.v100 },
}

return graphs
