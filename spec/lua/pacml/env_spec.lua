-- Runs of PAC-ML: what a decision does, what a look does not, and what the report says, by hand.
local berth = require "berth"
local small = require "support.small_jobs"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

-- Arrival, beta, decision: a job in 8, 4, 2 pieces takes 1, 2, 4 s on as many servers.
local JOBS = { { 0, 1, 8 }, { 0.5, 1, 1 }, { 2, 0.25, 2 }, { 2, 1, 4 }, { 3, 1, 0 }, { 6, 1, 2 } }

local function trace()
  local t = { model = {}, beta = {}, arrival = {} }
  for j, job in ipairs(JOBS) do t.model[j], t.arrival[j], t.beta[j] = 1, job[1], job[2] end
  return t
end

local function played(env)
  local run, causes = env:run(trace()), {}
  while not run.done do
    local _, cause = run:decide(JOBS[run.job][3])
    causes[#causes + 1] = cause
  end
  return run, causes
end

describe("a run", function()
  it("reports why a job is blocked", function()
    for _, compat in ipairs { true, false } do
      local _, causes = played(small.env { compat = compat })
      assert.same({ "accepted", "op_placement", "jct", "accepted", "rejected", "accepted" }, causes)
    end
  end)

  it("says what is, job by job", function()
    local run = small.env():run(trace())
    assert.equal(1, run.job)
    assert.equal(8, run.free)
    assert.equal(8, run.deadline)
    assert.equal(8, run.sequential)
    assert.is_true(run:decide(8))
    assert.equal(2, run.job)
    assert.equal(0.5, run.now)
    assert.same({ 0, 1 }, { run.free, run.running })
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 1 }, run:busy())
    for _, time in ipairs(run:free_at()) do assert.near(1, time, 1e-9) end
    local ends, servers = run:finishing()
    assert.near(1, ends[1], 1e-9)
    assert.same({ 8 }, servers)
    assert.same({ 1, 0, 0, 0, 0, 0, 0, 0, 0 }, run:mask "paper")
    assert.same({ 1, 0, 0, 0, 0, 0, 0, 0, 0 }, run:mask "exact")
    assert.same({ nil, "op_placement" }, { run:look(1) })
    run:decide(1)
    assert.near(0.25, run.beta, 1e-15) -- job 3 has 2 s: it needs 4 pieces, and six have no block
    assert.same({ 1, 1, 1, 0, 1, 0, 0, 0, 1 }, run:mask "paper")
    assert.same({ 1, 0, 0, 0, 1, 0, 0, 0, 1 }, run:mask "exact")
    local seconds, list, cause = run:look(2)
    assert.near(4, seconds, 1e-9)
    assert.same({ 2, "jct" }, { #list, cause })
    assert.same({ nil, "rejected" }, { run:look(0) })
  end)

  it("reports what came of it", function()
    local env = small.env()
    local run = played(env)
    local r = run:report { horizon = 8 }
    local function flow(pieces) return env.ramp:plan(env.models[1], pieces).flow_bytes end
    assert.same({ 6, 2, 3, 1, 1, 1, 1 },
      { r.arrived, r.completed, r.blocked, r.rejected, r.unplaced, r.late, r.unfinished })
    local wanted = { time = 8, blocking_rate = 0.5, acceptance_rate = 1 / 3, jct = 1.5, speedup = 6,
      pieces = 6, servers = 6,
      channels = (56 + 12) / 2, compute_fraction = 1, communication_fraction = 0,
      jobs_running = (1 + 2 + 2) / 8,
      mounted_fraction = (8 * 1 + 4 * 2 + 2 * 2) / 8 / 8, mounted_utilisation = 1,
      utilisation = 20 / 64,
      published_utilisation = 1,
      load_rate = 112 * (2 + 2 / 3 + 1 + 1 / 3) / 4, -- two arrive at 2 s
      throughput = 112 * (1 + 1 + 0.5) / 8,
      cluster_throughput = ((64 + 160) + (64 + 96) + 0.5 * (64 + 64)) / 8,
      compute_throughput = 2.5 * 64 / 8,
      dep_throughput = (160 + 96 + 0.5 * 64) / 8,
        flow_throughput = (flow(8) + flow(4) + 0.5 * flow(2)) / 8 }
    for key, value in pairs(wanted) do
      assert.is_true(math.abs(value - r[key]) < 1e-6,
        ("%s: %.17g, not %.17g"):format(key, r[key], value))
    end
  end)

  it("counts jobs that run at the horizon as blocked, as published", function()
    local run = played(small.env { compat = true })
    assert.equal(4, run:report({ horizon = 8 }).blocked)
    assert.equal(3, run:report({ horizon = 10 }).blocked)
    assert.equal(3, run:report().blocked)
  end)

  it("is over when the last job is, if the horizon is later", function()
    local run = played(small.env())
    assert.near(10, run:report({ horizon = 1e6 }).time, 1e-9)
    assert.same(run:report(), run:report { horizon = 1e6 })
    local early = run:report { horizon = 2 } -- those that arrive just then have arrived
    assert.same({ 4, 1, 1 }, { early.arrived, early.completed, early.unfinished })
  end)

  it("takes a fiftieth for the whole, as published", function()
    local r = played(small.env { steps = 50 }):report()
    assert.near(r.mounted_utilisation / 50, r.published_utilisation, 1e-9)
  end)

  it("of no jobs is over at once", function()
    local run = small.env():run { model = {}, beta = {}, arrival = {} }
    assert.is_true(run.done)
    assert.same({ nil, nil, nil }, { run.job, run.beta, run.deadline })
    local r = run:report()
    assert.same({ 0, 0, 0, 0 }, { r.arrived, r.blocking_rate, r.jct, r.time })
  end)

  it("gives a job that ends when another one arrives its servers back first", function()
    for _, compat in ipairs { true, false } do
      local env = small.env { compat = compat, times = { 0.7, 0.1 } }
      local t = { model = {}, beta = {}, arrival = {} }
      -- in 8 pieces 0.1 s
      for j = 1, 300 do t.model[j], t.beta[j], t.arrival[j] = 2, 1, (j - 1) * 0.1 end
      local run = env:run(t)
      while not run.done do assert.is_true(run:decide(8)) end
    end
  end)

  it("takes its own blocks", function()
    local run = small.env():run(trace())
    local seconds, servers = run:look(2, { 7, 8 })
    assert.near(4, seconds, 1e-9)
    assert.same({ 7, 8 }, servers)
    assert.is_true(run:decide(2, { 7, 8 }))
    assert.same({ 0, 0, 0, 0, 0, 0, 1, 1 }, run:busy())
    assert.same({ nil, "op_placement" }, { run:look(2, { 7, 8 }) })
    raises("block", run.look, run, 2, { 1, 2, 3 })
    raises("block", run.look, run, 2, {})
  end)

  it("is not changed by looks", function()
    local env = small.env { compat = true, times = { 1, 0.3 }, bandwidth = 200 }
    local t = berth.pacml.trace { models = 2, seed = 3, jobs = 200, interarrival = 1.5 }
    for seed = 1, 5 do
      local shy, curious, rng = env:run(t), env:run(t), berth.rng(seed)
      while not shy.done do
        local mask = shy:mask "paper"
        local d = rng:below(#mask) - 1
        if mask[d + 1] == 0 then d = 0 end
        for other = 0, 8 do
          if other <= 1 or math.fmod(other, 2) == 0 then curious:look(other) end
        end
        local jct = shy:look(d)
        assert.equal(jct, (curious:look(d)))
        assert.same({ shy:decide(d) }, { curious:decide(d) })
        assert.equal(jct, shy:result((shy.job or #t.model + 1) - 1).jct)
      end
      assert.same(shy:report(), curious:report())
    end
  end)

  it("refuses what makes no sense", function()
    local env = small.env()
    local run = env:run(trace())
    raises("expected 0, 1 or an even number up to 8, got 3", run.decide, run, 3)
    raises("decision", run.decide, run, 9)
    raises("decision", run.decide, run, 1.5)
    raises("decision", run.decide, run, -2)
    raises("job 1 is not decided about yet", run.result, run, 1)
    raises("job", run.result, run, 7)
    raises("job 1 is not decided about yet", run.report, run)
    run = played(env)
    raises("all jobs have been decided about", run.decide, run, 0)
    raises("all jobs have been decided about", run.mask, run)
    raises('mask: which: expected "paper" or "exact", got "all"', run.mask, run, "all")
    raises("mask: which: expected a string, got table", run.mask, run, {})
    raises("horizon", run.report, run, { horizon = -1 })
    raises("model", env.run, env, { model = { 2 }, beta = { 1 }, arrival = { 0 } })
    raises("beta", env.run, env, { model = { 1 }, beta = { 0 }, arrival = { 0 } })
    raises("arrival", env.run, env, { model = { 1 }, beta = { 1 }, arrival = { 1 / 0 } })
    raises("job 2 arrives at 1 s", env.run, env,
      { model = { 1, 1 }, beta = { 1, 1 }, arrival = { 2, 1 } })
    raises("has 1 entries, expected 2", env.run, env,
      { model = { 1, 1 }, beta = { 1 }, arrival = { 2, 3 } })
    raises("beta", env.run, env, { model = { 1 }, arrival = { 0 } })
  end)
end)

describe("an environment", function()
  it("says what it is of", function()
    local env = small.env { times = { 1, 2 }, steps = 5 }
    assert.same({ 40, 80 }, env.sequential)
    assert.same({ "model 1", "model 2" }, env.names)
    assert.same({ 8, 5 }, { env.most, env.steps })
    assert.equal("pac-ml: jobs of 2 models, at most 8 pieces", tostring(env))
    local run = env:run(trace())
    assert.equal("pacml run: job 1 of 6 is to be decided", tostring(run))
    assert.equal(6, #run)
  end)

  it("refuses models of another cluster, and none", function()
    local one, two = berth.ramp(), berth.ramp()
    local models = { small.model(one, 1), small.model(two, 1) }
    raises("model 2 was made for another cluster", berth.pacml.env, { models = models })
    raises("models: is empty", berth.pacml.env, { models = {} })
    raises("steps", berth.pacml.env, { models = { models[1] }, steps = 0 })
    local function named(names)
      return raised(berth.pacml.env, { models = { models[1] }, names = names })
    end
    assert.matches("names: expected an array, got number", named(3))
    assert.matches("names: has 2 entries, expected 1", named { "a", "b" })
    assert.matches("names%[1%]: expected a string, got table", named { {} })
  end)
end)
