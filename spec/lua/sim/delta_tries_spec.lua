-- Tries: simulations of small changes of a placement.
local berth = require "berth"
local random = require "support.random_graph"
local errors = require "support.errors"
local refused, raises = errors.refused, errors.raises

local function case(seed, memory)
  local g = assert(berth.graph(random.describe(seed, { n = 30, memory = true })))
  local t = berth.topology.mesh(3, { bandwidth = 200, latency = 0.1, memory = memory })
  return g, t, random.placement(seed, 30, 3)
end

describe("tries", function()
  it("report what a run of the changed placement reports, in any sequence", function()
    local rng = berth.rng(5)
    for _, opts in ipairs { { memory = "none" }, {}, { links = "duplex" },
      { dispatch = "blevel", send = "pull" } } do
      local g, t, p = case(3, 400)
      local run = assert(berth.simulator(g, t, opts))
      local s, makespan, peak, op = berth.tries(g, t, p, opts)
      assert.same({ run(p) }, { makespan, peak, op })
      for _ = 1, 40 do
        local moves, q = {}, {}
        for i = 1, 30 do q[i] = p[i] end
        for _ = 1, rng:below(3) do
          local i = rng:below(30)
          moves[i] = rng:below(3)
          q[i] = moves[i]
        end
        assert.same({ run(q) }, { s:try(moves) })
        if rng:below(2) == 1 then
          assert.is_true(s:accept())
          p = q
        end
      end
      assert.same({ run(p) }, { s:try {} })
      assert.same({ run(p) }, { s:base(p) })
    end
  end)

  it("stop at a limit, which is not accepted", function()
    local g, t, p = case(4)
    local s, makespan = berth.tries(g, t, p, { memory = "none" })
    local before = s:ended()
    assert.is_true(s:try({ [30] = p[30] % 3 + 1 }, makespan / 2) > makespan / 2)
    assert.is_true(s:ended() - before < 30)
    refused("invalid", "no try to accept", s:accept())
  end)

  it("refuse what is wrong and keep the base", function()
    local g, t, p = case(5)
    local s, makespan = berth.tries(g, t, p)
    raises("moves: there is no op 31", s.try, s, { [31] = 1 })
    raises("moves: there is no device 4", s.try, s, { 4 })
    raises("moves: expected a table", s.try, s, 4)
    raises("limit", s.try, s, {}, -1)
    local pinned = assert(berth.graph { ops = { { seconds = 1, pin = 1 }, { seconds = 1 } } })
    local small = berth.tries(pinned, t, { 1, 2 })
    refused("invalid", "op 1 ", small:try { 2 })
    assert.equal(2, (small:try { [2] = 1 }))
    assert.equal("invalid", (select(3, berth.tries(pinned, t, { 2, 2 }))))
    assert.equal(makespan, (s:try {}))
  end)

  it("with a limit are forgotten with a new base", function()
    local g = berth.graph { ops = { { seconds = 2 }, { seconds = 1 } }, edges = { { 1, 2, 1 } } }
    local s = berth.tries(g, berth.topology.mesh(2, { bandwidth = 1 }), { 1, 1 },
      { memory = "none" })
    s:try({ [1] = 2 }, 3)
    s:base { 2, 1 }
    assert.equal(3, (s:try({ [1] = 1 }, 3)))
  end)

  it("print, and live through a hook that closes them", function()
    local g, t, p = case(6)
    local s = berth.tries(g, t, p)
    assert.equal("tries: 30 ops on 3 devices, " .. ("%.0f"):format(s:ended()) .. " ends simulated",
      tostring(s))
    berth.hooks { interrupt = function() s:close() end }
    local makespan = s:try { 1 }
    berth.hooks {}
    assert.is_number(makespan)
    raises("closed", s.try, s, {})
  end)
end)
