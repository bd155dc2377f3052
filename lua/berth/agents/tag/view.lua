--- What the network sees: features of strategies of one problem, copies side by side.
-- @module berth.agents.tag.view
local nn = require "berth.nn"

local view = {}

-- Rows of edges in the order of their targets, and how many come in at each of `targets`.
local function sorted(from, into, targets)
  local at, order, sources, lengths = {}, {}, {}, {}
  for v = 1, targets do at[v] = {} end
  for i = 1, #into do at[into[i]][#at[into[i]] + 1] = i end
  for v = 1, targets do
    lengths[v] = #at[v]
    for _, i in ipairs(at[v]) do order[#order + 1], sources[#sources + 1] = i, from[i] end
  end
  return { rows = order, from = sources, lengths = lengths }
end

-- What does not change from strategy to strategy: the edges.
local function structure(f)
  local ops, devices = #f.op, #f.device
  local edge_from, edge_to = f.edge_from:totable(), f.edge_to:totable()
  local link_from, link_to = f.link_from:totable(), f.link_to:totable()
  local place_op, place_device = f.place_op:totable(), f.place_device:totable()
  return { ops = ops, devices = devices, lists = {
    link = { sorted(link_from, link_to, devices), devices, #link_to },
    prev = { sorted(edge_to, edge_from, ops), ops, #edge_to },
    succ = { sorted(edge_from, edge_to, ops), ops, #edge_to },
    place = { sorted(place_op, place_device, devices), ops, #place_op },
    serve = { sorted(place_device, place_op, ops), devices, #place_op },
  } }
end

local function repeated(list, copies, step)
  local out = {}
  for copy = 0, copies - 1 do
    for i = 1, #list do out[#out + 1] = list[i] + copy * step end
  end
  return out
end

local function list_of(one, copies)
  local s, sources, rows = one[1], one[2], one[3]
  return { count = #s.rows * copies, rows = nn.index(repeated(s.rows, copies, rows)),
    from = nn.index(repeated(s.from, copies, sources)),
    into = nn.segments(repeated(s.lengths, copies, 0)) }
end

local function joined(list, key)
  if #list == 1 then return list[1][key] end
  local parts = {}
  for i, f in ipairs(list) do parts[i] = f[key] end
  return nn.concat(parts, 1)
end

-- Share of the devices of each device group that a set has.
local function marks(problem)
  local out, m = {}, #problem.device_sizes
  for s, set in ipairs(problem.sets) do
    for _, device in ipairs(set) do
      local at = (s - 1) * m + problem.device_group[device]
      out[at] = (out[at] or 0) + 1 / problem.device_sizes[problem.device_group[device]]
    end
    for i = (s - 1) * m + 1, s * m do out[i] = out[i] or 0 end
  end
  return nn.array(out, { #problem.sets * m, 1 })
end

--- What of a problem the views and choices need, and where they keep what they make of it.
-- @tparam {{int,...},...} sets devices of each
-- @tparam {{table,...},...} actions set, option, shares
-- @tparam {int,...} device_group of each device
function view.problem(sets, actions, device_group)
  local sizes = {}
  for _, g in ipairs(device_group) do sizes[g] = (sizes[g] or 0) + 1 end
  local self = { sets = sets, actions = actions, device_group = device_group, device_sizes = sizes,
    lists = {} }
  self.marks = marks(self)
  return self
end

--- Strategies of one problem side by side.
-- @tparam table problem of view.problem
-- @tparam {table,...} list of d:features, one for each strategy
-- @treturn table of the network
function view.new(problem, list)
  problem.structure = problem.structure or structure(list[1])
  local copies, s = #list, problem.structure
  local lists = problem.lists[copies]
  if not lists then
    lists = {}
    for name, one in pairs(s.lists) do lists[name] = list_of(one, copies) end
    problem.lists[copies] = lists
  end
  local out = { copies = copies, op_groups = s.ops, device_groups = s.devices, sets = #problem.sets,
    marks = problem.marks, lists = lists }
  for _, key in ipairs { "op", "device", "edge", "link", "place" } do
    out[key] = joined(list, key)
  end
  return out
end

return view
