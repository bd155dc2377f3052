-- The search of deployments: methods, options, and what it refuses.
local berth = require "berth"
local layers = require "support.layers"
local errors = require "support.errors"
local merged = require "support.merged"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local function model()
  return (berth.deploy.models.random { seed = 1, family = "mlp", layers = 6 })
end

local function cluster(memory)
  local groups = {}
  for i = 1, 3 do
    groups[i] = { preset = i == 2 and "P100" or "V100", count = i, memory = memory or "16 GiB",
      bandwidth = "8 GB/s" }
  end
  return berth.topology.groups { groups = groups, between = 2.81e9, links = "nic",
    latency = "12 us" }
end

local function problem(memory, o)
  local given = merged({ batch = 24, op_groups = 8 }, o)
  return assert(berth.deploy.problem(model(), cluster(memory), given))
end

describe("the search of deployments", function()
  it("values strategies as d:evaluate, and counts each once", function()
    local d = problem()
    for _, method in ipairs { "mcts", "tree", "anneal", "refine", "published" } do
      local r = assert(d:search { method = method, calls = 60, seed = 2 })
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

  it("is never worse than its starts, nor than every action everywhere", function()
    local d = problem()
    local first = assert(d:search { calls = 30, seed = 1 })
    local again = assert(d:search { calls = 5, start = { first }, seed = 9 })
    assert.equal(first.seconds, again.start)
    assert.is_true(again.seconds <= first.seconds)
    local long = assert(d:search { calls = 2 * #d:actions() + 40, seed = 1 })
    for a = 1, #d:actions() do
      local action = {}
      for g = 1, #d:groups() do action[g] = a end
      local legal, v = pcall(d.evaluate, d, { action = action, sfb = "local" })
      if legal and v.over == 0 then assert.is_true(long.seconds <= v.seconds) end
    end
  end)

  it("takes starts that repeat ops", function()
    local d = assert(berth.deploy.problem(layers.graph(), layers.topology(), layers.options()))
    local dp = { action = d:baselines()[1].action }
    local all = d:repeated(dp, "local")
    local function start(s, o)
      o = o or {}
      o.start, o.calls, o.method, o.uniform = { s }, 1, "anneal", false
      return assert(d:search(o))
    end
    local function seconds(duplicate)
      return d:evaluate({ action = dp.action, duplicate = duplicate }).seconds
    end
    assert.equal(seconds {}, start(dp).start)
    assert.equal(seconds {}, start(dp.action).start)
    assert.equal(seconds(all), start({ action = dp.action, sfb = "local" }).start)
    assert.equal(seconds(all), start({ action = dp.action, duplicate = all }).start)
    assert.is_true(#all > 1)
    for _, op in ipairs(all) do
      local r = start { action = dp.action, duplicate = { op } } -- each is in another op group
      assert.same({ op }, r.duplicate)
      assert.equal(seconds { op }, r.start)
      assert.equal("local", r.sfb)
      assert.equal(seconds {},
        start({ action = dp.action, duplicate = { op } }, { sfb = "none" }).start)
    end
    raises("start[1].duplicate[1]: there is no op 99", start,
      { action = dp.action, duplicate = { 99 } })
    raises("start[1].sfb: 'all' is none of: none, local, cut", start,
      { action = dp.action, sfb = "all" })
  end)

  it("reports where op groups are: forward ops in order, backward ones mirrored", function()
    local ops, tensors = {}, {}
    for l = 1, 4 do
      ops[l] = { name = "f" .. l, kind = l == 1 and "input" or "layer", seconds = 1e-3 }
    end
    for l = 1, 4 do
      ops[4 + l] = { name = "b" .. l, kind = "layer", seconds = 1e-3, backward = true }
    end
    for l = 1, 7 do tensors[l] = { from = l, to = { l + 1 }, bytes = 1e3, batch = true } end
    local g = assert(berth.graph { ops = ops, tensors = tensors })
    local d = assert(berth.deploy.problem(g, berth.deploy.clusters.sfb_pair(),
      { batch = 8, op_groups = 8 }))
    local at, group = d:positions(), d:group_of()
    for op = 1, 8 do
      for other = 1, 8 do
        local a, b = op <= 4 and op or 9 - op, other <= 4 and other or 9 - other
        if a < b then assert.is_true(at[group[op]] <= at[group[other]]) end
      end
    end
  end)

  it("calls a prior for batches of leaves", function()
    local d = problem()
    local most, leaves_seen = 0, 0
    local r = assert(d:search { calls = 60, method = "tree", uniform = false, batch = 4,
      prior = function(leaves)
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
    assert.equal(thrown, raised(d.search, d, { prior = function() error(thrown) end }))
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
    local roomy = assert(problem():search { calls = 80 })
    local v = problem():evaluate { action = roomy.action, sfb = roomy.sfb }
    local tight = problem(v.peak * 0.9)
    local r = tight:search { calls = 300, seed = 1 }
    if r then assert.equal(0, tight:evaluate({ action = r.action, sfb = r.sfb }).over) end
    local none, text, code, why = problem("1 MB"):search { calls = 60 }
    assert.is_nil(none)
    assert.equal("infeasible", code)
    assert.truthy(
      text:find("^none of 60 strategies fits: in the best of them device d%d needs [%d.]+ MB more$"))
    assert.is_true(why.device >= 1 and why.device <= 6 and why.missing > 0)
  end)

  it("says so where nothing that it begins with fits", function()
    refused("infeasible",
      "^none of the strategies to begin with fits: .* device d%d needs [%d.]+ MB more$",
      problem("1 MB"):search { method = "anneal", seconds = 1e-9, baselines = true })
  end)

  it("takes any temperature above 0", function()
    for _, x in ipairs { 5e-324, 1e308 } do
      assert.is_table(problem():search { calls = 20, temperature = x })
    end
  end)

  it("stops in baselines, guard and search, and keeps the best so far", function()
    local calls, last
    local function stop() calls = calls + 1; return calls > last end
    local list = problem():baselines()
    for k = 0, 150, 3 do
      local d = problem()
      calls, last = 0, k
      local before = berth.hooks { interrupt = stop }
      local r, _, code = d:search { calls = 20, seed = 1, baselines = true }
      berth.hooks(before)
      if r then
        assert.equal(calls > last, r.interrupted == true)
        for _, b in ipairs(list) do assert.is_true(r.seconds <= b.seconds) end
      else
        assert.equal("interrupted", code)
        assert.is_true(k < 2 * #list + 30)
      end
    end
    local d, s = problem(), list[1]
    local before = berth.hooks { interrupt = function() error("stop here", 0) end }
    local reported = { raised(d.baselines, d), raised(d.search, d, { baselines = true }),
      raised(d.tree, d, { baselines = true }),
      raised(d.guard, d, { action = s.action, sfb = "local" }) }
    berth.hooks(before)
    for i = 1, 4 do assert.equal("stop here", reported[i]) end
    assert.equal(#list, #d:baselines())
  end)

  it("reports what is wrong", function()
    local d = problem()
    raises("'gnn' is none of: local, uniform", d.search, d, { prior = "gnn" })
    raises("prior: expected one of: local, uniform; got number", d.search, d, { prior = 3 })
    raises("temperature", d.search, d, { temperature = 0 })
    assert.matches("start%[2%]%.action: has 1 entries, expected %d+ %(one per op group%)",
      raised(d.search, d, { start = { d:baselines()[1], { action = { 1 } } } }))
    raises("unknown option 'value'", d.search, d, { value = print })
    raises("self: expected a deploy", d.search, 3)
  end)
end)
