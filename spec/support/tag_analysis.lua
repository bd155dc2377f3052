-- The analyser of TAG (batch flags, base groups) written down naively, and random networks for it. Every op has one output, which
-- is read in the order of makers; the first input that descends from the input decides, as berth departs from the paper.
local random_graph = require "support.random_graph"

local tag_analysis = {}

local rule = { Placeholder = "always", Conv2D = "always", Relu = "first", MatMul = "first", Add = "any" }
local middle = { "Conv2D", "Relu", "MatMul", "Add", "MatMul:transpose_a", "Frob" }
local update = { ApplyGradientDescent = "sum", ScatterSub = "rows" }

--- Ops as { kind, reads = { ops before it, rising } }: an input, variables, constants, middle ops, and an update for each
-- variable.
function tag_analysis.network(seed, n)
  local below = random_graph.source(seed)
  local ops = { { kind = "Placeholder", reads = {} } }
  local variables = below(4)
  for i = 1, variables do ops[1 + i] = { kind = "VariableV2", reads = {} } end
  ops[#ops + 1] = { kind = "Const", reads = {} }
  local first = #ops + 1
  for i = first, first + n - 1 do
    local reads, seen = {}, {}
    for _ = 1, below(2) do seen[below(3) == 1 and below(i - 1) or math.max(1, i - below(3))] = true end
    for k = 1, i - 1 do reads[#reads + 1] = seen[k] and k or nil end
    ops[i] = { kind = middle[below(#middle)], reads = reads }
  end
  for v = 2, 1 + variables do -- a gradient of its own for each update
    ops[#ops + 1] = { kind = "Relu", reads = { 1, first + below(n) - 1 } }
    ops[#ops + 1] = { kind = below(3) == 1 and "ScatterSub" or "ApplyGradientDescent", reads = { v, #ops } }
  end
  return ops
end

--- The same for berth.graph: one tensor of 4 bytes for each op that is read. @param batch random times and bytes per sample
function tag_analysis.describe(network, batch)
  local ops, tensors, readers, below = {}, {}, {}, random_graph.source(#network)
  for i, op in ipairs(network) do
    ops[i] = { kind = op.kind, seconds = batch and below(30) * 1e-3 or nil }
    for _, k in ipairs(op.reads) do
      readers[k] = readers[k] or {}
      table.insert(readers[k], i)
    end
  end
  for i = 1, #network do
    if readers[i] then tensors[#tensors + 1] = { from = i, to = readers[i], bytes = batch and batch * below(500) * 100 or 4 } end
  end
  return { ops = ops, tensors = tensors }
end

local function output_flag(op, flag, from_input)
  local how = rule[op.kind]
  if how == "always" then return true end
  for _, k in ipairs(op.reads) do
    if how == "any" and flag[k] then return true end
    if how == "first" and from_input[k] then return flag[k] end
  end
  return false
end

local function merge(group, a, b)
  local old, new = group[a], group[b]
  if not new then return end
  group[a] = new
  for i in pairs(group) do
    if old and group[i] == old then group[i] = new end
  end
end

local function seeds(network)
  local group = {}
  for i, op in ipairs(network) do
    if update[op.kind] then
      group[i] = i
      for _, k in ipairs(op.reads) do
        if network[k].kind == "VariableV2" then
          group[k] = group[k] or k
          merge(group, k, i)
        end
      end
    end
  end
  return group
end

--- Numbers in the order of the lowest op; without a group: one of its own.
local function numbered(group, n)
  local number, base, count = {}, {}, 0
  for i = 1, n do
    local key = group[i] or -i
    if not number[key] then
      count = count + 1
      number[key] = count
    end
    base[i] = number[key]
  end
  return base
end

--- @return arrays by op: flag of its output, from input, base group
function tag_analysis.reference(network)
  local flag, from_input = {}, {}
  for i, op in ipairs(network) do
    from_input[i] = op.kind == "Placeholder"
    for _, k in ipairs(op.reads) do from_input[i] = from_input[i] or from_input[k] end
    flag[i] = output_flag(op, flag, from_input)
  end
  for _, op in ipairs(network) do
    for _, k in ipairs(update[op.kind] and op.reads or {}) do
      if from_input[k] then flag[k] = update[op.kind] == "rows" end
    end
  end
  local group = seeds(network)
  for i, op in ipairs(network) do
    for _, k in ipairs(from_input[i] and op.reads or {}) do
      if not flag[k] and group[k] then
        group[i] = group[i] or i
        merge(group, i, k)
      end
    end
    if from_input[i] then group[i] = group[i] or i end
  end
  return flag, from_input, numbered(group, #network)
end

return tag_analysis
