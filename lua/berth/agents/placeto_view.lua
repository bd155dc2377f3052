--- What PLACETO sees of a graph, and which rows its network takes: step by step, and for all steps
-- of all episodes at once. An op's features are its times, where it is, and whether it is the
-- current one.
-- @module berth.agents.placeto_view
local nn = require "berth.nn"
local choices = require "berth.agents.choices"
local versions = require "berth.agents.versions"
local sort = require "berth.base.sort"

local placeto_view = { ways = { "down", "up" }, sets = { "parents", "children", "parallel" } }
local ways, sets = placeto_view.ways, placeto_view.sets

-- ---- what does not change ----

local function neighbours(env)
  local parents, children = {}, {}
  for v = 1, env.ops do parents[v], children[v] = {}, {} end
  local src, dst = env:graph_edges()
  for i = 1, #src do
    parents[dst[i]][#parents[dst[i]] + 1] = src[i]
    children[src[i]][#children[src[i]] + 1] = dst[i]
  end
  return parents, children
end

-- Neither before nor after op on any path.
local function beside(g, op, n)
  local related, out = { [op] = true }, {}
  for _, v in ipairs(g:ancestors(op)) do related[v] = true end
  for _, v in ipairs(g:descendants(op)) do related[v] = true end
  for v = 1, n do
    if not related[v] then out[#out + 1] = v end
  end
  return out
end

local function shares(values)
  local most = 0
  for _, x in ipairs(values) do most = math.max(most, x) end
  for i, x in ipairs(values) do values[i] = most > 0 and x / most or 0 end
  return values
end

local function static_features(env, children, width)
  local raw, times, after, flat = env:op_features(), {}, {}, {}
  for v = 1, env.ops do times[v] = raw:get(v, 1) end
  for v = 1, env.ops do
    after[v] = 0
    for _, w in ipairs(children[v]) do after[v] = after[v] + times[w] end
  end
  shares(times)
  shares(after)
  for v = 1, env.ops do
    flat[#flat + 1], flat[#flat + 2] = times[v], after[v]
    for _ = 3, width do flat[#flat + 1] = 0 end
  end
  return nn.array(flat, { env.ops, width })
end

-- Row d: an op that is on device d; row devices + 1: the op that is being placed. Columns from the
-- third.
local function marks(devices)
  local flat = {}
  for row = 1, devices + 1 do
    flat[#flat + 1], flat[#flat + 2] = 0, 0
    for d = 1, devices do flat[#flat + 1] = d == row and 1 or 0 end
    flat[#flat + 1] = row > devices and 1 or 0
    flat[#flat + 1] = row <= devices and 1 or 0
  end
  return nn.array(flat, { devices + 1, devices + 4 })
end

local function members(env)
  local by_unit, of = {}, env:units()
  for op = 1, env.ops do
    local unit = of[op]
    by_unit[unit] = by_unit[unit] or {}
    by_unit[unit][#by_unit[unit] + 1] = op
  end
  return of, by_unit
end

-- Which ops have other features at each step: those that the step before has placed, and the
-- current one, last. [version] = what it shows: 0, "current", or the step whose choice it is.
local function changes_of(v)
  local changes, shown = {}, {}
  for i = 1, v.ops do shown[i] = 0 end
  for s, op in ipairs(v.order) do
    changes[s] = {}
    for _, member in ipairs(s > 1 and v.members[v.of[v.order[s - 1]]] or {}) do
      changes[s][#changes[s] + 1], shown[#shown + 1] = member, s - 1
    end
    changes[s][#changes[s] + 1], shown[#shown + 1] = op, "current"
  end
  return changes, shown
end

-- Lists of versions: [0] of features, [r] after r rounds of messages one way.
local function rounds_of(own, rounds, sources, receivers)
  local out = { [0] = own }
  for r = 1, rounds do out[r] = versions.round(own, out[r - 1], sources, receivers) end
  return out
end

-- Rows of vertices in tables of ops x episodes, for each episode those of a list.
local function rows_of(list, ops, episodes)
  local ids = {}
  for e = 0, episodes - 1 do
    for _, v in ipairs(list) do ids[#ids + 1] = e * ops + v end
  end
  return nn.index(ids)
end

-- From which vertices each of a list receives, in each episode.
local function received_by(list, sources, ops, episodes)
  local flat, lengths = {}, {}
  for i, v in ipairs(list) do
    for _, u in ipairs(sources[v]) do flat[#flat + 1] = u end
    lengths[i] = #sources[v]
  end
  for i = #list + 1, #list * episodes do lengths[i] = lengths[i - #list] end
  return rows_of(flat, ops, episodes), nn.segments(lengths)
end

-- All ops, and whom they hear from.
local function standing(sources)
  local all = sort.ids(#sources)
  local from, received = received_by(all, sources, 0, 1)
  return { from = from, received = received }
end

--- What the policy needs of one graph on one topology.
-- @param env berth.assignment
-- @tparam int width of an op's features
-- @tparam int rounds of messages
function placeto_view.of(env, width, rounds)
  local order = choices.order(env)
  local parents, children = neighbours(env)
  local v = { order = order, devices = env.devices, ops = env.ops, steps = #order, around = {},
    made = {} }
  v.of, v.members = members(env)
  v.static, v.marks = static_features(env, children, width), marks(env.devices)
  for s, op in ipairs(order) do
    v.around[s] = { parents = parents[op], children = children[op],
      parallel = beside(env.graph, op, env.ops) }
  end
  local changes
  changes, v.shown = changes_of(v)
  v.own = versions.own(env.ops, changes)
  v.down, v.up = rounds_of(v.own, rounds, parents, children), rounds_of(v.own, rounds, children,
    parents)
  v.sources = { down = parents, up = children }
  v.standing = { down = standing(parents), up = standing(children) }
  return v
end

-- ---- rows of several episodes side by side ----

-- Kept, as they are the same for every batch of as many episodes.
local function kept(view, name, episodes, make, ...)
  local key = name .. ("%.0f"):format(episodes)
  view.made[key] = view.made[key] or make(...)
  return view.made[key]
end

-- ---- step by step ----

local function plan_of_step(view, rounds, s, episodes)
  local own, ops = view.own.changes[s], view.ops
  local plan = { own = own, rows = rows_of(own, ops, episodes), op = rows_of({ view.order[s] }, ops,
    episodes) }
  plan.features = view.static:gather(rows_of(own, 0, episodes))
  for _, way in ipairs(ways) do
    plan[way] = {}
    for r = 1, rounds do
      local list = view[way][r].changes[s]
      local from, received = received_by(list, view.sources[way], ops, episodes)
      plan[way][r] = { rows = rows_of(list, ops, episodes), from = from, received = received }
    end
  end
  for _, name in ipairs(sets) do
    local set = view.around[s][name]
    plan[name], plan[name .. "_of"] = rows_of(set, ops, episodes),
      nn.segments(choices.same(#set, episodes))
  end
  return plan
end

local function plans_of_steps(view, rounds, episodes)
  local out = {}
  for s = 1, view.steps do out[s] = plan_of_step(view, rounds, s, episodes) end
  return out
end

--- What is new at each step, in tables of all ops of one episode after the other: own, ops whose
-- features change; rows of them, and of one way's after each round, with those that they hear from;
-- the op, and the ops around it.
function placeto_view.steps(view, rounds, episodes)
  return kept(view, "steps", episodes, plans_of_steps, view, rounds, episodes)
end

-- ---- all steps of all episodes at once ----

-- Features of all versions but for marks.
local function features_of(view, episodes)
  local ids = {}
  versions.each(view.own, episodes, function(k) ids[#ids + 1] = view.own.vertex[k] end)
  return view.static:gather(nn.index(ids))
end

-- Row 1: the current op; row 1 + i: what step i of the log has chosen.
local function shown_rows(view, episodes)
  local ids = {}
  versions.each(view.own, episodes, function(k, e)
    local shown = view.shown[k]
    ids[#ids + 1] = shown == "current" and 1 or shown == 0 and 0 or 1 + (e - 1) * view.steps + shown
  end)
  return nn.index(ids)
end

-- For each step, the versions that the head reads: of the op, and of the ops around it.
local function reads_of(v, list)
  local newest, out = versions.newest(list), {}
  for s, op in ipairs(v.order) do
    local now = newest(s)
    out[s] = { op = now[op] }
    for _, name in ipairs(sets) do
      local set = {}
      for i, u in ipairs(v.around[s][name]) do set[i] = now[u] end
      out[s][name] = set
    end
  end
  return out
end

-- The rows that the head reads in all steps of one episode after the other.
local function read_by(view, list, episodes)
  local reads, op, base, row, out = reads_of(view, list), {}, list.base, versions.row, {}
  for e = 1, episodes do
    for s = 1, view.steps do op[#op + 1] = row(base, reads[s].op, e, episodes) end
  end
  out.op = nn.index(op)
  for _, name in ipairs(sets) do
    local ids, lengths = {}, {}
    for e = 1, episodes do
      for s = 1, view.steps do
        local set = reads[s][name]
        for i = 1, #set do ids[#ids + 1] = row(base, set[i], e, episodes) end
        lengths[#lengths + 1] = #set
      end
    end
    out[name], out[name .. "_of"] = nn.index(ids), nn.segments(lengths)
  end
  return out
end

local function plan_of_log(view, rounds, episodes)
  local plan = { features = features_of(view, episodes), shown = shown_rows(view, episodes),
    reads = {} }
  for _, way in ipairs(ways) do
    plan[way] = {}
    for r = 1, rounds do plan[way][r] = versions.inputs(view[way][r], episodes) end
    plan.reads[way] = read_by(view, view[way][rounds], episodes)
  end
  return plan
end

--- The rows of all steps of all episodes, in the order of the log.
function placeto_view.log(view, rounds, episodes)
  return kept(view, "log", episodes, plan_of_log, view, rounds, episodes)
end

return placeto_view
