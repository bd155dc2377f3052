-- An object with a function `place` goes wherever a placer goes.
local berth = require "berth"
local errors = require "support.errors"

local raised, refused = errors.raised, errors.refused

-- a(2 s) -> b(1 s), c(1 s), on two devices.
local function fork(more)
  local ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 1 },
    { name = "c", seconds = 1 } }
  for i, extra in ipairs(more or {}) do
    for key, value in pairs(extra) do ops[i][key] = value end
  end
  return assert(berth.graph { ops = ops, tensors = { { from = 1, to = { 2, 3 }, bytes = 8 } } })
end

local function two(memory)
  return berth.topology.mesh(2, { bandwidth = "4 B/s", memory = memory })
end

-- Deals the ops out in turn: ten lines are enough for a placer.
local function dealer()
  local placer = { name = "dealer" }
  function placer:place(cost, options)
    self.options = options
    local devices = {}
    for op = 1, #cost.graph do devices[op] = (op - 1) % #cost.topology + 1 end
    return devices
  end
  return placer
end

local function giving(...)
  local results, n = { ... }, select("#", ...)
  return { name = "mine", place = function() return results[1], n > 1 and results[2] or nil,
    results[3], results[4] end }
end

local function fails(text, placer, g, t)
  assert.matches(text, raised(berth.place, g or fork(), t or two(), placer), 1, true)
end

describe("an object that places", function()
  it("is a placer of berth.place, with the options as given", function()
    local placer = dealer()
    local p = assert(berth.place(fork(), two(), placer, { seed = 7, links = "duplex" }))
    assert.same({ 1, 2, 1 }, p:devices())
    assert.equal("dealer", p.placer)
    assert.equal(7, placer.options.seed)
    assert.equal("duplex", placer.options.links)
  end)

  it("may have the function from its metatable, and give a placement", function()
    local class = { name = "class" }
    class.__index = class
    function class:place() return berth.placement({ 2, 2, self.last }, { estimate = 5 }) end
    local p = assert(berth.place(fork(), two(), setmetatable({ last = 1 }, class)))
    assert.same({ 2, 2, 1 }, p:devices())
    assert.equal(5, p.estimate)
    assert.equal("class", p.placer)
  end)

  it("stands in comparisons, pipelines and portfolios under its name", function()
    local rows = assert(berth.compare(fork(), two(),
      { "single", dealer(), berth.pipeline { "fuse", dealer() } }))
    assert.equal("dealer", rows[2].name)
    assert.near(5, rows[2].makespan, 1e-9) -- b waits 8 B / 4 B/s behind a, then runs: 2 + 2 + 1
    assert.equal("fuse -> dealer", rows[3].name)
    local p, members = assert(berth.portfolio(fork(), two(), { members = { dealer(), "single" } }))
    assert.equal("single", p.placer)
    assert.equal("dealer", members[1].name)
    assert.near(5, members[1].makespan, 1e-9)
  end)

  it("passes refusals and interrupts on", function()
    local why = { op = 1 }
    local obstacle = refused("infeasible", "no wish to",
      berth.place(fork(), two(), giving(nil, "no wish to", "infeasible", why)))
    assert.equal(why, obstacle)
    local p, message, code = berth.place(fork(), two(),
      giving({ 1, 1, 1 }, "half way", "interrupted"))
    assert.same({ 1, 1, 1 }, p:devices())
    assert.equal("half way", message)
    assert.equal("interrupted", code)
  end)

  it("gets messages about its answer", function()
    fails("placer 'mine': gave 2 devices for 3 ops", giving { 1, 2 })
    fails("placer 'mine': gave device 3 for op 2 (ids are 1..2)", giving { 1, 3, 1 })
    fails("placer 'mine': gave device 1.5 for op 1", giving { 1.5, 1, 1 })
    fails("placer 'mine': gave string, expected a placement", giving("1 2 1"))
    fails("placer 'mine': gave nil and no message", giving(nil))
    fails('op 2 is on device "d0", but is pinned to "d1"', giving { 1, 1, 1 }, fork { {}, { pin = 2 } })
    fails("ops 2 and 3 of group 1 are on devices 1 and 2", giving { 1, 1, 2 },
      fork { {}, { group = 1 }, { group = 1 } })
  end)

  it("may not run out of memory", function()
    local g = fork { { params = 60 }, { params = 60 } }
    local p, message, code, why = berth.place(g, two("100 B"), giving { 1, 1, 2 })
    assert.is_nil(p)
    assert.equal("infeasible", code)
    assert.truthy(message:find('mine: op %d+ ".-" runs out of memory on device "d0"'), message)
    assert.equal(1, why.device)
    assert.truthy(berth.place(g, two("100 B"), giving { 1, 2, 2 }))
    assert.truthy(berth.place(g, two("100 B"), giving { 1, 1, 2 }, { memory = "none" }))
  end)
end)
