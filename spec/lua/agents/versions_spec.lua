-- What changes from step to step: against networks that compute everything at every step.
local berth = require "berth"
local nn = berth.nn
local placeto = require "berth.agents.placeto"
local versions = require "berth.agents.versions"
local naive = require "support.placeto_naive"
local random_graph = require "support.random_graph"

local function neighbours(below, n)
  local sources, receivers = {}, {}
  for v = 1, n do sources[v], receivers[v] = {}, {} end
  for v = 2, n do
    for u = 1, v - 1 do
      if below(4) == 1 then
        table.insert(sources[v], u)
        table.insert(receivers[u], v)
      end
    end
  end
  return sources, receivers
end

local function changes_of(below, n, steps)
  local changes = {}
  for s = 1, steps do
    changes[s] = {}
    for v = 1, n do
      if below(5) == 1 then table.insert(changes[s], v) end
    end
  end
  return changes
end

-- Numbers of versions, from those of the list before.
local function values_of(list, before, own)
  local out, at = {}, 0
  for k = 1, #list.vertex do
    local sum = own[list.own[k]]
    for i = at + 1, list.ends[k] do sum = sum + 1.25 * before[list.from[i]] end
    out[k], at = sum, list.ends[k]
  end
  return out
end

local function all_anew(x, sources, rounds)
  local h = x
  for _ = 1, rounds do
    local next_h = {}
    for v = 1, #x do
      next_h[v] = x[v]
      for _, u in ipairs(sources[v]) do next_h[v] = next_h[v] + 1.25 * h[u] end
    end
    h = next_h
  end
  return h
end

describe("versions", function()
  it("are what computing everything at every step gives", function()
    for seed = 1, 20 do
      local below = random_graph.source(seed)
      local n, steps, rounds = 3 + below(8), 1 + below(6), below(4)
      local sources, receivers = neighbours(below, n)
      local changes = changes_of(below, n, steps)
      local own = versions.own(n, changes)
      local numbers, list = {}, own
      for k = 1, #own.vertex do numbers[k] = below(100) end
      local values = numbers
      for _ = 1, rounds do
        local after = versions.round(own, list, sources, receivers)
        list, values = after, values_of(after, values, numbers)
      end
      local now, own_now = versions.newest(list), versions.newest(own)
      for s = 1, steps do
        local x, ids = {}, own_now(s)
        for v = 1, n do x[v] = numbers[ids[v]] end
        local newest = now(s)
        for v, want in ipairs(all_anew(x, sources, rounds)) do
          assert.near(want, values[newest[v]], 1e-9 * want + 1e-9)
        end
      end
    end
  end)

  it("are new only where something is heard of", function()
    -- 1 -> 2 -> 3, and 4 by itself; 1 changes at step 1, 4 at step 2
    local sources, receivers = { {}, { 1 }, { 2 }, {} }, { { 2 }, { 3 }, {}, {} }
    local own = versions.own(4, { { 1 }, { 4 } })
    local one = versions.round(own, own, sources, receivers)
    local two = versions.round(own, one, sources, receivers)
    assert.same({ 1, 2, 3, 4, 1, 4 }, own.vertex)
    assert.same({ 1, 2, 3, 4, 1, 2, 4 }, one.vertex)
    assert.same({ 1, 2, 3, 4, 1, 2, 3, 4 }, two.vertex)
    assert.same({ 7, 8 }, two.upto)
  end)

  it("have rows that episodes share, and rows of their own", function()
    assert.equal(3, versions.row(4, 3, 2, 5))
    assert.equal(6, versions.row(4, 5, 2, 5))
    assert.equal(11, versions.row(4, 6, 2, 5))
    local own = versions.own(2, { { 2 } })
    local one = versions.round(own, own, { {}, { 1 } }, { { 2 }, {} })
    local rows = versions.inputs(one, 3)
    assert.same({ 1, 1, 1, 1 }, rows.from:totable())    -- 2 hears from 1, which all share
    assert.same({ 0, 1, 1, 1, 1 }, rows.received:lengths())
    assert.same({ 1, 2, 3, 4, 5 }, rows.own:totable())
  end)
end)

describe("policy placeto", function()
  local mesh = berth.topology.mesh(3, { bandwidth = 1 })

  local function rolled(policy, env, n)
    local view, e = policy:view(env), env:episodes(n)
    e:start(3, 0)
    policy:rollout(view, policy:encode(view), e, { how = "sample", epsilon = 0.2 })
    return view, e
  end

  -- Of the scores that a rollout sees, and of the loss, against all messages at every step.
  local function check(env, rounds)
    local policy = placeto.policy { devices = 3, rounds = rounds, seed = rounds }
    local view, e = rolled(policy, env, 3)
    local log, steps = e:log(), #view.order
    local want, walk, sum = naive.scores(policy, env, view, log, 3), policy:begin(view, {}, 3), 0
    for s = 1, steps do
      local seen, devices = policy:score_step(view, walk, s), {}
      for i = 1, 3 do
        local logs = want[i][s]:log_softmax()
        for d = 1, 3 do assert.near(want[i][s]:get(1, d), seen:get(i, d), 1e-4) end
        devices[i] = log.device[(i - 1) * steps + s]
        sum = sum - logs:get(1, devices[i])
      end
      policy:noted(view, walk, s, devices)
    end
    assert.near(sum, policy:loss(view, {}, log, nn.full({ 3 * steps }, 1), {}):item(), 1e-3)
  end

  it("scores as if every op passed messages at every step", function()
    for seed = 1, 6 do
      local g = assert(berth.graph(random_graph.describe(seed,
        { n = 12, groups = seed % 2 == 0 and 3 or nil })))
      check(assert(berth.assignment(g, mesh)), 1 + seed % 3)
    end
  end)

  it("scores alike with pins", function()
    local what = random_graph.describe(9, { n = 10 })
    what.ops[3].pin, what.ops[7].pin = 2, 1
    check(assert(berth.assignment(assert(berth.graph(what)), mesh)), 2)
  end)

  it("has the gradient of all messages at every step", function()
    local env =
      assert(berth.assignment(assert(berth.graph(random_graph.describe(4, { n = 10, groups = 2 }))),
      mesh))
    local policy = placeto.policy { devices = 3, rounds = 2 }
    local view, e = rolled(policy, env, 2)
    local log, steps = e:log(), #view.order
    local function gradient(f)
      local tape = nn.tape()
      policy.params:zero_gradients()
      tape:backward(tape:record(f))
      return policy.params:flat("gradients"):flat()
    end
    local fast = gradient(function() return policy:loss(view, {}, log, nn.full({ 2 * steps }, 1),
      {}) end)
    local slow = gradient(function()
      local rows = {}
      for _, of_episode in ipairs(naive.scores(policy, env, view, log, 2)) do
        for _, row in ipairs(of_episode) do rows[#rows + 1] = row end
      end
      return nn.concat(rows, 1):log_softmax():pick(log.device):sum():scale(-1)
    end)
    local most = 0
    for i = 1, #fast do most = math.max(most, math.abs(slow[i])) end
    assert.is_true(most > 0.01)
    for i = 1, #fast do assert.near(slow[i], fast[i], 1e-4 * most) end
  end)

  it("draws for an episode the same alone, among some, and in more walks than one", function()
    local env = assert(berth.assignment(assert(berth.graph(random_graph.describe(5, { n = 8 }))),
      mesh))
    local policy = placeto.policy { devices = 3 }
    local _, few = rolled(policy, env, 2)
    local _, many = rolled(policy, env, 130)
    for i = 1, 2 do assert.same(few:placement(i), many:placement(i)) end
    local view, e = policy:view(env), env:episodes(2)
    e:start(3, 128)
    policy:rollout(view, {}, e, { how = "sample", epsilon = 0.2 })
    for i = 1, 2 do assert.same(e:placement(i), many:placement(128 + i)) end
  end)
end)
