-- The executor from Lua: what it gives, refuses and measures. Times are only bounded from below.
local berth = require "berth"
local finaliser = require "support.finaliser"
local runs = require "support.runs"
local errors = require "support.errors"
local merged = require "support.merged"
local refused, raises = errors.refused, errors.raises

-- a (2 s) --8 B--> b (1 s), link 1 B/s; a second is 1 ms
local function chain(opts)
  local g = berth.graph { ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 1 } },
    edges = { { 1, 2, 8 } } }
  local t = berth.topology.mesh(2, { bandwidth = 1 })
  local given = merged({ mode = "paced", scale = 1e-3 }, opts)
  return assert(berth.executor(g, t, given)), g, t
end

describe("the executor", function()
  it("takes at least the time of a chain, and reports all of it", function()
    local ex = chain()
    local r = assert(ex:run { 1, 2 })
    assert.is_true(r.makespan >= 0.011 - 1e-9)
    assert.is_true(r.finish[1] >= 0.002 and r.start[2] >= 0.010 - 1e-9)
    assert.same({ 1, 2 }, r.device)
    assert.equal(1, #r.transfers)
    local x = r.transfers[1]
    assert.same({ 1, 1, 2 }, { x.tensor, x.from, x.to })
    assert.is_true(x.finish - x.start >= 0.008 - 1e-9 and x.start >= r.finish[1])
    assert.same({ ready = 1, start = 1, finish = 2 }, r.turns[1])
    assert.same({ ready = 3, start = 3, finish = 4 }, r.turns[2])
    assert.is_true(r.busy[1] >= 0.002 and r.busy[2] >= 0.001)
    assert.is_true(r.checked)
    assert.is_nil(r.wrong)
    assert.matches("^%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x$", r.checksums[1])
    assert.same({ r.makespan }, r.times)
    assert.equal(ex.cost, r.cost)
    assert.matches("^execution: .+ on 2 devices, results checked$", tostring(r))
    assert.equal("execution", berth.kind(r))
    ex:close()
    assert.equal("executor: closed", tostring(ex))
    assert.is_true(r.makespan > 0) -- stays
  end)

  it("counts kernels, threads and scales", function()
    local ex = chain { scale = 0.5 }
    assert.same({ { 1, 2 }, 2 }, { ex:kernels() })
    assert.same({ 4, 0.5, 1 }, { ex.threads, ex.scale, ex.byte_scale })
    assert.equal("executor: 2 ops on 2 devices, 4 threads, scale 0.5", tostring(ex))
    assert.same({ links = "duplex", dispatch = "fifo", memory = "none" }, ex.simulation)
    ex:close()
    local none = chain { check = false }
    local r = assert(none:run { 1, 1 })
    assert.is_false(r.checked)
    assert.same({}, r.checksums)
    assert.matches("results not checked", tostring(r))
    none:close()
  end)

  it("measures for training", function()
    local ex, g, t = chain()
    local f = ex:objective { repeats = 3 }
    local seconds = f { { 1, 1 }, { 1, 2 }, berth.place(g, t, "single") }
    assert.equal(3, #seconds)
    assert.is_true(seconds[1] >= 0.003 - 1e-9 and seconds[2] >= 0.011 - 1e-9)
    assert.is_true(f { 1, 1 } >= 0.003 - 1e-9)
    raises("there is no device 3", f, { { 1, 3 } })
    ex:close()
  end)

  it("is what stage III learns from; an interrupt leaves what was seen until then", function()
    local ex, g, t = chain()
    local agent, calls = berth.agents.doppler { seed = 1 }, 0
    local function train()
      return assert(agent:train({ { graph = g, topology = t } },
        { stages = { { stage = "III", episodes = 8, batch = 4 } }, objective = ex:objective() }))
    end
    local whole = train()
    assert.same({ 8, 9, nil }, { whole.episodes, whole.calls, whole.interrupted })
    assert.is_true(whole.tasks[1].best >= 0.003 - 1e-9 and #whole.tasks[1].placement == 2)
    local before = berth.hooks { interrupt = function()
      calls = calls + 1
      return calls > 5 -- each run calls once or more
    end }
    local cut = train()
    calls = 0
    local p = { 1, 2 }
    local seconds, text, code = ex:objective() { p, p, p, p, p, p, p, p }
    berth.hooks(before or {})
    assert.equal("interrupted", cut.interrupted)
    assert.is_true(cut.episodes < 8)
    assert.same({ nil, "interrupted", "interrupted", n = 3 }, { seconds, text, code, n = 3 })
    ex:close()
  end)

  it("calibrates: the simulator then foretells at least the time that is slept", function()
    local ex, g, t = chain()
    for _, load in ipairs { "busy", "alone" } do
      local g2, t2 =
        assert(berth.execute.calibrate(ex, { load = load, runs = 4, repeats = 2, seed = 3 }))
      assert.is_true(g2:op(1).seconds >= 0.002 - 1e-9 and g2:op(2).seconds >= 0.001 - 1e-9)
      assert.equal("a", g2:op(1).name)
      local bandwidth, latency = t2:path(1, 2)
      assert.is_true(latency + 8 / bandwidth >= 0.008 - 1e-9)
      local r = assert(berth.simulate(g2, t2, { 1, 2 }, ex.simulation))
      assert.is_true(r.makespan >= 0.011 - 1e-9)
      local path = os.tmpname()
      assert(g2:save(path))
      assert.equal(g2:op(1).seconds, assert(berth.load(path)):op(1).seconds)
      assert(t2:save(path))
      assert.equal(bandwidth, (assert(berth.load_topology(path)):path(1, 2)))
      os.remove(path)
    end
    local _, _, samples = assert(ex:calibrate { runs = 1, repeats = 1 })
    local before = #samples.took[1]
    assert(ex:calibrate { runs = 2, repeats = 2, samples = samples })
    assert.same({ 1, 5 }, { before, #samples.took[1] })
    local fast = ex:calibrate { runs = 0, samples = samples, quantile = 0 }
    local slow = ex:calibrate { runs = 0, samples = samples, quantile = 1 }
    assert.is_true(fast:op(1).seconds <= slow:op(1).seconds)
    raises("quantile: 2 is not from 0 to 1", ex.calibrate, ex, { quantile = 2 })
    raises("runs: without samples", ex.calibrate, ex, { runs = 0 })
    raises("load: expected", ex.calibrate, ex, { load = "?" })
    raises("unknown option 'x'", ex.calibrate, ex, { x = 1 })
    ex:close()
    assert.equal(2, #g + 0 * #t)
  end)

  it("calibrates devices of several types and speeds", function()
    local g = berth.graph { types = { "cpu", "gpu" }, edges = { { 1, 2, 4 } },
      ops = { { seconds = { 4, 2 } }, { seconds = { math.huge, 1 } } } }
    local t = berth.topology { links = { { "c", "g", bandwidth = 1 } },
      devices = { { name = "c", type = "cpu" }, { name = "g", type = "gpu", speed = 2 } } }
    local ex = assert(berth.executor(g, t, { mode = "paced", scale = 1e-3 }))
    local g2, t2 = assert(ex:calibrate { runs = 6, repeats = 1 })
    assert.same({ "cpu", "gpu" }, g2.types)
    assert.is_true(g2:op(1).seconds[1] >= 0.004 - 1e-9 and g2:op(1).seconds[2] >= 0.002 - 1e-9)
    assert.equal(math.huge, g2:op(2).seconds[1])
    assert.is_true(berth.cost(g2, t2):op(2, 2) >= 0.0005 - 1e-9)
    assert.is_truthy(t2:path(1, 2) and t2:path(2, 1))
    refused("invalid", "op 2", ex:run { 1, 1 })
    ex:close()
  end)

  it("writes a timeline", function()
    local ex = chain()
    local r = assert(ex:run { 1, 2 })
    local text = r:trace()
    assert.matches('"name": "a"', text)
    assert.matches("makespan_seconds", text)
    local path = os.tmpname()
    assert.is_true(r:save_trace(path))
    local file = assert(io.open(path))
    assert.equal(text, file:read("*a"))
    file:close()
    os.remove(path)
    ex:close()
  end)

  it("refuses what it cannot do", function()
    local g, t = berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(1)
    assert.same({ nil, "links: the executor has free, channel, duplex and pair", "unsupported",
      n = 3 },
      (function(...) return { n = select("#", ...), ... } end)(berth.executor(g, t,
        { links = "fair" })))
    assert.matches("which the executor does not have",
      (select(2, berth.executor(g, t, { dispatch = "planned" }))))
    raises("berth.executor: duty: 2 is out of range 0 to 1", berth.executor, g, t, { duty = 2 })
    raises("seconds: expected a finite number above 0", berth.executor, g, t, { seconds = 0 })
    raises("unknown option 'x'", berth.executor, g, t, { x = 2 })
    raises("is none of: compute, paced", berth.executor, g, t, { mode = "x" })
    local ex = assert(berth.executor(g, t))
    raises("executor has no 'speed'", function() return ex.speed end)
    raises("repeats", ex.run, ex, { 1 }, { repeats = 0 })
    raises("there is no device 2", ex.run, ex, { 2 })
    ex:close()
    raises("executor is closed", ex.run, ex, { 1 })
  end)

  it("stops on request, and survives being closed meanwhile", function()
    local g, t = berth.graph { ops = { { seconds = 60 } } }, berth.topology.mesh(1)
    local ex = assert(berth.executor(g, t, { mode = "paced", scale = 1 }))
    local calls = 0
    local before = berth.hooks { interrupt = function()
      calls = calls + 1
      if calls == 3 then ex:close() end
      return calls == 5
    end }
    local r, text, code = ex:run { 1 }
    berth.hooks(before or {})
    assert.same({ "interrupted", "interrupted" }, { text, code })
    assert.is_nil(r)
    assert.equal("executor: closed", tostring(ex))
  end)

  it("is not used after a finaliser has closed it, nor are its runs", function()
    local function closed(ok, value)
      if not ok then assert.matches("is closed", value) end
    end
    local function small() return (chain { scale = 1e-6 }) end
    local hits = 0
    local function sweep(make, use) hits = hits + finaliser.sweep(make, use, closed) end
    sweep(small, function(ex) return ex.core:run({ 1, 2 }, { repeats = 2 }) end)
    sweep(small, function(ex) return ex.core:kernels() end)
    sweep(function()
      local _, g, t = chain()
      return berth.cost(g, t)
    end, function(cost) return berth.executor(cost, { scale = 1e-6, mode = "paced" }) end)
    local function execution()
      local ex = small()
      local r = assert(ex:run { 1, 2 })
      ex:close()
      return r
    end
    for _, field in ipairs(runs({ "times", "transfers" },
      { "times", "start", "finish", "busy", "device", "transfers", "turns", "checksums" })) do
      sweep(execution, function(r) return r[field] end)
    end
    assert.is_true(hits > 0)
  end)

  it("takes times and sizes near the ends of the numbers, or says what is wrong", function()
    local function two(seconds, bytes, bandwidth, opts)
      local g = berth.graph { ops = { { seconds = seconds }, { seconds = seconds } },
        edges = { { 1, 2, bytes } } }
      local ex = assert(berth.executor(g, berth.topology.mesh(2, { bandwidth = bandwidth }), opts))
      local r, text, code = ex:run { 1, 2 }
      local wrong = r and r.wrong
      ex:close()
      return r and r.makespan, text or wrong, code
    end
    raises("seconds: 0.1 for 9.88131e-324 s of ops is a scale of inf: give a scale", two, 5e-324, 0,
      1)
    raises("seconds: 0.1 for inf s of ops is a scale of 0: give a scale", two, 1e308, 0, 1)
    raises("seconds: 1e+308 for 0.002 s of ops is a scale of inf", two, 1e-3, 0, 1,
      { seconds = 1e308 })
    assert.same({ nil, "the placement takes 2e+12 s, at scale 1: more than 1e+09 s", "invalid",
      n = 3 },
      (function(...) return { n = select("#", ...), ... } end)(two(1e12, 0, 1, { scale = 1 })))
    assert.matches("takes 1e%+305 s, at scale 1:",
      (select(2, two(1e-9, 1e5, 1e-300, { scale = 1 }))))
    for _, x in ipairs { { 5e-324, 0, 1, { scale = 1 } }, { 1, 1, 1, { scale = 5e-324 } },
      { 0, 0, 1 },
      { 0, 0, 1, { scale = 1e308 } },
      { 1e-3, 1.7e308, math.huge, { seconds = 1e-3, memory = 1e5 } },
      { 1e-3, 8, 1e9, { seconds = 1e-3, memory = 1e-300 } },
      { 1e-3, 8, math.huge, { seconds = 1e-3, duty = 0, mode = "paced" } } } do
      local seconds, text = two(x[1], x[2], x[3], x[4])
      assert.is_nil(text)
      assert.is_true(seconds >= 0)
    end
    -- together infinite
    local g = berth.graph { ops = { {}, {}, {} }, edges = { { 1, 3, 1.7e308 }, { 2, 3, 1.7e308 } } }
    local ex = assert(berth.executor(g, berth.topology.mesh(1), { memory = 3400 }))
    assert.is_true(math.abs(ex.byte_scale / 1e-305 - 1) < 1e-12)
    assert.is_nil(assert(ex:run { 1, 1, 1 }).wrong)
    ex:close()
  end)

  it("runs thousands of ops on 64 devices, also with a thread for each pair", function()
    local ops, edges, p = {}, {}, {}
    for i = 1, 3000 do
      ops[i], p[i] = { seconds = i % 3 }, i * 7 % 64 + 1
      if i > 64 then edges[#edges + 1], edges[#edges + 2] = { i - 64, i, 1 }, { i - 63, i, 1 } end
    end
    local g, t = berth.graph { ops = ops, edges = edges },
      berth.topology.mesh(64, { bandwidth = 100 })
    for _, links in ipairs { "duplex", "pair" } do
      local ex, text = berth.executor(g, t,
        { mode = "paced", links = links, seconds = 0.1, memory = "1 MiB" })
      if not ex then
        assert.matches("^%d+ of 4096 threads can be had$", text) -- where the system has fewer
      else
        local r = assert(ex:run(p))
        assert.is_nil(r.wrong)
        assert.equal(links == "pair" and 4096 or 128, ex.threads)
        ex:close()
      end
    end
  end)

  it("runs within the run of another", function()
    local one, other = chain(), chain()
    local inner
    local before = berth.hooks { interrupt = function()
      inner = inner or assert(other:run { 1, 2 })
      return false
    end }
    local outer = assert(one:run { 1, 2 })
    berth.hooks(before or {})
    for _, r in ipairs { inner, outer } do
      assert.is_true(r.makespan >= 0.011 - 1e-9)
      assert.is_nil(r.wrong)
    end
    one:close()
    other:close()
  end)
end)
