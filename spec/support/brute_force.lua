-- Exhaustive answers on graphs of few ops, on devices all alike, links free. Takes descriptions as for berth.graph, ids only.
local brute = {}

local function inputs_of(description)
  local inputs = {}
  for i = 1, #description.ops do inputs[i] = {} end
  for _, tensor in ipairs(description.tensors) do
    for _, to in ipairs(tensor.to) do table.insert(inputs[to], tensor) end
  end
  return inputs
end

-- Longest path of op times from each op on, the op included.
local function tails(description)
  local tail, consumers = {}, {}
  for i = 1, #description.ops do consumers[i] = {} end
  for _, tensor in ipairs(description.tensors) do
    for _, to in ipairs(tensor.to) do table.insert(consumers[tensor.from], to) end
  end
  local function of(op)
    if not tail[op] then
      local longest = 0
      for _, to in ipairs(consumers[op]) do longest = math.max(longest, of(to)) end
      tail[op] = longest + description.ops[op].seconds
    end
    return tail[op]
  end
  for i = 1, #description.ops do of(i) end
  return tail
end

--- Bytes that a placement puts on each device when nothing is ever freed: parameters, outputs, a copy of each tensor on each
-- other device that reads it, and the largest workspace.
function brute.held(description, device, devices, multiple)
  local held, workspace = {}, {}
  for d = 1, devices do held[d], workspace[d] = 0, 0 end
  for i, op in ipairs(description.ops) do
    held[device[i]] = held[device[i]] + (op.params or 0) * (multiple or 1)
    workspace[device[i]] = math.max(workspace[device[i]], op.workspace or 0)
  end
  for _, tensor in ipairs(description.tensors) do
    local there = { [device[tensor.from]] = true }
    for _, to in ipairs(tensor.to) do there[device[to]] = true end
    for d in pairs(there) do held[d] = held[d] + (tensor.resident or tensor.bytes) end
  end
  for d = 1, devices do held[d] = held[d] + workspace[d] end
  return held
end

local function keeps_groups(description, device)
  local home = {}
  for i, op in ipairs(description.ops) do
    if op.group then
      home[op.group] = home[op.group] or device[i]
      if home[op.group] ~= device[i] then return false end
    end
  end
  return true
end

local function fits(description, device, devices, memory)
  if not memory then return true end
  for _, bytes in ipairs(brute.held(description, device, devices)) do
    if bytes > memory then return false end
  end
  return true
end

--- Calls visit(device) for every placement that keeps groups and, with `memory` (bytes of each device), never holds more; devices
-- are alike, so only those placements are visited that take them in the order of their numbers.
function brute.each_placement(description, devices, memory, visit)
  local device, n = {}, #description.ops
  local function extend(op, used)
    if op > n then
      if keeps_groups(description, device) and fits(description, device, devices, memory) then visit(device) end
      return
    end
    for d = 1, math.min(used + 1, devices) do
      device[op] = d
      extend(op + 1, math.max(used, d))
    end
    device[op] = nil
  end
  extend(1, 0)
end

--- Is there a placement that never holds more than `memory`, whatever the order?
function brute.packs(description, devices, memory)
  local found = false
  brute.each_placement(description, devices, memory, function() found = true end)
  return found
end

-- Every order of the ops, each as early as its device and inputs allow; gives up a branch that cannot beat `best`.
local function best_order(s, device, best)
  local n, finish, free = s.n, {}, {}
  for d = 1, s.devices do free[d] = 0 end
  local function start_of(op)
    local start = free[device[op]]
    for _, tensor in ipairs(s.inputs[op]) do
      local done = finish[tensor.from]
      if not done then return nil end
      if device[tensor.from] ~= device[op] then done = done + s.latency + tensor.bytes / s.bandwidth end
      if done > start then start = done end
    end
    return start
  end
  local function extend(placed, last)
    if placed == n then
      best = math.min(best, last)
      return
    end
    for op = 1, n do
      local start = not finish[op] and start_of(op)
      if start and start + s.tail[op] < best then
        local before = free[device[op]]
        finish[op] = start + s.description.ops[op].seconds
        free[device[op]] = finish[op]
        extend(placed + 1, math.max(last, finish[op]))
        finish[op], free[device[op]] = nil, before
      end
    end
  end
  extend(0, 0)
  return best
end

--- Least makespan of all placements and orders; math.huge if none fits.
-- @param opts devices, bandwidth, latency (0), memory (bytes of each device under policy "total"; nil: none)
function brute.optimum(description, opts)
  local s = {
    description = description, n = #description.ops, inputs = inputs_of(description), tail = tails(description),
    devices = opts.devices, bandwidth = opts.bandwidth, latency = opts.latency or 0,
  }
  local best = math.huge
  brute.each_placement(description, opts.devices, opts.memory, function(device) best = best_order(s, device, best) end)
  return best
end

return brute
