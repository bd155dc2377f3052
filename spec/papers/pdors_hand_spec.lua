-- PD-ORS worked out again in a few lines: prices of several resources, and the best schedule by looking at all of them.
local berth = require "berth"
local problems = require "support.ps_problems"

local pdors = berth.pdors

local function up(x) return math.ceil(x * (1 - 1e-12)) end

describe("prices of several resources", function()
  it("have an upper end each, one lower end, and none where nobody needs the resource", function()
    local function job(more) -- GPU, CPU, disk
      more.worker, more.server = more.worker or { 1, 2, 0 }, more.server or { 0, 3, 0 }
      return problems.one_job(more)
    end
    local jobs = { job { urgency = 0.2 }, job { importance = 4, worker = { 0, 5, 0 }, samples = 30, urgency = 0.1, target = 3 } }
    local cluster = { machines = 2, slots = 8, resources = { "gpu", "cpu", "disk" }, capacity = { 4, 20, 7 } }
    local high, worth, least = { 0, 0 }, math.huge, math.huge
    for _, j in ipairs(jobs) do
      local function utility(t) return j.importance / (1 + math.exp(j.urgency * (t - j.target))) end
      local work, all = j.epochs * j.samples, 0
      for r = 1, 2 do
        local both = j.worker[r] + j.server[r]
        all = all + both
        if both > 0 then high[r] = math.max(high[r], utility(up(work * 0.02 / j.batch)) / both) end
      end
      worth = math.min(worth, utility(cluster.slots - j.arrival) / (up(work * 0.04) * all))
      least = math.min(least, up(work * 0.04) * all)
    end
    local scheduler = pdors.scheduler(pdors.problem(jobs, cluster))
    local low = worth / 2 * least / (8 * 2 * (4 + 20)) -- disks have no price
    for r = 1, 2 do
      local l, u = scheduler:range(1, r)
      assert.near(1, l / low, 1e-9)
      assert.near(1, u / high[r], 1e-9)
      assert.equal(l, scheduler:price(2, r, 5))
    end
    assert.equal(0, scheduler:price(1, 3, 0))
  end)
end)

-- ---- all schedules -------------------------------------------------------------------------------------------

-- What a job can do in a slot: { samples, cost } of all numbers of workers and servers on two machines.
local function choices_of(job, left, price)
  local out = { { 0, 0 } }
  for w1 = 0, 3 do for s1 = 0, 3 do for w2 = 0, 3 do for s2 = 0, 3 do
    local workers, servers = w1 + w2, s1 + s2
    local fits = w1 + s1 <= left[1] and w2 + s2 <= left[2] and workers <= job.batch
    if fits and workers > 0 and servers >= up(workers / job.ratio) then
      local inside = w1 + s1 == 0 or w2 + s2 == 0
      local c = job.tau + 2 * job.bytes * job.ratio / ((inside and job.inside or job.across) * job.batch)
      out[#out + 1] = { workers / c, (w1 + s1) * price[1] + (w2 + s2) * price[2] }
    end
  end end end end
  return out
end

local function best_payoff(p, job, slots)
  local best = 0
  local function go(t, done, cost)
    if done >= job.samples * job.epochs - 1e-9 then
      best = math.max(best, p:utility(2, t - 1 - job.arrival) - cost)
    elseif t < #slots then
      for _, one in ipairs(slots[t + 1]) do go(t + 1, done + one[1], cost + one[2]) end
    end
  end
  go(job.arrival, 0, 0)
  return best
end

describe("a decision in exact mode", function()
  it("is the best of all schedules at the prices of the moment", function()
    local positive = 0
    for seed = 1, 25 do
      local rng = berth.rng(seed, 3)
      local function job(more)
        local j = { arrival = 0, epochs = 1, samples = 2 + rng:below(5), batch = 1 + rng:below(3), tau = 0.25, ratio = 1,
          inside = 8, across = 8 / 3, worker = { 1 }, server = { 1 }, importance = 1 + 9 * rng:uniform(),
          urgency = rng:uniform(), target = rng:below(3) }
        j.bytes = j.batch -- 2 bytes / (b batch): a worker does 2 samples in a slot inside, and 1 across
        for key, x in pairs(more) do j[key] = x end
        return j
      end
      local jobs = { job { importance = 20 }, job {} }
      local p = pdors.problem(jobs, problems.machines(2, 3, 3))
      local scheduler = pdors.scheduler(p, { mode = "exact", exact_work = true, floor = 0.5 })
      scheduler:admit(1)
      local slots = {}
      for t = 0, 2 do
        local left, price = {}, {}
        for m = 1, 2 do
          local used = scheduler:committed(t)[m]
          left[m], price[m] = 3 - (type(used) == "table" and used[1] or used), scheduler:price(m, 1, t)
        end
        slots[t + 1] = choices_of(jobs[2], left, price)
      end
      local plan = assert(scheduler:decide(2))
      local wanted = best_payoff(p, jobs[2], slots)
      assert.equal(wanted > 1e-9, plan.admitted, "seed " .. seed)
      if plan.admitted then
        positive = positive + 1
        assert.near(wanted, plan.payoff, 1e-9 * (1 + wanted), "seed " .. seed)
      end
    end
    assert.is_true(positive > 5)
  end)
end)

describe("OASiS", function()
  it("keeps workers and servers on machines of their own", function()
    local p = pdors.problem(pdors.generate("default", { seed = 4, jobs = 12, machines = 5, slots = 20, load = 0.02,
      batch = { 1, 12 } }))
    local r, ran = assert(pdors.simulate(p, "oasis")), 0
    r:each(function(_, _, places)
      for _, place in ipairs(places) do
        ran = ran + 1
        assert.equal(0, place[1] <= 3 and place[3] or place[2], "machine " .. place[1])
      end
    end)
    assert.is_true(ran > 0)
  end)
end)
