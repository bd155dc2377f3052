--- The prior of local costs, as an agent would have it.
-- @module berth.agents.tag.costs
local uniform = require "berth.agents.tag.uniform"

local costs = {}

-- Of local costs, in parts of the least one: as searches have it.
local TEMPERATURE = 0.3

--- Weights of the actions of an op group, which add up to 1; nil: there is none, or the least takes
-- no time.
-- @tparam {number,...} list local costs by action, infinite: not legal
function costs.weights(list)
  local least, sum, out = math.huge, 0, {}
  for a = 1, #list do least = math.min(least, list[a]) end
  if not (least > 0 and least < math.huge) then return nil end
  for a = 1, #list do
    out[a] = math.exp((least - list[a]) / (TEMPERATURE * least))
    sum = sum + out[a]
  end
  for a = 1, #list do out[a] = out[a] / sum end
  return out
end

--- Local costs of one op group of a strategy.
function costs.of(d, action, group)
  return d:local_costs({ action = action, sfb = "local" }, group)
end

--- Local costs of each action for all op groups; infinite where an op group has no such action.
-- @param d problem of berth.deploy
-- @tparam table u of berth.agents.tag.uniform
-- @tparam {int,...} action the strategy
function costs.total(d, u, action)
  local out = {}
  for a = 1, u.actions do out[a] = 0 end
  for g = 1, u.groups do
    local own = costs.of(d, action, g)
    for a = 1, u.actions do
      local b = u:instead(g, a)
      out[a] = out[a] + (b and own[b] or math.huge)
    end
  end
  return out
end

local function alike(u, group)
  local out = {}
  for a = 1, u.actions do out[a] = u.legal[group][a] and 1 or 0 end
  return out
end

--- Weights for berth.agents.tag.guide, from local costs alone.
-- @param d problem of berth.deploy
function costs.view(d)
  local u = uniform.new(d)
  local function everywhere(action)
    local out = costs.total(d, u, action)
    for a = 1, #out do out[a] = 1 / out[a] end
    return out
  end
  local function groups(action)
    local out = {}
    for g = 1, u.groups do out[g] = costs.weights(costs.of(d, action, g)) or alike(u, g) end
    return out
  end
  return { everywhere = everywhere, groups = groups }
end

return costs
