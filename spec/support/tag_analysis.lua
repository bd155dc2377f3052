-- Random networks with sparse updates, constants, values without batch; one output per op.
local random_graph = require "support.random_graph"

local tag_analysis = {}

local middle = { "Conv2D", "Relu", "MatMul", "Add", "MatMul:transpose_a", "Frob" }

--- Ops as { kind, reads = { ops before it, rising } }: an input, variables, constants, middle ops,
-- and an update for each variable.
function tag_analysis.network(seed, n)
  local below = random_graph.source(seed)
  local ops = { { kind = "Placeholder", reads = {} } }
  local variables = below(4)
  for i = 1, variables do ops[1 + i] = { kind = "VariableV2", reads = {} } end
  ops[#ops + 1] = { kind = "Const", reads = {} }
  local first = #ops + 1
  for i = first, first + n - 1 do
    local reads, seen = {}, {}
    for _ = 1, below(2) do
      seen[below(3) == 1 and below(i - 1) or math.max(1, i - below(3))] = true
    end
    for k = 1, i - 1 do reads[#reads + 1] = seen[k] and k or nil end
    ops[i] = { kind = middle[below(#middle)], reads = reads }
  end
  for v = 2, 1 + variables do -- a gradient of its own for each update
    ops[#ops + 1] = { kind = "Relu", reads = { 1, first + below(n) - 1 } }
    ops[#ops + 1] = { kind = below(3) == 1 and "ScatterSub" or "ApplyGradientDescent",
      reads = { v, #ops } }
  end
  return ops
end

--- The same for berth.graph: one tensor of 4 bytes for each op that is read. @param batch random
-- times and bytes per sample
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
    if readers[i] then
      tensors[#tensors + 1] = { from = i, to = readers[i],
        bytes = batch and batch * below(500) * 100 or 4 }
    end
  end
  return { ops = ops, tensors = tensors }
end

return tag_analysis
