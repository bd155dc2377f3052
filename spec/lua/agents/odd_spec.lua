-- Agents with odd options, with little to choose, and with files of other trainings.
local berth = require "berth"
local errors = require "support.errors"
local merged = require "support.merged"
local shell = require "support.shell"

local raises, refused = errors.raises, errors.refused

local nn = berth.nn

-- Two alike chains that meet, and a stray op: ties, transfers, several candidates.
local function graph(more)
  local ops = {}
  for i, seconds in ipairs { 1, 2, 2, 3, 3, 1, 2 } do
    ops[i] = { seconds = seconds, kind = "k" .. seconds }
  end
  for i, extra in pairs(more or {}) do
    for key, value in pairs(extra) do ops[i][key] = value end
  end
  local edges = { { 1, 2, 2 }, { 1, 3, 1 }, { 2, 4, 1 }, { 3, 5, 1 }, { 4, 6, 1 }, { 5, 6, 3 } }
  return assert(berth.graph { ops = ops, edges = edges })
end

local function mesh(n, opts) return berth.topology.mesh(n, opts or { bandwidth = 1 }) end

local function agent(kind, opts)
  local o = { seed = 1 }
  if kind == "doppler" then o.hidden, o.inner, o.rounds = 8, 8, 2 end
  for key, value in pairs(opts or {}) do o[key] = value end
  return berth.agents[kind](o)
end

local both = { { stage = "I", episodes = 16 }, { stage = "II", episodes = 16 } }

local function train(a, g, t, opts)
  local o = merged({ stages = both }, opts)
  return a:train({ { graph = g, topology = t } }, o)
end

-- Agents of all kinds, and of all ways to decide.
local ways = { { "doppler" }, { "doppler", { joint = true } }, { "doppler", { contract = true } },
  { "doppler", { place = "least-start" } }, { "doppler", { select = "longest-path" } },
  { "doppler", { teacher = "critical-path", epsilon = 0.3, entropy = 0.1 } }, { "placeto" },
  { "gdp" } }

local function each_way(f)
  for _, way in ipairs(ways) do f(agent(way[1], way[2]), way[1]) end
end

describe("options of agents", function()
  it("are refused at once if they are odd, with name and value", function()
    raises("berth.agents.doppler: gamma: 2 is out of range 0 to 1", agent, "doppler", { gamma = 2 })
    raises("berth.agents.doppler: share: expected true or false, got number", agent, "doppler",
      { share = 1 })
    raises("berth.agents.doppler: hidden: 0 is out of range 1 to 100000", agent, "doppler",
      { hidden = 0 })
    raises("berth.agents.doppler: clip: 0 is out of range 1e-30 to 1e+30", agent, "doppler",
      { clip = 0 })
    raises("rate: expected a number or { from, to }, got key 3", agent, "doppler",
      { rate = { 1, 0, 1 } })
    raises("berth.agents.placeto: rounds: inf is out of range 1 to 1000", agent, "placeto",
      { rounds = 1 / 0 })
    raises("berth.agents.gdp: segment: 0 is out of range 1 to 100000", agent, "gdp",
      { segment = 0 })
    raises("berth.agents.gdp: width: 64 cannot be split over 3 heads", agent, "gdp",
      { heads = 3 })
    raises("berth.agents.gdp: unknown option 'rounds'", agent, "gdp", { rounds = 2 })
    raises("share: there is one encoder only", agent, "doppler", { share = true, joint = true })
    raises("partners: requires place learned", agent, "doppler",
      { partners = true, place = "least-start" })
  end)

  -- Weights after a short training; another option, other weights.
  local function weights(kind, opts, g)
    local a = agent(kind, opts)
    assert(train(a, g or graph(), mesh(3)))
    return table.concat(a:network(3).params:flat("values"):flat(), " ")
  end

  it("all have an effect", function()
    local cases = {
      doppler = { { {}, { "hidden", 9 }, { "inner", 9 }, { "rounds", 3 }, { "preset", "published" },
        { "estimates", "load" }, { "t_levels", "textbook" }, { "edge_costs", "code" },
        { "partners", false },
        { "select", "longest-path" }, { "place", "least-load" }, { "share", true },
        { "joint", true }, { "seed", 2 },
        { "design", "published" }, { "batch", 4 }, { "rate", 1e-3 }, { "how", "greedy" },
        { "epsilon", 0.3 }, { "gamma", 0.5 },
        { "baseline", "all" }, { "baseline", "best" }, { "baseline", "exponential" },
        { "normalise", "running" },
        { "normalise", "none" }, { "entropy", 0.1 }, { "clip", 0.01 },
        { "teacher", "critical-path" }, { "parts", 4 } },
        { { baseline = "exponential" }, { "decay", 0.1 } },
        { { normalise = "none", baseline = "all", clip = false, rate = 0.1 }, { "unit", 1e10 } },
        { { teacher = "critical-path" }, { "ties", "code" }, { "published_marks", true } } },
      placeto = { { {}, { "rounds", 2 }, { "hidden", 8 }, { "seed", 2 }, { "preset", "published" },
        { "estimates", "load" }, { "gamma", 0.5 } } },
      gdp = { { {}, { "kinds", 2 }, { "parents", 1 }, { "width", 32 }, { "segment", 2 },
        { "heads", 2 }, { "quirks", true },
        { "seed", 2 } } },
    }
    for _, kind in ipairs { "doppler", "placeto", "gdp" } do
      for _, case in ipairs(cases[kind]) do
        local base = weights(kind, case[1])
        for i = 2, #case do
          local o = { [case[i][1]] = case[i][2] }
          for key, value in pairs(case[1]) do o[key] = o[key] == nil and value or o[key] end
          assert.not_equal(base, weights(kind, o), kind .. " " .. case[i][1])
        end
      end
    end
  end)

  it("contract graphs that searches contract", function()
    local g = assert(berth.models.build("einsum", { program = "chain", layers = 1 }))
    for _, kind in ipairs { "doppler", "gdp" } do
      assert.not_equal(weights(kind, {}, g), weights(kind, { contract = true }, g))
    end
  end)

  it("of training are refused before anything is done", function()
    local a, g, t = agent "doppler", graph(), mesh(2)
    local function no(text, opts)
      raises("agent:train: " .. text, a.train, a, { { graph = g, topology = t } }, opts)
    end
    no("calls: 0 is out of range 1 to", { calls = 0 })
    no("calls: 10 are too few: 11 for a last look at each task and its search",
      { calls = 10, search = { calls = 10 } })
    no("every: 0 is out of range 1 to", { every = 0, checkpoint = "x" })
    no("every: requires checkpoint", { every = 5 })
    no("progress: expected a function, got number", { progress = 1 })
    no("search: placer: 'etf' is none of: anneal, brkga, local", { search = { placer = "etf" } })
    no("search: unknown option 'cals'", { search = { cals = 1 } })
    no("search: runs the simulator: not after stage III",
      { search = {}, objective = print, stages = { { stage = "III" } } })
    no("stages: expected at least one stage", { stages = {} })
    no("stages: expected a table, got string", { stages = "II" })
    no("stages[1]: stage: expected a table, got string", { stages = { "II" } })
    no("stages[1]: episodes: expected a whole number from 1 to 1000000000000, got 1.5",
      { stages = { { stage = "I", episodes = 1.5 } } })
    no("stages[1]: batch: one episode has no mean", { stages = { { stage = "II", episodes = 1 } } })
    assert.equal("agent doppler: not trained", tostring(a))
  end)

  it("of a judge are refused before the first stage", function()
    local function no(text, judge)
      local a = agent "doppler"
      local task = { graph = graph(), topology = mesh(2), judge = judge }
      raises("agent:train: tasks[1]: judge: " .. text, a.train, a, { task }, {})
    end
    no("unknown option 'grph'", { grph = 1 })
    no("preset: unknown preset \"x\"", { preset = "x" })
    no("graph: has 1 ops, the task has 7", { graph = berth.graph { ops = { { seconds = 1 } } } })
  end)

  it("of placing are those it reads", function()
    local a, g, t = agent "doppler", graph(), mesh(2)
    raises("agent:place: unknown option 'sampels'", berth.place, g, t, a, { sampels = 8 })
    raises("agent:place: samples: expected a whole number, got 1.5", berth.place,
      g, t, a, { samples = 1.5 })
    local p = assert(berth.place(g, t, a, { samples = 20, links = "duplex", seed = 3 }))
    assert.equal(p.estimate, assert(berth.simulate(g, t, p, { links = "duplex" })).makespan)
  end)
end)

describe("agents learn to place", function()
  local function works(name, g, t)
    it(name, function()
      each_way(function(a, kind)
        local r = assert(train(a, g, t))
        assert.equal(#g, #r.tasks[1].placement, kind)
        assert.is_true(r.tasks[1].best < math.huge, kind)
        local p = assert(berth.place(g, t, a, { samples = 4 }))
        assert(berth.simulate(g, t, p))
      end)
    end)
  end

  works("one op", berth.graph { ops = { { seconds = 1 } } }, mesh(2))
  works("ops without edges",
    berth.graph { ops = { { seconds = 1 }, { seconds = 0 }, { seconds = 2 } } }, mesh(2))
  works("ops that take no time",
    berth.graph { ops = { { seconds = 0 }, { seconds = 0 } }, edges = { { 1, 2, 0 } } }, mesh(2))
  works("on one device", graph(), mesh(1))
  works("with groups and communication",
    graph { { group = 1 }, [7] = { group = 1 }, [3] = { communication = true } }, mesh(3))
  works("with types that forbid devices", berth.graph { types = { "gpu", "cpu" },
    ops = { { seconds = { 1, 2 } }, { seconds = { math.huge, 3 } }, { seconds = { 1, math.huge } },
      { seconds = 2 } },
    edges = { { 1, 2, 1 }, { 1, 3, 1 }, { 2, 4, 1 }, { 3, 4, 1 } } }, berth.topology {
      devices = { { type = "gpu" }, { type = "cpu" }, { type = "gpu" } },
      links = { { 1, 2, bandwidth = 1 }, { 2, 3, bandwidth = 1 }, { 1, 3, bandwidth = 1 } } })
  works("with links that lead one way", graph(), berth.topology { devices = { {}, {}, {} },
    links = { { 1, 2, bandwidth = 1 }, { 2, 3, bandwidth = 1, directed = true } } })

  it("where devices do not reach one another, or says that it has not", function()
    local g, t = graph(), berth.topology { devices = { {}, {} }, links = {} }
    each_way(function(a, kind)
      assert(train(a, g, t), kind)
      local p, message, code = berth.place(g, t, a)
      if p then assert(berth.simulate(g, t, p)) else
        assert.equal("unreachable", code)
        assert.truthy(message:find(kind .. ": no route from device", 1, true), message)
      end
    end)
  end)

  it("within memory, or counts what runs out as no answer", function()
    local g = graph { { params = 40 }, { params = 40 }, { params = 40 } }
    local tight = berth.topology { devices = { { memory = 100 }, { memory = 100 } },
      links = { { 1, 2, bandwidth = 1 } } }
    local r =
      assert(train(agent "doppler", g, tight, { stages = { { stage = "II", episodes = 64 } } }))
    assert.is_nil(assert(berth.simulate(g, tight, r.tasks[1].placement)).oom)
    local none = berth.topology { devices = { { memory = 10 }, { memory = 10 } },
      links = { { 1, 2, bandwidth = 1 } } }
    local a = agent "doppler"
    assert.equal(math.huge, assert(train(a, g, none)).tasks[1].best)
    local p, _, code = berth.place(g, none, a)
    assert.same({ nil, "infeasible" }, { p, code })
  end)

  it("not what leaves nothing to decide", function()
    local pins = berth.graph { ops = { { seconds = 1, pin = 1 } } }
    each_way(function(a)
      refused("invalid", "agent:train: tasks%[1%]: there is nothing to decide: all ops are pinned",
        train(a, pins, mesh(2)))
    end)
  end)

  it("graphs with collectives, whose consumers come after all members", function()
    local g = assert(berth.graph { ops = { { seconds = 2 }, { seconds = 2 }, { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "allreduce", bytes = 1, members = { 1, 2 }, consumers = { 3, 4 } } } })
    each_way(function(a)
      local r = assert(train(a, g, mesh(2)))
      assert.is_true(r.tasks[1].best < 6) -- on one device 6 s
      assert.equal(r.tasks[1].best, assert(berth.simulate(g, mesh(2), r.tasks[1].placement)).makespan)
    end)
  end)

  it("by the seconds of one judge: the engine's, though imitation comes last", function()
    local r = assert(train(agent "doppler", graph(), mesh(2),
      { stages = { { stage = "III", episodes = 8 }, both[1] },
      objective = function(placements)
        local out = {}
        for i = 1, #placements do out[i] = 1e-3 end
        return out
      end }))
    assert.same({ 1e-3, 1e-3, 9 }, { r.tasks[1].best, r.tasks[1].greedy, r.calls })
  end)

  it("unless the objective gives what are no seconds", function()
    local function no(text, times)
      local a = agent "doppler"
      raises("agent:train: objective: " .. text, train, a, graph(), mesh(2),
        { stages = { { stage = "III", episodes = 2 } },
        objective = function() return times end })
    end
    no("expected 2 numbers of seconds, got 1", { 1 })
    no("expected 2 numbers of seconds, got string", "x")
    no("[2]: expected seconds, got -1", { 1, -1 })
  end)

  it("where others have decided everything, too", function()
    local pins = berth.graph { ops = { { seconds = 1, pin = 1 }, { seconds = 1, pin = 2 } },
      edges = { { 1, 2, 1 } } }
    each_way(function(a, kind)
      assert.same({ 1, 2 }, assert(berth.place(pins, mesh(2), a)):devices(), kind)
      assert.same({ 1, 2 }, assert(berth.place(pins, mesh(2), a, { samples = 2 })):devices(), kind)
    end)
  end)

  it("with any seed", function()
    local r = assert(train(agent("doppler", { seed = 2 ^ 53 - 1 }), graph(), mesh(2)))
    assert.equal(19, r.calls)
  end)

  it("several graphs of other sizes on other numbers of devices", function()
    local a = agent "doppler"
    local r = assert(a:train({ { graph = graph(), topology = mesh(2) },
      { graph = berth.graph { ops = { { seconds = 1 } } },
      topology = mesh(4) } }, { stages = both }))
    assert.same({ 7, 1 }, { #r.tasks[1].placement, #r.tasks[2].placement })
  end)

  it("with as few calls as there are tasks, and batches larger than what is left", function()
    local g, t = graph(), mesh(2)
    assert.equal(1, assert(train(agent "doppler", g, t, { calls = 1 })).calls)
    local r = assert(train(agent "doppler", g, t,
      { stages = { { stage = "II", episodes = 3, batch = 8 } } }))
    assert.same({ 3, 4 }, { r.episodes, r.calls })
  end)

  -- By them a batch is cut into parts that memory can hold. A chain has one candidate at each of 5
  -- steps.
  it("with as many rows of the loss as candidates and devices tell", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 },
      { seconds = 1 }, { seconds = 1 } },
      edges = { { 1, 2, 1 }, { 2, 3, 1 }, { 3, 4, 1 }, { 4, 5, 1 } } }
    for _, case in ipairs { { {}, 20 }, { { place = "least-start" }, 5 },
      { { select = "longest-path" }, 15 },
      { { joint = true }, 15 } } do
      local a = agent("doppler", case[1])
      local env = assert(berth.assignment(g, mesh(3), a.features))
      local policy = a:network(3)
      assert.equal(case[2], policy:rows_per_episode(policy:view(env)))
    end
  end)

  it("in parts that each know what they saw", function()
    local values = {}
    for i, opts in ipairs { { parts = 1 }, { parts = 2 } } do
      opts.joint = true
      local a = agent("doppler", opts)
      assert(train(a, graph(), mesh(3)))
      values[i] = a:network(3).params:flat "values"
    end
    assert.is_true((values[1] - values[2]):abs():mean():item() < 1e-4)
  end)
end)

describe("a network for one number of devices", function()
  it("is a row that says so, in comparisons", function()
    local a = agent "gdp"
    assert(train(a, graph(), mesh(2)))
    refused("unsupported", "gdp: the network is for 2 devices, the topology has 3",
      berth.place(graph(), mesh(3), a))
    assert(berth.compare(graph(), mesh(3),
      { "single", a, berth.pipeline { "fuse", agent "doppler" } }))
  end)
end)

describe("checkpoints of another training", function()
  local path = os.tmpname()
  assert(train(agent "doppler", graph(), mesh(2), { checkpoint = path }))
  local function goes_on(a, g, t, file)
    return train(a, g or graph(), t or mesh(2), { checkpoint = file or path, resume = true })
  end
  local function no(text, ...)
    local r, message, code = goes_on(...)
    assert.is_nil(r)
    assert.truthy(message:find(text, 1, true), message)
    assert.is_string(code)
  end
  teardown(function() os.remove(path) end)

  it("are refused", function()
    no("is of an agent doppler, not gdp", agent "gdp")
    no("the agent had hidden = 8, now it is 16", agent("doppler", { hidden = 16 }))
    no("the agent had estimates = nothing, now it is load",
      agent("doppler", { estimates = "load" }))
    no("the agent had seed = 1, now it is 2", agent("doppler", { seed = 2 }))
    no("task 1 was 7 ops on 2 devices, now it is 7 ops on 3 devices", agent "doppler", graph(),
      mesh(3))
  end)

  it("may go on with other settings of training", function()
    local r = assert(train(agent("doppler", { rate = 1e-4 }), graph(), mesh(2),
      { checkpoint = path, resume = true,
      stages = { both[1], { stage = "II", episodes = 24 } } }))
    assert.equal(40, r.episodes)
  end)

  it("are refused if they are an agent only, cut off, or no file", function()
    local saved, a = os.tmpname(), agent "doppler"
    assert(train(a, graph(), mesh(2)))
    assert(a:save(saved))
    no("holds an agent, but no training to go on with", agent "doppler", nil, nil, saved)
    shell.write(saved, shell.read(saved):sub(1, -2))
    no("is cut off", agent "doppler", nil, nil, saved)
    refused("parse", "is cut off", berth.agents.load(saved))
    os.remove(saved)
    raises("berth.agents.load: path: expected a string, got nil", berth.agents.load)
    raises("agent:save: path: expected a string, got nil", a.save, a)
  end)

  it("of options that no agent has are no agents", function()
    local record = require "berth.agents.record"
    local file, p = os.tmpname(), nn.parameters {}
    p:add("x", { 1 })
    assert(p:save(file, { note = record.write { kind = "doppler", options = { newer = 1 } } }))
    refused("parse", "unknown option 'newer'", berth.agents.load(file))
    os.remove(file)
  end)

  it("go on training from a file that was saved", function()
    local saved, a = os.tmpname(), agent "doppler"
    assert(train(a, graph(), mesh(2)))
    assert(a:save(saved))
    local again = assert(berth.agents.load(saved))
    assert(train(a, graph(), mesh(2), { stages = { both[2] } }))
    assert(train(again, graph(), mesh(2), { stages = { both[2] } }))
    assert.same(a:network(2).params:flat("values"):flat(),
      again:network(2).params:flat("values"):flat())
    os.remove(saved)
  end)
end)
