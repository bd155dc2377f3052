--- Agents that predict the action of an op group: a prior of searches over strategies.
-- @module berth.agents.tag.agent
local checkpoint = require "berth.agents.checkpoint"
local costs = require "berth.agents.tag.costs"
local guide = require "berth.agents.tag.guide"
local network = require "berth.agents.tag.network"
local options = require "berth.base.options"
local sight = require "berth.agents.tag.sight"
local sizes = require "berth.agents.tag.sizes"
local train = require "berth.agents.tag.train"

local agent = {}
agent.__index = agent

local fn = "berth.agents.tag"

local function own_size(key)
  return { key = key, type = "whole", low = 1, high = 1e4, default = "of the size",
    text = "of the network" }
end

options.declare("agents.tag", {
  { key = "size", type = "choice", default = "small", text = "of the network", choices = {
    { name = "published", text = "256 numbers per node, 64 per edge, 4 heads, 4 layers: 14.29 "
      .. "million parameters." },
    { name = "small", text = "64, 16, 4, 4: 0.92 million." },
    { name = "tiny", text = "32, 8, 4, 3: 0.18 million." } } },
  own_size "nodes", own_size "edges", own_size "heads", own_size "layers",
  { key = "costs", type = "flag", default = "of the size: true, published false",
    text = "the decoder also reads local costs of the action (d:local_costs): the network begins "
      .. "as a prior of local costs, "
      .. "p in proportion to 1 / cost, and learns to correct it" },
  { key = "scale", type = "choice", default = "of the size: log, published raw",
    text = "of features, see d:features", choices = { { name = "log", text = "Logarithms." },
      { name = "raw", text = "As they are." } } },
  { key = "seed", type = "whole", high = 2 ^ 53 - 1, default = "0", text = "of weights and games" },
})

--- Made when it is first needed.
function agent:network()
  self.made = self.made or network.new(options.merge(self.sizes, { seed = self.seed }))
  return self.made
end

-- Features of a problem for all queries about it; the last one is kept.
local function look(self, d)
  if not self.seen or self.seen.deploy ~= d then self.seen = sight.new(d, self.sizes) end
  return self.seen
end

-- ---- answers ------------------------------------------------------------------------------------

-- Strategies whose answers a prior remembers.
local KEPT = 100

local function key_of(action) return table.concat(action, " ") end

-- Answers about all op groups of a strategy, and the questions.
local function answers_of(self, seen, action)
  local queries = {}
  for g = 1, seen.groups do queries[g] = seen:query(1, action, g) end
  return seen:answer(self:network(), { seen:features(action, seen.groups) }, queries), queries
end

-- Half of each: where the network errs, local costs still count.
local function blended(answers, queries)
  for i, p in ipairs(answers) do
    local other = costs.weights(queries[i].costs)
    for a = 1, other and #p or 0 do p[a] = (p[a] + other[a]) / 2 end
  end
  return answers
end

-- The same, cached: a search evaluates one strategy many times.
local function kept_answers(self, seen, action, kept)
  local key = key_of(action)
  if not kept.of[key] then
    if kept.n >= KEPT then kept.of, kept.n = {}, 0 end
    kept.of[key], kept.n = blended(answers_of(self, seen, action)), kept.n + 1
  end
  return kept.of[key]
end

local function of_leaves(self, seen, leaves)
  local features, queries = {}, {}
  for i, leaf in ipairs(leaves) do
    features[i] = seen:features(leaf.action, leaf.decided, leaf.decision)
    queries[i] = seen:query(i, leaf.action, leaf.decision)
  end
  return blended(seen:answer(self:network(), features, queries), queries)
end

--- The prior of a search: a function of leaves { action = {...}, decided =, decision = } that gives
-- for each a table of probabilities by action, half of it the network's and half that of local
-- costs. The network evaluates a strategy once for all of its op groups; with marks only if all
-- of them are decided, and leaves of the tree go through it together.
-- @param d problem of berth.deploy
-- @treturn function
function agent:prior(d)
  local seen, kept, marks = look(self, d), { of = {}, n = 0 }, self.sizes.marks
  return function(leaves)
    local open, at, out = {}, {}, {}
    for i, leaf in ipairs(leaves) do
      if not marks or leaf.decided >= seen.groups then
        out[i] = kept_answers(self, seen, leaf.action, kept)[leaf.decision]
      else
        open[#open + 1], at[#at + 1] = leaf, i
      end
    end
    local answers = #open > 0 and of_leaves(self, seen, open) or {}
    for k, i in ipairs(at) do out[i] = answers[k] end
    return out
  end
end

-- ---- strategies of its own ----------------------------------------------------------------------

-- The first of the largest among those for which `fits` is true.
local function largest(list, fits)
  local best
  for a = 1, #list do
    if (not fits or fits(a)) and (not best or list[a] > list[best]) then best = a end
  end
  return best
end

-- Sums over op groups of what is likely.
local function sums(answers)
  local out = {}
  for _, p in ipairs(answers) do
    for a = 1, #p do out[a] = (out[a] or 0) + p[a] end
  end
  return out
end

-- How likely each action is for all op groups, seen from a strategy. Published networks are not
-- trained for that.
local function everywhere(self, seen, action)
  if not self.sizes.costs then return sums((answers_of(self, seen, action))) end
  return seen:answer(self:network(), { seen:features(action, seen.groups) },
    { seen:query(1, action) })[1]
end

--- A strategy of the agent's own: the action that is likeliest over all op groups, seen from a
-- strategy; and then, seen from there, other actions for op groups where one is much likelier than
-- that.
-- @param d problem of berth.deploy
-- @tparam {int,...} action the strategy to look from
-- @tparam[opt=3] number odds how much likelier; infinite: one action for all
-- @treturn {int,...} action of each op group
function agent:strategy(d, action, odds)
  local seen = look(self, d)
  local out = seen.uniform:strategy(largest(everywhere(self, seen, action)), action)
  for g, p in ipairs(odds == math.huge and {} or answers_of(self, seen, out)) do
    local a = largest(p)
    if p[a] > (odds or 3) * p[out[g]] then out[g] = a end
  end
  return out
end

--- Weights of actions for whole problems, for berth.agents.tag.guide.
-- @param d problem of berth.deploy
-- @treturn table everywhere, groups
function agent:view(d)
  local seen = look(self, d)
  local function groups(action) return (answers_of(self, seen, action)) end
  return { everywhere = function(action) return everywhere(self, seen, action) end,
    groups = groups }
end

-- Below so many evaluations there is no room for what is likely for no op group.
local FEW = 200

--- What the agent gives a search: its prior, strategies to begin with (likely ones with one action
-- for all, and changes of the best of these), and, of few evaluations, none for other strategies
-- with one action for all.
-- @param d problem of berth.deploy
-- @tparam[opt] {table,...} starts strategies { action = {...} } that the search begins with
-- @tparam[opt=800] int calls that the search will have
-- @treturn table options of d:search
function agent:guide(d, starts, calls)
  local out = { prior = self:prior(d), start = guide.strategies(d, self:view(d), starts) }
  if (calls or 800) < FEW then out.uniform_part, out.informed_part = 0, 0 end
  return out
end

function agent:__tostring()
  return ("agent tag, %s: %.0f numbers"):format(self.size, self:network().params.size)
end

-- ---- training, files ----------------------------------------------------------------------------

--- Teaches the agent: docs/learning.md, "Agents: TAG".
-- @tparam[opt] table opts games or minutes, checkpoint, resume, progress, and settings
-- @treturn[1] table games, steps, loss, cpu, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:train(opts) return train.run(self, opts) end

--- What a file records of the agent.
function agent:header() return { kind = self.kind, options = self.options } end

--- Writes the agent.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:save(path)
  options.expect(path, "string", "agent:save: path")
  return checkpoint.write(path, self:network().params, nil, self:header())
end

--- A new agent.
-- @tparam[opt] table opts as declared above
-- @treturn agent
function agent.new(opts)
  local given = options.read(fn, "agents.tag", opts)
  local size = given.size or "small"
  local o = options.merge(sizes.presets[size])
  for key in pairs(o) do
    if given[key] ~= nil then o[key] = given[key] end
  end
  return setmetatable({ kind = "tag", name = "tag", options = options.merge(given), size = size,
    sizes = o, seed = given.seed or 0 }, agent)
end

return agent
