-- What of a gap is due to the placement, to the queue rule, or open.
local berth = require "berth"
local errors = require "support.errors"
local shell = require "support.shell"

local refused, raises = errors.refused, errors.raises
local ran, run = shell.ran, shell.run

-- On one device a heavy op is ready before a light one, whose consumer elsewhere takes long: first
-- in, first out it waits.
-- 1 (1 s) -> 2 (9 s) 1 -> 3 (1 s, fed first by 2's queue place) -> 4 (9 s, pinned to the other
-- device)
local function queue()
  local g = assert(berth.graph {
    ops = { { seconds = 1, pin = 1 }, { seconds = 9, pin = 1 }, { seconds = 1, pin = 1 },
      { seconds = 9, pin = 2 } },
    edges = { { 1, 2, 0 }, { 1, 3, 0 }, { 3, 4, 0 } },
  })
  return g, berth.topology.mesh(2, { bandwidth = 1 })
end

describe("berth.gaps", function()
  it("finds the queue rule that is to blame", function()
    local g, t = queue()
    local k = assert(berth.gaps(g, t, { 1, 1, 1, 2 }, { calls = 50 }))
    assert.equal(20, k.makespan)       -- 1 + 9 + 1 + 9
    assert.equal("light-first", k.best_rule)
    assert.equal(11, k.found.makespan) -- 1 + 1 + 9
    assert.equal(20, k.found.fifo)
    assert.near(11, k.bound, 1e-3)
    assert.near(9, k.queue_rule, 1e-9)
    assert.near(0, k.placement, 1e-9)
    assert.near(0, k.open, 1e-3)
    assert.near(k.gap, k.placement + k.queue_rule + k.open, 1e-9)
    local text = tostring(k)
    assert.matches("\nfifo +20 s\n", text)
    assert.matches("\nlight%-first +11 s\n", text)
    assert.matches("\nbest found +11 s +light%-first\n", text)
    assert.matches("\nqueue rule +9 s +%d+%.%d %%", text)
  end)

  it("finds the placement that is to blame", function()
    local ops = {}
    for i = 1, 4 do ops[i] = { seconds = 1 } end
    local g, t = assert(berth.graph { ops = ops }), berth.topology.mesh(4, { bandwidth = 1 })
    local k = assert(berth.gaps(g, t, { 1, 1, 1, 2 }, { calls = 100, seed = 3 }))
    assert.equal(3, k.makespan)
    assert.equal(1, k.found.makespan)
    assert.near(2, k.placement, 1e-9)
    assert.near(0, k.queue_rule, 1e-9)
    assert.equal(1, k.bound)
    assert.equal(1, berth.simulate(g, t, k.found.placement).makespan)
  end)

  it("without a search separates the rules of the placement, and no more", function()
    local g, t = queue()
    local k = assert(berth.gaps(g, t, { 1, 1, 1, 2 }, { calls = 0 }))
    assert.is_nil(k.found)
    assert.is_nil(k.placement)
    assert.near(9, k.queue_rule, 1e-9)
    assert.matches("placement or open", tostring(k))
  end)

  it("splits the portfolio's gap if no placement is given, and adds up", function()
    local rng, ops, edges = berth.rng(5), {}, {}
    for i = 1, 30 do ops[i] = { seconds = rng:below(9) } end
    for i = 2, 30 do edges[i - 1] = { rng:below(i - 1), i, rng:below(8) } end
    local g, t = assert(berth.graph { ops = ops, edges = edges }),
      berth.topology.mesh(3, { bandwidth = 1 })
    local k = assert(berth.gaps(g, t, nil,
      { calls = 60, links = "duplex", place = { members = { "single", "m-etf" } } }))
    assert.near(k.gap, k.placement + k.queue_rule + k.open, 1e-9)
    assert.is_true(k.placement >= 0 and k.queue_rule >= 0 and k.open >= 0)
    assert.is_true(k.bound <= k.found.makespan and k.found.makespan <= k.found.fifo
      and k.found.fifo <= k.makespan)
    assert.same(tostring(k), tostring(berth.gaps(berth.cost(g, t), nil,
      { calls = 60, links = "duplex", place = { members = { "single", "m-etf" } } })))
  end)

  it("keeps memory, and says when the placement does not", function()
    local ops = {}
    for i = 1, 4 do ops[i] = { seconds = 1, params = 100 } end
    local g = assert(berth.graph { ops = ops, edges = { { 1, 2, 3 }, { 2, 3, 1 }, { 3, 4, 3 } } })
    local t = berth.topology.mesh(2, { bandwidth = 1, memory = 220 })
    local k = assert(berth.gaps(g, t, { 1, 1, 2, 2 }, { calls = 40 }))
    assert.near(5, k.bound, 1e-3)
    assert.near(0, k.gap, 1e-3)
    refused("infeasible", "first in, first out the placement runs out of memory at op",
      berth.gaps(g, t, { 1, 1, 1, 2 }))
  end)

  it("refuses wrong options with their names", function()
    local g, t = queue()
    raises("berth.gaps: unknown option 'call'", berth.gaps, g, t, nil, { call = 1 })
    raises("berth.gaps: calls: expected a whole number, got 1.5", berth.gaps, g, t, nil,
      { calls = 1.5 })
    raises("berth.gaps: seed: expected a finite number from 0, got -1", berth.gaps, g, t, nil,
      { seed = -1 })
    raises("berth.gaps: place: expected a table", berth.gaps, g, t, nil, { place = 1 })
  end)
end)

describe("berth bounds --split", function()
  local MODEL = "model:resnet18,batch=1,granularity=block"

  it("prints the split, as a table or JSON", function()
    local text = ran(run("bounds", MODEL, "mesh:2,preset=V100", "--split", "--calls", "20",
      "--placement", "single:1"))
    assert.matches("\nqueue rule +%S+", text)
    text = ran(run("bounds", MODEL, "mesh:2,preset=V100", "--split", "--calls", "20", "--placement",
      "single:1", "--json"))
    assert.matches('"queue_rule_s":0', text)
    assert.matches('"rules":%[{"dispatch":"fifo","makespan_s":0%.', text)
  end)

  it("refuses what does not go together", function()
    shell.failed(2, "bounds: --calls means nothing without --split",
      run("bounds", MODEL, "mesh:2,preset=V100", "--calls", "20"))
    shell.failed(2, "bounds: --thorough means nothing with --split",
      run("bounds", MODEL, "mesh:2,preset=V100", "--split", "--thorough"))
  end)
end)
