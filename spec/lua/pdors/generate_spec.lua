-- The recalled workload, and the measured one.
local berth = require "berth"
local json = require "berth.base.json"
local raised = require("support.errors").raised

local pdors = berth.pdors

describe("pdors.generate", function()
  local function draws(kind, given) return json.encode(pdors.generate(kind, given)) end

  it("draws the same problem for the same seed, another for another", function()
    assert.equal(draws("default", { seed = 1, jobs = 20 }),
      draws("default", { seed = 1, jobs = 20 }))
    assert.not_equal(draws("default", { seed = 1, jobs = 20 }),
      draws("default", { seed = 2, jobs = 20 }))
  end)

  it("keeps the ranges of the recalled workload, and reaches both ends", function()
    local p = pdors.generate("default", { seed = 5, jobs = 4000, slots = 40 })
    local function range(get, low, high)
      local least, most, sum = math.huge, -math.huge, 0
      for _, job in ipairs(p.jobs) do
        local x = get(job)
        least, most, sum = math.min(least, x), math.max(most, x), sum + x
      end
      local width = high - low
      assert.is_true(least >= low and most <= high)
      assert.is_true(least < low + width / 20 and most > high - width / 20)
      assert.near((low + high) / 2, sum / #p.jobs, width / 40)
    end
    range(function(j) return j.epochs end, 50, 200)
    range(function(j) return j.samples end, 2e4, 5e5)
    range(function(j) return j.batch end, 1, 200)
    range(function(j) return j.tau end, 1e-5, 1e-4)
    range(function(j) return j.bytes end, 30e6, 575e6)
    range(function(j) return j.ratio end, 1, 10)
    -- 100 Mb/s to 5 Gb/s, in slots of 1200 s
    range(function(j) return j.across / 1200 end, 12.5e6, 625e6)
    range(function(j) return j.importance end, 1, 100)
    range(function(j) return j.target end, 1, 15)
    for r, ends in ipairs { { 0, 4 }, { 1, 10 }, { 2, 32 }, { 5, 10 } } do
      range(function(j) return j.worker[r] end, ends[1], ends[2])
      if r > 1 then range(function(j) return j.server[r] end, ends[1], ends[2]) end
    end
    for _, j in ipairs(p.jobs) do
      assert.equal(0, j.server[1])
      assert.near(10, j.inside / j.across, 1e-9)
    end
    assert.same({ 36, 99, 306, 135 }, p.cluster.capacity) -- 18 of mean demand
    assert.equal(1200, p.cluster.slot_seconds)
  end)

  it("mixes classes 10 : 55 : 35, and arrivals 1/3 : 2/3 between odd and even slots", function()
    local p, n, even = pdors.generate("default", { seed = 6, jobs = 6000, slots = 50 }), {}, 0
    for _, j in ipairs(p.jobs) do
      n[j.kind] = (n[j.kind] or 0) + 1
      if math.fmod(j.arrival + 1, 2) == 0 then even = even + 1 end
      if j.kind == "insensitive" then assert.equal(0, j.urgency)
      elseif j.kind == "sensitive" then assert.is_true(j.urgency >= 0.01 and j.urgency <= 1)
      else assert.is_true(j.urgency >= 4 and j.urgency <= 6) end
    end
    assert.near(0.10, n.insensitive / 6000, 0.02)
    assert.near(0.55, n.sensitive / 6000, 0.02)
    assert.near(0.35, n.critical / 6000, 0.02)
    assert.near(2 / 3, even / 6000, 0.02)
    local google = pdors.generate("default", { seed = 6, jobs = 6000, classes = "google" })
    n = 0
    for _, j in ipairs(google.jobs) do n = n + (j.kind == "critical" and 1 or 0) end
    assert.near(0.01, n / 6000, 0.006)
  end)

  it("changes one field when one range changes", function()
    local a, b = pdors.generate("default", { seed = 3 }),
      pdors.generate("default", { seed = 3, bytes = 0 })
    for j = 1, #a.jobs do
      assert.equal(0, b.jobs[j].bytes)
      b.jobs[j].bytes = a.jobs[j].bytes
    end
    assert.equal(json.encode(a), json.encode(b))
  end)

  it("makes realistic jobs whose iteration takes what was measured", function()
    local p = pdors.generate("realistic", { seed = 2, models = { "vgg-16" }, jobs = 3 })
    local problem = pdors.problem(p)
    -- 16 workers and 16 servers on machines of two GPU workers each: 0.535 s and 2 (553.4 MB / 16)
    -- / 233 MB/s for 16 batches
    local places = {}
    for m = 1, 8 do places[m] = { m, 2, 2 } end
    assert.near(16 / (0.535 + 2 * 553.4e6 / 16 / 233e6), problem:speed(1, places) / 1200, 1e-9)
    assert.near(1 / (0.535 / 16 * 16 + 2 * 553.4e6 / (427.8e6 * 16)) ,
      problem:speed(1, { { 1, 1, 1 } }) / 1200, 1e-9)
  end)

  it("says what is wrong", function()
    local function fails(text, kind, given)
      assert.matches(text, raised(pdors.generate, kind, given), 1, true)
    end
    fails("no 'other' (there are default, realistic)", "other")
    fails("epochs: expected 1 <= from <= to, got 5 to 2", "default", { epochs = { 5, 2 } })
    fails("classes: no 'x' (there are default, google)", "default", { classes = "x" })
    fails("worker: unknown option 'gpus'", "default", { worker = { gpus = 1 } })
    fails("arrivals: expected an array of 100 weights", "default", { arrivals = { 1, 2 } })
    fails("models[1]: no 'alexnet'", "realistic", { models = { "alexnet" } })
    fails("unknown option 'epochs'", "realistic", { epochs = 1 })
  end)
end)
