-- Resizable jobs and types of GPUs: Optimus, Pollux, Gavel; alone, and as schedulers.
local berth = require "berth"
local shared = require "support.shared"
local errors = require "support.errors"
local refused, raises = errors.refused, errors.raises

local cluster = berth.cluster

-- Speed n^power on n GPUs.
local function speeds(n, power)
  local list = {}
  for k = 1, n do list[k] = k ^ power end
  return list
end

describe("optimus", function()
  it("gives one GPU each, then to whom it saves most time", function()
    -- 12 left at 1, 2, 3: 12, 6, 4 s; 8 left at 1, 1.5, 2: 8, 5.33, 4 s: 6 is saved first, then
    -- 2.67, then 2
    local a, b = { speeds = { 1, 2, 3 }, left = 12 }, { speeds = { 1, 1.5, 2 }, left = 8 }
    assert.same({ 1, 1 }, cluster.optimus({ a, b }, 2))
    assert.same({ 2, 1 }, cluster.optimus({ a, b }, 3))
    assert.same({ 2, 2 }, cluster.optimus({ a, b }, 4))
    assert.same({ 3, 2 }, cluster.optimus({ a, b }, 5))
    assert.same({ 3, 3 }, cluster.optimus({ a, b }, 9))
  end)

  it("stops where more would not help; goes by arrival where there are too few", function()
    assert.same({ 2, 1 },
      cluster.optimus({ { speeds = { 1, 2, 1.9, 5 } }, { speeds = { 1, 1 } } }, 8))
    assert.same({ 1, 1, 0 },
      cluster.optimus({ { speeds = { 1 } }, { speeds = { 1, 2 } }, { speeds = { 1 } } }, 2))
  end)

  it("offers several at once where a job cannot run on one more", function()
    -- 1, 2, 4 GPUs only; the first saves 2 s by one, the second 8 by three: 2.67 each
    assert.same({ 1, 4 }, cluster.optimus({ { speeds = { 1, 2 }, left = 4 },
      { speeds = { 1, 0, 0, 4 }, left = 32 / 3 } }, 5))
    assert.same({ 2, 1 }, cluster.optimus({ { speeds = { 1, 2 }, left = 4 },
      { speeds = { 1, 0, 0, 4 }, left = 32 / 3 } }, 4))
    assert.same({ 0, 2 }, cluster.optimus({ { speeds = { 0, 0, 3 } }, { speeds = { 0, 1 } } }, 2))
  end)
end)

local function worth(job, n, power, floor)
  local least = 1
  while job.speeds[least] == 0 do least = least + 1 end
  local s = n > 0 and job.speeds[n] / job.speeds[least] or 0
  if n ~= (job.now or 0) then s = s * (job.change or 1) end
  s = math.max(s, floor)
  return power == 0 and math.log(s) or s ^ power / power
end

local function total(jobs, counts, power, floor)
  local sum = 0
  for i, job in ipairs(jobs) do sum = sum + worth(job, counts[i], power, floor) end
  return sum
end

local function best(jobs, i, gpus, power, floor)
  if i > #jobs then return 0 end
  local most = -math.huge
  for n = 0, math.min(gpus, #jobs[i].speeds) do
    if n == 0 or jobs[i].speeds[n] > 0 then
      most = math.max(most, worth(jobs[i], n, power, floor) + best(jobs, i + 1, gpus - n, power,
        floor))
    end
  end
  return most
end

describe("pollux", function()
  it("shares by the harmonic mean of speedups", function()
    -- linear and n^0.5 on 5: -1/a - 1/sqrt b is largest at 3, 2: -0.333 - 0.707
    assert.same({ 3, 2 },
      cluster.pollux({ { speeds = speeds(5, 1) }, { speeds = speeds(5, 0.5) } }, 5))
    -- the mean itself gives all to the linear one: 5 and the floor
    assert.same({ 5, 0 }, cluster.pollux({ { speeds = speeds(5, 1) }, { speeds = speeds(5, 0.5) } },
      5, { power = 1 }))
  end)

  it("leaves a job as it is if a restart costs more than it gains", function()
    local jobs = { { speeds = speeds(4, 0.5), now = 2, change = 0.6 },
      { speeds = speeds(4, 0.5), now = 2, change = 0.6 } }
    assert.same({ 2, 2 }, cluster.pollux(jobs, 4))
    jobs[2] = { speeds = speeds(1, 1), now = 1, change = 0.6 }
    assert.same({ 2, 1 }, cluster.pollux(jobs, 4))
    jobs[1].change = 0.9
    assert.same({ 3, 1 }, cluster.pollux(jobs, 4))
  end)

  it("finds what trying all finds", function()
    for seed = 1, 60 do
      local rng, jobs = berth.rng(seed), {}
      for i = 1, 4 do
        jobs[i] = { speeds = speeds(1 + rng:below(5), rng:uniform()), now = rng:below(4) - 1,
          change = 0.3 + 0.7 * rng:uniform() }
        if rng:below(3) == 1 and #jobs[i].speeds > 1 then jobs[i].speeds[1] = 0 end
      end
      local power = ({ -1, 0, 0.5, 1, -2 })[rng:below(5)]
      local counts = cluster.pollux(jobs, 7, { power = power, floor = 0.05 })
      local sum = 0
      for i = 1, 4 do sum = sum + counts[i] end
      assert.is_true(sum <= 7)
      assert.near(best(jobs, 1, 7, power, 0.05), total(jobs, counts, power, 0.05), 1e-9)
    end
  end)
end)

describe("goodput", function()
  local model = { grad = 0.1, grad_sample = 0.01, sync_near = 0.05, near_gpu = 0.01, sync_far = 0.2,
    far_gpu = 0.03, overlap = 2,
    noise = 100, batch = 32, most_batch = 1024, most_per_gpu = 128 }

  it("is samples per second, times what they are worth", function()
    -- no overlap, no noise limit, one batch only: 2 GPUs at 16 each: 0.1 + 0.16 + 0.05 s
    local fixed = { grad = 0.1, grad_sample = 0.01, sync_near = 0.05, sync_far = 0.2, batch = 32,
      most_batch = 32 }
    local x, batch, time, efficiency = cluster.goodput(fixed, 2)
    assert.near(32 / 0.31, x, 1e-9)
    assert.same({ 32, 1 }, { batch, efficiency })
    assert.near(0.31, time, 1e-12)
    assert.near(32 / 0.46, (cluster.goodput(fixed, 2, 2)), 1e-9)
    -- overlap 2: (0.3^2 + 0.4^2)^(1/2) = 0.5
    assert.near(10 / 0.5, (cluster.goodput({ grad = 0.3, sync_near = 0.4, overlap = 2, batch = 10,
      most_batch = 10 }, 2)), 1e-9)
    -- (100 + 32) / (100 + 132)
    local _, b, _, e = cluster.goodput({ grad = 1, batch = 32, noise = 100, most_batch = 132 }, 1)
    assert.near(132, b, 1e-6)
    assert.near(132 / 232, e, 1e-9)
  end)

  it("synchronises more GPUs longer, on several machines by their own numbers", function()
    -- 4 GPUs at 8 each: 0.1 + 0.08 s; on one machine 0.05 + 2 * 0.01 s more, on two 0.2 + 2 * 0.03
    -- s
    local fixed = { grad = 0.1, grad_sample = 0.01, sync_near = 0.05, near_gpu = 0.01,
      sync_far = 0.2, far_gpu = 0.03, batch = 32,
      most_batch = 32 }
    assert.near(32 / 0.25, (cluster.goodput(fixed, 4, 1)), 1e-9)
    assert.near(32 / 0.44, (cluster.goodput(fixed, 4, 2)), 1e-9)
    fixed.sync_far = -1
    raises("sync_far: expected a finite number not below 0, got -1", cluster.goodput, fixed, 4, 2)
  end)

  it("takes the best batch", function()
    for _, where in ipairs { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 8, 2 }, { 16, 4 } } do
      local x, batch = cluster.goodput(model, where[1], where[2])
      local high, most = math.min(1024, 128 * where[1]), 0
      for i = 0, 4000 do
        local m = 32 + (high - 32) * i / 4000
        local alone = {}
        for k, v in pairs(model) do alone[k] = v end
        alone.most_batch = m
        alone.batch = m
        alone.noise = math.huge
        local rate = cluster.goodput(alone, where[1], where[2])
        most = math.max(most, rate * 132 / (100 + m))
      end
      assert.is_true(x >= most - 1e-9 and x <= most * (1 + 1e-4))
      assert.is_true(batch >= 32 and batch <= high)
    end
    assert.equal(0, (cluster.goodput({ grad = 1, batch = 64, most_per_gpu = 16 }, 2)))
  end)

  it("reports what is wrong", function()
    raises("overlap: expected 1 to 10, got 0.5", cluster.goodput,
      { grad = 1, batch = 1, overlap = 0.5 }, 1)
    raises("2 GPUs on 3 machines", cluster.goodput, { grad = 1, batch = 1, most_batch = 1 }, 2, 3)
    raises("all infinite", cluster.goodput, { grad = 1, batch = 1 }, 1)
    raises("unknown option 'size'", cluster.goodput, { size = 1 }, 1)
  end)
end)

describe("gavel", function()
  local function objective(problem, goal) return select(2, assert(cluster.gavel(problem, goal))) end

  it("max-min: as the published vectors", function()
    assert.near(0.727273, objective { throughputs = { { 40, 10 }, { 12, 4 }, { 100, 50 } },
      gpus = { 1, 1 } }, 5e-7)
    assert.near(1.012658, objective { throughputs = { { 40, 10 }, { 12, 4 }, { 100, 50 },
      { 20, 10 } }, gangs = { 1, 2, 1, 1 },
      gpus = { 2, 2 } }, 5e-7)
    assert.near(1, objective { throughputs = { { 4, 1 }, { 2, 1 } }, gpus = { 1, 1 } }, 5e-7)
  end)

  local two = { throughputs = { { 4, 1 }, { 2, 1 } }, gpus = { 1, 1 }, left = { 8, 4 },
    elapsed = { 0, 3 }, alone = { 5, 6 } }

  it("makespan, finish time, sum: by hand", function()
    -- job 1 has a of the first type, 1 - a of the second: 1 + 3 a; job 2: 2 - a. 8 / (1 + 3a) = 4 /
    -- (2 - a) at a = 0.6
    local shares, seconds = cluster.gavel(two, "makespan")
    assert.near(8 / 2.8, seconds, 1e-9)
    assert.near(0.6, shares[1][1], 1e-9)
    -- 8 / (1 + 3a) / 5 = (3 + 4 / (2 - a)) / 6
    local a = cluster.gavel(two, "finish-time")[1][1]
    assert.near(8 / (1 + 3 * a) / 5, (3 + 4 / (2 - a)) / 6, 1e-7)
    assert.near(8 / (1 + 3 * a) / 5, objective(two, "finish-time"), 1e-7)
    assert.near(5, objective(two, "max-sum"), 1e-9)
  end)

  it("makespan within a slack: the end of a bisection, which the shares reach", function()
    local long = { throughputs = two.throughputs, gpus = two.gpus, left = { 8e3, 4e3 } }
    local least = objective(long, "makespan")
    assert.near(8e3 / 2.8, least, 1e-6)
    for _, slack in ipairs { 0.05, 0.5 } do
      long.slack = slack
      local shares, seconds = cluster.gavel(long, "makespan")
      assert.is_true(seconds > least and seconds <= least * (1 + slack), seconds)
      -- (1e6 - 100) / 2^k above 100 s, as the bisection halves it
      local steps = (seconds - 100) / ((1e6 - 100) / 2 ^ 30)
      assert.equal(math.floor(steps + 0.5), steps)
      for i, job in ipairs(shares) do
        local rate = job[1] * long.throughputs[i][1] + job[2] * long.throughputs[i][2]
        assert.is_true(long.left[i] / rate <= seconds * (1 + 1e-7))
      end
    end
    long.slack = 2
    raises("slack: expected a number from 0 to 1, got 2", cluster.gavel, long, "makespan")
  end)

  it("minds no units of work", function()
    for seed = 1, 10 do
      local rng, p, q = berth.rng(seed), { gpus = { 2, 3 } }, { gpus = { 2, 3 } }
      for _, x in ipairs { p, q } do x.throughputs, x.left, x.elapsed, x.alone = {}, {}, {}, {} end
      for i = 1, 6 do
        local t, unit = { rng:uniform(), rng:uniform() }, 10 ^ (rng:below(13) - 7)
        p.throughputs[i], q.throughputs[i] = t, { t[1] * unit, t[2] * unit }
        p.left[i], p.elapsed[i], p.alone[i] = 10 * rng:uniform(), 5 * rng:uniform(),
          1 + 9 * rng:uniform()
        q.left[i], q.elapsed[i], q.alone[i] = p.left[i] * unit, p.elapsed[i], p.alone[i]
      end
      for _, goal in ipairs { "max-min", "makespan", "finish-time" } do
        local a, b = objective(p, goal), objective(q, goal)
        assert.near(1, a / b, 1e-6)
      end
    end
  end)

  it("gives no more than there is, to each as much or more than the objective says", function()
    for seed = 1, 40 do
      local rng, n = berth.rng(seed), 6
      local p = { throughputs = {}, gangs = {}, priorities = {},
        gpus = { 1 + rng:below(4), 1 + rng:below(4) } }
      for i = 1, n do
        p.throughputs[i] = { rng:uniform(), rng:uniform() }
        p.gangs[i], p.priorities[i] = rng:below(2), 0.5 + rng:uniform()
      end
      local x, z = cluster.gavel(p)
      for j = 1, 2 do
        local used = 0
        for i = 1, n do used = used + p.gangs[i] * x[i][j] end
        assert.is_true(used <= p.gpus[j] + 1e-9)
      end
      for i = 1, n do
        local t = p.throughputs[i]
        local equal = (t[1] * p.gpus[1] + t[2] * p.gpus[2]) / (p.gpus[1] + p.gpus[2])
        local got = p.gangs[i] / (p.priorities[i] * equal) * (t[1] * x[i][1] + t[2] * x[i][2])
        assert.is_true(x[i][1] + x[i][2] <= 1 + 1e-9 and got >= z - 1e-7)
      end
    end
  end)

  it("reports what is wrong", function()
    refused("infeasible", "job 1, on 3 GPUs, can run on no type",
      cluster.gavel { throughputs = { { 1, 1 } }, gangs = { 3 }, gpus = { 1, 2 } })
    raises("left: expected an array", cluster.gavel, { throughputs = { { 1 } }, gpus = { 1 } },
      "makespan")
    raises("goal: 'fair' is none of", cluster.gavel, { throughputs = { { 1 } }, gpus = { 1 } },
      "fair")
    raises("throughputs[1]", cluster.gavel, { throughputs = { { 1 } }, gpus = { 1, 1 } })
    raises("throughput: expected a finite number not below 0, got -1", cluster.gavel,
      { throughputs = { { -1 } }, gpus = { 1 } })
  end)
end)

local function runs_of(r)
  local list = {}
  for _, run in ipairs(r.runs) do
    local n = 0
    for _, amount in ipairs(run.amounts) do n = n + amount end
    list[#list + 1] = ("%d:%d@%g-%g"):format(run.job, n, run.start, run.finish)
  end
  return table.concat(list, " ")
end

describe("resizable jobs", function()
  it("get their GPUs anew when somebody comes or goes", function()
    -- 1 alone on 4: speed 4. At 1 s 12 are left; 2 comes with 4: 12, 6, 4 s on 1, 2, 3; 4, 2, 1.33.
    -- 2 and 2: at 3 s 2 is gone
    local jobs = { { arrival = 0, work = 16, speeds = { 1, 2, 3, 4 } },
      { arrival = 1, work = 4, speeds = { 1, 2, 3, 4 } } }
    assert.equal("1:4@0-1 1:3@1-5 2:1@1-5",
      runs_of(cluster.simulate(jobs, { machines = 1, capacity = 4 }, "optimus")))
    assert.equal("1:4@0-1 1:2@1-3 2:2@1-3 1:4@3-5",
      runs_of(cluster.simulate(jobs, { machines = 1, capacity = 4 }, "pollux")))
  end)

  it("may run on one GPU only", function()
    for _, name in ipairs { "optimus", "pollux" } do
      assert.equal("1:1@0-2 2:1@2-5", runs_of(cluster.simulate({ { arrival = 0, work = 2,
        speeds = { 1 } }, { arrival = 0, work = 3, speeds = { 1 } } },
        { machines = 1, capacity = 1 }, name)))
    end
  end)

  it("get them at slots, where there are slots", function()
    local jobs = { { arrival = 0, work = 16, speeds = { 1, 2, 3, 4 } },
      { arrival = 1, work = 4, speeds = { 1, 2, 3, 4 } } }
    assert.equal("1:4@0-2 1:2@2-4 2:2@2-4 1:4@4-5",
      runs_of(cluster.simulate(jobs, { machines = 1, capacity = 4, slot = 2 }, "pollux")))
  end)

  it("wait for a restart where their number changes, on GPUs that are free meanwhile", function()
    local jobs = { { arrival = 0, work = 16, speeds = { 1, 2, 3, 4 } },
      { arrival = 1, work = 4, speeds = { 1, 2, 3, 4 } } }
    assert.equal("1:4@0-1 2:1@1-5 1:3@1.5-5 1:4@5.5-5.875",
      runs_of(cluster.simulate(jobs, { machines = 1, capacity = 4 }, "optimus", { restart = 0.5 })))
  end)

  it("pollux: are moved less readily after each restart", function()
    -- at 2 s, 1 has had no restart: (2 - 0) / (2 + 2), 2 GPUs each. At 5 s it has had one: 4 GPUs
    -- count as 4 (5 - 2) / (5 + 2) = 1.7, and it stays on 2; without that restart as 4 * 5 / 7 =
    -- 2.9
    local jobs = { { arrival = 0, work = 16, speeds = { 1, 2, 3, 4 } },
      { arrival = 2, work = 6, speeds = { 1, 2, 3, 4 } } }
    assert.equal("1:4@0-2 2:2@2-5 1:2@4-8",
      runs_of(cluster.simulate(jobs, { machines = 1, capacity = 4 }, "pollux", { restart = 2 })))
  end)

  it("have whole machines if one does not hold them", function()
    local jobs = { { arrival = 0, work = 30, speeds = speeds(6, 1) } }
    local r = cluster.simulate(jobs, { machines = 3, capacity = 2 }, "optimus")
    assert.equal(3, #r.runs[1].machines)
    assert.same({ 2, 2, 2 }, r.runs[1].amounts)
    r = cluster.simulate({ { arrival = 0, work = 5, speeds = speeds(5, 1) } },
      { machines = 3, capacity = 2 }, "pollux")
    assert.same({ 2, 2 }, r.runs[1].amounts)
  end)

  it("may have a model of goodput instead of speeds", function()
    local model = { grad = 0.1, grad_sample = 0.01, sync_near = 0.05, sync_far = 0.2, batch = 32,
      most_batch = 32 }
    local place = { machines = 2, capacity = 2 }
    local given = { { arrival = 0, work = 1000, goodput = model, most = 3 },
      { arrival = 1, work = 500, goodput = model } }
    local made = {}
    for j, job in ipairs(given) do
      made[j] = { arrival = job.arrival, work = job.work, speeds = {} }
      for n = 1, job.most or 4 do
        made[j].speeds[n] = cluster.goodput(model, n, n > 2 and 2 or 1)
      end
    end
    local a, b = cluster.simulate(given, place, "pollux"), cluster.simulate(made, place, "pollux")
    assert.equal(2, a.summary.done)
    assert.equal(runs_of(b), runs_of(a))
    raises("unknown option 'grat'", cluster.simulate,
      { { arrival = 0, work = 1, goodput = { grat = 1 } } }, place, "pollux")
  end)
end)

describe("rounds on types of GPUs", function()
  it("put each where it is fastest, if both cannot be", function()
    -- 4 and 1, 2 and 1: the sum is largest with the first on the first type
    local jobs = { { arrival = 0, work = 40, gpus = 1, rates = { a = 4, b = 1 } },
      { arrival = 0, work = 10, gpus = 1, rates = { a = 2, b = 1 } } }
    local r = cluster.simulate(jobs, 2, "gavel",
      { types = { "a", "b" }, goal = "max-sum" })
    assert.same({ 10, 10 }, { r.records[1].finish, r.records[2].finish })
    assert.same({ { 1 }, { 2 } }, { r.runs[1].machines, r.runs[2].machines })
  end)

  it("refuse who can run nowhere, and need types", function()
    local jobs = { { arrival = 0, work = 1, gpus = 2, rates = { a = 1 } },
      { arrival = 0, work = 1, gpus = 1, rates = { c = 1 } } }
    local o = { types = { "a", "b" } }
    local r = cluster.simulate(jobs, 2, "gavel", o)
    assert.same({ "refused", "refused" }, { r.records[1].state, r.records[2].state })
    raises("types: expected an array of 2 names", cluster.simulate, jobs, 2, "gavel")
    raises("trace[1].rates: expected a table", cluster.simulate,
      { { arrival = 0, work = 1, rates = 1 } }, 2, "gavel", o)
  end)

  it("do all the work of a recorded trace", function()
    if not shared.present() then
      return pending("needs ../shared/data/traces, which is not here")
    end
    local folder = shared.path "data/traces/gavel/"
    local jobs = assert(berth.load_trace(folder .. "minimize_makespan.trace",
      { throughputs = folder .. "isolated_throughputs.csv" }))
    local place = { machines = 3, capacity = { { 8 }, { 16 }, { 24 } } }
    local spans = {}
    for _, goal in ipairs { "max-min", "makespan" } do
      local r = assert(cluster.simulate(jobs, place, "gavel",
        { types = { "v100", "p100", "k80" }, goal = goal }))
      assert.equal(#jobs, r.summary.done)
      spans[goal] = r.summary.makespan
    end
    assert.is_true(spans.makespan <= spans["max-min"])
  end)
end)
