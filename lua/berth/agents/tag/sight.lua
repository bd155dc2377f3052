--- What an agent reads of a problem of berth.deploy, and how it queries its network about it.
-- @module berth.agents.tag.sight
local choices = require "berth.agents.tag.choices"
local costs = require "berth.agents.tag.costs"
local uniform = require "berth.agents.tag.uniform"
local view = require "berth.agents.tag.view"

local sight = {}
sight.__index = sight

-- A strategy as searches value it.
local function strategy(action) return { action = action, sfb = "local" } end

-- Seconds that local costs are divided by: a tenth of what all op groups take at their best.
local function unit_of(d, action)
  local sum = 0
  for g = 1, #action do
    local best = math.huge
    for _, cost in ipairs(costs.of(d, action, g)) do best = math.min(best, cost) end
    if best < math.huge then sum = sum + best end
  end
  return sum > 0 and sum / 10 or 1
end

--- @param d problem of berth.deploy
-- @tparam table o sizes of the network
function sight.new(d, o)
  local problem = view.problem(d:sets(), d:actions(), d:device_groups())
  local first = {}
  for g = 1, #d:groups() do first[g] = d:legal(g)[1] end
  return setmetatable({ deploy = d, problem = problem, groups = #first, unit = unit_of(d, first),
    sizes = o, uniform = uniform.new(d) }, sight)
end

--- A strategy as it is seen; without marks as one that is decided, whichever op group is in
-- question. What cannot be simulated, for want of a route, has no features of a simulation.
-- @tparam {int,...} action of each op group
-- @tparam int decided how many op groups are
-- @tparam ?int deciding the op group in question
function sight:features(action, decided, deciding)
  local marks, d, s = self.sizes.marks, self.deploy, strategy(action)
  local o = { decided = marks and decided or self.groups, deciding = marks and deciding or nil,
    scale = self.sizes.scale }
  local f, message, code = d:features(s, o)
  if code ~= "unreachable" then return f, message, code end
  o.feedback = false
  return d:features(s, o)
end

--- A question about one op group of a strategy; nil: about one action for all.
function sight:query(copy, action, group)
  if not group then
    return { copy = copy, action = action, costs = costs.total(self.deploy, self.uniform, action),
      unit = 10 * self.unit }
  end
  return { copy = copy, group = group, action = action, costs = costs.of(self.deploy, action,
    group),
    unit = self.unit }
end

--- @tparam {table,...} features one for each strategy
-- @tparam {table,...} queries
-- @treturn table view of the network
-- @treturn table rows for its decoder
function sight:pose(features, queries)
  local v = view.new(self.problem, features)
  return v, choices.new(self.problem, queries, #features, self.groups, self.sizes.costs)
end

--- Probabilities by action for each question; 0 where an action is not legal.
-- @param net of berth.agents.tag.network
function sight:answer(net, features, queries)
  local v, rows = self:pose(features, queries)
  local p, out, at = net:decode(net:encode(v), v, rows):exp():flat(), {}, 0
  p = p.totable and p:totable() or p
  for i, length in ipairs(rows.lengths) do
    local one = {}
    for a = 1, #self.problem.actions do one[a] = 0 end
    for k = at + 1, at + length do one[rows.action[k]] = p[k] end
    out[i], at = one, at + length
  end
  return out
end

return sight
