--- Agents that learn to place: docs/learning.md, "Agents".
-- @module berth.agents
local agent = require "berth.agents.agent"
local checkpoint = require "berth.agents.checkpoint"
local options = require "berth.options"
local settings = require "berth.agents.settings"

local agents = { doppler = require "berth.agents.doppler", pacml = require "berth.agents.pacml" }

-- PLACETO and GDP: networks tied to a number of devices, made when it is known.
local function baseline(kind)
  return function(opts)
    local own, given = {}, options.merge(opts)
    local mine = settings.of(given)
    for _, key in ipairs(options.sorted_keys(given)) do
      if mine[key] == nil and key ~= "preset" and key ~= "estimates" and key ~= "contract" then own[key] = given[key] end
    end
    local preset = given.preset or "recommended"
    if not settings.stages[preset] then
      options.fail("berth.agents.%s: preset: '%s' is none of: published, recommended", kind, tostring(preset))
    end
    own.seed = own.seed or 0
    local policy = require("berth.agents." .. kind).policy
    local function make(devices) return policy(options.merge(own, { devices = own.devices or devices })) end
    return agent.new { kind = kind, options = given, preset = preset, seed = own.seed, settings = mine,
      features = { estimates = given.estimates, contract = given.contract }, policy = make }
  end
end

agents.placeto, agents.gdp = baseline "placeto", baseline "gdp"

--- An agent from a file that agent:save or a checkpoint wrote.
-- @tparam string path
-- @treturn[1] agent
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agents.load(path)
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  if what.kind == "load" or not agents[what.kind] then return nil, path .. ": unknown agent " .. what.kind, "unsupported" end
  local out = agents[what.kind](what.options)
  local done
  done, message, code = out:network(what.devices).params:load(path)
  if not done then return nil, message, code end
  out.devices = what.devices
  return out
end

return agents
