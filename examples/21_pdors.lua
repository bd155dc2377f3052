-- How much utility does it add to train jobs where they fit best, and how far is that from the best
-- possible? PD-ORS against its predecessor OASiS, against fair sharing, and against a user-defined
-- scheduler of a dozen lines.
local berth = require "berth"

local workload = berth.pdors.generate("realistic", { seed = 1, jobs = 80, machines = 12, slots = 60 })
local problem = berth.pdors.problem(workload)

-- One worker and its server for each job, on the first machine that fits both.
local one_each = { name = "one each" }

function one_each:slot(now) -- luacheck: ignore 212
  local free, plan = now:free(), { assign = {} }
  for _, j in ipairs(now:active()) do
    local job, m = now:job(j), 1
    while m <= now.machines and not (job.worker[1] <= free[m][1] and job.worker[2] + job.server[2] <= free[m][2]) do m = m + 1 end
    if m <= now.machines then
      for r = 1, 2 do free[m][r] = free[m][r] - job.worker[r] - job.server[r] end
      plan.assign[#plan.assign + 1] = { job = j, places = { { m, 1, 1 } } }
    end
  end
  return plan
end

print(problem)
print(("no schedule is worth more than %.1f"):format(problem:bound()))
print("\npolicy            utility  of bound  done  median slots  on one machine")
for _, policy in ipairs { "pd-ors", "pd-ors-published", "oasis", "drf", "fifo", one_each } do
  local r = assert(berth.pdors.simulate(problem, policy))
  local s = r.summary
  print(("%-16s %8.1f %7.1f %% %5.0f %13.2f %13.1f %%"):format(r.scheduler, r.utility, 100 * r.ratio, s.done,
    s.training_median_slots, 100 * s.inside))
end

-- Prices grow with what is committed: from L when nothing is, to U when nothing is left.
-- Here by all that jobs take.
local scheduler = assert(berth.pdors.scheduler(problem, { plans = "final", per_job = true, floor = 1 }))
local first = assert(scheduler:admit(1))
local slot = first.schedule[1].slot
local m = first.schedule[1].places[1][1]
print(("\nfirst job (%s): worth %.2f, costs %.2f, done in slot %.0f"):format(workload.jobs[1].name, first.utility, first.cost,
  first.done))
print(("a CPU of machine %.0f in slot %.0f then costs %.4f, one in the last slot %.4f"):format(m, slot,
  scheduler:price(m, 2, slot), scheduler:price(m, 2, problem.slots - 1)))
