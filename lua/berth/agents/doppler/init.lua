--- DOPPLER (Yao et al., ICLR 2026): which op next, on which device. Learned by imitation, then from a simulator, then an engine.
-- @module berth.agents.doppler
local core = require "berth.core"
local options = require "berth.options"
local agent = require "berth.agents.agent"
local joint = require "berth.agents.doppler.joint"
local policy = require "berth.agents.doppler.policy"
local settings = require "berth.agents.settings"

-- Sizes: the published program's, and what learns as well at a hundredth of the work.
local designs = {
  compact = { hidden = 32, inner = 32, rounds = 3, first = 0.01, partners = true },
  published = { hidden = 128, inner = 64, rounds = 6, first = 1, partners = false },
}
-- What the published program sees, quirks included.
local published = { estimates = "load", t_levels = "code", edge_costs = "code" }
local defaults = { encode = "episode", estimates = "exact", t_levels = "code", edge_costs = "producer", select = "learned",
  place = "learned", share = false, joint = false, contract = false, seed = 0 }
local choices = {
  design = { compact = true, published = true }, preset = { recommended = true, published = true },
  encode = { episode = true, step = true }, estimates = { exact = true, load = true },
  t_levels = { code = true, textbook = true }, edge_costs = { producer = true, code = true },
  select = { learned = true, ["longest-path"] = true },
  place = { learned = true, ["least-load"] = true, ["least-start"] = true },
}
local own = { "design", "preset", "encode", "estimates", "t_levels", "edge_costs", "select", "place", "share", "joint",
  "partners", "contract", "hidden", "inner", "rounds", "seed" }

local function check_choices(fn, o)
  for _, key in ipairs(options.sorted_keys(choices)) do
    local legal = choices[key]
    if o[key] ~= nil and not legal[o[key]] then
      options.fail("%s: %s: '%s' is none of: %s", fn, key, tostring(o[key]), table.concat(options.sorted_keys(legal), ", "))
    end
  end
  if o.select ~= "learned" and o.place ~= "learned" then
    options.fail("%s: select and place: one of them has to be learned", fn)
  end
  if o.joint and (o.select ~= "learned" or o.place ~= "learned") then
    options.fail("%s: joint: one network chooses both, select and place", fn)
  end
end

local function check_whole(fn, key, x, least)
  if type(x) == "number" and x % 1 == 0 and x >= least then return end
  local got = type(x) == "number" and ("%.14g"):format(x) or core.kind(x)
  options.fail("%s: %s: expected a whole number not below %d, got %s", fn, key, least, got)
end

local function complete(fn, given)
  check_choices(fn, options.merge(defaults, given))
  local preset = given.preset or "recommended"
  local design = given.design or (preset == "published" and "published" or "compact")
  local o = options.merge(defaults, preset == "published" and published or nil, designs[design], given)
  o.preset, o.design = preset, design
  check_choices(fn, o)
  for _, key in ipairs { "hidden", "inner", "rounds" } do check_whole(fn, key, o[key], 1) end
  check_whole(fn, "seed", o.seed, 0)
  return o
end

--- A new agent.
-- @tparam[opt] table opts see docs/learning.md, Agents
-- @treturn agent
return function(opts)
  local fn, legal = "berth.agents.doppler", options.merge(own)
  for _, key in ipairs(settings.legal) do legal[#legal + 1] = key end
  local given = options.check(fn, opts, legal)
  local o = complete(fn, given)
  return agent.new { kind = "doppler", options = given, preset = o.preset, seed = o.seed, settings = settings.of(given),
    features = { estimates = o.estimates, t_levels = o.t_levels, edge_costs = o.edge_costs, contract = o.contract,
      partners = o.partners },
    policy = function() return (o.joint and joint or policy).new(o) end }
end
