-- TAG's search (section 9) by hand, what a strategy is told to be worth, and what plans promise.
local berth = require "berth"

local us = 1e-6

local function key(actions) return table.concat(actions, " ") end

local function visits_of(t, actions) return (t:node(actions)) end
local function q_of(t, actions) return (select(2, t:node(actions))) end

describe("TAG's search tree", function()
  it("goes where q + c p sqrt(n of the parent) / (1 + n) is largest", function()
    -- Two decisions of two actions, priors 0.6 and 0.4, c = sqrt(2 / 10) = 0.4472: c p = 0.2683 and
    -- 0.1789. Step times: all as in the first action 10 (v = 0), 1 2: 5 (v = 1), 2 1: 20 (-0.5), 2
    -- 2: 8 (0.25).
    local seconds = { ["1 1"] = 10, ["1 2"] = 5, ["2 1"] = 20, ["2 2"] = 8 }
    local t = berth.decide.tree { decisions = 2, actions = 2, method = "published", fill = "first",
      starts = { { 1, 1 } },
      value = function(a) return seconds[key(a)] end,
      prior = function(leaves)
        local w = {}
        for i in ipairs(leaves) do w[i] = { 0.6, 0.4 } end
        return w
      end }
    local expected = { -- playout, where it goes, q of 1 and 2 after it
      { {}, 0, 0 },          -- the root: the start, v = 0
      { { 1 }, 0, 0 },       -- 0.2683 > 0.1789; v(1 1) = 0
      { { 2 }, 0, 0.25 },    -- 0.2683 * 1.414 / 2 = 0.1897 < 0.1789 * 1.414 = 0.2530; v(2 2) = 0.25
      -- 0.2324 < 0.25 + 0.1549; below 0.2683 > 0.1789; v = -0.5, (0.25 - 0.5) / 2
      { { 2, 1 }, 0, -0.125 },
      -- 0.2683 * 2 / 2 = 0.2683 > -0.125 + 0.1193; below as at the root; v = 0
      { { 1, 1 }, 0, -0.125 },
      -- 0.2683 * 2.236 / 3 = 0.2000 > -0.125 + 0.1333; below 0.1897 < 0.2530; v = 1
      { { 1, 2 }, 1 / 3, -0.125 },
      -- 0.333 + 0.1643 > -0.125 + 0.1461; below 0.2324 < 1 + 0.1549; v = 1
      { { 1, 2 }, 0.5, -0.125 },
    }
    for n, row in ipairs(expected) do
      local before = visits_of(t, row[1])
      assert.is_true(t:run(n))
      assert.equal(before + 1, visits_of(t, row[1]), "playout " .. n)
      assert.near(row[2], q_of(t, { 1 }), 1e-12)
      assert.near(row[3], q_of(t, { 2 }), 1e-12)
    end
    local best = t:best()
    assert.same({ 1, 2 }, best.assignment)
    assert.equal(4, best.evaluations) -- strategies that are known are not valued again
  end)

  it("goes choice by choice where an action is a path: along it probabilities multiply", function()
    -- Actions 1 and 2 begin with choice 0, 3 with 1: 0.65 and 0.35; behind 0 there are 0.42 / 0.65
    -- = 0.646 and 0.354. All times are alike, so that only p / (1 + n) decides, at each of the two
    -- places: 0.65 against 0.35, then 0.646 against 0.354.
    local weights = { 0.42, 0.23, 0.35 }
    local asked = {}
    local t = berth.decide.tree { decisions = 1, actions = 3,
      paths = { { 0, 0 }, { 0, 1 }, { 1, 0 } }, method = "published",
      fill = "first", starts = { { 1 } },
      value = function(a)
        asked[#asked + 1] = a[1]
        return 10
      end,
      prior = function(leaves)
        local w = {}
        for i in ipairs(leaves) do w[i] = weights end
        return w
      end }
    local expected = {
      {}, { 1 },  -- the root; 0.65 > 0.35, 0.646 > 0.354
      { 3 },      -- 0.325 < 0.35
      { 2 },      -- 0.325 > 0.175, 0.323 < 0.354
      { 1 },      -- 0.217 > 0.175, 0.323 > 0.177
      { 3 },      -- 0.1625 < 0.175
      { 1 },      -- 0.1625 > 0.117, 0.215 > 0.177
      { 2 },      -- 0.13 > 0.117, 0.162 < 0.177
    }
    for n, actions in ipairs(expected) do
      local before = visits_of(t, actions)
      assert.is_true(t:run(n))
      assert.equal(before + 1, visits_of(t, actions), "playout " .. n)
    end
    for a, p in ipairs(weights) do assert.near(p, (select(3, t:node { a })), 1e-12) end
    assert.same({ 1, 3, 2 }, asked) -- each once
  end)

  it("reaches every action exactly once, by sets and by device groups", function()
    local devices, links, group = {}, {}, {}
    for i = 1, 8 do
      -- seven device groups, the last one of two devices
      devices[i], group[i] = { name = "d" .. i }, math.min(i, 7)
      if i > 1 then links[i - 1] = { "d1", "d" .. i, bandwidth = "1 GB/s" } end
    end
    local g = berth.graph { ops = { { kind = "input" }, { seconds = 1, params = 4, group = 1 },
      { seconds = 1, backward = true },
        { seconds = 1, update = true, group = 1 } },
      tensors = { { from = 1, to = { 2, 3 }, bytes = 8, batch = true },
        { from = 2, to = { 3 }, bytes = 8, batch = true },
        { from = 3, to = { 4 }, bytes = 4, gradient = true } } }
    -- with 7, 8 a whole device group, with 8 alone a part of one, which is a set by itself
    local sets = { { 1 }, { 2 }, { 8 }, { 1, 2 }, { 1, 8 }, { 7, 8 }, { 1, 7, 8 },
      { 1, 2, 3, 4, 5, 6, 7, 8 } }
    local d = assert(berth.deploy.problem(g, berth.topology { devices = devices, links = links },
      { batch = 16, op_groups = 1, device_groups = group, sets = sets }))
    local legal, n = d:legal(1), #d:actions()
    local likely, all = {}, 0
    for a = 1, n do likely[a] = 0 end
    for k, a in ipairs(legal) do
      likely[a] = 1 + k % 5
      all = all + likely[a]
    end
    local found = {}
    for i, steps in ipairs { true, false } do
      local t = d:tree { method = "tree", uniform = false, steps = steps, sfb = "none", seed = 1,
        exploration = 100,
        prior = function(leaves)
          local out = {}
          for k in ipairs(leaves) do out[k] = likely end
          return out
        end }
      assert(t:run(3000))
      local visits, priors = t:visits()
      local sum = 0
      for a = 1, n do
        sum = sum + visits[a]
        assert.equal(likely[a] > 0, visits[a] > 0, "action " .. a)
        assert.near(likely[a] / all, priors[a], 1e-12)
      end
      found[i] = t:best()
      assert.equal(2999, sum) -- all but that of the root went through one action
      assert.equal(#legal, found[i].evaluations) -- each strategy once
    end
    assert.same(found[1].action, found[2].action)
    assert.equal(found[1].seconds, found[2].seconds)
  end)

  it("fills in from the nearest decision, the earlier of two", function()
    -- decisions at 0, 10, 4, 6, 5: once 1 and 2 are made, 3 is as 1 (4 < 6), 4 as 2 (4 < 6), 5 as 1
    -- (both 5 away)
    local position, seen = { 0, 10, 4, 6, 5 }, {}
    local t = berth.decide.tree { decisions = 5, actions = 3, method = "tree", fill = "nearest",
      position = position, seed = 3,
      starts = { { 3, 3, 3, 3, 3 } }, calls = 100,
      value = function(a) return 5 + a[1] - a[2] + a[3] * a[4] - a[5] end,
      prior = function(leaves)
        local w = {}
        for i, leaf in ipairs(leaves) do
          local a = leaf.assignment
          seen[leaf.decided] = true
          if leaf.decided == 0 then assert.same({ 3, 3, 3, 3, 3 }, a) end
          if leaf.decided == 1 then assert.same({ a[1], a[1], a[1], a[1], a[1] }, a) end
          if leaf.decided == 2 then assert.same({ a[1], a[2], a[1], a[2], a[1] }, a) end
          -- 6 and 5: 2 and 1 from 4
          if leaf.decided == 3 then assert.same({ a[1], a[2], a[3], a[3], a[3] }, a) end
          if leaf.decided == 4 then assert.equal(a[3], a[5]) end -- 4 and 6 are as near
          w[i] = { 1, 1, 1 }
        end
        return w
      end }
    t:run(200)
    assert.is_true(seen[0] and seen[1] and seen[2] and seen[3])
  end)
end)

describe("a plan", function()
  -- two layers with 6 MB of parameters each
  local function heavy(memory)
    local ops = { { kind = "Placeholder", seconds = 0 },
      { seconds = 40e-3, params = 6e6, group = 1 }, { seconds = 40e-3, params = 6e6, group = 2 },
      { seconds = 20e-3, backward = true, group = 2 },
      { seconds = 20e-3, backward = true, group = 1 },
      { seconds = 1e-3, update = true, group = 2 }, { seconds = 1e-3, update = true, group = 1 } }
    local tensors = { { from = 1, to = 2, bytes = 4, batch = true },
      { from = 2, to = { 3, 5 }, bytes = 400, batch = true },
      { from = 3, to = 4, bytes = 4, batch = true },
      { from = 4, to = 5, bytes = 400, batch = true },
      { from = 4, to = 6, bytes = 1e5, gradient = true },
      { from = 5, to = 7, bytes = 1e5, gradient = true } }
    return assert(berth.graph { ops = ops, tensors = tensors }),
      berth.topology.mesh(2, { bandwidth = 1e9, latency = 12 * us, memory = memory })
  end

  it("searches from a reference that fits", function()
    -- DP takes 62 ms, but 2 MB more than there is; a layer on each device 121 ms: that is v = 0,
    -- and so is the root
    local g, t = heavy(10e6)
    local d = assert(berth.deploy.problem(g, t, { batch = 4 }))
    local tree = d:tree { method = "published", fill = "first" }
    assert.is_true(tree:run(1))
    assert.near(0, q_of(tree, {}), 1e-6)
    tree:run(100)
    assert.near(0, d:evaluate(tree:best()).over, 0)
  end)

  it("tells apart what data parallelism would take if it fitted", function()
    -- 10 MB hold one layer, not two: a layer on each device; 40 + 40 + 20 + 20 + 1 ms and 400 B
    -- there and back, 12.4 us each
    local g, t = heavy(10e6)
    local a = assert(berth.deploy.plan(g, t, { batch = 4, calls = 60, reasons = false }))
    local dp = a:baseline("dp")
    assert.is_false(dp.fits)
    assert.is_true(dp.missing >= 2e6 and dp.missing < 3e6)
    assert.is_true(dp.seconds < a.seconds)
    assert.is_true(a:baseline("chain").fits)
    assert.near(121.0248e-3, a.seconds, 1e-8)
    for d = 1, 2 do assert.is_true(a.peaks[d] <= 10e6) end
  end)

  it("refuses where nothing fits, with the bytes that are missing", function()
    local g, t = heavy(5e6)
    local a, message, code, why = berth.deploy.plan(g, t,
      { batch = 4, calls = 60, reasons = false })
    assert.is_nil(a)
    assert.equal("infeasible", code)
    assert.is_true(why.missing >= 1e6 and why.missing < 2e6, message)
  end)
end)
