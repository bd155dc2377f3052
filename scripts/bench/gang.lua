-- Gang schedulers on the whole Philly trace, 82,247 jobs on 512 GPUs: CPU seconds, the table of results included.
-- lua scripts/bench/gang.lua FILE
local berth = require "berth"

local path = arg[1] or "../shared/data/traces/philly_jobs.csv.gz"
local jobs = assert(berth.load_trace(path))
for _, name in ipairs { "fifo", "fit-first", "backfill", "sjf", "srtf", "las", "las-2d", "gittins" } do
  local best = math.huge
  for _ = 1, 3 do
    collectgarbage()
    local start = os.clock()
    local r = assert(berth.cluster.simulate(jobs, { machines = 1, capacity = 512 }, name))
    best = math.min(best, os.clock() - start)
    assert(r.summary.done == #jobs)
  end
  print(("gang scheduler, %s\t%.4f\tCPU s\tPhilly, %d jobs, 512 GPUs\t%.4f"):format(name, best, #jobs, best))
end
