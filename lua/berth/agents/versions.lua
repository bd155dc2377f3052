--- Which rows of a network change from step to step of an episode: a vertex has a new version where
-- its own features change, and a round of messages later where a neighbour's version is new. The
-- rest is kept. Versions are the same for all episodes of a graph whose ops are decided in one
-- fixed order.
--
-- A list of versions begins with one of each vertex, as it is before the first step; those of step
-- 1, step 2, and so on follow. Side by side, episodes share the former, and each has its own of the
-- latter: a row for every version, within it every episode.
-- @module berth.agents.versions
local nn = require "berth.nn"

local versions = {}

local function sorted(set)
  local out = {}
  for v in pairs(set) do out[#out + 1] = v end
  table.sort(out)
  return out
end

local function start(vertices)
  local list = { vertex = {}, upto = {}, changes = {}, base = vertices }
  for v = 1, vertices do list.vertex[v] = v end
  return list
end

--- What changes by itself.
-- @tparam int vertices
-- @tparam table changes [step] = vertices that have other features from this step on
-- @treturn table list: vertex [version], upto [step] = the last version of that step, changes
--  [step], base = vertices
function versions.own(vertices, changes)
  local list = start(vertices)
  for s = 1, #changes do
    list.changes[s] = changes[s]
    for _, v in ipairs(changes[s]) do list.vertex[#list.vertex + 1] = v end
    list.upto[s] = #list.vertex
  end
  return list
end

--- The newest versions of all vertices: a function of the step, to be called with steps in
-- ascending order.
function versions.newest(list)
  local now, at = {}, list.base
  for v = 1, list.base do now[v] = v end
  return function(s)
    while at < list.upto[s] do
      at = at + 1
      now[list.vertex[at]] = at
    end
    return now
  end
end

-- What is new at a step: what changes by itself, and what receives from what was new a round ago.
local function received(own, before, receivers)
  local set = {}
  for _, v in ipairs(own) do set[v] = true end
  for _, v in ipairs(before) do
    for _, w in ipairs(receivers[v]) do set[w] = true end
  end
  return sorted(set)
end

-- Versions that a version of v comes of.
local function listen(list, v, sources, before, own)
  for _, u in ipairs(sources[v]) do list.from[#list.from + 1] = before[u] end
  list.ends[#list.ends + 1] = #list.from
  list.own[#list.own + 1] = own[v]
end

--- A round of messages after a list.
-- @tparam table own of versions.own
-- @tparam table before own, or a round
-- @tparam {{int,...},...} sources [v]: from which v receives
-- @tparam {{int,...},...} receivers [v]: what receives from v
-- @treturn table list as `own`, and from: versions in the list before that versions here receive
--  from; ends [version]: the last of them in `from`; own [version]: the version of the same vertex
--  in the list own
function versions.round(own, before, sources, receivers)
  local list = start(own.base)
  list.from, list.ends, list.own = {}, {}, {}
  for v = 1, own.base do listen(list, v, sources, list.vertex, list.vertex) end
  local newest_before, newest_own = versions.newest(before), versions.newest(own)
  for s = 1, #own.changes do
    list.changes[s] = received(own.changes[s], before.changes[s], receivers)
    local of_before, of_own = newest_before(s), newest_own(s)
    for _, v in ipairs(list.changes[s]) do
      list.vertex[#list.vertex + 1] = v
      listen(list, v, sources, of_before, of_own)
    end
    list.upto[s] = #list.vertex
  end
  return list
end

-- ---- rows: episodes side by side ----

--- The row of a version in one of several episodes.
-- @tparam int base versions that all share
function versions.row(base, version, episode, episodes)
  return version <= base and version or base + (version - base - 1) * episodes + episode
end

--- Calls f(version, episode) for each row of a list.
function versions.each(list, episodes, f)
  for k = 1, #list.vertex do
    for e = 1, k <= list.base and 1 or episodes do f(k, e) end
  end
end

--- What the rows of a round come of.
-- @treturn table from (index of rows in the list before), received (segments of it), own (index of
--  rows in the list own)
function versions.inputs(list, episodes)
  local from, received_by, own, row, base = {}, {}, {}, versions.row, list.base
  versions.each(list, episodes, function(k, e)
    local begin = k > 1 and list.ends[k - 1] or 0
    for i = begin + 1, list.ends[k] do from[#from + 1] = row(base, list.from[i], e, episodes) end
    received_by[#received_by + 1] = list.ends[k] - begin
    own[#own + 1] = row(base, list.own[k], e, episodes)
  end)
  return { from = nn.index(from), received = nn.segments(received_by), own = nn.index(own) }
end

return versions
