--- Settings of pacml agents: presets, and what is legal.
-- @module berth.agents.pacml.settings
local core = require "berth.core"
local options = require "berth.base.options"
local presets = require "berth.agents.presets"

local settings = {}

local NAMES = { "recommended", "published" }

-- Sizes and habits of the network.
local network = {
  { key = "fc", type = "whole", low = 1, high = 1e5, recommended = 256,
    text = "units of the hidden layer" },
  { key = "graph", type = "whole", low = 1, high = 1e5, recommended = 8,
    text = "numbers that those of job and cluster become" },
  { key = "hidden", type = "whole", low = 1, high = 1e5, recommended = 64,
    text = "units of the layers of a round" },
  { key = "embedding", type = "whole", low = 1, high = 1e5, recommended = 16,
    text = "numbers of an op after the last round" },
  { key = "message", type = "whole", low = 2, high = 1e5, recommended = 32,
    text = "numbers of a message, even" },
  { key = "rounds", type = "whole", low = 1, high = 1000, recommended = 2, text = "of messages" },
  { key = "quirks", type = "flag", recommended = true,
    text = "as published: ops without inputs get zeros after each round, and the feature of the "
      .. "longest op is 0" },
  { key = "betas", type = "array", recommended = { 0.1, 1 },
    text = "range of beta, by which beta and deadlines are normalised" },
  { key = "mask", type = "choice", recommended = "paper", text = "which actions are offered",
    choices = {
      { name = "exact", text = "Those that would be accepted, and 0." },
      { name = "paper", text = "As published." } } },
}
settings.network = presets.declare("agents.pacml.network", { "recommended" }, network).recommended

local MANY = 1e12
local function gamma(recommended, published)
  return { key = "gamma", type = "number", high = 1, recommended = recommended,
    published = published, text = "discount" }
end
local function rate(recommended, published)
  return { key = "rate", type = "course", steps = true, high = 10, recommended = recommended,
    published = published, text = "of Adam; { from, to } over all steps, or { from, to, steps }" }
end
local function clip(recommended, published)
  return { key = "clip", type = "number", low = 1e-30, high = 1e30, off = true,
    recommended = recommended, published = published, text = "norm of the gradient; false: none" }
end
local function actors(recommended, published)
  return { key = "actors", type = "whole", low = 1, high = 10000, recommended = recommended,
    published = published, text = "that decide side by side" }
end
local function masked(recommended, published)
  return { key = "masked", type = "flag", recommended = recommended, published = published,
    text = "actions are those of the mask; false: any, and one that the mask lacks turns the job "
      .. "away" }
end
local function steps(recommended, published)
  return { key = "steps", type = "number", high = MANY, recommended = recommended,
    published = published, text = "decisions in all" }
end

-- pac-ml.md, section 8.2. How often the learners of the published program step against its actors
-- is not known: once for as many new decisions as a batch has.
local dqn = presets.declare("agents.pacml.dqn", NAMES, {
  gamma(0.98, 0.999), rate({ 5e-4, 1e-5 }, 4.121e-7),
  { key = "n_step", type = "whole", low = 1, high = 1000, recommended = 3, published = 3,
    text = "rewards of a transition" },
  { key = "double", type = "flag", recommended = true, published = true,
    text = "the target of an action that the network chooses" },
  { key = "dueling", type = "flag", recommended = true, published = true,
    text = "of the network: value and advantages apart" },
  { key = "target", type = "number", low = 1, high = MANY, recommended = 1000, published = 100000,
    text = "decisions after which the target network follows" },
  { key = "batch", type = "whole", low = 1, high = 1e6, recommended = 256, published = 512,
    text = "transitions of an update" },
  { key = "train_every", type = "number", low = 1, high = 1e9, recommended = 32, published = 512,
    text = "decisions for an update" },
  { key = "capacity", type = "whole", low = 1, high = 1e8, recommended = 100000, published = 100000,
    text = "of the memory, transitions" },
  { key = "start", type = "number", high = MANY, recommended = 5000, published = 10000,
    text = "decisions before the first update" },
  { key = "alpha", type = "number", high = 10, recommended = 0.6, published = 0.9,
    text = "the memory draws by priority^alpha" },
  { key = "beta", type = "number", high = 10, recommended = 1, published = 0.1,
    text = "exponent of the weights of what is drawn" },
  { key = "least", type = "number", low = 1e-30, high = 10, recommended = 1e-6, published = 1e-6,
    text = "least priority" },
  { key = "epsilon", type = "course", steps = true, high = 1, recommended = { 1, 0.1, 8000 },
    published = { 1, 0.05, 1e6 }, text = "share of random actions" },
  { key = "spread", type = "number", high = 100, recommended = 7, published = 7,
    text = "actor i of N has epsilon^(1 + spread (i - 1) / (N - 1))" },
  actors(16, 32), masked(true, false), clip(10, 40), steps(400000, 750000),
})
local ppo = presets.declare("agents.pacml.ppo", NAMES, {
  gamma(0.98, 0.997), rate({ 3e-4, 3e-5 }, 2.785e-4),
  { key = "lambda", type = "number", high = 1, recommended = 0.95, published = 1,
    text = "of the advantages" },
  { key = "kl", type = "number", high = 1e6, recommended = 0.01, published = 0.01,
    text = "weight of the divergence, halved or grown by a half to keep it near kl_target" },
  { key = "kl_target", type = "number", high = 1e6, recommended = 0.01, published = 0.001,
    text = "divergence that is wanted" },
  { key = "kl_stop", type = "number", high = 1e6, off = true, recommended = false,
    published = false, text = "no further pass beyond this divergence" },
  { key = "passes", type = "whole", low = 1, high = 10000, recommended = 6, published = 50,
    text = "over the decisions of an update" },
  { key = "minibatch", type = "whole", low = 1, high = 1e6, recommended = 256, published = 128,
    text = "decisions of a step of Adam" },
  { key = "fragment", type = "whole", low = 1, high = 1e6, recommended = 128, published = 500,
    text = "decisions of each actor for an update" },
  { key = "value_weight", type = "number", high = 1e6, recommended = 0.5, published = 0.5,
    text = "weight of the value's loss" },
  { key = "value_clip", type = "number", high = 1e30, recommended = 128.8, published = 128.8,
    text = "most that a squared error of the value counts" },
  { key = "entropy", type = "number", high = 1e6, recommended = 0.003, published = 0.003,
    text = "weight of the entropy" },
  { key = "policy_clip", type = "number", high = 1e6, recommended = 0.2, published = 0.18,
    text = "of the ratio of probabilities" },
  clip(1.5, 1.5), actors(32, 8), masked(true, true), steps(1000000, 750000),
})
settings.presets = { published = { dqn = dqn.published, ppo = ppo.published },
  recommended = { dqn = dqn.recommended, ppo = ppo.recommended } }
local courses = { rate = true, epsilon = true }

local function check_betas(fn, x)
  local low, high = type(x) == "table" and x[1], type(x) == "table" and x[2]
  if type(low) == "number" and type(high) == "number" and low >= 0 and high >= low
      and high <= 1e6 then
    return
  end
  options.fail("%s: betas: expected { from, to } with 0 <= from <= to <= 1e6, got %s", fn,
    core.kind(x))
end

--- Raises for values that make no sense; gives the table.
function settings.check(fn, algorithm, o)
  options.check_values(fn, "agents.pacml.network", o)
  options.check_values(fn, "agents.pacml." .. algorithm, o)
  if o.betas ~= nil then check_betas(fn, o.betas) end
  options.refuse(o.message and o.message % 2 ~= 0, "%s: message: expected an even number, got %d",
    fn, o.message)
  options.refuse(o.capacity and o.capacity < o.actors * o.n_step,
    "%s: capacity: %d cannot hold what %d actors add at once", fn, o.capacity, o.actors)
  return o
end

--- The names of settings of an algorithm's training.
function settings.names(algorithm) return options.keys("agents.pacml." .. algorithm) end

--- Those keys of a table that are settings of the algorithm.
function settings.of(algorithm, given)
  local out = {}
  for _, key in ipairs(settings.names(algorithm)) do out[key] = given[key] end
  return out
end

--- All settings of a training; courses without a length go over all its steps.
function settings.complete(fn, agent, given)
  local preset = settings.presets[agent.preset][agent.algorithm]
  local o = settings.check(fn, agent.algorithm, options.merge(preset, agent.settings, given))
  for key in pairs(courses) do
    local c = o[key]
    if type(c) == "table" then o[key] = { c[1], c[2], c[3] or math.max(o.steps, 1) } end
  end
  return o
end

return settings
