--- Agents that decide how many pieces a job is cut into: PAC-ML's network, trained by Ape-X DQN or PPO, and one of our own.
-- Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and Graph Neural Networks", 2023.
-- @module berth.agents.pacml
local nn = require "berth.nn"
local options = require "berth.options"
local checkpoint = require "berth.agents.checkpoint"
local observe = require "berth.agents.pacml.observe"
local own = require "berth.agents.pacml.own"
local planner = require "berth.agents.pacml.planner"
local published = require "berth.agents.pacml.published"
local rows = require "berth.agents.pacml.rows"
local settings = require "berth.agents.pacml.settings"
local train = require "berth.agents.pacml.train"

local agent = {}
agent.__index = agent

local fn = "berth.agents.pacml"
local algorithms = { published = { dqn = true, ppo = true }, own = { td = true } }

-- ---- networks --------------------------------------------------------------------------------

-- What a network is tied to.
local function ties(self, env)
  if self.design == "published" then return { most = env.most } end
  local r = (env.ramp or env.models[1].ramp).options
  return { groups = r.groups, racks = r.racks, slots = r.slots }
end

local function describe(t)
  return t.most and ("decisions up to %d"):format(t.most) or ("%d x %d x %d servers"):format(t.groups, t.racks, t.slots)
end

--- A network of this agent's sizes with its first weights.
function agent:fresh()
  local t, o = self.devices, options.merge(self.sizes, { seed = self.seed, algorithm = self.algorithm })
  if self.design == "published" then return published.new(o, t.most) end
  return own.new { size = { t.groups, t.racks, t.slots }, interval = o.interval, ahead = o.ahead, sizes = o.blocks,
    layers = o.layers, seed = o.seed, horizon = o.horizon and true }
end

-- Made when it is known what it is tied to: a table of `ties`.
function agent:network(devices)
  if not self.made then
    self.devices = devices
    self.made = self:fresh()
  end
  return self.made
end

--- Says which environment is decided for; `train` does by itself.
-- @param env of berth.pacml.env
-- @treturn agent
function agent:use(env)
  local now = ties(self, env)
  self:network(now)
  if describe(now) ~= describe(self.devices) then
    options.fail("agent:use: the agent is for %s, the environment has %s", describe(self.devices), describe(now))
  end
  if self.env ~= env then
    self.env, self.embedded = env, nil
    self.pool = self.design == "published" and observe.pool(env, self.sizes) or nil
  end
  return self
end

-- ---- decisions -------------------------------------------------------------------------------

-- Values (DQN) or scores (PPO) of all actions.
local function scores(self, run, mask)
  local net, pool = self.made, self.pool
  if not self.embedded then self.embedded = net:embed(pool) end
  local told = nn.array(observe.job(pool, run, mask), { 1, pool.width })
  local h = net:hidden(pool, { run.model }, told, self.embedded)
  if self.algorithm == "dqn" then return net:q(h):flat() end
  return (net:policy(h)):flat()
end

local function decide_published(self, run)
  if not self.pool then options.fail("agent:decide: which cluster is it? agent:use(env) says it") end
  local mask = run:mask(self.sizes.mask)
  local action = rows.best(scores(self, run, mask), 0, #mask, self.masked and mask or nil)
  return mask[action + 1] == 1 and action or 0
end

local function decide_own(self, run)
  local flat, horizon = {}, self.sizes.horizon
  local list, n = self.made:choices(run, flat, 0, horizon and math.max(horizon - run.now, 0) or nil)
  local values = self.made:value(nn.array(flat, { #list, n / #list })):flat()
  return list[(own.best(list, values, self.gamma))].action
end

--- The best action for the present job, as the agent sees it.
-- @param run of the environment
-- @treturn int 0: turn it away
function agent:decide(run)
  if not self.made then options.fail("agent:decide: the agent has no weights yet: train it first") end
  if self.design == "published" then return decide_published(self, run) end
  return decide_own(self, run)
end

agent.__call = agent.decide

function agent:__tostring()
  local p = self.made and self.made.params
  local what = ("agent pacml, %s, %s"):format(self.design, self.algorithm)
  return p and ("%s: %.0f numbers"):format(what, p.size) or what .. ": not trained"
end

-- ---- training, files -------------------------------------------------------------------------

--- Teaches the agent.
-- @param env of berth.pacml.env
-- @tparam[opt] table opts traces, steps, checkpoint, every, resume, progress, and settings; docs/learning.md, PAC-ML
-- @treturn[1] table steps, episodes, updates, blocking (mean of the last 50 traces, exploration included), loss, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:train(env, opts) return train.run(self, env, opts) end

--- What a file says of the agent.
function agent:header() return { kind = self.kind, options = self.options, devices = self.devices } end

--- Writes the agent.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:save(path)
  if not self.made then options.fail("agent:save: the agent has no weights yet: train it first") end
  return checkpoint.write(path, self.made.params, nil, self:header())
end

-- ---- options ---------------------------------------------------------------------------------

local function choice(key, value, legal)
  if legal[value] then return value end
  options.fail("%s: %s: '%s' is none of: %s", fn, key, tostring(value), table.concat(options.sorted_keys(legal), ", "))
end

local function legal_keys(design, algorithm)
  local out = { "algorithm", "design", "preset", "seed" }
  for _, key in ipairs(options.sorted_keys(settings.network[design])) do out[#out + 1] = key end
  for _, key in ipairs(settings.names(algorithm)) do out[#out + 1] = key end
  return out
end

local function pick(from, keys)
  local out = {}
  for key in pairs(keys) do
    if from[key] ~= nil then out[key] = from[key] end
  end
  return out
end

--- A new agent.
-- @tparam[opt] table opts see docs/learning.md, PAC-ML
-- @treturn agent
return function(opts)
  local given = type(opts) == "table" and opts or {}
  if given.algorithm == "planner" and (given.design or "own") == "own" then return planner.new(opts) end
  local learned = given.algorithm ~= nil and given.algorithm ~= "td"
  local design = choice("design", given.design or (learned and "published" or "own"), algorithms)
  local algorithm = choice("algorithm", given.algorithm or (design == "own" and "td" or "dqn"), algorithms[design])
  given = options.check(fn, opts, legal_keys(design, algorithm))
  local preset = choice("preset", given.preset or "recommended", settings.presets)
  local basis = settings.presets[preset][algorithm]
  if not basis then options.fail("%s: preset: there is none published of our own design", fn) end
  local all = settings.check(fn, options.merge(settings.network[design], basis, given))
  if design == "own" and all.mask ~= "exact" then
    options.fail("%s: mask: our own design knows what will be accepted: exact", fn)
  end
  local sizes = pick(all, settings.network[design])
  sizes.dueling = all.dueling
  return setmetatable({ kind = "pacml", name = "pacml", options = given, design = design, algorithm = algorithm, preset = preset,
    seed = given.seed or 0, settings = settings.of(algorithm, given), sizes = sizes, masked = all.masked, gamma = all.gamma },
    agent)
end
