-- PLACETO and GDP: what their networks see, equal rolling out and learning, and progress.
local berth = require "berth"
local random_graph = require "support.random_graph"
local placeto, gdp = require "berth.agents.placeto", require "berth.agents.gdp"
local nn = berth.nn

local mesh = berth.topology.mesh(3, { bandwidth = 1 })

-- Two operators of four blocks, crossed, and a sum.
local function blocks(extra)
  local ops, tensors = {}, {}
  for i = 1, 4 do ops[i] = { seconds = 2, kind = "matmul" } end
  for i = 5, 8 do ops[i] = { seconds = 1, kind = "add" } end
  ops[9] = { seconds = 1, kind = "sum" }
  for i = 1, 4 do
    tensors[#tensors + 1] = { from = i, to = 9 - i, bytes = 3 }
    tensors[#tensors + 1] = { from = 4 + i, to = 9, bytes = 1 }
  end
  for op, fields in pairs(extra or {}) do
    for name, value in pairs(fields) do ops[op][name] = value end
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local makers = { placeto = placeto.policy, gdp = gdp.policy }

local function rolled(policy, env, n, opts)
  local view = policy:view(env)
  local e = env:episodes(n)
  e:start(3, 0)
  policy:rollout(view, policy:encode(view), e, opts)
  return view, e
end

local function loss_of(policy, view, e, opts)
  local tape, weights = nn.tape(), nn.full({ #e:log().device }, 1)
  local loss = tape:record(function() return policy:loss(view, policy:encode(view), e:log(),
    weights, opts) end)
  return loss:item(), tape, loss
end

-- -sum of the log probabilities of what was chosen, from the scores that the rollout saw.
local function summed(policy, view, e)
  local log, steps, sum = e:log(), #view.order, 0
  local walk = policy:begin(view, policy:encode(view), e.count)
  for s = 1, steps do
    local logs, devices = policy:score_step(view, walk, s):log_softmax(), {}
    for i = 1, e.count do
      devices[i] = log.device[(i - 1) * steps + s]
      sum = sum - logs:get(i, devices[i])
    end
    policy:noted(view, walk, s, devices)
  end
  return sum
end

for _, name in ipairs { "placeto", "gdp" } do
  describe("policy " .. name, function()
    local make = makers[name]

    it("places every op once, the same for the same seed", function()
      local env = berth.assignment(blocks(), mesh)
      local policy = make { devices = 3 }
      local _, a = rolled(policy, env, 4, { how = "sample", epsilon = 0.3 })
      local _, b = rolled(make { devices = 3 }, env, 4, { how = "sample", epsilon = 0.3 })
      for i = 1, 4 do
        assert.same(a:placement(i), b:placement(i))
        for _, d in ipairs(a:placement(i)) do assert.is_true(d >= 1 and d <= 3) end
      end
    end)

    it("keeps pins and groups", function()
      local env = berth.assignment(blocks { [2] = { pin = 3 }, [5] = { group = 1 },
        [9] = { group = 1 } }, mesh)
      local _, e = rolled(make { devices = 3 }, env, 6, { how = "sample", epsilon = 1 })
      for i = 1, 6 do
        local at = e:placement(i)
        assert.equal(3, at[2])
        assert.equal(at[5], at[9])
      end
    end)

    it("learns from the probabilities with which it rolled out", function()
      local env = berth.assignment(blocks(), mesh)
      local policy = make { devices = 3 }
      local view, e = rolled(policy, env, 3, { how = "sample", epsilon = 0 })
      local loss, tape = loss_of(policy, view, e, { how = "sample", epsilon = 0 })
      tape:clear()
      assert.near(summed(policy, view, e), loss, 1e-3)
    end)

    it("counts the uniform share of the choice, and entropy", function()
      local env = berth.assignment(blocks(), mesh)
      local policy = make { devices = 3 }
      local view, e = rolled(policy, env, 2, { how = "sample", epsilon = 1 })
      local loss, tape = loss_of(policy, view, e, { how = "sample", epsilon = 1 })
      tape:clear()
      assert.near(2 * 9 * math.log(3), loss, 1e-3)
      local less, other = loss_of(policy, view, e, { how = "sample", epsilon = 1, entropy = 0.5 })
      other:clear()
      -- two episodes: 0.5 x 9 log 3 at most
      assert.is_true(less < loss and less >= 2 * 9 * math.log(3) * 0.75 - 1e-3)
    end)

    it("imitates a teacher", function()
      local env = berth.assignment(blocks(), mesh)
      local policy = make { devices = 3 }
      local view, e, first, last = policy:view(env), env:episodes(8), nil, nil
      local adam = nn.adam(policy.params, { rate = 0.01 })
      for update = 1, 60 do
        e:start(1, (update - 1) * 8)
        local seen = policy:imitate(view, policy:encode(view), e,
          { epsilon = 1, ties = "textbook" })
        local tape = nn.tape()
        local loss = tape:record(function() return policy:imitation_loss(view, policy:encode(view),
          seen, {}) end)
        tape:backward(loss)
        adam:step()
        first, last = first or loss:item(), loss:item()
        tape:clear()
      end
      assert.is_true(last < first, last .. " against " .. first)
    end)

    it("improves by its own makespans", function()
      local env = berth.assignment(blocks(), mesh)
      local policy = make { devices = 3 }
      local view, e, means = policy:view(env), env:episodes(16), {}
      local adam = nn.adam(policy.params, { rate = 0.01, clip = 1 })
      for update = 1, 60 do
        e:start(2, (update - 1) * 16)
        policy:rollout(view, policy:encode(view), e, { how = "sample" })
        local times, mean, weights = e:simulate(), 0, {}
        for i = 1, 16 do mean = mean + times[i] / 16 end
        for i = 1, 16 do
          for _ = 1, env.steps do weights[#weights + 1] = (mean - times[i]) / 16 end
        end
        local log, tape = e:log(), nn.tape()
        local loss = tape:record(function()
          return policy:loss(view, policy:encode(view), log, nn.array(weights), { how = "sample" })
        end)
        tape:backward(loss)
        adam:step()
        tape:clear()
        means[update] = mean
      end
      local before, after = 0, 0
      for i = 1, 10 do before, after = before + means[i], after + means[50 + i] end
      assert.is_true(after < before, after .. " against " .. before)
    end)

    it("is for one number of devices", function()
      local env = berth.assignment(blocks(), mesh)
      assert.error_matches(function() make { devices = 2 }:view(env) end,
        "the network is for 2 devices, the topology has 3")
      assert.error_matches(function() make {} end, "devices: expected a whole number")
      assert.error_matches(function() make { devices = 2, depth = 1 } end, "unknown option 'depth'")
    end)

    it("takes random graphs", function()
      for seed = 1, 5 do
        local g = assert(berth.graph(random_graph.describe(seed, { n = 14, groups = 3 })))
        local env = berth.assignment(g, mesh)
        local _, e = rolled(make { devices = 3 }, env, 2, { how = "greedy", epsilon = 0.5 })
        assert.equal(#g, #e:placement(1))
      end
    end)
  end)
end

describe("agents placeto and gdp", function()
  it("are trained by the trainer, and place", function()
    local agents, g = require "berth.agents", blocks()
    for _, kind in ipairs { "placeto", "gdp" } do
      local agent = agents[kind] { seed = 2 }
      local report = assert(agent:train({ { graph = g, topology = mesh } },
        { stages = { { stage = "I", episodes = 16 }, { stage = "II", episodes = 32 } } }))
      local p = assert(berth.place(g, mesh, agent))
      assert.equal(9, #p:devices())
      assert.equal(kind, p.placer)
      assert.is_true(report.tasks[1].best > 0)
    end
  end)
end)

describe("policy gdp", function()
  it("sees memory as a constant: segments may be read at once or in turn", function()
    local env = berth.assignment(blocks(), mesh)
    local policy = gdp.policy { devices = 3, segment = 4, width = 8, heads = 2 }
    local whole = gdp.policy { devices = 3, segment = 16, width = 8, heads = 2 }
    local a, b = policy:view(env), whole:view(env)
    local cut, one = policy:encode(a).scores:totable(), whole:encode(b).scores:totable()
    for v = 1, 4 do
      for d = 1, 3 do assert.is_true(cut[v][d] == cut[v][d] and one[v][d] == one[v][d]) end
    end
    assert.equal(4, b.blocks[1].seen:gather { 1 }:sum():item() - 5) -- ops 1 to 9 in one segment
    assert.equal(4, a.blocks[1].seen:gather { 1 }:sum():item())     -- no segment before the first
    assert.equal(8, a.blocks[1].seen:gather { 5 }:sum():item())     -- ops 1 to 4 and 5 to 8
    assert.equal(5, a.blocks[1].seen:gather { 9 }:sum():item())     -- ops 5 to 8 and 9
  end)

  it("says the same when many ops attend at once and when few do", function()
    local ops, edges = {}, {}
    for i = 1, 530 do
      ops[i] = { seconds = 1 + i % 3, kind = "k" .. i % 5 }
      if i > 1 then edges[#edges + 1] = { i - 1, i, 1 } end
    end
    local policy = gdp.policy { devices = 3, segment = 5 }
    local view =
      policy:view(assert(berth.assignment(berth.graph { ops = ops, edges = edges }, mesh)))
    assert.equal(2, #view.blocks)
    local got, flat = policy:encode(view).scores, {}
    for v = 1, 530 do
      local own = math.ceil(v / 5)
      for u = 1, 530 do flat[#flat + 1] = math.ceil(u / 5) == own - 1 and 1 or 0 end
      for u = 1, 530 do flat[#flat + 1] = math.ceil(u / 5) == own and 1 or 0 end
    end
    view.blocks = { { first = 1, last = 530, before = 1, seen = nn.array(flat, { 530, 1060 }) } }
    assert.is_true((got - policy:encode(view).scores):abs():max():item() < 1e-5)
  end)

  it("with quirks leaves single neighbours out, and reports raw ids", function()
    local env = berth.assignment(blocks(), mesh)
    local plain, quirky = gdp.policy { devices = 3 }:view(env),
      gdp.policy { devices = 3, quirks = true }:view(env)
    assert.equal(1, plain.segments:lengths()[1])
    assert.equal(0, quirky.segments:lengths()[1])
    assert.equal(4, quirky.segments:lengths()[9])
    assert.equal(4, quirky.features:get(5, 10)) -- op 5 reads op 4
    assert.near(4 / 9, plain.features:get(5, 10), 1e-6)
  end)
end)

describe("policy placeto", function()
  it("finds what lies before, behind and beside an op", function()
    local view = placeto.policy { devices = 3 }:view(berth.assignment(blocks(), mesh))
    for s, op in ipairs(view.order) do
      if op == 5 then
        assert.same({ { 4 }, { 9 }, { 1, 2, 3, 6, 7, 8 } },
          { view.around[s].parents, view.around[s].children, view.around[s].parallel })
      end
    end
  end)
end)
