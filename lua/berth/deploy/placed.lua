--- The strategy that berth.place comes to: each op group on one device, where its placer puts it.
local core = require "berth.core"
local place = require "berth.place"

-- Of the options of the simulation, those that placing has, too.
local SHARED = { "links", "memory", "param_multiple" }

-- Placers that keep memory, and answer in time where nothing fits.
local PLACERS = { "m-etf", "etf", "m-topo" }

local function of_simulation(sim)
  local out = { members = PLACERS }
  for _, key in ipairs(SHARED) do out[key] = sim and sim[key] end
  return out
end

--- @tparam deploy d
-- @tparam[opt] table sim options of the simulation
-- @treturn[1] table strategy with `action`
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "infeasible": no placement was found, or none that is a strategy
return function(d, sim)
  local group = d:group_of()
  local function name(op) return ("op group %.0f"):format(group[op]) end
  local graph, message, code = d.graph:colocate { names = name }
  if not graph then return nil, message, code end
  local cost
  cost, message, code = core.cost(graph, d.topology, d.cost.model)
  if not cost then return nil, message, code end
  local p
  p, message, code = place.on_cost(cost, nil, of_simulation(sim))
  if not p or code == "interrupted" then return nil, message, code end
  return d:from_placement(p)
end
