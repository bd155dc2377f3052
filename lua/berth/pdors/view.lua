--- What a policy in Lua sees of a run, and how what it returns is carried out.
local core = require "berth.core"
local entries = require "berth.cluster.entries"

local view = {}
local View = { __name = "berth.pdors.view" }
View.__index = View

--- @param problem of berth.pdors.problem
-- @param run the core's
function view.new(problem, run, seed)
  return setmetatable({ problem = problem, run = run, rng = core.rng(seed), slot = 0, slots = problem.slots,
    machines = problem.machines, resources = problem.resources, slot_seconds = problem.slot_seconds }, View)
end

--- The job's own table, as in the problem.
function View:job(j) return self.problem.jobs[j] end
--- Jobs that arrived and are neither done nor refused, by arrival.
function View:active() return self.run:active() end
--- Samples that are left of a job.
function View:left(j) return self.run:left(j) end
--- What is not assigned yet in this slot: an array per machine.
function View:free() return self.run:free() end
--- Places of a job in the last slot in which it had any: { { machine, workers, servers }, ... }.
function View:places(j) return self.run:places(j) end
function View:record(j) return self.run:record(j) end
function View:speed(j, places) return self.problem:speed(j, places) end
function View:utility(j, slots) return self.problem:utility(j, slots) end

-- ---- plans ----------------------------------------------------------------------------------------------

local LEGAL = { assign = true, refuse = true }
local ENTRY = { assign = { job = true, places = true }, refuse = { job = true, cause = true } }

--- @tparam table given { assign = { { job, places = { { machine, workers, servers }, ... } }, ... },
-- refuse = { job or { job, cause } } }
function View:carry_out(given)
  entries.check(given, LEGAL)
  for i, entry in ipairs(entries.list(given, "refuse")) do
    local x = entries.entry("refuse", i, entry, ENTRY.refuse)
    entries.decide(("plan.refuse[%d]"):format(i), self.run.refuse, self.run, x.job, x.cause)
  end
  for i, entry in ipairs(entries.list(given, "assign")) do
    local x = entries.entry("assign", i, entry, ENTRY.assign)
    entries.decide(("plan.assign[%d]"):format(i), self.run.assign, self.run, x.job, x.places)
  end
end

return view
