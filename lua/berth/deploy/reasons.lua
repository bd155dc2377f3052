--- Why an op group is where it is: what the step takes if this group alone is done in another way,
-- by simulation.
local words = require "berth.deploy.answer_words"
local sort = require "berth.base.sort"

local reasons = {}

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
  for i, g in ipairs(list) do
    seconds, bytes, order[i] = seconds + g.seconds, bytes + g.gradient_bytes, i
  end
  local function weight(i)
    return (seconds > 0 and list[i].seconds / seconds or 0) + (bytes > 0
      and list[i].gradient_bytes / bytes or 0)
  end
  sort.falling(order, weight)
  return order
end

--- What is the same for all op groups of a problem; order: the op groups, most important first.
-- @tparam deploy d
-- @tparam table list of berth.deploy.answer_groups
function reasons.context(d, list)
  return { d = d, actions = d:actions(), sets = d:sets(), index = index_of(d), all = largest_set(d),
    group_of = d:group_of(), groups = list, order = by_weight(list),
    names = words.names(d.topology), device_group = d:device_groups() }
end

local function cheapest(list, costs, fits)
  local best
  for _, a in ipairs(list) do
    if costs[a] and costs[a] < math.huge and fits(a) and (not best or costs[a] < costs[best]) then
      best = a
    end
  end
  return best
end

local function single(ctx, legal, costs)
  return cheapest(legal, costs, function(a) return #ctx.sets[ctx.actions[a].set] == 1 end)
end

local function where(ctx, set) return words.devices(ctx.names, ctx.sets[set]) end

-- All of an action.
local function in_full(ctx, a, reduces)
  local x = ctx.actions[a]
  if #ctx.sets[x.set] == 1 then return where(ctx, x.set) .. " instead" end
  local shares = words.is_sum(x.option) and ", " .. words.shares[x.shares] or ""
  return ("%s, %s%s instead"):format(where(ctx, x.set), words.option(x.option, reduces), shares)
end

-- Those that would print alike are printed in full.
local function told_apart(ctx, list, reduces)
  local n = {}
  for _, other in ipairs(list) do n[other.what] = (n[other.what] or 0) + 1 end
  for _, other in ipairs(list) do
    if n[other.what] > 1 then other.what = in_full(ctx, other.action, reduces) end
  end
  return list
end

-- What of the action is other than now: "all 8 devices, AllReduce instead", "even shares instead".
local function described(ctx, now, a, reduces)
  local x, parts = ctx.actions[a], {}
  local several = #ctx.sets[x.set] > 1
  if x.set ~= now.set then parts[1] = where(ctx, x.set) end
  local option = words.option(x.option, reduces)
  if several and (#ctx.sets[now.set] == 1 or option ~= words.option(now.option, reduces)) then
    parts[#parts + 1] = option
  end
  if several and words.is_sum(x.option) and x.shares ~= now.shares and #ctx.sets[now.set] > 1
      and words.is_sum(now.option) then
    parts[#parts + 1] = words.shares[x.shares]
  end
  return table.concat(parts, ", ") .. " instead"
end

-- Another device like the one reported adds nothing.
local function see_alike(ctx, legal, single_action, seen)
  local like = ctx.device_group[ctx.sets[ctx.actions[single_action].set][1]]
  for _, a in ipairs(legal) do
    local devices = ctx.sets[ctx.actions[a].set]
    seen[a] = seen[a] or #devices == 1 and ctx.device_group[devices[1]] == like
  end
end

-- Where no gradient is summed the other way to sum them is the same.
local function see(ctx, a, reduces, seen)
  local x = ctx.actions[a]
  seen[a] = true
  if reduces or not words.is_sum(x.option) then return end
  local twin = (ctx.index[x.set][x.option == "ps" and "allreduce" or "ps"] or {})[x.shares]
  if twin then seen[twin] = true end
end

--- Other actions of an op group, the most informative first: another way to keep replicas in step,
-- other shares, all devices, one device, and the one that costs least by itself.
-- @tparam table ctx of reasons.context
-- @tparam table action of all op groups
-- @tparam integer g op group
-- @treturn table array of { action, what }
function reasons.alternatives(ctx, action, g)
  local chosen = action[g]
  local now, legal, list, seen = ctx.actions[chosen], ctx.d:legal(g), {}, {}
  local is_legal, reduces = {}, ctx.groups[g].reduces
  see(ctx, chosen, reduces, seen)
  for _, a in ipairs(legal) do is_legal[a] = true end
  local function add(a)
    if not a or seen[a] or not is_legal[a] then return end
    see(ctx, a, reduces, seen)
    list[#list + 1] = { action = a, what = described(ctx, now, a, reduces) }
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
  add(at(ctx.all, now.option == "ps" and #ctx.sets[now.set] == 1 and "allreduce" or now.option,
    "speed"))
  local alone = single(ctx, legal, costs)
  add(alone)
  if alone then see_alike(ctx, legal, alone, seen) end
  add(cheapest(legal, costs, function(a) return not seen[a] end))
  return told_apart(ctx, list, reduces)
end

return reasons
