--- Options of training: what is legal, what is recommended, what was published.
-- @module berth.agents.settings
local core = require "berth.core"
local options = require "berth.options"
local rewards = require "berth.agents.rewards"

local settings = {}

--- What a stage, a call of train and an agent may say, later ones first.
settings.legal = { "batch", "baseline", "clip", "decay", "entropy", "epsilon", "gamma", "how", "normalise", "published_marks",
  "rate", "teacher", "ties", "unit" }

settings.recommended = { batch = 8, baseline = "batch", clip = 1, decay = 0.9, entropy = 0, epsilon = 0, gamma = 1,
  how = "sample", normalise = "batch", published_marks = false, rate = { 3e-3, 0 }, teacher = "units",
  ties = "textbook", unit = 1 }
settings.published = { batch = 1, baseline = "all", clip = false, decay = 0.9, entropy = 0, epsilon = { 0.2, 0 }, gamma = 0.99,
  how = "greedy", normalise = "none", published_marks = true, rate = 1e-4,
  teacher = "critical-path", ties = "code", unit = 1 }

local stage_defaults = {
  recommended = { I = { epsilon = { 0.5, 0 } }, II = { rate = { 1e-3, 0 } }, III = { rate = { 1e-3, 0 } } },
  published = { I = { rate = 1e-3, epsilon = { 1, 0 }, entropy = 1e-3 }, II = {}, III = {} },
}
settings.stages = {
  recommended = { { stage = "I", episodes = 1600 }, { stage = "II", episodes = 2000 } },
  published = { { stage = "I", episodes = 2000 }, { stage = "II", episodes = 2000 } },
}

local function check_choice(fn, key, value, known)
  if type(value) == "string" and known[value] then return end
  options.fail("%s: %s: '%s' is none of: %s", fn, key, tostring(value), table.concat(options.sorted_keys(known), ", "))
end

local function check_number(fn, key, value, least, most)
  if type(value) == "number" and value >= least and value <= most then return end
  local got = type(value) == "number" and ("%.14g"):format(value) or core.kind(value)
  options.fail("%s: %s: expected a number from %.14g to %.14g, got %s", fn, key, least, most, got)
end

-- A number, or { from, to } over the stage.
local function check_course(fn, key, value, most)
  if type(value) ~= "table" then return check_number(fn, key, value, 0, most) end
  check_number(fn, key .. "[1]", value[1], 0, most)
  check_number(fn, key .. "[2]", value[2], 0, most)
end

local function check_batch(fn, o)
  check_number(fn, "batch", o.batch, 1, 1e6)
  if o.batch % 1 ~= 0 then options.fail("%s: batch: expected a whole number, got %.14g", fn, o.batch) end
  if o.batch == 1 and (o.baseline == "batch" or o.normalise == "batch") then
    options.fail("%s: batch: one episode has no mean to be better than: use baseline \"all\" and normalise \"running\"", fn)
  end
end

--- Raises for what makes no sense; gives the settings.
function settings.check(fn, o)
  check_choice(fn, "baseline", o.baseline, rewards.baselines)
  check_choice(fn, "normalise", o.normalise, rewards.divisors)
  check_choice(fn, "how", o.how, { sample = true, greedy = true })
  check_choice(fn, "teacher", o.teacher, { units = true, ["critical-path"] = true })
  check_choice(fn, "ties", o.ties, { textbook = true, code = true })
  check_course(fn, "rate", o.rate, 10)
  check_course(fn, "epsilon", o.epsilon, 1)
  check_course(fn, "entropy", o.entropy, 1e6)
  check_number(fn, "gamma", o.gamma, 0, 1)
  check_number(fn, "decay", o.decay, 0, 1)
  check_number(fn, "unit", o.unit, 1e-30, 1e30)
  if o.clip then check_number(fn, "clip", o.clip, 0, 1e30) end
  check_batch(fn, o)
  return o
end

--- Those keys of a table that are settings.
function settings.of(given)
  local out = {}
  for _, key in ipairs(settings.legal) do out[key] = (given or {})[key] end
  return out
end

local function stage(fn, preset, entry, own, given)
  local legal = options.merge(settings.legal)
  legal[#legal + 1], legal[#legal + 2] = "stage", "episodes"
  options.check(fn, entry, legal)
  check_choice(fn, "stage", entry.stage, { I = true, II = true, III = true })
  check_number(fn, "episodes", entry.episodes or 1000, 1, 1e12)
  local o = options.merge(settings[preset], stage_defaults[preset][entry.stage], own, given, settings.of(entry))
  o.stage, o.episodes = entry.stage, entry.episodes or 1000
  return settings.check(fn, o)
end

--- The stages of a training with all they need.
-- @tparam string preset "recommended" or "published"
-- @tparam ?table list of { stage =, episodes =, settings }
-- @tparam table own settings of the agent
-- @tparam table given settings of this call
function settings.read(preset, list, own, given)
  local out = {}
  for i, entry in ipairs(list or settings.stages[preset]) do
    out[i] = stage(("agent:train: stages[%d]"):format(i), preset, entry, own, given)
  end
  return out
end

--- The value of a number or { from, to } at this part (0 to 1) of the stage.
function settings.at(course, part)
  if type(course) ~= "table" then return course end
  return course[1] + (course[2] - course[1]) * part
end

return settings
