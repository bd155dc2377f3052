--- DOPPLER (Yao et al., ICLR 2026): which op next, on which device. Learned by imitation, then from a simulator, then an engine.
-- @module berth.agents.doppler
local options = require "berth.base.options"
local agent = require "berth.agents.agent"
local check = require "berth.agents.check"
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

local flags = { "share", "joint", "partners", "contract" }

local function check_choices(fn, o)
  for _, key in ipairs(options.sorted_keys(choices)) do
    if o[key] ~= nil then check.choice(fn, key, o[key], choices[key]) end
  end
  for _, key in ipairs(flags) do
    if o[key] ~= nil then check.flag(fn, key, o[key]) end
  end
end

-- Options that one another leaves without effect are mistakes.
local function check_together(fn, o, given)
  local both = o.select == "learned" and o.place == "learned"
  if o.select ~= "learned" and o.place ~= "learned" then
    options.fail("%s: select and place: one of them has to be learned", fn)
  end
  if o.joint and not both then options.fail("%s: joint: one network chooses both, select and place", fn) end
  if o.share and (o.joint or not both) then options.fail("%s: share: there is one encoder only", fn) end
  if given.partners and o.place ~= "learned" then
    options.fail("%s: partners: nobody looks at them unless place is learned", fn)
  end
end

local function complete(fn, given)
  check_choices(fn, given)
  local preset = given.preset or "recommended"
  local design = given.design or (preset == "published" and "published" or "compact")
  local o = options.merge(defaults, preset == "published" and published or nil, designs[design], given)
  o.preset, o.design = preset, design
  check_together(fn, o, given)
  for _, key in ipairs { "hidden", "inner" } do check.whole(fn, key, o[key], 1, 1e5) end
  check.whole(fn, "rounds", o.rounds, 1, 1000)
  check.whole(fn, "seed", o.seed, 0, 2 ^ 53 - 1)
  settings.check_given(fn, given)
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
