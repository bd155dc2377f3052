--- The stages of pipelines that have names: transforms of the graph, and refinements of a
-- placement.
local core = require "berth.core"
local options = require "berth.base.options"

local transforms = {}

--- In the order in which they make sense.
transforms.names = { "colocate", "coplace", "fuse", "chains", "forward" }

-- Which of the placer's options a transform takes over, if it is not given its own.
local shares = { coplace = true, fuse = true, chains = true }

local is_transform = {}
for _, name in ipairs(transforms.names) do is_transform[name] = true end

function transforms.is_transform(name) return is_transform[name] == true end

-- max_seconds needs times: where the stage has none, those of the priced graph.
local function with_times(own, price)
  if own.max_seconds == nil or own.seconds ~= nil or own.cost ~= nil then return own end
  local cost, message, code = price()
  if not cost then return nil, message, code end
  return options.merge({ cost = cost }, own)
end

--- Runs a transform.
-- @tparam string name
-- @tparam[opt] table own its options
-- @tparam graph g
-- @tparam topology t
-- @tparam table given the options of the placer behind it
-- @tparam function price () gives g on t, priced; or nil, message, code
-- @treturn[1] graph
-- @treturn[1] table the new op of every old one
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function transforms.run(name, own, g, t, given, price)
  if not shares[name] then return g[name](g, own) end
  local timed, message, code = with_times(own or {}, price)
  if not timed then return nil, message, code end
  return g[name](g, options.merge({ topology = t, param_multiple = given.param_multiple }, timed))
end

--- Does the placer behind this stage have to keep everything that the forward pass makes?
function transforms.keeps_all(name, own)
  return name == "forward" and not (own and own.memory == "forward")
end

-- ---- refinements: refine(cost, placement, own, given, place) gives a placement, or nil, message,

local simulated = { "links", "memory", "param_multiple", "quantum" }

local function as_simulated(own, given)
  local out = {}
  for _, key in ipairs(simulated) do out[key] = given[key] end
  return options.merge(out, own)
end

-- Searches from the placement of the stage before.
local function searching(placer)
  return function(cost, p, own, given, place)
    local common = as_simulated({ seed = given.seed, start = p }, given)
    return place(cost, placer, options.merge(common, own))
  end
end

transforms.refinements = {
  anneal = searching("anneal"),
  ["local"] = searching("local"),
  brkga = searching("brkga"),
  adjust = function(cost, p, own, given) return core.adjust(cost, p, as_simulated(own, given)) end,
  repair = function(cost, p, own, given) return core.repair(cost, p, as_simulated(own, given)) end,
}

function transforms.is_refinement(name) return transforms.refinements[name] ~= nil end

--- Names of the transforms.
-- @treturn table array of strings
function transforms.list() return options.copy(transforms.names) end

--- Puts each colocation group that a placement has split on one device.
-- @tparam graph g
-- @tparam topology t
-- @param p a placement or an array of devices
-- @tparam[opt] table opts by, fit, links, memory, param_multiple, quantum, cost
-- @treturn[1] placement
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing (bytes)
-- @usage local q = assert(berth.adjust(g, t, p, { by = "memory", fit = true }))
function transforms.adjust(...)
  local cost, rest, code = options.priced("berth.adjust", 2, ...)
  if not cost then return nil, rest, code end
  return core.adjust(cost, rest[1], rest[2])
end

return transforms
