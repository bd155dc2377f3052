-- Agents of PAC-ML: memory, blocks, learning where the best is known, files.
local berth = require "berth"
local nn = berth.nn
local toy = require "support.toy_pacml"
local chance = require "berth.agents.pacml.chance"
local own = require "berth.agents.pacml.own"
local profile = require "berth.agents.pacml.profile"
local replay = require "berth.agents.pacml.replay"

local function read(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

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
      assert.near((({ 1, 2, 5 })[index[k]] / 1) ^ -0.5, weights[k] / weights[1] * (({ 1, 2, 5 })[index[1]]) ^ -0.5, 1e-9)
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

describe("blocks", function()
  it("are there for the sizes that are legal", function()
    local ramp = berth.ramp { compat = true }
    for k = 1, 32 do
      if k == 1 or k % 2 == 0 then assert.equal(ramp:legal(k), #profile.blocks(k, { 4, 4, 2 }) > 0, "size " .. k) end
    end
    assert.equal(32, #profile.blocks(1, { 4, 4, 2 }))
    assert.equal(2, #profile.blocks(16, { 4, 4, 2 }))
    assert.equal(1, #profile.blocks(32, { 4, 4, 2 }))
  end)

  it("hold distinct servers", function()
    for _, k in ipairs { 2, 4, 6, 8, 16 } do
      for _, list in ipairs(profile.blocks(k, { 4, 4, 2 })) do
        local seen = {}
        for _, s in ipairs(list) do
          assert.is_true(s >= 1 and s <= 32 and not seen[s])
          seen[s] = true
        end
        assert.equal(k, #list)
      end
    end
  end)

  it("are free when the last of their servers is", function()
    local p = profile.new { size = { 2, 2, 1 }, interval = 10, ahead = { 1, 2, 4 }, sizes = { 1, 4 } }
    -- servers 1 to 4: blocks of 1, and of 4 the whole
    local out = {}
    local n = p:put(p:state({ 0, 30, 45, 130 }, 30), out, 0)
    assert.equal(p.width, n)
    -- free after 10, 20, 40 s: 2, 3, 3 servers; the whole never
    local shares = {}
    for i = 1, 12 do shares[i] = out[i] end
    assert.same({ 0.5, 1, 0.75, 1, 0.75, 1, 0, 0, 0, 0, 0, 0 }, shares)
    assert.same({ 0, 0, 15 / 55, 100 / 140, 115 / 320 }, { out[13], out[14], out[15], out[16], out[17] })
  end)

  it("are known after a decision as if looked at anew", function()
    local p = profile.new { size = { 4, 4, 2 }, interval = 1000, ahead = { 1, 3, 9 }, sizes = { 1, 2, 4, 8, 16 } }
    local rng = berth.rng(6)
    for _ = 1, 20 do
      local free_at, servers, seconds = {}, {}, 20000 * rng:uniform()
      for s = 1, 32 do
        free_at[s] = rng:uniform() < 0.5 and 0 or 5000 + 9000 * rng:uniform()
        if free_at[s] == 0 and rng:uniform() < 0.5 then servers[#servers + 1] = s end
      end
      local after = p:after(p:state(free_at, 5000), servers, seconds)
      for _, s in ipairs(servers) do free_at[s] = 5000 + seconds end
      local anew = p:state(free_at, 5000)
      for b = 1, #anew.ready do assert.near(anew.ready[b], after.ready[b], 1e-9) end
      for s = 1, 32 do assert.near(anew.busy[s], after.busy[s], 1e-9) end
    end
  end)
end)

describe("the choices of our own design", function()
  it("are what will be accepted, and to turn the job away", function()
    local net = own.new { size = { 2, 1, 1 }, interval = 1, ahead = { 1, 2 }, sizes = { 1, 2 }, layers = { 4 }, seed = 1 }
    local env, flat = toy.two_servers(), {}
    local run = env:run { model = { 1, 1, 2 }, beta = { 1, 1, 0.5 }, arrival = { 0, 1, 2 } }
    local list, n = net:choices(run, flat, 0)
    assert.same({ { action = 0, reward = 0, row = 1 }, { action = 1, reward = 1, jct = 2, row = 2 },
      { action = 2, reward = 1, jct = 1.5, row = 3 } }, list)
    assert.equal(3 * net.profile.width, n)
    run:decide(2)
    assert.same({ { action = 0, reward = 0, row = 1 } }, (net:choices(run, {}, 0)))
  end)

  it("go to the first of the best", function()
    local list = { { reward = 0, row = 2 }, { reward = 1, row = 3 }, { reward = 1, row = 4 } }
    assert.equal(1, (own.best(list, { 9, 3, 1, 1 }, 0.5)))
    assert.equal(2, (own.best(list, { 9, 2, 1, 1 }, 0.5)))
  end)
end)

-- Three servers, two models; any beta with any model.
local function mixed()
  return toy.env { servers = 3, sequential = { 4, 8 }, most = 2, jct = function(m, a) return m * 4 / a + (a - 1) * 0.1 end }
end

local betas = { { values = { 0.3, 0.6, 1 }, mass = { 0.2, 0.3, 0.5 } } }

describe("the mean over jobs that may come", function()
  local p = profile.new { size = { 3, 1, 1 }, interval = 1, ahead = { 1, 2, 4, 8 }, sizes = { 1, 2 }, horizon = true }

  local function random_run(env, rng)
    local t = { model = {}, beta = {}, arrival = {} }
    for i = 1, 6 do t.model[i], t.beta[i], t.arrival[i] = rng:below(2), 1, i - 1 end
    local run = env:run(t)
    for _ = 1, rng:below(5) do run:decide(({ 0, 1, 2 })[rng:below(3)]) end
    return run
  end

  it("is that of the best decision for each of them", function()
    local env, rng = mixed(), berth.rng(8)
    local c = chance.new(env, p, betas)
    for _ = 1, 30 do
      local run, values = random_run(env, rng), {}
      local left = rng:below(2) == 1 and 3 or nil
      local now, n = c:choices(run, left, {}, 0)
      for i = 1, n / p.width do values[i] = 2 * rng:uniform() - 1 end
      local sum, accepted = 0, 0
      for m = 1, 2 do
        for i, beta in ipairs(betas[1].values) do
          run.model, run.beta, run.deadline = m, beta, beta * env.sequential[m]
          local list = chance.present(now, run)
          local at, worth = own.best(list, values, 0.9)
          local most = -math.huge
          for _, x in ipairs(list) do most = math.max(most, x.reward + 0.9 * values[x.row]) end
          assert.equal(most, worth)
          sum, accepted = sum + worth * betas[1].mass[i] / 2, accepted + list[at].reward * betas[1].mass[i] / 2
        end
      end
      local worth, taken = chance.worth(now, values, 0.9)
      assert.near(sum, worth, 1e-9)
      assert.near(accepted, taken, 1e-9)
    end
  end)

  it("has the present job's choices as a look at it gives them", function()
    local env, rng = mixed(), berth.rng(9)
    local c = chance.new(env, p, betas)
    local net = own.new { size = { 3, 1, 1 }, interval = 1, ahead = { 1, 2, 4, 8 }, sizes = { 1, 2 }, layers = { 4 }, seed = 1,
      horizon = true }
    for _ = 1, 30 do
      local run, a, b = random_run(env, rng), {}, {}
      local now = c:choices(run, nil, a, 0)
      local mine, theirs = chance.present(now, run), net:choices(run, b, 0)
      assert.equal(#theirs, #mine)
      for i, x in ipairs(theirs) do
        assert.same({ x.action, x.reward }, { mine[i].action, mine[i].reward })
        for k = 1, p.width do assert.equal(b[(x.row - 1) * p.width + k], a[(mine[i].row - 1) * p.width + k]) end
      end
    end
  end)
end)

describe("the horizon", function()
  it("is told in arrivals to go, and what ends behind it is worth nothing", function()
    local net = own.new { size = { 2, 1, 1 }, interval = 1, ahead = { 1, 2 }, sizes = { 1, 2 }, layers = { 4 }, seed = 1,
      horizon = true }
    local w, flat = net.profile.width, {}
    local list = net:choices(toy.two_servers():run { model = { 1 }, beta = { 1 }, arrival = { 0 } }, flat, 0, 1.6)
    assert.same({ 0, 0, 1 }, { list[1].reward, list[2].reward, list[3].reward }) -- 2 s on one server, 1.5 s on two
    assert.same({ 0.04, 0.2 }, { flat[w - 1], flat[w] })
  end)
end)

-- ---- learning --------------------------------------------------------------------------------

local env = toy.two_servers()
local traces = toy.traces(100, 0.25, { 1, 0.5 })
local kinds = {
  td = { design = "own", layers = { 16 }, interval = 1, ahead = { 1, 2, 3 }, blocks = { 1, 2 }, steps = 30000,
    rate = { 3e-3, 3e-4 }, epsilon = { 0.3, 0.02 } },
  ppo = { algorithm = "ppo", fc = 32, steps = 16000, fragment = 32, actors = 16, rate = 3e-3, gamma = 0.9 },
  dqn = { algorithm = "dqn", fc = 32, steps = 8000, start = 500, train_every = 16, batch = 64, target = 200,
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
  for _, kind in ipairs { "td", "ppo", "dqn" } do
    it("of " .. kind .. " finds the best policy of a toy", function()
      -- Best: one server for each job of the first model, and none for those of the second.
      local second = 0
      for _, m in ipairs(toy.traces(1000, 0.25, { 1, 0.5 }, 9)(1).model) do second = second + m - 1 end
      local agent = made(kind)
      local report = assert(agent:train(env, { traces = traces }))
      assert.is_true(report.steps >= kinds[kind].steps)
      assert.is_true(blocked(agent, 1000) <= second + 10)
    end)
  end
end)

describe("learning by the mean over jobs", function()
  it("finds the best policy of a toy", function()
    -- A job of the first model takes a server for 2 s or both for 1.5 s, one of the second both for 5 s: not worth it.
    local other = toy.env { servers = 2, sequential = { 2, 5 }, most = 2,
      jct = function(m, a) return m == 1 and (a == 1 and 2 or 1.5) or (a == 1 and 10 or 5) end }
    local agent = berth.agents.pacml { seed = 1, layers = { 16 }, interval = 1, ahead = { 1, 2, 3, 5 }, blocks = { 1, 2 },
      steps = 10000, rate = { 3e-3, 3e-4 }, epsilon = 0.2, expect = true }
    assert(agent:train(other, { traces = toy.traces(100, 0.5, { 1, 1 }), betas = { { values = { 1 }, mass = { 1 } } } }))
    local t, used = toy.traces(500, 0.5, { 1, 1 }, 9)(1), {}
    local run = other:run(t)
    while not run.done do
      local m, a = run.model, agent:decide(run)
      used[m .. ":" .. a] = true
      run:decide(a)
    end
    assert.same({ ["1:1"] = true, ["2:0"] = true }, used)
  end)
end)

-- ---- files -----------------------------------------------------------------------------------

describe("checkpoints", function()
  for _, kind in ipairs { "td", "ppo", "dqn" } do
    it("of " .. kind .. " are gone on from to the same bytes", function()
      local path = os.tmpname()
      local more = { actors = 4, fragment = kind ~= "dqn" and 16 or nil, start = kind == "dqn" and 100 or nil,
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
      local report = assert(other:train(env, { traces = traces, checkpoint = path, every = 700, resume = true }))
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
    assert.has_error(function() other:train(env, { traces = traces, checkpoint = path, resume = true }) end,
      "agent:train: checkpoint: " .. path .. " is of a training with other settings")
    os.remove(path)
  end)
end)

describe("agents", function()
  it("are the same from their file, and deciders", function()
    local path = os.tmpname()
    for _, kind in ipairs { "td", "ppo", "dqn" } do
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
    local report = assert(a:train(env, { traces = traces, every = 600, progress = function() error("interrupted", 0) end }))
    assert.equal("interrupted", report.interrupted)
    assert.is_true(report.steps >= 600 and report.steps < 5000)
    assert.is_number(a:decide(env:run(traces(1))))
  end)

  it("say what they are", function()
    assert.equal("agent pacml, own, td: not trained", tostring(berth.agents.pacml()))
    assert.equal("agent pacml, published, dqn: not trained", tostring(berth.agents.pacml { algorithm = "dqn" }))
    assert.matches("^agent pacml, published, ppo: %d+ numbers$", tostring(made("ppo"):use(env)))
  end)

  it("refuse what makes no sense", function()
    local new = berth.agents.pacml
    local where = "berth.agents.pacml: "
    assert.has_error(function() new { design = "mine" } end, where .. "design: 'mine' is none of: own, published")
    assert.has_error(function() new { design = "own", algorithm = "ppo" } end, where .. "algorithm: 'ppo' is none of: td")
    assert.has_error(function() new { algorithm = "dqn", gamma = 2 } end, where .. "gamma: expected a number from 0 to 1, got 2")
    assert.has_error(function() new { algorithm = "dqn", mask = "none" } end, where .. "mask: 'none' is none of: exact, paper")
    assert.has_error(function() new { ahead = { 2, 1 } } end, where .. "ahead[2]: 1 does not exceed the one before")
    assert.has_error(function() new { mask = "paper" } end, where .. "mask: our own design knows what will be accepted: exact")
    assert.has_error(function() new { preset = "published" } end, where .. "preset: there is none published of our own design")
    assert.has_error(function() made("dqn"):train(env, { traces = 3 }) end,
      "agent:train: traces: expected a function or options of berth.pacml.trace, got number")
    assert.has_error(function() made("dqn"):train(env, { traces = traces, resume = true }) end,
      "agent:train: resume: needs checkpoint, the file to go on from")
    assert.has_error(function() made("td"):decide(env:run(traces(1))) end,
      "agent:decide: the agent has no weights yet: train it first")
    assert.has_error(function() berth.agents.pacml():train(env, { traces = traces, expect = true }) end,
      "agent:train: expect: needs to know the betas of the traces: give betas, a table of what berth.pacml.beta takes")
    local other = toy.env { servers = 3, sequential = { 1 }, most = 2, jct = function() return 1 end }
    assert.has_error(function() made("td"):use(env):use(other) end,
      "agent:use: the agent is for 2 x 1 x 1 servers, the environment has 3 x 1 x 1 servers")
  end)

  it("have all that the published ones are said to have", function()
    local a = berth.agents.pacml { design = "published", algorithm = "dqn", preset = "published", steps = 64, start = 40,
      actors = 8, train_every = 32, batch = 16, capacity = 64 }
    local report = assert(a:train(env, { traces = traces }))
    assert.equal(64, report.steps)
    assert.equal(1, report.updates)
  end)
end)
