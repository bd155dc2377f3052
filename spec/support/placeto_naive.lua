-- PLACETO's network without shortcuts: every op passes messages at every step.
local nn = require "berth.nn"

local naive = {}

-- Of the ops as they are: flat features, one row each.
local function features(view, placed, devices)
  local rows = view.static:totable()
  for v, at in ipairs(placed) do
    local row = rows[v]
    if at == "current" then
      row[2 + devices + 1] = 1
    elseif at then
      row[2 + at], row[2 + devices + 2] = 1, 1
    end
  end
  return nn.array(rows)
end

local function pass(net, rounds, x, sources)
  local h, zero = x, nn.zeros { 1, x.shape[2] }
  for _ = 1, rounds do
    local sent, rows = net.send(h), {}
    for v, list in ipairs(sources) do
      local sum = zero
      for _, u in ipairs(list) do sum = sum + sent:gather { u } end
      rows[v] = sum
    end
    h = net.take(nn.concat(rows, 1)) + x
  end
  return h
end

local function mean(h, set)
  local sum = nn.zeros { 1, h.shape[2] }
  for _, v in ipairs(set) do sum = sum + h:gather { v } end
  return #set > 0 and sum:scale(1 / #set) or sum
end

local function related(env)
  local parents, children, src, dst = {}, {}, env:graph_edges()
  for v = 1, env.ops do parents[v], children[v] = {}, {} end
  for i = 1, #src do
    table.insert(parents[dst[i]], src[i])
    table.insert(children[src[i]], dst[i])
  end
  return parents, children
end

local function beside(env, op)
  local out = {}
  for v = 1, env.ops do out[v] = v ~= op and v end
  for _, v in ipairs(env.graph:ancestors(op)) do out[v] = false end
  for _, v in ipairs(env.graph:descendants(op)) do out[v] = false end
  local set = {}
  for v = 1, env.ops do
    if out[v] then set[#set + 1] = v end
  end
  return set
end

-- Scores for op where placed[v] is a device, "current" or false.
local function score(policy, env, view, placed, op)
  local parents, children = related(env)
  local x = policy.input(features(view, placed, policy.devices))
  local h = nn.concat({ pass(policy.down, policy.rounds, x, parents),
    pass(policy.up, policy.rounds, x, children) }, 2)
  local sets = { parents = parents[op], children = children[op], parallel = beside(env, op) }
  local parts = { h:gather { op } }
  for _, name in ipairs { "parents", "children", "parallel" } do
    parts[#parts + 1] = policy[name](mean(h, sets[name]))
  end
  return policy.head(nn.concat(parts, 2))
end

--- Scores of every step of the episodes of a log, [episode][step] = array [1, devices].
function naive.scores(policy, env, view, log, episodes)
  local out, of = {}, env:units()
  for e = 1, episodes do
    local placed = {}
    for v = 1, env.ops do placed[v] = false end
    out[e] = {}
    for s, op in ipairs(view.order) do
      placed[op] = "current"
      out[e][s] = score(policy, env, view, placed, op)
      for v = 1, env.ops do
        if of[v] == of[op] then placed[v] = log.device[(e - 1) * #view.order + s] end
      end
    end
  end
  return out
end

return naive
