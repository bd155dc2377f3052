-- The published Baechi placers m-ETF and m-SCT, as their loop reads, without the library.
--
-- Every step looks at every ready op on every device. Times are whole quanta, bytes whole numbers.
--
-- local r = sct.place { ops = { { time, persistent, temporary, group } },
--                       tensors = { { from, to = {...}, time, bytes } },
--                       memory = { per device }, network = "queue" | "parallel",
--                       account = "tf" | "pt", favourite = { [op] = op } }
-- r.device, r.start, r.finish, r.makespan; or r.stuck: true, when ops are left that fit nowhere;
-- r.crash: an urgent op that has no start time on the device that chose it, where the published
--   program ends with an error
--
-- With `favourite` nil it is m-ETF.
local sct = {}

local jit = rawget(_G, "jit")
-- thousands of traces, made and thrown away, would cost more than they save
if jit then jit.off(true, true) end

-- ---- the graph: one edge for each pair (producer, consumer), with the list

local function edges_of(case)
  local inward, outward, pair = {}, {}, {}
  for i = 1, #case.ops do inward[i], outward[i] = {}, {} end
  for k, tensor in ipairs(case.tensors) do
    for _, to in ipairs(tensor.to) do
      local key = tensor.from .. ">" .. to
      local edge = pair[key]
      if not edge then
        edge = { from = tensor.from, to = to, tensors = {} }
        pair[key] = edge
        table.insert(inward[to], edge)
        table.insert(outward[tensor.from], edge)
      end
      table.insert(edge.tensors, k)
    end
  end
  return inward, outward
end

-- First in, first out; children in out-edge order when their last parent is taken.
local function topological_numbers(n, inward, outward)
  local left, queue, number = {}, {}, {}
  for i = 1, n do
    left[i] = #inward[i]
    if left[i] == 0 then queue[#queue + 1] = i end
  end
  local head = 1
  while head <= #queue do
    local op = queue[head]
    number[op] = head
    head = head + 1
    for _, edge in ipairs(outward[op]) do
      left[edge.to] = left[edge.to] - 1
      if left[edge.to] == 0 then queue[#queue + 1] = edge.to end
    end
  end
  return number
end

-- ---- transfers ------------------------------------------------------------

local network = {}

-- One half-duplex channel per device. The sender's window and the receiver's need not coincide.
network.queue = {
  move = function(channel, produced, seconds, from, to)
    local send = math.max(produced, channel[from])
    local receive = math.max(send, channel[to])
    return receive + seconds, send + seconds, receive + seconds
  end,
  estimate = function(s, edge, d)
    local sum, seen = 0, s.finish[edge.from]
    local missing = false
    for _, k in ipairs(edge.tensors) do
      local there = s.arrival[k][d]
      if there then
        seen = math.max(seen, there)
      else
        sum, missing = sum + s.case.tensors[k].time, true
      end
    end
    if not missing then return seen end
    return math.max(seen,
      (network.queue.move(s.channel, s.finish[edge.from], sum, s.device[edge.from], d)))
  end,
  commit = function(s, edge, k, d)
    local from = s.device[edge.from]
    local arrival, sent, received = network.queue.move(s.channel, s.finish[edge.from],
      s.case.tensors[k].time, from, d)
    s.channel[from], s.channel[d] = sent, received
    return arrival
  end,
}

network.parallel = {
  estimate = function(s, edge, d)
    local latest = 0
    for _, k in ipairs(edge.tensors) do
      latest = math.max(latest, s.arrival[k][d] or s.finish[edge.from] + s.case.tensors[k].time)
    end
    return latest
  end,
  commit = function(s, edge, k) return s.finish[edge.from] + s.case.tensors[k].time end,
}

local function ready_at(s, op, d)
  local latest = 0
  for _, edge in ipairs(s.inward[op]) do
    if s.device[edge.from] == d then
      latest = math.max(latest, s.finish[edge.from])
    else
      latest = math.max(latest, s.network.estimate(s, edge, d))
    end
  end
  return latest
end

-- Brings the inputs of op to d, for good; when are all of them there?
local function fetch(s, op, d)
  local latest = 0
  for _, edge in ipairs(s.inward[op]) do
    if s.device[edge.from] == d then
      latest = math.max(latest, s.finish[edge.from])
    else
      for _, k in ipairs(edge.tensors) do
        if not s.arrival[k][d] then s.arrival[k][d] = s.network.commit(s, edge, k, d) end
        latest = math.max(latest, s.arrival[k][d])
      end
    end
  end
  return latest
end

-- ---- memory ---------------------------------------------------------------

local function output_bytes(s, op)
  local sum = 0
  for _, tensor in ipairs(s.case.tensors) do
    if tensor.from == op then sum = sum + tensor.bytes end
  end
  return sum
end

local account = {}

-- Outputs go when the last consumer has been scheduled; copies on other devices are not charged.
account.tf = {
  fits = function(s, op, d)
    local o = s.case.ops[op]
    local free = s.case.memory[d] - s.used[d]
    if o.group and not s.bound[o.group] then
      local sum = 0
      for _, other in ipairs(s.case.ops) do
        if other.group == o.group then sum = sum + other.persistent end
      end
      if sum > free then return false end
    end
    return o.temporary + output_bytes(s, op) + o.persistent <= free
  end,
  -- what an op that is picked as urgent is tested for
  fits_alone = function(s, op, d)
    local o = s.case.ops[op]
    return o.temporary + output_bytes(s, op) + o.persistent <= s.case.memory[d] - s.used[d]
  end,
  charge = function(s, op, d)
    s.used[d] = s.used[d] + output_bytes(s, op) + s.case.ops[op].persistent
    for _, edge in ipairs(s.inward[op]) do
      s.unread[edge.from] = s.unread[edge.from] - 1
      if s.unread[edge.from] == 0 then
        local home = s.device[edge.from]
        s.used[home] = s.used[home] - output_bytes(s, edge.from)
      end
    end
  end,
}

-- Nothing is freed; every edge from another device brings its own copy.
local function arriving_bytes(s, op, d)
  local sum = 0
  for _, edge in ipairs(s.inward[op]) do
    if s.device[edge.from] ~= d then
      for _, k in ipairs(edge.tensors) do
        sum = sum + s.case.tensors[k].bytes
      end
    end
  end
  return sum
end

account.pt = {
  fits = function(s, op, d)
    local o, limit, arriving = s.case.ops[op], s.case.memory[d], arriving_bytes(s, op, d)
    local permanent = o.persistent + output_bytes(s, op)
    return s.used[d] + arriving + permanent + o.temporary <= limit
      and s.peak[d] + arriving + o.persistent <= limit
  end,
  charge = function(s, op, d, arriving)
    local o = s.case.ops[op]
    local permanent = o.persistent + output_bytes(s, op)
    s.peak[d] = math.max(s.peak[d], s.used[d] + permanent + o.temporary)
    s.used[d] = s.used[d] + permanent
    s.peak[d] = math.max(s.peak[d], s.used[d] + arriving)
    s.used[d] = s.used[d] + arriving
  end,
}
account.pt.fits_alone = account.pt.fits

-- ---- estimates ------------------------------------------------------------

local function bound_elsewhere(s, op, d)
  local group = s.case.ops[op].group
  return group and s.bound[group] and s.bound[group] ~= d
end

-- Earliest start, or nil.
local function est(s, op, d)
  if bound_elsewhere(s, op, d) or not s.account.fits(s, op, d) then return nil end
  return math.max(ready_at(s, op, d), s.free[d])
end

local function urgent_time(s, op)
  local latest
  for d = 1, s.devices do
    local e = est(s, op, d)
    if e then latest = math.max(latest or 0, e) end
  end
  return latest or math.huge
end

local function most_urgent(s, d)
  local best, least
  for op = 1, s.n do
    if s.ready[op] and not bound_elsewhere(s, op, d) and s.account.fits_alone(s, op, d) then
      local at = urgent_time(s, op)
      if not best or at < least or (at == least and s.number[op] < s.number[best]) then
        best, least = op, at
      end
    end
  end
  return best, least or math.huge
end

-- The favourite that d would wait for, and when it could start there; nil: d is free.
local function awaited(s, d)
  local child = s.last[d] and s.case.favourite and s.case.favourite[s.last[d]]
  if not child or not s.ready[child] then return nil end
  local here = est(s, child, d)
  if not here then return nil end
  for other = 1, s.devices do
    local e = est(s, child, other)
    if e and e < here then return nil end
  end
  return child, here
end

-- What an idle device would start now, or when it looks again.
local function choice_when_free(s, d)
  local best, wake
  for op = 1, s.n do
    if s.ready[op] then
      local e = est(s, op, d)
      if e and e <= s.t then
        if not best or s.number[op] < s.number[best] then best = op end
      elseif e then
        wake = math.min(wake or e, e)
      end
    end
  end
  return best, wake
end
local function choice(s, d)
  local child, here = awaited(s, d)
  if not child then return choice_when_free(s, d) end
  local urgent, at = most_urgent(s, d)
  if urgent and at <= s.t then return urgent end
  if here <= s.t then return child end
  return nil, math.min(here, at)
end

-- ---- the loop -------------------------------------------------------------

local function finish_what_ends(s)
  for d = 1, s.devices do
    if s.running[d] and s.free[d] == s.t then
      for _, edge in ipairs(s.outward[s.running[d]]) do
        s.left[edge.to] = s.left[edge.to] - 1
        if s.left[edge.to] == 0 then s.ready[edge.to] = true end
      end
      s.running[d] = nil
    end
    s.free[d] = math.max(s.free[d], s.t)
  end
end

local function run(s, op, d)
  local arriving = arriving_bytes(s, op, d)
  local there = fetch(s, op, d)
  s.start[op] = math.max(s.free[d], there)
  s.finish[op] = s.start[op] + s.case.ops[op].time
  s.device[op], s.free[d], s.running[d], s.last[d] = d, s.finish[op], op, op
  s.account.charge(s, op, d, arriving)
  if s.case.ops[op].group then s.bound[s.case.ops[op].group] = d end
  s.ready[op] = nil
  s.placed = s.placed + 1
end

-- Of what the idle devices would start, the smallest topological number; the first device on ties.
local function start_one(s)
  local best, on
  for d = 1, s.devices do
    if not s.running[d] then
      local op = choice(s, d)
      if op and (not best or s.number[op] < s.number[best]) then best, on = op, d end
    end
  end
  if not best then return false end
  if not est(s, best, on) then
    s.crash = true
    return false
  end
  run(s, best, on)
  return true
end

local function next_time(s)
  local least
  for d = 1, s.devices do
    local at
    if s.running[d] then
      at = s.free[d]
    else
      at = select(2, choice(s, d))
    end
    if at then least = math.min(least or at, at) end
  end
  if least == math.huge then return nil end
  return least
end

local function begin(case)
  local s = {
    case = case, n = #case.ops, devices = #case.memory, t = 0, placed = 0,
    network = network[case.network],
    account = account[case.account], ready = {}, left = {}, unread = {}, arrival = {}, device = {},
    start = {}, finish = {},
    bound = {}, free = {}, channel = {}, running = {}, last = {}, used = {}, peak = {},
  }
  s.inward, s.outward = edges_of(case)
  s.number = topological_numbers(s.n, s.inward, s.outward)
  for i = 1, s.n do
    s.left[i], s.unread[i] = #s.inward[i], #s.outward[i]
    s.ready[i] = s.left[i] == 0 or nil
  end
  for k = 1, #case.tensors do s.arrival[k] = {} end
  for d = 1, s.devices do s.free[d], s.channel[d], s.used[d], s.peak[d] = 0, 0, 0, 0 end
  return s
end

function sct.place(case)
  local s = begin(case)
  local makespan = 0
  while true do
    finish_what_ends(s)
    repeat until not start_one(s)
    if s.crash then return { crash = true } end
    local t = next_time(s)
    if not t then break end
    assert(t > s.t, "time stands still")
    s.t = t
  end
  if s.placed < s.n then return { stuck = true } end
  for i = 1, s.n do makespan = math.max(makespan, s.finish[i]) end
  return { device = s.device, start = s.start, finish = s.finish, makespan = makespan,
    used = s.used, peak = s.peak }
end

return sct
