--- Agents that learn to place, to cut jobs, to deploy: docs/learning.md, "Agents".
-- @module berth.agents
local agent = require "berth.agents.agent"
local checkpoint = require "berth.agents.checkpoint"
local options = require "berth.base.options"
local settings = require "berth.agents.settings"

local agents = {
  doppler = require "berth.agents.doppler", pacml = require "berth.agents.pacml",
  tag = require "berth.agents.tag",
}

options.declare("agents.baselines", options.rows("agents.doppler", "preset estimates contract"))

-- Options of an agent, of which the network's are those of `module`.
local function read(kind, module, opts)
  local fn = "berth.agents." .. kind
  local given = options.check(fn, opts, options.join(module.legal, options.keys "agents.baselines",
    settings.legal))
  options.check_values(fn, "agents.baselines", given)
  module.check(fn, given)
  settings.check_given(fn, given)
  return options.merge(given)
end

-- PLACETO and GDP: networks tied to a number of devices, made when it is known.
local function baseline(kind)
  return function(opts)
    local module, own = require("berth.agents." .. kind), {}
    local given = read(kind, module, opts)
    for _, key in ipairs(module.legal) do own[key] = given[key] end
    own.seed = own.seed or 0
    local function make(devices)
      return module.policy(options.merge(own, { devices = own.devices or devices }))
    end
    return agent.new { kind = kind, options = given, preset = given.preset or "recommended",
      seed = own.seed, settings = settings.of(given), features = { estimates = given.estimates,
        contract = given.contract }, policy = make }
  end
end

local kinds = { doppler = true, placeto = true, gdp = true, pacml = true, tag = true }
agents.placeto, agents.gdp = baseline "placeto", baseline "gdp"

--- An agent from a file that agent:save or a checkpoint wrote.
-- @tparam string path
-- @treturn[1] agent
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agents.load(path)
  options.expect(path, "string", "berth.agents.load: path")
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  if not kinds[what.kind] then
    return nil, path .. ": unknown agent " .. what.kind, "unsupported"
  end
  local made, out = pcall(agents[what.kind], what.options)
  if not made then return nil, ("%s: %s"):format(path, tostring(out)), "parse" end
  local done
  done, message, code = out:network(what.devices).params:load(path)
  if not done then return nil, message, code end
  out.devices = what.devices
  return out
end

return agents
