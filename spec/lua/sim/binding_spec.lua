-- The simulator from Lua: results, options, many simulations, and what is refused.
local berth = require "berth"
local errors = require "support.errors"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

-- a(2 s) --8 B--> b(1 s); link 4 B/s
local function chain(extra)
  local g = assert(berth.graph {
    ops = { { name = "a", seconds = 2, params = 3 },
      { name = "b", seconds = 1, pin = extra and extra.pin } },
    edges = { { 1, 2, 8 } },
  })
  return g, berth.topology.mesh(2, { bandwidth = 4, memory = extra and extra.memory })
end

describe("simulate", function()
  it("starts an op only after its tensors arrive", function()
    local g, t = chain()
    local r = assert(berth.simulate(g, t, { 1, 2 }, { links = "duplex" }))
    assert.equal(5, r.makespan) -- b starts at 2 + 8 / 4
    assert.same({ 0, 4 }, r.start)
    assert.same({ 2, 5 }, r.finish)
    assert.same({ 1, 2 }, r.device)
    assert.same({ 2, 1 }, r.busy)
    assert.same({ { tensor = 1, from = 1, to = 2, start = 2, finish = 4 } }, r.transfers)
    assert.same({ bytes = 8, busy = 2, peak_sharing = 1 }, r.links[1])
    assert.same({ bytes = 0, busy = 0, peak_sharing = 0 }, r.links[2])
    assert.equal(2, #r.links)
    assert.same({ 1, 2 }, r:critical_path())
    assert.same({ 0, 0 }, r:slack())
  end)

  it("builds arrays once", function()
    local g, t = chain()
    local r = assert(berth.simulate(g, t, { 1, 2 }))
    assert.equal(r.start, r.start)
    assert.equal(r.transfers, r.transfers)
  end)

  it("accounts memory", function()
    local g, t = chain()
    local r = assert(berth.simulate(g, t, { 1, 1 }, { memory = "total", param_multiple = 2 }))
    assert.equal(14, r.peak_memory[1])
    assert.equal(0, r.peak_memory[2])
    assert.same({ { op = 1, bytes = 14 } }, r:peak_ops(1))
    assert.same({}, r:peak_ops(2))
    assert.is_nil(r.oom)
    assert.is_number(r.peak_time[1])
    assert.equal(0, assert(berth.simulate(g, t, { 1, 1 }, { memory = "none" })).peak_memory[1])
  end)

  it("reports what each device holds over time", function()
    local g, t = chain()
    local r = assert(berth.simulate(g, t, { 1, 2 }))
    -- 3 B of parameters, 8 B until they are sent
    assert.same({ { 0, 0, 4 }, { 3, 11, 3 } }, { r:memory_timeline(1) })
    assert.same({ { 0, 2, 5 }, { 0, 8, 0 } }, { r:memory_timeline(2) })
    r = assert(berth.simulate(g, t, { 1, 2 }, { memory = "none" }))
    assert.same({ {}, {} }, { r:memory_timeline(2) })
    raises("result:memory_timeline: device: there is no device 3", r.memory_timeline, r, 3)
  end)

  it("reports when memory runs out, and still gives the times", function()
    local g, t = chain { memory = 10 }
    local r = assert(berth.simulate(g, t, { 1, 1 }))
    assert.equal(3, r.makespan)
    assert.same({ op = 1, device = 1, time = 0, shortfall = 1 }, r.oom)
    assert.matches("; out of memory on d0 at op 1 \"a\": 1 B missing$", tostring(r))
  end)

  it("prints one useful line", function()
    local g, t = chain()
    assert.equal("step time 5 s on 2 devices, bound 3 s (gap 66.7 %), peak 11 B on d0",
      tostring(assert(berth.simulate(g, t, { 1, 2 }))))
    assert.equal("step time 3 s on 1 of 2 devices",
      tostring(assert(berth.simulate(g, t, { 1, 1 }, { bound = false, memory = "none" }))))
  end)

  it("computes the bound unless the run changes what it is made of", function()
    local g, t = chain()
    local r = assert(berth.simulate(g, t, { 1, 2 }))
    assert.equal(3, r.bound)
    assert.equal("critical path", r.bound_name)
    assert.near(5 / 3 - 1, r.gap, 1e-12)
    for _, opts in ipairs { { bound = false }, { noise = 0.1, seed = 1 }, { quantum = "1 ms" } } do
      r = assert(berth.simulate(g, t, { 1, 2 }, opts))
      assert.same({}, { r.bound, r.bound_name, r.gap })
    end
  end)

  it("takes a placement and its sequence", function()
    local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 2 } } })
    local t = berth.topology.mesh(1)
    local p = berth.placement({ 1, 1 }, { sequence = { 2, 1 } })
    assert.same({ 2, 0 }, assert(berth.simulate(g, t, p, { dispatch = "planned" })).start)
    assert.same({ 0, 1 },
      assert(berth.simulate(g, t, p, { dispatch = "planned", sequence = { 1, 2 } })).start)
    assert.same({ 2, 0 },
      assert(berth.simulate(g, t, { 1, 1 }, { dispatch = "static", rank = { 1, 0 } })).start)
    assert.same({ 2, 0 }, assert(berth.simulate(g, t, { 1, 1 }, { dispatch = "lifo" })).start)
    raises("sequence: is missing", berth.simulate, g, t, { 1, 1 }, { dispatch = "planned" })
    raises("rank: is missing", berth.simulate, g, t, { 1, 1 }, { dispatch = "static" })
    raises("rank: requires dispatch", berth.simulate, g, t, { 1, 1 }, { rank = { 1, 2 } })
    raises("rank[1]: is not a number (NaN)", berth.simulate, g, t, { 1, 1 },
      { dispatch = "static", rank = { 0 / 0, 1 } })
    raises("rank[2]: expected a number, got string", berth.simulate, g, t, { 1, 1 },
      { dispatch = "static", rank = { 1, "x" } })
    raises("sequence: requires dispatch", berth.simulate, g, t, p, { sequence = { 1, 2 } })
  end)

  it("has the presets, which other options override", function()
    local g, t = chain()
    for _, preset in ipairs { "doppler", "baechi-tf", "baechi-pt" } do
      assert.is_truthy(berth.simulate(g, t, { 1, 2 }, { preset = preset }))
    end
    assert.equal(0, assert(berth.simulate(g, t, { 1, 1 }, { preset = "doppler" })).peak_memory[1])
    assert.equal(11, assert(berth.simulate(g, t, { 1, 1 },
      { preset = "doppler", memory = "total" })).peak_memory[1])
    assert.matches("preset: .*doppler", raised(berth.simulate, g, t, { 1, 1 }, { preset = "x" }))
  end)

  it("refuses mistakes by name", function()
    local g, t = chain()
    raises("placement: places 1 ops, but the graph has 2", berth.simulate, g, t, { 1 })
    raises("placement[2]: there is no device 3 (ids are 1..2)", berth.simulate, g, t, { 1, 3 })
    raises("placement[2]: 1.5 is no device id", berth.simulate, g, t, { 1, 1.5 })
    raises("placement: expected a placement or an array of device ids, got nil", berth.simulate, g,
      t)
    raises("unknown option 'link' (legal: 18 names; ", berth.simulate, g, t, { 1, 1 },
      { link = "free" })
    raises("links: 'fast' is none of: free, channel, duplex, pair", berth.simulate, g, t, { 1, 1 },
      { links = "fast" })
    raises("preempt: expected true or false, got number", berth.simulate, g, t, { 1, 1 },
      { preempt = 1 })
    raises("noise: -1 is out of range 0 to 10", berth.simulate, g, t, { 1, 1 }, { noise = -1 })
    raises("result:peak_ops: device: there is no device 3", function()
      berth.simulate(g, t, { 1, 1 }):peak_ops(3)
    end)
  end)

  it("returns refusals of the world", function()
    local g, t = chain { pin = 2 }
    refused("invalid", 'op 2 "b" is on device "d0" but pinned to device "d1"', berth.simulate(g, t, { 1, 1 }))
    local apart = assert(berth.topology { devices = { { name = "x" }, { name = "y" } } })
    refused("unreachable", 'device "x".*device "y".*tensor 1 of op 1 "a"',
      berth.simulate(assert(chain()), apart, { 1, 2 }))
  end)

  it("gives everything as plain tables", function()
    local g, t = chain()
    local plain = assert(berth.simulate(g, t, { 1, 2 })):to_table()
    assert.equal(5, plain.makespan)
    assert.same({ 1, 2 }, plain.critical_path)
    assert.same({ 0, 4 }, plain.start)
    assert.equal("critical path", plain.bound_name)
  end)
end)

describe("many simulations", function()
  local function case()
    local random = require "support.random_graph"
    local g = assert(berth.graph(random.describe(5, { n = 30, memory = true })))
    local t = berth.topology.mesh(3, { bandwidth = 200, latency = 0.1, memory = 400 })
    local ps = {}
    for i = 1, 12 do ps[i] = random.placement(i, 30, 3) end
    return g, t, ps
  end

  it("agree with single ones, on any number of threads", function()
    local g, t, ps = case()
    local opts = { links = "channel" }
    local run = assert(berth.simulator(g, t, opts))
    local makespans, peaks, oom = berth.simulate_batch(g, t, ps, { links = "channel", threads = 1 })
    local again, peaks_again, oom_again = berth.simulate_batch(g, t, ps,
      { links = "channel", threads = 3 })
    assert.same(makespans, again)
    assert.same(peaks, peaks_again)
    assert.same(oom, oom_again)
    for i, p in ipairs(ps) do
      local r = assert(berth.simulate(g, t, p, opts))
      local makespan, peak, op = run(p)
      assert.equal(r.makespan, makespan)
      assert.equal(r.makespan, makespans[i])
      assert.equal(math.max(r.peak_memory[1], r.peak_memory[2], r.peak_memory[3]), peak)
      assert.equal(peak, peaks[i])
      assert.equal(r.oom and r.oom.op, op)
      assert.equal(op or false, oom[i])
      assert.equal(makespan, (run(berth.placement(p))))
    end
  end)

  it("name the placement that is wrong", function()
    local g, t, ps = case()
    ps[3][7] = 4
    raises("placements[3].devices[7]: there is no device 4", berth.simulate_batch, g, t, ps)
    raises("placement[7]: there is no device 4", berth.simulator(g, t), ps[3])
    ps[3] = 5
    raises("placements[3].devices: expected a placement", berth.simulate_batch, g, t, ps)
    local pinned = assert(berth.graph { ops = { { seconds = 1, pin = 1 } } })
    refused("invalid", "^placement 2: op 1 ", berth.simulate_batch(pinned, t, { { 1 }, { 2 } }))
    assert.equal("invalid", (select(3, berth.simulator(pinned, t)({ 2 }))))
    raises("unknown option 'bound'", berth.simulator, g, t, { bound = true })
  end)

  it("take none at all", function()
    local g, t = case()
    local makespans, peaks = berth.simulate_batch(g, t, {})
    assert.same({ {}, {} }, { makespans, peaks })
  end)
end)
