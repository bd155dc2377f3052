-- Random graphs in whole microseconds and bytes, for berth.graph and for sct_reference.
--
-- A tensor of c bytes crosses in c us.
local random_graph = require "support.random_graph"

local whole = {}

local function add_tensor(graph, from, to, below, opts)
  local bytes = below(opts.transfer or 12) - (opts.free_edges and 1 or 0)
  table.insert(graph.tensors,
    { from = from, to = to, bytes = bytes, resident = opts.sizes and below(opts.sizes) - 1 or 0 })
end

-- Each op reads up to opts.fan_in earlier ones, once each.
local function add_inputs(graph, op, below, opts)
  local taken = {}
  for _ = 1, below(opts.fan_in or 3) - (below(6) == 1 and 1 or 0) do
    local from = math.max(1, op - below(opts.reach or 8))
    if from < op and not taken[from] then
      taken[from] = true
      local mine = graph.outputs[from]
      if opts.shared and #mine > 0 and below(2) == 1 then
        table.insert(mine[#mine].to, op)
      else
        for _ = 1, opts.bundles and below(2) or 1 do
          add_tensor(graph, from, { op }, below, opts)
          table.insert(mine, graph.tensors[#graph.tensors])
        end
      end
    end
  end
end

--- @param opts n; fan_in, reach, transfer (largest, us), time (largest, us); sizes (largest output,
-- bytes), parameters, workspace (largest, bytes); groups (how many); shared (some tensors have
-- several readers); bundles (several tensors for one pair)
function whole.graph(seed, opts)
  local below = random_graph.source(seed)
  local graph = { ops = {}, tensors = {}, outputs = {} }
  for i = 1, opts.n do
    graph.outputs[i] = {}
    graph.ops[i] = {
      seconds = below(opts.time or 10) * 1e-6,
      params = opts.parameters and below(opts.parameters) - 1 or 0,
      workspace = opts.workspace and below(opts.workspace) - 1 or 0,
      group = opts.groups and below(3) == 1 and below(opts.groups) or nil,
    }
    if i > 1 then add_inputs(graph, i, below, opts) end
  end
  graph.outputs = nil
  return graph
end

function whole.case(graph, memory, network)
  local ops, tensors = {}, {}
  for i, o in ipairs(graph.ops) do
    ops[i] = { time = math.floor(o.seconds * 1e6 + 0.5), persistent = o.params,
      temporary = o.workspace, group = o.group }
  end
  for k, t in ipairs(graph.tensors) do
    tensors[k] = { from = t.from, to = t.to, time = t.bytes, bytes = t.resident }
  end
  return { ops = ops, tensors = tensors, memory = memory, network = network,
    account = network == "queue" and "tf" or "pt" }
end

--- Bytes of all parameters and outputs, and the largest need of one op.
function whole.sizes(graph)
  local total, largest, own = 0, 0, {}
  for i, o in ipairs(graph.ops) do own[i] = o.params end
  for _, t in ipairs(graph.tensors) do own[t.from] = own[t.from] + t.resident end
  for i, o in ipairs(graph.ops) do
    total, largest = total + own[i], math.max(largest, own[i] + o.workspace)
  end
  return total, largest
end

--- A matching of children to parents, some of them: array with false for none, as the library takes
-- it, and a map.
function whole.favourites(seed, graph, share)
  local below = random_graph.source(seed + 991)
  local array, map, taken = {}, {}, {}
  for i = 1, #graph.ops do array[i] = false end
  local pairs_ = {}
  for _, t in ipairs(graph.tensors) do
    for _, to in ipairs(t.to) do pairs_[#pairs_ + 1] = { t.from, to } end
  end
  for i = #pairs_, 2, -1 do
    local j = below(i)
    pairs_[i], pairs_[j] = pairs_[j], pairs_[i]
  end
  for _, pair in ipairs(pairs_) do
    if not map[pair[1]] and not taken[pair[2]] and below(100) <= share then
      array[pair[1]], map[pair[1]], taken[pair[2]] = pair[2], pair[2], true
    end
  end
  return array, map
end

return whole
