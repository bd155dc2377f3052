-- Training steps of docs/how-good.md that hold a model several times: micro-batches, and replicas.
local berth = require "berth"
local copies = {}

local function shifted(id, by) return id and id + by end

local function shifted_all(ids, by)
  local out = {}
  for i, id in ipairs(ids) do out[i] = id + by end
  return out
end

-- A field set to false is removed.
local function changed(object, fields)
  object.id = nil
  for key, value in pairs(fields) do object[key] = value or nil end
  return object
end

-- Which ops update parameters; they are last, and no op reads them.
local function updates(g)
  local is, n = {}, 0
  for op in g:ops() do
    is[op.id] = op.update
    n = n + (op.update and 1 or 0)
    assert(op.update or n == 0, "an update before other ops")
  end
  for t in g:tensors() do assert(not is[t.from], "an update that others read") end
  return is, n
end

-- ---- micro-batches --------------------------------------------------------------------------------------

local function passes(g, n, is_update, batch)
  local ops = {}
  for k = 0, n - 1 do
    for op in g:ops() do
      if not is_update[op.id] then
        ops[#ops + 1] = changed(op, { name = ("%s %d"):format(op.name, k + 1), twin = shifted(op.twin, k * batch) or false,
          params = k == 0 and op.params or 0 })
      end
    end
  end
  return ops
end

local function tensors_of_passes(g, n, is_update, batch)
  local tensors = {}
  for k = 0, n - 1 do
    for t in g:tensors() do
      local to = {}
      for i, id in ipairs(t.to) do to[i] = id + (is_update[id] and n - 1 or k) * batch end
      tensors[#tensors + 1] = changed(t, { from = t.from + k * batch, to = to })
    end
  end
  return tensors
end

--- Forward and backward passes of n micro-batches, in one step: the copies of an op share its parameters, hence its device, and
-- one update reads the gradients of all.
function copies.micro_batches(g, n)
  local is_update, n_updates = updates(g)
  local batch = #g - n_updates
  local ops = passes(g, n, is_update, batch)
  for op in g:ops() do
    if is_update[op.id] then ops[#ops + 1] = changed(op, { twin = false }) end
  end
  local tensors = tensors_of_passes(g, n, is_update, batch)
  return assert(berth.graph { name = g.name .. ", micro-batches", ops = ops, tensors = tensors })
end

-- ---- replicas -------------------------------------------------------------------------------------------

-- The types of the devices, in their order, and the first device of each.
local function types_of(t)
  local names, first = {}, {}
  for device in t:devices() do
    if not first[device.type] then
      names[#names + 1] = device.type
      first[device.type] = device.id
    end
  end
  return names, first
end

-- What the op takes on the devices of its replica's type; elsewhere it cannot run.
local function only_there(cost, op, t, replica)
  local names, first = types_of(t)
  local seconds = {}
  for i, name in ipairs(names) do seconds[i] = i == replica and cost:op(op.id, first[name]) or math.huge end
  return seconds
end

local function replica_of(g, t, cost, replica, ops)
  local by = (replica - 1) * #g
  for op in g:ops() do
    ops[#ops + 1] = changed(op, { name = ("%s %d"):format(op.name, replica), twin = shifted(op.twin, by) or false,
      group = shifted(op.group, (replica - 1) * g.n_groups) or false,
      seconds = only_there(cost, op, t, replica),
      flop = false, shape = false, bytes = false })
  end
end

-- The gradient's producers in all replicas, and what reads it there.
local function reduced(g, gradient, n)
  local members, consumers = {}, {}
  for replica = 1, n do
    members[replica] = gradient.from + (replica - 1) * #g
    for _, id in ipairs(gradient.to) do consumers[#consumers + 1] = id + (replica - 1) * #g end
  end
  return { kind = "allreduce", bytes = gradient.bytes, members = members, consumers = consumers }
end

--- A copy of a training step for each type of device, on which alone it runs; each gradient is summed over the copies, and only
-- then read by their updates.
function copies.data_parallel(g, t)
  local names, is_update, cost = types_of(t), updates(g), assert(berth.cost(g, t))
  local ops, tensors, collectives = {}, {}, {}
  for replica = 1, #names do replica_of(g, t, cost, replica, ops) end
  for replica = 1, #names do
    for tensor in g:tensors() do
      if not is_update[tensor.to[1]] then
        local by = (replica - 1) * #g
        tensors[#tensors + 1] = changed(tensor, { from = tensor.from + by, to = shifted_all(tensor.to, by) })
      end
    end
  end
  for tensor in g:tensors() do
    if is_update[tensor.to[1]] then collectives[#collectives + 1] = reduced(g, tensor, #names) end
  end
  return assert(berth.graph { name = g.name .. ", replicas", types = names, ops = ops, tensors = tensors,
    collectives = collectives })
end

return copies
