-- TAG's simulator (section 7): its options, and a word-for-word version of it on random graphs.
local berth = require "berth"

-- TAG's published simulator, word for word: a FIFO of what is ready, a heap of ends, here a list
-- that is searched. Tasks: ops by id, one per edge (by producer, tensor, reader; local ones take no
-- time), collectives by id. Times in whole microseconds. Shares no code with the simulator. x: {
-- ops = { { us, device } }, edges = { { from, to, us, path } }, collectives = { { members,
-- consumers, us } } }.
local function literal(x)
  local n, m = #x.ops, #x.edges
  local start, finish, missing, ready, events = {}, {}, {}, {}, {}
  local device_free, link_free, coll_free, now = {}, {}, 0, 0
  for i = 1, n do missing[i] = 0 end
  for _, e in ipairs(x.edges) do missing[e.to] = missing[e.to] + 1 end
  for k, c in ipairs(x.collectives) do
    missing[n + m + k] = #c.members
    for _, op in ipairs(c.consumers) do missing[op] = missing[op] + 1 end
  end
  local function satisfied(task)
    missing[task] = missing[task] - 1
    if missing[task] == 0 then ready[#ready + 1] = task end
  end
  local function run(task)
    local from, took = now
    if task <= n then
      local d = x.ops[task].device
      from, took = math.max(now, device_free[d] or 0), x.ops[task].us
      device_free[d] = from + took
    elseif task <= n + m then
      local e = x.edges[task - n]
      took = e.us
      for _, l in ipairs(e.path) do from = math.max(from, link_free[l] or 0) end
      for _, l in ipairs(e.path) do link_free[l] = from + took end
    else
      took = x.collectives[task - n - m].us
      from = math.max(now, coll_free)
      coll_free = from + took
    end
    start[task], finish[task] = from, from + took
    events[#events + 1] = task
  end
  local function earliest()
    local best = 1
    for i = 2, #events do
      local a, b = events[i], events[best]
      if finish[a] < finish[b] or (finish[a] == finish[b] and a < b) then best = i end
    end
    return table.remove(events, best)
  end
  local function over(task)
    if task > n + m then
      for _, op in ipairs(x.collectives[task - n - m].consumers) do satisfied(op) end
    elseif task > n then
      satisfied(x.edges[task - n].to)
    else
      for i, e in ipairs(x.edges) do
        if e.from == task then ready[#ready + 1] = n + i end
      end
      for k, c in ipairs(x.collectives) do
        for _, op in ipairs(c.members) do
          if op == task then satisfied(n + m + k) end
        end
      end
    end
  end
  for i = 1, n do
    if missing[i] == 0 then ready[#ready + 1] = i end
  end
  while #ready > 0 or #events > 0 do
    while #ready > 0 do run(table.remove(ready, 1)) end
    local task = earliest()
    now = finish[task]
    over(task)
  end
  return now, start, finish
end

-- Two groups of devices: a private link for each ordered pair in a group, one shared link for each
-- direction between them.
local function clusters(sizes, intra, inter)
  local devices, links, group, at = {}, {}, {}, {}
  for g, size in ipairs(sizes) do
    for _ = 1, size do
      devices[#devices + 1] = { name = "d" .. #devices + 1 }
      group[#devices] = g
    end
  end
  for a = 1, #devices do
    for b = 1, #devices do
      if a ~= b and group[a] == group[b] then
        links[#links + 1] = { "d" .. a, "d" .. b, bandwidth = intra[group[a]], latency = 12e-6,
          directed = true }
      end
    end
  end
  at.switches = {}
  for g = 1, #sizes do
    at.switches[#at.switches + 1] = "up" .. g
    at.switches[#at.switches + 1] = "down" .. g
    for a = 1, #devices do
      if group[a] == g then
        links[#links + 1] = { "d" .. a, "up" .. g, bandwidth = math.huge, latency = 0,
          directed = true }
        links[#links + 1] = { "down" .. g, "d" .. a, bandwidth = math.huge, latency = 0,
          directed = true }
      end
    end
    for h = 1, #sizes do
      if h ~= g then
        links[#links + 1] = { "up" .. g, "down" .. h, bandwidth = inter, latency = 12e-6,
          directed = true }
      end
    end
  end
  return assert(berth.topology { devices = devices, switches = at.switches, links = links })
end

local LINES = berth.deploy.tag_lines(2810e6)
local MODEL = { collective_algorithm = "lines", collective_lines = LINES, lines_bandwidth = 2810e6,
  whole_us = true }

local function two(bandwidth)
  return berth.topology.mesh(2, { bandwidth = bandwidth, latency = 12e-6 })
end

local function us(r) return r.makespan * 1e6 end

describe("the preset tag", function()
  it("has the options of section 7", function()
    local g = assert(berth.graph { ops = { { seconds = 1 } } })
    local o = assert(berth.simulate(g, two(1), { 1 }, { preset = "tag" })).options
    local got = { o.links, o.dispatch, o.send, o.memory, o.order, o.collectives, o.reserve,
      o.quantum }
    assert.same({ "route", "fifo", "push", "inference", "task", "queue", true, 1e-6 }, got)
  end)

  it("keeps what is ready first on the links, even if they stand idle", function()
    -- The tensor for 3 waits for the link 1 -> 3 that a long one holds; one for 2, over a link of
    -- its own, goes at once.
    local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 },
      { seconds = 1 } },
      tensors = { { from = 1, to = { 3 }, bytes = 8 }, { from = 1, to = { 4 }, bytes = 4 },
                  { from = 1, to = { 2 }, bytes = 2 } } })
    local t = assert(berth.topology { devices = { { name = "a" }, { name = "b" }, { name = "c" } },
      switches = { "s" },
      links = { { "a", "s", bandwidth = 1 }, { "s", "b", bandwidth = 1 },
        { "s", "c", bandwidth = 1 } } })
    local r = assert(berth.simulate(g, t, { 1, 2, 3, 3 }, { links = "route", reserve = true }))
    local at = {}
    for _, x in ipairs(r.transfers) do at[x.tensor] = x.start end
    assert.same({ 1, 9, 13 }, at)
    -- of two senders: the one that waits for b holds up the one behind it, which could have gone
    g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 2 }, { seconds = 0 },
      { seconds = 0 }, { seconds = 0 } },
      tensors = { { from = 1, to = { 3 }, bytes = 8 }, { from = 2, to = { 4 }, bytes = 4 },
                  { from = 2, to = { 5 }, bytes = 2 } } })
    for _, row in ipairs { { true, 9, 13 }, { false, 9, 2 } } do
      r = assert(berth.simulate(g, t, { 1, 2, 3, 3, 1 }, { links = "route", reserve = row[1] }))
      for _, x in ipairs(r.transfers) do at[x.tensor] = x.start end
      assert.same({ 1, row[2], row[3] }, at)
    end
  end)

  it("refuses what does not go together", function()
    local g = assert(berth.graph { ops = { { seconds = 1 } } })
    for message, o in pairs {
      ["reserve needs links route"] = { reserve = true },
      ["order task requires dispatch fifo"] = { preset = "tag", dispatch = "lifo" },
      ["order task requires send push"] = { preset = "tag", send = "pull" },
      ["or route with reserve"] = { order = "task", links = "route" },
      ["links free, channel"] = { order = "task", links = "fair" },
    } do
      local r, text = berth.simulate(g, two(1), { 1 }, o)
      assert.is_nil(r)
      assert.matches(message, text, 1, true)
    end
    local c = assert(berth.graph { ops = { { seconds = 1, communication = true } } })
    local r, text = berth.simulate(c, two(1), { 1 }, { preset = "tag" })
    assert.is_nil(r)
    assert.matches("order task, of TAG's simulator, does not support communication ops", text, 1,
      true)
    assert.has_error(function() berth.simulate(g, two(1), { 1 }, { preset = "tags" }) end)
  end)
end)

local function whole(seconds) return math.floor(seconds * 1e6 + 0.5) end

local function below(rng, n) return rng:below(n) - 1 end

-- Random graphs: one tensor per edge, times in us that often coincide, zero among them.
local function random_graph(rng)
  local n, spec, x = 2 + below(rng, 30), { ops = {}, tensors = {}, collectives = {} },
    { ops = {}, edges = {}, collectives = {} }
  for i = 1, n do
    local took = below(rng, 4) == 0 and 0 or below(rng, 8) * 20
    spec.ops[i] = { seconds = took * 1e-6 }
    x.ops[i] = { us = took }
  end
  for to = 2, n do
    for from = 1, to - 1 do
      if below(rng, n) < 3 then
        spec.tensors[#spec.tensors + 1] = { from = from, to = { to },
          bytes = below(rng, 5) * 40000 }
      end
    end
  end
  for _ = 1, below(rng, 5) do
    local k = below(rng, n - 1) + 1 -- members up to k, consumers behind it
    local members, consumers = {}, {}
    for i = 1, n do
      if i <= k and below(rng, 3) == 0 then members[#members + 1] = i end
      if i > k and below(rng, 6) == 0 then consumers[#consumers + 1] = i end
    end
    if #members > 0 then
      spec.collectives[#spec.collectives + 1] = { kind = "allreduce",
        bytes = below(rng, 4) * 2 ^ 20, members = members,
                                                  consumers = consumers }
    end
  end
  return spec, x
end

-- What the literal simulator has to know, from the same prices.
local function placed(x, g, c, t, device)
  for i = 1, #g do x.ops[i].device = device[i] end
  local edges = {}
  for k = 1, g.n_tensors do
    local tensor = g:tensor(k)
    local from, to = tensor.from, tensor.to[1]
    edges[k] = { from = from, to = to, us = 0, path = {}, tensor = k }
    if device[from] ~= device[to] then
      edges[k].us = whole(c:transfer(k, device[from], device[to]))
      edges[k].path = assert(t:route(device[from], device[to]))
    end
  end
  table.sort(edges,
    function(a, b) return a.from < b.from or (a.from == b.from and a.tensor < b.tensor) end)
  x.edges = edges
  return x
end

local function are_apart(members, device)
  for _, op in ipairs(members) do
    if device[op] ~= device[members[1]] then return true end
  end
  return false
end

-- On a single device there is no collective there.
local function drop_local(spec, device)
  for k = #spec.collectives, 1, -1 do
    if not are_apart(spec.collectives[k].members, device) then table.remove(spec.collectives, k) end
  end
end

local function collectives_of(spec, c, device)
  local out = {}
  for k, one in ipairs(spec.collectives) do
    local on = {}
    for i, op in ipairs(one.members) do on[i] = device[op] end
    out[k] = { members = one.members, consumers = one.consumers, us = whole(c:collective(k, on)) }
  end
  return out
end

local function compare(g, x, r)
  local makespan, start, finish = literal(x)
  local at = {}
  assert.near(makespan, us(r), 1e-6)
  for i = 1, #g do
    assert.same({ start[i], finish[i] }, { whole(r.start[i]), whole(r.finish[i]) })
  end
  for _, one in ipairs(r.transfers) do at[one.tensor] = one end
  for i, e in ipairs(x.edges) do
    if #e.path > 0 then
      assert.near(start[#g + i], at[e.tensor].start * 1e6, 1e-6)
      assert.near(finish[#g + i], at[e.tensor].finish * 1e6, 1e-6)
    end
  end
  for k in ipairs(x.collectives) do
    assert.near(start[#g + #x.edges + k], r.collectives[k].start * 1e6, 1e-6)
    assert.near(finish[#g + #x.edges + k], r.collectives[k].finish * 1e6, 1e-6)
  end
end

describe("the simulator of section 7, word for word,", function()
  it("agrees on 400 random graphs", function()
    local rng, met = berth.rng(77), 0
    for round = 1, 400 do
      local spec, x = random_graph(rng)
      local t = clusters(round % 2 == 0 and { 2, 3 } or { 3, 1, 2 }, { 8000e6, 3000e6, 5000e6 },
        2810e6)
      local device = {}
      for i = 1, #spec.ops do device[i] = rng:below(#t) end
      drop_local(spec, device)
      local g = assert(berth.graph(spec))
      local c = assert(berth.cost(g, t, MODEL))
      placed(x, g, c, t, device)
      x.collectives = collectives_of(spec, c, device)
      met = met + #x.collectives
      compare(g, x, assert(berth.simulate(c, device, { preset = "tag", bound = false })))
    end
    assert.is_true(met > 300)
  end)

  it("agrees with order event where times do not coincide", function()
    local rng = berth.rng(5)
    for _ = 1, 100 do
      local spec = random_graph(rng)
      local t, device = clusters({ 2, 3 }, { 8000e6, 3000e6 }, 2810e6), {}
      for i, op in ipairs(spec.ops) do
        device[i] = rng:below(#t)
        op.seconds = op.seconds + 1e-6 * rng:uniform()
      end
      for _, tensor in ipairs(spec.tensors) do
        tensor.bytes = tensor.bytes + 1000 * (1 + rng:uniform())
      end
      local g = assert(berth.graph(spec))
      local o = { links = "route", reserve = true, collectives = rng:below(2) == 1 and "queue"
        or "links", bound = false }
      local a = assert(berth.simulate(g, t, device, o))
      o.order = "task"
      local b = assert(berth.simulate(g, t, device, o))
      assert.equal(a.makespan, b.makespan)
      assert.same({ a.start, a.finish, a.peak_memory }, { b.start, b.finish, b.peak_memory })
    end
  end)
end)
