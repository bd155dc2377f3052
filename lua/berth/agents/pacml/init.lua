--- Agents that decide how many pieces a job is cut into: the planner, which is ours, and PAC-ML's
-- network, trained by Ape-X DQN or PPO. docs/learning.md, PAC-ML.
-- Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and
-- Graph Neural Networks", 2023.
-- @module berth.agents.pacml
local options = require "berth.base.options"
local agent = require "berth.agents.pacml.agent"
local planner = require "berth.agents.pacml.planner"

local fn = "berth.agents.pacml"
local makers = { planner = planner.new, dqn = agent.new, ppo = agent.new }

--- A new agent.
-- @tparam[opt] table opts algorithm ("planner", "dqn" or "ppo") and the options of each, see
--  docs/learning.md, PAC-ML
-- @treturn agent
return function(opts)
  local algorithm = type(opts) == "table" and opts.algorithm or "planner"
  local make = makers[algorithm]
  if not make then
    options.fail("%s: algorithm: '%s' is none of: %s", fn, tostring(algorithm),
      options.names_text(algorithm, options.sorted_keys(makers)))
  end
  return make(opts, algorithm)
end
