--- The shortest makespan, proved, or the best found and a bound on it.
local core = require "berth.core"
local options = require "berth.base.options"
local priced = require "berth.base.priced"

local function time(x, s) return core.format(x, "seconds", s.unitless) end

local mt = { __name = "berth.exact" }

function mt.__tostring(s)
  local verdict = s.proved and "optimal"
    or core.sprintf("bound %s, at most %.3g times the optimum", time(s.bound, s),
      s.makespan / s.bound)
  return ("makespan %s: %s%s; %d list schedules, %d partial schedules"):format(time(s.makespan, s),
    verdict, s.interrupted and ", interrupted" or s.timed_out and ", out of time" or "",
    s.schedules, s.nodes)
end

--- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts memory, param_multiple, seed, nodes, schedules, seconds, cost
-- @treturn[1] placement
-- @treturn[1] table makespan, bound (s), proved, interrupted, timed_out, nodes, schedules; prints
--  as a line
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing (bytes): what stops it, for "infeasible"
-- @usage local p, proof = berth.exact(g, t); print(proof)
return function(...)
  local cost, rest, code = options.priced("berth.exact", 1, ...)
  if not cost then return nil, rest, code end
  local unitless = priced.unitless(cost)
  local p, summary, failure, why = core.exact(cost, rest[1])
  if not p then return nil, summary, failure, why end
  summary.unitless = unitless
  return p, setmetatable(summary, mt)
end
