--- TAG's agent: a graph network that predicts the action of an op group, a prior of
-- berth.deploy's searches.
-- Source: Zhang et al., "Expediting Distributed DNN Training with Device Topology-Aware Graph
-- Deployment", IEEE TPDS 2023; and its program, for sizes and features. docs/learning.md, "Agents:
-- TAG".
-- @module berth.agents.tag
local agent = require "berth.agents.tag.agent"
local checkpoint = require "berth.agents.checkpoint"

local tag = {}

-- Beside this file, wherever that is.
local here = debug.getinfo(1, "S").source:match("^@(.*)init%.lua$")
local name = "trained.berth"
local kept

--- The agent that comes with berth: trained on random models and clusters by `berth train tag`
-- (docs/learning.md).
-- @treturn[1] agent the same at every call
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function tag.trained()
  if kept then return kept end
  local path = (here or "") .. name
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  local made = agent.new(what.options)
  local done
  done, message, code = made:network().params:load(path)
  if not done then return nil, message, code end
  kept = made
  return made
end

return setmetatable(tag, { __call = function(_, opts) return agent.new(opts) end })
