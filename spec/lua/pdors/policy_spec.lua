-- Policies of workers and parameter servers in Lua.
local berth = require "berth"
local problems = require "support.ps_problems"
local raised = require("support.errors").raised

local pdors, one_job, machines, odd_problem = berth.pdors, problems.one_job, problems.machines,
  problems.odd

-- In order of arrival, one worker and the servers that it needs on the first machine with room.
local function first_fit()
  return { name = "first-fit", slot = function(_, view)
    local plan, free = { assign = {} }, view:free()
    for _, j in ipairs(view:active()) do
      local job = view:job(j)
      local servers = math.max(1, math.ceil(1 / job.ratio))
      for m = 1, view.machines do
        local fits = true
        for r, x in ipairs(job.worker) do
          fits = fits and x + servers * job.server[r] <= free[m][r]
        end
        if fits then
          for r, x in ipairs(job.worker) do
            free[m][r] = free[m][r] - x - servers * job.server[r]
          end
          table.insert(plan.assign, { job = j, places = { { m, 1, servers } } })
          break
        end
      end
    end
    return plan
  end }
end

describe("a policy in Lua", function()
  it("goes through the same door", function()
    for seed = 1, 10 do
      local p = odd_problem(seed, true)
      local r = assert(pdors.simulate(p, first_fit(), { certify = false }))
      assert.equal("first-fit", r.scheduler)
      assert.is_true(#r.log.slot > 0)
    end
  end)

  it("is called for arrivals, slots and ends in order", function()
    local reported = {}
    local function note(event)
      return function(_, view, job) table.insert(reported, { event, view.slot, job }) end
    end
    local policy = { arrival = note "arrival", finish = note "finish" }
    function policy.slot(_, view)
      note "slot" (nil, view)
      if view.slot ~= 1 then return nil end
      return { assign = { { job = 1, places = { { 1, 2, 1 } } } } }
    end
    pdors.simulate({ jobs = { one_job { arrival = 1 }, one_job { arrival = 2 } },
      cluster = machines(1, 4, 4) }, policy,
      { certify = false })
    assert.same({ { "slot", 0 }, { "arrival", 1, 1 }, { "slot", 1 }, { "finish", 2, 1 },
      { "arrival", 2, 2 }, { "slot", 2 },
      { "slot", 3 } }, reported)
  end)

  local function fails(text, policy)
    local problem = { jobs = { one_job() }, cluster = machines(1, 4, 4) }
    assert.matches(text, raised(pdors.simulate, problem, policy, { certify = false }), 1, true)
  end

  it("gets messages about its plan, and the slot", function()
    local function plans(plan) return { name = "mine", slot = function() return plan end } end
    fails("mine, slot in slot 0: plan.assign[1]: slot 0: job 1 needs 6 of resource 1 on machine 1, where 4 of 4 is left",
      plans { assign = { { job = 1, places = { { 1, 5, 1 } } } } })
    fails("plan.assign[1]: places: expected an array, got number",
      plans { assign = { { job = 1, places = 3 } } })
    fails("plan.assign[1]: unknown key 'place'", plans { assign = { { job = 1, place = {} } } })
    fails("plan: unknown key 'assigned'", plans { assigned = {} })
    fails("expected a plan or nil, got number", plans(3))
    fails("policy: has none of the methods arrival, finish, slot", {})
  end)

  it("has its own errors raised unchanged when they are no text", function()
    local odd = {}
    local fine, err = pcall(pdors.simulate, { jobs = { one_job() }, cluster = machines(1, 4, 4) },
      { slot = function() error(odd) end })
    assert.is_false(fine)
    assert.equal(odd, err)
    fails("policy, arrival of job 1 in slot 0: ", { arrival = function() error "not this" end })
  end)

  it("refuses jobs, with a cause", function()
    local r = pdors.simulate({ jobs = { one_job() }, cluster = machines(1, 4, 4) },
      { arrival = function(_, _, job) return { refuse = { { job = job, cause = 7 } } } end },
      { certify = false })
    assert.equal("refused", r.records[1].state)
    assert.equal(7, r.records[1].cause)
  end)

  it("has one name", function()
    assert.matches("berth.pdors.run: the name is berth.pdors.simulate now", raised(berth.pdors.run),
      1, true)
    assert.matches("berth.pacml.play: the name is berth.pacml.simulate now",
      raised(berth.pacml.play), 1, true)
  end)
end)
