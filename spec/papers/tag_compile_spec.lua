-- TAG's graph compiler (section 6) by hand: what it inserts, what crosses, and step times.
local berth = require "berth"
local tag = require "support.tag_problem"
local tag_checker = require "support.tag_checker"

local us = 1e-6

local function mesh(devices, bandwidth, memory_bandwidth)
  return berth.topology.mesh(devices,
    { bandwidth = bandwidth, latency = 12 * us, memory_bandwidth = memory_bandwidth })
end

local function compile(d, s)
  local c = assert(d:compile(s))
  local seconds = tag.run(c).makespan
  assert.near(seconds, d:evaluate(s).seconds, 1e-12)
  return c, seconds / us
end

describe("one layer on several devices", function()
  -- at batch 4 on one device: 40 ms forward, 20 ms for the gradient, 1 ms update
  local function layer(gradient, y)
    return tag.layer { forward = 40e-3, backward = 20e-3, update = 1e-3, x = y or 400, y = y or 400,
      gradient = gradient }
  end
  local function problem(devices, gradient, o, y)
    o.batch, o.op_groups, o.physics = o.batch or 4, 1, o.physics or "calibrated"
    return assert(berth.deploy.problem(layer(gradient, y),
      mesh(devices, o.physics == "published" and 2810e6 or 1e9, 3e9), o))
  end

  it("takes the sum of its times on one", function()
    local d = problem(2, 1.9e6, {})
    local c, step = compile(d, tag.uniform(d, { 2 }, "ps"))
    assert.same({ replica = 4 }, tag.parts(c))
    assert.same({ 2, 2, 2, 2 }, c.devices)
    assert.equal(0, (tag.crossing(c)))
    assert.near(61000, step, 1e-6)
  end)

  it("shares the batch, reduces the gradient over two and updates on both", function()
    -- 20 + 10 ms; 2 * 1/2 * 1.9 MB / (1.9 * 1 GB/s) = 1 ms and 2 * 12 us; 1 ms
    local d = problem(2, 1.9e6, {})
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.same({ replica = 8 }, tag.parts(c)) -- one gradient needs no bucket
    assert.equal(0, (tag.crossing(c)))
    assert.equal(1, c.graph.n_collectives)
    assert.equal(1.9e6, c.graph:collective(1).bytes) -- of full size in each member
    assert.near(32024, step, 1e-6)
  end)

  it("reduces over three in 4/3 S / (1.9 B) and four latencies", function()
    -- batch 6: 40/3 + 20/3 = 20 ms; 4/3 * 1.425 MB / 1.9 GB/s = 1 ms, 48 us; 1 ms
    local d = problem(3, 1.425e6, { batch = 6 })
    local c, step = compile(d, tag.uniform(d, { 1, 2, 3 }, "allreduce"))
    assert.same({ replica = 12 }, tag.parts(c))
    assert.near(22048, step, 1e-6)
  end)

  it("sums on a server and reads from there", function()
    -- 30 ms; 1 MB to the server 1012 us; 3 MB through memory at 3 GB/s 1 ms; back 1012 us; 1 ms
    local d = problem(2, 1e6, {})
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "ps"))
    assert.same({ replica = 8, sum = 1 }, tag.parts(c))
    assert.equal(2e6, (tag.crossing(c)))
    assert.near(34024, step, 1e-6)
    d = problem(2, 1e6, { free_auxiliary = true })
    assert.near(33024, select(2, compile(d, tag.uniform(d, { 1, 2 }, "ps"))), 1e-6)
  end)

  it("does all of it everywhere if told to", function()
    local d = problem(3, 1e6, { duplicates = true })
    local c, step = compile(d, tag.uniform(d, { 1, 2, 3 }, "duplicate"))
    assert.same({ replica = 12 }, tag.parts(c))
    assert.equal(0, c.graph.n_collectives)
    assert.equal(0, (tag.crossing(c)))
    assert.near(61000, step, 1e-6)
  end)

  it("gathers the factors of a gradient that is repeated", function()
    -- 20 ms; y: 1.9 MB of each: 1.9 MB / 1.9 GB/s + 12 us = 1012 us; 20 ms for all of the gradient;
    -- 1 ms
    local d = problem(2, 1.9e6, {}, 3.8e6)
    local s = tag.uniform(d, { 1, 2 }, "allreduce")
    s.duplicate = { 3 }
    local c, step = compile(d, s)
    local kinds = {}
    for k = 1, c.graph.n_collectives do
      kinds[k] = c.graph:collective(k).kind .. " " .. c.graph:collective(k).bytes / 1e6
    end
    assert.same({ "allgather 1.9", "allgather 1.9" }, kinds) -- x and y
    assert.equal(0, (tag.crossing(c)))
    assert.near(42012, step, 1e-6)
  end)

  it("takes the published times as published: half of the gradient counts", function()
    -- 30 ms; 2 MiB / 2 = 1 MiB by the lines at 2810: 496 us; 1 ms
    local d = problem(2, 2 ^ 21, { physics = "published" })
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.equal(2 ^ 20, c.graph:collective(1).bytes)
    assert.near(31496, step, 1e-6)
  end)

  it("sends halves to a published server, which takes no time, and all of the sum back", function()
    -- 30 ms; 2.81 MB: 1012 us; 5.62 MB: 2012 us; 1 ms
    local d = problem(2, 5.62e6, { physics = "published" })
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "ps"))
    assert.equal(2.81e6 + 5.62e6, (tag.crossing(c, 3)))
    assert.near(34024, step, 1e-6)
  end)

  it("concatenates the factors of a published repeated gradient on the first device", function()
    -- half of x is there at 1012 us, but its concatenation waits for device 1 until 20 ms, as that
    -- of y for the other half until 21012 us; over the link back all of x until 22012 us, then all
    -- of y until 24024 us; 20 ms; 1 ms
    local d = problem(2, 1e6, { physics = "published" }, 5.62e6)
    local s = tag.uniform(d, { 1, 2 }, "allreduce")
    s.duplicate = { 3 }
    local c, step = compile(d, s)
    assert.equal(0, c.graph.n_collectives)
    assert.same({ replica = 8, concat = 2 }, tag.parts(c))
    assert.equal(2.81e6 + 5.62e6, (tag.crossing(c, 2)))
    assert.near(45024, step, 1e-6)
  end)
end)

describe("two layers", function()
  -- at batch 4: 40 ms forward, 20 ms backward, 1 ms update, each; gradients of 0.95 MB
  local function problem(devices, o, sizes)
    sizes = sizes or {}
    o.batch, o.physics = o.batch or 4, o.physics or "calibrated"
    local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3,
      activation = sizes.activation or 400,
      back = sizes.back or 400, gradient = sizes.gradient or 0.95e6, gradient2 = sizes.gradient2,
        grouped = o.op_groups ~= 1 }
    return assert(berth.deploy.problem(g,
      mesh(devices, o.physics == "published" and 2810e6 or 1e9), o))
  end

  it("put the gradients of an op group in one bucket", function()
    -- 20 + 20 + 10 + 10 ms; 1.9 MB: 1 ms + 24 us; 1 + 1 ms
    local d = problem(2, { op_groups = 1 })
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.same({ replica = 14, bucket = 2 }, tag.parts(c))
    assert.equal(1.9e6, c.graph:collective(1).bytes)
    assert.equal(1, c.graph.n_collectives)
    assert.near(63024, step, 1e-6)
  end)

  it("reduce behind the backward pass, gradient by gradient", function()
    -- layer 2: 50..50.524 beside the backward op of layer 1, 50..60; update 60..61; layer 1:
    -- 60..60.524, update 61..62
    for _, o in ipairs { { op_groups = 1, bucket = "none" },
      { op_groups = 1, bucket = "bytes", bucket_bytes = 1e6 }, {} } do
      local d = problem(2, o)
      local c, step = compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))
      assert.same({ replica = 14 }, tag.parts(c))
      assert.equal(2, c.graph.n_collectives)
      assert.near(62000, step, 1e-6)
    end
  end)

  it("do so as published, and its queue of collectives is one", function()
    -- 2 MiB / 2: 496 us each, 50..50.496 and 60..60.496; updates 60..61 and 61..62
    local d = problem(2, { physics = "published", op_groups = 1 }, { gradient = 2 ^ 21 })
    local c, step = compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.equal(2, c.graph.n_collectives)
    assert.near(62000, step, 1e-6)
  end)

  it("share links among their collectives", function()
    -- layer 2: 28.5 MB, 50..65.024; layer 1: 9.5 MB, ready at 60, on the same links 65.024..70.048;
    -- update until 71.048
    local d = problem(2, {}, { gradient = 9.5e6, gradient2 = 28.5e6 })
    assert.near(71048, select(2, compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))), 1e-6)
    -- published: 16 MiB: halves of 8 MiB, 0.27767 * 8192 + 211.92 = 2486 us each, from 50 and 60
    -- ms: no wait; update until 63.486
    d = problem(2, { physics = "published" }, { gradient = 2 ^ 24 })
    assert.near(60000 + 2486 + 1000,
      select(2, compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))), 1e-6)
    -- 128 MiB in layer 2: 64 MiB, 18409 us: 50..68.409, then those of layer 1 until 70.895; update
    -- until 71.895
    d = problem(2, { physics = "published" }, { gradient = 2 ^ 24, gradient2 = 2 ^ 27 })
    assert.near(50000 + 18409 + 2486 + 1000,
      select(2, compile(d, tag.uniform(d, { 1, 2 }, "allreduce"))), 1e-6)
  end)

  it("have servers in turn", function()
    local d = problem(3, { op_groups = 1, batch = 6, sets = { { 2, 3 } } })
    local c = compile(d, tag.uniform(d, { 2, 3 }, "ps"))
    local server = {}
    for i, part in ipairs(c.part) do
      if part == "sum" then server[c.origin[i]] = c.devices[i] end
    end
    -- variable 0 (update 6) on the first of the set, 1 (update 7) on the second
    assert.same({ [4] = 2, [5] = 3 }, server)
  end)

  it("run on a device each, with what goes there and back", function()
    -- 40; 1 MB: 1.012; 40 + 20; 2 MB: 2.012; 20 + 1
    local d = problem(2, {}, { activation = 1e6, back = 2e6 })
    local s = tag.uniform(d, { 1 }, "ps")
    s.action[d:group_of()[3]] = tag.action(d, { 2 }, "ps")
    local c, step = compile(d, s)
    assert.same({ replica = 7 }, tag.parts(c))
    assert.equal(3e6, (tag.crossing(c)))
    assert.near(124024, step, 1e-6)
  end)

  it("are distributed whole by SPLIT, colocation groups together", function()
    local d = problem(2, { op_groups = 1 })
    local c = compile(d, tag.uniform(d, { 1, 2 }, "split"))
    assert.same({ replica = 7 }, tag.parts(c))
    assert.equal(0, c.graph.n_collectives)
    for i = 1, 7 do assert.equal(4, c.samples[i]) end
    local ops = { { kind = "Placeholder", seconds = 0 } }
    for i = 2, 5 do ops[i] = { seconds = 10e-3, group = i < 4 and 1 or 2 } end
    local chain = assert(berth.graph { ops = ops,
      edges = { { 1, 2, 8 }, { 2, 3, 1e6 }, { 3, 4, 1e6 }, { 4, 5, 1e6 } } })
    d = assert(berth.deploy.problem(chain, mesh(2, 1e9), { batch = 4, op_groups = 1 }))
    local step
    c, step = compile(d, tag.uniform(d, { 1, 2 }, "split"))
    assert.equal(c.devices[2], c.devices[3])
    assert.equal(c.devices[4], c.devices[5])
    assert.is_true(c.devices[2] ~= c.devices[4])
    -- 40 ms and one transfer of 1 MB (that of 8 bytes may be another one)
    assert.near(41012, step, 1e-6 + 0.1)
  end)
end)

describe("tied weights, one variable that two op groups read", function()
  -- y1 = x w, y2 = y1 w; the two parts of the gradient of w are added up before the update. Times
  -- at batch 4.
  local function problem(o)
    o.batch, o.op_groups, o.sets = 4, 20, { { 1, 2 }, { 1 }, { 2 } }
    return assert(berth.deploy.problem(assert(berth.graph {
      ops = { { name = "x", kind = "input", seconds = 0 },
        { name = "w", kind = "variable", seconds = 0, params = 1.9e6, group = 1 },
        { name = "y1", kind = "matmul", seconds = 40e-3 },
        { name = "y2", kind = "matmul", seconds = 40e-3 },
        { name = "dy1", kind = "matmul", seconds = 20e-3, backward = true },
        { name = "dw2", kind = "matmul", seconds = 20e-3, backward = true },
        { name = "dw1", kind = "matmul", seconds = 20e-3, backward = true },
        { name = "dw", kind = "add", seconds = 4e-3, backward = true },
        { name = "up", kind = "update", seconds = 1e-3, update = true, group = 1 } },
      tensors = { { from = "x", to = { "y1", "dw1" }, bytes = 400, batch = true },
        { from = "w", to = { "y1", "y2", "dy1", "up" }, bytes = 1.9e6, resident = 0 },
        { from = "y1", to = { "y2", "dw2" }, bytes = 400, batch = true },
        { from = "y2", to = { "dy1", "dw2" }, bytes = 400, batch = true },
        { from = "dy1", to = { "dw1" }, bytes = 400, batch = true },
        { from = "dw2", to = { "dw" }, bytes = 1.9e6 },
        { from = "dw1", to = { "dw" }, bytes = 1.9e6 },
        { from = "dw", to = { "up" }, bytes = 1.9e6, gradient = true } },
    }), mesh(2, 1e9, 3e9), o))
  end

  local function checked(d, s)
    local c, step = compile(d, s)
    assert(tag_checker.check(d, s, c))
    return c, step
  end

  -- The op groups of y1 and of y2 apart, and the others.
  local function apart(d, y1, y2, others)
    local s = tag.uniform(d, { 1, 2 }, others)
    s.action[d:group_of()[3]], s.action[d:group_of()[4]] = y1, y2
    return s
  end

  it("are one op group with their gradient, which readers elsewhere leave alone", function()
    local d = problem {}
    local of = d:group_of()
    for _, op in ipairs { 6, 7, 8, 9 } do assert.equal(of[2], of[op]) end
    assert.is_true(of[3] ~= of[2] and of[4] ~= of[2] and of[3] ~= of[4])
    for g, group in ipairs(d:groups()) do assert.equal(g == of[2], group.reduces) end
  end)

  it("have their gradient reduced once, as the sum of its parts", function()
    -- half of 40 + 40 + 20 + 20 + 20; 4 for the sum, which has the full size on each; 1.024 for the
    -- AllReduce; 1
    for _, physics in ipairs { "calibrated", "compat", "published" } do
      local d = problem { physics = physics }
      local c, step = checked(d, tag.uniform(d, { 1, 2 }, "allreduce"))
      assert.equal(1, c.graph.n_collectives)
      assert.equal(physics == "published" and 0.95e6 or 1.9e6, c.graph:collective(1).bytes)
      assert.equal(2, #c.graph:collective(1).members)
      assert.equal(0, (tag.crossing(c)))
      if physics == "calibrated" then assert.near(76024, step, 1e-6) end
    end
  end)

  it("have it summed once by a parameter server, and made once by repeated ops", function()
    local d = problem {}
    local c = checked(d, tag.uniform(d, { 1, 2 }, "ps"))
    assert.same({ replica = 18, sum = 1 }, tag.parts(c))
    -- a partial gradient to the server, the sum to the other replica
    assert.equal(2 * 1.9e6, (tag.crossing(c)))
    local s = tag.uniform(d, { 1, 2 }, "allreduce")
    s.duplicate = { 6, 7, 8 }
    c = checked(d, s)
    assert.equal(0, tag.parts(c).sum or 0)
    for k = 1, c.graph.n_collectives do assert.equal("allgather", c.graph:collective(k).kind) end
  end)

  it("go to readers on other devices, and no gradient comes back from there", function()
    local d = problem {}
    for _, option in ipairs { "allreduce", "ps" } do
      local s = apart(d, tag.action(d, { 1 }, "ps"), tag.action(d, { 2 }, "ps"), option)
      local c = checked(d, s)
      assert.equal(option == "allreduce" and 1 or 0, c.graph.n_collectives)
      assert.equal(option == "ps" and 1 or nil, tag.parts(c).sum)
    end
    -- w alone on the first device: to the second with both readers there, once; activations and
    -- their gradients between
    local s = apart(d, tag.action(d, { 2 }, "ps"), tag.action(d, { 2 }, "ps"), "allreduce")
    for g in ipairs(s.action) do
      if g ~= d:group_of()[3] and g ~= d:group_of()[4] then
        s.action[g] = tag.action(d, { 1 }, "ps")
      end
    end
    local c = checked(d, s)
    assert.equal(0, c.graph.n_collectives)
    assert.equal(1.9e6 + 3 * 400, (tag.crossing(c))) -- w, x; y1 and y2 back
  end)
end)
