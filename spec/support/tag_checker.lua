-- Checks a compiled graph against the graph, the strategy and who owns which samples.
--
-- Shares nothing with what compiles: it looks at ops, tensors and collectives alone. As published
-- bytes of conversions are not looked at, and partial sums count as 1 / n.
local berth = require "berth"

local tag_checker = {}

local function fail(text, ...) error(text:format(...), 0) end

local function view(d, s, c, rules)
  local v = { d = d, c = c, graph = d.graph, replicas = {}, into = {}, action = {},
    collectives = {},
    analysis = berth.deploy.analyse(d.graph, rules and { rules = rules }) }
  v.role = v.analysis.role
  local actions, group_of = d:actions(), d:group_of()
  for i in ipairs(c.part) do v.into[i] = {} end
  for t in c.graph:tensors() do
    for _, to in ipairs(t.to) do table.insert(v.into[to], t) end
  end
  for op = 1, #d.graph do
    v.replicas[op] = {}
    v.action[op] = actions[s.action[group_of[op]]]
  end
  for i, part in ipairs(c.part) do
    if part == "replica" then table.insert(v.replicas[c.origin[i]], i) end
  end
  for k = 1, c.graph.n_collectives do v.collectives[k] = c.graph:collective(k) end
  return v
end

--- Kahn, collectives as nodes of their own.
local function acyclic(v)
  local waits, next_of, ready, seen = {}, {}, {}, 0
  local n = #v.c.part
  for i = 1, n + #v.collectives do waits[i], next_of[i] = 0, {} end
  local function edge(a, b)
    table.insert(next_of[a], b)
    waits[b] = waits[b] + 1
  end
  for t in v.c.graph:tensors() do
    for _, to in ipairs(t.to) do edge(t.from, to) end
  end
  for k, collective in ipairs(v.collectives) do
    for _, m in ipairs(collective.members) do edge(m, n + k) end
    for _, m in ipairs(collective.consumers or {}) do edge(n + k, m) end
  end
  for i = 1, #waits do
    if waits[i] == 0 then ready[#ready + 1] = i end
  end
  while #ready > 0 do
    local i = table.remove(ready)
    seen = seen + 1
    for _, j in ipairs(next_of[i]) do
      waits[j] = waits[j] - 1
      if waits[j] == 0 then ready[#ready + 1] = j end
    end
  end
  if seen < #waits then fail("a cycle: %d of %d nodes can run", seen, #waits) end
end

--- Every op on the devices of its action, once each, all pinned; samples add up, or are all of the
-- batch each.
local function work(v)
  for op = 1, #v.graph do
    local action, seen, sum, whole, input = v.action[op], {}, 0, true, v.role[op] == "input"
    local set, inside = v.d:sets()[action.set], {}
    for k, device in ipairs(set) do
      inside[device] = action.samples and action.samples[k] or true
    end
    for _, i in ipairs(v.replicas[op]) do
      local device, samples = v.c.devices[i], v.c.samples[i]
      if seen[device] then fail("op %d twice on device %d", op, device) end
      if v.c.graph:op(i).pin ~= device then fail("op %d is not pinned", i) end
      if not input and not inside[device] then
        fail("op %d on device %d, which is not of its set", op, device)
      end
      seen[device], sum, whole = true, sum + samples, whole and samples == v.d.batch
    end
    local count, wanted = #v.replicas[op], action.option == "split" and 1 or #set
    if not input and count ~= wanted then
      fail("op %d has %d replicas, not %d", op, count, wanted)
    end
    if not whole and sum ~= v.d.batch then fail("op %d: %d samples of %d", op, sum, v.d.batch) end
    for _, i in ipairs(not whole and not input and v.replicas[op] or {}) do
      if v.c.samples[i] ~= inside[v.c.devices[i]] then
        fail("op %d: %d samples", op, v.c.samples[i])
      end
    end
  end
end

local function is_whole(v, op)
  for _, i in ipairs(v.replicas[op]) do
    if v.c.samples[i] ~= v.d.batch then return false end
  end
  return true
end

--- Replicas of an op that a compiled op has something from through sums, concatenations and splits
-- of that tensor: [replica] = count.
local function sources(v, i, tensor, found)
  if v.c.part[i] == "replica" then
    found[i] = (found[i] or 0) + 1
    return found
  end
  for _, t in ipairs(v.into[i]) do
    if v.c.source[t.id] == tensor then sources(v, t.from, tensor, found) end
  end
  return found
end

--- Sums that a replica has of a tensor, and how often each replica of the maker is in them.
local function reductions(v, t, reader)
  local found, count = {}, 0
  for _, into in ipairs(v.into[reader]) do
    if v.c.source[into.id] == t.id and v.c.part[into.from] == "sum" then
      sources(v, into.from, t.id, found)
      count = count + 1
    end
  end
  for _, collective in ipairs(v.collectives) do
    local members, reads = {}, false
    for _, consumer in ipairs(collective.consumers or {}) do reads = reads or consumer == reader end
    for _, member in ipairs(reads and collective.kind == "allreduce" and collective.members
      or {}) do
      sources(v, member, t.id, members)
    end
    for _, maker in ipairs(v.replicas[t.from]) do
      found[maker] = (found[maker] or 0) + (members[maker] or 0)
    end
    if members[v.replicas[t.from][1]] then count = count + 1 end
  end
  return count, found
end

--- A tensor without the batch of replicas that each do a part of it, as a gradient: what reads it
-- whole has each part in it exactly once, by a sum or an AllReduce; what does a part itself reads
-- the part of its device, as it is.
local function sums(v)
  local total, wanted = 0, 0
  for t in v.graph:tensors() do
    local cut, reduced = #v.replicas[t.from] > 1 and not is_whole(v, t.from)
      and not v.analysis.batch[t.id], false
    for _, to in ipairs(cut and t.to or {}) do
      local whole = is_whole(v, to)
      reduced = reduced or whole
      for _, reader in ipairs(v.replicas[to]) do
        local count, found = reductions(v, t, reader)
        if whole and count ~= 1 or not whole and count ~= 0 then
          fail("tensor %d is reduced %d times for op %d", t.id, count, to)
        end
        for _, maker in ipairs(whole and v.replicas[t.from] or {}) do
          if found[maker] ~= 1 then
            fail("tensor %d: replica %d counts %d times", t.id, maker, found[maker])
          end
        end
      end
    end
    if reduced and v.action[t.from].option == "allreduce" then
      wanted = wanted + t.bytes / (v.d.physics == "published" and #v.replicas[t.from] or 1)
    end
  end
  for _, collective in ipairs(v.collectives) do
    if collective.kind == "allreduce" then total = total + collective.bytes end
  end
  if math.abs(total - wanted) > 1e-6 * (1 + wanted) then
    fail("%g B are reduced, not %g B", total, wanted)
  end
end

--- Samples of each device, by form of an op: "whole", or by its owners.
local function holds(v, op)
  local held, action = {}, v.action[op]
  local owners = not is_whole(v, op) and v.d:owners(action.set, action.shares) or nil
  for _, i in ipairs(v.replicas[op]) do
    held[v.c.devices[i]] = {}
    for sample = 1, v.d.batch do
      held[v.c.devices[i]][sample] = not owners or owners[sample] == v.c.devices[i]
    end
  end
  return held, owners and action.set .. action.shares or "whole"
end

--- Bytes that reach each device for a tensor with the batch: the samples that its readers need and
-- its maker there has not, at least
--- once, at most once for each form of readers. What is gathered by a collective is not counted.
local function arrivals(v, t)
  local least, most, forms, union = {}, {}, {}, {}
  local held, per_sample = holds(v, t.from), t.bytes / v.d.batch
  for _, to in ipairs(t.to) do
    local need, form = holds(v, to)
    for device, samples in pairs(need) do
      local missing = 0
      for sample = 1, v.d.batch do
        if samples[sample] and not (held[device] and held[device][sample]) then
          missing = missing + 1
          if not union[device .. ":" .. sample] then
            least[device] = (least[device] or 0) + per_sample
          end
          union[device .. ":" .. sample] = true
        end
      end
      if not forms[form .. "@" .. device] then
        most[device] = (most[device] or 0) + missing * per_sample
      end
      forms[form .. "@" .. device] = true
    end
  end
  return least, most
end

local function conserved(v)
  if v.d.physics == "published" then return end
  local got, gathered = {}, {}
  for t in v.c.graph:tensors() do
    local seen, source = { [v.c.devices[t.from]] = true }, v.c.source[t.id]
    got[source] = got[source] or {}
    for _, to in ipairs(t.to) do
      local device = v.c.devices[to]
      if not seen[device] then got[source][device] = (got[source][device] or 0) + t.bytes end
      seen[device] = true
    end
  end
  for _, collective in ipairs(v.collectives) do
    for _, m in ipairs(collective.kind == "allgather" and collective.members or {}) do
      gathered[v.c.origin[m]] = true
    end
  end
  for t in v.graph:tensors() do
    local input = v.role[t.from] == "input" -- which is as its first reader
    if v.analysis.batch[t.id] and not v.analysis.gradient[t.id] and not gathered[t.from]
      and not input then
      local least, most = arrivals(v, t)
      for device = 1, #v.d.topology do
        local bytes, a, b = (got[t.id] or {})[device] or 0, least[device] or 0, most[device] or 0
        if bytes < a * (1 - 1e-9) or bytes > b * (1 + 1e-9) then
          fail("tensor %d: %g B reach device %d, not %g to %g B", t.id, bytes, device, a, b)
        end
      end
    end
  end
end

--- @param rules of the analysis, if there were any
--- @return true, or nil and what is wrong
function tag_checker.check(d, s, c, rules)
  local v = view(d, s, c, rules)
  for _, rule in ipairs { acyclic, work, sums, conserved } do
    local fine, text = pcall(rule, v)
    if not fine then return nil, text end
  end
  return true
end

return tag_checker
