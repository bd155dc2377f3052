--- A schedule in the step simulator, whose loop prices links that are shared and devices that are
-- unlike.
local core = require "berth.core"
local object = require "berth.schedule.object"
local options = require "berth.base.options"

local simulate = {}

local FN = "berth.schedule.simulate"

-- The schedule fixes these.
local FIXED = { dispatch = true, sequence = true, rank = true, preset = true }

local passed = {}
for _, row in ipairs(core.options "simulate") do
  if not FIXED[row.key] then
    passed[#passed + 1] = row.key == "memory" and options.merge(row, { default = "inference" })
      or row
  end
end
options.declare("schedule.simulate", options.join({
  { key = "topology", type = "topology", default = "a ring of the stages",
    text = "device i runs stage i; requires bandwidth" },
  { key = "bandwidth", type = "bytes/s", default = "1 GB/s",
    text = "that p2p is given for: a tensor between stages has p2p x bandwidth bytes" },
}, passed))

local function check(given)
  options.check(FN, given, "schedule.simulate")
  if given.topology == nil then return given end
  options.expect(given.topology, "topology", "%s: topology", FN)
  options.refuse(given.bandwidth == nil, "%s: topology requires bandwidth: that p2p is given for",
    FN)
  return given
end

--- @tparam schedule s
-- @tparam[opt] table opts as declared above; the rest is for berth.simulate
-- @treturn[1] result with the start of every slot, transfers, memory over time
-- @treturn[2] nil
-- @treturn[2] string message: which action of which stage waits for ever, or passes the limit
-- @treturn[2] string code "infeasible"
-- @treturn[2] table outcome, stage, index, action, excess
function simulate.run(s, opts)
  object.check(FN, s)
  local given = check(opts or {})
  local message, code, why = object.stop(FN, s)
  if s.outcome == "deadlock" or s.outcome == "memory" and given.memory ~= "none" then
    return nil, message, code, why
  end
  local bandwidth = given.bandwidth or "1 GB/s"
  local sim = options.merge({ memory = "inference" }, given, { dispatch = "planned" })
  sim.topology, sim.bandwidth = nil, nil
  local topology = given.topology or assert(core.schedule_topology(s.problem.handle, bandwidth))
  local graph = assert(core.schedule_graph(s.handle, bandwidth))
  return core.simulate(graph, topology, assert(core.schedule_placement(s.handle)), sim)
end

return simulate
