-- Graphs without a route, a common device or room: every placer refuses them at once.
local berth = require("berth")
local refused = require("support.errors").refused

local function ops(n, seconds)
  local list = {}
  for i = 1, n do list[i] = { seconds = seconds or 1 } end
  return list
end

describe("a transfer without a route", function()
  local one_way =
    berth.topology({ devices = { {}, {} }, links = { { 1, 2, bandwidth = 1, directed = true } } })
  local pair = berth.graph({ ops = ops(2), edges = { { 1, 2, 1 } } })

  it("is reported where links are held, though a function prices it", function()
    local cost = { transfer = function() return 1 end }
    refused("unreachable", 'no route from device "d1"',
      berth.simulate(pair, one_way, { 2, 1 }, { links = "route", cost = cost }))
    assert.equal(3, assert(berth.simulate(pair, one_way, { 2, 1 }, { cost = cost })).makespan)
  end)

  it("is nothing a search on held links trips over", function()
    local c = berth.cost(pair, one_way, { transfer = function() return 1 end })
    for _, name in ipairs({ "anneal", "local", "brkga" }) do
      local p = assert(berth.place(c, name, { links = "route", calls = 60 }))
      assert.is_false(p[1] == 2 and p[2] == 1)
    end
  end)

  it("does not apply to an objective", function()
    local n_calls = 0
    local function objective(p)
      n_calls = n_calls + 1
      assert(not (p[1] == 2 and p[2] == 1))
      return p[1] + p[2]
    end
    for _, name in ipairs({ "anneal", "local", "brkga" }) do
      assert(berth.place(pair, one_way, name,
        { objective = objective, calls = 60, judge = { memory = "none" } }))
    end
    assert.is_true(n_calls > 0)
  end)
end)

describe("a dependency that is free", function()
  local g = berth.graph({ ops = { { seconds = 1, params = 4 }, { seconds = 1, params = 4 } },
    edges = { { 1, 2, 0 } } })

  it("needs a route all the same", function()
    local t = berth.topology({ devices = { { memory = 5 }, { memory = 5 } }, links = {} })
    local c = berth.cost(g, t, { free_control = true })
    assert.equal(math.huge, c:transfer(1, 1, 2))
    for _, links in ipairs({ "free", "channel", "duplex", "pair", "route", "fair" }) do
      local _, _, code = berth.simulate(c, { 1, 2 }, { links = links, bound = false })
      assert.equal("unreachable", code, links)
    end
    assert.is_nil((berth.place(c, "m-etf")))
  end)

  it("or the function's word, which is then free", function()
    local t = berth.topology({ devices = { {}, {} }, links = {} })
    local c = berth.cost(g, t,
      { free_control = true, transfer = function(_, src) return src == 1 and 7 or math.huge end })
    assert.equal(0, c:transfer(1, 1, 2))
    assert.equal(math.huge, c:transfer(1, 2, 1))
  end)

  it("bounds nothing by a number when memory parts what cannot cross", function()
    local t = berth.topology({ devices = { { memory = 5 }, { memory = 5 } }, links = {} })
    for _, options in ipairs({ { free_control = true }, { free_control = false } }) do
      for _, thorough in ipairs({ false, true }) do
        refused("infeasible", "have no route",
          berth.bounds(berth.cost(g, t, options), { thorough = thorough }))
      end
    end
  end)
end)

describe("memory policy total", function()
  local t = berth.topology({ devices = { { type = "a", memory = 14 } }, links = {} })
  local roomy =
    berth.topology({ devices = { { type = "a", memory = 14 }, { type = "a", memory = 14 } },
    links = { { 1, 2, bandwidth = 8 } } })
  local g = berth.graph({ types = { "a" },
    ops = { { seconds = 4, params = 2, workspace = 4 }, { seconds = 4 },
      { seconds = 4, params = 2 },
      { seconds = 2, params = 5 } },
    tensors = { { from = 2, to = 3, bytes = 8, resident = 0 }, { from = 3, to = 4, bytes = 4 } } })

  for _, name in ipairs({ "anneal", "local", "brkga", "exact" }) do
    it("holds in any order with " .. name, function()
      local p, _, code = berth.place(g, t, name,
        { memory = "total", calls = name ~= "exact" and 9 or nil })
      assert.is_nil(p)
      assert.equal("infeasible", code)
      p = assert(berth.place(g, roomy, name,
        { memory = "total", calls = name ~= "exact" and 60 or nil }))
      for _, dispatch in ipairs({ "fifo", "lifo", "blevel" }) do
        assert.is_nil(assert(berth.simulate(g, roomy, p,
          { memory = "total", dispatch = dispatch })).oom, dispatch)
      end
    end)
  end
end)

describe("a SAGA file", function()
  it("may name its workflow", function()
    local g, t = assert(berth.parse('{"name": "s", "tasks": [{"id": "a", "cost": 1}], "edges": [], '
      .. '"nodes": [{"id": "n", "speed": 1}], "links": [], "workflow": "x"}'))
    assert.equal(1, g.n_ops)
    assert.equal(1, t.n_devices)
  end)
end)
