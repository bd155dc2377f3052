-- Flat annealing, the yardstick for learned policies at equal calls: no units, one op at a time, to a random device or to that
-- of a neighbour, from a list-scheduled start.
local berth = require "berth"

local flat = {}

-- Ops that share a tensor with each op.
local function neighbours(graph)
  local of = {}
  for op = 1, #graph do of[op] = {} end
  for tensor in graph:tensors() do
    for _, consumer in ipairs(tensor.to) do
      table.insert(of[tensor.from], consumer)
      table.insert(of[consumer], tensor.from)
    end
  end
  return of
end

-- Another device than that of op; nil: the neighbour is already there.
local function move(rng, op, devices, near, most)
  if #near[op] > 0 and rng:uniform() < 0.5 then
    local device = devices[near[op][rng:below(#near[op])]]
    if device ~= devices[op] then return device end
  end
  return 1 + (devices[op] - 1 + rng:below(most - 1)) % most
end

--- @tparam graph judge
-- @tparam table opts calls, seed, t_start, t_end (parts of the start's value)
-- @treturn number least makespan
function flat.anneal(judge, topology, opts)
  local rng, near = berth.rng(opts.seed), neighbours(judge)
  local start = assert(berth.place(judge, topology, "critical-path", { seed = opts.seed }))
  local devices = start:devices()
  local tries, value = assert(berth.tries(judge, topology, start, { preset = "doppler" }))
  local best, n, most = value, #devices, #topology
  local t_start, t_end = (opts.t_start or 0.02) * value, (opts.t_end or 1e-4) * value
  for call = 2, opts.calls do
    local temperature = t_start * (t_end / t_start) ^ (call / opts.calls)
    local op = rng:below(n)
    local device = move(rng, op, devices, near, most)
    local limit = value - temperature * math.log(rng:uniform())
    local made = assert(tries:try({ [op] = device }, limit))
    if made <= limit then
      assert(tries:accept())
      devices[op], value = device, made
      best = math.min(best, value)
    end
  end
  return best
end

return flat
