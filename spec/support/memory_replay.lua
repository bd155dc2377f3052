-- What every device holds at every instant of a schedule, from the definitions of the memory policies alone: an array of things
-- that are held from one time to another, and sums over it. Shares nothing with the simulator's accountant.
local replay = {}

-- The later of two twins in a topological order is the backward one.
local function backward_twin_of(g)
  local place, twin = {}, {}
  for k, op in ipairs(g:topo_order()) do place[op] = k end
  for op in g:ops() do
    if op.twin and place[op.twin] > place[op.id] then twin[op.id] = op.twin end
  end
  return twin
end

local function latest(a, b) return math.max(a, b or 0) end

-- Until when each tensor stays on each device, by the readers there, and for "training" by what their twins need.
local function home_until(s, tensor)
  local r, home = s.r, s.r.device[tensor.from]
  local till = r.finish[tensor.from]
  if s.training then till = latest(till, s.twin[tensor.from] and r.finish[s.twin[tensor.from]]) end
  for _, to in ipairs(tensor.to) do
    if r.device[to] == home then
      till = latest(till, r.finish[to])
      if s.training then till = latest(till, s.twin[to] and r.finish[s.twin[to]]) end
    end
  end
  for _, x in ipairs(s.sends[tensor.id] or {}) do till = latest(till, x.finish) end
  return till
end
local function copy_until(s, tensor, device)
  local r, till = s.r, 0
  for _, to in ipairs(tensor.to) do
    if r.device[to] == device then
      till = latest(till, r.finish[to])
      if s.training then till = latest(till, s.twin[to] and r.finish[s.twin[to]]) end
    end
  end
  return till
end

local function things(g, r, policy, multiple)
  local s = { r = r, training = policy == "training", twin = backward_twin_of(g), sends = {} }
  local held = {}
  local function hold(device, from, till, bytes)
    if policy == "total" then till = math.huge end
    if bytes > 0 then held[#held + 1] = { device = device, from = from, till = till, bytes = bytes } end
  end
  for _, x in ipairs(r.transfers) do
    s.sends[x.tensor] = s.sends[x.tensor] or {}
    table.insert(s.sends[x.tensor], x)
  end
  for op in g:ops() do
    local device = r.device[op.id]
    if op.params > 0 then
      held[#held + 1] = { device = device, from = -math.huge, till = math.huge, bytes = op.params * multiple }
    end
    if op.workspace > 0 then
      held[#held + 1] = { device = device, from = r.start[op.id], till = r.finish[op.id], bytes = op.workspace }
    end
  end
  for tensor in g:tensors() do
    hold(r.device[tensor.from], r.start[tensor.from], home_until(s, tensor), tensor.resident)
    for _, x in ipairs(s.sends[tensor.id] or {}) do hold(x.to, x.start, copy_until(s, tensor, x.to), tensor.resident) end
  end
  return held
end

--- Largest number of bytes on each device. What is held from a to b counts at a <= t < b, and at a if b is a. The most is held
-- at an instant at which something begins, or from the beginning on.
-- @param r result of a simulation: start, finish, device, transfers
function replay.peaks(g, t, r, policy, multiple)
  local held, peaks = things(g, r, policy, multiple or 1), {}
  local function counts(x, time) return x.from <= time and (time < x.till or (x.till == x.from and x.from == time)) end
  local function at(device, time)
    local sum = 0
    for _, x in ipairs(held) do
      if x.device == device and counts(x, time) then sum = sum + x.bytes end
    end
    return sum
  end
  for device = 1, #t do peaks[device] = at(device, -math.huge) end
  for _, x in ipairs(held) do peaks[x.device] = math.max(peaks[x.device], at(x.device, x.from)) end
  return peaks
end

return replay
