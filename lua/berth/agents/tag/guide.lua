--- Strategies that a search begins with: the likeliest of those with one action for all op groups;
-- then, seen from the best of these, what a prior finds likely of two actions, one on either side
-- of a cut, and of changes here and there. The former are valued here. All are given to the search,
-- which values them again and counts them among its evaluations.
-- @module berth.agents.tag.guide
local places = require "berth.agents.tag.places"
local uniform = require "berth.agents.tag.uniform"

local guide = {}

--- How many with one action for all (uniform), with two (halves), with changes here and there.
guide.default = { uniform = 12, halves = 18, changes = 6 }

-- Of two actions: so many others than the best, at so many cuts.
local SECONDS, CUTS = 7, 12

-- How much likelier another action must be: the likeliest of each op group; one that is likely for
-- several. In turns.
local ODDS, ODDS_OF_ONE = { 1, 3, 10, 0.4 }, { 1, 0.3, 3, 0.1 }

-- Others that are evaluated at each of these odds.
local OTHERS = 3

-- What has no weight is not quite impossible.
local LEAST = 1e-9

-- Numbers of `weights`, the largest first, the first of equal ones first.
local function ranked(weights)
  local out = {}
  for a = 1, #weights do
    local i = #out + 1
    while i > 1 and weights[out[i - 1]] < weights[a] do out[i], i = out[i - 1], i - 1 end
    out[i] = a
  end
  return out
end

-- ---- the list -----------------------------------------------------------------------------------

local list = {}
list.__index = list

-- What is there already is not taken again.
function list:add(action, sfb, a)
  local key = table.concat(action, " ")
  if self.known[key] then return end
  self.known[key] = true
  self[#self + 1] = { action = action, sfb = sfb or "local", a = a }
end

-- Those that fit, by their step time.
local function by_value(d, all)
  local seconds, out = {}, {}
  for i, one in ipairs(all) do
    local v = d:evaluate(one)
    seconds[i] = v and v.over == 0 and -v.seconds or -math.huge
  end
  for _, i in ipairs(ranked(seconds)) do
    if seconds[i] > -math.huge then out[#out + 1] = all[i] end
  end
  return out
end

-- ---- two actions --------------------------------------------------------------------------------

-- How much likelier another action is, as a logarithm; what is not legal stays as it is.
local function odds_of(u, action, answers, a)
  local out = {}
  for g, p in ipairs(answers) do
    local b = u:instead(g, a)
    out[g] = b and math.log(math.max(p[b], LEAST) / math.max(p[action[g]], LEAST)) or 0
  end
  return out
end

-- The other action from one place to another: how likely in all, and in the mean beside the rest.
local function half(order, odds, a, low, high)
  local inside, outside, n = 0, 0, #order
  for k, g in ipairs(order) do
    if k >= low and k <= high then inside = inside + odds[g] else outside = outside + odds[g] end
  end
  local length = high - low + 1
  return { a = a, low = low, high = high, sum = inside,
    contrast = inside / length - outside / (n - length) }
end

local function halves(u, action, answers, order, cuts, seconds)
  local out = {}
  for _, a in ipairs(seconds) do
    local odds = odds_of(u, action, answers, a)
    for i = 1, math.min(CUTS, #cuts) do
      out[#out + 1] = half(order, odds, a, 1, cuts[i])
      out[#out + 1] = half(order, odds, a, cuts[i] + 1, #order)
    end
  end
  return out
end

local function with_half(u, action, order, one)
  local out = {}
  for k, g in ipairs(order) do
    out[g] = k >= one.low and k <= one.high and u:instead(g, one.a) or action[g]
  end
  return out
end

local function marks(candidates, key)
  local out = {}
  for i, one in ipairs(candidates) do out[i] = one[key] end
  return out
end

-- In turns two that are the likeliest in all and one that is it in the mean.
local function add_halves(all, d, u, action, answers, seconds, count)
  local order, cuts = places.new(d, action)
  local candidates, most = halves(u, action, answers, order, cuts, seconds), #all + count
  local by_sum, by_contrast = ranked(marks(candidates, "sum")),
    ranked(marks(candidates, "contrast"))
  for i = 1, #candidates do
    for _, k in ipairs { by_sum[2 * i - 1] or by_contrast[i], by_sum[2 * i] or by_contrast[i],
        by_contrast[i] } do
      if #all < most then all:add(with_half(u, action, order, candidates[k])) end
    end
  end
end

-- ---- changes ------------------------------------------------------------------------------------

local function largest(p)
  local best = 1
  for a = 2, #p do
    if p[a] > p[best] then best = a end
  end
  return best
end

-- Each op group takes the action of `other` where that is so much likelier than its own.
local function changed(action, answers, odds, other)
  local out = {}
  for g, p in ipairs(answers) do
    local a = other(g, p)
    out[g] = a and p[a] > odds * p[action[g]] and a or action[g]
  end
  return out
end

-- Actions by how much likelier they are, over the op groups where they are likelier than the
-- present one; 0: nowhere.
local function likelier(u, action, answers)
  local gain = {}
  for a = 1, u.actions do
    gain[a] = 0
    for g, p in ipairs(answers) do
      local b = u:instead(g, a)
      if b and p[b] > 0 then
        gain[a] = gain[a] + math.max(0, math.log(p[b] / math.max(p[action[g]], LEAST)))
      end
    end
  end
  return gain
end

local function add_changes(all, u, action, answers, count)
  local gain, most = likelier(u, action, answers), #all + count
  local order = ranked(gain)
  for i, odds in ipairs(ODDS) do
    if #all < most then
      all:add(changed(action, answers, odds, function(_, p) return largest(p) end))
    end
    for k = 1, math.min(OTHERS, #order) do
      local function other(g) return u:instead(g, order[k]) end
      if #all < most and gain[order[k]] > 0 then
        all:add(changed(action, answers, ODDS_OF_ONE[i], other))
      end
    end
  end
end

local function add_uniform(all, u, weights, count)
  local most = #all + count
  for _, a in ipairs(ranked(weights)) do
    local action = u:strategy(a)
    if #all < most and weights[a] > 0 then all:add(action, "local", a) end
  end
end

-- The actions of the best ones with one for all, but for the very best.
local function seconds_best(best)
  local out = {}
  for i = 2, #best do
    if best[i].a and #out < SECONDS then out[#out + 1] = best[i].a end
  end
  return out
end

--- @param d problem of berth.deploy
-- @tparam table view everywhere: function of a strategy's actions to weights of the actions for all
--  op groups; groups: the same to weights by action for each op group
-- @tparam ?{table,...} starts strategies { action, sfb } to begin with
-- @tparam[opt] table o how many: uniform, halves, changes
-- @treturn {table,...} strategies; the first are `starts`, or that with all devices alike
function guide.strategies(d, view, starts, o)
  local all, u = setmetatable({ known = {} }, list), uniform.new(d)
  o = o or guide.default
  for _, one in ipairs(starts or {}) do all:add(one.action, one.sfb or "none") end
  if #all == 0 then all:add((u:strategy(u:widest()))) end
  add_uniform(all, u, view.everywhere(all[1].action), o.uniform)
  local best = by_value(d, all)
  if best[1] then
    local action = best[1].action
    local answers = view.groups(action)
    add_halves(all, d, u, action, answers, seconds_best(best), o.halves)
    add_changes(all, u, action, answers, o.changes)
  end
  local out = {}
  for i, one in ipairs(all) do out[i] = { action = one.action, sfb = one.sfb } end
  return out
end

return guide
