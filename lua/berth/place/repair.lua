--- A placement changed as little as makes it keep memory.
local core = require "berth.core"
local options = require "berth.base.options"

--- @tparam graph g
-- @tparam topology t
-- @param placement a placement or an array of devices
-- @tparam[opt] table opts links, memory, param_multiple, quantum, cost
-- @treturn[1] placement
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing (bytes): what stops it, for "infeasible"
-- @usage local p = assert(berth.repair(g, t, berth.place(g, roomy, "heft"), { memory = "total" }))
return function(...)
  local cost, rest, code = options.priced("berth.repair", 2, ...)
  if not cost then return nil, rest, code end
  return core.repair(cost, rest[1], rest[2])
end
