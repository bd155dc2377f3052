-- Data parallelism on two machines of four devices: an all-reduce of the gradients per layer, as
-- soon as its backward pass has ended. How much of the communication is exposed, and how long do
-- ring, tree and hierarchical all-reduce take on these links?
local berth = require "berth"

local LAYERS, DEVICES = 8, 8
local t = berth.topology.two_level(2, 4, { bandwidth = "25 GB/s", latency = "5 us",
  between_bandwidth = "10 GB/s", between_latency = "20 us" })

local ops, edges, collectives, devices = {}, {}, {}, {}
local function op(name, device, seconds)
  ops[#ops + 1] = { name = name, seconds = seconds }
  devices[#devices + 1] = device
  return #ops
end
local last = {}
for layer = LAYERS, 1, -1 do
  local members, updates = {}, {}
  for d = 1, DEVICES do
    members[d] = op("backward" .. layer, d, "4 ms")
    updates[d] = op("update" .. layer, d, "200 us")
    if last[d] then edges[#edges + 1] = { last[d], members[d], 0 } end
    last[d] = members[d]
  end
  collectives[#collectives + 1] = { kind = "allreduce", bytes = "40 MB", members = members, consumers = updates }
end
local g = assert(berth.graph { ops = ops, edges = edges, collectives = collectives })

local function ms(x) return ("%6.1f ms"):format(x * 1e3) end
local function show(name, r)
  print(("%-22s step %s, communication %s: %s exposed, %s overlapped"):format(name, ms(r.makespan), ms(r.communication),
    ms(r.exposed), ms(r.overlapped)))
end

for _, how in ipairs { "ring", "tree", "hierarchical" } do
  local cost = assert(berth.cost(g, t, { collective_algorithm = how }))
  show("priced, " .. how, assert(berth.simulate(cost, devices, { links = "fair" })))
  -- as transfers and communication ops, which run concurrently with computation
  local wide, where = assert(berth.expand(g, t, devices, { algorithm = how }))
  show("expanded, " .. how, assert(berth.simulate(wide, t, where, { links = "fair" })))
end
