-- Costs from Lua: prices, bounds, and links fitted to measured times.
local berth = require "berth"
local errors = require "support.errors"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local function pair(extra)
  local g = assert(berth.graph {
    ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 6, pin = extra and extra.pin } },
      edges = { { 1, 2, 8 } } })
  local t = assert(berth.topology {
    devices = { { speed = 1 }, { speed = 2 } }, links = { { 1, 2, bandwidth = 4, latency = 1 } } })
  return g, t
end

describe("a cost", function()
  it("prices ops and transfers", function()
    local g, t = pair { pin = 2 }
    local c = assert(berth.cost(g, t))
    assert.equal(2, c:op(1, 1))
    assert.equal(1, c:op(1, 2))
    assert.equal(math.huge, c:op(2, 1)) -- pinned elsewhere
    assert.equal(3, c:transfer(1, 1, 2)) -- 1 + 8 / 4
    assert.equal(0, c:transfer(1, 2, 2))
    assert.same({ 1, 3 }, c:min_ops())
    assert.same({ 3 }, c:mean_transfers())
    assert.same({ 1 }, c:mean_transfers("saga")) -- two of three pairs are free
    assert.near(3 / 1, c:rho(), 1e-12)
    assert.equal(g, c.graph)
    assert.equal(t, c.topology)
    assert.equal("cost: 2 ops on 2 devices", tostring(c))
  end)

  it("takes factors", function()
    local g, t = pair()
    local c = assert(berth.cost(g, t, { op_factor = 10, transfer_factor = 100 }))
    assert.equal("cost: 2 ops on 2 devices, op_factor 10, transfer_factor 100", tostring(c))
    assert.equal(20, c:op(1, 1))
    assert.equal(300, c:transfer(1, 1, 2))
    raises("op_factor: expected a finite number above 0", berth.cost, g, t, { op_factor = 0 })
    raises("unknown option 'factor'", berth.cost, g, t, { factor = 2 })
  end)

  it("takes functions", function()
    local g, t = pair()
    local c = assert(berth.cost(g, t, {
      op = function(op, device) return 10 * op + device end,
      transfer = function(tensor, from, to) return 100 * tensor + 10 * from + to end,
    }))
    assert.equal("cost: 2 ops on 2 devices, own op, own transfer", tostring(c))
    assert.equal(21, c:op(2, 1))
    assert.equal(12, c:op(1, 2))
    assert.equal(121, c:transfer(1, 2, 1))
    assert.equal(0, c:transfer(1, 1, 1))
  end)

  local function joined(model)
    local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "barrier", members = { 1 } },
        { kind = "allreduce", bytes = 8, members = { 2, 3 } } } })
    return assert(berth.cost(g, berth.topology.mesh(4), model))
  end

  it("calls the function for collectives at each query", function()
    local calls = {}
    local c = joined { transfer_factor = 2, collective = function(k, devices)
      calls[#calls + 1] = { k, devices }
      return 5
    end }
    assert.same({}, calls)
    assert.equal(10, c:collective(2, { 4, 1 })) -- the factor is that of transfers and collectives
    assert.equal(10, c:collective(1, { 3 }))
    assert.same({ { 2, { 4, 1 } }, { 1, { 3 } } }, calls)
    assert.is_function(c.model.collective)
    assert.equal(math.huge, joined({ collective = function() return math.huge end }):collective(1,
      { 1 }))
    raises("2 devices for 1 members", c.collective, c, 1, { 1, 2 })
    assert.equal(2, #calls)
  end)

  it("keeps the function for collectives, whatever happens to the table that it came in", function()
    local model = { collective = function() return 1 end }
    local c = joined(model)
    model.collective = nil
    collectgarbage()
    collectgarbage()
    assert.equal(1, c:collective(1, { 1 }))
    assert.equal(1, coroutine.wrap(function() return c:collective(1, { 1 }) end)())
  end)

  it("re-raises what the function for collectives raises, and refuses what is no time", function()
    local thrown = { "mine" }
    local c = joined { collective = function() error(thrown) end }
    assert.equal(thrown, raised(c.collective, c, 1, { 1 }))
    for _, case in ipairs { { -1, "gave %-1 s" }, { 0 / 0, "gave .*nan s" },
      { "x", "gave string, expected seconds" } } do
      c = joined { collective = function() return case[1] end }
      assert.matches("^spec/.*cost.collective%(1, devices%) " .. case[2],
        raised(c.collective, c, 1, { 1 }))
    end
    c = joined { collective = function() end }
    raises("cost.collective(2, devices) gave nil", c.collective, c, 2, { 1, 1 })
    raises("collective: expected a function, got number", joined, { collective = 3 })
  end)

  it("survives a function for collectives that closes its cost or queries another", function()
    local inner = joined { collective = function() return 3 end }
    local c
    c = joined { collective = function()
      c:close()
      collectgarbage()
      return inner:collective(1, { 1 }) + 1
    end }
    assert.equal(4, c:collective(1, { 1 }))
    raises("the cost is closed", c.collective, c, 1, { 1 })
    local co = coroutine.create(function()
      local yields = joined { collective = function() coroutine.yield(1) end }
      return yields:collective(1, { 1 })
    end)
    assert.is_false((coroutine.resume(co)))
  end)

  it("is called for collectives by simulations, on the calling thread", function()
    local n_calls = 0
    local c = joined { collective = function()
      n_calls = n_calls + 1
      return 1
    end }
    local alone = joined { collective = function() return 0 end }
    for count, run in ipairs {
      function(x) return berth.simulate(x, { 1, 1, 1 }).makespan end,
      function(x) return berth.simulate_batch(x, { { 1, 1, 1 } }, { threads = 2 })[1] end,
      function(x) return berth.simulator(x)({ 1, 1, 1 }) end,
    } do
      assert.is_true(run(c) > run(alone))
      assert.is_true(n_calls >= count)
    end
  end)

  it("lets every function that takes graph and topology take a cost, or cost functions", function()
    local g, t = pair()
    local model = { op = function() return 5 end }
    local c = assert(berth.cost(g, t, model))
    assert.equal(10, berth.simulate(c, { 1, 1 }).makespan)
    assert.equal(10, berth.simulate(g, t, { 1, 1 }, { cost = model }).makespan)
    assert.equal(10, berth.bounds(c).critical_path)
    assert.equal(10, berth.bounds(g, t, { cost = model }).critical_path)
    assert.equal(10, berth.place(c, "single").estimate)
    assert.equal(10, berth.place(g, t, "single", { cost = model }).estimate)
    assert.equal(10, (berth.simulator(c)({ 1, 1 })))
    assert.equal(10, (berth.simulator(g, t, { cost = model })({ 2, 2 })))
    assert.same({ 10 }, (berth.simulate_batch(c, { { 1, 1 } })))
    assert.same({ 10 }, (berth.simulate_batch(g, t, { { 1, 1 } }, { cost = model })))
    assert.equal(10, berth.compare(c, { "single" })[1].makespan)
    raises("cost: is given already", berth.simulate, c, { 1, 1 }, { cost = model })
    raises("cost: is given already", berth.place, c, "single", { cost = model })
  end)

  it("re-raises what a function raises, unchanged", function()
    local g, t = pair()
    local thrown = { "mine" }
    assert.equal(thrown, raised(berth.cost, g, t, { op = function() error(thrown) end }))
    assert.equal(thrown, raised(berth.simulate, g, t, { 1, 1 },
      { cost = { transfer = function() error(thrown) end } }))
  end)

  it("reports which call gave no time", function()
    local g, t = pair()
    raises("cost.op(1, 1) gave nil", berth.cost, g, t, { op = function() end })
    raises("cost.op(1, 1) gave -1 s", berth.cost, g, t, { op = function() return -1 end })
    assert.matches("cost.op%(2, 1%) gave .*nan s",
      raised(berth.cost, g, t, { op = function(op) return op == 2 and 0 / 0 or 1 end }))
    raises("cost.transfer(1, 1, 2) gave string", berth.cost, g, t,
      { transfer = function() return "x" end })
  end)

  it("survives functions that close what is being priced", function()
    local g, t = pair()
    local c = assert(berth.cost(g, t, {
      op = function()
        g:close()
        t:close()
        collectgarbage()
        return 1
      end,
    }))
    assert.equal(1, c:op(1, 1))
    assert.equal(2, #c.graph) -- a new object for the same graph
    assert.equal(c.graph, c.graph)
    assert.equal(2, #c.topology)
  end)

  it("cannot yield from a function", function()
    local g, t = pair()
    local co = coroutine.create(function() return berth.cost(g, t,
      { op = function() coroutine.yield(1) end }) end)
    assert.is_false((coroutine.resume(co)))
  end)

  it("refuses other things by name", function()
    local g, t = pair()
    raises("berth.cost: graph: expected a graph, got nil", berth.cost)
    raises("berth.cost: topology: expected a topology, got graph", berth.cost, g, g)
    raises("berth.simulate: graph: expected a graph (or a cost), got topology", berth.simulate, t,
      t, {})
    raises("cost: expected a table, got number", berth.simulate, g, t, { 1, 1 }, { cost = 3 })
  end)
end)

describe("bounds", function()
  it("print as a line", function()
    local g, t = pair()
    local b = assert(berth.bounds(g, t))
    assert.equal(4, b.critical_path) -- both on the fast device
    assert.is_true(b.work > 2.66 and b.work <= 4) -- 8 s of work at a rate of 1 + 2
    assert.equal(4, b.best)
    assert.equal("critical path", b.name)
    assert.matches("^bound 4 s %(critical path; level cheap%): critical path 4 s, work ", tostring(b))
  end)

  it("tell what cannot fit", function()
    local g =
      assert(berth.graph { ops = { { seconds = 1 }, { name = "big", seconds = 1, params = 100 } } })
    local why = refused("infeasible", "big",
      berth.bounds(g, berth.topology.mesh(2, { memory = 60 })))
    assert.equal(2, why.op)
    assert.equal(40, why.missing)
  end)

  it("refuse unknown options", function()
    local g, t = pair()
    raises("memory: 'all' is none of: none, inference, training, total", berth.bounds, g, t,
      { memory = "all" })
  end)
end)

describe("fit_link", function()
  it("finds latency and bandwidth", function()
    local fit = assert(berth.fit_link({ 0, 10, 20 }, { 1, 2, 3 }))
    assert.near(1, fit.latency, 1e-9)
    assert.near(10, fit.bandwidth, 1e-9)
    assert.near(1, fit.r2, 1e-9)
    local nothing, text, code = berth.fit_link({ 5, 5 }, { 1, 2 })
    assert.is_nil(nothing)
    assert.is_string(text)
    assert.equal("invalid", code)
    raises("seconds: has 1 entries, expected 2", berth.fit_link, { 1, 2 }, { 1 })
  end)

  it("takes quantities, refuses what no link has", function()
    local fit = assert(berth.fit_link({ "1 MB", "2 MB" }, { "5 us", "7 us" }))
    assert.near(3e-6, fit.latency, 1e-15)
    assert.near(5e11, fit.bandwidth, 1)
    refused("invalid", "out of range", berth.fit_link({ 0, 1e-200 }, { 1, 2 }))
    assert.matches("measurement 2: ",
      select(2, berth.fit_link({ 1, 2 }, { 1, 0 }, { relative = true })))
    raises("bytes[2]: -1 is negative", berth.fit_link, { 1, -1 }, { 1, 2 })
  end)
end)
