local berth = require "berth"

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  return tostring(text)
end

local function model() return (berth.deploy.models.random { seed = 1, family = "mlp", layers = 6 }) end

local function cluster(memory)
  local groups = {}
  for i = 1, 3 do
    groups[i] = { preset = i == 2 and "P100" or "V100", count = i, memory = memory or "16 GiB", bandwidth = "8 GB/s" }
  end
  return berth.topology.groups { groups = groups, between = 2.81e9, links = "nic", latency = "12 us" }
end

local function problem(memory, o)
  local given = { batch = 24, op_groups = 8 }
  for key, x in pairs(o or {}) do given[key] = x end
  return assert(berth.deploy.problem(model(), cluster(memory), given))
end

describe("the search of deployments", function()
  it("values strategies as d:evaluate, and counts each once", function()
    local d = problem()
    for _, method in ipairs { "mcts", "tree", "anneal", "refine", "published" } do
      local r = assert(d:search { method = method, evaluations = 60, seed = 2 })
      assert.equal(60, r.evaluations)
      local v = d:evaluate { action = r.action, duplicate = r.duplicate }
      assert.equal(r.seconds, v.seconds)
      assert.equal(0, v.over)
      assert.equal(r.seconds, d:evaluate({ action = r.action, sfb = r.sfb }).seconds)
      assert.is_true(r.seconds <= r.start)
      assert.equal(r.duplicate and "local" or "none", r.sfb)
      if method == "published" then assert.is_nil(r.duplicate) end
      assert.equal(r.seconds, r.trace[#r.trace].seconds)
    end
  end)

  it("repeats ops only where that is no slower", function()
    local seen = {}
    local g, trio = berth.deploy.models.build("vgg19", { batch = 6 }), berth.deploy.clusters.sfb_trio()
    for seed = 1, 6 do
      local d = assert(berth.deploy.problem(g, trio, { batch = 6, seed = seed, op_groups = 3 + seed }))
      local r = assert(d:search { method = "anneal", evaluations = 40, seed = seed })
      local with = d:evaluate({ action = r.action, duplicate = r.duplicate }).seconds
      local without = d:evaluate({ action = r.action }).seconds
      assert.equal(with, r.seconds)
      seen[with < without and "with" or without < with and "without" or "alike"] = true
    end
    assert.is_true(seen.with)
  end)

  it("is never worse than its starts, nor than every action everywhere", function()
    local d = problem()
    local first = assert(d:search { evaluations = 30, seed = 1 })
    local again = assert(d:search { evaluations = 5, start = { first }, seed = 9 })
    assert.equal(first.seconds, again.start)
    assert.is_true(again.seconds <= first.seconds)
    local long = assert(d:search { evaluations = 2 * #d:actions() + 40, seed = 1 })
    for a = 1, #d:actions() do
      local action = {}
      for g = 1, #d:groups() do action[g] = a end
      local legal, v = pcall(d.evaluate, d, { action = action, sfb = "local" })
      if legal and v.over == 0 then assert.is_true(long.seconds <= v.seconds) end
    end
  end)

  it("asks a prior for batches of leaves", function()
    local d = problem()
    local most, leaves_seen = 0, 0
    local r = assert(d:search { evaluations = 60, method = "tree", uniform = false, batch = 4, prior = function(leaves)
      local out = {}
      most = math.max(most, #leaves)
      for k, leaf in ipairs(leaves) do
        leaves_seen = leaves_seen + 1
        assert.equal(#d:groups(), #leaf.action)
        assert.equal(leaf.decided + 1, leaf.decision)
        out[k] = {}
        for a, seconds in ipairs(d:local_costs({ action = leaf.action }, leaf.decision)) do
          out[k][a] = seconds < math.huge and 1 / seconds or 0
        end
      end
      return out
    end })
    assert.equal(60, r.evaluations)
    assert.is_true(most > 1 and most <= 4 and leaves_seen > 10)
    local thrown = {}
    local ok, err = pcall(d.search, d, { prior = function() error(thrown) end })
    assert.is_false(ok)
    assert.equal(thrown, err)
  end)

  it("goes on in a tree, with visits to learn from", function()
    local d = problem()
    local t = d:tree { prior = "uniform", method = "tree", uniform = false, seed = 3 }
    for step = 1, 3 do
      assert.is_true(t:run(40))
      local visits, best, sum = t:visits(), 1, 0
      for a, n in ipairs(visits) do
        sum = sum + n
        if n > visits[best] then best = a end
      end
      assert.equal(39, sum)
      assert.is_true(t:advance(best))
      local decided, action = t:root()
      assert.equal(step, decided)
      assert.equal(best, action[step])
    end
    d:close()
    assert.is_true(t:run(60))
    assert.is_table(t:best().action)
  end)

  it("finds what memory can hold, or says that nothing fits", function()
    local roomy = assert(problem():search { evaluations = 80 })
    local v = problem():evaluate { action = roomy.action, sfb = roomy.sfb }
    local tight = problem(v.peak * 0.9)
    local r = tight:search { evaluations = 300, seed = 1 }
    if r then assert.equal(0, tight:evaluate({ action = r.action, sfb = r.sfb }).over) end
    local none, text, code, why = problem("1 MB"):search { evaluations = 60 }
    assert.is_nil(none)
    assert.equal("infeasible", code)
    assert.truthy(text:find("^none of 60 strategies fits: in the best of them device %d needs [%d.]+ MB more$"))
    assert.is_true(why.device >= 1 and why.device <= 6 and why.missing > 0)
  end)

  it("chooses in steps above six device groups", function()
    local groups = {}
    for i = 1, 8 do groups[i] = { preset = "V100", count = 1 + i % 2, memory = "16 GiB", bandwidth = "8 GB/s" } end
    local t = berth.topology.groups { groups = groups, between = 5e9, links = "nic", latency = "12 us" }
    local d = assert(berth.deploy.problem(model(), t, { batch = 24, op_groups = 6 }))
    assert.equal(8, #d:device_groups() > 0 and 8)
    local steps = assert(d:search { evaluations = 100, seed = 1 })
    local whole = assert(d:search { evaluations = 100, seed = 1, steps = false })
    assert.is_true(steps.seconds <= 1.1 * whole.seconds)
    assert.is_true(steps.seconds <= steps.start and whole.seconds <= whole.start)
  end)

  it("tells what is wrong", function()
    local d = problem()
    assert.truthy(message(d.search, d, { prior = "gnn" }):find("'gnn' is none of: local, uniform", 1, true))
    assert.truthy(message(d.search, d, { temperature = 0 }):find("temperature", 1, true))
    assert.truthy(message(d.search, d, { start = { { action = { 1 } } } }):find("start[1]", 1, true))
    assert.truthy(message(d.search, d, { value = print }):find("unknown option 'value'", 1, true))
    assert.truthy(message(d.search, 3):find("self: expected a deploy", 1, true))
  end)
end)
