-- TAG's agent: what it says of a problem, how it learns, its files. On problems made up for that.
local berth = require "berth"
local lessons = require "berth.agents.tag.lessons"
local sight = require "berth.agents.tag.sight"
local toy = require "support.tag_toy"
local errors = require "support.errors"
local read = require("support.shell").read
local merged = require "support.merged"

local raises, refused = errors.raises, errors.refused

local function agent(opts)
  local o = merged({ size = "tiny", nodes = 8, edges = 4, heads = 2, layers = 1, seed = 1 }, opts)
  return berth.agents.tag(o)
end

local function problems(index) return toy.new(index, 8, 2) end

local function first(d)
  local out = {}
  for g = 1, #d:groups() do out[g] = d:legal(g)[1] end
  return out
end

local short = { games = 4, states = 4, passes = 4, problems = problems }

local function trained(a, opts)
  local o = {}
  for key, value in pairs(short) do o[key] = value end
  for key, value in pairs(opts or {}) do o[key] = value end
  return a:train(o)
end

describe("TAG's agent", function()
  it("gives each leaf a distribution over the legal actions of its decision", function()
    local d = problems(1)
    local action, leaves = first(d), {}
    for i, decided in ipairs { 0, 3, 8, 8 } do
      leaves[i] = { action = action, decided = decided, decision = math.min(decided + 1, 8) }
    end
    leaves[4].decision = 2
    local answers = agent():prior(d)(leaves)
    assert.equal(4, #answers)
    for i, p in ipairs(answers) do
      local sum, costs = 0, d:local_costs({ action = action }, leaves[i].decision)
      for a = 1, #d:actions() do
        sum = sum + p[a]
        assert.equal(costs[a] < math.huge, p[a] > 0)
      end
      assert.near(1, sum, 1e-5)
    end
  end)

  it("starts as a prior of local costs", function()
    local d = problems(2)
    local action = first(d)
    local p = agent():prior(d)({ { action = action, decided = 0, decision = 1 } })[1]
    local costs, best, likely = d:local_costs({ action = action }, 1), 1, 1
    for a = 1, #costs do
      if costs[a] < costs[best] then best = a end
      if p[a] > p[likely] then likely = a end
    end
    assert.equal(best, likely)
  end)

  it("learns to find better strategies on problems it has not seen", function()
    local a = agent { nodes = 16 }
    local function mean()
      local sum = 0
      for i = 101, 110 do
        local d = problems(i)
        sum = sum + d:seconds(a:strategy(d, first(d), 1)) / d:search().seconds / 10
      end
      return sum
    end
    local before = mean()
    local r = assert(trained(a, { games = 30, passes = 12 }))
    local after = mean()
    assert.equal(30, r.games)
    assert.is_true(after < before - 0.02, ("%.3f, then %.3f"):format(before, after))
  end)

  it("makes the same weights from the same seed, also when it goes on from a checkpoint", function()
    local whole, half, file = agent(), agent(), os.tmpname()
    assert(trained(whole, { rounds = 2 }))
    local steps = 0
    local stopped = pcall(trained, half, { rounds = 2, checkpoint = file, problems = function(index)
      steps = steps + 1
      if steps > 2 then error("enough", 0) end
      return problems(index)
    end })
    assert.is_false(stopped)
    local again = agent()
    assert(trained(again, { rounds = 2, checkpoint = file, resume = true }))
    os.remove(file)
    assert.same(whole:network().params:flat "values":totable(),
      again:network().params:flat "values":totable())
  end)

  it("is the same agent from its file", function()
    local a, d, one, two = agent(), problems(3), os.tmpname(), os.tmpname()
    assert(trained(a))
    assert(a:save(one))
    local b = assert(berth.agents.load(one))
    assert(b:save(two))
    assert.equal(read(one), read(two))
    local leaves = { { action = first(d), decided = 2, decision = 3 } }
    assert.same(a:prior(d)(leaves), b:prior(d)(leaves))
    assert.equal(tostring(a), tostring(b))
    os.remove(one)
    os.remove(two)
  end)

  it("guides a search on a real problem, within its budget", function()
    local d = assert(berth.deploy.problem(berth.models.random { seed = 4, layers = 3, batch = 32 },
      berth.deploy.clusters.six_gpu(), { batch = 32, op_groups = 12 }))
    local start = { action = d:baselines()[1].action }
    for _, size in ipairs { "tiny", "published" } do
      local a = berth.agents.tag { size = size, nodes = 16, edges = 8, layers = 2 }
      local guide = a:guide(d, { start }, 30)
      guide.calls, guide.seed = 30, 1
      local r = assert(d:search(guide))
      assert.is_true(r.evaluations <= 30)
      assert.is_true(r.seconds <= d:evaluate(start).seconds)
      assert.near(r.seconds, d:evaluate({ action = r.action, duplicate = r.duplicate }).seconds,
        1e-12)
    end
  end)

  it("comes trained, in less than 4 MiB", function()
    local a = assert(berth.agents.tag.trained())
    assert.equal(a, berth.agents.tag.trained())
    local file = os.tmpname()
    assert(a:save(file))
    assert.is_true(#read(file) <= 4 * 2 ^ 20)
    os.remove(file)
  end)

  it("refuses what can mean nothing", function()
    raises("berth.agents.tag: size: 'big' is none of: published, small, tiny", berth.agents.tag,
      { size = "big" })
    raises("berth.agents.tag: unknown option 'depth'", berth.agents.tag, { depth = 3 })
    raises("agent:train: either games or minutes is required", trained, agent(), { minutes = 1 })
    raises("agent:train: rate[1]: -1 is out of range 0 to 10", trained, agent(),
      { rate = { -1, 0 } })
    raises("agent:train: teacher: 'me' is none of: search, visits", trained, agent(),
      { teacher = "me" })
    raises("agent:train: resume: requires checkpoint", trained, agent(), { resume = true })
  end)

  it("does not go on from a training of another kind", function()
    local a, file = agent(), os.tmpname()
    assert(trained(a, { checkpoint = file }))
    refused("invalid", "is of a training with other settings",
      trained(agent(), { checkpoint = file, resume = true, states = 5 }))
    assert(a:save(file))
    local r, message = trained(agent(), { checkpoint = file, resume = true })
    assert.is_nil(r)
    assert.truthy(message:find("not of a training of tag", 1, true))
    os.remove(file)
  end)
end)

-- Plays on a toy whose tree finds 6 visits of action 1 and 2 of action 3 at each root: what is
-- kept, and what the tree was given.
local function play_counted(groups, evaluations)
  local d, at, runs, moves = toy.new(1, groups, 2), {}, {}, {}
  for g = 1, groups do at[g] = 1 end
  function d.tree()
    return {
      run = function(_, n)
        runs[#runs + 1] = n
        return true
      end,
      root = function() return #moves, at end,
      visits = function() return { 6, 0, 2, 0, 0, 0 } end,
      advance = function(_, a) moves[#moves + 1] = a end,
    }
  end
  local game = { deploy = d, seed = 1, rng = berth.rng(1) }
  local kept =
    assert(lessons.teachers.visits.play(game, { calls = evaluations }, { prior = function() end }))
  return kept, runs, moves
end

describe("TAG's self-play", function()
  it("teaches the shares of the visits at each root, for a quarter of the op groups", function()
    -- 2 of 9 op groups; 2 device groups: 9 * 2^2 * 8 = 288, more than 270; 8 * 2^2 * 8 = 256
    local kept, runs = play_counted(9, 270)
    assert.same({ 270, 256 }, runs)
    local states = lessons.teachers.visits.states(kept)
    assert.equal(2, #states)
    for i, state in ipairs(states) do
      assert.equal(i - 1, state.decided)
      -- 6 / 8, 2 / 8
      assert.same({ { group = i, weights = { [1] = 0.75, [3] = 0.25 } } }, state.queries)
    end
  end)

  it("moves on to a child as often as it was visited", function()
    local _, _, moves = play_counted(1600, 1)
    local ones, threes = 0, 0
    for _, a in ipairs(moves) do
      ones, threes = ones + (a == 1 and 1 or 0), threes + (a == 3 and 1 or 0)
    end
    assert.equal(400, ones + threes)
    -- 400 * 3/4; standard deviation: sqrt(400 * 3/4 * 1/4) = 8.7
    assert.near(300, ones, 35)
  end)

  it("has as loss the cross entropy of the shares and what the network says", function()
    local net, d = agent():network(), problems(1)
    local seen, action = sight.new(d, net.sizes), first(d)
    local ask = { group = 2, weights = { [1] = 0.75, [3] = 0.25 } }
    local example = lessons.example(seen, { action = action, decided = 1, queries = { ask } })
    local p = seen:answer(net, { seen:features(action, 1, 2) }, { seen:query(1, action, 2) })[1]
    assert.near(-0.75 * math.log(p[1]) - 0.25 * math.log(p[3]), lessons.loss(net, example):item(),
      1e-5)
  end)
end)
