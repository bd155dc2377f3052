--- Settings of pacml agents: presets, and what is legal.
-- @module berth.agents.pacml.settings
local core = require "berth.core"
local options = require "berth.base.options"

local settings = {}

-- Sizes and habits of the network.
settings.network = { fc = 256, graph = 8, hidden = 64, embedding = 16, message = 32, rounds = 2, quirks = true,
  betas = { 0.1, 1 }, mask = "paper" }

-- pac-ml.md, section 8.2. How often the learners of the published program step against its actors is not known: once for as many
-- new decisions as a batch has.
local published = {
  dqn = { gamma = 0.999, rate = 4.121e-7, n_step = 3, double = true, dueling = true, target = 100000, batch = 512,
    capacity = 100000, start = 10000, alpha = 0.9, beta = 0.1, least = 1e-6, epsilon = { 1, 0.05, 1e6 }, spread = 7, actors = 32,
    train_every = 512, masked = false, clip = 40, steps = 750000 },
  ppo = { gamma = 0.997, rate = 2.785e-4, lambda = 1, kl = 0.01, kl_target = 0.001, kl_stop = false, passes = 50, minibatch = 128,
    fragment = 500, value_weight = 0.5, value_clip = 128.8, entropy = 0.003, policy_clip = 0.18, clip = 1.5, actors = 8,
    masked = true, steps = 750000 },
}
local recommended = {
  dqn = options.merge(published.dqn, { gamma = 0.98, rate = { 5e-4, 1e-5 }, target = 1000, batch = 256, start = 5000, alpha = 0.6,
    beta = 1, epsilon = { 1, 0.1, 8000 }, actors = 16, train_every = 32, masked = true, clip = 10, steps = 400000 }),
  ppo = options.merge(published.ppo, { gamma = 0.98, rate = { 3e-4, 3e-5 }, lambda = 0.95, kl_target = 0.01, passes = 6,
    minibatch = 256, fragment = 128, policy_clip = 0.2, actors = 32, steps = 1000000 }),
}
settings.presets = { published = published, recommended = recommended }

-- Bounds of numbers; whole: no fractions.
local bounds = {
  gamma = { 0, 1 }, n_step = { 1, 1000, whole = true }, target = { 1, 1e12 }, batch = { 1, 1e6, whole = true },
  capacity = { 1, 1e8, whole = true }, start = { 0, 1e12 }, alpha = { 0, 10 }, beta = { 0, 10 }, least = { 1e-30, 10 },
  spread = { 0, 100 }, actors = { 1, 10000, whole = true }, train_every = { 1, 1e9 }, steps = { 0, 1e12 }, lambda = { 0, 1 },
  kl = { 0, 1e6 }, kl_target = { 0, 1e6 }, passes = { 1, 10000, whole = true }, minibatch = { 1, 1e6, whole = true },
  fragment = { 1, 1e6, whole = true }, value_weight = { 0, 1e6 }, value_clip = { 0, 1e30 }, entropy = { 0, 1e6 },
  policy_clip = { 0, 1e6 }, fc = { 1, 1e5, whole = true }, graph = { 1, 1e5, whole = true },
  hidden = { 1, 1e5, whole = true }, embedding = { 1, 1e5, whole = true }, rounds = { 1, 1000, whole = true },
  seed = { 0, 9007199254740992, whole = true }, message = { 2, 1e5, whole = true },
}
local courses = { rate = { 0, 10 }, epsilon = { 0, 1 } }
local offable = { clip = { 1e-30, 1e30 }, kl_stop = { 0, 1e6 } }
local flags = { double = true, dueling = true, masked = true, quirks = true }

local function text(x) return type(x) == "number" and ("%.14g"):format(x) or core.kind(x) end

local function check_number(fn, key, x, b)
  if type(x) == "number" and x >= b[1] and x <= b[2] and (not b.whole or x % 1 == 0) then return end
  options.fail("%s: %s: expected a %snumber from %.14g to %.14g, got %s", fn, key, b.whole and "whole " or "", b[1], b[2],
    text(x))
end

-- A number, or { from, to }, or { from, to, steps }.
local function check_course(fn, key, x, b)
  if type(x) ~= "table" then return check_number(fn, key, x, b) end
  check_number(fn, key .. "[1]", x[1], b)
  check_number(fn, key .. "[2]", x[2], b)
  if x[3] ~= nil then check_number(fn, key .. "[3]", x[3], { 1, 1e12 }) end
end

local function check(fn, key, x)
  if bounds[key] then return check_number(fn, key, x, bounds[key]) end
  if courses[key] then return check_course(fn, key, x, courses[key]) end
  if offable[key] and x ~= false then return check_number(fn, key, x, offable[key]) end
  if flags[key] and type(x) ~= "boolean" then options.fail("%s: %s: expected true or false, got %s", fn, key, text(x)) end
  if key == "mask" and x ~= "paper" and x ~= "exact" then
    options.fail("%s: mask: '%s' is none of: exact, paper", fn, tostring(x))
  end
  if key == "betas" then
    check_number(fn, "betas[1]", type(x) == "table" and x[1], { 0, 1e6 })
    check_number(fn, "betas[2]", x[2], { x[1], 1e6 })
  end
end

--- Raises for values that make no sense; gives the table.
function settings.check(fn, o)
  for _, key in ipairs(options.sorted_keys(o)) do check(fn, key, o[key]) end
  if o.message and o.message % 2 ~= 0 then options.fail("%s: message: expected an even number, got %d", fn, o.message) end
  if o.capacity and o.capacity < o.actors * o.n_step then
    options.fail("%s: capacity: %d cannot hold what %d actors add at once", fn, o.capacity, o.actors)
  end
  return o
end

--- The names of settings of an algorithm's training.
function settings.names(algorithm) return options.sorted_keys(recommended[algorithm]) end

--- Those keys of a table that are settings of the algorithm.
function settings.of(algorithm, given)
  local out = {}
  for _, key in ipairs(settings.names(algorithm)) do out[key] = given[key] end
  return out
end

--- All settings of a training; courses without a length go over all its steps.
function settings.complete(fn, agent, given)
  local o = settings.check(fn, options.merge(settings.presets[agent.preset][agent.algorithm], agent.settings, given))
  for key in pairs(courses) do
    local c = o[key]
    if type(c) == "table" then o[key] = { c[1], c[2], c[3] or math.max(o.steps, 1) } end
  end
  return o
end

return settings
