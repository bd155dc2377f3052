-- Values of TAG's strategies by hand: feedback (7), features (8), repeated gradients (10).
local berth = require "berth"
local tag = require "support.tag_problem"

local us = 1e-6

describe("what the simulation tells of a strategy", function()
  it("is makespan and idle time of ops, busy shares of devices and links", function()
    -- 2 : 1 and batch 8: 40 ms forward, 20 ms backward. Device 1: 0..10, 10..15; device 2: 0..20,
    -- 20..30; device 2 sends 1 MB 30..31, the sum on device 1 takes no time (no memory bandwidth
    -- given), 31..32 back; update 0.5 ms on device 1 from 31, 1 ms on 2 from 32
    local t = assert(berth.topology { devices = { { name = "a", speed = 2 }, { name = "b" } },
      links = { { "a", "b", bandwidth = 1e9 } } })
    local g = tag.layer { forward = 40e-3, backward = 20e-3, update = 1e-3, x = 8, y = 8,
      gradient = 1e6 }
    local d = assert(berth.deploy.problem(g, t, { batch = 8, op_groups = 1 }))
    local f = d:feedback(tag.uniform(d, { 1, 2 }, "ps", "even"))
    assert.near(33e-3, f.seconds, 1e-12)
    -- op 3: from 10 to the sum at 31; op 4: 31..33
    for op, makespan in ipairs { 0, 20e-3, 21e-3, 1.5e-3 + 0.5e-3 } do
      assert.near(makespan, f.makespan[op], 1e-12)
      assert.near(0, f.idle_after[op], 1e-12)
    end
    assert.near(15.5 / 33, f.busy[1], 1e-9)
    assert.near(31 / 33, f.busy[2], 1e-9)
    assert.near(1 / 33, f.link_busy[1], 1e-9)
    assert.near(1 / 33, f.link_busy[2], 1e-9)
  end)

  it("tells how long what an op makes lies idle", function()
    -- on one device, longest way to the end first: 1 (10 + 5), 3 (8), 2 (5): 0..10, 10..18, 18..23;
    -- op 2 waits 8 for the device
    local g = assert(berth.graph { ops = { { seconds = 10 }, { seconds = 5 }, { seconds = 8 } },
      edges = { { 1, 2, 4 } } })
    local d = assert(berth.deploy.problem(g, berth.topology.mesh(1), { batch = 2 }))
    local f = d:feedback(tag.uniform(d, { 1 }, "ps"))
    assert.near(23, f.seconds, 1e-12)
    assert.same({ 8, 0, 0 }, f.idle_after)
    assert.same({ 10, 5, 8 }, f.makespan)
  end)

  it("repeats a gradient whose factors are small, and no other", function()
    -- 1024 x 1024, batch 6: AllReduce 2^22 / (1.9 * 2810) + 24 = 809.6 us; repeated: 20 us more and
    -- two times 12288 / 5339 + 12 us
    local function problem(factor, gradient)
      local g = tag.layer { forward = 60 * us, backward = 40 * us, update = 10 * us, x = factor,
        y = factor, gradient = gradient }
      local t = berth.topology.mesh(2, { bandwidth = 2810e6, latency = 12 * us })
      local d = assert(berth.deploy.problem(g, t,
        { batch = 6, op_groups = 1, physics = "calibrated" }))
      return d, tag.uniform(d, { 1, 2 }, "allreduce")
    end
    local d, s = problem(24576, 2 ^ 22)
    assert.same({ 3 }, d:repeated(s, "local"))
    assert.same({ 3 }, d:repeated(s, "cut"))
    assert.same({}, d:repeated(s, "none"))
    local gather = 12288 / (1.9 * 2810) + 12
    assert.near(30 + 20 + 2 ^ 22 / (1.9 * 2810) + 24 + 10, d:evaluate(s).seconds / us, 1e-6)
    s.sfb = "local"
    -- x is gathered while op 2 runs
    assert.near(30 + gather + 40 + 10, d:evaluate(s).seconds / us, 1e-6)
    d, s = problem(4e7, 4096)
    assert.same({}, d:repeated(s, "local"))
    assert.same({}, d:repeated(s, "cut"))
  end)
end)

describe("features of a strategy", function()
  -- two layers of 40 + 20 + 1 ms at batch 8; device a twice as fast as b and c; 1 GB/s to a, 2 GB/s
  -- between b and c
  local t = assert(berth.topology {
    devices = { { name = "a", speed = 2, memory = 1e9 }, { name = "b", memory = 5e8 },
      { name = "c", memory = 5e8 } },
    links = { { "a", "b", bandwidth = 1e9 }, { "a", "c", bandwidth = 1e9 },
      { "b", "c", bandwidth = 2e9 } } })
  local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3, activation = 4e5,
    back = 8e5, gradient = 1e6,
    grouped = true }
  local d = assert(berth.deploy.problem(g, t, { batch = 8 }))
  local s = tag.uniform(d, { 1, 2, 3 }, "ps", "even")
  local f = d:features(s, { deciding = 2, decided = 1, scale = "raw" })
  local mean = 61e-3 * (1 / 2 + 1 + 1) / 3
  local norm = mean * math.sqrt(2) -- of the op groups' times; the input takes none
  local size = norm * 2e9          -- times the largest bandwidth

  it("are those of section 8 for op groups", function()
    local ours, other = d:group_of()[2], d:group_of()[3]
    local told = d:feedback(s)
    for group, ops in pairs { [ours] = { 2, 5, 7 }, [other] = { 3, 4, 6 } } do
      -- of 8, 4, 2 and 1 samples; the update does not depend on them
      for column, seconds in ipairs { 61, 31, 16, 8.5 } do
        assert.near(seconds * 1e-3 * 2.5 / 3 / norm, f.op:get(group, column), 1e-6)
      end
      assert.near(0, f.op:get(group, 5), 1e-9)
      -- gradient, and what goes from a forward to a backward op of the layer: 400 kB in layer 1, 4
      -- B in layer 2
      assert.near((group == ours and 1.4e6 or 1e6 + 4) / size, f.op:get(group, 6), 1e-6)
      assert.same({ 1, 0, 0 }, { f.op:get(group, 7), f.op:get(group, 8), f.op:get(group, 9) })
      local makespan, idle = 0, 0
      for _, op in ipairs(ops) do
        makespan, idle = makespan + told.makespan[op] / 3, idle + told.idle_after[op] / 3
      end
      assert.near(makespan / norm, f.op:get(group, 10), 1e-5)
      assert.near(idle / norm, f.op:get(group, 11), 1e-5)
      assert.equal(group == 1 and 1 or 0, f.op:get(group, 12))
      assert.equal(group == 2 and 1 or 0, f.op:get(group, 13))
    end
  end)

  it("are those of section 8 for devices, links and places", function()
    local told = d:feedback(s)
    for column, value in ipairs { 1 / 4, 1e9 / size } do
      assert.near(value, f.device:get(1, column), 1e-5)
    end
    local peak, busy = math.max(told.peaks[2], told.peaks[3]), (told.busy[2] + told.busy[3]) / 2
    for column, value in ipairs { 2 / 4, 5e8 / size, 1, peak / 5e8, busy } do
      assert.near(value, f.device:get(2, column), 1e-5)
    end
    assert.near(0.5, f.link:get(2, 1), 1e-6)
    assert.near(0.5, f.link:get(3, 1), 1e-6)
    assert.near(1, f.link:get(4, 1), 1e-6)
    -- op group 1, then 2, on a, then on b and c
    for column, seconds in ipairs { 61, 31, 16, 8.5 } do
      assert.near(seconds * 1e-3 / 2 / norm, f.place:get(1, column), 1e-6)
      assert.near(seconds * 1e-3 / norm, f.place:get(2, column), 1e-6)
    end
    assert.equal(1, f.place:get(1, 5))
  end)

  it("are bytes between op groups for edges", function()
    local group, seen = d:group_of(), {}
    local from, to = f.edge_from:totable(), f.edge_to:totable()
    for e = 1, f.edges do seen[from[e] .. ">" .. to[e]] = f.edge:get(e, 1) end
    assert.near(4e5 / size, seen[group[2] .. ">" .. group[3]], 1e-7)
    assert.near(8e5 / size, seen[group[3] .. ">" .. group[2]], 1e-7)
    assert.near(4 / size, seen[group[1] .. ">" .. group[2]], 1e-9)
    assert.equal(3, f.edges)
  end)
end)

describe("estimates", function()
  local function mesh(devices)
    return berth.topology.mesh(devices, { bandwidth = 1e9, latency = 12 * us })
  end

  it("of an action are time, sync and what crosses", function()
    local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3, activation = 1e6,
      back = 2e6, gradient = 1.9e6,
      grouped = true }
    local d = assert(berth.deploy.problem(g, mesh(2), { batch = 4, physics = "calibrated" }))
    local s, group = tag.uniform(d, { 2 }, "ps"), d:group_of()
    local cost = d:local_costs(s, group[2])
    assert.near(61e-3, cost[tag.action(d, { 2 }, "ps")], 1e-7)
    local away = cost[tag.action(d, { 1 }, "ps")] -- 1 MB and 2 MB cross, in either direction
    assert.is_true(away >= 63e-3 and away < 64.2e-3)
    -- halves: 31 ms, AllReduce 1.024 ms, 0.5 and 1 MB between device 1 and layer 2 on device 2
    local both = cost[tag.action(d, { 1, 2 }, "allreduce")]
    assert.is_true(both >= 31e-3 + 1.024e-3 + 1e-3 and both < 34e-3)
    -- the server has 1.9 MB to take and to give
    assert.is_true(cost[tag.action(d, { 1, 2 }, "ps")] > both)
  end)

  it("bound a layer on two devices by its way through both", function()
    local g = tag.layer { forward = 40e-3, backward = 20e-3, update = 1e-3, x = 4, y = 4,
      gradient = 4 }
    local d = assert(berth.deploy.problem(g, mesh(2), { batch = 4, op_groups = 1 }))
    -- path: 20 + 10 + 1; work: 30 + 1/2
    local seconds, which = d:bound()
    assert.near(31e-3, seconds, 1e-8)
    assert.equal("path", which)
    -- four ops of 10 ms that read the input, and nothing else: 20 ms of work on each, 5 ms on a
    -- path
    local ops, readers = { { kind = "Placeholder", seconds = 0 } }, {}
    for i = 2, 5 do ops[i], readers[i - 1] = { seconds = 10e-3 }, i end
    g = assert(berth.graph { ops = ops,
      tensors = { { from = 1, to = readers, bytes = 4, batch = true } } })
    d = assert(berth.deploy.problem(g, mesh(2), { batch = 4 }))
    seconds, which = d:bound()
    assert.near(20e-3, seconds, 1e-6)
    assert.equal("work", which)
    -- and it is attained
    assert.near(20e-3, d:evaluate(tag.uniform(d, { 1, 2 }, "ps")).seconds, 1e-9)
  end)
end)
