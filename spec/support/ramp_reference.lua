--- RAMP jobs piece by piece, straight from the specification: slow, without the core.
--
-- Numbers of servers and ops are from 1. `o` is the table ramp.options gives, `g` a mirrored
-- graph.
local reference = {}

local function coordinates(o, s)
  s = s - 1
  local slot = s % o.slots
  local rack = ((s - slot) / o.slots) % o.racks
  return { (s - slot - rack * o.slots) / (o.slots * o.racks), rack, slot }
end

local function server(o, g, r, s) return (g * o.racks + r) * o.slots + s + 1 end

-- ---- 2: times -----------------------------------------------------------------------------

local function distinct(o, servers, axis)
  local seen, n = {}, 0
  for _, s in ipairs(servers) do
    local c = coordinates(o, s)[axis]
    if not seen[c] then seen[c], n = true, n + 1 end
  end
  return n
end

-- Most racks of one group that are in use.
local function contending(o, servers)
  local seen, count, most = {}, {}, 0
  for _, s in ipairs(servers) do
    local c = coordinates(o, s)
    local key = c[1] * o.racks + c[2]
    if not seen[key] then
      seen[key] = true
      count[c[1]] = (count[c[1]] or 0) + 1
      most = math.max(most, count[c[1]])
    end
  end
  return most
end

local function log2_up(d)
  local n = 0
  while 2 ^ n < d do n = n + 1 end
  return n
end

local function add(o, bytes, d)
  local n = log2_up(d)
  local intensity = n / (o.value_bytes * (d + 1))
  return n * (bytes / d) / o.value_bytes / math.min(o.memory_rate * intensity, o.flops)
end

local function transceivers(x, d, j)
  return math.max(1, math.min(math.floor(x / j), math.floor(x / (d - 1))))
end

function reference.collective(o, servers, bytes)
  local one = true
  for _, s in ipairs(servers) do one = one and s == servers[1] end
  if one then return 0 end
  local x, g, r, v = o.groups, distinct(o, servers, 1), distinct(o, servers, 2),
    distinct(o, servers, 3)
  local stages = { g, math.min(g, v), r, math.ceil(v / x) }
  if not o.compat and g == 1 and r == 1 then stages[4] = v end
  local comm, comp, message, rate = 0, 0, bytes, o.bandwidth / x
  if o.compat then rate = rate / x end
  for _, q in ipairs(stages) do
    message = math.ceil(message / q)
    if q > 1 then
      comp = comp + add(o, message * q, q)
      comm = comm + (o.latency + 2 * o.io_latency)
        + message / (transceivers(x, q, o.compat and 1 or contending(o, servers)) * rate)
    end
  end
  return 2 * comm + comp
end

function reference.transfer(o, a, b, bytes)
  if a == b or bytes == 0 then return 0 end
  return o.latency + 2 * o.io_latency + bytes / (o.bandwidth / o.groups)
end

-- ---- a job: ops, and edges between ops in the order of each op's inputs -------------------------

-- batch: ops with tensors that have the batch are cut along it
function reference.job(o, g, order, batch)
  local job = { n = g.n_ops / 2, cost = {}, memory = {}, params = {}, edges = {}, into = {},
    out = {}, order = order }
  for v = 1, g.n_ops do job.into[v], job.out[v] = {}, {} end
  for v = 1, g.n_ops do
    local op, known = g:op(v), {}
    job.cost[v] = (type(op.seconds) == "table" and op.seconds[1] or op.seconds) * o.time_scale
    for _, t in ipairs(g:inputs(v)) do
      local tensor = g:tensor(t)
      local e = known[tensor.from]
      if not e then
        e = { from = tensor.from, to = v, bytes = 0, batch = batch }
        known[tensor.from] = e
        job.edges[#job.edges + 1] = e
        table.insert(job.into[v], e)
      end
      e.bytes = e.bytes + tensor.bytes
      e.batch = e.batch and tensor.batch
    end
  end
  for u = 1, g.n_ops do
    local seen = {}
    for _, t in ipairs(g:outputs(u)) do
      for _, v in ipairs(g:tensor(t).to) do
        for _, e in ipairs(job.into[v]) do
          if e.from == u and not seen[e] then
            seen[e] = true
            table.insert(job.out[u], e)
          end
        end
      end
    end
  end
  for u = 1, job.n do
    local held = g:op(u).params or 0
    job.params[u], job.params[2 * job.n + 1 - u] = held, held
    for _, t in ipairs(g:outputs(u)) do held = held + g:tensor(t).resident end
    job.memory[u], job.memory[2 * job.n + 1 - u] = held, held
  end
  job.batch = {}
  for i, e in ipairs(job.edges) do
    e.number = i
    for _, v in ipairs(e.batch and { e.from, e.to } or {}) do
      job.batch[v], job.batch[2 * job.n + 1 - v] = true, true
    end
  end
  return job
end

local function twin(job, v) return 2 * job.n + 1 - v end

-- ---- 3: pieces and bytes --------------------------------------------------

-- Exact: an op beside one of `most` pieces gets no more than have a block within the first block of
-- that many.
local function within(o, k, most)
  local marked = {}
  for _, s in ipairs(reference.find_block(o, most, function() return true end) or {}) do
    marked[s] = true
  end
  while next(marked) and k > 1 and not reference.find_block(o, k,
    function(s) return marked[s] end) do
    k = k > 2 and k - 2 or 1
  end
  return k
end

function reference.cut(o, job, most)
  local pieces, held, size = {}, {}, {}
  for u = 1, job.n do
    local k = job.batch[u] and most
      or math.max(1, math.min(2 * math.ceil(math.ceil(job.cost[u] / o.quantum) / 2), most))
    pieces[u], pieces[twin(job, u)] = k, k
  end
  local widest = 1
  for u = 1, job.n do widest = math.max(widest, pieces[u]) end
  for u = 1, o.compat and 0 or job.n do
    local k = within(o, pieces[u], widest)
    pieces[u], pieces[twin(job, u)] = k, k
  end
  for v = 1, 2 * job.n do held[v] = job.memory[v] end
  if not o.compat then
    for v = 1, 2 * job.n do
      local all = job.batch[v] and job.params[v] or 0
      held[v] = all + (held[v] - all) / pieces[v]
    end
    for _, e in ipairs(job.edges) do
      size[e] = e.bytes / pieces[e.from] / (e.batch and 1 or pieces[e.to])
    end
    return pieces, held, size
  end
  for _, e in ipairs(job.edges) do size[e] = held[e.from] end
  for _, u in ipairs(job.order) do
    if pieces[u] > 1 then
      for _, v in ipairs { u, twin(job, u) } do
        for _, e in ipairs(job.into[v]) do size[e] = held[e.from] / pieces[v] end
        for _, e in ipairs(job.out[v]) do size[e] = held[e.to] / pieces[v] end
        held[v] = held[v] / pieces[v]
      end
    end
  end
  return pieces, held, size
end

-- ---- 4: placement ---------------------------------------------------------

local function kahn(job)
  local missing, queue = {}, {}
  for v = 1, job.n do missing[v] = #job.into[v] end
  for _, u in ipairs(job.order) do
    if missing[u] == 0 then queue[#queue + 1] = u end
  end
  local head = 1
  while queue[head] do
    for _, e in ipairs(job.out[queue[head]]) do
      if e.to <= job.n then
        missing[e.to] = missing[e.to] - 1
        if missing[e.to] == 0 then queue[#queue + 1] = e.to end
      end
    end
    head = head + 1
  end
  return queue
end

-- Calls f(groups, racks, slots) for boxes and f(k) for the diagonal, in the order of the search.
local function shapes(o, k)
  local list = {}
  for b = 1, k do
    if k % b == 0 then
      local a = k / b
      local m = 1
      while m * m < a do m = m + 1 end
      if m * m == a and m <= o.groups and m <= o.racks and b <= o.slots then
        list[#list + 1] = { m, m, b }
      end
      if a <= o.groups and a <= o.racks and b <= o.slots then
        list[#list + 1] = { a, 1, b }
        list[#list + 1] = { a, b, 1 }
      end
    end
  end
  list[#list + 1] = { k, k, 1, diagonal = true }
  list[#list + 1] = { k, 1, 1 }
  return list
end

local function block(o, shape, g, r, s)
  local servers = {}
  if shape.diagonal then
    for n = 0, shape[1] - 1 do servers[n + 1] = server(o, g + n, r + n, s) end
    return servers
  end
  for dg = 0, shape[1] - 1 do
    for dr = 0, shape[2] - 1 do
      for ds = 0, shape[3] - 1 do servers[#servers + 1] = server(o, g + dg, r + dr, s + ds) end
    end
  end
  return servers
end

function reference.find_block(o, k, free)
  for _, shape in ipairs(shapes(o, k)) do
    for g = 0, o.groups - shape[1] do
      for r = 0, o.racks - shape[2] do
        for s = 0, o.slots - shape[3] do
          local servers, good = block(o, shape, g, r, s), true
          for _, at in ipairs(servers) do good = good and free(at) end
          if good then return servers end
        end
      end
    end
  end
  return nil
end

-- Servers of each op; nil and the op that has none.
function reference.place(o, job, pieces, held, busy)
  local home, room, mine, order = {}, {}, {}, kahn(job)
  for s = 1, o.groups * o.racks * o.slots do room[s] = o.memory end

  local function weight(u)
    if job.batch[u] then return pieces[u] * (held[u] + held[twin(job, u)]) end
    return o.compat and job.memory[u] or job.memory[u] + job.memory[twin(job, u)]
  end

  local function joined(u)
    for _, e in ipairs(job.into[u]) do
      local at = home[e.from]
      if at and #at == pieces[u] then
        local sum, least = 0, math.huge
        for _, s in ipairs(at) do sum, least = sum + room[s], math.min(least, room[s]) end
        if (o.compat and sum or least * #at) >= weight(u) then return at end
      end
    end
    return nil
  end

  local function place(u)
    local each = weight(u) / pieces[u]
    local function free(s) return not busy[s] and room[s] >= each end
    local at = joined(u)
    if not at and not o.compat then
      at = reference.find_block(o, pieces[u], function(s) return free(s) and mine[s] end)
    end
    at = at or reference.find_block(o, pieces[u], free)
    if not at then return false end
    home[u], home[twin(job, u)] = at, at
    for _, s in ipairs(at) do room[s], mine[s] = room[s] - each, true end
    return true
  end

  if not o.compat then
    local widest = order[1]
    for _, u in ipairs(order) do
      if pieces[u] > pieces[widest] then widest = u end
    end
    table.insert(order, 1, widest)
  end
  for _, u in ipairs(order) do
    if not home[u] and not place(u) then return nil, u end
  end
  return home, order
end

-- ---- 2.5: which dependencies form collectives, and what each takes --------

local function sorted_copy(list)
  local copy = {}
  for i, x in ipairs(list) do copy[i] = x end
  table.sort(copy)
  return copy
end

local function same_servers(deps)
  local from, to = {}, {}
  for i, d in ipairs(deps) do from[i], to[i] = d.from.server, d.to.server end
  from, to = sorted_copy(from), sorted_copy(to)
  for i = 1, #from do
    if from[i] ~= to[i] then return false end
  end
  return true
end

local function end_points(deps)
  local servers = {}
  for _, d in ipairs(deps) do
    servers[#servers + 1] = d.from.server
    servers[#servers + 1] = d.to.server
  end
  return servers
end

local function join_set(o, deps)
  if #deps == 0 or not same_servers(deps) then return end
  local bytes = 0
  for _, d in ipairs(deps) do bytes = bytes + d.size end
  local time, set = reference.collective(o, end_points(deps), bytes),
    { waiting = #deps, deps = deps }
  for _, d in ipairs(deps) do d.time, d.set = time, set end
end

-- Pieces and dependencies with their times; ranks of both.
local function build(o, job, pieces, held, size, home, order)
  local w = { ops = {}, deps = {}, of = {} }
  for v = 1, 2 * job.n do
    w.of[v] = {}
    for i = 1, pieces[v] do
      local op = { group = v, server = home[v][i], time = job.cost[v] / pieces[v], out = {},
        heard = 0, parents = 0 }
      op.left = op.time
      w.of[v][i] = op
      w.ops[#w.ops + 1] = op
    end
  end
  local function dep(from, to, bytes, class)
    local d = { from = from, to = to, size = bytes, class = class,
      time = reference.transfer(o, from.server, to.server, bytes) }
    w.deps[#w.deps + 1] = d
    table.insert(from.out, d)
    return d
  end
  local around = {} -- of forward ops what leaves them, of backward ops what enters them
  for v = 1, 2 * job.n do around[v] = {} end
  for _, e in ipairs(job.edges) do
    for i, a in ipairs(w.of[e.from]) do
      for j, b in ipairs(w.of[e.to]) do
        if not e.batch or i == j then
          local d = dep(a, b, size[e], { e.number })
          b.parents = b.parents + 1
          local apart = not e.batch
          if apart and e.from <= job.n then table.insert(around[e.from], d) end
          if apart and e.to > job.n and (e.from > job.n or o.compat) then
            table.insert(around[e.to], d)
          end
        end
      end
    end
  end
  for v = 1, 2 * job.n do
    if pieces[v] > 1 then join_set(o, around[v]) end
  end
  for v = job.n + 1, 2 * job.n do
    local bytes, all = o.compat and held[v] or job.params[v] / pieces[v], {}
    for i, a in ipairs(w.of[v]) do
      for j, b in ipairs(w.of[v]) do
        if i ~= j then
          local d = dep(a, b, bytes, nil)
          d.sync, all[#all + 1] = true, d
          if o.compat then d.time = reference.collective(o, { a.server, b.server }, 2 * bytes) end
          local p, q, near = coordinates(o, a.server), coordinates(o, b.server), 0
          for axis = 1, 3 do near = near + (p[axis] ~= q[axis] and 2 ^ (axis - 1) or 0) end
          d.class = { #job.edges + 8 * v + (o.compat and near or 0) }
        end
      end
    end
    if not o.compat and #all > 0 then
      local time, set = reference.collective(o, end_points(all), job.params[v]),
        { waiting = #all, deps = all }
      for _, d in ipairs(all) do d.time, d.set = time, set end
    end
  end
  for _, d in ipairs(w.deps) do
    d.flow = d.from.server ~= d.to.server and d.size > 0
    d.left = d.time
  end
  -- 5: shortest first; among equals what comes later
  local place = {}
  for i, u in ipairs(order) do place[u], place[twin(job, u)] = 2 * i, 2 * i + 1 end
  function w.before_op(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return place[a.group] > place[b.group]
  end
  function w.before_dep(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.class[1] > b.class[1]
  end
  return w
end

-- ---- 6: look-ahead --------------------------------------------------------

local function first_of_each(list, key, before)
  local best, keys = {}, {}
  for _, x in ipairs(list) do
    local k = key(x)
    if not best[k] then keys[#keys + 1] = k end
    if not best[k] or before(x, best[k]) then best[k] = x end
  end
  local out = {}
  for i, k in ipairs(keys) do out[i] = best[k] end
  return out
end

local function channel(d) return d.from.server * 10000 + d.to.server end

local function least(list)
  local t = math.huge
  for _, x in ipairs(list) do t = math.min(t, x.left) end
  return t
end

local function without(list, gone)
  local out = {}
  for _, x in ipairs(list) do
    if not gone[x] then out[#out + 1] = x end
  end
  return out
end

-- Exact: what one piece sends to the pieces of one op goes together, when all its channels are free
-- of what ranks above it.
local function movers(flows, before)
  local rows, used, out = {}, {}, {}
  for _, d in ipairs(flows) do
    local row = nil
    for _, r in ipairs(rows) do
      if r[1].from == d.from and r[1].class[1] == d.class[1] then row = r end
    end
    if not row then
      row = { number = #rows }
      rows[#rows + 1] = row
    end
    row[#row + 1] = d
  end
  table.sort(rows, function(a, b)
    if before(a[1], b[1]) or before(b[1], a[1]) then return before(a[1], b[1]) end
    return a.number < b.number
  end)
  for _, row in ipairs(rows) do
    local free = true
    for _, d in ipairs(row) do free = free and not used[channel(d)] end
    if free then
      for _, d in ipairs(row) do
        used[channel(d)] = true
        out[#out + 1] = d
      end
    end
  end
  return out
end

-- One step: { step, ticks, compute, communication }, and the segments that ran: { what, from, to }.
local function look(o, w)
  local ready, deps, now = {}, {}, 0
  local r = { step = 0, ticks = 0, compute = 0, communication = 0, segments = {} }
  local ops_left, deps_left = #w.ops, #w.deps
  for _, op in ipairs(w.ops) do
    if op.parents == 0 then ready[#ready + 1] = op end
  end
  local function begin(d)
    if o.compat or not d.set then
      deps[#deps + 1] = d
      return
    end
    d.set.waiting = d.set.waiting - 1
    if d.set.waiting > 0 then return end
    d.set.began = now
    for _, other in ipairs(d.set.deps) do deps[#deps + 1] = other end
  end
  while ops_left > 0 or deps_left > 0 do
    local running, here, flows = first_of_each(ready, function(op) return op.server end,
      w.before_op), {}, {}
    for _, d in ipairs(deps) do
      local list = d.flow and flows or here
      list[#list + 1] = d
    end
    local leading = o.compat and first_of_each(flows, channel, w.before_dep)
      or movers(flows, w.before_dep)
    local tick = math.min(least(running), #here > 0 and 0 or least(leading))
    assert(tick < math.huge, "nothing goes on")
    local moving, done, finished = #here > 0 and here or o.compat and flows or leading, {}, {}
    now = now + tick
    for _, op in ipairs(running) do
      op.left = op.left - math.min(tick, op.left)
      r.segments[#r.segments + 1] = { op = op, from = now - tick, to = now }
      if op.left <= 0 then finished[#finished + 1], done[op], op.ended = op, true, now end
    end
    for _, d in ipairs(moving) do
      d.left = #here > 0 and 0 or d.left - math.min(tick, d.left)
      if #here == 0 then r.segments[#r.segments + 1] = { dep = d, from = now - tick, to = now } end
      if d.left <= 0 then
        done[d], d.ended, deps_left = true, now, deps_left - 1
      end
    end
    local arrived = {}
    for _, d in ipairs(moving) do
      if done[d] and (o.compat or not d.sync) then
        d.to.heard = d.to.heard + 1
        if d.to.heard == d.to.parents then arrived[#arrived + 1] = d.to end
      end
    end
    ready, deps = without(ready, done), without(deps, done)
    for _, op in ipairs(arrived) do ready[#ready + 1] = op end
    for _, op in ipairs(finished) do
      ops_left = ops_left - 1
      for _, d in ipairs(op.out) do begin(d) end
    end
    r.ticks, r.step = r.ticks + 1, r.step + tick
    if #running > 0 then r.compute = r.compute + tick end
    if #here == 0 and #flows > 0 then r.communication = r.communication + tick end
  end
  return r
end

-- ---- a decision -----------------------------------------------------------

--- What ramp:plan gives, the same fields; beside it `walk` (ops, deps) and `segments` for the
-- checker.
function reference.plan(o, job, most, busy)
  local pieces, held, size = reference.cut(o, job, most)
  local home, order = reference.place(o, job, pieces, held, busy or {})
  if not home then return { placed = false, op = order, pieces = pieces[order] } end
  local w = build(o, job, pieces, held, size, home, order)
  local r = look(o, w)
  r.placed, r.walk, r.ops, r.deps, r.flows, r.memory, r.bytes, r.flow_bytes = true, w, #w.ops,
    #w.deps, 0, 0, 0, 0
  local mine, channels = {}, {}
  r.servers, r.channels = {}, 0
  for _, op in ipairs(w.ops) do
    if not mine[op.server] then
      mine[op.server] = true
      r.servers[#r.servers + 1] = op.server
    end
    r.memory = r.memory + held[op.group]
  end
  table.sort(r.servers)
  for _, d in ipairs(w.deps) do
    r.bytes = r.bytes + d.size
    if d.flow then
      r.flows, r.flow_bytes = r.flows + 1, r.flow_bytes + d.size
      if not channels[channel(d)] then channels[channel(d)], r.channels = true, r.channels + 1 end
    end
  end
  return r
end

return reference
