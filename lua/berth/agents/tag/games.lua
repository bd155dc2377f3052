--- Games: random models on random clusters, or problems of one's own.
-- @module berth.agents.tag.games
local clusters = require "berth.topology.tag_clusters"
local core = require "berth.core"
local models = require "berth.models"

local games = {}

-- Numbers of a game come from its own stream, so that games can be made again one by one.
local function stream(seed, index) return core.rng(seed * 1e6 + index) end

-- Layers or single ops, not more than o.ops of them.
local function random_graph(rng, o)
  for _ = 1, 50 do
    local graph, about = models.random { seed = rng:below(2 ^ 30),
      granularity = rng:below(2) == 1 and "op" or "layer" }
    if not graph then return nil, about end
    if #graph <= o.ops then return graph, about end
  end
  return models.random { seed = rng:below(2 ^ 30), layers = 1 }
end

-- Half of them as the published code trains, half of more and smaller groups.
local function random_cluster(rng, links)
  local kind = rng:below(2) == 1 and "training" or "mixed"
  return clusters.random { kind = kind, seed = rng:below(2 ^ 30), links = links }
end

-- Half of them with collectives as TAG measured them, half as the published code has them.
local function random_problem(rng, o)
  local physics = rng:below(2) == 1 and "compat" or "calibrated"
  local topology, message, code = random_cluster(rng, physics == "compat" and "tag" or "nic")
  if not topology then return nil, message, code end
  local graph, about = random_graph(rng, o)
  if not graph then return nil, about end
  return core.deploy_problem(graph, topology, { batch = about.options.batch, physics = physics,
    op_groups = o.op_groups })
end

--- @tparam int seed of the training
-- @tparam int index of the game, from 1
-- @tparam table o settings
-- @tparam ?function problems index -> problem of berth.deploy; default: random ones
-- @treturn[1] table index, deploy, seed (of its search), rng
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function games.new(seed, index, o, problems)
  local rng = stream(seed, index)
  local make = problems or function() return random_problem(rng, o) end
  local d, message, code = make(index)
  if not d then return nil, message or "agent:train: problems: gives none", code end
  return { index = index, deploy = d, seed = index, rng = rng }
end

return games
