-- Which jobs should run now? A user-defined scheduler for gangs of GPUs and the built-in ones, on a
-- day of jobs.
local berth = require "berth"

-- 400 jobs, most short, on few GPUs; one in six takes hours.
local rng, jobs, now = berth.rng(3), {}, 0
for j = 1, 400 do
  now = now + 1600 * rng:uniform()
  local long = rng:below(6) == 1
  jobs[j] = { arrival = now, work = (long and 20000 or 1500) * (0.2 + rng:uniform()), gpus = 2 ^ (rng:below(4) - 1) }
end

-- The waiting job with the least total work that fits is started, until none fits: 10 lines. It
-- gets the present state, and returns a plan.
local least = { name = "least work first" }

function least:arrival(v) -- luacheck: ignore 212
  local free, list, plan = v:free()[1], v:waiting(), { start = {} }
  table.sort(list, function(a, b) return v:job(a).work * v:job(a).gpus < v:job(b).work * v:job(b).gpus end)
  for _, j in ipairs(list) do
    local n = v:job(j).gpus
    if n <= free then plan.start[#plan.start + 1], free = { job = j, machines = { 1 }, amounts = { n } }, free - n end
  end
  return plan
end
least.finish = least.arrival

print "scheduler         mean JCT  median    95 %  in the queue  pauses  GPUs busy"
for _, scheduler in ipairs { "fifo", "backfill", "sjf", least, "las-2d", "gittins", "srtf" } do
  local r = berth.cluster.simulate(jobs, { machines = 1, capacity = 16 }, scheduler)
  local s = r.summary
  print(("%-16s %7.0f s %7.0f %7.0f %13.0f %7.0f %8.1f %%"):format(r.scheduler, s.mean_jct, s.median_jct, s.p95_jct,
    s.mean_queued, s.pauses, 100 * s.utilisation))
end
