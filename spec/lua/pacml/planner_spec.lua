-- PAC-ML's planner: its choices, what it learns, and that its copy of the cluster is exact.
local berth = require "berth"
local graphs = require "support.ramp_graphs"
local raised = require("support.errors").raised
local merged = require "support.merged"

local compat = { true, false }

local function env_of(mode, most)
  local ramp, models = berth.ramp { compat = mode, quantum = 0.01, time_scale = 1 }, {}
  for i = 1, 3 do
    models[i] = ramp:model(graphs.mirrored(berth.rng(i), { n = 5, seconds = 1, bytes = 1e3 }))
  end
  return berth.pacml.env { models = models, steps = 10, most = most or 16 }
end

-- Jobs come so often that not all can be taken.
local function planner_of(env, opts)
  local o = merged({ hidden = 8, blocks = 3, discount = 0.95, gap = env.sequential[1] / 24,
    beta = { 0.1, 0.2, 0.4, 0.8 },
    mass = { 1, 1, 1, 1 } }, opts)
  return assert(env:planner(o))
end

-- All weights 0: of all choices the first is taken.
local function untaught(planner)
  local nothing = {}
  for i = 1, planner.weights do nothing[i] = 0 end
  return planner:set(nothing)
end

local function play(env, trace, decide)
  local run = env:run(trace)
  while not run.done do run:decide(decide(run)) end
  return run, run:report {}
end

describe("the planner", function()
  for _, mode in ipairs(compat) do
    describe(mode and "as published" or "exact", function()
      it("turns away on its copy as many jobs as on the cluster itself", function()
        local env = env_of(mode)
        local planner = planner_of(env)
        planner:learn(berth.rng(1), { jobs = 2000 })
        local trace = planner:draw(berth.rng(2), 400)
        local _, report = play(env, trace,
          function(run) return planner:decide(run, { futures = 0, rules = false }) end)
        local alike = math.abs(planner:simulate(trace) - report.rejected)
        -- published: the first decision sets the time of so many pieces, on its block; the copy
        -- takes that of an empty cluster
        assert.is_true(alike <= (mode and 8 or 4),
          ("%d on the copy, %d on the cluster"):format(planner:simulate(trace), report.rejected))
      end)

      it("never decides on what is not accepted", function()
        local env = env_of(mode)
        local planner = planner_of(env)
        planner:learn(berth.rng(3), { jobs = 500 })
        local _, report = play(env, planner:draw(berth.rng(4), 60), function(run)
          return planner:decide(run, { futures = 2, depth = 3, seed = 7 })
        end)
        assert.equal(0, report.unplaced + report.late)
        assert.equal(60, report.completed + report.rejected)
      end)
    end)
  end

  it("blocks fewer jobs when it has learned, and fewer than the most pieces", function()
    local env = env_of(true)
    local planner = untaught(planner_of(env))
    local trace = planner:draw(berth.rng(5), 1500)
    local before = planner:simulate(trace)
    local on_the_way = planner:learn(berth.rng(6), { jobs = 60000, rate = 0.05 })
    local after = planner:simulate(trace)
    local _, most = play(env, trace, berth.pacml.decider "para-max")
    assert.is_true(on_the_way > 0 and on_the_way < 1)
    assert.is_true(after < before and after < most.blocked,
      ("%d, then %d; most pieces %d"):format(before, after, most.blocked))
  end)

  it("decides better with rollouts on an empty network than without", function()
    local env = env_of(true)
    local planner = untaught(planner_of(env))
    local trace = planner:draw(berth.rng(8), 300)
    local function rejected(futures)
      local _, report = play(env, trace, function(run)
        return planner:decide(run, { futures = futures, depth = 12, rules = false })
      end)
      return report.rejected
    end
    local alone, rolled = rejected(0), rejected(8)
    assert.is_true(rolled < alone, ("%d, alone %d"):format(rolled, alone))
  end)

  it("learns the same from the same seed", function()
    local env = env_of(true)
    local a, b = planner_of(env), planner_of(env)
    a:learn(berth.rng(9), { jobs = 1000 })
    b:learn(berth.rng(9), { jobs = 1000 })
    assert.same(a:get(), b:get())
    b:learn(berth.rng(10), { jobs = 10 })
    assert.are_not.same(a:get(), b:get())
  end)

  it("goes on with weights that are given to it", function()
    local env = env_of(true)
    local a, b = planner_of(env), planner_of(env)
    a:learn(berth.rng(11), { jobs = 1000 })
    local trace = a:draw(berth.rng(12), 300)
    assert.equal(a:simulate(trace), b:set(a:get()):simulate(trace))
  end)

  it("counts what ends after the horizon as blocked", function()
    -- One server's worth of work in one job, and an hour that is over before any choice ends:
    -- taking it gains nothing.
    local env = env_of(true)
    local planner = untaught(planner_of(env))
    local run = env:run { model = { 1 }, beta = { 1 }, arrival = { 0 } }
    local quickest = run:look(16)
    assert.equal(16,
      (planner:decide(run, { futures = 0, rules = false, horizon = quickest * 1.001 })))
  end)

  it("plans with a rule before it has learned, and blocks fewer with futures", function()
    local env = env_of(true)
    local gap = env.sequential[1] / 24
    local trace = berth.pacml.trace { models = 3, beta = "C", seed = 21, jobs = 400,
      interarrival = gap }
    local function rejected(name, opts)
      local o = merged({ env = env, beta = "C", interarrival = gap }, opts)
      local _, report = play(env, trace,
        berth.pacml.decider(name, name == "rolling-horizon" and o or nil))
      return report.blocking_rate
    end
    local rule, ahead = rejected("rolling-horizon", { futures = 0 }),
      rejected("rolling-horizon", { futures = 8, depth = 6 })
    assert.is_true(rule < rejected("smallest-feasible"), rule)
    assert.is_true(ahead < rule, ahead)
  end)

  it("chooses blocks of its own only if it may", function()
    local env = env_of(true)
    local planner = planner_of(env, { blocks = 1 })
    local run = env:run(planner:draw(berth.rng(13), 100))
    while not run.done do
      local decision, block = planner:decide(run, { futures = 1, depth = 2 })
      assert.is_nil(block)
      run:decide(decision)
    end
  end)

  it("says what is wrong", function()
    local env = env_of(true)
    local planner = planner_of(env)
    local run = env:run { model = { 1 }, beta = { 1 }, arrival = { 0 } }
    local function fails(text, f, ...)
      assert.matches(text, raised(f, ...))
    end
    fails("gap", env.planner, env, { gap = 0, beta = { 1 }, mass = { 1 } })
    fails("beta 1: expected a finite number above 0, got 0", env.planner, env,
      { gap = 1, beta = { 0 }, mass = { 1 } })
    fails("add up to 0", env.planner, env, { gap = 1, beta = { 1 }, mass = { 0 } })
    fails("discount", env.planner, env, { gap = 1, beta = { 1 }, mass = { 1 }, discount = 1 })
    fails("hidden", env.planner, env, { gap = 1, beta = { 1 }, mass = { 1 }, hidden = 0 })
    fails("blocks", env.planner, env, { gap = 1, beta = { 1 }, mass = { 1 }, blocks = 9 })
    fails("weights", planner.set, planner, { 1 })
    fails("explore", planner.learn, planner, berth.rng(1), { explore = 2 })
    fails("jobs", planner.learn, planner, berth.rng(1), { jobs = 0 })
    fails("depth", planner.decide, planner, run, { depth = 0 })
    fails("other models", planner.decide, planner_of(env_of(true)), run)
    run:decide(0)
    fails("decided", planner.decide, planner, run)
  end)

  it("plans on more servers than fit in one word", function()
    local wide = berth.ramp { compat = true, groups = 5, racks = 5, slots = 8, quantum = 0.01,
      time_scale = 1 }
    local graph = graphs.mirrored(berth.rng(1), { n = 5, seconds = 1, bytes = 1e3 })
    local env = berth.pacml.env { models = { wide:model(graph) }, steps = 10, most = 16 }
    local planner = planner_of(env, { gap = env.sequential[1] / 150 })
    local trace = planner:draw(berth.rng(2), 300)
    local run, last = env:run(trace), 0
    while not run.done do
      run:decide(planner:decide(run, { futures = 1, depth = 1 }))
      last = last + run:busy()[200]
    end
    local report = run:report {}
    assert.equal(0, report.unplaced + report.late)
    assert.is_true(report.rejected > 0 and last > 0)
  end)

  -- A network without weights takes fewest pieces. The rule that takes its place blocks fewest of
  -- these very jobs, on the copy: there a model always takes its time on an empty cluster.
  it("lets the best capped rule decide where it accepts more jobs than the network", function()
    local env = env_of(true)
    local planner = untaught(planner_of(env))
    local trace = planner:draw(berth.rng(0), 4096)
    local least = math.huge
    for most = 2, 16, 2 do
      local _, report = play(env, trace, berth.pacml.decider("capped", { cap = most }))
      least = math.min(least, report.rejected)
    end
    local function rejected(rules)
      local _, report = play(env, trace,
        function(run) return planner:decide(run, { futures = 0, rules = rules }) end)
      return report.rejected
    end
    local with, without = rejected(true), rejected(false)
    assert.is_true(with < without and with < 1.06 * least,
      ("%d, network %d, the best rule %d"):format(with, without, least))
  end)
end)
