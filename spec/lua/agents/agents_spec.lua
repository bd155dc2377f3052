-- Agents: DOPPLER's policies and the trainer, on graphs small enough to try every placement.
local berth = require "berth"
local merged = require "support.merged"

local nn = berth.nn
local rewards = require "berth.agents.rewards"
local record = require "berth.agents.record"
local settings = require "berth.agents.settings"
local diamond = require "support.diamond"
local raised = require("support.errors").raised
local read = require("support.shell").read

local function wire(n) return berth.topology.mesh(n, { bandwidth = 1 }) end

-- The least makespan over all placements on two devices.
local function optimum(g, t)
  local best, n = math.huge, #g
  for code = 0, 2 ^ n - 1 do
    local p, rest = {}, code
    for i = 1, n do
      p[i], rest = rest % 2 + 1, math.floor(rest / 2)
    end
    best = math.min(best,
      assert(berth.simulate(g, t, p, { preset = "doppler", bound = false })).makespan)
  end
  return best
end

local judge = { preset = "doppler" }

local function task(devices)
  return { graph = diamond(), topology = wire(devices or 2), judge = judge }
end

local function small(opts)
  local o = merged({ hidden = 8, inner = 8, rounds = 2, seed = 1 }, opts)
  return berth.agents.doppler(o)
end

describe("rewards", function()
  local function o(baseline, normalise)
    return { baseline = baseline, normalise = normalise, decay = 0.5, unit = 2 }
  end

  it("compare with the mean of all episodes, the current ones included", function()
    local seen = rewards.new()
    assert.same({ 0 }, rewards.advantages(seen, { 4 }, o("all", "none")))
    -- ((4 + 8) / 2 - 8) / 2
    assert.same({ -1 }, rewards.advantages(seen, { 8 }, o("all", "none")))
  end)

  it("compare with an exponential mean, the best, and the batch", function()
    local seen = rewards.new()
    rewards.advantages(seen, { 4 }, o("exponential", "none"))
    assert.same({ -1 }, rewards.advantages(seen, { 8 }, o("exponential", "none")))  -- (6 - 8) / 2
    assert.same({ -1 }, rewards.advantages(seen, { 6 }, o("best", "none")))         -- (4 - 6) / 2
    assert.same({ 1, -1 }, rewards.advantages(seen, { 4, 8 }, o("batch", "batch")))
  end)

  it("keep a share decay of the mean, and take the rest from the new episode", function()
    local seen, given = rewards.new(), o("exponential", "none")
    given.decay = 0.75
    rewards.advantages(seen, { 4 }, given)
    -- 0.75 * 4 + 0.25 * 8 = 5; (5 - 8) / 2
    assert.same({ -1.5 }, rewards.advantages(seen, { 8 }, given))
    -- 0.75 * 5 + 0.25 * 4 = 4.75; (4.75 - 4) / 2
    assert.same({ 0.375 }, rewards.advantages(seen, { 4 }, given))
  end)

  it("divide by the deviation of all that was seen", function()
    local got = rewards.advantages(rewards.new(), { 4, 8 }, o("all", "running"))
    assert.near(1, got[1], 1e-12)
    assert.near(-1, got[2], 1e-12)
  end)

  it("count out of memory as twice the worst that ran", function()
    local given = { baseline = "batch", normalise = "none", unit = 2 / 3, decay = 0 }
    assert.same({ 3, -3 }, rewards.advantages(rewards.new(), { 4, math.huge }, given))
  end)

  it("are discounted from the end", function()
    assert.same({ 1, 2, 4 }, rewards.weights({ 4 }, 3, 0.5, 1))
    assert.same({ 0.5, 1, -0.25, -0.5 }, rewards.weights({ 2, -1 }, 2, 0.5, 2))
  end)
end)

describe("settings", function()
  it("go straight from one value to another over a stage", function()
    assert.near(0.15, settings.at({ 0.2, 0 }, 0.25), 1e-12)
    assert.equal(3, settings.at(3, 0.5))
  end)

  it("take the published ones on request", function()
    local s = settings.read("published", nil, {}, {})
    assert.same({ 1, "all", "none", 0.99, "greedy" },
      { s[2].batch, s[2].baseline, s[2].normalise, s[2].gamma, s[2].how })
    assert.same({ { 1, 0 }, 1e-3, 1e-3 }, { s[1].epsilon, s[1].rate, s[1].entropy })
  end)

  it("keep 0.9 of an exponential mean of makespans, recommended or published", function()
    for _, which in ipairs { "recommended", "published" } do
      for _, stage in ipairs(settings.read(which, nil, {},
        { baseline = "exponential", normalise = "none" })) do
        local seen = rewards.new()
        rewards.advantages(seen, { 10 }, stage)
        -- 0.9 * 10 + 0.1 * 20 = 11; (11 - 20) / 1
        assert.near(-9, rewards.advantages(seen, { 20 }, stage)[1], 1e-12)
      end
    end
  end)

  it("refuse what makes no sense, with the value", function()
    assert.has_error(function() small { batch = 1 }:train({ task() }, {}) end)
    assert.matches("gamma: 2 is out of range 0 to 1",
      raised(function() small():train({ task() }, { gamma = 2 }) end), 1, true)
    assert.matches("design: 'huge' is none of: compact, published",
      raised(berth.agents.doppler, { design = "huge" }), 1, true)
  end)
end)

describe("records", function()
  it("give the same value back", function()
    local x = { a = 0.1, b = { 1, 2, "x;y" }, c = true, d = false, e = "", f = -1e300 }
    assert.same(x, record.read(record.write(x)))
  end)

  it("are none if something is missing", function()
    assert.is_nil(record.read(record.write { a = 1 }:sub(1, -2)))
    assert.is_nil(record.read("n1;n2;"))
  end)
end)

describe("doppler", function()
  for _, design in ipairs { "compact", "published" } do
    it("reports a row of numbers for every op: " .. design, function()
      local env = assert(berth.assignment(diamond(), wire(2), {}))
      local policy = small { design = design }:network(2)
      local state = policy:encode(policy:view(env))
      assert.same({ 6, 8 }, state.h.shape)
      assert.same({ 6, 24 }, state.select.shape)
      assert.same({ 6, 16 }, state.place.shape)
    end)
  end

  it("has the published number of parameters", function()
    local p = berth.agents.doppler { preset = "published" }:network(4).params
    -- encoder: 5 -> 128, 1 -> 128 -> 16384, message bias, GRU; SEL: 5 -> 128, 512 -> 64 -> 1; PLC:
    -- twice 5 -> 128, the same
    local encoder = 6 * 128 + 2 * 128 + 129 * 16384 + 128 + 2 * (128 + 1) * 384
    assert.equal(2 * encoder + 3 * 6 * 128 + 2 * (513 * 64 + 65), p.size)
  end)

  -- The loss of one episode from its log, against scores computed step by step.
  local function by_hand(how, epsilon)
    local env = assert(berth.assignment(diamond(), wire(2), { partners = true }))
    local policy = small():network(2)
    local view = policy:view(env)
    local state, e = policy:encode(view), env:episodes(1)
    e:start(1, 0)
    policy:rollout(view, state, e, { how = "sample", epsilon = 0.5 })
    local log, weights, expected = e:log(), { 1, 2, 3, 4, 5, 6 }, 0
    local sums, at = nn.zeros { 2, 8 }, 0
    local mix = how == "sample" and epsilon or 0
    for h = 1, 6 do
      local ops = {}
      for k = 1, log.steps:lengths()[h] do ops[k] = log.candidates[at + k] end
      at = at + #ops
      local one = nn.segments { #ops }
      local p = policy.select.head.scores(state.select, view, nn.index(ops), one):softmax():flat()
      expected = expected - weights[h] * math.log((1 - mix) * p[log.chosen[h]] + mix / #ops)
      local features = log.devices:slice(1, 2 * h - 1, 2 * h)
      local op = nn.index { log.op[h] }
      local q = policy.place.head.scores(state.place, view, op, features, sums,
        nn.segments { 2 }):softmax():flat()
      expected = expected - weights[h] * math.log((1 - mix) * q[log.device[h]] + mix / 2)
      sums:add_rows(nn.index { log.device[h] }, state.h:gather(op))
    end
    local got = policy:loss(view, state, log, nn.array(weights, { 6 }),
      { how = how, epsilon = epsilon, entropy = 0 }):item()
    assert.near(expected, got, 1e-3)
  end

  it("weighs the log probability of the mixture it drew from",
    function() by_hand("sample", 0.3) end)
  it("weighs the softmax's own log probability, as published",
    function() by_hand("greedy", 0.3) end)

  it("learns to do what the teacher does", function()
    local g, agent, losses = diamond(), small(), {}
    assert(agent:train({ { graph = g, topology = wire(2), judge = judge } },
      { teacher = "critical-path",
      stages = { { stage = "I", episodes = 1200 } },
        progress = function(s) losses[#losses + 1] = s.loss end }))
    assert.is_true(losses[#losses] < 0.7 * losses[1], losses[#losses] .. " after " .. losses[1])
    local env = assert(berth.assignment(g, wire(2), { partners = true }))
    local policy = agent:network(2)
    local view, e = policy:view(env), env:episodes(1)
    e:start(0, 0)
    local marks, devices = 0, 0
    policy:rollout(view, policy:encode(view), e, { how = "greedy", epsilon = 0 }, function(at, ops)
      if not ops then return end
      devices, marks = devices + 1, marks + at:teacher_devices(ops, "textbook"):max():item()
    end)
    assert.equal(devices, marks)
  end)

  it("learns from what the teacher does with units", function()
    local losses = {}
    assert(small():train({ task() },
      { stages = { { stage = "I", episodes = 800, teacher = "units" } },
      progress = function(s) losses[#losses + 1] = s.loss end }))
    assert.is_true(losses[#losses] < 0.6 * losses[1], losses[#losses] .. " after " .. losses[1])
  end)

  it("finds the best of all placements of a small graph", function()
    local g, t = diamond(), wire(2)
    local r = assert(small():train({ { graph = g, topology = t, judge = judge } },
      { stages = { { stage = "I", episodes = 80 }, { stage = "II", episodes = 400 } } }))
    assert.equal(optimum(g, t), r.tasks[1].best)
    assert.equal(r.tasks[1].best,
      assert(berth.simulate(g, t, r.tasks[1].placement, judge)).makespan)
    assert.equal(403, r.calls) -- with two for the teacher's answers, and the last look
  end)

  -- 142.3 ms on one device, where episodes of so few end without a teacher that is better
  it("begins with the portfolio's answer on a model, and is never worse", function()
    local g = assert(berth.models.build("resnet50", { batch = 64 }))
    local t = berth.topology.mesh(4, { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" })
    local links = { links = "duplex" }
    local answer = assert(berth.simulate(g, t, assert(berth.place(g, t, "portfolio",
      { links = "duplex", calls = 0 })), links)).makespan
    for _, contract in ipairs { true, false } do
      local r = assert(small { contract = contract }:train({ { graph = g, topology = t, judge = links } },
        { stages = { { stage = "I", episodes = 8 }, { stage = "II", episodes = 8 } } }))
      assert.is_true(r.tasks[1].best <= answer)
      assert.equal(r.tasks[1].best, assert(berth.simulate(g, t, r.tasks[1].placement, links)).makespan)
      assert.is_true(answer < 0.14)
    end
  end)

  it("follows the units where few calls are left, or they are better", function()
    local g, t = diamond(), wire(2)
    local stages = { { stage = "I", episodes = 8 } }
    local r = assert(small():train({ { graph = g, topology = t, judge = judge } }, { stages = stages, calls = 2 }))
    assert.equal(1, r.calls) -- the last look
    r = assert(small():train({ { graph = g, topology = t, judge = judge } }, { stages = stages, calls = 3 }))
    assert.equal(3, r.calls)
  end)

  it("improves the mean of its episodes", function()
    local means = {}
    assert(small():train({ task() }, { stages = { { stage = "II", episodes = 1600, rate = 1e-2 } },
      progress = function(s) means[#means + 1] = s.mean end }))
    local first, last = 0, 0
    for i = 1, 20 do
      first, last = first + means[i], last + means[#means + 1 - i]
    end
    assert.is_true(last < first, last .. " after " .. first)
  end)

  for name, o in pairs {
    ["SEL alone"] = { place = "least-start" },
    ["PLC alone"] = { select = "longest-path" },
    ["a shared encoder"] = { share = true },
    ["the published preset"] = { preset = "published" },
    ["one network for both"] = { joint = true },
    ["encoding every step"] = { encode = "step" },
    ["load estimates"] = { estimates = "load", place = "least-load" },
    ["contracted units"] = { contract = true },
  } do
    it("runs with " .. name, function()
      local stages = { { stage = "I", episodes = 8 }, { stage = "II", episodes = 16 } }
      local r = assert(small(o):train({ task() }, { stages = stages }))
      local follows = not (o.joint or o.preset == "published")
      assert.equal(follows and 19 or 17, r.calls)
      assert.is_true(r.tasks[1].best < math.huge)
    end)
  end

  it("places on more devices than it was trained on, and is a placer", function()
    local agent = small()
    assert(agent:train({ task() }, { stages = { { stage = "II", episodes = 16 } } }))
    local p = assert(berth.place(diamond(), wire(5), agent, { samples = 4 }))
    assert.equal(6, #p)
  end)

  for _, joint in ipairs { false, true } do
    it("keeps to pins" .. (joint and ", jointly" or ""), function()
      local ops = { { seconds = 1, pin = 2 }, { seconds = 1 }, { seconds = 1, pin = 1 } }
      local g = assert(berth.graph { ops = ops, edges = { { 1, 2, 1 }, { 2, 3, 1 } } })
      local agent = small { joint = joint }
      local stages = { { stage = "I", episodes = 8 }, { stage = "II", episodes = 16 } }
      local r = assert(agent:train({ { graph = g, topology = wire(3), judge = judge } },
        { epsilon = 0.2, stages = stages }))
      assert.equal(2, r.tasks[1].placement[1])
      assert.equal(1, r.tasks[1].placement[3])
    end)
  end

  it("takes turns between tasks, and judges with other costs than it sees", function()
    local slow =
      assert(berth.graph { ops = { { seconds = 10 }, { seconds = 10 } }, edges = { { 1, 2, 1 } } })
    local seen =
      assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 } }, edges = { { 1, 2, 1 } } })
    local other = { graph = seen, topology = wire(3), judge = { graph = slow, preset = "doppler" } }
    local r = assert(small():train({ task(), other },
      { stages = { { stage = "II", episodes = 32 } } }))
    assert.equal(20, r.tasks[2].best)
    assert.equal(34, r.calls)
  end)

  it("stops at the calls allowed, the last look included", function()
    local stages = { { stage = "II", episodes = 100 } }
    assert.equal(13, assert(small():train({ task() }, { calls = 13, stages = stages })).calls)
    assert.equal(50, assert(small():train({ task() },
      { calls = 50, stages = stages, search = { calls = 20 } })).calls)
  end)

  it("learns from an objective of one's own", function()
    local n_calls = 0
    local r = assert(small():train({ task() },
      { stages = { { stage = "III", episodes = 64 } }, objective = function(placements)
      local out = {}
      for i, p in ipairs(placements) do
        out[i], n_calls = 1, n_calls + 1
        for _, d in ipairs(p) do out[i] = out[i] + d end
      end
      return out
    end }))
    assert.equal(n_calls, r.calls)
    assert.is_true(r.tasks[1].best <= 9)
  end)

  it("goes on with a search from the best seen, its calls counted", function()
    local r = assert(small():train({ task() },
      { stages = { { stage = "II", episodes = 8 } }, search = { calls = 200 } }))
    assert.equal(209, r.calls)
    assert.is_true(r.tasks[1].best <= r.tasks[1].searched)
  end)

  it("keeps what it had when interrupted", function()
    local n = 0
    local r = assert(small():train({ task() },
      { stages = { { stage = "II", episodes = 80 } }, progress = function()
      n = n + 1
      if n == 3 then error("interrupted", 0) end
    end }))
    assert.equal("interrupted", r.interrupted)
    assert.equal(24, r.episodes)
  end)
end)

describe("files of agents", function()
  local stages = { { stage = "I", episodes = 16 }, { stage = "II", episodes = 32 } }

  it("go on to the same bytes", function()
    local whole, part, path = os.tmpname(), os.tmpname(), os.tmpname()
    local full = small()
    local expected = assert(full:train({ task() }, { stages = stages }))
    assert(full:save(whole))
    local function stop(s)
      if s.episode == 16 and s.stage == "II" then error("interrupted", 0) end
    end
    local broken = assert(small():train({ task() },
      { stages = stages, checkpoint = path, every = 1, progress = stop }))
    assert.equal("interrupted", broken.interrupted)
    local agent = small()
    local r = assert(agent:train({ task() }, { stages = stages, checkpoint = path, resume = true }))
    assert(agent:save(part))
    assert.equal(read(whole), read(part))
    assert.same(expected.tasks[1], r.tasks[1])
    assert.equal(expected.calls, r.calls)
    for _, file in ipairs { whole, part, path } do os.remove(file) end
  end)

  it("give the agent back, from a checkpoint too", function()
    local path, agent = os.tmpname(), small()
    assert(agent:train({ task() }, { stages = stages, checkpoint = path }))
    local again = assert(berth.agents.load(path))
    local g, t = diamond(), wire(2)
    assert.same(assert(berth.place(g, t, agent)):devices(),
      assert(berth.place(g, t, again)):devices())
    os.remove(path)
  end)

  it("are refused if they hold something else", function()
    local path, p = os.tmpname(), nn.parameters {}
    p:add("x", { 1 })
    assert(p:save(path, { note = "nothing" }))
    local agent, message, code = berth.agents.load(path)
    assert.is_nil(agent)
    assert.truthy(message:find("holds no agent", 1, true))
    assert.equal("parse", code)
    os.remove(path)
  end)
end)

describe("many processes", function()
  -- Two ranks in one process: coroutines that wait for each other at every exchange.
  local function run_ranks(size, f)
    local turns, at, threads = {}, {}, {}
    local function exchange(rank, kind, x, join)
      local turn = (at[rank] or 0) + 1
      at[rank], turns[turn] = turn, turns[turn] or {}
      turns[turn][rank] = x
      coroutine.yield(kind)
      return join(turns[turn])
    end
    for rank = 1, size do
      local object = setmetatable({ rank = rank, size = size }, require "berth.agents.ranks")
      function object.add_up(_, list)
        return exchange(rank, "add_up", list, function(all)
          local out = nn.zeros(list[1].shape)
          for _, own in ipairs(all) do
            for _, a in ipairs(own) do out = out + a end
          end
          return out
        end)
      end
      function object.numbers(_, list)
        return exchange(rank, "numbers", list, function(all)
          local out = {}
          for i = 1, #list do
            out[i] = 0
            for r = 1, size do out[i] = out[i] + all[r][i] end
          end
          return out
        end)
      end
      function object.broadcast(_, text, root)
        return exchange(rank, "broadcast", text, function(all) return all[root] end)
      end
      threads[rank] = coroutine.create(function() return f(object) end)
    end
    local results, running = {}, true
    while running do
      running = false
      local kinds = {}
      for rank = 1, size do
        local ok, got = coroutine.resume(threads[rank])
        assert(ok, got)
        kinds[rank] = got
        if coroutine.status(threads[rank]) == "dead" then results[rank] = got else running =
          true end
      end
      if running then
        for rank = 2, size do assert.equal(kinds[1], kinds[rank]) end
      end
    end
    return results
  end

  -- LuaJIT and Lua 5.4 both yield across pcall.
  it("come to what one does, to rounding", function()
    local o = { stages = { { stage = "I", episodes = 16 }, { stage = "II", episodes = 16 } },
      batch = 4 }
    local function train(ranks)
      local agent = small()
      local r =
        assert(agent:train({ task() }, { stages = o.stages, batch = o.batch, ranks = ranks }))
      return { weights = agent:network(2).params:flat("values"):flat(), best = r.tasks[1].best,
        placement = r.tasks[1].placement }
    end
    local one, two = train(nil), run_ranks(2, train)
    assert.same(two[1], two[2])
    assert.equal(one.best, two[1].best)
    assert.same(one.placement, two[1].placement)
    -- Adam steps as far for a gradient of 1e-9 as for one of 1: a few weights whose gradient is
    -- rounding differ by steps.
    local apart = 0
    for i = 1, #one.weights do apart = apart + math.abs(one.weights[i] - two[1].weights[i]) end
    assert.is_true(apart / #one.weights < 2e-5, apart / #one.weights)
  end)
end)
