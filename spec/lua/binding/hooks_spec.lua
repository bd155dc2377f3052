-- Hooks: which is called, what stops, what is kept, whose error comes out.
local berth = require "berth"
local errors = require "support.errors"

local raised = errors.raised

local function chain(n, seconds)
  local ops, edges = {}, {}
  for i = 1, n do
    ops[i] = { seconds = seconds or 1 }
    if i > 1 then edges[i - 1] = { i - 1, i, 8 } end
  end
  return assert(berth.graph { ops = ops, edges = edges })
end

local function all_on(n, device)
  local devices = {}
  for i = 1, n do devices[i] = device end
  return devices
end

-- Stops when `what` has made n steps.
local function stop_after(n, what)
  local steps = 0
  berth.hooks {
    interrupt = function() return steps >= n end,
    progress = function(part) steps = steps + (part == what and 1 or 0) end,
  }
end

-- An interrupt hook that says stop at the n-th question.
local function stop_at(n)
  local n_calls = 0
  return function()
    n_calls = n_calls + 1
    return n_calls >= n
  end
end

local function interrupted(...) errors.refused("interrupted", "^interrupted$", ...) end

describe("an interrupt hook", function()
  local g, t, big
  setup(function()
    g, t, big = chain(3), berth.topology.mesh(2), chain(5000)
  end)
  after_each(function() berth.hooks {} end)

  it("stops what runs long, and everything goes on afterwards", function()
    local run = assert(berth.simulator(g, t))
    local twenty = {}
    for i = 1, 20 do twenty[i] = all_on(3, 1) end
    for _, work in ipairs {
      function() return berth.simulate(g, t, { 1, 1, 1 }) end,
      function() return berth.simulate_batch(g, t, twenty, { threads = 2 }) end,
      function() return run { 1, 2, 1 } end,
      function() return berth.place(big, t, "etf") end,
      function() return berth.place(big, t, { device = function() return 1 end }) end,
      function() return berth.cost(big, t, { op = function() return 1 end }) end,
      function() return berth.topology.ring(64) end,
      function() return berth.portfolio(g, t) end,
      function() return berth.compare(g, t, { "heft", "single" }) end,
      function() return berth.place(big, t, berth.pipeline { "heft" }) end,
    } do
      berth.hooks { interrupt = function() return true end }
      interrupted(work())
      berth.hooks { interrupt = function() return false end }
      assert.is_truthy(work())
    end
  end)

  it("is called again and again", function()
    berth.hooks { interrupt = stop_at(3) }
    assert.is_truthy(berth.simulate(g, t, { 1, 1, 1 }))
    assert.is_truthy(berth.simulate(g, t, { 1, 1, 1 }))
    interrupted(berth.simulate(g, t, { 1, 1, 1 }))
    local many = {}
    for i = 1, 500 do many[i] = all_on(3, 1) end
    berth.hooks { interrupt = stop_at(100) }
    interrupted(berth.simulate_batch(g, t, many, { threads = 1 }))
  end)

  it("may raise: the work stops, and the error comes out unchanged", function()
    local thrown = { "mine" }
    for _, work in ipairs {
      function() return berth.simulate(g, t, { 1, 1, 1 }) end,
      function() return berth.place(big, t, "heft") end,
      function() return berth.place(g, t) end,
      function() return berth.compare(g, t, { "single" }) end,
      function() return berth.simulate_batch(g, t, { { 1, 1, 1 } }) end,
      function() return berth.place(big, t, { device = function() return 1 end }) end,
    } do
      berth.hooks { interrupt = function() error(thrown) end }
      assert.equal(thrown, raised(work))
      berth.hooks {}
      assert.is_truthy(work())
    end
    berth.hooks { interrupt = function() error(nil) end }
    local ok, got = pcall(berth.simulate, g, t, { 1, 1, 1 })
    assert.is_false(ok)
    assert.is_nil(got)
  end)

  it("may use the library without being called from there, and close objects", function()
    local inside = 0
    berth.hooks { interrupt = function()
      inside = inside + 1
      return berth.simulate(g, t, { 2, 2, 2 }).makespan ~= 3
    end }
    assert.equal(3, berth.simulate(g, t, { 1, 1, 1 }).makespan)
    assert.equal(1, inside)
    local mine, placement = chain(3), berth.placement({ 1, 2, 1 }, { sequence = { 1, 2, 3 } })
    local cost = assert(berth.cost(mine, t))
    berth.hooks { interrupt = function()
      mine:close()
      placement:close()
      cost:close()
      collectgarbage()
    end }
    assert.near(3, berth.simulate(cost, placement, { dispatch = "planned" }).makespan, 1e-6)
    assert.equal("cost: closed", tostring(cost))
  end)

  it("is called in the coroutine that called", function()
    local seen
    berth.hooks { interrupt = function() seen = coroutine.running() end }
    local co = coroutine.create(function() return berth.simulate(g, t, { 1, 1, 1 }) end)
    assert.is_true((coroutine.resume(co)))
    assert.equal(co, seen)
    berth.hooks { interrupt = function() coroutine.yield() end }
    co = coroutine.create(function() return berth.simulate(g, t, { 1, 1, 1 }) end)
    assert.is_false((coroutine.resume(co)))
  end)

  it("stops within a policy, too", function()
    berth.hooks { interrupt = stop_at(1) }
    local p, text, code = berth.place(g, t, { device = function()
      local r, _, why = berth.simulate(g, t, { 1, 1, 1 })
      return r and 1 or why == "interrupted" and 2 or 1
    end })
    assert.is_truthy(p, text or code)
    assert.equal(2, p[1])
  end)
end)

describe("a progress hook", function()
  local t = berth.topology.mesh(2)
  after_each(function() berth.hooks {} end)

  local function heard(work)
    local list = {}
    berth.hooks { progress = function(what, done) list[#list + 1] = { what, done } end }
    assert.is_truthy(work())
    berth.hooks {}
    return list
  end

  it("hears how far placing is", function()
    local list = heard(function() return berth.place(chain(5000), t, "heft") end)
    assert.is_true(#list >= 4)
    local last = 0
    for _, entry in ipairs(list) do
      assert.equal("placing", entry[1])
      assert.is_true(entry[2] >= last and entry[2] <= 1)
      last = entry[2]
    end
  end)

  it("hears the members of the portfolio, its search, and the rows of a comparison", function()
    local g = chain(3)
    local list = heard(function() return berth.place(g, t, nil, { calls = 0 }) end)
    local _, rows = berth.portfolio(g, t, { calls = 0 })
    assert.equal(#rows, #list)
    assert.same({ "portfolio", 1 }, list[#list])
    list = heard(function() return berth.place(g, t, nil, { calls = 50 }) end)
    assert.same({ "portfolio", 1 }, list[#rows])
    assert.same({ "search", 1 }, list[#list])
    for i = #rows + 1, #list do assert.equal("search", list[i][1]) end
    assert.same({ { "comparing", 0.5 }, { "comparing", 1 } },
      heard(function() return berth.compare(g, t, { "single", "etf" }) end))
  end)

  it("may raise: the work stops, and the error comes out unchanged", function()
    local thrown = { "mine" }
    berth.hooks { progress = function() error(thrown) end }
    for _, work in ipairs {
      function() return berth.place(chain(5000), t, "heft") end,
      function() return berth.place(chain(3), t) end,
      function() return berth.place(chain(5000), t, { select = function(op) return -op end }) end,
    } do
      assert.equal(thrown, raised(work))
    end
    assert.equal(3, berth.simulate(chain(3), t, { 1, 1, 1 }).makespan)
  end)

  it("may place itself", function()
    local inner = 0
    berth.hooks { progress = function()
      inner = inner + 1
      assert(berth.place(chain(3), t, nil, { calls = 0 }))
    end }
    assert.is_truthy(berth.place(chain(3), t, nil, { calls = 0 }))
    berth.hooks {}
    assert.equal(#select(2, berth.portfolio(chain(3), t, { calls = 0 })), inner)
  end)
end)

describe("berth.hooks", function()
  after_each(function() berth.hooks {} end)

  it("gives those that were there, and removes those that are not given", function()
    local interrupt, progress = function() end, function() end
    assert.same({}, berth.hooks { interrupt = interrupt, progress = progress })
    assert.same({ interrupt = interrupt, progress = progress }, berth.hooks())
    assert.same({ interrupt = interrupt, progress = progress }, berth.hooks { progress = progress })
    assert.same({ progress = progress }, berth.hooks(nil))
    assert.same({}, berth.hooks())
  end)

  it("refuses other things by name, and changes nothing then", function()
    local f = function() end
    berth.hooks { interrupt = f }
    for _, case in ipairs {
      { { interrupt = 3 }, "berth.hooks: interrupt: expected a function, got number" },
      { { progress = f, interupt = f }, "unknown option 'interupt'" },
      { 5, "expected a table, got number" },
    } do
      assert.matches(case[2], raised(berth.hooks, case[1]), 1, true)
    end
    assert.same({ interrupt = f }, berth.hooks())
  end)
end)

describe("the portfolio, when it is interrupted,", function()
  local g, t = chain(4), berth.topology.mesh(2)
  after_each(function() berth.hooks {} end)

  it("keeps the best so far, and says so", function()
    stop_after(3, "portfolio")
    local p, text, code = berth.place(g, t)
    assert.equal("placement", berth.kind(p))
    assert.matches("^interrupted: the best of 3 of %d+ placers$", text)
    assert.equal("interrupted", code)
    stop_after(3, "portfolio")
    local q, rows = berth.portfolio(g, t)
    assert.same(p:devices(), q:devices())
    assert.equal(text, rows.interrupted)
    for i, row in ipairs(rows) do
      assert.equal(i > 3 and "interrupted" or nil, row.code)
      assert.equal(i <= 3, row.makespan ~= nil)
    end
    berth.hooks {}
    local whole, none = berth.place(g, t)
    assert.is_truthy(whole)
    assert.is_nil(none)
  end)

  it("has nothing to keep before the first answer", function()
    berth.hooks { interrupt = stop_at(1) }
    interrupted(berth.place(g, t))
  end)

  it("says so through a pipeline", function()
    stop_after(1, "portfolio")
    local p, text, code = berth.place(g, t,
      berth.pipeline { "portfolio", function(_, _, q) return q:devices() end })
    assert.equal("single -> function", p.placer)
    assert.matches("^interrupted: the best of 1 of %d+ placers$", text)
    assert.equal("interrupted", code)
  end)
end)

describe("a comparison, when it is interrupted,", function()
  local g, t = chain(4), berth.topology.mesh(2)
  after_each(function() berth.hooks {} end)

  it("keeps the rows that are done", function()
    stop_after(2, "comparing")
    local cmp = assert(berth.compare(g, t, { "single", "etf", "heft", "peft" }))
    assert.equal("interrupted after 2 of 4 placers", cmp.interrupted)
    assert.equal(4, #cmp)
    assert.is_number(cmp[2].makespan)
    for i = 3, 4 do
      assert.equal("interrupted", cmp[i].code)
      assert.is_nil(cmp[i].makespan)
    end
    assert.equal("peft", cmp[4].name)
    assert.truthy(tostring(cmp):find("heft +%- .*interrupted"))
  end)

  it("reports a portfolio that was", function()
    stop_after(2, "portfolio")
    local stop = berth.hooks().interrupt
    berth.hooks { progress = berth.hooks().progress, interrupt = function()
      if not stop() then return false end
      berth.hooks {} -- once: the simulation of what is kept goes on
      return true
    end }
    local cmp = assert(berth.compare(g, t, { "portfolio", "etf" }))
    assert.equal("interrupted after 1 of 2 placers", cmp.interrupted)
    assert.is_number(cmp[1].makespan)
    assert.matches("^interrupted: the best of 2 of %d+ placers$", cmp[1].interrupted)
    assert.truthy(tostring(cmp):find("the best of 2 of", 1, true))
  end)
end)
