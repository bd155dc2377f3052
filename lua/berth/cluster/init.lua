--- Clusters: jobs that arrive, are given machines or refused, run and leave; docs/cluster.md.
-- @module berth.cluster
local core = require "berth.core"
local gang = require "berth.cluster.gang"
local trace = require "berth.cluster.trace"

return {
  --- The event loop itself, for those who pull it: docs/cluster.md, "Events".
  new = function(jobs, cluster)
    return trace.cluster("berth.cluster.new", trace.rows("berth.cluster.new", jobs), cluster)
  end,
  simulate = require "berth.cluster.simulate",
  schedulers = gang.names,
  optimus = core.optimus,
  pollux = core.pollux,
  goodput = core.goodput,
  gavel = core.gavel,
}
