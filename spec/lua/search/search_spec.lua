-- The placers "anneal", "local" and "brkga": alone, behind others, with objectives in Lua.
local berth = require "berth"

local function layered(n, seed)
  local rng = berth.rng(seed or 1)
  local ops, tensors = {}, {}
  for i = 1, n do ops[i] = { seconds = 1 + rng:uniform(), params = 1 } end
  for i = 2, n do
    tensors[#tensors + 1] = { from = math.max(1, i - 1 - rng:below(4)), to = { i },
      bytes = 10 * rng:uniform() }
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local mesh = berth.topology.mesh(3, { bandwidth = 10, memory = 1000 })

describe("search", function()
  local g = layered(40)

  it("improves on what came before, and says what it found", function()
    for _, name in ipairs { "anneal", "local", "brkga" } do
      local start = assert(berth.place(g, mesh, "round-robin"))
      local p = assert(berth.place(g, mesh, name, { calls = 400, seed = 1, start = start }))
      assert.equal(name, p.placer)
      assert.is_true(p.estimate <= start.estimate)
      assert.near(p.estimate, berth.simulate(g, mesh, p).makespan, 1e-9)
    end
  end)

  it("gives the same for any number of threads", function()
    local one = assert(berth.place(g, mesh, "anneal", { calls = 500, restarts = 3, threads = 1 }))
    for threads = 2, 3 do
      local p =
        assert(berth.place(g, mesh, "anneal", { calls = 500, restarts = 3, threads = threads }))
      assert.same(one:devices(), p:devices())
      assert.equal(one.estimate, p.estimate)
    end
  end)

  it("breeds the same for any number of threads", function()
    local opts = { calls = 300, population = 30, elite = 0.3, mutants = 0.1, bias = 0.6 }
    local one = assert(berth.place(g, mesh, "brkga", opts))
    opts.threads = 3
    assert.same(one:devices(), assert(berth.place(g, mesh, "brkga", opts)):devices())
    assert.error_matches(function() berth.place(g, mesh, "brkga", { elite = 1 }) end,
      "options elite: 1 and mutants: 0.15 sum to 1 or more")
    assert.error_matches(function() berth.place(g, mesh, "anneal", { bias = 0.7 }) end,
      "'bias' means nothing to anneal")
  end)

  it("is never worse than the portfolio behind it", function()
    local first = assert(berth.place(g, mesh))
    local p =
      assert(berth.place(g, mesh, berth.pipeline { "portfolio", { "anneal", { calls = 200 } } }))
    assert.is_true(p.estimate <= berth.simulate(g, mesh, first).makespan)
  end)

  it("is a stage behind a placer, or the placer", function()
    local p = assert(berth.place(g, mesh, "heft"))
    local q = assert(berth.place(g, mesh,
      berth.pipeline { "heft", { "anneal", { calls = 300 } }, { "local", { calls = 200 } } }))
    assert.equal("heft -> anneal -> local", q.placer)
    assert.is_true(q.estimate <= berth.simulate(g, mesh, p).makespan)
    assert.is_truthy(berth.place(g, mesh,
      berth.pipeline { { "anneal", { calls = 50 } }, "repair" }))
  end)

  it("takes objectives in Lua, called as often as `calls` says", function()
    local n_calls = 0
    local p = assert(berth.place(g, mesh, "anneal", { calls = 500, objective = function(q)
      n_calls = n_calls + 1
      local sum = 0
      for i = 1, #q do sum = sum + (3 - q[i]) end
      return sum
    end }))
    assert.equal(500, n_calls)
    assert.is_true(p.estimate < 10)
    assert.has_error(function() berth.place(g, mesh, "anneal",
      { objective = function() error({ mine = true }) end }) end,
      { mine = true })
    assert.error_matches(function() berth.place(g, mesh, "anneal",
      { objective = function() return "x" end }) end,
      "objective: the objective gave string, expected a number")
  end)

  it("judges by the options", function()
    local judge = { links = "duplex", dispatch = "light-first" }
    local p = assert(berth.place(g, mesh, "anneal", { calls = 300, judge = judge }))
    assert.near(p.estimate, berth.simulate(g, mesh, p, judge).makespan, 1e-9)
  end)

  it("keeps the best when it is interrupted", function()
    local n_calls = 0
    berth.hooks { interrupt = function()
      n_calls = n_calls + 1
      return n_calls > 5
    end }
    local p, message, code = berth.place(g, mesh, "anneal", { calls = 1000000 })
    berth.hooks {}
    assert.is_truthy(p)
    assert.equal("interrupted", code)
    assert.is_truthy(message:find("the best of %d+ calls"))
  end)

  it("refuses what means nothing", function()
    assert.error_matches(function() berth.place(g, mesh, "heft", { calls = 3 }) end,
      "option 'calls' means nothing to heft")
    assert.error_matches(function() berth.place(g, mesh, "anneal", { steepest = true }) end,
      "means nothing to anneal")
    assert.error_matches(function() berth.place(g, mesh, "anneal", { calls = 0 }) end, "calls")
  end)
end)
