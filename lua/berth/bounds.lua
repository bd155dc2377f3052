--- Lower bounds on the step time, which print as a line.
local core = require "berth.core"

local function time(x) return core.format(x, "seconds") end

local mt = {
  __tostring = function(b)
    return ("bound %s (%s): critical path %s, work %s, memory %s"):format(time(b.best), b.name, time(b.critical_path),
      time(b.work), time(b.memory))
  end,
}

--- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts memory, param_multiple, cost
-- @treturn[1] table critical_path, work, memory, best (s), name
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing: what can fit nowhere
return function(...)
  local b, message, code, why = core.bounds(...)
  if not b then return nil, message, code, why end
  return setmetatable(b, mt)
end
