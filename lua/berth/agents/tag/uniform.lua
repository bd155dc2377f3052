--- Strategies with one action for all op groups.
-- @module berth.agents.tag.uniform
local uniform = {}
uniform.__index = uniform

-- AllReduce on the same devices with the same shares: what PS is on several of them where no
-- gradient is summed.
local function twins(actions)
  local by, out = {}, {}
  local function key(x) return ("%.0f %s"):format(x.set, x.shares) end
  for a, x in ipairs(actions) do
    if x.option == "allreduce" then by[key(x)] = a end
  end
  for a, x in ipairs(actions) do out[a] = x.option == "ps" and by[key(x)] or nil end
  return out
end

local function legal_sets(d, groups)
  local out = {}
  for g = 1, groups do
    out[g] = {}
    for _, a in ipairs(d:legal(g)) do out[g][a] = true end
  end
  return out
end

--- @param d problem of berth.deploy
function uniform.new(d)
  local groups, actions = #d:groups(), d:actions()
  return setmetatable({ groups = groups, actions = #actions, list = actions, sets = d:sets(),
    twin = twins(actions), legal = legal_sets(d, groups) }, uniform)
end

--- The action for most devices, all alike: even shares, AllReduce if there is the choice.
function uniform:widest()
  local best, most
  for a, x in ipairs(self.list) do
    local mark = 4 * #self.sets[x.set] + (x.shares == "even" and 2 or 0) + (x.option == "allreduce"
      and 1 or 0)
    if not most or mark > most then best, most = a, mark end
  end
  return best
end

--- What replaces an action in an op group: itself, its twin, or nil.
function uniform:instead(group, a)
  local legal, twin = self.legal[group], self.twin[a]
  if legal[a] then return a end
  return twin and legal[twin] and twin or nil
end

--- The action for all op groups; where nothing replaces it, as in `otherwise`, or the first that
-- is legal.
-- @tparam int a
-- @tparam ?{int,...} otherwise
-- @treturn {int,...} action of each op group
-- @treturn int op groups where nothing replaces it
function uniform:strategy(a, otherwise)
  local out, missing = {}, 0
  for g = 1, self.groups do
    out[g] = self:instead(g, a)
    if not out[g] then
      missing = missing + 1
      out[g] = otherwise and otherwise[g] or self:first(g)
    end
  end
  return out, missing
end

--- The first legal action of an op group.
function uniform:first(group)
  for a = 1, self.actions do
    if self.legal[group][a] then return a end
  end
end

return uniform
