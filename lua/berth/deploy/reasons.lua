--- Why an op group is where it is: what the step takes if this group alone is done in another way, by simulation.
local words = require "berth.deploy.answer_words"

local reasons = {}

local CUT = { even = "even shares", speed = "shares by speed" }
local SHARED = { ps = true, allreduce = true }

-- Actions by what they do: index[set][option][shares] = action.
local function index_of(d)
  local index = {}
  for a, x in ipairs(d:actions()) do
    index[x.set] = index[x.set] or {}
    index[x.set][x.option] = index[x.set][x.option] or {}
    index[x.set][x.option][x.shares] = a
  end
  return index
end

local function largest_set(d)
  local sets, largest = d:sets(), 1
  for s, devices in ipairs(sets) do
    if #devices > #sets[largest] then largest = s end
  end
  return largest
end

-- Op groups by their part of all time and of all gradients, largest first.
local function by_weight(list)
  local seconds, bytes, order = 0, 0, {}
  for i, g in ipairs(list) do seconds, bytes, order[i] = seconds + g.seconds, bytes + g.gradient_bytes, i end
  local function weight(i)
    return (seconds > 0 and list[i].seconds / seconds or 0) + (bytes > 0 and list[i].gradient_bytes / bytes or 0)
  end
  table.sort(order, function(a, b)
    local wa, wb = weight(a), weight(b)
    if wa ~= wb then return wa > wb end
    return a < b
  end)
  return order
end

--- What is the same for all op groups of a problem; order: the op groups, most important first.
-- @tparam deploy d
-- @tparam table list of berth.deploy.answer_groups
function reasons.context(d, list)
  return { d = d, actions = d:actions(), sets = d:sets(), index = index_of(d), all = largest_set(d),
    order = by_weight(list), names = words.names(d.topology) }
end

local function cheapest(list, costs, fits)
  local best
  for _, a in ipairs(list) do
    if costs[a] and costs[a] < math.huge and fits(a) and (not best or costs[a] < costs[best]) then best = a end
  end
  return best
end

local function single(ctx, legal, costs)
  return cheapest(legal, costs, function(a) return #ctx.sets[ctx.actions[a].set] == 1 end)
end

local function where(ctx, set) return words.devices(ctx.names, ctx.sets[set]) end

-- What of the action is other than now: "all 8 devices, AllReduce instead", "even shares instead".
local function described(ctx, now, a)
  local x, parts = ctx.actions[a], {}
  local several = #ctx.sets[x.set] > 1
  if x.set ~= now.set then parts[1] = where(ctx, x.set) end
  if several and x.option ~= now.option then parts[#parts + 1] = words.options[x.option] end
  if several and SHARED[x.option] and x.shares ~= now.shares and #ctx.sets[now.set] > 1 and SHARED[now.option] then
    parts[#parts + 1] = CUT[x.shares]
  end
  return table.concat(parts, ", ") .. " instead"
end

--- Other actions of an op group, those first that say most: another way to keep replicas in step, other shares, all devices,
-- one device, and the one that costs least by itself.
-- @tparam table ctx of reasons.context
-- @tparam table action of all op groups
-- @tparam integer g op group
-- @treturn table array of { action, what }
function reasons.alternatives(ctx, action, g)
  local chosen = action[g]
  local now, legal, list, seen = ctx.actions[chosen], ctx.d:legal(g), {}, { [chosen] = true }
  local is_legal = {}
  for _, a in ipairs(legal) do is_legal[a] = true end
  local function add(a)
    if not a or seen[a] or not is_legal[a] then return end
    seen[a] = true
    list[#list + 1] = { action = a, what = described(ctx, now, a) }
  end
  local function at(set, option, shares)
    local of = ctx.index[set] and ctx.index[set][option]
    return of and (of[shares] or of.even or of.speed)
  end
  local costs = ctx.d:local_costs({ action = action }, g)
  for _, option in ipairs { "allreduce", "ps", "split", "duplicate" } do
    if option ~= now.option then add(at(now.set, option, now.shares)) end
  end
  add(at(now.set, now.option, now.shares == "even" and "speed" or "even"))
  add(at(ctx.all, now.option == "ps" and #ctx.sets[now.set] == 1 and "allreduce" or now.option, "speed"))
  add(single(ctx, legal, costs))
  add(cheapest(legal, costs, function(a) return not seen[a] end))
  return list
end

return reasons
