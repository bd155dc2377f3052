-- Random graphs, topologies and placements for property tests.
--
-- The generator is its own (a 31-bit Lehmer sequence), so that nothing of what is tested decides
-- the inputs.
local random_graph = {}

function random_graph.source(seed)
  local state = seed % 2147483646 + 1
  local function below(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
  for _ = 1, 5 do below(2) end
  return below
end

--- @param opts n ops, fan_in, memory (true: parameters and workspace), groups, zero (share of
-- zero-cost ops in %)
function random_graph.describe(seed, opts)
  local below = random_graph.source(seed)
  local ops, tensors = {}, {}
  for i = 1, opts.n do
    local zero = below(100) <= (opts.zero or 0)
    ops[i] = {
      seconds = zero and 0 or below(1000) / 100,
      params = opts.memory and below(50) or 0,
      workspace = opts.memory and below(20) or 0,
    }
    if opts.groups and below(4) == 1 then ops[i].group = below(opts.groups) end
  end
  for i = 2, opts.n do
    for _ = 1, below(opts.fan_in or 3) - 1 do
      local from = below(i - 1)
      local tensor
      for _, t in ipairs(tensors) do
        if t.from == from and below(2) == 1 then tensor = t end
      end
      local twice = false
      for _, to in ipairs(tensor and tensor.to or {}) do twice = twice or to == i end
      if tensor and not twice then
        table.insert(tensor.to, i)
      elseif not tensor then
        tensors[#tensors + 1] = { from = from, to = { i },
          bytes = below(100) <= (opts.zero or 0) and 0 or below(900) }
      end
    end
  end
  return { ops = ops, tensors = tensors }
end

function random_graph.placement(seed, n, devices)
  local below = random_graph.source(seed + 77)
  local p = {}
  for i = 1, n do p[i] = below(devices) end
  return p
end

return random_graph
