-- The claims of the abstract of PD-ORS as orderings, over seeds; docs/pdors.md has numbers.
local berth = require "berth"
local merged = require "support.merged"
local runs = require "support.runs"

local pdors = berth.pdors

local families = {
  crowded = { "realistic", { jobs = 200 } },
  uncrowded = { "realistic", { jobs = 30 } },
  ["shared links"] = { "realistic", { comm = "shared" } },
}

local function total(workload, policy, given)
  local sum = 0
  for seed = 1, runs(2, 6) do
    sum = sum + assert(pdors.simulate(workload(seed), policy, given)).utility
  end
  return sum
end

describe("PD-ORS on the recalled workload", function()
  local function default(seed) return pdors.generate("default", { seed = seed }) end
  local uncertified = { certify = false }

  it("is worth more than OASiS, and OASiS more than Dorm, DRF and FIFO", function()
    local best, second = total(default, "pd-ors-published", uncertified), total(default, "oasis", uncertified)
    assert.is_true(best > second)
    for _, name in ipairs { "dorm", "drf", "fifo" } do
      assert.is_true(second > total(default, name, uncertified), name)
    end
  end)

  it("loses little or nothing in one problem against OASiS", function()
    for seed = 1, 6 do
      local p = pdors.problem(default(seed))
      local ours, theirs = pdors.simulate(p, "pd-ors-published", uncertified).utility,
        pdors.simulate(p, "oasis", uncertified).utility
      assert.is_true(ours > 0.9 * theirs)
    end
  end)
end)

describe("PD-ORS with revised plans", function()
  -- scripts/bench/pdors_study.lua has 20 seeds of each.
  for name, given in pairs(families) do
    it("is first, and at least three quarters of the bound: " .. name, function()
      local mean, seeds = {}, runs(2, 5)
      for seed = 1, seeds do
        local p = pdors.problem(pdors.generate(given[1], merged(given[2], { seed = seed })))
        for _, policy in ipairs(pdors.policies) do
          local r = assert(pdors.simulate(p, policy))
          assert.is_true(r.utility <= r.bound)
          mean[policy] = (mean[policy] or 0) + r.ratio / seeds
        end
      end
      for _, policy in ipairs(pdors.policies) do
        assert.is_true(mean["pd-ors"] >= mean[policy] - 0.01, policy) -- few seeds
      end
      assert.is_true(mean["pd-ors"] >= 0.75)
    end)
  end
end)

describe("locality", function()
  -- Jobs small enough for a machine; `gain`: bandwidth inside over that across; `scale`: of the
  -- gradients.
  local function workload(gain, scale, blind)
    return function(seed)
      local p = pdors.generate("default",
        { seed = seed, jobs = 40, machines = 20, slots = 60, batch = { 1, 20 },
        epochs = { 10, 50 }, gain = gain, bytes = { 30e6 * scale, 575e6 * scale } })
      for _, job in ipairs(p.jobs) do
        if blind then job.inside = job.across end
      end
      return p
    end
  end

  local function worth(gain, scale)
    local given = { certify = false, per_job = true, floor = 1 }
    return total(workload(gain, scale), "pd-ors-published", given)
      - total(workload(gain, scale, true), "pd-ors-published", given)
  end

  it("is worth more, the larger the bandwidth inside machines", function()
    local before = worth(1, 1)
    assert.equal(0, before)
    for _, gain in ipairs { 4, 16, 64 } do
      local now = worth(gain, 1)
      assert.is_true(now > before, ("gain %d"):format(gain))
      before = now
    end
  end)

  it("is worth nothing without gradients, and little with small ones", function()
    assert.equal(0, worth(10, 0))
    assert.is_true(math.abs(worth(10, 1e-6)) < 0.01 * worth(10, 1))
  end)
end)

describe("rounding alone", function()
  it("is hardly ever feasible without repair, and always with it", function()
    local p = pdors.problem(pdors.generate("default",
      { seed = 2, jobs = 60, machines = 20, slots = 60, load = 0.3 }))
    local faithful = assert(pdors.simulate(p, "pd-ors-published",
      { mode = "faithful", certify = false }))
    local repaired = assert(pdors.simulate(p, "pd-ors-published", { certify = false }))
    assert.is_true(faithful.counts.never_feasible > 0.9 * faithful.counts.programs)
    assert.equal(0, repaired.counts.never_feasible)
    assert.is_true(repaired.utility > faithful.utility)
  end)
end)
