--- Collectives: priced by algorithms, simulated, reported.
local berth = require "berth"
local errors = require "support.errors"

local raised, refused = errors.raised, errors.refused

-- op 1 (1 s) on one device, op 2 (3 s) on another meet with `bytes`; then op 3 (2 s), op 4 (5 s).
local function pair(kind, bytes)
  return berth.graph {
    ops = { { seconds = 1 }, { seconds = 3 }, { seconds = 2, name = "after" }, { seconds = 5 } },
    collectives = { { kind = kind, bytes = bytes, members = { 1, 2 }, consumers = { 3, 4 } } },
  }
end

local function mesh(n) return berth.topology.mesh(n, { bandwidth = 1, latency = 0 }) end

describe("collectives", function()
  it("run in a step, and stand in the result", function()
    local r = assert(berth.simulate(pair("allreduce", 8), mesh(2), { 1, 2, 1, 2 }))
    assert.equal(16, r.makespan)
    local c = r.collectives[1]
    assert.same({ start = 3, finish = 11, seconds = 8, bytes = 8, last = 2, algorithm = "ring",
      devices = { 1, 2 } }, c)
    assert.same({ 8, 8, 0 }, { r.communication, r.exposed, r.overlapped })
    assert.same({ communication = 8, exposed = 8, overlapped = 0 }, r.overlap[1])
    assert.same({ bytes = 8, busy = 8, peak_sharing = 1 }, r.links[1])
    assert.same({ 2, 4 }, r:critical_path())
    assert.equal(2, r:slack()[1])
    local all = r:to_table()
    assert.same(r.collectives, all.collectives)
    assert.equal(8, all.exposed)
    assert.is_truthy(r:trace():find('"name": "allreduce 0"', 1, true))
  end)

  it("cost nothing on one device, and push and pull with a parameter server", function()
    local g = pair("parameter-server", 8)
    assert.equal("parameter-server", g:collective(1).kind)
    assert.equal(11, berth.simulate(g, mesh(2), { 1, 1, 1, 1 }).makespan)
    assert.equal(3 + 16 + 5, berth.simulate(g, mesh(2), { 1, 2, 1, 2 }).makespan)
    local again = assert(berth.parse(g:to_string()))
    assert.equal("parameter-server", again:collective(1).kind)
  end)

  it("are priced by the algorithm of the cost", function()
    local g, t = pair("allreduce", 8 * 1024),
      berth.topology.mesh(2, { bandwidth = 1024, latency = 1 })
    for algorithm, seconds in pairs { ring = 2 + 8, tree = 2 * 9, halving = 2 + 8,
      hierarchical = 10, auto = 10 } do
      local c = assert(berth.cost(g, t, { collective_algorithm = algorithm }))
      local price, how = c:collective(1, { 1, 2 })
      assert.near(seconds, price, 1e-12)
      assert.equal(algorithm == "auto" and "ring" or algorithm, how)
    end
    local lines = assert(berth.cost(g, t,
      { collective_algorithm = "lines", collective_lines = { 10, 5.5, 1, 100 } }))
    assert.near(108e-6, (lines:collective(1, { 1, 2 })), 1e-15)
    assert.near(3 + 108e-6 + 5, assert(berth.simulate(lines, { 1, 2, 1, 2 })).makespan, 1e-12)
    assert.has_error(function() berth.cost(g, t, { collective_algorithm = "gossip" }) end)
    assert.has_error(function() berth.cost(g, t,
      { collective_algorithm = "auto", device_groups = { 1 } }) end)
    local c, message = berth.cost(g, t, { collective_lines = { 1, 1, 1, 1 } })
    assert.is_nil(c)
    assert.is_truthy(message:find("collective_lines require", 1, true))
  end)

  it("are priced by a function, also in batches and simulators", function()
    local calls = 0
    local c = assert(berth.cost(pair("barrier", 0), mesh(2), { collective = function(k, devices)
      calls = calls + 1
      return 10 * k + devices[2]
    end }))
    local r = assert(berth.simulate(c, { 1, 2, 1, 2 }))
    assert.equal(3 + 12 + 5, r.makespan)
    assert.equal("function", r.collectives[1].algorithm)
    local makespans =
      assert(berth.simulate_batch(c, { { 1, 2, 1, 2 }, { 2, 1, 1, 2 } }, { threads = 2 }))
    assert.same({ 20, 3 + 11 + 5 }, makespans)
    assert.equal(20, (berth.simulator(c)({ 1, 2, 1, 2 })))
    assert.equal(4, calls)
    local bad = assert(berth.cost(pair("barrier", 0), mesh(2),
      { collective = function() error("no price", 0) end }))
    assert.equal("no price", raised(berth.simulate, bad, { 1, 2, 1, 2 }))
  end)

  it("are refused in the order of Baechi's simulator", function()
    refused("unsupported", "order ready",
      berth.simulate(pair("barrier", 0), mesh(2), { 1, 2, 1, 2 }, { order = "ready" }))
  end)

  it("hide behind computing", function()
    local g = berth.graph {
      ops = { { seconds = 1 }, { seconds = 2 }, { seconds = 4 } },
      collectives = { { kind = "allreduce", bytes = 6, members = { 1, 2 }, consumers = {} } },
    }
    local r = assert(berth.simulate(g, mesh(2), { 1, 2, 1 }))
    assert.same({ 8, 6, 3, 3 }, { r.makespan, r.communication, r.exposed, r.overlapped })
    assert.same({ 3, 6 }, { r.overlap[1].exposed, r.overlap[2].exposed })
  end)
end)
