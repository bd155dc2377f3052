-- TAG's strategy space (5), times of batch parts (2.4), special cases of the compiler (6).
local berth = require "berth"
local tag = require "support.tag_problem"

local us = 1e-6

local function mesh(devices, o)
  o = o or {}
  o.bandwidth, o.latency = o.bandwidth or 1e9, o.latency or 12 * us
  return berth.topology.mesh(devices, o)
end

local function step(d, s)
  local c = assert(d:compile(s))
  local seconds = tag.run(c).makespan
  assert.near(seconds, d:evaluate(s).seconds, 1e-12)
  return seconds / us, c
end

local function layer(o)
  o = o or {}
  return tag.layer { forward = 40e-3, backward = 20e-3, update = 1e-3, x = o.x or 4, y = 4,
    gradient = o.gradient or 1.9e6 }
end

describe("TAG's actions", function()
  local function clusters(m)
    local groups, between = {}, {}
    for i = 1, m do
      groups[i], between[i] = { preset = "V100", count = 2, bandwidth = "8 GB/s" }, {}
      for k = 1, m do between[i][k] = 2.81e9 end
    end
    return berth.topology.groups { groups = groups, between = between }
  end

  it("are 3 (2^M - 1) for M groups of devices, and one for each single device", function()
    for m, actions in pairs { [2] = 9, [3] = 21, [4] = 45, [5] = 93 } do
      local d =
        assert(berth.deploy.problem(layer(), clusters(m), { batch = 4 * m, uneven = false }))
      assert.equal(actions + 2 * m, #d:actions())
      local alone = 0
      for _, action in ipairs(d:actions()) do
        if #d:sets()[action.set] == 1 then
          alone = alone + 1
          assert.equal("ps", action.option)
        end
      end
      assert.equal(2 * m, alone)
    end
  end)

  it("have shares by speed besides only where these differ", function()
    local d = assert(berth.deploy.problem(layer(), clusters(2), { batch = 8 }))
    assert.equal(9 + 4, #d:actions())
  end)

  it("leave replicas out that cannot have equal shares, if strict", function()
    local d =
      assert(berth.deploy.problem(layer(), mesh(2), { batch = 5, strict = true, op_groups = 1 }))
    for _, a in ipairs(d:legal(1)) do
      local option = d:actions()[a].option
      assert.is_true(#d:sets()[d:actions()[a].set] == 1 or option == "split")
    end
    d = assert(berth.deploy.problem(layer(), mesh(2), { batch = 6, strict = true, op_groups = 1 }))
    assert.equal(#d:actions(), #d:legal(1))
  end)
end)

describe("op groups", function()
  it("by top-k join the nearest of the k - 1 longest", function()
    -- a chain of 1, 9, 1, 1, 1, 8, 1 s; k = 3: ops 2 and 6; op 4 is as near to either
    local ops, tensors = { { kind = "Placeholder", seconds = 1 } }, {}
    for i, seconds in ipairs { 9, 1, 1, 1, 8, 1 } do
      ops[i + 1], tensors[i] = { seconds = seconds },
        { from = i, to = i + 1, bytes = 4, batch = true }
    end
    local g = assert(berth.graph { ops = ops, tensors = tensors })
    local group = assert(berth.deploy.problem(g, mesh(2),
      { batch = 4, op_groups = 3, grouping = "top-k" })):group_of()
    assert.same({ 1, 1, 1 }, { group[1], group[2], group[3] })
    assert.same({ 2, 2, 2 }, { group[5], group[6], group[7] })
  end)
end)

describe("times of a part of the batch", function()
  it("are on the line from nothing, or from what a launch takes", function()
    local d = assert(berth.deploy.problem(layer(), mesh(1), { batch = 4 }))
    assert.near(10e-3, d:op(2, 1, 1), 1e-12)
    assert.near(30e-3, d:op(2, 1, 3), 1e-12)
    assert.near(1e-3, d:op(4, 1, 1), 1e-12) -- an update does not depend on the batch
    -- 1 GFLOP at 1 TFLOP/s and 10 us: 1010 us; half of the batch: 10 + 500
    local g = assert(berth.graph { ops = { { kind = "Placeholder", seconds = 0 }, { flop = 1e9 } },
      tensors = { { from = 1, to = 2, bytes = 4, batch = true } } })
    d = assert(berth.deploy.problem(g, mesh(1, { flops = 1e12, overhead = 10 * us }),
      { batch = 4 }))
    assert.near(1010, d:op(2, 1, 4) / us, 1e-9)
    assert.near(510, d:op(2, 1, 2) / us, 1e-9)
  end)
end)

describe("special cases of the compiler", function()
  it("concatenate the rows of a sparse update", function()
    local function sparse()
      return assert(berth.graph {
        ops = { { kind = "Placeholder", seconds = 0 }, { seconds = 40e-3 },
          { seconds = 20e-3, backward = true },
          { kind = "ScatterSub", seconds = 1e-3, update = true } },
        tensors = { { from = 1, to = { 2, 3 }, bytes = 4, batch = true },
          { from = 2, to = 3, bytes = 4, batch = true },
          { from = 3, to = 4, bytes = 3.8e6, batch = true, gradient = true } },
      })
    end
    local d = assert(berth.deploy.problem(sparse(), mesh(2, { memory_bandwidth = 3e9 }),
      { batch = 4, op_groups = 1, physics = "calibrated" }))
    -- AllReduce: 1.9 MB of each are gathered: 1 ms + 12 us
    local time, c = step(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.equal("allgather", c.graph:collective(1).kind)
    assert.near(32012, time, 1e-6)
    -- PS: 1.9 MB to the server 1912 us, 7.6 MB through memory 2533.3 us, 3.8 MB back 3812 us
    time, c = step(d, tag.uniform(d, { 1, 2 }, "ps"))
    assert.equal(1, tag.parts(c).concat)
    assert.near(30000 + 1912 + 7600 / 3 + 3812 + 1000, time, 1e-6)
  end)

  it("reduce a gradient once for two updates", function()
    local g = assert(berth.graph {
      ops = { { kind = "Placeholder", seconds = 0 }, { seconds = 40e-3, backward = true },
        { seconds = 1e-3, update = true },
        { seconds = 1e-3, update = true } },
      tensors = { { from = 1, to = 2, bytes = 4, batch = true },
        { from = 2, to = { 3, 4 }, bytes = 1.9e6, gradient = true } },
    })
    local d = assert(berth.deploy.problem(g, mesh(2),
      { batch = 4, op_groups = 1, physics = "calibrated" }))
    local time, c = step(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.equal(1, c.graph.n_collectives)
    assert.equal(1.9e6, c.graph:collective(1).bytes)
    assert.equal(4, #c.graph:collective(1).consumers)
    assert.near(20000 + 1024 + 2000, time, 1e-6)
    time, c = step(d, tag.uniform(d, { 1, 2 }, "ps"))
    assert.equal(1, tag.parts(c).sum)
    assert.near(20000 + 1912 + 1912 + 2000, time, 1e-6)
  end)

  it("count variables over all op groups to find their server", function()
    local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3, activation = 4,
      back = 4, gradient = 1e6,
      grouped = true }
    local d = assert(berth.deploy.problem(g, mesh(3), { batch = 6 }))
    assert.is_true(d:group_of()[6] ~= d:group_of()[7])
    local _, c = step(d, tag.uniform(d, { 1, 2, 3 }, "ps"))
    local server = {}
    for i, part in ipairs(c.part) do
      if part == "sum" then server[c.origin[i]] = c.devices[i] end
    end
    assert.same({ [4] = 1, [5] = 2 }, server) -- gradients of update 6, which is variable 0, and 7
  end)

  it("reduce over the testbed at the pace of its slowest link", function()
    -- 16 devices: 30/16 * 2.8475 MB / (1.9 * 2.81 GB/s) = 1 ms, and 30 * 12 us; halves of nothing
    -- else
    local d = assert(berth.deploy.problem(layer { gradient = 1e-3 * 1.9 * 2.81e9 / 1.875 },
      berth.deploy.clusters.testbed(),
      { batch = 16, op_groups = 1, physics = "calibrated" }))
    local all, slowest = {}, 0
    for device = 1, 16 do all[device] = device end
    for device = 1, 16 do slowest = math.max(slowest, d:op(2, device, 1) + d:op(3, device, 1)) end
    local last = math.max(d:op(4, 1, 16), d:op(4, 5, 16), d:op(4, 13, 16))
    assert.near(slowest / us + 1360 + last / us,
      (step(d, tag.uniform(d, all, "allreduce", "even"))), 1e-3)
  end)

  it("have the input on the first device, if told to", function()
    -- x, 4 MB: half of it to device 2: 2012 us later the forward op there; 20 + 10 ms, AllReduce
    -- 1024 us, 1 ms
    local d = assert(berth.deploy.problem(layer { x = 4e6 }, mesh(2),
      { batch = 4, op_groups = 1, input_at_first = true, physics = "calibrated" }))
    local time, c = step(d, tag.uniform(d, { 1, 2 }, "allreduce"))
    assert.equal(2e6, (tag.crossing(c, 1)))
    assert.near(2012 + 32024, time, 1e-6)
  end)

  it("run what has the longest way to the end first, or first in, first out", function()
    -- both ready at 0 on device 1: op 1 (1 s, nobody waits), op 2 (1 s), for which op 3 on device 2
    -- waits (5 s)
    local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 5 } },
      edges = { { 2, 3, 4 } } })
    for order, seconds in pairs { rank = 6, fifo = 7 } do
      local d = assert(berth.deploy.problem(g, mesh(2, { latency = 0, bandwidth = 4e12 }),
        { batch = 4, order = order }))
      local s = tag.uniform(d, { 1 }, "ps")
      s.action[d:group_of()[3]] = tag.action(d, { 2 }, "ps")
      assert.near(seconds, step(d, s) * us, 1e-9)
    end
  end)

  it("update after the backward pass of the device", function()
    -- forward 0..80, backward of layer 2 80..100; then its update and the backward op of layer 1
    -- are ready: the latter is first
    local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3, activation = 4,
      back = 4, gradient = 4 }
    local d = assert(berth.deploy.problem(g, mesh(1), { batch = 4 }))
    local c = assert(d:compile(tag.uniform(d, { 1 }, "ps")))
    local r, start = tag.run(c), {}
    for i, op in ipairs(c.origin) do start[op] = r.start[i] end
    assert.near(100e-3, start[5], 1e-12)
    assert.near(120e-3, math.min(start[6], start[7]), 1e-12)
    assert.near(122e-3, r.makespan, 1e-12)
  end)

  it("hold parameters on every device of the set", function()
    local g = assert(berth.graph { ops = { { kind = "Placeholder", seconds = 0 },
      { seconds = 1, params = 6e6 } },
      tensors = { { from = 1, to = 2, bytes = 400, batch = true } } })
    local d = assert(berth.deploy.problem(g, mesh(3, { memory = 5e6 }),
      { batch = 4, sets = { { 1, 3 }, { 2 } } }))
    local v = d:evaluate(tag.uniform(d, { 1, 3 }, "allreduce"))
    assert.equal(2, v.over)
    assert.near(6e6, v.peaks[1], 1e3)
    assert.near(6e6, v.peaks[3], 1e3)
    assert.near(0, v.peaks[2], 1e-9)
    assert.near(1e6, v.shortfall, 1e3)
    v = d:evaluate(tag.uniform(d, { 2 }, "ps"))
    assert.equal(1, v.over)
    assert.equal(2, v.worst)
  end)
end)
