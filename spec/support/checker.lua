-- An independent judge of schedules. It knows graphs, topologies and results only through their public fields, prices ops and
-- transfers by the plain definitions, and shares no code with the simulator or the placers.
--
--   local faults = checker.check(g, t, r, { links = "duplex" })     -- empty: the schedule is sound
local checker = {}

local EPSILON = 1e-9

local function close_or_before(a, b) return a <= b + EPSILON * math.max(1, math.abs(a), math.abs(b)) end
local function close(a, b) return close_or_before(a, b) and close_or_before(b, a) end

local function op_seconds(g, t, op, device)
  local o, d = g:op(op), t:device(device)
  local seconds = o.seconds
  if type(seconds) == "table" then
    for k, name in ipairs(g.types) do
      if name == d.type then return seconds[k] / d.speed end
    end
    return nil
  end
  if seconds then return seconds / d.speed end
  local compute = o.flop > 0 and o.flop / d.flops or 0
  local moved = o.bytes > 0 and o.bytes / d.memory_bandwidth or 0
  if compute == 0 and moved == 0 then return 0 end
  return math.max(compute, moved) / d.speed + d.overhead
end

local function transfer_seconds(t, bytes, from, to)
  local bandwidth, latency = t:path(from, to)
  return latency + bytes / bandwidth
end

-- Intervals { start, finish, text } must not overlap.
local function check_exclusive(faults, intervals, what)
  table.sort(intervals, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local reached, holder = -math.huge, nil
  for _, i in ipairs(intervals) do
    if i[2] > i[1] then
      if not close_or_before(reached, i[1]) then
        faults[#faults + 1] = ("%s: %s starts at %.17g, but %s holds it until %.17g"):format(what, i[3], i[1], holder, reached)
      end
      if i[2] > reached then reached, holder = i[2], i[3] end
    end
  end
end

local function check_ops(faults, g, t, r)
  local on = {}
  local last = 0
  for op = 1, #g do
    local device, start, finish = r.device[op], r.start[op], r.finish[op]
    if not (start >= 0 and finish >= start) then faults[#faults + 1] = ("op %d runs from %s to %s"):format(op, start, finish) end
    local seconds = op_seconds(g, t, op, device)
    if not close(finish - start, seconds) then
      faults[#faults + 1] = ("op %d takes %.17g s, not %.17g"):format(op, finish - start, seconds)
    end
    on[device] = on[device] or {}
    if not g:op(op).communication then table.insert(on[device], { start, finish, "op " .. op }) end
    last = math.max(last, finish)
  end
  for device = 1, #t do check_exclusive(faults, on[device] or {}, "device " .. device) end
  if not close(last, r.makespan) then faults[#faults + 1] = ("makespan %.17g, last finish %.17g"):format(r.makespan, last) end
end

-- Every tensor crosses once to each device that reads it, after it was produced, before it is read, for its own time.
local function check_transfers(faults, g, t, r)
  local arrival = {}
  for k, x in ipairs(r.transfers) do
    local tensor = g:tensor(x.tensor)
    local key = x.tensor .. ">" .. x.to
    if arrival[key] then faults[#faults + 1] = ("tensor %d goes twice to device %d"):format(x.tensor, x.to) end
    arrival[key] = x.finish
    if x.from ~= r.device[tensor.from] then faults[#faults + 1] = ("transfer %d leaves from device %d"):format(k, x.from) end
    if not close_or_before(r.finish[tensor.from], x.start) then
      faults[#faults + 1] = ("transfer %d starts before tensor %d exists"):format(k, x.tensor)
    end
    local seconds = transfer_seconds(t, tensor.bytes, x.from, x.to)
    if not close(x.finish - x.start, seconds) then
      faults[#faults + 1] = ("transfer %d takes %.17g s, not %.17g"):format(k, x.finish - x.start, seconds)
    end
  end
  for tensor in g:tensors() do
    for _, consumer in ipairs(tensor.to) do
      local from, to = r.device[tensor.from], r.device[consumer]
      local there = from == to and r.finish[tensor.from] or arrival[tensor.id .. ">" .. to]
      if not there then
        faults[#faults + 1] = ("tensor %d never reaches device %d"):format(tensor.id, to)
      elseif not close_or_before(there, r.start[consumer]) then
        local text = "op %d starts at %.17g, its tensor %d is there at %.17g"
        faults[#faults + 1] = text:format(consumer, r.start[consumer], tensor.id, there)
      end
    end
  end
end

local channels = {
  channel = function(x) return { "channel of device " .. x.from, "channel of device " .. x.to } end,
  duplex = function(x) return { "way out of device " .. x.from, "way into device " .. x.to } end,
  pair = function(x) return { "way from " .. x.from .. " to " .. x.to } end,
}

local function check_links(faults, r, links)
  if not channels[links] then return end
  local used, names = {}, {}
  for k, x in ipairs(r.transfers) do
    for _, name in ipairs(channels[links](x)) do
      if not used[name] then
        used[name] = {}
        names[#names + 1] = name
      end
      table.insert(used[name], { x.start, x.finish, "transfer " .. k })
    end
  end
  for _, name in ipairs(names) do check_exclusive(faults, used[name], name) end
end

-- Communication ops wait for nothing; no device idles while another op whose inputs are there waits for it (push, any dispatch
-- but planned).
local function check_work_conserving(faults, g, r)
  local ready, beside = {}, {}
  local arrival = {}
  for op = 1, #g do beside[op] = g:op(op).communication end
  for _, x in ipairs(r.transfers) do arrival[x.tensor .. ">" .. x.to] = x.finish end
  for op = 1, #g do ready[op] = 0 end
  for tensor in g:tensors() do
    for _, consumer in ipairs(tensor.to) do
      local there = arrival[tensor.id .. ">" .. r.device[consumer]]
      if r.device[tensor.from] == r.device[consumer] then there = r.finish[tensor.from] end
      ready[consumer] = math.max(ready[consumer], there or 0)
    end
  end
  for op = 1, #g do
    local idle = r.start[op] - ready[op]
    for other = 1, #g do
      if other ~= op and r.device[other] == r.device[op] and not beside[op] and not beside[other] then
        idle = idle - math.max(0, math.min(r.finish[other], r.start[op]) - math.max(r.start[other], ready[op]))
      end
    end
    if idle > EPSILON * math.max(1, r.makespan) then
      faults[#faults + 1] = ("device %d idles %.17g s while op %d waits"):format(r.device[op], idle, op)
    end
  end
end

local function check_sums(faults, g, t, r)
  for device = 1, #t do
    local busy = 0
    for op = 1, #g do
      if r.device[op] == device and not g:op(op).communication then busy = busy + r.finish[op] - r.start[op] end
    end
    if not close(busy, r.busy[device]) then
      faults[#faults + 1] = ("device %d: busy %.17g s, not %.17g"):format(device, r.busy[device], busy)
    end
  end
end

-- Peak memory by replaying the schedule: policies "total" and "inference". What is held from a to b counts at a <= t < b, and at
-- a if b is a: of one instant first goes what ends, then comes what starts, then goes what did both.
local function peak_memory(g, t, r, policy, multiple)
  local events, base = {}, {}
  for device = 1, #t do
    events[device], base[device] = {}, 0
  end
  local function hold(device, from, till, bytes)
    if bytes <= 0 then return end
    table.insert(events[device], { from, 1, bytes })
    if till then table.insert(events[device], { till, till == from and 2 or 0, -bytes }) end
  end
  for op = 1, #g do
    local o = g:op(op)
    base[r.device[op]] = base[r.device[op]] + o.params * multiple
    hold(r.device[op], r.start[op], r.finish[op], o.workspace)
  end
  local sends = {}
  for _, x in ipairs(r.transfers) do
    sends[x.tensor] = sends[x.tensor] or {}
    table.insert(sends[x.tensor], x)
  end
  for tensor in g:tensors() do
    local last = {} -- per device: when its last reader ends
    for _, consumer in ipairs(tensor.to) do
      local device = r.device[consumer]
      last[device] = math.max(last[device] or 0, r.finish[consumer])
    end
    local home = r.device[tensor.from]
    local till = math.max(last[home] or 0, r.finish[tensor.from])
    for _, x in ipairs(sends[tensor.id] or {}) do
      till = math.max(till, x.finish)
      hold(x.to, x.start, policy == "inference" and last[x.to] or nil, tensor.resident)
    end
    hold(home, r.start[tensor.from], policy == "inference" and till or nil, tensor.resident)
  end
  local peaks = {}
  for device = 1, #t do
    table.sort(events[device], function(a, b)
      if a[1] ~= b[1] then return a[1] < b[1] end
      return a[2] < b[2]
    end)
    local held = base[device]
    peaks[device] = held
    for _, e in ipairs(events[device]) do
      held = held + e[3]
      peaks[device] = math.max(peaks[device], held)
    end
  end
  return peaks
end
checker.peak_memory = peak_memory

--- @param opts links, dispatch, send, memory, param_multiple as given to the simulator
function checker.check(g, t, r, opts)
  opts = opts or {}
  local faults = {}
  check_ops(faults, g, t, r)
  check_transfers(faults, g, t, r)
  check_links(faults, r, opts.links or "free")
  check_sums(faults, g, t, r)
  if (opts.send or "push") == "push" and opts.dispatch ~= "planned" then check_work_conserving(faults, g, r) end
  if opts.memory == "total" or opts.memory == "inference" then
    local peaks = peak_memory(g, t, r, opts.memory, opts.param_multiple or 1)
    for device = 1, #t do
      if not close(peaks[device], r.peak_memory[device]) then
        faults[#faults + 1] = ("device %d: peak %.17g bytes, not %.17g"):format(device, r.peak_memory[device], peaks[device])
      end
    end
  end
  return faults
end

return checker
