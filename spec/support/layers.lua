--- A training graph where repeating the ops of one op group pays, but not of two.
local berth = require "berth"
local merged = require "support.merged"

local layers = {}

-- The AllReduce of layer 3 goes on beside the backward ops of layer 2; that of layer 1 has nothing
-- beside it.
local STACK = { { seconds = 2e-3, bytes = 4e6 }, { seconds = 40e-3, bytes = 10 },
  { seconds = 2e-3, bytes = 12e6 } }

local function add_ops(ops, name, x)
  ops[#ops + 1] = { name = name .. "/variable", kind = "Variable", seconds = 0, params = x.bytes }
  ops[#ops + 1] = { name = name, kind = "layer", seconds = x.seconds }
  ops[#ops + 1] = { name = name .. "/gradient", kind = "layer", seconds = x.seconds,
    backward = true }
  ops[#ops + 1] = { name = name .. "/back", kind = "layer", seconds = x.seconds, backward = true }
  ops[#ops + 1] = { name = name .. "/update", kind = "layer", seconds = x.seconds / 100,
    update = true }
end

local function add_tensors(tensors, k, x)
  local name = "layer" .. k
  local function add(from, to, bytes, more)
    local t = merged({ from = from, to = to, bytes = bytes }, more)
    tensors[#tensors + 1] = t
  end
  add(name .. "/variable", { name, name .. "/back", name .. "/update" }, x.bytes)
  add(k == 1 and "input" or "layer" .. k - 1, { name, name .. "/gradient" }, 1e4, { batch = true })
  add(name .. "/gradient", { name .. "/update" }, x.bytes, { gradient = true })
  add(k == #STACK and name or "layer" .. k + 1 .. "/back", { name .. "/gradient", name .. "/back" },
    1e4, { batch = true })
end

function layers.graph()
  local ops, tensors = { { name = "input", kind = "input", seconds = 0 } }, {}
  for k, x in ipairs(STACK) do
    add_ops(ops, "layer" .. k, x)
    add_tensors(tensors, k, x)
  end
  return berth.graph { ops = ops, tensors = tensors }
end

function layers.topology() return berth.topology.mesh(4, { bandwidth = "1 GB/s" }) end

--- With options: batch, one op group for each layer, all devices.
function layers.options(more)
  return merged({ batch = 16, op_groups = 4, sets = { { 1, 2, 3, 4 } },
    cost = { collective_bandwidth = 1 } }, more)
end

return layers
