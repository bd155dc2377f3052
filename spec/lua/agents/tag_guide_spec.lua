-- Strategies that TAG's agent gives a search to begin with.
local berth = require "berth"
local costs = require "berth.agents.tag.costs"
local guide = require "berth.agents.tag.guide"
local places = require "berth.agents.tag.places"
local toy = require "support.tag_toy"
local uniform = require "berth.agents.tag.uniform"

local function small(physics)
  return assert(berth.deploy.problem(berth.models.random { seed = 4, layers = 3, batch = 32 },
    berth.deploy.clusters.six_gpu { links = physics == "compat" and "tag" or "nic" },
    { batch = 32, op_groups = 12, physics = physics }))
end

local function key_of(s) return table.concat(s.action, " ") end

describe("one action for all", function()
  it("has AllReduce where PS has no gradient to sum, as baselines do", function()
    for _, physics in ipairs { "physical", "compat", "published" } do
      local d = small(physics)
      local u, actions, n = uniform.new(d), d:actions(), 0
      for a, x in ipairs(actions) do
        local out, missing = u:strategy(a)
        assert(d:evaluate { action = out })
        for g, b in ipairs(missing == 0 and out or {}) do
          assert.equal(x.set, actions[b].set)
          assert.equal(x.shares, actions[b].shares)
          if b ~= a then
            n = n + 1
            assert.same({ "ps", "allreduce" }, { x.option, actions[b].option })
            for _, own in ipairs(d:legal(g)) do assert.are_not.equal(a, own) end
          end
        end
      end
      assert.equal(physics ~= "published", n > 0)
    end
  end)

  it("is unchanged where nothing replaces it", function()
    local u = uniform.new(toy.new(1, 8, 2))
    local otherwise = {}
    for g = 1, 8 do otherwise[g] = u:first(g) end
    local out, missing = u:strategy(4, otherwise) -- (g + a) % 7 == 0 is illegal
    assert.equal(1, missing)
    assert.same({ 4, 4, otherwise[3], 4, 4, 4, 4, 4 }, out)
  end)
end)

describe("places of op groups", function()
  it("order them, and say where the fewest bytes cross", function()
    local nn = berth.nn -- c b' a b c' a', of which a' belongs before a
    local mock = { positions = function() return { 3, 1, 1, 2, 2, 0 } end, features = function()
      return { edge_from = nn.index { 3, 3, 4, 4, 1, 5, 2 },
        edge_to = nn.index { 4, 6, 1, 2, 5, 2, 6 },
        edge = nn.array({ 9, 9, 5, 5, 1, 1, 1 }, { 7, 1 }) }
    end }
    local order, cuts = places.new(mock, {})
    assert.same({ 6, 2, 3, 4, 5, 1 }, order)
    assert.same({ 4, 5, 1, 2, 3 }, cuts) -- 10 15 15 6 6 bytes
  end)
end)

describe("a guide", function()
  it("gives the starts, then the likeliest for all, then changes, each once", function()
    local d = small()
    local u, start = uniform.new(d), { action = d:baselines()[1].action }
    local view = costs.view(d)
    local weights, best = view.everywhere(start.action), 1
    for a = 2, #weights do
      if weights[a] > weights[best] then best = a end
    end
    local list, seen = guide.strategies(d, view, { start }), {}
    assert.same(start.action, list[1].action)
    local first = key_of { action = (u:strategy(best)) }
    assert.is_true(first == key_of(list[1]) or first == key_of(list[2]))
    for _, s in ipairs(list) do
      assert.is_nil(seen[key_of(s)])
      seen[key_of(s)] = true
      assert(d:evaluate(s))
    end
  end)

  it("gives halves: two that are likeliest in all, then one that is it in the mean", function()
    -- Eight op groups in a chain. The second action is likelier by 2 in the first, else by 0.9.
    local from, to, bytes, groups, answers = {}, {}, {}, {}, {}
    for g = 1, 8 do
      groups[g] = {}
      answers[g] = { 1, math.exp(g == 1 and 2 or 0.9) }
      if g < 8 then from[g], to[g], bytes[g] = g, g + 1, 1 end
    end
    local one = { set = 1, shares = "even", option = "ps" }
    local d = {
      groups = function() return groups end, actions = function() return { one, one } end,
      sets = function() return { { 1 } } end, legal = function() return { 1, 2 } end,
      positions = function() return { 0, 1, 2, 3, 4, 5, 6, 7 } end,
      features = function()
        return { edge_from = berth.nn.index(from), edge_to = berth.nn.index(to),
          edge = berth.nn.array(bytes, { 7, 1 }) }
      end,
      evaluate = function(_, x) return { over = 0, seconds = x.action[1] } end,
    }
    local view = {
      everywhere = function() return { 1, 1 } end, groups = function() return answers end,
    }
    local list, keys = guide.strategies(d, view, nil, { uniform = 2, halves = 3, changes = 0 }), {}
    for i, x in ipairs(list) do keys[i] = key_of(x) end
    assert.same({ "1 1 1 1 1 1 1 1", "2 2 2 2 2 2 2 2", "2 2 2 2 2 2 2 1", "2 2 2 2 2 2 1 1",
      "2 1 1 1 1 1 1 1" }, keys)
  end)

  it("simulates nothing that the search does not count", function()
    local d, known, called = small(), {}, {}
    local spy = setmetatable({}, { __index = function(_, key)
      return function(_, s, ...)
        if key == "evaluate" or key == "features" then called[key_of(s)] = true end
        return d[key](d, s, ...)
      end
    end })
    for _, s in ipairs(guide.strategies(spy, costs.view(d), {})) do known[key_of(s)] = true end
    assert.truthy(next(called))
    for key in pairs(called) do assert.is_true(known[key]) end
  end)

  it("takes what a prior is sure of", function()
    local d = toy.new(3, 8, 2)
    local best = d:search().action
    local view = costs.view(d)
    local function sure()
      local out = {}
      for g = 1, 8 do
        out[g] = {}
        for a = 1, #d:actions() do out[g][a] = a == best[g] and 0.9 or 1e-3 end
      end
      return out
    end
    local found = false
    for _, s in ipairs(guide.strategies(d, { everywhere = view.everywhere, groups = sure }, {})) do
      found = found or key_of(s) == table.concat(best, " ")
    end
    assert.is_true(found)
  end)

  it("is taken under every rule for repeated ops", function()
    local d = small()
    local a = berth.agents.tag { size = "tiny", nodes = 8, edges = 4, layers = 1 }
    for _, rule in ipairs { "none", "local", "cut" } do
      local given = a:guide(d, nil, 30)
      given.calls, given.sfb = 30, rule
      local r = assert(d:search(given))
      assert.is_true(r.evaluations <= 30)
      if rule == "none" then assert.is_nil(r.duplicate) end
    end
    assert(berth.deploy.plan(d.graph, d.topology,
      { batch = 32, op_groups = 12, calls = 40, prior = a, sfb = "none" }))
  end)
end)
