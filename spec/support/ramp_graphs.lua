--- Random forward graphs, mirrored, for RAMP. Bytes are multiples of 576 = lcm of the products of
-- the piece counts used.
local berth = require "berth"

local graphs = {}

local TIMES = { 0, 1, 1, 2, 3, 5 }

-- opts: n, seconds (of a unit of time), bytes (of a unit of memory), physical (mirrored as physics
-- has it, not as published), batch (this share of the tensors have the batch)
function graphs.mirrored(rng, opts)
  local ops, tensors, n = {}, {}, opts.n
  local back = {}
  for v = 1, n do
    local time = TIMES[rng:below(#TIMES)]
    ops[v] = { name = "op" .. v, seconds = time * opts.seconds,
      params = 576 * (rng:below(5) - 1) * opts.bytes }
    back[v] = TIMES[rng:below(#TIMES)] * opts.seconds
    local to = {}
    for w = v + 1, n do
      if w == v + 1 and rng:below(4) > 1 or rng:below(4) == 1 then to[#to + 1] = w end
    end
    if #to > 0 and (v < n) then
      tensors[#tensors + 1] = { from = v, to = to, bytes = 576 * (rng:below(6) - 1) * opts.bytes,
        batch = opts.batch and rng:uniform() < opts.batch }
    end
  end
  local g = assert(berth.graph { ops = ops, tensors = tensors })
  if opts.physical then return (assert(g:mirror { seconds = back })) end
  return (assert(g:mirror { seconds = back, join = "last", gradients = "output",
    activations = false }))
end

--- A random order of 1..n.
function graphs.shuffled(rng, n)
  local order = {}
  for i = 1, n do order[i] = i end
  return rng:shuffle(order)
end

return graphs
