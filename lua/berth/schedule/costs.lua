--- Costs of a pipeline's stages or layers from a file, or from a graph that is cut into stages.
local options = require "berth.base.options"
local sort = require "berth.base.sort"
local text = require "berth.schedule.costs_text"

local costs = {}

local FN = "berth.schedule.costs"

options.declare("schedule.costs", {
  { key = "backward", type = "number", default = "1",
    text = "s of B, times that of F; for graphs without a backward pass" },
  { key = "weight", type = "number", default = "1",
    text = "s of W, likewise; with a backward pass: the share of it that is W, default 0.5" },
})

-- ---- from a graph -------------------------------------------------------------------------------

local function zeros(n)
  local out = {}
  for i = 1, n do out[i] = 0 end
  return out
end

-- [op] its stage: devices in the order of the mean place of their forward ops.
local function stages_of(cost, device, n)
  local sum, count, used, place = zeros(n), zeros(n), {}, {}
  for i, op in ipairs(cost.graph:topo_order()) do place[op] = i end
  for op in cost.graph:ops() do
    local d = device[op.id]
    if not op.backward and not op.update then
      sum[d], count[d] = sum[d] + place[op.id], count[d] + 1
    end
  end
  for d = 1, n do
    if count[d] > 0 then
      used[#used + 1], sum[d] = d, sum[d] / count[d]
    end
  end
  sort.rising(used, sum)
  local stage, out = {}, {}
  for s, d in ipairs(used) do stage[d] = s end
  for op in cost.graph:ops() do
    out[op.id] = stage[device[op.id]]
    options.refuse(not out[op.id] and not op.update, "%s: split: device %d has no forward op", FN,
      device[op.id])
  end
  return out, used
end

-- s that each stage has: forward, backward.
local function sum_ops(cost, stage, used)
  local out = { forward = zeros(#used), backward = zeros(#used), any = false }
  for op in cost.graph:ops() do
    local key, s = op.backward and "backward" or "forward", stage[op.id]
    if not op.update then out[key][s] = out[key][s] + cost:op(op.id, used[s]) end
    out.any = out.any or op.backward == true
  end
  return out
end

-- The slower direction between each stage and the next, and the bytes that forward ops leave.
local function sum_tensors(cost, stage, used)
  local down, up, held, backward = zeros(#used), zeros(#used), zeros(#used), {}
  for op in cost.graph:ops() do backward[op.id] = op.backward or op.update end
  for tensor in cost.graph:tensors() do
    local from, seen = stage[tensor.from], {}
    if not backward[tensor.from] then held[from] = held[from] + tensor.bytes end
    for _, consumer in ipairs(tensor.to) do
      local to = stage[consumer]
      if from and to and not seen[to] and math.abs(to - from) == 1 then
        local list, i = to > from and down or up, math.min(from, to)
        list[i] = list[i] + cost:transfer(tensor.id, used[from], used[to])
        seen[to] = true
      end
    end
  end
  local p2p = {}
  for i = 1, #used - 1 do p2p[i] = math.max(down[i], up[i]) end
  return p2p, held
end

local function from_graph(cost, split, given)
  local device = type(split) == "table" and split.placement or split
  local stage, used = stages_of(cost, device, #cost.topology)
  local n, sum = #used, sum_ops(cost, stage, used)
  local p2p, held = sum_tensors(cost, stage, used)
  local out = { forward = sum.forward, backward = {}, weight = {}, activations = held,
    p2p = n > 1 and p2p or nil }
  local b, w = given.backward or 1, given.weight or (sum.any and 0.5 or 1)
  options.refuse(sum.any and (given.backward or w > 1),
    "%s: the graph has a backward pass: weight is its share, and backward means nothing", FN)
  for d = 1, n do
    local base = sum.any and sum.backward[d] or sum.forward[d]
    out.backward[d] = sum.any and base * (1 - w) or base * b
    out.weight[d] = base * w
    if out.activations[d] == 0 then out.activations[d] = 1 end
  end
  return out
end

--- Costs by stage or chunk, or by layer: for the option `costs` of berth.schedule.make.
-- (path): a CSV with a head, a row a stage, chunk or layer. (graph, topology, split, opts): of the
-- devices of berth.split or a placement, which are the stages; what crosses to the next is p2p.
-- @usage c = berth.schedule.costs(g, t, berth.split(g, t))
-- @treturn[1] table forward, backward, weight (s), p2p, activations (bytes of a graph), extra; or
--  layers
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function costs.of(first, ...)
  if type(first) == "string" then return text.read(first) end
  local cost, rest, code = options.priced(FN, 2, first, ...)
  if not cost then return nil, rest, code end
  options.refuse(rest[1] == nil, "%s: split: expected what berth.split gives, or a placement", FN)
  return from_graph(cost, rest[1], options.read(FN, "schedule.costs", rest[2]))
end

return costs
