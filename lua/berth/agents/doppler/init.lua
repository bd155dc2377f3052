--- DOPPLER (Yao et al., ICLR 2026): which op next, on which device. Learned by imitation, then from
-- a simulator, then an engine.
-- @module berth.agents.doppler
local options = require "berth.base.options"
local agent = require "berth.agents.agent"
local joint = require "berth.agents.doppler.joint"
local policy = require "berth.agents.doppler.policy"
local presets = require "berth.agents.presets"
local settings = require "berth.agents.settings"

-- Sizes: the published program's, and what learns as well at a hundredth of the work.
local designs = {
  compact = { hidden = 32, inner = 32, rounds = 3, first = 0.01, partners = true },
  published = { hidden = 128, inner = 64, rounds = 6, first = 1, partners = false },
}
local SEED = 2 ^ 53 - 1

local function choice(key, recommended, published, text, choices)
  return { key = key, type = "choice", recommended = recommended, published = published,
    text = text, choices = choices }
end

local function flag(key, text)
  return { key = key, type = "flag", recommended = false, published = false, text = text }
end

local function size(key, most, text)
  return { key = key, type = "whole", low = 1, high = most, default = "of the design", text = text }
end

-- The published preset has what the published program sees, quirks included.
local values = presets.declare("agents.doppler", { "recommended", "published" }, {
  { key = "preset", type = "choice", default = "recommended", text = "of all options and settings",
    choices = {
      { name = "recommended", text = "Ours." },
      { name = "published", text = "As the authors' program." } } },
  choice("design", "compact", "published", "sizes of the networks", {
    { name = "compact", text = "32 numbers per op, 3 rounds, sums along and against the edges." },
    { name = "published", text = "Edge network and GRU, 128 numbers, 6 rounds, 4.5 million "
      .. "parameters." } }),
  size("hidden", 1e5, "numbers per op"), size("inner", 1e5, "units of hidden layers"),
  size("rounds", 1000, "of messages"),
  flag("contract", "decides for whole units of ops, as the searches do: fewer steps, better "
    .. "placements"),
  choice("estimates", "exact", "load", "start times that the agent sees", {
    { name = "exact", text = "With waiting and transfers." },
    { name = "load", text = "By load alone, as published." } }),
  choice("t_levels", "code", "code", "t-levels of ops, see berth.assignment", {
    { name = "code", text = "As the b-level, on reversed edges, the op itself included." },
    { name = "textbook", text = "Without the op itself." } }),
  choice("edge_costs", "producer", "code", "of edges against the flow, see berth.assignment", {
    { name = "producer", text = "The transfer time of the edge." },
    { name = "code", text = "The transfer time of the consumer's output." } }),
  { key = "partners", type = "flag", default = "of the design: compact true",
    text = "PLC also sees the work on a device that shares a consumer with the op" },
  choice("select", "learned", "learned", "who chooses the op", {
    { name = "learned", text = "SEL." },
    { name = "longest-path", text = "The longest remaining path: PLC alone." } }),
  choice("place", "learned", "learned", "who chooses the device", {
    { name = "learned", text = "PLC." },
    { name = "least-start", text = "The earliest start of the op: SEL alone." },
    { name = "least-load", text = "The least work given to a device; with estimates load the first "
      .. "that is available." } }),
  flag("share", "one encoder for both, if both are learned"),
  flag("joint", "one network that scores every pair of a candidate and a device"),
  choice("encode", "episode", "episode", "when messages are passed; answers are the same", {
    { name = "episode", text = "Once." },
    { name = "step", text = "Anew at every step, to measure what it costs." } }),
  { key = "seed", type = "whole", high = SEED, recommended = 0, published = 0,
    text = "of weights and episodes" },
})

-- Options that one another leaves without effect are mistakes.
local function check_together(fn, o, given)
  local both = o.select == "learned" and o.place == "learned"
  options.refuse(o.select ~= "learned" and o.place ~= "learned",
    "%s: select and place: one of them has to be learned", fn)
  options.refuse(o.joint and not both, "%s: joint: one network chooses both, select and place", fn)
  options.refuse(o.share and (o.joint or not both), "%s: share: there is one encoder only", fn)
  options.refuse(given.partners and o.place ~= "learned", "%s: partners: requires place learned",
    fn)
end

local function complete(fn, given)
  options.check_values(fn, "agents.doppler", given)
  local preset = given.preset or "recommended"
  local o = options.merge(values[preset], designs[given.design or values[preset].design], given)
  o.preset = preset
  check_together(fn, o, given)
  settings.check_given(fn, given)
  return o
end

--- A new agent.
-- @tparam[opt] table opts see docs/learning.md, Agents
-- @treturn agent
return function(opts)
  local fn = "berth.agents.doppler"
  local given = options.check(fn, opts, options.join(options.keys "agents.doppler", settings.legal))
  local o = complete(fn, given)
  return agent.new { kind = "doppler", options = given, preset = o.preset, seed = o.seed,
    settings = settings.of(given), features = { estimates = o.estimates, t_levels = o.t_levels,
      edge_costs = o.edge_costs, contract = o.contract, partners = o.partners },
    policy = function() return (o.joint and joint or policy).new(o) end }
end
