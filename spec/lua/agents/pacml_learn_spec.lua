-- The published agent of PAC-ML: memory, learning where the best is known, files.
local berth = require "berth"

local nn = berth.nn
local toy = require "support.toy_pacml"
local replay = require "berth.agents.pacml.replay"
local read = require("support.shell").read

describe("the prioritised memory", function()
  it("draws rows as often as their priorities say, and weighs them", function()
    local m, rng, seen = replay.new(5, 2, 1), berth.rng(1), { 0, 0, 0 }
    m:add({ 1, 10, 2, 20, 3, 30 }, { 1, 2, 5 })
    local batch, index, weights
    for _ = 1, 500 do
      batch, index, weights = m:sample(8, rng, 0.5)
      for k = 1, 8 do seen[index[k]] = seen[index[k]] + 1 end
    end
    assert.near(500, seen[1], 60)
    assert.near(1000, seen[2], 80)
    assert.near(2500, seen[3], 100)
    for k = 1, 8 do
      assert.equal(10 * index[k], batch:get(k, 2))
      assert.near((({ 1, 2, 5 })[index[k]] / 1) ^ -0.5,
        weights[k] / weights[1] * (({ 1, 2, 5 })[index[1]]) ^ -0.5, 1e-9)
    end
  end)

  it("draws each of equals once, one from each part", function()
    local m = replay.new(8, 1, 0.5)
    m:add({ 1, 2, 3, 4, 5, 6, 7, 8 }, { 4, 4, 4, 4, 4, 4, 4, 4 })
    local _, index, weights = m:sample(8, berth.rng(2), 1)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, index)
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 1 }, weights)
  end)

  it("puts new rows over the oldest, exactly", function()
    local m = replay.new(3, 1, 1)
    m:add({ 1e8, 2, 3 }, { 1, 1, 1 })
    m:add({ 0.1, 0.25 }, { 1, 9 })
    assert.same({ nn.array({ 0.1 }):item(), 0.25, 3 }, m.rows:flat())
    assert.equal(3, m.size)
    assert.equal(11, m.sums[1])
  end)

  it("is put together from its arrays to the same tree", function()
    local rng, m = berth.rng(4), replay.new(100, 1, 0.7)
    for i = 1, 150 do m:add({ i }, { rng:uniform() + 0.01 }) end
    m:weigh({ 3, 17, 99 }, { 5, 0.2, 1 })
    local sums, head = m.sums, m.head
    local total = 0
    for i = 1, 100 do total = total + m.kept:get(i) end
    assert.near(total, sums[1], 1e-9)
    m.sums = {}
    for i = 1, #sums do m.sums[i] = 0 end
    m:rebuild(100, head)
    assert.same(sums, m.sums)
  end)
end)

-- ---- learning --------------------------------------------------------------------------------

local env = toy.two_servers()
local traces = toy.traces(100, 0.25, { 1, 0.5 })
local kinds = {
  ppo = { algorithm = "ppo", fc = 32, steps = 16000, fragment = 32, actors = 16, rate = 3e-3,
    gamma = 0.9 },
  dqn = { algorithm = "dqn", fc = 32, steps = 8000, start = 500, train_every = 16, batch = 64,
    target = 200,
    epsilon = { 1, 0.1, 3000 }, capacity = 4000, rate = 2e-3, gamma = 0.9 },
}

local function made(kind, more)
  local o = { seed = 1 }
  for key, value in pairs(kinds[kind]) do o[key] = value end
  for key, value in pairs(more or {}) do o[key] = value end
  return berth.agents.pacml(o)
end

local function blocked(agent, jobs)
  local run, count = env:run(toy.traces(jobs, 0.25, { 1, 0.5 }, 9)(1)), 0
  while not run.done do
    if not run:decide(agent:decide(run)) then count = count + 1 end
  end
  return count
end

describe("learning", function()
  for _, kind in ipairs { "ppo", "dqn" } do
    it("of " .. kind .. " finds the best policy of a toy", function()
      -- Best: one server for each job of the first model, and none for those of the second.
      local second = 0
      for _, m in ipairs(toy.traces(1000, 0.25, { 1, 0.5 }, 9)(1).model) do
        second = second + m - 1
      end
      local agent = made(kind)
      local report = assert(agent:train(env, { traces = traces }))
      assert.is_true(report.steps >= kinds[kind].steps)
      assert.is_true(blocked(agent, 1000) <= second + 10)
    end)
  end
end)

-- ---- files -----------------------------------------------------------------------------------

describe("checkpoints", function()
  for _, kind in ipairs { "ppo", "dqn" } do
    it("of " .. kind .. " are gone on from to the same bytes", function()
      local path = os.tmpname()
      local more = { actors = 4, fragment = kind ~= "dqn" and 16 or nil,
        start = kind == "dqn" and 100 or nil,
        capacity = kind == "dqn" and 300 or nil, steps = 2000 }
      local whole = made(kind, more)
      assert(whole:train(env, { traces = traces }))
      local part, calls = made(kind, more), 0
      assert.has_error(function()
        part:train(env, { traces = traces, checkpoint = path, every = 700, progress = function()
          calls = calls + 1
          if calls == 2 then error("stop", 0) end
        end })
      end, "stop")
      local other = made(kind, more)
      local report =
        assert(other:train(env, { traces = traces, checkpoint = path, every = 700, resume = true }))
      assert.is_true(report.steps >= 2000)
      assert.same(whole.made.params:flat("values"):flat(), other.made.params:flat("values"):flat())
      local loaded = assert(berth.agents.load(path)):use(env)
      assert.equal(blocked(whole, 200), blocked(loaded, 200))
      os.remove(path)
      os.remove(("%s.%.0f.state"):format(path, report.steps))
    end)
  end

  it("are refused when the settings are others", function()
    local path = os.tmpname()
    assert(made("ppo", { steps = 500 }):train(env, { traces = traces, checkpoint = path }))
    local other = made("ppo", { steps = 600 })
    assert.has_error(function() other:train(env,
      { traces = traces, checkpoint = path, resume = true }) end,
      "agent:train: checkpoint: " .. path .. " is of a training with other settings")
    os.remove(path)
  end)
end)

describe("agents", function()
  it("are the same from their file, and deciders", function()
    local path = os.tmpname()
    for _, kind in ipairs { "ppo", "dqn" } do
      local a = made(kind):use(env)
      assert(a:save(path))
      local b = assert(berth.agents.load(path)):use(env)
      assert.equal(tostring(a), tostring(b))
      local run = env:run(traces(1))
      assert.equal(a:decide(run), b(run))
      assert(b:save(path .. ".2"))
      assert.equal(read(path), read(path .. ".2"))
    end
    os.remove(path)
    os.remove(path .. ".2")
  end)

  it("are as far as they got when a training is interrupted", function()
    local a = made("ppo", { steps = 5000 })
    local report = assert(a:train(env,
      { traces = traces, every = 600, progress = function() error("interrupted", 0) end }))
    assert.equal("interrupted", report.interrupted)
    assert.is_true(report.steps >= 600 and report.steps < 5000)
    assert.is_number(a:decide(env:run(traces(1))))
  end)

  it("say what they are", function()
    assert.equal("agent pacml, planner: not trained", tostring(berth.agents.pacml()))
    assert.equal("agent pacml, dqn: not trained",
      tostring(berth.agents.pacml { algorithm = "dqn" }))
    assert.matches("^agent pacml, ppo: %d+ numbers$", tostring(made("ppo"):use(env)))
  end)

  it("refuse what makes no sense", function()
    local new = berth.agents.pacml
    local where = "berth.agents.pacml: "
    assert.has_error(function() new { algorithm = "td" } end,
      where .. "algorithm: 'td' is none of: dqn, planner, ppo")
    assert.has_error(function() new(3) end, where .. "options: expected a table, got number")
    assert.has_error(function() new { algorithm = "dqn", gamma = 2 } end,
      where .. "gamma: 2 is out of range 0 to 1")
    assert.has_error(function() new { algorithm = "dqn", mask = "none" } end,
      where .. "mask: 'none' is none of: exact, paper")
    assert.has_error(function() new { algorithm = "ppo", preset = "mine" } end,
      where .. "preset: 'mine' is none of: published, recommended")
    local refused, message = pcall(new, { mask = "paper" })
    assert.is_false(refused)
    assert.matches("unknown option 'mask' %(legal: betas", message)
    refused, message = pcall(new, { algorithm = "ppo", n_step = 3 })
    assert.is_false(refused)
    assert.matches("unknown option 'n_step' %(legal: seed", message)
    assert.has_error(function() made("dqn"):train(env, { traces = 3 }) end,
      "agent:train: traces: expected a function or options of berth.pacml.trace, got number")
    assert.has_error(function() made("dqn"):train(env, { traces = traces, resume = true }) end,
      "agent:train: resume: requires checkpoint, the file to go on from")
    assert.has_error(function() made("dqn"):decide(env:run(traces(1))) end,
      "agent:decide: the agent has no weights yet: train it first")
    local other = toy.env { servers = 3, sequential = { 1 }, most = 3,
      jct = function() return 1 end }
    assert.has_error(function() made("dqn"):use(env):use(other) end,
      "agent:use: the agent is for decisions up to 2, the environment has decisions up to 3")
  end)

  it("have all that the published ones are said to have", function()
    local a = berth.agents.pacml { algorithm = "dqn", preset = "published", steps = 64, start = 40,
      actors = 8, train_every = 32, batch = 16, capacity = 64 }
    local report = assert(a:train(env, { traces = traces }))
    assert.equal(64, report.steps)
    assert.equal(1, report.updates)
  end)
end)
