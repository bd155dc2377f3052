-- berth.expand: collectives as transfers, which the simulator takes.
local berth = require "berth"
local errors = require "support.errors"

local refused, raises = errors.refused, errors.raises

-- A backward op per device and an all-reduce of them, then an update per device.
local function step(n, bytes)
  local ops, members, consumers = {}, {}, {}
  for i = 1, n do
    ops[i], members[i] = { name = "backward" .. i, seconds = 1 }, i
    ops[n + i], consumers[i] = { name = "update" .. i, seconds = 0.5 }, n + i
  end
  return berth.graph { ops = ops,
    collectives =
      { { kind = "allreduce", bytes = bytes, members = members, consumers = consumers } } }
end

local function both(n)
  local devices = {}
  for i = 1, n do devices[i], devices[n + i] = i, i end
  return devices
end

describe("expand", function()
  it("gives a graph without collectives, its devices, and what each op is there for", function()
    local g, t = step(2, 8), berth.topology.mesh(2, { bandwidth = 4, latency = 0.5 })
    local h, devices, origins = berth.expand(g, t, both(2))
    assert.equal(0, h.n_collectives)
    assert.equal(4 + 2 + 4, #h) -- two that wait for members, two steps on two devices
    assert.equal(#h, #devices)
    assert.equal("allreduce0.in", h:op(5).name)
    assert.equal("allreduce", h:op(5).kind)
    assert.equal(devices[5], h:op(5).pin)
    assert.same({ false, false, false, false, 1, 1 },
      { origins[1], origins[2], origins[3], origins[4], origins[5], origins[#h] })
    assert.near(1 + 2 * (0.5 + 1) + 0.5,
      berth.simulate(h, t, devices, { links = "duplex" }).makespan, 1e-12)
    assert.near(1 + 2 * (0.5 + 1) + 0.5, berth.simulate(h, t, devices, { links = "fair" }).makespan,
      1e-12)
  end)

  it("takes a placement", function()
    local g, t = step(3, 9), berth.topology.mesh(3, { bandwidth = 4, latency = 0.5 })
    local p = assert(berth.place(g, t, "round-robin"))
    local h, devices = berth.expand(g, t, p)
    for i = 1, #g do assert.equal(p[i], devices[i]) end
    assert.is_true(berth.simulate(h, t, devices).makespan > 0)
  end)

  it("finds groups, and crosses between machines less", function()
    local g = step(8, 8e6)
    local t = berth.topology.two_level(2, 4, { bandwidth = 100e6, between_bandwidth = 10e6 })
    local took = {}
    for _, how in ipairs { "ring", "tree", "halving", "hierarchical", "direct" } do
      local h, devices = berth.expand(g, t, both(8), { algorithm = how })
      took[how] = berth.simulate(h, t, devices, { links = "fair" }).makespan
    end
    local h, devices = berth.expand(g, t, both(8),
      { algorithm = "hierarchical", groups = { 1, 1, 1, 1, 2, 2, 2, 2 } })
    assert.near(took.hierarchical, berth.simulate(h, t, devices, { links = "fair" }).makespan,
      1e-12)
    assert.is_true(took.hierarchical <= took.direct and took.hierarchical < took.tree)
  end)

  it("adds up at a rate, and passes a broadcast on in segments", function()
    local g, t = step(2, 8), berth.topology.mesh(2, { bandwidth = 4, latency = 0.5 })
    local h, devices = berth.expand(g, t, both(2), { reduce_rate = "2 B/s" })
    assert.near(1 + 2 * (0.5 + 1) + 2 + 0.5,
      berth.simulate(h, t, devices, { links = "duplex" }).makespan, 1e-12)
    local b = berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "broadcast", bytes = 8, members = { 1, 2 }, consumers = {} } } }
    assert.equal(2 + 2 + 3, #berth.expand(b, t, { 1, 2 }, { segments = 3 }))
  end)

  it("refuses wrong arguments", function()
    local g, t = step(2, 8), berth.topology.mesh(2, { bandwidth = 4, latency = 0.5 })
    raises("berth.expand: placement: places 1 ops, but the graph has 4", berth.expand, g, t, { 1 })
    raises("berth.expand: placement", berth.expand, g, t, { 1, 2, 3, 1 })
    raises("expected a placement or an array of device ids", berth.expand, g, t, "etf")
    raises("berth.expand: groups: 1 groups for 2 devices", berth.expand, g, t, both(2),
      { groups = { 1 } })
    raises("algorithm", berth.expand, g, t, both(2), { algorithm = "star" })
    raises("segments", berth.expand, g, t, both(2), { segments = 0 })
    raises("unknown option 'group'", berth.expand, g, t, both(2), { group = {} })
    raises("support/errors", berth.expand, g, t)
    local pinned = berth.graph { ops = { { seconds = 1, pin = 2 } } }
    refused("invalid", "expand: op 1 is pinned to device 2, not device 1",
      berth.expand(pinned, t, { 1 }))
  end)

  it("lets what it adds run beside long ops", function()
    local g = berth.graph {
      ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 1 },
        { name = "long", seconds = 9 },
        { name = "c", seconds = 1 } },
      edges = { { "b", "long", 0 } },
      collectives =
      { { kind = "allreduce", bytes = 8, members = { "a", "b" }, consumers = { "c" } } },
    }
    local t = berth.topology.mesh(2, { bandwidth = 4, latency = 0.5 })
    local h, devices = berth.expand(g, t, { 1, 2, 2, 1 })
    assert.is_true(h:op(#h).communication)
    assert.is_false(h:op(3).communication)
    local r = berth.simulate(h, t, devices, { links = "duplex" })
    assert.near(1 + 2 * (0.5 + 1) + 1, r.finish[4], 1e-12) -- device 2 computes all the while
    assert.near(2, r.busy[1], 1e-12)
  end)

  for _, format in ipairs { "json", "graphml" } do
    it("keeps communication and collectives in a " .. format .. " file", function()
      local kinds = { "allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "barrier",
        "parameter-server" }
      local collectives = {}
      for k, kind in ipairs(kinds) do
        collectives[k] = { kind = kind, bytes = kind == "barrier" and 0 or 8 * k,
          members = { 2, 1 }, consumers = { 3 } }
      end
      local g = berth.graph {
        ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 1 },
          { name = "c", seconds = 1, communication = true } },
        collectives = collectives,
      }
      local path = os.tmpname() .. "." .. format
      assert(g:save(path))
      local back = assert(berth.load(path))
      os.remove(path)
      assert.equal(#kinds, back.n_collectives)
      assert.is_true(back:op(3).communication)
      for k = 1, #kinds do assert.same(g:collective(k), back:collective(k)) end
    end)
  end
end)
