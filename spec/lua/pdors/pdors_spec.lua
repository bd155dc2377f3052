-- Schedulers of parameter servers: model, certificates, all policies under one checker.
local berth = require "berth"
local json = require "berth.base.json"
local problems = require "support.ps_problems"
local refused = require("support.errors").refused
local raised, raises = require("support.errors").raised, require("support.errors").raises
local shell = require "support.shell"

local pdors, one_job, machines, odd_problem = berth.pdors, problems.one_job, problems.machines,
  problems.odd

describe("pdors.problem", function()
  it("has the speed of equation 1", function()
    local p = pdors.problem({ one_job() }, machines(2, 4, 100))
    assert.near(50, p:speed(1, { { 1, 1, 1 } }), 1e-9)
    assert.near(50, p:speed(1, { { 1, 1, 1 } }), 1e-9)
    assert.near(1 / 0.02, p:worker_slots(1, 4) ^ -1, 1e-9)
    assert.near(2 / 0.04, p:speed(1, { { 1, 1, 0 }, { 2, 1, 1 } }), 1e-9)
    assert.equal(0, p:speed(1, { { 1, 3, 1 } })) -- three workers need two servers
  end)

  it("has the sigmoid utility", function()
    local p = pdors.problem({ one_job { urgency = 0.5, target = 3 } }, machines(1, 4, 1))
    assert.near(10 / (1 + math.exp(-1.5)), p:utility(1, 0), 1e-12)
    assert.near(5, p:utility(1, 3), 1e-12)
  end)

  it("reads quantities as text", function()
    local p = pdors.problem({ one_job { tau = "12 s", bytes = "1 MB", inside = "1 MB/s" } },
      machines(1, 1, 1))
    assert.near(0.01, p.core:job(1).tau, 1e-15)
    assert.near(1e6, p.core:job(1).bytes, 1e-9)
    assert.near(1.2e9, p.core:job(1).inside, 1e-3)
  end)

  it("comes back from a file", function()
    local path = os.tmpname()
    local p =
      pdors.problem(pdors.generate("default", { seed = 9, jobs = 5, machines = 2, slots = 7 }))
    assert(p:save(path))
    local q = assert(pdors.load(path))
    assert.equal(json.encode { p.jobs, p.cluster }, json.encode { q.jobs, q.cluster })
    shell.write(path,
      '{"jobs": [{"arrival": 0}], "cluster": {"machines": 1, "slots": 1, "resources": ["cpu"], '
        .. '"capacity": [1]}}')
    refused("parse", "jobs%[1%].batch: is missing", pdors.load(path))
    shell.write(path, '{"jobs": [,')
    assert.equal(path .. ":1: not valid JSON here (,)", select(2, pdors.load(path)))
    os.remove(path)
  end)

  it("keeps infinite bandwidth in files", function()
    local path = os.tmpname()
    local p = pdors.problem({ one_job { inside = math.huge } }, machines(1, 1, 1))
    assert(p:save(path))
    local q = assert(pdors.load(path))
    os.remove(path)
    assert.equal(math.huge, q.jobs[1].inside)
    assert.near(1 / 0.01, p:speed(1, { { 1, 1, 1 } }), 1e-9)
  end)

  it("says what is wrong", function()
    local function fails(text, jobs, cluster)
      assert.matches(text, raised(pdors.problem, jobs, cluster), 1, true)
    end
    fails("jobs[1]: unknown option 'taus'", { one_job { taus = 1 } }, machines(1, 1, 1))
    fails("job 1: tau: expected a finite number above 0, got -1", { one_job { tau = -1 } },
      machines(1, 1, 1))
    fails("jobs[1].worker: ", { one_job { worker = { 1, 2 } } }, machines(1, 1, 1))
    fails("cluster.capacity: expected an array of 1 numbers", { one_job() },
      { machines = 1, slots = 1, resources = { "cpu" }, capacity = { 1, 2 } })
    fails("sort jobs by arrival", { one_job { arrival = 1 }, one_job() }, machines(1, 3, 1))
  end)
end)

describe("pdors.simulate", function()
  it("finishes a job that fits in the slot of its arrival", function()
    -- 2 workers, 1 server inside: 100 samples in one slot
    local r = assert(pdors.simulate({ jobs = { one_job() }, cluster = machines(1, 3, 4) },
      "pd-ors"))
    assert.near(5, r.utility, 1e-9) -- urgency 0: half of the importance
    assert.equal(0, r.records[1].done)
    assert.near(1, r.ratio, 1e-6)
    assert.truthy(tostring(r):find "pd%-ors: utility 5.0000")
  end)

  it("takes the options of PD-ORS", function()
    local p = odd_problem(3)
    for _, o in ipairs { { mode = "faithful" }, { favour = "covering" },
      { gdelta = "tight", delta = 0.2 },
      { gdelta = "given", factor = 0.9 }, { bounds = "online", safety = 4 },
      { bounds = "prior", low = 1e-9, high = { 1, 1, 1, 1 } },
      { quanta = 8, most_quanta = 16 }, { tries = 3 }, { floor = 1e-3 } } do
      o.certify = false
      assert(pdors.simulate(p, "pd-ors", o))
      assert(pdors.simulate(p, "pd-ors-published", o))
    end
    assert(pdors.simulate(p, "pd-ors-published", { reclaim = false, certify = false }))
    raises("pdors: reclaim false requires plans final", pdors.simulate, p, "pd-ors",
      { reclaim = false })
    assert.has_error(function() pdors.simulate(p, "pd-ors", { plans = "final" }) end)
    assert.has_error(function() pdors.simulate(p, "pd-ors", { modes = "faithful" }) end)
    assert.has_error(function() pdors.simulate(p, "pd-ors", { mode = "hasty" }) end)
    assert.has_error(function() pdors.simulate(p, "no-such") end)
  end)
end)

describe("pd-ors that believes something else", function()
  -- A job alone that is slower than thought: the plan ends too early, and is gone on with.
  it("goes on planning what is slower than it thought, unless extend is false", function()
    local truth = pdors.problem({ one_job { tau = 0.03 } }, machines(1, 6, 4))
    local thought = pdors.problem({ one_job() }, machines(1, 6, 4))
    local on = assert(pdors.simulate(truth, "pd-ors", { believes = thought }))
    local off = assert(pdors.simulate(truth, "pd-ors-published", { believes = thought, extend = false }))
    assert.equal("done", on.records[1].state)
    assert.equal(0, off.utility)
  end)

  it("needs a problem of the same size", function()
    local p = pdors.problem({ one_job() }, machines(1, 6, 4))
    local smaller = pdors.problem({ one_job() }, machines(2, 6, 4))
    assert.error_matches(function() pdors.simulate(p, "pd-ors", { believes = smaller }) end,
      "believes: problem: 1 jobs, 2 machines, 6 slots; the one that is played: problem: 1 jobs, 1 "
        .. "machines, 6 slots")
    assert.error_matches(function() pdors.simulate(p, "pd-ors", { believes = 3 }) end,
      "believes: expected a problem, got number")
  end)
end)

-- ---- PD-ORS as the paper has it -------------------------------------------

describe("G_delta", function()
  it("has the published values; spec/c/pdors/gdelta.c has more", function()
    local o = { favour = "packing", rows = 81, delta = 0.5, width = 15 }
    assert.near(0.345855, pdors.gdelta(o), 5e-7)
    o.form = "tight"
    assert.near(0.343319, pdors.gdelta(o), 5e-7)
  end)
end)

describe("pdors.scheduler", function()
  -- Prices as the paper: L (U / L)^(committed / capacity).
  it("prices from L when empty to U when full, geometrically between", function()
    local p = pdors.problem({ one_job(), one_job { arrival = 1, importance = 3 } },
      machines(2, 3, 6))
    local s = assert(pdors.scheduler(p, { plans = "final" }))
    local low = s:price(1, 1, 0)
    local plan = assert(s:admit(1))
    assert.is_true(plan.admitted)
    assert.near(plan.payoff, plan.utility - plan.cost, 1e-12)
    local used = 0
    for _, at in ipairs(plan.schedule[1].places) do used = used + at[2] + at[3] end
    local m = plan.schedule[1].places[1][1]
    local high = 10 / 2 / 2 -- the largest utility, 10 / 2, over what a worker and a server take
    assert.near(low * (high / low) ^ (used / 6), s:price(m, 1, plan.schedule[1].slot), 1e-9)
    assert.near(used, s:committed(plan.schedule[1].slot)[m][1], 1e-12)
    local least, most = s:range(m, 1)
    assert.near(low, least, 1e-12)
    assert.near(high, most, 1e-12)
    assert.is_true(s:counts().slots_solved > 0)
    local certificate = s:certify(plan.utility, 20)
    assert.equal(plan.utility, certificate.utility)
    assert.is_true(certificate.bound >= plan.utility)
  end)

  it("decides without committing", function()
    local p = pdors.problem(pdors.generate("default",
      { seed = 1, jobs = 10, machines = 10, slots = 30, load = 0.2 }))
    local s = assert(pdors.scheduler(p))
    local a, b = s:decide(1), s:decide(1)
    assert.equal(json.encode(a), json.encode(b))
    assert.equal(0, s:committed(0)[1][1])
  end)
end)

describe("the offline optimum", function()
  it("is between every policy and the bound", function()
    local p = pdors.problem(pdors.generate("realistic",
      { seed = 1, jobs = 3, machines = 2, slots = 4, batch = { 2, 4 },
      worker_slots = { 1, 5 }, target = { 1, 3 } }))
    local best = assert(p:offline())
    assert.equal(("optimum %.4f, proved"):format(best.utility), tostring(best))
    for _, name in ipairs(pdors.policies) do
      local r = assert(pdors.simulate(p, name, { certify = 20 }))
      assert.is_true(r.utility <= best.bound * (1 + 1e-9) + 1e-9, name)
      assert.is_true(best.utility <= r.bound * (1 + 1e-9) + 1e-9, name)
      assert.near(r.ratio, r.utility / r.bound, 1e-12)
    end
  end)
end)
