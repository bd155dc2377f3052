-- A problem in the shape of berth.deploy's whose best strategy is known.
--
-- Each op group has a price for each action, and neighbours on different sets pay for it. Local
-- costs take AllReduce for half as dear as it is.
local berth = require "berth"
local nn = berth.nn
local options = require "berth.base.options"
local tables = require "support.tag_tables"

local toy = {}
toy.__index = toy

--- @param index random numbers
-- @tparam int groups op groups
-- @tparam int device_groups
function toy.new(index, groups, device_groups)
  local rng, p = berth.rng(index), tables.problem(device_groups)
  local self = setmetatable({ problem = p, n = groups, price = {}, weight = {}, rng = rng }, toy)
  self.fixed = tables.features(rng, groups, device_groups)
  for g = 1, groups do
    self.price[g], self.weight[g] = {}, 0.1 + rng:uniform()
    for a = 1, #p.actions do self.price[g][a] = self.weight[g] * (1 + rng:uniform()) end
  end
  return self
end

function toy:sets() return self.problem.sets end
function toy:actions() return self.problem.actions end
function toy:device_groups() return self.problem.device_group end

function toy:groups()
  local out = {}
  for g = 1, self.n do out[g] = { ops = { g } } end
  return out
end

function toy:positions()
  local out = {}
  for g = 1, self.n do out[g] = g end
  return out
end

function toy:legal(g)
  local out = {}
  for a = 1, #self.problem.actions do
    if (g + a) % 7 ~= 0 then out[#out + 1] = a end
  end
  return out
end

local function joint(self, a, b)
  return self.problem.actions[a].set == self.problem.actions[b].set and 0 or 0.2
end

--- Price of each action of an op group as the others are.
function toy:local_costs(s, g)
  local out = {}
  for a = 1, #self.problem.actions do
    out[a] = (g + a) % 7 == 0 and math.huge or self.price[g][a]
    if self.problem.actions[a].option == "allreduce" then out[a] = out[a] / 2 end
    if g > 1 then out[a] = out[a] + joint(self, a, s.action[g - 1]) end
    if g < self.n then out[a] = out[a] + joint(self, a, s.action[g + 1]) end
  end
  return out
end

function toy:seconds(action)
  local sum = 0
  for g = 1, self.n do
    sum = sum + self.price[g][action[g]] + (g > 1 and joint(self, action[g], action[g - 1]) or 0)
  end
  return sum
end

function toy:evaluate(s) return { seconds = self:seconds(s.action), over = 0 } end

function toy:features(s, o)
  local f, op = options.merge(self.fixed), {}
  for g = 1, self.n do
    for i = 1, 13 do
      op[#op + 1] = i == 1 and self.weight[g] or i == 12 and (g <= o.decided and 1 or 0) or 0
    end
    op[#op - 13 + 7] = self.problem.actions[s.action[g]].option == "ps" and 1 or 0
  end
  f.op = nn.array(op, { self.n, 13 })
  return f
end

--- The best of all, by a table over op groups.
function toy:search()
  local best, from = { {} }, {}
  for g = 1, self.n do
    best[g], from[g] = {}, {}
    for _, a in ipairs(self:legal(g)) do
      best[g][a] = g == 1 and self.price[g][a] or math.huge
      for _, b in ipairs(g > 1 and self:legal(g - 1) or {}) do
        local sum = best[g - 1][b] + self.price[g][a] + joint(self, a, b)
        if sum < best[g][a] then best[g][a], from[g][a] = sum, b end
      end
    end
  end
  local action, least = {}, math.huge
  for _, a in ipairs(self:legal(self.n)) do
    if best[self.n][a] < least then least, action[self.n] = best[self.n][a], a end
  end
  for g = self.n, 2, -1 do action[g - 1] = from[g][action[g]] end
  return { action = action, seconds = self:seconds(action) }
end

return toy
