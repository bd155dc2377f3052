-- The executor from Lua: what it gives, refuses and measures. Times are only bounded from below.
local berth = require "berth"
local random = require "support.random_graph"

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  return text
end

-- a (2 s) --8 B--> b (1 s), link 1 B/s; a second is 1 ms
local function chain(opts)
  local g = berth.graph { ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 1 } }, edges = { { 1, 2, 8 } } }
  local t = berth.topology.mesh(2, { bandwidth = 1 })
  local given = { mode = "paced", scale = 1e-3 }
  for k, v in pairs(opts or {}) do given[k] = v end
  return assert(berth.executor(g, t, given)), g, t
end

describe("the executor", function()
  it("takes at least the time of a chain, and tells all of it", function()
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

  it("gives the same results wherever ops run, in any mode and order", function()
    local g = assert(berth.graph(random.describe(4, { n = 30 })))
    local t = berth.topology.mesh(3, { bandwidth = 1e9 })
    local sums
    for _, links in ipairs { "free", "channel", "duplex", "pair" } do
      for _, dispatch in ipairs { "fifo", "light-first", "blevel", "lifo", "random" } do
        local ex = assert(berth.executor(g, t, { links = links, dispatch = dispatch, seconds = 2e-3, memory = "64 KiB",
          mode = dispatch == "fifo" and "paced" or "compute" }))
        local r = assert(ex:run(random.placement(#dispatch, 30, 3), { repeats = 2 }))
        assert.is_nil(r.wrong)
        sums = sums or r.checksums
        assert.same(sums, r.checksums)
        assert.equal(2, #r.times)
        ex:close()
      end
    end
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
    assert.is_true(seconds[1] >= 0.003 - 1e-9 and seconds[2] >= 0.011 - 1e-9 and seconds[2] > seconds[1])
    assert.is_true(f { 1, 1 } >= 0.003 - 1e-9)
    assert.matches("there is no device 3", message(f, { { 1, 3 } }))
    ex:close()
  end)

  it("calibrates: the simulator then foretells at least the time that is slept", function()
    local ex, g, t = chain()
    for _, load in ipairs { "busy", "alone" } do
      local g2, t2 = assert(berth.execute.calibrate(ex, { load = load, runs = 4, repeats = 2, seed = 3 }))
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
    assert.matches("quantile: 2 is not from 0 to 1", message(ex.calibrate, ex, { quantile = 2 }))
    assert.matches("runs: without samples", message(ex.calibrate, ex, { runs = 0 }))
    assert.matches("load: expected", message(ex.calibrate, ex, { load = "?" }))
    assert.matches("unknown option 'x'", message(ex.calibrate, ex, { x = 1 }))
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
    local r, text, code = ex:run { 1, 1 }
    assert.is_nil(r)
    assert.matches("op 2", text)
    assert.equal("invalid", code)
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
    assert.same({ nil, "links: the executor has free, channel, duplex and pair", "unsupported", n = 3 },
      (function(...) return { n = select("#", ...), ... } end)(berth.executor(g, t, { links = "fair" })))
    assert.matches("dispatch: the executor has", (select(2, berth.executor(g, t, { dispatch = "planned" }))))
    assert.matches("berth.executor: duty: 2 is not from 0 to 1", message(berth.executor, g, t, { duty = 2 }))
    assert.matches("seconds: 0 is not positive", message(berth.executor, g, t, { seconds = 0 }))
    assert.matches("unknown option 'x'", message(berth.executor, g, t, { x = 2 }))
    assert.matches("is none of: compute, paced", message(berth.executor, g, t, { mode = "x" }))
    local ex = assert(berth.executor(g, t))
    assert.matches("executor has no 'speed'", message(function() return ex.speed end))
    assert.matches("repeats", message(ex.run, ex, { 1 }, { repeats = 0 }))
    assert.matches("there is no device 2", message(ex.run, ex, { 2 }))
    ex:close()
    assert.matches("executor is closed", message(ex.run, ex, { 1 }))
  end)

  it("stops when asked, and survives being closed meanwhile", function()
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
end)
