-- RAMP: what messages take, how ops are cut, where the pieces go; by hand.
local berth = require "berth"
local merged = require "support.merged"

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  return (tostring(text):gsub("^.-:%d+: ", ""))
end

-- Server numbers of (group, rack, slot), from 0.
local function servers(list)
  local out = {}
  for i, c in ipairs(list) do out[i] = (c[1] * 4 + c[2]) * 2 + c[3] + 1 end
  return out
end

local function box(groups, racks, slots)
  local list = {}
  for g = 0, groups - 1 do
    for r = 0, racks - 1 do
      for s = 0, slots - 1 do list[#list + 1] = { g, r, s } end
    end
  end
  return servers(list)
end

-- Forward ops in a chain, mirrored as published. ops: { seconds, params, bytes to the next }
local function chain(ops)
  local list, edges, back = {}, {}, {}
  for i, op in ipairs(ops) do
    list[i] = { name = "op" .. i, seconds = op[1], params = op[2] }
    back[i] = op[4] or op[1]
    if i < #ops then edges[i] = { i, i + 1, op[3] } end
  end
  local g = assert(berth.graph { ops = list, edges = edges })
  return (assert(g:mirror { seconds = back, join = "last", gradients = "output",
    activations = false }))
end

describe("a RAMP cluster", function()
  it("has 4 x 4 x 2 servers at first, and takes quantities with units", function()
    local r = berth.ramp()
    assert.equal(32, r.servers)
    assert.is_false(r.compat)
    assert.equal("ramp: 32 servers (4 groups x 4 racks x 2), 1.6 TB/s each, exact", tostring(r))
    local same = berth.ramp { groups = 4, racks = 4, slots = 2, bandwidth = "1.6 TB/s",
      latency = "50 ns", io_latency = "100 ns",
      memory = "80 GB", memory_rate = "2 TB/s", flops = "130 TFLOP/s", value_bytes = "2 B",
        quantum = "10 us", time_scale = 1 }
    assert.same(r.options, same.options)
    assert.same(r.options, berth.ramp(r.options).options)
    local published = berth.ramp { compat = true }.options
    assert.same({ true, 0.01, 1000 }, { published.compat, published.quantum, published.time_scale })
  end)

  it("moves bytes at a group's share of the bandwidth, after three latencies", function()
    local r = berth.ramp() -- 50 ns + 2 x 100 ns + 4 MB / 400 GB/s
    assert.near(10.25e-6, r:transfer(1, 32, "4 MB"), 1e-18)
    assert.equal(0, r:transfer(3, 3, "4 MB"))
    assert.equal(0, r:transfer(3, 4, 0))
  end)

  it("reduces in stages, as published", function()
    local r = berth.ramp { compat = true }
    -- two groups: 1 stage of 2, 4 transceivers of 100 GB/s: 2 (250 ns + 400 MB / 400 GB/s) + 200e6
    -- adds at 1/3 TFLOP/s
    assert.near(2 * (250e-9 + 1e-3) + 6e-4, r:collective(servers { { 0, 0, 0 }, { 1, 0, 0 } }, 8e8),
      1e-15)
    -- 2 x 2 x 2: stages of 2, 2, 2: 4 MB, 2 MB, 1 MB at 400 GB/s; (2 + 1 + 0.5)e6 adds at 1/3
    -- TFLOP/s
    assert.near(2 * (3 * 250e-9 + 17.5e-6) + 1.05e-5, r:collective(box(2, 2, 2), 8e6), 1e-15)
    -- 4 x 4 x 1: stages of 4 and 4 over one transceiver of 100 GB/s; adds at 0.4 TFLOP/s
    assert.near(2 * (2 * 250e-9 + 2.5e-3 + 6.25e-4) + 6.25e-4 + 1.5625e-4,
      r:collective(box(4, 4, 1), 1e9), 1e-15)
    -- 3 groups, 2 slots: 3, min(3, 2), 1, 1; ceil(100 / 3) = 34, ceil(34 / 2) = 17; 3: 2
    -- transceivers
    assert.near(2 * (2 * 250e-9 + 34 / 2e11 + 17 / 4e11) + 2 * (34 / 2) / (2e12 * 2 / 8)
      + 17 / 2 / (2e12 / 6), r:collective(box(3, 1, 2), 100), 1e-15)
  end)

  it("gives each transceiver its whole rate, and counts contending racks, exactly", function()
    local r = berth.ramp()
    -- 2 x 2 x 2: two racks of a group: 2 transceivers of 400 GB/s instead of 4 of 100 GB/s
    assert.near(2 * (3 * 250e-9 + 8.75e-6) + 1.05e-5, r:collective(box(2, 2, 2), 8e6), 1e-15)
    assert.near(2 * (2 * 250e-9 + 7.8125e-4) + 7.8125e-4, r:collective(box(4, 4, 1), 1e9), 1e-15)
  end)

  it("takes no time within a rack as published, and does exactly", function()
    local pair = { 1, 2 }
    assert.equal(0, berth.ramp { compat = true }:collective(pair, 8e8))
    assert.near(2 * (250e-9 + 2.5e-4) + 6e-4, berth.ramp():collective(pair, 8e8), 1e-15)
    assert.equal(0, berth.ramp():collective({ 7, 7, 7 }, 8e8))
  end)

  it("finds which sizes have a legal block", function()
    local r, legal = berth.ramp(), {}
    for k = 1, 40 do
      if r:legal(k) then legal[#legal + 1] = k end
    end
    assert.same({ 1, 2, 4, 6, 8, 16, 18, 32 }, legal)
    assert.is_true(berth.ramp { groups = 1, racks = 1, slots = 1 }:legal(1))
    assert.is_false(berth.ramp { groups = 1, racks = 1, slots = 1 }:legal(2))
  end)

  it("refuses what cannot be, and says where", function()
    for text, options in pairs {
      ["berth.ramp: ramp: 5 racks in a group, but only 4 groups: racks may not be more"] =
        { racks = 5 },
      ["berth.ramp: ramp: 16 x 16 x 5 servers, at most 1024"] = { groups = 16, racks = 16,
        slots = 5 },
      ["berth.ramp: slots: 0 is out of range 1..2147483647"] = { slots = 0 },
      ["berth.ramp: slots: expected a whole number, got 1.5"] = { slots = 1.5 },
      ["berth.ramp: bandwidth: expected a finite number above 0, got 0"] = { bandwidth = 0 },
      ["berth.ramp: quantum: expected a finite number above 0, got 0"] = { quantum = 0 },
      ["berth.ramp: memory: expected a finite number above 0, got 0"] = { memory = 0 },
      ["berth.ramp: latency: -1 is negative"] = { latency = -1 },
      ["berth.ramp: compat: expected true or false, got number"] = { compat = 1 },
    } do
      assert.equal(text, message(berth.ramp, options))
    end
    assert.matches("^berth.ramp: unknown option 'group' %(legal: 13 names; ",
      message(berth.ramp, { group = 4 }))
    local r = berth.ramp()
    assert.equal("ramp:transfer: to: there is no server 33 (ids are 1..32)",
      message(r.transfer, r, 1, 33, 8))
    assert.equal("ramp:collective: servers: is empty: expected at least one end point",
      message(r.collective, r, {}, 8))
    assert.equal("ramp:collective: servers[2]: there is no server 0 (ids are 1..32)",
      message(r.collective, r, { 1, 0 }, 8))
    assert.equal("ramp:collective: bytes: -8 is negative", message(r.collective, r, { 1 }, -8))
    assert.equal("ramp:legal: pieces: 0 is out of range 1..2147483647", message(r.legal, r, 0))
  end)
end)

describe("a RAMP model", function()
  it("sums up a step on one server, and what ops hold and send", function()
    local g = chain { { 4, 24, 16 }, { 2, 48 } }
    local m = berth.ramp():model(g)
    -- forward and backward; a holds 24 + 16, b 48, twins the same; a -> b 16, b -> b' 0, b' -> a'
    -- as published
    assert.equal(12, m.sequential)
    assert.equal(2 * (24 + 16 + 48), m.memory)
    assert.equal(g, m.graph)
    assert.equal(32, m.ramp.servers)
    assert.equal("ramp model: 4 ops, 12 s a step on one server, 176 B", tostring(m))
    assert.equal(12000, berth.ramp { compat = true }:model(g).sequential)
  end)

  it("keeps its graph and its cluster when these are closed", function()
    local g, r = chain { { 1, 8, 8 }, { 1, 8 } }, berth.ramp()
    local m = r:model(g)
    g:close()
    r:close()
    assert.equal(4, m.graph.n_ops)
    assert.equal(2, m.ramp:plan(m, 2).pieces)
    assert.matches("is closed", message(function() return r.servers end))
  end)

  it("is made of graphs with twins, one time for all devices, without collectives", function()
    local r = berth.ramp()
    local function refused(text, spec, options)
      assert.equal("ramp:model: " .. text, message(r.model, r, assert(berth.graph(spec)), options))
    end
    refused('ramp: op 1 "a" has no twin: expected a backward op for each forward op',
      { ops = { { name = "a", seconds = 1 } } })
    refused("ramp: op times for 2 device types: servers are all alike",
      { types = { "a", "b" }, ops = { { seconds = { 1, 2 }, twin = 2 }, { seconds = { 1, 2 } } } })
    refused('ramp: op 2 "" has no time',
      { ops = { { seconds = 1, twin = 2 }, { seconds = math.huge, backward = true } } })
    refused("ramp: the graph has collectives: cutting makes them",
      { ops = { { seconds = 1, twin = 2 }, { seconds = 1 } },
        collectives = { { kind = "barrier", members = { 1 } } } })
    refused("ramp: ops 1 and 2 are twins, and both are backward ops",
      { ops = { { seconds = 1, twin = 2, backward = true }, { seconds = 1, backward = true } } })
    assert.equal("ramp:model: graph: expected a graph, got nil", message(r.model, r))
  end)

  it("is worked through in an order of all forward ops", function()
    local r, g = berth.ramp(), chain { { 1, 8, 8 }, { 1, 8 } }
    local function refused(text, order)
      assert.equal("ramp:model: " .. text, message(r.model, r, g, { order = order }))
    end
    refused("order: has 1 entries, expected 2 (one per forward op)", { 1 })
    refused("ramp: order: op 1 is there twice", { 1, 1 })
    refused("ramp: order: op 3 is not a forward op", { 1, 3 })
    refused("order[2]: there is no op 5 (ids are 1..4)", { 1, 5 })
  end)

  it("works with one cluster only", function()
    local m = berth.ramp():model(chain { { 1, 8 } })
    local other = berth.ramp()
    assert.equal("ramp:plan: ramp: the model was made for another cluster",
      message(other.plan, other, m, 2))
  end)
end)

describe("cutting", function()
  local function cut(ops, most, options)
    local o = merged({ compat = true, time_scale = 1, quantum = 1 }, options)
    local r = berth.ramp(o)
    return r:plan(r:model(chain(ops), { order = options and options.order or nil }), most)
  end

  it("gives an op as many pieces as its forward time has quanta, made even", function()
    for _, case in ipairs { { 0, 16, 1 }, { 0.1, 16, 2 }, { 2, 16, 2 }, { 2.1, 16, 4 },
      { 4, 16, 4 }, { 7, 16, 8 },
      { 99, 16, 16 }, { 99, 1, 1 }, { 99, 2, 2 } } do
      assert.equal(case[3], cut({ { case[1], 8 } }, case[2]).pieces)
    end
  end)

  it("counts pieces, dependencies and synchronisation", function()
    -- a 4 pieces, b 2: a -> b 8, b -> b' 4, b' -> a' 8; 4 x 3 and 2 x 1 to synchronise
    local o = cut({ { 4, 24, 0 }, { 2, 48 } }, 4)
    assert.same({ 12, 34, 144 }, { o.ops, o.deps, o.memory })
  end)

  it("sizes inputs by the producer and outputs by the consumer, op by op", function()
    local r = berth.ramp { compat = true, time_scale = 1, quantum = 1 }
    local g = chain { { 4, 24, 0 }, { 2, 48 } }
    -- a, then b: a -> b and b' -> a' 24 / 8, b -> b' 48 / 4; synchronisation 12 x 24 / 4 and 2 x 48
    -- / 2
    assert.equal(8 * 3 + 4 * 12 + 8 * 3 + 12 * 6 + 2 * 24,
      r:plan(r:model(g, { order = { 1, 2 } }), 4).bytes)
    -- b, then a: a -> b and b' -> a' 48 / 8
    assert.equal(8 * 6 + 4 * 12 + 8 * 6 + 12 * 6 + 2 * 24,
      r:plan(r:model(g, { order = { 2, 1 } }), 4).bytes)
  end)

  it("shares out what an edge carries, exactly", function()
    local r = berth.ramp { quantum = 1 }
    local m = r:model(chain { { 4, 24, 16 }, { 2, 48 } })
    -- what edges carry stays the same; each of k pieces sends the others its share of the gradients
    assert.near(m.bytes + 12 * 24 / 4 + 2 * 48 / 2, r:plan(m, 4).bytes, 1e-9)
    assert.equal(m.bytes, r:plan(m, 1).bytes)
  end)

  it("keeps to sizes that have a block within the largest, exactly", function()
    -- 2 x 2 x 2 has no block of 6
    local ops = { { 6, 8, 8 }, { 99, 8, 8 }, { 4, 8 } }
    local r = berth.ramp { quantum = 1 }
    local o = r:plan(r:model(chain(ops)), 8)
    assert.same({ 2 * (4 + 8 + 4), 8 }, { o.ops, #o.servers })
    assert.equal(2 * (6 + 8 + 4), cut(ops, 8).ops)
    -- 4 x 4 x 1 has one
    assert.equal(2 * (6 + 16 + 4), r:plan(r:model(chain(ops)), 16).ops)
  end)

  it("refuses odd numbers of pieces", function()
    assert.equal("ramp:plan: ramp: most pieces: expected 1 or an even number, got 3",
      message(cut, { { 1, 8 } }, 3))
    assert.equal("ramp:plan: most: 0 is out of range 1..2147483647", message(cut, { { 1, 8 } }, 0))
  end)

  it("has no block for more pieces than servers, however many", function()
    local o = cut({ { 1e300, 8, 8 }, { 1e300, 8 } }, 2147483646)
    assert.same({ placed = false, op = 1, pieces = 2147483646 }, o)
  end)
end)

describe("placing", function()
  local published = berth.ramp { compat = true, time_scale = 1, quantum = 1 }
  local exact = berth.ramp { quantum = 1 }
  local wide = { { 1000, 8 } }

  local function busy(list)
    local marks = {}
    for s = 1, 32 do marks[s] = 0 end
    for _, s in ipairs(list) do marks[s] = 1 end
    return marks
  end

  it("takes the first legal block", function()
    for k, shape in pairs { [1] = box(1, 1, 1), [2] = box(2, 1, 1), [4] = box(2, 2, 1),
      [6] = box(3, 1, 2), [8] = box(2, 2, 2),
      [16] = box(4, 4, 1), [18] = box(3, 3, 2), [32] = box(4, 4, 2) } do
      for _, r in ipairs { published, exact } do
        assert.same(shape, r:plan(r:model(chain(wide)), k).servers)
      end
    end
  end)

  it("goes on to the next origin, then to the next shape", function()
    local m = published:model(chain(wide))
    -- (2, 1, 1) from slot 1
    assert.same(servers { { 0, 0, 1 }, { 1, 0, 1 } },
      published:plan(m, 2, { busy = busy { 1 } }).servers)
    -- no two groups at one rack and slot are free: (1, 1, 2) is
    local odd = {}
    for s = 1, 32 do
      local group = math.floor((s - 1) / 8)
      if not (group == 1 and s >= 11 and s <= 12) then odd[#odd + 1] = s end
    end
    assert.same({ 11, 12 }, published:plan(m, 2, { busy = busy(odd) }).servers)
    -- only a diagonal is free
    local rest = {}
    for s = 1, 32 do
      if s ~= 1 and s ~= 11 and s ~= 21 and s ~= 31 then rest[#rest + 1] = s end
    end
    assert.same({ 1, 11, 21, 31 }, published:plan(m, 4, { busy = busy(rest) }).servers)
  end)

  it("reports the op without a block, and how many pieces it has", function()
    local m = published:model(chain { { 0, 8, 8 }, { 1000, 8 } })
    assert.same({ placed = false, op = 2, pieces = 10 }, published:plan(m, 10))
    local all = {}
    for s = 1, 32 do all[s] = true end
    assert.same({ placed = false, op = 1, pieces = 1 }, published:plan(m, 2, { busy = all }))
  end)

  it("uses a producer's servers again", function()
    local m = published:model(chain { { 1000, 8, 8 }, { 1000, 8, 8 }, { 1000, 8 } })
    assert.same(box(2, 2, 2), published:plan(m, 8).servers)
  end)

  it("lets ops of few pieces stray as published, and keeps them within the job exactly", function()
    -- servers 1 and 2 are free, but no block of 8 has them both: the first op, of one piece, takes
    -- 1
    local ops, taken = { { 0, 8, 8 }, { 1000, 8 } }, busy { 3, 4, 9, 10 }
    local m = published:model(chain(ops))
    local o = published:plan(m, 8, { busy = taken })
    assert.equal(9, #o.servers)
    assert.equal(1, o.servers[1])
    o = exact:plan(exact:model(chain(ops)), 8, { busy = taken })
    assert.equal(8, #o.servers)
  end)

  it("counts the memory of the forward op as published, of both exactly", function()
    local ops = { { 1000, 60, 0 } }
    for compat, fits in pairs { [true] = true, [false] = false } do
      local r = berth.ramp { compat = compat, time_scale = 1, quantum = 1, memory = 31 }
      assert.equal(fits, r:plan(r:model(chain(ops)), 2).placed)
    end
    local r = berth.ramp { quantum = 1, memory = 60 }
    assert.is_true(r:plan(r:model(chain(ops)), 2).placed)
  end)

  it("takes the block that is given, if it is free", function()
    local r, m = published, published:model(chain(wide))
    assert.same({ 2, 10 }, r:plan(m, 2, { block = { 2, 10 } }).servers)
    assert.same({ placed = false, op = 1, pieces = 2 },
      r:plan(m, 2, { block = { 2, 10 }, busy = busy { 10 } }))
    assert.equal("ramp:plan: ramp: 2 servers from server 10 on are no legal block",
      message(r.plan, r, m, 2, { block = { 10, 2 } }))
    assert.equal("ramp:plan: ramp: a block of 1 servers for ops with 2 pieces",
      message(r.plan, r, m, 2, { block = { 10 } }))
    assert.equal("ramp:plan: block[2]: there is no server 33 (ids are 1..32)",
      message(r.plan, r, m, 2, { block = { 1, 33 } }))
  end)

  it("marks busy servers by booleans, or by 0 and 1", function()
    local r, m = published, published:model(chain(wide))
    assert.equal("ramp:plan: busy: has 1 entries, expected 32 (one per server)",
      message(r.plan, r, m, 2, { busy = { 1 } }))
    local marks = busy {}
    marks[4] = 2
    assert.equal("ramp:plan: busy: [4]: expected 0 or 1, got 2",
      message(r.plan, r, m, 2, { busy = marks }))
    marks[4] = "free"
    assert.equal("ramp:plan: busy: [4]: expected true, false, 0 or 1, got string",
      message(r.plan, r, m, 2, { busy = marks }))
    assert.equal("ramp:plan: model: expected a ramp model, got nil", message(r.plan, r))
  end)

  it("can be all that is computed", function()
    local m = published:model(chain(wide))
    assert.same({ placed = true, pieces = 2, servers = { 1, 9 }, ops = 4 },
      published:plan(m, 2, { look = false }))
  end)
end)

describe("looking ahead", function()
  it("runs one piece at a time on a server, the shortest first", function()
    -- one server: the sum; nothing is sent
    local r = berth.ramp { compat = true, time_scale = 1 }
    local o = r:plan(r:model(chain { { 4, 24, 16 }, { 2, 48 } }), 1)
    assert.same({ 12, 12, 0, 0 }, { o.step, o.compute, o.communication, o.flows })
  end)

  it("waits for what is sent, and for the synchronisation", function()
    -- a, 4 s, on two servers of two groups; a' 2 s: 2 + all-reduce + 1 + synchronisation of the two
    -- pieces of a'
    local r = berth.ramp { compat = true, time_scale = 1, quantum = 1 }
    local o = r:plan(r:model(chain { { 4, 8e8, 0, 2 } }), 2)
    local pair = servers { { 0, 0, 0 }, { 1, 0, 0 } }
    -- a -> a': 4 dependencies of 800 MB / 4, together 800 MB; synchronisation: both ways 400 MB
    local reduce, sync = r:collective(pair, 8e8), r:collective(pair, 8e8)
    assert.near(2 + reduce + 1 + sync, o.step, 1e-12)
    assert.near(3, o.compute, 1e-12)
    assert.near(reduce + sync, o.communication, 1e-12)
    assert.same({ 2, 4, 6, 4 }, { #o.servers, o.ops, o.deps, o.flows })
    assert.equal(2, o.channels)
  end)

  it("adds up the gradients of the parameters once, exactly", function()
    local r = berth.ramp { quantum = 1 }
    local o = r:plan(r:model(chain { { 4, 8e8, 0, 2 } }), 2)
    -- a -> a' carries nothing
    assert.near(2 + 1 + r:collective({ 1, 9 }, 8e8), o.step, 1e-12)
  end)

  it("is over at once if nothing takes time", function()
    for _, compat in ipairs { true, false } do
      local r = berth.ramp { compat = compat }
      local o = r:plan(r:model(chain { { 0, 0, 0 }, { 0, 0 } }), 16)
      assert.same({ 0, 1, 1, 4, 3 }, { o.step, #o.servers, o.pieces, o.ops, o.deps })
    end
  end)

  it("refuses times without end", function()
    local r = berth.ramp { bandwidth = 1e-300, quantum = 1 }
    local m = r:model(chain { { 1, 1e10, 0 } })
    assert.equal("ramp:plan: ramp: a step takes longer than can be counted",
      message(r.plan, r, m, 2))
  end)
end)

describe("a closed cluster", function()
  it("says so, and may be closed by a hook while it plans", function()
    local r = berth.ramp()
    local m = r:model(chain { { 1, 8 } })
    r:close()
    r:close()
    assert.equal("ramp: closed", tostring(r))
    for _, name in ipairs { "transfer", "collective", "legal", "model", "plan" } do
      assert.matches("the ramp is closed", message(r[name], r, 1, 1))
    end
    for _, name in ipairs { "servers", "options", "compat" } do
      assert.matches("the ramp is closed", message(function() return r[name] end))
    end
    m:close()
    assert.equal("ramp model: closed", tostring(m))
    for _, name in ipairs { "sequential", "memory", "bytes", "graph", "ramp" } do
      assert.matches("the ramp model is closed", message(function() return m[name] end))
    end
  end)

  -- 200 ops of 128 pieces: large enough for the hook to be called
  local function large()
    local ops = {}
    for i = 1, 200 do ops[i] = { i, 8, 8 } end
    local r = berth.ramp { compat = true, time_scale = 1, quantum = 1e-3, groups = 1, racks = 1,
      slots = 128 }
    return r, r:model(chain(ops))
  end

  it("goes on when a hook closes it, or plans on it", function()
    local r, m = large()
    local want, small, n_calls = r:plan(m, 128), nil, 0
    berth.hooks { interrupt = function()
      n_calls = n_calls + 1
      if n_calls == 1 then small = r:plan(m, 2).pieces end
      if n_calls == 2 then
        m:close()
        r:close()
      end
    end }
    local ok, o = pcall(r.plan, r, m, 128)
    berth.hooks {}
    assert.is_true(ok, o)
    assert.is_true(n_calls >= 2, n_calls)
    assert.same({ want.step, want.ticks, 2 }, { o.step, o.ticks, small })
  end)

  it("stops when a hook says so", function()
    local r, m = large()
    berth.hooks { interrupt = function() error("enough", 0) end }
    local ok, text = pcall(r.plan, r, m, 128)
    berth.hooks {}
    assert.is_false(ok)
    assert.equal("enough", text)
    assert.equal(2, r:plan(m, 2).pieces)
  end)

  -- Two ops of 10 and 30 ms, 800 bytes between them, 400 bytes of parameters, in 4 pieces: each
  -- sends its 200 bytes to the next op on its own server, and holds all parameters. What remains is
  -- the sum of 400 bytes of gradients.
  it("cuts along the batch where tensors have it", function()
    local r = berth.ramp()
    local function plan(flag, given)
      local g = assert(berth.graph {
        ops = { { seconds = 10e-3, params = 400 }, { seconds = 30e-3 } },
        tensors = { { from = 1, to = { 2 }, bytes = 800, batch = flag } } })
      return r:plan(r:model((g:mirror { ratio = 1 }), given), 4)
    end
    local along, whole = plan(true), plan(true, { batch = false })
    assert.near(80e-3 / 4 + r:collective(along.servers, 400), along.step, 1e-15)
    assert.equal(2 * (800 + 4 * 400), along.memory)
    assert.equal(4 * 3, along.flows)
    assert.same(plan(false), whole)
    assert.is_true(whole.step > along.step)
    assert.is_false((pcall(function()
      local published = berth.ramp { compat = true }
      local g = assert(berth.graph { ops = { { seconds = 1 } } })
      assert(published:model((g:mirror()), { batch = true }))
    end)))
  end)

  it("takes what mirror gives, and prints plans", function()
    local r = berth.ramp()
    local g = assert(berth.graph { ops = { { seconds = 1e-3, params = 8 }, { seconds = 1e-3 } },
      edges = { { 1, 2, 8 } } })
    local m = r:model(g:mirror { ratio = 2 })
    assert.equal(r:model((g:mirror { ratio = 2 })).sequential, m.sequential)
    assert.equal("ramp plan: 1 pieces on 1 servers, 6 ms a step", tostring(r:plan(m, 1)))
    assert.equal("ramp plan: 2 pieces on 2 servers", tostring(r:plan(m, 2, { look = false })))
    local busy = {}
    for k = 1, r.servers do busy[k] = true end
    assert.truthy(tostring(r:plan(m, 2,
      { busy = busy })):find "^ramp plan: not placed: op %d in 2 pieces$")
    assert.is_false((pcall(r.model, r, (g:mirror()), { "order" })))
  end)
end)
