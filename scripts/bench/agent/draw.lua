-- Random graphs and topologies: those on which the shipped agent is trained (draw.training), and
-- pairs of a model of the zoo and a topology, which it has not seen (draw.fresh).
local berth = require "berth"
local nets = require "agent.nets"
local draw = {}

local function pick(rng, list) return list[rng:below(#list)] end
local function chance(rng, p) return rng:uniform() < p end
local function between(rng, low, high) return low - 1 + rng:below(high - low + 1) end
local function spread(rng, low, high) return low * (high / low) ^ rng:uniform() end

-- ---- graphs from parts --------------------------------------------------------------------------

-- A description that grows: op(seconds, inputs, bytes) returns an op; inputs are ops.
local function sketch()
  local s = { ops = {}, tensors = {} }
  function s.op(seconds, inputs, bytes, params)
    local id = #s.ops + 1
    s.ops[id] = { seconds = seconds, params = params or 0 }
    s.tensors[id] = { from = id, to = {}, bytes = bytes }
    for _, from in ipairs(inputs) do table.insert(s.tensors[from].to, id) end
    return id
  end
  function s.graph()
    return assert(berth.graph { name = "drawn", ops = s.ops, tensors = s.tensors })
  end
  return s
end

local function lognormal(rng, mean, deviation)
  return mean * math.exp(deviation * rng:normal())
end

-- Layers of ops that read one to three ops of the layers before.
local function layered(rng)
  local s, width, layers = sketch(), between(rng, 2, 16), between(rng, 4, 24)
  local bytes, before, deviation = spread(rng, 1e5, 3e7), {}, 0.2 + 0.8 * rng:uniform()
  for _ = 1, layers do
    local layer = {}
    for k = 1, chance(rng, 0.3) and between(rng, 1, width) or width do
      local inputs, seen = {}, {}
      for _ = 1, #before > 0 and between(rng, 1, 3) or 0 do
        local from = pick(rng, before)
        if not seen[from] then inputs[#inputs + 1] = from end
        seen[from] = true
      end
      layer[k] = s.op(lognormal(rng, 1e-3, deviation), inputs, lognormal(rng, bytes, 1), 1e6)
    end
    before = layer
  end
  return s.graph()
end

-- Cells of a recurrent network, layers by steps, whose outputs a second one attends to.
local function recurrent(rng)
  local s, layers, steps = sketch(), between(rng, 1, 4), between(rng, 3, 14)
  local seconds, bytes, attends = spread(rng, 1e-4, 2e-3), spread(rng, 1e4, 4e6), chance(rng, 0.6)
  local function grid(inputs, attended)
    local row = inputs
    for layer = 1, layers do
      local out, last = {}, nil
      for step = 1, steps do
        local reads = { row[step] }
        if last then reads[#reads + 1] = last end
        if attended and layer == 1 then
          reads[#reads + 1] = s.op(seconds * 0.3, { last or row[step], attended }, bytes)
        end
        last = s.op(lognormal(rng, seconds, 0.1), reads, bytes, step == 1 and 4e6 or 0)
        out[step] = last
      end
      row = out
    end
    return row
  end
  local words = {}
  for step = 1, steps do words[step] = s.op(seconds * 0.05, {}, bytes) end
  local row = grid(words)
  if attends then
    local memory = s.op(seconds * 0.2, row, bytes * steps)
    for step = 1, steps do words[step] = s.op(seconds * 0.05, {}, bytes) end
    row = grid(words, memory)
  end
  local output = seconds * spread(rng, 0.2, 4)
  local scores = {}
  for step = 1, steps do scores[step] = s.op(output, { row[step] }, bytes, step == 1 and 2e7 or 0) end
  s.op(seconds * 0.1, scores, 4)
  return s.graph()
end

-- Modules of several branches, as in convolutional networks.
local function branched(rng)
  local s, seconds, bytes = sketch(), spread(rng, 2e-4, 2e-3), spread(rng, 1e5, 3e7)
  local x = s.op(seconds, {}, bytes, 1e6)
  for _ = 1, between(rng, 3, 10) do
    local ends, width = {}, between(rng, 1, 6)
    for branch = 1, width do
      local y = x
      for _ = 1, between(rng, 1, 4) do
        y = s.op(lognormal(rng, seconds / width ^ 0.5, 0.6), { y }, lognormal(rng, bytes / width, 0.3), 1e6)
      end
      ends[branch] = y
    end
    if width == 1 and chance(rng, 0.6) then ends[2] = x end
    x = s.op(seconds * 0.1, ends, bytes)
    if chance(rng, 0.3) then bytes, seconds = bytes / 2, seconds * 1.2 end
  end
  s.op(seconds * 0.1, { x }, 4)
  return s.graph()
end

-- The backward pass: of each op one, or two of which one gives the gradient of the parameters.
local function trained(rng, g)
  if chance(rng, 0.5) then return (g:mirror { ratio = 1 + rng:uniform() }) end
  local s, back, readers, order = sketch(), {}, {}, {}
  for op in g:ops() do
    readers[op.id] = {}
    order[#order + 1] = op
  end
  for k = 1, g.n_tensors do
    local tensor = g:tensor(k)
    for _, to in ipairs(tensor.to) do table.insert(readers[tensor.from], to) end
  end
  local inputs, bytes = {}, {}
  for _, op in ipairs(order) do inputs[op.id] = {} end
  for k = 1, g.n_tensors do
    local tensor = g:tensor(k)
    bytes[tensor.from] = tensor.bytes
    for _, to in ipairs(tensor.to) do table.insert(inputs[to], tensor.from) end
  end
  for _, op in ipairs(order) do s.op(op.seconds, inputs[op.id], bytes[op.id] or 4, op.params) end
  for i = #order, 1, -1 do
    local op = order[i]
    local reads = { op.id }
    for _, to in ipairs(readers[op.id]) do reads[#reads + 1] = back[to] end
    back[op.id] = s.op(op.seconds, reads, bytes[op.id] or 4)
    if op.params > 0 then s.op(op.seconds, reads, op.params) end
  end
  return s.graph()
end

-- ---- topologies ---------------------------------------------------------------------------------

local PRESETS = { "V100", "V100", "A100", "P100", "T4" }
local COUNTS = { 2, 3, 4, 4, 4, 6, 8, 8, 12, 16 }

-- Unequal speeds: some devices at a half, by the generator's own form with parts.
local function uneven(rng, n, preset, bandwidth)
  local devices, links = {}, {}
  for d = 1, n do
    devices[d] = { preset = preset, speed = chance(rng, 0.5) and 1 or 0.5 }
    for e = 1, d - 1 do links[#links + 1] = { e, d, bandwidth = bandwidth, latency = "5 us" } end
  end
  return assert(berth.topology { name = "uneven mesh", devices = devices, links = links })
end

--- A topology of 2 to 16 devices and the discipline of its links.
-- @param memory bytes of a device; nil: of the preset
function draw.topology(rng, memory)
  local n, preset = pick(rng, COUNTS), pick(rng, PRESETS)
  local o = { preset = preset, memory = memory, bandwidth = spread(rng, 1e10, 1.5e11), latency = "5 us" }
  local links = pick(rng, { "duplex", "duplex", "duplex", "duplex", "free", "channel", "pair", "fair" })
  local kind = rng:uniform()
  if kind < 0.45 then return berth.topology.mesh(n, o), links end
  if kind < 0.55 then return uneven(rng, n, preset, o.bandwidth), links end
  if kind < 0.65 then return berth.topology.star(n, o), links end
  if kind < 0.72 then return berth.topology.ring(n, o), links end
  if kind < 0.8 then
    o.up_bandwidth = o.bandwidth
    return berth.topology.pcie_tree(n, o), links
  end
  local machines = between(rng, 2, 4)
  o.between_bandwidth, o.between_latency = o.bandwidth / spread(rng, 2, 20), "20 us"
  return berth.topology.two_level(machines, math.max(1, math.floor(n / machines + 0.5)), o), links
end

-- ---- pairs --------------------------------------------------------------------------------------

-- Memory of a device: half of the pairs have that of the preset, a fifth little.
local function memory_for(rng, g)
  if not chance(rng, 0.2) then return nil end
  local sum = 0
  for op in g:ops() do sum = sum + op.params end
  for k = 1, g.n_tensors do sum = sum + g:tensor(k).bytes end
  return math.max(1, sum * spread(rng, 0.15, 1))
end

local function sketched(rng, kind)
  local g = kind < 0.82 and layered(rng) or kind < 0.92 and recurrent(rng) or branched(rng)
  return chance(rng, 0.8) and trained(rng, g) or g
end

local function graph(rng)
  local kind = rng:uniform()
  if kind < 0.65 then return nets.graph(rng) end
  if kind >= 0.75 then return sketched(rng, kind) end
  return assert(berth.models.random { seed = rng:below(2 ^ 30), granularity = pick(rng, { "op", "op", "layer" }) })
end

--- A random graph and topology to train on: graph, topology, links.
function draw.training(seed)
  local rng = berth.rng(seed, 1)
  local g = graph(rng)
  local t, links = draw.topology(rng, memory_for(rng, g))
  return g, t, links
end

local ZOO = {
  function(rng)
    return pick(rng, { "resnet18", "resnet34", "resnet50", "resnet101" }), { batch = pick(rng, { 16, 32, 64, 96 }) }
  end,
  function(rng) return "inception_v3", { batch = pick(rng, { 16, 32, 64 }) } end,
  function(rng) return pick(rng, { "vgg11", "vgg16", "vgg19" }), { batch = pick(rng, { 16, 32, 64 }) } end,
  function(rng)
    return pick(rng, { "bert-base", "bert-large" }), { layers = between(rng, 3, 12), batch = pick(rng, { 4, 8, 16, 32 }),
      seq = pick(rng, { 64, 128, 256 }) }
  end,
  function(rng)
    return "transformer", { layers = between(rng, 2, 6), batch = pick(rng, { 8, 16, 32, 64 }), seq = pick(rng, { 32, 64, 128 }) }
  end,
  function(rng)
    return "gnmt", { layers = between(rng, 2, 5), batch = pick(rng, { 32, 64, 128 }), seq = between(rng, 8, 24) }
  end,
  function(rng)
    return "rnnlm", { layers = between(rng, 2, 4), batch = pick(rng, { 16, 32, 64 }), seq = between(rng, 10, 35) }
  end,
  function(rng) return "llama-7b", { layers = between(rng, 2, 5), seq = pick(rng, { 256, 512, 1024 }) } end,
}

--- The k-th pair of a seed: graph, topology, links, a description. Models of the zoo with drawn
-- sizes, one training step.
function draw.fresh(seed, k)
  local rng = berth.rng(seed, 1000 + k)
  local name, o = ZOO[(k - 1) % #ZOO + 1](rng)
  local g = assert(berth.models.build(name, o))
  local t, links = draw.topology(rng, memory_for(rng, g))
  local text = ("%s, batch %d"):format(name, o.batch or 1)
  return g, t, links, text
end

return draw
