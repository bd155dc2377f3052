--- What a policy in Lua sees of a run, and what it may return.
local core = require "berth.core"
local plan = require "berth.cluster.plan"
local scheduler = require "berth.cluster.scheduler"

local view = {}
local View = { __name = "berth.pdors.view" }
View.__index = View

--- @param problem of berth.pdors.problem
-- @param run the core's
function view.new(problem, run, seed)
  return setmetatable({ problem = problem, run = run, rng = core.rng(seed), slot = 0,
    slots = problem.slots, machines = problem.machines, resources = problem.resources,
    slot_seconds = problem.slot_seconds }, View)
end

--- The job's own table, as in the problem.
function View:job(j) return self.problem.jobs[j] end
-- Jobs that arrived and are neither done nor refused, by arrival; samples that are left of a job;
-- what is not assigned yet in this slot, an array per machine; places of a job in the last slot in
-- which it had any: { { machine, workers, servers }, ... }.
scheduler.forward(View, "run", { "active", "left", "free", "places", "record" })
scheduler.forward(View, "problem", { "speed", "utility" })

-- ---- plans --------------------------------------------------------------------------------------

--- What a plan may hold: { assign = { { job, places = { { machine, workers, servers }, ... } }, ...
-- }, refuse = { job or { job, cause } } }
function view.decisions(run)
  return plan.kind {
    { name = "refuse", keys = { job = true, cause = true }, alone = true, act = function(where, x)
      plan.decide(where, run.refuse, run, x.job, x.cause)
    end },
    { name = "assign", keys = { job = true, places = true }, act = function(where, x)
      plan.decide(where, run.assign, run, x.job, x.places)
    end },
  }
end

return view
