-- Agents of PAC-ML on a toy cluster: what they see, their networks, their learning, their files.
local berth = require "berth"
local nn = berth.nn
local toy = require "support.toy_pacml"
local dqn = require "berth.agents.pacml.dqn"
local observe = require "berth.agents.pacml.observe"
local ppo = require "berth.agents.pacml.ppo"
local published = require "berth.agents.pacml.published"
local rows = require "berth.agents.pacml.rows"

local sizes = { fc = 6, graph = 3, hidden = 5, embedding = 4, message = 6, rounds = 2,
  quirks = true, seed = 1,
  dueling = true, algorithm = "dqn", betas = { 0.1, 1 } }

local function with(more)
  local o = {}
  for key, value in pairs(sizes) do o[key] = value end
  for key, value in pairs(more or {}) do o[key] = value end
  return o
end

local function pool_of(env, more) return observe.pool(env, with(more)) end

local function close(expected, got, slack)
  assert.equal(#expected, #got)
  for i = 1, #expected do
    assert.near(expected[i], got[i], slack or 1e-12, ("number %d"):format(i))
  end
end

local function cut(flat, i, n)
  local out = {}
  for k = 1, n do out[k] = flat[(i - 1) * n + k] end
  return out
end

-- Two sources, a sink that two reach, an op of each kind.
local function forked()
  local ops = { { seconds = 1, params = 8 }, { seconds = 4 }, { seconds = 2, params = 2 },
    { seconds = 1 } }
  local g = assert(berth.graph { ops = ops, edges = { { 1, 3, 4 }, { 2, 3, 12 }, { 3, 4, 6 } } })
  return { most = 2, sequential = { 8 },
    models = { { graph = g, memory = 32, bytes = 22, sequential = 8 } } }
end

describe("what the published agent sees", function()
  it("reports ops by shares of the largest, and their depth", function()
    local m = pool_of(forked()).models[1]
    -- seconds / 4, longest (quirk: never), bytes / 12, largest, depth from the first source / 3; op
    -- 2 is not reached from it
    close({ 0.25, 0, 1, 1, 1 / 3,  1, 0, 1, 0, 0,  0.5, 0, 8 / 12, 0, 2 / 3,  0.25, 0, 0, 0, 1 },
      m.nodes)
    close({ 4 / 12, 0, 1, 1, 0.5, 0 }, m.edges)
    assert.same({ { 1, 2, 3 }, { 3, 3, 4 } }, { m.src, m.dst })
    close({ 0.5, 0.375, (1 + 1 + 8 / 12) / 4, (1 + 8 / 12) / 2, (4 / 12 + 1 + 0.5) / 3, 0.5 },
      m.ratios)
  end)

  it("marks the longest op without the quirk", function()
    assert.equal(1, pool_of(forked(), { quirks = false }).models[1].nodes[7])
  end)

  it("reports jobs by where they are in the pool, and the cluster by what is taken", function()
    -- sequential 2 and 6, ops 3 and 5, edges 3 and 5, memory 100 and 200, bytes 10 and 20
    local env = toy.two_servers()
    local run = env:run { model = { 1, 2 }, beta = { 1, 0.5 }, arrival = { 0, 1 } }
    run:decide(1)
    local told = observe.job(pool_of(env), run, run:mask "paper")
    close({ 1, 1, 1, (3 - 0.2) / (6 - 0.2), 0.4 / 0.9, 0.5, 1, 1, 1 }, cut(told, 1, 9), 1e-9)
    close({ 0.5, 0.5, 1, 1, 0 }, { told[16], told[17], told[18], told[19], told[20] })
    assert.equal(20, #told)
  end)

  it("takes what is the same in all models for 1", function()
    local env = forked()
    assert.same({ 1, 1, 1, 1, 1 }, pool_of(env).models[1].job)
  end)
end)

-- The layers again, on plain tables.
local naive = {}

function naive.linear(p, name, x, relu)
  local w, b, out = p[name .. ".weight"], p[name .. ".bias"], {}
  for j = 1, w.shape[2] do
    local sum = b:get(j)
    for i = 1, #x do sum = sum + x[i] * w:get(i, j) end
    out[j] = relu and math.max(sum, 0) or sum
  end
  return out
end

function naive.norm(p, name, x)
  local mean, square, out = 0, 0, {}
  for i = 1, #x do mean = mean + x[i] / #x end
  for i = 1, #x do square = square + (x[i] - mean) ^ 2 / #x end
  for i = 1, #x do
    out[i] = (x[i] - mean) / math.sqrt(square + 1e-5) * p[name .. ".gain"]:get(i)
      + p[name .. ".bias"]:get(i)
  end
  return out
end

function naive.module(p, name, x)
  return naive.linear(p, name .. ".linear", naive.norm(p, name .. ".norm", x), true)
end

local function joined(a, b)
  local out = {}
  for i = 1, #a do out[i] = a[i] end
  for i = 1, #b do out[#a + i] = b[i] end
  return out
end

local function add(a, b)
  for i = 1, #b do a[i] = (a[i] or 0) + b[i] end
  return a
end

function naive.round(p, name, m, x, half, quirks)
  local zeros, out = {}, {}
  for i = 1, half do zeros[i] = 0 end
  for v = 1, m.n do
    local sum, count = add({},
      naive.module(p, name .. ".reduce", joined(naive.module(p, name .. ".node", x[v]), zeros))), 1
    for e = 1, #m.src do
      if m.dst[e] == v then
        local edge = naive.module(p, name .. ".edge", cut(m.edges, e, 2))
        add(sum, naive.module(p, name .. ".reduce",
          joined(naive.module(p, name .. ".node", x[m.src[e]]), edge)))
        count = count + 1
      end
    end
    for i = 1, #sum do sum[i] = quirks and count == 1 and 0 or sum[i] / count end
    out[v] = sum
  end
  return out
end

function naive.embedding(p, m, quirks)
  local x, mean = {}, {}
  for v = 1, m.n do x[v] = cut(m.nodes, v, 5) end
  for i = 1, 2 do x = naive.round(p, ("graph.%d"):format(i), m, x, 3, quirks) end
  for v = 1, m.n do add(mean, x[v]) end
  for i = 1, #mean do mean[i] = mean[i] / m.n end
  return mean
end

local function told_rows(n)
  local rng, flat = berth.rng(3), {}
  for i = 1, n * 20 do flat[i] = rng:uniform() end
  return flat
end

describe("the published network", function()
  it("passes messages as a plain program does, with the quirk and without", function()
    local pool = pool_of(forked())
    for _, quirks in ipairs { true, false } do
      local net = published.new(with { quirks = quirks }, 2)
      close(naive.embedding(net.params, pool.models[1], quirks), net:embed(pool):flat(), 1e-5)
    end
  end)

  it("gives values as a plain program does", function()
    local pool, net = pool_of(toy.two_servers()), published.new(sizes, 2)
    local p, told = net.params, told_rows(1)
    local graph = naive.linear(p, "job.linear", naive.norm(p, "job.norm", told))
    local h = naive.linear(p, "fc", joined(naive.embedding(p, pool.models[2], true), graph), true)
    local gain = naive.linear(p, "advantage.2", naive.linear(p, "advantage.1", h, true))
    local value = naive.linear(p, "value.2", naive.linear(p, "value.1", h, true))[1]
    local mean = (gain[1] + gain[2] + gain[3]) / 3
    close({ value + gain[1] - mean, value + gain[2] - mean, value + gain[3] - mean },
      net:q(net:hidden(pool, { 2 }, nn.array(told, { 1, 20 }))):flat(), 1e-5)
  end)

  it("answers the same for a row alone, among others, and with graphs encoded before", function()
    local pool, net = pool_of(toy.two_servers()), published.new(sizes, 2)
    local told = nn.array(told_rows(4), { 4, 20 })
    local models = { 2, 1, 2, 2 }
    local all = net:q(net:hidden(pool, models, told))
    close(all:flat(), net:q(net:hidden(pool, models, told, net:embed(pool))):flat())
    for i = 1, 4 do
      close(cut(all:flat(), i, 3),
        net:q(net:hidden(pool, { models[i] }, told:gather { i })):flat(), 1e-6)
    end
  end)

  it("has the published sizes", function()
    local net = published.new({ fc = 256, graph = 8, hidden = 64, embedding = 16, message = 32,
      rounds = 2, quirks = true,
      seed = 0, algorithm = "ppo" }, 16)
    local function part(i, n) return 2 * i + i * n + n end -- norm and linear
    local rounds = part(5, 16) + part(2, 16) + part(32, 64) + part(64, 16) + part(2,
      16) + part(32, 16)
    assert.equal(rounds + part(34, 8) + 24 * 256 + 256 + 256 * 17 + 17 + 257, net.params.size)
  end)

  it("keeps scores of what is masked at the least float, and gives it no probability", function()
    local pool, net = pool_of(toy.two_servers()), published.new(with { algorithm = "ppo" }, 2)
    local h = net:hidden(pool, { 1, 2 }, nn.array(told_rows(2), { 2, 20 }))
    local p = (net:policy(h, nn.array({ { 1, 0, 1 }, { 1, 0, 0 } }))):log_softmax():exp():flat()
    assert.same({ 0, 1, 0, 0 }, { p[2], p[4], p[5], p[6] })
    assert.near(1, p[1] + p[3], 1e-6)
  end)
end)

-- Gradients against differences of a loss that squares what comes out.
local function check_gradients(p, f)
  local tape = nn.tape()
  p:zero_gradients()
  tape:backward(tape:record(f))
  local gradient, values = p:flat("gradients"):flat(), p:flat "values"
  local rng, step = berth.rng(7), 1e-2
  for _ = 1, 40 do
    local i = rng:below(p.size)
    local x, sides = values:get(i), {}
    for k, d in ipairs { step, -step } do
      values:set(x + d, i)
      p:set_flat("values", values)
      sides[k] = f():item()
    end
    values:set(x, i)
    p:set_flat("values", values)
    assert.near((sides[1] - sides[2]) / (2 * step), gradient[i],
      5e-3 + 0.05 * math.abs(gradient[i]))
  end
end

describe("gradients", function()
  -- Biases away from 0, so that no ReLU is at its kink.
  local function moved(net)
    local rng = berth.rng(5)
    local v = net.params:flat "values"
    net.params:set_flat("values", v + nn.normal(rng, { net.params.size }):scale(0.3))
    return net
  end

  it("of values agree with differences", function()
    local pool, net, told = pool_of(toy.two_servers()), moved(published.new(sizes, 2)),
      nn.array(told_rows(3), { 3, 20 })
    check_gradients(net.params,
      function() return net:q(net:hidden(pool, { 1, 2, 2 }, told)):square():mean() end)
  end)

  it("of scores and values agree with differences", function()
    local pool, net, told = pool_of(toy.two_servers()),
      moved(published.new(with { algorithm = "ppo" }, 2)),
      nn.array(told_rows(3), { 3, 20 })
    check_gradients(net.params, function()
      local scores, values = net:policy(net:hidden(pool, { 1, 2, 2 }, told),
        nn.array { { 1, 1, 0 }, { 1, 1, 1 }, { 1, 0, 1 } })
      return scores:log_softmax():pick({ 1, 3, 3 }):square():mean() + values:square():mean()
    end)
  end)
end)

describe("decisions", function()
  it("take the first of the best, among those that the mask has", function()
    assert.same({ 1, 5 }, { rows.best({ 9, 2, 5, 5 }, 1, 3) })
    assert.same({ 0, 2 }, { rows.best({ 9, 2, 5, 5 }, 1, 3, { 1, 0, 0 }) })
  end)

  it("are drawn as often as they are likely", function()
    local rng, seen, logs = berth.rng(1), { 0, 0, 0 }, { math.log(0.5), -math.huge, math.log(0.5) }
    for _ = 1, 2000 do
      local a = rows.draw(rng, logs, 0, 3) + 1
      seen[a] = seen[a] + 1
    end
    assert.equal(0, seen[2])
    assert.near(1000, seen[1], 100)
  end)
end)

describe("advantages", function()
  it("are sums of what was better than expected", function()
    -- one actor: rewards 1, -1, 1 | end, 1; values 0.5, 1, 2, 3 and 4 behind
    local b = { reward = { 1, -1, 1, 1 }, value = { 0.5, 1, 2, 3, 4 },
      done = { false, false, true, false } }
    local gain, target = ppo.advantages(b, 1, 0.5, 0.5)
    local d = { 1 + 0.5 - 0.5, -1 + 1 - 1, 1 - 2, 1 + 2 - 3 }
    close({ d[1] + 0.25 * (d[2] + 0.25 * d[3]), d[2] + 0.25 * d[3], d[3], d[4] }, gain)
    close({ gain[1] + 0.5, gain[2] + 1, gain[3] + 2, gain[4] + 3 }, target)
  end)

  it("with lambda 1 are returns less the value, of each actor by itself", function()
    local b = { reward = { 1, 2, 3, 4 }, value = { 0, 0, 0, 0, 10, 20 },
      done = { false, false, false, false } }
    close({ 1 + 3 + 10, 2 + 4 + 20, 3 + 10, 4 + 20 }, (ppo.advantages(b, 2, 1, 1)))
  end)
end)

describe("what the learner remembers", function()
  it("is the sum of n rewards, and the state behind them or the end", function()
    local env = toy.two_servers()
    local pool = pool_of(env)
    local o = { actors = 1, n_step = 2, gamma = 0.5, epsilon = 1, spread = 0, capacity = 16,
      start = 1000, alpha = 1, beta = 1,
      least = 0.01, mask = "paper", masked = false, train_every = 1, target = 10 }
    local learner = dqn.new({ net = published.new(sizes, 2),
      make = function() return published.new(sizes, 2) end, pool = pool,
      env = env, traces = toy.traces(4, 0.5, { 1, 0.5 }), seed = 2 }, o)
    learner:start()
    for _ = 1, 4 do learner:advance() end -- one trace: four transitions, the last two to the end
    local m, w, actions = learner.memory, pool.width, {}
    assert.equal(4, m.size)
    local run, reward, told = env:run(toy.traces(4, 0.5, { 1, 0.5 })(1)), {}, {}
    for k = 1, 4 do
      actions[k], told[k] = m.rows:get(k, w + 2) - 1, observe.job(pool, run, run:mask "paper")
      reward[k] = run:decide(run:mask("paper")[actions[k] + 1] == 1 and actions[k] or 0) and 1 or -1
    end
    for k = 1, 4 do
      local row = m.rows:gather({ k }):flat()
      close(told[k], cut(row, 1, w), 1e-6)
      assert.equal(reward[k] + 0.5 * (reward[k + 1] or 0), row[w + 3])
      assert.equal(k <= 2 and 0.25 or 0, row[w + 4])
      if k <= 2 then
        for i = 1, w do assert.near(told[k + 2][i], row[w + 4 + i], 1e-6) end
      end
    end
  end)
end)
