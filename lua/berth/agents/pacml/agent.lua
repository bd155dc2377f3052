--- The published agent: PAC-ML's network, trained by Ape-X DQN or PPO.
-- @module berth.agents.pacml.agent
local nn = require "berth.nn"
local check = require "berth.agents.check"
local options = require "berth.base.options"
local checkpoint = require "berth.agents.checkpoint"
local observe = require "berth.agents.pacml.observe"
local published = require "berth.agents.pacml.published"
local rows = require "berth.agents.pacml.rows"
local settings = require "berth.agents.pacml.settings"
local train = require "berth.agents.pacml.train"

local agent = {}
agent.__index = agent

local fn = "berth.agents.pacml"

-- ---- network ------------------------------------------------------------------------------------

--- A network of this agent's sizes with its first weights.
function agent:fresh()
  return published.new(options.merge(self.sizes, { seed = self.seed, algorithm = self.algorithm }),
    self.devices.most)
end

--- Made when it is known how many pieces there may be.
-- @tparam table devices most
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
  self:network { most = env.most }
  if env.most ~= self.devices.most then
    options.fail("agent:use: the agent is for decisions up to %d, the environment has decisions up "
      .. "to %d", self.devices.most, env.most)
  end
  if self.env ~= env then
    self.env, self.embedded, self.pool = env, nil, observe.pool(env, self.sizes)
  end
  return self
end

-- ---- decisions ----------------------------------------------------------------------------------

-- Values (DQN) or scores (PPO) of all actions.
local function scores(self, run, mask)
  local net, pool = self.made, self.pool
  if not self.embedded then self.embedded = net:embed(pool) end
  local context = nn.array(observe.job(pool, run, mask), { 1, pool.width })
  local h = net:hidden(pool, { run.model }, context, self.embedded)
  if self.algorithm == "dqn" then return net:q(h):flat() end
  return (net:policy(h)):flat()
end

--- The best action for the present job, as the agent sees it.
-- @param run of the environment
-- @treturn int 0: turn it away
function agent:decide(run)
  options.refuse(not self.made, "agent:decide: the agent has no weights yet: train it first")
  options.refuse(not self.pool, "agent:decide: the agent has no environment: call agent:use(env) "
    .. "first")
  local mask = run:mask(self.sizes.mask)
  local action = rows.best(scores(self, run, mask), 0, #mask, self.masked and mask or nil)
  return mask[action + 1] == 1 and action or 0
end

-- As a decider: the horizon of a run is not among what it sees.
function agent:__call(run) return self:decide(run) end

function agent:__tostring()
  local p = self.made and self.made.params
  local what = "agent pacml, " .. self.algorithm
  return p and ("%s: %.0f numbers"):format(what, p.size) or what .. ": not trained"
end

-- ---- training, files ----------------------------------------------------------------------------

--- Teaches the agent.
-- @param env of berth.pacml.env
-- @tparam[opt] table opts traces, steps, checkpoint, every, resume, progress, and settings;
--  docs/learning.md, PAC-ML
-- @treturn[1] table steps, episodes, updates, blocking (mean of the last 50 traces, exploration
--  included), loss, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:train(env, opts) return train.run(self, env, opts) end

--- What a file records of the agent.
function agent:header()
  return { kind = self.kind, options = self.options, devices = self.devices }
end

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

-- ---- options ------------------------------------------------------------------------------------

options.declare("agents.pacml", {
  { key = "algorithm", type = "name", default = "planner",
    text = "planner (its options: agents.pacml.planner); or the published network, by dqn or ppo "
      .. "(agents.pacml.network, and agents.pacml.dqn or agents.pacml.ppo)" },
  { key = "preset", type = "name", default = "recommended",
    text = "of dqn and ppo: recommended or published" },
  { key = "seed", type = "whole", default = "0", high = 2 ^ 53, text = "of weights and draws" },
})

local function preset_of(given)
  local preset = given.preset or "recommended"
  if settings.presets[preset] then return preset end
  return options.fail("%s: preset: '%s' is none of: %s", fn, tostring(preset),
    options.names_text(preset, options.sorted_keys(settings.presets)))
end

--- @tparam table opts see docs/learning.md, PAC-ML
-- @tparam string algorithm "dqn" or "ppo"
function agent.new(opts, algorithm)
  local given = options.check(fn, opts, options.join(options.keys "agents.pacml",
    options.keys "agents.pacml.network", settings.names(algorithm)))
  if given.seed ~= nil then check.whole(fn, "seed", given.seed, 0, 2 ^ 53) end
  local preset, sizes = preset_of(given), {}
  local all = settings.check(fn, algorithm,
    options.merge(settings.network, settings.presets[preset][algorithm], given))
  for key in pairs(settings.network) do sizes[key] = all[key] end
  sizes.dueling = all.dueling
  return setmetatable({ kind = "pacml", name = "pacml", options = given, algorithm = algorithm,
    preset = preset, seed = given.seed or 0, settings = settings.of(algorithm, given),
    sizes = sizes, masked = all.masked }, agent)
end

return agent
