--- Lower bounds on the times of a result, for jobs that run as gangs: each on all its GPUs or
-- machines at once, at 1 s of work per s.
local core = require "berth.core"
local gang = require "berth.cluster.gang"

local bounds = {}

-- Whether a run has as much as the job takes; without amounts it has all of its machines.
local function holds(run, size, amounts, capacity)
  if not amounts then return run.amounts == nil and #run.machines >= size end
  local sum = 0
  for k, m in ipairs(run.machines) do
    sum = sum + (run.amounts and run.amounts[k] or capacity[m])
  end
  return sum >= size
end

-- Of the first resource: of each machine; in all.
local function capacity_of(c)
  local list, sum = c:capacity(), 0
  for m, x in ipairs(list) do
    list[m] = type(x) == "table" and x[1] or x
    sum = sum + list[m]
  end
  return list, sum
end

--- Adds bound_jct and bound_makespan to the summary, unless a job has not ended or runs hold less
-- than its gang.
-- @tparam table summary
-- @param c the core's cluster, after its run
-- @tparam table rows jobs
-- @tparam[opt] table runs of a scheduler that sets the amounts itself
function bounds.add(summary, c, rows, runs)
  local sizes, amounts = gang.sizes(rows)
  if not sizes or summary.done + summary.refused < #rows then return end
  local capacity, gpus = capacity_of(c)
  for _, run in ipairs(runs or {}) do
    if not holds(run, sizes[run.job], amounts, capacity) then return end
  end
  if not amounts then gpus = c.machines end
  local jct, makespan, refused = core.gang_bounds(c, sizes, gpus)
  if not refused then summary.bound_jct, summary.bound_makespan = jct, makespan end
end

return bounds
