--- Message passing: features of ops and edges to one row of numbers per op.
-- @module berth.agents.doppler.encoder
local nn = require "berth.nn"

local encoder = {}

-- A list of edges, each with its time, sorted by destination as `edges` are: those that `keep`
-- says.
local function some_edges(n, src, dst, keep)
  local from, rows, coming = {}, {}, {}
  for v = 1, n do coming[v] = 0 end
  for i = 1, #src do
    if keep(src[i], dst[i]) then
      from[#from + 1], rows[#rows + 1], coming[dst[i]] = src[i], i, coming[dst[i]] + 1
    end
  end
  return { from = nn.index(from), rows = nn.index(rows), into = nn.segments(coming), count = #from }
end

-- The edges as two lists, with the flow and against it.
function encoder.directions(env, src, dst)
  local n, flows = env.ops, {}
  local producers, consumers = env:graph_edges()
  producers, consumers = producers:totable(), consumers:totable()
  for i = 1, #producers do flows[producers[i] * (n + 1) + consumers[i]] = true end
  src, dst = src:totable(), dst:totable()
  local function flow(u, v) return flows[u * (n + 1) + v] == true end
  return { some_edges(n, src, dst, flow),
    some_edges(n, src, dst, function(u, v) return not flow(u, v) end) }
end

-- The rows at which the groups begin.
local function firsts(order, groups)
  local all, lengths, out, at = order:totable(), groups:lengths(), {}, 1
  for i = 1, #lengths do
    out[i], at = all[at], at + lengths[i]
  end
  return nn.index(out)
end

local function published_view(env, scaled)
  local src, dst, _, into = env:edges()
  local order, groups = env:edge_groups()
  local sorted = src:totable()
  local from, at = {}, order:totable()
  for i = 1, #at do from[i] = sorted[at[i]] end
  local targets, to = dst:totable(), {}
  for i = 1, #at do to[i] = targets[at[i]] end
  return { count = #at, from = nn.index(from), to = nn.index(to), groups = groups, into = into,
    values = #at > 0 and scaled:zscore():gather(firsts(order, groups)) or nil }
end

local function compact_view(env, scaled)
  local src, dst = env:edges()
  local both = encoder.directions(env, src, dst)
  if #src == 0 then return both end
  local seconds = scaled:zscore()
  for _, list in ipairs(both) do
    if list.count > 0 then list.seconds = seconds:gather(list.rows) end
  end
  return both
end

--- What does not change of an env's edges.
-- @tparam string design "published" or "compact"
-- @tparam assignment env
-- @tparam number scale 1 / mean op time, so that the 1e-6 of the normalisation does not depend on
--  the unit
function encoder.view(design, env, scale)
  local _, _, seconds = env:edges()
  local scaled = #seconds > 0 and seconds:scale(scale) or seconds
  return (design == "published" and published_view or compact_view)(env, scaled)
end

-- Edge network of Gilmer et al.: a matrix of its own for every edge, computed once per distinct
-- edge time.
local function published(p, name, o)
  local h = o.hidden
  local start = nn.linear(p, name .. ".start", 5, h, { activation = "relu" })
  local edge = nn.linear(p, name .. ".edge", 1, h, { activation = "relu" })
  local matrix = nn.linear(p, name .. ".matrix", h, h * h)
  local bias = p:add(name .. ".message", { h }, "zeros")
  local cell = nn.gru_cell(p, name .. ".gru", h, h)
  return function(x, edges)
    local state = start(x)
    local matrices = edges.count > 0 and matrix(edge(edges.values)):reshape { -1, h, h }
    for _ = 1, o.rounds do
      local m = state:scale(0)
      if matrices then
        m = state:gather(edges.from):grouped_matmul(edges.groups, matrices):scatter(edges.to, #x)
      end
      state = cell((m + bias):relu(), state)
    end
    return state:leaky_relu(0.1)
  end
end

local function direction(p, name, h)
  local project, weight = nn.linear(p, name, h, h), p:add(name .. ".seconds", { 1, h },
    { "normal", 0.1 })
  return function(state, list)
    if list.count == 0 then return state:scale(0) end
    return (project(state):gather(list.from) + list.seconds * weight):relu():segment_sum(list.into)
  end
end

-- Sums of what comes along the edges, and of what comes against them; what an op had is kept and
-- added to.
local function compact(p, name, o)
  local h, rounds = o.hidden, {}
  local start = nn.linear(p, name .. ".start", 5, h, { activation = "relu" })
  for k = 1, o.rounds do
    local at = ("%s.round%d"):format(name, k)
    rounds[k] = { with = direction(p, at .. ".with", h), against = direction(p, at .. ".against",
      h),
      update = nn.linear(p, at .. ".update", 3 * h, h, { activation = "leaky_relu", slope = 0.1 }) }
  end
  return function(x, edges)
    local state = start(x)
    for _, round in ipairs(rounds) do
      state = state + round.update(nn.concat({ state, round.with(state, edges[1]),
        round.against(state, edges[2]) }, 2))
    end
    return state
  end
end

--- A callable (op features [ops, 5], edges) -> [ops, hidden].
-- @param p parameters
-- @tparam string name
-- @tparam table o design, hidden, rounds
function encoder.new(p, name, o)
  return (o.design == "published" and published or compact)(p, name, o)
end

return encoder
