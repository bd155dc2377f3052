--- What a cost or a graph is of, before a call that may close it. nil where it is closed already:
-- the call reports that.
local core = require "berth.core"

local priced = {}

local function graph_of(x) return core.kind(x) == "cost" and x.graph or x end

--- true where times and sizes are in units of a file; else nil.
function priced.unitless(x)
  local open, graph = pcall(graph_of, x)
  if not open or core.kind(graph) ~= "graph" then return nil end
  local fine, unitless = pcall(function() return graph.unitless end)
  return fine and unitless or nil
end

--- Names of the devices by id; empty where the cost is closed.
function priced.device_names(cost)
  local out = {}
  pcall(function()
    for device in cost.topology:devices() do out[device.id] = device.name end
  end)
  return out
end

return priced
