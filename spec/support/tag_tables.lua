-- Made-up feature tables in the shape of d:features, and the problem they go with.
local berth = require "berth"
local nn = berth.nn
local view = require "berth.agents.tag.view"

local tables = {}

-- Devices 1, 2 | 3 | 4, 5, 6 and so on; every union of device groups.
function tables.problem(device_groups)
  local device_group, sets, actions = {}, {}, {}
  for g = 1, device_groups do
    for _ = 1, (g + 1) % 3 + 1 do device_group[#device_group + 1] = g end
  end
  for code = 1, 2 ^ device_groups - 1 do
    local set = {}
    for d, g in ipairs(device_group) do
      if math.floor(code / 2 ^ (g - 1)) % 2 == 1 then set[#set + 1] = d end
    end
    sets[code] = set
    actions[#actions + 1] = { set = code, option = "ps", shares = "even" }
    if #set > 1 then
      actions[#actions + 1] = { set = code, option = "allreduce", shares = "even" }
      actions[#actions + 1] = { set = code, option = "allreduce", shares = "speed" }
      actions[#actions + 1] = { set = code, option = "split", shares = "even" }
    end
  end
  return view.problem(sets, actions, device_group)
end

local function pairs_of(n, m)
  local first, second = {}, {}
  for i = 1, n do
    for j = 1, m do first[#first + 1], second[#second + 1] = i, j end
  end
  return nn.index(first), nn.index(second)
end

-- Every op group hands something to the next, and the first one to the last.
function tables.features(rng, ops, devices)
  local f, from, to = {}, { 1 }, { ops }
  for i = 1, ops - 1 do from[i + 1], to[i + 1] = i, i + 1 end
  f.op, f.device, f.edge = nn.normal(rng, { ops, 13 }), nn.normal(rng, { devices, 5 }),
    nn.normal(rng, { ops, 1 })
  f.link, f.place = nn.normal(rng, { devices * devices, 1 }), nn.normal(rng, { ops * devices, 5 })
  f.edge_from, f.edge_to = nn.index(from), nn.index(to)
  f.link_from, f.link_to = pairs_of(devices, devices)
  f.place_op, f.place_device = pairs_of(ops, devices)
  return f
end

-- One case per op group, with local costs of its own; some actions are not legal.
function tables.cases(rng, problem, ops, copy)
  local out, action = {}, {}
  for g = 1, ops do action[g] = rng:below(#problem.actions) end
  for g = 1, ops do
    local costs = {}
    for a = 1, #problem.actions do
      costs[a] = (g + a) % 5 == 0 and math.huge or 0.5 + rng:uniform()
    end
    out[g] = { copy = copy or 1, group = g, action = action, costs = costs, unit = 2 }
  end
  return out
end

return tables
