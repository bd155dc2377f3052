-- berth.decide: searches of decisions on random costs, their options and what they refuse.
local berth = require "berth"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises
local merged = require "support.merged"

-- Random costs of each action for each decision and of neighbours; above the wall nothing is
-- allowed.
local function random_problem(seed, n, k)
  local rng = berth.rng(seed, 5)
  local cost, pair, legal = {}, {}, {}
  for i = 1, n do
    cost[i], pair[i], legal[i] = {}, {}, {}
    for a = 1, k do
      cost[i][a] = 3 * rng:uniform()
      if a == (i - 1) % k + 1 or rng:below(4) > 1 then legal[i][#legal[i] + 1] = a end
    end
    for b = 1, 7 do pair[i][b] = 2 * rng:uniform() end
  end
  local p = { decisions = n, actions = k, legal = legal, cost = cost, seed = seed, wall = 2 * n }
  function p.value(a)
    local sum = 1
    for i = 1, n do
      sum = sum + cost[i][a[i]]
      if i > 1 then sum = sum + pair[i][(3 * a[i] + 5 * a[i - 1]) % 7 + 1] end
    end
    if sum > p.wall then return sum, sum - p.wall end
    return sum
  end
  p.starts = { {} }
  for i = 1, n do p.starts[1][i] = (i - 1) % k + 1 end
  return p
end

-- What berth.decide takes of it.
local function options(p, more)
  return merged({ decisions = p.decisions, actions = p.actions, legal = p.legal, value = p.value,
    starts = p.starts, seed = p.seed }, more)
end

-- The published search, word for word: papers/tag.md, 9.1 and 9.2.
local function naive(p, prior, playouts)
  local rng = berth.rng(p.seed, 1)
  local n, start = p.decisions, p.starts[1]
  local is_legal = {}
  for i = 1, n do
    is_legal[i] = {}
    for _, a in ipairs(p.legal[i]) do is_legal[i][a] = true end
  end
  local baseline = p.value(start)

  local function assignment(node)
    local a = {}
    local first = node.actions[1]
    for i = 1, n do
      a[i] = node.actions[i] or (first and is_legal[i][first] and first) or start[i]
    end
    return a
  end

  local function value(node)
    local seconds, excess = p.value(assignment(node))
    if excess then return -1 end
    local v = baseline / seconds - 1
    return v > 1 and math.sqrt(math.sqrt(v)) or v
  end

  local function expand(node)
    local i = #node.actions + 1
    local weights, sum = prior(i, assignment(node)), 0
    for a = 1, p.actions do
      if not is_legal[i][a] then weights[a] = 0 end
      sum = sum + weights[a]
    end
    node.kids = {}
    local order = {}
    for k, a in ipairs(p.legal[i]) do order[k] = a end
    rng:shuffle(order)
    for k, a in ipairs(order) do
      local actions = {}
      for j = 1, #node.actions do actions[j] = node.actions[j] end
      actions[i] = a
      node.kids[k] = { actions = actions, p = weights[a] / sum, q = 0, n = 0 }
    end
  end

  local root = { actions = {}, q = 0, n = 0, p = 1 }
  for _ = 1, playouts do
    local node, path = root, { root }
    while node.kids do
      local best, score
      local c = math.sqrt(#node.kids / 10) * math.sqrt(node.n)
      for _, kid in ipairs(node.kids) do
        local s = kid.q + c * kid.p / (1 + kid.n)
        if not score or s > score then best, score = kid, s end
      end
      node = best
      path[#path + 1] = node
    end
    if #node.actions < n then expand(node) end
    local v = value(node)
    for _, x in ipairs(path) do
      x.n = x.n + 1
      x.q = x.q + (v - x.q) / x.n
    end
  end
  return root
end

local function check_node(tree, node)
  local visits, q, p = tree:node(node.actions)
  assert.equal(node.n, visits)
  assert.equal(node.q, q)
  if #node.actions == 1 then assert.near(node.p, p, 1e-15) end
  local sum = 1
  for _, kid in ipairs(node.kids or {}) do sum = sum + check_node(tree, kid) end
  return sum
end

local methods = { "mcts", "tree", "anneal", "refine", "published" }

describe("berth.decide", function()
  it("searches as published, node by node", function()
    for seed = 1, 25 do
      local p = random_problem(seed, 3 + seed % 4, 2 + seed % 5)
      p.wall = seed % 3 == 0 and 1.9 * p.decisions or math.huge
      local function weights(i)
        local w = {}
        for a = 1, p.actions do w[a] = seed % 2 == 0 and 1 or 1 / (0.1 + p.cost[i][a]) end
        return w
      end
      local tree = berth.decide.tree(options(p, { method = "published", prior = function(leaves)
        local out = {}
        for k, leaf in ipairs(leaves) do
          assert.equal(leaf.decided + 1, leaf.decision)
          out[k] = weights(leaf.decision)
        end
        return out
      end }))
      if not select(2, p.value(p.starts[1])) then
        assert(tree:run(400))
        assert.is_true(check_node(tree, naive(p, weights, 400)) > 3)
      end
    end
  end)

  it("takes names for actions", function()
    local r = berth.decide {
      decisions = 5, actions = { "left", "right", "ahead" }, seed = 2, calls = 150,
      legal = function(decision, action) return decision > 1 or action ~= "ahead" end,
      starts = { { "left", "left", "left", "left", "left" } },
      fill = function(decided, a)
        for i = decided + 1, 5 do a[i] = "right" end
        return a
      end,
      prior = function(leaves)
        local out = {}
        for k, leaf in ipairs(leaves) do
          assert.is_string(leaf.assignment[1])
          out[k] = { 1, 2, 1 }
        end
        return out
      end,
      value = function(a)
        local turns = 1
        for i = 2, 5 do turns = turns + ((a[i] ~= "ahead") == (a[i - 1] == "ahead") and 0 or i) end
        return turns
      end,
    }
    assert.equal(1, r.value)
    assert.truthy(("left right"):find(r.assignment[1], 1, true))
    assert.same({ "ahead", r.assignment[3], "ahead", r.assignment[5] },
      { r.assignment[2], r.assignment[3], r.assignment[4], r.assignment[5] })
    assert.truthy(tostring(r):find("decided: 5 decisions, value 1, best start 15", 1, true))
  end)

  it("goes on from where it was", function()
    local p = random_problem(4, 6, 4)
    p.wall = math.huge
    local tree = berth.decide.tree(options(p, { fill = "start" }))
    assert(tree:run(50))
    local visits, priors = tree:visits()
    local sum, action, likely = 0, 1, 0
    for a, n in ipairs(visits) do
      sum, likely = sum + n, likely + priors[a]
      if n > visits[action] then action = a end
    end
    assert.equal(49, sum)
    assert.near(1, likely, 1e-12)
    assert.is_true(tree:advance(action))
    local decided, assignment = tree:root()
    assert.equal(1, decided)
    assert.equal(action, assignment[1])
    assert.equal(visits[action], (tree:node {}))
    assert(tree:run(visits[action] + 30))
    assert.equal(visits[action] + 30, (tree:node {}))
    local before = tree:best()
    local after = tree:search { calls = 40 }
    assert.equal(before.evaluations + 40, after.evaluations)
    assert.is_true(after.value <= before.value)
    assert.truthy(tostring(tree):find("tree: 6 decisions among 4 actions, best", 1, true))
    tree:close()
    assert.equal("tree: closed", tostring(tree))
  end)

  it("gives the same on both interpreters", function()
    local sums = {}
    for k, method in ipairs(methods) do
      local p = random_problem(11, 12, 5)
      p.wall = math.huge
      local r = berth.decide(options(p, { method = method, calls = 200 }))
      sums[k] = ("%.6f %s"):format(r.value, table.concat(r.assignment))
    end
    assert.same({ "15.556346 523341445524", "21.092821 354444415524", "15.556346 523341445524",
      "15.556346 523341445524",
      "19.869369 123322441111" }, sums)
  end)

  it("has the prior of each action, wherever its steps are not opened yet", function()
    local paths, weights, all = {}, {}, 0
    for a = 1, 12 do
      paths[a], weights[a] = { a % 2, a % 3, a }, a * a
      all = all + weights[a]
    end
    for visits = 1, 30 do
      local t = berth.decide.tree { decisions = 3, actions = 12, paths = paths, uniform = false,
        value = function(x) return x[1] + x[2] * x[3] end,
        prior = function(leaves)
          local out = {}
          for i in ipairs(leaves) do out[i] = weights end
          return out
        end }
      t:run(visits)
      local _, priors = t:visits()
      for a = 1, 12 do
        assert.near(weights[a] / all, priors and priors[a] or t:node({ a }).prior, 1e-12)
      end
    end
  end)

  it("applies the listed actions everywhere, and takes weights", function()
    local uniform = {}
    local r = berth.decide { decisions = 4, actions = { "a", "b", "c" }, everywhere = { "c" },
      weight = { 1, 0, 5, 1 },
      calls = 2, method = "refine", uniform_part = 1, value = function(x)
        if x[1] == x[2] and x[2] == x[3] and x[3] == x[4] then uniform[x[1]] = true end
        return 1
      end }
    assert.equal(2, r.evaluations)
    assert.is_true(uniform.a and uniform.c and not uniform.b)
    raises("add up to 0", berth.decide,
      { decisions = 2, actions = 2, weight = { 0, 0 }, value = print })
  end)

  it("lets other actions stand for illegal ones", function()
    for _, method in ipairs { "mcts", "tree", "anneal", "refine" } do
      for _, named in ipairs { true, false } do
        local name = { "one", "all", "ps" }
        local function of(a) return named and name[a] or a end
        local called = {}
        local r = berth.decide { decisions = 4, actions = named and name or 3, method = method,
          calls = 4, uniform_part = 1,
          legal = function(decision, action) return action ~= of(3) or decision % 2 == 0 end,
          instead = { [of(3)] = of(2), [of(1)] = false },
          value = function(a)
            called[table.concat(a, " ")] = true
            return 2 - (a[2] == of(3) and 1 or 0) + (a[3] == of(2) and 0 or 0.5)
          end }
        assert.is_true(called[table.concat({ of(2), of(3), of(2), of(3) }, " ")])
        assert.equal(1, r.value)
      end
    end
    local tree = berth.decide.tree { decisions = 3, actions = 3,
      legal = { { 3 }, { 1, 2 }, { 1, 2 } }, instead = { [3] = 2 },
      starts = { { 3, 1, 1 } }, start_values = { 9 }, uniform = false,
        value = function(a) return a[2] + a[3] end }
    assert.same({ 0, { 3, 1, 1 } }, { tree:root() })
    assert(tree:run(1))
    assert.is_true(tree:advance(3))
    assert.same({ 1, { 3, 2, 2 } }, { tree:root() })
    local function wrong(actions, instead)
      return raised(berth.decide,
        { decisions = 2, actions = actions, instead = instead, value = print })
    end
    local names = { "a", "b", "c" }
    assert.truthy(wrong(3, { 2, 1 }):find("instead of action 1: in circles, by action 1", 1, true))
    assert.truthy(wrong(names, { b = "b" }):find("instead of action 2: in circles, by action 2", 1,
      true))
    assert.truthy(wrong(3, { [3] = 4 }):find("instead[3]: there is no action 4 (ids are 1..3)", 1,
      true))
    assert.truthy(wrong(3, { [4] = 1 }):find("instead: [4] is for no action (1 to 3)", 1, true))
    assert.truthy(wrong(3,
      { b = 1 }):find("instead: a key is a string, expected the number of action", 1, true))
    assert.truthy(wrong(3, "b"):find("instead: expected a table, got string", 1, true))
    assert.truthy(wrong(names, "b"):find("instead: expected a table, got string", 1, true))
    assert.truthy(wrong(names, { x = "a", d = "a" }):find("instead: 'd' is no action", 1, true))
    assert.truthy(wrong(names, { c = "d" }):find("instead.c: 'd' is no action", 1, true))
  end)

  it("takes what starts exceed", function()
    local names = { "left", "right" }
    local function search(more)
      local o = { decisions = 3, actions = names, calls = 20, starts = { { "left", "left", "left" },
        { "right", "right", "right" } }, value = function() return 1, 5 end }
      for key, x in pairs(more) do o[key] = x end
      return berth.decide(o)
    end
    local r, text, code = search { start_values = { 7, 3 }, start_excess = { 2, 0.5 } }
    assert.same({ nil, "infeasible" }, { r, code })
    assert.truthy(text:find("the least excess is 0.5", 1, true))
    r = search { start_values = { 7, 3 }, start_excess = { [2] = 0.5 } }
    assert.same({ 7, 7, { "left", "left", "left" } }, { r.value, r.start, r.assignment })
    assert.equal(3, search({ start_values = { nil, 3 } }).value)
    r = search { start_values = { 7, math.huge } }
    assert.equal(7, r.value)
    raises("start_values: [3] is for no start (1 to 2)", search, { start_values = { 1, 2, 3 } })
    raises("start_values[2]: expected a number, got string", search, { start_values = { 1, "x" } })
    raises("start_values[1]", search, { start_values = { 0 / 0 } })
    raises("a start has value -inf", search, { start_values = { 1, -math.huge } })
    raises("excess -1", search, { start_values = { 1 }, start_excess = { -1 } })
    raises("start_excess: requires start_values", search, { start_excess = { 1 } })
    raises("start_values: expected a table, got number", search, { start_values = 3 })
  end)

  it("takes enormous weights of a prior", function()
    local function search(x)
      return berth.decide { decisions = 6, actions = 5, calls = 120, seed = 4, value = function(a)
        return 1 + a[1] * a[2] + a[3] / a[4] + a[5] * a[6]
      end, prior = function(leaves)
        local out = {}
        for k in ipairs(leaves) do out[k] = { x, x, x, x, x } end
        return out
      end }
    end
    assert.same(search(1).trace, search(1e308).trace)
  end)

  it("has no answer where nothing is allowed", function()
    for _, method in ipairs(methods) do
      local r, text, code = berth.decide { decisions = 3, actions = 2, method = method,
        value = function() return math.huge end }
      assert.is_nil(r)
      assert.equal("infeasible", code)
      assert.truthy(text:find("none of %d+ assignments is allowed"))
    end
    local r, text = berth.decide { decisions = 2, actions = 2, value = function(a) return 1,
      0.5 * (a[1] + a[2]) end }
    assert.is_nil(r)
    assert.equal("none of 4 assignments is allowed; the least excess is 1", text)
  end)

  it("raises what functions raise, and reports what they give", function()
    local thrown = {}
    local function with(more)
      local o = { decisions = 3, actions = 2, method = "tree", uniform = false,
        value = function(a) return a[1] end }
      for key, x in pairs(more) do o[key] = x end
      return o
    end
    for _, key in ipairs { "value", "prior", "fill" } do
      assert.equal(thrown, raised(berth.decide, with { [key] = function() error(thrown) end }))
    end
    raises("value: gave string", berth.decide, with { value = function() return "1" end })
    raises("value: gave NaN", berth.decide, with { value = function() return 0 / 0 end })
    raises("excess is below 0", berth.decide, with { value = function() return 1, -1 end })
    raises("weight 2 of leaf 1", berth.decide, with { prior = function() return { { 1, -1 } } end })
    raises("prior: gave number", berth.decide, with { prior = function() return 3 end })
    raises("there is no action at [3]", berth.decide,
      with { fill = function() return { 1, 2, 3 } end })
    raises("starts[1][3]: there is no action 3", berth.decide, with { starts = { { 1, 2, 3 } } })
    raises("decision 2 has no legal action", berth.decide, with { legal = { { 1 }, {}, { 2 } } })
    raises("unknown option 'evaluation'", berth.decide, with { evaluation = 3 })
    raises("batch", berth.decide, with { batch = 0 })
    raises("'a' is action 1 already", berth.decide, with { actions = { "a", "a" } })
    raises("value: expected a function", berth.decide, { decisions = 3, actions = 2 })
  end)

  it("lets functions close it and refuses to be run within itself", function()
    local tree, inner
    tree = berth.decide.tree { decisions = 3, actions = 2, value = function(a)
      if not inner then inner = raised(tree.run, tree, 5) end
      tree:close()
      return a[1]
    end }
    assert.is_true(tree:run(8))
    assert.truthy(inner:find("the search is under way", 1, true))
    raises("closed", tree.run, tree, 9)
  end)

  it("stops on request, with the best so far", function()
    local calls = 0
    local before = berth.hooks { interrupt = function() return calls >= 30 end }
    local r = berth.decide { decisions = 9, actions = 5, value = function(a)
      calls = calls + 1
      return 1 + a[1] * a[2] + a[3] * a[4]
    end }
    berth.hooks { interrupt = function() error("stop here", 0) end }
    local ok, err = pcall(berth.decide,
      { decisions = 2, actions = 2, value = function() return 1 end })
    berth.hooks(before)
    assert.is_true(r.interrupted)
    assert.equal(30, r.evaluations)
    assert.is_false(ok)
    assert.equal("stop here", err)
  end)
end)
