--- Clusters: jobs that arrive, are given machines or refused, run and leave; docs/cluster.md.
-- @module berth.cluster
local schedulers = require "berth.cluster.schedulers"
local trace = require "berth.cluster.trace"

return {
  --- The event loop itself, for those who pull it: docs/cluster.md, "Events".
  new = function(jobs, cluster)
    return trace.cluster("berth.cluster.new", trace.rows("berth.cluster.new", jobs), cluster)
  end,
  simulate = require "berth.cluster.simulate",
  fifo = schedulers.fifo,
  backfill = schedulers.backfill,
  srtf = schedulers.srtf,
}
