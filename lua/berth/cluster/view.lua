--- What a scheduler sees of a cluster: all that is, nothing that is to come.
local scheduler = require "berth.cluster.scheduler"

local view = {}
local meta = { __index = view, __name = "berth.cluster.view" }

--- @param core_cluster the core's
-- @tparam table jobs a table per job
-- @tparam rng rng
-- @tparam function|nil rate
function view.new(core_cluster, jobs, rng, rate)
  return setmetatable({
    core = core_cluster, jobs = jobs, rng = rng, now = 0, machines = core_cluster.machines,
    resources = core_cluster.resources, how_fast = rate, n_waiting = 0,
  }, meta)
end

--- The job's own table, as in the trace.
function view:job(j) return self.jobs[j] end
scheduler.forward(view, "core", { "record", "upcoming", "running", "places", "free", "capacity",
  "idle", "waiting" })

--- Work per s of a job on machines: the option `rate`, or 1.
function view:rate(j, machines, amounts)
  if not self.how_fast then return 1 end
  return self.how_fast(self.jobs[j], machines, amounts)
end

return view
