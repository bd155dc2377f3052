-- Does it help to run short jobs first? A user-defined scheduler, against first in, first out with
-- and without backfill.
local berth = require "berth"

-- Gangs of whole machines: 300 jobs, most short, some long and wide.
local rng, jobs, now = berth.rng(7), {}, 0
for j = 1, 300 do
  now = now + 120 * rng:uniform()
  local long = rng:uniform() < 0.15
  jobs[j] = { arrival = now, work = (long and 2000 or 200) * (0.5 + rng:uniform()), kind = long and "long" or "short",
    machines = long and 4 + rng:below(5) or rng:below(4), deadline = long and 20000 or 1000 }
end

-- The shortest waiting job that fits is started, until none fits. Methods get the present state,
-- and return a plan.
local shortest = { name = "shortest first" }

function shortest:arrival(now_is) -- luacheck: ignore 212
  local idle, at, plan = now_is:idle(), 0, { start = {} }
  local waiting = now_is:waiting()
  table.sort(waiting, function(a, b)
    local x, y = now_is:job(a), now_is:job(b)
    if x.work ~= y.work then return x.work < y.work end
    return a < b
  end)
  for _, j in ipairs(waiting) do
    local machines = {}
    if now_is:job(j).machines <= #idle - at then
      for i = 1, now_is:job(j).machines do machines[i] = idle[at + i] end
      at = at + #machines
      plan.start[#plan.start + 1] = { job = j, machines = machines }
    end
  end
  return plan
end
shortest.finish = shortest.arrival

print("scheduler       completion  wait   95 %  late  machines busy")
for _, scheduler in ipairs { "fifo", "backfill", "srtf", shortest } do
  local r = berth.cluster.simulate(jobs, { machines = 12 }, scheduler)
  local s = r.summary
  print(("%-14s %9.0f s %6.0f %6.0f %5.0f %13.1f %%"):format(r.scheduler, s.mean_jct, s.mean_wait, s.p95_jct, s.late,
    100 * s.utilisation))
end
