--- The published network: graph embedding and features of job and cluster, a hidden layer,
-- heads. pac-ml.md, section 8.1.
-- @module berth.agents.pacml.published
local nn = require "berth.nn"
local graphnet = require "berth.agents.pacml.graphnet"
local observe = require "berth.agents.pacml.observe"
local sort = require "berth.base.sort"

local published = {}
published.__index = published

local LEAST = -3.4028234663852886e38 -- what the logarithm of a mask of 0 is taken for

local function heads(self, p, o, actions)
  if o.algorithm == "dqn" then
    self.gain_hidden = nn.linear(p, "advantage.1", o.fc, o.fc, { activation = "relu" })
    self.gain = nn.linear(p, "advantage.2", o.fc, actions, { init = { "orthogonal", 0.01 } })
    if o.dueling then
      self.value_hidden = nn.linear(p, "value.1", o.fc, o.fc, { activation = "relu" })
      self.value_out = nn.linear(p, "value.2", o.fc, 1, { init = { "orthogonal", 0.01 } })
    end
  else
    self.policy_out = nn.linear(p, "policy", o.fc, actions, { init = { "orthogonal", 0.01 } })
    self.value_out = nn.linear(p, "value", o.fc, 1)
  end
end

--- @tparam table o sizes (fc, graph, hidden, embedding, message, rounds), quirks, algorithm,
--  dueling, seed
-- @tparam int most the largest action
function published.new(o, most)
  local p = nn.parameters { seed = o.seed }
  local self = setmetatable({ params = p, actions = most + 1, dueling = o.dueling, stacks = {} },
    published)
  local width = observe.graph_features + self.actions
  self.graphs = graphnet.new(p, o)
  self.norm = nn.norm(p, "job.norm", width)
  self.job = nn.linear(p, "job.linear", width, o.graph)
  self.fc = nn.linear(p, "fc", o.embedding + o.graph, o.fc, { activation = "relu" })
  heads(self, p, o, self.actions)
  return self
end

local function distinct(models)
  local seen, list, at = {}, {}, {}
  for _, id in ipairs(models) do seen[id] = true end
  local top = 0
  for _, id in ipairs(models) do top = math.max(top, id) end
  for id = 1, top do
    if seen[id] then list[#list + 1], at[id] = id, #list + 1 end
  end
  return list, at
end

-- The stacked graphs of a set of models; the pool's last sets are kept.
local function stack(self, pool, list)
  if self.pool ~= pool then self.pool, self.stacks = pool, {} end
  local key = table.concat(list, ",")
  local s = self.stacks[key]
  if not s then
    s = self.graphs:stack(pool, list)
    self.stacks[key] = s
  end
  return s
end

--- What encodes the graphs of all models: for many calls of hidden with the same weights.
function published:embed(pool)
  local all = sort.ids(#pool.models)
  return self.graphs:encode(stack(self, pool, all))
end

--- The hidden layer.
-- @tparam table pool
-- @tparam {int,...} models of the rows
-- @param context array [rows, width]
-- @param embedded of embed; nil: the models of the rows are encoded, each once
-- @return array [rows, fc]
function published:hidden(pool, models, context, embedded)
  local at = models
  if not embedded then
    local list, position = distinct(models)
    embedded, at = self.graphs:encode(stack(self, pool, list)), {}
    for i, id in ipairs(models) do at[i] = position[id] end
  end
  return self.fc(nn.concat({ embedded:gather(at), self.job(self.norm(context)) }, 2))
end

--- Values of all actions: [rows, actions].
function published:q(h)
  local gain = self.gain(self.gain_hidden(h))
  if not self.dueling then return gain end
  local rows = gain.shape[1]
  return gain - gain:mean(2):reshape { rows, 1 } + self.value_out(self.value_hidden(h))
end

--- Scores of all actions, those of mask 0 at the least float: [rows, actions]; and the value of the
-- state: [rows].
-- @param h of hidden
-- @param mask array [rows, actions] or nil
function published:policy(h, mask)
  local scores = self.policy_out(h)
  if mask then scores = scores + mask:log(0):maximum(nn.full({ 1 }, LEAST)) end
  return scores, self.value_out(h):reshape { h.shape[1] }
end

return published
